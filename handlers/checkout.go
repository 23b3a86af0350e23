package handlers

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/views"
)

// showCheckout is the review: lines, fields, bill. Under htmx it is the bill for another way or place.
func (a *App) showCheckout(c *fiber.Ctx) error {
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	fields, err := a.rememberedFields(c, session)
	if err != nil {
		return err
	}
	if way := c.Query("way"); isWay(way) {
		fields.Way, fields.PIN, fields.Time = way, cleanQuery(c.Query("pin")), cleanQuery(c.Query("time"))
		fields.Saved = cleanQuery(c.Query("saved"))
	}
	view, err := a.reviewCheckout(c, session, fields)
	if err != nil {
		return err
	}
	if isHTMX(c) {
		return a.render(c, fiber.StatusOK, views.CheckoutUpdate(view))
	}
	return a.render(c, fiber.StatusOK, views.CheckoutPage(view))
}

// tipFields is a cart's tip as the form shows it.
func tipFields(tip models.Paise) (choice, other string) {
	rupees := strconv.FormatInt(int64(tip/100), 10)
	if views.IsTipChoice(rupees) {
		return rupees, ""
	}
	return "other", rupees
}

// rememberedFields is what this customer typed last time, so that nobody types an address twice. It is the same customer's: another
// browser's visitor is another one.
func (a *App) rememberedFields(c *fiber.Ctx, session models.Session) (views.CheckoutFields, error) {
	last, found, err := a.latestOrder(c, session)
	if err != nil {
		return views.CheckoutFields{}, err
	}
	fields := views.CheckoutFields{Email: session.Email}
	if found {
		fields = views.CheckoutFields{Phone: nationalPhone(last.Phone), Name: last.Name, Email: last.Email, Way: last.Way,
			Line1: last.Line1, Line2: last.Line2, PIN: last.PIN, Directions: last.Directions}
		if last.Status == models.OrderPending { // still this meal: its allergy must not get lost on the way to paying again
			fields.Note = last.Note
			if last.IsLater() {
				fields.Time = strconv.FormatInt(last.PromisedFrom.Unix(), 10)
			}
		}
	}
	if way := a.wayChosen(c); way != "" {
		fields.Way = way
	}
	addresses, err := a.addressesOf(c, session)
	fields.Saved = startsWith(addresses, last)
	return fields, err
}

// reviewCheckout prices the visitor's cart for the fields as they are. Fields that cannot be right yet are priced as not known.
func (a *App) reviewCheckout(c *fiber.Ctx, session models.Session, fields views.CheckoutFields) (views.CheckoutView, error) {
	ctx := c.UserContext()
	view := views.CheckoutView{Form: fields, Errors: map[string]string{}}
	cart, err := a.store.FindCart(ctx, session)
	if err != nil {
		return view, err
	}
	a.tellCartVersion(c, cart)
	outlet, err := a.outletOfCart(c, cart)
	if err != nil {
		return view, err
	}
	if view.Page, err = a.page(c, views.T(ctx, "Checkout"), outlet); err != nil {
		return view, err
	}
	view.Form.Way = offeredWay(outlet, fields.Way)
	if view.Addresses, err = a.addressesOf(c, session); err != nil {
		return view, err
	}
	placed, _ := savedPlace(view.Addresses, fields)
	view.Form.Saved, view.Form.PIN = placed.Saved, placed.PIN
	pin, _ := normalPIN(placed.PIN)
	phone, _ := normalPhone(fields.Phone)
	review, err := a.cashier.Review(ctx, session, view.Form.Way, pin, phone, chosenTime(fields.Time))
	if err != nil {
		return view, err
	}
	if fields.Coupon == "" {
		view.Form.Coupon = cart.Coupon
	}
	view.Located = cart.LatitudeE6 != nil
	if fields.Tip == "" {
		view.Form.Tip, view.Form.TipOther = tipFields(cart.TipPaise)
	}
	view.Quote, view.Problem, view.Opening, view.Review = review.Quote, review.Problem, review.Opening, review.Quote.Digest()
	view.Times = review.Times
	if len(review.Cart.Lines) > 0 {
		if view.CheckoutKey, err = a.store.EnsureCheckoutKey(ctx, session.ID); err != nil {
			return view, err
		}
	}
	return view, nil
}

