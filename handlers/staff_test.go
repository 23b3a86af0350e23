package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tiffin/devdb"
	"tiffin/live"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// kitchen is a shop seen from its back door: the demo restaurant on a fresh database, the stand-in gateway, and the app listening on a
// port of its own, with streams from a hub that runs. Nothing runs by itself but these.
type kitchen struct {
	t       testing.TB
	store   *models.Store
	gateway *standin.Server
	cashier *payments.Cashier
	outlet  models.Outlet
	hub     *live.Hub
	app     *App
	base    string
}

const kitchenPassword = "correct horse battery"

// openKitchen opens it; change, when not nil, has the last word on what the app is given.
func openKitchen(t testing.TB, change func(*Deps)) *kitchen {
	t.Helper()
	store, err := models.Open(t.Context(), devdb.URL(t), 12)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = store.LoadDemo(t.Context())
	must(t, err)
	outlets, err := store.ListOutlets(t.Context())
	must(t, err)
	gateway := standin.New(standin.Options{Now: atNoon})
	gatewayURL, err := gateway.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, gateway.Close()) })
	quiet := slog.New(slog.DiscardHandler)
	client := razorpay.New(razorpay.Config{KeyID: gateway.KeyID(), KeySecret: gateway.KeySecret(), APIURL: gatewayURL, Timeout: 5 * time.Second})
	k := &kitchen{t: t, store: store, gateway: gateway, outlet: outlets[0],
		cashier: payments.New(store, client, payments.Settings{KeyID: gateway.KeyID(), KeySecret: gateway.KeySecret(),
			WebhookSecret: standin.DefaultWebhookSecret, RefundSpeed: "normal"}, quiet)}

	k.exec(shopClock(toNoon))

	hub := live.New(store.Pool(), models.NotifyChannel)
	k.hub = hub
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	listening := make(chan struct{})
	go func() { defer close(listening); hub.Run(ctx) }()
	t.Cleanup(func() { stop(); <-listening })

	deps := Deps{Store: store, Cashier: k.cashier, Hub: hub, Log: quiet, Now: atNoon}
	if change != nil {
		change(&deps)
	}
	k.app = New(Config{PublicURL: "http://127.0.0.1", KeyID: gateway.KeyID(), TestMode: true, CheckoutURL: gatewayURL + "/v1/checkout.js",
		HostedURL: gatewayURL + "/v1/checkout/embedded", CSPHosts: []string{gatewayURL}}, deps)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- k.app.Fiber().Listener(listener) }()
	t.Cleanup(func() {
		k.app.Close()
		must(t, k.app.Fiber().ShutdownWithTimeout(10*time.Second))
		must(t, <-served)
	})
	k.base = "http://" + listener.Addr().String()
	return k
}

// run is t.Run with the kitchen, and the browsers in it, failing the part and not the whole. Parts are run one after the other.
func (k *kitchen) run(t *testing.T, name string, part func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		whole := k.t
		k.t = t
		defer func() { k.t = whole }()
		part(t)
	})
}

// exec runs SQL no function of the store has.
func (k *kitchen) exec(text string, args ...any) {
	k.t.Helper()
	_, err := k.store.SQL().ExecContext(k.t.Context(), text, args...)
	must(k.t, err)
}

// count reads one number, word one word.
func (k *kitchen) count(text string, args ...any) (n int64) {
	k.t.Helper()
	must(k.t, k.store.SQL().QueryRowContext(k.t.Context(), text, args...).Scan(&n))
	return n
}

func (k *kitchen) word(text string, args ...any) (s string) {
	k.t.Helper()
	must(k.t, k.store.SQL().QueryRowContext(k.t.Context(), text, args...).Scan(&s))
	return s
}

// intact fails the test on a broken promise.
func (k *kitchen) intact() {
	k.t.Helper()
	broken, err := k.store.ListBroken(k.t.Context())
	must(k.t, err)
	if len(broken) > 0 {
		text, _ := json.Marshal(broken)
		k.t.Errorf("broken: %s", text)
	}
}

