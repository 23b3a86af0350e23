package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tiffin/models"
	"tiffin/razorpay"
)

// CancelOrder ends an order for a customer (until the kitchen accepts) or staff (until it is handed over); money that was kept goes
// back by a refund whose row and job are written in the same transaction. Errors: models.ErrTooLate, models.ErrNotFound. Safe to repeat.
func (c *Cashier) CancelOrder(ctx context.Context, orderID int64, by, reason string) (*models.Order, error) {
	o, err := c.store.CancelOrder(ctx, orderID, by, reason, c.settings.RefundSpeed)
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// RequestRefund asks for a share of a paid order's money to go back, on a staff member's word; the order stays as it is. seen is what had
// been reserved for refunds when that was decided, so the same form twice gives back once.
// Errors: models.ErrBadMove when somebody was faster, models.ErrTooMuch, models.ErrTooSmall, models.ErrNotFound, models.ErrBadInput.
func (c *Cashier) RequestRefund(ctx context.Context, orderID int64, g models.Giving, seen models.Paise, reason string, staffID int64) (models.Refund, error) {
	return c.store.RequestRefund(ctx, orderID, g, seen, models.StaffActor(staffID), reason, c.settings.RefundSpeed)
}

// RetryRefund asks anew for a failed refund that waits for a person. Errors: models.ErrNotFound, models.ErrBadMove when it does not wait.
func (c *Cashier) RetryRefund(ctx context.Context, refundID string, staffID int64) error {
	return c.store.RetryRefund(ctx, refundID, models.StaffActor(staffID), c.settings.RefundSpeed)
}

// SendRefund asks the gateway to carry out one requested refund. The row leases itself to one sender; its id is both the idempotency
// header and the receipt, so any number of sends give the money back once. After an answer that was lost, the gateway's list is read
// first and ours adopted by its receipt; an empty list proves nothing, and the same request is simply sent again.
//
// An error means that the gateway gave none of the answers we know what to do with; the row says when the next try is due.
// Safe to repeat. Makes network calls.
func (c *Cashier) SendRefund(ctx context.Context, refundID string) error {
	task, found, err := c.store.ClaimRefund(ctx, refundID)
	if err != nil || !found {
		return err
	}
	models.FaultPoint("refund.after_lease")
	if task.Attempts > 1 {
		if adopted, err := c.adoptRefund(ctx, task); adopted || err != nil {
			return c.postpone(ctx, task, err)
		}
	}
	seen, err := c.gateway.CreateRefund(ctx, task.RazorpayPaymentID, razorpay.RefundParams{
		AmountPaise: int64(task.AmountPaise), Receipt: task.ID, IdempotencyKey: task.ID, Speed: task.Speed})
	models.FaultPoint("refund.answered_before_save")
	if err == nil {
		return c.recordRefund(ctx, seen, 0)
	}
	c.log.WarnContext(ctx, "refund not accepted yet", "refund_id", task.ID, "order_id", task.OrderID, "attempt", task.Attempts, "error", err)

	_, duplicate := razorpay.IsDuplicateReceipt(err)
	switch {
	case duplicate || razorpay.IsAlreadyRefunded(err) || razorpay.IsMoreThanLeft(err):
		// It is done already, by this request or by another hand: what the gateway lists settles it.
		adopted, adoptErr := c.adoptRefund(ctx, task)
		if adopted {
			return nil
		}
		return c.postpone(ctx, task, cmp.Or(adoptErr, err))
	case razorpay.IsLowBalance(err):
		return errors.Join(c.postpone(ctx, task, err),
			c.store.OpenTask(ctx, models.TaskLowBalance, "refunds", nil, "Refunds wait until the Razorpay balance is topped up"))
	case razorpay.OutcomeOf(err) == razorpay.Refused:
		return c.refuse(ctx, task, err)
	default: // unknown, rate limited, conflict, unauthorised, not found: the money is still owed
		return c.postpone(ctx, task, err)
	}
}

// adoptRefund records every refund the gateway lists for the payment and reports whether that settled ours.
func (c *Cashier) adoptRefund(ctx context.Context, task models.RefundTask) (settled bool, err error) {
	listed, err := c.gateway.ListPaymentRefunds(ctx, task.RazorpayPaymentID)
	if err != nil {
		return false, err
	}
	for _, seen := range ours(listed) {
		if err := c.recordRefund(ctx, seen, 0); err != nil {
			return false, err
		}
	}
	now, err := c.store.FindRefund(ctx, task.ID)
	return err == nil && now.Status != "requested", err
}

// ours puts what failed first, then what carries a receipt, then what was made outside: a request of ours is settled before
// somebody else's refund is weighed against it. The gateway lists the newest first.
func ours(listed []razorpay.Refund) []razorpay.Refund {
	rank := func(r razorpay.Refund) int {
		switch {
		case r.Status == "failed":
			return 0
		case r.Receipt != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(listed, func(a, b razorpay.Refund) int { return rank(a) - rank(b) })
	return listed
}

// postpone gives the lease back. A nil cause says that the row was settled.
func (c *Cashier) postpone(ctx context.Context, task models.RefundTask, cause error) error {
	if cause == nil {
		return nil
	}
	if err := c.store.PostponeRefund(ctx, task, cause.Error()); err != nil {
		return err
	}
	return fmt.Errorf("refund %s: %w", task.ID, cause)
}

func (c *Cashier) refuse(ctx context.Context, task models.RefundTask, cause error) error {
	return c.store.InTx(ctx, func(tx *models.Store) error {
		o, err := tx.LockOrder(ctx, task.OrderID)
		if err != nil {
			return err
		}
		return tx.RefuseRefund(ctx, o, task.ID, cause.Error(), false)
	})
}

// recordRefund writes what the gateway says about a refund, whoever asked for it, under the locks of its order and payment. eventID,
// when not 0, is closed in the same commit. Errors: models.ErrNotOurs when its payment is none of ours. Safe to repeat.
func (c *Cashier) recordRefund(ctx context.Context, seen razorpay.Refund, eventID int64) error {
	payment, err := c.store.FindPayment(ctx, seen.PaymentID)
	if errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("refund %s of %s: %w", seen.ID, seen.PaymentID, models.ErrNotOurs)
	}
	if err != nil {
		return err
	}
	err = c.store.InTx(ctx, func(tx *models.Store) error {
		o, err := tx.LockOrder(ctx, payment.OrderID)
		if err != nil {
			return err
		}
		if payment.Disposition != nil { // otherwise voided: the gateway returned what was never ours
			if err := recordSeenRefund(ctx, tx, o, payment.ID, seen); err != nil {
				return err
			}
		}
		if eventID != 0 {
			return tx.CloseEvent(ctx, eventID, "processed", &o.ID, "")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record refund %s: %w", seen.ID, err)
	}
	return nil
}

// recordSeenRefund is recordRefund inside a transaction that holds the order's lock.
func recordSeenRefund(ctx context.Context, tx *models.Store, o models.Order, paymentID int64, seen razorpay.Refund) error {
	p, err := tx.LockPayment(ctx, paymentID)
	if err != nil {
		return err
	}
	reference := cmp.Or(seen.AcquirerData["arn"], seen.AcquirerData["rrn"], seen.AcquirerData["utr"])
	_, err = tx.RecordRefund(ctx, o, p, models.SeenRefund{RazorpayRefundID: seen.ID, Receipt: seen.Receipt, AmountPaise: models.Paise(seen.AmountPaise),
		Status: seen.Status, BankReference: reference})
	return err
}
