package handlers

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const auditURL = "/staff/audit"

// showAudit shows where every paisa of a day is, or of all time: of all outlets for who owns them all, of one's own for others. A day that
// is none is today.
func (a *App) showAudit(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	view := views.StaffAuditView{Page: page, Staff: shiftOf(c).member, Today: page.Now.In(models.India).Format(time.DateOnly)}
	scope := models.AuditScope{Day: c.Query("day")}
	if _, err := time.Parse(time.DateOnly, scope.Day); err != nil {
		scope.Day = view.Today
	}
	if c.Query("day") == "all" {
		scope.Day = ""
	}
	if view.Staff.OutletID != nil {
		scope.OutletID = *view.Staff.OutletID
	}
	if view.Audit, err = a.store.AuditPaise(c.UserContext(), scope); err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.StaffAuditPage(view))
}
