package models

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Coupon is what a code takes off the dishes, with what is known about its use so far. Exactly one of AmountPaise and PercentBP is set.
type Coupon struct {
	ID           int64
	Code         string
	AmountPaise  *Paise
	PercentBP    *BasisPoints `gorm:"column:percent_bp"`
	AtMostPaise  *Paise       // of a percentage; nil: no limit
	MinimumPaise Paise        // of the item total
	FirstOrder   bool
	StartsAt     *time.Time // nil: always was
	EndsAt       *time.Time // the first moment it is no longer good; nil: never ends
	PerPerson    int
	Total        *int // nil: no limit
	Active       bool

	Taken         int  // by others, all together
	TakenByPerson int  // by this telephone number; 0 while it is not known
	OrderedBefore bool // this telephone number has had an order here; false while it is not known
}

// MaxTipPaise is the most that can be given; carts and orders hold it too.
const MaxTipPaise Paise = 1000_00

var couponPattern = regexp.MustCompile(`^[A-Z0-9]{3,20}$`)

// NormalCoupon is a code as people type it, in the form it is stored: without spaces, in capitals. ok is false for what can be no code.
func NormalCoupon(typed string) (code string, ok bool) {
	code = strings.ToUpper(strings.Join(strings.Fields(typed), ""))
	return code, code == "" || couponPattern.MatchString(code)
}

// Discount is what the coupon takes off an item total at an instant: at least a paisa, at most all of it. A percentage is rounded half
// up to the paisa. It is pure. The problem says why it takes nothing off.
func (c Coupon) Discount(subtotal Paise, at time.Time) (Paise, *ErrCoupon) {
	no := func(why string) (Paise, *ErrCoupon) { return 0, &ErrCoupon{Code: c.Code, Why: why} }
	switch {
	case c.ID == 0 || !c.Active:
		return no("unknown")
	case c.StartsAt != nil && at.Before(*c.StartsAt):
		return 0, &ErrCoupon{Code: c.Code, Why: "early", StartsAt: *c.StartsAt}
	case c.EndsAt != nil && !at.Before(*c.EndsAt):
		return no("late")
	case c.Total != nil && c.Taken >= *c.Total:
		return no("used_up")
	case c.FirstOrder && c.OrderedBefore:
		return no("first_order")
	case c.TakenByPerson >= c.PerPerson:
		return no("used")
	case subtotal < c.MinimumPaise:
		return 0, &ErrCoupon{Code: c.Code, Why: "minimum", MinimumPaise: c.MinimumPaise, ShortPaise: c.MinimumPaise - subtotal}
	}
	var off Paise
	if c.AmountPaise != nil {
		off = *c.AmountPaise
	} else if off = TaxOn(subtotal, *c.PercentBP); c.AtMostPaise != nil {
		off = min(off, *c.AtMostPaise)
	}
	if off = min(off, subtotal); off <= 0 {
		return no("minimum")
	}
	return off, nil
}

// findCoupon reads a cart's coupon as it stands for whoever has this telephone number, "" while it is not known. What the cart's own
// unpaid order has taken does not count: placing again gives it back first. A code that is none is a Coupon without an id.
func (s *Store) findCoupon(ctx context.Context, cart Cart, phone string) (*Coupon, error) {
	c := Coupon{Code: cart.Coupon}
	err := s.read(ctx, &c, `SELECT c.id, c.code, c.amount_paise, c.percent_bp, c.at_most_paise, c.minimum_paise, c.first_order, NULLIF(c.starts_at, '-infinity') AS starts_at,
			NULLIF(c.ends_at, 'infinity') AS ends_at, c.per_person, c.total, c.active, c.taken - count(u.order_id) FILTER (WHERE o.id IS NOT NULL) AS taken,
			count(u.order_id) FILTER (WHERE u.person = ? AND o.id IS NULL) AS taken_by_person, EXISTS (SELECT 1 FROM orders p WHERE p.phone = ? AND p.paid_at IS NOT NULL) AS ordered_before
		FROM coupons c LEFT JOIN coupon_uses u ON u.coupon_id = c.id AND u.state <> 'released' AND (u.person = ? OR u.state = 'held')
			LEFT JOIN orders o ON o.id = u.order_id AND o.cart_id = ? AND o.status = 'pending'
		WHERE c.outlet_id = ? AND c.code = ? GROUP BY c.id`, phone, phone, phone, cart.ID, cart.OutletID, cart.Coupon)
	if err != nil {
		return nil, fmt.Errorf("coupon of cart %d: %w", cart.ID, err)
	}
	return &c, nil
}

