package payments

import (
	"errors"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// shortOrder is an order with the kitchen, of two dishes: line 1 is 2 × Paneer Tikka … by the cart's order.
func (s *shop) shortOrder(cash bool) (*models.Order, map[string]models.OrderItem) {
	s.t.Helper()
	c := s.newCustomer().add("samosa", 3).add("dal-tadka", 1)
	var o *models.Order
	if cash {
		o = c.due()
	} else {
		placed, id := c.open()
		o = s.verify(placed, id, s.pay(standin.PayParams{OrderID: id}).ID)
	}
	lines := map[string]models.OrderItem{}
	full, err := s.store.FindOrder(s.t.Context(), o.ID)
	must(s.t, err)
	for _, i := range full.Items {
		lines[i.Name] = i
	}
	return o, lines
}

func (s *shop) ask(o *models.Order, line, qty int, fallback string, swaps ...string) models.Shortage {
	s.t.Helper()
	var ids []int64
	for _, slug := range swaps {
		ids = append(ids, s.item(slug).ID)
	}
	asked, err := s.store.AskShortage(s.t.Context(), o.ID, line, qty, fallback, ids, 5*time.Minute, cook)
	must(s.t, err)
	return asked
}

func (s *shop) owed(sh models.Shortage) models.Paise {
	s.t.Helper()
	found, err := s.store.FindShortage(s.t.Context(), sh.ID)
	must(s.t, err)
	if found.OwedPaise == nil {
		return -1
	}
	return *found.OwedPaise
}

// TestShortage: a dish that runs out costs its customer nothing, and not the rest of the order, whatever is answered or not.
func TestShortage(t *testing.T) {
	t.Parallel()
	samosa, dal := "Punjabi Samosa", "Dal Tadka"
	t.Run("left out: its price and tax go back, once, and the order goes on", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		want, _, err := s.store.ShareOf(t.Context(), o.ID, models.Giving{Pieces: map[int]int{lines[samosa].Line: 2}})
		must(t, err)
		sh := s.ask(o, lines[samosa].Line, 2, models.AnswerCancel, "pakora")
		s.kept()
		answered := 0
		for _, err := range inParallel(6, func() error { return s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerDrop, 0) }) {
			switch {
			case err == nil:
				answered++
			case !errors.Is(err, models.ErrBadMove):
				t.Error(err)
			}
		}
		if answered != 1 || s.owed(sh) != want.Amount() || s.status(o) != models.OrderPaid {
			t.Errorf("answered %d times, owes %d of %d, order %s", answered, s.owed(sh), want.Amount(), s.status(o))
		}
		s.kept()
		s.handOver(o)
		s.heal()
		if back := s.count(`SELECT sum(amount_paise) FROM refunds WHERE order_id = $1 AND status = 'processed'`, o.ID); back != int64(want.Amount()) {
			t.Errorf("%d paise went back, want %d", back, want.Amount())
		}
	})
	t.Run("swapped: a dearer dish costs nothing more, of a cheaper one the difference goes back", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		sh := s.ask(o, lines[dal].Line, 1, models.AnswerDrop, "palak-paneer", "roti")
		if _, err := s.store.AskShortage(t.Context(), o.ID, lines[dal].Line, 1, models.AnswerDrop, nil, 5*time.Minute, cook); !errors.Is(err, models.ErrBadMove) {
			t.Errorf("asked twice: %v", err)
		}
		for _, at := range []int{3, 9} {
			if err := s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerSwap, at); !errors.Is(err, models.ErrBadInput) {
				t.Errorf("swap %d was not offered: %v", at, err)
			}
		}
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerSwap, 1))
		if s.owed(sh) != 0 || s.count(`SELECT count(*) FROM refunds`) != 0 {
			t.Errorf("a dearer dish gives back %d", s.owed(sh))
		}
		other, lines := s.shortOrder(false)
		line := lines[dal].Line
		whole, _, err := s.store.ShareOf(t.Context(), other.ID, models.Giving{Pieces: map[int]int{line: 1}})
		must(t, err)
		cheap := s.ask(other, line, 1, models.AnswerDrop, "palak-paneer", "roti")
		must(t, s.cashier.AnswerShortage(t.Context(), other.ID, cheap.ID, models.AnswerSwap, 2))
		// ₹199.00 was paid for it and the roti costs ₹35.00: of 19,900 paise and their tax 16,400 / 19,900 parts go back, rounded up.
		want := whole.Amount() - whole.Amount()*3500/19900
		if s.owed(cheap) != want {
			t.Errorf("a cheaper dish gives back %d, want %d", s.owed(cheap), want)
		}
		s.heal()
	})
	t.Run("no answer: what was said happens, by the sweep, and not before", func(t *testing.T) {
		t.Parallel()
		for _, fallback := range []string{models.AnswerDrop, models.AnswerCancel} {
			s := openShop(t, standin.Options{})
			o, lines := s.shortOrder(false)
			sh := s.ask(o, lines[dal].Line, 1, fallback)
			if n, err := s.cashier.SettleShortages(t.Context()); n != 0 || err != nil {
				t.Errorf("settled %d at once, %v", n, err)
			}
			if err := s.store.AnswerShortage(t.Context(), o.ID, sh.ID, fallback, 0, models.ActorShop, "normal"); !errors.Is(err, models.ErrBadMove) {
				t.Errorf("the shop answered before the time was over: %v", err)
			}
			s.advance(6 * time.Minute)
			if n, err := s.cashier.SettleShortages(t.Context()); n != 1 || err != nil {
				t.Errorf("settled %d, %v", n, err)
			}
			if err := s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerDrop, 0); !errors.Is(err, models.ErrBadMove) {
				t.Errorf("answered after it was settled: %v", err)
			}
			want := map[string]string{models.AnswerDrop: models.OrderPaid, models.AnswerCancel: models.OrderCancelled}[fallback]
			if s.status(o) != want {
				t.Errorf("%s: the order is %s", fallback, s.status(o))
			}
			s.heal()
		}
	})
	t.Run("cancelled: all of it goes back, though the kitchen has begun", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		s.exec(`UPDATE fulfilments SET status = 'accepted' WHERE order_id = $1`, o.ID)
		first, second := s.ask(o, lines[dal].Line, 1, models.AnswerDrop), s.ask(o, lines[samosa].Line, 1, models.AnswerDrop)
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, first.ID, models.AnswerCancel, 0))
		if err := s.cashier.AnswerShortage(t.Context(), o.ID, second.ID, models.AnswerDrop, 0); !errors.Is(err, models.ErrBadMove) {
			t.Errorf("a cancelled order was answered for: %v", err)
		}
		s.heal()
		if back := s.count(`SELECT sum(amount_paise) FROM refunds WHERE order_id = $1 AND status = 'processed'`, o.ID); back != int64(o.AmountPaise) || s.status(o) != models.OrderCancelled {
			t.Errorf("%d of %d went back, order %s", back, o.AmountPaise, s.status(o))
		}
	})
	t.Run("nothing left: leaving out the last dish cancels the order, delivery and all", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		one, two := s.ask(o, lines[dal].Line, 1, models.AnswerDrop), s.ask(o, lines[samosa].Line, 3, models.AnswerDrop)
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, one.ID, models.AnswerDrop, 0))
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, two.ID, models.AnswerDrop, 0))
		if s.status(o) != models.OrderCancelled {
			t.Errorf("the order is %s", s.status(o))
		}
		s.heal()
		if back := s.count(`SELECT sum(amount_paise) FROM refunds WHERE order_id = $1 AND status = 'processed'`, o.ID); back != int64(o.AmountPaise) {
			t.Errorf("%d of %d went back", back, o.AmountPaise)
		}
	})
	t.Run("cash that is due: what is owed goes back when the money is taken", func(t *testing.T) {
		t.Parallel()
		s := cashShop(t, 200000, 3)
		o, lines := s.shortOrder(true)
		sh := s.ask(o, lines[dal].Line, 1, models.AnswerDrop)
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerDrop, 0))
		s.kept()
		if s.count(`SELECT count(*) FROM refunds`) != 0 || s.owed(sh) <= 0 {
			t.Errorf("owes %d", s.owed(sh))
		}
		s.handOver(o)
		_, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook)
		must(t, err)
		if back := s.count(`SELECT sum(amount_paise) FROM refunds WHERE provider = 'cash' AND status = 'requested'`); back != int64(s.owed(sh)) {
			t.Errorf("%d is to be given back, want %d", back, s.owed(sh))
		}
		s.kept()
		gone, lines := s.shortOrder(true)
		must(t, s.cashier.AnswerShortage(t.Context(), gone.ID, s.ask(gone, lines[dal].Line, 1, models.AnswerDrop).ID, models.AnswerCancel, 0))
		if s.status(gone) != models.OrderCancelled {
			t.Errorf("the order is %s", s.status(gone))
		}
		s.kept()
	})
	t.Run("not handed over while its customer is being asked; not asked once it is gone", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		sh := s.ask(o, lines[dal].Line, 1, models.AnswerDrop)
		s.exec(`UPDATE fulfilments SET status = 'accepted' WHERE order_id = $1`, o.ID)
		s.exec(`UPDATE fulfilments SET status = 'preparing' WHERE order_id = $1`, o.ID)
		s.exec(`UPDATE fulfilments SET status = 'ready' WHERE order_id = $1`, o.ID)
		if _, err := s.store.MoveFulfilment(t.Context(), o.ID, models.TicketReady, models.TicketHandedOver, cook); !errors.Is(err, models.ErrAsking) {
			t.Errorf("handed over: %v", err)
		}
		must(t, s.cashier.AnswerShortage(t.Context(), o.ID, sh.ID, models.AnswerDrop, 0))
		_, err := s.store.MoveFulfilment(t.Context(), o.ID, models.TicketReady, models.TicketHandedOver, cook)
		must(t, err)
		if _, err := s.store.AskShortage(t.Context(), o.ID, lines[samosa].Line, 1, models.AnswerDrop, nil, 5*time.Minute, cook); !errors.Is(err, models.ErrBadMove) {
			t.Errorf("asked about what is gone: %v", err)
		}
		s.kept()
	})
	t.Run("what cannot be asked", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, lines := s.shortOrder(false)
		other := int64(999)
		ask := func(line, qty int, by models.Staff, swaps ...string) error {
			var ids []int64
			for _, slug := range swaps {
				ids = append(ids, s.item(slug).ID)
			}
			_, err := s.store.AskShortage(t.Context(), o.ID, line, qty, models.AnswerDrop, ids, 5*time.Minute, by)
			return err
		}
		for name, c := range map[string]struct {
			err, want error
		}{
			"a dish with meat for one without":     {ask(lines[dal].Line, 1, cook, "chicken-tikka"), models.ErrBadInput},
			"a dish with a choice to make":         {ask(lines[dal].Line, 1, cook, "paneer-butter-masala"), models.ErrBadInput},
			"a dish with a count":                  {ask(lines[dal].Line, 1, cook, "rasmalai"), models.ErrBadInput},
			"the dish itself":                      {ask(lines[dal].Line, 1, cook, "dal-tadka"), models.ErrBadInput},
			"one dish twice":                       {ask(lines[dal].Line, 1, cook, "roti", "roti"), models.ErrBadInput},
			"more than was bought":                 {ask(lines[dal].Line, 2, cook), models.ErrTooMuch},
			"a line that is not there":             {ask(9, 1, cook), models.ErrNotFound},
			"nothing":                              {ask(lines[dal].Line, 0, cook), models.ErrBadInput},
			"an order of another outlet's kitchen": {ask(lines[dal].Line, 1, models.Staff{ID: 1, OutletID: &other}), models.ErrNotFound},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, want %v", name, c.err, c.want)
			}
		}
		if s.count(`SELECT count(*) FROM shortages`) != 0 || s.count(`SELECT count(*) FROM outbox WHERE kind = 'shortage'`) != 0 {
			t.Error("something was asked")
		}
		_, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{Pieces: map[int]int{lines[samosa].Line: 2}}, 0, "cold", cook.ID)
		must(t, err)
		if err := ask(lines[samosa].Line, 2, cook); !errors.Is(err, models.ErrTooMuch) {
			t.Errorf("pieces that were given back already: %v", err)
		}
		must(t, ask(lines[samosa].Line, 1, cook))
	})
}