// chosenTime reads when a time starts as the form sends it; nil: as soon as possible, or no time at all.
func chosenTime(typed string) *time.Time {
	seconds, err := strconv.ParseUint(typed, 10, 33)
	if err != nil {
		return nil
	}
	at := time.Unix(int64(seconds), 0)
	return &at
}

// offeredWay is the chosen way if the outlet offers it, else the first it offers.
func offeredWay(outlet models.Outlet, chosen string) string {
	if chosen == "pickup" && outlet.OffersPickup || !outlet.OffersDelivery && outlet.OffersPickup {
		return "pickup"
	}
	return "delivery"
}

var checkoutFields = []field{{name: "phone", max: 100}, {name: "name", max: 1000}, {name: "email", max: 1000}, {name: "way", max: 8},
	{name: "line1", max: 1000}, {name: "line2", max: 1000}, {name: "pin", max: 40}, {name: "directions", max: 2000}, {name: "note", max: 8000, text: true},
	{name: "coupon", max: 100}, {name: "tip", max: 8}, {name: "tip_other", max: 20}, {name: "gstin", max: 100}, {name: "buyer_name", max: 1000}, {name: "pays", max: 8}, {name: "place", max: 40}, {name: "saved", max: 20}, {name: "save", max: 1},
	{name: "time", max: 12}, {name: "soonest_by", max: 12}, {name: "checkout_key", max: 36}, {name: "review", max: 64}}

// placeOrder is Pay: it checks the fields, makes or finds the one order of this checkout and goes on to its payment.
func (a *App) placeOrder(c *fiber.Ctx) error {
	f, err := readForm(c, checkoutFields...)
	if err != nil {
		return err
	}
	fields := typedFields(f)
	if fields.Pays != "" && fields.Pays != "cash" && fields.Pays != "razorpay" || fields.Way != "" && !isWay(fields.Way) || fields.Time != "" && chosenTime(fields.Time) == nil {
		return errBadForm
	}
	if isStale(c) {
		session, err := a.ensureGuest(c)
		if err != nil {
			return err
		}
		a.note(c, errStaleForm)
		return a.askAgain(c, session, fields, fiber.StatusForbidden, nil, "details")
	}
	session, err := a.findGuest(c)
	if err != nil {
		return err
	}
	addresses, err := a.addressesOf(c, session)
	if err != nil {
		return err
	}
	placed, gone := savedPlace(addresses, fields)
	if gone {
		return a.askAgain(c, session, fields, fiber.StatusConflict, map[string]string{"saved": views.T(c.UserContext(), "This address is not saved any more. Please choose another.")}, "")
	}
	in, wrong := checkFields(c.UserContext(), placed)
	if len(wrong) > 0 {
		return a.askAgain(c, session, fields, fiber.StatusUnprocessableEntity, wrong, "")
	}
	in.Cash = fields.Pays == "cash"
	in.At, in.SoonestBy = chosenTime(fields.Time), chosenTime(f.get("soonest_by"))
	in.Session, in.CheckoutKey, in.Review, in.Language = session, f.get("checkout_key"), f.get("review"), views.LanguageOf(c.UserContext())
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return err
	}
	// What an order was placed for is its own; a tip or a coupon that is not in the bill yet is asked about first.
	if session.CheckoutKey != nil && *session.CheckoutKey == in.CheckoutKey {
		changed, err := a.setExtras(c, cart, fields)
		if err != nil {
			return err
		}
		if changed {
			return a.askAgain(c, session, fields, fiber.StatusConflict, nil, "bill")
		}
	}
	if err := a.checkWay(c, cart, in.Way); err != nil {
		if !errors.Is(err, models.ErrBadMove) {
			return err
		}
		return a.askAgain(c, session, fields, fiber.StatusUnprocessableEntity, map[string]string{"way": views.T(c.UserContext(), "This kitchen does not offer that. Please choose again.")}, "")
	}
	order, err := a.cashier.PlaceOrder(c.UserContext(), in)
	if err != nil {
		return a.refuseOrder(c, in, fields, err)
	}
	a.keepAddress(c, in, fields)
	// The gateway is asked at once, so that the pay page can open Razorpay without another round. Whatever comes of it, the order stands:
	// the pay page says what is missing and asks again, and a paid order's is its own page.
	return redirect(c, a.prepare(c, order))
}

