package handlers

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

func TestBoard(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	unpaid := k.place(basket{name: "Unpaid Person"})
	failing := k.place(basket{name: "Failing Person"})
	_, err := k.gateway.Pay(standin.PayParams{OrderID: k.open(failing), Outcome: standin.FailNow})
	must(t, err)
	paid := k.paid(basket{name: "Ananya Rao", slug: "paneer-tikka"})
	asha := k.staff("asha", "Asha", "kitchen", k.outlet.ID)
	b := k.signedIn(asha)

	k.run(t, "shows_paid_orders_and_no_others", func(t *testing.T) {
		page := b.get("/staff").is(200)
		if got := page.numbers("queued"); !slices.Equal(got, []string{number(paid)}) {
			t.Errorf("new tickets = %v, want only order %d", got, paid.Number)
		}
		for _, name := range []string{unpaid.Name, failing.Name} {
			if strings.Contains(page.body, name) {
				t.Errorf("%s, who has not paid, is on the board", name)
			}
		}
		page.says("ticket-line", "2×", "Paneer Tikka")
		if cc := page.header.Get("Cache-Control"); cc != "no-store" {
			t.Errorf("Cache-Control = %q, want no-store", cc)
		}
	})

	k.run(t, "the_fragment_is_the_same_board", func(t *testing.T) {
		fragment := b.get("/staff/board", htmx...).is(200)
		if strings.Contains(fragment.body, "<html") || !slices.Equal(fragment.numbers("queued"), []string{number(paid)}) {
			t.Errorf("fragment:\n%s", fragment.body)
		}
	})

	k.run(t, "one_button_takes_a_ticket_to_the_customer_and_undo_takes_it_back", func(t *testing.T) {
		steps := []string{"queued", "accepted", "preparing", "ready", "handed_over"}
		for i, to := range steps[1:] {
			from := steps[i]
			if got := b.get("/staff").numbers(from); !slices.Equal(got, []string{number(paid)}) {
				t.Fatalf("column %s = %v, want order %d", from, got, paid.Number)
			}
			res := b.press(orderPath(paid, "/move"), "from", from, "to", to).is(200).says("conflict", fmt.Sprintf("Order %d:", paid.Number))
			if strings.Contains(res.body, "<html") {
				t.Error("a press under htmx got a whole page")
			}
			if undo := res.all("button", "data-testid", "undo"); len(undo) != 1 {
				t.Errorf("%d undo buttons, want one", len(undo))
			}
			if got := k.ticket(paid); got != to {
				t.Fatalf("ticket = %s, want %s", got, to)
			}
		}
		if on := b.get("/staff"); slices.ContainsFunc(steps[:4], func(s string) bool { return len(on.numbers(s)) > 0 }) {
			t.Error("a ticket that was handed over is still waiting")
		}
		for i := len(steps) - 1; i > 0; i-- { // recall, one step back at a time, to where it began
			b.press(orderPath(paid, "/move"), "from", steps[i], "to", steps[i-1]).is(200)
		}
		if got := k.ticket(paid); got != "queued" {
			t.Errorf("ticket = %s, want queued", got)
		}
		if n := k.count(`SELECT count(*) FROM audit WHERE order_id = $1 AND actor = $2 AND action LIKE 'ticket_%'`, paid.ID, models.StaffActor(asha.ID)); n != 8 {
			t.Errorf("%d moves in the audit, want 8", n)
		}
		if n := k.count(`SELECT count(*) FROM status_changes WHERE order_id = $1 AND subject = 'fulfilment' AND actor = $2`, paid.ID, models.StaffActor(asha.ID)); n != 8 {
			t.Errorf("%d moves in the history, want 8", n)
		}
	})

	k.run(t, "works_without_script", func(t *testing.T) {
		paid := k.paid(basket{})
		b.post(orderPath(paid, "/move"), "from", "queued", "to", "accepted").is(303).leads("/staff")
		res := b.post(orderPath(paid, "/move"), "from", "queued", "to", "accepted").is(409)
		if !strings.Contains(res.body, "<html") || !slices.Contains(res.numbers("accepted"), number(paid)) {
			t.Errorf("a conflict without script is not the whole board:\n%s", res.body)
		}
	})

	k.run(t, "refuses_steps_there_are_not", func(t *testing.T) {
		before := k.rows()
		for _, step := range [][2]string{{"queued", "preparing"}, {"queued", "ready"}, {"queued", "queued"}, {"queued", ""}, {"", ""}, {"queued", "cancelled"},
			{"cancelled", "queued"}, {"handed_over", "queued"}, {"queued", "paid"}, {"queued", "status = 'ready'"}} {
			b.press(orderPath(paid, "/move"), "from", step[0], "to", step[1]).is(400)
		}
		b.press(orderPath(paid, "/move"), "from", "queued", "to", "accepted", "price", "1").is(400)
		b.press(orderPath(paid, "/move"), "from", "queued", "from", "ready", "to", "accepted").is(400)
		b.press(orderPath(unpaid, "/move"), "from", "queued", "to", "accepted").is(404)
		k.unchanged(before)
	})
	k.intact()
}

