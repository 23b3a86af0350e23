package views

import (
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// column is one state of the board. Its button moves a ticket to the next one.
type column struct {
	status, next, title, anchor string
}

// columns are the ticket's states in the order of work; handed over is the way off the board.
var columns = []column{
	{models.TicketQueued, models.TicketAccepted, "New", "new"},
	{models.TicketAccepted, models.TicketPreparing, "Accepted", "acc"},
	{models.TicketPreparing, models.TicketReady, "Preparing", "prep"},
	{models.TicketReady, models.TicketHandedOver, "Ready", "ready"},
}

func ticketsIn(v BoardView, status string) []models.Ticket {
	var in []models.Ticket
	for _, t := range v.Tickets {
		if t.Fulfilment.Status == status && !isWaiting(t, v.Page.Now) {
			in = append(in, t)
		}
	}
	return in
}

// moveLabel is what the one main button of a ticket says.
func moveLabel(t models.Ticket) string {
	switch t.Fulfilment.Status {
	case models.TicketQueued:
		return "Accept · " + strconv.Itoa(t.Order.PrepMinutes) + " min"
	case models.TicketAccepted:
		return "Start cooking"
	case models.TicketPreparing:
		return "Mark ready"
	default:
		if t.Order.Way == "pickup" {
			return "Collected"
		}
		return "Hand to rider"
	}
}

// recallLabel names the step back that a ticket allows; empty where there is none.
func recallLabel(v StaffOrderView) string {
	if v.Ticket == nil || v.Order.Status != models.OrderPaid && v.Order.Status != models.OrderDue {
		return ""
	}
	switch models.FulfilmentBack(v.Ticket.Status) {
	case models.TicketQueued:
		return "Back to new"
	case models.TicketAccepted:
		return "Back to accepted"
	case models.TicketPreparing:
		return "Back to preparing"
	case models.TicketReady:
		return "Back to ready"
	}
	return ""
}

// urgency is a ticket's colour and words: green, amber from 60 % of the time between its start and its promise, red and the word "late" past it.
type urgency struct{ class, icon, text string }

func urgencyOf(t models.Ticket, now time.Time) urgency {
	f, began := t.Fulfilment, startsAt(t)
	waited := int(now.Sub(began) / time.Minute)
	promised := f.PromisedAt.Sub(began)
	switch {
	case isWaiting(t, now):
		return urgency{"", "clock", "for " + promisedInText(inEnglish, t.Order, now)}
	case now.After(f.PromisedAt):
		return urgency{"late", "triangle-alert", strconv.Itoa(int(now.Sub(f.PromisedAt)/time.Minute)) + " min late"}
	case now.Sub(began) >= promised*6/10:
		return urgency{"mid", "timer", strconv.Itoa(waited) + " min"}
	default:
		return urgency{"", "timer", strconv.Itoa(max(waited, 0)) + " min"}
	}
}

func ticketClass(t models.Ticket, u urgency, now time.Time) string {
	class := "ticket"
	if t.Fulfilment.Status == models.TicketQueued && !isWaiting(t, now) {
		class += " new"
	}
	if u.class != "" {
		class += " " + u.class
	}
	return class
}

// kindText says how the order leaves the kitchen, for whom, and, while it is new, that it is paid.
func kindText(t models.Ticket) string {
	first, _, _ := strings.Cut(t.Order.Name, " ")
	way := "Delivery by " + Clock(inEnglish, t.Fulfilment.PromisedAt)
	if t.Order.Way == "pickup" {
		way = "Pickup at " + Clock(inEnglish, t.Fulfilment.PromisedAt)
	}
	paid := ""
	if t.Fulfilment.Status == models.TicketQueued {
		paid = ShortRupees(t.Order.AmountPaise) + " paid"
	}
	if t.Order.Status == models.OrderDue {
		paid = "take " + ShortRupees(t.Order.AmountPaise) + " in cash"
	}
	return dotted(way, first, paid)
}

func wayIcon(way string) string {
	if way == "pickup" {
		return "store"
	}
	return "bike"
}

// ticketSentence is said when a ticket appears.
func ticketSentence(t models.Ticket) string {
	return "New order " + strconv.Itoa(t.Order.Number) + ", " + t.Order.Way + ", " + itemsOf(inEnglish, t.Order) + "."
}

// newCount stands in the tab's title.
func newCount(v BoardView) string {
	if n := len(ticketsIn(v, models.TicketQueued)); n > 0 {
		return "(" + strconv.Itoa(n) + ") "
	}
	return ""
}

func staffOrderURL(orderID int64) string { return "/staff/orders/" + id(orderID) }

// ticketStatusName is a ticket's state in kitchen words.
func ticketStatusName(status string) string {
	switch status {
	case models.TicketQueued:
		return "New"
	case models.TicketAccepted:
		return "Accepted"
	case models.TicketPreparing:
		return "Preparing"
	case models.TicketReady:
		return "Ready"
	case models.TicketHandedOver:
		return "Handed over"
	case models.TicketCancelled:
		return "Cancelled"
	default:
		return status
	}
}

// mayReportShortage reports whether a customer can still be asked about a dish that ran out.
func mayReportShortage(v StaffOrderView) bool {
	return v.Ticket != nil && (v.Order.Status == models.OrderPaid || v.Order.Status == models.OrderDue) && v.Ticket.Status != models.TicketHandedOver && v.Ticket.Status != models.TicketCancelled
}

// mayCancelTicket reports whether staff can still cancel: everything but what has left the kitchen or is closed already.
func mayCancelTicket(v StaffOrderView) bool {
	if !v.Staff.MayRefund() {
		return false
	}
	if v.Order.Status == models.OrderPending || v.Order.Status == models.OrderDue {
		return true
	}
	return v.Order.Status == models.OrderPaid && v.Ticket != nil && v.Ticket.Status != models.TicketHandedOver && v.Ticket.Status != models.TicketCancelled
}
