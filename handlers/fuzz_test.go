package handlers

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// These targets throw anything at the ways in that can move money. What must hold for every input: no fault of ours (5xx, panic); what is
// refused has written nothing; what is accepted leaves the books whole; and no word of a visitor ever is an amount.

// fuzzed is the one shop that all inputs of a process go to.
type fuzzed struct {
	*shop
	prints string // SQL: a line per table that says whether anything was written to it
	words  []string
	inputs int
}

func openFuzzed(f *testing.F) *fuzzed {
	f.Helper()
	s := &fuzzed{shop: openShop(f)}
	rows, err := s.store.SQL().QueryContext(f.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	must(f, err)
	defer rows.Close()
	var parts []string
	for rows.Next() {
		var table string
		must(f, rows.Scan(&table))
		// An insert or update leaves the number of its transaction in the row, a delete one row less.
		parts = append(parts, fmt.Sprintf(`SELECT '%s' AS name, count(*) || ' rows, ' || COALESCE(max(xmin::text::bigint), 0) AS print FROM %[1]s`, table))
	}
	must(f, rows.Err())
	s.prints = strings.Join(parts, " UNION ALL ")

	list, err := s.store.PriceList(f.Context(), s.outlet.ID)
	must(f, err)
	for _, item := range list.Items {
		s.words = append(s.words, "{"+item.Slug+"}", fmt.Sprint(item.ID))
		for _, g := range item.Groups {
			for _, o := range g.Options {
				s.words = append(s.words, "{"+item.Slug+"/"+o.Name+"}", fmt.Sprint(o.ID))
			}
		}
	}
	return s
}

// begin turns to the next input: failures are its own from now on.
func (s *fuzzed) begin(t *testing.T) {
	s.t = t
	s.inputs++
	s.log.mu.Lock()
	s.log.text.Reset()
	s.log.mu.Unlock()
}

// fill puts what only this process knows, ids and keys, in the places of {words}.
func (s *fuzzed) fill(text string, words ...string) string {
	return strings.NewReplacer(append(words, s.words...)...).Replace(text)
}

// print is the state of every table.
func (s *fuzzed) print() map[string]string {
	s.t.Helper()
	rows, err := s.store.SQL().QueryContext(s.t.Context(), s.prints)
	must(s.t, err)
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var table, print string
		must(s.t, rows.Scan(&table, &print))
		all[table] = print
	}
	must(s.t, rows.Err())
	return all
}

// wrote fails the test if anything was written since before, but to these tables.
func (s *fuzzed) wrote(before map[string]string, tables ...string) {
	s.t.Helper()
	after := s.print()
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if after[table] != before[table] && !slices.Contains(tables, table) {
			s.t.Errorf("%s was written: %s, then %s", table, before[table], after[table])
		}
	}
}

// visitTables are those a visit may write to whatever it asks: it opens a session, and a used checkout key is taken from it.
var visitTables = []string{"sessions", "customers"}

// afterwards checks the books: after each seed, and now and then in a long run, since looking through them takes longer than an input.
func (s *fuzzed) afterwards() {
	s.t.Helper()
	if s.inputs < 100 || s.inputs%50 == 0 {
		s.books()
	}
}

// shot is one request as it is sent: nothing of it is kept or made up.
type shot struct {
	path, kind, body string
	header           map[string]string
	session          string // the guest cookie; empty: none
}

func (s *fuzzed) fire(in shot) (status int, location, body string) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, in.path, strings.NewReader(in.body))
	r.Header.Set("Content-Type", in.kind)
	for name, value := range in.header {
		r.Header.Set(name, value)
	}
	if in.session != "" {
		r.AddCookie(&http.Cookie{Name: guestCookie, Value: in.session})
	}
	response, err := s.app.Fiber().Test(r, -1)
	must(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(s.t, err)
	if response.StatusCode >= 500 {
		s.t.Errorf("status %d for %q\n%s\n%s", response.StatusCode, in.body, s.log, shorten(string(text)))
	}
	if to := response.Header.Get("HX-Redirect"); to != "" { // how htmx is sent on
		return 303, to, string(text)
	}
	return response.StatusCode, response.Header.Get("Location"), string(text)
}

