package views

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"tiffin/models"
)

func ticketOf(t *testing.T, root *html.Node, number string) *html.Node {
	t.Helper()
	found := all(root, func(n *html.Node) bool { return attr(n, "data-testid") == "ticket" && attr(n, "data-number") == number })
	if len(found) != 1 {
		t.Fatalf("%d tickets %s", len(found), number)
	}
	return found[0]
}

func TestBoardColumns(t *testing.T) {
	root := parse(t, render(t, BoardPage(sampleBoardView())))
	for status, want := range map[string]string{models.TicketQueued: "1051 1050", models.TicketAccepted: "1049", models.TicketPreparing: "1047 1044", models.TicketReady: "1043"} {
		var numbers []string
		for _, n := range byTestID(mustFind(t, root, "column-"+status), "ticket") {
			numbers = append(numbers, attr(n, "data-number"))
		}
		if strings.Join(numbers, " ") != want {
			t.Errorf("%s: %v, want %s", status, numbers, want)
		}
	}
	title := all(root, func(n *html.Node) bool { return n.Data == "title" })
	if textOf(title[0]) != "(2) Orders · Kesar Kitchen" {
		t.Errorf("title %q", textOf(title[0]))
	}
}

// TestTicket: everything a cook needs is on the card, notes uncut, and one button moves it on from the state the cook saw.
func TestTicket(t *testing.T) {
	root := parse(t, render(t, BoardPage(sampleBoardView())))
	first := ticketOf(t, root, "1051")
	for _, want := range []string{"2× Butter Chicken", "Full, serves 2 · Extra butter", "no onion – nut allergy 🥜", "No nuts please, allergy", "1 min", "Ananya", "₹1,359 paid"} {
		if !strings.Contains(textOf(first), want) {
			t.Errorf("the ticket does not say %q: %s", want, textOf(first))
		}
	}
	if strings.Contains(textOf(first), "98450") {
		t.Error("the board shows a phone number to the whole kitchen")
	}
	if attr(first, "data-say") != "New order 1051, delivery, 6 items." || !strings.Contains(attr(first, "class"), "new") {
		t.Errorf("said %q", attr(first, "data-say"))
	}
	for number, c := range map[string]struct{ label, from, to, age string }{
		"1051": {"Accept · 20 min", models.TicketQueued, models.TicketAccepted, "1 min"},
		"1050": {"Accept · 25 min", models.TicketQueued, models.TicketAccepted, "12 min"},
		"1049": {"Start cooking", models.TicketAccepted, models.TicketPreparing, "5 min"},
		"1044": {"Mark ready", models.TicketPreparing, models.TicketReady, "4 min late"},
		"1043": {"Hand to rider", models.TicketReady, models.TicketHandedOver, "30 min"},
	} {
		card := ticketOf(t, root, number)
		move := mustFind(t, card, "move")
		fields := map[string]string{}
		for _, n := range all(move.Parent, func(n *html.Node) bool { return n.Data == "input" }) {
			fields[attr(n, "name")] = attr(n, "value")
		}
		if textOf(move) != c.label || fields["from"] != c.from || fields["to"] != c.to || fields["_csrf"] == "" {
			t.Errorf("%s: button %q, %v", number, textOf(move), fields)
		}
		if !strings.Contains(textOf(card), c.age) {
			t.Errorf("%s: age is not %q: %s", number, c.age, textOf(card))
		}
		if attr(move.Parent, "action") != "/staff/orders/"+attr(card, "id")[len("ticket-"):]+"/move" {
			t.Errorf("%s: the button goes to %s", number, attr(move.Parent, "action"))
		}
	}
}

