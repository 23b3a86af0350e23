package views

import (
	"strings"
	"time"

	"tiffin/models"
)

// StaffTimelineView is everything that happened to one order's money.
type StaffTimelineView struct {
	Page    Page
	Staff   models.Staff
	Order   models.Order
	Entries []TimelineLine
}

// TimelineLine is one entry with the name of who did it.
type TimelineLine struct {
	models.TimelineEntry
	Who string
}

// timelineDay is the entries of one day.
type timelineDay struct {
	date  string
	lines []TimelineLine
}

func timelineDays(lines []TimelineLine) (days []timelineDay) {
	for _, line := range lines {
		date := Date(inEnglish, line.At)
		if len(days) == 0 || days[len(days)-1].date != date {
			days = append(days, timelineDay{date: date})
		}
		last := &days[len(days)-1]
		last.lines = append(last.lines, line)
	}
	return days
}

// Second writes an instant for the timeline, where a second matters: "7:38:05 pm".
func Second(t time.Time) string { return t.In(india).Format("3:04:05 pm") }

// timelineTitle says what an entry is, in words.
func timelineTitle(e TimelineLine) string {
	moved := stateName(e.Became)
	if e.Was != "" {
		moved = stateName(e.Was) + " → " + moved
	}
	switch e.Kind {
	case "order":
		return "Order " + moved
	case "claim":
		return "Making the order at Razorpay: " + moved
	case "gateway_order":
		if e.Became == "handed_out" {
			return "A browser was given the order at Razorpay"
		}
		return "The order at Razorpay is known"
	case "hint":
		if e.Became == "settled" {
			return "Known now what became of the payment a browser named"
		}
		return "A browser named a payment while Razorpay was silent"
	case "fetch":
		return "We asked Razorpay about the payment: " + moved
	case "check":
		return "We asked Razorpay for the order's payments, for the last time so far"
	case "event":
		return "Webhook " + e.Facts.Text("event_type") + ": " + moved
	case "payment":
		return "Payment " + moved
	case "decision":
		if e.Became == "kept" {
			return "The payment is kept: it pays this order"
		}
		return "The payment goes back: " + stateName(e.Facts.Text("reason"))
	case "ledger":
		return "Ledger, " + moved + ": " + stateName(e.Facts.Text("account"))
	case "refund":
		return "Refund " + moved
	case "dispute":
		return "Dispute " + moved
	case "ticket":
		return "Ticket " + moved
	case "letter":
		return "Letter, " + stateName(e.ID) + ": " + moved
	case "task":
		return "To do, " + strings.ToLower(AttentionTitle(e.ID)[:1]) + AttentionTitle(e.ID)[1:] + ": " + moved
	case "audit":
		return dotted(stateName(e.ID), e.Facts.Text("detail"))
	default:
		return e.Kind + " " + moved
	}
}

// timelineNotes are an entry's names and reasons: what a bank or Razorpay's support asks for.
func timelineNotes(e TimelineLine) string {
	var notes []string
	say := func(label, value string) {
		if value != "" {
			notes = append(notes, strings.TrimSpace(label+" "+value))
		}
	}
	fact := e.Facts.Text
	switch e.Kind {
	case "order", "claim", "gateway_order", "hint", "fetch", "payment", "decision", "dispute":
		say("", e.ID)
	case "refund":
		say("receipt", e.ID)
		say("", fact("razorpay_refund_id"))
	case "event":
		say("event", e.ID)
		say("SHA-256", fact("body_sha256"))
	}
	for _, f := range []struct{ label, name string }{{"receipt", "receipt"}, {"attempt", "attempt"}, {"via", "via"}, {"by", "method"}, {"for", "razorpay_payment_id"},
		{"", "error_description"}, {"problem:", "problem"}, {"bank reference", "bank_reference"}, {"retry of", "retry_of"}, {"phase", "phase"}, {"because", "reason_code"}} {
		value := fact(f.name)
		if f.name == "method" {
			value = methodName(value)
		}
		say(f.label, value)
	}
	if e.Kind == "order" || e.Kind == "refund" {
		say("reason:", stateName(fact("reason")))
	}
	if due := e.Facts.Time("respond_by"); !due.IsZero() {
		say("answer by", Date(inEnglish, due)+", "+Clock(inEnglish, due))
	}
	if done := e.Facts.Time("processed_at"); e.Kind == "event" && !done.IsZero() {
		say("processed", Second(done))
	}
	return dotted(notes...)
}

// timelineAmount is an entry's amount; a ledger's has its sign.
func timelineAmount(e TimelineLine) string {
	if e.AmountPaise == nil {
		return ""
	}
	if e.Kind == "ledger" && *e.AmountPaise > 0 {
		return "+" + Rupees(*e.AmountPaise)
	}
	return Rupees(*e.AmountPaise)
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
