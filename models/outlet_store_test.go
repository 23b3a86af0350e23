package models

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ist is an instant by the clock on an Indian wall; 30 November 2026 is a Monday.
func ist(day, hour, minute, second int) time.Time {
	return time.Date(2026, 11, day, hour, minute, second, 0, India)
}

// week repeats a window on every day of the week.
func week(opens, closes int) (hours []OutletHours) {
	for day := range 7 {
		hours = append(hours, OutletHours{Weekday: day, OpensMinute: opens, ClosesMinute: closes})
	}
	return hours
}

var openOutlet = Outlet{Active: true, AcceptsOrders: true, LastOrderMinutes: 30}

func TestScheduleAt(t *testing.T) {
	t.Parallel()
	evening := Schedule{Outlet: openOutlet, Hours: week(17*60+30, 23*60)}
	shifts := Schedule{Outlet: openOutlet, Hours: append(week(12*60, 15*60), week(19*60, 23*60)...)}
	late := Schedule{Outlet: openOutlet, Hours: week(18*60, 26*60)} // to two in the morning
	festive := Schedule{Outlet: openOutlet, Hours: week(18*60, 26*60), Closures: []OutletClosure{{ClosedOn: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Reason: "Staff outing"}}}
	weekend := Schedule{Outlet: openOutlet, Hours: []OutletHours{{Weekday: 6, OpensMinute: 720, ClosesMinute: 1560}}}
	overlap := Schedule{Outlet: openOutlet, Hours: []OutletHours{{Weekday: 1, OpensMinute: 720, ClosesMinute: 900}, {Weekday: 1, OpensMinute: 840, ClosesMinute: 1200}}}
	paused, inactive := evening, evening
	paused.Outlet.AcceptsOrders = false
	inactive.Outlet.Active = false
	noCutOff := evening
	noCutOff.Outlet.LastOrderMinutes = 0

	for name, c := range map[string]struct {
		schedule Schedule
		at       time.Time
		reason   string // "" is open
		window   int    // day its window began on, 0: in none
		next     time.Time
	}{
		// C031: half past five to eleven, last order half an hour before.
		"C031_17_29_59": {evening, ist(30, 17, 29, 59), "closed", 0, ist(30, 17, 30, 0)},
		"C031_17_30_00": {evening, ist(30, 17, 30, 0), "", 30, ist(31, 17, 30, 0)},
		"C031_22_29_59": {evening, ist(30, 22, 29, 59), "", 30, ist(31, 17, 30, 0)},
		"C031_22_30_00": {evening, ist(30, 22, 30, 0), "last_order", 30, ist(31, 17, 30, 0)},
		"C031_22_31_00": {evening, ist(30, 22, 31, 0), "last_order", 30, ist(31, 17, 30, 0)},
		"C031_22_59_59": {evening, ist(30, 22, 59, 59), "last_order", 30, ist(31, 17, 30, 0)},
		"C031_23_00_00": {evening, ist(30, 23, 0, 0), "closed", 0, ist(31, 17, 30, 0)},
		"no_cut_off":    {noCutOff, ist(30, 22, 59, 59), "", 30, ist(31, 17, 30, 0)},
		// C032: the same page, ten minutes later, and with the switch turned meanwhile.
		"C032_before": {evening, ist(30, 22, 25, 0), "", 30, ist(31, 17, 30, 0)},
		"C032_after":  {evening, ist(30, 23, 5, 0), "closed", 0, ist(31, 17, 30, 0)},
		"C032_paused": {paused, ist(30, 22, 25, 0), "paused", 30, ist(31, 17, 30, 0)},

		"paused_at_night":       {paused, ist(30, 3, 0, 0), "paused", 0, ist(30, 17, 30, 0)},
		"inactive":              {inactive, ist(30, 18, 0, 0), "closed", 30, ist(31, 17, 30, 0)},
		"between_shifts":        {shifts, ist(30, 15, 0, 0), "closed", 0, ist(30, 19, 0, 0)},
		"last_order_of_a_shift": {shifts, ist(30, 14, 45, 0), "last_order", 30, ist(30, 19, 0, 0)},
		"second_shift":          {shifts, ist(30, 19, 0, 0), "", 30, ist(31, 12, 0, 0)},

		"after_midnight_is_yesterdays":  {late, ist(30, 1, 0, 0), "", 29, ist(30, 18, 0, 0)},
		"last_order_after_midnight":     {late, ist(30, 1, 30, 0), "last_order", 29, ist(30, 18, 0, 0)},
		"two_in_the_morning":            {late, ist(30, 2, 0, 0), "closed", 0, ist(30, 18, 0, 0)},
		"holiday":                       {festive, ist(30, 19, 0, 0), "holiday", 0, ist(31, 18, 0, 0)},
		"holidays_morning":              {festive, ist(30, 9, 0, 0), "holiday", 0, ist(31, 18, 0, 0)},
		"last_night_runs_into_holiday":  {festive, ist(30, 1, 0, 0), "", 29, ist(31, 18, 0, 0)},
		"holiday_runs_past_midnight":    {festive, ist(31, 1, 0, 0), "holiday", 0, ist(31, 18, 0, 0)},
		"holiday_is_over":               {festive, ist(31, 18, 0, 0), "", 31, ist(32, 18, 0, 0)},
		"week_wraps_from_saturday":      {weekend, ist(29, 1, 0, 0), "", 28, ist(35, 12, 0, 0)}, // Sunday morning
		"a_week_ahead":                  {weekend, ist(29, 2, 0, 0), "closed", 0, ist(35, 12, 0, 0)},
		"the_longer_of_two_windows":     {overlap, ist(30, 14, 31, 0), "", 30, ist(37, 12, 0, 0)},
		"the_shorter_is_past_its_order": {overlap, ist(30, 14, 59, 0), "", 30, ist(37, 12, 0, 0)},
		"no_hours_at_all":               {Schedule{Outlet: openOutlet}, ist(30, 12, 0, 0), "closed", 0, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, zone := range []*time.Location{India, time.UTC, time.FixedZone("", -8*3600)} { // an instant is the same everywhere
				o := c.schedule.At(c.at.In(zone))
				if o.Open != (c.reason == "") || o.Reason != c.reason {
					t.Fatalf("open %v, %q, want %q", o.Open, o.Reason, c.reason)
				}
				if o.Window.OpensAt.IsZero() != (c.window == 0) || c.window != 0 && !o.Window.ServiceOn.Equal(time.Date(2026, 11, c.window, 0, 0, 0, 0, time.UTC)) {
					t.Errorf("in the window %+v, want the one of day %d", o.Window, c.window)
				}
				if !o.Next.OpensAt.Equal(c.next) {
					t.Errorf("opens next %s, want %s", o.Next.OpensAt, c.next)
				}
				if (o.Reason == "holiday") != (o.Holiday == "Staff outing") {
					t.Errorf("%q with the words %q", o.Reason, o.Holiday)
				}
				if w := o.Window; !w.OpensAt.IsZero() && w.ClosesAt.Sub(w.LastOrderAt) != time.Duration(c.schedule.Outlet.LastOrderMinutes)*time.Minute {
					t.Errorf("last order at %s before closing at %s", w.LastOrderAt, w.ClosesAt)
				}
			}
		})
	}

	t.Run("nothing_is_promised_beyond_two_weeks", func(t *testing.T) {
		monday := Schedule{Outlet: openOutlet, Hours: []OutletHours{{Weekday: 1, OpensMinute: 720, ClosesMinute: 900}}}
		for _, day := range []int{37, 44} { // the next two Mondays
			monday.Closures = append(monday.Closures, OutletClosure{ClosedOn: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)})
		}
		if o := monday.At(ist(30, 16, 0, 0)); !o.Next.OpensAt.IsZero() { // Monday after closing; the third Monday is too far
			t.Errorf("opens next %s", o.Next.OpensAt)
		}
		monday.Closures = monday.Closures[:1]
		if o := monday.At(ist(30, 16, 0, 0)); !o.Next.OpensAt.Equal(ist(44, 12, 0, 0)) {
			t.Errorf("opens next %s", o.Next.OpensAt)
		}
	})

	t.Run("every_minute_of_a_week_follows_the_rule", func(t *testing.T) {
		for minute := range 7 * 24 * 60 {
			at := ist(30, 0, minute, 0)
			hour := at.Hour()*60 + at.Minute()
			want := hour >= 18*60 || hour < 90 // six in the evening to half past one
			if o := late.At(at); o.Open != want {
				t.Fatalf("open %v at %s", o.Open, at)
			}
		}
	})
}

