package payments

import (
	"context"
	"errors"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// How much a sweep takes at a time. What it takes has its next turn set already, so a small batch loses little when the process dies.
const sweepBatch = 10

// sweepTime is how long one run takes further batches: its job has a minute, and the last batch may meet a gateway that stalls.
const sweepTime = 35 * time.Second

// inBatches runs batch as long as it comes back full and there is time. batch counts what it took; one that gave up on the gateway counts nothing.
func inBatches(ctx context.Context, batch func(context.Context) (taken int, err error)) (total int, err error) {
	taking, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	for {
		taken, err := batch(ctx)
		total += taken
		if err != nil || taken < sweepBatch || taking.Err() != nil {
			return total, err
		}
	}
}

// maxSilence is how many calls in a row may fail before a sweep leaves the gateway alone until its next run.
const maxSilence = 3

// breaker ends a sweep while the gateway is silent or asks us to slow down.
type breaker struct{ failures int }

func (b *breaker) note(err error) {
	outcome := razorpay.OutcomeOf(err)
	if err == nil || errors.Is(err, models.ErrNotOurs) || outcome == razorpay.Refused {
		b.failures = 0
		return
	}
	b.failures++
	if outcome == razorpay.RateLimited || outcome == razorpay.Unauthorised {
		b.failures = maxSilence
	}
}

func (b *breaker) open() bool { return b.failures >= maxSilence }

// Reconcile asks the gateway about every order whose turn it is: unpaid ones, failed ones, and closed or paid ones for which late money
// may still come; and about payments a browser named while the gateway was silent. What it hears goes through recordPayment. Pending orders
// whose time is over lapse, after the gateway was asked, or when it stays silent past the deadline: later turns still find the money.
// swept counts the orders and payments asked about. Safe to repeat and to run twice at once. Makes network calls.
func (c *Cashier) Reconcile(ctx context.Context) (swept int, err error) {
	hints, err := inBatches(ctx, c.askAboutHints)
	if err != nil {
		return hints, err
	}
	var gate breaker
	orders, err := inBatches(ctx, func(ctx context.Context) (int, error) { return c.askAboutOrders(ctx, &gate) })
	return hints + orders, err
}

func (c *Cashier) askAboutHints(ctx context.Context) (taken int, err error) {
	var gate breaker
	hints, err := c.store.ClaimDueHints(ctx, sweepBatch)
	for _, paymentID := range hints {
		if gate.open() {
			return 0, nil
		}
		_, err := c.recordPayment(ctx, paymentID, models.ViaHint, 0)
		if errors.Is(err, models.ErrNotOurs) || err != nil && razorpay.OutcomeOf(err) == razorpay.Refused {
			err = errors.Join(err, c.store.CloseHint(ctx, paymentID))
		}
		c.swept(ctx, &gate, "hint", paymentID, err)
	}
	return len(hints), err
}

// askAboutOrders goes on while the gateway is silent, without asking: an order whose time is over ends all the same.
func (c *Cashier) askAboutOrders(ctx context.Context, gate *breaker) (taken int, err error) {
	orders, err := c.store.ClaimDueChecks(ctx, sweepBatch)
	for _, o := range orders {
		if !gate.open() {
			c.swept(ctx, gate, "order", o.PublicID, c.askAbout(ctx, o))
		}
		if o.Status == models.OrderPending {
			err = errors.Join(err, c.store.LapseOrder(ctx, o.ID))
		}
	}
	return len(orders), err
}

// askAbout records every payment the gateway has for an order, and asks by id about those we know of and it does not list: lists lag.
func (c *Cashier) askAbout(ctx context.Context, o models.Order) error {
	gatewayOrders, err := c.store.ListGatewayOrders(ctx, o.ID)
	if err != nil {
		return err
	}
	known, err := c.store.ListPayments(ctx, o.ID)
	if err != nil {
		return err
	}
	unfinished := map[string]string{} // razorpay payment id → what we know
	for _, p := range known {
		if p.RazorpayPaymentID != nil {
			unfinished[*p.RazorpayPaymentID] = p.GWStatus
		}
	}
	for _, g := range gatewayOrders {
		listed, err := c.gateway.ListOrderPayments(ctx, g.RazorpayOrderID)
		if err != nil {
			return err
		}
		for _, seen := range listed {
			was, have := unfinished[seen.ID]
			delete(unfinished, seen.ID)
			if have && was == gwStatus(seen) && seen.AmountRefundedPaise == 0 {
				continue
			}
			if _, err := c.recordPayment(ctx, seen.ID, models.ViaSweep, 0); err != nil {
				return err
			}
		}
	}
	for paymentID, was := range unfinished {
		if was == "captured" || was == "refunded" || was == "voided" {
			continue
		}
		if _, err := c.recordPayment(ctx, paymentID, models.ViaSweep, 0); err != nil {
			return err
		}
	}
	if err := c.askAboutSettled(ctx, o.ID); err != nil {
		return err
	}
	return c.store.MarkChecked(ctx, o.ID)
}

// askAboutSettled looks again at refunds that count as processed: a bank may send the money back days later, and the event that says so be lost.
func (c *Cashier) askAboutSettled(ctx context.Context, orderID int64) error {
	refunds, err := c.store.ListRefunds(ctx, orderID)
	if err != nil {
		return err
	}
	for _, r := range refunds {
		if r.Status != "processed" {
			continue
		}
		seen, err := c.gateway.FetchRefund(ctx, *r.RazorpayRefundID)
		if err != nil {
			return err
		}
		if seen.Status == "processed" {
			continue
		}
		if err := c.recordRefund(ctx, seen, 0); err != nil {
			return err
		}
	}
	return nil
}

// ResolveClaims looks for the gateway orders of claims whose call was not answered or whose process died: found ones are attached, oldest
// first; after the last look without one the claim is released, and the next press of Pay may create again. While a look-up fails
// the claim is kept: stuck is better than charged twice. Safe to repeat and to run twice at once. Makes network calls.
func (c *Cashier) ResolveClaims(ctx context.Context) (looked int, err error) {
	return inBatches(ctx, func(ctx context.Context) (taken int, err error) {
		var gate breaker
		claims, err := c.store.ClaimDueLooks(ctx, sweepBatch)
		for _, claim := range claims {
			if gate.open() {
				return 0, nil
			}
			current, err := c.lookUpReceipt(ctx, claim)
			if err == nil && current == "" {
				err = c.store.MissClaim(ctx, claim)
			}
			c.swept(ctx, &gate, "claim", claim.Receipt, err)
		}
		return len(claims), err
	})
}

// SweepRefunds sends the requested refunds and asks about the submitted ones whose turn it is. Safe to repeat. Makes network calls.
func (c *Cashier) SweepRefunds(ctx context.Context) (swept int, err error) {
	return inBatches(ctx, func(ctx context.Context) (taken int, err error) {
		var gate breaker
		due, err := c.store.ListDueRefunds(ctx, sweepBatch)
		for _, r := range due {
			if gate.open() {
				return 0, nil
			}
			var err error
			if r.Status == "requested" {
				err = c.SendRefund(ctx, r.ID)
			} else {
				err = c.askAboutRefund(ctx, r)
			}
			c.swept(ctx, &gate, "refund", r.ID, err)
		}
		return len(due), err
	})
}

func (c *Cashier) askAboutRefund(ctx context.Context, r models.Refund) error {
	if err := c.store.LookAgain(ctx, r.ID); err != nil {
		return err
	}
	seen, err := c.gateway.FetchRefund(ctx, *r.RazorpayRefundID)
	if err != nil {
		return err
	}
	return c.recordRefund(ctx, seen, 0)
}

// SweepEvents processes stored events whose job was lost. Safe to repeat. Makes network calls.
func (c *Cashier) SweepEvents(ctx context.Context) (swept int, err error) {
	return inBatches(ctx, func(ctx context.Context) (taken int, err error) {
		var gate breaker
		due, err := c.store.ClaimDueEvents(ctx, sweepBatch)
		for _, eventID := range due {
			if gate.open() {
				return 0, nil
			}
			c.swept(ctx, &gate, "event", "", c.ProcessEvent(ctx, eventID))
		}
		return len(due), err
	})
}

// How far back the account itself is compared: hourly, so that each payment is looked at twice, and once a day and at each start, which
// is what finds again all that a database restored from a backup has forgotten.
const (
	AccountHours = 2 * time.Hour
	AccountDays  = 7 * 24 * time.Hour
)

// ReconcileAccount reads the account's own list of the payments made since then and records those of our orders that nothing else has
// told us of, and what was given back of them: the last net, under every order's own checks. Safe to repeat. Makes network calls.
func (c *Cashier) ReconcileAccount(ctx context.Context, back time.Duration) (found int, err error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	const page = 100 // the most the gateway gives at once
	for skip := 0; ; skip += page {
		listed, err := c.gateway.ListPayments(ctx, now.Add(-back), now.Add(time.Minute), page, skip)
		if err != nil {
			return found, err
		}
		for _, seen := range listed {
			if seen.OrderID == "" {
				continue
			}
			if known, err := c.store.KnowsPayment(ctx, seen.ID, gwStatus(seen), models.Paise(seen.AmountRefundedPaise)); err != nil || known {
				if err != nil {
					return found, err
				}
				continue
			}
			if _, err := c.recordPayment(ctx, seen.ID, models.ViaRecon, 0); err == nil {
				found++
			} else if !errors.Is(err, models.ErrNotOurs) {
				return found, err
			}
		}
		if len(listed) < page {
			return found, nil
		}
	}
}

// swept logs what a sweep could not settle, minds the gateway's silence, and keeps the pace.
func (c *Cashier) swept(ctx context.Context, gate *breaker, what, ref string, err error) {
	gate.note(err)
	if err != nil && !errors.Is(err, models.ErrNotOurs) {
		c.log.WarnContext(ctx, "sweep left something open", "what", what, "ref", ref, "error", err)
	}
	if c.settings.SweepPause > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(c.settings.SweepPause):
		}
	}
}
