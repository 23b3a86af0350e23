package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"tiffin/models"
	"tiffin/payments"
)

// purge takes away what is past its keeping time: people out of the bodies of events, then the events, sessions, login tries, the words of
// complaints long settled, codes, the carts of accounts that come no more, browsers that
// were told of orders. Money rows are never among it.
func purge(ctx context.Context, store *models.Store, cashier *payments.Cashier) (int, error) {
	stripped, stripErr := cashier.StripEvents(ctx)
	events, err := store.PurgeEvents(ctx)
	sessions, sessionsErr := store.PurgeSessions(ctx)
	tries, triesErr := store.PurgeLoginAttempts(ctx)
	browsers, browsersErr := store.PurgeSubscriptions(ctx)
	words, wordsErr := store.PurgeCare(ctx)
	codes, codesErr := store.PurgeCodes(ctx)
	carts, cartsErr := store.PurgeCarts(ctx)
	return stripped + int(events+sessions+tries+words+codes+carts+browsers), errors.Join(stripErr, err, sessionsErr, triesErr, wordsErr, codesErr, cartsErr, browsersErr)
}

// checkInvariants puts every broken promise before a person, once while it is open, and takes those off the list that are kept again.
func checkInvariants(ctx context.Context, store *models.Store, log *slog.Logger) (int, error) {
	broken, err := store.ListBroken(ctx)
	if err != nil {
		return 0, err
	}
	refs := []string{}
	for _, b := range broken {
		log.ErrorContext(ctx, "invariant broken", "inv", b.Inv, "order_id", b.OrderID, "detail", b.Detail)
		ref := b.Inv
		if b.OrderID != nil {
			ref = fmt.Sprintf("%s order %d", b.Inv, *b.OrderID)
		}
		if err := store.OpenTask(ctx, models.TaskBroken, ref, b.OrderID, b.Inv+": "+b.Detail); err != nil {
			return 0, err
		}
		refs = append(refs, ref)
	}
	if len(broken) < models.MostBroken {
		err = store.EndOtherTasks(ctx, models.TaskBroken, refs)
	}
	return len(broken), err
}

// errorLog tells of a job's failure once. The job itself is kept by River and, by its row, by the sweeps.
type errorLog struct{ log *slog.Logger }

func (e errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	e.log.WarnContext(ctx, "job failed", "kind", job.Kind, "job_id", job.ID, "attempt", job.Attempt, "error", err)
	return nil
}

func (e errorLog) HandlePanic(ctx context.Context, job *rivertype.JobRow, panicked any, trace string) *river.ErrorHandlerResult {
	e.log.ErrorContext(ctx, "job panicked", "kind", job.Kind, "job_id", job.ID, "panic", fmt.Sprint(panicked), "trace", trace)
	return nil
}
