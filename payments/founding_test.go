package payments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// What the founding texts claim of the whole path and no other test shows: each test or part is named by its row.

// elsewhere is a cashier over a database pool of its own, as another process has it. Closing gives the pool back.
func (s *shop) elsewhere(log *slog.Logger) (other *Cashier, closing func()) {
	s.t.Helper()
	at, err := url.Parse(s.store.Pool().Config().ConnString())
	must(s.t, err)
	query := at.Query()
	query.Set("application_name", "elsewhere")
	at.RawQuery = query.Encode()
	store, err := models.Open(s.t.Context(), at.String(), 12)
	must(s.t, err)
	return New(store, s.cashier.gateway, s.cashier.settings, log), func() { must(s.t, store.Close()) }
}

// numbers compares what some queries give with what they must.
func (s *shop) numbers(want map[string]int64) {
	s.t.Helper()
	for query, n := range want {
		if got := s.count(query); got != n {
			s.t.Errorf("%s: %d, want %d", query, got, n)
		}
	}
}

// S1.1, S1.44, S4.3: three harms, each by three causes. A shop that lived through the cause shows none of them.
func TestHarms(t *testing.T) {
	t.Parallel()
	for _, cause := range []struct {
		name string
		tell func(c *customer, o *models.Order, id string, p standin.Payment, names ...string)
		back func(c *customer, refundID string)
	}{
		{"duplicate webhooks", func(c *customer, _ *models.Order, _ string, p standin.Payment, names ...string) {
			for _, name := range names {
				e := c.events(p.ID)[name]
				for i := range 3 {
					must(c.t, c.receive(c.t.Context(), e))
					e.ID = fmt.Sprintf("%s%d", c.events(p.ID)[name].ID, i) // and under an id of its own
				}
			}
		}, func(c *customer, _ string) {
			c.sweep()
			for range 3 {
				for _, e := range c.gateway.Events() {
					if e.RefundID != "" {
						must(c.t, c.receive(c.t.Context(), e))
					}
				}
			}
		}},
		{"retried calls", func(c *customer, o *models.Order, id string, p standin.Payment, _ ...string) {
			c.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502, Times: 2})
			for try := range 5 {
				_, err := c.cashier.VerifyCheckout(c.t.Context(), o, c.slip(id, p.ID), models.ViaVerify)
				if (try < 2) != errors.Is(err, ErrUnconfirmed) || try >= 2 && err != nil {
					c.t.Errorf("try %d: %v", try, err)
				}
			}
		}, func(c *customer, refundID string) {
			c.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Drop, Times: 2})
			for range 5 {
				_ = c.cashier.SendRefund(c.t.Context(), refundID) // the first ones must fail
				c.advance(time.Minute)
			}
		}},
		{"concurrent paths", func(c *customer, o *models.Order, id string, p standin.Payment, names ...string) {
			c.exec(`UPDATE orders SET next_check_at = shop_now()`)
			work := make(chan func() error, 9)
			for range 3 {
				work <- func() error {
					_, err := c.cashier.VerifyCheckout(c.t.Context(), o, c.slip(id, p.ID), models.ViaVerify)
					return err
				}
				work <- func() error { return c.receive(c.t.Context(), c.events(p.ID)[names[0]]) }
				work <- func() error { _, err := c.cashier.Reconcile(c.t.Context()); return err }
			}
			for _, err := range inParallel(cap(work), func() error { return (<-work)() }) {
				must(c.t, err)
			}
		}, func(c *customer, refundID string) {
			for _, err := range inParallel(8, func() error { return c.cashier.SendRefund(c.t.Context(), refundID) }) {
				must(c.t, err)
			}
		}},
	} {
		t.Run(cause.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			s.limit("chicken-tikka", 10)
			c := s.newCustomer().add("chicken-tikka", 1)
			o, id := c.open()
			failed := c.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow})
			p := c.pay(standin.PayParams{OrderID: id})
			cause.tell(c, o, id, p, "payment.captured", "order.paid")
			t.Run("an order shipped twice", func(t *testing.T) {
				s.numbers(map[string]int64{`SELECT count(*) FROM fulfilments`: 1, `SELECT sold FROM stock`: 1, `SELECT count(*) FROM stock_movements WHERE kind = 'sell'`: 1,
					`SELECT count(*) FROM outbox`: 1, `SELECT count(*) FROM river_job WHERE kind = 'send_letter'`: 1})
			})
			t.Run("a paid order marked failed", func(t *testing.T) {
				cause.tell(c, o, id, failed, "payment.failed")
				if c.status(o) != models.OrderPaid || c.label(o) != "paid" {
					t.Errorf("order is %s, people see %q", c.status(o), c.label(o))
				}
			})
			t.Run("a customer credited twice", func(t *testing.T) {
				s.numbers(map[string]int64{`SELECT count(*) FROM ledger_txns WHERE kind = 'capture'`: 1, `SELECT sum(amount_paise)::bigint FROM ledger_entries WHERE account = 'gateway_clearing'`: p.AmountPaise})
				_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
				must(t, err)
				cause.back(c, s.text(`SELECT id::text FROM refunds`))
				if back := c.refundedThere(p.ID); back != p.AmountPaise || len(c.gateway.Books().RefundsOf(p.ID)) != 1 {
					t.Errorf("%d of %d paise went back", back, p.AmountPaise)
				}
				s.numbers(map[string]int64{`SELECT count(*) FROM ledger_txns`: 3, `SELECT sum(amount_paise)::bigint FROM ledger_entries WHERE account = 'gateway_clearing'`: 0})
			})
			s.settled()
		})
	}
}

// S1.4, S1.39, S2.51, S3.16: a webhook asks nobody. While everything downstream hangs it is stored and answered, and its repeats too.
func TestReceivingAsksNobody(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o, id := c.open()
	p := c.pay(standin.PayParams{OrderID: id})
	e := c.events(p.ID)["payment.captured"]
	c.gateway.Inject(standin.Fault{Kind: standin.Stall})
	asked := len(c.gateway.Requests())
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // what the door allows; the gateway gives up after 5 s
	defer cancel()
	for i := range 5 {
		fresh, err := c.cashier.ReceiveWebhook(ctx, Delivery{Body: e.Body, EventID: e.ID, Signature: razorpay.SignWebhook(webhookSecret, e.Body)})
		if err != nil || fresh != (i == 0) {
			t.Fatalf("delivery %d: fresh %v, %v", i, fresh, err)
		}
	}
	if n := len(c.gateway.Requests()); n != asked {
		t.Errorf("%d calls were made", n-asked)
	}
	c.numbers(map[string]int64{`SELECT count(*) FROM webhook_events WHERE status = 'received'`: 1, `SELECT count(*) FROM river_job WHERE kind = 'process_event'`: 1, `SELECT count(*) FROM payments`: 0})
	c.gateway.ClearFaults()
	must(t, c.receive(t.Context(), e))
	if c.status(o) != models.OrderPaid {
		t.Errorf("order is %s", c.status(o))
	}
}

// S1.10, S3.4, S3.8, C2, C10: the event's row is the first write of its transaction and its job the next; a repeat raises no violation.
func TestEventAndJobAreOneTransaction(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	body := []byte(`{"event":"payment.captured"}`)
	d := Delivery{Body: body, EventID: "Ev1", Signature: razorpay.SignWebhook(webhookSecret, body)}
	_, err := s.cashier.ReceiveWebhook(t.Context(), d)
	must(t, err)
	if got := s.text(`SELECT (e.xmin = j.xmin) || ' ' || e.cmin || ' ' || (j.cmin::text::int > e.cmin::text::int) FROM webhook_events e, river_job j`); got != "true 0 true" {
		t.Errorf("one transaction, place in it, job after it: %s", got)
	}
	if got := s.text(`SELECT status || COALESCE(processed_at::text, ' and no time') FROM webhook_events`); got != "received and no time" {
		t.Error(got)
	}
	must(t, s.store.InTx(t.Context(), func(tx *models.Store) error { // in a transaction a violation would end everything after it
		e := models.Event{Provider: "razorpay", EventID: "Ev1", EventType: "payment.captured", Body: body}
		for range 2 {
			if fresh, err := tx.RecordEvent(t.Context(), &e); fresh || err != nil {
				t.Errorf("%v %v", fresh, err)
			}
		}
		_, err := tx.Now(t.Context())
		return err
	}))
}

// address is one more at which the gateway answers.
func (s *shop) address() string {
	server := httptest.NewServer(s.gateway)
	s.t.Cleanup(server.Close)
	return server.URL
}

// rewording puts a proxy before the gateway that changes words in its answers.
func (s *shop) rewording(words ...string) *Cashier {
	s.t.Helper()
	target, err := url.Parse(s.address())
	must(s.t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Set("Accept-Encoding", "identity") },
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			body = []byte(strings.NewReplacer(words...).Replace(string(body)))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	s.t.Cleanup(server.Close)
	return s.another(server.URL)
}

// S1.23, S1.25, S2.26: the gateway's words are created, attempted, paid for orders and created, authorized, captured, refunded, failed for
// payments. One we do not know breaks nothing and is never taken for money.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	t.Run("S1.25 a payment in an unknown state is not paid, and is asked about until it is known", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		odd := c.rewording(`"status":"captured"`, `"status":"on_hold"`)
		after, err := odd.VerifyCheckout(t.Context(), o, c.slip(id, p.ID), models.ViaVerify)
		must(t, err)
		if after.Status != models.OrderPending || c.text(`SELECT gw_status FROM payments`) != "created" {
			t.Errorf("order is %s, payment %s", after.Status, c.text(`SELECT gw_status FROM payments`))
		}
		c.kept()
		c.heal()
		if c.status(o) != models.OrderPaid {
			t.Errorf("order is %s", c.status(o))
		}
	})
	t.Run("S1.23 a gateway order in an unknown state is attached and can be paid", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		odd := c.rewording(`"status":"created"`, `"status":"reviewing"`)
		id, err := odd.OpenGatewayOrder(t.Context(), o)
		must(t, err)
		p := c.pay(standin.PayParams{OrderID: id})
		if got := c.verify(o, id, p.ID); got.Status != models.OrderPaid {
			t.Errorf("order is %s", got.Status)
		}
	})
	t.Run("a refund in an unknown state is not back yet", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, _ := s.paidAndCancelled()
		must(t, s.rewording(`"status":"processed"`, `"status":"queued_at_bank"`).SendRefund(t.Context(), s.text(`SELECT id::text FROM refunds`)))
		if s.text(`SELECT status || ' ' || razorpay_status FROM refunds`) != "submitted queued_at_bank" || s.label(o) != "refunding" {
			t.Errorf("refund is %s, people see %q", s.text(`SELECT status FROM refunds`), s.label(o))
		}
		s.kept()
		s.heal()
		if s.label(o) != "refunded" {
			t.Errorf("people see %q", s.label(o))
		}
	})
	for word, want := range map[string]string{"created": "created", "authorized": "authorized", "captured": "captured", "failed": "failed", "": "created", "CAPTURED": "created", "paid": "created"} {
		if got := gwStatus(razorpay.Payment{Status: word, Captured: true}); got != want {
			t.Errorf("%q is read as %q, want %q", word, got, want)
		}
	}
	if gwStatus(razorpay.Payment{Status: "refunded", Captured: true}) != "refunded" || gwStatus(razorpay.Payment{Status: "refunded"}) != "voided" {
		t.Error("S1.28 refunded without ever having been captured is voided")
	}
}

