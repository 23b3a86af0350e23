//go:build e2e

package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// pictures has the screens written to docs/screens, for the README and for whoever wants to see what a change does to them.
var pictures = flag.Bool("screens", false, "write docs/screens")

// axeScript is the accessibility checker; scripts/setup fetches it with npm.
const axeScript = "testdata/axe/node_modules/axe-core/axe.min.js"

// finding is what axe says of one rule.
type finding struct {
	ID, Help string
	Nodes    []struct {
		Target         []any
		HTML           string
		FailureSummary string
	}
}

// checker looks at screens: by axe in both colour schemes on phone and desk, for sideways scroll on the narrowest phone, and with the eye,
// when pictures are asked for.
type checker struct {
	t   *testing.T
	axe string
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	script, err := os.ReadFile(axeScript)
	if err != nil {
		t.Fatalf("%v: run scripts/setup npm", err)
	}
	return &checker{t: t, axe: string(script)}
}

// pictured are the screens worth a picture; the others are only checked.
var pictured = []string{"menu", "dish", "cart", "checkout", "pay", "pay-failed", "checkout-later", "order-later", "board-later", "order", "order-refund", "order-failed", "order-slow", "order-expired", "board", "staff-order",
	"order-refund-part", "staff-refund", "staff-refund-review", "staff-timeline", "staff-attention", "staff-audit", "staff-outlet", "checkout-cash", "order-due", "order-shortage", "staff-shortage", "board-shortage", "hi-menu", "hi-checkout", "hi-order",
	"complaint-new", "complaint", "review", "staff-ticket", "sign-in", "account",
	"staff-coupons", "staff-coupon-wrong", "staff-zones", "staff-zone", "staff-times", "staff-categories", "order-push"}

// look checks the page a tab shows now.
func (c *checker) look(b *tab, name string) {
	c.t.Helper()
	began := time.Now()
	read[chromedp.Void](b, c.axe)
	for _, s := range []screen{phone, desk} {
		b.resize(s)
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			b.frame()
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]finding](`axe.run(document, {resultTypes: ['violations'],
				runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => r.violations)`, chromedp.EvalAwaitPromise))
			b.must("axe", err)
			for _, f := range found {
				for _, n := range f.Nodes {
					c.t.Errorf("%s at %d px, %s: %s (%s)\n%v %s\n%s", name, s.width, scheme, f.Help, f.ID, n.Target, n.HTML, n.FailureSummary)
				}
			}
			if boxes := read[[]string](b, spilling); len(boxes) > 0 {
				c.t.Errorf("%s at %d px: content sticks out of %q", name, s.width, boxes)
			}
			if *pictures && slices.Contains(pictured, name) {
				c.picture(b, fmt.Sprintf("%s-%d-%s", name, s.width, scheme))
			}
		}
	}
	b.prefer("light")
	b.resize(screen{320, 640, false})
	b.frame()
	if wide := read[[]string](b, sideways); len(wide) > 0 {
		c.t.Errorf("%s scrolls sideways at 320 px: %q", name, wide)
	}
	b.resize(phone)
	c.t.Logf("%s looked at in %s", name, time.Since(began).Round(10*time.Millisecond))
}

// sideways names what sticks out of a page that can be scrolled sideways.
const sideways = `document.documentElement.scrollWidth <= innerWidth ? [] : [document.documentElement.scrollWidth + ' px',
	...[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 150))]`

// spilling names boxes whose content sticks out of them, as cards do that were given too little room.
const spilling = `[...document.querySelectorAll('.card, .panel, .ticket, .dish, .line, .msg, .btn, .chip, dialog')]
	.filter(e => e.checkVisibility() && e.clientWidth && e.scrollWidth > e.clientWidth + 1).slice(0, 5).map(e => e.className + ': ' + e.textContent.trim().slice(0, 60))`

// mostPicture is what one picture in the repository may weigh.
const mostPicture = 120 << 10

