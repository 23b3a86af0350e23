package jobs

import (
	"context"
	"fmt"

	"tiffin/models"
	"tiffin/views"
)

// writeComplaint puts a letter about a complaint together: what it says of the order's money is as it is now.
func writeComplaint(ctx context.Context, store *models.Store, view views.MailView, letter models.Letter) (text views.Letter, err error) {
	care := views.CareMailView{Mail: view}
	if letter.Kind == models.LetterComplaintReceived {
		care.Complaint, err = store.FindComplaintReceived(ctx, letter.Ref)
	} else {
		var said models.ComplaintMessage
		care.Complaint, said, err = store.FindComplaintSaying(ctx, letter.Ref)
		care.Said = said.Body
	}
	if err != nil {
		return text, fmt.Errorf("complaint of letter %d: %w", letter.ID, err)
	}
	if care.Payments, err = store.ListPayments(ctx, letter.OrderID); err != nil {
		return text, err
	}
	if care.Refunds, err = store.ListRefunds(ctx, letter.OrderID); err != nil {
		return text, err
	}
	switch letter.Kind {
	case models.LetterComplaintReceived:
		return views.ComplaintReceivedMail(ctx, care)
	case models.LetterComplaintAnswered:
		return views.ComplaintAnsweredMail(ctx, care)
	default:
		return views.ComplaintResolvedMail(ctx, care)
	}
}
