package push

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tiffin/push/standin"
)

func newKeys(t *testing.T) Keys {
	t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Keys{Public: base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()), Private: base64.RawURLEncoding.EncodeToString(private.Bytes())}
}

// What is sent is read by that browser alone, signed by the shop, under the topic; each answer says what to do.
func TestSend(t *testing.T) {
	t.Parallel()
	service := standin.New()
	t.Cleanup(service.Close)
	keys := newKeys(t)
	sender := New(keys, "https://kesarkitchen.example", Testing{Loopback: true, Roots: service.Roots()})
	b, other := service.Browser(), service.Browser()
	m := Message{Endpoint: b.Endpoint, P256dh: b.P256dh, Auth: b.Auth, Payload: []byte(`{"title":"आपका ऑर्डर"}`), Topic: strings.Repeat("aZ0-_", 6), TTL: time.Hour, IsUrgent: true}
	if err := sender.Send(t.Context(), m); err != nil {
		t.Fatal(err, service.Refused())
	}
	got := b.Got()
	if len(got) != 1 || !bytes.Equal(got[0].Payload, m.Payload) || got[0].Topic != m.Topic || got[0].TTL != 3600 || got[0].Urgency != "high" || got[0].Subject != "https://kesarkitchen.example" {
		t.Errorf("%+v", got)
	}
	wrong := m
	wrong.P256dh, wrong.Auth = other.P256dh, other.Auth
	if err := sender.Send(t.Context(), wrong); !errors.Is(err, ErrPermanent) || len(b.Got()) != 1 {
		t.Errorf("encrypted for another browser: %v", err)
	}
	for _, c := range []struct {
		answer standin.Answer
		is     error
		after  time.Duration
	}{
		{standin.Answer{Status: 410}, ErrGone, 0}, {standin.Answer{Status: 404}, ErrGone, 0}, {standin.Answer{Status: 400}, ErrPermanent, 0}, {standin.Answer{Status: 413}, ErrPermanent, 0}, {standin.Answer{Status: 302}, ErrPermanent, 0},
		{standin.Answer{Status: 500}, nil, 0}, {standin.Answer{Status: 429}, nil, 0}, {standin.Answer{Status: 429, RetryAfter: "90"}, nil, 90 * time.Second}, {standin.Answer{Status: 503, RetryAfter: "999999"}, nil, time.Hour},
		{standin.Answer{Status: 429, RetryAfter: time.Now().Add(-time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}, nil, 0}, {standin.Answer{Status: 429, RetryAfter: "soon"}, nil, 0},
	} {
		service.Say(c.answer)
		err := sender.Send(t.Context(), m)
		var later *ErrLater
		after := time.Duration(0)
		if errors.As(err, &later) {
			after = later.After
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && (errors.Is(err, ErrGone) || errors.Is(err, ErrPermanent)) || after != c.after {
			t.Errorf("%+v: %v", c.answer, err)
		}
		if strings.Contains(err.Error(), b.Endpoint) {
			t.Errorf("%+v: the error quotes the endpoint", c.answer)
		}
	}
	for name, spoil := range map[string]func(*Message){"a key that is no point": func(m *Message) { m.P256dh = strings.Repeat("A", 87) }, "too long": func(m *Message) { m.Payload = make([]byte, 5000) },
		"http": func(m *Message) { m.Endpoint = strings.Replace(m.Endpoint, "https", "http", 1) }, "no address": func(m *Message) { m.Endpoint = "here" }, "a name and password": func(m *Message) { m.Endpoint = "https://a:b@push.example/x" }} {
		bad := m
		spoil(&bad)
		if err := sender.Send(t.Context(), bad); !errors.Is(err, ErrPermanent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	service.Close()
	if err := sender.Send(t.Context(), m); err == nil || errors.Is(err, ErrPermanent) || errors.Is(err, ErrGone) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("nobody there: %v", err)
	}
}

// The shop as it ships asks no address of this machine, of its net or of none, whatever it is called.
func TestOnlyPublicAddressesAreAsked(t *testing.T) {
	t.Parallel()
	service := standin.New()
	t.Cleanup(service.Close)
	sender := New(newKeys(t), "orders@kesarkitchen.example", Testing{Roots: service.Roots()})
	b := service.Browser()
	for _, endpoint := range []string{b.Endpoint, strings.Replace(b.Endpoint, "127.0.0.1", "localhost", 1), "https://127.0.0.1/x", "https://[::1]/x", "https://[::ffff:127.0.0.1]/x", "https://0.0.0.0/x", "https://10.0.0.1/x", "https://169.254.169.254/latest",
		"https://[fe80::1]/x", "https://[fd00::1]/x", "https://2130706433/x", "https://0177.0.0.1/x"} {
		err := sender.Send(t.Context(), Message{Endpoint: endpoint, P256dh: b.P256dh, Auth: b.Auth, Payload: []byte("x")})
		if err == nil || len(b.Got()) > 0 || len(service.Refused()) > 0 {
			t.Errorf("%s was asked: %v", endpoint, err)
		}
	}
	for text, public := range map[string]bool{"8.8.8.8": true, "2a00:1450:4001::1": true, "142.250.1.1": true, "127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false, "240.0.0.1": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "ff02::1": false,
		"::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "2001:db8::1": false, "fec0::1": false, "::10.0.0.1": false} {
		if got := isPublic(netip.MustParseAddr(text)); got != public {
			t.Errorf("%s: public %v", text, got)
		}
	}
	if err := New(newKeys(t), "x@y.example", Testing{}).Send(t.Context(), Message{Endpoint: "https://8.8.8.8:22/x", P256dh: b.P256dh, Auth: b.Auth}); !errors.Is(err, ErrPermanent) {
		t.Errorf("another port than a push service's: %v", err)
	}
}
