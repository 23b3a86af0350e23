package standin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"tiffin/razorpay"
)

// Webhooks: what is told, to whom, how often. Source: Docs-Aug, "Best Practices" (webhooks), "Validate and Test Webhooks"; header
// set, body shapes and retry clock as recorded in test mode (Raze, Aug 2026).

// Webhook is one endpoint. Retries of an event stay signed with the secret in force when it happened.
type Webhook struct {
	URL            string
	Secret         string   // DefaultWebhookSecret when empty
	PreviousSecret string   // for WebhookFault.Sign = SignPrevious
	Events         []string // empty: all
	Disabled       bool     // after a day of failures; EnableWebhook undoes it
}

// Event is one thing that happened, as told to every endpoint: same id and same bytes each time.
type Event struct {
	ID        string
	Name      string
	Body      []byte
	CreatedAt time.Time
	OrderID   string
	PaymentID string
	RefundID  string
}

// DeliveryState tells where the delivery of an event to an endpoint stands.
type DeliveryState string

const (
	Waiting   DeliveryState = "waiting" // an attempt is due or in flight
	Held      DeliveryState = "held"    // until Release or Deliver
	Lost      DeliveryState = "lost"    // never sent
	Delivered DeliveryState = "delivered"
	GivenUp   DeliveryState = "given_up" // after a day of failures
	Unsent    DeliveryState = "unsent"   // the endpoint was disabled
)

// Delivery is an event on its way to one endpoint, with what has been tried.
type Delivery struct {
	Event    *Event
	URL      string
	State    DeliveryState
	NextAt   time.Time
	Attempts []Attempt

	secret, previous string
	inFlight         bool
	last             bool // the day is over: the next turn gives up
}

// Attempt is one request made to an endpoint. Status is 0 when there was no answer in time; Err says why.
type Attempt struct {
	EventID, Event, URL string
	At                  time.Time
	Took                time.Duration
	Status              int
	Err                 string
	Signed              string
}

// How WebhookFault signs.
const (
	SignForged    = "forged"     // a signature nobody could have made
	SignPrevious  = "previous"   // with the endpoint's previous secret
	SignKeySecret = "key_secret" // with the API key's secret
	SignNone      = "none"
)

// WebhookFault spoils the telling of events that match. Sign counts attempts, the others count events.
type WebhookFault struct {
	Event   string // pattern of path.Match, e.g. payment.*; empty: any
	Hold    bool   // keep back until Release or Deliver
	Lose    bool   // never send
	Copies  int    // send so many more times
	Reorder int    // keep back until so many deliveries are together, then send them one after another, the newest first
	Delay   time.Duration
	Sign    string
	Times   int // apply to so many; 0: all until ClearWebhookFaults
	Percent int // seeded chance; 0: always
	Hits    int

	gathered []*Delivery
}

// retryClock is the time from the first try to each retry (Raze, Aug 2026). Some kinds and a 400 skip the instant one.
var retryClock = []time.Duration{
	200 * time.Millisecond, 6 * time.Second, 19 * time.Second, 40 * time.Second, 82 * time.Second, 164 * time.Second, 326 * time.Second,
	650 * time.Second, 1293 * time.Second, 2576 * time.Second, 5140 * time.Second, 10267 * time.Second, 20508 * time.Second,
	40989 * time.Second, 81953 * time.Second,
}

// SetWebhooks replaces the endpoints. Deliveries already under way go on to where they were going.
func (s *Server) SetWebhooks(hooks ...Webhook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoints = nil
	for _, h := range hooks {
		if h.Secret == "" {
			h.Secret = DefaultWebhookSecret
		}
		h.Events = slices.Clone(h.Events)
		s.endpoints = append(s.endpoints, &h)
	}
	s.touch()
}

// Webhooks lists the endpoints.
func (s *Server) Webhooks() []Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Webhook
	for _, h := range s.endpoints {
		out = append(out, *h)
	}
	return out
}

