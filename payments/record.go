package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// Slip is what a browser brings from Checkout: a claim that a payment was authorised for an order.
type Slip struct {
	RazorpayOrderID   string // as posted; only ever compared
	RazorpayPaymentID string
	RazorpaySignature string
}

// VerifyCheckout checks a slip against the gateway orders we stored for o – never against the posted one – and, if the signature is
// Razorpay's, asks the gateway for the payment and records it. The order as it is afterwards is returned.
//
// Errors: ErrBadSignature (nothing recorded), ErrUnconfirmed (the gateway is silent: the payment is remembered and asked about until
// it is known; tell the customer not to pay again). Safe to repeat. Makes a network call.
func (c *Cashier) VerifyCheckout(ctx context.Context, o *models.Order, slip Slip, via models.Source) (*models.Order, error) {
	ctx = detached(ctx)
	known, err := c.store.ListGatewayOrders(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	signed := false
	for _, g := range known {
		// Every one is tried, so the time taken tells nothing about which matched.
		signed = razorpay.VerifyCheckout(c.settings.KeySecret, g.RazorpayOrderID, slip.RazorpayPaymentID, slip.RazorpaySignature) || signed
	}
	if !signed || !razorpay.ValidID("pay", slip.RazorpayPaymentID) {
		return nil, fmt.Errorf("slip for order %d: %w", o.ID, ErrBadSignature)
	}
	recorded, err := c.recordPayment(ctx, slip.RazorpayPaymentID, via, 0)
	if err != nil {
		c.log.WarnContext(ctx, "payment not confirmed by the gateway", "order_id", o.ID, "razorpay_payment_id", slip.RazorpayPaymentID, "error", err)
		if hintErr := c.store.Hint(ctx, slip.RazorpayPaymentID, o.ID); hintErr != nil {
			return nil, hintErr
		}
		return o, ErrUnconfirmed
	}
	return recorded, nil
}

// recordPayment is the one way money becomes known here: page, callback, webhook and sweep all end in it, and no caller can hand in
// what it believes, since it fetches the payment itself, before any transaction. Then, in one transaction under the order's lock:
//
//   - the attempt is written, forward only;
//   - a capture is decided once, in the commit that first stores it: kept if it confirms its order, otherwise – a second, late, wrong or
//     unservable payment – given back in full; giving back is the default;
//   - kept means all of: order paid, ticket, ledger, dishes sold, confirmation queued, bought lines out of the cart;
//   - refunds the gateway already lists are taken over;
//   - eventID, when not 0, is closed as processed.
//
// Only business reasons refund. A technical error leaves nothing behind and is returned, for the next report or sweep to try again.
// Errors: models.ErrNotOurs, models.ErrAmountMismatch when the gateway contradicts itself, or the gateway's. Safe to repeat.
func (c *Cashier) recordPayment(ctx context.Context, razorpayPaymentID string, via models.Source, eventID int64) (*models.Order, error) {
	seen, err := c.gateway.FetchPayment(ctx, razorpayPaymentID)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", razorpayPaymentID, err)
	}
	if seen.OrderID == "" {
		return nil, errors.Join(models.ErrNotOurs, c.store.RecordBreak(ctx, seen.ID, "payment without an order", models.Paise(seen.AmountPaise)))
	}
	var refunds []razorpay.Refund
	if seen.AmountRefundedPaise > 0 {
		if refunds, err = c.gateway.ListPaymentRefunds(ctx, seen.ID); err != nil {
			return nil, fmt.Errorf("list refunds of %s: %w", seen.ID, err)
		}
	}
	if _, err := c.store.FindGatewayOrder(ctx, seen.OrderID); errors.Is(err, models.ErrNotFound) {
		err = c.adopt(ctx, seen.OrderID, learnedVia(via))
		if err != nil {
			return nil, fmt.Errorf("gateway order %s: %w", seen.OrderID, err)
		}
	} else if err != nil {
		return nil, err
	}

	var order models.Order
	err = c.store.InTx(ctx, func(tx *models.Store) error {
		if order, err = tx.LockOrderOf(ctx, seen.OrderID); err != nil {
			return err
		}
		payment := attempt(order, seen, via)
		moved, err := tx.AdvancePayment(ctx, &payment)
		if err != nil {
			return err
		}
		if moved && payment.Disposition == nil && models.IsCaptured(gwStatus(seen)) {
			if err := c.decide(ctx, tx, &order, &payment, seen); err != nil {
				return err
			}
		}
		for _, r := range ours(refunds) {
			if payment.Disposition == nil {
				break // voided: never captured, so never ours to give back
			}
			if err := recordSeenRefund(ctx, tx, order, payment.ID, r); err != nil {
				return err
			}
		}
		if moved {
			if err := tx.Notify(ctx, models.OrderTopic(order.ID)); err != nil {
				return err
			}
		}
		if settled(payment.GWStatus) {
			if err := tx.CloseHint(ctx, seen.ID); err != nil {
				return err
			}
		}
		if eventID != 0 {
			return tx.CloseEvent(ctx, eventID, "processed", &order.ID, "")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", seen.ID, err)
	}
	models.FaultPoint("record.after_commit")
	return &order, nil
}

func learnedVia(via models.Source) string {
	switch via {
	case models.ViaWebhook:
		return "event"
	case models.ViaVerify, models.ViaCallback, models.ViaHint:
		return "verify"
	}
	return "sweep"
}

// attempt writes what the gateway says in our words. Only these fields are kept of a payment: no name, address, card or account.
func attempt(o models.Order, seen razorpay.Payment, via models.Source) models.Payment {
	return models.Payment{
		RazorpayPaymentID: &seen.ID, RazorpayOrderID: &seen.OrderID, OrderID: o.ID,
		AmountPaise: models.Paise(seen.AmountPaise), Currency: seen.Currency, GWStatus: gwStatus(seen), Method: seen.Method,
		ErrorCode: seen.ErrorCode, ErrorReason: seen.ErrorReason, ErrorDescription: seen.ErrorDescription,
		FeePaise: paise(seen.FeePaise), TaxPaise: paise(seen.TaxPaise), FirstSource: string(via),
	}
}

// gwStatus reads a payment's state. refunded without ever having been captured is voided: the gateway gave it back by itself and no
// refund of ours belongs to it (Docs-new "Auto-Refunds"). A word we do not know counts as not paid.
func gwStatus(seen razorpay.Payment) string {
	switch seen.Status {
	case "refunded":
		if !seen.Captured {
			return "voided"
		}
		return "refunded"
	case "captured", "authorized", "failed":
		return seen.Status
	}
	return "created"
}

// settled reports whether a browser's claim about the payment needs no more asking.
func settled(gwStatus string) bool { return gwStatus != "created" && gwStatus != "authorized" }

func paise(p *int64) *models.Paise {
	if p == nil {
		return nil
	}
	v := models.Paise(*p)
	return &v
}

// facts is everything a decision about a capture depends on.
type facts struct {
	orderStatus   string
	cancelReason  string
	ordered       models.Paise // what the order asks for
	orderCurrency string
	paid          models.Paise
	paidCurrency  string
	gatewayFee    models.Paise // the gateway's fee on this payment, 0 if unknown
	refundedThere models.Paise // what the gateway says was given back of it already
	kitchenClosed bool         // staff ended the service window
	dishesGone    bool         // the hold lapsed and somebody else took them
	now           time.Time
	acceptUntil   time.Time // when its service window takes no more
	freshUntil    time.Time // when it is too late to cook for this payment
}

// verdict is what happens to a capture: it is kept when there is no reason against it, and goes back otherwise.
type verdict struct {
	reason      string
	customerFee models.Paise  // of a kept payment: the gateway's fee, where the customer bears it
	look        time.Duration // of a payment that goes back: how long staff may look at it first
}

// reviewTime is how long money that no order of ours asked for waits for a person. Then it goes back by itself: keeping it is not offered.
const reviewTime = 2 * time.Hour

// freshness is how long after its hold an order may still be confirmed (C5). The sweep ends it unpaid long before, unless the shop itself was
// down: then food nobody waits for any more would be cooked.
const freshness = 30 * time.Minute

// judge decides about a capture, wherever it comes from and however late. Pure: the same facts, the same verdict. The earlier a reason
// stands here, the more certain it is; a doubt about the money comes before one about the order, and that before one about the food.
func judge(f facts) verdict {
	back := func(reason string) verdict { return verdict{reason: reason} }
	fee := f.paid - f.ordered
	switch {
	case f.refundedThere > 0:
		return back("refunded_at_gateway")
	case f.paidCurrency != f.orderCurrency, fee < 0, fee > 0 && fee != f.gatewayFee:
		return back("amount_mismatch")
	case f.orderStatus == models.OrderCancelled && f.cancelReason == models.CancelReview:
		return verdict{reason: "review", look: reviewTime}
	case f.orderStatus == models.OrderCancelled && f.cancelReason == "superseded":
		return back("order_superseded")
	case f.orderStatus == models.OrderPaid:
		return back("already_paid")
	case f.orderStatus == models.OrderExpired:
		return back("order_expired")
	case f.orderStatus != models.OrderPending:
		return back("order_cancelled")
	case f.kitchenClosed:
		return back("kitchen_closed")
	case f.now.After(f.acceptUntil):
		return back("slot_passed")
	case f.now.After(f.freshUntil):
		return back("order_expired")
	case f.dishesGone:
		return back("hold_lapsed")
	}
	return verdict{customerFee: fee}
}

// decide keeps or returns a capture, inside recordPayment's transaction.
func (c *Cashier) decide(ctx context.Context, tx *models.Store, o *models.Order, p *models.Payment, seen razorpay.Payment) error {
	slot, err := tx.ShareSlot(ctx, o.SlotID)
	if err != nil {
		return err
	}
	now, err := tx.Now(ctx) // read after the locks: the wait for them counts
	if err != nil {
		return err
	}
	f := facts{orderStatus: o.Status, ordered: o.AmountPaise, orderCurrency: o.Currency, paid: p.AmountPaise, paidCurrency: p.Currency,
		refundedThere: models.Paise(seen.AmountRefundedPaise), kitchenClosed: slot.ClosedAt != nil, now: now, acceptUntil: slot.AcceptUntil, freshUntil: o.HoldExpiresAt.Add(freshness)}
	if o.CancelReason != nil {
		f.cancelReason = *o.CancelReason
	}
	if seen.FeePaise != nil {
		f.gatewayFee = models.Paise(*seen.FeePaise)
	}
	v := judge(f)
	if v.reason == "" && now.After(o.HoldExpiresAt) {
		// Within the hold the promise stands, whatever the clock says meanwhile. After it a dish has to be served still, when it is wanted.
		wanted := now
		if o.IsLater() {
			wanted = *o.PromisedFrom
		}
		served, err := tx.ServesOrder(ctx, *o, wanted)
		if err != nil {
			return err
		}
		f.dishesGone = !served
		v = judge(f)
	}
	if v.reason == "" {
		kept, err := tx.CommitHolds(ctx, o.ID)
		if err != nil {
			return err
		}
		f.dishesGone = !kept
		v = judge(f)
	}
	if v.reason == "" {
		return tx.KeepPayment(ctx, o, p, gwStatus(seen), v.customerFee)
	}
	c.log.InfoContext(ctx, "payment goes back", "order_id", o.ID, "razorpay_payment_id", seen.ID, "reason", v.reason)
	if err := tx.ReturnPayment(ctx, *o, p, gwStatus(seen), v.reason, c.settings.RefundSpeed, v.look); err != nil {
		return err
	}
	switch v.reason {
	case "amount_mismatch":
		return tx.OpenTask(ctx, models.TaskAmountMismatch, seen.ID, &o.ID,
			fmt.Sprintf("Payment of %d paise %s for an order of %d paise %s; it is being given back", p.AmountPaise, p.Currency, o.AmountPaise, o.Currency))
	case "review":
		return tx.OpenTask(ctx, models.TaskUnmapped, seen.ID, &o.ID, "Money with this shop's marks fits no order: "+seen.ID)
	case "kitchen_closed", "slot_passed", "hold_lapsed":
		return tx.MoveOrder(ctx, o, models.OrderCancelled, models.Move{By: models.ActorShop, Reason: v.reason})
	case "order_expired":
		if o.Status == models.OrderPending {
			return tx.MoveOrder(ctx, o, models.OrderExpired, models.Move{By: models.ActorShop})
		}
	}
	return nil
}
