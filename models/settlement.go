package models

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// SettlementItem is one line of a payout, as Razorpay reports it: what is taken from us or paid to us for a payment, a refund or a lost dispute.
// One with none of the three is of another program on the same account, or an adjustment nobody here can place. It never changes.
type SettlementItem struct {
	EntityID     string // pay_…, rfnd_…, adj_…
	Kind         string // payment, refund, adjustment, …: Razorpay's word
	SettlementID string
	UTR          string `gorm:"column:utr"` // the bank's reference of the payout
	AmountPaise  Paise
	FeePaise     Paise // Razorpay's, TaxPaise included
	TaxPaise     Paise
	CreditPaise  Paise // to us
	DebitPaise   Paise // from us
	SettledAt    time.Time
	PaymentID    *int64
	RefundID     *string
	DisputeID    *string
	RecordedAt   time.Time
}

// Says reports whether two reports of a line agree. Which of our rows it is about is our own finding and no part of the report.
func (i SettlementItem) Says(other SettlementItem) bool {
	return i.Kind == other.Kind && i.SettlementID == other.SettlementID && i.AmountPaise == other.AmountPaise && i.FeePaise == other.FeePaise && i.TaxPaise == other.TaxPaise &&
		i.CreditPaise == other.CreditPaise && i.DebitPaise == other.DebitPaise
}

// RecordSettlementItem writes down a line of a payout and books it: money that was with the gateway is at the bank, less what the gateway
// took. The fee is the line's and not the fetched payment's, which only announces it; where they differ the audit says so.
// Errors: ErrAmountMismatch when the line was reported differently before. Safe to repeat. Inside InTx only.
func (s *Store) RecordSettlementItem(ctx context.Context, i SettlementItem) (fresh bool, err error) {
	inserted := s.exec(ctx, `INSERT INTO settlement_items (entity_id, kind, settlement_id, utr, amount_paise, fee_paise, tax_paise, credit_paise, debit_paise, settled_at, payment_id, refund_id, dispute_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::uuid, ?) ON CONFLICT (entity_id) DO NOTHING`,
		i.EntityID, i.Kind, i.SettlementID, i.UTR, i.AmountPaise, i.FeePaise, i.TaxPaise, i.CreditPaise, i.DebitPaise, i.SettledAt, i.PaymentID, i.RefundID, i.DisputeID)
	if inserted.Error != nil {
		return false, fmt.Errorf("settlement of %s: %w", i.EntityID, inserted.Error)
	}
	if inserted.RowsAffected == 0 {
		known, err := s.ListSettlementItems(ctx, []string{i.EntityID})
		if err == nil && !known[i.EntityID].Says(i) {
			err = fmt.Errorf("settlement of %s was reported differently before: %w", i.EntityID, ErrAmountMismatch)
		}
		return false, err
	}
	paid := i.CreditPaise - i.DebitPaise
	lines := entries{accountBank: paid, accountFees: i.FeePaise - i.TaxPaise, accountFeeTax: i.TaxPaise}
	switch {
	case paid == 0 && i.FeePaise == 0:
		return true, nil
	case i.PaymentID != nil || i.RefundID != nil:
		lines[accountClearing] = -paid - i.FeePaise
	case i.DisputeID != nil:
		lines[accountDisputes] = -paid - i.FeePaise
	default:
		return true, nil // not this shop's: nothing here says what for
	}
	return true, s.post(ctx, "settlement", "settlement_item", i.EntityID, lines)
}

// ListSettlementItems returns those of the named lines that are recorded, by entity.
func (s *Store) ListSettlementItems(ctx context.Context, entityIDs []string) (map[string]SettlementItem, error) {
	var items []SettlementItem
	err := s.read(ctx, &items, `SELECT * FROM settlement_items WHERE entity_id = ANY (string_to_array(?, ','))`, strings.Join(entityIDs, ","))
	byID := make(map[string]SettlementItem, len(items))
	for _, i := range items {
		byID[i.EntityID] = i
	}
	return byID, err
}

// UnsettledSince is when the oldest money was captured that no payout is known for, a year ago at most: payouts have to be read from then on.
func (s *Store) UnsettledSince(ctx context.Context) (since time.Time, err error) {
	err = s.db.WithContext(ctx).Raw(`SELECT greatest(shop_now() - interval '365 days', least(shop_now() - interval '7 days', (SELECT min(p.decided_at) FROM payments p
		WHERE p.decided_at IS NOT NULL AND p.provider = 'razorpay' AND p.decided_at > shop_now() - interval '365 days'
		  AND NOT EXISTS (SELECT 1 FROM settlement_items i WHERE i.payment_id = p.id AND i.kind = 'payment'))))`).Row().Scan(&since)
	return since, err
}

// FindRefundAtRazorpay returns the refund the gateway knows by this id. Errors: ErrNotFound.
func (s *Store) FindRefundAtRazorpay(ctx context.Context, razorpayRefundID string) (r Refund, err error) {
	err = s.one(ctx, &r, `SELECT * FROM refunds WHERE razorpay_refund_id = ?`, razorpayRefundID)
	return r, err
}
