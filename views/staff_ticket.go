package views

import (
	"context"
	"strconv"
	"time"

	"tiffin/models"
)

// StaffTicketView is one complaint as staff see it.
type StaffTicketView struct {
	Page      Page
	Staff     models.Staff
	Order     models.Order // with Items
	Complaint models.Complaint
	Payments  []models.Payment
	Refunds   []models.Refund
	Who       map[string]string // name of each message's author
	Typed     TicketFields
	Errors    map[string]string // by field name
	Notice    string
	AnswerKey string // of the form that answers
	EndKey    string // of the form that resolves
}

// TicketFields are the fields as typed. They are kept through every error.
type TicketFields struct{ Answer, Outcome, Body string }

// StaffTicketsView is the list of complaints: open ones by the clock that runs out next, then the latest that were resolved.
type StaffTicketsView struct {
	Page       Page
	Complaints []models.Complaint
}

// StaffTicketURL is a complaint's page for staff.
func StaffTicketURL(complaintID int64) string { return "/staff/tickets/" + id(complaintID) }

// clockText says which clock of a complaint runs out next, and how long there is.
func clockText(ctx context.Context, c models.Complaint, now time.Time) string {
	if c.DueAt == nil {
		return "Resolved " + When(ctx, orElse(c.ResolvedAt, now), now) + "."
	}
	what := "Resolve it by "
	if c.Status == models.ComplaintOpen {
		what = "Acknowledge it by "
	}
	if now.After(*c.DueAt) {
		return what + dayAndTime(ctx, *c.DueAt) + ". The deadline passed " + Age(now.Sub(*c.DueAt)) + " ago."
	}
	return what + dayAndTime(ctx, *c.DueAt) + ", " + Age(c.DueAt.Sub(now)) + " left."
}

func isOverdue(c models.Complaint, now time.Time) bool { return c.DueAt != nil && now.After(*c.DueAt) }

// outcomeChoice is an outcome as whoever resolves a complaint chooses it.
func outcomeChoice(outcome string) string {
	switch outcome {
	case models.OutcomeRefunded:
		return "Money given back"
	case models.OutcomeMadeGood:
		return "Made good: brought or cooked again"
	case models.OutcomeExplained:
		return "Explained"
	default:
		return "Declined"
	}
}

func ticketTitle(c models.Complaint) string {
	return "Complaint " + c.SpokenNumber()
}

func staffSaid(m models.ComplaintMessage) string {
	if m.BlankedAt != nil {
		return "These words were deleted."
	}
	return m.Body
}

func ticketOrder(v StaffTicketView) string { return "Order " + strconv.Itoa(v.Order.Number) }

// complaintAction leads from the attention list to a complaint: a task's ref is its id.
func complaintAction(t models.Task) attentionAction {
	return attentionAction{"Open the complaint", "/staff/tickets/" + t.Ref, false}
}
