package views

import (
	"context"
	"strconv"
	"time"

	"tiffin/models"
)

// NewComplaintView is the form that opens a complaint about an order, with those it has.
type NewComplaintView struct {
	Page       Page
	Order      models.Order // with Items
	Kinds      []string     // what can be complained about
	Complaints []models.Complaint
	Typed      ComplaintFields
	Errors     map[string]string // by field name, for people
	Notice     string            // why it is shown again
	FormKey    string
}

// ComplaintFields are the fields as typed. They are kept through every error.
type ComplaintFields struct {
	Kind, Body string
	Lines      []int
}

// ComplaintView is one complaint as its customer sees it.
type ComplaintView struct {
	Page      Page
	Order     models.Order // with Items
	Complaint models.Complaint
	Payments  []models.Payment
	Refunds   []models.Refund
	Typed     string            // a message that was not taken
	Errors    map[string]string // by field name
	Notice    string
	FormKey   string
}

func complaintsURL(o models.Order) string { return "/orders/" + o.Token + "/complaints" }

func complaintURL(o models.Order, number string) string { return complaintsURL(o) + "/" + number }

// ComplaintKind says what a complaint is about.
func ComplaintKind(ctx context.Context, kind string) string {
	switch kind {
	case models.ComplaintMissing:
		return T(ctx, "Something is missing")
	case models.ComplaintWrong:
		return T(ctx, "Something else came")
	case models.ComplaintLate:
		return T(ctx, "Cold or late")
	case models.ComplaintQuality:
		return T(ctx, "The quality of the food")
	case models.ComplaintPayment:
		return T(ctx, "A payment or a refund")
	default:
		return T(ctx, "Something else")
	}
}

// complaintOutcome says how a complaint ended.
func complaintOutcome(ctx context.Context, outcome string) string {
	switch outcome {
	case models.OutcomeRefunded:
		return T(ctx, "Money given back")
	case models.OutcomeMadeGood:
		return T(ctx, "Made good")
	case models.OutcomeExplained:
		return T(ctx, "Explained")
	case models.OutcomeDeclined:
		return T(ctx, "Not accepted")
	default:
		return outcome
	}
}

// complaintState is where a complaint stands, in two words.
func complaintState(ctx context.Context, c models.Complaint) string {
	switch c.Status {
	case models.ComplaintResolved:
		return T(ctx, "Settled")
	case models.ComplaintAcknowledged:
		return T(ctx, "Being looked into")
	default:
		return T(ctx, "Received")
	}
}

// complaintNext says what happens next and by when, and that a clock has run out if it has.
func complaintNext(ctx context.Context, c models.Complaint, now time.Time) string {
	switch {
	case c.Status == models.ComplaintResolved && c.ResolvedAt != nil:
		return T(ctx, "Settled on %s: %s. If it is not, write again below: the complaint is then open once more.", Date(ctx, *c.ResolvedAt), complaintOutcome(ctx, c.Outcome))
	case c.Status == models.ComplaintOpen && now.After(c.AcknowledgeBy):
		return T(ctx, "We should have answered by %s, sorry. Please write to our grievance officer.", dayAndTime(ctx, c.AcknowledgeBy))
	case c.Status == models.ComplaintOpen:
		return T(ctx, "We answer by %s and settle it by %s.", dayAndTime(ctx, c.AcknowledgeBy), Date(ctx, c.ResolveBy))
	case now.After(c.ResolveBy):
		return T(ctx, "We should have settled it by %s, sorry. Please write to our grievance officer.", Date(ctx, c.ResolveBy))
	default:
		return T(ctx, "Somebody has read it. We settle it by %s.", Date(ctx, c.ResolveBy))
	}
}

func dayAndTime(ctx context.Context, at time.Time) string {
	return Date(ctx, at) + ", " + Clock(ctx, at)
}

// grievanceOfficer names whom to write to above the shop's counter; empty where the outlet has not said.
func grievanceOfficer(ctx context.Context, o models.Outlet) string {
	if o.GrievanceName == "" || o.GrievanceContact == "" {
		return ""
	}
	return T(ctx, "Grievance officer: %s, %s", o.GrievanceName, o.GrievanceContact)
}

