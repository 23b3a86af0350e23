package razorpay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func eventFixtures(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"webhook_*.json", "observed_*.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if name := filepath.Base(f); name != "webhook_headers.json" {
				files = append(files, name)
			}
		}
	}
	if len(files) < 30 {
		t.Fatalf("only %d event bodies", len(files))
	}
	return files
}

func TestParseEventFixtures(t *testing.T) {
	for _, file := range eventFixtures(t) {
		t.Run(file, func(t *testing.T) {
			raw := readFixture(t, file)
			e, err := ParseEvent(raw)
			if err != nil {
				t.Fatal(err)
			}
			body := generic(t, raw)
			payload := body["payload"].(map[string]any)
			same(t, body, "event", e.Kind)
			same(t, body, "account_id", e.AccountID)
			if body["created_at"] != nil {
				sameTime(t, body, "created_at", e.CreatedAt)
			} else {
				sameTime(t, payload, "created_at", e.CreatedAt)
			}
			if e.CreatedAt.IsZero() {
				t.Error("no time")
			}
			entity := func(name string) map[string]any {
				holder, _ := payload[name].(map[string]any)
				inner, _ := holder["entity"].(map[string]any)
				return inner
			}
			wantOrder, wantPayment, wantRefund := "", "", ""
			if p := entity("payment"); (p != nil) != (e.Payment != nil) {
				t.Errorf("payment: %v", e.Payment)
			} else if p != nil {
				samePayment(t, p, *e.Payment)
				wantPayment = p["id"].(string)
				wantOrder, _ = p["order_id"].(string)
			}
			if o := entity("order"); (o != nil) != (e.Order != nil) {
				t.Errorf("order: %v", e.Order)
			} else if o != nil {
				sameOrder(t, o, *e.Order)
				wantOrder = o["id"].(string)
			}
			if r := entity("refund"); (r != nil) != (e.Refund != nil) {
				t.Errorf("refund: %v", e.Refund)
			} else if r != nil {
				sameRefund(t, r, *e.Refund)
				wantRefund = r["id"].(string)
			}
			if d := entity("dispute"); (d != nil) != (e.Dispute != nil) {
				t.Errorf("dispute: %v", e.Dispute)
			} else if d != nil {
				sameDispute(t, d, *e.Dispute)
			}
			if e.OrderID != wantOrder || e.PaymentID != wantPayment || e.RefundID != wantRefund {
				t.Errorf("ids %q %q %q, want %q %q %q", e.OrderID, e.PaymentID, e.RefundID, wantOrder, wantPayment, wantRefund)
			}
			if strings.HasPrefix(e.Kind, "payment.") && !strings.Contains(e.Kind, "downtime") && e.PaymentID == "" {
				t.Error("a payment event without a payment")
			}
		})
	}
}

func TestParseEvent(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Event
	}{
		"an unknown kind is kept with what is there": {
			`{"event":"invoice.paid","account_id":"acc_TstAbCdEf00001","payload":{"invoice":{"entity":{"id":"inv_1"}},"payment":{"entity":{"id":"pay_TstAbCdEf00001","order_id":"order_TstAbCdEf00001"}}},"created_at":1787923803}`,
			Event{Kind: "invoice.paid", AccountID: "acc_TstAbCdEf00001", PaymentID: "pay_TstAbCdEf00001", OrderID: "order_TstAbCdEf00001", CreatedAt: time.Unix(1787923803, 0).UTC()},
		},
		"nothing but a kind":     {`{"event":"future.kind"}`, Event{Kind: "future.kind"}},
		"payload as a list":      {`{"event":"payment.captured","payload":[]}`, Event{Kind: "payment.captured"}},
		"payload null":           {`{"event":"payment.captured","payload":null}`, Event{Kind: "payment.captured"}},
		"entity null":            {`{"event":"payment.captured","payload":{"payment":{"entity":null}}}`, Event{Kind: "payment.captured"}},
		"entity a list":          {`{"event":"payment.captured","payload":{"payment":{"entity":[]},"order":[],"refund":7,"dispute":null}}`, Event{Kind: "payment.captured"}},
		"a float still names it": {`{"event":"payment.captured","payload":{"payment":{"entity":{"entity":"payment","id":"pay_TstAbCdEf00001","order_id":"order_TstAbCdEf00001","amount":249.0,"currency":"INR","status":"captured"}}}}`, Event{Kind: "payment.captured", PaymentID: "pay_TstAbCdEf00001", OrderID: "order_TstAbCdEf00001"}},
		"ids that are none":      {`{"event":"payment.captured","payload":{"payment":{"entity":{"id":"pay_x/../orders","order_id":7}},"refund":{"entity":{"id":["rfnd_TstAbCdEf00001"]}}}}`, Event{Kind: "payment.captured"}},
		"a refund names its payment": {
			`{"event":"refund.created","payload":{"refund":{"entity":{"id":"rfnd_TstAbCdEf00001","payment_id":"pay_TstAbCdEf00001"}}}}`,
			Event{Kind: "refund.created", RefundID: "rfnd_TstAbCdEf00001", PaymentID: "pay_TstAbCdEf00001"},
		},
		"a dispute names its payment": {
			`{"event":"payment.dispute.created","payload":{"dispute":{"entity":{"id":"disp_TstAbCdEf00001","payment_id":"pay_TstAbCdEf00001"}}}}`,
			Event{Kind: "payment.dispute.created", PaymentID: "pay_TstAbCdEf00001", DisputeID: "disp_TstAbCdEf00001"},
		},
		"time in the payload": {`{"event":"refund.speed_changed","payload":{"created_at":1586439890}}`, Event{Kind: "refund.speed_changed", CreatedAt: time.Unix(1586439890, 0).UTC()}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseEvent([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %#v, %v\nwant %#v", got, err, c.want)
			}
		})
	}
	for _, body := range []string{"", "null", "[]", "7", `"event"`, "{}", `{"event":""}`, `{"event":null}`, `{"event":"\u0000"}`, `{"event":"x"`, `{"event":"x"}{"event":"x"}`, "<html>", "\x00", strings.Repeat("[", 20_000)} {
		if e, err := ParseEvent([]byte(body)); !errors.Is(err, ErrBadReply) || !reflect.DeepEqual(e, Event{}) {
			t.Errorf("%.40q: %v, %v", body, e, err)
		}
	}
}

