package standin

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Settlements are not stored: they follow from the books and the clock. A payment captured, a refund made, or a dispute lost on a day goes into
// the settlement two working days later, at ten in the morning Indian time; a day on which refunds outweigh payments is carried
// on to the next. Source: Docs-Aug, "Fetch Settlement Recon Details", "About Settlements", read August 2026; that the date
// parameters mean Indian days is an inference.

var indianTime = time.FixedZone("IST", 5*3600+1800)

type settlement struct {
	id, utr     string
	at          time.Time
	amountPaise int64
	rows        []object
}

// settlementDay is the instant at which what happened at t is settled: T+2, Saturdays and Sundays not counted.
func settlementDay(t time.Time) time.Time {
	t = t.In(indianTime)
	for left := 2; left > 0; {
		t = t.AddDate(0, 0, 1)
		if t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			left--
		}
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 10, 0, 0, 0, indianTime)
}

// settlements computes everything settled by now, oldest first.
func (s *Server) settlements() []settlement {
	type row struct {
		at, when time.Time
		object   object
		net      int64
	}
	var rows []row
	now := s.now()
	for _, p := range s.payments {
		if at := settlementDay(p.CapturedAt); p.Captured && !at.After(now) {
			rows = append(rows, row{at, p.CapturedAt, s.reconRow(p, nil), p.AmountPaise - p.FeePaise})
		}
	}
	for _, r := range s.refunds {
		p := s.paymentByID[r.PaymentID]
		if at := settlementDay(r.CreatedAt); p.Captured && r.Status == "processed" && !at.After(now) {
			rows = append(rows, row{at, r.CreatedAt, s.reconRow(p, r), -r.AmountPaise})
		}
	}
	for _, d := range s.disputes {
		if at := settlementDay(d.LostAt); d.DeductedPaise > 0 && !at.After(now) {
			rows = append(rows, row{at, d.LostAt, adjustmentRow(d), -d.DeductedPaise})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.when.Compare(b.when)
	})
	var out []settlement
	var open settlement
	for i, r := range rows {
		open.at = r.at
		open.amountPaise += r.net
		open.rows = append(open.rows, r.object)
		if lastOfDay := i == len(rows)-1 || !rows[i+1].at.Equal(r.at); lastOfDay && open.amountPaise > 0 {
			open.id, open.utr = s.settlementIDs(open.at)
			for j := range open.rows {
				open.rows[j] = open.rows[j].settle(open.at, open.id, open.utr)
			}
			out = append(out, open)
			open = settlement{}
		}
	}
	return out
}

// settlementIDs are derived from account and day, so that they are the same whenever asked.
func (s *Server) settlementIDs(at time.Time) (id, utr string) {
	sum := sha256.Sum256([]byte(s.opts.AccountID + at.Format(time.DateOnly)))
	b := make([]byte, 14)
	for i := range b {
		b[i] = alphanumerics[int(sum[i])%len(alphanumerics)]
	}
	return "setl_" + string(b), fmt.Sprintf("%d%06d", unix(at), binary.BigEndian.Uint32(sum[20:])%1_000_000)
}

// reconRow is one line of the daily file; settle fills in what only the settlement knows.
func (s *Server) reconRow(p *Payment, r *Refund) object {
	row := object{
		{"entity_id", p.ID}, {"type", "payment"}, {"debit", int64(0)}, {"credit", p.AmountPaise - p.FeePaise}, {"amount", p.AmountPaise}, {"currency", p.Currency},
		{"fee", p.FeePaise}, {"tax", p.TaxPaise}, {"on_hold", false}, {"settled", true}, {"created_at", unix(p.CreatedAt)}, {"settled_at", nil},
		{"settlement_id", nil}, {"posted_at", nil}, {"credit_type", "default"}, {"description", orNull(p.Description)}, {"notes", nil},
		{"payment_id", nil}, {"settlement_utr", nil}, {"order_id", orNull(p.OrderID)}, {"order_receipt", nil}, {"method", p.Method},
		{"card_network", nil}, {"card_issuer", nil}, {"card_type", nil}, {"dispute_id", nil},
	}
	if len(p.Notes) > 0 {
		row.set("notes", encode(sortedObject(p.Notes)))
	}
	if o := s.orderByID[p.OrderID]; o != nil {
		row.set("order_receipt", orNull(o.Receipt))
	}
	if p.Card != nil {
		row.set("card_network", p.Card.Network)
		row.set("card_issuer", orNull(p.Card.Issuer))
		row.set("card_type", p.Card.Type)
	}
	for _, d := range s.disputes {
		if d.PaymentID == p.ID {
			row.set("dispute_id", d.ID)
		}
	}
	if r != nil {
		row.set("entity_id", r.ID)
		row.set("type", "refund")
		row.set("debit", r.AmountPaise)
		row.set("credit", int64(0))
		row.set("amount", r.AmountPaise)
		row.set("fee", int64(0))
		row.set("tax", int64(0))
		row.set("created_at", unix(r.CreatedAt))
		row.set("description", nil)
		row.set("payment_id", p.ID)
	}
	return row
}

