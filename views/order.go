package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// States an order page can show. They are derived here from the rows and the clock, and nowhere stored.
const (
	StateUnpaid     = "unpaid"     // nothing tried yet, or the window was closed
	StateFailed     = "failed"     // the last attempt failed; not final
	StateConfirming = "confirming" // a payment is on its way to us
	StateSlow       = "slow"       // … for more than a minute
	StateLapsed     = "lapsed"     // the time to pay is over, the gateway is asked once more
	StateExpired    = "expired"
	StateCancelled  = "cancelled"
	StatePaid       = "paid" // the kitchen has not accepted yet
	StateAccepted   = "accepted"
	StatePreparing  = "preparing"
	StateReady      = "ready"
	StateHandedOver = "handed_over"
)

// slowAfter is from when on a confirmation counts as slow; the promise to keep asking is worth saying only then.
const slowAfter = time.Minute

// OrderState names what is true of an order at now.
func OrderState(v OrderView, now time.Time) string {
	switch v.Order.Status {
	case models.OrderExpired:
		return StateExpired
	case models.OrderCancelled:
		return StateCancelled
	case models.OrderPaid, models.OrderDue:
		if v.Ticket == nil {
			return StatePaid
		}
		switch v.Ticket.Status {
		case models.TicketAccepted:
			return StateAccepted
		case models.TicketPreparing:
			return StatePreparing
		case models.TicketReady:
			return StateReady
		case models.TicketHandedOver:
			return StateHandedOver
		case models.TicketCancelled:
			return StateCancelled
		default:
			return StatePaid
		}
	}
	if since := confirmingSince(v); since != nil {
		if now.Sub(*since) > slowAfter {
			return StateSlow
		}
		return StateConfirming
	}
	if !now.Before(v.Order.HoldExpiresAt) {
		return StateLapsed
	}
	if last := lastAttempt(v.Payments); last != nil && last.GWStatus == "failed" {
		return StateFailed
	}
	return StateUnpaid
}

// confirmingSince is when the first sign of a payment came that is neither captured nor failed: an authorized attempt, or a browser's word.
func confirmingSince(v OrderView) *time.Time {
	since := v.HintedAt
	for i := range v.Payments {
		if p := &v.Payments[i]; p.GWStatus == "authorized" && (since == nil || p.CreatedAt.Before(*since)) {
			since = &p.CreatedAt
		}
	}
	return since
}

func lastAttempt(payments []models.Payment) *models.Payment {
	var last *models.Payment
	for i := range payments {
		if last == nil || payments[i].CreatedAt.After(last.CreatedAt) {
			last = &payments[i]
		}
	}
	return last
}

func keptPayment(payments []models.Payment) *models.Payment {
	for i := range payments {
		if payments[i].IsKept() {
			return &payments[i]
		}
	}
	return nil
}

// headline is the big part of the order page: a small line, the heading, a sentence.
type headline struct{ over, title, text string }

func headlineOf(v OrderView) headline {
	now, o := v.Page.Now, v.Order
	switch OrderState(v, now) {
	case StateUnpaid:
		return headline{"", "Waiting for your payment", "We hold your order until " + Clock(o.HoldExpiresAt) + "."}
	case StateFailed:
		return headline{"", "The payment did not go through", "Your order is still here until " + Clock(o.HoldExpiresAt) + "."}
	case StateConfirming, StateSlow:
		return headline{"", "Confirming your payment", "Please do not pay again."}
	case StateLapsed:
		return headline{"", "Checking for your payment", "The time to pay is over. We are asking Razorpay once more."}
	case StateExpired:
		return headline{"", "Not paid in time", "This order was not placed."}
	case StateCancelled:
		return headline{"", "Order cancelled", cancelText(v)}
	case StateHandedOver:
		if o.Way == "pickup" {
			return headline{"", "Collected", "Enjoy your meal."}
		}
		return headline{"", "On its way", "Your food has left the kitchen. Enjoy your meal."}
	default:
		h := headline{over: "Arriving about", title: window(v), text: kitchenText(v)}
		if o.Way == "pickup" {
			h.over = "Ready about"
		}
		if late := lateText(v); late != "" {
			h.text = late
		}
		return h
	}
}

