-- broken_invariants: every row is a promise broken now. Empty is good. Tests read it after every scenario, a job every five minutes.
-- A column says which invariant (numbers as in docs/guarantees.md), which order, and what is wrong.
-- "settled" invariants, true only after faults stopped and sweeps ran, stand in unsettled_money.

-- +goose Up

CREATE VIEW refund_totals AS
  SELECT p.id AS payment_id, COALESCE(sum(r.amount_paise) FILTER (WHERE r.status NOT IN ('void', 'failed')), 0)::bigint AS live_paise,
         COALESCE(sum(r.amount_paise) FILTER (WHERE r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)), 0)::bigint AS lost_paise
  FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id GROUP BY p.id;

CREATE INDEX webhook_events_dead ON webhook_events (id) WHERE status = 'dead';

CREATE VIEW broken_invariants AS
SELECT 'INV-1' AS inv, order_id, 'more than one kept payment' AS detail FROM payments WHERE disposition = 'kept' GROUP BY order_id HAVING count(*) > 1
UNION ALL SELECT 'INV-2', o.id, 'kept ' || k.paise || ' of ' || o.amount_paise FROM orders o JOIN (SELECT order_id, sum(amount_paise - customer_fee_paise) AS paise FROM payments WHERE disposition = 'kept' GROUP BY order_id) k ON k.order_id = o.id WHERE k.paise <> o.amount_paise
UNION ALL SELECT 'INV-3', order_id, 'captured and decided disagree on payment ' || id FROM payments WHERE (gw_status IN ('captured', 'refunded')) <> (disposition IS NOT NULL)
UNION ALL SELECT 'INV-4', p.order_id, 'returned payment ' || p.id || ' has refunds of ' || t.live_paise FROM payments p JOIN refund_totals t ON t.payment_id = p.id WHERE p.disposition = 'refund' AND t.live_paise + t.lost_paise <> p.amount_paise
UNION ALL SELECT 'INV-5', p.order_id, 'payment ' || p.id || ' reserves ' || p.refund_reserved_paise || ', refunds sum to ' || t.live_paise FROM payments p JOIN refund_totals t ON t.payment_id = p.id WHERE p.refund_reserved_paise <> t.live_paise + t.lost_paise OR t.live_paise > p.amount_paise
UNION ALL SELECT 'INV-9', p.order_id, 'kept payment ' || p.id || ' is not what order and gateway order ask for' FROM payments p JOIN orders o ON o.id = p.order_id LEFT JOIN gateway_orders g ON g.razorpay_order_id = p.razorpay_order_id
  WHERE p.disposition = 'kept' AND (p.amount_paise - p.customer_fee_paise <> o.amount_paise OR p.currency <> o.currency OR (p.provider = 'razorpay' AND (g.amount_paise <> o.amount_paise OR g.currency <> o.currency OR g.order_id <> o.id)))
UNION ALL SELECT 'INV-10', p.order_id, 'uncaptured payment ' || p.id || ' has refunds or ledger lines' FROM payments p WHERE p.disposition IS NULL AND (EXISTS (SELECT 1 FROM refunds r WHERE r.payment_id = p.id) OR EXISTS (SELECT 1 FROM ledger_txns l WHERE l.ref_type = 'payment' AND l.ref_id = p.id::text))
UNION ALL SELECT 'INV-11', o.id, 'paid without kept payment or live ticket' FROM orders o WHERE o.status = 'paid' AND NOT (EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id AND f.status <> 'cancelled')
  AND (o.pays = 'nothing' OR EXISTS (SELECT 1 FROM payments p WHERE p.id = o.paid_payment_id AND p.order_id = o.id AND p.disposition = 'kept')))
UNION ALL SELECT 'INV-11', p.order_id, 'kept payment ' || p.id || ' is not its order''s' FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.disposition = 'kept' AND o.paid_payment_id IS DISTINCT FROM p.id
UNION ALL SELECT 'INV-12', f.order_id, 'ticket without kept payment' FROM fulfilments f JOIN orders o ON o.id = f.order_id WHERE o.pays <> 'nothing' AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.id = f.payment_id AND p.order_id = f.order_id AND p.disposition = 'kept')
UNION ALL SELECT 'INV-13', o.id, 'cancelled after paid, money kept or ticket live' FROM orders o JOIN payments p ON p.id = o.paid_payment_id JOIN fulfilments f ON f.order_id = o.id
  WHERE o.status = 'cancelled' AND (p.refund_reserved_paise < p.amount_paise - p.customer_fee_paise OR f.status <> 'cancelled')
