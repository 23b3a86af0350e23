// Package standin is a push service and the browsers behind it: it takes messages over TLS, checks who signed them and reads them as a
// browser does.
// It knows RFC 8030, 8188, 8291 and 8292; it must not know who sends or why, and shares no code with the sender.
// It promises to refuse what a real one would: a wrong signature, another audience, a text that cannot be decrypted.
// Read Server.take.
package standin

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Message is one that was taken, as the browser reads it.
type Message struct {
	Payload []byte
	Topic   string
	Urgency string
	TTL     int
	Subject string // whom the sender says can be written to
}

// Answer is what the service says instead of taking a message.
type Answer struct {
	Status     int
	RetryAfter string
}

// Server is the push service.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex
	key      string // the only sender it takes messages from; empty: the first one it hears of
	browsers map[string]*Browser
	answers  []Answer
	after    func() // runs when a message was taken, before that is answered
	refused  []string
}

// Browser is one subscription.
type Browser struct {
	Endpoint, P256dh, Auth string

	server  *Server
	private *ecdh.PrivateKey
	secret  []byte
	got     []Message
}

// New starts a service on this machine.
func New() *Server {
	s := &Server{browsers: map[string]*Browser{}}
	s.http = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	return s
}

// Close stops it.
func (s *Server) Close() { s.http.Close() }

// Roots is whose certificates its senders have to believe.
func (s *Server) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.http.Certificate())
	return pool
}

// PEM is its certificate as a file has it, for a sender in another process.
func (s *Server) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// Browser makes a subscription.
func (s *Server) Browser() *Browser {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // the machine has no chance left
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	path := fmt.Sprintf("/push/%d", len(s.browsers)+1)
	b := &Browser{Endpoint: s.http.URL + path, P256dh: base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()), Auth: base64.RawURLEncoding.EncodeToString(secret),
		server: s, private: private, secret: secret}
	s.browsers[path] = b
	return b
}

// Say has the next messages answered so, one after the other; none is taken.
func (s *Server) Say(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// After runs something whenever a message was taken, before the sender hears of it. nil: nothing.
func (s *Server) After(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = do
}

// Refused lists why messages were refused.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.refused...)
}

// Got lists what the browser was sent, oldest first.
func (b *Browser) Got() []Message {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	return append([]Message{}, b.got...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 5<<10))
	if err != nil {
		return
	}
	s.mu.Lock()
	b, after := s.browsers[r.URL.Path], s.after
	if len(s.answers) > 0 {
		answer := s.answers[0]
		s.answers = s.answers[1:]
		s.mu.Unlock()
		if answer.RetryAfter != "" {
			w.Header().Set("Retry-After", answer.RetryAfter)
		}
		if answer.Status >= 300 && answer.Status < 400 {
			w.Header().Set("Location", s.http.URL+"/elsewhere")
		}
		w.WriteHeader(answer.Status)
		return
	}
	status := http.StatusCreated
	switch {
	case b == nil:
		status = http.StatusNotFound
	default:
		if message, err := s.take(b, r, body); err != nil {
			s.refused = append(s.refused, err.Error())
			status = http.StatusForbidden
		} else {
			b.got = append(b.got, message)
		}
	}
	s.mu.Unlock()
	if after != nil && status == http.StatusCreated {
		after()
	}
	w.WriteHeader(status)
}

// take judges and reads one message. Under the lock.
func (s *Server) take(b *Browser, r *http.Request, body []byte) (m Message, err error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" || len(body) > 4096 {
		return m, errors.New("not a message of RFC 8291")
	}
	if m.TTL, err = strconv.Atoi(r.Header.Get("TTL")); err != nil {
		return m, errors.New("no TTL")
	}
	m.Topic, m.Urgency = r.Header.Get("Topic"), r.Header.Get("Urgency")
	if len(m.Topic) > 32 || strings.Trim(m.Topic, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return m, errors.New("not a topic")
	}
	if m.Subject, err = s.signed(r); err != nil {
		return m, err
	}
	m.Payload, err = b.read(body)
	return m, err
}

// signed checks the sender's word for itself and returns its subject.
func (s *Server) signed(r *http.Request) (subject string, err error) {
	rest, isVAPID := strings.CutPrefix(r.Header.Get("Authorization"), "vapid ")
	token, key, both := strings.Cut(rest, ",")
	token, key = strings.TrimPrefix(strings.TrimSpace(token), "t="), strings.TrimPrefix(strings.TrimSpace(key), "k=")
	parts := strings.Split(token, ".")
	if !isVAPID || !both || len(parts) != 3 {
		return "", errors.New("no signature")
	}
	if s.key == "" {
		s.key = key
	}
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || key != s.key {
		return "", errors.New("signed with another key")
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return "", err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", errors.New("no ES256 signature")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", errors.New("a wrong signature")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	switch left := time.Until(time.Unix(claims.Exp, 0)); {
	case err != nil:
		return "", err
	case claims.Aud != s.http.URL:
		return "", errors.New("meant for another service: " + claims.Aud)
	case left <= 0 || left > 24*time.Hour:
		return "", errors.New("a signature that is over, or lasts too long")
	}
	return claims.Sub, nil
}

// read decrypts one record (RFC 8188) under the keys of RFC 8291.
func (b *Browser) read(body []byte) ([]byte, error) {
	if len(body) < 21 || len(body) < 21+int(body[20]) {
		return nil, errors.New("no header")
	}
	salt, senders, sealed := body[:16], body[21:21+int(body[20])], body[21+int(body[20]):]
	public, err := ecdh.P256().NewPublicKey(senders)
	if err != nil {
		return nil, err
	}
	shared, err := b.private.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := append(append([]byte("WebPush: info\x00"), b.private.PublicKey().Bytes()...), senders...)
	ikm, err := hkdf.Key(sha256.New, shared, b.secret, string(info), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, errors.New("not for this browser")
	}
	plain = bytes.TrimRight(plain, "\x00")
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("no last record")
	}
	return plain[:len(plain)-1], nil
}
