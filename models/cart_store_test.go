package models

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shop is an outlet with what the cart tests buy there.
type shop struct {
	*Store
	outlet, dosa, burger, thali int64
	cheese, patty               int64 // of the burger
	lassi, chai, cola           int64 // of the thali: exactly one
	ghee, papad, pickle, egg    int64 // of the thali: none to three
}

func mustShop(t testing.TB) shop {
	t.Helper()
	s := shop{Store: openStore(t)}
	var retries atomic.Int32 // a transaction run again is a deadlock: carts are locked before sessions, everywhere
	s.jitter = func() float64 { retries.Add(1); return 0 }
	t.Cleanup(func() {
		if n := retries.Load(); n > 0 {
			t.Errorf("%d transactions had to be run again", n)
		}
	})
	s.outlet = mustOutlet(t, s.Store, "here")
	s.dosa, s.burger, s.thali = mustItem(t, s.Store, s.outlet, "dosa", 8000), mustItem(t, s.Store, s.outlet, "burger", 12000), mustItem(t, s.Store, s.outlet, "thali", 20000)
	extras := mustGroup(t, s.Store, s.burger, "Extras", "addon", 0, 2, Option{Name: "Cheese", PricePaise: 4000}, Option{Name: "Patty", PricePaise: 9000})
	s.cheese, s.patty = extras[0], extras[1]
	drinks := mustGroup(t, s.Store, s.thali, "Drink", "addon", 1, 1, Option{Name: "Lassi"}, Option{Name: "Chai"}, Option{Name: "Cola", PricePaise: 3000})
	s.lassi, s.chai, s.cola = drinks[0], drinks[1], drinks[2]
	toppings := mustGroup(t, s.Store, s.thali, "Toppings", "addon", 0, 3, Option{Name: "Ghee", PricePaise: 1500}, Option{Name: "Papad", PricePaise: 1500},
		Option{Name: "Pickle", PricePaise: 1000}, Option{Name: "Egg", PricePaise: 2500, Mark: "egg"})
	s.ghee, s.papad, s.pickle, s.egg = toppings[0], toppings[1], toppings[2], toppings[3]
	return s
}

// mustBuy adds to the cart.
func (s shop) mustBuy(t testing.TB, cart Cart, item int64, options []int64, qty int) CartLine {
	t.Helper()
	l, err := s.AddToCart(t.Context(), cart.ID, item, options, qty, "")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// mustSee is the cart of a session, as written down: "2×7[3] 1×7[4]".
func (s shop) mustSee(t testing.TB, sess Session) (Cart, string) {
	t.Helper()
	cart, err := s.FindCart(t.Context(), sess)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range cart.Lines {
		lines = append(lines, fmt.Sprintf("%d×%d%v", l.Qty, l.ItemID, []int64(l.OptionIDs)))
	}
	return cart, strings.Join(lines, " ")
}

// mustDump is everything a change of a cart may touch.
func (s shop) mustDump(t testing.TB) string {
	t.Helper()
	return mustRead[string](t, s.Store, `SELECT concat_ws('|', (SELECT string_agg(c::text, ',' ORDER BY id) FROM carts c), (SELECT string_agg(l::text, ',' ORDER BY id) FROM cart_lines l),
		(SELECT string_agg(r::text, ',' ORDER BY r::text) FROM cart_line_removals r), (SELECT string_agg(x::text, ',' ORDER BY id) FROM sessions x))`)
}

// together runs fn n times at once and returns the errors in order.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	gate := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-gate
			errs[i] = fn(i)
		})
	}
	close(gate)
	group.Wait()
	return errs
}

