package models

// auditHeadings are the sums, in the order they are shown.
var auditHeadings = []AuditHeading{
	{Code: "captured", Title: "Captured"},
	{Code: "kept", Title: "Kept"},
	{Code: "refunded", Title: "Refunded"},
	{Code: "refunding", Title: "Being refunded"},
	{Code: "returned", Title: "Captured, but never for an order"},
	{Code: "dishes", Title: "Dishes"},
	{Code: "discount", Title: "Discount"},
	{Code: "packaging", Title: "Packaging"},
	{Code: "delivery", Title: "Delivery"},
	{Code: "cgst", Title: "CGST"},
	{Code: "sgst", Title: "SGST"},
	{Code: "tips", Title: "Tips"},
	{Code: "round_off", Title: "Round-off"},
	{Code: "charged", Title: "Charged"},
	{Code: "customer_fees", Title: "Razorpay’s fee, paid by customers"},
	{Code: "paid_out", Title: "Paid out to the bank"},
	{Code: "fees", Title: "Razorpay’s fees"},
	{Code: "fee_tax", Title: "GST on the fees"},
	{Code: "awaiting", Title: "Awaiting settlement"},
	{Code: "cash", Title: "Cash taken and not given back"},
	{Code: "disputed", Title: "Taken for lost disputes"},
	{Code: "elsewhere", Title: "Paid out for other programs"},
}

// auditSums reads each heading by itself, from the rows nearest to it: captured from payments, kept from bills and shares, refunded from
// refunds, paid out from payouts. That they agree is no accident of how they are read.
const auditSums = `WITH money AS (
	SELECT p.*, o.outlet_id FROM payments p JOIN orders o ON o.id = p.order_id
	WHERE p.disposition IS NOT NULL AND (? = '' OR (p.decided_at AT TIME ZONE 'Asia/Kolkata')::date::text = ?) AND (? = 0 OR o.outlet_id = ?)
), bills AS (
	SELECT o.*, m.customer_fee_paise FROM money m JOIN orders o ON o.id = m.order_id WHERE m.disposition = 'kept'
), back AS (
	SELECT r.* FROM refunds r JOIN money m ON m.id = r.payment_id WHERE r.status <> 'void'
), paid AS (
	SELECT i.* FROM settlement_items i WHERE i.payment_id IN (SELECT id FROM money) OR i.refund_id IN (SELECT id FROM refunds r WHERE r.payment_id IN (SELECT id FROM money))
), lost AS (
	SELECT i.* FROM settlement_items i JOIN disputes d ON d.razorpay_dispute_id = i.dispute_id WHERE d.payment_id IN (SELECT id FROM money)
)
SELECT m.captured, (b.charged + b.customer_fees - (SELECT COALESCE(sum(s.amount_paise), 0) FROM counted_shares s WHERE s.payment_id IN (SELECT id FROM money)))::bigint AS kept,
	r.refunded, r.refunding, m.returned, b.dishes, b.discount, b.packaging, b.delivery, b.cgst, b.sgst, b.tips, b.round_off, b.charged, b.customer_fees, s.paid_out, s.fees, s.fee_tax,
	(w.captured - w.refunded + w.early)::bigint AS awaiting, h.cash, l.disputed, e.elsewhere
FROM (SELECT COALESCE(sum(amount_paise), 0)::bigint AS captured, COALESCE(sum(amount_paise) FILTER (WHERE disposition = 'refund'), 0)::bigint AS returned FROM money) m,
	(SELECT COALESCE(sum(subtotal_paise), 0)::bigint AS dishes, COALESCE(sum(discount_paise), 0)::bigint AS discount, COALESCE(sum(packaging_paise), 0)::bigint AS packaging,
		COALESCE(sum(delivery_paise), 0)::bigint AS delivery, COALESCE(sum(cgst_paise), 0)::bigint AS cgst, COALESCE(sum(sgst_paise), 0)::bigint AS sgst, COALESCE(sum(tip_paise), 0)::bigint AS tips,
		COALESCE(sum(round_off_paise), 0)::bigint AS round_off, COALESCE(sum(amount_paise), 0)::bigint AS charged, COALESCE(sum(customer_fee_paise), 0)::bigint AS customer_fees FROM bills) b,
	(SELECT COALESCE(sum(amount_paise) FILTER (WHERE status = 'processed'), 0)::bigint AS refunded,
		COALESCE(sum(amount_paise) FILTER (WHERE status IN ('requested', 'submitted') OR status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = back.id)), 0)::bigint AS refunding FROM back) r,
	(SELECT COALESCE(sum(credit_paise - debit_paise), 0)::bigint AS paid_out, COALESCE(sum(fee_paise - tax_paise), 0)::bigint AS fees, COALESCE(sum(tax_paise), 0)::bigint AS fee_tax FROM paid) s,
	(SELECT (SELECT COALESCE(sum(amount_paise), 0) FROM money WHERE provider = 'razorpay' AND NOT EXISTS (SELECT 1 FROM paid WHERE paid.payment_id = money.id AND paid.kind = 'payment')) AS captured,
		(SELECT COALESCE(sum(amount_paise), 0) FROM back WHERE status = 'processed' AND provider = 'razorpay' AND NOT EXISTS (SELECT 1 FROM paid WHERE paid.refund_id = back.id)) AS refunded,
		(SELECT COALESCE(sum(r.amount_paise), 0) FROM refunds r JOIN paid ON paid.refund_id = r.id WHERE r.status <> 'processed') AS early) w,
	(SELECT ((SELECT COALESCE(sum(amount_paise), 0) FROM money WHERE provider = 'cash') - (SELECT COALESCE(sum(amount_paise), 0) FROM back WHERE status = 'processed' AND provider = 'cash'))::bigint AS cash) h,
	(SELECT COALESCE(sum(debit_paise - credit_paise), 0)::bigint AS disputed FROM lost) l,
	(SELECT COALESCE(sum(i.credit_paise - i.debit_paise), 0)::bigint AS elsewhere FROM settlement_items i JOIN recon_breaks k ON k.ref = i.entity_id
		WHERE (? = '' OR (i.settled_at AT TIME ZONE 'Asia/Kolkata')::date::text = ?)) e`

