-- What recordPayment sends when it keeps a payment, as payments/statements_test.go counts it. Each run takes the next order.
SELECT nextval('next_order') * 1000 + :first AS id \gset
SELECT g.razorpay_order_id AS gateway_order, o.amount_paise AS amount, o.slot_id AS slot, o.cart_id AS cart, o.outlet_id AS outlet, o.checkout_key AS key, o.public_id AS receipt FROM gateway_orders g JOIN orders o ON o.id = g.order_id WHERE g.order_id = :id \gset
BEGIN;
SELECT * FROM orders WHERE id = (SELECT order_id FROM gateway_orders WHERE razorpay_order_id = :gateway_order) FOR NO KEY UPDATE;
INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, method, error_code, error_reason, error_description, fee_paise, tax_paise, first_source)
  VALUES ('pay_' || substr(md5(:gateway_order::text), 1, 16), :gateway_order, :id, :amount, 'INR', 'authorized', 'upi', '', '', '', 1175, 179, 'webhook') ON CONFLICT (razorpay_payment_id) DO NOTHING;
SELECT id AS payment FROM payments WHERE razorpay_payment_id = 'pay_' || substr(md5(:gateway_order::text), 1, 16) FOR UPDATE \gset
SELECT * FROM kitchen_slots WHERE id = :slot FOR SHARE;
SELECT shop_now();
UPDATE order_time_holds SET state = 'committed' WHERE order_id = :id AND state = 'held';
SELECT item_id, day, qty, state FROM stock_holds WHERE order_id = :id ORDER BY item_id, day FOR UPDATE;
UPDATE payments SET decided_at = shop_now(), gw_status = 'captured', disposition = 'kept', customer_fee_paise = 0, method = 'upi', error_code = '', error_reason = '', error_description = '' WHERE id = :payment AND disposition IS NULL RETURNING *;
UPDATE orders SET status = 'paid', checks = 0, next_check_at = shop_now() + interval '15 minutes', resolve_by = NULL, paid_payment_id = :payment, paid_at = shop_now() WHERE id = :id AND status = 'pending' RETURNING *;
UPDATE carts SET version = version + 1, updated_at = shop_now() WHERE id = :cart;
DELETE FROM cart_lines l USING order_items i WHERE i.order_id = :id AND l.cart_id = :cart AND l.item_id = i.item_id AND l.option_ids = i.option_ids AND l.qty <= i.qty;
UPDATE cart_lines l SET qty = l.qty - i.qty FROM order_items i WHERE i.order_id = :id AND l.cart_id = :cart AND l.item_id = i.item_id AND l.option_ids = i.option_ids;
UPDATE sessions SET checkout_key = NULL WHERE checkout_key = :key::uuid;
SELECT pg_notify('tiffin', 'board:' || :outlet::text);
SELECT pg_notify('tiffin', 'order:' || :id::text);
INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) VALUES (:id, :payment, :outlet, shop_now() + make_interval(mins => 35)) ON CONFLICT (order_id) DO NOTHING;
WITH txn AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', :payment::text) ON CONFLICT (kind, ref_type, ref_id) DO NOTHING RETURNING id)
  INSERT INTO ledger_entries (txn_id, account, amount_paise) SELECT id, 'gateway_clearing', :amount::bigint FROM txn UNION ALL SELECT id, 'sales', -:amount::bigint FROM txn;
INSERT INTO outbox (kind, ref, order_id, status) VALUES ('confirmation', :receipt, :id, 'queued') ON CONFLICT (kind, ref) DO NOTHING RETURNING id AS letter \gset
INSERT INTO river_job (args, kind, max_attempts, queue, state) VALUES (jsonb_build_object('letter_id', :letter::bigint), 'send_letter', 25, 'default', 'available') RETURNING *;
SELECT pg_notify('tiffin', 'order:' || :id::text);
UPDATE payment_hints SET done_at = shop_now() WHERE razorpay_payment_id = 'pay_' || substr(md5(:gateway_order::text), 1, 16) AND done_at IS NULL;
COMMIT;