func TestTwoMembersOneTicket(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.signedIn(k.staff("asha", "Asha", "manager", k.outlet.ID))
	ravi := k.signedIn(k.staff("ravi", "Ravi", "kitchen", k.outlet.ID))

	k.run(t, "a_stale_click_changes_nothing_and_says_who_was_first", func(t *testing.T) {
		o := k.paid(basket{})
		asha.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(200)
		before := k.rows()
		res := ravi.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(409).
			says("conflict", fmt.Sprintf("Order %d was already accepted by Asha at ", o.Number), "Nothing was changed.")
		if !slices.Contains(res.numbers("accepted"), number(o)) || slices.Contains(res.numbers("queued"), number(o)) {
			t.Errorf("the loser's board is not the one there is: new %v, accepted %v", res.numbers("queued"), res.numbers("accepted"))
		}
		k.unchanged(before)

		asha.press(orderPath(o, "/move"), "from", "accepted", "to", "preparing").is(200)
		ravi.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(409).says("conflict", "already started by Asha")
		if got := k.ticket(o); got != "preparing" {
			t.Errorf("ticket = %s, want preparing: a stale action must not overwrite a newer state", got)
		}
	})

	k.run(t, "a_click_on_what_was_cancelled_says_so", func(t *testing.T) {
		o := k.paid(basket{})
		asha.post(orderPath(o, "/cancel"), "reason", "the gas is off", "confirm", "yes").is(303)
		ravi.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(409).
			says("conflict", fmt.Sprintf("Order %d was already cancelled by Asha", o.Number), "Do not cook it")
		if got := k.ticket(o); got != "cancelled" {
			t.Errorf("ticket = %s, want cancelled", got)
		}
		p := k.place(basket{})
		k.pay(p, k.open(p))
		_, err := k.cashier.CancelOrder(t.Context(), p.ID, models.ActorCustomer, "changed_mind")
		must(t, err)
		ravi.press(orderPath(p, "/move"), "from", "queued", "to", "accepted").is(409).says("conflict", "cancelled by the customer")
	})

	k.run(t, "of_many_at_once_one_wins", func(t *testing.T) {
		for range 10 {
			o := k.paid(basket{})
			statuses := make(chan int, 8)
			var group sync.WaitGroup
			for i := range cap(statuses) {
				b := []*browser{asha, ravi}[i%2]
				group.Go(func() {
					statuses <- b.send(orderPath(o, "/move"), htmx, csrfField, b.token(), "from", "queued", "to", "accepted").status
				})
			}
			group.Wait()
			close(statuses)
			seen := map[int]int{}
			for status := range statuses {
				seen[status]++
			}
			if seen[200] != 1 || seen[409] != 7 {
				t.Fatalf("answers = %v, want one 200 and seven 409", seen)
			}
			if n := k.count(`SELECT count(*) FROM status_changes WHERE order_id = $1 AND subject = 'fulfilment' AND became = 'accepted'`, o.ID); n != 1 {
				t.Fatalf("accepted %d times", n)
			}
		}
	})

	k.run(t, "refusing_and_accepting_at_once_ends_cancelled_and_refunded_once", func(t *testing.T) {
		for range 10 {
			o := k.paid(basket{})
			var accepted, cancelled answer
			var group sync.WaitGroup
			group.Go(func() {
				accepted = ravi.send(orderPath(o, "/move"), htmx, csrfField, ravi.token(), "from", "queued", "to", "accepted")
			})
			group.Go(func() {
				cancelled = asha.send(orderPath(o, "/cancel"), nil, csrfField, asha.token(), "reason", "the gas is off", "confirm", "yes")
			})
			group.Wait()
			cancelled.is(303) // an accepted ticket can be refused too
			if accepted.status != 200 {
				accepted.is(409).says("conflict", "cancelled by Asha", "Do not cook it")
			}
			if got := k.ticket(o); got != "cancelled" {
				t.Fatalf("ticket = %s, want cancelled", got)
			}
			if n := k.count(`SELECT count(*) FROM refunds WHERE order_id = $1`, o.ID); n != 1 {
				t.Fatalf("%d refunds, want one", n)
			}
		}
	})
	k.intact()
}

