package razorpay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	testKeyID  = "rzp_test_TstAbCdEf00001"
	testOrder  = "order_TstAbCdEf00001"
	testPay    = "pay_TstAbCdEf00001"
	testRefund = "rfnd_TstAbCdEf00001"

	testDispute = "disp_TstAbCdEf00001"
)

// serve starts a gateway of one handler and gives a client with a pool of its own.
func serve(t *testing.T, handler http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	pool := &http.Transport{MaxIdleConnsPerHost: 4}
	t.Cleanup(pool.CloseIdleConnections)
	return New(Config{KeyID: testKeyID, KeySecret: vectorKeySecret, APIURL: server.URL, Timeout: 30 * time.Second, Base: pool}), server
}

// answers is a gateway that says the same to everything and keeps what it was asked.
func answers(t *testing.T, status int, body []byte) (*Client, *recorded) {
	t.Helper()
	r := &recorded{}
	c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
		r.keep(req)
		w.WriteHeader(status)
		w.Write(body)
	})
	return c, r
}

type recorded struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func (r *recorded) keep(req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
}

func (r *recorded) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

func orderParams() OrderParams {
	return OrderParams{AmountPaise: 24900, Currency: "INR", Receipt: "bk-0001-g1"}
}

func refundParams() RefundParams {
	return RefundParams{AmountPaise: 45900, Receipt: "0198c0de-0001", IdempotencyKey: "0198c0de-0001", Speed: "normal", Notes: map[string]string{
		"reason": "sold out", "order": "bk-0001", "a": "1", "b": "2", "c": "<&>", "z": "₹",
	}}
}

// methods calls each method of Client once; post says that it changes something.
var methods = map[string]struct {
	post bool
	call func(context.Context, *Client) error
}{
	"CreateOrder": {true, func(ctx context.Context, c *Client) error { _, err := c.CreateOrder(ctx, orderParams()); return err }},
	"CreateRefund": {true, func(ctx context.Context, c *Client) error {
		_, err := c.CreateRefund(ctx, testPay, refundParams())
		return err
	}},
	"FetchOrder":   {false, func(ctx context.Context, c *Client) error { _, err := c.FetchOrder(ctx, testOrder); return err }},
	"FetchPayment": {false, func(ctx context.Context, c *Client) error { _, err := c.FetchPayment(ctx, testPay); return err }},
	"FetchDispute": {false, func(ctx context.Context, c *Client) error { _, err := c.FetchDispute(ctx, testDispute); return err }},
	"ListDisputes": {false, func(ctx context.Context, c *Client) error { _, err := c.ListDisputes(ctx, 10); return err }},
	"FetchRefund":  {false, func(ctx context.Context, c *Client) error { _, err := c.FetchRefund(ctx, testRefund); return err }},
	"ListOrdersByReceipt": {false, func(ctx context.Context, c *Client) error {
		_, err := c.ListOrdersByReceipt(ctx, "bk-0001-g1")
		return err
	}},
	"ListOrderPayments":  {false, func(ctx context.Context, c *Client) error { _, err := c.ListOrderPayments(ctx, testOrder); return err }},
	"ListPaymentRefunds": {false, func(ctx context.Context, c *Client) error { _, err := c.ListPaymentRefunds(ctx, testPay); return err }},
	"ListPayments": {false, func(ctx context.Context, c *Client) error {
		_, err := c.ListPayments(ctx, time.Unix(1787920000, 0), time.Unix(1787930000, 0), 100, 0)
		return err
	}},
	"ListSettlementRecon": {false, func(ctx context.Context, c *Client) error {
		_, err := c.ListSettlementRecon(ctx, 2026, 8, 17, 1000, 0)
		return err
	}},
}

