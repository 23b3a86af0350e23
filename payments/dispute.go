package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// recordDispute writes what the gateway says about a dispute over a payment that is recorded already. eventID, when not 0, is closed in
// the same commit. Errors: models.ErrNotOurs when its payment is none of ours. Safe to repeat.
func (c *Cashier) recordDispute(ctx context.Context, seen razorpay.Dispute, eventID int64) error {
	payment, err := c.store.FindPayment(ctx, seen.PaymentID)
	if errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("dispute %s of %s: %w", seen.ID, seen.PaymentID, models.ErrNotOurs)
	}
	if err != nil {
		return err
	}
	d := models.Dispute{RazorpayDisputeID: seen.ID, PaymentID: payment.ID, OrderID: payment.OrderID, AmountPaise: models.Paise(seen.AmountPaise),
		DeductedPaise: models.Paise(seen.AmountDeductedPaise), Currency: seen.Currency, ReasonCode: seen.ReasonCode, Phase: seen.Phase, Status: seen.Status,
		RespondBy: known(seen.RespondByAt), OpenedAt: known(seen.CreatedAt)}
	err = c.store.InTx(ctx, func(tx *models.Store) error {
		if _, err := tx.LockOrder(ctx, payment.OrderID); err != nil {
			return err
		}
		if err := tx.RecordDispute(ctx, d); err != nil {
			return err
		}
		if eventID != 0 {
			return tx.CloseEvent(ctx, eventID, "processed", &payment.OrderID, "")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record dispute %s: %w", seen.ID, err)
	}
	return nil
}

// hearDispute acts on an event about a dispute: the gateway is asked, since events come in any order. Should it not answer questions about
// disputes for this account, the signed event is what we know: nothing but a deadline hangs on it.
func (c *Cashier) hearDispute(ctx context.Context, said razorpay.Event, eventID int64) error {
	seen, err := c.gateway.FetchDispute(ctx, said.DisputeID)
	if razorpay.IsWithheld(err) && said.Dispute != nil {
		c.log.WarnContext(ctx, "the gateway does not show a dispute it told of", "razorpay_dispute_id", said.DisputeID, "error", err)
		seen, err = *said.Dispute, nil
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", said.DisputeID, err)
	}
	if seen.PaymentID != said.PaymentID {
		return fmt.Errorf("dispute %s is of %s, the event said %s: %w", seen.ID, seen.PaymentID, said.PaymentID, models.ErrNotOurs)
	}
	return c.recordDispute(ctx, seen, eventID)
}

// disputesRead is how many of the newest disputes are looked at. A restaurant with more open at once has another problem.
const disputesRead = 100

// ReconcileDisputes reads the account's newest disputes and records what has changed: one whose webhook was lost is found before its
// deadline, and one that is over leaves the attention list. Those over payments this shop does not know are left. found counts the news. Safe to repeat. Makes network calls.
func (c *Cashier) ReconcileDisputes(ctx context.Context) (found int, err error) {
	listed, err := c.gateway.ListDisputes(ctx, disputesRead)
	if razorpay.IsWithheld(err) {
		c.log.WarnContext(ctx, "the gateway does not list disputes", "error", err)
		return 0, nil // webhooks tell of them all the same
	}
	if err != nil {
		return 0, err
	}
	for _, seen := range listed {
		known, err := c.store.FindDispute(ctx, seen.ID)
		if err != nil && !errors.Is(err, models.ErrNotFound) {
			return found, err
		}
		if err == nil && known.Status == seen.Status && known.Phase == seen.Phase && (known.RespondBy == nil || known.RespondBy.Equal(seen.RespondByAt)) {
			continue
		}
		if err := c.recordDispute(ctx, seen, 0); err == nil {
			found++
		} else if !errors.Is(err, models.ErrNotOurs) {
			return found, err
		}
	}
	return found, nil
}

// known is an instant the gateway named; nil for none.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
