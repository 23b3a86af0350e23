package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/views"
)

// Errors of the door itself.
var (
	errBadForm   = errors.New("not a form of ours")            // wrapped with what is wrong about it; nobody sees that but the log
	errForeign   = errors.New("sent by another site's page")   // Sec-Fetch-Site says so
	errStaleForm = errors.New("the form's token is not valid") // an old page, or one of another session
	errForbidden = errors.New("not allowed to this person")
)

// answers is the one table from error to status and sentence; the first that fits counts. 400 is what our pages cannot send, 422 a
// person's typing, 409 that the shop has changed meanwhile, 404 that it is not there or not theirs.
var answers = []struct {
	is       error
	status   int
	sentence string
}{
	{models.ErrBadInput, 400, views.Key("That request was not one our pages send. Nothing was changed.")},
	{errBadForm, 400, views.Key("That request was not one our pages send. Nothing was changed.")},
	{payments.ErrBadSignature, 400, views.Key("We could not verify this report of a payment. If you have paid, your order's page shows it as soon as Razorpay tells us.")},
	{models.ErrSignedOut, 401, views.Key("You were signed out. Please sign in again.")},
	{models.ErrWrongLogin, 401, views.Key("Login or password is wrong.")},
	{errForeign, 403, views.Key("That came from another site's page, so we did nothing. Please start from our menu.")},
	{errStaleForm, 403, views.Key("This page had been open for too long, so nothing was changed. Please try once more.")},
	{errForbidden, 403, views.Key("That is not open to your login. Please ask the owner.")},
	{models.ErrNotFound, 404, views.Key("There is nothing at this address.")},
	{models.ErrNotOurs, 404, views.Key("There is nothing at this address.")},
	{models.ErrKeyReused, 409, views.Key("Checkout details have changed. Please look at your order again.")},
	{models.ErrBillChanged, 409, views.Key("The bill changed. Please look at it again before you pay.")},
	{models.ErrPreparing, 409, views.Key("We are still preparing the payment. Please try again in a moment.")},
	{models.ErrTooLate, 409, views.Key("It is too late for that: the kitchen has begun. Please call us.")},
	{models.ErrEdited, 409, views.Key("Somebody else has changed this meanwhile. Nothing was changed; please look at it again.")},
	{models.ErrBadMove, 409, views.Key("That is not possible any more: the order has moved on meanwhile.")},
	{models.ErrClosed, 409, views.Key("We are not taking orders now. Your cart keeps what you chose.")},
	{models.ErrTimeGone, 409, views.Key("That time has just been taken. Please choose another.")},
	{models.ErrOtherOutlet, 409, views.Key("Your order has dishes of another kitchen. Please finish or empty it first.")},
	{models.ErrEmptyCart, 409, views.Key("Your cart is empty.")},
	{models.ErrReviewClosed, 409, views.Key("The time to change this review is over. It stays as it is.")},
	{models.ErrNoRefund, 422, views.Key("Nothing of this order has been given back yet.")},
	{models.ErrTooMuch, 409, views.Key("That is more than is left to give back. Nothing was changed.")},
	{models.ErrTooSmall, 409, views.Key("The least that can be paid online is ₹1. Please add something to your order.")},
	{models.ErrAmountMismatch, 409, views.Key("The amount paid does not match the bill. We are looking into it.")},
	{payments.ErrTooLarge, 413, views.Key("That was too large. Nothing was changed.")},
	{models.ErrEnough, 429, views.Key("That is as much as we can take here for today. Please call us.")},
	{models.ErrTooManyBrowsers, 429, views.Key("Enough devices hear about this order already. Please stop one of them first.")},
	{models.ErrTooManyTries, 429, views.Key("Too many tries. Please wait a quarter of an hour.")},
	{payments.ErrNoGateway, 503, views.Key("The payment service does not answer at the moment. Nothing was charged and your order is saved.")},
	{payments.ErrUnconfirmed, 202, views.Key("We are confirming your payment. Please do not pay again.")},
	{models.ErrOtherMode, 503, busySentence},
	{context.DeadlineExceeded, 503, busySentence},
}

var (
	busySentence  = views.Key("We cannot answer just now, sorry. Please try again in a minute; if you have paid, do not pay again.")
	faultSentence = views.Key("Something went wrong on our side, sorry. Please try again in a minute; if you have paid, do not pay again.")
)

