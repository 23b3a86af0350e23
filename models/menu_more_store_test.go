package models

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// mustDish reads a dish as its page has it.
func mustDish(t testing.TB, s *Store, outletID int64, slug string) Item {
	t.Helper()
	item, _, err := s.FindItemBySlug(t.Context(), outletID, slug)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// mustList is the price list as a cart of the outlet sees it.
func mustList(t testing.TB, s *Store, outletID int64) PriceList {
	t.Helper()
	list, err := s.PriceList(t.Context(), outletID)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Issue 4: search forgives typing errors and knows Hindi and Hinglish names; the best match comes first.
func TestSearchForgives(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	mustExec(t, s, `INSERT INTO categories (outlet_id, slug, name, position) VALUES (?, 'sweets', 'Sweets', 9)`, outlet)
	mustItem(t, s, outlet, "chicken-biryani", 33900)
	tikka := mustItem(t, s, outlet, "paneer-tikka", 28900)
	mustItem(t, s, outlet, "jeera-rice", 15900)
	roll := mustItem(t, s, outlet, "kathi-roll", 15900)
	kheer := mustItem(t, s, outlet, "kheer", 9900)
	mustExec(t, s, `UPDATE items SET description = 'Filled with paneer' WHERE id = ?`, roll)
	mustExec(t, s, `UPDATE items SET category_id = (SELECT id FROM categories WHERE slug = 'sweets') WHERE id = ?`, kheer)
	mustExec(t, s, `INSERT INTO item_aliases (item_id, alias) VALUES (?, 'पनीर टिक्का'), (?, 'cottage cheese'), (?, 'payasam'), (?, 'खीर')`, tikka, tikka, kheer, kheer)
	for query, want := range map[string]string{
		"panner": "Mains: Paneer Tikka.", "biriyani": "Mains: Chicken Biryani.", "chiken biriani": "Mains: Chicken Biryani.", "tika": "Mains: Paneer Tikka.",
		"paneer":                      "Mains: Paneer Tikka, Kathi Roll.", // named so before filled with it
		"पनीर":                        "Mains: Paneer Tikka.",
		"पनिर":                        "Mains: Paneer Tikka.", // mistyped in Hindi too
		"kheer":                       "Sweets: Kheer.",
		"payasm":                      "Sweets: Kheer.",
		"cotage cheese":               "Mains: Paneer Tikka.",
		"spice":                       "", // is not rice
		"paneer vindaloo":             "",
		"rice":                        "Mains: Jeera Rice.",
		"jira":                        "Mains: Jeera Rice.", // another spelling
		`"\{},`:                       "",
		strings.Repeat("jeera ", 500): "Mains: Jeera Rice.",
	} {
		menu, err := s.FindMenu(ctx, outlet, MenuFilter{Query: query})
		if err != nil || names(menu) != want {
			t.Errorf("%s finds %q, want %q, %v", query, names(menu), want, err)
		}
	}
}

// Issue 4: what a filter leaves out is not offered, and refused when it is posted all the same.
func TestDiet(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	dal, egg, chicken := mustItem(t, s, outlet, "dal", 19900), mustItem(t, s, outlet, "egg-curry", 22900), mustItem(t, s, outlet, "chicken", 29900)
	mustExec(t, s, `UPDATE items SET mark = 'egg', allergens = '{egg}' WHERE id = ?`, egg)
	mustExec(t, s, `UPDATE items SET mark = 'nonveg' WHERE id = ?`, chicken)
	mustExec(t, s, `UPDATE items SET jain = true, allergens = '{gluten,milk}' WHERE id = ?`, dal)
	extras := mustGroup(t, s, dal, "Extras", "addon", 0, 3, Option{Name: "Ghee"}, Option{Name: "Boiled egg", Mark: "egg"}, Option{Name: "Onion"}, Option{Name: "Cashews"})
	mustExec(t, s, `UPDATE options SET jain = name IN ('Ghee', 'Cashews'), allergens = CASE name WHEN 'Cashews' THEN '{nuts}'::text[] ELSE '{}' END`)
	for _, c := range []struct {
		diet          Diet
		want, choices string
	}{
		{Diet{}, "Mains: Dal, Egg Curry, Chicken.", "Ghee, Boiled egg, Onion, Cashews"},
		{Diet{Veg: true}, "Mains: Dal.", "Ghee, Onion, Cashews"},
		{Diet{Egg: true}, "Mains: Dal, Egg Curry.", "Ghee, Boiled egg, Onion, Cashews"},
		{Diet{Veg: true, Egg: true}, "Mains: Dal, Egg Curry.", "Ghee, Boiled egg, Onion, Cashews"},
		{Diet{Jain: true}, "Mains: Dal.", "Ghee, Cashews"},
		{Diet{Without: []string{"nuts"}}, "Mains: Dal, Egg Curry, Chicken.", "Ghee, Boiled egg, Onion"},
		{Diet{Without: []string{"milk", "nuts"}}, "Mains: Egg Curry, Chicken.", ""},
	} {
		menu, err := s.FindMenu(ctx, outlet, MenuFilter{Diet: c.diet})
		if err != nil || names(menu) != c.want {
			t.Errorf("%+v: %s, want %s, %v", c.diet, names(menu), c.want, err)
		}
		var choices []string
		for _, category := range menu.Categories {
			for _, i := range category.Items {
				for _, g := range i.Groups {
					for _, o := range g.Options {
						choices = append(choices, o.Name)
					}
				}
			}
		}
		if got := strings.Join(choices, ", "); got != c.choices {
			t.Errorf("%+v: choices %s, want %s", c.diet, got, c.choices)
		}
	}

	_, cart := mustCart(t, s, outlet)
	var choice *ErrChoice
	_, err := s.AddFiltered(ctx, Diet{Veg: true}, cart.ID, dal, extras[1:2], 1, "")
	if !errors.As(err, &choice) || choice.Why != ChoiceFiltered || choice.Option != "Boiled egg" {
		t.Errorf("an egg under a vegetarian filter: %v", err)
	}
	if _, err = s.SetFiltered(ctx, Diet{Veg: true}, cart.ID, chicken, nil, 1, 5); !errors.As(err, &choice) || choice.Why != ChoiceFiltered || choice.Option != "" || !strings.HasPrefix(choice.Dish, "Chicken") {
		t.Errorf("chicken under a vegetarian filter: %v", err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM cart_lines`); n != 0 {
		t.Errorf("%d lines after refusals", n)
	}
	if _, err = s.AddToCart(ctx, cart.ID, chicken, nil, 1, ""); err != nil {
		t.Fatal(err)
	}
	if line, err := s.SetFiltered(ctx, Diet{Veg: true}, cart.ID, chicken, nil, 2, 5); err != nil || line.Qty != 2 {
		t.Errorf("more of what the cart has: %+v, %v", line, err)
	}
	for _, text := range []string{`UPDATE items SET jain = true WHERE mark = 'egg'`, `UPDATE items SET allergens = '{dust}'`, `UPDATE options SET jain = true WHERE mark = 'egg'`} {
		if err := s.exec(ctx, text).Error; err == nil {
			t.Errorf("taken: %s", text)
		}
	}
}

// Issue 4: a dish outside its windows cannot be added nor bought, and says when it is back.
func TestMenuWindows(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	dosa := mustItem(t, s, outlet, "dosa", 14900)
	window := func(text string, args ...any) { t.Helper(); mustExec(t, s, `INSERT INTO menu_windows `+text, args...) }
	window(`(item_id, weekdays, opens_minute, closes_minute) VALUES (?, 1 << 1, 420, 660), (?, 1 << 5, 1200, 1560)`, dosa, dosa) // Mondays 7 to 11, Fridays 20 to 2
	at := func(text string) time.Time {
		t.Helper()
		when, err := time.ParseInLocation("2006-01-02 15:04", text, India)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	_, cart := mustCart(t, s, outlet)
	check := func(now, back string) {
		t.Helper()
		stopClock(t, s, at(now))
		item := mustDish(t, s, outlet, "dosa")
		_, err := s.AddToCart(ctx, cart.ID, dosa, nil, 1, "")
		quote, priced := PriceCart(mustList(t, s, outlet), Cart{OutletID: outlet, Lines: []CartLine{{ItemID: dosa, Qty: 1}}}, Destination{Way: "pickup", Served: true})
		if back == "" {
			if item.SoldOut || item.NotServed || err != nil || priced != nil || quote.Lines[0].Problem != nil {
				t.Errorf("%s: sold out %v, added %v, priced %v", now, item.SoldOut, err, priced)
			}
			return
		}
		var off, line *ErrSoldOut
		if !item.SoldOut || !item.NotServed || !errors.As(err, &off) || !off.NotServed || !errors.As(priced, &line) || quote.Lines[0].Problem != priced {
			t.Fatalf("%s: sold out %v, added %v, priced %v", now, item.SoldOut, err, priced)
		}
		if back == "never" && off.BackAt == nil && item.BackAt == nil {
			return
		}
		if off.BackAt == nil || !off.BackAt.Equal(at(back)) || !item.BackAt.Equal(at(back)) {
			t.Errorf("%s: back at %v, want %s", now, off.BackAt, back)
		}
	}
	check("2026-11-30 06:59", "2026-11-30 07:00") // a Monday
	check("2026-11-30 07:00", "")
	check("2026-11-30 10:59", "")
	check("2026-11-30 11:00", "2026-12-04 20:00")
	check("2026-12-04 23:59", "")
	check("2026-12-05 01:59", "") // Friday's, past midnight
	check("2026-12-05 02:00", "2026-12-07 07:00")

	// Its category's windows have to hold too.
	window(`(category_id, weekdays, opens_minute, closes_minute) SELECT category_id, 127, 480, 1320 FROM items WHERE id = ?`, dosa)
	check("2026-11-30 07:30", "2026-11-30 08:00")
	check("2026-12-04 21:00", "")
	check("2026-12-04 22:00", "2026-12-07 08:00")

	mustExec(t, s, `DELETE FROM menu_windows`)
	window(`(item_id, starts_on, ends_on) VALUES (?, '2026-12-24', '2026-12-25')`, dosa)
	check("2026-12-23 23:59", "2026-12-24 00:00")
	check("2026-12-25 23:59", "")
	check("2026-12-26 00:00", "never")

	// An 86'd dish that comes back outside its windows is back when they open.
	mustExec(t, s, `UPDATE items SET eighty_sixed_until = '2026-12-23 19:00+05:30' WHERE id = ?`, dosa)
	stopClock(t, s, at("2026-12-23 18:00"))
	if item := mustDish(t, s, outlet, "dosa"); item.BackAt == nil || !item.BackAt.Equal(at("2026-12-24 00:00")) {
		t.Errorf("back at %v", item.BackAt)
	}
}

// Issue 4: special prices begin and end, the one that began last counts, and what it was is known.
func TestSpecialPrices(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	outlet := mustOutlet(t, s, "here")
	tikka := mustItem(t, s, outlet, "tikka", 28900)
	portions := mustGroup(t, s, tikka, "Portion", "variant", 1, 1, Option{Name: "Half", PricePaise: 15900}, Option{Name: "Full", PricePaise: 28900})
	chai := mustItem(t, s, outlet, "chai", 4900)
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, India)
	mustExec(t, s, `INSERT INTO special_prices (item_id, option_id, price_paise, starts_at, ends_at) VALUES (?, NULL, 3900, ?, ?), (?, NULL, 2900, ?, ?), (?, ?, 24900, ?, ?)`,
		chai, noon, noon.Add(3*time.Hour), chai, noon.Add(time.Hour), noon.Add(2*time.Hour), tikka, portions[1], noon, noon.Add(time.Hour))
	for _, c := range []struct {
		at             time.Duration
		chai, chaiWas  Paise
		tikka, tikaWas Paise
	}{
		{-time.Microsecond, 4900, 0, 28900, 0}, {0, 3900, 4900, 24900, 28900}, {time.Hour, 2900, 4900, 28900, 0}, {2 * time.Hour, 3900, 4900, 28900, 0}, {3 * time.Hour, 4900, 0, 28900, 0},
	} {
		stopClock(t, s, noon.Add(c.at))
		quote, err := PriceCart(mustList(t, s, outlet), Cart{OutletID: outlet, Lines: []CartLine{{ItemID: chai, Qty: 2}, {ItemID: tikka, OptionIDs: portions[1:], Qty: 1}}}, Destination{Way: "pickup", Served: true})
		if err != nil {
			t.Fatal(err)
		}
		one, two := quote.Lines[0], quote.Lines[1]
		if one.UnitPricePaise != c.chai || one.WasPaise != c.chaiWas || one.LineTotalPaise != 2*c.chai || two.UnitPricePaise != c.tikka || two.WasPaise != c.tikaWas {
			t.Errorf("after %v: chai %d was %d, tikka %d was %d", c.at, one.UnitPricePaise, one.WasPaise, two.UnitPricePaise, two.WasPaise)
		}
		if item := mustDish(t, s, outlet, "chai"); item.PricePaise != c.chai || item.WasPaise != c.chaiWas {
			t.Errorf("after %v: the dish's page says %d was %d", c.at, item.PricePaise, item.WasPaise)
		}
	}
}

// Issue 4: a choice has stock of its own, a combo takes its parts' and gives it back, and all of it is reserved by the database.
func TestStockOfChoicesAndCombos(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	tikka, jamun, thali := mustItem(t, s, outlet, "tikka", 28900), mustItem(t, s, outlet, "jamun", 9900), mustItem(t, s, outlet, "thali", 34900)
	portions := mustGroup(t, s, tikka, "Portion", "variant", 1, 1, Option{Name: "Half", PricePaise: 15900}, Option{Name: "Full", PricePaise: 28900})
	sweet := mustGroup(t, s, thali, "Sweet", "addon", 0, 1, Option{Name: "Jamun", PricePaise: 3000})
	mustExec(t, s, `UPDATE options SET daily_limit = 5 WHERE id = ?`, portions[0])
	mustExec(t, s, `UPDATE items SET daily_limit = 3, allergens = '{milk}' WHERE id = ?`, jamun)
	mustExec(t, s, `INSERT INTO item_parts (item_id, part_item_id, part_option_id, qty) VALUES (?, ?, ?, 2)`, thali, tikka, portions[0])
	mustExec(t, s, `INSERT INTO item_parts (item_id, option_id, part_item_id) VALUES (?, ?, ?)`, thali, sweet[0], jamun)
	pick := func(id int64, qty int, options ...int64) CartLine {
		return CartLine{ItemID: id, Qty: qty, OptionIDs: options}
	}
	price := func(lines ...CartLine) error {
		_, err := PriceCart(mustList(t, s, outlet), Cart{OutletID: outlet, Lines: lines}, Destination{Way: "pickup", Served: true})
		return err
	}

	var sold *ErrSoldOut
	if err := price(pick(thali, 2), pick(tikka, 1, portions[0])); err != nil {
		t.Errorf("all five halves: %v", err)
	}
	if err := price(pick(tikka, 2, portions[0]), pick(thali, 2)); !errors.As(err, &sold) || sold.ItemID != thali || sold.Left != 2 {
		t.Errorf("six halves: %+v, %v", sold, err)
	}
	if err := price(pick(tikka, 20, portions[1])); err != nil {
		t.Errorf("the other portion: %v", err)
	}
	if err := price(pick(jamun, 2), pick(thali, 2, sweet...)); !errors.As(err, &sold) {
		t.Errorf("four sweets: %v", err)
	}
	if item := mustDish(t, s, outlet, "thali"); item.Left == nil || *item.Left != 2 || len(item.Allergens) != 0 || !slices.Equal(item.Groups[0].Options[0].Allergens, WordList{"milk"}) {
		t.Errorf("%v left, allergens %v", item.Left, item.Allergens)
	}
	_, cart := mustCart(t, s, outlet)
	if _, err := s.AddToCart(ctx, cart.ID, tikka, portions[:1], 2, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddToCart(ctx, cart.ID, thali, nil, 2, ""); !errors.As(err, &sold) {
		t.Errorf("added beyond the other line's: %v", err)
	}

	// One order: two thalis with their sweets, and a half.
	var order int64
	hold := func(fn func(tx *Store, o *Order) error) error {
		return s.InTx(ctx, func(tx *Store) error {
			o, err := tx.LockOrder(ctx, order)
			if err != nil {
				return err
			}
			return fn(tx, &o)
		})
	}
	stock := func() string {
		return mustRead[string](t, s, `SELECT COALESCE(string_agg(concat_ws('/', (SELECT slug FROM items WHERE id = item_id), (SELECT name FROM options WHERE id = option_id), initial, held, sold), ' ' ORDER BY item_id, option_id), '') FROM stock`)
	}
	o := mustPendingOrder(t, s, Cart{ID: 77, OutletID: outlet, CustomerID: *mustVisit(t, s).CustomerID}, thali, 2)
	order = o
	mustExec(t, s, `ALTER TABLE order_items DISABLE TRIGGER USER`)
	mustExec(t, s, `UPDATE order_items SET option_ids = ?::bigint[] WHERE order_id = ?`, IDList(sweet), order)
	take := func(tx *Store, o *Order) error { return tx.takeHolds(ctx, o, time.Now().Add(time.Hour)) }
	if err := hold(take); err != nil || stock() != "tikka/Half/5/4/0 jamun/3/2/0" {
		t.Fatalf("stock %s, %v", stock(), err)
	}
	list := mustList(t, s, outlet)
	if left := list.Items[thali].Left; left == nil || *left != 0 || !list.Items[thali].SoldOut || list.Items[tikka].SoldOut {
		t.Errorf("after the hold %v left", left)
	}
	second := mustPendingOrder(t, s, Cart{ID: 78, OutletID: outlet, CustomerID: *mustVisit(t, s).CustomerID}, thali, 1)
	order = second
	if err := hold(take); !errors.As(err, &sold) || sold.Name != "Tikka, Half" || sold.Left != 1 {
		t.Errorf("a third thali: %+v, %v", sold, err)
	}
	order = o
	if err := hold(func(tx *Store, o *Order) error { return tx.ReleaseHolds(ctx, o.ID) }); err != nil || stock() != "tikka/Half/5/0/0 jamun/3/0/0" {
		t.Errorf("released: %s, %v", stock(), err)
	}
	if err := hold(func(tx *Store, o *Order) error {
		kept, err := tx.CommitHolds(ctx, o.ID)
		if !kept {
			t.Error("not kept")
		}
		return err
	}); err != nil || stock() != "tikka/Half/5/0/4 jamun/3/0/2" {
		t.Errorf("committed: %s, %v", stock(), err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM broken_invariants WHERE inv IN ('INV-35', 'INV-36')`); n != 0 {
		t.Errorf("%d invariants of stock are broken", n)
	}

	// A choice by itself: the one half that is left, and no second.
	for n, want := range []string{"tikka/Half/5/1/4 jamun/3/0/2", ""} {
		order = mustPendingOrder(t, s, Cart{ID: int64(80 + n), OutletID: outlet, CustomerID: *mustVisit(t, s).CustomerID}, tikka, 1)
		mustExec(t, s, `UPDATE order_items SET option_ids = ?::bigint[] WHERE order_id = ?`, IDList(portions[:1]), order)
		if err := hold(take); want != "" && (err != nil || stock() != want) || want == "" && !errors.As(err, &sold) {
			t.Errorf("half %d: stock %s, %v", n+1, stock(), err)
		}
	}

	// One level, one outlet, its own choices.
	far := mustItem(t, s, mustOutlet(t, s, "there"), "far", 100)
	for _, parts := range [][]any{{tikka, nil, jamun, nil}, {jamun, nil, thali, nil}, {thali, nil, far, nil}, {thali, portions[0], jamun, nil}, {thali, nil, jamun, portions[0]}, {thali, nil, thali, nil}} {
		if err := s.exec(ctx, `INSERT INTO item_parts (item_id, option_id, part_item_id, part_option_id) VALUES (?, ?, ?, ?)`, parts...).Error; err == nil {
			t.Errorf("taken: %v", parts)
		}
	}
	// A part that is off takes the combo with it; a choice's part only that choice.
	mustExec(t, s, `UPDATE items SET available = false WHERE id = ?`, jamun)
	mustExec(t, s, `UPDATE stock SET initial = 50`)
	if item := mustDish(t, s, outlet, "thali"); item.SoldOut || item.Groups[0].Options[0].Available {
		t.Errorf("without sweets: sold out %v, the sweet %v", item.SoldOut, item.Groups[0].Options[0].Available)
	}
	mustExec(t, s, `UPDATE items SET archived_at = shop_now() WHERE id = ?`, tikka)
	if item := mustDish(t, s, outlet, "thali"); !item.SoldOut {
		t.Error("a thali without its tikka can be had")
	}
}
