package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tiffin/razorpay/standin"
)

// FaultPoints are the places in the shop's code where it can be told to kill itself. A test compares them with the code.
var FaultPoints = []string{
	"place.before_commit", "place.after_commit", "claim.after_commit", "create.answered", "attach.after_commit",
	"hook.before_insert", "hook.after_insert", "worker.after_lease", "record.mid_tx", "record.after_commit",
	"refund.after_lease", "refund.answered_before_save", "mail.sent_before_mark",
}

// seldom are those that few lives come to: they are drawn more often.
var seldom = []string{"record.mid_tx", "record.after_commit", "refund.after_lease", "refund.answered_before_save", "refund.after_lease", "refund.answered_before_save", "mail.sent_before_mark", "mail.sent_before_mark"}

// Schedule is one round as data: who does what, after which pause, and what breaks when. It follows from the seed and from nothing that
// happens in the round. Where a move needs something that is only known then, such as a payment to refund, the number it picks by is drawn here.
type Schedule struct {
	Seed       uint64
	Gateway    standin.Settings
	RetryScale int64      // how many times faster than the real one the gateway sends a webhook again
	Lives      [][]string // for each server, where its lives end by themselves, one after the other: point:count, or "" for a life without
	Endpoints  []int      // the servers the gateway sends webhooks to
	Customers  int
	Tracks     []track
	PowerCut   bool // the fault-filled part ends with a power cut, or else with an orderly stop
	HeldNever  bool // webhooks held back then are never sent
}

// track is what one person or thing does, one move after the other; all tracks run at once.
type track struct {
	who   string
	moves []move
}

type move struct {
	after time.Duration // the pause before it
	says  string
	do    func(context.Context, *round)
}

// String is the schedule as it is printed: two rounds that print the same were asked to do the same.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n  gateway: %s\n", s.Seed, describe(s.Gateway, s.RetryScale))
	for i, lives := range s.Lives {
		said := make([]string, len(lives))
		for n, at := range lives {
			if said[n] = at; at == "" {
				said[n] = "-"
			}
		}
		fmt.Fprintf(&b, "  server %d: its lives end at %s\n", i, strings.Join(said, ", "))
	}
	fmt.Fprintf(&b, "  webhooks to servers %v; held ones are %s; then %s\n", s.Endpoints,
		map[bool]string{true: "never sent", false: "sent in the end"}[s.HeldNever], map[bool]string{true: "a power cut", false: "an orderly stop"}[s.PowerCut])
	for _, t := range s.Tracks {
		fmt.Fprintf(&b, "  %s\n", t.who)
		for _, m := range t.moves {
			fmt.Fprintf(&b, "    +%-6s %s\n", m.after, m.says)
		}
	}
	return b.String()
}

func describe(s standin.Settings, retryScale int64) string {
	return fmt.Sprintf("receipts %s, a second payment is %s, refunds pending %t, lists lag %s, refunds' list %s, captured after %s, extra keys %t, odd shapes %t, bare contacts %t, retries %d times as fast",
		s.ReceiptMode, s.SecondPayment, s.PendingRefunds, s.ListLag, s.RefundsLag, s.CaptureDelay, s.ExtraKeys, s.FlipShapes, s.BareContact, retryScale)
}

