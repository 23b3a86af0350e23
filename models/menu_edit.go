package models

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DishEdit is a dish as its editor sees it.
type DishEdit struct {
	Item     Item
	Outlet   Outlet
	Aliases  []string
	Windows  []MenuWindow   // its own; its category's are not edited here
	Specials []SpecialPrice // not over yet
	Dishes   []Item         // the outlet's others, which can be parts of it; without their choices
}

// SpecialPrice is a price for a time.
type SpecialPrice struct {
	ID         int64
	ItemID     int64
	OptionID   *int64
	PricePaise Paise
	StartsAt   time.Time
	EndsAt     time.Time
}

const staffOfItem = `archived_at IS NULL AND EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND s.role IN ('owner', 'manager') AND (s.outlet_id IS NULL OR s.outlet_id = items.outlet_id))`

// FindDishEdit reads a dish for a member of staff. Errors: ErrNotFound, also for a dish that the member may not edit.
func (s *Store) FindDishEdit(ctx context.Context, itemID, staffID int64) (e DishEdit, err error) {
	var outletID int64
	if err = s.one(ctx, &outletID, `SELECT outlet_id FROM items WHERE id = ? AND `+staffOfItem, itemID, staffID); err != nil {
		return e, fmt.Errorf("dish %d: %w", itemID, err)
	}
	schedule, now, err := s.findScheduleNow(ctx, outletID, 0)
	if err != nil {
		return e, err
	}
	e.Outlet = schedule.Outlet
	items, err := s.listItems(ctx, schedule, now, 0, `outlet_id = ? AND archived_at IS NULL`, outletID)
	if err != nil {
		return e, err
	}
	for _, item := range items {
		if item.ID == itemID {
			e.Item = item
		} else {
			e.Dishes = append(e.Dishes, item)
		}
	}
	e.Windows, _ = e.Item.windows()
	if err = s.read(ctx, &e.Aliases, `SELECT alias FROM item_aliases WHERE item_id = ? ORDER BY alias`, itemID); err != nil {
		return e, fmt.Errorf("aliases of dish %d: %w", itemID, err)
	}
	if err = s.read(ctx, &e.Specials, `SELECT * FROM special_prices WHERE item_id = ? AND ends_at > ? ORDER BY starts_at, id`, itemID, now); err != nil {
		return e, fmt.Errorf("special prices of dish %d: %w", itemID, err)
	}
	return e, nil
}

// editDish runs one change of a dish under its row, with the deed in the audit. What breaks a rule of the database is ErrBadInput and
// changes nothing. Errors besides: ErrNotFound, also when the staff member has no say.
func (s *Store) editDish(ctx context.Context, itemID, staffID int64, deed string, change func(tx *Store) error) error {
	return s.InTx(ctx, func(tx *Store) error {
		var outletID int64
		if err := tx.one(ctx, &outletID, `SELECT outlet_id FROM items WHERE id = ? AND `+staffOfItem+` FOR NO KEY UPDATE`, itemID, staffID); err != nil {
			return fmt.Errorf("dish %d: %w", itemID, err)
		}
		if err := tx.savepoint(ctx, change); err != nil {
			if isBadValue(err) {
				return fmt.Errorf("%w: %v", ErrBadInput, err)
			}
			return fmt.Errorf("dish %d: %w", itemID, err)
		}
		return tx.recordDeed(ctx, staffID, "edit_dish", fmt.Sprintf("dish %d %s", itemID, deed), outletID)
	})
}

// DishFacts is what a dish's editor can say of it in one form.
type DishFacts struct {
	Aliases    []string
	Jain       bool
	Allergens  []string
	Portion    string
	Calories   *int
	Spice      int
	DailyLimit *int
}

// SetDishFacts writes all of them. Today's stock follows a new daily limit, as far as what is held and sold allows. Safe to repeat.
// Errors: ErrNotFound, ErrBadInput.
func (s *Store) SetDishFacts(ctx context.Context, itemID, staffID int64, f DishFacts) error {
	return s.editDish(ctx, itemID, staffID, "facts", func(tx *Store) error {
		if err := tx.exec(ctx, `UPDATE items SET jain = ?, allergens = ?::text[], portion = ?, calories = ?, spice = ?, daily_limit = ? WHERE id = ?`,
			f.Jain, WordList(f.Allergens), f.Portion, f.Calories, f.Spice, f.DailyLimit, itemID).Error; err != nil {
			return err
		}
		if err := tx.exec(ctx, `DELETE FROM item_aliases WHERE item_id = ?`, itemID).Error; err != nil {
			return err
		}
		var aliases []string
		for _, alias := range f.Aliases {
			if alias = strings.ToLower(strings.TrimSpace(alias)); alias != "" && !slices.Contains(aliases, alias) {
				aliases = append(aliases, alias)
			}
		}
		if err := tx.exec(ctx, `INSERT INTO item_aliases (item_id, alias) SELECT ?, unnest(?::text[])`, itemID, textArray(aliases)).Error; err != nil {
			return err
		}
		return tx.followLimit(ctx, itemID, 0, f.DailyLimit)
	})
}

// followLimit makes the stock rows of today and later what a changed limit says. What is held and sold stays.
func (s *Store) followLimit(ctx context.Context, itemID, optionID int64, limit *int) error {
	return s.exec(ctx, `UPDATE stock SET initial = GREATEST(?::int, held + sold) WHERE item_id = ? AND option_id = ? AND day >= service_day(shop_now()) AND ?::int IS NOT NULL`,
		limit, itemID, optionID, limit).Error
}

