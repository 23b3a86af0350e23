package models

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// TimelineVersion is raised when a field of the timeline's JSON changes its name or meaning. New fields do not raise it.
const TimelineVersion = 1

// Timeline is everything that happened to an order's money, in the order of time: what a person needs to answer a customer, and what a
// bank is shown in a dispute. Its JSON is described, field by field, in docs/timeline.md. It names nobody: no name, phone or address.
type Timeline struct {
	Version int             `json:"version"`
	ReadAt  time.Time       `json:"read_at"`
	Order   TimelineOrder   `json:"order"`
	Entries []TimelineEntry `json:"entries"`
}

// TimelineOrder is what was bought, as it was agreed.
type TimelineOrder struct {
	ID             int64          `json:"id"`
	PublicID       string         `json:"public_id"` // the one the gateway knows
	Number         int            `json:"number"`
	ServiceOn      string         `json:"service_on"`
	OutletID       int64          `json:"outlet_id"`
	OutletName     string         `json:"outlet_name"`
	Mode           string         `json:"mode"` // test, live
	Way            string         `json:"way"`
	Status         string         `json:"status"`
	Currency       string         `json:"currency"`
	SubtotalPaise  Paise          `json:"subtotal_paise"`
	DiscountPaise  Paise          `json:"discount_paise"`
	PackagingPaise Paise          `json:"packaging_paise"`
	DeliveryPaise  Paise          `json:"delivery_paise"`
	CGSTPaise      Paise          `json:"cgst_paise"`
	SGSTPaise      Paise          `json:"sgst_paise"`
	TipPaise       Paise          `json:"tip_paise"`
	RoundOffPaise  Paise          `json:"round_off_paise"`
	AmountPaise    Paise          `json:"amount_paise"`
	PlacedAt       time.Time      `json:"placed_at"`
	PaidAt         *time.Time     `json:"paid_at"`
	ClosedAt       *time.Time     `json:"closed_at"`
	Items          []TimelineItem `json:"items"`
}

// TimelineItem is one line of the bill.
type TimelineItem struct {
	Name           string `json:"name"`
	Qty            int    `json:"qty"`
	LineTotalPaise Paise  `json:"line_total_paise"`
}

// TimelineEntry is one thing that happened. ID is the name of what it happened to: Razorpay's where there is one.
type TimelineEntry struct {
	At          time.Time `json:"at"`
	Kind        string    `json:"kind"` // order, claim, gateway_order, hint, fetch, check, event, payment, decision, refund, dispute, ticket, ledger, letter, task, audit
	ID          string    `json:"id"`
	Was         string    `json:"was"` // "" when it begins here, or has no states
	Became      string    `json:"became"`
	Actor       string    `json:"actor"` // shop, customer, staff:<id>, razorpay
	AmountPaise *Paise    `json:"amount_paise"`
	Facts       Facts     `json:"facts"`
}

// Facts are what else is known of an entry, by name; which names a kind has is written in docs/timeline.md.
type Facts map[string]json.RawMessage

// Scan reads a jsonb object.
func (f *Facts) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		return json.Unmarshal(v, f)
	case string:
		return json.Unmarshal([]byte(v), f)
	}
	return fmt.Errorf("models: %T is no jsonb", src)
}

// Value writes them as they were read: GORM takes no type for a column that cannot be written.
func (f Facts) Value() (driver.Value, error) {
	text, err := json.Marshal(map[string]json.RawMessage(f))
	return string(text), err
}

// Text is a fact as text, a number in its digits; "" when it is not known.
func (f Facts) Text(name string) string {
	var s string
	if json.Unmarshal(f[name], &s) == nil {
		return s
	}
	return string(f[name])
}

// Time is a fact that is an instant; zero when it is not known.
func (f Facts) Time(name string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, f.Text(name)) // written by Postgres below, always in this form
	return at
}

