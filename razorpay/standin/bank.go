package standin

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// What happens to money: the bank's yes or no, capture, refunds, what goes back by itself. Source: Docs-Aug, "Payment Capture
// Settings", "Configure Payment Capture Settings using Orders API", "Handle Late Authorised Payments"; Docs-new, "Auto-Refunds".
// All unexported functions run under the lock.

// Outcome is what the bank answers to an attempt.
type Outcome string

const (
	Succeed       Outcome = ""               // authorised; captured as order and account say
	AuthorizeOnly Outcome = "authorize_only" // authorised and, whatever order and account say, left so
	FailNow       Outcome = "fail"
	Pend          Outcome = "pend"         // no answer yet: Resolve decides, or the time limit does
	FailThenLate  Outcome = "succeed_late" // failed now, authorised after PayParams.After (Settings.LateAfter when zero)
)

// ErrNoSuch is returned by the control API for an id the gateway does not know.
var ErrNoSuch = errors.New("standin: no such id")

// ErrNotPossible is returned by the control API for a step the thing's state does not allow.
var ErrNotPossible = errors.New("standin: not possible in this state")

// PayParams describes one attempt to pay an order. Zero values mean: succeed by UPI, with the order's amount and currency.
type PayParams struct {
	OrderID          string
	Method           string // upi, card, netbanking, wallet
	Outcome          Outcome
	AmountPaise      int64  // other than the order's: a wrong amount
	CustomerFeePaise int64  // added to the amount: the account lets customers bear the fee
	Currency         string // other than the order's: a wrong currency
	VPA, Bank        string
	Wallet           string
	CardNumber       string
	Reason           string // of a failure, e.g. payment_cancelled; see failures
	After            time.Duration
	Email, Contact   string
	Description      string
	Notes            map[string]string
}

// Pay makes a payment attempt on an order and has the bank answer it. It asks no questions Checkout would ask: the order may be
// paid already, which is how a second payment is made. With OrderID empty it is a payment without order.
func (s *Server) Pay(in PayParams) (Payment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	p, err := s.attempt(in)
	if err != nil {
		return Payment{}, err
	}
	s.bankAnswers(p, in)
	return clonePayment(p), nil
}

// attempt records a new payment in state created.
func (s *Server) attempt(in PayParams) (*Payment, error) {
	o := s.orderByID[in.OrderID]
	if o == nil && in.OrderID != "" {
		return nil, fmt.Errorf("pay order %s: %w", in.OrderID, ErrNoSuch)
	}
	p := &Payment{
		ID: s.newID("pay_"), OrderID: in.OrderID, AmountPaise: in.AmountPaise, CustomerFeePaise: in.CustomerFeePaise, Currency: in.Currency,
		Status: "created", Method: in.Method, Description: in.Description, Email: in.Email, Contact: in.Contact,
		Notes: maps.Clone(in.Notes), CreatedAt: s.now(), TimeoutAt: s.now().Add(s.settings.PendingTimeout),
	}
	if o != nil {
		if p.AmountPaise == 0 {
			p.AmountPaise = o.AmountPaise
		}
		if p.Currency == "" {
			p.Currency = o.Currency
		}
		o.Attempts++
		if o.Status == "created" {
			o.Status = "attempted"
		}
	}
	if p.AmountPaise <= 0 {
		return nil, fmt.Errorf("pay without order: an amount is needed: %w", ErrNotPossible)
	}
	p.AmountPaise += in.CustomerFeePaise
	if p.Currency == "" {
		p.Currency = "INR"
	}
	if p.Email == "" {
		p.Email = "void@razorpay.com"
	}
	if p.Contact == "" {
		p.Contact = "+919999999999"
	}
	if p.Description == "" {
		p.Description = "#" + s.newID("")
	}
	switch p.Method {
	case "", "upi":
		p.Method, p.VPA = "upi", in.VPA
		if p.VPA == "" {
			p.VPA = "success@razorpay"
		}
	case "card":
		p.Card = s.newCard(in.CardNumber)
	case "netbanking":
		if p.Bank = in.Bank; p.Bank == "" {
			p.Bank = "HDFC"
		}
	case "wallet":
		if p.Wallet = in.Wallet; p.Wallet == "" {
			p.Wallet = "airtelmoney"
		}
	default:
		return nil, fmt.Errorf("pay by %q: upi, card, netbanking or wallet: %w", p.Method, ErrNotPossible)
	}
	s.payments = append(s.payments, p)
	s.paymentByID[p.ID] = p
	s.paymentsByOrder[p.OrderID] = append(s.paymentsByOrder[p.OrderID], p)
	return p, nil
}

func (s *Server) bankAnswers(p *Payment, in PayParams) {
	switch in.Outcome {
	case Pend:
		s.due(p.TimeoutAt, task{kind: taskTimeout, id: p.ID})
	case FailNow:
		s.fail(p, in.Reason)
	case FailThenLate:
		after := in.After
		if after == 0 {
			after = s.settings.LateAfter
		}
		s.fail(p, in.Reason)
		p.SucceedAt = s.now().Add(after)
		s.due(p.SucceedAt, task{kind: taskSucceed, id: p.ID})
	case AuthorizeOnly:
		s.authorise(p, false)
	default:
		s.authorise(p, true)
	}
}

