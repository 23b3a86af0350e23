package models

import "time"

// Payment is one attempt to pay, as the gateway reported it last. States are Razorpay's own, and voided: returned without ever
// having been captured. They only move up (payments_guard).
type Payment struct {
	ID                  int64
	Provider            string // razorpay, cash
	RazorpayPaymentID   *string
	RazorpayOrderID     *string
	OrderID             int64
	AmountPaise         Paise
	CustomerFeePaise    Paise // Razorpay's fee where the customer bears it; part of AmountPaise
	Currency            string
	GWStatus            string `gorm:"column:gw_status"`
	Method              string
	ErrorCode           string
	ErrorReason         string
	ErrorDescription    string // the bank's reason
	FeePaise            *Paise // Razorpay's fee including TaxPaise; nil until captured
	TaxPaise            *Paise
	Disposition         *string // kept, refund; nil until captured
	Reason              *string // why refund
	DecidedAt           *time.Time
	RefundReservedPaise Paise // Σ live refunds
	FirstSource         string
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// IsKept reports whether this payment is the one that paid its order.
func (p Payment) IsKept() bool { return p.Disposition != nil && *p.Disposition == "kept" }

// Source says which road a report of money came by.
type Source string

const (
	ViaVerify   Source = "verify"   // the page's script
	ViaCallback Source = "callback" // the cross-site form POST
	ViaWebhook  Source = "webhook"
	ViaSweep    Source = "sweep"
	ViaHint     Source = "hint" // a verify that met a silent gateway
)
