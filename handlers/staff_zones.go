package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

var zoneFields = []field{outletField, versionField, {name: "name", max: 400}, {name: "kind", max: 10}, {name: "pins", max: 40_000, text: true}, {name: "radius", max: 20}, {name: "polygon", max: 100_000, text: true},
	{name: "served", max: 1}, {name: "fee", max: 40}, {name: "minimum", max: 40}, {name: "free_above", max: 40}}

// showZones lists the zones of an outlet; a place that is asked about is tried.
func (a *App) showZones(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	return a.answerZones(c, fiber.StatusOK, outlet, doneNotice(c), "")
}

func (a *App) answerZones(c *fiber.Ctx, status int, outlet models.Outlet, notice, problem string) error {
	settings, err := a.settings(c, outlet, notice, problem)
	if err != nil {
		return err
	}
	v := views.ZonesView{SettingsView: settings}
	if v.Zones, err = a.store.ListZoneEdits(c.UserContext(), outlet.ID); err != nil {
		return err
	}
	if v.Try, v.Answer, err = a.tryPlace(c, outlet, v.Zones); err != nil {
		return err
	}
	if len(v.Try.Errors) > 0 {
		status = fiber.StatusUnprocessableEntity
	}
	return a.render(c, status, views.StaffZonesPage(v))
}

// tryPlace reads the place in the address, if there is one, and says what the checkout would.
func (a *App) tryPlace(c *fiber.Ctx, outlet models.Outlet, zones []models.ZoneEdit) (f views.StaffForm, answer string, err error) {
	typed := func(name string) string {
		text := strings.TrimSpace(c.Query(name))
		if len(text) > 200 || !isPlain(text, false) {
			return ""
		}
		return text
	}
	f = views.StaffForm{Values: map[string]string{"pin": typed("pin"), "place": typed("place")}, Errors: map[string]string{}}
	if c.Query("pin") == "" && c.Query("place") == "" {
		return f, "", nil
	}
	pin := ""
	if f.Values["pin"] != "" {
		var ok bool
		if pin, ok = normalPIN(f.Values["pin"]); !ok {
			f.Errors["pin"] = "A PIN code has 6 digits, such as 560038."
		}
	}
	var latE6, lngE6 *int
	if text := f.Values["place"]; text != "" {
		lat, lng, _ := strings.Cut(text, ",")
		north, northOK := models.ParseE6(lat, 90)
		east, eastOK := models.ParseE6(lng, 180)
		if n, e := int(north), int(east); northOK && eastOK {
			latE6, lngE6 = &n, &e
		} else {
			f.Errors["place"] = "A point is written latitude, longitude, such as 12.971599, 77.640125."
		}
	}
	if len(f.Errors) == 0 && pin == "" && latE6 == nil {
		f.Errors["pin"] = "A PIN code has 6 digits, such as 560038."
	}
	if len(f.Errors) > 0 {
		return f, "", nil
	}
	to, zone, err := a.store.TryPlace(c.UserContext(), outlet.ID, pin, latE6, lngE6)
	if err != nil {
		return f, "", err
	}
	if zone != nil {
		n := slices.IndexFunc(zones, func(z models.ZoneEdit) bool { return z.ID == zone.ID })
		return f, fmt.Sprintf("Zone %d, %s: %s.", n+1, zone.Name, views.ZoneText(*zone)), nil
	}
	if !to.Served || to.DistanceMetres == nil {
		return f, "No zone holds it, and its distance is not known: nothing is delivered there.", nil
	}
	list, err := a.store.PriceList(c.UserContext(), outlet.ID)
	if err != nil {
		return f, "", err
	}
	far := views.Distance(c.UserContext(), *to.DistanceMetres)
	for _, b := range list.Bands {
		if *to.DistanceMetres <= b.UpToMetres {
			return f, fmt.Sprintf("No zone holds it. It is %s away, in the distance band up to %s: %s.", far, views.Distance(c.UserContext(), b.UpToMetres),
				views.ZoneText(models.Zone{Served: true, FeePaise: b.FeePaise, MinimumPaise: b.MinimumPaise, FreeAbovePaise: b.FreeAbovePaise})), nil
		}
	}
	return f, fmt.Sprintf("No zone holds it. It is %s away, beyond the last distance band: nothing is delivered there.", far), nil
}

