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
)

// askCode sends the form for a code and reads the code where the letter would have it.
func (b *visitor) askCode(email, to string) (code string) {
	b.t.Helper()
	b.exec(`DELETE FROM login_attempts`) // the pause of a minute is another test's
	b.get("/sign-in?to=" + to).is(200)
	b.post("/sign-in", url.Values{"email": {email}, "to": {to}}).leadsTo("/sign-in/code")
	return b.letter()
}

// letter writes the letter this browser waits for.
func (b *visitor) letter() (code string) {
	b.t.Helper()
	request, err := b.store.FindCode(b.t.Context(), b.session().ID)
	must(b.t, err)
	_, code, err = b.store.WriteCode(b.t.Context(), request.ID)
	must(b.t, err)
	return code
}

func (b *visitor) signIn(email string) {
	b.t.Helper()
	code := b.askCode(email, "account")
	b.post("/sign-in/code", url.Values{"code": {code}}).leadsTo("/account")
}

func otherCode(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}

func TestSigningIn(t *testing.T) {
	t.Parallel()

	// C059, C060.
	t.Run("C059_the_cookie_is_another_and_the_old_one_opens_nothing", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		b.cookies[guestCookie] = "attacker-chosen-1"
		b.get("/").is(200)
		b.put("dal-makhani", 2)
		before := b.cookies[guestCookie]
		code := b.askCode(" Asha@Example.in", "account")
		if page := b.get("/sign-in/code").is(200); !strings.Contains(page.body, "asha@example.in") {
			t.Error("the page does not say where the code went")
		}
		in := b.post("/sign-in/code", url.Values{"code": {code[:3] + " " + code[3:]}}).leadsTo("/account")
		after := b.cookies[guestCookie]
		if after == before || after == "attacker-chosen-1" || !strings.Contains(in.header.Get("Set-Cookie"), "HttpOnly") {
			t.Errorf("the cookie was %q, is %q", before, after)
		}
		old := s.visitor()
		old.cookies[guestCookie] = before
		old.get("/account").leadsTo("/sign-in")
		if got := b.bought(); got != "dal-makhani ×2" {
			t.Errorf("the cart holds %s", got)
		}
		page := b.get("/account").is(200)
		page.shows("account", "asha@example.in")
		b.get("/").shows("account-link", "My account").lacks("sign-in-link")
		b.get("/sign-in").leadsTo("/account")
		b.get("/sign-in/code").leadsTo("/account")
		for _, secret := range []string{code, "asha@example.in", "Asha@", before, after} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("%s is in the log", secret)
			}
		}
	})

	t.Run("known_and_unknown_addresses_are_answered_alike", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		known := s.visitor()
		known.signIn("asha@example.in")
		s.exec(`DELETE FROM login_attempts`)
		var answers []string
		for _, email := range []string{"asha@example.in", "nobody@example.in"} {
			b := s.visitor()
			b.get("/sign-in").is(200)
			sent := b.post("/sign-in", url.Values{"email": {email}}).leadsTo("/sign-in/code")
			asked := b.get("/sign-in/code").is(200)
			wrong := b.post("/sign-in/code", url.Values{"code": {otherCode(b.letter())}}).is(422)
			again := b.post("/sign-in", url.Values{"email": {email}}).is(429)
			answer := fmt.Sprint(sent.status, sent.body, words(asked.one("code-form")), words(wrong.one("error")), words(again.one("error")), again.header.Get("Retry-After"))
			answers = append(answers, strings.ReplaceAll(answer, email, "ADDRESS"))
		}
		if answers[0] != answers[1] {
			t.Errorf("known: %s\nunknown: %s", answers[0], answers[1])
		}
	})

	t.Run("what_is_no_address_is_kept_and_explained", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		b.get("/sign-in?to=checkout").is(200)
		for _, typed := range []string{"", "asha", "asha@example", "a@b.in, c@d.in", strings.Repeat("a", 250) + "@b.in"} {
			page := b.post("/sign-in", url.Values{"email": {typed}, "to": {"checkout"}}).is(422)
			page.shows("error", "name@example.com")
			if page.value("email") != typed || page.value("to") != "checkout" {
				t.Errorf("%q came back as %q", typed, page.value("email"))
			}
		}
		b.post("/sign-in", url.Values{"email": {"a@b.in\r\nBcc: c@d.in"}}).is(400)
		b.post("/sign-in", url.Values{"email": {"a@b.in"}, "price": {"1"}}).is(400)
		if n := s.count(`SELECT count(*) FROM outbox`); n != 0 {
			t.Errorf("%d letters", n)
		}
		// Only our own pages can follow.
		b.post("/sign-in", url.Values{"email": {"a@b.in"}, "to": {"//evil.example"}}).leadsTo("/sign-in/code")
		b.post("/sign-in/code", url.Values{"code": {b.letter()}}).leadsTo("/account")
	})

	t.Run("five_wrong_codes_then_another_has_to_be_asked_for", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		code := b.askCode("asha@example.in", "account")
		for _, typed := range []string{"", "12345", "1234567", "abcdef", "१२३४५६"} { // no code of ours, and no guess
			b.post("/sign-in/code", url.Values{"code": {typed}}).is(422).shows("error", "six digits")
		}
		for left := 4; left > 0; left-- {
			b.post("/sign-in/code", url.Values{"code": {otherCode(code)}}).is(422).shows("error", fmt.Sprintf("Tries left: %d", left))
		}
		b.post("/sign-in/code", url.Values{"code": {otherCode(code)}}).is(422).shows("error", "ask for another").lacks("code-form")
		b.post("/sign-in/code", url.Values{"code": {code}}).is(409).shows("error", "not good any more")
		b.get("/sign-in/code").is(200).lacks("code-form").one("again-form")
		b.get("/account").leadsTo("/sign-in")
		s.advance(2 * time.Minute)
		b.post("/sign-in", url.Values{"email": {"asha@example.in"}}).leadsTo("/sign-in/code")
		b.post("/sign-in/code", url.Values{"code": {b.letter()}}).leadsTo("/account")
	})

	t.Run("twenty_wrong_codes_at_once_are_five_tries", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		wrong := b.signed(url.Values{"code": {otherCode(b.askCode("asha@example.in", "account"))}})
		var guesses sync.WaitGroup
		for range 20 {
			guesses.Go(func() { b.send(ask{path: "/sign-in/code", form: wrong}) })
		}
		guesses.Wait()
		if n := s.count(`SELECT tries FROM sign_in_codes`); n != 5 {
			t.Errorf("%d tries", n)
		}
	})

	// Two tabs send the right code; the one that comes late had the old token, and is sent where the new one counts.
	t.Run("C038_two_tabs", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		form := b.signed(url.Values{"code": {b.askCode("asha@example.in", "account")}})
		late := s.visitor()
		late.cookies[guestCookie] = b.cookies[guestCookie]
		b.send(ask{path: "/sign-in/code", form: form}).leadsTo("/account")
		answer := late.send(ask{path: "/sign-in/code", form: form}).leadsTo("/sign-in")
		if answer.header.Get("Set-Cookie") != "" {
			t.Errorf("the late answer sets %s", answer.header.Get("Set-Cookie"))
		}
		b.get("/sign-in").leadsTo("/account")
	})

	// F29, C064: an old page is answered with its words kept and a fresh token.
	t.Run("F29_an_old_page", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		page := b.send(ask{path: "/sign-in", form: url.Values{"email": {"asha@example.in"}, "to": {"checkout"}, csrfField: {"old"}}}).is(403)
		if page.value("email") != "asha@example.in" || page.value("to") != "checkout" {
			t.Error("what was typed is lost")
		}
		b.send(ask{path: "/sign-in", form: page.fields(page.one("sign-in-form"))}).leadsTo("/sign-in/code")
		b.send(ask{path: "/sign-in/code", form: url.Values{"code": {"123456"}, csrfField: {"old"}}}).is(403).one("code-form")
		b.send(ask{path: "/sign-in", form: b.signed(url.Values{"email": {"ravi@example.in"}}), header: map[string]string{"Sec-Fetch-Site": "cross-site"}}).is(403)
		if n := s.count(`SELECT count(*) FROM outbox`); n != 1 {
			t.Errorf("%d letters", n)
		}
	})

	t.Run("sign_out_here_and_everywhere", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		var browsers []*visitor
		for range 3 {
			b := s.visitor()
			b.signIn("asha@example.in")
			browsers = append(browsers, b)
		}
		token := browsers[0].cookies[guestCookie]
		browsers[0].post("/account/sign-out", url.Values{}).leadsTo("/")
		if browsers[0].cookies[guestCookie] != "" {
			t.Error("the cookie stays")
		}
		browsers[0].cookies[guestCookie] = token
		browsers[0].get("/account").leadsTo("/sign-in")
		browsers[1].get("/account").is(200)
		browsers[1].post("/account/sign-out", url.Values{"everywhere": {"1"}}).leadsTo("/")
		browsers[2].get("/account").leadsTo("/sign-in")
	})
}