// window is the promised time: a span for a delivery, a minute for the counter.
func window(v OrderView) string {
	switch {
	case v.Order.IsLater():
		return promisedText(v.Order, v.Page.Now)
	case v.Ticket == nil:
		return "soon"
	}
	if v.Order.Way == "pickup" {
		return Clock(v.Ticket.PromisedAt)
	}
	return ClockRange(v.Ticket.PromisedAt.Add(-windowMinutes*time.Minute), v.Ticket.PromisedAt)
}

func kitchenText(v OrderView) string {
	switch OrderState(v, v.Page.Now) {
	case StateAccepted:
		return "The kitchen has your order."
	case StatePreparing:
		return "The kitchen is cooking your food."
	case StateReady:
		if v.Order.Way == "pickup" {
			return "Your food is ready. Come and collect it."
		}
		return "Your food is packed and about to leave."
	default:
		if v.Ticket != nil && isWaiting(models.Ticket{Fulfilment: *v.Ticket, Order: v.Order}, v.Page.Now) {
			if v.Order.Status == models.OrderDue {
				return "The kitchen starts in time for it."
			}
			return "Paid. The kitchen starts in time for it."
		}
		if v.Order.Status == models.OrderDue {
			return "The kitchen will take it on in a moment."
		}
		return "Paid. The kitchen will take it on in a moment."
	}
}

// lateStep is how exactly we say how late we are.
const lateStep = 5 * time.Minute

// lateText says so before the customer has to ask: by the clock in steps of five minutes, or as staff said.
func lateText(v OrderView) string {
	if v.Ticket == nil || (v.Order.Way == "pickup" && v.Ticket.Status == models.TicketReady) {
		return ""
	}
	late := v.Ticket.LateMinutes
	if v.Page.Now.After(v.Ticket.PromisedAt) {
		late = max(late, int(v.Page.Now.Sub(v.Ticket.PromisedAt)/lateStep)*5+5)
	}
	if late == 0 {
		return ""
	}
	return "Running about " + strconv.Itoa(late) + " minutes late, sorry."
}

