-- Papers: what tax law has a shop write about money and supply, numbered without gaps. models/paper.go says which paper belongs to which money.
-- A paper is written by one function, issue_paper, from the stored bill and the stored shares; a trigger gives it its number and proves its sums.

-- +goose Up

-- financial_year is the year in whose April it began, in India: 2026 for 2026-27.
-- +goose StatementBegin
CREATE FUNCTION financial_year(at timestamptz) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT extract(year FROM (at AT TIME ZONE 'Asia/Kolkata') - interval '3 months')::int $$;
-- +goose StatementEnd

-- A number says kind, outlet, financial year and serial: T1/26-27/00123. Two outlets of one GSTIN never share one. Sixteen characters are
-- all the law allows: 999 999 papers of a kind a year for outlets 1 to 99, 99 999 for 100 to 999.
-- +goose StatementBegin
CREATE FUNCTION paper_number(kind text, outlet_id bigint, fy int, serial int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE kind WHEN 'receipt_voucher' THEN 'R' WHEN 'tax_invoice' THEN 'T' WHEN 'bill_of_supply' THEN 'B' WHEN 'refund_voucher' THEN 'V' WHEN 'credit_note' THEN 'C'
    WHEN 'debit_note' THEN 'D' END || outlet_id::text || '/' || lpad((fy % 100)::text, 2, '0') || '-' || lpad(((fy + 1) % 100)::text, 2, '0') || '/'
    || CASE WHEN serial < 100000 THEN lpad(serial::text, 5, '0') ELSE serial::text END $$;
-- +goose StatementEnd

CREATE TABLE paper_counters (                               -- the last serial of each series; moved on by papers_number alone
  outlet_id bigint NOT NULL REFERENCES outlets,
  kind      text NOT NULL CHECK (kind IN ('receipt_voucher','tax_invoice','bill_of_supply','refund_voucher','credit_note','debit_note')),
  fy        int NOT NULL,
  last      int NOT NULL CHECK (last >= 0),
  PRIMARY KEY (outlet_id, kind, fy)
);

CREATE TABLE papers (                                       -- never changes; what it says is what it said when it was issued
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id          bigint NOT NULL,
  kind               text NOT NULL,
  fy                 int NOT NULL,
  serial             int NOT NULL CHECK (serial > 0),
  number             text GENERATED ALWAYS AS (paper_number(kind, outlet_id, fy, serial)) STORED CONSTRAINT papers_number_key UNIQUE
                     CONSTRAINT papers_number_check CHECK (number ~ '^[A-Z0-9/-]{1,16}$'),
  order_id           bigint NOT NULL REFERENCES orders,
  cause              text NOT NULL CHECK (cause IN ('paid','handed_over','refund','void')),  -- what made it due; void: a request for a refund was taken back
  refund_id          uuid REFERENCES refunds,
  against            bigint REFERENCES papers,                                  -- the earlier paper it speaks of
  tax_mode           text NOT NULL CHECK (tax_mode IN ('regular','composition','unregistered')),
  taxable_paise      bigint NOT NULL CHECK (taxable_paise >= 0),
  cgst_paise         bigint NOT NULL CHECK (cgst_paise >= 0),
  sgst_paise         bigint NOT NULL CHECK (sgst_paise >= 0),
  round_off_paise    bigint NOT NULL,
  total_paise        bigint NOT NULL,                                           -- the paper's value
  tip_paise          bigint NOT NULL CHECK (tip_paise >= 0),                    -- came or goes with it, and is no part of any supply
  customer_fee_paise bigint NOT NULL CHECK (customer_fee_paise >= 0),           -- Razorpay's fee where the customer bore it: likewise
  money_paise        bigint NOT NULL,                                           -- the money it stands for
  printed            jsonb NOT NULL,                                            -- models.Printed: seller, buyer, lines, taxes and the rest of what it says
  issued_at          timestamptz NOT NULL,
  CONSTRAINT papers_serial_key UNIQUE (outlet_id, kind, fy, serial),
  CONSTRAINT papers_cause_key UNIQUE NULLS NOT DISTINCT (order_id, cause, refund_id),
  CONSTRAINT papers_counter_fkey FOREIGN KEY (outlet_id, kind, fy) REFERENCES paper_counters,
  CONSTRAINT papers_fy_check CHECK (fy = financial_year(issued_at)),
  CONSTRAINT papers_total_check CHECK (total_paise = taxable_paise + cgst_paise + sgst_paise + round_off_paise),
  CONSTRAINT papers_money_check CHECK (money_paise = total_paise + tip_paise + customer_fee_paise),
  CONSTRAINT papers_value_check CHECK (taxable_paise + cgst_paise + sgst_paise > 0),
  CONSTRAINT papers_untaxed_check CHECK (tax_mode = 'regular' OR (cgst_paise = 0 AND sgst_paise = 0)),
  CONSTRAINT papers_refund_check CHECK ((cause IN ('refund','void')) = (refund_id IS NOT NULL)),
  CONSTRAINT papers_kind_check CHECK (CASE cause
    WHEN 'paid' THEN kind = 'receipt_voucher' AND against IS NULL
    WHEN 'handed_over' THEN kind = CASE tax_mode WHEN 'regular' THEN 'tax_invoice' ELSE 'bill_of_supply' END
    WHEN 'refund' THEN kind IN ('refund_voucher','credit_note') AND against IS NOT NULL
    ELSE kind IN ('receipt_voucher','debit_note') AND against IS NOT NULL END)
);
CREATE INDEX papers_refund ON papers (refund_id) WHERE refund_id IS NOT NULL;

CREATE TRIGGER papers_keep BEFORE UPDATE OR DELETE ON papers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER paper_counters_keep BEFORE DELETE ON paper_counters FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A counter begins at nothing and takes one step at a time, each the serial of one paper.
-- +goose StatementBegin
CREATE FUNCTION paper_counters_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF (TG_OP = 'INSERT' AND NEW.last <> 0) OR (TG_OP = 'UPDATE' AND (NEW.outlet_id, NEW.kind, NEW.fy, NEW.last) IS DISTINCT FROM (OLD.outlet_id, OLD.kind, OLD.fy, OLD.last + 1))
  THEN PERFORM refuse_fact('paper_counter'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER paper_counters_guard BEFORE INSERT OR UPDATE ON paper_counters FOR EACH ROW EXECUTE FUNCTION paper_counters_guard();

-- +goose StatementBegin
CREATE FUNCTION paper_counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.last > 0 AND NOT EXISTS (SELECT 1 FROM papers WHERE outlet_id = NEW.outlet_id AND kind = NEW.kind AND fy = NEW.fy AND serial = NEW.last)
  THEN PERFORM refuse_commit('paper number without paper', NEW.outlet_id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER paper_counters_counted AFTER UPDATE ON paper_counters DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION paper_counted();

-- The number is taken in the transaction that issues, under the counter's row lock: the next paper of the series waits for this commit, a
-- rollback gives the number back, and no later number bears an earlier time. A paper that is there already is left out and takes none.
-- +goose StatementBegin
CREATE FUNCTION papers_number() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM papers WHERE order_id = NEW.order_id AND cause = NEW.cause AND refund_id IS NOT DISTINCT FROM NEW.refund_id) THEN RETURN NULL; END IF;
  LOOP
    NEW.fy := financial_year(shop_now());
    INSERT INTO paper_counters (outlet_id, kind, fy, last) VALUES (NEW.outlet_id, NEW.kind, NEW.fy, 0) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM paper_counters WHERE outlet_id = NEW.outlet_id AND kind = NEW.kind AND fy = NEW.fy FOR NO KEY UPDATE;
    NEW.issued_at := shop_now();
    EXIT WHEN financial_year(NEW.issued_at) = NEW.fy; -- the year may have turned while we waited
  END LOOP;
  UPDATE paper_counters SET last = last + 1 WHERE outlet_id = NEW.outlet_id AND kind = NEW.kind AND fy = NEW.fy RETURNING last INTO NEW.serial;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER papers_number BEFORE INSERT ON papers FOR EACH ROW EXECUTE FUNCTION papers_number();

-- Lines and taxes come to the paper's value, class by class, and that to the money it stands for.
-- +goose StatementBegin
CREATE FUNCTION papers_add_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE money bigint; taxed record;
BEGIN
  IF NEW.taxable_paise <> (SELECT COALESCE(sum((l->>'taxable_paise')::bigint), 0) FROM jsonb_array_elements(NEW.printed->'lines') l) THEN PERFORM refuse_commit('paper lines do not add up', NEW.order_id); END IF;
  SELECT COALESCE(sum((t->>'taxable_paise')::bigint), 0) AS taxable, COALESCE(sum((t->>'cgst_paise')::bigint), 0) AS cgst, COALESCE(sum((t->>'sgst_paise')::bigint), 0) AS sgst
    INTO taxed FROM jsonb_array_elements(NEW.printed->'taxes') t;
  IF (taxed.cgst, taxed.sgst) IS DISTINCT FROM (NEW.cgst_paise::numeric, NEW.sgst_paise::numeric) OR (NEW.tax_mode = 'regular' AND (taxed.taxable <> NEW.taxable_paise OR EXISTS (
       SELECT 1 FROM (SELECT l->>'tax_class' AS tax_class, sum((l->>'taxable_paise')::bigint) AS paise FROM jsonb_array_elements(NEW.printed->'lines') l GROUP BY 1) l
       FULL JOIN (SELECT t->>'tax_class' AS tax_class, sum((t->>'taxable_paise')::bigint) AS paise FROM jsonb_array_elements(NEW.printed->'taxes') t GROUP BY 1) t USING (tax_class)
       WHERE COALESCE(l.paise, 0) <> COALESCE(t.paise, 0))))
  THEN PERFORM refuse_commit('paper taxes do not add up', NEW.order_id); END IF;
  CASE NEW.cause
    WHEN 'paid' THEN SELECT p.amount_paise INTO money FROM payments p JOIN orders o ON o.paid_payment_id = p.id WHERE o.id = NEW.order_id AND p.disposition = 'kept';
    WHEN 'handed_over' THEN SELECT o.amount_paise + COALESCE(p.customer_fee_paise, 0) - (SELECT COALESCE(sum(amount_paise), 0) FROM counted_shares WHERE payment_id = p.id)
      INTO money FROM orders o LEFT JOIN payments p ON p.id = o.paid_payment_id WHERE o.id = NEW.order_id;
    WHEN 'refund' THEN SELECT amount_paise INTO money FROM refunds WHERE id = NEW.refund_id AND order_id = NEW.order_id;
    ELSE SELECT amount_paise INTO money FROM refunds WHERE id = NEW.refund_id AND order_id = NEW.order_id AND status = 'void';
  END CASE;
  IF NEW.money_paise IS DISTINCT FROM money THEN PERFORM refuse_commit('paper is not about that money', NEW.order_id); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER papers_sums BEFORE INSERT ON papers FOR EACH ROW EXECUTE FUNCTION papers_add_up(); -- after papers_number: triggers run by name

-- The lines of a placed bill. Which class the fees are taxed in is told by what the dishes leave of each class's taxable value.
-- +goose StatementBegin
CREATE FUNCTION paper_bill_lines(o orders) RETURNS jsonb LANGUAGE sql STABLE AS $$
  WITH dishes AS (
    SELECT i.line, i.tax_class, i.line_total_paise - i.discount_paise AS paise, jsonb_build_object('what', 'dish', 'name', i.name,
        'options', COALESCE((SELECT string_agg(x.name, ' · ' ORDER BY x.position) FROM order_item_options x WHERE x.order_id = i.order_id AND x.line = i.line), ''), 'qty', i.qty,
        'unit_paise', i.unit_price_paise + i.options_price_paise, 'discount_paise', i.discount_paise, 'taxable_paise', i.line_total_paise - i.discount_paise,
        'tax_class', CASE o.tax_mode WHEN 'regular' THEN i.tax_class ELSE '' END) AS line_text
    FROM order_items i WHERE i.order_id = o.id),
  fees AS (SELECT t.tax_class, t.taxable_paise - COALESCE((SELECT sum(paise) FROM dishes d WHERE d.tax_class = t.tax_class), 0) AS paise FROM order_taxes t WHERE t.order_id = o.id),
  packed AS (SELECT COALESCE((SELECT tax_class FROM fees WHERE paise >= o.packaging_paise AND paise > 0 ORDER BY paise = o.packaging_paise + o.delivery_paise DESC, paise = o.packaging_paise DESC, tax_class LIMIT 1), '') AS tax_class),
  lines AS (
    SELECT line AS n, line_text FROM dishes
    UNION ALL SELECT 1001, jsonb_build_object('what', 'packaging', 'qty', 1, 'unit_paise', o.packaging_paise, 'discount_paise', 0, 'taxable_paise', o.packaging_paise, 'tax_class', (SELECT tax_class FROM packed)) WHERE o.packaging_paise > 0
    UNION ALL SELECT 1002, jsonb_build_object('what', 'delivery', 'qty', 1, 'unit_paise', o.delivery_paise, 'discount_paise', 0, 'taxable_paise', o.delivery_paise, 'tax_class',
        COALESCE((SELECT tax_class FROM fees WHERE paise - CASE WHEN tax_class = (SELECT tax_class FROM packed) THEN o.packaging_paise ELSE 0 END = o.delivery_paise ORDER BY tax_class LIMIT 1), '')) WHERE o.delivery_paise > 0)
  SELECT COALESCE(jsonb_agg(line_text ORDER BY n), '[]') FROM lines $$;
-- +goose StatementEnd

-- The lines of what a refund gives back: dishes by name where they were named, and one line a tax class for the rest of it.
-- +goose StatementBegin
CREATE FUNCTION paper_share_lines(o orders, of_refund uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
  WITH named AS (
    SELECT l.line, CASE o.tax_mode WHEN 'regular' THEN i.tax_class ELSE '' END AS tax_class, (i.unit_price_paise + i.options_price_paise) * l.qty - l.discount_paise AS paise,
      i.name, l.qty, i.unit_price_paise + i.options_price_paise AS unit_paise, l.discount_paise,
      COALESCE((SELECT string_agg(x.name, ' · ' ORDER BY x.position) FROM order_item_options x WHERE x.order_id = i.order_id AND x.line = i.line), '') AS options
    FROM refund_share_lines l JOIN order_items i ON i.order_id = l.order_id AND i.line = l.line WHERE l.refund_id = of_refund),
  classes AS (
    SELECT tax_class, taxable_paise FROM refund_share_taxes WHERE refund_id = of_refund AND o.tax_mode = 'regular'
    UNION ALL SELECT '', subtotal_paise - discount_paise + packaging_paise + delivery_paise FROM refund_shares WHERE refund_id = of_refund AND o.tax_mode <> 'regular'),
  lines AS (
    SELECT line AS n, tax_class, jsonb_build_object('what', 'dish', 'name', name, 'options', options, 'qty', qty, 'unit_paise', unit_paise, 'discount_paise', discount_paise, 'taxable_paise', paise, 'tax_class', tax_class) AS line_text FROM named
    UNION ALL SELECT 1001, c.tax_class, jsonb_build_object('what', 'part', 'taxable_paise', c.taxable_paise - COALESCE(s.paise, 0), 'tax_class', c.tax_class)
      FROM classes c LEFT JOIN (SELECT tax_class, sum(paise) AS paise FROM named GROUP BY 1) s USING (tax_class) WHERE c.taxable_paise <> COALESCE(s.paise, 0))
  SELECT COALESCE(jsonb_agg(line_text ORDER BY n, tax_class), '[]') FROM lines $$;
-- +goose StatementEnd

-- issue_paper writes the paper that a cause makes due, if there is one to write; models.issuePaper says when. Under the order's lock.
-- +goose StatementBegin
CREATE FUNCTION issue_paper(of_order bigint, why text, of_refund uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE o orders; p payments; r refunds; said papers; invoice papers; part refund_shares; kind text; lines jsonb; taxes jsonb; taxable bigint; total bigint;
BEGIN
  SELECT * INTO o FROM orders WHERE id = of_order;
  SELECT * INTO p FROM payments WHERE id = o.paid_payment_id;
  SELECT * INTO r FROM refunds WHERE id = of_refund;
  SELECT * INTO invoice FROM papers WHERE order_id = of_order AND cause = 'handed_over';
  IF why IN ('refund', 'void') THEN
    SELECT * INTO part FROM refund_shares WHERE refund_id = of_refund;
  ELSE
    SELECT NULL, o.subtotal_paise - COALESCE(sum(s.subtotal_paise), 0), o.discount_paise - COALESCE(sum(s.discount_paise), 0), o.packaging_paise - COALESCE(sum(s.packaging_paise), 0),
      o.delivery_paise - COALESCE(sum(s.delivery_paise), 0), o.cgst_paise - COALESCE(sum(s.cgst_paise), 0), o.sgst_paise - COALESCE(sum(s.sgst_paise), 0), o.tip_paise - COALESCE(sum(s.tip_paise), 0),
      o.round_off_paise - COALESCE(sum(s.round_off_paise), 0), COALESCE(p.customer_fee_paise, 0) - COALESCE(sum(s.customer_fee_paise), 0), 0
      INTO part FROM counted_shares s WHERE s.payment_id = p.id;
  END IF;
  taxable := part.subtotal_paise - part.discount_paise + part.packaging_paise + part.delivery_paise;
  total := taxable + part.cgst_paise + part.sgst_paise + part.round_off_paise;
  IF COALESCE(taxable + part.cgst_paise + part.sgst_paise, 0) <= 0 OR (why = 'paid' AND invoice.id IS NOT NULL) THEN RETURN; END IF; -- nothing of a supply in it; paid after supply

  CASE why
    WHEN 'paid' THEN kind := 'receipt_voucher';
    WHEN 'handed_over' THEN kind := CASE o.tax_mode WHEN 'regular' THEN 'tax_invoice' ELSE 'bill_of_supply' END; SELECT * INTO said FROM papers WHERE order_id = of_order AND cause = 'paid';
    WHEN 'refund' THEN
      IF invoice.id IS NULL THEN kind := 'refund_voucher'; SELECT * INTO said FROM papers WHERE order_id = of_order AND cause = 'paid';
      ELSE kind := 'credit_note'; said := invoice; END IF;
    ELSE
      kind := CASE WHEN invoice.id IS NULL THEN 'receipt_voucher' ELSE 'debit_note' END;
      -- A request that was sent again stands under the paper of the first.
      WITH RECURSIVE chain AS (SELECT id, retry_of FROM refunds WHERE id = of_refund UNION ALL SELECT b.id, b.retry_of FROM refunds b JOIN chain c ON b.id = c.retry_of)
        SELECT q.* INTO said FROM papers q JOIN chain c ON q.refund_id = c.id WHERE q.cause = 'refund' ORDER BY q.id DESC LIMIT 1;
  END CASE;

  IF why IN ('refund', 'void') THEN
    lines := paper_share_lines(o, of_refund);
    IF taxable = o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise THEN lines := paper_bill_lines(o); END IF;
    SELECT COALESCE(jsonb_agg(jsonb_build_object('tax_class', t.tax_class, 'taxable_paise', t.taxable_paise, 'cgst_bp', x.cgst_bp, 'sgst_bp', x.sgst_bp, 'cgst_paise', t.cgst_paise, 'sgst_paise', t.sgst_paise) ORDER BY t.tax_class), '[]')
      INTO taxes FROM refund_share_taxes t JOIN order_taxes x ON x.order_id = of_order AND x.tax_class = t.tax_class WHERE t.refund_id = of_refund;
  ELSE
    lines := paper_bill_lines(o);
    SELECT lines || COALESCE(jsonb_agg(jsonb_build_object('what', 'less', 'name', b.number, 'taxable_paise', CASE b.kind WHEN 'refund_voucher' THEN -b.paise ELSE b.paise END, 'tax_class', b.tax_class) ORDER BY b.id, b.tax_class), '[]') INTO lines
      FROM (SELECT q.id, q.number, q.kind, t->>'tax_class' AS tax_class, (t->>'taxable_paise')::bigint AS paise FROM papers q, jsonb_array_elements(q.printed->'taxes') t WHERE q.order_id = of_order AND q.cause IN ('refund', 'void') AND q.tax_mode = 'regular'
            UNION ALL SELECT q.id, q.number, q.kind, '', q.taxable_paise FROM papers q WHERE q.order_id = of_order AND q.cause IN ('refund', 'void') AND q.tax_mode <> 'regular') b;
    SELECT COALESCE(jsonb_agg(jsonb_build_object('tax_class', l.tax_class, 'taxable_paise', l.taxable_paise, 'cgst_bp', l.cgst_bp, 'sgst_bp', l.sgst_bp, 'cgst_paise', l.cgst_paise, 'sgst_paise', l.sgst_paise) ORDER BY l.tax_class), '[]') INTO taxes
      FROM (SELECT x.tax_class, x.cgst_bp, x.sgst_bp, x.taxable_paise - COALESCE(sum(t.taxable_paise), 0) AS taxable_paise, x.cgst_paise - COALESCE(sum(t.cgst_paise), 0) AS cgst_paise, x.sgst_paise - COALESCE(sum(t.sgst_paise), 0) AS sgst_paise
            FROM order_taxes x LEFT JOIN (SELECT s.payment_id, t.* FROM refund_share_taxes t JOIN counted_shares s USING (refund_id)) t ON t.payment_id = p.id AND t.tax_class = x.tax_class
            WHERE x.order_id = of_order GROUP BY x.order_id, x.tax_class) l WHERE (l.taxable_paise, l.cgst_paise, l.sgst_paise) IS DISTINCT FROM (0::numeric, 0::numeric, 0::numeric);
  END IF;

  INSERT INTO papers (outlet_id, kind, order_id, cause, refund_id, against, tax_mode, taxable_paise, cgst_paise, sgst_paise, round_off_paise, total_paise, tip_paise, customer_fee_paise, money_paise, printed)
  SELECT o.outlet_id, kind, of_order, why, of_refund, said.id, o.tax_mode, taxable, part.cgst_paise, part.sgst_paise, part.round_off_paise, total, part.tip_paise, part.customer_fee_paise,
    total + part.tip_paise + part.customer_fee_paise, jsonb_build_object(
      'seller', COALESCE(said.printed->'seller', jsonb_build_object('name', o.outlet_name, 'legal_name', s.legal_name, 'address', s.address, 'pin', s.pin, 'phone', s.phone,
        'gstin', CASE o.tax_mode WHEN 'unregistered' THEN '' ELSE s.gstin END, 'fssai', s.fssai)),
      'buyer', CASE WHEN o.buyer_gstin <> '' OR total >= 5000000 THEN jsonb_build_object('name', COALESCE(NULLIF(o.buyer_name, ''), o.name), 'gstin', o.buyer_gstin,
        'address', concat_ws(', ', NULLIF(o.line1, ''), NULLIF(o.line2, ''), NULLIF(o.pin, ''))) ELSE '{}' END,
      'lines', lines, 'taxes', taxes, 'order_number', o.number, 'placed_at', o.placed_at, 'coupon', o.coupon, 'method', COALESCE(p.method, ''), 'razorpay_payment_id', COALESCE(p.razorpay_payment_id, ''),
      'reason', COALESCE(r.reason, ''), 'against_number', COALESCE(said.number, ''), 'against_kind', COALESCE(said.kind, ''), 'against_at', said.issued_at)
  FROM outlets s WHERE s.id = o.outlet_id;
END $$;
-- +goose StatementEnd

-- Tickets on paper: the first print is the ticket, every later one a copy.
CREATE TABLE ticket_prints (
  order_id   bigint NOT NULL REFERENCES fulfilments (order_id),
  nth        int NOT NULL CHECK (nth > 0),
  printed_by text NOT NULL,                                                     -- staff:<id>
  printed_at timestamptz NOT NULL DEFAULT shop_now(),
  PRIMARY KEY (order_id, nth)
);
CREATE TRIGGER ticket_prints_keep BEFORE UPDATE OR DELETE ON ticket_prints FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- document_gaps: every row is a series whose numbers are not 1, 2, 3 … up to its counter, with the first that is missing. Empty is good.
CREATE VIEW document_gaps AS
  SELECT s.outlet_id, s.kind, s.fy, s.last, s.issued, s.highest,
    (SELECT min(n) FROM generate_series(1, greatest(s.last, s.highest)) n WHERE NOT EXISTS (SELECT 1 FROM papers p WHERE (p.outlet_id, p.kind, p.fy, p.serial) = (s.outlet_id, s.kind, s.fy, n))) AS first_missing
  FROM (SELECT outlet_id, kind, fy, COALESCE(c.last, 0) AS last, COALESCE(p.issued, 0) AS issued, COALESCE(p.highest, 0) AS highest
        FROM paper_counters c FULL JOIN (SELECT outlet_id, kind, fy, count(*)::int AS issued, max(serial) AS highest FROM papers GROUP BY 1, 2, 3) p USING (outlet_id, kind, fy)) s
  WHERE (s.last, s.last) <> (s.issued, s.highest);

-- What an order's papers say of its supply: the invoice with its notes, or before there is one the advance that is held.
CREATE VIEW paper_sums AS
  SELECT order_id, sum(n * taxable_paise)::bigint AS taxable_paise, sum(n * cgst_paise)::bigint AS cgst_paise, sum(n * sgst_paise)::bigint AS sgst_paise
  FROM (SELECT q.*, CASE WHEN q.kind IN ('refund_voucher', 'credit_note') THEN -1 ELSE 1 END AS n, bool_or(q.cause = 'handed_over') OVER (PARTITION BY q.order_id) AS invoiced FROM papers q) q
  WHERE invoiced = (kind IN ('tax_invoice', 'bill_of_supply', 'credit_note', 'debit_note')) GROUP BY order_id;

ALTER VIEW broken_invariants RENAME TO broken_before_papers;
CREATE VIEW broken_invariants AS
SELECT inv, order_id, detail FROM broken_before_papers
UNION ALL SELECT 'INV-45', NULL, kind || ' of outlet ' || outlet_id || ' in ' || fy || ' has a gap at ' || first_missing FROM document_gaps
UNION ALL SELECT 'INV-46', p.order_id, 'kept payment ' || p.id || ' without receipt' FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.disposition = 'kept' AND o.amount_paise - o.tip_paise - o.round_off_paise > 0
  AND NOT EXISTS (SELECT 1 FROM papers q WHERE q.order_id = p.order_id AND q.cause IN ('paid', 'handed_over'))
UNION ALL SELECT 'INV-46', f.order_id, 'handed over without invoice' FROM fulfilments f JOIN paper_sums s USING (order_id) WHERE f.handed_over_at IS NOT NULL AND s.taxable_paise + s.cgst_paise + s.sgst_paise > 0
  AND NOT EXISTS (SELECT 1 FROM papers q WHERE q.order_id = f.order_id AND q.cause = 'handed_over')
UNION ALL SELECT 'INV-46', r.order_id, 'refund ' || r.id || CASE l.kind WHEN 'refund_requested' THEN ' without its voucher or note' ELSE ' taken back without a paper' END FROM refunds r
  JOIN refund_shares s ON s.refund_id = r.id JOIN ledger_txns l ON l.ref_type = 'refund' AND l.ref_id = r.id::text AND (l.kind = 'refund_requested' OR (l.kind = 'refund_reversed' AND r.status = 'void'))
  WHERE s.subtotal_paise - s.discount_paise + s.packaging_paise + s.delivery_paise + s.cgst_paise + s.sgst_paise > 0
  AND NOT EXISTS (SELECT 1 FROM papers q WHERE q.refund_id = r.id AND q.cause = CASE l.kind WHEN 'refund_requested' THEN 'refund' ELSE 'void' END)
UNION ALL SELECT 'INV-46', q.order_id, 'papers say ' || (q.taxable_paise, q.cgst_paise, q.sgst_paise) || ', bill less refunds says ' || (b.taxable, b.cgst, b.sgst) FROM paper_sums q
  JOIN (SELECT o.id, o.subtotal_paise - o.discount_paise + o.packaging_paise + o.delivery_paise - COALESCE(s.taxable, 0) AS taxable, o.cgst_paise - COALESCE(s.cgst, 0) AS cgst, o.sgst_paise - COALESCE(s.sgst, 0) AS sgst
        FROM orders o LEFT JOIN (SELECT payment_id, sum(subtotal_paise - discount_paise + packaging_paise + delivery_paise)::bigint AS taxable, sum(cgst_paise)::bigint AS cgst, sum(sgst_paise)::bigint AS sgst FROM counted_shares GROUP BY 1) s
        ON s.payment_id = o.paid_payment_id) b ON b.id = q.order_id
  WHERE (q.taxable_paise, q.cgst_paise, q.sgst_paise) <> (b.taxable, b.cgst, b.sgst);
