package handlers

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// giving is what the form for giving money back says, as typed and as understood.
type giving struct {
	typed  views.RefundFields
	picked map[int]int // line → pieces; none of it is 0
	asked  models.Giving
}

// showRefund asks what of an order's money goes back. An order of which nothing can be given back is shown as it is, with why.
func (a *App) showRefund(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	return a.askRefund(c, fiber.StatusOK, order, giving{}, nil, "")
}

// askRefund shows the form, with what was typed and what is wrong with it.
func (a *App) askRefund(c *fiber.Ctx, status int, order models.Order, g giving, wrong map[string]string, notice string) error {
	bill, done, kept, err := a.store.Returnable(c.UserContext(), order.ID)
	if errors.Is(err, models.ErrNotFound) {
		return a.answerOrder(c, fiber.StatusConflict, order, fmt.Sprintf("Nothing was paid for order %d, so there is nothing to give back.", order.Number))
	}
	if err != nil {
		return err
	}
	left := leftOf(kept)
	if left < models.LeastPayablePaise {
		return a.answerRefunded(c, order)
	}
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffRefundPage(views.StaffRefundView{Page: page, Order: order, PaidPaise: bill.Amount() - bill.CustomerFeePaise, LeftPaise: left,
		Lines: refundLines(order, done, g.picked), Typed: g.typed, Errors: wrong, Notice: notice}))
}

// leftOf is what of a kept payment is neither back nor on its way.
func leftOf(kept models.Payment) models.Paise {
	return max(kept.AmountPaise-kept.CustomerFeePaise-kept.RefundReservedPaise, 0) // more may have gone back: the fee, by another hand
}

// refundLines are the lines of the bill with what can still be given back of each.
func refundLines(order models.Order, done models.Bill, picked map[int]int) (lines []views.RefundLine) {
	back := map[int]int{}
	for _, l := range done.Lines {
		back[l.Line] = l.Qty
	}
	for _, i := range order.Items {
		lines = append(lines, views.RefundLine{Item: i, Left: i.Qty - back[i.Line], Picked: picked[i.Line]})
	}
	return lines
}

// refundByStaff gives a part of an order's money back in two steps: the review says to the paisa what goes back, and confirming does it.
// The form brings along what was on its way back when the person decided, so that the same form twice does it once.
func (a *App) refundByStaff(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, field{name: "step", max: 10}, field{name: "what", max: 10}, field{name: "piece-*", max: 5}, field{name: "amount", max: 100},
		field{name: "reason", max: 2000}, field{name: "seen", max: 20}, field{name: "shown", max: 20})
	if err != nil {
		return err
	}
	g, wrong, err := readGiving(f)
	if err != nil {
		return err
	}
	step := f.get("step")
	if step != "confirm" && (f.has("seen") || f.has("shown")) && step != "change" {
		return fmt.Errorf("%w: nothing was shown yet", errBadForm)
	}
	switch {
	case isStale(c):
		return a.askRefund(c, fiber.StatusConflict, order, g, nil, staleNotice)
	case step == "change":
		return a.askRefund(c, fiber.StatusOK, order, g, nil, "")
	case step == "review":
		if len(wrong) > 0 {
			return a.askRefund(c, fiber.StatusUnprocessableEntity, order, g, wrong, "")
		}
		return a.reviewRefund(c, fiber.StatusOK, order, g)
	case step != "confirm":
		return fmt.Errorf("%w: step", errBadForm)
	case len(wrong) > 0:
		return fmt.Errorf("%w: a review of nothing", errBadForm)
	}
	seen, err := parsePaise(f.get("seen"))
	if err != nil {
		return err
	}
	shown, err := parsePaise(f.get("shown"))
	if err != nil {
		return err
	}
	share, kept, err := a.store.ShareOf(c.UserContext(), order.ID, g.asked)
	switch {
	case kept.ID != 0 && kept.RefundReservedPaise != seen:
		return a.answerRefunded(c, order)
	case err != nil:
		return a.refuseRefund(c, order, g, err)
	case share.Amount() != shown:
		return a.reviewRefund(c, fiber.StatusConflict, order, g)
	}
	_, err = a.cashier.RequestRefund(c.UserContext(), order.ID, g.asked, seen, spoken(g.typed.Reason), shiftOf(c).member.ID)
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		return a.answerRefunded(c, order)
	}
	if err != nil {
		return a.refuseRefund(c, order, g, err)
	}
	return redirect(c, fmt.Sprintf("/staff/orders/%d", order.ID))
}

