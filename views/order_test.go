package views

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tiffin/models"
)

func TestOrderState(t *testing.T) {
	authorized := func(minutes int) func(v *OrderView) {
		return func(v *OrderView) { v.Payments = []models.Payment{{GWStatus: "authorized", CreatedAt: *at(minutes)}} }
	}
	for name, c := range map[string]struct {
		change func(v *OrderView)
		state  string
	}{
		"nothing tried":                         {nil, StateUnpaid},
		"authorized just now":                   {authorized(0), StateConfirming},
		"authorized two minutes ago":            {authorized(-2), StateSlow},
		"authorized, time to pay over":          {func(v *OrderView) { authorized(-2)(v); v.Order.HoldExpiresAt = *at(-1) }, StateSlow},
		"browser reported, gateway silent":      {func(v *OrderView) { v.HintedAt = at(0) }, StateConfirming},
		"reported long before it is authorized": {func(v *OrderView) { authorized(0)(v); v.HintedAt = at(-5) }, StateSlow},
		"last attempt failed": {func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "failed", CreatedAt: *at(-1)}}
		}, StateFailed},
		"failed, then authorized": {func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "failed", CreatedAt: *at(-1)}, {GWStatus: "authorized", CreatedAt: *at(0)}}
		}, StateConfirming},
		"returned by the gateway": {func(v *OrderView) { v.Payments = []models.Payment{{GWStatus: "voided", CreatedAt: *at(-1)}} }, StateUnpaid},
		"hold over":               {func(v *OrderView) { v.Order.HoldExpiresAt = evening }, StateLapsed},
		"hold over, last attempt failed": {func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "failed", CreatedAt: *at(-9)}}
			v.Order.HoldExpiresAt = evening
		}, StateLapsed},
		"expired":                 {func(v *OrderView) { v.Order.Status = models.OrderExpired }, StateExpired},
		"expired, authorized now": {func(v *OrderView) { authorized(0)(v); v.Order.Status = models.OrderExpired }, StateExpired},
		"cancelled":               {func(v *OrderView) { v.Order.Status = models.OrderCancelled }, StateCancelled},
		"paid, no ticket read":    {func(v *OrderView) { v.Order.Status = models.OrderPaid }, StatePaid},
		"paid, failed attempt too": {func(v *OrderView) {
			paidAnd(models.TicketQueued)(v)
			v.Payments = append(v.Payments, models.Payment{GWStatus: "failed", CreatedAt: *at(0)})
		}, StatePaid},
		"accepted":    {paidAnd(models.TicketAccepted), StateAccepted},
		"preparing":   {paidAnd(models.TicketPreparing), StatePreparing},
		"ready":       {paidAnd(models.TicketReady), StateReady},
		"handed over": {paidAnd(models.TicketHandedOver), StateHandedOver},
	} {
		if got := OrderState(sampleOrderView(c.change), evening); got != c.state {
			t.Errorf("%s: %s, want %s", name, got, c.state)
		}
	}
}