// S1.5, S1.27, S1.42, S1.43, C024: the endpoint is dead for longer than the gateway tries.
func TestLongSilence(t *testing.T) {
	t.Parallel()
	t.Run("S1.5 26 hours without a webhook or a browser: every order is paid by the sweep within minutes", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		for range 5 {
			o, id := s.newCustomer().add("samosa", 2).open()
			s.pay(standin.PayParams{OrderID: id})
			s.advance(61 * time.Second)
			s.sweep()
			if s.status(o) != models.OrderPaid {
				t.Errorf("order is %s", s.status(o))
			}
			s.advance(6 * time.Hour)
			s.sweep()
		}
		s.settled()
	})
	t.Run("S1.5 C024 24 hours without a webhook or a browser, whatever happened at the bank: the sweep alone settles every order", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		type order struct {
			o   *models.Order
			gid string
		}
		orders := map[string]order{}
		for _, name := range []string{"paid", "failed, then paid", "failed, then late yes", "paid twice", "cancelled while paying", "never paid"} {
			o, id := s.newCustomer().add("samosa", 2).open()
			orders[name] = order{o, id}
		}
		s.pay(standin.PayParams{OrderID: orders["paid"].gid})
		s.pay(standin.PayParams{OrderID: orders["failed, then paid"].gid, Outcome: standin.FailNow})
		s.pay(standin.PayParams{OrderID: orders["failed, then late yes"].gid, Outcome: standin.FailThenLate, After: 9 * time.Minute})
		s.pay(standin.PayParams{OrderID: orders["paid twice"].gid})
		s.pay(standin.PayParams{OrderID: orders["paid twice"].gid})
		waiting := s.pay(standin.PayParams{OrderID: orders["cancelled while paying"].gid, Outcome: standin.Pend})
		for minute := range 30 {
			switch minute {
			case 2:
				_, err := s.cashier.CancelOrder(t.Context(), orders["cancelled while paying"].o.ID, models.ActorCustomer, "changed my mind")
				must(t, err)
			case 3:
				must(t, s.gateway.SucceedLate(waiting.ID))
			case 4:
				s.pay(standin.PayParams{OrderID: orders["failed, then paid"].gid})
			}
			s.advance(time.Minute)
			s.sweep()
		}
		for range 24 {
			s.advance(time.Hour)
			s.sweep()
		}
		s.settled()
		for name, want := range map[string]struct{ status, payments string }{
			"paid":                   {"paid", "captured kept"},
			"failed, then paid":      {"paid", "captured kept, failed"},
			"failed, then late yes":  {"paid", "captured kept"},
			"paid twice":             {"paid", "captured kept, refunded refund already_paid"},
			"cancelled while paying": {"cancelled", "refunded refund order_cancelled"},
			"never paid":             {"expired", ""},
		} {
			o := orders[name].o
			got := s.text(`SELECT string_agg(concat_ws(' ', gw_status, disposition, reason), ', ' ORDER BY gw_status, disposition) FROM payments WHERE order_id = $1`, o.ID)
			if s.status(o) != want.status || got != want.payments {
				t.Errorf("%s: order is %s, payments %s; want %s, %s", name, s.status(o), got, want.status, want.payments)
			}
			var kept int64 // at the gateway: the order's amount or nothing
			for _, p := range s.gateway.Books().Payments {
				if p.OrderID == orders[name].gid && p.Captured {
					kept += p.AmountPaise - p.AmountRefundedPaise
				}
			}
			if wantKept := map[bool]int64{true: int64(o.AmountPaise)}[want.status == "paid"]; kept != wantKept {
				t.Errorf("%s: %d paise are kept, want %d", name, kept, wantKept)
			}
		}
		if tickets, letters, events := s.count(`SELECT count(*) FROM fulfilments`), s.count(`SELECT count(*) FROM outbox WHERE kind = 'confirmation'`), s.count(`SELECT count(*) FROM webhook_events`); tickets != 4 || letters != 4 || events != 0 {
			t.Errorf("%d tickets, %d confirmations, %d events", tickets, letters, events)
		}
	})
	t.Run("S1.43 the shop itself is down for 26 hours: what was paid before goes back, all of it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		var paid []standin.Payment
		for range 3 {
			_, id := s.newCustomer().add("samosa", 2).open()
			paid = append(paid, s.pay(standin.PayParams{OrderID: id}))
		}
		s.advance(26 * time.Hour)
		s.heal()
		for _, p := range paid {
			if back := s.refundedThere(p.ID); back != p.AmountPaise {
				t.Errorf("%d of %d paise went back", back, p.AmountPaise)
			}
		}
		if n := s.count(`SELECT count(*) FROM payments WHERE disposition = 'refund' AND reason = 'slot_passed'`); n != 3 {
			t.Errorf("%d returned for their slot", n)
		}
	})
	for _, late := range []struct {
		name, payment string
		succeed       func(c *customer, id, failedID string) (paymentID string)
	}{
		{"S1.27 a failed payment that the bank says yes to two days later is the gateway's to return", "voided, failed", func(c *customer, _, failedID string) string {
			must(c.t, c.gateway.SucceedLate(failedID))
			return failedID
		}},
		{"S1.27 one that is captured two days later all the same is decided, not ignored", "failed, failed, refunded refund order_expired", func(c *customer, id, _ string) string {
			p := c.pay(standin.PayParams{OrderID: id, Outcome: standin.AuthorizeOnly})
			must(c.t, c.gateway.Capture(p.ID))
			return p.ID
		}},
	} {
		t.Run(late.name, func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o, id := c.open()
			p := c.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow})
			other := c.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow})
			must(t, c.receive(t.Context(), c.events(p.ID)["payment.failed"]))
			must(t, c.receive(t.Context(), c.events(other.ID)["payment.failed"]))
			for range 13 {
				c.advance(2 * time.Minute)
				c.sweep()
			}
			c.advance(47 * time.Hour)
			c.sweep()
			paymentID := late.succeed(c, id, p.ID)
			for _, e := range c.events(paymentID) {
				must(t, c.receive(t.Context(), e))
			}
			c.heal()
			got := c.text(`SELECT string_agg(concat_ws(' ', gw_status, disposition, reason), ', ' ORDER BY id) FROM payments`)
			if got != late.payment || c.status(o) != models.OrderExpired {
				t.Errorf("order is %s, payments %s, want %s", c.status(o), got, late.payment)
			}
			books := c.gateway.Books()
			if kept := books.KeptPaise(paymentID); kept != 0 {
				t.Errorf("%d paise are kept", kept)
			}
		})
	}
}

