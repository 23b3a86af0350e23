package standin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// object is a JSON object that keeps the order of its keys, as the gateway's own samples have one.
type object []pair

type pair struct {
	key   string
	value any
}

// MarshalJSON writes the keys in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(p.key))
		b.WriteByte(':')
		b.WriteString(encode(p.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// with returns a copy with more keys at the end.
func (o object) with(more ...pair) object { return append(slices.Clone(o), more...) }

// alphabetical sorts the keys of the object and of all objects within, as recorded refund events have them.
func (o object) alphabetical() object {
	o = slices.Clone(o)
	for i, p := range o {
		if inner, ok := p.value.(object); ok {
			o[i].value = inner.alphabetical()
		}
	}
	slices.SortStableFunc(o, func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	return o
}

// encode writes compact JSON without HTML escaping. It is used on values of this package only, which can all be written.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("standin: " + err.Error())
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func quote(s string) string { return encode(s) }

// orNull is null for the empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func unix(t time.Time) int64 { return t.Unix() }

// notesOf is [] when empty and an object otherwise (Docs-Aug, every entity page); flipped shows the {} of some samples.
func notesOf(notes map[string]string, flipped bool) any {
	if len(notes) == 0 {
		if flipped {
			return object{}
		}
		return []any{}
	}
	return sortedObject(notes)
}

func sortedObject(m map[string]string) object {
	o := object{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		o = append(o, pair{k, m[k]})
	}
	return o
}

func collection(items []any) object {
	if items == nil {
		items = []any{}
	}
	return object{{"entity", "collection"}, {"count", len(items)}, {"items", items}}
}

// extra adds the unknown key of Settings.ExtraKeys to an entity.
func (s *Server) extra(o object) object {
	if s.settings.ExtraKeys {
		return o.with(pair{"x_unannounced", object{{"entity", "unannounced"}, {"list", []any{1, "two", nil}}}})
	}
	return o
}

func (s *Server) orderObject(o *Order) object {
	var receipt any = orNull(o.Receipt)
	return s.extra(object{
		{"id", o.ID}, {"entity", "order"},
		{"amount", o.AmountPaise}, {"amount_paid", o.AmountPaidPaise}, {"amount_due", max(0, o.AmountPaise-o.AmountPaidPaise)},
		{"currency", o.Currency}, {"receipt", receipt}, {"offer_id", nil},
		{"status", o.Status}, {"attempts", o.Attempts}, {"notes", notesOf(o.Notes, s.settings.FlipShapes)}, {"created_at", unix(o.CreatedAt)},
	})
}

// paymentObject is a payment as API reads show it; the card's details only when asked for (Docs-Aug, "Fetch a Payment").
func (s *Server) paymentObject(p *Payment, withCard bool) object {
	email, contact := orNull(p.Email), p.Contact
	if s.settings.BareContact {
		email = nil
		if len(contact) > 10 {
			contact = contact[len(contact)-10:]
		}
	}
	o := object{
		{"id", p.ID}, {"entity", "payment"}, {"amount", p.AmountPaise}, {"currency", p.Currency}, {"status", p.Status},
		{"order_id", orNull(p.OrderID)}, {"invoice_id", nil}, {"international", p.Card != nil && p.Card.International}, {"method", p.Method},
		{"amount_refunded", p.AmountRefundedPaise}, {"refund_status", orNull(p.RefundStatus)}, {"captured", p.Captured},
		{"description", orNull(p.Description)},
	}
	if p.Card == nil {
		o = append(o, pair{"card_id", nil})
	} else {
		o = append(o, pair{"card_id", p.Card.ID})
		if withCard {
			o = append(o, pair{"card", cardObject(p.Card)})
		}
	}
	var fee, tax any
	if p.Captured {
		fee, tax = p.FeePaise, p.TaxPaise
	}
	o = append(o,
		pair{"bank", orNull(p.Bank)}, pair{"wallet", orNull(p.Wallet)}, pair{"vpa", orNull(p.VPA)},
		pair{"email", email}, pair{"contact", orNull(contact)}, pair{"notes", notesOf(p.Notes, s.settings.FlipShapes)},
		pair{"fee", fee}, pair{"tax", tax},
		pair{"error_code", orNull(p.ErrorCode)}, pair{"error_description", orNull(p.ErrorDescription)}, pair{"error_source", orNull(p.ErrorSource)},
		pair{"error_step", orNull(p.ErrorStep)}, pair{"error_reason", orNull(p.ErrorReason)},
		pair{"acquirer_data", s.acquirerOf(p)}, pair{"created_at", unix(p.CreatedAt)})
	if p.Method == "upi" {
		o = append(o, pair{"upi", object{{"payer_account_type", "bank_account"}, {"vpa", orNull(p.VPA)}, {"flow", "collect"}}})
	}
	if p.CustomerFeePaise > 0 {
		o = append(o, pair{"fee_bearer", "customer"})
	}
	return s.extra(o)
}

// acquirerOf has one set of keys per method; before the bank's yes the values are null.
func (s *Server) acquirerOf(p *Payment) any {
	if s.settings.FlipShapes {
		return []any{}
	}
	keys, o := acquirerKeys[p.Method], object{}
	for _, k := range keys {
		if v, ok := p.Acquirer[k]; ok {
			o = append(o, pair{k, orNull(v)})
		}
	}
	if len(o) == 0 && len(keys) > 0 {
		o = object{{keys[0], nil}}
	}
	return o
}

var acquirerKeys = map[string][]string{
	"upi":        {"rrn", "upi_transaction_id"},
	"card":       {"auth_code", "authentication_reference_number"},
	"netbanking": {"bank_transaction_id"},
	"wallet":     {"transaction_id"},
}

func cardObject(c *Card) object {
	return object{
		{"id", c.ID}, {"entity", "card"}, {"name", c.Name}, {"last4", c.Last4}, {"network", c.Network}, {"type", c.Type},
		{"issuer", orNull(c.Issuer)}, {"international", c.International}, {"emi", false}, {"sub_type", c.SubType}, {"token_iin", nil},
	}
}

func (s *Server) refundObject(r *Refund) object {
	var acquirer any = object{{"arn", orNull(r.ARN)}}
	if r.Status == "pending" {
		acquirer = object{}
	}
	return s.extra(object{
		{"id", r.ID}, {"entity", "refund"}, {"amount", r.AmountPaise}, {"currency", r.Currency}, {"payment_id", r.PaymentID},
		{"notes", notesOf(r.Notes, s.settings.FlipShapes)}, {"receipt", orNull(r.Receipt)}, {"acquirer_data", acquirer},
		{"created_at", unix(r.CreatedAt)}, {"batch_id", nil}, {"status", r.Status},
		{"speed_processed", r.SpeedProcessed}, {"speed_requested", r.SpeedRequested},
	})
}

// evidenceKeys are those of Docs-Aug, "Disputes Entity"; all null until evidence is handed in.
var evidenceKeys = []string{
	"summary", "shipping_proof", "billing_proof", "cancellation_proof", "customer_communication", "proof_of_service", "explanation_letter",
	"refund_confirmation", "access_activity_log", "refund_cancellation_policy", "term_and_conditions", "others",
}

func (s *Server) disputeObject(d *Dispute) object {
	evidence := object{{"amount", d.AmountPaise}}
	for _, k := range evidenceKeys {
		var v any
		if raw, ok := d.Evidence[k]; ok {
			v = json.RawMessage(raw)
		}
		evidence = append(evidence, pair{k, v})
	}
	var submitted any
	if !d.SubmittedAt.IsZero() {
		submitted = unix(d.SubmittedAt)
	}
	return s.extra(object{
		{"id", d.ID}, {"entity", "dispute"}, {"payment_id", d.PaymentID}, {"amount", d.AmountPaise}, {"currency", d.Currency},
		{"amount_deducted", d.DeductedPaise}, {"reason_code", d.ReasonCode}, {"respond_by", unix(d.RespondBy)}, {"status", d.Status},
		{"phase", d.Phase}, {"created_at", unix(d.CreatedAt)}, {"evidence", evidence.with(pair{"submitted_at", submitted})},
	})
}