func TestOutlets(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	second, first := mustOutlet(t, s, "ulsoor"), mustOutlet(t, s, "domlur")
	gone := mustOutlet(t, s, "gone")
	mustExec(t, s, `UPDATE outlets SET active = false WHERE id = ?`, gone)

	t.Run("active_ones_are_listed_by_name", func(t *testing.T) {
		outlets, err := s.ListOutlets(ctx)
		if err != nil || len(outlets) != 2 || outlets[0].ID != first || outlets[1].ID != second {
			t.Fatalf("ListOutlets = %+v, %v", outlets, err)
		}
		if o := outlets[0]; o.PIN != "560038" || o.GSTIN != "29ABCDE1234F1ZW" || o.LatitudeE6 == nil || *o.LatitudeE6 != 12971900 || *o.LongitudeE6 != 77641200 ||
			!o.RoundsToRupee || o.HoldMinutes != 15 || o.TaxMode != "regular" {
			t.Errorf("outlet %+v", o)
		}
	})

	t.Run("found_by_id_and_by_slug", func(t *testing.T) {
		if o, err := s.FindOutlet(ctx, gone); err != nil || o.Slug != "gone" {
			t.Errorf("by id, inactive: %+v, %v", o, err)
		}
		if o, err := s.FindOutletBySlug(ctx, "ulsoor"); err != nil || o.ID != second {
			t.Errorf("by slug: %+v, %v", o, err)
		}
		for _, slug := range []string{"gone", "nowhere", "", "ULSOOR", "u%", "a\x00b", "\xf9\x28"} {
			if _, err := s.FindOutletBySlug(ctx, slug); !errors.Is(err, ErrNotFound) {
				t.Errorf("by slug %q: %v", slug, err)
			}
		}
		for _, id := range []int64{0, -1, 1 << 62} {
			if _, err := s.FindOutlet(ctx, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("by id %d: %v", id, err)
			}
			if _, err := s.FindSchedule(ctx, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("schedule of %d: %v", id, err)
			}
			if _, err := s.PriceList(ctx, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("price list of %d: %v", id, err)
			}
		}
	})

	t.Run("a_closure_closes_menu_and_placing_alike", func(t *testing.T) { // C033
		mustItem(t, s, first, "dosa", 8000)
		for _, closed := range []bool{false, true, false} {
			mustExec(t, s, `DELETE FROM outlet_closures`)
			if closed {
				mustExec(t, s, `INSERT INTO outlet_closures (outlet_id, closed_on, reason) VALUES (?, service_day(shop_now()), 'Diwali')`, first)
			}
			menu, err := s.FindMenu(ctx, first, MenuFilter{})
			if err != nil {
				t.Fatal(err)
			}
			schedule, err := s.FindSchedule(ctx, first)
			if err != nil {
				t.Fatal(err)
			}
			now, err := s.Now(ctx)
			if err != nil {
				t.Fatal(err)
			}
			placing := schedule.At(now)
			if menu.Opening.Open == closed || placing.Open == closed || menu.Opening.Holiday != placing.Holiday || (placing.Holiday == "Diwali") != closed {
				t.Errorf("closed %v: the menu says %+v, placing %+v", closed, menu.Opening, placing)
			}
		}
	})

	t.Run("the_boards_switch", func(t *testing.T) {
		owner, here, elsewhere := mustStaff(t, s, 0, "owner"), mustStaff(t, s, first, "here"), mustStaff(t, s, second, "elsewhere")
		dismissed := mustStaff(t, s, 0, "dismissed")
		mustExec(t, s, `UPDATE staff SET active = false WHERE id = ?`, dismissed.ID)
		told := mustListen(t, s)
		for _, id := range []int64{elsewhere.ID, dismissed.ID, 0, 999} {
			if err := s.SetAcceptsOrders(ctx, first, false, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("staff member %d: %v", id, err)
			}
		}
		if err := s.SetAcceptsOrders(ctx, 999, false, owner.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown outlet: %v", err)
		}
		for _, step := range []struct {
			accepts bool
			by      int64
		}{{true, owner.ID}, {false, here.ID}, {false, owner.ID}, {true, owner.ID}, {true, here.ID}} { // two of them change something
			if err := s.SetAcceptsOrders(ctx, first, step.accepts, step.by); err != nil {
				t.Fatal(err)
			}
			if o, err := s.FindOutlet(ctx, first); err != nil || o.AcceptsOrders != step.accepts {
				t.Errorf("accepts %v, %v, want %v", o.AcceptsOrders, err, step.accepts)
			}
		}
		audit := mustRead[string](t, s, `SELECT string_agg(actor || ' ' || action || ' ' || detail, '; ' ORDER BY id) FROM audit`)
		if want := StaffActor(here.ID) + " pause_orders outlet 2; " + StaffActor(owner.ID) + " resume_orders outlet 2"; audit != want {
			t.Errorf("audit: %s\nwant %s", audit, want)
		}
		for range 2 {
			if got := told(); got != BoardTopic(first) {
				t.Errorf("told %q", got)
			}
		}
	})
}

