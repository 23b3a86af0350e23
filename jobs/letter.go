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
	if errors.Is(err, errNothingToSay) {
		return store.SkipLetter(ctx, letterID)
	}
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

// errNothingToSay says that what a letter was about is over.
var errNothingToSay = errors.New("nothing to say any more")

// write puts a letter's text together from its order as it is now.
func write(ctx context.Context, store *models.Store, letters Letters, letter models.Letter) (mail.Message, error) {
	if letter.Kind == models.LetterSignInCode {
		return writeCode(ctx, store, letters, letter)
	}
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
	case models.LetterCancelled:
		text, err = views.CancelledMail(ctx, view)
	case models.LetterAccepted, models.LetterReady, models.LetterOnItsWay:
		if order.Status == models.OrderCancelled {
			return mail.Message{}, errNothingToSay
		}
		text, err = views.StepMail(ctx, view, letter.Kind)
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
	return mail.Message{To: order.Email, Subject: text.Subject, Text: text.Text, HTML: text.HTML,
		MessageID: fmt.Sprintf("%s-%s@%s", strings.ReplaceAll(letter.Kind, "_", "-"), letter.Ref, hostOf(letters.PublicURL))}, nil
}

// hostOf is the shop's own name in the net.
func hostOf(publicURL string) string {
	if shop, err := url.Parse(publicURL); err == nil && shop.Hostname() != "" {
		return shop.Hostname()
	}
	return "localhost"
}

// writeCode makes the code of a sign-in and the letter that alone knows it. A letter that has to be written again has another code, and so
// another Message-ID. Errors: errNothingToSay when the code was used, replaced, or its time is over.
func writeCode(ctx context.Context, store *models.Store, letters Letters, letter models.Letter) (mail.Message, error) {
	id, err := strconv.ParseInt(letter.Ref, 10, 64)
	if err != nil {
		return mail.Message{}, fmt.Errorf("letter %d: ref of a code: %w", letter.ID, err)
	}
	request, code, err := store.WriteCode(ctx, id)
	if errors.Is(err, models.ErrNotFound) {
		return mail.Message{}, errNothingToSay
	}
	if err != nil {
		return mail.Message{}, fmt.Errorf("write letter %d: %w", letter.ID, err)
	}
	outlets, err := store.ListOutlets(ctx)
	if err != nil {
		return mail.Message{}, fmt.Errorf("write letter %d: %w", letter.ID, err)
	}
	view := views.CodeMailView{Code: code, Site: hostOf(letters.PublicURL)}
	if len(outlets) == 1 {
		view.Site = outlets[0].Name
	}
	text, err := views.CodeMail(views.WithLanguage(ctx, request.Language), view)
	if err != nil {
		return mail.Message{}, fmt.Errorf("write letter %d: %w", letter.ID, err)
	}
	return mail.Message{To: request.Email, Subject: text.Subject, Text: text.Text, HTML: text.HTML,
		MessageID: fmt.Sprintf("sign-in-code-%s-%d@%s", letter.Ref, letter.Attempts+1, hostOf(letters.PublicURL))}, nil
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