// showNewZone is the form of a zone that is to be.
func (a *App) showNewZone(c *fiber.Ctx) error {
	outlet, err := a.staffOutlet(c)
	if err != nil {
		return err
	}
	return a.answerZone(c, fiber.StatusOK, outlet, models.ZoneEdit{}, views.StaffForm{Values: map[string]string{"kind": "pins", "served": "1"}}, "")
}

// showZone is the form of one zone.
func (a *App) showZone(c *fiber.Ctx) error {
	zone, outlet, err := a.zoneOf(c)
	if err != nil {
		return err
	}
	return a.answerZone(c, fiber.StatusOK, outlet, zone, zoneForm(zone), "")
}

func (a *App) answerZone(c *fiber.Ctx, status int, outlet models.Outlet, zone models.ZoneEdit, f views.StaffForm, problem string) error {
	settings, err := a.settings(c, outlet, "", problem)
	if err != nil {
		return err
	}
	return a.render(c, status, views.StaffZonePage(views.ZoneView{SettingsView: settings, Zone: zone, Form: f}))
}

// zoneOf finds the zone in a route's address, with its outlet. Errors: models.ErrNotFound.
func (a *App) zoneOf(c *fiber.Ctx) (zone models.ZoneEdit, outlet models.Outlet, err error) {
	zoneID, err := rowID(c)
	if err != nil {
		return zone, outlet, err
	}
	if zone, err = a.store.FindZoneEdit(c.UserContext(), zoneID, shiftOf(c).member.ID); err != nil {
		return zone, outlet, err
	}
	outlet, err = a.store.FindOutlet(c.UserContext(), zone.OutletID)
	return zone, outlet, err
}

// zoneForm writes a zone as its form has it.
func zoneForm(z models.ZoneEdit) views.StaffForm {
	values := map[string]string{"name": z.Name, "kind": views.ZoneKind(z), "pins": strings.Join(z.PINs, " "), "radius": optionalCount(z.RadiusMetres), "polygon": "", "served": mark(z.Served),
		"fee": views.PlainRupees(z.FeePaise), "minimum": "", "free_above": optionalPaise(z.FreeAbovePaise)}
	if z.Polygon != nil {
		values["polygon"] = views.PolygonText(*z.Polygon)
	}
	if z.MinimumPaise > 0 {
		values["minimum"] = views.PlainRupees(z.MinimumPaise)
	}
	return views.StaffForm{Version: z.Version, Values: values}
}

// readZone reads a zone; what is wrong is in the reading.
func readZone(r *reading) (z models.ZoneEdit) {
	if z.Name = r.text("name"); z.Name == "" {
		r.say("name", "Please give it a name.")
	} else if utf8.RuneCountInString(z.Name) > 80 {
		r.say("name", "Please keep it under 80 characters.")
	}
	switch r.f.get("kind") {
	case "pins":
		z.PINs = readPINs(r)
	case "radius":
		metres := r.needed("radius", 1, 100_000)
		z.RadiusMetres = &metres
	case "polygon":
		polygon, err := models.ParsePolygon(r.f.get("polygon"))
		var wrong models.ErrPolygon
		if errors.As(err, &wrong) {
			r.say("polygon", "%s", string(wrong))
		}
		z.Polygon = &polygon
	default:
		r.say("kind", "Please choose where it is.")
	}
	z.Served = r.f.get("served") == "1"
	if fee := r.paise("fee"); fee != nil {
		z.FeePaise = *fee
	} else if z.Served {
		r.say("fee", "Please write the fee; 0 is free.")
	}
	if minimum := r.paise("minimum"); minimum != nil {
		z.MinimumPaise = *minimum
	}
	z.FreeAbovePaise = r.positive("free_above")
	return z
}

