package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"tiffin/models"
	"tiffin/photos"
	"tiffin/views"
)

// dishEditURL is before a dish's id; photoPath takes the one form that may be large (allowPhotos).
const (
	dishEditURL = "/staff/dishes/"
	photoPath   = dishEditURL + ":id/photo"
)

// showDishEdit is one dish with a small form for each thing that can be said of it.
func (a *App) showDishEdit(c *fiber.Ctx) error {
	itemID, err := rowID(c)
	if err != nil {
		return err
	}
	return a.answerDishEdit(c, fiber.StatusOK, itemID, "")
}

func (a *App) answerDishEdit(c *fiber.Ctx, status int, itemID int64, wrong string) error {
	return a.answerDishWith(c, status, itemID, wrong, nil)
}

// answerDishMake shows a dish with its make-minutes as they were typed.
func (a *App) answerDishMake(c *fiber.Ctx, status int, itemID int64, typed views.StaffForm) error {
	return a.answerDishWith(c, status, itemID, "", &typed)
}

func (a *App) answerDishWith(c *fiber.Ctx, status int, itemID int64, wrong string, typed *views.StaffForm) error {
	member := shiftOf(c).member
	edit, err := a.store.FindDishEdit(c.UserContext(), itemID, member.ID)
	if err != nil {
		return err
	}
	page, err := a.page(c, "", edit.Outlet)
	if err != nil {
		return err
	}
	own, category, err := a.store.FindMakeMinutes(c.UserContext(), itemID)
	if err != nil {
		return err
	}
	minutes := views.StaffForm{Values: map[string]string{"minutes": optionalCount(own), "was": optionalCount(own)}}
	if typed != nil {
		minutes = *typed
	}
	return a.render(c, status, views.StaffDishPage(views.StaffDishEditView{Page: page, Staff: member, Edit: edit, Make: views.MakeView{Form: minutes, Category: category}, Error: wrong,
		Saved: c.Query("done") == "saved" && typed == nil}))
}

// edit reads a dish's form and does what it asks. What cannot be is said above the forms, and nothing has changed.
func (a *App) edit(c *fiber.Ctx, do func(f form, itemID, staffID int64) error, fields ...field) error {
	itemID, err := rowID(c)
	if err != nil {
		return err
	}
	f, err := readForm(c, fields...)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerDishEdit(c, fiber.StatusConflict, itemID, staleNotice)
	}
	return a.answerEdit(c, itemID, do(f, itemID, shiftOf(c).member.ID))
}

func (a *App) answerEdit(c *fiber.Ctx, itemID int64, err error) error {
	var wrong wrongValue
	switch {
	case errors.As(err, &wrong):
		return a.answerDishEdit(c, fiber.StatusUnprocessableEntity, itemID, string(wrong))
	case errors.Is(err, models.ErrBadInput):
		a.note(c, err)
		return a.answerDishEdit(c, fiber.StatusUnprocessableEntity, itemID, "That does not fit together, so nothing was changed. Please check each value.")
	case err != nil:
		return err
	}
	return redirect(c, dishEditURL+strconv.FormatInt(itemID, 10)+"?done=saved")
}

// wrongValue is a typed value that cannot be, in words.
type wrongValue string

func (w wrongValue) Error() string { return string(w) }

var allergenField = field{name: "allergen", max: 20, many: true}

// editFacts saves names, diet, allergens, portion, calories, spice and limit.
func (a *App) editFacts(c *fiber.Ctx) error {
	return a.edit(c, func(f form, itemID, staffID int64) (err error) {
		facts := models.DishFacts{Aliases: strings.FieldsFunc(f.get("aliases"), func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }),
			Jain: f.get("jain") == "1", Allergens: f.values["allergen"], Portion: strings.TrimSpace(f.get("portion"))}
		if facts.Calories, err = optionalNumber(f.get("calories"), "Calories"); err != nil {
			return err
		}
		if facts.DailyLimit, err = optionalNumber(f.get("limit"), "The daily limit"); err != nil {
			return err
		}
		if facts.Spice, err = parseCount(f.get("spice"), 0, 3); err != nil {
			return err
		}
		return a.store.SetDishFacts(c.UserContext(), itemID, staffID, facts)
	}, field{name: "aliases", max: 4000, text: true}, field{name: "jain", max: 1}, allergenField, field{name: "portion", max: 240}, field{name: "calories", max: 10},
		field{name: "limit", max: 10}, field{name: "spice", max: 1})
}

