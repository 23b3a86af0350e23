package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"tiffin/mail"
	"tiffin/models"
	"tiffin/views"
)

// sendLetter sends one letter of the outbox and marks it sent. Between the two a crash may send it again, under the same Message-ID;
// a letter that is not queued any more is left alone. It makes a network call.
func sendLetter(ctx context.Context, store *models.Store, letters Letters, letterID int64) error {
	letter, err := store.FindLetter(ctx, letterID)
	if errors.Is(err, models.ErrNotFound) || err == nil && letter.Status != "queued" {
		return nil
	}
	if err != nil {
		return err
	}
	if letter.Kind == models.LetterReviewWanted {
		if skipped, err := store.SkipReviewLetter(ctx, letterID); err != nil || skipped {
			return err
		}
	}
	message, err := write(ctx, store, letters, letter)
	if err != nil {
		return err
	}
	if err := letters.Sender.Send(ctx, message); err != nil {
		if failErr := store.FailLetter(ctx, letterID, err.Error(), errors.Is(err, mail.ErrPermanent)); failErr != nil {
			return failErr
		}
		if errors.Is(err, mail.ErrPermanent) {
			return nil // the row says dead; trying again would not help
		}
		return fmt.Errorf("letter %d: %w", letterID, err)
	}
	models.FaultPoint("mail.sent_before_mark")
	return store.MarkLetterSent(ctx, letterID)
}

// write puts a letter's text together from its order as it is now.
func write(ctx context.Context, store *models.Store, letters Letters, letter models.Letter) (mail.Message, error) {
	order, err := store.FindOrder(ctx, letter.OrderID)
	if err != nil {
		return mail.Message{}, err
	}
	outlet, err := store.FindOutlet(ctx, order.OutletID)
	if err != nil {
		return mail.Message{}, err
	}
	view := views.MailView{Outlet: outlet, Order: order, OrderURL: letters.PublicURL + "/orders/" + order.Token}
	ctx = views.WithLanguage(ctx, order.Language)
	var text views.Letter
	switch letter.Kind {
	case models.LetterConfirmation:
		text, err = views.ConfirmationMail(ctx, view)
	case models.LetterRefundRequested, models.LetterRefundProcessed:
		var refund models.Refund
		if refund, err = store.FindRefund(ctx, letter.Ref); err != nil {
			break
		}
		var shares map[string]models.Parts
		if shares, err = store.ListShares(ctx, order.ID); err != nil {
			break
		}
		view.Refund = &refund
		if share, kept := shares[refund.ID]; kept {
			view.Share = &share
		}
		text, err = views.RefundMail(ctx, view)
	case models.LetterShortage:
		var shortage models.Shortage
		var id int64
		if id, err = strconv.ParseInt(letter.Ref, 10, 64); err == nil {
			shortage, err = store.FindShortage(ctx, id)
		}
		if err != nil {
			break
		}
		view.Shortage = &shortage
		text, err = views.ShortageMail(ctx, view)
	case models.LetterComplaintReceived, models.LetterComplaintAnswered, models.LetterComplaintResolved:
		text, err = writeComplaint(ctx, store, view, letter)
	case models.LetterReviewWanted:
		text, err = views.ReviewMail(ctx, view)
	default:
		err = fmt.Errorf("no text for letters of kind %q", letter.Kind)
	}
	if err != nil {
		return mail.Message{}, fmt.Errorf("write letter %d: %w", letter.ID, err)
	}
	host := "localhost"
	if shop, err := url.Parse(letters.PublicURL); err == nil && shop.Hostname() != "" {
		host = shop.Hostname()
	}
	return mail.Message{To: order.Email, Subject: text.Subject, Text: text.Text, HTML: text.HTML,
		MessageID: fmt.Sprintf("%s-%s@%s", strings.ReplaceAll(letter.Kind, "_", "-"), letter.Ref, host)}, nil
}

// sweepLetters sends the letters whose job was lost.
func sweepLetters(ctx context.Context, store *models.Store, letters Letters, log *slog.Logger) (int, error) {
	due, err := store.ClaimDueLetters(ctx, 50)
	if err != nil {
		return 0, err
	}
	for _, letterID := range due {
		if err := sendLetter(ctx, store, letters, letterID); err != nil {
			log.WarnContext(ctx, "letter not sent", "letter_id", letterID, "error", err)
		}
	}
	return len(due), nil
}
