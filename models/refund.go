package models

import "time"

// Refund is one request to give money back. Its ID is the idempotency key and the receipt the gateway is told, so it is made once
// and sent any number of times.
type Refund struct {
	ID               string // uuid
	PaymentID        int64
	OrderID          int64
	AmountPaise      Paise
	Kind             string // auto, cancel, staff, external
	Reason           string
	RequestedBy      string // shop, customer, staff:<id>, razorpay
	Speed            string // normal, optimum
	RetryOf          *string
	Status           string // requested, submitted, processed, failed, void
	RazorpayRefundID *string
	RazorpayStatus   string
	BankReference    string
	Attempts         int
	NextAttemptAt    time.Time
	LastError        string
	RequestedAt      time.Time
	SubmittedAt      *time.Time
	ProcessedAt      *time.Time
	FailedAt         *time.Time
}