// mustListen hears what the store tells through Postgres; each call of the result waits for the next topic.
func mustListen(t testing.TB, s *Store) func() string {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), s.Pool().Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `LISTEN `+NotifyChannel); err != nil {
		t.Fatal(err)
	}
	return func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n.Payload
	}
}

func TestPriceList(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet, other := mustOutlet(t, s, "here"), mustOutlet(t, s, "there")
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	stopClock(t, s, noon)
	mustList := func(t *testing.T) PriceList {
		t.Helper()
		list, err := s.PriceList(ctx, outlet)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}

	t.Run("without_rows_nothing_is_charged_extra", func(t *testing.T) {
		list := mustList(t)
		if list.OutletID != outlet || list.TaxMode != "regular" || !list.RoundsToRupee || list.Packaging != (PackagingFee{TaxClass: "restaurant"}) || len(list.Bands) != 0 || len(list.Items) != 0 {
			t.Errorf("price list %+v", list)
		}
	})

	t.Run("the_latest_that_has_begun_is_in_force", func(t *testing.T) {
		mustExec(t, s, `INSERT INTO tax_rates (tax_class, starts_at, cgst_bp, sgst_bp) VALUES ('restaurant', ?, 300, 400), ('restaurant', ?, 900, 900), ('packaged', ?, 600, 600), ('packing', '2020-01-01', 0, 0)`,
			noon.Add(-time.Hour), noon.Add(time.Hour), noon)
		mustExec(t, s, `INSERT INTO packaging_fees (outlet_id, starts_at, per_order_paise, per_piece_paise, tax_class) VALUES
			(?, '2020-01-01', 1, 1, 'restaurant'), (?, ?, 500, 250, 'packing'), (?, ?, 9, 9, 'restaurant'), (?, ?, 7, 7, 'restaurant')`,
			outlet, outlet, noon, outlet, noon.Add(time.Second), other, noon)
		mustExec(t, s, `INSERT INTO delivery_bands (outlet_id, starts_at, up_to_metres, fee_paise, minimum_paise, free_above_paise) VALUES
			(?, '2020-01-01', 1000, 1, 0, NULL), (?, '2020-01-01', 9000, 2, 0, NULL), (?, ?, 5000, 3900, 19900, 49900), (?, ?, 3000, 2900, 14900, NULL), (?, ?, 2000, 3, 0, NULL), (?, ?, 1, 1, 0, NULL)`,
			outlet, outlet, outlet, noon, outlet, noon, outlet, noon.Add(time.Second), other, noon)
		free := Paise(49900)
		list := mustList(t)
		if list.TaxRates["restaurant"] != (TaxRate{"restaurant", 300, 400}) || list.TaxRates["packaged"] != (TaxRate{"packaged", 600, 600}) {
			t.Errorf("rates %+v", list.TaxRates)
		}
		if list.Packaging != (PackagingFee{500, 250, "packing"}) {
			t.Errorf("packaging %+v", list.Packaging)
		}
		if b := list.Bands; len(b) != 2 || b[0] != (DeliveryBand{3000, 2900, 14900, nil, "restaurant"}) || b[1].UpToMetres != 5000 || b[1].FreeAbovePaise == nil || *b[1].FreeAbovePaise != free {
			t.Errorf("bands %+v", b)
		}
		stopClock(t, s, noon.Add(time.Hour))
		list = mustList(t)
		if list.TaxRates["restaurant"].CGSTBP != 900 || list.Packaging.PerOrderPaise != 9 || len(list.Bands) != 1 || list.Bands[0].FeePaise != 3 {
			t.Errorf("an hour later: %+v", list)
		}
		stopClock(t, s, noon)
	})

	t.Run("dishes_come_with_choices_and_what_is_left", func(t *testing.T) {
		plain, thali, halwa := mustItem(t, s, outlet, "plain", 9900), mustItem(t, s, outlet, "thali", 34900), mustItem(t, s, outlet, "halwa", 13900)
		drinks := mustGroup(t, s, thali, "Drink", "addon", 1, 1, Option{Name: "Lassi"}, Option{Name: "Chai"})
		mustItem(t, s, other, "elsewhere", 100)
		mustExec(t, s, `UPDATE items SET daily_limit = 20 WHERE id IN (?, ?)`, thali, halwa)
		mustExec(t, s, `INSERT INTO stock (item_id, day, initial, held, sold) VALUES (?, '2026-11-30', 15, 4, 5), (?, '2026-11-29', 3, 3, 0)`, thali, halwa)
		list := mustList(t)
		if len(list.Items) != 3 {
			t.Fatalf("%d dishes", len(list.Items))
		}
		if i := list.Items[plain]; i.PricePaise != 9900 || i.Left != nil || i.SoldOut || i.HasChoices() || i.Mark != "veg" || i.TaxClass != "restaurant" {
			t.Errorf("plain: %+v", i)
		}
		if i := list.Items[thali]; i.Left == nil || *i.Left != 6 || i.SoldOut || len(i.Groups) != 1 || len(i.Groups[0].Options) != 2 || i.Groups[0].Options[1].ID != drinks[1] {
			t.Errorf("thali: %+v, left %v", i, i.Left) // 15 − 4 − 5
		}
		if i := list.Items[halwa]; i.Left == nil || *i.Left != 20 {
			t.Errorf("halwa, whose only stock row is yesterday's: left %v", i.Left)
		}

		for change, back := range map[string]string{
			`UPDATE items SET available = false WHERE id = ?`:                                                         `UPDATE items SET available = true WHERE id = ?`,
			`UPDATE items SET eighty_sixed_until = shop_now() + interval '1 second' WHERE id = ?`:                     `UPDATE items SET eighty_sixed_until = shop_now() WHERE id = ?`,
			`UPDATE stock SET sold = initial - held WHERE item_id = ?`:                                                `UPDATE stock SET sold = 0 WHERE item_id = ?`,
			`UPDATE options SET available = false WHERE group_id IN (SELECT id FROM option_groups WHERE item_id = ?)`: `UPDATE options SET available = true WHERE id = (SELECT max(o.id) FROM options o JOIN option_groups g ON g.id = o.group_id WHERE g.item_id = ?)`,
			`UPDATE items SET archived_at = shop_now() WHERE id = ?`:                                                  `UPDATE items SET archived_at = NULL WHERE id = ?`,
		} {
			cart := Cart{OutletID: outlet, Lines: []CartLine{{ItemID: thali, OptionIDs: IDList{drinks[1]}, Qty: 1}}}
			mustExec(t, s, change, thali)
			var off *ErrSoldOut
			if _, err := PriceCart(mustList(t), cart, pickup); !errors.As(err, &off) || off.Name != "Thali" {
				t.Errorf("after %s: %v", change, err)
			}
			mustExec(t, s, back, thali)
			if _, err := PriceCart(mustList(t), cart, pickup); err != nil {
				t.Errorf("after %s: %v", back, err)
			}
		}
	})

	t.Run("the_stock_day_is_the_one_an_order_has", func(t *testing.T) {
		// Between midnight and four the kitchen that opened yesterday still sells yesterday's portions; one that opens at midnight sells
		// today's from then on.
		night := time.Date(2026, 12, 1, 2, 0, 0, 0, India)
		schedule, err := s.FindSchedule(ctx, outlet)
		if err != nil {
			t.Fatal(err)
		}
		if day := schedule.stockDay(night); !day.Equal(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("open since yesterday: %s", day)
		}
		schedule.Hours = week(0, 24*60)
		if day := schedule.stockDay(night); !day.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("open since midnight: %s", day)
		}
		schedule.Hours = nil
		if day := schedule.stockDay(night); !day.Equal(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("closed: %s", day)
		}
	})
}

