package models

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Kinds of the attention list. Each says one clear thing for a person to do.
const (
	TaskAmountMismatch = "amount_mismatch" // look at the payment: amount, currency or order are not what was asked for
	TaskSecondPayment  = "second_payment"  // a customer paid an order twice; the second is given back by itself
	TaskRefundFailed   = "refund_failed"   // send it again
	TaskRefundOutside  = "refund_outside"  // somebody refunded a kept payment in the dashboard
	TaskDeadEvent      = "dead_event"      // a webhook event could not be processed
	TaskDeadJob        = "dead_job"        // a job was given up and what it was for is not done
	TaskEventReplaced  = "event_replaced"  // the same event id came with another body
	TaskUnmapped       = "unmapped_money"  // money with our marks that fits no order: it goes back by itself, or at once
	TaskClaimRejected  = "claim_rejected"  // the gateway refuses to make an order: keys, limits
	TaskStaleClaim     = "stale_claim"     // a customer cannot pay: the making of the gateway order hangs
	TaskDispute        = "dispute"         // answer it before its deadline
	TaskDisputeLost    = "dispute_lost"    // the bank took the money
	TaskSilence        = "silent_webhooks" // payments happen and no webhook comes: look at the endpoint
	TaskBadSignature   = "bad_signature"   // the webhook secret here and at the gateway may differ
	TaskLowBalance     = "low_balance"     // refunds wait for money at the gateway
	TaskOverdue        = "overdue"         // an order's money should be at rest by now and is not
	TaskCashBack       = "cash_back"       // give cash back to the customer
	TaskIncomplete     = "incomplete"      // customers are not told all they have to be
	TaskComplaint      = "complaint"       // answer it: two clocks run
	TaskComplaintLate  = "complaint_late"  // a clock of a complaint has run out
	TaskBroken         = "broken"          // a promise the rows do not keep: look at the order at once
)

// TaskKinds are all of them, so that whoever counts can say none of a kind.
var TaskKinds = []string{TaskAmountMismatch, TaskSecondPayment, TaskRefundFailed, TaskRefundOutside, TaskDeadEvent, TaskDeadJob, TaskEventReplaced, TaskUnmapped, TaskClaimRejected,
	TaskStaleClaim, TaskDispute, TaskDisputeLost, TaskSilence, TaskBadSignature, TaskLowBalance, TaskCashBack, TaskOverdue, TaskIncomplete, TaskComplaint, TaskComplaintLate, TaskBroken}

// Task is one entry of the attention list, normally empty. What it is about is read with it, as it is now.
type Task struct {
	ID          int64
	Kind        string
	Ref         string
	OrderID     *int64
	Detail      string
	OpenedAt    time.Time
	OrderNumber *int
	AmountPaise *Paise     // of the payment, refund, dispute or refunds it is about; nil: none
	DueAt       *time.Time // by when somebody has to act; nil: as soon as can be
	SinceAt     *time.Time // silent webhooks: when the last one came; nil: none ever did
	Why         string     // a failed refund: what Razorpay said
}

// OpenTask puts something on the attention list, once while it is open. Safe to repeat.
func (s *Store) OpenTask(ctx context.Context, kind, ref string, orderID *int64, detail string) error {
	return s.exec(ctx, `INSERT INTO staff_tasks (kind, ref, order_id, detail) VALUES (?, ?, ?, ?) ON CONFLICT (kind, ref) WHERE closed_at IS NULL DO NOTHING`,
		kind, ref, orderID, detail).Error
}

// WatchDeadlines is the clock behind "no limbo": every order past its resolve_by goes on the attention list, once for that deadline, and
// comes off when its money is at rest or has a later one. It returns how many orders are late. Safe to repeat.
func (s *Store) WatchDeadlines(ctx context.Context) (late int, err error) {
	err = s.InTx(ctx, func(tx *Store) error {
		if err := tx.exec(ctx, `INSERT INTO staff_tasks (kind, ref, order_id, detail)
			SELECT 'overdue', o.id::text, o.id, CASE o.next_action WHEN 'ask_gateway' THEN 'The order is neither paid nor ended' WHEN 'send_refund' THEN 'A refund is not accepted by Razorpay'
				WHEN 'refund_settles' THEN 'A refund has not reached the customer''s bank' WHEN 'take_cash' THEN 'The cash for it was not taken' ELSE 'A refund waits for a person' END
			FROM orders o WHERE o.resolve_by < shop_now() AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = 'overdue' AND t.order_id = o.id AND (t.closed_at IS NULL OR t.opened_at >= o.resolve_by))
			ON CONFLICT (kind, ref) WHERE closed_at IS NULL DO NOTHING`).Error; err != nil {
			return err
		}
		if err := tx.endTasks(ctx, TaskOverdue, `EXISTS (SELECT 1 FROM orders o WHERE o.id = t.order_id AND (o.resolve_by IS NULL OR o.resolve_by >= shop_now()))`).Error; err != nil {
			return err
		}
		return tx.one(ctx, &late, `SELECT count(*) FROM orders WHERE resolve_by < shop_now()`)
	})
	return late, err
}

