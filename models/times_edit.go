package models

import (
	"context"
	"fmt"
)

// TimeSettings is what an outlet promises and takes at most by when, as staff edit it.
type TimeSettings struct {
	SlotMinutes, OrderAheadDays                    int
	SlotOrders, SlotItems, SlotMakeMinutes         *int // nil: no limit
	PrepMinutes, DeliveryMinutes, LastOrderMinutes int
	TimesVersion                                   int // of the outlet's row when it was read
}

// FindTimeSettings reads them. Errors: ErrNotFound.
func (s *Store) FindTimeSettings(ctx context.Context, outletID int64) (t TimeSettings, err error) {
	if err = s.one(ctx, &t, `SELECT slot_minutes, order_ahead_days, slot_orders, slot_items, slot_make_minutes, prep_minutes, delivery_minutes, last_order_minutes, times_version FROM outlets WHERE id = ?`, outletID); err != nil {
		return t, fmt.Errorf("times of outlet %d: %w", outletID, err)
	}
	return t, nil
}

// SaveTimeSettings writes them if nobody has since TimesVersion was read. What is promised stays promised: a lower limit only keeps new orders
// out. Errors: ErrEdited, ErrBadInput, ErrNotFound.
func (s *Store) SaveTimeSettings(ctx context.Context, outletID, staffID int64, t TimeSettings) error {
	return s.editOutlet(ctx, outletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE outlets SET slot_minutes = ?, order_ahead_days = ?, slot_orders = ?, slot_items = ?, slot_make_minutes = ?, prep_minutes = ?, delivery_minutes = ?, last_order_minutes = ?,
			times_version = times_version + 1 WHERE id = ? AND times_version = ?`, t.SlotMinutes, t.OrderAheadDays, t.SlotOrders, t.SlotItems, t.SlotMakeMinutes, t.PrepMinutes, t.DeliveryMinutes, t.LastOrderMinutes,
			outletID, t.TimesVersion)
		if r.Error == nil && r.RowsAffected == 0 {
			return "", "", ErrEdited
		}
		return "edit_times", fmt.Sprintf("slots of %d minutes, %s orders, %s dishes, %s make-minutes; cooking %d, on the way %d, last order %d before closing, %d days ahead",
			t.SlotMinutes, limitText(t.SlotOrders), limitText(t.SlotItems), limitText(t.SlotMakeMinutes), t.PrepMinutes, t.DeliveryMinutes, t.LastOrderMinutes, t.OrderAheadDays), r.Error
	})
}

func limitText(limit *int) string {
	if limit == nil {
		return "any number of"
	}
	return fmt.Sprint(*limit)
}

// CategoryEdit is a category as its editors see it.
type CategoryEdit struct {
	ID          int64
	OutletID    int64
	Name        string
	Slug        string
	MakeMinutes int
	Dishes      int          // on the menu
	OwnMinutes  int          // of them, with make-minutes of their own
	Windows     []MenuWindow `gorm:"-"`
}

const categoryEdit = `SELECT c.id, c.outlet_id, c.name, c.slug, c.make_minutes, count(i.id) AS dishes, count(i.make_minutes) AS own_minutes
	FROM categories c LEFT JOIN items i ON i.category_id = c.id AND i.archived_at IS NULL`

// ListCategoryEdits reads an outlet's categories in the menu's order.
func (s *Store) ListCategoryEdits(ctx context.Context, outletID int64) (categories []CategoryEdit, err error) {
	if err = s.read(ctx, &categories, categoryEdit+` WHERE c.outlet_id = ? GROUP BY c.id ORDER BY c.position, c.id`, outletID); err != nil {
		return nil, fmt.Errorf("categories of outlet %d: %w", outletID, err)
	}
	var windows []MenuWindow
	if err = s.read(ctx, &windows, `SELECT w.id, w.category_id, w.weekdays, w.opens_minute, w.closes_minute, w.starts_on::text, w.ends_on::text FROM menu_windows w JOIN categories c ON c.id = w.category_id WHERE c.outlet_id = ? ORDER BY w.opens_minute, w.id`, outletID); err != nil {
		return nil, fmt.Errorf("windows of outlet %d: %w", outletID, err)
	}
	for i := range categories {
		for _, w := range windows {
			if *w.CategoryID == categories[i].ID {
				categories[i].Windows = append(categories[i].Windows, w)
			}
		}
	}
	return categories, nil
}

// FindCategoryEdit reads one for a staff member, without its windows. Errors: ErrNotFound, also for one that the member may not edit.
func (s *Store) FindCategoryEdit(ctx context.Context, categoryID, staffID int64) (c CategoryEdit, err error) {
	if err = s.one(ctx, &c, categoryEdit+` WHERE c.id = ? AND EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND s.role IN ('owner', 'manager') AND (s.outlet_id IS NULL OR s.outlet_id = c.outlet_id)) GROUP BY c.id`,
		categoryID, staffID); err != nil {
		return c, fmt.Errorf("category %d: %w", categoryID, err)
	}
	return c, nil
}

// SetCategoryMake says how many minutes the kitchen works on one dish of the category, if it still says was. Orders that have their time keep
// it. Errors: ErrEdited, ErrBadInput, ErrNotFound.
func (s *Store) SetCategoryMake(ctx context.Context, c CategoryEdit, staffID int64, was, minutes int) error {
	return s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE categories SET make_minutes = ? WHERE id = ? AND make_minutes = ?`, minutes, c.ID, was)
		if r.Error == nil && r.RowsAffected == 0 {
			return "", "", tx.edited(ctx, "categories", c.ID)
		}
		return "edit_category", fmt.Sprintf("category %d %s: %d make-minutes, was %d", c.ID, c.Name, minutes, was), r.Error
	})
}

