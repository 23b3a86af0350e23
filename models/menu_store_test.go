package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"
)

// names are the dishes of a menu in order, by category: "Starters: Samosa, Pakora. Curries: Dal."
func names(m Menu) string {
	var text []string
	for _, c := range m.Categories {
		var dishes []string
		for _, i := range c.Items {
			dishes = append(dishes, i.Name)
		}
		text = append(text, c.Name+": "+strings.Join(dishes, ", ")+".")
	}
	return strings.Join(text, " ")
}

func TestFindMenu(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	mustExec(t, s, `UPDATE categories SET name = 'Curries', slug = 'curries', position = 2 WHERE outlet_id = ?`, outlet)
	mustExec(t, s, `INSERT INTO categories (outlet_id, slug, name, position) VALUES (?, 'starters', 'Starters', 1), (?, 'empty', 'Nothing yet', 3)`, outlet, outlet)
	dal, butter, egg := mustItem(t, s, outlet, "dal", 19900), mustItem(t, s, outlet, "butter-chicken", 34900), mustItem(t, s, outlet, "egg-curry", 22900)
	samosa, archived, fixed := mustItem(t, s, outlet, "samosa", 9900), mustItem(t, s, outlet, "old-dish", 1), mustItem(t, s, outlet, "chicken-roll", 14900)
	mustExec(t, s, `UPDATE items SET category_id = (SELECT id FROM categories WHERE slug = 'starters') WHERE id IN (?, ?)`, samosa, fixed)
	mustExec(t, s, `UPDATE items SET archived_at = shop_now() WHERE id = ?`, archived)
	mustExec(t, s, `UPDATE items SET mark = 'nonveg', position = 2, description = 'Tomato, butter and 100% cream' WHERE id = ?`, butter)
	mustExec(t, s, `UPDATE items SET mark = 'egg', position = 1 WHERE id = ?`, egg)
	mustExec(t, s, `UPDATE items SET description = 'Yellow_lentils' WHERE id = ?`, dal)
	extras := mustGroup(t, s, dal, "Extras", "addon", 0, 3, Option{Name: "Ghee", PricePaise: 1500}, Option{Name: "Keema", PricePaise: 9000, Mark: "nonveg"})
	mustGroup(t, s, dal, "Meat", "addon", 0, 1, Option{Name: "Chicken", PricePaise: 9000, Mark: "nonveg"})
	mustGroup(t, s, fixed, "Filling", "variant", 1, 1, Option{Name: "Chicken", PricePaise: 14900, Mark: "nonveg"}) // marked veg by mistake
	whole := "Starters: Samosa, Chicken Roll. Curries: Dal, Egg Curry, Butter Chicken."

	mustMenu := func(t *testing.T, f MenuFilter) Menu {
		t.Helper()
		m, err := s.FindMenu(ctx, outlet, f)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}

	t.Run("in_the_owners_order", func(t *testing.T) {
		m := mustMenu(t, MenuFilter{})
		if names(m) != whole || m.Outlet.ID != outlet || !m.Opening.Open || len(m.Popular) != 0 {
			t.Errorf("menu %s, outlet %d, open %v", names(m), m.Outlet.ID, m.Opening.Open)
		}
		if g := itemOf(t, m, "dal").Groups; len(g) != 2 || len(g[0].Options) != 2 || g[0].Options[0].ID != extras[0] || g[0].Options[1].Name != "Keema" || g[1].Name != "Meat" {
			t.Errorf("choices %+v", g)
		}
	})

	t.Run("search", func(t *testing.T) {
		for query, want := range map[string]string{
			"": whole, "  ": whole, "SAMOSA": "Starters: Samosa.", "sam": "Starters: Samosa.", "chicken": "Starters: Chicken Roll. Curries: Butter Chicken.",
			"curries egg": "Curries: Egg Curry.", "chicken  butter": "Curries: Butter Chicken.", "tomato": "Curries: Butter Chicken.", "old": "", "biryani": "", "chicken biryani": "",
			"%": "Curries: Butter Chicken.", "100%": "Curries: Butter Chicken.", "_": "Curries: Dal.", "yellow_lentils": "Curries: Dal.", "yellow%": "", "d_l": "", "\\": "", "'": "", "';--": "",
			"\x00": "", "sam\x00osa": "", "\xf9\x28": "", "\xc0\x80": "", strings.Repeat("x", 100_000): "",
		} {
			m := mustMenu(t, MenuFilter{Query: query})
			if names(m) != want || m.Outlet.ID != outlet {
				t.Errorf("%.20q finds %s, want %s", query, names(m), want)
			}
		}
	})

	t.Run("vegetarian_dishes_and_choices_only", func(t *testing.T) {
		m := mustMenu(t, MenuFilter{Diet: Diet{Veg: true}})
		if names(m) != "Starters: Samosa. Curries: Dal." {
			t.Errorf("menu %s", names(m))
		}
		if g := itemOf(t, m, "dal").Groups; len(g) != 1 || len(g[0].Options) != 1 || g[0].Options[0].Name != "Ghee" {
			t.Errorf("choices %+v", g)
		}
		if m := mustMenu(t, MenuFilter{Diet: Diet{Veg: true}, Query: "curries"}); names(m) != "Curries: Dal." {
			t.Errorf("with a search: %s", names(m))
		}
	})

	t.Run("popular_is_what_paid_orders_bought", func(t *testing.T) {
		mustPaidOrder(t, s, outlet, dal, 3, time.Hour)
		mustPaidOrder(t, s, outlet, samosa, 2, 29*24*time.Hour)
		mustPaidOrder(t, s, outlet, samosa, 2, 28*24*time.Hour)
		mustPaidOrder(t, s, outlet, butter, 20, 31*24*time.Hour) // too long ago
		mustPaidOrder(t, s, outlet, archived, 9, time.Hour)
		mustPaidOrder(t, s, outlet, egg, 1, time.Hour)
		mustPaidOrder(t, s, mustOutlet(t, s, "there"), butter, 9, time.Hour)
		mustPendingOrder(t, s, Cart{ID: 77, OutletID: outlet, CustomerID: *mustVisit(t, s).CustomerID}, butter, 20)
		popular := func(f MenuFilter) (slugs []string) {
			for _, i := range mustMenu(t, f).Popular {
				slugs = append(slugs, i.Slug)
			}
			return slugs
		}
		if got := popular(MenuFilter{}); !slices.Equal(got, []string{"samosa", "dal", "egg-curry"}) {
			t.Errorf("popular %v", got)
		}
		if got := popular(MenuFilter{Diet: Diet{Veg: true}}); !slices.Equal(got, []string{"samosa", "dal"}) {
			t.Errorf("vegetarian: %v", got)
		}
		if got := popular(MenuFilter{Query: "dal"}); len(got) != 0 {
			t.Errorf("beside a search: %v", got)
		}
		mustExec(t, s, `UPDATE items SET available = false WHERE id = ?`, samosa)
		if got := popular(MenuFilter{}); !slices.Equal(got, []string{"dal", "egg-curry"}) {
			t.Errorf("one sold out: %v", got)
		}
		if names(mustMenu(t, MenuFilter{})) != whole || !itemOf(t, mustMenu(t, MenuFilter{}), "samosa").SoldOut {
			t.Error("a sold-out dish is not shown as such")
		}
	})

	t.Run("more_dishes_are_no_more_queries", func(t *testing.T) {
		var queries atomic.Int64
		count := func(*gorm.DB) { queries.Add(1) }
		if err := errors.Join(s.db.Callback().Row().Before("gorm:row").Register("count", count), s.db.Callback().Query().Before("gorm:query").Register("count", count)); err != nil {
			t.Fatal(err)
		}
		mustMenu(t, MenuFilter{})
		few := queries.Swap(0)
		for n := range 30 {
			id := mustItem(t, s, outlet, fmt.Sprintf("dish-%d", n), 100)
			mustGroup(t, s, id, "Extras", "addon", 0, 1, Option{Name: "Ghee"})
		}
		queries.Store(0)
		mustMenu(t, MenuFilter{})
		if many := queries.Load(); many != few || many > 9 {
			t.Errorf("%d queries for a few dishes, %d for many", few, many)
		}
	})

	t.Run("no_such_outlet", func(t *testing.T) {
		mustExec(t, s, `UPDATE outlets SET active = false WHERE slug = 'there'`)
		for _, id := range []int64{0, -1, 999, mustRead[int64](t, s, `SELECT id FROM outlets WHERE slug = 'there'`)} {
			if _, err := s.FindMenu(ctx, id, MenuFilter{}); !errors.Is(err, ErrNotFound) {
				t.Errorf("outlet %d: %v", id, err)
			}
		}
	})
}

