package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	crand "crypto/rand"
)

// What New takes when Options leave it empty: keys of the gateway's form that open nothing anywhere else.
const (
	DefaultKeyID         = "rzp_test_StandInTiffin1"
	DefaultKeySecret     = "standin_key_secret_0001"
	DefaultWebhookSecret = "standin_webhook_secret_0001"
)

// Options are fixed for the life of a Server. The zero value is a gateway with auto-capture that knows the default keys and
// sends its webhooks nowhere.
type Options struct {
	KeyID, KeySecret string
	AccountID        string // acc_ and 14 characters; made from the seed when empty
	Seed             uint64 // 0: a random one; else ids, chances and shuffles repeat for equal sequences of calls
	Webhooks         []Webhook
	StateFile        string // JSON, read by New and rewritten after every change; empty: memory only
	Settings         Settings

	// AnswerLimit is how long a webhook endpoint may take: 5 s when zero, as the gateway has it (Docs-Aug, "Best Practices").
	AnswerLimit time.Duration
	// RetryScale divides the gateway's retry clock, the 24 hours included: 1 when zero; 1000 makes 6 s 6 ms.
	RetryScale int64

	// Now is the clock that Advance moves ahead of: the computer's when nil. It may stand still.
	Now func() time.Time
	// OnRequest is called for every call but the control API's, after its body was read and before any work, while the caller
	// waits: the place to look at what the caller holds open. It may call back into the Server. May be nil.
	OnRequest func(method, path string)
	// Logf is told of troubles of the stand-in itself, such as a state file that cannot be written. May be nil.
	Logf func(format string, args ...any)
}

// How a second order with a receipt in use is treated (razorpay receipts are unique by the docs and not in the probes).
const (
	ReceiptAllow           = "allow" // also when empty
	ReceiptRejectWithOrder = "reject_with_metadata"
	ReceiptReject          = "reject_plain"
	ReceiptReturnSame      = "return_same"
)

// What happens to a payment that succeeds on an order already paid.
const (
	SecondRefunded = "auto_refund" // also when empty
	SecondCaptured = "capture"
)

// Settings may be changed at any time with Configure. The zero value is the most faithful gateway.
type Settings struct {
	ReceiptMode   string
	UniqueReceipt bool // unique_receipt is known (Docs-new only): the same receipt returns the same order; else it is an extra field
	SecondPayment string

	ManualCapture  bool          // the account captures nothing by itself; an order's own rule still goes first
	CaptureDelay   time.Duration // between authorised and captured
	PendingTimeout time.Duration // silence of the bank after which a payment fails; 10 minutes when zero
	LateAfter      time.Duration // FailThenLate's delay when it names none; 5 s when zero

	PendingRefunds           bool          // refunds stay pending until RefundDelay has passed or the control API settles them
	RefundDelay              time.Duration // 0: for ever
	LowBalance               bool          // no balance to refund from
	FailedRefundStaysCounted bool          // amount_refunded keeps counting a refund that failed

	CallbackOverHandler bool // a callback_url wins over a handler also without redirect; by default only where there is no handler

	ListLag          time.Duration // how long new orders, payments and refunds are missing from account-wide lists
	OrderPaymentsLag time.Duration // the same for GET /orders/:id/payments
	RefundsLag       time.Duration // the same for GET /payments/:id/refunds

	ExtraKeys   bool // every entity carries a key nobody announced
	FlipShapes  bool // empty notes are {} and acquirer_data is []
	BareContact bool // email null, contact without country code

	WebhookSpread  time.Duration // each delivery is put off by a seeded time up to this
	MaxAmountPaise int64         // largest order; 5,00,000 rupees when zero
}

func (t *Settings) fill() {
	if t.ReceiptMode == "" {
		t.ReceiptMode = ReceiptAllow
	}
	if t.SecondPayment == "" {
		t.SecondPayment = SecondRefunded
	}
	if t.PendingTimeout == 0 {
		t.PendingTimeout = 10 * time.Minute
	}
	if t.LateAfter == 0 {
		t.LateAfter = 5 * time.Second
	}
	if t.MaxAmountPaise == 0 {
		t.MaxAmountPaise = 500_000_00
	}
}

