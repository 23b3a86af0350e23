package handlers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// paid places an order and pays it.
func (b *visitor) paid() (token string) {
	b.t.Helper()
	b.put("dal-makhani", 2)
	token = b.place()
	b.send(ask{path: "/payments/verify?order=" + token, form: b.pay(token, standin.PayParams{}), bare: true}).leadsTo("/orders/" + token)
	return token
}

// C056: an order opens to whoever has its link, and to nobody by its number, id or another's token; what is not there looks like what
// is not theirs.
func TestOrderLinks(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	owner, other := s.visitor(), s.visitor()
	token := owner.paid()
	o := s.order(token)
	nobody := requestID.ReplaceAllString(other.get("/orders/"+strings.Repeat("A", 26)).is(404).body, "")
	for _, word := range []string{fmt.Sprint(o.ID), fmt.Sprint(o.ID + 1), fmt.Sprint(o.Number), o.PublicID, o.CheckoutKey, s.gatewayOrder(token), token[:25], token + "A",
		strings.ToLower(token), "1' OR '1'='1", "..", strings.Repeat("A", 2000)} {
		for _, path := range []string{"/orders/%s", "/orders/%s/status", "/orders/%s/events", "/pay/%s"} {
			for _, who := range []*visitor{owner, other} {
				path := fmt.Sprintf(path, url.PathEscape(word))
				a := who.get(path)
				if word == ".." {
					continue // a router's business; what matters is that nothing is shown
				}
				if a.status != 404 || who == other && requestID.ReplaceAllString(a.body, "") != nobody {
					t.Errorf("%.60s: status %d", path, a.status)
				}
			}
		}
		if a := owner.post("/orders/"+url.PathEscape(word)+"/cancel", nil); a.status < 400 {
			t.Errorf("cancelling %s: status %d", word, a.status)
		}
	}
	page := other.get("/orders/" + token).is(200)
	for _, word := range []string{"Ananya Rao", "98450 12345", "Flat 302"} {
		if !strings.Contains(page.body, word) {
			t.Errorf("the link does not show %s", word)
		}
	}
	if page.header.Get("X-Robots-Tag") != "noindex" || page.header.Get("Referrer-Policy") != "strict-origin-when-cross-origin" {
		t.Error("the link could leave in a search engine or a Referer")
	}
	for _, path := range []string{"/", "/cart", "/checkout"} {
		if body := other.get(path).body; strings.Contains(body, "Ananya") || strings.Contains(body, token) {
			t.Errorf("%s shows a stranger somebody else's order", path)
		}
	}
}

var requestID = regexp.MustCompile(`[A-Z2-7]{12}`)

// The customer cancels until the kitchen accepts; the money is on its way back in the same step. Too late is 409 and says so.
func TestCancelOrder(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	token := b.paid()
	page := b.get("/orders/" + token).is(200)
	form := page.fields(page.one("cancel-form"))
	b.send(ask{path: "/orders/" + token + "/cancel", form: url.Values{csrfField: {"old"}}}).is(403).shows("cancel-form", "Yes, cancel")
	b.send(ask{path: "/orders/" + token + "/cancel", form: form, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}).is(403)
	b.post("/orders/"+token+"/cancel", url.Values{"refund": {"999999"}}).is(400)
	if got := s.order(token).Status; got != "paid" {
		t.Fatalf("the order is %s", got)
	}
	for range 2 { // safe to repeat
		b.send(ask{path: "/orders/" + token + "/cancel", form: form}).leadsTo("/orders/" + token)
	}
	b.get("/orders/"+token).is(200).shows("refund", "on its way back")
	if n := s.count(`SELECT count(*) FROM refunds WHERE amount_paise = $1`, s.order(token).AmountPaise); n != 1 {
		t.Errorf("%d refunds", n)
	}

	late := b.paid()
	page = b.get("/orders/" + late).is(200)
	form = page.fields(page.one("cancel-form"))
	s.exec(`UPDATE fulfilments SET status = 'accepted', accepted_at = shop_now() WHERE order_id = $1`, s.order(late).ID)
	refused := b.send(ask{path: "/orders/" + late + "/cancel", form: form}).is(409)
	if !strings.Contains(refused.body, "can no longer be cancelled") {
		t.Errorf("too late is not said\n%s", shorten(refused.body))
	}
	if got := s.order(late).Status; got != "paid" {
		t.Errorf("the order is %s", got)
	}
	s.books()
}

// serve listens as in production and returns the address.
func (s *shop) serve() string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(s.t, err)
	done := make(chan error, 1)
	go func() { done <- s.app.Fiber().Listener(listener) }()
	s.t.Cleanup(func() {
		s.app.Close()
		must(s.t, s.app.Fiber().ShutdownWithTimeout(10*time.Second))
		must(s.t, <-done)
	})
	return "http://" + listener.Addr().String()
}

