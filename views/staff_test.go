package views

import (
	"strings"
	"testing"
	"time"

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
		if u := urgencyOf(models.Ticket{Fulfilment: f}, evening); u.class != c.class || u.text != c.text {
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
		if waits == 1 && (attr(forms[0], "action") != "/staff/attention/7/retry" || firstText(forms[0], "retry-yes") != "Send ₹252.53 again") {
			t.Errorf("the button says %q", textOf(forms[0]))
		}
	}
	v := samplePartlyBackView("failed")
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "give-back")) != 1 {
		t.Error("no way to give more back of a handed over order")
	}
	v.Staff.Role = "kitchen"
	if root := parse(t, render(t, StaffOrderPage(v))); len(byTestID(root, "give-back")) != 0 {
		t.Error("a cook is offered to give money back")
	}
	v.Staff.Role = "owner"
	v.Payments[0].RefundReservedPaise = v.Payments[0].AmountPaise
	if len(byTestID(parse(t, render(t, StaffOrderPage(v))), "give-back")) != 0 {
		t.Error("nothing is left, and it can be given back")
	}
}

// Every kind of task says what happened in words of its own, and there is exactly one thing to do about each.
func TestAttentionPage(t *testing.T) {
	v := sampleAttentionView()
	root := parse(t, render(t, StaffAttentionPage(v)))
	rows := byTestID(root, "task")
	if len(rows) != len(models.TaskKinds) {
		t.Fatalf("%d rows", len(rows))
	}
	want := map[string]string{
		models.TaskAmountMismatch: "₹1,359.00 came for order 1047, which asks for another amount. All of it goes back by itself. | Seen",
		models.TaskSecondPayment:  "The customer of order 1047 paid ₹1,359.00 once more after it was paid. The second payment goes back by itself. | Seen",
		models.TaskRefundFailed:   "The customer of order 1047 has not got ₹1,359.00 back: Razorpay could not refund it. | Send the refund again",
		models.TaskRefundOutside:  "₹1,359.00 of order 1047 was given back in Razorpay's dashboard, and not here. It is counted as returned. | Seen",
		models.TaskDeadEvent:      "What was written down about dead_event | Try the event again",
		models.TaskDeadJob:        "What was written down about dead_job | Try the job again",
		models.TaskEventReplaced:  "What was written down about event_replaced | Seen",
		models.TaskUnmapped:       "₹1,359.00 was paid for an order this shop does not know. It goes back by itself by 9:05 pm. Look up payment pay_TstAbCdEf00001 in Razorpay's dashboard if you wonder whose it is. | Give it back now",
		models.TaskClaimRejected:  "What was written down about claim_rejected | Seen",
		models.TaskStaleClaim:     "Razorpay has not answered whether it made the payment for order 1047. Until it does, its customer cannot pay; the shop keeps asking. | Open the order",
		models.TaskDispute:        "A bank asks ₹1,359.00 of order 1047 back. Answer it in Razorpay's dashboard by 6 Dec, 7:45 pm; without an answer the money is lost. | See the evidence",
		models.TaskDisputeLost:    "The bank took ₹1,359.00 of order 1047 back. There is nothing left to do at Razorpay. | Seen",
		models.TaskSilence:        "No webhook since 6:10 pm, and payments have come. The shop finds them by asking, a little later. Look at the webhook in Razorpay's dashboard: is it switched on, are its address and secret right? After a day of failures Razorpay switches it off. | Look again",
		models.TaskBadSignature:   "What was written down about bad_signature | Seen",
		models.TaskLowBalance:     "Refunds of ₹1,23,456.00 wait until the balance at Razorpay is topped up. | Topped up: send them now",
		models.TaskCashBack:       "Give ₹1,359.00 of order 1047 back by hand, then say so on the order's page. | Open the order",
		models.TaskComplaint:      "What was written down about complaint | Open the complaint",
		models.TaskComplaintLate:  "What was written down about complaint_late | Open the complaint",
		models.TaskIncomplete:     "What was written down about incomplete | Fill it in",
		models.TaskOverdue:        "What was written down about overdue | Open the order",
		models.TaskBroken:         "What was written down about broken | Look again",
	}
	for n, row := range rows {
		kind := attr(row, "data-kind")
		if AttentionTitle(kind) == stateName(kind) {
			t.Errorf("%s has no title", kind)
		}
		acts := byTestID(row, "act")
		if len(acts) != 1 {
			t.Errorf("%s: %d things to do", kind, len(acts))
			continue
		}
		if got := AttentionText(v.Tasks[n], evening) + " | " + textOf(acts[0]); got != want[kind] {
			t.Errorf("%s: %s", kind, got)
		}
		links := all(row, func(e *html.Node) bool { return e.Data == "a" && attr(e, "href") == "/staff/orders/12" })
		if (v.Tasks[n].OrderID != nil) != (len(links) == 1) {
			t.Errorf("%s: %d links to its order", kind, len(links))
		}
	}
	v.Staff.Role = "kitchen"
	for _, row := range byTestID(parse(t, render(t, StaffAttentionPage(v))), "task") {
		for _, act := range byTestID(row, "act") {
			if act.Data != "a" {
				t.Errorf("%s: a cook may press %s", attr(row, "data-kind"), textOf(act))
			}
		}
	}
	late := models.Task{Kind: models.TaskDispute, OpenedAt: *at(-50 * 60), DueAt: at(-1)}
	if got := attentionAge(late, evening); got != "Since 28 Nov, 5:45 pm, 2 days. The deadline has passed." {
		t.Error(got)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "just now", 59 * time.Second: "just now", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min", time.Hour: "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", -time.Hour: "just now"} {
		if got := Age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
