package models

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Steps of an order that a browser is told of, each once.
const (
	PushAccepted        = "accepted"
	PushReady           = "ready"
	PushHandedOver      = "handed_over"
	PushCancelled       = "cancelled"
	PushRefundProcessed = "refund_processed" // once a refund
)

// PushKeys are the shop's own keys for push services, base64url (RFC 8292).
type PushKeys struct{ Public, Private string }

// EnsurePushKeys reads the shop's keys, and makes them the first time: once for all processes, and for good, since every subscription is bound
// to them. Safe to repeat.
func (s *Store) EnsurePushKeys(ctx context.Context) (PushKeys, error) {
	fresh, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return PushKeys{}, fmt.Errorf("push keys: %w", err)
	}
	var stored string
	if err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ('push_private_key', ?) ON CONFLICT (name) DO NOTHING`, base64.RawURLEncoding.EncodeToString(fresh.Bytes())).Error; err != nil {
		return PushKeys{}, fmt.Errorf("push keys: %w", err)
	}
	if err := s.one(ctx, &stored, `SELECT value FROM settings WHERE name = 'push_private_key'`); err != nil {
		return PushKeys{}, fmt.Errorf("push keys: %w", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(stored)
	if err != nil {
		return PushKeys{}, errors.New("push keys: the stored one is none") // err would print it
	}
	private, err := ecdh.P256().NewPrivateKey(raw)
	if err != nil {
		return PushKeys{}, errors.New("push keys: the stored one is none")
	}
	return PushKeys{Public: base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()), Private: stored}, nil
}

// PushSubscription is a browser that wants to hear of one order, in its own words: where its push service takes messages for it, and the keys
// that only it can read them with.
type PushSubscription struct {
	OrderID  int64
	Endpoint string
	P256dh   string `gorm:"column:p256dh"`
	Auth     string
	Language string // of the page it was made on
}

// MaxSubscriptions is how many browsers hear of one order; whoever has the link has a phone and a computer, not a hundred.
const MaxSubscriptions = 10

// ErrTooManyBrowsers says that an order tells MaxSubscriptions browsers already.
var ErrTooManyBrowsers = errors.New("the order tells enough browsers already")

// CheckSubscription says whether a browser can have said this. Errors: ErrBadInput.
func CheckSubscription(p PushSubscription) error {
	at, err := url.Parse(p.Endpoint)
	if err != nil || at.Scheme != "https" || at.Hostname() == "" || at.User != nil || len(p.Endpoint) > 2000 || !isText(p.Endpoint) {
		return fmt.Errorf("%w: endpoint", ErrBadInput)
	}
	key, err := base64.RawURLEncoding.DecodeString(p.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return fmt.Errorf("%w: key", ErrBadInput)
	}
	if secret, err := base64.RawURLEncoding.DecodeString(p.Auth); err != nil || len(secret) != 16 {
		return fmt.Errorf("%w: secret", ErrBadInput)
	}
	return nil
}

// SaveSubscription has a browser told of an order from its next step on. Safe to repeat: one endpoint is one row of an order, with the newest
// keys. Errors: ErrBadInput, ErrTooManyBrowsers, ErrNotFound.
func (s *Store) SaveSubscription(ctx context.Context, p PushSubscription) error {
	if err := CheckSubscription(p); err != nil {
		return err
	}
	return s.InTx(ctx, func(tx *Store) error {
		if _, err := tx.LockOrder(ctx, p.OrderID); err != nil { // those who come at once are counted one by one
			return err
		}
		r := tx.exec(ctx, `INSERT INTO push_subscriptions (order_id, endpoint, p256dh, auth, language) SELECT ?, ?, ?, ?, ?
			WHERE (SELECT count(*) FROM push_subscriptions WHERE order_id = ? AND endpoint <> ?) < ?
			ON CONFLICT ON CONSTRAINT push_subscriptions_endpoint_key DO UPDATE SET p256dh = EXCLUDED.p256dh, auth = EXCLUDED.auth, language = EXCLUDED.language`,
			p.OrderID, p.Endpoint, p.P256dh, p.Auth, p.Language, p.OrderID, p.Endpoint, MaxSubscriptions)
		switch {
		case isBadValue(r.Error):
			return fmt.Errorf("%w: %v", ErrBadInput, r.Error)
		case r.Error == nil && r.RowsAffected == 0:
			return ErrTooManyBrowsers
		}
		return r.Error
	})
}

// RemoveSubscription has a browser told nothing more of an order. Safe to repeat.
func (s *Store) RemoveSubscription(ctx context.Context, orderID int64, endpoint string) error {
	if !isText(endpoint) {
		return nil
	}
	return s.exec(ctx, `DELETE FROM push_subscriptions WHERE order_id = ? AND endpoint = ?`, orderID, endpoint).Error
}

// ensurePushes writes the messages of one step to every browser that wants to hear of the order, and their jobs: once per step, and for a
// refund once per ref. Safe to repeat. Inside InTx only, in the transaction that makes the step.
func (s *Store) ensurePushes(ctx context.Context, orderID int64, step, ref string) error {
	var ids []int64
	if err := s.read(ctx, &ids, `INSERT INTO pushes (subscription_id, step, ref) SELECT id, ?, ? FROM push_subscriptions WHERE order_id = ? ORDER BY id
		ON CONFLICT ON CONSTRAINT pushes_step_key DO NOTHING RETURNING id`, step, ref, orderID); err != nil {
		return fmt.Errorf("messages of order %d: %w", orderID, err)
	}
	for _, id := range ids {
		if err := s.Enqueue(ctx, SendPushArgs{PushID: id}); err != nil {
			return err
		}
	}
	return nil
}

// pushesOfTicket maps a ticket's state to the step that browsers are told of.
var pushesOfTicket = map[string]string{TicketAccepted: PushAccepted, TicketReady: PushReady, TicketHandedOver: PushHandedOver}

// Push is one message on its way to one browser. The row is the authority; its job only does the sending.
type Push struct {
	ID             int64
	SubscriptionID int64
	Step           string
	Ref            string
	Status         string // queued, sent, skipped (something newer was told already), dead
	Attempts       int
	PushSubscription
}

// A push is claimed for pushLease; whoever dies meanwhile leaves it to the sweep. After maxPushTries, about an hour, it is no news any more.
const (
	pushLease    = "1 minute"
	maxPushTries = 8
)

// ClaimPush gives a message that is due to one sender, for a minute, and counts the try. claimed is false when there is nothing to send: it is
// sent, somebody else is at it, or it is not due for another wait. A message that something newer has overtaken is skipped.
func (s *Store) ClaimPush(ctx context.Context, pushID int64) (p Push, claimed bool, wait time.Duration, err error) {
	if err = s.exec(ctx, `UPDATE pushes p SET status = 'skipped' WHERE id = ? AND status = 'queued'
		AND EXISTS (SELECT 1 FROM pushes n WHERE n.subscription_id = p.subscription_id AND n.id > p.id AND n.status = 'sent')`, pushID).Error; err != nil {
		return p, false, 0, fmt.Errorf("message %d: %w", pushID, err)
	}
	err = s.one(ctx, &p, `UPDATE pushes p SET attempts = attempts + 1, next_attempt_at = shop_now() + interval '`+pushLease+`' FROM push_subscriptions s
		WHERE p.id = ? AND s.id = p.subscription_id AND p.status = 'queued' AND p.next_attempt_at <= shop_now()
		RETURNING p.id, p.subscription_id, p.step, p.ref, p.status, p.attempts, s.order_id, s.endpoint, s.p256dh, s.auth, s.language`, pushID)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return p, err == nil, 0, err
	}
	var seconds int64
	err = s.one(ctx, &seconds, `SELECT ceil(extract(epoch FROM next_attempt_at - shop_now()))::bigint FROM pushes WHERE id = ? AND status = 'queued'`, pushID)
	if errors.Is(err, ErrNotFound) {
		return p, false, 0, nil
	}
	return p, false, max(time.Duration(seconds), 1) * time.Second, err
}

// MarkPushSent notes that the push service has taken the message.
func (s *Store) MarkPushSent(ctx context.Context, pushID int64) error {
	return s.exec(ctx, `UPDATE pushes SET status = 'sent', sent_at = shop_now(), last_error = '' WHERE id = ? AND status = 'queued'`, pushID).Error
}

// FailPush notes a failed try and when the next is due: after the doubling pause, and not before after has passed. final ends it, as the last
// try does. It says how long the next one has to wait; 0: there is none.
func (s *Store) FailPush(ctx context.Context, pushID int64, why string, after time.Duration, final bool) (wait time.Duration, err error) {
	var row struct {
		Status  string
		Seconds int64
	}
	err = s.one(ctx, &row, `UPDATE pushes SET last_error = ?, next_attempt_at = shop_now() + greatest(interval '15 seconds' * 2 ^ least(attempts, 10), ?::bigint * interval '1 second'),
			status = CASE WHEN ? OR attempts >= ? THEN 'dead' ELSE status END
		WHERE id = ? AND status = 'queued' RETURNING status, ceil(extract(epoch FROM next_attempt_at - shop_now()))::bigint AS seconds`, why, int64(after.Seconds()), final, maxPushTries, pushID)
	if errors.Is(err, ErrNotFound) || err == nil && row.Status == "dead" {
		return 0, nil
	}
	return max(time.Duration(row.Seconds), 1) * time.Second, err
}

// DropSubscription forgets a browser that its push service no longer knows, with all that was to be told. Safe to repeat.
func (s *Store) DropSubscription(ctx context.Context, subscriptionID int64) error {
	return s.exec(ctx, `DELETE FROM push_subscriptions WHERE id = ?`, subscriptionID).Error
}

// ListDuePushes names messages whose turn came a minute ago, so that their job may be lost. ClaimPush lets one sender have each.
func (s *Store) ListDuePushes(ctx context.Context, limit int) (ids []int64, err error) {
	err = s.read(ctx, &ids, `SELECT id FROM pushes WHERE status = 'queued' AND next_attempt_at <= (SELECT shop_now()) - interval '1 minute' ORDER BY next_attempt_at LIMIT ?`, limit)
	return ids, err
}

// SubscriptionDays is how long a browser is told of an order: longer than any refund takes.
const SubscriptionDays = 30

// PurgeSubscriptions forgets browsers, and what they were told, after SubscriptionDays. Safe to repeat.
func (s *Store) PurgeSubscriptions(ctx context.Context) (int64, error) {
	r := s.exec(ctx, `DELETE FROM push_subscriptions WHERE created_at < shop_now() - make_interval(days => ?)`, SubscriptionDays)
	return r.RowsAffected, r.Error
}