// reviewRefund shows what goes back, part by part, and asks. Nothing is done.
func (a *App) reviewRefund(c *fiber.Ctx, status int, order models.Order, g giving) error {
	share, kept, err := a.store.ShareOf(c.UserContext(), order.ID, g.asked)
	if err != nil {
		return a.refuseRefund(c, order, g, err)
	}
	bill, done, _, err := a.store.Returnable(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	view := views.StaffRefundReviewView{Order: order, PaidPaise: bill.Amount() - bill.CustomerFeePaise, Share: share, Typed: g.typed, SeenPaise: kept.RefundReservedPaise}
	for _, l := range refundLines(order, done, g.picked) {
		if l.Picked > 0 {
			view.Lines = append(view.Lines, l)
		}
	}
	if view.Page, err = a.orderPage(c, order); err != nil {
		return err
	}
	return a.render(c, status, views.StaffRefundReviewPage(view))
}

// refuseRefund answers what the shop says no to: beside its field when somebody typed it, with what is left.
func (a *App) refuseRefund(c *fiber.Ctx, order models.Order, g giving, why error) error {
	if !errors.Is(why, models.ErrTooMuch) && !errors.Is(why, models.ErrTooSmall) {
		if errors.Is(why, models.ErrNotFound) { // of the order's payment; the order itself is there
			return a.askRefund(c, fiber.StatusConflict, order, g, nil, "")
		}
		return why
	}
	a.note(c, why)
	_, _, kept, err := a.store.Returnable(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	sentence := "That is more than is left. " + views.Rupees(leftOf(kept)) + " can still be given back."
	if errors.Is(why, models.ErrTooSmall) {
		sentence = "Razorpay gives back ₹1.00 or more at a time, so what goes back and what stays must not be less. " + views.Rupees(leftOf(kept)) + " is left."
	}
	where := map[string]string{"dishes": "pieces", "amount": "amount"}[g.typed.What]
	if where == "" {
		where = "what"
	}
	return a.askRefund(c, fiber.StatusUnprocessableEntity, order, g, map[string]string{where: sentence}, "")
}

// answerRefunded shows an order whose money somebody has sent back meanwhile, with who and when.
func (a *App) answerRefunded(c *fiber.Ctx, order models.Order) error {
	ctx := c.UserContext()
	order, err := a.staffOrder(c, order.ID)
	if err != nil {
		return err
	}
	refunds, err := a.store.ListRefunds(ctx, order.ID)
	if err != nil {
		return err
	}
	sentence := "Money of this order has moved meanwhile. Nothing more was done."
	for _, r := range refunds { // the newest that counts
		if order.PaidPaymentID == nil || r.PaymentID != *order.PaidPaymentID || r.Status == "void" {
			continue
		}
		state := "is already on its way back"
		switch r.Status {
		case "processed":
			state = "was already given back"
		case "failed":
			state = "was already asked for, and failed"
		}
		sentence = fmt.Sprintf("%s %s (asked by %s at %s). Nothing more was done.", views.Rupees(r.AmountPaise), state, a.actors(ctx).name(r.RequestedBy), views.Clock(r.RequestedAt))
	}
	return a.answerOrder(c, fiber.StatusConflict, order, sentence)
}

// readGiving reads what goes back. wrong says what is missing or mistyped, by field. Errors: errBadForm.
func readGiving(f form) (g giving, wrong map[string]string, err error) {
	g = giving{typed: views.RefundFields{What: f.get("what"), Amount: strings.TrimSpace(f.get("amount")), Reason: strings.TrimSpace(f.get("reason"))}, picked: map[int]int{}}
	for name := range f.values {
		digits, piece := strings.CutPrefix(name, "piece-")
		if !piece {
			continue
		}
		line, err := parseCount(digits, 1, 1000)
		if err != nil {
			return g, nil, err
		}
		n, err := parseCount(f.get(name), 0, 1000)
		if err != nil {
			return g, nil, err
		}
		if n > 0 {
			g.picked[line] = n
		}
	}
	wrong = map[string]string{}
	switch g.typed.What {
	case "dishes":
		if g.asked.Pieces = g.picked; len(g.picked) == 0 {
			wrong["pieces"] = "Please say how many of which dish."
		}
	case "amount":
		var understood bool
		if g.asked.AmountPaise, understood = parseRupees(g.typed.Amount); !understood {
			wrong["amount"] = "Please write an amount such as ₹120 or ₹120.50."
		} else if g.asked.AmountPaise == 0 {
			wrong["amount"] = "Please write more than nothing."
		}
	case "rest":
	case "":
		wrong["what"] = "Please choose what goes back."
	default:
		return g, nil, fmt.Errorf("%w: what", errBadForm)
	}
	switch {
	case g.typed.Reason == "":
		wrong["reason"] = "Please say why: the customer reads it, and it is kept."
	case utf8.RuneCountInString(g.typed.Reason) > maxReason:
		wrong["reason"] = fmt.Sprintf("Please keep it under %d characters.", maxReason)
	}
	return g, wrong, nil
}

// rupees is how people write an amount: whole or with one or two decimals, with or without ₹ and commas. A comma is never a decimal's.
var rupees = regexp.MustCompile(`^(?:₹ ?)?(\d{1,9}|\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.(\d{1,2}))?$`)

// parseRupees reads an amount in rupees, to the paisa.
func parseRupees(text string) (models.Paise, bool) {
	parts := rupees.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, false
	}
	digits := strings.ReplaceAll(parts[1], ",", "") + (parts[2] + "00")[:2]
	paise, err := strconv.ParseInt(digits, 10, 64)
	return models.Paise(paise), err == nil && len(digits) <= 11
}

// parsePaise reads an amount one of our own pages has written into a hidden field. Errors: errBadForm.
func parsePaise(text string) (models.Paise, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: not paise", errBadForm)
	}
	return models.Paise(n), nil
}

// refundID is how our refunds are named.
var refundID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// retryRefund asks again for what a failed refund did not give back. It works from any page: the refund is in the address.
func (a *App) retryRefund(c *fiber.Ctx) error {
	id := c.Params("id")
	if !refundID.MatchString(id) {
		return models.ErrNotFound
	}
	if _, err := readForm(c); err != nil {
		return err
	}
	refund, err := a.store.FindRefund(c.UserContext(), id)
	if err != nil {
		return err
	}
	order, err := a.staffOrder(c, refund.OrderID)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerOrder(c, fiber.StatusConflict, order, staleNotice)
	}
	err = a.cashier.RetryRefund(c.UserContext(), id, shiftOf(c).member.ID)
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		what := "was already sent again"
		if refund.Status != "failed" {
			what = "has not failed"
		}
		return a.answerOrder(c, fiber.StatusConflict, order, "That refund of "+views.Rupees(refund.AmountPaise)+" "+what+". Nothing more was done.")
	}
	if err != nil {
		return err
	}
	return redirect(c, fmt.Sprintf("/staff/orders/%d", order.ID))
}
