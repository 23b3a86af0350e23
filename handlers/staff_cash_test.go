package handlers

import (
	"fmt"
	"strings"
	"testing"

	"tiffin/models"
)

// placeCash places the visitor's cart to be paid in cash and gives the order's token.
func (b *visitor) placeCash() string {
	b.t.Helper()
	a := b.post("/checkout", b.review("pays", "cash")).is(303)
	return strings.TrimPrefix(a.header.Get("Location"), "/orders/")
}

// TestCashAtTheDoor: an owner switches cash on, a customer orders without paying, staff take the money once, and give a part back by hand.
func TestCashAtTheDoor(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	s := &shop{t: t, store: k.store, gateway: k.gateway, cashier: k.cashier, hub: k.hub, app: k.app, outlet: k.outlet, log: &logBook{}}
	owner, cook := k.signedIn(k.staff("ravi", "Ravi", "owner", 0)), k.signedIn(k.staff("asha", "Asha", "kitchen", k.outlet.ID))
	b := s.visitor()
	b.put("samosa", 2)
	b.get("/checkout").is(200).lacks("field-pays")
	b.post("/checkout", b.review("pays", "cash")).is(409) // not sent by our page: the sentence is there all the same
	b.post("/checkout", b.review("pays", "credit")).is(400)
	if n := s.count(`SELECT count(*) FROM orders`); n != 0 {
		t.Fatalf("%d orders", n)
	}

	slug := s.text(`SELECT slug FROM outlets LIMIT 1`)
	for _, c := range []struct{ limit, open, field string }{{"0", "1", "cash_limit"}, {"200000", "1", "cash_limit"}, {"many", "1", "cash_limit"}, {"2000", "0", "cash_open"}, {"2000", "21", "cash_open"}} {
		a := owner.post("/staff/outlet/cash", "outlet", slug, "cash_delivery", "1", "cash_limit", c.limit, "cash_open", c.open).is(422)
		if said := strings.Join(a.texts("error-"+c.field), ""); said == "" || !strings.Contains(a.body, `value="`+c.limit+`"`) {
			t.Errorf("%+v: nothing is said, or what was typed is lost", c)
		}
	}
	owner.post("/staff/outlet/cash", "outlet", slug, "cash_delivery", "1", "cash_pickup", "1", "cash_limit", "₹1,000", "cash_open", "1").is(303)
	if got := s.text(`SELECT (cash_pickup, cash_delivery, cash_limit_paise, cash_open_orders)::text FROM outlets`); got != "(t,t,100000,1)" {
		t.Errorf("the rule is %s", got)
	}

	b.get("/checkout?way=pickup").is(200).shows("pay", "in cash")
	token := b.placeCash()
	order := s.order(token)
	if order.Status != models.OrderDue {
		t.Fatalf("the order is %s", order.Status)
	}
	page := b.get("/orders/" + token).is(200)
	page.shows("cash-due", "Nothing has been charged")
	if strings.Contains(words(page.one("order-step")), "Paid") {
		t.Error("a due order is called paid")
	}
	b.get("/pay/" + token).is(303).leadsTo("/orders/" + token)

	other := s.visitor()
	other.put("samosa", 2)
	other.post("/checkout", other.review("pays", "cash")).is(409).shows("error-pays", "earlier order")

	cook.get("/staff").is(200).says("ticket", "in cash")
	path := fmt.Sprintf("/staff/orders/%d", order.ID)
	cook.get(path).is(200).says("take-cash", "₹")
	for _, amount := range []string{"1", fmt.Sprint(int64(order.AmountPaise) + 1)} {
		cook.post(path+"/cash", "amount", amount).is(409)
	}
	cook.post(path+"/cash", "amount", "lots").is(400)
	take := []string{"amount", fmt.Sprint(int64(order.AmountPaise))}
	cook.post(path+"/cash", take...).is(303)
	cook.post(path+"/cash", take...).is(409).says("conflict", "taken already")
	if s.order(token).Status != models.OrderPaid {
		t.Error("not paid")
	}
	b.get("/orders/" + token).is(200).lacks("cash-due")

	owner.post(path+"/cancel", "reason", "No gas today", "confirm", "yes").is(303)
	b.get("/orders/"+token).is(200).shows("refund", "collect in cash")
	refund := s.text(`SELECT id::text FROM refunds`)
	cook.post(path + "/refunds/" + refund + "/given").is(403)
	owner.post(path + "/refunds/nobody/given").is(404)
	owner.post(path + "/refunds/" + refund + "/given").is(303)
	owner.post(path + "/refunds/" + refund + "/given").is(409)
	b.get("/orders/"+token).is(200).shows("refund", "given back in cash")

	third := s.visitor()
	third.put("samosa", 2)
	out := s.order(third.placeCash())
	for _, step := range [][2]string{{"queued", "accepted"}, {"accepted", "preparing"}, {"preparing", "ready"}, {"ready", "handed_over"}} {
		cook.post(fmt.Sprintf("/staff/orders/%d/move", out.ID), "from", step[0], "to", step[1]).is(303)
	}
	cook.get("/staff").is(200).says("attention", fmt.Sprintf("Order %d went out unpaid", out.Number))
	cook.post(fmt.Sprintf("/staff/orders/%d/cash", out.ID), "amount", fmt.Sprint(int64(out.AmountPaise))).is(303)
	if strings.Contains(cook.get("/staff").is(200).body, "went out unpaid") {
		t.Error("its cash was taken and it is still on the board")
	}
	s.books()
}
