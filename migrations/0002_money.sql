-- Money: orders, gateway orders, payments, refunds, stock, ledger, events. The guards are here first, in Go second.

-- +goose Up

CREATE TABLE kitchen_slots (                                -- one service window of one outlet; orders and late money are judged against it
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  outlet_id     bigint NOT NULL REFERENCES outlets,
  service_on    date NOT NULL,
  opens_at      timestamptz NOT NULL,
  last_order_at timestamptz NOT NULL,                                           -- placing ends
  accept_until  timestamptz NOT NULL,                                           -- last order + hold: money after it goes back
  closed_at     timestamptz,                                                    -- staff closed the kitchen early: money after it goes back
  UNIQUE (outlet_id, opens_at), UNIQUE (id, outlet_id),
  CHECK (accept_until >= last_order_at)
);

CREATE TABLE order_counters (                               -- the day's last number; taken in the transaction that places
  outlet_id  bigint NOT NULL REFERENCES outlets,
  service_on date NOT NULL,
  last       int NOT NULL,
  PRIMARY KEY (outlet_id, service_on)
);

CREATE TABLE orders (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  public_id       text NOT NULL CONSTRAINT orders_public_id_key UNIQUE CHECK (length(public_id) BETWEEN 20 AND 36),  -- told to the gateway; receipt = public_id-g<n> ≤ 40
  token           text NOT NULL CONSTRAINT orders_token_key UNIQUE CHECK (length(token) >= 26),                      -- in links; 128 bit
  number          int NOT NULL CHECK (number > 0),                                                                   -- for people
  service_on      date NOT NULL,
  outlet_id       bigint NOT NULL REFERENCES outlets,
  slot_id         bigint NOT NULL,
  cart_id         bigint NOT NULL,                                              -- no FK: a cart may go, the order stays
  customer_id     bigint NOT NULL REFERENCES customers,
  checkout_key    uuid NOT NULL,
  checkout_hash   bytea NOT NULL CHECK (length(checkout_hash) = 32),
  mode            text NOT NULL CHECK (mode IN ('test','live')),                -- of the gateway key it was placed under
  way             text NOT NULL CHECK (way IN ('delivery','pickup')),
  -- the bill, immutable
  currency        text NOT NULL DEFAULT 'INR' CHECK (currency = 'INR'),
  tax_mode        text NOT NULL CHECK (tax_mode IN ('regular','composition','unregistered')),
  subtotal_paise  bigint NOT NULL CHECK (subtotal_paise >= 0),
  discount_paise  bigint NOT NULL DEFAULT 0 CHECK (discount_paise >= 0 AND discount_paise <= subtotal_paise),
  packaging_paise bigint NOT NULL CHECK (packaging_paise >= 0),
  delivery_paise  bigint NOT NULL CHECK (delivery_paise >= 0),
  cgst_paise      bigint NOT NULL CHECK (cgst_paise >= 0),
  sgst_paise      bigint NOT NULL CHECK (sgst_paise >= 0),
  tip_paise       bigint NOT NULL DEFAULT 0 CHECK (tip_paise >= 0),
  round_off_paise bigint NOT NULL DEFAULT 0 CONSTRAINT orders_round_off_check CHECK (round_off_paise BETWEEN -50 AND 50),
  amount_paise    bigint NOT NULL CHECK (amount_paise >= 0),
  -- who and where, snapshots
  name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  phone           text NOT NULL,                                                -- E.164
  email           text NOT NULL DEFAULT '',
  line1           text NOT NULL DEFAULT '',
  line2           text NOT NULL DEFAULT '',
  pin             text NOT NULL DEFAULT '' CHECK (pin = '' OR pin ~ '^[1-9][0-9]{5}$'),
  directions      text NOT NULL DEFAULT '',
  distance_metres int,
  note            text NOT NULL DEFAULT '' CHECK (length(note) <= 500),
  buyer_gstin     text NOT NULL DEFAULT '' CHECK (buyer_gstin = '' OR buyer_gstin ~ '^[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][1-9A-Z]Z[0-9A-Z]$'),  -- for a tax invoice to a business
  buyer_name      text NOT NULL DEFAULT '' CHECK (length(buyer_name) <= 120),   -- the business
  coupon          text NOT NULL DEFAULT '',                                     -- whose discount it is
  outlet_name     text NOT NULL,
  prep_minutes    int NOT NULL,
  delivery_minutes int NOT NULL,
  -- the state
  pays            text NOT NULL DEFAULT 'razorpay' CHECK (pays IN ('razorpay','cash','nothing')),
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending','due','paid','cancelled','expired')),
  cancel_reason   text CHECK (cancel_reason <> ''),
  cancelled_by    text,                                                         -- customer, staff:<id>, shop
  paid_payment_id bigint,
  paid_at         timestamptz,
  closed_at       timestamptz,                                                  -- cancelled or expired
  hold_expires_at timestamptz NOT NULL,
  next_check_at   timestamptz,                                                  -- when the sweep asks the gateway next; NULL: never again
  checks          int NOT NULL DEFAULT 0,
  last_checked_at timestamptz,
  resolve_by      timestamptz,                                                  -- no limbo: by then next_action has happened; kept by triggers (0003)
  next_action     text NOT NULL DEFAULT '' CHECK (next_action IN ('','ask_gateway','send_refund','refund_settles','staff_refunds')),
  placed_at       timestamptz NOT NULL DEFAULT shop_now(),
  CONSTRAINT orders_checkout_key_key UNIQUE (customer_id, checkout_key),
  CONSTRAINT orders_number_key UNIQUE (outlet_id, service_on, number),
  FOREIGN KEY (slot_id, outlet_id) REFERENCES kitchen_slots (id, outlet_id),
  CONSTRAINT orders_total_check CHECK (amount_paise = subtotal_paise - discount_paise + packaging_paise + delivery_paise
                                       + cgst_paise + sgst_paise + tip_paise + round_off_paise),
  CONSTRAINT orders_coupon_check CHECK ((discount_paise > 0) = (coupon <> '')),
  CONSTRAINT orders_tip_check CHECK (tip_paise <= 100000),
  CONSTRAINT orders_untaxed_check CHECK (tax_mode = 'regular' OR (cgst_paise = 0 AND sgst_paise = 0)),
  CONSTRAINT orders_nothing_check CHECK ((pays = 'nothing') = (amount_paise = 0)),
  CONSTRAINT orders_minimum_check CHECK (pays <> 'razorpay' OR amount_paise >= 100),
  CONSTRAINT orders_paid_check CHECK (status <> 'paid' OR pays = 'nothing' OR paid_payment_id IS NOT NULL),
  CONSTRAINT orders_paid_at_check CHECK ((paid_payment_id IS NULL) <= (paid_at IS NULL OR pays = 'nothing') AND (status <> 'paid' OR paid_at IS NOT NULL)),
  CONSTRAINT orders_pending_check CHECK (status <> 'pending' OR next_check_at IS NOT NULL),
  CONSTRAINT orders_unpaid_check CHECK (status NOT IN ('pending','expired','due') OR paid_payment_id IS NULL),
  CONSTRAINT orders_resolve_check CHECK ((resolve_by IS NULL) = (next_action = '')),
  CONSTRAINT orders_closed_check CHECK ((status IN ('cancelled','expired')) = (closed_at IS NOT NULL)),
  CONSTRAINT orders_reason_check CHECK ((status = 'cancelled') = (cancel_reason IS NOT NULL AND cancelled_by IS NOT NULL)),
  CONSTRAINT orders_phone_check CHECK (phone ~ '^\+[0-9]{8,15}$' OR (phone = '' AND cancel_reason IS NOT DISTINCT FROM 'review')),
  CONSTRAINT orders_address_check CHECK (way = 'pickup' OR (line1 <> '' AND pin <> ''))
);
CREATE UNIQUE INDEX orders_one_pending_key ON orders (cart_id) WHERE status = 'pending';
CREATE INDEX orders_due_check ON orders (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX orders_resolve_by ON orders (resolve_by) WHERE resolve_by IS NOT NULL;
CREATE INDEX orders_customer ON orders (customer_id, id);
CREATE INDEX orders_board ON orders (outlet_id, paid_at) WHERE status = 'paid';

CREATE TABLE order_items (                                  -- names and prices as bought; later menu edits never reach them
  order_id            bigint NOT NULL REFERENCES orders,
  line                int NOT NULL CHECK (line > 0),
  item_id             bigint NOT NULL,                                          -- no FK: the dish may be deleted
  option_ids          bigint[] NOT NULL DEFAULT '{}',
  name                text NOT NULL,
  mark                text NOT NULL CHECK (mark IN ('veg','egg','nonveg')),     -- the worst of its parts
  art                 text NOT NULL DEFAULT 'dish',
  tint                text NOT NULL DEFAULT 'curry',
  tax_class           text NOT NULL,
  unit_price_paise    bigint NOT NULL CHECK (unit_price_paise >= 0),
  options_price_paise bigint NOT NULL CHECK (options_price_paise >= 0),
  qty                 int NOT NULL CONSTRAINT order_items_qty_check CHECK (qty BETWEEN 1 AND 20),
  line_total_paise    bigint NOT NULL,
  discount_paise      bigint NOT NULL DEFAULT 0 CHECK (discount_paise BETWEEN 0 AND line_total_paise),   -- its share of the bill's discount
  note                text NOT NULL DEFAULT '' CHECK (length(note) <= 200),
  PRIMARY KEY (order_id, line),
  CONSTRAINT order_items_total_check CHECK (line_total_paise = (unit_price_paise + options_price_paise) * qty)
);

CREATE TABLE order_item_options (
  order_id    bigint NOT NULL,
  line        int NOT NULL,
  position    int NOT NULL,
  option_id   bigint NOT NULL,
  group_name  text NOT NULL,
  name        text NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('variant','addon')),
  price_paise bigint NOT NULL CHECK (price_paise >= 0),
  PRIMARY KEY (order_id, line, position),
  FOREIGN KEY (order_id, line) REFERENCES order_items
);

