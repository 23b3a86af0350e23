package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// Addresses of the outlet's settings, each before a row's id.
const (
	couponsURL    = "/staff/coupons"
	zonesURL      = "/staff/zones"
	timesURL      = "/staff/times"
	categoriesURL = "/staff/categories"
)

// settingsTable is the staff's table for the outlet's settings: owners and managers.
func (a *App) settingsTable() []staffRoute {
	const get, post = fiber.MethodGet, fiber.MethodPost
	return []staffRoute{
		{get, couponsURL, false, mayEdit, a.showCoupons},
		{post, couponsURL, true, mayEdit, a.saveCoupon},
		{get, couponsURL + "/new", false, mayEdit, a.showNewCoupon},
		{get, couponsURL + "/:id", false, mayEdit, a.showCoupon},
		{post, couponsURL + "/:id", true, mayEdit, a.saveCoupon},
		{post, couponsURL + "/:id/switch", true, mayEdit, a.switchCoupon},
		{get, zonesURL, false, mayEdit, a.showZones},
		{post, zonesURL, true, mayEdit, a.saveZone},
		{get, zonesURL + "/new", false, mayEdit, a.showNewZone},
		{get, zonesURL + "/:id", false, mayEdit, a.showZone},
		{post, zonesURL + "/:id", true, mayEdit, a.saveZone},
		{post, zonesURL + "/:id/do", true, mayEdit, a.moveZone},
		{get, timesURL, false, mayEdit, a.showTimes},
		{post, timesURL, true, mayEdit, a.saveTimes},
		{get, categoriesURL, false, mayEdit, a.showCategories},
		{post, categoriesURL + "/:id/make", true, mayEdit, a.saveCategoryMake},
		{post, categoriesURL + "/:id/window", true, mayEdit, a.saveCategoryWindow},
		{post, dishEditURL + ":id/make", true, mayEdit, a.saveMakeMinutes},
	}
}

const (
	savedNotice  = "Saved."
	editedNotice = "Somebody else has changed this since you opened it. What they saved stands beside each field that differs, and what you typed is still here. Save once more to have yours instead."
	movedNotice  = "Somebody else has changed this since you opened the page. This is how it is now."
	unfitNotice  = "That does not fit together. Please check each field."
)

// settings is what every page of an outlet's settings needs.
func (a *App) settings(c *fiber.Ctx, outlet models.Outlet, notice, problem string) (v views.SettingsView, err error) {
	member := shiftOf(c).member
	v = views.SettingsView{Staff: member, Notice: notice, Problem: problem}
	if v.Outlets, err = a.outletsOf(c, member); err != nil {
		return v, err
	}
	v.Page, err = a.page(c, "", outlet)
	return v, err
}

// formOutlet is the outlet that a form names, among the member's.
func (a *App) formOutlet(c *fiber.Ctx, f form) (models.Outlet, error) {
	outlets, err := a.outletsOf(c, shiftOf(c).member)
	if err != nil {
		return models.Outlet{}, err
	}
	return outletNamed(outlets, f.get("outlet"))
}

// doneNotice is what a redirect has left to be said.
func doneNotice(c *fiber.Ctx) string {
	if c.Query("done") == "saved" {
		return savedNotice
	}
	return ""
}

// outletFields and versionField are in every form of the settings.
var (
	outletField  = field{name: "outlet", max: 100}
	versionField = field{name: "version", max: 10}
)

// reading reads a settings form field by field, and gathers in words what is wrong.
type reading struct {
	f     form
	wrong map[string]string
}

func newReading(f form) *reading { return &reading{f: f, wrong: map[string]string{}} }

// typed is what stands in the form, to be shown again.
func (r *reading) typed() views.StaffForm {
	values := map[string]string{}
	for name := range r.f.values {
		values[name] = r.f.get(name)
	}
	version, _ := parseCount(r.f.get("version"), 1, 1<<30) // none: it is behind any row
	return views.StaffForm{Values: values, Errors: r.wrong, Version: version}
}

func (r *reading) say(name, format string, args ...any) {
	if r.wrong[name] == "" {
		r.wrong[name] = fmt.Sprintf(format, args...)
	}
}

func (r *reading) text(name string) string { return strings.TrimSpace(r.f.get(name)) }

// maxSetting is the largest amount of the settings' fields: a mistyped one is told before it is given.
const maxSetting models.Paise = 100_000_00

// paise reads an amount; nil: the field is empty.
func (r *reading) paise(name string) *models.Paise {
	text := r.text(name)
	if text == "" {
		return nil
	}
	amount, ok := parseRupees(text)
	switch {
	case !ok:
		r.say(name, "Please write an amount such as 120 or 120.50.")
	case amount > maxSetting:
		r.say(name, "The most that can be written here is %s.", views.ShortRupees(maxSetting))
	default:
		return &amount
	}
	return nil
}

// positive is paise where nothing is no amount.
func (r *reading) positive(name string) *models.Paise {
	amount := r.paise(name)
	if amount != nil && *amount == 0 {
		r.say(name, "Please write more than 0, or leave it empty.")
	}
	return amount
}

// count reads a whole number; nil: the field is empty.
func (r *reading) count(name string, least, most int) *int {
	text := r.text(name)
	if text == "" {
		return nil
	}
	n, err := parseCount(text, least, most)
	if err != nil {
		r.say(name, "Please write a whole number from %d to %d.", least, most)
		return nil
	}
	return &n
}

// needed is count of a field that must not be empty.
func (r *reading) needed(name string, least, most int) int {
	n := r.count(name, least, most)
	if n == nil {
		r.say(name, "Please write a whole number from %d to %d.", least, most)
		return least
	}
	return *n
}

// instant reads a day and a time of day in India; nil: the field is empty.
func (r *reading) instant(name string) *time.Time {
	text := r.text(name)
	if text == "" {
		return nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, models.India); err == nil && at.Year() >= 2000 && at.Year() < 2200 {
			return &at
		}
	}
	r.say(name, "Please write day and time as in 2026-12-31 23:59.")
	return nil
}

// behind makes a form that is behind its row one that can be saved: with the row's version, and beside each field that differs what is saved there.
func behind(typed, mine, saved views.StaffForm) views.StaffForm {
	typed.Version, typed.Saved = saved.Version, map[string]string{}
	for name, value := range saved.Values {
		if mine.Values[name] != value {
			typed.Saved[name] = value
		}
	}
	return typed
}

func optionalPaise(p *models.Paise) string {
	if p == nil {
		return ""
	}
	return views.PlainRupees(*p)
}

func optionalCount(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// mark is the value of a ticked box.
func mark(ticked bool) string {
	if ticked {
		return "1"
	}
	return ""
}
