package views

import (
	"context"
	"errors"
	"strconv"

	"tiffin/models"
)

func deliveryProblem(v CheckoutView, why string) *models.ErrDelivery {
	var problem *models.ErrDelivery
	if errors.As(v.Problem, &problem) && problem.Why == why {
		return problem
	}
	return nil
}

// tooSmall says that the bill is below what the gateway takes.
func tooSmall(v CheckoutView) bool { return errors.Is(v.Problem, models.ErrTooSmall) }

func deliveryAnchor(v CheckoutView) string {
	if deliveryProblem(v, "minimum") != nil {
		return "minimum"
	}
	return "delivery-message"
}

// deliveryWords answers at once whether we deliver to the PIN code that was typed.
func deliveryWords(ctx context.Context, v CheckoutView) (kind, title, text string) {
	far, low := deliveryProblem(v, "far"), deliveryProblem(v, "minimum")
	switch {
	case v.Quote.Way != "delivery":
		return "", "", ""
	case far != nil && v.Page.Outlet.OffersPickup:
		return "bad", T(ctx, "Sorry, we do not deliver to %s.", far.PIN), T(ctx, "You can collect your order, or use another address.")
	case far != nil:
		return "bad", T(ctx, "Sorry, we do not deliver to %s.", far.PIN), T(ctx, "Please use another address.")
	case low != nil && v.Page.Outlet.OffersPickup:
		return "warn", T(ctx, "Add %s more for delivery.", ShortRupees(low.ShortPaise)), T(ctx, "Delivery starts at %s. Pickup has no minimum.", ShortRupees(low.MinimumPaise))
	case low != nil:
		return "warn", T(ctx, "Add %s more for delivery.", ShortRupees(low.ShortPaise)), T(ctx, "Delivery starts at %s.", ShortRupees(low.MinimumPaise))
	case v.Quote.DistanceMetres != nil:
		text = T(ctx, "About %s away.", Distance(ctx, *v.Quote.DistanceMetres))
		if v.Quote.DeliveryFreePaise > 0 {
			text += " " + T(ctx, "Add %s more for free delivery.", ShortRupees(v.Quote.DeliveryFreePaise))
		}
		return "ok", T(ctx, "We deliver to %s.", v.Form.PIN), text
	default:
		return "", "", ""
	}
}

// deliveryNote stands under "Delivery": the time, and the fee once the place is known.
func deliveryNote(ctx context.Context, v CheckoutView) string {
	fee := ""
	if v.Quote.Way == "delivery" && v.Quote.DeliveryKnown && v.Quote.DistanceMetres != nil {
		fee = T(ctx, "Free")
		if v.Quote.DeliveryPaise > 0 {
			fee = ShortRupees(v.Quote.DeliveryPaise)
		}
	}
	return dotted(deliveryTime(ctx, v.Page.Outlet), fee)
}

func changedTitle(ctx context.Context, changed string) string {
	if changed == "details" {
		return T(ctx, "Checkout details have changed")
	}
	return T(ctx, "The bill changed")
}

func changedAsk(ctx context.Context, v CheckoutView) string {
	if v.Changed == "details" {
		return T(ctx, "Nothing was charged. Please check everything below before you pay.")
	}
	return T(ctx, "Nothing was charged. Please look at the new total before you pay.")
}

// changes names what is different from what the customer saw. With the earlier bill at hand it compares the two; without it, it names
// the lines that cost something else than when they were added.
func changes(ctx context.Context, v CheckoutView) []string {
	var said []string
	if v.Was != nil {
		said = compare(ctx, *v.Was, v.Quote)
	} else {
		for _, l := range v.Quote.Lines {
			if l.PriceChanged() {
				said = append(said, T(ctx, "%s is now %s (was %s).", lineName(ctx, l), ShortRupees(l.UnitPricePaise+l.OptionsPricePaise), ShortRupees(l.SeenPaise)))
			}
		}
	}
	for _, l := range v.Quote.Lines {
		if l.Problem != nil {
			said = append(said, lineName(ctx, l)+": "+problemText(ctx, l.Problem))
		}
	}
	if len(said) > 0 {
		return said
	}
	if v.Changed == "details" {
		return []string{T(ctx, "The items, the restaurant or the address are not the ones this page was opened with, perhaps in another tab.")}
	}
	return []string{T(ctx, "The total is now %s.", Rupees(v.Quote.AmountPaise))}
}

