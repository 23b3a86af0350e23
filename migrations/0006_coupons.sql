-- Coupons: what each takes off, and how often it was used, in total and per person. Counting is the database's: no writer can forget it.

-- +goose Up

CREATE TABLE coupons (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id     bigint NOT NULL REFERENCES outlets,
  code          text NOT NULL CHECK (code ~ '^[A-Z0-9]{3,20}$'),
  amount_paise  bigint CHECK (amount_paise > 0),                                -- takes so much off the dishes, or
  percent_bp    int CHECK (percent_bp BETWEEN 1 AND 10000),                     -- such a part of them,
  at_most_paise bigint CHECK (at_most_paise > 0),                               -- but no more than this
  minimum_paise bigint NOT NULL DEFAULT 0 CHECK (minimum_paise >= 0),           -- of the item total
  first_order   boolean NOT NULL DEFAULT false,                                 -- only for who has never had an order here
  starts_at     timestamptz NOT NULL DEFAULT '-infinity',
  ends_at       timestamptz NOT NULL DEFAULT 'infinity',                        -- the first moment it is no longer good
  per_person    int NOT NULL DEFAULT 1 CHECK (per_person BETWEEN 1 AND 1000),
  total         int CHECK (total > 0),                                          -- NULL: no limit
  active        boolean NOT NULL DEFAULT true,
  taken         int NOT NULL DEFAULT 0,                                         -- uses that count; kept by coupon_uses_count
  CONSTRAINT coupons_code_key UNIQUE (outlet_id, code),
  CONSTRAINT coupons_taken_check CHECK (taken >= 0 AND (total IS NULL OR taken <= total)),
  CHECK ((amount_paise IS NULL) <> (percent_bp IS NULL)),
  CHECK (at_most_paise IS NULL OR percent_bp IS NOT NULL),
  CHECK (ends_at > starts_at)
);

CREATE TABLE coupon_uses (                                  -- held while the order may be paid, used once it is, released when it is closed
  order_id    bigint PRIMARY KEY REFERENCES orders,
  coupon_id   bigint NOT NULL REFERENCES coupons,
  person      text NOT NULL CHECK (person <> ''),                               -- the telephone number
  nth         int NOT NULL,
  per_person  int NOT NULL,                                                     -- the coupon's, as it was
  first_order boolean NOT NULL,
  state       text NOT NULL DEFAULT 'held' CHECK (state IN ('held','used','released')),
  CONSTRAINT coupon_uses_share_check CHECK (nth BETWEEN 1 AND per_person)
);
CREATE UNIQUE INDEX coupon_uses_person_key ON coupon_uses (coupon_id, person, nth) WHERE state <> 'released';
CREATE UNIQUE INDEX coupon_uses_first_key ON coupon_uses (person) WHERE first_order AND state <> 'released';
CREATE INDEX orders_phone ON orders (phone) WHERE paid_at IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION coupon_uses_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE coupons SET taken = taken + 1 WHERE id = NEW.coupon_id;
  ELSIF OLD.state = 'released' OR (NEW.order_id, NEW.coupon_id, NEW.person, NEW.nth) IS DISTINCT FROM (OLD.order_id, OLD.coupon_id, OLD.person, OLD.nth) THEN
    PERFORM refuse_edge('coupon_use', OLD.state, NEW.state);
  ELSIF NEW.state = 'released' THEN
    UPDATE coupons SET taken = taken - 1 WHERE id = NEW.coupon_id;
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER coupon_uses_count AFTER INSERT OR UPDATE ON coupon_uses FOR EACH ROW EXECUTE FUNCTION coupon_uses_count();
CREATE TRIGGER coupon_uses_keep BEFORE DELETE ON coupon_uses FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose StatementBegin
CREATE FUNCTION orders_coupon() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE coupon_uses SET state = CASE WHEN NEW.status IN ('cancelled', 'expired') THEN 'released' ELSE 'used' END
  WHERE order_id = NEW.id AND state <> CASE WHEN NEW.status IN ('cancelled', 'expired') THEN 'released' ELSE 'used' END;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER orders_coupon AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (NEW.coupon <> '' AND NEW.status <> 'pending') EXECUTE FUNCTION orders_coupon();

-- +goose StatementBegin
CREATE FUNCTION coupon_counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM coupon_uses u JOIN coupons c ON c.id = u.coupon_id WHERE u.order_id = NEW.id AND c.code = NEW.coupon AND c.outlet_id = NEW.outlet_id)
  THEN PERFORM refuse_commit('discount without its coupon', NEW.id); END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER orders_coupon_counted AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.coupon <> '') EXECUTE FUNCTION coupon_counted();