CREATE TABLE order_taxes (                                  -- one row per tax class: each half rounded by itself, half up
  order_id      bigint NOT NULL REFERENCES orders,
  tax_class     text NOT NULL,
  taxable_paise bigint NOT NULL CHECK (taxable_paise >= 0),
  cgst_bp       int NOT NULL, sgst_bp int NOT NULL,
  cgst_paise    bigint NOT NULL, sgst_paise bigint NOT NULL,
  PRIMARY KEY (order_id, tax_class),
  CONSTRAINT order_taxes_cgst_check CHECK (cgst_paise = (taxable_paise * cgst_bp + 5000) / 10000),
  CONSTRAINT order_taxes_sgst_check CHECK (sgst_paise = (taxable_paise * sgst_bp + 5000) / 10000)
);

-- stock of limited dishes ---------------------------------------------------
CREATE TABLE stock (
  item_id bigint NOT NULL, day date NOT NULL,
  initial int NOT NULL CHECK (initial >= 0),
  held    int NOT NULL DEFAULT 0 CONSTRAINT stock_held_check CHECK (held >= 0),
  sold    int NOT NULL DEFAULT 0 CONSTRAINT stock_sold_check CHECK (sold >= 0),
  option_id bigint NOT NULL DEFAULT 0,                      -- of that choice of the dish; 0: of the dish itself
  PRIMARY KEY (item_id, option_id, day),
  CONSTRAINT stock_left_check CHECK (held + sold <= initial)
);

