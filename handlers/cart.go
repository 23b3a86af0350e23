package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// showCart is the cart as a page of its own.
func (a *App) showCart(c *fiber.Ctx) error {
	session, err := a.ensureGuest(c)
	if err != nil {
		return err
	}
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return err
	}
	outlet, err := a.outletOfCart(c, cart)
	if err != nil {
		return err
	}
	page, err := a.page(c, views.T(c.UserContext(), "Your order"), outlet)
	if err != nil {
		return err
	}
	view, _, err := a.priceCart(c, cart, page, "cart")
	if err != nil {
		return err
	}
	if view.Again, err = a.again(c, cart); err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, noCache)
	return a.render(c, fiber.StatusOK, views.CartPage(view))
}

// cartView is the visitor's cart as it stands now, priced without a place to bring it to.
func (a *App) cartView(c *fiber.Ctx, session models.Session, page views.Page, from string) (views.CartView, error) {
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return views.CartView{}, err
	}
	view, _, err := a.priceCart(c, cart, page, from)
	return view, err
}

// priceCart prices a cart for the cart's own views, and tells the browser which version of it this is. The dishes of the cart's outlet
// come along.
func (a *App) priceCart(c *fiber.Ctx, cart models.Cart, page views.Page, from string) (views.CartView, map[int64]models.Item, error) {
	view := views.CartView{Page: page, From: from}
	a.tellCartVersion(c, cart)
	if cart.ID == 0 {
		return view, nil, nil
	}
	offer, err := a.store.OfferFor(c.UserContext(), cart, "", nil)
	if err != nil {
		return view, nil, err
	}
	list := offer.List
	view.Later = offer.Schedule.TimesAt(offer.ReadAt, offer.Schedule.Outlet.LeadMinutes("pickup"), offer.Load).IsForLater()
	// Collecting costs nothing, so this is the cart alone; checkout prices the way and the place.
	view.Quote, err = models.PriceCart(list, cart, models.Destination{Way: "pickup", Served: true})
	if err != nil && !models.IsCustomerProblem(err) {
		return view, nil, err
	}
	return view, list.Items, nil
}

// tellCartVersion sets the cookie that the page's script compares after Back, so that a kept page with an old cart reloads.
func (a *App) tellCartVersion(c *fiber.Ctx, cart models.Cart) {
	version := strconv.FormatInt(cart.ID, 36) + "_" + strconv.FormatInt(cart.Version, 36)
	if c.Cookies(cartCookie) != version {
		c.Cookie(&fiber.Cookie{Name: cartCookie, Value: version, Path: "/", MaxAge: cookieSeconds(guestCookieAge), Secure: a.isHTTPS(), SameSite: fiber.CookieSameSiteLaxMode})
	}
}

// outletOfCart is the outlet a cart belongs to, or, without one, the only outlet there is; zero when there are several.
func (a *App) outletOfCart(c *fiber.Ctx, cart models.Cart) (models.Outlet, error) {
	if cart.ID != 0 {
		return a.store.FindOutlet(c.UserContext(), cart.OutletID)
	}
	outlets, err := a.activeOutlets(c)
	if err != nil || len(outlets) != 1 {
		return models.Outlet{}, err
	}
	return outlets[0], nil
}

// cartChange is what one of our forms asks of the cart: a stepper sets a number, the dish form adds to it.
type cartChange struct {
	itemID  int64
	options []int64
	adds    bool
	qty     int   // to add, or to set
	seq     int64 // of the stepper; 0: sent without script
	note    string
	from    string // "", cart, checkout: where the stepper stands
	way     string // from checkout: what the bill in the answer is for
	pin     string
	time    string
	saved   string
}

var stepperFields = []field{{name: "item", max: 19}, {name: "option", max: 19, many: true}, {name: "set", max: 2}, {name: "qty", max: 2}, {name: "seq", max: 16},
	{name: "from", max: 8}, {name: "way", max: 8}, {name: "pin", max: 40}, {name: "time", max: 12}, {name: "saved", max: 20}}

var dishFields = []field{{name: "item", max: 19}, {name: "option", max: 19, many: true}, {name: "option.*", max: 19}, {name: "add", max: 2}, {name: "note", max: 2000}}

