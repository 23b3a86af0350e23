package views

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/andybalholm/brotli"
	"golang.org/x/net/html"

	"tiffin/models"
	"tiffin/static"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

// samplePages is every whole page, in the states that look different.
func samplePages() map[string]templ.Component {
	closed := sampleMenuView()
	closed.Menu.Opening, closed.Cart.Quote = sampleClosed(), models.Quote{}
	emptyCart := sampleCartView("cart")
	emptyCart.Quote = models.Quote{}
	emptyCheckout := sampleCheckoutView()
	emptyCheckout.Quote = models.Quote{}
	refused := sampleCheckoutView()
	refused.Errors = map[string]string{"phone": "A mobile number has 10 digits, such as 98450 12345.", "pin": "A PIN code has 6 digits, such as 560038."}
	refused.Form.Phone, refused.Form.PIN = "12345", "56003"
	changed := sampleCheckoutView()
	changed.Changed = "bill"
	changed.Quote.Lines[1].SeenPaise = 31900
	outlets := samplePage("Our kitchens")
	outlets.Outlet = models.Outlet{}
	board := sampleBoardView()
	board.Notice, board.Undo = "Order 1047 is ready.", &Undo{OrderID: 1047, From: models.TicketReady, To: models.TicketPreparing}
	board.Attention = []Attention{{Text: "A payment does not match the bill of order 1040", OrderID: 4, OpenedAt: *at(-5)}}

	wrongRefund := sampleRefundView()
	wrongRefund.Errors = map[string]string{"pieces": "That is more than is left.", "reason": "Please say why: the customer reads it, and it is kept."}

	pages := map[string]templ.Component{
		"order_push":            OrderPage(sampleOrderView(func(v *OrderView) { paidAnd(models.TicketQueued)(v); v.PushKey = "BNotAKeyButAsLongAsOne" })),
		"outlets":               OutletsPage(OutletsView{Page: outlets, Outlets: []OutletCard{{sampleOutlet(), sampleOpening()}, {sampleOutlet(), sampleClosed()}}}),
		"menu":                  MenuPage(sampleMenuView()),
		"menu_closed":           MenuPage(closed),
		"dish":                  DishPage(DishView{Page: samplePage("Butter Chicken"), Item: sampleItem("butter-chicken"), Opening: sampleOpening()}),
		"cart":                  CartPage(sampleCartView("cart")),
		"cart_empty":            CartPage(emptyCart),
		"checkout":              CheckoutPage(sampleCheckoutView()),
		"checkout_cash":         CheckoutPage(sampleCashCheckout()),
		"order_shortage":        OrderPage(sampleOrderView(withShortages)),
		"order_due":             OrderPage(sampleOrderView(dueAnd)),
		"staff_shortage":        StaffShortagePage(sampleStaffShortage()),
		"staff_due":             StaffOrderPage(sampleStaffDue()),
		"checkout_extras":       CheckoutPage(sampleExtrasView()),
		"checkout_empty":        CheckoutPage(emptyCheckout),
		"checkout_refused":      CheckoutPage(refused),
		"checkout_changed":      CheckoutPage(changed),
		"board":                 BoardPage(board),
		"staff_login":           StaffLoginPage(StaffLoginView{Page: samplePage("Log in"), Login: "meera", Error: "Login or password is wrong."}),
		"staff_order":           StaffOrderPage(sampleStaffOrderView()),
		"staff_cancel":          StaffCancelPage(StaffCancelView{Page: samplePage(""), Order: sampleOrder(), RefundPaise: sampleOrder().AmountPaise, Errors: map[string]string{"reason": "Please say why; the customer reads it."}}),
		"staff_order_part":      StaffOrderPage(samplePartlyBackView("failed")),
		"staff_refund":          StaffRefundPage(wrongRefund),
		"staff_review":          StaffRefundReviewPage(sampleRefundReview()),
		"staff_menu":            StaffMenuPage(StaffMenuView{Page: samplePage(""), Staff: models.Staff{ID: 1, Name: "Meera", Role: "manager"}, Menu: sampleMenu(), Outlets: []models.Outlet{sampleOutlet(), {ID: 2, Slug: "two", Name: "Kesar Two"}}, Notice: "Samosa is sold out."}),
		"staff_attention":       StaffAttentionPage(sampleAttentionView()),
		"staff_attention_empty": StaffAttentionPage(StaffAttentionView{Page: samplePage("")}),
		"staff_timeline":        StaffTimelinePage(sampleTimelineView()),
		"staff_audit":           StaffAuditPage(sampleAuditView()),
		"offline":               OfflinePage(OutletsView{Page: Page{Title: "No connection", MenuURL: "/", Now: evening}, Outlets: []OutletCard{{Outlet: sampleOutlet()}}}),
		"policy_refunds":        PolicyPage(samplePolicyView("refunds")),
		"policy_delivery":       PolicyPage(samplePolicyView("delivery")),
		"policy_privacy":        PolicyPage(samplePolicyView("privacy")),
		"policy_terms":          PolicyPage(samplePolicyView("terms")),
		"policy_contact":        PolicyPage(samplePolicyView("contact")),
		"staff_outlet":          StaffOutletPage(sampleStaffOutletView()),
		"error":                 ErrorPage(ErrorView{Page: samplePage("Not here"), Status: 404, Sentence: "We could not find that page.", RequestID: "7c1f"}),
	}
	maps.Copy(pages, accountPages())
	maps.Copy(pages, sampleSettings("Tech park"))
	for _, state := range []string{PayPreparing, PayReady, PayClosed, PayFailed, PayUnavailable} {
		v := samplePayView(state)
		v.Reason = "Your bank declined the payment."
		pages["pay_"+state] = PayPage(v)
	}
	for name, page := range sampleCarePages() {
		pages[name] = page
	}
	for name, change := range sampleOrders() {
		pages["order_"+name] = OrderPage(sampleOrderView(change))
	}
	return pages
}