// TestCancelledTicketCatchesTheEye looks at a second board after an order was cancelled by staff and by its customer (C048).
func TestCancelledTicketCatchesTheEye(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.signedIn(k.staff("asha", "Asha", "owner", 0))
	ravi := k.signedIn(k.staff("ravi", "Ravi", "kitchen", k.outlet.ID))
	byStaff, byCustomer, kept := k.paid(basket{}), k.paid(basket{}), k.paid(basket{})
	ravi.press(orderPath(byStaff, "/move"), "from", "queued", "to", "accepted").is(200)
	asha.post(orderPath(byStaff, "/cancel"), "reason", "no gas", "confirm", "yes").is(303)
	_, err := k.cashier.CancelOrder(t.Context(), byCustomer.ID, models.ActorCustomer, "changed_mind")
	must(t, err)

	for _, path := range []string{"/staff", "/staff/board"} {
		res := ravi.get(path).is(200)
		res.says("attention", fmt.Sprintf("Order %d was cancelled by Asha: do not cook it", byStaff.Number))
		res.says("attention", fmt.Sprintf("Order %d was cancelled by the customer: do not cook it", byCustomer.Number))
		if got := res.numbers("queued"); !slices.Equal(got, []string{number(kept)}) {
			t.Errorf("%s: new = %v, want only order %d", path, got, kept.Number)
		}
		if got := res.numbers("accepted"); len(got) != 0 {
			t.Errorf("%s: accepted = %v, want none", path, got)
		}
	}
	k.exec(shopClock(toNoon + 6*time.Minute))
	if got := ravi.get("/staff").texts("attention"); len(got) != 0 {
		t.Errorf("after six minutes the board still says %q", got)
	}
}

// TestNotesReachTheKitchenWhole puts an allergy on a line and a long note with line breaks on an order (C051), and hostile text in every
// field a customer writes (C057).
func TestNotesReachTheKitchenWhole(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	lines := []string{"Ring the side gate.", "Not the front: the dog.", strings.TrimSpace(strings.Repeat("Call before you come. ", 40))[:400], "शुक्रिया"}
	note := strings.Join(lines, "\n")
	o := k.paid(basket{lineNote: "no onion – nut allergy 🥜", note: note})
	hostile := []string{`<img src=x onerror=alert(1)>`, `"><svg/onload=alert(1)>`, `</textarea><script>alert(1)</script>`}
	var evil []models.Order
	for _, text := range hostile {
		evil = append(evil, k.paid(basket{name: text, lineNote: text, note: text, line1: text, directions: text}))
	}
	b := k.signedIn(k.staff("asha", "Asha", "owner", 0))
	for _, path := range []string{"/staff", "/staff/board"} {
		res := b.get(path).is(200)
		res.says("line-note", "no onion – nut allergy 🥜")
		res.says("ticket-note", note)
		for _, text := range hostile {
			res.says("line-note", text)
			res.says("ticket-note", text)
		}
		assertInert(t, res)
	}
	b.get(orderPath(o, "")).is(200).says("ticket-note", note).says("staff-order", "no onion – nut allergy 🥜")
	for i, order := range evil {
		page := b.get(orderPath(order, "")).is(200)
		assertInert(t, page)
		if n := strings.Count(inner(page.all("main", "id", "main")[0]), hostile[i]); n < 4 {
			t.Errorf("%q is shown %d times, want in name, address, directions and notes", hostile[i], n)
		}
		assertInert(t, b.get(orderPath(order, "/cancel")))
		assertInert(t, b.post(orderPath(order, "/cancel"), "reason", hostile[i]).is(422))
		b.post(orderPath(order, "/cancel"), "reason", hostile[i], "confirm", "yes").is(303)
		page = b.get(orderPath(order, "")).is(200)
		assertInert(t, page)
		page.says("history-row", hostile[i])
		assertInert(t, b.press(orderPath(order, "/move"), "from", "queued", "to", "accepted").is(409))
	}
	assertInert(t, b.get("/staff"))
}

// assertInert fails on any element or attribute that customers' text has become.
func assertInert(t *testing.T, res answer) {
	t.Helper()
	for _, n := range elementsWith(res, "src") {
		if src := attribute(n, "src"); !strings.HasPrefix(src, "/static/") {
			t.Errorf("%s has an element with src %q", res.what, src)
		}
	}
	for _, handler := range []string{"onerror", "onload"} {
		if n := len(elementsWith(res, handler)); n > 0 {
			t.Errorf("%s has %d elements with %s", res.what, n, handler)
		}
	}
	if strings.Contains(res.body, "<script>") {
		t.Errorf("%s has a script of somebody's", res.what)
	}
}