// editChoice saves diet, allergens and limit of one choice.
func (a *App) editChoice(c *fiber.Ctx) error {
	return a.edit(c, func(f form, itemID, staffID int64) error {
		option, err := parseID(f.get("option"))
		if err != nil {
			return err
		}
		limit, err := optionalNumber(f.get("limit"), "The daily limit")
		if err != nil {
			return err
		}
		return a.store.SetChoiceFacts(c.UserContext(), itemID, option, staffID, f.get("jain") == "1", f.values["allergen"], limit)
	}, field{name: "option", max: 19}, field{name: "jain", max: 1}, allergenField, field{name: "limit", max: 10})
}

// editWindow adds a time in which the dish is served, or removes one.
func (a *App) editWindow(c *fiber.Ctx) error {
	return a.edit(c, func(f form, itemID, staffID int64) (err error) {
		if f.has("remove") {
			return a.removeFrom(c, f, "window", itemID, staffID)
		}
		var w models.MenuWindow
		for _, text := range f.values["day"] {
			day, err := parseCount(text, 0, 6)
			if err != nil {
				return err
			}
			w.Weekdays |= 1 << day
		}
		if w.Weekdays == 0 {
			return wrongValue("Please tick at least one day.")
		}
		if w.OpensMinute, err = minuteOfDay(f.get("opens"), 0); err != nil {
			return err
		}
		if w.ClosesMinute, err = minuteOfDay(f.get("closes"), 24*60); err != nil {
			return err
		}
		if w.ClosesMinute <= w.OpensMinute { // it goes on past midnight
			w.ClosesMinute += 24 * 60
		}
		for name, bound := range map[string]**string{"starts": &w.StartsOn, "ends": &w.EndsOn} {
			if text := f.get(name); text != "" {
				if _, err := time.Parse(time.DateOnly, text); err != nil {
					return wrongValue("Please write the date as in 2026-12-31.")
				}
				*bound = &text
			}
		}
		return a.store.AddWindow(c.UserContext(), itemID, staffID, w)
	}, field{name: "remove", max: 19}, field{name: "day", max: 1, many: true}, field{name: "opens", max: 5}, field{name: "closes", max: 5}, field{name: "starts", max: 10}, field{name: "ends", max: 10})
}

// editSpecial sets a price for a time, or takes one back.
func (a *App) editSpecial(c *fiber.Ctx) error {
	return a.edit(c, func(f form, itemID, staffID int64) (err error) {
		if f.has("remove") {
			return a.removeFrom(c, f, "special", itemID, staffID)
		}
		var p models.SpecialPrice
		if f.get("option") != "" {
			option, err := parseID(f.get("option"))
			if err != nil {
				return err
			}
			p.OptionID = &option
		}
		rupees, err := optionalNumber(f.get("rupees"), "The price")
		if err != nil || rupees == nil {
			return wrongValue("Please write the price in whole rupees.")
		}
		p.PricePaise = models.Paise(*rupees) * 100
		for name, at := range map[string]*time.Time{"starts": &p.StartsAt, "ends": &p.EndsAt} {
			if *at, err = time.ParseInLocation("2006-01-02T15:04", f.get(name), models.India); err != nil {
				return wrongValue("Please say when the price starts and when it ends.")
			}
		}
		if !p.EndsAt.After(p.StartsAt) {
			return wrongValue("The price has to end after it starts.")
		}
		return a.store.AddSpecial(c.UserContext(), itemID, staffID, p)
	}, field{name: "remove", max: 19}, field{name: "option", max: 19}, field{name: "rupees", max: 7}, field{name: "starts", max: 16}, field{name: "ends", max: 16})
}

// editPart makes another dish a part of this one, or no longer.
func (a *App) editPart(c *fiber.Ctx) error {
	return a.edit(c, func(f form, itemID, staffID int64) (err error) {
		if f.has("remove") {
			return a.removeFrom(c, f, "part", itemID, staffID)
		}
		p := models.ItemPart{ItemID: itemID}
		if p.PartItemID, err = parseID(f.get("part")); err != nil {
			return err
		}
		if p.Qty, err = parseCount(f.get("qty"), 1, 20); err != nil {
			return err
		}
		if f.get("option") != "" {
			option, err := parseID(f.get("option"))
			if err != nil {
				return err
			}
			p.OptionID = &option
		}
		return a.store.AddPart(c.UserContext(), staffID, p)
	}, field{name: "remove", max: 19}, field{name: "part", max: 19}, field{name: "qty", max: 2}, field{name: "option", max: 19})
}

func (a *App) removeFrom(c *fiber.Ctx, f form, kind string, itemID, staffID int64) error {
	row, err := parseID(f.get("remove"))
	if err != nil {
		return err
	}
	return a.store.RemoveFrom(c.UserContext(), kind, itemID, row, staffID)
}

