package views

import (
	"strings"
	"time"

	"tiffin/models"
)

// stateName writes a stored state for staff: "handed_over" is "handed over".
func stateName(state string) string { return strings.ReplaceAll(state, "_", " ") }

// moneyName is models.PaymentLabel in words.
func moneyName(label string) string {
	switch label {
	case "partially_refunded":
		return "partly refunded"
	case "refunding":
		return "refund on its way"
	default:
		return label
	}
}

// fate says what became of a captured payment, and why.
func fate(p models.Payment) string {
	switch {
	case p.IsKept():
		return "pays this order"
	case p.Disposition != nil:
		return dotted("goes back", stateName(text(p.Reason)))
	default:
		return dotted(stateName(p.ErrorReason), p.ErrorDescription)
	}
}

func refundFate(r models.Refund) string {
	return dotted(text(r.RazorpayRefundID), text(r.GivenBy), r.BankReference, r.LastError)
}

// change writes one line of an order's history.
func changeText(c OrderChange) string {
	if c.Was == "" {
		return c.Subject + " " + stateName(c.Became)
	}
	return c.Subject + " " + stateName(c.Was) + " → " + stateName(c.Became)
}

// actorName is who did something: "staff:3" stays as it is, for a name may be two people's.
func actorName(actor string) string {
	switch actor {
	case "", "shop":
		return "the shop"
	default:
		return actor
	}
}

// disputeFate says what a dispute needs or has come to.
func disputeFate(d models.Dispute, now time.Time) string {
	switch d.Status {
	case "open":
		if d.RespondBy == nil {
			return "answer it in Razorpay's dashboard"
		}
		return "answer it in Razorpay's dashboard by " + When(inEnglish, *d.RespondBy, now)
	case "under_review":
		return "answered, the bank decides"
	case "lost":
		return "lost, " + Rupees(d.DeductedPaise) + " taken"
	default:
		return stateName(d.Status)
	}
}