func TestFindDestination(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet, unplaced := mustOutlet(t, s, "here"), mustOutlet(t, s, "nowhere")
	mustExec(t, s, `INSERT INTO delivery_pins (outlet_id, pin, distance_metres) VALUES (?, '560038', 1200), (?, '560001', 4700)`, outlet, unplaced)
	mustExec(t, s, `UPDATE outlets SET latitude_e6 = NULL, longitude_e6 = NULL WHERE id = ?`, unplaced)
	e6 := func(n int) *int { return &n }
	metres := func(n int) *int { return &n }

	for name, c := range map[string]struct {
		outlet   int64
		way, pin string
		lat, lng *int
		want     *int
		served   bool
	}{
		"pin_on_the_list":                   {outlet, "delivery", "560038", nil, nil, metres(1200), true},
		"the_list_beats_coordinates":        {outlet, "delivery", "560038", e6(12_971_900), e6(77_641_200), metres(1200), true},
		"coordinates_where_no_pin_is_known": {outlet, "delivery", "560103", e6(12_981_900), e6(77_641_200), metres(1112), true}, // 0.01° north: 6,371,009 m × π / 18,000
		"coordinates_alone":                 {outlet, "delivery", "", e6(12_971_900), e6(77_641_200), metres(0), true},
		"pin_not_on_the_list":               {outlet, "delivery", "110001", nil, nil, nil, false},
		"another_outlets_list":              {outlet, "delivery", "560001", nil, nil, nil, false},
		"the_outlet_has_no_coordinates":     {unplaced, "delivery", "560103", e6(12_981_900), e6(77_641_200), nil, false},
		"not_known_yet":                     {outlet, "delivery", "", nil, nil, nil, true},
		"pickup":                            {outlet, "pickup", "", nil, nil, nil, true},
		"pickup_needs_no_pin":               {outlet, "pickup", "560038", nil, nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			to, err := s.FindDestination(ctx, c.outlet, c.way, c.pin, c.lat, c.lng)
			if err != nil || to.Way != c.way || to.PIN != c.pin || to.Served != c.served {
				t.Fatalf("%+v, %v", to, err)
			}
			if (to.DistanceMetres == nil) != (c.want == nil) || c.want != nil && *to.DistanceMetres != *c.want {
				t.Errorf("distance %v, want %v", to.DistanceMetres, c.want)
			}
		})
	}

	t.Run("nonsense_is_bad_input", func(t *testing.T) {
		for _, c := range []struct {
			way, pin string
			lat, lng *int
		}{
			{"", "", nil, nil}, {"drone", "560038", nil, nil}, {"delivery", "060038", nil, nil}, {"delivery", "5600380", nil, nil}, {"delivery", "56003", nil, nil},
			{"delivery", "560 038", nil, nil}, {"delivery", "56003\x00", nil, nil}, {"delivery", "५६००३८", nil, nil}, {"delivery", "", e6(1), nil}, {"delivery", "", nil, e6(1)},
			{"delivery", "", e6(90_000_001), e6(0)}, {"delivery", "", e6(0), e6(-180_000_001)},
		} {
			if _, err := s.FindDestination(ctx, outlet, c.way, c.pin, c.lat, c.lng); !errors.Is(err, ErrBadInput) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if _, err := s.FindDestination(ctx, 999, "pickup", "", nil, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown outlet: %v", err)
		}
	})

	t.Run("a_way_that_is_not_offered", func(t *testing.T) {
		mustExec(t, s, `UPDATE outlets SET offers_delivery = false, offers_pickup = false WHERE id = ?`, outlet)
		if to, err := s.FindDestination(ctx, outlet, "delivery", "560038", nil, nil); err != nil || to.Served || to.DistanceMetres != nil {
			t.Errorf("delivery: %+v, %v", to, err)
		}
		if _, err := s.FindDestination(ctx, outlet, "pickup", "", nil, nil); !errors.Is(err, ErrBadInput) {
			t.Errorf("pickup: %v", err)
		}
	})
}

