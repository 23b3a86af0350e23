package standin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay/standin"
)

// soon bounds waiting in tests: generous, since a pass takes milliseconds.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func payment(t *testing.T, s *standin.Server, id string) standin.Payment {
	t.Helper()
	p, ok := s.Books().Payment(id)
	if !ok {
		t.Fatalf("no payment %s", id)
	}
	return p
}

// told lists the events about a payment, in order of happening.
func told(s *standin.Server, paymentID string) (names []string) {
	for _, e := range s.Events() {
		if e.PaymentID == paymentID {
			names = append(names, e.Name)
		}
	}
	return names
}

func wantTold(t *testing.T, s *standin.Server, paymentID string, want ...string) {
	t.Helper()
	if got := told(s, paymentID); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func orderWith(t *testing.T, base, rest string) string {
	t.Helper()
	status, o := ask(t, "POST", base+"/v1/orders", `{"amount":45900,"currency":"INR"`+rest+`}`)
	if status != 200 {
		t.Fatalf("create: %d %v", status, o)
	}
	return o["id"].(string)
}

func TestBank(t *testing.T) {
	t.Run("a payment is captured and its order paid at one instant", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		wantTold(t, s, p.ID, "payment.authorized", "payment.captured", "order.paid")
		var at []string
		for _, e := range s.Events()[1:] {
			at = append(at, fmt.Sprint(parse(t, e.Body).(map[string]any)["created_at"]))
		}
		if at[0] != at[1] {
			t.Errorf("captured at %s, paid at %s", at[0], at[1])
		}
		if e := s.Events(); e[0].ID == e[1].ID || e[1].ID == e[2].ID || !id14.MatchString(e[0].ID) {
			t.Errorf("event ids %s %s %s", e[0].ID, e[1].ID, e[2].ID)
		}
	})
	t.Run("a second success on a paid order goes back at once", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		order := newOrder(t, base, "45900")
		pay(t, s, standin.PayParams{OrderID: order})
		p := pay(t, s, standin.PayParams{OrderID: order})
		if p.Status != "refunded" || p.Captured || p.RefundStatus != "full" || !p.AutoRefunded || s.Books().KeptPaise(p.ID) != 0 {
			t.Errorf("%+v", p)
		}
		wantTold(t, s, p.ID, "payment.authorized", "refund.created", "refund.processed")
		if o, _ := s.Books().Order(order); o.AmountPaidPaise != 45900 || o.Attempts != 2 {
			t.Errorf("order %+v", o)
		}
	})
	t.Run("or is captured too, if the account is so", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		order := newOrder(t, base, "45900")
		pay(t, s, standin.PayParams{OrderID: order})
		p := pay(t, s, standin.PayParams{OrderID: order})
		if p.Status != "captured" || s.Books().KeptPaise(p.ID) != 45900 {
			t.Errorf("%+v", p)
		}
		wantTold(t, s, p.ID, "payment.authorized", "payment.captured")
	})
	t.Run("a failed payment succeeds late under the same id", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		order := newOrder(t, base, "45900")
		p := pay(t, s, standin.PayParams{OrderID: order, Outcome: standin.FailThenLate, After: time.Hour})
		if p.Status != "failed" || p.ErrorCode == "" {
			t.Fatalf("%+v", p)
		}
		s.Advance(59 * time.Minute)
		if err := s.WaitQuiet(soon(t)); err != nil {
			t.Fatal(err)
		}
		if payment(t, s, p.ID).Status != "failed" {
			t.Fatal("succeeded before its time")
		}
		s.Advance(2 * time.Minute)
		if err := s.WaitFor(soon(t), "the late success", func(b standin.Books) bool { q, _ := b.Payment(p.ID); return q.Status == "captured" }); err != nil {
			t.Fatal(err)
		}
		wantTold(t, s, p.ID, "payment.failed", "payment.authorized", "payment.captured", "order.paid")
		if q := payment(t, s, p.ID); q.ErrorCode != "" || q.ErrorReason != "" {
			t.Errorf("an error is left: %+v", q)
		}
	})
	t.Run("silence of the bank fails a payment after ten minutes", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.Pend})
		if p.Status != "created" || len(told(s, p.ID)) != 0 {
			t.Fatalf("%+v", p)
		}
		s.Advance(10*time.Minute + time.Second)
		if err := s.WaitEvents(soon(t), "payment.failed", 1); err != nil {
			t.Fatal(err)
		}
		if q := payment(t, s, p.ID); q.Status != "failed" || q.ErrorReason != "payment_timed_out" {
			t.Errorf("%+v", q)
		}
	})
	t.Run("a pending payment is decided by hand", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		yes := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.Pend})
		no := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.Pend})
		if err := errors.Join(s.SucceedLate(yes.ID), s.Fail(no.ID, "payment_cancelled")); err != nil {
			t.Fatal(err)
		}
		if payment(t, s, yes.ID).Status != "captured" || payment(t, s, no.ID).ErrorReason != "payment_cancelled" {
			t.Error("not decided")
		}
		if err := s.SucceedLate(yes.ID); !errors.Is(err, standin.ErrNotPossible) {
			t.Errorf("a captured payment succeeded again: %v", err)
		}
	})
	t.Run("the order's own window bounds automatic capture", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		order := orderWith(t, base, `,"payment":{"capture":"automatic","capture_options":{"automatic_expiry_period":12,"manual_expiry_period":20}}`)
		in := pay(t, s, standin.PayParams{OrderID: order, Outcome: standin.Pend})
		between := pay(t, s, standin.PayParams{OrderID: orderWith(t, base, `,"payment":{"capture":"automatic","capture_options":{"automatic_expiry_period":12,"manual_expiry_period":20}}`), Outcome: standin.Pend})
		after := pay(t, s, standin.PayParams{OrderID: orderWith(t, base, `,"payment":{"capture":"automatic","capture_options":{"automatic_expiry_period":12,"manual_expiry_period":12}}`), Outcome: standin.Pend})
		s.Advance(11 * time.Minute) // the two still silent have failed meanwhile, which the bank's late yes undoes
		if err := s.SucceedLate(in.ID); err != nil {
			t.Fatal(err)
		}
		if q := payment(t, s, in.ID); q.Status != "captured" {
			t.Errorf("within: %s", q.Status)
		}
		s.Advance(2 * time.Minute)
		if err := errors.Join(s.SucceedLate(between.ID), s.SucceedLate(after.ID)); err != nil {
			t.Fatal(err)
		}
		if q := payment(t, s, between.ID); q.Status != "authorized" || q.Captured {
			t.Errorf("between the windows: %+v", q)
		}
		if q := payment(t, s, after.ID); q.Status != "refunded" || q.Captured || !q.AutoRefunded {
			t.Errorf("after both: %+v", q)
		}
		s.Advance(8 * time.Minute)
		if err := s.WaitFor(soon(t), "giving back", func(b standin.Books) bool { q, _ := b.Payment(between.ID); return q.Status == "refunded" }); err != nil {
			t.Fatal(err)
		}
		got := told(s, between.ID)
		if !slices.Equal(got[len(got)-2:], []string{"refund.created", "refund.processed"}) || slices.Contains(got, "payment.captured") {
			t.Errorf("told %v", got)
		}
	})
	t.Run("what nobody captures goes back after three days", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{ManualCapture: true}})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		other := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		if p.Status != "authorized" {
			t.Fatal(p.Status)
		}
		if status, got := ask(t, "POST", base+"/v1/payments/"+other.ID+"/capture", `{"amount":45900,"currency":"INR"}`); status != 200 || got["status"] != "captured" {
			t.Fatal(got)
		}
		s.Advance(3*24*time.Hour + time.Minute)
		if err := s.WaitFor(soon(t), "giving back", func(b standin.Books) bool { q, _ := b.Payment(p.ID); return q.Status == "refunded" }); err != nil {
			t.Fatal(err)
		}
		if q := payment(t, s, other.ID); q.Status != "captured" {
			t.Errorf("the captured one is %s", q.Status)
		}
	})
	t.Run("capture may lag behind, and another payment may win meanwhile", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{CaptureDelay: time.Minute}})
		order := newOrder(t, base, "45900")
		a, b := pay(t, s, standin.PayParams{OrderID: order}), pay(t, s, standin.PayParams{OrderID: order})
		if a.Status != "authorized" || b.Status != "authorized" {
			t.Fatal(a.Status, b.Status)
		}
		s.Advance(2 * time.Minute)
		if err := s.WaitQuiet(soon(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitFor(soon(t), "both decided", func(books standin.Books) bool {
			p, _ := books.Payment(a.ID)
			q, _ := books.Payment(b.ID)
			return p.Status == "captured" && q.Status == "refunded"
		}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("wrong amount, wrong currency, fee borne by the customer", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		wrong := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), AmountPaise: 45800})
		dollars := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Currency: "USD"})
		order := newOrder(t, base, "45900")
		fee := pay(t, s, standin.PayParams{OrderID: order, CustomerFeePaise: 1083})
		if wrong.AmountPaise != 45800 || wrong.Status != "captured" || dollars.Currency != "USD" || fee.AmountPaise != 46983 {
			t.Error(wrong, dollars, fee)
		}
		if o, _ := s.Books().Order(order); o.AmountPaidPaise != 45900 || o.Status != "paid" {
			t.Errorf("%+v", o)
		}
		if got := get(t, base+"/v1/payments/"+fee.ID).(map[string]any); got["fee_bearer"] != "customer" || got["amount"] != 46983.0 {
			t.Error(got)
		}
	})
	t.Run("a payment without order is never captured", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		p := pay(t, s, standin.PayParams{AmountPaise: 5000})
		if status, _ := ask(t, "POST", base+"/v1/payments/"+p.ID+"/capture", `{"amount":5000,"currency":"INR"}`); status != 400 || p.Status != "authorized" {
			t.Errorf("%d %s", status, p.Status)
		}
	})
	t.Run("refunds outside, pending, settled, failed", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		a, err := s.RefundOutside(p.ID, 900)
		if err != nil || a.Status != "pending" || !a.Outside {
			t.Fatal(a, err)
		}
		if got := get(t, base+"/v1/payments/"+p.ID+"/refunds").(map[string]any); got["count"] != 1.0 {
			t.Error(got)
		}
		b, err := s.RefundOutside(p.ID, 0)
		if err != nil || b.AmountPaise != 45000 || payment(t, s, p.ID).Status != "refunded" {
			t.Fatal(b, err)
		}
		if err := errors.Join(s.SettleRefund(a.ID), s.FailRefund(b.ID)); err != nil {
			t.Fatal(err)
		}
		q := payment(t, s, p.ID)
		if q.Status != "captured" || q.RefundStatus != "partial" || q.AmountRefundedPaise != 900 || s.Books().KeptPaise(p.ID) != 45000 {
			t.Errorf("%+v", q)
		}
		if _, err := s.RefundOutside(p.ID, 45001); !errors.Is(err, standin.ErrNotPossible) {
			t.Errorf("refunded more than is left: %v", err)
		}
		got := told(s, p.ID)
		if !slices.Equal(got[3:], []string{"refund.created", "refund.created", "refund.processed", "refund.failed"}) {
			t.Errorf("told %v", got)
		}
	})
	t.Run("pending refunds settle by themselves after a while", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{PendingRefunds: true, RefundDelay: time.Hour}})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		status, r := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{}`)
		if status != 200 || r["status"] != "pending" {
			t.Fatal(r)
		}
		s.Advance(61 * time.Minute)
		if err := s.WaitEvents(soon(t), "refund.processed", 1); err != nil {
			t.Fatal(err)
		}
		if got := get(t, base+"/v1/refunds/"+r["id"].(string)).(map[string]any); got["status"] != "processed" {
			t.Error(got)
		}
	})
	t.Run("disputes block refunds and may take the money", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Method: "card"})
		d, err := s.OpenDispute(p.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if status, got := ask(t, "PATCH", base+"/v1/disputes/"+d.ID+"/contest", `{"summary":"eaten","action":"submit"}`); status != 200 || got["status"] != "under_review" || text(t, got, "evidence", "summary") != "eaten" {
			t.Fatal(status, got)
		}
		if err := s.DecideDispute(d.ID, "lost"); err != nil {
			t.Fatal(err)
		}
		if got := s.Books().Disputes[0]; got.DeductedPaise != 45900 {
			t.Errorf("%+v", got)
		}
		if status, _ := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{"amount":100}`); status != 200 {
			t.Error("still blocked")
		}
		wantTold(t, s, p.ID, "payment.authorized", "payment.captured", "order.paid", "payment.dispute.created", "payment.dispute.under_review",
			"payment.dispute.lost", "refund.created", "refund.processed")
	})
	t.Run("unknown ids are refused", func(t *testing.T) {
		s, _ := open(t, standin.Options{})
		_, err := s.Pay(standin.PayParams{OrderID: "order_x"})
		_, err2 := s.RefundOutside("pay_x", 1)
		for _, err := range []error{err, err2, s.Capture("pay_x"), s.FailRefund("rfnd_x"), s.DecideDispute("disp_x", "won")} {
			if !errors.Is(err, standin.ErrNoSuch) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestSettings(t *testing.T) {
	t.Run("receipt modes", func(t *testing.T) {
		s, base := open(t, standin.Options{})
		first := orderWith(t, base, `,"receipt":"same"`)
		if second := orderWith(t, base, `,"receipt":"same"`); second == first {
			t.Error("allow gave the same order")
		}
		for mode, want := range map[string]string{standin.ReceiptRejectWithOrder: "Order receipt should be unique.", standin.ReceiptReject: "Duplicate request. This request has already been processed."} {
			s.Configure(func(c *standin.Settings) { c.ReceiptMode = mode })
			status, got := ask(t, "POST", base+"/v1/orders", `{"amount":45900,"currency":"INR","receipt":"same"}`)
			if status != 400 || text(t, got, "error", "description") != want || (text(t, got, "error", "metadata", "order_id") == first) != (mode == standin.ReceiptRejectWithOrder) {
				t.Errorf("%s: %v", mode, got)
			}
		}
		s.Configure(func(c *standin.Settings) { c.ReceiptMode = standin.ReceiptReturnSame })
		if again := orderWith(t, base, `,"receipt":"same"`); again != first {
			t.Error("return_same gave another order")
		}
		s.Configure(func(c *standin.Settings) { c.ReceiptMode, c.UniqueReceipt = "", true })
		if again := orderWith(t, base, `,"receipt":"same","unique_receipt":true`); again != first {
			t.Error("unique_receipt gave another order")
		}
		if n := len(s.Books().OrdersOf("same")); n != 2 {
			t.Errorf("%d orders", n)
		}
	})
	t.Run("lists lag, reads by id do not", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{ListLag: time.Minute, OrderPaymentsLag: time.Minute, RefundsLag: time.Minute}})
		order := orderWith(t, base, `,"receipt":"lag"`)
		p := pay(t, s, standin.PayParams{OrderID: order})
		if status, r := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{"amount":100}`); status != 200 {
			t.Fatal(r)
		}
		lists := []string{"/v1/orders?receipt=lag", "/v1/payments", "/v1/refunds", "/v1/orders/" + order + "/payments", "/v1/payments/" + p.ID + "/refunds"}
		for _, l := range lists {
			if n := get(t, base+l).(map[string]any)["count"]; n != 0.0 {
				t.Errorf("%s shows %v at once", l, n)
			}
		}
		get(t, base+"/v1/orders/"+order)
		get(t, base+"/v1/payments/"+p.ID)
		s.Advance(time.Minute)
		for _, l := range lists {
			if n := get(t, base+l).(map[string]any)["count"]; n != 1.0 {
				t.Errorf("%s shows %v after the lag", l, n)
			}
		}
	})
	t.Run("shapes flip, keys appear, contacts are bare", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{ExtraKeys: true, FlipShapes: true, BareContact: true}})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Email: "guest@example.test", Contact: "+919999999999"})
		got := get(t, base+"/v1/payments/"+p.ID).(map[string]any)
		_, isObject := got["notes"].(map[string]any)
		_, isList := got["acquirer_data"].([]any)
		if !isObject || !isList || got["x_unannounced"] == nil || got["email"] != nil || got["contact"] != "9999999999" {
			t.Error(got)
		}
	})
	t.Run("no balance to refund from", func(t *testing.T) {
		s, base := open(t, standin.Options{Settings: standin.Settings{LowBalance: true}})
		p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		if _, got := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{}`); !strings.Contains(text(t, got, "error", "description"), "enough balance") {
			t.Error(got)
		}
	})
	t.Run("nonsense is refused", func(t *testing.T) {
		s, _ := open(t, standin.Options{})
		defer func() {
			if recover() == nil {
				t.Error("an unknown receipt mode was taken")
			}
			if s.Settings().ReceiptMode != standin.ReceiptAllow {
				t.Error("and kept")
			}
		}()
		s.Configure(func(c *standin.Settings) { c.ReceiptMode = "sometimes" })
	})
}