// check refuses settings that mean nothing.
func (t Settings) check() error {
	switch {
	case !slices.Contains([]string{ReceiptAllow, ReceiptRejectWithOrder, ReceiptReject, ReceiptReturnSame}, t.ReceiptMode):
		return fmt.Errorf("standin: no receipt mode %q", t.ReceiptMode)
	case !slices.Contains([]string{SecondRefunded, SecondCaptured}, t.SecondPayment):
		return fmt.Errorf("standin: a second payment cannot be %q", t.SecondPayment)
	case min(t.CaptureDelay, t.PendingTimeout, t.LateAfter, t.RefundDelay, t.ListLag, t.OrderPaymentsLag, t.RefundsLag, t.WebhookSpread) < 0 || t.MaxAmountPaise < 0:
		return errors.New("standin: a negative setting")
	}
	return nil
}

// Server is one gateway account. All methods may be called from any goroutine.
type Server struct {
	opts   Options
	client *http.Client

	mu       sync.Mutex
	settings Settings
	offset   time.Duration
	rng      *rand.Rand

	orders           []*Order
	payments         []*Payment
	refunds          []*Refund
	disputes         []*Dispute
	orderByID        map[string]*Order
	ordersByReceipt  map[string][]*Order
	paymentByID      map[string]*Payment
	paymentsByOrder  map[string][]*Payment
	refundByID       map[string]*Refund
	refundsByPayment map[string][]*Refund
	refundKeys       map[string]*refundKey
	settledUpTo      time.Time

	endpoints     []*Webhook
	events        []*Event
	eventByID     map[string]*Event
	deliveries    []*Delivery
	outgoing      map[*Delivery]bool // those in state Waiting
	webhookFaults []*WebhookFault

	faults   []*Fault
	faultSeq int
	requests []Request
	number   int
	release  chan struct{} // closed to let stalled calls go on
	stalled  int

	tasks   taskHeap
	taskSeq int
	changed chan struct{} // closed and replaced at every change
	dirty   bool
	loadErr error

	wake    chan struct{}
	quit    context.Context
	stop    context.CancelFunc
	working sync.WaitGroup // the clock's goroutine and deliveries in flight
	http    *http.Server
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("standin: closed")

// New makes a gateway and starts its clock; Close ends it. A state file that cannot be read is reported by Start.
func New(o Options) *Server {
	if o.KeyID == "" {
		o.KeyID = DefaultKeyID
	}
	if o.KeySecret == "" {
		o.KeySecret = DefaultKeySecret
	}
	if o.AnswerLimit == 0 {
		o.AnswerLimit = 5 * time.Second
	}
	if o.RetryScale == 0 {
		o.RetryScale = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Seed == 0 {
		var b [8]byte
		crand.Read(b[:])
		for _, x := range b {
			o.Seed = o.Seed<<8 | uint64(x)
		}
	}
	o.Settings.fill()
	if err := o.Settings.check(); err != nil {
		panic(err)
	}
	s := &Server{
		opts: o, settings: o.Settings, rng: rand.New(rand.NewPCG(o.Seed, 0x7461_6666_696e)),
		orderByID: map[string]*Order{}, ordersByReceipt: map[string][]*Order{}, paymentByID: map[string]*Payment{},
		paymentsByOrder: map[string][]*Payment{}, refundByID: map[string]*Refund{}, refundsByPayment: map[string][]*Refund{},
		refundKeys: map[string]*refundKey{}, eventByID: map[string]*Event{}, outgoing: map[*Delivery]bool{},
		release: make(chan struct{}), changed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	s.client = &http.Client{
		Timeout:       o.AnswerLimit,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if s.opts.AccountID == "" {
		s.opts.AccountID = s.newID("acc_")
	}
	s.settledUpTo = s.now()
	s.SetWebhooks(o.Webhooks...)
	s.quit, s.stop = context.WithCancel(context.Background())
	if o.StateFile != "" {
		s.loadErr = s.load(o.StateFile)
	}
	s.working.Go(s.run)
	return s
}

// Start listens on addr ("127.0.0.1:0" picks a port) and returns the address to give a client as base, without a path. The
// Checkout script is at that address plus /v1/checkout.js.
func (s *Server) Start(addr string) (url string, err error) {
	if s.loadErr != nil {
		return "", s.loadErr
	}
	if s.quit.Err() != nil {
		return "", ErrClosed
	}
	if s.http != nil {
		return "", errors.New("standin: started already")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.working.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logf("standin: %v", err)
		}
	})
	return "http://" + l.Addr().String(), nil
}

// Close ends the clock, breaks open connections, waits for deliveries in flight and writes the state file. It is safe to repeat.
func (s *Server) Close() error {
	s.stop()
	var err error
	if s.http != nil {
		err = s.http.Close()
	}
	s.working.Wait()
	s.client.CloseIdleConnections()
	return errors.Join(err, s.save())
}

// KeyID, KeySecret and AccountID are what the account's client must be told.
func (s *Server) KeyID() string     { return s.opts.KeyID }
func (s *Server) KeySecret() string { return s.opts.KeySecret }
func (s *Server) AccountID() string { return s.opts.AccountID }

// Configure changes the settings in one step. It panics on settings that mean nothing, which is a mistake in the test.
func (s *Server) Configure(change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.settings
	change(&changed)
	changed.fill()
	if err := changed.check(); err != nil {
		panic(err)
	}
	s.settings = changed
	s.touch()
}

// Settings returns the settings in force.
func (s *Server) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Books returns a copy of everything on record.
func (s *Server) Books() Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.books()
}

func (s *Server) books() Books {
	var b Books
	for _, o := range s.orders {
		c := *o
		c.Notes = maps.Clone(o.Notes)
		b.Orders = append(b.Orders, c)
	}
	for _, p := range s.payments {
		b.Payments = append(b.Payments, clonePayment(p))
	}
	for _, r := range s.refunds {
		b.Refunds = append(b.Refunds, cloneRefund(r))
	}
	for _, d := range s.disputes {
		b.Disputes = append(b.Disputes, cloneDispute(d))
	}
	return b
}

func clonePayment(p *Payment) Payment {
	c := *p
	c.Notes, c.Acquirer = maps.Clone(p.Notes), maps.Clone(p.Acquirer)
	if p.Card != nil {
		card := *p.Card
		c.Card = &card
	}
	return c
}

func cloneRefund(r *Refund) Refund {
	c := *r
	c.Notes = maps.Clone(r.Notes)
	return c
}

func cloneDispute(d *Dispute) Dispute {
	c := *d
	c.Evidence = maps.Clone(d.Evidence)
	return c
}

func (s *Server) addOrder(o *Order) {
	s.orders = append(s.orders, o)
	s.orderByID[o.ID] = o
	s.ordersByReceipt[o.Receipt] = append(s.ordersByReceipt[o.Receipt], o)
}

const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// newID is a prefix and 14 characters, as all the gateway's ids are.
func (s *Server) newID(prefix string) string {
	return prefix + s.letters(14, alphanumerics)
}

func (s *Server) digits(n int) string { return s.letters(n, "0123456789") }

func (s *Server) letters(n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[s.rng.IntN(len(from))]
	}
	return string(b)
}