// picture writes what the tab shows to docs/screens, in at most 256 colours.
func (c *checker) picture(b *tab, name string) {
	c.t.Helper()
	shot := send(b, browserpage.CaptureScreenshot, browserpage.CaptureScreenshotParams{})
	full, err := png.Decode(bytes.NewReader(shot.Data))
	must(c.t, err)
	var small bytes.Buffer
	must(c.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, reduce(full)))
	if small.Len() > mostPicture {
		c.t.Errorf("the picture %s has %d bytes", name, small.Len())
	}
	dir := filepath.Join("..", "..", "docs", "screens")
	must(c.t, os.MkdirAll(dir, 0o755))
	must(c.t, os.WriteFile(filepath.Join(dir, name+".png"), small.Bytes(), 0o644))
}

// reduce paints a picture in the 256 colours that fit it best: of all boxes of colours the one with the most paint far from its mean is
// cut there, until there are enough, and each is painted in its mean.
func reduce(full image.Image) *image.Paletted {
	type shade struct {
		c [3]int
		n int
	}
	counts, bounds := map[[3]int]int{}, full.Bounds()
	each := func(do func(x, y int, c [3]int)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				r, g, b, _ := full.At(x, y).RGBA()
				do(x, y, [3]int{int(r >> 8), int(g >> 8), int(b >> 8)})
			}
		}
	}
	each(func(_, _ int, c [3]int) { counts[c]++ })
	var all []shade
	for c, n := range counts {
		all = append(all, shade{c, n})
	}
	// spread is how far, in squares, the paint of a box lies from its mean along its widest side.
	spread := func(box []shade) (side, mean, squares int) {
		for s := range 3 {
			sum, total := 0, 0
			for _, e := range box {
				sum, total = sum+e.c[s]*e.n, total+e.n
			}
			m, q := sum/total, 0
			for _, e := range box {
				q += (e.c[s] - m) * (e.c[s] - m) * e.n
			}
			if q > squares {
				side, mean, squares = s, m, q
			}
		}
		return side, mean, squares
	}
	boxes, spreads := [][]shade{all}, []int{1}
	for len(boxes) < 256 {
		pick := 0
		for i := range boxes {
			if spreads[i] > spreads[pick] {
				pick = i
			}
		}
		box := boxes[pick]
		side, mean, squares := spread(box)
		if squares == 0 {
			break // every colour has a box of its own
		}
		var low, high []shade
		for _, e := range box {
			if e.c[side] <= mean {
				low = append(low, e)
			} else {
				high = append(high, e)
			}
		}
		boxes[pick], boxes = low, append(boxes, high)
		_, _, spreads[pick] = spread(low)
		_, _, squares = spread(high)
		spreads = append(spreads, squares)
	}
	var palette color.Palette
	index := map[[3]int]uint8{}
	for i, box := range boxes {
		var sum [3]int
		total := 0
		for _, e := range box {
			for s := range 3 {
				sum[s] += e.c[s] * e.n
			}
			total += e.n
			index[e.c] = uint8(i)
		}
		palette = append(palette, color.RGBA{uint8(sum[0] / total), uint8(sum[1] / total), uint8(sum[2] / total), 255})
	}
	out := image.NewPaletted(bounds, palette)
	each(func(x, y int, c [3]int) { out.SetColorIndex(x, y, index[c]) })
	return out
}

