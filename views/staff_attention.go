package views

import (
	"strconv"
	"time"

	"tiffin/models"
)

// StaffAttentionView is the attention list: what the shop cannot settle by itself. It is normally empty.
type StaffAttentionView struct {
	Page    Page
	Staff   models.Staff
	Tasks   []models.Task // open ones this person may see: by deadline, then oldest first
	JobsURL string        // the queue's own page, for those who may look at it; empty: no link
	Notice  string        // what has just been done or was done meanwhile; empty: nothing
}

// AttentionTitle says what a task is about, by its kind. A kind this build does not know keeps its name.
func AttentionTitle(kind string) string {
	switch kind {
	case models.TaskAmountMismatch:
		return "A payment does not match its order"
	case models.TaskSecondPayment:
		return "A customer paid twice"
	case models.TaskRefundFailed:
		return "A refund failed"
	case models.TaskRefundOutside:
		return "A refund was made outside the shop"
	case models.TaskDeadEvent:
		return "A webhook event could not be processed"
	case models.TaskDeadJob:
		return "A job was given up"
	case models.TaskEventReplaced:
		return "A webhook event came twice with different contents"
	case models.TaskUnmapped:
		return "Money with this shop's marks fits no order"
	case models.TaskIncomplete:
		return "Customers are not told all they have to be"
	case models.TaskComplaint:
		return "A customer complains"
	case models.TaskComplaintLate:
		return "A complaint is late"
	case models.TaskClaimRejected:
		return "Razorpay refuses to start a payment"
	case models.TaskStaleClaim:
		return "A customer cannot pay"
	case models.TaskDispute:
		return "A customer disputes a payment"
	case models.TaskDisputeLost:
		return "A dispute was lost"
	case models.TaskSilence:
		return "No webhooks arrive"
	case models.TaskBadSignature:
		return "Webhooks arrive with a wrong signature"
	case models.TaskLowBalance:
		return "Refunds wait for money at Razorpay"
	case models.TaskOverdue:
		return "Money is later than promised"
	case models.TaskCashBack:
		return "Cash is to be given back"
	case models.TaskBroken:
		return "The books do not add up"
	default:
		return stateName(kind)
	}
}

// AttentionText says in a sentence or two what happened, with the amount, and what the shop does or needs. Where the rows it is about tell
// no amount, and for kinds whose story is told where they are opened, it is what was written down then.
func AttentionText(t models.Task, now time.Time) string {
	order := "an order"
	if t.OrderNumber != nil {
		order = "order " + strconv.Itoa(*t.OrderNumber)
	}
	switch t.Kind {
	case models.TaskStaleClaim:
		return "Razorpay has not answered whether it made the payment for " + order + ". Until it does, its customer cannot pay; the shop keeps asking."
	case models.TaskSilence:
		since := "No webhook has ever come"
		if t.SinceAt != nil {
			since = "No webhook since " + When(inEnglish, *t.SinceAt, now)
		}
		return since + ", and payments have come. The shop finds them by asking, a little later. Look at the webhook in Razorpay's dashboard: " +
			"is it switched on, are its address and secret right? After a day of failures Razorpay switches it off."
	}
	if t.AmountPaise == nil {
		return t.Detail
	}
	amount := Rupees(*t.AmountPaise)
	switch t.Kind {
	case models.TaskAmountMismatch:
		return amount + " came for " + order + ", which asks for another amount. All of it goes back by itself."
	case models.TaskSecondPayment:
		return "The customer of " + order + " paid " + amount + " once more after it was paid. The second payment goes back by itself."
	case models.TaskRefundFailed:
		return "The customer of " + order + " has not got " + amount + " back: Razorpay could not refund it."
	case models.TaskRefundOutside:
		return amount + " of " + order + " was given back in Razorpay's dashboard, and not here. It is counted as returned."
	case models.TaskUnmapped:
		if t.OrderID == nil {
			return t.Detail + ". Look it up in Razorpay's dashboard and give it back there."
		}
		if t.DueAt == nil {
			return amount + " was paid for an order this shop does not know, and is on its way back."
		}
		return amount + " was paid for an order this shop does not know. It goes back by itself" + byThen(t.DueAt, now) + ". Look up payment " + t.Ref + " in Razorpay's dashboard if you wonder whose it is."
	case models.TaskDispute:
		return "A bank asks " + amount + " of " + order + " back. Answer it in Razorpay's dashboard" + byThen(t.DueAt, now) + "; without an answer the money is lost."
	case models.TaskDisputeLost:
		return "The bank took " + amount + " of " + order + " back. There is nothing left to do at Razorpay."
	case models.TaskCashBack:
		return "Give " + amount + " of " + order + " back by hand, then say so on the order's page."
	case models.TaskLowBalance:
		return "Refunds of " + amount + " wait until the balance at Razorpay is topped up."
	}
	return t.Detail
}

