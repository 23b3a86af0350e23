package models

import "time"

// Session is what one browser is to us: a guest's or a staff member's row. The cookie carries the token, the row its hash; what a
// request knows of it is this value.
type Session struct {
	ID          int64
	TokenHash   []byte
	CustomerID  *int64
	StaffID     *int64
	CartID      *int64
	CheckoutKey *string // the idempotency key; nil: none since the last change
	ExpiresAt   time.Time
}
