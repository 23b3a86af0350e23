package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// maxTyped is what a field of words may send, in bytes: far above what its page lets people type, who are told about that limit.
const maxTyped = 6 * models.MaxComplaintText

// fillCare reads what the order's page says of complaints and of its review.
func (a *App) fillCare(ctx context.Context, view *views.OrderView) (err error) {
	if view.Complaints, err = a.store.ListComplaintsOf(ctx, view.Order.ID); err != nil {
		return err
	}
	review, err := a.store.FindReview(ctx, view.Order.ID)
	if err == nil {
		view.Review = &review
	} else if !errors.Is(err, models.ErrNotFound) {
		return err
	}
	return nil
}

// ownOrder is the order behind a link, for the pages below it that have a form; they need a session.
func (a *App) ownOrder(c *fiber.Ctx) (order models.Order, page views.Page, err error) {
	if order, err = a.findOrder(c, pathWord(c, "token")); err != nil {
		return order, page, err
	}
	if _, err = a.ensureGuest(c); err != nil {
		return order, page, err
	}
	page, err = a.orderPage(c, order)
	c.Set("X-Robots-Tag", "noindex")
	return order, page, err
}

func complaintURL(order models.Order, number string) string {
	return orderURL(order) + "/complaints/" + url.PathEscape(number)
}

// wrongWords says what is wrong about words that somebody typed; "" if nothing is.
func wrongWords(ctx context.Context, body string, most int) string {
	said := models.Said(body)
	switch {
	case said == "":
		return views.T(ctx, "Please tell us in a few words.")
	case utf8.RuneCountInString(said) > most:
		return views.T(ctx, "Please keep it under %s characters.", fmt.Sprint(most))
	}
	return ""
}

// formKey reads the key of a form of ours. Errors: errBadForm.
func formKey(f form) (string, error) {
	key := f.get("form_key")
	if len(key) < 16 || len(key) > maxToken {
		return "", fmt.Errorf("%w: form key", errBadForm)
	}
	return key, nil
}

// showNewComplaint is the form that opens a complaint about an order, for whoever has its link.
func (a *App) showNewComplaint(c *fiber.Ctx) error {
	order, page, err := a.ownOrder(c)
	if err != nil {
		return err
	}
	return a.askComplaint(c, fiber.StatusOK, views.NewComplaintView{Page: page, Order: order, FormKey: models.NewFormKey()})
}

func (a *App) askComplaint(c *fiber.Ctx, status int, view views.NewComplaintView) (err error) {
	if view.Kinds, err = a.complaintKinds(c, view.Order); err != nil {
		return err
	}
	if view.Complaints, err = a.store.ListComplaintsOf(c.UserContext(), view.Order.ID); err != nil {
		return err
	}
	return a.render(c, status, views.NewComplaintPage(view))
}

func (a *App) complaintKinds(c *fiber.Ctx, order models.Order) ([]string, error) {
	_, err := a.store.FindFulfilment(c.UserContext(), order.ID)
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return nil, err
	}
	return models.ComplaintKindsOf(err == nil), nil
}

