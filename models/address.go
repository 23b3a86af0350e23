package models

import (
	"context"
	"errors"
	"fmt"
)

// MaxAddresses is how many places an account keeps; a CHECK holds it too.
const MaxAddresses = 20

// Address is a place an account keeps for the next order. An order has its own copy, which nothing here touches.
type Address struct {
	ID         int64
	CustomerID int64
	Label      string // the customer's own word for it; may be empty
	Line1      string
	Line2      string
	PIN        string `gorm:"column:pin"`
	Directions string
	IsDefault  bool // the one that checkout starts with
}

const addressColumns = `id, customer_id, label, line1, line2, pin, directions, is_default`

// ListAddresses returns what an account keeps, the one checkout starts with first.
func (s *Store) ListAddresses(ctx context.Context, customerID int64) (addresses []Address, err error) {
	err = s.read(ctx, &addresses, `SELECT `+addressColumns+` FROM customer_addresses WHERE customer_id = ? ORDER BY is_default DESC, id`, customerID)
	return addresses, err
}

// FindAddress returns one of the customer's own addresses. Errors: ErrNotFound, for somebody else's too.
func (s *Store) FindAddress(ctx context.Context, customerID, addressID int64) (a Address, err error) {
	err = s.one(ctx, &a, `SELECT `+addressColumns+` FROM customer_addresses WHERE id = ? AND customer_id = ?`, addressID, customerID)
	return a, err
}

// SaveAddress keeps a place for an account. The same place again is the one there is, with the newest label and directions. The first is
// the one checkout starts with. Safe to repeat.
// Errors: ErrTooManyPlaces for a 21st, ErrSignedOut for what is no account, ErrBadInput.
func (s *Store) SaveAddress(ctx context.Context, a Address) (saved Address, err error) {
	err = s.inAddresses(ctx, a.CustomerID, func(tx *Store) error {
		return tx.one(ctx, &saved, `INSERT INTO customer_addresses AS a (customer_id, nth, label, line1, line2, pin, directions, is_default)
			SELECT ?::bigint, COALESCE((SELECT m.nth FROM customer_addresses m WHERE (m.customer_id, m.line1, m.line2, m.pin) = (?::bigint, ?, ?, ?)),
					(SELECT min(n) FROM generate_series(1, ?::int + 1) n WHERE NOT EXISTS (SELECT 1 FROM customer_addresses m WHERE m.customer_id = ? AND m.nth = n))),
				?, ?, ?, ?, ?, NOT EXISTS (SELECT 1 FROM customer_addresses m WHERE m.customer_id = ? AND m.is_default)
			ON CONFLICT ON CONSTRAINT customer_addresses_place_key DO UPDATE SET label = COALESCE(NULLIF(EXCLUDED.label, ''), a.label), directions = EXCLUDED.directions
			RETURNING `+addressColumns, a.CustomerID, a.CustomerID, a.Line1, a.Line2, a.PIN, MaxAddresses, a.CustomerID,
			a.Label, a.Line1, a.Line2, a.PIN, a.Directions, a.CustomerID)
	})
	return saved, err
}

// ChangeAddress writes another text over one of the account's addresses. One that is another of them by now takes its place. Safe to repeat.
// Errors: ErrNotFound, for somebody else's too; ErrSignedOut, ErrBadInput.
func (s *Store) ChangeAddress(ctx context.Context, a Address) error {
	return s.inAddresses(ctx, a.CustomerID, func(tx *Store) error {
		was, err := tx.FindAddress(ctx, a.CustomerID, a.ID)
		if err != nil {
			return err
		}
		var twin Address
		if err := tx.read(ctx, &twin, `DELETE FROM customer_addresses WHERE (customer_id, line1, line2, pin) = (?::bigint, ?, ?, ?) AND id <> ? RETURNING `+addressColumns,
			a.CustomerID, a.Line1, a.Line2, a.PIN, a.ID); err != nil {
			return err
		}
		return tx.exec(ctx, `UPDATE customer_addresses SET label = ?, line1 = ?, line2 = ?, pin = ?, directions = ?, is_default = ? WHERE id = ? AND customer_id = ?`,
			a.Label, a.Line1, a.Line2, a.PIN, a.Directions, was.IsDefault || twin.IsDefault, a.ID, a.CustomerID).Error
	})
}

// ChooseAddress makes one of the account's addresses the one checkout starts with. Safe to repeat. Errors: ErrNotFound, ErrSignedOut.
func (s *Store) ChooseAddress(ctx context.Context, customerID, addressID int64) error {
	return s.inAddresses(ctx, customerID, func(tx *Store) error {
		if _, err := tx.FindAddress(ctx, customerID, addressID); err != nil {
			return err
		}
		if err := tx.exec(ctx, `UPDATE customer_addresses SET is_default = false WHERE customer_id = ? AND is_default AND id <> ?`, customerID, addressID).Error; err != nil {
			return err
		}
		return tx.exec(ctx, `UPDATE customer_addresses SET is_default = true WHERE id = ? AND customer_id = ?`, addressID, customerID).Error
	})
}

// DropAddress forgets one of the account's addresses; where checkout started with it, it starts with the oldest of the others. Safe to repeat.
// Errors: ErrSignedOut.
func (s *Store) DropAddress(ctx context.Context, customerID, addressID int64) error {
	return s.inAddresses(ctx, customerID, func(tx *Store) error {
		if err := tx.exec(ctx, `DELETE FROM customer_addresses WHERE id = ? AND customer_id = ?`, addressID, customerID).Error; err != nil {
			return err
		}
		return tx.exec(ctx, `UPDATE customer_addresses SET is_default = true WHERE id = (SELECT min(id) FROM customer_addresses WHERE customer_id = ?)
			AND NOT EXISTS (SELECT 1 FROM customer_addresses WHERE customer_id = ? AND is_default)`, customerID, customerID).Error
	})
}

// inAddresses runs one change of an account's addresses; changes take turns at the account's row.
func (s *Store) inAddresses(ctx context.Context, customerID int64, change func(tx *Store) error) error {
	err := s.InTx(ctx, func(tx *Store) error {
		var account int64
		if err := tx.one(ctx, &account, `SELECT id FROM customers WHERE id = ? AND account_at IS NOT NULL AND deleted_at IS NULL FOR NO KEY UPDATE`, customerID); err != nil {
			return signedOut(err)
		}
		return change(tx)
	})
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrSignedOut):
		return err
	case isConstraint(err, "customer_addresses_limit_check"):
		return ErrTooManyPlaces
	case isBadValue(err):
		return fmt.Errorf("%w: address: %w", ErrBadInput, err)
	}
	return fmt.Errorf("addresses of account %d: %w", customerID, err)
}
