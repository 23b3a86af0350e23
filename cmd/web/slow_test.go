//go:build e2e

package main

import (
	"testing"

	"github.com/chromedp/cdproto/network"
)

// slow makes every answer take 400 ms longer and come at 50 kB a second, as on a crowded 3G cell.
func (b *tab) slow() {
	b.t.Helper()
	send(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Latency: 400, DownloadThroughput: 50_000, UploadThroughput: 25_000}}})
}

// TestBrowserOnASlowNetwork buys from the first look to the paid page over a slow network: what is pressed says at once that it was, whoever
// presses again has one order and one payment, and the board hears of it.
func TestBrowserOnASlowNetwork(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	b := browse(t, "the customer", base, phone)
	b.slow()
	b.open("/")
	b.see(dish("palak-paneer", id("add")))
	if took := read[float64](b, `performance.getEntriesByType('paint').find(e => e.name === 'first-contentful-paint').startTime`); took > 2500 {
		t.Errorf("the menu was first seen after %.0f ms", took)
	}
	b.press(dish("palak-paneer", id("add")))
	b.cartSays("₹279")
	b.open("/checkout")
	b.address()
	b.pressTwice(id("pay"))
	b.see(id("pay") + `.htmx-request, ` + id("pay-state")) // it says that it works, or is there already
	token := b.atPay()
	b.ready()
	b.press(id("standin-succeed"))
	b.isPaid(token)
	w.wantPaid(token)
	if n := w.count(`SELECT count(*) FROM orders`); n != 1 {
		t.Errorf("%d orders", n)
	}
}
