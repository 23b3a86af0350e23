-- What PlaceOrder sends for a cart of two dishes, as payments/statements_test.go counts it. Each client has a customer and a cart of its own; the row
-- that is written is the original order's (:first), with what must be its own.
\set my_session :session + :client_id
\set my_customer :customer + :client_id
\set my_cart :cart + :client_id
SELECT id, outlet_id, customer_id, version FROM carts WHERE id = (SELECT cart_id FROM sessions WHERE id = :my_session);
SELECT id, cart_id, outlet_id, item_id, option_ids, qty, note, seq, seen_paise FROM cart_lines WHERE cart_id = :my_cart ORDER BY id;
SELECT *, shop_now() AS now FROM outlets WHERE id = 1;
SELECT * FROM outlet_hours WHERE outlet_id = 1 ORDER BY weekday, opens_minute;
SELECT * FROM outlet_closures WHERE outlet_id = 1 ORDER BY closed_on;
SELECT opens_at FROM kitchen_slots WHERE outlet_id = 1 AND closed_at IS NOT NULL AND accept_until > shop_now() - interval '2 days';
SELECT DISTINCT ON (tax_class) tax_class, cgst_bp, sgst_bp FROM tax_rates WHERE starts_at <= now() ORDER BY tax_class, starts_at DESC;
SELECT per_order_paise, per_piece_paise, tax_class FROM packaging_fees WHERE outlet_id = 1 AND starts_at <= now() ORDER BY starts_at DESC LIMIT 1;
SELECT up_to_metres, fee_paise, minimum_paise, free_above_paise, tax_class FROM delivery_bands WHERE outlet_id = 1 AND starts_at = (SELECT max(starts_at) FROM delivery_bands WHERE outlet_id = 1 AND starts_at <= now()) ORDER BY up_to_metres;
SELECT * FROM items WHERE outlet_id = 1 ORDER BY position, id;
SELECT * FROM option_groups WHERE item_id = ANY (ARRAY(SELECT id FROM items WHERE outlet_id = 1)) ORDER BY position, id;
SELECT o.* FROM options o JOIN option_groups g ON g.id = o.group_id WHERE g.item_id = ANY (ARRAY(SELECT id FROM items WHERE outlet_id = 1)) ORDER BY o.position, o.id;
SELECT item_id, initial - held - sold AS "left" FROM stock WHERE day = current_date AND item_id = ANY (ARRAY(SELECT id FROM items WHERE outlet_id = 1));
SELECT o.*, p.distance_metres AS listed_metres FROM outlets o LEFT JOIN delivery_pins p ON p.outlet_id = o.id AND p.pin = '560038' WHERE o.id = 1;
SELECT * FROM orders WHERE customer_id = :my_customer AND checkout_key::text = '' LIMIT 1;
SELECT slot_id AS slot, service_on AS day, gen_random_uuid() AS key FROM orders WHERE id = :first \gset
BEGIN;
INSERT INTO kitchen_slots (outlet_id, service_on, opens_at, last_order_at, accept_until) SELECT outlet_id, service_on, opens_at, last_order_at, accept_until FROM kitchen_slots WHERE id = :slot ON CONFLICT (outlet_id, opens_at) DO NOTHING;
UPDATE kitchen_slots SET last_order_at = last_order_at WHERE id = :slot AND last_order_at IS DISTINCT FROM last_order_at;
SELECT * FROM kitchen_slots WHERE id = :slot FOR SHARE;
SELECT 1 FROM customers WHERE id = :my_customer FOR NO KEY UPDATE;
SELECT * FROM orders WHERE customer_id = :my_customer AND checkout_key::text = '' LIMIT 1;
SELECT * FROM orders WHERE cart_id = :my_cart AND status = 'pending' ORDER BY id FOR NO KEY UPDATE;
INSERT INTO order_counters AS c (outlet_id, service_on, last) VALUES (1, :day::date, 1) ON CONFLICT (outlet_id, service_on) DO UPDATE SET last = c.last + 1 RETURNING last AS number \gset
SELECT shop_now();
INSERT INTO orders (public_id, token, number, service_on, outlet_id, slot_id, cart_id, customer_id, checkout_key, checkout_hash, mode, way, tax_mode, subtotal_paise, packaging_paise, delivery_paise, cgst_paise, sgst_paise, round_off_paise, amount_paise,
    name, phone, email, line1, line2, pin, directions, distance_metres, note, outlet_name, prep_minutes, delivery_minutes, hold_expires_at, next_check_at, resolve_by)
  SELECT 't' || md5(:key::text), md5(:key::text), :number::int, service_on, outlet_id, slot_id, 1000000000 + nextval('next_cart'), :my_customer, :key::uuid, checkout_hash, mode, way, tax_mode, subtotal_paise, packaging_paise, delivery_paise, cgst_paise, sgst_paise, round_off_paise, amount_paise,
    name, phone, email, line1, line2, pin, directions, distance_metres, note, outlet_name, prep_minutes, delivery_minutes, hold_expires_at, next_check_at, resolve_by FROM orders WHERE id = :first
  ON CONFLICT (customer_id, checkout_key) DO NOTHING RETURNING id \gset
INSERT INTO order_items (order_id, line, item_id, option_ids, name, mark, art, tint, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise, note)
  SELECT :id, line, item_id, option_ids, name, mark, art, tint, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise, note FROM order_items WHERE order_id = :first;
INSERT INTO order_taxes (order_id, tax_class, taxable_paise, cgst_bp, sgst_bp, cgst_paise, sgst_paise) SELECT :id, tax_class, taxable_paise, cgst_bp, sgst_bp, cgst_paise, sgst_paise FROM order_taxes WHERE order_id = :first;
SELECT id, name FROM items WHERE id = ANY (ARRAY(SELECT item_id FROM order_items WHERE order_id = :first)) AND daily_limit IS NOT NULL ORDER BY id;
UPDATE carts SET updated_at = shop_now() WHERE id = :my_cart;
UPDATE sessions SET checkout_key = checkout_key WHERE id = :my_session;
COMMIT;
