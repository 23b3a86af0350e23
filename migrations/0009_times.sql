-- Promised times: what an outlet can make by when, how much of it is taken, and which order holds it.

-- +goose Up

ALTER TABLE outlets
  ADD COLUMN slot_minutes     int NOT NULL DEFAULT 15 CHECK (slot_minutes IN (10, 15, 20, 30, 60)),  -- width of a promised time; another width counts anew
  ADD COLUMN order_ahead_days int NOT NULL DEFAULT 1 CHECK (order_ahead_days BETWEEN 0 AND 7),       -- while closed: how many days ahead may be ordered for
  ADD COLUMN slot_orders       int CHECK (slot_orders > 0),                                          -- of one promised time; NULL: no limit
  ADD COLUMN slot_items        int CHECK (slot_items > 0),
  ADD COLUMN slot_make_minutes int CHECK (slot_make_minutes > 0);
ALTER TABLE categories ADD COLUMN make_minutes int NOT NULL DEFAULT 0 CHECK (make_minutes BETWEEN 0 AND 240);
ALTER TABLE items      ADD COLUMN make_minutes int CHECK (make_minutes BETWEEN 0 AND 240);           -- the kitchen's work on one; NULL: its category's

ALTER TABLE orders
  ADD COLUMN promised_from timestamptz,                                         -- the window the customer was shown; NULL: a stub, nothing was promised
  ADD COLUMN promised_to   timestamptz,
  ADD COLUMN asap          boolean NOT NULL DEFAULT false,                      -- as soon as possible: the window was not chosen
  ADD CONSTRAINT orders_promise_check CHECK ((promised_from IS NULL) = (promised_to IS NULL) AND promised_from <= promised_to AND (NOT asap OR promised_to IS NOT NULL));
ALTER TABLE fulfilments ADD COLUMN late_minutes int NOT NULL DEFAULT 0 CHECK (late_minutes BETWEEN 0 AND 180);  -- behind the promise, as staff told the customer

CREATE TABLE order_times (                                  -- one promised time of one outlet; a row from its first order on
  outlet_id    bigint NOT NULL REFERENCES outlets,
  starts_at    timestamptz NOT NULL,
  ends_at      timestamptz NOT NULL,
  orders       int NOT NULL CHECK (orders >= 0),                                -- taken: held while paying, or sold
  items        int NOT NULL CHECK (items >= 0),
  make_minutes int NOT NULL CHECK (make_minutes >= 0),
  max_orders int, max_items int, max_make_minutes int,                          -- the outlet's limits when it was taken last; NULL: none
  PRIMARY KEY (outlet_id, starts_at),
  CHECK (ends_at > starts_at),
  CONSTRAINT order_times_max_orders_check CHECK (orders <= max_orders),
  CONSTRAINT order_times_max_items_check CHECK (items <= max_items),
  CONSTRAINT order_times_max_make_minutes_check CHECK (make_minutes <= max_make_minutes)
);

CREATE TABLE order_time_holds (                             -- the states of stock_holds
  order_id     bigint CONSTRAINT order_time_holds_order_key PRIMARY KEY REFERENCES orders,
  outlet_id    bigint NOT NULL,
  starts_at    timestamptz NOT NULL,
  items        int NOT NULL CHECK (items > 0),
  make_minutes int NOT NULL CHECK (make_minutes >= 0),
  state        text NOT NULL DEFAULT 'held' CHECK (state IN ('held','committed','released')),
  expires_at   timestamptz NOT NULL,
  FOREIGN KEY (outlet_id, starts_at) REFERENCES order_times
);
CREATE INDEX order_time_holds_time ON order_time_holds (outlet_id, starts_at);