// saidBy names a message's author for the customer: the shop's people have no names there.
func saidBy(ctx context.Context, m models.ComplaintMessage) string {
	if m.Author == models.ActorCustomer {
		return T(ctx, "You")
	}
	return T(ctx, "The restaurant")
}

// saidWords are a message's words, or that they are gone.
func saidWords(ctx context.Context, m models.ComplaintMessage) string {
	if m.BlankedAt != nil {
		return T(ctx, "These words were deleted.")
	}
	return m.Body
}

// complaintDishes names the lines a complaint is about.
func complaintDishes(o models.Order, lines []int) (names []string) {
	for _, i := range o.Items {
		for _, line := range lines {
			if line == i.Line {
				names = append(names, strconv.Itoa(i.Qty)+" × "+i.Name)
			}
		}
	}
	return names
}

func isAbout(lines []int, line int) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}

// moneyFacts says of each payment and refund of an order where it is, with the numbers a bank finds it by: for a complaint about money.
func moneyFacts(ctx context.Context, payments []models.Payment, refunds []models.Refund) (facts []string) {
	for _, p := range payments {
		name := text(p.RazorpayPaymentID)
		amount := Rupees(p.AmountPaise)
		switch {
		case p.Provider == "cash":
			facts = append(facts, T(ctx, "%s was paid in cash.", amount))
		case p.IsKept():
			facts = append(facts, T(ctx, "Payment %s of %s has reached us and pays this order.", name, amount))
		case p.Disposition != nil:
			facts = append(facts, T(ctx, "Payment %s of %s has reached us and goes back to you.", name, amount))
		case p.GWStatus == "failed":
			facts = append(facts, T(ctx, "Payment %s of %s did not go through. If your bank has taken the money, it returns it within five working days.", name, amount))
		case p.GWStatus == "voided":
			facts = append(facts, T(ctx, "Payment %s of %s was released by the bank: nothing was taken.", name, amount))
		default:
			facts = append(facts, T(ctx, "Payment %s of %s is not confirmed yet.", name, amount))
		}
	}
	for _, r := range refunds {
		amount := Rupees(r.AmountPaise)
		var fact string
		switch r.Status {
		case "requested":
			fact = T(ctx, "A refund of %s was asked for on %s.", amount, Date(ctx, r.RequestedAt))
		case "submitted":
			fact = T(ctx, "A refund of %s is with the bank since %s.", amount, Date(ctx, orElse(r.SubmittedAt, r.RequestedAt)))
		case "processed":
			fact = T(ctx, "A refund of %s was carried out on %s.", amount, Date(ctx, orElse(r.ProcessedAt, r.RequestedAt)))
		case "failed":
			fact = T(ctx, "A refund of %s did not reach your bank; we send it again.", amount)
		default:
			continue
		}
		facts = append(facts, fact)
		if r.RazorpayRefundID != nil {
			facts = append(facts, T(ctx, "Its refund id is %s.", *r.RazorpayRefundID))
		}
		if r.BankReference != "" {
			facts = append(facts, T(ctx, "Your bank finds it by the reference %s (RRN or ARN).", r.BankReference))
		}
	}
	if len(facts) == 0 {
		facts = append(facts, T(ctx, "No payment for this order has reached us."))
	}
	return facts
}

func orElse(at *time.Time, other time.Time) time.Time {
	if at == nil {
		return other
	}
	return *at
}

func (v NewComplaintView) tab(ctx context.Context) Page {
	p := v.Page
	p.Title = T(ctx, "Complaint about order %s", strconv.Itoa(v.Order.Number))
	return p
}

func (v ComplaintView) tab(ctx context.Context) Page {
	p := v.Page
	p.Title = T(ctx, "Complaint %s", v.Complaint.SpokenNumber())
	return p
}

// mayReview reports whether the order's page asks how it was: handed over and paid.
func mayReview(v OrderView) bool {
	return v.Ticket != nil && v.Ticket.Status == models.TicketHandedOver && v.Order.Status == models.OrderPaid
}
