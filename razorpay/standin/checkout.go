package standin

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"tiffin/razorpay"
)

// Checkout's side of the gateway: the script, and the calls it makes. Nothing here asks for the key secret, as in the real one;
// the key id and the order id are what a browser knows. Source: Docs-Aug, "Integration Steps" (Standard Checkout), "Test Card
// Details", "Test UPI ID Details", read August 2026; the names of the calls as seen on the wire (Probes, Aug 2026).

//go:embed assets/checkout.js
var checkoutJS string

func (s *Server) checkoutScript(*call) answer {
	return answer{status: http.StatusOK, typ: "text/javascript; charset=utf-8", body: checkoutJS,
		header: map[string]string{"Cache-Control": "no-cache", "Cross-Origin-Resource-Policy": "cross-origin"}}
}

// open lets a page of any origin read the answer.
func (a answer) open() answer {
	a.header = map[string]string{"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store"}
	return a
}

// payable finds the order a browser wants to pay and says why it cannot be paid: another account's key, an unknown order, one
// that is paid or has an authorised payment (Docs-Aug, "Create an Order", "List of Errors").
func (s *Server) payable(keyID, orderID string) (*Order, *answer) {
	if keyID != s.opts.KeyID {
		return nil, refuse(refusals["id_not_exist"])
	}
	if orderID == "" {
		return nil, nil
	}
	o := s.orderByID[orderID]
	if o == nil {
		return nil, refuse(refusals["id_not_exist"])
	}
	if o.Status == "paid" {
		return o, refuse(refusals["order_already_paid"])
	}
	for _, p := range s.paymentsByOrder[o.ID] {
		if p.Status == "authorized" {
			return o, refuse(refusals["order_already_paid"])
		}
	}
	return o, nil
}

func (s *Server) preferences(c *call) answer {
	o, no := s.payable(c.query.Get("key_id"), c.query.Get("order_id"))
	if no != nil && o == nil {
		return no.open()
	}
	p := object{{"methods", object{{"upi", true}, {"card", true}, {"netbanking", true}}}, {"callback_over_handler", s.settings.CallbackOverHandler}}
	if o != nil {
		p = append(p, pair{"order", object{{"amount", o.AmountPaise}, {"amount_due", max(0, o.AmountPaise-o.AmountPaidPaise)},
			{"currency", o.Currency}, {"status", o.Status}}})
	}
	return ok(p).open()
}

// createAjax makes an attempt, or with payment_id has the bank answer one that is pending.
func (s *Server) createAjax(c *call) answer {
	if no := c.parse(); no != nil {
		return no.open()
	}
	p, no := s.attemptFrom(c)
	if no != nil {
		return no.open()
	}
	return s.checkoutResult(p).open()
}

// attemptFrom reads an attempt from the fields of Checkout or of the hosted page and has the bank answer it.
func (s *Server) attemptFrom(c *call) (*Payment, *answer) {
	get := c.plain
	in := PayParams{OrderID: get("order_id"), Method: get("method"), Outcome: Outcome(get("outcome")), VPA: get("vpa"), Bank: get("bank"),
		Email: get("email"), Contact: get("contact"), Description: get("description")}
	if in.Outcome == "succeed" {
		in.Outcome = Succeed
	}
	var card struct{ Number string }
	if raw, present := c.fields["card"]; present && json.Unmarshal(raw, &card) != nil {
		return nil, refuse(badField("The card must be an object.", "card"))
	}
	in.CardNumber = card.Number
	if get("outcome") == "" {
		if no := in.askTestIDs(get("otp")); no != nil {
			return nil, no
		}
	}
	switch in.Outcome {
	case Succeed, AuthorizeOnly, FailNow, Pend, FailThenLate:
	default:
		return nil, refuse(bad("The selected outcome is invalid.", business))
	}
	if id := get("payment_id"); id != "" {
		return s.answerPending(id, get("key_id"), in)
	}
	if _, no := s.payable(get("key_id"), in.OrderID); no != nil {
		return nil, no
	}
	if in.OrderID == "" {
		amount, _, no := c.amount()
		if no != nil {
			return nil, no
		}
		if amount < 100 {
			return nil, refuse(refusals["order_amount_too_small"])
		}
		in.AmountPaise, in.Currency = amount, get("currency")
	}
	var no *answer
	if in.Notes, no = c.notes(); no != nil {
		return nil, no
	}
	p, err := s.attempt(in)
	if err != nil {
		return nil, refuse(bad(err.Error(), business))
	}
	p.Callback, p.Cancel = get("callback_url"), get("cancel_url")
	s.bankAnswers(p, in)
	return p, nil
}

