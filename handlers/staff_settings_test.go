package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
)

// putting returns a form's fields with one of them as told.
func putting(fields []string, name, value string) []string {
	changed := append([]string{}, fields...)
	for i := 0; i < len(changed); i += 2 {
		if changed[i] == name {
			changed[i+1] = value
			return changed
		}
	}
	return append(changed, name, value)
}

// value is what stands in a field of a page.
func (a answer) value(testid string) string {
	for _, n := range a.all("", "data-testid", testid) {
		if n.Data == "textarea" && n.FirstChild != nil {
			return n.FirstChild.Data
		}
		for _, attr := range n.Attr {
			if attr.Key == "value" {
				return attr.Val
			}
		}
	}
	return ""
}

// Coupons: a manager makes, edits and stops them; a cook cannot look; what is wrong stands beside its field with all that was typed, and an
// old form is told what is saved by now.
func TestStaffCoupons(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	other := k.secondOutlet()
	b := k.signedIn(k.staff("vikram", "Vikram", "manager", k.outlet.ID))
	b.get(couponsURL).is(200).says("staff-coupons", "WELCOME20", "Make a coupon")
	good := []string{"outlet", k.outlet.Slug, "code", " monsoon 10 ", "kind", "percent", "percent", "12.5", "at_most", "₹1,200.50", "minimum", "300", "starts", "", "ends", "2031-01-02T23:59", "per_person", "2", "total", "50", "first_order", "1"}
	b.get(couponsURL + "/new").is(200)
	for _, c := range []struct{ field, value, says string }{
		{"code", "ab", "3 to 20"}, {"code", "", "3 to 20"}, {"code", "welcome20", "already"}, {"kind", "", "choose"}, {"percent", "0", "from 0.01"}, {"percent", "100.01", "from 0.01"}, {"percent", "12,5", "from 0.01"},
		{"at_most", "0", "more than 0"}, {"at_most", "lots", "an amount"}, {"minimum", "99999999", "most"}, {"ends", "tomorrow", "day and time"}, {"starts", "2032-01-01T00:00", ""}, {"per_person", "0", "from 1"},
		{"per_person", "", "from 1"}, {"total", "-3", "from 1"}, {"total", "99999999999999999999", ""}} {
		field := c.field
		if field == "starts" {
			field = "ends"
		}
		if c.value == "99999999999999999999" {
			b.post(couponsURL, putting(good, c.field, c.value)...).is(422)
			continue
		}
		page := b.post(couponsURL, putting(good, c.field, c.value)...).is(422).says("error-"+field, c.says)
		if got := page.value("field-at_most"); c.field != "at_most" && got != "₹1,200.50" {
			t.Errorf("%s: what was typed is lost: %q", c.field, got)
		}
	}
	b.post(couponsURL, putting(good, "price", "1")...).is(400)
	b.post(couponsURL, putting(good, "outlet", other.Slug)...).is(404)
	if n := k.count(`SELECT count(*) FROM coupons WHERE code LIKE 'MONSOON%'`); n != 0 {
		t.Fatal("something wrong was stored")
	}
	b.post(couponsURL, good...).is(303).leads(couponsURL + "?done=saved")
	if n := k.count(`SELECT count(*) FROM coupons WHERE code = 'MONSOON10' AND percent_bp = 1250 AND at_most_paise = 120050 AND minimum_paise = 30000 AND first_order AND per_person = 2 AND total = 50
		AND starts_at = '-infinity' AND ends_at = '2031-01-02 18:29Z' AND amount_paise IS NULL`); n != 1 {
		t.Error(k.word(`SELECT to_jsonb(c)::text FROM coupons c WHERE code = 'MONSOON10'`))
	}
	id := k.count(`SELECT id FROM coupons WHERE code = 'MONSOON10'`)
	at := fmt.Sprintf("%s/%d", couponsURL, id)
	page := b.get(at).is(200)
	edit := []string{"outlet", k.outlet.Slug, "version", "1", "kind", "amount", "amount", "75", "percent", "", "at_most", "", "minimum", "", "starts", "", "ends", page.value("field-ends"), "per_person", "1", "total", ""}
	if page.value("field-ends") != "2031-01-02T23:59" || page.value("field-percent") != "12.5" {
		t.Errorf("the form has %q %q", page.value("field-ends"), page.value("field-percent"))
	}
	// Two forms of the same version: the second is told, keeps what was typed, and wins when it is pressed again.
	b.post(at, edit...).is(303)
	late := b.post(at, putting(edit, "amount", "80")...).is(409).says("problem", "Somebody else").says("saved-amount", "75")
	if late.value("field-amount") != "80" {
		t.Errorf("typed amount became %q", late.value("field-amount"))
	}
	if n := k.count(`SELECT amount_paise FROM coupons WHERE id = $1`, id); n != 7500 {
		t.Errorf("%d paise", n)
	}
	b.post(at, putting(putting(edit, "amount", "80"), "version", "2")...).is(303)
	k.exec(`UPDATE coupons SET taken = 3 WHERE id = $1`, id)
	b.post(at, putting(putting(edit, "total", "2"), "version", "3")...).is(422).says("error-total", "used 3 times")
	k.exec(`UPDATE coupons SET taken = 0 WHERE id = $1`, id)
	for range 2 {
		b.post(at+"/switch", "active", "0").is(303)
	}
	b.get(couponsURL).is(200).says("staff-coupons", "Stopped")
	b.post(at+"/switch", "active", "2").is(400)
	if got := k.word(`SELECT string_agg(action, ' ' ORDER BY id) FROM audit WHERE action LIKE '%coupon'`); got != "create_coupon edit_coupon edit_coupon stop_coupon" {
		t.Error(got)
	}

	foreign := k.signedIn(k.staff("lata", "Lata", "owner", other.ID))
	foreign.get(at).is(404)
	foreign.get(couponsURL).is(200)
	foreign.post(at, edit...).is(404)
	foreign.post(at+"/switch", "active", "1").is(404)
	k.signedIn(k.staff("chetan", "Chetan", "kitchen", k.outlet.ID)).get(couponsURL).is(403)
}

