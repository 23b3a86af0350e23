-- Cash at the counter or on delivery: an order is due from the moment it is placed, its ticket is made at once, and it is paid when staff take the money.
-- A cash payment is a kept payment like any other; what is given back of it, a person gives back by hand. No gateway is asked about either.

-- +goose Up

ALTER TABLE outlets
  ADD COLUMN cash_pickup      boolean NOT NULL DEFAULT false,
  ADD COLUMN cash_delivery    boolean NOT NULL DEFAULT false,
  ADD COLUMN cash_limit_paise bigint NOT NULL DEFAULT 200000 CONSTRAINT outlets_cash_limit_check CHECK (cash_limit_paise BETWEEN 100 AND 19999900), -- two lakh and more in cash is forbidden to take (Income-tax Act, s. 269ST)
  ADD COLUMN cash_open_orders int NOT NULL DEFAULT 1 CONSTRAINT outlets_cash_open_check CHECK (cash_open_orders BETWEEN 1 AND 20);                   -- at most so many unpaid ones of one phone number

-- One phone number has so many seats for orders that are due; the index makes two of them never the same.
ALTER TABLE orders ADD COLUMN cash_seat int CONSTRAINT orders_cash_seat_check CHECK (cash_seat BETWEEN 1 AND 20);
ALTER TABLE orders ADD CONSTRAINT orders_due_check CHECK (status <> 'due' OR (pays = 'cash' AND cash_seat IS NOT NULL));
CREATE UNIQUE INDEX orders_cash_seat_key ON orders (outlet_id, phone, cash_seat) WHERE status = 'due';

ALTER TABLE orders DROP CONSTRAINT orders_next_action_check;
ALTER TABLE orders ADD CONSTRAINT orders_next_action_check CHECK (next_action IN ('','ask_gateway','send_refund','refund_settles','staff_refunds','take_cash'));
CREATE INDEX orders_due ON orders (outlet_id) WHERE status = 'due';

-- A refund is of its payment's provider. Cash is requested, then given back by somebody with a name.
ALTER TABLE payments ADD CONSTRAINT payments_provider_key UNIQUE (id, provider);
ALTER TABLE payments ADD CONSTRAINT payments_cash_check CHECK (provider <> 'cash' OR (gw_status = 'captured' AND disposition IS NOT DISTINCT FROM 'kept' AND first_source = 'staff' AND customer_fee_paise = 0 AND currency = 'INR'));
ALTER TABLE refunds ADD COLUMN provider text NOT NULL DEFAULT 'razorpay', ADD COLUMN given_by text;
ALTER TABLE refunds ADD CONSTRAINT refunds_provider_fkey FOREIGN KEY (payment_id, provider) REFERENCES payments (id, provider);
ALTER TABLE refunds DROP CONSTRAINT refunds_known_check;
ALTER TABLE refunds ADD CONSTRAINT refunds_known_check CHECK (status NOT IN ('submitted','processed') OR provider <> 'razorpay' OR razorpay_refund_id IS NOT NULL);
ALTER TABLE refunds ADD CONSTRAINT refunds_cash_check CHECK (CASE provider WHEN 'cash' THEN status IN ('requested','processed') AND razorpay_refund_id IS NULL AND (status = 'processed') = (given_by IS NOT NULL) ELSE given_by IS NULL END);

ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_account_check;
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_account_check CHECK (account IN ('gateway_clearing','cash','sales','sales_returns','output_cgst','output_sgst','tips','round_off','customer_fees',
                                                                                           'refunds_payable','gateway_fees','gateway_fee_tax','bank','disputes'));

