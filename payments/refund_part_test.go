package payments

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// feast is a paid order of two samosas and a dal makhani, delivered: both with tax, packaging and delivery on the bill.
func (s *shop) feast() (*models.Order, standin.Payment) {
	s.t.Helper()
	c := s.newCustomer().add("samosa", 2).add("dal-makhani", 1)
	o, id := c.open()
	p := s.pay(standin.PayParams{OrderID: id})
	c.verify(o, id, p.ID)
	return o, p
}

// give has staff decide on what the page shows now.
func (s *shop) give(o *models.Order, g models.Giving) (models.Refund, error) {
	s.t.Helper()
	_, p, err := s.store.ShareOf(s.t.Context(), o.ID, g)
	if err != nil {
		return models.Refund{}, err
	}
	return s.cashier.RequestRefund(s.t.Context(), o.ID, g, p.RefundReservedPaise, "The samosa was cold", 1)
}

func (s *shop) mustGive(o *models.Order, g models.Giving) models.Refund {
	s.t.Helper()
	r, err := s.give(o, g)
	must(s.t, err)
	return r
}

func (s *shop) refundStatus(id string) string {
	s.t.Helper()
	return s.text(`SELECT status FROM refunds WHERE id = $1::uuid`, id)
}

// tellRefunds delivers what the gateway says of a payment's refunds, newest first.
func (s *shop) tellRefunds(p standin.Payment) {
	s.t.Helper()
	events := s.gateway.Events()
	slices.Reverse(events)
	for _, e := range events {
		if e.PaymentID == p.ID && e.RefundID != "" {
			must(s.t, s.receive(s.t.Context(), e))
		}
	}
}