func typedFields(f form) views.CheckoutFields {
	return views.CheckoutFields{Phone: f.get("phone"), Name: f.get("name"), Email: f.get("email"), Way: f.get("way"), Line1: f.get("line1"),
		Line2: f.get("line2"), PIN: f.get("pin"), Directions: f.get("directions"), Note: strings.ReplaceAll(f.get("note"), "\r\n", "\n"),
		Coupon: f.get("coupon"), Tip: f.get("tip"), TipOther: f.get("tip_other"), GSTIN: f.get("gstin"), BuyerName: f.get("buyer_name"), Time: f.get("time"), Pays: f.get("pays"), Saved: f.get("saved"), Save: f.get("save")}
}

// changeExtras is Apply, and another tip: it writes coupon and tip into the cart and shows the bill with them. What was typed elsewhere is
// kept and not judged yet.
func (a *App) changeExtras(c *fiber.Ctx) error {
	f, err := readForm(c, checkoutFields...)
	if err != nil {
		return err
	}
	fields := typedFields(f)
	if fields.Way != "" && !isWay(fields.Way) {
		return errBadForm
	}
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		return a.askAgain(c, session, fields, fiber.StatusForbidden, nil, "details")
	}
	if _, _, wrong := checkExtras(c.UserContext(), fields); len(wrong) > 0 {
		return a.askAgain(c, session, fields, fiber.StatusUnprocessableEntity, wrong, "")
	}
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return err
	}
	if _, err := a.setExtras(c, cart, fields); err != nil {
		return err
	}
	if err := a.setPlace(c, cart, f.get("place")); err != nil {
		return err
	}
	return a.askAgain(c, session, fields, fiber.StatusOK, nil, "")
}

// setPlace writes where the browser says it is, "latitude,longitude" in degrees, into the visitor's cart; "none" forgets it, "" changes nothing.
func (a *App) setPlace(c *fiber.Ctx, cart models.Cart, typed string) error {
	if typed == "" || cart.ID == 0 {
		return nil
	}
	if typed == "none" {
		return a.store.SetPlace(c.UserContext(), cart.ID, nil, nil)
	}
	var e6 [2]int
	lat, lng, _ := strings.Cut(typed, ",")
	for i, text := range []string{lat, lng} {
		degrees, err := strconv.ParseFloat(text, 64)
		if err != nil || !(math.Abs(degrees) <= 180) {
			return errBadForm
		}
		e6[i] = int(math.Round(degrees * 1e6))
	}
	err := a.store.SetPlace(c.UserContext(), cart.ID, &e6[0], &e6[1])
	if errors.Is(err, models.ErrBadInput) {
		return errBadForm
	}
	return err
}

// setExtras writes the coupon and tip as typed into the visitor's cart; both are right (checkExtras). changed says that the bill is another one.
func (a *App) setExtras(c *fiber.Ctx, cart models.Cart, fields views.CheckoutFields) (changed bool, err error) {
	if cart.ID == 0 {
		return false, nil
	}
	coupon, tip, _ := checkExtras(c.UserContext(), fields)
	return a.store.SetExtras(c.UserContext(), cart.ID, coupon, tip)
}

// checkExtras reads coupon and tip as typed, and says what is wrong in words for people.
func checkExtras(ctx context.Context, f views.CheckoutFields) (coupon string, tip models.Paise, wrong map[string]string) {
	wrong = map[string]string{}
	coupon, ok := models.NormalCoupon(f.Coupon)
	if !ok {
		wrong["coupon"] = views.T(ctx, "A coupon has 3 to 20 letters and digits.")
	}
	rupees := f.Tip
	switch {
	case rupees == "":
		rupees = "0"
	case !views.IsTipChoice(rupees):
		wrong["tip"] = views.T(ctx, "Please choose one of the tips.")
		return coupon, 0, wrong
	case rupees == "other":
		if rupees = strings.Trim(f.TipOther, " ₹"); rupees == "" {
			rupees = "0"
		}
	}
	n, err := strconv.ParseUint(rupees, 10, 16)
	if tip = models.Paise(n) * 100; err != nil || tip > models.MaxTipPaise {
		wrong["tip"] = views.T(ctx, "A tip is in whole rupees, at most %s.", views.ShortRupees(models.MaxTipPaise))
	}
	return coupon, tip, wrong
}

