package views

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"tiffin/models"
)

// TestBillOrder: the lines stand in the one order, and the taxes name their rate.
func TestBillOrder(t *testing.T) {
	metres := 3200
	q := models.Quote{Way: "delivery", DeliveryKnown: true, TaxMode: "regular", DistanceMetres: &metres, SubtotalPaise: 123400, DiscountPaise: 10000, PackagingPaise: 2000,
		DeliveryWasPaise: 3900, CGSTPaise: 2885, SGSTPaise: 2885, TipPaise: 2000, RoundOffPaise: -30, AmountPaise: 123140, Coupon: "KESAR100", Taxes: []models.QuoteTax{{CGSTBP: 250, SGSTBP: 250}}}
	var got []string
	for _, l := range quoteBill(inEnglish, q) {
		got = append(got, strings.Join(strings.Fields(l.label+" "+l.was+" "+l.amount), " "))
	}
	want := "Item total ₹1,234.00|Coupon KESAR100 −₹100.00|Packing ₹20.00|Delivery, 3.2 km ₹39 Free|CGST 2.5% ₹28.85|SGST 2.5% ₹28.85|Tip ₹20.00|Round-off −₹0.30|To pay ₹1,231.40"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	q.Way, q.TaxMode, q.DiscountPaise, q.TipPaise, q.RoundOffPaise, q.PackagingPaise = "pickup", "unregistered", 0, 0, 0, 0
	if n := len(quoteBill(inEnglish, q)); n != 2 {
		t.Errorf("a plain pickup bill has %d lines, want item total and to pay", n)
	}
	q.Taxes = []models.QuoteTax{{CGSTBP: 250, SGSTBP: 250}, {CGSTBP: 900, SGSTBP: 900}}
	q.TaxMode = "regular"
	if l := quoteBill(inEnglish, q)[1]; l.label != "CGST" {
		t.Errorf("two rates: %q", l.label)
	}
}

func TestCheckoutFields(t *testing.T) {
	v := sampleCheckoutView()
	v.Form.Note = "two\nlines 🥜"
	v.Errors = map[string]string{"pin": "A PIN code has 6 digits, such as 560038.", "name": "Please give a name."}
	root := parse(t, render(t, CheckoutForm(v)))
	for name, want := range map[string]string{"phone": "98450 12345", "name": "Ananya Rao", "email": "", "line1": "Flat 302, Lake View", "line2": "100 Feet Road, Indiranagar", "pin": "560038", "directions": ""} {
		f := mustFind(t, root, "field-"+name)
		if attr(f, "value") != want || attr(f, "name") != name {
			t.Errorf("%s: name %q value %q, want %q", name, attr(f, "name"), attr(f, "value"), want)
		}
		bad := v.Errors[name] != ""
		if (attr(f, "aria-invalid") == "true") != bad || attr(f, "aria-describedby") != "error-"+name || has(f, "autofocus") != (name == "name") {
			t.Errorf("%s: aria-invalid %q, described by %q, autofocus %v", name, attr(f, "aria-invalid"), attr(f, "aria-describedby"), has(f, "autofocus"))
		}
		e := mustFind(t, root, "error-"+name)
		if has(e, "hidden") == bad || (bad && textOf(e) != v.Errors[name]) {
			t.Errorf("%s: error %q, hidden %v", name, textOf(e), has(e, "hidden"))
		}
	}
	note := mustFind(t, root, "field-note")
	if note.FirstChild == nil || note.FirstChild.Data != "two\nlines 🥜" {
		t.Error("the note lost its line break")
	}
	for name, want := range map[string]string{"phone": "tel-national", "name": "name", "line1": "address-line1", "line2": "address-line2", "pin": "postal-code", "email": "email"} {
		if got := attr(mustFind(t, root, "field-"+name), "autocomplete"); got != want {
			t.Errorf("%s: autocomplete %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"checkout_key": v.CheckoutKey, "review": v.Review} {
		found := all(root, func(n *html.Node) bool { return attr(n, "name") == name })
		if len(found) != 1 || attr(found[0], "value") != want || attr(found[0], "form") != "checkout" {
			t.Errorf("%s is not sent with the form", name)
		}
	}
	// What the form sends is what the server accepts; anything else is a 400 there.
	sent := map[string]bool{}
	for _, n := range all(root, func(n *html.Node) bool { return attr(n, "name") != "" }) {
		form := attr(n, "form")
		for _, up := range ancestors(n) {
			if up.Data == "form" && form == "" {
				form = attr(up, "id")
			}
		}
		if form == "checkout" {
			sent[attr(n, "name")] = true
		}
	}
	for _, name := range []string{"_csrf", "phone", "name", "email", "way", "line1", "line2", "pin", "directions", "note", "coupon", "tip", "gstin", "buyer_name", "checkout_key", "review", "time", "soonest_by"} {
		if !sent[name] {
			t.Errorf("the form does not send %s", name)
		}
		delete(sent, name)
	}
	if len(sent) > 0 {
		t.Errorf("the form also sends %v", sent)
	}
}

func TestPayButton(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *CheckoutView)
		label  string
		locked bool
	}{
		"payable":         {func(*CheckoutView) {}, "Pay ₹1,359.00", false},
		"place not known": {func(v *CheckoutView) { v.Quote.DeliveryKnown = false }, "See the total", false},
		"too far": {func(v *CheckoutView) {
			v.Problem, v.Quote.DeliveryKnown = &models.ErrDelivery{Why: "far", PIN: "110001"}, false
		}, "See the total", false},
		"closed":            {func(v *CheckoutView) { v.Opening, v.Times = sampleClosed(), models.Times{} }, "Pay ₹1,359.00", true},
		"closed, for later": {func(v *CheckoutView) { v.Opening, v.Times.Soonest = sampleClosed(), nil }, "Pay ₹1,359.00", false},
		"sold out":          {func(v *CheckoutView) { v.Quote.Lines[0].Problem = &models.ErrSoldOut{} }, "Pay ₹1,359.00", true},
	} {
		v := sampleCheckoutView()
		c.change(&v)
		buttons := byTestID(parse(t, render(t, CheckoutForm(v))), "pay")
		if len(buttons) != 2 { // beside the bill, and at the bottom of a phone
			t.Fatalf("%s: %d buttons", name, len(buttons))
		}
		for _, b := range buttons {
			if got := textOf(b); !strings.HasPrefix(got, c.label) || has(b, "disabled") != c.locked || attr(b, "form") != "checkout" {
				t.Errorf("%s: %q, disabled %v", name, got, has(b, "disabled"))
			}
		}
	}
}

