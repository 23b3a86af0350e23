package models

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// kesar is a price list by hand: item total and fees in one class of 2.5 % + 2.5 %, packing ₹5 and ₹2.50 a piece, three bands.
func kesar() PriceList {
	free := Paise(49900)
	return PriceList{
		OutletID: 1, TaxMode: "regular", RoundsToRupee: true,
		TaxRates:  map[string]TaxRate{"restaurant": {"restaurant", 250, 250}},
		Packaging: PackagingFee{PerOrderPaise: 500, PerPiecePaise: 250, TaxClass: "restaurant"},
		Bands: []DeliveryBand{
			{UpToMetres: 3000, FeePaise: 2900, MinimumPaise: 14900, FreeAbovePaise: &free, TaxClass: "restaurant"},
			{UpToMetres: 5000, FeePaise: 3900, MinimumPaise: 19900, FreeAbovePaise: &free, TaxClass: "restaurant"},
			{UpToMetres: 8000, FeePaise: 5900, MinimumPaise: 29900, TaxClass: "restaurant"},
		},
		Items: map[int64]Item{
			1: dish(1, "Butter Chicken", "nonveg", 34900, portions(11, 21900, 34900)),
			2: dish(2, "Chicken Tikka", "nonveg", 32900),
			3: dish(3, "Garlic Naan", "veg", 6900),
			4: dish(4, "Thali", "veg", 20000,
				OptionGroup{ID: 40, Name: "Drink", Kind: "addon", MinPick: 1, MaxPick: 1, Options: []Option{
					{ID: 41, Name: "Lassi", Mark: "veg", Available: true}, {ID: 42, Name: "Chai", Mark: "veg", Available: true},
					{ID: 43, Name: "Cola", PricePaise: 3000, Mark: "veg"}}}, // the cola is off
				OptionGroup{ID: 44, Name: "Toppings", Kind: "addon", MinPick: 0, MaxPick: 3, Options: []Option{
					{ID: 45, Name: "Ghee", PricePaise: 1500, Mark: "veg", Available: true}, {ID: 46, Name: "Papad", PricePaise: 1500, Mark: "veg", Available: true},
					{ID: 47, Name: "Egg", PricePaise: 2500, Mark: "egg", Available: true}, {ID: 48, Name: "Chicken", PricePaise: 9000, Mark: "nonveg", Available: true}}}),
			5: dish(5, "Burger", "veg", 12000,
				OptionGroup{ID: 50, Name: "Extras", Kind: "addon", MinPick: 0, MaxPick: 5, Options: []Option{
					{ID: 51, Name: "Cheese", PricePaise: 2000, Mark: "veg", Available: true}, {ID: 52, Name: "Double patty", PricePaise: 9000, Mark: "veg", Available: true}}}),
			6: dish(6, "Chutney", "veg", 9900),
		},
	}
}

func dish(id int64, name, mark string, price Paise, groups ...OptionGroup) Item {
	return Item{ID: id, OutletID: 1, Slug: strings.ToLower(strings.ReplaceAll(name, " ", "-")), Name: name, Mark: mark, PricePaise: price,
		TaxClass: "restaurant", Available: true, Groups: groups}
}

func portions(firstID int64, half, full Paise) OptionGroup {
	return OptionGroup{ID: firstID * 10, Name: "Portion", Kind: "variant", MinPick: 1, MaxPick: 1, Options: []Option{
		{ID: firstID, Name: "Half", PricePaise: half, Mark: "veg", Available: true}, {ID: firstID + 1, Name: "Full", PricePaise: full, Mark: "veg", Available: true}}}
}

func cartOf(lines ...CartLine) Cart {
	for i := range lines {
		lines[i].ID = int64(i + 1)
	}
	return Cart{ID: 1, OutletID: 1, Lines: lines}
}

func line(item int64, qty int, options ...int64) CartLine {
	return CartLine{ItemID: item, Qty: qty, OptionIDs: options}
}

func delivery(metres int) Destination {
	return Destination{Way: "delivery", PIN: "560038", DistanceMetres: &metres, Served: true}
}

var pickup = Destination{Way: "pickup"}