// S1.18–S1.20, C7: outward calls that were answered by a fault, a duplicate or nobody.
func TestRefundAnswers(t *testing.T) {
	t.Parallel()
	t.Run("S1.19 duplicate receipt means done already: it is fetched, not failed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_receipt_duplicate", After: true, Times: 1})
		must(t, s.cashier.SendRefund(t.Context(), s.text(`SELECT id::text FROM refunds`)))
		if s.text(`SELECT status FROM refunds`) != "processed" || s.label(o) != "refunded" || s.refundedThere(p.ID) != p.AmountPaise {
			t.Errorf("refund is %s", s.text(`SELECT status FROM refunds`))
		}
		s.settled()
	})
	t.Run("S1.19 while the list does not show it yet the refund waits and is never sent under another id", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{RefundsLag: time.Minute}})
		_, p := s.paidAndCancelled()
		id := s.text(`SELECT id::text FROM refunds`)
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_receipt_duplicate", After: true, Times: 1})
		if err := s.cashier.SendRefund(t.Context(), id); err == nil || s.text(`SELECT status FROM refunds`) != "requested" {
			t.Errorf("refund is %s, %v", s.text(`SELECT status FROM refunds`), err)
		}
		s.heal()
		if n := len(s.gateway.Books().RefundsOf(p.ID)); n != 1 || s.count(`SELECT count(*) FROM refunds`) != 1 {
			t.Errorf("%d refunds there", n)
		}
		for _, call := range s.refundCalls() {
			if call.IdempotencyKey != id || call.Receipt != id {
				t.Errorf("sent as %s", call.IdempotencyKey)
			}
		}
	})
	t.Run("S1.20 two timeouts whose work was done: one refund, the same request each time", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p := s.paidAndCancelled()
		hasty := New(s.store, razorpay.New(razorpay.Config{KeyID: s.gateway.KeyID(), KeySecret: s.gateway.KeySecret(), APIURL: s.address(), Timeout: time.Second}), s.cashier.settings, s.cashier.log)
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Delay, For: 3 * time.Second, After: true, Times: 2})
		s.gateway.Configure(func(st *standin.Settings) { st.RefundsLag = time.Hour }) // so that it has to send again
		id := s.text(`SELECT id::text FROM refunds`)
		for try := range 3 {
			if err := hasty.SendRefund(t.Context(), id); (try < 2) != errors.Is(err, context.DeadlineExceeded) || try == 2 && err != nil {
				t.Fatalf("try %d: %v", try, err)
			}
			s.advance(time.Minute)
		}
		calls := s.refundCalls()
		if len(calls) != 3 || calls[0].Body != calls[2].Body || calls[0].IdempotencyKey != calls[2].IdempotencyKey || calls[0].Receipt != id {
			t.Errorf("calls: %s", plain(calls))
		}
		if n := len(s.gateway.Books().RefundsOf(p.ID)); n != 1 || s.refundedThere(p.ID) != p.AmountPaise {
			t.Errorf("%d refunds", n)
		}
		s.settled()
	})
	for _, refusal := range []string{"refund_idempotency_in_progress", "rate_limited", "auth_failed", "server_error"} {
		t.Run("C7 after "+refusal+" the money is still owed and goes back once", func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			o, p := s.paidAndCancelled()
			s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: refusal, Times: 2})
			if err := s.cashier.SendRefund(t.Context(), s.text(`SELECT id::text FROM refunds`)); err == nil || s.text(`SELECT status FROM refunds`) != "requested" {
				t.Errorf("refund is %s, %v", s.text(`SELECT status FROM refunds`), err)
			}
			for range 4 {
				s.advance(2 * time.Minute)
				s.sweep()
			}
			if s.refundedThere(p.ID) != p.AmountPaise || s.label(o) != "refunded" || s.count(`SELECT count(*) FROM refunds`) != 1 {
				t.Errorf("%d paise back, people see %q", s.refundedThere(p.ID), s.label(o))
			}
			s.settled()
		})
	}
	t.Run("FP-36 a processed refund that fails with its event lost is found by the sweep", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		s.sweep()
		must(t, s.gateway.FailRefund(s.gateway.Books().RefundsOf(p.ID)[0].ID)) // nobody hears of it
		if s.label(o) != "refunded" || s.gateway.Books().KeptPaise(p.ID) != p.AmountPaise {
			t.Fatalf("the order is %s, the gateway holds %d paise", s.label(o), s.gateway.Books().KeptPaise(p.ID))
		}
		s.heal()
		if held := s.gateway.Books().KeptPaise(p.ID); held != 0 || s.label(o) != "refunded" {
			t.Errorf("the order is %s, the gateway holds %d paise", s.label(o), held)
		}
		s.numbers(map[string]int64{`SELECT count(*) FROM refunds WHERE status = 'failed'`: 1, `SELECT count(*) FROM refunds WHERE status = 'processed'`: 1})
	})
	t.Run("FP-36 a refund that fails again and again is tried three times more and is then a person's", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		for round := range 6 {
			s.sweep()
			for _, r := range s.gateway.Books().RefundsOf(p.ID) {
				if r.Status == "processed" { // the bank sends it back days later: the money is ours again, and still owed
					must(t, s.gateway.FailRefund(r.ID))
				}
			}
			for _, e := range s.gateway.Events() {
				if e.RefundID != "" {
					must(t, s.receive(t.Context(), e))
				}
			}
			if s.label(o) == "refunded" {
				t.Errorf("round %d: people are told the money is back", round)
			}
			s.kept()
			s.advance(2 * time.Hour)
		}
		s.numbers(map[string]int64{`SELECT count(*) FROM refunds WHERE status = 'failed'`: 4, `SELECT count(*) FROM refunds`: 4, `SELECT count(*) FROM ledger_txns WHERE kind = 'refund_reversed'`: 4,
			`SELECT count(*) FROM staff_tasks WHERE kind = 'refund_failed'`: 1, `SELECT -sum(amount_paise)::bigint FROM ledger_entries WHERE account = 'refunds_payable'`: p.AmountPaise})
	})
}

// S1.30, S1.36, S4.4: whoever comes second changes nothing, hears what was decided, and raises no alarm.
func TestTheSecondCallerHearsTheFirstDecision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want string }{
		{"kept", "paid kept"},
		{"returned", "cancelled refund"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			var complaints bytes.Buffer
			other, closing := s.elsewhere(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelWarn})))
			defer closing()
			buyer := s.newCustomer().add("samosa", 2)
			o, id := buyer.open()
			p := s.pay(standin.PayParams{OrderID: id})
			if c.name == "returned" {
				_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
				must(t, err)
			}
			rows := func() string {
				return s.text(`SELECT concat_ws(' ', (SELECT count(*) FROM status_changes), (SELECT count(*) FROM fulfilments), (SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM outbox),
					(SELECT count(*) FROM refunds), (SELECT count(*) FROM river_job), (SELECT count(*) FROM staff_tasks), (SELECT updated_at FROM payments), (SELECT paid_at FROM orders))`)
			}
			first := buyer.verify(o, id, p.ID)
			before := rows()
			answers := inParallel(8, func() *models.Order {
				o, err := other.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
				if err != nil {
					t.Error(err)
				}
				return o
			})
			for _, later := range answers {
				if later == nil || later.Status != first.Status || plain(later.PaidAt) != plain(first.PaidAt) || plain(later.PaidPaymentID) != plain(first.PaidPaymentID) {
					t.Errorf("the second caller hears %s, the first %s", plain(later), plain(first))
				}
			}
			if after := rows(); after != before { // S1.35
				t.Errorf("rows: %s, then %s", before, after)
			}
			if got := s.status(o) + " " + s.text(`SELECT disposition FROM payments`); got != c.want {
				t.Errorf("ends as %s, want %s", got, c.want)
			}
			if complaints.Len() > 0 {
				t.Errorf("an alarm: %s", &complaints)
			}
		})
	}
}

// S1.31, S1.2, S3.1: the browser's report and the webhook in either order, alone, and again four minutes later.
func TestInEitherOrder(t *testing.T) {
	t.Parallel()
	const want = "order paid, ticket queued, captured/kept/0, 1 capture, 1 confirmation"
	for _, c := range []struct {
		name  string
		roads []string
	}{
		{"callback, then webhook", []string{"callback", "payment.captured", "order.paid"}},
		{"webhook, then callback", []string{"payment.captured", "callback"}},
		{"S4.1 the callback never comes", []string{"payment.captured"}},
		{"S4.1 the webhook never comes", []string{"callback"}},
		{"S4.1 neither comes", []string{"sweep"}},
		{"S3.1 the webhook again after four minutes", []string{"payment.captured", "4m", "payment.captured", "sweep"}},
		{"C3 S1.27 every report again after a day", []string{"payment.captured", "24h", "callback", "payment.captured", "order.paid", "payment.authorized", "sweep"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			s.limit("chicken-tikka", 10)
			buyer := s.newCustomer().add("chicken-tikka", 1)
			o, id := buyer.open()
			p := s.pay(standin.PayParams{OrderID: id})
			for _, road := range c.roads {
				if pause, err := time.ParseDuration(road); err == nil {
					s.advance(pause)
					continue
				}
				switch road {
				case "callback":
					_, err := s.cashier.VerifyCheckout(t.Context(), o, s.slip(id, p.ID), models.ViaCallback)
					must(t, err)
				case "sweep":
					s.advance(61 * time.Second)
					s.sweep()
				default:
					must(t, s.receive(t.Context(), s.events(p.ID)[road]))
				}
			}
			if got := s.story(o); got != want {
				t.Errorf("it ends as %s, want %s", got, want)
			}
			s.numbers(map[string]int64{`SELECT sold FROM stock`: 1, `SELECT count(*) FROM orders`: 1, `SELECT count(*) FROM river_job WHERE kind = 'send_letter'`: 1})
			s.settled()
		})
	}
}

// sources reads the program's own text, tests left out.
func sources(t *testing.T, folders ...string) map[string]*ast.File {
	t.Helper()
	found := map[string]*ast.File{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		must(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			must(t, err)
			found[strings.TrimPrefix(name, "../")] = file
		}
	}
	if len(found) < 3 {
		t.Fatalf("only %d files in %v", len(found), folders)
	}
	return found
}

// callers lists the functions that call one of that name, as "file function".
func callers(files map[string]*ast.File, name string) (list []string) {
	for file, parsed := range files {
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch fun := call.Fun.(type) {
				case *ast.SelectorExpr:
					ok = fun.Sel.Name == name
				case *ast.Ident:
					ok = fun.Name == name
				default:
					ok = false
				}
				if ok {
					list = append(list, file+" "+f.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// S1.32, S1.44, S4.2, S4.14, S2.37, S2.49, S1.45, S2.11: what can be read in the program's own text.
func TestTheProgramAsItIsWritten(t *testing.T) {
	t.Parallel()
	all := sources(t, "cmd/web", "handlers", "jobs", "models", "payments", "razorpay", "views", "mail", "live")
	t.Run("S1.32 S4.14 there is one way to become paid", func(t *testing.T) {
		for name, want := range map[string][]string{
			"recordPayment": {"payments/reconcile.go ReconcileAccount", "payments/reconcile.go askAbout", "payments/reconcile.go askAboutHints", "payments/record.go VerifyCheckout", "payments/settlement.go place", "payments/webhook.go actOn"},
			"KeepPayment":   {"payments/record.go decide"},
			"ReturnPayment": {"payments/record.go decide"},
			"FetchPayment":  {"payments/audit.go auditGatewayOrder", "payments/record.go recordPayment"}, // the first compares and writes nothing; the second is the only evidence of money there is
			"CreateRefund":  {"payments/refund.go SendRefund"},
			"Capture":       nil, // C006: the gateway captures by the order's own options, never at our call
			"CreateOrder":   {"payments/checkout.go PlaceOrder", "payments/checkout.go createGatewayOrder"},
		} {
			got := slices.DeleteFunc(callers(all, name), func(s string) bool { return strings.HasPrefix(s, "razorpay/") })
			if !slices.Equal(got, want) {
				t.Errorf("%s is called by %v, want %v", name, got, want)
			}
		}
		paid := 0
		for file, parsed := range all {
			ast.Inspect(parsed, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if fun, ok := call.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "MoveOrder" && len(call.Args) > 2 {
						if to, ok := call.Args[2].(*ast.Ident); ok && to.Name == "OrderPaid" {
							paid++
							if file != "models/payment.go" && file != "models/cash.go" {
								t.Errorf("%s makes an order paid", file)
							}
						}
					}
				}
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Contains(text.Value, "UPDATE orders SET status") && file != "models/order_status.go" {
					t.Errorf("%s writes orders.status", file)
				}
				return true
			})
		}
		if paid != 3 { // KeepPayment, GrantOrder where nothing is to be paid, and TakeCash
			t.Errorf("%d places make an order paid", paid)
		}
	})
	t.Run("S2.37 nothing a browser sends is an amount", func(t *testing.T) {
		for _, name := range []string{"Checkout", "Slip", "Delivery"} {
			found := false
			for file, parsed := range all {
				if !strings.HasPrefix(file, "payments/") {
					continue
				}
				ast.Inspect(parsed, func(n ast.Node) bool {
					spec, ok := n.(*ast.TypeSpec)
					if !ok || spec.Name.Name != name {
						return true
					}
					found = true
					for _, field := range spec.Type.(*ast.StructType).Fields.List {
						var text strings.Builder
						must(t, ast.Fprint(&text, nil, field.Type, nil))
						for _, bad := range []string{`"Paise"`, `"int64"`, `"uint64"`, `"float64"`, `"OrderItem"`, `"Quote"`} {
							if strings.Contains(text.String(), bad) {
								t.Errorf("%s.%s holds %s", name, field.Names[0].Name, bad)
							}
						}
					}
					return true
				})
			}
			if !found {
				t.Errorf("no type %s", name)
			}
		}
	})
	t.Run("S2.11 there is no float where money is", func(t *testing.T) {
		for file, parsed := range all {
			switch {
			case strings.HasPrefix(file, "payments/"), strings.HasPrefix(file, "razorpay/"), strings.HasPrefix(file, "jobs/"):
			case strings.HasPrefix(file, "models/") && file != "models/outlet.go" && file != "models/store.go" && file != "models/menu.go" && file != "models/search.go": // distances; the pause before a retry; how alike two words are
			case file == "views/format.go":
			default:
				continue
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if n.Name == "float64" || n.Name == "float32" || n.Name == "ParseFloat" {
						t.Errorf("%s has a %s", file, n.Name)
					}
				case *ast.BasicLit:
					if n.Kind == token.FLOAT {
						t.Errorf("%s has %s", file, n.Value)
					}
				}
				return true
			})
		}
	})
	t.Run("S1.45 the gateway is one typed client, not an interface", func(t *testing.T) {
		for file, parsed := range all {
			if !strings.HasPrefix(file, "payments/") && !strings.HasPrefix(file, "razorpay/") {
				continue
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if i, ok := n.(*ast.InterfaceType); ok && len(i.Methods.List) > 0 {
					t.Errorf("%s has an interface", file)
				}
				return true
			})
		}
	})
	t.Run("S2.49 what speaks to the gateway names the page it follows", func(t *testing.T) {
		for _, name := range []string{"client.go", "event.go", "outcome.go", "signature.go", "types.go"} {
			text, err := os.ReadFile(filepath.Join("..", "razorpay", name))
			must(t, err)
			if !bytes.Contains(text, []byte("Docs-")) {
				t.Errorf("razorpay/%s cites nothing", name)
			}
		}
		for _, d := range all["razorpay/client.go"].Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv != nil && f.Name.IsExported() && f.Name.Name != "Format" && !strings.Contains(f.Doc.Text(), "Docs-") {
				t.Errorf("%s cites nothing", f.Name.Name)
			}
		}
	})
}