-- +goose StatementBegin
CREATE FUNCTION order_time_holds_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'held' THEN PERFORM refuse_edge('time hold', 'new', NEW.state); END IF;
    RETURN NEW;
  END IF;
  IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (('held','committed'), ('held','released'), ('released','committed'), ('committed','released'))
  THEN PERFORM refuse_edge('time hold', OLD.state, NEW.state); END IF;
  IF (NEW.order_id, NEW.outlet_id, NEW.starts_at, NEW.items, NEW.make_minutes) IS DISTINCT FROM (OLD.order_id, OLD.outlet_id, OLD.starts_at, OLD.items, OLD.make_minutes) THEN PERFORM refuse_fact('time hold'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER order_time_holds_guard BEFORE INSERT OR UPDATE ON order_time_holds FOR EACH ROW EXECUTE FUNCTION order_time_holds_guard();
CREATE TRIGGER order_time_holds_keep BEFORE DELETE ON order_time_holds FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose StatementBegin
CREATE FUNCTION orders_promise_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF (NEW.promised_from, NEW.promised_to, NEW.asap) IS DISTINCT FROM (OLD.promised_from, OLD.promised_to, OLD.asap) THEN PERFORM refuse_fact('order'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_promise_guard BEFORE UPDATE OF promised_from, promised_to, asap ON orders FOR EACH ROW EXECUTE FUNCTION orders_promise_guard();

-- At COMMIT: what is promised is taken, a paid order has its time for good, a closed one has given it back.
-- +goose StatementBegin
CREATE FUNCTION order_time_complete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE status text; held text;
BEGIN
  SELECT o.status, h.state INTO status, held FROM orders o LEFT JOIN order_time_holds h ON h.order_id = o.id WHERE o.id = NEW.id;
  IF held IS NULL THEN PERFORM refuse_commit('promised time not taken', NEW.id); END IF;
  IF status = 'paid' AND held <> 'committed' THEN PERFORM refuse_commit('paid order without its time', NEW.id); END IF;
  IF status IN ('cancelled', 'expired') AND held <> 'released' THEN PERFORM refuse_commit('closed order holds a time', NEW.id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER orders_time_complete AFTER INSERT OR UPDATE OF status ON orders DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.promised_to IS NOT NULL) EXECUTE FUNCTION order_time_complete();

ALTER VIEW broken_invariants RENAME TO broken_before_times;
CREATE VIEW broken_invariants AS
SELECT inv, order_id, detail FROM broken_before_times
UNION ALL SELECT 'INV-35', NULL, 'more taken of the time ' || starts_at || ' of outlet ' || outlet_id || ' than there is' FROM order_times WHERE orders > max_orders OR items > max_items OR make_minutes > max_make_minutes
UNION ALL SELECT 'INV-36', NULL, 'the time ' || t.starts_at || ' of outlet ' || t.outlet_id || ' is not what the holds say' FROM order_times t
  LEFT JOIN (SELECT outlet_id, starts_at, count(*) AS orders, sum(items) AS items, sum(make_minutes) AS make_minutes FROM order_time_holds WHERE state <> 'released' GROUP BY outlet_id, starts_at) h USING (outlet_id, starts_at)
  WHERE (t.orders, t.items, t.make_minutes) IS DISTINCT FROM (COALESCE(h.orders, 0)::int, COALESCE(h.items, 0)::int, COALESCE(h.make_minutes, 0)::int)
UNION ALL SELECT 'INV-37', h.order_id, 'time is ' || h.state || ', order is ' || o.status FROM order_time_holds h JOIN orders o ON o.id = h.order_id
  WHERE (h.state = 'committed') <> (o.status IN ('paid', 'due')) OR (o.status IN ('cancelled', 'expired') AND h.state <> 'released')
UNION ALL SELECT 'INV-37', o.id, 'promised a time it does not have' FROM orders o WHERE o.promised_to IS NOT NULL AND NOT EXISTS (SELECT 1 FROM order_time_holds h WHERE h.order_id = o.id)
UNION ALL SELECT 'INV-38', order_id, 'time held past its expiry' FROM order_time_holds WHERE state = 'held' AND expires_at < shop_now() - interval '8 minutes';
