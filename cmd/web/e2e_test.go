//go:build e2e

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// quick is how soon a page must show what happened elsewhere. A fifth of a second is usual; of two busy cores one step may ask more.
const quick = 2 * time.Second

// newMarket is a town whose gateway lives on another site than the shop, as the real one does: at localhost, while the shop is at
// 127.0.0.1. So the shop's cookies do not come along with what the gateway's pages post.
func newMarket(t testing.TB) *town {
	t.Helper()
	w := newTown(t, standin.Options{})
	for i, line := range w.env {
		if strings.HasPrefix(line, "RAZORPAY_API_URL=") || strings.HasPrefix(line, "RAZORPAY_CHECKOUT_URL=") {
			w.env[i] = strings.Replace(line, "127.0.0.1", "localhost", 1)
		}
	}
	return w
}

// tell points the gateway's webhooks to the shop at this address.
func (w *town) tell(base string) {
	w.gateway.SetWebhooks(standin.Webhook{URL: base + "/webhooks/razorpay", Secret: testWebhookSecret})
}

const staffPassword = "a long password of the kitchen"

// hire adds somebody who works in the kitchen.
func (w *town) hire(login string) {
	w.t.Helper()
	_, err := w.store.CreateStaff(w.t.Context(), models.Staff{Login: login, Name: "Meera", Role: "manager", OutletID: &w.outlet.ID, Active: true}, staffPassword)
	must(w.t, err)
}

// kitchen is a tablet with the board on it, signed in through the login.
func (w *town) kitchen(base string) *tab {
	w.t.Helper()
	w.hire("meera")
	b := browse(w.t, "the kitchen", base, desk)
	b.open("/staff")
	b.at("/staff/login")
	b.fill(id("field-login"), "meera")
	b.fill(id("field-password"), staffPassword)
	b.press(id("login"))
	b.at("/staff")
	b.see(id("board"))
	return b
}

// dish selects a part of a dish on the menu.
func dish(slug, part string) string {
	return `#results section:not(#c-popular) ` + id("dish") + `[data-slug="` + slug + `"] ` + part
}

// ticket selects a part of an order's ticket on the board.
func ticket(number int, part string) string {
	return id("ticket") + `[data-number="` + strconv.Itoa(number) + `"] ` + part
}

// cartSays waits for the bar, or beside a wide menu the column, to say what the cart holds.
func (b *tab) cartSays(words ...string) {
	b.t.Helper()
	for _, w := range words {
		if b.touch {
			b.says(id("cartbar"), w)
		} else {
			b.says("#cart", w)
		}
	}
}

// toCheckout fills the cart with one dish and goes to checkout.
func (b *tab) toCheckout() {
	b.t.Helper()
	b.open("/")
	b.press(dish("palak-paneer", id("add")))
	b.cartSays("₹279")
	b.open("/checkout")
}

// address fills the checkout form and leaves it, so that the fee becomes known.
func (b *tab) address() {
	b.t.Helper()
	b.at("/checkout")
	for _, f := range []struct{ name, text string }{{"phone", "98450 12345"}, {"name", "Ananya Rao"}, {"line1", "Flat 302, Lake View"},
		{"line2", "12th Main, Indiranagar"}, {"note", "No onion – nut allergy 🥜"}, {"pin", "560 038"}} {
		b.fill(id("field-"+f.name), f.text)
	}
	b.key(kb.Tab)
	b.says(id("pay"), "Pay ₹")
}

// pay presses Pay on checkout and returns the order's token once its pay page is there.
func (b *tab) pay() (token string) {
	b.t.Helper()
	b.press(id("pay"))
	return b.atPay()
}

func (b *tab) atPay() (token string) {
	b.t.Helper()
	token, _, _ = strings.Cut(strings.TrimPrefix(b.at("/pay/"), "/pay/"), "?")
	return token
}

// toSheet is everything from an empty cart to the gateway's open sheet.
func (b *tab) toSheet() (token string) {
	b.t.Helper()
	b.toCheckout()
	b.address()
	token = b.pay()
	b.ready()
	return token
}

// ready waits until the gateway's sheet can be used.
func (b *tab) ready() {
	b.t.Helper()
	b.says(id("standin-status"), "Choose how to pay.")
}

// isPaid waits until the order's page says that it is paid.
func (b *tab) isPaid(token string) {
	b.t.Helper()
	b.at("/orders/" + token)
	b.is(id("order"), "data-state", "paid")
	b.says(`[data-step="paid"]`, "Paid and placed")
}

// facts are what the database and the gateway know of an order.
type facts struct {
	id       int64
	number   int
	status   string
	paise    int64
	gateway  []string // gateway orders made for it
	payments []standin.Payment
}

