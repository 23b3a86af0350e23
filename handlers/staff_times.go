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

var timesFields = []field{outletField, versionField, {name: "slot_orders", max: 20}, {name: "slot_items", max: 20}, {name: "slot_make_minutes", max: 20}, {name: "slot_minutes", max: 20},
	{name: "prep_minutes", max: 20}, {name: "delivery_minutes", max: 20}, {name: "last_order_minutes", max: 20}, {name: "order_ahead_days", max: 20}}

// showTimes is the form of what an outlet promises by when, and takes at most.
func (a *App) showTimes(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	times, err := a.store.FindTimeSettings(c.UserContext(), outlet.ID)
	if err != nil {
		return err
	}
	return a.answerTimes(c, fiber.StatusOK, outlet, timesForm(times), doneNotice(c), "")
}

func (a *App) answerTimes(c *fiber.Ctx, status int, outlet models.Outlet, f views.StaffForm, notice, problem string) error {
	settings, err := a.settings(c, outlet, notice, problem)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffTimesPage(views.TimesSettingsView{SettingsView: settings, Form: f}))
}

func timesForm(t models.TimeSettings) views.StaffForm {
	return views.StaffForm{Version: t.TimesVersion, Values: map[string]string{"slot_orders": optionalCount(t.SlotOrders), "slot_items": optionalCount(t.SlotItems), "slot_make_minutes": optionalCount(t.SlotMakeMinutes),
		"slot_minutes": fmt.Sprint(t.SlotMinutes), "prep_minutes": fmt.Sprint(t.PrepMinutes), "delivery_minutes": fmt.Sprint(t.DeliveryMinutes), "last_order_minutes": fmt.Sprint(t.LastOrderMinutes),
		"order_ahead_days": fmt.Sprint(t.OrderAheadDays)}}
}

// saveTimes writes them.
func (a *App) saveTimes(c *fiber.Ctx) error {
	f, err := readForm(c, timesFields...)
	if err != nil {
		return err
	}
	outlet, err := a.formOutlet(c, f)
	if err != nil {
		return err
	}
	r := newReading(f)
	times := models.TimeSettings{SlotOrders: r.count("slot_orders", 1, 1000), SlotItems: r.count("slot_items", 1, 10_000), SlotMakeMinutes: r.count("slot_make_minutes", 1, 10_000),
		SlotMinutes: r.needed("slot_minutes", 10, 60), PrepMinutes: r.needed("prep_minutes", 1, 240), DeliveryMinutes: r.needed("delivery_minutes", 0, 240),
		LastOrderMinutes: r.needed("last_order_minutes", 0, 240), OrderAheadDays: r.needed("order_ahead_days", 0, 7)}
	switch times.SlotMinutes {
	case 10, 15, 20, 30, 60:
	default:
		r.say("slot_minutes", "Please choose one of the widths.")
	}
	typed := r.typed()
	times.TimesVersion = typed.Version
	if isStale(c) {
		return a.answerTimes(c, fiber.StatusConflict, outlet, typed, "", staleNotice)
	}
	if len(r.wrong) > 0 {
		return a.answerTimes(c, fiber.StatusUnprocessableEntity, outlet, typed, "", "")
	}
	err = a.store.SaveTimeSettings(c.UserContext(), outlet.ID, shiftOf(c).member.ID, times)
	switch {
	case errors.Is(err, models.ErrEdited):
		a.note(c, err)
		saved, err := a.store.FindTimeSettings(c.UserContext(), outlet.ID)
		if err != nil {
			return err
		}
		return a.answerTimes(c, fiber.StatusConflict, outlet, behind(typed, timesForm(times), timesForm(saved)), "", editedNotice)
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.answerTimes(c, fiber.StatusUnprocessableEntity, outlet, typed, "", unfitNotice)
	case err != nil:
		return err
	}
	return redirect(c, timesURL+"?done=saved")
}