// AddCategoryWindow lets all dishes of a category be served in one more window; one that is there already stays the only one. Errors:
// ErrBadInput, ErrNotFound.
func (s *Store) AddCategoryWindow(ctx context.Context, c CategoryEdit, staffID int64, w MenuWindow) error {
	return s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `INSERT INTO menu_windows (category_id, weekdays, opens_minute, closes_minute, starts_on, ends_on) SELECT ?, ?, ?, ?, ?::date, ?::date
			WHERE NOT EXISTS (SELECT 1 FROM menu_windows WHERE category_id = ? AND (weekdays, opens_minute, closes_minute, starts_on, ends_on) IS NOT DISTINCT FROM (?::int, ?::int, ?::int, ?::date, ?::date))`,
			c.ID, w.Weekdays, w.OpensMinute, w.ClosesMinute, w.StartsOn, w.EndsOn, c.ID, w.Weekdays, w.OpensMinute, w.ClosesMinute, w.StartsOn, w.EndsOn)
		if r.Error != nil || r.RowsAffected == 0 {
			return "", "", r.Error
		}
		return "edit_category", fmt.Sprintf("category %d %s: window of days %07b, minutes %d to %d", c.ID, c.Name, w.Weekdays, w.OpensMinute, w.ClosesMinute), nil
	})
}

// RemoveCategoryWindow takes a window of a category away. Safe to repeat. Errors: ErrNotFound for the category.
func (s *Store) RemoveCategoryWindow(ctx context.Context, c CategoryEdit, staffID, windowID int64) error {
	return s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `DELETE FROM menu_windows WHERE id = ? AND category_id = ?`, windowID, c.ID)
		if r.Error != nil || r.RowsAffected == 0 {
			return "", "", r.Error
		}
		return "edit_category", fmt.Sprintf("category %d %s: without window %d", c.ID, c.Name, windowID), nil
	})
}

// FindMakeMinutes reads a dish's own make-minutes, nil where its category's count, and those. Errors: ErrNotFound.
func (s *Store) FindMakeMinutes(ctx context.Context, itemID int64) (own *int, category int, err error) {
	var row struct {
		Own      *int
		Category int
	}
	err = s.one(ctx, &row, `SELECT i.make_minutes AS own, c.make_minutes AS category FROM items i JOIN categories c ON c.id = i.category_id WHERE i.id = ?`, itemID)
	return row.Own, row.Category, err
}

// SetMakeMinutes says how many minutes the kitchen works on one of a dish, if it still says was; nil: as its category says. Errors: ErrEdited,
// ErrBadInput, ErrNotFound.
func (s *Store) SetMakeMinutes(ctx context.Context, itemID, staffID int64, was, minutes *int) error {
	return s.editDish(ctx, itemID, staffID, "make-minutes", func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE items SET make_minutes = ?::int WHERE id = ? AND make_minutes IS NOT DISTINCT FROM ?::int`, minutes, itemID, was)
		if r.Error == nil && r.RowsAffected == 0 {
			return ErrEdited
		}
		return r.Error
	})
}