// sampleOrders is an order in every state its page can show.
func sampleOrders() map[string]func(v *OrderView) {
	return map[string]func(v *OrderView){
		"unpaid": nil,
		"failed": func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "failed", ErrorDescription: "Your bank declined the payment.", CreatedAt: *at(-1)}}
		},
		"confirming":  func(v *OrderView) { v.HintedAt = at(0) },
		"slow":        func(v *OrderView) { v.HintedAt = at(-2) },
		"lapsed":      func(v *OrderView) { v.Order.HoldExpiresAt = *at(-1) },
		"expired":     func(v *OrderView) { v.Order.Status, v.Order.ClosedAt = models.OrderExpired, at(-1) },
		"paid":        paidAnd(models.TicketQueued),
		"accepted":    paidAnd(models.TicketAccepted),
		"preparing":   paidAnd(models.TicketPreparing),
		"ready":       paidAnd(models.TicketReady),
		"handed_over": paidAnd(models.TicketHandedOver),
		"pickup":      func(v *OrderView) { paidAnd(models.TicketReady)(v); v.Order.Way = "pickup" },
		"late":        func(v *OrderView) { paidAnd(models.TicketPreparing)(v); v.Ticket.PromisedAt = *at(-7) },
		"cancelled": func(v *OrderView) {
			v.Order.Status, v.Order.CancelledBy, v.Order.CancelReason = models.OrderCancelled, ptr("customer"), ptr("by the customer")
		},
		"requested":   givenBack("requested"),
		"submitted":   givenBack("submitted"),
		"processed":   givenBack("processed"),
		"refund_lost": givenBack("failed"),
		"partly_back": partlyBack("submitted"), "partly_back_asked": partlyBack("requested"), "partly_back_done": partlyBack("processed"), "partly_back_lost": partlyBack("failed"),
		"sold_out": func(v *OrderView) {
			givenBack("requested")(v)
			v.Ticket, v.Order.PaidPaymentID = nil, nil
			v.Order.CancelledBy, v.Order.CancelReason, v.SoldOut = ptr("shop"), ptr("hold_lapsed"), "Rogan Josh"
			v.Payments[0].Disposition, v.Payments[0].Reason = ptr("refund"), ptr("hold_lapsed")
		},
		"paid_twice": paidTwice,
		"failed_by_netbanking": func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "failed", Method: "netbanking", ErrorDescription: "The bank is not available. If amount got deducted, it will be refunded within 5-7 working days.", CreatedAt: *at(-1)}}
		},
		"returned_by_razorpay": func(v *OrderView) {
			v.Payments = []models.Payment{{GWStatus: "voided", Method: "upi", AmountPaise: v.Order.AmountPaise, CreatedAt: *at(-3), UpdatedAt: *at(-1)}}
		},
		"slow_past_the_end": func(v *OrderView) { v.HintedAt, v.Order.ResolveBy, v.Order.HoldExpiresAt = at(-20), at(-1), *at(-11) },
		"expired_after_a_failure": func(v *OrderView) {
			expired(v)
			v.Payments = []models.Payment{{GWStatus: "failed", Method: "card", CreatedAt: *at(-20)}}
		},
		"expired_while_the_bank_had_agreed": func(v *OrderView) {
			expired(v)
			v.Payments = []models.Payment{{GWStatus: "authorized", Method: "upi", AmountPaise: v.Order.AmountPaise, CreatedAt: *at(-20)}}
		},
		"expired_a_week_ago": func(v *OrderView) { expired(v); v.Order.PlacedAt = *at(-7 * 24 * 60) },
		"expired_and_returned": func(v *OrderView) {
			expired(v)
			v.Payments = []models.Payment{{GWStatus: "voided", Method: "card", AmountPaise: v.Order.AmountPaise, CreatedAt: *at(-20), UpdatedAt: *at(-2)}}
		},
		"cancelled_before_paying": func(v *OrderView) {
			v.Order.Status, v.Order.CancelledBy, v.Order.CancelReason = models.OrderCancelled, ptr("staff:1"), ptr("The gas is off")
		},
		"came_late":            cameBack("order_expired", models.OrderExpired, ""),
		"came_cancelled":       cameBack("order_cancelled", models.OrderCancelled, "changed_mind"),
		"came_newer":           cameBack("order_superseded", models.OrderCancelled, "superseded"),
		"kitchen_closed":       cameBack("kitchen_closed", models.OrderCancelled, "kitchen_closed"),
		"slot_passed":          cameBack("slot_passed", models.OrderCancelled, "slot_passed"),
		"wrong_amount":         cameBack("amount_mismatch", models.OrderPending, ""),
		"refund_by_card":       func(v *OrderView) { givenBack("submitted")(v); v.Payments[0].Method = "card" },
		"refund_by_netbanking": func(v *OrderView) { givenBack("submitted")(v); v.Payments[0].Method = "netbanking" },
		"refund_by_wallet":     func(v *OrderView) { givenBack("processed")(v); v.Payments[0].Method = "wallet" },
		"refund_unknown_way":   func(v *OrderView) { givenBack("requested")(v); v.Payments[0].Method = "" },
		"refund_instant":       func(v *OrderView) { givenBack("submitted")(v); v.Refunds[0].Speed = "optimum" },
		"refund_overdue": func(v *OrderView) {
			givenBack("submitted")(v)
			v.Refunds[0].RequestedAt, v.Refunds[0].SubmittedAt = *at(-20 * 24 * 60), at(-20*24*60)
		},
		"refund_unseen": func(v *OrderView) {
			givenBack("processed")(v)
			v.Refunds[0].RequestedAt, v.Refunds[0].SubmittedAt, v.Refunds[0].ProcessedAt = *at(-20 * 24 * 60), at(-20*24*60), at(-19*24*60)
		},
		"refund_from_outside": func(v *OrderView) {
			paidAnd(models.TicketHandedOver)(v)
			v.Refunds = []models.Refund{{PaymentID: 3, AmountPaise: 100_00, Kind: "external", Status: "processed", RequestedAt: *at(-1), ProcessedAt: at(-1), SubmittedAt: at(-1), RazorpayRefundID: ptr("rfnd_TstAbCdEf00009")}}
		},
	}
}