// RotateWebhookSecret gives an endpoint a new secret. Events from before stay signed with the old one.
func (s *Server) RotateWebhookSecret(url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.endpoints {
		if h.URL == url {
			h.PreviousSecret, h.Secret = h.Secret, secret
		}
	}
	s.touch()
}

// EnableWebhook switches a disabled endpoint on again. What it missed stays missed.
func (s *Server) EnableWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.endpoints {
		if h.URL == url {
			h.Disabled = false
		}
	}
	s.touch()
}

// SpoilWebhooks adds a fault on webhooks; ClearWebhookFaults takes all away (what is held stays held).
func (s *Server) SpoilWebhooks(f WebhookFault) {
	if err := s.spoilWebhooks(f); err != nil {
		panic(err)
	}
}

func (s *Server) spoilWebhooks(f WebhookFault) error {
	_, err := path.Match(f.Event, "x")
	switch {
	case err != nil:
		return fmt.Errorf("standin: event pattern %q: %w", f.Event, err)
	case f.Percent < 0 || f.Percent > 100 || f.Copies < 0 || f.Reorder < 0 || f.Times < 0 || f.Delay < 0:
		return fmt.Errorf("standin: webhook fault out of range")
	case !slices.Contains([]string{"", SignForged, SignPrevious, SignKeySecret, SignNone}, f.Sign):
		return fmt.Errorf("standin: no way to sign called %q", f.Sign)
	case !f.Hold && !f.Lose && f.Copies == 0 && f.Reorder == 0 && f.Delay == 0 && f.Sign == "":
		return fmt.Errorf("standin: a webhook fault that does nothing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Hits = 0
	s.webhookFaults = append(s.webhookFaults, &f)
	return nil
}

// ClearWebhookFaults takes all faults on webhooks away.
func (s *Server) ClearWebhookFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhookFaults = nil
}

// WebhookFaults lists the faults on webhooks in force with their hits.
func (s *Server) WebhookFaults() []WebhookFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []WebhookFault
	for _, f := range s.webhookFaults {
		c := *f
		c.gathered = nil
		out = append(out, c)
	}
	return out
}

// webhookFault finds the first fault for this event that does what is asked, and counts it.
func (s *Server) webhookFault(event string, does func(*WebhookFault) bool) *WebhookFault {
	for _, f := range s.webhookFaults {
		if f.Event != "" {
			if found, _ := path.Match(f.Event, event); !found {
				continue
			}
		}
		if !does(f) || f.Times > 0 && f.Hits >= f.Times || f.Percent > 0 && s.rng.IntN(100) >= f.Percent {
			continue
		}
		f.Hits++
		return f
	}
	return nil
}

// emit records an event about what is given and sends it on its way. The body is a snapshot of this moment.
func (s *Server) emit(name string, p *Payment, o *Order, r *Refund, d *Dispute) *Event {
	e := &Event{ID: s.newID(""), Name: name, CreatedAt: s.now()}
	var contains []any
	payload := object{}
	put := func(kind string, entity object) {
		contains = append(contains, kind)
		payload = append(payload, pair{kind, object{{"entity", entity}}})
	}
	if r != nil {
		e.RefundID = r.ID
		put("refund", s.refundObject(r))
	}
	if p != nil {
		e.PaymentID, e.OrderID = p.ID, p.OrderID
		put("payment", s.paymentInEvent(name, p))
	}
	if o != nil {
		put("order", s.orderObject(o).with(pair{"description", nil}, pair{"checkout", nil}))
	}
	if d != nil {
		put("dispute", s.disputeObject(d))
	}
	s.send(e, contains, payload)
	return e
}

