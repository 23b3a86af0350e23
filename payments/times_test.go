package payments

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// at makes the checkout one for a chosen time.
func (in Checkout) at(p models.PromisedTime) Checkout {
	in.At = &p.StartsAt
	return in
}

// times is what is offered to this customer's cart now.
func (c *customer) times() models.Times {
	c.t.Helper()
	review, err := c.cashier.Review(c.t.Context(), c.session, "delivery", "560038", "", nil)
	must(c.t, err)
	return review.Times
}

func TestPromisedTimes(t *testing.T) {
	t.Parallel()

	t.Run("of 20 customers who want a time with 3 places exactly 3 get it, and the rest are offered the next", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`UPDATE outlets SET slot_orders = 3`)
		var want models.PromisedTime
		forms := make([]Checkout, 20)
		customers := make([]*customer, 20)
		for i := range forms {
			customers[i] = s.newCustomer().add("dal-makhani", 1)
			forms[i] = customers[i].checkout()
			want = customers[i].times().Later[2]
		}
		var wg sync.WaitGroup
		errs := make([]error, len(forms))
		for i := range forms {
			wg.Add(1)
			go func() {
				defer wg.Done()
				_, errs[i] = s.cashier.PlaceOrder(t.Context(), forms[i].at(want))
			}()
		}
		wg.Wait()
		placed := 0
		for i, err := range errs {
			switch {
			case err == nil:
				placed++
			case !errors.Is(err, models.ErrTimeGone):
				t.Errorf("customer %d: %v", i, err)
			default:
				offered := customers[i].times()
				if _, found := offered.Find(want.StartsAt); found || !slices.ContainsFunc(offered.Later, func(p models.PromisedTime) bool { return p.StartsAt.Equal(want.EndsAt) }) {
					t.Errorf("customer %d is offered %v", i, offered.Later)
				}
			}
		}
		if n := s.count(`SELECT orders FROM order_times WHERE starts_at = $1`, want.StartsAt); placed != 3 || n != 3 {
			t.Errorf("%d placed, %d taken", placed, n)
		}
		s.kept()
	})

	t.Run("items and make-minutes count too, and an order alone larger than any time is refused", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`UPDATE outlets SET slot_items = 5, slot_make_minutes = 30`)
		s.exec(`UPDATE categories SET make_minutes = 6`)
		s.exec(`UPDATE items SET make_minutes = 11 WHERE slug = 'samosa'`)
		first := s.newCustomer().add("dal-makhani", 3) // 3 items, 18 minutes
		want := first.times().Later[0]
		_, err := s.cashier.PlaceOrder(t.Context(), first.checkout().at(want))
		must(t, err)
		for name, c := range map[string]*customer{"items": s.newCustomer().add("dal-makhani", 3), "make-minutes": s.newCustomer().add("samosa", 2)} {
			if _, err := s.cashier.PlaceOrder(t.Context(), c.checkout().at(want)); !errors.Is(err, models.ErrTimeGone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.cashier.PlaceOrder(t.Context(), s.newCustomer().add("dal-makhani", 1).checkout().at(want)); err != nil { // six more minutes fit
			t.Error(err)
		}
		if offered := s.newCustomer().add("dal-makhani", 6).times(); offered.Soonest != nil || len(offered.Later) > 0 {
			t.Errorf("an order of six is offered %v", offered)
		}
		s.kept()
	})

	t.Run("as soon as possible takes the first time with room, and asks again when that is later than it said", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`UPDATE outlets SET slot_orders = 1`)
		waiting := s.newCustomer().add("dal-makhani", 1)
		shown, form := waiting.times().Soonest, waiting.checkout()
		form.SoonestBy = &shown.To
		for range 3 { // three others fill the first three times
			s.newCustomer().add("dal-makhani", 1).place()
		}
		if _, err := s.cashier.PlaceOrder(t.Context(), form); !errors.Is(err, models.ErrTimeGone) {
			t.Fatalf("placed for a later time than was shown: %v", err)
		}
		again := waiting.times().Soonest
		form.SoonestBy = &again.To
		o, err := s.cashier.PlaceOrder(t.Context(), form)
		must(t, err)
		if !o.ASAP || !o.PromisedTo.Equal(again.To) || !again.From.After(shown.To) {
			t.Errorf("shown %s, then %s, promised %s", shown.To, again.To, o.PromisedTo)
		}
		s.kept()
	})

	t.Run("a hold goes back with the order's others, and late money takes it again only while there is room", func(t *testing.T) {
		t.Parallel()
		for _, taken := range []bool{false, true} {
			s := openShop(t, standin.Options{})
			s.exec(`UPDATE outlets SET slot_orders = 1`)
			c := s.newCustomer().add("dal-makhani", 1)
			want := c.times().Later[8]
			o, err := s.cashier.PlaceOrder(t.Context(), c.checkout().at(want))
			must(t, err)
			id, err := s.cashier.OpenGatewayOrder(t.Context(), o)
			must(t, err)
			s.advance(21 * time.Minute) // hold and five minutes
			must(t, s.store.LapseOrder(t.Context(), o.ID))
			if n := s.count(`SELECT orders FROM order_times WHERE starts_at = $1`, want.StartsAt); n != 0 {
				t.Fatalf("%d still taken after the hold", n)
			}
			if taken {
				_, err := s.cashier.PlaceOrder(t.Context(), s.newCustomer().add("dal-makhani", 1).checkout().at(want))
				must(t, err)
			}
			after := s.verify(o, id, s.pay(standin.PayParams{OrderID: id}).ID)
			if state := map[bool]string{false: "paid", true: "cancelled"}[taken]; after.Status != state {
				t.Errorf("somebody else took it %v: %s", taken, after.Status)
			}
			if reason := s.text(`SELECT reason FROM payments`); taken && reason != "hold_lapsed" {
				t.Errorf("given back for %q", reason)
			}
			s.kept()
		}
	})

	t.Run("placing again moves the customer's own hold", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`UPDATE outlets SET slot_orders = 1`)
		c := s.newCustomer().add("dal-makhani", 1)
		want := c.times().Later[1]
		_, err := s.cashier.PlaceOrder(t.Context(), c.checkout().at(want))
		must(t, err)
		c.add("samosa", 1) // another cart: another order in its place, at the same time
		o, err := s.cashier.PlaceOrder(t.Context(), c.checkout().at(want))
		must(t, err)
		if n := s.count(`SELECT orders FROM order_times WHERE starts_at = $1`, want.StartsAt); n != 1 || !o.PromisedFrom.Equal(want.From) {
			t.Errorf("%d taken", n)
		}
		s.kept()
	})

	t.Run("another time is another checkout, and the ticket is promised for the time that was chosen", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		c := s.newCustomer().add("dal-makhani", 1)
		want, form := c.times().Later[4], c.checkout()
		o, err := s.cashier.PlaceOrder(t.Context(), form.at(want))
		must(t, err)
		if _, err := s.cashier.PlaceOrder(t.Context(), form); !errors.Is(err, models.ErrKeyReused) {
			t.Errorf("the same key for another time: %v", err)
		}
		id, err := s.cashier.OpenGatewayOrder(t.Context(), o)
		must(t, err)
		s.verify(o, id, s.pay(standin.PayParams{OrderID: id}).ID)
		ticket, err := s.store.FindFulfilment(t.Context(), o.ID)
		must(t, err)
		if !ticket.PromisedAt.Equal(want.To) {
			t.Errorf("promised by %s, chosen %s", ticket.PromisedAt, want.To)
		}
		s.kept()
	})

	t.Run("while closed an order is for the next opening, and belongs to its window", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.exec(`DELETE FROM outlet_hours`)
		s.exec(`INSERT INTO outlet_hours SELECT id, day, 18 * 60, 23 * 60 FROM outlets, generate_series(0, 6) day`) // it is noon
		c := s.newCustomer().add("dal-makhani", 1)
		form := c.checkout()
		if _, err := s.cashier.PlaceOrder(t.Context(), form); !errors.Is(err, models.ErrClosed) {
			t.Errorf("as soon as possible: %v", err)
		}
		want := c.times().Later[0]
		for _, wrong := range []time.Time{want.StartsAt.Add(-15 * time.Minute), want.StartsAt.Add(time.Minute), want.StartsAt.AddDate(0, 0, 1), time.Unix(0, 0)} {
			if _, err := s.cashier.PlaceOrder(t.Context(), form.at(models.PromisedTime{StartsAt: wrong})); !errors.Is(err, models.ErrTimeGone) {
				t.Errorf("at %s: %v", wrong, err)
			}
		}
		o, err := s.cashier.PlaceOrder(t.Context(), form.at(want))
		must(t, err)
		if n := s.count(`SELECT count(*) FROM kitchen_slots k JOIN orders o ON o.slot_id = k.id WHERE o.id = $1 AND k.opens_at = $2`, o.ID, want.Window.OpensAt); n != 1 {
			t.Error("not in the window that cooks it")
		}
		s.kept()
	})
}
