package handlers

import (
	"errors"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
)

// showHealth says that the process is alive and asks nobody: a database that is down is no reason to restart us.
func (a *App) showHealth(c *fiber.Ctx) error { return c.SendString("ok\n") }

// showReadiness says whether visitors may be sent here: the database answers, its schema is ours, and the workers run.
func (a *App) showReadiness(c *fiber.Ctx) error {
	if err := a.readiness(c); err != nil {
		a.log.WarnContext(c.UserContext(), "not ready", "error", err)
		return c.Status(fiber.StatusServiceUnavailable).SendString("not ready\n") // the reason is in the log: it may name hosts
	}
	return c.SendString("ready\n" + a.silence(c))
}

// silence is a line about webhooks that do not come though payments do. It is no reason to get no visitors: the sweeps find the money.
func (a *App) silence(c *fiber.Ctx) string {
	open, err := a.store.CountTasks(c.UserContext())
	if err != nil || open[models.TaskSilence] == 0 {
		return ""
	}
	last, err := a.store.LastEventAt(c.UserContext())
	switch {
	case err != nil:
		return ""
	case last == nil:
		return "no webhook has ever come\n"
	default:
		return "no webhook since " + last.UTC().Format(time.RFC3339) + "\n"
	}
}

func (a *App) readiness(c *fiber.Ctx) error {
	if err := a.store.Ping(c.UserContext()); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if a.deps.Ready != nil {
		if err := a.deps.Ready(c.UserContext()); err != nil {
			return err
		}
	}
	if a.deps.WorkersAlive != nil && !a.deps.WorkersAlive() {
		return errors.New("the job workers do not run")
	}
	return nil
}

// showRobots keeps crawlers to the menu: everything else is one person's.
func (a *App) showRobots(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=86400")
	return c.SendString("User-agent: *\nDisallow: /cart\nDisallow: /checkout\nDisallow: /pay/\nDisallow: /orders/\nDisallow: /staff\nSitemap: " + a.cfg.PublicURL + "/sitemap.xml\n")
}
