package handlers

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The time that was wanted is taken by somebody else between looking and Pay: 409, the form with all that was typed, the next times.
func TestTimeIsGone(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.exec(`UPDATE outlets SET slot_orders = 1`)
	first, second := s.visitor(), s.visitor()
	first.put("dal-makhani", 2)
	second.put("dal-makhani", 2)
	form, late := first.review(), second.review()
	options := second.get("/checkout?way=delivery&pin=560038").is(200).options()
	if len(options) < 4 || attr(options[0], "value") != "" || !strings.Contains(words(options[0]), "As soon as possible") {
		t.Fatalf("%d times are offered", len(options))
	}
	wanted, next := attr(options[2], "value"), attr(options[3], "value")
	form.Set("time", wanted)
	late.Set("time", wanted)
	first.send(ask{path: "/checkout", form: form}).is(303)
	for range 2 { // however often it is pressed
		refused := second.send(ask{path: "/checkout", form: late}).is(409)
		refused.shows("time-gone", "That time has just been taken").shows("time-gone", "The next one is today at").shows("time-gone", "all you typed is kept")
		again := refused.fields(refused.one("checkout-form"))
		for name := range customer {
			if again.Get(name) != late.Get(name) {
				t.Errorf("%s comes back as %q, was %q", name, again.Get(name), late.Get(name))
			}
		}
		for _, option := range refused.options() {
			if value := attr(option, "value"); value == wanted || has(option, "selected") != (value == next) {
				t.Errorf("%q is offered, selected %v", value, has(option, "selected"))
			}
		}
	}
	late.Set("time", next)
	second.send(ask{path: "/checkout", form: late}).is(303)
	if n := s.count(`SELECT count(*) FROM orders WHERE NOT asap AND extract(epoch FROM promised_from) IN ($1, $2)`, seconds(t, wanted), seconds(t, next)); n != 2 {
		t.Errorf("%d orders for these times", n)
	}
	for _, wrong := range []string{"soon", "-1", "1e9", "0x10"} {
		late.Set("time", wrong)
		second.send(ask{path: "/checkout", form: late}).is(400)
	}
	s.books()
}

// options are those of the choice of a time.
func (r reply) options() (found []*html.Node) {
	for n := range r.one("field-time").Descendants() {
		if n.Data == "option" {
			found = append(found, n)
		}
	}
	return found
}

func seconds(t *testing.T, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	must(t, err)
	return n
}

// While the kitchen is closed the menu, the cart and the checkout offer an order for later, all three the same.
func TestOrderForLater(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := s.visitor()
	b.put("dal-makhani", 2)
	s.exec(`DELETE FROM outlet_hours`)
	s.exec(`INSERT INTO outlet_hours SELECT id, day, 18 * 60, 23 * 60 FROM outlets, generate_series(0, 6) day`) // it is noon
	b.get("/").is(200).shows("closed", "We are closed").shows("closed", "Order for later: the first time is today at 6:45 pm").shows("cartbar", "Order for later")
	b.get("/cart").is(200).shows("to-checkout", "Order for later")
	page := b.get("/checkout?way=delivery&pin=560038").is(200)
	page.shows("closed", "Order for later: the first time is today at 6:45 pm").shows("pay", "Pay ₹")
	form := b.review()
	b.send(ask{path: "/checkout", form: form}).is(409).shows("closed", "Order for later") // as soon as possible is not to be had
	form.Set("time", attr(page.options()[0], "value"))
	placed := b.send(ask{path: "/checkout", form: form}).is(303)
	token := strings.TrimPrefix(placed.header.Get("Location"), "/pay/")
	b.get("/orders/"+token).is(200).shows("promised", "For 6:45 – 7:00 pm")
	s.exec(`UPDATE outlets SET accepts_orders = false`)
	b.get("/").is(200).shows("closed", "We have paused new orders").lacks("time-gone")
	s.books()
}

// Staff say how late an order is, the customer's page says so, and of two who say it one is told.
func TestRunningLate(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	b := k.signedIn(k.staff("asha", "Asha", "kitchen", k.outlet.ID))
	o := k.place(basket{slug: "butter-chicken"})
	k.receive(k.pay(o, k.open(o)))
	b.get(orderPath(o, "")).is(200).says("ticket-promise", "Promised by")
	b.post(orderPath(o, "/late"), "was", "0", "late", "10").is(303).leads(orderPath(o, ""))
	b.get(orderPath(o, "")).is(200).says("ticket-promise", "about 10 minutes late").says("history-row", "running late: 10 minutes")
	b.post(orderPath(o, "/late"), "was", "0", "late", "10").is(409).says("conflict", "Nothing was changed")
	for _, wrong := range []string{"-10", "190", "x", ""} {
		b.post(orderPath(o, "/late"), "was", "10", "late", wrong).is(400)
	}
	if n := k.count(`SELECT late_minutes FROM fulfilments`); n != 10 {
		t.Errorf("%d minutes", n)
	}
}