// TestOrderPageWords: what each state promises about money, and the buttons it offers.
func TestOrderPageWords(t *testing.T) {
	for name, c := range map[string]struct {
		says, never   []string
		pays, cancels bool
		hurries       bool
	}{
		"unpaid":      {says: []string{"Waiting for your payment", "No payment has reached us", "until 7:52 pm", "Pay ₹1,359.00"}, pays: true, cancels: true},
		"failed":      {says: []string{"Your bank declined the payment.", "If money left your account, it comes back by itself", "by 5 Dec 2026", "₹100 for each further day", "Try again"}, pays: true, cancels: true},
		"confirming":  {says: []string{"Confirming your payment", "Please do not pay again"}, never: []string{"Taking longer"}, cancels: true, hurries: true},
		"slow":        {says: []string{"Taking longer than usual", "We will email you", "By about 8:02 pm", "we give all of it back at once", "by 5 Dec 2026"}, cancels: true, hurries: true},
		"lapsed":      {says: []string{"Please do not pay again"}, cancels: true, hurries: true},
		"expired":     {says: []string{"Not paid in time", "Your cart is as you left it"}},
		"paid":        {says: []string{"Paid and placed", "₹1,359.00 by UPI", "8:08 – 8:18 pm", "All of your ₹1,359.00 goes back to your UPI account"}, cancels: true},
		"accepted":    {says: []string{"can no longer be cancelled here"}},
		"preparing":   {says: []string{"The kitchen is cooking your food.", "since 7:41 pm"}},
		"late":        {says: []string{"Running about 10 minutes late, sorry."}},
		"pickup":      {says: []string{"Ready about", "Your food is ready. Come and collect it.", "Collect from"}, never: []string{"Out for delivery", "Delivering to"}},
		"handed_over": {says: []string{"On its way"}},
		"cancelled":   {says: []string{"You cancelled this order.", "Nothing was charged"}, never: []string{"Money back"}},
		"requested":   {says: []string{"₹1,359.00 is on its way back to your UPI account", "Requested on 30 Nov 2026", "2–7 working days", "The tandoor is out of order"}, never: []string{"was refunded"}},
		"submitted":   {says: []string{"With the bank since 30 Nov 2026", "Refund id rfnd_TstAbCdEf00003"}, never: []string{"was refunded"}},
		"processed":   {says: []string{"₹1,359.00 was refunded to your UPI account", "Done on 30 Nov 2026", "412345678901"}},
		"refund_lost": {says: []string{"did not reach you", "the money is not lost", "by 1 Dec 2026, please call us"}, never: []string{"was refunded"}},
		"sold_out":    {says: []string{"Sorry, Rogan Josh has just sold out.", "all of it goes back", "is on its way back"}, never: []string{"was refunded", "Nothing was charged"}},
		"paid_twice":  {says: []string{"already paid, so your second payment goes back by itself", "pay_TstAbCdEf00002: pays this order", "pay_TstSecond00004: goes back to you", "your card"}},
	} {
		v := sampleOrderView(sampleOrders()[name])
		root := parse(t, render(t, OrderPage(v)))
		shown := textOf(root)
		for _, want := range c.says {
			if !strings.Contains(shown, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
		for _, not := range c.never {
			if strings.Contains(shown, not) {
				t.Errorf("%s says %q", name, not)
			}
		}
		if got := len(byTestID(root, "pay-now")) > 0; got != c.pays {
			t.Errorf("%s: pay button %v, want %v", name, got, c.pays)
		}
		if got := len(byTestID(root, "cancel-form")) > 0; got != c.cancels {
			t.Errorf("%s: cancel form %v, want %v", name, got, c.cancels)
		}
		status := mustFind(t, root, "order")
		if got := has(status, "data-hurry"); got != c.hurries {
			t.Errorf("%s: hurries %v, want %v", name, got, c.hurries)
		}
		if attr(status, "data-say") == "" || attr(status, "data-state") != OrderState(v, evening) {
			t.Errorf("%s: data-say %q, data-state %q", name, attr(status, "data-say"), attr(status, "data-state"))
		}
	}
}

func TestOrderSteps(t *testing.T) {
	for status, want := range map[string]string{
		models.TicketQueued:     "paid now, accepted, preparing, ready, handed_over",
		models.TicketPreparing:  "paid done, accepted done, preparing now, ready, handed_over",
		models.TicketHandedOver: "paid done, accepted done, preparing done, ready done, handed_over done",
	} {
		root := parse(t, render(t, OrderPage(sampleOrderView(paidAnd(status)))))
		var got []string
		for _, li := range byTestID(root, "order-step") {
			got = append(got, strings.TrimSpace(attr(li, "data-step")+" "+strings.TrimSpace(attr(li, "class"))))
			if (attr(li, "aria-current") == "step") != (strings.TrimSpace(attr(li, "class")) == "now") {
				t.Errorf("%s: aria-current %q on %s", status, attr(li, "aria-current"), attr(li, "data-step"))
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", status, strings.Join(got, ", "), want)
		}
	}
}

// A page seen without the session that placed the order (a callback from another site) shows nothing personal.
func TestOrderPageWithoutSessionIsImpersonal(t *testing.T) {
	v := sampleOrderView(paidAnd(models.TicketAccepted))
	v.Personal, v.Order.Line2 = false, "Second Cross"
	shown := everyText(parse(t, render(t, OrderPage(v))))
	for _, secret := range []string{v.Order.Name, "98450", v.Order.Line1, v.Order.Line2, v.Order.Directions, v.Order.Note, v.Order.Email} {
		if strings.Contains(shown, secret) {
			t.Errorf("the page shows %q", secret)
		}
	}
}

// Only a page on which something can still change keeps a connection open.
func TestSettledOrdersDoNotListen(t *testing.T) {
	for name, listens := range map[string]bool{"unpaid": true, "slow": true, "paid": true, "submitted": true, "expired": false, "processed": false, "handed_over": false} {
		root := parse(t, render(t, OrderPage(sampleOrderView(sampleOrders()[name]))))
		if got := len(all(root, func(n *html.Node) bool { return has(n, "sse-connect") })) == 1; got != listens {
			t.Errorf("%s: listens %v, want %v", name, got, listens)
		}
	}
	v := sampleOrderView(sampleOrders()["expired"])
	v.Order.NextCheckAt = at(15)
	if settled(v) {
		t.Error("an expired order that the sweep will still ask about is not settled")
	}
}

// A refund that failed and was sent again is one refund to its customer.
func TestRetriedRefundIsShownOnce(t *testing.T) {
	v := sampleOrderView(givenBack("failed"))
	again := v.Refunds[0]
	again.ID, again.RetryOf, again.Status, again.RazorpayRefundID = "second", &v.Refunds[0].ID, "requested", nil
	v.Refunds = append(v.Refunds, again, models.Refund{ID: "third", PaymentID: 3, Status: "void", AmountPaise: 1})
	root := parse(t, render(t, OrderPage(v)))
	if found := byTestID(root, "refund"); len(found) != 1 || attr(found[0], "data-stage") != "requested" {
		t.Errorf("%d refunds shown", len(found))
	}
}

func TestLateText(t *testing.T) {
	for minutes, want := range map[int]string{1: "", 0: "", -1: "Running about 5 minutes late, sorry.", -5: "Running about 10 minutes late, sorry.", -31: "Running about 35 minutes late, sorry."} {
		v := sampleOrderView(paidAnd(models.TicketPreparing))
		v.Ticket.PromisedAt = evening.Add(time.Duration(minutes) * time.Minute)
		if got := lateText(inEnglish, v); got != want {
			t.Errorf("promised in %d minutes: %q, want %q", minutes, got, want)
		}
	}
}

func TestCancelText(t *testing.T) {
	for _, c := range []struct{ by, why, want string }{
		{"customer", "x", "You cancelled this order."},
		{"shop", "hold_lapsed", "Sorry, something in your order has just sold out."},
		{"customer", "superseded", "You placed a newer order in place of this one."},
		{"shop", "kitchen_closed", "Sorry, the kitchen had closed when your payment arrived."},
		{"staff:4", "No chicken today", "Sorry, the restaurant had to cancel it: No chicken today"},
		{"shop", "some_new_code", "Sorry, the restaurant had to cancel it."},
	} {
		o := sampleOrder()
		o.CancelledBy, o.CancelReason = &c.by, &c.why
		if got := cancelText(inEnglish, OrderView{Order: o}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.by, c.why, got, c.want)
		}
	}
}

// A part is named with the whole, with the reason and what it consists of; it is called back only once Razorpay says processed.
func TestPartRefundOnTheOrderPage(t *testing.T) {
	for status, want := range map[string]string{
		"requested": "₹252.53 of ₹1,359.00 goes back to you: The curry was cold", "submitted": "₹252.53 of ₹1,359.00 goes back to you: The curry was cold",
		"processed": "₹252.53 of ₹1,359.00 went back to you: The curry was cold", "failed": "₹252.53 of ₹1,359.00 is to go back to you: The curry was cold",
	} {
		root := parse(t, render(t, OrderPage(sampleOrderView(partlyBack(status)))))
		if got := firstText(root, "refund-part"); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		if got := firstText(root, "share-total"); got != "₹252.53" {
			t.Errorf("%s: parts come to %q", status, got)
		}
		label := map[string]string{"failed": "paid"}[status]
		if label == "" {
			label = "partially_refunded"
		}
		if got := attr(mustFind(t, root, "order"), "data-money"); got != label {
			t.Errorf("%s: money is %q", status, got)
		}
	}
	whole := sampleOrderView(givenBack("requested"))
	if got := byTestID(parse(t, render(t, OrderPage(whole))), "refund-part"); len(got) != 0 {
		t.Error("all of it is called a part")
	}
}

// TestOrderPageMoneyWords keeps, word for word, what the page says in each state: what is known, what happens next, by when, and what
// happens if not. Run with -update after a change that was meant, and read the difference.
func TestOrderPageMoneyWords(t *testing.T) {
	samples := sampleOrders()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		root := parse(t, render(t, OrderPage(sampleOrderView(samples[name]))))
		b.WriteString("== " + name + "\n" + textOf(all(root, func(n *html.Node) bool { return n.Data == "header" })[0]) + "\n")
		for _, section := range all(root, func(n *html.Node) bool {
			return n.Data == "section" && (attr(n, "aria-label") == "Payment" || attr(n, "aria-labelledby") == "r-h")
		}) {
			b.WriteString(textOf(section) + "\n")
		}
		b.WriteString("\n")
	}
	path := filepath.Join("testdata", "order_words.txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, kept := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for n := range max(len(got), len(kept)) {
		if n >= len(got) || n >= len(kept) || got[n] != kept[n] {
			t.Fatalf("line %d of %s differs:\n got %q\nwant %q", n+1, path, got[min(n, len(got)-1)], kept[min(n, len(kept)-1)])
		}
	}
}

// india.md 5.3: working days leave out Saturdays and Sundays; 30 Nov 2026 is a Monday.
func TestRefundDue(t *testing.T) {
	for _, c := range []struct {
		method, from, due string
	}{
		{"upi", "2026-11-30T19:45:00+05:30", "9 Dec 2026"}, {"card", "2026-11-30T19:45:00+05:30", "14 Dec 2026"}, {"netbanking", "2026-11-30T19:45:00+05:30", "14 Dec 2026"},
		{"wallet", "2026-11-30T19:45:00+05:30", "3 Dec 2026"}, {"", "2026-11-30T19:45:00+05:30", "9 Dec 2026"}, {"wallet", "2026-12-04T23:59:00+05:30", "9 Dec 2026"},
		{"wallet", "2026-12-05T12:00:00+05:30", "9 Dec 2026"}, {"wallet", "2026-12-06T18:29:00Z", "9 Dec 2026"}, {"wallet", "2026-12-06T18:31:00Z", "10 Dec 2026"},
	} {
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := day(inEnglish, refundDue(c.method, from)); got != c.due {
			t.Errorf("%s from %s: %s, want %s", c.method, c.from, got, c.due)
		}
	}
}

// The Reserve Bank's T + 5 days count calendar days in India, T being the day of the payment.
func TestReversal(t *testing.T) {
	for _, c := range []struct{ method, paid, now, says string }{
		{"upi", "2026-11-30T23:59:00+05:30", "2026-11-30T23:59:30+05:30", "by 5 Dec 2026 at the latest, by the Reserve Bank's rule. After that your bank owes you ₹100"},
		{"card", "2026-11-30T18:31:00Z", "2026-12-01T00:02:00+05:30", "by 6 Dec 2026 at the latest"}, // past midnight in India
		{"upi", "2026-11-30T12:00:00+05:30", "2026-12-05T23:59:00+05:30", "comes back by itself, by 5 Dec 2026"},
		{"upi", "2026-11-30T12:00:00+05:30", "2026-12-06T00:00:00+05:30", "had to put it back by 5 Dec 2026"},
		{"", "2026-11-30T12:00:00+05:30", "2026-11-30T12:00:00+05:30", "for UPI and cards by 5 Dec 2026"},
		{"netbanking", "2026-11-30T12:00:00+05:30", "2026-11-30T12:00:00+05:30", "Ask your bank if it is not there by 5 Dec 2026."},
		{"wallet", "2026-11-30T12:00:00+05:30", "2026-12-20T12:00:00+05:30", "Ask your bank if it is not there by 5 Dec 2026."},
	} {
		paid, err := time.Parse(time.RFC3339, c.paid)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := reversal(inEnglish, c.method, paid, now); !strings.Contains(got, c.says) || (c.method == "netbanking" || c.method == "wallet") == strings.Contains(got, "₹100") {
			t.Errorf("%s paid %s, now %s: %s", c.method, c.paid, c.now, got)
		}
	}
}

// The page is told when its words change by the clock alone, and at that moment they do.
func TestTurnsAt(t *testing.T) {
	said := func(v OrderView, now time.Time) string {
		v.Page.Now = now
		state := OrderState(v, now)
		if state == StateSlow || state == StateLapsed {
			return state + confirmEnd(inEnglish, v)
		}
		return state + statusSentence(inEnglish, v)
	}
	for name, c := range map[string]struct {
		change func(*OrderView)
		turns  bool
	}{
		"unpaid": {nil, true}, "failed": {sampleOrders()["failed"], true}, "confirming": {sampleOrders()["confirming"], true}, "slow": {sampleOrders()["slow"], true}, "lapsed": {sampleOrders()["lapsed"], true},
		"paid": {sampleOrders()["paid"], true}, "preparing": {sampleOrders()["preparing"], true}, "late": {sampleOrders()["late"], true},
		"handed over": {sampleOrders()["handed_over"], false}, "expired": {sampleOrders()["expired"], false}, "cancelled": {sampleOrders()["cancelled"], false}, "past its end": {sampleOrders()["slow_past_the_end"], false},
	} {
		v := sampleOrderView(c.change)
		at := turnsAt(v)
		if at.IsZero() == c.turns {
			t.Errorf("%s: turns at %s", name, at)
			continue
		}
		if c.turns && (said(v, at.Add(-2*time.Millisecond)) != said(v, v.Page.Now) || said(v, at) == said(v, at.Add(-2*time.Millisecond))) {
			t.Errorf("%s: at %s it says\n%s\nbefore\n%s", name, at, said(v, at), said(v, v.Page.Now))
		}
		if got := turnsIn(v); c.turns && got == "" || !c.turns && got != "" {
			t.Errorf("%s: in %q ms", name, got)
		}
	}
}