// sums are the numbers of a bill, as written on it.
type sums struct{ items, packing, delivery, cgst, sgst, round, total Paise }

func sumsOf(q Quote) sums {
	return sums{q.SubtotalPaise, q.PackagingPaise, q.DeliveryPaise, q.CGSTPaise, q.SGSTPaise, q.RoundOffPaise, q.AmountPaise}
}

func TestPriceCart(t *testing.T) {
	t.Parallel()
	t.Run("sums_of_awkward_decimals_are_exact", func(t *testing.T) { // C040
		for _, c := range []struct{ price, want Paise }{{15920, 15920}, {29, 29}, {115, 115}, {435, 435}, {1999, 1999}, {199010, 199010}, {29935, 29935}} {
			for _, qty := range []int{1, 3, 7, 20} {
				list := exact(unpacked(composition(kesar())))
				list.Items[9] = dish(9, "Awkward", "veg", c.price)
				q, err := PriceCart(list, cartOf(line(9, qty)), pickup)
				if err != nil || q.AmountPaise != c.want*Paise(qty) {
					t.Errorf("%d × %d paise = %d, %v", qty, c.price, q.AmountPaise, err)
				}
			}
		}
	})

	t.Run("same_dish_other_options_is_another_line", func(t *testing.T) { // C035
		q, err := PriceCart(kesar(), cartOf(line(5, 2, 51), line(5, 1, 52)), pickup)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := q.Lines[0], q.Lines[1]; a.LineTotalPaise != 28000 || b.LineTotalPaise != 21000 || // 2 × (120 + 20), 120 + 90
			a.Options[0].Name != "Cheese" || b.Options[0].Name != "Double patty" || len(a.Options) != 1 || len(b.Options) != 1 {
			t.Errorf("lines %+v", q.Lines)
		}
	})

	t.Run("quantity_is_one_to_twenty", func(t *testing.T) {
		for qty, good := range map[int]bool{-1: false, 0: false, 1: true, 20: true, 21: false} {
			q, err := PriceCart(kesar(), cartOf(line(3, qty)), pickup)
			if good && (err != nil || q.SubtotalPaise != 6900*Paise(qty)) || !good && (!errors.Is(err, ErrBadInput) || q.AmountPaise != 0) {
				t.Errorf("quantity %d: %d paise, %v", qty, q.AmountPaise, err)
			}
		}
	})

	t.Run("a_cart_has_one_to_fifty_lines", func(t *testing.T) {
		lines := make([]CartLine, MaxLines)
		for i := range lines {
			lines[i] = line(3, 1)
		}
		if q, err := PriceCart(kesar(), cartOf(lines...), pickup); err != nil || q.SubtotalPaise != 50*6900 {
			t.Errorf("50 lines: %d, %v", q.SubtotalPaise, err)
		}
		if _, err := PriceCart(kesar(), cartOf(append(lines, line(3, 1))...), pickup); !errors.Is(err, ErrBadInput) {
			t.Errorf("51 lines: %v", err)
		}
		for _, cart := range []Cart{{}, {OutletID: 1}, {OutletID: 2}} {
			if _, err := PriceCart(kesar(), cart, pickup); !errors.Is(err, ErrEmptyCart) {
				t.Errorf("no lines: %v", err)
			}
		}
		if _, err := PriceCart(kesar(), Cart{OutletID: 2, Lines: []CartLine{line(3, 1)}}, pickup); !errors.Is(err, ErrOtherOutlet) {
			t.Errorf("another outlet's cart: %v", err)
		}
	})

	t.Run("choices_outside_a_groups_limits_are_refused", func(t *testing.T) { // C036
		for name, options := range map[string][]int64{
			"no_drink": {45}, "two_drinks": {41, 42}, "four_toppings": {41, 45, 46, 47, 48}, "one_topping_twice": {41, 45, 45}, "one_drink_twice": {41, 41},
			"an_option_of_another_dish": {41, 51}, "an_unknown_option": {41, 999}, "zero": {41, 0}, "a_negative_one": {-1, 41},
		} {
			q, err := PriceCart(kesar(), cartOf(line(4, 1, options...), line(3, 1)), pickup)
			var choice *ErrChoice
			if !errors.As(err, &choice) || choice.ItemID != 4 || choice.Dish != "Thali" {
				t.Errorf("%s: %v", name, err)
			}
			if q.SubtotalPaise != 6900 || q.Lines[0].LineTotalPaise != 0 || q.Lines[0].Name != "Thali" || q.Lines[0].Problem == nil || q.Lines[1].Problem != nil {
				t.Errorf("%s: a line that cannot be bought costs %+v", name, q.Lines[0])
			}
		}
		if _, err := PriceCart(kesar(), cartOf(line(1, 1)), pickup); !errors.As(err, new(*ErrChoice)) {
			t.Errorf("no portion: %v", err)
		}
		if _, err := PriceCart(kesar(), cartOf(line(1, 1, 11, 12)), pickup); !errors.As(err, new(*ErrChoice)) {
			t.Errorf("two portions: %v", err)
		}
		for _, options := range [][]int64{{41}, {42, 45, 46, 47}, {48, 41}} {
			if _, err := PriceCart(kesar(), cartOf(line(4, 1, options...)), pickup); err != nil {
				t.Errorf("options %v: %v", options, err)
			}
		}
	})

	t.Run("what_is_off_is_refused_by_name", func(t *testing.T) { // C037
		zero, two := 0, 2
		for name, change := range map[string]func(*Item){
			"switched_off": func(i *Item) { i.Available = false },
			"86d":          func(i *Item) { i.SoldOut = true },
			"all_gone":     func(i *Item) { i.Left = &zero },
			"too_few":      func(i *Item) { i.Left = &two },
		} {
			list := kesar()
			item := list.Items[3]
			change(&item)
			list.Items[3] = item
			_, err := PriceCart(list, cartOf(line(2, 1), line(3, 3)), pickup)
			var off *ErrSoldOut
			if !errors.As(err, &off) || off.Name != "Garlic Naan" || off.ItemID != 3 || (name == "too_few") != (off.Left == 2) {
				t.Errorf("%s: %v, left %+v", name, err, off)
			}
		}
		var off *ErrSoldOut
		if _, err := PriceCart(kesar(), cartOf(line(4, 1, 43)), pickup); !errors.As(err, &off) || off.Name != "Thali, Cola" {
			t.Errorf("a choice that is off: %v", err)
		}
		for _, id := range []int64{0, -1, 77} {
			q, err := PriceCart(kesar(), cartOf(line(id, 1)), pickup)
			if !errors.Is(err, ErrNotFound) || q.AmountPaise != 0 {
				t.Errorf("dish %d: %d paise, %v", id, q.AmountPaise, err)
			}
		}
	})

	t.Run("what_is_left_is_shared_by_all_lines_of_a_dish", func(t *testing.T) {
		list := kesar()
		for left, good := range map[int]bool{3: false, 4: true} {
			item := list.Items[5]
			item.Left = &left
			list.Items[5] = item
			q, err := PriceCart(list, cartOf(line(5, 2, 51), line(5, 2)), pickup)
			var off *ErrSoldOut
			if good && err != nil || !good && (!errors.As(err, &off) || off.Left != 3 || q.Lines[0].Problem != nil || q.Lines[1].Problem == nil) {
				t.Errorf("%d left of 2 + 2: %v", left, err)
			}
		}
	})

	t.Run("a_bad_stored_price_is_never_charged", func(t *testing.T) { // F6
		list := kesar()
		bad := list.Items[3]
		bad.PricePaise = -1
		list.Items[3] = bad
		list.Items[5].Groups[0].Options[0].PricePaise = -2000
		for _, l := range []CartLine{line(3, 1), line(5, 1, 51)} {
			if q, err := PriceCart(list, cartOf(l), pickup); !errors.Is(err, ErrBadInput) || q.AmountPaise != 0 {
				t.Errorf("dish %d: %d paise, %v", l.ItemID, q.AmountPaise, err)
			}
		}
	})

	t.Run("a_class_without_a_rate_is_a_fault_of_the_shop", func(t *testing.T) {
		list := kesar()
		delete(list.TaxRates, "restaurant")
		if _, err := PriceCart(list, cartOf(line(3, 1)), pickup); err == nil || IsCustomerProblem(err) {
			t.Errorf("untaxed food: %v", err)
		}
	})

	t.Run("the_mark_is_the_worst_of_its_parts", func(t *testing.T) {
		for mark, options := range map[string][]int64{"veg": {41, 45}, "egg": {41, 47}, "nonveg": {41, 47, 48}} {
			if q, err := PriceCart(kesar(), cartOf(line(4, 1, options...)), pickup); err != nil || q.Lines[0].Mark != mark {
				t.Errorf("options %v: mark %s, %v, want %s", options, q.Lines[0].Mark, err, mark)
			}
		}
	})

	t.Run("a_price_in_the_cart_changes_nothing", func(t *testing.T) { // C058, C042: it only tells that the price changed
		for seen, changed := range map[Paise]bool{6900: false, 1: true, 0: true, 9999999: true} {
			l := line(3, 1)
			l.SeenPaise = seen
			q, err := PriceCart(kesar(), cartOf(l), pickup)
			want, _ := PriceCart(kesar(), cartOf(line(3, 1)), pickup)
			if err != nil || sumsOf(q) != sumsOf(want) || q.Digest() != want.Digest() || q.Lines[0].PriceChanged() != changed {
				t.Errorf("seen %d: %+v, changed %v, %v", seen, sumsOf(q), q.Lines[0].PriceChanged(), err)
			}
		}
	})
}

