package handlers

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	accountURL = "/account"
	signInURL  = "/sign-in"
	codeURL    = "/sign-in/code"

	codePause = time.Minute // between two letters to one address, as models has it
)

// pagesAfter are where signing in may lead: an address to go on to would be anybody's to write.
var pagesAfter = map[string]string{"account": accountURL, "checkout": "/checkout"}

// goesTo is the word for the page after signing in; whatever else is asked for is the account.
func goesTo(asked string) string {
	if pagesAfter[asked] == "" {
		return "account"
	}
	return asked
}

// accountPage is a page of no outlet in particular; where there is one outlet, it is that one's.
func (a *App) accountPage(c *fiber.Ctx, title string) (views.Page, error) {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return views.Page{}, err
	}
	var outlet models.Outlet
	if len(outlets) == 1 {
		outlet = outlets[0]
	}
	return a.page(c, title, outlet)
}

// showSignIn asks for an address; whoever is signed in goes to the account.
func (a *App) showSignIn(c *fiber.Ctx) error {
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	to := goesTo(c.Query("to"))
	if session.Email != "" {
		return redirect(c, pagesAfter[to])
	}
	return a.askAddress(c, fiber.StatusOK, views.SignInView{GoesTo: to})
}

func (a *App) askAddress(c *fiber.Ctx, status int, view views.SignInView) (err error) {
	if view.Page, err = a.accountPage(c, views.T(c.UserContext(), "Sign in")); err != nil {
		return err
	}
	return a.render(c, status, views.SignInPage(view))
}

// askCode shows the code's form for what this browser has asked for; a browser that has asked for nothing is sent to ask.
func (a *App) askCode(c *fiber.Ctx, status int, session models.Session, sentence string) error {
	request, err := a.store.FindCode(c.UserContext(), session.ID)
	if errors.Is(err, models.ErrNotFound) {
		return redirect(c, signInURL)
	}
	if err != nil {
		return err
	}
	view := views.SignInView{Email: request.Email, GoesTo: request.GoesTo, Error: sentence, IsOver: request.IsOver}
	if view.IsOver && view.Error == "" {
		view.Error = views.T(c.UserContext(), "This code is not good any more. Please ask for another.")
	}
	if view.Page, err = a.accountPage(c, views.T(c.UserContext(), "Sign in")); err != nil {
		return err
	}
	return a.render(c, status, views.CodePage(view))
}

// sendCode has a code sent to the address that was typed. It answers the same, in the same time, whether there is an account or not: it
// does not look.
func (a *App) sendCode(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "email", max: 1000}, field{name: "to", max: 20})
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	view := views.SignInView{Email: strings.TrimSpace(f.get("email")), GoesTo: goesTo(f.get("to"))}
	session, err := a.ensureGuest(c)
	switch {
	case err != nil:
		return err
	case session.Email != "":
		return redirect(c, pagesAfter[view.GoesTo])
	case isStale(c):
		a.note(c, errStaleForm)
		_, view.Error = explain(c.UserContext(), errStaleForm)
		return a.askAddress(c, fiber.StatusForbidden, view)
	case !isEmail(view.Email):
		view.Error = views.T(ctx, "An email address looks like name@example.com.")
		return a.askAddress(c, fiber.StatusUnprocessableEntity, view)
	}
	err = a.store.RequestCode(ctx, session, view.Email, view.GoesTo, views.LanguageOf(ctx), a.clientAddress(c))
	switch {
	case err == nil:
		return redirect(c, codeURL)
	case errors.Is(err, models.ErrSignedOut): // signed in, or out, in another tab meanwhile
		return redirect(c, signInURL)
	case errors.Is(err, models.ErrTooSoon):
		a.note(c, err)
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(codePause/time.Second)))
		view.Error = views.T(ctx, "A code went to this address a moment ago. Please wait a minute before you ask for another.")
		email, _ := models.NormalEmail(view.Email)
		if asked, findErr := a.store.FindCode(ctx, session.ID); findErr == nil && asked.Email == email && !asked.IsOver {
			return a.askCode(c, fiber.StatusTooManyRequests, session, view.Error)
		}
		return a.askAddress(c, fiber.StatusTooManyRequests, view)
	case errors.Is(err, models.ErrTooManyTries):
		a.note(c, err)
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(triesPause/time.Second)))
		view.Error = views.T(ctx, "That was asked for too often. Please wait a while and try again; you can order without signing in.")
		return a.askAddress(c, fiber.StatusTooManyRequests, view)
	}
	return err
}

