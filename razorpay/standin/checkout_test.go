package standin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// fetch returns a page without following redirects.
func fetch(t *testing.T, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(raw)
}

func TestTestIDsDecideAsInTestMode(t *testing.T) {
	s, base := open(t, standin.Options{})
	for _, c := range []struct {
		name, status, reason string
		form                 url.Values
		refused              string
	}{
		{name: "upi success", form: url.Values{"method": {"upi"}, "vpa": {"success@razorpay"}}, status: "captured"},
		{name: "upi failure", form: url.Values{"method": {"upi"}, "vpa": {"failure@razorpay"}}, status: "failed", reason: "payment_failed"},
		{name: "upi nonsense", form: url.Values{"method": {"upi"}, "vpa": {"nobody"}}, refused: "Invalid VPA. Please enter a valid Virtual Payment Address"},
		{name: "card", form: url.Values{"method": {"card"}, "card[number]": {"4100 2800 0000 1007"}, "otp": {"1234"}}, status: "captured"},
		{name: "card digits only", form: url.Values{"method": {"card"}, "card[number]": {"6527658900001005"}, "otp": {"0123456789"}}, status: "captured"},
		{name: "card, short otp", form: url.Values{"method": {"card"}, "card[number]": {"4100 2800 0000 1007"}, "otp": {"123"}}, status: "failed", reason: "invalid_otp"},
		{name: "card without funds", form: url.Values{"method": {"card"}, "card[number]": {"4100 2800 0008 0001"}, "otp": {"1234"}}, status: "failed", reason: "insufficient_fund"},
		{name: "card unknown", form: url.Values{"method": {"card"}, "card[number]": {"4242 4242 4242 4242"}, "otp": {"1234"}}, refused: "The card number is not one of the test cards."},
		{name: "netbanking", form: url.Values{"method": {"netbanking"}, "bank": {"BARB_R"}, "outcome": {"succeed"}}, status: "captured"},
		{name: "outcome unknown", form: url.Values{"method": {"upi"}, "outcome": {"maybe"}}, refused: "The selected outcome is invalid."},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(s.Books().Payments)
			c.form.Set("key_id", standin.DefaultKeyID)
			c.form.Set("order_id", newOrder(t, base, "45900"))
			_, body := fetch(t, "POST", base+"/v1/payments/create/ajax", c.form)
			made := s.Books().Payments[before:]
			if c.refused != "" {
				if len(made) != 0 || text(t, parse(t, []byte(body)).(map[string]any), "error", "description") != c.refused {
					t.Fatalf("%d made, %s", len(made), body)
				}
				return
			}
			if len(made) != 1 || made[0].Status != c.status || made[0].ErrorReason != c.reason {
				t.Fatalf("%+v %s", made, body)
			}
		})
	}
}

func TestCheckoutRefusesWhatCannotBePaid(t *testing.T) {
	s, base := open(t, standin.Options{})
	paid, held := newOrder(t, base, "500"), newOrder(t, base, "500")
	pay(t, s, standin.PayParams{OrderID: paid})
	pay(t, s, standin.PayParams{OrderID: held, Outcome: standin.AuthorizeOnly})
	for _, c := range []struct{ key, order, want string }{
		{"rzp_test_OtherAccount01", newOrder(t, base, "500"), "The id provided does not exist"},
		{standin.DefaultKeyID, "order_00000000000000", "The id provided does not exist"},
		{standin.DefaultKeyID, paid, "Your payment has been declined as the order is already paid. Please initiate the payment with a new order."},
		{standin.DefaultKeyID, held, "Your payment has been declined as the order is already paid. Please initiate the payment with a new order."},
	} {
		before := len(s.Books().Payments)
		_, body := fetch(t, "POST", base+"/v1/payments/create/ajax", url.Values{"key_id": {c.key}, "order_id": {c.order}, "method": {"upi"}, "outcome": {"succeed"}})
		if got := text(t, parse(t, []byte(body)).(map[string]any), "error", "description"); got != c.want || len(s.Books().Payments) != before {
			t.Errorf("%s: %s", c.order, body)
		}
	}
}

