-- Letters of an order's steps, each once: accepted, ready to collect, on its way, cancelled without money that goes back.

-- +goose Up

ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('confirmation','refund_requested','refund_processed','cancelled','shortage',
  'complaint_received','complaint_answered','complaint_resolved','review_wanted','sign_in_code','accepted','ready','on_its_way'));
