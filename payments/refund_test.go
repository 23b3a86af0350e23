package payments

import (
	"errors"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// paidAndCancelled is an order whose money is owed back: its refund is requested and not sent.
func (s *shop) paidAndCancelled() (*models.Order, standin.Payment) {
	s.t.Helper()
	c := s.newCustomer().add("chicken-tikka", 1)
	o, id := c.open()
	p := s.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	_, err := s.cashier.CancelOrder(s.t.Context(), o.ID, models.ActorCustomer, "changed_mind")
	must(s.t, err)
	return o, p
}

// refundCalls are the create-refund calls that reached the gateway.
func (s *shop) refundCalls() (calls []standin.Request) {
	for _, r := range s.gateway.Requests() {
		if r.Method == "POST" && r.Path != "/v1/orders" {
			calls = append(calls, r)
		}
	}
	return calls
}

func TestSendRefund(t *testing.T) {
	t.Parallel()
	t.Run("S1.15 S1.19 C7 the request's id is receipt and idempotency key, and the money goes back once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p := s.paidAndCancelled()
		id := s.text(`SELECT id::text FROM refunds`)
		for range 3 {
			must(t, s.cashier.SendRefund(t.Context(), id))
		}
		calls := s.refundCalls()
		if len(calls) != 1 || calls[0].IdempotencyKey != id || calls[0].Receipt != id {
			t.Errorf("calls: %s", plain(calls))
		}
		if s.refundedThere(p.ID) != p.AmountPaise || s.text(`SELECT status FROM refunds`) != "processed" {
			t.Errorf("refund is %s", s.text(`SELECT status FROM refunds`))
		}
		s.settled()
	})
	t.Run("S1.41 two senders at once send it once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p := s.paidAndCancelled()
		id := s.text(`SELECT id::text FROM refunds`)
		for _, err := range inParallel(8, func() error { return s.cashier.SendRefund(t.Context(), id) }) {
			must(t, err)
		}
		if len(s.refundCalls()) != 1 || s.refundedThere(p.ID) != p.AmountPaise {
			t.Errorf("%d calls", len(s.refundCalls()))
		}
	})
	// S1.17, S1.20, C075: the answer is lost or the gateway is in trouble; whatever happened there, one refund.
	for _, kind := range []standin.FaultKind{standin.Drop, standin.Truncate, standin.Empty200, standin.HTML502, standin.Reset} {
		for _, lag := range []time.Duration{0, time.Minute} {
			t.Run("S1.20 after "+string(kind)+" with lists lagging "+lag.String(), func(t *testing.T) {
				t.Parallel()
				s := openShop(t, standin.Options{Settings: standin.Settings{RefundsLag: lag}})
				_, p := s.paidAndCancelled()
				s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: kind, Times: 2})
				for range 6 {
					s.sweep()
					s.advance(time.Minute)
				}
				if n := len(s.gateway.Books().RefundsOf(p.ID)); n != 1 || s.refundedThere(p.ID) != p.AmountPaise {
					t.Errorf("%d refunds, %d paise", n, s.refundedThere(p.ID))
				}
				for _, call := range s.refundCalls() {
					if call.IdempotencyKey != s.text(`SELECT id::text FROM refunds`) || call.Body != s.refundCalls()[0].Body {
						t.Error("a retry differs from the first request")
					}
				}
				s.settled()
			})
		}
	}
	t.Run("C011 a low balance waits, tells a person, and is never called refunded", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{LowBalance: true}})
		o, p := s.paidAndCancelled()
		s.sweep()
		if got := s.text(`SELECT status FROM refunds`); got != "requested" || s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'low_balance' AND closed_at IS NULL`) != 1 {
			t.Errorf("refund is %s", got)
		}
		if label := s.label(o); label != "refunding" {
			t.Errorf("people see %q", label)
		}
		s.gateway.Configure(func(st *standin.Settings) { st.LowBalance = false })
		s.advance(2 * time.Minute)
		s.sweep()
		if s.refundedThere(p.ID) != p.AmountPaise || s.label(o) != "refunded" {
			t.Errorf("people see %q", s.label(o))
		}
		s.settled()
	})
	t.Run("C011 a refusal is failed, before a person, with the gateway's reason", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, _ := s.paidAndCancelled()
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block"})
		s.sweep()
		if got := s.text(`SELECT status FROM refunds`); got != "failed" || s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'refund_failed' AND detail LIKE '%dispute%'`) != 1 {
			t.Errorf("refund is %s", got)
		}
		if label := s.label(o); label == "refunded" {
			t.Error("people are told the money is back")
		}
		s.kept()
	})
	t.Run("C011 FP-36 a refund that fails at the bank later is asked for again as a new attempt", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
		o, p := s.paidAndCancelled()
		s.sweep()
		if s.text(`SELECT status FROM refunds`) != "submitted" || s.label(o) != "refunding" {
			t.Fatalf("refund is %s, people see %q", s.text(`SELECT status FROM refunds`), s.label(o))
		}
		first := s.gateway.Books().RefundsOf(p.ID)[0]
		must(t, s.gateway.FailRefund(first.ID))
		for _, e := range s.gateway.Events() {
			if e.RefundID == first.ID {
				must(t, s.receive(t.Context(), e))
			}
		}
		if s.count(`SELECT count(*) FROM refunds`) != 2 || s.count(`SELECT count(*) FROM refunds WHERE status = 'requested' AND retry_of IS NOT NULL`) != 1 {
			t.Fatal("no successor")
		}
		s.kept()
		s.sweep()
		for _, r := range s.gateway.Books().RefundsOf(p.ID) {
			if r.Status == "pending" {
				must(t, s.gateway.SettleRefund(r.ID))
			}
		}
		s.advance(2 * time.Hour)
		s.sweep()
		if s.refundedThere(p.ID) != p.AmountPaise || s.label(o) != "refunded" {
			t.Errorf("%d paise back, people see %q", s.refundedThere(p.ID), s.label(o))
		}
		s.settled()
	})
	t.Run("FP-37 a refund a person made in the dashboard takes the place of ours", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		_, err := s.gateway.RefundOutside(p.ID, p.AmountPaise)
		must(t, err)
		s.sweep()
		if s.refundedThere(p.ID) != p.AmountPaise || s.label(o) != "refunded" {
			t.Errorf("%d of %d paise back, people see %q", s.refundedThere(p.ID), p.AmountPaise, s.label(o))
		}
		if s.count(`SELECT count(*) FROM refunds WHERE status = 'void'`) != 1 || s.count(`SELECT count(*) FROM refunds WHERE kind = 'external' AND status = 'processed'`) != 1 {
			t.Error(s.story(o))
		}
		s.settled()
	})
}