// readPINs reads PIN codes with anything but digits between them; those written 560 038 are two halves, and told.
func readPINs(r *reading) (pins []string) {
	for _, word := range strings.FieldsFunc(r.f.get("pins"), func(c rune) bool { return strings.ContainsRune(" ,;\t\r\n", c) }) {
		pin, ok := normalPIN(word)
		if !ok {
			r.say("pins", "%q is no PIN code: it has 6 digits, such as 560038.", word[:min(len(word), 20)])
			return nil
		}
		pins = append(pins, pin)
	}
	slices.Sort(pins)
	pins = slices.Compact(pins)
	if len(pins) == 0 {
		r.say("pins", "Please write at least one PIN code.")
	} else if len(pins) > models.MaxPINs {
		r.say("pins", "A zone has at most %d PIN codes; these are %d.", models.MaxPINs, len(pins))
	}
	return pins
}

// saveZone makes a zone, or writes one.
func (a *App) saveZone(c *fiber.Ctx) error {
	f, err := readForm(c, zoneFields...)
	if err != nil {
		return err
	}
	var was models.ZoneEdit
	var outlet models.Outlet
	if c.Params("id") != "" {
		was, outlet, err = a.zoneOf(c)
	} else {
		outlet, err = a.formOutlet(c, f)
	}
	if err != nil {
		return err
	}
	r := newReading(f)
	zone := readZone(r)
	typed := r.typed()
	zone.ID, zone.OutletID, zone.Version = was.ID, outlet.ID, typed.Version
	if isStale(c) {
		return a.answerZone(c, fiber.StatusConflict, outlet, was, typed, staleNotice)
	}
	if len(r.wrong) > 0 {
		return a.answerZone(c, fiber.StatusUnprocessableEntity, outlet, was, typed, "")
	}
	staffID := shiftOf(c).member.ID
	if was.ID == 0 {
		_, err = a.store.CreateZone(c.UserContext(), staffID, zone)
	} else {
		err = a.store.SaveZone(c.UserContext(), staffID, zone)
	}
	switch {
	case errors.Is(err, models.ErrEdited):
		a.note(c, err)
		if was, _, err = a.zoneOf(c); err != nil {
			return err
		}
		return a.answerZone(c, fiber.StatusConflict, outlet, was, behind(typed, zoneForm(zone), zoneForm(was)), editedNotice)
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.answerZone(c, fiber.StatusUnprocessableEntity, outlet, was, typed, unfitNotice)
	case err != nil:
		return err
	}
	return redirect(c, zonesURL+"?done=saved")
}

// moveZone has a zone change places with its neighbour, or switches it.
func (a *App) moveZone(c *fiber.Ctx) error {
	f, err := readForm(c, field{name: "do", max: 10}, field{name: "was", max: 10})
	if err != nil {
		return err
	}
	zone, outlet, err := a.zoneOf(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerZones(c, fiber.StatusConflict, outlet, "", staleNotice)
	}
	ctx, staffID := c.UserContext(), shiftOf(c).member.ID
	switch do := f.get("do"); do {
	case "earlier", "later":
		was, badErr := parseCount(f.get("was"), 0, 1<<30)
		if badErr != nil {
			return badErr
		}
		err = a.store.MoveZone(ctx, zone, staffID, do == "earlier", was)
	case "on", "off":
		err = a.store.SwitchZone(ctx, zone, staffID, do == "on")
	default:
		return errBadForm
	}
	if errors.Is(err, models.ErrEdited) {
		a.note(c, err)
		return a.answerZones(c, fiber.StatusConflict, outlet, "", movedNotice)
	}
	if err != nil {
		return err
	}
	return redirect(c, zonesURL+"?done=saved")
}