// touch tells waiters that something changed and has the state written.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
	s.dirty = true
	s.nudge()
}

// route is one call of the API. ":" in a pattern stands for an id.
type route struct {
	method, pattern string
	do              func(*Server, *call) answer
	public          bool // called by browsers, which have no key secret
}

var routes = []route{
	{method: "POST", pattern: "orders", do: (*Server).createOrder},
	{method: "GET", pattern: "orders", do: (*Server).listOrders},
	{method: "GET", pattern: "orders/:", do: (*Server).fetchOrder},
	{method: "PATCH", pattern: "orders/:", do: (*Server).patchOrder},
	{method: "GET", pattern: "orders/:/payments", do: (*Server).listOrderPayments},
	{method: "GET", pattern: "payments", do: (*Server).listPayments},
	{method: "GET", pattern: "payments/downtimes", do: (*Server).listDowntimes},
	{method: "GET", pattern: "payments/:", do: (*Server).fetchPayment},
	{method: "PATCH", pattern: "payments/:", do: (*Server).patchPayment},
	{method: "GET", pattern: "payments/:/card", do: (*Server).fetchCard},
	{method: "POST", pattern: "payments/:/capture", do: (*Server).capturePayment},
	{method: "POST", pattern: "payments/:/refund", do: (*Server).createRefund},
	{method: "GET", pattern: "payments/:/refunds", do: (*Server).listPaymentRefunds},
	{method: "GET", pattern: "payments/:/refunds/:", do: (*Server).fetchPaymentRefund},
	{method: "POST", pattern: "refunds", do: (*Server).createRefund},
	{method: "GET", pattern: "refunds", do: (*Server).listRefunds},
	{method: "GET", pattern: "refunds/:", do: (*Server).fetchRefund},
	{method: "PATCH", pattern: "refunds/:", do: (*Server).patchRefund},
	{method: "GET", pattern: "settlements", do: (*Server).listSettlements},
	{method: "GET", pattern: "settlements/recon/combined", do: (*Server).listRecon},
	{method: "GET", pattern: "settlements/:", do: (*Server).fetchSettlement},
	{method: "GET", pattern: "disputes", do: (*Server).listDisputes},
	{method: "GET", pattern: "disputes/:", do: (*Server).fetchDispute},
	{method: "POST", pattern: "disputes/:/accept", do: (*Server).acceptDispute},
	{method: "PATCH", pattern: "disputes/:/contest", do: (*Server).contestDispute},

	{method: "GET", pattern: "checkout.js", do: (*Server).checkoutScript, public: true},
	{method: "GET", pattern: "preferences", do: (*Server).preferences, public: true},
	{method: "POST", pattern: "payments/create/ajax", do: (*Server).createAjax, public: true},
	{method: "GET", pattern: "payments/:/status", do: (*Server).paymentStatus, public: true},
	{method: "GET", pattern: "payments/:/callback", do: (*Server).callbackPage, public: true},
	{method: "POST", pattern: "checkout/embedded", do: (*Server).hostedPage, public: true},
	{method: "POST", pattern: "checkout/embedded/pay", do: (*Server).hostedPay, public: true},
	{method: "GET", pattern: "checkout/embedded/:", do: (*Server).hostedOutcome, public: true},
	{method: "GET", pattern: "checkout/pages.css", do: (*Server).pagesCSS, public: true},
	{method: "GET", pattern: "checkout/submit.js", do: (*Server).submitScript, public: true},
}