CREATE TABLE stock_holds (
  order_id   bigint NOT NULL REFERENCES orders,
  item_id    bigint NOT NULL, day date NOT NULL,
  qty        int NOT NULL CHECK (qty > 0),
  state      text NOT NULL DEFAULT 'held' CHECK (state IN ('held','committed','released')),
  expires_at timestamptz NOT NULL,
  option_id  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (order_id, item_id, option_id, day),
  FOREIGN KEY (item_id, option_id, day) REFERENCES stock
);
CREATE INDEX stock_holds_open ON stock_holds (expires_at) WHERE state = 'held';

CREATE TABLE stock_movements (                              -- append-only, written by triggers; Σ = stock
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT shop_now(),
  item_id  bigint NOT NULL, day date NOT NULL, order_id bigint,
  kind     text NOT NULL CHECK (kind IN ('set','hold','release','sell','unsell')),
  initial  int NOT NULL DEFAULT 0, held int NOT NULL DEFAULT 0, sold int NOT NULL DEFAULT 0,  -- deltas
  option_id bigint NOT NULL DEFAULT 0
);
CREATE INDEX stock_movements_item ON stock_movements (item_id, option_id, day);

-- gateway -------------------------------------------------------------------
CREATE TABLE gateway_claims (                               -- who may call create now; it expires
  order_id   bigint NOT NULL REFERENCES orders,
  generation int NOT NULL CHECK (generation > 0),
  attempt    int NOT NULL CHECK (attempt > 0),
  token      uuid NOT NULL CONSTRAINT gateway_claims_token_key UNIQUE,
  receipt    text NOT NULL CONSTRAINT gateway_claims_receipt_check CHECK (length(receipt) <= 40),
  state      text NOT NULL DEFAULT 'open' CHECK (state IN ('open','unknown','attached','rejected','released')),
  claimed_at timestamptz NOT NULL DEFAULT shop_now(),
  expires_at timestamptz NOT NULL,
  resolve_at timestamptz,                                                       -- unknown: when the resolver looks next
  looks      int NOT NULL DEFAULT 0,                                            -- how often it found nothing
  closed_at  timestamptz,
  PRIMARY KEY (order_id, generation, attempt),
  CHECK ((state IN ('open','unknown')) = (closed_at IS NULL)),
  CHECK (state <> 'unknown' OR resolve_at IS NOT NULL)
);
CREATE UNIQUE INDEX gateway_claims_live_key ON gateway_claims (order_id) WHERE state IN ('open','unknown');
CREATE INDEX gateway_claims_due ON gateway_claims (COALESCE(resolve_at, expires_at)) WHERE state IN ('open','unknown');

