package handlers

import (
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
)

// field is one name a form may send.
type field struct {
	name string
	max  int  // bytes of one value; far above what a page lets people type, who are told about their own limits elsewhere
	many bool // may be sent more than once
	text bool // may have line breaks
}

// csrfField is in every form of ours.
const csrfField = "_csrf"

// maxFields bounds a form: the longest of ours is a dish with every choice ticked.
const maxFields = 200

// form holds the values of the fields a route knows. A field that was not sent is empty.
type form struct{ values map[string][]string }

func (f form) get(name string) string {
	if len(f.values[name]) == 0 {
		return ""
	}
	return f.values[name][0]
}

func (f form) has(name string) bool { return len(f.values[name]) > 0 }

// readForm reads the body as a form with these fields and nothing else. An unknown field, a price say, is refused and not ignored, and
// so are repeated ones, over-long values, control characters, NUL and what is not UTF-8; then nothing may be written.
// A field whose name ends in * stands for every name with that beginning and a number after it.
// Errors: errBadForm.
func readForm(c *fiber.Ctx, fields ...field) (form, error) {
	if len(c.Request().URI().QueryString()) > 0 {
		return form{}, fmt.Errorf("%w: a query on a form's address", errBadForm)
	}
	values, err := postedValues(c)
	if err != nil {
		return form{}, err
	}
	read := form{values: map[string][]string{}}
	fields = append(fields, field{name: csrfField, max: 100})
	for name, sent := range values {
		known, ok := fieldNamed(fields, name)
		switch {
		case !ok:
			return form{}, fmt.Errorf("%w: unknown field", errBadForm) // its name is not repeated: it is anybody's text
		case len(sent) > 1 && !known.many:
			return form{}, fmt.Errorf("%w: field %s repeated", errBadForm, known.name)
		}
		for _, value := range sent {
			if err := known.check(value); err != nil {
				return form{}, err
			}
		}
		read.values[name] = sent
	}
	return read, nil
}

func fieldNamed(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
		if prefix, open := strings.CutSuffix(f.name, "*"); open && strings.HasPrefix(name, prefix) {
			if _, err := parseID(name[len(prefix):]); err == nil {
				return f, true
			}
		}
	}
	return field{}, false
}

func (f field) check(value string) error {
	switch {
	case len(value) > f.max:
		return fmt.Errorf("%w: field %s is too long", errBadForm, f.name)
	case !isPlain(value, f.text):
		return fmt.Errorf("%w: field %s is not text", errBadForm, f.name)
	}
	return nil
}

// isPlain reports whether a value is text a field can hold: UTF-8 without control characters, line breaks aside where the field has lines.
func isPlain(value string, lines bool) bool {
	if !utf8.ValidString(value) {
		return false
	}
	for _, r := range value {
		if unicode.IsControl(r) && r != '\t' && !(lines && (r == '\n' || r == '\r')) {
			return false
		}
	}
	return true
}

// postedValues takes the body apart. No body is an empty form. Errors: errBadForm for another type than a plain form's and for broken
// escapes.
func postedValues(c *fiber.Ctx) (url.Values, error) {
	body := c.Request().Body()
	if len(body) == 0 {
		return url.Values{}, nil
	}
	if kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || kind != fiber.MIMEApplicationForm {
		return nil, fmt.Errorf("%w: not a form's content type", errBadForm)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: broken escapes", errBadForm)
	}
	n := 0
	for _, sent := range values {
		n += len(sent)
	}
	if n > maxFields {
		return nil, fmt.Errorf("%w: %d fields", errBadForm, n)
	}
	return values, nil
}

// postedCSRF is the token in a form's body, if it has one; a body that cannot be read has none.
func postedCSRF(c *fiber.Ctx) string {
	if strings.HasPrefix(c.Get(fiber.HeaderContentType), fiber.MIMEMultipartForm) {
		sent, _ := readUpload(c)
		return sent.csrf
	}
	values, err := postedValues(c)
	if err != nil {
		return ""
	}
	return values.Get(csrfField)
}

// parseID reads a row's id: 1 or more, in plain digits.
func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || text[0] == '+' {
		return 0, fmt.Errorf("%w: not an id", errBadForm)
	}
	return id, nil
}

// parseCount reads a quantity between least and most, in plain digits.
func parseCount(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("%w: not a quantity from %d to %d", errBadForm, least, most)
	}
	return n, nil
}
