package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/payments"
	"tiffin/views"
)

// sheetColour is the brand's, on Razorpay's sheet (ux.md section 7).
const sheetColour = "#5b1440"

// sheetLanguages are the ones of ours that Razorpay's sheet is written in, English aside (config.display.language).
var sheetLanguages = map[string]bool{"hi": true}

func payURL(order models.Order) string { return "/pay/" + order.Token }

// showPay is the page that opens Razorpay. Looking at it makes nothing: without a gateway order its button asks for one. An order that
// cannot be paid now, or whose money is on its way, is shown on its own page.
func (a *App) showPay(c *fiber.Ctx) error {
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	return a.renderPay(c, fiber.StatusOK, order)
}

func (a *App) renderPay(c *fiber.Ctx, status int, order models.Order) error {
	if _, err := a.ensureGuest(c); err != nil {
		return err
	}
	facts, err := a.orderView(c, order)
	if err != nil {
		return err
	}
	switch state := views.OrderState(facts, facts.Page.Now); {
	case !order.IsPayable(), state != views.StateUnpaid && state != views.StateFailed:
		return redirect(c, orderURL(order))
	}
	view := views.PayView{Page: facts.Page, Order: order, ScriptURL: a.cfg.CheckoutURL, HostedURL: a.cfg.HostedURL,
		CancelURL: a.cfg.PublicURL + payURL(order) + "?state=" + views.PayClosed}
	view.Page.Title = views.T(c.UserContext(), "Payment")
	current, open, err := a.currentGatewayOrder(c, order)
	if err != nil {
		return err
	}
	view.State = payState(c.Query("state"), open)
	if view.State == views.PayFailed {
		view.Reason = lastReason(facts.Payments)
	}
	if open {
		if err := a.store.HandOut(c.UserContext(), current.RazorpayOrderID); err != nil {
			return err
		}
		view.Options = a.payOptions(c.UserContext(), order, current, facts.Page.Now)
	}
	c.Set(fiber.HeaderContentSecurityPolicy, payPolicy(a.cfg.CSPHosts))
	c.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups") // banks' windows report back to the sheet
	c.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=("+payFeature(a.cfg.CSPHosts)+")")
	c.Set("X-Robots-Tag", "noindex")
	return a.render(c, status, views.PayPage(view))
}

// payState is what the page says. The address's own word about it is for display and decides nothing.
func payState(said string, open bool) string {
	switch {
	case !open && said == views.PayUnavailable:
		return views.PayUnavailable
	case !open:
		return views.PayPreparing
	case said == views.PayClosed, said == views.PayFailed:
		return said
	}
	return views.PayReady
}

func lastReason(payments []models.Payment) string {
	if len(payments) == 0 {
		return ""
	}
	return payments[len(payments)-1].ErrorDescription
}

// payFeature names the origins that may use the browser's payment sheet.
func payFeature(hosts []string) string {
	allowed := []string{"self"}
	for _, host := range hosts {
		allowed = append(allowed, strconv.Quote(host))
	}
	return strings.Join(allowed, " ")
}

// currentGatewayOrder is the one browsers are given. found is false while there is none.
func (a *App) currentGatewayOrder(c *fiber.Ctx, order models.Order) (current models.GatewayOrder, found bool, err error) {
	known, err := a.store.ListGatewayOrders(c.UserContext(), order.ID)
	for _, g := range known {
		if g.State == "current" {
			return g, true, nil
		}
	}
	return current, false, err
}

