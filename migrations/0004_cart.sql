-- Carts: what a removed line leaves behind, and the look-ups that clearing away old visitors needs.

-- +goose Up

-- A change the stepper sent before a line was removed may arrive after it. The removed line's count is kept, so that it is seen to be
-- old and does not bring the line back; whoever removes the line, the stepper, the customer's emptying or the order that bought it.
CREATE TABLE cart_line_removals (
  cart_id    bigint NOT NULL REFERENCES carts ON DELETE CASCADE,
  item_id    bigint NOT NULL REFERENCES items ON DELETE CASCADE,
  option_ids bigint[] NOT NULL,
  seq        bigint NOT NULL CHECK (seq > 0),                                   -- of the stepper's last change that counted
  removed_at timestamptz NOT NULL DEFAULT shop_now(),                           -- after a day nothing can be on its way any more
  PRIMARY KEY (cart_id, item_id, option_ids)
);

-- +goose StatementBegin
CREATE FUNCTION cart_lines_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.seq > 0 AND EXISTS (SELECT 1 FROM carts WHERE id = OLD.cart_id) THEN   -- not when the cart itself goes
    INSERT INTO cart_line_removals AS r (cart_id, item_id, option_ids, seq) VALUES (OLD.cart_id, OLD.item_id, OLD.option_ids, OLD.seq)
    ON CONFLICT (cart_id, item_id, option_ids) DO UPDATE SET seq = GREATEST(r.seq, EXCLUDED.seq), removed_at = EXCLUDED.removed_at;
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER cart_lines_removed AFTER DELETE ON cart_lines FOR EACH ROW EXECUTE FUNCTION cart_lines_removed();

CREATE INDEX carts_customer ON carts (customer_id);
CREATE INDEX sessions_customer ON sessions (customer_id) WHERE customer_id IS NOT NULL;
