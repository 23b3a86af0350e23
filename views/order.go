package views

import (
	"context"
	"slices"
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

// headline is the big part of the order page: a small line, the heading, a sentence, and all of it as it is said.
type headline struct{ over, title, text, said string }

func headlineOf(ctx context.Context, v OrderView) headline {
	now, o := v.Page.Now, v.Order
	plain := func(title, text string) headline {
		return headline{title: title, text: text, said: T(ctx, "%s.", title) + " " + text}
	}
	switch OrderState(v, now) {
	case StateUnpaid:
		return plain(T(ctx, "Waiting for your payment"), T(ctx, "We hold your order until %s.", Clock(ctx, o.HoldExpiresAt)))
	case StateFailed:
		return plain(T(ctx, "The payment did not go through"), T(ctx, "Your order is still here until %s.", Clock(ctx, o.HoldExpiresAt)))
	case StateConfirming, StateSlow:
		return plain(T(ctx, "Confirming your payment"), T(ctx, "Please do not pay again."))
	case StateLapsed:
		return plain(T(ctx, "Checking for your payment"), T(ctx, "The time to pay is over. We are asking Razorpay once more."))
	case StateExpired:
		return plain(T(ctx, "Not paid in time"), T(ctx, "This order was not placed."))
	case StateCancelled:
		return plain(T(ctx, "Order cancelled"), cancelText(ctx, v))
	case StateHandedOver:
		if o.Way == "pickup" {
			return plain(T(ctx, "Collected"), T(ctx, "Enjoy your meal."))
		}
		return plain(T(ctx, "On its way"), T(ctx, "Your food has left the kitchen. Enjoy your meal."))
	}
	h := headline{over: T(ctx, "Arriving about"), title: window(ctx, v), text: kitchenText(ctx, v)}
	if o.Way == "pickup" {
		h.over = T(ctx, "Ready about")
	}
	if late := lateText(ctx, v); late != "" {
		h.text = late
	}
	if h.said = T(ctx, "%s Arriving about %s.", h.text, h.title); o.Way == "pickup" {
		h.said = T(ctx, "%s Ready about %s.", h.text, h.title)
	}
	return h
}

// window is the promised time: a span for a delivery, a minute for the counter.
func window(ctx context.Context, v OrderView) string {
	switch {
	case v.Order.IsLater():
		return promisedText(ctx, v.Order, v.Page.Now)
	case v.Ticket == nil:
		return T(ctx, "soon")
	}
	if v.Order.Way == "pickup" {
		return Clock(ctx, v.Ticket.PromisedAt)
	}
	return ClockRange(ctx, v.Ticket.PromisedAt.Add(-windowMinutes*time.Minute), v.Ticket.PromisedAt)
}

func kitchenText(ctx context.Context, v OrderView) string {
	switch OrderState(v, v.Page.Now) {
	case StateAccepted:
		return T(ctx, "The kitchen has your order.")
	case StatePreparing:
		return T(ctx, "The kitchen is cooking your food.")
	case StateReady:
		if v.Order.Way == "pickup" {
			return T(ctx, "Your food is ready. Come and collect it.")
		}
		return T(ctx, "Your food is packed and about to leave.")
	default:
		if v.Ticket != nil && isWaiting(models.Ticket{Fulfilment: *v.Ticket, Order: v.Order}, v.Page.Now) {
			if v.Order.Status == models.OrderDue {
				return T(ctx, "The kitchen starts in time for it.")
			}
			return T(ctx, "Paid. The kitchen starts in time for it.")
		}
		if v.Order.Status == models.OrderDue {
			return T(ctx, "The kitchen will take it on in a moment.")
		}
		return T(ctx, "Paid. The kitchen will take it on in a moment.")
	}
}

// lateStep is how exactly we say how late we are.
const lateStep = 5 * time.Minute

// lateText says so before the customer has to ask: by the clock in steps of five minutes, or as staff said.
func lateText(ctx context.Context, v OrderView) string {
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
	return T(ctx, "Running about %s minutes late, sorry.", strconv.Itoa(late))
}

// cancelText says who cancelled and why, in plain words.
func cancelText(ctx context.Context, v OrderView) string {
	by, why := text(v.Order.CancelledBy), text(v.Order.CancelReason)
	switch {
	case why == "superseded":
		return T(ctx, "You placed a newer order in place of this one.")
	case by == "customer":
		return T(ctx, "You cancelled this order.")
	case v.SoldOut != "":
		return T(ctx, "Sorry, %s has just sold out.", v.SoldOut)
	}
	switch why {
	case "dish_out":
		return T(ctx, "Sorry, the kitchen had run out of something, and nothing else would do.")
	case "hold_lapsed":
		return T(ctx, "Sorry, something in your order has just sold out.")
	case "kitchen_closed", "slot_passed":
		return T(ctx, "Sorry, the kitchen had closed when your payment arrived.")
	case "amount_mismatch":
		return T(ctx, "The payment did not match the bill.")
	}
	if strings.HasPrefix(by, "staff") && why != "" {
		return T(ctx, "Sorry, the restaurant had to cancel it: %s", why)
	}
	return T(ctx, "Sorry, the restaurant had to cancel it.")
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// statusSentence is said once when it changes, through the page's announcer.
func statusSentence(ctx context.Context, v OrderView) string {
	sentence := headlineOf(ctx, v).said
	for _, r := range refundsShown(ctx, v) {
		sentence += " " + T(ctx, "%s.", r.title)
	}
	return sentence
}

// orderStepView is one step of the timeline.
type orderStepView struct {
	key, icon, title, note, time string
	done, now                    bool
}

// orderSteps is the timeline of a paid order; nil before payment.
func orderSteps(ctx context.Context, v OrderView) []orderStepView {
	state := OrderState(v, v.Page.Now)
	reached := map[string]int{StatePaid: 0, StateAccepted: 1, StatePreparing: 2, StateReady: 3, StateHandedOver: 4}
	at, paid := reached[state]
	if !paid || v.Ticket == nil {
		return nil
	}
	last := orderStepView{key: "handed_over", icon: "bike", title: T(ctx, "Out for delivery")}
	ready := orderStepView{key: "ready", icon: "bell", title: T(ctx, "Packed and ready")}
	if v.Order.Way == "pickup" {
		last = orderStepView{key: "handed_over", icon: "house", title: T(ctx, "Collected")}
		ready.title = T(ctx, "Ready to collect")
	}
	steps := []orderStepView{
		placedStep(ctx, v),
		{key: "accepted", icon: "check", title: T(ctx, "Accepted by the kitchen")},
		{key: "preparing", icon: "chef-hat", title: T(ctx, "Preparing")},
		ready, last,
	}
	times := []*time.Time{v.placedAt(), v.Ticket.AcceptedAt, v.Ticket.PreparingAt, v.Ticket.ReadyAt, v.Ticket.HandedOverAt}
	for n := range steps {
		steps[n].done, steps[n].now = n < at || state == StateHandedOver, n == at && state != StateHandedOver
		if n > at || times[n] == nil {
			continue
		}
		steps[n].time = When(ctx, *times[n], v.Page.Now)
		if steps[n].now && n > 0 {
			steps[n].time = T(ctx, "since %s", steps[n].time)
		}
	}
	if state == StatePreparing {
		steps[2].note = T(ctx, "Usually about %s minutes", strconv.Itoa(v.Order.PrepMinutes))
	}
	return steps
}

// placedStep is the first of the timeline: paid, or, in cash, placed.
func placedStep(ctx context.Context, v OrderView) orderStepView {
	if v.Order.Pays == "cash" {
		return orderStepView{key: "paid", icon: "check", title: T(ctx, "Placed"), note: cashText(ctx, v)}
	}
	return orderStepView{key: "paid", icon: "check", title: T(ctx, "Paid and placed"), note: paidText(ctx, v)}
}

// placedAt is when the kitchen got the order: when it was paid, or, in cash, when it was placed.
func (v OrderView) placedAt() *time.Time {
	if v.Order.Pays == "cash" {
		return &v.Order.PlacedAt
	}
	return v.Order.PaidAt
}

func cashText(ctx context.Context, v OrderView) string {
	if v.Order.Status == models.OrderDue {
		return T(ctx, "%s to pay in cash", Rupees(v.Order.AmountPaise))
	}
	return T(ctx, "%s paid in cash", Rupees(v.Order.AmountPaise))
}

// track is the four-part bar: accepted, preparing, ready, handed over. It says how many parts are done and its label.
func track(ctx context.Context, v OrderView) (done int, label string) {
	switch OrderState(v, v.Page.Now) {
	case StatePaid:
		return 0, T(ctx, "Step 1 of 4: waiting for the kitchen")
	case StateAccepted:
		return 1, T(ctx, "Step 2 of 4: accepted")
	case StatePreparing:
		return 1, T(ctx, "Step 2 of 4: preparing")
	case StateReady:
		return 2, T(ctx, "Step 3 of 4: ready")
	case StateHandedOver:
		return 4, T(ctx, "Step 4 of 4: done")
	default:
		return -1, ""
	}
}

func paidText(ctx context.Context, v OrderView) string {
	if p := keptPayment(v.Payments); p != nil {
		return amountBy(ctx, v.Order.AmountPaise, p.Method)
	}
	return Rupees(v.Order.AmountPaise)
}

// amountBy writes an amount and the way it was paid: "₹1,359.00 by UPI".
func amountBy(ctx context.Context, p models.Paise, method string) string {
	switch method {
	case "upi":
		return T(ctx, "%s by UPI", Rupees(p))
	case "card":
		return T(ctx, "%s by card", Rupees(p))
	case "netbanking":
		return T(ctx, "%s by netbanking", Rupees(p))
	case "wallet":
		return T(ctx, "%s by wallet", Rupees(p))
	default:
		return Rupees(p)
	}
}

// account names where refunded money arrives. It always goes back the way it came.
func account(ctx context.Context, method string) string {
	switch method {
	case "upi":
		return T(ctx, "your UPI account")
	case "card":
		return T(ctx, "your card")
	case "netbanking":
		return T(ctx, "your bank account")
	case "wallet":
		return T(ctx, "your wallet")
	default:
		return T(ctx, "the account you paid from")
	}
}

// refundView is one refund in words. kind is the colour of its box.
type refundView struct {
	kind, title, text, why, stage string
	id, part                      string // part: how much of what was paid it is, and the reason; empty: all of it
}

// refundsShown are the refunds a customer should see: not the voided ones, and of a chain of retries only the last.
// "Refunded" is said only once Razorpay says processed.
func refundsShown(ctx context.Context, v OrderView) []refundView {
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
		s := refundView{kind: "warn", why: refundWhy(ctx, text(reason), r.Kind), stage: r.Status, text: sentences(refundStage(ctx, r), refundWait(ctx, r, method, v.Page.Now), refundNames(ctx, r))}
		switch {
		case r.Provider == "cash" && r.Status == "requested":
			s.title = T(ctx, "%s is yours to collect in cash", Rupees(r.AmountPaise))
			s.text = T(ctx, "Asked for on %s. Please call the restaurant, or come to the counter, to get it.", Date(ctx, r.RequestedAt))
		case r.Provider == "cash":
			s.kind = "ok"
			s.title = T(ctx, "%s was given back in cash", Rupees(r.AmountPaise))
			s.text = refundStage(ctx, r)
		case r.Status == "requested", r.Status == "submitted":
			s.title = T(ctx, "%s is on its way back to %s", Rupees(r.AmountPaise), account(ctx, method))
		case r.Status == "processed":
			s.kind = "ok"
			s.title = T(ctx, "%s was refunded to %s", Rupees(r.AmountPaise), account(ctx, method))
		default:
			s.kind = "bad"
			s.title = T(ctx, "The refund of %s did not reach you", Rupees(r.AmountPaise))
		}
		if s.id, s.part = r.ID, refundPart(ctx, v, r); r.Kind == "staff" && s.part != "" {
			s.why = ""
		}
		shown = append(shown, s)
	}
	return shown
}

// sentences puts whole sentences one after the other; an empty one is not said.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// refundStage says where a refund stands, with its day.
func refundStage(ctx context.Context, r models.Refund) string {
	switch {
	case r.Status == "requested":
		return T(ctx, "Requested on %s.", Date(ctx, r.RequestedAt))
	case r.Status == "submitted" && r.SubmittedAt != nil:
		return T(ctx, "With the bank since %s.", Date(ctx, *r.SubmittedAt))
	case r.Status == "submitted":
		return T(ctx, "With the bank.")
	case r.Status == "processed" && r.ProcessedAt != nil:
		return T(ctx, "Done on %s.", Date(ctx, *r.ProcessedAt))
	case r.Status == "processed":
		return T(ctx, "Done.")
	default:
		return T(ctx, "It could not be carried out, sorry; the money is not lost. We have been told and send it again: this page will say so.")
	}
}

// refundWait says how long a refund takes, by which day it should be seen, and what to do if it is not.
func refundWait(ctx context.Context, r models.Refund, method string, now time.Time) string {
	if r.Status == "failed" {
		if r.FailedAt == nil {
			return ""
		}
		return T(ctx, "If it does not by %s, please call us.", Date(ctx, r.FailedAt.AddDate(0, 0, 1)))
	}
	began := r.RequestedAt
	if r.SubmittedAt != nil {
		began = *r.SubmittedAt
	}
	due := refundDue(method, began)
	asksBank := r.Status == "processed" && refundNames(ctx, r) != "" // the bank can find it; else only we can
	until := T(ctx, "If it is not there by then, please call us.")
	if asksBank {
		until = T(ctx, "If it is not there by then, please ask your bank for it by the numbers here.")
	}
	switch {
	case dayOf(now).After(due) && asksBank:
		return T(ctx, "It should have reached you by %s. If it has not, please ask your bank for it by the numbers here.", day(ctx, due))
	case dayOf(now).After(due):
		return T(ctx, "It should have reached you by %s. If it has not, please call us.", day(ctx, due))
	case r.Speed == "optimum" && r.Status != "processed":
		return T(ctx, "Usually it takes minutes; if your bank cannot do that, %s, so by %s.", refundDays(ctx, method), day(ctx, due)) + " " + until
	default:
		return T(ctx, "Banks show it in %s, so by %s.", refundDays(ctx, method), day(ctx, due)) + " " + until
	}
}

// refundNames are the numbers a bank or Razorpay finds a refund by.
func refundNames(ctx context.Context, r models.Refund) string {
	var id, reference string
	if r.RazorpayRefundID != nil {
		id = T(ctx, "Refund id %s.", *r.RazorpayRefundID)
	}
	if r.BankReference != "" {
		reference = T(ctx, "Bank reference %s.", r.BankReference)
	}
	return sentences(id, reference)
}

// refundWhy says why money goes back that the customer did not ask for. Cancelling is explained by the heading.
func refundWhy(ctx context.Context, reason, kind string) string {
	switch reason {
	case "already_paid":
		return T(ctx, "This order was already paid, so your second payment goes back by itself.")
	case "order_cancelled":
		return T(ctx, "Your payment arrived after the order had been cancelled, so all of it goes back.")
	case "order_superseded":
		return T(ctx, "Your payment arrived for an order that a newer one had replaced, so all of it goes back.")
	case "order_expired":
		return T(ctx, "Your payment arrived after the time to pay was over, so all of it goes back.")
	case "kitchen_closed", "slot_passed":
		return T(ctx, "Your payment arrived after the kitchen had closed, so all of it goes back.")
	case "hold_lapsed":
		return T(ctx, "The last portion was gone when your payment arrived, so all of it goes back.")
	case "amount_mismatch":
		return T(ctx, "Your payment was not for the amount of the bill, so all of it goes back.")
	case "refunded_at_gateway":
		return T(ctx, "Razorpay had begun to give your payment back before it reached us.")
	}
	switch kind {
	case "staff":
		return T(ctx, "The restaurant gives you this back.")
	case "external":
		return T(ctx, "The restaurant gave you this back.")
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

func paymentText(ctx context.Context, p models.Payment) string {
	if p.IsKept() {
		return T(ctx, "%s, %s: pays this order", amountBy(ctx, p.AmountPaise, p.Method), text(p.RazorpayPaymentID))
	}
	return T(ctx, "%s, %s: goes back to you", amountBy(ctx, p.AmountPaise, p.Method), text(p.RazorpayPaymentID))
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
func cancelAsk(ctx context.Context, v OrderView) string {
	if p := keptPayment(v.Payments); p != nil {
		return T(ctx, "All of your %s goes back to %s; banks show it in %s.", Rupees(p.AmountPaise), account(ctx, p.Method), refundDays(ctx, p.Method))
	}
	if s := OrderState(v, v.Page.Now); s == StateConfirming || s == StateSlow {
		return T(ctx, "If your payment still arrives, all of it goes back to you.")
	}
	return T(ctx, "Nothing has been paid.")
}

// tooLate explains a missing cancel button.
func tooLate(ctx context.Context, v OrderView) string {
	switch OrderState(v, v.Page.Now) {
	case StateAccepted, StatePreparing:
		return T(ctx, "The kitchen has begun, so the order can no longer be cancelled here. Call us if something is wrong.")
	case StateReady, StateHandedOver:
		return T(ctx, "Call us if something is wrong.")
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