// secondOutlet adds another outlet, with one dish and hours around the clock, and returns it.
func (k *kitchen) secondOutlet() models.Outlet {
	k.t.Helper()
	var id int64
	must(k.t, k.store.SQL().QueryRowContext(k.t.Context(), `INSERT INTO outlets (slug, name, address, pin, phone, tax_mode, last_order_minutes)
		VALUES ('zafran', 'Zafran Kitchen', '1 Other Road', '560001', '+918012345679', 'unregistered', 0) RETURNING id`).Scan(&id))
	k.exec(`INSERT INTO outlet_hours (outlet_id, weekday, opens_minute, closes_minute) SELECT $1, day, 240, 1680 FROM generate_series(0, 6) day`, id)
	k.exec(`WITH c AS (INSERT INTO categories (outlet_id, slug, name) VALUES ($1, 'mains', 'Mains') RETURNING id)
		INSERT INTO items (outlet_id, category_id, slug, name, mark, price_paise) SELECT $1, id, 'zafran-rice', 'Zafran Rice', 'veg', 20000 FROM c`, id)
	outlet, err := k.store.FindOutlet(k.t.Context(), id)
	must(k.t, err)
	return outlet
}

// basket is what a customer of these tests orders; empty fields are those of a plain order.
type basket struct {
	outlet                      models.Outlet
	slug                        string
	name, note, lineNote, line1 string
	directions                  string
	coupon                      string
}

// place puts a pending order into the shop.
func (k *kitchen) place(b basket) models.Order {
	k.t.Helper()
	order, err := k.try(b)
	must(k.t, err)
	return *order
}

// try presses Pay, as the checkout would, and hands back what that says.
func (k *kitchen) try(b basket) (*models.Order, error) {
	k.t.Helper()
	ctx := k.t.Context()
	if b.outlet.ID == 0 {
		b.outlet = k.outlet
	}
	for text, usual := range map[*string]string{&b.slug: "dal-makhani", &b.name: "Ananya Rao", &b.line1: "Flat 302, Lake View"} {
		if *text == "" {
			*text = usual
		}
	}
	token, session, err := k.store.CreateGuestSession(ctx)
	must(k.t, err)
	cart, err := k.store.EnsureCart(ctx, session, b.outlet.ID)
	must(k.t, err)
	item, _, err := k.store.FindItemBySlug(ctx, b.outlet.ID, b.slug)
	must(k.t, err)
	var choice []int64
	for _, g := range item.Groups {
		for _, o := range g.Options[:g.MinPick] {
			choice = append(choice, o.ID)
		}
	}
	_, err = k.store.AddToCart(ctx, cart.ID, item.ID, choice, 2, b.lineNote)
	must(k.t, err)
	if b.coupon != "" {
		_, err = k.store.SetExtras(ctx, cart.ID, b.coupon, 0)
		must(k.t, err)
	}
	_, err = k.store.EnsureCheckoutKey(ctx, session.ID)
	must(k.t, err)
	session, err = k.store.FindSession(ctx, token)
	must(k.t, err)
	way, pin, line1 := "delivery", "560038", b.line1
	if b.outlet.ID != k.outlet.ID {
		way, pin, line1 = "pickup", "", ""
	}
	review, err := k.cashier.Review(ctx, session, way, pin, "", nil)
	must(k.t, err)
	return k.cashier.PlaceOrder(ctx, payments.Checkout{Session: session, CheckoutKey: *session.CheckoutKey, Review: review.Quote.Digest(), Way: way,
		Name: b.name, Phone: "+919845012345", Line1: line1, PIN: pin, Note: b.note, Directions: b.directions})
}