// cancelText says who cancelled and why, in plain words.
func cancelText(v OrderView) string {
	by, why := text(v.Order.CancelledBy), text(v.Order.CancelReason)
	switch {
	case why == "superseded":
		return "You placed a newer order in place of this one."
	case by == "customer":
		return "You cancelled this order."
	case v.SoldOut != "":
		return "Sorry, " + v.SoldOut + " has just sold out."
	}
	switch why {
	case "dish_out":
		return "Sorry, the kitchen had run out of something, and nothing else would do."
	case "hold_lapsed":
		return "Sorry, something in your order has just sold out."
	case "kitchen_closed", "slot_passed":
		return "Sorry, the kitchen had closed when your payment arrived."
	case "amount_mismatch":
		return "The payment did not match the bill."
	}
	if strings.HasPrefix(by, "staff") && why != "" {
		return "Sorry, the restaurant had to cancel it: " + why
	}
	return "Sorry, the restaurant had to cancel it."
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// statusSentence is said once when it changes, through the page's announcer.
func statusSentence(v OrderView) string {
	h := headlineOf(v)
	sentence := h.title + ". " + h.text
	if h.over != "" {
		sentence = h.text + " " + h.over + " " + h.title + "."
	}
	for _, r := range refundsShown(v) {
		sentence += " " + r.title + "."
	}
	return sentence
}

// orderStepView is one step of the timeline.
type orderStepView struct {
	key, icon, title, note, time string
	done, now                    bool
}

// orderSteps is the timeline of a paid order; nil before payment.
func orderSteps(v OrderView) []orderStepView {
	state := OrderState(v, v.Page.Now)
	reached := map[string]int{StatePaid: 0, StateAccepted: 1, StatePreparing: 2, StateReady: 3, StateHandedOver: 4}
	at, paid := reached[state]
	if !paid || v.Ticket == nil {
		return nil
	}
	last := orderStepView{key: "handed_over", icon: "bike", title: "Out for delivery"}
	ready := orderStepView{key: "ready", icon: "bell", title: "Packed and ready"}
	if v.Order.Way == "pickup" {
		last = orderStepView{key: "handed_over", icon: "house", title: "Collected"}
		ready.title = "Ready to collect"
	}
	steps := []orderStepView{
		placedStep(v),
		{key: "accepted", icon: "check", title: "Accepted by the kitchen"},
		{key: "preparing", icon: "chef-hat", title: "Preparing"},
		ready, last,
	}
	times := []*time.Time{v.placedAt(), v.Ticket.AcceptedAt, v.Ticket.PreparingAt, v.Ticket.ReadyAt, v.Ticket.HandedOverAt}
	for n := range steps {
		steps[n].done, steps[n].now = n < at || state == StateHandedOver, n == at && state != StateHandedOver
		if n > at || times[n] == nil {
			continue
		}
		steps[n].time = When(*times[n], v.Page.Now)
		if steps[n].now && n > 0 {
			steps[n].time = "since " + steps[n].time
		}
	}
	if state == StatePreparing {
		steps[2].note = "Usually about " + strconv.Itoa(v.Order.PrepMinutes) + " minutes"
	}
	return steps
}

// placedStep is the first of the timeline: paid, or, in cash, placed.
func placedStep(v OrderView) orderStepView {
	if v.Order.Pays == "cash" {
		return orderStepView{key: "paid", icon: "check", title: "Placed", note: cashText(v)}
	}
	return orderStepView{key: "paid", icon: "check", title: "Paid and placed", note: paidText(v)}
}

// placedAt is when the kitchen got the order: when it was paid, or, in cash, when it was placed.
func (v OrderView) placedAt() *time.Time {
	if v.Order.Pays == "cash" {
		return &v.Order.PlacedAt
	}
	return v.Order.PaidAt
}

func cashText(v OrderView) string {
	if v.Order.Status == models.OrderDue {
		return Rupees(v.Order.AmountPaise) + " to pay in cash"
	}
	return Rupees(v.Order.AmountPaise) + " paid in cash"
}

// track is the four-part bar: accepted, preparing, ready, handed over. It says how many parts are done and its label.
func track(v OrderView) (done int, label string) {
	switch OrderState(v, v.Page.Now) {
	case StatePaid:
		return 0, "Step 1 of 4: waiting for the kitchen"
	case StateAccepted:
		return 1, "Step 2 of 4: accepted"
	case StatePreparing:
		return 1, "Step 2 of 4: preparing"
	case StateReady:
		return 2, "Step 3 of 4: ready"
	case StateHandedOver:
		return 4, "Step 4 of 4: done"
	default:
		return -1, ""
	}
}

func paidText(v OrderView) string {
	if p := keptPayment(v.Payments); p != nil {
		return strings.TrimSpace(Rupees(v.Order.AmountPaise) + " " + by(p.Method))
	}
	return Rupees(v.Order.AmountPaise)
}

func by(method string) string {
	if name := methodName(method); name != "" {
		return "by " + name
	}
	return ""
}

func methodName(method string) string {
	switch method {
	case "upi":
		return "UPI"
	case "card", "netbanking", "wallet":
		return method
	default:
		return ""
	}
}

// account names where refunded money arrives. It always goes back the way it came.
func account(method string) string {
	switch method {
	case "upi":
		return "your UPI account"
	case "card":
		return "your card"
	case "netbanking":
		return "your bank account"
	case "wallet":
		return "your wallet"
	default:
		return "the account you paid from"
	}
}

// refundView is one refund in words. kind is the colour of its box.
type refundView struct {
	kind, title, text, why, stage string
	id, part                      string // part: how much of what was paid it is, and the reason; empty: all of it
}

// refundsShown are the refunds a customer should see: not the voided ones, and of a chain of retries only the last.
// "Refunded" is said only once Razorpay says processed.
func refundsShown(v OrderView) []refundView {
	retried := map[string]bool{}
	for _, r := range v.Refunds {
		if r.RetryOf != nil {
			retried[*r.RetryOf] = true
		}
	}
	var shown []refundView
	for _, r := range v.Refunds {
		if r.Status == "void" || retried[r.ID] {
			continue
		}
		method := ""
		var reason *string
		for _, p := range v.Payments {
			if p.ID == r.PaymentID {
				method, reason = p.Method, p.Reason
			}
		}
		s := refundView{kind: "warn", why: refundWhy(text(reason), r.Kind), stage: r.Status}
		switch {
		case r.Provider == "cash" && r.Status == "requested":
			s.title = Rupees(r.AmountPaise) + " is yours to collect in cash"
			s.text = "Asked for on " + Date(r.RequestedAt) + ". Please call the restaurant, or come to the counter, to get it."
		case r.Provider == "cash":
			s.kind = "ok"
			s.title = Rupees(r.AmountPaise) + " was given back in cash"
			s.text = "Done" + dated(r.ProcessedAt) + "."
		case r.Status == "requested":
			s.title = Rupees(r.AmountPaise) + " is on its way back to " + account(method)
			s.text = "Requested on " + Date(r.RequestedAt) + ". " + refundWait(r, method, v.Page.Now)
		case r.Status == "submitted":
			s.title = Rupees(r.AmountPaise) + " is on its way back to " + account(method)
			s.text = "With the bank" + since(r.SubmittedAt) + ". " + refundWait(r, method, v.Page.Now)
		case r.Status == "processed":
			s.kind = "ok"
			s.title = Rupees(r.AmountPaise) + " was refunded to " + account(method)
			s.text = "Done" + dated(r.ProcessedAt) + ". " + refundWait(r, method, v.Page.Now)
		default:
			s.kind = "bad"
			s.title = "The refund of " + Rupees(r.AmountPaise) + " did not reach you"
			s.text = "It could not be carried out, sorry; the money is not lost. We have been told and send it again: this page will say so."
			if r.FailedAt != nil {
				s.text += " If it does not by " + Date(r.FailedAt.AddDate(0, 0, 1)) + ", please call us."
			}
			s.text += refundNames(r)
		}
		if s.id, s.part = r.ID, refundPart(v, r); r.Kind == "staff" && s.part != "" {
			s.why = ""
		}
		shown = append(shown, s)
	}
	return shown
}

// refundWait says how long a refund takes, by which day it should be seen, and what to do if it is not.
func refundWait(r models.Refund, method string, now time.Time) string {
	began := r.RequestedAt
	if r.SubmittedAt != nil {
		began = *r.SubmittedAt
	}
	due := refundDue(method, began)
	names := refundNames(r)
	who := "call us"
	if r.Status == "processed" {
		who = "ask your bank for it by the numbers here"
		if names == "" {
			who = "call us"
		}
	}
	switch {
	case dayOf(now).After(due):
		return "It should have reached you by " + day(due) + ". If it has not, please " + who + "." + names
	case r.Speed == "optimum" && r.Status != "processed":
		return "Usually it takes minutes; if your bank cannot do that, " + refundDays(method) + ", so by " + day(due) + ". If it is not there by then, please " + who + "." + names
	default:
		return "Banks show it in " + refundDays(method) + ", so by " + day(due) + ". If it is not there by then, please " + who + "." + names
	}
}

// refundNames are the numbers a bank or Razorpay finds a refund by.
func refundNames(r models.Refund) string {
	names := ""
	if r.RazorpayRefundID != nil {
		names += " Refund id " + *r.RazorpayRefundID + "."
	}
	if r.BankReference != "" {
		names += " Bank reference " + r.BankReference + "."
	}
	return names
}

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + Date(*t)
}