func expired(v *OrderView) {
	v.Order.Status, v.Order.ClosedAt, v.Order.ResolveBy, v.Order.HoldExpiresAt = models.OrderExpired, at(-1), nil, *at(-11)
}

// cameBack is money that was not kept, and why.
func cameBack(reason, status, cancelled string) func(v *OrderView) {
	return func(v *OrderView) {
		v.Order.Status = status
		if cancelled != "" {
			v.Order.CancelledBy, v.Order.CancelReason = ptr("shop"), &cancelled
			if cancelled == "changed_mind" || cancelled == "superseded" {
				v.Order.CancelledBy = ptr("customer")
			}
		}
		v.Payments = []models.Payment{{ID: 3, RazorpayPaymentID: ptr("pay_TstAbCdEf00002"), AmountPaise: v.Order.AmountPaise, GWStatus: "captured", Method: "upi", Disposition: ptr("refund"), Reason: &reason, CreatedAt: *at(-1)}}
		v.Refunds = []models.Refund{{ID: "0b8a6c52-0000-5000-8000-000000000003", PaymentID: 3, AmountPaise: v.Order.AmountPaise, Kind: "auto", Reason: reason, Status: "requested", RequestedAt: *at(0)}}
	}
}

func paidTwice(v *OrderView) {
	paidAnd(models.TicketPreparing)(v)
	v.Payments = append(v.Payments, models.Payment{ID: 4, RazorpayPaymentID: ptr("pay_TstSecond00004"), AmountPaise: v.Order.AmountPaise, GWStatus: "captured", Method: "card",
		Disposition: ptr("refund"), Reason: ptr("already_paid"), CreatedAt: *at(-1)})
	v.Refunds = []models.Refund{{ID: "0b8a6c52-0000-5000-8000-000000000002", PaymentID: 4, AmountPaise: v.Order.AmountPaise, Kind: "auto", Reason: "already_paid", Status: "requested", RequestedAt: *at(0)}}
}

