package standin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"tiffin/razorpay/standin"
)

// open starts a stand-in for one test.
func open(t *testing.T, o standin.Options) (*standin.Server, string) {
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
	return s, url
}

// ask makes one API call with the right key.
func ask(t *testing.T, method, url, body string, header ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(standin.DefaultKeyID, standin.DefaultKeySecret)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s %s answered %d %q: %v", method, url, res.StatusCode, raw, err)
	}
	return res.StatusCode, out
}

func text(t *testing.T, m map[string]any, path ...string) string {
	t.Helper()
	var v any = m
	for _, k := range path {
		inner, isMap := v.(map[string]any)
		if !isMap {
			t.Fatalf("no %v in %v", path, m)
		}
		v = inner[k]
	}
	s, _ := v.(string)
	return s
}

func newOrder(t *testing.T, url string, amount string) string {
	t.Helper()
	status, o := ask(t, "POST", url+"/v1/orders", `{"amount":`+amount+`,"currency":"INR","receipt":"r-1"}`)
	if status != 200 {
		t.Fatalf("create order: %d %v", status, o)
	}
	return text(t, o, "id")
}

func TestOneOrderPaidAndRefunded(t *testing.T) {
	s, url := open(t, standin.Options{})
	id := newOrder(t, url, "45900")
	p, err := s.Pay(standin.PayParams{OrderID: id})
	if err != nil {
		t.Fatal(err)
	}
	if p.Status != "captured" || p.FeePaise != 1083 || p.TaxPaise != 165 {
		t.Fatalf("paid: %+v", p)
	}
	status, o := ask(t, "GET", url+"/v1/orders/"+id+"/", "")
	if status != 200 || o["status"] != "paid" || o["amount_paid"] != 45900.0 || o["amount_due"] != 0.0 {
		t.Fatalf("order: %d %v", status, o)
	}
	status, r := ask(t, "POST", url+"/v1/payments/"+p.ID+"/refund", `{"amount":900,"receipt":"f-1"}`, "X-Refund-Idempotency", "0123456789")
	if status != 200 || r["status"] != "processed" || r["amount"] != 900.0 {
		t.Fatalf("refund: %d %v", status, r)
	}
	if kept := s.Books().KeptPaise(p.ID); kept != 45000 {
		t.Fatalf("kept %d", kept)
	}
}