func (a *App) payOptions(ctx context.Context, order models.Order, current models.GatewayOrder, now time.Time) views.PayOptions {
	options := views.PayOptions{
		Key: a.cfg.KeyID, OrderID: current.RazorpayOrderID, Amount: current.AmountPaise, Currency: current.Currency,
		Name: order.OutletName, Description: views.T(ctx, "Order %s", strconv.Itoa(order.Number)),
		Prefill:     views.PayPrefill{Name: order.Name, Contact: order.Phone, Email: order.Email},
		Theme:       views.PayTheme{Color: sheetColour},
		Timeout:     int(order.HoldExpiresAt.Sub(now) / time.Second),
		CallbackURL: a.cfg.PublicURL + "/payments/verify?order=" + url.QueryEscape(order.Token),
	}
	if language := views.LanguageOf(ctx); sheetLanguages[language] {
		options.Config = &views.PayConfig{}
		options.Config.Display.Language = language
	}
	return options
}

// openPayment makes or finds the gateway order and goes to the page that opens it.
func (a *App) openPayment(c *fiber.Ctx) error {
	if _, err := readForm(c); err != nil {
		return err
	}
	order, err := a.findOrder(c, pathWord(c, "token"))
	if err != nil {
		return err
	}
	if isStale(c) {
		a.note(c, errStaleForm)
		return a.renderPay(c, fiber.StatusForbidden, order)
	}
	return redirect(c, a.prepare(c, &order))
}

// prepare asks for the gateway order and says where to go on: to pay, to pay with a word of excuse, or, if the order cannot be paid any
// more, to its page.
func (a *App) prepare(c *fiber.Ctx, order *models.Order) string {
	_, err := a.cashier.OpenGatewayOrder(c.UserContext(), order)
	switch {
	case err == nil, errors.Is(err, models.ErrPreparing):
		return payURL(*order)
	case errors.Is(err, models.ErrBadMove), errors.Is(err, models.ErrTooLate):
		return orderURL(*order)
	}
	a.note(c, err)
	return payURL(*order) + "?state=" + views.PayUnavailable
}

// verifyPayment hears from a browser that a payment was made: from the page's script as JSON, or from Razorpay as a form that its page
// posts across sites, so without cookies. Neither is believed; the signature is, over the ids we stored.
func (a *App) verifyPayment(c *fiber.Ctx) error {
	if strings.HasPrefix(c.Get(fiber.HeaderContentType), fiber.MIMEApplicationJSON) {
		return a.verifyScript(c)
	}
	return a.verifyCallback(c)
}

// verifyScript answers the page's script.
func (a *App) verifyScript(c *fiber.Ctx) error {
	order, err := a.verifyJSON(c)
	switch {
	case err == nil:
		return c.Status(fiber.StatusOK).JSON(fiber.Map{"status": order.Status, "location": orderURL(*order)})
	case errors.Is(err, payments.ErrUnconfirmed):
		a.note(c, err)
		return c.Status(fiber.StatusAccepted).JSON(fiber.Map{"status": "confirming", "location": orderURL(*order)})
	}
	a.note(c, err)
	status, sentence := explain(c.UserContext(), err)
	return c.Status(status).JSON(fiber.Map{"error": sentence, "request_id": visitOf(c).requestID})
}

func (a *App) verifyJSON(c *fiber.Ctx) (*models.Order, error) {
	slip, err := slipOfJSON(c.Request().Body())
	if err != nil {
		return nil, err
	}
	order, err := a.orderOfSlip(c, slip)
	if err != nil {
		return nil, err
	}
	return a.cashier.VerifyCheckout(c.UserContext(), &order, slip, models.ViaVerify)
}

// verifyCallback answers Razorpay's page, through the customer's browser, with the way back to the order's page. A failed payment comes
// unsigned: it changes nothing and only finds its page by ?order.
func (a *App) verifyCallback(c *fiber.Ctx) error {
	slip, failed, err := slipOfForm(c)
	if err != nil {
		return err
	}
	if slip.RazorpayOrderID == "" || slip.RazorpayPaymentID == "" || slip.RazorpaySignature == "" {
		return a.backFromGateway(c, failed)
	}
	order, err := a.orderOfSlip(c, slip)
	if err != nil {
		return err
	}
	_, err = a.cashier.VerifyCheckout(c.UserContext(), &order, slip, models.ViaCallback)
	if err != nil && !errors.Is(err, payments.ErrUnconfirmed) {
		return err
	}
	a.note(c, err)
	return c.Redirect(orderURL(order), fiber.StatusSeeOther)
}

