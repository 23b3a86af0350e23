package standin

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// The pages of the gateway's own that a customer may see: the hosted page, for browsers without script, and the page between
// Checkout and the shop's callback_url. Source: Docs-Aug, Hosted "Integration Steps", "Callback URL", read August 2026.

//go:embed assets/pages.html
var pagesHTML string

//go:embed assets/pages.css
var pagesStyle string

//go:embed assets/submit.js
var submitJS string

var pages = template.Must(template.New("pages").Funcs(template.FuncMap{"money": money}).Parse(pagesHTML))

func (s *Server) pagesCSS(*call) answer {
	return answer{status: http.StatusOK, typ: "text/css; charset=utf-8", body: pagesStyle}
}

func (s *Server) submitScript(*call) answer {
	return answer{status: http.StatusOK, typ: "text/javascript; charset=utf-8", body: submitJS}
}

// pagePolicy lets forms lead anywhere, since they post to the shop, and nothing else in.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action http: https:"

func page200(name string, data any) answer {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return answer{status: http.StatusInternalServerError, typ: "text/plain; charset=utf-8", body: err.Error()}
	}
	return answer{status: http.StatusOK, typ: "text/html; charset=utf-8", body: b.String(),
		header: map[string]string{"Content-Security-Policy": pagePolicy, "Cache-Control": "no-store", "Referrer-Policy": "origin"}}
}

type field struct{ Name, Value string }

// outcome is what a payment's page shows and hands back to the shop.
type outcome struct {
	Payment  Payment
	Callback string
	Fields   []field
	Auto     bool // a script may press the button
	Self     string
}

// callbackFields are what the shop's callback_url is sent: the three of a success, or the error of a failure with its metadata as
// a JSON string.
func (s *Server) callbackFields(p *Payment) []field {
	var out []field
	if p.Status == "failed" {
		for _, q := range failureOf(p) {
			text, isText := q.value.(string)
			if !isText {
				text = encode(q.value)
			}
			out = append(out, field{"error[" + q.key + "]", text})
		}
		return out
	}
	for _, q := range s.slip(p) {
		text, _ := q.value.(string)
		out = append(out, field{q.key, text})
	}
	return out
}

func isWebAddress(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// callbackPage takes a customer from Checkout back to the shop: a form post from this origin, as the real one comes from its own.
func (s *Server) callbackPage(c *call) answer {
	p, no := s.findPayment(c)
	switch {
	case no != nil:
		return *no
	case c.query.Get("key_id") != s.opts.KeyID:
		return refusals["id_not_exist"]
	case !isWebAddress(p.Callback) || p.Status == "created":
		return bad("The callback url is not valid.", business)
	}
	return page200("outcome", outcome{Payment: *p, Callback: p.Callback, Fields: s.callbackFields(p), Auto: true})
}

// hosted is what the hosted page shows.
type hosted struct {
	Name, Description string
	Amount            string
	VPA               string
	Error             string
	Cancel            string
	Fields            []field // sent on with the answer
}

// hostedPage is the gateway's own pay page: an order's form post in, a choice of method and answer out.
func (s *Server) hostedPage(c *call) answer {
	if no := c.parse(); no != nil {
		return *no
	}
	return s.showHosted(c, "")
}

func (s *Server) showHosted(c *call, complaint string) answer {
	h := hosted{Name: c.plain("name"), Description: c.plain("description"), VPA: "success@razorpay", Error: complaint}
	if h.Name == "" {
		h.Name = "Payment"
	}
	o, no := s.payable(c.plain("key_id"), c.plain("order_id"))
	if no != nil && complaint == "" {
		h.Error = describe(*no)
	}
	switch amount, _, wrong := c.amount(); {
	case o != nil:
		h.Amount = money(o.AmountPaise, o.Currency)
	case wrong == nil:
		h.Amount = money(amount, c.plain("currency"))
	}
	if isWebAddress(c.plain("cancel_url")) {
		h.Cancel = c.plain("cancel_url")
	}
	if !isWebAddress(c.plain("callback_url")) && h.Error == "" {
		h.Error = "The callback url is not valid."
	}
	form, _ := url.ParseQuery(string(c.body)) // parsed already
	for name, values := range form {
		switch name {
		case "method", "vpa", "bank", "outcome", "card[number]", "otp":
			continue
		}
		h.Fields = append(h.Fields, field{name, values[0]})
	}
	sort.Slice(h.Fields, func(i, j int) bool { return h.Fields[i].Name < h.Fields[j].Name })
	return page200("hosted", h)
}

// describe is the sentence of an error answer.
func describe(a answer) string {
	var e struct{ Error struct{ Description string } }
	if json.Unmarshal([]byte(a.body), &e) != nil {
		return a.body
	}
	return e.Error.Description
}

func (s *Server) hostedPay(c *call) answer {
	if no := c.parse(); no != nil {
		return *no
	}
	if raw, nestedFields := c.fields["prefill"]; nestedFields {
		var prefill map[string]json.RawMessage
		if json.Unmarshal(raw, &prefill) == nil {
			for _, name := range []string{"email", "contact"} {
				if v, present := prefill[name]; present {
					c.fields[name] = v
				}
			}
		}
	}
	if !isWebAddress(c.plain("callback_url")) {
		return s.showHosted(c, "The callback url is not valid.")
	}
	p, no := s.attemptFrom(c)
	if no != nil {
		return s.showHosted(c, describe(*no))
	}
	return answer{status: http.StatusSeeOther, header: map[string]string{"Location": "/v1/checkout/embedded/" + p.ID + "?" + url.Values{"key_id": {s.opts.KeyID}}.Encode()}}
}

// hostedOutcome shows how the bank answered and leads back to the shop by a button. A reload asks again.
func (s *Server) hostedOutcome(c *call) answer {
	p, no := s.findPayment(c)
	switch {
	case no != nil:
		return *no
	case c.query.Get("key_id") != s.opts.KeyID || !isWebAddress(p.Callback):
		return refusals["id_not_exist"]
	}
	return page200("outcome", outcome{Payment: *p, Callback: p.Callback, Fields: s.callbackFields(p), Self: c.path + "?" + c.query.Encode()})
}

// money writes paise with Indian grouping.
func money(paise int64, currency string) string {
	digits, cents := strconv.FormatInt(paise/100, 10), strconv.FormatInt(100+paise%100, 10)[1:]
	if n := len(digits); n > 3 {
		head := digits[:n-3]
		var groups []string
		for ; len(head) > 2; head = head[:len(head)-2] {
			groups = append([]string{head[len(head)-2:]}, groups...)
		}
		digits = strings.Join(append([]string{head}, groups...), ",") + "," + digits[n-3:]
	}
	if currency == "INR" || currency == "" {
		return "₹" + digits + "." + cents
	}
	return currency + " " + digits + "." + cents
}
