package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// PromisedTime is a window in which an order is handed over: at the door, or at the counter.
type PromisedTime struct {
	From, To time.Time // what is promised
	StartsAt time.Time // the row of order_times it counts on; of a chosen time the same as From
	EndsAt   time.Time
	Window   Window // the service window that cooks it
}

// IsForLater reports that nothing can be had as soon as possible, but at a later time.
func (t Times) IsForLater() bool { return t.Soonest == nil && len(t.Later) > 0 }

// Load is what an order takes of a promised time.
type Load struct{ Orders, Items, MakeMinutes int }

// TakenTime is how much of a promised time is taken.
type TakenTime struct {
	StartsAt    time.Time
	Orders      int
	Items       int
	MakeMinutes int
}

// Times is what can be promised at one instant.
type Times struct {
	Soonest *PromisedTime  // as soon as possible; nil while closed, or when nothing is free before closing
	Later   []PromisedTime // to be chosen, in order
}

// Find is the time that starts at an instant. found is false when it is not offered (any more).
func (t Times) Find(startsAt time.Time) (at PromisedTime, found bool) {
	n := slices.IndexFunc(t.Later, func(p PromisedTime) bool { return p.StartsAt.Equal(startsAt) })
	if n < 0 {
		return at, false
	}
	return t.Later[n], true
}

// LeadMinutes is how long an order takes from the kitchen's start to being handed over.
func (o Outlet) LeadMinutes(way string) int {
	if way == "delivery" {
		return o.PrepMinutes + o.DeliveryMinutes
	}
	return o.PrepMinutes
}

const (
	usualSlotMinutes = 15
	soonestWidth     = 10 * time.Minute // of what "as soon as possible" promises: a single minute would be a promise nobody can keep
)

// TimesAt lists the times that can be promised at now to an order that takes leadMinutes and need. It is pure; menu banner, cart,
// checkout and placing all ask it, so they can never disagree.
//
// The rule: a time can be promised if an order placed leadMinutes before it would be taken by At's cut-off rule, and that moment is not
// over; so the first time after opening leaves the kitchen its lead, and no time lies later than an order at the last minute would be
// ready. Times begin at whole slots of the clock. A full one is left out. Those of the running window and of today are listed; only
// when there are none, and nothing can be had as soon as possible, the nearest day's, at most OrderAheadDays ahead. A pause stops all.
func (s Schedule) TimesAt(now time.Time, leadMinutes int, need Load) (times Times) {
	if !s.Outlet.Active || !s.Outlet.AcceptsOrders {
		return times
	}
	lead, opening := time.Duration(leadMinutes)*time.Minute, s.At(now)
	for n := -1; n <= s.Outlet.OrderAheadDays; n++ {
		for _, w := range s.openWindows(dayOf(now).AddDate(0, 0, n)) {
			times.Later = append(times.Later, s.timesOf(w, now, lead, need)...)
		}
		if n < 0 {
			continue
		}
		if n == 0 && opening.Open {
			times.Soonest = s.soonest(opening.Window, now.Add(lead), times.Later, need)
		}
		if times.Soonest != nil || len(times.Later) > 0 {
			break
		}
	}
	slices.SortFunc(times.Later, func(a, b PromisedTime) int { return a.StartsAt.Compare(b.StartsAt) })
	times.Later = slices.CompactFunc(times.Later, func(a, b PromisedTime) bool { return a.StartsAt.Equal(b.StartsAt) })
	return times
}

// openWindows gives the windows of a day in which there is service.
func (s Schedule) openWindows(day time.Time) []Window {
	if _, closed := s.closedOn(day); closed {
		return nil
	}
	return slices.DeleteFunc(s.windowsOf(day), func(w Window) bool { return slices.ContainsFunc(s.Ended, w.OpensAt.Equal) })
}

// timesOf lists the free times of one window.
func (s Schedule) timesOf(w Window, now time.Time, lead time.Duration, need Load) (times []PromisedTime) {
	start := w.OpensAt
	if now.After(start) {
		start = now
	}
	width := s.slotWidth()
	first := s.slotStart(start.Add(lead))
	if first.Before(start.Add(lead)) {
		first = first.Add(width)
	}
	for at := first; at.Add(-lead).Before(w.LastOrderAt); at = at.Add(width) {
		if s.fits(at, need) {
			cooks := s.At(at.Add(-lead)).Window // of windows that overlap, as At has it
			times = append(times, PromisedTime{From: at, To: at.Add(width), StartsAt: at, EndsAt: at.Add(width), Window: cooks})
		}
	}
	return times
}

