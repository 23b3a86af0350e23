package handlers

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const staffMenuURL = "/staff/menu"

// serviceDayEnds is the hour at which "until tomorrow" is over: a service day ends at four in the morning (service_day in the schema).
const serviceDayEnds = 4

// showStaffMenu lists the dishes of the outlet with their switches.
func (a *App) showStaffMenu(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	notice := ""
	if c.Query("done") == "closed" {
		notice = "The kitchen is closed for this service. Orders that are paid are cooked as usual."
	}
	return a.answerMenu(c, fiber.StatusOK, outlet, nil, notice)
}

func (a *App) answerMenu(c *fiber.Ctx, status int, outlet models.Outlet, wrong map[string]string, notice string) error {
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	view := views.StaffMenuView{Page: page, Staff: shiftOf(c).member, Errors: wrong, Notice: notice}
	if view.Menu, err = a.store.FindMenu(c.UserContext(), outlet.ID, models.MenuFilter{}); err != nil {
		return err
	}
	if view.Outlets, err = a.outletsOf(c, view.Staff); err != nil {
		return err
	}
	return a.render(c, status, views.StaffMenuPage(view))
}

// switchDish takes a dish off the menu, until tomorrow or until it is switched on, or puts it back. A dish of another outlet is 404.
func (a *App) switchDish(c *fiber.Ctx) error {
	itemID, err := rowID(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "state", max: 10})
	if err != nil {
		return err
	}
	state := f.get("state")
	if state != "on" && state != "tomorrow" && state != "off" {
		return fmt.Errorf("%w: no state of a dish", errBadForm)
	}
	if isStale(c) && isHTMX(c) {
		return reload(c)
	}
	if isStale(c) {
		return errStaleForm
	}
	ctx, member := c.UserContext(), shiftOf(c).member
	switch state {
	case "on":
		err = a.store.RestoreItem(ctx, itemID, member.ID)
	case "off":
		err = a.store.EightySix(ctx, itemID, nil, member.ID)
	default:
		var now time.Time
		if now, err = a.store.Now(ctx); err == nil {
			until := serviceDayEnd(now)
			err = a.store.EightySix(ctx, itemID, &until, member.ID)
		}
	}
	if err != nil {
		return err
	}
	return a.answerDish(c, itemID)
}

// serviceDayEnd is when the service day of an instant is over.
func serviceDayEnd(now time.Time) time.Time {
	y, m, d := now.In(models.India).Date()
	end := time.Date(y, m, d, serviceDayEnds, 0, 0, 0, models.India)
	if !end.After(now) {
		end = end.AddDate(0, 0, 1)
	}
	return end
}

// answerDish answers a switch: with the dish's row under htmx, else with its place on the page.
func (a *App) answerDish(c *fiber.Ctx, itemID int64) error {
	if !isHTMX(c) {
		return redirect(c, staffMenuURL+"#dish-"+strconv.FormatInt(itemID, 10))
	}
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	menu, err := a.store.FindMenu(c.UserContext(), outlet.ID, models.MenuFilter{})
	if err != nil {
		return err
	}
	for _, category := range menu.Categories {
		for _, item := range category.Items {
			if item.ID == itemID {
				return a.render(c, fiber.StatusOK, views.StaffDishRow(views.StaffDishView{Page: page, Item: item, Edits: shiftOf(c).member.MayRefund()}))
			}
		}
	}
	return redirect(c, staffMenuURL) // of an outlet that is not the chosen one any more: it was switched all the same
}

// closeKitchen ends the running service: nothing more can be placed in it, and money that still comes goes back. It says whose kitchen
// is meant, since the chosen outlet may be another one by now.
func (a *App) closeKitchen(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "outlet", max: 100}, field{name: "confirm", max: 3})
	if err != nil {
		return err
	}
	confirm := f.get("confirm")
	if confirm != "" && confirm != "yes" {
		return fmt.Errorf("%w: a box is ticked or not", errBadForm)
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
	switch {
	case isStale(c):
		return a.answerMenu(c, fiber.StatusConflict, outlet, map[string]string{"confirm": staleNotice}, "")
	case confirm == "":
		return a.answerMenu(c, fiber.StatusUnprocessableEntity, outlet, map[string]string{"confirm": "Please tick this box: closing cannot be undone."}, "")
	}
	ctx := c.UserContext()
	schedule, err := a.store.FindSchedule(ctx, outlet.ID)
	if err != nil {
		return err
	}
	err = a.store.InTx(ctx, func(tx *models.Store) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		running := schedule.At(now).Window
		if running.OpensAt.IsZero() {
			return models.ErrNotFound
		}
		// The service's row is made by its first order. Without it there would be nothing to close, and that order would still come.
		if _, err := tx.EnsureSlot(ctx, schedule.Outlet, running); err != nil {
			return err
		}
		return tx.CloseKitchen(ctx, outlet.ID, member.ID)
	})
	if errors.Is(err, models.ErrNotFound) {
		return a.answerMenu(c, fiber.StatusConflict, outlet, nil, "There is no service now, so there was nothing to close.")
	}
	if err != nil {
		return err
	}
	return redirect(c, staffMenuURL+"?done=closed")
}
