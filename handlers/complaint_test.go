package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
)

// formKeyOf is the key of the page's form with this data-testid.
func (a answer) formKeyOf(testid string) string {
	a.t.Helper()
	for _, form := range a.all("form", "data-testid", testid) {
		for n := range form.Descendants() {
			if attribute(n, "name") == "form_key" {
				return attribute(n, "value")
			}
		}
	}
	a.t.Fatalf("no form %s on %s", testid, a.what)
	return ""
}

// done takes an order's ticket to its end.
func (k *kitchen) done(o models.Order, by models.Staff) {
	k.t.Helper()
	for was := models.TicketQueued; was != models.TicketHandedOver; was = models.FulfilmentNext(was) {
		_, err := k.store.MoveFulfilment(k.t.Context(), o.ID, was, models.FulfilmentNext(was), by)
		must(k.t, err)
	}
}

// A customer complains by the order's link, staff answer and resolve it, and both see what was said; what is refused keeps what was typed.
func TestComplaintPages(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	k.exec(`UPDATE outlets SET grievance_name = 'Meera Iyer, owner', grievance_contact = 'care@kesar.example'`)
	asha, cook := k.staff("asha", "Asha", "manager", k.outlet.ID), k.staff("chhotu", "Chhotu", "kitchen", k.outlet.ID)
	o := k.paid(basket{})
	path := "/orders/" + o.Token + "/complaints"
	guest := k.browser()
	guest.get("/orders/"+o.Token).is(200).says("care", "Is something wrong?", "Make a complaint")
	form := guest.get(path).is(200).says("care-rights", "within 48 hours", "within a month", "Meera Iyer, owner, care@kesar.example")
	key := form.formKeyOf("complaint-form")
	var number string

	k.run(t, "what is not filled in is 422, and kept", func(*testing.T) {
		a := guest.post(path, "form_key", key, "line", "1", "body", "Nothing <b>came</b>").is(422).says("error-kind", "Please choose")
		if !strings.Contains(a.body, "Nothing &lt;b&gt;came&lt;/b&gt;</textarea>") || a.formKeyOf("complaint-form") != key {
			t.Error("what was typed is lost")
		}
		guest.post(path, "form_key", key, "kind", "missing", "body", "  ").is(422).says("error-body", "few words")
		guest.post(path, "form_key", key, "kind", "missing", "body", strings.Repeat("x", models.MaxComplaintText+1)).is(422).says("error-body", "2000")
	})
	k.run(t, "what our page cannot send is 400", func(*testing.T) {
		for _, bad := range [][]string{{"form_key", key, "kind", "rude", "body", "x"}, {"form_key", "short", "kind", "late", "body", "x"}, {"form_key", key, "kind", "late", "body", "x", "line", "9"},
			{"form_key", key, "kind", "late", "body", "x", "price", "1"}} {
			guest.post(path, bad...).is(400)
		}
		if n := k.count(`SELECT count(*) FROM complaints`); n != 0 {
			t.Errorf("%d complaints", n)
		}
	})
	k.run(t, "a stale form writes nothing and keeps what was typed", func(*testing.T) {
		a := guest.send(path, nil, csrfField, "old", "form_key", key, "kind", "missing", "body", "No raita").is(403).says("conflict", "open for too long")
		if !strings.Contains(a.body, "No raita</textarea>") || k.count(`SELECT count(*) FROM complaints`) != 0 {
			t.Error("lost, or done")
		}
	})
	k.run(t, "two presses at once make one complaint and lead to it", func(*testing.T) {
		press := func() answer {
			return guest.post(path, "form_key", key, "kind", "missing", "line", "1", "body", "No raita")
		}
		answers, statuses := atOnce(t, press, press, press)
		if statuses[303] != 3 || k.count(`SELECT count(*) FROM complaints`) != 1 || k.count(`SELECT count(*) FROM outbox WHERE kind = 'complaint_received'`) != 1 {
			t.Fatalf("%v", statuses)
		}
		number = k.word(`SELECT number FROM complaints`)
		for _, a := range answers {
			a.leads(path + "/" + number)
		}
	})
	mine := path + "/" + number
	spoken := number[:3] + "-" + number[3:]
	k.run(t, "a second form of the kind shows the first, with what was typed", func(*testing.T) {
		second := guest.get(path).is(200).says("complaint-row", spoken).formKeyOf("complaint-form")
		a := guest.post(path, "form_key", second, "kind", "missing", "body", "And no papad").is(409).says("conflict", "open already").says("complaint-number", spoken)
		if !strings.Contains(a.body, "And no papad</textarea>") {
			t.Error("what was typed is lost")
		}
		guest.post(mine, "form_key", a.formKeyOf("message-form"), "body", "And no papad").is(303).leads(mine)
	})
	k.run(t, "the page says number, clocks and what was said", func(*testing.T) {
		a := guest.get(mine).is(200).says("complaint-number", spoken).says("complaint-state", "Received").says("complaint-next", "We answer by").says("complaint-dish", "2 × Dal Makhani")
		if got := a.texts("message"); len(got) != 2 || !strings.Contains(got[0], "You") || !strings.Contains(got[0], "No raita") || !strings.Contains(got[1], "And no papad") {
			t.Errorf("%q", got)
		}
		if a.header.Get("X-Robots-Tag") != "noindex" {
			t.Error("a search engine may keep it")
		}
		guest.get("/orders/"+o.Token).is(200).says("complaint-row", spoken, "Received")
		other := k.paid(basket{})
		for _, wrong := range []string{"/orders/" + other.Token + "/complaints/" + number, path + "/1234567", path + "/" + strings.Repeat("9", 500), "/orders/" + strings.Repeat("A", 26) + "/complaints"} {
			guest.get(wrong).is(404)
		}
	})

	id := k.count(`SELECT id FROM complaints`)
	desk := fmt.Sprintf("/staff/tickets/%d", id)
	staff, kitchenHand := k.signedIn(asha), k.signedIn(cook)
	k.run(t, "staff see it in the list of what is to do, by its clock", func(*testing.T) {
		staff.get("/staff/attention").is(200).says("task", "A customer complains", "Complaint "+spoken, "Open the complaint")
		staff.get("/staff/tickets").is(200).says("ticket-row", spoken, "Acknowledge it by")
		staff.get(orderPath(o, "")).is(200).says("order-tickets", spoken, "Something is missing")
		staff.get(desk).is(200).says("clock", "Acknowledge it by", "left").says("message", "No raita").says("complaint-money", "has reached us and pays this order").says("to-refund", "Give money back")
	})
	k.run(t, "a cook reads it and answers nothing", func(*testing.T) {
		a := kitchenHand.get(desk).is(200)
		if len(a.all("form", "data-testid", "answer-form"))+len(a.all("a", "data-testid", "to-refund")) != 0 {
			t.Error("a cook may answer")
		}
		kitchenHand.post(desk + "/acknowledge").is(403)
		kitchenHand.post(desk+"/answer", "form_key", key, "answer", "x").is(403)
	})
	k.run(t, "another outlet's staff find nothing", func(*testing.T) {
		there := k.secondOutlet()
		otto := k.signedIn(k.staff("otto", "Otto", "owner", there.ID))
		otto.get(desk).is(404)
		otto.post(desk + "/acknowledge").is(404)
		k.exec(`UPDATE outlets SET active = false WHERE id = $1`, there.ID)
	})
	k.run(t, "acknowledged, answered, and once each", func(*testing.T) {
		staff.post(desk + "/acknowledge").is(303).leads(desk)
		staff.post(desk + "/acknowledge").is(303).leads(desk)
		a := staff.get(desk).is(200).says("clock", "Resolve it by")
		staff.post(desk+"/answer", "form_key", a.formKeyOf("answer-form"), "answer", " ").is(422).says("error-answer", "few words")
		answerKey := a.formKeyOf("answer-form")
		press := func() answer {
			return staff.post(desk+"/answer", "form_key", answerKey, "answer", "So sorry, it is on its way.")
		}
		if _, statuses := atOnce(t, press, press); statuses[303] != 2 || k.count(`SELECT count(*) FROM outbox WHERE kind = 'complaint_answered'`) != 1 {
			t.Errorf("%v", statuses)
		}
		a = guest.get(mine).is(200).says("complaint-state", "Being looked into")
		if got := a.texts("message"); len(got) != 3 || !strings.Contains(got[2], "The restaurant") || strings.Contains(a.body, "Asha") {
			t.Errorf("%q", got)
		}
	})
	k.run(t, "resolving needs a refund to say so, and to have read everything", func(*testing.T) {
		a := staff.get(desk).is(200)
		seen := attribute(a.all("input", "name", "seen")[0], "value")
		endKey := a.formKeyOf("resolve-form")
		staff.post(desk+"/resolve", "form_key", endKey, "seen", seen, "body", "Done").is(422).says("error-outcome", "Please choose")
		staff.post(desk+"/resolve", "form_key", endKey, "seen", seen, "outcome", "refunded", "body", "Done").is(422).says("error-outcome", "Give the money back first")
		guest.post(mine, "form_key", guest.get(mine).formKeyOf("message-form"), "body", "It is here, thanks").is(303)
		a = staff.post(desk+"/resolve", "form_key", endKey, "seen", seen, "outcome", "made_good", "body", "Brought at 8").is(409).says("conflict", "written meanwhile")
		if !strings.Contains(a.body, "Brought at 8</textarea>") {
			t.Error("what was typed is lost")
		}
		seen = attribute(a.all("input", "name", "seen")[0], "value")
		press := func() answer {
			return staff.post(desk+"/resolve", "form_key", endKey, "seen", seen, "outcome", "made_good", "body", "Brought at 8")
		}
		if _, statuses := atOnce(t, press, press); statuses[303] != 2 || k.count(`SELECT count(*) FROM outbox WHERE kind = 'complaint_resolved'`) != 1 {
			t.Errorf("%v", statuses)
		}
		staff.get("/staff/attention").is(200).says("attention-empty", "Nothing waits")
		guest.get(mine).is(200).says("complaint-state", "Settled").says("complaint-next", "Made good")
		staff.post(desk+"/answer", "form_key", models.NewFormKey(), "answer", "One thing more").is(409).says("conflict", "resolved this complaint").says("not-sent", "One thing more")
	})
	k.run(t, "the customer writes again: it is open again", func(*testing.T) {
		guest.post(mine, "form_key", guest.get(mine).formKeyOf("message-form"), "body", "It was cold").is(303).leads(mine)
		guest.get(mine).is(200).says("complaint-state", "Received")
		staff.get("/staff/attention").is(200).says("task", "A customer complains")
		if n := k.count(`SELECT count(*) FROM outbox WHERE kind = 'complaint_received'`); n != 1 {
			t.Errorf("%d letters of receipt", n)
		}
	})
	k.intact()
}