// sampleFragments is every answer that is not a page.
func sampleFragments() map[string]templ.Component {
	sheet := DishView{Page: samplePage(""), Item: sampleItem("butter-chicken"), Opening: sampleOpening()}
	notice := sampleBoardView()
	notice.Notice = "Order 1047 was already refused."
	return map[string]templ.Component{
		"menu_results":    MenuResults(MenuView{Page: samplePage("Menu"), Menu: sampleFound("paneer"), Query: "paneer", Diet: models.Diet{Veg: true}}),
		"dish_sheet":      DishSheet(sheet),
		"dish_error":      DishError("Butter Chicken: choose 1 from Size."),
		"cart_update":     CartUpdate(CartUpdateView{Cart: sampleCartView(""), Item: sampleItem("biryani"), Reason: "Only 4 left."}),
		"checkout_form":   CheckoutForm(sampleCheckoutView()),
		"checkout_update": CheckoutUpdate(sampleCheckoutView()),
		"order_status":    OrderStatus(sampleOrderView(paidAnd(models.TicketAccepted))),
		"board_columns":   BoardColumns(notice),
		"error_toast":     ErrorToast(ErrorView{Status: 503, Sentence: "The shop is busy.", RequestID: "7c1f"}),
	}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t *testing.T, source string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// all returns the elements that match, in page order.
func all(root *html.Node, match func(n *html.Node) bool) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && match(n) {
			found = append(found, n)
		}
	}
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func byTestID(root *html.Node, testid string) []*html.Node {
	return all(root, func(n *html.Node) bool { return attr(n, "data-testid") == testid })
}

// mustFind returns the only element with that data-testid.
func mustFind(t *testing.T, root *html.Node, testid string) *html.Node {
	t.Helper()
	found := byTestID(root, testid)
	if len(found) != 1 {
		t.Fatalf("%d elements with data-testid=%q, want one", len(found), testid)
	}
	return found[0]
}

// textOf is what a reader sees: the text with its white space closed up.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// firstText is the text of the first element with that data-testid, or "".
func firstText(root *html.Node, testid string) string {
	if found := byTestID(root, testid); len(found) > 0 {
		return textOf(found[0])
	}
	return ""
}

var hashInName = regexp.MustCompile(`\.[0-9a-f]{12}\.`)

// TestPagesAreAsBefore compares one whole page of each kind with testdata; run with -update after a change that was meant.
func TestPagesAreAsBefore(t *testing.T) {
	pages := samplePages()
	for _, name := range []string{"menu", "dish", "cart", "checkout", "checkout_refused", "pay_ready", "order_unpaid", "order_preparing", "order_paid_twice", "order_shortage", "order_due", "checkout_cash", "staff_shortage", "staff_due", "board", "staff_order", "staff_cancel", "staff_refund", "staff_review", "staff_attention", "staff_timeline", "staff_audit", "complaint", "complaint_new_refused", "review", "reviews", "staff_ticket", "staff_reviews", "error"} {
		t.Run(name, func(t *testing.T) {
			c, known := pages[name]
			if !known {
				t.Fatal("no such sample page")
			}
			got := hashInName.ReplaceAllString(render(t, c), ".HASH.")
			path := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				at := 0
				for at < len(got) && at < len(want) && got[at] == want[at] {
					at++
				}
				t.Errorf("%s differs from byte %d on:\n got …%.200s\nwant …%.200s", path, at, got[max(at-60, 0):], want[max(at-60, 0):])
			}
		})
	}
}

