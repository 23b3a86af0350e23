-- After the food: complaints with a number and two clocks (E-Commerce Rules 2020: acknowledged in 48 hours, put right in a month), and reviews of completed orders.

-- +goose Up

CREATE TABLE complaints (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id   bigint NOT NULL REFERENCES orders,
  outlet_id  bigint NOT NULL REFERENCES outlets,
  number     text NOT NULL CONSTRAINT complaints_number_key UNIQUE CHECK (number ~ '^[1-9][0-9]{6}$'),   -- for people, on the telephone too: seven digits, drawn at random
  kind       text NOT NULL CHECK (kind IN ('missing','wrong','late','quality','payment','other')),
  status     text NOT NULL DEFAULT 'open' CHECK (status IN ('open','acknowledged','resolved')),
  form_key   text NOT NULL CHECK (length(form_key) BETWEEN 16 AND 64),          -- of the form that opened it
  opened_at  timestamptz NOT NULL DEFAULT shop_now(),
  began_at   timestamptz NOT NULL DEFAULT shop_now(),                           -- when the clocks began: opened, or opened again
  acknowledge_by timestamptz NOT NULL, resolve_by timestamptz NOT NULL,         -- the clocks; only complaints_guard writes them
  acknowledged_at timestamptz,
  resolved_at timestamptz,
  outcome    text NOT NULL DEFAULT '' CHECK (outcome IN ('','refunded','made_good','explained','declined')),
  due_at     timestamptz GENERATED ALWAYS AS (CASE status WHEN 'open' THEN acknowledge_by WHEN 'acknowledged' THEN resolve_by END) STORED,  -- the clock that runs out next; NULL: resolved
  CONSTRAINT complaints_form_key UNIQUE (order_id, form_key),
  CONSTRAINT complaints_acknowledged_check CHECK ((status = 'open') = (acknowledged_at IS NULL)),
  CONSTRAINT complaints_resolved_check CHECK ((status = 'resolved') = (resolved_at IS NOT NULL) AND (status = 'resolved') = (outcome <> ''))
);
CREATE UNIQUE INDEX complaints_open_key ON complaints (order_id, kind) WHERE status <> 'resolved';
CREATE INDEX complaints_due ON complaints (due_at) WHERE status <> 'resolved';
CREATE INDEX complaints_resolved ON complaints (resolved_at) WHERE status = 'resolved';

-- +goose StatementBegin
CREATE FUNCTION complaints_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status <> 'open' THEN PERFORM refuse_edge('complaint', 'new', NEW.status); END IF;
  ELSE
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (('open','acknowledged'), ('open','resolved'), ('acknowledged','resolved'), ('resolved','open'))
    THEN PERFORM refuse_edge('complaint', OLD.status, NEW.status); END IF;
    IF (NEW.order_id, NEW.outlet_id, NEW.number, NEW.kind, NEW.form_key, NEW.opened_at) IS DISTINCT FROM (OLD.order_id, OLD.outlet_id, OLD.number, OLD.kind, OLD.form_key, OLD.opened_at)
      OR (NEW.began_at <> OLD.began_at AND NOT (OLD.status = 'resolved' AND NEW.status = 'open')) THEN PERFORM refuse_fact('complaint'); END IF;
  END IF;
  NEW.acknowledge_by := NEW.began_at + interval '48 hours';
  NEW.resolve_by := ((NEW.began_at AT TIME ZONE 'Asia/Kolkata') + interval '1 month') AT TIME ZONE 'Asia/Kolkata';
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER complaints_guard BEFORE INSERT OR UPDATE ON complaints FOR EACH ROW EXECUTE FUNCTION complaints_guard();
CREATE TRIGGER complaints_keep BEFORE DELETE ON complaints FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE complaint_dishes (                             -- what it is about; none: the order
  complaint_id bigint NOT NULL REFERENCES complaints,
  order_id     bigint NOT NULL,
  line         int NOT NULL,
  PRIMARY KEY (complaint_id, line),
  FOREIGN KEY (order_id, line) REFERENCES order_items
);