func TestDistanceMetres(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lat1, lng1, lat2, lng2, want int }{ // with a radius of 6,371,009 m
		"one_place":                  {12_971_900, 77_641_200, 12_971_900, 77_641_200, 0},
		"a_degree_on_the_equator":    {0, 0, 0, 1_000_000, 111_195},                         // π / 180
		"across_the_date_line":       {0, 179_500_000, 0, -179_500_000, 111_195},            // the same degree
		"pole_to_pole":               {90_000_000, 0, -90_000_000, 0, 20_015_115},           // π
		"opposite_ends_of_the_earth": {0, 0, 0, 180_000_000, 20_015_115},                    // π
		"a_degree_at_sixty_north":    {60_000_000, 0, 60_000_000, 1_000_000, 55_597},        // 2 asin(½ sin ½°)
		"a_thousandth_of_a_degree":   {12_971_900, 77_641_200, 12_972_900, 77_641_200, 111}, // π / 180,000
	} {
		for _, got := range []int{distanceMetres(c.lat1, c.lng1, c.lat2, c.lng2), distanceMetres(c.lat2, c.lng2, c.lat1, c.lng1)} {
			if got != c.want {
				t.Errorf("%s: %d m, want %d", name, got, c.want)
			}
		}
	}
}

func TestPriceListForCountsOwnHoldsAsLeft(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	outlet := mustOutlet(t, s, "here")
	thali := mustItem(t, s, outlet, "thali", 34900)
	mustExec(t, s, `UPDATE items SET daily_limit = 3 WHERE id = ?`, thali)
	_, mine := mustCart(t, s, outlet)
	_, theirs := mustCart(t, s, outlet)
	mustPendingOrder(t, s, mine, thali, 2)

	for _, c := range []struct {
		cart Cart
		want int
	}{{mine, 3}, {theirs, 1}} {
		list, err := s.PriceListFor(ctx, c.cart)
		if err != nil {
			t.Fatal(err)
		}
		if left := list.Items[thali].Left; left == nil || *left != c.want {
			t.Errorf("cart %d: left %v, want %d", c.cart.ID, left, c.want)
		}
	}
	if list, err := s.PriceList(ctx, outlet); err != nil || *list.Items[thali].Left != 1 {
		t.Errorf("for nobody in particular: %v", err)
	}
	if _, err := s.AddToCart(ctx, mine.ID, thali, nil, 3, ""); err != nil {
		t.Errorf("what its own order holds: %v", err)
	}
	var off *ErrSoldOut
	if _, err := s.AddToCart(ctx, theirs.ID, thali, nil, 2, ""); !errors.As(err, &off) || off.Left != 1 {
		t.Errorf("what another's order holds: %v", err)
	}
}