func dated(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " on " + Date(*t)
}

// refundWhy says why money goes back that the customer did not ask for. Cancelling is explained by the heading.
func refundWhy(reason, kind string) string {
	switch reason {
	case "already_paid":
		return "This order was already paid, so your second payment goes back by itself."
	case "order_cancelled":
		return "Your payment arrived after the order had been cancelled, so all of it goes back."
	case "order_superseded":
		return "Your payment arrived for an order that a newer one had replaced, so all of it goes back."
	case "order_expired":
		return "Your payment arrived after the time to pay was over, so all of it goes back."
	case "kitchen_closed", "slot_passed":
		return "Your payment arrived after the kitchen had closed, so all of it goes back."
	case "hold_lapsed":
		return "The last portion was gone when your payment arrived, so all of it goes back."
	case "amount_mismatch":
		return "Your payment was not for the amount of the bill, so all of it goes back."
	case "refunded_at_gateway":
		return "Razorpay had begun to give your payment back before it reached us."
	}
	switch kind {
	case "staff":
		return "The restaurant gives you this back."
	case "external":
		return "The restaurant gave you this back."
	}
	return ""
}

// turnsAt is when what the page says changes by the clock alone, without anything happening; zero when it does not.
func turnsAt(v OrderView) time.Time {
	now := v.Page.Now
	switch OrderState(v, now) {
	case StateUnpaid, StateFailed:
		return v.Order.HoldExpiresAt
	case StateConfirming:
		return confirmingSince(v).Add(slowAfter + time.Millisecond)
	case StateSlow, StateLapsed:
		if v.Order.ResolveBy != nil && now.Before(*v.Order.ResolveBy) {
			return *v.Order.ResolveBy
		}
	case StatePaid, StateAccepted, StatePreparing, StateReady:
		if v.Ticket == nil {
			return time.Time{}
		}
		late := now.Sub(v.Ticket.PromisedAt)
		if late < 0 {
			return v.Ticket.PromisedAt.Add(time.Millisecond)
		}
		return v.Ticket.PromisedAt.Add((late/lateStep + 1) * lateStep)
	}
	return time.Time{}
}