// Draw makes the schedule of a seed.
func Draw(seed uint64) Schedule {
	d := &drawer{rng: rand.New(rand.NewPCG(seed, 0x746f7274757265))}
	servers := 1 + d.upTo(2)
	s := Schedule{Seed: seed, Customers: 3 + d.upTo(3), RetryScale: oneOf[int64](d, 1000, 1000, 100), PowerCut: d.percent(75), HeldNever: d.percent(50)}
	s.Gateway = standin.Settings{
		ReceiptMode:    oneOf(d, standin.ReceiptAllow, standin.ReceiptRejectWithOrder, standin.ReceiptReject, standin.ReceiptReturnSame),
		SecondPayment:  oneOf(d, standin.SecondRefunded, standin.SecondCaptured, standin.SecondCaptured),
		PendingRefunds: d.percent(33), RefundDelay: time.Hour, ListLag: time.Duration(d.upTo(3)) * time.Minute, RefundsLag: time.Duration(d.upTo(2)) * time.Minute,
		CaptureDelay: oneOf(d, 0, 0, 0, 90*time.Second), ExtraKeys: d.percent(50), FlipShapes: d.percent(50), BareContact: d.percent(50),
	}
	for range servers {
		lives := make([]string, 4)
		for n := range lives {
			if d.percent(90) {
				lives[n] = fmt.Sprintf("%s:%d", oneOf(d, slices.Concat(FaultPoints, seldom)...), oneOf(d, 1, 1, 1, 2, 3))
			}
		}
		s.Lives = append(s.Lives, lives)
	}
	s.Endpoints = oneOf(d, []int{0}, []int{servers - 1}, []int{0, servers - 1}[:servers])
	d.servers, d.customers = servers, s.Customers
	for i := range s.Customers {
		s.Tracks = append(s.Tracks, d.customer(i))
	}
	s.Tracks = append(s.Tracks, d.kitchen(), d.desk(), d.office(), d.calls(), d.messages(), d.bank(), d.forger(), d.operator(), d.clock())
	return s
}

// drawer draws schedules. Nothing of it is there when a round runs.
type drawer struct {
	rng                *rand.Rand
	servers, customers int
}

func (d *drawer) upTo(n int) int        { return d.rng.IntN(n) }
func (d *drawer) percent(p int) bool    { return d.rng.IntN(100) < p }
func (d *drawer) pick() int             { return d.rng.IntN(1 << 20) }
func (d *drawer) server() int           { return d.rng.IntN(d.servers) }
func oneOf[T any](d *drawer, of ...T) T { return of[d.rng.IntN(len(of))] }

// within is a pause of up to most, in whole milliseconds.
func (d *drawer) within(most time.Duration) time.Duration {
	return time.Duration(d.rng.Int64N(int64(most/time.Millisecond)+1)) * time.Millisecond
}

// shops are the servers that clicks go to, one each.
func (d *drawer) shops(clicks int) []int {
	at := make([]int, clicks)
	for i := range at {
		at[i] = d.server()
	}
	return at
}

// builder collects the moves of one track.
type builder struct {
	track
	d    *drawer
	most time.Duration // of the pauses between moves
}

func (b *builder) add(do func(context.Context, *round), says string, args ...any) {
	b.moves = append(b.moves, move{b.d.within(b.most), fmt.Sprintf(says, args...), do})
}

// customer is one browser without script: it orders once or more, presses twice, changes its mind, pays well, badly, twice, and tells the
// truth or not.
func (d *drawer) customer(i int) track {
	b := &builder{track{who: fmt.Sprintf("customer %d", i), moves: nil}, d, 120 * time.Millisecond}
	for meal := range 1 + d.upTo(3) {
		b.fill(i, meal > 0)
		b.press(i)
		if d.percent(15) { // ordered again before paying: the first order is superseded
			b.open(i)
			b.fill(i, true)
			b.press(i)
		}
		b.open(i)
		if d.percent(8) {
			b.add(func(ctx context.Context, r *round) { r.customers[i].forge(ctx, 0) }, "reports a payment that was never made")
		}
		if d.percent(8) {
			b.cancel(i)
		}
		if d.percent(10) {
			continue // gone
		}
		b.pay(i)
		b.report(i)
		if d.percent(25) {
			b.cancel(i)
		}
		if d.percent(12) {
			b.pay(i) // another time, on whatever was handed out
			b.report(i)
		}
	}
	return b.track
}

func (b *builder) fill(i int, more bool) {
	dish, qty, at := oneOf(b.d, "chicken-tikka", "samosa", "dal-makhani", "rasmalai", "chicken-tikka"), 1+b.d.upTo(3), b.d.server()
	if !more || dish == "samosa" {
		qty++ // enough for the least that is delivered
	}
	b.add(func(ctx context.Context, r *round) { r.customers[i].fill(ctx, at, dish, qty) }, "has %d %s in the cart (server %d)", qty, dish, at)
}

