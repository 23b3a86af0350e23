// Package jobs is the clock's door: River's workers, the timetable, and which function each kind of job calls.
// It must not know HTTP, SQL or the gateway: a job holds ids, the row it names is the authority, and payments does the work.
// It promises that every job may run twice, that one that is lost is found again by a sweep, and that stopping waits for those at work.
// Read work.go, then timetable.go.
package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"riverqueue.com/riverui"
	"riverqueue.com/riverui/uiendpoints"

	"tiffin/mail"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/push"
)

// Limits of the queue. A job's calls have 8 s each, so one that runs for a minute hangs; a job whose process died is taken up again
// after three. River's defaults are an hour for both.
const (
	jobTimeout    = time.Minute
	rescueAfter   = 3 * time.Minute
	workersAtOnce = 20 // more than the pool has connections: most of a job's time is the gateway's
	sweepsAtOnce  = 4
	staleAfter    = 30 * time.Second // a sweep that waited so long in the queue has newer ones behind it
)

// Workers runs the jobs of this process.
type Workers struct {
	client *river.Client[*sql.Tx]
	alive  atomic.Bool
}

// Letters is what writing to a customer, by mail or to a browser, needs beside the rows.
type Letters struct {
	Sender    *mail.Sender
	PublicURL string // of the shop, without a slash at the end
	Push      *push.Sender
}

// New wires the workers over the store's connections; nothing runs before Start.
func New(store *models.Store, cashier *payments.Cashier, letters Letters, log *slog.Logger) (*Workers, error) {
	workers := river.NewWorkers()
	errs := []error{
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[models.ProcessEventArgs]) error {
			return cashier.ProcessEvent(ctx, job.Args.EventID)
		})),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[models.SendRefundArgs]) error {
			return cashier.SendRefund(ctx, job.Args.RefundID)
		})),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[models.SendLetterArgs]) error {
			return sendLetter(ctx, store, letters, job.Args.LetterID)
		})),
		river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[models.SendPushArgs]) error {
			wait, err := sendPush(ctx, store, letters, job.Args.PushID)
			if err == nil && wait > 0 {
				return river.JobSnooze(wait)
			}
			return err
		})),
		addSweep[models.ReconcileArgs](workers, cashier.Reconcile),
		addSweep[models.ResolveClaimsArgs](workers, cashier.ResolveClaims),
		addSweep[models.SweepRefundsArgs](workers, cashier.SweepRefunds),
		addSweep[models.SweepEventsArgs](workers, cashier.SweepEvents),
		addSweep[models.SettleShortagesArgs](workers, cashier.SettleShortages),
		addSweep[models.ReconcileAccountArgs](workers, func(ctx context.Context) (int, error) { return cashier.ReconcileAccount(ctx, payments.AccountHours) }),
		addSweep[models.ReconcileWeekArgs](workers, func(ctx context.Context) (int, error) { return cashier.ReconcileAccount(ctx, payments.AccountDays) }),
		addSweep[models.SweepLettersArgs](workers, func(ctx context.Context) (int, error) { return sweepLetters(ctx, store, letters, log) }),
		addSweep[models.SweepPushesArgs](workers, func(ctx context.Context) (int, error) { return sweepPushes(ctx, store, letters, log) }),
		addSweep[models.WatchDeadlinesArgs](workers, store.WatchDeadlines),
		addSweep[models.PurgeArgs](workers, func(ctx context.Context) (int, error) { return purge(ctx, store, cashier) }),
		addSweep[models.ReconcileDisputesArgs](workers, cashier.ReconcileDisputes),
		addSweep[models.RecordSettlementsArgs](workers, cashier.RecordSettlements),
		addSweep[models.RefreshTasksArgs](workers, store.RefreshTasks),
		addSweep[models.AskReviewsArgs](workers, store.AskReviews),
		addSweep[models.CheckInvariantsArgs](workers, func(ctx context.Context) (int, error) { return checkInvariants(ctx, store, log) }),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	client, err := river.NewClient(riverdatabasesql.NewWithPgxListener(store.SQL(), store.Pool()), &river.Config{
		Queues:               map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workersAtOnce}, models.SweepQueue: {MaxWorkers: sweepsAtOnce}},
		Workers:              workers,
		PeriodicJobs:         timetable(),
		JobTimeout:           jobTimeout,
		RescueStuckJobsAfter: rescueAfter,
		FetchCooldown:        5 * time.Millisecond, // a paid order reaches the kitchen this much later
		FetchPollInterval:    time.Second,
		Logger:               log,
		ErrorHandler:         errorLog{log},
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Workers{client: client}, nil
}

// addSweep registers a periodic job whose function counts what it did.
func addSweep[T river.JobArgs](workers *river.Workers, sweep func(context.Context) (int, error)) error {
	return river.AddWorkerSafely(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[T]) error {
		if job.AttemptedAt.Sub(job.ScheduledAt) > staleAfter {
			return nil // others came after it; while the gateway is silent they must not pile up
		}
		_, err := sweep(ctx)
		return err
	}))
}

// Start begins to work. ctx bounds only the starting.
func (w *Workers) Start(ctx context.Context) error {
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("jobs: start: %w", err)
	}
	w.alive.Store(true)
	go func() {
		<-w.client.Stopped()
		w.alive.Store(false)
	}()
	return nil
}

// Stop takes no new jobs and waits for those at work until ctx ends; then they are cancelled and found again by their rows.
func (w *Workers) Stop(ctx context.Context) error {
	err := w.client.Stop(ctx)
	if err == nil {
		return nil
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return w.client.StopAndCancel(hard)
}

// Alive reports whether the workers run.
func (w *Workers) Alive() bool { return w.alive.Load() }

// Endpoints is what River's own pages, which handlers shows, read the queue through.
func (w *Workers) Endpoints() uiendpoints.Bundle { return riverui.NewEndpoints(w.client, nil) }