func TestEnsureCart(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	other := mustOutlet(t, s.Store, "there")
	closed := mustOutlet(t, s.Store, "closed")
	mustExec(t, s.Store, `UPDATE outlets SET active = false WHERE id = ?`, closed)

	t.Run("fifty_first_taps_make_one_cart", func(t *testing.T) {
		for range 5 {
			sess := mustVisit(t, s.Store)
			before := mustRead[int](t, s.Store, `SELECT count(*) FROM carts`)
			carts := make([]Cart, 50)
			for _, err := range together(50, func(i int) (err error) {
				carts[i], err = s.EnsureCart(ctx, sess, s.outlet)
				return err
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, cart := range carts {
				if cart.ID == 0 || cart.ID != carts[0].ID || cart.OutletID != s.outlet || cart.CustomerID != *sess.CustomerID {
					t.Fatalf("cart %+v, another got %+v", cart, carts[0])
				}
			}
			if made := mustRead[int](t, s.Store, `SELECT count(*) FROM carts`) - before; made != 1 {
				t.Fatalf("%d carts were made", made)
			}
		}
	})

	t.Run("an_empty_cart_of_another_outlet_gives_way", func(t *testing.T) {
		sess, first := mustCart(t, s.Store, other)
		second, err := s.EnsureCart(ctx, sess, s.outlet)
		if err != nil || second.ID == first.ID || second.OutletID != s.outlet {
			t.Fatalf("%+v, %v", second, err)
		}
		if left := mustRead[int](t, s.Store, `SELECT count(*) FROM carts WHERE id = ?`, first.ID); left != 0 {
			t.Error("the replaced cart is still there")
		}
		if _, err := s.AddToCart(ctx, first.ID, s.dosa, nil, 1, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("a tap on the replaced cart: %v", err)
		}
	})

	t.Run("one_with_dishes_does_not", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		s.mustBuy(t, cart, s.dosa, nil, 1)
		before := s.mustDump(t)
		if _, err := s.EnsureCart(ctx, sess, other); !errors.Is(err, ErrOtherOutlet) {
			t.Errorf("%v", err)
		}
		if s.mustDump(t) != before {
			t.Error("something changed")
		}
		if again, err := s.EnsureCart(ctx, sess, s.outlet); err != nil || again.ID != cart.ID || len(again.Lines) != 1 {
			t.Errorf("%+v, %v", again, err)
		}
		if err := s.EmptyCart(ctx, cart.ID); err != nil {
			t.Fatal(err)
		}
		if moved, err := s.EnsureCart(ctx, sess, other); err != nil || moved.OutletID != other {
			t.Errorf("after emptying it: %+v, %v", moved, err)
		}
	})

	t.Run("two_outlets_at_once_leave_one_cart", func(t *testing.T) {
		for range 10 {
			sess := mustVisit(t, s.Store)
			for _, err := range together(10, func(i int) error {
				_, err := s.EnsureCart(ctx, sess, []int64{s.outlet, other}[i%2])
				return err
			}) {
				if err != nil && !errors.Is(err, ErrBadMove) {
					t.Fatal(err)
				}
			}
			if n := mustRead[int](t, s.Store, `SELECT count(*) FROM carts WHERE customer_id = ?`, *sess.CustomerID); n != 1 {
				t.Fatalf("%d carts of one visitor", n)
			}
		}
	})

	t.Run("no_such_outlet_or_session", func(t *testing.T) {
		sess := mustVisit(t, s.Store)
		for _, id := range []int64{0, 999, closed} {
			if _, err := s.EnsureCart(ctx, sess, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("outlet %d: %v", id, err)
			}
		}
		person := mustStaff(t, s.Store, 0, "asha")
		token, _, err := s.SignInStaff(ctx, "asha", testPassword, "here")
		if err != nil || person.ID == 0 {
			t.Fatal(err)
		}
		staff, err := s.FindSession(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		for name, sess := range map[string]Session{"unknown": {ID: 999999}, "staff": staff} {
			if _, err := s.EnsureCart(ctx, sess, s.outlet); !errors.Is(err, ErrSignedOut) {
				t.Errorf("%s session: %v", name, err)
			}
		}
		if cart, err := s.FindCart(ctx, sess); err != nil || cart.ID != 0 || len(cart.Lines) != 0 {
			t.Errorf("no cart yet: %+v, %v", cart, err)
		}
	})
}

func TestAddToCart(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	other := mustOutlet(t, s.Store, "there")
	foreign := mustItem(t, s.Store, other, "elsewhere", 100)

	t.Run("same_dish_other_options_is_another_line", func(t *testing.T) { // C035
		sess, cart := mustCart(t, s.Store, s.outlet)
		s.mustBuy(t, cart, s.burger, []int64{s.cheese}, 1)
		s.mustBuy(t, cart, s.burger, []int64{s.patty}, 1)
		again := s.mustBuy(t, cart, s.burger, []int64{s.cheese}, 1)
		s.mustBuy(t, cart, s.burger, []int64{s.patty, s.cheese}, 1)
		s.mustBuy(t, cart, s.burger, []int64{s.cheese, s.patty}, 2) // the order of ticking makes no difference
		if again.Qty != 2 || again.SeenPaise != 16000 {
			t.Errorf("the line answered is %+v", again)
		}
		_, seen := s.mustSee(t, sess)
		if want := fmt.Sprintf("2×%d[%d] 1×%d[%d] 3×%d[%d %d]", s.burger, s.cheese, s.burger, s.patty, s.burger, s.cheese, s.patty); seen != want {
			t.Errorf("cart %s, want %s", seen, want)
		}
	})

	t.Run("bad_input_changes_nothing", func(t *testing.T) { // C036, C037
		sess, cart := mustCart(t, s.Store, s.outlet)
		s.mustBuy(t, cart, s.dosa, nil, 19)
		if _, err := s.EnsureCheckoutKey(ctx, sess.ID); err != nil {
			t.Fatal(err)
		}
		archived, off, until, gone := mustItem(t, s.Store, s.outlet, "archived", 1), mustItem(t, s.Store, s.outlet, "off", 1), mustItem(t, s.Store, s.outlet, "until", 1), mustItem(t, s.Store, s.outlet, "gone", 1)
		mustExec(t, s.Store, `UPDATE items SET archived_at = shop_now() WHERE id = ?`, archived)
		mustExec(t, s.Store, `UPDATE items SET available = false WHERE id = ?`, off)
		mustExec(t, s.Store, `UPDATE items SET eighty_sixed_until = shop_now() + interval '1 hour' WHERE id = ?`, until)
		mustExec(t, s.Store, `UPDATE items SET daily_limit = 0 WHERE id = ?`, gone)
		mustExec(t, s.Store, `UPDATE options SET available = false WHERE id = ?`, s.cola)
		choice, soldOut := new(*ErrChoice), new(*ErrSoldOut)
		before := s.mustDump(t)
		for name, c := range map[string]struct {
			cart, item int64
			options    []int64
			qty        int
			note       string
			want       any // a sentinel, or what errors.As finds
		}{
			"quantity_0":             {cart.ID, s.dosa, nil, 0, "", ErrBadInput},
			"quantity_minus_1":       {cart.ID, s.dosa, nil, -1, "", ErrBadInput},
			"quantity_21":            {cart.ID, s.dosa, nil, 21, "", ErrBadInput},
			"sum_of_21":              {cart.ID, s.dosa, nil, 2, "", ErrBadInput},
			"no_drink":               {cart.ID, s.thali, []int64{s.ghee}, 1, "", choice},
			"two_drinks":             {cart.ID, s.thali, []int64{s.lassi, s.chai}, 1, "", choice},
			"four_toppings":          {cart.ID, s.thali, []int64{s.lassi, s.ghee, s.papad, s.pickle, s.egg}, 1, "", choice},
			"one_topping_twice":      {cart.ID, s.thali, []int64{s.lassi, s.ghee, s.ghee}, 1, "", choice},
			"an_option_of_another":   {cart.ID, s.thali, []int64{s.lassi, s.cheese}, 1, "", choice},
			"an_unknown_option":      {cart.ID, s.thali, []int64{s.lassi, 1 << 62}, 1, "", choice},
			"option_0":               {cart.ID, s.dosa, []int64{0}, 1, "", choice},
			"an_option_that_is_off":  {cart.ID, s.thali, []int64{s.cola}, 1, "", soldOut},
			"dish_0":                 {cart.ID, 0, nil, 1, "", ErrNotFound},
			"dish_minus_1":           {cart.ID, -1, nil, 1, "", ErrNotFound},
			"unknown_dish":           {cart.ID, 1 << 62, nil, 1, "", ErrNotFound},
			"archived_dish":          {cart.ID, archived, nil, 1, "", ErrNotFound},
			"dish_that_is_off":       {cart.ID, off, nil, 1, "", soldOut},
			"dish_86d":               {cart.ID, until, nil, 1, "", soldOut},
			"limited_dish_all_gone":  {cart.ID, gone, nil, 1, "", soldOut},
			"dish_of_another_outlet": {cart.ID, foreign, nil, 1, "", ErrOtherOutlet},
			"unknown_cart":           {999999, s.dosa, nil, 1, "", ErrNotFound},
			"note_too_long":          {cart.ID, s.dosa, nil, 1, strings.Repeat("é", MaxLineNote+1), ErrBadInput},
			"note_with_nul":          {cart.ID, s.dosa, nil, 1, "no\x00onion", ErrBadInput}, // C073
			"note_not_utf8":          {cart.ID, s.dosa, nil, 1, "\xf9\x28", ErrBadInput},
		} {
			l, err := s.AddToCart(ctx, c.cart, c.item, c.options, c.qty, c.note)
			if sentinel, plain := c.want.(error); plain && !errors.Is(err, sentinel) || !plain && !errors.As(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if l.ID != 0 {
				t.Errorf("%s: answered %+v", name, l)
			}
		}
		if after := s.mustDump(t); after != before {
			t.Errorf("refused taps changed\n%s\nto\n%s", before, after)
		}
		if l, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, ""); err != nil || l.Qty != 20 {
			t.Errorf("the twentieth: %+v, %v", l, err)
		}
	})

	t.Run("the_database_refuses_what_the_program_might_forget", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		s.mustBuy(t, cart, s.dosa, nil, 1)
		for name, c := range map[string]struct{ text, constraint string }{
			"21_pieces":            {`UPDATE cart_lines SET qty = 21 WHERE cart_id = ?`, "cart_lines_qty_check"},
			"no_pieces":            {`UPDATE cart_lines SET qty = 0 WHERE cart_id = ?`, "cart_lines_qty_check"},
			"the_same_line_twice":  {`INSERT INTO cart_lines (cart_id, outlet_id, item_id, qty, seen_paise) SELECT cart_id, outlet_id, item_id, 1, 0 FROM cart_lines WHERE cart_id = ?`, "cart_lines_line_key"},
			"another_outlets_dish": {`UPDATE cart_lines SET item_id = ` + fmt.Sprint(foreign) + ` WHERE cart_id = ?`, "cart_lines_item_id_outlet_id_fkey"},
		} {
			if err := s.exec(ctx, c.text, cart.ID).Error; !isConstraint(err, c.constraint) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})

	t.Run("fifty_lines_and_no_more", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		mustExec(t, s.Store, `WITH dishes AS (INSERT INTO items (outlet_id, category_id, slug, name, mark, price_paise)
				SELECT c.outlet_id, c.id, 'many-' || n, 'Many', 'veg', 100 FROM categories c, generate_series(1, 49) n WHERE c.outlet_id = ? RETURNING id, outlet_id)
			INSERT INTO cart_lines (cart_id, outlet_id, item_id, qty, seen_paise) SELECT ?, outlet_id, id, 1, 100 FROM dishes`, s.outlet, cart.ID)
		// Two taps for the last place at once: one gets it.
		errs := together(2, func(i int) error {
			_, err := s.AddToCart(ctx, cart.ID, []int64{s.dosa, s.burger}[i], nil, 1, "")
			return err
		})
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), ErrBadInput) {
			t.Errorf("the fiftieth and the fifty-first: %v", errs)
		}
		if _, err := s.SetCartLine(ctx, cart.ID, s.thali, []int64{s.lassi}, 1, 5); !errors.Is(err, ErrBadInput) {
			t.Errorf("the fifty-first by the stepper: %v", err)
		}
		cart, _ = s.mustSee(t, sess)
		if l := cart.Lines[0]; len(cart.Lines) != MaxLines {
			t.Errorf("%d lines", len(cart.Lines))
		} else if _, err := s.AddToCart(ctx, cart.ID, l.ItemID, nil, 1, ""); err != nil {
			t.Errorf("more of a line that is there: %v", err)
		}
	})

	t.Run("taps_in_two_tabs_all_count", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		before := mustRead[int64](t, s.Store, `SELECT version FROM carts WHERE id = ?`, cart.ID)
		for _, err := range together(50, func(i int) error {
			options := [][]int64{{s.cheese}, {s.patty}, nil}[i%3]
			_, err := s.AddToCart(ctx, cart.ID, s.burger, options, 1, "")
			return err
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		cart, _ = s.mustSee(t, sess)
		if cart.Quantity() != 50 || len(cart.Lines) != 3 || cart.Version != before+50 {
			t.Errorf("%d pieces in %d lines, version %d", cart.Quantity(), len(cart.Lines), cart.Version-before)
		}
	})

	t.Run("thirty_taps_on_one_line_stop_at_twenty", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		refused := 0
		for _, err := range together(30, func(int) error {
			_, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, "")
			return err
		}) {
			if errors.Is(err, ErrBadInput) {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if cart, _ := s.mustSee(t, sess); cart.Quantity() != 20 || refused != 10 {
			t.Errorf("%d pieces, %d refused", cart.Quantity(), refused)
		}
	})

	t.Run("all_lines_of_a_limited_dish_share_what_is_left", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		limited := mustItem(t, s.Store, s.outlet, "limited", 100)
		mustExec(t, s.Store, `UPDATE items SET daily_limit = 3 WHERE id = ?`, limited)
		extra := mustGroup(t, s.Store, limited, "Extra", "addon", 0, 1, Option{Name: "Ghee"})
		s.mustBuy(t, cart, limited, nil, 2)
		var off *ErrSoldOut
		if _, err := s.AddToCart(ctx, cart.ID, limited, extra, 2, ""); !errors.As(err, &off) || off.Left != 3 {
			t.Errorf("2 + 2 of 3: %v", err)
		}
		if _, err := s.AddToCart(ctx, cart.ID, limited, nil, 2, ""); !errors.As(err, &off) || off.Left != 3 {
			t.Errorf("2 and 2 more of 3: %v", err)
		}
		s.mustBuy(t, cart, limited, extra, 1)
	})

	t.Run("notes_for_the_kitchen_are_never_dropped", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		for _, c := range []struct{ note, want string }{
			{"", ""}, {" no onion – nut allergy 🥜 ", "no onion – nut allergy 🥜"}, {"", "no onion – nut allergy 🥜"}, {"no onion", "no onion – nut allergy 🥜"},
			{"well done", "no onion – nut allergy 🥜; well done"}, {"well done", "no onion – nut allergy 🥜; well done"},
		} {
			if l, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, c.note); err != nil || l.Note != c.want {
				t.Errorf("after %q: %q, %v, want %q", c.note, l.Note, err, c.want)
			}
		}
		if _, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, strings.Repeat("x", MaxLineNote)); !errors.Is(err, ErrBadInput) {
			t.Errorf("notes that are too long together: %v", err)
		}
		if l, err := s.AddToCart(ctx, cart.ID, s.burger, nil, 1, strings.Repeat("🥜", MaxLineNote)); err != nil || l.Note != strings.Repeat("🥜", MaxLineNote) {
			t.Errorf("200 characters: %v", err)
		}
	})

	t.Run("the_price_seen_is_todays", func(t *testing.T) { // C042
		sess, cart := mustCart(t, s.Store, s.outlet)
		dish := mustItem(t, s.Store, s.outlet, "changing", 20000)
		s.mustBuy(t, cart, dish, nil, 1)
		for _, c := range []struct {
			price   Paise
			changed bool
		}{{25000, true}, {15000, true}, {20000, false}} {
			mustExec(t, s.Store, `UPDATE items SET price_paise = ? WHERE id = ?`, c.price, dish)
			list, err := s.PriceList(ctx, s.outlet)
			if err != nil {
				t.Fatal(err)
			}
			cart, _ := s.mustSee(t, sess)
			if q, err := PriceCart(list, cart, pickup); err != nil || q.SubtotalPaise != c.price || q.Lines[0].PriceChanged() != c.changed {
				t.Errorf("at %d: %d, changed %v, %v", c.price, q.SubtotalPaise, q.Lines[0].PriceChanged(), err)
			}
		}
		mustExec(t, s.Store, `UPDATE items SET price_paise = 25000 WHERE id = ?`, dish)
		if l, err := s.SetCartLine(ctx, cart.ID, dish, nil, 2, 1); err != nil || l.SeenPaise != 20000 {
			t.Errorf("the stepper shows no price: %+v, %v", l, err)
		}
		if l := s.mustBuy(t, cart, dish, nil, 1); l.SeenPaise != 25000 {
			t.Errorf("the dish's page does: %+v", l)
		}
	})
}

