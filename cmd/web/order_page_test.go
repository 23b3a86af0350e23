//go:build e2e

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// promptly is how soon an order's page must be true again after a commit, or after the moment at which time alone makes it say something
// else. A tenth of it is usual.
const promptly = time.Second

// TestBrowserOrderPageIsTrueWithinASecond follows one order through everything that can become of it and takes the time from each commit,
// by the database's own clock, until the customer can read it. It runs alone, since it measures.
func TestBrowserOrderPageIsTrueWithinASecond(t *testing.T) {
	w := newMarket(t)
	w.gateway.Configure(func(s *standin.Settings) { s.PendingRefunds, s.SecondPayment = true, standin.SecondCaptured })
	base := w.shop()
	w.tell(base)
	w.hire("meera")
	c := browse(t, "the customer", base, phone)
	c.expect("status of 400")
	token := c.toSheet()
	f := w.facts(token)
	c.open("/orders/" + token)
	c.is(id("order"), "data-state", "unpaid")
	c.says(".live", "Live")
	c.mark()

	var times []time.Duration
	// true_ waits until the page says so, and takes the time since the instant that the query finds.
	true_ := func(what, selector, words, sinceSQL string) {
		t.Helper()
		c.says(selector, words)
		seen := time.Now()
		var since time.Time
		must(t, w.store.SQL().QueryRowContext(t.Context(), sinceSQL, f.id).Scan(&since))
		times = append(times, seen.Sub(since))
		t.Logf("%s: %d ms", what, seen.Sub(since).Milliseconds())
	}
	const changed = `SELECT max(at) FROM status_changes WHERE order_id = $1`

	// Something that only a browser said, and that turns out to be nothing: no row of the order itself changes.
	const nobodys = "pay_TstNobodys0001"
	must(t, w.store.Hint(t.Context(), nobodys, f.id))
	true_("confirming", id("confirming"), "Please do not pay again.", `SELECT created_at FROM payment_hints WHERE order_id = $1`)
	must(t, w.store.CloseHint(t.Context(), nobodys))
	true_("nothing after all", id("unpaid"), "No payment has reached us.", `SELECT done_at FROM payment_hints WHERE order_id = $1`)

	failed, err := w.gateway.Pay(standin.PayParams{OrderID: f.gateway[0], Outcome: standin.FailNow, Method: "card"})
	must(t, err)
	reason, _, _ := strings.Cut(failed.ErrorDescription, ". ") // the rest of the bank's sentence promises a time of its own
	true_("failed", id("failed-payment"), reason, changed)
	c.says(id("failed-payment"), "by the Reserve Bank's rule")
	_, err = w.gateway.Pay(standin.PayParams{OrderID: f.gateway[0]})
	must(t, err)
	true_("paid", "header", "Paid. The kitchen will take it on in a moment.", changed)
	for _, step := range []struct{ from, to, words string }{
		{models.TicketQueued, models.TicketAccepted, "The kitchen has your order."}, {models.TicketAccepted, models.TicketPreparing, "The kitchen is cooking your food."},
		{models.TicketPreparing, models.TicketReady, "Your food is packed and about to leave."},
	} {
		w.move(f.id, step.from, step.to)
		true_(step.to, "header", step.words, changed)
	}
	_, err = w.store.CancelOrder(t.Context(), f.id, models.StaffActor(1), "The rider fell ill", "normal")
	must(t, err)
	true_("cancelled", "header", "The rider fell ill", `SELECT closed_at FROM orders WHERE id = $1`)
	c.is(id("refund"), "data-stage", "submitted")
	true_("refund with the bank", id("refund"), "If it is not there by then, please call us. Refund id", `SELECT submitted_at FROM refunds WHERE order_id = $1`)
	must(t, w.gateway.SettleRefund(w.gateway.Books().Refunds[0].ID))
	true_("refund done", id("refund"), "was refunded to your UPI account", `SELECT processed_at FROM refunds WHERE order_id = $1`)

	// Late money on the closed order: its page is still live.
	_, err = w.gateway.Pay(standin.PayParams{OrderID: f.gateway[0], Method: "card"})
	must(t, err)
	true_("late money", id("refund")+" + "+id("refund"), "Your payment arrived after the order had been cancelled, so all of it goes back.", `SELECT max(requested_at) FROM refunds WHERE order_id = $1`)
	c.untouched()

	// What time alone changes.
	other := c.beside(phone)
	token = other.toSheet()
	f = w.facts(token)
	soon := func(text string) {
		t.Helper()
		_, err := w.store.SQL().ExecContext(t.Context(), text, f.id)
		must(t, err)
	}
	soon(`UPDATE orders SET hold_expires_at = clock_timestamp() + interval '2 seconds' WHERE id = $1`)
	c.open("/orders/" + token)
	c.is(id("order"), "data-state", "unpaid")
	true_("the time to pay is over", id("lapsed"), "Please do not pay again.", `SELECT hold_expires_at FROM orders WHERE id = $1`)
	soon(`UPDATE orders SET hold_expires_at = clock_timestamp() + interval '10 minutes' WHERE id = $1`)
	must(t, w.store.Hint(t.Context(), nobodys+"2", f.id))
	soon(`UPDATE payment_hints SET created_at = clock_timestamp() - interval '57 seconds', next_attempt_at = clock_timestamp() + interval '1 hour' WHERE order_id = $1`)
	c.reload()
	c.is(id("order"), "data-state", "confirming")
	true_("slow", id("slow"), "Taking longer than usual", `SELECT created_at + interval '1 minute' FROM payment_hints WHERE order_id = $1`)

	slices.Sort(times)
	if usual, worst := times[len(times)/2], times[len(times)-1]; usual > promptly/2 || worst > promptly {
		t.Errorf("the page was true after %s", times)
	}
}