func byThen(due *time.Time, now time.Time) string {
	if due == nil {
		return ""
	}
	return " by " + When(inEnglish, *due, now)
}

// attentionAction is the one thing to do about a task: a press that does it (path is where it is posted), or a page to go to.
type attentionAction struct {
	label, path string
	press       bool
}

// actionOf gives a task its one action. What only informs is seen; what can be tried again is; for the rest somebody looks at the order.
func actionOf(t models.Task) attentionAction {
	switch t.Kind {
	case models.TaskDeadEvent:
		return attentionAction{"Try the event again", retryURL(t.ID), true}
	case models.TaskDeadJob:
		return attentionAction{"Try the job again", retryURL(t.ID), true}
	case models.TaskLowBalance:
		return attentionAction{"Topped up: send them now", retryURL(t.ID), true}
	case models.TaskSilence:
		return attentionAction{"Look again", retryURL(t.ID), true}
	case models.TaskDispute:
		if t.OrderID != nil {
			return attentionAction{"See the evidence", staffOrderURL(*t.OrderID) + "/timeline", false}
		}
	case models.TaskComplaint, models.TaskComplaintLate:
		return complaintAction(t)
	case models.TaskIncomplete:
		return attentionAction{"Fill it in", "/staff/outlet", false}
	case models.TaskRefundFailed:
		return attentionAction{"Send the refund again", retryURL(t.ID), true}
	case models.TaskOverdue, models.TaskStaleClaim, models.TaskCashBack:
		if t.OrderID != nil {
			return attentionAction{"Open the order", staffOrderURL(*t.OrderID), false}
		}
	case models.TaskBroken:
		if t.OrderID != nil {
			return attentionAction{"Open the order", staffOrderURL(*t.OrderID), false}
		}
		return attentionAction{"Look again", retryURL(t.ID), true}
	case models.TaskUnmapped:
		if t.OrderID != nil {
			return attentionAction{"Give it back now", retryURL(t.ID), true}
		}
		return attentionAction{"Settled in the dashboard", closeURL(t.ID), true}
	}
	return attentionAction{"Seen", closeURL(t.ID), true}
}

func closeURL(taskID int64) string { return "/staff/attention/" + id(taskID) + "/close" }

func retryURL(taskID int64) string { return "/staff/attention/" + id(taskID) + "/retry" }

// IsSeen reports whether a task may be taken off the list by who has seen it: its one action says so. The others leave it when their
// cause is gone.
func IsSeen(t models.Task) bool {
	action := actionOf(t)
	return action.press && action.path == closeURL(t.ID)
}

// Age writes how long something has lasted: "just now", "5 min", "3 h", "2 days".
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " days"
	}
}

// attentionAge says how old a task is, and how long there is for it.
func attentionAge(t models.Task, now time.Time) string {
	age := "Since " + When(inEnglish, t.OpenedAt, now)
	if waited := now.Sub(t.OpenedAt); waited >= time.Minute {
		age += ", " + Age(waited)
	}
	switch {
	case t.DueAt == nil:
		return age
	case now.After(*t.DueAt):
		return age + ". The deadline has passed."
	default:
		return age + ". " + Age(t.DueAt.Sub(now)) + " left."
	}
}
