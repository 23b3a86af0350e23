package standin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// post is one delivery as a shop receives it.
type post struct {
	event, id, signature, body string
	header                     http.Header
}

// shop receives webhooks and answers each with what answer says.
type shop struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
}

func newShop(t *testing.T, answer func(post, int) int) *shop {
	t.Helper()
	h := &shop{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e, err := razorpay.ParseEvent(raw)
		if err != nil {
			t.Error(err)
		}
		p := post{e.Kind, r.Header.Get("X-Razorpay-Event-Id"), r.Header.Get("X-Razorpay-Signature"), string(raw), r.Header}
		h.mu.Lock()
		tries := 0
		for _, q := range h.posts {
			if q.id == p.id {
				tries++
			}
		}
		h.posts = append(h.posts, p)
		h.mu.Unlock()
		status := http.StatusOK
		if answer != nil {
			status = answer(p, tries)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *shop) got() []post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.posts)
}

func (h *shop) kinds() (out []string) {
	for _, p := range h.got() {
		out = append(out, p.event)
	}
	return out
}

func openFor(t *testing.T, h *shop, o standin.Options) (*standin.Server, string) {
	t.Helper()
	o.Webhooks = []standin.Webhook{{URL: h.URL, Secret: "hook-secret"}}
	if o.RetryScale == 0 {
		o.RetryScale = 1000
	}
	return open(t, o)
}

func idle(t *testing.T, s *standin.Server) {
	t.Helper()
	if err := s.WaitIdle(soon(t)); err != nil {
		t.Fatal(err)
	}
}