CREATE TABLE gateway_orders (
  razorpay_order_id text PRIMARY KEY CHECK (razorpay_order_id ~ '^order_[A-Za-z0-9]{10,20}$'),
  order_id      bigint NOT NULL REFERENCES orders,
  generation    int NOT NULL,
  receipt       text NOT NULL CHECK (length(receipt) <= 40),
  amount_paise  bigint NOT NULL CHECK (amount_paise >= 100),
  currency      text NOT NULL,
  state         text NOT NULL CHECK (state IN ('current','superseded')),
  handed_out_at timestamptz,                                                    -- a browser was given this id
  learned_via   text NOT NULL CHECK (learned_via IN ('create','lookup','event','sweep','verify')),
  created_at    timestamptz NOT NULL DEFAULT shop_now(),
  UNIQUE (razorpay_order_id, order_id)
);
CREATE UNIQUE INDEX gateway_orders_current_key ON gateway_orders (order_id) WHERE state = 'current';
CREATE INDEX gateway_orders_order ON gateway_orders (order_id);
CREATE INDEX gateway_orders_receipt ON gateway_orders (receipt);

CREATE TABLE payments (
  id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider            text NOT NULL DEFAULT 'razorpay' CHECK (provider IN ('razorpay','cash')),
  razorpay_payment_id text CONSTRAINT payments_razorpay_payment_id_key UNIQUE,
  razorpay_order_id   text,
  order_id            bigint NOT NULL REFERENCES orders,
  amount_paise        bigint NOT NULL CHECK (amount_paise > 0),
  customer_fee_paise  bigint NOT NULL DEFAULT 0 CHECK (customer_fee_paise >= 0),  -- Razorpay's fee where the customer bears it, part of amount
  currency            text NOT NULL,
  gw_status           text NOT NULL CHECK (gw_status IN ('created','failed','authorized','voided','captured','refunded')),
  method              text NOT NULL DEFAULT '',
  error_code          text NOT NULL DEFAULT '', error_reason text NOT NULL DEFAULT '', error_description text NOT NULL DEFAULT '',
  fee_paise           bigint, tax_paise bigint,                                 -- Razorpay's, NULL until captured; fee includes tax
  disposition         text CHECK (disposition IN ('kept','refund')),
  reason              text CHECK (reason IN ('refunded_at_gateway','amount_mismatch','already_paid','order_cancelled','order_superseded','order_expired',
                                             'kitchen_closed','slot_passed','hold_lapsed','review')),
  decided_at          timestamptz,
  refund_reserved_paise bigint NOT NULL DEFAULT 0 CHECK (refund_reserved_paise >= 0),
  first_source        text NOT NULL CHECK (first_source IN ('verify','callback','webhook','sweep','hint','recon','staff')),
  created_at          timestamptz NOT NULL DEFAULT shop_now(),
  updated_at          timestamptz NOT NULL DEFAULT shop_now(),
  UNIQUE (id, order_id, disposition),
  FOREIGN KEY (razorpay_order_id, order_id) REFERENCES gateway_orders (razorpay_order_id, order_id),
  CONSTRAINT payments_ids_check CHECK ((provider = 'razorpay') = (razorpay_payment_id IS NOT NULL) AND (provider = 'razorpay') = (razorpay_order_id IS NOT NULL)),
  CONSTRAINT payments_decided_check CHECK ((gw_status IN ('captured','refunded')) = (disposition IS NOT NULL)),
  CONSTRAINT payments_decided_at_check CHECK ((disposition IS NULL) = (decided_at IS NULL)),
  CONSTRAINT payments_refund_check CHECK (disposition IS DISTINCT FROM 'refund' OR (reason IS NOT NULL AND refund_reserved_paise = amount_paise)),
  CONSTRAINT payments_reserved_check CHECK (refund_reserved_paise <= amount_paise),
  CONSTRAINT payments_customer_fee_check CHECK (customer_fee_paise = 0 OR disposition IS NOT DISTINCT FROM 'kept')
);
CREATE UNIQUE INDEX payments_one_kept_key ON payments (order_id) WHERE disposition = 'kept';
CREATE INDEX payments_order ON payments (order_id);
CREATE INDEX payments_second ON payments (decided_at) WHERE reason = 'already_paid';
CREATE INDEX payments_decided ON payments (decided_at) WHERE decided_at IS NOT NULL;

