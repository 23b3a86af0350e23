package views

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func number(n int) string { return strconv.Itoa(n) }

// dayTimes are the times of one calendar day. title is empty when all times are of today.
type dayTimes struct {
	title string
	times []models.PromisedTime
}

func timeDays(ctx context.Context, v CheckoutView) (days []dayTimes) {
	for _, p := range v.Times.Later {
		if n := len(days); n > 0 && sameDay(days[n-1].times[0].From, p.From) {
			days[n-1].times = append(days[n-1].times, p)
			continue
		}
		days = append(days, dayTimes{title: dayTitle(ctx, p.From, v.Page.Now), times: []models.PromisedTime{p}})
	}
	if len(days) == 1 && sameDay(days[0].times[0].From, v.Page.Now) {
		days[0].title = ""
	}
	return days
}

// dayTitle names a day for people who look at it at now: "Today", "Tomorrow", "Sunday, 6 Dec".
func dayTitle(ctx context.Context, t, now time.Time) string {
	switch dayOf(t).Sub(dayOf(now)) / (24 * time.Hour) {
	case 0:
		return T(ctx, "Today")
	case 1:
		return T(ctx, "Tomorrow")
	}
	return T(ctx, weekdayNames[t.In(india).Weekday()]) + ", " + shortDay(ctx, t.In(india))
}

// chosenTime is the option that is selected: the one that was chosen while it is offered, else the next after it, else the first.
func chosenTime(v CheckoutView) string {
	_, found := slices.BinarySearchFunc(v.Times.Later, v.Form.Time, func(p models.PromisedTime, typed string) int { return strings.Compare(unix(p.StartsAt), typed) })
	if v.Form.Time != "" && found {
		return v.Form.Time
	}
	if v.Form.Time != "" {
		for _, p := range v.Times.Later {
			if unix(p.StartsAt) > v.Form.Time {
				return unix(p.StartsAt)
			}
		}
	}
	if v.Times.Soonest == nil && len(v.Times.Later) > 0 {
		return unix(v.Times.Later[0].StartsAt)
	}
	return ""
}

// soonestText says honestly what "as soon as possible" means now.
func soonestText(ctx context.Context, p models.PromisedTime, way string) string {
	switch {
	case p.From.Equal(p.StartsAt) && p.To.Equal(p.EndsAt): // the kitchen is full until then
		return T(ctx, "As soon as possible, %s", ClockRange(ctx, p.From, p.To))
	case way == "pickup":
		return T(ctx, "As soon as possible, about %s", Clock(ctx, p.To))
	}
	return T(ctx, "As soon as possible, about %s", ClockRange(ctx, p.From, p.To))
}

func timeGoneTitle(ctx context.Context, v CheckoutView) string {
	if v.Form.Time == "" {
		return T(ctx, "The kitchen has filled up meanwhile")
	}
	return T(ctx, "That time has just been taken")
}

func timeGoneText(ctx context.Context, v CheckoutView) string {
	chosen := chosenTime(v)
	for _, p := range v.Times.Later {
		if unix(p.StartsAt) == chosen {
			return T(ctx, "The next one is %s. Nothing was charged, and all you typed is kept.", Upcoming(ctx, p.From, v.Page.Now))
		}
	}
	if v.Times.Soonest != nil {
		return T(ctx, "%s. Nothing was charged, and all you typed is kept.", soonestText(ctx, *v.Times.Soonest, v.Quote.Way))
	}
	return T(ctx, "There is no room today for an order of this size. Please call us. Nothing was charged, and all you typed is kept.")
}

// noTimeWords are closedTitle and closedText where an order for later can be placed, or where all is taken.
func noTimeWords(ctx context.Context, o models.Opening, times models.Times, now time.Time) (title, text string) {
	switch {
	case o.Open && len(times.Later) > 0:
		return T(ctx, "We are fully booked for now"), T(ctx, "Order for later: the first free time is %s.", Upcoming(ctx, times.Later[0].From, now))
	case o.Open:
		return T(ctx, "We are fully booked for now"), T(ctx, "There is no time left that has room for this order. Your cart keeps what you chose.")
	case len(times.Later) > 0:
		return closedTitle(ctx, o), T(ctx, "Order for later: the first time is %s.", Upcoming(ctx, times.Later[0].From, now))
	}
	return closedTitle(ctx, o), closedText(ctx, o, now)
}

// menuTimes is what can be promised to the menu's visitor, by the way that was chosen.
func menuTimes(v MenuView) models.Times { return v.Menu.Times[wayOf(v.Menu.Outlet, v.Way)] }

// promisedText is the window of an order for later: "8:15 – 8:30 pm", on another day "Tomorrow, 5:45 – 6:00 pm".
func promisedText(ctx context.Context, o models.Order, now time.Time) string {
	text := ClockRange(ctx, *o.PromisedFrom, *o.PromisedTo)
	if sameDay(*o.PromisedFrom, now) {
		return text
	}
	return dayTitle(ctx, *o.PromisedFrom, now) + ", " + text
}

// promisedInText is promisedText within a sentence: "tomorrow, 5:45 – 6:00 pm".
func promisedInText(ctx context.Context, o models.Order, now time.Time) string {
	if dayOf(*o.PromisedFrom).Sub(dayOf(now)) == 24*time.Hour {
		return T(ctx, "tomorrow, %s", ClockRange(ctx, *o.PromisedFrom, *o.PromisedTo))
	}
	return promisedText(ctx, o, now)
}

// startsAt is when the kitchen has to begin a ticket: at once, or so that it is there within the window that was chosen.
func startsAt(t models.Ticket) time.Time {
	if t.Order.IsLater() {
		if start := t.Order.PromisedFrom.Add(-time.Duration(t.Order.LeadMinutes()) * time.Minute); start.After(t.Fulfilment.QueuedAt) {
			return start
		}
	}
	return t.Fulfilment.QueuedAt
}

// isWaiting reports that a ticket is for later and not yet to be started.
func isWaiting(t models.Ticket, now time.Time) bool {
	status := t.Fulfilment.Status
	return t.Order.IsLater() && (status == models.TicketQueued || status == models.TicketAccepted) && now.Before(startsAt(t))
}

// ticketsLater are the waiting ones, by promised time as the board has them.
func ticketsLater(v BoardView) (later []models.Ticket) {
	for _, t := range v.Tickets {
		if isWaiting(t, v.Page.Now) {
			later = append(later, t)
		}
	}
	return later
}

func columnOf(t models.Ticket) column {
	return columns[slices.IndexFunc(columns, func(c column) bool { return c.status == t.Fulfilment.Status })]
}

// mayRunLate reports whether there is still a promise to move.
func mayRunLate(f models.Fulfilment) bool {
	return models.FulfilmentNext(f.Status) != "" && f.LateMinutes+10 <= models.MaxLateMinutes
}

func ticketPromise(v StaffOrderView) string {
	by := "Promised by " + When(inEnglish, v.Ticket.PromisedAt, v.Page.Now) + "."
	if v.Order.IsLater() {
		by = "Promised for " + promisedInText(inEnglish, v.Order, v.Page.Now) + "."
	}
	if v.Ticket.LateMinutes == 0 {
		return by
	}
	return by + " The customer was told: about " + strconv.Itoa(v.Ticket.LateMinutes) + " minutes late."
}
