package models

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
