package handlers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

var couponFields = []field{outletField, versionField, {name: "code", max: 100}, {name: "kind", max: 10}, {name: "amount", max: 40}, {name: "percent", max: 20}, {name: "at_most", max: 40}, {name: "minimum", max: 40},
	{name: "starts", max: 40}, {name: "ends", max: 40}, {name: "per_person", max: 20}, {name: "total", max: 20}, {name: "first_order", max: 1}}

// showCoupons lists the coupons of an outlet.
func (a *App) showCoupons(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	return a.answerCoupons(c, fiber.StatusOK, outlet, doneNotice(c), "")
}

func (a *App) answerCoupons(c *fiber.Ctx, status int, outlet models.Outlet, notice, problem string) error {
	settings, err := a.settings(c, outlet, notice, problem)
	if err != nil {
		return err
	}
	coupons, err := a.store.ListCouponEdits(c.UserContext(), outlet.ID)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffCouponsPage(views.CouponsView{SettingsView: settings, Coupons: coupons}))
}

// showNewCoupon is the form of a coupon that is to be.
func (a *App) showNewCoupon(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	return a.answerCoupon(c, fiber.StatusOK, outlet, models.CouponEdit{}, views.StaffForm{Values: map[string]string{"kind": "amount", "per_person": "1"}}, "")
}

// showCoupon is the form of one coupon.
func (a *App) showCoupon(c *fiber.Ctx) error {
	coupon, outlet, err := a.couponOf(c)
	if err != nil {
		return err
	}
	return a.answerCoupon(c, fiber.StatusOK, outlet, coupon, couponForm(coupon), "")
}

func (a *App) answerCoupon(c *fiber.Ctx, status int, outlet models.Outlet, coupon models.CouponEdit, f views.StaffForm, problem string) error {
	settings, err := a.settings(c, outlet, "", problem)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffCouponPage(views.CouponView{SettingsView: settings, Coupon: coupon, Form: f}))
}

// couponOf finds the coupon in a route's address, with its outlet. Errors: models.ErrNotFound.
func (a *App) couponOf(c *fiber.Ctx) (coupon models.CouponEdit, outlet models.Outlet, err error) {
	couponID, err := rowID(c)
	if err != nil {
		return coupon, outlet, err
	}
	if coupon, err = a.store.FindCouponEdit(c.UserContext(), couponID, shiftOf(c).member.ID); err != nil {
		return coupon, outlet, err
	}
	outlet, err = a.store.FindOutlet(c.UserContext(), coupon.OutletID)
	return coupon, outlet, err
}

// couponForm writes a coupon as its form has it.
func couponForm(c models.CouponEdit) views.StaffForm {
	kind, percent := "amount", ""
	if c.PercentBP != nil {
		kind, percent = "percent", strings.TrimSuffix(views.Percent(*c.PercentBP), "%")
	}
	minimum := ""
	if c.MinimumPaise > 0 {
		minimum = views.PlainRupees(c.MinimumPaise)
	}
	return views.StaffForm{Version: c.Version, Values: map[string]string{"kind": kind, "amount": optionalPaise(c.AmountPaise), "percent": percent, "at_most": optionalPaise(c.AtMostPaise), "minimum": minimum,
		"starts": views.LocalTime(c.StartsAt), "ends": views.LocalTime(c.EndsAt), "per_person": fmt.Sprint(c.PerPerson), "total": optionalCount(c.Total), "first_order": mark(c.FirstOrder)}}
}

