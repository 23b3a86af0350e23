package standin

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// call is one request to the API: what came in, and what the router found in its path.
type call struct {
	number int
	method string
	path   string // without query and trailing slash
	query  url.Values
	header http.Header
	body   []byte

	ids    []string
	fields map[string]json.RawMessage
}

func ok(o object) answer { return answer{status: http.StatusOK, body: encode(o)} }

// authorised holds the scheme to its exact spelling (Docs-Aug, "API Authentication").
func (s *Server) authorised(h http.Header) bool {
	rest, found := strings.CutPrefix(h.Get("Authorization"), "Basic ")
	raw, err := base64.StdEncoding.DecodeString(rest)
	want := s.opts.KeyID + ":" + s.opts.KeySecret
	return found && err == nil && subtle.ConstantTimeCompare(raw, []byte(want)) == 1
}

// parse reads the body as JSON or, where a client sends that, as a form. A body that is neither is answered with "EOF.".
func (c *call) parse() *answer {
	c.fields = map[string]json.RawMessage{}
	if strings.HasPrefix(c.header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(c.body))
		if err != nil {
			return refuse(bad("EOF.", business))
		}
		c.fields = formFields(form)
		return nil
	}
	if len(bytes.TrimSpace(c.body)) == 0 {
		if c.method == http.MethodPost && strings.HasSuffix(c.path, "/refund") {
			return nil // a refund of all that is left needs no body
		}
		return refuse(bad("EOF.", business))
	}
	if err := json.Unmarshal(c.body, &c.fields); err != nil || c.fields == nil {
		return refuse(bad("EOF.", business))
	}
	for name, raw := range c.fields {
		if string(raw) == "null" {
			delete(c.fields, name)
		}
	}
	return nil
}

var nested = regexp.MustCompile(`^([^\[\]]+)((?:\[[^\[\]]*\])*)$`)

// formNumbers are the fields that are numbers though a form knows no types.
var formNumbers = map[string]bool{"amount": true, "payment_capture": true, "automatic_expiry_period": true, "manual_expiry_period": true}

// formFields turns a[b]=c into the JSON it stands for.
func formFields(form url.Values) map[string]json.RawMessage {
	tree := map[string]any{}
	for key, values := range form {
		m := nested.FindStringSubmatch(key)
		if m == nil || len(values) == 0 {
			continue
		}
		at, name := tree, m[1]
		for _, part := range strings.FieldsFunc(m[2], func(r rune) bool { return r == '[' || r == ']' }) {
			inner, isMap := at[name].(map[string]any)
			if !isMap {
				inner = map[string]any{}
				at[name] = inner
			}
			at, name = inner, part
		}
		if formNumbers[name] && m[1] != "notes" && integer.MatchString(values[0]) {
			at[name] = json.Number(values[0])
		} else {
			at[name] = values[0]
		}
	}
	fields := map[string]json.RawMessage{}
	for k, v := range tree {
		fields[k] = json.RawMessage(encode(v))
	}
	return fields
}

func refuse(a answer) *answer { return &a }

// only refuses keys the call does not know.
func (c *call) only(known ...string) *answer {
	var strange []string
	for name := range c.fields {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		return refuse(extraField(strange...))
	}
	return nil
}

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// amount reads a whole number of paise. Strings and 100.0 are refused (Docs-Aug, "Common Errors").
func (c *call) amount() (paise int64, present bool, no *answer) {
	raw, present := c.fields["amount"]
	if !present {
		return 0, false, nil
	}
	if !integer.Match(raw) {
		return 0, true, refuse(refusals["amount_not_integer"])
	}
	paise, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, true, refuse(refusals["order_amount_too_large"])
	}
	return paise, true, nil
}

// text reads an optional string.
func (c *call) text(name string) (value string, present bool, no *answer) {
	raw, present := c.fields[name]
	if !present {
		return "", false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", true, refuse(badField("The "+name+" must be a string.", name))
	}
	return value, true, nil
}

// plain reads a field of Checkout or the hosted page as text; one that is missing is empty.
func (c *call) plain(name string) string {
	var text string
	if json.Unmarshal(c.fields[name], &text) != nil {
		text = string(c.fields[name])
	}
	return text
}

// notes reads the pairs: at most 15, keys and values of at most 256 characters, no nesting. The tables allow a little more
// (key 255, value 512); the parameter text's 256 is the stricter, so it is the one held here.
func (c *call) notes() (map[string]string, *answer) {
	raw, present := c.fields["notes"]
	if !present {
		return nil, nil
	}
	wrong := refuse(bad("Notes validation failed.", business))
	if string(bytes.TrimSpace(raw)) == "[]" {
		return nil, nil
	}
	var loose map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&loose) != nil || len(loose) > 15 {
		return nil, wrong
	}
	notes := map[string]string{}
	for k, v := range loose {
		var text string
		switch v := v.(type) {
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		default:
			return nil, wrong
		}
		if len([]rune(k)) > 255 || len([]rune(text)) > 256 {
			return nil, wrong
		}
		notes[k] = text
	}
	return notes, nil
}

// page reads from, to, count and skip of a list and returns a filter; the refund lists word one refusal differently
// (Docs-Aug, "Fetch All Orders", "Fetch All Refunds").
type page struct{ from, to, count, skip int64 }

func (c *call) page(mostCount int64, tooMany string) (page, *answer) {
	p := page{from: 0, to: math.MaxInt64, count: 10}
	whole := func(name string, at *int64) *answer {
		text := c.query.Get(name)
		if text == "" {
			return nil
		}
		if name == "from" || name == "to" {
			text, _, _ = strings.Cut(text, ".") // the gateway's own Node SDK sends fractions of a second (razorpay-node 2.9.8)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return refuse(badField("The "+name+" must be an integer.", name))
		}
		*at = n
		return nil
	}
	for name, at := range map[string]*int64{"from": &p.from, "to": &p.to} {
		if no := whole(name, at); no != nil {
			return p, no
		}
		if c.query.Get(name) != "" && (*at < 946684800 || *at > 4765046400) {
			return p, refuse(badField(name+" must be between 946684800 and 4765046400", name))
		}
	}
	if no := whole("count", &p.count); no != nil {
		return p, no
	}
	if no := whole("skip", &p.skip); no != nil {
		return p, no
	}
	switch {
	case p.count < 1:
		return p, refuse(badField("The count must be at least 1.", "count"))
	case p.count > mostCount:
		return p, refuse(badField(tooMany, "count"))
	case p.skip < 0:
		return p, refuse(badField("The skip must be at least 0.", "skip"))
	}
	return p, nil
}

// expand tells whether the caller asked for a part, as expand[]=x or expand[0]=x.
func (c *call) expand(part string) bool {
	for key, values := range c.query {
		if !strings.HasPrefix(key, "expand") {
			continue
		}
		for _, v := range values {
			if v == part {
				return true
			}
		}
	}
	return false
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9]{14}$`)

// id returns the n-th id of the path; a malformed one is refused with its own text (Docs-Aug, "Fetch a Specific Refund").
func (c *call) id(n int, prefix string) (string, *answer) {
	id := c.ids[n]
	rest, found := strings.CutPrefix(id, prefix)
	if !found || !plainID.MatchString(rest) {
		return "", refuse(bad(rest+" is not a valid id", business))
	}
	return id, nil
}
