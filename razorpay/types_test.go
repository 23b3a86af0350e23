package razorpay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// generic decodes without our types, numbers kept as written.
func generic(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// same fails unless the key's value, written as text, is got. Null and missing count as nothing.
func same(t *testing.T, entity map[string]any, key, got string) {
	t.Helper()
	want := ""
	if v := entity[key]; v != nil {
		want = fmt.Sprint(v)
	}
	if got != want {
		t.Errorf("%v: %s = %q, want %q", entity["id"], key, got, want)
	}
}

func samePaise(t *testing.T, entity map[string]any, key string, got int64) {
	t.Helper()
	want := "0"
	if v := entity[key]; v != nil {
		want = fmt.Sprint(v)
	}
	if fmt.Sprint(got) != want {
		t.Errorf("%v: %s = %d paise, want %s", entity["id"], key, got, want)
	}
}

func sameMaybePaise(t *testing.T, entity map[string]any, key string, got *int64) {
	t.Helper()
	if (got == nil) != (entity[key] == nil) {
		t.Errorf("%v: %s = %v, want %v", entity["id"], key, got, entity[key])
	} else if got != nil {
		samePaise(t, entity, key, *got)
	}
}

func sameTime(t *testing.T, entity map[string]any, key string, got time.Time) {
	t.Helper()
	want := "0"
	if v := entity[key]; v != nil {
		want = fmt.Sprint(v)
	}
	seconds := int64(0)
	if !got.IsZero() {
		seconds = got.Unix()
	}
	if fmt.Sprint(seconds) != want {
		t.Errorf("%v: %s = %s, want %s", entity["id"], key, got, want)
	}
}

func sameNotes(t *testing.T, entity map[string]any, key string, got map[string]string) {
	t.Helper()
	want := map[string]string{}
	if m, ok := entity[key].(map[string]any); ok {
		for k, v := range m {
			want[k] = ""
			if v != nil {
				want[k] = fmt.Sprint(v)
			}
		}
	}
	if s, ok := entity[key].(string); ok {
		want[""] = s
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v: %s = %v, want %v", entity["id"], key, got, want)
	}
}

func sameOrder(t *testing.T, e map[string]any, o Order) {
	t.Helper()
	for key, got := range map[string]string{"id": o.ID, "receipt": o.Receipt, "currency": o.Currency, "status": o.Status} {
		same(t, e, key, got)
	}
	for key, got := range map[string]int64{"amount": o.AmountPaise, "amount_paid": o.AmountPaidPaise, "amount_due": o.AmountDuePaise, "attempts": int64(o.Attempts)} {
		samePaise(t, e, key, got)
	}
	sameNotes(t, e, "notes", o.Notes)
	sameTime(t, e, "created_at", o.CreatedAt)
}

func samePayment(t *testing.T, e map[string]any, p Payment) {
	t.Helper()
	for key, got := range map[string]string{
		"id": p.ID, "order_id": p.OrderID, "invoice_id": p.InvoiceID, "customer_id": p.CustomerID, "token_id": p.TokenID,
		"card_id": p.CardID, "currency": p.Currency, "status": p.Status, "method": p.Method, "refund_status": p.RefundStatus,
		"bank": p.Bank, "wallet": p.Wallet, "email": p.Email, "contact": p.Contact, "description": p.Description,
		"error_code": p.ErrorCode, "error_description": p.ErrorDescription, "error_source": p.ErrorSource,
		"error_step": p.ErrorStep, "error_reason": p.ErrorReason,
		"captured": fmt.Sprint(p.Captured), "international": fmt.Sprint(p.International),
	} {
		same(t, e, key, got)
	}
	samePaise(t, e, "amount", p.AmountPaise)
	samePaise(t, e, "amount_refunded", p.AmountRefundedPaise)
	sameMaybePaise(t, e, "fee", p.FeePaise)
	sameMaybePaise(t, e, "tax", p.TaxPaise)
	if upi, ok := e["upi"].(map[string]any); ok && e["vpa"] == nil {
		same(t, upi, "vpa", p.VPA)
	} else {
		same(t, e, "vpa", p.VPA)
	}
	if card, ok := e["card"].(map[string]any); ok != (p.Card != nil) {
		t.Errorf("%s: card = %v", p.ID, p.Card)
	} else if ok {
		for key, got := range map[string]string{
			"id": p.Card.ID, "name": p.Card.Name, "last4": p.Card.Last4, "network": p.Card.Network, "type": p.Card.Type,
			"issuer": p.Card.Issuer, "sub_type": p.Card.SubType,
			"international": fmt.Sprint(p.Card.International), "emi": fmt.Sprint(p.Card.EMI),
		} {
			same(t, card, key, got)
		}
	}
	sameNotes(t, e, "acquirer_data", p.AcquirerData)
	sameNotes(t, e, "notes", p.Notes)
	sameTime(t, e, "created_at", p.CreatedAt)
}

func sameRefund(t *testing.T, e map[string]any, r Refund) {
	t.Helper()
	for key, got := range map[string]string{
		"id": r.ID, "payment_id": r.PaymentID, "currency": r.Currency, "status": r.Status, "receipt": r.Receipt,
		"speed_requested": r.SpeedRequested, "speed_processed": r.SpeedProcessed,
	} {
		same(t, e, key, got)
	}
	samePaise(t, e, "amount", r.AmountPaise)
	sameNotes(t, e, "acquirer_data", r.AcquirerData)
	sameNotes(t, e, "notes", r.Notes)
	sameTime(t, e, "created_at", r.CreatedAt)
}

func sameDispute(t *testing.T, e map[string]any, d Dispute) {
	t.Helper()
	for key, got := range map[string]string{
		"id": d.ID, "payment_id": d.PaymentID, "currency": d.Currency, "status": d.Status, "phase": d.Phase, "reason_code": d.ReasonCode,
	} {
		same(t, e, key, got)
	}
	samePaise(t, e, "amount", d.AmountPaise)
	samePaise(t, e, "amount_deducted", d.AmountDeductedPaise)
	sameTime(t, e, "respond_by", d.RespondByAt)
	sameTime(t, e, "created_at", d.CreatedAt)
}

func sameReconRow(t *testing.T, e map[string]any, r ReconRow) {
	t.Helper()
	for key, got := range map[string]string{
		"entity_id": r.EntityID, "type": r.Type, "currency": r.Currency, "settlement_id": r.SettlementID,
		"settlement_utr": r.SettlementUTR, "payment_id": r.PaymentID, "order_id": r.OrderID, "order_receipt": r.OrderReceipt,
		"method": r.Method, "card_network": r.CardNetwork, "card_issuer": r.CardIssuer, "card_type": r.CardType,
		"credit_type": r.CreditType, "dispute_id": r.DisputeID, "description": r.Description,
		"on_hold": fmt.Sprint(r.OnHold), "settled": fmt.Sprint(r.Settled),
	} {
		same(t, e, key, got)
	}
	for key, got := range map[string]int64{"debit": r.DebitPaise, "credit": r.CreditPaise, "amount": r.AmountPaise, "fee": r.FeePaise, "tax": r.TaxPaise} {
		samePaise(t, e, key, got)
	}
	sameNotes(t, e, "notes", r.Notes)
	for key, got := range map[string]time.Time{"created_at": r.CreatedAt, "settled_at": r.SettledAt, "posted_at": r.PostedAt} {
		sameTime(t, e, key, got)
	}
}

// one and many decode a fixture and compare every field with the file.
func one[T any](decode func([]byte) (T, error), compare func(*testing.T, map[string]any, T)) func(*testing.T, []byte) {
	return func(t *testing.T, raw []byte) {
		got, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, generic(t, raw), got)
	}
}