// readCoupon reads a coupon's terms; what is wrong is in the reading.
func readCoupon(r *reading, taken int) (c models.CouponEdit) {
	switch r.f.get("kind") {
	case "amount":
		if c.AmountPaise = r.positive("amount"); c.AmountPaise == nil {
			r.say("amount", "Please write how much it takes off.")
		}
	case "percent":
		share, ok := parseRupees(strings.TrimSuffix(r.text("percent"), "%"))
		if bp := models.BasisPoints(share); !ok || bp < 1 || bp > 10000 {
			r.say("percent", "Please write a part from 0.01 to 100, such as 12.5.")
		} else {
			c.PercentBP = &bp
		}
		c.AtMostPaise = r.positive("at_most")
	default:
		r.say("kind", "Please choose an amount or a part.")
	}
	if minimum := r.paise("minimum"); minimum != nil {
		c.MinimumPaise = *minimum
	}
	c.FirstOrder = r.f.get("first_order") == "1"
	c.StartsAt, c.EndsAt = r.instant("starts"), r.instant("ends")
	if c.StartsAt != nil && c.EndsAt != nil && !c.EndsAt.After(*c.StartsAt) {
		r.say("ends", "It has to end after it starts.")
	}
	c.PerPerson = r.needed("per_person", 1, 1000)
	if c.Total = r.count("total", 1, 1_000_000_000); c.Total != nil && *c.Total < taken {
		r.say("total", belowTaken, taken)
	}
	return c
}

const belowTaken = "It was used %d times already, so the total cannot be less. To end it, stop it."

// saveCoupon makes a coupon, or writes the terms of one.
func (a *App) saveCoupon(c *fiber.Ctx) error {
	f, err := readForm(c, couponFields...)
	if err != nil {
		return err
	}
	var was models.CouponEdit
	var outlet models.Outlet
	if c.Params("id") != "" {
		was, outlet, err = a.couponOf(c)
	} else {
		outlet, err = a.formOutlet(c, f)
	}
	if err != nil {
		return err
	}
	r := newReading(f)
	coupon := readCoupon(r, was.Taken)
	coupon.ID, coupon.OutletID, coupon.Code = was.ID, outlet.ID, was.Code
	if was.ID == 0 {
		code, ok := models.NormalCoupon(f.get("code"))
		if coupon.Code = code; !ok || code == "" {
			r.say("code", "A code has 3 to 20 letters and digits, such as MONSOON10.")
		}
	}
	typed := r.typed()
	coupon.Version = typed.Version
	if isStale(c) {
		return a.answerCoupon(c, fiber.StatusConflict, outlet, was, typed, staleNotice)
	}
	if len(r.wrong) > 0 {
		return a.answerCoupon(c, fiber.StatusUnprocessableEntity, outlet, was, typed, "")
	}
	staffID := shiftOf(c).member.ID
	if was.ID == 0 {
		_, err = a.store.CreateCoupon(c.UserContext(), staffID, coupon)
	} else {
		err = a.store.SaveCoupon(c.UserContext(), staffID, coupon)
	}
	switch {
	case errors.Is(err, models.ErrCodeTaken):
		r.say("code", "There is a coupon with this code already. A stopped one can be given again from the list.")
		return a.answerCoupon(c, fiber.StatusUnprocessableEntity, outlet, was, typed, "")
	case errors.Is(err, models.ErrBelowTaken):
		a.note(c, err)
		r.say("total", "It was used more often already, so the total cannot be less. To end it, stop it.")
		return a.answerCoupon(c, fiber.StatusUnprocessableEntity, outlet, was, typed, "")
	case errors.Is(err, models.ErrEdited):
		a.note(c, err)
		if was, _, err = a.couponOf(c); err != nil {
			return err
		}
		return a.answerCoupon(c, fiber.StatusConflict, outlet, was, behind(typed, couponForm(coupon), couponForm(was)), editedNotice)
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.answerCoupon(c, fiber.StatusUnprocessableEntity, outlet, was, typed, unfitNotice)
	case err != nil:
		return err
	}
	return redirect(c, couponsURL+"?done=saved")
}

// switchCoupon stops a coupon, or gives it again.
func (a *App) switchCoupon(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "active", max: 1})
	if err != nil {
		return err
	}
	coupon, outlet, err := a.couponOf(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerCoupons(c, fiber.StatusConflict, outlet, "", staleNotice)
	}
	active := f.get("active")
	if active != "0" && active != "1" {
		return errBadForm
	}
	if err := a.store.SwitchCoupon(c.UserContext(), coupon, shiftOf(c).member.ID, active == "1"); err != nil {
		return err
	}
	return redirect(c, couponsURL+"?done=saved")
}