// TestBrowserScreensAreForEverybody goes past every screen there is and wants no finding of axe on any, light or dark, phone or desk, and no
// sideways scroll at 320 pixels.
func TestBrowserScreensAreForEverybody(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	w.gateway.Configure(func(s *standin.Settings) { s.PendingRefunds = true })
	base := w.shop()
	w.tell(base)
	check := newChecker(t)
	b := browse(t, "the customer", base, phone)
	b.prefer("light")

	// The kitchen before its first order, and then an evening's worth of them.
	w.hire("meera")
	s := browse(t, "the kitchen", base, desk)
	s.prefer("light")
	s.open("/staff/login")
	check.look(s, "login")
	s.fill(id("field-login"), "meera")
	s.fill(id("field-password"), staffPassword)
	s.press(id("login"))
	s.at("/staff")
	s.see(id("board"))
	check.look(s, "board-empty")
	w.evening(base)

	// An empty cart, and an error.
	b.open("/cart")
	check.look(b, "cart-empty")
	b.expect("status of 404", "status of 422", "status of 409", "status of 400")
	b.open("/nowhere")
	b.see(id("request-id"))
	check.look(b, "error")

	// From the menu to the pay page.
	b.open("/")
	b.press(dish("dal-makhani", id("add")))
	b.cartSays("1 item")
	b.press(dish("butter-chicken", id("add")))
	b.see("dialog " + id("dish-form"))
	check.look(b, "dish")
	b.press("dialog fieldset:nth-of-type(1) label:nth-of-type(2)")
	b.press(id("add-to-cart"))
	b.hide("dialog")
	b.cartSays("2 items")
	b.open("/menu/thali")
	check.look(b, "dish-page")
	b.open("/")
	check.look(b, "menu")
	b.open("/?filter=1&q=nothing+of+the+kind")
	check.look(b, "menu-no-dish")
	b.open("/?filter=1&jain=1&without=nuts")
	check.look(b, "menu-filtered")
	b.open("/?filter=1")
	b.open("/cart")
	check.look(b, "cart")
	b.open("/checkout")
	for name, text := range map[string]string{"phone": "12345", "pin": "12", "email": "nobody"} {
		b.fill(id("field-"+name), text)
	}
	b.press(id("pay"))
	b.says(id("error-name"), "Please tell us your name.")
	check.look(b, "checkout-errors")
	b.open("/checkout")
	b.address()
	b.fill(id("field-note"), "No onion please, and a nut allergy")
	read[chromedp.Void](b, "document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
	check.look(b, "checkout")
	token := b.pay()
	b.ready()
	b.press(id("standin-fail"))
	b.see(id("standin-error"))
	b.press(id("standin-close"))
	b.press(id("standin-leave"))
	b.see(id("failed-payment"))
	check.look(b, "pay-failed")
	b.open("/pay/" + token)
	b.ready()
	b.press(id("standin-close"))
	b.press(id("standin-leave"))
	b.see(id("closed-window"))
	check.look(b, "pay")
	b.open("/orders/" + token)
	b.is(id("order"), "data-state", "failed")
	check.look(b, "order-failed")

	// Ordering it again, and the editor of a dish.
	b.open("/orders/" + token)
	b.press(id("order-again"))
	b.see(id("again"))
	check.look(b, "cart-again")
	s.open("/staff/menu")
	s.press("[data-slug=thali] " + id("edit-dish"))
	s.see(id("dish-edit"))
	check.look(s, "staff-dish")

	// A kitchen at work.
	b.open("/pay/" + token)
	b.ready()
	b.press(id("standin-succeed"))
	b.isPaid(token)
	s.open("/staff")
	s.says(id("board"), "late")
	s.press("h1") // any tap turns the sound on
	s.hide(id("sound-ask"))
	check.look(s, "board")
	f := w.facts(token)
	order := "/staff/orders/" + strconv.FormatInt(f.id, 10)
	s.open(order)
	check.look(s, "staff-order")
	s.leads("/staff")
	s.open(order + "/cancel")
	check.look(s, "staff-cancel")
	s.open(order + "/refund")
	check.look(s, "staff-refund")
	s.expect("status of 422")
	s.press(id("review"))
	s.says(id("error-what"), "Please choose")
	check.look(s, "staff-refund-errors")
	s.press(`label:has(` + id("what-dishes") + `)`)
	s.choose(id("piece-1"), "1")
	s.fill(id("field-reason"), "the dal was cold")
	s.press(id("review"))
	s.see(id("refund-review"))
	check.look(s, "staff-refund-review")
	s.press(id("refund-yes"))
	s.see(id("refund-row"))
	s.press(id("refund-row") + " summary")
	check.look(s, "staff-order-part")
	b.says(id("refund-part"), "goes back to you: The dal was cold")
	b.press(id("refund") + " summary")
	check.look(b, "order-refund-part")
	s.open("/staff/attention")
	s.see(id("attention-empty"))
	for path, name := range map[string]string{"/staff/menu": "staff-menu", "/staff/attention": "staff-attention-empty"} {
		s.open(path)
		check.look(s, name)
		s.leads("/staff")
	}

	// The order's page, cooked and cancelled.
	for _, move := range [][2]string{{models.TicketQueued, models.TicketAccepted}, {models.TicketAccepted, models.TicketPreparing}} {
		w.move(f.id, move[0], move[1])
	}
	b.is(id("order"), "data-state", "preparing")
	check.look(b, "order")
	s.open(order + "/cancel")
	s.fill(id("field-reason"), "the tandoor has gone out")
	s.press(`label:has(` + id("field-confirm") + `)`)
	s.press(id("cancel-yes"))
	s.see(id("refund-row"))
	check.look(s, "staff-order-cancelled")
	b.is(id("refund"), "data-stage", "submitted")
	check.look(b, "order-refund")

	// The books, and what customers are told of the shop.
	s.open("/staff/audit")
	s.see(id("verdict"))
	check.look(s, "staff-audit")
	s.open("/staff/outlet")
	s.see(id("staff-outlet"))
	check.look(s, "staff-outlet")

	// What waits for a person, and everything that happened to the order.
	w.trouble(f.id)
	s.open("/staff/attention")
	s.see(id("task"))
	check.look(s, "staff-attention")
	s.press(id("task") + `[data-kind="dispute"] ` + id("act"))
	s.at(order + "/timeline")
	s.see(id("timeline-entry"))
	check.look(s, "staff-timeline")
	s.leads(order)
	s.leads(order + "/timeline.json")
	s.open(order)
	s.leads(order + "/timeline")
	s.see(id("dispute-row"))
	check.look(s, "staff-order-disputed")
	s.open("/staff/attention")
	s.press(id("task") + `[data-kind="second_payment"] ` + id("act"))
	s.says(id("notice"), "Taken off the list.")

	// An order that hangs, and one that is over.
	b.toCheckout()
	b.address()
	token = b.pay()
	f = w.facts(token)
	must(t, w.store.Hint(t.Context(), "pay_TstNobodys0001", f.id))
	w.exec(`UPDATE payment_hints SET created_at = created_at - interval '3 minutes', next_attempt_at = created_at + interval '1 hour' WHERE order_id = $1`, f.id)
	b.open("/orders/" + token)
	b.is(id("order"), "data-state", "slow")
	check.look(b, "order-slow")
	w.exec(`UPDATE orders SET hold_expires_at = shop_now() - interval '11 minutes' WHERE id = $1`, f.id)
	must(t, w.store.LapseOrder(t.Context(), f.id))
	b.is(id("order"), "data-state", "expired")
	check.look(b, "order-expired")
}

// trouble puts what rarely happens on the attention list: all at once, about one order.
func (w *town) trouble(orderID int64) {
	w.t.Helper()
	var payment int64
	var paymentID, refundID string
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), `SELECT p.id, p.razorpay_payment_id, r.id FROM payments p JOIN refunds r ON r.payment_id = p.id WHERE p.order_id = $1`, orderID).Scan(&payment, &paymentID, &refundID))
	order, err := w.store.FindOrder(w.t.Context(), orderID)
	must(w.t, err)
	due := time.Now().AddDate(0, 0, 7)
	must(w.t, w.store.InTx(w.t.Context(), func(tx *models.Store) error {
		return tx.RecordDispute(w.t.Context(), models.Dispute{RazorpayDisputeID: "disp_TstAbCdEf00001", PaymentID: payment, OrderID: orderID, AmountPaise: order.AmountPaise, Currency: "INR",
			Status: "open", Phase: "chargeback", ReasonCode: "goods_or_services_not_received", RespondBy: &due})
	}))
	for _, task := range []struct{ kind, ref, detail string }{
		{models.TaskRefundFailed, refundID, "the bank returned it"},
		{models.TaskSecondPayment, paymentID, ""},
		{models.TaskOverdue, "refund " + refundID, "A refund has been with the bank for eleven days."},
	} {
		must(w.t, w.store.OpenTask(w.t.Context(), task.kind, task.ref, &orderID, task.detail))
	}
	must(w.t, w.store.OpenTask(w.t.Context(), models.TaskDeadEvent, "evt_TstAbCdEf0001", nil, "Webhook payment.captured could not be processed: razorpay answered 502"))
}

