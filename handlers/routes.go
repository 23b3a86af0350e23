package handlers

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"

	"tiffin/views"
)

// route is one line of the table: what is asked, whether it must come from our own form, and who answers.
type route struct {
	method string
	path   string
	form   bool // a form of ours: same origin, and the session's CSRF token (session.go)
	answer fiber.Handler
}

// routes is every way in but the staff's, which are in staff_routes.go. A GET changes nothing but that it may open a session.
func (a *App) routes() []route {
	const get, post = fiber.MethodGet, fiber.MethodPost
	return []route{
		{get, "/", false, a.showFront},
		{get, "/outlets/:slug", false, a.showOutlet},
		{get, "/menu/:slug", false, a.showDish},

		{get, "/cart", false, a.showCart},
		{post, "/cart", true, a.changeCart},

		{get, "/checkout", false, a.showCheckout},
		{post, "/checkout", true, a.placeOrder},
		{post, "/checkout/extras", true, a.changeExtras},

		{get, "/pay/:token", false, a.showPay},
		{post, "/pay/:token", true, a.openPayment},

		// These two come from elsewhere and bring a signature instead of a cookie.
		{post, "/payments/verify", false, a.verifyPayment},
		{post, "/webhooks/razorpay", false, a.receiveWebhook},

		{get, "/orders/:token", false, a.showOrder},
		{get, "/orders/:token/status", false, a.showOrderStatus},
		{get, "/orders/:token/events", false, a.streamOrder},
		{post, "/orders/:token/cancel", true, a.cancelOrder},
		{post, "/orders/:token/push", true, a.subscribe},
		{post, "/orders/:token/push/stop", true, a.unsubscribe},
		{get, "/orders/:token/invoice", false, a.showInvoice},
		{get, "/orders/:token/papers/:number", false, a.showPaper},
		{post, "/orders/:token/shortages/:id", true, a.answerShortage},
		{post, "/orders/:token/again", true, a.orderAgain},
		{get, "/orders/:token/complaints", false, a.showNewComplaint},
		{post, "/orders/:token/complaints", true, a.openComplaint},
		{get, "/orders/:token/complaints/:number", false, a.showComplaint},
		{post, "/orders/:token/complaints/:number", true, a.writeToComplaint},
		{get, "/orders/:token/review", false, a.showReview},
		{post, "/orders/:token/review", true, a.writeReview},
		{get, "/reviews", false, a.showReviews},

		{get, "/sign-in", false, a.showSignIn},
		{post, "/sign-in", true, a.sendCode},
		{get, "/sign-in/code", false, a.showCode},
		{post, "/sign-in/code", true, a.signInCustomer},
		{get, "/account", false, a.showAccount},
		{post, "/account/sign-out", true, a.signOutCustomer},
		{get, "/account/data", false, a.downloadData},
		{get, "/account/delete", false, a.showDeleteAccount},
		{post, "/account/delete", true, a.deleteAccount},
		{get, "/account/deleted", false, a.showDeleted},
		{get, "/account/addresses/:id", false, a.showAddress},
		{post, "/account/addresses", true, a.saveAddress},
		{post, "/account/addresses/delete", true, a.dropAddress},
		{post, "/account/addresses/use", true, a.useAddress},

		{get, "/photos/:name", false, a.servePhoto},
		{get, "/static/*", false, a.serveStatic},
		{get, "/policies/:name", false, a.showPolicy},
		{get, "/offline", false, a.showOffline},
		{get, "/manifest.webmanifest", false, a.showManifest},
		{get, "/sw.js", false, a.serveWorker},
		{get, "/sitemap.xml", false, a.showSitemap},
		{get, "/robots.txt", false, a.showRobots},
		{get, "/healthz", false, a.showHealth},
		{get, "/readyz", false, a.showReadiness},
	}
}

func (a *App) register(r fiber.Router) {
	r.Use(a.door)
	r.Use(compress.New(compress.Config{Next: comesPacked}))
	for _, line := range a.routes() {
		answers := []fiber.Handler{line.answer}
		if line.form {
			answers = []fiber.Handler{a.guardForm, line.answer}
		}
		r.Add(line.method, line.path, answers...)
		if line.method == fiber.MethodGet {
			r.Head(line.path, answers...)
		}
	}
	a.staffRoutes(r)
}

// comesPacked reports what must not be compressed on its way out: event streams, which have to arrive at once, and the static files,
// which are compressed already.
func comesPacked(c *fiber.Ctx) bool {
	path := c.Path()
	return strings.HasSuffix(path, "/events") || strings.HasPrefix(path, "/static/")
}

// door is the first and last to see a request: it numbers it, bounds it, sets the headers every answer has, turns what went wrong
// into a page, and writes the one log line.
func (a *App) door(c *fiber.Ctx) error {
	began := a.now()
	v := &visit{requestID: newRequestID()}
	c.Locals(visitKey, v)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	c.SetUserContext(views.WithLanguage(ctx, a.languageOf(c)))
	a.setHeaders(c)

	err := a.withoutPanic(c)
	route := routeOf(c, err)
	cause := err
	if err != nil {
		err = a.answerError(c, err)
	}
	status := c.Response().StatusCode()
	took := a.now().Sub(began)
	if cause == nil {
		cause = v.cause
	}
	a.metrics.observe(route, c.Method(), status, took)
	a.logRequest(ctx, c, v, route, status, took, cause)
	return err
}

// withoutPanic runs the rest of the chain and makes a panic an error like any other.
func (a *App) withoutPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &panicError{fault: fmt.Sprint(fault), stack: debug.Stack()}
		}
	}()
	return c.Next()
}
