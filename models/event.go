package models

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"
)

// Event is one webhook delivery as it came in. The raw body is kept so that what we were told can be shown.
type Event struct {
	ID                int64
	Provider          string
	EventID           string // the header's
	BodySHA256        []byte `gorm:"column:body_sha256"`
	EventType         string // verbatim: payment.captured
	Body              []byte // raw; from StrippedAt on only what is allowed to stay, or nil
	StrippedAt        *time.Time
	RazorpayPaymentID string
	RazorpayOrderID   string
	RazorpayRefundID  string
	OrderRef          *int64 // the order it turned out to be about
	Status            string // received, processed, ignored, dead
	Attempts          int
	LastError         string
	EventAt           *time.Time
	ReceivedAt        time.Time
	ProcessedAt       *time.Time
}

func (Event) TableName() string { return "webhook_events" }

// RecordEvent stores a delivery and its job; fresh is false when it was stored before, and then nothing is written. The header with
// the id is not signed, so the same id with another body is stored beside, marked with its hash, processed, and put before a person.
// Safe to repeat. Inside InTx only.
func (s *Store) RecordEvent(ctx context.Context, e *Event) (fresh bool, err error) {
	sum := sha256.Sum256(e.Body)
	e.BodySHA256 = sum[:]
	if fresh, err = s.insertEvent(ctx, e); fresh || err != nil {
		return fresh, err
	}
	var same bool
	if err := s.one(ctx, &same, `SELECT body_sha256 = ? FROM webhook_events WHERE provider = ? AND event_id = ?`, e.BodySHA256, e.Provider, e.EventID); err != nil {
		return false, err
	}
	if same {
		return false, nil
	}
	original := e.EventID
	e.EventID = original + "#" + hex.EncodeToString(sum[:])
	if fresh, err = s.insertEvent(ctx, e); !fresh || err != nil {
		return fresh, err
	}
	return true, s.OpenTask(ctx, TaskEventReplaced, original, nil, "Webhook event "+original+" came twice with different contents")
}

func (s *Store) insertEvent(ctx context.Context, e *Event) (fresh bool, err error) {
	err = s.one(ctx, &e.ID, `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, body, razorpay_payment_id, razorpay_order_id, razorpay_refund_id, event_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (provider, event_id) DO NOTHING RETURNING id`,
		e.Provider, e.EventID, e.BodySHA256, e.EventType, e.Body, e.RazorpayPaymentID, e.RazorpayOrderID, e.RazorpayRefundID, e.EventAt)
	if err == ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("webhook event %s: %w", e.EventID, err)
	}
	return true, s.Enqueue(ctx, ProcessEventArgs{EventID: e.ID})
}

// FindEvent returns one delivery. Errors: ErrNotFound.
func (s *Store) FindEvent(ctx context.Context, eventID int64) (e Event, err error) {
	err = s.one(ctx, &e, `SELECT * FROM webhook_events WHERE id = ?`, eventID)
	return e, err
}

// CloseEvent notes in the transaction of the effect what became of an event: processed, with the order it was about, or ignored.
// One that is closed already stays. Safe to repeat.
func (s *Store) CloseEvent(ctx context.Context, eventID int64, status string, orderRef *int64, note string) error {
	return s.exec(ctx, `UPDATE webhook_events SET status = ?, processed_at = shop_now(), order_ref = COALESCE(?, order_ref), last_error = ?, attempts = attempts + 1
		WHERE id = ? AND status = 'received'`, status, orderRef, note, eventID).Error
}

// Event limits: after so many tries, or this long, an event is dead and a person is told. Sweeps find the money all the same.
const (
	maxEventTries = 12
	maxEventAge   = "24 hours"
)