// SetChoiceFacts is SetDishFacts of one choice. Errors: ErrNotFound, also for a choice of another dish; ErrBadInput.
func (s *Store) SetChoiceFacts(ctx context.Context, itemID, optionID, staffID int64, jain bool, allergens []string, limit *int) error {
	return s.editDish(ctx, itemID, staffID, fmt.Sprintf("choice %d", optionID), func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE options SET jain = ?, allergens = ?::text[], daily_limit = ? WHERE id = ? AND group_id IN (SELECT id FROM option_groups WHERE item_id = ?)`,
			jain, WordList(allergens), limit, optionID, itemID)
		if r.Error == nil && r.RowsAffected == 0 {
			return ErrNotFound
		}
		if r.Error != nil {
			return r.Error
		}
		return tx.followLimit(ctx, itemID, optionID, limit)
	})
}

// AddWindow lets a dish be served in one more window of its own. Errors: ErrNotFound, ErrBadInput.
func (s *Store) AddWindow(ctx context.Context, itemID, staffID int64, w MenuWindow) error {
	return s.editDish(ctx, itemID, staffID, "window", func(tx *Store) error {
		return tx.exec(ctx, `INSERT INTO menu_windows (item_id, weekdays, opens_minute, closes_minute, starts_on, ends_on) VALUES (?, ?, ?, ?, ?::date, ?::date)`,
			itemID, w.Weekdays, w.OpensMinute, w.ClosesMinute, w.StartsOn, w.EndsOn).Error
	})
}

// AddSpecial sets a price for a time. Errors: ErrNotFound, ErrBadInput, also for a choice of another dish or one that is no variant.
func (s *Store) AddSpecial(ctx context.Context, itemID, staffID int64, p SpecialPrice) error {
	return s.editDish(ctx, itemID, staffID, fmt.Sprintf("special price %d", p.PricePaise), func(tx *Store) error {
		r := tx.exec(ctx, `INSERT INTO special_prices (item_id, option_id, price_paise, starts_at, ends_at) SELECT i.id, ?::bigint, ?, ?, ? FROM items i
			WHERE i.id = ? AND (?::bigint IS NULL OR EXISTS (SELECT 1 FROM options o JOIN option_groups g ON g.id = o.group_id WHERE o.id = ? AND g.item_id = i.id AND g.kind = 'variant'))`,
			p.OptionID, p.PricePaise, p.StartsAt, p.EndsAt, itemID, p.OptionID, p.OptionID)
		if r.Error == nil && r.RowsAffected == 0 {
			return fmt.Errorf("%w: no choice of dish %d", ErrBadInput, itemID)
		}
		return r.Error
	})
}

// AddPart makes a dish a part of a combo. Errors: ErrNotFound, ErrBadInput for what cannot be one.
func (s *Store) AddPart(ctx context.Context, staffID int64, p ItemPart) error {
	return s.editDish(ctx, p.ItemID, staffID, fmt.Sprintf("part %d", p.PartItemID), func(tx *Store) error {
		return tx.exec(ctx, `INSERT INTO item_parts (item_id, option_id, part_item_id, part_option_id, qty) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT ON CONSTRAINT item_parts_key DO UPDATE SET qty = EXCLUDED.qty`, p.ItemID, p.OptionID, p.PartItemID, p.PartOptionID, p.Qty).Error
	})
}

// RemoveFrom takes away a window, a special price or a part of a dish, by its id. Safe to repeat. Errors: ErrNotFound for the dish, ErrBadInput
// for another kind.
func (s *Store) RemoveFrom(ctx context.Context, kind string, itemID, rowID, staffID int64) error {
	text := map[string]string{
		"window": `DELETE FROM menu_windows WHERE item_id = ? AND id = ?`, "special": `DELETE FROM special_prices WHERE item_id = ? AND id = ?`,
		"part": `DELETE FROM item_parts WHERE item_id = ? AND part_item_id = ?`,
	}[kind]
	if text == "" {
		return fmt.Errorf("%w: nothing of a dish is called so", ErrBadInput)
	}
	return s.editDish(ctx, itemID, staffID, fmt.Sprintf("without %s %d", kind, rowID), func(tx *Store) error { return tx.exec(ctx, text, itemID, rowID).Error })
}

// SetPhoto gives a dish a photo, stored under its hash; an empty hash takes it away, and the drawn picture is back. Safe to repeat.
// Errors: ErrNotFound.
func (s *Store) SetPhoto(ctx context.Context, itemID, staffID int64, hash string, small, large []byte) error {
	return s.editDish(ctx, itemID, staffID, "photo", func(tx *Store) error {
		if hash != "" {
			if err := tx.exec(ctx, `INSERT INTO photos (hash, small, large) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING`, hash, small, large).Error; err != nil {
				return err
			}
		}
		return tx.exec(ctx, `UPDATE items SET photo = NULLIF(?, '') WHERE id = ?`, hash, itemID).Error
	})
}

// FindPhoto reads a photo in one of its sizes. Errors: ErrNotFound.
func (s *Store) FindPhoto(ctx context.Context, hash string, large bool) (photo []byte, err error) {
	var row struct{ Bytes []byte }
	err = s.one(ctx, &row, `SELECT CASE WHEN ? THEN large ELSE small END AS bytes FROM photos WHERE hash = ?`, large, hash)
	return row.Bytes, err
}