func (b *builder) press(i int) {
	at := b.d.shops(oneOf(b.d, 1, 1, 2, 2, 3))
	way, letters := oneOf(b.d, "delivery", "delivery", "pickup"), b.d.percent(80)
	b.add(func(ctx context.Context, r *round) { r.customers[i].press(ctx, at, way, letters) }, "presses Pay at once at servers %v (%s, letters %t)", at, way, letters)
}

func (b *builder) open(i int) {
	at := b.d.shops(oneOf(b.d, 1, 1, 1, 2, 3))
	b.add(func(ctx context.Context, r *round) { r.customers[i].open(ctx, at) }, "opens the payment at servers %v", at)
}

func (b *builder) cancel(i int) {
	at, which := b.d.shops(oneOf(b.d, 1, 1, 2)), b.d.pick()
	b.add(func(ctx context.Context, r *round) { r.customers[i].cancel(ctx, at, which) }, "cancels order %d at servers %v", which, at)
}

// attempts are what a customer may do at the bank; the first weighs most.
var attempts = []struct {
	weight int
	fault  string // what it counts as; "": nothing is wrong with it
	what   attempt
}{
	{60, "", attempt{}},
	{8, "payment fails", attempt{PayParams: standin.PayParams{Outcome: standin.FailNow}}},
	{6, "bank does not answer", attempt{PayParams: standin.PayParams{Outcome: standin.Pend}}},
	{6, "failed payment succeeds later", attempt{PayParams: standin.PayParams{Outcome: standin.FailThenLate, After: 2 * time.Minute}}},
	{3, "failed payment succeeds much later", attempt{PayParams: standin.PayParams{Outcome: standin.FailThenLate, After: 70 * time.Minute}}},
	{4, "authorised and never captured", attempt{PayParams: standin.PayParams{Outcome: standin.AuthorizeOnly}}},
	{4, "wrong amount", attempt{PayParams: standin.PayParams{AmountPaise: 12345}}},
	{2, "wrong currency", attempt{PayParams: standin.PayParams{Currency: "USD"}}},
	{3, "customer bears the fee", attempt{bearsFee: true}},
	{12, "paid twice", attempt{times: 2}},
}

func (b *builder) pay(i int) {
	total := 0
	for _, a := range attempts {
		total += a.weight
	}
	at, which := b.d.upTo(total), b.d.pick()
	for _, a := range attempts {
		if at -= a.weight; at >= 0 {
			continue
		}
		says := a.fault
		if says == "" {
			says = "pays"
		}
		b.add(func(ctx context.Context, r *round) { r.customers[i].pay(ctx, a.what, a.fault, which) }, "at the bank: %s (order %d)", says, which)
		return
	}
}

func (b *builder) report(i int) {
	d := b.d
	if d.percent(15) {
		other, at := d.upTo(d.customers), d.server()
		b.add(func(ctx context.Context, r *round) { r.customers[i].forge(ctx, at) }, "reports it with a forged signature (server %d)", at)
		b.add(func(ctx context.Context, r *round) { r.customers[i].stealSlip(ctx, at, other) }, "reports a payment of customer %d's order (server %d)", other, at)
	}
	at, form := d.shops(oneOf(d, 0, 1, 1, 1, 2, 3)), d.percent(40)
	if len(at) == 0 {
		b.add(func(_ context.Context, r *round) { r.tally.add("browser gone after paying") }, "is gone after paying")
		return
	}
	b.add(func(ctx context.Context, r *round) { r.customers[i].report(ctx, at, form) }, "reports the payment to servers %v (form %t)", at, form)
	b.add(func(ctx context.Context, r *round) { r.customers[i].look(ctx, at[0]) }, "looks at the order")
}