func (s *Server) answerPending(id, keyID string, in PayParams) (*Payment, *answer) {
	p := s.paymentByID[id]
	if p == nil || keyID != s.opts.KeyID {
		return nil, refuse(refusals["id_not_exist"])
	}
	if p.Status == "created" {
		s.bankAnswers(p, in)
	}
	return p, nil
}

var (
	vpaForm = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9]+$`)
	otpForm = regexp.MustCompile(`^[0-9]{4,10}$`)
)

// askTestIDs has UPI ids and card numbers decide as in test mode. Any other well-formed UPI id pays; other cards are refused.
func (in *PayParams) askTestIDs(otp string) *answer {
	switch in.Method {
	case "", "upi":
		in.VPA = strings.TrimSpace(in.VPA)
		switch {
		case !vpaForm.MatchString(in.VPA):
			return refuse(badField("Invalid VPA. Please enter a valid Virtual Payment Address", "vpa"))
		case in.VPA == "failure@razorpay":
			in.Outcome = FailNow
		}
	case "card":
		reason, known := testCards[strings.ReplaceAll(in.CardNumber, " ", "")]
		switch {
		case !known:
			return refuse(badField("The card number is not one of the test cards.", "number"))
		case reason != "":
			in.Outcome, in.Reason = FailNow, reason
		case !otpForm.MatchString(otp):
			in.Outcome, in.Reason = FailNow, "invalid_otp"
		}
	}
	return nil
}

// testCards are those of test mode with the failure each stands for; empty: it pays.
var testCards = map[string]string{
	"4100280000001007": "", "5555510000081006": "", "5180287200091001": "", "5500670000001002": "", "6527658900001005": "", "36082800091007": "",
	"340256000401007": "", "5555555555554444": "", "5105105105105100": "", "5104060000000008": "", "4012888888881881": "",
	"4100280000080001": "insufficient_fund", "4100280000070002": "payment_cancelled", "4100280000060003": "card_declined",
	"4100280000090000": "payment_timed_out", "4100280000020007": "gateway_technical_error",
}

// checkoutResult is what the browser learns: the three fields with their signature once the bank said yes, the error when it
// said no, the payment's id while it says nothing.
func (s *Server) checkoutResult(p *Payment) answer {
	switch {
	case p.Status == "created":
		return ok(object{{"payment_id", p.ID}, {"status", p.Status}})
	case p.Status == "failed":
		a := ok(object{{"error", failureOf(p)}})
		a.status = http.StatusBadRequest
		return a
	}
	return ok(s.slip(p))
}

// slip is what proves to the shop that a payment on its order was authorised (not that it was captured).
func (s *Server) slip(p *Payment) object {
	o := object{{"razorpay_payment_id", p.ID}}
	if p.OrderID != "" {
		o = append(o, pair{"razorpay_order_id", p.OrderID}, pair{"razorpay_signature", razorpay.SignCheckout(s.opts.KeySecret, p.OrderID, p.ID)})
	}
	return o
}

func failureOf(p *Payment) object {
	metadata := object{{"payment_id", p.ID}}
	if p.OrderID != "" {
		metadata = append(metadata, pair{"order_id", p.OrderID})
	}
	return object{{"code", p.ErrorCode}, {"description", p.ErrorDescription}, {"source", p.ErrorSource}, {"step", p.ErrorStep},
		{"reason", p.ErrorReason}, {"metadata", metadata}}
}

func (s *Server) paymentStatus(c *call) answer {
	p, no := s.findPayment(c)
	switch {
	case no != nil:
		return no.open()
	case c.query.Get("key_id") != s.opts.KeyID:
		return refusals["id_not_exist"].open()
	}
	return s.checkoutResult(p).open()
}