// backFromGateway finds the page of an order from which no signed word came. Errors: errBadForm when nothing says which order it is.
func (a *App) backFromGateway(c *fiber.Ctx, failed bool) error {
	token := c.Query("order")
	if token == "" {
		return fmt.Errorf("%w: neither a signed payment nor an order", errBadForm)
	}
	order, err := a.findOrder(c, token)
	if err != nil {
		return err
	}
	if failed && order.IsPayable() {
		return c.Redirect(payURL(order)+"?state="+views.PayFailed, fiber.StatusSeeOther)
	}
	return c.Redirect(orderURL(order), fiber.StatusSeeOther)
}

// orderOfSlip finds the order a slip is about: by the token in the address, else by the gateway order that is posted, which must be one
// we stored. Which order it is proves nothing yet. Errors: models.ErrNotFound for a token, payments.ErrBadSignature for an unknown id.
func (a *App) orderOfSlip(c *fiber.Ctx, slip payments.Slip) (models.Order, error) {
	if token := c.Query("order"); token != "" {
		return a.findOrder(c, token)
	}
	known, err := a.store.FindGatewayOrder(c.UserContext(), slip.RazorpayOrderID)
	if errors.Is(err, models.ErrNotFound) {
		return models.Order{}, fmt.Errorf("gateway order not known: %w", payments.ErrBadSignature)
	}
	if err != nil {
		return models.Order{}, err
	}
	return a.store.FindOrder(c.UserContext(), known.OrderID)
}

// slipFields are the three words of a slip, as Razorpay names them (Docs-Aug, "Integration Steps").
var slipFields = [3]string{"razorpay_order_id", "razorpay_payment_id", "razorpay_signature"}

// gatewayWord is the shape of ids and signatures; real ones have 20 to 64 characters.
var gatewayWord = regexp.MustCompile(`^[A-Za-z0-9_]{1,100}$`)

func slipOf(words [3]string) (payments.Slip, error) {
	for _, word := range words {
		if word != "" && !gatewayWord.MatchString(word) {
			return payments.Slip{}, fmt.Errorf("%w: not an id or signature", errBadForm)
		}
	}
	return payments.Slip{RazorpayOrderID: words[0], RazorpayPaymentID: words[1], RazorpaySignature: words[2]}, nil
}

// slipOfForm reads the callback's form: a signed triple, or error[…] fields. Fields we do not know are Razorpay's to add and ignored.
func slipOfForm(c *fiber.Ctx) (slip payments.Slip, failed bool, err error) {
	values, err := postedValues(c)
	if err != nil {
		return slip, false, err
	}
	var words [3]string
	for i, name := range slipFields {
		if len(values[name]) > 1 {
			return slip, false, fmt.Errorf("%w: %s repeated", errBadForm, name)
		}
		words[i] = values.Get(name)
	}
	for name := range values {
		failed = failed || name == "error" || strings.HasPrefix(name, "error[")
	}
	slip, err = slipOf(words)
	return slip, failed, err
}

// slipOfJSON reads what the script posts: one object with the three words as strings, each once. Other members are ignored.
func slipOfJSON(body []byte) (payments.Slip, error) {
	broken := fmt.Errorf("%w: not a payment's three words as JSON", errBadForm)
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return payments.Slip{}, broken
	}
	var words [3]string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return payments.Slip{}, broken
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return payments.Slip{}, broken
		}
		for i := range slipFields {
			if name == slipFields[i] && (words[i] != "" || json.Unmarshal(value, &words[i]) != nil) {
				return payments.Slip{}, broken
			}
		}
	}
	if _, err := d.Token(); err != nil || d.More() || words[0] == "" || words[1] == "" || words[2] == "" {
		return payments.Slip{}, broken
	}
	return slipOf(words)
}