// TestPolicy holds every page and fragment to default-src 'none' with 'self' alone: no inline style, script or handler, no foreign address
// but Razorpay's on the pay page.
func TestPolicy(t *testing.T) {
	everything := samplePages()
	for name, c := range sampleFragments() {
		everything["fragment "+name] = c
	}
	for name, v := range samplePapers() {
		everything[name] = PaperPage(v)
	}
	everything["kitchen_ticket"] = KitchenTicketPage(sampleTicketView())
	for name, c := range everything {
		root := parse(t, render(t, c))
		for _, n := range all(root, func(*html.Node) bool { return true }) {
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") || strings.HasPrefix(a.Key, "hx-vals") {
					t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
				}
				if (a.Key == "src" || a.Key == "action" || strings.HasPrefix(a.Key, "hx-") || a.Key == "sse-connect") && strings.Contains(a.Val, "://") && !strings.HasPrefix(name, "pay_") {
					t.Errorf("%s: <%s %s=%q> leaves the site", name, n.Data, a.Key, a.Val)
				}
				if a.Key == "hx-trigger" && strings.Contains(a.Val, "[") {
					t.Errorf("%s: hx-trigger %q needs eval", name, a.Val)
				}
			}
			if n.Data == "style" || (n.Data == "script" && !has(n, "src") && attr(n, "type") != "application/json" && attr(n, "type") != "application/ld+json") {
				t.Errorf("%s: inline <%s>", name, n.Data)
			}
		}
	}
}

// TestForms: every form that changes something is a POST with the session's token, goes to an address of its own and works without script.
func TestForms(t *testing.T) {
	for name, c := range samplePages() {
		root := parse(t, render(t, c))
		for _, f := range all(root, func(n *html.Node) bool { return n.Data == "form" }) {
			if attr(f, "data-testid") == "hosted" {
				continue // Razorpay's
			}
			if attr(f, "action") == "" {
				t.Errorf("%s: a form without action", name)
			}
			if attr(f, "method") == "get" {
				continue
			}
			tokens := all(f, func(n *html.Node) bool {
				return attr(n, "name") == "_csrf" && attr(n, "value") == "token-of-the-session"
			})
			if attr(f, "method") != "post" || len(tokens) != 1 {
				t.Errorf("%s: form %s: method %q, %d tokens", name, attr(f, "action"), attr(f, "method"), len(tokens))
			}
			formID := attr(f, "id")
			submits := all(root, func(n *html.Node) bool {
				return n.Data == "button" && attr(n, "type") != "button" && (attr(n, "form") == formID && formID != "" || slices.Contains(ancestors(n), f))
			})
			if len(submits) == 0 {
				t.Errorf("%s: form %s %s has nothing to press", name, attr(f, "action"), formID)
			}
		}
		for _, n := range all(root, func(n *html.Node) bool { return has(n, "hx-get") || has(n, "hx-post") }) {
			for _, a := range n.Attr {
				if (a.Key == "hx-get" || a.Key == "hx-post") && !strings.HasPrefix(a.Val, "/") {
					t.Errorf("%s: %s=%q", name, a.Key, a.Val)
				}
			}
		}
	}
}

func ancestors(n *html.Node) []*html.Node {
	var up []*html.Node
	for p := n.Parent; p != nil; p = p.Parent {
		up = append(up, p)
	}
	return up
}

