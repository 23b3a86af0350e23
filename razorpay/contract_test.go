package razorpay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	crand "crypto/rand"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// The contract between this package and the gateway, held against the stand-in always and against Razorpay's test mode when
// RAZORPAY_TEST_KEY_ID and RAZORPAY_TEST_KEY_SECRET are set: what both must answer alike keeps the understudy honest.

type gateway struct {
	url, keyID, keySecret string
	client                *razorpay.Client
}

func newGateway(url, keyID, keySecret string) gateway {
	return gateway{url, keyID, keySecret, razorpay.New(razorpay.Config{KeyID: keyID, KeySecret: keySecret, APIURL: url})}
}

// openStandIn starts a stand-in for one test.
func openStandIn(t *testing.T, o standin.Options) (*standin.Server, gateway) {
	t.Helper()
	if o.Seed == 0 {
		o.Seed = 1
	}
	s := standin.New(o)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, newGateway(url, s.KeyID(), s.KeySecret())
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// raw asks the gateway past our client, for what our client would not send.
func (g gateway) raw(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(g.keyID, g.keySecret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

func freshReceipt() string { return "contract-" + strings.ToLower(crand.Text()[:20]) }

func TestContract(t *testing.T) {
	t.Run("stand-in", func(t *testing.T) {
		_, g := openStandIn(t, standin.Options{})
		contract(t, g)
	})
	if id, secret := os.Getenv("RAZORPAY_TEST_KEY_ID"), os.Getenv("RAZORPAY_TEST_KEY_SECRET"); id != "" && secret != "" {
		if !strings.HasPrefix(id, "rzp_test_") {
			t.Fatal("RAZORPAY_TEST_KEY_ID is not a test key")
		}
		t.Run("Razorpay test mode", func(t *testing.T) { contract(t, newGateway(razorpay.DefaultAPIURL, id, secret)) })
	}
}

// contract is what must hold of either. It moves no money: a payment needs a person at Checkout.
func contract(t *testing.T, g gateway) {
	params := func() razorpay.OrderParams {
		return razorpay.OrderParams{AmountPaise: 45900, Currency: "INR", Receipt: freshReceipt(), Notes: map[string]string{"purpose": "contract test"},
			Capture: &razorpay.CaptureOptions{AutomaticExpiryMinutes: 20, ManualExpiryMinutes: 20, RefundSpeed: "normal"}}
	}
	order := func(t *testing.T) razorpay.Order {
		t.Helper()
		o, err := g.client.CreateOrder(within(t), params())
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	t.Run("an order reads back as it was made", func(t *testing.T) {
		made := order(t)
		if made.Status != "created" || made.AmountDuePaise != 45900 || made.AmountPaidPaise != 0 || made.Attempts != 0 || made.Notes["purpose"] != "contract test" || made.CreatedAt.IsZero() {
			t.Errorf("%+v", made)
		}
		read, err := g.client.FetchOrder(within(t), made.ID)
		if err != nil || read.Receipt != made.Receipt || read.AmountPaise != made.AmountPaise || !read.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("%+v %v", read, err)
		}
		payments, err := g.client.ListOrderPayments(within(t), made.ID)
		if err != nil || len(payments) != 0 {
			t.Errorf("%v %v", payments, err)
		}
	})
	t.Run("an order has at least the keys of the sample", func(t *testing.T) {
		made := order(t)
		for _, path := range []string{"/v1/orders/" + made.ID, "/v1/orders/" + made.ID + "/"} {
			status, raw := g.raw(t, "GET", path, "")
			if status != 200 {
				t.Fatalf("%s: %d %s", path, status, raw)
			}
			have, want := keysOf(t, raw), keysOf(t, sample(t, "order_created_notes_empty.json"))
			for _, k := range want {
				if !slices.Contains(have, k) {
					t.Errorf("%s: no %q among %v", path, k, have)
				}
			}
		}
	})
	t.Run("a list by receipt holds that receipt only", func(t *testing.T) {
		made := order(t)
		list, err := g.client.ListOrdersByReceipt(within(t), made.Receipt)
		if err != nil || len(list) > 1 || len(list) == 1 && list[0].ID != made.ID { // lists lag: none is no proof
			t.Errorf("%v %v", list, err)
		}
	})
	t.Run("a receipt used twice ends in one of the four known ways", func(t *testing.T) {
		p := params()
		first, err := g.client.CreateOrder(within(t), p)
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.client.CreateOrder(within(t), p)
		switch existing, dup := razorpay.IsDuplicateReceipt(err); {
		case err == nil:
			t.Logf("accepted; the same order: %t", second.ID == first.ID)
		case dup && existing != "" && existing != first.ID:
			t.Errorf("refused for %s, not for %s", existing, first.ID)
		case dup:
			t.Logf("refused; named: %t", existing != "")
		default:
			t.Errorf("a way nobody knows: %v", err)
		}
	})
	t.Run("unknown ids are refused with 400", func(t *testing.T) {
		ctx := within(t)
		_, e1 := g.client.FetchOrder(ctx, "order_TstAbCdEf00001")
		_, e2 := g.client.FetchPayment(ctx, "pay_TstAbCdEf00001")
		_, e3 := g.client.FetchRefund(ctx, "rfnd_TstAbCdEf00001")
		_, e4 := g.client.CreateRefund(ctx, "pay_TstAbCdEf00001", razorpay.RefundParams{AmountPaise: 100, Receipt: freshReceipt(), IdempotencyKey: freshReceipt()})
		for i, err := range []error{e1, e2, e3, e4} {
			api, is := errors.AsType[*razorpay.APIError](err)
			if razorpay.OutcomeOf(err) != razorpay.Refused || !is || api.Status != 400 || api.Code != "BAD_REQUEST_ERROR" {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
	t.Run("a wrong secret is unauthorised", func(t *testing.T) {
		_, err := newGateway(g.url, g.keyID, "wrong").client.FetchOrder(within(t), "order_TstAbCdEf00001")
		if razorpay.OutcomeOf(err) != razorpay.Unauthorised {
			t.Error(err)
		}
	})
	t.Run("orders nobody may make", func(t *testing.T) {
		for body, say := range map[string]string{
			`{"currency":"INR"}`:                                                          "amount",
			`{"amount":99,"currency":"INR"}`:                                              "amount",
			`{"amount":"500","currency":"INR"}`:                                           "integer",
			`{"amount":500,"currency":"INR","unknown_field":1}`:                           "should not be sent",
			`{"amount":500,"currency":"INR","receipt":"` + strings.Repeat("x", 41) + `"}`: "40",
		} {
			status, raw := g.raw(t, "POST", "/v1/orders", body)
			if status != 400 || !strings.Contains(strings.ToLower(string(raw)), say) {
				t.Errorf("%s: %d %s", body, status, raw)
			}
		}
	})
	t.Run("settlements of last month can be asked for", func(t *testing.T) {
		last := time.Now().AddDate(0, -1, -1)
		if _, err := g.client.ListSettlementRecon(within(t), last.Year(), int(last.Month()), 0, 10, 0); err != nil {
			t.Error(err)
		}
	})
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func keysOf(t *testing.T, raw []byte) (keys []string) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// From here on the stand-in alone: it can be paid, and made to fail.

func placed(t *testing.T, g gateway) razorpay.Order {
	t.Helper()
	o, err := g.client.CreateOrder(within(t), razorpay.OrderParams{AmountPaise: 45900, Currency: "INR", Receipt: freshReceipt()})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func paid(t *testing.T, s *standin.Server, in standin.PayParams) standin.Payment {
	t.Helper()
	p, err := s.Pay(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClientSeesMoneyAsTheGatewayDoes(t *testing.T) {
	t.Run("paid, refunded in part, refunded wholly", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{})
		o := placed(t, g)
		p := paid(t, s, standin.PayParams{OrderID: o.ID, Method: "card", Notes: map[string]string{"a": "b"}})
		seen, err := g.client.FetchPayment(within(t), p.ID)
		if err != nil || seen.Status != "captured" || !seen.Captured || seen.OrderID != o.ID || seen.AmountPaise != 45900 || seen.FeePaise == nil || *seen.FeePaise != 1083 || seen.Notes["a"] != "b" {
			t.Fatalf("%+v %v", seen, err)
		}
		if list, err := g.client.ListOrderPayments(within(t), o.ID); err != nil || len(list) != 1 || list[0].ID != p.ID {
			t.Fatalf("%v %v", list, err)
		}
		if list, err := g.client.ListPayments(within(t), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), 10, 0); err != nil || len(list) != 1 {
			t.Fatalf("%v %v", list, err)
		}
		if read, err := g.client.FetchOrder(within(t), o.ID); err != nil || read.Status != "paid" || read.AmountPaidPaise != 45900 || read.AmountDuePaise != 0 || read.Attempts != 1 {
			t.Fatalf("%+v %v", read, err)
		}
		in := razorpay.RefundParams{AmountPaise: 900, Receipt: "part", IdempotencyKey: "contract-part-1", Notes: map[string]string{"why": "cold", "who": "staff"}}
		part, err := g.client.CreateRefund(within(t), p.ID, in)
		if err != nil || part.Status != "processed" {
			t.Fatalf("%+v %v", part, err)
		}
		again, err := g.client.CreateRefund(within(t), p.ID, in)
		if err != nil || again.ID != part.ID {
			t.Fatalf("the same params made %s and %s: %v", part.ID, again.ID, err)
		}
		in.AmountPaise = 901
		if _, err := g.client.CreateRefund(within(t), p.ID, in); razorpay.OutcomeOf(err) != razorpay.Conflict {
			t.Errorf("other params under the same key: %v", err)
		}
		in.IdempotencyKey = "contract-part-2"
		if _, err := g.client.CreateRefund(within(t), p.ID, in); razorpay.OutcomeOf(err) != razorpay.Refused {
			t.Errorf("the same receipt: %v", err)
		} else if _, dup := razorpay.IsDuplicateReceipt(err); !dup {
			t.Errorf("not recognised: %v", err)
		}
		if _, err := g.client.CreateRefund(within(t), p.ID, razorpay.RefundParams{AmountPaise: 45000, Receipt: "rest", IdempotencyKey: "contract-rest-1"}); err != nil {
			t.Fatal(err)
		}
		_, err = g.client.CreateRefund(within(t), p.ID, razorpay.RefundParams{AmountPaise: 100, Receipt: "more", IdempotencyKey: "contract-more-1"})
		if !razorpay.IsAlreadyRefunded(err) {
			t.Errorf("not recognised: %v", err)
		}
		list, err := g.client.ListPaymentRefunds(within(t), p.ID)
		if err != nil || len(list) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		if one, err := g.client.FetchRefund(within(t), list[0].ID); err != nil || one.PaymentID != p.ID {
			t.Errorf("%+v %v", one, err)
		}
		if seen, err := g.client.FetchPayment(within(t), p.ID); err != nil || seen.Status != "refunded" || !seen.Captured || seen.RefundStatus != "full" || seen.AmountRefundedPaise != 45900 {
			t.Errorf("%+v %v", seen, err)
		}
	})
	t.Run("a second payment goes back by itself", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{})
		o := placed(t, g)
		paid(t, s, standin.PayParams{OrderID: o.ID})
		second := paid(t, s, standin.PayParams{OrderID: o.ID})
		if seen, err := g.client.FetchPayment(within(t), second.ID); err != nil || seen.Status != "refunded" || seen.Captured || seen.FeePaise != nil {
			t.Errorf("%+v %v", seen, err)
		}
		if list, err := g.client.ListOrderPayments(within(t), o.ID); err != nil || len(list) != 2 {
			t.Errorf("%v %v", list, err)
		}
	})
	t.Run("a failed payment is paid late", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{})
		o := placed(t, g)
		p := paid(t, s, standin.PayParams{OrderID: o.ID, Outcome: standin.FailNow})
		if seen, err := g.client.FetchPayment(within(t), p.ID); err != nil || seen.Status != "failed" || seen.ErrorReason != "payment_failed" {
			t.Errorf("%+v %v", seen, err)
		}
		if err := s.SucceedLate(p.ID); err != nil {
			t.Fatal(err)
		}
		if seen, err := g.client.FetchPayment(within(t), p.ID); err != nil || seen.Status != "captured" || seen.ErrorReason != "" {
			t.Errorf("%+v %v", seen, err)
		}
	})
	t.Run("what the account's order options no longer cover goes back", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{})
		o, err := g.client.CreateOrder(within(t), razorpay.OrderParams{AmountPaise: 45900, Currency: "INR", Receipt: freshReceipt(),
			Capture: &razorpay.CaptureOptions{AutomaticExpiryMinutes: 12, ManualExpiryMinutes: 12}})
		if err != nil {
			t.Fatal(err)
		}
		p := paid(t, s, standin.PayParams{OrderID: o.ID, Outcome: standin.Pend})
		s.Advance(13 * time.Minute)
		if err := s.SucceedLate(p.ID); err != nil {
			t.Fatal(err)
		}
		if seen, err := g.client.FetchPayment(within(t), p.ID); err != nil || seen.Status != "refunded" || seen.Captured {
			t.Errorf("%+v %v", seen, err)
		}
	})
	t.Run("no balance, too old, in progress, settled", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{Settings: standin.Settings{LowBalance: true}})
		p := paid(t, s, standin.PayParams{OrderID: placed(t, g).ID})
		refund := func() error {
			_, err := g.client.CreateRefund(within(t), p.ID, razorpay.RefundParams{AmountPaise: 100, Receipt: "r", IdempotencyKey: "contract-low-1"})
			return err
		}
		if err := refund(); !razorpay.IsLowBalance(err) {
			t.Error(err)
		}
		s.Configure(func(c *standin.Settings) { c.LowBalance = false })
		s.Inject(standin.Fault{Kind: standin.Refuse, Refusal: "operation_in_progress", Times: 1})
		if err := refund(); razorpay.OutcomeOf(err) != razorpay.Conflict {
			t.Error(err)
		}
		s.Advance(200 * 24 * time.Hour)
		if err := refund(); !razorpay.IsTooOld(err) {
			t.Error(err)
		}
		day := time.Now().In(time.FixedZone("IST", 19800))
		var rows []razorpay.ReconRow
		for month := range 2 {
			at := day.AddDate(0, month, 0)
			got, err := g.client.ListSettlementRecon(within(t), at.Year(), int(at.Month()), 0, 100, 0)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, got...)
		}
		if len(rows) != 1 || rows[0].EntityID != p.ID || rows[0].CreditPaise != 45900-1083 || rows[0].FeePaise != 1083 || rows[0].TaxPaise != 165 {
			t.Errorf("%+v", rows)
		}
	})
	t.Run("loose shapes are survived", func(t *testing.T) {
		s, g := openStandIn(t, standin.Options{Settings: standin.Settings{FlipShapes: true, ExtraKeys: true, BareContact: true}})
		o := placed(t, g)
		p := paid(t, s, standin.PayParams{OrderID: o.ID})
		if seen, err := g.client.FetchPayment(within(t), p.ID); err != nil || seen.Contact != "9999999999" || seen.Email != "" {
			t.Errorf("%+v %v", seen, err)
		}
		if _, err := g.client.CreateRefund(within(t), p.ID, razorpay.RefundParams{AmountPaise: 100, Receipt: "r", IdempotencyKey: "contract-flip-1"}); err != nil {
			t.Error(err)
		}
	})
}