func TestPriceDelivery(t *testing.T) {
	t.Parallel()
	// Two naans are ₹138, three ₹207; up to 3 km the minimum is ₹149 and delivery free from ₹499, up to 5 km ₹199 and ₹499, up to 8 km ₹299 and never.
	for name, c := range map[string]struct {
		cart Cart
		to   Destination
		fee  Paise
		why  string
		more func(*testing.T, Quote, error)
	}{
		"last_metre_of_the_first_band":   {cartOf(line(3, 3)), delivery(3000), 2900, "", nil},
		"first_metre_of_the_second_band": {cartOf(line(3, 3)), delivery(3001), 3900, "", nil},
		"last_metre_of_all":              {cartOf(line(2, 1)), delivery(8000), 5900, "", nil},
		"next_door":                      {cartOf(line(3, 3)), delivery(0), 2900, "", nil},
		"one_metre_too_far": {cartOf(line(3, 3)), delivery(8001), 0, "far", func(t *testing.T, q Quote, err error) {
			if q.DeliveryKnown {
				t.Error("a fee is known for a place out of reach")
			}
		}},
		"below_the_minimum": {cartOf(line(3, 2)), delivery(3000), 2900, "minimum", func(t *testing.T, q Quote, err error) {
			var short *ErrDelivery
			if errors.As(err, &short); short.ShortPaise != 1100 || short.MinimumPaise != 14900 { // 149 − 138
				t.Errorf("short by %d of %d", short.ShortPaise, short.MinimumPaise)
			}
		}},
		"one_paisa_below_the_minimum": {cartOf(line(8, 1)), delivery(3000), 2900, "minimum", func(t *testing.T, q Quote, err error) {
			var short *ErrDelivery
			if errors.As(err, &short); short.ShortPaise != 1 {
				t.Errorf("short by %d", short.ShortPaise)
			}
		}},
		"exactly_the_minimum": {cartOf(line(9, 1)), delivery(3000), 2900, "", nil},
		"one_paisa_below_free": {cartOf(line(10, 1)), delivery(3000), 2900, "", func(t *testing.T, q Quote, err error) {
			if q.DeliveryFreePaise != 1 || q.DeliveryWasPaise != 0 {
				t.Errorf("%d more for free, was %d", q.DeliveryFreePaise, q.DeliveryWasPaise)
			}
		}},
		"exactly_free": {cartOf(line(11, 1)), delivery(3000), 0, "", func(t *testing.T, q Quote, err error) {
			if q.DeliveryFreePaise != 0 || q.DeliveryWasPaise != 2900 {
				t.Errorf("%d more for free, was %d", q.DeliveryFreePaise, q.DeliveryWasPaise)
			}
		}},
		"never_free_far_out": {cartOf(line(3, 20)), delivery(7000), 5900, "", nil},
		"pickup":             {cartOf(line(3, 1)), pickup, 0, "", nil},
		"place_not_known_yet": {cartOf(line(3, 1)), Destination{Way: "delivery", Served: true}, 0, "", func(t *testing.T, q Quote, err error) {
			if q.DeliveryKnown {
				t.Error("delivery counts as known")
			}
		}},
		"pin_not_served": {cartOf(line(3, 3)), Destination{Way: "delivery", PIN: "110001"}, 0, "far", nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := kesar()
			list.Items[8], list.Items[9] = dish(8, "One below", "veg", 14899), dish(9, "Minimum", "veg", 14900)
			list.Items[10], list.Items[11] = dish(10, "One below free", "veg", 49899), dish(11, "Free", "veg", 49900)
			q, err := PriceCart(list, c.cart, c.to)
			var refused *ErrDelivery
			if errors.As(err, &refused) != (c.why != "") || refused != nil && (refused.Why != c.why || refused.PIN != c.to.PIN) || refused == nil && err != nil {
				t.Fatalf("refused: %v, want %q", err, c.why)
			}
			if q.DeliveryPaise != c.fee {
				t.Errorf("fee %d, want %d", q.DeliveryPaise, c.fee)
			}
			if c.more != nil {
				c.more(t, q, err)
			}
			mustAddUp(t, list, q)
		})
	}
}

func TestTaxOnRoundsHalfUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		taxable Paise
		rate    BasisPoints
		want    Paise
	}{ // 2.5 % of 20 paise is exactly half a paisa
		{0, 250, 0}, {19, 250, 0}, {20, 250, 1}, {21, 250, 1}, {59, 250, 1}, {60, 250, 2}, {9899, 250, 247}, {9900, 250, 248}, {9901, 250, 248},
		{1, 5000, 1}, {10000, 900, 900}, {123, 0, 0},
	} {
		if got := TaxOn(c.taxable, c.rate); got != c.want {
			t.Errorf("TaxOn(%d, %d) = %d, want %d", c.taxable, c.rate, got, c.want)
		}
	}
}

func TestRoundOffMakesWholeRupees(t *testing.T) {
	t.Parallel()
	for amount, want := range map[Paise]Paise{0: 0, 1: -1, 49: -49, 50: 50, 51: 49, 99: 1, 100: 0, 149: -49, 150: 50, 131670: 30} {
		if got := RoundOff(amount); got != want {
			t.Errorf("RoundOff(%d) = %d, want %d", amount, got, want)
		}
	}
}

func TestAnyBillAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, cart, to := drawShop(t)
		q, err := PriceCart(list, cart, to)
		if err != nil {
			t.Fatalf("priced %v", err)
		}
		mustAddUp(t, list, q)

		lines := rapid.Permutation(cart.Lines).Draw(t, "other order")
		shuffled, err := PriceCart(list, Cart{ID: cart.ID, OutletID: cart.OutletID, TipPaise: cart.TipPaise, Lines: lines}, to)
		if err != nil || sumsOf(shuffled) != sumsOf(q) || !slices.Equal(shuffled.Taxes, q.Taxes) {
			t.Fatalf("in another order the bill is %+v, %v, not %+v", sumsOf(shuffled), err, sumsOf(q))
		}
	})
}

func TestDigestNamesExactlyThisBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, cart, to := drawShop(t)
		q, err := PriceCart(list, cart, to)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := PriceCart(list, cart, to); again.Digest() != q.Digest() {
			t.Fatal("the same bill has two digests")
		}
		n := rapid.IntRange(0, len(q.Lines)-1).Draw(t, "line")
		same := map[string]func(*Quote){ // what the page may show otherwise without another bill
			"line id": func(q *Quote) { q.Lines[n].CartLineID += 1000 }, "seen": func(q *Quote) { q.Lines[n].SeenPaise++ },
			"picture": func(q *Quote) { q.Lines[n].Art, q.Lines[n].Tint = "dish", "green" },
		}
		other := map[string]func(*Quote){
			"outlet": func(q *Quote) { q.OutletID++ }, "way": func(q *Quote) { q.Way += "!" }, "tax mode": func(q *Quote) { q.TaxMode += "!" },
			"qty": func(q *Quote) { q.Lines[n].Qty++ }, "item": func(q *Quote) { q.Lines[n].ItemID += 100 }, "note": func(q *Quote) { q.Lines[n].Note += "!" },
			"name": func(q *Quote) { q.Lines[n].Name += "!" }, "mark": func(q *Quote) { q.Lines[n].Mark += "!" }, "options": func(q *Quote) { q.Lines[n].OptionIDs = append(q.Lines[n].OptionIDs, 7777) },
			"unit": func(q *Quote) { q.Lines[n].UnitPricePaise++ }, "extra": func(q *Quote) { q.Lines[n].OptionsPricePaise++ }, "line total": func(q *Quote) { q.Lines[n].LineTotalPaise++ },
			"subtotal": func(q *Quote) { q.SubtotalPaise++ }, "discount": func(q *Quote) { q.DiscountPaise++ }, "packing": func(q *Quote) { q.PackagingPaise++ },
			"delivery": func(q *Quote) { q.DeliveryPaise++ }, "distance": func(q *Quote) { q.DistanceMetres = new(int); *q.DistanceMetres = 123456 },
			"cgst": func(q *Quote) { q.CGSTPaise++ }, "sgst": func(q *Quote) { q.SGSTPaise++ }, "tip": func(q *Quote) { q.TipPaise++ },
			"round-off": func(q *Quote) { q.RoundOffPaise++ }, "amount": func(q *Quote) { q.AmountPaise++ },
			"a tax": func(q *Quote) { q.Taxes = append(q.Taxes, QuoteTax{TaxClass: "luxury"}) }, "a line": func(q *Quote) { q.Lines = append(q.Lines, q.Lines[n]) },
			"a choice": func(q *Quote) { q.Lines[n].Options = append(q.Lines[n].Options, QuoteOption{Name: "Cheese"}) },
		}
		for name, change := range same {
			if changed := copyQuote(q, change); changed.Digest() != q.Digest() {
				t.Fatalf("another %s is another digest", name)
			}
		}
		for name, change := range other {
			if changed := copyQuote(q, change); changed.Digest() == q.Digest() {
				t.Fatalf("another %s has the same digest", name)
			}
		}
	})
}

