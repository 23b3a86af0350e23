package payments

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// coupon gives a coupon out.
func (s *shop) coupon(columns, values string) {
	s.t.Helper()
	s.exec(fmt.Sprintf(`INSERT INTO coupons (outlet_id, code, %s) VALUES ($1, 'TEST', %s)`, columns, values), s.outlet.ID)
}

// with puts a coupon and a tip into the cart.
func (c *customer) with(coupon string, tip models.Paise) *customer {
	c.t.Helper()
	cart, err := c.store.FindCart(c.t.Context(), c.session)
	must(c.t, err)
	_, err = c.store.SetExtras(c.t.Context(), cart.ID, coupon, tip)
	must(c.t, err)
	return c
}

// as presses Pay with a telephone number of their own.
func (c *customer) as(phone string) (*models.Order, error) {
	c.t.Helper()
	in := c.checkout()
	in.Phone = phone
	review, err := c.cashier.Review(c.t.Context(), c.session, in.Way, in.PIN, phone, nil)
	must(c.t, err)
	in.Review = review.Quote.Digest()
	return c.cashier.PlaceOrder(c.t.Context(), in)
}

func (s *shop) uses() string {
	s.t.Helper()
	return s.text(`SELECT (SELECT taken FROM coupons WHERE code = 'TEST') || ' ' || COALESCE((SELECT string_agg(state || ' ' || nth, ', ' ORDER BY order_id) FROM coupon_uses), '')`)
}

// The bill with coupon and tip: tax on what is left, the tip untaxed, each line bearing its part; and all of it goes back to the paisa.
func TestCouponAndTip(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.coupon("amount_paise, minimum_paise", "10000, 49900")
	c := s.newCustomer().add("chicken-tikka", 2).add("samosa", 1).with("TEST", 50_00)
	o, id := c.open()
	// 2 × 329.00 + 99.00 = 757.00, less 100.00 = 657.00 (86.92 of it off the tikka, 13.08 off the samosa); packing 12.50; taxable 669.50
	// CGST = SGST = 669.50 × 2.5 % = 16.7375 → 16.74; tip 50.00; sum 752.98; round-off +0.02
	if o.SubtotalPaise != 75700 || o.DiscountPaise != 10000 || o.CGSTPaise != 1674 || o.SGSTPaise != 1674 || o.TipPaise != 5000 || o.RoundOffPaise != 2 || o.AmountPaise != 75300 || o.Coupon != "TEST" {
		t.Errorf("bill: %+v", o)
	}
	if o.Items[0].DiscountPaise != 8692 || o.Items[1].DiscountPaise != 1308 {
		t.Errorf("the lines bear %d and %d", o.Items[0].DiscountPaise, o.Items[1].DiscountPaise)
	}
	if got := s.uses(); got != "1 held 1" {
		t.Error(got)
	}
	p := s.pay(standin.PayParams{OrderID: id})
	s.verify(o, id, p.ID)
	if got := s.uses(); got != "1 used 1" {
		t.Error(got)
	}
	if got := s.text(`SELECT concat_ws(' ', coupon, tip_paise) FROM carts`); got != " 0" {
		t.Errorf("the next order begins with %q", got)
	}
	_, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{Pieces: map[int]int{2: 1}}, 0, "soggy", s.hire()) // the samosa: 99.00 − 13.08, and its tax
	must(t, err)
	if got := s.text(`SELECT concat_ws(' ', subtotal_paise, discount_paise, tip_paise, cgst_paise + sgst_paise) FROM refund_shares`); got != "9900 1308 0 430" {
		t.Errorf("of the samosa goes back %s", got)
	}
	_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(s.count(`SELECT id FROM staff LIMIT 1`)), "kitchen on fire")
	must(t, err)
	s.heal()
	s.allBack(p)
	if got := s.uses(); got != "0 released 1" {
		t.Errorf("a cancelled order keeps its coupon: %s", got)
	}
	s.settled()
}