// open makes the gateway order of a pending one.
func (k *kitchen) open(o models.Order) (gatewayOrderID string) {
	k.t.Helper()
	id, err := k.cashier.OpenGatewayOrder(k.t.Context(), &o)
	must(k.t, err)
	return id
}

// pay has the bank say yes, and the page report it.
func (k *kitchen) pay(o models.Order, gatewayOrderID string) (paymentID string) {
	k.t.Helper()
	paid, err := k.gateway.Pay(standin.PayParams{OrderID: gatewayOrderID})
	must(k.t, err)
	_, err = k.cashier.VerifyCheckout(k.t.Context(), &o, payments.Slip{RazorpayOrderID: gatewayOrderID, RazorpayPaymentID: paid.ID,
		RazorpaySignature: razorpay.SignCheckout(k.gateway.KeySecret(), gatewayOrderID, paid.ID)}, models.ViaVerify)
	must(k.t, err)
	return paid.ID
}

// paid is a placed and paid order.
func (k *kitchen) paid(b basket) models.Order {
	k.t.Helper()
	o := k.place(b)
	k.pay(o, k.open(o))
	if got := k.word(`SELECT status FROM orders WHERE id = $1`, o.ID); got != models.OrderPaid {
		k.t.Fatalf("order %d is %s after paying, want paid", o.ID, got)
	}
	o, err := k.store.FindOrder(k.t.Context(), o.ID)
	must(k.t, err)
	return o
}

// ticket is the state of an order's ticket.
func (k *kitchen) ticket(o models.Order) string {
	k.t.Helper()
	return k.word(`SELECT status FROM fulfilments WHERE order_id = $1`, o.ID)
}

// staff adds a member; outletID 0 is all outlets.
func (k *kitchen) staff(login, name, role string, outletID int64) models.Staff {
	k.t.Helper()
	member := models.Staff{Login: login, Name: name, Role: role}
	if outletID != 0 {
		member.OutletID = &outletID
	}
	member, err := k.store.CreateStaff(k.t.Context(), member, kitchenPassword)
	must(k.t, err)
	return member
}

// browser keeps cookies and follows no redirect by itself.
type browser struct {
	*kitchen
	client *http.Client
	mu     sync.Mutex
	csrf   string // of the last page that had a form; token and setToken only
}

