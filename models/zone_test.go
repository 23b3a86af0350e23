package models

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPolygonHolds(t *testing.T) {
	t.Parallel()
	square := Polygon{{0, 0}, {0, 10}, {10, 10}, {10, 0}}
	horseshoe := Polygon{{0, 0}, {0, 30}, {30, 30}, {30, 20}, {10, 20}, {10, 10}, {30, 10}, {30, 0}}
	for _, c := range []struct {
		name     string
		area     Polygon
		lat, lng int64
		want     bool
	}{
		{"the middle", square, 5, 5, true}, {"a corner", square, 10, 10, true}, {"an edge", square, 0, 7, true}, {"the other edge", square, 7, 10, true}, {"just outside", square, 11, 5, false},
		{"in line with an edge", square, 0, 11, false}, {"in line with a corner", square, 10, -1, false}, {"west of it", square, 5, -1, false},
		{"in one arm", horseshoe, 20, 5, true}, {"in the other", horseshoe, 20, 25, true}, {"between the arms", horseshoe, 20, 15, false}, {"at the back", horseshoe, 5, 15, true},
		{"on the inner edge", horseshoe, 20, 10, true}, {"nowhere", Polygon{}, 0, 0, false},
	} {
		if got := c.area.Holds(c.lat, c.lng); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		backwards := Polygon{}
		for i := range c.area {
			backwards = append(backwards, c.area[len(c.area)-1-i])
		}
		if got := backwards.Holds(c.lat, c.lng); got != c.want {
			t.Errorf("%s, drawn the other way round: %v", c.name, got)
		}
	}
	// A rectangle anywhere on Earth holds what lies between its sides, whatever corner it begins with.
	rapid.Check(t, func(t *rapid.T) {
		lat, lng := rapid.Int64Range(-90_000_000, 90_000_000), rapid.Int64Range(-180_000_000, 180_000_000)
		s, n, w, e := lat.Draw(t, "south"), lat.Draw(t, "north"), lng.Draw(t, "west"), lng.Draw(t, "east")
		s, n, w, e = min(s, n), max(s, n), min(w, e), max(w, e)
		corners := Polygon{{s, w}, {s, e}, {n, e}, {n, w}}
		first := rapid.IntRange(0, 3).Draw(t, "first")
		area := append(append(Polygon{}, corners[first:]...), corners[:first]...)
		y, x := lat.Draw(t, "lat"), lng.Draw(t, "lng")
		if got, want := area.Holds(y, x), s <= y && y <= n && w <= x && x <= e; got != want {
			t.Fatalf("%v holds %d, %d: %v", area, y, x, got)
		}
	})
}

// The first zone in the owner's order counts, whatever kind it is; what no zone holds has the tariff's bands; a zone may say no.
func TestZones(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	mustExec(t, s, `INSERT INTO delivery_pins (outlet_id, pin, distance_metres) VALUES (?, '560038', 1200), (?, '560066', 13400)`, outlet, outlet)
	mustExec(t, s, `INSERT INTO delivery_zones (outlet_id, name, position, radius_metres, polygon, served, fee_paise, minimum_paise) VALUES
		(?, 'The lake', 1, NULL, '[[12960000,77640000],[12960000,77650000],[12970000,77650000],[12970000,77640000]]', false, 0, 0),
		(?, 'The tech park', 2, NULL, NULL, true, 4500, 30000), (?, 'Next door', 3, 1500, NULL, true, 0, 0), (?, 'Switched off', 0, 100000, NULL, true, 99900, 0)`, outlet, outlet, outlet, outlet)
	mustExec(t, s, `UPDATE delivery_zones SET active = false WHERE name = 'Switched off'`)
	mustExec(t, s, `INSERT INTO delivery_zone_pins (zone_id, pin) SELECT id, '560066' FROM delivery_zones WHERE name = 'The tech park'`)
	e6 := func(v int) *int { return &v }
	for name, c := range map[string]struct {
		way, pin string
		lat, lng *int
		fee      Paise
		zone     bool
		served   bool
	}{
		"a radius by the list's distance": {"delivery", "560038", nil, nil, 0, true, true},
		"a PIN code far away":             {"delivery", "560066", nil, nil, 4500, true, true},
		"an area nothing is brought to":   {"delivery", "560066", e6(12_965_000), e6(77_645_000), 0, true, false},
		"a PIN code of none":              {"delivery", "560001", nil, nil, 0, false, false},
		"coordinates of none":             {"delivery", "560001", e6(13_100_000), e6(77_700_000), 0, false, true},
		"a place not known yet":           {"delivery", "", nil, nil, 0, false, true},
		"whoever collects is in no zone":  {"pickup", "560066", nil, nil, 0, false, true},
	} {
		to, err := s.FindDestination(ctx, outlet, c.way, c.pin, c.lat, c.lng)
		if err != nil || to.Served != c.served || (to.Band != nil) != c.zone || c.zone && to.Band.FeePaise != c.fee {
			t.Errorf("%s: %+v, %+v, %v", name, to, to.Band, err)
		}
	}
	// The zone's fee and minimum are the bill's, by the same function as a band's.
	list := kesar()
	to, err := s.FindDestination(ctx, outlet, "delivery", "560066", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := PriceCart(list, cartOf(line(1, 1)), to)
	if !q.DeliveryKnown || q.DeliveryPaise != 4500 || (q.SubtotalPaise < 30000) != (err != nil) {
		t.Errorf("%+v, %v", q, err)
	}
}
