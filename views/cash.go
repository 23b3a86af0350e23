package views

import (
	"context"
	"strconv"

	"tiffin/models"
)

// CashFields are the cash settings as typed.
type CashFields struct {
	Pickup, Delivery bool
	Limit, Open      string // whole rupees; a number of orders
}

// cashRefundLetter says what becomes of money that was paid in cash and goes back the same way.
func cashRefundLetter(ctx context.Context, v MailView) []string {
	number, amount := strconv.Itoa(v.Order.Number), Rupees(v.Refund.AmountPaise)
	if v.Refund.Status == "processed" {
		return []string{T(ctx, "%s of order %s was given back in cash.", amount, number)}
	}
	return []string{T(ctx, "%s of order %s is yours to collect in cash.", amount, number), T(ctx, "Please call the restaurant, or come to the counter, to get it.")}
}

// CashText says why an order cannot be paid in cash, and what to do.
func CashText(ctx context.Context, e *models.ErrCash) string {
	switch e.Why {
	case "limit":
		return T(ctx, "Cash is taken for orders up to %s. Please pay this one online.", ShortRupees(e.LimitPaise))
	case "open":
		return T(ctx, "An earlier order of this number is not paid yet. Please pay this one online, or pay the other first.")
	default:
		return T(ctx, "Cash is not taken for this. Please pay online, or choose the other way.")
	}
}