// Bits of a form's flags: how it is sent. A stranger's or stale one must not count.
const (
	fromScript = 1 << iota
	withoutToken
	fromElsewhere
	repeated // the field is added to those of its name, and does not take their place
	ofAnother
)

// formShot is a form of the session's, with one more field in it, or with one of its fields changed.
func (s *fuzzed) formShot(path, session, body, field, value string, flags byte) (shot, url.Values) {
	values, err := url.ParseQuery(body)
	if err == nil && field != "" {
		if flags&repeated == 0 {
			values.Del(field)
		}
		values.Add(field, value)
		body = values.Encode()
	}
	in := shot{path: path, kind: fiber.MIMEApplicationForm, body: body, session: session, header: map[string]string{"Sec-Fetch-Site": "same-origin"}}
	if flags&fromScript != 0 {
		in.header["HX-Request"] = "true"
	}
	if flags&withoutToken == 0 {
		in.header["X-CSRF-Token"] = csrfToken(session)
	}
	if flags&fromElsewhere != 0 {
		in.header["Sec-Fetch-Site"] = "cross-site"
	}
	return in, values
}

// mayPass says whether a form may have any effect at all: its token is there, and it has only fields that our pages send.
func mayPass(values url.Values, session string, flags byte, fields []field) bool {
	if flags&fromElsewhere != 0 || flags&withoutToken != 0 && values.Get(csrfField) != csrfToken(session) {
		return false
	}
	for name, sent := range values {
		known, ok := fieldNamed(append(slices.Clone(fields), field{name: csrfField}), name)
		if !ok || len(sent) > 1 && !known.many {
			return false
		}
	}
	return true
}

// readSeed is one of the gateway's sample bodies.
func readSeed(f *testing.F, name string) string {
	f.Helper()
	text, err := os.ReadFile(filepath.Join("../razorpay/testdata", name))
	must(f, err)
	return string(text)
}

