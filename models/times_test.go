package models

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clockText writes what can be promised as people would say it: "asap 17:50-18:00 | 30 18:00 18:15 | 31 …", days before the times of each.
func clockText(t Times) string {
	var b strings.Builder
	if p := t.Soonest; p != nil {
		fmt.Fprintf(&b, "asap %s-%s", p.From.In(India).Format("15:04"), p.To.In(India).Format("15:04"))
	}
	day := 0
	for _, p := range t.Later {
		if d := p.Window.ServiceOn.Day(); d != day {
			day = d
			fmt.Fprintf(&b, " | %d", d)
		}
		b.WriteString(" " + p.From.In(India).Format("15:04"))
	}
	return strings.TrimPrefix(strings.TrimSpace(b.String()), "| ")
}

// The eight edges of opening hours that ordering systems get wrong (requirements, "Opening-hour edges"), each at the instants around it.
// Half-hour slots and half an hour of lead keep the lists short; last order is half an hour before closing.
func TestTimesAtTheEdgesOfOpeningHours(t *testing.T) {
	t.Parallel()
	outlet := Outlet{Active: true, AcceptsOrders: true, LastOrderMinutes: 30, SlotMinutes: 30, OrderAheadDays: 1}
	evening := Schedule{Outlet: outlet, Hours: week(18*60, 20*60)}
	shifts := Schedule{Outlet: outlet, Hours: append(week(12*60, 13*60+30), week(19*60, 20*60)...)}
	night := Schedule{Outlet: outlet, Hours: week(23*60, 25*60)}
	holiday := evening
	holiday.Closures = []OutletClosure{{ClosedOn: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}}
	early := evening
	early.Ended = []time.Time{ist(30, 18, 0, 0)}
	strict, patient, paused := evening, holiday, evening
	strict.Outlet.OrderAheadDays, patient.Outlet.OrderAheadDays, paused.Outlet.AcceptsOrders = 0, 2, false

	for name, c := range map[string]struct {
		schedule Schedule
		at       time.Time
		want     string
	}{
		"orders after closing: nothing of tonight":              {evening, ist(30, 20, 0, 0), "1 18:30 19:00 19:30"},
		"orders after closing: nor at the second before":        {evening, ist(30, 19, 59, 59), "1 18:30 19:00 19:30"},
		"orders after closing: nothing at all without ahead":    {strict, ist(30, 20, 0, 0), ""},
		"last order: one second before it":                      {evening, ist(30, 19, 29, 59), "asap 19:50-20:00"},
		"last order: at it":                                     {evening, ist(30, 19, 30, 0), "1 18:30 19:00 19:30"},
		"last order: the last time is its order's":              {evening, ist(30, 19, 0, 0), "asap 19:20-19:30 | 30 19:30"},
		"first slot: opening leaves the kitchen its lead":       {evening, ist(30, 12, 0, 0), "30 18:30 19:00 19:30"},
		"first slot: at opening":                                {evening, ist(30, 18, 0, 0), "asap 18:20-18:30 | 30 18:30 19:00 19:30"},
		"first slot: a second later it is too soon":             {evening, ist(30, 18, 0, 1), "asap 18:21-18:31 | 30 19:00 19:30"},
		"midnight: tonight's after it are tonight's":            {night, ist(30, 22, 0, 0), "30 23:30 00:00 00:30"},
		"midnight: still last night's, and tonight's":           {night, ist(30, 0, 10, 0), "asap 00:30-00:40 | 30 23:30 00:00 00:30"},
		"midnight: over":                                        {night, ist(30, 1, 0, 0), "30 23:30 00:00 00:30"},
		"split shifts: the other shift of today too":            {shifts, ist(30, 12, 10, 0), "asap 12:30-12:40 | 30 13:00 19:30"},
		"split shifts: between them, for later":                 {shifts, ist(30, 15, 0, 0), "30 19:30"},
		"split shifts: last order of the first":                 {shifts, ist(30, 13, 0, 0), "30 19:30"},
		"order now for later: the night before":                 {evening, ist(30, 23, 0, 0), "1 18:30 19:00 19:30"},
		"order now for later: the same morning":                 {evening, ist(31, 0, 0, 1), "1 18:30 19:00 19:30"},
		"order now for later: not while paused":                 {paused, ist(30, 15, 0, 0), ""},
		"holiday: nothing that day":                             {holiday, ist(30, 10, 0, 0), "1 18:30 19:00 19:30"},
		"holiday: the evening before it is as far as it goes":   {holiday, ist(29, 21, 0, 0), ""},
		"holiday: unless the setting allows more":               {patient, ist(29, 21, 0, 0), "1 18:30 19:00 19:30"},
		"early closing: nothing of tonight any more":            {early, ist(30, 18, 30, 0), "1 18:30 19:00 19:30"},
		"early closing: tomorrow is untouched":                  {early, ist(31, 18, 0, 0), "asap 18:20-18:30 | 1 18:30 19:00 19:30"},
		"lead time: nobody is promised food before it is ready": {evening, ist(30, 18, 45, 0), "asap 19:05-19:15 | 30 19:30"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clockText(c.schedule.TimesAt(c.at, 30, Load{Orders: 1})); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTimesAtLeavesOutWhatIsFull(t *testing.T) {
	t.Parallel()
	three, ten, hour := 3, 10, 60
	s := Schedule{Outlet: Outlet{Active: true, AcceptsOrders: true, SlotMinutes: 30, OrderAheadDays: 1, SlotOrders: &three, SlotItems: &ten, SlotMakeMinutes: &hour}, Hours: week(18*60, 20*60)}
	full := func(start time.Time, orders, items, minutes int) TakenTime {
		return TakenTime{start, orders, items, minutes}
	}
	for name, c := range map[string]struct {
		at    time.Time
		taken []TakenTime
		need  Load
		want  string
	}{
		"nothing taken":                        {ist(30, 18, 10, 0), nil, Load{1, 2, 10}, "asap 18:30-18:40 | 30 19:00 19:30 20:00"},
		"orders":                               {ist(30, 18, 10, 0), []TakenTime{full(ist(30, 19, 0, 0), 3, 0, 0)}, Load{1, 2, 10}, "asap 18:30-18:40 | 30 19:30 20:00"},
		"items":                                {ist(30, 18, 10, 0), []TakenTime{full(ist(30, 19, 0, 0), 1, 9, 0)}, Load{1, 2, 10}, "asap 18:30-18:40 | 30 19:30 20:00"},
		"make-minutes":                         {ist(30, 18, 10, 0), []TakenTime{full(ist(30, 19, 0, 0), 1, 0, 51)}, Load{1, 2, 10}, "asap 18:30-18:40 | 30 19:30 20:00"},
		"just enough":                          {ist(30, 18, 10, 0), []TakenTime{full(ist(30, 19, 0, 0), 2, 8, 50)}, Load{1, 2, 10}, "asap 18:30-18:40 | 30 19:00 19:30 20:00"},
		"soonest waits for room":               {ist(30, 18, 10, 0), []TakenTime{full(ist(30, 18, 30, 0), 3, 0, 0), full(ist(30, 19, 0, 0), 3, 0, 0)}, Load{1, 2, 10}, "asap 19:30-20:00 | 30 19:30 20:00"},
		"a full evening gives way to tomorrow": {ist(30, 19, 0, 0), []TakenTime{full(ist(30, 19, 30, 0), 3, 0, 0), full(ist(30, 20, 0, 0), 3, 0, 0)}, Load{1, 2, 10}, "1 18:30 19:00 19:30 20:00"},
		"an order larger than any time":        {ist(30, 18, 10, 0), nil, Load{1, 11, 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			s.Taken = c.taken
			if got := clockText(s.TimesAt(c.at, 30, c.need)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// For any hours, closures, lead and instant: what can be promised keeps the rule, misses none that does, and is in order.
func TestAnyTimesKeepTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{Outlet: Outlet{Active: true, AcceptsOrders: true,
			LastOrderMinutes: rapid.IntRange(0, 60).Draw(t, "last order"), OrderAheadDays: rapid.IntRange(0, 3).Draw(t, "ahead"),
			SlotMinutes: rapid.SampledFrom([]int{10, 15, 20, 30, 60}).Draw(t, "slot")}}
		for range rapid.IntRange(0, 8).Draw(t, "windows") {
			opens := rapid.IntRange(0, 1439).Draw(t, "opens")
			s.Hours = append(s.Hours, OutletHours{Weekday: rapid.IntRange(0, 6).Draw(t, "weekday"), OpensMinute: opens, ClosesMinute: rapid.IntRange(opens+1, 1680).Draw(t, "closes")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "closures") {
			s.Closures = append(s.Closures, OutletClosure{ClosedOn: time.Date(2026, 11, rapid.IntRange(28, 33).Draw(t, "closed on"), 0, 0, 0, 0, time.UTC)})
		}
		lead := rapid.IntRange(1, 120).Draw(t, "lead")
		now := ist(30, 0, 0, rapid.IntRange(0, 86399).Draw(t, "now"))
		times := s.TimesAt(now, lead, Load{Orders: 1})
		span := time.Duration(lead) * time.Minute

		if open := s.At(now).Open; open != (times.Soonest != nil) { // without limits
			t.Fatalf("open %v, soonest %v", open, times.Soonest)
		}
		if p := times.Soonest; p != nil && (p.To.Before(now.Add(span)) || p.To.Sub(now.Add(span)) >= time.Minute || now.Add(span).Before(p.StartsAt) || !now.Add(span).Before(p.EndsAt)) {
			t.Fatalf("soonest %+v at %s", p, now)
		}
		offered := map[int64]bool{}
		for n, p := range times.Later {
			start := p.From.Add(-span)
			switch placed := s.At(start); {
			case start.Before(now):
				t.Fatalf("%s cannot be ready", p.From)
			case !placed.Open || !placed.Window.LastOrderAt.Equal(p.Window.LastOrderAt):
				t.Fatalf("%s would be cooked from %s on, which is %q", p.From, start, placed.Reason)
			case n > 0 && !times.Later[n-1].From.Before(p.From):
				t.Fatalf("%s twice or out of order", p.From)
			case p.From.In(India).Minute()%min(s.Outlet.SlotMinutes, 60) != 0 || p.To.Sub(p.From) != time.Duration(s.Outlet.SlotMinutes)*time.Minute || !p.StartsAt.Equal(p.From):
				t.Fatalf("%+v is no slot", p)
			}
			offered[p.From.Unix()] = true
		}
		// Whatever of today the rule allows is there.
		for at := ist(30, 0, 0, 0); at.Before(ist(31, 0, 0, 0)); at = at.Add(time.Duration(s.Outlet.SlotMinutes) * time.Minute) {
			start := at.Add(-span)
			if w := s.At(start); !start.Before(now) && w.Open && w.Window.ServiceOn.Day() <= 30 && w.Window.ServiceOn.Month() == 11 && !offered[at.Unix()] {
				t.Fatalf("%s is missing", at)
			}
		}
	})
}
