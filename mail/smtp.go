package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// smtpServer is the way out through one SMTP server. Each letter has a connection of its own: they are few and far between.
type smtpServer struct {
	host           string
	port           int
	user, password string
	implicit       bool // TLS from the first byte
	policy         gomail.TLSPolicy
	tls            *tls.Config
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
}

func newSMTP(smtpURL string) (*smtpServer, error) {
	u, err := url.Parse(smtpURL)
	if err != nil {
		return nil, errors.New("the SMTP address is not a URL") // the reason quotes the password
	}
	s := &smtpServer{host: u.Hostname(), user: u.User.Username(), policy: gomail.TLSMandatory, dial: (&net.Dialer{}).DialContext}
	s.password, _ = u.User.Password()
	switch u.Scheme {
	case "smtp":
		s.port = 587
		if loopback(s.host) {
			s.policy = gomail.NoTLS
		}
	case "smtps":
		s.port, s.implicit = 465, true
	default:
		return nil, fmt.Errorf("the SMTP address begins with %q, want smtp:// or smtps://", u.Scheme+"://")
	}
	if s.host == "" {
		return nil, errors.New("the SMTP address names no host")
	}
	if p := u.Port(); p != "" {
		if s.port, err = strconv.Atoi(p); err != nil || s.port < 1 || s.port > 65535 {
			return nil, fmt.Errorf("the SMTP address has port %s", p)
		}
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return nil, errors.New("the SMTP address has something after the host; a password's special characters are written as %40 and the like")
	}
	if (s.user == "") != (s.password == "") {
		return nil, errors.New("the SMTP address has a user or a password, but not both")
	}
	for key, values := range u.Query() {
		if key != "tls" || len(values) != 1 || values[0] != "none" || s.implicit {
			return nil, fmt.Errorf("the SMTP address asks for %s=%s; all that can be asked for is tls=none, with smtp://", key, strings.Join(values, ","))
		}
		s.policy = gomail.NoTLS
	}
	if s.policy == gomail.NoTLS && s.user != "" && !loopback(s.host) {
		return nil, errors.New("the SMTP address would send its password over the network in clear")
	}
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *smtpServer) send(ctx context.Context, letter *gomail.Msg, _ string) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	client, err := s.client(ctx)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return failure(ctx, "reach the server", err)
	}
	if err := client.SendWithSMTPClient(session, letter); err != nil {
		return failure(ctx, "hand over the letter", err)
	}
	_ = session.Quit() // the letter was taken, and an error now would have it sent again
	return nil
}

// client is good for one session, whose connection is closed when ctx ends: the library itself minds ctx only while it dials,
// and gives a connection up, open, when the greeting fails.
func (s *smtpServer) client(ctx context.Context) (*gomail.Client, error) {
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		if !s.implicit {
			return conn, nil
		}
		secure := tls.Client(conn, s.tls)
		return secure, secure.HandshakeContext(dialing)
	}
	options := []gomail.Option{ // RSET after the letter and NOOP before it could only fail
		gomail.WithPort(s.port), gomail.WithTLSPolicy(s.policy), gomail.WithTLSConfig(s.tls), gomail.WithTimeout(sendLimit),
		gomail.WithoutNoop(), gomail.WithoutRset(), gomail.WithDialContextFunc(dial),
	}
	if s.implicit {
		options = append(options, gomail.WithSSL())
	}
	if s.user != "" {
		// Plain and Login refuse to run without TLS, unless the server is on this machine.
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	return gomail.NewClient(s.host, options...)
}

// failure puts err into words fit for a log: servers like to repeat addresses.
func failure(ctx context.Context, deed string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", deed, ctx.Err())
	}
	err = fmt.Errorf("%s: %w", deed, withoutAddresses{err})
	if refused := new(gomail.SendError); errors.As(err, &refused) && isPermanent(refused) {
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	}
	return err
}

// withoutAddresses is an error whose text has every address taken out.
type withoutAddresses struct{ error }

var address = regexp.MustCompile(`\S*@\S*`)

func (e withoutAddresses) Error() string { return address.ReplaceAllString(e.error.Error(), "…") }
func (e withoutAddresses) Unwrap() error { return e.error }

// isPermanent says whether the server has refused this letter for good. A 5xx that speaks of us, our login (530, 535, 538) or the
// server's policies (5.7.x, RFC 3463) is for the owner to mend, and the letter still wanted then.
func isPermanent(e *gomail.SendError) bool {
	switch e.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return false
	}
	switch code := e.ErrorCode(); code {
	case 503, 530, 535, 538:
		return false
	default:
		return code >= 500 && code <= 599 && !strings.HasPrefix(e.EnhancedStatusCode(), "5.7.")
	}
}
