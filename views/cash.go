package views

import (
	"context"

	"tiffin/models"
)

// CashFields are the cash settings as typed.
type CashFields struct {
	Pickup, Delivery bool
	Limit, Open      string // whole rupees; a number of orders
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
