package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Payment is one attempt to pay, as the gateway reported it last. States are Razorpay's own, and voided: returned without ever
// having been captured. They only move up (payments_guard).
type Payment struct {
	ID                  int64
	Provider            string // razorpay, cash
	RazorpayPaymentID   *string
	RazorpayOrderID     *string
	OrderID             int64
	AmountPaise         Paise
	CustomerFeePaise    Paise // Razorpay's fee where the customer bears it; part of AmountPaise
	Currency            string
	GWStatus            string `gorm:"column:gw_status"`
	Method              string
	ErrorCode           string
	ErrorReason         string
	ErrorDescription    string // the bank's reason
	FeePaise            *Paise // Razorpay's fee including TaxPaise; nil until captured
	TaxPaise            *Paise
	Disposition         *string // kept, refund; nil until captured
	Reason              *string // why refund
	DecidedAt           *time.Time
	RefundReservedPaise Paise // Σ live refunds
	FirstSource         string
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// IsKept reports whether this payment is the one that paid its order.
func (p Payment) IsKept() bool { return p.Disposition != nil && *p.Disposition == "kept" }

// LeftPaise is what of a kept payment is neither back nor on its way. By another hand more may have gone back than paid the order: the fee.
func (p Payment) LeftPaise() Paise {
	return max(p.AmountPaise-p.CustomerFeePaise-p.RefundReservedPaise, 0)
}

// name is what the payment is called where ids are derived from it.
func (p Payment) name() string {
	if p.RazorpayPaymentID == nil {
		return fmt.Sprintf("cash_%d", p.ID)
	}
	return *p.RazorpayPaymentID
}

// Source says which road a report of money came by.
type Source string

const (
	ViaVerify   Source = "verify"   // the page's script
	ViaCallback Source = "callback" // the cross-site form POST
	ViaWebhook  Source = "webhook"
	ViaSweep    Source = "sweep"
	ViaHint     Source = "hint"  // a verify that met a silent gateway
	ViaRecon    Source = "recon" // the account's own list
	ViaStaff    Source = "staff" // cash, by the word of whoever took it
)

// paymentRank orders a payment's states: it only ever goes up. failed may become captured (late success); captured is never undone.
var paymentRank = map[string]int{"created": 1, "failed": 2, "authorized": 3, "voided": 4, "captured": 4, "refunded": 5}

// IsCaptured reports whether the state means that the money was taken.
func IsCaptured(gwStatus string) bool { return gwStatus == "captured" || gwStatus == "refunded" }

// AdvancePayment writes what the gateway says about one payment under its order: made when new, moved up when it says more than we
// knew, otherwise left. seen is brought up to the stored row. moved tells whether anything is to be decided or shown.
//
// A captured state is not written here: it is stored together with its decision, by KeepPayment or ReturnPayment, so a row never
// says captured without saying whose the money is. moved is then true as long as nothing is decided.
// Errors: ErrAmountMismatch when the gateway's facts differ from those first recorded. Inside InTx only, under the order's lock.
func (s *Store) AdvancePayment(ctx context.Context, seen *Payment) (moved bool, err error) {
	says, storable := seen.GWStatus, seen.GWStatus
	if IsCaptured(says) {
		storable = "authorized"
	}
	// What the gateway answered is noted for the timeline in the same statement, the first time each road hears it.
	inserted := s.exec(ctx, `WITH fetched AS (INSERT INTO gateway_fetches (order_id, razorpay_payment_id, via, answer) VALUES (?, ?, ?, ?) ON CONFLICT (razorpay_payment_id, via, answer) DO NOTHING)
		INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, method,
			error_code, error_reason, error_description, fee_paise, tax_paise, first_source)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (razorpay_payment_id) DO NOTHING`,
		seen.OrderID, seen.RazorpayPaymentID, seen.FirstSource, says, seen.RazorpayPaymentID, seen.RazorpayOrderID, seen.OrderID, seen.AmountPaise, seen.Currency, storable, seen.Method,
		seen.ErrorCode, seen.ErrorReason, seen.ErrorDescription, seen.FeePaise, seen.TaxPaise, seen.FirstSource)
	if inserted.Error != nil {
		return false, fmt.Errorf("payment of order %d: %w", seen.OrderID, inserted.Error)
	}
	var row Payment
	if err := s.one(ctx, &row, `SELECT * FROM payments WHERE razorpay_payment_id = ? FOR UPDATE`, seen.RazorpayPaymentID); err != nil {
		return false, err
	}
	if row.OrderID != seen.OrderID || row.AmountPaise != seen.AmountPaise || row.Currency != seen.Currency {
		return false, fmt.Errorf("payment %d was first reported differently: %w", row.ID, ErrAmountMismatch)
	}
	switch {
	case IsCaptured(says) && row.Disposition == nil && row.GWStatus != "voided": // the caller decides now
		row.Method, row.FeePaise, row.TaxPaise = seen.Method, seen.FeePaise, seen.TaxPaise
		*seen = row
		return true, nil
	case paymentRank[says] <= paymentRank[row.GWStatus]: // an older report, or the same again
		*seen = row
		return inserted.RowsAffected == 1, nil
	}
	err = s.one(ctx, &row, `UPDATE payments SET gw_status = ?, method = ?, error_code = ?, error_reason = ?, error_description = ?,
			fee_paise = COALESCE(?, fee_paise), tax_paise = COALESCE(?, tax_paise)
		WHERE id = ? AND payment_rank(gw_status) < payment_rank(?) RETURNING *`,
		says, seen.Method, seen.ErrorCode, seen.ErrorReason, seen.ErrorDescription, seen.FeePaise, seen.TaxPaise, row.ID, says)
	if err == ErrNotFound {
		return false, fmt.Errorf("payment %d: %w", row.ID, ErrBadMove)
	}
	*seen = row
	return true, err
}

// KeepPayment is the one complete success: the payment is kept, its order paid, the ticket written, the sale booked, the confirmation
// queued – or none of it. The order's holds are committed already (CommitHolds). customerFee is the part of the payment that is
// Razorpay's fee where the customer bears it. Errors: ErrBadMove when the order is no longer pending. Inside InTx only, under the order's lock.
func (s *Store) KeepPayment(ctx context.Context, o *Order, p *Payment, gwStatus string, customerFee Paise) error {
	if err := s.decide(ctx, p, `gw_status = ?, disposition = 'kept', customer_fee_paise = ?, method = ?, fee_paise = COALESCE(?, fee_paise), tax_paise = COALESCE(?, tax_paise),
		error_code = '', error_reason = '', error_description = ''`, gwStatus, customerFee, p.Method, p.FeePaise, p.TaxPaise); err != nil {
		return err
	}
	if err := s.MoveOrder(ctx, o, OrderPaid, Move{By: ActorShop, PaymentID: &p.ID}); err != nil {
		return err
	}
	FaultPoint("record.mid_tx")
	if err := s.EnsureFulfilment(ctx, *o, &p.ID); err != nil {
		return err
	}
	parts := o.Parts()
	parts.CustomerFeePaise = customerFee
	booked := sale(parts)
	booked[accountClearing] = p.AmountPaise
	if err := s.post(ctx, "capture", "payment", fmt.Sprint(p.ID), booked); err != nil {
		return err
	}
	if err := s.EnsureLetter(ctx, LetterConfirmation, o.PublicID, *o); err != nil {
		return err
	}
	return s.issuePaper(ctx, o.ID, "paid", nil)
}

// GrantOrder makes an order paid that asks for nothing: ticket, dishes sold, confirmation, like KeepPayment without a payment. Errors:
// ErrBadMove. Inside InTx only, in the transaction that places it.
func (s *Store) GrantOrder(ctx context.Context, o *Order) error {
	kept, err := s.CommitHolds(ctx, o.ID)
	if err != nil {
		return err
	}
	if !kept || o.AmountPaise != 0 {
		return fmt.Errorf("order %d of %d paise cannot be granted: %w", o.ID, o.AmountPaise, ErrBadMove)
	}
	if err := s.MoveOrder(ctx, o, OrderPaid, Move{By: ActorShop}); err != nil {
		return err
	}
	if err := s.EnsureFulfilment(ctx, *o, nil); err != nil {
		return err
	}
	return s.EnsureLetter(ctx, LetterConfirmation, o.PublicID, *o)
}

// ReturnPayment is the default: the money goes back, all of it, by a refund whose id follows from the payment's, so that it is asked
// for once however often it is decided again. look is how long staff may look at it before it goes. Inside InTx only, under the order's lock.
func (s *Store) ReturnPayment(ctx context.Context, o Order, p *Payment, gwStatus, reason, speed string, look time.Duration) error {
	if err := s.decide(ctx, p, `gw_status = ?, disposition = 'refund', reason = ?, refund_reserved_paise = amount_paise, method = ?,
		fee_paise = COALESCE(?, fee_paise), tax_paise = COALESCE(?, tax_paise)`, gwStatus, reason, p.Method, p.FeePaise, p.TaxPaise); err != nil {
		return err
	}
	if err := s.post(ctx, "capture", "payment", fmt.Sprint(p.ID), entries{accountClearing: p.AmountPaise, accountPayable: -p.AmountPaise}); err != nil {
		return err
	}
	refund := Refund{ID: AutoRefundID(*p.RazorpayPaymentID), PaymentID: p.ID, OrderID: o.ID, AmountPaise: p.AmountPaise, Kind: "auto", Reason: reason,
		RequestedBy: ActorShop, Speed: speed}
	if look > 0 {
		refund.HoldUntil = at(p.DecidedAt.Add(look))
	}
	if err := s.createRefund(ctx, refund); err != nil {
		return err
	}
	if err := s.EnsureLetter(ctx, LetterRefundRequested, refund.ID, o); err != nil {
		return err
	}
	return s.Notify(ctx, OrderTopic(o.ID))
}

// decide stores a capture and its decision in one guarded statement, once and for all.
func (s *Store) decide(ctx context.Context, p *Payment, set string, args ...any) error {
	var row Payment
	err := s.one(ctx, &row, `UPDATE payments SET decided_at = shop_now(), `+set+` WHERE id = ? AND disposition IS NULL RETURNING *`, append(args, p.ID)...)
	if err == ErrNotFound {
		return fmt.Errorf("payment %d is decided already: %w", p.ID, ErrBadMove)
	}
	if err != nil {
		return fmt.Errorf("decide payment %d: %w", p.ID, err)
	}
	*p = row
	return nil
}

// autoRefunds is the name space of automatic refunds' ids; any fixed UUID, never to be changed.
var autoRefunds = uuid.MustParse("5f0c2b52-6d7e-4a5b-9b0c-7466696e2e69")

// AutoRefundID is the id of the refund that gives one gateway payment back by itself: always the same for the same payment.
func AutoRefundID(razorpayPaymentID string) string {
	return uuid.NewSHA1(autoRefunds, []byte(razorpayPaymentID)).String()
}

// ListPayments returns an order's attempts, oldest first.
func (s *Store) ListPayments(ctx context.Context, orderID int64) (payments []Payment, err error) {
	err = s.db.WithContext(ctx).Where("order_id = ?", orderID).Order("id").Find(&payments).Error
	return payments, err
}

// FindPayment returns one attempt by its Razorpay id. Errors: ErrNotFound.
func (s *Store) FindPayment(ctx context.Context, razorpayPaymentID string) (p Payment, err error) {
	err = s.one(ctx, &p, `SELECT * FROM payments WHERE razorpay_payment_id = ?`, razorpayPaymentID)
	return p, err
}

// KnowsPayment reports whether the rows say of a payment what the gateway says: its state, and how much of it was given back.
func (s *Store) KnowsPayment(ctx context.Context, razorpayPaymentID, gwStatus string, refunded Paise) (known bool, err error) {
	err = s.one(ctx, &known, `SELECT EXISTS (SELECT 1 FROM payments p WHERE p.razorpay_payment_id = ? AND p.gw_status = ? AND (p.disposition IS NULL OR ? =
		(SELECT COALESCE(sum(r.amount_paise), 0) FROM refunds r WHERE r.payment_id = p.id AND r.status IN ('submitted', 'processed'))))`, razorpayPaymentID, gwStatus, refunded)
	return known, err
}

// Hint remembers that a browser named a payment while the gateway was silent; the sweep asks about it. Safe to repeat.
func (s *Store) Hint(ctx context.Context, razorpayPaymentID string, orderID int64) error {
	return s.exec(ctx, `INSERT INTO payment_hints (razorpay_payment_id, order_id, next_attempt_at) VALUES (?, ?, shop_now() + interval '5 seconds')
		ON CONFLICT (razorpay_payment_id) DO NOTHING`, razorpayPaymentID, orderID).Error
}

// CloseHint notes that the payment's state is recorded, or that the gateway knows no such payment.
func (s *Store) CloseHint(ctx context.Context, razorpayPaymentID string) error {
	return s.exec(ctx, `UPDATE payment_hints SET done_at = shop_now() WHERE razorpay_payment_id = ? AND done_at IS NULL`, razorpayPaymentID).Error
}

// ClaimDueHints takes the hints whose turn it is, moving each to a later turn first (doubling from 5 s, given up after 24 h: by then
// the order's own checks have asked often).
func (s *Store) ClaimDueHints(ctx context.Context, limit int) (ids []string, err error) {
	err = s.read(ctx, &ids, `UPDATE payment_hints SET attempts = attempts + 1, next_attempt_at = shop_now() + least(interval '5 seconds' * 2 ^ least(attempts, 12), interval '1 hour')
		WHERE razorpay_payment_id IN (SELECT razorpay_payment_id FROM payment_hints WHERE done_at IS NULL AND next_attempt_at <= shop_now()
			AND created_at > shop_now() - interval '24 hours' ORDER BY next_attempt_at LIMIT ? FOR UPDATE SKIP LOCKED)
		RETURNING razorpay_payment_id`, limit)
	return ids, err
}

// HintedAt says since when a browser has named a payment of the order whose truth is not known yet: the page says "confirming", and
// after a minute "slow". nil: there is none.
func (s *Store) HintedAt(ctx context.Context, orderID int64) (since *time.Time, err error) {
	var first sql.NullTime
	if err = s.one(ctx, &first, `SELECT min(created_at) FROM payment_hints WHERE order_id = ? AND done_at IS NULL`, orderID); err != nil || !first.Valid {
		return nil, err
	}
	return &first.Time, nil
}

// RecordBreak notes money or orders at the gateway that this shop cannot place. Safe to repeat.
func (s *Store) RecordBreak(ctx context.Context, ref, detail string, amount Paise) error {
	return s.exec(ctx, `INSERT INTO recon_breaks (ref, detail, amount_paise) VALUES (?, ?, ?) ON CONFLICT (ref) DO NOTHING`, ref, detail, amount).Error
}