// S1.34, C072: 1,000 reports, sweeps, cancels and new placings on the same few rows. They take turns; the database never has to
// end a deadlock for them.
func TestReportsTakeTurns(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
	s.limit("chicken-tikka", 1000)
	other, closing := s.elsewhere(slog.New(slog.NewTextHandler(io.Discard, nil)))
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		c := s.newCustomer().add("chicken-tikka", 1).add("samosa", 1)
		o, id := c.open()
		first, second := s.pay(standin.PayParams{OrderID: id}), s.pay(standin.PayParams{OrderID: id})
		var work []func() error
		for i := range 17 {
			p := []string{first.ID, second.ID}[i%2]
			work = append(work, func() error { _, err := other.recordPayment(t.Context(), p, models.ViaWebhook, 0); return err })
		}
		// The same customer, having added something, places the order that takes this one's place.
		c.add("samosa", 4)
		in := c.checkout()
		work = append(work,
			func() error {
				_, err := other.PlaceOrder(t.Context(), in)
				if errors.Is(err, models.ErrBillChanged) || errors.Is(err, models.ErrKeyReused) || errors.Is(err, models.ErrEmptyCart) { // what was bought has left the cart meanwhile
					err = nil
				}
				return err
			},
			func() error {
				_, err := other.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "too_busy")
				return err
			},
			func() error { return other.store.LapseOrder(t.Context(), o.ID) })
		next := make(chan func() error, len(work))
		for i := range work {
			next <- work[(i+round*7)%len(work)] // who starts first differs
		}
		for _, err := range inParallel(len(work), func() error { return (<-next)() }) {
			must(t, err)
		}
	}
	closing()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for s.count(`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'elsewhere' AND datname = current_database()`) > 0 { // a session that has ended has told its numbers
		must(t, patience.Err())
	}
	if n := s.count(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	s.kept()
}

// Rule of the locks: the order comes before the kitchen's window, and placings share the window. A placing that waits for the order it
// supersedes must not keep the payment that holds that order from looking whether the kitchen is open, nor any other placing from going on.
func TestAPlacingSharesTheWindow(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	c := s.newCustomer().add("samosa", 2)
	o, _ := c.open()
	c.add("samosa", 4)
	in := c.checkout()
	payment, err := s.store.SQL().BeginTx(t.Context(), nil)
	must(t, err)
	_, err = payment.ExecContext(t.Context(), `SELECT 1 FROM orders WHERE id = $1 FOR NO KEY UPDATE`, o.ID)
	must(t, err)
	placed := make(chan error, 1)
	go func() { _, err := s.cashier.PlaceOrder(t.Context(), in); placed <- err }()
	s.waiting()
	closing, err := s.store.SQL().BeginTx(t.Context(), nil)
	must(t, err)
	if _, err := closing.ExecContext(t.Context(), `SELECT 1 FROM kitchen_slots FOR NO KEY UPDATE NOWAIT`); err == nil {
		t.Error("the kitchen closes while somebody places")
	}
	must(t, closing.Rollback())
	if _, err := payment.ExecContext(t.Context(), `SELECT 1 FROM kitchen_slots FOR SHARE NOWAIT`); err != nil {
		t.Errorf("the payment waits for the placing that waits for it: %v", err)
	}
	s.newCustomer().add("samosa", 3).place()
	must(t, payment.Rollback())
	must(t, <-placed)
	if s.status(o) != models.OrderCancelled || s.count(`SELECT count(*) FROM orders WHERE status = 'pending'`) != 2 {
		t.Errorf("order is %s", s.status(o))
	}
	s.kept()
}

// waiting returns once somebody on this database waits for a row's lock.
func (s *shop) waiting() {
	s.t.Helper()
	patience, cancel := context.WithTimeout(s.t.Context(), 4*time.Second) // a lock is waited for 5 s at most
	defer cancel()
	for s.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		must(s.t, patience.Err())
	}
}

// meanwhile runs fn while a transaction of somebody else's, begun with these statements, is open; it commits only once fn waits for it.
func (s *shop) meanwhile(fn func() error, statements ...string) error {
	s.t.Helper()
	other, err := s.store.SQL().BeginTx(s.t.Context(), nil)
	must(s.t, err)
	for _, statement := range statements {
		_, err := other.ExecContext(s.t.Context(), statement)
		must(s.t, err)
	}
	done := make(chan error, 1)
	go func() { done <- fn() }()
	s.waiting()
	must(s.t, other.Commit())
	return <-done
}

// S1.34, S2.22, S2.32, FP-28, FP-29, FP-31: everything about an order's money waits for whoever holds its row, and acts on what that one left: here
// its cancelling, or the closing of the kitchen, not yet committed when the other began.
func TestMoneyTakesTurns(t *testing.T) {
	t.Parallel()
	const cancelled = `UPDATE order_time_holds SET state = 'released'; UPDATE order_times SET orders = 0, items = 0, make_minutes = 0;
		UPDATE orders SET status = 'cancelled', cancel_reason = 'changed_mind', cancelled_by = 'customer', closed_at = shop_now()`
	for _, c := range []struct {
		name, other string
		run         func(c *customer, o *models.Order) error
		want        error
		story       string
	}{
		{"a claim", cancelled, func(c *customer, o *models.Order) error {
			_, _, err := c.store.ClaimGatewayOrder(c.t.Context(), o.ID, o.CustomerID)
			return err
		}, models.ErrBadMove, "order cancelled, no ticket, 0 capture, 0 confirmation"},
		{"an attach", cancelled, func(c *customer, o *models.Order) error {
			made, err := c.cashier.gateway.CreateOrder(c.t.Context(), orderParams(o, models.Claim{Receipt: o.PublicID + "-g1"}))
			must(c.t, err)
			current, err := c.cashier.attach(c.t.Context(), o.ID, made, 1, "", "lookup")
			if current != "" {
				c.t.Errorf("%s is given out", current)
			}
			return err
		}, nil, "order cancelled, no ticket, 0 capture, 0 confirmation"},
		{"a second cancel", cancelled, func(c *customer, o *models.Order) error {
			_, err := c.cashier.CancelOrder(c.t.Context(), o.ID, models.StaffActor(1), "too_busy")
			return err
		}, nil, "order cancelled, no ticket, 0 capture, 0 confirmation"},
		{"a lapse", `UPDATE orders SET hold_expires_at = shop_now() - interval '11 minutes'; ` + cancelled, func(c *customer, o *models.Order) error {
			return c.store.LapseOrder(c.t.Context(), o.ID)
		}, nil, "order cancelled, no ticket, 0 capture, 0 confirmation"},
		{"a capture", cancelled, nil, nil, "order cancelled, no ticket, captured/refund/24900, 1 capture, 0 confirmation, auto/requested/24900"},
		{"FP-31 a capture while the kitchen closes", `UPDATE kitchen_slots SET closed_at = shop_now()`, nil, nil, "order cancelled, no ticket, captured/refund/24900, 1 capture, 0 confirmation, auto/requested/24900"},
		{"a placing while the kitchen closes", `UPDATE kitchen_slots SET closed_at = shop_now()`, func(c *customer, _ *models.Order) error {
			_, err := c.cashier.PlaceOrder(c.t.Context(), c.newCustomer().add("samosa", 2).checkout())
			return err
		}, models.ErrClosed, "order pending, no ticket, 0 capture, 0 confirmation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o := b.place()
			run := func() error { return c.run(b, o) }
			if c.run == nil { // a capture is recorded
				id, err := b.cashier.OpenGatewayOrder(t.Context(), o)
				must(t, err)
				p := b.pay(standin.PayParams{OrderID: id})
				run = func() error {
					_, err := b.cashier.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
					return err
				}
			}
			if err := b.meanwhile(run, strings.Split(c.other, "; ")...); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if got := b.story(o); got != c.story {
				t.Errorf("it ends as %s, want %s", got, c.story)
			}
			if n := b.count(`SELECT count(*) FROM gateway_claims WHERE state = 'open'`) + b.count(`SELECT count(*) FROM gateway_orders WHERE state = 'current' AND order_id IN (SELECT id FROM orders WHERE status = 'pending')`); n != 0 {
				t.Errorf("%d claims or gateway orders are open", n)
			}
			b.kept()
		})
	}
}