// soonest is what an order placed now is promised in the running window: the time it is ready, or the first free one after.
func (s Schedule) soonest(w Window, ready time.Time, later []PromisedTime, need Load) *PromisedTime {
	if start := s.slotStart(ready); s.fits(start, need) {
		if minute := ready.Truncate(time.Minute); minute.Before(ready) {
			ready = minute.Add(time.Minute)
		}
		return &PromisedTime{From: ready.Add(-soonestWidth), To: ready, StartsAt: start, EndsAt: start.Add(s.slotWidth()), Window: w}
	}
	for _, p := range later {
		if p.Window.OpensAt.Equal(w.OpensAt) {
			return &p
		}
	}
	return nil
}

func (s Schedule) slotWidth() time.Duration {
	return time.Duration(cmp.Or(s.Outlet.SlotMinutes, usualSlotMinutes)) * time.Minute
}

// slotStart is the start of the slot of India's clock that an instant is in.
func (s Schedule) slotStart(t time.Time) time.Time {
	y, m, d := t.In(India).Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, India)
	return midnight.Add(t.Sub(midnight).Truncate(s.slotWidth()))
}

// fits reports whether a time has room for need under the outlet's limits.
func (s Schedule) fits(startsAt time.Time, need Load) bool {
	var taken TakenTime
	if n := slices.IndexFunc(s.Taken, func(t TakenTime) bool { return t.StartsAt.Equal(startsAt) }); n >= 0 {
		taken = s.Taken[n]
	}
	within := func(sum int, limit *int) bool { return limit == nil || sum <= *limit }
	return within(taken.Orders+need.Orders, s.Outlet.SlotOrders) && within(taken.Items+need.Items, s.Outlet.SlotItems) &&
		within(taken.MakeMinutes+need.MakeMinutes, s.Outlet.SlotMakeMinutes)
}

// judgedAt is the instant at which the dishes of an order are judged: the time it is for; with none chosen now, or, while closed, the first
// time that could be.
func (s Schedule) judgedAt(now time.Time, chosen *time.Time) time.Time {
	if chosen != nil {
		return *chosen
	}
	if later := s.TimesAt(now, s.Outlet.PrepMinutes, Load{Orders: 1}); later.Soonest == nil && len(later.Later) > 0 {
		return later.Later[0].StartsAt
	}
	return now
}

func (o Outlet) limitsTimes() bool {
	return o.SlotOrders != nil || o.SlotItems != nil || o.SlotMakeMinutes != nil
}

// readTaken fills in how much of the coming times is taken, apart from what the cart's own unpaid order holds, since placing again takes
// that order's place. An outlet without limits needs none of it.
func (s *Store) readTaken(ctx context.Context, schedule *Schedule, cartID int64) error {
	if !schedule.Outlet.limitsTimes() {
		return nil
	}
	if err := s.read(ctx, &schedule.Taken, `SELECT t.starts_at, t.orders - count(h) AS orders, t.items - COALESCE(sum(h.items), 0) AS items, t.make_minutes - COALESCE(sum(h.make_minutes), 0) AS make_minutes
		FROM order_times t LEFT JOIN (SELECT h.* FROM order_time_holds h JOIN orders o ON o.id = h.order_id WHERE o.cart_id = ? AND o.status = 'pending' AND h.state = 'held') h USING (outlet_id, starts_at)
		WHERE t.outlet_id = ? AND t.ends_at > shop_now() GROUP BY t.outlet_id, t.starts_at`, cartID, schedule.Outlet.ID); err != nil {
		return fmt.Errorf("times of outlet %d: %w", schedule.Outlet.ID, err)
	}
	return nil
}

// cartLoad is what the cart's order would take of a time.
func (s *Store) cartLoad(ctx context.Context, outlet Outlet, cartID int64) (Load, error) {
	load := Load{Orders: 1}
	if outlet.SlotItems == nil && outlet.SlotMakeMinutes == nil {
		return load, nil
	}
	err := s.one(ctx, &load, `SELECT 1 AS orders, COALESCE(sum(l.qty), 0) AS items, COALESCE(sum(l.qty * COALESCE(i.make_minutes, c.make_minutes)), 0) AS make_minutes
		FROM cart_lines l JOIN items i ON i.id = l.item_id JOIN categories c ON c.id = i.category_id WHERE l.cart_id = ?`, cartID)
	return load, err
}

