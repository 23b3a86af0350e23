package views

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"tiffin/models"
)

// AgainView is an old order as it could be bought when it was put into the cart again. Number 0: none was.
type AgainView struct {
	Number int
	Lines  []models.ReorderLine
	Cart   models.Cart // what it was put into
}

// againTitle says at a glance whether all of it is there.
func againTitle(ctx context.Context, v AgainView) string {
	number := strconv.Itoa(v.Number)
	switch added := againAdded(v); {
	case added == 0:
		return T(ctx, "Nothing of order %s can be had now", number)
	case len(againTexts(ctx, v)) == 0:
		return T(ctx, "Order %s is in your cart, at the same prices", number)
	default:
		return T(ctx, "What can be had of order %s is in your cart", number)
	}
}

func againAdded(v AgainView) (n int) {
	for _, l := range v.Lines {
		if l.Qty > 0 && isIn(v.Cart, l.Was) {
			n++
		}
	}
	return n
}

func isIn(cart models.Cart, item models.OrderItem) bool {
	return slices.ContainsFunc(cart.Lines, func(l models.CartLine) bool {
		return l.ItemID == item.ItemID && slices.Equal(l.OptionIDs, item.OptionIDs)
	})
}

// againTexts says what could not be had, and what costs something else, one sentence each.
func againTexts(ctx context.Context, v AgainView) (texts []string) {
	for _, l := range v.Lines {
		if text := againText(ctx, l); text != "" {
			texts = append(texts, text)
		} else if !isIn(v.Cart, l.Was) {
			texts = append(texts, T(ctx, "%s is not in your cart.", l.Was.Name))
		}
		if l.PriceChanged() {
			texts = append(texts, T(ctx, "%s costs %s now, it was %s.", l.Was.Name, ShortRupees(l.Paise), ShortRupees(l.Was.UnitPricePaise+l.Was.OptionsPricePaise)))
		}
	}
	return texts
}

func againText(ctx context.Context, l models.ReorderLine) string {
	var sold *models.ErrSoldOut
	var choice *models.ErrChoice
	switch {
	case l.Problem == nil:
		return ""
	case errors.As(l.Problem, &sold) && l.Qty > 0:
		return T(ctx, "Only %s of %s %s left.", strconv.Itoa(l.Qty), strconv.Itoa(l.Was.Qty), l.Was.Name)
	case errors.As(l.Problem, &sold):
		return OffText(ctx, sold)
	case errors.As(l.Problem, &choice):
		return T(ctx, "%s can no longer be had with these choices.", l.Was.Name)
	default:
		return T(ctx, "%s is not on the menu any more.", l.Was.Name)
	}
}