ALTER TABLE orders ADD COLUMN kept text GENERATED ALWAYS AS (CASE WHEN paid_payment_id IS NULL THEN NULL ELSE 'kept' END) STORED;
ALTER TABLE orders ADD CONSTRAINT orders_paid_payment_fkey FOREIGN KEY (paid_payment_id, id, kept) REFERENCES payments (id, order_id, disposition);

CREATE TABLE fulfilments (                                  -- the kitchen ticket
  order_id     bigint CONSTRAINT fulfilments_order_key PRIMARY KEY REFERENCES orders,
  payment_id   bigint CONSTRAINT fulfilments_payment_key UNIQUE,                -- NULL only where nothing is paid
  outlet_id    bigint NOT NULL REFERENCES outlets,
  kept         text GENERATED ALWAYS AS (CASE WHEN payment_id IS NULL THEN NULL ELSE 'kept' END) STORED,
  status       text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued','accepted','preparing','ready','handed_over','cancelled')),
  promised_at  timestamptz NOT NULL,                                            -- prepared (pickup) or delivered by
  queued_at    timestamptz NOT NULL DEFAULT shop_now(),
  accepted_at  timestamptz, preparing_at timestamptz, ready_at timestamptz, handed_over_at timestamptz, cancelled_at timestamptz,
  FOREIGN KEY (payment_id, order_id, kept) REFERENCES payments (id, order_id, disposition)
);
CREATE INDEX fulfilments_board ON fulfilments (queued_at) WHERE status IN ('queued','accepted','preparing','ready');
CREATE INDEX fulfilments_handed_over ON fulfilments (handed_over_at) WHERE status = 'handed_over';
CREATE INDEX fulfilments_cancelled ON fulfilments (cancelled_at) WHERE status = 'cancelled';

CREATE TABLE refunds (
  id                 uuid PRIMARY KEY,                                          -- = idempotency header = receipt
  payment_id         bigint NOT NULL REFERENCES payments,
  order_id           bigint NOT NULL REFERENCES orders,
  amount_paise       bigint NOT NULL CHECK (amount_paise > 0),
  kind               text NOT NULL CHECK (kind IN ('auto','cancel','staff','external')),
  reason             text NOT NULL CHECK (reason <> ''),
  requested_by       text NOT NULL,                                             -- shop, customer, staff:<id>, razorpay
  speed              text NOT NULL DEFAULT 'normal' CHECK (speed IN ('normal','optimum')),
  retry_of           uuid CONSTRAINT refunds_retry_of_key UNIQUE REFERENCES refunds,
  status             text NOT NULL DEFAULT 'requested' CHECK (status IN ('requested','submitted','processed','failed','void')),
  razorpay_refund_id text CONSTRAINT refunds_razorpay_refund_id_key UNIQUE,
  razorpay_status    text NOT NULL DEFAULT '',                                  -- Razorpay's own word
  bank_reference     text NOT NULL DEFAULT '',                                  -- arn, rrn or utr
  attempts           int NOT NULL DEFAULT 0,
  next_attempt_at    timestamptz NOT NULL DEFAULT shop_now(),                   -- requested: next try; submitted: next look
  lease_token        uuid, lease_until timestamptz,
  last_error         text NOT NULL DEFAULT '',
  requested_at       timestamptz NOT NULL DEFAULT shop_now(),
  hold_until         timestamptz,                                               -- not sent before: staff may look first (money no order of ours asked for)
  submitted_at       timestamptz, processed_at timestamptz, failed_at timestamptz,
  UNIQUE (id, amount_paise),
  CONSTRAINT refunds_known_check CHECK (status NOT IN ('submitted','processed') OR razorpay_refund_id IS NOT NULL),
  CHECK ((lease_token IS NULL) = (lease_until IS NULL))
);
CREATE UNIQUE INDEX refunds_one_auto_key ON refunds (payment_id) WHERE kind = 'auto' AND retry_of IS NULL;
CREATE INDEX refunds_payment ON refunds (payment_id);
CREATE INDEX refunds_order ON refunds (order_id);
CREATE INDEX refunds_due ON refunds (next_attempt_at) WHERE status IN ('requested','submitted');