// A coupon that an unpaid order has can be stopped: the order keeps its bill and can be paid, its use counts, and a cart is told.
func TestStoppingACouponKeepsBills(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	k.exec(`INSERT INTO coupons (outlet_id, code, amount_paise) VALUES ($1, 'TEST50', 5000)`, k.outlet.ID)
	o := k.place(basket{coupon: "TEST50"})
	if o.DiscountPaise != 5000 {
		t.Fatalf("discount %d", o.DiscountPaise)
	}
	b := k.signedIn(k.staff("vikram", "Vikram", "manager", k.outlet.ID))
	at := fmt.Sprintf("%s/%d", couponsURL, k.count(`SELECT id FROM coupons WHERE code = 'TEST50'`))
	b.get(couponsURL).is(200).says("staff-coupons", "1 of them not paid yet")
	b.post(at+"/switch", "active", "0").is(303)
	b.post(at, "outlet", k.outlet.Slug, "version", "2", "kind", "amount", "amount", "1", "per_person", "1").is(303)
	k.pay(o, k.open(o))
	paid, err := k.store.FindOrder(t.Context(), o.ID)
	must(t, err)
	if paid.Status != models.OrderPaid || paid.DiscountPaise != 5000 || paid.AmountPaise != o.AmountPaise || paid.Coupon != "TEST50" {
		t.Errorf("%+v", paid)
	}
	if got := k.word(`SELECT state FROM coupon_uses WHERE order_id = $1`, o.ID); got != "used" {
		t.Error(got)
	}
	if next := k.place(basket{coupon: "TEST50"}); next.DiscountPaise != 0 || next.Coupon != "" {
		t.Errorf("a stopped coupon was given: %d", next.DiscountPaise)
	}
	k.intact()
}