func (s *Server) newCard(number string) *Card {
	number = strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
	if len(number) < 12 {
		number = "4100280000001007"
	}
	c := &Card{ID: s.newID("card_"), Last4: number[len(number)-4:], Network: "Visa", Type: "credit", Issuer: "HDFC", SubType: "consumer"}
	switch {
	case strings.HasPrefix(number, "34") || strings.HasPrefix(number, "37"):
		c.Network = "American Express"
	case strings.HasPrefix(number, "36"):
		c.Network = "Diners Club"
	case strings.HasPrefix(number, "5"):
		c.Network = "MasterCard"
	case strings.HasPrefix(number, "6"):
		c.Network, c.Type = "RuPay", "debit"
	}
	switch number { // the international test cards (Docs-Aug, "Test Card Details")
	case "5555555555554444", "5105105105105100", "5104060000000008", "4012888888881881":
		c.International, c.Issuer = true, ""
	}
	return c
}

// failures is the vocabulary of Docs-Aug, "List of Errors", as far as the stand-in's bank knows it.
var failures = map[string]struct{ code, description, source, step string }{
	"payment_failed":          {"BAD_REQUEST_ERROR", "Your payment didn't go through as it was declined by the bank. Try another payment method or contact your bank.", "bank", "payment_authorization"},
	"payment_cancelled":       {"BAD_REQUEST_ERROR", "Your payment has been cancelled. Try again or complete the payment later.", "customer", "payment_authentication"},
	"payment_timed_out":       {"BAD_REQUEST_ERROR", "Your payment was not completed on time. Please try again later.", "customer", "payment_authentication"},
	"insufficient_fund":       {"BAD_REQUEST_ERROR", "Your payment could not be completed due to insufficient account balance. Try again with another card or account.", "customer", "payment_authorization"},
	"card_declined":           {"BAD_REQUEST_ERROR", "Your payment was declined by the bank. Try again with another card.", "issuer", "payment_authorization"},
	"invalid_otp":             {"BAD_REQUEST_ERROR", "Authentication failed due to incorrect otp", "customer", "payment_authentication"},
	"gateway_technical_error": {"GATEWAY_ERROR", "Your payment could not be completed due to a temporary technical issue. To complete the payment, use another payment method.", "gateway", "payment_authorization"},
}

func (s *Server) fail(p *Payment, reason string) {
	f, known := failures[reason]
	if !known {
		reason = "payment_failed"
		f = failures[reason]
	}
	if p.Method == "upi" && reason == "payment_failed" { // as UPI failures read in the published sample of an order's payments
		f.description = "Payment was unsuccessful due to a temporary issue. If amount got deducted, it will be refunded within 5-7 working days."
		f.source, f.step = "gateway", "payment_response"
	}
	p.Status, p.TimeoutAt, p.SucceedAt = "failed", time.Time{}, time.Time{}
	p.ErrorCode, p.ErrorDescription, p.ErrorSource, p.ErrorStep, p.ErrorReason = f.code, f.description, f.source, f.step, reason
	p.Acquirer = nil
	s.emit("payment.failed", p, nil, nil, nil)
}

// authorise is the bank's yes, in time or late. What then happens depends on the order: paid already, the money goes back at
// once (or is captured too, Settings.SecondPayment); else it is captured if capture is automatic and still open.
func (s *Server) authorise(p *Payment, mayCapture bool) {
	now := s.now()
	p.Status, p.AuthorizedAt, p.TimeoutAt, p.SucceedAt = "authorized", now, time.Time{}, time.Time{}
	p.ErrorCode, p.ErrorDescription, p.ErrorSource, p.ErrorStep, p.ErrorReason = "", "", "", "", ""
	switch p.Method {
	case "upi":
		p.Acquirer = map[string]string{"rrn": s.digits(12), "upi_transaction_id": strings.ToUpper(s.newID("") + s.newID("") + s.newID(""))[:32]}
	case "card":
		p.Acquirer = map[string]string{"auth_code": s.digits(6), "authentication_reference_number": s.digits(30)}
	case "netbanking":
		p.Acquirer = map[string]string{"bank_transaction_id": s.digits(7)}
	case "wallet":
		p.Acquirer = map[string]string{"transaction_id": ""}
	}
	s.emit("payment.authorized", p, nil, nil, nil)

	o := s.orderByID[p.OrderID]
	automatic, autoFor, manualFor := !s.settings.ManualCapture, 3*24*time.Hour, 3*24*time.Hour
	if o != nil && o.Capture != "" {
		automatic = o.Capture == "automatic"
		if o.ManualExpiryPeriod > 0 {
			manualFor = o.ManualExpiryPeriod
		}
		if o.AutomaticExpiryPeriod > 0 {
			autoFor = o.AutomaticExpiryPeriod
		}
	}
	age := now.Sub(p.CreatedAt)
	switch {
	case o != nil && o.Status == "paid" && mayCapture:
		if s.settings.SecondPayment == SecondCaptured {
			s.capture(p)
		} else {
			s.giveBack(p)
		}
		return
	case o != nil && automatic && mayCapture && age <= autoFor:
		p.CaptureAt = now.Add(s.settings.CaptureDelay)
		if s.settings.CaptureDelay == 0 {
			s.capture(p)
			return
		}
		s.due(p.CaptureAt, task{kind: taskCapture, id: p.ID})
		return
	case age > manualFor:
		s.giveBack(p)
		return
	}
	p.ExpireAt = p.CreatedAt.Add(manualFor)
	s.due(p.ExpireAt, task{kind: taskExpire, id: p.ID})
}

