package models

import "time"

// Fulfilment is the kitchen's side of a paid order: the ticket. One per order, made in the commit that keeps the payment.
type Fulfilment struct {
	OrderID      int64 `gorm:"primaryKey"`
	PaymentID    *int64
	OutletID     int64
	Status       string // see FulfilmentNext
	PromisedAt   time.Time
	QueuedAt     time.Time
	AcceptedAt   *time.Time
	PreparingAt  *time.Time
	ReadyAt      *time.Time
	HandedOverAt *time.Time
	CancelledAt  *time.Time
}

// Ticket is what the board shows of one order.
type Ticket struct {
	Fulfilment Fulfilment
	Order      Order // with Items
}
