package handlers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/views"
)

const maxLabel = 40 // characters of an address's name; the database checks it too

// showAddress is the form of a saved address, or of a new one.
func (a *App) showAddress(c *fiber.Ctx) error {
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	word := pathWord(c, "id")
	if word == "new" {
		return a.askPlace(c, fiber.StatusOK, views.AddressFields{}, nil)
	}
	addressID, err := parseWord(word)
	if err != nil {
		return err
	}
	saved, err := a.store.FindAddress(c.UserContext(), *session.CustomerID, addressID)
	if err != nil {
		return err
	}
	return a.askPlace(c, fiber.StatusOK, views.AddressFields{ID: word, Label: saved.Label, Line1: saved.Line1, Line2: saved.Line2, PIN: saved.PIN, Directions: saved.Directions}, nil)
}

// parseWord is an id in a page's address. What is none is not there.
func parseWord(word string) (int64, error) {
	if word == "" {
		return 0, models.ErrNotFound
	}
	id, err := parseID(word)
	if err != nil {
		return 0, models.ErrNotFound
	}
	return id, nil
}

func (a *App) askPlace(c *fiber.Ctx, status int, fields views.AddressFields, wrong map[string]string) error {
	title := views.T(c.UserContext(), "Change an address")
	if fields.ID == "" {
		title = views.T(c.UserContext(), "Add an address")
	}
	page, err := a.accountPage(c, title)
	if err != nil {
		return err
	}
	return a.render(c, status, views.AddressPage(views.AddressView{Page: page, Form: fields, Errors: wrong}))
}

// saveAddress writes a saved address, or a new one.
func (a *App) saveAddress(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "id", max: 20}, field{name: "label", max: 400}, field{name: "line1", max: 1000}, field{name: "line2", max: 1000}, field{name: "pin", max: 40}, field{name: "directions", max: 2000})
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	fields := views.AddressFields{ID: f.get("id"), Label: f.get("label"), Line1: f.get("line1"), Line2: f.get("line2"), PIN: f.get("pin"), Directions: f.get("directions")}
	var addressID int64
	if fields.ID != "" {
		if addressID, err = parseID(fields.ID); err != nil {
			return err
		}
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		_, sentence := explain(c.UserContext(), errStaleForm)
		return a.askPlace(c, fiber.StatusForbidden, fields, map[string]string{"form": sentence})
	}
	place, wrong := payments.Checkout{}, map[string]string{}
	checkAddress(ctx, views.CheckoutFields{Line1: fields.Line1, Line2: fields.Line2, PIN: fields.PIN, Directions: fields.Directions}, &place, wrong)
	label := strings.TrimSpace(fields.Label)
	if utf8.RuneCountInString(label) > maxLabel {
		wrong["label"] = views.T(ctx, "A name has at most 40 characters.")
	}
	if len(wrong) > 0 {
		return a.askPlace(c, fiber.StatusUnprocessableEntity, fields, wrong)
	}
	address := models.Address{ID: addressID, CustomerID: *session.CustomerID, Label: label, Line1: place.Line1, Line2: place.Line2, PIN: place.PIN, Directions: place.Directions}
	if addressID == 0 {
		_, err = a.store.SaveAddress(ctx, address)
	} else {
		err = a.store.ChangeAddress(ctx, address)
	}
	if errors.Is(err, models.ErrTooManyPlaces) {
		a.note(c, err)
		return a.askPlace(c, fiber.StatusConflict, fields, map[string]string{"form": views.T(ctx, "You have as many addresses as an account keeps. Delete one to add another.")})
	}
	if err != nil {
		return err
	}
	return redirect(c, accountURL+"?done=saved")
}

// dropAddress and useAddress act on one saved address.
func (a *App) dropAddress(c *fiber.Ctx) error {
	return a.changeAddress(c, a.store.DropAddress, "deleted")
}
func (a *App) useAddress(c *fiber.Ctx) error {
	return a.changeAddress(c, a.store.ChooseAddress, "first")
}

func (a *App) changeAddress(c *fiber.Ctx, change func(ctx context.Context, customerID, addressID int64) error, done string) error {
	f, err := readForm(c, field{name: "id", max: 20})
	if err != nil {
		return err
	}
	addressID, err := parseID(f.get("id"))
	if err != nil {
		return err
	}
	session, ok, err := a.findAccount(c)
	if !ok {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		_, sentence := explain(c.UserContext(), errStaleForm)
		return a.answerAccount(c, fiber.StatusForbidden, session, sentence, "warn")
	}
	if err := change(c.UserContext(), *session.CustomerID, addressID); err != nil {
		return err
	}
	return redirect(c, accountURL+"?done="+done)
}

// addressesOf lists the saved addresses of whoever is signed in; a guest has none.
func (a *App) addressesOf(c *fiber.Ctx, session models.Session) ([]models.Address, error) {
	if session.Email == "" {
		return nil, nil
	}
	return a.store.ListAddresses(c.UserContext(), *session.CustomerID)
}

// savedPlace is the checkout's fields with the saved address that was chosen in the place of what is typed. gone says that it is not
// there any more, or never was this customer's; then what is typed counts.
func savedPlace(addresses []models.Address, fields views.CheckoutFields) (placed views.CheckoutFields, gone bool) {
	if fields.Saved == "" || fields.Saved == "new" {
		return fields, false
	}
	for _, s := range addresses {
		if strconv.FormatInt(s.ID, 10) == fields.Saved {
			fields.Line1, fields.Line2, fields.PIN, fields.Directions = s.Line1, s.Line2, s.PIN, s.Directions
			return fields, false
		}
	}
	fields.Saved = "new"
	return fields, true
}

// startsWith is which saved address checkout starts with: that of the customer's unpaid order, which must stay the same order when Pay is
// pressed again, else the one used first.
func startsWith(addresses []models.Address, last models.Order) string {
	if len(addresses) == 0 {
		return ""
	}
	if last.Status == models.OrderPending && last.Way == "delivery" {
		for _, s := range addresses {
			if s.Line1 == last.Line1 && s.Line2 == last.Line2 && s.PIN == last.PIN {
				return strconv.FormatInt(s.ID, 10)
			}
		}
		return "new"
	}
	return strconv.FormatInt(addresses[0].ID, 10)
}

// keepAddress saves what was typed at a checkout that is placed, where the customer ticked that. The order stands whatever comes of it.
func (a *App) keepAddress(c *fiber.Ctx, in payments.Checkout, fields views.CheckoutFields) {
	if fields.Save != "1" || fields.Saved != "" && fields.Saved != "new" || in.Way != "delivery" || in.Session.Email == "" {
		return
	}
	_, err := a.store.SaveAddress(c.UserContext(), models.Address{CustomerID: *in.Session.CustomerID, Line1: in.Line1, Line2: in.Line2, PIN: in.PIN, Directions: in.Directions})
	a.note(c, err)
}