func TestPartRefund(t *testing.T) {
	t.Parallel()
	t.Run("C010 parts by dish, by amount and the rest come to the bill, part by part", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		total := int64(0)
		for i, g := range []models.Giving{{Pieces: map[int]int{1: 1}}, {AmountPaise: 10000}, {Pieces: map[int]int{2: 1}}, {AmountPaise: 3333}, {}} {
			share, _, err := s.store.ShareOf(t.Context(), o.ID, g)
			must(t, err)
			r := s.mustGive(o, g)
			if r.AmountPaise != share.Amount() || r.Kind != "staff" || r.Reason != "The samosa was cold" || r.RequestedBy != models.StaffActor(1) {
				t.Errorf("asked for %s, shown %d paise", plain(r), share.Amount())
			}
			if got := s.text(`SELECT status FROM refunds WHERE id = $1::uuid`, r.ID); got != "requested" {
				t.Errorf("refund is %s", got)
			}
			if share.CGSTPaise == 0 || share.CGSTPaise != share.SGSTPaise && g.AmountPaise == 0 || share.RoundOffPaise < -60 || share.RoundOffPaise > 60 {
				t.Errorf("%d: tax and round-off of %s", i, plain(share.Parts))
			}
			if g.Pieces != nil && (share.PackagingPaise != 0 || share.DeliveryPaise != 0 || share.TipPaise != 0) {
				t.Errorf("dishes give back more than themselves: %s", plain(share.Parts))
			}
			s.sweep()
			total += int64(r.AmountPaise)
			want := "partially_refunded"
			if i == 4 {
				want = "refunded"
			}
			if s.refundedThere(p.ID) != total || s.label(o) != want || s.status(o) != models.OrderPaid {
				t.Errorf("%d: %d of %d paise back, people see %q, order is %s", i, s.refundedThere(p.ID), total, s.label(o), s.status(o))
			}
			for range 2 {
				s.tellRefunds(p) // again and again: never counted twice
			}
			s.settled()
		}
		if total != p.AmountPaise || s.count(`SELECT count(*) FROM outbox WHERE kind = 'refund_processed'`) != 5 {
			t.Errorf("%d of %d paise", total, p.AmountPaise)
		}
		s.sharesAddUp()
		if n := s.count(`SELECT count(*) FROM order_items i WHERE order_id = $1 AND qty <> (SELECT COALESCE(sum(qty), 0) FROM refund_share_lines l WHERE l.order_id = i.order_id AND l.line = i.line) AND line = 2`, o.ID); n != 0 {
			t.Error("the dish given back by name is not noted")
		}
		if _, err := s.give(o, models.Giving{}); !errors.Is(err, models.ErrTooMuch) {
			t.Errorf("nothing is left, and giving it says %v", err)
		}
	})
	t.Run("C010 what the gateway tells of parts made outside: 100, 150, the same again, 250", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		var told []standin.Event
		tell := func(e standin.Event, want int64, label string) {
			t.Helper()
			told = append(told, e)
			must(t, s.receive(t.Context(), e))
			if got := s.count(`SELECT refund_reserved_paise FROM payments WHERE razorpay_payment_id = $1`, p.ID); got != want || s.label(o) != label {
				t.Errorf("%d paise, people see %q; want %d, %q", got, s.label(o), want, label)
			}
		}
		made := func(amount int64) standin.Event {
			t.Helper()
			r, err := s.gateway.RefundOutside(p.ID, amount)
			must(t, err)
			for _, e := range s.gateway.Events() {
				if e.RefundID == r.ID && e.Name == "refund.processed" {
					return e
				}
			}
			t.Fatal("no event")
			return standin.Event{}
		}
		tell(made(10000), 10000, "partially_refunded")
		second := made(15000)
		tell(second, 25000, "partially_refunded")
		tell(second, 25000, "partially_refunded")
		second.ID += "x" // and once more under another event id
		tell(second, 25000, "partially_refunded")
		tell(made(0), p.AmountPaise, "refunded")
		for _, e := range told {
			tell(e, p.AmountPaise, "refunded")
		}
		s.settled()
		s.sharesAddUp()
	})
	t.Run("C009 S1.19 twice in 50 ms, after F5, and from two devices: one refund, one call", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		other, closing := s.elsewhere(s.cashier.log)
		defer closing()
		g := models.Giving{AmountPaise: 5000}
		_, was, err := s.store.ShareOf(t.Context(), o.ID, g)
		must(t, err)
		turn := make(chan *Cashier, 8)
		for i := range 8 {
			turn <- []*Cashier{s.cashier, other}[i%2]
		}
		done := 0
		for _, err := range inParallel(8, func() error {
			_, err := (<-turn).RequestRefund(t.Context(), o.ID, g, was.RefundReservedPaise, "Cold", 1)
			return err
		}) {
			if err == nil {
				done++
			} else if !errors.Is(err, models.ErrBadMove) {
				t.Error(err)
			}
		}
		s.sweep()
		_, err = s.cashier.RequestRefund(t.Context(), o.ID, g, was.RefundReservedPaise, "Cold", 1)
		if done != 1 || !errors.Is(err, models.ErrBadMove) {
			t.Errorf("done %d times; again: %v", done, err)
		}
		if calls := s.refundCalls(); len(calls) != 1 || len(calls[0].IdempotencyKey) < 10 || s.refundedThere(p.ID) != 5000 {
			t.Errorf("calls: %s", plain(calls))
		}
		if n := s.count(`SELECT count(*) FROM audit WHERE action = 'refund'`); n != 1 {
			t.Errorf("%d audit lines", n)
		}
		s.settled()
	})
	t.Run("C011 one that fails at the bank is not back, and is sent again as a new attempt with a new id", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
		o, p := s.feast()
		first := s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
		id := first.ID
		for try := range 5 { // by itself three times, then by a person
			s.sweep()
			must(t, s.gateway.FailRefund(s.gateway.Books().RefundsOf(p.ID)[try].ID))
			s.tellRefunds(p)
			if s.refundStatus(id) != "failed" || s.label(o) == "refunded" || s.refundedThere(p.ID) != 0 || s.count(`SELECT count(*) FROM outbox WHERE kind = 'refund_processed'`) != 0 {
				t.Fatalf("try %d: %s, people see %q", try, s.refundStatus(id), s.label(o))
			}
			if try >= 3 {
				if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'refund_failed' AND ref = $1 AND closed_at IS NULL`, id) != 1 {
					t.Fatalf("try %d: nobody is told", try)
				}
				must(t, s.cashier.RetryRefund(t.Context(), id, 1))
				if err := s.cashier.RetryRefund(t.Context(), id, 2); !errors.Is(err, models.ErrBadMove) {
					t.Errorf("sent again twice: %v", err)
				}
				if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'refund_failed' AND closed_at IS NULL`) != 0 {
					t.Error("it is still on the list")
				}
			}
			id = s.text(`SELECT id::text FROM refunds WHERE retry_of = $1::uuid`, id)
			if id == "" {
				t.Fatalf("try %d: no successor", try)
			}
		}
		s.sweep()
		for _, r := range s.gateway.Books().RefundsOf(p.ID) {
			if r.Status == "pending" {
				must(t, s.gateway.SettleRefund(r.ID))
			}
		}
		s.tellRefunds(p)
		keys := map[string]bool{}
		for _, call := range s.refundCalls() {
			keys[call.IdempotencyKey] = true
		}
		if len(keys) != 6 || s.refundedThere(p.ID) != int64(first.AmountPaise) || s.label(o) != "partially_refunded" {
			t.Errorf("%d attempts, %d paise back, people see %q", len(keys), s.refundedThere(p.ID), s.label(o))
		}
		s.settled()
		must(t, onlyErr(s.give(o, models.Giving{})))
		s.sweep()
		for _, r := range s.gateway.Books().RefundsOf(p.ID) {
			if r.Status == "pending" {
				must(t, s.gateway.SettleRefund(r.ID))
			}
		}
		s.tellRefunds(p)
		s.allBack(p)
		s.settled()
		s.sharesAddUp()
	})
	t.Run("C011 a refusal waits for a person at once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		r := s.mustGive(o, models.Giving{AmountPaise: 5000})
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
		s.sweep()
		if s.refundStatus(r.ID) != "failed" || s.refundedThere(p.ID) != 0 {
			t.Fatalf("refund is %s", s.refundStatus(r.ID))
		}
		if _, err := s.give(o, models.Giving{AmountPaise: models.Paise(p.AmountPaise)}); !errors.Is(err, models.ErrTooMuch) { // it is still owed
			t.Errorf("all of it besides: %v", err)
		}
		done := 0
		for _, err := range inParallel(4, func() error { return s.cashier.RetryRefund(t.Context(), r.ID, 1) }) {
			if err == nil {
				done++
			} else if !errors.Is(err, models.ErrBadMove) {
				t.Error(err)
			}
		}
		s.sweep()
		if done != 1 || s.refundedThere(p.ID) != 5000 {
			t.Errorf("sent again %d times, %d paise back", done, s.refundedThere(p.ID))
		}
		for id, want := range map[string]error{r.ID: models.ErrBadMove, s.text(`SELECT id::text FROM refunds WHERE retry_of IS NOT NULL`): models.ErrBadMove,
			"00000000-0000-4000-8000-000000000000": models.ErrNotFound} {
			if err := s.cashier.RetryRefund(t.Context(), id, 1); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", id, err, want)
			}
		}
		s.settled()
	})
	t.Run("the gateway gives back no less than a rupee, so nothing less is asked for or left over", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		for _, amount := range []models.Paise{1, 99, models.Paise(p.AmountPaise) - 1, models.Paise(p.AmountPaise) - 99} {
			if _, err := s.give(o, models.Giving{AmountPaise: amount}); !errors.Is(err, models.ErrTooSmall) {
				t.Errorf("%d paise: %v", amount, err)
			}
		}
		for g, want := range map[*models.Giving]error{{AmountPaise: -1}: models.ErrBadInput, {AmountPaise: models.Paise(p.AmountPaise) + 1}: models.ErrTooMuch, {Pieces: map[int]int{1: 3}}: models.ErrTooMuch,
			{Pieces: map[int]int{9: 1}}: models.ErrBadInput, {Pieces: map[int]int{1: 0}}: models.ErrBadInput, {Pieces: map[int]int{1: -1}}: models.ErrBadInput} {
			if _, err := s.give(o, *g); !errors.Is(err, want) {
				t.Errorf("%v: %v, want %v", *g, err, want)
			}
		}
		if s.count(`SELECT count(*) FROM refunds`) != 0 {
			t.Error("something was written")
		}
		s.mustGive(o, models.Giving{AmountPaise: models.Paise(p.AmountPaise) - 100})
		s.mustGive(o, models.Giving{AmountPaise: 100})
		s.sweep()
		s.allBack(p)
		s.settled()
		s.sharesAddUp()
	})
	t.Run("of an order nobody paid, or that was cancelled, there is nothing to give", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		unpaid := s.newCustomer().add("samosa", 2).place()
		if _, err := s.give(unpaid, models.Giving{}); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("unpaid: %v", err)
		}
		cancelled, _ := s.paidAndCancelled()
		if _, err := s.give(cancelled, models.Giving{AmountPaise: 100}); !errors.Is(err, models.ErrTooMuch) {
			t.Errorf("cancelled: %v", err)
		}
	})
	t.Run("a part, then the whole order is cancelled: the rest goes back", func(t *testing.T) {
		t.Parallel()
		for _, sent := range []bool{false, true} {
			s := openShop(t, standin.Options{})
			o, p := s.feast()
			part := s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
			if sent {
				s.sweep()
			}
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "No gas")
			must(t, err)
			s.sweep()
			s.allBack(p)
			if s.label(o) != "refunded" || s.count(`SELECT amount_paise FROM refunds WHERE kind = 'cancel'`) != p.AmountPaise-int64(part.AmountPaise) {
				t.Error(s.story(o))
			}
			s.settled()
			s.sharesAddUp()
		}
	})
	t.Run("a handed over order gives back too", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		s.exec(`INSERT INTO staff (login, name, role, password_hash) VALUES ('cook', 'Cook', 'owner', 'x')`)
		for _, to := range []string{models.TicketAccepted, models.TicketPreparing, models.TicketReady, models.TicketHandedOver} {
			s.exec(`UPDATE fulfilments SET status = $1 WHERE order_id = $2`, to, o.ID)
		}
		s.mustGive(o, models.Giving{})
		s.sweep()
		s.allBack(p)
		s.settled()
	})
}