func readCartChange(c *fiber.Ctx) (change cartChange, err error) {
	values, err := postedValues(c)
	if err != nil {
		return change, err
	}
	fields := stepperFields
	if values.Has("add") {
		fields = dishFields
	}
	f, err := readForm(c, fields...)
	if err != nil {
		return change, err
	}
	if change.itemID, err = parseID(f.get("item")); err != nil {
		return change, err
	}
	for name, sent := range f.values {
		if name != "option" && !strings.HasPrefix(name, "option.") {
			continue
		}
		for _, text := range sent {
			option, err := parseID(text)
			if err != nil {
				return change, err
			}
			change.options = append(change.options, option)
		}
	}
	change.note, change.from, change.way, change.pin, change.time, change.saved = f.get("note"), f.get("from"), f.get("way"), f.get("pin"), f.get("time"), f.get("saved")
	switch {
	case change.from != "" && change.from != "cart" && change.from != "checkout":
		return change, fmt.Errorf("%w: from", errBadForm)
	case change.from != "checkout" && (f.has("way") || f.has("pin") || f.has("time") || f.has("saved")), change.way != "" && !isWay(change.way):
		return change, fmt.Errorf("%w: way or pin", errBadForm)
	case f.has("add"):
		change.adds = true
		change.qty, err = parseCount(f.get("add"), 1, models.MaxLineQty)
	case f.get("seq") == "":
		change.qty, err = parseCount(f.get("set"), 0, models.MaxLineQty)
	default: // set, which htmx sends along as the button last pressed, is older than qty
		if change.seq, err = parseID(f.get("seq")); err == nil {
			change.qty, err = parseCount(f.get("qty"), 0, models.MaxLineQty)
		}
	}
	return change, err
}

// changeCart does what a stepper or a dish form asks. The database takes one change of a cart after the other, so none is lost; one that
// cannot be done changes nothing and comes back with its reason.
func (a *App) changeCart(c *fiber.Ctx) error {
	change, err := readCartChange(c)
	if err != nil {
		return err
	}
	if isStale(c) {
		session, err := a.ensureGuest(c)
		if err != nil {
			return err
		}
		return a.refuseChange(c, session, change, errStaleForm)
	}
	session, err := a.findGuest(c)
	if err != nil {
		return err
	}
	err = a.applyChange(c, session, change)
	switch {
	case err == nil:
		return a.showChange(c, session, change)
	case errors.Is(err, models.ErrBadInput), models.IsCustomerProblem(err):
		return a.refuseChange(c, session, change, err)
	}
	return err
}

func (a *App) applyChange(c *fiber.Ctx, session models.Session, change cartChange) error {
	ctx := c.UserContext()
	cart, err := a.store.FindCart(ctx, session)
	if err != nil {
		return err
	}
	if len(cart.Lines) == 0 {
		outlet, err := a.outletOfDish(c, change.itemID)
		if err != nil {
			return err
		}
		if cart, err = a.store.EnsureCart(ctx, session, outlet.ID); err != nil {
			return err
		}
	}
	if change.adds {
		_, err = a.store.AddFiltered(ctx, dietOf(c), cart.ID, change.itemID, change.options, change.qty, change.note)
	} else {
		_, err = a.store.SetFiltered(ctx, dietOf(c), cart.ID, change.itemID, change.options, change.qty, change.seq)
	}
	return err
}

// outletOfDish says where a dish is sold, for the first one in a cart. With a single outlet the cart itself refuses what is not there.
func (a *App) outletOfDish(c *fiber.Ctx, itemID int64) (models.Outlet, error) {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return models.Outlet{}, err
	}
	if len(outlets) == 1 {
		return outlets[0], nil
	}
	for _, outlet := range outlets {
		list, err := a.store.PriceList(c.UserContext(), outlet.ID)
		if err != nil {
			return models.Outlet{}, err
		}
		if _, found := list.Items[itemID]; found {
			return outlet, nil
		}
	}
	return models.Outlet{}, fmt.Errorf("dish %d: %w", itemID, models.ErrNotFound)
}

// showChange answers a change that was made.
func (a *App) showChange(c *fiber.Ctx, session models.Session, change cartChange) error {
	if !isHTMX(c) {
		return a.backToWhere(c, session, change)
	}
	update, err := a.changeUpdate(c, session, change, "")
	if err != nil {
		return err
	}
	return a.render(c, fiber.StatusOK, update)
}

// backToWhere sends a browser without script back to the page the form stood on.
func (a *App) backToWhere(c *fiber.Ctx, session models.Session, change cartChange) error {
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return err
	}
	a.tellCartVersion(c, cart)
	if change.from != "" {
		return redirect(c, "/"+change.from)
	}
	outlet, err := a.outletOfCart(c, cart)
	if err != nil {
		return err
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return err
	}
	return redirect(c, page.MenuURL)
}

// changeUpdate is the out-of-band answer for the page the stepper stands on. reason says why the number is not the one asked for.
func (a *App) changeUpdate(c *fiber.Ctx, session models.Session, change cartChange, reason string) (templ.Component, error) {
	if change.from == "checkout" {
		fields, err := a.rememberedFields(c, session)
		if err != nil {
			return nil, err
		}
		if change.way != "" {
			fields.Way, fields.PIN, fields.Time, fields.Saved = change.way, change.pin, change.time, change.saved
		}
		view, err := a.reviewCheckout(c, session, fields)
		if err != nil {
			return nil, err
		}
		return views.CheckoutUpdate(view), nil
	}
	cart, err := a.store.FindCart(c.UserContext(), session)
	if err != nil {
		return nil, err
	}
	outlet, err := a.outletOfCart(c, cart)
	if err != nil {
		return nil, err
	}
	page, err := a.page(c, "", outlet)
	if err != nil {
		return nil, err
	}
	view, items, err := a.priceCart(c, cart, page, change.from)
	if err != nil {
		return nil, err
	}
	return views.CartUpdate(views.CartUpdateView{Cart: view, Item: items[change.itemID], Reason: reason}), nil
}

