package standin

import (
	"encoding/json"
	"slices"
)

// The calls about disputes. Source: Docs-Aug, "Disputes Entity", "About Disputes", "Fetch All Disputes", read August 2026.

func (s *Server) findDispute(c *call) (*Dispute, *answer) {
	id, no := c.id(0, "disp_")
	if no != nil {
		return nil, no
	}
	for _, d := range s.disputes {
		if d.ID == id {
			return d, nil
		}
	}
	return nil, refuse(refusals["id_not_exist"])
}

// wrongExpand refuses what cannot be expanded, in the envelope only disputes have.
func (c *call) wrongExpand() bool {
	for key, values := range c.query {
		if key == "expand[]" && slices.ContainsFunc(values, func(v string) bool { return v != "payment" && v != "transaction.settlement" }) {
			return true
		}
	}
	return false
}

func (s *Server) expandedDispute(c *call, d *Dispute) object {
	o := s.disputeObject(d)
	if c.expand("payment") {
		o = o.with(pair{"payment", s.paymentObject(s.paymentByID[d.PaymentID], false)})
	}
	return o
}

func (s *Server) listDisputes(c *call) answer {
	if c.wrongExpand() {
		return refusals["disputes_envelope"]
	}
	p, no := c.page(100, "The count may not be greater than 100.")
	if no != nil {
		return *no
	}
	var items []any
	for i := len(s.disputes) - 1; i >= 0 && int64(len(items)) < p.count; i-- {
		d := s.disputes[i]
		if unix(d.CreatedAt) < p.from || unix(d.CreatedAt) > p.to {
			continue
		}
		if p.skip > 0 {
			p.skip--
			continue
		}
		items = append(items, s.expandedDispute(c, d))
	}
	return ok(collection(items))
}

func (s *Server) fetchDispute(c *call) answer {
	if c.wrongExpand() {
		return refusals["disputes_envelope"]
	}
	d, no := s.findDispute(c)
	if no != nil {
		return *no
	}
	return ok(s.expandedDispute(c, d))
}

func (s *Server) acceptDispute(c *call) answer {
	d, no := s.findDispute(c)
	switch {
	case no != nil:
		return *no
	case d.Status != "open":
		return bad("Dispute is not in open state.", business)
	}
	s.decideDispute(d, "lost")
	return ok(s.disputeObject(d))
}

func (s *Server) contestDispute(c *call) answer {
	d, no := s.findDispute(c)
	if no != nil {
		return *no
	}
	if no := c.parse(); no != nil {
		return *no
	}
	if no := c.only(append([]string{"amount", "action"}, evidenceKeys...)...); no != nil {
		return *no
	}
	if d.Status != "open" {
		return bad("Dispute is not in open state.", business)
	}
	action, present, no := c.text("action")
	switch {
	case no != nil:
		return *no
	case present && action != "draft" && action != "submit":
		return bad("The selected action is invalid.", business)
	}
	for _, k := range evidenceKeys {
		raw, present := c.fields[k]
		if !present {
			continue
		}
		if !json.Valid(raw) {
			return bad("EOF.", business)
		}
		if d.Evidence == nil {
			d.Evidence = map[string]string{}
		}
		d.Evidence[k] = string(raw)
	}
	if action == "submit" {
		d.SubmittedAt = s.now()
		s.decideDispute(d, "under_review")
	}
	return ok(s.disputeObject(d))
}

// decideDispute moves a dispute on and tells it. A lost one takes its amount.
func (s *Server) decideDispute(d *Dispute, status string) {
	d.Status = status
	if status == "lost" {
		d.DeductedPaise, d.LostAt = d.AmountPaise, s.now()
	}
	s.emit("payment.dispute."+status, s.paymentByID[d.PaymentID], nil, nil, d)
}
