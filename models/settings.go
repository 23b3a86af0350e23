package models

import (
	"context"
	"errors"
	"fmt"
)

// ErrEdited says that somebody else has changed a row since the form that is saved was shown. Nothing was written.
var ErrEdited = errors.New("somebody else has changed this meanwhile")

// managesOutlet is true in SQL when the staff member (first ?) is an active owner or manager with a say at the outlet (second ?).
const managesOutlet = `EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND s.role IN ('owner', 'manager') AND (s.outlet_id IS NULL OR s.outlet_id = ?))`

// editOutlet runs one change of an outlet's settings under its row, so that two editors take turns, with the deed in the audit. What breaks
// a rule of the database is ErrBadInput and changes nothing. Errors besides: ErrNotFound, also when the staff member has no say there, and
// what change returns.
func (s *Store) editOutlet(ctx context.Context, outletID, staffID int64, change func(tx *Store) (deed, detail string, err error)) error {
	return s.InTx(ctx, func(tx *Store) error {
		if err := tx.exec(ctx, `SELECT 1 FROM outlets WHERE id = ? FOR NO KEY UPDATE`, outletID).Error; err != nil {
			return fmt.Errorf("outlet %d: %w", outletID, err)
		}
		var may bool
		if err := tx.one(ctx, &may, `SELECT EXISTS (SELECT 1 FROM outlets WHERE id = ?) AND `+managesOutlet, outletID, staffID, outletID); err != nil || !may {
			return errors.Join(err, fmt.Errorf("outlet %d: %w", outletID, ErrNotFound))
		}
		var deed, detail string
		err := tx.savepoint(ctx, func(tx *Store) (err error) {
			deed, detail, err = change(tx)
			return err
		})
		switch {
		case isBadValue(err) && !isConstraint(err, "coupons_taken_check"):
			return fmt.Errorf("%w: %v", ErrBadInput, err)
		case err != nil:
			return fmt.Errorf("outlet %d: %w", outletID, err)
		case deed == "":
			return nil
		}
		return tx.recordDeed(ctx, staffID, deed, detail, outletID)
	})
}

// edited tells what a guarded UPDATE that found no row means: ErrNotFound when there is none, else ErrEdited.
func (s *Store) edited(ctx context.Context, table string, id int64) error {
	var there bool
	if err := s.one(ctx, &there, `SELECT EXISTS (SELECT 1 FROM `+table+` WHERE id = ?)`, id); err != nil {
		return err
	}
	if !there {
		return ErrNotFound
	}
	return ErrEdited
}
