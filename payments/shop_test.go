package payments

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// shop is the counting room of one test: the demo restaurant on a fresh database, and the stand-in over HTTP. Nothing runs by itself:
// webhooks are delivered and sweeps run when the test says so.
type shop struct {
	t       testing.TB
	store   *models.Store
	gateway *standin.Server
	cashier *Cashier
	outlet  models.Outlet
	offset  time.Duration // of the shop's clock

	gatewayURL string
}

const webhookSecret = "test_webhook_secret_0001"

func openShop(t testing.TB, options standin.Options) *shop {
	t.Helper()
	return openShopAt(t, devdb.URL(t), options)
}

// openShopAt is openShop on a database that is there.
func openShopAt(t testing.TB, database string, options standin.Options) *shop {
	t.Helper()
	store, err := models.Open(t.Context(), database, 12)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = store.LoadDemo(t.Context())
	must(t, err)
	outlets, err := store.ListOutlets(t.Context())
	must(t, err)
	// Shop and gateway begin at noon in India, whenever the test runs: no service window ends in the middle of it.
	now := time.Now().In(models.India)
	noon := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, models.India).Sub(now).Truncate(time.Second) // whole: the database is told milliseconds, the gateway all of it
	options.Now = func() time.Time { return time.Now().Add(noon) }
	gateway := standin.New(options)
	url, err := gateway.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, gateway.Close()) })
	s := &shop{t: t, store: store, gateway: gateway, gatewayURL: url, outlet: outlets[0]}
	s.setClock(noon)
	s.cashier = s.another(url)
	return s
}

