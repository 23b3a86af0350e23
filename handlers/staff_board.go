package handlers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// showBoardPage shows the board of the outlet: paid orders only, for nothing else has a ticket.
func (a *App) showBoardPage(c *fiber.Ctx) error {
	view, err := a.board(c, "", nil)
	if err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.BoardPage(view))
}

// showBoardColumns is the board's live part, for the script to fetch when the stream says that something has changed.
func (a *App) showBoardColumns(c *fiber.Ctx) error {
	view, err := a.board(c, "", nil)
	if err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.BoardColumns(view))
}

// answerBoard answers a press on the board: with its live part under htmx, else with all of it.
func (a *App) answerBoard(c *fiber.Ctx, status int, notice string, undo *views.Undo) error {
	view, err := a.board(c, notice, undo)
	if err != nil {
		return err
	}
	if isHTMX(c) {
		return a.render(c, status, views.BoardColumns(view))
	}
	return a.render(c, status, views.BoardPage(view))
}

func (a *App) board(c *fiber.Ctx, notice string, undo *views.Undo) (view views.BoardView, err error) {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return view, err
	}
	view.Staff, view.Notice, view.Undo = shiftOf(c).member, notice, undo
	if view.Page, err = a.page(c, "", outlet); err != nil {
		return view, err
	}
	if view.Tickets, err = a.store.ListTickets(c.UserContext(), &outlet.ID); err != nil {
		return view, err
	}
	view.Attention, err = a.attention(c, view.Tickets)
	return view, err
}

// maxAttention is how many tasks stand above the board before the rest is only counted: below them somebody has to cook.
const maxAttention = 5

// attention is what must catch an eye: tickets that were cancelled a moment ago, since whoever cooks them has to stop, cash that is on its way back, and the list of
// what the shop cannot settle by itself.
func (a *App) attention(c *fiber.Ctx, tickets []models.Ticket) (list []views.Attention, err error) {
	who := a.actors(c.UserContext())
	for _, t := range tickets {
		if t.Fulfilment.Status == models.TicketCancelled && t.Fulfilment.CancelledAt != nil {
			list = append(list, views.Attention{OrderID: t.Order.ID, OpenedAt: *t.Fulfilment.CancelledAt,
				Text: fmt.Sprintf("Order %d was cancelled by %s: do not cook it", t.Order.Number, who.name(value(t.Order.CancelledBy)))})
		}
	}
	for _, t := range tickets {
		if t.Order.Status == models.OrderDue && t.Fulfilment.Status == models.TicketHandedOver && t.Fulfilment.HandedOverAt != nil {
			list = append(list, views.Attention{OrderID: t.Order.ID, OpenedAt: *t.Fulfilment.HandedOverAt,
				Text: fmt.Sprintf("Order %d went out unpaid: %s in cash comes back for it", t.Order.Number, views.Rupees(t.Order.AmountPaise))})
		}
	}
	tasks, err := a.tasksFor(c, shiftOf(c).member)
	if err != nil {
		return nil, err
	}
	for i, task := range tasks {
		if i == maxAttention {
			list = append(list, views.Attention{Text: views.Count(len(tasks)-i, "more thing", "more things") + " to do", OpenedAt: task.OpenedAt})
			break
		}
		entry := views.Attention{Text: views.AttentionTitle(task.Kind) + ". " + views.AttentionText(task, a.now()), OpenedAt: task.OpenedAt}
		if task.OrderID != nil {
			entry.OrderID = *task.OrderID
		}
		list = append(list, entry)
	}
	return list, nil
}

// streamBoard tells the board when to look again. It ends when its session has, so that a tablet which was signed out elsewhere hears
// nothing more.
func (a *App) streamBoard(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	token := shiftOf(c).token
	return a.stream(c, models.BoardTopic(outlet.ID), func(ctx context.Context) (bool, error) {
		_, err := a.findSession(ctx, token)
		if errors.Is(err, models.ErrSignedOut) {
			return true, nil
		}
		return false, err
	})
}

