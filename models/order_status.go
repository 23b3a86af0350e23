package models

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The order's states. A failed attempt leaves an order pending; refunded and partly refunded are derived from refunds.
const (
	OrderPending   = "pending"   // placed, not paid
	OrderDue       = "due"       // cash: made before it is paid
	OrderPaid      = "paid"      // one kept payment, one ticket
	OrderCancelled = "cancelled" // by customer, staff or the shop; if it was paid, the money is on its way back
	OrderExpired   = "expired"   // nobody paid in time; money that still comes goes back
)

// orderMoves is the whole table of moves. The trigger orders_guard holds the same edges for every other writer.
var orderMoves = map[string][]string{
	OrderPending: {OrderPaid, OrderCancelled, OrderExpired, OrderDue},
	OrderDue:     {OrderPaid, OrderCancelled},
	OrderPaid:    {OrderCancelled},
}

// MayMoveOrder reports whether an order may go from one state to another. Unknown states may go nowhere.
func MayMoveOrder(from, to string) bool {
	for _, next := range orderMoves[from] {
		if next == to {
			return true
		}
	}
	return false
}

// CancelReview is the cancel_reason of an order that stands for money which no order of ours asked for (CreateStub).
const CancelReview = "review"

// Who made a change, as history and audit write it.
const (
	ActorShop     = "shop"
	ActorCustomer = "customer"
)

// StaffActor names a staff member in history and audit.
func StaffActor(staffID int64) string { return "staff:" + strconv.FormatInt(staffID, 10) }

// Move says why an order moves.
type Move struct {
	By        string // ActorShop, ActorCustomer or StaffActor
	Reason    string // cancelled: superseded, changed_mind, kitchen_closed, …; people see a sentence for it
	PaymentID *int64 // paid: the payment that is kept
}

// MoveOrder is the one function that writes an order's state: from the state o has to another, if the table allows it and the row is
// still there. A closed order gives its dishes back; any move away from pending frees the session's checkout key. o is brought up to date.
// Errors: ErrBadMove. Inside InTx only, under the order's lock.
func (s *Store) MoveOrder(ctx context.Context, o *Order, to string, why Move) error {
	if !MayMoveOrder(o.Status, to) {
		return fmt.Errorf("order %d %s -> %s: %w", o.ID, o.Status, to, ErrBadMove)
	}
	closing := to == OrderCancelled || to == OrderExpired
	if closing {
		if err := s.ReleaseHolds(ctx, o.ID); err != nil {
			return err
		}
	}
	from := o.Status
	var moved Order
	err := s.one(ctx, &moved, `UPDATE orders SET status = ?, checks = 0, next_check_at = shop_now() + interval '15 minutes',
			paid_payment_id = COALESCE(?, paid_payment_id), paid_at = CASE WHEN ? THEN shop_now() ELSE paid_at END,
			closed_at = CASE WHEN ? THEN shop_now() END,
			cancel_reason = CASE WHEN ? THEN ? END, cancelled_by = CASE WHEN ? THEN ? END
		WHERE id = ? AND status = ? RETURNING *`,
		to, why.PaymentID, to == OrderPaid, closing, to == OrderCancelled, why.Reason, to == OrderCancelled, why.By, o.ID, from)
	if err == ErrNotFound {
		return fmt.Errorf("order %d is no longer %s: %w", o.ID, from, ErrBadMove)
	}
	if err != nil {
		return fmt.Errorf("order %d %s -> %s: %w", o.ID, from, to, err)
	}
	moved.Items, moved.Taxes = o.Items, o.Taxes
	*o = moved
	if from == OrderPending && (to == OrderPaid || to == OrderDue) {
		if err := s.takeBoughtLines(ctx, o); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, `UPDATE sessions SET checkout_key = NULL WHERE checkout_key = ?::uuid`, o.CheckoutKey).Error; err != nil {
		return err
	}
	if to == OrderCancelled && why.By != ActorCustomer { // who cancels knows
		if err := s.ensurePushes(ctx, o.ID, PushCancelled, ""); err != nil {
			return err
		}
	}
	// Of money that goes back its refund's letter tells, of an order that another took the place of nobody needs to.
	if to == OrderCancelled && o.PaidPaymentID == nil && why.By != ActorCustomer && (from != OrderPending || why.By != ActorShop) {
		if err := s.EnsureLetter(ctx, LetterCancelled, o.PublicID, *o); err != nil {
			return err
		}
	}
	if to == OrderPaid || to == OrderDue || from == OrderPaid || from == OrderDue {
		if err := s.Notify(ctx, BoardTopic(o.OutletID)); err != nil {
			return err
		}
	}
	return s.Notify(ctx, OrderTopic(o.ID))
}

// takeBoughtLines takes out of the cart what the order bought, and nothing that was added since.
func (s *Store) takeBoughtLines(ctx context.Context, o *Order) error {
	if err := s.exec(ctx, `UPDATE carts SET version = version + 1, updated_at = shop_now(), coupon = '', tip_paise = 0 WHERE id = ?`, o.CartID).Error; err != nil {
		return err
	}
	const bought = `FROM order_items i WHERE i.order_id = ? AND l.cart_id = ? AND l.item_id = i.item_id AND l.option_ids = i.option_ids`
	if err := s.exec(ctx, `DELETE FROM cart_lines l USING `+strings.TrimPrefix(bought, "FROM ")+` AND l.qty <= i.qty`, o.ID, o.CartID).Error; err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE cart_lines l SET qty = l.qty - i.qty `+bought, o.ID, o.CartID).Error // what is left was wanted more often than bought
}

// The ticket's states.
const (
	TicketQueued     = "queued"
	TicketAccepted   = "accepted"
	TicketPreparing  = "preparing"
	TicketReady      = "ready"
	TicketHandedOver = "handed_over"
	TicketCancelled  = "cancelled"
)

// PaymentLabel is what people see of an order's money, derived from its state, its payments and its refunds; never stored.
// A paid order never shows failed, a refunded one never shows paid again.
//
// Values: unpaid, failed (the last attempt did, and none is open), confirming (authorized, not yet captured), paid,
// partially_refunded, refunding (all of it is on its way), refunded.
func PaymentLabel(o Order, payments []Payment, refunds []Refund) string {
	var captured, back, settled Paise
	label := "unpaid"
	for _, p := range payments {
		switch {
		case p.Disposition != nil && (p.IsKept() || o.PaidPaymentID == nil):
			captured += p.AmountPaise - p.CustomerFeePaise
			for _, r := range refunds {
				if r.PaymentID != p.ID || r.Status == "failed" || r.Status == "void" {
					continue
				}
				back += r.AmountPaise
				if r.Status == "processed" {
					settled += r.AmountPaise
				}
			}
		case p.GWStatus == "authorized":
			label = "confirming"
		case p.GWStatus == "failed" && label == "unpaid":
			label = "failed"
		}
	}
	switch {
	case captured == 0:
		return label
	case settled >= captured:
		return "refunded"
	case back >= captured:
		return "refunding"
	case back > 0:
		return "partially_refunded"
	default:
		return "paid"
	}
}
