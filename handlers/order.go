package handlers

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

func orderURL(order models.Order) string { return "/orders/" + order.Token }

// showOrder is an order's page, for whoever has its link. It needs no session but gives one, for the forms on it.
func (a *App) showOrder(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	return a.renderOrder(c, fiber.StatusOK, order)
}

func (a *App) renderOrder(c *fiber.Ctx, status int, order models.Order) error {
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	view, err := a.orderView(c, order)
	if err != nil {
		return err
	}
	if err := a.tellCartNow(c, session); err != nil {
		return err
	}
	c.Set("X-Robots-Tag", "noindex")
	return a.render(c, status, views.OrderPage(view))
}

// showOrderStatus is the part of the page that changes, fetched whenever something may have.
func (a *App) showOrderStatus(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	view, err := a.orderView(c, order)
	if err != nil {
		return err
	}
	if err := a.tellCartNow(c, session); err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.OrderStatus(view))
}

// tellCartNow sets the cart's version: being paid takes what was bought out of the cart, and a menu kept for Back must notice.
func (a *App) tellCartNow(c *fiber.Ctx, session models.Session) error {
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return err
	}
	a.tellCartVersion(c, cart)
	return nil
}

// streamOrder tells the page to look again, until the order is over and all of its money is where it belongs.
func (a *App) streamOrder(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	store, orderID := a.store, order.ID
	return a.stream(c, models.OrderTopic(orderID), func(ctx context.Context) (bool, error) { return isOver(ctx, store, orderID) })
}

// isOver reports that nothing more will happen to an order by itself: closed or handed over, no refund under way, and Razorpay is not asked
// about it any more. The page says that it is live exactly as long.
func isOver(ctx context.Context, store *models.Store, orderID int64) (bool, error) {
	order, err := store.FindOrder(ctx, orderID)
	if err != nil {
		return false, err
	}
	if order.Status == models.OrderDue {
		return false, nil
	}
	if order.Status == models.OrderPaid {
		ticket, err := store.FindFulfilment(ctx, orderID)
		if errors.Is(err, models.ErrNotFound) {
			return false, nil
		}
		if err != nil || ticket.Status != models.TicketHandedOver {
			return false, err
		}
	} else if order.Status == models.OrderPending {
		return false, nil
	}
	if order.NextCheckAt != nil {
		return false, nil
	}
	refunds, err := store.ListRefunds(ctx, orderID)
	for _, refund := range refunds {
		if refund.Status == "requested" || refund.Status == "submitted" {
			return false, nil
		}
	}
	return err == nil, err
}

// cancelOrder ends the order for its customer; what was paid goes back. Too late, and the page says so.
func (a *App) cancelOrder(c *fiber.Ctx) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		return a.renderOrder(c, fiber.StatusForbidden, order)
	}
	_, err = a.cashier.CancelOrder(c.UserContext(), order.ID, models.ActorCustomer, "changed_mind")
	if errors.Is(err, models.ErrTooLate) || errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		if order, err = a.store.FindOrder(c.UserContext(), order.ID); err != nil {
			return err
		}
		return a.renderOrder(c, fiber.StatusConflict, order)
	}
	if err != nil {
		return err
	}
	return redirect(c, orderURL(order))
}

// findOrder finds an order by the token in its link. Anything that is not one of our tokens is not found, like a token of nobody's.
func (a *App) findOrder(c *fiber.Ctx, token string) (models.Order, error) {
	if token == "" || len(token) > maxToken || !isPlain(token, false) {
		return models.Order{}, models.ErrNotFound
	}
	return a.store.FindOrderByToken(c.UserContext(), token)
}

// orderView reads everything the order's page shows.
func (a *App) orderView(c *fiber.Ctx, order models.Order) (views.OrderView, error) {
	ctx := c.UserContext()
	view := views.OrderView{Order: order, Personal: true, PushKey: a.cfg.PushKey, SoldOut: soldOutDish(order)}
	outlet, err := a.store.FindOutlet(ctx, order.OutletID)
	if err != nil {
		return view, err
	}
	if view.Page, err = a.page(c, "", outlet); err != nil {
		return view, err
	}
	ticket, err := a.store.FindFulfilment(ctx, order.ID)
	if err == nil {
		view.Ticket = &ticket
	} else if !errors.Is(err, models.ErrNotFound) {
		return view, err
	}
	if view.Payments, err = a.store.ListPayments(ctx, order.ID); err != nil {
		return view, err
	}
	if view.Refunds, err = a.store.ListRefunds(ctx, order.ID); err != nil {
		return view, err
	}
	if view.Papers, err = a.store.ListPapers(ctx, order.ID); err != nil {
		return view, err
	}
	if len(view.Refunds) > 0 {
		if view.Shares, err = a.store.ListShares(ctx, order.ID); err != nil {
			return view, err
		}
	}
	if err := a.fillCare(ctx, &view); err != nil {
		return view, err
	}
	if view.Shortages, err = a.shortageViews(c, order); err != nil {
		return view, err
	}
	view.HintedAt, err = a.store.HintedAt(ctx, order.ID)
	return view, err
}

// soldOutDish names the dish that was gone when the money came, where there can be no doubt which.
func soldOutDish(order models.Order) string {
	if order.CancelReason == nil || *order.CancelReason != "hold_lapsed" || len(order.Items) != 1 {
		return ""
	}
	return order.Items[0].Name
}
