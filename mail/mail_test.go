package mail

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const from = "Tiffin <orders@tiffin.example>"

var letter = Message{
	To: "asha@example.in", Subject: "Your order 1042 — ₹1,250.00", Text: "Paid: ₹1,250.00\n.\nThank you\n",
	HTML: "<p>Paid: ₹1,250.00</p>", MessageID: "confirm-1042@tiffin.example",
}

func TestSendBySMTP(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := sender(t, "smtp://"+server.addr)
	if err := s.Send(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	got := server.letters(t, 1)[0]
	if got.from != "orders@tiffin.example" || !slices.Equal(got.to, []string{"asha@example.in"}) {
		t.Errorf("envelope from %s to %s", got.from, got.to)
	}
	if got.secure || got.user != "" {
		t.Errorf("TLS %v, user %q; a server on this machine needs neither", got.secure, got.user)
	}
	check(t, got.data)
}

func TestSendIntoAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "post", "out")
	s, err := New("", dir, from)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the same letter again makes no second file
		if err := s.Send(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	other := letter
	other.MessageID = "../a/b c@tiffin.example"
	if err := s.Send(t.Context(), other); !errors.Is(err, ErrPermanent) {
		t.Errorf("a message id with a blank: %v", err)
	}
	other.MessageID = "../a/b_c@tiffin.example"
	if err := s.Send(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "_2e._2fa_2fb_5fc@tiffin.example.eml"), filepath.Join(dir, "confirm-1042@tiffin.example.eml")}
	if !slices.Equal(files, want) {
		t.Fatalf("files %v, want %v", files, want)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != len(want) {
		t.Errorf("%d files in all, hidden ones too; %v", len(all), err)
	}
	fi, err := os.Stat(want[1])
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	data, err := os.ReadFile(want[1])
	if err != nil {
		t.Fatal(err)
	}
	check(t, string(data))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ctx, letter); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), letter); err == nil || errors.Is(err, ErrPermanent) {
		t.Errorf("without its folder: %v, want an error that may pass", err)
	}
}

