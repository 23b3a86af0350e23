package handlers

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// deliver posts a webhook as Razorpay does.
func (b *visitor) deliver(body, signature, eventID string) reply {
	b.t.Helper()
	return b.send(ask{method: "POST", path: "/webhooks/razorpay", body: body, kind: "application/json", bare: true,
		header: map[string]string{"User-Agent": "Razorpay-Webhook/v1", "X-Razorpay-Signature": signature, "X-Razorpay-Event-Id": eventID}})
}

// Vectors V1 and V2: the exact bytes, their signature, that of one re-encoding, and that under the key's secret.
const (
	vectorBody = `{"entity":"event","event":"payment.captured","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_TESTRAW0000001","entity":"payment","amount":24900,"currency":"INR","status":"captured","order_id":"order_TESTRAW000001","captured":true,"description":"Dosa \/ Vada \u20b9249 & <chutney>","notes":[]}}},  "created_at":1767950000}`
	vectorSign = "c799b0d2db2b07376eb7bd6961f4aa17db3a99d4d63f1843e8b937aa90d173c2"
	vectorKey  = "2d8e36df0a41fffb230a3d96bfa0e1bc087ed713d7d5f2b8471eb58656d36256"
)

// C018, C019, C020, F20: the bytes decide, under the webhook's own secret, before anything reads them; no cookie, no CSRF, no redirect.
func TestWebhookSignature(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	compact := strings.ReplaceAll(strings.ReplaceAll(vectorBody, ",  ", ","), `\/`, `/`)
	for name, c := range map[string]struct {
		body, signature string
		status          int
	}{
		"unsigned":               {vectorBody, "", 400},
		"badly signed":           {vectorBody, strings.Repeat("0", 64), 400},
		"not hex":                {vectorBody, "signature", 400},
		"re-encoded":             {compact, vectorSign, 400},
		"by the key's secret":    {vectorBody, vectorKey, 400},
		"upper case":             {vectorBody, strings.ToUpper(vectorSign), 400},
		"no body":                {"", razorpay.SignWebhook(webhookSecret, nil), 400},
		"signed but for a blank": {vectorBody + " ", vectorSign, 400},
	} {
		a := b.deliver(c.body, c.signature, "evt_"+name)
		if a.status != c.status || a.header.Get("Set-Cookie") != "" || a.header.Get("Location") != "" {
			t.Errorf("%s: %d %q", name, a.status, a.header)
		}
	}
	if n := s.count(`SELECT count(*) FROM webhook_events`); n != 0 {
		t.Fatalf("%d events stored", n)
	}
	a := b.deliver(vectorBody, vectorSign, "evt_1").is(200)
	if a.body != "ok" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("answered %q", a.body)
	}
	if got := s.text(`SELECT convert_from(body, 'UTF8') FROM webhook_events`); got != vectorBody {
		t.Errorf("kept as %q", got)
	}
	slash := b.send(ask{path: "/webhooks/razorpay/", body: vectorBody, kind: "application/json", bare: true,
		header: map[string]string{"X-Razorpay-Signature": vectorSign, "X-Razorpay-Event-Id": "evt_2", "Sec-Fetch-Site": "cross-site", "Origin": "https://razorpay.com"}})
	if slash.is(200); slash.header.Get("Set-Cookie") != "" {
		t.Error("sets a cookie")
	}
	b.send(ask{path: "/webhooks/razorpay"}).is(405)
}

// C023, S1.26: repeats, one after another and all at once, are stored and worked once; every answer is 200.
func TestWebhookRepeats(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	var deliveries sync.WaitGroup
	for range 20 {
		deliveries.Add(1)
		go func() {
			defer deliveries.Done()
			b.deliver(vectorBody, vectorSign, "evt_same").is(200)
		}()
	}
	deliveries.Wait()
	if a := b.deliver(vectorBody, vectorSign, "evt_same").is(200); a.body != "already processed" {
		t.Errorf("a repeat is answered %q", a.body)
	}
	if events, jobs := s.count(`SELECT count(*) FROM webhook_events`), s.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event'`); events != 1 || jobs != 1 {
		t.Errorf("%d events, %d jobs", events, jobs)
	}
}