// mustPendingOrder places an unpaid order of one dish by rows, holding its pieces on the day service_day says.
func mustPendingOrder(t testing.TB, s *Store, cart Cart, itemID int64, qty int) (orderID int64) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *Store) error {
		var slot int64
		if err := tx.one(t.Context(), &slot, `INSERT INTO kitchen_slots (outlet_id, service_on, opens_at, last_order_at, accept_until)
			VALUES (?, service_day(shop_now()), shop_now(), shop_now() + interval '1 hour', shop_now() + interval '2 hours') RETURNING id`, cart.OutletID); err != nil {
			return err
		}
		if err := tx.one(t.Context(), &orderID, `INSERT INTO orders (public_id, token, number, service_on, outlet_id, slot_id, cart_id, customer_id, checkout_key, checkout_hash, mode, way, tax_mode,
				subtotal_paise, packaging_paise, delivery_paise, cgst_paise, sgst_paise, amount_paise, name, phone, outlet_name, prep_minutes, delivery_minutes, hold_expires_at, next_check_at)
			SELECT gen_random_uuid()::text, gen_random_uuid()::text, (SELECT count(*) + 1 FROM orders), service_day(shop_now()), ?, ?, ?, ?, gen_random_uuid(), sha256('x'), 'test', 'pickup', 'composition',
				price_paise * ?, 0, 0, 0, 0, price_paise * ?, 'Asha', '+919845012345', 'Here', 20, 20, shop_now() + interval '15 minutes', shop_now() FROM items WHERE id = ? RETURNING id`,
			cart.OutletID, slot, cart.ID, cart.CustomerID, qty, qty, itemID); err != nil {
			return err
		}
		for _, text := range []string{
			`INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise)
				SELECT @order, 1, id, name, mark, tax_class, price_paise, 0, @qty, price_paise * @qty FROM items WHERE id = @item`,
			`INSERT INTO stock (item_id, day, initial) SELECT id, service_day(shop_now()), daily_limit FROM items WHERE id = @item AND daily_limit IS NOT NULL ON CONFLICT DO NOTHING`,
			`UPDATE stock SET held = held + @qty WHERE item_id = @item AND option_id = 0 AND day = service_day(shop_now())`,
			`INSERT INTO stock_holds (order_id, item_id, day, qty, expires_at) SELECT @order, item_id, day, @qty, shop_now() + interval '15 minutes' FROM stock
				WHERE item_id = @item AND option_id = 0 AND day = service_day(shop_now())`,
		} {
			if err := tx.exec(t.Context(), text, map[string]any{"order": orderID, "item": itemID, "qty": qty}).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return orderID
}

func TestListedOutletsAreIndependent(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var ids []int64
	for _, slug := range []string{"a", "b", "c"} {
		id := mustOutlet(t, s, slug)
		mustItem(t, s, id, "only-"+slug, 100)
		ids = append(ids, id)
	}
	for n, id := range ids {
		list, err := s.PriceList(t.Context(), id)
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("outlet %d: %d dishes, %v", id, len(list.Items), err)
		}
		menu, err := s.FindMenu(t.Context(), id, MenuFilter{})
		if err != nil || len(menu.Categories) != 1 || len(menu.Categories[0].Items) != 1 || menu.Categories[0].Items[0].Slug != "only-"+string(rune('a'+n)) {
			t.Errorf("outlet %d: menu %+v, %v", id, menu.Categories, err)
		}
	}
	if !slices.IsSorted(ids) {
		t.Error("ids are not in the order of making")
	}
}
