-- Accounts: codes by email, saved addresses, orders that move from a guest to an account, and people who are blanked. An account is a
-- customers row with an address; nobody needs one.

-- +goose Up

ALTER TABLE customers
  ADD COLUMN account_at timestamptz,                                            -- since when it is an account; NULL: a guest's row
  ADD COLUMN deleted_at timestamptz,                                            -- since when the person is blanked; NULL: is not
  ADD CONSTRAINT customers_account_check CHECK (account_at IS NULL OR deleted_at IS NOT NULL OR length(email) BETWEEN 3 AND 254),
  ADD CONSTRAINT customers_deleted_check CHECK (deleted_at IS NULL OR (account_at IS NOT NULL AND name = '' AND phone = '' AND email = ''));
CREATE UNIQUE INDEX customers_account_key ON customers (email) WHERE account_at IS NOT NULL AND deleted_at IS NULL;  -- in small letters

-- An account never becomes a guest again, nor a deleted one somebody's.
-- +goose StatementBegin
CREATE FUNCTION customers_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF (OLD.account_at IS NOT NULL AND NEW.account_at IS DISTINCT FROM OLD.account_at) OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS DISTINCT FROM OLD.deleted_at)
  THEN PERFORM refuse_fact('customer'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER customers_guard BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION customers_guard();

CREATE TABLE sign_in_codes (                                -- what one browser has asked for; asking again replaces it
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id bigint NOT NULL CONSTRAINT sign_in_codes_session_key UNIQUE REFERENCES sessions ON DELETE CASCADE,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  code_hash  text NOT NULL DEFAULT '',                                          -- argon2id, PHC string; empty: its letter is not written yet
  tries      int NOT NULL DEFAULT 0 CONSTRAINT sign_in_codes_tries_check CHECK (tries BETWEEN 0 AND 5),
  goes_to    text NOT NULL CHECK (goes_to IN ('account','checkout')),           -- the page after signing in
  language   text NOT NULL,                                                     -- of the letter
  asked_at   timestamptz NOT NULL DEFAULT shop_now(),
  expires_at timestamptz NOT NULL
);

CREATE TABLE customer_addresses (                           -- an order keeps its own copy
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer_id bigint NOT NULL REFERENCES customers ON DELETE CASCADE,
  nth         int NOT NULL CONSTRAINT customer_addresses_limit_check CHECK (nth BETWEEN 1 AND 20),
  label       text NOT NULL DEFAULT '' CHECK (length(label) <= 40),
  line1       text NOT NULL CHECK (length(line1) BETWEEN 1 AND 120),
  line2       text NOT NULL DEFAULT '' CHECK (length(line2) <= 120),
  pin         text NOT NULL CHECK (pin ~ '^[1-9][0-9]{5}$'),
  directions  text NOT NULL DEFAULT '' CHECK (length(directions) <= 200),
  is_default  boolean NOT NULL DEFAULT false,
  created_at  timestamptz NOT NULL DEFAULT shop_now(),
  CONSTRAINT customer_addresses_nth_key UNIQUE (customer_id, nth),
  CONSTRAINT customer_addresses_place_key UNIQUE (customer_id, line1, line2, pin)
);
CREATE UNIQUE INDEX customer_addresses_default_key ON customer_addresses (customer_id) WHERE is_default;

-- A letter with a code belongs to no order; its ref is the code's id. The code itself is never in it.
ALTER TABLE outbox ALTER COLUMN order_id DROP NOT NULL, DROP CONSTRAINT outbox_kind_check,
  ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('confirmation','refund_requested','refund_processed','cancelled','shortage','complaint_received','complaint_answered','complaint_resolved','review_wanted','sign_in_code')),
  ADD CONSTRAINT outbox_order_check CHECK ((order_id IS NULL) = (kind = 'sign_in_code'));