// turnsIn is turnsAt as a page's script needs it: in how many milliseconds to look again; "" for not at all.
func turnsIn(v OrderView) string {
	at := turnsAt(v)
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(max(at.Sub(v.Page.Now).Milliseconds(), 0), 10)
}

// capturedPayments are the payments that moved money, when there is more than one: a customer who paid twice must see both.
func capturedPayments(v OrderView) []models.Payment {
	var moved []models.Payment
	for _, p := range v.Payments {
		if p.Disposition != nil {
			moved = append(moved, p)
		}
	}
	if len(moved) < 2 {
		return nil
	}
	return moved
}

func paymentText(p models.Payment) string {
	fate := "goes back to you"
	if p.IsKept() {
		fate = "pays this order"
	}
	return strings.TrimSpace(Rupees(p.AmountPaise)+" "+by(p.Method)) + ", " + text(p.RazorpayPaymentID) + ": " + fate
}

// mayCancel reports whether the customer's own button is shown; the database decides again when it is pressed.
func mayCancel(v OrderView) bool {
	switch OrderState(v, v.Page.Now) {
	case StateUnpaid, StateFailed, StateConfirming, StateSlow, StateLapsed, StatePaid:
		return v.Order.Status == models.OrderPending || v.Ticket != nil
	default:
		return false
	}
}

// mayPayNow reports whether the page offers to pay.
func mayPayNow(v OrderView) bool {
	state := OrderState(v, v.Page.Now)
	return v.Order.IsPayable() && (state == StateUnpaid || state == StateFailed)
}

// cancelAsk names what cancelling does to the money before it is confirmed.
func cancelAsk(v OrderView) string {
	if p := keptPayment(v.Payments); p != nil {
		return fmt.Sprintf("All of your %s goes back to %s; banks show it in %s.", Rupees(p.AmountPaise), account(p.Method), refundDays(p.Method))
	}
	if s := OrderState(v, v.Page.Now); s == StateConfirming || s == StateSlow {
		return "If your payment still arrives, all of it goes back to you."
	}
	return "Nothing has been paid."
}

// tooLate explains a missing cancel button.
func tooLate(v OrderView) string {
	switch OrderState(v, v.Page.Now) {
	case StateAccepted, StatePreparing:
		return "The kitchen has begun, so the order can no longer be cancelled here. Call us if something is wrong."
	case StateReady, StateHandedOver:
		return "Call us if something is wrong."
	default:
		return ""
	}
}

// hurries reports whether the page should ask again every few seconds: money is on its way.
func hurries(v OrderView) bool {
	switch OrderState(v, v.Page.Now) {
	case StateConfirming, StateSlow, StateLapsed:
		return true
	default:
		return false
	}
}

// settled reports whether nothing about the order can change by itself any more, so that the page need not listen.
func settled(v OrderView) bool {
	switch OrderState(v, v.Page.Now) {
	case StateExpired, StateCancelled, StateHandedOver:
	default:
		return false
	}
	if v.Order.Status == models.OrderDue {
		return false
	}
	for _, r := range v.Refunds {
		if r.Status == "requested" || r.Status == "submitted" {
			return false
		}
	}
	return v.Order.NextCheckAt == nil
}

// LineName is a line's dish with its choices.
func LineName(i models.OrderItem) string {
	if o := itemOptions(i.Options); o != "" {
		return i.Name + " (" + o + ")"
	}
	return i.Name
}

func itemOptions(options []models.OrderItemOption) string {
	names := make([]string, 0, len(options))
	for _, o := range options {
		names = append(names, o.Name)
	}
	return dotted(names...)
}

func addressLine(o models.Order) string {
	parts := []string{}
	for _, p := range []string{o.Line1, o.Line2, o.PIN} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

// firstArt is the picture in the header: the first dish of the order.
func firstArt(o models.Order) string {
	if len(o.Items) == 0 {
		return "dish"
	}
	return o.Items[0].Art
}
