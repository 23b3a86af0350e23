package handlers

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// render writes a component as the answer. It is rendered whole before anything is sent, so that a view which fails becomes an error
// page and not half a page.
func (a *App) render(c *fiber.Ctx, status int, component templ.Component) error {
	var page bytes.Buffer
	// Rendering asks nobody anything, so it may also answer a request whose time is up: that is when it has to say so.
	if err := component.Render(context.WithoutCancel(c.UserContext()), &page); err != nil {
		return fmt.Errorf("render %s: %w", c.Route().Path, err)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(page.Bytes())
}

// isHTMX reports whether a fragment is wanted. When htmx restores a page after Back it has lost it and wants all of it.
func isHTMX(c *fiber.Ctx) bool {
	return c.Get("HX-Request") == "true" && c.Get("HX-History-Restore-Request") != "true"
}

// redirect sends the browser on to an address of ours, by GET.
func redirect(c *fiber.Ctx, to string) error {
	if isHTMX(c) {
		c.Set("HX-Redirect", to)
		return c.SendStatus(fiber.StatusNoContent)
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// page is what every page of an outlet needs. The session, where the page has a form, is asked for first (ensureGuest).
func (a *App) page(c *fiber.Ctx, title string, outlet models.Outlet) (views.Page, error) {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return views.Page{}, err
	}
	page := a.plainPage(c)
	page.Title, page.Outlet = title, outlet
	if len(outlets) > 1 && outlet.Slug != "" {
		page.MenuURL = menuURL(outlet)
	}
	return page, nil
}

// plainPage is a page that needs nothing of the database: for errors, and for where no outlet is known.
func (a *App) plainPage(c *fiber.Ctx) views.Page {
	page := views.Page{Origin: a.cfg.PublicURL, MenuURL: "/", CSRF: visitOf(c).csrf, TestMode: a.cfg.TestMode, Theme: themeOf(c), Now: a.now()}
	if guest := visitOf(c).guest; guest != nil {
		page.Account = guest.Email
	}
	return page
}

func themeOf(c *fiber.Ctx) string {
	if theme := c.Cookies(themeCookie); theme == "light" || theme == "dark" {
		return theme
	}
	return ""
}

// languageOf is the language a visitor is answered in: the one just chosen with ?lang=, which a cookie then keeps, else the cookie's, else
// the browser's. The staff's pages are in English. Only the languages there are come out of it, whatever a request says.
func (a *App) languageOf(c *fiber.Ctx) string {
	if path := c.Path(); path == "/staff" || strings.HasPrefix(path, "/staff/") {
		return ""
	}
	chosen := c.Query("lang", c.Cookies(languageCookie))
	tag := views.MatchLanguage(chosen, c.Get(fiber.HeaderAcceptLanguage))
	if tag == chosen && chosen != c.Cookies(languageCookie) {
		a.setCookie(c, languageCookie, tag, "/", languageAge)
	}
	return tag
}

func menuURL(outlet models.Outlet) string { return "/outlets/" + url.PathEscape(outlet.Slug) }

// activeOutlets lists the outlets that are open to visitors, once per request.
func (a *App) activeOutlets(c *fiber.Ctx) ([]models.Outlet, error) {
	v := visitOf(c)
	if v.outlets == nil {
		outlets, err := a.store.ListOutlets(c.UserContext())
		if err != nil {
			return nil, err
		}
		v.outlets = append([]models.Outlet{}, outlets...)
	}
	return v.outlets, nil
}

// Rules for caching: a page that may be shown again after Back is asked about (noCache), one with a bill, a name or a ticket on it is not
// kept at all (noStore).
const (
	noCache = "private, no-cache"
	noStore = "no-store"
)

// setHeaders gives an answer what every answer has. A handler may widen the policy for its own page (pay.go).
func (a *App) setHeaders(c *fiber.Ctx) {
	c.Set("X-Request-Id", visitOf(c).requestID)
	c.Set(fiber.HeaderVary, "HX-Request, Accept-Language, Cookie")
	c.Set(fiber.HeaderCacheControl, noStore)
	c.Set(fiber.HeaderContentSecurityPolicy, pagePolicy)
	c.Set(fiber.HeaderReferrerPolicy, "strict-origin-when-cross-origin") // an order's token never leaves in a Referer
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY") // for browsers that do not know frame-ancestors
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(self), payment=()")
	if a.isHTTPS() {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
}

// pagePolicy lets a page load, ask and send to this site alone. Nothing is inline: no script, no style.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// payPolicy is pagePolicy with Razorpay's origins in it. Checkout writes its own styles into the page, which no nonce can be given to.
func payPolicy(hosts []string) string {
	list := strings.Join(hosts, " ")
	return "default-src 'none'; script-src 'self' " + list + "; style-src 'self' 'unsafe-inline'; img-src 'self' data: " + list +
		"; font-src 'self'; connect-src 'self' " + list + "; frame-src 'self' " + list + "; manifest-src 'self'; form-action 'self' " + list +
		"; frame-ancestors 'none'; base-uri 'none'"
}
