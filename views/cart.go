package views

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tiffin/models"
)

func itemsText(ctx context.Context, q models.Quote) string { return T(ctx, "%d items", pieces(q)) }

// toCheckout is what the way to checkout is called: while closed, an order is for later.
func toCheckout(ctx context.Context, v CartView, open string) string {
	if v.Later {
		return T(ctx, "Order for later")
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

func lineName(ctx context.Context, l models.QuoteLine) string {
	if l.Name == "" {
		return T(ctx, "A dish that is no longer on the menu")
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
func problemText(ctx context.Context, problem error) string {
	var soldOut *models.ErrSoldOut
	var choice *models.ErrChoice
	switch {
	case errors.As(problem, &soldOut) && soldOut.Left > 0:
		return T(ctx, "Only %d left. Please take fewer.", soldOut.Left)
	case errors.As(problem, &soldOut) && soldOut.NotServed:
		return OffText(ctx, soldOut) + " " + T(ctx, "Please remove it.")
	case errors.As(problem, &soldOut):
		return T(ctx, "Sold out. Please remove it.")
	case errors.As(problem, &choice):
		return ChoiceText(ctx, choice) + " " + T(ctx, "Please remove it and add it again.")
	default:
		return T(ctx, "Not on the menu any more. Please remove it.")
	}
}

func priceChange(ctx context.Context, l models.QuoteLine) string {
	return T(ctx, "Now %s (was %s)", ShortRupees(l.UnitPricePaise+l.OptionsPricePaise), ShortRupees(l.SeenPaise))
}

func cartHint(ctx context.Context, q models.Quote) string {
	text := T(ctx, "Packing and delivery are added at checkout.")
	if q.TaxMode == "regular" {
		text = T(ctx, "Packing, delivery and GST are added at checkout.")
	}
	if q.DeliveryFreePaise > 0 {
		return T(ctx, "Add %s more for free delivery.", ShortRupees(q.DeliveryFreePaise)) + " " + text
	}
	return text
}

// cartSentence is said once after each change: "Butter Chicken, 2 in your order, ₹698".
func cartSentence(ctx context.Context, v CartUpdateView) string {
	n, sum := 0, models.Paise(0)
	for _, l := range v.Cart.Quote.Lines {
		if l.ItemID == v.Item.ID {
			n, sum = n+l.Qty, sum+l.LineTotalPaise
		}
	}
	text := T(ctx, "%s removed. %s in your order", v.Item.Name, itemsText(ctx, v.Cart.Quote))
	if n > 0 {
		text = T(ctx, "%s, %s in your order, %s", v.Item.Name, strconv.Itoa(n), ShortRupees(sum))
	}
	return strings.TrimSpace(v.Reason + " " + text)
}