// takeTime takes the promised time for a fresh order until expires, in one statement that is refused when the time would hold more than
// the outlet's limits. Errors: ErrTimeGone. Inside InTx only, under the order's row, before any stock row.
func (s *Store) takeTime(ctx context.Context, o *Order, expires time.Time) error {
	if o.Time.StartsAt.IsZero() {
		return nil
	}
	r := s.exec(ctx, `WITH load AS (
			SELECT COALESCE(sum(b.qty), 0)::int AS items, COALESCE(sum(b.qty * COALESCE(i.make_minutes, c.make_minutes, 0)), 0)::int AS make_minutes
			FROM order_items b LEFT JOIN items i ON i.id = b.item_id LEFT JOIN categories c ON c.id = i.category_id WHERE b.order_id = ?),
		taken AS (
			INSERT INTO order_times AS t (outlet_id, starts_at, ends_at, orders, items, make_minutes, max_orders, max_items, max_make_minutes)
			SELECT o.id, ?, ?, 1, load.items, load.make_minutes, o.slot_orders, o.slot_items, o.slot_make_minutes FROM outlets o, load
			WHERE o.id = ? AND (load.items <= o.slot_items) IS NOT FALSE AND (load.make_minutes <= o.slot_make_minutes) IS NOT FALSE
			ON CONFLICT (outlet_id, starts_at) DO UPDATE SET `+takeMore+` WHERE `+roomForMore+` RETURNING outlet_id, starts_at)
		INSERT INTO order_time_holds (order_id, outlet_id, starts_at, items, make_minutes, expires_at)
		SELECT ?, taken.outlet_id, taken.starts_at, load.items, load.make_minutes, ? FROM taken, load`,
		o.ID, o.Time.StartsAt, o.Time.EndsAt, o.OutletID, o.ID, expires)
	if r.Error == nil && r.RowsAffected == 0 {
		return fmt.Errorf("%s: %w", o.Time.StartsAt, ErrTimeGone)
	}
	return r.Error
}

// takeMore counts one more order on the row t; roomForMore is its guard. The row excluded has what is added, and the limits.
const (
	takeMore = `orders = t.orders + 1, items = t.items + excluded.items, make_minutes = t.make_minutes + excluded.make_minutes,
		max_orders = excluded.max_orders, max_items = excluded.max_items, max_make_minutes = excluded.max_make_minutes`
	roomForMore = `(t.orders + 1 <= excluded.max_orders) IS NOT FALSE AND (t.items + excluded.items <= excluded.max_items) IS NOT FALSE
		AND (t.make_minutes + excluded.make_minutes <= excluded.max_make_minutes) IS NOT FALSE`
)

// lockTimes locks the times of a fresh order and of the older ones whose place it takes, in one order, before any stock row is touched.
func (s *Store) lockTimes(ctx context.Context, o *Order, older []Order) error {
	ids := make(IDList, len(older))
	for i := range older {
		ids[i] = older[i].ID
	}
	return s.exec(ctx, `SELECT 1 FROM order_times WHERE (outlet_id, starts_at) IN (SELECT outlet_id, starts_at FROM order_time_holds WHERE order_id = ANY (?::bigint[]) UNION ALL SELECT ?::bigint, ?::timestamptz)
		ORDER BY outlet_id, starts_at FOR NO KEY UPDATE`, ids, o.OutletID, o.Time.StartsAt).Error
}

// commitTime makes the order's time its own for good: the one it holds, even past its expiry, or, when it was released, the same again if
// there is room. Otherwise nothing is changed and kept is false. Safe to repeat. Inside InTx only, under the order's row lock.
func (s *Store) commitTime(ctx context.Context, orderID int64) (kept bool, err error) {
	r := s.exec(ctx, `UPDATE order_time_holds SET state = 'committed' WHERE order_id = ? AND state = 'held'`, orderID)
	if r.Error != nil || r.RowsAffected == 1 {
		return r.Error == nil, r.Error
	}
	r = s.exec(ctx, `WITH again AS (
			UPDATE order_times t SET `+takeMore+`
			FROM (SELECT h.order_id, h.outlet_id, h.starts_at, h.items, h.make_minutes, o.slot_orders AS max_orders, o.slot_items AS max_items, o.slot_make_minutes AS max_make_minutes
				FROM order_time_holds h JOIN outlets o ON o.id = h.outlet_id WHERE h.order_id = ? AND h.state = 'released') excluded
			WHERE t.outlet_id = excluded.outlet_id AND t.starts_at = excluded.starts_at AND `+roomForMore+` RETURNING excluded.order_id)
		UPDATE order_time_holds h SET state = 'committed' FROM again WHERE h.order_id = again.order_id AND h.state = 'released'`, orderID)
	if r.Error != nil || r.RowsAffected == 1 {
		return r.Error == nil, r.Error
	}
	var lost bool
	err = s.one(ctx, &lost, `SELECT EXISTS (SELECT 1 FROM order_time_holds WHERE order_id = ? AND state = 'released')`, orderID)
	return !lost, err
}

// releaseTime gives back the time the order holds or has taken. Safe to repeat. Inside InTx only, under the order's row lock.
func (s *Store) releaseTime(ctx context.Context, orderID int64) error {
	return s.exec(ctx, `WITH freed AS (UPDATE order_time_holds SET state = 'released' WHERE order_id = ? AND state <> 'released' RETURNING outlet_id, starts_at, items, make_minutes)
		UPDATE order_times t SET orders = t.orders - 1, items = t.items - freed.items, make_minutes = t.make_minutes - freed.make_minutes
		FROM freed WHERE t.outlet_id = freed.outlet_id AND t.starts_at = freed.starts_at`, orderID).Error
}