// S2.16, S2.19, F10, C027: the cart or its key change in another tab between the pricing and the placing. What was not shown is not bought.
func TestPlacingBuysOnlyWhatWasPriced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(c *customer)
		want   error
	}{
		"another dish": {func(c *customer) { c.add("dal-makhani", 1) }, models.ErrBillChanged},
		"another key": {func(c *customer) {
			must(c.t, c.store.ClearCheckoutKey(c.t.Context(), c.session.ID, *c.session.CheckoutKey))
		}, models.ErrKeyReused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			in := b.checkout()
			other, err := b.store.SQL().BeginTx(t.Context(), nil)
			must(t, err)
			_, err = other.ExecContext(t.Context(), `SELECT 1 FROM customers FOR NO KEY UPDATE`) // a customer's placings take turns
			must(t, err)
			placed := make(chan error, 1)
			go func() { _, err := b.cashier.PlaceOrder(t.Context(), in); placed <- err }()
			b.waiting() // priced, and at the door
			c.change(b)
			must(t, other.Commit())
			if err := <-placed; !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if n := b.count(`SELECT count(*) FROM orders`); n != 0 {
				t.Errorf("%d orders", n)
			}
		})
	}
}

// S2.16, F17, C027: when an order is paid, cancelled or expired its key is used up, and only a payment takes anything out of the cart: what that order
// bought, with the choices it bought it with.
func TestWhatAnOrderLeavesBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, cart string
		end        func(c *customer, o *models.Order, id string)
	}{
		{"paid", "masala-dosa with Cheese ×1", func(c *customer, o *models.Order, id string) {
			c.verify(o, id, c.pay(standin.PayParams{OrderID: id}).ID)
		}},
		{"cancelled", "masala-dosa ×2, masala-dosa with Cheese ×1", func(c *customer, o *models.Order, _ string) {
			_, err := c.cashier.CancelOrder(c.t.Context(), o.ID, models.ActorCustomer, "changed_mind")
			must(c.t, err)
		}},
		{"expired", "masala-dosa ×2, masala-dosa with Cheese ×1", func(c *customer, _ *models.Order, _ string) {
			c.advance(26 * time.Minute)
			c.sweep()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openShop(t, standin.Options{}).newCustomer().add("masala-dosa", 2)
			o, id := b.open()
			key := o.CheckoutKey
			cart, err := b.store.EnsureCart(t.Context(), b.session, b.outlet.ID)
			must(t, err)
			cheese := b.count(`SELECT o.id FROM options o JOIN option_groups g ON g.id = o.group_id JOIN items i ON i.id = g.item_id WHERE i.slug = 'masala-dosa' AND o.name = 'Cheese'`)
			_, err = b.store.AddToCart(t.Context(), cart.ID, b.item("masala-dosa").ID, []int64{cheese}, 1, "")
			must(t, err)
			b.exec(`UPDATE sessions SET checkout_key = $1`, key) // as if the other tab had opened its review before
			c.end(b, o, id)
			if got := b.status(o); got != c.name {
				t.Fatalf("order is %s", got)
			}
			if n := b.count(`SELECT count(*) FROM sessions WHERE checkout_key IS NOT NULL`); n != 0 {
				t.Error("the key of an order that is over is still the session's")
			}
			if got := b.text(`SELECT string_agg(i.slug || CASE WHEN l.option_ids <> '{}' THEN ' with Cheese' ELSE '' END || ' ×' || l.qty, ', ' ORDER BY l.id) FROM cart_lines l JOIN items i ON i.id = l.item_id`); got != c.cart {
				t.Errorf("the cart holds %q, want %q", got, c.cart)
			}
			b.kept()
		})
	}
}

// C072: dishes are held, sold and given back in one order whatever the cart's, so two who want the same dishes cannot wait for each other.
func TestDishesAreTakenInOneOrder(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.limit("chicken-tikka", 50)
	s.limit("samosa", 50)
	s.newCustomer().add("samosa", 1).add("chicken-tikka", 1).place() // the day's rows exist from now on
	step := func(name string, fn func() error) {
		t.Helper()
		other, err := s.store.SQL().BeginTx(t.Context(), nil)
		must(t, err)
		_, err = other.ExecContext(t.Context(), `SELECT 1 FROM stock WHERE item_id = (SELECT min(item_id) FROM stock) FOR UPDATE`)
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- fn() }()
		s.waiting()
		if _, err := other.ExecContext(t.Context(), `SELECT 1 FROM stock WHERE item_id = (SELECT max(item_id) FROM stock) FOR UPDATE NOWAIT`); err != nil {
			t.Errorf("%s: the second dish is taken before the first: %v", name, err)
		}
		must(t, other.Rollback())
		must(t, <-done)
	}
	for _, dishes := range [][2]string{{"chicken-tikka", "samosa"}, {"samosa", "chicken-tikka"}} {
		c := s.newCustomer().add(dishes[0], 1).add(dishes[1], 1)
		in := c.checkout()
		var o *models.Order
		step("placing", func() (err error) { o, err = s.cashier.PlaceOrder(t.Context(), in); return err })
		id, err := s.cashier.OpenGatewayOrder(t.Context(), o)
		must(t, err)
		p := s.pay(standin.PayParams{OrderID: id})
		step("paying", func() error { _, err := s.cashier.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0); return err })
		step("cancelling", func() error {
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
			return err
		})
	}
	s.kept()
}

// FP-12, S2.25: what was begun at the gateway is brought to its end though the browser that asked has gone meanwhile.
func TestTheBrowserLeaves(t *testing.T) {
	t.Parallel()
	leave := func(c *customer, path string, fn func(ctx context.Context) error) {
		c.t.Helper()
		c.gateway.Inject(standin.Fault{Path: path, Kind: standin.Stall, Times: 1})
		ctx, gone := context.WithCancel(c.t.Context())
		done := make(chan error, 1)
		go func() { done <- fn(ctx) }()
		must(c.t, c.gateway.WaitStalled(c.t.Context(), 1))
		gone()
		c.gateway.ReleaseStalled()
		must(c.t, <-done)
	}
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o := c.place()
	leave(c, "/v1/orders", func(ctx context.Context) error { _, err := c.cashier.OpenGatewayOrder(ctx, o); return err })
	id := c.text(`SELECT razorpay_order_id FROM gateway_orders WHERE state = 'current' AND handed_out_at IS NOT NULL`)
	p := c.pay(standin.PayParams{OrderID: id})
	leave(c, "/v1/payments/*", func(ctx context.Context) error {
		_, err := c.cashier.VerifyCheckout(ctx, o, c.slip(id, p.ID), models.ViaVerify)
		return err
	})
	if c.status(o) != models.OrderPaid {
		t.Errorf("order is %s", c.status(o))
	}
	c.settled()
}

// FP-8, S2.25: the order is cancelled while its gateway order is being made. Nobody is given it, and money on it would go back.
func TestCancelledWhileItsGatewayOrderIsMade(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o := c.place()
	c.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Stall, Times: 1})
	opened := make(chan error, 1)
	go func() { _, err := c.cashier.OpenGatewayOrder(t.Context(), o); opened <- err }()
	must(t, c.gateway.WaitStalled(t.Context(), 1))
	_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	c.gateway.ReleaseStalled()
	if err := <-opened; !errors.Is(err, models.ErrBadMove) {
		t.Errorf("opened: %v", err)
	}
	if got := c.text(`SELECT state || ' ' || (handed_out_at IS NULL) || ' ' || (SELECT string_agg(state, ',') FROM gateway_claims) FROM gateway_orders`); got != "superseded true attached" {
		t.Errorf("gateway order, not handed out, claim: %s", got)
	}
	p := c.pay(standin.PayParams{OrderID: c.text(`SELECT razorpay_order_id FROM gateway_orders`)})
	must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
	c.heal()
	if back := c.refundedThere(p.ID); back != p.AmountPaise {
		t.Errorf("%d of %d paise went back", back, p.AmountPaise)
	}
}

// INV-8, S2.33: a payment that is told with another amount or currency than before is not decided on either; the event stays open until the gateway
// is of one mind, and then is.
func TestTheGatewayContradictsItself(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{"another amount": {`"amount":24900`, `"amount":24800`}, "another currency": {`"currency":"INR"`, `"currency":"USD"`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o, id := c.open()
			p := c.pay(standin.PayParams{OrderID: id, Outcome: standin.AuthorizeOnly})
			c.verify(o, id, p.ID)
			must(t, c.gateway.Capture(p.ID))
			e := c.events(p.ID)["payment.captured"]
			_, err := c.cashier.ReceiveWebhook(t.Context(), Delivery{Body: e.Body, EventID: e.ID, Signature: razorpay.SignWebhook(webhookSecret, e.Body)})
			must(t, err)
			if err := c.rewording(words...).ProcessEvent(t.Context(), c.count(`SELECT id FROM webhook_events`)); !errors.Is(err, models.ErrAmountMismatch) {
				t.Errorf("got %v", err)
			}
			if got := c.text(`SELECT gw_status || ' ' || amount_paise || ' ' || currency || ' ' || (SELECT status FROM webhook_events) FROM payments`); got != "authorized 24900 INR received" || c.status(o) != models.OrderPending {
				t.Errorf("payment and event: %s", got)
			}
			c.heal()
			if c.status(o) != models.OrderPaid {
				t.Errorf("order is %s", c.status(o))
			}
		})
	}
}

// S1.41: an event that is done with is not asked about again; a refund of which the gateway tells another amount is left as it was.
func TestWhatIsKnownIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
	_, p := s.paidAndCancelled()
	must(t, s.receive(t.Context(), s.events(p.ID)["payment.captured"]))
	asked := len(s.gateway.Requests())
	must(t, s.cashier.ProcessEvent(t.Context(), s.count(`SELECT id FROM webhook_events`)))
	if n := len(s.gateway.Requests()); n != asked {
		t.Errorf("%d calls about an event that is processed", n-asked)
	}
	s.sweep()
	refund := s.gateway.Books().RefundsOf(p.ID)[0]
	must(t, s.gateway.SettleRefund(refund.ID))
	s.advance(2 * time.Hour)
	_, err := s.rewording(fmt.Sprintf(`"amount":%d`, p.AmountPaise), `"amount":100`).SweepRefunds(t.Context())
	must(t, err)
	if got := s.text(`SELECT status FROM refunds`); got != "submitted" {
		t.Errorf("refund is %s", got)
	}
	s.heal()
	if got := s.text(`SELECT status FROM refunds`); got != "processed" {
		t.Errorf("refund is %s", got)
	}
}

