// Package push sends one message to one browser through the push service that browser named (RFC 8030), encrypted so that nobody on the way
// can read it (RFC 8291) and signed by the shop (RFC 8292).
// It knows HTTP and addresses; it must not know what is told or why, and logs nothing: an endpoint is as good as a name.
// It promises that nothing but a public address is ever asked, and that an error says what to do: forget it, wait, or try again.
// Read push.go; address.go is who may be asked.
package push

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"
)

// sendLimit bounds one Send, name look-up and answer included.
const sendLimit = 8 * time.Second

// What became of a message that was not taken. Every other error of Send is worth another try.
var (
	ErrGone      = errors.New("the browser is no longer subscribed")  // 404 or 410: it will never come back under this endpoint
	ErrPermanent = errors.New("the push service refuses the message") // trying again sends the same
)

// ErrLater says that the push service wants no more until After has passed.
type ErrLater struct{ After time.Duration }

func (e *ErrLater) Error() string { return "the push service wants no more for " + e.After.String() }

// maxWait bounds what a push service may ask for: what it tells of is over by then.
const maxWait = time.Hour

// Keys are the shop's own, base64url: browsers are given the public one, and their push services take only what the other has signed.
type Keys struct{ Public, Private string }

// Message is one notification for one browser.
type Message struct {
	Endpoint, P256dh, Auth string // the subscription, as the browser gave it
	Payload                []byte // at most 3,900 bytes
	Topic                  string // of two messages with one topic that a browser has not fetched yet the push service keeps the newer; at most 32 of A-Z a-z 0-9 - _
	TTL                    time.Duration
	IsUrgent               bool // also to a phone that saves its battery
}

// Testing is what only a test may say: that this machine may be asked, whose certificates to believe. The zero value is the shop's.
type Testing struct {
	Loopback bool
	Roots    *x509.CertPool
}

// Sender sends messages. Its methods may be called from any goroutine.
type Sender struct {
	keys    Keys
	contact string
	client  *http.Client
}

// New makes a Sender. contact is whom a push service can write to about its messages: an https address or an email address.
func New(keys Keys, contact string, testing Testing) *Sender {
	return &Sender{keys: keys, contact: contact, client: &http.Client{
		Transport:     transport(testing),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Send encrypts the message and hands it to the push service. Repeating it shows the message again, in the place of the first where the
// Topic is the same. It makes a network call and must not be called inside a transaction. An error's text does not hold the endpoint.
func (s *Sender) Send(ctx context.Context, m Message) error {
	if !IsEndpoint(m.Endpoint) {
		return fmt.Errorf("push: %w: not an endpoint", ErrPermanent)
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	urgency := webpush.UrgencyNormal
	if m.IsUrgent {
		urgency = webpush.UrgencyHigh
	}
	asked := &asker{client: s.client}
	answer, err := webpush.SendNotificationWithContext(ctx, m.Payload, &webpush.Subscription{Endpoint: m.Endpoint, Keys: webpush.Keys{P256dh: m.P256dh, Auth: m.Auth}},
		&webpush.Options{HTTPClient: asked, Subscriber: s.contact, Topic: m.Topic, TTL: int(m.TTL.Seconds()), Urgency: urgency, VAPIDPublicKey: s.keys.Public, VAPIDPrivateKey: s.keys.Private})
	switch {
	case errors.Is(err, errPrivate):
		return fmt.Errorf("push: %w: its address is not a public one", ErrPermanent)
	case err != nil && !asked.once:
		return fmt.Errorf("push: %w: it cannot be encrypted", ErrPermanent) // keys that are none, or too long a text
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("push: no answer: %w", ctx.Err())
	case err != nil:
		return errors.New("push: no answer") // err quotes the endpoint
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4<<10)) // so that the connection can be used again; what it says is for nobody
	return judge(answer)
}

// asker notes that the message got as far as being sent.
type asker struct {
	client *http.Client
	once   bool
}

func (a *asker) Do(r *http.Request) (*http.Response, error) {
	a.once = true
	return a.client.Do(r)
}

// judge turns an answer into what to do (RFC 8030, section 5; the push services' own pages, read December 2026).
func judge(answer *http.Response) error {
	status := answer.StatusCode
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return fmt.Errorf("push: %w", ErrGone)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		if after, said := retryAfter(answer.Header.Get("Retry-After")); said {
			return fmt.Errorf("push: %w", &ErrLater{After: after})
		}
		return fmt.Errorf("push: status %d", status)
	case status >= 300 && status < 500 && status != http.StatusRequestTimeout:
		return fmt.Errorf("push: %w: status %d", ErrPermanent, status)
	}
	return fmt.Errorf("push: status %d", status)
}

// retryAfter reads seconds or a date.
func retryAfter(header string) (after time.Duration, said bool) {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil && seconds >= 0 {
		return min(time.Duration(seconds)*time.Second, maxWait), true
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(time.Until(at), 0), maxWait), true
	}
	return 0, false
}
