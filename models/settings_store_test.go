package models

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// mustMember adds an active member of staff; outletID 0 is all outlets.
func mustMember(t testing.TB, s *Store, role string, outletID int64) int64 {
	t.Helper()
	return mustRead[int64](t, s, `INSERT INTO staff (outlet_id, login, name, role, password_hash) VALUES (NULLIF(?::bigint, 0), 'm' || gen_random_uuid(), 'M', ?, 'x') RETURNING id`, outletID, role)
}

func ptr[T any](v T) *T { return &v }

// A coupon is made, edited and stopped by who has a say at its outlet, one editor after the other; each change is in the audit.
func TestCouponEditing(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	here, there := mustOutlet(t, s, "here"), mustOutlet(t, s, "there")
	manager, foreign, cook := mustMember(t, s, "manager", here), mustMember(t, s, "owner", there), mustMember(t, s, "kitchen", here)
	ends := time.Date(2031, 1, 2, 3, 0, 0, 0, time.UTC)
	c := CouponEdit{OutletID: here, Coupon: Coupon{Code: "MONSOON", PercentBP: ptr(BasisPoints(1250)), AtMostPaise: ptr(Paise(9000)), MinimumPaise: 30000, EndsAt: &ends, PerPerson: 2, Total: ptr(50)}}
	for name, who := range map[string]int64{"another outlet's owner": foreign, "a cook": cook, "nobody": 0} {
		if _, err := s.CreateCoupon(ctx, who, c); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s makes one: %v", name, err)
		}
	}
	id, err := s.CreateCoupon(ctx, manager, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateCoupon(ctx, manager, c); !errors.Is(err, ErrCodeTaken) {
		t.Errorf("the same code again: %v", err)
	}
	found, err := s.FindCouponEdit(ctx, id, manager)
	if err != nil || found.Code != "MONSOON" || *found.PercentBP != 1250 || found.StartsAt != nil || !found.EndsAt.Equal(ends) || *found.Total != 50 || found.Version != 1 || !found.Active {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := s.FindCouponEdit(ctx, id, foreign); !errors.Is(err, ErrNotFound) {
		t.Errorf("another outlet's owner reads it: %v", err)
	}
	for name, bad := range map[string]func(*CouponEdit){
		"no kind":         func(c *CouponEdit) { c.PercentBP = nil },
		"both kinds":      func(c *CouponEdit) { c.AmountPaise = ptr(Paise(100)) },
		"over 100 %":      func(c *CouponEdit) { *c.PercentBP = 10001 },
		"ends at once":    func(c *CouponEdit) { c.StartsAt = c.EndsAt },
		"nobody may":      func(c *CouponEdit) { c.PerPerson = 0 },
		"a total of none": func(c *CouponEdit) { c.Total = ptr(0) },
	} {
		edit := found
		edit.PercentBP = ptr(*found.PercentBP)
		bad(&edit)
		if err := s.SaveCoupon(ctx, manager, edit); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Two people have the form open: one is saved, the other is told.
	var wait sync.WaitGroup
	results := make([]error, 2)
	for n := range results {
		wait.Add(1)
		go func() {
			defer wait.Done()
			edit := found
			edit.MinimumPaise = Paise(1000 * (n + 1))
			results[n] = s.SaveCoupon(ctx, manager, edit)
		}()
	}
	wait.Wait()
	if (results[0] == nil) == (results[1] == nil) || !errors.Is(errors.Join(results...), ErrEdited) {
		t.Errorf("two editors: %v", results)
	}
	found, err = s.FindCouponEdit(ctx, id, manager)
	if err != nil || found.Version != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for range 2 {
		if err := s.SwitchCoupon(ctx, found, manager, false); err != nil {
			t.Fatal(err)
		}
	}
	if deeds := mustRead[string](t, s, `SELECT string_agg(action || ' ' || actor, ', ' ORDER BY id) FROM audit`); deeds != strings.ReplaceAll("create_coupon M, edit_coupon M, stop_coupon M", "M", StaffActor(manager)) {
		t.Error(deeds)
	}
	if err := s.SaveCoupon(ctx, manager, found); !errors.Is(err, ErrEdited) {
		t.Errorf("a form from before the stop: %v", err)
	}
	for _, text := range []string{`UPDATE coupons SET code = 'OTHER'`, `UPDATE coupons SET outlet_id = ` + fmt.Sprint(there), `DELETE FROM coupons`} {
		if err := s.exec(ctx, text).Error; !isConstraint(err, "coupon_facts") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A total cannot fall below what is used, and what is used is never lost.
func TestCouponTotalBelowItsUses(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	here := mustOutlet(t, s, "here")
	manager := mustMember(t, s, "manager", 0)
	id, err := s.CreateCoupon(ctx, manager, CouponEdit{OutletID: here, Coupon: Coupon{Code: "TEN", AmountPaise: ptr(Paise(1000)), PerPerson: 1}})
	must(t, err)
	mustExec(t, s, `UPDATE coupons SET taken = 3 WHERE id = ?`, id)
	c, err := s.FindCouponEdit(ctx, id, manager)
	must(t, err)
	c.Total = ptr(2)
	if err := s.SaveCoupon(ctx, manager, c); !errors.Is(err, ErrBelowTaken) {
		t.Errorf("below: %v", err)
	}
	c.Total = ptr(3)
	must(t, s.SaveCoupon(ctx, manager, c))
}

// Zones are added behind, change places, and are switched off; what matches is what the bill goes by.
func TestZoneEditing(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	here, there := mustOutlet(t, s, "here"), mustOutlet(t, s, "there")
	manager, foreign := mustMember(t, s, "manager", here), mustMember(t, s, "manager", there)
	lake, err := ParsePolygon("12.96, 77.64\n12.96, 77.65\n12.97, 77.65\n12.97, 77.64")
	must(t, err)
	zones := []ZoneEdit{
		{Zone: Zone{Name: "Near", RadiusMetres: ptr(1500), Served: true}},
		{Zone: Zone{Name: "Tech park", Served: true, FeePaise: 4500, MinimumPaise: 30000, FreeAbovePaise: ptr(Paise(90000))}, PINs: []string{"560066", "560067"}},
		{Zone: Zone{Name: "The lake", Polygon: &lake}},
	}
	for n := range zones {
		zones[n].OutletID = here
		if _, err := s.CreateZone(ctx, foreign, zones[n]); !errors.Is(err, ErrNotFound) {
			t.Errorf("a foreign manager adds: %v", err)
		}
		_, err := s.CreateZone(ctx, manager, zones[n])
		must(t, err)
	}
	order := func() string {
		list, err := s.ListZoneEdits(ctx, here)
		must(t, err)
		var names []string
		for n, z := range list {
			zones[n] = z
			names = append(names, z.Name)
		}
		return strings.Join(names, ", ")
	}
	if got := order(); got != "Near, Tech park, The lake" || strings.Join(zones[1].PINs, " ") != "560066 560067" || len(*zones[2].Polygon) != 4 || zones[2].Served {
		t.Fatalf("%s: %+v", got, zones)
	}
	must(t, s.MoveZone(ctx, zones[2], manager, true, zones[2].Position))
	if err := s.MoveZone(ctx, zones[2], manager, true, zones[2].Position); !errors.Is(err, ErrEdited) {
		t.Errorf("a second press of the same button: %v", err)
	}
	if got := order(); got != "Near, The lake, Tech park" {
		t.Error(got)
	}
	must(t, s.MoveZone(ctx, zones[0], manager, true, zones[0].Position)) // first already
	must(t, s.MoveZone(ctx, zones[0], manager, false, zones[0].Position))
	if got := order(); got != "The lake, Near, Tech park" {
		t.Error(got)
	}
	in := func(pin string, lat, lng int) string {
		var latE6, lngE6 *int
		if lat != 0 {
			latE6, lngE6 = &lat, &lng
		}
		to, zone, err := s.TryPlace(ctx, here, pin, latE6, lngE6)
		must(t, err)
		if zone == nil {
			return "none"
		}
		return fmt.Sprint(zone.Name, " ", to.Served)
	}
	if got := in("560067", 0, 0); got != "Tech park true" {
		t.Error(got)
	}
	if got := in("560067", 12_965_000, 77_645_000); got != "The lake false" {
		t.Error(got)
	}
	must(t, s.SwitchZone(ctx, zones[0], manager, false))
	if got := in("560067", 12_965_000, 77_645_000); got != "Near true" {
		t.Errorf("switched off: %s", got)
	}
	edit := zones[2]
	edit.PINs, edit.FeePaise = []string{"560001"}, 5000
	must(t, s.SaveZone(ctx, manager, edit))
	if err := s.SaveZone(ctx, manager, edit); !errors.Is(err, ErrEdited) {
		t.Errorf("saved from an old form: %v", err)
	}
	if got := in("560067", 0, 0) + ", " + in("560001", 0, 0); got != "none, Tech park true" {
		t.Error(got)
	}
	for name, bad := range map[string]ZoneEdit{"two kinds": {Zone: Zone{Name: "x", RadiusMetres: ptr(5), Polygon: &lake}}, "no name": {}, "a PIN that is none": {Zone: Zone{Name: "x"}, PINs: []string{"12"}},
		"off the Earth": {Zone: Zone{Name: "x", Polygon: &Polygon{{1, 1}, {2, 2}, {91_000_000, 3}}}}} {
		bad.OutletID = here
		if _, err := s.CreateZone(ctx, manager, bad); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM delivery_zones`); n != 3 {
		t.Errorf("%d zones", n)
	}
	for _, text := range []string{`[[1,2],[3,4],[5]]`, `[[1,2],[3,4],[5,"x"]]`, `[[1,2],[3,4],[5,6.5]]`, `[1,2,3]`} {
		if err := s.exec(ctx, `UPDATE delivery_zones SET polygon = ?::jsonb, radius_metres = NULL WHERE id = ?`, text, zones[1].ID).Error; !isConstraint(err, "delivery_zones_corners_check") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Times, make-minutes and windows: guarded by what the form showed, refused by the database when wrong, and used by the next promise.
func TestTimeEditing(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	here := mustOutlet(t, s, "here")
	manager := mustMember(t, s, "manager", here)
	dal := mustItem(t, s, here, "dal", 19900)
	times, err := s.FindTimeSettings(ctx, here)
	must(t, err)
	times.SlotOrders, times.SlotMinutes, times.PrepMinutes = ptr(4), 30, 25
	must(t, s.SaveTimeSettings(ctx, here, manager, times))
	if err := s.SaveTimeSettings(ctx, here, manager, times); !errors.Is(err, ErrEdited) {
		t.Errorf("an old form: %v", err)
	}
	if now, err := s.FindTimeSettings(ctx, here); err != nil || *now.SlotOrders != 4 || now.SlotItems != nil || now.SlotMinutes != 30 || now.PrepMinutes != 25 || now.TimesVersion != 2 {
		t.Errorf("%+v, %v", now, err)
	}
	times.TimesVersion, times.SlotMinutes = 2, 17
	if err := s.SaveTimeSettings(ctx, here, manager, times); !errors.Is(err, ErrBadInput) {
		t.Errorf("a width of no clock: %v", err)
	}

	categories, err := s.ListCategoryEdits(ctx, here)
	must(t, err)
	mains := categories[0]
	must(t, s.SetCategoryMake(ctx, mains, manager, 0, 12))
	if err := s.SetCategoryMake(ctx, mains, manager, 0, 13); !errors.Is(err, ErrEdited) {
		t.Errorf("an old form: %v", err)
	}
	if err := s.SetCategoryMake(ctx, mains, manager, 12, 241); !errors.Is(err, ErrBadInput) {
		t.Errorf("too long: %v", err)
	}
	must(t, s.SetMakeMinutes(ctx, dal, manager, nil, ptr(5)))
	if err := s.SetMakeMinutes(ctx, dal, manager, nil, ptr(6)); !errors.Is(err, ErrEdited) {
		t.Errorf("an old form: %v", err)
	}
	if own, category, err := s.FindMakeMinutes(ctx, dal); err != nil || *own != 5 || category != 12 {
		t.Errorf("%v %d %v", own, category, err)
	}
	w := MenuWindow{Weekdays: 0b0111110, OpensMinute: 7 * 60, ClosesMinute: 11 * 60}
	must(t, s.AddCategoryWindow(ctx, mains, manager, w))
	must(t, s.AddCategoryWindow(ctx, mains, manager, w))
	w.ClosesMinute = 6 * 60
	if err := s.AddCategoryWindow(ctx, mains, manager, w); !errors.Is(err, ErrBadInput) {
		t.Errorf("closes before it opens: %v", err)
	}
	categories, err = s.ListCategoryEdits(ctx, here)
	if err != nil || len(categories[0].Windows) != 1 || categories[0].MakeMinutes != 12 || categories[0].Dishes != 1 || categories[0].OwnMinutes != 1 {
		t.Fatalf("%+v, %v", categories, err)
	}
	for range 2 {
		must(t, s.RemoveCategoryWindow(ctx, mains, manager, categories[0].Windows[0].ID))
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM audit`); n != 5 {
		t.Errorf("%d lines in the audit", n)
	}
}

// What people paste is read as it is meant, or refused in words.
func TestParsePolygon(t *testing.T) {
	t.Parallel()
	square := Polygon{{12_960_000, 77_640_000}, {12_960_000, 77_650_000}, {12_970_000, 77_650_000}, {12_970_000, 77_640_000}}
	for name, text := range map[string]string{
		"lines":             "12.96, 77.64\n\n12.96,77.65\r\n12.970000000001 77.65\n12.97,77.64\n",
		"closed lines":      "12.96, 77.64\n12.96,77.65\n12.97,77.65\n12.97,77.64\n12.96,77.64",
		"GeoJSON":           `{"type":"Polygon","coordinates":[[[77.64,12.96],[77.65,12.96],[77.65,12.97],[77.64,12.97],[77.64,12.96]]]}`,
		"a feature":         `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[77.64,12.96,900],[77.65,12.96],[77.65,12.97],[77.64,12.97]]]}}`,
		"a list of one":     `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[77.64,12.96],[77.65,12.96],[77.65,12.97],[77.64,12.97]]]}}]}`,
		"coordinates alone": `[[[77.64,12.96],[77.65,12.96],[77.65,12.97],[77.64,12.97]]]`,
	} {
		if got, err := ParsePolygon(text); err != nil || fmt.Sprint(got) != fmt.Sprint(square) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	many := strings.Builder{}
	for n := range MaxCorners + 1 {
		fmt.Fprintf(&many, "12.%06d, 77.%06d\n", n, n*n%1_000_000)
	}
	for text, words := range map[string]string{
		"":                                   "3 corners",
		"12.96, 77.64\n12.97, 77.65":         "3 corners",
		"12.96, 77.64\nhere\n12.97, 77.65":   "Line 2",
		"12.96, 77.64\n91, 77\n12.97, 77.65": "Line 2",
		"12.1, 77.1\n12.2, 77.2\n12.3, 77.3": "one line",
		"12.96,77.64\n12.97,77.65\n12.96,77.65\n12.97,77.64": "crosses",
		many.String():                                                      "500",
		`{"type":"Polygon","coordinates":[[[77`:                            "cannot be read",
		`{"type":"Point","coordinates":[77,12]}`:                           "no polygon",
		`{"type":"MultiPolygon","coordinates":[]}`:                         "several areas",
		`{"type":"FeatureCollection","features":[]}`:                       "0 areas",
		`{"type":"Polygon","coordinates":[[[77,12]],[[77,12]]]}`:           "holes",
		`{"type":"Polygon","coordinates":[[[77]]]}`:                        "Corner 1",
		`{"type":"Polygon","coordinates":[[[12.9,99.6],[77,12],[78,12]]]}`: "longitude stands first",
	} {
		if _, err := ParsePolygon(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.60q: %v, want %q", text, err, words)
		}
	}
}