// FailEvent notes a failed try and when the next is due, or that there will be none.
func (s *Store) FailEvent(ctx context.Context, eventID int64, why string) error {
	return s.InTx(ctx, func(tx *Store) error {
		var e Event
		err := tx.one(ctx, &e, `UPDATE webhook_events SET attempts = attempts + 1, last_error = ?, next_attempt_at = shop_now() + least(interval '5 seconds' * 2 ^ least(attempts, 10), interval '1 hour'),
				status = CASE WHEN attempts + 1 >= ? OR received_at < shop_now() - interval '`+maxEventAge+`' THEN 'dead' ELSE status END,
				alerted_at = CASE WHEN attempts + 1 >= ? OR received_at < shop_now() - interval '`+maxEventAge+`' THEN shop_now() END
			WHERE id = ? AND status = 'received' RETURNING *`, why, maxEventTries, maxEventTries, eventID)
		if err == ErrNotFound {
			return nil
		}
		if err != nil || e.Status != "dead" {
			return err
		}
		return tx.OpenTask(ctx, TaskDeadEvent, e.EventID, nil, fmt.Sprintf("Webhook %s could not be processed: %s", e.EventType, why))
	})
}

// ClaimDueEvents names received events whose job may be lost: due for a minute and still not processed. Each gets a later turn first.
func (s *Store) ClaimDueEvents(ctx context.Context, limit int) (ids []int64, err error) {
	err = s.read(ctx, &ids, `UPDATE webhook_events SET next_attempt_at = shop_now() + interval '1 minute' WHERE id IN (SELECT id FROM webhook_events
		WHERE status = 'received' AND next_attempt_at <= shop_now() - interval '1 minute' ORDER BY next_attempt_at LIMIT ? FOR UPDATE SKIP LOCKED) RETURNING id`, limit)
	return ids, err
}

// ListEventsOf returns the deliveries about an order, oldest first, without their bodies.
func (s *Store) ListEventsOf(ctx context.Context, orderID int64) (events []Event, err error) {
	err = s.read(ctx, &events, `SELECT id, provider, event_id, body_sha256, event_type, razorpay_payment_id, razorpay_order_id, razorpay_refund_id, order_ref, status, attempts, last_error, event_at, received_at, processed_at
		FROM webhook_events WHERE order_ref = ? ORDER BY id`, orderID)
	return events, err
}

// How long a delivery is kept. EventBodyDays is for its body as it came: retries end after a day, and whoever has to look at one has the
// rest of a week. After EventDays neither retries nor replays come.
const (
	EventBodyDays = 7
	EventDays     = 90
)

// ListOldBodies returns deliveries whose bodies still hold what is told of people and have been kept long enough, oldest first.
func (s *Store) ListOldBodies(ctx context.Context, limit int) (events []Event, err error) {
	err = s.read(ctx, &events, `SELECT id, body FROM webhook_events WHERE stripped_at IS NULL AND received_at < (SELECT shop_now()) - make_interval(days => ?) ORDER BY received_at LIMIT ?`, EventBodyDays, limit)
	return events, err
}

// StripEvent puts what may stay in the place of a delivery's body; nil leaves nothing of it. The hash is still of what came. Safe to repeat.
func (s *Store) StripEvent(ctx context.Context, eventID int64, rest []byte) error {
	return s.exec(ctx, `UPDATE webhook_events SET body = ?, stripped_at = shop_now() WHERE id = ? AND stripped_at IS NULL`, rest, eventID).Error
}

// LastEventAt says when the last webhook came; nil: none has.
func (s *Store) LastEventAt(ctx context.Context) (last *time.Time, err error) {
	var at sql.NullTime
	if err = s.one(ctx, &at, `SELECT max(received_at) FROM webhook_events`); err != nil || !at.Valid {
		return nil, err
	}
	return &at.Time, nil
}

// PurgeEvents deletes deliveries older than EventDays. Money rows are never purged.
func (s *Store) PurgeEvents(ctx context.Context) (int64, error) {
	r := s.exec(ctx, `DELETE FROM webhook_events WHERE received_at < shop_now() - make_interval(days => ?)`, EventDays)
	return r.RowsAffected, r.Error
}
