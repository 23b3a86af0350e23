package handlers

import (
	"encoding/json"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"tiffin/views"
)

// showTimeline shows everything that happened to an order's money, in the order of time.
func (a *App) showTimeline(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	page, err := a.orderPage(c, order)
	if err != nil {
		return err
	}
	entries, err := a.store.ListTimeline(c.UserContext(), order.ID)
	if err != nil {
		return err
	}
	view := views.StaffTimelineView{Page: page, Staff: shiftOf(c).member, Order: order}
	who := a.actors(c.UserContext())
	for _, e := range entries {
		view.Entries = append(view.Entries, views.TimelineLine{TimelineEntry: e, Who: who.full(e.Actor)})
	}
	return a.render(c, fiber.StatusOK, views.StaffTimelinePage(view))
}

// downloadTimeline gives the same as a file, for a bank, Razorpay or an accountant: docs/timeline.md says what its fields mean.
func (a *App) downloadTimeline(c *fiber.Ctx) error {
	order, err := a.orderInAddress(c)
	if err != nil {
		return err
	}
	timeline, err := a.store.ReadTimeline(c.UserContext(), order)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(timeline, "", "  ")
	if err != nil {
		return fmt.Errorf("timeline of order %d: %w", order.ID, err)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
	c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="timeline-%s-%d.json"`, timeline.Order.ServiceOn, order.Number))
	return c.Send(append(text, '\n'))
}
