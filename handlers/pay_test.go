package handlers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
	"tiffin/views"
)

// payOptions reads what the page hands to Razorpay's script.
func (a reply) payOptions() (o views.PayOptions) {
	a.t.Helper()
	for n := range a.page.Descendants() {
		if attr(n, "id") == "pay-options" {
			must(a.t, json.Unmarshal([]byte(words(n)), &o))
			return o
		}
	}
	a.t.Fatalf("no options on the page\n%s", shorten(a.body))
	return o
}

// The page names our order and the gateway's amount, and sends Razorpay back to us by the order's token.
func TestPayPage(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	o := s.order(token)
	page := b.get("/pay/" + token).is(200)
	got := page.payOptions()
	if got.Timeout < 800 || got.Timeout > 900 {
		t.Errorf("the sheet closes after %d s", got.Timeout)
	}
	want := views.PayOptions{Key: s.gateway.KeyID(), OrderID: s.gatewayOrder(token), Amount: o.AmountPaise, Currency: "INR", Name: "Kesar Kitchen",
		Description: fmt.Sprintf("Order %d", o.Number), Prefill: views.PayPrefill{Name: "Ananya Rao", Contact: "+919845012345", Email: "ananya@example.in"},
		Theme: views.PayTheme{Color: sheetColour}, Timeout: got.Timeout, CallbackURL: publicURL + "/payments/verify?order=" + token}
	if got != want {
		t.Errorf("options %+v\nwant %+v", got, want)
	}
	if cancel := page.value("cancel_url"); cancel != publicURL+"/pay/"+token+"?state=closed" {
		t.Errorf("the hosted page gives up to %q", cancel)
	}
	for said, state := range map[string]string{"": "ready", "closed": "closed", "failed": "failed", "paid": "ready", "unavailable": "ready", "<b>": "ready"} {
		if got := attr(b.get("/pay/"+token+"?state="+url.QueryEscape(said)).one("pay-state"), "data-state"); got != state {
			t.Errorf("state=%s shows %s, want %s", said, got, state)
		}
	}

	// Only this page lets Razorpay in.
	policy := page.header.Get("Content-Security-Policy")
	for _, word := range []string{"script-src 'self' https://checkout.razorpay.com https://api.razorpay.com;", "form-action 'self' https://checkout.razorpay.com",
		"frame-src 'self' https://checkout.razorpay.com", "connect-src 'self' https://checkout.razorpay.com", "style-src 'self' 'unsafe-inline'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, word) {
			t.Errorf("the pay page's policy lacks %q: %s", word, policy)
		}
	}
	if got := page.header.Get("Cross-Origin-Opener-Policy"); got != "same-origin-allow-popups" {
		t.Errorf("COOP on the pay page is %s", got)
	}
	for _, path := range []string{"/", "/cart", "/checkout", "/orders/" + token, "/pay/NOSUCHORDER"} {
		a := b.get(path)
		if policy := a.header.Get("Content-Security-Policy"); strings.Contains(policy, "razorpay") || strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") {
			t.Errorf("%s: policy %s", path, policy)
		}
	}
}

// S2.40: two tabs and a loser of the claim never meet a dead end: without a gateway order the page says so and asks again.
func TestPayPageWhileThereIsNoGatewayOrder(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)

	refusal := s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Refuse, Refusal: "access_denied_ip"})
	pressed := b.send(ask{path: "/checkout", form: b.review()}).is(303)
	address := pressed.header.Get("Location")
	token := strings.TrimSuffix(strings.TrimPrefix(address, "/pay/"), "?state=unavailable")
	page := b.get(address).is(200)
	page.shows("unavailable", "Nothing was charged").lacks("hosted")
	if strings.Contains(page.body, "checkout.razorpay.com/v1/checkout.js") {
		t.Error("Razorpay's script is loaded with nothing to open")
	}
	b.send(ask{path: "/pay/" + token, form: page.fields(page.one("pay-form"))}).leadsTo("/pay/" + token + "?state=unavailable")
	if attr(b.get("/pay/"+token).one("pay-state"), "data-state") != "preparing" {
		t.Error("a page without gateway order is not preparing")
	}
	s.gateway.RemoveFault(refusal)

	// Looking makes nothing; the button does, once, however many press it.
	before := len(s.gateway.Books().Orders)
	b.get("/pay/" + token)
	if n := len(s.gateway.Books().Orders); n != before {
		t.Error("looking at the page made a gateway order")
	}
	var presses sync.WaitGroup
	for range 10 {
		presses.Add(1)
		go func() {
			defer presses.Done()
			b.post("/pay/"+token, nil).leadsTo("/pay/" + token)
		}()
	}
	presses.Wait()
	if got := b.get("/pay/" + token).payOptions().OrderID; got != s.gatewayOrder(token) || len(s.gateway.Books().OrdersOf(s.text(`SELECT receipt FROM gateway_orders`))) != 1 {
		t.Errorf("the page opens %s", got)
	}
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	// A stale button works after one more press; a foreign one does not.
	stale := b.send(ask{path: "/pay/" + token, form: url.Values{csrfField: {"old"}}}).is(403)
	if attr(stale.one("pay-state"), "data-state") != "ready" {
		t.Error("an old button does not lead to the page")
	}
	b.send(ask{path: "/pay/" + token, form: b.signed(nil), header: map[string]string{"Sec-Fetch-Site": "cross-site"}}).is(403)
	b.post("/pay/"+token, url.Values{"amount": {"1"}}).is(400)
	b.post("/pay/NOSUCHORDER", nil).is(404)
}