CREATE TABLE refund_shares (                                -- what of the bill a refund of a kept payment gives back; never changes
  refund_id        uuid PRIMARY KEY,
  subtotal_paise   bigint NOT NULL CHECK (subtotal_paise >= 0),
  discount_paise   bigint NOT NULL CHECK (discount_paise >= 0 AND discount_paise <= subtotal_paise),
  packaging_paise  bigint NOT NULL CHECK (packaging_paise >= 0),
  delivery_paise   bigint NOT NULL CHECK (delivery_paise >= 0),
  cgst_paise       bigint NOT NULL CHECK (cgst_paise >= 0),
  sgst_paise       bigint NOT NULL CHECK (sgst_paise >= 0),
  tip_paise        bigint NOT NULL CHECK (tip_paise >= 0),
  round_off_paise  bigint NOT NULL CHECK (round_off_paise BETWEEN -100 AND 100),  -- the bill's, and the paisa no tax can be cut to
  customer_fee_paise bigint NOT NULL CHECK (customer_fee_paise >= 0),           -- Razorpay's fee that the customer bore, when that went back too
  amount_paise     bigint NOT NULL,
  CONSTRAINT refund_shares_refund_fkey FOREIGN KEY (refund_id, amount_paise) REFERENCES refunds (id, amount_paise),
  CONSTRAINT refund_shares_total_check CHECK (amount_paise = subtotal_paise - discount_paise + packaging_paise + delivery_paise + cgst_paise + sgst_paise
                                              + tip_paise + round_off_paise + customer_fee_paise)
);
CREATE TABLE refund_share_taxes (                           -- the share's tax, by class
  refund_id     uuid NOT NULL REFERENCES refund_shares,
  tax_class     text NOT NULL,
  taxable_paise bigint NOT NULL CHECK (taxable_paise >= 0),
  cgst_paise    bigint NOT NULL CHECK (cgst_paise >= 0), sgst_paise bigint NOT NULL CHECK (sgst_paise >= 0),
  PRIMARY KEY (refund_id, tax_class)
);
CREATE TABLE refund_share_lines (                           -- dishes that were given back by name
  refund_id      uuid NOT NULL REFERENCES refund_shares,
  order_id       bigint NOT NULL,
  line           int NOT NULL,
  qty            int NOT NULL CHECK (qty > 0),
  discount_paise bigint NOT NULL CHECK (discount_paise >= 0),
  PRIMARY KEY (refund_id, line),
  FOREIGN KEY (order_id, line) REFERENCES order_items
);

CREATE TABLE settlement_items (                             -- what Razorpay says it paid out, line by line; append-only
  entity_id      text PRIMARY KEY,                                              -- pay_…, rfnd_…, adj_…
  kind           text NOT NULL,                                                 -- payment, refund, adjustment, …: Razorpay's word
  settlement_id  text NOT NULL,
  utr            text NOT NULL DEFAULT '',
  amount_paise   bigint NOT NULL,                                               -- of the payment or refund
  fee_paise      bigint NOT NULL,                                               -- Razorpay's, tax_paise included
  tax_paise      bigint NOT NULL,
  credit_paise   bigint NOT NULL,                                               -- to us
  debit_paise    bigint NOT NULL,                                               -- from us
  settled_at     timestamptz NOT NULL,
  payment_id     bigint REFERENCES payments,
  refund_id      uuid REFERENCES refunds,
  dispute_id     text,                                                          -- the lost dispute an adjustment takes money for; none of the three: not of this shop's making
  recorded_at    timestamptz NOT NULL DEFAULT shop_now()
);
CREATE UNIQUE INDEX settlement_items_payment_key ON settlement_items (payment_id) WHERE kind = 'payment';
CREATE UNIQUE INDEX settlement_items_refund_key ON settlement_items (refund_id) WHERE kind = 'refund';
CREATE INDEX settlement_items_settled ON settlement_items (settled_at);