-- Cash that is owed, either way, has a day: the money of a due order by the day after its promise, money given back by hand by the day after it was asked for.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION order_deadline(of_order bigint, status text, hold_expires_at timestamptz, OUT resolve_by timestamptz, OUT next_action text) LANGUAGE plpgsql STABLE AS $$ BEGIN
  IF status = 'pending' THEN
    resolve_by := hold_expires_at + interval '10 minutes'; next_action := 'ask_gateway'; RETURN;
  END IF;
  IF status = 'due' THEN
    SELECT COALESCE(o.promised_to, o.placed_at) + interval '1 day', 'take_cash' INTO resolve_by, next_action FROM orders o WHERE o.id = of_order; RETURN;
  END IF;
  SELECT d.by, d.action INTO resolve_by, next_action FROM (
      SELECT COALESCE(r.hold_until, r.requested_at) + interval '15 minutes' AS by, 'send_refund' AS action FROM refunds r WHERE r.order_id = of_order AND r.status = 'requested' AND r.provider = 'razorpay'
      UNION ALL SELECT r.requested_at + interval '1 day', 'staff_refunds' FROM refunds r WHERE r.order_id = of_order AND r.status = 'requested' AND r.provider = 'cash'
      UNION ALL SELECT r.submitted_at + interval '10 days', 'refund_settles' FROM refunds r WHERE r.order_id = of_order AND r.status = 'submitted'
      UNION ALL SELECT r.failed_at + interval '1 day', 'staff_refunds' FROM refunds r WHERE r.order_id = of_order AND r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)
    ) d ORDER BY d.by LIMIT 1;
  next_action := COALESCE(next_action, '');
END $$;
-- +goose StatementEnd

-- A due order's ticket learns once which payment paid it. Food that went out unpaid and came back cancels it; nothing else is cancelled after it was handed over.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION fulfilments_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN
     (('queued','accepted'), ('accepted','preparing'), ('preparing','ready'), ('ready','handed_over'),
      ('accepted','queued'), ('preparing','accepted'), ('ready','preparing'), ('handed_over','ready'),
      ('queued','cancelled'), ('accepted','cancelled'), ('preparing','cancelled'), ('ready','cancelled'))
     AND NOT ((OLD.status, NEW.status) = ('handed_over','cancelled') AND EXISTS (SELECT 1 FROM orders o WHERE o.id = NEW.order_id AND o.status = 'due'))
  THEN PERFORM refuse_edge('fulfilment', OLD.status, NEW.status); END IF;
  IF (NEW.order_id, NEW.outlet_id, NEW.queued_at) IS DISTINCT FROM (OLD.order_id, OLD.outlet_id, OLD.queued_at)
     OR (OLD.payment_id IS NOT NULL AND NEW.payment_id IS DISTINCT FROM OLD.payment_id) THEN PERFORM refuse_fact('fulfilment'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION order_due_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE o orders;
BEGIN
  SELECT * INTO o FROM orders WHERE id = NEW.id;
  IF o.status = 'due' AND NOT EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id AND f.status <> 'cancelled') THEN PERFORM refuse_commit('due order without ticket', o.id); END IF;
  IF o.status = 'due' AND EXISTS (SELECT 1 FROM stock_holds h WHERE h.order_id = o.id AND h.state <> 'committed') THEN PERFORM refuse_commit('due order without its stock', o.id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER orders_due_complete AFTER UPDATE OF status ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.status = 'due') EXECUTE FUNCTION order_due_complete();

-- What was true of gateway money alone is said anew where cash is another case; the rest stands.
ALTER VIEW broken_invariants RENAME TO broken_before_cash;
CREATE VIEW broken_invariants AS
SELECT b.inv, b.order_id, b.detail FROM broken_before_cash b LEFT JOIN orders o ON o.id = b.order_id
  WHERE b.inv <> 'INV-31' AND NOT (o.pays IS NOT DISTINCT FROM 'cash' AND b.inv IN ('INV-12', 'INV-14', 'INV-26', 'INV-30'))
UNION ALL SELECT 'INV-12', f.order_id, 'ticket of an order that is neither due nor paid' FROM fulfilments f JOIN orders o ON o.id = f.order_id WHERE o.pays = 'cash'
  AND NOT (o.status = 'due' OR o.status = 'cancelled' AND o.paid_payment_id IS NULL AND f.status = 'cancelled' OR f.payment_id IS NOT NULL AND f.payment_id IS NOT DISTINCT FROM o.paid_payment_id)