// send seals an event and puts its deliveries on the clock.
func (s *Server) send(e *Event, contains []any, payload object) {
	envelope := object{{"entity", "event"}, {"account_id", s.opts.AccountID}, {"event", e.Name}, {"contains", contains},
		{"payload", payload}, {"created_at", unix(e.CreatedAt)}}
	if e.Name == "refund.created" {
		envelope = envelope.alphabetical()
	}
	e.Body = []byte(encode(envelope))
	s.events = append(s.events, e)
	s.eventByID[e.ID] = e
	for _, h := range s.endpoints {
		if len(h.Events) == 0 || slices.Contains(h.Events, e.Name) {
			s.post(e, h)
		}
	}
	s.touch()
}

func (s *Server) post(e *Event, h *Webhook) {
	at := e.CreatedAt
	if spread := s.settings.WebhookSpread; spread > 0 {
		at = at.Add(time.Duration(s.rng.Int64N(int64(spread))))
	}
	copies, state := 1, Waiting
	var gather *WebhookFault
	if f := s.webhookFault(e.Name, func(f *WebhookFault) bool { return f.Copies > 0 }); f != nil {
		copies += f.Copies
	}
	if f := s.webhookFault(e.Name, func(f *WebhookFault) bool { return f.Delay > 0 }); f != nil {
		at = at.Add(f.Delay)
	}
	switch {
	case h.Disabled:
		state = Unsent
	case s.webhookFault(e.Name, func(f *WebhookFault) bool { return f.Lose }) != nil:
		state = Lost
	case s.webhookFault(e.Name, func(f *WebhookFault) bool { return f.Hold }) != nil:
		state = Held
	default:
		if gather = s.webhookFault(e.Name, func(f *WebhookFault) bool { return f.Reorder > 0 }); gather != nil {
			state = Held
		}
	}
	for range copies {
		d := &Delivery{Event: e, URL: h.URL, NextAt: at, secret: h.Secret, previous: h.PreviousSecret}
		s.deliveries = append(s.deliveries, d)
		s.move(d, state)
		if gather != nil {
			s.gather(gather, d)
		}
	}
}

// gather keeps a delivery back until enough are together.
func (s *Server) gather(f *WebhookFault, d *Delivery) {
	f.gathered = slices.DeleteFunc(append(f.gathered, d), func(d *Delivery) bool { return d.State != Held }) // Release may have sent some
	if len(f.gathered) < f.Reorder {
		return
	}
	batch := f.gathered
	f.gathered = nil
	slices.Reverse(batch)
	for _, d := range batch {
		d.State, d.inFlight = Waiting, true
		s.outgoing[d] = true
	}
	s.due(s.now(), task{kind: taskInTurn, batch: batch})
}

// move sets a delivery's state; one that waits is put on the clock for its NextAt.
func (s *Server) move(d *Delivery, to DeliveryState) {
	d.State = to
	if to == Waiting {
		s.outgoing[d] = true
		s.due(d.NextAt, task{kind: taskDeliver, delivery: d})
	} else {
		delete(s.outgoing, d)
	}
}

// paymentInEvent is a payment as event bodies show it: more keys than reads have, and different ones by event.
func (s *Server) paymentInEvent(event string, p *Payment) object {
	o := s.paymentObject(p, true)
	switch {
	case event == "refund.created":
		return s.wide(p).alphabetical()
	case strings.HasPrefix(event, "refund."), strings.HasPrefix(event, "payment.dispute."):
		o = o.with(pair{"base_amount", p.AmountPaise}, pair{"amount_transferred", 0})
	case event == "payment.captured":
		o = o.with(pair{"reward", nil}, pair{"base_amount", p.AmountPaise})
	case event == "order.paid":
		o = o.with(pair{"reward", nil})
	}
	return o
}

// wide is the payment of a recorded refund.created, with its many empty keys.
func (s *Server) wide(p *Payment) object {
	o := s.paymentObject(p, true)
	has := map[string]bool{}
	for _, q := range o {
		has[q.key] = true
	}
	for _, q := range (object{
		{"account_id", nil}, {"amount_transferred", 0}, {"base_amount", p.AmountPaise}, {"customer_id", nil}, {"device_id", nil}, {"fee_bearer", nil},
		{"gateway_merchant_id", nil}, {"gateway_provider", "Razorpay"}, {"gateway_terminal_id", nil}, {"internal_status", nil},
		{"optimizer_provider", nil}, {"provider", nil}, {"receiver_type", nil}, {"settled_by", nil}, {"source_channel", "online"}, {"store_id", nil},
		{"terminal_id", nil}, {"token_id", nil},
	}) {
		if !has[q.key] {
			o = append(o, q)
		}
	}
	return o
}

