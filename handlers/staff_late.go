package handlers

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
)

// runLate tells the customer how many minutes behind its promise an order is. Whoever looked at another promise than the present one is
// shown the order as it is.
func (a *App) runLate(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "was", max: 3}, field{name: "late", max: 3})
	if err != nil {
		return err
	}
	was, wrongWas := strconv.Atoi(f.get("was"))
	late, wrongLate := strconv.Atoi(f.get("late"))
	if wrongWas != nil || wrongLate != nil || late < 0 || late > models.MaxLateMinutes {
		return fmt.Errorf("%w: minutes", errBadForm)
	}
	if isStale(c) {
		return a.answerOrder(c, fiber.StatusConflict, order, staleNotice)
	}
	err = a.store.SetLate(c.UserContext(), order.ID, was, late, shiftOf(c).member)
	if errors.Is(err, models.ErrBadMove) {
		return a.answerOrder(c, fiber.StatusConflict, order, "Somebody else was first, or there is nothing to wait for any more. Nothing was changed.")
	}
	if err != nil {
		return err
	}
	return redirect(c, "/staff/orders/"+strconv.FormatInt(order.ID, 10))
}