UNION ALL SELECT 'INV-14', o.id, o.status || ' with kept payment or ticket' FROM orders o WHERE (o.status IN ('pending', 'expired') OR (o.status = 'cancelled' AND o.paid_payment_id IS NULL AND o.pays <> 'nothing'))
  AND (EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.disposition = 'kept') OR EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id))
UNION ALL SELECT 'INV-15', order_id, 'order went ' || was || ' to ' || became FROM status_changes WHERE subject = 'order' AND was IS NOT NULL AND (was, became) NOT IN (('pending', 'paid'), ('pending', 'cancelled'), ('pending', 'expired'), ('paid', 'cancelled'), ('pending', 'due'), ('due', 'paid'), ('due', 'cancelled'))
UNION ALL SELECT 'INV-16', o.id, 'bill does not add up' FROM orders o
  LEFT JOIN (SELECT order_id, sum(line_total_paise) AS lines, sum(discount_paise) AS discount FROM order_items GROUP BY order_id) i ON i.order_id = o.id
  LEFT JOIN (SELECT order_id, sum(cgst_paise) AS cgst, sum(sgst_paise) AS sgst FROM order_taxes GROUP BY order_id) t ON t.order_id = o.id
  WHERE (o.subtotal_paise <> COALESCE(i.lines, 0) AND o.cancel_reason IS DISTINCT FROM 'review') OR o.discount_paise <> COALESCE(i.discount, 0) OR o.cgst_paise <> COALESCE(t.cgst, 0) OR o.sgst_paise <> COALESCE(t.sgst, 0)
  OR o.amount_paise <> o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise + o.cgst_paise + o.sgst_paise + o.tip_paise + o.round_off_paise
UNION ALL SELECT 'INV-17', min(id), 'two orders for one checkout key' FROM orders GROUP BY customer_id, checkout_key HAVING count(*) > 1
UNION ALL SELECT 'INV-18', id, 'pending past its hold and ten minutes' FROM orders WHERE status = 'pending' AND hold_expires_at < shop_now() - interval '13 minutes'
UNION ALL SELECT 'INV-20', g.order_id, g.razorpay_order_id || ' differs from its order' FROM gateway_orders g JOIN orders o ON o.id = g.order_id WHERE (g.amount_paise, g.currency) IS DISTINCT FROM (o.amount_paise, o.currency) OR (g.receipt <> o.public_id || '-g' || g.generation AND o.cancel_reason IS DISTINCT FROM 'review')
UNION ALL SELECT 'INV-21', order_id, 'more than one current gateway order' FROM gateway_orders WHERE state = 'current' GROUP BY order_id HAVING count(*) > 1
UNION ALL SELECT 'INV-21', order_id, 'more gateway orders handed out than generations' FROM gateway_orders WHERE handed_out_at IS NOT NULL GROUP BY order_id HAVING count(*) > max(generation)
UNION ALL SELECT 'INV-22', order_id, 'more than one live claim' FROM gateway_claims WHERE state IN ('open', 'unknown') GROUP BY order_id HAVING count(*) > 1
UNION ALL SELECT 'INV-25', min(order_id), 'two automatic refund chains for payment ' || payment_id FROM refunds WHERE kind = 'auto' AND retry_of IS NULL GROUP BY payment_id HAVING count(*) > 1
UNION ALL SELECT 'INV-25', r.order_id, 'automatic refund of a kept payment' FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.kind = 'auto' AND p.disposition <> 'refund'
UNION ALL SELECT 'INV-26', order_id, 'refund ' || id || ' is ' || status || ' without Razorpay''s id' FROM refunds WHERE status IN ('submitted', 'processed') AND razorpay_refund_id IS NULL
UNION ALL SELECT 'INV-28', r.order_id, 'failed refund ' || r.id || ' without successor or task' FROM refunds r WHERE r.status = 'failed' AND r.failed_at < shop_now() - interval '5 minutes'
  AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id) AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = 'refund_failed' AND t.ref = r.id::text)