// showCategories says of each category how long a dish takes to make and when it is served.
func (a *App) showCategories(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	return a.answerCategories(c, fiber.StatusOK, outlet, views.CategoriesView{}, doneNotice(c), "")
}

func (a *App) answerCategories(c *fiber.Ctx, status int, outlet models.Outlet, v views.CategoriesView, notice, problem string) (err error) {
	if v.SettingsView, err = a.settings(c, outlet, notice, problem); err != nil {
		return err
	}
	if v.Categories, err = a.store.ListCategoryEdits(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	return a.render(c, status, views.StaffCategoriesPage(v))
}

// categoryOf finds the category in a route's address, with its outlet. Errors: models.ErrNotFound.
func (a *App) categoryOf(c *fiber.Ctx) (category models.CategoryEdit, outlet models.Outlet, err error) {
	categoryID, err := rowID(c)
	if err != nil {
		return category, outlet, err
	}
	if category, err = a.store.FindCategoryEdit(c.UserContext(), categoryID, shiftOf(c).member.ID); err != nil {
		return category, outlet, err
	}
	outlet, err = a.store.FindOutlet(c.UserContext(), category.OutletID)
	return category, outlet, err
}

// answerCategory sends on after a category was changed, or shows why it was not, with what was typed.
func (a *App) answerCategory(c *fiber.Ctx, outlet models.Outlet, category models.CategoryEdit, on string, r *reading, err error) error {
	v := views.CategoriesView{FormOf: category.ID, FormOn: on, Form: r.typed()}
	v.Form.Values["days"] = ""
	for _, day := range r.f.values["day"] {
		v.Form.Values["days"] += day
	}
	switch {
	case isStale(c):
		return a.answerCategories(c, fiber.StatusConflict, outlet, v, "", staleNotice)
	case errors.Is(err, models.ErrEdited):
		a.note(c, err)
		if category, err = a.store.FindCategoryEdit(c.UserContext(), category.ID, shiftOf(c).member.ID); err != nil {
			return err
		}
		v.Form.Values["was"] = strconv.Itoa(category.MakeMinutes)
		r.say("minutes", "Somebody else has just made it %d. Save once more to have yours instead.", category.MakeMinutes)
		return a.answerCategories(c, fiber.StatusConflict, outlet, v, "", "")
	case len(r.wrong) > 0:
		return a.answerCategories(c, fiber.StatusUnprocessableEntity, outlet, v, "", "")
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.answerCategories(c, fiber.StatusUnprocessableEntity, outlet, v, "", unfitNotice)
	case err != nil:
		return err
	}
	return redirect(c, fmt.Sprintf("%s?done=saved#category-%d", categoriesURL, category.ID))
}

// saveCategoryMake says how many minutes the kitchen works on one dish of a category.
func (a *App) saveCategoryMake(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "minutes", max: 20}, field{name: "was", max: 4})
	if err != nil {
		return err
	}
	category, outlet, err := a.categoryOf(c)
	if err != nil {
		return err
	}
	was, err := parseCount(f.get("was"), 0, 240)
	if err != nil {
		return err
	}
	r := newReading(f)
	if minutes := r.needed("minutes", 0, 240); len(r.wrong) == 0 && !isStale(c) {
		err = a.store.SetCategoryMake(c.UserContext(), category, shiftOf(c).member.ID, was, minutes)
	}
	return a.answerCategory(c, outlet, category, "make", r, err)
}

