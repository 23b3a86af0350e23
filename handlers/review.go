package handlers

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	staffReviewsURL = "/staff/reviews"
	maxReviews      = 50  // shown to everybody
	maxStaffReviews = 200 // shown to staff
)

// showReview is the form of an order's review, for whoever has its link. Before the order is completed there is nothing to review.
func (a *App) showReview(c *fiber.Ctx) error {
	order, page, err := a.ownOrder(c)
	if err != nil {
		return err
	}
	view := views.ReviewView{Page: page, Order: order}
	if stars, err := parseCount(c.Query("stars", "0"), 1, 5); err == nil {
		view.Stars = stars
	}
	review, err := a.store.FindReview(c.UserContext(), order.ID)
	switch {
	case err == nil && !page.Now.Before(review.EditableUntil()):
		return models.ErrReviewClosed
	case err == nil:
		view.Stars, view.Body = review.Stars, review.Body
	case !errors.Is(err, models.ErrNotFound):
		return err
	default:
		if done, err := a.isCompleted(c, order); err != nil {
			return err
		} else if !done {
			return a.answerUnfinished(c, order)
		}
	}
	return a.render(c, fiber.StatusOK, views.ReviewPage(view))
}

// isCompleted reports whether an order is handed over and paid.
func (a *App) isCompleted(c *fiber.Ctx, order models.Order) (bool, error) {
	ticket, err := a.store.FindFulfilment(c.UserContext(), order.ID)
	if errors.Is(err, models.ErrNotFound) {
		return false, nil
	}
	return order.Status == models.OrderPaid && ticket.Status == models.TicketHandedOver, err
}

// answerUnfinished says that an order cannot be reviewed yet, or not at all.
func (a *App) answerUnfinished(c *fiber.Ctx, order models.Order) error {
	return a.showError(c, fiber.StatusConflict, views.T(c.UserContext(), "Order %s can be reviewed once it is completed.", strconv.Itoa(order.Number)))
}

// writeReview stores an order's review or changes it; an order has one however often the button is pressed.
func (a *App) writeReview(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "stars", max: 2}, field{name: "body", max: maxTyped, text: true})
	if err != nil {
		return err
	}
	order, page, err := a.ownOrder(c)
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	view := views.ReviewView{Page: page, Order: order, Body: f.get("body"), Errors: map[string]string{}}
	if f.get("stars") == "" {
		view.Errors["stars"] = views.T(ctx, "Please choose one to five stars.")
	} else if view.Stars, err = parseCount(f.get("stars"), 1, 5); err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		view.Notice = views.T(ctx, "This page had been open for too long, so nothing was sent. Please send it once more.")
		return a.render(c, fiber.StatusForbidden, views.ReviewPage(view))
	}
	if utf8.RuneCountInString(models.Said(view.Body)) > models.MaxReviewText {
		view.Errors["body"] = views.T(ctx, "Please keep it under %s characters.", strconv.Itoa(models.MaxReviewText))
	}
	if len(view.Errors) > 0 {
		return a.render(c, fiber.StatusUnprocessableEntity, views.ReviewPage(view))
	}
	_, err = a.store.WriteReview(ctx, order, view.Stars, view.Body)
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		return a.answerUnfinished(c, order)
	}
	if err != nil {
		return err
	}
	return redirect(c, orderURL(order))
}