// Whatever the gateway does instead of answering, each method ends with an error that is classified, sends a POST once
// and never panics.
func TestEveryMethodSurvives(t *testing.T) {
	plain := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	html := string(readFixture(t, "error_502_html.txt"))
	object := func(file string) string { return string(readFixture(t, file)) }
	reset := func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	faults := map[string]struct {
		handler http.HandlerFunc
		want    Outcome
		status  int // of the APIError; 0: none
	}{
		"400":                     {plain(400, object("error_extra_field.json")), Refused, 400},
		"400, unknown id":         {plain(400, object("error_id_not_exist.json")), Refused, 400},
		"400, other operation":    {plain(400, object("error_operation_in_progress.json")), Conflict, 400},
		"400 as HTML":             {plain(400, html), Unknown, 400},
		"400, the SDK's own code": {plain(400, `{"error":{"internal_error_code":"BAD_REQUEST_ERROR","code":"BAD_REQUEST_ERROR","description":"x"}}`), Refused, 400},
		"401":                     {plain(401, object("error_auth_failed.json")), Unauthorised, 401},
		"401 as text":             {plain(401, object("error_string_form.json")), Unauthorised, 401},
		"404 from the edge":       {plain(404, object("error_edge_no_route.json")), Unknown, 404},
		"404":                     {plain(404, object("error_url_not_found.json")), NotFound, 404},
		"409":                     {plain(409, object("error_refund_idempotency_in_progress.json")), Conflict, 409},
		"429":                     {plain(429, object("error_rate_limited.json")), RateLimited, 429},
		"500":                     {plain(500, object("error_server_error.json")), Unknown, 500},
		"502 as HTML":             {plain(502, html), Unknown, 502},
		"503 with nothing":        {plain(503, ""), Unknown, 503},
		"504 with a bad request":  {plain(504, object("error_extra_field.json")), Unknown, 504},
		"304":                     {plain(304, ""), Unknown, 304},
		"200 with nothing":        {plain(200, ""), Unknown, 0},
		"204":                     {plain(204, ""), Unknown, 0},
		"200 {}":                  {plain(200, "{}"), Unknown, 0},
		"200 []":                  {plain(200, "[]"), Unknown, 0},
		"200 null":                {plain(200, "null"), Unknown, 0},
		"200 with a number as id": {plain(200, `{"id":123}`), Unknown, 0},
		"200 with an error":       {plain(200, object("error_extra_field.json")), Unknown, 0},
		"200 as HTML":             {plain(200, html), Unknown, 0},
		"200 as two documents":    {plain(200, object("order_created.json")+object("order_created.json")), Unknown, 0},
		"200 of another kind":     {plain(200, object("settlement.json")), Unknown, 0},
		"200 without end":         {plain(200, strings.Repeat(" ", maxReply+1)), Unknown, 0},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, `{"id":"`+testOrder+`","entity":"order",`)
		}, Unknown, 0},
		"cut off before the first byte": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(200)
		}, Unknown, 0},
		"502 cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.WriteHeader(502)
			io.WriteString(w, `{"error":{`)
		}, Unknown, 502},
		"an error without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			io.Copy(w, io.LimitReader(forever{}, 10*maxErrorBody))
		}, Unknown, 500},
		"reset": {reset, Unknown, 0},
	}
	for fault, f := range faults {
		for name, m := range methods {
			t.Run(fault+"/"+name, func(t *testing.T) {
				var asked atomic.Int32
				c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
					asked.Add(1)
					f.handler(w, req)
				})
				bodies := &openBodies{base: c.base}
				c.base = bodies
				err := m.call(t.Context(), c)
				if n := bodies.open.Load(); n != 0 {
					t.Errorf("%d bodies left open", n)
				}
				if err == nil {
					t.Fatal("no error")
				}
				if got := OutcomeOf(err); got != f.want {
					t.Errorf("OutcomeOf(%v) = %s, want %s", err, got, f.want)
				}
				e, is := errors.AsType[*APIError](err)
				if is != (f.status != 0) || is && (e.Status != f.status || len(e.Raw) > maxErrorBody) {
					t.Errorf("status %d expected: %#v", f.status, err)
				}
				if n := asked.Load(); n != 1 && (m.post || f.status != 0) {
					t.Errorf("asked %d times", n)
				}
			})
		}
	}
}

// openBodies counts the reply bodies that nobody has closed yet.
type openBodies struct {
	base http.RoundTripper
	open atomic.Int32
}

func (o *openBodies) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := o.base.RoundTrip(req)
	if err == nil {
		o.open.Add(1)
		res.Body = &countedBody{ReadCloser: res.Body, open: &o.open}
	}
	return res, err
}

type countedBody struct {
	io.ReadCloser
	open *atomic.Int32
	once sync.Once
}

func (b *countedBody) Close() error {
	b.once.Do(func() { b.open.Add(-1) })
	return b.ReadCloser.Close()
}

func TestOverlongReplyIsUnusable(t *testing.T) {
	good := readFixture(t, "order_attempted.json")
	for _, c := range []struct {
		length int
		fits   bool
	}{{maxReply, true}, {maxReply + 1, false}} {
		client, _ := answers(t, 200, append(slices.Clone(good), bytes.Repeat([]byte(" "), c.length-len(good))...))
		_, err := client.FetchOrder(t.Context(), "order_DaaS6LOUAASb7Y")
		if c.fits != (err == nil) || !c.fits && !errors.Is(err, ErrBadReply) {
			t.Errorf("%d bytes: %v", c.length, err)
		}
	}
}

type forever struct{}

