package standin

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// The call that makes an order, its reads and its one change. Fields of products the stand-in does not imitate (partial payments,
// offers, transfers, account checks, tokens) are refused as unknown, which is stricter than the real one. Source: Docs-Aug, "Create an Order", "Fetch All Orders",
// "Fetch Payments for an Order", "Update Order", read August 2026.

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (s *Server) createOrder(c *call) answer {
	if no := c.parse(); no != nil {
		return *no
	}
	known := []string{"amount", "currency", "receipt", "notes", "payment", "payment_capture"}
	if s.settings.UniqueReceipt {
		known = append(known, "unique_receipt")
	}
	if no := c.only(known...); no != nil {
		return *no
	}
	amount, present, no := c.amount()
	switch {
	case no != nil:
		return *no
	case !present:
		return refusals["amount_required"]
	case amount < 0:
		return badField("amount: must be no less than 0.", "amount")
	case amount < 100:
		return refusals["order_amount_too_small"]
	case amount > s.settings.MaxAmountPaise:
		return refusals["order_amount_too_large"]
	}
	cur, present, no := c.text("currency")
	switch {
	case no != nil:
		return *no
	case !present:
		return badField("The currency field is required.", "currency")
	case !currency.MatchString(cur):
		return badField("currency: validation_failure: BAD_REQUEST_INVALID_CURRENCY.", "currency")
	}
	receipt, _, no := c.text("receipt")
	switch {
	case no != nil:
		return *no
	case strings.ContainsFunc(receipt, func(r rune) bool { return r > 126 || r < 32 }):
		return badField("The receipt: validation_failure: BAD_REQUEST_ENCODING_VALIDATION_FAILED.", "receipt")
	case len(receipt) > 40:
		return refusals["order_receipt_too_long"]
	}
	notes, no := c.notes()
	if no != nil {
		return *no
	}
	o := &Order{AmountPaise: amount, Currency: cur, Receipt: receipt, Status: "created", Notes: notes, CreatedAt: s.now(), CreatedBy: c.number}
	if no := c.capture(o); no != nil {
		return *no
	}
	if twins := s.ordersByReceipt[receipt]; receipt != "" && len(twins) > 0 {
		mode := s.settings.ReceiptMode
		if string(c.fields["unique_receipt"]) == "true" {
			mode = ReceiptReturnSame
		}
		switch mode {
		case ReceiptRejectWithOrder:
			return receiptTaken(twins[0].ID)
		case ReceiptReject:
			return refusals["order_receipt_duplicate"]
		case ReceiptReturnSame:
			return ok(s.orderObject(twins[0]))
		}
	}
	o.ID = s.newID("order_")
	s.addOrder(o)
	return ok(s.orderObject(o))
}

// capture reads the order's own capture rules, which go before the account's (Docs-Aug, "Configure Payment Capture Settings
// using Orders API"): minutes, automatic at least 12, manual between automatic and 7200.
func (c *call) capture(o *Order) *answer {
	if raw, present := c.fields["payment_capture"]; present {
		switch strings.Trim(string(raw), `"`) {
		case "1", "true":
			o.Capture = "automatic"
		case "0", "false":
			o.Capture = "manual"
		default:
			return refuse(badField("The payment capture field must be true or false.", "payment_capture"))
		}
	}
	raw, present := c.fields["payment"]
	if !present {
		return nil
	}
	var p struct {
		Capture        string `json:"capture"`
		CaptureOptions *struct {
			Automatic   *int64 `json:"automatic_expiry_period"`
			Manual      *int64 `json:"manual_expiry_period"`
			RefundSpeed string `json:"refund_speed"`
		} `json:"capture_options"`
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		if name, found := strings.CutPrefix(err.Error(), `json: unknown field "`); found {
			return refuse(extraField("payment." + strings.TrimSuffix(name, `"`)))
		}
		return refuse(badField("The payment must be an object.", "payment"))
	}
	if p.Capture != "automatic" && p.Capture != "manual" {
		return refuse(badField("The selected capture is invalid.", "capture"))
	}
	o.Capture = p.Capture
	if p.CaptureOptions == nil {
		return nil
	}
	manual := int64(7200)
	if p.CaptureOptions.Manual != nil {
		manual = *p.CaptureOptions.Manual
	}
	switch auto := p.CaptureOptions.Automatic; {
	case auto == nil && p.Capture == "automatic":
		return refuse(badField("The automatic expiry period field is required when capture is automatic.", "automatic_expiry_period"))
	case auto != nil && *auto < 12:
		return refuse(badField("The automatic expiry period must be at least 12.", "automatic_expiry_period"))
	case manual > 7200 || manual < 12 || auto != nil && manual < *auto:
		return refuse(badField("The manual expiry period must be between the automatic expiry period and 7200.", "manual_expiry_period"))
	case auto != nil:
		o.AutomaticExpiryPeriod = time.Duration(*auto) * time.Minute
	}
	if speed := p.CaptureOptions.RefundSpeed; speed != "" && speed != "normal" && speed != "optimum" {
		return refuse(badField("The selected refund speed is invalid.", "refund_speed"))
	}
	o.ManualExpiryPeriod = time.Duration(manual) * time.Minute
	return nil
}

