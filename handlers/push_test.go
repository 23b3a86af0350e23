package handlers

import (
	"strings"
	"testing"

	"tiffin/push/standin"
)

// Whoever has an order's link can have a browser told of it, and told no more; nobody else, nothing that is no subscription, and not more than
// ten. Without keys the page offers nothing.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	service := standin.New()
	t.Cleanup(service.Close)
	o := k.paid(basket{})
	at := "/orders/" + o.Token
	b := k.browser()
	if page := b.get(at).is(200); strings.Contains(page.body, `data-testid="push"`) || strings.Contains(page.body, "/static/push.") {
		t.Error("offered without keys")
	}
	post := func(path string, browser *standin.Browser) answer {
		t.Helper()
		return b.post(path, "endpoint", browser.Endpoint, "p256dh", browser.P256dh, "auth", browser.Auth)
	}
	post(at+"/push", service.Browser()).is(404)

	k.app.cfg.PushKey = "a key"
	page := b.get(at).is(200).says("push", "Notify me")
	if form := page.all("form", "id", "push"); len(form) != 1 || !strings.Contains(page.body, `data-testid="push" hidden`) || attribute(form[0], "data-key") != "a key" || !strings.Contains(page.body, "/static/push.") {
		t.Error("the offer is shown before its script has looked, or lacks the key")
	}
	mine := service.Browser()
	for range 2 {
		post(at+"/push", mine).is(204)
	}
	if n := k.count(`SELECT count(*) FROM push_subscriptions WHERE order_id = $1 AND endpoint = $2`, o.ID, mine.Endpoint); n != 1 {
		t.Errorf("%d rows", n)
	}
	b.post(at+"/push", "endpoint", "http://push.example/x", "p256dh", mine.P256dh, "auth", mine.Auth).is(422).says("error", "not one we can reach")
	b.post(at+"/push", "endpoint", mine.Endpoint, "p256dh", "x", "auth", mine.Auth).is(422)
	b.post(at+"/push", "endpoint", mine.Endpoint, "p256dh", mine.P256dh, "auth", mine.Auth, "order", "1").is(400)
	post("/orders/nobodys/push", mine).is(404)
	b.send(at+"/push", nil, csrfField, "a token of another session", "endpoint", mine.Endpoint, "p256dh", mine.P256dh, "auth", mine.Auth).is(403)
	b.send(at+"/push", []string{"Sec-Fetch-Site", "cross-site"}, csrfField, b.token(), "endpoint", mine.Endpoint, "p256dh", mine.P256dh, "auth", mine.Auth).is(403)
	for range 9 {
		post(at+"/push", service.Browser()).is(204)
	}
	post(at+"/push", service.Browser()).is(429).says("error", "Enough devices")
	for range 2 {
		b.post(at+"/push/stop", "endpoint", mine.Endpoint).is(204)
	}
	if n := k.count(`SELECT count(*) FROM push_subscriptions`); n != 9 {
		t.Errorf("%d rows", n)
	}
}