func many[T any](decode func([]byte) (T, error), compare func(*testing.T, map[string]any, T)) func(*testing.T, []byte) {
	return func(t *testing.T, raw []byte) {
		got, err := decodeList(raw, decode)
		if err != nil {
			t.Fatal(err)
		}
		items := generic(t, raw)["items"].([]any)
		if len(got) != len(items) || len(got) == 0 {
			t.Fatalf("%d rows of %d", len(got), len(items))
		}
		for i, row := range got {
			compare(t, items[i].(map[string]any), row)
		}
	}
}

func TestEntityFixtures(t *testing.T) {
	check := map[string]func(*testing.T, []byte){
		"order_payments_collection.json":   many(decodePayment, samePayment),
		"orders_list.json":                 many(decodeOrder, sameOrder),
		"orders_list_expand_payments.json": many(decodeOrder, sameOrder),
		"refunds_list.json":                many(decodeRefund, sameRefund),
		"refunds_of_payment.json":          many(decodeRefund, sameRefund),
		"settlement_recon_combined.json":   many(decodeReconRow, sameReconRow),
		"dispute.json":                     one(decodeDispute, sameDispute),
		"dispute_lost.json":                one(decodeDispute, sameDispute),
	}
	byPrefix := map[string]func(*testing.T, []byte){
		"order_": one(decodeOrder, sameOrder), "payment_": one(decodePayment, samePayment), "refund_": one(decodeRefund, sameRefund),
	}
	// Read by other tests, or by no part of this program.
	elsewhere := []string{"card_entity.json", "settlement.json", "signature_vectors.json", "errors_index.json", "webhook_headers.json"}
	prefixesElsewhere := []string{"error_", "webhook_", "observed_", "checkout_"}

	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range files {
		name := filepath.Base(file)
		test := check[name]
		for prefix, f := range byPrefix {
			if test == nil && strings.HasPrefix(name, prefix) {
				test = f
			}
		}
		if test == nil {
			if !slices.Contains(elsewhere, name) && !slices.ContainsFunc(prefixesElsewhere, func(p string) bool { return strings.HasPrefix(name, p) }) {
				t.Errorf("%s is read by no test", name)
			}
			continue
		}
		read++
		t.Run(name, func(t *testing.T) { test(t, readFixture(t, name)) })
	}
	if read < 30 {
		t.Errorf("only %d fixtures", read)
	}
}