func TestSetCartLine(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	mustSet := func(t *testing.T, cart Cart, item int64, options []int64, qty int, seq int64) CartLine {
		t.Helper()
		l, err := s.SetCartLine(ctx, cart.ID, item, options, qty, seq)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}

	t.Run("quantities_are_absolute", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		for seq, qty := range []int{1, 20, 5, 5, 0, 0, 3} {
			if l := mustSet(t, cart, s.thali, []int64{s.ghee, s.lassi}, qty, int64(seq+1)); l.Qty != qty || !slices.Equal(l.OptionIDs, []int64{s.lassi, s.ghee}) {
				t.Errorf("set to %d: %+v", qty, l)
			}
			if cart, seen := s.mustSee(t, sess); cart.Quantity() != qty || len(cart.Lines) > 1 {
				t.Errorf("set to %d: %s", qty, seen)
			}
		}
	})

	t.Run("bad_input_changes_nothing", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		mustSet(t, cart, s.dosa, nil, 2, 10)
		if _, err := s.EnsureCheckoutKey(ctx, sess.ID); err != nil {
			t.Fatal(err)
		}
		other := mustOutlet(t, s.Store, "there")
		foreign := mustItem(t, s.Store, other, "elsewhere", 100)
		before := s.mustDump(t)
		for name, c := range map[string]struct {
			item    int64
			options []int64
			qty     int
			seq     int64
			want    any
		}{
			"quantity_minus_1": {s.dosa, nil, -1, 20, ErrBadInput}, "quantity_21": {s.dosa, nil, 21, 20, ErrBadInput}, "negative_seq": {s.dosa, nil, 3, -1, ErrBadInput},
			"unknown_dish": {1 << 62, nil, 1, 20, ErrNotFound}, "unknown_dish_removed": {1 << 62, nil, 0, 20, ErrNotFound}, "dish_0_removed": {0, nil, 0, 20, ErrNotFound},
			"no_drink": {s.thali, nil, 1, 20, new(*ErrChoice)}, "foreign_dish": {foreign, nil, 1, 20, ErrOtherOutlet}, "foreign_dish_removed": {foreign, nil, 0, 20, ErrOtherOutlet},
		} {
			_, err := s.SetCartLine(ctx, cart.ID, c.item, c.options, c.qty, c.seq)
			if sentinel, plain := c.want.(error); plain && !errors.Is(err, sentinel) || !plain && !errors.As(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.SetCartLine(ctx, 999999, s.dosa, nil, 1, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown cart: %v", err)
		}
		if l := mustSet(t, cart, s.thali, nil, 0, 20); l.Qty != 0 { // no such line can ever be: nothing to remember
			t.Errorf("an impossible line removed: %+v", l)
		}
		if after := s.mustDump(t); after != before {
			t.Errorf("refused taps changed\n%s\nto\n%s", before, after)
		}
	})

	t.Run("an_older_change_is_ignored", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		mustSet(t, cart, s.dosa, nil, 4, 1000)
		before := s.mustDump(t)
		for _, c := range []struct {
			qty int
			seq int64
		}{{2, 999}, {0, 1}, {7, 1000}, {21 - 1, 500}} {
			if l := mustSet(t, cart, s.dosa, nil, c.qty, c.seq); l.Qty != 4 || l.Seq != 1000 {
				t.Errorf("late %+v: %+v", c, l)
			}
		}
		if s.mustDump(t) != before {
			t.Error("a late change wrote something")
		}
		if l := mustSet(t, cart, s.dosa, nil, 5, 1001); l.Qty != 5 {
			t.Errorf("the next one: %+v", l)
		}
		if l := mustSet(t, cart, s.dosa, nil, 6, 0); l.Qty != 6 || l.Seq != 1001 {
			t.Errorf("without a script: %+v", l)
		}
		if l := mustSet(t, cart, s.dosa, nil, 9, 900); l.Qty != 6 {
			t.Errorf("late after that: %+v", l)
		}
		if _, seen := s.mustSee(t, sess); seen != fmt.Sprintf("6×%d[]", s.dosa) {
			t.Errorf("cart %s", seen)
		}
	})

	t.Run("a_removed_line_does_not_come_back", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		options := []int64{s.cheese}
		for name, remove := range map[string]func(seq int64){
			"by_the_stepper":   func(seq int64) { mustSet(t, cart, s.burger, options, 0, seq) },
			"without_a_script": func(int64) { mustSet(t, cart, s.burger, options, 0, 0) },
			"by_emptying": func(int64) {
				if err := s.EmptyCart(ctx, cart.ID); err != nil {
					t.Error(err)
				}
			},
			"by_being_bought":   func(int64) { mustExec(t, s.Store, `DELETE FROM cart_lines WHERE cart_id = ?`, cart.ID) },
			"before_it_came_in": nil,
		} {
			base := mustRead[int64](t, s.Store, `SELECT COALESCE(max(seq), 0) + 1000 FROM cart_line_removals WHERE cart_id = ?`, cart.ID)
			if remove == nil { // the removal overtakes the tap that made the line
				if l := mustSet(t, cart, s.burger, options, 0, base+1); l.Qty != 0 {
					t.Errorf("%s: %+v", name, l)
				}
			} else {
				mustSet(t, cart, s.burger, options, 2, base)
				remove(base + 1)
			}
			before := s.mustDump(t)
			for _, late := range []int64{base - 1, base} {
				if l := mustSet(t, cart, s.burger, options, 3, late); l.Qty != 0 || l.ID != 0 || l.ItemID != s.burger {
					t.Errorf("%s: a late change brought back %+v", name, l)
				}
			}
			if s.mustDump(t) != before {
				t.Errorf("%s: a late change wrote something", name)
			}
			if l := s.mustBuy(t, cart, s.burger, options, 1); l.Qty != 1 {
				t.Errorf("%s: added again: %+v", name, l)
			}
			if l := mustSet(t, cart, s.burger, options, 9, base); l.Qty != 1 {
				t.Errorf("%s: a late change of the old line set the new one to %d", name, l.Qty)
			}
			if l := mustSet(t, cart, s.burger, options, 2, base+2); l.Qty != 2 {
				t.Errorf("%s: a new change: %+v", name, l)
			}
			if l := mustSet(t, cart, s.burger, options, 0, base+3); l.Qty != 0 {
				t.Errorf("%s: removed in the end: %+v", name, l)
			}
		}
		if _, seen := s.mustSee(t, sess); seen != "" {
			t.Errorf("cart %s", seen)
		}
		if left := mustRead[int](t, s.Store, `SELECT count(*) FROM cart_line_removals WHERE cart_id = ?`, cart.ID); left != 1 {
			t.Errorf("%d removals remembered of one line", left)
		}
	})

	t.Run("one_lines_removal_is_not_anothers", func(t *testing.T) {
		sess, cart := mustCart(t, s.Store, s.outlet)
		mustSet(t, cart, s.burger, []int64{s.cheese}, 1, 100)
		mustSet(t, cart, s.burger, []int64{s.cheese}, 0, 200)
		mustSet(t, cart, s.burger, []int64{s.patty}, 1, 150) // came late, but nothing of its own is newer
		mustSet(t, cart, s.dosa, nil, 1, 150)
		if _, seen := s.mustSee(t, sess); seen != fmt.Sprintf("1×%d[%d] 1×%d[]", s.burger, s.patty, s.dosa) {
			t.Errorf("cart %s", seen)
		}
	})

	t.Run("removals_are_forgotten_after_a_day", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		mustSet(t, cart, s.dosa, nil, 1, 1)
		mustSet(t, cart, s.dosa, nil, 0, 2)
		mustExec(t, s.Store, `UPDATE cart_line_removals SET removed_at = removed_at - interval '25 hours' WHERE cart_id = ?`, cart.ID)
		mustSet(t, cart, s.burger, nil, 1, 3)
		mustSet(t, cart, s.burger, nil, 0, 4)
		if kept := mustRead[string](t, s.Store, `SELECT string_agg(item_id::text, ' ') FROM cart_line_removals WHERE cart_id = ?`, cart.ID); kept != fmt.Sprint(s.burger) {
			t.Errorf("remembered: dishes %s", kept)
		}
	})

	t.Run("any_order_of_arrival_ends_in_the_newest", func(t *testing.T) { // C039
		order := rand.New(rand.NewPCG(20261130, 7))
		for round := range 60 {
			sess, cart := mustCart(t, s.Store, s.outlet)
			taps := make([]int, 2+order.IntN(5)) // the quantity after each tap, in the order of tapping
			for i := range taps {
				taps[i] = order.IntN(4)
			}
			arrival := order.Perm(len(taps))
			parallel := round%2 == 0
			send := func(i int) error {
				_, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, taps[i], int64(i+1))
				return err
			}
			var errs []error
			if parallel {
				errs = together(len(taps), func(n int) error { return send(arrival[n]) })
			} else {
				for _, i := range arrival {
					errs = append(errs, send(i), send(i)) // each one is repeated, too
				}
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if cart, seen := s.mustSee(t, sess); cart.Quantity() != taps[len(taps)-1] {
				t.Fatalf("taps %v arriving as %v (at once: %v) end in %q", taps, arrival, parallel, seen)
			}
		}
	})

	t.Run("taking_away_always_works", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		dish := mustItem(t, s.Store, s.outlet, "passing", 100)
		extra := mustGroup(t, s.Store, dish, "Extra", "addon", 0, 1, Option{Name: "Ghee"})
		s.mustBuy(t, cart, dish, extra, 5)
		mustExec(t, s.Store, `UPDATE items SET available = false, archived_at = shop_now() WHERE id = ?`, dish)
		mustExec(t, s.Store, `DELETE FROM option_groups WHERE item_id = ?`, dish)
		if _, err := s.SetCartLine(ctx, cart.ID, dish, extra, 6, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("more: %v", err)
		}
		if l := mustSet(t, cart, dish, extra, 3, 2); l.Qty != 3 {
			t.Errorf("fewer: %+v", l)
		}
		if l := mustSet(t, cart, dish, extra, 0, 3); l.Qty != 0 {
			t.Errorf("none: %+v", l)
		}
	})

	t.Run("more_of_what_is_nearly_gone_names_what_is_left", func(t *testing.T) {
		_, cart := mustCart(t, s.Store, s.outlet)
		dish := mustItem(t, s.Store, s.outlet, "scarce", 100)
		mustExec(t, s.Store, `UPDATE items SET daily_limit = 2 WHERE id = ?`, dish)
		mustSet(t, cart, dish, nil, 2, 1)
		var off *ErrSoldOut
		if _, err := s.SetCartLine(ctx, cart.ID, dish, nil, 3, 2); !errors.As(err, &off) || off.Left != 2 || off.Name != "Scarce" {
			t.Errorf("%v", err)
		}
	})
}