// moveTicket takes a ticket one step on or back, from the state the cook saw. If somebody was first nothing changes, and the answer is
// 409 with the board as it is now and a sentence about what happened meanwhile.
func (a *App) moveTicket(c *fiber.Ctx) error {
	orderID, err := rowID(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "from", max: 20}, field{name: "to", max: 20})
	if err != nil {
		return err
	}
	from, to := f.get("from"), f.get("to")
	if to == "" || to != models.FulfilmentNext(from) && to != models.FulfilmentBack(from) {
		return fmt.Errorf("%w: no step of a ticket", errBadForm)
	}
	if isStale(c) {
		return a.answerBoard(c, fiber.StatusConflict, staleNotice, nil)
	}
	_, err = a.store.MoveFulfilment(c.UserContext(), orderID, from, to, shiftOf(c).member)
	if err != nil && !errors.Is(err, models.ErrBadMove) && !errors.Is(err, models.ErrAsking) {
		return err
	}
	order, findErr := a.staffOrder(c, orderID)
	if findErr != nil {
		return findErr
	}
	if errors.Is(err, models.ErrAsking) {
		return a.answerBoard(c, fiber.StatusConflict, fmt.Sprintf("Order %d: its customer is being asked about a dish that ran out. Nothing was changed.", order.Number), nil)
	}
	if err != nil {
		sentence, err := a.meanwhile(c.UserContext(), order)
		if err != nil {
			return err
		}
		return a.answerBoard(c, fiber.StatusConflict, sentence, nil)
	}
	if !isHTMX(c) {
		return redirect(c, boardURL)
	}
	return a.answerBoard(c, fiber.StatusOK, fmt.Sprintf("Order %d: %s.", order.Number, ticketDeed(to)), &views.Undo{OrderID: orderID, From: to, To: from})
}

// meanwhile says what became of a ticket while somebody looked at an older board, by whom and when.
func (a *App) meanwhile(ctx context.Context, order models.Order) (string, error) {
	changes, err := a.store.ListStatusChanges(ctx, order.ID)
	if err != nil {
		return "", err
	}
	var last models.StatusChange
	for _, change := range changes {
		if change.Subject == "fulfilment" {
			last = change
		}
	}
	sentence := fmt.Sprintf("Order %d was already %s by %s at %s", order.Number, ticketDeed(last.Became), a.actors(ctx).name(last.Actor), views.Clock(ctx, last.At))
	if last.Became == models.TicketCancelled {
		return sentence + ", and its money goes back. Do not cook it.", nil
	}
	return sentence + ". Nothing was changed.", nil
}

// ticketDeed is what somebody did who brought a ticket into a state.
func ticketDeed(status string) string {
	switch status {
	case models.TicketQueued:
		return "put back to new"
	case models.TicketAccepted:
		return "accepted"
	case models.TicketPreparing:
		return "started"
	case models.TicketReady:
		return "marked ready"
	case models.TicketHandedOver:
		return "handed over"
	case models.TicketCancelled:
		return "cancelled"
	}
	return "changed"
}

// setOpen turns the board's switch: off pauses new orders, paid ones go on.
func (a *App) setOpen(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "open", max: 1})
	if err != nil {
		return err
	}
	open := f.get("open")
	if open != "" && open != "1" {
		return fmt.Errorf("%w: a switch is on or off", errBadForm)
	}
	if isStale(c) && isHTMX(c) {
		return reload(c)
	}
	if isStale(c) {
		return a.answerBoard(c, fiber.StatusConflict, staleNotice, nil)
	}
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	if err := a.store.SetAcceptsOrders(c.UserContext(), outlet.ID, open == "1", shiftOf(c).member.ID); err != nil {
		return err
	}
	if !isHTMX(c) {
		return redirect(c, boardURL)
	}
	notice := "New orders are paused. What is paid goes on."
	if open == "1" {
		notice = "Open for orders."
	}
	return a.answerBoard(c, fiber.StatusOK, notice, nil)
}

// actors gives the people in history and audit their names, asking for each once.
type actors struct {
	find  func(id int64) (models.Staff, error)
	known map[string]string
}

func (a *App) actors(ctx context.Context) actors {
	return actors{known: map[string]string{}, find: func(id int64) (models.Staff, error) { return a.store.FindStaff(ctx, id) }}
}

// name says who an actor is, for people. A staff member whose row cannot be read is still somebody of the staff.
func (w actors) name(actor string) string {
	switch actor {
	case models.ActorCustomer:
		return "the customer"
	case models.ActorShop, "":
		return "the shop"
	case "razorpay":
		return "Razorpay"
	}
	if name, known := w.known[actor]; known {
		return name
	}
	name := "the staff"
	if id, ok := staffIDOf(actor); ok {
		if member, err := w.find(id); err == nil {
			name = member.Name
		}
	}
	w.known[actor] = name
	return name
}
