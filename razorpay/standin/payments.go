package standin

import (
	"time"
)

// The calls about payments. Source: Docs-Aug, "Fetch a Payment", "Fetch All Payments", "Capture a Payment", "Update the Payment",
// "Fetch Card Details of a Payment", read August 2026.

func (s *Server) findPayment(c *call) (*Payment, *answer) {
	id, no := c.id(0, "pay_")
	if no != nil {
		return nil, no
	}
	p := s.paymentByID[id]
	if p == nil {
		return nil, refuse(refusals["id_not_exist"])
	}
	return p, nil
}

func (s *Server) fetchPayment(c *call) answer {
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	return ok(s.paymentObject(p, c.expand("card")))
}

func (s *Server) listPayments(c *call) answer {
	p, no := c.page(100, "The count may not be greater than 100.")
	if no != nil {
		return *no
	}
	var items []any
	for i := len(s.payments) - 1; i >= 0 && int64(len(items)) < p.count; i-- {
		pay := s.payments[i]
		if s.lagging(pay.CreatedAt) || unix(pay.CreatedAt) < p.from || unix(pay.CreatedAt) > p.to {
			continue
		}
		if p.skip > 0 {
			p.skip--
			continue
		}
		items = append(items, s.paymentObject(pay, c.expand("card")))
	}
	return ok(collection(items))
}

func (s *Server) patchPayment(c *call) answer {
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	if no := c.patchNotes(&p.Notes); no != nil {
		return *no
	}
	return ok(s.paymentObject(p, false))
}

func (s *Server) fetchCard(c *call) answer {
	p, no := s.findPayment(c)
	switch {
	case no != nil:
		return *no
	case p.Card == nil:
		return refusals["payment_not_card"]
	}
	return ok(cardObject(p.Card))
}

func (s *Server) listDowntimes(*call) answer { return ok(collection(nil)) }

func (s *Server) capturePayment(c *call) answer {
	p, no := s.findPayment(c)
	if no != nil {
		return *no
	}
	if no := c.parse(); no != nil {
		return *no
	}
	if no := c.only("amount", "currency"); no != nil {
		return *no
	}
	amount, present, no := c.amount()
	if no != nil {
		return *no
	}
	if !present {
		return bad("Could not validate payment capture request due to: amount: cannot be blank.", unnamed)
	}
	cur, present, no := c.text("currency")
	if no != nil {
		return *no
	}
	o := s.orderByID[p.OrderID]
	switch {
	case present && cur != p.Currency:
		return bad("Capture request currency must be same as payment currency.", unnamed)
	case amount != p.AmountPaise:
		return refusals["capture_amount_mismatch"]
	case p.Captured:
		return alreadyCaptured(p.ID)
	case p.Status == "refunded":
		return bad("The payment has already been either captured or voided.", unnamed)
	case p.Status != "authorized":
		return bad("Only payments which have been authorized and not yet captured can be captured.", unnamed)
	case o == nil:
		return bad("Payment is not in authorized state.", unnamed)
	case o.Status == "paid":
		return bad("Payment already done for this order.", unnamed)
	}
	s.capture(p)
	return ok(s.paymentObject(p, false))
}

// lagging hides what is too fresh for a list (Settings.ListLag); a fetch by id sees it at once (Probes, Aug 2026).
func (s *Server) lagging(createdAt time.Time) bool {
	return s.settings.ListLag > 0 && s.now().Sub(createdAt) < s.settings.ListLag
}