func copyQuote(q Quote, change func(*Quote)) Quote {
	q.Lines = slices.Clone(q.Lines)
	for i := range q.Lines {
		q.Lines[i].OptionIDs, q.Lines[i].Options = slices.Clone(q.Lines[i].OptionIDs), slices.Clone(q.Lines[i].Options)
	}
	q.Taxes = slices.Clone(q.Taxes)
	change(&q)
	return q
}

func TestPriceCartLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	list, cart := kesar(), cartOf(line(4, 1, 45, 41), line(1, 2, 12))
	before := fmt.Sprintf("%+v %+v", list, cart)
	if _, err := PriceCart(list, cart, delivery(4000)); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprintf("%+v %+v", list, cart); after != before {
		t.Errorf("pricing changed\n%s\nto\n%s", before, after)
	}
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// mustAddUp checks a bill against its own parts, and the halves of tax by exact fractions instead of the code's integers.
func mustAddUp(t failer, list PriceList, q Quote) {
	t.Helper()
	var lines, off, taxable, cgst, sgst Paise
	for _, l := range q.Lines {
		if l.Problem != nil {
			continue
		}
		if l.LineTotalPaise != (l.UnitPricePaise+l.OptionsPricePaise)*Paise(l.Qty) {
			t.Errorf("line %s: %d ≠ (%d + %d) × %d", l.Name, l.LineTotalPaise, l.UnitPricePaise, l.OptionsPricePaise, l.Qty)
		}
		if l.DiscountPaise < 0 || l.DiscountPaise > l.LineTotalPaise {
			t.Errorf("line %s: %d off %d", l.Name, l.DiscountPaise, l.LineTotalPaise)
		}
		lines, off = lines+l.LineTotalPaise, off+l.DiscountPaise
	}
	for _, tax := range q.Taxes {
		if tax.CGSTPaise != halfUp(tax.TaxablePaise, tax.CGSTBP) || tax.SGSTPaise != halfUp(tax.TaxablePaise, tax.SGSTBP) {
			t.Errorf("tax on %d: %d + %d", tax.TaxablePaise, tax.CGSTPaise, tax.SGSTPaise)
		}
		if rate := list.TaxRates[tax.TaxClass]; rate.CGSTBP != tax.CGSTBP || rate.SGSTBP != tax.SGSTBP {
			t.Errorf("class %s taxed at %d + %d", tax.TaxClass, tax.CGSTBP, tax.SGSTBP)
		}
		taxable, cgst, sgst = taxable+tax.TaxablePaise, cgst+tax.CGSTPaise, sgst+tax.SGSTPaise
	}
	parts := q.SubtotalPaise - q.DiscountPaise + q.PackagingPaise + q.DeliveryPaise + q.CGSTPaise + q.SGSTPaise + q.TipPaise + q.RoundOffPaise
	switch {
	case lines != q.SubtotalPaise:
		t.Errorf("lines sum to %d, subtotal %d", lines, q.SubtotalPaise)
	case off != q.DiscountPaise, (off > 0) != (q.Coupon != ""):
		t.Errorf("lines bear %d of a discount of %d by %q", off, q.DiscountPaise, q.Coupon)
	case parts != q.AmountPaise:
		t.Errorf("parts sum to %d, total %d", parts, q.AmountPaise)
	case cgst != q.CGSTPaise || sgst != q.SGSTPaise:
		t.Errorf("taxes sum to %d + %d, bill says %d + %d", cgst, sgst, q.CGSTPaise, q.SGSTPaise)
	case list.TaxMode == "regular" && taxable != q.SubtotalPaise-q.DiscountPaise+q.PackagingPaise+q.DeliveryPaise:
		t.Errorf("%d taxed of %d", taxable, q.SubtotalPaise-q.DiscountPaise+q.PackagingPaise+q.DeliveryPaise)
	case list.TaxMode != "regular" && (len(q.Taxes) != 0 || q.CGSTPaise != 0 || q.SGSTPaise != 0):
		t.Errorf("%s dealer charges tax", list.TaxMode)
	case list.RoundsToRupee && q.AmountPaise%100 != 0, !list.RoundsToRupee && q.RoundOffPaise != 0, q.RoundOffPaise < -50, q.RoundOffPaise > 50:
		t.Errorf("total %d rounded by %d", q.AmountPaise, q.RoundOffPaise)
	case min(q.SubtotalPaise, q.DiscountPaise, q.PackagingPaise, q.DeliveryPaise, q.CGSTPaise, q.SGSTPaise, q.TipPaise, q.AmountPaise) < 0:
		t.Errorf("something is negative: %+v", q)
	}
}