func TestTheSameSeedGivesTheSameIds(t *testing.T) {
	run := func(seed uint64) string {
		s := standin.New(standin.Options{Seed: seed})
		defer s.Close()
		p := pay(t, s, standin.PayParams{AmountPaise: 5000})
		q := pay(t, s, standin.PayParams{AmountPaise: 5000, Method: "card"})
		return s.AccountID() + p.ID + q.ID + q.Card.ID + s.Events()[0].ID
	}
	if a, b := run(7), run(7); a != b {
		t.Errorf("%s and %s", a, b)
	}
	unseeded, again := run(0), run(0)
	if run(7) == run(8) || unseeded == again {
		t.Error("another seed gave the same ids")
	}
}

func TestIdempotentRefunds(t *testing.T) {
	s, base := open(t, standin.Options{})
	p := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
	refund := func(body, key string) (int, map[string]any) {
		return ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", body, "X-Refund-Idempotency", key)
	}
	_, a := refund(`{"amount":1000,"receipt":"a"}`, "key-aaaaaaaa")
	status, b := refund(`{"amount":1000,"receipt":"a"}`, "key-aaaaaaaa")
	if status != 200 || a["id"] != b["id"] {
		t.Fatalf("replay: %d %v and %v", status, a, b)
	}
	if status, got := refund(`{"receipt":"a","amount":1000}`, "key-aaaaaaaa"); status != 409 {
		t.Fatalf("other bytes: %d %v", status, got)
	}
	if n := len(s.Books().Refunds); n != 1 {
		t.Fatalf("%d refunds", n)
	}
	t.Run("a first try that was refused binds nobody", func(t *testing.T) {
		if status, _ := refund(`{"amount":99999999}`, "key-bbbbbbbb"); status != 400 {
			t.Fatal(status)
		}
		if status, got := refund(`{"amount":1000}`, "key-bbbbbbbb"); status != 200 {
			t.Fatal(got)
		}
	})
	t.Run("two at once: one works, one is told so", func(t *testing.T) {
		s.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Stall, Times: 1})
		first := make(chan int)
		go func() {
			status, _ := refund(`{"amount":1000,"receipt":"c"}`, "key-cccccccc")
			first <- status
		}()
		if err := s.WaitStalled(soon(t), 1); err != nil {
			t.Fatal(err)
		}
		status, got := refund(`{"amount":1000,"receipt":"c"}`, "key-cccccccc")
		if status != 409 || !strings.Contains(text(t, got, "error", "description"), "still in progress") {
			t.Errorf("%d %v", status, got)
		}
		s.ReleaseStalled()
		if status := <-first; status != 200 {
			t.Errorf("the first: %d", status)
		}
		if status, _ := refund(`{"amount":1000,"receipt":"c"}`, "key-cccccccc"); status != 200 {
			t.Errorf("afterwards: %d", status)
		}
	})
}