// The answer of the gateway is lost: the customer waits on a page that asks again, and one order comes of it.
func TestPayPageWhilePreparing(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Drop, Times: 1})
	token := b.place()
	page := b.get("/pay/" + token).is(200)
	page.shows("preparing", "Nothing has been charged").lacks("hosted")
	b.send(ask{path: "/pay/" + token, form: page.fields(page.one("pay-form"))}).leadsTo("/pay/" + token)
	b.get("/pay/"+token).is(200).shows("preparing", "preparing")
	s.advance(3 * time.Minute)
	_, err := s.cashier.ResolveClaims(t.Context())
	must(t, err)
	if attr(b.get("/pay/"+token).one("pay-state"), "data-state") != "ready" {
		t.Error("the gateway order that was found is not handed out")
	}
	if n := len(s.gateway.Books().Orders); n != 1 {
		t.Errorf("%d orders at the gateway", n)
	}
	if s.count(`SELECT count(*) FROM gateway_orders WHERE handed_out_at IS NULL`) != 0 {
		t.Error("nobody noted that a browser has it, so the sweep would not ask")
	}
}

// C017: the pay address of an order that is not to be paid leads to its page: no sheet, no second gateway order.
func TestPayPageOfAnOrderThatIsNotToBePaid(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	for name, make := range map[string]func(token string){
		"paid": func(token string) {
			b.send(ask{path: "/payments/verify?order=" + token, form: s.pay(token, standin.PayParams{}), bare: true}).is(303)
		},
		"cancelled": func(token string) { b.post("/orders/"+token+"/cancel", nil).is(303) },
		"authorised": func(token string) {
			b.send(ask{path: "/payments/verify?order=" + token, form: s.pay(token, standin.PayParams{Outcome: standin.AuthorizeOnly}), bare: true}).is(303)
		},
	} {
		b.put("dal-makhani", 2)
		token := b.place()
		make(token)
		orders := len(s.gateway.Books().Orders)
		for _, who := range []*visitor{b, s.visitor()} {
			if a := who.get("/pay/" + token); a.status != 303 || a.header.Get("Location") != "/orders/"+token {
				t.Errorf("%s: looking is answered %d %s", name, a.status, a.header.Get("Location"))
			}
		}
		// By pressing, an order whose money is only authorised may be opened again at the same gateway order, never at another.
		if a := b.post("/pay/"+token, nil); a.status != 303 {
			t.Errorf("%s: pressing is answered %d", name, a.status)
		}
		if n := len(s.gateway.Books().Orders); n != orders {
			t.Errorf("%s: another gateway order was made", name)
		}
	}
	b.put("dal-makhani", 2)
	token := b.place()
	s.advance(16 * time.Minute)
	b.get("/pay/" + token).leadsTo("/orders/" + token)
	b.post("/pay/"+token, nil)
	s.books()
}

// F15: what opens the gateway, or would, is on no page and in no answer; the key's id is on one.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	slip := s.pay(token, standin.PayParams{})
	seen := 0
	for _, in := range []ask{{path: "/"}, {path: "/cart"}, {path: "/checkout"}, {path: "/pay/" + token}, {path: "/pay/" + token + "?state=failed"}, {path: "/orders/" + token},
		{path: "/payments/verify", form: with(slip, "razorpay_signature", strings.Repeat("0", 64))}, {path: "/payments/verify?order=" + token, form: slip},
		{path: "/orders/" + token}, {path: "/orders/" + token + "/status"}, {path: "/webhooks/razorpay", body: "{}"}, {path: "/healthz"}, {path: "/readyz"}, {path: "/nowhere"}} {
		a := b.send(in)
		all := a.body + fmt.Sprint(a.header)
		for _, secret := range []string{keySecret, webhookSecret} {
			if strings.Contains(all, secret) {
				t.Errorf("%s: a secret leaves", in.path)
			}
		}
		if strings.Contains(all, s.gateway.KeyID()) {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("the key's id is in %d answers, want the pay page's two", seen)
	}
}

