package payments

import (
	"testing"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// lateMoney is a payment of an order that was cancelled before: it goes back by itself, and that is requested and not sent.
func (s *shop) lateMoney() standin.Payment {
	s.t.Helper()
	c := s.newCustomer().add("chicken-tikka", 1)
	o, id := c.open()
	_, err := s.cashier.CancelOrder(s.t.Context(), o.ID, models.ActorCustomer, "changed_mind")
	must(s.t, err)
	p := s.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	return p
}

// outside has a person give money back in the gateway's dashboard, and the shop look.
func (s *shop) outside(p standin.Payment, amountPaise int64) standin.Refund {
	s.t.Helper()
	r, err := s.gateway.RefundOutside(p.ID, amountPaise)
	must(s.t, err)
	_, err = s.cashier.recordPayment(s.t.Context(), p.ID, models.ViaSweep, 0)
	must(s.t, err)
	return r
}

// allBack fails the test unless the whole payment went back, by the gateway's books.
func (s *shop) allBack(p standin.Payment) {
	s.t.Helper()
	if got := s.refundedThere(p.ID); got != p.AmountPaise {
		s.t.Errorf("%d of %d paise went back", got, p.AmountPaise)
	}
}

func TestRefundsMadeOutside(t *testing.T) {
	t.Parallel()
	for _, owed := range []struct {
		name string
		make func(s *shop) standin.Payment
	}{
		{"a cancelled order", func(s *shop) standin.Payment { _, p := s.paidAndCancelled(); return p }},
		{"late money", (*shop).lateMoney},
	} {
		t.Run("a part given back just before ours is sent: the rest still goes back, "+owed.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			p := owed.make(s)
			_, err := s.gateway.RefundOutside(p.ID, 100_00) // its webhook is on its way
			must(t, err)
			s.sweep()
			s.heal()
			s.allBack(p)
		})
		for _, partPaise := range []int64{0, 100_00} { // 0: all of it
			t.Run("what the gateway refused us and a person gave back counts once, "+owed.name, func(t *testing.T) {
				t.Parallel()
				s := openShop(t, standin.Options{})
				p := owed.make(s)
				s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
				s.sweep()
				if got := s.text(`SELECT status FROM refunds`); got != "failed" {
					t.Fatalf("refund is %s", got)
				}
				s.outside(p, partPaise)
				s.heal()
				s.allBack(p)
			})
		}
		t.Run("a part that a person gave back in the place of a refused one fails later: it is asked for again, "+owed.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			p := owed.make(s)
			s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
			s.sweep()
			theirs := s.outside(p, 100_00)
			s.sweep() // the rest goes back by a refund of ours
			must(t, s.gateway.FailRefund(theirs.ID))
			for name, e := range s.events(p.ID) {
				if err := s.receive(t.Context(), e); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			s.heal()
			s.allBack(p)
		})
		t.Run("one that the gateway refused and made all the same is counted, "+owed.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			p := owed.make(s)
			s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", After: true, Times: 1})
			s.sweep()
			s.heal()
			s.allBack(p)
			if got := s.text(`SELECT string_agg(status, ' ' ORDER BY requested_at) FROM refunds`); got != "failed processed" {
				t.Errorf("refunds are %s", got)
			}
		})
		t.Run("ours failed at the bank, a person repeated it, and the newest comes first in the list, "+owed.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
			p := owed.make(s)
			s.sweep()
			must(t, s.gateway.FailRefund(s.gateway.Books().RefundsOf(p.ID)[0].ID))
			theirs := s.outside(p, 0)
			must(t, s.gateway.SettleRefund(theirs.ID))
			for name, e := range s.events(p.ID) {
				if err := s.receive(t.Context(), e); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			s.heal()
			s.allBack(p)
		})
	}
	for _, told := range []bool{false, true} {
		t.Run("one that fails does not take from a cancellation", func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			c := s.newCustomer().add("chicken-tikka", 1)
			o, id := c.open()
			p := s.pay(standin.PayParams{OrderID: id})
			c.verify(o, id, p.ID)
			must(t, s.gateway.FailRefund(s.outside(p, 100_00).ID))
			if told { // before the cancelling; otherwise a sweep hears of it after
				must(t, s.receive(t.Context(), s.events(p.ID)["refund.failed"]))
			}
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
			must(t, err)
			s.heal()
			s.allBack(p)
		})
	}
	t.Run("C014 one that took the customer's fee along leaves the order cancellable", func(t *testing.T) {
		t.Parallel()
		for _, cancelFirst := range []bool{false, true} {
			s := openShop(t, standin.Options{})
			c := s.newCustomer().add("chicken-tikka", 1)
			o, id := c.open()
			p := s.pay(standin.PayParams{OrderID: id, CustomerFeePaise: 929}) // 2 % and 18 % on it of the whole 393.29
			c.verify(o, id, p.ID)
			if s.status(o) != models.OrderPaid {
				t.Fatalf("order is %s", s.status(o))
			}
			if cancelFirst {
				_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind")
				must(t, err)
				s.sweep()
			}
			s.outside(p, 0)
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "Given back")
			must(t, err)
			s.heal()
			s.allBack(p)
		}
	})
}