func TestOpenSwitch(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.staff("asha", "Asha", "kitchen", k.outlet.ID)
	b := k.signedIn(asha)
	open := func() bool {
		t.Helper()
		schedule, err := k.store.FindSchedule(t.Context(), k.outlet.ID)
		must(t, err)
		now, err := k.store.Now(t.Context())
		must(t, err)
		return schedule.At(now).Open
	}
	if !open() {
		t.Fatal("the demo is not open")
	}
	b.press("/staff/open").is(200).says("conflict", "New orders are paused")
	if open() {
		t.Error("still open after the switch was turned off")
	}
	if n := len(b.get("/staff").all("input", "data-testid", "open-switch")); n != 1 {
		t.Errorf("%d switches", n)
	}
	b.press("/staff/open").is(200) // again: it is so already
	b.post("/staff/open", "open", "1").is(303).leads("/staff")
	if !open() {
		t.Error("still paused after the switch was turned on")
	}
	for _, action := range []string{"pause_orders", "resume_orders"} {
		if n := k.count(`SELECT count(*) FROM audit WHERE action = $1 AND actor = $2`, action, models.StaffActor(asha.ID)); n != 1 {
			t.Errorf("%d × %s in the audit, want one", n, action)
		}
	}
	b.press("/staff/open", "open", "2").is(400)
	b.press("/staff/open", "open", "1", "outlet", "other").is(400)
}

// events reads a board's stream.
type events struct {
	t      *testing.T
	res    *http.Response
	reader *bufio.Reader
}

func (b *browser) listen(ctx context.Context) *events {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", b.base+"/staff/events", nil)
	must(b.t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "gzip, br")
	client := &http.Client{Jar: b.client.Jar, Transport: b.client.Transport}
	res, err := client.Do(r)
	must(b.t, err)
	return &events{t: b.t.(*testing.T), res: res, reader: bufio.NewReader(res.Body)}
}

// next is the next event's name; "" when the stream has ended.
func (e *events) next() string {
	e.t.Helper()
	for {
		line, err := e.reader.ReadString('\n')
		if err != nil {
			return ""
		}
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "event: "); is {
			return name
		}
	}
}

// until reads on to an event, past others, which may come more than once. The test's own limit ends a wait for what never comes.
func (e *events) until(name string) {
	e.t.Helper()
	for {
		switch got := e.next(); got {
		case name:
			return
		case "":
			e.t.Fatalf("the stream ended before %s", name)
		}
	}
}

func TestBoardStream(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	other := k.secondOutlet()
	asha := k.staff("asha", "Asha", "kitchen", k.outlet.ID)
	b, pressing := k.signedIn(asha), k.signedIn(asha)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	stream := b.listen(ctx)
	defer func() { must(t, stream.res.Body.Close()) }()
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "private, no-cache", "X-Accel-Buffering": "no", "Content-Encoding": "", "Etag": ""} {
		if got := stream.res.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := stream.next(); got != "hello" {
		t.Fatalf("first event = %q, want hello", got)
	}

	o := k.paid(basket{})
	stream.until("changed")
	if got := b.get("/staff/board", htmx...).numbers("queued"); !slices.Equal(got, []string{number(o)}) {
		t.Errorf("after changed the board shows %v, want order %d", got, o.Number)
	}
	pressing.press(orderPath(o, "/move"), "from", "queued", "to", "accepted").is(200)
	stream.until("changed")
	_, err := k.cashier.CancelOrder(t.Context(), o.ID, "staff:"+fmt.Sprint(asha.ID), "No gas")
	must(t, err)
	stream.until("changed")

	k.run(t, "is_not_for_strangers", func(t *testing.T) {
		k.browser().get("/staff/events", "Accept", "text/event-stream").is(401)
		b.do("POST", "/staff/events", nil).is(405)
		b.do("HEAD", "/staff/events", nil).is(200)
	})

	k.run(t, "ends_when_its_member_signs_out", func(t *testing.T) {
		leaving := k.signedIn(asha)
		theirs := leaving.listen(ctx)
		defer func() { must(t, theirs.res.Body.Close()) }()
		theirs.until("hello")
		leaving.post("/staff/logout").is(303)
		k.paid(basket{})
		theirs.until("closed")
		if got := theirs.next(); got != "" {
			t.Errorf("after closed came %q", got)
		}
	})

	k.run(t, "hears_nothing_of_another_outlet_and_ends_at_shutdown", func(t *testing.T) {
		quiet := k.signedIn(k.staff("imran", "Imran", "kitchen", other.ID))
		theirs := quiet.listen(ctx)
		defer func() { must(t, theirs.res.Body.Close()) }()
		if got := theirs.next(); got != "hello" {
			t.Fatalf("first event = %q, want hello", got)
		}
		heard, stop := k.hub.Subscribe(models.BoardTopic(k.outlet.ID))
		defer stop()
		k.paid(basket{})
		select {
		case <-heard: // whoever listens to this outlet has been told by now
		case <-ctx.Done():
			t.Fatal("the hub was never told")
		}
		k.app.Close()
		if got := theirs.next(); got != "" {
			t.Errorf("the other outlet's board heard %q", got)
		}
		for stream.next() != "" { // whatever was still under way, and then the end
		}
		if ctx.Err() != nil {
			t.Error("the streams did not end with the app")
		}
	})
}