func TestHostedPagePaysWithoutScript(t *testing.T) {
	var came url.Values
	var query url.Values
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		came, query = r.PostForm, r.URL.Query()
	}))
	defer shop.Close()
	s, base := open(t, standin.Options{})
	start := func(t *testing.T, order string) (action string, fields url.Values, page string) {
		t.Helper()
		res, page := fetch(t, "POST", base+"/v1/checkout/embedded", url.Values{"key_id": {standin.DefaultKeyID}, "order_id": {order}, "amount": {"45900"}, "currency": {"INR"},
			"name": {"Shop <b>"}, "description": {"Order 7"}, "prefill[contact]": {"+919999999999"}, "prefill[email]": {"guest@example.test"}, "notes[a]": {"b"},
			"callback_url": {shop.URL + "/payments/verify?order=tok"}, "cancel_url": {shop.URL + "/pay/tok"}})
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Fatalf("%d %s", res.StatusCode, page)
		}
		action, fields = formOf(t, page)
		return base + action, fields, page
	}
	answer := func(t *testing.T, action string, fields url.Values, outcome string) string {
		t.Helper()
		if outcome != "" {
			fields.Set("outcome", outcome)
		}
		fields.Set("method", "upi")
		res, page := fetch(t, "POST", action, fields)
		if res.StatusCode != http.StatusSeeOther {
			return page
		}
		_, page = fetch(t, "GET", base+res.Header.Get("Location"), nil)
		return page
	}
	back := func(t *testing.T, page string) {
		t.Helper()
		if byTestID(t, page, "standin-continue") == nil || strings.Contains(page, "<script") {
			t.Fatalf("no button, or a script: %s", page)
		}
		action, fields := formOf(t, page)
		fetch(t, "POST", action, fields)
		if query.Get("order") != "tok" {
			t.Errorf("the query was lost: %v", query)
		}
	}

	t.Run("succeed", func(t *testing.T) {
		order := newOrder(t, base, "45900")
		action, fields, page := start(t, order)
		if !strings.Contains(page, "₹459.00") || strings.Contains(page, "<b>") || byTestID(t, page, "standin-succeed") == nil {
			t.Error(page)
		}
		if a := byTestID(t, page, "standin-close"); a == nil || attr(a, "href") != shop.URL+"/pay/tok" {
			t.Error("cancel leads nowhere")
		}
		back(t, answer(t, action, fields, "succeed"))
		id := came.Get("razorpay_payment_id")
		if !razorpay.VerifyCheckout(standin.DefaultKeySecret, order, id, came.Get("razorpay_signature")) || came.Get("razorpay_order_id") != order {
			t.Errorf("came %v", came)
		}
		if p := payment(t, s, id); p.Notes["a"] != "b" || p.Contact != "+919999999999" || p.Email != "guest@example.test" || p.Description != "Order 7" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("pay by the test id alone", func(t *testing.T) {
		action, fields, _ := start(t, newOrder(t, base, "45900"))
		fields.Set("vpa", "failure@razorpay")
		back(t, answer(t, action, fields, ""))
		if came.Get("error[code]") != "BAD_REQUEST_ERROR" || came.Has("razorpay_signature") {
			t.Errorf("came %v", came)
		}
	})
	t.Run("fail", func(t *testing.T) {
		order := newOrder(t, base, "45900")
		action, fields, _ := start(t, order)
		back(t, answer(t, action, fields, "fail"))
		if got := parse(t, []byte(came.Get("error[metadata]"))).(map[string]any); got["order_id"] != order {
			t.Errorf("came %v", came)
		}
	})
	t.Run("pending, asked again, then paid", func(t *testing.T) {
		order := newOrder(t, base, "45900")
		action, fields, _ := start(t, order)
		page := answer(t, action, fields, "pend")
		again := byTestID(t, page, "standin-again")
		if again == nil || byTestID(t, page, "standin-continue") != nil {
			t.Fatal(page)
		}
		if err := s.SucceedLate(s.Books().PaymentsOf(order)[0].ID); err != nil {
			t.Fatal(err)
		}
		_, page = fetch(t, "GET", base+attr(again, "href"), nil)
		back(t, page)
		if came.Get("razorpay_order_id") != order {
			t.Errorf("came %v", came)
		}
	})
	t.Run("an order already paid, a wrong callback", func(t *testing.T) {
		order := newOrder(t, base, "45900")
		pay(t, s, standin.PayParams{OrderID: order})
		if _, _, page := start(t, order); byTestID(t, page, "standin-error") == nil {
			t.Error("no complaint about a paid order")
		}
		_, page := fetch(t, "POST", base+"/v1/checkout/embedded/pay", url.Values{"key_id": {standin.DefaultKeyID}, "order_id": {newOrder(t, base, "500")}, "callback_url": {"javascript:alert(1)"}, "outcome": {"succeed"}})
		if byTestID(t, page, "standin-error") == nil || strings.Contains(page, `action="javascript`) {
			t.Error(page)
		}
	})
}

func TestCheckoutScriptParses(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is needed: ", err)
	}
	_, base := open(t, standin.Options{})
	res, script := fetch(t, "GET", base+"/v1/checkout.js", nil)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/javascript") {
		t.Error(res.Header)
	}
	cmd := exec.Command(node, "--check", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestControlOverHTTP(t *testing.T) {
	s, base := open(t, standin.Options{})
	control := func(t *testing.T, method, path, body string, want int) map[string]any {
		t.Helper()
		status, out := ask(t, method, base+"/standin/"+path, body)
		if status != want {
			t.Fatalf("%s %s: %d %v", method, path, status, out)
		}
		return out
	}
	order := newOrder(t, base, "45900")

	t.Run("pay, refund, fail, dispute", func(t *testing.T) {
		p := control(t, "POST", "pay", `{"order_id":"`+order+`","method":"card","notes":{"a":"b"}}`, 200)
		if p["status"] != "captured" || p["amount_paise"] != 45900.0 || text(t, p, "card", "last4") != "1007" {
			t.Fatal(p)
		}
		id := p["id"].(string)
		r := control(t, "POST", "payments/"+id+"/refund", `{"amount_paise":900}`, 200)
		control(t, "POST", "refunds/"+r["id"].(string)+"/fail", ``, 200)
		control(t, "POST", "refunds/"+r["id"].(string)+"/fail", ``, 409)
		d := control(t, "POST", "payments/"+id+"/dispute", `{}`, 200)
		control(t, "POST", "disputes/"+d["id"].(string)+"/won", ``, 200)
		control(t, "POST", "payments/pay_x/capture", ``, 404)
		control(t, "POST", "pay", `{"order":"`+order+`"}`, 400)
		control(t, "POST", "pay", `{"order_id":`, 400)
		control(t, "GET", "elsewhere", ``, 404)
		books := control(t, "GET", "books", ``, 200)
		if len(books["orders"].([]any)) != 1 || len(books["refunds"].([]any)) != 1 || len(books["disputes"].([]any)) != 1 {
			t.Error(books)
		}
	})
	t.Run("faults, settings, clock", func(t *testing.T) {
		control(t, "POST", "faults", `{"method":"POST","path":"/v1/orders","kind":"refuse","refusal":"server_error","times":1}`, 200)
		control(t, "POST", "faults", `{"kind":"refuse","refusal":"nothing"}`, 400)
		control(t, "POST", "faults", `{"kind":"delay","for":"soon"}`, 400)
		if status, _ := ask(t, "POST", base+"/v1/orders", `{"amount":500,"currency":"INR"}`); status != 500 {
			t.Errorf("%d", status)
		}
		control(t, "DELETE", "faults", ``, 200)
		set := control(t, "PATCH", "settings", `{"receipt_mode":"reject_plain","list_lag":"90s","manual_capture":true}`, 200)
		if set["receipt_mode"] != "reject_plain" || set["list_lag"] != "1m30s" || s.Settings().ListLag != 90*time.Second || !s.Settings().ManualCapture {
			t.Error(set)
		}
		control(t, "PATCH", "settings", `{"receipt_mode":"never"}`, 400)
		control(t, "PATCH", "settings", `{"list_lag":"-1s"}`, 400)
		if s.Settings().ReceiptMode != "reject_plain" {
			t.Error("a refused change was kept")
		}
		before := s.Now()
		control(t, "POST", "clock", `{"advance":"2h"}`, 200)
		if s.Now().Sub(before) < 2*time.Hour {
			t.Error("the clock did not move")
		}
		control(t, "PATCH", "settings", `{"manual_capture":false,"list_lag":"0s","receipt_mode":"allow"}`, 200)
	})
	t.Run("webhooks", func(t *testing.T) {
		h := newShop(t, nil)
		control(t, "POST", "webhook_faults", `{"event":"payment.*","hold":true}`, 200)
		control(t, "POST", "webhook_faults", `{"event":"payment.*"}`, 400)
		put, err := http.NewRequest("PUT", base+"/standin/webhooks", strings.NewReader(`{"webhooks":[{"url":"`+h.URL+`","secret":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(put)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		control(t, "POST", "pay", `{"order_id":"`+newOrder(t, base, "500")+`"}`, 200)
		idle(t, s)
		if got := h.kinds(); len(got) != 1 || got[0] != "order.paid" {
			t.Errorf("%v", got)
		}
		if out := control(t, "POST", "release", ``, 200); out["released"] != 2.0 {
			t.Error(out)
		}
		idle(t, s)
		if got := h.got(); len(got) != 3 || !razorpay.VerifyWebhook("x", []byte(got[2].body), got[2].signature) {
			t.Errorf("%v", h.kinds())
		}
	})
	t.Run("posts from other pages are refused", func(t *testing.T) {
		status := 0
		for _, site := range []string{"cross-site", "same-site"} {
			req, err := http.NewRequest("POST", base+"/standin/faults/clear", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Sec-Fetch-Site", site)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if status = res.StatusCode; status != 403 {
				t.Errorf("%s: %d", site, status)
			}
		}
	})
	t.Run("the page shows what there is and its forms work", func(t *testing.T) {
		other := newOrder(t, base, "12345600")
		_, page := fetch(t, "GET", base+"/standin", nil)
		for _, want := range []string{order, other, "₹1,23,456.00", "receipt_mode", "Release what is held"} {
			if !strings.Contains(page, want) {
				t.Errorf("%q is missing", want)
			}
		}
		res, _ := fetch(t, "POST", base+"/standin/pay", url.Values{"order_id": {other}, "method": {"upi"}, "outcome": {""}})
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/standin" {
			t.Fatal(res.Status, res.Header)
		}
		if o, _ := s.Books().Order(other); o.Status != "paid" {
			t.Errorf("%+v", o)
		}
		res, _ = fetch(t, "POST", base+"/standin/settings", url.Values{"second_payment": {"keep"}})
		if !strings.Contains(res.Header.Get("Location"), "note=") {
			t.Error("no complaint")
		}
	})
}
