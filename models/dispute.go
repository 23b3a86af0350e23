package models

import (
	"context"
	"fmt"
	"time"
)

// Dispute is what a bank asks back on its customer's word, as the gateway told it last. Status is Razorpay's own word: open (to be
// answered by RespondBy), under_review, won, lost, closed.
type Dispute struct {
	RazorpayDisputeID string
	PaymentID         int64
	OrderID           int64
	AmountPaise       Paise
	DeductedPaise     Paise // what it has cost: 0 unless lost
	Currency          string
	ReasonCode        string
	Phase             string
	Status            string
	RespondBy         *time.Time // nil: Razorpay names no deadline
	OpenedAt          *time.Time // by Razorpay's clock
	RecordedAt        time.Time
}

// WaitsForAnswer reports whether somebody of the shop has to answer it before RespondBy.
func (d Dispute) WaitsForAnswer() bool { return d.Status == "open" }

// RecordDispute writes what the gateway says about a dispute; a decided one is never opened again by a stale answer. As long as an
// answer is wanted it stands on the attention list, by its deadline; a lost one does once more, to be seen.
// Safe to repeat. Inside InTx only, under its order's lock.
func (s *Store) RecordDispute(ctx context.Context, d Dispute) error {
	var was string
	if err := s.read(ctx, &was, `SELECT status FROM disputes WHERE razorpay_dispute_id = ? FOR UPDATE`, d.RazorpayDisputeID); err != nil {
		return err
	}
	over := func(status string) bool { return status == "won" || status == "lost" || status == "closed" }
	if over(was) && !over(d.Status) {
		return nil
	}
	if err := s.exec(ctx, `INSERT INTO disputes AS d (razorpay_dispute_id, payment_id, order_id, amount_paise, deducted_paise, currency, reason_code, phase, status, respond_by, opened_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (razorpay_dispute_id) DO UPDATE SET amount_paise = EXCLUDED.amount_paise, deducted_paise = EXCLUDED.deducted_paise,
			reason_code = EXCLUDED.reason_code, phase = EXCLUDED.phase, status = EXCLUDED.status, respond_by = COALESCE(EXCLUDED.respond_by, d.respond_by)
		WHERE (d.amount_paise, d.deducted_paise, d.reason_code, d.phase, d.status, d.respond_by)
			IS DISTINCT FROM (EXCLUDED.amount_paise, EXCLUDED.deducted_paise, EXCLUDED.reason_code, EXCLUDED.phase, EXCLUDED.status, COALESCE(EXCLUDED.respond_by, d.respond_by))`,
		d.RazorpayDisputeID, d.PaymentID, d.OrderID, d.AmountPaise, d.DeductedPaise, d.Currency, d.ReasonCode, d.Phase, d.Status, d.RespondBy, d.OpenedAt).Error; err != nil {
		return fmt.Errorf("dispute %s: %w", d.RazorpayDisputeID, err)
	}
	if d.WaitsForAnswer() {
		return s.OpenTask(ctx, TaskDispute, d.RazorpayDisputeID, &d.OrderID, "Dispute "+d.RazorpayDisputeID+" waits for an answer")
	}
	if err := s.EndTask(ctx, TaskDispute, d.RazorpayDisputeID); err != nil {
		return err
	}
	if d.Status == "lost" && was != "lost" {
		return s.OpenTask(ctx, TaskDisputeLost, d.RazorpayDisputeID, &d.OrderID, "Dispute "+d.RazorpayDisputeID+" was lost")
	}
	return nil
}

// FindDispute returns one by its Razorpay id. Errors: ErrNotFound.
func (s *Store) FindDispute(ctx context.Context, razorpayDisputeID string) (d Dispute, err error) {
	err = s.one(ctx, &d, `SELECT * FROM disputes WHERE razorpay_dispute_id = ?`, razorpayDisputeID)
	return d, err
}

// ListDisputes returns an order's disputes, oldest first.
func (s *Store) ListDisputes(ctx context.Context, orderID int64) (disputes []Dispute, err error) {
	err = s.read(ctx, &disputes, `SELECT * FROM disputes WHERE order_id = ? ORDER BY recorded_at, razorpay_dispute_id`, orderID)
	return disputes, err
}