// The script's report: 200 with where to go, 202 while the gateway is silent, 400 for a signature that is none (S2.9, F21).
func TestVerifyByScript(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	post := func(path string, words map[string]any) reply {
		body, err := json.Marshal(words)
		must(t, err)
		return b.send(ask{path: path, body: string(body), kind: "application/json", header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
	}
	script := func(slip url.Values) map[string]any {
		words := map[string]any{"org_logo": "", "checkout_logo": nil} // Razorpay's script adds what it likes
		for name, values := range slip {
			words[name] = values[0]
		}
		return words
	}
	said := func(a reply) (status, location string) {
		var told struct{ Status, Location string }
		must(t, json.Unmarshal([]byte(a.body), &told))
		return told.Status, told.Location
	}
	b.put("dal-makhani", 2)
	token := b.place()
	slip := s.pay(token, standin.PayParams{})

	forged := script(with(slip, "razorpay_signature", strings.Repeat("a", 64)))
	for _, path := range []string{"/payments/verify", "/payments/verify?order=" + token} {
		if a := post(path, forged).is(400); !strings.Contains(a.body, `"error"`) {
			t.Errorf("a forged signature is answered %s", a.body)
		}
	}
	if got := s.order(token).Status; got != "pending" {
		t.Fatalf("a forged signature made the order %s", got)
	}

	silent := s.gateway.Inject(standin.Fault{Path: "/v1/payments/*", Kind: standin.Reset})
	status, location := said(post("/payments/verify?order="+token, script(slip)).is(202))
	if status != "confirming" || location != "/orders/"+token {
		t.Errorf("unconfirmed is answered %s %s", status, location)
	}
	b.get("/orders/"+token).is(200).shows("confirming", "Please do not pay again")
	b.get("/pay/" + token).leadsTo("/orders/" + token)
	s.gateway.RemoveFault(silent)

	for range 3 { // safe to repeat
		status, location = said(post("/payments/verify?order="+token, script(slip)).is(200))
		if status != "paid" || location != "/orders/"+token {
			t.Errorf("a payment is answered %s %s", status, location)
		}
	}
	status, _ = said(post("/payments/verify", script(slip)).is(200)) // found by the gateway order we stored
	if n := s.count(`SELECT count(*) FROM payments`); status != "paid" || n != 1 {
		t.Errorf("%s, %d payments", status, n)
	}

	signed := fmt.Sprintf(`"razorpay_payment_id":"%s","razorpay_signature":"%s"`, slip.Get("razorpay_payment_id"), slip.Get("razorpay_signature"))
	for name, body := range map[string]string{
		"signed, an id twice": `{"razorpay_order_id":"order_x","razorpay_order_id":"` + slip.Get("razorpay_order_id") + `",` + signed + `}`,
		"no JSON (F7)":        `{"razorpay_order_id":`, "a list": `[]`, "nothing": ` `, "a word missing": `{"razorpay_order_id":"order_x","razorpay_payment_id":"pay_x"}`,
		"a number":   `{"razorpay_order_id":1,"razorpay_payment_id":"pay_x","razorpay_signature":"00"}`,
		"twice":      `{"razorpay_order_id":"order_x","razorpay_order_id":"order_y","razorpay_payment_id":"pay_x","razorpay_signature":"00"}`,
		"NUL (C073)": `{"razorpay_order_id":"order_\u0000","razorpay_payment_id":"pay_x","razorpay_signature":"00"}`,
		"more after": `{"razorpay_order_id":"order_x","razorpay_payment_id":"pay_x","razorpay_signature":"00"} {}`,
		"no object":  `null`, "an order of nobody": `{"razorpay_order_id":"order_x","razorpay_payment_id":"pay_x","razorpay_signature":"00"}`,
	} {
		if a := b.send(ask{path: "/payments/verify", body: body, kind: "application/json"}); a.status != 400 {
			t.Errorf("%s: status %d, want 400", name, a.status)
		}
	}
	s.books()
}

// S2.9: a genuine signature over a payment that brought no money pays nothing.
func TestVerifyOfMoneyThatNeverCame(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	for _, outcome := range []standin.Outcome{standin.FailNow, standin.Pend, standin.AuthorizeOnly} {
		b.put("dal-makhani", 2)
		token := b.place()
		slip := s.pay(token, standin.PayParams{Outcome: outcome})
		b.send(ask{path: "/payments/verify?order=" + token, form: slip}).leadsTo("/orders/" + token)
		if got := s.order(token).Status; got != "pending" {
			t.Errorf("%s made the order %s", outcome, got)
		}
		if got := b.bought(); got != "dal-makhani ×2" { // F17
			t.Errorf("%s: the cart holds %q", outcome, got)
		}
		b.post("/orders/"+token+"/cancel", nil).is(303)
	}
	if n := s.count(`SELECT count(*) FROM fulfilments`); n != 0 {
		t.Errorf("%d tickets", n)
	}
	s.books()
}

// C062, C063: the form that Razorpay's page posts across sites brings no cookie and no token; the signature does it all, and the answer
// leads to a page by GET without touching any cookie.
func TestVerifyByCallback(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	cross := map[string]string{"Origin": "https://api.razorpay.com", "Referer": "https://api.razorpay.com/", "Sec-Fetch-Site": "cross-site"}
	for _, withToken := range []bool{true, false} {
		b := s.visitor()
		b.put("dal-makhani", 2)
		token := b.place()
		slip := s.pay(token, standin.PayParams{})
		s.exec(`DELETE FROM sessions WHERE id = $1`, b.session().ID)
		path := "/payments/verify"
		if withToken {
			path += "?order=" + token
		}
		for range 2 {
			a := b.send(ask{path: path, form: slip, header: cross, bare: true}).leadsTo("/orders/" + token)
			if a.header.Get("Set-Cookie") != "" {
				t.Error("the callback sets a cookie")
			}
		}
		if got := s.order(token).Status; got != "paid" {
			t.Errorf("the order is %s", got)
		}
		stranger := s.visitor()
		stranger.get("/orders/"+token).is(200).shows("order-title", "")
	}
	if n := s.count(`SELECT count(*) FROM fulfilments`); n != 2 {
		t.Errorf("%d tickets", n)
	}
	s.books()
}

// C016: a payment that failed comes unsigned. Nothing is recorded of it; it finds its page, calm, and nonsense is 4xx.
func TestCallbackOfAFailure(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	failure := url.Values{"error[code]": {"BAD_REQUEST_ERROR"}, "error[description]": {"Payment failed <b>"}, "error[source]": {"bank"}, "error[reason]": {"payment_failed"},
		"error[metadata]": {`{"payment_id":"pay_X","order_id":"` + s.gatewayOrder(token) + `"}`}}
	kitchen := &kitchen{t: t, store: s.store}
	before := kitchen.rows()
	for name, c := range map[string]struct {
		in     ask
		status int
		to     string
	}{
		"a failure":             {ask{path: "/payments/verify?order=" + token, form: failure}, 303, "/pay/" + token + "?state=failed"},
		"a payment id alone":    {ask{path: "/payments/verify?order=" + token, form: url.Values{"razorpay_payment_id": {"pay_X"}}}, 303, "/orders/" + token},
		"an empty body":         {ask{method: "POST", path: "/payments/verify?order=" + token}, 303, "/orders/" + token},
		"a failure of nobody":   {ask{path: "/payments/verify?order=NOSUCHORDER", form: failure}, 404, ""},
		"a failure, no order":   {ask{path: "/payments/verify", form: failure}, 400, ""},
		"nothing at all":        {ask{method: "POST", path: "/payments/verify"}, 400, ""},
		"no ids":                {ask{path: "/payments/verify?order=" + token, form: url.Values{"razorpay_order_id": {"<>"}, "razorpay_payment_id": {"'"}, "razorpay_signature": {"\x00"}}}, 400, ""},
		"a word twice":          {ask{path: "/payments/verify?order=" + token, form: url.Values{"razorpay_order_id": {"order_a", "order_b"}}}, 400, ""},
		"another kind of body":  {ask{path: "/payments/verify?order=" + token, body: "x", kind: "text/plain"}, 400, ""},
		"a forged signature":    {ask{path: "/payments/verify?order=" + token, form: with(triple(s.gatewayOrder(token), "pay_TESTX00000001"), "razorpay_signature", strings.Repeat("0", 64))}, 400, ""},
		"GET":                   {ask{path: "/payments/verify?order=" + token}, 405, ""},
		"a word without end":    {ask{path: "/payments/verify?order=" + token, form: url.Values{"razorpay_payment_id": {strings.Repeat("p", 200)}}}, 400, ""},
		"signed, of no payment": {ask{path: "/payments/verify?order=" + token, form: with(triple(s.gatewayOrder(token), "nopay"), "x", "y")}, 400, ""},
	} {
		c.in.bare, c.in.header = true, map[string]string{"Sec-Fetch-Site": "cross-site"}
		a := b.send(c.in)
		if a.status != c.status || a.header.Get("Location") != c.to {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.header.Get("Location"), c.status, c.to)
		}
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: sets a cookie", name)
		}
	}
	kitchen.unchanged(before)
	page := b.get("/pay/" + token + "?state=failed").is(200)
	page.shows("failed-payment", "comes back by itself")

	// The failure as the gateway itself tells it: then the bank's words are on the page, and Pay goes on with the same gateway order.
	slip := s.pay(token, standin.PayParams{Outcome: standin.FailNow})
	b.send(ask{path: "/payments/verify?order=" + token, form: slip, bare: true}).is(303)
	reason := s.text(`SELECT error_description FROM payments`)
	b.get("/pay/"+token+"?state=failed").is(200).shows("failed-payment", reason)
	words, promise, _ := strings.Cut(reason, ". ") // the bank's words stay, the time Razorpay promises gives way to the rule's
	if order := b.get("/orders/"+token).is(200).shows("failed-payment", words); promise == "" || strings.Contains(order.body, promise) {
		t.Errorf("the order's page repeats %q", promise)
	}
	b.post("/pay/"+token, nil).leadsTo("/pay/" + token)
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	paid := s.pay(token, standin.PayParams{})
	b.send(ask{path: "/payments/verify?order=" + token, form: paid, bare: true}).leadsTo("/orders/" + token)
	b.send(ask{path: "/payments/verify?order=" + token, form: failure, bare: true}).leadsTo("/orders/" + token)
	if got := s.order(token).Status; got != models.OrderPaid {
		t.Errorf("the order is %s", got)
	}
}