// kitchen is a tablet on the wall: tickets on, back, off; dishes off and on; now and then closed.
func (d *drawer) kitchen() track {
	b := &builder{track{who: "kitchen"}, d, 220 * time.Millisecond}
	b.add(func(ctx context.Context, r *round) { r.kitchen.signIn(ctx, kitchenLogin) }, "signs in")
	for range 10 + d.upTo(6) {
		which, at := d.pick(), d.shops(oneOf(d, 1, 1, 1, 2))
		switch n := d.upTo(100); {
		case n < 55:
			b.add(func(ctx context.Context, r *round) { r.kitchen.bump(ctx, at, which) }, "moves ticket %d on, at servers %v", which, at)
		case n < 62:
			b.add(func(ctx context.Context, r *round) { r.kitchen.recall(ctx, at[0], which) }, "takes ticket %d back", which)
		case n < 80:
			b.add(func(ctx context.Context, r *round) { r.kitchen.cancel(ctx, at, which) }, "cancels order %d, at servers %v", which, at)
		case n < 90:
			dish := oneOf(d, "chicken-tikka", "samosa", "rasmalai")
			b.add(func(ctx context.Context, r *round) { r.kitchen.switchDish(ctx, at[0], dish, "tomorrow") }, "takes %s off the menu", dish)
			b.add(func(ctx context.Context, r *round) { r.kitchen.switchDish(ctx, at[0], dish, "on") }, "puts %s back", dish)
		case n < 97:
			b.add(func(ctx context.Context, r *round) { r.kitchen.setOpen(ctx, at[0], "") }, "pauses orders")
			b.add(func(ctx context.Context, r *round) { r.kitchen.setOpen(ctx, at[0], "1") }, "takes orders again")
		}
	}
	if d.percent(10) {
		b.add(func(ctx context.Context, r *round) { r.kitchen.closeDown(ctx, 0) }, "closes the kitchen for the day")
	}
	return b.track
}

// desk is whoever of the staff minds the money: gives parts and all of it back, and works off the attention list.
func (d *drawer) desk() track {
	b := &builder{track{who: "desk"}, d, 600 * time.Millisecond}
	b.add(func(ctx context.Context, r *round) { r.desk.signIn(ctx, deskLogin) }, "signs in")
	for range 4 + d.upTo(4) {
		which, at := d.pick(), d.shops(oneOf(d, 1, 2, 2))
		switch d.upTo(3) {
		case 0, 1:
			share, times := oneOf(d, 10, 25, 50, 100), oneOf(d, 1, 2, 3)
			b.add(func(ctx context.Context, r *round) { r.desk.refund(ctx, times, which, share) }, "gives back %d %% of what is left of order %d, %d times at once", share, which, times)
		default:
			b.add(func(ctx context.Context, r *round) { r.desk.attend(ctx, at, which) }, "does what task %d asks for, at servers %v", which, at)
		}
	}
	return b.track
}

// office changes prices and stock while orders are on their way.
func (d *drawer) office() track {
	b := &builder{track{who: "office"}, d, 900 * time.Millisecond}
	for range 2 + d.upTo(3) {
		switch d.upTo(3) {
		case 0:
			dish, by := oneOf(d, "samosa", "dal-makhani", "chicken-tikka"), 100*(1+d.upTo(9))
			b.add(func(ctx context.Context, r *round) {
				r.change(ctx, "price changed", `UPDATE items SET price_paise = price_paise + $1 WHERE slug = $2`, by, dish)
			}, "%s costs %d paise more", dish, by)
		case 1:
			by := 1 + d.upTo(2)
			b.add(func(ctx context.Context, r *round) {
				r.change(ctx, "stock changed", `UPDATE stock SET initial = initial + $1`, by)
			}, "%d more of every limited dish", by)
		default:
			b.add(func(ctx context.Context, r *round) {
				r.change(ctx, "stock changed", `UPDATE stock SET initial = held + sold`)
			}, "nothing is left of any limited dish")
		}
	}
	return b.track
}

