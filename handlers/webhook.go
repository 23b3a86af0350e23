package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/payments"
)

// webhookTimeout ends before Razorpay stops waiting, which is after 5 s (Docs-Aug, "Best Practices"): a 503 is sent again, a silence too,
// but the first says why.
const webhookTimeout = 4 * time.Second

// receiveWebhook takes one delivery: the signature is over the bytes as they came, so nothing reads them before. Repeats get a 2xx like
// the first. It knows no cookie and no CSRF, and never redirects.
func (a *App) receiveWebhook(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), webhookTimeout)
	defer cancel()
	fresh, err := a.cashier.ReceiveWebhook(ctx, payments.Delivery{
		Body: c.Request().Body(), Signature: c.Get("X-Razorpay-Signature"), EventID: c.Get("X-Razorpay-Event-Id")})
	a.note(c, err)
	switch {
	case err == nil && fresh:
		return c.SendString("ok")
	case err == nil:
		return c.SendString("already processed")
	case errors.Is(err, payments.ErrBadSignature):
		return c.Status(fiber.StatusBadRequest).SendString("signature does not match")
	case errors.Is(err, payments.ErrTooLarge):
		return c.Status(fiber.StatusRequestEntityTooLarge).SendString("too large")
	}
	return c.Status(fiber.StatusServiceUnavailable).SendString("not stored, please send again")
}
