//go:build e2e

package main

import (
	"strconv"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// choose picks an option of a list by the first key of what it says, as on a keyboard; a phone's own wheel is not the page's.
func (b *tab) choose(selector, option string) {
	b.t.Helper()
	b.see(selector)
	b.until(selector+" to have the focus", "document.querySelector("+quote(selector)+").focus() || document.activeElement.matches("+quote(selector)+")")
	b.key(option)
	b.until(selector+" to be chosen", "document.querySelector("+quote(selector)+").value === "+quote(option))
}

// TestBrowserStaffGiveOneLineBack: on a phone, without script, staff give one of two dishes back; the customer, whose page was open all
// the time and whose food has left, reads how much of what and why within a second, and again when Razorpay has done it.
func TestBrowserStaffGiveOneLineBack(t *testing.T) {
	w := newMarket(t)
	w.gateway.Configure(func(s *standin.Settings) { s.PendingRefunds = true })
	base := w.shop()
	w.tell(base)
	w.hire("meera")

	c := browse(t, "the customer", base, phone)
	c.open("/")
	c.press(dish("dal-makhani", id("add")))
	c.cartSays("1 item")
	c.press(dish("palak-paneer", id("add")))
	c.cartSays("2 items")
	c.open("/checkout")
	c.address()
	token := c.pay()
	c.ready()
	c.press(id("standin-succeed"))
	c.isPaid(token)
	c.mark()
	f := w.facts(token)
	for _, step := range [][2]string{{models.TicketQueued, models.TicketAccepted}, {models.TicketAccepted, models.TicketPreparing}, {models.TicketPreparing, models.TicketReady}, {models.TicketReady, models.TicketHandedOver}} {
		w.move(f.id, step[0], step[1])
	}
	c.is(id("order"), "data-state", "handed_over")

	s := browse(t, "the manager", base, phone)
	s.withoutScript()
	s.open("/staff/login")
	s.fill(id("field-login"), "meera")
	s.fill(id("field-password"), staffPassword)
	s.press(id("login"))
	s.see(id("board"))
	order := "/staff/orders/" + strconv.FormatInt(f.id, 10)
	s.open(order)
	s.press(id("give-back"))
	s.at(order + "/refund")
	wide := func() {
		t.Helper()
		if over := read[int](s, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s is %d px too wide for a phone", s.at(order), over)
		}
	}
	wide()
	s.press(`label:has(` + id("what-dishes") + `)`)
	s.choose(id("piece-2"), "1")
	s.fill(id("field-reason"), "the paneer was cold")
	s.press(id("review"))
	s.see(id("refund-review"))
	wide()
	s.says(id("share-food"), "₹279.00")
	amount := s.text(id("share-total"))
	s.says(id("refund-yes"), "Give "+amount+" back")
	since := func(what, query string) {
		t.Helper()
		seen := time.Now()
		var at time.Time
		must(t, w.store.SQL().QueryRowContext(t.Context(), query, f.id).Scan(&at))
		t.Logf("%s: %d ms", what, seen.Sub(at).Milliseconds())
		if seen.Sub(at) > promptly {
			t.Errorf("%s: the customer read it after %s", what, seen.Sub(at))
		}
	}
	whole := c.text("aside summary .push")
	of := amount + " of " + whole
	s.press(id("refund-yes"))
	c.says(id("refund-part"), of+" goes back to you: The paneer was cold")
	since("given back", `SELECT requested_at FROM refunds WHERE order_id = $1`)
	s.at(order)
	s.says(id("refund-row"), "The paneer was cold")
	wide()

	c.is(id("refund"), "data-stage", "submitted")
	refund := w.gateway.Books().Refunds[0]
	must(t, w.gateway.SettleRefund(refund.ID))
	c.says(id("refund-part"), of+" went back to you: The paneer was cold")
	since("done", `SELECT processed_at FROM refunds WHERE order_id = $1`)
	c.press(id("refund") + " summary")
	c.says(id("refund")+" "+id("share-total"), amount)
	c.untouched()
	if len(w.gateway.Books().Refunds) != 1 || refund.AmountPaise != paise(t, amount) || w.gateway.Books().KeptPaise(refund.PaymentID) != paise(t, whole)-paise(t, amount) {
		t.Errorf("the gateway gave %d paise back, of %s", refund.AmountPaise, whole)
	}
}