UNION ALL SELECT 'INV-29', NULL, 'ledger transaction ' || t.id || ' does not balance' FROM ledger_txns t LEFT JOIN ledger_entries e ON e.txn_id = t.id GROUP BY t.id HAVING count(e.txn_id) < 2 OR sum(e.amount_paise) <> 0
UNION ALL SELECT 'INV-30', p.order_id, 'decided payment ' || p.id || ' not in the ledger' FROM payments p WHERE p.disposition IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ledger_txns t JOIN ledger_entries e ON e.txn_id = t.id WHERE e.account = 'gateway_clearing' AND e.amount_paise = p.amount_paise AND t.kind = 'capture' AND t.ref_type = 'payment' AND t.ref_id = p.id::text)
UNION ALL SELECT 'INV-30', r.order_id, 'processed refund ' || r.id || ' not in the ledger' FROM refunds r WHERE r.status = 'processed' AND NOT EXISTS (SELECT 1 FROM ledger_txns t JOIN ledger_entries e ON e.txn_id = t.id WHERE e.account = 'gateway_clearing' AND e.amount_paise = -r.amount_paise AND t.kind = 'refund_settled' AND t.ref_type = 'refund' AND t.ref_id = r.id::text)
UNION ALL SELECT 'INV-31', NULL, 'clearing is ' || a.ledger || ', payments say ' || a.rows FROM (SELECT (SELECT COALESCE(sum(amount_paise), 0) FROM ledger_entries WHERE account = 'gateway_clearing') AS ledger,
  (SELECT COALESCE(sum(amount_paise), 0) FROM payments WHERE disposition IS NOT NULL AND provider = 'razorpay') - (SELECT COALESCE(sum(amount_paise), 0) FROM refunds WHERE status = 'processed')
  - (SELECT COALESCE(sum(credit_paise - debit_paise + fee_paise), 0) FROM settlement_items WHERE payment_id IS NOT NULL OR refund_id IS NOT NULL) AS rows) a WHERE a.ledger <> a.rows
UNION ALL SELECT 'INV-32', NULL, 'refunds payable is ' || a.ledger || ', refunds say ' || a.rows FROM (SELECT -(SELECT COALESCE(sum(amount_paise), 0) FROM ledger_entries WHERE account = 'refunds_payable') AS ledger,
  (SELECT COALESCE(sum(amount_paise), 0) FROM refunds WHERE status IN ('requested', 'submitted')) + (SELECT COALESCE(sum(lost_paise), 0) FROM refund_totals) AS rows) a WHERE a.ledger <> a.rows
UNION ALL SELECT 'INV-33', NULL, 'sales less returns is ' || a.ledger || ', payments say ' || a.rows FROM (SELECT -(SELECT COALESCE(sum(amount_paise), 0) FROM ledger_entries WHERE account IN ('sales', 'sales_returns', 'output_cgst', 'output_sgst', 'tips', 'round_off', 'customer_fees')) AS ledger,
  (SELECT COALESCE(sum(p.amount_paise - t.live_paise - t.lost_paise), 0) FROM payments p JOIN refund_totals t ON t.payment_id = p.id WHERE p.disposition = 'kept') AS rows) a WHERE a.ledger <> a.rows
UNION ALL SELECT 'INV-33', NULL, l.account || ' is ' || l.paise || ', bills less refunds say ' || COALESCE(b.paise, 0) FROM (SELECT a.account, -COALESCE(sum(e.amount_paise), 0) AS paise
    FROM (VALUES ('output_cgst'), ('output_sgst'), ('tips'), ('round_off'), ('customer_fees')) a (account) LEFT JOIN ledger_entries e USING (account) GROUP BY a.account) l
  LEFT JOIN (SELECT v.account, sum(v.paise) AS paise FROM (
      SELECT o.cgst_paise, o.sgst_paise, o.tip_paise, o.round_off_paise, p.customer_fee_paise FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.disposition = 'kept'
      UNION ALL SELECT -cgst_paise, -sgst_paise, -tip_paise, -round_off_paise, -customer_fee_paise FROM counted_shares) x,
    LATERAL (VALUES ('output_cgst', x.cgst_paise), ('output_sgst', x.sgst_paise), ('tips', x.tip_paise), ('round_off', x.round_off_paise), ('customer_fees', x.customer_fee_paise)) v (account, paise) GROUP BY v.account) b USING (account)
  WHERE l.paise <> COALESCE(b.paise, 0)
