package standin

import (
	"fmt"
	"slices"
)

// The control API in Go: what the bank, the customer at home or the owner at the dashboard would do.

// Capture captures an authorised payment, as the dashboard's button does.
func (s *Server) Capture(paymentID string) error {
	return s.onPayment(paymentID, func(p *Payment) error {
		o := s.orderByID[p.OrderID]
		if p.Status != "authorized" || o == nil || o.Status == "paid" && s.settings.SecondPayment != SecondCaptured {
			return fmt.Errorf("capture %s payment %s: %w", p.Status, p.ID, ErrNotPossible)
		}
		s.capture(p)
		return nil
	})
}

// SucceedLate is the bank's yes to a payment that is pending or has failed.
func (s *Server) SucceedLate(paymentID string) error {
	return s.onPayment(paymentID, func(p *Payment) error {
		if p.Status != "created" && p.Status != "failed" {
			return fmt.Errorf("succeed %s payment %s: %w", p.Status, p.ID, ErrNotPossible)
		}
		s.authorise(p, true)
		return nil
	})
}

// Fail is the bank's no to a payment that is pending. An empty reason is payment_failed.
func (s *Server) Fail(paymentID, reason string) error {
	return s.onPayment(paymentID, func(p *Payment) error {
		if p.Status != "created" {
			return fmt.Errorf("fail %s payment %s: %w", p.Status, p.ID, ErrNotPossible)
		}
		s.fail(p, reason)
		return nil
	})
}

// GiveBack has the gateway refund a payment it never captured, before its time is over.
func (s *Server) GiveBack(paymentID string) error {
	return s.onPayment(paymentID, func(p *Payment) error {
		if p.Status != "authorized" {
			return fmt.Errorf("give back %s payment %s: %w", p.Status, p.ID, ErrNotPossible)
		}
		s.giveBack(p)
		return nil
	})
}

// RefundOutside refunds a captured payment as the dashboard does, without the shop's program. Amount 0 is all that is left.
func (s *Server) RefundOutside(paymentID string, amountPaise int64) (Refund, error) {
	var made Refund
	err := s.onPayment(paymentID, func(p *Payment) error {
		left := p.AmountPaise - p.AmountRefundedPaise
		if amountPaise == 0 {
			amountPaise = left
		}
		if !p.Captured || amountPaise < 1 || amountPaise > left {
			return fmt.Errorf("refund %d paise of %s payment %s: %w", amountPaise, p.Status, p.ID, ErrNotPossible)
		}
		r := &Refund{PaymentID: p.ID, AmountPaise: amountPaise, Currency: p.Currency, SpeedRequested: "normal", Outside: true, CreatedAt: s.now()}
		s.refund(p, r)
		s.announceRefund(p, r)
		made = cloneRefund(r)
		return nil
	})
	return made, err
}

// SettleRefund makes a pending refund processed.
func (s *Server) SettleRefund(refundID string) error {
	return s.onRefund(refundID, func(r *Refund) error {
		if r.Status != "pending" {
			return fmt.Errorf("settle %s refund %s: %w", r.Status, r.ID, ErrNotPossible)
		}
		s.settleRefund(r)
		return nil
	})
}

// FailRefund makes a refund fail, also one that was processed: some banks send money back days later.
func (s *Server) FailRefund(refundID string) error {
	return s.onRefund(refundID, func(r *Refund) error {
		if r.Status == "failed" {
			return fmt.Errorf("fail %s refund %s: %w", r.Status, r.ID, ErrNotPossible)
		}
		s.failRefund(r)
		return nil
	})
}

// OpenDispute opens a chargeback on a payment; refunds of it are blocked until it is decided. Amount 0 is the whole payment.
func (s *Server) OpenDispute(paymentID string, amountPaise int64) (Dispute, error) {
	var made Dispute
	err := s.onPayment(paymentID, func(p *Payment) error {
		if amountPaise == 0 {
			amountPaise = p.AmountPaise
		}
		if p.AuthorizedAt.IsZero() || amountPaise < 1 || amountPaise > p.AmountPaise {
			return fmt.Errorf("dispute %d paise of %s payment %s: %w", amountPaise, p.Status, p.ID, ErrNotPossible)
		}
		d := &Dispute{ID: s.newID("disp_"), PaymentID: p.ID, AmountPaise: amountPaise, Currency: p.Currency, ReasonCode: "chargeback",
			Status: "open", Phase: "chargeback", CreatedAt: s.now(), RespondBy: s.now().AddDate(0, 0, 7)}
		s.disputes = append(s.disputes, d)
		s.emit("payment.dispute.created", p, nil, nil, d)
		made = cloneDispute(d)
		return nil
	})
	return made, err
}

// DecideDispute moves a dispute to under_review, won, lost or closed.
func (s *Server) DecideDispute(disputeID, status string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.disputes {
		if d.ID != disputeID {
			continue
		}
		if d.Status != "open" && d.Status != "under_review" || !slices.Contains([]string{"under_review", "won", "lost", "closed"}, status) {
			return fmt.Errorf("move dispute %s from %s to %q: %w", d.ID, d.Status, status, ErrNotPossible)
		}
		s.decideDispute(d, status)
		return nil
	}
	return fmt.Errorf("dispute %s: %w", disputeID, ErrNoSuch)
}

func (s *Server) onPayment(id string, do func(*Payment) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paymentByID[id]
	if p == nil {
		return fmt.Errorf("payment %s: %w", id, ErrNoSuch)
	}
	defer s.touch()
	return do(p)
}

func (s *Server) onRefund(id string, do func(*Refund) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refundByID[id]
	if r == nil {
		return fmt.Errorf("refund %s: %w", id, ErrNoSuch)
	}
	defer s.touch()
	return do(r)
}
