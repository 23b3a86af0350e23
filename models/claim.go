package models

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Claim is the right to call the gateway's create for one order. It has one holder and it expires.
type Claim struct {
	OrderID    int64
	Generation int
	Attempt    int
	Token      string
	Receipt    string // told to the gateway; the same for every attempt of a generation
	State      string // open, unknown, attached, rejected, released
	ClaimedAt  time.Time
	ExpiresAt  time.Time
	Looks      int
}

// GatewayOrder is one order at the gateway that belongs to one of ours. At most one of an order is current: the one browsers are given.
type GatewayOrder struct {
	RazorpayOrderID string
	OrderID         int64
	Generation      int
	Receipt         string
	AmountPaise     Paise
	Currency        string
	State           string // current, superseded
	HandedOutAt     *time.Time
	LearnedVia      string // create, lookup, event, sweep, verify
	CreatedAt       time.Time
}

// claimSeconds is how long the winner may take: the client's 8 s for the call and 7 times that for a stalled process. Until it is
// over nobody else may create, so a larger number makes a customer wait longer after a crash.
const claimSeconds = 60

// ClaimGatewayOrder decides who may create the order's gateway order. Exactly one of these holds:
// a current gateway order (its id is returned), the claim is won (claim.Token is set), or an error: ErrPreparing while another holds a
// live claim, ErrBadMove when the order is no longer payable, ErrTooLate when its hold is over, ErrNotFound when it is not this customer's.
//
// The five conditions of the founding text – this customer, this order, no gateway order yet, still pending, no live claim – are
// judged by one statement under the order's row lock; the partial unique index gateway_claims_live_key stands behind it.
func (s *Store) ClaimGatewayOrder(ctx context.Context, orderID, customerID int64) (claim Claim, current string, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		claim, current = Claim{}, ""
		o, err := tx.LockOrder(ctx, orderID)
		if err != nil {
			return err
		}
		err = tx.one(ctx, &claim, `INSERT INTO gateway_claims (order_id, generation, attempt, token, receipt, expires_at)
			SELECT o.id, n.generation, n.attempts + 1, gen_random_uuid(), o.public_id || '-g' || n.generation, shop_now() + make_interval(secs => ?)
			FROM orders o, LATERAL (SELECT 1 AS generation, count(*) AS attempts FROM gateway_claims WHERE order_id = o.id) n
			WHERE o.id = ? AND o.customer_id = ? AND o.status = 'pending' AND o.pays = 'razorpay' AND o.hold_expires_at > shop_now()
			  AND NOT EXISTS (SELECT 1 FROM gateway_orders g WHERE g.order_id = o.id AND g.state = 'current')
			  AND NOT EXISTS (SELECT 1 FROM gateway_claims k WHERE k.order_id = o.id AND k.state IN ('open', 'unknown'))
			ON CONFLICT DO NOTHING
			RETURNING order_id, generation, attempt, token, receipt, state, claimed_at, expires_at, looks`, claimSeconds, orderID, customerID)
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		return tx.whyNoClaim(ctx, o, customerID, &current)
	})
	return claim, current, err
}

// whyNoClaim tells the loser something useful.
func (s *Store) whyNoClaim(ctx context.Context, o Order, customerID int64, current *string) error {
	now, err := s.Now(ctx)
	switch {
	case err != nil:
		return err
	case o.CustomerID != customerID:
		return fmt.Errorf("order %d: %w", o.ID, ErrNotFound)
	case !o.IsPayable():
		return fmt.Errorf("order %d is %s: %w", o.ID, o.Status, ErrBadMove)
	case !now.Before(o.HoldExpiresAt):
		return fmt.Errorf("order %d: %w", o.ID, ErrTooLate)
	}
	if err := s.read(ctx, current, `SELECT razorpay_order_id FROM gateway_orders WHERE order_id = ? AND state = 'current'`, o.ID); err != nil {
		return err
	}
	if *current == "" {
		return fmt.Errorf("order %d: %w", o.ID, ErrPreparing)
	}
	return nil
}

// AttachGatewayOrder stores a gateway order under its order and returns the one that is current afterwards: the first to attach
// wins, and everybody, the caller who created another one included, returns the winner. "" means that none is current, because the
// order is no longer pending. token is the caller's claim, or "" when the gateway order was found and not made.
//
// ErrAmountMismatch: amount, currency or receipt are not the order's; nothing is stored. Safe to repeat.
func (s *Store) AttachGatewayOrder(ctx context.Context, g GatewayOrder, token string) (current string, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		current = ""
		o, err := tx.LockOrder(ctx, g.OrderID)
		if err != nil {
			return err
		}
		if g.AmountPaise != o.AmountPaise || g.Currency != o.Currency || g.Receipt != receiptOf(o, g.Generation) {
			return fmt.Errorf("gateway order %s for order %d: %w", g.RazorpayOrderID, o.ID, ErrAmountMismatch)
		}
		if err := tx.exec(ctx, `INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via)
			SELECT ?, o.id, ?, ?, ?, ?, CASE WHEN o.status = 'pending' AND NOT EXISTS (SELECT 1 FROM gateway_orders g WHERE g.order_id = o.id AND g.state = 'current')
			       THEN 'current' ELSE 'superseded' END, ? FROM orders o WHERE o.id = ?
			ON CONFLICT (razorpay_order_id) DO NOTHING`, g.RazorpayOrderID, g.Generation, g.Receipt, g.AmountPaise, g.Currency, g.LearnedVia, o.ID).Error; err != nil {
			return err
		}
		if err := tx.read(ctx, &current, `SELECT razorpay_order_id FROM gateway_orders WHERE order_id = ? AND state = 'current'`, o.ID); err != nil {
			return err
		}
		if err := tx.exec(ctx, `UPDATE gateway_claims SET state = 'attached', closed_at = shop_now()
			WHERE order_id = ? AND state IN ('open', 'unknown') AND (token::text = ? OR ? <> '')`, o.ID, token, current).Error; err != nil {
			return err
		}
		return tx.Notify(ctx, OrderTopic(o.ID))
	})
	if err == nil {
		FaultPoint("attach.after_commit")
	}
	return current, err
}

