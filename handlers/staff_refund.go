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

// askRefund shows the form, with what was typed and what is wrong with it; notice says why it is shown again.
func (a *App) askRefund(c *fiber.Ctx, status int, order models.Order, g giving, wrong map[string]string, notice string) error {
	done, kept, err := a.store.Returned(c.UserContext(), order.ID)
	if errors.Is(err, models.ErrNotFound) {
		return a.answerOrder(c, fiber.StatusConflict, order, fmt.Sprintf("Nothing was paid for order %d, so there is nothing to give back.", order.Number))
	}
	if err != nil {
		return err
	}
	if kept.LeftPaise() < models.LeastPayablePaise {
		return a.answerGivenBack(c, order)
	}
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffRefundPage(views.StaffRefundView{Page: page, Order: order, LeftPaise: kept.LeftPaise(),
		Lines: refundLines(order, done, g.picked), Typed: g.typed, Errors: wrong, Notice: notice}))
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
// The form brings along what was on its way back when the person decided (seen) and what the review came to (shown). When money has moved
// since, nothing is done and a fresh review is shown; the same form twice is answered as once.
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
	switch {
	case step != "review" && step != "change" && step != "confirm":
		return fmt.Errorf("%w: step", errBadForm)
	case step == "review" && (f.has("seen") || f.has("shown")):
		return fmt.Errorf("%w: nothing was shown yet", errBadForm)
	case isStale(c):
		return a.askRefund(c, fiber.StatusConflict, order, g, nil, staleNotice)
	case step == "change":
		return a.askRefund(c, fiber.StatusOK, order, g, nil, "")
	case len(wrong) > 0 && step == "confirm":
		return fmt.Errorf("%w: a review of nothing", errBadForm)
	case len(wrong) > 0:
		return a.askRefund(c, fiber.StatusUnprocessableEntity, order, g, wrong, "")
	case step == "review":
		return a.reviewRefund(c, order, g, "")
	}
	return a.confirmRefund(c, order, g, f)
}

// confirmRefund gives back what the review showed, or shows it anew.
func (a *App) confirmRefund(c *fiber.Ctx, order models.Order, g giving, f form) error {
	seen, err := parsePaise(f.get("seen"))
	if err != nil {
		return err
	}
	shown, err := parsePaise(f.get("shown"))
	if err != nil {
		return err
	}
	ctx, me := c.UserContext(), shiftOf(c).member.ID
	share, kept, err := a.store.ShareOf(ctx, order.ID, g.asked)
	switch {
	case kept.ID != 0 && kept.RefundReservedPaise != seen:
		err = models.ErrBadMove
	case err == nil && share.Amount() != shown:
		return a.reviewRefund(c, order, g, "It comes to another amount than was shown. Nothing was given back; please look again.")
	case err == nil:
		_, err = a.cashier.RequestRefund(ctx, order.ID, g.asked, seen, g.typed.Reason, me)
	}
	if errors.Is(err, models.ErrBadMove) {
		a.note(c, err)
		newest, found, err := a.newestRefund(c, order)
		if err != nil {
			return err
		}
		mine := found && newest.Kind == "staff" && newest.RequestedBy == models.StaffActor(me) && newest.AmountPaise == shown && newest.Reason == g.typed.Reason
		if _, kept, err = a.store.Returned(ctx, order.ID); err != nil {
			return err
		}
		if mine && kept.RefundReservedPaise == seen+shown { // the same form came twice
			return redirect(c, fmt.Sprintf("/staff/orders/%d", order.ID))
		}
		return a.reviewRefund(c, order, g, a.movedMeanwhile(c, newest, found)+" Nothing more was done; please look again.")
	}
	if err != nil {
		return a.refuseRefund(c, order, g, err, "")
	}
	return redirect(c, fmt.Sprintf("/staff/orders/%d", order.ID))
}

