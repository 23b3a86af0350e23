//go:build e2e

package main

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

func encode(form map[string][]string) string { return url.Values(form).Encode() }

var hidden = regexp.MustCompile(`name="(_csrf|checkout_key|review)"[^>]*value="([^"]*)"`)

// fields are the hidden fields a page's forms carry.
func fields(body string) map[string]string {
	found := map[string]string{}
	for _, m := range hidden.FindAllStringSubmatch(body, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// insist sends a request until the shop answers it: when it was killed meanwhile it is started again, without the fault.
func (v *visitor) insist(method, path string, form map[string][]string) page {
	v.t.Helper()
	for range 3 {
		if p := v.send(method, path, form); p.status != 0 {
			return p
		}
		v.revive()
	}
	v.t.Fatalf("%s %s is never answered:\n%s", method, path, v.shop.out.last())
	return page{}
}

// revive starts the shop again at the same address, as an operator or systemd would.
func (v *visitor) revive() {
	v.t.Helper()
	v.shop.died()
	v.deaths++
	v.shop = v.run(v.shop.addr, "")
}

// order fills a cart, reviews it and presses Pay; it returns the order's token.
func (v *visitor) order(slug string) (token string) {
	v.t.Helper()
	menu := v.insist("GET", "/", nil)
	item, _, err := v.store.FindItemBySlug(v.t.Context(), v.outlet.ID, slug)
	must(v.t, err)
	if p := v.insist("POST", "/cart", map[string][]string{"_csrf": {fields(menu.body)["_csrf"]}, "item": {strconv.FormatInt(item.ID, 10)}, "qty": {"0"}, "seq": {""}, "set": {"3"}}); p.status != 303 {
		v.t.Fatalf("the cart answered %d: %s", p.status, p.body)
	}
	p := v.press(v.review())
	if p.status == 409 { // the address made the fee known: look at the bill and press again
		p = v.press(fields(p.body))
	}
	token, found := strings.CutPrefix(p.location, "/pay/")
	if p.status != 303 || !found {
		v.t.Fatalf("checkout answered %d %s: %s", p.status, p.location, p.body)
	}
	return token
}

// review opens the checkout page and returns its form's hidden fields.
func (v *visitor) review() map[string]string {
	v.t.Helper()
	p := v.insist("GET", "/checkout", nil)
	found := fields(p.body)
	if p.status != 200 || found["checkout_key"] == "" || found["review"] == "" {
		v.t.Fatalf("the checkout page answered %d with %v", p.status, found)
	}
	return found
}

// press presses Pay.
func (v *visitor) press(f map[string]string) page {
	v.t.Helper()
	return v.insist("POST", "/checkout", map[string][]string{"_csrf": {f["_csrf"]}, "checkout_key": {f["checkout_key"]}, "review": {f["review"]}, "way": {"delivery"},
		"phone": {"98450 12345"}, "name": {"Ananya Rao"}, "email": {"ananya@example.in"}, "line1": {"Flat 302"}, "line2": {"Lake View"}, "pin": {"560038"}, "directions": {""}, "note": {""}})
}

var gatewayOrder = regexp.MustCompile(`"order_id":"(order_[A-Za-z0-9]+)"`)

// gatewayOrder presses Pay on the pay page until it can be paid, while the clock goes on.
func (v *visitor) gatewayOrder(token string) string {
	v.t.Helper()
	for range 40 {
		p := v.insist("GET", "/pay/"+token, nil)
		if found := gatewayOrder.FindStringSubmatch(p.body); found != nil {
			return found[1]
		}
		v.insist("POST", "/pay/"+token, map[string][]string{"_csrf": {fields(p.body)["_csrf"]}})
		v.advance(5 * time.Second)
		v.wait("the claims that are due are looked at", func() bool {
			return v.count(`SELECT count(*) FROM gateway_claims WHERE state IN ('open', 'unknown') AND COALESCE(resolve_at, expires_at) <= shop_now()`) == 0
		})
	}
	v.t.Fatalf("the order never becomes payable:\n%s\n%s", v.insist("GET", "/pay/"+token, nil).body, v.shop.out.last())
	return ""
}

// report brings the slip to the shop, as the page's script does.
func (v *visitor) report(token, orderID, paymentID string) page {
	v.t.Helper()
	return v.insist("POST", "/payments/verify?order="+token, map[string][]string{"razorpay_order_id": {orderID}, "razorpay_payment_id": {paymentID},
		"razorpay_signature": {razorpay.SignCheckout(v.gateway.KeySecret(), orderID, paymentID)}})
}

// TestKilledAnywhere kills the shop at each fault point of the path, starts it again and wants every promise kept: one order, one gateway
// order in browsers' hands, one ticket, one confirmation, and every paisa with a paid order or back.
func TestKilledAnywhere(t *testing.T) {
	for _, c := range []struct {
		point  string // the fault point; "stall:<call>" kills while the gateway holds that call back
		cancel bool   // the customer cancels after paying
		silent bool   // the browser is gone after paying: no report, only webhooks and sweeps
	}{
		{point: "place.before_commit"},                       // FP-1
		{point: "place.after_commit"},                        // FP-2
		{point: "claim.after_commit"},                        // FP-3
		{point: "stall:/v1/orders"},                          // FP-4: sent, and nobody there for the answer
		{point: "create.answered"},                           // FP-8, S2.57
		{point: "attach.after_commit"},                       // FP-9, FP-10
		{point: "hook.before_insert", silent: true},          // FP-15
		{point: "hook.after_insert", silent: true},           // FP-16
		{point: "worker.after_lease", silent: true},          // FP-21
		{point: "record.mid_tx"},                             // FP-24, S4.7
		{point: "record.mid_tx", silent: true},               //
		{point: "record.after_commit"},                       // FP-25, FP-27
		{point: "record.after_commit", silent: true},         //
		{point: "refund.after_lease", cancel: true},          // FP-32
		{point: "stall:/v1/payments/*/refund", cancel: true}, // FP-33
		{point: "refund.answered_before_save", cancel: true}, // FP-34, C075
		{point: "mail.sent_before_mark"},                     // FP-46
	} {
		name := c.point
		if c.silent {
			name += " with the browser gone"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, standin.Options{})
			fault := c.point
			stalled, stall := strings.CutPrefix(c.point, "stall:")
			if stall {
				fault = ""
				w.gateway.Inject(standin.Fault{Method: "POST", Path: stalled, Kind: standin.Stall, Times: 1})
			}
			v := w.visitor(w.run(freeAddr(t), fault))
			w.webhooksTo(v.shop)
			if stall {
				go func() {
					if w.gateway.WaitStalled(t.Context(), 1) == nil {
						v.shop.kill()
						w.gateway.ReleaseStalled()
					}
				}()
			}
			token := v.order("samosa")
			id := v.gatewayOrder(token)
			paid, err := w.gateway.Pay(standin.PayParams{OrderID: id})
			must(t, err)
			if !c.silent {
				v.report(token, id, paid.ID)
			}
			if c.cancel {
				w.wait("the order is paid", func() bool { return w.count(`SELECT count(*) FROM orders WHERE status = 'paid'`) == 1 })
				p := v.insist("GET", "/orders/"+token, nil)
				v.insist("POST", "/orders/"+token+"/cancel", map[string][]string{"_csrf": {fields(p.body)["_csrf"]}})
			}
			if v.deaths == 0 { // it dies of something no request waits for: a webhook, a job
				v.revive()
			}
			w.settle()
			want := map[bool]string{false: "paid", true: "cancelled"}[c.cancel]
			for query, n := range map[string]int64{
				`SELECT count(*) FROM orders`:                                         1,
				`SELECT count(*) FROM orders WHERE status = '` + want + `'`:           1,
				`SELECT count(*) FROM fulfilments`:                                    1,
				`SELECT count(*) FROM payments WHERE disposition = 'kept'`:            1,
				`SELECT count(*) FROM outbox WHERE kind = 'confirmation'`:             1,
				`SELECT count(*) FROM gateway_orders WHERE handed_out_at IS NOT NULL`: 1,
			} {
				if got := w.count(query); got != n {
					t.Errorf("%s: %d, want %d", query, got, n)
				}
			}
			v.shop.stop()
		})
	}
}
