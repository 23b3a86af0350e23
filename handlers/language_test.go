package handlers

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/gofiber/fiber/v2"

	"tiffin/models"
	"tiffin/views"
)

// A visitor is answered in the browser's language, or in the one chosen, which is kept; staff and nonsense get English.
func TestPagesSpeakTheVisitorsLanguage(t *testing.T) {
	s := openShop(t)
	for _, c := range []struct{ path, accepts, want string }{
		{"/", "", "en-IN"},
		{"/", "hi-IN,hi;q=0.9,en;q=0.8", "hi"},
		{"/cart", "en-IN,hi;q=0.5", "en-IN"},
		{"/?lang=hi", "en-IN", "hi"},
		{"/?lang=%00%0d%0aSet-Cookie:x", "en-IN", "en-IN"},
		{"/staff/login", "hi", "en-IN"},
	} {
		b := s.visitor()
		got := b.send(ask{path: c.path, header: map[string]string{"Accept-Language": c.accepts}}).is(200)
		if !strings.Contains(got.body, `<html lang="`+c.want+`"`) {
			t.Errorf("%s with %q is not in %q", c.path, c.accepts, c.want)
		}
	}
	b := s.visitor()
	b.send(ask{path: "/?lang=hi"}).is(200)
	if got := b.send(ask{path: "/cart"}).is(200).body; !strings.Contains(got, `<html lang="`+"hi"+`"`) {
		t.Error("the next page is not in Hindi")
	}
	b.send(ask{path: "/?lang=en-IN"}).is(200)
	if got := b.send(ask{path: "/cart"}).is(200).body; !strings.Contains(got, `<html lang="`+"en-IN"+`"`) {
		t.Error("after going back to English the next page is not in it")
	}
}

// isHindi reports whether a text has a letter of Devanagari.
func isHindi(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Devanagari, r) })
}

// What checkout refuses it refuses in the visitor's language, the tab's title and the toast too; the order keeps the language it was paid in.
func TestCheckoutInHindi(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.send(ask{path: "/?lang=hi"}).is(200)
	b.put("dal-makhani", 2)
	refused := b.send(ask{path: "/checkout", form: b.review("phone", "12", "pin", "1", "name", " ", "line1", "", "line2", "", "gstin", "x", "coupon", "a b", "tip", "other", "tip_other", "9999", "email", "x")}).is(422)
	for _, name := range []string{"phone", "name", "line1", "line2", "pin", "gstin", "coupon", "tip", "email"} {
		if got := words(refused.one("error-" + name)); !isHindi(got) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !strings.Contains(refused.body, "<title>चेकआउट · Kesar Kitchen</title>") {
		t.Error("the tab's title is not in Hindi")
	}
	b.send(ask{path: "/checkout", form: b.review("pin", "110001")}).is(422).shows("error-pin", "हम इस पिन कोड पर डिलीवरी नहीं करते।")
	toast := b.send(ask{path: "/cart", header: b.htmx(), form: url.Values{"item": {"999999"}, "set": {"1"}}}).is(409)
	toast.shows("error", "वह डिश नहीं मिली")
	b.get("/nowhere").is(404).shows("error", "इस पते पर कुछ नहीं है।")

	token := b.place()
	language := func() string { return s.text(`SELECT language FROM orders WHERE token = $1`, token) }
	if got := language(); got != "hi" {
		t.Errorf("the order is in %q", got)
	}
	pay := b.get("/pay/"+token).is(200).shows("pay-state", "कुल देय")
	if !strings.Contains(pay.body, `"config":{"display":{"language":"hi"}}`) {
		t.Error("Razorpay's sheet is not asked to be in Hindi")
	}
	b.get("/orders/"+token).is(200).shows("order", "आपके भुगतान का इंतज़ार है")
	// Whoever presses Pay again in another language goes on in that one.
	b.send(ask{path: "/?lang=en-IN"}).is(200)
	if again := b.place(); again != token || language() != "en-IN" {
		t.Errorf("the order %q is in %q, want %q in English", again, language(), token)
	}
}

// Every answer of the one table has Hindi words; a new one without is found here.
func TestEveryRefusalIsInHindi(t *testing.T) {
	ctx := views.WithLanguage(t.Context(), "hi")
	for _, answer := range answers {
		if _, sentence := explain(ctx, answer.is); !isHindi(sentence) {
			t.Errorf("%v: %q", answer.is, sentence)
		}
	}
	for _, err := range []error{&models.ErrSoldOut{Name: "Kheer"}, &models.ErrSoldOut{Name: "Kheer", Left: 2}, &models.ErrSoldOut{Name: "Kheer", NotServed: true}, &models.ErrDelivery{Why: "far"},
		&models.ErrChoice{Dish: "Thali", Why: models.ChoiceCount, Group: "Drink", Least: 1, Most: 2}, &models.ErrChoice{Dish: "Thali", Why: models.ChoiceForeign},
		&models.ErrChoice{Dish: "Thali", Why: models.ChoiceFiltered, Option: "Egg"}, errors.New("a fault"), fiber.ErrMethodNotAllowed, fiber.ErrRequestEntityTooLarge} {
		if _, sentence := explain(ctx, err); !isHindi(sentence) {
			t.Errorf("%v: %q", err, sentence)
		}
	}
}