CREATE TABLE ledger_txns (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind     text NOT NULL CHECK (kind IN ('capture','refund_requested','refund_settled','refund_reversed','settlement')),
  ref_type text NOT NULL CHECK (ref_type IN ('payment','refund','settlement_item')),
  ref_id   text NOT NULL,
  at       timestamptz NOT NULL DEFAULT shop_now(),
  CONSTRAINT ledger_txns_ref_key UNIQUE (kind, ref_type, ref_id)
);
CREATE TABLE ledger_entries (                               -- double entry: + debit, − credit
  txn_id       bigint NOT NULL REFERENCES ledger_txns,
  account      text NOT NULL CHECK (account IN ('gateway_clearing','sales','sales_returns','output_cgst','output_sgst','tips','round_off','customer_fees',
                                                'refunds_payable','gateway_fees','gateway_fee_tax','bank','disputes')),
  amount_paise bigint NOT NULL CHECK (amount_paise <> 0),
  PRIMARY KEY (txn_id, account)
);
CREATE INDEX ledger_entries_account ON ledger_entries (account);

-- what we were told ----------------------------------------------------------
CREATE TABLE webhook_events (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider        text NOT NULL,
  event_id        text NOT NULL,                                                -- the header's; '<id>#<sha256>' when the same id came with another body
  body_sha256     bytea NOT NULL,
  event_type      text NOT NULL,                                                -- verbatim: payment.captured
  body            bytea,                                                        -- raw bytes; stripped of personal fields on day 7, row gone on day 90
  stripped_at     timestamptz,                                                  -- from then on body is only what is allowed to stay; body_sha256 is still of what came
  razorpay_payment_id text NOT NULL DEFAULT '', razorpay_order_id text NOT NULL DEFAULT '', razorpay_refund_id text NOT NULL DEFAULT '',
  order_ref       bigint,                                                       -- the order it turned out to be about
  status          text NOT NULL DEFAULT 'received' CHECK (status IN ('received','processed','ignored','dead')),
  attempts        int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT shop_now(),
  last_error      text NOT NULL DEFAULT '',
  event_at        timestamptz,
  received_at     timestamptz NOT NULL DEFAULT shop_now(),
  processed_at    timestamptz,
  alerted_at      timestamptz,
  CONSTRAINT webhook_events_event_key UNIQUE (provider, event_id),
  CHECK (status <> 'dead' OR alerted_at IS NOT NULL),
  CHECK ((status IN ('processed','ignored')) = (processed_at IS NOT NULL))
);
CREATE INDEX webhook_events_open ON webhook_events (next_attempt_at) WHERE status = 'received';
CREATE INDEX webhook_events_order ON webhook_events (order_ref) WHERE order_ref IS NOT NULL;
CREATE INDEX webhook_events_received ON webhook_events (received_at);
CREATE INDEX webhook_events_unstripped ON webhook_events (received_at) WHERE stripped_at IS NULL;
CREATE INDEX webhook_events_gateway_order ON webhook_events (razorpay_order_id);
CREATE INDEX webhook_events_payment ON webhook_events (razorpay_payment_id);

CREATE TABLE gateway_fetches (                              -- what the gateway answered about a payment, the first time each road heard it; append-only
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT shop_now(),
  order_id bigint NOT NULL REFERENCES orders,
  razorpay_payment_id text NOT NULL,
  via      text NOT NULL,                                                       -- the road, as payments.first_source
  answer   text NOT NULL,                                                       -- its state at the gateway, in our words
  CONSTRAINT gateway_fetches_answer_key UNIQUE (razorpay_payment_id, via, answer)
);
CREATE INDEX gateway_fetches_order ON gateway_fetches (order_id);

