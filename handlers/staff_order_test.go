package handlers

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
	"tiffin/views"
)

// receive delivers the gateway's webhooks about a payment and processes them, as their jobs would.
func (k *kitchen) receive(paymentID string) {
	k.t.Helper()
	for _, e := range k.gateway.Events() {
		if e.PaymentID != paymentID {
			continue
		}
		_, err := k.cashier.ReceiveWebhook(k.t.Context(), payments.Delivery{Body: e.Body, EventID: e.ID,
			Signature: razorpay.SignWebhook(standin.DefaultWebhookSecret, e.Body)})
		must(k.t, err)
		must(k.t, k.cashier.ProcessEvent(k.t.Context(), k.count(`SELECT id FROM webhook_events WHERE event_id = $1`, e.ID)))
	}
}

func TestStaffOrderPage(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "manager", k.outlet.ID)
	b := k.signedIn(asha)
	o := k.place(basket{slug: "butter-chicken", note: "Ring twice", directions: "Behind the temple", lineNote: "less salt"})
	paymentID := k.pay(o, k.open(o))
	k.receive(paymentID)
	b.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(200)

	page := b.get(orderPath(o, "")).is(200)
	page.says("staff-order", "Butter Chicken", "less salt", "Ananya Rao", "98450 12345", "Flat 302, Lake View", "Behind the temple")
	page.says("ticket-note", "Ring twice")
	page.says("payment", paymentID, "captured", "pays this order")
	page.says("event-row", "payment.captured", "processed")
	page.says("event-row", "order.paid")
	page.says("history-row", "order pending → paid", "the shop")
	page.says("history-row", "ticket queued → accepted", fmt.Sprintf("Asha (staff:%d)", asha.ID))
	if n := len(page.texts("refund-row")); n != 0 {
		t.Errorf("%d refunds before any", n)
	}
	if page.header.Get("Cache-Control") != "no-store" {
		t.Error("a page with a name and a phone number may be kept")
	}

	b.post(orderPath(o, "/cancel"), "reason", "the gas is off", "confirm", "yes").is(303).leads(orderPath(o, ""))
	page = b.get(orderPath(o, "")).is(200)
	page.says("refund-row", "requested", "cancel", fmt.Sprintf("staff:%d", asha.ID), "The gas is off")
	page.says("history-row", "order paid → cancelled", "Asha")
	page.says("history-row", "ticket accepted → cancelled", "Asha")
	page.says("history-row", "refund requested", "Asha")
	page.says("history-row", "cancel order: The gas is off", "Asha")
	if n := len(page.all("", "data-testid", "cancel-order")); n != 0 {
		t.Error("a cancelled order can be cancelled again")
	}
	k.intact()
}

