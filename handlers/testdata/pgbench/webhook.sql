-- What ReceiveWebhook sends for an event that is new, as payments/statements_test.go counts it.
\set n random(1, 1000000000000)
BEGIN;
INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, body, razorpay_payment_id, razorpay_order_id, razorpay_refund_id, event_at)
  VALUES ('razorpay', 'evt_bench_' || :n::text, sha256(convert_to(:n::text, 'UTF8')), 'payment.captured', convert_to(repeat(md5(:n::text), 40), 'UTF8'), 'pay_BENCH000000001', 'order_BENCH000000001', '', now())
  ON CONFLICT (provider, event_id) DO NOTHING RETURNING id \gset
INSERT INTO river_job (args, kind, max_attempts, queue, state) VALUES (jsonb_build_object('event_id', :id::bigint), 'process_event', 12, 'default', 'available') RETURNING *;
COMMIT;