// showReviews is what an outlet's customers say. With several outlets the address names the one.
func (a *App) showReviews(c *fiber.Ctx) error {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	if len(outlets) == 0 {
		return models.ErrNotFound
	}
	outlet := outlets[0]
	if wanted := c.Query("outlet"); wanted != "" {
		if outlet, err = outletNamed(outlets, wanted); err != nil {
			return err
		}
	}
	var view views.ReviewsView
	if view.Page, err = a.page(c, "", outlet); err != nil {
		return err
	}
	if view.Rating, err = a.store.FindRating(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	if view.Reviews, err = a.store.ListPublicReviews(c.UserContext(), outlet.ID, maxReviews); err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.render(c, fiber.StatusOK, views.ReviewsPage(view))
}

// showStaffReviews is where staff read reviews.
func (a *App) showStaffReviews(c *fiber.Ctx) error {
	return a.answerReviews(c, fiber.StatusOK, views.StaffReviewsView{})
}

func (a *App) answerReviews(c *fiber.Ctx, status int, view views.StaffReviewsView) (err error) {
	view.Staff = shiftOf(c).member
	if view.Outlet.ID == 0 {
		if view.Outlet, err = a.staffOutlet(c); err != nil {
			return err
		}
	}
	if view.Page, err = a.page(c, "", view.Outlet); err != nil {
		return err
	}
	if view.Rating, err = a.store.FindRating(c.UserContext(), view.Outlet.ID); err != nil {
		return err
	}
	if view.Reviews, err = a.store.ListReviewsFor(c.UserContext(), view.Outlet.ID, maxStaffReviews); err != nil {
		return err
	}
	return a.render(c, status, views.StaffReviewsPage(view))
}

// setAsksReviews says whether an outlet's customers are asked by letter.
func (a *App) setAsksReviews(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "outlet", max: 100}, field{name: "asks", max: 1})
	if err != nil {
		return err
	}
	if asks := f.get("asks"); asks != "" && asks != "1" {
		return fmt.Errorf("%w: asks or not", errBadForm)
	}
	if isStale(c) {
		return a.answerReviews(c, fiber.StatusConflict, views.StaffReviewsView{Notice: staleNotice})
	}
	member := shiftOf(c).member
	outlets, err := a.outletsOf(c, member)
	if err != nil {
		return err
	}
	outlet, err := outletNamed(outlets, f.get("outlet"))
	if err != nil {
		return err
	}
	if err := a.store.SetAsksReviews(c.UserContext(), outlet.ID, f.get("asks") == "1", member.ID); err != nil {
		return err
	}
	return redirect(c, staffReviewsURL)
}

// changeReview replies to a review, hides its words or shows them again. What is refused keeps what was typed.
func (a *App) changeReview(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "do", max: 10}, field{name: "seen", max: 20}, field{name: "reply", max: maxTyped, text: true}, field{name: "why", max: 2000})
	if err != nil {
		return err
	}
	view := views.StaffReviewsView{Wrong: order.ID, Reply: models.Said(f.get("reply")), Why: models.Said(f.get("why"))}
	if view.Outlet, err = a.store.FindOutlet(c.UserContext(), order.OutletID); err != nil {
		return err
	}
	if isStale(c) {
		view.Notice = staleNotice
		return a.answerReviews(c, fiber.StatusConflict, view)
	}
	ctx, me := c.UserContext(), shiftOf(c).member
	switch f.get("do") {
	case "reply":
		seen, parseErr := strconv.ParseInt(f.get("seen"), 10, 64)
		if parseErr != nil {
			return fmt.Errorf("%w: what was read", errBadForm)
		}
		if utf8.RuneCountInString(view.Reply) > models.MaxReviewText {
			view.Error = fmt.Sprintf("Please keep it under %d characters.", models.MaxReviewText)
			return a.answerReviews(c, fiber.StatusUnprocessableEntity, view)
		}
		err = a.store.ReplyToReview(ctx, order.ID, me, view.Reply, time.UnixMicro(seen))
	case "hide":
		if n := utf8.RuneCountInString(view.Why); n == 0 || n > maxReason {
			view.Error = fmt.Sprintf("Please give a reason of at most %d characters.", maxReason)
			return a.answerReviews(c, fiber.StatusUnprocessableEntity, view)
		}
		err = a.store.HideReview(ctx, order.ID, me, view.Why)
	case "show":
		err = a.store.ShowReview(ctx, order.ID, me)
	default:
		return fmt.Errorf("%w: do what", errBadForm)
	}
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		view.Error = "The customer has changed the review meanwhile. Nothing was changed; please read it again."
		return a.answerReviews(c, fiber.StatusConflict, view)
	}
	if err != nil {
		return err
	}
	return redirect(c, staffReviewsURL+"?outlet="+view.Outlet.Slug)
}