// another is a cashier as a second process would have it: only the database is shared.
func (s *shop) another(url string) *Cashier {
	client := razorpay.New(razorpay.Config{KeyID: s.gateway.KeyID(), KeySecret: s.gateway.KeySecret(), APIURL: url, Timeout: 5 * time.Second})
	return New(s.store, client, Settings{KeyID: s.gateway.KeyID(), KeySecret: s.gateway.KeySecret(), WebhookSecret: webhookSecret, RefundSpeed: "normal"},
		slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
	_, err := s.store.SQL().ExecContext(s.t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '%d milliseconds' $$`, s.offset.Milliseconds()))
	must(s.t, err)
}

// exec runs SQL no function of the store has, and says how many rows it touched.
func (s *shop) exec(text string, args ...any) int64 {
	s.t.Helper()
	r, err := s.store.SQL().ExecContext(s.t.Context(), text, args...)
	must(s.t, err)
	n, err := r.RowsAffected()
	must(s.t, err)
	return n
}

// count reads one number.
func (s *shop) count(text string, args ...any) (n int64) {
	s.t.Helper()
	must(s.t, s.store.SQL().QueryRowContext(s.t.Context(), text, args...).Scan(&n))
	return n
}

// text reads one word.
func (s *shop) text(query string, args ...any) (v string) {
	s.t.Helper()
	var null sql.NullString
	must(s.t, s.store.SQL().QueryRowContext(s.t.Context(), query, args...).Scan(&null))
	return null.String
}

func (s *shop) item(slug string) models.Item {
	s.t.Helper()
	item, _, err := s.store.FindItemBySlug(s.t.Context(), s.outlet.ID, slug)
	must(s.t, err)
	return item
}

// limit makes a dish limited to n today.
func (s *shop) limit(slug string, n int) models.Item {
	s.t.Helper()
	s.exec(`UPDATE items SET daily_limit = $1, available = true, eighty_sixed_until = NULL WHERE slug = $2`, n, slug)
	return s.item(slug)
}

// customer is one browser.
type customer struct {
	*shop
	token   string
	session models.Session
}

func (s *shop) newCustomer() *customer {
	s.t.Helper()
	token, session, err := s.store.CreateGuestSession(s.t.Context())
	must(s.t, err)
	return &customer{shop: s, token: token, session: session}
}

// add puts a dish without choices into the cart.
func (c *customer) add(slug string, qty int) *customer {
	c.t.Helper()
	cart, err := c.store.EnsureCart(c.t.Context(), c.session, c.outlet.ID)
	must(c.t, err)
	_, err = c.store.AddToCart(c.t.Context(), cart.ID, c.item(slug).ID, nil, qty, "")
	must(c.t, err)
	return c
}

// refresh reads the session again, as the next request does.
func (c *customer) refresh() {
	c.t.Helper()
	session, err := c.store.FindSession(c.t.Context(), c.token)
	must(c.t, err)
	c.session = session
}

// checkout is what the form sends for the bill as it stands.
func (c *customer) checkout() Checkout {
	c.t.Helper()
	c.refresh()
	key, err := c.store.EnsureCheckoutKey(c.t.Context(), c.session.ID)
	must(c.t, err)
	c.refresh()
	in := Checkout{Session: c.session, CheckoutKey: key, Way: "delivery", Name: "Ananya Rao", Phone: "+919845012345", Email: "ananya@example.in",
		Line1: "Flat 302, Lake View", Line2: "100 Feet Road", PIN: "560038"}
	review, err := c.cashier.Review(c.t.Context(), c.session, in.Way, in.PIN, in.Phone, in.At)
	must(c.t, err)
	in.Review = review.Quote.Digest()
	return in
}

// place presses Pay.
func (c *customer) place() *models.Order {
	c.t.Helper()
	o, err := c.cashier.PlaceOrder(c.t.Context(), c.checkout())
	must(c.t, err)
	return o
}

// open places and opens a gateway order.
func (c *customer) open() (*models.Order, string) {
	c.t.Helper()
	o := c.place()
	id, err := c.cashier.OpenGatewayOrder(c.t.Context(), o)
	must(c.t, err)
	return o, id
}

// pay has the bank say yes, or what p says.
func (s *shop) pay(p standin.PayParams) standin.Payment {
	s.t.Helper()
	paid, err := s.gateway.Pay(p)
	must(s.t, err)
	return paid
}

// slip is what Checkout would hand the browser for a payment.
func (s *shop) slip(orderID, paymentID string) Slip {
	return Slip{RazorpayOrderID: orderID, RazorpayPaymentID: paymentID, RazorpaySignature: razorpay.SignCheckout(s.gateway.KeySecret(), orderID, paymentID)}
}

func (s *shop) verify(o *models.Order, orderID, paymentID string) *models.Order {
	s.t.Helper()
	after, err := s.cashier.VerifyCheckout(s.t.Context(), o, s.slip(orderID, paymentID), models.ViaVerify)
	must(s.t, err)
	return after
}

// events are the gateway's webhooks so far about a payment, by name.
func (s *shop) events(paymentID string) map[string]standin.Event {
	found := map[string]standin.Event{}
	for _, e := range s.gateway.Events() {
		if e.PaymentID == paymentID {
			found[e.Name] = e
		}
	}
	return found
}

// receive delivers a webhook and, if it is new, processes it, as its job would.
func (s *shop) receive(ctx context.Context, e standin.Event) error {
	if _, err := s.cashier.ReceiveWebhook(ctx, Delivery{Body: e.Body, EventID: e.ID, Signature: razorpay.SignWebhook(webhookSecret, e.Body)}); err != nil {
		return err
	}
	var id int64
	if err := s.store.SQL().QueryRowContext(ctx, `SELECT id FROM webhook_events WHERE event_id = $1`, e.ID).Scan(&id); err != nil {
		return err
	}
	return s.cashier.ProcessEvent(ctx, id)
}

// sweep runs every sweep once.
func (s *shop) sweep() {
	s.t.Helper()
	for _, run := range []func(context.Context) (int, error){s.cashier.ResolveClaims, s.cashier.SweepEvents, s.cashier.Reconcile, s.cashier.SweepRefunds, s.store.WatchDeadlines} {
		_, err := run(s.t.Context())
		must(s.t, err)
	}
}

// heal ends all faults and lets time and the sweeps do their work.
func (s *shop) heal() {
	s.t.Helper()
	s.gateway.ClearFaults()
	for _, pause := range []time.Duration{0, 70 * time.Second, 70 * time.Second, 2 * time.Minute, 10 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour} {
		s.advance(pause)
		s.sweep()
	}
	s.settled()
}

// settled fails the test on a broken promise, or on something that should be over by now. Letters have no worker here.
func (s *shop) settled() {
	s.t.Helper()
	s.kept()
	open, err := s.store.ListUnsettled(s.t.Context())
	must(s.t, err)
	open = slices.DeleteFunc(open, func(b models.Broken) bool { return b.Inv == "INV-41" })
	if len(open) > 0 {
		s.t.Errorf("unsettled: %s", plain(open))
	}
}

// kept fails the test on a broken promise, but for those excepted.
func (s *shop) kept(except ...string) {
	s.t.Helper()
	broken, err := s.store.ListBroken(s.t.Context())
	must(s.t, err)
	broken = slices.DeleteFunc(broken, func(b models.Broken) bool { return slices.Contains(except, b.Inv) })
	if len(broken) > 0 {
		s.t.Errorf("broken: %s", plain(broken))
	}
}

func plain(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// creates counts the create calls for orders that reached the gateway.
func (s *shop) creates() (n int) {
	for _, r := range s.gateway.Requests() {
		if r.Method == "POST" && r.Path == "/v1/orders" {
			n++
		}
	}
	return n
}

// status reads an order's state.
func (s *shop) status(o *models.Order) string {
	s.t.Helper()
	return s.text(`SELECT status FROM orders WHERE id = $1`, o.ID)
}

// refundedThere is what the gateway has given back of a payment.
func (s *shop) refundedThere(paymentID string) (sum int64) {
	s.t.Helper()
	for _, r := range s.gateway.Books().RefundsOf(paymentID) {
		if r.Status != "failed" {
			sum += r.AmountPaise
		}
	}
	return sum
}
