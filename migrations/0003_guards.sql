-- Triggers: allowed state edges, immutable facts, append-only books, history, and what must be true at COMMIT.
-- They hold for every writer: the program, a later one, a person with psql.

-- +goose Up

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION refuse_edge(subject text, was text, became text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% % -> % is not allowed', subject, was, became USING ERRCODE = '23514', CONSTRAINT = subject || '_edge';
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION refuse_fact(subject text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% facts are final', subject USING ERRCODE = '23514', CONSTRAINT = subject || '_facts';
END $$;
-- +goose StatementEnd

-- The history's actor: set_config('tiffin.actor', 'staff:7', true) in the transaction; otherwise the shop itself.
-- +goose StatementBegin
CREATE FUNCTION current_actor() RETURNS text LANGUAGE sql STABLE AS $$ SELECT COALESCE(NULLIF(current_setting('tiffin.actor', true), ''), 'shop') $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION payment_rank(s text) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE s WHEN 'created' THEN 1 WHEN 'failed' THEN 2 WHEN 'authorized' THEN 3 WHEN 'voided' THEN 4 WHEN 'captured' THEN 4 WHEN 'refunded' THEN 5 END $$;
-- +goose StatementEnd

-- orders -----------------------------------------------------------------------
-- +goose StatementBegin
CREATE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status NOT IN ('pending', 'cancelled') AND NOT (NEW.pays = 'nothing' AND NEW.status = 'paid') THEN PERFORM refuse_edge('order', 'new', NEW.status); END IF;
    RETURN NEW;
  END IF;
  IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN
     (('pending','paid'), ('pending','cancelled'), ('pending','expired'), ('paid','cancelled'), ('pending','due'), ('due','paid'), ('due','cancelled'))
  THEN PERFORM refuse_edge('order', OLD.status, NEW.status); END IF;
  IF OLD.paid_payment_id IS NOT NULL AND (NEW.paid_payment_id, NEW.paid_at) IS DISTINCT FROM (OLD.paid_payment_id, OLD.paid_at) THEN PERFORM refuse_fact('order'); END IF;
  IF (NEW.public_id, NEW.token, NEW.number, NEW.service_on, NEW.outlet_id, NEW.slot_id, NEW.cart_id, NEW.customer_id, NEW.checkout_key, NEW.checkout_hash, NEW.mode, NEW.way, NEW.currency, NEW.tax_mode,
      NEW.subtotal_paise, NEW.discount_paise, NEW.packaging_paise, NEW.delivery_paise, NEW.cgst_paise, NEW.sgst_paise, NEW.tip_paise, NEW.round_off_paise, NEW.amount_paise, NEW.coupon, NEW.pays, NEW.placed_at)
     IS DISTINCT FROM
     (OLD.public_id, OLD.token, OLD.number, OLD.service_on, OLD.outlet_id, OLD.slot_id, OLD.cart_id, OLD.customer_id, OLD.checkout_key, OLD.checkout_hash, OLD.mode, OLD.way, OLD.currency, OLD.tax_mode,
      OLD.subtotal_paise, OLD.discount_paise, OLD.packaging_paise, OLD.delivery_paise, OLD.cgst_paise, OLD.sgst_paise, OLD.tip_paise, OLD.round_off_paise, OLD.amount_paise, OLD.coupon, OLD.pays, OLD.placed_at)
  THEN PERFORM refuse_fact('order'); END IF;
  IF OLD.status <> 'pending' AND (NEW.line1, NEW.line2, NEW.pin, NEW.distance_metres) IS DISTINCT FROM (OLD.line1, OLD.line2, OLD.pin, OLD.distance_metres) THEN PERFORM refuse_fact('order'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_guard BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard();
CREATE TRIGGER orders_keep BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_items_keep BEFORE UPDATE OR DELETE ON order_items FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_item_options_keep BEFORE UPDATE OR DELETE ON order_item_options FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER order_taxes_keep BEFORE UPDATE OR DELETE ON order_taxes FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- No limbo: an order whose money is not at rest says what happens next and by when. Only these triggers write the two columns.
-- +goose StatementBegin
CREATE FUNCTION order_deadline(of_order bigint, status text, hold_expires_at timestamptz, OUT resolve_by timestamptz, OUT next_action text) LANGUAGE plpgsql STABLE AS $$ BEGIN
  IF status = 'pending' THEN
    resolve_by := hold_expires_at + interval '10 minutes'; next_action := 'ask_gateway'; RETURN;
  END IF;
  SELECT d.by, d.action INTO resolve_by, next_action FROM (
      SELECT COALESCE(r.hold_until, r.requested_at) + interval '15 minutes' AS by, 'send_refund' AS action FROM refunds r WHERE r.order_id = of_order AND r.status = 'requested'
      UNION ALL SELECT r.submitted_at + interval '10 days', 'refund_settles' FROM refunds r WHERE r.order_id = of_order AND r.status = 'submitted'
      UNION ALL SELECT r.failed_at + interval '1 day', 'staff_refunds' FROM refunds r WHERE r.order_id = of_order AND r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)
    ) d ORDER BY d.by LIMIT 1;
  next_action := COALESCE(next_action, '');
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION orders_deadline() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  SELECT d.resolve_by, d.next_action INTO NEW.resolve_by, NEW.next_action FROM order_deadline(NEW.id, NEW.status, NEW.hold_expires_at) d;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_deadline BEFORE INSERT OR UPDATE OF status, hold_expires_at, resolve_by, next_action ON orders FOR EACH ROW EXECUTE FUNCTION orders_deadline();

-- +goose StatementBegin
CREATE FUNCTION refunds_deadline() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE orders o SET resolve_by = d.resolve_by FROM orders s, order_deadline(s.id, s.status, s.hold_expires_at) d
  WHERE o.id = NEW.order_id AND s.id = o.id AND (o.resolve_by, o.next_action) IS DISTINCT FROM (d.resolve_by, d.next_action);
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER refunds_deadline AFTER INSERT OR UPDATE OF status, hold_until ON refunds FOR EACH ROW EXECUTE FUNCTION refunds_deadline();

-- payments, gateway orders, tickets, refunds ---------------------------------------
-- +goose StatementBegin
CREATE FUNCTION payments_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF payment_rank(NEW.gw_status) < payment_rank(OLD.gw_status) OR (OLD.gw_status = 'voided' AND NEW.gw_status <> 'voided') THEN PERFORM refuse_edge('payment', OLD.gw_status, NEW.gw_status); END IF;
  IF OLD.disposition IS NOT NULL AND (NEW.disposition, NEW.reason, NEW.decided_at, NEW.customer_fee_paise) IS DISTINCT FROM (OLD.disposition, OLD.reason, OLD.decided_at, OLD.customer_fee_paise) THEN PERFORM refuse_fact('payment'); END IF;
  IF (NEW.provider, NEW.razorpay_payment_id, NEW.razorpay_order_id, NEW.order_id, NEW.amount_paise, NEW.currency, NEW.first_source, NEW.created_at)
     IS DISTINCT FROM (OLD.provider, OLD.razorpay_payment_id, OLD.razorpay_order_id, OLD.order_id, OLD.amount_paise, OLD.currency, OLD.first_source, OLD.created_at) THEN PERFORM refuse_fact('payment'); END IF;
  NEW.updated_at := shop_now();
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER payments_guard BEFORE UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION payments_guard();
CREATE TRIGGER payments_keep BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose StatementBegin
CREATE FUNCTION gateway_orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.state = 'superseded' AND NEW.state <> 'superseded' THEN PERFORM refuse_edge('gateway_order', OLD.state, NEW.state); END IF;
  IF (NEW.razorpay_order_id, NEW.order_id, NEW.generation, NEW.receipt, NEW.amount_paise, NEW.currency, NEW.learned_via)
     IS DISTINCT FROM (OLD.razorpay_order_id, OLD.order_id, OLD.generation, OLD.receipt, OLD.amount_paise, OLD.currency, OLD.learned_via) THEN PERFORM refuse_fact('gateway_order'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER gateway_orders_guard BEFORE UPDATE ON gateway_orders FOR EACH ROW EXECUTE FUNCTION gateway_orders_guard();
CREATE TRIGGER gateway_orders_keep BEFORE DELETE ON gateway_orders FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gateway_claims_keep BEFORE DELETE ON gateway_claims FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose StatementBegin
CREATE FUNCTION gateway_claims_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN
     (('open','attached'), ('open','unknown'), ('open','rejected'), ('open','released'), ('unknown','attached'), ('unknown','released'))
  THEN PERFORM refuse_edge('claim', OLD.state, NEW.state); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER gateway_claims_guard BEFORE UPDATE ON gateway_claims FOR EACH ROW EXECUTE FUNCTION gateway_claims_guard();

-- +goose StatementBegin
CREATE FUNCTION fulfilments_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN
     (('queued','accepted'), ('accepted','preparing'), ('preparing','ready'), ('ready','handed_over'),
      ('accepted','queued'), ('preparing','accepted'), ('ready','preparing'), ('handed_over','ready'),
      ('queued','cancelled'), ('accepted','cancelled'), ('preparing','cancelled'), ('ready','cancelled'))
  THEN PERFORM refuse_edge('fulfilment', OLD.status, NEW.status); END IF;
  IF (NEW.order_id, NEW.payment_id, NEW.outlet_id, NEW.queued_at) IS DISTINCT FROM (OLD.order_id, OLD.payment_id, OLD.outlet_id, OLD.queued_at) THEN PERFORM refuse_fact('fulfilment'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER fulfilments_guard BEFORE UPDATE ON fulfilments FOR EACH ROW EXECUTE FUNCTION fulfilments_guard();
CREATE TRIGGER fulfilments_keep BEFORE DELETE ON fulfilments FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose StatementBegin
CREATE FUNCTION refunds_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN
     (('requested','submitted'), ('requested','processed'), ('requested','failed'), ('requested','void'), ('submitted','processed'), ('submitted','failed'), ('processed','failed'))
  THEN PERFORM refuse_edge('refund', OLD.status, NEW.status); END IF;
  IF (NEW.id, NEW.payment_id, NEW.order_id, NEW.amount_paise, NEW.kind, NEW.reason, NEW.requested_by, NEW.retry_of, NEW.requested_at)
     IS DISTINCT FROM (OLD.id, OLD.payment_id, OLD.order_id, OLD.amount_paise, OLD.kind, OLD.reason, OLD.requested_by, OLD.retry_of, OLD.requested_at)
     OR (OLD.razorpay_refund_id IS NOT NULL AND NEW.razorpay_refund_id IS DISTINCT FROM OLD.razorpay_refund_id) THEN PERFORM refuse_fact('refund'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER refunds_guard BEFORE UPDATE ON refunds FOR EACH ROW EXECUTE FUNCTION refunds_guard();
CREATE TRIGGER refunds_keep BEFORE DELETE ON refunds FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_txns_keep BEFORE UPDATE OR DELETE ON ledger_txns FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_keep BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refund_shares_keep BEFORE UPDATE OR DELETE ON refund_shares FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refund_share_taxes_keep BEFORE UPDATE OR DELETE ON refund_share_taxes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refund_share_lines_keep BEFORE UPDATE OR DELETE ON refund_share_lines FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlement_items_keep BEFORE UPDATE OR DELETE ON settlement_items FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER stock_movements_keep BEFORE UPDATE OR DELETE ON stock_movements FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER stock_holds_keep BEFORE DELETE ON stock_holds FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gateway_fetches_keep BEFORE UPDATE OR DELETE ON gateway_fetches FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER disputes_keep BEFORE DELETE ON disputes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER status_changes_keep BEFORE UPDATE OR DELETE ON status_changes FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- disputes ---------------------------------------------------------------------
-- A stale answer of the gateway's never opens again what was decided.
-- +goose StatementBegin
CREATE FUNCTION disputes_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.status IN ('won', 'lost', 'closed') AND NEW.status NOT IN ('won', 'lost', 'closed') THEN PERFORM refuse_edge('dispute', OLD.status, NEW.status); END IF;
  IF (NEW.razorpay_dispute_id, NEW.payment_id, NEW.order_id, NEW.recorded_at) IS DISTINCT FROM (OLD.razorpay_dispute_id, OLD.payment_id, OLD.order_id, OLD.recorded_at) THEN PERFORM refuse_fact('dispute'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER disputes_guard BEFORE UPDATE ON disputes FOR EACH ROW EXECUTE FUNCTION disputes_guard();

-- stock ------------------------------------------------------------------------
-- +goose StatementBegin
CREATE FUNCTION stock_holds_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'held' THEN PERFORM refuse_edge('hold', 'new', NEW.state); END IF;
    INSERT INTO stock_movements (item_id, option_id, day, order_id, kind, held) VALUES (NEW.item_id, NEW.option_id, NEW.day, NEW.order_id, 'hold', NEW.qty);
  ELSIF NEW.state <> OLD.state THEN
    CASE OLD.state || '>' || NEW.state
      WHEN 'held>committed' THEN INSERT INTO stock_movements (item_id, option_id, day, order_id, kind, held, sold) VALUES (NEW.item_id, NEW.option_id, NEW.day, NEW.order_id, 'sell', -NEW.qty, NEW.qty);
      WHEN 'held>released' THEN INSERT INTO stock_movements (item_id, option_id, day, order_id, kind, held) VALUES (NEW.item_id, NEW.option_id, NEW.day, NEW.order_id, 'release', -NEW.qty);
      WHEN 'released>committed' THEN INSERT INTO stock_movements (item_id, option_id, day, order_id, kind, sold) VALUES (NEW.item_id, NEW.option_id, NEW.day, NEW.order_id, 'sell', NEW.qty);
      WHEN 'committed>released' THEN INSERT INTO stock_movements (item_id, option_id, day, order_id, kind, sold) VALUES (NEW.item_id, NEW.option_id, NEW.day, NEW.order_id, 'unsell', -NEW.qty);
      ELSE PERFORM refuse_edge('hold', OLD.state, NEW.state);
    END CASE;
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.order_id, NEW.item_id, NEW.option_id, NEW.day, NEW.qty) IS DISTINCT FROM (OLD.order_id, OLD.item_id, OLD.option_id, OLD.day, OLD.qty) THEN PERFORM refuse_fact('hold'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER stock_holds_moved AFTER INSERT OR UPDATE ON stock_holds FOR EACH ROW EXECUTE FUNCTION stock_holds_moved();

-- +goose StatementBegin
CREATE FUNCTION stock_set() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO stock_movements (item_id, option_id, day, kind, initial) VALUES (NEW.item_id, NEW.option_id, NEW.day, 'set', NEW.initial);
  ELSIF NEW.initial <> OLD.initial THEN
    INSERT INTO stock_movements (item_id, option_id, day, kind, initial) VALUES (NEW.item_id, NEW.option_id, NEW.day, 'set', NEW.initial - OLD.initial);
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER stock_set AFTER INSERT OR UPDATE OF initial ON stock FOR EACH ROW EXECUTE FUNCTION stock_set();

-- history ----------------------------------------------------------------------
-- +goose StatementBegin
CREATE FUNCTION record_status_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE was text; became text; subject_id text; of_order bigint;
BEGIN
  CASE TG_ARGV[0]
    WHEN 'order' THEN became := NEW.status; subject_id := NEW.id; of_order := NEW.id; IF TG_OP = 'UPDATE' THEN was := OLD.status; END IF;
    WHEN 'payment' THEN became := NEW.gw_status || COALESCE('/' || NEW.disposition, ''); subject_id := NEW.id; of_order := NEW.order_id;
      IF TG_OP = 'UPDATE' THEN was := OLD.gw_status || COALESCE('/' || OLD.disposition, ''); END IF;
    WHEN 'refund' THEN became := NEW.status; subject_id := NEW.id; of_order := NEW.order_id; IF TG_OP = 'UPDATE' THEN was := OLD.status; END IF;
    WHEN 'dispute' THEN became := NEW.status; subject_id := NEW.razorpay_dispute_id; of_order := NEW.order_id; IF TG_OP = 'UPDATE' THEN was := OLD.status; END IF;
    WHEN 'fulfilment' THEN became := NEW.status; subject_id := NEW.order_id; of_order := NEW.order_id; IF TG_OP = 'UPDATE' THEN was := OLD.status; END IF;
  END CASE;
  IF was IS DISTINCT FROM became THEN
    INSERT INTO status_changes (subject, subject_id, order_id, was, became, actor) VALUES (TG_ARGV[0], subject_id, of_order, was, became, current_actor());
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_history AFTER INSERT OR UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION record_status_change('order');
CREATE TRIGGER payments_history AFTER INSERT OR UPDATE OF gw_status, disposition ON payments FOR EACH ROW EXECUTE FUNCTION record_status_change('payment');
CREATE TRIGGER refunds_history AFTER INSERT OR UPDATE OF status ON refunds FOR EACH ROW EXECUTE FUNCTION record_status_change('refund');
CREATE TRIGGER disputes_history AFTER INSERT OR UPDATE OF status ON disputes FOR EACH ROW EXECUTE FUNCTION record_status_change('dispute');
CREATE TRIGGER fulfilments_history AFTER INSERT OR UPDATE OF status ON fulfilments FOR EACH ROW EXECUTE FUNCTION record_status_change('fulfilment');

-- The shares of refunds that count: not taken back, and not failed with another in their place.
CREATE VIEW counted_shares AS
  SELECT r.payment_id, s.* FROM refund_shares s JOIN refunds r ON r.id = s.refund_id
  WHERE r.status <> 'void' AND NOT (r.status = 'failed' AND EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = r.id));

-- Whoever looks at an order is told to look again by the database itself, at the commit that changed it: no writer can forget to.
-- The channel and the topic are models.NotifyChannel's and models.OrderTopic's.
-- +goose StatementBegin
CREATE FUNCTION tell_order() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('tiffin', 'order:' || NEW.order_id);
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER status_changes_told AFTER INSERT ON status_changes FOR EACH ROW EXECUTE FUNCTION tell_order();
CREATE TRIGGER payment_hints_told AFTER INSERT OR UPDATE OF done_at ON payment_hints FOR EACH ROW EXECUTE FUNCTION tell_order();

-- true at COMMIT -----------------------------------------------------------------
-- +goose StatementBegin
CREATE FUNCTION refuse_commit(what text, id bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% (%)', what, id USING ERRCODE = '23514', CONSTRAINT = replace(what, ' ', '_');
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ledger_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE total bigint; lines int; txn bigint;
BEGIN
  IF TG_TABLE_NAME = 'ledger_txns' THEN txn := NEW.id; ELSE txn := NEW.txn_id; END IF;
  SELECT COALESCE(sum(amount_paise), 0), count(*) INTO total, lines FROM ledger_entries WHERE txn_id = txn;
  IF total <> 0 OR lines < 2 THEN PERFORM refuse_commit('ledger transaction unbalanced', txn); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER ledger_entries_balanced AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_balanced();
CREATE CONSTRAINT TRIGGER ledger_txns_balanced AFTER INSERT ON ledger_txns DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_balanced();

-- A bill is the sum of its lines and of its taxes.
-- +goose StatementBegin
CREATE FUNCTION order_adds_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE o orders; of_order bigint;
BEGIN
  IF TG_TABLE_NAME = 'orders' THEN of_order := NEW.id; ELSE of_order := NEW.order_id; END IF;
  SELECT * INTO o FROM orders WHERE id = of_order;
  IF o.subtotal_paise <> (SELECT COALESCE(sum(line_total_paise), 0) FROM order_items WHERE order_id = of_order)
     AND NOT (o.cancel_reason = 'review' AND o.paid_payment_id IS NULL) THEN PERFORM refuse_commit('order lines do not add up', of_order); END IF;
  IF o.discount_paise <> (SELECT COALESCE(sum(discount_paise), 0) FROM order_items WHERE order_id = of_order) THEN PERFORM refuse_commit('order discounts do not add up', of_order); END IF;
  IF EXISTS (SELECT 1 FROM order_taxes WHERE order_id = of_order HAVING (COALESCE(sum(cgst_paise), 0), COALESCE(sum(sgst_paise), 0)) IS DISTINCT FROM (o.cgst_paise::numeric, o.sgst_paise::numeric)) THEN PERFORM refuse_commit('order taxes do not add up', of_order); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER orders_add_up AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION order_adds_up();
CREATE CONSTRAINT TRIGGER order_items_add_up AFTER INSERT ON order_items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION order_adds_up();
CREATE CONSTRAINT TRIGGER order_taxes_add_up AFTER INSERT ON order_taxes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION order_adds_up();

-- A decided payment has done everything its decision means.
-- +goose StatementBegin
CREATE FUNCTION payment_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE p payments;
BEGIN
  SELECT * INTO p FROM payments WHERE id = NEW.id;
  IF p.disposition IS NULL THEN RETURN NULL; END IF;
  IF p.disposition = 'kept' AND NOT EXISTS (SELECT 1 FROM orders o JOIN fulfilments f ON f.order_id = o.id AND f.payment_id = p.id
       WHERE o.id = p.order_id AND o.paid_payment_id = p.id AND o.amount_paise = p.amount_paise - p.customer_fee_paise AND o.currency = p.currency)
  THEN PERFORM refuse_commit('kept payment without paid order and ticket', p.id); END IF;
  IF p.refund_reserved_paise <> (SELECT COALESCE(sum(amount_paise), 0) FROM refunds WHERE payment_id = p.id AND status NOT IN ('void', 'failed'))
     AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.payment_id = p.id AND r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id))
  THEN PERFORM refuse_commit('reserved is not what the refunds sum to', p.id); END IF;
  IF NOT EXISTS (SELECT 1 FROM ledger_txns t WHERE t.kind = 'capture' AND t.ref_type = 'payment' AND t.ref_id = p.id::text)
  THEN PERFORM refuse_commit('captured payment not in the ledger', p.id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER payments_complete AFTER INSERT OR UPDATE ON payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payment_complete();

-- A refund of money counts on its payment's reserve, whoever writes the row.
-- +goose StatementBegin
CREATE FUNCTION refund_reserved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE reserved bigint; live bigint; lost boolean;
BEGIN
  SELECT refund_reserved_paise INTO reserved FROM payments WHERE id = NEW.payment_id;
  SELECT COALESCE(sum(amount_paise), 0) INTO live FROM refunds WHERE payment_id = NEW.payment_id AND status NOT IN ('void', 'failed');
  SELECT EXISTS (SELECT 1 FROM refunds r WHERE r.payment_id = NEW.payment_id AND r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)) INTO lost;
  IF live > reserved OR (live <> reserved AND NOT lost) THEN PERFORM refuse_commit('reserved is not what the refunds sum to', NEW.payment_id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER refunds_reserved AFTER INSERT OR UPDATE ON refunds DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refund_reserved();

-- A refund of a kept payment says what of the bill it gives back, and all of them together never give back more of a part than was billed.
-- +goose StatementBegin
CREATE FUNCTION refund_shared() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE of_payment bigint; was text; s record; o orders; fee bigint; reserved bigint; captured bigint;
BEGIN
  SELECT p.id, p.disposition, p.customer_fee_paise, p.refund_reserved_paise, p.amount_paise INTO of_payment, was, fee, reserved, captured
    FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.id = COALESCE((to_jsonb(NEW)->>'refund_id')::uuid, (to_jsonb(NEW)->>'id')::uuid);
  IF (was = 'kept') <> EXISTS (SELECT 1 FROM refund_shares WHERE refund_id = COALESCE((to_jsonb(NEW)->>'refund_id')::uuid, (to_jsonb(NEW)->>'id')::uuid))
  THEN PERFORM refuse_commit('refund without its share of the bill', of_payment); END IF;
  IF was <> 'kept' THEN RETURN NULL; END IF;
  SELECT ord.* INTO o FROM orders ord JOIN payments p ON p.order_id = ord.id WHERE p.id = of_payment;
  SELECT sum(subtotal_paise) AS subtotal, sum(discount_paise) AS discount, sum(packaging_paise) AS packaging, sum(delivery_paise) AS delivery, sum(cgst_paise) AS cgst,
         sum(sgst_paise) AS sgst, sum(tip_paise) AS tip, sum(customer_fee_paise) AS customer_fee INTO s FROM counted_shares WHERE payment_id = of_payment;
  IF s.subtotal > o.subtotal_paise OR s.discount > o.discount_paise OR s.packaging > o.packaging_paise OR s.delivery > o.delivery_paise OR s.cgst > o.cgst_paise OR s.sgst > o.sgst_paise
     OR s.tip > o.tip_paise OR s.customer_fee > fee
     OR (reserved >= captured - fee AND (s.subtotal, s.discount, s.packaging, s.delivery, s.cgst, s.sgst, s.tip) IS DISTINCT FROM
         (o.subtotal_paise::numeric, o.discount_paise::numeric, o.packaging_paise::numeric, o.delivery_paise::numeric, o.cgst_paise::numeric, o.sgst_paise::numeric, o.tip_paise::numeric))
  THEN PERFORM refuse_commit('refunds give back more than the bill', of_payment); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER refunds_shared AFTER INSERT OR UPDATE OF status ON refunds DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refund_shared();
CREATE CONSTRAINT TRIGGER refund_shares_fit AFTER INSERT ON refund_shares DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refund_shared();

-- A share's tax is the sum of its classes.
-- +goose StatementBegin
CREATE FUNCTION share_taxes_add_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM refund_shares s LEFT JOIN (SELECT refund_id, sum(cgst_paise) AS cgst, sum(sgst_paise) AS sgst FROM refund_share_taxes GROUP BY refund_id) t USING (refund_id)
     WHERE s.refund_id = NEW.refund_id AND (s.cgst_paise, s.sgst_paise) IS DISTINCT FROM (COALESCE(t.cgst, 0)::bigint, COALESCE(t.sgst, 0)::bigint))
  THEN RAISE EXCEPTION 'taxes of refund % do not add up', NEW.refund_id USING ERRCODE = '23514', CONSTRAINT = 'refund_share_taxes_do_not_add_up'; END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER refund_shares_add_up AFTER INSERT ON refund_shares DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION share_taxes_add_up();
CREATE CONSTRAINT TRIGGER refund_share_taxes_add_up AFTER INSERT ON refund_share_taxes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION share_taxes_add_up();

-- +goose StatementBegin
CREATE FUNCTION order_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE o orders;
BEGIN
  SELECT * INTO o FROM orders WHERE id = NEW.id;
  IF o.status = 'paid' AND NOT EXISTS (SELECT 1 FROM fulfilments f WHERE f.order_id = o.id AND f.status <> 'cancelled') THEN PERFORM refuse_commit('paid order without ticket', o.id); END IF;
  IF o.status = 'cancelled' AND o.paid_payment_id IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM payments p JOIN fulfilments f ON f.order_id = o.id WHERE p.id = o.paid_payment_id AND p.refund_reserved_paise >= p.amount_paise - p.customer_fee_paise AND f.status = 'cancelled')
  THEN PERFORM refuse_commit('order cancelled but its money kept', o.id); END IF;
  IF o.status IN ('cancelled', 'expired') AND EXISTS (SELECT 1 FROM stock_holds h WHERE h.order_id = o.id AND h.state <> 'released')
  THEN PERFORM refuse_commit('closed order holds stock', o.id); END IF;
  IF o.status = 'paid' AND EXISTS (SELECT 1 FROM stock_holds h WHERE h.order_id = o.id AND h.state <> 'committed')
  THEN PERFORM refuse_commit('paid order without its stock', o.id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER orders_complete AFTER INSERT OR UPDATE OF status ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION order_complete();

-- A ticket is cancelled exactly when its order is.
-- +goose StatementBegin
CREATE FUNCTION fulfilment_complete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM fulfilments f JOIN orders o ON o.id = f.order_id WHERE f.order_id = NEW.order_id AND (f.status = 'cancelled') <> (o.status = 'cancelled'))
  THEN PERFORM refuse_commit('ticket and order disagree on cancelled', NEW.order_id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER fulfilments_complete AFTER INSERT OR UPDATE OF status ON fulfilments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fulfilment_complete();
