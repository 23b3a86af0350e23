package models

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/riverqueue/river"
)

// Job arguments hold ids only; the row they name is the authority, so every job may run twice. A kind is its method in snake case.

// ProcessEventArgs asks for one stored webhook event to be processed.
type ProcessEventArgs struct {
	EventID int64 `json:"event_id"`
}

func (ProcessEventArgs) Kind() string { return "process_event" }
func (ProcessEventArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: 12}
}

// SendRefundArgs asks for one requested refund to be sent to the gateway.
type SendRefundArgs struct {
	RefundID string `json:"refund_id"`
}

func (SendRefundArgs) Kind() string { return "send_refund" }

// SendLetterArgs asks for one letter of the outbox to be sent.
type SendLetterArgs struct {
	LetterID int64 `json:"letter_id"`
}

func (SendLetterArgs) Kind() string { return "send_letter" }

// Enqueue inserts a job on this transaction: a rolled-back order leaves no job. Inside InTx only.
func (s *Store) Enqueue(ctx context.Context, args river.JobArgs) error {
	tx, ok := s.db.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return fmt.Errorf("models: enqueue %s outside a transaction", args.Kind())
	}
	if _, err := s.queue.InsertTx(ctx, tx, args, nil); err != nil {
		return fmt.Errorf("models: enqueue %s: %w", args.Kind(), err)
	}
	return nil
}