// A NUL in any text of any recorded event, key or value, changes nothing but that it is gone.
func TestParseEventSurvivesNUL(t *testing.T) {
	for _, file := range eventFixtures(t) {
		raw := string(readFixture(t, file))
		clean, err := ParseEvent([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		spoilt := strings.NewReplacer(`": "`, `": "\u0000`, "\",\n", "\\u0000\",\n", `"note`, `"\u0000note`).Replace(raw)
		if spoilt == raw {
			t.Fatalf("%s: nothing to spoil", file)
		}
		got, err := ParseEvent([]byte(spoilt))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		// The only keys beginning with "note" are those within notes, and notes itself.
		for _, p := range []*Payment{clean.Payment, got.Payment} {
			if p != nil {
				p.Notes = nil
			}
		}
		for _, r := range []*Refund{clean.Refund, got.Refund} {
			if r != nil {
				r.Notes = nil
			}
		}
		for _, o := range []*Order{clean.Order, got.Order} {
			if o != nil {
				o.Notes = nil
			}
		}
		if a, b := describe(t, clean), describe(t, got); a != b {
			t.Errorf("%s:\n%s\n%s", file, a, b)
		}
	}
	e, err := ParseEvent([]byte(`{"event":"payment.captured","payload":{"payment":{"entity":{"entity":"payment","id":"pay_TstAbCdEf00001","amount":1,"currency":"INR","status":"captured","captured":true,"notes":{"a\u0000b":"c\u0000d","deep":{"x":"\u0000"}}}}}}`))
	if err != nil || e.Payment == nil {
		t.Fatal(e, err)
	}
	if e.Payment.Notes["ab"] != "cd" {
		t.Errorf("notes: %v", e.Payment.Notes)
	}
	noNUL(t, describe(t, e))
}

func describe(t *testing.T, e Event) string {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func noNUL(t *testing.T, written string) {
	t.Helper()
	if strings.Contains(strings.ReplaceAll(written, `\\`, ""), `\u0000`) {
		t.Errorf("NUL in %s", written)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, file := range eventFixtures(f) {
		f.Add(readFixture(f, file))
	}
	for _, seed := range []string{
		vectorBody, "", "{}", "[]", "null", `{"event":"x","payload":{"payment":{"entity":{}}}}`,
		`{"event":"x","payload":{"payment":{"entity":{"entity":"payment","id":"pay_TstAbCdEf00001","amount":1e9,"currency":"INR","status":"captured"}}}}`,
		`{"event":"a\u0000b","created_at":-1,"payload":{"order":{"entity":{"id":"order_\u0000TstAbCdEf00001","notes":[[],{}]}}}}`,
		`{"event":"x","payload":{"refund":{"entity":{"entity":"refund","id":"rfnd_TstAbCdEf00001","payment_id":"pay_TstAbCdEf00001","amount":-5,"currency":"INR","status":"x"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(body)
		if err != nil {
			if !errors.Is(err, ErrBadReply) || !reflect.DeepEqual(e, Event{}) {
				t.Fatalf("%v with %v", e, err)
			}
			return
		}
		if e.Kind == "" || !json.Valid(body) {
			t.Fatalf("%q out of %q", e.Kind, body)
		}
		for prefix, id := range map[string]string{orderID: e.OrderID, paymentID: e.PaymentID, refundID: e.RefundID} {
			if id != "" && !ValidID(prefix, id) {
				t.Errorf("id %q", id)
			}
		}
		if p := e.Payment; p != nil && (p.AmountPaise < 0 || p.AmountRefundedPaise < 0 || p.Status == "" || p.Currency == "" || !ValidID(paymentID, p.ID) || p.ID != e.PaymentID) {
			t.Errorf("payment %#v", p)
		}
		if o := e.Order; o != nil && (o.AmountPaise < 0 || o.Status == "" || !ValidID(orderID, o.ID) || o.ID != e.OrderID) {
			t.Errorf("order %#v", o)
		}
		if r := e.Refund; r != nil && (r.AmountPaise <= 0 || r.Status == "" || !ValidID(refundID, r.ID) || !ValidID(paymentID, r.PaymentID) || r.ID != e.RefundID) {
			t.Errorf("refund %#v", r)
		}
		if e.CreatedAt.Year() > 2121 {
			t.Errorf("happened at %s", e.CreatedAt)
		}
		noNUL(t, describe(t, e))
		if again, err := ParseEvent(body); err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("read twice: %s and %s, %v", fmt.Sprint(e), fmt.Sprint(again), err)
		}
	})
}

// INV-43: of an old body only what the list allows is kept: of every recorded event nothing of a person, and all that the shop reads.
func TestStripEvent(t *testing.T) {
	personal := []string{"email", "contact", "vpa", "card", "card_id", "bank", "wallet", "name", "last4", "notes", "description", "acquirer_data", "error_description", "evidence",
		"token_id", "customer_id", "rrn", "arn", "auth_code", "upi", "payer_account_type", "iin"}
	for _, file := range eventFixtures(t) {
		raw := readFixture(t, file)
		rest := StripEvent(raw)
		var names func(v any) []string
		names = func(v any) (found []string) {
			switch v := v.(type) {
			case map[string]any:
				for name, inner := range v {
					found = append(append(found, name), names(inner)...)
				}
			case []any:
				for _, inner := range v {
					found = append(found, names(inner)...)
				}
			}
			return found
		}
		var tree any
		if err := json.Unmarshal(rest, &tree); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, name := range names(tree) {
			if slices.Contains(personal, name) {
				t.Errorf("%s keeps %s", file, name)
			}
			if allowed := slices.Concat(staysOfEvent, staysOfEntity, []string{"payload", "payment", "order", "refund", "dispute"}); !slices.Contains(allowed, name) {
				t.Errorf("%s keeps %s, which nobody has allowed", file, name)
			}
		}
		for _, secret := range []string{"@", "+91", "9999999999", "HDFC", "guest"} {
			if strings.Contains(string(rest), secret) {
				t.Errorf("%s keeps %q:\n%s", file, secret, rest)
			}
		}
		before, err := ParseEvent(raw)
		if err != nil {
			t.Fatal(err)
		}
		after, err := ParseEvent(rest)
		if err != nil {
			t.Fatalf("%s cannot be read any more: %v", file, err)
		}
		same := func(e Event) string {
			return fmt.Sprint(e.Kind, e.AccountID, e.OrderID, e.PaymentID, e.RefundID, e.DisputeID, e.CreatedAt, e.Payment == nil, e.Refund == nil, e.Dispute)
		}
		if same(before) != same(after) {
			t.Errorf("%s\nbefore %s\nafter  %s", file, same(before), same(after))
		}
		if again := StripEvent(rest); !bytes.Equal(again, rest) {
			t.Errorf("%s: stripped twice\n%s\n%s", file, rest, again)
		}
	}
	for body, want := range map[string]string{
		"": "", "null": "", "[]": "", "<html>": "", "7": "", `{"event":"x"`: "",
		`{"event":"x","contact":"98450"}`:                                                 `{"event":"x"}`,
		`{"event":{"contact":"98450"},"payload":[1]}`:                                     `{}`,
		`{"event":"x","payload":{"payment":{"entity":{"id":{"name":"A"}}}}}`:              `{"event":"x","payload":{"payment":{"entity":{}}}}`,
		`{"event":"x","contains":[{"name":"A"}],"payload":{"who":{"entity":{"id":"A"}}}}`: `{"event":"x","payload":{}}`,
	} {
		if got := string(StripEvent([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func FuzzStripEvent(f *testing.F) {
	for _, file := range eventFixtures(f) {
		f.Add(readFixture(f, file))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rest := StripEvent(body)
		if rest == nil {
			return
		}
		if again := StripEvent(rest); !bytes.Equal(again, rest) {
			t.Errorf("stripped twice\n%s\n%s", rest, again)
		}
	})
}
