package handlers

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
)

// Cookies. A guest's and a staff member's are two, so that signing in at the board never takes away the cart of whoever tries the shop
// in the same browser; the staff's is sent below /staff only.
const (
	guestCookie    = "sid"
	staffCookie    = "staff_sid"
	cartCookie     = "cartv" // readable: the page's script compares it after Back (ux.md section 6)
	dietCookie     = "diet"
	wayCookie      = "way"
	themeCookie    = "theme"
	languageCookie = "lang"

	guestCookieAge = 60 * 24 * time.Hour // as long as the row lives (models.CreateGuestSession)
	languageAge    = 365 * 24 * time.Hour
	staffCookieAge = 12 * time.Hour // as long as the row lives (models.SignInStaff)

	maxToken = 64 // characters; ours have 26, and nothing longer is worth a query
)

// visit is what one request has learned about its visitor so far. It lives as long as the request, in c.Locals.
type visit struct {
	requestID string
	known     bool // guest and token were looked up
	token     string
	guest     *models.Session // nil: none
	csrf      string          // what forms on this request's page carry; empty until a session is known
	outlets   []models.Outlet // the active ones; nil until asked for
	cause     error           // what was answered in words of its own and still belongs into the log; see note
}

const visitKey = "visit"

// visitOf returns the request's visit. A request that never passed the door gets one of its own.
func visitOf(c *fiber.Ctx) *visit {
	v, ok := c.Locals(visitKey).(*visit)
	if !ok {
		v = &visit{requestID: newRequestID()}
		c.Locals(visitKey, v)
	}
	return v
}

func newRequestID() string { return rand.Text()[:12] }

// findGuest returns the visitor's session, if the cookie opens one. It writes nothing. Errors: models.ErrSignedOut when there is none.
func (a *App) findGuest(c *fiber.Ctx) (models.Session, error) {
	v := visitOf(c)
	if v.known {
		if v.guest == nil {
			return models.Session{}, models.ErrSignedOut
		}
		return *v.guest, nil
	}
	session, err := a.findSession(c.UserContext(), c.Cookies(guestCookie))
	if err == nil && session.CustomerID == nil {
		err = models.ErrSignedOut
	}
	switch {
	case errors.Is(err, models.ErrSignedOut):
		v.known = true
		return models.Session{}, models.ErrSignedOut
	case err != nil:
		return models.Session{}, err
	}
	v.known, v.token, v.guest, v.csrf = true, c.Cookies(guestCookie), &session, csrfToken(c.Cookies(guestCookie))
	return session, nil
}

// ensureGuest returns the visitor's session and makes one where there is none: for pages with a form on them. A HEAD request gets an
// empty one, since nobody can send a form from it.
func (a *App) ensureGuest(c *fiber.Ctx) (models.Session, error) {
	session, err := a.findGuest(c)
	if !errors.Is(err, models.ErrSignedOut) {
		return session, err
	}
	if c.Method() == fiber.MethodHead {
		return models.Session{}, nil
	}
	token, session, err := a.store.CreateGuestSession(c.UserContext())
	if err != nil {
		return models.Session{}, err
	}
	v := visitOf(c)
	v.known, v.token, v.guest, v.csrf = true, token, &session, csrfToken(token)
	a.setCookie(c, guestCookie, token, "/", guestCookieAge)
	return session, nil
}

// findSession reads the session a token opens. A token we cannot have made opens none.
func (a *App) findSession(ctx context.Context, token string) (models.Session, error) {
	if token == "" || len(token) > maxToken {
		return models.Session{}, models.ErrSignedOut
	}
	return a.store.FindSession(ctx, token)
}

// setCookie gives the browser a cookie no script can read, of this site's own requests only. An age of 0 or less takes it away.
func (a *App) setCookie(c *fiber.Ctx, name, value, path string, age time.Duration) {
	c.Cookie(&fiber.Cookie{Name: name, Value: value, Path: path, MaxAge: cookieSeconds(age), HTTPOnly: true, Secure: a.isHTTPS(), SameSite: fiber.CookieSameSiteLaxMode})
}

func cookieSeconds(age time.Duration) int {
	if age <= 0 {
		return -1
	}
	return int(age / time.Second)
}

// csrfToken is what a form of this session carries: a keyed hash of a fixed word, so that it needs no row and no further secret, and
// does not tell the session's token.
func csrfToken(sessionToken string) string {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("csrf"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// checkForm says whether a POST comes from a page we gave the owner of this session token: the browser does not say that another site
// sent it, and it carries the session's CSRF token, in the header that htmx sends or in the form. Errors: errForeign, errStaleForm.
func checkForm(c *fiber.Ctx, sessionToken string) error {
	if !isOwnOrigin(c) {
		return errForeign
	}
	if sessionToken == "" {
		return fmt.Errorf("no session: %w", errStaleForm)
	}
	want := []byte(csrfToken(sessionToken))
	// Either will do: after a fragment was swapped in, its form is newer than the header, which stands in the page's body.
	inHeader := hmac.Equal([]byte(c.Get("X-CSRF-Token")), want)
	inForm := hmac.Equal([]byte(postedCSRF(c)), want)
	if !inHeader && !inForm {
		return errStaleForm
	}
	return nil
}

// isOwnOrigin trusts the browser's own word about where a request began. Browsers without it (before 2020) send nothing, and then the
// token alone decides.
func isOwnOrigin(c *fiber.Ctx) bool {
	switch c.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// guardForm lets a customer's form through if it is ours. One whose token is stale goes on with that noted, for its handler to show the
// form again, filled in, with a fresh token: an old tab must not be a dead end (handlers ask isStale).
func (a *App) guardForm(c *fiber.Ctx) error {
	if _, err := a.findGuest(c); err != nil && !errors.Is(err, models.ErrSignedOut) {
		return err
	}
	switch err := checkForm(c, visitOf(c).token); {
	case errors.Is(err, errStaleForm):
		c.Locals(staleKey, true)
	case err != nil:
		return err
	}
	return c.Next()
}

const staleKey = "stale"

// isStale reports that the form came without a valid token: whatever it asks must not be done.
func isStale(c *fiber.Ctx) bool { return c.Locals(staleKey) == true }