CREATE TABLE complaint_messages (                           -- what was said, oldest first; the first is the complaint
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  complaint_id bigint NOT NULL REFERENCES complaints,
  author       text NOT NULL CHECK (author ~ '^(customer|staff:[0-9]+)$'),
  body         text NOT NULL,
  form_key     text NOT NULL CHECK (length(form_key) BETWEEN 16 AND 64),
  resolves     boolean NOT NULL DEFAULT false,                                  -- said with the outcome
  written_at   timestamptz NOT NULL DEFAULT shop_now(),
  blanked_at   timestamptz,                                                     -- past its keeping time, or its person wanted it
  CONSTRAINT complaint_messages_form_key UNIQUE (complaint_id, form_key),
  CONSTRAINT complaint_messages_body_check CHECK (length(body) <= 2000 AND (body = '') = (blanked_at IS NOT NULL)),
  CHECK (NOT resolves OR author <> 'customer')
);

-- +goose StatementBegin
CREATE FUNCTION complaint_messages_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.body <> '' OR (NEW.id, NEW.complaint_id, NEW.author, NEW.form_key, NEW.resolves, NEW.written_at) IS DISTINCT FROM (OLD.id, OLD.complaint_id, OLD.author, OLD.form_key, OLD.resolves, OLD.written_at)
  THEN PERFORM refuse_fact('complaint_message'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER complaint_messages_guard BEFORE UPDATE ON complaint_messages FOR EACH ROW EXECUTE FUNCTION complaint_messages_guard();
CREATE TRIGGER complaint_messages_keep BEFORE DELETE ON complaint_messages FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE reviews (
  order_id   bigint CONSTRAINT reviews_order_key PRIMARY KEY REFERENCES fulfilments (order_id),
  outlet_id  bigint NOT NULL REFERENCES outlets,
  stars      int NOT NULL CHECK (stars BETWEEN 1 AND 5),
  body       text NOT NULL DEFAULT '' CHECK (length(body) <= 1000),
  written_at timestamptz NOT NULL DEFAULT shop_now(),
  edited_at  timestamptz,                                                       -- NULL: as first written
  reply      text NOT NULL DEFAULT '' CHECK (length(reply) <= 1000),
  replied_by bigint REFERENCES staff,
  replied_at timestamptz,
  hidden_at  timestamptz,                                                       -- its words are not shown; its stars count all the same
  hidden_by  bigint REFERENCES staff,
  hidden_why text NOT NULL DEFAULT '' CHECK (length(hidden_why) <= 200),
  CONSTRAINT reviews_replied_check CHECK ((reply <> '') = (replied_at IS NOT NULL) AND (replied_at IS NULL) = (replied_by IS NULL)),
  CONSTRAINT reviews_hidden_check CHECK ((hidden_at IS NULL) = (hidden_why = '') AND (hidden_at IS NULL) = (hidden_by IS NULL))
);
CREATE INDEX reviews_outlet ON reviews (outlet_id, written_at) INCLUDE (stars);

-- A review is of food that was handed over and paid for.
-- +goose StatementBegin
CREATE FUNCTION reviews_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' AND NOT EXISTS (SELECT 1 FROM fulfilments f JOIN orders o ON o.id = f.order_id WHERE f.order_id = NEW.order_id AND f.outlet_id = NEW.outlet_id AND f.status = 'handed_over' AND o.status = 'paid') THEN
    RAISE EXCEPTION 'order % is not completed', NEW.order_id USING ERRCODE = '23514', CONSTRAINT = 'reviews_completed_check';
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.order_id, NEW.outlet_id, NEW.written_at) IS DISTINCT FROM (OLD.order_id, OLD.outlet_id, OLD.written_at) THEN PERFORM refuse_fact('review'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER reviews_guard BEFORE INSERT OR UPDATE ON reviews FOR EACH ROW EXECUTE FUNCTION reviews_guard();
CREATE TRIGGER reviews_keep BEFORE DELETE ON reviews FOR EACH ROW EXECUTE FUNCTION refuse_change();

ALTER TABLE outlets ADD COLUMN asks_reviews boolean NOT NULL DEFAULT false;     -- one letter per completed order asks how it was

ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('confirmation','refund_requested','refund_processed','cancelled','shortage',
  'complaint_received','complaint_answered','complaint_resolved','review_wanted'));
