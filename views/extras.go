package views

import (
	"time"

	"tiffin/models"
)

// tipChoices are whole rupees; the first is what it is when nobody chooses.
var tipChoices = []struct{ value, label string }{{"0", "None"}, {"20", "₹20"}, {"30", "₹30"}, {"50", "₹50"}, {"other", "Other"}}

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
func couponProblem(e models.ErrCoupon, now time.Time) string {
	switch e.Why {
	case "early":
		return e.Code + " is good from " + When(e.StartsAt, now) + "."
	case "late":
		return e.Code + " is no longer good."
	case "used_up":
		return e.Code + " has been used up."
	case "used":
		return e.Code + " has been used with this mobile number already."
	case "first_order":
		return e.Code + " is for a first order with us."
	case "minimum":
		return e.Code + " needs dishes for " + ShortRupees(e.MinimumPaise) + ". Add " + ShortRupees(e.ShortPaise) + " more."
	}
	return "We do not know the coupon " + e.Code + ". Please check how it is written."
}