// mustPaidOrder puts an order of one dish among those paid so long ago. A voucher pays all of it, so that it needs no payment.
func mustPaidOrder(t testing.TB, s *Store, outletID, itemID int64, qty int, ago time.Duration) {
	t.Helper()
	customer := *mustVisit(t, s).CustomerID
	err := s.InTx(t.Context(), func(tx *Store) error {
		var order int64
		if err := tx.one(t.Context(), &order, `WITH slot AS (INSERT INTO kitchen_slots (outlet_id, service_on, opens_at, last_order_at, accept_until)
				VALUES (@outlet, service_day(shop_now()), shop_now(), shop_now(), shop_now()) RETURNING id)
			INSERT INTO orders (public_id, token, number, service_on, outlet_id, slot_id, cart_id, customer_id, checkout_key, checkout_hash, mode, way, tax_mode, pays, status, paid_at,
				subtotal_paise, discount_paise, packaging_paise, delivery_paise, cgst_paise, sgst_paise, amount_paise, coupon, name, phone, outlet_name, prep_minutes, delivery_minutes, hold_expires_at)
			SELECT gen_random_uuid()::text, gen_random_uuid()::text, (SELECT count(*) + 1 FROM orders), service_day(shop_now()), @outlet, slot.id, 0, @customer, gen_random_uuid(), sha256('x'),
				'test', 'pickup', 'composition', 'nothing', 'paid', @paid, price_paise * @qty, price_paise * @qty, 0, 0, 0, 0, 0, 'VOUCHER', 'Asha', '+919845012345', 'Here', 20, 20, shop_now()
			FROM slot, items WHERE items.id = @item RETURNING id`,
			map[string]any{"outlet": outletID, "customer": customer, "qty": qty, "item": itemID, "paid": time.Now().Add(-ago)}); err != nil {
			return err
		}
		if err := tx.exec(t.Context(), `INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise, discount_paise)
			SELECT ?, 1, id, name, mark, tax_class, price_paise, 0, ?, price_paise * ?, price_paise * ? FROM items WHERE id = ?`, order, qty, qty, qty, itemID).Error; err != nil {
			return err
		}
		if err := tx.exec(t.Context(), `INSERT INTO coupons (outlet_id, code, percent_bp) VALUES (?, 'VOUCHER', 10000) ON CONFLICT DO NOTHING`, outletID).Error; err != nil {
			return err
		}
		if err := tx.exec(t.Context(), `INSERT INTO coupon_uses (order_id, coupon_id, person, nth, per_person, first_order, state) SELECT ?, id, ?, 1, 1, false, 'used' FROM coupons WHERE outlet_id = ?`,
			order, fmt.Sprint(order), outletID).Error; err != nil {
			return err
		}
		return tx.exec(t.Context(), `INSERT INTO fulfilments (order_id, outlet_id, promised_at) VALUES (?, ?, shop_now())`, order, outletID).Error
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFindItemBySlug(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet, other := mustOutlet(t, s, "here"), mustOutlet(t, s, "there")
	thali := mustItem(t, s, outlet, "thali", 34900)
	mustItem(t, s, other, "elsewhere", 100)
	gone := mustItem(t, s, outlet, "gone", 100)
	mustExec(t, s, `UPDATE items SET daily_limit = 20 WHERE id = ?`, thali)
	mustExec(t, s, `UPDATE items SET archived_at = shop_now() WHERE id = ?`, gone)
	mustGroup(t, s, thali, "Drink", "addon", 1, 1, Option{Name: "Lassi"}, Option{Name: "Chai"})

	item, in, err := s.FindItemBySlug(ctx, outlet, "thali")
	if err != nil || item.ID != thali || in.ID != outlet || item.Left == nil || *item.Left != 20 || item.SoldOut || len(item.Groups) != 1 || len(item.Groups[0].Options) != 2 {
		t.Errorf("%+v in %d, %v", item, in.ID, err)
	}
	for _, slug := range []string{"", "gone", "elsewhere", "THALI", "thali%", "th\x00ali", "\xf9\x28", "thali' OR '1'='1"} {
		if _, _, err := s.FindItemBySlug(ctx, outlet, slug); !errors.Is(err, ErrNotFound) {
			t.Errorf("slug %q: %v", slug, err)
		}
	}
	mustExec(t, s, `UPDATE outlets SET active = false WHERE id = ?`, outlet)
	if _, _, err := s.FindItemBySlug(ctx, outlet, "thali"); !errors.Is(err, ErrNotFound) {
		t.Errorf("of an inactive outlet: %v", err)
	}
}

func TestEightySix(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet, other := mustOutlet(t, s, "here"), mustOutlet(t, s, "there")
	josh, archived := mustItem(t, s, outlet, "rogan-josh", 41900), mustItem(t, s, outlet, "archived", 1)
	mustExec(t, s, `UPDATE items SET archived_at = shop_now() WHERE id = ?`, archived)
	owner, elsewhere := mustStaff(t, s, 0, "owner"), mustStaff(t, s, other, "elsewhere")
	told := mustListen(t, s)
	seven := time.Date(2026, 11, 30, 19, 0, 0, 0, India)
	stopClock(t, s, seven.Add(-time.Hour))
	isOff := func() bool {
		t.Helper()
		item, _, err := s.FindItemBySlug(ctx, outlet, "rogan-josh")
		if err != nil {
			t.Fatal(err)
		}
		return item.SoldOut
	}

	t.Run("who_has_no_say_changes_nothing", func(t *testing.T) {
		for name, err := range map[string]error{
			"staff of another outlet": s.EightySix(ctx, josh, nil, elsewhere.ID), "nobody": s.EightySix(ctx, josh, nil, 0), "unknown dish": s.EightySix(ctx, 999, nil, owner.ID),
			"archived dish": s.EightySix(ctx, archived, nil, owner.ID), "restored by staff of another outlet": s.RestoreItem(ctx, josh, elsewhere.ID),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		past := seven.Add(-time.Hour)
		if err := s.EightySix(ctx, josh, &past, owner.ID); !errors.Is(err, ErrBadInput) {
			t.Errorf("until now: %v", err)
		}
		if isOff() || mustRead[int](t, s, `SELECT count(*) FROM audit`) != 0 {
			t.Error("something changed")
		}
	})

	t.Run("until_an_instant", func(t *testing.T) {
		for range 2 {
			if err := s.EightySix(ctx, josh, &seven, owner.ID); err != nil || !isOff() {
				t.Fatalf("off %v, %v", isOff(), err)
			}
		}
		if stopClock(t, s, seven.Add(-time.Microsecond)); !isOff() {
			t.Error("back too early")
		}
		if stopClock(t, s, seven); isOff() {
			t.Error("not back at seven")
		}
	})

	t.Run("until_switched_on_again", func(t *testing.T) {
		if err := s.EightySix(ctx, josh, nil, owner.ID); err != nil || !isOff() {
			t.Fatalf("off %v, %v", isOff(), err)
		}
		if stopClock(t, s, seven.AddDate(1, 0, 0)); !isOff() {
			t.Error("came back by itself")
		}
		for range 2 {
			if err := s.RestoreItem(ctx, josh, owner.ID); err != nil || isOff() {
				t.Fatalf("off %v, %v", isOff(), err)
			}
		}
	})

	t.Run("the_later_word_counts", func(t *testing.T) {
		later := seven.AddDate(1, 0, 1)
		if err := errors.Join(s.EightySix(ctx, josh, nil, owner.ID), s.EightySix(ctx, josh, &later, owner.ID)); err != nil || !isOff() {
			t.Fatal(err)
		}
		if stopClock(t, s, later); isOff() {
			t.Error("still off after the later word's end")
		}
	})

	audit := mustRead[string](t, s, `SELECT string_agg(action || ' ' || detail, '; ' ORDER BY id) FROM audit`)
	one := fmt.Sprintf("eighty_six dish %d until 2026-11-30T19:00:00+05:30; ", josh)
	want := one + one + fmt.Sprintf("eighty_six dish %[1]d until switched on; restore_item dish %[1]d; restore_item dish %[1]d; eighty_six dish %[1]d until switched on; eighty_six dish %[1]d until 2027-12-01T19:00:00+05:30", josh)
	if audit != want {
		t.Errorf("audit %s\nwant  %s", audit, want)
	}
	for range 7 {
		if got := told(); got != BoardTopic(outlet) {
			t.Errorf("told %q", got)
		}
	}
}