// lowBalance is true in SQL of a refund r that waits because the account at Razorpay holds too little (Docs-Aug "Handle Refund Errors").
const lowBalance = `r.status = 'requested' AND r.attempts > 0 AND r.last_error ILIKE '%enough balance%'`

const taskColumns = `t.id, t.kind, t.ref, t.order_id, t.detail, t.opened_at, o.number AS order_number, COALESCE(r.amount_paise, p.amount_paise, d.amount_paise, b.amount_paise,
		CASE t.kind WHEN 'low_balance' THEN (SELECT sum(r.amount_paise)::bigint FROM refunds r WHERE ` + lowBalance + `) END) AS amount_paise,
		COALESCE(d.respond_by, u.hold_until, k.due_at) AS due_at, CASE t.kind WHEN 'silent_webhooks' THEN (SELECT max(received_at) FROM webhook_events) END AS since_at, COALESCE(r.last_error, '') AS why
	FROM staff_tasks t LEFT JOIN orders o ON o.id = t.order_id
		LEFT JOIN refunds r ON t.kind IN ('refund_failed', 'refund_outside', 'cash_back') AND r.id::text = t.ref
		LEFT JOIN payments p ON t.kind IN ('amount_mismatch', 'second_payment', 'unmapped_money') AND p.razorpay_payment_id = t.ref
		LEFT JOIN refunds u ON t.kind = 'unmapped_money' AND u.payment_id = p.id AND u.status = 'requested'
		LEFT JOIN disputes d ON t.kind IN ('dispute', 'dispute_lost') AND d.razorpay_dispute_id = t.ref
		LEFT JOIN complaints k ON t.kind IN ('complaint', 'complaint_late') AND k.id::text = t.ref
		LEFT JOIN recon_breaks b ON t.kind = 'unmapped_money' AND b.ref = t.ref
	WHERE t.closed_at IS NULL`

// ListTasks returns what is open and this member's business: what is about orders of their outlet, and, for whoever may refund, what is
// about the account and the machinery all outlets share. What has a deadline comes first, by it, then the oldest.
func (s *Store) ListTasks(ctx context.Context, member Staff, limit int) (tasks []Task, err error) {
	err = s.read(ctx, &tasks, `SELECT `+taskColumns+` AND CASE WHEN t.order_id IS NULL THEN ? ELSE COALESCE(o.outlet_id = ?, true) END ORDER BY due_at NULLS LAST, t.id LIMIT ?`,
		member.MayRefund(), member.OutletID, limit)
	return tasks, err
}

// CountTasks says how many tasks of each kind are open; a kind of which there is none is missing.
func (s *Store) CountTasks(ctx context.Context) (open map[string]int64, err error) {
	var rows []struct {
		Kind string
		N    int64
	}
	err = s.read(ctx, &rows, `SELECT kind, count(*) AS n FROM staff_tasks WHERE closed_at IS NULL GROUP BY kind`)
	open = make(map[string]int64, len(rows))
	for _, row := range rows {
		open[row.Kind] = row.N
	}
	return open, err
}

// CloseTask takes one off the list that a person has seen. Errors: ErrNotFound when it is not open.
func (s *Store) CloseTask(ctx context.Context, taskID, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		_, err := tx.closeTask(ctx, taskID, staffID, "close_task")
		return err
	})
}

func (s *Store) closeTask(ctx context.Context, taskID, staffID int64, deed string) (task Task, err error) {
	if err = s.one(ctx, &task, `UPDATE staff_tasks SET closed_at = shop_now(), closed_by = ? WHERE id = ? AND closed_at IS NULL RETURNING id, kind, ref, order_id, detail, opened_at`, staffID, taskID); err != nil {
		return task, err
	}
	return task, s.Audit(ctx, StaffActor(staffID), deed, task.OrderID, task.Kind+" "+task.Ref)
}