// capture makes the money the shop's: fee of 2 % and 18 % tax on it, included in the fee. The order turns paid with its first
// capture, and payment.captured and order.paid then carry the same instant.
func (s *Server) capture(p *Payment) {
	p.Status, p.Captured, p.CapturedAt = "captured", true, s.now()
	p.CaptureAt, p.ExpireAt = time.Time{}, time.Time{}
	fee := (p.AmountPaise*2 + 50) / 100
	p.TaxPaise = (fee*18 + 50) / 100
	p.FeePaise = fee + p.TaxPaise
	s.emit("payment.captured", p, nil, nil, nil)
	o := s.orderByID[p.OrderID]
	if o == nil {
		return
	}
	o.AmountPaidPaise += p.AmountPaise - p.CustomerFeePaise
	if o.Status != "paid" {
		o.Status = "paid"
		s.emit("order.paid", p, o, nil, nil)
	}
}

// giveBack is the gateway's own refund of a payment it never captured: always in full, always normal speed.
func (s *Server) giveBack(p *Payment) {
	p.AutoRefunded = true
	p.CaptureAt, p.ExpireAt = time.Time{}, time.Time{}
	r := &Refund{PaymentID: p.ID, AmountPaise: p.AmountPaise, Currency: p.Currency, SpeedRequested: "normal", Auto: true, CreatedAt: s.now()}
	s.refund(p, r)
	s.announceRefund(p, r)
}

// refund books r against p. The amount counts as refunded at once, before the refund is processed (Raze, Aug 2026).
func (s *Server) refund(p *Payment, r *Refund) {
	r.ID = s.newID("rfnd_")
	r.SpeedProcessed = "normal"
	if r.SpeedRequested == "optimum" {
		r.SpeedProcessed = "instant"
	}
	if s.settings.PendingRefunds {
		r.Status = "pending"
		if s.settings.RefundDelay > 0 {
			r.SettleAt = s.now().Add(s.settings.RefundDelay)
			s.due(r.SettleAt, task{kind: taskSettleRefund, id: r.ID})
		}
	} else {
		r.Status, r.ProcessedAt = "processed", s.now()
	}
	s.refunds = append(s.refunds, r)
	s.refundByID[r.ID] = r
	s.refundsByPayment[p.ID] = append(s.refundsByPayment[p.ID], r)
	p.AmountRefundedPaise += r.AmountPaise
	p.restate()
}

// restate derives status and refund status from the refunded amount.
func (p *Payment) restate() {
	switch {
	case p.AmountRefundedPaise >= p.AmountPaise:
		p.Status, p.RefundStatus = "refunded", "full"
	case p.AmountRefundedPaise > 0:
		p.Status, p.RefundStatus = "captured", "partial"
	case p.Captured:
		p.Status, p.RefundStatus = "captured", ""
	default:
		p.Status, p.RefundStatus = "authorized", ""
	}
}

// testARN is the bank reference of every refund in test mode (Raze, Aug 2026).
const testARN = "10000000000000"

// announceRefund sends the refund's events. By then it has its bank reference, which the answer to the call had not.
// An instant refund of 24.68 rupees falls back to normal speed (Docs-new, "Refunds: how to test").
func (s *Server) announceRefund(p *Payment, r *Refund) {
	if r.Status == "processed" {
		r.ARN = testARN
	}
	s.emit("refund.created", p, nil, r, nil)
	if r.SpeedProcessed == "instant" && r.AmountPaise == 2468 {
		r.SpeedProcessed = "normal"
		s.emit("refund.speed_changed", p, nil, r, nil)
	}
	if r.Status == "processed" {
		s.emit("refund.processed", p, nil, r, nil)
	}
}

func (s *Server) settleRefund(r *Refund) {
	r.Status, r.ARN, r.ProcessedAt, r.SettleAt = "processed", testARN, s.now(), time.Time{}
	s.emit("refund.processed", s.paymentByID[r.PaymentID], nil, r, nil)
}

func (s *Server) failRefund(r *Refund) {
	r.Status, r.ARN, r.SettleAt = "failed", "", time.Time{}
	p := s.paymentByID[r.PaymentID]
	if !s.settings.FailedRefundStaysCounted {
		p.AmountRefundedPaise -= r.AmountPaise
		p.restate()
	}
	s.emit("refund.failed", p, nil, r, nil)
}
