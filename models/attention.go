package models

import (
	"context"
	"time"
)

// Kinds of the attention list. Each says one clear thing for a person to do.
const (
	TaskAmountMismatch = "amount_mismatch" // look at the payment: amount, currency or order are not what was asked for
	TaskRefundFailed   = "refund_failed"   // give the money back another way
	TaskRefundOutside  = "refund_outside"  // somebody refunded a kept payment in the dashboard
	TaskDeadEvent      = "dead_event"      // a webhook event could not be processed
	TaskEventReplaced  = "event_replaced"  // the same event id came with another body
	TaskUnmapped       = "unmapped_money"  // money with our marks on no order of ours
	TaskClaimRejected  = "claim_rejected"  // the gateway refuses to make an order: keys, limits
	TaskDispute        = "dispute"         // answer it before its deadline
	TaskBadSignature   = "bad_signature"   // the webhook secret here and at the gateway may differ
	TaskLowBalance     = "low_balance"     // refunds wait for money at the gateway
	TaskOverdue        = "overdue"         // an order's money should be at rest by now and is not
	TaskBroken         = "broken"          // a promise the rows do not keep: look at the order at once
)

// Task is one entry of the attention list, normally empty.
type Task struct {
	ID       int64
	Kind     string
	Ref      string
	OrderID  *int64
	Detail   string
	OpenedAt time.Time
	ClosedAt *time.Time
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
				WHEN 'refund_settles' THEN 'A refund has not reached the customer''s bank' ELSE 'A failed refund waits for a person' END
			FROM orders o WHERE o.resolve_by < shop_now() AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = 'overdue' AND t.order_id = o.id AND (t.closed_at IS NULL OR t.opened_at >= o.resolve_by))
			ON CONFLICT (kind, ref) WHERE closed_at IS NULL DO NOTHING`).Error; err != nil {
			return err
		}
		if err := tx.exec(ctx, `UPDATE staff_tasks t SET closed_at = shop_now() FROM orders o WHERE o.id = t.order_id AND t.kind = 'overdue' AND t.closed_at IS NULL
			AND (o.resolve_by IS NULL OR o.resolve_by >= shop_now())`).Error; err != nil {
			return err
		}
		return tx.one(ctx, &late, `SELECT count(*) FROM orders WHERE resolve_by < shop_now()`)
	})
	return late, err
}

// ListTasks returns what is open, oldest first.
func (s *Store) ListTasks(ctx context.Context, limit int) (tasks []Task, err error) {
	err = s.read(ctx, &tasks, `SELECT id, kind, ref, order_id, detail, opened_at, closed_at FROM staff_tasks WHERE closed_at IS NULL ORDER BY id LIMIT ?`, limit)
	return tasks, err
}

// CloseTask takes one off the list. Errors: ErrNotFound when it is not open.
func (s *Store) CloseTask(ctx context.Context, taskID, staffID int64) error {
	return s.InTx(ctx, func(tx *Store) error {
		var task Task
		if err := tx.one(ctx, &task, `UPDATE staff_tasks SET closed_at = shop_now(), closed_by = ? WHERE id = ? AND closed_at IS NULL RETURNING id, kind, ref, order_id, detail, opened_at, closed_at`,
			staffID, taskID); err != nil {
			return err
		}
		return tx.Audit(ctx, StaffActor(staffID), "close_task", task.OrderID, task.Kind+" "+task.Ref)
	})
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

// ListBroken returns every invariant that is broken now; empty is good.
func (s *Store) ListBroken(ctx context.Context) (broken []Broken, err error) {
	err = s.read(ctx, &broken, `SELECT inv, order_id, detail FROM broken_invariants LIMIT 100`)
	return broken, err
}

// ListUnsettled returns what must be over once faults have stopped and the sweeps have run.
func (s *Store) ListUnsettled(ctx context.Context) (open []Broken, err error) {
	err = s.read(ctx, &open, `SELECT inv, order_id, detail FROM unsettled_money LIMIT 100`)
	return open, err
}
