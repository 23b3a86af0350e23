package handlers

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tiffin/models"
)

// TestStaffGuard asks every line of the staff's table as whoever may not.
func TestStaffGuard(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	order := k.paid(basket{})
	kitchenHand := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
	stranger := k.browser()
	guest := k.browser()
	guest.get("/staff/login").is(200)
	guest.setCookie(staffCookie, guest.cookie(guestCookie), "/staff") // a customer's own token, in the other cookie
	before := k.rows()

	for _, line := range k.app.staffTable() {
		path := strings.ReplaceAll(line.path, ":id", fmt.Sprint(order.ID))
		k.run(t, line.method+" "+path, func(t *testing.T) {
			for name, b := range map[string]*browser{"nobody": stranger, "a customer": guest} {
				if line.method == "GET" {
					if strings.HasSuffix(path, "/events") {
						b.get(path, "Accept", "text/event-stream").is(401)
					} else {
						b.get(path).is(303).leads("/staff/login")
					}
					b.do("HEAD", path, nil)
				} else {
					b.post(path).is(401)
				}
				res := b.do(line.method, path, nil, htmx...).is(401)
				if to := res.header.Get("HX-Redirect"); to != "/staff/login" {
					t.Errorf("%s: HX-Redirect = %q, want the login", name, to)
				}
				for _, private := range []string{order.Name, order.Phone, order.Token} {
					if strings.Contains(res.body, private) {
						t.Errorf("%s sees %s", name, private)
					}
				}
			}
			if line.method == "POST" && !slices.ContainsFunc(k.app.staffTable(), func(l staffRoute) bool { return l.method == "GET" && l.path == line.path }) {
				stranger.get(path).is(405)
				kitchenHand.get(path).is(405)
			}
			if line.may != nil {
				kitchenHand.do(line.method, path, nil).is(403).says("error", "not open to your login")
				if line.form {
					kitchenHand.press(path, "reason", "x", "confirm", "yes").is(403)
				}
			}
			if line.form {
				kitchenHand.send(path, []string{"Sec-Fetch-Site", "cross-site"}, csrfField, kitchenHand.token()).is(403)
			}
		})
	}
	k.unchanged(before)
}

// TestStaffFormFromAnEarlierLogin presses every form of a page that was loaded before the last login: nothing is done, nobody is stuck.
func TestStaffFormFromAnEarlierLogin(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	order := k.paid(basket{})
	asha := k.staff("asha", "Asha", "owner", 0)
	must(t, k.store.OpenTask(t.Context(), models.TaskLowBalance, "refunds", nil, "Refunds wait"))
	task := k.count(`SELECT id FROM staff_tasks`)
	item := k.count(`SELECT id FROM items WHERE slug = 'samosa'`)

	b := k.signedIn(asha)
	before := k.rows()
	for _, press := range []struct {
		path   string
		fields []string
		status int
		again  string // the test id of what says so
	}{
		{orderPath(order, "/move"), []string{"from", "queued", "to", "accepted"}, 409, "conflict"},
		{"/staff/open", []string{}, 409, "conflict"},
		{orderPath(order, "/cancel"), []string{"reason", "we ran out", "confirm", "yes"}, 409, "cancel-form"},
		{orderPath(order, "/refund"), []string{"step", "review", "what", "rest", "reason", "we ran out"}, 409, "conflict"},
		{"/staff/close", []string{"outlet", k.outlet.Slug, "confirm", "yes"}, 409, "close-form"},
		{fmt.Sprintf("/staff/attention/%d/close", task), nil, 409, "notice"},
		{fmt.Sprintf("/staff/attention/%d/retry", task), nil, 409, "notice"},
		{fmt.Sprintf("/staff/menu/%d", item), []string{"state", "off"}, 403, "error"},
	} {
		old := "a token of an earlier login"
		res := b.send(press.path, nil, append([]string{csrfField, old}, press.fields...)...).is(press.status)
		if len(res.texts(press.again)) == 0 {
			t.Errorf("%s: nothing says so:\n%s", press.path, res.body)
		}
		if press.again == "cancel-form" {
			if got := attribute(res.all("input", "name", "reason")[0], "value"); got != "we ran out" {
				t.Errorf("the reason is %q, want what was typed", got)
			}
		}
	}
	// Under htmx a switch outside of the board has to load its page anew, or it would be stale for ever.
	for path, fields := range map[string][]string{"/staff/open": nil, fmt.Sprintf("/staff/menu/%d", item): {"state", "off"}} {
		res := b.send(path, htmx, append([]string{csrfField, "a token of an earlier login"}, fields...)...)
		if res.is(409).header.Get("HX-Refresh") != "true" {
			t.Errorf("%s does not load the page anew", path)
		}
	}
	k.unchanged(before)
	b.post(orderPath(order, "/move"), "from", "queued", "to", "accepted").is(303) // with the token that came back
}

