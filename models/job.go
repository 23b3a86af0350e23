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

// SendPushArgs asks for one message to one browser to be sent.
type SendPushArgs struct {
	PushID int64 `json:"push_id"`
}

func (SendPushArgs) Kind() string { return "send_push" }

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

// retry has a job that was given up run again now. Inside InTx only.
func (s *Store) retry(ctx context.Context, jobID int64) error {
	tx, ok := s.db.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return fmt.Errorf("models: retry job %d outside a transaction", jobID)
	}
	if _, err := s.queue.JobRetryTx(ctx, tx, jobID); err != nil {
		return fmt.Errorf("models: retry job %d: %w", jobID, err)
	}
	return nil
}

// The periodic jobs of the timetable. They find due rows whatever happened to the jobs of those rows.

// ReconcileArgs asks the gateway about orders whose turn it is.
type ReconcileArgs struct{}

// ResolveClaimsArgs looks for the gateway orders of unanswered claims.
type ResolveClaimsArgs struct{}

// SweepRefundsArgs sends and asks about refunds.
type SweepRefundsArgs struct{}

// SweepEventsArgs processes events whose job was lost.
type SweepEventsArgs struct{}

// SweepLettersArgs sends letters whose job was lost.
type SweepLettersArgs struct{}

// SweepPushesArgs sends messages to browsers whose job was lost.
type SweepPushesArgs struct{}

// ReconcileAccountArgs compares the account's own list of the last hours.
type ReconcileAccountArgs struct{}

// ReconcileWeekArgs compares the account's own list of the last days.
type ReconcileWeekArgs struct{}

// ReconcileDisputesArgs asks about the account's disputes.
type ReconcileDisputesArgs struct{}

// RecordSettlementsArgs writes down what the gateway has paid out.
type RecordSettlementsArgs struct{}

// RefreshTasksArgs keeps the attention list true: opens what the rows ask for, ends what is over.
type RefreshTasksArgs struct{}

// PurgeArgs takes away what is past its keeping time: people out of old events' bodies, old events, ended sessions, login tries. Never money.
type PurgeArgs struct{}

// WatchDeadlinesArgs puts orders whose money should be at rest by now before a person.
type WatchDeadlinesArgs struct{}

// CheckInvariantsArgs looks for rows that break a promise of the shop and puts them before a person.
type CheckInvariantsArgs struct{}

// AskReviewsArgs writes the letters that ask how an order was.
type AskReviewsArgs struct{}

// SettleShortagesArgs answers what customers were asked about a dish that ran out and left unanswered.
type SettleShortagesArgs struct{}

func (AskReviewsArgs) Kind() string        { return "ask_reviews" }
func (ReconcileArgs) Kind() string         { return "reconcile" }
func (ResolveClaimsArgs) Kind() string     { return "resolve_claims" }
func (SweepRefundsArgs) Kind() string      { return "sweep_refunds" }
func (SweepEventsArgs) Kind() string       { return "sweep_events" }
func (SweepLettersArgs) Kind() string      { return "sweep_letters" }
func (SweepPushesArgs) Kind() string       { return "sweep_pushes" }
func (ReconcileAccountArgs) Kind() string  { return "reconcile_account" }
func (ReconcileWeekArgs) Kind() string     { return "reconcile_week" }
func (ReconcileDisputesArgs) Kind() string { return "reconcile_disputes" }
func (RecordSettlementsArgs) Kind() string { return "record_settlements" }
func (RefreshTasksArgs) Kind() string      { return "refresh_tasks" }
func (SettleShortagesArgs) Kind() string   { return "settle_shortages" }
func (PurgeArgs) Kind() string             { return "purge" }
func (CheckInvariantsArgs) Kind() string   { return "check_invariants" }
func (WatchDeadlinesArgs) Kind() string    { return "watch_deadlines" }

// SweepQueue keeps the sweeps apart, so that many slow ones never stand in the way of an event or a refund.
const SweepQueue = "sweeps"

// SweepOpts is how a sweep is inserted. There is no uniqueness: a sweep whose process died stays "running" for minutes, and nothing may
// wait for it. Two at once share the work by their rows' guards.
func SweepOpts() *river.InsertOpts { return &river.InsertOpts{MaxAttempts: 3, Queue: SweepQueue} }