// check reads the letter as a mail program would.
func check(t *testing.T, data string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != letter.Subject {
		t.Errorf("subject %q, %v", subject, err)
	}
	for header, want := range map[string]string{
		"Message-Id": "<confirm-1042@tiffin.example>", "To": "<asha@example.in>", "From": `"Tiffin" <orders@tiffin.example>`,
		"Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "",
	} {
		if got := m.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error("Date:", err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("content type %q, %v", kind, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, want := range []struct{ kind, body string }{
		{"text/plain; charset=UTF-8", letter.Text}, {"text/html; charset=UTF-8", letter.HTML},
	} {
		p, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(body), "\r\n", "\n"); p.Header.Get("Content-Type") != want.kind || got != want.body {
			t.Errorf("part %s: %q, want %s: %q", p.Header.Get("Content-Type"), got, want.kind, want.body)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		t.Errorf("after the last part: %v", err)
	}
}

func TestSendWithoutHTMLIsPlainText(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	m := letter
	m.HTML = ""
	if err := sender(t, "smtp://"+server.addr).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, err := netmail.ReadMessage(strings.NewReader(server.letters(t, 1)[0].data))
	if err != nil {
		t.Fatal(err)
	}
	if kind := got.Header.Get("Content-Type"); kind != "text/plain; charset=UTF-8" {
		t.Errorf("content type %q", kind)
	}
}

func TestSendRefusesWhatIsNoLetter(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := sender(t, "smtp://"+server.addr)
	for name, change := range map[string]func(*Message){
		"no recipient":                   func(m *Message) { m.To = "" },
		"recipient without a domain":     func(m *Message) { m.To = "asha" },
		"two recipients":                 func(m *Message) { m.To = "asha@example.in, ravi@example.in" },
		"header in the recipient":        func(m *Message) { m.To = "asha@example.in\r\nBcc: spy@example.in" },
		"folded header in the recipient": func(m *Message) { m.To = "Asha\r\n <asha@example.in>" },
		"header in the name":             func(m *Message) { m.To = "\"Asha\r\nBcc: spy@example.in\" <asha@example.in>" },
		"header in the subject":          func(m *Message) { m.Subject = "Hello\r\nBcc: spy@example.in" },
		"lone line feed in the subject":  func(m *Message) { m.Subject = "Hello\nBcc: spy@example.in" },
		"no subject":                     func(m *Message) { m.Subject = " " },
		"no text":                        func(m *Message) { m.Text = "\n" },
		"no message id":                  func(m *Message) { m.MessageID = "" },
		"message id without a domain":    func(m *Message) { m.MessageID = "confirm-1" },
		"header in the message id":       func(m *Message) { m.MessageID = "a@b>\r\nBcc: spy@example.in" },
		"message id that is too long":    func(m *Message) { m.MessageID = strings.Repeat("a", 80) + "@b" },
	} {
		t.Run(name, func(t *testing.T) {
			m := letter
			change(&m)
			err := s.Send(t.Context(), m)
			if !errors.Is(err, ErrPermanent) {
				t.Fatalf("error %v, want ErrPermanent", err)
			}
			if strings.Contains(err.Error(), "asha") {
				t.Errorf("%q holds the address", err)
			}
		})
	}
	server.letters(t, 0)
}

func TestSendByEncryptedSMTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, url string
		offer     *server
		secure    bool
		user      string
		fails     string
	}{
		{name: "elsewhere_takes_STARTTLS", url: "smtp://mail.test", offer: &server{startTLS: true}, secure: true},
		{name: "elsewhere_without_STARTTLS_is_refused", url: "smtp://mail.test", fails: "STARTTLS"},
		{name: "elsewhere_in_clear_when_said", url: "smtp://mail.test?tls=none"},
		{name: "logs_in", url: "smtp://shop:s%40cret@mail.test", offer: &server{startTLS: true, auth: "LOGIN PLAIN"}, secure: true, user: "shop s@cret"},
		{name: "logs_in_with_TLS_from_the_start", url: "smtps://shop:s%40cret@mail.test", offer: &server{implicit: true, auth: "PLAIN"}, secure: true, user: "shop s@cret"},
		{name: "logs_in_on_this_machine", url: "smtp://shop:s%40cret@127.0.0.1", offer: &server{auth: "PLAIN"}, user: "shop s@cret"},
		{name: "certificate_of_another_host", url: "smtp://other.test", offer: &server{startTLS: true}, fails: "certificate"},
		{name: "certificate_of_another_host_from_the_start", url: "smtps://other.test", offer: &server{implicit: true}, fails: "certificate"},
		{name: "no_TLS_from_the_start", url: "smtps://mail.test", fails: "tls"},
		{name: "login_that_fails_may_pass", url: "smtp://shop:wrong@mail.test", offer: &server{startTLS: true, auth: "PLAIN"}, fails: "535"},
		{name: "login_that_is_not_offered", url: "smtp://shop:wrong@mail.test", offer: &server{startTLS: true}, fails: "AUTH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, tt.offer)
			s := sender(t, tt.url)
			way := s.way.(*smtpServer)
			way.tls.RootCAs = srv.roots
			way.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, srv.addr)
			}
			err := s.Send(t.Context(), letter)
			if tt.fails != "" {
				if err == nil || errors.Is(err, ErrPermanent) || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one that may pass and speaks of %s", err, tt.fails)
				}
				srv.letters(t, 0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := srv.letters(t, 1)[0]; got.secure != tt.secure || got.user != tt.user {
				t.Errorf("TLS %v, user %q, want %v, %q", got.secure, got.user, tt.secure, tt.user)
			}
		})
	}
}

func TestSendTellsTroubleThatPassesFromTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		answers   map[string]string // to a command, instead of the usual
		permanent bool
	}{
		{"no_such_mailbox", map[string]string{"RCPT": "550 5.1.1 <asha@example.in>: no such user"}, true},
		{"no_such_mailbox_said_shortly", map[string]string{"RCPT": "550 no"}, true},
		{"mailbox_full", map[string]string{"RCPT": "452 4.2.2 over quota"}, false},
		{"greylisted", map[string]string{"RCPT": "450 4.7.1 asha@example.in: try later"}, false},
		{"we_may_not_relay", map[string]string{"RCPT": "554 5.7.1 relay access denied"}, false},
		{"we_should_log_in", map[string]string{"RCPT": "530 5.5.1 log in first"}, false},
		{"our_sender_refused", map[string]string{"MAIL": "550 5.1.0 sender rejected"}, false},
		{"content_refused", map[string]string{".": "554 5.6.0 malformed"}, true},
		{"too_large", map[string]string{"DATA": "552 5.3.4 too big"}, true},
		{"shutting_down", map[string]string{".": "421 4.3.2 bye"}, false},
		{"not_ready", map[string]string{"": "554 no service today"}, false},
		{"hangs_up", map[string]string{"DATA": "hang up"}, false},
		{"hangs_up_before_the_answer", map[string]string{".": "hang up"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, &server{answers: tt.answers})
			err := sender(t, "smtp://"+srv.addr).Send(t.Context(), letter)
			if err == nil || errors.Is(err, ErrPermanent) != tt.permanent {
				t.Fatalf("error %v, permanent wanted: %v", err, tt.permanent)
			}
			if strings.Contains(err.Error(), "asha") {
				t.Errorf("%q holds the address", err)
			}
		})
	}
	t.Run("nobody_there", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if err := sender(t, "smtp://"+l.Addr().String()).Send(t.Context(), letter); err == nil || errors.Is(err, ErrPermanent) {
			t.Errorf("error %v, want one that may pass", err)
		}
	})
	// A letter that was taken must not be sent again.
	t.Run("trouble_after_the_letter_was_taken_is_none", func(t *testing.T) {
		t.Parallel()
		for _, answer := range []string{"hang up", "500 what?"} {
			srv := serve(t, &server{answers: map[string]string{"QUIT": answer, "RSET": answer, "NOOP": answer}})
			if err := sender(t, "smtp://"+srv.addr).Send(t.Context(), letter); err != nil {
				t.Error(err)
			}
			srv.letters(t, 1)
		}
	})
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, silent := range []string{"", "EHLO", "RCPT", "."} {
		t.Run("silence_after_"+silent, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			srv := serve(t, &server{answers: map[string]string{silent: "silence"}, onSilence: cancel})
			if err := sender(t, "smtp://"+srv.addr).Send(ctx, letter); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPermanent) {
				t.Errorf("error %v, want the context's", err)
			}
			srv.wait() // so the connection was closed, and no session left
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, from, err string }{
		{"smtp://mail.test", from, ""},
		{"smtp://[::1]:2525", from, ""},
		{"smtps://u:p@mail.test:465/", from, ""},
		{"smtp://u:p@localhost?tls=none", from, ""},
		{"", from, "neither"},
		{"mail.test:25", from, "begins with"},
		{"http://mail.test", from, "begins with"},
		{"smtp://", from, "no host"},
		{"smtp://mail.test:0", from, "port"},
		{"smtp://mail.test:70000", from, "port"},
		{"smtp://u@mail.test", from, "not both"},
		{"smtp://:hunter2@mail.test", from, "not both"},
		{"smtp://u:hunter2@mail.test?tls=none", from, "in clear"},
		{"smtp://mail.test?tls=maybe", from, "tls=none"},
		{"smtp://mail.test?ssl=none", from, "tls=none"},
		{"smtps://mail.test?tls=none", from, "tls=none"},
		{"smtp://u:hunter2/x@mail.test", from, "not a URL"},
		{"smtp://mail.test/inbox", from, "after the host"},
		{"smtp://u:hunter2%@mail.test", from, "not a URL"},
		{"smtp://mail.test", "", "sender"},
		{"smtp://mail.test", "tiffin", "sender"},
		{"smtp://mail.test", "a@b.in\r\nBcc: c@d.in", "sender"},
	} {
		_, err := New(tt.url, "", tt.from)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s from %q: error %v, want %q", tt.url, tt.from, err, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q tells the password", err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New("", file, from); err == nil {
		t.Error("took a file for a folder")
	}
}