// saveCategoryWindow adds a time in which a category's dishes are served, or removes one.
func (a *App) saveCategoryWindow(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "remove", max: 19}, field{name: "day", max: 1, many: true}, field{name: "opens", max: 20}, field{name: "closes", max: 20}, field{name: "starts", max: 20}, field{name: "ends", max: 20})
	if err != nil {
		return err
	}
	category, outlet, err := a.categoryOf(c)
	if err != nil {
		return err
	}
	r, staffID := newReading(f), shiftOf(c).member.ID
	if f.has("remove") {
		windowID, err := parseID(f.get("remove"))
		if err != nil {
			return err
		}
		if !isStale(c) {
			err = a.store.RemoveCategoryWindow(c.UserContext(), category, staffID, windowID)
		}
		return a.answerCategory(c, outlet, category, "", r, err)
	}
	window, err := readWindow(r)
	if err != nil {
		return err
	}
	if len(r.wrong) == 0 && !isStale(c) {
		err = a.store.AddCategoryWindow(c.UserContext(), category, staffID, window)
	}
	return a.answerCategory(c, outlet, category, "window", r, err)
}

// readWindow reads a time in which something is served; what is wrong is in the reading. Errors: errBadForm.
func readWindow(r *reading) (w models.MenuWindow, err error) {
	for _, text := range r.f.values["day"] {
		day, err := parseCount(text, 0, 6)
		if err != nil {
			return w, err
		}
		w.Weekdays |= 1 << day
	}
	if w.Weekdays == 0 {
		r.say("day", "Please tick at least one day.")
	}
	var wrong wrongValue
	if w.OpensMinute, err = minuteOfDay(r.text("opens"), 0); errors.As(err, &wrong) {
		r.say("opens", "%s", string(wrong))
	}
	if w.ClosesMinute, err = minuteOfDay(r.text("closes"), 24*60); errors.As(err, &wrong) {
		r.say("closes", "%s", string(wrong))
	}
	if w.ClosesMinute <= w.OpensMinute { // it goes on past midnight
		w.ClosesMinute += 24 * 60
	}
	for _, bound := range []struct {
		name string
		to   **string
	}{{"starts", &w.StartsOn}, {"ends", &w.EndsOn}} {
		text := r.text(bound.name)
		if text == "" {
			continue
		}
		if day, err := time.Parse(time.DateOnly, text); err != nil || day.Year() < 2000 || day.Year() >= 2200 {
			r.say(bound.name, "Please write the date as in 2026-12-31.")
			continue
		}
		*bound.to = &text
	}
	if w.StartsOn != nil && w.EndsOn != nil && *w.EndsOn < *w.StartsOn {
		r.say("ends", "The last day cannot be before the first.")
	}
	return w, nil
}

// saveMakeMinutes says how many minutes the kitchen works on one of a dish; empty: as its category says.
func (a *App) saveMakeMinutes(c *fiber.Ctx) error {
	itemID, err := rowID(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "minutes", max: 20}, field{name: "was", max: 4})
	if err != nil {
		return err
	}
	r := newReading(f)
	was, err := optionalNumber(f.get("was"), "was")
	if err != nil {
		return errBadForm
	}
	minutes := r.count("minutes", 0, 240)
	typed := r.typed()
	switch {
	case isStale(c):
		r.say("minutes", staleNotice)
		return a.answerDishMake(c, fiber.StatusConflict, itemID, typed)
	case len(r.wrong) > 0:
		return a.answerDishMake(c, fiber.StatusUnprocessableEntity, itemID, typed)
	}
	err = a.store.SetMakeMinutes(c.UserContext(), itemID, shiftOf(c).member.ID, was, minutes)
	if errors.Is(err, models.ErrEdited) {
		a.note(c, err)
		saved, _, err := a.store.FindMakeMinutes(c.UserContext(), itemID)
		if err != nil {
			return err
		}
		typed.Values["was"] = optionalCount(saved)
		r.say("minutes", "Somebody else has changed this meanwhile; it is %s now. Save once more to have yours instead.", minutesText(saved))
		return a.answerDishMake(c, fiber.StatusConflict, itemID, typed)
	}
	return a.answerEdit(c, itemID, err)
}

func minutesText(n *int) string {
	if n == nil {
		return "empty"
	}
	return strconv.Itoa(*n)
}