// EndTask takes one off the list whose cause is gone; the audit says that the shop did it. Safe to repeat.
func (s *Store) EndTask(ctx context.Context, kind, ref string) error {
	return s.endTasks(ctx, kind, `ref = ?`, ref).Error
}

// EndOtherTasks takes every task of a kind off the list but those named: the others' cause is gone. Safe to repeat.
func (s *Store) EndOtherTasks(ctx context.Context, kind string, refs []string) error {
	return s.endTasks(ctx, kind, `ref NOT IN (SELECT jsonb_array_elements_text(?::jsonb))`, jsonList(refs)).Error
}

// jsonList is how a list of texts is bound: GORM would spread a slice over the statement, and an empty one is no list then.
func jsonList(texts []string) string {
	list, _ := json.Marshal(append([]string{}, texts...)) // texts always have a JSON form
	return string(list)
}

// endTasks ends the open tasks t of a kind of which gone is true in SQL.
func (s *Store) endTasks(ctx context.Context, kind, gone string, args ...any) *gorm.DB {
	return s.exec(ctx, `WITH ended AS (UPDATE staff_tasks t SET closed_at = shop_now() WHERE t.kind = ? AND t.closed_at IS NULL AND (`+gone+`) RETURNING kind, ref, order_id)
		INSERT INTO audit (actor, action, order_id, detail) SELECT 'shop', 'close_task', order_id, kind || ' ' || ref FROM ended`, append([]any{kind}, args...)...)
}

// webhookSilence is how long a payment may be here, heard of by another road, without any webhook: Razorpay delivers within seconds and
// repeats for 24 hours, after which it switches the endpoint off (Docs-Aug "Best Practices", webhooks). An hour is far above a hiccup
// and leaves 23 to mend it.
const webhookSilence = "1 hour"

// staleClaim is how long the making of a gateway order may hang; the resolver ends a claim within 2.5 minutes when the gateway answers.
const staleClaim = "5 minutes"

// watched are the tasks whose cause can be read off the rows: the statement gives ref, order_id and detail of each that there is. What
// has no cause any more is ended.
var watched = []struct{ kind, causes string }{
	{TaskStaleClaim, `SELECT receipt AS ref, order_id, 'The order at Razorpay has been in the making since ' || to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"') || ', state ' || state AS detail
		FROM gateway_claims WHERE state IN ('open', 'unknown') AND claimed_at < (SELECT shop_now()) - interval '` + staleClaim + `'`},
	{TaskIncomplete, `SELECT o.id::text AS ref, NULL::bigint AS order_id, o.name || ' lacks ' || array_to_string(outlet_missing(o), ', ') AS detail FROM outlets o
		WHERE o.active AND outlet_missing(o) <> '{}' AND EXISTS (SELECT 1 FROM settings WHERE name = 'live_since')`},
	{TaskComplaint, `SELECT id::text AS ref, order_id, 'Complaint ' || left(number, 3) || '-' || right(number, 4) AS detail FROM complaints WHERE status <> 'resolved'`},
	{TaskComplaintLate, `SELECT id::text AS ref, order_id, 'Complaint ' || left(number, 3) || '-' || right(number, 4) || CASE status WHEN 'open' THEN ' was not acknowledged within 48 hours' ELSE ' was not resolved within a month' END AS detail
		FROM complaints WHERE status <> 'resolved' AND due_at < (SELECT shop_now())`},
	// A payment counts as unheard of when no event names it and none at all has come since.
	{TaskSilence, `SELECT 'razorpay' AS ref, NULL::bigint AS order_id, 'Payments arrive, and no webhook' AS detail WHERE EXISTS (SELECT 1 FROM payments p
		WHERE p.provider = 'razorpay' AND p.decided_at < (SELECT shop_now()) - interval '` + webhookSilence + `'
		  AND p.decided_at > (SELECT COALESCE(max(received_at), '-infinity') FROM webhook_events) AND NOT EXISTS (SELECT 1 FROM webhook_events e WHERE e.razorpay_payment_id = p.razorpay_payment_id))`},
	// A job that was given up is nobody's business when its row is settled by another road, and a sweep when it has run since.
	{TaskDeadJob, `SELECT CASE j.queue WHEN 'sweeps' THEN j.kind ELSE j.id::text END AS ref, COALESCE(e.order_ref, r.order_id, l.order_id) AS order_id,
			'The job ' || j.kind || ' was given up after ' || j.attempt || ' tries' AS detail
		FROM river_job j LEFT JOIN webhook_events e ON j.kind = 'process_event' AND e.id::text = j.args ->> 'event_id'
			LEFT JOIN refunds r ON j.kind = 'send_refund' AND r.id::text = j.args ->> 'refund_id'
			LEFT JOIN outbox l ON j.kind = 'send_letter' AND l.id::text = j.args ->> 'letter_id'
		WHERE j.state = 'discarded' AND CASE WHEN j.queue = 'sweeps' THEN NOT EXISTS (SELECT 1 FROM river_job n WHERE n.kind = j.kind AND n.id <> j.id AND n.state IN ('completed', 'discarded') AND n.finalized_at > j.finalized_at)
			WHEN j.kind = 'process_event' THEN e.status = 'received' WHEN j.kind = 'send_refund' THEN r.status = 'requested' WHEN j.kind = 'send_letter' THEN l.status = 'queued' ELSE true END`},
}

