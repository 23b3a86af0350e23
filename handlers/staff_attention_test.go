package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/views"
)

func TestAttention(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	o := k.paid(basket{})
	asha, ravi := k.staff("asha", "Asha", "manager", k.outlet.ID), k.staff("ravi", "Ravi", "owner", 0)
	b, other := k.signedIn(asha), k.signedIn(ravi)
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))

	b.get("/staff/attention").is(200).says("attention-empty", "Nothing waits")
	if got := b.get("/staff").texts("attention"); len(got) != 0 {
		t.Errorf("the board says %q while nothing waits", got)
	}
	payment := k.count(`SELECT id FROM payments WHERE order_id = $1`, o.ID)
	must(t, k.store.OpenTask(t.Context(), models.TaskRefundFailed, "r1", &o.ID, `Refund of 100 paise failed: <b>bank</b>`))
	must(t, k.store.OpenTask(t.Context(), models.TaskBadSignature, "hooks", nil, "The webhook secret may differ"))
	seen := k.count(`SELECT id FROM staff_tasks WHERE ref = 'hooks'`)
	failed := k.count(`SELECT id FROM staff_tasks WHERE ref = 'r1'`)

	k.run(t, "stands_above_the_board_and_on_its_page", func(t *testing.T) {
		for _, path := range []string{"/staff", "/staff/board"} {
			b.get(path).is(200).says("attention", "A refund failed", "<b>bank</b>", "See the order").says("attention", "wrong signature")
		}
		page := b.get("/staff/attention").is(200).says("task", "A refund failed", "Refund of 100 paise failed: <b>bank</b>", "Send the refund again").says("task", "wrong signature", "Seen")
		if n := len(page.all("a", "href", orderPath(o, ""))); n != 1 {
			t.Errorf("%d links to the order, want one", n)
		}
		if n := len(page.all("", "data-testid", "act")); n != 2 {
			t.Errorf("%d actions for 2 tasks", n)
		}
	})

	k.run(t, "a_cook_sees_what_is_about_orders_and_closes_nothing", func(t *testing.T) {
		page := cook.get("/staff/attention").is(200).says("task", "A refund failed")
		if strings.Contains(page.body, "wrong signature") || len(page.all("form", "method", "post")) != 1 { // logging out
			t.Errorf("a cook's list:\n%s", page.body)
		}
		cook.post(fmt.Sprintf("/staff/attention/%d/close", seen)).is(403)
		cook.post(fmt.Sprintf("/staff/attention/%d/retry", seen)).is(403)
	})

	k.run(t, "is_closed_once_and_by_whom_is_written_down", func(t *testing.T) {
		b.post(fmt.Sprintf("/staff/attention/%d/close", seen), "reason", "x").is(400)
		b.post(fmt.Sprintf("/staff/attention/%d/close", seen)).is(303).leads("/staff/attention?done=closed")
		if page := b.get("/staff/attention?done=closed").is(200).says("notice", "Taken off"); len(page.texts("task")) != 1 {
			t.Errorf("tasks = %q, want one left", page.texts("task"))
		}
		other.post(fmt.Sprintf("/staff/attention/%d/close", seen)).is(404).says("notice", "not on your list any more")
		other.post(fmt.Sprintf("/staff/attention/%d/retry", seen)).is(404)
		if n := k.count(`SELECT count(*) FROM staff_tasks WHERE id = $1 AND closed_by = $2`, seen, asha.ID); n != 1 {
			t.Error("it is not closed by who closed it")
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE action = 'close_task' AND actor = $1`, models.StaffActor(asha.ID)); n != 1 {
			t.Errorf("%d closings in the audit, want one", n)
		}
		b.post("/staff/attention/0/close").is(404)
	})

	k.run(t, "what_is_over_only_when_its_cause_is_cannot_be_waved_away", func(t *testing.T) {
		b.post(fmt.Sprintf("/staff/attention/%d/close", failed)).is(409)
		if n := k.count(`SELECT count(*) FROM staff_tasks WHERE closed_at IS NULL`); n != 1 {
			t.Errorf("%d open", n)
		}
	})

	k.run(t, "is_tried_again_with_a_press", func(t *testing.T) {
		k.exec(`INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, status, alerted_at) VALUES ('razorpay', 'evt1', '', 'payment.captured', 'dead', shop_now())`)
		must(t, k.store.OpenTask(t.Context(), models.TaskDeadEvent, "evt1", &o.ID, "Webhook payment.captured could not be processed"))
		b.get("/staff/attention").is(200).says("task", "Webhook payment.captured could not be processed", "Try the event again", fmt.Sprintf("Order %d", o.Number))
		b.post(fmt.Sprintf("/staff/attention/%d/retry", k.count(`SELECT max(id) FROM staff_tasks`))).is(303).leads("/staff/attention?done=retried")
		b.get("/staff/attention?done=retried").is(200).says("notice", "Trying again")
		if n := k.count(`SELECT count(*) FROM webhook_events WHERE status = 'received'`); n != 1 {
			t.Error("the event is not taken up again")
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE action = 'retry_task' AND actor = $1 AND order_id = $2`, models.StaffActor(asha.ID), o.ID); n != 1 {
			t.Errorf("%d lines in the audit", n)
		}
	})

	k.run(t, "a_dispute_stands_first_with_its_deadline_and_on_its_order", func(t *testing.T) {
		due := atNoon().AddDate(0, 0, 6)
		must(t, k.store.InTx(t.Context(), func(tx *models.Store) error {
			return tx.RecordDispute(t.Context(), models.Dispute{RazorpayDisputeID: "disp_TstAbCdEf00001", PaymentID: payment, OrderID: o.ID, AmountPaise: o.AmountPaise, Currency: "INR", Status: "open", RespondBy: &due, ReasonCode: "not_received"})
		}))
		page := b.get("/staff/attention").is(200)
		if first := page.texts("task")[0]; !strings.Contains(first, "A bank asks "+views.Rupees(o.AmountPaise)) || !strings.Contains(first, "by "+views.When(context.Background(), due, atNoon())) || !strings.Contains(first, "5 days left") {
			t.Errorf("first is %q", first)
		}
		b.get(orderPath(o, "")).is(200).says("dispute-row", "disp_TstAbCdEf00001", "open", "not received", "by "+views.When(context.Background(), due, atNoon()), views.Rupees(o.AmountPaise)).says("history-row", "dispute open")
		b.get(orderPath(o, "/timeline")).is(200).says("timeline-entry", "Dispute open", "disp_TstAbCdEf00001", "answer by "+views.Date(context.Background(), due))
	})

	k.run(t, "many_are_counted_on_the_board", func(t *testing.T) {
		for i := range 8 {
			must(t, k.store.OpenTask(t.Context(), models.TaskOverdue, fmt.Sprint(i), &o.ID, "it is late"))
		}
		if got := b.get("/staff").texts("attention"); len(got) != maxAttention+1 || !strings.Contains(got[maxAttention], "5 more things to do") {
			t.Errorf("attention = %q, want %d and a count of the rest", got, maxAttention)
		}
		if got := b.get("/staff/attention").texts("task"); len(got) != 10 {
			t.Errorf("%d tasks on their page, want 10", len(got))
		}
	})

	k.run(t, "a_failed_refund_is_sent_again", func(t *testing.T) {
		returned := k.paid(basket{})
		_, err := k.cashier.CancelOrder(t.Context(), returned.ID, models.StaffActor(asha.ID), "No gas")
		must(t, err)
		refund := k.word(`SELECT id::text FROM refunds WHERE order_id = $1`, returned.ID)
		must(t, k.store.InTx(t.Context(), func(tx *models.Store) error {
			return tx.RefuseRefund(t.Context(), returned, refund, "blocked by a dispute", false)
		}))
		b.get("/staff/attention").is(200).says("task", "has not got "+views.Rupees(returned.AmountPaise)+" back", "blocked by a dispute", "Send the refund again", fmt.Sprintf("Order %d", returned.Number))
		task := k.count(`SELECT id FROM staff_tasks WHERE ref = $1`, refund)
		b.post(fmt.Sprintf("/staff/attention/%d/retry", task)).is(303).leads("/staff/attention?done=retried")
		b.post(fmt.Sprintf("/staff/attention/%d/retry", task)).is(404)
		if n := k.count(`SELECT count(*) FROM refunds WHERE retry_of = $1::uuid AND status = 'requested'`, refund); n != 1 {
			t.Errorf("%d successors", n)
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE action = 'retry_refund' AND actor = $1 AND order_id = $2`, models.StaffActor(asha.ID), returned.ID); n != 1 {
			t.Errorf("%d lines in the audit", n)
		}
	})
}

// Silence of the webhooks is said where machines look, too.
func TestSilenceIsToldToMachines(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.paid()
	if body := b.get("/readyz").is(200).body; body != "ready\n" {
		t.Errorf("readyz says %q", body)
	}
	s.exec(`DELETE FROM webhook_events`)
	s.setClock(toNoon + 61*time.Minute)
	_, err := s.store.RefreshTasks(t.Context())
	must(t, err)
	if body := b.get("/readyz").is(200).body; body != "ready\nno webhook has ever come\n" {
		t.Errorf("readyz says %q", body)
	}
	s.exec(`INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, received_at) VALUES ('razorpay', 'evt1', '', 'x', '2026-11-30T06:30:00Z')`)
	if body := b.get("/readyz").is(200).body; body != "ready\nno webhook since 2026-11-30T06:30:00Z\n" {
		t.Errorf("readyz says %q", body)
	}
	got := map[string]float64{}
	families, err := s.app.deps.Registry.Gather()
	must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tiffin_open_tasks" {
				got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			} else if f.GetName() == "tiffin_last_webhook_timestamp_seconds" {
				got["last"] = m.GetGauge().GetValue()
			}
		}
	}
	if len(got) != len(models.TaskKinds)+1 || got[models.TaskSilence] != 1 || got[models.TaskDispute] != 0 || got["last"] != 1796020200 {
		t.Errorf("metrics %v", got)
	}
}