// exec changes rows as no function of the store does.
func (w *town) exec(text string, args ...any) {
	w.t.Helper()
	_, err := w.store.SQL().ExecContext(w.t.Context(), text, args...)
	must(w.t, err)
}

// leads wants a way to a path that can be seen.
func (b *tab) leads(path string) {
	b.t.Helper()
	b.see(`a[href="` + path + `"]`)
}

// move takes a ticket a step on, as another tablet of the kitchen would.
func (w *town) move(orderID int64, from, to string) {
	w.t.Helper()
	var cook models.Staff
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), `SELECT id, role FROM staff`).Scan(&cook.ID, &cook.Role))
	cook.OutletID, cook.Active = &w.outlet.ID, true
	_, err := w.store.MoveFulfilment(w.t.Context(), orderID, from, to, cook)
	must(w.t, err)
}

// setClock makes the shop's clock run ahead of the real one, or behind it.
func (w *town) setClock(offset time.Duration) {
	w.t.Helper()
	w.advance(offset - w.offset)
}

// evening has more customers order and pay during the last forty minutes, and the kitchen cook some of it.
func (w *town) evening(base string) {
	w.t.Helper()
	for _, o := range []struct {
		ago             time.Duration
		name, note, way string
		dishes          []string
		state           int
		firstDishTwice  bool
	}{
		{52 * time.Minute, "Ravi Menon", "", "pickup", []string{"chicken-tikka", "dal-tadka", "naan"}, 2, false},
		{31 * time.Minute, "Sana Sheikh", "Please ring twice", "delivery", []string{"malai-kofta", "paratha", "mango-lassi"}, 3, true},
		{24 * time.Minute, "Kavya Iyer", "", "delivery", []string{"idli-vada", "curd-vada"}, 2, true},
		{9 * time.Minute, "Farhan Qureshi", "", "pickup", []string{"samosa", "masala-chai"}, 1, true},
		{4 * time.Minute, "Devika Nair", "Peanut allergy, please keep it apart", "delivery", []string{"palak-paneer", "jeera-rice", "garlic-naan"}, 0, false},
		{2 * time.Minute, "Joseph Mathew", "", "pickup", []string{"egg-curry", "paratha"}, 0, true},
	} {
		w.setClock(-o.ago)
		v := w.visitor(&process{t: w.t, url: base})
		for i, slug := range o.dishes {
			menu := v.insist("GET", "/", nil)
			item, _, err := w.store.FindItemBySlug(w.t.Context(), w.outlet.ID, slug)
			must(w.t, err)
			qty := "1"
			if i == 0 && o.firstDishTwice {
				qty = "2"
			}
			v.insist("POST", "/cart", map[string][]string{"_csrf": {fields(menu.body)["_csrf"]}, "item": {strconv.FormatInt(item.ID, 10)}, "seq": {""}, "qty": {"0"}, "set": {qty}})
		}
		form := func(hidden map[string]string) map[string][]string {
			return map[string][]string{"_csrf": {hidden["_csrf"]}, "checkout_key": {hidden["checkout_key"]}, "review": {hidden["review"]}, "way": {o.way}, "phone": {"98450 54321"},
				"name": {o.name}, "email": {""}, "line1": {"12, Rose Garden"}, "line2": {"Double Road"}, "pin": {"560008"}, "directions": {""}, "note": {o.note}}
		}
		var at page
		for hidden := v.review(); !strings.HasPrefix(at.location, "/pay/"); hidden = fields(at.body) {
			if at = v.insist("POST", "/checkout", form(hidden)); at.status != 303 && at.status != 409 {
				w.t.Fatalf("checkout answered %d: %s", at.status, at.body)
			}
		}
		token := strings.TrimPrefix(at.location, "/pay/")
		gatewayOrder := w.facts(token).gateway[0]
		paid, err := w.gateway.Pay(standin.PayParams{OrderID: gatewayOrder})
		must(w.t, err)
		v.report(token, gatewayOrder, paid.ID)
		f := w.facts(token)
		steps := []string{models.TicketQueued, models.TicketAccepted, models.TicketPreparing, models.TicketReady}
		for i := range o.state {
			w.move(f.id, steps[i], steps[i+1])
		}
	}
	w.setClock(0)
}

