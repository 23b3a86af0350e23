package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// takeCash notes that the money of a due order was taken. The form says how much its reader saw; if the order moved on meanwhile, nothing is done.
func (a *App) takeCash(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "amount", max: 20})
	if err != nil {
		return err
	}
	amount, err := parseID(f.get("amount"))
	if err != nil {
		return fmt.Errorf("%w: amount %q", errBadForm, f.get("amount"))
	}
	after, err := a.store.TakeCash(c.UserContext(), order.ID, models.Paise(amount), shiftOf(c).member)
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		if order, err = a.store.FindOrder(c.UserContext(), order.ID); err != nil {
			return err
		}
		notice := "The cash for this order is not due any more. Nothing was changed."
		if order.PaidAt != nil {
			notice = fmt.Sprintf("The cash was taken already, at %s. Nothing was changed.", views.Clock(c.UserContext(), *order.PaidAt))
		}
		return a.answerOrder(c, fiber.StatusConflict, order, notice)
	}
	if err != nil {
		return err
	}
	return redirect(c, staffOrderURL(after.ID))
}

// giveCashBack notes that money of a cash order was given back by hand.
func (a *App) giveCashBack(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	if _, err := readForm(c); err != nil {
		return err
	}
	refunds, err := a.store.ListRefunds(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(refunds, func(r models.Refund) bool { return r.ID == pathWord(c, "refund") })
	if at < 0 {
		return models.ErrNotFound
	}
	if _, err = a.store.GiveCashBack(c.UserContext(), refunds[at].ID, shiftOf(c).member); errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		return a.answerOrder(c, fiber.StatusConflict, order, "That was given back already. Nothing was changed.")
	}
	if err != nil {
		return err
	}
	return redirect(c, staffOrderURL(order.ID))
}

func cashFields(o models.Outlet) views.CashFields {
	return views.CashFields{Pickup: o.CashPickup, Delivery: o.CashDelivery, Limit: strconv.FormatInt(int64(o.CashLimitPaise/100), 10), Open: strconv.Itoa(o.CashOpenOrders)}
}

// saveCash writes whether, up to how much, and for how many unpaid orders an outlet takes cash.
func (a *App) saveCash(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "outlet", max: 100}, field{name: "cash_pickup", max: 1}, field{name: "cash_delivery", max: 1}, field{name: "cash_limit", max: 20}, field{name: "cash_open", max: 20})
	if err != nil {
		return err
	}
	outlets, err := a.outletsOf(c, shiftOf(c).member)
	if err != nil {
		return err
	}
	outlet, err := outletNamed(outlets, f.get("outlet"))
	if err != nil {
		return err
	}
	typed := views.CashFields{Pickup: f.get("cash_pickup") == "1", Delivery: f.get("cash_delivery") == "1", Limit: strings.TrimSpace(f.get("cash_limit")), Open: strings.TrimSpace(f.get("cash_open"))}
	wrong := map[string]string{}
	limit, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimPrefix(typed.Limit, "₹"), ",", ""), 10, 31)
	if err != nil || limit < 1 || models.Paise(limit)*100 > models.MaxCashPaise {
		wrong["cash_limit"] = "Please write whole rupees, at least ₹1 and at most " + views.ShortRupees(models.MaxCashPaise) + "."
	}
	open, err := strconv.ParseUint(typed.Open, 10, 31)
	if err != nil || open < 1 || open > models.MaxCashOrders {
		wrong["cash_open"] = fmt.Sprintf("Please write a number from 1 to %d.", models.MaxCashOrders)
	}
	if isStale(c) {
		return a.answerShop(c, fiber.StatusConflict, outlet, contactsOf(outlet), typed, map[string]string{"cash_limit": staleNotice}, "")
	}
	if len(wrong) > 0 {
		return a.answerShop(c, fiber.StatusUnprocessableEntity, outlet, contactsOf(outlet), typed, wrong, "")
	}
	rule := models.CashRule{Pickup: typed.Pickup, Delivery: typed.Delivery, LimitPaise: models.Paise(limit) * 100, OpenOrders: int(open)}
	if err := a.store.SaveCashRule(c.UserContext(), outlet.ID, rule, shiftOf(c).member.ID); err != nil {
		return err
	}
	return redirect(c, outletURL+"?done=saved")
}