func TestStaffCancel(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "manager", k.outlet.ID)
	b := k.signedIn(asha)
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))

	k.run(t, "asks_once_with_the_amount", func(t *testing.T) {
		o := k.paid(basket{})
		form := b.get(orderPath(o, "/cancel")).is(200)
		form.says("cancel-amount", "All of ₹", "goes back")
		if !strings.Contains(form.body, "give ₹") {
			t.Errorf("the confirmation names no amount:\n%s", form.body)
		}
		before := k.rows()
		b.post(orderPath(o, "/cancel"), "reason", "the gas is off").is(422).says("error-confirm", "tick this box")
		b.post(orderPath(o, "/cancel"), "confirm", "yes").is(422).says("error-reason", "choose a reason")
		b.post(orderPath(o, "/cancel"), "reason", "  ", "confirm", "yes").is(422)
		long := b.post(orderPath(o, "/cancel"), "reason", strings.Repeat("é", 201), "confirm", "yes").is(422).says("error-reason", "200")
		if got := attribute(long.all("input", "name", "reason")[0], "value"); got != strings.Repeat("é", 201) {
			t.Error("what was typed is lost")
		}
		b.post(orderPath(o, "/cancel"), "reason", "x", "confirm", "no").is(400)
		b.post(orderPath(o, "/cancel"), "why", "of my own making", "confirm", "yes").is(400)
		if chosen := b.post(orderPath(o, "/cancel"), "why", views.CancelReasons[0]).is(422); !strings.Contains(chosen.body, "<option selected>"+views.CancelReasons[0]) {
			t.Error("what was chosen is lost")
		}
		b.post(orderPath(o, "/cancel"), "reason", "x", "confirm", "yes", "amount", "1").is(400)
		b.post(orderPath(o, "/cancel"), "reason", "x\x00", "confirm", "yes").is(400)
		cook.get(orderPath(o, "/cancel")).is(403)
		cook.post(orderPath(o, "/cancel"), "reason", "x", "confirm", "yes").is(403).says("error", "not open to your login")
		k.unchanged(before)
	})

	k.run(t, "takes_a_reason_from_the_list_unless_one_is_written", func(t *testing.T) {
		for why, written := range map[string]string{views.CancelReasons[0]: "", views.CancelReasons[1]: "The tandoor is cold"} {
			o := k.paid(basket{})
			b.post(orderPath(o, "/cancel"), "why", why, "reason", written, "confirm", "yes").is(303)
			want := cmp.Or(written, why)
			if n := k.count(`SELECT count(*) FROM orders WHERE id = $1 AND status = 'cancelled' AND cancel_reason = $2`, o.ID, want); n != 1 {
				t.Errorf("order %d is not cancelled with the reason %q", o.ID, want)
			}
		}
	})

	k.run(t, "refunds_all_in_the_same_step", func(t *testing.T) {
		o := k.paid(basket{})
		b.post(orderPath(o, "/cancel"), "reason", " we ran out of paneer ", "confirm", "yes").is(303)
		me := models.StaffActor(asha.ID)
		if n := k.count(`SELECT count(*) FROM orders WHERE id = $1 AND status = 'cancelled' AND cancelled_by = $2 AND cancel_reason = 'We ran out of paneer'`, o.ID, me); n != 1 {
			t.Error("the order is not cancelled with who and why")
		}
		if n := k.count(`SELECT count(*) FROM refunds WHERE order_id = $1 AND kind = 'cancel' AND amount_paise = $2 AND requested_by = $3`, o.ID, o.AmountPaise, me); n != 1 {
			t.Error("not all of the money is on its way back")
		}
		if n := k.count(`SELECT count(*) FROM river_job WHERE kind = 'send_refund' AND args ->> 'refund_id' = (SELECT id::text FROM refunds WHERE order_id = $1)`, o.ID); n != 1 {
			t.Errorf("%d jobs to send it, want one", n)
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE order_id = $1 AND actor = $2 AND action = 'cancel_order'`, o.ID, me); n != 1 {
			t.Errorf("%d lines in the audit, want one", n)
		}

		// The same press again is the same; somebody else's, later, says who was first.
		before := k.rows()
		b.post(orderPath(o, "/cancel"), "reason", "we ran out of paneer", "confirm", "yes").is(303)
		b.post(orderPath(o, "/cancel"), "reason", "another reason", "confirm", "yes").is(409).says("conflict", "already cancelled by Asha")
		b.get(orderPath(o, "/cancel")).is(409).says("conflict", "already cancelled by Asha")
		k.unchanged(before)
	})

	k.run(t, "of_two_owners_at_once_one_refund", func(t *testing.T) {
		other := k.signedIn(k.staff("ravi", "Ravi", "owner", 0))
		for range 10 {
			o := k.paid(basket{})
			done := make(chan answer, 2)
			for _, who := range []*browser{b, other} {
				go func() {
					done <- who.send(orderPath(o, "/cancel"), nil, csrfField, who.token(), "reason", "no gas", "confirm", "yes")
				}()
			}
			seen := map[int]int{}
			for range 2 {
				res := <-done
				seen[res.status]++
				if res.status == 409 {
					res.says("conflict", "already cancelled by")
				}
			}
			if seen[303] != 1 || seen[409] != 1 {
				t.Fatalf("answers = %v, want one 303 and one 409", seen)
			}
			if n := k.count(`SELECT count(*) FROM refunds WHERE order_id = $1`, o.ID); n != 1 {
				t.Fatalf("%d refunds, want one", n)
			}
		}
	})

	k.run(t, "an_unpaid_one_gives_late_money_back_by_itself", func(t *testing.T) {
		o := k.place(basket{})
		gatewayOrder := k.open(o)
		b.get(orderPath(o, "/cancel")).is(200).says("cancel-amount", "Nothing has been paid")
		b.post(orderPath(o, "/cancel"), "reason", "cannot deliver there today", "confirm", "yes").is(303)
		paymentID := k.pay(o, gatewayOrder)
		page := b.get(orderPath(o, "")).is(200)
		page.says("payment", paymentID, "goes back")
		page.says("refund-row", "auto")
		if n := k.count(`SELECT count(*) FROM fulfilments WHERE order_id = $1`, o.ID); n != 0 {
			t.Error("it has a ticket")
		}
	})

	k.run(t, "too_late_once_handed_over", func(t *testing.T) {
		o := k.paid(basket{})
		for _, step := range [][2]string{{"queued", "accepted"}, {"accepted", "preparing"}, {"preparing", "ready"}, {"ready", "handed_over"}} {
			b.press(orderPath(o, "/move"), "from", step[0], "to", step[1]).is(200)
		}
		before := k.rows()
		b.get(orderPath(o, "/cancel")).is(409).says("conflict", "has been handed over")
		b.post(orderPath(o, "/cancel"), "reason", "no gas", "confirm", "yes").is(409).says("conflict", "has been handed over")
		k.unchanged(before)
	})

	k.run(t, "an_expired_one_stays_expired", func(t *testing.T) {
		o := k.place(basket{})
		k.exec(`UPDATE orders SET hold_expires_at = shop_now() - interval '11 minutes' WHERE id = $1`, o.ID)
		must(t, k.store.LapseOrder(t.Context(), o.ID))
		b.post(orderPath(o, "/cancel"), "reason", "no gas", "confirm", "yes").is(409).says("conflict", "has expired")
	})

	k.run(t, "a_typed_reason_is_never_one_of_the_shops_own_words", func(t *testing.T) {
		for _, word := range []string{"superseded", "review", "kitchen_closed", "hold_lapsed"} {
			o := k.paid(basket{})
			b.post(orderPath(o, "/cancel"), "reason", word, "confirm", "yes").is(303)
			if got := k.word(`SELECT cancel_reason FROM orders WHERE id = $1`, o.ID); got == word {
				t.Errorf("stored reason = %q, which means something to the code", got)
			}
		}
	})
	k.intact()
}