// S2.5, S2.14: whatever fails while an order is placed, nothing of it stays, and the next press places it.
func TestAPlacingThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for table, check := range map[string]string{"order_items": "line < 2", "order_item_options": "position < 1", "order_taxes": "false", "order_time_holds": "false", "stock_holds": "false"} {
		t.Run("S2.5 at "+table, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			s.limit("chicken-tikka", 5)
			c := s.newCustomer().add("samosa", 2).add("chicken-tikka", 1)
			in := c.checkout()
			if table == "order_item_options" { // a dish with choices
				cart, err := c.store.EnsureCart(t.Context(), c.session, c.outlet.ID)
				must(t, err)
				item := c.text(`SELECT i.slug FROM items i JOIN option_groups g ON g.item_id = i.id JOIN options o ON o.group_id = g.id WHERE g.min_pick = 1 AND g.max_pick = 1 AND o.available AND i.available
					AND i.eighty_sixed_until IS NULL GROUP BY i.id, i.slug HAVING count(DISTINCT g.id) = 1 AND (SELECT count(*) FROM option_groups WHERE item_id = i.id AND min_pick > 0) = 1 ORDER BY i.id LIMIT 1`)
				option := c.count(`SELECT min(o.id) FROM options o JOIN option_groups g ON g.id = o.group_id JOIN items i ON i.id = g.item_id WHERE i.slug = $1 AND g.min_pick = 1 AND o.available`, item)
				_, err = c.store.AddToCart(t.Context(), cart.ID, c.item(item).ID, []int64{option}, 1, "")
				must(t, err)
				in = c.checkout()
			}
			c.exec(`ALTER TABLE ` + table + ` ADD CONSTRAINT broken_for_a_test CHECK (` + check + `) NOT VALID`)
			if _, err := c.cashier.PlaceOrder(t.Context(), in); err == nil || errors.Is(err, models.ErrKeyReused) {
				t.Fatalf("placed: %v", err)
			}
			for _, rows := range []string{"orders", "order_items", "order_item_options", "order_taxes", "order_counters", "order_times", "order_time_holds", "stock_holds", "gateway_claims"} {
				if n := c.count(`SELECT count(*) FROM ` + rows); n != 0 {
					t.Errorf("%d rows in %s", n, rows)
				}
			}
			if c.count(`SELECT COALESCE(sum(held), 0)::bigint FROM stock`) != 0 || c.count(`SELECT count(*) FROM cart_lines`) < 2 || c.count(`SELECT count(*) FROM sessions WHERE checkout_key IS NULL`) != 0 {
				t.Error("dishes are held, or cart or key are gone")
			}
			c.exec(`ALTER TABLE ` + table + ` DROP CONSTRAINT broken_for_a_test`)
			if o, err := c.cashier.PlaceOrder(t.Context(), in); err != nil || o.Number != 1 {
				t.Errorf("%+v, %v", o, err)
			}
			c.kept()
		})
	}
}

// S2.6, S2.8, S2.31, INV-23: the order of things, seen from the gateway while it is being asked.
func TestTheGatewayIsAskedInOrder(t *testing.T) {
	t.Parallel()
	var s *shop
	var saw []string
	s = openShop(t, standin.Options{OnRequest: func(method, path string) {
		if s == nil {
			return
		}
		name, _, _ := strings.Cut(path, "/pay_")
		saw = append(saw, fmt.Sprintf("%s %s: %s", method, name, s.text(`SELECT concat_ws(', ', (SELECT status FROM orders), (SELECT 'claim ' || state FROM gateway_claims), (SELECT count(*) || ' gateway orders' FROM gateway_orders),
			(SELECT count(*) || ' payments' FROM payments), (SELECT count(*) || ' tickets' FROM fulfilments), (SELECT 'refund ' || status || CASE WHEN lease_until > shop_now() THEN ' leased' ELSE '' END FROM refunds))`)))
	}})
	c := s.newCustomer().add("samosa", 2)
	o, id := c.open()
	p := c.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	must(t, c.cashier.SendRefund(t.Context(), c.text(`SELECT id::text FROM refunds`)))
	want := []string{
		"POST /v1/orders: pending, claim open, 0 gateway orders, 0 payments, 0 tickets",      // the claim is committed first
		"GET /v1/payments: pending, claim attached, 1 gateway orders, 0 payments, 0 tickets", // the fetch comes before any row
		"POST /v1/payments: cancelled, claim attached, 1 gateway orders, 1 payments, 1 tickets, refund requested leased",
	}
	if !slices.Equal(saw, want) {
		t.Errorf("the gateway saw\n%s\nwant\n%s", strings.Join(saw, "\n"), strings.Join(want, "\n"))
	}
}

// S2.23, S2.24, S2.32: two processes share nothing but the database.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	other, closing := s.elsewhere(slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer closing()
	const rounds = 10
	for range rounds {
		c := s.newCustomer().add("samosa", 2)
		in := c.checkout()
		turns := make(chan *Cashier, 2)
		turns <- s.cashier
		turns <- other
		type answer struct {
			order   int64
			gateway string
			err     error
		}
		answers := inParallel(2, func() (a answer) {
			cashier := <-turns
			o, err := cashier.PlaceOrder(t.Context(), in)
			if err != nil {
				return answer{err: err}
			}
			a.order = o.ID
			for {
				if a.gateway, a.err = cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(a.err, models.ErrPreparing) {
					return a
				}
			}
		})
		if answers[0].err != nil || answers[0] != answers[1] {
			t.Fatalf("%+v", answers)
		}
		p := s.pay(standin.PayParams{OrderID: answers[0].gateway})
		turns <- s.cashier
		turns <- other
		for _, err := range inParallel(2, func() error {
			_, err := (<-turns).recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
			return err
		}) {
			must(t, err)
		}
	}
	if n := s.creates(); n != rounds {
		t.Errorf("orders.create was called %d times", n)
	}
	s.numbers(map[string]int64{`SELECT count(*) FROM orders WHERE status = 'paid'`: rounds, `SELECT count(*) FROM fulfilments`: rounds, `SELECT count(*) FROM ledger_txns`: rounds, `SELECT count(*) FROM outbox`: rounds})
	s.settled()
}

// C5, C9, S1.28: the gateway order itself says until when money is wanted, so what comes later goes back by itself.
func TestTheGatewayOrderSaysUntilWhen(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o, id := c.open()
	made, _ := c.gateway.Books().Order(id)
	if made.Capture != "automatic" || made.AutomaticExpiryPeriod != 25*time.Minute || made.ManualExpiryPeriod != 25*time.Minute {
		t.Errorf("%+v", made)
	}
	for hold, want := range map[time.Duration]int{5 * time.Minute: 15, 15 * time.Minute: 25, time.Minute: 12} { // 12 is the gateway's least
		now := time.Now()
		if got := captureMinutes(&models.Order{PlacedAt: now, HoldExpiresAt: now.Add(hold)}); got != want {
			t.Errorf("a hold of %s: %d minutes, want %d", hold, got, want)
		}
	}
	p := c.pay(standin.PayParams{OrderID: id, Outcome: standin.Pend})
	for range 14 {
		c.advance(2 * time.Minute)
		c.sweep()
	}
	must(t, c.gateway.SucceedLate(p.ID))
	c.advance(2 * time.Minute)
	c.heal()
	if got, _ := c.gateway.Books().Payment(p.ID); got.Captured {
		t.Error("captured after its time")
	}
	if c.status(o) != models.OrderExpired || c.count(`SELECT count(*) FROM refunds`) != 0 {
		t.Errorf("order is %s", c.status(o))
	}
}

// C005: a dish is switched off while it is being paid for. The money is kept for what was agreed, the kitchen decides; nobody buys it again.
func TestSwitchedOffWhilePaying(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("chicken-tikka", 1)
	o, id := c.open()
	c.exec(`UPDATE items SET available = false WHERE slug = 'chicken-tikka'`)
	p := c.pay(standin.PayParams{OrderID: id})
	if got := c.verify(o, id, p.ID); got.Status != models.OrderPaid || c.count(`SELECT count(*) FROM fulfilments WHERE status = 'queued'`) != 1 {
		t.Errorf("order is %s", got.Status)
	}
	c.exec(`UPDATE items SET available = true WHERE slug = 'chicken-tikka'`)
	in := c.newCustomer().add("chicken-tikka", 1).checkout()
	c.exec(`UPDATE items SET available = false WHERE slug = 'chicken-tikka'`)
	var sold *models.ErrSoldOut
	if _, err := c.cashier.PlaceOrder(t.Context(), in); !errors.As(err, &sold) || sold.Name != "Chicken Tikka" {
		t.Errorf("bought again: %v", err)
	}
	_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "out_of_stock")
	must(t, err)
	c.heal()
	if back := c.refundedThere(p.ID); back != p.AmountPaise {
		t.Errorf("%d of %d paise went back", back, p.AmountPaise)
	}
}

// C052, F11, F32: the menu is torn up behind an order: dish, choices and category renamed, repriced and deleted. It shows what was bought, at
// the price paid, and its money can still go back.
func TestOldOrdersKeepWhatWasBought(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.limit("chicken-tikka", 5)
	c := s.newCustomer().add("chicken-tikka", 2).add("samosa", 1)
	o, id := c.open()
	p := s.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	before, err := s.store.FindOrder(t.Context(), o.ID)
	must(t, err)
	for _, change := range []string{`UPDATE items SET name = 'Something else', price_paise = 1, mark = 'veg', description = '', daily_limit = NULL`, `UPDATE categories SET name = 'Gone'`,
		`INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('restaurant', shop_now(), 900, 900)`, `UPDATE outlets SET name = 'Under new management', prep_minutes = 99`,
		`DELETE FROM cart_lines`, `DELETE FROM carts`, `DELETE FROM sessions`, `DELETE FROM item_parts`, `DELETE FROM items`, `DELETE FROM categories`} {
		s.exec(change)
		after, err := s.store.FindOrder(t.Context(), o.ID)
		must(t, err)
		if plain(after) != plain(before) {
			t.Fatalf("after %s the order is\n%s\nwas\n%s", change, plain(after), plain(before))
		}
	}
	_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "out_of_stock")
	must(t, err)
	s.heal()
	if back := s.refundedThere(p.ID); back != p.AmountPaise {
		t.Errorf("%d of %d paise went back", back, p.AmountPaise)
	}
}