// Green below 60 % of the promised time, amber from there, red and the word late past it.
func TestUrgency(t *testing.T) {
	for _, c := range []struct {
		waited, left int
		class, text  string
	}{{0, 40, "", "0 min"}, {23, 17, "", "23 min"}, {24, 16, "mid", "24 min"}, {40, 0, "mid", "40 min"}, {41, -1, "late", "1 min late"}} {
		f := models.Fulfilment{QueuedAt: *at(-c.waited), PromisedAt: *at(c.left)}
		if u := urgencyOf(f, evening); u.class != c.class || u.text != c.text {
			t.Errorf("waited %d of %d: %q %q, want %q %q", c.waited, c.waited+c.left, u.class, u.text, c.class, c.text)
		}
	}
}

// A conflict is said: as a toast under htmx, inside the page without it. #toast stays one element either way.
func TestBoardSaysWhyNothingHappened(t *testing.T) {
	v := sampleBoardView()
	v.Notice = "Order 1051 was already refused."
	page := parse(t, render(t, BoardPage(v)))
	if got := firstText(page, "conflict"); got != v.Notice {
		t.Errorf("the page says %q", got)
	}
	fragment := parse(t, render(t, BoardColumns(v)))
	toast := all(fragment, func(n *html.Node) bool { return attr(n, "id") == "toast" })
	if len(toast) != 1 || attr(toast[0], "hx-swap-oob") != "innerHTML" || !strings.Contains(textOf(toast[0]), v.Notice) {
		t.Error("the fragment has no toast")
	}
	v.Undo = &Undo{OrderID: 1047, From: models.TicketReady, To: models.TicketPreparing}
	undo := mustFind(t, parse(t, render(t, BoardColumns(v))), "undo")
	if attr(undo.Parent, "action") != "/staff/orders/1047/move" {
		t.Errorf("undo goes to %q", attr(undo.Parent, "action"))
	}
}

func TestStaffOrderPage(t *testing.T) {
	v := sampleStaffOrderView()
	root := parse(t, render(t, StaffOrderPage(v)))
	for testid, want := range map[string][]string{
		"payment":     {"pay_TstAbCdEf00002", "captured", "pays this order", "₹1,359.00"},
		"refund-row":  {"rfnd_TstAbCdEf00003", "submitted", "₹1,359.00"},
		"event-row":   {"payment.captured", "evt_Tst0001", "processed"},
		"history-row": {"order pending", "customer"},
	} {
		for _, w := range want {
			if !strings.Contains(firstText(root, testid), w) {
				t.Errorf("%s does not say %q: %q", testid, w, firstText(root, testid))
			}
		}
	}
	if len(byTestID(root, "cancel-order")) != 0 {
		t.Error("a cancelled order can be cancelled")
	}
	paid := sampleOrderView(paidAnd(models.TicketPreparing))
	v.Order, v.Ticket, v.Refunds = paid.Order, paid.Ticket, nil
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "cancel-order")) != 1 {
		t.Error("an order in the kitchen cannot be cancelled")
	}
	v.Ticket.Status = models.TicketHandedOver
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "cancel-order")) != 0 {
		t.Error("an order that has left can be cancelled")
	}
}

// Cancelling names the amount and asks twice: a reason and a tick.
func TestStaffCancelNamesTheAmount(t *testing.T) {
	v := StaffCancelView{Page: samplePage(""), Order: sampleOrder(), RefundPaise: 135900, Reason: "No gas", Errors: map[string]string{"confirm": "Please tick the box."}}
	root := parse(t, render(t, StaffCancelPage(v)))
	form := mustFind(t, root, "cancel-form")
	for _, want := range []string{"All of ₹1,359.00 goes back to the customer", "Yes, cancel order 1047 and give ₹1,359.00 back", "Please tick the box."} {
		if !strings.Contains(textOf(form), want) {
			t.Errorf("the form does not say %q", want)
		}
	}
	if attr(mustFind(t, root, "field-reason"), "value") != "No gas" || !has(mustFind(t, root, "field-confirm"), "autofocus") {
		t.Error("the reason is lost or the focus is not on the box")
	}
	v.RefundPaise = 0
	if got := textOf(parse(t, render(t, StaffCancelPage(v)))); strings.Contains(got, "goes back to the customer") || !strings.Contains(got, "Nothing has been paid") {
		t.Error("an unpaid order promises a refund")
	}
}