// sharesAddUp fails the test unless the shares of each kept payment's refunds that count come to no more than its bill, part by part, and where
// all of it goes back to exactly the bill.
func (s *shop) sharesAddUp() {
	s.t.Helper()
	for _, part := range []string{"subtotal", "discount", "packaging", "delivery", "cgst", "sgst", "tip", "round_off"} {
		column := part + "_paise"
		if n := s.count(`SELECT count(*) FROM orders o JOIN payments p ON p.id = o.paid_payment_id, LATERAL (SELECT COALESCE(sum(` + column + `), 0)::bigint AS given FROM counted_shares WHERE payment_id = p.id) c
			WHERE c.given > o.` + column + ` AND '` + part + `' <> 'round_off' OR p.refund_reserved_paise >= p.amount_paise - p.customer_fee_paise AND c.given <> o.` + column); n != 0 {
			s.t.Errorf("of %d orders more or less %s was given back than was paid", n, part)
		}
	}
}

// label is what people see of an order's money.
func (s *shop) label(o *models.Order) string {
	s.t.Helper()
	now, err := s.store.FindOrder(s.t.Context(), o.ID)
	must(s.t, err)
	payments, err := s.store.ListPayments(s.t.Context(), o.ID)
	must(s.t, err)
	refunds, err := s.store.ListRefunds(s.t.Context(), o.ID)
	must(s.t, err)
	return models.PaymentLabel(now, payments, refunds)
}

