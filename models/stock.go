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

// takeHolds reserves the limited dishes of a fresh order until expires, in item order, by one guarded UPDATE each.
// Errors: *ErrSoldOut, naming the dish. Inside InTx only, under the order's row.
func (s *Store) takeHolds(ctx context.Context, o *Order, expires time.Time) error {
	wanted := map[int64]int{}
	for _, item := range o.Items {
		wanted[item.ItemID] += item.Qty
	}
	ids := make(IDList, 0, len(wanted))
	for id := range wanted {
		ids = append(ids, id)
	}
	var limited []struct {
		ID   int64
		Name string
	}
	if err := s.read(ctx, &limited, `SELECT id, name FROM items WHERE id = ANY (?::bigint[]) AND daily_limit IS NOT NULL ORDER BY id`, ids); err != nil {
		return err
	}
	for _, item := range limited {
		qty := wanted[item.ID]
		if err := s.exec(ctx, `INSERT INTO stock (item_id, day, initial) SELECT id, ?::date, daily_limit FROM items WHERE id = ? AND daily_limit IS NOT NULL
			ON CONFLICT (item_id, day) DO NOTHING`, o.ServiceOn, item.ID).Error; err != nil {
			return err
		}
		held := s.exec(ctx, `UPDATE stock SET held = held + ? WHERE item_id = ? AND day = ?::date AND initial - held - sold >= ?`, qty, item.ID, o.ServiceOn, qty)
		if held.Error != nil {
			return held.Error
		}
		if held.RowsAffected == 0 {
			sold := &ErrSoldOut{ItemID: item.ID, Name: item.Name}
			if err := s.read(ctx, &sold.Left, `SELECT greatest(initial - held - sold, 0) FROM stock WHERE item_id = ? AND day = ?::date`, item.ID, o.ServiceOn); err != nil {
				return err
			}
			return sold
		}
		if err := s.exec(ctx, `INSERT INTO stock_holds (order_id, item_id, day, qty, expires_at) VALUES (?, ?, ?::date, ?, ?)`,
			o.ID, item.ID, o.ServiceOn, qty, expires).Error; err != nil {
			return err
		}
	}
	return nil
}

type hold struct {
	ItemID int64
	Day    time.Time
	Qty    int
	State  string
}

func (s *Store) lockHolds(ctx context.Context, orderID int64) (holds []hold, err error) {
	err = s.read(ctx, &holds, `SELECT item_id, day, qty, state FROM stock_holds WHERE order_id = ? ORDER BY item_id, day FOR UPDATE`, orderID)
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
				r := tx.exec(ctx, `UPDATE stock SET held = held - ?, sold = sold + ? WHERE item_id = ? AND day = ?::date`, h.Qty, h.Qty, h.ItemID, h.Day)
				sold, err = r.RowsAffected, r.Error
			default:
				r := tx.exec(ctx, `UPDATE stock SET sold = sold + ? WHERE item_id = ? AND day = ?::date AND initial - held - sold >= ?`, h.Qty, h.ItemID, h.Day, h.Qty)
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
		if err := s.exec(ctx, `UPDATE stock SET `+column+` = `+column+` - ? WHERE item_id = ? AND day = ?::date`, h.Qty, h.ItemID, h.Day).Error; err != nil {
			return err
		}
		if err := s.moveHold(ctx, orderID, h, "released"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) moveHold(ctx context.Context, orderID int64, h hold, to string) error {
	r := s.exec(ctx, `UPDATE stock_holds SET state = ? WHERE order_id = ? AND item_id = ? AND day = ?::date AND state = ?`, to, orderID, h.ItemID, h.Day, h.State)
	if r.Error == nil && r.RowsAffected != 1 {
		return ErrBadMove
	}
	return r.Error
}