func TestWebhooks(t *testing.T) {
	t.Run("headers, signature and account are right", func(t *testing.T) {
		h := newShop(t, nil)
		s, base := openFor(t, h, standin.Options{})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		idle(t, s)
		posts := h.got()
		if len(posts) != 3 {
			t.Fatalf("%d posts", len(posts))
		}
		seen := map[string]bool{}
		for _, p := range posts {
			if !razorpay.VerifyWebhook("hook-secret", []byte(p.body), p.signature) {
				t.Errorf("%s: signature %q", p.event, p.signature)
			}
			if p.header.Get("User-Agent") != "Razorpay-Webhook/v1" || p.header.Get("Content-Type") != "application/json" || p.header.Get("Accept-Encoding") != "gzip" ||
				p.header.Get("Request-Id") != p.id || !id14.MatchString(p.id) || seen[p.id] {
				t.Errorf("%s: %v", p.event, p.header)
			}
			seen[p.id] = true
			if e, err := razorpay.ParseEvent([]byte(p.body)); err != nil || e.AccountID != s.AccountID() || strings.Contains(p.body, "\n") {
				t.Errorf("%+v %v", e, err)
			}
		}
	})
	t.Run("a failed delivery is repeated with the same bytes and id on the measured clock", func(t *testing.T) {
		h := newShop(t, func(p post, tries int) int { return map[bool]int{true: 500, false: 204}[tries < 3] })
		now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		s, base := openFor(t, h, standin.Options{Now: func() time.Time { return now }, RetryScale: 1})
		s.SpoilWebhooks(standin.WebhookFault{Event: "payment.authorized", Lose: true})
		s.SpoilWebhooks(standin.WebhookFault{Event: "order.paid", Lose: true})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		for _, wait := range []time.Duration{200 * time.Millisecond, 5800 * time.Millisecond, 13 * time.Second} {
			if err := s.WaitQuiet(soon(t)); err != nil {
				t.Fatal(err)
			}
			before := len(h.got())
			s.Advance(wait - time.Millisecond)
			if err := s.WaitQuiet(soon(t)); err != nil {
				t.Fatal(err)
			}
			if len(h.got()) != before {
				t.Fatalf("repeated before %v", wait)
			}
			s.Advance(time.Millisecond)
			if err := s.WaitQuiet(soon(t)); err != nil {
				t.Fatal(err)
			}
			if len(h.got()) != before+1 {
				t.Fatalf("not repeated after %v", wait)
			}
		}
		idle(t, s)
		posts := h.got()
		for _, p := range posts {
			if p.body != posts[0].body || p.id != posts[0].id || p.signature != posts[0].signature {
				t.Error("a repeat differs")
			}
		}
		d := s.Deliveries()
		i := slices.IndexFunc(d, func(d standin.Delivery) bool { return d.Event.Name == "payment.captured" })
		if d[i].State != standin.Delivered || len(d[i].Attempts) != 4 || d[i].Attempts[0].Status != 500 || d[i].Attempts[3].Status != 204 {
			t.Errorf("%+v", d[i])
		}
	})
	t.Run("400 and some events skip the instant repeat", func(t *testing.T) {
		h := newShop(t, func(_ post, tries int) int { return map[bool]int{true: 503, false: 200}[tries < 1] })
		now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		s, base := openFor(t, h, standin.Options{Now: func() time.Time { return now }, RetryScale: 1})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		for _, step := range []struct {
			by   time.Duration
			want int
		}{{0, 1}, {5 * time.Second, 1}, {time.Second, 2}} {
			s.Advance(step.by)
			if err := s.WaitQuiet(soon(t)); err != nil {
				t.Fatal(err)
			}
			if n := len(h.got()); n != step.want {
				t.Fatalf("%d posts after %v more, want %d", n, step.by, step.want)
			}
		}
	})
	t.Run("after a day of failures the endpoint is off, until it is enabled", func(t *testing.T) {
		h := newShop(t, func(post, int) int { return 500 })
		s, base := openFor(t, h, standin.Options{RetryScale: 200_000})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		if d := s.Deliveries()[0]; d.State != standin.GivenUp || len(d.Attempts) < 12 || len(d.Attempts) > 16 || !s.Webhooks()[0].Disabled {
			t.Fatalf("%s after %d attempts, %+v", d.State, len(d.Attempts), s.Webhooks())
		}
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		if d := s.Deliveries()[1]; d.State != standin.Unsent || len(d.Attempts) != 0 {
			t.Fatalf("%+v", d)
		}
		s.EnableWebhook(h.URL)
		s.SpoilWebhooks(standin.WebhookFault{Hold: true})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		if d := s.Deliveries()[2]; d.State != standin.Held {
			t.Fatalf("%+v", d)
		}
	})
	t.Run("what was in flight when it was switched off is not retried", func(t *testing.T) {
		gate, second := make(chan struct{}), make(chan struct{})
		var first string
		h := newShop(t, func(p post, _ int) int {
			if first == "" {
				first = p.id
			}
			if p.id != first {
				close(second)
				<-gate
			}
			return 500
		})
		now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		s, base := openFor(t, h, standin.Options{Now: func() time.Time { return now }, RetryScale: 1, AnswerLimit: 20 * time.Second})
		order := newOrder(t, base, "45900")
		pay(t, s, standin.PayParams{OrderID: order, Outcome: standin.FailNow})
		for range 20 { // past every step of the retry clock but not yet the day's end
			if err := s.WaitQuiet(soon(t)); err != nil {
				t.Fatal(err)
			}
			s.Advance(71 * time.Minute)
		}
		if err := s.WaitQuiet(soon(t)); err != nil {
			t.Fatal(err)
		}
		pay(t, s, standin.PayParams{OrderID: order, Outcome: standin.FailNow})
		<-second
		s.Advance(time.Hour)
		if err := s.WaitState(soon(t), s.Events()[0].ID, standin.GivenUp); err != nil {
			t.Fatal(err)
		}
		close(gate)
		idle(t, s)
		if d := s.Deliveries()[1]; d.State != standin.Unsent || len(d.Attempts) != 1 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("an answer after the limit is a failure", func(t *testing.T) {
		gate := make(chan struct{})
		var once sync.Once
		h := newShop(t, func(_ post, tries int) int {
			if tries == 0 {
				<-gate
			}
			return 200
		})
		t.Cleanup(func() { once.Do(func() { close(gate) }) })
		s, base := openFor(t, h, standin.Options{AnswerLimit: 50 * time.Millisecond})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		d := s.Deliveries()[0]
		if d.State != standin.Delivered || len(d.Attempts) < 2 || d.Attempts[0].Status != 0 || d.Attempts[0].Err == "" {
			t.Fatalf("%+v", d)
		}
		once.Do(func() { close(gate) })
	})
	t.Run("redirects are not followed", func(t *testing.T) {
		h := newShop(t, func(_ post, tries int) int { return map[bool]int{true: 302, false: 200}[tries < 1] })
		s, base := openFor(t, h, standin.Options{})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		if d := s.Deliveries()[0]; d.Attempts[0].Status != 302 || len(d.Attempts) != 2 {
			t.Fatalf("%+v", d)
		}
	})
	t.Run("hold, deliver in any order, repeat, release", func(t *testing.T) {
		h := newShop(t, nil)
		s, base := openFor(t, h, standin.Options{})
		s.SpoilWebhooks(standin.WebhookFault{Hold: true})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		idle(t, s)
		if n := len(h.got()); n != 0 {
			t.Fatalf("%d posts of held events", n)
		}
		events := s.Events()
		for _, i := range []int{2, 0, 2} {
			got, err := s.Deliver(soon(t), events[i].ID)
			if err != nil || len(got) != 1 || got[0].Status != 200 {
				t.Fatal(got, err)
			}
		}
		if n := s.Release(); n != 1 {
			t.Fatalf("released %d", n)
		}
		idle(t, s)
		if got := h.kinds(); !slices.Equal(got, []string{"order.paid", "payment.authorized", "order.paid", "payment.captured"}) {
			t.Fatalf("%v", got)
		}
	})
	t.Run("lose, duplicate, delay", func(t *testing.T) {
		h := newShop(t, nil)
		s, base := openFor(t, h, standin.Options{})
		s.SpoilWebhooks(standin.WebhookFault{Event: "payment.authorized", Lose: true})
		s.SpoilWebhooks(standin.WebhookFault{Event: "payment.captured", Copies: 2})
		s.SpoilWebhooks(standin.WebhookFault{Event: "order.paid", Delay: time.Hour})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		if err := s.WaitQuiet(soon(t)); err != nil {
			t.Fatal(err)
		}
		posts := h.got()
		if len(posts) != 3 || posts[0].event != "payment.captured" || posts[0].id != posts[2].id {
			t.Fatalf("%v", h.kinds())
		}
		s.Advance(time.Hour + time.Second)
		idle(t, s)
		if got := h.kinds(); len(got) != 4 || got[3] != "order.paid" {
			t.Fatalf("%v", got)
		}
		if got, err := s.Deliver(soon(t), s.Events()[0].ID); err != nil || got[0].Status != 200 {
			t.Fatal("the lost event cannot be found again", got, err)
		}
	})
	t.Run("reorder", func(t *testing.T) {
		h := newShop(t, nil)
		s, base := openFor(t, h, standin.Options{})
		s.SpoilWebhooks(standin.WebhookFault{Reorder: 3})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		if got := h.kinds(); !slices.Equal(got, []string{"order.paid", "payment.captured", "payment.authorized"}) {
			t.Fatalf("%v", got)
		}
		if n := s.Release(); n != 1 {
			t.Fatalf("%d left behind", n)
		}
		idle(t, s)
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		idle(t, s)
		if got := h.kinds()[3:]; !slices.Equal(got, []string{"payment.failed", "order.paid", "payment.captured", "payment.authorized"}) {
			t.Fatalf("%v", got)
		}
	})
	t.Run("forged and old signatures, then the right one", func(t *testing.T) {
		h := newShop(t, func(p post, _ int) int {
			if razorpay.VerifyWebhook("new-secret", []byte(p.body), p.signature) {
				return 200
			}
			return 400
		})
		s, base := openFor(t, h, standin.Options{})
		s.RotateWebhookSecret(h.URL, "new-secret")
		s.SpoilWebhooks(standin.WebhookFault{Sign: standin.SignForged, Times: 1})
		s.SpoilWebhooks(standin.WebhookFault{Sign: standin.SignPrevious, Times: 1})
		s.SpoilWebhooks(standin.WebhookFault{Sign: standin.SignKeySecret, Times: 1})
		s.SpoilWebhooks(standin.WebhookFault{Sign: standin.SignNone, Times: 1})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		idle(t, s)
		posts := h.got()
		if len(posts) != 5 {
			t.Fatalf("%d posts", len(posts))
		}
		body := []byte(posts[0].body)
		for _, secret := range []string{"hook-secret", "new-secret", standin.DefaultKeySecret} {
			if razorpay.VerifyWebhook(secret, body, posts[0].signature) {
				t.Errorf("the forged signature is that of %s", secret)
			}
		}
		if !razorpay.VerifyWebhook("hook-secret", body, posts[1].signature) || !razorpay.VerifyWebhook(standin.DefaultKeySecret, body, posts[2].signature) || posts[3].signature != "" {
			t.Error("not signed as asked")
		}
	})
	t.Run("an event from before the rotation stays signed with the old secret", func(t *testing.T) {
		h := newShop(t, nil)
		s, base := openFor(t, h, standin.Options{})
		s.SpoilWebhooks(standin.WebhookFault{Hold: true, Times: 1})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
		s.RotateWebhookSecret(h.URL, "new-secret")
		s.Release()
		idle(t, s)
		if p := h.got()[0]; !razorpay.VerifyWebhook("hook-secret", []byte(p.body), p.signature) {
			t.Error("signed with another secret")
		}
	})
	t.Run("events arrive shuffled", func(t *testing.T) {
		orders := map[string]bool{}
		for seed := uint64(1); seed <= 12; seed++ {
			h := newShop(t, nil)
			s, base := openFor(t, h, standin.Options{Seed: seed, Settings: standin.Settings{WebhookSpread: time.Hour}})
			pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
			for range 240 { // a quarter of a minute at a time, so that arrival follows the clock
				s.Advance(15 * time.Second)
				if err := s.WaitQuiet(soon(t)); err != nil {
					t.Fatal(err)
				}
			}
			orders[strings.Join(h.kinds(), " ")] = true
		}
		if len(orders) < 3 {
			t.Errorf("only %v", orders)
		}
	})
	t.Run("two endpoints get the same event, a filter keeps others away", func(t *testing.T) {
		a, b := newShop(t, nil), newShop(t, nil)
		s, base := open(t, standin.Options{Webhooks: []standin.Webhook{{URL: a.URL}, {URL: b.URL, Events: []string{"order.paid"}}}})
		pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
		idle(t, s)
		if len(a.got()) != 3 || len(b.got()) != 1 {
			t.Fatal(a.kinds(), b.kinds())
		}
		i := slices.IndexFunc(a.got(), func(p post) bool { return p.event == "order.paid" })
		if a.got()[i].id != b.got()[0].id || a.got()[i].body != b.got()[0].body {
			t.Error("not the same event")
		}
	})
}
