package torture

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// customer is a browser and what its owner remembers. Its moves come one after the other; only the presses within one are parallel.
type customer struct {
	*browser
	meals []*meal
}

// meal is one order as its customer knows it.
type meal struct {
	token   string
	gateway string // the gateway order this browser was given; it must stay the same
	paid    []standin.Payment
	told    bool // the shop said that it is paid
}

// attempt is what a customer does at the bank.
type attempt struct {
	standin.PayParams
	times    int
	bearsFee bool
}

// fill sets how many of a dish are in the cart.
func (c *customer) fill(ctx context.Context, at int, dish string, qty int) {
	csrf := fields(c.insist(ctx, at, get("/")).body)["_csrf"]
	c.insist(ctx, at, post("/cart", "_csrf", csrf, "item", strconv.FormatInt(c.r.place.dishes[dish], 10), "qty", "0", "seq", "", "set", strconv.Itoa(qty)))
}

// press reviews the cart and presses Pay, at several servers at once; when the answer is another bill, it looks at that and presses again.
func (c *customer) press(ctx context.Context, at []int, way string, letters bool) {
	review := c.insist(ctx, at[0], get("/checkout"))
	for range 3 {
		f := fields(review.body)
		if f["checkout_key"] == "" {
			return // nothing in the cart, or no orders now
		}
		form := post("/checkout", "_csrf", f["_csrf"], "checkout_key", f["checkout_key"], "review", f["review"], "way", way, "phone", "98450 12345", "name", "Ananya Rao",
			"email", map[bool]string{true: "ananya@example.in", false: ""}[letters], "line1", "Flat 302", "line2", "Lake View", "pin", "560038", "directions", "", "note", "")
		began := c.r.shopNow()
		var placed []string
		for _, p := range c.atOnce(ctx, at, form) {
			for _, where := range []string{"/pay/", "/orders/"} {
				if token, found := strings.CutPrefix(p.location, where); found && p.status == http.StatusSeeOther {
					token, _, _ = strings.Cut(token, "?")
					placed = append(placed, token)
				}
			}
			if p.status == http.StatusConflict || p.status == http.StatusUnprocessableEntity {
				review = p
			}
		}
		for _, token := range placed {
			if token != placed[0] && c.r.shopNow().Sub(began) < 14*time.Minute { // else the first one's hold was over for the second press
				c.r.fail("INV-17", nil, "one press of Pay made two orders: %s and %s", placed[0], token)
			}
			c.remember(token)
		}
		if len(placed) > 0 {
			return
		}
		at = at[:1]
	}
}

func (c *customer) remember(token string) *meal {
	for _, m := range c.meals {
		if m.token == token {
			return m
		}
	}
	m := &meal{token: token}
	c.meals = append(c.meals, m)
	c.r.tally.order()
	return m
}

func (c *customer) last() *meal {
	if len(c.meals) == 0 {
		return nil
	}
	return c.meals[len(c.meals)-1]
}

// which is an order to do something about: the last one twice as often as an earlier one.
func (c *customer) which(n int) *meal {
	if len(c.meals) == 0 || n%3 > 0 {
		return c.last()
	}
	return c.meals[n%len(c.meals)]
}

var gatewayOrder = regexp.MustCompile(`"order_id":"(order_[A-Za-z0-9]+)"`)

// open presses Pay on the pay page until it can be paid, for about a second.
func (c *customer) open(ctx context.Context, at []int) {
	m := c.last()
	if m == nil {
		return
	}
	for range 14 {
		p := c.insist(ctx, at[0], get("/pay/"+m.token))
		if found := gatewayOrder.FindStringSubmatch(p.body); found != nil {
			if m.gateway != "" && m.gateway != found[1] {
				c.r.failOrder("INV-21", m.token, "a browser was given %s and then %s", m.gateway, found[1])
			}
			if m.gateway == "" {
				c.r.hand(c, found[1])
			}
			m.gateway = found[1]
			return
		}
		if p.status != http.StatusOK {
			return // cannot be paid any more
		}
		c.atOnce(ctx, at, post("/pay/"+m.token, "_csrf", fields(p.body)["_csrf"]))
		if !rest(ctx, 60*time.Millisecond) {
			return
		}
	}
}

