package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/html"

	"tiffin/devdb"
	"tiffin/live"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// shop is one test's whole shop behind its HTTP door: the demo restaurant on a fresh database, and the stand-in over HTTP. Nothing runs by
// itself: webhooks are delivered and jobs are done when the test says so.
type shop struct {
	t       testing.TB
	store   *models.Store
	gateway *standin.Server
	cashier *payments.Cashier
	hub     *live.Hub
	app     *App
	outlet  models.Outlet
	log     *logBook
	offset  time.Duration // of the shop's clock
}

const (
	webhookSecret = "test_webhook_secret_0001"
	keySecret     = "test_key_secret_0001"
	publicURL     = "http://shop.test"
)

var payHosts = []string{"https://checkout.razorpay.com", "https://api.razorpay.com"}

func openShop(t testing.TB) *shop { return openShopWith(t, Config{PublicURL: publicURL}) }

func openShopWith(t testing.TB, cfg Config) *shop {
	t.Helper()
	return openShopAt(t, devdb.URL(t), cfg)
}

// openShopAt is openShopWith on a database that is there.
func openShopAt(t testing.TB, database string, cfg Config) *shop {
	t.Helper()
	store, err := models.Open(t.Context(), database, 12)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = store.LoadDemo(t.Context())
	must(t, err)
	outlets, err := store.ListOutlets(t.Context())
	must(t, err)
	gateway := standin.New(standin.Options{KeySecret: keySecret, Now: atNoon})
	gatewayURL, err := gateway.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, gateway.Close()) })

	s := &shop{t: t, store: store, gateway: gateway, outlet: outlets[0], log: &logBook{}, hub: live.New(store.Pool(), models.NotifyChannel)}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client := razorpay.New(razorpay.Config{KeyID: gateway.KeyID(), KeySecret: keySecret, APIURL: gatewayURL, Timeout: 5 * time.Second})
	s.cashier = payments.New(store, client, payments.Settings{KeyID: gateway.KeyID(), KeySecret: keySecret, WebhookSecret: webhookSecret, RefundSpeed: "normal"}, log)
	cfg.KeyID, cfg.TestMode, cfg.CSPHosts = gateway.KeyID(), true, payHosts
	cfg.CheckoutURL, cfg.HostedURL = payHosts[0]+"/v1/checkout.js", payHosts[1]+"/v1/checkout/embedded"
	s.app = New(cfg, Deps{Store: store, Cashier: s.cashier, Hub: s.hub, Log: log, Now: atNoon, Registry: prometheus.NewRegistry()})
	t.Cleanup(s.app.Close)
	s.setClock(toNoon)
	return s
}

// logBook keeps what was logged.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) exec(text string, args ...any) {
	s.t.Helper()
	_, err := s.store.SQL().ExecContext(s.t.Context(), text, args...)
	must(s.t, err)
}

// count reads one number.
func (s *shop) count(text string, args ...any) (n int64) {
	s.t.Helper()
	must(s.t, s.store.SQL().QueryRowContext(s.t.Context(), text, args...).Scan(&n))
	return n
}

func (s *shop) text(text string, args ...any) (v string) {
	s.t.Helper()
	must(s.t, s.store.SQL().QueryRowContext(s.t.Context(), text, args...).Scan(&v))
	return v
}

func (s *shop) item(slug string) models.Item {
	s.t.Helper()
	item, _, err := s.store.FindItemBySlug(s.t.Context(), s.outlet.ID, slug)
	must(s.t, err)
	return item
}

// option is the id of a dish's choice by its name.
func (s *shop) option(slug, name string) string {
	s.t.Helper()
	for _, g := range s.item(slug).Groups {
		for _, o := range g.Options {
			if o.Name == name {
				return fmt.Sprint(o.ID)
			}
		}
	}
	s.t.Fatalf("%s has no choice %q", slug, name)
	return ""
}

// toNoon is how far noon in India is from now. Shops of these tests begin there, whenever the test runs: no service window ends in the middle of it.
var toNoon = func() time.Duration {
	now := time.Now().In(models.India)
	return time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, models.India).Sub(now).Truncate(time.Second)
}()

