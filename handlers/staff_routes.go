package handlers

import (
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"tiffin/models"
)

// staffRoute is one line of the staff's table: whoever it lets in works here and is signed in.
type staffRoute struct {
	method string
	path   string
	form   bool                    // a form of ours: same origin, and the session's CSRF token
	may    func(models.Staff) bool // whose business it is; nil: everybody's who works here
	answer fiber.Handler
}

// staffTable is every way in below /staff but signing in and out. What one outlet's staff ask about another's is 404, in each handler.
func (a *App) staffTable() []staffRoute {
	const get, post = fiber.MethodGet, fiber.MethodPost
	return append(a.settingsTable(), []staffRoute{
		{get, "/staff", false, nil, a.showBoardPage},
		{get, "/staff/board", false, nil, a.showBoardColumns},
		{get, "/staff/events", false, nil, a.streamBoard},
		{post, "/staff/open", true, nil, a.setOpen},
		{post, "/staff/close", true, mayRefund, a.closeKitchen}, // money that still comes is given back

		{get, "/staff/orders/:id", false, nil, a.showStaffOrder},
		{get, "/staff/orders/:id/timeline", false, nil, a.showTimeline},
		{get, "/staff/orders/:id/timeline.json", false, nil, a.downloadTimeline},
		{post, "/staff/orders/:id/move", true, nil, a.moveTicket},
		{post, "/staff/orders/:id/late", true, nil, a.runLate},
		{get, "/staff/orders/:id/cancel", false, mayRefund, a.showCancel},
		{post, "/staff/orders/:id/cancel", true, mayRefund, a.cancelByStaff},
		{get, "/staff/orders/:id/shortage", false, nil, a.showShortage},
		{post, "/staff/orders/:id/shortage", true, nil, a.reportShortage},
		{post, "/staff/orders/:id/cash", true, nil, a.takeCash},
		{post, "/staff/orders/:id/refunds/:refund/given", true, mayRefund, a.giveCashBack},
		{get, "/staff/orders/:id/papers/:number", false, nil, a.showStaffPaper},
		{post, "/staff/orders/:id/ticket", true, nil, a.printTicket},
		{get, "/staff/orders/:id/ticket/:nth", false, nil, a.showTicketPrint},
		{get, "/staff/orders/:id/refund", false, mayRefund, a.showRefund},
		{post, "/staff/orders/:id/refund", true, mayRefund, a.refundByStaff},

		{get, "/staff/menu", false, nil, a.showStaffMenu},
		{post, "/staff/menu/:id", true, nil, a.switchDish},
		{get, "/staff/dishes/:id", false, mayEdit, a.showDishEdit},
		{post, "/staff/dishes/:id/facts", true, mayEdit, a.editFacts},
		{post, "/staff/dishes/:id/choice", true, mayEdit, a.editChoice},
		{post, "/staff/dishes/:id/window", true, mayEdit, a.editWindow},
		{post, "/staff/dishes/:id/special", true, mayEdit, a.editSpecial},
		{post, "/staff/dishes/:id/part", true, mayEdit, a.editPart},
		{post, photoPath, true, mayEdit, a.editPhoto},

		{get, "/staff/outlet", false, mayRefund, a.showStaffOutlet},
		{post, "/staff/outlet", true, mayRefund, a.saveOutlet},
		{post, "/staff/outlet/cash", true, mayRefund, a.saveCash},

		{get, ticketsURL, false, nil, a.showTickets},
		{get, "/staff/tickets/:id", false, nil, a.showTicket},
		{post, "/staff/tickets/:id/acknowledge", true, mayRefund, a.acknowledgeTicket},
		{post, "/staff/tickets/:id/answer", true, mayRefund, a.answerTicket},
		{post, "/staff/tickets/:id/resolve", true, mayRefund, a.resolveTicket},
		{get, staffReviewsURL, false, nil, a.showStaffReviews},
		{post, staffReviewsURL, true, mayRefund, a.setAsksReviews},
		{post, "/staff/reviews/:id", true, mayRefund, a.changeReview},

		{get, auditURL, false, mayRefund, a.showAudit},
		{get, "/staff/attention", false, nil, a.showAttention},
		{post, "/staff/attention/:id/close", true, mayRefund, a.closeTask},
		{post, "/staff/attention/:id/retry", true, mayRefund, a.retryTask},
	}...)
}

// staffRoutes registers everything below /staff.
func (a *App) staffRoutes(r fiber.Router) {
	r.Get("/staff/login", a.showLogin)
	r.Post("/staff/login", a.signIn)
	r.Post("/staff/logout", a.signOut)
	for _, line := range a.staffTable() {
		if line.method == fiber.MethodGet {
			r.Get(line.path, a.guardStaff(line), line.answer) // and HEAD
		} else {
			r.Add(line.method, line.path, a.guardStaff(line), line.answer)
		}
	}
	if a.deps.Jobs != nil {
		guard, pages := a.guardStaff(staffRoute{may: ownsAll}), adaptor.HTTPHandler(a.deps.Jobs)
		for _, path := range []string{"/staff/jobs", "/staff/jobs/*"} {
			r.All(path, guard, guardJobs, pages)
		}
	}
}

// Whose business something is.
func mayRefund(m models.Staff) bool { return m.MayRefund() }

// mayEdit is an owner or a manager: the cooks switch dishes off, they do not price them.
func mayEdit(m models.Staff) bool { return m.MayRefund() }

