package payments

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// handOver takes a ticket to the end; the last step is the kitchen's own.
func (s *shop) handOver(o *models.Order) {
	s.t.Helper()
	for _, to := range []string{models.TicketAccepted, models.TicketPreparing, models.TicketReady} {
		s.exec(`UPDATE fulfilments SET status = $1 WHERE order_id = $2`, to, o.ID)
	}
	_, err := s.store.MoveFulfilment(s.t.Context(), o.ID, models.TicketReady, models.TicketHandedOver, models.Staff{ID: 1})
	must(s.t, err)
}

// papers are an order's, as "R 47500, T 47500": series and money.
func (s *shop) papers(o *models.Order) string {
	s.t.Helper()
	papers, err := s.store.ListPapers(s.t.Context(), o.ID)
	must(s.t, err)
	var list []string
	for _, p := range papers {
		list = append(list, fmt.Sprintf("%s %d", p.Number[:1], p.MoneyPaise))
	}
	return strings.Join(list, ", ")
}

func (s *shop) paperLike(o *models.Order, series string) (last models.Paper) {
	s.t.Helper()
	papers, err := s.store.ListPapers(s.t.Context(), o.ID)
	must(s.t, err)
	for _, p := range papers {
		if strings.HasPrefix(p.Number, series) {
			last = p
		}
	}
	if last.ID == 0 {
		s.t.Errorf("no %s among %s", series, s.papers(o))
	}
	return last
}