UNION ALL SELECT 'INV-27', o.id, 'past its deadline of ' || o.resolve_by || ' (' || o.next_action || ') and nobody told' FROM orders o WHERE o.resolve_by < shop_now() - interval '5 minutes'
  AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = 'overdue' AND t.order_id = o.id AND (t.closed_at IS NULL OR t.opened_at >= o.resolve_by))
UNION ALL SELECT 'INV-35', NULL, 'stock of item ' || item_id || ' on ' || day FROM stock WHERE held < 0 OR sold < 0 OR held + sold > initial
UNION ALL SELECT 'INV-36', NULL, 'stock of item ' || s.item_id || ' on ' || s.day || ' is not what the holds say' FROM stock s LEFT JOIN (SELECT item_id, option_id, day, COALESCE(sum(qty) FILTER (WHERE state = 'held'), 0) AS held, COALESCE(sum(qty) FILTER (WHERE state = 'committed'), 0) AS sold FROM stock_holds GROUP BY item_id, option_id, day) h USING (item_id, option_id, day)
  WHERE (s.held, s.sold) IS DISTINCT FROM (COALESCE(h.held, 0)::int, COALESCE(h.sold, 0)::int)
UNION ALL SELECT 'INV-36', NULL, 'stock of item ' || s.item_id || ' on ' || s.day || ' is not the sum of its movements' FROM stock s LEFT JOIN (SELECT item_id, option_id, day, sum(initial) AS initial, sum(held) AS held, sum(sold) AS sold FROM stock_movements GROUP BY item_id, option_id, day) m USING (item_id, option_id, day)
  WHERE (s.initial, s.held, s.sold) IS DISTINCT FROM (COALESCE(m.initial, 0)::int, COALESCE(m.held, 0)::int, COALESCE(m.sold, 0)::int)
UNION ALL SELECT 'INV-37', h.order_id, 'hold is ' || h.state || ', order is ' || o.status FROM stock_holds h JOIN orders o ON o.id = h.order_id WHERE (h.state = 'committed') <> (o.status = 'paid') OR (o.status IN ('cancelled', 'expired') AND h.state <> 'released')
UNION ALL SELECT 'INV-38', order_id, 'held past its expiry' FROM stock_holds WHERE state = 'held' AND expires_at < shop_now() - interval '8 minutes'
UNION ALL SELECT 'INV-39', order_ref, 'event ' || event_id || ' dead without alert' FROM webhook_events WHERE status = 'dead' AND alerted_at IS NULL
UNION ALL SELECT 'INV-41', order_id, 'letter ' || kind || ' twice' FROM outbox GROUP BY order_id, kind, ref HAVING count(*) > 1
UNION ALL SELECT 'INV-43', order_ref, 'event body with personal fields after day 7' FROM webhook_events WHERE stripped_at IS NULL AND body IS NOT NULL AND received_at < (SELECT shop_now()) - interval '9 days'
UNION ALL SELECT 'INV-42', order_ref, 'event body older than 90 days' FROM webhook_events WHERE received_at < (SELECT shop_now()) - interval '92 days';

-- What must be over once faults have stopped and the sweeps have run.
CREATE VIEW unsettled_money AS
SELECT 'INV-4' AS inv, order_id, 'refund ' || id || ' still requested' AS detail FROM refunds WHERE status = 'requested'
UNION ALL SELECT 'INV-22', order_id, 'claim still ' || state FROM gateway_claims WHERE state IN ('open', 'unknown')
UNION ALL SELECT 'INV-39', order_ref, 'event ' || event_id || ' still received' FROM webhook_events WHERE status = 'received'
UNION ALL SELECT 'INV-40', e.order_ref, 'capture event ' || e.event_id || ' processed, payment undecided' FROM webhook_events e WHERE e.status = 'processed' AND e.event_type IN ('payment.captured', 'order.paid')
  AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.razorpay_payment_id = e.razorpay_payment_id AND (p.disposition IS NOT NULL OR p.gw_status = 'voided'))
UNION ALL SELECT 'INV-41', order_id, 'letter ' || kind || ' still queued' FROM outbox WHERE status = 'queued'
UNION ALL SELECT 'INV-41', o.id, 'paid order without confirmation' FROM orders o WHERE o.paid_payment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM outbox l WHERE l.order_id = o.id AND l.kind = 'confirmation');