// auditCheck is one comparison: its SQL gives table, key, order, paise apart, when, and a sentence for each row that does not fit. general
// ones come last and say again what broken_invariants says, of what no other check has named.
type auditCheck struct {
	name    string
	sql     string
	general bool
}

// what the ledger must say, by the rows it was written for: one row for each account of each transaction.
const ledgerExpected = `
	SELECT 'capture' AS kind, 'payment' AS ref_type, p.id::text AS ref_id, v.account, v.paise, p.order_id, p.decided_at AS at FROM payments p JOIN orders o ON o.id = p.order_id,
		LATERAL (VALUES (CASE p.provider WHEN 'cash' THEN 'cash' ELSE 'gateway_clearing' END, p.amount_paise), ('sales', -(o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise)), ('output_cgst', -o.cgst_paise), ('output_sgst', -o.sgst_paise),
			('tips', -o.tip_paise), ('round_off', -o.round_off_paise), ('customer_fees', -p.customer_fee_paise)) v (account, paise) WHERE p.disposition = 'kept'
	UNION ALL SELECT 'capture', 'payment', p.id::text, v.account, v.paise, p.order_id, p.decided_at FROM payments p,
		LATERAL (VALUES ('gateway_clearing', p.amount_paise), ('refunds_payable', -p.amount_paise)) v (account, paise) WHERE p.disposition = 'refund'
	UNION ALL SELECT t.kind, t.ref_type, t.ref_id, v.account, v.sign * v.paise, r.order_id, p.decided_at FROM ledger_txns t JOIN refund_shares s ON s.refund_id::text = t.ref_id JOIN refunds r ON r.id = s.refund_id JOIN payments p ON p.id = r.payment_id,
		LATERAL (SELECT a.account, a.paise, CASE t.kind WHEN 'refund_requested' THEN 1 ELSE -1 END AS sign FROM (VALUES ('sales_returns', s.subtotal_paise - s.discount_paise + s.packaging_paise + s.delivery_paise), ('output_cgst', s.cgst_paise),
			('output_sgst', s.sgst_paise), ('tips', s.tip_paise), ('round_off', s.round_off_paise), ('customer_fees', s.customer_fee_paise), ('refunds_payable', -s.amount_paise)) a (account, paise)) v
		WHERE t.ref_type = 'refund' AND (t.kind = 'refund_requested' OR t.kind = 'refund_reversed' AND r.status = 'void')
	UNION ALL SELECT 'refund_settled', 'refund', r.id::text, v.account, v.paise, r.order_id, p.decided_at FROM refunds r JOIN payments p ON p.id = r.payment_id,
		LATERAL (VALUES ('refunds_payable', r.amount_paise), (CASE p.provider WHEN 'cash' THEN 'cash' ELSE 'gateway_clearing' END, -r.amount_paise)) v (account, paise) WHERE r.processed_at IS NOT NULL
	UNION ALL SELECT 'refund_reversed', 'refund', r.id::text, v.account, v.paise, r.order_id, p.decided_at FROM refunds r JOIN payments p ON p.id = r.payment_id,
		LATERAL (VALUES ('gateway_clearing', r.amount_paise), ('refunds_payable', -r.amount_paise)) v (account, paise) WHERE r.processed_at IS NOT NULL AND r.status = 'failed'
	UNION ALL SELECT 'settlement', 'settlement_item', i.entity_id, v.account, v.paise, COALESCE(p.order_id, r.order_id, d.order_id), i.settled_at FROM settlement_items i
		LEFT JOIN payments p ON p.id = i.payment_id LEFT JOIN refunds r ON r.id = i.refund_id LEFT JOIN disputes d ON d.razorpay_dispute_id = i.dispute_id,
		LATERAL (VALUES ('bank', i.credit_paise - i.debit_paise), ('gateway_fees', i.fee_paise - i.tax_paise), ('gateway_fee_tax', i.tax_paise),
			(CASE WHEN i.dispute_id IS NULL THEN 'gateway_clearing' ELSE 'disputes' END, -(i.credit_paise - i.debit_paise + i.fee_paise))) v (account, paise)
		WHERE i.payment_id IS NOT NULL OR i.refund_id IS NOT NULL OR i.dispute_id IS NOT NULL`

