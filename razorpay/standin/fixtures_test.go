package standin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.300q", err, raw)
	}
	return v
}

// shape lists every path of a value with its kind: keys, null-ness, types. What stands in notes is the shop's, so only its kind counts.
func shape(at string, v any, out map[string]string) {
	switch v := v.(type) {
	case nil:
		out[at] = "null"
	case bool:
		out[at] = "bool"
	case string:
		out[at] = "string"
	case float64:
		out[at] = "number"
		if v != float64(int64(v)) {
			out[at] = "fraction"
		}
	case []any:
		out[at] = "list"
		for _, item := range v {
			shape(at+"[]", item, out)
		}
	case map[string]any:
		out[at] = "object"
		if strings.HasSuffix(at, ".notes") {
			return
		}
		for k, item := range v {
			shape(at+"."+k, item, out)
		}
	}
}

// sameShape compares got with a sample. Paths that match but are known to vary from sample to sample are left out.
func sameShape(t *testing.T, name string, got any, but ...string) {
	t.Helper()
	want, have := map[string]string{}, map[string]string{}
	shape("", parse(t, fixture(t, name)), want)
	shape("", got, have)
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if slices.ContainsFunc(but, func(b string) bool { return path == b || strings.HasPrefix(path, b+".") }) {
			continue
		}
		if have[path] != want[path] {
			t.Errorf("%s: %s is %q, want %q", name, path, have[path], want[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(have)) {
		if slices.ContainsFunc(but, func(b string) bool { return path == b || strings.HasPrefix(path, b+".") }) {
			continue
		}
		if _, known := want[path]; !known {
			t.Errorf("%s: %s is not in the sample", name, path)
		}
	}
}

func pay(t *testing.T, s *standin.Server, in standin.PayParams) standin.Payment {
	t.Helper()
	p, err := s.Pay(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(t *testing.T, url string) any {
	t.Helper()
	status, v := ask(t, "GET", url, "")
	if status != 200 {
		t.Fatalf("GET %s: %d %v", url, status, v)
	}
	return v
}

func TestEntitiesHaveTheShapeOfTheSamples(t *testing.T) {
	s, base := open(t, standin.Options{})
	api := base + "/v1"
	create := func(body string) map[string]any {
		t.Helper()
		status, o := ask(t, "POST", api+"/orders", body)
		if status != 200 {
			t.Fatalf("create: %d %v", status, o)
		}
		return o
	}
	plain := create(`{"amount":50000,"currency":"INR","receipt":"r"}`)
	sameShape(t, "order_created_notes_empty.json", plain)
	sameShape(t, "order_created.json", create(`{"amount":5000,"currency":"INR","receipt":"r2","notes":{"key1":"a","key2":"b"}}`))
	sameShape(t, "orders_list.json", get(t, api+"/orders?receipt=r"))

	id := create(`{"amount":100,"currency":"INR","receipt":"r3","notes":{"a":"b"}}`)["id"].(string)
	pay(t, s, standin.PayParams{OrderID: id, Outcome: standin.FailNow, VPA: "failure@razorpay", Notes: map[string]string{"n": "v"}})
	sameShape(t, "order_attempted.json", get(t, api+"/orders/"+id))
	pay(t, s, standin.PayParams{OrderID: id, Notes: map[string]string{"n": "v"}})
	// the sample's upi holds the vpa only and its description is null, which Checkout's payments never are (Probes)
	sameShape(t, "order_payments_collection.json", get(t, api+"/orders/"+id+"/payments"), ".items[].upi", ".items[].description",
		".items[].error_code", ".items[].error_description", ".items[].error_source", ".items[].error_step", ".items[].error_reason",
		".items[].fee", ".items[].tax", ".items[].acquirer_data")

	order := func() string {
		return create(`{"amount":10000,"currency":"INR","receipt":"` + fmt.Sprint(time.Now().UnixNano()) + `"}`)["id"].(string)
	}
	payment := func(in standin.PayParams) string {
		t.Helper()
		in.OrderID = order()
		if in.Email == "" {
			in.Email = "guest@example.test"
		}
		return pay(t, s, in).ID
	}
	card := payment(standin.PayParams{Method: "card"})
	sameShape(t, "payment_card_captured.json", get(t, api+"/payments/"+card+"?expand[]=card"), ".invoice_id", ".card.issuer")
	sameShape(t, "card_entity.json", get(t, api+"/payments/"+card+"/card"))
	sameShape(t, "payment_card_captured_unexpanded.json", get(t, api+"/payments/"+card), ".customer_id", ".token_id", ".acquirer_data")
	failedCard := payment(standin.PayParams{Method: "card", Outcome: standin.FailNow, Notes: map[string]string{"a": "b"}})
	sameShape(t, "payment_card_failed_expanded.json", get(t, api+"/payments/"+failedCard+"?expand[]=card"), ".terminal_id", ".description", ".acquirer_data", ".card.token_iin")
	sameShape(t, "payment_netbanking_captured.json", get(t, api+"/payments/"+payment(standin.PayParams{Method: "netbanking"})))
	wallet := payment(standin.PayParams{Method: "wallet"})
	sameShape(t, "payment_wallet_captured.json", get(t, api+"/payments/"+wallet))
	upi := payment(standin.PayParams{Method: "upi"})
	sameShape(t, "payment_upi_captured.json", get(t, api+"/payments/"+upi), ".invoice_id", ".email", ".acquirer_data")
	bare := pay(t, s, standin.PayParams{AmountPaise: 10000, Method: "card", Outcome: standin.FailNow, Reason: "payment_cancelled", Notes: map[string]string{"a": "b"}})
	sameShape(t, "payment_card_failed.json", get(t, api+"/payments/"+bare.ID+"?expand[]=card"), ".card.issuer")

	authorised := order()
	pay(t, s, standin.PayParams{OrderID: authorised, Method: "card", Outcome: standin.AuthorizeOnly})
	list := get(t, api+"/orders?count=1&authorized=1&expand[]=payments")
	sameShape(t, "orders_list_expand_payments.json", list, ".items[].receipt", ".items[].payments.items[].acquirer_data", ".items[].payments.items[].description")

	refund := func(payment, body string) any {
		t.Helper()
		status, r := ask(t, "POST", api+"/payments/"+payment+"/refund", body)
		if status != 200 {
			t.Fatalf("refund: %d %v", status, r)
		}
		return r
	}
	sameShape(t, "refund_normal_created.json", refund(card, `{"amount":500}`))
	sameShape(t, "refund_instant_created.json", refund(card, `{"amount":500,"speed":"optimum","receipt":"x","notes":{"a":"b"}}`))
	done := refund(card, `{"amount":500,"notes":{"a":"b"}}`).(map[string]any)["id"].(string)
	sameShape(t, "refund_entity.json", get(t, api+"/refunds/"+done))
	refund(upi, `{"amount":500,"notes":{"a":"b"}}`)
	sameShape(t, "refunds_of_payment.json", get(t, api+"/payments/"+upi+"/refunds"))
	sameShape(t, "refunds_list.json", get(t, api+"/refunds?count=1"))
	refund(upi, `{}`)
	sameShape(t, "payment_upi_refunded_full.json", get(t, api+"/payments/"+upi), ".order_id", ".customer_id", ".upi", ".acquirer_data")
	s.Configure(func(c *standin.Settings) { c.PendingRefunds = true })
	pending := refund(wallet, `{"amount":500,"notes":{"a":"b"}}`).(map[string]any)
	sameShape(t, "refund_pending.json", pending)
	if err := s.FailRefund(pending["id"].(string)); err != nil {
		t.Fatal(err)
	}
	sameShape(t, "refund_failed.json", get(t, api+"/refunds/"+pending["id"].(string)))

	d, err := s.OpenDispute(wallet, 0)
	if err != nil {
		t.Fatal(err)
	}
	sameShape(t, "dispute.json", get(t, api+"/disputes/"+d.ID), ".evidence.summary", ".evidence.shipping_proof", ".evidence.billing_proof", ".evidence.others", ".evidence.shipping_proof[]", ".evidence.billing_proof[]", ".evidence.others[]")
	status, lost := ask(t, "POST", api+"/disputes/"+d.ID+"/accept", "")
	if status != 200 || lost["amount_deducted"] != 10000.0 {
		t.Fatalf("accept: %d %v", status, lost)
	}
	sameShape(t, "dispute_lost.json", lost)
}

func TestSettlementsFollowTheBooksTwoWorkingDaysLater(t *testing.T) {
	// Thursday 3 September 2026, noon in India: settled on Monday the 7th
	now := time.Date(2026, 9, 3, 12, 0, 0, 0, time.FixedZone("IST", 19800))
	s, base := open(t, standin.Options{Now: func() time.Time { return now }})
	id := newOrder(t, base, "100000")
	p := pay(t, s, standin.PayParams{OrderID: id, Method: "card", Notes: map[string]string{"a": "b"}})
	if status, r := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{"amount":20000}`); status != 200 {
		t.Fatal(r)
	}
	if n := get(t, base+"/v1/settlements").(map[string]any)["count"]; n != 0.0 {
		t.Fatalf("settled before its time: %v", n)
	}
	s.Advance(3*24*time.Hour + 21*time.Hour) // Monday, nine o'clock
	if n := get(t, base+"/v1/settlements").(map[string]any)["count"]; n != 0.0 {
		t.Fatalf("settled before its time: %v", n)
	}
	s.Advance(90 * time.Minute)
	list := get(t, base+"/v1/settlements").(map[string]any)
	first := list["items"].([]any)[0].(map[string]any)
	sameShape(t, "settlement.json", first)
	sameShape(t, "settlement.json", get(t, base+"/v1/settlements/"+first["id"].(string)))
	// 1000 rupees less 20 and 18 % of 20, less the refund of 200
	if first["amount"] != float64(100000-2360-20000) {
		t.Fatalf("settled %v", first["amount"])
	}
	recon := get(t, base+"/v1/settlements/recon/combined?year=2026&month=09&day=07").(map[string]any)
	if recon["count"] != 2.0 {
		t.Fatalf("recon rows: %v", recon)
	}
	sample := parse(t, fixture(t, "settlement_recon_combined.json")).(map[string]any)["items"].([]any)
	for i, row := range recon["items"].([]any) {
		want := slices.Sorted(maps.Keys(sample[i].(map[string]any)))
		have := slices.Sorted(maps.Keys(row.(map[string]any)))
		if !slices.Equal(want, have) {
			t.Errorf("row %d has keys %v, want %v", i, have, want)
		}
		if row.(map[string]any)["settlement_id"] != first["id"] {
			t.Errorf("row %d is of settlement %v", i, row.(map[string]any)["settlement_id"])
		}
	}
	if n := get(t, base+"/v1/settlements/recon/combined?year=2026&month=9&day=6").(map[string]any)["count"]; n != 0.0 {
		t.Fatalf("rows on a Sunday: %v", n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.WaitEvents(ctx, "settlement.processed", 1); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Events() {
		if e.Name == "settlement.processed" {
			sameShape(t, "webhook_settlement_processed.json", parse(t, e.Body))
		}
	}
}

func TestEventsHaveTheShapeOfTheRecordings(t *testing.T) {
	s, base := open(t, standin.Options{})
	body := func(name, paymentID string) any {
		t.Helper()
		for _, e := range s.Events() {
			if e.Name == name && e.PaymentID == paymentID {
				return parse(t, e.Body)
			}
		}
		t.Fatalf("no %s of %s", name, paymentID)
		return nil
	}
	net := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Method: "netbanking"})
	sameShape(t, "webhook_payment_authorized.json", body("payment.authorized", net.ID), ".payload.payment.entity.description")
	sameShape(t, "observed_webhook_payment_captured.json", body("payment.captured", net.ID))
	sameShape(t, "observed_webhook_order_paid.json", body("order.paid", net.ID))
	upi := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900")})
	sameShape(t, "webhook_payment_authorized_upi.json", body("payment.authorized", upi.ID), ".payload.payment.entity.description", ".payload.payment.entity.acquirer_data")
	failed := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Method: "netbanking", Outcome: standin.FailNow})
	sameShape(t, "observed_webhook_payment_failed.json", body("payment.failed", failed.ID))
	failedUPI := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Outcome: standin.FailNow})
	sameShape(t, "webhook_payment_failed_upi.json", body("payment.failed", failedUPI.ID), ".payload.payment.entity.description")

	if status, r := ask(t, "POST", base+"/v1/payments/"+net.ID+"/refund", `{"notes":{"purpose":"x"}}`); status != 200 {
		t.Fatal(r)
	}
	sameShape(t, "observed_webhook_refund_created.json", body("refund.created", net.ID))
	for _, e := range s.Events() {
		if e.Name != "refund.created" {
			continue
		}
		if keys := topKeys(t, e.Body); !slices.IsSorted(keys) {
			t.Errorf("refund.created lists its keys as %v", keys)
		}
	}
	sameShape(t, "webhook_refund_processed.json", body("refund.processed", net.ID), ".payload.payment.entity.description",
		".payload.refund.entity.acquirer_data", ".payload.payment.entity.refund_status")
	s.Configure(func(c *standin.Settings) { c.PendingRefunds = true })
	status, r := ask(t, "POST", base+"/v1/payments/"+upi.ID+"/refund", `{"amount":100,"notes":{"a":"b"}}`)
	if status != 200 {
		t.Fatal(r)
	}
	if err := s.FailRefund(r["id"].(string)); err != nil {
		t.Fatal(err)
	}
	sameShape(t, "webhook_refund_failed.json", body("refund.failed", upi.ID), ".payload.payment.entity.description", ".payload.payment.entity.upi",
		".payload.payment.entity.vpa", ".payload.payment.entity.bank", ".payload.payment.entity.acquirer_data", ".payload.payment.entity.refund_status")
	s.Configure(func(c *standin.Settings) { c.PendingRefunds = false })
	card := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "45900"), Method: "card"})
	if status, r := ask(t, "POST", base+"/v1/payments/"+card.ID+"/refund", `{"amount":2468,"speed":"optimum"}`); status != 200 || r["speed_processed"] != "instant" {
		t.Fatal(r)
	}
	changed := body("refund.speed_changed", card.ID).(map[string]any)["payload"].(map[string]any)["refund"].(map[string]any)["entity"].(map[string]any)
	if changed["speed_processed"] != "normal" || changed["speed_requested"] != "optimum" {
		t.Errorf("fallback says %v", changed)
	}
	if _, err := s.OpenDispute(card.ID, 1000); err != nil {
		t.Fatal(err)
	}
	sameShape(t, "webhook_payment_dispute_created.json", body("payment.dispute.created", card.ID), ".payload.payment.entity.card", ".payload.payment.entity.bank",
		".payload.payment.entity.description", ".payload.payment.entity.acquirer_data")
}

// topKeys lists an object's keys as written.
func topKeys(t *testing.T, raw []byte) (keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func TestEveryErrorSampleCanBeAskedForAndIsExact(t *testing.T) {
	s, base := open(t, standin.Options{})
	var index []struct {
		File   string
		Status int `json:"http_status"`
	}
	if err := json.Unmarshal(fixture(t, "errors_index.json"), &index); err != nil {
		t.Fatal(err)
	}
	if len(index) < 35 || len(index) != len(standin.RefusalNames()) {
		t.Fatalf("%d samples, %d refusals", len(index), len(standin.RefusalNames()))
	}
	for _, sample := range index {
		name := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(sample.File, ".json"), ".txt"), "error_")
		s.Inject(standin.Fault{Kind: standin.Refuse, Refusal: name, Times: 1})
		req, err := http.NewRequest("GET", base+"/v1/orders/order_00000000000000", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != sample.Status {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, sample.Status)
		}
		want := fixture(t, sample.File)
		if strings.HasSuffix(sample.File, ".txt") {
			if strings.TrimSpace(string(raw)) != strings.TrimSpace(string(want)) || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
				t.Errorf("%s: %q", name, raw)
			}
			continue
		}
		if w, g := normal(t, want), normal(t, raw); w != g {
			t.Errorf("%s:\n got %s\nwant %s", name, g, w)
		}
	}
}

func normal(t *testing.T, raw []byte) string {
	t.Helper()
	out, err := json.Marshal(parse(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestCallsAreRefusedAsTheSamplesSay(t *testing.T) {
	s, base := open(t, standin.Options{})
	id := newOrder(t, base, "10000")
	p := pay(t, s, standin.PayParams{OrderID: id})
	full := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "10000")})
	if status, r := ask(t, "POST", base+"/v1/payments/"+full.ID+"/refund", ``); status != 200 {
		t.Fatal(r)
	}
	disputed := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "10000")})
	if _, err := s.OpenDispute(disputed.ID, 0); err != nil {
		t.Fatal(err)
	}
	held := pay(t, s, standin.PayParams{OrderID: newOrder(t, base, "10000"), Outcome: standin.AuthorizeOnly})
	if status, r := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{"amount":6000,"receipt":"once"}`, "X-Refund-Idempotency", "key-0000000001"); status != 200 {
		t.Fatal(r)
	}
	long := strings.Repeat("x", 41)
	missing := "0000000000000A"
	for _, c := range []struct {
		name, method, path, body string
		sample                   string // or, for texts without a sample, the description
		header                   []string
	}{
		{name: "unknown order", method: "GET", path: "/v1/orders/order_" + missing, sample: "error_id_not_exist.json"},
		{name: "unknown payment", method: "GET", path: "/v1/payments/pay_" + missing, sample: "error_id_not_exist.json"},
		{name: "malformed id", method: "GET", path: "/v1/payments/" + p.ID + "/refunds/rfnd_AABBdHIieex", sample: "error_invalid_id_format.json"},
		{name: "wrong verb", method: "DELETE", path: "/v1/orders/" + id, sample: "error_url_not_found.json"},
		{name: "no such path", method: "GET", path: "/v1/nothing", sample: "error_url_not_found.json"},
		{name: "outside the api", method: "GET", path: "/elsewhere", sample: "error_edge_no_route.json"},
		{name: "amount missing", method: "POST", path: "/v1/orders", body: `{"currency":"INR"}`, sample: "error_amount_required.json"},
		{name: "amount a string", method: "POST", path: "/v1/orders", body: `{"amount":"500","currency":"INR"}`, sample: "error_amount_not_integer.json"},
		{name: "amount with a point", method: "POST", path: "/v1/orders", body: `{"amount":500.0,"currency":"INR"}`, sample: "error_amount_not_integer.json"},
		{name: "amount small", method: "POST", path: "/v1/orders", body: `{"amount":99,"currency":"INR"}`, sample: "error_order_amount_too_small.json"},
		{name: "amount large", method: "POST", path: "/v1/orders", body: `{"amount":50000001,"currency":"INR"}`, sample: "error_order_amount_too_large.json"},
		{name: "amount beyond int64", method: "POST", path: "/v1/orders", body: `{"amount":99999999999999999999,"currency":"INR"}`, sample: "error_order_amount_too_large.json"},
		{name: "amount negative", method: "POST", path: "/v1/orders", body: `{"amount":-5,"currency":"INR"}`, sample: "amount: must be no less than 0."},
		{name: "currency", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"rupees"}`, sample: "currency: validation_failure: BAD_REQUEST_INVALID_CURRENCY."},
		{name: "receipt long", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","receipt":"` + long + `"}`, sample: "error_order_receipt_too_long.json"},
		{name: "receipt emoji", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","receipt":"🍛"}`, sample: "The receipt: validation_failure: BAD_REQUEST_ENCODING_VALIDATION_FAILED."},
		{name: "extra field", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","unknown_field":1}`, sample: "error_extra_field.json"},
		{name: "unique_receipt unsupported", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","unique_receipt":true}`, sample: "unique_receipt is/are not required and should not be sent"},
		{name: "no JSON", method: "POST", path: "/v1/orders", body: `{"amount":`, sample: "EOF."},
		{name: "a list", method: "POST", path: "/v1/orders", body: `[]`, sample: "EOF."},
		{name: "nested notes", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","notes":{"a":["b"]}}`, sample: "Notes validation failed."},
		{name: "capture window", method: "POST", path: "/v1/orders", body: `{"amount":500,"currency":"INR","payment":{"capture":"automatic","capture_options":{"automatic_expiry_period":5}}}`, sample: "The automatic expiry period must be at least 12."},
		{name: "patch amount", method: "PATCH", path: "/v1/orders/" + id, body: `{"amount":1}`, sample: "amount is/are not required and should not be sent"},
		{name: "count", method: "GET", path: "/v1/orders?count=101", sample: "The count may not be greater than 100."},
		{name: "count zero", method: "GET", path: "/v1/orders?count=0", sample: "The count must be at least 1."},
		{name: "refund count", method: "GET", path: "/v1/refunds?count=101", sample: "The count must be no greater than 100."},
		{name: "skip", method: "GET", path: "/v1/payments?skip=-1", sample: "The skip must be at least 0."},
		{name: "from", method: "GET", path: "/v1/payments?from=1", sample: "from must be between 946684800 and 4765046400"},
		{name: "capture twice", method: "POST", path: "/v1/payments/" + p.ID + "/capture", body: `{"amount":10000,"currency":"INR"}`, sample: "This payment has already been captured"},
		{name: "capture other amount", method: "POST", path: "/v1/payments/" + held.ID + "/capture", body: `{"amount":9999,"currency":"INR"}`, sample: "error_capture_amount_mismatch.json"},
		{name: "capture without amount", method: "POST", path: "/v1/payments/" + held.ID + "/capture", body: `{"currency":"INR"}`, sample: "Could not validate payment capture request due to: amount: cannot be blank."},
		{name: "card of upi", method: "GET", path: "/v1/payments/" + p.ID + "/card", sample: "error_payment_not_card.json"},
		{name: "refund too large", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":10001}`, sample: "error_refund_amount_too_large.json"},
		{name: "refunds together too large", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":4001}`, sample: "error_refund_cumulative_too_large.json"},
		{name: "refund zero", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":0}`, sample: "error_refund_amount_zero.json"},
		{name: "refund receipt", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":100,"receipt":"once"}`, sample: "error_refund_receipt_duplicate.json"},
		{name: "refund again", method: "POST", path: "/v1/payments/" + full.ID + "/refund", body: `{"amount":100}`, sample: "error_refund_already_full.json"},
		{name: "refund uncaptured", method: "POST", path: "/v1/payments/" + held.ID + "/refund", body: `{}`, sample: "error_refund_not_captured.json"},
		{name: "refund disputed", method: "POST", path: "/v1/refunds", body: `{"payment_id":"` + disputed.ID + `"}`, sample: "error_refund_dispute_block.json"},
		{name: "refund key, other body", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":6001,"receipt":"once"}`, header: []string{"X-Refund-Idempotency", "key-0000000001"}, sample: "error_refund_idempotency_conflict.json"},
		{name: "refund key short", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":100}`, header: []string{"X-Refund-Idempotency", "short"}, sample: "The idempotency key must be at least 10 characters long."},
		{name: "refund key form", method: "POST", path: "/v1/payments/" + p.ID + "/refund", body: `{"amount":100}`, header: []string{"X-Refund-Idempotency", "not valid at all"}, sample: "The idempotency key must only contain alphanumeric characters, underscores, and hyphens"},
		{name: "dispute expand", method: "GET", path: "/v1/disputes?expand[]=order", sample: "error_disputes_envelope.json"},
		{name: "recon month", method: "GET", path: "/v1/settlements/recon/combined?year=2026&month=13", sample: "error_recon_invalid_month.json"},
		{name: "recon without month", method: "GET", path: "/v1/settlements/recon/combined?year=2026", sample: "The year and month fields are required."},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, got := ask(t, c.method, base+c.path, c.body, c.header...)
			if !strings.HasSuffix(c.sample, ".json") {
				if status != 400 || text(t, got, "error", "description") != c.sample {
					t.Fatalf("%d %v, want %q", status, got, c.sample)
				}
				return
			}
			want := normal(t, fixture(t, c.sample))
			have, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if string(have) != want || status < 400 || strings.Contains(c.sample, "idempotency") != (status == 409) {
				t.Fatalf("%d\n got %s\nwant %s", status, have, want)
			}
		})
	}

	t.Run("order older than 180 days, payment older than six months", func(t *testing.T) {
		s.Advance(190 * 24 * time.Hour)
		if _, got := ask(t, "GET", base+"/v1/orders/"+id, ""); text(t, got, "error", "description") != "Order older than 180 days, please use reports." {
			t.Fatal(got)
		}
		_, got := ask(t, "POST", base+"/v1/payments/"+p.ID+"/refund", `{"amount":100}`)
		have, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != normal(t, fixture(t, "error_refund_six_months.json")) {
			t.Fatalf("%s", have)
		}
	})
}

func TestTheKeyMustBeRightAndTheSchemeExact(t *testing.T) {
	_, base := open(t, standin.Options{})
	for _, header := range []string{"", basic(), "Basic bm90OnJpZ2h0", "basic " + basic(), "BASIC " + basic(), "Bearer " + basic(), `Basic "` + basic() + `"`} {
		req, err := http.NewRequest("GET", base+"/v1/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != 401 || normal(t, raw) != normal(t, fixture(t, "error_auth_failed.json")) {
			t.Errorf("%q: %d %s", header, res.StatusCode, raw)
		}
	}
	if status, _ := ask(t, "GET", base+"/v1/orders", ""); status != 200 {
		t.Fatalf("the right key: %d", status)
	}
}

func basic() string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(standin.DefaultKeyID, standin.DefaultKeySecret)
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}

var id14 = regexp.MustCompile(`^[A-Za-z0-9]{14}$`)

func TestCheckoutAnswersAndCallbacksHaveTheFieldsOfTheSamples(t *testing.T) {
	_, base := open(t, standin.Options{})
	ajax := func(order, outcome string) any {
		t.Helper()
		res, err := http.PostForm(base+"/v1/payments/create/ajax", url.Values{"key_id": {standin.DefaultKeyID}, "order_id": {order}, "method": {"upi"},
			"outcome": {outcome}, "callback_url": {"https://shop.example/payments/verify?order=t"}})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Error("a page cannot read the answer")
		}
		return parse(t, raw)
	}
	order := newOrder(t, base, "45900")
	failed := ajax(order, "fail")
	sameShape(t, "checkout_payment_failed.json", failed)
	callback := func(id string) url.Values {
		t.Helper()
		res, err := http.Get(base + "/v1/payments/" + id + "/callback?key_id=" + standin.DefaultKeyID)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		action, fields := formOf(t, string(raw))
		if action != "https://shop.example/payments/verify?order=t" {
			t.Fatalf("posts to %q", action)
		}
		return fields
	}
	sameFields(t, "callback_failure.form.txt", callback(text(t, failed.(map[string]any), "error", "metadata", "payment_id")))
	paid := ajax(order, "succeed").(map[string]any)
	sameShape(t, "checkout_success.json", paid)
	id := paid["razorpay_payment_id"].(string)
	if !id14.MatchString(strings.TrimPrefix(id, "pay_")) || !razorpay.VerifyCheckout(standin.DefaultKeySecret, order, id, paid["razorpay_signature"].(string)) {
		t.Errorf("success %v", paid)
	}
	sameFields(t, "callback_success.form.txt", callback(id))
}

func sameFields(t *testing.T, sample string, got url.Values) {
	t.Helper()
	want, err := url.ParseQuery(string(fixture(t, sample)))
	if err != nil {
		t.Fatal(err)
	}
	if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
		t.Errorf("%s: fields %v, want %v", sample, g, w)
	}
	if m := want.Get("error[metadata]"); m != "" {
		w, g := map[string]string{}, map[string]string{}
		shape("", parse(t, []byte(m)), w)
		shape("", parse(t, []byte(got.Get("error[metadata]"))), g)
		if !maps.Equal(w, g) {
			t.Errorf("%s: metadata %v, want %v", sample, g, w)
		}
	}
}
