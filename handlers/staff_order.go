package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// maxReason is how long a reason for cancelling may be: a sentence or two, which the customer reads.
const maxReason = 200

// showStaffOrder shows all that staff may know of an order: lines, money, what the gateway told us, who did what.
func (a *App) showStaffOrder(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	return a.answerOrder(c, fiber.StatusOK, order, "")
}

// orderInAddress reads the order a route's address names.
func (a *App) orderInAddress(c *fiber.Ctx) (models.Order, error) {
	id, err := rowID(c)
	if err != nil {
		return models.Order{}, err
	}
	return a.staffOrder(c, id)
}

// staffOrder reads an order of the member's outlet. Errors: models.ErrNotFound, also for another outlet's: it is not told that there is one.
func (a *App) staffOrder(c *fiber.Ctx, orderID int64) (models.Order, error) {
	order, err := a.store.FindOrder(c.UserContext(), orderID)
	if err != nil {
		return models.Order{}, err
	}
	if of := shiftOf(c).member.OutletID; of != nil && *of != order.OutletID {
		return models.Order{}, fmt.Errorf("order %d of another outlet: %w", orderID, models.ErrNotFound)
	}
	return order, nil
}

// orderPage is what a page about one order needs: it is under its own outlet's name, whichever board was open.
func (a *App) orderPage(c *fiber.Ctx, order models.Order) (views.Page, error) {
	outlet, err := a.store.FindOutlet(c.UserContext(), order.OutletID)
	if err != nil {
		return views.Page{}, err
	}
	return a.page(c, "", outlet)
}

func (a *App) answerOrder(c *fiber.Ctx, status int, order models.Order, notice string) error {
	ctx := c.UserContext()
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	view := views.StaffOrderView{Page: page, Staff: shiftOf(c).member, Order: order, Notice: notice}
	ticket, err := a.store.FindFulfilment(ctx, order.ID)
	if err == nil {
		view.Ticket = &ticket
	} else if !errors.Is(err, models.ErrNotFound) {
		return err
	}
	if view.Payments, err = a.store.ListPayments(ctx, order.ID); err != nil {
		return err
	}
	if view.Refunds, err = a.store.ListRefunds(ctx, order.ID); err != nil {
		return err
	}
	if view.Papers, err = a.store.ListPapers(ctx, order.ID); err != nil {
		return err
	}
	if view.Shares, err = a.store.ListShares(ctx, order.ID); err != nil {
		return err
	}
	if view.Shortages, err = a.store.ListShortages(ctx, order.ID); err != nil {
		return err
	}
	if view.Complaints, err = a.store.ListComplaintsOf(ctx, order.ID); err != nil {
		return err
	}
	if view.Waiting, err = a.failedRefunds(c, view.Staff); err != nil {
		return err
	}
	if view.Disputes, err = a.store.ListDisputes(ctx, order.ID); err != nil {
		return err
	}
	events, err := a.store.ListEventsOf(ctx, order.ID)
	if err != nil {
		return err
	}
	for _, e := range events {
		view.Events = append(view.Events, views.OrderEvent{ReceivedAt: e.ReceivedAt, Type: e.EventType, EventID: e.EventID, Status: e.Status, Problem: e.LastError})
	}
	if view.History, err = a.history(c, order.ID); err != nil {
		return err
	}
	return a.render(c, status, views.StaffOrderPage(view))
}

// history is what moved and what people did: the timeline without the machinery. A ticket's moves are among both; the database's own line
// is the one shown.
func (a *App) history(c *fiber.Ctx, orderID int64) (history []views.OrderChange, err error) {
	ctx := c.UserContext()
	entries, err := a.store.ListTimeline(ctx, orderID)
	if err != nil {
		return nil, err
	}
	who := a.actors(ctx)
	for _, e := range entries {
		change := views.OrderChange{At: e.At, Subject: e.Kind, Was: e.Was, Became: e.Became, Actor: who.full(e.Actor)}
		switch e.Kind {
		case "order", "payment", "refund", "dispute", "ticket":
		case "audit":
			if strings.HasPrefix(e.ID, "ticket_") {
				continue
			}
			change.Subject, change.Became = "note:", e.ID
			if detail := e.Facts.Text("detail"); detail != "" {
				change.Became += ": " + detail
			}
		default:
			continue
		}
		history = append(history, change)
	}
	return history, nil
}

// full is an actor's name with the id the records have: two people may be called the same.
func (w actors) full(actor string) string {
	if _, ok := staffIDOf(actor); ok {
		return w.name(actor) + " (" + actor + ")"
	}
	return w.name(actor)
}

// staffIDOf reads the staff member out of an actor's name in the records (models.StaffActor).
func staffIDOf(actor string) (int64, bool) {
	digits, found := strings.CutPrefix(actor, "staff:")
	if !found {
		return 0, false
	}
	id, err := parseID(digits)
	return id, err == nil
}