func TestCheckoutKeyFollowsTheCart(t *testing.T) { // S2.16
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	sess, cart := mustCart(t, s.Store, s.outlet)
	if _, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 1, 1000); err != nil {
		t.Fatal(err)
	}
	key := func() string {
		t.Helper()
		k, err := s.EnsureCheckoutKey(ctx, sess.ID)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for name, c := range map[string]struct {
		change func() error
		keeps  bool
	}{
		"nothing":               {func() error { return nil }, true},
		"looking":               {func() error { _, err := s.FindCart(ctx, sess); return err }, true},
		"the same quantity":     {func() error { _, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 1, 2000); return err }, true},
		"a late change":         {func() error { _, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 9, 999); return err }, true},
		"removing what is away": {func() error { _, err := s.SetCartLine(ctx, cart.ID, s.burger, nil, 0, 5); return err }, true},
		"a refused tap": {func() error {
			if _, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 20, ""); !errors.Is(err, ErrBadInput) {
				return fmt.Errorf("not refused: %w", err)
			}
			return nil
		}, true},
		"one more": {func() error {
			_, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, "")
			return errors.Join(err, s.exec(ctx, `UPDATE cart_lines SET qty = 1 WHERE cart_id = ?`, cart.ID).Error)
		}, false},
		"another quantity": {func() error {
			_, err := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 2, 0)
			_, back := s.SetCartLine(ctx, cart.ID, s.dosa, nil, 1, 0)
			return errors.Join(err, back)
		}, false},
		"removing": {func() error {
			_, err := s.AddToCart(ctx, cart.ID, s.thali, []int64{s.chai}, 1, "")
			key()
			_, gone := s.SetCartLine(ctx, cart.ID, s.thali, []int64{s.chai}, 0, 0)
			return errors.Join(err, gone)
		}, false},
	} {
		before := key()
		if err := c.change(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if after := key(); (after == before) != c.keeps {
			t.Errorf("%s: key %s became %s", name, before, after)
		}
	}

	t.Run("a_rolled_back_change_keeps_it", func(t *testing.T) {
		before := key()
		undo := errors.New("undo")
		if err := s.InTx(ctx, func(tx *Store) error {
			if _, err := tx.AddToCart(ctx, cart.ID, s.dosa, nil, 1, ""); err != nil {
				return err
			}
			return undo
		}); !errors.Is(err, undo) {
			t.Fatal(err)
		}
		if after := key(); after != before {
			t.Errorf("key %s became %s", before, after)
		}
	})

	t.Run("emptying_takes_it_once", func(t *testing.T) {
		before := key()
		if err := s.EmptyCart(ctx, cart.ID); err != nil {
			t.Fatal(err)
		}
		second := key()
		if err := s.EmptyCart(ctx, cart.ID); err != nil {
			t.Fatal(err)
		}
		if third := key(); before == second || second != third {
			t.Errorf("keys %s, %s, %s", before, second, third)
		}
		if err := s.EmptyCart(ctx, 999999); !errors.Is(err, ErrNotFound) {
			t.Errorf("an unknown cart: %v", err)
		}
	})
}

func TestLockCartMakesOthersWait(t *testing.T) {
	t.Parallel()
	s, ctx := mustShop(t), t.Context()
	sess, cart := mustCart(t, s.Store, s.outlet)
	s.mustBuy(t, cart, s.dosa, nil, 1)
	added := make(chan error, 1)
	err := s.InTx(ctx, func(tx *Store) error {
		locked, err := tx.LockCart(ctx, cart.ID)
		if err != nil {
			return err
		}
		go func() {
			_, err := s.AddToCart(ctx, cart.ID, s.dosa, nil, 1, "")
			added <- err
		}()
		mustWaitForLock(t, s.Store)
		if again, err := tx.LockCart(ctx, cart.ID); err != nil || again.Version != locked.Version || again.Quantity() != 1 {
			return fmt.Errorf("the locked cart changed to %+v: %w", again, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	if cart, _ := s.mustSee(t, sess); cart.Quantity() != 2 {
		t.Errorf("%d pieces", cart.Quantity())
	}
}

// mustWaitForLock returns when some connection of this test's database waits for a lock.
func mustWaitForLock(t testing.TB, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for mustRead[int](t, s, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		if ctx.Err() != nil {
			t.Fatal("nobody waits for a lock")
		}
	}
}
