package views

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"tiffin/models"
)

// sampleSettings are the pages of an outlet's settings, with what a person typed wherever one can.
func sampleSettings(typed string) map[string]templ.Component {
	settings := SettingsView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "owner"}, Outlets: []models.Outlet{sampleOutlet(), {ID: 2, Slug: "two", Name: typed}}, Notice: "Saved."}
	problem := settings
	problem.Problem = typed
	form := func(names ...string) StaffForm {
		f := StaffForm{Values: map[string]string{"kind": "polygon", "served": "1", "days": "12", "was": "0"}, Errors: map[string]string{}, Saved: map[string]string{}, Version: 3}
		for n, name := range names {
			f.Values[name] = typed
			if n%2 == 0 {
				f.Errors[name] = typed
			} else {
				f.Saved[name] = typed
			}
		}
		return f
	}
	amount, percent, total, radius, starts := models.Paise(7500), models.BasisPoints(1250), 50, 1500, evening
	coupon := models.CouponEdit{Coupon: models.Coupon{ID: 7, Code: "MONSOON10", PercentBP: &percent, AtMostPaise: &amount, MinimumPaise: 30000, FirstOrder: true, PerPerson: 2, Total: &total, Active: true, Taken: 3, StartsAt: &starts}, Held: 1}
	polygon := models.Polygon{{12_960_000, 77_640_000}, {12_960_000, 77_650_000}, {12_970_000, 77_650_000}}
	window := models.MenuWindow{ID: 4, Weekdays: 6, OpensMinute: 1320, ClosesMinute: 1560}
	return map[string]templ.Component{
		"staff_coupons": StaffCouponsPage(CouponsView{SettingsView: settings, Coupons: []models.CouponEdit{coupon, {Coupon: models.Coupon{ID: 8, Code: "TEN", AmountPaise: &amount, PerPerson: 1}}}}),
		"staff_coupon":  StaffCouponPage(CouponView{SettingsView: problem, Form: form("code", "amount", "percent", "at_most", "minimum", "starts", "ends", "per_person", "total")}),
		"staff_zones": StaffZonesPage(ZonesView{SettingsView: settings, Zones: []models.ZoneEdit{{Zone: models.Zone{ID: 1, Name: typed, RadiusMetres: &radius, Served: true, FreeAbovePaise: &amount}, Active: true},
			{Zone: models.Zone{ID: 2, Name: "Far", Polygon: &polygon}}, {Zone: models.Zone{ID: 3, Name: "PINs", Served: true, FeePaise: 4500, MinimumPaise: 30000}, Active: true, PINs: strings.Fields("560001 560002 560003 560004 560005 560006 560007")}},
			Try: form("pin", "place"), Answer: typed}),
		"staff_zone":       StaffZonePage(ZoneView{SettingsView: problem, Form: form("name", "pins", "radius", "polygon", "fee", "minimum", "free_above")}),
		"staff_times":      StaffTimesPage(TimesSettingsView{SettingsView: problem, Form: form("slot_orders", "slot_items", "slot_make_minutes", "prep_minutes", "delivery_minutes", "last_order_minutes", "order_ahead_days")}),
		"staff_categories": StaffCategoriesPage(CategoriesView{SettingsView: settings, Categories: []models.CategoryEdit{{ID: 1, Name: typed, Slug: "mains", MakeMinutes: 5, Dishes: 9, OwnMinutes: 2, Windows: []models.MenuWindow{window}}, {ID: 2, Name: "Breads", Slug: "breads"}}, FormOf: 1, FormOn: "window", Form: form("opens", "closes", "starts", "ends")}),
	}
}

// What staff type into settings comes back as text, letter for letter, and never as markup.
func TestSettingsStayText(t *testing.T) {
	t.Parallel()
	for _, bad := range hostile {
		for name, page := range sampleSettings(bad) {
			if strings.ContainsAny(bad, `<>"'`) && strings.Contains(render(t, page), bad) {
				t.Errorf("%s: %s stands in the page as it was typed", name, bad)
			}
		}
	}
}

// Whether a coupon is given is said as the price sees it.
func TestCouponState(t *testing.T) {
	t.Parallel()
	before, after, three := evening.Add(-time.Hour), evening.Add(time.Hour), 3
	for want, c := range map[string]models.Coupon{"Given": {Active: true, StartsAt: &before, EndsAt: &after, Total: &three, Taken: 2}, "Stopped": {EndsAt: &before}, "Not yet": {Active: true, StartsAt: &after}, "Over": {Active: true, EndsAt: &evening},
		"Used up": {Active: true, Total: &three, Taken: 3}} {
		if got := couponState(models.CouponEdit{Coupon: c}, evening); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		amount := models.Paise(100)
		c.ID, c.AmountPaise, c.PerPerson = 1, &amount, 1
		if _, problem := c.Discount(1000, evening); (problem == nil) != (want == "Given") {
			t.Errorf("%s: the price says %v", want, problem)
		}
	}
}

// An amount is written as its field reads it.
func TestPlainRupees(t *testing.T) {
	t.Parallel()
	for paise, want := range map[models.Paise]string{0: "0", 12000: "120", 12050: "120.50", 12345678: "123456.78"} {
		if got := PlainRupees(paise); got != want {
			t.Errorf("%d is %s", paise, got)
		}
	}
}
