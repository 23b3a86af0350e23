package models

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// CouponEdit is a coupon as its editors see it. Of Taken, which counts everybody's uses here, Held are by orders that are not paid yet.
type CouponEdit struct {
	Coupon
	OutletID int64
	Version  int
	Held     int
}

// Errors of a coupon's editor.
var (
	ErrCodeTaken  = errors.New("there is a coupon with this code")
	ErrBelowTaken = errors.New("the coupon was used more often already")
)

const couponEdit = `SELECT c.id, c.outlet_id, c.code, c.amount_paise, c.percent_bp, c.at_most_paise, c.minimum_paise, c.first_order, NULLIF(c.starts_at, '-infinity') AS starts_at,
	NULLIF(c.ends_at, 'infinity') AS ends_at, c.per_person, c.total, c.active, c.taken, c.version, (SELECT count(*) FROM coupon_uses u WHERE u.coupon_id = c.id AND u.state = 'held') AS held FROM coupons c`

// ListCouponEdits reads an outlet's coupons, those that are given first, the newest first.
func (s *Store) ListCouponEdits(ctx context.Context, outletID int64) (coupons []CouponEdit, err error) {
	if err = s.read(ctx, &coupons, couponEdit+` WHERE c.outlet_id = ? ORDER BY c.active DESC, c.id DESC LIMIT 500`, outletID); err != nil {
		return nil, fmt.Errorf("coupons of outlet %d: %w", outletID, err)
	}
	return coupons, nil
}

// FindCouponEdit reads one coupon for a staff member. Errors: ErrNotFound, also for one that the member may not edit.
func (s *Store) FindCouponEdit(ctx context.Context, couponID, staffID int64) (c CouponEdit, err error) {
	if err = s.one(ctx, &c, couponEdit+` WHERE c.id = ? AND EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND s.role IN ('owner', 'manager') AND (s.outlet_id IS NULL OR s.outlet_id = c.outlet_id))`,
		couponID, staffID); err != nil {
		return c, fmt.Errorf("coupon %d: %w", couponID, err)
	}
	return c, nil
}

// CreateCoupon makes a coupon, which is given from then on. Errors: ErrCodeTaken, ErrBadInput, ErrNotFound for the outlet.
func (s *Store) CreateCoupon(ctx context.Context, staffID int64, c CouponEdit) (id int64, err error) {
	err = s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		err := tx.one(ctx, &id, `INSERT INTO coupons (outlet_id, code, amount_paise, percent_bp, at_most_paise, minimum_paise, first_order, starts_at, ends_at, per_person, total)
			VALUES (?, ?, ?, ?, ?, ?, ?, COALESCE(?::timestamptz, '-infinity'), COALESCE(?::timestamptz, 'infinity'), ?, ?) ON CONFLICT ON CONSTRAINT coupons_code_key DO NOTHING RETURNING id`,
			c.OutletID, c.Code, c.AmountPaise, c.PercentBP, c.AtMostPaise, c.MinimumPaise, c.FirstOrder, c.StartsAt, c.EndsAt, c.PerPerson, c.Total)
		if errors.Is(err, ErrNotFound) {
			return "", "", ErrCodeTaken
		}
		return "create_coupon", fmt.Sprintf("coupon %d %s", id, c.terms()), err
	})
	return id, err
}

// SaveCoupon writes a coupon's terms if nobody has since its Version was read. Its code stays, and so do the bills of orders that have it.
// Errors: ErrEdited, ErrBelowTaken for a total below what is used, ErrBadInput, ErrNotFound.
func (s *Store) SaveCoupon(ctx context.Context, staffID int64, c CouponEdit) error {
	err := s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE coupons SET amount_paise = ?, percent_bp = ?, at_most_paise = ?, minimum_paise = ?, first_order = ?, starts_at = COALESCE(?::timestamptz, '-infinity'),
				ends_at = COALESCE(?::timestamptz, 'infinity'), per_person = ?, total = ?, version = version + 1 WHERE id = ? AND outlet_id = ? AND version = ?`,
			c.AmountPaise, c.PercentBP, c.AtMostPaise, c.MinimumPaise, c.FirstOrder, c.StartsAt, c.EndsAt, c.PerPerson, c.Total, c.ID, c.OutletID, c.Version)
		if r.Error == nil && r.RowsAffected == 0 {
			return "", "", tx.edited(ctx, "coupons", c.ID)
		}
		return "edit_coupon", fmt.Sprintf("coupon %d %s", c.ID, c.terms()), r.Error
	})
	if isConstraint(err, "coupons_taken_check") {
		return ErrBelowTaken
	}
	return err
}

// SwitchCoupon stops a coupon, or gives it again. Orders that have it keep their bills; carts lose it at their next look. Safe to repeat.
// Errors: ErrNotFound.
func (s *Store) SwitchCoupon(ctx context.Context, c CouponEdit, staffID int64, active bool) error {
	return s.editOutlet(ctx, c.OutletID, staffID, func(tx *Store) (string, string, error) {
		r := tx.exec(ctx, `UPDATE coupons SET active = ?, version = version + 1 WHERE id = ? AND outlet_id = ? AND active <> ?`, active, c.ID, c.OutletID, active)
		if r.Error != nil || r.RowsAffected == 0 {
			return "", "", r.Error
		}
		return map[bool]string{true: "resume_coupon", false: "stop_coupon"}[active], fmt.Sprintf("coupon %d %s", c.ID, c.Code), nil
	})
}

// terms are what a coupon says, for the audit.
func (c CouponEdit) terms() string {
	said := []string{c.Code}
	say := func(is bool, format string, args ...any) {
		if is {
			said = append(said, fmt.Sprintf(format, args...))
		}
	}
	if c.AmountPaise != nil {
		say(true, "%d paise", *c.AmountPaise)
	}
	if c.PercentBP != nil {
		say(true, "%d bp", *c.PercentBP)
	}
	if c.AtMostPaise != nil {
		say(true, "at most %d paise", *c.AtMostPaise)
	}
	say(c.MinimumPaise > 0, "from %d paise", c.MinimumPaise)
	say(c.FirstOrder, "first order")
	if c.StartsAt != nil {
		say(true, "from %s", c.StartsAt.In(India).Format("2006-01-02 15:04"))
	}
	if c.EndsAt != nil {
		say(true, "until %s", c.EndsAt.In(India).Format("2006-01-02 15:04"))
	}
	say(true, "%d a person", c.PerPerson)
	if c.Total != nil {
		say(true, "%d in total", *c.Total)
	}
	return strings.Join(said, ", ")
}
