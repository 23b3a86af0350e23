package views

import (
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
func againTitle(v AgainView) string {
	switch added := againAdded(v); {
	case added == 0:
		return "Nothing of order " + strconv.Itoa(v.Number) + " can be had now"
	case len(againTexts(v)) == 0:
		return "Order " + strconv.Itoa(v.Number) + " is in your cart, at the same prices"
	default:
		return "What can be had of order " + strconv.Itoa(v.Number) + " is in your cart"
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
func againTexts(v AgainView) (texts []string) {
	for _, l := range v.Lines {
		if text := againText(l); text != "" {
			texts = append(texts, text)
		} else if !isIn(v.Cart, l.Was) {
			texts = append(texts, l.Was.Name+" is not in your cart.")
		}
		if l.PriceChanged() {
			texts = append(texts, l.Was.Name+" costs "+ShortRupees(l.Paise)+" now, it was "+ShortRupees(l.Was.UnitPricePaise+l.Was.OptionsPricePaise)+".")
		}
	}
	return texts
}

func againText(l models.ReorderLine) string {
	var sold *models.ErrSoldOut
	var choice *models.ErrChoice
	switch {
	case l.Problem == nil:
		return ""
	case errors.As(l.Problem, &sold) && l.Qty > 0:
		return "Only " + strconv.Itoa(l.Qty) + " of " + strconv.Itoa(l.Was.Qty) + " " + l.Was.Name + " left."
	case errors.As(l.Problem, &sold):
		return OffText(sold) + "."
	case errors.As(l.Problem, &choice):
		return l.Was.Name + " can no longer be had with these choices."
	default:
		return l.Was.Name + " is not on the menu any more."
	}
}
