package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// letter is the text of the sent letter whose name has this in it.
func (o *office) letter(kind string) string {
	o.t.Helper()
	found, err := filepath.Glob(filepath.Join(o.dir, "*"+kind+"*.eml"))
	must(o.t, err)
	if len(found) != 1 {
		o.t.Fatalf("%d letters %s: %v", len(found), kind, o.sent())
	}
	text, err := os.ReadFile(found[0])
	must(o.t, err)
	return strings.ReplaceAll(strings.ReplaceAll(string(text), "=\r\n", ""), "=\n", "")
}

// Every letter about a complaint goes out once: received with its number, answered, resolved; its clocks open a task by the timetable's job;
// who complained is never asked for a review, and who did not is asked once.
func TestCareLetters(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	ctx := t.Context()
	asha, err := o.store.CreateStaff(ctx, models.Staff{Login: "asha", Name: "Asha", Role: "owner"}, "a long password of hers")
	must(t, err)
	complete := func() models.Order {
		t.Helper()
		placed, p := o.paid()
		o.told(p.ID)
		for o.text(`SELECT status FROM orders WHERE id = $1`, placed.ID) != models.OrderPaid {
			must(t, o.cashier.ProcessEvent(ctx, o.count(`SELECT min(id) FROM webhook_events WHERE status = 'received'`)))
		}
		for was := models.TicketQueued; was != models.TicketHandedOver; was = models.FulfilmentNext(was) {
			_, err := o.store.MoveFulfilment(ctx, placed.ID, was, models.FulfilmentNext(was), asha)
			must(t, err)
		}
		order, err := o.store.FindOrder(ctx, placed.ID)
		must(t, err)
		return order
	}
	first := complete()
	o.exec(`UPDATE outlets SET asks_reviews = true, grievance_name = 'Meera Iyer', grievance_contact = 'care@kesar.example'`)
	c, _, err := o.store.OpenComplaint(ctx, first, models.NewComplaint{Kind: models.ComplaintPayment, Body: "Charged twice?", FormKey: models.NewFormKey()})
	must(t, err)

	o.advance(48*time.Hour + time.Minute)
	o.exec(`UPDATE fulfilments SET handed_over_at = shop_now() - interval '4 hours'`) // as if today
	o.work()
	o.await("the clock is an alarm", func() bool {
		return o.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'complaint_late' AND closed_at IS NULL`) == 1
	})
	must(t, o.store.AnswerComplaint(ctx, c.ID, asha, "We look into it.\nToday.", models.NewFormKey()))
	c, err = o.store.FindComplaint(ctx, first.ID, c.Number)
	must(t, err)
	must(t, o.store.ResolveComplaint(ctx, c.ID, asha, models.OutcomeExplained, "One was only held.", models.NewFormKey(), c.LastID()))
	o.await("three letters", func() bool {
		return o.count(`SELECT count(*) FROM outbox WHERE kind LIKE 'complaint%' AND status = 'sent'`) == 3
	})
	o.drained()
	if n := o.count(`SELECT count(*) FROM outbox WHERE kind = 'review_wanted'`); n != 0 {
		t.Errorf("%d letters ask somebody who complained for a review", n)
	}
	link := "https://kesarkitchen.example/orders/" + first.Token + "/complaints/" + c.Number
	payment := o.text(`SELECT razorpay_payment_id FROM payments`)
	for kind, words := range map[string][]string{
		"complaint-received": {c.SpokenNumber(), "We answer by", "Meera Iyer, care@kesar.example", payment, link},
		"complaint-answered": {c.SpokenNumber(), "We look into it.", "Today.", link},
		"complaint-resolved": {c.SpokenNumber(), "is settled", "One was only held.", payment, "open once more"},
	} {
		text := o.letter(kind)
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s lacks %q:\n%s", kind, word, text)
			}
		}
	}

	// Somebody else is asked, once; and not if they complain before the letter leaves.
	second := complete()
	o.exec(`UPDATE orders SET email = 'kavya@example.in' WHERE id = $1`, second.ID)
	o.exec(`UPDATE fulfilments SET handed_over_at = shop_now() - interval '4 hours' WHERE order_id = $1`, second.ID)
	for range 2 {
		_, err = o.store.AskReviews(ctx)
		must(t, err)
	}
	o.await("asked", func() bool {
		return o.count(`SELECT count(*) FROM outbox WHERE kind = 'review_wanted' AND status = 'sent'`) == 1
	})
	o.drained()
	if text := o.letter("review-wanted"); !strings.Contains(text, "/orders/"+second.Token+"/review") || !strings.Contains(text, "only time we ask") {
		t.Error(text)
	}
	if n := o.count(`SELECT count(*) FROM outbox WHERE kind = 'review_wanted'`); n != 1 {
		t.Errorf("%d letters", n)
	}
	o.exec(`UPDATE outbox SET status = 'queued', sent_at = NULL WHERE kind = 'review_wanted'`)
	second, err = o.store.FindOrder(ctx, second.ID)
	must(t, err)
	_, _, err = o.store.OpenComplaint(ctx, second, models.NewComplaint{Kind: models.ComplaintLate, Body: "Cold", FormKey: models.NewFormKey()})
	must(t, err)
	must(t, sendLetter(ctx, o.store, o.letters, o.count(`SELECT id FROM outbox WHERE kind = 'review_wanted'`)))
	if got := o.text(`SELECT status FROM outbox WHERE kind = 'review_wanted'`); got != "skipped" {
		t.Errorf("the letter to somebody who complained is %s", got)
	}
	o.drained()
	o.kept()
}

// What people said in a complaint goes with the nightly purge, two years after it was settled.
func TestPurgeForgetsComplaints(t *testing.T) {
	t.Parallel()
	o := openOffice(t, standin.Options{})
	ctx := t.Context()
	placed, _ := o.order()
	asha, err := o.store.CreateStaff(ctx, models.Staff{Login: "asha", Name: "Asha", Role: "owner"}, "a long password of hers")
	must(t, err)
	c, _, err := o.store.OpenComplaint(ctx, *placed, models.NewComplaint{Kind: models.ComplaintOther, Body: "It is I, Ananya", FormKey: models.NewFormKey()})
	must(t, err)
	must(t, o.store.ResolveComplaint(ctx, c.ID, asha, models.OutcomeExplained, "Hello Ananya", models.NewFormKey(), c.LastID()))
	o.advance((models.CareDays + 1) * 24 * time.Hour)
	_, err = purge(ctx, o.store, o.cashier)
	must(t, err)
	if got := o.text(`SELECT count(*) || ' ' || string_agg(body, '') FROM complaint_messages`); got != "2 " {
		t.Errorf("kept: %s", got)
	}
}
