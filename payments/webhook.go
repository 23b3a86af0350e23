package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"tiffin/models"
	"tiffin/razorpay"
)

// maxWebhookBody is far above any event Razorpay sends (the largest published sample is 4 KB); more is refused unread.
const maxWebhookBody = 256 << 10

// maxEventID is the longest header value taken as an id; real ones have 14 characters. The header is not signed.
const maxEventID = 100

// Delivery is one webhook request, as it came off the wire.
type Delivery struct {
	Body      []byte // the raw bytes; the signature is over these
	Signature string // X-Razorpay-Signature
	EventID   string // X-Razorpay-Event-Id; may be empty
}

// ReceiveWebhook checks a delivery's signature over its raw bytes, before anything reads them, and stores it together with the job
// that will process it. It makes no network call. fresh is false when the event was stored before: answer 2xx all the same.
//
// Errors: ErrBadSignature and ErrTooLarge (nothing stored), or the database's: answer 5xx, so that it is sent again. Safe to repeat.
func (c *Cashier) ReceiveWebhook(ctx context.Context, d Delivery) (fresh bool, err error) {
	if len(d.Body) > maxWebhookBody {
		return false, ErrTooLarge
	}
	if !razorpay.VerifyWebhook(c.settings.WebhookSecret, d.Body, d.Signature) &&
		!razorpay.VerifyWebhook(c.settings.WebhookSecretPrevious, d.Body, d.Signature) {
		return false, ErrBadSignature
	}
	e := models.Event{Provider: "razorpay", EventID: d.EventID, EventType: "unreadable", Body: d.Body}
	if e.EventID == "" || len(e.EventID) > maxEventID || strings.ToValidUTF8(e.EventID, "") != e.EventID {
		sum := sha256.Sum256(d.Body)
		e.EventID = "sha256:" + hex.EncodeToString(sum[:])
	}
	if said, err := razorpay.ParseEvent(d.Body); err == nil {
		e.EventType, e.RazorpayPaymentID, e.RazorpayOrderID, e.RazorpayRefundID = said.Kind, said.PaymentID, said.OrderID, said.RefundID
		if !said.CreatedAt.IsZero() {
			e.EventAt = &said.CreatedAt
		}
	}
	models.FaultPoint("hook.before_insert")
	err = c.store.InTx(ctx, func(tx *models.Store) error {
		fresh, err = tx.RecordEvent(ctx, &e)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store webhook: %w", err)
	}
	models.FaultPoint("hook.after_insert")
	return fresh, nil
}

// ProcessEvent acts on one stored event: whatever it says, the gateway is asked, and the answer recorded. Events may come in any order
// and be processed any number of times. Kinds that mean nothing here, and money of others, are closed as ignored.
// An error leaves the event open and says when it is due again. Safe to repeat. Makes network calls.
func (c *Cashier) ProcessEvent(ctx context.Context, eventID int64) error {
	e, err := c.store.FindEvent(ctx, eventID)
	if errors.Is(err, models.ErrNotFound) || err == nil && e.Status != "received" {
		return nil // purged or done
	}
	if err != nil {
		return err
	}
	models.FaultPoint("worker.after_lease")
	said, err := razorpay.ParseEvent(e.Body)
	if err != nil {
		return c.store.CloseEvent(ctx, eventID, "ignored", nil, "cannot be read")
	}
	if c.settings.AccountID != "" && said.AccountID != "" && said.AccountID != c.settings.AccountID {
		return c.store.CloseEvent(ctx, eventID, "ignored", nil, "of another account")
	}
	err = c.actOn(ctx, e, said)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, models.ErrNotOurs):
		return c.store.CloseEvent(ctx, eventID, "ignored", nil, "not one of our payments")
	case razorpay.OutcomeOf(err) == razorpay.Refused && !errors.Is(err, models.ErrAmountMismatch):
		return c.store.CloseEvent(ctx, eventID, "ignored", nil, err.Error()) // the gateway knows no such payment
	}
	if failErr := c.store.FailEvent(ctx, eventID, err.Error()); failErr != nil {
		return failErr
	}
	return fmt.Errorf("event %s (%s): %w", e.EventID, e.EventType, err)
}

func (c *Cashier) actOn(ctx context.Context, e models.Event, said razorpay.Event) error {
	if !razorpay.ValidID("pay", said.PaymentID) {
		return c.store.CloseEvent(ctx, e.ID, "ignored", nil, "about no payment")
	}
	if said.RefundID == "" && said.DisputeID == "" {
		_, err := c.recordPayment(ctx, said.PaymentID, models.ViaWebhook, e.ID)
		return err
	}
	// The refund's or dispute's own state, not the payment's, is the news; but its payment must be known first.
	if _, err := c.recordPayment(ctx, said.PaymentID, models.ViaWebhook, 0); err != nil {
		return err
	}
	if said.DisputeID != "" {
		return c.hearDispute(ctx, said, e.ID)
	}
	seen, err := c.gateway.FetchRefund(ctx, said.RefundID)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", said.RefundID, err)
	}
	return c.recordRefund(ctx, seen, e.ID)
}

// stripBatch is how many bodies are stripped before the next are read.
const stripBatch = 200

// StripEvents takes everything that is told of people out of the bodies of events that are a week old. Safe to repeat and to run twice at once.
func (c *Cashier) StripEvents(ctx context.Context) (stripped int, err error) {
	for {
		old, err := c.store.ListOldBodies(ctx, stripBatch)
		for _, e := range old {
			if err := c.store.StripEvent(ctx, e.ID, razorpay.StripEvent(e.Body)); err != nil {
				return stripped, err
			}
			stripped++
		}
		if err != nil || len(old) < stripBatch {
			return stripped, err
		}
	}
}
