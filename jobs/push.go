package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tiffin/models"
	"tiffin/push"
	"tiffin/views"
)

// pushTTL is how long a push service keeps a message for a phone that is off: food is eaten by then.
const pushTTL = 2 * time.Hour

// sendPush sends one message to one browser and marks it sent. Between the two a crash may send it again, under the same topic and tag, so
// that the phone shows one. One that is sent, or that somebody else is sending, is left alone; wait is when to look again, 0: never.
// It makes a network call.
func sendPush(ctx context.Context, store *models.Store, letters Letters, pushID int64) (wait time.Duration, err error) {
	p, claimed, wait, err := store.ClaimPush(ctx, pushID)
	if err != nil || !claimed {
		return wait, err
	}
	payload, err := writePush(ctx, store, p)
	if err != nil {
		return 0, fmt.Errorf("message %d: %w", pushID, err) // the lease ends, and the sweep tries again
	}
	err = letters.Push.Send(ctx, push.Message{Endpoint: p.Endpoint, P256dh: p.P256dh, Auth: p.Auth, Payload: payload, Topic: pushTopic(p), TTL: pushTTL,
		IsUrgent: p.Step == models.PushReady || p.Step == models.PushCancelled})
	var later *push.ErrLater
	switch {
	case err == nil:
		models.FaultPoint("push.sent_before_mark")
		return 0, store.MarkPushSent(ctx, pushID)
	case errors.Is(err, push.ErrGone):
		return 0, store.DropSubscription(ctx, p.SubscriptionID)
	case errors.As(err, &later):
		return store.FailPush(ctx, pushID, err.Error(), later.After, false)
	}
	return store.FailPush(ctx, pushID, err.Error(), 0, errors.Is(err, push.ErrPermanent))
}

// pushTopic has a push service keep only the newest message about an order for one browser. It tells the service nothing: a hash in 32 letters.
func pushTopic(p models.Push) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "order %d of %s", p.OrderID, p.Auth))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// writePush puts a message's text together from its order as it is now.
func writePush(ctx context.Context, store *models.Store, p models.Push) ([]byte, error) {
	order, err := store.FindOrder(ctx, p.OrderID)
	if err != nil {
		return nil, err
	}
	view := views.PushView{ID: p.ID, Step: p.Step, Order: order}
	if p.Step == models.PushRefundProcessed {
		refund, err := store.FindRefund(ctx, p.Ref)
		if err != nil {
			return nil, err
		}
		view.Refund = &refund
	}
	return views.Push(views.WithLanguage(ctx, p.Language), view)
}

// sweepPushes sends the messages whose job was lost.
func sweepPushes(ctx context.Context, store *models.Store, letters Letters, log *slog.Logger) (int, error) {
	due, err := store.ListDuePushes(ctx, 50)
	if err != nil {
		return 0, err
	}
	for _, pushID := range due {
		if _, err := sendPush(ctx, store, letters, pushID); err != nil {
			log.WarnContext(ctx, "message not sent", "push_id", pushID, "error", err)
		}
	}
	return len(due), nil
}
