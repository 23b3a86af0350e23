package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"tiffin/razorpay/standin"
)

// rows counts what placing an order writes.
func (s *shop) rows() string {
	return s.text(`SELECT format('%s orders, %s items, %s gateway orders', (SELECT count(*) FROM orders), (SELECT count(*) FROM order_items), (SELECT count(*) FROM gateway_orders))`)
}

// From the menu to the pay page, in forms as the pages have them, without script: the bill is seen before it is agreed to.
func TestCheckoutWithoutScript(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	page := b.get("/checkout").is(200)
	page.shows("pay", "See the total")
	form := page.fields(page.one("checkout-form"))
	for name, values := range customer {
		form[name] = values
	}
	first := b.send(ask{path: "/checkout", form: form}).is(409)
	first.lacks("changed").shows("pay", "Pay ₹").shows("delivery-message", "We deliver to")
	total := words(first.one("bill-total"))
	again := first.fields(first.one("checkout-form"))
	for name := range customer {
		if again.Get(name) != form.Get(name) {
			t.Errorf("%s comes back as %q, was %q", name, again.Get(name), form.Get(name))
		}
	}
	placed := b.send(ask{path: "/checkout", form: again}).is(303)
	pay := b.get(placed.header.Get("Location")).is(200)
	pay.shows("to-pay", total)
	if got := attr(pay.one("pay-state"), "data-state"); got != "ready" {
		t.Errorf("the pay page is %s", got)
	}
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	s.books()
}

// S2.18, S2.20, C028: fifty presses of Pay at once, two tabs and a retry later are one order in every answer.
func TestFiftyPressesAreOneOrder(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review()
	addresses := make([]string, 50)
	var presses sync.WaitGroup
	for n := range addresses {
		presses.Add(1)
		go func() {
			defer presses.Done()
			in := ask{path: "/checkout", form: form}
			if n%2 == 1 { // the other tab has script
				in.header = map[string]string{"HX-Request": "true"}
			}
			a := b.send(in)
			addresses[n] = a.header.Get("Location") + a.header.Get("HX-Redirect")
		}()
	}
	presses.Wait()
	for _, address := range append(addresses, b.send(ask{path: "/checkout", form: form}).header.Get("Location")) {
		if address != addresses[0] || !strings.HasPrefix(address, "/pay/") {
			t.Fatalf("%q and %q", addresses[0], address)
		}
	}
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	if n := len(s.gateway.Books().Orders); n != 1 {
		t.Errorf("%d orders at the gateway", n)
	}
	s.books()
}

// S2.16: the key stays while the cart does, and another cart has another.
func TestCheckoutKeyFollowsTheCart(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	key := func() string { return b.get("/checkout").is(200).value("checkout_key") }
	first := key()
	if again := key(); again != first {
		t.Error("a reload makes another key")
	}
	b.place()
	if again := key(); again != first {
		t.Error("coming back from Pay makes another key")
	}
	b.put("dal-makhani", 3)
	if again := key(); again == first {
		t.Error("the key outlives its cart")
	}
	other := s.visitor()
	other.put("dal-makhani", 2)
	if other.get("/checkout").value("checkout_key") == first {
		t.Error("another browser has the same key")
	}
}

// S2.19: the same key with other items, options or address is not a retry; the first order stays.
func TestSameKeyOtherDetails(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *visitor, form url.Values) url.Values{
		"other items": func(b *visitor, form url.Values) url.Values { b.put("naan", 1); return form },
		"other options": func(b *visitor, form url.Values) url.Values {
			b.post("/cart", url.Values{"item": {b.id("masala-dosa")}, "set": {"0"}})
			b.post("/cart", url.Values{"item": {b.id("masala-dosa")}, "add": {"1"}, "option": {b.option("masala-dosa", "Cheese")}})
			return form
		},
		"another address": func(_ *visitor, form url.Values) url.Values { return with(form, "line1", "Another flat") },
		"another PIN":     func(_ *visitor, form url.Values) url.Values { return with(form, "pin", "560008") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			b := s.visitor()
			b.get("/")
			b.post("/cart", url.Values{"item": {s.id("masala-dosa")}, "add": {"2"}})
			form := b.review()
			placed := b.send(ask{path: "/checkout", form: form}).is(303)
			token := strings.TrimPrefix(placed.header.Get("Location"), "/pay/")
			before := s.order(token)
			form = change(b, form)
			page := b.send(ask{path: "/checkout", form: form}).is(409)
			page.shows("changed", "Checkout details have changed")
			if page.value("checkout_key") == form.Get("checkout_key") {
				t.Error("the review has the old key")
			}
			htmx := b.send(ask{path: "/checkout", form: form, header: map[string]string{"HX-Request": "true"}}).is(409)
			if strings.Contains(htmx.body, "<html") || !strings.Contains(htmx.body, `id="main"`) {
				t.Error("htmx does not get the form")
			}
			if after := s.order(token); after.Status != "pending" || after.AmountPaise != before.AmountPaise || after.Line1 != before.Line1 || len(after.Items) != 1 {
				t.Error("the first order was touched")
			}
			if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
				t.Error(got)
			}
			// The new review can be paid; the old order gives way.
			next := b.send(ask{path: "/checkout", form: page.fields(page.one("checkout-form"))}).is(303)
			if next.header.Get("Location") == "/pay/"+token {
				t.Error("the new review leads to the old order")
			}
			if got := s.order(token).Status; got != "cancelled" {
				t.Errorf("the old order is %s", got)
			}
		})
	}
}