// The letter's code works in the browser that asked for it, and takes its unpaid order and its cart along: the pay page still pays, and
// Pay again is the same order.
func TestSigningInAtCheckout(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	home := s.visitor()
	home.signIn("asha@example.in")

	b := s.visitor()
	b.put("dal-makhani", 2)
	b.get("/checkout").one("checkout-sign-in")
	token := b.place()
	before := s.order(token)
	code := b.askCode("asha@example.in", "checkout")
	b.post("/sign-in/code", url.Values{"code": {code}}).leadsTo("/checkout")
	after := s.order(token)
	if after.CustomerID == before.CustomerID || after.CustomerID != *home.session().CustomerID {
		t.Fatalf("the order was of %d, is of %d", before.CustomerID, after.CustomerID)
	}
	after.CustomerID = before.CustomerID
	if fmt.Sprintf("%+v", after.Parts()) != fmt.Sprintf("%+v", before.Parts()) || after.Status != "pending" || after.CheckoutKey != before.CheckoutKey {
		t.Errorf("the order was %+v, is %+v", before, after)
	}
	b.get("/checkout").is(200).lacks("checkout-sign-in")
	if again := b.place(); again != token {
		t.Errorf("Pay again makes another order")
	}
	if got := s.rows(); got != "1 orders, 1 items, 1 gateway orders" {
		t.Error(got)
	}
	b.get("/pay/" + token).is(200).one("pay-state")
	home.get("/account").is(200).shows("orders", fmt.Sprintf("Order %d", before.Number))
	s.books()
}

