package models

import (
	"context"
	"errors"
	"fmt"
)

// OffersCash reports whether orders that go this way may be paid in cash.
func (o Outlet) OffersCash(way string) bool {
	return way == "pickup" && o.CashPickup || way == "delivery" && o.CashDelivery
}

// RefusesCash says why an order of this amount cannot be paid in cash: *ErrCash with off or limit; nil when it can.
func (o Outlet) RefusesCash(way string, amount Paise) error {
	switch {
	case !o.OffersCash(way):
		return &ErrCash{Why: "off"}
	case amount > o.CashLimitPaise:
		return &ErrCash{Why: "limit", LimitPaise: o.CashLimitPaise}
	}
	return nil
}

// The bounds of a cash rule: the law's on an amount (Income-tax Act, s. 269ST: less than two lakh rupees), ours on orders. The outlet's CHECKs hold them.
const (
	MaxCashPaise  = Paise(199999_00)
	MaxCashOrders = 20
)

// CashRule is whether and up to how much an outlet takes cash, and how many orders of one phone number may be unpaid at one time.
type CashRule struct {
	Pickup, Delivery bool
	LimitPaise       Paise
	OpenOrders       int
}

// SaveCashRule writes an outlet's rule, for a staff member who has a say there. Orders that are due already stay so. The change is audited.
// Safe to repeat. Errors: ErrNotFound, ErrBadInput.
func (s *Store) SaveCashRule(ctx context.Context, outletID int64, c CashRule, staffID int64) error {
	err := s.InTx(ctx, func(tx *Store) error {
		r := tx.exec(ctx, `UPDATE outlets SET cash_pickup = ?, cash_delivery = ?, cash_limit_paise = ?, cash_open_orders = ? WHERE id = ? AND `+staffOfOutlet,
			c.Pickup, c.Delivery, c.LimitPaise, c.OpenOrders, outletID, staffID, outletID)
		if r.Error != nil {
			return r.Error
		}
		if r.RowsAffected == 0 {
			return fmt.Errorf("cash rule of outlet %d: %w", outletID, ErrNotFound)
		}
		return tx.recordDeed(ctx, staffID, "save_cash", fmt.Sprintf("outlet %d: pickup %t, delivery %t, up to %d paise, %d orders", outletID, c.Pickup, c.Delivery, c.LimitPaise, c.OpenOrders), outletID)
	})
	if isCheck(err) {
		return fmt.Errorf("%w: %s", ErrBadInput, err)
	}
	return err
}