func TestDeliveryWords(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *CheckoutView)
		anchor string
		want   string
	}{
		"delivers": {func(*CheckoutView) {}, "delivery-message", "We deliver to 560038. About 3.2 km away."},
		"nearly free": {func(v *CheckoutView) { v.Quote.DeliveryFreePaise = 5000 }, "delivery-message",
			"We deliver to 560038. About 3.2 km away. Add ₹50 more for free delivery."},
		"too far": {func(v *CheckoutView) { v.Problem = &models.ErrDelivery{Why: "far", PIN: "110001"} }, "delivery-message",
			"Sorry, we do not deliver to 110001. You can collect your order, or use another address."},
		"below minimum": {func(v *CheckoutView) {
			v.Problem = &models.ErrDelivery{Why: "minimum", MinimumPaise: 19900, ShortPaise: 5100}
		}, "minimum",
			"Add ₹51 more for delivery. Delivery starts at ₹199. Pickup has no minimum."},
		"below minimum, no pickup": {func(v *CheckoutView) {
			v.Page.Outlet.OffersPickup = false
			v.Problem = &models.ErrDelivery{Why: "minimum", MinimumPaise: 19900, ShortPaise: 5100}
		}, "minimum", "Add ₹51 more for delivery. Delivery starts at ₹199."},
	} {
		v := sampleCheckoutView()
		c.change(&v)
		if got := firstText(parse(t, render(t, CheckoutForm(v))), c.anchor); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	v := sampleCheckoutView()
	v.Quote.Way = "pickup"
	if got := firstText(parse(t, render(t, CheckoutForm(v))), "delivery-message"); got != "" {
		t.Errorf("pickup: %q", got)
	}
}