// TestStaffOfAnotherOutlet changes ids and slugs in addresses and forms (F28): what is another outlet's is not there.
func TestStaffOfAnotherOutlet(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	other := k.secondOutlet()
	ours, theirs := k.paid(basket{name: "Ananya Ours"}), k.paid(basket{outlet: other, slug: "zafran-rice", name: "Imran Theirs"})
	pending := k.place(basket{outlet: other, slug: "zafran-rice", name: "Imran Pending"})
	must(t, k.store.OpenTask(t.Context(), models.TaskAmountMismatch, "theirs", &theirs.ID, "of the other outlet"))
	must(t, k.store.OpenTask(t.Context(), models.TaskAmountMismatch, "ours", &ours.ID, "of this outlet"))
	must(t, k.store.OpenTask(t.Context(), models.TaskLowBalance, "refunds", nil, "of the whole account"))
	theirTask := k.count(`SELECT id FROM staff_tasks WHERE ref = 'theirs'`)
	theirItem := k.count(`SELECT id FROM items WHERE outlet_id = $1`, other.ID)

	for _, role := range []string{"owner", "manager", "kitchen"} {
		k.run(t, role, func(t *testing.T) {
			b := k.signedIn(k.staff("our-"+role, "Our "+role, role, k.outlet.ID))
			before := k.rows()
			for _, o := range []models.Order{theirs, pending} {
				for _, more := range []string{"", "/cancel", "/refund", "/timeline", "/timeline.json"} {
					res := b.get(orderPath(o, more))
					if res.status != 404 && (role != "kitchen" || more != "/cancel" && more != "/refund" || res.status != 403) {
						t.Errorf("%s = %d, want 404", res.what, res.status)
					}
					if strings.Contains(res.body, "Imran") || strings.Contains(res.body, o.Token) {
						t.Errorf("%s tells of the other outlet's order", res.what)
					}
				}
				b.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(404)
				if role != "kitchen" {
					b.post(orderPath(o, "/cancel"), "reason", "mine now", "confirm", "yes").is(404)
					b.post(orderPath(o, "/refund"), "step", "review", "what", "rest", "reason", "mine now").is(404)
				}
			}
			b.press(fmt.Sprintf("/staff/menu/%d", theirItem), "state", "off").is(404)
			for _, path := range []string{"/staff", "/staff/board", "/staff/menu", "/staff/events", "/staff/attention"} {
				b.get(path + "?outlet=" + other.Slug).is(404)
			}
			b.setCookie(outletCookie, other.Slug, "/staff") // a choice, not a right
			for _, path := range []string{"/staff", "/staff/board", "/staff/menu", "/staff/attention"} {
				res := b.get(path).is(200)
				for _, foreign := range []string{"Imran", "Zafran", "of the other outlet"} {
					if strings.Contains(res.body, foreign) {
						t.Errorf("%s tells of the other outlet: %s", path, foreign)
					}
				}
			}
			b.get("/staff/attention").says("task", "of this outlet")
			if account := strings.Contains(b.get("/staff/attention").body, "of the whole account"); account != (role != "kitchen") {
				t.Errorf("task of the account shown: %t", account)
			}
			if role != "kitchen" {
				b.post("/staff/close", "outlet", other.Slug, "confirm", "yes").is(404)
				b.post(fmt.Sprintf("/staff/attention/%d/close", theirTask)).is(404).says("notice", "not on your list")
			}
			k.unchanged(before)
			b.press("/staff/open") // with the other's cookie: the switch is this outlet's all the same
			if k.count(`SELECT count(*) FROM outlets WHERE NOT accepts_orders AND id = $1`, k.outlet.ID) != 1 || k.count(`SELECT count(*) FROM outlets WHERE NOT accepts_orders`) != 1 {
				t.Error("the switch turned another outlet's")
			}
			b.press("/staff/open", "open", "1").is(200)
		})
	}

	k.run(t, "who_works_for_all_sees_one_board_at_a_time", func(t *testing.T) {
		b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
		if got := b.get("/staff").numbers("queued"); len(got) != 1 || got[0] != number(ours) {
			t.Errorf("first board shows %v, want order %d", got, ours.Number)
		}
		b.get("/staff/menu?outlet="+other.Slug).is(200).says("staff-dish", "Zafran Rice")
		if res := b.get("/staff"); len(res.numbers("queued")) != 1 || !strings.Contains(res.body, "Zafran Rice") {
			t.Errorf("the board does not follow the choice:\n%s", res.body)
		}
		b.press(orderPath(ours, "/move"), "from", "queued", "to", "accepted").is(200) // of either outlet, whichever board is open
		b.get("/staff?outlet=nowhere").is(404)
		if len(b.get("/staff/attention").texts("task")) != 3 {
			t.Error("not all tasks are shown")
		}
	})
}