// TestBrowserMenuKeepsItsBudget wants the first view of the menu to be small: on the wire, in the document, and still while it loads.
func TestBrowserMenuKeepsItsBudget(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	b := browse(t, "the customer", base, phone)
	send(b, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true}) // what passes through it is not counted
	b.open("/")
	b.until("the fonts", `document.fonts.status === 'loaded'`)
	w.wait("every answer is in", func() bool { return !slices.ContainsFunc(b.asked(base), func(r seenRequest) bool { return !r.over }) })
	total, kinds, requests := 0.0, map[network.ResourceType]float64{}, b.asked(base)
	for _, r := range requests {
		total += r.bytes
		kinds[r.kind] += r.bytes
	}
	fonts := len(slices.DeleteFunc(slices.Clone(requests), func(r seenRequest) bool { return r.kind != network.ResourceTypeFont }))
	nodes := read[int](b, `document.querySelectorAll('*').length`)
	shift, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](`new Promise(done => {
		let sum = 0;
		const add = list => { for (const e of list) if (!e.hadRecentInput) sum += e.value }, o = new PerformanceObserver(l => add(l.getEntries()));
		o.observe({type: 'layout-shift', buffered: true});
		requestAnimationFrame(() => requestAnimationFrame(() => { add(o.takeRecords()); done(sum) }));
	})`, chromedp.EvalAwaitPromise))
	b.must("read the layout shifts", err)
	t.Logf("%d requests, %.1f KB: %v; %d nodes, layout shift %.4f", len(requests), total/1024, kinds, nodes, shift)
	for _, limit := range []struct {
		what     string
		is, most float64
	}{
		{"requests", float64(len(requests)), 22}, {"bytes", total, 90 << 10}, {"bytes of HTML", kinds[network.ResourceTypeDocument], 14 << 10},
		{"bytes of CSS", kinds[network.ResourceTypeStylesheet], 8 << 10}, {"bytes of script", kinds[network.ResourceTypeScript], 20 << 10},
		{"bytes of fonts", kinds[network.ResourceTypeFont], 25 << 10}, {"font files", float64(fonts), 3}, {"nodes", float64(nodes), 2200},
		{"thousandths of layout shift", shift * 1000, 10},
	} {
		if limit.is > limit.most {
			t.Errorf("%s: %.0f, at most %.0f", limit.what, limit.is, limit.most)
		}
	}
	if len(requests) < 10 || kinds[network.ResourceTypeScript] == 0 {
		t.Errorf("only %d requests were seen", len(requests))
	}
	for _, path := range []string{"/menu/butter-chicken", "/cart", "/checkout"} {
		b.forget()
		b.open(path)
		var bytes float64
		w.wait(path+" is in", func() bool {
			for _, r := range b.asked(base + path) {
				if r.over && r.kind == network.ResourceTypeDocument {
					bytes = r.bytes
				}
			}
			return bytes > 0
		})
		if bytes > 6<<10 {
			t.Errorf("%s has %.0f bytes of HTML", path, bytes)
		}
	}
}
