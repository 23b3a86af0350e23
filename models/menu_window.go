package models

import (
	"slices"
	"time"
)

// MenuWindow is a time in which a dish, or every dish of a category, is served.
type MenuWindow struct {
	ID           int64
	ItemID       *int64
	CategoryID   *int64
	Weekdays     int     // bit 0 = Sunday: the days it opens on
	OpensMinute  int     // after midnight, India time
	ClosesMinute int     // may be after midnight
	StartsOn     *string // 2006-01-02, the first day it opens; nil: no such bound
	EndsOn       *string // the last one
}

// on gives the window's stretch that begins on a day (midnight UTC, dayOf), if there is one.
func (w MenuWindow) on(day time.Time) (opens, closes time.Time, found bool) {
	date := day.Format(time.DateOnly)
	if w.Weekdays&(1<<int(day.Weekday())) == 0 || w.StartsOn != nil && date < *w.StartsOn || w.EndsOn != nil && date > *w.EndsOn {
		return opens, closes, false
	}
	y, m, d := day.Date()
	return time.Date(y, m, d, 0, w.OpensMinute, 0, 0, India), time.Date(y, m, d, 0, w.ClosesMinute, 0, 0, India), true
}

// contains reports whether t lies in the window. Its end does not.
func (w MenuWindow) contains(t time.Time) bool {
	for n := -2; n <= 0; n++ {
		if opens, closes, found := w.on(dayOf(t).AddDate(0, 0, n)); found && !t.Before(opens) && t.Before(closes) {
			return true
		}
	}
	return false
}

// ServedAt reports whether the dish's windows, and its category's, let it be had at t. A dish without windows always can.
func (i Item) ServedAt(t time.Time) bool {
	holds := func(windows []MenuWindow) bool {
		return len(windows) == 0 || slices.ContainsFunc(windows, func(w MenuWindow) bool { return w.contains(t) })
	}
	own, category := i.windows()
	return holds(own) && holds(category)
}

func (i Item) windows() (own, category []MenuWindow) {
	for _, w := range i.Windows {
		if w.ItemID != nil {
			own = append(own, w)
		} else {
			category = append(category, w)
		}
	}
	return own, category
}

// servedAgain is when a dish that is not served at t will be next; nil when not within a year.
func (i Item) servedAgain(t time.Time) *time.Time {
	for n := range 366 {
		var next *time.Time
		for _, w := range i.Windows {
			if opens, _, found := w.on(dayOf(t).AddDate(0, 0, n)); found && opens.After(t) && (next == nil || opens.Before(*next)) && i.ServedAt(opens) {
				next = &opens
			}
		}
		if next != nil {
			return next
		}
	}
	return nil
}
