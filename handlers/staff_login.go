package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	loginURL = "/staff/login"
	boardURL = "/staff" // the one page a login leads to: an address to go on to would be anybody's to write

	// triesPause is what a browser is told to wait after too many tries: the window models counts them in.
	triesPause = 15 * time.Minute
)

// showLogin shows the form, or, to whoever is signed in already, the board.
func (a *App) showLogin(c *fiber.Ctx) error {
	_, err := a.findMember(c, c.Cookies(staffCookie))
	if err == nil {
		return redirect(c, boardURL)
	}
	if !errors.Is(err, models.ErrSignedOut) {
		return err
	}
	return a.askLogin(c, fiber.StatusOK, "", "")
}

// askLogin shows the form with the login as typed; never the password. Its token is the guest session's, as there is no other yet.
func (a *App) askLogin(c *fiber.Ctx, status int, login, sentence string) error {
	if _, err := a.ensureGuest(c); err != nil {
		return err
	}
	page := a.plainPage(c)
	page.Title = "Staff"
	return a.render(c, status, views.StaffLoginPage(views.StaffLoginView{Page: page, Login: login, Error: sentence}))
}

// signIn opens a staff session under a new token; the one the browser had at this door before is dead from then on. A wrong login and a
// wrong password look the same and take the same work.
func (a *App) signIn(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "login", max: 1000}, field{name: "password", max: 1000})
	if err != nil {
		return err
	}
	if _, err := a.findGuest(c); err != nil && !errors.Is(err, models.ErrSignedOut) {
		return err
	}
	err = checkForm(c, visitOf(c).token)
	if errors.Is(err, errStaleForm) {
		_, sentence := explain(c.UserContext(), err)
		return a.askLogin(c, fiber.StatusForbidden, f.get("login"), sentence)
	}
	if err != nil {
		return err
	}
	token, _, err := a.store.SignInStaff(c.UserContext(), f.get("login"), f.get("password"), a.clientAddress(c))
	if errors.Is(err, models.ErrWrongLogin) || errors.Is(err, models.ErrTooManyTries) {
		status, sentence := explain(c.UserContext(), err)
		if status == fiber.StatusTooManyRequests {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(triesPause/time.Second)))
		}
		return a.askLogin(c, status, f.get("login"), sentence)
	}
	if err != nil {
		return err
	}
	if err := a.endStaffSession(c); err != nil {
		return err
	}
	a.setCookie(c, staffCookie, token, "/staff", staffCookieAge)
	return redirect(c, boardURL)
}

// signOut ends the session for good: its token opens nothing any more, on no device.
func (a *App) signOut(c *fiber.Ctx) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	token := c.Cookies(staffCookie)
	_, err := a.findMember(c, token)
	if err == nil {
		if err := checkForm(c, token); err != nil {
			return err
		}
		if err := a.endStaffSession(c); err != nil {
			return err
		}
	} else if !errors.Is(err, models.ErrSignedOut) {
		return err
	}
	a.setCookie(c, staffCookie, "", "/staff", 0)
	a.setCookie(c, outletCookie, "", "/staff", 0)
	return redirect(c, loginURL)
}

// endStaffSession ends the session the staff cookie opens, if it opens one of staff: a guest's is not this door's to end.
func (a *App) endStaffSession(c *fiber.Ctx) error {
	session, err := a.findSession(c.UserContext(), c.Cookies(staffCookie))
	if errors.Is(err, models.ErrSignedOut) || err == nil && session.StaffID == nil {
		return nil
	}
	if err != nil {
		return err
	}
	return a.store.EndSession(c.UserContext(), session.ID)
}