func (s *Server) findOrder(c *call) (*Order, *answer) {
	id, no := c.id(0, "order_")
	if no != nil {
		return nil, no
	}
	o := s.orderByID[id]
	if o == nil {
		return nil, refuse(refusals["id_not_exist"])
	}
	return o, nil
}

func (s *Server) fetchOrder(c *call) answer {
	o, no := s.findOrder(c)
	if no != nil {
		return *no
	}
	if s.now().Sub(o.CreatedAt) > 180*24*time.Hour {
		return refusals["order_too_old"]
	}
	return ok(s.orderObject(o))
}

func (s *Server) listOrders(c *call) answer {
	p, no := c.page(100, "The count may not be greater than 100.")
	if no != nil {
		return *no
	}
	receipt, byReceipt := c.query.Get("receipt"), c.query.Has("receipt")
	authorised := c.query.Get("authorized")
	var items []any
	for i := len(s.orders) - 1; i >= 0 && int64(len(items)) < p.count; i-- {
		o := s.orders[i]
		if s.lagging(o.CreatedAt) || unix(o.CreatedAt) < p.from || unix(o.CreatedAt) > p.to || byReceipt && o.Receipt != receipt ||
			authorised != "" && (authorised == "1") != s.hasAuthorised(o.ID) {
			continue
		}
		if p.skip > 0 {
			p.skip--
			continue
		}
		item := s.orderObject(o)
		if withCard := c.expand("payments.card"); withCard || c.expand("payments") {
			item = item.with(pair{"payments", s.paymentsOf(o.ID, withCard)})
		}
		items = append(items, item)
	}
	return ok(collection(items))
}

func (s *Server) hasAuthorised(orderID string) bool {
	for _, p := range s.paymentsByOrder[orderID] {
		if p.Status == "authorized" || p.Captured {
			return true
		}
	}
	return false
}

// paymentsOf is the collection of all attempts on an order, newest first.
func (s *Server) paymentsOf(orderID string, withCard bool) object {
	var items []any
	attempts := s.paymentsByOrder[orderID]
	for i := len(attempts) - 1; i >= 0; i-- {
		if s.now().Sub(attempts[i].CreatedAt) >= s.settings.OrderPaymentsLag {
			items = append(items, s.paymentObject(attempts[i], withCard))
		}
	}
	return collection(items)
}

func (s *Server) listOrderPayments(c *call) answer {
	o, no := s.findOrder(c)
	if no != nil {
		return *no
	}
	return ok(s.paymentsOf(o.ID, c.expand("card")))
}

func (s *Server) patchOrder(c *call) answer {
	o, no := s.findOrder(c)
	if no != nil {
		return *no
	}
	if no := c.patchNotes(&o.Notes); no != nil {
		return *no
	}
	return ok(s.orderObject(o))
}

// patchNotes is the one change orders, payments and refunds allow.
func (c *call) patchNotes(at *map[string]string) *answer {
	if no := c.parse(); no != nil {
		return no
	}
	if no := c.only("notes"); no != nil {
		return no
	}
	if _, present := c.fields["notes"]; !present {
		return refuse(badField("The notes field is required.", "notes"))
	}
	notes, no := c.notes()
	if no == nil {
		*at = notes
	}
	return no
}
