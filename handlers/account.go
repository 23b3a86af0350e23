package handlers

import (
	"errors"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

const (
	ordersOnPage = 10
	maxOrderPage = 1000 // nobody has ordered more often
)

// findAccount returns the session of whoever is signed in; a guest is sent to sign in, which the page is told by ok.
func (a *App) findAccount(c *fiber.Ctx) (session models.Session, ok bool, err error) {
	session, err = a.findGuest(c)
	if errors.Is(err, models.ErrSignedOut) || err == nil && session.Email == "" {
		return models.Session{}, false, redirect(c, signInURL)
	}
	return session, err == nil, err
}

// showAccount is an account's orders and addresses.
func (a *App) showAccount(c *fiber.Ctx) error {
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	ctx := c.UserContext()
	notice := map[string]string{"saved": views.T(ctx, "The address is saved."), "deleted": views.T(ctx, "The address is deleted."), "first": views.T(ctx, "Checkout starts with this address from now on.")}[c.Query("done")]
	return a.answerAccount(c, fiber.StatusOK, session, notice, "ok")
}

func (a *App) answerAccount(c *fiber.Ctx, status int, session models.Session, notice, kind string) error {
	ctx := c.UserContext()
	view := views.AccountView{PageNo: 1, Notice: notice, NoticeKind: kind}
	if n, err := strconv.Atoi(c.Query("page")); err == nil && n > 1 && n <= maxOrderPage {
		view.PageNo = n
	}
	var err error
	if view.Account, err = a.store.FindAccount(ctx, session); err != nil {
		return err
	}
	if view.Orders, err = a.store.ListOrdersFrom(ctx, *session.CustomerID, (view.PageNo-1)*ordersOnPage, ordersOnPage+1); err != nil {
		return err
	}
	if view.More = len(view.Orders) > ordersOnPage; view.More {
		view.Orders = view.Orders[:ordersOnPage]
	}
	if view.Addresses, err = a.store.ListAddresses(ctx, *session.CustomerID); err != nil {
		return err
	}
	if view.Page, err = a.accountPage(c, views.T(ctx, "My account")); err != nil {
		return err
	}
	if err := a.tellCartNow(c, session); err != nil { // signing in may have made it another
		return err
	}
	return a.render(c, status, views.AccountPage(view))
}

// downloadData is everything we hold about the person, as a file.
func (a *App) downloadData(c *fiber.Ctx) error {
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	data, err := a.store.ExportAccount(c.UserContext(), *session.CustomerID)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="my-data.json"`)
	return c.Send(data)
}

// showDeleteAccount says what goes and what stays.
func (a *App) showDeleteAccount(c *fiber.Ctx) error {
	if _, ok, err := a.findAccount(c); !ok {
		return err
	}
	return a.askDelete(c, fiber.StatusOK, "")
}

func (a *App) askDelete(c *fiber.Ctx, status int, sentence string) error {
	page, err := a.accountPage(c, views.T(c.UserContext(), "Delete my account"))
	if err != nil {
		return err
	}
	return a.render(c, status, views.DeleteAccountPage(views.DeleteAccountView{Page: page, Error: sentence}))
}

// deleteAccount blanks the person, once that is confirmed and nothing of theirs is under way.
func (a *App) deleteAccount(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "confirm", max: 1})
	if err != nil {
		return err
	}
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	ctx := c.UserContext()
	if isStale(c) {
		a.note(c, errStaleForm)
		_, sentence := explain(c.UserContext(), errStaleForm)
		return a.askDelete(c, fiber.StatusForbidden, sentence)
	}
	if f.get("confirm") != "1" {
		return a.askDelete(c, fiber.StatusUnprocessableEntity, views.T(ctx, "Please tick the box if you want your account to be deleted."))
	}
	err = a.store.DeleteAccount(ctx, *session.CustomerID)
	if errors.Is(err, models.ErrStillOpen) {
		a.note(c, err)
		return a.askDelete(c, fiber.StatusConflict, views.T(ctx, "An order of yours, its money, or a complaint about it is still under way. Nothing was deleted. Please come back when that is done."))
	}
	if err != nil {
		return err
	}
	a.setCookie(c, guestCookie, "", "/", 0)
	return redirect(c, "/account/deleted")
}

// showDeleted is the last word; it knows nobody.
func (a *App) showDeleted(c *fiber.Ctx) error {
	page, err := a.accountPage(c, views.T(c.UserContext(), "Your account is deleted"))
	if err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.SignedOutPage(views.OutletsView{Page: page}))
}