// halfUp is tax as arithmetic has it: the fraction, plus a half, cut off.
func halfUp(taxable Paise, rate BasisPoints) Paise {
	exact := new(big.Rat).Mul(big.NewRat(int64(taxable), 1), big.NewRat(int64(rate), 10_000))
	exact.Add(exact, big.NewRat(1, 2))
	return Paise(new(big.Int).Quo(exact.Num(), exact.Denom()).Int64())
}

func unpacked(list PriceList) PriceList {
	list.Packaging = PackagingFee{TaxClass: "restaurant"}
	return list
}

func exact(list PriceList) PriceList { list.RoundsToRupee = false; return list }

func composition(list PriceList) PriceList { list.TaxMode = "composition"; return list }

func classes(list PriceList) PriceList {
	list.TaxRates["packaged"], list.TaxRates["packing"], list.TaxRates["none"] = TaxRate{"packaged", 900, 900}, TaxRate{"packing", 600, 600}, TaxRate{"none", 0, 0}
	water := dish(7, "Water", "veg", 2000)
	water.TaxClass = "packaged"
	list.Items[7] = water
	list.Packaging.TaxClass = "packing"
	list.Bands = []DeliveryBand{{UpToMetres: 3000, FeePaise: 2900, TaxClass: "none"}}
	return list
}

