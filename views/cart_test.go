package views

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"tiffin/models"
)

func TestCartLines(t *testing.T) {
	v := sampleCartView("cart")
	v.Quote.Lines[0].Problem = &models.ErrSoldOut{Name: "Butter Chicken"}
	v.Quote.Lines[1].Problem = &models.ErrSoldOut{Name: "Chicken Tikka", Left: 2}
	v.Quote.Lines[2].SeenPaise = 5900
	root := parse(t, render(t, CartPage(v)))
	lines := byTestID(root, "cart-line")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	if got := textOf(lines[0]); !strings.Contains(got, "Sold out. Please remove it.") || len(byTestID(lines[0], "more")) != 0 {
		t.Errorf("sold out: %q", got)
	}
	if remove := byTestID(lines[0], "remove"); len(remove) != 1 || attr(remove[0], "value") != "0" {
		t.Error("a sold-out line cannot be removed")
	}
	if seq := all(lines[0], func(n *html.Node) bool { return attr(n, "name") == "seq" }); len(seq) != 0 {
		t.Error("a line that can only be removed must send set, not a stepper's number")
	}
	if options := all(lines[0], func(n *html.Node) bool { return attr(n, "name") == "option" }); len(options) != 2 {
		t.Errorf("%d options travel with the line, want 2", len(options))
	}
	if got := textOf(lines[1]); !strings.Contains(got, "Only 2 left. Please take fewer.") || len(byTestID(lines[1], "less")) != 1 {
		t.Errorf("few left: %q", got)
	}
	if got := textOf(lines[2]); !strings.Contains(got, "Now ₹69 (was ₹59)") {
		t.Errorf("changed price: %q", got)
	}
	if got := firstText(root, "cart-total"); got != "₹1,274" {
		t.Errorf("item total %q", got)
	}
}

func TestEmptyCart(t *testing.T) {
	v := sampleCartView("cart")
	v.Quote = models.Quote{}
	root := parse(t, render(t, CartPage(v)))
	if !strings.Contains(firstText(root, "cart-empty"), "Nothing here yet") || len(byTestID(root, "to-checkout")) != 0 {
		t.Error("an empty cart leads to checkout")
	}
	menu := sampleMenuView()
	menu.Cart.Quote = models.Quote{}
	root = parse(t, render(t, MenuPage(menu)))
	bar := all(root, func(n *html.Node) bool { return attr(n, "id") == "cartbar" })
	if len(bar) != 1 || textOf(bar[0]) != "" {
		t.Error("the cart bar must be there, and empty")
	}
}

// TestCartUpdate: an answer has out-of-band parts only, and the dish's own form just when its number is not the one asked for.
func TestCartUpdate(t *testing.T) {
	body := func(v CartUpdateView) []*html.Node {
		root := parse(t, render(t, CartUpdate(v)))
		return all(root, func(n *html.Node) bool { return n.Parent.Data == "body" })
	}
	ids := func(nodes []*html.Node) string {
		var s []string
		for _, n := range nodes {
			s = append(s, attr(n, "id")+"="+attr(n, "hx-swap-oob"))
		}
		return strings.Join(s, " ")
	}
	v := CartUpdateView{Cart: sampleCartView(""), Item: sampleItem("chicken-tikka")}
	parts := body(v)
	if got := ids(parts); got != "cart=true cartbar=true say=innerHTML" {
		t.Errorf("parts: %s", got)
	}
	if got := textOf(parts[2]); got != "Chicken Tikka, 1 in your order, ₹329" {
		t.Errorf("said %q", got)
	}
	v.Reason = "Only 1 left."
	parts = body(v)
	if got := ids(parts); got != "cart=true cartbar=true buy-2=true say=innerHTML" {
		t.Errorf("parts: %s", got)
	}
	if got := textOf(parts[2]); !strings.Contains(got, "Only 1 left") || attr(parts[2], "data-qty") != "1" {
		t.Errorf("the dish says %q", got)
	}
	if got := textOf(parts[3]); got != "Only 1 left. Chicken Tikka, 1 in your order, ₹329" {
		t.Errorf("said %q", got)
	}
	v.Reason, v.Cart.From = "", "cart"
	if got := ids(body(v)); got != "cart=true cartbar=true aside=innerHTML say=innerHTML" {
		t.Errorf("parts on the cart page: %s", got)
	}
	gone := CartUpdateView{Cart: sampleCartView(""), Item: sampleItem("samosa")}
	parts = body(gone)
	if got := textOf(parts[2]); got != "Punjabi Samosa removed. 6 items in your order" {
		t.Errorf("said %q", got)
	}
}
