//go:build e2e

package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tiffin/razorpay/standin"
)

// TestBrowserOrderInHindi orders in Hindi on a phone, from the language's link in the footer to the paid order: every page passes axe, none is
// broken by the longer words, and what only script says is in Hindi too.
func TestBrowserOrderInHindi(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	w.gateway.Configure(func(s *standin.Settings) { s.PendingRefunds = true })
	base := w.shop()
	w.tell(base)
	check := newChecker(t)
	b := browse(t, "the customer", base, phone)
	b.prefer("light")
	b.open("/")
	b.press(id("languages") + ` a[lang="hi"]`)
	b.is("html", "lang", "hi")
	b.press(dish("dal-makhani", id("add")))
	b.cartSays("1 आइटम")
	b.press(dish("butter-chicken", id("add")))
	b.see("dialog " + id("dish-form"))
	check.look(b, "hi-dish")
	b.press("dialog fieldset:nth-of-type(1) label:nth-of-type(2)")
	b.press(id("add-to-cart"))
	b.hide("dialog")
	b.cartSays("2 आइटम")
	b.says(dish("butter-chicken", ".custom"), "आपके ऑर्डर में 1")
	read[chromedp.Void](b, "scrollTo({top: 0, behavior: 'instant'})")
	check.look(b, "hi-menu")
	b.open("/cart")
	check.look(b, "hi-cart")
	b.expect("status of 422", "status of 409")
	b.open("/checkout")
	b.press(id("pay"))
	b.says(id("error-name"), "कृपया अपना नाम बताएँ।")
	check.look(b, "hi-checkout-errors")
	b.open("/checkout")
	b.fill(id("field-phone"), "12345")
	b.key(kb.Tab)
	b.says(id("error-phone"), "मोबाइल नंबर में 10 अंक होते हैं")
	for _, f := range []struct{ name, text string }{{"phone", "98450 12345"}, {"name", "Ananya Rao"}, {"line1", "Flat 302, Lake View"}, {"line2", "12th Main, Indiranagar"}, {"pin", "560 038"}} {
		b.fill(id("field-"+f.name), f.text)
	}
	b.key(kb.Tab)
	b.says(id("pay"), "का भुगतान करें")
	read[chromedp.Void](b, "document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
	check.look(b, "hi-checkout")
	token := b.pay()
	b.ready()
	b.press(id("standin-close"))
	b.press(id("standin-leave"))
	b.says(id("closed-window"), "आपने भुगतान विंडो बंद कर दी")
	check.look(b, "hi-pay")
	b.open("/orders/" + token)
	b.says(id("unpaid"), "इस ऑर्डर का भुगतान अभी नहीं हुआ है")
	check.look(b, "hi-order-unpaid")
	b.open("/pay/" + token)
	b.ready()
	b.press(id("standin-succeed"))
	b.at("/orders/" + token)
	b.is(id("order"), "data-state", "paid")
	b.says(`[data-step="paid"]`, "भुगतान हुआ")
	check.look(b, "hi-order")
	w.wantPaid(token)
	if n := w.count(`SELECT count(*) FROM orders WHERE token = $1 AND language = 'hi'`, token); n != 1 {
		t.Error("the order did not keep its language")
	}
}