// startDelivery makes one attempt in a goroutine of its own.
func (s *Server) startDelivery(d *Delivery) {
	if d.State != Waiting || d.inFlight || d.NextAt.Truncate(time.Millisecond).After(s.now()) {
		return
	}
	if d.last {
		s.giveUp(d)
		return
	}
	d.inFlight = true
	s.working.Go(func() { s.tryDelivery(s.quit, d) })
}

// tryDelivery makes one attempt and plans what follows from it.
func (s *Server) tryDelivery(ctx context.Context, d *Delivery) Attempt {
	s.mu.Lock()
	a := Attempt{EventID: d.Event.ID, Event: d.Event.Name, URL: d.URL, At: s.now()}
	signature := razorpay.SignWebhook(d.secret, d.Event.Body)
	if f := s.webhookFault(d.Event.Name, func(f *WebhookFault) bool { return f.Sign != "" }); f != nil {
		a.Signed = f.Sign
		switch f.Sign {
		case SignForged:
			signature = razorpay.SignWebhook("forged_"+d.secret, d.Event.Body)
		case SignPrevious:
			signature = razorpay.SignWebhook(d.previous, d.Event.Body)
		case SignKeySecret:
			signature = razorpay.SignWebhook(s.opts.KeySecret, d.Event.Body)
		case SignNone:
			signature = ""
		}
	}
	s.mu.Unlock()

	began := s.opts.Now()
	status, err := s.knock(ctx, d, signature)
	a.Took, a.Status = s.opts.Now().Sub(began), status
	if err != nil {
		a.Err = err.Error()
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	d.inFlight = false
	d.Attempts = append(d.Attempts, a)
	switch {
	case status >= 200 && status < 300:
		s.move(d, Delivered)
	case s.quit.Err() != nil: // the stand-in is closing: this was no failure of the endpoint
	default:
		s.planRetry(d, status)
	}
	return a
}

// knock sends the event once. Headers as recorded (Raze, Aug 2026).
func (s *Server) knock(ctx context.Context, d *Delivery, signature string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Event.Body))
	if err != nil {
		return 0, err
	}
	h := req.Header
	h.Set("User-Agent", "Razorpay-Webhook/v1")
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "gzip")
	h.Set("Request-Id", d.Event.ID)
	h.Set("X-Razorpay-Event-Id", d.Event.ID)
	if signature != "" {
		h.Set("X-Razorpay-Signature", signature)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // the answer counts once it is complete, within the limit
	if err != nil {
		return 0, err
	}
	return res.StatusCode, nil
}

// planRetry sets the next attempt on the retry clock, or the end of the day after the last one.
func (s *Server) planRetry(d *Delivery, status int) {
	if d.State == Delivered || d.State == GivenUp {
		return // a repeat asked for by Deliver
	}
	if slices.ContainsFunc(s.endpoints, func(h *Webhook) bool { return h.URL == d.URL && h.Disabled }) {
		s.move(d, Unsent)
		return
	}
	first := d.Attempts[0].At
	step := len(d.Attempts) - 1
	if status == http.StatusBadRequest || d.Event.Name == "refund.created" || d.Event.Name == "payment.failed" {
		step++
	}
	end := d.Event.CreatedAt.Add(24 * time.Hour / time.Duration(s.opts.RetryScale))
	d.NextAt = end
	if step < len(retryClock) {
		d.NextAt = first.Add(retryClock[step] / time.Duration(s.opts.RetryScale))
	}
	if !d.NextAt.Before(end) {
		d.NextAt, d.last = end, true
	}
	s.move(d, Waiting)
}

