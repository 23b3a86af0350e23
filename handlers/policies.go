package handlers

import (
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/static"
	"tiffin/views"
)

// showPolicy is one of the shop's policies, written from its settings. With several outlets the address names the one.
func (a *App) showPolicy(c *fiber.Ctx) error {
	name := pathWord(c, "name")
	if !views.IsPolicy(name) {
		return models.ErrNotFound
	}
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	if len(outlets) == 0 {
		return models.ErrNotFound
	}
	outlet := outlets[0]
	if wanted := c.Query("outlet"); wanted != "" {
		if outlet, err = outletNamed(outlets, wanted); err != nil {
			return err
		}
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	page.Title = views.PolicyTitle(c.UserContext(), name)
	view := views.PolicyView{Page: page, Name: name}
	if view.List, err = a.store.PriceList(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	if view.Pins, err = a.store.CountPINs(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.render(c, fiber.StatusOK, views.PolicyPage(view))
}

// showOffline is the page the service worker keeps for when there is no connection: nothing on it belongs to anybody.
func (a *App) showOffline(c *fiber.Ctx) error {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	page := a.plainPage(c)
	page.Title, page.CSRF = views.T(c.UserContext(), "No connection"), ""
	view := views.OutletsView{Page: page}
	for _, o := range outlets {
		view.Outlets = append(view.Outlets, views.OutletCard{Outlet: o})
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.render(c, fiber.StatusOK, views.OfflinePage(view))
}

// showManifest makes the site installable.
func (a *App) showManifest(c *fiber.Ctx) error {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	name := views.T(c.UserContext(), "Order food")
	if len(outlets) == 1 {
		name = outlets[0].Name
	}
	icon := func(file, size, purpose string) fiber.Map {
		return fiber.Map{"src": static.Path(file), "sizes": size, "type": "image/png", "purpose": purpose}
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return c.JSON(fiber.Map{"name": name, "short_name": name, "start_url": "/?source=app", "scope": "/", "display": "standalone", "lang": views.LanguageOf(c.UserContext()),
		"theme_color": "#5b1440", "background_color": "#5b1440",
		"icons": []fiber.Map{icon("icon-192.png", "192x192", "any"), icon("icon-512.png", "512x512", "any"), icon("icon-512.png", "512x512", "maskable")}},
		"application/manifest+json")
}

// serveWorker is the service worker: at the root, so that it may speak for the whole site, and asked for again at each visit.
func (a *App) serveWorker(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set(fiber.HeaderContentType, "text/javascript; charset=utf-8")
	return c.Send(static.Worker("/offline", static.Path("app.css"), static.Path("app.js"), static.Path("fonts/figtree.woff2")))
}

type sitemap struct {
	XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []struct {
		Loc string `xml:"loc"`
	} `xml:"url"`
}

// showSitemap lists what is everybody's: menus, dishes, policies.
func (a *App) showSitemap(c *fiber.Ctx) error {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return err
	}
	var m sitemap
	add := func(path string) {
		m.URLs = append(m.URLs, struct {
			Loc string `xml:"loc"`
		}{a.cfg.PublicURL + path})
	}
	add("/")
	for _, o := range outlets {
		suffix := ""
		if len(outlets) > 1 {
			add(menuURL(o))
			suffix = "?outlet=" + o.Slug
		}
		menu, err := a.store.FindMenu(c.UserContext(), o.ID, models.MenuFilter{})
		if err != nil {
			return err
		}
		for _, category := range menu.Categories {
			for _, item := range category.Items {
				add("/menu/" + item.Slug + suffix)
			}
		}
		for _, p := range views.Policies {
			add("/policies/" + p.Name + suffix)
		}
	}
	text, err := xml.Marshal(m)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	c.Set(fiber.HeaderContentType, "application/xml; charset=utf-8")
	return c.SendString(xml.Header + string(text))
}

var (
	landline = regexp.MustCompile(`^\+[0-9]{8,15}$`)
	fssai    = regexp.MustCompile(`^[0-9]{14}$`)
)

const outletURL = "/staff/outlet"

// showStaffOutlet is the form of what customers are told about an outlet.
func (a *App) showStaffOutlet(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	notice := map[string]string{"saved": "Saved. Every page says it from now on."}[c.Query("done")]
	return a.answerOutlet(c, fiber.StatusOK, outlet, contactsOf(outlet), nil, notice)
}

func contactsOf(outlet models.Outlet) models.Contacts {
	return models.Contacts{LegalName: outlet.LegalName, Address: outlet.Address, PIN: outlet.PIN, Phone: outlet.Phone, Email: outlet.Email, FSSAI: outlet.FSSAI, GSTIN: outlet.GSTIN,
		GrievanceName: outlet.GrievanceName, GrievanceContact: outlet.GrievanceContact}
}

func (a *App) answerOutlet(c *fiber.Ctx, status int, outlet models.Outlet, form models.Contacts, wrong map[string]string, notice string) error {
	return a.answerShop(c, status, outlet, form, cashFields(outlet), wrong, notice)
}

func (a *App) answerShop(c *fiber.Ctx, status int, outlet models.Outlet, form models.Contacts, cash views.CashFields, wrong map[string]string, notice string) error {
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffOutletPage(views.StaffOutletView{Page: page, Staff: shiftOf(c).member, Form: form, Cash: cash, Errors: wrong, Notice: notice, Missing: outlet.Missing()}))
}

// saveOutlet writes what customers are told about an outlet. What cannot be right, or would be taken away in live mode, changes nothing.
func (a *App) saveOutlet(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "outlet", max: 100}, field{name: "legal_name", max: 500}, field{name: "address", max: 1000}, field{name: "pin", max: 40}, field{name: "phone", max: 100},
		field{name: "email", max: 1000}, field{name: "fssai", max: 100}, field{name: "gstin", max: 100}, field{name: "grievance_name", max: 500}, field{name: "grievance_contact", max: 500})
	if err != nil {
		return err
	}
	outlets, err := a.outletsOf(c, shiftOf(c).member)
	if err != nil {
		return err
	}
	outlet, err := outletNamed(outlets, f.get("outlet"))
	if err != nil {
		return err
	}
	trimmed := func(name string) string { return strings.TrimSpace(f.get(name)) }
	form := models.Contacts{LegalName: trimmed("legal_name"), Address: trimmed("address"), PIN: trimmed("pin"), Phone: trimmed("phone"), Email: trimmed("email"),
		FSSAI: trimmed("fssai"), GSTIN: trimmed("gstin"), GrievanceName: trimmed("grievance_name"), GrievanceContact: trimmed("grievance_contact")}
	if isStale(c) {
		return a.answerOutlet(c, fiber.StatusConflict, outlet, form, map[string]string{"legal_name": staleNotice}, "")
	}
	saved, wrong := checkContacts(form, outlet)
	if len(wrong) > 0 {
		return a.answerOutlet(c, fiber.StatusUnprocessableEntity, outlet, form, wrong, "")
	}
	err = a.store.SaveContacts(c.UserContext(), outlet.ID, saved, shiftOf(c).member.ID)
	switch {
	case errors.Is(err, models.ErrLive):
		return a.answerOutlet(c, fiber.StatusConflict, outlet, form, map[string]string{"legal_name": "This shop takes real money: what customers have to be told can be changed, and not be taken away. Nothing was changed."}, "")
	case errors.Is(err, models.ErrBadInput):
		return a.answerOutlet(c, fiber.StatusUnprocessableEntity, outlet, form, map[string]string{"legal_name": "One of the fields is too long or has a wrong form. Nothing was changed."}, "")
	case err != nil:
		return err
	}
	return redirect(c, outletURL+"?done=saved")
}

// checkContacts judges what was typed, per field and in words for people.
func checkContacts(c models.Contacts, outlet models.Outlet) (models.Contacts, map[string]string) {
	wrong := map[string]string{}
	if c.Address == "" {
		wrong["address"] = "Customers need the address."
	}
	var ok bool
	if c.PIN, ok = normalPIN(c.PIN); !ok {
		wrong["pin"] = "A PIN code has 6 digits, such as 560038."
	}
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -()", r) {
			return -1
		}
		return r
	}, c.Phone)
	if mobile, isMobile := normalPhone(c.Phone); isMobile {
		c.Phone = mobile
	} else if landline.MatchString(digits) {
		c.Phone = digits
	} else {
		wrong["phone"] = "A telephone number is written with +91, such as +91 80 1234 5678."
	}
	if c.Email != "" && !isEmail(c.Email) {
		wrong["email"] = "An email address looks like name@example.com."
	}
	c.FSSAI = strings.ReplaceAll(c.FSSAI, " ", "")
	if c.FSSAI != "" && !fssai.MatchString(c.FSSAI) {
		wrong["fssai"] = "An FSSAI number has 14 digits."
	}
	if c.GSTIN, ok = models.NormalGSTIN(c.GSTIN); !ok {
		wrong["gstin"] = "A GSTIN has 15 characters, such as 29ABCDE1234F1ZW. Please check it."
	} else if c.GSTIN == "" && outlet.TaxMode == "regular" {
		wrong["gstin"] = fmt.Sprintf("%s charges GST, so it needs its GSTIN.", outlet.Name)
	}
	return c, wrong
}