// editPhoto takes an upload as the dish's photo, or takes the photo away.
func (a *App) editPhoto(c *fiber.Ctx) error {
	itemID, err := rowID(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		return a.answerDishEdit(c, fiber.StatusConflict, itemID, staleNotice)
	}
	sent, err := readUpload(c)
	if err != nil {
		return err
	}
	ctx, staffID := c.UserContext(), shiftOf(c).member.ID
	if sent.remove {
		return a.answerEdit(c, itemID, a.store.SetPhoto(ctx, itemID, staffID, "", nil, nil))
	}
	if _, err := a.store.FindDishEdit(ctx, itemID, staffID); err != nil { // before the work
		return err
	}
	photo, err := photos.Make(sent.bytes, sent.focusX, sent.focusY)
	if err != nil {
		return a.answerEdit(c, itemID, wrongPhoto(err))
	}
	return a.answerEdit(c, itemID, a.store.SetPhoto(ctx, itemID, staffID, photo.Hash, photo.Small, photo.Large))
}

// wrongPhoto says in words why an upload is no photo for us; another error stays what it is.
func wrongPhoto(err error) error {
	for is, text := range map[error]wrongValue{photos.ErrTooLarge: "The photo is larger than 8 MB.", photos.ErrNotPhoto: "This is not a JPEG, PNG or WebP picture.",
		photos.ErrTooSmall: "The photo is too small: it needs at least 256 pixels each way.", photos.ErrTooMany: "The photo has more than 50 million pixels, which is too many."} {
		if errors.Is(err, is) {
			return text
		}
	}
	return err
}

type upload struct {
	bytes          []byte
	focusX, focusY int
	remove         bool
	csrf           string
}

// readUpload takes the photo's form apart, in memory only. Fields that it does not have are refused. Errors: errBadForm.
func readUpload(c *fiber.Ctx) (u upload, err error) {
	kind, params, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	if err != nil || kind != fiber.MIMEMultipartForm {
		return u, fmt.Errorf("%w: not a photo's form", errBadForm)
	}
	u.focusX, u.focusY = 50, 50
	parts := multipart.NewReader(bytes.NewReader(c.Request().Body()), params["boundary"])
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF {
			return u, nil
		}
		if err != nil || n > 10 {
			return u, fmt.Errorf("%w: broken upload", errBadForm)
		}
		body, err := io.ReadAll(io.LimitReader(part, photos.MaxBytes+1))
		if err != nil {
			return u, fmt.Errorf("%w: broken upload", errBadForm)
		}
		switch part.FormName() {
		case "photo":
			u.bytes = body
		case csrfField:
			u.csrf = string(body)
		case "remove":
			u.remove = true
		case "focus_x", "focus_y":
			at, err := parseCount(string(body), 0, 100)
			if err != nil {
				return u, err
			}
			if part.FormName() == "focus_x" {
				u.focusX = at
			} else {
				u.focusY = at
			}
		default:
			return u, fmt.Errorf("%w: unknown field", errBadForm)
		}
	}
}

// allowPhotos lets a signed-in member's upload be larger, and take longer, than any other body. Whether the session is good is judged later;
// without its cookie nothing large is read at all.
func allowPhotos(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	path, _, _ := strings.Cut(string(h.RequestURI()), "?")
	if h.IsPost() && strings.HasPrefix(path, dishEditURL) && strings.HasSuffix(path, "/photo") && len(h.Cookie(staffCookie)) > 0 {
		return fasthttp.RequestConfig{MaxRequestBodySize: photos.MaxBytes + 64<<10, ReadTimeout: time.Minute}
	}
	return fasthttp.RequestConfig{}
}

// servePhoto hands out a dish's photo. Its name is its content's hash, so it may be kept for a year.
func (a *App) servePhoto(c *fiber.Ctx) error {
	hash, size, _ := strings.Cut(strings.TrimSuffix(pathWord(c, "name"), ".jpg"), "-")
	if len(hash) != 32 || !isPlain(hash, false) || size != "256" && size != "640" || !strings.HasSuffix(c.Path(), ".jpg") {
		return models.ErrNotFound
	}
	photo, err := a.store.FindPhoto(c.UserContext(), hash, size == "640")
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "image/jpeg")
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	return c.Send(photo)
}

// optionalNumber reads a whole number that may be left empty.
func optionalNumber(text, what string) (*int, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	n, err := parseCount(text, 0, 1_000_000)
	if err != nil {
		return nil, wrongValue(what + " has to be a whole number, or empty.")
	}
	return &n, nil
}

// minuteOfDay reads a time of day; empty is what otherwise says.
func minuteOfDay(text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0, wrongValue("Please write the time as in 19:30.")
	}
	return at.Hour()*60 + at.Minute(), nil
}