func onlyErr[T any](_ T, err error) error { return err }

// A person gives back in the gateway's dashboard what the shop gives back too: every paisa counts once, and each part of the bill.
func TestPartRefundsAndTheDashboard(t *testing.T) {
	t.Parallel()
	t.Run("between ours", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
		s.sweep()
		s.outside(p, 12345)
		s.settled()
		s.mustGive(o, models.Giving{AmountPaise: 7777})
		s.sweep()
		s.outside(p, 1111)
		s.settled()
		s.mustGive(o, models.Giving{})
		s.sweep()
		s.allBack(p)
		s.settled()
		s.sharesAddUp()
		if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'refund_outside'`) != 2 {
			t.Error("nobody is told of what was done outside")
		}
	})
	for name, waiting := range map[string][]models.Giving{
		"the rest, not sent yet":               {{}},
		"two parts and the rest, not sent yet": {{AmountPaise: 5000}, {Pieces: map[int]int{1: 1}}, {}},
	} {
		t.Run("it takes the place of "+name+": what is left of it goes back anew", func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			o, p := s.feast()
			for _, g := range waiting {
				s.mustGive(o, g)
			}
			s.outside(p, 20000)
			s.kept()
			if n := s.count(`SELECT count(*) FROM refunds WHERE status = 'void'`); n != 1 {
				t.Errorf("%d were taken back", n)
			}
			s.heal()
			s.allBack(p)
			if s.label(o) != "refunded" {
				t.Errorf("people see %q", s.label(o))
			}
			s.sharesAddUp()
		})
	}
	t.Run("a failed one of ours, repeated there in part", func(t *testing.T) {
		t.Parallel()
		for _, amount := range []int64{4000, 10000} {
			s := openShop(t, standin.Options{})
			o, p := s.feast()
			r := s.mustGive(o, models.Giving{AmountPaise: 10000})
			s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
			s.sweep()
			if s.refundStatus(r.ID) != "failed" {
				t.Fatalf("refund is %s", s.refundStatus(r.ID))
			}
			s.outside(p, amount)
			s.kept()
			if err := s.cashier.RetryRefund(t.Context(), r.ID, 1); !errors.Is(err, models.ErrBadMove) {
				t.Errorf("it can still be sent again: %v", err)
			}
			s.heal()
			if back := s.refundedThere(p.ID); back != 10000 {
				t.Errorf("%d paise went back, want 10000", back)
			}
			s.mustGive(o, models.Giving{})
			s.heal()
			s.allBack(p)
			s.sharesAddUp()
		}
	})
	t.Run("one that the answer was lost of, and then another there: ours is known before theirs is weighed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p := s.feast()
		whole := models.Paise(p.AmountPaise)
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.HTML502, Times: 1})
		s.mustGive(o, models.Giving{AmountPaise: whole / 4})
		s.sweep() // not done there: it waits
		s.gateway.ClearFaults()
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Drop, Times: 1})
		s.mustGive(o, models.Giving{})
		s.sweep() // done there, and we do not know
		s.gateway.ClearFaults()
		_, err := s.gateway.RefundOutside(p.ID, 0)
		must(t, err)
		s.tellRefunds(p)
		s.heal()
		s.allBack(p)
		if s.label(o) != "refunded" || s.count(`SELECT COALESCE(sum(amount_paise), 0)::bigint FROM refunds WHERE status = 'processed'`) != p.AmountPaise {
			t.Errorf("people see %q\n%s", s.label(o), s.story(o))
		}
		s.sharesAddUp()
	})
}

// Parts in parallel with cancelling, with each other and with the dashboard never give back more than was captured.
func TestPartRefundRaces(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	for round := range 20 {
		o, p := s.feast()
		half := models.Giving{AmountPaise: models.Paise(p.AmountPaise)/2 + 100}
		moves := []func() error{
			func() error { return onlyErr(s.cashier.RequestRefund(t.Context(), o.ID, half, 0, "Cold", 1)) },
			func() error {
				return onlyErr(s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{}, 0, "Late", 2))
			},
			func() error {
				return onlyErr(s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{Pieces: map[int]int{1: 2}}, 0, "Cold", 2))
			},
			func() error { return onlyErr(s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "No gas")) },
		}
		if round%2 == 0 {
			moves = append(moves, func() error {
				if _, err := s.gateway.RefundOutside(p.ID, 10000); err != nil && !errors.Is(err, standin.ErrNotPossible) {
					return err
				}
				return onlyErr(s.cashier.recordPayment(t.Context(), p.ID, models.ViaSweep, 0))
			}, func() error { return onlyErr(s.cashier.SweepRefunds(t.Context())) })
		}
		turn := make(chan func() error, len(moves))
		for _, move := range moves {
			turn <- move
		}
		for _, err := range inParallel(len(moves), func() error { return (<-turn)() }) {
			if err != nil && !errors.Is(err, models.ErrBadMove) && !errors.Is(err, models.ErrTooMuch) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if n := s.count(`SELECT count(*) FROM refunds WHERE order_id = $1 AND kind = 'staff' AND retry_of IS NULL`, o.ID); n > 1 {
			t.Errorf("round %d: %d of three pages were acted on", round, n)
		}
		s.kept()
		s.heal()
		if s.refundedThere(p.ID) != p.AmountPaise || s.status(o) != models.OrderCancelled || s.label(o) != "refunded" {
			t.Errorf("round %d: %d of %d paise back\n%s", round, s.refundedThere(p.ID), p.AmountPaise, s.story(o))
		}
	}
	s.sharesAddUp()
}

// S1.26: whatever is heard in whatever order, what people see of an order's money never steps back from refunded to paid.
func TestPaymentLabelOfParts(t *testing.T) {
	t.Parallel()
	rank := map[string]int{"paid": 0, "partially_refunded": 1, "refunding": 2, "refunded": 3}
	s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		o, p := s.feast()
		s.mustGive(o, models.Giving{AmountPaise: 5000})
		s.mustGive(o, models.Giving{Pieces: map[int]int{1: 1}})
		s.mustGive(o, models.Giving{})
		if s.label(o) != "refunding" {
			t.Errorf("asked for, people see %q", s.label(o))
		}
		s.sweep()
		was := rank[s.label(o)]
		refunds := s.gateway.Books().RefundsOf(p.ID)
		for _, n := range order {
			must(t, s.gateway.SettleRefund(refunds[n].ID))
			s.tellRefunds(p)
			if now := rank[s.label(o)]; now < was {
				t.Errorf("people see %q after a higher state", s.label(o))
			} else {
				was = now
			}
		}
		for _, e := range s.gateway.Events() { // every old word again: authorized, captured, created
			if e.PaymentID == p.ID {
				e.ID += fmt.Sprint(len(e.ID))
				must(t, s.receive(t.Context(), e))
			}
		}
		if s.label(o) != "refunded" {
			t.Errorf("people see %q", s.label(o))
		}
	}
	s.settled()
}

// The speed that is set goes along with every refund: by staff, of a cancellation, by itself, and of a retry.
func TestRefundSpeed(t *testing.T) {
	t.Parallel()
	for _, speed := range []string{"normal", "optimum"} {
		t.Run(speed, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{Settings: standin.Settings{PendingRefunds: true}})
			s.cashier.settings.RefundSpeed = speed
			o, p := s.feast()
			s.mustGive(o, models.Giving{AmountPaise: 5000})
			s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
			s.sweep()
			must(t, s.cashier.RetryRefund(t.Context(), s.text(`SELECT id::text FROM refunds`), 1))
			s.sweep()
			must(t, s.gateway.FailRefund(s.gateway.Books().RefundsOf(p.ID)[0].ID))
			s.tellRefunds(p)
			s.sweep() // asked for again by itself
			_, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "No gas")
			must(t, err)
			s.lateMoney()
			s.sweep()
			calls := s.refundCalls()
			for _, call := range calls {
				if !strings.Contains(call.Body, `"speed":"`+speed+`"`) {
					t.Errorf("sent %s", call.Body)
				}
			}
			if len(calls) != 5 {
				t.Errorf("%d calls, want 5: refused, again by hand, again by itself, cancelled, late", len(calls))
			}
			s.kept()
		})
	}
}