// drawShop makes any price list with any cart that it can price.
func drawShop(t *rapid.T) (PriceList, Cart, Destination) {
	price := rapid.OneOf(rapid.Int64Range(0, 50_000), rapid.Int64Range(0, 100_000_000))
	class := rapid.SampledFrom([]string{"restaurant", "packaged"})
	rate := rapid.Int64Range(0, 5000)
	list := PriceList{OutletID: 1, TaxMode: rapid.SampledFrom([]string{"regular", "composition", "unregistered"}).Draw(t, "mode"),
		RoundsToRupee: rapid.Bool().Draw(t, "rounds"), Items: map[int64]Item{}, TaxRates: map[string]TaxRate{},
		Packaging: PackagingFee{Paise(price.Draw(t, "per order")), Paise(price.Draw(t, "per piece")), class.Draw(t, "packing class")}}
	for _, c := range []string{"restaurant", "packaged"} {
		list.TaxRates[c] = TaxRate{c, BasisPoints(rate.Draw(t, "cgst")), BasisPoints(rate.Draw(t, "sgst"))}
	}
	free := Paise(price.Draw(t, "free above"))
	list.Bands = []DeliveryBand{{UpToMetres: 5000, FeePaise: Paise(price.Draw(t, "fee")), FreeAbovePaise: &free, TaxClass: class.Draw(t, "delivery class")}}

	list.ReadAt = time.Date(2026, 12, 1, 13, 0, 0, 0, time.UTC)
	switch rapid.IntRange(0, 3).Draw(t, "coupon") {
	case 1:
		amount := Paise(rapid.Int64Range(1, 100_000).Draw(t, "amount off"))
		list.Coupon = &Coupon{ID: 1, Code: "LESS", AmountPaise: &amount, PerPerson: 1, Active: true, MinimumPaise: Paise(price.Draw(t, "minimum"))}
	case 2:
		percent, most := BasisPoints(rapid.Int64Range(1, 10_000).Draw(t, "percent")), Paise(rapid.Int64Range(1, 100_000).Draw(t, "at most"))
		list.Coupon = &Coupon{ID: 1, Code: "PART", PercentBP: &percent, AtMostPaise: &most, PerPerson: 1, Active: true}
	case 3:
		all := BasisPoints(10_000)
		list.Coupon = &Coupon{ID: 1, Code: "ALL", PercentBP: &all, PerPerson: 1, Active: true}
	}

	cart := Cart{ID: 1, OutletID: 1, TipPaise: Paise(rapid.Int64Range(0, int64(MaxTipPaise)).Draw(t, "tip"))}
	for id := int64(1); id <= int64(rapid.IntRange(1, 6).Draw(t, "dishes")); id++ {
		item := dish(id, fmt.Sprintf("Dish %d", id), rapid.SampledFrom([]string{"veg", "egg", "nonveg"}).Draw(t, "mark"), Paise(price.Draw(t, "price")))
		item.TaxClass = class.Draw(t, "class")
		var choice []int64
		if rapid.Bool().Draw(t, "has portions") {
			g := portions(100*id, Paise(price.Draw(t, "half")), Paise(price.Draw(t, "full")))
			item.Groups = append(item.Groups, g)
			choice = append(choice, rapid.SampledFrom(g.Options).Draw(t, "portion").ID)
		}
		if extras := rapid.IntRange(0, 4).Draw(t, "extras"); extras > 0 {
			g := OptionGroup{ID: 100*id + 50, Name: "Extras", Kind: "addon", MaxPick: extras}
			for n := range extras {
				g.Options = append(g.Options, Option{ID: 100*id + 50 + int64(n), Name: fmt.Sprintf("Extra %d", n), PricePaise: Paise(price.Draw(t, "extra")), Mark: "veg", Available: true})
				if rapid.Bool().Draw(t, "taken") {
					choice = append(choice, g.Options[n].ID)
				}
			}
			item.Groups = append(item.Groups, g)
		}
		list.Items[id] = item
		cart.Lines = append(cart.Lines, CartLine{ID: id, ItemID: id, OptionIDs: choice, Qty: rapid.IntRange(1, MaxLineQty).Draw(t, "qty"),
			Note: rapid.SampledFrom([]string{"", "no onion"}).Draw(t, "note")})
	}
	if rapid.Bool().Draw(t, "delivered") {
		return list, cart, delivery(rapid.IntRange(0, 5000).Draw(t, "metres"))
	}
	return list, cart, pickup
}