// S2.19, the third way: the same key for another restaurant's cart.
func TestSameKeyOtherRestaurant(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review("way", "pickup")
	first := strings.TrimPrefix(b.send(ask{path: "/checkout", form: form}).is(303).header.Get("Location"), "/pay/")
	_, dosa := s.secondOutlet()
	b.put("dal-makhani", 0)
	b.post("/cart", url.Values{"item": {fmt.Sprint(dosa)}, "set": {"2"}}).is(303)
	page := b.send(ask{path: "/checkout", form: form}).is(409)
	page.shows("changed", "Checkout details have changed")
	if got := s.order(first); got.Status != "pending" || got.OutletName != "Kesar Kitchen" || s.count(`SELECT count(*) FROM orders`) != 1 {
		t.Errorf("the first order is %s of %s", got.Status, got.OutletName)
	}
	b.send(ask{path: "/checkout", form: page.fields(page.one("checkout-form"))}).is(303)
	if got := s.text(`SELECT string_agg(outlet_name || ' ' || status, ', ' ORDER BY id) FROM orders`); got != "Kesar Kitchen pending, Dosa Corner pending" {
		t.Errorf("the orders are %s", got)
	}
	s.books()
}

// F10, S2.9: prices are the shop's; a bill that changed since it was shown is asked about again, and nothing is charged.
func TestBillChangedSinceShown(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review()
	for name, change := range map[string]string{
		"price":    `UPDATE items SET price_paise = 29900 WHERE slug = 'dal-makhani'`,
		"tax":      `INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('restaurant', shop_now() - interval '1 second', 900, 900)`,
		"delivery": `INSERT INTO delivery_bands (outlet_id, starts_at, up_to_metres, fee_paise, minimum_paise) SELECT id, shop_now(), 9000, 9900, 0 FROM outlets`,
	} {
		s.exec(change)
		page := b.send(ask{path: "/checkout", form: form}).is(409)
		page.shows("changed", "The bill changed")
		if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
			t.Errorf("%s: %s", name, got)
		}
		form = page.fields(page.one("checkout-form"))
	}
	b.send(ask{path: "/checkout", form: form}).is(303)
	if got := s.count(`SELECT subtotal_paise FROM orders`); got != 59800 {
		t.Errorf("charged for %d", got)
	}
	s.books()
}

// S2.10, C058, C073: a checkout that carries what our page cannot send is 400 and writes nothing.
func TestCheckoutRefusesWhatOurPageCannotSend(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review()
	sent := map[string]url.Values{
		"NUL in a name": with(form, "name", "A\x00B"), "broken bytes": with(form, "note", "\xf9("), "a line break in a name": with(form, "name", "A\nBcc: x"),
		"another way": with(form, "way", "drone"), "no key": with(form, "checkout_key", ""), "a key that is none": with(form, "checkout_key", "1 OR 1=1"),
		"a note without end": with(form, "note", strings.Repeat("n", 9000)), "a phone without end": with(form, "phone", strings.Repeat("9", 200)),
		"twice the name": {},
	}
	for name, values := range form {
		sent["twice the name"][name] = values
	}
	sent["twice the name"]["name"] = []string{"A", "B"}
	for _, extra := range []string{"price", "total", "amount", "amount_paise", "discount", "delivery_fee", "tip_paise", "tax", "status", "is_staff", "qty", "item"} {
		sent["an extra "+extra] = with(form, extra, "1")
	}
	for name, form := range sent {
		if a := b.send(ask{path: "/checkout", form: form}); a.status != 400 {
			t.Errorf("%s: status %d, want 400", name, a.status)
		}
	}
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	b.send(ask{path: "/checkout", form: form}).is(303)
}

