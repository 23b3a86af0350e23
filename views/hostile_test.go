package views

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"tiffin/models"
)

// hostile is what a person may type into any field, numbered so that each one can be found again.
var hostile = []string{
	`<img src=x onerror=alert(1)>`,
	`"><svg/onload=alert(1)>`,
	`</textarea><script>alert(1)</script>`,
	`' onmouseover='alert(1)`,
	`</script><script>alert(1)</script>`,
	`javascript:alert(1)`,
	`{{ 7*7 }}${7*7}<!--`,
}

// TestTypedTextStaysText puts hostile strings into every field a person can fill, on every page and fragment that shows it: they must
// come out as text or attribute value, letter for letter, and never as markup.
func TestTypedTextStaysText(t *testing.T) {
	for n, bad := range hostile {
		o := sampleOrder()
		o.Name, o.Line1, o.Line2, o.Directions, o.Note, o.Email = bad, bad, bad, bad, bad, bad
		o.Items[0].Note, o.Items[0].Name, o.Items[0].Options[0].Name, o.OutletName = bad, bad, bad, bad
		paid := sampleOrderView(givenBack("failed"))
		paid.Order.Name, paid.Order.Line1, paid.Order.Note, paid.Order.Directions, paid.Order.Items = bad, bad, bad, bad, o.Items
		paid.Order.CancelReason = &bad
		failed := sampleOrderView(func(v *OrderView) {
			v.Order = o
			v.Payments = []models.Payment{{GWStatus: "failed", ErrorDescription: bad, CreatedAt: *at(-1)}}
		})
		menu := sampleMenuView()
		menu.Query = bad
		menu.Menu.Categories[0].Name, menu.Menu.Categories[0].Items[0].Name, menu.Menu.Categories[0].Items[0].Description = bad, bad, bad
		menu.Cart.Quote.Lines[0].Note, menu.Cart.Quote.Lines[0].Name = bad, bad
		menu.Menu.Outlet.Tagline, menu.Page.Outlet.Name = bad, bad
		whole := menu
		whole.Query = ""
		d := DishView{Page: samplePage(bad), Item: sampleItem("butter-chicken"), Note: bad, Error: bad}
		d.Item.Name, d.Item.Groups[0].Name, d.Item.Groups[0].Options[0].Name = bad, bad, bad
		checkout := sampleCheckoutView()
		checkout.Form = CheckoutFields{Phone: bad, Name: bad, Email: bad, Way: bad, Line1: bad, Line2: bad, PIN: bad, Directions: bad, Note: bad}
		checkout.Errors = map[string]string{"phone": bad, "name": bad, "line1": bad, "line2": bad, "pin": bad, "directions": bad, "note": bad, "email": bad, "way": bad}
		checkout.Problem, checkout.Quote.Way, checkout.Quote.DeliveryKnown = &models.ErrDelivery{Why: "far", PIN: bad}, "delivery", false
		checkout.CheckoutKey, checkout.Review, checkout.Changed = bad, bad, "bill"
		checkout.Quote.Lines[0].Note, checkout.Quote.Lines[0].Problem = bad, &models.ErrChoice{Dish: bad, Why: models.ChoiceFiltered, Option: bad}
		pay := samplePayView(PayFailed)
		pay.Order, pay.Reason = o, bad
		pay.Options.Prefill, pay.Options.Description, pay.Options.Name = PayPrefill{Name: bad, Contact: bad, Email: bad}, bad, bad
		board := sampleBoardView()
		board.Tickets[0].Order = o
		board.Notice, board.Attention, board.Staff.Name = bad, []Attention{{Text: bad, OpenedAt: evening}}, bad
		staff := sampleStaffOrderView()
		staff.Order, staff.Notice = o, bad
		staff.Order.CancelReason = &bad
		staff.Payments[0].ErrorDescription, staff.Payments[0].Method, staff.Refunds[0].LastError, staff.Refunds[0].Reason = bad, bad, bad, bad
		staff.Events, staff.History = []OrderEvent{{Type: bad, EventID: bad, Status: bad, Problem: bad}}, []OrderChange{{Subject: bad, Was: bad, Became: bad, Actor: bad}}
		cancel := StaffCancelView{Page: samplePage(bad), Order: o, RefundPaise: 100, Reason: bad, Errors: map[string]string{"reason": bad, "confirm": bad}}
		refund, review := sampleRefundView(), sampleRefundReview()
		refund.Lines[0].Item.Name, refund.Typed, refund.Notice = bad, RefundFields{What: bad, Amount: bad, Reason: bad}, bad
		refund.Errors = map[string]string{"what": bad, "pieces": bad, "amount": bad, "reason": bad}
		review.Lines[0].Item.Name, review.Typed = bad, RefundFields{What: bad, Amount: bad, Reason: bad}
		partly := sampleOrderView(partlyBack("requested"))
		partly.Refunds[0].Reason = bad

		views := map[string]templ.Component{
			"menu": MenuPage(whole), "menu searched": MenuPage(menu), "results": MenuResults(menu), "dish": DishPage(d), "sheet": DishSheet(d), "dish error": DishError(bad),
			"cart": CartPage(menu.Cart), "cart update": CartUpdate(CartUpdateView{Cart: menu.Cart, Item: menu.Menu.Categories[0].Items[0], Reason: bad}),
			"checkout": CheckoutPage(checkout), "checkout update": CheckoutUpdate(checkout), "pay": PayPage(pay),
			"order failed": OrderPage(failed), "order refunded": OrderPage(paid), "status": OrderStatus(failed),
			"board": BoardPage(board), "board columns": BoardColumns(board), "staff order": StaffOrderPage(staff), "cancel": StaffCancelPage(cancel),
			"refund": StaffRefundPage(refund), "refund review": StaffRefundReviewPage(review), "order partly refunded": OrderPage(partly),
			"login": StaffLoginPage(StaffLoginView{Page: samplePage(bad), Login: bad, Error: bad}),
			"error": ErrorPage(ErrorView{Page: samplePage(bad), Sentence: bad, RequestID: bad}), "error toast": ErrorToast(ErrorView{Status: 500, Sentence: bad, RequestID: bad}),
		}
		for name, page := range hostileCare(o, bad) {
			views[name] = page
		}
		for name, letter := range letters(t, o, bad) {
			views["letter "+name] = templ.Raw(letter.HTML)
			if strings.ContainsAny(letter.Subject, "\r\n") {
				t.Errorf("letter %s: line break in subject %q", name, letter.Subject)
			}
		}
		for name, c := range views {
			source := render(t, c)
			root := parse(t, source)
			for _, e := range all(root, func(*html.Node) bool { return true }) {
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") && (a.Key == "href" || a.Key == "src" || a.Key == "action" || strings.HasPrefix(a.Key, "hx-")) {
						t.Errorf("%s, string %d became <%s %s=%q>", name, n, e.Data, a.Key, a.Val)
					}
				}
				if (e.Data == "img" && attr(e, "src") == "x") || (e.Data == "script" && !has(e, "src") && attr(e, "type") != "application/json" && !(attr(e, "type") == "application/ld+json" && json.Valid([]byte(textOf(e))))) || (e.Data == "svg" && !has(e, "class")) {
					t.Errorf("%s, string %d became <%s>", name, n, e.Data)
				}
			}
			if !strings.Contains(everyText(root), bad) {
				t.Errorf("%s, string %d is not shown as it was typed", name, n)
			}
		}
	}
}