func compare(ctx context.Context, was, now models.Quote) []string {
	var said []string
	type key struct{ item, options string }
	keyOf := func(l models.QuoteLine) key {
		k := key{item: id(l.ItemID)}
		for _, o := range l.OptionIDs {
			k.options += "," + id(o)
		}
		return k
	}
	before := map[key]models.QuoteLine{}
	for _, l := range was.Lines {
		before[keyOf(l)] = l
	}
	for _, l := range now.Lines {
		old, known := before[keyOf(l)]
		delete(before, keyOf(l))
		one, oldOne := l.UnitPricePaise+l.OptionsPricePaise, old.UnitPricePaise+old.OptionsPricePaise
		switch {
		case !known:
			said = append(said, T(ctx, "%s was added.", lineName(ctx, l)))
		case l.Problem == nil && old.Problem == nil && one != oldOne:
			said = append(said, T(ctx, "%s is now %s (was %s).", lineName(ctx, l), ShortRupees(one), ShortRupees(oldOne)))
		case l.Qty != old.Qty:
			said = append(said, T(ctx, "%s: %s instead of %s.", lineName(ctx, l), strconv.Itoa(l.Qty), strconv.Itoa(old.Qty)))
		}
	}
	for _, l := range was.Lines { // in the order they were shown
		if _, gone := before[keyOf(l)]; gone {
			said = append(said, T(ctx, "%s was removed.", lineName(ctx, l)))
		}
	}
	for _, fee := range []struct {
		says     string
		was, now models.Paise
	}{{Key("The discount is now %s (was %s)."), was.DiscountPaise, now.DiscountPaise}, {Key("Packing is now %s (was %s)."), was.PackagingPaise, now.PackagingPaise},
		{Key("Delivery is now %s (was %s)."), was.DeliveryPaise, now.DeliveryPaise}, {Key("CGST is now %s (was %s)."), was.CGSTPaise, now.CGSTPaise},
		{Key("SGST is now %s (was %s)."), was.SGSTPaise, now.SGSTPaise}, {Key("The tip is now %s (was %s)."), was.TipPaise, now.TipPaise},
		{Key("The total is now %s (was %s)."), was.AmountPaise, now.AmountPaise}} {
		if fee.was != fee.now {
			said = append(said, T(ctx, fee.says, Rupees(fee.now), Rupees(fee.was)))
		}
	}
	return said
}

func taxNote(ctx context.Context, q models.Quote) string {
	switch {
	case q.TaxMode == "composition":
		return T(ctx, "Composition taxable person, not eligible to collect tax on supplies.")
	case q.TaxMode != "regular":
		return T(ctx, "No GST is charged.")
	case len(q.Taxes) == 1 && q.DeliveryPaise > 0:
		return T(ctx, "GST is charged at %s on food, packing and delivery.", Percent(q.Taxes[0].CGSTBP+q.Taxes[0].SGSTBP))
	case len(q.Taxes) == 1:
		return T(ctx, "GST is charged at %s on food and packing.", Percent(q.Taxes[0].CGSTBP+q.Taxes[0].SGSTBP))
	default:
		return T(ctx, "GST is charged on each kind of item at its own rate.")
	}
}

// mayPay says whether the button can be pressed. A PIN code or a minimum does not lock it: without script it is the only way to send a
// corrected field. Whether the order is placed is decided by the server alone.
func mayPay(v CheckoutView) bool {
	if v.Times.Soonest == nil && len(v.Times.Later) == 0 {
		return false
	}
	for _, l := range v.Quote.Lines {
		if l.Problem != nil {
			return false
		}
	}
	return true
}

// payLabel names the amount only when it is the amount: before the place is known there is no total to agree to.
func payLabel(ctx context.Context, v CheckoutView) string {
	if v.Quote.Way == "delivery" && !v.Quote.DeliveryKnown {
		return T(ctx, "See the total")
	}
	if low := deliveryProblem(v, "minimum"); low != nil {
		return T(ctx, "Add %s more for delivery", ShortRupees(low.ShortPaise))
	}
	if v.Quote.AmountPaise == 0 {
		return T(ctx, "Place the order, nothing to pay")
	}
	return T(ctx, "Pay %s", Rupees(v.Quote.AmountPaise))
}

func checkoutSentence(ctx context.Context, v CheckoutView) string {
	_, title, text := deliveryWords(ctx, v)
	sentence := T(ctx, "%s, to pay %s.", itemsText(ctx, v.Quote), Rupees(v.Quote.AmountPaise))
	if v.Quote.Way == "delivery" && !v.Quote.DeliveryKnown {
		sentence = T(ctx, "%s, %s without delivery.", itemsText(ctx, v.Quote), Rupees(v.Quote.AmountPaise))
	}
	if title != "" {
		sentence += " " + title + " " + text
	}
	return sentence
}
