package models

import (
	"context"
	"strconv"
)

// NotifyChannel is the Postgres channel that live listens on. A payload is a topic, never data.
const NotifyChannel = "tiffin"

// OrderTopic and BoardTopic name what changed.
func OrderTopic(orderID int64) string  { return "order:" + strconv.FormatInt(orderID, 10) }
func BoardTopic(outletID int64) string { return "board:" + strconv.FormatInt(outletID, 10) }

// Notify tells every listening process that something about the topic changed. Postgres delivers it at commit, and not at all
// when the transaction fails; identical ones of a transaction arrive once.
func (s *Store) Notify(ctx context.Context, topic string) error {
	return s.exec(ctx, `SELECT pg_notify(?, ?)`, NotifyChannel, topic).Error
}