// A share of a bill carries its own tax, whatever share it is, so any part of it can go back by another hand. With the tax left to the last
// share, that one was more tax than food, no part of it could be told apart, and what the gateway said of it was never taken into the books.
func TestAPartOfTheLastShareGivenBackOutside(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	o, _, p := s.newCustomer().add("chicken-tikka", 2).paidFor()
	_, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: o.AmountPaise - 40_00}, 0, "A dish was cold", s.hire())
	must(t, err)
	s.sweep()
	_, err = s.cashier.CancelOrder(t.Context(), o.ID, models.ActorShop, "The oven is broken")
	must(t, err)
	s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
	s.sweep()
	if n := s.count(`SELECT count(*) FROM refunds WHERE status = 'failed' AND amount_paise = 4000`); n != 1 {
		t.Fatalf("%d refunds of the rest failed", n)
	}
	if off := s.count(`SELECT max(abs(t.cgst_paise - t.taxable_paise * 25 / 1000)) FROM refund_share_taxes t`); off > 1 {
		t.Errorf("a share's CGST is %d paise off its rate", off)
	}
	s.outside(p, 30_00)
	s.heal()
	s.allBack(p)
}

// A person may give back at once what several refunds, ours and theirs, failed to: the books take it for all of them.
func TestOneRefundOutsideForSeveralThatFailed(t *testing.T) {
	t.Parallel()
	blocked := standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block"}
	t.Run("of an order that stays paid", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
		o, _, p := s.newCustomer().add("chicken-tikka", 2).paidFor()
		owner := s.hire()
		_, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: 54_50}, 0, "A dish was cold", owner)
		must(t, err)
		s.sweep()
		must(t, s.gateway.FailRefund(s.outside(p, 100_00).ID)) // nothing is owed for it: a person is told
		_, err = s.cashier.recordPayment(t.Context(), p.ID, models.ViaSweep, 0)
		must(t, err)
		fault := s.gateway.Inject(blocked)
		_, err = s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: 20_00}, 154_50, "A dish was cold", owner)
		must(t, err)
		s.sweep()
		s.gateway.RemoveFault(fault)
		if n := s.count(`SELECT count(*) FROM refunds f WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = f.id)`); n != 2 {
			t.Fatalf("%d refunds wait for a person", n)
		}
		must(t, s.gateway.SettleRefund(s.outside(p, 0).ID))
		s.kept()
		for _, r := range s.gateway.Books().RefundsOf(p.ID) {
			if r.Status == "pending" {
				must(t, s.gateway.SettleRefund(r.ID))
			}
		}
		s.heal()
		s.allBack(p)
	})
	t.Run("of money that was never kept", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		p := s.lateMoney()
		fault := s.gateway.Inject(blocked)
		s.sweep()
		theirs := s.outside(p, 100_00) // in the place of a part of ours
		s.sweep()
		must(t, s.gateway.FailRefund(theirs.ID))
		for _, e := range s.events(p.ID) {
			must(t, s.receive(t.Context(), e))
		}
		s.sweep()
		s.gateway.RemoveFault(fault)
		if n := s.count(`SELECT count(*) FROM refunds f WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = f.id)`); n != 2 {
			t.Fatalf("%d refunds wait for a person", n)
		}
		s.outside(p, 0)
		s.kept()
		s.heal()
		s.allBack(p)
	})
}