// adjustmentRow takes back what a lost dispute costs. It has no credit_type; which other keys are null is an inference.
func adjustmentRow(d *Dispute) object {
	return object{
		{"entity_id", "adj_" + d.ID[len("disp_"):]}, {"type", "adjustment"}, {"debit", d.DeductedPaise}, {"credit", int64(0)}, {"amount", d.DeductedPaise}, {"currency", d.Currency},
		{"fee", int64(0)}, {"tax", int64(0)}, {"on_hold", false}, {"settled", true}, {"created_at", unix(d.LostAt)}, {"settled_at", nil},
		{"settlement_id", nil}, {"posted_at", nil}, {"description", "Debit for a lost dispute"}, {"notes", nil},
		{"payment_id", nil}, {"settlement_utr", nil}, {"order_id", nil}, {"order_receipt", nil}, {"method", nil},
		{"card_network", nil}, {"card_issuer", nil}, {"card_type", nil}, {"dispute_id", d.ID},
	}
}

func (o object) set(key string, value any) {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
		}
	}
}

func (o object) settle(at time.Time, id, utr string) object {
	o.set("settled_at", unix(at))
	o.set("settlement_id", id)
	o.set("settlement_utr", utr)
	return o
}

func (t settlement) object() object {
	return object{{"id", t.id}, {"entity", "settlement"}, {"amount", t.amountPaise}, {"status", "processed"}, {"fees", 0}, {"tax", 0},
		{"utr", t.utr}, {"created_at", unix(t.at)}}
}

func (s *Server) listSettlements(c *call) answer {
	p, no := c.page(100, "The count may not be greater than 100.")
	if no != nil {
		return *no
	}
	var items []any
	all := s.settlements()
	for i := len(all) - 1; i >= 0 && int64(len(items)) < p.count; i-- {
		if unix(all[i].at) < p.from || unix(all[i].at) > p.to {
			continue
		}
		if p.skip > 0 {
			p.skip--
			continue
		}
		items = append(items, s.extra(all[i].object()))
	}
	return ok(collection(items))
}

func (s *Server) fetchSettlement(c *call) answer {
	id, no := c.id(0, "setl_")
	if no != nil {
		return *no
	}
	for _, t := range s.settlements() {
		if t.id == id {
			return ok(s.extra(t.object()))
		}
	}
	return refusals["id_not_exist"]
}

var fourDigits, upToTwoDigits = regexp.MustCompile(`^[0-9]{4}$`), regexp.MustCompile(`^[0-9]{1,2}$`)

func (s *Server) listRecon(c *call) answer {
	year, month, day := c.query.Get("year"), c.query.Get("month"), c.query.Get("day")
	m, _ := strconv.Atoi(month)
	switch {
	case year == "" || month == "":
		return badField("The year and month fields are required.", "month")
	case !fourDigits.MatchString(year):
		return badField("The year must be 4 digits.", "year")
	case !upToTwoDigits.MatchString(month) || m < 1 || m > 12:
		return refusals["recon_invalid_month"]
	case day != "" && !upToTwoDigits.MatchString(day):
		return badField("The day must be between 1 and 2 digits.", "day")
	}
	p, no := c.page(1000, "The count may not be greater than 1000.")
	if no != nil {
		return *no
	}
	y, _ := strconv.Atoi(year)
	d, _ := strconv.Atoi(day)
	var items []any
	for _, t := range s.settlements() {
		if t.at.Year() != y || int(t.at.Month()) != m || day != "" && t.at.Day() != d {
			continue
		}
		for _, row := range t.rows {
			if p.skip > 0 {
				p.skip--
			} else if int64(len(items)) < p.count {
				items = append(items, s.extra(row))
			}
		}
	}
	return ok(collection(items))
}

// settlementsDue tells of settlements the clock has passed since it last looked.
func (s *Server) settlementsDue() {
	now := s.now()
	morning := time.Date(now.In(indianTime).Year(), now.In(indianTime).Month(), now.In(indianTime).Day(), 10, 0, 0, 0, indianTime)
	if morning.After(now) {
		morning = morning.AddDate(0, 0, -1)
	}
	if !s.settledUpTo.Before(morning) {
		return
	}
	for _, t := range s.settlements() {
		if t.at.After(s.settledUpTo) {
			e := &Event{ID: s.newID(""), Name: "settlement.processed", CreatedAt: now}
			s.send(e, []any{"settlement"}, object{{"settlement", object{{"entity", t.object()}}}})
		}
	}
	s.settledUpTo = now
}