func receiptOf(o Order, generation int) string { return fmt.Sprintf("%s-g%d", o.PublicID, generation) }

// HandOut notes that a browser is being given the gateway order: from now on money may arrive on it, so the sweep asks within a minute.
func (s *Store) HandOut(ctx context.Context, razorpayOrderID string) error {
	return s.exec(ctx, `WITH handed AS (UPDATE gateway_orders SET handed_out_at = shop_now() WHERE razorpay_order_id = ? AND handed_out_at IS NULL RETURNING order_id)
		UPDATE orders SET next_check_at = least(next_check_at, shop_now() + interval '60 seconds') WHERE id IN (SELECT order_id FROM handed) AND status = 'pending'`, razorpayOrderID).Error
}

// CloseClaim ends a claim whose call has a definite answer without a gateway order: rejected (the gateway refused) or released
// (it never looked). A claim that is no longer live is left as it is.
func (s *Store) CloseClaim(ctx context.Context, token, state string) error {
	return s.exec(ctx, `UPDATE gateway_claims SET state = ?, closed_at = shop_now() WHERE token = ?::uuid AND state = 'open'`, state, token).Error
}

// DoubtClaim marks a claim whose call may or may not have worked. The resolver looks for its receipt.
func (s *Store) DoubtClaim(ctx context.Context, token string) error {
	return s.exec(ctx, `UPDATE gateway_claims SET state = 'unknown', resolve_at = shop_now() + interval '5 seconds' WHERE token = ?::uuid AND state = 'open'`, token).Error
}

// lookSchedule is when, after the claim, the resolver looks for its receipt. Lists lag by minutes, so a miss proves nothing; after
// the last one the claim is let go, and a create that takes effect later makes a twin nobody was given.
var lookSchedule = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, 60 * time.Second, 120 * time.Second}

// ClaimDueLooks takes the live claims that are due for a look: unknown ones by resolve_at, open ones once they expired (their process
// died). Each is moved to its next look first, so two sweepers share the work and a crash only delays it.
func (s *Store) ClaimDueLooks(ctx context.Context, limit int) (claims []Claim, err error) {
	err = s.read(ctx, &claims, `UPDATE gateway_claims SET state = 'unknown', looks = looks + 1, resolve_at = shop_now() + interval '15 seconds'
		WHERE (order_id, generation, attempt) IN (SELECT order_id, generation, attempt FROM gateway_claims
			WHERE state IN ('open', 'unknown') AND COALESCE(resolve_at, expires_at) <= shop_now()
			ORDER BY COALESCE(resolve_at, expires_at) LIMIT ? FOR UPDATE SKIP LOCKED)
		RETURNING order_id, generation, attempt, token, receipt, state, claimed_at, expires_at, looks`, limit)
	return claims, err
}

// MissClaim notes that a look found nothing: the next look is scheduled, or after the last the claim is released.
func (s *Store) MissClaim(ctx context.Context, c Claim) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	for _, after := range lookSchedule {
		if next := c.ClaimedAt.Add(after); next.After(now) {
			return s.exec(ctx, `UPDATE gateway_claims SET resolve_at = ? WHERE token = ?::uuid AND state = 'unknown'`, next, c.Token).Error
		}
	}
	return s.exec(ctx, `UPDATE gateway_claims SET state = 'released', closed_at = shop_now() WHERE token = ?::uuid AND state = 'unknown'`, c.Token).Error
}

// ListGatewayOrders returns all gateway orders of an order, oldest first.
func (s *Store) ListGatewayOrders(ctx context.Context, orderID int64) (list []GatewayOrder, err error) {
	err = s.db.WithContext(ctx).Where("order_id = ?", orderID).Order("created_at, razorpay_order_id").Find(&list).Error
	return list, err
}

// FindGatewayOrder returns one by its Razorpay id. Errors: ErrNotFound.
func (s *Store) FindGatewayOrder(ctx context.Context, razorpayOrderID string) (g GatewayOrder, err error) {
	err = s.one(ctx, &g, `SELECT * FROM gateway_orders WHERE razorpay_order_id = ?`, razorpayOrderID)
	return g, err
}
