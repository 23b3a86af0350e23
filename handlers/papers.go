package handlers

import (
	"fmt"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// showInvoice leads to the invoice or bill of an order, and while there is none to the receipt of its payment.
func (a *App) showInvoice(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	papers, err := a.store.ListPapers(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	if len(papers) == 0 {
		return models.ErrNotFound
	}
	to := papers[0]
	for _, p := range papers {
		if p.Cause == "handed_over" {
			to = p
		}
	}
	return redirect(c, orderURL(order)+"/papers/"+to.PathNumber())
}

// showPaper is a paper of an order, for whoever has the order's link.
func (a *App) showPaper(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	return a.answerPaper(c, order, orderURL(order))
}

// showStaffPaper is the same for staff of the order's outlet.
func (a *App) showStaffPaper(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	return a.answerPaper(c, order, staffOrderURL(order.ID))
}

func (a *App) answerPaper(c *fiber.Ctx, order models.Order, back string) error {
	paper, err := a.store.FindPaper(c.UserContext(), order.ID, pathWord(c, "number"))
	if err != nil {
		return err
	}
	view := views.PaperView{Page: a.plainPage(c), Paper: paper, Order: order, Back: back}
	if paper.RefundID != nil {
		refunds, err := a.store.ListRefunds(c.UserContext(), order.ID)
		if err != nil {
			return err
		}
		view.Refund = lastRequest(refunds, *paper.RefundID)
	}
	c.Set("X-Robots-Tag", "noindex")
	return a.render(c, fiber.StatusOK, views.PaperPage(view))
}

// lastRequest is the latest request for the money that a refund was to give back: a failed one is asked for again by another. One that was
// taken back has none: what goes back in its place has a paper of its own.
func lastRequest(refunds []models.Refund, refundID string) (last *models.Refund) {
	for again := true; again; {
		again = false
		for i, r := range refunds {
			if r.ID == refundID || last != nil && last.Status == "failed" && r.RetryOf != nil && *r.RetryOf == last.ID {
				last, again, refundID = &refunds[i], true, ""
			}
		}
	}
	return last
}

// printTicket notes that a ticket is printed once more and leads to what is printed.
func (a *App) printTicket(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerOrder(c, fiber.StatusConflict, order, staleNotice)
	}
	nth, err := a.store.PrintTicket(c.UserContext(), order.ID, models.StaffActor(shiftOf(c).member.ID))
	if err != nil {
		return err
	}
	return redirect(c, fmt.Sprintf("%s/ticket/%d", staffOrderURL(order.ID), nth))
}

// showTicketPrint is a kitchen ticket as it was printed the nth time.
func (a *App) showTicketPrint(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	nth, err := parseID(c.Params("nth"))
	if err != nil || nth > 1<<30 {
		return models.ErrNotFound
	}
	view := views.TicketView{Order: order, Nth: int(nth)}
	if view.PrintedAt, err = a.store.FindTicketPrint(c.UserContext(), order.ID, int(nth)); err != nil {
		return err
	}
	if view.Ticket, err = a.store.FindFulfilment(c.UserContext(), order.ID); err != nil {
		return err
	}
	if view.Shortages, err = a.store.ListShortages(c.UserContext(), order.ID); err != nil {
		return err
	}
	if view.Page, err = a.orderPage(c, order); err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.KitchenTicketPage(view))
}

func staffOrderURL(orderID int64) string { return fmt.Sprintf("/staff/orders/%d", orderID) }
