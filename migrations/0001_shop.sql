-- The shop: outlets, people, menu, carts. Money follows in 0002.
-- Conventions: *_paise is int64 paise (1/100 rupee), *_bp is basis points (250 = 2.5 %), *_at is an instant, *_on a service day in Asia/Kolkata.

-- +goose Up

-- shop_now is the one clock a row's fate hangs on (holds, claims, due work, expiry). Tests replace it; nothing else does.
-- +goose StatementBegin
CREATE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;
-- +goose StatementEnd

-- service_day: the calendar day in India an instant belongs to; a kitchen open past midnight still sells that day's stock until 04:00.
-- +goose StatementBegin
CREATE FUNCTION service_day(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE AS
$$ SELECT ((at AT TIME ZONE 'Asia/Kolkata') - interval '4 hours')::date $$;
-- +goose StatementEnd

CREATE TABLE outlets (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slug             text NOT NULL CONSTRAINT outlets_slug_key UNIQUE CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  tagline          text NOT NULL DEFAULT '',
  legal_name       text NOT NULL DEFAULT '',
  address          text NOT NULL,
  pin              text NOT NULL CHECK (pin ~ '^[1-9][0-9]{5}$'),
  phone            text NOT NULL CHECK (phone ~ '^\+[0-9]{8,15}$'),
  email            text NOT NULL DEFAULT '',
  latitude_e6      int CHECK (latitude_e6 BETWEEN -90000000 AND 90000000),      -- degrees × 10⁶; NULL: distance by PIN list only
  longitude_e6     int CHECK (longitude_e6 BETWEEN -180000000 AND 180000000),
  gstin            text NOT NULL DEFAULT '' CHECK (gstin = '' OR gstin ~ '^[0-9]{2}[A-Z0-9]{13}$'),
  grievance_name   text NOT NULL DEFAULT '' CHECK (length(grievance_name) <= 80),   -- whom to complain to, with what they are here
  grievance_contact text NOT NULL DEFAULT '' CHECK (length(grievance_contact) <= 120),  -- email or telephone
  fssai            text NOT NULL DEFAULT '' CHECK (fssai = '' OR fssai ~ '^[0-9]{14}$'),
  tax_mode         text NOT NULL DEFAULT 'regular' CHECK (tax_mode IN ('regular','composition','unregistered')),
  rounds_to_rupee  boolean NOT NULL DEFAULT true,
  accepts_orders   boolean NOT NULL DEFAULT true,                               -- the board's switch: false pauses new orders, paid ones go on
  offers_delivery  boolean NOT NULL DEFAULT true,
  offers_pickup    boolean NOT NULL DEFAULT true,
  prep_minutes     int NOT NULL DEFAULT 20 CHECK (prep_minutes BETWEEN 1 AND 240),
  delivery_minutes int NOT NULL DEFAULT 20 CHECK (delivery_minutes BETWEEN 0 AND 240),
  last_order_minutes int NOT NULL DEFAULT 15 CHECK (last_order_minutes BETWEEN 0 AND 240),  -- before closing; placing ends then
  hold_minutes     int NOT NULL DEFAULT 15 CHECK (hold_minutes BETWEEN 5 AND 60),           -- how long Pay reserves limited dishes
  active           boolean NOT NULL DEFAULT true,
  CHECK ((latitude_e6 IS NULL) = (longitude_e6 IS NULL)),
  CHECK (tax_mode <> 'regular' OR gstin <> '')
);

CREATE TABLE outlet_hours (                                 -- several windows a day; a window may end past midnight
  outlet_id     bigint NOT NULL REFERENCES outlets,
  weekday       int NOT NULL CHECK (weekday BETWEEN 0 AND 6),                   -- 0 = Sunday
  opens_minute  int NOT NULL CHECK (opens_minute BETWEEN 0 AND 1439),           -- minutes after midnight, India time
  closes_minute int NOT NULL CHECK (closes_minute <= 1680),                     -- up to 04:00 next day
  PRIMARY KEY (outlet_id, weekday, opens_minute),
  CHECK (closes_minute > opens_minute)
);

CREATE TABLE outlet_closures (                              -- whole days without service
  outlet_id bigint NOT NULL REFERENCES outlets,
  closed_on date NOT NULL,
  reason    text NOT NULL DEFAULT '',
  PRIMARY KEY (outlet_id, closed_on)
);

-- Rates and fees: rows with a start; the one in force is the latest that has begun.
CREATE TABLE tax_rates (
  tax_class text NOT NULL CHECK (tax_class ~ '^[a-z_]+$'),
  starts_at timestamptz NOT NULL,
  cgst_bp   int NOT NULL CHECK (cgst_bp BETWEEN 0 AND 5000),
  sgst_bp   int NOT NULL CHECK (sgst_bp BETWEEN 0 AND 5000),
  PRIMARY KEY (tax_class, starts_at)
);

CREATE TABLE packaging_fees (
  outlet_id       bigint NOT NULL REFERENCES outlets,
  starts_at       timestamptz NOT NULL,
  per_order_paise bigint NOT NULL CHECK (per_order_paise >= 0),
  per_piece_paise bigint NOT NULL CHECK (per_piece_paise >= 0),
  tax_class       text NOT NULL DEFAULT 'restaurant',
  PRIMARY KEY (outlet_id, starts_at)
);

CREATE TABLE delivery_bands (                               -- all rows with the latest begun starts_at are the tariff in force
  outlet_id         bigint NOT NULL REFERENCES outlets,
  starts_at         timestamptz NOT NULL,
  up_to_metres      int NOT NULL CHECK (up_to_metres > 0),
  fee_paise         bigint NOT NULL CHECK (fee_paise >= 0),
  minimum_paise     bigint NOT NULL DEFAULT 0 CHECK (minimum_paise >= 0),       -- of the item total
  free_above_paise  bigint CHECK (free_above_paise > 0),                        -- NULL: never free
  tax_class         text NOT NULL DEFAULT 'restaurant',
  PRIMARY KEY (outlet_id, starts_at, up_to_metres)
);

CREATE TABLE delivery_pins (                                -- the owner's list: how far each PIN code is
  outlet_id       bigint NOT NULL REFERENCES outlets,
  pin             text NOT NULL CHECK (pin ~ '^[1-9][0-9]{5}$'),
  distance_metres int NOT NULL CHECK (distance_metres >= 0),
  PRIMARY KEY (outlet_id, pin)
);

CREATE TABLE categories (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id bigint NOT NULL REFERENCES outlets,
  slug      text NOT NULL,
  name      text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  tint      text NOT NULL DEFAULT 'curry' CHECK (tint IN ('starter','curry','green','rice','bread','south','sweet','drink')),
  position  int NOT NULL DEFAULT 0,
  UNIQUE (outlet_id, slug), UNIQUE (id, outlet_id)
);

CREATE TABLE items (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id       bigint NOT NULL REFERENCES outlets,
  category_id     bigint NOT NULL,
  slug            text NOT NULL CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  description     text NOT NULL DEFAULT '' CHECK (length(description) <= 500),
  mark            text NOT NULL CHECK (mark IN ('veg','egg','nonveg')),
  art             text NOT NULL DEFAULT 'dish',
  tint            text NOT NULL DEFAULT '' CHECK (tint IN ('','starter','curry','green','rice','bread','south','sweet','drink')),
  price_paise     bigint NOT NULL CHECK (price_paise BETWEEN 0 AND 100000000),
  tax_class       text NOT NULL DEFAULT 'restaurant',
  bestseller      boolean NOT NULL DEFAULT false,
  spice           int NOT NULL DEFAULT 0 CHECK (spice BETWEEN 0 AND 3),
  daily_limit     int CHECK (daily_limit >= 0),                                 -- NULL: not limited; else that day's stock.initial
  available       boolean NOT NULL DEFAULT true,                                -- false: off the menu until switched on
  eighty_sixed_until timestamptz,                                               -- sold out until then
  position        int NOT NULL DEFAULT 0,
  archived_at     timestamptz,
  UNIQUE (id, outlet_id),
  CONSTRAINT items_slug_key UNIQUE (outlet_id, slug),
  FOREIGN KEY (category_id, outlet_id) REFERENCES categories (id, outlet_id)
);

CREATE TABLE option_groups (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item_id  bigint NOT NULL REFERENCES items ON DELETE CASCADE,
  name     text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  kind     text NOT NULL CHECK (kind IN ('variant','addon')),                   -- a variant's price replaces the dish's, an addon's is added
  min_pick int NOT NULL DEFAULT 0 CHECK (min_pick >= 0),
  max_pick int NOT NULL CHECK (max_pick BETWEEN 1 AND 20),
  position int NOT NULL DEFAULT 0,
  CHECK (min_pick <= max_pick),
  CHECK (kind <> 'variant' OR (min_pick = 1 AND max_pick = 1))
);
CREATE UNIQUE INDEX option_groups_one_variant_key ON option_groups (item_id) WHERE kind = 'variant';
CREATE INDEX option_groups_item ON option_groups (item_id);

CREATE TABLE options (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  group_id    bigint NOT NULL REFERENCES option_groups ON DELETE CASCADE,
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  price_paise bigint NOT NULL CHECK (price_paise BETWEEN 0 AND 100000000),
  mark        text NOT NULL CHECK (mark IN ('veg','egg','nonveg')),
  available   boolean NOT NULL DEFAULT true,
  position    int NOT NULL DEFAULT 0
);
CREATE INDEX options_group ON options (group_id);

CREATE TABLE staff (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id     bigint REFERENCES outlets,                                      -- NULL: all outlets
  login         text NOT NULL CONSTRAINT staff_login_key UNIQUE CHECK (login = lower(login) AND length(login) BETWEEN 3 AND 254),
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  role          text NOT NULL CHECK (role IN ('owner','manager','kitchen')),
  password_hash text NOT NULL,                                                  -- argon2id, PHC string
  active        boolean NOT NULL DEFAULT true,
  created_at    timestamptz NOT NULL DEFAULT shop_now()
);

CREATE TABLE login_attempts (                               -- one row per failed try; counted per login and per address
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject text NOT NULL,                                                        -- 'login:<sha256>' or 'ip:<sha256>', never the thing itself
  at      timestamptz NOT NULL DEFAULT shop_now()
);
CREATE INDEX login_attempts_subject ON login_attempts (subject, at);

CREATE TABLE customers (                                    -- a guest has a row too, or UNIQUE(customer, key) would not bind
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL DEFAULT '' CHECK (length(name) <= 80),
  phone      text NOT NULL DEFAULT '' CHECK (phone = '' OR phone ~ '^\+[0-9]{8,15}$'),
  email      text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL DEFAULT shop_now()
);

CREATE TABLE carts (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id   bigint NOT NULL REFERENCES outlets,
  customer_id bigint NOT NULL REFERENCES customers,
  version     bigint NOT NULL DEFAULT 0,                                        -- +1 at each change of what it would cost; placing checks it
  coupon      text NOT NULL DEFAULT '' CHECK (coupon = '' OR coupon ~ '^[A-Z0-9]{3,20}$'),  -- as typed; whether it helps is judged at each pricing
  tip_paise   bigint NOT NULL DEFAULT 0 CHECK (tip_paise BETWEEN 0 AND 100000),
  latitude_e6  int CHECK (latitude_e6 BETWEEN -90000000 AND 90000000),          -- of the browser, where the customer gave it: degrees × 10⁶
  longitude_e6 int CHECK (longitude_e6 BETWEEN -180000000 AND 180000000),
  updated_at  timestamptz NOT NULL DEFAULT shop_now(),
  UNIQUE (id, outlet_id),
  CHECK ((latitude_e6 IS NULL) = (longitude_e6 IS NULL))
);

CREATE TABLE cart_lines (                                   -- ids and quantities; a price is never trusted from here
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cart_id     bigint NOT NULL,
  outlet_id   bigint NOT NULL,
  item_id     bigint NOT NULL,
  option_ids  bigint[] NOT NULL DEFAULT '{}',                                   -- sorted, no repeats
  qty         int NOT NULL CONSTRAINT cart_lines_qty_check CHECK (qty BETWEEN 1 AND 20),
  note        text NOT NULL DEFAULT '' CHECK (length(note) <= 200),
  seq         bigint NOT NULL DEFAULT 0,                                        -- the stepper's counter; an older one is ignored
  seen_paise  bigint NOT NULL CHECK (seen_paise >= 0),                          -- price of one when added, only to say that it changed
  added_at    timestamptz NOT NULL DEFAULT shop_now(),
  CONSTRAINT cart_lines_line_key UNIQUE (cart_id, item_id, option_ids),
  FOREIGN KEY (cart_id, outlet_id) REFERENCES carts (id, outlet_id) ON DELETE CASCADE,
  FOREIGN KEY (item_id, outlet_id) REFERENCES items (id, outlet_id)
);

CREATE TABLE sessions (                                     -- cookie carries the token, the row its SHA-256
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash   bytea NOT NULL CONSTRAINT sessions_token_key UNIQUE CHECK (length(token_hash) = 32),
  customer_id  bigint REFERENCES customers,                                     -- NULL: a staff session
  staff_id     bigint REFERENCES staff,
  cart_id      bigint REFERENCES carts ON DELETE SET NULL,
  checkout_key uuid,                                                            -- the idempotency key; NULL: none minted since the last change
  created_at   timestamptz NOT NULL DEFAULT shop_now(),
  expires_at   timestamptz NOT NULL,
  CHECK ((customer_id IS NULL) <> (staff_id IS NULL))
);
CREATE INDEX sessions_cart ON sessions (cart_id) WHERE cart_id IS NOT NULL;
CREATE INDEX sessions_checkout_key ON sessions (checkout_key) WHERE checkout_key IS NOT NULL;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE settings (                                     -- facts about this installation, one row a name
  name  text PRIMARY KEY,
  value text NOT NULL
);