// TestCustomersSeeNoStaffPage asks for orders by number, as C056 has it.
func TestCustomersSeeNoStaffPage(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	first, second := k.paid(basket{name: "Ananya Rao"}), k.paid(basket{name: "Irfan Khan"})
	guest := k.browser()
	guest.get("/staff/login").is(200)
	member := k.signedIn(k.staff("asha", "Asha", "owner", k.outlet.ID))
	for id := range int64(52) {
		for _, path := range []string{fmt.Sprintf("/staff/orders/%d", id), fmt.Sprintf("/staff/orders/%d/cancel", id)} {
			guest.get(path).is(303).leads("/staff/login")
			if id != first.ID && id != second.ID {
				member.get(path).is(404)
			}
		}
		if id != first.ID && id != second.ID {
			guest.get(fmt.Sprintf("/orders/%d", id)).is(404) // a number is no token
		}
	}
	for _, wrong := range []string{"-1", "0", "abc", "+1", "01x", "9999999999999999999", "1%00", "%F9%28", first.Token, first.PublicID} {
		member.get("/staff/orders/" + wrong).is(404)
		member.post("/staff/orders/"+wrong+"/move", "from", "queued", "to", "accepted").is(404)
	}
}

// TestReadingStaffPagesChangesNothing follows every link and every address htmx fetches, as a signed-in member (C061).
func TestReadingStaffPagesChangesNothing(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	k.secondOutlet()
	orders := []models.Order{k.paid(basket{note: "ring twice"}), k.place(basket{}), k.paid(basket{slug: "samosa"})}
	_, err := k.cashier.CancelOrder(t.Context(), orders[2].ID, models.ActorCustomer, "changed_mind")
	must(t, err)
	must(t, k.store.OpenTask(t.Context(), models.TaskAmountMismatch, "x", &orders[1].ID, "look at it"))
	b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
	before := k.rows()

	seen := map[string]bool{}
	queue := []string{"/staff", "/staff/login", "/staff/board"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		path, _, _ = strings.Cut(path, "#")
		if seen[path] || !strings.HasPrefix(path, "/staff") {
			continue
		}
		seen[path] = true
		for _, res := range []answer{b.get(path), b.get(path, htmx...)} {
			if res.status >= 400 {
				t.Errorf("%s = %d", res.what, res.status)
			}
			for _, name := range []string{"href", "hx-get"} {
				for _, n := range elementsWith(res, name) {
					queue = append(queue, attribute(n, name))
				}
			}
		}
	}
	for _, want := range []string{"/staff", "/staff/board", orderPath(orders[0], ""), orderPath(orders[0], "/cancel"), orderPath(orders[0], "/refund"), orderPath(orders[1], ""), orderPath(orders[2], "")} {
		if !seen[want] {
			t.Errorf("the crawl never came to %s", want)
		}
	}
	for _, extra := range []string{"/staff/menu", "/staff/menu?outlet=zafran", "/staff/attention", "/staff/attention?done=closed", "/staff/menu?done=closed"} {
		b.get(extra).is(200)
	}
	k.unchanged(before)
}

// TestJobPages mounts a page in place of River's own: who comes through, and with what policy.
func TestJobPages(t *testing.T) {
	t.Parallel()
	asked := 0
	k := openKitchen(t, func(d *Deps) {
		d.Jobs = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "jobs %s %s %s", r.Method, r.URL.RequestURI(), body)
		})
	})
	paths := []string{"/staff/jobs", "/staff/jobs/", "/staff/jobs/api/jobs?state=available"}
	stranger := k.browser()
	for _, member := range []models.Staff{k.staff("cook", "Cook", "kitchen", 0), k.staff("manager", "Manager", "manager", 0), k.staff("our-owner", "Our owner", "owner", k.outlet.ID)} {
		b := k.signedIn(member)
		for _, path := range paths {
			b.get(path).is(403)
			b.do("POST", path, nil).is(403)
			stranger.get(path).is(303).leads("/staff/login")
			stranger.do("POST", path, nil).is(401)
		}
		if len(b.get("/staff/attention").texts("to-jobs")) != 0 {
			t.Errorf("%s is shown a link to the queue", member.Login)
		}
	}
	owner := k.signedIn(k.staff("asha", "Asha", "owner", 0))
	owner.do("POST", "/staff/jobs/api/jobs/cancel", strings.NewReader(`{"ids":["1"]}`), "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site").is(403)
	owner.do("PUT", "/staff/jobs/api/queues/default", nil, "Sec-Fetch-Site", "same-site").is(403)
	if asked != 0 {
		t.Fatalf("%d requests came through, want none", asked)
	}
	for _, path := range paths {
		res := owner.get(path).is(200)
		if res.body != "jobs GET "+path+" " || res.header.Get("Content-Security-Policy") != jobsPolicy {
			t.Errorf("%s = %q under %q", path, res.body, res.header.Get("Content-Security-Policy"))
		}
	}
	res := owner.do("POST", "/staff/jobs/api/jobs/cancel", strings.NewReader(`{"ids":["1"]}`), "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin").is(200)
	if res.body != `jobs POST /staff/jobs/api/jobs/cancel {"ids":["1"]}` {
		t.Errorf("answer = %q", res.body)
	}
	if len(owner.get("/staff/attention").texts("to-jobs")) != 1 {
		t.Error("the owner is shown no link to the queue")
	}
}