// reviewRefund shows what goes back, part by part, and asks. Nothing is done. notice says why it is shown again: something changed meanwhile.
func (a *App) reviewRefund(c *fiber.Ctx, order models.Order, g giving, notice string) error {
	share, kept, err := a.store.ShareOf(c.UserContext(), order.ID, g.asked)
	if err != nil {
		return a.refuseRefund(c, order, g, err, notice)
	}
	done, _, err := a.store.Returned(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	view := views.StaffRefundReviewView{Order: order, Share: share, Typed: g.typed, SeenPaise: kept.RefundReservedPaise, Notice: notice}
	for _, l := range refundLines(order, done, g.picked) {
		if l.Picked > 0 {
			view.Lines = append(view.Lines, l)
		}
	}
	if view.Page, err = a.orderPage(c, order); err != nil {
		return err
	}
	status := fiber.StatusOK
	if notice != "" {
		status = fiber.StatusConflict
	}
	return a.render(c, status, views.StaffRefundReviewPage(view))
}

// refuseRefund answers what the shop says no to: beside its field, with what is left.
func (a *App) refuseRefund(c *fiber.Ctx, order models.Order, g giving, why error, notice string) error {
	a.note(c, why)
	tooMuch, tooSmall := errors.Is(why, models.ErrTooMuch), errors.Is(why, models.ErrTooSmall)
	if errors.Is(why, models.ErrNotFound) { // of the order's payment; the order itself is there
		return a.askRefund(c, fiber.StatusConflict, order, g, nil, notice)
	}
	if !tooMuch && !tooSmall {
		return why
	}
	_, kept, err := a.store.Returned(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	sentence := "That is more than is left. " + views.Rupees(kept.LeftPaise()) + " can still be given back."
	if tooSmall {
		sentence = "Razorpay gives back ₹1.00 or more at a time, so what goes back and what stays must not be less. " + views.Rupees(kept.LeftPaise()) + " is left."
	}
	where, status := map[string]string{"dishes": "pieces", "amount": "amount", "rest": "what"}[g.typed.What], fiber.StatusUnprocessableEntity
	if notice != "" {
		status = fiber.StatusConflict
	}
	return a.askRefund(c, status, order, g, map[string]string{where: sentence}, notice)
}

// newestRefund is the last one of an order's kept payment that counts.
func (a *App) newestRefund(c *fiber.Ctx, order models.Order) (newest models.Refund, found bool, err error) {
	refunds, err := a.store.ListRefunds(c.UserContext(), order.ID)
	for _, r := range refunds {
		if order.PaidPaymentID != nil && r.PaymentID == *order.PaidPaymentID && r.Status != "void" {
			newest, found = r, true
		}
	}
	return newest, found, err
}

// movedMeanwhile says what became of an order's money since somebody looked: the newest refund, by whom and when.
func (a *App) movedMeanwhile(c *fiber.Ctx, r models.Refund, found bool) string {
	if !found {
		return "Money of this order has moved meanwhile."
	}
	says := map[string]string{"processed": "%s was already given back (asked by %s at %s).", "failed": "%s was already asked for, and failed (asked by %s at %s)."}[r.Status]
	if says == "" {
		says = "%s is already on its way back (asked by %s at %s)."
	}
	return fmt.Sprintf(says, views.Rupees(r.AmountPaise), a.actors(c.UserContext()).name(r.RequestedBy), views.Clock(c.UserContext(), r.RequestedAt))
}

// answerGivenBack shows an order of which nothing is left to give back, with what went last, by whom and when.
func (a *App) answerGivenBack(c *fiber.Ctx, order models.Order) error {
	order, err := a.staffOrder(c, order.ID)
	if err != nil {
		return err
	}
	newest, found, err := a.newestRefund(c, order)
	if err != nil {
		return err
	}
	return a.answerOrder(c, fiber.StatusConflict, order, a.movedMeanwhile(c, newest, found)+" Nothing more was done.")
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
	default:
		g.typed.Reason = spoken(g.typed.Reason) // from here on it is what the customer reads
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
