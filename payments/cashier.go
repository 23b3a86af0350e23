// Package payments is the counting room: the only place where our records (models) and the gateway (razorpay) meet.
// It must not know HTTP, HTML, Fiber or gorm; browsers and the clock reach it through handlers and jobs.
// It promises that each captured paisa is kept by exactly one order or on its way back, however often and from wherever it is told.
// Read record.go first: everything here leads to it or follows from it.
package payments

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
)

// Settings is what the cashier needs to be told. The wiring fills it from the configuration.
type Settings struct {
	KeyID                 string
	KeySecret             string // signs what Checkout hands the browser
	WebhookSecret         string
	WebhookSecretPrevious string        // accepted beside the new one while old retries still come; may be empty
	AccountID             string        // events of another account are ignored; empty: not checked
	RefundSpeed           string        // normal, optimum
	UniqueReceipt         bool          // send unique_receipt; off until tried on the account
	SweepPause            time.Duration // between two gateway calls of a sweep, so that it never competes with customers
}

// Mode is the gateway key's mode: test or live. The key's prefix is the only switch there is.
func (s Settings) Mode() string {
	if strings.HasPrefix(s.KeyID, "rzp_live_") {
		return "live"
	}
	return "test"
}

// Cashier places orders, opens, records and returns payments. It is safe for use by many goroutines and processes: the database
// decides every race.
type Cashier struct {
	store    *models.Store
	gateway  *razorpay.Client
	settings Settings
	log      *slog.Logger
}

// New wires a cashier.
func New(store *models.Store, gateway *razorpay.Client, settings Settings, log *slog.Logger) *Cashier {
	return &Cashier{store: store, gateway: gateway, settings: settings, log: log}
}

// Errors of this room; the shop's own are in models.
var (
	ErrBadSignature = errors.New("signature does not match")
	ErrUnconfirmed  = errors.New("payment is not confirmed yet")     // the gateway is silent; a sweep asks again
	ErrNoGateway    = errors.New("the payment could not be started") // the gateway refused to make an order
	ErrTooLarge     = errors.New("webhook body is too large")
)

// detached is ctx for a call that must run to its end even when the browser that caused it goes away: what was begun at the gateway
// is better known than not.
func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