func (forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A kept-alive connection that breaks under a POST is the case in which net/http repeats what it may repeat.
func TestPostOnADyingConnectionIsSentOnce(t *testing.T) {
	var posts, gets atomic.Int32
	c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			gets.Add(1)
			w.Write(readFixture(t, "order_attempted.json"))
			return
		}
		posts.Add(1)
		io.Copy(io.Discard, req.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	for _, name := range []string{"CreateOrder", "CreateRefund"} {
		if _, err := c.FetchOrder(t.Context(), "order_DaaS6LOUAASb7Y"); err != nil { // leaves an idle connection
			t.Fatal(err)
		}
		posts.Store(0)
		if err := methods[name].call(t.Context(), c); OutcomeOf(err) != Unknown || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := posts.Load(); n != 1 {
			t.Errorf("%s: posted %d times", name, n)
		}
	}
	if gets.Load() != 2 {
		t.Errorf("%d gets", gets.Load())
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, m := range methods {
			var asked, followed atomic.Int32
			c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path == "/elsewhere" {
					followed.Add(1)
				}
				asked.Add(1)
				http.Redirect(w, req, "/elsewhere", status)
			})
			err := m.call(t.Context(), c)
			if e, is := errors.AsType[*APIError](err); !is || e.Status != status || OutcomeOf(err) != Unknown {
				t.Errorf("%s, %d: %v", name, status, err)
			}
			if followed.Load() != 0 || asked.Load() != 1 {
				t.Errorf("%s, %d: asked %d times, followed %d", name, status, asked.Load(), followed.Load())
			}
		}
	}
}

func TestDeadlines(t *testing.T) {
	stalls := map[string]http.HandlerFunc{
		"before the header": func(_ http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
		},
		"within the body": func(w http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body)
			io.WriteString(w, `{"id":"`)
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		},
	}
	for stall, handler := range stalls {
		for name, m := range methods {
			t.Run(stall+"/"+name+"/the caller's", func(t *testing.T) {
				c, _ := serve(t, handler)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				begun := time.Now()
				err := m.call(ctx, c)
				if !errors.Is(err, context.DeadlineExceeded) || OutcomeOf(err) != Unknown {
					t.Errorf("%v", err)
				}
				if took := time.Since(begun); took > 10*time.Second { // the client's own is 30 s
					t.Errorf("took %s", took)
				}
			})
		}
		t.Run(stall+"/the client's own", func(t *testing.T) {
			c, _ := serve(t, handler)
			c.timeout = 50 * time.Millisecond
			_, err := c.FetchPayment(t.Context(), testPay)
			if !errors.Is(err, context.DeadlineExceeded) || t.Context().Err() != nil {
				t.Errorf("%v", err)
			}
		})
		t.Run(stall+"/cancelled", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
				cancel()
				handler(w, req)
			})
			if _, err := c.CreateOrder(ctx, orderParams()); !errors.Is(err, context.Canceled) || OutcomeOf(err) != Unknown {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a dead context asks nothing", func(t *testing.T) {
		c, r := answers(t, 200, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, m := range methods {
			if err := m.call(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r.count() != 0 {
			t.Errorf("asked %d times", r.count())
		}
	})
	t.Run("without a Timeout it is 8 s", func(t *testing.T) {
		if c := New(Config{}); c.timeout != 8*time.Second || c.base != shared || c.apiURL != DefaultAPIURL || c.broken != nil {
			t.Errorf("%+v", c)
		}
	})
}

// Fifty answers of each kind, chunked and not, must come over the connections of a handful of calls.
func TestConnectionsAreReused(t *testing.T) {
	html := readFixture(t, "error_502_html.txt")
	for name, handler := range map[string]http.HandlerFunc{
		"502": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); w.Write(html) },
		"502 in chunks": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(502)
			for _, part := range [][]byte{html[:10], html[10:]} {
				w.Write(part)
				w.(http.Flusher).Flush()
			}
		},
		"200 {}": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") },
		"200":    func(w http.ResponseWriter, _ *http.Request) { w.Write(readFixture(t, "payment_upi_captured.json")) },
		"400": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			w.Write(readFixture(t, "error_extra_field.json"))
		},
		"302": func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/elsewhere", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			server := httptest.NewUnstartedServer(handler)
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			pool := &http.Transport{}
			defer pool.CloseIdleConnections()
			c := New(Config{APIURL: server.URL, Base: pool})
			for range 50 {
				c.FetchPayment(t.Context(), testPay)
			}
			if n := opened.Load(); n < 1 || n > 3 {
				t.Errorf("%d connections for 50 calls", n)
			}
		})
	}
}

