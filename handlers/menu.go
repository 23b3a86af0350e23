package handlers

import (
	"errors"
	"net/url"
	"strings"
	"unicode"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// maxQuery is how much of a search is looked at, in characters; the field lets people type as many.
const maxQuery = 60

// showFront is the only outlet's menu, or the list when there are several.
func (a *App) showFront(c *fiber.Ctx) error {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	if len(outlets) == 1 {
		return a.showMenu(c, outlets[0])
	}
	view := views.OutletsView{Page: a.plainPage(c)}
	view.Page.Title = views.T(c.UserContext(), "Order online")
	now, err := a.store.Now(c.UserContext())
	if err != nil {
		return err
	}
	for _, outlet := range outlets {
		schedule, err := a.store.FindSchedule(c.UserContext(), outlet.ID)
		if err != nil {
			return err
		}
		view.Outlets = append(view.Outlets, views.OutletCard{Outlet: outlet, Opening: schedule.At(now)})
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.render(c, fiber.StatusOK, views.OutletsPage(view))
}

// showOutlet is one outlet's menu under its own address.
func (a *App) showOutlet(c *fiber.Ctx) error {
	outlet, err := a.store.FindOutletBySlug(c.UserContext(), pathWord(c, "slug"))
	if err != nil {
		return err
	}
	return a.showMenu(c, outlet)
}

func (a *App) showMenu(c *fiber.Ctx, outlet models.Outlet) error {
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	view := views.MenuView{Query: cleanQuery(c.Query("q")), Diet: a.dietChosen(c), Way: a.wayChosen(c)}
	if view.Page, err = a.page(c, "", outlet); err != nil {
		return err
	}
	if view.Menu, err = a.store.FindMenu(c.UserContext(), outlet.ID, models.MenuFilter{Query: view.Query, Diet: view.Diet}); err != nil {
		return err
	}
	if view.Cart, err = a.cartView(c, session, view.Page, ""); err != nil {
		return err
	}
	if latest, found, err := a.latestOrder(c, session); err != nil {
		return err
	} else if found {
		view.LastOrderURL = orderURL(latest)
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	if isHTMX(c) {
		return a.render(c, fiber.StatusOK, views.MenuResults(view))
	}
	if view.Rating, err = a.store.FindRating(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, views.MenuPage(view))
}

// latestOrder is the visitor's own last order, without its items.
func (a *App) latestOrder(c *fiber.Ctx, session models.Session) (models.Order, bool, error) {
	if session.CustomerID == nil {
		return models.Order{}, false, nil
	}
	orders, err := a.store.ListOrdersOf(c.UserContext(), *session.CustomerID, 1)
	if err != nil || len(orders) == 0 {
		return models.Order{}, false, err
	}
	return orders[0], true, nil
}

// wayChosen is delivery, pickup, or empty when the visitor has not said.
func (a *App) wayChosen(c *fiber.Ctx) string {
	if way := c.Query("way"); isWay(way) {
		if c.Cookies(wayCookie) != way {
			a.setCookie(c, wayCookie, way, "/", guestCookieAge)
		}
		return way
	}
	if way := c.Cookies(wayCookie); isWay(way) {
		return way
	}
	return ""
}

func isWay(way string) bool { return way == "delivery" || way == "pickup" }

// cleanQuery makes a search of whatever came: control characters and broken bytes are nothing to look for.
func cleanQuery(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if letters := []rune(text); len(letters) > maxQuery {
		text = string(letters[:maxQuery])
	}
	return text
}

// showDish is a dish with its choices: a page, or a sheet on the menu.
func (a *App) showDish(c *fiber.Ctx) error {
	item, outlet, err := a.findDish(c, pathWord(c, "slug"), c.Query("outlet"))
	if err != nil {
		return err
	}
	if _, err := a.ensureGuest(c); err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.renderDish(c, fiber.StatusOK, views.DishView{Item: item}, outlet)
}

// renderDish fills in what every showing of a dish needs.
func (a *App) renderDish(c *fiber.Ctx, status int, view views.DishView, outlet models.Outlet) error {
	schedule, err := a.store.FindSchedule(c.UserContext(), outlet.ID)
	if err != nil {
		return err
	}
	now, err := a.store.Now(c.UserContext())
	if err != nil {
		return err
	}
	view.Opening = schedule.At(now)
	narrowed, fits := dietOf(c).Narrow(view.Item)
	if view.Hidden = !fits; fits {
		view.Item = narrowed
	}
	if view.Page, err = a.page(c, view.Item.Name, outlet); err != nil {
		return err
	}
	if isHTMX(c) {
		return a.render(c, status, views.DishSheet(view))
	}
	return a.render(c, status, views.DishPage(view))
}

// findDish finds a dish by its slug in the outlet that is named, else in the first that has one of that name.
func (a *App) findDish(c *fiber.Ctx, slug, outletSlug string) (models.Item, models.Outlet, error) {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return models.Item{}, models.Outlet{}, err
	}
	for _, outlet := range outlets {
		if outletSlug != "" && outlet.Slug != outletSlug {
			continue
		}
		item, outlet, err := a.store.FindItemBySlug(c.UserContext(), outlet.ID, slug)
		if !errors.Is(err, models.ErrNotFound) {
			return item, outlet, err
		}
	}
	return models.Item{}, models.Outlet{}, models.ErrNotFound
}

// pathWord is a named part of the path, as it was before it was escaped. What cannot be unescaped is no word of ours.
func pathWord(c *fiber.Ctx, name string) string {
	word, err := url.PathUnescape(c.Params(name))
	if err != nil {
		return ""
	}
	return word
}
