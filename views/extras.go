package views

import (
	"context"
	"time"

	"tiffin/models"
)

// tipChoices are whole rupees; the first is what it is when nobody chooses.
var tipChoices = []struct{ value, label string }{{"0", Key("None")}, {"20", "₹20"}, {"30", "₹30"}, {"50", "₹50"}, {"other", Key("Other")}}

func tipOf(f CheckoutFields) string {
	if f.Tip == "" {
		return tipChoices[0].value
	}
	return f.Tip
}

// IsTipChoice reports whether a tip is one of those the page offers by name.
func IsTipChoice(value string) bool {
	for _, t := range tipChoices {
		if t.value == value {
			return true
		}
	}
	return false
}

// couponProblem says why a coupon takes nothing off. The order can be paid without it.
func couponProblem(ctx context.Context, e models.ErrCoupon, now time.Time) string {
	switch e.Why {
	case "early":
		return T(ctx, "%s is good from %s.", e.Code, When(ctx, e.StartsAt, now))
	case "late":
		return T(ctx, "%s is no longer good.", e.Code)
	case "used_up":
		return T(ctx, "%s has been used up.", e.Code)
	case "used":
		return T(ctx, "%s has been used with this mobile number already.", e.Code)
	case "first_order":
		return T(ctx, "%s is for a first order with us.", e.Code)
	case "minimum":
		return T(ctx, "%s needs dishes for %s. Add %s more.", e.Code, ShortRupees(e.MinimumPaise), ShortRupees(e.ShortPaise))
	}
	return T(ctx, "We do not know the coupon %s. Please check how it is written.", e.Code)
}