// C030, C034: what cannot be right is said beside its field, and everything typed stays, to the last space.
func TestFieldErrors(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	note := "  no onion – nut allergy 🥜\n\nRing twice  \n"
	form := b.review("note", strings.ReplaceAll(note, "\n", "\r\n"), "directions", "  behind the temple 🛕 ", "name", " Ananya ")
	for _, c := range []struct{ field, typed, says string }{
		{"phone", "12345", "10 digits"}, {"phone", "", "10 digits"}, {"phone", "5845012345", "10 digits"}, {"phone", "+1 98450 12345", "10 digits"},
		{"name", "   ", "your name"}, {"name", strings.Repeat("a", 81), "80 characters"}, {"email", "ananya", "name@example.com"}, {"email", "a@b", "name@example.com"},
		{"email", "A <a@b.in>", "name@example.com"}, {"line1", "", "flat"}, {"line1", strings.Repeat("a", 121), "120"}, {"line2", " ", "street"},
		{"directions", strings.Repeat("a", 201), "200"}, {"note", strings.Repeat("🥜", 501), "500"}, {"pin", "", "6 digits"}, {"pin", "060038", "6 digits"},
		{"pin", "56003", "6 digits"}, {"pin", "56OO38", "6 digits"}, {"pin", "110001", "do not deliver"}, {"way", "", "choose"},
	} {
		sent := with(form, c.field, c.typed)
		for _, header := range []map[string]string{nil, {"HX-Request": "true"}} {
			page := b.send(ask{path: "/checkout", form: sent, header: header}).is(422)
			page.shows("error-"+c.field, c.says)
			if c.field != "way" && !has(page.one("field-"+c.field), "autofocus") {
				t.Errorf("%s: the focus is elsewhere", c.field)
			}
			for name := range customer {
				if want := strings.ReplaceAll(sent.Get(name), "\r\n", "\n"); name != "way" && page.value(name) != want {
					t.Errorf("%s %.10q: %s comes back as %q, was %q", c.field, c.typed, name, page.value(name), want)
				}
			}
		}
	}
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	b.send(ask{path: "/checkout", form: form}).is(303)
	if got := s.text(`SELECT note FROM orders`); got != note {
		t.Errorf("the note is kept as %q", got)
	}
	if got := s.text(`SELECT format('%s|%s|%s|%s', phone, name, pin, line1) FROM orders`); got != "+919845012345|Ananya|560038|Flat 302, Lake View" {
		t.Errorf("kept as %q", got)
	}
}

// C034: the server refuses at place time whatever the page said before, and delivery below the minimum as well.
func TestDeliveryIsDecidedAtPlacing(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("naan", 1)
	page := b.send(ask{path: "/checkout", form: b.review()}).is(422)
	page.shows("minimum", "more for delivery")
	b.put("naan", 5)
	form := b.review()
	s.exec(`DELETE FROM delivery_pins WHERE pin = '560038'`)
	b.send(ask{path: "/checkout", form: form}).is(422).shows("error-pin", "do not deliver")
	far := b.review("pin", "560066")
	b.send(ask{path: "/checkout", form: far}).is(422).shows("error-pin", "do not deliver")
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	s.exec(`UPDATE outlets SET offers_delivery = false`)
	b.send(ask{path: "/checkout", form: form}).is(422).shows("error-way", "does not offer")
	b.send(ask{path: "/checkout", form: b.review("way", "pickup")}).is(303)
	if got := s.text(`SELECT way || pin || line1 FROM orders`); got != "pickup" {
		t.Errorf("a pickup is kept as %q", got)
	}
}

// C032, C037, F5: closed, paused and sold out are found at placing; the line is named and the cart stays.
func TestPlacingWhatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 1)
	b.put("kulfi", 2)
	form := b.review()
	for change, undo := range map[string]string{
		`UPDATE items SET available = false WHERE slug = 'kulfi'`:        `UPDATE items SET available = true WHERE slug = 'kulfi'`,
		`UPDATE items SET archived_at = shop_now() WHERE slug = 'kulfi'`: `UPDATE items SET archived_at = NULL WHERE slug = 'kulfi'`,
	} {
		s.exec(change)
		page := b.send(ask{path: "/checkout", form: form}).is(409)
		page.shows("line-problem", "emove it")
		if !strings.Contains(words(page.all("cart-line")[1]), "Malai Kulfi") || !has(page.one("pay"), "disabled") {
			t.Error("the line is not named, or Pay can be pressed")
		}
		s.exec(undo)
	}
	s.exec(`UPDATE outlets SET accepts_orders = false`)
	b.send(ask{path: "/checkout", form: form}).is(409).shows("closed", "paused")
	s.exec(`UPDATE outlets SET accepts_orders = true, active = false`)
	b.send(ask{path: "/checkout", form: form}).is(409).shows("closed", "closed")
	s.exec(`UPDATE outlets SET active = true`)
	b.put("dal-makhani", 0)
	b.put("kulfi", 0)
	b.send(ask{path: "/checkout", form: form}).is(409).shows("cart-empty", "Nothing here yet")
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
}