func sender(t *testing.T, smtpURL string) *Sender {
	t.Helper()
	s, err := New(smtpURL, "", from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// server is an SMTP server that takes letters, or does to a command what answers says: an answer of its own, "hang up", or
// "silence". The command "" is the greeting, "." the end of a letter.
type server struct {
	startTLS, implicit bool
	auth               string // the mechanisms offered, once the connection is as safe as it gets
	answers            map[string]string
	onSilence          func()

	l     net.Listener
	addr  string
	roots *x509.CertPool
	cert  tls.Certificate
	wg    sync.WaitGroup
	mu    sync.Mutex
	taken []taken
}

type taken struct {
	from, user string
	to         []string
	data       string
	secure     bool
}

func serve(t *testing.T, s *server) *server {
	t.Helper()
	if s == nil {
		s = &server{}
	}
	s.cert, s.roots = certificate(t, "mail.test")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.l, s.addr = l, l.Addr().String()
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(s.wait)
	return s
}

// letters gives what was taken, which has to be n.
func (s *server) letters(t *testing.T, n int) []taken {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) != n {
		t.Fatalf("%d letters were taken, want %d", len(s.taken), n)
	}
	return s.taken
}

// wait returns when all sessions have ended.
func (s *server) wait() {
	s.l.Close()
	s.wg.Wait()
}

func (s *server) talk(c net.Conn) {
	defer func() { c.Close() }()
	var got taken
	if s.implicit {
		c, got.secure = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{s.cert}}), true
	}
	in := bufio.NewReader(c)
	// say answers a command; false ends the session.
	say := func(command, usual string) bool {
		answer, special := s.answers[command]
		if !special {
			answer = usual
		}
		switch answer {
		case "hang up":
			return false
		case "silence":
			s.onSilence()
			_, _ = io.Copy(io.Discard, in) // until the client goes
			return false
		}
		_, err := io.WriteString(c, answer+"\r\n")
		return err == nil
	}
	if !say("", "220 mail.test ESMTP") {
		return
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		verb = strings.ToUpper(verb)
		usual := "250 ok"
		switch verb {
		case "EHLO":
			usual = "250-mail.test"
			if s.startTLS && !got.secure {
				usual += "\r\n250-STARTTLS"
			} else if s.auth != "" {
				usual += "\r\n250-AUTH " + s.auth
			}
			usual += "\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES"
		case "STARTTLS":
			if !say(verb, "220 go on") {
				return
			}
			c, got.secure = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{s.cert}}), true
			in = bufio.NewReader(c)
			continue
		case "AUTH":
			_, initial, _ := strings.Cut(rest, " ")
			b, err := base64.StdEncoding.DecodeString(initial)
			parts := strings.Split(string(b), "\x00")
			if err != nil || len(parts) != 3 || parts[2] == "wrong" {
				usual = "535 5.7.8 shop@tiffin.example: bad credentials"
				break
			}
			got.user, usual = parts[1]+" "+parts[2], "235 welcome"
		case "MAIL":
			got.from = between(rest)
		case "RCPT":
			got.to = append(got.to, between(rest))
		case "DATA":
			if !say(verb, "354 go on") {
				return
			}
			if s.answers[verb] != "" {
				continue
			}
			var data strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				data.WriteString(strings.TrimPrefix(line, "."))
			}
			got.data, verb = data.String(), "."
			if s.answers[verb] == "" {
				s.mu.Lock()
				s.taken = append(s.taken, got)
				s.mu.Unlock()
			}
		case "QUIT":
			say(verb, "221 bye")
			return
		}
		if !say(verb, usual) {
			return
		}
	}
}

// between is the address between angle brackets.
func between(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}

func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