// Zones: three kinds, in an order that can be changed, switched off, and tried.
func TestStaffZones(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("vikram", "Vikram", "manager", k.outlet.ID))
	b.get(zonesURL).is(200).says("try-form", "Try a place")
	b.get(zonesURL + "/new").is(200)
	good := []string{"outlet", k.outlet.Slug, "name", "Tech park", "kind", "pins", "pins", "560066, 560067\n560066", "radius", "", "polygon", "", "served", "1", "fee", "45", "minimum", "300", "free_above", ""}
	for _, c := range []struct{ field, value, says string }{
		{"name", " ", "name"}, {"name", strings.Repeat("x", 81), "80"}, {"kind", "", "choose"}, {"pins", "", "at least one"}, {"pins", "560066 56006", "56006"}, {"fee", "", "0 is free"}, {"fee", "-1", "an amount"},
		{"minimum", "much", "an amount"}, {"free_above", "0", "more than 0"}} {
		page := b.post(zonesURL, putting(good, c.field, c.value)...).is(422).says("error-"+c.field, c.says)
		if c.field != "pins" && page.value("field-pins") != "560066, 560067\n560066" {
			t.Errorf("%s: what was typed is lost: %q", c.field, page.value("field-pins"))
		}
	}
	b.post(zonesURL, putting(putting(good, "kind", "radius"), "radius", "0")...).is(422).says("error-radius", "from 1")
	b.post(zonesURL, putting(putting(good, "kind", "polygon"), "polygon", "12.9, 77.6\nhere")...).is(422).says("error-polygon", "Line 2")
	if n := k.count(`SELECT count(*) FROM delivery_zones`); n != 0 {
		t.Fatal("something wrong was stored")
	}
	b.post(zonesURL, good...).is(303)
	lake := putting(putting(putting(putting(good, "name", "The lake"), "kind", "polygon"), "served", ""), "fee", "")
	b.post(zonesURL, putting(lake, "polygon", `{"type":"Polygon","coordinates":[[[77.64,12.96],[77.65,12.96],[77.65,12.97],[77.64,12.97],[77.64,12.96]]]}`)...).is(303)
	if got := k.word(`SELECT string_agg(name || ' ' || position || ' ' || (SELECT count(*) FROM delivery_zone_pins p WHERE p.zone_id = z.id) || ' ' || COALESCE(jsonb_array_length(polygon), 0) || ' ' || served, ', ' ORDER BY position) FROM delivery_zones z`); got != "Tech park 1 2 0 true, The lake 2 0 4 false" {
		t.Error(got)
	}
	tried := func(query, want string) { t.Helper(); b.get(zonesURL+"?"+query).is(200).says("try-answer", want) }
	tried("pin=560066&place=", "Zone 1, Tech park: ₹45, from ₹300 of dishes.")
	tried("pin=&place=12.965%2C+77.645", "Zone 2, The lake: Nothing is delivered there.")
	tried("pin=560038", "distance band")
	tried("pin=110001", "not known")
	b.get(zonesURL+"?pin=12").is(422).says("error-pin", "6 digits")
	b.get(zonesURL+"?place=here").is(422).says("error-place", "latitude, longitude")

	second := k.count(`SELECT id FROM delivery_zones WHERE name = 'The lake'`)
	at := fmt.Sprintf("%s/%d", zonesURL, second)
	if got := b.get(at).is(200).value("field-polygon"); got != "12.960000, 77.640000\n12.960000, 77.650000\n12.970000, 77.650000\n12.970000, 77.640000" {
		t.Errorf("%q", got)
	}
	b.post(at+"/do", "do", "earlier", "was", "2").is(303)
	b.post(at+"/do", "do", "earlier", "was", "2").is(409).says("problem", "how it is now")
	tried("pin=560066&place=12.965%2C77.645", "Zone 1, The lake")
	b.post(at+"/do", "do", "off", "was", "1").is(303)
	tried("pin=560066&place=12.965%2C77.645", "Zone 2, Tech park")
	b.post(at+"/do", "do", "away", "was", "1").is(400)

	first := fmt.Sprintf("%s/%d", zonesURL, k.count(`SELECT id FROM delivery_zones WHERE name = 'Tech park'`))
	b.post(first, putting(putting(good, "version", "1"), "fee", "50")...).is(303)
	page := b.post(first, putting(putting(good, "version", "1"), "fee", "60")...).is(409).says("saved-fee", "50")
	if page.value("field-fee") != "60" || page.value("field-pins") != "560066, 560067\n560066" {
		t.Error("what was typed is lost")
	}
	if got := k.word(`SELECT string_agg(action, ' ' ORDER BY id) FROM audit WHERE action LIKE '%zone'`); got != "create_zone create_zone move_zone stop_zone edit_zone" {
		t.Error(got)
	}
	other := k.secondOutlet()
	foreign := k.signedIn(k.staff("lata", "Lata", "owner", other.ID))
	foreign.get(at).is(404)
	foreign.post(at+"/do", "do", "on", "was", "1").is(404)
}