// S3.17, S3.18, S2.55: read after a day on which everything happened.
func TestAMessyDayLeavesCleanRows(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
	s.limit("chicken-tikka", 12)
	for i := range 8 {
		c := s.newCustomer().add("chicken-tikka", 1).add("samosa", 2)
		o, id := c.open()
		// S2.55: an unpaid order knows what happens next, and by when it is over.
		if n := s.count(`SELECT count(*) FROM orders WHERE status = 'pending' AND (next_check_at IS NULL OR next_check_at > shop_now() + interval '2 minutes' OR resolve_by IS DISTINCT FROM hold_expires_at + interval '10 minutes')`); n != 0 {
			t.Errorf("%d orders without a next step", n)
		}
		first := s.pay(standin.PayParams{OrderID: id})
		if i%4 == 0 {
			c.add("dal-makhani", 1).open() // supersedes it
		}
		if i%4 == 1 {
			s.pay(standin.PayParams{OrderID: id}) // pays twice
		}
		if i%4 != 2 {
			c.verify(o, id, first.ID)
		}
		if i%4 == 3 {
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "out_of_stock")
			must(t, err)
		}
		s.sweep()
	}
	s.heal()
	s.numbers(map[string]int64{
		`SELECT count(*) FROM (SELECT paid_payment_id FROM orders WHERE paid_payment_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1) twice`:                                             0, // S3.17
		`SELECT count(*) FROM (SELECT payment_id FROM fulfilments GROUP BY 1 HAVING count(*) > 1) twice`:                                                                               0,
		`SELECT count(*) FROM payments p JOIN orders o ON o.paid_payment_id = p.id WHERE o.id <> p.order_id`:                                                                           0,
		`SELECT count(*) FROM orders WHERE status = 'pending' OR (status IN ('paid', 'cancelled', 'expired') AND resolve_by IS NOT NULL)`:                                              0, // S2.55
		`SELECT count(*) FROM payments WHERE disposition IS NULL AND gw_status <> 'failed'`:                                                                                            0,
		`SELECT count(*) FROM refunds WHERE status NOT IN ('processed', 'void')`:                                                                                                       0,
		`SELECT count(*) FROM stock s WHERE (initial, held, sold) <> (SELECT sum(initial), sum(held), sum(sold) FROM stock_movements m WHERE (m.item_id, m.day) = (s.item_id, s.day))`: 0, // S3.18
		`SELECT count(*) FROM (SELECT order_id, item_id FROM stock_movements WHERE kind = 'sell' GROUP BY 1, 2 HAVING count(*) > 1) twice`:                                             0,
	})
	if s.count(`SELECT count(*) FROM orders WHERE status = 'paid'`) < 3 || s.count(`SELECT count(*) FROM refunds WHERE status = 'processed'`) < 4 {
		t.Errorf("not messy enough: %s", s.text(`SELECT string_agg(status, ' ') FROM orders`))
	}
	if there, here := keptThere(s.gateway.Books()), s.count(`SELECT COALESCE(sum(amount_paise), 0)::bigint FROM orders WHERE status = 'paid'`); there != here {
		t.Errorf("the gateway holds %d paise, paid orders are worth %d", there, here)
	}
}

// S4.3, S4.6, S4.7, S4.8, C6: the commit that would decide fails half-way, any number of times. The next report completes it: kept by the order
// or given back once, never neither and never both.
func TestDeathHalfWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, table, want string }{
		{"S4.7 of a payment that is kept", "fulfilments", "order paid, ticket queued, captured/kept/0, 1 capture, 1 confirmation"},
		{"S4.7 of a payment that is kept, at its ledger", "ledger_entries", "order paid, ticket queued, captured/kept/0, 1 capture, 1 confirmation"},
		{"S4.7 of a payment that is kept, at its letter", "outbox", "order paid, ticket queued, captured/kept/0, 1 capture, 1 confirmation"},
		{"S4.7 of a payment that goes back", "refunds", "order cancelled, no ticket, captured/refund/24900, 1 capture, 0 confirmation, auto/processed/24900"},
		{"S4.7 of a payment that goes back, at its ledger", "ledger_entries", "order cancelled, no ticket, captured/refund/24900, 1 capture, 0 confirmation, auto/processed/24900"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o, id := b.open()
			p := b.pay(standin.PayParams{OrderID: id})
			if strings.HasPrefix(c.want, "order cancelled") {
				_, err := b.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
				must(t, err)
			}
			before := b.story(o)
			b.exec(`ALTER TABLE ` + c.table + ` ADD CONSTRAINT broken_for_a_test CHECK (false) NOT VALID`)
			for range 3 {
				if err := b.receive(t.Context(), b.events(p.ID)["payment.captured"]); err == nil {
					t.Fatal("recorded against a broken table")
				}
			}
			if got := b.story(o); got != before { // no half-finished state is ever committed
				t.Errorf("half of it: %s, before %s", got, before)
			}
			b.kept()
			b.exec(`ALTER TABLE ` + c.table + ` DROP CONSTRAINT broken_for_a_test`)
			must(t, b.receive(t.Context(), b.events(p.ID)["payment.captured"]))
			b.sweep()
			if got := b.story(o); got != c.want {
				t.Errorf("it ends as %s, want %s", got, c.want)
			}
			b.settled()
		})
	}
	t.Run("S4.3 the worst case: money kept for a portion that somebody else got", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.limit("chicken-tikka", 1)
		slow := s.newCustomer().add("chicken-tikka", 1)
		o, id := slow.open()
		pending := s.pay(standin.PayParams{OrderID: id, Outcome: standin.Pend})
		s.advance(21 * time.Minute)
		s.sweep()
		quick := s.newCustomer().add("chicken-tikka", 1)
		theirs, theirID := quick.open()
		quick.verify(theirs, theirID, s.pay(standin.PayParams{OrderID: theirID}).ID)
		must(t, s.gateway.SucceedLate(pending.ID))
		must(t, captureIfNeeded(s, pending.ID))
		slow.verify(o, id, pending.ID)
		s.sweep()
		if s.count(`SELECT sold FROM stock`) != 1 || s.count(`SELECT count(*) FROM fulfilments`) != 1 || s.refundedThere(pending.ID) != pending.AmountPaise {
			t.Errorf("%s; %d paise went back", s.story(o), s.refundedThere(pending.ID))
		}
		s.settled()
	})
	t.Run("S4.3 the best case of doing it wrong: two confirmations", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		c := s.newCustomer().add("samosa", 2)
		o, id := c.open()
		for range 2 {
			c.verify(o, id, s.pay(standin.PayParams{OrderID: id}).ID)
		}
		if got := s.text(`SELECT string_agg(kind, ', ' ORDER BY kind) FROM outbox`); got != "confirmation, refund_requested" {
			t.Errorf("letters: %s", got)
		}
	})
}

// C7, rule 10 of the money path: the id of a refund the shop makes by itself follows from the gateway's payment, so two decisions could only ever ask
// for one.
func TestAnAutomaticRefundHasOneID(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o, id := c.open()
	_, err := c.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	p := c.pay(standin.PayParams{OrderID: id})
	must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
	if got, want := c.text(`SELECT id::text FROM refunds`), models.AutoRefundID(p.ID); got != want || want != models.AutoRefundID(p.ID) || want[14] != '5' {
		t.Errorf("refund %s, want %s", got, want)
	}
	if models.AutoRefundID(p.ID) == models.AutoRefundID("pay_OTHER000000001") {
		t.Error("two payments share a refund")
	}
}

// C3: reports that come again never make a refunded order paid. The very bug others shipped: a late paid event undid a full refund.
func TestARefundedOrderStaysRefunded(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	c := s.newCustomer().add("chicken-tikka", 1)
	o, id := c.open()
	p := s.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "out_of_stock")
	must(t, err)
	s.sweep()
	want := strings.Replace(s.story(o), "captured/", "refunded/", 1) // all that may still be learned: it is back at the gateway too
	for _, e := range s.gateway.Events() {
		must(t, s.receive(t.Context(), e))
		e.ID += "again"
		must(t, s.receive(t.Context(), e))
		c.verify(o, id, p.ID)
	}
	if got := s.story(o); got != want || s.label(o) != "refunded" || s.status(o) != models.OrderCancelled {
		t.Errorf("%s, people see %q; before: %s", got, s.label(o), want)
	}
	s.heal()
}