// C043: a coupon of three is used three times, whoever presses Pay at once; of one person, once.
func TestCouponLimits(t *testing.T) {
	t.Parallel()
	tell := func(err error) string {
		var coupon *models.ErrCoupon
		switch {
		case err == nil:
			return "placed"
		case errors.As(err, &coupon):
			return coupon.Why
		}
		return err.Error()
	}
	for _, c := range []struct {
		name, columns, values string
		phone                 func(n int) string
		placed                int
		why                   string
	}{
		{"C043 three in total", "amount_paise, total", "5000, 3", func(n int) string { return fmt.Sprintf("+9198450123%02d", n) }, 3, "used_up"},
		{"C043 one per person", "amount_paise", "5000", func(int) string { return "+919845012345" }, 1, "used"},
		{"C043 two per person", "amount_paise, per_person", "5000, 2", func(int) string { return "+919845012345" }, 2, "used"},
		{"C043 a first order", "amount_paise, first_order, per_person", "5000, true, 9", func(int) string { return "+919845012345" }, 1, "first_order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			s.coupon(c.columns, c.values)
			ins := make(chan Checkout, 12)
			for n := range cap(ins) { // all have seen the bill with the discount before anybody pays
				in := s.newCustomer().add("samosa", 3).with("TEST", 0).checkout()
				in.Phone = c.phone(n)
				ins <- in
			}
			got := map[string]int{}
			for _, said := range inParallel(cap(ins), func() string {
				_, err := s.cashier.PlaceOrder(t.Context(), <-ins)
				return tell(err)
			}) {
				got[said]++
			}
			// Who comes second is told in the race by the constraint, or sees that the bill has changed.
			if got["placed"] != c.placed || got["placed"]+got[c.why]+got[models.ErrBillChanged.Error()] != cap(ins) {
				t.Errorf("%v, want %d placed and the rest %s", got, c.placed, c.why)
			}
			if n := s.count(`SELECT count(*) FROM orders WHERE discount_paise = 5000`); n != int64(c.placed) {
				t.Errorf("%d orders have the discount", n)
			}
			if n := s.count(`SELECT taken FROM coupons WHERE code = 'TEST'`); n != int64(c.placed) {
				t.Errorf("%d are counted", n)
			}
			s.kept()
		})
	}
	t.Run("an order nobody pays gives its coupon back, and one that takes its place needs it once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.coupon("amount_paise, total", "5000, 1")
		c := s.newCustomer().add("samosa", 3).with("TEST", 0)
		c.place()
		c.add("samosa", 1) // changed the cart: the order placed with it replaces the old one
		if o := c.place(); o.DiscountPaise != 5000 {
			t.Errorf("placed again with %d off", o.DiscountPaise)
		}
		if got := s.uses(); got != "1 released 1, held 1" {
			t.Error(got)
		}
		other := s.newCustomer().add("samosa", 3).with("TEST", 0)
		if o, err := other.as("+919845000000"); err != nil || o.DiscountPaise != 0 {
			t.Errorf("the other: %+v, %v", o, err)
		}
		s.advance(26 * time.Minute)
		s.sweep()
		if got := s.uses(); got != "0 released 1, released 1" {
			t.Errorf("after they expired: %s", got)
		}
		s.settled()
	})
	t.Run("a first order is for who never had one", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.coupon("percent_bp, first_order", "1000, true")
		c := s.newCustomer().add("samosa", 3)
		o, id := c.open()
		s.verify(o, id, s.pay(standin.PayParams{OrderID: id}).ID)
		again := s.newCustomer().add("samosa", 3).with("TEST", 0)
		if o, err := again.as(o.Phone); err != nil || o.DiscountPaise != 0 {
			t.Errorf("%+v, %v", o, err)
		}
		s.kept()
	})
}

// Nothing to pay: the order is paid at once, without the gateway, with its ticket and its letter; cancelling it gives nothing back and everything else.
func TestNothingToPay(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	s.limit("chicken-tikka", 5)
	s.coupon("percent_bp", "10000")
	s.exec(`UPDATE packaging_fees SET per_order_paise = 0, per_piece_paise = 0`)
	c := s.newCustomer().add("chicken-tikka", 2).with("TEST", 0)
	in := c.checkout()
	for range 3 {
		o, err := c.cashier.PlaceOrder(t.Context(), in)
		must(t, err)
		if o.Status != models.OrderPaid || o.AmountPaise != 0 || o.Pays != "nothing" {
			t.Fatalf("order is %s, %d paise, pays %s", o.Status, o.AmountPaise, o.Pays)
		}
		if _, err := c.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(err, models.ErrBadMove) {
			t.Errorf("a gateway order for nothing: %v", err)
		}
	}
	s.numbers(map[string]int64{`SELECT count(*) FROM orders`: 1, `SELECT count(*) FROM fulfilments WHERE status = 'queued'`: 1, `SELECT count(*) FROM outbox WHERE kind = 'confirmation'`: 1,
		`SELECT sold FROM stock`: 2, `SELECT count(*) FROM payments`: 0, `SELECT count(*) FROM ledger_txns`: 0, `SELECT count(*) FROM cart_lines`: 0, `SELECT taken FROM coupons WHERE code = 'TEST'`: 1})
	if s.creates() != 0 {
		t.Error("the gateway was asked")
	}
	s.kept()
	_, err := s.cashier.CancelOrder(t.Context(), s.count(`SELECT id FROM orders`), models.ActorCustomer, "changed_mind")
	must(t, err)
	s.numbers(map[string]int64{`SELECT count(*) FROM orders WHERE status = 'cancelled'`: 1, `SELECT count(*) FROM fulfilments WHERE status = 'cancelled'`: 1, `SELECT count(*) FROM refunds`: 0, `SELECT sold FROM stock`: 0,
		`SELECT taken FROM coupons WHERE code = 'TEST'`: 0})
	s.settled()
}