// timelineSQL reads every table that knows something of an order, as one statement and so as of one moment. The order's id is bound
// once. An amount that was booked, asked for or moved stands in its own column; the rest are facts. Rows of the same instant, which only
// one statement can write, stand in the order in which one causes the other.
const timelineSQL = `WITH this AS (SELECT ?::bigint AS id),
	o AS (SELECT orders.* FROM orders JOIN this USING (id)),
	p AS (SELECT * FROM payments WHERE order_id = (SELECT id FROM this)),
	r AS (SELECT * FROM refunds WHERE order_id = (SELECT id FROM this)),
	g AS (SELECT * FROM gateway_orders WHERE order_id = (SELECT id FROM this)),
	c AS (SELECT * FROM gateway_claims WHERE order_id = (SELECT id FROM this)),
	d AS (SELECT * FROM disputes WHERE order_id = (SELECT id FROM this)),
	s AS (SELECT * FROM status_changes WHERE order_id = (SELECT id FROM this)),
	l AS (SELECT * FROM outbox WHERE order_id = (SELECT id FROM this)),
	k AS (SELECT * FROM staff_tasks WHERE order_id = (SELECT id FROM this)),
	e AS (SELECT * FROM webhook_events WHERE order_ref = (SELECT id FROM this) OR razorpay_order_id IN (SELECT razorpay_order_id FROM g)
		OR razorpay_payment_id IN (SELECT razorpay_payment_id FROM p WHERE razorpay_payment_id IS NOT NULL))
SELECT at, kind, id, was, became, actor, amount_paise, jsonb_strip_nulls(facts) AS facts FROM (
	SELECT s.at, 1 AS rank, s.id AS seq, 'order' AS kind, o.public_id AS id, COALESCE(s.was, '') AS was, s.became, s.actor, o.amount_paise,
		jsonb_build_object('reason', CASE WHEN s.became = 'cancelled' THEN o.cancel_reason END,
			'hold_expires_at', CASE WHEN s.was IS NULL THEN o.hold_expires_at END) AS facts
		FROM s, o WHERE s.subject = 'order'
	UNION ALL SELECT c.claimed_at, 2, c.attempt, 'claim', c.receipt, '', 'open', 'shop', NULL, jsonb_build_object('attempt', c.attempt, 'expires_at', c.expires_at) FROM c
	UNION ALL SELECT c.closed_at, 3, c.attempt, 'claim', c.receipt, 'open', c.state, 'shop', NULL, jsonb_build_object('attempt', c.attempt, 'looks', c.looks) FROM c WHERE c.closed_at IS NOT NULL
	UNION ALL SELECT g.created_at, 4, g.generation, 'gateway_order', g.razorpay_order_id, '', 'known', 'shop', g.amount_paise,
		jsonb_build_object('receipt', g.receipt, 'currency', g.currency, 'via', g.learned_via, 'state', g.state) FROM g
	UNION ALL SELECT g.handed_out_at, 5, g.generation, 'gateway_order', g.razorpay_order_id, 'known', 'handed_out', 'shop', g.amount_paise,
		jsonb_build_object('receipt', g.receipt, 'currency', g.currency) FROM g WHERE g.handed_out_at IS NOT NULL
	UNION ALL SELECT h.created_at, 6, 0, 'hint', h.razorpay_payment_id, '', 'open', 'customer', NULL, '{}' FROM payment_hints h, this WHERE h.order_id = this.id
	UNION ALL SELECT h.done_at, 20, 0, 'hint', h.razorpay_payment_id, 'open', 'settled', 'shop', NULL, jsonb_build_object('attempts', h.attempts) FROM payment_hints h, this WHERE h.order_id = this.id AND h.done_at IS NOT NULL
	UNION ALL SELECT e.received_at, 7, e.id, 'event', e.event_id, '', e.status, e.provider, NULL,
		jsonb_build_object('event_type', e.event_type, 'body_sha256', encode(e.body_sha256, 'hex'), 'order_ref', e.order_ref, 'event_at', e.event_at, 'received_at', e.received_at, 'processed_at', e.processed_at,
			'attempts', e.attempts, 'problem', NULLIF(e.last_error, ''), 'razorpay_payment_id', NULLIF(e.razorpay_payment_id, ''), 'razorpay_order_id', NULLIF(e.razorpay_order_id, ''), 'razorpay_refund_id', NULLIF(e.razorpay_refund_id, '')) FROM e
	UNION ALL SELECT f.at, 8, f.id, 'fetch', f.razorpay_payment_id, '', f.answer, 'shop', NULL, jsonb_build_object('via', f.via) FROM gateway_fetches f, this WHERE f.order_id = this.id
	UNION ALL SELECT o.last_checked_at, 19, 0, 'check', o.public_id, '', 'answered', 'shop', NULL, jsonb_build_object('checks', o.checks, 'next_check_at', o.next_check_at) FROM o WHERE o.last_checked_at IS NOT NULL
	UNION ALL SELECT s.at, 9, s.id, 'payment', COALESCE(p.razorpay_payment_id, s.subject_id), split_part(COALESCE(s.was, ''), '/', 1), split_part(s.became, '/', 1), s.actor, p.amount_paise,
		jsonb_build_object('currency', p.currency, 'razorpay_order_id', p.razorpay_order_id, 'method', NULLIF(p.method, ''), 'via', CASE WHEN s.was IS NULL THEN p.first_source END,
			'error_code', CASE WHEN s.became = 'failed' THEN NULLIF(p.error_code, '') END, 'error_reason', CASE WHEN s.became = 'failed' THEN NULLIF(p.error_reason, '') END,
			'error_description', CASE WHEN s.became = 'failed' THEN NULLIF(p.error_description, '') END,
			'fee_paise', CASE WHEN s.became LIKE '%/%' THEN p.fee_paise END, 'fee_tax_paise', CASE WHEN s.became LIKE '%/%' THEN p.tax_paise END)
		FROM s JOIN p ON s.subject = 'payment' AND p.id::text = s.subject_id
	UNION ALL SELECT p.decided_at, 10, p.id, 'decision', COALESCE(p.razorpay_payment_id, p.id::text), '', CASE p.disposition WHEN 'kept' THEN 'kept' ELSE 'given_back' END, 'shop', p.amount_paise,
		jsonb_build_object('reason', p.reason, 'customer_fee_paise', NULLIF(p.customer_fee_paise, 0)) FROM p WHERE p.decided_at IS NOT NULL
	UNION ALL SELECT t.at, 11, t.id, 'ledger', t.id::text, '', t.kind, 'shop', n.amount_paise, jsonb_build_object('account', n.account, 'ref_type', t.ref_type, 'ref_id', t.ref_id)
		FROM ledger_txns t JOIN ledger_entries n ON n.txn_id = t.id
		WHERE t.ref_type = 'payment' AND t.ref_id IN (SELECT id::text FROM p) OR t.ref_type = 'refund' AND t.ref_id IN (SELECT id::text FROM r)
	UNION ALL SELECT s.at, 12, s.id, 'refund', s.subject_id, COALESCE(s.was, ''), s.became, s.actor, r.amount_paise,
		jsonb_build_object('refund_kind', r.kind, 'reason', r.reason, 'requested_by', r.requested_by, 'speed', r.speed, 'retry_of', r.retry_of,
			'razorpay_payment_id', (SELECT p.razorpay_payment_id FROM p WHERE p.id = r.payment_id),
			'razorpay_refund_id', CASE WHEN s.was IS NOT NULL THEN r.razorpay_refund_id END, 'attempts', CASE WHEN s.was IS NOT NULL THEN r.attempts END,
			'bank_reference', CASE WHEN s.became = 'processed' THEN NULLIF(r.bank_reference, '') END, 'problem', CASE WHEN s.became = 'failed' THEN NULLIF(r.last_error, '') END)
		FROM s JOIN r ON s.subject = 'refund' AND r.id::text = s.subject_id
	UNION ALL SELECT s.at, 13, s.id, 'ticket', o.public_id, COALESCE(s.was, ''), s.became, s.actor, NULL, '{}' FROM s, o WHERE s.subject = 'fulfilment'
	UNION ALL SELECT s.at, 14, s.id, 'dispute', s.subject_id, COALESCE(s.was, ''), s.became, 'razorpay', d.amount_paise,
		jsonb_build_object('razorpay_payment_id', (SELECT p.razorpay_payment_id FROM p WHERE p.id = d.payment_id), 'respond_by', d.respond_by, 'phase', NULLIF(d.phase, ''), 'reason_code', NULLIF(d.reason_code, ''),
			'deducted_paise', CASE WHEN s.became = 'lost' THEN d.deducted_paise END, 'opened_at', d.opened_at)
		FROM s JOIN d ON s.subject = 'dispute' AND d.razorpay_dispute_id = s.subject_id
	UNION ALL SELECT l.queued_at, 15, l.id, 'letter', l.kind, '', CASE l.status WHEN 'skipped' THEN 'skipped' ELSE 'queued' END, 'shop', NULL, jsonb_build_object('ref', l.ref) FROM l
	UNION ALL SELECT l.sent_at, 16, l.id, 'letter', l.kind, 'queued', 'sent', 'shop', NULL, jsonb_build_object('ref', l.ref, 'attempts', l.attempts) FROM l WHERE l.sent_at IS NOT NULL
	UNION ALL SELECT k.opened_at, 17, k.id, 'task', k.kind, '', 'open', 'shop', NULL, jsonb_build_object('ref', k.ref) FROM k
	UNION ALL SELECT k.closed_at, 18, k.id, 'task', k.kind, 'open', 'closed', COALESCE('staff:' || k.closed_by, 'shop'), NULL, jsonb_build_object('ref', k.ref) FROM k WHERE k.closed_at IS NOT NULL
	UNION ALL SELECT a.at, 18, a.id, 'audit', a.action, '', '', a.actor, NULL, jsonb_build_object('detail', NULLIF(a.detail, '')) FROM audit a, this WHERE a.order_id = this.id
) entries ORDER BY at, rank, seq, facts ->> 'account'`