// refuseChange says near the control why nothing was changed, and shows what is true.
func (a *App) refuseChange(c *fiber.Ctx, session models.Session, change cartChange, cause error) error {
	a.note(c, cause)
	status, reason, err := a.changeRefusal(c, session, change, cause)
	if err != nil {
		return err
	}
	switch {
	case change.adds:
		return a.refuseDish(c, change, status, reason, cause)
	case !isHTMX(c) && change.from == "":
		return a.refuseDish(c, change, status, reason, cause)
	case !isHTMX(c):
		return a.showError(c, status, reason)
	}
	update, err := a.changeUpdate(c, session, change, reason)
	if err != nil {
		return err
	}
	// The stepper's own answer is out of band; the sentence is for those who look elsewhere on the page.
	c.Set("HX-Retarget", "#toast")
	c.Set("HX-Reswap", "innerHTML")
	toast := views.ErrorToast(views.ErrorView{Page: a.plainPage(c), Status: status, Sentence: reason, RequestID: visitOf(c).requestID})
	return a.render(c, status, templ.Join(update, toast))
}

// refuseDish shows the dish again with what was chosen and why it was not added.
func (a *App) refuseDish(c *fiber.Ctx, change cartChange, status int, reason string, cause error) error {
	stale := errors.Is(cause, errStaleForm)
	if isHTMX(c) && !stale {
		return a.render(c, status, views.DishError(reason))
	}
	item, outlet, err := a.dishByID(c, change.itemID)
	if errors.Is(err, models.ErrNotFound) {
		return a.showError(c, status, reason)
	}
	if err != nil {
		return err
	}
	if isHTMX(c) { // the sheet's token is what is wrong, so all of the sheet is sent again
		c.Set("HX-Retarget", "#sheet")
		c.Set("HX-Reswap", "innerHTML")
	}
	view := views.DishView{Item: item, Qty: change.qty, Note: change.note, Error: reason, Picked: change.options}
	if !change.adds {
		view.Qty, view.Picked = 1, nil
	}
	return a.renderDish(c, status, view, outlet)
}

// dishByID finds a dish of any open outlet as the menu shows it. Errors: models.ErrNotFound.
func (a *App) dishByID(c *fiber.Ctx, itemID int64) (models.Item, models.Outlet, error) {
	outlets, err := a.activeOutlets(c)
	if err != nil {
		return models.Item{}, models.Outlet{}, err
	}
	for _, outlet := range outlets {
		list, err := a.store.PriceList(c.UserContext(), outlet.ID)
		if err != nil {
			return models.Item{}, models.Outlet{}, err
		}
		if item, found := list.Items[itemID]; found && item.ArchivedAt == nil {
			return item, outlet, nil
		}
	}
	return models.Item{}, models.Outlet{}, models.ErrNotFound
}

// changeRefusal puts into words why the cart did not take a change. The database has refused it already; what is read here only helps
// to name the limit.
func (a *App) changeRefusal(c *fiber.Ctx, session models.Session, change cartChange, cause error) (status int, reason string, err error) {
	ctx := c.UserContext()
	switch {
	case errors.Is(cause, models.ErrNotFound):
		return fiber.StatusConflict, views.T(ctx, "That dish was not found: it is not on the menu any more."), nil
	case !errors.Is(cause, models.ErrBadInput):
		status, reason = explain(ctx, cause)
		return status, reason, nil
	}
	cart, err := a.store.FindCart(ctx, session)
	if err != nil {
		return 0, "", err
	}
	switch {
	case len(cart.Lines) >= models.MaxLines:
		reason = views.T(ctx, "An order has at most %s different dishes.", strconv.Itoa(models.MaxLines))
	case len([]rune(change.note)) > models.MaxLineNote:
		reason = views.T(ctx, "A note has at most %s characters.", strconv.Itoa(models.MaxLineNote))
	case change.qty+lineQty(cart, change) > models.MaxLineQty:
		reason = views.T(ctx, "%s of one dish is the most we take online.", strconv.Itoa(models.MaxLineQty))
	default:
		reason = views.T(ctx, "The notes on one dish have at most %s characters together.", strconv.Itoa(models.MaxLineNote))
	}
	return fiber.StatusUnprocessableEntity, reason, nil
}

// lineQty is how many the cart has of the dish with exactly these choices.
func lineQty(cart models.Cart, change cartChange) int {
	options := slices.Sorted(slices.Values(change.options))
	for _, line := range cart.Lines {
		if line.ItemID == change.itemID && slices.Equal(line.OptionIDs, options) {
			return line.Qty
		}
	}
	return 0
}