// C053: money goes back after a review that names it, by a button that names it, with what was on its way before.
func TestStaffRefundNamesTheAmount(t *testing.T) {
	form := mustFind(t, parse(t, render(t, StaffRefundPage(sampleRefundView()))), "refund-form")
	for _, want := range []string{"₹1,259.00 of the ₹1,359.00 paid is still here", "Everything that is left, ₹1,259.00", "Packing, delivery and tip stay"} {
		if !strings.Contains(textOf(form), want) {
			t.Errorf("the form does not say %q: %s", want, textOf(form))
		}
	}
	first := mustFind(t, form, "piece-1")
	if chosen := all(first, func(n *html.Node) bool { return n.Data == "option" && has(n, "selected") }); len(chosen) != 1 || attr(chosen[0], "value") != "1" {
		t.Error("what was chosen is lost")
	}
	review := mustFind(t, parse(t, render(t, StaffRefundReviewPage(sampleRefundReview()))), "refund-review")
	if got := textOf(mustFind(t, review, "refund-yes")); got != "Give ₹252.53 back" {
		t.Errorf("the button says %q", got)
	}
	for part, want := range map[string]string{"share-food": "₹240.50", "share-cgst": "₹6.01", "share-sgst": "₹6.01", "share-round-off": "₹0.01", "share-total": "₹252.53", "refund-reason": "The curry was cold"} {
		if got := firstText(review, part); got != want {
			t.Errorf("%s is %q, want %q", part, got, want)
		}
	}
	fields := map[string]string{}
	for _, n := range all(review, func(n *html.Node) bool { return n.Data == "input" && attr(n, "type") == "hidden" }) {
		fields[attr(n, "name")] = attr(n, "value")
	}
	if fields["seen"] != "10000" || fields["shown"] != "25253" || fields["what"] != "dishes" || fields["piece-1"] != "1" || fields["reason"] != "The curry was cold" {
		t.Errorf("goes along: %v", fields)
	}
}

// The parts of a refund are shown on demand, and what waits for a person has a button that names the amount, for whoever may.
func TestStaffOrderRefunds(t *testing.T) {
	for status, waits := range map[string]int{"requested": 0, "submitted": 0, "processed": 0, "void": 0, "failed": 1} {
		v := samplePartlyBackView(status)
		row := mustFind(t, parse(t, render(t, StaffOrderPage(v))), "refund-row")
		if firstText(row, "share-total") != "₹252.53" || firstText(row, "share-food") != "₹240.50" || !strings.Contains(textOf(row), "The curry was cold") {
			t.Errorf("%s: the row says %q", status, textOf(row))
		}
		forms := byTestID(row, "retry-form")
		if len(forms) != waits {
			t.Errorf("%s: %d buttons", status, len(forms))
		}
		if waits == 1 && (attr(forms[0], "action") != "/staff/refunds/"+v.Refunds[0].ID+"/retry" || firstText(forms[0], "retry-yes") != "Send ₹252.53 again") {
			t.Errorf("the button says %q", textOf(forms[0]))
		}
		v.Refunds = append(v.Refunds, models.Refund{ID: "next", RetryOf: &v.Refunds[0].ID, Status: "requested"})
		if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "retry-form")) != 0 {
			t.Errorf("%s: what was sent again can be sent again", status)
		}
	}
	v := samplePartlyBackView("failed")
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "give-back")) != 1 {
		t.Error("no way to give more back of a handed over order")
	}
	v.Staff.Role = "kitchen"
	if root := parse(t, render(t, StaffOrderPage(v))); len(byTestID(root, "retry-form"))+len(byTestID(root, "give-back")) != 0 {
		t.Error("a cook is offered to give money back")
	}
	v.Staff.Role = "owner"
	v.Payments[0].RefundReservedPaise = v.Payments[0].AmountPaise
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "give-back")) != 0 {
		t.Error("nothing is left, and it can be given back")
	}
}