// everyText is all text and all attribute values of a page, JSON data with its escapes undone.
func everyText(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			b.WriteString(n.Data + "\n")
		case html.ElementNode:
			for _, a := range n.Attr {
				b.WriteString(a.Val + "\n")
			}
		}
	}
	return b.String()
}

func letters(t *testing.T, o models.Order, bad string) map[string]Letter {
	t.Helper()
	outlet := sampleOutlet()
	outlet.Name, outlet.Address = bad+"\r\nBcc: x@example.com", bad
	refund := models.Refund{AmountPaise: 100, Status: "processed", BankReference: bad, RazorpayRefundID: &bad}
	o.CancelReason, o.CancelledBy = &bad, ptr("staff:1")
	v := MailView{Outlet: outlet, Order: o, Refund: &refund, OrderURL: "https://shop.example/orders/" + url.PathEscape(bad)}
	out := map[string]Letter{}
	for name, write := range map[string]func(context.Context, MailView) (Letter, error){"confirmation": ConfirmationMail, "refund": RefundMail, "cancelled": CancelledMail} {
		l, err := write(inEnglish, v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = l
	}
	return out
}

// TestPayOptionsAreOnlyData: the options travel as JSON inside the page and cannot end their own element.
func TestPayOptionsAreOnlyData(t *testing.T) {
	v := samplePayView(PayReady)
	v.Options.Prefill.Name = `</script><script>alert(1)</script>`
	source := render(t, PayPage(v))
	if strings.Contains(source, "<script>alert") {
		t.Error("a name ended the data element")
	}
	data := all(parse(t, source), func(n *html.Node) bool { return attr(n, "id") == "pay-options" })
	if len(data) != 1 || attr(data[0], "type") != "application/json" {
		t.Fatalf("%d elements #pay-options", len(data))
	}
	for _, want := range []string{`"order_id":"order_TstAbCdEf00001"`, fmt.Sprintf(`"amount":%d`, v.Order.AmountPaise), `"contact":"+919845012345"`, `"timeout":420`, `"color":"#5b1440"`} {
		if !strings.Contains(textOf(data[0]), want) {
			t.Errorf("options without %s: %s", want, textOf(data[0]))
		}
	}
}