UNION ALL SELECT 'INV-14', o.id, o.status || ' with kept payment' FROM orders o WHERE o.pays = 'cash' AND o.paid_payment_id IS NULL AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.disposition = 'kept')
UNION ALL SELECT 'INV-12', o.id, 'due without ticket' FROM orders o WHERE o.status = 'due' AND NOT EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id AND f.status <> 'cancelled')
UNION ALL SELECT 'INV-30', p.order_id, 'cash payment ' || p.id || ' not in the ledger' FROM payments p WHERE p.provider = 'cash' AND NOT EXISTS (SELECT 1 FROM ledger_txns t JOIN ledger_entries e ON e.txn_id = t.id
  WHERE e.account = 'cash' AND e.amount_paise = p.amount_paise AND t.kind = 'capture' AND t.ref_type = 'payment' AND t.ref_id = p.id::text)
UNION ALL SELECT 'INV-30', r.order_id, 'cash given back as ' || r.id || ' not in the ledger' FROM refunds r WHERE r.provider = 'cash' AND r.status = 'processed' AND NOT EXISTS (SELECT 1 FROM ledger_txns t JOIN ledger_entries e ON e.txn_id = t.id
  WHERE e.account = 'cash' AND e.amount_paise = -r.amount_paise AND t.kind = 'refund_settled' AND t.ref_type = 'refund' AND t.ref_id = r.id::text)
UNION ALL SELECT 'INV-31', NULL, a.account || ' is ' || a.ledger || ', payments say ' || a.rows FROM (
  SELECT v.account, (SELECT COALESCE(sum(amount_paise), 0) FROM ledger_entries e WHERE e.account = v.account) AS ledger,
    (SELECT COALESCE(sum(amount_paise), 0) FROM payments WHERE disposition IS NOT NULL AND provider = v.provider) - (SELECT COALESCE(sum(amount_paise), 0) FROM refunds WHERE status = 'processed' AND provider = v.provider)
    - CASE v.provider WHEN 'razorpay' THEN (SELECT COALESCE(sum(credit_paise - debit_paise + fee_paise), 0) FROM settlement_items WHERE payment_id IS NOT NULL OR refund_id IS NOT NULL) ELSE 0 END AS rows
  FROM (VALUES ('gateway_clearing', 'razorpay'), ('cash', 'cash')) v (account, provider)) a WHERE a.ledger <> a.rows;

-- Cash that waits for a person is not unsettled: no sweep gives it back.
CREATE OR REPLACE VIEW unsettled_money AS
SELECT 'INV-4' AS inv, order_id, 'refund ' || id || ' still requested' AS detail FROM refunds WHERE status = 'requested' AND provider = 'razorpay'
UNION ALL SELECT 'INV-22', order_id, 'claim still ' || state FROM gateway_claims WHERE state IN ('open', 'unknown')
UNION ALL SELECT 'INV-39', order_ref, 'event ' || event_id || ' still received' FROM webhook_events WHERE status = 'received'
UNION ALL SELECT 'INV-40', e.order_ref, 'capture event ' || e.event_id || ' processed, payment undecided' FROM webhook_events e WHERE e.status = 'processed' AND e.event_type IN ('payment.captured', 'order.paid')
  AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.razorpay_payment_id = e.razorpay_payment_id AND (p.disposition IS NOT NULL OR p.gw_status = 'voided'))
UNION ALL SELECT 'INV-41', order_id, 'letter ' || kind || ' still queued' FROM outbox WHERE status = 'queued'
UNION ALL SELECT 'INV-41', o.id, 'paid order without confirmation' FROM orders o WHERE (o.paid_payment_id IS NOT NULL OR o.status = 'due') AND NOT EXISTS (SELECT 1 FROM outbox l WHERE l.order_id = o.id AND l.kind = 'confirmation');