func (k *kitchen) browser() *browser {
	k.t.Helper()
	jar, err := cookiejar.New(nil)
	must(k.t, err)
	transport := &http.Transport{}
	k.t.Cleanup(transport.CloseIdleConnections)
	return &browser{kitchen: k, client: &http.Client{Jar: jar, Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn is the browser of a member who has come in by the form.
func (k *kitchen) signedIn(member models.Staff) *browser {
	k.t.Helper()
	b := k.browser()
	b.get("/staff/login").is(200)
	b.post("/staff/login", "login", member.Login, "password", kitchenPassword).is(303).leads("/staff")
	b.get("/staff").is(200)
	return b
}

// answer is what came back.
type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   string
}

// do sends a request. Headers are name, value, name, value…
func (b *browser) do(method, path string, body io.Reader, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	must(b.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.client.Do(r)
	must(b.t, err)
	defer func() { must(b.t, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	must(b.t, err)
	a := answer{t: b.t, what: method + " " + path, status: res.StatusCode, header: res.Header, body: string(text)}
	if fields := a.all("input", "name", csrfField); len(fields) > 0 {
		b.setToken(attribute(fields[0], "value"))
	}
	return a
}

// token is the last page's; requests of one browser may cross.
func (b *browser) token() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.csrf
}

func (b *browser) setToken(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.csrf = token
}

var htmx = []string{"HX-Request", "true"}

func (b *browser) get(path string, headers ...string) answer {
	b.t.Helper()
	return b.do("GET", path, nil, headers...)
}

// post sends a form with the last page's token; fields are name, value, name, value…
func (b *browser) post(path string, fields ...string) answer {
	b.t.Helper()
	return b.send(path, nil, append([]string{csrfField, b.token()}, fields...)...)
}

// press is post under htmx.
func (b *browser) press(path string, fields ...string) answer {
	b.t.Helper()
	return b.send(path, htmx, append([]string{csrfField, b.token()}, fields...)...)
}

func (b *browser) send(path string, headers []string, fields ...string) answer {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.do("POST", path, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

func (b *browser) cookie(name string) string {
	b.t.Helper()
	at, err := url.Parse(b.base + "/staff")
	must(b.t, err)
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (b *browser) setCookie(name, value, path string) {
	b.t.Helper()
	at, err := url.Parse(b.base + path)
	must(b.t, err)
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: path}})
}

func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		text := a.body
		for _, main := range a.all("main", "id", "main") {
			text = inner(main)
		}
		a.t.Fatalf("%s = %d, want %d\n%s", a.what, a.status, status, text)
	}
	return a
}

func (a answer) leads(to string) answer {
	a.t.Helper()
	if got := a.header.Get("Location"); got != to {
		a.t.Fatalf("%s leads to %q, want %q", a.what, got, to)
	}
	return a
}

// all finds elements by tag ("" any) and an attribute's value.
func (a answer) all(tag, name, value string) (found []*html.Node) {
	a.t.Helper()
	root, err := html.Parse(strings.NewReader(a.body))
	must(a.t, err)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (tag == "" || n.Data == tag) && attribute(n, name) == value {
			found = append(found, n)
		}
	}
	return found
}

// texts are what the elements with a test id say.
func (a answer) texts(testid string) (texts []string) {
	a.t.Helper()
	for _, n := range a.all("", "data-testid", testid) {
		texts = append(texts, inner(n))
	}
	return texts
}

// says fails unless some element with the test id says all the words.
func (a answer) says(testid string, words ...string) answer {
	a.t.Helper()
	texts := a.texts(testid)
	for _, text := range texts {
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(text, word)
		}
		if !missing {
			return a
		}
	}
	a.t.Fatalf("%s: %s says %q, want %q", a.what, testid, texts, words)
	return a
}

// numbers are the tickets shown in the column of a state.
func (a answer) numbers(status string) (numbers []string) {
	a.t.Helper()
	for _, column := range a.all("", "data-testid", "column-"+status) {
		for n := range column.Descendants() {
			if attribute(n, "data-testid") == "ticket" {
				numbers = append(numbers, attribute(n, "data-number"))
			}
		}
	}
	return numbers
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func inner(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

func number(o models.Order) string { return fmt.Sprint(o.Number) }

func orderPath(o models.Order, more string) string {
	return fmt.Sprintf("/staff/orders/%d%s", o.ID, more)
}

// rows writes down the whole database but what changes by itself.
func (k *kitchen) rows() map[string]string {
	k.t.Helper()
	names, err := k.store.SQL().QueryContext(k.t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	must(k.t, err)
	defer func() { must(k.t, names.Close()) }()
	var tables []string
	for names.Next() {
		var name string
		must(k.t, names.Scan(&name))
		tables = append(tables, name)
	}
	must(k.t, names.Err())
	rows := map[string]string{}
	for _, name := range tables {
		rows[name] = k.word(`SELECT COALESCE(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM "` + name + `" r`)
	}
	return rows
}

// unchanged fails the test if anything in the database differs from before.
func (k *kitchen) unchanged(before map[string]string) {
	k.t.Helper()
	for name, now := range k.rows() {
		if now != before[name] {
			k.t.Errorf("table %s changed:\n%s\nwas:\n%s", name, now, before[name])
		}
	}
}

// elementsWith are the elements of an answer that have the attribute.
func elementsWith(a answer, name string) (found []*html.Node) {
	a.t.Helper()
	root, err := html.Parse(strings.NewReader(a.body))
	must(a.t, err)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && attribute(n, name) != "" {
			found = append(found, n)
		}
	}
	return found
}
