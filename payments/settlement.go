package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// settlementPage is the most lines of payouts the gateway gives at once.
const settlementPage = 1000

// RecordSettlements reads what the gateway has paid out, month by month from this one back to the oldest money that no payout is known
// for, and writes down each line that is new. A line about a payment or refund we do not know is asked about first, and so recorded; one of
// another program on the account is kept apart. What cannot be placed now is left for the next run. found counts the new lines.
// Safe to repeat. Makes network calls, none inside a transaction.
func (c *Cashier) RecordSettlements(ctx context.Context) (found int, err error) {
	since, err := c.store.UnsettledSince(ctx)
	if err != nil {
		return 0, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	first, month := since.In(models.India), now.In(models.India)
	month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, models.India)
	for ; !month.AddDate(0, 1, 0).Before(first); month = month.AddDate(0, -1, 0) {
		n, err := c.recordMonth(ctx, month.Year(), int(month.Month()))
		found += n
		if razorpay.IsWithheld(err) {
			c.log.WarnContext(ctx, "the gateway does not list payouts", "error", err)
			return found, nil // the audit names what is overdue
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func (c *Cashier) recordMonth(ctx context.Context, year, month int) (found int, err error) {
	var gate breaker
	for skip := 0; ; skip += settlementPage {
		rows, err := c.gateway.ListSettlementRecon(ctx, year, month, 0, settlementPage, skip)
		if err != nil {
			return found, err
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.EntityID
		}
		known, err := c.store.ListSettlementItems(ctx, ids)
		if err != nil {
			return found, err
		}
		for _, row := range rows {
			if !row.Settled || row.SettlementID == "" || gate.open() {
				continue // not paid out yet, or the gateway is silent: the next run has it
			}
			item := lineOf(row)
			if was, have := known[row.EntityID]; have {
				if !was.Says(item) {
					c.log.ErrorContext(ctx, "a payout's line has changed", "ref", row.EntityID)
				}
				continue
			}
			if item, err = c.place(ctx, item, row); err != nil {
				c.swept(ctx, &gate, "settlement", row.EntityID, err)
				continue
			}
			var fresh bool
			err := c.store.InTx(ctx, func(tx *models.Store) (err error) {
				fresh, err = tx.RecordSettlementItem(ctx, item)
				return err
			})
			if err != nil {
				return found, err
			}
			if fresh {
				found++
			}
		}
		if len(rows) < settlementPage {
			return found, nil
		}
	}
}

func lineOf(row razorpay.ReconRow) models.SettlementItem {
	return models.SettlementItem{EntityID: row.EntityID, Kind: row.Type, SettlementID: row.SettlementID, UTR: row.SettlementUTR, AmountPaise: models.Paise(row.AmountPaise),
		FeePaise: models.Paise(row.FeePaise), TaxPaise: models.Paise(row.TaxPaise), CreditPaise: models.Paise(row.CreditPaise), DebitPaise: models.Paise(row.DebitPaise), SettledAt: row.SettledAt}
}

// place finds the row of ours a new line is about, asking the gateway for what nobody has told us of.
func (c *Cashier) place(ctx context.Context, item models.SettlementItem, row razorpay.ReconRow) (models.SettlementItem, error) {
	var err error
	switch {
	case row.Type == "payment":
		item.PaymentID, err = ask(func() (*int64, error) {
			p, err := c.store.FindPayment(ctx, row.EntityID)
			if err == nil && p.Disposition == nil {
				err = models.ErrNotFound // as far as we know nothing was captured
			}
			return &p.ID, err
		}, func() error { return only(c.recordPayment(ctx, row.EntityID, models.ViaRecon, 0)) })
	case row.Type == "refund":
		item.RefundID, err = ask(func() (*string, error) {
			r, err := c.store.FindRefundAtRazorpay(ctx, row.EntityID)
			return &r.ID, err
		}, func() error { return only(c.recordPayment(ctx, row.PaymentID, models.ViaRecon, 0)) })
	case row.DisputeID != "":
		item.DisputeID, err = ask(func() (*string, error) {
			d, err := c.store.FindDispute(ctx, row.DisputeID)
			return &d.RazorpayDisputeID, err
		}, func() error {
			seen, err := c.gateway.FetchDispute(ctx, row.DisputeID)
			if err != nil {
				return err
			}
			return c.recordDispute(ctx, seen, 0)
		})
	}
	if errors.Is(err, models.ErrNotOurs) {
		return item, c.store.RecordBreak(ctx, row.EntityID, "paid out for another program: "+row.Type, item.CreditPaise-item.DebitPaise)
	}
	if err != nil {
		return item, fmt.Errorf("paid out, and not known: %w", err)
	}
	return item, nil
}

// ask finds a row, and if it is not there, has the gateway asked and looks again.
func ask[T any](find func() (*T, error), gateway func() error) (*T, error) {
	found, err := find()
	if !errors.Is(err, models.ErrNotFound) {
		return found, err
	}
	if err := gateway(); err != nil {
		return nil, err
	}
	if found, err = find(); err != nil {
		return nil, err
	}
	return found, nil
}

func only[T any](_ T, err error) error { return err }