// find picks the call by method and path and sets the ids it found.
func (c *call) find() *route {
	rest, isV1 := strings.CutPrefix(c.path, "/v1/")
	if !isV1 {
		return nil
	}
	parts := strings.Split(rest, "/")
next:
	for i, r := range routes {
		pattern := strings.Split(r.pattern, "/")
		if r.method != c.method || len(pattern) != len(parts) {
			continue
		}
		c.ids = nil
		for j := range parts {
			if pattern[j] == ":" {
				c.ids = append(c.ids, parts[j])
			} else if pattern[j] != parts[j] {
				continue next
			}
		}
		return &routes[i]
	}
	return nil
}

// answerTo does the work of an API call under the lock.
func (s *Server) answerTo(c *call) answer {
	if !strings.HasPrefix(c.path, "/v1/") && c.path != "/v1" {
		return refusals["edge_no_route"]
	}
	r := c.find()
	if (r == nil || !r.public) && !s.authorised(c.header) {
		return refusals["auth_failed"]
	}
	if r == nil {
		return refusals["url_not_found"]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.method != http.MethodGet {
		defer s.touch()
	}
	return r.do(s, c)
}

// mostBody bounds what is read of a request: far above anything the API takes.
const mostBody = 1 << 20

// ServeHTTP answers the API, Checkout and the control pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if path == "/standin" || strings.HasPrefix(path, "/standin/") {
		s.serveControl(w, r, path)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "body too large or cut short", http.StatusRequestEntityTooLarge)
		return
	}
	c := &call{method: r.Method, path: path, query: r.URL.Query(), header: r.Header, body: body}
	f := s.accept(c, r)
	if s.opts.OnRequest != nil {
		s.opts.OnRequest(c.method, c.path)
	}
	s.serve(w, r, c, f)
}

func write(w http.ResponseWriter, a answer) {
	typ := a.typ
	if typ == "" {
		typ = "application/json; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", typ)
	for k, v := range a.header {
		h.Set(k, v)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}