// TestChangedBoxNamesWhatChanged: with the earlier bill it compares, without it the lines' own prices tell, and it is never empty.
func TestChangedBoxNamesWhatChanged(t *testing.T) {
	was := sampleCheckoutView().Quote
	for name, c := range map[string]struct {
		change func(v *CheckoutView)
		want   []string
	}{
		"price":   {func(v *CheckoutView) { v.Quote.Lines[1].SeenPaise = 31900 }, []string{"The bill changed", "Chicken Tikka is now ₹329 (was ₹319).", "Nothing was charged."}},
		"unknown": {func(v *CheckoutView) {}, []string{"The total is now ₹1,359.00."}},
		"compared": {func(v *CheckoutView) {
			v.Was = &was
			v.Quote.Lines = append([]models.QuoteLine(nil), was.Lines[:2]...)
			v.Quote.Lines[0].UnitPricePaise += 1000
			v.Quote.Lines[1].Qty = 4
			v.Quote.DeliveryPaise, v.Quote.AmountPaise = 3900, 150000
		}, []string{"Butter Chicken is now ₹379 (was ₹369).", "Chicken Tikka: 4 instead of 1.", "Garlic Naan was removed.", "Delivery is now ₹39.00 (was ₹0.00).", "The total is now ₹1,500.00 (was ₹1,359.00)."}},
		"details":  {func(v *CheckoutView) { v.Changed = "details" }, []string{"Checkout details have changed", "perhaps in another tab", "Nothing was charged."}},
		"sold out": {func(v *CheckoutView) { v.Quote.Lines[0].Problem = &models.ErrSoldOut{} }, []string{"Butter Chicken: Sold out. Please remove it."}},
	} {
		v := sampleCheckoutView()
		v.Quote.Lines = append([]models.QuoteLine(nil), v.Quote.Lines...)
		v.Changed = "bill"
		c.change(&v)
		got := firstText(parse(t, render(t, CheckoutForm(v))), "changed")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q does not say %q", name, got, want)
			}
		}
	}
}

// A stepper on checkout sends the chosen way and place along, and its answer leaves what is typed alone.
func TestCheckoutUpdateLeavesTheFormAlone(t *testing.T) {
	root := parse(t, render(t, CheckoutUpdate(sampleCheckoutView())))
	if n := len(all(root, func(n *html.Node) bool { return attr(n, "id") == "checkout" || attr(n, "name") == "phone" })); n != 0 {
		t.Error("the form is replaced while it is filled in")
	}
	for _, want := range []string{"lines", "bill", "delivery", "way-delivery", "pay-desk", "pay-phone", "aside", "say"} {
		found := all(root, func(n *html.Node) bool { return attr(n, "id") == want && has(n, "hx-swap-oob") })
		if len(found) != 1 {
			t.Errorf("%d parts #%s", len(found), want)
		}
	}
	page := parse(t, render(t, CheckoutPage(sampleCheckoutView())))
	for _, want := range []string{"lines", "bill", "delivery", "way-delivery", "pay-desk", "pay-phone", "aside", "say"} {
		if found := all(page, func(n *html.Node) bool { return attr(n, "id") == want }); len(found) != 1 {
			t.Errorf("the page has %d #%s to put a part into", len(found), want)
		}
	}
	line := byTestID(page, "cart-line")[0]
	if from := all(line, func(n *html.Node) bool { return attr(n, "name") == "from" }); len(from) != 1 || attr(from[0], "value") != "checkout" {
		t.Error("a stepper on checkout does not say where it stands")
	}
	if attr(line, "hx-include") != "#checkout [name=way]:checked, #checkout [name=saved]:checked, #pin, #time" {
		t.Errorf("hx-include=%q", attr(line, "hx-include"))
	}
}

// C029: Enter in any field of the form presses its first button, in the order of the page: that is Apply, which shows the bill and pays nothing.
func TestEnterPaysNothing(t *testing.T) {
	root := parse(t, render(t, CheckoutPage(sampleCheckoutView())))
	buttons := all(root, func(n *html.Node) bool {
		if n.Data != "button" || attr(n, "type") != "" && attr(n, "type") != "submit" {
			return false
		}
		if form := attr(n, "form"); form != "" {
			return form == "checkout"
		}
		for _, up := range ancestors(n) {
			if up.Data == "form" {
				return attr(up, "id") == "checkout"
			}
		}
		return false
	})
	if len(buttons) < 2 || attr(buttons[0], "formaction") != "/checkout/extras" {
		t.Errorf("the first of %d buttons goes to %q", len(buttons), attr(buttons[0], "formaction"))
	}
}