// calls spoils the shop's calls to the gateway.
func (d *drawer) calls() track {
	b := &builder{track{who: "calls to the gateway"}, d, 500 * time.Millisecond}
	if d.percent(50) { // for good: a person has to ask again
		f := standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Times: 1 + d.upTo(2), Skip: d.upTo(2), Kind: standin.Refuse, Refusal: "refund_six_months"}
		b.add(func(_ context.Context, r *round) { r.gateway.Inject(f) }, "%s %s: refuse with %s, %d times after %d", f.Method, f.Path, f.Refusal, f.Times, f.Skip)
	}
	for range 5 + d.upTo(4) {
		call := oneOf(d, [2]string{"POST", "/v1/orders"}, [2]string{"POST", "/v1/orders"}, [2]string{"POST", "/v1/payments/*/refund"}, [2]string{"GET", "/v1/payments/*"},
			[2]string{"GET", "/v1/orders/*/payments"}, [2]string{"GET", "/v1/orders"}, [2]string{"GET", "/v1/payments/*/refunds"}, [2]string{"GET", "/v1/refunds/*"})
		f := standin.Fault{Method: call[0], Path: call[1], Times: 1 + d.upTo(3), Skip: d.upTo(2),
			Kind: oneOf(d, standin.Drop, standin.Drop, standin.HTML502, standin.Empty200, standin.EmptyObject, standin.Truncate, standin.Reset, standin.Refuse, standin.Refuse, standin.Delay, standin.Stall)}
		says := string(f.Kind)
		switch f.Kind {
		case standin.Refuse:
			f.Refusal = oneOf(d, "rate_limited", "server_error", "operation_in_progress", "auth_failed", "gateway_error")
			says = "refuse with " + f.Refusal
		case standin.Delay:
			f.For = 50*time.Millisecond + d.within(300*time.Millisecond)
			says = "delay by " + f.For.String()
		case standin.HTML502, standin.Reset, standin.Empty200:
			if call[0] == "POST" && d.percent(60) {
				f.Late = d.within(300 * time.Second)
				says += ", done " + f.Late.String() + " later"
			}
		}
		b.add(func(_ context.Context, r *round) { r.gateway.Inject(f) }, "%s %s: %s, %d times after %d", call[0], call[1], says, f.Times, f.Skip)
	}
	return b.track
}

// messages spoils the gateway's webhooks.
func (d *drawer) messages() track {
	b := &builder{track{who: "webhooks"}, d, 450 * time.Millisecond}
	for range 4 + d.upTo(4) {
		f := standin.WebhookFault{Event: oneOf(d, "", "", "payment.captured", "order.paid", "refund.*", "payment.failed"), Times: 1 + d.upTo(4)}
		says := ""
		switch d.upTo(6) {
		case 0:
			f.Hold, says = true, "held"
		case 1:
			f.Lose, says = true, "lost"
		case 2:
			f.Copies, says = 1+d.upTo(3), "copied"
		case 3:
			f.Reorder, says = 2+d.upTo(3), "reordered"
		case 4:
			f.Delay, says = d.within(4*time.Minute)+time.Second, "delayed"
		default:
			f.Sign = oneOf(d, standin.SignForged, standin.SignPrevious, standin.SignKeySecret, standin.SignNone)
			says = "signed " + f.Sign
		}
		b.add(func(_ context.Context, r *round) { r.gateway.SpoilWebhooks(f) }, "%d of %q: %s", f.Times, f.Event, says)
		if which := d.pick(); d.percent(40) {
			b.add(func(ctx context.Context, r *round) { r.deliverAgain(ctx, which) }, "event %d is sent again", which)
		}
		if d.percent(30) {
			b.add(func(_ context.Context, r *round) { r.gateway.Release() }, "what is held is sent, shuffled")
		}
	}
	return b.track
}