func TestCancelOrder(t *testing.T) {
	t.Parallel()
	t.Run("C053 a customer may until the kitchen accepts, staff until it is handed over", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		cook, err := s.store.CreateStaff(t.Context(), models.Staff{Login: "cook", Name: "Cook", Role: "kitchen", Active: true}, "a long enough password")
		must(t, err)
		c := s.newCustomer().add("chicken-tikka", 1)
		o, id := c.open()
		p := s.pay(standin.PayParams{OrderID: id})
		c.verify(o, id, p.ID)
		_, err = s.store.MoveFulfilment(t.Context(), o.ID, models.TicketQueued, models.TicketAccepted, cook)
		must(t, err)
		if _, err := s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind"); !errors.Is(err, models.ErrTooLate) {
			t.Errorf("customer: %v", err)
		}
		if s.status(o) != models.OrderPaid || s.count(`SELECT count(*) FROM refunds`) != 0 {
			t.Error("half a cancellation")
		}
		_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(cook.ID), "out_of_stock")
		must(t, err)
		s.sweep()
		if s.status(o) != models.OrderCancelled || s.refundedThere(p.ID) != p.AmountPaise {
			t.Errorf("order is %s", s.status(o))
		}
		if s.count(`SELECT count(*) FROM audit WHERE action = 'cancel_order' AND actor = $1`, models.StaffActor(cook.ID)) != 1 || // INV-44
			s.count(`SELECT count(*) FROM status_changes WHERE became = 'cancelled' AND actor = $1`, models.StaffActor(cook.ID)) != 2 { // F23
			t.Error("nobody is named for it")
		}
		s.settled()
	})
	t.Run("cancelling twice, and by two at once, refunds once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		for _, err := range inParallel(8, func() error {
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "too_busy")
			return err
		}) {
			must(t, err)
		}
		s.sweep()
		if s.count(`SELECT count(*) FROM refunds`) != 1 || s.refundedThere(p.ID) != p.AmountPaise {
			t.Errorf("%d refunds", s.count(`SELECT count(*) FROM refunds`))
		}
		s.settled()
	})
	t.Run("the dishes of a cancelled order are on sale again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.limit("chicken-tikka", 1)
		s.paidAndCancelled()
		if s.count(`SELECT initial - held - sold FROM stock`) != 1 {
			t.Error("the portion is gone")
		}
		s.kept()
	})
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	t.Run("C018 C019 the signature is over the raw bytes, with the webhook's secret only", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		body := []byte(`{"entity":"event","event":"payment.captured","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_TESTRAW0000001","entity":"payment","amount":24900,"currency":"INR","status":"captured","order_id":"order_TESTRAW000001","captured":true,"description":"Dosa \/ Vada \u20b9249 & <chutney>","notes":[]}}},  "created_at":1767950000}`)
		const right, ofKeySecret = "c799b0d2db2b07376eb7bd6961f4aa17db3a99d4d63f1843e8b937aa90d173c2", "2d8e36df0a41fffb230a3d96bfa0e1bc087ed713d7d5f2b8471eb58656d36256"
		if fresh, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: body, Signature: right, EventID: "EvRaw000000001"}); !fresh || err != nil {
			t.Errorf("the right one: %v", err)
		}
		for name, d := range map[string]Delivery{
			"of the key's secret": {Body: body, Signature: ofKeySecret, EventID: "EvRaw000000002"},
			"of other bytes":      {Body: append([]byte{' '}, body...), Signature: right, EventID: "EvRaw000000002"},
			"none":                {Body: body, EventID: "EvRaw000000002"},
		} {
			if _, err := s.cashier.ReceiveWebhook(t.Context(), d); !errors.Is(err, ErrBadSignature) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := s.count(`SELECT count(*) FROM webhook_events`); n != 1 { // S3.12
			t.Errorf("%d rows", n)
		}
	})
	t.Run("FP-48 the previous secret works beside the new one", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.cashier.settings.WebhookSecretPrevious = "older"
		body := []byte(`{"entity":"event","event":"invoice.paid","payload":{}}`)
		if fresh, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: body, EventID: "Ev1", Signature: razorpay.SignWebhook("older", body)}); !fresh || err != nil {
			t.Error(err)
		}
	})
	t.Run("S1.8 S1.11 S3.7 C023 one event id is one row and one job, however often and at once", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		_, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		e := c.events(p.ID)["payment.captured"]
		d := Delivery{Body: e.Body, EventID: e.ID, Signature: razorpay.SignWebhook(webhookSecret, e.Body)}
		fresh := 0
		for _, first := range inParallel(20, func() bool {
			first, err := c.cashier.ReceiveWebhook(t.Context(), d)
			if err != nil {
				t.Error(err)
			}
			return first
		}) {
			if first {
				fresh++
			}
		}
		if fresh != 1 || c.count(`SELECT count(*) FROM webhook_events`) != 1 || c.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event'`) != 1 {
			t.Errorf("%d fresh", fresh)
		}
		must(t, c.receive(t.Context(), e))
		c.advance(7 * 24 * time.Hour) // a replay from the dashboard
		if first, err := c.cashier.ReceiveWebhook(t.Context(), d); first || err != nil {
			t.Errorf("after a week: fresh %v, %v", first, err)
		}
		must(t, c.receive(t.Context(), e))
		if tickets, jobs := c.count(`SELECT count(*) FROM fulfilments`), c.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event'`); tickets != 1 || jobs != 1 {
			t.Errorf("after a week: %d tickets, %d jobs", tickets, jobs)
		}
		c.kept()
	})
	t.Run("C1 without a header the body's hash is the id; the same id with another body is kept beside and shown to a person", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		receive := func(id, body string) bool {
			fresh, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: []byte(body), EventID: id, Signature: razorpay.SignWebhook(webhookSecret, []byte(body))})
			must(t, err)
			return fresh
		}
		if !receive("", `{"event":"a.b"}`) || receive("", `{"event":"a.b"}`) || !receive("", `{"event":"a.c"}`) {
			t.Error("bodies without an id are mixed up")
		}
		if !receive("Ev1", `{"event":"a.b"}`) || !receive("Ev1", `{"event":"a.c"}`) || receive("Ev1", `{"event":"a.c"}`) {
			t.Error("a reused id hides another body")
		}
		if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'event_replaced'`) != 1 {
			t.Error("nobody was told")
		}
	})
	t.Run("S1.10 S3.8 when storing fails the event is not there and a repeat works", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		body := []byte(`{"event":"payment.captured"}`)
		d := Delivery{Body: body, EventID: "Ev1", Signature: razorpay.SignWebhook(webhookSecret, body)}
		s.exec(`ALTER TABLE river_job ADD CONSTRAINT broken_for_a_test CHECK (false) NOT VALID`)
		if _, err := s.cashier.ReceiveWebhook(t.Context(), d); err == nil || errors.Is(err, ErrBadSignature) {
			t.Fatalf("stored without its job: %v", err)
		}
		if s.count(`SELECT count(*) FROM webhook_events`) != 0 {
			t.Error("an event without a job")
		}
		s.exec(`ALTER TABLE river_job DROP CONSTRAINT broken_for_a_test`)
		if fresh, err := s.cashier.ReceiveWebhook(t.Context(), d); !fresh || err != nil {
			t.Error(err)
		}
	})
	t.Run("C021 F-foreign events about nothing of ours are closed as ignored", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		stranger := s.pay(standin.PayParams{AmountPaise: 5000}) // a payment link: no order
		for i, body := range []string{
			`{"event":"payment.captured","payload":{"payment":{"entity":{"id":"pay_UNKNOWN0000001","order_id":"order_UNKNOWN00001"}}}}`,
			`{"event":"payment.captured","payload":{"payment":{"entity":{"id":"` + stranger.ID + `","order_id":null}}}}`,
			`{"event":"subscription.charged","payload":{}}`, `{"event":"payment.downtime.started","payload":{}}`, `not json`, `{}`,
			`{"event":"payment.captured","payload":{"payment":{"entity":{"id":"../../orders","notes":{"a":"\u0000"}}}}}`, // C073
		} {
			d := Delivery{Body: []byte(body), EventID: string(rune('a' + i)), Signature: razorpay.SignWebhook(webhookSecret, []byte(body))}
			if _, err := s.cashier.ReceiveWebhook(t.Context(), d); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			must(t, s.cashier.ProcessEvent(t.Context(), s.count(`SELECT max(id) FROM webhook_events`)))
		}
		if n := s.count(`SELECT count(*) FROM webhook_events WHERE status = 'ignored'`); n != 7 {
			t.Errorf("%d ignored", n)
		}
		if s.count(`SELECT count(*) FROM payments`) != 0 {
			t.Error("something was recorded")
		}
	})
	t.Run("S3.13 a failed attempt does not hide the success that follows on the same order", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		for range 2 { // S1.24: fail, fail, success
			failed := c.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow})
			must(t, c.receive(t.Context(), c.events(failed.ID)["payment.failed"]))
		}
		if c.label(o) != "failed" || c.status(o) != models.OrderPending {
			t.Errorf("people see %q", c.label(o))
		}
		p := c.pay(standin.PayParams{OrderID: id})
		must(t, c.receive(t.Context(), c.events(p.ID)["order.paid"]))
		if c.status(o) != models.OrderPaid || c.count(`SELECT count(*) FROM payments`) != 3 || c.label(o) != "paid" {
			t.Errorf("order is %s", c.status(o))
		}
		c.settled()
	})
	t.Run("S3.10 S3.11 the event row names its order", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
		events, err := c.store.ListEventsOf(t.Context(), o.ID)
		if err != nil || len(events) != 1 || events[0].EventType != "payment.captured" || events[0].Status != "processed" {
			t.Errorf("%v %s", err, plain(events))
		}
	})
	t.Run("S1.16 with event deduplication out of the way the effects still happen once", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		_, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		e := c.events(p.ID)["payment.captured"]
		for i := range 4 {
			e.ID = "Other" + string(rune('0'+i))
			must(t, c.receive(t.Context(), e))
		}
		if c.count(`SELECT count(*) FROM fulfilments`) != 1 || c.count(`SELECT count(*) FROM ledger_txns`) != 1 || c.count(`SELECT count(*) FROM outbox`) != 1 {
			t.Error("an effect happened twice")
		}
		c.settled()
	})
	t.Run("FP-22 a silent gateway leaves the event for later; after the last try a person is told and the sweep still finds the money", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		c.gateway.Inject(standin.Fault{Method: "GET", Kind: standin.HTML502})
		if err := c.receive(t.Context(), c.events(p.ID)["payment.captured"]); err == nil {
			t.Fatal("processed without the gateway")
		}
		for range 14 {
			c.advance(2 * time.Hour)
			_, err := c.cashier.SweepEvents(t.Context())
			must(t, err)
		}
		if got := c.text(`SELECT status FROM webhook_events`); got != "dead" || c.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'dead_event'`) != 1 {
			t.Errorf("event is %s", got)
		}
		c.heal()
		if back := c.refundedThere(p.ID); c.status(o) != models.OrderPaid && back != p.AmountPaise {
			t.Errorf("order is %s and %d paise went back", c.status(o), back)
		}
	})
	t.Run("S3.14 C8 events of 89 days stay, those of 91 go, money stays", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		for i, age := range []string{"89 days", "91 days"} {
			body := []byte(`{"event":"a.b"}`)
			_, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: body, EventID: string(rune('a' + i)), Signature: razorpay.SignWebhook(webhookSecret, body)})
			must(t, err)
			s.exec(`UPDATE webhook_events SET received_at = shop_now() - $1::interval WHERE event_id = $2`, age, string(rune('a'+i)))
		}
		purged, err := s.store.PurgeEvents(t.Context())
		if err != nil || purged != 1 || s.text(`SELECT event_id FROM webhook_events`) != "a" {
			t.Errorf("%d purged, %v", purged, err)
		}
	})
}