// openComplaint opens a complaint, and leads to its page. The second press leads to the same; where another of its kind is open already,
// that one is shown with what was typed, to be added to it.
func (a *App) openComplaint(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "form_key", max: maxToken}, field{name: "kind", max: 20}, field{name: "line", max: 10, many: true}, field{name: "body", max: maxTyped, text: true})
	if err != nil {
		return err
	}
	order, page, err := a.ownOrder(c)
	if err != nil {
		return err
	}
	view := views.NewComplaintView{Page: page, Order: order, Typed: views.ComplaintFields{Kind: f.get("kind"), Body: f.get("body")}, Errors: map[string]string{}}
	if view.FormKey, err = formKey(f); err != nil {
		return err
	}
	for _, text := range f.values["line"] {
		line, err := parseCount(text, 1, maxFields)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(order.Items, func(i models.OrderItem) bool { return i.Line == line }) {
			return fmt.Errorf("%w: a line the order has not", errBadForm)
		}
		view.Typed.Lines = append(view.Typed.Lines, line)
	}
	ctx := c.UserContext()
	kinds, err := a.complaintKinds(c, order)
	if err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		view.Notice = views.T(ctx, "This page had been open for too long, so nothing was sent. Please send it once more.")
		return a.askComplaint(c, fiber.StatusForbidden, view)
	}
	switch kind := view.Typed.Kind; {
	case kind == "":
		view.Errors["kind"] = views.T(ctx, "Please choose what it is about.")
	case !slices.Contains(kinds, kind):
		return fmt.Errorf("%w: kind of complaint", errBadForm)
	}
	if wrong := wrongWords(ctx, view.Typed.Body, models.MaxComplaintText); wrong != "" {
		view.Errors["body"] = wrong
	}
	if len(view.Errors) > 0 {
		return a.askComplaint(c, fiber.StatusUnprocessableEntity, view)
	}
	complaint, fresh, err := a.store.OpenComplaint(ctx, order, models.NewComplaint{Kind: view.Typed.Kind, Body: view.Typed.Body, Lines: view.Typed.Lines, FormKey: view.FormKey})
	if errors.Is(err, models.ErrEnough) {
		a.note(c, err)
		view.Notice = views.T(ctx, "This order has as many complaints as we can take here. Please add to one of them, or call us.")
		return a.askComplaint(c, fiber.StatusTooManyRequests, view)
	}
	if err != nil {
		return err
	}
	if !fresh && complaint.FormKey != view.FormKey {
		return a.answerComplaint(c, fiber.StatusConflict, views.ComplaintView{Page: page, Order: order, Complaint: complaint, Typed: view.Typed.Body, FormKey: models.NewFormKey(),
			Notice: views.T(ctx, "You have this complaint open already. If what you wrote is new, send it here.")})
	}
	return redirect(c, complaintURL(order, complaint.Number))
}

// ownComplaint is the complaint in a link. Anything that is not one of our numbers is not found.
func (a *App) ownComplaint(c *fiber.Ctx) (order models.Order, page views.Page, complaint models.Complaint, err error) {
	if order, page, err = a.ownOrder(c); err != nil {
		return order, page, complaint, err
	}
	number := pathWord(c, "number")
	if len(number) > maxToken || !isPlain(number, false) {
		return order, page, complaint, models.ErrNotFound
	}
	complaint, err = a.store.FindComplaint(c.UserContext(), order.ID, number)
	return order, page, complaint, err
}

// showComplaint is a complaint's page, for whoever has its order's link.
func (a *App) showComplaint(c *fiber.Ctx) error {
	order, page, complaint, err := a.ownComplaint(c)
	if err != nil {
		return err
	}
	return a.answerComplaint(c, fiber.StatusOK, views.ComplaintView{Page: page, Order: order, Complaint: complaint, FormKey: models.NewFormKey()})
}

func (a *App) answerComplaint(c *fiber.Ctx, status int, view views.ComplaintView) (err error) {
	if view.Payments, err = a.store.ListPayments(c.UserContext(), view.Order.ID); err != nil {
		return err
	}
	if view.Refunds, err = a.store.ListRefunds(c.UserContext(), view.Order.ID); err != nil {
		return err
	}
	return a.render(c, status, views.ComplaintPage(view))
}

// writeToComplaint adds a message; a settled complaint is open again by it.
func (a *App) writeToComplaint(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "form_key", max: maxToken}, field{name: "body", max: maxTyped, text: true})
	if err != nil {
		return err
	}
	order, page, complaint, err := a.ownComplaint(c)
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	view := views.ComplaintView{Page: page, Order: order, Complaint: complaint, Typed: f.get("body")}
	if view.FormKey, err = formKey(f); err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		view.Notice = views.T(ctx, "This page had been open for too long, so nothing was sent. Please send it once more.")
		return a.answerComplaint(c, fiber.StatusForbidden, view)
	}
	if wrong := wrongWords(ctx, view.Typed, models.MaxComplaintText); wrong != "" {
		view.Errors = map[string]string{"body": wrong}
		return a.answerComplaint(c, fiber.StatusUnprocessableEntity, view)
	}
	_, err = a.store.WriteToComplaint(ctx, order, complaint.Number, view.Typed, view.FormKey)
	switch {
	case errors.Is(err, models.ErrEnough):
		a.note(c, err)
		view.Notice = views.T(ctx, "That is as much as we can take here for today. Please call us.")
		return a.answerComplaint(c, fiber.StatusTooManyRequests, view)
	case errors.Is(err, models.ErrBadMove):
		a.note(c, err)
		view.Notice = views.T(ctx, "You have a newer complaint about the same open. Please write there: it is on your order's page.")
		return a.answerComplaint(c, fiber.StatusConflict, view)
	case err != nil:
		return err
	}
	return redirect(c, complaintURL(order, complaint.Number))
}
