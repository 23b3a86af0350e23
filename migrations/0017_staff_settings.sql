-- What staff edit on pages of their own (coupons, zones, times), and messages to a customer's browser about an order.

-- +goose Up

-- The version of a row that people edit. A form brings the one it showed; another one by then means that somebody else was first.
ALTER TABLE coupons        ADD COLUMN version int NOT NULL DEFAULT 1;
ALTER TABLE delivery_zones ADD COLUMN version int NOT NULL DEFAULT 1;
ALTER TABLE outlets        ADD COLUMN times_version int NOT NULL DEFAULT 1;             -- of what /staff/times edits

-- A coupon is known by its code in carts, orders and uses: that never becomes another one's, and no coupon is taken away.
-- +goose StatementBegin
CREATE FUNCTION coupons_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' OR (NEW.id, NEW.outlet_id, NEW.code) IS DISTINCT FROM (OLD.id, OLD.outlet_id, OLD.code) THEN PERFORM refuse_fact('coupon'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER coupons_guard BEFORE UPDATE OR DELETE ON coupons FOR EACH ROW EXECUTE FUNCTION coupons_guard();

-- Two zones change places in one statement, so positions are compared when it ends.
ALTER TABLE delivery_zones DROP CONSTRAINT delivery_zones_position_key;
ALTER TABLE delivery_zones ADD CONSTRAINT delivery_zones_position_key UNIQUE (outlet_id, position) DEFERRABLE INITIALLY IMMEDIATE;

-- +goose StatementBegin
CREATE FUNCTION are_corners(polygon jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(bool_and(CASE WHEN jsonb_typeof(c) = 'array' AND jsonb_array_length(c) = 2 AND jsonb_typeof(c->0) = 'number' AND jsonb_typeof(c->1) = 'number'
    THEN (c->>0)::numeric % 1 = 0 AND (c->>1)::numeric % 1 = 0 AND abs((c->>0)::numeric) <= 90000000 AND abs((c->>1)::numeric) <= 180000000 ELSE false END), false)
  FROM jsonb_array_elements(CASE WHEN jsonb_typeof(polygon) = 'array' THEN polygon ELSE '[]' END) c $$;
-- +goose StatementEnd
ALTER TABLE delivery_zones ADD CONSTRAINT delivery_zones_corners_check CHECK (polygon IS NULL OR are_corners(polygon));

CREATE TABLE push_subscriptions (                           -- a browser that wants to hear of one order
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id   bigint NOT NULL REFERENCES orders,
  endpoint   text NOT NULL CHECK (endpoint LIKE 'https://%' AND length(endpoint) <= 2000),  -- its push service's address for it; whoever knows it can be told nothing without the keys
  p256dh     text NOT NULL CHECK (p256dh ~ '^[A-Za-z0-9_-]{87}$'),              -- the browser's public key, an uncompressed point, base64url
  auth       text NOT NULL CHECK (auth ~ '^[A-Za-z0-9_-]{22}$'),                -- and its secret of 16 bytes (RFC 8291)
  language   text NOT NULL DEFAULT 'en-IN' CHECK (length(language) BETWEEN 2 AND 35),  -- of the page it subscribed on
  created_at timestamptz NOT NULL DEFAULT shop_now(),
  CONSTRAINT push_subscriptions_endpoint_key UNIQUE (order_id, endpoint)
);

CREATE TABLE pushes (                                       -- one row per message that goes to one browser once; written with the step it tells of
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription_id bigint NOT NULL REFERENCES push_subscriptions ON DELETE CASCADE,
  step            text NOT NULL CHECK (step IN ('accepted','ready','handed_over','cancelled','refund_processed')),
  ref             text NOT NULL DEFAULT '',                                     -- which refund
  status          text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued','sent','skipped','dead')),
  attempts        int NOT NULL DEFAULT 0,
  queued_at       timestamptz NOT NULL DEFAULT shop_now(),
  next_attempt_at timestamptz NOT NULL DEFAULT shop_now(),
  sent_at         timestamptz,
  last_error      text NOT NULL DEFAULT '',
  CONSTRAINT pushes_step_key UNIQUE (subscription_id, step, ref),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL))
);
CREATE INDEX pushes_open ON pushes (next_attempt_at) WHERE status = 'queued';
