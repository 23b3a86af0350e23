package standin_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay/standin"
)

func TestTheStateFileKeepsBooksClockAndWorkUnderWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "standin.json")
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	options := standin.Options{StateFile: file, Now: func() time.Time { return now }, Seed: 3}
	h := newShop(t, nil)
	options.Webhooks = []standin.Webhook{{URL: h.URL}}

	first := standin.New(options)
	first.SpoilWebhooks(standin.WebhookFault{Hold: true})
	base, err := first.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	order := newOrder(t, base, "45900")
	paid := pay(t, first, standin.PayParams{OrderID: order, Method: "card", Notes: map[string]string{"a": "b"}})
	late := pay(t, first, standin.PayParams{OrderID: newOrder(t, base, "500"), Outcome: standin.FailThenLate, After: time.Hour})
	status, r := ask(t, "POST", base+"/v1/payments/"+paid.ID+"/refund", `{"amount":900}`, "X-Refund-Idempotency", "key-0000000001")
	if status != 200 {
		t.Fatal(r)
	}
	if _, err := first.OpenDispute(paid.ID, 100); err != nil {
		t.Fatal(err)
	}
	first.Configure(func(c *standin.Settings) { c.PendingRefunds, c.RefundDelay = true, time.Hour })
	pending, err := first.RefundOutside(paid.ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	first.Advance(time.Minute)
	want := first.Books()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	options.Seed = 4
	second := standin.New(options)
	defer second.Close()
	base, err = second.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Books(); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if first.AccountID() != second.AccountID() || !second.Now().Equal(now.Add(time.Minute)) {
		t.Error("another account or clock")
	}
	if _, again := ask(t, "POST", base+"/v1/payments/"+paid.ID+"/refund", `{"amount":900}`, "X-Refund-Idempotency", "key-0000000001"); again["id"] != r["id"] {
		t.Errorf("the idempotency key was forgotten: %v", again)
	}
	if n := second.Release(); n != len(first.Events()) {
		t.Errorf("%d deliveries were held, %d events", n, len(first.Events()))
	}
	idle(t, second)
	if len(h.got()) != len(first.Events()) {
		t.Errorf("%v", h.kinds())
	}
	second.Advance(time.Hour)
	if err := second.WaitFor(soon(t), "the late success and the refund", func(b standin.Books) bool {
		p, _ := b.Payment(late.ID)
		refunds := b.RefundsOf(paid.ID)
		return p.Status == "captured" && refunds[1].ID == pending.ID && refunds[1].Status == "processed"
	}); err != nil {
		t.Fatal(err)
	}
}

func TestABrokenStateFileIsSaidAndLeftAlone(t *testing.T) {
	for _, content := range []string{"{", `{"Version":2}`, `{"Version":1,"Deliveries":[{"EventID":"x"}]}`} {
		file := filepath.Join(t.TempDir(), "standin.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := standin.New(standin.Options{StateFile: file})
		if _, err := s.Start("127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", content, err)
		}
		pay(t, s, standin.PayParams{AmountPaise: 500})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != content {
			t.Errorf("now holds %q, %v", raw, err)
		}
	}
}
