package models

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// errNoPortion says, inside recording only, that a released hold cannot be taken again: the last portion, or the last room at its time, is gone.
var errNoPortion = errors.New("the last portion is gone")

// takeHolds reserves, until expires, what of a fresh order is limited: its dishes, their choices, and the parts of its combos, by one
// guarded UPDATE each, always in the same order. Errors: *ErrSoldOut, naming the dish. Inside InTx only, under the order's row.
func (s *Store) takeHolds(ctx context.Context, o *Order, expires time.Time) error {
	var limited []struct {
		ItemID   int64
		OptionID int64
		Name     string
		Limit    int
		Qty      int
	}
	// As takes says it in Go.
	if err := s.read(ctx, &limited, `WITH lines AS (SELECT item_id, option_ids, qty FROM order_items WHERE order_id = @order),
		wanted AS (SELECT item_id, 0::bigint AS option_id, qty FROM lines
			UNION ALL SELECT item_id, unnest(option_ids), qty FROM lines
			UNION ALL SELECT p.part_item_id, part.option_id, l.qty * p.qty FROM lines l JOIN item_parts p ON p.item_id = l.item_id AND (p.option_id IS NULL OR p.option_id = ANY (l.option_ids)),
				LATERAL (SELECT 0::bigint AS option_id UNION ALL SELECT p.part_option_id WHERE p.part_option_id IS NOT NULL) part)
		SELECT w.item_id, w.option_id, concat_ws(', ', i.name, c.name) AS name, COALESCE(c.daily_limit, i.daily_limit) AS "limit", sum(w.qty) AS qty
		FROM wanted w JOIN items i ON i.id = w.item_id LEFT JOIN options c ON c.id = w.option_id
		WHERE CASE w.option_id WHEN 0 THEN i.daily_limit ELSE c.daily_limit END IS NOT NULL
		GROUP BY w.item_id, w.option_id, i.name, c.name, i.daily_limit, c.daily_limit ORDER BY w.item_id, w.option_id`, map[string]any{"order": o.ID}); err != nil {
		return err
	}
	for _, l := range limited {
		if err := s.exec(ctx, `INSERT INTO stock (item_id, option_id, day, initial) VALUES (?, ?, ?::date, ?) ON CONFLICT (item_id, option_id, day) DO NOTHING`,
			l.ItemID, l.OptionID, o.ServiceOn, l.Limit).Error; err != nil {
			return err
		}
		held := s.exec(ctx, `UPDATE stock SET held = held + ? WHERE item_id = ? AND option_id = ? AND day = ?::date AND initial - held - sold >= ?`, l.Qty, l.ItemID, l.OptionID, o.ServiceOn, l.Qty)
		if held.Error != nil {
			return held.Error
		}
		if held.RowsAffected == 0 {
			sold := &ErrSoldOut{ItemID: l.ItemID, Name: l.Name}
			if err := s.read(ctx, &sold.Left, `SELECT greatest(initial - held - sold, 0) FROM stock WHERE item_id = ? AND option_id = ? AND day = ?::date`, l.ItemID, l.OptionID, o.ServiceOn); err != nil {
				return err
			}
			return sold
		}
		if err := s.exec(ctx, `INSERT INTO stock_holds (order_id, item_id, option_id, day, qty, expires_at) VALUES (?, ?, ?, ?::date, ?, ?)`,
			o.ID, l.ItemID, l.OptionID, o.ServiceOn, l.Qty, expires).Error; err != nil {
			return err
		}
	}
	return nil
}

type hold struct {
	ItemID   int64
	OptionID int64
	Day      time.Time
	Qty      int
	State    string
}

func (s *Store) lockHolds(ctx context.Context, orderID int64) (holds []hold, err error) {
	err = s.read(ctx, &holds, `SELECT item_id, option_id, day, qty, state FROM stock_holds WHERE order_id = ? ORDER BY item_id, option_id, day FOR UPDATE`, orderID)
	return holds, err
}

// CommitHolds turns the order's holds of time and dishes into sales: its own ones even past their expiry, released ones when the portion is still there.
// Otherwise nothing is changed and kept is false. Safe to repeat. Inside InTx only, under the order's row lock.
func (s *Store) CommitHolds(ctx context.Context, orderID int64) (kept bool, err error) {
	err = s.savepoint(ctx, func(tx *Store) error {
		if kept, err = tx.commitTime(ctx, orderID); err != nil || !kept {
			return cmp.Or(err, errNoPortion)
		}
		holds, err := tx.lockHolds(ctx, orderID)
		if err != nil {
			return err
		}
		for _, h := range holds {
			var sold int64
			switch h.State {
			case "committed":
				continue
			case "held":
				r := tx.exec(ctx, `UPDATE stock SET held = held - ?, sold = sold + ? WHERE item_id = ? AND option_id = ? AND day = ?::date`, h.Qty, h.Qty, h.ItemID, h.OptionID, h.Day)
				sold, err = r.RowsAffected, r.Error
			default:
				r := tx.exec(ctx, `UPDATE stock SET sold = sold + ? WHERE item_id = ? AND option_id = ? AND day = ?::date AND initial - held - sold >= ?`, h.Qty, h.ItemID, h.OptionID, h.Day, h.Qty)
				sold, err = r.RowsAffected, r.Error
			}
			if err != nil {
				return err
			}
			if sold == 0 {
				return errNoPortion
			}
			if err := tx.moveHold(ctx, orderID, h, "committed"); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errNoPortion) {
		return false, nil
	}
	return err == nil, err
}

// ReleaseHolds gives back what the order holds or has taken of time and dishes. Safe to repeat. Inside InTx only, under the order's row lock.
func (s *Store) ReleaseHolds(ctx context.Context, orderID int64) error {
	if err := s.releaseTime(ctx, orderID); err != nil {
		return err
	}
	holds, err := s.lockHolds(ctx, orderID)
	if err != nil {
		return err
	}
	for _, h := range slices.DeleteFunc(holds, func(h hold) bool { return h.State == "released" }) {
		column := map[string]string{"held": "held", "committed": "sold"}[h.State]
		if err := s.exec(ctx, `UPDATE stock SET `+column+` = `+column+` - ? WHERE item_id = ? AND option_id = ? AND day = ?::date`, h.Qty, h.ItemID, h.OptionID, h.Day).Error; err != nil {
			return err
		}
		if err := s.moveHold(ctx, orderID, h, "released"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) moveHold(ctx context.Context, orderID int64, h hold, to string) error {
	r := s.exec(ctx, `UPDATE stock_holds SET state = ? WHERE order_id = ? AND item_id = ? AND option_id = ? AND day = ?::date AND state = ?`, to, orderID, h.ItemID, h.OptionID, h.Day, h.State)
	if r.Error == nil && r.RowsAffected != 1 {
		return ErrBadMove
	}
	return r.Error
}

// ServesOrder reports whether every dish of an order is within its windows at now. Dishes that are gone from the menu are not asked about.
func (s *Store) ServesOrder(ctx context.Context, o Order, now time.Time) (bool, error) {
	schedule, _, err := s.findScheduleNow(ctx, o.OutletID, 0)
	if err != nil {
		return false, err
	}
	items, err := s.listItems(ctx, schedule, now, 0, `id IN (SELECT item_id FROM order_items WHERE order_id = ?)`, o.ID)
	return !slices.ContainsFunc(items, func(i Item) bool { return i.NotServed }), err
}