// ListTimeline returns what happened to an order, oldest first; empty when there is no such order. It writes nothing.
func (s *Store) ListTimeline(ctx context.Context, orderID int64) (entries []TimelineEntry, err error) {
	if err = s.read(ctx, &entries, timelineSQL, orderID); err != nil {
		return nil, fmt.Errorf("timeline of order %d: %w", orderID, err)
	}
	for i := range entries {
		entries[i].At = entries[i].At.UTC()
	}
	return entries, nil
}

// ReadTimeline puts an order and what happened to it together, to be handed out. Amounts are paise, instants UTC.
func (s *Store) ReadTimeline(ctx context.Context, o Order) (t Timeline, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return t, err
	}
	t = Timeline{Version: TimelineVersion, ReadAt: now.UTC(), Order: TimelineOrder{ID: o.ID, PublicID: o.PublicID, Number: o.Number, ServiceOn: o.ServiceOn.Format(time.DateOnly),
		OutletID: o.OutletID, OutletName: o.OutletName, Mode: o.Mode, Way: o.Way, Status: o.Status, Currency: o.Currency, SubtotalPaise: o.SubtotalPaise, DiscountPaise: o.DiscountPaise,
		PackagingPaise: o.PackagingPaise, DeliveryPaise: o.DeliveryPaise, CGSTPaise: o.CGSTPaise, SGSTPaise: o.SGSTPaise, TipPaise: o.TipPaise, RoundOffPaise: o.RoundOffPaise,
		AmountPaise: o.AmountPaise, PlacedAt: o.PlacedAt.UTC(), PaidAt: utc(o.PaidAt), ClosedAt: utc(o.ClosedAt)}}
	for _, i := range o.Items {
		t.Order.Items = append(t.Order.Items, TimelineItem{Name: i.Name, Qty: i.Qty, LineTotalPaise: i.LineTotalPaise})
	}
	t.Entries, err = s.ListTimeline(ctx, o.ID)
	return t, err
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return at(t.UTC())
}