// giveUp disables the endpoint after a day of failures, and with it everything else that was on its way there.
func (s *Server) giveUp(d *Delivery) {
	s.move(d, GivenUp)
	for _, h := range s.endpoints {
		if h.URL == d.URL {
			h.Disabled = true
		}
	}
	for other := range s.outgoing {
		if other.URL == d.URL && !other.inFlight {
			s.move(other, Unsent)
		}
	}
	s.touch()
}

// Events lists everything that happened, oldest first. The bodies are shared: read only.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Event
	for _, e := range s.events {
		out = append(out, *e)
	}
	return out
}

// Deliveries lists every delivery with its attempts, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Delivery
	for _, d := range s.deliveries {
		c := *d
		c.Attempts = slices.Clone(d.Attempts)
		out = append(out, c)
	}
	return out
}

// Release sends all that is held, in an order shuffled by the seed, and returns how many deliveries that were.
func (s *Server) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.deliveries {
		if d.State == Held {
			d.NextAt = s.now()
			s.move(d, Waiting)
			n++
		}
	}
	s.touch()
	return n
}

// Deliver makes one attempt of an event now, to every endpoint it is meant for, whatever its state: held events are let go one
// by one and in any order this way, delivered ones repeated with the same id and bytes, lost ones found again. An attempt that
// fails is retried on the clock unless the event had been delivered before.
func (s *Server) Deliver(ctx context.Context, eventID string) ([]Attempt, error) {
	s.mu.Lock()
	if s.eventByID[eventID] == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("deliver %s: %w", eventID, ErrNoSuch)
	}
	var mine []*Delivery
	seen := map[string]bool{}
	for _, d := range s.deliveries {
		if d.Event.ID == eventID && !d.inFlight && !seen[d.URL] {
			d.inFlight, seen[d.URL] = true, true
			mine = append(mine, d)
		}
	}
	s.mu.Unlock()
	var out []Attempt
	for _, d := range mine {
		out = append(out, s.tryDelivery(ctx, d))
	}
	return out, nil
}

// WaitIdle returns when no delivery is outstanding: each one delivered, held, lost, given up or its endpoint disabled. An
// endpoint that keeps failing keeps it waiting; WaitQuiet does not wait for retries that are not due yet.
func (s *Server) WaitIdle(ctx context.Context) error {
	return s.wait(ctx, func() string { return s.outstanding(false) })
}

// WaitQuiet returns when no delivery is in flight and nothing at all is due on the gateway's clock as it stands.
func (s *Server) WaitQuiet(ctx context.Context) error {
	return s.wait(ctx, func() string {
		if s.tasks.Len() > 0 && !s.tasks[0].at.After(s.now()) {
			return "work that is due"
		}
		return s.outstanding(true)
	})
}

func (s *Server) outstanding(dueOnly bool) string {
	n, example := 0, ""
	for d := range s.outgoing {
		if !dueOnly || d.inFlight || !d.NextAt.After(s.now()) {
			n++
			example = d.Event.Name
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d deliveries, among them %s", n, example)
}

// WaitEvents returns when at least n events of this name have happened, delivered or not.
func (s *Server) WaitEvents(ctx context.Context, name string, n int) error {
	return s.wait(ctx, func() string {
		seen := 0
		for _, e := range s.events {
			if e.Name == name {
				seen++
			}
		}
		if seen >= n {
			return ""
		}
		return fmt.Sprintf("%s number %d (%d seen)", name, n, seen)
	})
}

// WaitState returns when some delivery of the event is in this state.
func (s *Server) WaitState(ctx context.Context, eventID string, state DeliveryState) error {
	return s.wait(ctx, func() string {
		for _, d := range s.deliveries {
			if d.Event.ID == eventID && d.State == state {
				return ""
			}
		}
		return fmt.Sprintf("event %s to be %s", eventID, state)
	})
}