func (w *town) facts(token string) (f facts) {
	w.t.Helper()
	var publicID string
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), `SELECT id, number, status, amount_paise, public_id FROM orders WHERE token = $1`, token).
		Scan(&f.id, &f.number, &f.status, &f.paise, &publicID))
	books := w.gateway.Books()
	for _, o := range books.Orders {
		if strings.HasPrefix(o.Receipt, publicID+"-g") {
			f.gateway = append(f.gateway, o.ID)
			f.payments = append(f.payments, books.PaymentsOf(o.ID)...)
		}
	}
	return f
}

// wantPaid wants what one paid order leaves behind, and nothing more. via are the roads on which the shop may have heard of the payment
// first; none named: any.
func (w *town) wantPaid(token string, via ...string) {
	w.t.Helper()
	f := w.facts(token)
	if f.status != "paid" || len(f.gateway) != 1 {
		w.t.Errorf("the order is %s, with %d gateway orders", f.status, len(f.gateway))
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM fulfilments WHERE order_id = $1`:                                                     1,
		`SELECT count(*) FROM payments WHERE order_id = $1 AND disposition IS NOT NULL`:                            1,
		`SELECT COALESCE(sum(amount_paise), 0)::bigint FROM payments WHERE order_id = $1 AND disposition = 'kept'`: f.paise,
		`SELECT count(*) FROM refunds WHERE order_id = $1`:                                                         0,
	} {
		if got := w.count(query, f.id); got != want {
			w.t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	var heard string
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), `SELECT first_source FROM payments WHERE order_id = $1 AND disposition = 'kept'`, f.id).Scan(&heard))
	if len(via) > 0 && !slices.Contains(via, heard) {
		w.t.Errorf("the shop heard of the payment by %s, not by %s", heard, via)
	}
}

// paise reads an amount as it is written for people.
func paise(t testing.TB, written string) int64 {
	t.Helper()
	digits := strings.NewReplacer("₹", "", ",", "", ".", "", "−", "-", " ", "").Replace(written)
	if !strings.Contains(written, ".") {
		digits += "00"
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	must(t, err)
	return n
}

// wantBill wants the lines shown to add up to the amount to pay, and that to be on the button.
func (b *tab) wantBill() (topay int64) {
	b.t.Helper()
	seen := read[struct {
		Lines  map[string]string
		Button string
	}](b, `({Lines: Object.fromEntries([...document.querySelectorAll('#bill [data-testid^="bill-"]')].map(e => [e.dataset.testid.slice(5), e.lastChild.textContent.trim()])),
		Button: `+shown+`('[data-testid="pay"]').innerText.trim()})`)
	var sum int64
	for line, written := range seen.Lines {
		if line == "total" {
			topay = paise(b.t, written)
		} else if written != "Free" {
			sum += paise(b.t, written)
		}
	}
	if topay == 0 || sum != topay || seen.Button != "Pay "+seen.Lines["total"] {
		b.t.Errorf("the bill %v adds up to %d, the button says %q", seen.Lines, sum, seen.Button)
	}
	return topay
}

// pursuit is how long pages took to follow what happened elsewhere.
type pursuit struct {
	t     testing.TB
	times []time.Duration
}

func (p *pursuit) note(what string, since time.Time) {
	p.t.Helper()
	took := time.Since(since)
	p.t.Logf("%s after %d ms", what, took.Milliseconds())
	p.times = append(p.times, took)
}

// wantQuick wants the usual time to be quick, and none to be as long as the page would take that only asks now and then.
func (p *pursuit) wantQuick() {
	p.t.Helper()
	slices.Sort(p.times)
	if usual, worst := p.times[len(p.times)/2], p.times[len(p.times)-1]; usual > quick || worst > 5*quick {
		p.t.Errorf("pages followed after %s", p.times)
	}
}

// TestBrowserBuysAndTheBoardFollows is the whole way: a customer on a phone buys and pays, the kitchen sees the ticket appear and works it
// off, the customer's page follows. Nobody reloads anything. It runs alone, since it measures.
func TestBrowserBuysAndTheBoardFollows(t *testing.T) {
	w := newMarket(t)
	w.gateway.Configure(func(s *standin.Settings) { s.PendingRefunds = true })
	base := w.shop()
	w.tell(base)
	kitchen := w.kitchen(base)
	kitchen.mark()
	c := browse(t, "the customer", base, phone)
	c.expect("status of 422")
	live := &pursuit{t: t}

	// A dish with choices, through its sheet: the button carries the price and follows each choice; focus comes back to where it was.
	c.open("/")
	c.says(id("test-mode"), "no real money")
	c.press(dish("butter-chicken", id("add")))
	sheet := "dialog " + id("dish-form")
	c.see(sheet)
	for _, choice := range []struct{ group, option, price string }{{"1", "2", "₹349"}, {"2", "3", "₹349"}, {"3", "2", "₹369"}} { // full, hot, extra butter
		c.press(sheet + " fieldset:nth-of-type(" + choice.group + ") label:nth-of-type(" + choice.option + ")")
		c.says(id("add-to-cart"), choice.price)
	}
	c.press(id("add-to-cart"))
	c.hide("dialog")
	c.cartSays("1 item", "₹369")
	c.until("focus back on the Add button", "document.activeElement?.matches("+quote(dish("butter-chicken", id("add")))+")")

	// One without: the stepper counts each tap.
	c.press(dish("gulab-jamun", id("add")))
	c.press(dish("gulab-jamun", id("more")))
	c.cartSays("3 items", "₹627")
	c.open("/cart")
	if lines := c.all(id("cart-line")); len(lines) != 2 || !strings.Contains(lines[0], "Full") || !strings.Contains(lines[0], "Hot") || !strings.Contains(lines[0], "Extra butter") {
		t.Errorf("cart lines: %q", lines)
	}
	c.press(id("to-checkout"))

	// Checkout: what we cannot deliver to is said at once, and typing is kept.
	c.at("/checkout")
	c.fill(id("field-pin"), "110001")
	c.key(kb.Tab)
	c.says(id("delivery-message"), "we do not deliver to 110001")
	c.fill(id("field-pin"), "560008")
	c.press(id("pay")) // at once, while the fee is still being asked for: the press counts
	c.says(id("error-name"), "Please tell us your name.")
	c.fill(id("field-email"), "ananya@example.in")
	c.address()
	c.says(id("delivery-message"), "We deliver to 560 038")
	topay := c.wantBill()
	token := c.pay()
	c.ready()
	if f := w.facts(token); f.paise != topay || f.status != "pending" || c.text(id("standin-amount")) != c.text("main "+id("to-pay")) {
		t.Errorf("the bill said %d paise, the order is %+v, the sheet says %s", topay, f, c.text(id("standin-amount")))
	}
	if kitchen.count(id("ticket")) != 0 {
		t.Error("the kitchen sees an order that is not paid")
	}
	number := w.facts(token).number
	c.press(id("standin-succeed"))
	paidAt := time.Now()
	kitchen.see(ticket(number, ""))
	live.note("the ticket appeared on the board", paidAt)
	c.isPaid(token)
	live.note("the customer's page said paid", paidAt)
	w.wantPaid(token)
	c.mark()
	c.says(".live", "Live")

	// The ticket says everything the cook needs.
	if lines := kitchen.all(ticket(number, id("ticket-line"))); len(lines) != 2 || !strings.Contains(lines[0], "1×") || !strings.Contains(lines[0], "Full · Hot · Extra butter") || !strings.Contains(lines[1], "2×") {
		t.Errorf("the ticket says %q", lines)
	}
	kitchen.says(ticket(number, id("ticket-note")), "nut allergy 🥜")
	kitchen.until("the count in the title", `document.title.startsWith("(1) ")`)

	// One main button moves it on, and the customer's page follows.
	for _, step := range []struct{ button, deed, state, column string }{
		{"Accept", "accepted", "accepted", "accepted"}, {"Start cooking", "started", "preparing", "preparing"},
		{"Mark ready", "marked ready", "ready", "ready"}, {"Hand to rider", "handed over", "handed_over", ""},
	} {
		kitchen.says(ticket(number, id("move")), step.button)
		kitchen.press(ticket(number, id("move")))
		pressed := time.Now()
		c.is(id("order"), "data-state", step.state)
		live.note("the customer's page said "+step.state, pressed)
		if step.column == "" {
			kitchen.hide(ticket(number, ""))
		} else {
			kitchen.see(id("column-"+step.column) + " " + ticket(number, ""))
		}
		kitchen.says("#toast", fmt.Sprintf("Order %d: %s.", number, step.deed))
	}
	c.says(id("order-title"), "On its way")
	c.untouched()

	// The next order is collected by the customer, and cancelled by the kitchen with a reason: all of the money goes back, stage by stage.
	c.open("/")
	if c.count(id("cartbar")) != 0 {
		t.Error("what was bought is still in the cart")
	}
	c.press(dish("samosa", id("add")))
	c.cartSays("1 item")
	c.press(id("cartbar"))
	c.at("/checkout")
	c.press(`label:has(` + id("field-way-pickup") + `)`)
	c.hide(id("bill-delivery"))
	c.wantBill()
	token = c.pay()
	c.ready()
	c.press(id("standin-tab-card"))
	c.press(id("standin-pay-card"))
	c.fill(id("standin-otp"), "1234")
	c.press(id("standin-otp-submit"))
	c.isPaid(token)
	c.mark()
	f := w.facts(token)
	kitchen.see(ticket(f.number, ""))
	kitchen.untouched()
	kitchen.press(ticket(f.number, id("move")))
	c.is(id("order"), "data-state", "accepted")
	kitchen.press(ticket(f.number, id("ticket-more")))
	kitchen.see(id("staff-order"))
	kitchen.press(id("cancel-order"))
	kitchen.fill(id("field-reason"), "the tandoor has gone out")
	kitchen.press(`label:has(` + id("field-confirm") + `)`)
	kitchen.press(id("cancel-yes"))
	pressed := time.Now()
	c.is(id("order"), "data-state", "cancelled")
	live.note("the customer's page said cancelled", pressed)
	c.says("header", "The tandoor has gone out")
	c.is(id("refund"), "data-stage", "submitted")
	c.says(id("refund"), "is on its way back to your card")
	if strings.Contains(c.text(id("refund")), "was refunded") {
		t.Error("it says refunded before the gateway does")
	}
	refunds := w.gateway.Books().Refunds
	if len(refunds) != 1 || refunds[0].AmountPaise != f.paise {
		t.Fatalf("the gateway has refunds %+v", refunds)
	}
	must(t, w.gateway.SettleRefund(refunds[0].ID))
	settled := time.Now()
	c.is(id("refund"), "data-stage", "processed")
	live.note("the customer's page said refunded", settled)
	c.says(id("refund"), "was refunded to your card")
	c.untouched()
	kitchen.open("/staff")
	kitchen.says(id("attention"), "do not cook it")
	if kitchen.count(ticket(f.number, "")) != 0 {
		t.Error("the cancelled order is still to be cooked")
	}
	live.wantQuick()
}

// TestBrowserTabLostAfterPaying loses the customer right after the bank's yes, before the page could report it: the ticket still comes.
func TestBrowserTabLostAfterPaying(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	p := w.run(freeAddr(t), "")
	w.tell(p.url)
	kitchen := w.kitchen(p.url)
	kitchen.mark()
	lose := func() (token string) {
		c := browse(t, "the customer", p.url, phone)
		token = c.toSheet()
		c.offline("/payments/verify")
		c.press(id("standin-succeed"))
		order := w.facts(token).gateway[0]
		must(t, w.gateway.WaitFor(t.Context(), "the bank's yes", func(b standin.Books) bool {
			made := b.PaymentsOf(order)
			return len(made) == 1 && made[0].Captured
		}))
		c.close()
		return token
	}
	token := lose()
	kitchen.see(ticket(w.facts(token).number, ""))
	w.wantPaid(token, "webhook", "sweep")

	w.gateway.SpoilWebhooks(standin.WebhookFault{Lose: true})
	token = lose()
	if status := w.facts(token).status; status != "pending" {
		t.Errorf("nobody told the shop, and the order is %s", status)
	}
	w.advance(3 * time.Minute)
	kitchen.see(ticket(w.facts(token).number, ""))
	w.wantPaid(token, "sweep")
	kitchen.untouched()
	kitchen.close()
	w.settle()
	p.stop()
}

// brokenConnections is what a console says of a server that went away.
const brokenConnections = `ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_CLOSED|htmx:sendError|htmx:sseError|status code 503|status of 503|\[object Event\]`

// offline cuts the tab off from addresses of the shop, or of anywhere, that hold this path.
func (b *tab) offline(path string) {
	b.t.Helper()
	send(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "http://*:*" + path + "*", Block: true}}})
	b.expect(`ERR_BLOCKED_BY_CLIENT`)
}

// TestBrowserWithoutScript buys without any script up to Pay, and there on the gateway's own page.
func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	c := browse(t, "the customer", base, phone)
	c.withoutScript()
	c.expect("status of 409") // the first Pay, before the fee is known

	c.open("/")
	c.fill(id("search"), "kofta")
	c.press("#search button")
	c.until("the search's answer", `location.search.includes("q=kofta") && document.readyState === "complete"`)
	if found := c.count(id("dish")); found != 1 {
		t.Errorf("%d dishes found", found)
	}
	c.open("/?filter=1")
	c.press(dish("masala-dosa", id("add")))
	c.at("/menu/masala-dosa")
	c.press(id("dish-form") + " fieldset:nth-of-type(1) label:nth-of-type(1)")
	c.press(id("add-to-cart"))
	c.at("/")
	c.says(id("cartbar"), "1 item")
	c.press(dish("gulab-jamun", id("add")))
	c.says(id("cartbar"), "2 items")
	c.press(dish("gulab-jamun", id("more")))
	c.says(id("cartbar"), "3 items")
	c.open("/cart")
	c.press(id("cart-line") + `[data-slug="gulab-jamun"] ` + id("less"))
	c.says(id("cart-total"), "₹303")
	c.press(id("to-checkout"))

	c.at("/checkout")
	c.says(id("pay"), "See the total")
	for name, text := range map[string]string{"phone": "+91 98450-12345", "name": "Ananya Rao", "line1": "Flat 302", "line2": "Lake View", "pin": "560038"} {
		c.fill(id("field-"+name), text)
	}
	c.press(id("pay"))
	c.says(id("pay"), "Pay ₹")
	topay := c.wantBill()
	if w.count(`SELECT count(*) FROM orders`) != 0 {
		t.Error("an order was placed before its total was shown")
	}
	c.pressTwice(id("pay"))
	token := c.atPay()
	if n := w.count(`SELECT count(*) FROM orders`); n != 1 {
		t.Errorf("two presses of Pay made %d orders", n)
	}
	c.says(id("pay-state"), "runs no scripts")
	if f := w.facts(token); f.paise != topay || len(f.gateway) != 1 {
		t.Errorf("the bill said %d paise, the order is %+v", topay, f)
	}

	// Giving up at the gateway leads back to the shop; a refused payment too, with the bank's reason.
	c.press(id("hosted") + " button")
	c.see(id("standin-hosted"))
	c.press(id("standin-close"))
	c.at("/pay/" + token)
	c.says(id("pay-state"), "You closed the payment window")
	c.press(id("hosted") + " button")
	c.press(id("standin-fail"))
	c.press(id("standin-continue"))
	c.at("/pay/" + token)
	c.says(id("pay-state"), "The payment did not go through")
	c.says("#reason", w.facts(token).payments[0].ErrorDescription)

	// Success comes back as a post from another site, so without the cookie, and ends on the order's page with it.
	c.press(id("hosted") + " button")
	c.press(id("standin-succeed"))
	c.press(id("standin-continue"))
	c.isPaid(token)
	c.says("#status", "Ananya Rao")
	if f := w.facts(token); len(f.gateway) != 1 {
		t.Errorf("%d gateway orders", len(f.gateway))
	}
	w.wantPaid(token)

	// The customer cancels, without script too, and asks again until the money is back.
	c.press(id("cancel-order"))
	c.press(id("cancel-yes"))
	c.is(id("order"), "data-state", "cancelled")
	w.wait("the refund is done", func() bool {
		c.reload()
		return c.count(id("refund")+`[data-stage="processed"]`) == 1
	})
}

// TestBrowserPaySheet goes through everything that may happen between Pay and the order's page. All customers are at one shop.
func TestBrowserPaySheet(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	sameOrder := func(t *testing.T, token string, attempts int) {
		t.Helper()
		if f := w.facts(token); len(f.gateway) != 1 || len(f.payments) != attempts {
			t.Errorf("%d gateway orders with %d payments, want 1 with %d", len(f.gateway), len(f.payments), attempts)
		}
	}
	t.Run("closed and opened again", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		c.countSheets()
		token := c.toSheet()
		if c.sheets() != 1 {
			t.Errorf("one press opened %d sheets", c.sheets())
		}
		c.press(id("standin-close"))
		c.press(id("standin-leave"))
		c.says(id("closed-window"), "You closed the payment window No payment has reached us.")
		c.press(id("pay-now"))
		c.ready()
		if c.sheets() != 2 || len(c.asked("/v1/checkout.js")) != 1 {
			t.Errorf("two presses opened %d sheets, with %d scripts", c.sheets(), len(c.asked("/v1/checkout.js")))
		}
		c.press(id("standin-succeed"))
		c.isPaid(token)
		sameOrder(t, token, 1)
		w.wantPaid(token)
		// Paid is paid: the pay page leads to the order, and opens nothing.
		c.forget()
		c.open("/pay/" + token)
		c.at("/orders/" + token)
		if n := len(c.asked("/v1/checkout.js")); n != 0 {
			t.Errorf("the gateway's script was loaded %d times", n)
		}
	})
	t.Run("failed with the bank's reason and tried again", func(t *testing.T) {
		c := browse(t, "the customer", base, desk)
		c.expect("status of 400") // the gateway's own word for a failed payment
		token := c.toSheet()
		c.press(id("standin-fail"))
		c.see(id("standin-error"))
		reason := w.facts(token).payments[0].ErrorDescription
		if said := c.text(id("standin-error")); reason == "" || said != reason {
			t.Errorf("the sheet says %q, the bank %q", said, reason)
		}
		c.press(id("standin-close"))
		c.press(id("standin-leave"))
		c.says(id("failed-payment"), reason)
		c.says(id("failed-payment"), "No payment has reached us. If money left your account it comes back by itself.")
		c.press(id("pay-again"))
		c.ready()
		c.press(id("standin-succeed"))
		c.isPaid(token)
		sameOrder(t, token, 2)
		w.wantPaid(token)
	})
	t.Run("pending until the bank answers", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		token := c.toSheet()
		c.press(id("standin-pending"))
		c.says(id("standin-status"), "Waiting for your bank")
		must(t, w.gateway.SucceedLate(w.facts(token).payments[0].ID))
		c.isPaid(token)
		sameOrder(t, token, 1)
		w.wantPaid(token)
	})
	t.Run("success long after a failure", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		c.expect("status of 400")
		token := c.toSheet()
		c.press(id("standin-late"))
		c.see(id("standin-error"))
		c.open("/orders/" + token)
		c.is(id("order"), "data-state", "failed")
		c.mark()
		must(t, w.gateway.SucceedLate(w.facts(token).payments[0].ID))
		c.is(id("order"), "data-state", "paid")
		c.untouched()
		sameOrder(t, token, 1)
		w.wantPaid(token, "webhook", "hint", "sweep")
	})
	t.Run("confirming while the gateway is silent", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		token := c.toSheet()
		w.gateway.SpoilWebhooks(standin.WebhookFault{Hold: true})
		silence := w.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502})
		c.press(id("standin-succeed"))
		c.at("/orders/" + token)
		c.is(id("order"), "data-state", "confirming")
		c.says(id("confirming"), "Please do not pay again.")
		if c.count(id("pay-now")) != 0 {
			t.Error("the page asks to pay again")
		}
		c.mark()
		w.gateway.RemoveFault(silence)
		w.gateway.ClearWebhookFaults()
		w.gateway.Release()
		c.is(id("order"), "data-state", "paid")
		c.untouched()
		w.wantPaid(token)
	})
	t.Run("confirming for long", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		token := c.toSheet()
		w.gateway.SpoilWebhooks(standin.WebhookFault{Lose: true, Times: 3})
		silence := w.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502})
		w.setClock(-2 * time.Minute) // the report comes two minutes ago
		c.press(id("standin-succeed"))
		c.at("/orders/" + token)
		w.setClock(0)
		c.is(id("order"), "data-state", "slow")
		c.says(id("slow"), "Taking longer than usual")
		if c.count(id("pay-now")) != 0 {
			t.Error("the page asks to pay again")
		}
		w.gateway.RemoveFault(silence)
		w.gateway.ClearWebhookFaults()
		for _, e := range w.gateway.Events() { // Razorpay's dashboard can send an event again
			if e.OrderID == w.facts(token).gateway[0] {
				_, err := w.gateway.Deliver(t.Context(), e.ID)
				must(t, err)
			}
		}
		c.is(id("order"), "data-state", "paid")
		w.wantPaid(token, "webhook", "hint", "sweep")
	})
	t.Run("in the browser of another app", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		send(c, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
			UserAgent: "Mozilla/5.0 (Linux; Android 14; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/148.0 Mobile Safari/537.36 Instagram 300.0"})
		token := c.toSheet()
		c.press(id("standin-succeed"))
		c.isPaid(token)
		if posted := len(c.asked("/payments/verify?order=" + token)); posted != 1 {
			t.Errorf("the gateway's page posted %d times", posted)
		}
		w.wantPaid(token)
	})
	t.Run("the gateway's script kept away", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		c.offline("/v1/checkout.js")
		c.toCheckout()
		c.address()
		token := c.pay()
		c.says(id("blocked"), "The payment window could not be loaded")
		c.press(`[data-show="blocked"] ` + id("hosted") + " button")
		c.press(id("standin-succeed"))
		c.press(id("standin-continue"))
		c.isPaid(token)
		sameOrder(t, token, 1)
		w.wantPaid(token)
	})
	t.Run("Pay pressed twice while the gateway is slow", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		c.countSheets()
		c.toCheckout()
		c.address()
		before := w.count(`SELECT count(*) FROM orders`)
		slow := w.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Delay, For: time.Second, Times: 1})
		defer w.gateway.RemoveFault(slow)
		c.pressTwice(id("pay"))
		c.says(id("pay"), "Opening…")
		token := c.atPay()
		c.ready()
		if made := w.count(`SELECT count(*) FROM orders`) - before; made != 1 || c.sheets() != 1 {
			t.Errorf("two presses made %d orders and opened %d sheets", made, c.sheets())
		}
		sameOrder(t, token, 0)
	})
	t.Run("Pay pressed in two tabs", func(t *testing.T) {
		c := browse(t, "the customer", base, desk)
		c.toCheckout()
		c.address()
		other := c.beside(desk)
		other.open("/checkout")
		other.address()
		before := w.count(`SELECT count(*) FROM orders`)
		token := c.pay()
		c.ready()
		if again := other.pay(); again != token {
			t.Errorf("the second tab pays another order, %s", again)
		}
		other.ready()
		if made := w.count(`SELECT count(*) FROM orders`) - before; made != 1 {
			t.Errorf("%d orders", made)
		}
		c.press(id("standin-succeed"))
		c.isPaid(token)
		other.expect("status of 400")
		other.press(id("standin-succeed"))
		other.says(id("standin-error"), "already paid") // the gateway refuses, and the shop's page knows
		other.reload()
		other.at("/orders/" + token)
		other.is(id("order"), "data-state", "paid")
		sameOrder(t, token, 1)
		w.wantPaid(token)
	})
	t.Run("left and come back to", func(t *testing.T) {
		c := browse(t, "the customer", base, phone)
		c.countSheets()
		token := c.toSheet()
		for range 2 {
			c.press(id("standin-close"))
			c.press(id("standin-leave"))
			c.press(`[data-show="ready closed failed blocked"] a`) // back to the order
			c.at("/checkout")
			c.says(id("pay"), "Pay ₹")
			if again := c.pay(); again != token {
				t.Fatalf("the same cart and address are another order, %s", again)
			}
			c.ready()
			if c.sheets() != 1 {
				t.Errorf("one press opened %d sheets", c.sheets())
			}
		}
		c.back()
		c.at("/checkout")
		c.press(id("pay"))
		c.atPay()
		c.ready()
		if c.sheets() != 1 {
			t.Errorf("one press after Back opened %d sheets", c.sheets())
		}
		c.press(id("standin-succeed"))
		c.isPaid(token)
		sameOrder(t, token, 1)
		w.wantPaid(token)
		// Back from a paid order never leads to paying again.
		c.back()
		c.until("no way to pay again", `document.readyState === "complete" && !`+shown+`('[data-testid="standin-sheet"], [data-testid="pay-now"]')`)
	})
}

// countSheets counts how often the gateway's sheet opens in each further document of the tab.
func (b *tab) countSheets() {
	b.t.Helper()
	b.beforeAnyScript(`window.sheets = 0; new MutationObserver(changes => { for (const c of changes) for (const n of c.addedNodes) if (n.matches?.('[data-testid="standin-sheet"]')) window.sheets++ })
		.observe(document, {childList: true, subtree: true})`)
}

func (b *tab) sheets() int {
	b.t.Helper()
	return read[int](b, "window.sheets")
}

// TestBrowserShopRestarts stops the shop while a customer pays and the kitchen watches, and starts it again at the same address: the payment
// made meanwhile is found, cart and login are as they were, and pages that were left open find back by themselves.
func TestBrowserShopRestarts(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	p := w.run(freeAddr(t), "")
	w.tell(p.url)
	kitchen := w.kitchen(p.url)
	kitchen.expect(brokenConnections)
	kitchen.mark()
	c := browse(t, "the customer", p.url, phone)
	c.expect(brokenConnections)
	token := c.toSheet()
	menu := c.beside(phone)
	menu.expect(brokenConnections)
	menu.open("/")
	menu.press(dish("samosa", id("add")))
	menu.cartSays("2 items")

	p.stop()
	kitchen.says("#lost", "since")
	menu.press(dish("samosa", id("more")))
	menu.says("#toast", "No connection. Your order is saved.")
	c.press(id("standin-succeed"))      // the bank does not wait for us; the page's report finds nobody
	c.says("#offline", "No connection") // from the service worker, at the order's address
	p = w.run(p.addr, "")
	kitchen.see(ticket(w.facts(token).number, ""))
	menu.press("#toast button")
	menu.cartSays("₹198", "2 items") // what was bought has left the cart, the rest is there
	kitchen.hide("#lost")
	kitchen.untouched()
	c.open("/orders/" + token)
	c.isPaid(token)
	w.wantPaid(token)
	kitchen.press(ticket(w.facts(token).number, id("move")))
	kitchen.see(id("column-accepted") + " " + ticket(w.facts(token).number, ""))
	c.is(id("order"), "data-state", "accepted")
	menu.reload()
	menu.cartSays("₹198", "2 items")
	c.mark()

	// Killed, as by a power cut, and the order's page goes on where it was.
	asked := len(kitchen.asked("/staff/board"))
	p.kill()
	c.see(".live.lost")
	kitchen.see("#lost")
	p = w.run(p.addr, "")
	c.hide(".live.lost")
	kitchen.hide("#lost")
	back := time.Now()
	w.wait("the board looks for what it missed", func() bool { return len(kitchen.asked("/staff/board")) > asked })
	if late := time.Since(back); late > quick {
		t.Errorf("the board looked for what it missed only %s after it was back", late)
	}
	kitchen.press(ticket(w.facts(token).number, id("move")))
	c.is(id("order"), "data-state", "preparing")
	c.untouched()
	kitchen.untouched()
	w.settle()
	p.stop()
}

// TestBrowserTwoShopsAreOne has two processes on one database: bought at one, reported to the other, cooked at either.
func TestBrowserTwoShopsAreOne(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	a, b := w.run(freeAddr(t), ""), w.run(freeAddr(t), "")
	w.tell(b.url)
	kitchen := w.kitchen(b.url)
	kitchen.mark()
	other := kitchen.beside(desk) // the same login at the other process: cookies know no ports
	other.base = a.url
	other.open("/staff")
	other.see(id("board"))
	other.mark()

	c := browse(t, "the customer", a.url, phone)
	token := c.toSheet()
	c.open("/orders/" + token)
	c.says(".live", "Live")
	c.mark()
	there := c.beside(phone)
	there.base = b.url
	there.open("/pay/" + token)
	there.ready()
	there.press(id("standin-succeed"))
	there.isPaid(token)
	c.is(id("order"), "data-state", "paid")
	number := w.facts(token).number
	kitchen.see(ticket(number, ""))
	other.see(ticket(number, ""))
	w.wantPaid(token)

	// A board that nobody has told, for it runs no script, shows what was; pressing there changes nothing and says why.
	stale := kitchen.beside(desk)
	stale.withoutScript()
	stale.expect("status of 409")
	stale.base = a.url
	stale.open("/staff")
	stale.says(ticket(number, id("move")), "Accept")
	kitchen.press(ticket(number, id("move")))
	other.see(id("column-accepted") + " " + ticket(number, ""))
	c.is(id("order"), "data-state", "accepted")
	stale.press(ticket(number, id("move")))
	stale.says(id("conflict"), fmt.Sprintf("Order %d was already accepted by Meera", number))
	if n := w.count(`SELECT count(*) FROM fulfilments WHERE status = 'accepted'`); n != 1 {
		t.Error("a press that came too late moved the ticket")
	}
	for _, page := range []*tab{kitchen, other, c} {
		page.untouched()
	}
	for _, page := range []*tab{kitchen, other, c, there} {
		page.close() // before their shops stop
	}
	w.settle()
	for _, p := range []*process{a, b} {
		p.stop()
	}
}

// TestBrowserOldPages presses buttons of pages that are not the newest: other tabs, pages from the history, pages left open for hours, and
// pages whose session is gone. Everything works, or says what to do; nothing is lost.
func TestBrowserOldPages(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	c := browse(t, "the customer", base, phone)

	// Search and filter, a dish, checkout and back: a whole page each time, and the newest number of each dish.
	c.open("/")
	c.press("label.filter:has(" + id("veg") + ")")
	c.until("only vegetarian dishes", `![...document.querySelectorAll("#results .dish")].some(e => e.dataset.slug === "butter-chicken")`)
	c.fill(id("search"), "paneer")
	c.until("the search's answer", `location.search.includes("q=paneer")`)
	c.until("the found dishes", `document.querySelectorAll("#results .dish").length < 9`)
	found := c.all("#results h3")
	c.press(dish("palak-paneer", id("add")))
	c.cartSays("1 item")
	c.press(dish("palak-paneer", "h3 a"))
	c.see("dialog " + id("dish-form"))
	c.key(kb.Escape)
	c.hide("dialog")
	c.press(id("cartbar"))
	c.at("/checkout")
	c.press(id("cart-line") + " " + id("more"))
	c.says("#aside", "2 items")
	for range 3 {
		c.back()
		c.at("/?")
		c.see(id("test-mode"))
		c.says(dish("palak-paneer", "output"), "2")
		if again := c.all("#results h3"); !slices.Equal(found, again) {
			t.Errorf("Back shows %q, was %q", again, found)
		}
		c.cartSays("2 items")
		c.forward()
		c.at("/checkout")
		c.says("#aside", "2 items")
	}
	c.back()
	c.at("/?")
	c.reload()
	c.see(id("test-mode"))
	if again := c.all("#results h3"); !slices.Equal(found, again) {
		t.Errorf("a reload shows %q, was %q", again, found)
	}

	// Two tabs with the same forms: both count, whichever is pressed when.
	other := c.beside(phone)
	other.open("/?filter=1")
	c.press(dish("palak-paneer", id("more")))
	c.cartSays("3 items")
	other.press(dish("samosa", id("add")))
	other.cartSays("4 items")
	c.press(dish("palak-paneer", id("less")))
	c.cartSays("3 items", "₹657")
	if n := w.count(`SELECT sum(qty) FROM cart_lines`); n != 3 {
		t.Errorf("the cart holds %d pieces", n)
	}

	// Tapped and gone: a tap just before leaving the page is not lost.
	c.open("/?filter=1")
	c.press(dish("naan", id("add")))
	c.tap(c.aim(id("cartbar")))
	c.at("/checkout")
	c.says("#aside", "4 items")

	// The review in one tab, another dish from the other: what was not shown is not bought.
	c.address()
	other.reload()
	other.press(dish("raita", id("add")))
	other.cartSays("5 items")
	c.expect("status of 409", "status of 403", "Status Error Code 403")
	c.press(id("pay"))
	c.says(id("changed"), "Nothing was charged.")
	if orders := w.count(`SELECT count(*) FROM orders`); orders != 0 {
		t.Errorf("%d orders", orders)
	}
	if kept := read[string](c, `document.querySelector("#name").value + "/" + document.querySelector("#note").value`); kept != "Ananya Rao/No onion – nut allergy 🥜" {
		t.Errorf("what was typed is %q now", kept)
	}
	c.wantBill()

	// Left open for three hours.
	w.advance(3 * time.Hour)
	other.press(dish("raita", id("more")))
	other.cartSays("6 items")

	// The session is gone, as after clearing cookies: the page says so and goes on, typing kept; no bare Forbidden.
	send(c, network.ClearBrowserCookies, cdp.Empty{})
	other.expect("status of 403", "Status Error Code 403")
	other.press(dish("raita", id("more")))
	other.says("#toast", "Please try once more.")
	c.press(id("pay"))
	c.says("main", "Nothing here yet")
	c.press("main a.cta")
	c.at("/")
	c.press(dish("raita", id("add")))
	c.cartSays("1 item")
}