// events opens a stream and hands on the names of its events; the channel is closed when the stream ends.
func (s *shop) events(ctx context.Context, address string) (names <-chan string, response *http.Response) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	must(s.t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "br, gzip")
	response, err = http.DefaultClient.Do(r)
	must(s.t, err)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
				out <- name
			}
		}
	}()
	return out, response
}

// next waits for an event of this name, skipping others; "" waits for the end.
func next(t testing.TB, names <-chan string, want string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case name, open := <-names:
			if name == want {
				return
			}
			if !open {
				t.Fatalf("the stream ended before %q", want)
			}
		case <-limit:
			t.Fatalf("no %q in 20 s", want)
		}
	}
}

// streams is how many streams are open, as the metrics have it.
func (s *shop) streams() float64 {
	s.t.Helper()
	families, err := s.app.deps.Registry.Gather()
	must(s.t, err)
	for _, f := range families {
		if f.GetName() == "tiffin_http_streams" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	s.t.Fatal("streams are not counted")
	return 0
}

// ux.md section 6, C076: hello at once, changed on each commit, closed when all is over; never compressed, never kept.
func TestOrderStream(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.listen()
	base := s.serve()
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	names, response := s.events(t.Context(), base+"/orders/"+token+"/events")
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("Content-Encoding") != "" ||
		response.Header.Get("Cache-Control") != "private, no-cache" || response.Header.Get("X-Accel-Buffering") != "no" || len(response.Cookies()) > 0 {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	next(t, names, "hello")
	b.send(ask{path: "/payments/verify?order=" + token, form: s.pay(token, standin.PayParams{}), bare: true}).is(303)
	next(t, names, "changed")
	b.get("/orders/"+token+"/status").is(200).shows("order", "")
	b.post("/orders/"+token+"/cancel", nil).is(303)
	next(t, names, "changed")
	if over, err := isOver(t.Context(), s.store, s.order(token).ID); err != nil || over {
		t.Errorf("with its money still on the way the order counts as over: %v %v", over, err)
	}
	refund := s.text(`SELECT id FROM refunds`)
	must(t, s.cashier.SendRefund(t.Context(), refund))
	next(t, names, "changed")
	if over, err := isOver(t.Context(), s.store, s.order(token).ID); err != nil || over {
		t.Errorf("while late money may still come the order counts as over: %v %v", over, err)
	}
	s.exec(`UPDATE orders SET next_check_at = NULL`)
	s.exec(`SELECT pg_notify('tiffin', 'order:' || id) FROM orders`)
	next(t, names, "closed")
	next(t, names, "")

	// A page that opens after the end is told so and stops listening.
	names, _ = s.events(t.Context(), base+"/orders/"+token+"/events")
	next(t, names, "closed")
	next(t, names, "")
	if _, response := s.events(t.Context(), base+"/orders/NOSUCHORDER/events"); response.StatusCode != 404 {
		t.Errorf("an order of nobody is answered %d", response.StatusCode)
	}
}

// A stream whose browser has gone is noticed at the next write, and all end before the server stops.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.listen()
	base := s.serve()
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	gone, leave := context.WithCancel(t.Context())
	left, _ := s.events(gone, base+"/orders/"+token+"/events")
	stays, _ := s.events(t.Context(), base+"/orders/"+token+"/events")
	next(t, left, "hello")
	next(t, stays, "hello")
	leave()
	next(t, left, "")
	for s.streams() > 1 {
		must(t, s.store.Notify(t.Context(), models.OrderTopic(s.order(token).ID)))
		next(t, stays, "changed")
	}
	head, err := http.Head(base + "/orders/" + token + "/events")
	must(t, err)
	must(t, head.Body.Close())
	if n := s.streams(); n != 1 {
		t.Errorf("%v streams open after a HEAD", n)
	}
	s.app.Close()
	next(t, stays, "")
	must(t, s.app.Fiber().ShutdownWithTimeout(10*time.Second))
	if n := s.streams(); n != 0 {
		t.Errorf("%v streams are left", n)
	}
}

// What never reaches a handler is answered by us too: a body over the server's own limit.
func TestBodyOverTheLimit(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	base := s.serve()
	for _, path := range []string{"/webhooks/razorpay", "/cart", "/nowhere"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		must(t, err)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n", path, 600<<10)
		must(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		if response.StatusCode != 413 || len(response.Cookies()) > 0 || !strings.Contains(string(body), "too large") || response.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", path, response.StatusCode, shorten(string(body)))
		}
		must(t, conn.Close())
	}
}
