package handlers

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// orderAgain puts what can still be had of an order into the visitor's cart, and shows the cart with what could not and what costs
// something else now.
func (a *App) orderAgain(c *fiber.Ctx) error {
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
	session, err := a.findGuest(c)
	if err != nil {
		return err
	}
	if err := a.store.PutAgain(c.UserContext(), session, order); err != nil {
		return err
	}
	return redirect(c, "/cart?again="+order.Token)
}

// again judges the order that the cart's address names, to say what of it could not be had. Another address says nothing.
func (a *App) again(c *fiber.Ctx, cart models.Cart) (views.AgainView, error) {
	if c.Query("again") == "" {
		return views.AgainView{}, nil
	}
	order, err := a.findOrder(c, c.Query("again"))
	if errors.Is(err, models.ErrNotFound) {
		return views.AgainView{}, nil
	}
	if err != nil {
		return views.AgainView{}, err
	}
	lines, err := a.store.ReorderList(c.UserContext(), order)
	return views.AgainView{Number: order.Number, Lines: lines, Cart: cart}, err
}