// C018 to C023, C073: a signed body of any bytes is taken once, kept as it came and worked through; it moves no money but what the
// gateway itself confirms. Without the signature nothing is stored.
func FuzzWebhook(f *testing.F) {
	s := openFuzzed(f)
	b := s.visitor()
	b.put("dal-makhani", 2)
	paid := b.place()
	captured := s.pay(paid, standin.PayParams{})
	other := s.visitor()
	other.put("dal-makhani", 3)
	waiting := other.place()
	s.pay(waiting, standin.PayParams{Outcome: standin.FailNow})
	failed := s.gateway.Events()[len(s.gateway.Events())-1].PaymentID
	third := s.visitor()
	third.put("dal-makhani", 4)
	refunded := s.pay(third.place(), standin.PayParams{})
	refund, err := s.gateway.RefundOutside(refunded.Get("razorpay_payment_id"), 100)
	must(f, err)
	known := map[string]string{"order_FuzzPaid000001": captured.Get("razorpay_order_id"), "pay_FuzzPaid00000001": captured.Get("razorpay_payment_id"),
		"order_FuzzWait000001": s.gatewayOrder(waiting), "pay_FuzzFailed000001": failed,
		"pay_FuzzRefund000001": refunded.Get("razorpay_payment_id"), "rfnd_FuzzRefund00001": refund.ID}
	var words []string
	for word, id := range known {
		words = append(words, word, id)
	}

	seeds, err := filepath.Glob("../razorpay/testdata/*webhook_*.json")
	must(f, err)
	for _, file := range seeds {
		f.Add(readSeed(f, filepath.Base(file)), "evt_"+filepath.Base(file), true)
	}
	about := strings.NewReplacer("pay_TESTRAW0000001", "pay_FuzzPaid00000001", "order_TESTRAW000001", "order_FuzzPaid000001")
	for n, body := range []string{
		vectorBody, about.Replace(vectorBody), strings.Replace(about.Replace(vectorBody), "24900", "1", 1),
		strings.Replace(about.Replace(vectorBody), "order_FuzzPaid000001", "order_FuzzWait000001", 1),
		strings.Replace(vectorBody, "pay_TESTRAW0000001", "pay_FuzzFailed000001", 1),
		strings.Replace(about.Replace(vectorBody), `"notes":[]`, `"notes":{"a":"\u0000"}`, 1), strings.Replace(vectorBody, `"order_id":"order_TESTRAW000001"`, `"order_id":null`, 1),
		`{"event":"refund.processed","payload":{"refund":{"entity":{"id":"rfnd_FuzzRefund00001","entity":"refund","amount":100,"currency":"INR","payment_id":"pay_FuzzRefund000001","status":"processed"}}}}`,
		`{"event":"payment.dispute.created","payload":{"payment":{"entity":{"id":"pay_FuzzPaid00000001"}},"dispute":{"entity":{"id":"disp_FuzzDispute0001","payment_id":"pay_FuzzPaid00000001","amount":1,"status":"open","respond_by":1}}}}`,
		`{"event":"payment.captured\u0000"}`, `{"event":1}`, `[]`, `null`, `not JSON`, "\x00\xff", "", "{}",
	} {
		f.Add(body, fmt.Sprintf("evt_%d", n), true)
	}
	f.Add(vectorBody, "", true)
	f.Add(vectorBody, "evt_0", false)
	f.Add(vectorBody, strings.Repeat("e", 101), true)
	f.Add(vectorBody, "\xff", true)

	f.Fuzz(func(t *testing.T, body, eventID string, signed bool) {
		s.begin(t)
		if s.inputs%500 == 0 { // what was told stays out of the way of what is told next
			s.exec(`TRUNCATE webhook_events, river_job, staff_tasks`)
		}
		body = s.fill(body, words...)
		eventID = strings.Map(func(r rune) rune { // what no header can hold
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, eventID)
		signature := razorpay.SignWebhook(webhookSecret, []byte(body))
		if !signed {
			signature = razorpay.SignWebhook(keySecret, []byte(body))
		}
		before := s.print()
		status, location, said := s.fire(shot{path: "/webhooks/razorpay", kind: "application/json", body: body,
			header: map[string]string{"X-Razorpay-Signature": signature, "X-Razorpay-Event-Id": eventID}})
		if want := map[bool]int{true: 200, false: 400}[signed && body != ""]; status != want || location != "" {
			t.Fatalf("status %d %s, want %d: %s", status, location, want, said)
		}
		if said != "ok" { // refused, or a repeat
			s.wrote(before)
			return
		}
		s.wrote(before, "webhook_events", "river_job", "staff_tasks") // a task if the id came before with other contents
		id := s.count(`SELECT max(id) FROM webhook_events`)
		if kept := s.text(`SELECT body FROM webhook_events WHERE id = $1`, id); kept != body {
			t.Fatalf("kept as %q", kept)
		}
		before = s.print()
		must(t, s.cashier.ProcessEvent(t.Context(), id))
		if left := s.text(`SELECT status FROM webhook_events WHERE id = $1`, id); left != "processed" && left != "ignored" {
			t.Errorf("left %s", left)
		}
		ours := slices.ContainsFunc(slices.Collect(maps.Values(known)), func(id string) bool { return strings.Contains(body, id) })
		if !ours && !strings.Contains(body, `\u`) { // an id may be written in escapes
			s.wrote(before, "webhook_events")
		}
		s.asTheGatewaySays()
		if got := s.order(waiting); got.Status != "pending" {
			t.Errorf("the order nobody paid is %s", got.Status)
		}
		s.afterwards()
	})
}

// asTheGatewaySays fails the test on a payment of ours that the gateway knows nothing of, or otherwise.
func (s *fuzzed) asTheGatewaySays() {
	s.t.Helper()
	rows, err := s.store.SQL().QueryContext(s.t.Context(), `SELECT razorpay_payment_id, razorpay_order_id, amount_paise, currency, gw_status FROM payments`)
	must(s.t, err)
	defer rows.Close()
	said := map[string]bool{}
	for _, p := range s.gateway.Books().Payments {
		said[fmt.Sprint(p.ID, p.OrderID, p.AmountPaise, p.Currency, p.Status)] = true
	}
	for rows.Next() {
		var id, order, currency, status string
		var amount int64
		must(s.t, rows.Scan(&id, &order, &amount, &currency, &status))
		if !said[fmt.Sprint(id, order, amount, currency, status)] {
			s.t.Errorf("payment %s on %s over %d %s is %s, says nobody but us", id, order, amount, currency, status)
		}
	}
	must(s.t, rows.Err())
}

// slips are two orders that a browser may talk about: x is paid at the gateway and nobody has told us, y is not paid at all.
type slips struct {
	*fuzzed
	x, y  models.Order
	known []string // {words} for both
	signs []string // the genuine signatures
}

// renew takes a new x now and then, for the first word about it is the one that moves money.
func (s *slips) renew() {
	if s.inputs%64 != 1 {
		return
	}
	var orders, tokens [2]string
	for i := range orders {
		b := s.visitor()
		b.put("dal-makhani", 2)
		tokens[i] = b.place()
		orders[i] = s.gatewayOrder(tokens[i])
	}
	s.x, s.y = s.order(tokens[0]), s.order(tokens[1])
	paid := s.pay(tokens[0], standin.PayParams{})
	const unknown = "pay_FuzzUnknown00001"
	s.signs = []string{paid.Get("razorpay_signature"), razorpay.SignCheckout(keySecret, orders[0], unknown)}
	s.known = []string{"{x}", orders[0], "{y}", orders[1], "{pay}", paid.Get("razorpay_payment_id"), "{sign}", s.signs[0], "{sign unknown}", s.signs[1],
		"{token x}", tokens[0], "{token y}", tokens[1]}
}

// tell sends a report and holds what is true of every one: without a genuine signature nothing is written, with one only x can be paid,
// and y never.
func (s *slips) tell(in shot) {
	s.t.Helper()
	before := s.print()
	status, _, said := s.fire(in)
	genuine := slices.ContainsFunc(s.signs, func(sign string) bool { return strings.Contains(in.body, sign) })
	if status >= 400 || !genuine {
		s.wrote(before)
	}
	x := s.order(s.x.Token)
	if x.AmountPaise != s.x.AmountPaise || x.Status != "pending" && x.Status != "paid" || strings.Contains(said, `"status":"paid"`) && x.Status != "paid" {
		s.t.Errorf("%d: the paid order is %s: %s", status, x.Status, said)
	}
	if y := s.order(s.y.Token); y.Status != "pending" || s.count(`SELECT count(*) FROM payments WHERE order_id = $1`, y.ID) != 0 {
		s.t.Errorf("%d: the other order is %s: %s", status, y.Status, said)
	}
	s.asTheGatewaySays()
	s.afterwards()
}

// C055, C073: what the page's script reports.
func FuzzVerify(f *testing.F) {
	s := &slips{fuzzed: openFuzzed(f)}
	const slip = `{"razorpay_order_id":"{x}","razorpay_payment_id":"{pay}","razorpay_signature":"{sign}"}`
	for _, body := range []string{
		slip, readSeed(f, "checkout_success.json"), readSeed(f, "checkout_payment_failed.json"),
		strings.Replace(slip, "{x}", "{y}", 1), strings.Replace(slip, "{x}", "order_FuzzUnknown0001", 1), strings.Replace(slip, "{pay}", "pay_FuzzUnknown00001", 1),
		`{"razorpay_order_id":"{x}","razorpay_payment_id":"pay_FuzzUnknown00001","razorpay_signature":"{sign unknown}"}`,
		strings.TrimSuffix(slip, "}") + `,"razorpay_order_id":"{y}"}`, strings.TrimSuffix(slip, "}") + `,"amount":1,"status":"paid","price":1}`,
		strings.Replace(slip, `"{pay}"`, `["{pay}"]`, 1), strings.Replace(slip, "{sign}", `{sign}\u0000`, 1), strings.ToUpper(slip),
		"", "{}", "[]", "null", "{", slip + slip, "\x00", `{"razorpay_order_id":null}`,
	} {
		for _, order := range []string{"", "{token x}", "{token y}"} {
			f.Add(body, order, "application/json")
		}
	}
	f.Add(slip, "nobody's", "application/json; charset=utf-8")
	f.Add(slip, "A%00B", "application/jsonx")
	f.Add(slip, "{token x}", "text/plain")
	f.Fuzz(func(t *testing.T, body, order, kind string) {
		s.begin(t)
		s.renew()
		path := "/payments/verify"
		if order != "" {
			path += "?order=" + url.QueryEscape(s.fill(order, s.known...))
		}
		s.tell(shot{path: path, kind: kind, body: s.fill(body, s.known...), header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
	})
}

// C016, C055, C062, C073: what Razorpay's page posts through the browser, across sites and without a cookie.
func FuzzCallback(f *testing.F) {
	s := &slips{fuzzed: openFuzzed(f)}
	const slip = "razorpay_order_id={x}&razorpay_payment_id={pay}&razorpay_signature={sign}"
	for _, body := range []string{
		slip, strings.TrimSpace(readSeed(f, "callback_success.form.txt")), strings.TrimSpace(readSeed(f, "callback_failure.form.txt")),
		"error[code]=BAD_REQUEST_ERROR&error[description]=Payment+failed&error[metadata]=%7B%22payment_id%22%3A%22pay_X%22%2C%22order_id%22%3A%22order_X%22%7D",
		"razorpay_payment_id=pay_X", "", strings.Replace(slip, "{x}", "{y}", 1), strings.Replace(slip, "{pay}", "pay_FuzzUnknown00001", 1),
		"razorpay_order_id={x}&razorpay_payment_id=pay_FuzzUnknown00001&razorpay_signature={sign unknown}", slip + "&razorpay_order_id={y}",
		slip + "&error[code]=x", "razorpay_order_id=%00&razorpay_payment_id=%F9%28&razorpay_signature=%", strings.ReplaceAll(slip, "_", "%5F"),
	} {
		for _, order := range []string{"", "{token x}", "{token y}"} {
			f.Add(body, "", "", order, byte(0))
		}
	}
	f.Add(slip, "price", "1", "{token x}", byte(0))
	f.Add(slip, "razorpay_signature", "\x00", "{token x}", byte(repeated))
	f.Add(slip, "razorpay_order_id", "{y}", "", byte(0))
	f.Fuzz(func(t *testing.T, body, field, value, order string, flags byte) {
		s.begin(t)
		s.renew()
		path := "/payments/verify"
		if order != "" {
			path += "?order=" + url.QueryEscape(s.fill(order, s.known...))
		}
		in, values := s.formShot(path, "", s.fill(body, s.known...), field, s.fill(value, s.known...), flags)
		in.header = map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://api.razorpay.com"}
		s.tell(in)
		said := triple(s.known[1], s.known[5]) // the whole truth about x
		if whole := maps.EqualFunc(values, said, slices.Equal); whole && (order == "" || order == "{token x}") && s.order(s.x.Token).Status != "paid" {
			t.Error("a whole slip has not paid its order")
		}
	})
}

// C035, C036, C037, C058, C073: whatever a cart is asked, it changes one line or none, holds what can be bought at the menu's prices, and
// is never longer than a cart may be.
func FuzzCart(f *testing.F) {
	s := openFuzzed(f)
	short, full := s.visitor(), s.visitor()
	short.put("dal-makhani", 2)
	s.fillUp(full)
	for _, body := range []string{
		"item={dal-makhani}&set=3", "item={dal-makhani}&set=0", "item={dal-makhani}&qty=20&seq=1767950000000&set=1", "item={naan}&set=1&from=cart",
		"item={dal-makhani}&set=1&from=checkout&way=delivery&pin=560038", "item={naan}&add=2&note=less+salt",
		"item={thali}&add=1&option.1={thali/Sweet lassi}&option={thali/Extra ghee}&option={thali/Pickle}", "item={thali}&add=1&option={thali/Sweet lassi}&option={thali/Masala chai}",
		"item={thali}&add=1", "item={thali}&add=20&option={thali/Mango lassi}", "item={thali}&add=1&option={thali/Sweet lassi}&option={thali/Pickle}&option={thali/Pickle}",
		"item={butter-chicken}&add=1&option={butter-chicken/Half}&option={butter-chicken/Mild}", "item={butter-chicken}&add=1&option={thali/Pickle}", "item={masala-dosa}&add=1&option=999999",
		"item={rogan-josh}&add=1", "item=0&set=1", "item=-1&set=1", "item=abc&set=1", "item=9999999999999999999&set=1", "item=9223372036854775807&set=1", "item={naan}&set=21", "item={naan}&add=-1",
		"item={naan}&set=1&qty=2&seq=9999999999999999", "item={naan}&add=1&note=A%00B", "item={naan}&add=1&note=%F9%28", "item={naan}&item={roti}&set=1", "", "%", "item={naan}",
	} {
		f.Add(body, "", "", byte(0))
		f.Add(body, "", "", byte(fromScript|ofAnother))
	}
	for _, extra := range []string{"price", "total", "discount", "delivery_fee", "tip", "tax", "status", "is_staff", "unit_price_paise", "seen_paise"} {
		f.Add("item={naan}&add=1", extra, "1", byte(0))
	}
	f.Add("item={naan}&add=1", "", "", byte(withoutToken))
	f.Add("item={naan}&add=1", "", "", byte(fromElsewhere))
	f.Add("item={naan}&add=1", "note", strings.Repeat("x", 201), byte(0))
	f.Fuzz(func(t *testing.T, body, name, value string, flags byte) {
		s.begin(t)
		b := short
		if flags&ofAnother != 0 {
			b = full
		}
		if s.inputs%200 == 0 {
			must(t, s.store.EmptyCart(t.Context(), short.cart().ID))
		}
		old := b.cart()
		in, values := s.formShot("/cart", b.cookies[guestCookie], s.fill(body), name, s.fill(value), flags)
		fields := stepperFields
		if values.Has("add") {
			fields = dishFields
		}
		before := s.print()
		status, _, said := s.fire(in)
		if status >= 400 {
			s.wrote(before, visitTables...)
			return
		}
		if !mayPass(values, in.session, flags, fields) {
			t.Errorf("%d: %s", status, said)
		}
		s.wrote(before, append([]string{"carts", "cart_lines", "cart_line_removals"}, visitTables...)...)
		s.oneLineChanged(old, b.cart())
		s.afterwards()
	})
}

// fillUp puts as many lines into the visitor's cart as a cart may have.
func (s *fuzzed) fillUp(b *visitor) {
	b.put("dal-makhani", 1)
	cart := b.cart()
	list, err := s.store.PriceList(s.t.Context(), s.outlet.ID)
	must(s.t, err)
	add := func(itemID int64, options ...int64) {
		if len(cart.Lines) >= models.MaxLines {
			return
		}
		_, err := s.store.AddToCart(s.t.Context(), cart.ID, itemID, options, 1, "")
		if err != nil && !models.IsCustomerProblem(err) {
			s.t.Fatal(err)
		}
		cart = b.cart()
	}
	for _, id := range slices.Sorted(maps.Keys(list.Items)) {
		add(id)
	}
	for _, slug := range []string{"butter-chicken", "paneer-butter-masala"} {
		item := s.item(slug)
		for _, size := range item.Groups[0].Options {
			for _, spice := range item.Groups[1].Options {
				add(item.ID, size.ID, spice.ID)
			}
		}
	}
	if len(cart.Lines) != models.MaxLines {
		s.t.Fatalf("%d lines are all there are", len(cart.Lines))
	}
}

// oneLineChanged compares a cart before and after one form.
func (s *fuzzed) oneLineChanged(old, now models.Cart) {
	s.t.Helper()
	if len(now.Lines) > models.MaxLines || now.ID != old.ID {
		s.t.Errorf("cart %d has %d lines", now.ID, len(now.Lines))
	}
	lines := func(c models.Cart) map[string]bool {
		all := map[string]bool{}
		for _, l := range c.Lines {
			all[fmt.Sprint(l.ItemID, l.OptionIDs, l.Qty, l.Note)] = true
		}
		return all
	}
	was, is := lines(old), lines(now)
	came, went := 0, 0
	for line := range is {
		if !was[line] {
			came++
		}
	}
	for line := range was {
		if !is[line] {
			went++
		}
	}
	if came > 1 || went > 1 {
		s.t.Errorf("%d lines came, %d went", came, went)
	}
	list, err := s.store.PriceListFor(s.t.Context(), now)
	must(s.t, err)
	quote, err := models.PriceCart(list, now, models.Destination{Way: "pickup", Served: true})
	if err != nil && !models.IsCustomerProblem(err) {
		s.t.Fatal(err)
	}
	for i, l := range now.Lines {
		if price := quote.Lines[i]; l.Qty < 1 || l.Qty > models.MaxLineQty || price.ItemID != l.ItemID || l.SeenPaise != price.UnitPricePaise+price.OptionsPricePaise {
			s.t.Errorf("line %+v, priced %+v", l, price)
		}
	}
}

// C030, C034, C055, C058, C073: what checkout places is the cart at the menu's prices, once, with the words that were typed; or nothing.
func FuzzCheckout(f *testing.F) {
	s := openFuzzed(f)
	b := s.visitor()
	b.put("dal-makhani", 2)
	_, err := s.store.AddToCart(f.Context(), b.cart().ID, s.item("thali").ID, []int64{s.item("thali").Groups[0].Options[2].ID, s.item("thali").Groups[1].Options[0].ID}, 1, "")
	must(f, err)
	const keys = "checkout_key={key}&review={review}&"
	form := keys + customer.Encode()
	for _, body := range []string{
		form, strings.Replace(form, "way=delivery", "way=pickup", 1), keys + "phone=9845012345&name=A&way=pickup", keys + "phone=9845012345&name=A&way=delivery&line1=1&line2=2&pin=560+001",
		keys + "phone=9845012345&name=A&way=delivery&line1=1&line2=2&pin=110001", "checkout_key=6f1c2d3e-0000-4000-8000-000000000000&review={review}&" + customer.Encode(),
		"checkout_key={key}&review=" + strings.Repeat("0", 64) + "&" + customer.Encode(), customer.Encode(), keys, "", "%", form + "&name=B",
	} {
		f.Add(body, "", "", byte(0))
		f.Add(body, "", "", byte(fromScript))
	}
	for _, extra := range []string{"price", "total", "discount", "delivery_fee", "tip", "tax", "status", "is_staff", "amount_paise", "cart_id", "customer_id"} {
		f.Add(form, extra, "1", byte(0))
	}
	for name, value := range map[string]string{"name": "A\x00B", "note": "\xf9(", "phone": "12345", "email": "a@b", "pin": "060038", "line1": strings.Repeat("x", 121), "directions": "\u202e",
		"way": "teleport", "checkout_key": "{KEY}", "review": "", "line2": "<b>\r\n"} {
		f.Add(form, name, value, byte(0))
	}
	f.Add(form, "note", "line\r\nline", byte(0))
	f.Add(form, "", "", byte(withoutToken))
	f.Add(form, "", "", byte(fromElsewhere))
	f.Fuzz(func(t *testing.T, body, name, value string, flags byte) {
		s.begin(t)
		session := b.session()
		key, err := s.store.EnsureCheckoutKey(t.Context(), session.ID)
		must(t, err)
		// What the page would have shown for the way and place that the form says.
		said, _ := url.ParseQuery(body)
		if name != "" {
			said.Set(name, value)
		}
		pin, _ := normalPIN(said.Get("pin"))
		review, err := s.cashier.Review(t.Context(), session, offeredWay(s.outlet, said.Get("way")), pin, "", nil)
		must(t, err)
		words := []string{"{key}", key, "{KEY}", strings.ToUpper(key), "{review}", review.Quote.Digest()}
		in, values := s.formShot("/checkout", b.cookies[guestCookie], s.fill(body, words...), name, s.fill(value, words...), flags)
		before := s.print()
		orders := s.count(`SELECT count(*) FROM orders`)
		status, location, text := s.fire(in)
		if status != 303 {
			if status < 400 {
				t.Errorf("%d: %s", status, text)
			}
			s.wrote(before, visitTables...)
			return
		}
		if !mayPass(values, in.session, flags, checkoutFields) || values.Get("checkout_key") == "" {
			t.Errorf("placed %s", location)
		}
		s.wrote(before, "orders", "order_items", "order_item_options", "order_taxes", "order_counters", "kitchen_slots", "stock", "stock_holds", "stock_movements", "order_times", "order_time_holds",
			"gateway_claims", "gateway_orders", "status_changes", "audit", "carts", "sessions")
		token, found := strings.CutPrefix(location, "/pay/")
		if made := s.count(`SELECT count(*) FROM orders`) - orders; !found || made < 0 || made > 1 {
			t.Fatalf("leads to %s, and %d orders more", location, made)
		}
		s.isPlaced(s.order(token), review, values)
		s.afterwards()
	})
}

// isPlaced compares an order with the bill that was shown and the form that was sent.
func (s *fuzzed) isPlaced(o models.Order, shown payments.Review, sent url.Values) {
	s.t.Helper()
	q := shown.Quote
	got := fmt.Sprint(o.Status, o.AmountPaise, o.SubtotalPaise, o.PackagingPaise, o.DeliveryPaise, o.CGSTPaise, o.SGSTPaise, o.DiscountPaise, o.TipPaise, o.RoundOffPaise, len(o.Items))
	want := fmt.Sprint("pending", q.AmountPaise, q.SubtotalPaise, q.PackagingPaise, q.DeliveryPaise, q.CGSTPaise, q.SGSTPaise, 0, 0, q.RoundOffPaise, len(q.Lines))
	if got != want || q.AmountPaise < 40000 {
		s.t.Errorf("placed as %s, shown as %s", got, want)
	}
	for i, item := range o.Items {
		if line := q.Lines[i]; item.ItemID != line.ItemID || item.Qty != line.Qty || item.LineTotalPaise != line.LineTotalPaise || len(item.Options) != len(line.Options) {
			s.t.Errorf("item %+v, shown as %+v", item, line)
		}
	}
	if o.Name != strings.TrimSpace(sent.Get("name")) || o.Note != strings.ReplaceAll(sent.Get("note"), "\r\n", "\n") || o.Way != sent.Get("way") ||
		o.Way == "delivery" && (o.Line1 != strings.TrimSpace(sent.Get("line1")) || o.Directions != strings.TrimSpace(sent.Get("directions"))) {
		s.t.Errorf("placed for %q, %q, %q, of %q", o.Name, o.Note, o.Line1, sent.Encode())
	}
	if made := s.count(`SELECT count(*) FROM gateway_orders WHERE order_id = $1 AND state = 'current' AND amount_paise = $2`, o.ID, int64(o.AmountPaise)); made != 1 {
		s.t.Errorf("%d gateway orders", made)
	}
	if o.AmountPaise != sumOf(o) {
		s.t.Errorf("the items of %d paise sum up to %d", o.AmountPaise, sumOf(o))
	}
}

func sumOf(o models.Order) (sum models.Paise) {
	for _, item := range o.Items {
		sum += item.LineTotalPaise
	}
	return sum + o.PackagingPaise + o.DeliveryPaise + o.CGSTPaise + o.SGSTPaise + o.RoundOffPaise
}