// Times and limits, make-minutes and windows of categories, make-minutes of a dish.
func TestStaffTimes(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("vikram", "Vikram", "manager", k.outlet.ID))
	b.get(timesURL).is(200)
	good := []string{"outlet", k.outlet.Slug, "version", "1", "slot_orders", "4", "slot_items", "", "slot_make_minutes", "60", "slot_minutes", "30", "prep_minutes", "25", "delivery_minutes", "0", "last_order_minutes", "10", "order_ahead_days", "2"}
	for field, wrong := range map[string]string{"slot_orders": "0", "slot_items": "many", "slot_make_minutes": "100001", "slot_minutes": "17", "prep_minutes": "0", "delivery_minutes": "241", "last_order_minutes": "", "order_ahead_days": "8"} {
		page := b.post(timesURL, putting(good, field, wrong)...).is(422).says("error-"+field, "")
		if page.value("field-"+field) != wrong && field != "slot_minutes" {
			t.Errorf("%s: what was typed is lost", field)
		}
	}
	b.post(timesURL, good...).is(303)
	b.post(timesURL, putting(good, "slot_orders", "5")...).is(409).says("saved-slot_orders", "4")
	if n := k.count(`SELECT count(*) FROM outlets WHERE slot_orders = 4 AND slot_items IS NULL AND slot_make_minutes = 60 AND slot_minutes = 30 AND prep_minutes = 25 AND delivery_minutes = 0 AND last_order_minutes = 10 AND order_ahead_days = 2`); n != 1 {
		t.Error("not stored as typed")
	}

	b.get(categoriesURL).is(200)
	id := k.count(`SELECT id FROM categories ORDER BY position, id LIMIT 1`)
	at := fmt.Sprintf("%s/%d", categoriesURL, id)
	was := fmt.Sprint(k.count(`SELECT make_minutes FROM categories WHERE id = $1`, id))
	key := fmt.Sprintf("error-minutes-%d", id)
	b.post(at+"/make", "was", was, "minutes", "long").is(422).says(key, "from 0 to 240")
	b.post(at+"/make", "was", was, "minutes", "17").is(303)
	b.post(at+"/make", "was", was, "minutes", "18").is(409).says(key, "just made it 17")
	b.post(at+"/window", "opens", "07:00", "closes", "11:00").is(422).says(fmt.Sprintf("error-day-%d", id), "at least one day")
	b.post(at+"/window", "day", "1", "opens", "25:00", "closes", "11:00").is(422).says(fmt.Sprintf("error-opens-%d", id), "19:30")
	page := b.post(at+"/window", "day", "1", "opens", "07:00", "closes", "11:00", "starts", "2026-12-31", "ends", "2026-01-01").is(422).says(fmt.Sprintf("error-ends-%d", id), "before the first")
	if !strings.Contains(page.body, `value="2026-12-31"`) {
		t.Error("what was typed is lost")
	}
	before := k.count(`SELECT count(*) FROM menu_windows WHERE category_id = $1`, id)
	for range 2 {
		b.post(at+"/window", "day", "1", "day", "2", "opens", "22:00", "closes", "02:00").is(303)
	}
	if n := k.count(`SELECT count(*) FROM menu_windows WHERE category_id = $1 AND weekdays = 6 AND opens_minute = 1320 AND closes_minute = 1560`, id); n != 1 {
		t.Errorf("%d windows", n)
	}
	b.get(categoriesURL).is(200).says("staff-categories", "Mon, Tue 22:00 to 02:00")
	b.post(at+"/window", "remove", fmt.Sprint(k.count(`SELECT max(id) FROM menu_windows WHERE category_id = $1`, id))).is(303)
	if n := k.count(`SELECT count(*) FROM menu_windows WHERE category_id = $1`, id); n != before {
		t.Errorf("%d windows, %d before", n, before)
	}

	dish := k.count(`SELECT id FROM items WHERE slug = 'dal-makhani'`)
	edit := fmt.Sprintf("%s%d", dishEditURL, dish)
	k.exec(`UPDATE items SET make_minutes = NULL WHERE id = $1`, dish)
	b.get(edit).is(200).says("form-make", "as its category")
	b.post(edit+"/make", "was", "", "minutes", "241").is(422).says("error-make-minutes", "from 0 to 240")
	b.post(edit+"/make", "was", "", "minutes", "9").is(303)
	b.post(edit+"/make", "was", "", "minutes", "8").is(409).says("error-make-minutes", "it is 9 now")
	b.post(edit+"/make", "was", "9", "minutes", "").is(303)
	if n := k.count(`SELECT count(*) FROM items WHERE id = $1 AND make_minutes IS NULL`, dish); n != 1 {
		t.Error("not emptied")
	}
	other := k.secondOutlet()
	foreign := k.signedIn(k.staff("lata", "Lata", "owner", other.ID))
	foreign.post(at+"/make", "was", "17", "minutes", "1").is(404)
	foreign.post(edit+"/make", "was", "", "minutes", "1").is(404)
	foreign.post(timesURL, good...).is(404)
}
