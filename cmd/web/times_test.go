//go:build e2e

package main

import (
	"testing"
)

// TestBrowserChoosesALaterTime: on a phone a later time is chosen, paid for and promised; the kitchen sees it apart, for its time, and is
// not rung for it; once it is time it is a new order like any other.
func TestBrowserChoosesALaterTime(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	kitchen := w.kitchen(base)
	c := browse(t, "the customer", base, phone)
	c.toCheckout()
	c.address()
	c.says(`label:has(#time)`, "When")
	value := read[string](c, `(() => { const s = document.querySelector('#time'); s.selectedIndex = 6; s.dispatchEvent(new Event('change', {bubbles: true})); return s.value })()`)
	window := read[string](c, `document.querySelector('#time').selectedOptions[0].textContent`)
	c.press(`label:has([value="pickup"])`)
	c.until("the choice to stay through another way and back", `document.querySelector('#time').value === `+quote(value))
	c.press(`label:has([value="delivery"])`)
	c.says(id("delivery-message"), "We deliver to")
	c.until("the choice to stay", `document.querySelector('#time').value === `+quote(value))
	eye := newChecker(t)
	eye.look(c, "checkout-later")
	token := c.pay()
	c.ready()
	number := w.facts(token).number
	c.press(id("standin-succeed"))
	c.isPaid(token)
	w.wantPaid(token)
	c.says(id("order"), window)
	c.says(id("promised"), "For "+window)
	c.says(id("order"), "The kitchen starts in time for it.")
	later := id("column-later") + " " + ticket(number, "")
	kitchen.says(later, "for "+window)
	if kitchen.count(id("column-queued")+" "+id("ticket")) != 0 || kitchen.count(".ticket.new") != 0 {
		t.Error("the kitchen is asked to start it at once")
	}
	eye.look(c, "order-later")
	eye.look(kitchen, "board-later")
	kitchen.resize(desk)
	kitchen.press(later + id("move"))
	kitchen.says(id("conflict"), "accepted")
	kitchen.says(later, "for "+window)
}