// pay tries to pay what the browser was given, whatever became of the order since.
func (c *customer) pay(_ context.Context, how attempt, fault string, n int) {
	m := c.which(n)
	if m == nil || m.gateway == "" {
		return
	}
	in := how.PayParams
	in.OrderID = m.gateway
	if how.bearsFee {
		in.CustomerFeePaise = c.r.feeOf(m.gateway)
	}
	for range max(1, how.times) {
		p, err := c.r.gateway.Pay(in)
		if err != nil {
			return // the gateway takes nothing more for this order
		}
		m.paid = append(m.paid, p)
	}
	if fault != "" {
		c.r.tally.add(fault)
	}
}

// slip is what Checkout hands the browser for a payment.
func (c *customer) slip(p standin.Payment) map[string]string {
	return map[string]string{"razorpay_order_id": p.OrderID, "razorpay_payment_id": p.ID, "razorpay_signature": razorpay.SignCheckout(c.r.gateway.KeySecret(), p.OrderID, p.ID)}
}

func verifyJSON(token string, slip map[string]string) request {
	text, err := json.Marshal(slip)
	if err != nil {
		panic("torture: a slip is plain text: " + err.Error())
	}
	return request{method: http.MethodPost, path: "/payments/verify?order=" + token, json: string(text)}
}

// report brings the slip of the last payment to the shop, as the page's script does or as the gateway's page posts it.
func (c *customer) report(ctx context.Context, at []int, form bool) {
	m := c.last()
	for _, other := range c.meals {
		if len(other.paid) > 0 {
			m = other
		}
	}
	if m == nil || len(m.paid) == 0 {
		return
	}
	slip := c.slip(m.paid[len(m.paid)-1])
	q := verifyJSON(m.token, slip)
	if form {
		q = post("/payments/verify?order=" + m.token)
		for name, value := range slip {
			q.form.Set(name, value)
		}
		q.foreign = true
	}
	for _, p := range c.atOnce(ctx, at, q) {
		var said struct{ Status string }
		if p.status == http.StatusOK && json.Unmarshal([]byte(p.body), &said) == nil && said.Status == "paid" {
			m.told = true
		}
	}
}

// forge reports a payment with a signature nobody could have made.
func (c *customer) forge(ctx context.Context, at int) {
	m := c.last()
	if m == nil {
		return
	}
	p := standin.Payment{OrderID: m.gateway, ID: "pay_" + strings.Repeat("F", 14)}
	if len(m.paid) > 0 {
		p = m.paid[len(m.paid)-1]
	}
	if p.OrderID == "" {
		p.OrderID = "order_" + strings.Repeat("F", 14)
	}
	slip := c.slip(p)
	slip["razorpay_signature"] = strings.Repeat("0", 64)
	c.refused(ctx, at, "forged report of a payment", m.token, slip)
}

// stealSlip reports a true payment, of somebody else's order, for one's own.
func (c *customer) stealSlip(ctx context.Context, at, other int) {
	m, theirs := c.last(), c.r.customers[other].slipped()
	if m == nil || theirs == nil || theirs.OrderID == m.gateway {
		return
	}
	c.refused(ctx, at, "report with another order's signature", m.token, c.slip(*theirs))
}

// slipped is a payment of this customer that others may have seen.
func (c *customer) slipped() *standin.Payment {
	handed := c.r.handedTo(c)
	for _, p := range c.r.gateway.Books().Payments {
		if slices.Contains(handed, p.OrderID) {
			return &p
		}
	}
	return nil
}

func (c *customer) refused(ctx context.Context, at int, what, token string, slip map[string]string) {
	p := c.insist(ctx, at, verifyJSON(token, slip))
	if p.status == 0 {
		return
	}
	c.r.tally.add(what)
	if p.status < 400 {
		c.r.failOrder("signature", token, "a %s was answered %d", what, p.status)
	}
}

// look opens the order's page, and the part of it that changes.
func (c *customer) look(ctx context.Context, at int) {
	if m := c.last(); m != nil {
		c.insist(ctx, at, get("/orders/"+m.token))
		c.insist(ctx, at, get("/orders/"+m.token+"/status"))
	}
}

// cancel presses Cancel on an order's page.
func (c *customer) cancel(ctx context.Context, at []int, n int) {
	m := c.which(n)
	if m == nil {
		return
	}
	csrf := fields(c.insist(ctx, at[0], get("/orders/"+m.token)).body)["_csrf"]
	c.atOnce(ctx, at, post("/orders/"+m.token+"/cancel", "_csrf", csrf))
}