// gone says, in SQL over an open task t, when the cause of a kind that is opened where it happens is over.
var gone = map[string]string{
	TaskRefundFailed:  `EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of::text = t.ref)`, // it is under way again; if that fails too, it has a task of its own
	TaskLowBalance:    `NOT EXISTS (SELECT 1 FROM refunds r WHERE ` + lowBalance + `)`,
	TaskUnmapped:      `EXISTS (SELECT 1 FROM payments p JOIN refunds r ON r.payment_id = p.id WHERE p.razorpay_payment_id = t.ref AND r.status <> 'requested')`,
	TaskClaimRejected: `EXISTS (SELECT 1 FROM gateway_orders g WHERE g.created_at > t.opened_at AND g.learned_via = 'create')`, // Razorpay makes orders again
	TaskDeadEvent: `EXISTS (SELECT 1 FROM webhook_events e WHERE e.event_id = t.ref AND (e.status <> 'dead' OR e.event_type IN ('payment.captured', 'order.paid')
		AND EXISTS (SELECT 1 FROM payments p WHERE p.razorpay_payment_id = e.razorpay_payment_id AND p.disposition IS NOT NULL)))`,
}

// RefreshTasks opens the tasks whose cause the rows show, once while they are open, and ends those whose cause is gone. changed counts
// both. A second payment is shown until somebody has seen it, and then never again. Safe to repeat and to run twice at once.
func (s *Store) RefreshTasks(ctx context.Context) (changed int, err error) {
	count := func(r *gorm.DB) error {
		changed += int(r.RowsAffected)
		return r.Error
	}
	err = s.InTx(ctx, func(tx *Store) error {
		changed = 0
		for _, w := range watched {
			if err := count(tx.exec(ctx, `INSERT INTO staff_tasks (kind, ref, order_id, detail) SELECT DISTINCT ON (ref) ?, ref, order_id, detail FROM (`+w.causes+`) causes ORDER BY ref
				ON CONFLICT (kind, ref) WHERE closed_at IS NULL DO NOTHING`, w.kind)); err != nil {
				return err
			}
			if err := count(tx.endTasks(ctx, w.kind, `ref NOT IN (SELECT ref FROM (`+w.causes+`) causes)`)); err != nil {
				return err
			}
		}
		for kind, over := range gone {
			if err := count(tx.endTasks(ctx, kind, over)); err != nil {
				return err
			}
		}
		return count(tx.exec(ctx, `INSERT INTO staff_tasks (kind, ref, order_id, detail) SELECT ?, razorpay_payment_id, order_id, 'A second payment for a paid order goes back by itself'
			FROM payments p WHERE reason = 'already_paid' AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = ? AND t.ref = p.razorpay_payment_id)
			ON CONFLICT (kind, ref) WHERE closed_at IS NULL DO NOTHING`, TaskSecondPayment, TaskSecondPayment))
	})
	return changed, err
}