func TestClientConcludesRightlyFromFailures(t *testing.T) {
	s, g := openStandIn(t, standin.Options{})
	for _, c := range []struct {
		fault standin.Fault
		want  razorpay.Outcome
		made  bool
	}{
		{standin.Fault{Kind: standin.Refuse, Refusal: "rate_limited"}, razorpay.RateLimited, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "auth_failed"}, razorpay.Unauthorised, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "string_form"}, razorpay.Unauthorised, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "order_amount_too_large"}, razorpay.Refused, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "edge_no_route"}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "server_error"}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.Refuse, Refusal: "server_error", After: true}, razorpay.Unknown, true},
		{standin.Fault{Kind: standin.Refuse, Refusal: "gateway_error"}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.HTML502}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.Empty200}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.Empty200, After: true}, razorpay.Unknown, true},
		{standin.Fault{Kind: standin.EmptyObject, After: true}, razorpay.Unknown, true},
		{standin.Fault{Kind: standin.Truncate}, razorpay.Unknown, true},
		{standin.Fault{Kind: standin.Reset}, razorpay.Unknown, false},
		{standin.Fault{Kind: standin.Drop}, razorpay.Unknown, true},
	} {
		t.Run(fmt.Sprint(c.fault.Kind, " ", c.fault.Refusal, " ", c.fault.After), func(t *testing.T) {
			c.fault.Method, c.fault.Path, c.fault.Times = "POST", "/v1/orders", 1
			s.Inject(c.fault)
			receipt := freshReceipt()
			o, err := g.client.CreateOrder(within(t), razorpay.OrderParams{AmountPaise: 500, Currency: "INR", Receipt: receipt})
			if err == nil || razorpay.OutcomeOf(err) != c.want {
				t.Errorf("%+v %v", o, err)
			}
			list, err := g.client.ListOrdersByReceipt(within(t), receipt)
			if err != nil || (len(list) == 1) != c.made {
				t.Errorf("made: %v %v", list, err)
			}
			if calls := slices.DeleteFunc(s.Requests(), func(r standin.Request) bool { return r.Receipt != receipt || r.Method != "POST" }); len(calls) != 1 {
				t.Errorf("%d calls for one create", len(calls))
			}
		})
	}
	t.Run("a stalled call ends at the deadline, its outcome unknown", func(t *testing.T) {
		s.Inject(standin.Fault{Path: "/v1/orders", Kind: standin.Stall, After: true, Times: 1})
		ctx, cancel := context.WithCancel(within(t))
		receipt, ended := freshReceipt(), make(chan error)
		go func() {
			_, err := g.client.CreateOrder(ctx, razorpay.OrderParams{AmountPaise: 500, Currency: "INR", Receipt: receipt})
			ended <- err
		}()
		if err := s.WaitStalled(within(t), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || razorpay.OutcomeOf(err) != razorpay.Unknown {
			t.Error(err)
		}
		if len(s.Books().OrdersOf(receipt)) != 1 {
			t.Error("the work was not done")
		}
	})
	t.Run("a refund whose answer is lost is found again by the same params", func(t *testing.T) {
		p := paid(t, s, standin.PayParams{OrderID: placed(t, g).ID})
		s.Inject(standin.Fault{Path: "/v1/payments/*/refund", Kind: standin.Drop, Times: 1})
		in := razorpay.RefundParams{AmountPaise: 900, Receipt: "lost", IdempotencyKey: "contract-lost-1"}
		if _, err := g.client.CreateRefund(within(t), p.ID, in); razorpay.OutcomeOf(err) != razorpay.Unknown || err == nil {
			t.Fatal(err)
		}
		r, err := g.client.CreateRefund(within(t), p.ID, in)
		if err != nil || len(s.Books().RefundsOf(p.ID)) != 1 || s.Books().RefundsOf(p.ID)[0].ID != r.ID {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestEveryEventOfTheStandInIsUnderstood(t *testing.T) {
	var mu sync.Mutex
	var heard []razorpay.Event
	const secret = "contract-webhook-secret"
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !razorpay.VerifyWebhook(secret, body, r.Header.Get("X-Razorpay-Signature")) || razorpay.VerifyWebhook(secret, append(bytes.Clone(body), ' '), r.Header.Get("X-Razorpay-Signature")) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		e, err := razorpay.ParseEvent(body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e)
	}))
	defer shop.Close()
	s, g := openStandIn(t, standin.Options{RetryScale: 1000, Webhooks: []standin.Webhook{{URL: shop.URL, Secret: secret}}})
	s.SpoilWebhooks(standin.WebhookFault{Event: "order.paid", Sign: standin.SignForged, Times: 1})

	o := placed(t, g)
	failed := paid(t, s, standin.PayParams{OrderID: o.ID, Outcome: standin.FailNow, Method: "netbanking"})
	p := paid(t, s, standin.PayParams{OrderID: o.ID, Method: "card"})
	s.Configure(func(c *standin.Settings) { c.PendingRefunds = true })
	var refunds []razorpay.Refund
	for i := range 2 {
		r, err := g.client.CreateRefund(within(t), p.ID, razorpay.RefundParams{AmountPaise: 2468, Receipt: fmt.Sprint("r", i), IdempotencyKey: fmt.Sprint("contract-event-", i), Speed: "optimum"})
		if err != nil || r.Status != "pending" {
			t.Fatal(r, err)
		}
		refunds = append(refunds, r)
	}
	if err := errors.Join(s.SettleRefund(refunds[0].ID), s.FailRefund(refunds[1].ID)); err != nil {
		t.Fatal(err)
	}
	d, err := s.OpenDispute(p.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	open, err := g.client.FetchDispute(within(t), d.ID)
	if err != nil || open.Status != "open" || open.PaymentID != p.ID || open.AmountPaise != 45900 || open.RespondByAt.IsZero() {
		t.Errorf("dispute %+v, %v", open, err)
	}
	if err := s.DecideDispute(d.ID, "won"); err != nil {
		t.Fatal(err)
	}
	if list, err := g.client.ListDisputes(within(t), 100); err != nil || len(list) != 1 || list[0].ID != d.ID || list[0].Status != "won" {
		t.Errorf("disputes %+v, %v", list, err)
	}
	if err := s.WaitIdle(within(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	kinds := map[string]int{}
	for _, e := range heard {
		kinds[e.Kind]++
		if e.AccountID != s.AccountID() || e.PaymentID != p.ID && e.PaymentID != failed.ID || e.Payment == nil || e.CreatedAt.IsZero() {
			t.Errorf("%s: %+v", e.Kind, e)
		}
		switch {
		case strings.HasPrefix(e.Kind, "refund.") && (e.Refund == nil || e.RefundID == ""),
			strings.HasPrefix(e.Kind, "payment.dispute.") && e.Dispute == nil,
			e.Kind == "order.paid" && (e.Order == nil || e.Order.Status != "paid" || e.OrderID != o.ID),
			e.Kind == "payment.captured" && (e.Payment.AmountPaise != 45900 || !e.Payment.Captured):
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
	for kind, n := range map[string]int{"payment.failed": 1, "payment.authorized": 1, "payment.captured": 1, "order.paid": 1, "refund.created": 2, "refund.speed_changed": 2,
		"refund.processed": 1, "refund.failed": 1, "payment.dispute.created": 1, "payment.dispute.won": 1} {
		if kinds[kind] != n {
			t.Errorf("%s: heard %d times, want %d (all: %v)", kind, kinds[kind], n, kinds)
		}
	}
}
