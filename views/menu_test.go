package views

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tiffin/models"
)

func dishOf(t *testing.T, root *html.Node, slug string) *html.Node {
	t.Helper()
	found := all(root, func(n *html.Node) bool { return attr(n, "data-testid") == "dish" && attr(n, "data-slug") == slug })
	if len(found) != 1 {
		t.Fatalf("%d dishes %s", len(found), slug)
	}
	return found[0]
}

// Without script a stepper's buttons carry the next number; with it qty and seq do.
func TestStepperWorksWithoutScript(t *testing.T) {
	root := parse(t, render(t, MenuPage(sampleMenuView())))
	form := all(dishOf(t, root, "chicken-tikka"), func(n *html.Node) bool { return n.Data == "form" })[0]
	values := map[string][]string{}
	for _, n := range all(form, func(n *html.Node) bool { return attr(n, "name") != "" }) {
		values[attr(n, "name")] = append(values[attr(n, "name")], attr(n, "value"))
	}
	if !slices.Equal(values["set"], []string{"1", "0", "2"}) { // Add, less, more, with one in the cart
		t.Errorf("set: %v", values["set"])
	}
	if values["item"][0] != id(sampleItem("chicken-tikka").ID) || values["qty"][0] != "1" || values["seq"][0] != "" || len(values["_csrf"]) != 1 {
		t.Errorf("fields: %v", values)
	}
	if len(values) != 5 {
		t.Errorf("a stepper sends %d fields: %v", len(values), values)
	}
	for name, want := range map[string]string{"method": "post", "action": "/cart", "hx-post": "/cart", "hx-trigger": "qty delay:250ms, submit", "hx-sync": "this:replace", "hx-swap": "none", "data-qty": "1"} {
		if attr(form, name) != want {
			t.Errorf("%s=%q, want %q", name, attr(form, name), want)
		}
	}
	most := parse(t, render(t, BuyForm(samplePage(""), sampleItem("samosa"), models.MaxLineQty, "", false)))
	if more := byTestID(most, "more"); attr(more[0], "value") != "20" {
		t.Errorf("more than the most: %s", attr(more[0], "value"))
	}
}

func TestDishesWithChoicesOpenTheirPage(t *testing.T) {
	v := sampleMenuView()
	dish := dishOf(t, parse(t, render(t, MenuPage(v))), "butter-chicken")
	add := mustFind(t, dish, "add")
	if add.Data != "a" || attr(add, "href") != "/menu/butter-chicken" || attr(add, "hx-get") != "/menu/butter-chicken" {
		t.Errorf("add is <%s href=%q hx-get=%q>", add.Data, attr(add, "href"), attr(add, "hx-get"))
	}
	if shown := textOf(dish); !strings.Contains(shown, "from ₹229") || !strings.Contains(shown, "2 in your order") {
		t.Errorf("dish says %q", shown)
	}
	v.Page.MenuURL = "/outlets/kesar-kitchen"
	add = mustFind(t, dishOf(t, parse(t, render(t, MenuPage(v))), "butter-chicken"), "add")
	if attr(add, "href") != "/menu/butter-chicken?outlet=kesar-kitchen" {
		t.Errorf("with several outlets: %q", attr(add, "href"))
	}
}

func TestSoldOutAndFewLeft(t *testing.T) {
	root := parse(t, render(t, MenuPage(sampleMenuView())))
	off := dishOf(t, root, "rogan-josh")
	if got := firstText(off, "sold-out"); got != "Sold out Back at 9 pm" {
		t.Errorf("sold out says %q", got)
	}
	if len(byTestID(off, "add")) != 0 || !strings.Contains(attr(off, "class"), "out") {
		t.Error("a dish that is off can be added")
	}
	if !strings.Contains(textOf(dishOf(t, root, "biryani")), "Only 4 left") {
		t.Error("a limited dish does not say how many are left")
	}
	if got := backText(inEnglish, models.Item{BackAt: ptr(evening.Add(-time.Minute))}, evening); got != "" {
		t.Errorf("a time that has passed is promised: %q", got)
	}
	if got := backText(inEnglish, models.Item{BackAt: ptr(evening.Add(20 * time.Hour))}, evening); got != "Back tomorrow at 3:45 pm" {
		t.Errorf("tomorrow: %q", got)
	}
}

func TestClosedBanner(t *testing.T) {
	next := models.Window{OpensAt: time.Date(2026, 12, 1, 11, 0, 0, 0, india)}
	for _, c := range []struct {
		opening      models.Opening
		pill, banner string
	}{
		{sampleOpening(), "Open till 11 pm", ""},
		{models.Opening{Reason: "closed", Next: next}, "Closed · opens tomorrow at 11 am", "We are closed We open again tomorrow at 11 am."},
		{models.Opening{Reason: "closed"}, "Closed", "We are closed You can look around"},
		{models.Opening{Reason: "holiday", Holiday: "Diwali", Next: next}, "Closed · opens tomorrow at 11 am", "Closed today: Diwali"},
		{models.Opening{Reason: "last_order", Next: next, Window: sampleOpening().Window}, "Closed · opens tomorrow at 11 am", "Last orders are in for now"},
		{models.Opening{Reason: "paused", Window: sampleOpening().Window}, "Taking a short break", "We have paused new orders for a moment"},
	} {
		v := sampleMenuView()
		v.Menu.Opening = c.opening
		root := parse(t, render(t, MenuPage(v)))
		if got := firstText(root, "open-state"); got != c.pill {
			t.Errorf("%s: pill %q, want %q", c.opening.Reason, got, c.pill)
		}
		if got := firstText(root, "closed"); !strings.HasPrefix(got, c.banner) || (c.banner == "") != (got == "") {
			t.Errorf("%s: banner %q, want %q", c.opening.Reason, got, c.banner)
		}
	}
}