CREATE TABLE disputes (                                     -- what a bank asks back on its customer's word
  razorpay_dispute_id text PRIMARY KEY CHECK (razorpay_dispute_id ~ '^disp_[A-Za-z0-9]{10,20}$'),
  payment_id     bigint NOT NULL REFERENCES payments,
  order_id       bigint NOT NULL REFERENCES orders,
  amount_paise   bigint NOT NULL CHECK (amount_paise >= 0),
  deducted_paise bigint NOT NULL DEFAULT 0 CHECK (deducted_paise >= 0),         -- what it has cost: 0 unless lost
  currency       text NOT NULL,
  reason_code    text NOT NULL DEFAULT '', phase text NOT NULL DEFAULT '',
  status         text NOT NULL CHECK (status <> ''),                            -- Razorpay's word: open, under_review, won, lost, closed
  respond_by     timestamptz,                                                   -- NULL: Razorpay names no deadline
  opened_at      timestamptz,                                                   -- by Razorpay's clock
  recorded_at    timestamptz NOT NULL DEFAULT shop_now()
);
CREATE INDEX disputes_order ON disputes (order_id);
ALTER TABLE settlement_items ADD CONSTRAINT settlement_items_dispute_fkey FOREIGN KEY (dispute_id) REFERENCES disputes;

CREATE TABLE payment_hints (                                -- a browser told us while the gateway was away: ask again
  razorpay_payment_id text PRIMARY KEY,
  order_id        bigint NOT NULL REFERENCES orders,
  attempts        int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT shop_now(),
  created_at      timestamptz NOT NULL DEFAULT shop_now(),
  done_at         timestamptz
);
CREATE INDEX payment_hints_order ON payment_hints (order_id);
CREATE INDEX payment_hints_open ON payment_hints (next_attempt_at) WHERE done_at IS NULL;

CREATE TABLE outbox (                                       -- one row per letter that goes out once; its job sets sent_at
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind     text NOT NULL CHECK (kind IN ('confirmation','refund_requested','refund_processed','cancelled')),
  ref      text NOT NULL,
  order_id bigint NOT NULL REFERENCES orders,
  status   text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued','sent','skipped','dead')),
  attempts int NOT NULL DEFAULT 0,
  queued_at timestamptz NOT NULL DEFAULT shop_now(),
  next_attempt_at timestamptz NOT NULL DEFAULT shop_now(),
  sent_at  timestamptz,
  last_error text NOT NULL DEFAULT '',
  CONSTRAINT outbox_letter_key UNIQUE (kind, ref),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL))
);
CREATE INDEX outbox_open ON outbox (next_attempt_at) WHERE status = 'queued';
CREATE INDEX outbox_order ON outbox (order_id);

CREATE TABLE recon_breaks (                                 -- money at the gateway that is not (yet) ours
  ref        text PRIMARY KEY,
  detail     text NOT NULL,
  amount_paise bigint,
  found_at   timestamptz NOT NULL DEFAULT shop_now(),
  closed_at  timestamptz
);

CREATE TABLE staff_tasks (                                  -- the attention list, normally empty
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind     text NOT NULL,
  ref      text NOT NULL,
  order_id bigint REFERENCES orders,
  detail   text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT shop_now(),
  closed_at timestamptz,
  closed_by bigint REFERENCES staff
);
CREATE UNIQUE INDEX staff_tasks_open_key ON staff_tasks (kind, ref) WHERE closed_at IS NULL;
CREATE INDEX staff_tasks_order ON staff_tasks (order_id) WHERE order_id IS NOT NULL;

CREATE TABLE audit (                                        -- who did what, append-only
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT shop_now(),
  actor    text NOT NULL,                                                       -- shop, customer, staff:<id>
  action   text NOT NULL,
  order_id bigint REFERENCES orders,
  detail   text NOT NULL DEFAULT ''
);
CREATE INDEX audit_order ON audit (order_id) WHERE order_id IS NOT NULL;

CREATE TABLE status_changes (                               -- history of orders, payments, refunds, tickets; append-only, written by triggers
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT shop_now(),
  subject    text NOT NULL CHECK (subject IN ('order','payment','refund','fulfilment','dispute')),
  subject_id text NOT NULL,
  order_id   bigint NOT NULL,
  was        text,                                                              -- NULL: made
  became     text NOT NULL,
  actor      text NOT NULL                                                      -- set_config('tiffin.actor'), else shop
);
CREATE INDEX status_changes_order ON status_changes (order_id);