// TestPapers: which paper belongs to which money, through an order's life. After every step the books are looked at, the papers' among them.
func TestPapers(t *testing.T) {
	t.Parallel()
	said := func(s *shop, o *models.Order, format string, args ...any) {
		s.t.Helper()
		if got, want := s.papers(o), fmt.Sprintf(format, args...); got != want {
			s.t.Errorf("papers are %q, want %q", got, want)
		}
		s.kept()
	}
	t.Run("paid is a receipt, handed over an invoice, given back after it a credit note, each once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		said(s, o, "R %d", p.AmountPaise)
		_, err := s.cashier.recordPayment(t.Context(), p.ID, models.ViaWebhook, 0)
		must(t, err)
		said(s, o, "R %d", p.AmountPaise)
		s.handOver(o)
		said(s, o, "R %d, T %d", p.AmountPaise, p.AmountPaise)
		for _, to := range []string{models.TicketReady, models.TicketHandedOver} { // recalled, and out again
			from := map[string]string{models.TicketReady: models.TicketHandedOver, models.TicketHandedOver: models.TicketReady}[to]
			_, err := s.store.MoveFulfilment(t.Context(), o.ID, from, to, models.Staff{ID: 1})
			must(t, err)
		}
		said(s, o, "R %d, T %d", p.AmountPaise, p.AmountPaise)
		part := s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
		said(s, o, "R %d, T %d, C %d", p.AmountPaise, p.AmountPaise, part.AmountPaise)
		s.heal()
		s.mustGive(o, models.Giving{})
		s.heal()
		said(s, o, "R %d, T %d, C %d, C %d", p.AmountPaise, p.AmountPaise, part.AmountPaise, p.AmountPaise-int64(part.AmountPaise))
		c := s.paperLike(o, "C")
		if invoice := s.paperLike(o, "T"); c.Printed.AgainstNumber != invoice.Number || c.Printed.AgainstKind != models.PaperInvoice || c.Printed.Reason == "" || len(invoice.Printed.Lines) != 4 {
			t.Errorf("%+v against %+v", c, invoice)
		}
		if n := s.count(`SELECT sum(CASE kind WHEN 'credit_note' THEN -taxable_paise WHEN 'tax_invoice' THEN taxable_paise END)::bigint FROM papers`); n != 0 {
			t.Errorf("%d paise of supply are left, of an order that was all given back", n)
		}
	})
	t.Run("cancelled before it is a refund voucher over the whole bill", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.paidAndCancelled()
		said(s, o, "R %d, V %d", p.AmountPaise, p.AmountPaise)
		r, v := s.paperLike(o, "R"), s.paperLike(o, "V")
		if v.Printed.AgainstNumber != r.Number || fmt.Sprint(v.Printed.Lines) != fmt.Sprint(r.Printed.Lines) || fmt.Sprint(v.Printed.Taxes) != fmt.Sprint(r.Printed.Taxes) {
			t.Errorf("%+v\n%+v", v, r)
		}
		s.heal()
		said(s, o, "R %d, V %d", p.AmountPaise, p.AmountPaise)
	})
	t.Run("the invoice is over what was not given back before", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		first := s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
		second := s.mustGive(o, models.Giving{AmountPaise: 7777})
		s.handOver(o)
		rest := p.AmountPaise - int64(first.AmountPaise) - 7777
		said(s, o, "R %d, V %d, V 7777, T %d", p.AmountPaise, first.AmountPaise, rest)
		invoice := s.paperLike(o, "T")
		less := 0
		for _, l := range invoice.Printed.Lines {
			if l.What == "less" && l.TaxablePaise < 0 && strings.HasPrefix(l.Name, "V") {
				less++
			}
		}
		if less != 2 {
			t.Errorf("lines %+v", invoice.Printed.Lines)
		}
		s.heal()
		s.mustGive(o, models.Giving{})
		s.heal()
		said(s, o, "R %d, V %d, V %d, T %d, C %d", p.AmountPaise, first.AmountPaise, second.AmountPaise, rest, rest)
	})
	t.Run("nothing is left to invoice", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		s.mustGive(o, models.Giving{})
		s.handOver(o)
		said(s, o, "R %d, V %d", p.AmountPaise, p.AmountPaise)
	})
	t.Run("money that was never kept has none", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		c := s.newCustomer().add("samosa", 2)
		o, id := c.open()
		first, second := s.pay(standin.PayParams{OrderID: id}), s.pay(standin.PayParams{OrderID: id})
		c.verify(o, id, first.ID)
		_, err := s.cashier.recordPayment(t.Context(), second.ID, models.ViaWebhook, 0)
		must(t, err)
		s.heal()
		said(s, o, "R %d", first.AmountPaise)
	})
	t.Run("a refund that fails is owed under the same paper, sent again or put before a person", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		s.handOver(o)
		r := s.mustGive(o, models.Giving{AmountPaise: 5000})
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
		s.sweep()
		if s.refundStatus(r.ID) != "failed" {
			t.Fatalf("refund is %s", s.refundStatus(r.ID))
		}
		said(s, o, "R %d, T %d, C 5000", p.AmountPaise, p.AmountPaise)
		must(t, s.cashier.RetryRefund(t.Context(), r.ID, 1))
		said(s, o, "R %d, T %d, C 5000", p.AmountPaise, p.AmountPaise)
		// Before it is sent, somebody gives back more by another road: the second request is taken back, and the paper of the first is answered.
		s.outside(p, p.AmountPaise-1000)
		said(s, o, "R %d, T %d, C 5000, D 5000, C %d, C 1000", p.AmountPaise, p.AmountPaise, p.AmountPaise-1000)
		if d := s.paperLike(o, "D"); d.Printed.AgainstKind != models.PaperCredit {
			t.Errorf("%+v", d)
		}
		s.heal()
		s.kept()
	})
	t.Run("a request that is taken back before the invoice leaves the advance with us", func(t *testing.T) {
		t.Parallel()
		for _, invoiced := range []bool{false, true} {
			s := openShop(t, standin.Options{})
			o, p := s.feast()
			s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
			v := s.paperLike(o, "V")
			if invoiced {
				s.handOver(o)
			}
			s.outside(p, p.AmountPaise)
			if whole, part := p.AmountPaise, int64(v.MoneyPaise); invoiced {
				said(s, o, "R %d, V %d, T %d, D %d, C %d", whole, part, whole-part, part, whole)
			} else {
				said(s, o, "R %d, V %d, R %d, V %d", whole, part, part, whole)
			}
			s.heal()
			s.kept()
		}
	})
	t.Run("tip and fee stand beside the value, two rates each on their own, and a coupon lowers the lines", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('goods', '2020-01-01', 900, 900)`)
		s.exec(`UPDATE items SET tax_class = 'goods' WHERE slug = 'samosa'`)
		s.exec(`INSERT INTO coupons (outlet_id, code, amount_paise) VALUES ($1, 'LESS10', 1000)`, s.outlet.ID)
		s.exec(`UPDATE delivery_bands SET tax_class = 'goods'`)
		c := s.newCustomer().add("samosa", 2).add("dal-makhani", 1)
		s.exec(`UPDATE carts SET coupon = 'LESS10', tip_paise = 3000`)
		o, id := c.open()
		p := s.pay(standin.PayParams{OrderID: id})
		c.verify(o, id, p.ID)
		s.handOver(o)
		said(s, o, "R %d, T %d", p.AmountPaise, p.AmountPaise)
		invoice := s.paperLike(o, "T")
		if invoice.TipPaise != 3000 || invoice.TotalPaise != o.AmountPaise-3000 || len(invoice.Printed.Taxes) != 2 || invoice.Printed.Coupon != "LESS10" {
			t.Errorf("%+v", invoice)
		}
		off := models.Paise(0)
		for _, l := range invoice.Printed.Lines {
			off += l.DiscountPaise
			if want := map[string]string{"packaging": "restaurant", "delivery": "goods"}[l.What]; want != "" && l.TaxClass != want {
				t.Errorf("%s is taxed as %s", l.What, l.TaxClass)
			}
		}
		if off != 1000 {
			t.Errorf("%d paise off", off)
		}
		s.mustGive(o, models.Giving{AmountPaise: 10000})
		s.mustGive(o, models.Giving{})
		s.kept()
	})
	t.Run("where no tax may be charged there is a bill of supply", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []string{"composition", "unregistered"} {
			s := openShop(t, standin.Options{})
			s.exec(`UPDATE outlets SET tax_mode = $1`, mode)
			o, p := s.feast()
			s.mustGive(o, models.Giving{AmountPaise: 2000})
			s.handOver(o)
			s.mustGive(o, models.Giving{Pieces: map[int]int{2: 1}})
			s.mustGive(o, models.Giving{})
			s.kept()
			bill := s.paperLike(o, "B")
			if got := s.papers(o); !strings.HasPrefix(got, fmt.Sprintf("R %d, V 2000, B %d, C ", p.AmountPaise, p.AmountPaise-2000)) {
				t.Errorf("%s: papers are %s", mode, got)
			}
			if bill.CGSTPaise != 0 || len(bill.Printed.Taxes) != 0 || (bill.Printed.Seller.GSTIN == "") != (mode == "unregistered") {
				t.Errorf("%s: %+v", mode, bill)
			}
		}
	})
	t.Run("who it is for is written down where the law wants it, and nowhere else", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, _ := s.feast()
		if b := s.paperLike(o, "R").Printed.Buyer; b.Name != "" {
			t.Errorf("%+v", b)
		}
		c := s.newCustomer().add("samosa", 2)
		in := c.checkout()
		in.BuyerGSTIN, in.BuyerName = "29ABCDE1234F1Z5", "Lake View Offices LLP"
		business, err := s.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		id, err := s.cashier.OpenGatewayOrder(t.Context(), business)
		must(t, err)
		c.verify(business, id, s.pay(standin.PayParams{OrderID: id}).ID)
		if b := s.paperLike(business, "R").Printed.Buyer; b.Name != in.BuyerName || b.GSTIN != in.BuyerGSTIN || b.Address != "Flat 302, Lake View, 100 Feet Road, 560038" {
			t.Errorf("%+v", b)
		}
	})
	t.Run("handed over and given back at once: one of them first, and the papers know which", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		for range 4 {
			o, p := s.feast()
			for _, to := range []string{models.TicketAccepted, models.TicketPreparing, models.TicketReady} {
				s.exec(`UPDATE fulfilments SET status = $1 WHERE order_id = $2`, to, o.ID)
			}
			steps := []func() error{
				func() error {
					return onlyErr(s.store.MoveFulfilment(t.Context(), o.ID, models.TicketReady, models.TicketHandedOver, models.Staff{ID: 1}))
				},
				func() error { return onlyErr(s.give(o, models.Giving{AmountPaise: 5000})) },
			}
			errs := make(chan error)
			for _, step := range steps {
				go func() { errs <- step() }()
			}
			for range steps {
				must(t, <-errs)
			}
			if got, credit, voucher := s.papers(o), fmt.Sprintf("R %d, T %d, C 5000", p.AmountPaise, p.AmountPaise), fmt.Sprintf("R %d, V 5000, T %d", p.AmountPaise, p.AmountPaise-5000); got != credit && got != voucher {
				t.Errorf("papers are %s", got)
			}
		}
		s.kept()
	})
}
