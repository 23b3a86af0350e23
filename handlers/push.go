package handlers

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

var (
	endpointField = field{name: "endpoint", max: 2000}
	errNoPush     = errors.New("this process sends no notifications")
)

// subscribe has the browser that asks told of an order's steps, for whoever has the order's link.
func (a *App) subscribe(c *fiber.Ctx) error {
	f, err := readForm(c, endpointField, field{name: "p256dh", max: 200}, field{name: "auth", max: 100})
	if err != nil {
		return err
	}
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	if a.cfg.PushKey == "" {
		return errors.Join(errNoPush, models.ErrNotFound)
	}
	if isStale(c) {
		return errStaleForm
	}
	err = a.store.SaveSubscription(c.UserContext(), models.PushSubscription{OrderID: order.ID, Endpoint: f.get("endpoint"), P256dh: f.get("p256dh"), Auth: f.get("auth"), Language: views.LanguageOf(c.UserContext())})
	if errors.Is(err, models.ErrBadInput) {
		a.note(c, err)
		return a.showError(c, fiber.StatusUnprocessableEntity, views.T(c.UserContext(), "This browser's notification service is not one we can reach. This page still updates by itself."))
	}
	if err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// unsubscribe has a browser told nothing more of an order.
func (a *App) unsubscribe(c *fiber.Ctx) error {
	f, err := readForm(c, endpointField)
	if err != nil {
		return err
	}
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	if isStale(c) {
		return errStaleForm
	}
	if err := a.store.RemoveSubscription(c.UserContext(), order.ID, f.get("endpoint")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
