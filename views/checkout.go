package views

import (
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
func deliveryWords(v CheckoutView) (kind, title, text string) {
	far, low := deliveryProblem(v, "far"), deliveryProblem(v, "minimum")
	switch {
	case v.Quote.Way != "delivery":
		return "", "", ""
	case far != nil && v.Page.Outlet.OffersPickup:
		return "bad", "Sorry, we do not deliver to " + far.PIN + ".", "You can collect your order, or use another address."
	case far != nil:
		return "bad", "Sorry, we do not deliver to " + far.PIN + ".", "Please use another address."
	case low != nil && v.Page.Outlet.OffersPickup:
		return "warn", "Add " + ShortRupees(low.ShortPaise) + " more for delivery.", "Delivery starts at " + ShortRupees(low.MinimumPaise) + ". Pickup has no minimum."
	case low != nil:
		return "warn", "Add " + ShortRupees(low.ShortPaise) + " more for delivery.", "Delivery starts at " + ShortRupees(low.MinimumPaise) + "."
	case v.Quote.DistanceMetres != nil:
		text = "About " + Distance(*v.Quote.DistanceMetres) + " away."
		if v.Quote.DeliveryFreePaise > 0 {
			text += " Add " + ShortRupees(v.Quote.DeliveryFreePaise) + " more for free delivery."
		}
		return "ok", "We deliver to " + v.Form.PIN + ".", text
	default:
		return "", "", ""
	}
}

// deliveryNote stands under "Delivery": the time, and the fee once the place is known.
func deliveryNote(v CheckoutView) string {
	fee := ""
	if v.Quote.Way == "delivery" && v.Quote.DeliveryKnown && v.Quote.DistanceMetres != nil {
		fee = "Free"
		if v.Quote.DeliveryPaise > 0 {
			fee = ShortRupees(v.Quote.DeliveryPaise)
		}
	}
	return dotted(deliveryTime(v.Page.Outlet), fee)
}

func changedTitle(changed string) string {
	if changed == "details" {
		return "Checkout details have changed"
	}
	return "The bill changed"
}

func changedAsk(v CheckoutView) string {
	if v.Changed == "details" {
		return "Nothing was charged. Please check everything below before you pay."
	}
	return "Nothing was charged. Please look at the new total before you pay."
}

// changes names what is different from what the customer saw. With the earlier bill at hand it compares the two; without it, it names
// the lines that cost something else than when they were added.
func changes(v CheckoutView) []string {
	var said []string
	if v.Was != nil {
		said = compare(*v.Was, v.Quote)
	} else {
		for _, l := range v.Quote.Lines {
			if l.PriceChanged() {
				said = append(said, lineName(l)+" is now "+ShortRupees(l.UnitPricePaise+l.OptionsPricePaise)+" (was "+ShortRupees(l.SeenPaise)+").")
			}
		}
	}
	for _, l := range v.Quote.Lines {
		if l.Problem != nil {
			said = append(said, lineName(l)+": "+problemText(l.Problem))
		}
	}
	if len(said) > 0 {
		return said
	}
	if v.Changed == "details" {
		return []string{"The items, the restaurant or the address are not the ones this page was opened with, perhaps in another tab."}
	}
	return []string{"The total is now " + Rupees(v.Quote.AmountPaise) + "."}
}

func compare(was, now models.Quote) []string {
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
			said = append(said, lineName(l)+" was added.")
		case l.Problem == nil && old.Problem == nil && one != oldOne:
			said = append(said, lineName(l)+" is now "+ShortRupees(one)+" (was "+ShortRupees(oldOne)+").")
		case l.Qty != old.Qty:
			said = append(said, lineName(l)+": "+strconv.Itoa(l.Qty)+" instead of "+strconv.Itoa(old.Qty)+".")
		}
	}
	for _, l := range was.Lines { // in the order they were shown
		if _, gone := before[keyOf(l)]; gone {
			said = append(said, lineName(l)+" was removed.")
		}
	}
	for _, fee := range []struct {
		name     string
		was, now models.Paise
	}{{"The discount", was.DiscountPaise, now.DiscountPaise}, {"Packing", was.PackagingPaise, now.PackagingPaise}, {"Delivery", was.DeliveryPaise, now.DeliveryPaise}, {"CGST", was.CGSTPaise, now.CGSTPaise},
		{"SGST", was.SGSTPaise, now.SGSTPaise}, {"The tip", was.TipPaise, now.TipPaise}, {"The total", was.AmountPaise, now.AmountPaise}} {
		if fee.was != fee.now {
			said = append(said, fee.name+" is now "+Rupees(fee.now)+" (was "+Rupees(fee.was)+").")
		}
	}
	return said
}

func taxNote(q models.Quote) string {
	switch {
	case q.TaxMode == "composition":
		return "Composition taxable person, not eligible to collect tax on supplies."
	case q.TaxMode != "regular":
		return "No GST is charged."
	case len(q.Taxes) == 1 && q.DeliveryPaise > 0:
		return "GST is charged at " + Percent(q.Taxes[0].CGSTBP+q.Taxes[0].SGSTBP) + " on food, packing and delivery."
	case len(q.Taxes) == 1:
		return "GST is charged at " + Percent(q.Taxes[0].CGSTBP+q.Taxes[0].SGSTBP) + " on food and packing."
	default:
		return "GST is charged on each kind of item at its own rate."
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
func payLabel(v CheckoutView) string {
	if v.Quote.Way == "delivery" && !v.Quote.DeliveryKnown {
		return "See the total"
	}
	if low := deliveryProblem(v, "minimum"); low != nil {
		return "Add " + ShortRupees(low.ShortPaise) + " more for delivery"
	}
	if v.Quote.AmountPaise == 0 {
		return "Place the order, nothing to pay"
	}
	return "Pay " + Rupees(v.Quote.AmountPaise)
}

func checkoutSentence(v CheckoutView) string {
	_, title, text := deliveryWords(v)
	sentence := itemsText(v.Quote) + ", to pay " + Rupees(v.Quote.AmountPaise)
	if v.Quote.Way == "delivery" && !v.Quote.DeliveryKnown {
		sentence = itemsText(v.Quote) + ", " + Rupees(v.Quote.AmountPaise) + " without delivery"
	}
	if title != "" {
		sentence += ". " + title + " " + text
	}
	return sentence
}