func TestCreateOrder(t *testing.T) {
	reply := func(change func(map[string]any)) []byte {
		o := map[string]any{
			"id": testOrder, "entity": "order", "amount": 24900, "amount_paid": 0, "amount_due": 24900, "currency": "INR",
			"receipt": "bk-0001-g1", "offer_id": nil, "status": "created", "attempts": 0, "notes": []any{}, "created_at": 1787923662,
		}
		change(o)
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Run("what is sent", func(t *testing.T) {
		c, r := answers(t, 200, reply(func(map[string]any) {}))
		in := orderParams()
		in.Notes = map[string]string{"token": "t-1", "attempt": "1"}
		in.Capture = &CaptureOptions{AutomaticExpiryMinutes: 12, ManualExpiryMinutes: 7200, RefundSpeed: "normal"}
		in.UniqueReceipt = true
		for _, in := range []OrderParams{orderParams(), in} {
			o, err := c.CreateOrder(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if o.ID != testOrder || o.AmountPaise != 24900 || o.AmountDuePaise != 24900 || o.Status != "created" || !o.CreatedAt.Equal(time.Unix(1787923662, 0)) {
				t.Errorf("%+v", o)
			}
		}
		req := r.requests[0]
		id, secret, ok := req.BasicAuth()
		if req.Method != "POST" || req.URL.Path != "/v1/orders" || !ok || id != testKeyID || secret != vectorKeySecret ||
			req.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(req.Header.Get("Authorization"), "Basic ") {
			t.Errorf("%s %s %v", req.Method, req.URL, req.Header)
		}
		if want := `{"amount":24900,"currency":"INR","receipt":"bk-0001-g1"}`; r.bodies[0] != want {
			t.Errorf("sent %s, want %s", r.bodies[0], want)
		}
		if want := `{"amount":24900,"currency":"INR","notes":{"attempt":"1","token":"t-1"},"payment":{"capture":"automatic","capture_options":{"automatic_expiry_period":12,"manual_expiry_period":7200,"refund_speed":"normal"}},"receipt":"bk-0001-g1","unique_receipt":true}`; r.bodies[1] != want {
			t.Errorf("sent %s, want %s", r.bodies[1], want)
		}
	})
	t.Run("a receipt left out of the reply is no harm", func(t *testing.T) {
		c, _ := answers(t, 201, reply(func(o map[string]any) { o["receipt"] = nil }))
		if _, err := c.CreateOrder(t.Context(), orderParams()); err != nil {
			t.Error(err)
		}
	})
	for name, change := range map[string]func(map[string]any){
		"another amount":   func(o map[string]any) { o["amount"] = 24901 },
		"another currency": func(o map[string]any) { o["currency"] = "USD" },
		"another receipt":  func(o map[string]any) { o["receipt"] = "bk-0002-g1" },
		"a payment's id":   func(o map[string]any) { o["id"] = testPay },
		"a payment":        func(o map[string]any) { o["entity"] = "payment" },
		"no entity":        func(o map[string]any) { delete(o, "entity") },
		"no status":        func(o map[string]any) { delete(o, "status") },
	} {
		t.Run("a reply with "+name+" is unknown", func(t *testing.T) {
			c, _ := answers(t, 200, reply(change))
			o, err := c.CreateOrder(t.Context(), orderParams())
			if !errors.Is(err, ErrBadReply) || OutcomeOf(err) != Unknown || o.ID != "" {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

func TestCreateRefund(t *testing.T) {
	reply := func(change func(map[string]any)) []byte {
		o := map[string]any{
			"id": testRefund, "entity": "refund", "amount": 45900, "currency": "INR", "payment_id": testPay, "status": "pending",
			"receipt": "0198c0de-0001", "notes": []any{}, "acquirer_data": map[string]any{"arn": nil}, "created_at": 1787923848,
		}
		change(o)
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Run("the same params are the same bytes", func(t *testing.T) {
		c, r := answers(t, 200, reply(func(map[string]any) {}))
		for range 20 {
			got, err := c.CreateRefund(t.Context(), testPay, refundParams())
			if err != nil {
				t.Fatal(err)
			}
			if got.ID != testRefund || got.AmountPaise != 45900 || got.Status != "pending" || got.PaymentID != testPay {
				t.Fatalf("%+v", got)
			}
		}
		const want = `{"amount":45900,"notes":{"a":"1","b":"2","c":"\u003c\u0026\u003e","order":"bk-0001","reason":"sold out","z":"₹"},"receipt":"0198c0de-0001","speed":"normal"}`
		for i, body := range r.bodies {
			if body != want {
				t.Fatalf("body %d: %s, want %s", i, body, want)
			}
			req := r.requests[i]
			if key := req.Header.Values("X-Refund-Idempotency"); len(key) != 1 || key[0] != "0198c0de-0001" {
				t.Fatalf("key %q", key)
			}
			if req.Method != "POST" || req.URL.Path != "/v1/payments/"+testPay+"/refund" {
				t.Fatalf("%s %s", req.Method, req.URL)
			}
		}
	})
	t.Run("one call's key does not stay for the next", func(t *testing.T) {
		c, r := answers(t, 200, reply(func(map[string]any) {}))
		second := refundParams()
		second.IdempotencyKey = "0198c0de-0002"
		c.CreateRefund(t.Context(), testPay, refundParams())
		c.CreateRefund(t.Context(), testPay, second)
		c.FetchRefund(t.Context(), testRefund)
		for i, want := range []string{"0198c0de-0001", "0198c0de-0002", ""} {
			if got := r.requests[i].Header.Get(RefundIdempotencyHeader); got != want {
				t.Errorf("call %d: key %q, want %q", i, got, want)
			}
		}
	})
	t.Run("params stay as they were", func(t *testing.T) {
		c, _ := answers(t, 200, reply(func(map[string]any) {}))
		in := refundParams()
		c.CreateRefund(t.Context(), testPay, in)
		if !maps.Equal(in.Notes, refundParams().Notes) {
			t.Errorf("%v", in.Notes)
		}
	})
	for name, change := range map[string]func(map[string]any){
		"another amount":  func(o map[string]any) { o["amount"] = 45800 },
		"another payment": func(o map[string]any) { o["payment_id"] = "pay_TstAbCdEf00009" },
		"another receipt": func(o map[string]any) { o["receipt"] = "0198c0de-0009" },
		"no payment":      func(o map[string]any) { o["payment_id"] = nil },
		"an order's id":   func(o map[string]any) { o["id"] = testOrder },
	} {
		t.Run("a reply with "+name+" is unknown", func(t *testing.T) {
			c, _ := answers(t, 200, reply(change))
			got, err := c.CreateRefund(t.Context(), testPay, refundParams())
			if !errors.Is(err, ErrBadReply) || OutcomeOf(err) != Unknown || got.ID != "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestNothingUnfitIsSent(t *testing.T) {
	c, r := answers(t, 200, nil)
	order := func(change func(*OrderParams)) error {
		in := orderParams()
		change(&in)
		_, err := c.CreateOrder(t.Context(), in)
		return err
	}
	refund := func(change func(*RefundParams)) error {
		in := refundParams()
		change(&in)
		_, err := c.CreateRefund(t.Context(), testPay, in)
		return err
	}
	many := map[string]string{}
	for i := range 16 {
		many[strconv.Itoa(i)] = "x"
	}
	bad := map[string]error{
		"order of nothing":           order(func(p *OrderParams) { p.AmountPaise = 0 }),
		"order of less":              order(func(p *OrderParams) { p.AmountPaise = -1 }),
		"order without currency":     order(func(p *OrderParams) { p.Currency = "" }),
		"order in small letters":     order(func(p *OrderParams) { p.Currency = "inr" }),
		"order without receipt":      order(func(p *OrderParams) { p.Receipt = "" }),
		"order, receipt of 41":       order(func(p *OrderParams) { p.Receipt = strings.Repeat("x", 41) }),
		"order, receipt not ASCII":   order(func(p *OrderParams) { p.Receipt = "bk-₹" }),
		"order, receipt with a line": order(func(p *OrderParams) { p.Receipt = "bk\n1" }),
		"order, 16 notes":            order(func(p *OrderParams) { p.Notes = many }),
		"order, long note":           order(func(p *OrderParams) { p.Notes = map[string]string{"k": strings.Repeat("₹", 257)} }),
		"order, nameless note":       order(func(p *OrderParams) { p.Notes = map[string]string{"": "x"} }),
		"order, captured at once":    order(func(p *OrderParams) { p.Capture = &CaptureOptions{} }),
		"order, captured in 11":      order(func(p *OrderParams) { p.Capture = &CaptureOptions{AutomaticExpiryMinutes: 11} }),
		"order, given back before":   order(func(p *OrderParams) { p.Capture = &CaptureOptions{AutomaticExpiryMinutes: 30, ManualExpiryMinutes: 20} }),
		"order, kept too long": order(func(p *OrderParams) {
			p.Capture = &CaptureOptions{AutomaticExpiryMinutes: 30, ManualExpiryMinutes: 7201}
		}),
		"refund of nothing":       refund(func(p *RefundParams) { p.AmountPaise = 0 }),
		"refund without key":      refund(func(p *RefundParams) { p.IdempotencyKey = "" }),
		"refund, short key":       refund(func(p *RefundParams) { p.IdempotencyKey = "123456789" }),
		"refund, odd key":         refund(func(p *RefundParams) { p.IdempotencyKey = "0198c0de:0001" }),
		"refund, key with a line": refund(func(p *RefundParams) { p.IdempotencyKey = "0198c0de\r\nX-A: b" }),
		"refund without receipt":  refund(func(p *RefundParams) { p.Receipt = "" }),
		"refund, long note":       refund(func(p *RefundParams) { p.Notes = map[string]string{"k": strings.Repeat("x", 257)} }),
	}
	for _, id := range []string{"", "pay_", "x", "order_x/../payments", "../orders", testOrder + "?x=1", testOrder + "%00", testOrder + "\n", "order_" + strings.Repeat("x", 21)} {
		_, bad["fetch order "+id] = c.FetchOrder(t.Context(), id)
		_, bad["list payments of "+id] = c.ListOrderPayments(t.Context(), id)
		_, bad["fetch payment "+id] = c.FetchPayment(t.Context(), id)
		_, bad["fetch refund "+id] = c.FetchRefund(t.Context(), id)
		_, bad["fetch dispute "+id] = c.FetchDispute(t.Context(), id)
		_, bad["list refunds of "+id] = c.ListPaymentRefunds(t.Context(), id)
		_, bad["refund "+id] = c.CreateRefund(t.Context(), id, refundParams())
	}
	_, bad["fetch a payment as order"] = c.FetchOrder(t.Context(), testPay)
	_, bad["fetch an order as payment"] = c.FetchPayment(t.Context(), testOrder)
	_, bad["list of no receipt"] = c.ListOrdersByReceipt(t.Context(), "")
	from, to := time.Unix(1787920000, 0), time.Unix(1787930000, 0)
	_, bad["page of 0 disputes"] = c.ListDisputes(t.Context(), 0)
	_, bad["page of 101 disputes"] = c.ListDisputes(t.Context(), 101)
	_, bad["page of 0"] = c.ListPayments(t.Context(), from, to, 0, 0)
	_, bad["page of 101"] = c.ListPayments(t.Context(), from, to, 101, 0)
	_, bad["skip -1"] = c.ListPayments(t.Context(), from, to, 1, -1)
	_, bad["to before from"] = c.ListPayments(t.Context(), to, from, 1, 0)
	_, bad["from the beginning"] = c.ListPayments(t.Context(), time.Time{}, to, 1, 0)
	_, bad["to the end"] = c.ListPayments(t.Context(), from, time.Unix(lastSecond+1, 0), 1, 0)
	_, bad["month 13"] = c.ListSettlementRecon(t.Context(), 2026, 13, 1, 1, 0)
	_, bad["month 0"] = c.ListSettlementRecon(t.Context(), 2026, 0, 1, 1, 0)
	_, bad["day 32"] = c.ListSettlementRecon(t.Context(), 2026, 1, 32, 1, 0)
	_, bad["year 26"] = c.ListSettlementRecon(t.Context(), 26, 1, 1, 1, 0)
	_, bad["1001 rows"] = c.ListSettlementRecon(t.Context(), 2026, 1, 1, 1001, 0)
	for name, err := range bad {
		if !errors.Is(err, ErrInvalid) || OutcomeOf(err) != Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.count() != 0 {
		t.Errorf("asked %d times", r.count())
	}
	for _, address := range []string{"ftp://127.0.0.1", "127.0.0.1:8080", "://", "http://", "http://a b", "http://u:p@127.0.0.1", "http://127.0.0.1/?x", "\x00", "%zz"} {
		broken := New(Config{APIURL: address})
		for name, m := range methods {
			if err := m.call(t.Context(), broken); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%s at %q: %v", name, address, err)
			}
		}
	}
}

// Whatever is fetched must be the thing itself.
func TestFetches(t *testing.T) {
	for name, f := range map[string]struct {
		file, id, path string
		call           func(c *Client, id string) (string, error)
	}{
		"order": {"order_fetched_offer_receipt_null.json", "order_DaaS6LOUAASb7Y", "/v1/orders/order_DaaS6LOUAASb7Y", func(c *Client, id string) (string, error) {
			o, err := c.FetchOrder(t.Context(), id)
			return o.ID, err
		}},
		"payment": {"payment_upi_captured.json", "pay_MT3PgKGazkDUUM", "/v1/payments/pay_MT3PgKGazkDUUM", func(c *Client, id string) (string, error) {
			p, err := c.FetchPayment(t.Context(), id)
			return p.ID, err
		}},
		"refund": {"refund_pending.json", "rfnd_FgRAHdNOM4ZVbO", "/v1/refunds/rfnd_FgRAHdNOM4ZVbO", func(c *Client, id string) (string, error) {
			r, err := c.FetchRefund(t.Context(), id)
			return r.ID, err
		}},
		"dispute": {"dispute.json", "disp_AHfqOvkldwsbqt", "/v1/disputes/disp_AHfqOvkldwsbqt", func(c *Client, id string) (string, error) {
			d, err := c.FetchDispute(t.Context(), id)
			return d.ID, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := answers(t, 200, readFixture(t, f.file))
			if id, err := f.call(c, f.id); err != nil || id != f.id {
				t.Errorf("%q, %v", id, err)
			}
			if req := r.requests[0]; req.Method != "GET" || req.URL.RequestURI() != f.path {
				t.Errorf("%s %s", req.Method, req.URL)
			}
			other := f.id[:len(f.id)-1] + "x"
			if id, err := f.call(c, other); !errors.Is(err, ErrBadReply) || id != "" {
				t.Errorf("asked for %s, got %q, %v", other, id, err)
			}
		})
	}
}

func TestLists(t *testing.T) {
	t.Run("payments of an order", func(t *testing.T) {
		c, r := answers(t, 200, readFixture(t, "order_payments_collection.json"))
		list, err := c.ListOrderPayments(t.Context(), "order_N8FRN5zTm5S3wx")
		if err != nil || len(list) != 2 || list[0].Status != "failed" || list[1].Status != "captured" || *list[1].FeePaise != 2 {
			t.Errorf("%v, %v", list, err)
		}
		if uri := r.requests[0].URL.RequestURI(); uri != "/v1/orders/order_N8FRN5zTm5S3wx/payments" {
			t.Error(uri)
		}
		if list, err := c.ListOrderPayments(t.Context(), testOrder); !errors.Is(err, ErrBadReply) || list != nil {
			t.Errorf("another order's payments: %v, %v", list, err)
		}
	})
	t.Run("orders of a receipt, oldest first", func(t *testing.T) {
		c, r := answers(t, 200, readFixture(t, "orders_list.json"))
		list, err := c.ListOrdersByReceipt(t.Context(), "Receipt No. 1")
		if err != nil || len(list) != 2 || list[0].ID != "order_EAI5nRfThga2TU" || list[1].ID != "order_EKzX2WiEWbMxmx" {
			t.Errorf("%v, %v", list, err)
		}
		q := r.requests[0].URL.Query()
		if q.Get("receipt") != "Receipt No. 1" || q.Get("count") != "100" || q.Get("skip") != "0" || r.count() != 1 {
			t.Errorf("%s, %d requests", r.requests[0].URL, r.count())
		}
		// A gateway that ignores the filter must not hand us a stranger's order.
		if list, err := c.ListOrdersByReceipt(t.Context(), "Receipt No. 2"); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
	t.Run("refunds of a payment", func(t *testing.T) {
		c, r := answers(t, 200, readFixture(t, "refunds_of_payment.json"))
		list, err := c.ListPaymentRefunds(t.Context(), "pay_29QQoUBi66xm2f")
		if err != nil || len(list) != 2 || list[0].AmountPaise+list[1].AmountPaise != 500100 {
			t.Errorf("%v, %v", list, err)
		}
		if r.requests[0].URL.Path != "/v1/payments/pay_29QQoUBi66xm2f/refunds" {
			t.Error(r.requests[0].URL)
		}
		if list, err := c.ListPaymentRefunds(t.Context(), testPay); !errors.Is(err, ErrBadReply) || list != nil {
			t.Errorf("another payment's refunds: %v, %v", list, err)
		}
	})
	t.Run("payments of a time", func(t *testing.T) {
		c, r := answers(t, 200, readFixture(t, "order_payments_collection.json"))
		list, err := c.ListPayments(t.Context(), time.Unix(1787920000, 999), time.Unix(1787930000, 0), 50, 150)
		if err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
		if uri := r.requests[0].URL.RequestURI(); uri != "/v1/payments?count=50&from=1787920000&skip=150&to=1787930000" {
			t.Error(uri)
		}
	})
	t.Run("settlements", func(t *testing.T) {
		c, r := answers(t, 200, readFixture(t, "settlement_recon_combined.json"))
		for day, want := range map[int]string{
			0: "/v1/settlements/recon/combined?count=1000&month=08&skip=0&year=2026",
			7: "/v1/settlements/recon/combined?count=1000&day=07&month=08&skip=0&year=2026",
		} {
			rows, err := c.ListSettlementRecon(t.Context(), 2026, 8, day, 1000, 0)
			if err != nil || len(rows) != 4 {
				t.Errorf("%v, %v", rows, err)
			}
			if uri := r.requests[r.count()-1].URL.RequestURI(); uri != want {
				t.Error(uri)
			}
		}
	})
}

// pages is a gateway with n refunds of testPay. Before every page but the first a new one arrives and moves all others.
func pages(t *testing.T, n int, moving bool) (*Client, *recorded) {
	t.Helper()
	r := &recorded{}
	c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
		r.keep(req)
		count, err1 := strconv.Atoi(req.URL.Query().Get("count"))
		skip, err2 := strconv.Atoi(req.URL.Query().Get("skip"))
		if err1 != nil || err2 != nil {
			w.WriteHeader(400)
			return
		}
		if moving {
			skip -= r.count() - 1
		}
		items := []map[string]any{}
		for i := max(skip, 0); i < min(skip+count, n); i++ {
			items = append(items, map[string]any{
				"entity": "refund", "id": fmt.Sprintf("rfnd_%014d", n-i), "payment_id": testPay, "amount": 100, "currency": "INR", "status": "processed",
			})
		}
		json.NewEncoder(w).Encode(map[string]any{"entity": "collection", "count": len(items), "items": items})
	})
	return c, r
}

func TestPaging(t *testing.T) {
	for _, moving := range []bool{false, true} {
		for n, requests := range map[int]int{0: 1, 1: 1, 99: 1, 100: 2, 250: 3} {
			c, r := pages(t, n, moving)
			list, err := c.ListPaymentRefunds(t.Context(), testPay)
			ids := map[string]bool{}
			for _, one := range list {
				ids[one.ID] = true
			}
			if err != nil || len(list) != n || len(ids) != n || r.count() != requests {
				t.Errorf("%d refunds: %d rows, %d ids, %d requests, %v", n, len(list), len(ids), r.count(), err)
			}
		}
	}
	c, r := pages(t, 5000, false)
	if list, err := c.ListPaymentRefunds(t.Context(), testPay); !errors.Is(err, ErrBadReply) || list != nil || r.count() != maxPages {
		t.Errorf("without end: %d rows, %d requests, %v", len(list), r.count(), err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	secrets := []string{vectorKeySecret, "cnpwX3Rlc3RfVHN0QWJDZEVmMDAwMDE6dGVzdF9rZXlfc2VjcmV0XzAwMDE="}
	c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) { // a proxy that echoes what it was sent
		id, secret, _ := req.BasicAuth()
		w.WriteHeader(500)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"code": "SERVER_ERROR", "description": req.Header.Get("Authorization") + " " + id + " " + secret, "metadata": map[string]string{"auth": secret},
		}})
	})
	cfg := Config{KeyID: testKeyID, KeySecret: vectorKeySecret}
	_, err := c.FetchOrder(t.Context(), testOrder)
	e, is := errors.AsType[*APIError](err)
	if !is || e.Code != "SERVER_ERROR" {
		t.Fatal(err)
	}
	shown := []string{err.Error(), string(e.Raw), fmt.Sprintf("%+v %#v", e, e), e.Metadata["auth"]}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{cfg, &cfg, c, *c, struct{ Razorpay Config }{cfg}, []Config{cfg}} {
			shown = append(shown, fmt.Sprintf(verb, value))
		}
	}
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "config", cfg, "client", c, "err", err)
	}
	shown = append(shown, log.String())
	for _, s := range shown {
		for _, secret := range secrets {
			if strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%x", secret)) {
				t.Errorf("a secret in %s", s)
			}
		}
	}
	if !slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, testKeyID) }) {
		t.Error("the key's id, which is public, is shown nowhere")
	}
}

// Two hundred callers at once, each with an order of its own, a third of them served by a gateway in trouble: everybody
// gets their own answer.
func TestManyCallersAtOnce(t *testing.T) {
	refund := string(readFixture(t, "error_refund_low_balance.json"))
	html := string(readFixture(t, "error_502_html.txt"))
	c, _ := serve(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		switch req.Method {
		case http.MethodGet:
			id := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
			n, _ := strconv.Atoi(strings.TrimPrefix(id, "order_"))
			if n%3 == 0 {
				w.WriteHeader(502)
				io.WriteString(w, html)
				return
			}
			fmt.Fprintf(w, `{"entity":"order","id":%q,"amount":%d,"currency":"INR","status":"created","receipt":null}`, id, n+100)
		default:
			key := req.Header.Get(RefundIdempotencyHeader)
			if !strings.Contains(string(body), key) {
				t.Errorf("key %s with body %s", key, body)
			}
			w.WriteHeader(400)
			io.WriteString(w, refund)
		}
	})
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			id := fmt.Sprintf("order_%014d", n)
			o, err := c.FetchOrder(t.Context(), id)
			if n%3 == 0 {
				if e, is := errors.AsType[*APIError](err); !is || e.Status != 502 {
					t.Errorf("%s: %v", id, err)
				}
			} else if err != nil || o.ID != id || o.AmountPaise != int64(n+100) {
				t.Errorf("%s: %v, %v", id, o, err)
			}
			key := fmt.Sprintf("refund-%08d", n)
			_, err = c.CreateRefund(t.Context(), testPay, RefundParams{AmountPaise: 100, Receipt: key, IdempotencyKey: key})
			if !IsLowBalance(err) {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	wg.Wait()
}

// The shared pool speaks HTTP/2 where the gateway does.
func TestSharedPool(t *testing.T) {
	if shared.ResponseHeaderTimeout != 0 || !shared.ForceAttemptHTTP2 || shared.IdleConnTimeout > time.Minute || shared.Proxy != nil {
		t.Errorf("%+v", shared.IdleConnTimeout)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor != 2 {
			t.Errorf("asked over %s", req.Proto)
		}
		w.Write(readFixture(t, "order_attempted.json"))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	pool := shared.Clone()
	pool.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	pool.TLSClientConfig.NextProtos = nil
	defer pool.CloseIdleConnections()
	o, err := New(Config{APIURL: server.URL + "/", Base: pool}).FetchOrder(t.Context(), "order_DaaS6LOUAASb7Y")
	if err != nil || o.AmountPaise != 2200 || o.Status != "attempted" {
		t.Errorf("%+v, %v", o, err)
	}
}

// The program reads the environment in one place, and that is not here.
func TestNoEnvironment(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"os.Getenv", "time.Now", "rand.", "FromEnvironment", "float64"} {
				if strings.Contains(string(raw), word) {
					t.Errorf("%s uses %s", name, word)
				}
			}
		}
	}
}