func TestMenuResultsIsAFragment(t *testing.T) {
	source := render(t, MenuResults(MenuView{Page: samplePage("Menu"), Menu: sampleFound("paneer"), Query: "paneer"}))
	if strings.Contains(source, "<html") {
		t.Error("a fragment is a whole page")
	}
	root := parse(t, source)
	say := all(root, func(n *html.Node) bool { return attr(n, "id") == "say" })
	if len(say) != 1 || attr(say[0], "hx-swap-oob") != "innerHTML" || textOf(say[0]) != "5 dishes found" {
		t.Errorf("said %q", textOf(say[0]))
	}
	if n := len(byTestID(root, "dish")); n != 5 {
		t.Errorf("%d dishes, want 5", n)
	}
	none := parse(t, render(t, MenuResults(MenuView{Page: samplePage("Menu"), Menu: sampleFound("pizza"), Query: "pizza"})))
	if got := firstText(none, "no-dish"); !strings.Contains(got, "“pizza”") {
		t.Errorf("nothing found says %q", got)
	}
}

// The page remembers what was searched and filtered when it is loaded as a whole.
func TestMenuKeepsQueryAndFilter(t *testing.T) {
	v := sampleMenuView()
	v.Query, v.Diet, v.Way = "dosa", models.Diet{Veg: true}, "pickup"
	root := parse(t, render(t, MenuPage(v)))
	if attr(mustFind(t, root, "search"), "value") != "dosa" || !has(mustFind(t, root, "veg"), "checked") {
		t.Error("query or filter is lost")
	}
	way := all(root, func(n *html.Node) bool { return attr(n, "name") == "way" && has(n, "checked") })
	if len(way) != 1 || attr(way[0], "value") != "pickup" {
		t.Error("the chosen way is lost")
	}
}

func TestDishForm(t *testing.T) {
	v := DishView{Page: samplePage(""), Item: sampleItem("butter-chicken")}
	root := parse(t, render(t, DishPage(v)))
	checked := all(root, func(n *html.Node) bool { return n.Data == "input" && has(n, "checked") })
	if len(checked) != 1 || attr(checked[0], "value") != "1" || attr(checked[0], "name") != "option.1" {
		t.Errorf("the cheapest size is not chosen: %d", len(checked))
	}
	if got := firstText(root, "add-to-cart"); got != "Add · ₹229" {
		t.Errorf("button says %q", got)
	}
	form := mustFind(t, root, "dish-form")
	if has(form, "hx-post") {
		t.Error("the page's own form must be an ordinary one")
	}
	if sheet := mustFind(t, parse(t, render(t, DishSheet(v))), "dish-form"); attr(sheet, "hx-post") != "/cart" || attr(sheet, "hx-swap") != "none" {
		t.Error("the sheet's form must answer out of band")
	}
	for _, want := range []string{"Choose one", "Up to 2", "+ ₹20", "₹349", "Sold out"} {
		if !strings.Contains(textOf(form), want) {
			t.Errorf("the form does not say %q", want)
		}
	}

	v.Picked, v.Qty, v.Note, v.Error = []int64{2, 3}, 3, "less salt", "That choice is gone."
	root = parse(t, render(t, DishPage(v)))
	var values []string
	for _, n := range all(root, func(n *html.Node) bool { return n.Data == "input" && has(n, "checked") }) {
		values = append(values, attr(n, "value"))
	}
	if !slices.Equal(values, []string{"2", "3"}) || attr(mustFind(t, root, "dish-qty"), "value") != "3" {
		t.Errorf("what was chosen is lost: %v", values)
	}
	if got := firstText(root, "add-to-cart"); got != "Add · ₹1,107" {
		t.Errorf("button says %q", got)
	}
	if !strings.Contains(textOf(root), "That choice is gone.") {
		t.Error("the reason is not shown")
	}

}

func TestPickText(t *testing.T) {
	for _, c := range []struct {
		low, high int
		want      string
	}{{1, 1, "Choose one"}, {0, 3, "Up to 3"}, {2, 2, "Choose 2"}, {1, 3, "Choose 1 to 3"}} {
		if got := pickText(inEnglish, models.OptionGroup{MinPick: c.low, MaxPick: c.high}); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestOneOutletOffersOneWay(t *testing.T) {
	v := sampleMenuView()
	v.Menu.Outlet.OffersDelivery = false
	root := parse(t, render(t, MenuPage(v)))
	if n := len(all(root, func(n *html.Node) bool { return attr(n, "name") == "way" })); n != 0 {
		t.Errorf("%d ways to choose from", n)
	}
	if wayOf(v.Menu.Outlet, "delivery") != "pickup" {
		t.Error("delivery is chosen where there is none")
	}
}
