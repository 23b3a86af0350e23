package views

import (
	"errors"
	"strconv"

	"github.com/a-h/templ"

	"tiffin/models"
)

func itemsText(q models.Quote) string { return Count(pieces(q), "item", "items") }

// toCheckout is what the way to checkout is called: while closed, an order is for later.
func toCheckout(v CartView, open string) string {
	if v.Later {
		return "Order for later"
	}
	return open
}

func cartClass(v CartView) string {
	if v.From == "cart" {
		return "panel"
	}
	return "side desk panel"
}

// lineIncludes makes a stepper on checkout send the chosen way and place along, so that the bill in the answer is for them.
func lineIncludes(from string) templ.Attributes {
	if from == "checkout" {
		return templ.Attributes{"hx-include": "#checkout [name=way]:checked, #checkout [name=saved]:checked, #pin, #time"}
	}
	return nil
}

func lineName(l models.QuoteLine) string {
	if l.Name == "" {
		return "A dish that is no longer on the menu"
	}
	return l.Name
}

// leftOf is how many could still be bought of a line with this problem; 0 when it has to go.
func leftOf(problem error) int {
	var soldOut *models.ErrSoldOut
	if errors.As(problem, &soldOut) {
		return soldOut.Left
	}
	return 0
}

// problemText says why a line cannot be bought, and what to do.
func problemText(problem error) string {
	var soldOut *models.ErrSoldOut
	var choice *models.ErrChoice
	switch {
	case errors.As(problem, &soldOut) && soldOut.Left > 0:
		return "Only " + strconv.Itoa(soldOut.Left) + " left. Please take fewer."
	case errors.As(problem, &soldOut) && soldOut.NotServed:
		return OffText(soldOut) + ". Please remove it."
	case errors.As(problem, &soldOut):
		return "Sold out. Please remove it."
	case errors.As(problem, &choice):
		return choice.Text + " Please remove it and add it again."
	default:
		return "Not on the menu any more. Please remove it."
	}
}

func priceChange(l models.QuoteLine) string {
	return "Now " + ShortRupees(l.UnitPricePaise+l.OptionsPricePaise) + " (was " + ShortRupees(l.SeenPaise) + ")"
}

func cartHint(q models.Quote) string {
	text := ""
	if q.DeliveryFreePaise > 0 {
		text = "Add " + ShortRupees(q.DeliveryFreePaise) + " more for free delivery. "
	}
	if q.TaxMode == "regular" {
		return text + "Packing, delivery and GST are added at checkout."
	}
	return text + "Packing and delivery are added at checkout."
}

// cartSentence is said once after each change: "Butter Chicken, 2 in your order, ₹698".
func cartSentence(v CartUpdateView) string {
	n, sum := 0, models.Paise(0)
	for _, l := range v.Cart.Quote.Lines {
		if l.ItemID == v.Item.ID {
			n, sum = n+l.Qty, sum+l.LineTotalPaise
		}
	}
	text := v.Item.Name + " removed. " + itemsText(v.Cart.Quote) + " in your order"
	if n > 0 {
		text = v.Item.Name + ", " + strconv.Itoa(n) + " in your order, " + ShortRupees(sum)
	}
	if v.Reason != "" {
		text = v.Reason + ". " + text
	}
	return text
}
