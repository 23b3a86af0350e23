package payments

import (
	"context"
	"fmt"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// settling is how young a payment at the gateway may be and still be on its way to us.
const settling = 15 * time.Minute

// AuditGateway compares each order of a scope with the gateway's own list of its payments: what was captured there is here, and the other
// way round, of the same amount and with as much of it given back. It reads only, and is slow on purpose: two calls a second at most.
// Errors: the gateway's, with what was found until then. Makes network calls, none inside a transaction.
func (c *Cashier) AuditGateway(ctx context.Context, scope models.AuditScope) (findings []models.AuditFinding, err error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	orders, err := c.store.ListAuditedGatewayOrders(ctx, scope)
	if err != nil {
		return nil, err
	}
	for _, g := range orders {
		found, err := c.auditGatewayOrder(ctx, g, now)
		if err != nil {
			return findings, fmt.Errorf("audit %s: %w", g.RazorpayOrderID, err)
		}
		findings = append(findings, found...)
		c.swept(ctx, &breaker{}, "audit", g.RazorpayOrderID, nil)
	}
	return findings, nil
}

func (c *Cashier) auditGatewayOrder(ctx context.Context, g models.GatewayOrder, now time.Time) (findings []models.AuditFinding, err error) {
	listed, err := c.gateway.ListOrderPayments(ctx, g.RazorpayOrderID)
	if err != nil {
		return nil, err
	}
	known, err := c.store.ListPayments(ctx, g.OrderID)
	if err != nil {
		return nil, err
	}
	refunds, err := c.store.ListRefunds(ctx, g.OrderID)
	if err != nil {
		return nil, err
	}
	name := func(table, id string, paise int64, text string, args ...any) {
		findings = append(findings, models.AuditFinding{Check: "gateway", Table: table, ID: id, OrderID: &g.OrderID, Paise: models.Paise(max(paise, -paise)), Text: fmt.Sprintf(text, args...)})
	}
	there := map[string]razorpay.Payment{}
	for _, seen := range listed {
		there[seen.ID] = seen
	}
	for _, p := range known {
		if p.RazorpayPaymentID == nil || *p.RazorpayOrderID != g.RazorpayOrderID {
			continue
		}
		seen, have := there[*p.RazorpayPaymentID]
		delete(there, *p.RazorpayPaymentID)
		if !have && p.Disposition != nil { // lists lag; by its id it is there or it is not
			if seen, err = c.gateway.FetchPayment(ctx, *p.RazorpayPaymentID); err != nil && razorpay.OutcomeOf(err) != razorpay.Refused {
				return findings, err
			}
		}
		id, captured := fmt.Sprint(p.ID), models.IsCaptured(gwStatus(seen))
		var back int64
		for _, r := range refunds {
			if r.PaymentID == p.ID && (r.Status == "submitted" || r.Status == "processed") {
				back += int64(r.AmountPaise)
			}
		}
		switch {
		case captured != (p.Disposition != nil) && now.Sub(seen.CreatedAt) > settling:
			name("payments", id, int64(p.AmountPaise), "payment %s is %s here, and %s at Razorpay", *p.RazorpayPaymentID, p.GWStatus, orAbsent(seen.Status))
		case captured && seen.AmountPaise != int64(p.AmountPaise):
			name("payments", id, seen.AmountPaise-int64(p.AmountPaise), "payment %s is of %d paise here, and of %d at Razorpay", *p.RazorpayPaymentID, p.AmountPaise, seen.AmountPaise)
		case captured && seen.AmountRefundedPaise != back:
			name("payments", id, seen.AmountRefundedPaise-back, "%d paise of payment %s were given back here, and %d at Razorpay", back, *p.RazorpayPaymentID, seen.AmountRefundedPaise)
		}
	}
	for _, seen := range listed {
		if _, unknown := there[seen.ID]; unknown && models.IsCaptured(gwStatus(seen)) && now.Sub(seen.CreatedAt) > settling {
			name("gateway_orders", g.RazorpayOrderID, seen.AmountPaise, "Razorpay captured %d paise by payment %s of this order, and it is not here", seen.AmountPaise, seen.ID)
		}
	}
	return findings, nil
}

func orAbsent(status string) string {
	if status == "" {
		return "unknown"
	}
	return status
}