// showCode asks for the code of the letter.
func (a *App) showCode(c *fiber.Ctx) error {
	session, err := a.findGuest(c)
	if errors.Is(err, models.ErrSignedOut) {
		return redirect(c, signInURL)
	}
	if err != nil {
		return err
	}
	if session.Email != "" {
		return redirect(c, accountURL)
	}
	return a.askCode(c, fiber.StatusOK, session, "")
}

var sixDigits = regexp.MustCompile(`^[0-9]{6}$`)

// signInCustomer takes the code. The browser's token is another one from then on, and the one it came with opens nothing.
func (a *App) signInCustomer(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "code", max: 100})
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	session, err := a.findGuest(c)
	switch {
	case errors.Is(err, models.ErrSignedOut): // another tab was first, and this one still had the old token: the page it is sent to sees the new
		return redirect(c, signInURL)
	case err != nil:
		return err
	case session.Email != "":
		return redirect(c, accountURL)
	case isStale(c):
		a.note(c, errStaleForm)
		_, sentence := explain(c.UserContext(), errStaleForm)
		return a.askCode(c, fiber.StatusForbidden, session, sentence)
	}
	typed := strings.NewReplacer(" ", "", "-", "").Replace(f.get("code"))
	if !sixDigits.MatchString(typed) { // no code of ours: not a guess
		return a.askCode(c, fiber.StatusUnprocessableEntity, session, views.T(ctx, "The code has six digits. You find it in the letter."))
	}
	token, request, err := a.store.SignIn(ctx, session, typed, a.clientAddress(c))
	switch {
	case err == nil:
		a.setCookie(c, guestCookie, token, "/", guestCookieAge)
		return redirect(c, pagesAfter[goesTo(request.GoesTo)])
	case errors.Is(err, models.ErrSignedOut):
		return redirect(c, signInURL)
	case errors.Is(err, models.ErrWrongCode):
		a.note(c, err)
		if left := request.TriesLeft(); left > 0 {
			return a.askCode(c, fiber.StatusUnprocessableEntity, session, views.T(ctx, "That is not the code of the newest letter. Tries left: %d.", left))
		}
		return a.askCode(c, fiber.StatusUnprocessableEntity, session, views.T(ctx, "That was not the code either. Please ask for another."))
	case errors.Is(err, models.ErrCodeGone):
		a.note(c, err)
		return a.askCode(c, fiber.StatusConflict, session, "")
	case errors.Is(err, models.ErrTooManyTries):
		a.note(c, err)
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(triesPause/time.Second)))
		_, sentence := explain(ctx, err)
		return a.askCode(c, fiber.StatusTooManyRequests, session, sentence)
	}
	return err
}

// signOutCustomer ends this browser's session for good, or those of all of the account's browsers.
func (a *App) signOutCustomer(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "everywhere", max: 1})
	if err != nil {
		return err
	}
	session, err := a.findGuest(c)
	switch {
	case errors.Is(err, models.ErrSignedOut):
		return redirect(c, "/")
	case err != nil:
		return err
	case isStale(c):
		return errStaleForm
	case session.Email == "":
		return redirect(c, "/")
	case f.has("everywhere"):
		err = a.store.EndSessionsOf(c.UserContext(), *session.CustomerID)
	default:
		err = a.store.EndSession(c.UserContext(), session.ID)
	}
	if err != nil {
		return err
	}
	a.setCookie(c, guestCookie, "", "/", 0)
	return redirect(c, "/")
}