// checkWay refuses a way the cart's outlet does not offer (any more) with models.ErrBadMove.
func (a *App) checkWay(c *fiber.Ctx, cart models.Cart, way string) error {
	if cart.ID == 0 {
		return nil
	}
	outlet, err := a.store.FindOutlet(c.UserContext(), cart.OutletID)
	if err != nil {
		return err
	}
	if offeredWay(outlet, way) != way {
		return models.ErrBadMove
	}
	return nil
}

// refuseOrder answers a Pay that placed nothing with the review as it is now.
func (a *App) refuseOrder(c *fiber.Ctx, in payments.Checkout, fields views.CheckoutFields, cause error) error {
	var delivery *models.ErrDelivery
	var cash *models.ErrCash
	var coupon *models.ErrCoupon
	switch {
	case errors.As(cause, &coupon): // somebody was first: the bill is another one
		a.note(c, cause)
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, nil, "bill")
	case errors.Is(cause, models.ErrKeyReused):
		a.note(c, cause)
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, nil, "details")
	case errors.Is(cause, models.ErrBillChanged):
		a.note(c, cause)
		firstTotal, err := a.isFirstTotal(c, in)
		if err != nil {
			return err
		}
		changed := "bill"
		if firstTotal {
			changed = ""
		}
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, nil, changed)
	case errors.Is(cause, models.ErrTimeGone):
		a.note(c, cause)
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, nil, "time")
	case errors.As(cause, &delivery) && delivery.Why == "far":
		return a.askAgain(c, in.Session, fields, fiber.StatusUnprocessableEntity, map[string]string{"pin": views.T(c.UserContext(), "We do not deliver to this PIN code.")}, "")
	case errors.As(cause, &cash):
		a.note(c, cause)
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, map[string]string{"pays": views.CashText(c.UserContext(), cash)}, "")
	case errors.As(cause, &delivery):
		return a.askAgain(c, in.Session, fields, fiber.StatusUnprocessableEntity, nil, "")
	case models.IsCustomerProblem(cause): // the page shows each of these
		a.note(c, cause)
		return a.askAgain(c, in.Session, fields, fiber.StatusConflict, nil, "")
	}
	return cause
}

// isFirstTotal reports that the bill which was shown only lacked the place: then a total is not a changed one, but the first.
func (a *App) isFirstTotal(c *fiber.Ctx, in payments.Checkout) (bool, error) {
	if in.Way != "delivery" {
		return false, nil
	}
	review, err := a.cashier.Review(c.UserContext(), in.Session, in.Way, "", in.Phone, in.At)
	return err == nil && review.Quote.Digest() == in.Review, err
}

// askAgain shows the form with everything that was typed, what is wrong with it, and the bill and key as they are now.
func (a *App) askAgain(c *fiber.Ctx, session models.Session, fields views.CheckoutFields, status int, wrong map[string]string, changed string) error {
	view, err := a.reviewCheckout(c, session, fields)
	if err != nil {
		return err
	}
	view.Changed = changed
	if wrong != nil {
		view.Errors = wrong
	}
	if !isHTMX(c) {
		return a.render(c, status, views.CheckoutPage(view))
	}
	// Also where htmx would show an error's text as a toast only.
	c.Set("HX-Retarget", "#main")
	c.Set("HX-Reswap", "outerHTML")
	return a.render(c, status, views.CheckoutForm(view))
}

const (
	maxName    = 80
	maxAddress = 120
	maxHint    = 200 // directions
	maxNote    = 500
	maxEmail   = 254
)

