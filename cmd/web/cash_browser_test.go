//go:build e2e

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestBrowserCashAndAShortage: on a phone an order is placed to be paid in cash, the kitchen runs out of its dish, the customer chooses another,
// and staff take the money; each side sees what the other did without asking.
func TestBrowserCashAndAShortage(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	w.exec(`UPDATE outlets SET cash_pickup = true, cash_delivery = true`)
	check := newChecker(t)
	s := w.kitchen(base)
	b := browse(t, "the customer", base, phone)
	b.open("/")
	b.press(dish("samosa", id("add")))
	b.cartSays("₹99")
	b.press(dish("dal-tadka", id("add")))
	b.cartSays("₹298")
	b.open("/checkout")
	b.address()
	b.see(id("field-pays"))
	b.says(id("pay"), "Pay ₹")
	b.press(id("field-pays") + " + .card")
	b.until("the button says what it does now", `document.querySelector('[data-testid="pay"]').innerText.includes("in cash")`)
	check.look(b, "checkout-cash")
	b.press(id("pay"))
	token := strings.TrimPrefix(b.at("/orders/"), "/orders/")
	b.see(id("cash-due"))
	check.look(b, "order-due")
	f := w.facts(token)

	s.says(ticket(f.number, ".kind"), "in cash")
	s.press(ticket(f.number, id("ticket-more")))
	s.see(id("take-cash"))
	s.press(id("shortage"))
	s.see(id("shortage-form"))
	check.look(s, "staff-shortage")
	s.press(id("field-line-2"))
	read[bool](s, `(document.querySelector('[name=swap1]').selectedIndex = [...document.querySelectorAll('[name=swap1] option')].findIndex(o => o.textContent.startsWith('Jeera Rice'))) > 0`)
	s.press(id("ask"))
	s.see(id("ticket-shortage"))

	b.see(id("shortage") + `[data-state="open"]`) // without a reload
	check.look(b, "order-shortage")
	b.press(id("swap-1"))
	b.see(id("shortage") + `[data-state="swap"]`)
	s.open("/staff")
	s.says(ticket(f.number, id("ticket-shortage")), "Jeera Rice")
	check.look(s, "board-shortage")

	s.open(fmt.Sprintf("/staff/orders/%d", f.id))
	s.press(id("take-cash") + " button")
	s.hide(id("take-cash"))
	b.hide(id("cash-due"))
	b.see(id("refund")) // the rice costs less than the dal did
	check.look(b, "order-cash-paid")
	s.see(id("give-cash"))
	check.look(s, "staff-give-cash")
	s.press(id("give-cash") + " button")
	s.hide(id("give-cash"))
	b.says(id("refund"), "given back in cash")
	broken, err := w.store.ListBroken(t.Context())
	must(t, err)
	for _, x := range broken {
		t.Errorf("%s: %s", x.Inv, x.Detail)
	}
}
