package handlers

import (
	"net/url"
	"strings"
	"testing"
)

// extras presses Apply with the customer's form, changed as named.
func (b *visitor) extras(changes ...string) reply {
	b.t.Helper()
	return b.send(ask{path: "/checkout/extras", form: b.review(changes...), header: b.htmx()})
}

// C029, C044: coupon and tip change the bill that is shown, never what is charged: Apply keeps what was typed and pays nothing, a Pay with
// a coupon or a tip that is not in the bill yet asks first, and each fault has its sentence.
func TestCheckoutExtras(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 3)
	page := b.get("/checkout").is(200)
	if page.value("coupon") != "" || !strings.Contains(page.body, `value="0" checked`) {
		t.Error("a tip or a coupon that nobody chose")
	}

	applied := b.extras("coupon", " kesar 100 ", "tip", "20", "name", "Typed <b>", "phone", "12")
	applied.is(200).shows("coupon-applied", "KESAR100 applied").shows("coupon-applied", "You save ₹100").shows("bill-discount", "−₹100.00").shows("bill-tip", "₹20.00")
	if applied.value("name") != "Typed <b>" || applied.value("phone") != "12" || words(applied.one("error-phone")) != "" {
		t.Error("what was typed elsewhere is lost, or judged too early")
	}
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	if got := s.text(`SELECT concat_ws(' ', coupon, tip_paise) FROM carts`); got != "KESAR100 2000" {
		t.Errorf("the cart holds %s", got)
	}
	b.get("/checkout").is(200).shows("bill-discount", "−₹100.00") // stays, also without script
	b.post("/checkout/extras", b.review("coupon", "KESAR100", "tip", "other", "tip_other", "35")).is(200).shows("bill-tip", "₹35.00").shows("bill-discount", "−₹100.00")

	for name, c := range map[string]struct {
		form      []string
		field, is string
	}{
		"a coupon that is none":   {[]string{"coupon", "no; DROP"}, "coupon", "3 to 20 letters"},
		"a tip of paise":          {[]string{"tip", "other", "tip_other", "1.5"}, "tip", "whole rupees"},
		"a tip below nothing":     {[]string{"tip", "other", "tip_other", "-5"}, "tip", "whole rupees"},
		"a tip beyond all reason": {[]string{"tip", "other", "tip_other", "1001"}, "tip", "at most ₹1,000"},
		"a tip nobody offered":    {[]string{"tip", "25"}, "tip", "choose one"},
	} {
		b.extras(c.form...).is(422).shows("error-"+c.field, c.is)
		if a := b.send(ask{path: "/checkout", form: b.review(c.form...), header: b.htmx()}); a.status != 422 {
			t.Errorf("Pay with %s: %d", name, a.status)
		}
	}
	b.extras("coupon", "NOSUCH").is(200).shows("coupon-problem", "We do not know the coupon NOSUCH")
	b.extras("coupon", "WELCOME20").is(200).shows("coupon-applied", "WELCOME20 applied")
	b.extras("coupon", "").is(200)
	if got := s.text(`SELECT coupon FROM carts`); got != "" {
		t.Errorf("the coupon cannot be taken off: %s", got)
	}

	form := b.review("coupon", "KESAR100", "tip", "50") // typed, and Pay pressed at once
	b.send(ask{path: "/checkout", form: form, header: b.htmx()}).is(409).shows("changed", "The bill changed").shows("changed", "Nothing was charged").shows("bill-discount", "−₹100.00")
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	form = b.review("coupon", "KESAR100", "tip", "50", "gstin", "29 abcde1234f1zw", "buyer_name", "Lake View Traders")
	for range 2 {
		b.send(ask{path: "/checkout", form: form}).is(303)
	}
	if got := s.text(`SELECT concat_ws(' ', count(*), min(coupon), min(discount_paise), min(tip_paise), min(buyer_gstin), min(buyer_name)) FROM orders`); got != "1 KESAR100 10000 5000 29ABCDE1234F1ZW Lake View Traders" {
		t.Errorf("placed: %s", got)
	}

	other := s.visitor()
	other.put("dal-makhani", 3)
	other.send(ask{path: "/checkout", form: other.review("gstin", "29ABCDE1234F1ZX"), header: other.htmx()}).is(422).shows("error-gstin", "15 characters")
	other.send(ask{path: "/checkout/extras", form: url.Values{"coupon": {"KESAR100"}}}).is(403) // a form that is not ours
	if got := s.text(`SELECT string_agg(coupon, ',' ORDER BY id) FROM carts`); got != "KESAR100," {
		t.Errorf("carts: %s", got)
	}
	other.post("/checkout/extras", url.Values{"coupon": {"KESAR100"}, "price": {"1"}}).is(400)
}

// F: the browser's location counts for the distance when the customer gives it, is forgotten when asked, and no other form can set it.
func TestCheckoutPlace(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.exec(`INSERT INTO delivery_zones (outlet_id, name, position, polygon, fee_paise) SELECT id, 'The lake side', 1, '[[12960000,77640000],[12960000,77650000],[12980000,77650000],[12980000,77640000]]', 700 FROM outlets`)
	b := s.visitor()
	b.put("samosa", 3)
	b.extras("pin", "560066").is(200).shows("bill-delivery", "by PIN code")
	for range 2 {
		b.extras("pin", "560066", "place", "12.971900,77.641200").is(200).shows("bill-delivery", "₹7.00")
	}
	b.extras("pin", "560038").is(200).shows("bill-delivery", "₹7.00") // stays, the zone before the band
	placed := b.review("pin", "560038")
	b.send(ask{path: "/checkout", form: placed}).is(303)
	if got := s.text(`SELECT delivery_paise FROM orders`); got != "700" {
		t.Errorf("placed with a delivery of %s paise", got)
	}
	b.extras("pin", "560038", "place", "none").is(200).shows("bill-delivery", "₹29.00")
	for _, nonsense := range []string{"91,0", "0,181", "1e300,0", "NaN,0", "12.9", ",", "here", "12.9,77.6,1"} {
		b.extras("place", nonsense).is(400)
	}
	b.send(ask{path: "/checkout", form: b.review("place", "91,0")}).is(303) // Pay sets no place
	if got := s.text(`SELECT count(*) FROM carts WHERE latitude_e6 IS NOT NULL`); got != "0" {
		t.Errorf("%s carts know a place", got)
	}
}