// C046: a bill no gateway takes is refused with its reason.
func TestBillBelowOneRupee(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	s.exec(`UPDATE packaging_fees SET per_order_paise = 0, per_piece_paise = 0`)
	s.exec(`UPDATE items SET price_paise = 40 WHERE slug = 'samosa'; UPDATE outlets SET rounds_to_rupee = false`)
	b.put("samosa", 1)
	form := b.review("way", "pickup")
	b.send(ask{path: "/checkout", form: form}).is(409).shows("too-small", "₹1")
	b.send(ask{path: "/checkout", form: form, header: map[string]string{"HX-Request": "true"}}).is(409).shows("too-small", "₹1")
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
}

// C064: an old checkout page, of a session that is gone, comes back filled in; a foreign one does nothing.
func TestStaleCheckout(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review()
	b.send(ask{path: "/checkout", form: form, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}).is(403).shows("error", "another site")
	page := b.send(ask{path: "/checkout", form: with(form, csrfField, "old")}).is(403)
	page.shows("changed", "have changed")
	for name := range customer {
		if page.value(name) != form.Get(name) {
			t.Errorf("%s is lost", name)
		}
	}
	if got := s.rows(); got != "0 orders, 0 items, 0 gateway orders" {
		t.Error(got)
	}
	b.send(ask{path: "/checkout", form: page.fields(page.one("checkout-form"))}).is(303)
	b.cookies = map[string]string{}
	b.send(ask{path: "/checkout", form: form}).is(403).shows("cart-empty", "Nothing here yet")
}

// What was typed last time is there again, for the same customer only.
func TestRememberedFields(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	remembers := func(note string) {
		t.Helper()
		page := b.get("/checkout").is(200)
		for name, values := range customer {
			want := values[0]
			if name == "note" {
				want = note
			}
			if got := page.value(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		page.shows("bill-delivery", "").shows("pay", "Pay ₹")
	}
	remembers(customer["note"][0]) // an allergy must survive a closed payment window
	b.send(ask{path: "/payments/verify?order=" + token, form: s.pay(token, standin.PayParams{})}).is(303)
	b.put("dal-makhani", 2)
	remembers("") // it was about that meal
	stranger := s.visitor()
	stranger.put("dal-makhani", 2)
	if got := stranger.get("/checkout").value("phone"); got != "" {
		t.Errorf("a stranger sees %q", got)
	}
}

// An old tab that presses Pay again after the order was paid lands on the order, and buys nothing twice.
func TestPayAgainAfterPaid(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	form := b.review()
	placed := b.send(ask{path: "/checkout", form: form}).is(303)
	token := strings.TrimPrefix(placed.header.Get("Location"), "/pay/")
	slip := s.pay(token, standin.PayParams{})
	b.send(ask{path: "/payments/verify?order=" + token, form: slip}).leadsTo("/orders/" + token)
	b.send(ask{path: "/checkout", form: form}).leadsTo("/orders/" + token)
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	if got := b.bought(); got != "" { // F17: what was bought leaves the cart
		t.Errorf("the cart holds %q", got)
	}
	s.books()
}

func TestNormalPhone(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"9845012345": "+919845012345", "98450 12345": "+919845012345", "+91 98450-12345": "+919845012345", "+919845012345": "+919845012345",
		"919845012345": "+919845012345", "09845012345": "+919845012345", "0091 98450 12345": "+919845012345", "+91 09845012345": "+919845012345",
		"(98450) 12.345": "+919845012345", "9198450123": "+919198450123", "6000000000": "+916000000000", "\u00a09845012345": "+919845012345",
		"5845012345": "", "984501234": "", "98450123456": "", "": "", "+1 9845012345": "", "९८४५०१२३४५": "", "98450x12345": "", "91984501234": "", "+91": "",
		"9845012345\n": "",
	} {
		got, ok := normalPhone(typed)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q %v, want %q", typed, got, ok, want)
		}
		if ok {
			if again, _ := normalPhone(nationalPhone(got)); again != got {
				t.Errorf("%q is shown as %q, which is %q", got, nationalPhone(got), again)
			}
		}
	}
}

func TestNormalPIN(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"560038": "560038", "560 038": "560038", " 560038 ": "560038", "060038": "", "56003": "", "5600388": "", "abcdef": "", "": "", "५६००३८": ""} {
		if got, ok := normalPIN(typed); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
}

func TestIsEmail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"a@b.in": true, "ananya.rao+tiffin@example.co.in": true, "a@b": false, "a b@c.in": false, "a@b.in, c@d.in": false,
		"A <a@b.in>": false, "@b.in": false, "a@.in": false, "a@b.": false, "a@[127.0.0.1]": false, `"a b"@c.in`: false, "a@b..in": false,
		fmt.Sprintf("%s@b.in", strings.Repeat("a", 254)): false} {
		if got := isEmail(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
