package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"
)

// The calls about refunds. Source: Docs-Aug, "Create a Normal Refund", "Create a Normal Refund (Idempotent Request)",
// "Create an Instant Refund", "Fetch All Refunds", read August 2026.

// refundKey is what an idempotency key stands for: the request it came with first, and the refund that made.
type refundKey struct {
	Sum        string
	RefundID   string
	inProgress int
}

var refundKeyForm = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

func (c *call) sum() string {
	h := sha256.New()
	h.Write([]byte(c.path + "\n"))
	h.Write(c.body)
	return hex.EncodeToString(h.Sum(nil))
}

// createRefund answers POST /payments/:id/refund and, with payment_id in the body, POST /refunds.
func (s *Server) createRefund(c *call) answer {
	if no := c.parse(); no != nil {
		return *no
	}
	known := []string{"amount", "speed", "notes", "receipt"}
	if len(c.ids) == 0 {
		known = append(known, "payment_id")
	}
	if no := c.only(known...); no != nil {
		return *no
	}
	if len(c.ids) == 0 {
		id, present, no := c.text("payment_id")
		switch {
		case no != nil:
			return *no
		case !present:
			return badField("The payment id field is required.", "payment_id")
		}
		c.ids = []string{id}
	}
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	key := c.header.Get("X-Refund-Idempotency")
	if key != "" {
		switch {
		case !refundKeyForm.MatchString(key):
			return bad("The idempotency key must only contain alphanumeric characters, underscores, and hyphens", business)
		case len(key) < 10:
			return bad("The idempotency key must be at least 10 characters long.", business)
		}
		if first := s.refundKeys[key]; first != nil && first.RefundID != "" {
			if first.Sum != c.sum() {
				return refusals["refund_idempotency_conflict"]
			}
			return ok(s.refundObject(s.refundByID[first.RefundID]))
		}
	}
	r := &Refund{PaymentID: p.ID, Currency: p.Currency, IdempotencyKey: key, CreatedAt: s.now()}
	if no := s.checkRefund(c, p, r); no != nil {
		return *no
	}
	s.refund(p, r)
	if key != "" {
		k := s.refundKeys[key]
		if k == nil {
			k = &refundKey{}
			s.refundKeys[key] = k
		}
		k.Sum, k.RefundID = c.sum(), r.ID
	}
	a := ok(s.refundObject(r))
	s.announceRefund(p, r)
	return a
}

// checkRefund fills r from the request, or says why not.
func (s *Server) checkRefund(c *call, p *Payment, r *Refund) *answer {
	amount, present, no := c.amount()
	if no != nil {
		return no
	}
	var err *answer
	if r.SpeedRequested, _, err = c.text("speed"); err != nil {
		return err
	}
	if r.Receipt, _, err = c.text("receipt"); err != nil {
		return err
	}
	if r.Notes, err = c.notes(); err != nil {
		return err
	}
	if r.SpeedRequested == "" {
		r.SpeedRequested = "normal"
	}
	left := p.AmountPaise - p.AmountRefundedPaise
	if !present {
		amount = left
	}
	switch {
	case present && amount == 0:
		return refuse(refusals["refund_amount_zero"])
	case present && amount < 100:
		return refuse(refusals["order_amount_too_small"])
	case r.SpeedRequested != "normal" && r.SpeedRequested != "optimum":
		return refuse(bad("The selected speed is invalid.", business))
	case p.Status == "refunded" || p.Captured && left == 0:
		return refuse(refusals["refund_already_full"])
	case !p.Captured:
		return refuse(refusals["refund_not_captured"])
	case s.disputed(p.ID):
		return refuse(refusals["refund_dispute_block"])
	case s.now().AddDate(0, -6, 0).After(p.CreatedAt):
		return refuse(refusals["refund_six_months"])
	case amount > p.AmountPaise:
		return refuse(refusals["refund_amount_too_large"])
	case amount > left:
		return refuse(refusals["refund_cumulative_too_large"])
	case s.settings.LowBalance:
		return refuse(refusals["refund_low_balance"])
	}
	if r.Receipt != "" {
		for _, other := range s.refundsByPayment[p.ID] {
			if other.Receipt == r.Receipt {
				return refuse(refusals["refund_receipt_duplicate"])
			}
		}
	}
	r.AmountPaise = amount
	return nil
}

func (s *Server) disputed(paymentID string) bool {
	for _, d := range s.disputes {
		if d.PaymentID == paymentID && (d.Status == "open" || d.Status == "under_review") {
			return true
		}
	}
	return false
}

func (s *Server) findRefund(c *call, n int) (*Refund, *answer) {
	id, no := c.id(n, "rfnd_")
	if no != nil {
		return nil, no
	}
	r := s.refundByID[id]
	if r == nil {
		return nil, refuse(refusals["id_not_exist"])
	}
	return r, nil
}

func (s *Server) fetchRefund(c *call) answer {
	r, no := s.findRefund(c, 0)
	if no != nil {
		return *no
	}
	return ok(s.refundObject(r))
}

func (s *Server) fetchPaymentRefund(c *call) answer {
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	r, no := s.findRefund(c, 1)
	switch {
	case no != nil:
		return *no
	case r.PaymentID != p.ID:
		return bad("invalid request sent", business)
	}
	return ok(s.refundObject(r))
}

func (s *Server) patchRefund(c *call) answer {
	r, no := s.findRefund(c, 0)
	if no != nil {
		return *no
	}
	if no := c.patchNotes(&r.Notes); no != nil {
		return *no
	}
	return ok(s.refundObject(r))
}

func (s *Server) listRefunds(c *call) answer { return s.refundList(c, s.refunds, s.settings.ListLag) }

func (s *Server) listPaymentRefunds(c *call) answer {
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	return s.refundList(c, s.refundsByPayment[p.ID], s.settings.RefundsLag)
}

func (s *Server) refundList(c *call, all []*Refund, lag time.Duration) answer {
	p, no := c.page(100, "The count must be no greater than 100.")
	if no != nil {
		return *no
	}
	var items []any
	for i := len(all) - 1; i >= 0 && int64(len(items)) < p.count; i-- {
		r := all[i]
		if lag > 0 && s.now().Sub(r.CreatedAt) < lag || unix(r.CreatedAt) < p.from || unix(r.CreatedAt) > p.to {
			continue
		}
		if p.skip > 0 {
			p.skip--
			continue
		}
		items = append(items, s.refundObject(r))
	}
	return ok(collection(items))
}