// C055: one order's genuine slip pays no other, whichever ids are posted beside it.
func TestSlipOfAnotherOrder(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	mine, theirs := s.visitor(), s.visitor()
	mine.put("papad", 3)
	theirs.put("dal-makhani", 5)
	x := mine.send(ask{path: "/checkout", form: mine.review("way", "pickup")}).is(303).header.Get("Location")[len("/pay/"):]
	y := theirs.place()
	slip := s.pay(x, standin.PayParams{})
	for name, form := range map[string]url.Values{
		"X's slip":                       slip,
		"Y's gateway id, X's signature":  with(slip, "razorpay_order_id", s.gatewayOrder(y)),
		"X's slip, upper case signature": with(slip, "razorpay_signature", strings.ToUpper(slip.Get("razorpay_signature"))),
	} {
		mine.send(ask{path: "/payments/verify?order=" + y, form: form}).is(400).shows("error", "could not verify")
		if name != "X's slip" {
			mine.send(ask{path: "/payments/verify", form: form}).is(400)
		}
		if got := s.order(y).Status; got != "pending" {
			t.Fatalf("%s: Y is %s", name, got)
		}
	}
	mine.send(ask{path: "/payments/verify?order=" + x, form: slip}).leadsTo("/orders/" + x)
	if got := s.order(x).Status + s.order(y).Status; got != "paidpending" {
		t.Errorf("X and Y are %s", got)
	}
	s.books()

	// Vectors V3: signed with the wrong secret, for another order, and rightly. The row is made up, so the books are looked at before.
	s.exec(`INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via)
		SELECT 'order_TESTX00000001', order_id, generation + 1, receipt || 'x', amount_paise, currency, 'superseded', learned_via FROM gateway_orders WHERE order_id = $1`, s.order(y).ID)
	for signature, status := range map[string]int{"88e543120ce4d9f98e54aa32284c1d0c9bf769c6ed558df9e92466b542ba5304": 400,
		"4e364e296df174a752d2e03f6ab28d0cc1ac07d053bcdf3de514b411b548f328": 400, "83305852b4943832000678897be9b264b49f633c50ba1c9c5de4fec8c026b997": 303} {
		form := url.Values{"razorpay_order_id": {"order_TESTX00000001"}, "razorpay_payment_id": {"pay_TESTX00000001"}, "razorpay_signature": {signature}}
		mine.send(ask{path: "/payments/verify", form: form}).is(status) // 303: signed, but the gateway knows no such payment: we ask on
	}
	if got := s.order(y).Status; got != "pending" {
		t.Errorf("Y is %s", got)
	}
}