// takeCoupon counts a placed order's coupon, once, while it may be paid; a trigger gives it back when the order is closed. The coupon's
// row keeps those who take it at once in turn, and its constraints keep the count. Errors: *ErrCoupon, and then nothing of the placing
// stays. Inside InTx only, after what it may replace was superseded.
func (s *Store) takeCoupon(ctx context.Context, o *Order) error {
	if o.Coupon == "" {
		return nil
	}
	taken := s.exec(ctx, `INSERT INTO coupon_uses (order_id, coupon_id, person, nth, per_person, first_order)
		SELECT ?, c.id, ?, (SELECT min(n) FROM generate_series(1, c.per_person + 1) n WHERE NOT EXISTS (
				SELECT 1 FROM coupon_uses u WHERE u.coupon_id = c.id AND u.person = ? AND u.nth = n AND u.state <> 'released')), c.per_person, c.first_order
		FROM coupons c WHERE c.outlet_id = ? AND c.code = ? AND c.active AND c.starts_at <= shop_now() AND c.ends_at > shop_now()
			AND NOT (c.first_order AND EXISTS (SELECT 1 FROM orders p WHERE p.phone = ? AND p.paid_at IS NOT NULL)) FOR NO KEY UPDATE OF c`,
		o.ID, o.Phone, o.Phone, o.OutletID, o.Coupon, o.Phone)
	switch {
	case isConstraint(taken.Error, "coupons_taken_check"):
		return &ErrCoupon{Code: o.Coupon, Why: "used_up"}
	case isConstraint(taken.Error, "coupon_uses_share_check"), isConstraint(taken.Error, "coupon_uses_person_key"):
		return &ErrCoupon{Code: o.Coupon, Why: "used"}
	case isConstraint(taken.Error, "coupon_uses_first_key"):
		return &ErrCoupon{Code: o.Coupon, Why: "first_order"}
	case taken.Error != nil:
		return fmt.Errorf("coupon of order %d: %w", o.ID, taken.Error)
	case taken.RowsAffected == 0:
		return &ErrCoupon{Code: o.Coupon, Why: "late"}
	}
	return nil
}

// SetPlace writes where the customer's browser is into the cart, in degrees × 10⁶; nil and nil forget it. A change is another bill, as with
// SetExtras. Safe to repeat. Errors: ErrNotFound, ErrBadInput for no place on Earth.
func (s *Store) SetPlace(ctx context.Context, cartID int64, latE6, lngE6 *int) error {
	if (latE6 == nil) != (lngE6 == nil) || latE6 != nil && (abs(*latE6) > 90_000_000 || abs(*lngE6) > 180_000_000) {
		return fmt.Errorf("%w: coordinates", ErrBadInput)
	}
	return s.InTx(ctx, func(tx *Store) error {
		if _, err := tx.LockCart(ctx, cartID); err != nil {
			return err
		}
		r := tx.exec(ctx, `UPDATE carts SET latitude_e6 = ?, longitude_e6 = ? WHERE id = ? AND (latitude_e6, longitude_e6) IS DISTINCT FROM (?::int, ?::int)`, latE6, lngE6, cartID, latE6, lngE6)
		if r.Error != nil || r.RowsAffected == 0 {
			return r.Error
		}
		return tx.touchCart(ctx, cartID)
	})
}

// SetExtras writes a cart's coupon code and tip; neither is judged here, but for its shape. A change is another bill: the checkout key
// goes. Safe to repeat: what is so already changes nothing. Errors: ErrNotFound, ErrBadInput.
func (s *Store) SetExtras(ctx context.Context, cartID int64, coupon string, tip Paise) (changed bool, err error) {
	if code, ok := NormalCoupon(coupon); !ok || code != coupon || tip < 0 || tip > MaxTipPaise {
		return false, fmt.Errorf("%w: coupon or tip", ErrBadInput)
	}
	err = s.InTx(ctx, func(tx *Store) error {
		cart, err := tx.LockCart(ctx, cartID)
		if err != nil {
			return err
		}
		if changed = cart.Coupon != coupon || cart.TipPaise != tip; !changed {
			return nil
		}
		if err := tx.exec(ctx, `UPDATE carts SET coupon = ?, tip_paise = ? WHERE id = ?`, coupon, tip, cartID).Error; err != nil {
			return err
		}
		return tx.touchCart(ctx, cartID)
	})
	return changed, err
}
