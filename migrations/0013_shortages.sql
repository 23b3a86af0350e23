-- The kitchen runs out of something somebody has ordered: the customer is asked, with a time limit and what happens without an answer.
-- The order's lines stay as they were bought; what became of them stands here. models/shortage.go says what each answer means.

-- +goose Up

CREATE TABLE shortages (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id      bigint NOT NULL,
  line          int NOT NULL,
  qty           int NOT NULL CHECK (qty > 0),                                   -- pieces of the line that cannot be had
  fallback      text NOT NULL CHECK (fallback IN ('drop','cancel')),            -- without an answer
  asked_by      text NOT NULL,                                                  -- staff:<id>
  asked_at      timestamptz NOT NULL DEFAULT shop_now(),
  answer_by     timestamptz NOT NULL,
  answer        text CHECK (answer IN ('swap','drop','cancel','void')),         -- void: the order ended otherwise
  answered_at   timestamptz,
  answered_by   text,                                                           -- customer, or shop: the time was over
  swap_position int,
  owed_paise    bigint CHECK (owed_paise >= 0),                                 -- what the answer gives back of the bill
  refund_id     uuid CONSTRAINT shortages_refund_key UNIQUE,
  FOREIGN KEY (order_id, line) REFERENCES order_items,
  FOREIGN KEY (refund_id, owed_paise) REFERENCES refunds (id, amount_paise),
  CONSTRAINT shortages_time_check CHECK (answer_by > asked_at),
  CONSTRAINT shortages_answered_check CHECK ((answer IS NULL) = (answered_at IS NULL) AND (answer IS NULL) = (answered_by IS NULL) AND (answer IS NOT NULL OR owed_paise IS NULL)),
  CONSTRAINT shortages_swap_check CHECK ((answer IS NOT DISTINCT FROM 'swap') = (swap_position IS NOT NULL)),
  CONSTRAINT shortages_refund_check CHECK (refund_id IS NULL OR (answer IN ('swap','drop') AND owed_paise IS NOT NULL))
);
CREATE UNIQUE INDEX shortages_open_key ON shortages (order_id, line) WHERE answer IS NULL;
CREATE INDEX shortages_due ON shortages (answer_by) WHERE answer IS NULL;

CREATE TABLE shortage_swaps (                               -- what is offered instead, as the menu had it when it was offered
  shortage_id bigint NOT NULL REFERENCES shortages,
  position    int NOT NULL CHECK (position BETWEEN 1 AND 3),
  item_id     bigint NOT NULL,                                                  -- no FK: the dish may be deleted
  name        text NOT NULL,
  mark        text NOT NULL CHECK (mark IN ('veg','egg','nonveg')),
  allergens   text NOT NULL DEFAULT '',                                         -- for people
  price_paise bigint NOT NULL CHECK (price_paise >= 0),
  PRIMARY KEY (shortage_id, position),
  UNIQUE (shortage_id, item_id)
);
ALTER TABLE shortages ADD FOREIGN KEY (id, swap_position) REFERENCES shortage_swaps (shortage_id, position);
CREATE TRIGGER shortages_keep BEFORE DELETE ON shortages FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER shortage_swaps_keep BEFORE UPDATE OR DELETE ON shortage_swaps FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- No more pieces are short than were bought; an answer is final, and what was asked never changes. Writers hold the order's lock.
-- +goose StatementBegin
CREATE FUNCTION shortages_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.qty + (SELECT COALESCE(sum(s.qty), 0) FROM shortages s WHERE s.order_id = NEW.order_id AND s.line = NEW.line AND s.answer IS DISTINCT FROM 'void')
       > (SELECT i.qty FROM order_items i WHERE i.order_id = NEW.order_id AND i.line = NEW.line) THEN PERFORM refuse_commit('more pieces short than bought', NEW.order_id); END IF;
    IF NEW.answer IS NOT NULL THEN PERFORM refuse_edge('shortage', 'new', NEW.answer); END IF;
    RETURN NEW;
  END IF;
  IF OLD.answer IS NOT NULL AND (NEW.answer, NEW.answered_at, NEW.answered_by, NEW.swap_position) IS DISTINCT FROM (OLD.answer, OLD.answered_at, OLD.answered_by, OLD.swap_position) THEN PERFORM refuse_edge('shortage', OLD.answer, NEW.answer); END IF;
  IF (NEW.order_id, NEW.line, NEW.qty, NEW.fallback, NEW.asked_by, NEW.asked_at, NEW.answer_by) IS DISTINCT FROM (OLD.order_id, OLD.line, OLD.qty, OLD.fallback, OLD.asked_by, OLD.asked_at, OLD.answer_by)
     OR (OLD.owed_paise IS NOT NULL AND NEW.owed_paise IS DISTINCT FROM OLD.owed_paise) OR (OLD.refund_id IS NOT NULL AND NEW.refund_id IS DISTINCT FROM OLD.refund_id) THEN PERFORM refuse_fact('shortage'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER shortages_guard BEFORE INSERT OR UPDATE ON shortages FOR EACH ROW EXECUTE FUNCTION shortages_guard();

-- Nobody is asked about an order that has ended.
-- +goose StatementBegin
CREATE FUNCTION orders_shortages() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE shortages SET answer = 'void', answered_at = shop_now(), answered_by = 'shop' WHERE order_id = NEW.id AND answer IS NULL;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_shortages AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (NEW.status IN ('cancelled', 'expired')) EXECUTE FUNCTION orders_shortages();

ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('confirmation','refund_requested','refund_processed','cancelled','shortage'));

ALTER VIEW broken_invariants RENAME TO broken_before_shortages;
CREATE VIEW broken_invariants AS
SELECT inv, order_id, detail FROM broken_before_shortages
UNION ALL SELECT 'INV-47', s.order_id, 'shortage ' || s.id || ' owes ' || s.owed_paise || ' and nothing goes back' FROM shortages s JOIN orders o ON o.id = s.order_id
  WHERE s.answer IN ('swap', 'drop') AND s.refund_id IS NULL AND s.owed_paise > 0 AND o.status = 'paid'
UNION ALL SELECT 'INV-47', s.order_id, 'shortage ' || s.id || ' was answered and says not what it owes' FROM shortages s WHERE s.answer IN ('swap', 'drop') AND s.owed_paise IS NULL
UNION ALL SELECT 'INV-47', s.order_id, 'shortage ' || s.id || ' waits past its time' FROM shortages s WHERE s.answer IS NULL AND s.answer_by < shop_now() - interval '10 minutes'
UNION ALL SELECT 'INV-47', s.order_id, 'cancelled over shortage ' || s.id || ', and the order is ' || o.status FROM shortages s JOIN orders o ON o.id = s.order_id WHERE s.answer = 'cancel' AND o.status <> 'cancelled';