// S2.41, INV-24, FP-9: money on a gateway order whose id was never stored finds its order by receipt and marks; what only looks like
// ours is put before a person; what is another program's is noted and left.
func TestAdoptedGatewayOrders(t *testing.T) {
	t.Parallel()
	t.Run("S2.41 created and lost: the money on it pays the order", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		claim, _, err := c.store.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
		must(t, err)
		lost, err := c.cashier.gateway.CreateOrder(t.Context(), orderParams(o, claim))
		must(t, err)
		p := c.pay(standin.PayParams{OrderID: lost.ID})
		must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
		if c.status(o) != models.OrderPaid || c.text(`SELECT state || ' ' || learned_via FROM gateway_orders`) != "current event" || c.text(`SELECT state FROM gateway_claims`) != "attached" {
			t.Errorf("order is %s, gateway order %s, claim %s", c.status(o), c.text(`SELECT state || ' ' || learned_via FROM gateway_orders`), c.text(`SELECT state FROM gateway_claims`))
		}
		c.settled()
	})
	t.Run("a gateway order of another program is noted and left", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		made, err := c.cashier.gateway.CreateOrder(t.Context(), razorpay.OrderParams{AmountPaise: int64(o.AmountPaise), Currency: "INR", Receipt: "invoice 7"})
		must(t, err)
		p := c.pay(standin.PayParams{OrderID: made.ID})
		must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
		c.numbers(map[string]int64{`SELECT count(*) FROM payments`: 0, `SELECT count(*) FROM gateway_orders`: 0, `SELECT count(*) FROM recon_breaks`: 1, `SELECT count(*) FROM orders`: 1,
			`SELECT count(*) FROM staff_tasks`: 0, `SELECT count(*) FROM webhook_events WHERE status = 'ignored'`: 1})
		if c.status(o) != models.OrderPending {
			t.Errorf("order is %s", c.status(o))
		}
		c.kept()
	})
	t.Run("a gateway order with our marks in dollars is put before a person", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		params := orderParams(o, models.Claim{Receipt: o.PublicID + "-g1", Attempt: 1})
		params.Currency = "USD"
		made, err := c.cashier.gateway.CreateOrder(t.Context(), params)
		must(t, err)
		p := c.pay(standin.PayParams{OrderID: made.ID, Currency: "USD"})
		must(t, c.receive(t.Context(), c.events(p.ID)["payment.captured"]))
		c.numbers(map[string]int64{`SELECT count(*) FROM payments`: 0, `SELECT count(*) FROM recon_breaks`: 1, `SELECT count(*) FROM orders`: 1, `SELECT count(*) FROM staff_tasks WHERE kind = 'unmapped_money' AND order_id IS NULL`: 1})
		c.kept()
	})
	for _, alien := range []struct {
		name   string
		change func(p *razorpay.OrderParams)
	}{
		{"our receipt with another amount", func(p *razorpay.OrderParams) { p.AmountPaise++ }},
		{"our receipt without our mark", func(p *razorpay.OrderParams) { p.Notes = nil }},
		{"our mark without our receipt", func(p *razorpay.OrderParams) { p.Receipt = "invoice 7" }},
		{"a receipt of no order", func(p *razorpay.OrderParams) { p.Receipt = "t00000000000000000000000000000000-g1" }},
	} {
		// reliability.md 4: money that is ours and fits no order is never kept and never forgotten.
		t.Run("money on a gateway order with "+alien.name+" goes back after staff could look", func(t *testing.T) {
			t.Parallel()
			c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			o := c.place()
			params := orderParams(o, models.Claim{Receipt: o.PublicID + "-g1", Attempt: 1})
			alien.change(&params)
			made, err := c.cashier.gateway.CreateOrder(t.Context(), params)
			must(t, err)
			p := c.pay(standin.PayParams{OrderID: made.ID})
			var reports sync.WaitGroup
			for range 8 { // told at once by all roads
				reports.Go(func() {
					_, err := c.cashier.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
					must(t, err)
				})
			}
			reports.Wait()
			c.numbers(map[string]int64{`SELECT count(*) FROM payments WHERE disposition = 'refund' AND reason = 'review'`: 1, `SELECT count(*) FROM gateway_orders`: 1, `SELECT count(*) FROM recon_breaks`: 0,
				`SELECT count(*) FROM orders WHERE cancel_reason = 'review'`: 1, `SELECT count(*) FROM orders`: 2, `SELECT count(*) FROM fulfilments`: 0, `SELECT count(*) FROM staff_tasks WHERE kind = 'unmapped_money'`: 1,
				`SELECT count(*) FROM refunds WHERE status = 'requested' AND hold_until BETWEEN shop_now() + interval '119 minutes' AND shop_now() + interval '2 hours'`: 1})
			if c.status(o) != models.OrderPending {
				t.Errorf("order is %s", c.status(o))
			}
			c.advance(119 * time.Minute)
			c.sweep()
			c.numbers(map[string]int64{`SELECT count(*) FROM refunds WHERE status = 'requested'`: 1})
			c.advance(2 * time.Minute)
			c.sweep()
			c.heal()
			c.allBack(p)
			c.one(models.TaskSilence) // nobody told by webhook; the money itself is settled
		})
	}
	t.Run("staff who have looked give it back at once, once", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
		o := c.place()
		made, err := c.cashier.gateway.CreateOrder(t.Context(), orderParams(o, models.Claim{Receipt: "t00000000000000000000000000000000-g1", Attempt: 1}))
		must(t, err)
		p := c.pay(standin.PayParams{OrderID: made.ID})
		_, err = c.cashier.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
		must(t, err)
		task := c.count(`SELECT id FROM staff_tasks WHERE kind = 'unmapped_money'`)
		owner := c.hire()
		must(t, c.store.RetryTask(t.Context(), task, owner))
		if err := c.store.RetryTask(t.Context(), task, owner); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("pressed twice: %v", err)
		}
		c.sweep()
		c.heal()
		c.allBack(p)
	})
}

// INV-7, FP-19: the last net. What no page, webhook or order's own sweep told of is in the account's list.
func TestReconcileAccount(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	o, id := s.newCustomer().add("samosa", 2).open()
	s.pay(standin.PayParams{OrderID: id})
	s.pay(standin.PayParams{AmountPaise: 5000}) // a payment link of another program
	for round, want := range []int{1, 0} {
		found, err := s.cashier.ReconcileAccount(t.Context(), AccountHours)
		if err != nil || found != want {
			t.Errorf("round %d: %d found, %v", round, found, err)
		}
	}
	if s.status(o) != models.OrderPaid || s.text(`SELECT first_source FROM payments`) != "recon" {
		t.Errorf("order is %s", s.status(o))
	}
	for range 101 { // more than a page, the oldest of them ours
		s.pay(standin.PayParams{AmountPaise: 5000})
	}
	late, lateID := s.newCustomer().add("samosa", 3).open()
	s.pay(standin.PayParams{OrderID: lateID})
	for range 101 {
		s.pay(standin.PayParams{AmountPaise: 5000})
	}
	if found, err := s.cashier.ReconcileAccount(t.Context(), AccountHours); err != nil || found != 1 || s.status(late) != models.OrderPaid {
		t.Errorf("%d found, order is %s, %v", found, s.status(late), err)
	}
	s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments", Kind: standin.HTML502})
	if _, err := s.cashier.ReconcileAccount(t.Context(), AccountHours); err == nil {
		t.Error("a silent gateway is taken for an empty list")
	}
	s.gateway.ClearFaults()
	s.settled()
}

// FP-23, FP-38, FP-39: how sweeps ask: past a list that lags, by turns, and not on and on while nobody answers.
func TestSweepsAsk(t *testing.T) {
	t.Parallel()
	gets := func(s *shop, pattern string) (n int) {
		for _, r := range s.gateway.Requests() {
			if ok, err := filepath.Match(pattern, r.Path); r.Method == "GET" && ok && err == nil {
				n++
			}
		}
		return n
	}
	t.Run("FP-23 a payment the list does not show yet is asked about by its id", func(t *testing.T) {
		t.Parallel()
		c := openShop(t, standin.Options{Settings: standin.Settings{OrderPaymentsLag: time.Hour}}).newCustomer().add("samosa", 2)
		o, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id, Outcome: standin.AuthorizeOnly})
		c.verify(o, id, p.ID)
		must(t, c.gateway.Capture(p.ID))
		c.advance(61 * time.Second)
		c.sweep()
		if c.status(o) != models.OrderPaid {
			t.Errorf("order is %s", c.status(o))
		}
	})
	t.Run("FP-38 two sweepers at once ask about each order once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		for range 12 {
			_, id := s.newCustomer().add("samosa", 2).open()
			s.pay(standin.PayParams{OrderID: id})
		}
		s.advance(61 * time.Second)
		total := 0
		for _, n := range inParallel(4, func() int {
			n, err := s.cashier.Reconcile(t.Context())
			if err != nil {
				t.Error(err)
			}
			return n
		}) {
			total += n
		}
		if total != 12 || gets(s, "/v1/orders/*/payments") != 12 || s.count(`SELECT count(*) FROM orders WHERE status = 'paid'`) != 12 {
			t.Errorf("%d swept, %d asked, %d paid", total, gets(s, "/v1/orders/*/payments"), s.count(`SELECT count(*) FROM orders WHERE status = 'paid'`))
		}
	})
	for _, c := range []struct {
		name  string
		fault standin.Fault
		calls int
	}{
		{"FP-39 a silent gateway is left alone after three calls", standin.Fault{Method: "GET", Kind: standin.HTML502}, 3},
		{"FP-22 one that asks for less is left alone at once", standin.Fault{Method: "GET", Kind: standin.Refuse, Refusal: "rate_limited"}, 1},
		{"one that knows no such order is asked on", standin.Fault{Method: "GET", Kind: standin.Refuse, Refusal: "id_not_exist"}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			for range 8 {
				s.newCustomer().add("samosa", 2).open()
			}
			s.advance(61 * time.Second)
			s.gateway.Inject(c.fault)
			_, err := s.cashier.Reconcile(t.Context())
			must(t, err)
			if n := gets(s, "/v1/orders/*/payments"); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			if n := s.count(`SELECT count(*) FROM orders WHERE next_check_at <= shop_now()`); n != 0 {
				t.Errorf("%d orders have no later turn", n)
			}
		})
	}
}

// S2.1, FP-50, S3.2: the key's prefix is the mode, and an event that is not of this account is not acted on.
func TestModeAndAccount(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"rzp_test_1DP5mmOlF5G5ag": "test", "rzp_live_ILgsfZCZoFIKMb": "live", "": "test", "rzp_live": "test"} {
		if got := (Settings{KeyID: key}).Mode(); got != want {
			t.Errorf("%q is %s", key, got)
		}
	}
	for _, c := range []struct {
		name, account, status string
	}{
		{"ours", "", "processed"},
		{"another's", "acc_ANOTHERACCOUNT", "ignored"},
	} {
		t.Run("an event of an account that is "+c.name, func(t *testing.T) {
			t.Parallel()
			b := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
			b.cashier.settings.AccountID = c.account
			if c.account == "" {
				b.cashier.settings.AccountID = b.gateway.AccountID()
			}
			_, id := b.open()
			p := b.pay(standin.PayParams{OrderID: id})
			must(t, b.receive(t.Context(), b.events(p.ID)["payment.captured"]))
			if got := b.text(`SELECT status FROM webhook_events`); got != c.status || b.count(`SELECT count(*) FROM payments`) != map[string]int64{"processed": 1}[c.status] {
				t.Errorf("event is %s, %d payments", got, b.count(`SELECT count(*) FROM payments`))
			}
		})
	}
	t.Run("FP-20 a body beyond any event's size is refused unread, whoever signed it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		body := append([]byte(`{"event":"a.b"}`), bytes.Repeat([]byte(" "), maxWebhookBody)...)
		if _, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: body, EventID: "Ev1", Signature: razorpay.SignWebhook(webhookSecret, body)}); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if n := s.count(`SELECT count(*) FROM webhook_events`); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
	t.Run("C019 an empty secret accepts nothing, not even what is signed with it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.cashier.settings.WebhookSecret, s.cashier.settings.WebhookSecretPrevious = "", ""
		body := []byte(`{"event":"a.b"}`)
		if _, err := s.cashier.ReceiveWebhook(t.Context(), Delivery{Body: body, EventID: "Ev1", Signature: razorpay.SignWebhook("", body)}); !errors.Is(err, ErrBadSignature) {
			t.Error(err)
		}
	})
}