// ownsAll is an owner without an outlet: the job queue is every outlet's, and its buttons stop refunds.
func ownsAll(m models.Staff) bool { return m.Role == "owner" && m.OutletID == nil }

// shift is a staff member at work: what the guard of a request has learned.
type shift struct {
	member models.Staff
	token  string // the session's, as the cookie has it
}

const shiftKey = "shift"

// shiftOf returns what the guard has put there; every staff handler stands behind it.
func shiftOf(c *fiber.Ctx) *shift { return c.Locals(shiftKey).(*shift) }

// guardStaff lets in who is signed in and may. Without a session, whoever reads a page is sent to the login and everybody else is told
// 401; the wrong role is 403. A form whose token is of an earlier login goes on with that noted (isStale), for its handler to show the
// page again: the tablet on the wall must not become a dead end.
func (a *App) guardStaff(line staffRoute) fiber.Handler {
	return func(c *fiber.Ctx) error {
		token := c.Cookies(staffCookie)
		member, err := a.findMember(c, token)
		if errors.Is(err, models.ErrSignedOut) {
			return askToSignIn(c)
		}
		if err != nil {
			return err
		}
		visitOf(c).csrf = csrfToken(token)
		c.Locals(shiftKey, &shift{member: member, token: token})
		if line.may != nil && !line.may(member) {
			return errForbidden
		}
		if line.form {
			err := checkForm(c, token)
			if err != nil && !errors.Is(err, errStaleForm) {
				return err
			}
			c.Locals(staleKey, err != nil)
		}
		return c.Next()
	}
}

// findMember reads who a staff session's token belongs to. Errors: models.ErrSignedOut.
func (a *App) findMember(c *fiber.Ctx, token string) (models.Staff, error) {
	session, err := a.findSession(c.UserContext(), token)
	if err != nil {
		return models.Staff{}, err
	}
	if session.StaffID == nil {
		return models.Staff{}, models.ErrSignedOut
	}
	return a.store.FindStaff(c.UserContext(), *session.StaffID)
}

// askToSignIn sends a reader to the login. A script gets 401: it could do nothing with the login's page; htmx takes the browser there.
func askToSignIn(c *fiber.Ctx) error {
	reads := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	script := c.Get("HX-Request") == "true" || strings.HasSuffix(c.Path(), "/events")
	if reads && !script {
		return c.Redirect(loginURL, fiber.StatusSeeOther)
	}
	if c.Get("HX-Request") == "true" {
		c.Set("HX-Redirect", loginURL)
	}
	return models.ErrSignedOut
}

// staleNotice answers a form that was on the screen before the last login.
const staleNotice = "This page was from an earlier login, so nothing was changed. Please press once more."

// reload answers, under htmx, a stale form that stands outside of what an answer replaces: the browser loads the whole page anew.
func reload(c *fiber.Ctx) error {
	c.Set("HX-Refresh", "true")
	return c.SendStatus(fiber.StatusConflict)
}

// Whoever works for all outlets looks at one at a time: tickets are numbered per outlet. Which one is remembered in a cookie, as a choice
// and not a right: it is looked up among the outlets there are.
const outletCookie = "staff_outlet"

// staffOutlet is the outlet a request is about: the member's own, or, for whoever works for all, the one they chose last, at first the
// first by name. ?outlet= chooses. Errors: models.ErrNotFound, also when a member of one outlet names another.
func (a *App) staffOutlet(c *fiber.Ctx) (models.Outlet, error) {
	wanted := c.Query("outlet")
	outlets, err := a.outletsOf(c, shiftOf(c).member)
	if err != nil {
		return models.Outlet{}, err
	}
	if wanted != "" {
		outlet, err := outletNamed(outlets, wanted)
		if err == nil && len(outlets) > 1 {
			a.setCookie(c, outletCookie, outlet.Slug, "/staff", staffCookieAge)
		}
		return outlet, err
	}
	if outlet, err := outletNamed(outlets, c.Cookies(outletCookie)); err == nil {
		return outlet, nil
	}
	if len(outlets) == 0 {
		return models.Outlet{}, models.ErrNotFound
	}
	return outlets[0], nil
}

// outletsOf lists the outlets a member has a say at.
func (a *App) outletsOf(c *fiber.Ctx, member models.Staff) ([]models.Outlet, error) {
	if member.OutletID == nil {
		return a.activeOutlets(c)
	}
	outlet, err := a.store.FindOutlet(c.UserContext(), *member.OutletID)
	return []models.Outlet{outlet}, err
}

func outletNamed(outlets []models.Outlet, slug string) (models.Outlet, error) {
	for _, o := range outlets {
		if o.Slug == slug {
			return o, nil
		}
	}
	return models.Outlet{}, models.ErrNotFound
}

// rowID reads the id in a route's address. One that is no id names nothing. Errors: models.ErrNotFound.
func rowID(c *fiber.Ctx) (int64, error) {
	id, err := parseID(c.Params("id"))
	if err != nil {
		return 0, models.ErrNotFound
	}
	return id, nil
}

// jobsPolicy lets River's pages run: one script and one style sheet of their own, and the styles its parts write into the page, which no
// nonce can be given to. Looked at in Chromium: board, job, queues.
const jobsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

// guardJobs gives River's pages their policy. They cannot carry our token, so what their buttons send is known by where it began: the
// cookie does not travel with another site's POST, and the browser says so besides.
func guardJobs(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentSecurityPolicy, jobsPolicy)
	if c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead && !isOwnOrigin(c) {
		return errForeign
	}
	return c.Next()
}