// A few figures by hand, so that the comparison above cannot agree with itself on nothing.
func TestKnownFigures(t *testing.T) {
	p, err := decodePayment(readFixture(t, "payment_wallet_captured.json"))
	if err != nil {
		t.Fatal(err)
	}
	if p.AmountPaise != 250000 || *p.FeePaise != 5900 || *p.TaxPaise != 900 || !p.Captured || p.Wallet != "airtelmoney" {
		t.Errorf("wallet: %+v", p)
	}
	if p, err = decodePayment(readFixture(t, "payment_upi_refunded_full.json")); err != nil {
		t.Fatal(err)
	}
	if p.AmountPaise != 1000 || p.AmountRefundedPaise != 1000 || p.Status != "refunded" || !p.Captured || p.OrderID != "" || *p.FeePaise != 0 {
		t.Errorf("refunded: %+v", p)
	}
	if p, err = decodePayment(readFixture(t, "payment_emi_authorized.json")); err != nil {
		t.Fatal(err)
	}
	if p.AmountPaise != 200000 || p.FeePaise != nil || p.TaxPaise != nil || p.Captured {
		t.Errorf("authorized: %+v", p)
	}
	r, err := decodeRefund(readFixture(t, "refund_instant_created.json"))
	if err != nil {
		t.Fatal(err)
	}
	if r.AmountPaise != 500100 || r.SpeedRequested != "optimum" || r.SpeedProcessed != "normal" || r.Receipt != "Receipt No. 31" || !r.CreatedAt.Equal(time.Unix(1597078914, 0)) {
		t.Errorf("refund: %+v", r)
	}
	rows, err := decodeList(readFixture(t, "settlement_recon_combined.json"), decodeReconRow)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows[0].CreditPaise != 97100 || rows[0].FeePaise != 2900 || rows[1].DebitPaise != 242500 || rows[2].Type != "transfer" || rows[3].AmountPaise != 1012 || rows[0].Notes[""] != "free text note" {
		t.Errorf("settlement: %+v", rows)
	}
}

func TestLargeAmountsStayExact(t *testing.T) {
	const most = 1<<63 - 1 // a float64 would say 9223372036854775808
	o, err := decodeOrder(fmt.Appendf(nil, `{"entity":"order","id":"order_TstAbCdEf00001","amount":%d,"currency":"INR","status":"paid"}`, most))
	if err != nil || o.AmountPaise != most {
		t.Errorf("%d, %v", o.AmountPaise, err)
	}
}

