package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func number(n int) string { return strconv.Itoa(n) }

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// dayTimes are the times of one calendar day. title is empty when all times are of today.
type dayTimes struct {
	title string
	times []models.PromisedTime
}

func timeDays(v CheckoutView) (days []dayTimes) {
	for _, p := range v.Times.Later {
		if n := len(days); n > 0 && sameDay(days[n-1].times[0].From, p.From) {
			days[n-1].times = append(days[n-1].times, p)
			continue
		}
		days = append(days, dayTimes{title: dayTitle(p.From, v.Page.Now), times: []models.PromisedTime{p}})
	}
	if len(days) == 1 && sameDay(days[0].times[0].From, v.Page.Now) {
		days[0].title = ""
	}
	return days
}

// dayTitle names a day for people who look at it at now: "Today", "Tomorrow", "Sunday, 6 Dec".
func dayTitle(t, now time.Time) string {
	switch dayOf(t).Sub(dayOf(now)) / (24 * time.Hour) {
	case 0:
		return "Today"
	case 1:
		return "Tomorrow"
	}
	return t.In(india).Format("Monday, 2 Jan")
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
func soonestText(p models.PromisedTime, way string) string {
	switch {
	case p.From.Equal(p.StartsAt) && p.To.Equal(p.EndsAt): // the kitchen is full until then
		return "As soon as possible, " + ClockRange(p.From, p.To)
	case way == "pickup":
		return "As soon as possible, about " + Clock(p.To)
	}
	return "As soon as possible, about " + ClockRange(p.From, p.To)
}

func timeGoneTitle(v CheckoutView) string {
	if v.Form.Time == "" {
		return "The kitchen has filled up meanwhile"
	}
	return "That time has just been taken"
}

func timeGoneText(v CheckoutView) string {
	const kept = " Nothing was charged, and all you typed is kept."
	chosen := chosenTime(v)
	for _, p := range v.Times.Later {
		if unix(p.StartsAt) == chosen {
			return "The next one is " + Upcoming(p.From, v.Page.Now) + "." + kept
		}
	}
	if v.Times.Soonest != nil {
		return soonestText(*v.Times.Soonest, v.Quote.Way) + "." + kept
	}
	return "There is no room today for an order of this size. Please call us." + kept
}

// noTimeWords are closedTitle and closedText where an order for later can be placed, or where all is taken.
func noTimeWords(o models.Opening, times models.Times, now time.Time) (title, text string) {
	switch {
	case o.Open && len(times.Later) > 0:
		return "We are fully booked for now", "Order for later: the first free time is " + Upcoming(times.Later[0].From, now) + "."
	case o.Open:
		return "We are fully booked for now", "There is no time left that has room for this order. Your cart keeps what you chose."
	case len(times.Later) > 0:
		return closedTitle(o), "Order for later: the first time is " + Upcoming(times.Later[0].From, now) + "."
	}
	return closedTitle(o), closedText(o, now)
}

// menuTimes is what can be promised to the menu's visitor, by the way that was chosen.
func menuTimes(v MenuView) models.Times { return v.Menu.Times[wayOf(v.Menu.Outlet, v.Way)] }

// promisedText is the window of an order for later: "8:15 – 8:30 pm", on another day "Tomorrow, 5:45 – 6:00 pm".
func promisedText(o models.Order, now time.Time) string {
	text := ClockRange(*o.PromisedFrom, *o.PromisedTo)
	if sameDay(*o.PromisedFrom, now) {
		return text
	}
	return dayTitle(*o.PromisedFrom, now) + ", " + text
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
	by := "Promised by " + When(v.Ticket.PromisedAt, v.Page.Now) + "."
	if v.Order.IsLater() {
		by = "Promised for " + lowerFirst(promisedText(v.Order, v.Page.Now)) + "."
	}
	if v.Ticket.LateMinutes == 0 {
		return by
	}
	return by + " The customer was told: about " + strconv.Itoa(v.Ticket.LateMinutes) + " minutes late."
}