// A complaint about money says where the money is, with the numbers a bank finds it by.
func TestComplaintAboutMoney(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "manager", k.outlet.ID)
	o := k.paid(basket{})
	payment := k.word(`SELECT razorpay_payment_id FROM payments`)
	_, err := k.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(asha.ID), "No gas")
	must(t, err)
	refund := k.word(`SELECT id::text FROM refunds`)
	must(t, k.cashier.SendRefund(t.Context(), refund))
	k.exec(`UPDATE refunds SET bank_reference = '533210987654'`)
	guest := k.browser()
	path := "/orders/" + o.Token + "/complaints"
	guest.post(path, "form_key", guest.get(path).formKeyOf("complaint-form"), "kind", "payment", "body", "Where is my money?").is(303)
	razorpayID := k.word(`SELECT razorpay_refund_id FROM refunds`)
	a := guest.get(path+"/"+k.word(`SELECT number FROM complaints`)).is(200).says("complaint-money", payment, "A refund of ", razorpayID, "533210987654", "RRN or ARN")
	if strings.Contains(a.body, "goes back to you") && strings.Contains(a.body, "does not") {
		t.Error("two stories")
	}

	// An order that was never paid: only its money can be complained about, and no letter goes to its address.
	pending := k.place(basket{})
	path = "/orders/" + pending.Token + "/complaints"
	form := guest.get(path).is(200)
	if n := len(form.all("input", "name", "kind")); n != 2 {
		t.Errorf("%d kinds", n)
	}
	guest.post(path, "form_key", form.formKeyOf("complaint-form"), "kind", "missing", "body", "x").is(400)
	guest.post(path, "form_key", form.formKeyOf("complaint-form"), "kind", "payment", "body", "I paid").is(303)
	guest.get(path+"/"+k.word(`SELECT number FROM complaints WHERE order_id = $1`, pending.ID)).is(200).says("complaint-money", "No payment for this order has reached us.")
	if got := k.word(`SELECT status FROM outbox WHERE kind = 'complaint_received' AND order_id = $1`, pending.ID); got != "skipped" {
		t.Errorf("a letter of an unpaid order is %s", got)
	}
	k.exec(`UPDATE complaint_messages SET body = '', blanked_at = shop_now()`)
	guest.get(path+"/"+k.word(`SELECT number FROM complaints WHERE order_id = $1`, pending.ID)).is(200).says("message", "deleted")

	// As much as is taken, and a sentence.
	mine := path + "/" + k.word(`SELECT number FROM complaints WHERE order_id = $1`, pending.ID)
	k.exec(`INSERT INTO complaint_messages (complaint_id, author, body, form_key) SELECT id, 'customer', 'x', 'key of many words ' || n FROM complaints, generate_series(1, 20) n WHERE order_id = $1`, pending.ID)
	a = guest.post(mine, "form_key", guest.get(mine).formKeyOf("message-form"), "body", "Too much").is(429).says("conflict", "call us")
	if !strings.Contains(a.body, "Too much</textarea>") {
		t.Error("what was typed is lost")
	}
}
