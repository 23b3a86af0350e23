// Package mail sends one message to one person, through an SMTP server or, without one, as a file in a folder.
// It knows SMTP and the form of a letter; it must not know who gets one or why, and logs nothing, since letters hold names and codes.
// It promises that a nil error means the letter was taken over, and that an error says whether trying again makes sense.
// Read mail.go; smtp.go is the one way out, folder.go the other.
package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// sendLimit bounds one Send. RFC 5321 allows minutes for each answer, but the letter is sent from a job that will try again.
const sendLimit = 30 * time.Second

// ErrPermanent says that this letter will never be taken, however often it is tried: its address is none, or the server knows
// no such mailbox, or refuses its content. Every other error of Send is worth another try.
var ErrPermanent = errors.New("the letter cannot be delivered")

// Message is one letter to one person.
type Message struct {
	To        string // one address, "asha@example.in" or "Asha <asha@example.in>"
	Subject   string // one line
	Text      string // what a reader without HTML sees; always there
	HTML      string // the same, or empty
	MessageID string // id@domain, at most 80 characters; a letter sent twice carries the same, so that the reader's program can show it once
}

// Sender sends letters. Its methods may be called from any goroutine.
type Sender struct {
	from *netmail.Address
	way  way
}

// way is how a letter leaves.
type way interface {
	send(ctx context.Context, letter *gomail.Msg, id string) error
}

// New makes a Sender of letters from the address from. smtpURL is smtp://user:password@host:587 or smtps://…:465, the user and
// the ports may be left out. With smtp the server has to offer STARTTLS, unless it is on this machine or the URL ends with
// ?tls=none, which a password excludes. With an empty smtpURL letters become files in dir, which is made.
// Errors name the part that is wrong, never the password.
func New(smtpURL, dir, from string) (*Sender, error) {
	sender, err := parseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("mail: sender %q: %w", from, err)
	}
	var w way
	switch {
	case smtpURL != "":
		w, err = newSMTP(smtpURL)
	case dir != "":
		w, err = newFolder(dir)
	default:
		err = errors.New("neither an SMTP server nor a folder is given")
	}
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return &Sender{from: sender, way: w}, nil
}

// Send hands the letter over and returns when it was taken, within half a minute. Repeating it sends the letter again, with the
// same Message-ID; a folder keeps one file for each. It must not be called inside a transaction. Errors: ErrPermanent, or
// anything else for trouble that may pass. An error's text does not hold the address.
func (s *Sender) Send(ctx context.Context, m Message) error {
	letter, err := s.compose(m)
	if err != nil {
		return fmt.Errorf("mail: %w: %w", ErrPermanent, err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	if err := s.way.send(ctx, letter, m.MessageID); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}

// compose refuses what could not be one well-formed letter, above all line ends that would smuggle in a header.
func (s *Sender) compose(m Message) (*gomail.Msg, error) {
	to, err := parseAddress(m.To)
	if err != nil {
		return nil, fmt.Errorf("recipient: %w", err)
	}
	if strings.TrimSpace(m.Subject) == "" || strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return nil, errors.New("the subject is not one line of text")
	}
	if strings.TrimSpace(m.Text) == "" {
		return nil, errors.New("there is no text")
	}
	if err := checkMessageID(m.MessageID); err != nil {
		return nil, err
	}
	letter := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := letter.From(s.from.String()); err != nil {
		return nil, err
	}
	if err := letter.To(to.String()); err != nil {
		return nil, errors.New("recipient: not an address")
	}
	letter.Subject(m.Subject)
	letter.SetMessageIDWithValue(m.MessageID)
	letter.SetDate()
	letter.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no absence notes, please
	letter.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		letter.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return letter, nil
}

func parseAddress(s string) (*netmail.Address, error) {
	a, err := netmail.ParseAddress(s)
	if err != nil {
		return nil, errors.New("not an address") // the reason quotes the address
	}
	return a, nil
}

// checkMessageID accepts id@domain of printable ASCII without the characters that end it, short enough for a file's name.
func checkMessageID(id string) error {
	left, right, _ := strings.Cut(id, "@")
	if left == "" || right == "" || len(id) > 80 || strings.ContainsFunc(id, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`<>"(),:;\[]`, r)
	}) || strings.Contains(right, "@") {
		return errors.New("the message id is not of the form id@domain, or too long")
	}
	return nil
}