var auditChecks = []auditCheck{
	// captured = kept + refunded + being refunded
	{name: "refunds", sql: `SELECT 'payments', p.id::text, p.order_id, CASE WHEN p.refund_reserved_paise <> t.live_paise + t.lost_paise THEN p.refund_reserved_paise ELSE p.amount_paise END - t.live_paise - t.lost_paise, p.decided_at,
			format('payment %s is to give back %s of %s paise, its refunds sum to %s', p.id, p.refund_reserved_paise, p.amount_paise, t.live_paise + t.lost_paise)
		FROM payments p JOIN refund_totals t ON t.payment_id = p.id
		WHERE p.refund_reserved_paise <> t.live_paise + t.lost_paise OR p.disposition = 'refund' AND p.amount_paise <> t.live_paise + t.lost_paise OR t.live_paise + t.lost_paise > p.amount_paise`},
	{name: "refund_of_order", sql: `SELECT 'refunds', r.id::text, r.order_id, r.amount_paise, r.requested_at, format('refund %s of order %s is of a payment of order %s', r.id, r.order_id, p.order_id)
		FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.order_id <> p.order_id`},
	{name: "undecided", sql: `SELECT 'payments', p.id::text, p.order_id, p.amount_paise, p.created_at, format('payment %s is %s and nobody decided whose it is', p.id, p.gw_status)
		FROM payments p WHERE p.gw_status IN ('captured', 'refunded') AND p.disposition IS NULL`},

	// the bill = charged = captured
	{name: "bill", sql: `SELECT 'orders', o.id::text, o.id, v.bill - v.rows, COALESCE(o.paid_at, o.placed_at), format('%s of order %s: %s paise on the bill, %s in its rows', v.part, o.id, v.bill, v.rows)
		FROM orders o LEFT JOIN (SELECT order_id, sum(line_total_paise)::bigint AS lines, sum(discount_paise)::bigint AS discount FROM order_items GROUP BY order_id) i ON i.order_id = o.id
			LEFT JOIN (SELECT order_id, sum(taxable_paise)::bigint AS taxable, sum(cgst_paise)::bigint AS cgst, sum(sgst_paise)::bigint AS sgst FROM order_taxes GROUP BY order_id) t ON t.order_id = o.id,
			LATERAL (VALUES ('Dishes', o.subtotal_paise, COALESCE(i.lines, CASE WHEN o.cancel_reason = 'review' THEN o.subtotal_paise ELSE 0 END)), ('Discount', o.discount_paise, COALESCE(i.discount, 0)), ('CGST', o.cgst_paise, COALESCE(t.cgst, 0)), ('SGST', o.sgst_paise, COALESCE(t.sgst, 0)),
				('Taxed value', CASE WHEN t.taxable IS NULL THEN 0 ELSE o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise END, COALESCE(t.taxable, 0)),
				('Total', o.amount_paise, o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise + o.cgst_paise + o.sgst_paise + o.tip_paise + o.round_off_paise)) v (part, bill, rows)
		WHERE v.bill <> v.rows`},
	{name: "line", sql: `SELECT 'order_items', i.order_id || '/' || i.line, i.order_id, CASE WHEN i.line_total_paise <> (i.unit_price_paise + i.options_price_paise) * i.qty THEN i.line_total_paise - (i.unit_price_paise + i.options_price_paise) * i.qty
				WHEN i.options_price_paise <> x.addons THEN (i.options_price_paise - x.addons) * i.qty ELSE (i.unit_price_paise - x.variant) * i.qty END, COALESCE(o.paid_at, o.placed_at),
			format('line %s of order %s: %s pieces at %s + %s paise are billed as %s', i.line, i.order_id, i.qty, i.unit_price_paise, i.options_price_paise, i.line_total_paise)
		FROM order_items i JOIN orders o ON o.id = i.order_id, LATERAL (SELECT COALESCE(sum(price_paise) FILTER (WHERE kind = 'addon'), 0)::bigint AS addons, max(price_paise) FILTER (WHERE kind = 'variant') AS variant
			FROM order_item_options x WHERE x.order_id = i.order_id AND x.line = i.line) x
		WHERE i.line_total_paise <> (i.unit_price_paise + i.options_price_paise) * i.qty OR i.options_price_paise <> x.addons OR i.unit_price_paise <> x.variant`},
	{name: "tax", sql: `SELECT 'order_taxes', t.order_id || '/' || t.tax_class, t.order_id, t.cgst_paise + t.sgst_paise - r.cgst - r.sgst, COALESCE(o.paid_at, o.placed_at),
			format('%s tax of order %s on %s paise: %s + %s, the rates make it %s + %s', t.tax_class, t.order_id, t.taxable_paise, t.cgst_paise, t.sgst_paise, r.cgst, r.sgst)
		FROM order_taxes t JOIN orders o ON o.id = t.order_id, LATERAL (SELECT (t.taxable_paise * t.cgst_bp + 5000) / 10000 AS cgst, (t.taxable_paise * t.sgst_bp + 5000) / 10000 AS sgst) r
		WHERE (t.cgst_paise, t.sgst_paise) <> (r.cgst, r.sgst)`},
	{name: "discount", sql: `SELECT 'orders', o.id::text, o.id, o.discount_paise, COALESCE(o.paid_at, o.placed_at), format('order %s has a discount of %s paise and no counted use of coupon %s', o.id, o.discount_paise, o.coupon)
		FROM orders o LEFT JOIN coupon_uses u ON u.order_id = o.id WHERE o.discount_paise > 0 AND (u.order_id IS NULL OR (u.state = 'released') <> (o.status IN ('cancelled', 'expired')))`},
	{name: "coupon", sql: `SELECT 'coupons', c.id::text, NULL::bigint, 0, NULL::timestamptz, format('coupon %s counts %s uses, its orders are %s', c.code, c.taken, u.n)
		FROM coupons c, LATERAL (SELECT count(*) AS n FROM coupon_uses u WHERE u.coupon_id = c.id AND u.state <> 'released') u WHERE c.taken <> u.n`},
	{name: "charged", sql: `SELECT 'payments', p.id::text, p.order_id, p.amount_paise - p.customer_fee_paise - o.amount_paise, p.decided_at, format('payment %s of %s paise, %s of it fee, is kept for a bill of %s', p.id, p.amount_paise, p.customer_fee_paise, o.amount_paise)
		FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.disposition = 'kept' AND p.amount_paise - p.customer_fee_paise <> o.amount_paise`},
	{name: "gateway_order", sql: `SELECT 'gateway_orders', g.razorpay_order_id, g.order_id, CASE WHEN g.currency = o.currency THEN g.amount_paise - o.amount_paise ELSE g.amount_paise END, o.placed_at,
			format('%s asks for %s paise %s, its order for %s %s', g.razorpay_order_id, g.amount_paise, g.currency, o.amount_paise, o.currency)
		FROM gateway_orders g JOIN orders o ON o.id = g.order_id WHERE (g.amount_paise, g.currency) <> (o.amount_paise, o.currency)`},
	{name: "foreign_payment", sql: `SELECT 'payments', p.id::text, p.order_id, p.amount_paise, COALESCE(p.decided_at, p.created_at), format('payment %s of order %s is on %s, which is of another order', p.id, p.order_id, p.razorpay_order_id)
		FROM payments p JOIN gateway_orders g ON g.razorpay_order_id = p.razorpay_order_id WHERE g.order_id <> p.order_id`},

	// what is not there
	{name: "orphan", sql: `SELECT 'payments', p.id::text, p.order_id, p.amount_paise, COALESCE(p.decided_at, p.created_at), format('payment %s is of order %s, which is not there', p.id, p.order_id) FROM payments p LEFT JOIN orders o ON o.id = p.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'payments', p.id::text, p.order_id, p.amount_paise, COALESCE(p.decided_at, p.created_at), format('payment %s is on %s, which is not there', p.id, p.razorpay_order_id) FROM payments p LEFT JOIN gateway_orders g ON g.razorpay_order_id = p.razorpay_order_id WHERE p.provider = 'razorpay' AND g.razorpay_order_id IS NULL
		UNION ALL SELECT 'refunds', r.id::text, r.order_id, r.amount_paise, r.requested_at, format('refund %s is of payment %s, which is not there', r.id, r.payment_id) FROM refunds r LEFT JOIN payments p ON p.id = r.payment_id WHERE p.id IS NULL
		UNION ALL SELECT 'orders', o.id::text, o.id, o.amount_paise, o.paid_at, format('order %s was paid by payment %s, which is not there', o.id, o.paid_payment_id) FROM orders o LEFT JOIN payments p ON p.id = o.paid_payment_id WHERE o.paid_payment_id IS NOT NULL AND p.id IS NULL
		UNION ALL SELECT 'orders', o.id::text, o.id, o.amount_paise, o.paid_at, format('order %s was paid and has no ticket', o.id) FROM orders o WHERE (o.paid_payment_id IS NOT NULL OR o.status = 'paid') AND NOT EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id)
		UNION ALL SELECT 'fulfilments', f.order_id::text, f.order_id, 0, f.queued_at, format('the ticket of order %s is of an order that is not there', f.order_id) FROM fulfilments f LEFT JOIN orders o ON o.id = f.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'gateway_orders', g.razorpay_order_id, g.order_id, g.amount_paise, g.created_at, format('%s is of order %s, which is not there', g.razorpay_order_id, g.order_id) FROM gateway_orders g LEFT JOIN orders o ON o.id = g.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'order_items', i.order_id || '/' || i.line, i.order_id, i.line_total_paise, NULL, format('line %s is of order %s, which is not there', i.line, i.order_id) FROM order_items i LEFT JOIN orders o ON o.id = i.order_id WHERE o.id IS NULL
		UNION ALL SELECT 'refund_shares', s.refund_id::text, NULL, s.amount_paise, NULL, format('a share of %s paise is of refund %s, which is not there', s.amount_paise, s.refund_id) FROM refund_shares s LEFT JOIN refunds r ON r.id = s.refund_id WHERE r.id IS NULL
		UNION ALL SELECT 'settlement_items', i.entity_id, NULL, i.amount_paise, i.settled_at, format('%s was paid out for payment %s, which is not there', i.entity_id, i.payment_id) FROM settlement_items i LEFT JOIN payments p ON p.id = i.payment_id WHERE i.payment_id IS NOT NULL AND p.id IS NULL
		UNION ALL SELECT 'settlement_items', i.entity_id, NULL, i.amount_paise, i.settled_at, format('%s was paid out for refund %s, which is not there', i.entity_id, i.refund_id) FROM settlement_items i LEFT JOIN refunds r ON r.id = i.refund_id WHERE i.refund_id IS NOT NULL AND r.id IS NULL`},
	{name: "twice", sql: `SELECT 'payments', max(p.id)::text, max(p.order_id), max(p.amount_paise), max(p.decided_at), format('%s is recorded %s times', p.razorpay_payment_id, count(*)) FROM payments p WHERE p.razorpay_payment_id IS NOT NULL GROUP BY p.razorpay_payment_id HAVING count(*) > 1
		UNION ALL SELECT 'refunds', max(r.id::text), max(r.order_id), max(r.amount_paise), max(r.requested_at), format('%s is recorded %s times', r.razorpay_refund_id, count(*)) FROM refunds r WHERE r.razorpay_refund_id IS NOT NULL GROUP BY r.razorpay_refund_id HAVING count(*) > 1
		UNION ALL SELECT 'settlement_items', max(i.entity_id), max(p.order_id), max(i.amount_paise), max(i.settled_at), format('payment %s was paid out %s times', i.payment_id, count(*)) FROM settlement_items i JOIN payments p ON p.id = i.payment_id WHERE i.kind = 'payment' GROUP BY i.payment_id HAVING count(*) > 1
		UNION ALL SELECT 'settlement_items', max(i.entity_id), max(r.order_id), max(i.amount_paise), max(i.settled_at), format('refund %s was taken %s times', i.refund_id, count(*)) FROM settlement_items i JOIN refunds r ON r.id = i.refund_id WHERE i.kind = 'refund' GROUP BY i.refund_id HAVING count(*) > 1`},
	{name: "number", sql: `SELECT 'order_counters', c.outlet_id || '/' || c.service_on || '/' || n, NULL::bigint, 0, (c.service_on + time '12:00') AT TIME ZONE 'Asia/Kolkata', format('order number %s of %s was given out and its order is not there', n, c.service_on)
		FROM order_counters c, LATERAL generate_series(1, c.last) n WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE (o.outlet_id, o.service_on, o.number) = (c.outlet_id, c.service_on, n))
		UNION ALL SELECT 'orders', o.id::text, o.id, 0, o.placed_at, format('order %s has number %s of %s, which was never given out', o.id, o.number, o.service_on) FROM orders o LEFT JOIN order_counters c ON (c.outlet_id, c.service_on) = (o.outlet_id, o.service_on) WHERE o.number > COALESCE(c.last, 0)
		UNION ALL SELECT 'orders', max(o.id)::text, max(o.id), 0, max(o.placed_at), format('number %s of %s was given to %s orders', o.number, o.service_on, count(*)) FROM orders o GROUP BY o.outlet_id, o.service_on, o.number HAVING count(*) > 1`},
	{name: "paper_number", sql: `SELECT 'paper_counters', g.outlet_id || '/' || g.kind || '/' || g.fy || '/' || g.first_missing, NULL::bigint, 0, COALESCE((SELECT max(issued_at) FROM papers p WHERE (p.outlet_id, p.kind, p.fy) = (g.outlet_id, g.kind, g.fy)), make_timestamptz(g.fy, 4, 1, 12, 0, 0, 'Asia/Kolkata')),
		format('%s is not there', paper_number(g.kind, g.outlet_id, g.fy, g.first_missing)) FROM document_gaps g`},
	{name: "history", sql: `SELECT x.tbl, x.id, x.order_id, x.paise, x.at, format('%s is %s, its history ends with %s', x.id, x.state, COALESCE(h.became, 'nothing'))
		FROM (SELECT 'orders' AS tbl, 'order' AS subject, id::text AS id, id AS order_id, amount_paise AS paise, COALESCE(paid_at, placed_at) AS at, status AS state FROM orders
			UNION ALL SELECT 'payments', 'payment', id::text, order_id, amount_paise, COALESCE(decided_at, created_at), gw_status || COALESCE('/' || disposition, '') FROM payments
			UNION ALL SELECT 'refunds', 'refund', id::text, order_id, amount_paise, requested_at, status FROM refunds
			UNION ALL SELECT 'fulfilments', 'fulfilment', order_id::text, order_id, 0, queued_at, status FROM fulfilments) x
		LEFT JOIN (SELECT DISTINCT ON (subject, subject_id) subject, subject_id, became FROM status_changes ORDER BY subject, subject_id, id DESC) h ON h.subject = x.subject AND h.subject_id = x.id
		WHERE h.became IS DISTINCT FROM x.state`},
	{name: "unasked", sql: `SELECT 'refunds', r.id::text, r.order_id, r.amount_paise, r.requested_at, format('refund %s is staff''s, and nobody of them is written down as having asked for it', r.id)
		FROM refunds r WHERE r.kind = 'staff' AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.order_id = r.order_id AND a.action = 'refund')`},

	// shares of bills
	{name: "share", sql: `SELECT 'refunds', r.id::text, r.order_id, r.amount_paise - COALESCE(s.amount_paise, 0), p.decided_at, format('refund %s of %s paise gives back %s of the bill', r.id, r.amount_paise, COALESCE(s.amount_paise, 0))
			FROM refunds r JOIN payments p ON p.id = r.payment_id LEFT JOIN refund_shares s ON s.refund_id = r.id WHERE p.disposition = 'kept' AND r.amount_paise IS DISTINCT FROM s.amount_paise
		UNION ALL SELECT 'refund_shares', s.refund_id::text, r.order_id, s.amount_paise, p.decided_at, format('refund %s is of money no bill was paid with, and has a share of one', s.refund_id)
			FROM refund_shares s JOIN refunds r ON r.id = s.refund_id JOIN payments p ON p.id = r.payment_id WHERE p.disposition = 'refund'
		UNION ALL SELECT 'refund_shares', s.refund_id::text, r.order_id, s.amount_paise - v.parts, p.decided_at, format('the share of refund %s is %s paise, its parts come to %s', s.refund_id, s.amount_paise, v.parts)
			FROM refund_shares s JOIN refunds r ON r.id = s.refund_id JOIN payments p ON p.id = r.payment_id, LATERAL (SELECT s.subtotal_paise - s.discount_paise + s.packaging_paise + s.delivery_paise + s.cgst_paise + s.sgst_paise + s.tip_paise + s.round_off_paise + s.customer_fee_paise AS parts) v WHERE s.amount_paise <> v.parts
		UNION ALL SELECT 'refund_shares', s.refund_id::text, r.order_id, s.cgst_paise + s.sgst_paise - COALESCE(t.cgst + t.sgst, 0), p.decided_at, format('the share of refund %s has %s + %s paise of tax, its classes %s + %s', s.refund_id, s.cgst_paise, s.sgst_paise, COALESCE(t.cgst, 0), COALESCE(t.sgst, 0))
			FROM refund_shares s JOIN refunds r ON r.id = s.refund_id JOIN payments p ON p.id = r.payment_id LEFT JOIN (SELECT refund_id, sum(cgst_paise)::bigint AS cgst, sum(sgst_paise)::bigint AS sgst FROM refund_share_taxes GROUP BY refund_id) t ON t.refund_id = s.refund_id
			WHERE (s.cgst_paise, s.sgst_paise) <> (COALESCE(t.cgst, 0), COALESCE(t.sgst, 0))
		UNION ALL SELECT 'refund_shares', s.refund_id::text, r.order_id, s.subtotal_paise - l.paise, p.decided_at, format('the share of refund %s has %s paise of dishes, the dishes it names cost %s', s.refund_id, s.subtotal_paise, l.paise)
			FROM refund_shares s JOIN refunds r ON r.id = s.refund_id JOIN payments p ON p.id = r.payment_id JOIN (SELECT l.refund_id, sum((i.unit_price_paise + i.options_price_paise) * l.qty)::bigint AS paise FROM refund_share_lines l JOIN order_items i ON i.order_id = l.order_id AND i.line = l.line GROUP BY l.refund_id) l ON l.refund_id = s.refund_id
			WHERE l.paise > s.subtotal_paise
		UNION ALL SELECT 'refund_share_lines', l.refund_id || '/' || l.line, r.order_id, 0, r.requested_at, format('line %s of refund %s is of order %s, the refund of order %s', l.line, l.refund_id, l.order_id, r.order_id)
			FROM refund_share_lines l JOIN refunds r ON r.id = l.refund_id WHERE l.order_id <> r.order_id`},
	{name: "shares", sql: `SELECT 'payments', p.id::text, p.order_id, v.given - v.billed, p.decided_at, format('%s of order %s: %s paise on the bill, %s given back', v.part, p.order_id, v.billed, v.given)
			FROM payments p JOIN orders o ON o.id = p.order_id JOIN (SELECT payment_id, sum(subtotal_paise)::bigint AS subtotal, sum(discount_paise)::bigint AS discount, sum(packaging_paise)::bigint AS packaging, sum(delivery_paise)::bigint AS delivery,
				sum(cgst_paise)::bigint AS cgst, sum(sgst_paise)::bigint AS sgst, sum(tip_paise)::bigint AS tip, sum(customer_fee_paise)::bigint AS fee FROM counted_shares GROUP BY payment_id) s ON s.payment_id = p.id,
			LATERAL (VALUES ('Dishes', o.subtotal_paise, s.subtotal), ('Discount', o.discount_paise, s.discount), ('Packaging', o.packaging_paise, s.packaging), ('Delivery', o.delivery_paise, s.delivery), ('CGST', o.cgst_paise, s.cgst), ('SGST', o.sgst_paise, s.sgst), ('Tip', o.tip_paise, s.tip)) v (part, billed, given)
			WHERE v.given > v.billed OR v.given <> v.billed AND p.refund_reserved_paise >= p.amount_paise - p.customer_fee_paise OR v.part = 'Dishes' AND s.fee > p.customer_fee_paise
		UNION ALL SELECT 'order_items', i.order_id || '/' || i.line, i.order_id, (l.qty - i.qty) * (i.unit_price_paise + i.options_price_paise), p.decided_at, format('%s of %s pieces of line %s of order %s were given back', l.qty, i.qty, i.line, i.order_id)
			FROM (SELECT r.payment_id, l.order_id, l.line, sum(l.qty) AS qty FROM refund_share_lines l JOIN counted_shares c ON c.refund_id = l.refund_id JOIN refunds r ON r.id = l.refund_id GROUP BY 1, 2, 3) l JOIN order_items i ON i.order_id = l.order_id AND i.line = l.line JOIN payments p ON p.id = l.payment_id WHERE l.qty > i.qty`},

	// captured − refunds − fees = paid out
	{name: "settlement", sql: `SELECT 'settlement_items', i.entity_id, p.order_id, CASE WHEN i.amount_paise <> p.amount_paise THEN i.amount_paise - p.amount_paise ELSE i.amount_paise END, i.settled_at,
			format('%s of %s paise was paid out, payment %s is %s of %s', i.entity_id, i.amount_paise, p.id, p.gw_status, p.amount_paise)
			FROM settlement_items i JOIN payments p ON p.id = i.payment_id WHERE i.kind = 'payment' AND (i.amount_paise <> p.amount_paise OR p.disposition IS NULL OR i.entity_id <> p.razorpay_payment_id)
		UNION ALL SELECT 'settlement_items', i.entity_id, r.order_id, CASE WHEN i.amount_paise <> r.amount_paise THEN i.amount_paise - r.amount_paise ELSE i.amount_paise END, i.settled_at, format('%s of %s paise was taken, refund %s is %s of %s', i.entity_id, i.amount_paise, r.id, r.status, r.amount_paise)
			FROM settlement_items i JOIN refunds r ON r.id = i.refund_id WHERE i.kind = 'refund' AND (i.amount_paise <> r.amount_paise OR r.status NOT IN ('submitted', 'processed') OR i.entity_id IS DISTINCT FROM r.razorpay_refund_id)
		UNION ALL SELECT 'settlement_items', i.entity_id, COALESCE(p.order_id, r.order_id), v.apart, i.settled_at, format('%s: %s paid, %s taken and a fee of %s do not make %s paise', i.entity_id, i.credit_paise, i.debit_paise, i.fee_paise, i.amount_paise)
			FROM settlement_items i LEFT JOIN payments p ON p.id = i.payment_id LEFT JOIN refunds r ON r.id = i.refund_id, LATERAL (SELECT CASE i.kind WHEN 'payment' THEN 1 ELSE -1 END * (i.credit_paise - i.debit_paise + i.fee_paise) - i.amount_paise AS apart) v WHERE i.kind IN ('payment', 'refund') AND v.apart <> 0
		UNION ALL SELECT 'settlement_items', i.entity_id, p.order_id, CASE WHEN i.fee_paise <> p.fee_paise THEN i.fee_paise - p.fee_paise ELSE i.tax_paise - p.tax_paise END, i.settled_at,
			format('Razorpay announced a fee of %s paise, %s of it tax, for payment %s, and took %s, %s of it tax', p.fee_paise, p.tax_paise, p.id, i.fee_paise, i.tax_paise)
			FROM settlement_items i JOIN payments p ON p.id = i.payment_id WHERE i.kind = 'payment' AND (i.fee_paise <> p.fee_paise OR i.tax_paise <> p.tax_paise)
		UNION ALL SELECT 'settlement_items', i.entity_id, NULL, i.credit_paise - i.debit_paise, i.settled_at, format('%s %s: %s paise paid and %s taken that nothing here explains', i.kind, i.entity_id, i.credit_paise, i.debit_paise)
			FROM settlement_items i WHERE i.payment_id IS NULL AND i.refund_id IS NULL AND i.dispute_id IS NULL AND NOT EXISTS (SELECT 1 FROM recon_breaks k WHERE k.ref = i.entity_id)
		UNION ALL SELECT 'disputes', d.razorpay_dispute_id, d.order_id, d.deducted_paise - i.paise, d.recorded_at, format('dispute %s cost %s paise, payouts are short of %s for it', d.razorpay_dispute_id, d.deducted_paise, i.paise)
			FROM disputes d JOIN (SELECT dispute_id, sum(debit_paise - credit_paise)::bigint AS paise FROM settlement_items GROUP BY dispute_id) i ON i.dispute_id = d.razorpay_dispute_id WHERE d.deducted_paise <> i.paise`},
	// A payment given back whole is not waited for: Razorpay may set it off without a payout.
	{name: "overdue", sql: `SELECT 'payments', p.id::text, p.order_id, p.amount_paise - r.back, p.decided_at, format('payment %s was captured on %s and is not paid out three working days later', p.id, d.day)
		FROM payments p, LATERAL (SELECT COALESCE(sum(amount_paise), 0)::bigint AS back FROM refunds r WHERE r.payment_id = p.id AND r.status = 'processed') r, LATERAL (SELECT (p.decided_at AT TIME ZONE 'Asia/Kolkata')::date AS day) d
		WHERE p.disposition IS NOT NULL AND p.provider = 'razorpay' AND p.amount_paise > r.back AND NOT EXISTS (SELECT 1 FROM settlement_items i WHERE i.payment_id = p.id AND i.kind = 'payment')
		  AND (SELECT count(*) FROM generate_series(d.day + 1, least((shop_now() AT TIME ZONE 'Asia/Kolkata')::date, d.day + 10), interval '1 day') w WHERE extract(isodow FROM w) < 6) > 3`},

	// the ledger says what its rows say
	{name: "ledger", sql: `WITH expected AS (` + ledgerExpected + `), said AS (SELECT t.id, t.kind, t.ref_type, t.ref_id, t.at, e.account, e.amount_paise AS paise FROM ledger_txns t LEFT JOIN ledger_entries e ON e.txn_id = t.id)
		SELECT 'ledger_txns', COALESCE(max(d.txn)::text, d.kind || '/' || d.ref_id), max(d.order_id), max(abs(d.apart)), max(d.at),
			format('%s of %s %s: %s', replace(d.kind, '_', ' '), replace(d.ref_type, '_', ' '), d.ref_id, string_agg(format('%s is %s, the rows say %s', d.account, d.said, d.expected), ', ' ORDER BY d.account))
		FROM (SELECT COALESCE(s.kind, e.kind) AS kind, COALESCE(s.ref_type, e.ref_type) AS ref_type, COALESCE(s.ref_id, e.ref_id) AS ref_id, COALESCE(s.account, e.account, 'no account') AS account, s.id AS txn, e.order_id, COALESCE(e.at, s.at) AS at,
				COALESCE(s.paise, 0) AS said, COALESCE(e.paise, 0) AS expected, COALESCE(s.paise, 0) - COALESCE(e.paise, 0) AS apart, s.id IS NOT NULL AND s.account IS NULL AS empty
			FROM said s FULL JOIN expected e ON (s.kind, s.ref_type, s.ref_id, s.account) = (e.kind, e.ref_type, e.ref_id, e.account)) d
		WHERE d.apart <> 0 OR d.empty GROUP BY d.kind, d.ref_type, d.ref_id`},
	{name: "ledger_of_refunds", sql: `SELECT 'payments', x.id, x.order_id, max(abs(x.apart)), max(x.at), format('the refunds of payment %s are not booked as what they give back: %s', x.id, string_agg(format('%s %s paise apart', x.account, x.apart), ', ' ORDER BY x.account))
		FROM (SELECT p.id::text AS id, p.order_id, p.decided_at AS at, v.account, v.paise + COALESCE(sum(e.amount_paise), 0)::bigint AS apart FROM payments p
			LEFT JOIN (SELECT payment_id, sum(subtotal_paise - discount_paise + packaging_paise + delivery_paise)::bigint AS sold, sum(cgst_paise)::bigint AS cgst, sum(sgst_paise)::bigint AS sgst, sum(tip_paise)::bigint AS tip, sum(round_off_paise)::bigint AS round_off
				FROM counted_shares GROUP BY payment_id) s ON s.payment_id = p.id
			CROSS JOIN LATERAL (VALUES ('sales_returns', -COALESCE(s.sold, 0)), ('output_cgst', -COALESCE(s.cgst, 0)), ('output_sgst', -COALESCE(s.sgst, 0)), ('tips', -COALESCE(s.tip, 0)), ('round_off', -COALESCE(s.round_off, 0))) v (account, paise)
			JOIN refunds r ON r.payment_id = p.id LEFT JOIN ledger_txns t ON t.ref_type = 'refund' AND t.ref_id = r.id::text AND t.kind IN ('refund_requested', 'refund_reversed') LEFT JOIN ledger_entries e ON e.txn_id = t.id AND e.account = v.account
			WHERE p.disposition = 'kept' GROUP BY 1, 2, 3, v.account, v.paise) x WHERE x.apart <> 0 GROUP BY x.id, x.order_id`},

	// captured by the gateway's word, and not here
	{name: "event", sql: `SELECT 'webhook_events', substring(detail from 'event ([^ ]+)'), order_id, COALESCE((SELECT amount_paise FROM orders WHERE id = order_id), 0), (SELECT placed_at FROM orders WHERE id = order_id), detail FROM unsettled_money WHERE inv = 'INV-40'`},
	{name: "invariant", general: true, sql: `SELECT CASE WHEN b.inv IN ('INV-35', 'INV-36') THEN 'stock' WHEN b.order_id IS NULL THEN 'ledger_entries' ELSE 'orders' END,
			CASE WHEN b.inv IN ('INV-35', 'INV-36') THEN replace(substring(b.detail from 'item ([0-9]+ on [0-9-]+)'), ' on ', '/') ELSE COALESCE(b.order_id::text, b.inv) END,
			b.order_id, COALESCE(o.amount_paise, 0), COALESCE(o.paid_at, o.placed_at), b.inv || ': ' || b.detail
		FROM broken_invariants b LEFT JOIN orders o ON o.id = b.order_id WHERE b.inv NOT IN ('INV-18', 'INV-27', 'INV-38', 'INV-39', 'INV-41', 'INV-42', 'INV-43', 'INV-45')`},
}