func TestAccountPage(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	for _, path := range []string{"/account", "/account/data", "/account/delete", "/account/addresses/new", "/account/addresses/1"} {
		b.get(path).leadsTo("/sign-in")
	}
	b.signIn("asha@example.in")
	b.get("/account").is(200).one("no-orders")
	var first int
	for n := range 12 {
		b.put("dal-makhani", 1+n%3)
		token := b.place()
		if n == 0 {
			first = s.order(token).Number
		}
		b.post("/orders/"+token+"/cancel", url.Values{}).is(303)
	}
	page := b.get("/account").is(200)
	if n := len(page.all("order")); n != 10 {
		t.Errorf("%d orders on the first page", n)
	}
	page.one("older")
	older := b.get("/account?page=2").is(200)
	if n := len(older.all("order")); n != 2 || !strings.Contains(words(older.all("order")[1]), fmt.Sprintf("Order %d", first)) {
		t.Errorf("%d orders on the second page", n)
	}
	older.lacks("older").one("newer")
	for _, odd := range []string{"0", "-1", "abc", "99999999999999999999", "1001"} {
		b.get("/account?page=" + odd).is(200)
	}
	data := b.get("/account/data").is(200)
	if !json.Valid([]byte(data.body)) || !strings.Contains(data.header.Get("Content-Disposition"), "attachment") || !strings.Contains(data.body, "98450") || data.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", data.header, shorten(data.body))
	}
	other := s.visitor()
	other.signIn("ravi@example.in")
	if strings.Contains(other.get("/account/data").body, "Ananya") || len(other.get("/account").all("order")) != 0 {
		t.Error("somebody else's orders")
	}
}

