package models

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Refund is one request to give money back. Its ID is the idempotency key and the receipt the gateway is told, so it is made once
// and sent any number of times.
type Refund struct {
	ID               string // uuid
	PaymentID        int64
	OrderID          int64
	Provider         string // its payment's: razorpay, cash
	AmountPaise      Paise
	Kind             string // auto, cancel, staff, external
	Reason           string
	RequestedBy      string // shop, customer, staff:<id>, razorpay
	Speed            string // normal, optimum
	RetryOf          *string
	Status           string // requested, submitted, processed, failed, void
	RazorpayRefundID *string
	RazorpayStatus   string
	BankReference    string
	Attempts         int
	NextAttemptAt    time.Time
	LastError        string
	RequestedAt      time.Time
	HoldUntil        *time.Time // not sent before: staff may look first
	SubmittedAt      *time.Time
	ProcessedAt      *time.Time
	FailedAt         *time.Time
	GivenBy          *string // cash: staff:<id> who gave it back
}

// createRefund stores one request and its job, or, of cash, what a person has to do. The payment's reserve has been raised already, by a guarded UPDATE of the caller.
// Safe to repeat with the same id. Inside InTx only.
func (s *Store) createRefund(ctx context.Context, r Refund) error {
	created := s.exec(ctx, `INSERT INTO refunds (id, payment_id, provider, order_id, amount_paise, kind, reason, requested_by, speed, retry_of, hold_until, next_attempt_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, COALESCE(?, shop_now())) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.PaymentID, cmp.Or(r.Provider, "razorpay"), r.OrderID, r.AmountPaise, r.Kind, r.Reason, r.RequestedBy, r.Speed, r.RetryOf, r.HoldUntil, r.HoldUntil)
	if created.Error != nil {
		return fmt.Errorf("refund of payment %d: %w", r.PaymentID, created.Error)
	}
	if created.RowsAffected == 0 {
		return nil
	}
	if r.Provider == "cash" {
		return s.OpenTask(ctx, TaskCashBack, r.ID, &r.OrderID, fmt.Sprintf("Give %d paise back in cash", r.AmountPaise))
	}
	return s.Enqueue(ctx, SendRefundArgs{RefundID: r.ID})
}

// reserve raises the payment's reserve by amount, never above what was captured for the order. Errors: ErrBadMove.
func (s *Store) reserve(ctx context.Context, paymentID int64, amount Paise) error {
	r := s.exec(ctx, `UPDATE payments SET refund_reserved_paise = refund_reserved_paise + ?
		WHERE id = ? AND disposition = 'kept' AND refund_reserved_paise + ? <= amount_paise - customer_fee_paise`, amount, paymentID, amount)
	if r.Error == nil && r.RowsAffected == 0 {
		return fmt.Errorf("payment %d has not so much left to give back: %w", paymentID, ErrBadMove)
	}
	return r.Error
}

// CancelOrder ends an order: an unpaid one at once, a due one together with its ticket, a paid one also with the refund of all that is left of
// its money. A customer may do so until the kitchen accepts, staff until the food is handed over, and a due one after that as well: it came back.
// The order as it is afterwards is returned. Errors: ErrNotFound, ErrTooLate. Safe to repeat: a cancelled order stays as it is.
func (s *Store) CancelOrder(ctx context.Context, orderID int64, by, reason, speed string) (o Order, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, by); err != nil {
			return err
		}
		if o, err = tx.LockOrder(ctx, orderID); err != nil {
			return err
		}
		switch o.Status {
		case OrderCancelled, OrderExpired:
			return nil
		case OrderDue:
			if err := tx.cancelFulfilment(ctx, o, by); err != nil {
				return err
			}
		case OrderPaid:
			if err := tx.returnKept(ctx, o, by, reason, speed); err != nil {
				return err
			}
		}
		if err := tx.Audit(ctx, by, "cancel_order", &o.ID, reason); err != nil {
			return err
		}
		return tx.MoveOrder(ctx, &o, OrderCancelled, Move{By: by, Reason: reason})
	})
	return o, err
}

// returnKept cancels the ticket of a paid order and asks for the rest of its money back.
func (s *Store) returnKept(ctx context.Context, o Order, by, reason, speed string) error {
	var p Payment
	if o.PaidPaymentID != nil {
		if err := s.one(ctx, &p, `SELECT * FROM payments WHERE id = ? FOR UPDATE`, *o.PaidPaymentID); err != nil {
			return err
		}
	}
	if err := s.cancelFulfilment(ctx, o, by); err != nil {
		return err
	}
	if o.PaidPaymentID != nil {
		if err := s.retryLost(ctx, p); err != nil {
			return err
		}
	}
	rest := p.LeftPaise()
	if rest == 0 {
		return nil
	}
	bill, done, err := s.billOf(ctx, o, p)
	if err != nil {
		return err
	}
	share, err := bill.ShareOfAmount(done, rest)
	if err != nil {
		return err
	}
	_, err = s.requestShare(ctx, o, p, share, Refund{Kind: "cancel", Reason: reason, RequestedBy: by, Speed: speed})
	return err
}

// Giving is what is asked to be given back of a kept payment: pieces of dishes by line of the bill, or an amount, or with neither all
// that is left.
type Giving struct {
	Pieces      map[int]int
	AmountPaise Paise
}

// ShareOf says what a refund would consist of now. Errors: ErrNotFound for an order nobody paid, ErrTooMuch, ErrBadInput, ErrTooSmall when it
// or what it leaves is less than the gateway gives back.
func (s *Store) ShareOf(ctx context.Context, orderID int64, g Giving) (share Bill, p Payment, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		_, p, share, err = tx.lockShare(ctx, orderID, g)
		return err
	})
	return share, p, err
}

func (s *Store) lockShare(ctx context.Context, orderID int64, g Giving) (o Order, p Payment, share Bill, err error) {
	if o, err = s.LockOrder(ctx, orderID); err != nil {
		return o, p, share, err
	}
	if o.PaidPaymentID == nil {
		return o, p, share, fmt.Errorf("order %d has no kept payment: %w", o.ID, ErrNotFound)
	}
	if p, err = s.LockPayment(ctx, *o.PaidPaymentID); err != nil {
		return o, p, share, err
	}
	bill, done, err := s.billOf(ctx, o, p)
	switch left := bill.Amount() - bill.CustomerFeePaise - done.Amount() + done.CustomerFeePaise; {
	case err != nil:
	case left <= 0 || g.AmountPaise > left:
		err = fmt.Errorf("order %d has %d paise left: %w", o.ID, max(left, 0), ErrTooMuch)
	case len(g.Pieces) > 0:
		share, err = bill.ShareOfLines(done, g.Pieces)
	case g.AmountPaise != 0:
		share, err = bill.ShareOfAmount(done, g.AmountPaise)
	default:
		share, err = bill.ShareOfAmount(done, left)
	}
	if rest := p.LeftPaise() - share.Amount(); err == nil && p.Provider == "razorpay" && (share.Amount() < LeastPayablePaise || 0 < rest && rest < LeastPayablePaise) {
		err = fmt.Errorf("%d paise of order %d, leaving %d: %w", share.Amount(), o.ID, rest, ErrTooSmall) // the gateway would refuse the one now, the other ever after
	}
	return o, p, share, err
}

// RequestRefund asks for a share of an order's money to go back, and leaves the order as it is. seen is what had been reserved for refunds
// when the person decided: if that has changed, somebody else was faster, or the same form came twice, and nothing is done.
// Errors: ErrBadMove for that; those of ShareOf.
func (s *Store) RequestRefund(ctx context.Context, orderID int64, g Giving, seen Paise, by, reason, speed string) (r Refund, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, by); err != nil {
			return err
		}
		o, p, share, err := tx.lockShare(ctx, orderID, g)
		if p.ID != 0 && p.RefundReservedPaise != seen {
			return fmt.Errorf("order %d: %d paise are on their way back already, not %d: %w", orderID, p.RefundReservedPaise, seen, ErrBadMove)
		}
		if err != nil {
			return err
		}
		if r, err = tx.requestShare(ctx, o, p, share, Refund{Kind: "staff", Reason: reason, RequestedBy: by, Speed: speed}); err != nil {
			return err
		}
		return tx.Audit(ctx, by, "refund", &o.ID, fmt.Sprintf("%d paise: %s", r.AmountPaise, reason))
	})
	return r, err
}

// RetryRefund asks again for what a failed refund did not give back, by a person's word. Errors: ErrNotFound, ErrBadMove when it has not
// failed or was asked for again already.
func (s *Store) RetryRefund(ctx context.Context, refundID, by, speed string) error {
	return s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, by); err != nil {
			return err
		}
		r, err := tx.FindRefund(ctx, refundID)
		if err != nil {
			return err
		}
		o, err := tx.LockOrder(ctx, r.OrderID)
		if err != nil {
			return err
		}
		if _, err := tx.LockPayment(ctx, r.PaymentID); err != nil {
			return err
		}
		err = tx.one(ctx, &r, `SELECT * FROM refunds f WHERE id = ?::uuid AND status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = f.id) FOR UPDATE`, refundID)
		if err == ErrNotFound {
			return fmt.Errorf("refund %s is not waiting for anybody: %w", refundID, ErrBadMove)
		}
		if err != nil {
			return err
		}
		r.Speed = speed
		if err := tx.succeed(ctx, r); err != nil {
			return err
		}
		if err := tx.exec(ctx, `UPDATE staff_tasks SET closed_at = shop_now() WHERE kind = ? AND ref = ? AND closed_at IS NULL`, TaskRefundFailed, r.ID).Error; err != nil {
			return err
		}
		if err := tx.Audit(ctx, by, "retry_refund", &o.ID, r.ID); err != nil {
			return err
		}
		return tx.Notify(ctx, OrderTopic(o.ID))
	})
}

// requestShare reserves a share of a kept payment, stores the request with its job, and books it. r brings kind, reason, who and speed.
// The id follows from what was reserved before, so one state of the payment leads to one request of a kind.
func (s *Store) requestShare(ctx context.Context, o Order, p Payment, share Bill, r Refund) (Refund, error) {
	r.AmountPaise, r.PaymentID, r.OrderID, r.Provider = share.Amount(), p.ID, o.ID, p.Provider
	if err := s.reserve(ctx, p.ID, r.AmountPaise); err != nil {
		return r, err
	}
	r.ID = uuid.NewSHA1(autoRefunds, fmt.Appendf(nil, "%s %s %d", r.Kind, p.name(), p.RefundReservedPaise)).String()
	if err := s.createRefund(ctx, r); err != nil {
		return r, err
	}
	if err := s.bookShare(ctx, r, share); err != nil {
		return r, err
	}
	if err := s.EnsureLetter(ctx, LetterRefundRequested, r.ID, o); err != nil {
		return r, err
	}
	return r, s.Notify(ctx, OrderTopic(o.ID))
}

// bookShare stores what of the bill a refund gives back, books that it is owed, and issues its paper.
func (s *Store) bookShare(ctx context.Context, r Refund, share Bill) error {
	if err := s.saveShare(ctx, r, share); err != nil {
		return err
	}
	if err := s.post(ctx, "refund_requested", "refund", r.ID, giveBack(share.Parts)); err != nil {
		return err
	}
	return s.issuePaper(ctx, r.OrderID, "refund", &r.ID)
}

func (s *Store) saveShare(ctx context.Context, r Refund, share Bill) error {
	p := share.Parts
	if err := s.exec(ctx, `INSERT INTO refund_shares (refund_id, subtotal_paise, discount_paise, packaging_paise, delivery_paise, cgst_paise, sgst_paise, tip_paise, round_off_paise,
			customer_fee_paise, amount_paise) VALUES (?::uuid, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (refund_id) DO NOTHING`,
		r.ID, p.SubtotalPaise, p.DiscountPaise, p.PackagingPaise, p.DeliveryPaise, p.CGSTPaise, p.SGSTPaise, p.TipPaise, p.RoundOffPaise, p.CustomerFeePaise, p.Amount()).Error; err != nil {
		return fmt.Errorf("share of refund %s: %w", r.ID, err)
	}
	for _, t := range share.Taxes {
		if err := s.exec(ctx, `INSERT INTO refund_share_taxes (refund_id, tax_class, taxable_paise, cgst_paise, sgst_paise) VALUES (?::uuid, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			r.ID, t.TaxClass, t.TaxablePaise, t.CGSTPaise, t.SGSTPaise).Error; err != nil {
			return fmt.Errorf("share of refund %s: %w", r.ID, err)
		}
	}
	for _, l := range share.Lines {
		if err := s.exec(ctx, `INSERT INTO refund_share_lines (refund_id, order_id, line, qty, discount_paise) VALUES (?::uuid, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			r.ID, r.OrderID, l.Line, l.Qty, l.DiscountPaise).Error; err != nil {
			return fmt.Errorf("share of refund %s: %w", r.ID, err)
		}
	}
	return nil
}

// billOf reads what a kept payment paid for, and what refunds that count have given back of it.
func (s *Store) billOf(ctx context.Context, o Order, p Payment) (bill, done Bill, err error) {
	bill.Parts = o.Parts()
	bill.CustomerFeePaise = p.CustomerFeePaise
	if err := s.read(ctx, &bill.Taxes, `SELECT tax_class, taxable_paise, cgst_bp, sgst_bp, cgst_paise, sgst_paise FROM order_taxes WHERE order_id = ? ORDER BY tax_class`, o.ID); err != nil {
		return bill, done, err
	}
	if err := s.read(ctx, &bill.Lines, `SELECT line, tax_class, qty, line_total_paise AS total_paise, discount_paise FROM order_items WHERE order_id = ? ORDER BY line`, o.ID); err != nil {
		return bill, done, err
	}
	done, err = s.shares(ctx, `payment_id = ?`, p.ID)
	return bill, done, err
}

// shares sums the counted shares that where selects.
func (s *Store) shares(ctx context.Context, where string, arg any) (sum Bill, err error) {
	if err := s.one(ctx, &sum.Parts, `SELECT COALESCE(sum(subtotal_paise), 0)::bigint AS subtotal_paise, COALESCE(sum(discount_paise), 0)::bigint AS discount_paise,
			COALESCE(sum(packaging_paise), 0)::bigint AS packaging_paise, COALESCE(sum(delivery_paise), 0)::bigint AS delivery_paise, COALESCE(sum(cgst_paise), 0)::bigint AS cgst_paise,
			COALESCE(sum(sgst_paise), 0)::bigint AS sgst_paise, COALESCE(sum(tip_paise), 0)::bigint AS tip_paise, COALESCE(sum(round_off_paise), 0)::bigint AS round_off_paise,
			COALESCE(sum(customer_fee_paise), 0)::bigint AS customer_fee_paise FROM counted_shares WHERE `+where, arg); err != nil {
		return sum, err
	}
	if err := s.read(ctx, &sum.Taxes, `SELECT t.tax_class, x.cgst_bp, x.sgst_bp, sum(t.taxable_paise)::bigint AS taxable_paise, sum(t.cgst_paise)::bigint AS cgst_paise, sum(t.sgst_paise)::bigint AS sgst_paise
		FROM refund_share_taxes t JOIN refunds r ON r.id = t.refund_id JOIN order_taxes x ON x.order_id = r.order_id AND x.tax_class = t.tax_class
		WHERE t.refund_id IN (SELECT refund_id FROM counted_shares WHERE `+where+`) GROUP BY 1, 2, 3 ORDER BY 1`, arg); err != nil {
		return sum, err
	}
	err = s.read(ctx, &sum.Lines, `SELECT l.line, i.tax_class, sum(l.qty)::int AS qty, sum((i.unit_price_paise + i.options_price_paise) * l.qty)::bigint AS total_paise, sum(l.discount_paise)::bigint AS discount_paise
		FROM refund_share_lines l JOIN order_items i ON i.order_id = l.order_id AND i.line = l.line
		WHERE l.refund_id IN (SELECT refund_id FROM counted_shares WHERE `+where+`) GROUP BY 1, 2 ORDER BY 1`, arg)
	return sum, err
}

// RefundTask is a refund that this process may send now, and what it needs for it.
type RefundTask struct {
	Refund
	RazorpayPaymentID string
	LeaseToken        string
}

// refundLease is how long one sender has: the client's 8 s, a list and a save, many times over.
const refundLease = "60 seconds"

// ClaimRefund leases one due, requested refund; found is false when it is not due, not requested any more, or somebody else's now.
func (s *Store) ClaimRefund(ctx context.Context, refundID string) (task RefundTask, found bool, err error) {
	err = s.one(ctx, &task, `UPDATE refunds r SET attempts = attempts + 1, lease_token = gen_random_uuid(), lease_until = shop_now() + interval '`+refundLease+`'
		FROM payments p WHERE p.id = r.payment_id AND r.id = ?::uuid AND r.status = 'requested' AND r.provider = 'razorpay' AND r.next_attempt_at <= shop_now()
		  AND (r.lease_until IS NULL OR r.lease_until < shop_now()) RETURNING r.*, p.razorpay_payment_id`, refundID)
	if err == ErrNotFound {
		return task, false, nil
	}
	return task, err == nil, err
}

// ListDueRefunds names the refunds whose turn it is: requested ones to send, submitted ones to ask about.
func (s *Store) ListDueRefunds(ctx context.Context, limit int) (refunds []Refund, err error) {
	err = s.read(ctx, &refunds, `SELECT * FROM refunds WHERE status IN ('requested', 'submitted') AND provider = 'razorpay' AND next_attempt_at <= shop_now()
		AND (lease_until IS NULL OR lease_until < shop_now()) ORDER BY next_attempt_at LIMIT ?`, limit)
	return refunds, err
}

// PostponeRefund gives the lease back and sets the next turn: 10 s, doubling to an hour.
func (s *Store) PostponeRefund(ctx context.Context, task RefundTask, why string) error {
	return s.exec(ctx, `UPDATE refunds SET lease_token = NULL, lease_until = NULL, last_error = ?,
			next_attempt_at = shop_now() + least(interval '10 seconds' * 2 ^ least(greatest(attempts - 1, 0), 10), interval '1 hour')
		WHERE id = ?::uuid AND status = 'requested' AND lease_token = ?::uuid`, why, task.ID, task.LeaseToken).Error
}

// LookAgain sets when a submitted refund is asked about next: hourly on its first day, then every six hours, then daily to day 10.
func (s *Store) LookAgain(ctx context.Context, refundID string) error {
	return s.exec(ctx, `UPDATE refunds SET next_attempt_at = shop_now() + CASE WHEN submitted_at > shop_now() - interval '6 hours' THEN interval '1 hour'
		WHEN submitted_at > shop_now() - interval '2 days' THEN interval '6 hours' ELSE interval '1 day' END WHERE id = ?::uuid AND status = 'submitted'`, refundID).Error
}

// SeenRefund is what the gateway says about one refund.
type SeenRefund struct {
	RazorpayRefundID string
	Receipt          string // our id, when we asked for it
	AmountPaise      Paise
	Status           string // Razorpay's: pending, processed, failed
	BankReference    string
}

// maxRefundTries is how often a failed refund is asked for again by itself before a person has to look.
const maxRefundTries = 3

// RecordRefund writes what the gateway says about a refund of a payment, forward only: requested → submitted → processed or failed.
// One we did not ask for (the dashboard's, or Razorpay's own) is imported and counted; where it takes money that a request of ours
// had reserved and not yet sent, ours becomes void. A failed one gets a successor, three times at most, then a person's attention.
// Safe to repeat. Inside InTx only, under the order's and the payment's lock.
func (s *Store) RecordRefund(ctx context.Context, o Order, p Payment, seen SeenRefund) (moved bool, err error) {
	var r Refund
	// A request that ended here without an id of the gateway's, void or refused, stays ended: if it was carried out all the same, it counts like one made outside.
	err = s.one(ctx, &r, `SELECT * FROM refunds WHERE payment_id = ? AND (razorpay_refund_id = ? OR (id::text = ? AND status = 'requested')) ORDER BY razorpay_refund_id NULLS LAST LIMIT 1 FOR UPDATE`,
		p.ID, seen.RazorpayRefundID, seen.Receipt)
	if err == ErrNotFound {
		if seen.Status == "failed" {
			return false, nil // nothing was given back and nothing of ours hangs on it
		}
		if r, err = s.importRefund(ctx, o, p, seen); err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	if r.AmountPaise != seen.AmountPaise {
		return false, fmt.Errorf("refund %s is %d paise here and %d at the gateway: %w", r.ID, r.AmountPaise, seen.AmountPaise, ErrAmountMismatch)
	}
	to := map[string]string{"pending": "submitted", "processed": "processed", "failed": "failed"}[seen.Status]
	if to == "" {
		to = "submitted" // a word we do not know is not an end
	}
	rank := map[string]int{"requested": 0, "submitted": 1, "processed": 2, "failed": 3, "void": 3}
	if rank[to] <= rank[r.Status] {
		err = s.exec(ctx, `UPDATE refunds SET bank_reference = COALESCE(NULLIF(?, ''), bank_reference), razorpay_status = ? WHERE id = ?::uuid AND status = ?
			AND (razorpay_status, bank_reference) IS DISTINCT FROM (?, COALESCE(NULLIF(?, ''), bank_reference))`,
			seen.BankReference, seen.Status, r.ID, r.Status, seen.Status, seen.BankReference).Error
		return false, err
	}
	updated := s.exec(ctx, `UPDATE refunds SET status = ?, razorpay_refund_id = ?, razorpay_status = ?, bank_reference = COALESCE(NULLIF(?, ''), bank_reference),
			lease_token = NULL, lease_until = NULL, last_error = '', next_attempt_at = shop_now() + interval '1 hour', submitted_at = COALESCE(submitted_at, shop_now()),
			processed_at = CASE WHEN ? THEN shop_now() ELSE processed_at END, failed_at = CASE WHEN ? THEN shop_now() END
		WHERE id = ?::uuid AND status = ?`, to, seen.RazorpayRefundID, seen.Status, seen.BankReference, to == "processed", to == "failed", r.ID, r.Status)
	if updated.Error != nil {
		return false, fmt.Errorf("refund %s: %w", r.ID, updated.Error)
	}
	if updated.RowsAffected != 1 {
		return false, fmt.Errorf("refund %s: %w", r.ID, ErrBadMove)
	}
	switch to {
	case "processed":
		if err := s.post(ctx, "refund_settled", "refund", r.ID, entries{accountPayable: r.AmountPaise, accountClearing: -r.AmountPaise}); err != nil {
			return false, err
		}
		if err := s.EnsureLetter(ctx, LetterRefundProcessed, r.ID, o); err != nil {
			return false, err
		}
		if err := s.ensurePushes(ctx, o.ID, PushRefundProcessed, r.ID); err != nil {
			return false, err
		}
	case "failed":
		if r.Status == "processed" { // it had been settled: the money is with the gateway again
			if err := s.post(ctx, "refund_reversed", "refund", r.ID, entries{accountClearing: r.AmountPaise, accountPayable: -r.AmountPaise}); err != nil {
				return false, err
			}
		}
		if err := s.succeedRefund(ctx, o, r, "Razorpay could not complete it"); err != nil {
			return false, err
		}
	}
	return true, s.Notify(ctx, OrderTopic(o.ID))
}

// RefuseRefund ends a request that the gateway will never carry out: failed, with its successor or a person's attention. Inside InTx only.
func (s *Store) RefuseRefund(ctx context.Context, o Order, refundID, why string, again bool) error {
	var r Refund
	err := s.one(ctx, &r, `UPDATE refunds SET status = 'failed', failed_at = shop_now(), last_error = ?, lease_token = NULL, lease_until = NULL
		WHERE id = ?::uuid AND status = 'requested' RETURNING *`, why, refundID)
	if err == ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !again {
		return s.OpenTask(ctx, TaskRefundFailed, r.ID, &o.ID, fmt.Sprintf("Refund of %d paise was refused: %s", r.AmountPaise, why))
	}
	return s.succeedRefund(ctx, o, r, why)
}

// succeedRefund asks again for what a failed refund did not give back. The successor's id follows from its, so there is one.
func (s *Store) succeedRefund(ctx context.Context, o Order, r Refund, why string) error {
	var tries int
	if err := s.one(ctx, &tries, `WITH RECURSIVE chain AS (SELECT id, retry_of FROM refunds WHERE id = ?::uuid UNION ALL SELECT r.id, r.retry_of FROM refunds r JOIN chain c ON r.id = c.retry_of)
		SELECT count(*) FROM chain`, r.ID); err != nil {
		return err
	}
	owed := r.Kind != "external" // whoever made it: the money of a closed order, or of a payment that was never kept, goes back
	if !owed {
		var kept bool
		if err := s.one(ctx, &kept, `SELECT disposition = 'kept' FROM payments WHERE id = ?`, r.PaymentID); err != nil {
			return err
		}
		if owed = !kept || o.Status == OrderCancelled; owed {
			r.Kind = map[bool]string{true: "cancel", false: "auto"}[kept]
		}
	}
	if !owed || tries > maxRefundTries {
		return s.OpenTask(ctx, TaskRefundFailed, r.ID, &o.ID, fmt.Sprintf("Refund of %d paise failed: %s", r.AmountPaise, why))
	}
	return s.succeed(ctx, r)
}

// succeed makes the successor of a failed refund: the same money, the same share of the bill, a request of its own.
func (s *Store) succeed(ctx context.Context, r Refund) error {
	next := r
	next.ID, next.RetryOf, next.HoldUntil = uuid.NewSHA1(autoRefunds, []byte("retry "+r.ID)).String(), &r.ID, nil
	share, err := s.shares(ctx, `refund_id = ?::uuid`, r.ID) // read while r still counts
	if err != nil {
		return err
	}
	if err := s.createRefund(ctx, next); err != nil || share.Amount() == 0 { // not kept: there is no bill to share
		return err
	}
	return s.saveShare(ctx, next, share)
}

// importRefund stores a refund made outside: by a person in Razorpay's dashboard, or by Razorpay itself.
func (s *Store) importRefund(ctx context.Context, o Order, p Payment, seen SeenRefund) (Refund, error) {
	r := Refund{ID: uuid.NewSHA1(autoRefunds, []byte("external "+seen.RazorpayRefundID)).String(), PaymentID: p.ID, OrderID: o.ID, AmountPaise: seen.AmountPaise,
		Kind: "external", Reason: "made outside the shop", RequestedBy: "razorpay", Speed: "normal", Status: "requested"}
	if taken, err := s.replaceLost(ctx, p, &r); taken || err != nil {
		return r, err
	}
	var rests []Refund
	if free := p.AmountPaise - p.RefundReservedPaise; free < seen.AmountPaise {
		if err := s.reviveLost(ctx, p, seen.AmountPaise-free); err != nil {
			return r, err
		}
		freed, left, err := s.voidRequested(ctx, p, seen.AmountPaise-free)
		if err != nil {
			return r, err
		}
		p.RefundReservedPaise -= freed
		rests = left
	}
	if err := s.exec(ctx, `UPDATE payments SET refund_reserved_paise = ? WHERE id = ?`, min(p.RefundReservedPaise+seen.AmountPaise, p.AmountPaise), p.ID).Error; err != nil {
		return r, err
	}
	if err := s.insertExternal(ctx, r); err != nil {
		return r, err
	}
	if !p.IsKept() {
		for _, rest := range rests {
			if err := s.createRefund(ctx, rest); err != nil {
				return r, err
			}
		}
		return r, nil
	}
	if err := s.createShare(ctx, o, p, r); err != nil {
		return r, err
	}
	for _, rest := range rests {
		if err := s.createRefund(ctx, rest); err != nil {
			return r, err
		}
		if err := s.createShare(ctx, o, p, rest); err != nil {
			return r, err
		}
	}
	return r, s.OpenTask(ctx, TaskRefundOutside, r.ID, &o.ID, fmt.Sprintf("A refund of %d paise was made outside the shop", r.AmountPaise))
}

// insertExternal stores the row of a refund the gateway has carried out already: it needs no job.
func (s *Store) insertExternal(ctx context.Context, r Refund) error {
	if err := s.exec(ctx, `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by, retry_of) VALUES (?, ?, ?, ?, 'external', ?, 'razorpay', ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.PaymentID, r.OrderID, r.AmountPaise, r.Reason, r.RetryOf).Error; err != nil {
		return fmt.Errorf("import refund %s: %w", r.ID, err)
	}
	return nil
}

// createShare works out and books the share of a refund whose row is there and whose amount somebody else decided.
func (s *Store) createShare(ctx context.Context, o Order, p Payment, r Refund) error {
	bill, done, err := s.billOf(ctx, o, p)
	if err != nil {
		return err
	}
	share, err := bill.ShareOfAmount(done, r.AmountPaise)
	if err != nil {
		return fmt.Errorf("refund %s: %w", r.ID, err)
	}
	return s.bookShare(ctx, r, share)
}

// replaceLost takes a refund made outside for the one of ours that failed and was put before a person: what that reserved and booked
// now stands for r. If r is less, the lost one's successor is a request for the rest, and r stands beside it: either may fail and be
// asked for again.
func (s *Store) replaceLost(ctx context.Context, p Payment, r *Refund) (taken bool, err error) {
	var lost Refund
	err = s.one(ctx, &lost, `SELECT * FROM refunds f WHERE payment_id = ? AND status = 'failed' AND amount_paise >= ?
		AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = f.id) ORDER BY failed_at, id LIMIT 1 FOR UPDATE`, p.ID, r.AmountPaise)
	if err == ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	whole, err := s.shares(ctx, `refund_id = ?::uuid`, lost.ID) // read while lost still counts
	if err != nil {
		return false, err
	}
	next := lost
	next.ID, next.AmountPaise, next.RetryOf = uuid.NewSHA1(autoRefunds, []byte("rest "+lost.ID)).String(), lost.AmountPaise-r.AmountPaise, &lost.ID
	if next.AmountPaise == 0 {
		r.RetryOf = &lost.ID
	}
	if err := s.insertExternal(ctx, *r); err != nil {
		return false, err
	}
	if next.AmountPaise > 0 {
		if err := s.createRefund(ctx, next); err != nil {
			return false, err
		}
	}
	if !p.IsKept() {
		return true, nil
	}
	part, err := whole.ShareOfAmount(Bill{}, r.AmountPaise) // of what was booked for the lost one, so nothing is booked anew
	if err != nil {
		return false, err
	}
	if err := s.saveShare(ctx, *r, part); err != nil || next.AmountPaise == 0 {
		return true, err
	}
	return true, s.saveShare(ctx, next, whole.less(part))
}

// retryLost asks again for refunds that failed and that nothing has replaced: the whole order's money is owed now.
func (s *Store) retryLost(ctx context.Context, p Payment) error {
	lost, err := s.listLost(ctx, p)
	for _, r := range lost {
		r.Kind = "cancel"
		if err := s.succeed(ctx, r); err != nil {
			return err
		}
	}
	return err
}

// reviveLost asks again for refunds that failed and that nothing has replaced, until they come to amount: for voidRequested to take back,
// when a refund made outside is more than any one of them, and so stands for several.
func (s *Store) reviveLost(ctx context.Context, p Payment, amount Paise) error {
	lost, err := s.listLost(ctx, p)
	for _, r := range lost {
		if amount <= 0 {
			break
		}
		if err := s.succeed(ctx, r); err != nil {
			return err
		}
		amount -= r.AmountPaise
	}
	return err
}

// listLost returns a payment's refunds that failed and have no successor, locked.
func (s *Store) listLost(ctx context.Context, p Payment) (lost []Refund, err error) {
	err = s.read(ctx, &lost, `SELECT * FROM refunds f WHERE payment_id = ? AND status = 'failed'
		AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = f.id) ORDER BY failed_at, id FOR UPDATE`, p.ID)
	return lost, err
}

// voidRequested takes back requests of ours that were not sent yet, newest first, until at least amount is free. It returns by how much
// the reserve falls, and what was voided too much: to be asked for anew when the refund that took their place is booked.
func (s *Store) voidRequested(ctx context.Context, p Payment, amount Paise) (freed Paise, rests []Refund, err error) {
	var open []Refund
	if err := s.read(ctx, &open, `SELECT * FROM refunds WHERE payment_id = ? AND status = 'requested' ORDER BY requested_at DESC, id FOR UPDATE`, p.ID); err != nil {
		return 0, nil, err
	}
	for _, r := range open {
		if freed >= amount {
			break
		}
		share, err := s.shares(ctx, `refund_id = ?::uuid`, r.ID)
		if err != nil {
			return freed, rests, err
		}
		if err := s.exec(ctx, `UPDATE refunds SET status = 'void', lease_token = NULL, lease_until = NULL WHERE id = ?::uuid AND status = 'requested'`, r.ID).Error; err != nil {
			return freed, rests, err
		}
		if p.IsKept() {
			if err := s.post(ctx, "refund_reversed", "refund", r.ID, giveBack(share.Parts).reversed()); err != nil {
				return freed, rests, err
			}
			if err := s.issuePaper(ctx, r.OrderID, "void", &r.ID); err != nil {
				return freed, rests, err
			}
		}
		freed += r.AmountPaise
		if rest := freed - amount; rest > 0 { // the outside refund took only a part of it
			next := r
			next.ID, next.AmountPaise, next.RetryOf = uuid.NewSHA1(autoRefunds, []byte("rest "+r.ID)).String(), rest, &r.ID
			rests = append(rests, next)
			freed = amount
		}
	}
	return freed, rests, nil
}

// ListRefunds returns an order's refunds, oldest first.
func (s *Store) ListRefunds(ctx context.Context, orderID int64) (refunds []Refund, err error) {
	err = s.db.WithContext(ctx).Where("order_id = ?", orderID).Order("requested_at, id").Find(&refunds).Error
	return refunds, err
}

// FindRefund returns one by our id. Errors: ErrNotFound.
func (s *Store) FindRefund(ctx context.Context, refundID string) (r Refund, err error) {
	err = s.one(ctx, &r, `SELECT * FROM refunds WHERE id = ?::uuid`, refundID)
	return r, err
}

// LockPayment reads a payment's row under its lock. Inside InTx only, after its order's lock.
func (s *Store) LockPayment(ctx context.Context, paymentID int64) (p Payment, err error) {
	err = s.one(ctx, &p, `SELECT * FROM payments WHERE id = ? FOR UPDATE`, paymentID)
	return p, err
}

// Returned is what of an order's money was given back or is on its way, and the payment it is taken of.
// Errors: ErrNotFound for an order nobody paid.
func (s *Store) Returned(ctx context.Context, orderID int64) (done Bill, p Payment, err error) {
	if err = s.one(ctx, &p, `SELECT p.* FROM orders o JOIN payments p ON p.id = o.paid_payment_id WHERE o.id = ?`, orderID); err != nil {
		return done, p, err
	}
	done, err = s.shares(ctx, `payment_id = ?`, p.ID)
	return done, p, err
}

// ListShares returns what of an order's bill each of its refunds gives back, by the refund's id. Refunds of money that was never kept have none.
func (s *Store) ListShares(ctx context.Context, orderID int64) (map[string]Parts, error) {
	var rows []struct {
		RefundID string
		Parts    `gorm:"embedded"`
	}
	err := s.read(ctx, &rows, `SELECT s.* FROM refund_shares s JOIN refunds r ON r.id = s.refund_id WHERE r.order_id = ?`, orderID)
	shares := map[string]Parts{}
	for _, row := range rows {
		shares[row.RefundID] = row.Parts
	}
	return shares, err
}
