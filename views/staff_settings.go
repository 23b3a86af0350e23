package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// StaffForm is a settings form as text: what stands in each field, what is wrong there, and what somebody else has saved there since the form
// was shown. Whatever happens, Values are what was typed.
type StaffForm struct {
	Values  map[string]string
	Errors  map[string]string
	Saved   map[string]string
	Version int
}

// get and is read a value for the templates.
func (f StaffForm) get(name string) string     { return f.Values[name] }
func (f StaffForm) is(name, value string) bool { return f.Values[name] == value }

// SettingsView is what every page of the outlet's settings has.
type SettingsView struct {
	Page    Page
	Staff   models.Staff
	Outlets []models.Outlet // the member's; more than one: they can be chosen
	Notice  string          // what was done
	Problem string          // why nothing was done
}

// CouponsView is the list of an outlet's coupons.
type CouponsView struct {
	SettingsView
	Coupons []models.CouponEdit
}

// CouponView is the form of one coupon, or of a new one.
type CouponView struct {
	SettingsView
	Coupon models.CouponEdit // ID 0: a new one
	Form   StaffForm
}

// ZonesView is the list of an outlet's zones, with the box that tries a place.
type ZonesView struct {
	SettingsView
	Zones  []models.ZoneEdit
	Try    StaffForm
	Answer string // what the shop says of the place; empty: none was asked about
}

// ZoneView is the form of one zone, or of a new one.
type ZoneView struct {
	SettingsView
	Zone models.ZoneEdit // ID 0: a new one
	Form StaffForm
}

// TimesSettingsView is the form of what an outlet promises by when.
type TimesSettingsView struct {
	SettingsView
	Form StaffForm
}

// CategoriesView is every category with its make-minutes and windows. Form belongs to the category FormOf, and to the form FormOn: make, window.
type CategoriesView struct {
	SettingsView
	Categories []models.CategoryEdit
	FormOf     int64
	FormOn     string
	Form       StaffForm
}

// formOf is the form that a category's panel shows: what was typed there, or what is stored.
func (v CategoriesView) formOf(c models.CategoryEdit, on string) StaffForm {
	if v.FormOf == c.ID && v.FormOn == on {
		return v.Form
	}
	return StaffForm{Values: map[string]string{"minutes": strconv.Itoa(c.MakeMinutes), "was": strconv.Itoa(c.MakeMinutes), "days": "0123456"}}
}

// MakeView is the part of a dish's editor that says how long the kitchen works on it.
type MakeView struct {
	Form     StaffForm
	Category int // what counts while the field is empty
}

var settingsPages = []struct{ name, title, path string }{{"outlet", "What customers are told", "/staff/outlet"}, {"coupons", "Coupons", "/staff/coupons"}, {"zones", "Delivery zones", "/staff/zones"},
	{"times", "Times and limits", "/staff/times"}, {"categories", "Categories", "/staff/categories"}}

func settingsTab(p Page, title string) Page {
	p.Title = title
	return p
}

// PlainRupees writes an amount as a field has it: "120", "120.50".
func PlainRupees(p models.Paise) string {
	_, whole, rest := split(p)
	if whole = strings.ReplaceAll(whole, ",", ""); rest == "00" {
		return whole
	}
	return whole + "." + rest
}

// LocalTime writes an instant as a datetime-local field has it.
func LocalTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.In(india).Format("2006-01-02T15:04")
}

func couponOff(c models.CouponEdit) string {
	if c.AmountPaise != nil {
		return ShortRupees(*c.AmountPaise)
	}
	return Percent(*c.PercentBP)
}

// couponTerms is one line of what a coupon asks for.
func couponTerms(c models.CouponEdit) string {
	var said []string
	if c.AtMostPaise != nil {
		said = append(said, "at most "+ShortRupees(*c.AtMostPaise))
	}
	if c.MinimumPaise > 0 {
		said = append(said, "from "+ShortRupees(c.MinimumPaise)+" of dishes")
	}
	if c.FirstOrder {
		said = append(said, "first order only")
	}
	said = append(said, Count(c.PerPerson, "time", "times")+" a person")
	if c.StartsAt != nil {
		said = append(said, "from "+Date(inEnglish, *c.StartsAt)+" "+Clock(inEnglish, *c.StartsAt))
	}
	if c.EndsAt != nil {
		said = append(said, "until "+Date(inEnglish, *c.EndsAt)+" "+Clock(inEnglish, *c.EndsAt))
	}
	return strings.Join(said, " · ")
}

func couponUse(c models.CouponEdit) string {
	text := "Used " + Count(c.Taken, "time", "times")
	if c.Total != nil {
		text = "Used " + strconv.Itoa(c.Taken) + " of " + Count(*c.Total, "time", "times")
	}
	if c.Held > 0 {
		text += ", " + strconv.Itoa(c.Held) + " of them not paid yet"
	}
	return text
}

// couponState is whether a coupon is given at an instant.
func couponState(c models.CouponEdit, now time.Time) string {
	switch {
	case !c.Active:
		return "Stopped"
	case c.StartsAt != nil && now.Before(*c.StartsAt):
		return "Not yet"
	case c.EndsAt != nil && !now.Before(*c.EndsAt):
		return "Over"
	case c.Total != nil && c.Taken >= *c.Total:
		return "Used up"
	}
	return "Given"
}

// ZoneText is what a zone costs.
func ZoneText(z models.Zone) string {
	if !z.Served {
		return "Nothing is delivered there"
	}
	text := ShortRupees(z.FeePaise)
	if z.FeePaise == 0 {
		text = "Free"
	}
	if z.MinimumPaise > 0 {
		text += ", from " + ShortRupees(z.MinimumPaise) + " of dishes"
	}
	if z.FreeAbovePaise != nil {
		text += ", free from " + ShortRupees(*z.FreeAbovePaise)
	}
	return text
}

func zoneArea(z models.ZoneEdit) string {
	switch {
	case z.RadiusMetres != nil:
		return "Within " + Distance(inEnglish, *z.RadiusMetres)
	case z.Polygon != nil:
		return "An area of " + Count(len(*z.Polygon), "corner", "corners")
	case len(z.PINs) > 6:
		return "PIN codes " + strings.Join(z.PINs[:5], ", ") + " and " + strconv.Itoa(len(z.PINs)-5) + " more"
	}
	return "PIN codes " + strings.Join(z.PINs, ", ")
}

// ZoneKind is which of the three kinds of area a zone is: pins, radius, polygon.
func ZoneKind(z models.ZoneEdit) string {
	switch {
	case z.RadiusMetres != nil:
		return "radius"
	case z.Polygon != nil:
		return "polygon"
	}
	return "pins"
}

// PolygonText writes corners as they are typed: latitude, longitude, one a line.
func PolygonText(p models.Polygon) string {
	var lines []string
	for _, c := range p {
		lines = append(lines, degreesText(c[0])+", "+degreesText(c[1]))
	}
	return strings.Join(lines, "\n")
}

func degreesText(e6 int64) string {
	sign := ""
	if e6 < 0 {
		sign, e6 = "-", -e6
	}
	rest := strconv.FormatInt(1_000_000+e6%1_000_000, 10)[1:]
	return sign + strconv.FormatInt(e6/1_000_000, 10) + "." + rest
}

var slotWidths = []string{"10", "15", "20", "30", "60"}

func holdsDay(f StaffForm, day int) bool {
	return slices.Contains(strings.Split(f.Values["days"], ""), strconv.Itoa(day))
}
