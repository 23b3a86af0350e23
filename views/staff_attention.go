package views

import "tiffin/models"

// StaffAttentionView is the attention list: what the shop cannot settle by itself. It is normally empty.
type StaffAttentionView struct {
	Page    Page
	Staff   models.Staff
	Tasks   []models.Task // open ones this person may see, oldest first
	JobsURL string        // the queue's own page, for those who may look at it; empty: no link
	Notice  string        // what has just been done or was done meanwhile; empty: nothing
}

// AttentionTitle says what a task is about, by its kind. A kind this build does not know keeps its name.
func AttentionTitle(kind string) string {
	switch kind {
	case models.TaskAmountMismatch:
		return "A payment does not match its order"
	case models.TaskRefundFailed:
		return "A refund failed: give the money back another way"
	case models.TaskRefundOutside:
		return "A refund was made outside the shop"
	case models.TaskDeadEvent:
		return "A webhook event could not be processed"
	case models.TaskEventReplaced:
		return "A webhook event came twice with different contents"
	case models.TaskUnmapped:
		return "Money with this shop's marks fits no order"
	case models.TaskClaimRejected:
		return "Razorpay refuses to start a payment"
	case models.TaskDispute:
		return "A customer disputes a payment"
	case models.TaskBadSignature:
		return "Webhooks arrive with a wrong signature"
	case models.TaskLowBalance:
		return "Refunds wait for money at Razorpay"
	case models.TaskBroken:
		return "The books do not add up"
	default:
		return stateName(kind)
	}
}