func TestDecodersRefuse(t *testing.T) {
	const order = `{"entity":"order","id":"order_TstAbCdEf00001","amount":24900,"currency":"INR","status":"created"}`
	const payment = `{"entity":"payment","id":"pay_TstAbCdEf00001","order_id":"order_TstAbCdEf00001","amount":24900,"currency":"INR","status":"captured","captured":true}`
	const refund = `{"entity":"refund","id":"rfnd_TstAbCdEf00001","payment_id":"pay_TstAbCdEf00001","amount":24900,"currency":"INR","status":"processed"}`
	const dispute = `{"entity":"dispute","id":"disp_TstAbCdEf00001","payment_id":"pay_TstAbCdEf00001","amount":24900,"currency":"INR","status":"open"}`
	const row = `{"entity_id":"pay_TstAbCdEf00001","type":"payment","amount":24900,"credit":24312,"currency":"INR"}`
	decoders := map[string]func([]byte) error{
		order:   func(raw []byte) error { _, err := decodeOrder(raw); return err },
		payment: func(raw []byte) error { _, err := decodePayment(raw); return err },
		refund:  func(raw []byte) error { _, err := decodeRefund(raw); return err },
		dispute: func(raw []byte) error { _, err := decodeDispute(raw); return err },
		row:     func(raw []byte) error { _, err := decodeReconRow(raw); return err },
	}
	for good, decode := range decoders {
		if err := decode([]byte(good)); err != nil {
			t.Fatalf("%s: %v", good, err)
		}
		bad := []string{"", "null", "{}", "[]", "[" + good + "]", `""`, "7", "<html>", good[:len(good)-1], good + good}
		for old, replacements := range map[string][]string{
			`24900`:          {`249.00`, `24900.0`, `2.49e4`, `"24900"`, `null`, `true`, `{}`, `99999999999999999999`},
			`"INR"`:          {`null`, `""`},
			`"entity":"`:     {`"entity":"x`, `"entity":null,"x":"`},
			`"id":"`:         {`"id":"x`, `"id":123,"x":"`, `"id":"../`, `"id":null,"x":"`},
			`"status":"`:     {`"status":null,"x":"`},
			`"payment_id":"`: {`"payment_id":null,"x":"`, `"payment_id":"order_`},
			`"order_id":"`:   {`"order_id":"x/`},
			`"captured":tr`:  {`"captured":"x","x":tr`, `"captured":1,"x":tr`},
			`"credit":24312`: {`"credit":243.12`, `"credit":"24312"`},
			`"entity_id":"`:  {`"entity_id":null,"x":"`},
			`"type":"`:       {`"type":null,"x":"`},
		} {
			if !strings.Contains(good, old) {
				continue
			}
			for _, with := range replacements {
				bad = append(bad, strings.Replace(good, old, with, 1))
			}
		}
		for _, raw := range bad {
			if err := decode([]byte(raw)); !errors.Is(err, ErrBadReply) || OutcomeOf(err) != Unknown {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
	refunded := strings.Replace(payment, `"status":"captured","captured":true`, `"status":"refunded"`, 1)
	if _, err := decodePayment([]byte(refunded)); !errors.Is(err, ErrBadReply) {
		t.Errorf("refunded without captured: %v", err)
	}
	for _, raw := range []string{
		"", "{}", "[]", "null", `{"entity":"collection","count":0}`, `{"entity":"collection","count":0,"items":null}`,
		`{"entity":"collection","count":0,"items":{}}`, `{"count":0,"items":[]}`,
		`{"entity":"collection","count":2,"items":[` + order + `]}`,
		`{"entity":"collection","count":2,"items":[` + order + `,{}]}`,
		`{"entity":"collection","count":1,"items":[null]}`,
	} {
		if list, err := decodeList([]byte(raw), decodeOrder); !errors.Is(err, ErrBadReply) {
			t.Errorf("%s: %v, %v", raw, list, err)
		}
	}
	if list, err := decodeList([]byte(`{"entity":"collection","count":0,"items":[]}`), decodeOrder); err != nil || len(list) != 0 || list == nil {
		t.Errorf("an empty collection: %v, %v", list, err)
	}
}

func TestDecodersForgive(t *testing.T) {
	p, err := decodePayment([]byte(`{"entity":"payment","id":"pay_TstAbCdEf00001","order_id":null,"amount":100,"currency":"INR",
		"status":"on_the_moon","method":null,"amount_refunded":null,"captured":null,"fee":2.36,"tax":"1","card":[],"upi":"x",
		"acquirer_data":[],"notes":["first",2,true,null,{"deep":[1]}],"created_at":"yesterday","contact":919999999999,
		"international":"yes","email":"a\u0000b@example.test","vpa":"caf\u00e9 \ud800","new_key":{"x":[{}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Payment{
		ID: "pay_TstAbCdEf00001", AmountPaise: 100, Currency: "INR", Status: "on_the_moon",
		Contact: "919999999999", Email: "ab@example.test", VPA: "café \ufffd",
		Notes: Notes{"0": "first", "1": "2", "2": "true", "3": "", "4": `{"deep":[1]}`},
	}
	if fmt.Sprintf("%#v", p) != fmt.Sprintf("%#v", want) {
		t.Errorf("got  %#v\nwant %#v", p, want)
	}
	for raw, want := range map[string]Notes{
		`{}`: nil, `[]`: nil, `null`: nil, `{"a\u0000":"b\u0000c"}`: {"a": "bc"}, `{"n":1.50,"t":true,"z":null}`: {"n": "1.50", "t": "true", "z": ""}, `"free"`: {"": "free"},
		"{\"k\":[\"\xff\"],\"\xff\":\"\xff\"}": {"k": "[\"\ufffd\"]", "\ufffd": "\ufffd"},
	} {
		var wrapper struct{ Notes Notes }
		if err := json.Unmarshal([]byte(`{"notes":`+raw+`}`), &wrapper); err != nil || !maps.Equal(wrapper.Notes, want) {
			t.Errorf("%s: %v, %v", raw, wrapper.Notes, err)
		}
	}
	for raw, want := range map[string]int64{"0": 0, "-1": 0, "4765046400": 4765046400, "4765046401": 0, "9223372036854775807": 0, "1.5": 0, "null": 0, `"1"`: 0, "[]": 0} {
		var at instant
		if err := json.Unmarshal([]byte(raw), &at); err != nil || want == 0 != at.IsZero() || want != 0 && at.Unix() != want {
			t.Errorf("%s: %s, %v", raw, at.Time, err)
		}
	}
}

func TestValidID(t *testing.T) {
	for _, good := range [][2]string{
		{"order", "order_TstAbCdEf00001"}, {"order_", "order_IEIaMR65cu6nz3"}, {"pay", "pay_0123456789"},
		{"rfnd", "rfnd_01234567890123456789"}, {"pay", "pay_TESTX00000001"},
	} {
		if !ValidID(good[0], good[1]) {
			t.Errorf("%q is refused as %s", good[1], good[0])
		}
	}
	for _, bad := range [][2]string{
		{"order", ""}, {"order", "order_"}, {"order", "order_012345678"}, {"order", "order_012345678901234567890"},
		{"order", "pay_TstAbCdEf00001"}, {"pay", "order_TstAbCdEf00001"}, {"order", "orderTstAbCdEf00001"},
		{"order", "order_x/../payments"}, {"order", "order_TstAbCdEf00001\n"}, {"order", " order_TstAbCdEf00001"},
		{"order", "order_TstAbCdEf0000?"}, {"order", "order_TstAbCdEf000%2"}, {"order", "order_TstAbCdEf00é"},
		{"order", "order_TstAbCdEf0_001"}, {"order", "Order_TstAbCdEf00001"}, {"", "order_TstAbCdEf00001"}, {"order", "order_TstAbCdEf\x0000"},
	} {
		if ValidID(bad[0], bad[1]) {
			t.Errorf("%q is accepted as %s", bad[1], bad[0])
		}
	}
}

func TestPaymentPrintsNoPerson(t *testing.T) {
	p, err := decodePayment(readFixture(t, "payment_card_captured.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%s"} {
		for _, s := range []string{fmt.Sprintf(verb, p), fmt.Sprintf(verb, &p)} {
			if strings.Contains(s, "guest@") || strings.Contains(s, "9999999999") || strings.Contains(s, "0153") || !strings.Contains(s, p.ID) {
				t.Errorf("%s: %s", verb, s)
			}
		}
	}
}