-- A person is blanked, the order stays: bill, dishes, payments, dates and the buyer of a tax invoice are as they were.
ALTER TABLE orders ADD COLUMN blanked_at timestamptz,
  DROP CONSTRAINT orders_phone_check, DROP CONSTRAINT orders_address_check,
  ADD CONSTRAINT orders_phone_check CHECK (phone ~ '^\+[0-9]{8,15}$' OR (phone = '' AND (cancel_reason IS NOT DISTINCT FROM 'review' OR blanked_at IS NOT NULL))),
  ADD CONSTRAINT orders_address_check CHECK (way = 'pickup' OR (line1 <> '' AND pin <> '') OR blanked_at IS NOT NULL),
  ADD CONSTRAINT orders_blanked_check CHECK (blanked_at IS NULL OR (name = 'Deleted customer' AND (phone, email, line1, line2, pin, directions, note) = ('', '', '', '', '', '', '')));

-- orders_guard judges every change but two: an order moves once, from a guest to an account, and a person is blanked once, when nothing is
-- open any more. Either changes nothing else.
-- +goose StatementBegin
CREATE FUNCTION orders_person() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE may text[] := '{customer_id,kept}'; BEGIN                               -- kept is generated, after this
  IF NEW.blanked_at IS DISTINCT FROM OLD.blanked_at THEN may := '{blanked_at,name,phone,email,line1,line2,pin,directions,note,kept}'; END IF;
  IF to_jsonb(NEW) - may <> to_jsonb(OLD) - may THEN PERFORM refuse_fact('order'); END IF;
  IF NEW.customer_id <> OLD.customer_id AND (EXISTS (SELECT 1 FROM customers WHERE id = OLD.customer_id AND account_at IS NOT NULL)
     OR NOT EXISTS (SELECT 1 FROM customers WHERE id = NEW.customer_id AND account_at IS NOT NULL AND deleted_at IS NULL)) THEN PERFORM refuse_fact('order'); END IF;
  IF NEW.blanked_at IS DISTINCT FROM OLD.blanked_at AND (OLD.blanked_at IS NOT NULL OR NEW.status IN ('pending', 'due') OR NEW.next_action <> '') THEN PERFORM refuse_fact('order'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
DROP TRIGGER orders_guard ON orders;
CREATE TRIGGER orders_guard BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard();
CREATE TRIGGER orders_guard_update BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NEW.customer_id = OLD.customer_id AND NEW.blanked_at IS NOT DISTINCT FROM OLD.blanked_at) EXECUTE FUNCTION orders_guard();
CREATE TRIGGER orders_person BEFORE UPDATE ON orders FOR EACH ROW
  WHEN (NEW.customer_id <> OLD.customer_id OR NEW.blanked_at IS DISTINCT FROM OLD.blanked_at) EXECUTE FUNCTION orders_person();

-- What a person wrote to the kitchen beside a dish goes with the person; nothing else of a line ever changes.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_TABLE_NAME = 'order_items' AND TG_OP = 'UPDATE' THEN
    IF NEW.note = '' AND to_jsonb(NEW) - 'note' = to_jsonb(OLD) - 'note' AND EXISTS (SELECT 1 FROM orders WHERE id = NEW.order_id AND blanked_at IS NOT NULL) THEN RETURN NEW; END IF;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
-- +goose StatementEnd

-- Whose use of a coupon it was is forgotten with the person; that it was used is not.
-- +goose StatementBegin
CREATE FUNCTION coupon_uses_person() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF to_jsonb(NEW) - 'person' <> to_jsonb(OLD) - 'person' OR NOT EXISTS (SELECT 1 FROM orders WHERE id = NEW.order_id AND blanked_at IS NOT NULL) THEN PERFORM refuse_fact('coupon_use'); END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
DROP TRIGGER coupon_uses_count ON coupon_uses;
CREATE TRIGGER coupon_uses_count AFTER INSERT ON coupon_uses FOR EACH ROW EXECUTE FUNCTION coupon_uses_count();
CREATE TRIGGER coupon_uses_count_update AFTER UPDATE ON coupon_uses FOR EACH ROW WHEN (NEW.person = OLD.person OR NEW.person <> 'order:' || NEW.order_id) EXECUTE FUNCTION coupon_uses_count();
CREATE TRIGGER coupon_uses_person BEFORE UPDATE ON coupon_uses FOR EACH ROW WHEN (NEW.person <> OLD.person AND NEW.person = 'order:' || NEW.order_id) EXECUTE FUNCTION coupon_uses_person();