// checkFields judges what was typed, as the database's checks will, and says what is wrong per field in words for people.
func checkFields(ctx context.Context, f views.CheckoutFields) (payments.Checkout, map[string]string) {
	wrong := map[string]string{}
	in := payments.Checkout{Way: f.Way, Name: strings.TrimSpace(f.Name), Email: strings.TrimSpace(f.Email), Note: f.Note}
	var ok bool
	if in.Phone, ok = normalPhone(f.Phone); !ok {
		wrong["phone"] = views.T(ctx, "A mobile number has 10 digits and begins with 6, 7, 8 or 9, such as 98450 12345.")
	}
	switch n := utf8.RuneCountInString(in.Name); {
	case n == 0:
		wrong["name"] = views.T(ctx, "Please tell us your name.")
	case n > maxName:
		wrong["name"] = views.T(ctx, "A name has at most 80 characters.")
	}
	if in.Email != "" && !isEmail(in.Email) {
		wrong["email"] = views.T(ctx, "An email address looks like name@example.com.")
	}
	_, _, wrongExtras := checkExtras(ctx, f)
	maps.Copy(wrong, wrongExtras)
	if in.BuyerGSTIN, ok = models.NormalGSTIN(f.GSTIN); !ok {
		wrong["gstin"] = views.T(ctx, "A GSTIN has 15 characters, such as 29ABCDE1234F1ZW. Please check it.")
	}
	if in.BuyerName = strings.TrimSpace(f.BuyerName); utf8.RuneCountInString(in.BuyerName) > maxAddress {
		wrong["buyer_name"] = views.T(ctx, "The name of a business has at most 120 characters.")
	}
	if utf8.RuneCountInString(in.Note) > maxNote {
		wrong["note"] = views.T(ctx, "A note has at most 500 characters.")
	}
	switch f.Way {
	case "":
		wrong["way"] = views.T(ctx, "Please choose delivery or pickup.")
	case "delivery":
		checkAddress(ctx, f, &in, wrong)
	}
	return in, wrong
}

func checkAddress(ctx context.Context, f views.CheckoutFields, in *payments.Checkout, wrong map[string]string) {
	in.Line1, in.Line2, in.Directions = strings.TrimSpace(f.Line1), strings.TrimSpace(f.Line2), strings.TrimSpace(f.Directions)
	for _, line := range []struct{ name, value, missing string }{
		{"line1", in.Line1, views.Key("Please tell us the flat, floor or building.")},
		{"line2", in.Line2, views.Key("Please tell us the street or area.")},
	} {
		switch {
		case line.value == "":
			wrong[line.name] = views.T(ctx, line.missing)
		case utf8.RuneCountInString(line.value) > maxAddress:
			wrong[line.name] = views.T(ctx, "An address line has at most 120 characters.")
		}
	}
	if utf8.RuneCountInString(in.Directions) > maxHint {
		wrong["directions"] = views.T(ctx, "Directions have at most 200 characters.")
	}
	var ok bool
	if in.PIN, ok = normalPIN(f.PIN); !ok {
		wrong["pin"] = views.T(ctx, "A PIN code has 6 digits, such as 560038.")
	}
}

var mobile = regexp.MustCompile(`^[6-9][0-9]{9}$`)

// normalPhone reads an Indian mobile number however people write it, with spaces, dashes, +91, 91 or 0 in front, as E.164.
func normalPhone(typed string) (e164 string, ok bool) {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -.()\u00a0\t", r) {
			return -1
		}
		return r
	}, typed)
	for _, prefix := range []string{"+91", "0091", "91", "0"} {
		if rest, cut := strings.CutPrefix(digits, prefix); cut && (mobile.MatchString(rest) || mobile.MatchString(strings.TrimPrefix(rest, "0"))) {
			digits = strings.TrimPrefix(rest, "0")
			break
		}
	}
	if !mobile.MatchString(digits) {
		return "", false
	}
	return "+91" + digits, true
}

// nationalPhone is a number as the form shows it again, beside its +91.
func nationalPhone(e164 string) string {
	digits := strings.TrimPrefix(e164, "+91")
	if !mobile.MatchString(digits) {
		return e164
	}
	return digits[:5] + " " + digits[5:]
}

var pinCode = regexp.MustCompile(`^[1-9][0-9]{5}$`)

// normalPIN reads a PIN code as people write it: 560038 or 560 038.
func normalPIN(typed string) (pin string, ok bool) {
	pin = strings.ReplaceAll(strings.TrimSpace(typed), " ", "")
	if !pinCode.MatchString(pin) {
		return "", false
	}
	return pin, true
}

// isEmail reports whether a letter could be sent there: one plain address whose domain has a dot. Whether it arrives is not ours to say.
func isEmail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > maxEmail {
		return false
	}
	domain := text[strings.LastIndexByte(text, '@')+1:]
	return strings.Contains(strings.Trim(domain, "."), ".") && !strings.ContainsAny(text, "[]\"")
}