// explain gives an error's status and the sentence a visitor sees, in their language. It never shows an error's own text.
func explain(ctx context.Context, err error) (status int, sentence string) {
	var choice *models.ErrChoice
	var soldOut *models.ErrSoldOut
	var delivery *models.ErrDelivery
	var refused *fiber.Error
	var network net.Error
	switch {
	case errors.As(err, &choice):
		return 422, views.ChoiceText(ctx, choice)
	case errors.As(err, &soldOut):
		return 409, soldOutText(ctx, soldOut)
	case errors.As(err, &delivery):
		return 422, views.T(ctx, "We do not deliver there. Please look at the address again.")
	}
	for _, answer := range answers {
		if errors.Is(err, answer.is) {
			return answer.status, views.T(ctx, answer.sentence)
		}
	}
	switch {
	case errors.As(err, &network), models.IsUnavailable(err):
		return 503, views.T(ctx, busySentence)
	case errors.As(err, &refused):
		return refused.Code, views.T(ctx, refusalSentence(refused.Code))
	}
	return 500, views.T(ctx, faultSentence)
}

func refusalSentence(status int) string {
	switch {
	case status == 404:
		return views.Key("There is nothing at this address.")
	case status == 405:
		return views.Key("This address does not work that way. Please start from our menu.")
	case status == 413:
		return views.Key("That was too large. Nothing was changed.")
	case status < 500:
		return views.Key("That request was not one our pages send. Nothing was changed.")
	}
	return faultSentence
}

// soldOutText says what cannot be had, and how many still can.
func soldOutText(ctx context.Context, e *models.ErrSoldOut) string {
	if e.Left > 0 {
		return views.T(ctx, "Only %d portions of %s left.", e.Left, e.Name)
	}
	return views.OffText(ctx, e)
}

// panicError is a panic on its way to the log.
type panicError struct {
	fault string
	stack []byte
}

func (e *panicError) Error() string { return "panic: " + e.fault }

// fail is Fiber's error handler: it answers what never came to a handler of ours, such as a body over the limit.
func (a *App) fail(c *fiber.Ctx, err error) error {
	v := visitOf(c)
	c.SetUserContext(views.WithLanguage(c.UserContext(), a.languageOf(c)))
	a.setHeaders(c)
	answerErr := a.answerError(c, err)
	a.logRequest(c.UserContext(), c, v, unmatched, c.Response().StatusCode(), 0, err)
	return answerErr
}

// answerError makes an error a page, or, for htmx, a sentence for #toast. Whatever was rendered before is dropped; cookies stay.
func (a *App) answerError(c *fiber.Ctx, err error) error {
	status, sentence := explain(c.UserContext(), err)
	return a.showError(c, status, sentence)
}

// showError answers with a sentence of ours.
func (a *App) showError(c *fiber.Ctx, status int, sentence string) error {
	c.Response().ResetBody()
	a.setHeaders(c)
	view := views.ErrorView{Page: a.plainPage(c), Status: status, Sentence: sentence, RequestID: visitOf(c).requestID}
	component := views.ErrorPage(view)
	if isHTMX(c) {
		// The page's htmx swaps 409 and 422 where the form wants its answer; a toast must not land there.
		c.Set("HX-Retarget", "#toast")
		c.Set("HX-Reswap", "innerHTML")
		component = views.ErrorToast(view)
	}
	if err := a.render(c, status, component); err != nil {
		// A view that cannot be rendered is our fault; the visitor still gets a sentence.
		c.Type("txt", "utf-8")
		return c.Status(fiber.StatusInternalServerError).SendString(views.T(c.UserContext(), faultSentence) + "\n" + view.RequestID + "\n")
	}
	return nil
}

// note keeps an error for the log that the handler answers itself. nil is nothing to note.
func (a *App) note(c *fiber.Ctx, err error) {
	if err != nil {
		visitOf(c).cause = err
	}
}

// logRequest writes the one line a request leaves. It names the route, not the path, and neither query, cookie, body nor address of
// a person; a path that is no route of ours is masked, since a mistyped link still holds its order's token.
func (a *App) logRequest(ctx context.Context, c *fiber.Ctx, v *visit, route string, status int, took time.Duration, cause error) {
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("request_id", v.requestID), slog.String("method", c.Method()), slog.String("route", route),
		slog.Int("status", status), slog.Int64("ms", took.Milliseconds())}
	if route == unmatched {
		attrs = append(attrs, slog.String("path", maskPath(c.Path())))
	}
	switch {
	case status >= 500:
		level = slog.LevelError
	case strings.HasPrefix(route, "/static/"), route == "/healthz", route == "/readyz":
		level = slog.LevelDebug
	}
	var refused *fiber.Error
	if cause != nil && !errors.As(cause, &refused) { // the router's own errors repeat the path, and say no more than the status
		attrs = append(attrs, slog.String("error", cause.Error()))
		var fault *panicError
		if errors.As(cause, &fault) {
			attrs = append(attrs, slog.String("stack", string(fault.stack)))
		}
	}
	a.log.LogAttrs(ctx, level, "request", attrs...)
}

// maskPath keeps a path's first word: what follows may be an order's token, or anything else somebody typed.
func maskPath(path string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if len(first) > 20 {
		return "/…"
	}
	if rest != "" {
		return "/" + first + "/…"
	}
	return "/" + first
}
