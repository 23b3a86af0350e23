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

// answerShortage carries out what a customer chose about a dish that ran out. If it was answered already, the page says how.
func (a *App) answerShortage(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "answer", max: 8}, field{name: "swap", max: 2})
	if err != nil {
		return err
	}
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	shortageID, err := rowID(c)
	if err != nil {
		return err
	}
	position, err := parseCount(f.get("swap"), 0, models.MaxSwaps)
	if err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		return a.renderOrder(c, fiber.StatusForbidden, order)
	}
	err = a.cashier.AnswerShortage(c.UserContext(), order.ID, shortageID, f.get("answer"), position)
	if errors.Is(err, models.ErrBadMove) || errors.Is(err, models.ErrTooLate) {
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

// shortageViews are an order's shortages for its customer, with what each answer gives back.
func (a *App) shortageViews(c *fiber.Ctx, order models.Order) (list []views.ShortageView, err error) {
	found, err := a.store.ListShortages(c.UserContext(), order.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		view := views.ShortageView{Shortage: s}
		for _, i := range order.Items {
			if i.Line == s.Line {
				view.Name = views.LineName(i)
			}
		}
		if s.Answer == nil {
			if view.DropPaise, view.SwapPaise, err = a.store.PriceShortage(c.UserContext(), order, s); err != nil {
				return nil, err
			}
		}
		list = append(list, view)
	}
	return list, nil
}

// showShortage is the form for a dish that ran out.
func (a *App) showShortage(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	why, err := a.whyNotAsk(c, order)
	if err != nil {
		return err
	}
	if why != "" {
		return a.answerOrder(c, fiber.StatusConflict, order, why)
	}
	typed := views.ShortageFields{Qty: "1", Minutes: "5", Fallback: models.AnswerDrop}
	if len(order.Items) == 1 {
		typed.Line = strconv.Itoa(order.Items[0].Line)
	}
	return a.askAboutShortage(c, fiber.StatusOK, order, typed, nil)
}

func (a *App) askAboutShortage(c *fiber.Ctx, status int, order models.Order, typed views.ShortageFields, wrong map[string]string) error {
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	loosest := models.OrderItem{Mark: "veg"}
	for _, i := range order.Items {
		if i.Mark == "nonveg" || i.Mark == "egg" && loosest.Mark == "veg" {
			loosest.Mark = i.Mark
		}
	}
	dishes, err := a.store.ListSwaps(c.UserContext(), order, loosest)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffShortagePage(views.StaffShortageView{Page: page, Order: order, Dishes: dishes, Typed: typed, Errors: wrong}))
}

// whyNotAsk says why nothing can be asked about an order now; "" if it can.
func (a *App) whyNotAsk(c *fiber.Ctx, order models.Order) (string, error) {
	if order.Status != models.OrderPaid && order.Status != models.OrderDue {
		return fmt.Sprintf("Order %d is not with the kitchen. Nobody was asked.", order.Number), nil
	}
	ticket, err := a.store.FindFulfilment(c.UserContext(), order.ID)
	if err == nil && ticket.Status == models.TicketHandedOver {
		return fmt.Sprintf("Order %d has been handed over. Nobody was asked.", order.Number), nil
	}
	return "", err
}

// reportShortage asks the customer about a dish that ran out.
func (a *App) reportShortage(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "line", max: 4}, field{name: "qty", max: 10}, field{name: "minutes", max: 10}, field{name: "fallback", max: 8}, field{name: "swap1", max: 20}, field{name: "swap2", max: 20}, field{name: "swap3", max: 20})
	if err != nil {
		return err
	}
	typed := views.ShortageFields{Line: f.get("line"), Qty: f.get("qty"), Minutes: f.get("minutes"), Fallback: f.get("fallback"), Swaps: [models.MaxSwaps]string{f.get("swap1"), f.get("swap2"), f.get("swap3")}}
	wrong := map[string]string{}
	line, err := strconv.Atoi(typed.Line)
	if err != nil {
		wrong["line"] = "Please say which dish has run out."
	}
	qty, err := strconv.Atoi(typed.Qty)
	if err != nil || qty < 1 {
		wrong["qty"] = "Please write how many, 1 or more."
	}
	minutes, err := strconv.Atoi(typed.Minutes)
	if err != nil || minutes < models.MinShortageMinutes || minutes > models.MaxShortageMinutes {
		wrong["minutes"] = fmt.Sprintf("Please write %d to %d minutes.", models.MinShortageMinutes, models.MaxShortageMinutes)
	}
	var swaps []int64
	for _, text := range typed.Swaps {
		if text == "" {
			continue
		}
		dish, err := parseID(text)
		if err != nil {
			return err
		}
		swaps = append(swaps, dish)
	}
	if isStale(c) {
		return a.answerOrder(c, fiber.StatusConflict, order, staleNotice)
	}
	if len(wrong) > 0 {
		return a.askAboutShortage(c, fiber.StatusUnprocessableEntity, order, typed, wrong)
	}
	_, err = a.store.AskShortage(c.UserContext(), order.ID, line, qty, typed.Fallback, swaps, time.Duration(minutes)*time.Minute, shiftOf(c).member)
	switch {
	case errors.Is(err, models.ErrTooMuch):
		return a.askAboutShortage(c, fiber.StatusUnprocessableEntity, order, typed, map[string]string{"qty": "There are not so many of it left on this order."})
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.askAboutShortage(c, fiber.StatusUnprocessableEntity, order, typed, map[string]string{"swaps": "One of these cannot be offered for that dish: it is sold out, is offered twice, or has egg or meat where the dish had none."})
	case errors.Is(err, models.ErrBadMove):
		a.note(c, err)
		return a.answerOrder(c, fiber.StatusConflict, order, "The customer is being asked about it already, or the order has left the kitchen. Nothing was changed.")
	case err != nil:
		return err
	}
	return redirect(c, staffOrderURL(order.ID))
}
