package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// CreateStub stores a gateway order that carries our marks and fits no order of ours – made before a backup was restored, or by another
// hand – under an order of its own: born cancelled for review, with no dishes and no customer, its bill one line of the asked amount.
// Money on it is then judged, given back, booked and shown like all other money. likeOrderID is the order its marks name, for the outlet;
// 0 if there is none. Safe to repeat and to run twice at once: one gateway order has one stub.
func (s *Store) CreateStub(ctx context.Context, g GatewayOrder, likeOrderID int64, mode string) error {
	err := s.InTx(ctx, func(tx *Store) error {
		var at struct {
			OutletID  int64
			Name      string
			TaxMode   string
			ServiceOn time.Time
			Now       time.Time
			GuestID   int64
		}
		if err := tx.one(ctx, &at, `WITH guest AS (INSERT INTO customers DEFAULT VALUES RETURNING id)
			SELECT u.id AS outlet_id, u.name, u.tax_mode, (shop_now() AT TIME ZONE 'Asia/Kolkata')::date AS service_on, shop_now() AS now, guest.id AS guest_id
			FROM outlets u, guest ORDER BY u.id = (SELECT outlet_id FROM orders WHERE id = ?) DESC NULLS LAST, u.id LIMIT 1`, likeOrderID); err != nil {
			return err
		}
		slot, err := tx.EnsureSlot(ctx, Outlet{ID: at.OutletID}, Window{ServiceOn: at.ServiceOn, OpensAt: at.Now, LastOrderAt: at.Now}) // a window nothing can be ordered in
		if err != nil {
			return err
		}
		number, err := tx.takeNumber(ctx, at.OutletID, at.ServiceOn)
		if err != nil {
			return err
		}
		reason, by, key := CancelReview, ActorShop, uuid.NewSHA1(stubs, []byte(g.RazorpayOrderID))
		o := Order{PublicID: "r" + fmt.Sprintf("%x", key[:]), Token: newToken(), Number: number, ServiceOn: at.ServiceOn, OutletID: at.OutletID, SlotID: slot.ID, CustomerID: at.GuestID,
			CheckoutKey: key.String(), CheckoutHash: make([]byte, 32), Mode: mode, Way: "pickup", TaxMode: at.TaxMode, SubtotalPaise: g.AmountPaise, AmountPaise: g.AmountPaise,
			Name: "Unknown", OutletName: at.Name, Status: OrderCancelled, CancelReason: &reason, CancelledBy: &by, ClosedAt: &at.Now, HoldExpiresAt: at.Now,
			NextCheckAt: &at.Now, Note: "Money for " + g.Receipt}
		if err := tx.db.WithContext(ctx).Create(&o).Error; err != nil {
			return fmt.Errorf("stub for %s: %w", g.RazorpayOrderID, err)
		}
		return tx.exec(ctx, `INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via) VALUES (?, ?, 1, ?, ?, ?, 'superseded', ?)`,
			g.RazorpayOrderID, o.ID, g.Receipt, g.AmountPaise, g.Currency, g.LearnedVia).Error
	})
	if err != nil {
		if _, findErr := s.FindGatewayOrder(ctx, g.RazorpayOrderID); findErr == nil {
			return nil // somebody was first
		} else if !errors.Is(findErr, ErrNotFound) {
			return findErr
		}
	}
	return err
}

// stubs is the name space of stub orders' ids; any fixed UUID, never to be changed.
var stubs = uuid.MustParse("9d2d8a36-0f3e-4c57-8a63-7466696e2e72")

// releaseRefund sends the refund of a payment that staff have looked at, instead of when its time to look is over.
func (s *Store) releaseRefund(ctx context.Context, razorpayPaymentID string) error {
	var id string
	err := s.one(ctx, &id, `UPDATE refunds SET hold_until = NULL, next_attempt_at = shop_now() WHERE status = 'requested' AND hold_until IS NOT NULL
		AND payment_id = (SELECT id FROM payments WHERE razorpay_payment_id = ?) RETURNING id`, razorpayPaymentID)
	if err == ErrNotFound {
		return nil // it is on its way
	}
	if err != nil {
		return err
	}
	return s.Enqueue(ctx, SendRefundArgs{RefundID: id})
}