// showCancel asks, with the amount, before an order is cancelled. One that cannot be any more is shown as it is, with the reason why not.
func (a *App) showCancel(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	why, err := a.whyNotCancel(c, order)
	if err != nil {
		return err
	}
	if why != "" {
		return a.answerOrder(c, fiber.StatusConflict, order, why)
	}
	return a.askCancel(c, fiber.StatusOK, order, "", nil)
}

func (a *App) askCancel(c *fiber.Ctx, status int, order models.Order, reason string, wrong map[string]string) error {
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	back, err := a.leftToRefund(c, order)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffCancelPage(views.StaffCancelView{Page: page, Staff: shiftOf(c).member, Order: order,
		RefundPaise: back, Reason: reason, Errors: wrong}))
}

// leftToRefund is what cancelling gives back: what the order's own payment brought, less what goes back of it already.
func (a *App) leftToRefund(c *fiber.Ctx, order models.Order) (models.Paise, error) {
	payments, err := a.store.ListPayments(c.UserContext(), order.ID)
	if err != nil {
		return 0, err
	}
	for _, p := range payments {
		if p.IsKept() {
			return p.LeftPaise(), nil
		}
	}
	return 0, nil
}

// whyNotCancel says why an order cannot be cancelled as it is now; "" if it can. Only the database decides for good.
func (a *App) whyNotCancel(c *fiber.Ctx, order models.Order) (string, error) {
	switch order.Status {
	case models.OrderCancelled:
		return fmt.Sprintf("Order %d was already cancelled by %s at %s. Nothing was changed.", order.Number,
			a.actors(c.UserContext()).name(value(order.CancelledBy)), views.Clock(c.UserContext(), *order.ClosedAt)), nil
	case models.OrderExpired:
		return fmt.Sprintf("Order %d was never paid and has expired. Nothing was changed.", order.Number), nil
	case models.OrderPaid:
		ticket, err := a.store.FindFulfilment(c.UserContext(), order.ID)
		if err != nil {
			return "", err
		}
		if ticket.Status == models.TicketHandedOver {
			return fmt.Sprintf("Order %d has been handed over, so it cannot be cancelled any more. Nothing was changed.", order.Number), nil
		}
	}
	return "", nil
}

// cancelByStaff cancels an order and, in the same transaction, asks for all that is left of its money to go back.
func (a *App) cancelByStaff(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "why", max: 100}, field{name: "reason", max: 2000}, field{name: "confirm", max: 3})
	if err != nil {
		return err
	}
	reason, confirm := strings.TrimSpace(f.get("reason")), f.get("confirm")
	if confirm != "" && confirm != "yes" {
		return fmt.Errorf("%w: a box is ticked or not", errBadForm)
	}
	listed := f.get("why")
	if listed != "" && !slices.Contains(views.CancelReasons, listed) {
		return fmt.Errorf("%w: a reason that is not in the list", errBadForm)
	}
	if reason == "" {
		reason = listed
	}
	why, err := a.whyNotCancel(c, order)
	if err != nil {
		return err
	}
	me := models.StaffActor(shiftOf(c).member.ID)
	mine := func(o models.Order) bool {
		return o.Status == models.OrderCancelled && value(o.CancelledBy) == me && value(o.CancelReason) == spoken(reason)
	}
	if why != "" && !mine(order) {
		return a.answerOrder(c, fiber.StatusConflict, order, why)
	}
	wrong := map[string]string{}
	switch {
	case isStale(c):
		return a.askCancel(c, fiber.StatusConflict, order, reason, map[string]string{"confirm": staleNotice})
	case reason == "":
		wrong["reason"] = "Please choose a reason or write one: the customer reads it, and it is kept."
	case utf8.RuneCountInString(reason) > maxReason:
		wrong["reason"] = fmt.Sprintf("Please keep it under %d characters.", maxReason)
	}
	if confirm == "" {
		wrong["confirm"] = "Please tick this box: cancelling cannot be undone."
	}
	if len(wrong) > 0 {
		return a.askCancel(c, fiber.StatusUnprocessableEntity, order, reason, wrong)
	}
	after, err := a.cashier.CancelOrder(c.UserContext(), order.ID, me, spoken(reason))
	if errors.Is(err, models.ErrTooLate) || err == nil && !mine(*after) {
		return a.answerCancelled(c, order.ID)
	}
	if err != nil {
		return err
	}
	return redirect(c, fmt.Sprintf("/staff/orders/%d", order.ID))
}

// answerCancelled shows an order that somebody else closed, or handed over, between the look at it and the cancelling.
func (a *App) answerCancelled(c *fiber.Ctx, orderID int64) error {
	order, err := a.staffOrder(c, orderID)
	if err != nil {
		return err
	}
	why, err := a.whyNotCancel(c, order)
	if err != nil {
		return err
	}
	return a.answerOrder(c, fiber.StatusConflict, order, why)
}

// spoken makes what somebody typed begin as a sentence. Reasons of the shop's own are words in small letters, such as superseded, and
// mean something to the code; so no typed one can be taken for one of them.
func spoken(reason string) string {
	first, size := utf8.DecodeRuneInString(reason)
	return string(unicode.ToUpper(first)) + reason[size:]
}

// value is what a column that may be empty holds.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