// bank is everything that happens to money without the shop: the bank's late answers, the dashboard's buttons, refunds that fail.
func (d *drawer) bank() track {
	b := &builder{track{who: "bank and dashboard"}, d, 500 * time.Millisecond}
	for range 5 + d.upTo(4) {
		which := d.pick()
		switch n := d.upTo(100); {
		case n < 25:
			b.add(func(ctx context.Context, r *round) { r.decideLate(ctx, which) }, "says yes to failed or open payment %d", which)
		case n < 33:
			b.add(func(ctx context.Context, r *round) { r.sayNo(ctx, which) }, "says no to open payment %d", which)
		case n < 50:
			b.add(func(ctx context.Context, r *round) { r.refundOutside(ctx, which, true) }, "refund of all that is left of payment %d in the dashboard", which)
		case n < 62:
			b.add(func(ctx context.Context, r *round) { r.refundOutside(ctx, which, false) }, "refund of a part of payment %d in the dashboard", which)
		case n < 80:
			b.add(func(ctx context.Context, r *round) { r.failRefund(ctx, which) }, "refund %d fails after all", which)
		case n < 88:
			b.add(func(ctx context.Context, r *round) { r.captureOrReturn(ctx, which) }, "authorised payment %d is captured, or given back", which)
		case n < 94:
			b.add(func(_ context.Context, r *round) { r.lowBalance(true) }, "no balance to refund from")
			b.add(func(_ context.Context, r *round) { r.lowBalance(false) }, "balance again")
		case n < 98:
			b.add(func(ctx context.Context, r *round) { r.dispute(ctx, which) }, "payment %d is disputed", which)
		default:
			b.add(func(ctx context.Context, r *round) { r.strayOrder(ctx, which) }, "money with the shop's marks, of no order of its own (%d)", which)
		}
	}
	return b.track
}

// forger sends what the gateway never sent.
func (d *drawer) forger() track {
	b := &builder{track{who: "forger"}, d, 500 * time.Millisecond}
	for range 4 + d.upTo(3) {
		how, which, at := oneOf(d, forgeries...), d.pick(), d.server()
		b.add(func(ctx context.Context, r *round) { r.forgeWebhook(ctx, at, how, which) }, "sends server %d %s (event %d)", at, how, which)
	}
	return b.track
}

// operator is power, processes and disks.
func (d *drawer) operator() track {
	b := &builder{track{who: "operator"}, d, 450 * time.Millisecond}
	for range 6 + d.upTo(4) {
		at := d.server()
		switch n := d.upTo(100); {
		case n < 26:
			b.add(func(_ context.Context, r *round) { r.servers[at].kill(killedAtRandom) }, "kills server %d", at)
		case n < 40:
			call := oneOf(d, "/v1/orders", "/v1/payments/*/refund", "/v1/payments/*")
			b.add(func(ctx context.Context, r *round) { r.killWhileCalling(ctx, call) }, "kills all servers while the gateway holds a call to %s", call)
		case n < 56:
			by, pause := time.Duration(61+d.upTo(30))*time.Second, 60*time.Millisecond+d.within(200*time.Millisecond)
			b.add(func(ctx context.Context, r *round) { r.pauseServer(ctx, at, by, pause) }, "server %d stands still for %s, in the shop's time %s: past every lease", at, pause, by)
		case n < 64:
			b.add(func(_ context.Context, r *round) { r.servers[at].deploy() }, "deploys server %d anew", at)
		case n < 72:
			b.add(func(ctx context.Context, r *round) { r.restartDatabase(ctx, false) }, "restarts the database")
		case n < 80:
			b.add(func(ctx context.Context, r *round) { r.restartDatabase(ctx, true) }, "kills the database")
		case n < 88:
			b.add(func(ctx context.Context, r *round) { r.cutConnections(ctx) }, "cuts every connection to the database")
		case n < 95:
			b.add(func(_ context.Context, r *round) { r.takeMailAway() }, "the folder for letters is gone")
			b.add(func(_ context.Context, r *round) { r.bringMailBack() }, "the folder for letters is back")
		default:
			b.add(func(_ context.Context, r *round) { r.rotateSecret() }, "a new webhook secret, in the dashboard and with a deploy of all servers")
		}
	}
	return b.track
}

// clock lets time pass, which is also when sweeps run.
func (d *drawer) clock() track {
	b := &builder{track{who: "clock"}, d, 350 * time.Millisecond}
	for range 6 + d.upTo(4) {
		by := oneOf(d, 5*time.Second, 15*time.Second, 40*time.Second, 70*time.Second, 130*time.Second, 400*time.Second)
		b.add(func(ctx context.Context, r *round) { r.passTime(ctx, by) }, "%s pass", by)
	}
	return b.track
}
