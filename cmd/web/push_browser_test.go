//go:build e2e

package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/target"

	"tiffin/models"
	"tiffin/push"
	pushes "tiffin/push/standin"
	"tiffin/razorpay/standin"
)

// Headless Chromium has no push service of its own, so the browser's subscription is one of the test's. All else is real: the permission, the
// worker, its notifications, and what the push service was sent.
const ownSubscription = `{
	let made = null;
	const sub = { endpoint: %q, toJSON: () => ({ endpoint: %q, keys: { p256dh: %q, auth: %q } }), unsubscribe: async () => { made = null; return true; } };
	PushManager.prototype.subscribe = async want => { if (!want.userVisibleOnly || want.applicationServerKey.length !== 87) throw new Error('asked wrongly'); window.asked = (window.asked || 0) + 1; return made = sub; };
	PushManager.prototype.getSubscription = async () => localStorage.length ? made = sub : made;
}`

// allow answers the browser's question about notifications as its person would.
func (b *tab) allow(setting browser.PermissionSetting) {
	b.t.Helper()
	here := send(b, target.GetTargetInfo, target.GetTargetInfoParams{})
	send(b, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: setting, Origin: b.base, BrowserContextID: here.TargetInfo.BrowserContextID})
}

// worker is the shop's service worker in this browser.
func (b *tab) worker() serviceworker.RegistrationID {
	b.t.Helper()
	send(b, serviceworker.Enable, cdp.Empty{})
	_, _ = await(b, "the service worker", `!!navigator.serviceWorker.controller`, func(bool) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.workers) > 0
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.workers[0].RegistrationID
}

// told is what the device shows: one line a notification.
const told = `(navigator.serviceWorker.ready.then(r => r.getNotifications()).then(list => { window.told = list.map(n => n.title).join('; '); }), window.told || '')`

// TestBrowserNotifications has a customer told of an order on their device: the button asks when it is pressed and not before, the push
// service gets what the device then shows, a second time changes nothing, and stopping stops it.
func TestBrowserNotifications(t *testing.T) {
	t.Parallel()
	service := pushes.New()
	t.Cleanup(service.Close)
	device := service.Browser()
	w := newMarket(t)
	w.push = push.Testing{Loopback: true, Roots: service.Roots()}
	base := w.shop()
	w.tell(base)
	w.hire("meera")
	c := browse(t, "the customer", base, phone)
	c.beforeAnyScript(fmt.Sprintf(ownSubscription, device.Endpoint, device.Endpoint, device.P256dh, device.Auth))
	token := c.toSheet()
	f := w.facts(token)
	_, err := w.gateway.Pay(standin.PayParams{OrderID: f.gateway[0]})
	must(t, err)
	c.open("/orders/" + token)
	c.isPaid(token)

	c.see(id("push"))
	c.says(id("push-button"), "Notify me")
	if n := read[int](c, `window.asked || 0`); n != 0 {
		t.Error("asked without being pressed")
	}
	newChecker(t).look(c, "order-push")
	c.allow(browser.PermissionSettingDenied)
	c.press(id("push-button"))
	c.says(id("push"), "does not let us notify you")
	c.allow(browser.PermissionSettingGranted)
	c.press(id("push-button"))
	c.says(id("push-button"), "Stop notifying me")
	if n := w.count(`SELECT count(*) FROM push_subscriptions WHERE order_id = $1`, f.id); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
	c.reload()
	c.says(id("push-button"), "Stop notifying me")

	w.move(f.id, models.TicketQueued, models.TicketAccepted)
	w.wait("the first message", func() bool { return len(device.Got()) == 1 })
	c.is(id("order"), "data-state", "accepted")
	c.says(id("push-button"), "Stop notifying me") // the page around it was drawn anew
	w.move(f.id, models.TicketAccepted, models.TicketPreparing)
	w.move(f.id, models.TicketPreparing, models.TicketReady)
	w.wait("the second message", func() bool { return len(device.Got()) == 2 })

	// What was sent is given to the real worker, as a push service would.
	worker := c.worker()
	deliver := func(n int, want string) {
		t.Helper()
		send(c, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: base, RegistrationID: worker, Data: string(device.Got()[n].Payload)})
		await(c, "the notification "+want, told, func(s string) bool { return s == want })
	}
	accepted, packed := fmt.Sprintf("Order %d is accepted", f.number), fmt.Sprintf("Order %d is packed", f.number)
	deliver(0, accepted)
	deliver(0, accepted)
	deliver(1, packed)
	deliver(0, packed) // late, and not in the place of the newer

	c.press(id("push-button"))
	c.says(id("push-button"), "Notify me")
	if n := w.count(`SELECT count(*) FROM push_subscriptions`); n != 0 {
		t.Errorf("%d subscriptions after stopping", n)
	}
	w.move(f.id, models.TicketReady, models.TicketHandedOver)
	c.is(id("order"), "data-state", "handed_over")
	if n := len(device.Got()); n != 2 || len(service.Refused()) != 0 {
		t.Errorf("%d messages, refused %v", n, service.Refused())
	}
}