// TestStructure: what a machine can check of a page that people who cannot see or point have to use.
func TestStructure(t *testing.T) {
	for name, c := range samplePages() {
		root := parse(t, render(t, c))
		if n := len(all(root, func(n *html.Node) bool { return n.Data == "h1" })); n != 1 {
			t.Errorf("%s: %d h1", name, n)
		}
		if n := len(all(root, func(n *html.Node) bool { return n.Data == "main" && attr(n, "id") == "main" })); n != 1 {
			t.Errorf("%s: %d main", name, n)
		}
		ids := map[string]int{}
		for _, n := range all(root, func(n *html.Node) bool { return attr(n, "id") != "" }) {
			if ids[attr(n, "id")]++; ids[attr(n, "id")] > 1 {
				t.Errorf("%s: id %q twice", name, attr(n, "id"))
			}
		}
		for _, target := range []string{"say", "toast", "toast-form"} {
			if ids[target] != 1 {
				t.Errorf("%s: no #%s", name, target)
			}
		}
		for _, n := range all(root, func(*html.Node) bool { return true }) {
			for _, a := range []string{"aria-labelledby", "aria-describedby", "for", "form"} {
				if v := attr(n, a); v != "" && ids[v] == 0 {
					t.Errorf("%s: <%s %s=%q> names nothing", name, n.Data, a, v)
				}
			}
			if n.Data == "img" && !has(n, "alt") {
				t.Errorf("%s: img without alt", name)
			}
			if n.Data == "img" && (!has(n, "width") || !has(n, "height")) {
				t.Errorf("%s: img without size moves the page while it loads", name)
			}
			if (n.Data == "button" || n.Data == "a" && has(n, "href")) && textOf(n) == "" && attr(n, "aria-label") == "" {
				t.Errorf("%s: <%s> without a name: %s", name, n.Data, attr(n, "data-testid"))
			}
			if slices.Contains([]string{"input", "select", "textarea"}, n.Data) && attr(n, "type") != "hidden" && attr(n, "aria-label") == "" {
				labelled := slices.ContainsFunc(ancestors(n), func(p *html.Node) bool { return p.Data == "label" }) ||
					len(all(root, func(l *html.Node) bool {
						return l.Data == "label" && attr(l, "for") == attr(n, "id") && attr(n, "id") != ""
					})) > 0
				if !labelled {
					t.Errorf("%s: <%s name=%q> without a label", name, n.Data, attr(n, "name"))
				}
			}
		}
	}
}

// TestIcons: each icon a page names is in the sprite, and each symbol of the sprite is used somewhere.
func TestIcons(t *testing.T) {
	body, _, _, _, ok := static.Open(strings.TrimPrefix(static.Path("icons.svg"), static.Prefix))
	if !ok {
		t.Fatal("no sprite")
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`<symbol id="([a-z0-9-]+)"`).FindAllSubmatch(body, -1) {
		there[string(m[1])] = false
	}
	everything := samplePages()
	for name, c := range sampleFragments() {
		everything["fragment "+name] = c
	}
	for name, c := range everything {
		for _, use := range all(parse(t, render(t, c)), func(n *html.Node) bool { return n.Data == "use" }) {
			file, symbol, _ := strings.Cut(attr(use, "href"), "#")
			if _, known := there[symbol]; !known || file != static.Path("icons.svg") {
				t.Errorf("%s: no icon %q", name, attr(use, "href"))
			}
			there[symbol] = true
		}
	}
	var unused []string
	for symbol, used := range there {
		if !used {
			unused = append(unused, symbol)
		}
	}
	sort.Strings(unused)
	if len(unused) > 0 {
		t.Errorf("symbols nobody uses: %v", unused)
	}
}

// TestBudgets: what a page may weigh, compressed as it is sent, and how many elements the menu may have.
func TestBudgets(t *testing.T) {
	for name, c := range samplePages() {
		source := render(t, c)
		var b bytes.Buffer
		w := brotli.NewWriterLevel(&b, 5) // the level HTML is sent with
		if _, err := w.Write([]byte(source)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		most := 6 << 10
		if strings.HasPrefix(name, "menu") {
			most = 14 << 10
		}
		if b.Len() > most {
			t.Errorf("%s: %d bytes with brotli, at most %d", name, b.Len(), most)
		}
		if name == "menu" {
			nodes := len(all(parse(t, source), func(*html.Node) bool { return true }))
			t.Logf("menu of %d dishes: %d bytes, %d with brotli, %d elements", dishCount(sampleMenu()), len(source), b.Len(), nodes)
			if dishCount(sampleMenu()) < 44 {
				t.Error("the sample menu is too short to measure")
			}
			if nodes > 2200 {
				t.Errorf("%d elements, at most 2200", nodes)
			}
			eager := all(parse(t, source), func(n *html.Node) bool { return n.Data == "img" && attr(n, "loading") != "lazy" })
			if len(eager) != 6 {
				t.Errorf("%d pictures load at once, want 6", len(eager))
			}
		}
	}
}