func TestSavedAddresses(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.signIn("asha@example.in")
	b.put("dal-makhani", 2)

	// Ticked at checkout, kept once the order is placed; not ticked, not kept.
	page := b.get("/checkout").is(200).lacks("saved-addresses")
	page.one("save-address")
	b.send(ask{path: "/checkout", form: b.review()}).is(303)
	if n := s.count(`SELECT count(*) FROM customer_addresses`); n != 0 {
		t.Fatalf("%d are kept unasked", n)
	}
	form := b.review("line1", "Flat 7")
	form.Set("save", "1")
	again := b.send(ask{path: "/checkout", form: form})
	if again.status == 409 {
		sent := again.fields(again.one("checkout-form"))
		sent.Set("save", "1")
		again = b.send(ask{path: "/checkout", form: sent})
	}
	again.is(303)
	if got := s.text(`SELECT string_agg(line1 || ' ' || line2 || ' ' || pin || ' ' || is_default, ',') FROM customer_addresses`); got != "Flat 7 100 Feet Road 560038 true" {
		t.Fatalf("kept: %s", got)
	}

	// On the account page.
	for name, form := range map[string]url.Values{
		"line1": {"line2": {"Main Road"}, "pin": {"560008"}}, "pin": {"line1": {"Tower 4"}, "line2": {"Main Road"}, "pin": {"12"}}, "label": {"label": {strings.Repeat("x", 41)}, "line1": {"Tower 4"}, "line2": {"Main Road"}, "pin": {"560008"}},
	} {
		wrong := b.post("/account/addresses", form).is(422)
		wrong.one("error-" + name)
		if wrong.value("line2") != "Main Road" {
			t.Error("what was typed is lost")
		}
	}
	b.post("/account/addresses", url.Values{"label": {"Work"}, "line1": {"Tower 4"}, "line2": {"Main Road"}, "pin": {"560 008"}, "directions": {"Ask at the gate"}}).leadsTo("/account?done=saved")
	work := s.text(`SELECT id::text FROM customer_addresses WHERE label = 'Work'`)
	first := s.text(`SELECT id::text FROM customer_addresses WHERE label = ''`)
	b.get("/account/addresses/" + work).is(200).one("address-form")
	b.post("/account/addresses", url.Values{"id": {work}, "label": {"Office"}, "line1": {"Tower 5"}, "line2": {"Main Road"}, "pin": {"560038"}}).leadsTo("/account?done=saved")
	b.post("/account/addresses/use", url.Values{"id": {work}}).leadsTo("/account?done=first")
	if page := b.get("/account?done=first").is(200); len(page.all("address")) != 2 || !strings.Contains(words(page.all("address")[0]), "Office") {
		t.Errorf("%s", shorten(page.body))
	}

	// Another account can neither see nor touch them.
	other := s.visitor()
	other.signIn("ravi@example.in")
	other.get("/account/addresses/" + work).is(404)
	other.post("/account/addresses", url.Values{"id": {work}, "line1": {"Mine"}, "line2": {"now"}, "pin": {"560038"}}).is(404)
	other.post("/account/addresses/use", url.Values{"id": {work}}).is(404)
	other.post("/account/addresses/delete", url.Values{"id": {work}}).is(303)
	if got := s.text(`SELECT line1 FROM customer_addresses WHERE id = $1`, work); got != "Tower 5" {
		t.Errorf("it says %s", got)
	}

	// Checkout without script: the chosen one is taken, whatever is typed beside it, and the order keeps its own copy.
	b.put("naan", 3)
	review := b.get("/checkout").is(200)
	if got := review.value("saved"); got != first { // the unpaid order's, so that Pay again is that order
		t.Errorf("starts with %s", got)
	}
	b.post("/orders/"+s.text(`SELECT token FROM orders WHERE status = 'pending'`)+"/cancel", url.Values{}).is(303)
	review = b.get("/checkout").is(200)
	if got := review.value("saved"); got != work {
		t.Errorf("starts with %s, want %s", got, work)
	}
	sent := review.fields(review.one("checkout-form"))
	sent.Set("phone", "98450 12345")
	sent.Set("name", "Asha")
	sent.Set("way", "delivery")
	sent.Set("line1", "typed and not meant")
	sent.Set("pin", "999999")
	placed := b.send(ask{path: "/checkout", form: sent})
	if placed.status == 409 {
		placed = b.send(ask{path: "/checkout", form: placed.fields(placed.one("checkout-form"))})
	}
	placed.is(303)
	order := s.order(strings.TrimPrefix(placed.header.Get("Location"), "/pay/"))
	if order.Line1 != "Tower 5" || order.PIN != "560038" || order.Directions != "" {
		t.Errorf("it goes to %s %s", order.Line1, order.PIN)
	}
	b.post("/account/addresses/delete", url.Values{"id": {work}}).leadsTo("/account?done=deleted")
	if got := s.order(order.Token).Line1; got != "Tower 5" {
		t.Errorf("the order goes to %s", got)
	}
	if got := s.text(`SELECT id::text FROM customer_addresses WHERE is_default`); got != first {
		t.Errorf("first is %s", got)
	}

	// One that is gone meanwhile is said so, with everything kept.
	sent.Set("line1", "Flat 9")
	gone := b.send(ask{path: "/checkout", form: sent}).is(409)
	gone.shows("error-saved", "not saved any more")
	if gone.value("line1") != "Flat 9" || gone.value("saved") != "new" {
		t.Error("what was typed is lost")
	}

	// A guest has none, whatever is sent.
	guest := s.visitor()
	guest.put("dal-makhani", 2)
	stolen := guest.review()
	stolen.Set("saved", first)
	stolen.Set("save", "1")
	guest.send(ask{path: "/checkout", form: stolen}).is(409)
	if n := s.count(`SELECT count(*) FROM customer_addresses`); n != 1 {
		t.Errorf("%d addresses", n)
	}

	for n := range models.MaxAddresses - 1 {
		b.post("/account/addresses", url.Values{"line1": {fmt.Sprintf("House %d", n)}, "line2": {"Row"}, "pin": {"560038"}}).is(303)
	}
	b.get("/account").is(200).lacks("add-address")
	b.post("/account/addresses", url.Values{"line1": {"One more"}, "line2": {"Row"}, "pin": {"560038"}}).is(409).shows("error", "as many addresses")
}

