package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	ticketsURL = "/staff/tickets"

	// maxTickets is how many complaints are listed: the open ones, and the latest of the resolved.
	maxTickets = 100
)

// showTickets lists the complaints that are this member's business.
func (a *App) showTickets(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	var view views.StaffTicketsView
	if view.Page, err = a.page(c, "", outlet); err != nil {
		return err
	}
	if view.Complaints, err = a.store.ListComplaintsFor(c.UserContext(), shiftOf(c).member, maxTickets); err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.StaffTicketsPage(view))
}

// showTicket is one complaint.
func (a *App) showTicket(c *fiber.Ctx) error {
	complaint, err := a.ticketInAddress(c)
	if err != nil {
		return err
	}
	return a.answerTicketPage(c, fiber.StatusOK, views.StaffTicketView{Complaint: complaint})
}

// ticketInAddress reads the complaint a route's address names. Errors: models.ErrNotFound, also for another outlet's.
func (a *App) ticketInAddress(c *fiber.Ctx) (models.Complaint, error) {
	id, err := rowID(c)
	if err != nil {
		return models.Complaint{}, err
	}
	return a.store.FindComplaintOf(c.UserContext(), id, shiftOf(c).member)
}

func (a *App) answerTicketPage(c *fiber.Ctx, status int, view views.StaffTicketView) (err error) {
	ctx := c.UserContext()
	view.Staff = shiftOf(c).member
	if view.Order, err = a.staffOrder(c, view.Complaint.OrderID); err != nil {
		return err
	}
	if view.Page, err = a.orderPage(c, view.Order); err != nil {
		return err
	}
	if view.Payments, err = a.store.ListPayments(ctx, view.Order.ID); err != nil {
		return err
	}
	if view.Refunds, err = a.store.ListRefunds(ctx, view.Order.ID); err != nil {
		return err
	}
	view.Who = map[string]string{models.ActorCustomer: view.Order.Name}
	who := a.actors(ctx)
	for _, m := range view.Complaint.Messages {
		if m.Author != models.ActorCustomer {
			view.Who[m.Author] = who.name(m.Author)
		}
	}
	for _, key := range []*string{&view.AnswerKey, &view.EndKey} {
		if *key == "" {
			*key = models.NewFormKey()
		}
	}
	return a.render(c, status, views.StaffTicketPage(view))
}

// acknowledgeTicket says that a complaint was read.
func (a *App) acknowledgeTicket(c *fiber.Ctx) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	complaint, err := a.ticketInAddress(c)
	if err != nil {
		return err
	}
	view := views.StaffTicketView{Complaint: complaint}
	if isStale(c) {
		view.Notice = staleNotice
		return a.answerTicketPage(c, fiber.StatusConflict, view)
	}
	return a.afterTicket(c, view, a.store.AcknowledgeComplaint(c.UserContext(), complaint.ID, shiftOf(c).member))
}

// answerTicket sends the customer an answer.
func (a *App) answerTicket(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "form_key", max: maxToken}, field{name: "answer", max: maxTyped, text: true})
	if err != nil {
		return err
	}
	complaint, err := a.ticketInAddress(c)
	if err != nil {
		return err
	}
	view := views.StaffTicketView{Complaint: complaint, Typed: views.TicketFields{Answer: f.get("answer")}}
	if view.AnswerKey, err = formKey(f); err != nil {
		return err
	}
	if isStale(c) {
		view.Notice = staleNotice
		return a.answerTicketPage(c, fiber.StatusConflict, view)
	}
	if wrong := wrongWords(c.UserContext(), view.Typed.Answer, models.MaxComplaintText); wrong != "" {
		view.Errors = map[string]string{"answer": wrong}
		return a.answerTicketPage(c, fiber.StatusUnprocessableEntity, view)
	}
	return a.afterTicket(c, view, a.store.AnswerComplaint(c.UserContext(), complaint.ID, shiftOf(c).member, view.Typed.Answer, view.AnswerKey))
}

// resolveTicket ends a complaint with an outcome the customer reads about.
func (a *App) resolveTicket(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "form_key", max: maxToken}, field{name: "seen", max: 20}, field{name: "outcome", max: 20}, field{name: "body", max: maxTyped, text: true})
	if err != nil {
		return err
	}
	complaint, err := a.ticketInAddress(c)
	if err != nil {
		return err
	}
	view := views.StaffTicketView{Complaint: complaint, Typed: views.TicketFields{Outcome: f.get("outcome"), Body: f.get("body")}, Errors: map[string]string{}}
	if view.EndKey, err = formKey(f); err != nil {
		return err
	}
	seen, err := strconv.ParseInt(f.get("seen"), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: what was read", errBadForm)
	}
	if isStale(c) {
		view.Notice = staleNotice
		return a.answerTicketPage(c, fiber.StatusConflict, view)
	}
	switch outcome := view.Typed.Outcome; {
	case outcome == "":
		view.Errors["outcome"] = "Please choose how it ends."
	case !slices.Contains(models.Outcomes, outcome):
		return fmt.Errorf("%w: outcome", errBadForm)
	}
	if wrong := wrongWords(c.UserContext(), view.Typed.Body, models.MaxComplaintText); wrong != "" {
		view.Errors["body"] = wrong
	}
	if len(view.Errors) > 0 {
		return a.answerTicketPage(c, fiber.StatusUnprocessableEntity, view)
	}
	err = a.store.ResolveComplaint(c.UserContext(), complaint.ID, shiftOf(c).member, view.Typed.Outcome, view.Typed.Body, view.EndKey, seen)
	if errors.Is(err, models.ErrNoRefund) {
		a.note(c, err)
		view.Errors["outcome"] = "Nothing of this order has been given back. Give the money back first, then resolve."
		return a.answerTicketPage(c, fiber.StatusUnprocessableEntity, view)
	}
	return a.afterTicket(c, view, err)
}

// afterTicket leads back to the complaint, or shows it as it is now when it has moved on meanwhile, with what was typed.
func (a *App) afterTicket(c *fiber.Ctx, view views.StaffTicketView, err error) error {
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		if view.Complaint, err = a.ticketInAddress(c); err != nil {
			return err
		}
		view.Notice = "The customer has written meanwhile. Nothing was changed; please read it first."
		if !view.Complaint.IsOpen() {
			view.Notice = "Somebody else has resolved this complaint meanwhile. Nothing was changed."
		}
		return a.answerTicketPage(c, fiber.StatusConflict, view)
	}
	if err != nil {
		return err
	}
	return redirect(c, views.StaffTicketURL(view.Complaint.ID))
}