// RetryTask does what a task asks for, in one transaction with closing it and writing down who did: a dead event is processed again, a
// dead job runs again, refunds that waited for money or for a look are sent at once, a look at the rows is repeated. If it is of no use the task comes
// back. Errors: ErrNotFound when it is not open, ErrBadMove when there is nothing of the kind to try.
func (s *Store) RetryTask(ctx context.Context, taskID, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		task, err := tx.closeTask(ctx, taskID, staffID, "retry_task")
		if err != nil {
			return err
		}
		switch task.Kind {
		case TaskDeadEvent:
			return tx.retryEvent(ctx, task.Ref)
		case TaskDeadJob:
			return tx.retryJob(ctx, task.Ref)
		case TaskLowBalance:
			return tx.exec(ctx, `UPDATE refunds r SET next_attempt_at = shop_now() WHERE `+lowBalance).Error // the sweep sends them within seconds
		case TaskUnmapped:
			return tx.releaseRefund(ctx, task.Ref)
		case TaskSilence:
			return tx.Enqueue(ctx, RefreshTasksArgs{})
		case TaskBroken:
			return tx.Enqueue(ctx, CheckInvariantsArgs{})
		}
		return fmt.Errorf("task %d of kind %s: %w", taskID, task.Kind, ErrBadMove)
	})
}

// retryEvent takes a dead event up again. Its job may be long gone.
func (s *Store) retryEvent(ctx context.Context, eventID string) error {
	var id int64
	err := s.one(ctx, &id, `UPDATE webhook_events SET status = 'received', attempts = 0, alerted_at = NULL, next_attempt_at = shop_now() WHERE event_id = ? AND status = 'dead' RETURNING id`, eventID)
	if err == ErrNotFound {
		return nil // purged, or taken up by somebody else
	}
	if err != nil {
		return err
	}
	return s.Enqueue(ctx, ProcessEventArgs{EventID: id})
}

// retryJob has a job that was given up run again: by its number, or the newest of a kind of sweep.
func (s *Store) retryJob(ctx context.Context, ref string) error {
	var id int64
	err := s.one(ctx, &id, `SELECT id FROM river_job WHERE state = 'discarded' AND (id::text = ? OR queue = 'sweeps' AND kind = ?) ORDER BY id DESC LIMIT 1`, ref, ref)
	if err == ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return s.retry(ctx, id)
}

// AuditEntry is who did what, when.
type AuditEntry struct {
	At      time.Time
	Actor   string
	Action  string
	OrderID *int64
	Detail  string
}

// Audit writes down who did what. Rows are never changed.
func (s *Store) Audit(ctx context.Context, actor, action string, orderID *int64, detail string) error {
	return s.exec(ctx, `INSERT INTO audit (actor, action, order_id, detail) VALUES (?, ?, ?, ?)`, actor, action, orderID, detail).Error
}

// ListAudit returns what people did to an order, oldest first.
func (s *Store) ListAudit(ctx context.Context, orderID int64) (entries []AuditEntry, err error) {
	err = s.read(ctx, &entries, `SELECT at, actor, action, order_id, detail FROM audit WHERE order_id = ? ORDER BY id`, orderID)
	return entries, err
}

// StatusChange is one line of the history the database writes by itself.
type StatusChange struct {
	At        time.Time
	Subject   string // order, payment, refund, fulfilment
	SubjectID string
	Was       *string
	Became    string
	Actor     string
}

// ListStatusChanges returns an order's history, oldest first.
func (s *Store) ListStatusChanges(ctx context.Context, orderID int64) (changes []StatusChange, err error) {
	err = s.read(ctx, &changes, `SELECT at, subject, subject_id, was, became, actor FROM status_changes WHERE order_id = ? ORDER BY id`, orderID)
	return changes, err
}

// Broken is one promise that the rows do not keep.
type Broken struct {
	Inv     string // INV-1 …, as docs/guarantees.md numbers them
	OrderID *int64
	Detail  string
}

// MostBroken is how many broken invariants are read at once: whoever reads so many does not know of the rest.
const MostBroken = 100

// ListBroken returns every invariant that is broken now; empty is good.
func (s *Store) ListBroken(ctx context.Context) (broken []Broken, err error) {
	err = s.read(ctx, &broken, `SELECT inv, order_id, detail FROM broken_invariants LIMIT ?`, MostBroken)
	return broken, err
}

// ListUnsettled returns what must be over once faults have stopped and the sweeps have run.
func (s *Store) ListUnsettled(ctx context.Context) (open []Broken, err error) {
	err = s.read(ctx, &open, `SELECT inv, order_id, detail FROM unsettled_money LIMIT 100`)
	return open, err
}
