package torture

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// kitchen is a tablet at which somebody of the staff is signed in.
type kitchen struct{ *browser }

// signIn goes on until the board is there: a shop that is killed meanwhile is started again.
func (k *kitchen) signIn(ctx context.Context, login string) {
	for range 5 { // no more: wrong tries are counted
		csrf := fields(k.insist(ctx, 0, get("/staff/login")).body)["_csrf"]
		if p := k.insist(ctx, 0, post("/staff/login", "_csrf", csrf, "login", login, "password", staffPassword)); p.status == http.StatusSeeOther {
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
