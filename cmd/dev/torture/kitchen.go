package torture

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tiffin/models"
)

// kitchen is a tablet at which somebody of the staff is signed in.
type kitchen struct{ *browser }

// signIn goes on until the board is there: a shop that is killed meanwhile is started again. A try whose answer was lost counts like a
// wrong one, so that after some of them there is nothing to be done at this tablet.
func (k *kitchen) signIn(ctx context.Context, login string) {
	for range 5 {
		csrf := fields(k.insist(ctx, 0, get("/staff/login")).body)["_csrf"]
		switch p := k.insist(ctx, 0, post("/staff/login", "_csrf", csrf, "login", login, "password", staffPassword)); p.status {
		case http.StatusSeeOther:
			return
		case http.StatusTooManyRequests:
			k.r.tally.add("locked out by tries that were not answered")
			return
		}
	}
	k.r.fail("staff", nil, "%s cannot sign in", login)
}

// ticketForm is the button on a ticket: whose order, from which state to which.
var ticketForm = regexp.MustCompile(`action="/staff/orders/(\d+)/move"[^>]*>(?s:.*?)name="from" value="(\w+)"(?s:.*?)name="to" value="(\w+)"`)

var boardOrder = regexp.MustCompile(`href="/staff/orders/(\d+)"`)

// bump presses the button of a ticket.
func (k *kitchen) bump(ctx context.Context, at []int, which int) {
	board := k.insist(ctx, at[0], get("/staff"))
	if tickets := ticketForm.FindAllStringSubmatch(board.body, -1); len(tickets) > 0 {
		t := tickets[which%len(tickets)]
		k.atOnce(ctx, at, post("/staff/orders/"+t[1]+"/move", "_csrf", fields(board.body)["_csrf"], "from", t[2], "to", t[3]))
	}
}

// recall takes a ticket one step back, on its own page.
func (k *kitchen) recall(ctx context.Context, at, which int) {
	id := k.anOrder(ctx, at, which)
	if id == "" {
		return
	}
	p := k.insist(ctx, at, get("/staff/orders/"+id))
	for _, t := range ticketForm.FindAllStringSubmatch(p.body, -1) {
		if t[1] == id {
			k.insist(ctx, at, post("/staff/orders/"+id+"/move", "_csrf", fields(p.body)["_csrf"], "from", t[2], "to", t[3]))
		}
	}
}

// anOrder is one of those on the board, "" when there is none.
func (k *kitchen) anOrder(ctx context.Context, at, which int) string {
	orders := boardOrder.FindAllStringSubmatch(k.insist(ctx, at, get("/staff")).body, -1)
	if len(orders) == 0 {
		return ""
	}
	return orders[which%len(orders)][1]
}

// cancel cancels an order that may be paid; what was paid goes back.
func (k *kitchen) cancel(ctx context.Context, at []int, which int) {
	id := k.anOrder(ctx, at[0], which)
	if id == "" {
		return
	}
	csrf := fields(k.insist(ctx, at[0], get("/staff/orders/"+id+"/cancel")).body)["_csrf"]
	k.atOnce(ctx, at, post("/staff/orders/"+id+"/cancel", "_csrf", csrf, "reason", "The oven is broken", "confirm", "yes"))
}

// refund gives back a share of what is left of a paid order's money, several times at once, of which one may be done. It asks where the
// staff page asks: the page is a form over it.
func (k *kitchen) refund(ctx context.Context, times, which, percent int) {
	k.r.patiently(ctx, "part refund by staff", func() bool {
		order, left, seen, found := k.refundable(ctx, which)
		if !found {
			return false
		}
		ask := models.Giving{AmountPaise: max(left*models.Paise(percent)/100, 100)}
		if percent == 100 {
			ask = models.Giving{}
		}
		var all sync.WaitGroup
		var done atomic.Int32
		for range times {
			all.Go(func() {
				if _, err := k.r.store.RequestRefund(ctx, order, ask, seen, models.StaffActor(2), "A dish was cold", "normal"); err == nil {
					done.Add(1)
				}
			})
		}
		all.Wait()
		if n := done.Load(); n > 1 {
			k.r.fail("INV-5", &order, "one decision of staff was carried out %d times", n)
		}
		return done.Load() > 0
	})
}

// refundable is a paid order of which something is left to give back.
func (k *kitchen) refundable(ctx context.Context, which int) (order int64, left, seen models.Paise, found bool) {
	err := k.r.store.SQL().QueryRowContext(ctx, `SELECT order_id, amount_paise - customer_fee_paise - refund_reserved_paise, refund_reserved_paise FROM payments
		WHERE disposition = 'kept' AND amount_paise - customer_fee_paise - refund_reserved_paise >= 100 ORDER BY order_id
		OFFSET $1 % GREATEST((SELECT count(*) FROM payments WHERE disposition = 'kept' AND amount_paise - customer_fee_paise - refund_reserved_paise >= 100), 1) LIMIT 1`, which).Scan(&order, &left, &seen)
	return order, left, seen, err == nil
}

// taskForm is the button of a thing to do on the attention list.
var taskForm = regexp.MustCompile(`<section[^>]*data-kind="(\w+)"(?s:.*?)action="(/staff/attention/\d+/\w+)"`)

// attend does what a thing on the attention list asks for: a failed refund first, if there is one.
func (k *kitchen) attend(ctx context.Context, at []int, which int) {
	list := k.insist(ctx, at[0], get("/staff/attention"))
	tasks := taskForm.FindAllStringSubmatch(list.body, -1)
	if len(tasks) == 0 {
		return
	}
	t := tasks[which%len(tasks)]
	if i := slices.IndexFunc(tasks, func(t []string) bool { return t[1] == models.TaskRefundFailed }); i >= 0 {
		t = tasks[i]
	}
	answers := k.atOnce(ctx, at, post(t[2], "_csrf", fields(list.body)["_csrf"]))
	if slices.ContainsFunc(answers, func(p page) bool { return p.status == http.StatusSeeOther }) {
		k.r.tally.add("staff: " + t[1] + " attended to")
	}
}

func (k *kitchen) switchDish(ctx context.Context, at int, dish, state string) {
	csrf := fields(k.insist(ctx, at, get("/staff/menu")).body)["_csrf"]
	if p := k.insist(ctx, at, post(fmt.Sprintf("/staff/menu/%d", k.r.place.dishes[dish]), "_csrf", csrf, "state", state)); p.status == http.StatusSeeOther && state != "on" {
		k.r.tally.add("dish taken off the menu")
	}
}

func (k *kitchen) setOpen(ctx context.Context, at int, open string) {
	csrf := fields(k.insist(ctx, at, get("/staff")).body)["_csrf"]
	pairs := []string{"_csrf", csrf}
	if open != "" {
		pairs = append(pairs, "open", open)
	}
	if p := k.insist(ctx, at, post("/staff/open", pairs...)); p.status == http.StatusSeeOther && open == "" {
		k.r.tally.add("orders paused")
	}
}

var outletSlug = regexp.MustCompile(`name="outlet" value="([a-z0-9-]+)"`)

func (k *kitchen) closeDown(ctx context.Context, at int) {
	p := k.insist(ctx, at, get("/staff/menu"))
	if slug := outletSlug.FindStringSubmatch(p.body); slug != nil {
		if p := k.insist(ctx, at, post("/staff/close", "_csrf", fields(p.body)["_csrf"], "outlet", slug[1], "confirm", "yes")); strings.Contains(p.location, "done=closed") {
			k.r.tally.add("kitchen closed")
		}
	}
}