func TestDeletingAnAccount(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.signIn("asha@example.in")
	b.put("dal-makhani", 2)
	token := b.place()
	b.get("/account/delete").is(200).one("delete-form")
	b.post("/account/delete", url.Values{}).is(422).shows("error", "tick the box")
	b.post("/account/delete", url.Values{"confirm": {"1"}}).is(409).shows("error", "still under way")
	if got := s.order(token).Name; got != "Ananya Rao" {
		t.Errorf("the order is of %s", got)
	}
	b.post("/orders/"+token+"/cancel", url.Values{}).is(303)
	before := s.order(token)
	b.send(ask{path: "/account/delete", form: url.Values{"confirm": {"1"}, csrfField: {"old"}}}).is(403)
	b.post("/account/delete", url.Values{"confirm": {"1"}}).leadsTo("/account/deleted")
	b.get("/account/deleted").is(200).one("account-deleted")
	after := s.order(token)
	if after.Name != "Deleted customer" || after.Phone+after.Email+after.Line1+after.Line2+after.PIN+after.Directions+after.Note != "" || after.Parts() != before.Parts() || after.AmountPaise != before.AmountPaise {
		t.Errorf("the order is %+v", after)
	}
	page := s.visitor().get("/orders/" + token).is(200)
	if strings.Contains(page.body, "Lake View") || strings.Contains(page.body, "98450") {
		t.Error("the link still shows the person")
	}
	b.get("/account").leadsTo("/sign-in")
	b.signIn("asha@example.in")
	b.get("/account").is(200).one("no-orders")
	s.books()
}