// AcceptCash makes an order due that is to be paid in cash: its dishes are sold, its ticket written, its confirmation queued. seats is how
// many orders of one phone number may be due at this outlet at one time. Errors: *ErrCash (open), ErrBadMove. Inside InTx only, in the
// transaction that places it.
func (s *Store) AcceptCash(ctx context.Context, o *Order, seats int) error {
	kept, err := s.CommitHolds(ctx, o.ID)
	if err != nil {
		return err
	}
	if !kept {
		return fmt.Errorf("order %d has lost its dishes: %w", o.ID, ErrBadMove)
	}
	// Orders of one number take turns for a seat; orders_cash_seat_key would refuse the second of two that did not.
	if err := s.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('cash ' || ? || ' ' || ?, 0))`, fmt.Sprint(o.OutletID), o.Phone).Error; err != nil {
		return err
	}
	taken := s.exec(ctx, `UPDATE orders SET cash_seat = (SELECT min(n) FROM generate_series(1, ?) n
			WHERE NOT EXISTS (SELECT 1 FROM orders d WHERE d.outlet_id = ? AND d.phone = ? AND d.status = 'due' AND d.cash_seat = n)) WHERE id = ?`, seats, o.OutletID, o.Phone, o.ID)
	if taken.Error != nil {
		return taken.Error
	}
	if err := s.MoveOrder(ctx, o, OrderDue, Move{By: ActorShop}); err != nil {
		if isConstraint(err, "orders_due_check") || isConstraint(err, "orders_cash_seat_key") { // no seat was left
			return &ErrCash{Why: "open"}
		}
		return err
	}
	if err := s.EnsureFulfilment(ctx, *o, nil); err != nil {
		return err
	}
	return s.EnsureLetter(ctx, LetterConfirmation, o.PublicID, *o)
}

// TakeCash notes that a staff member of its outlet has taken the money of a due order: all of it, as much as was shown to them. The order is
// paid from then on by a kept payment, the sale is booked, and its receipt issued, or, if the food went out before, its invoice; what
// shortages owe of it is asked to be given back.
// Errors: ErrNotFound, ErrBadMove when it is not due any more or costs something else. Safe to repeat: the second time it is ErrBadMove.
func (s *Store) TakeCash(ctx context.Context, orderID int64, shown Paise, by Staff) (o Order, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, StaffActor(by.ID)); err != nil {
			return err
		}
		if o, err = tx.lockOrderOf(ctx, orderID, by); err != nil {
			return err
		}
		if o.Status != OrderDue || o.AmountPaise != shown {
			return fmt.Errorf("order %d is %s with %d paise, not due with %d: %w", o.ID, o.Status, o.AmountPaise, shown, ErrBadMove)
		}
		var p Payment
		if err := tx.one(ctx, &p, `INSERT INTO payments (provider, order_id, amount_paise, currency, gw_status, method, disposition, decided_at, first_source)
			VALUES ('cash', ?, ?, ?, 'captured', 'cash', 'kept', shop_now(), ?) RETURNING *`, o.ID, o.AmountPaise, o.Currency, ViaStaff); err != nil {
			return fmt.Errorf("cash for order %d: %w", o.ID, err)
		}
		if err := tx.MoveOrder(ctx, &o, OrderPaid, Move{By: StaffActor(by.ID), PaymentID: &p.ID}); err != nil {
			return err
		}
		var ticket Fulfilment
		if err := tx.one(ctx, &ticket, `UPDATE fulfilments SET payment_id = ? WHERE order_id = ? AND payment_id IS NULL RETURNING *`, p.ID, o.ID); err != nil {
			return fmt.Errorf("ticket %d: %w", o.ID, err)
		}
		booked := sale(o.Parts())
		booked[accountCash] = p.AmountPaise
		if err := tx.post(ctx, "capture", "payment", fmt.Sprint(p.ID), booked); err != nil {
			return err
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), "take_cash", &o.ID, fmt.Sprintf("%d paise", p.AmountPaise)); err != nil {
			return err
		}
		cause := "paid"
		if ticket.HandedOverAt != nil {
			cause = "handed_over"
		}
		if err := tx.issuePaper(ctx, o.ID, cause, nil); err != nil {
			return err
		}
		return tx.giveShortsOf(ctx, o, "normal")
	})
	return o, err
}

// GiveCashBack notes that a staff member of its outlet has given back in cash what a refund of a cash payment asked for.
// Errors: ErrNotFound, ErrBadMove when it was given back already, or is not cash. Safe to repeat: the second time it is ErrBadMove.
func (s *Store) GiveCashBack(ctx context.Context, refundID string, by Staff) (r Refund, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.Act(ctx, StaffActor(by.ID)); err != nil {
			return err
		}
		if r, err = tx.FindRefund(ctx, refundID); err != nil {
			return err
		}
		o, err := tx.lockOrderOf(ctx, r.OrderID, by)
		if err != nil {
			return err
		}
		if _, err := tx.LockPayment(ctx, r.PaymentID); err != nil {
			return err
		}
		err = tx.one(ctx, &r, `UPDATE refunds SET status = 'processed', processed_at = shop_now(), submitted_at = shop_now(), given_by = ?
			WHERE id = ?::uuid AND provider = 'cash' AND status = 'requested' RETURNING *`, StaffActor(by.ID), refundID)
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("refund %s is %s, of %s: %w", refundID, r.Status, r.Provider, ErrBadMove)
		}
		if err != nil {
			return err
		}
		if err := tx.post(ctx, "refund_settled", "refund", r.ID, entries{accountPayable: r.AmountPaise, accountCash: -r.AmountPaise}); err != nil {
			return err
		}
		if err := tx.EnsureLetter(ctx, LetterRefundProcessed, r.ID, o); err != nil {
			return err
		}
		if err := tx.EndTask(ctx, TaskCashBack, r.ID); err != nil {
			return err
		}
		if err := tx.Audit(ctx, StaffActor(by.ID), "give_cash_back", &o.ID, fmt.Sprintf("%d paise, refund %s", r.AmountPaise, r.ID)); err != nil {
			return err
		}
		return tx.Notify(ctx, OrderTopic(o.ID))
	})
	return r, err
}

// lockOrderOf locks an order of a staff member's outlet. Errors: ErrNotFound, also for another outlet's.
func (s *Store) lockOrderOf(ctx context.Context, orderID int64, by Staff) (Order, error) {
	o, err := s.LockOrder(ctx, orderID)
	if err == nil && by.OutletID != nil && *by.OutletID != o.OutletID {
		err = fmt.Errorf("order %d is of another outlet: %w", orderID, ErrNotFound)
	}
	return o, err
}
