//go:build e2e

package main

import (
	"strconv"
	"testing"

	"tiffin/models"
)

// TestBrowserComplaintAndReview: on a phone, a customer whose raita is missing complains by the order's link, a manager without script reads
// it, answers and resolves it, and the customer sees both; then the customer reviews the order and everybody can read it. Every screen is
// for everybody.
func TestBrowserComplaintAndReview(t *testing.T) {
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	w.hire("meera")
	check := newChecker(t)
	w.exec(`UPDATE outlets SET grievance_name = 'Meera Iyer, owner', grievance_contact = 'care@kesarkitchen.example'`)

	c := browse(t, "the customer", base, phone)
	c.prefer("light")
	c.expect("status of 422")
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
	f := w.facts(token)
	for was := models.TicketQueued; was != models.TicketHandedOver; was = models.FulfilmentNext(was) {
		w.move(f.id, was, models.FulfilmentNext(was))
	}
	c.is(id("order"), "data-state", "handed_over")
	c.says(id("care"), "How was it?")
	check.look(c, "order-done")

	// The complaint.
	c.press(id("to-complaint"))
	c.see(id("complaint-form"))
	check.look(c, "complaint-new")
	c.press(`label:has(` + id("kind-missing") + `)`)
	c.press(`label:has(` + id("line-2") + `)`)
	c.fill(id("field-body"), "The palak paneer is not in the bag.")
	c.pressTwice(id("complain"))
	c.see(id("complaint"))
	c.says(id("complaint-state"), "Received")
	c.says(id("complaint-dish"), "1 × Palak Paneer")
	number := c.text(id("complaint-number"))
	if n := w.count(`SELECT count(*) FROM complaints`); n != 1 || len(number) != 8 {
		t.Errorf("%d complaints, number %q", n, number)
	}
	check.look(c, "complaint")

	// The manager.
	s := browse(t, "the manager", base, phone)
	s.prefer("light")
	s.expect("status of 422")
	s.withoutScript()
	s.open("/staff/login")
	s.fill(id("field-login"), "meera")
	s.fill(id("field-password"), staffPassword)
	s.press(id("login"))
	s.see(id("board"))
	s.open("/staff/attention")
	s.says(id("task"), "Complaint "+number)
	s.press(id("act"))
	s.see(id("staff-ticket"))
	s.says(id("clock"), "Acknowledge it by")
	s.fill(id("field-answer"), "So sorry! It is on its way.")
	s.press(id("answer"))
	s.says(id("clock"), "Resolve it by")
	desk := "/staff/tickets/" + strconv.FormatInt(w.count(`SELECT id FROM complaints`), 10)
	s.at(desk)
	c.reload()
	c.says(id("complaint-state"), "Being looked into")
	c.says(id("message")+":last-of-type", "It is on its way.")

	s.fill(id("field-body"), "Brought at 8.")
	s.press(`label:has(` + id("outcome-refunded") + `)`)
	s.press(id("resolve"))
	s.says(id("error-outcome"), "Give the money back first")
	s.press(`label:has(` + id("outcome-made_good") + `)`)
	s.press(id("resolve"))
	s.is(id("staff-ticket"), "data-status", "resolved")
	c.reload()
	c.says(id("complaint-state"), "Settled")
	c.says(id("complaint-next"), "Made good")
	c.fill(id("field-body"), "It came, but cold.")
	c.press(id("send"))
	c.says(id("complaint-state"), "Received")

	// The review.
	c.open("/orders/" + token)
	c.says(id("complaint-row"), number)
	c.press(id("rate-4"))
	c.see(id("review-form"))
	check.look(c, "review")
	c.fill(id("field-body"), "Very good dal.")
	c.pressTwice(id("save-review"))
	c.says(id("review"), "Very good dal.")
	check.look(c, "order-cared-for")
	if n := w.count(`SELECT count(*) FROM reviews WHERE stars = 4`); n != 1 {
		t.Errorf("%d reviews", n)
	}
	c.open("/reviews")
	c.says(id("reviews"), "Very good dal.")
	check.look(c, "reviews")

	// The staff's screens, with script, as a manager has them.
	d := w.desk(base)
	for _, page := range []struct{ path, see, name string }{{desk, "staff-ticket", "staff-ticket"}, {"/staff/tickets", "tickets", "staff-tickets"}, {"/staff/reviews", "staff-reviews", "staff-reviews"}} {
		d.open(page.path)
		d.see(id(page.see))
		check.look(d, page.name)
	}
}

// desk is a browser that is signed in already as the manager hired before.
func (w *town) desk(base string) *tab {
	w.t.Helper()
	b := browse(w.t, "the desk", base, desk)
	b.prefer("light")
	b.open("/staff/login")
	b.fill(id("field-login"), "meera")
	b.fill(id("field-password"), staffPassword)
	b.press(id("login"))
	b.see(id("board"))
	return b
}
