package views

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tiffin/models"
)

func TestTimeChoice(t *testing.T) {
	later := sampleTimes().Later
	for name, c := range map[string]struct {
		change   func(v *CheckoutView)
		said     []string
		selected string
	}{
		"as soon as possible": {func(*CheckoutView) {}, []string{"As soon as possible, about "}, ""},
		"one was chosen":      {func(v *CheckoutView) { v.Form.Time = unix(later[1].StartsAt) }, nil, unix(later[1].StartsAt)},
		"one that is gone gives way to the next": {func(v *CheckoutView) { v.Form.Time, v.Changed = unix(later[0].StartsAt.Add(-time.Minute)), "time" },
			[]string{"That time has just been taken", "The next one is today at", "all you typed is kept"}, unix(later[0].StartsAt)},
		"soonest is only when there is room": {func(v *CheckoutView) { v.Times.Soonest, v.Changed = &later[0], "time" },
			[]string{"The kitchen has filled up meanwhile", "As soon as possible, " + ClockRange(inEnglish, later[0].From, later[0].To)}, ""},
		"closed, for later":    {func(v *CheckoutView) { v.Opening, v.Times.Soonest = sampleClosed(), nil }, []string{"We are closed", "Order for later: the first time is today at"}, unix(later[0].StartsAt)},
		"open and fully taken": {func(v *CheckoutView) { v.Times = models.Times{} }, []string{"We are fully booked for now", "Your cart keeps"}, ""},
	} {
		v := sampleCheckoutView()
		c.change(&v)
		root := parse(t, render(t, CheckoutForm(v)))
		for _, want := range c.said {
			if got := textOf(root); !strings.Contains(got, want) {
				t.Errorf("%s: %q is not said", name, want)
			}
		}
		if got := chosenTime(v); got != c.selected {
			t.Errorf("%s: %q is selected, want %q", name, got, c.selected)
		}
	}
	tomorrow := sampleCheckoutView()
	tomorrow.Times.Later[0].From = tomorrow.Times.Later[0].From.AddDate(0, 0, 1)
	tomorrow.Times.Later = tomorrow.Times.Later[:1]
	if got := render(t, CheckoutForm(tomorrow)); !strings.Contains(got, `<optgroup label="Tomorrow">`) {
		t.Error("a time of tomorrow does not say so")
	}
}

// An order for later waits apart and does not ring until it is time to start; its age counts from then.
func TestLaterTickets(t *testing.T) {
	v := sampleBoardView()
	o := sampleOrder()
	o.ID, o.Number, o.PromisedFrom, o.PromisedTo = 99, 1052, at(90), at(105) // its lead is forty minutes
	v.Tickets = append(v.Tickets, models.Ticket{Order: o, Fulfilment: models.Fulfilment{OrderID: 99, Status: models.TicketQueued, QueuedAt: *at(-5), PromisedAt: *at(105)}})
	for _, c := range []struct {
		at           int
		waits        bool
		class, words string
	}{{0, true, "", "for "}, {49, true, "", "for "}, {50, false, "", "0 min"}, {83, false, "mid", "33 min"}, {106, false, "late", "1 min late"}} {
		v.Page.Now = *at(c.at)
		root := parse(t, render(t, BoardColumns(v)))
		card, later := all(root, func(n *html.Node) bool { return attr(n, "id") == "ticket-99" })[0], byTestID(root, "column-later")
		if (len(later) == 1) != c.waits || strings.Contains(attr(card, "class"), " new") == c.waits {
			t.Errorf("at %d: apart %v, %q", c.at, len(later) == 1, attr(card, "class"))
		}
		if u := urgencyOf(v.Tickets[len(v.Tickets)-1], v.Page.Now); u.class != c.class || !strings.HasPrefix(u.text, c.words) {
			t.Errorf("at %d: %+v", c.at, u)
		}
	}
}

func TestOrderPageSaysItsTime(t *testing.T) {
	v := sampleOrderView(paidAnd(models.TicketQueued))
	forLater(&v.Order)
	v.Ticket.PromisedAt = *v.Order.PromisedTo
	if h := headlineOf(inEnglish, v); !strings.HasPrefix(h.title, "Tomorrow, ") || h.text != "Paid. The kitchen starts in time for it." {
		t.Errorf("%+v", h)
	}
	if got := textOf(parse(t, render(t, OrderStatus(v)))); !strings.Contains(got, "For tomorrow, ") {
		t.Error("the time is not on the page")
	}
	v.Ticket.LateMinutes = 10
	if h := headlineOf(inEnglish, v); h.text != "Running about 10 minutes late, sorry." {
		t.Errorf("staff said it is late: %q", h.text)
	}
}
