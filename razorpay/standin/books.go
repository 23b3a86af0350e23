package standin

import (
	"slices"
	"time"
)

// Order, Payment, Refund and Dispute are the gateway's own books as plain structs: what tests audit against and what the
// state file holds. Amounts are paise, instants whole seconds as the gateway gives them; a zero instant means never.

// Order is a gateway order. Status: created, attempted, paid.
type Order struct {
	ID              string
	AmountPaise     int64
	AmountPaidPaise int64
	Currency        string
	Receipt         string // empty: none was sent
	Status          string
	Attempts        int
	Notes           map[string]string
	CreatedAt       time.Time

	Capture               string // automatic, manual, or empty: the account's setting decides
	AutomaticExpiryPeriod time.Duration
	ManualExpiryPeriod    time.Duration

	CreatedBy int // number of the API request that made it; 0: made by the control API
}

// Payment is one attempt. Status: created (the bank has not answered), failed, authorized, captured, refunded. Captured stays
// true after refunds; a payment given back without capture is refunded with Captured false.
type Payment struct {
	ID                  string
	OrderID             string // empty: paid without an order
	AmountPaise         int64  // what the customer paid, the fee borne by the customer included
	CustomerFeePaise    int64
	Currency            string
	Status              string
	Captured            bool
	Method              string
	AmountRefundedPaise int64
	RefundStatus        string // empty, partial, full
	FeePaise            int64  // includes TaxPaise; both only after capture
	TaxPaise            int64
	Description         string
	VPA, Bank, Wallet   string
	Card                *Card
	Email, Contact      string
	Notes               map[string]string
	ErrorCode           string
	ErrorDescription    string
	ErrorSource         string
	ErrorStep           string
	ErrorReason         string
	Acquirer            map[string]string // what the bank told; keys by method
	CreatedAt           time.Time
	AuthorizedAt        time.Time
	CapturedAt          time.Time

	AutoRefunded bool // given back by the gateway itself

	CaptureAt time.Time // due work: capture by itself
	SucceedAt time.Time // due work: late success
	TimeoutAt time.Time // due work: failed for want of an answer
	ExpireAt  time.Time // due work: never captured, goes back by itself

	Callback string // where Checkout posts the outcome, if the page asked for that
	Cancel   string
}

// Card is what a card payment shows of its card.
type Card struct {
	ID, Name, Last4, Network, Type, Issuer, SubType string
	International                                   bool
}

// Refund is one refund. Status: pending, processed, failed.
type Refund struct {
	ID             string
	PaymentID      string
	AmountPaise    int64
	Currency       string
	Notes          map[string]string
	Receipt        string
	IdempotencyKey string
	Status         string
	SpeedRequested string
	SpeedProcessed string
	ARN            string
	Auto           bool // made by the gateway, not asked for
	Outside        bool // made in the dashboard, not through the API
	CreatedAt      time.Time
	ProcessedAt    time.Time

	SettleAt time.Time // due work: becomes processed
}

// Dispute is a chargeback. Status: open, under_review, won, lost, closed.
type Dispute struct {
	ID            string
	PaymentID     string
	AmountPaise   int64
	DeductedPaise int64
	Currency      string
	ReasonCode    string
	Status        string
	Phase         string
	Evidence      map[string]string
	RespondBy     time.Time
	CreatedAt     time.Time
	SubmittedAt   time.Time
	LostAt        time.Time // it was taken out of a payout from then on
}

// Books is everything the gateway has on record, oldest first: a deep copy, the caller's to keep.
type Books struct {
	Orders   []Order
	Payments []Payment
	Refunds  []Refund
	Disputes []Dispute
}

// Order returns the order with this id; ok is false when there is none.
func (b Books) Order(id string) (o Order, ok bool) {
	i := slices.IndexFunc(b.Orders, func(o Order) bool { return o.ID == id })
	if i < 0 {
		return Order{}, false
	}
	return b.Orders[i], true
}

// OrdersOf returns the orders with this receipt, oldest first.
func (b Books) OrdersOf(receipt string) (out []Order) {
	for _, o := range b.Orders {
		if o.Receipt == receipt {
			out = append(out, o)
		}
	}
	return out
}

// Payment returns the payment with this id; ok is false when there is none.
func (b Books) Payment(id string) (p Payment, ok bool) {
	i := slices.IndexFunc(b.Payments, func(p Payment) bool { return p.ID == id })
	if i < 0 {
		return Payment{}, false
	}
	return b.Payments[i], true
}

// PaymentsOf returns the attempts on an order, oldest first.
func (b Books) PaymentsOf(orderID string) (out []Payment) {
	for _, p := range b.Payments {
		if p.OrderID == orderID {
			out = append(out, p)
		}
	}
	return out
}

// RefundsOf returns the refunds of a payment, oldest first.
func (b Books) RefundsOf(paymentID string) (out []Refund) {
	for _, r := range b.Refunds {
		if r.PaymentID == paymentID {
			out = append(out, r)
		}
	}
	return out
}

// KeptPaise is what the shop still holds of a payment: captured less refunds that are pending or processed. A payment that
// was never captured counts nothing.
func (b Books) KeptPaise(paymentID string) int64 {
	p, ok := b.Payment(paymentID)
	if !ok || !p.Captured {
		return 0
	}
	kept := p.AmountPaise
	for _, r := range b.RefundsOf(paymentID) {
		if r.Status != "failed" {
			kept -= r.AmountPaise
		}
	}
	return kept
}