// C021, C073: what is not ours, and what Postgres cannot hold, is taken all the same and changes nothing.
func TestWebhooksThatAreNotOurs(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	for n, body := range []string{
		vectorBody,
		strings.Replace(vectorBody, `"order_id":"order_TESTRAW000001"`, `"order_id":null`, 1),
		strings.Replace(vectorBody, `"notes":[]`, `"notes":{"a":"\u0000"}`, 1),
		`{"entity":"event","event":"subscription.charged","contains":["subscription"],"payload":{"subscription":{"entity":{"id":"sub_TESTRAW0000001"}}},"created_at":1767950000}`,
		`{"event":"payment.captured\u0000"}`, `[]`, `not JSON`, "\x00\xff",
	} {
		b.deliver(body, razorpay.SignWebhook(webhookSecret, []byte(body)), fmt.Sprintf("evt_%d", n)).is(200)
		must(t, s.cashier.ProcessEvent(t.Context(), s.count(`SELECT id FROM webhook_events WHERE event_id = $1`, fmt.Sprintf("evt_%d", n))))
	}
	b.deliver(vectorBody, vectorSign, strings.Repeat("e", 5000)).is(200) // the header is not signed: no reason to trust its length
	if n := s.count(`SELECT count(*) FROM webhook_events WHERE status = 'ignored'`); n != 8 {
		t.Errorf("%d of 8 ignored", n)
	}
	if got := s.order(token).Status; got != "pending" || s.count(`SELECT count(*) FROM payments`) != 0 {
		t.Errorf("the order is %s", got)
	}
}

// F17, C025: the tab is gone, its session and cart too; the webhook alone pays the order.
func TestWebhookAlonePays(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	token := b.place()
	s.exec(`DELETE FROM sessions`)
	s.exec(`DELETE FROM carts`)
	s.pay(token, standin.PayParams{})
	for _, e := range s.gateway.Events() {
		b.deliver(string(e.Body), razorpay.SignWebhook(webhookSecret, e.Body), e.ID).is(200)
		must(t, s.cashier.ProcessEvent(t.Context(), s.count(`SELECT id FROM webhook_events WHERE event_id = $1`, e.ID)))
	}
	if got := s.order(token); got.Status != "paid" || got.Name != "Ananya Rao" || len(got.Items) != 1 {
		t.Errorf("the order is %s for %q", got.Status, got.Name)
	}
	if n := s.count(`SELECT count(*) FROM fulfilments`); n != 1 {
		t.Errorf("%d tickets", n)
	}
	s.books()
}

// Too large is 413, unread; a database that does not take it is 503, so that it is sent again.
func TestWebhookThatCannotBeStored(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	body := strings.Repeat("x", 257<<10)
	if a := b.deliver(body, razorpay.SignWebhook(webhookSecret, []byte(body)), "evt_1").is(413); a.header.Get("Set-Cookie") != "" {
		t.Error("sets a cookie")
	}
	s.exec(`ALTER TABLE webhook_events RENAME TO elsewhere`)
	b.deliver(vectorBody, vectorSign, "evt_1").is(503)
	s.exec(`ALTER TABLE elsewhere RENAME TO webhook_events`)
	b.deliver(vectorBody, vectorSign, "evt_1").is(200)
}

// FP-40, FP-43: every connection is taken, or the disk is full. The delivery is refused in time, so that Razorpay sends it again; nothing
// is half there, the process still says that it lives, and once there is room the repeat counts like the first.
func TestWebhookWithoutRoom(t *testing.T) {
	t.Parallel()
	t.Run("FP-40 every connection is taken", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		var held []*pgxpool.Conn
		for range s.store.Pool().Config().MaxConns {
			conn, err := s.store.Pool().Acquire(t.Context())
			must(t, err)
			held = append(held, conn)
		}
		begun := time.Now()
		b.deliver(vectorBody, vectorSign, "evt_1").is(503)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("Razorpay waits five seconds, the answer took %s", took)
		}
		b.get("/healthz").is(200)
		for _, conn := range held {
			conn.Release()
		}
		b.deliver(vectorBody, vectorSign, "evt_1").is(200)
		if n := s.count(`SELECT count(*) FROM webhook_events`); n != 1 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("FP-43 the disk is full", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		b := s.visitor()
		s.exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`)
		s.exec(`CREATE TRIGGER full_disk AFTER INSERT ON river_job FOR EACH ROW EXECUTE FUNCTION full_disk()`) // the event's row fits, its job does not
		b.deliver(vectorBody, vectorSign, "evt_1").is(503)
		if n := s.count(`SELECT count(*) FROM webhook_events`); n != 0 {
			t.Errorf("%d events without a job", n)
		}
		s.exec(`DROP TRIGGER full_disk ON river_job`)
		b.deliver(vectorBody, vectorSign, "evt_1").is(200)
		if n := s.count(`SELECT count(*) FROM webhook_events JOIN river_job ON kind = 'process_event'`); n != 1 {
			t.Errorf("%d events with a job", n)
		}
	})
}