func atNoon() time.Time { return time.Now().Add(toNoon) }

// advance moves the shop's clock and the gateway's.
func (s *shop) advance(d time.Duration) {
	s.t.Helper()
	s.setClock(s.offset + d)
	s.gateway.Advance(d)
}

// setClock says how far the shop's clock is from the computer's.
func (s *shop) setClock(offset time.Duration) {
	s.t.Helper()
	s.offset = offset
	s.exec(shopClock(offset))
	s.app.now = func() time.Time { return time.Now().Add(offset) }
}

// shopClock is the SQL that sets a database's clock so far from the computer's.
func shopClock(offset time.Duration) string {
	return fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '%d milliseconds' $$`, offset.Milliseconds())
}

// secondOutlet opens another kitchen with one dish, a copy of the first's tariff, and returns it and the dish's id.
func (s *shop) secondOutlet() (slug string, itemID int64) {
	s.t.Helper()
	id := s.count(`INSERT INTO outlets (slug, name, tagline, legal_name, address, pin, phone, email, tax_mode)
		VALUES ('dosa-corner', 'Dosa Corner', 'Crisp', 'Dosa Corner LLP', '1 MG Road, Bengaluru', '560001', '+918012345679', '', 'unregistered') RETURNING id`)
	s.exec(`INSERT INTO outlet_hours (outlet_id, weekday, opens_minute, closes_minute) SELECT $1, day, 240, 1680 FROM generate_series(0, 6) day`, id)
	category := s.count(`INSERT INTO categories (outlet_id, slug, name, tint, position) VALUES ($1, 'dosas', 'Dosas', 'south', 0) RETURNING id`, id)
	return "dosa-corner", s.count(`INSERT INTO items (outlet_id, category_id, slug, name, mark, price_paise, position)
		VALUES ($1, $2, 'plain-dosa', 'Plain Dosa', 'veg', 9000, 0) RETURNING id`, id, category)
}

// visitor is one visitor's: it keeps cookies as a browser would and sends only what it is told.
type visitor struct {
	*shop
	mu      sync.Mutex
	cookies map[string]string
}

func (s *shop) visitor() *visitor { return &visitor{shop: s, cookies: map[string]string{}} }

// ask is one request.
type ask struct {
	method string // GET, or POST where there is a form or a body
	path   string
	form   url.Values
	body   string
	kind   string // content type of body
	header map[string]string
	bare   bool // without cookies, and none are kept
}

// reply is what came back.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	page   *html.Node
}

func (b *visitor) send(in ask) reply {
	b.t.Helper()
	body, kind := in.body, in.kind
	if in.form != nil {
		body, kind = in.form.Encode(), fiber.MIMEApplicationForm
	}
	if in.method == "" {
		in.method = http.MethodGet
		if in.form != nil || in.body != "" {
			in.method = http.MethodPost
		}
	}
	r := httptest.NewRequest(in.method, "http://shop.test/", strings.NewReader(body))
	u, err := url.ParseRequestURI(in.path)
	if err != nil { // bytes that net/url refuses, as an attacker sends them
		u = &url.URL{Scheme: "http", Host: "shop.test", Opaque: in.path}
	}
	r.URL, r.RequestURI = u, in.path
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for name, value := range in.header {
		r.Header.Set(name, value)
	}
	if !in.bare {
		b.mu.Lock()
		for name, value := range b.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		b.mu.Unlock()
	}
	response, err := b.app.Fiber().Test(r, -1)
	must(b.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(b.t, err)
	if !in.bare {
		b.mu.Lock()
		for _, cookie := range response.Cookies() {
			if cookie.MaxAge < 0 {
				delete(b.cookies, cookie.Name)
			} else {
				b.cookies[cookie.Name] = cookie.Value
			}
		}
		b.mu.Unlock()
	}
	page, err := html.Parse(bytes.NewReader(text))
	must(b.t, err)
	return reply{t: b.t, status: response.StatusCode, header: response.Header, body: string(text), page: page}
}

func (b *visitor) get(path string) reply { b.t.Helper(); return b.send(ask{path: path}) }

// post sends a form with this session's token in it.
func (b *visitor) post(path string, form url.Values) reply {
	b.t.Helper()
	return b.send(ask{path: path, form: b.signed(form)})
}

// tap sends a form as htmx does: the token in the header.
func (b *visitor) tap(path string, form url.Values) reply {
	b.t.Helper()
	return b.send(ask{path: path, form: form, header: b.htmx()})
}

func (b *visitor) htmx() map[string]string {
	return map[string]string{"HX-Request": "true", "X-CSRF-Token": csrfToken(b.cookies[guestCookie]), "Sec-Fetch-Site": "same-origin"}
}

func (b *visitor) signed(form url.Values) url.Values {
	sent := url.Values{csrfField: {csrfToken(b.cookies[guestCookie])}}
	for name, values := range form {
		sent[name] = values
	}
	return sent
}

// session is the row behind the browser's cookie.
func (b *visitor) session() models.Session {
	b.t.Helper()
	session, err := b.store.FindSession(b.t.Context(), b.cookies[guestCookie])
	must(b.t, err)
	return session
}

func (b *visitor) cart() models.Cart {
	b.t.Helper()
	cart, err := b.store.FindCart(b.t.Context(), b.session())
	must(b.t, err)
	return cart
}

// put sets the number of a dish without choices, as its stepper does.
func (b *visitor) put(slug string, qty int) {
	b.t.Helper()
	if b.cookies[guestCookie] == "" {
		b.get("/").is(200)
	}
	b.post("/cart", url.Values{"item": {fmt.Sprint(b.item(slug).ID)}, "set": {fmt.Sprint(qty)}}).is(303)
}

// customer is what a person types on the checkout page.
var customer = url.Values{"phone": {"98450 12345"}, "name": {"Ananya Rao"}, "email": {"ananya@example.in"}, "way": {"delivery"},
	"line1": {"Flat 302, Lake View"}, "line2": {"100 Feet Road"}, "pin": {"560038"}, "directions": {"Second gate"}, "note": {"Less spicy, please"}}

// review opens checkout for the customer's way and place and gives the form as it would be sent.
func (b *visitor) review(changes ...string) url.Values {
	b.t.Helper()
	typed := url.Values{}
	for name, values := range customer {
		typed[name] = values
	}
	for i := 0; i < len(changes); i += 2 {
		typed.Set(changes[i], changes[i+1])
	}
	update := b.send(ask{path: "/checkout?" + url.Values{"way": typed["way"], "pin": typed["pin"]}.Encode(), header: b.htmx()})
	update.is(200)
	for _, name := range []string{"checkout_key", "review"} {
		typed.Set(name, update.value(name))
	}
	return b.signed(typed)
}

// place presses Pay and returns the order's token.
func (b *visitor) place() string {
	b.t.Helper()
	pressed := b.send(ask{path: "/checkout", form: b.review()})
	pressed.is(303)
	token, found := strings.CutPrefix(pressed.header.Get("Location"), "/pay/")
	if !found {
		b.t.Fatalf("Pay leads to %s", pressed.header.Get("Location"))
	}
	return token
}

func (s *shop) order(token string) models.Order {
	s.t.Helper()
	o, err := s.store.FindOrderByToken(s.t.Context(), token)
	must(s.t, err)
	return o
}

// gatewayOrder is the Razorpay id an order is paid on.
func (s *shop) gatewayOrder(token string) string {
	s.t.Helper()
	return s.text(`SELECT razorpay_order_id FROM gateway_orders WHERE order_id = $1 AND state = 'current'`, s.order(token).ID)
}

// pay has the bank say yes and returns what Checkout hands to the browser.
func (s *shop) pay(token string, in standin.PayParams) url.Values {
	s.t.Helper()
	in.OrderID = s.gatewayOrder(token)
	paid, err := s.gateway.Pay(in)
	must(s.t, err)
	return triple(in.OrderID, paid.ID)
}

func triple(orderID, paymentID string) url.Values {
	return url.Values{"razorpay_order_id": {orderID}, "razorpay_payment_id": {paymentID},
		"razorpay_signature": {razorpay.SignCheckout(keySecret, orderID, paymentID)}}
}

// books fails the test on a broken promise of the schema.
func (s *shop) books() {
	s.t.Helper()
	broken, err := s.store.ListBroken(s.t.Context())
	must(s.t, err)
	for _, b := range broken {
		s.t.Errorf("broken: %+v", b)
	}
}

// listen runs the hub, for tests of streams.
func (s *shop) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.hub.Run(ctx) }()
	s.t.Cleanup(func() { cancel(); <-done })
}

// is fails the test unless the answer has this status.
func (a reply) is(status int) reply {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d\n%s", a.status, status, shorten(a.body))
	}
	return a
}

// leadsTo fails the test unless the answer sends the browser on, by GET, to this address.
func (a reply) leadsTo(address string) reply {
	a.t.Helper()
	a.is(303)
	if got := a.header.Get("Location"); got != address {
		a.t.Fatalf("leads to %q, want %q", got, address)
	}
	return a
}

func shorten(text string) string {
	if at := strings.Index(text, "<main"); at >= 0 {
		text = text[at:]
	}
	return text[:min(len(text), 1500)]
}

// all returns the elements with this data-testid, in page order.
func (a reply) all(testid string) (found []*html.Node) {
	for n := range a.page.Descendants() {
		if n.Type == html.ElementNode && attr(n, "data-testid") == testid {
			found = append(found, n)
		}
	}
	return found
}

// one returns the only element with this data-testid.
func (a reply) one(testid string) *html.Node {
	a.t.Helper()
	found := a.all(testid)
	if len(found) == 0 {
		a.t.Fatalf("no %s on the page\n%s", testid, shorten(a.body))
	}
	return found[0]
}

// shows fails the test unless the element is there and its words contain text.
func (a reply) shows(testid, text string) reply {
	a.t.Helper()
	if got := words(a.one(testid)); !strings.Contains(got, text) {
		a.t.Errorf("%s says %q, want %q in it", testid, got, text)
	}
	return a
}

func (a reply) lacks(testid string) reply {
	a.t.Helper()
	if n := len(a.all(testid)); n > 0 {
		a.t.Errorf("%d times %s on the page", n, testid)
	}
	return a
}

// value is what the page's field of this name holds.
func (a reply) value(name string) string {
	a.t.Helper()
	for n := range a.page.Descendants() {
		if n.Type != html.ElementNode || attr(n, "name") != name {
			continue
		}
		switch n.Data {
		case "textarea":
			return words(n)
		case "input":
			if kind := attr(n, "type"); (kind == "radio" || kind == "checkbox") && !has(n, "checked") {
				continue
			}
			return attr(n, "value")
		}
	}
	a.t.Fatalf("no field %s on the page\n%s", name, shorten(a.body))
	return ""
}

// fields is what a browser would send of a form, button aside.
func (a reply) fields(form *html.Node) url.Values {
	sent := url.Values{}
	for n := range a.page.Descendants() {
		if n.Type != html.ElementNode || attr(n, "name") == "" || has(n, "disabled") || n.Data == "button" {
			continue
		}
		if attr(n, "form") != "" && attr(n, "form") != attr(form, "id") || attr(n, "form") == "" && !isInside(n, form) {
			continue
		}
		switch kind := attr(n, "type"); {
		case n.Data == "textarea":
			sent.Add(attr(n, "name"), words(n))
		case n.Data != "input", (kind == "radio" || kind == "checkbox") && !has(n, "checked"):
		default:
			sent.Add(attr(n, "name"), attr(n, "value"))
		}
	}
	return sent
}

func isInside(n, outer *html.Node) bool {
	for a := range n.Ancestors() {
		if a == outer {
			return true
		}
	}
	return false
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// words is an element's text as it stands in the source.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
