package views

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"tiffin/models"
)

// sampleFound is what a search for a word leaves of the sample menu.
func sampleFound(word string) models.Menu {
	m := sampleMenu()
	m.Popular = nil
	var kept []models.Category
	for _, c := range m.Categories {
		var items []models.Item
		for _, i := range c.Items {
			if strings.Contains(strings.ToLower(i.Name+" "+i.Description), word) {
				items = append(items, i)
			}
		}
		if c.Items = items; len(items) > 0 {
			kept = append(kept, c)
		}
	}
	m.Categories = kept
	return m
}

// What is on is ticked, and the filters open by themselves when one of them is.
func TestFiltersShowWhatIsOn(t *testing.T) {
	v := sampleMenuView()
	closed := mustFind(t, parse(t, render(t, MenuPage(v))), "filters")
	if has(closed, "open") {
		t.Error("open without a filter")
	}
	v.Diet = models.Diet{Jain: true, Without: []string{"nuts"}}
	open := mustFind(t, parse(t, render(t, MenuPage(v))), "filters")
	var on []string
	for _, n := range all(open, func(n *html.Node) bool { return n.Data == "input" && has(n, "checked") }) {
		on = append(on, attr(n, "name")+"="+attr(n, "value"))
		if attr(n, "form") != "search" {
			t.Errorf("%s is not sent by the search form", attr(n, "name"))
		}
	}
	if strings.Join(on, " ") != "jain=1 without=nuts" || !has(open, "open") {
		t.Errorf("ticked: %v", on)
	}
	if n := len(byTestID(open, "filter-without")); n != len(models.Allergens) {
		t.Errorf("%d allergens to leave out", n)
	}
	for _, word := range models.Allergens {
		if allergenName(inEnglish, word) == "" {
			t.Errorf("%s has no name", word)
		}
	}
}

// india.md 5.2: allergens, calories and portion where they are given; a special price with the old one struck through and said.
func TestDishSaysWhatIsInIt(t *testing.T) {
	calories := 1240
	i := sampleItem("paneer-tikka")
	i.Jain, i.Spice, i.Portion, i.Calories, i.Allergens, i.WasPaise = true, 2, "Eight pieces", &calories, models.WordList{"milk", "nuts"}, 32900
	i.Groups = []models.OptionGroup{{ID: 9, Name: "Dips", Kind: "addon", MaxPick: 2, Options: []models.Option{{ID: 90, Name: "Garlic mayonnaise", Mark: "egg", Available: true, Allergens: models.WordList{"egg", "milk"}}}}}
	root := parse(t, render(t, DishPage(DishView{Page: samplePage(""), Item: i, Hidden: true})))
	if got := firstText(root, "facts"); got != "Eight pieces 1,240 kcal Spicy Jain" {
		t.Errorf("facts %q", got)
	}
	if got := firstText(root, "allergens"); got != "Contains: Milk, Tree nuts, Garlic mayonnaise: Egg." {
		t.Errorf("allergens %q", got)
	}
	struck := all(root, func(n *html.Node) bool { return n.Data == "s" })
	if len(struck) != 1 || textOf(struck[0]) != "Earlier price: ₹329" {
		t.Errorf("%d prices struck through", len(struck))
	}
	if firstText(root, "hidden") == "" {
		t.Error("a dish the filter leaves out does not say so")
	}
	plain := parse(t, render(t, DishPage(DishView{Page: samplePage(""), Item: sampleItem("paneer-tikka")})))
	if len(byTestID(plain, "allergens"))+len(byTestID(plain, "hidden")) != 0 || len(all(plain, func(n *html.Node) bool { return n.Data == "s" })) != 0 {
		t.Error("a dish says what nobody told it")
	}

	// The photo stands in for the drawing, in both sizes.
	hash := strings.Repeat("ab", 16)
	i.Photo = &hash
	shot := all(parse(t, render(t, DishPage(DishView{Page: samplePage(""), Item: i}))), func(n *html.Node) bool { return attr(n, "class") == "photo" })
	if len(shot) != 1 || attr(shot[0], "src") != "/photos/"+hash+"-640.jpg" || attr(shot[0], "alt") != "" {
		t.Errorf("%d photos", len(shot))
	}
}

func TestOffSaysWhenItIsBack(t *testing.T) {
	now := samplePage("").Now
	back := now.Add(time.Hour)
	for want, i := range map[string]models.Item{
		"Sold out": {SoldOut: true},
		"Not served now · Back at " + ShortClock(inEnglish, back): {SoldOut: true, NotServed: true, BackAt: &back},
	} {
		if got := soldOutText(inEnglish, DishView{Page: samplePage(""), Item: i}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := OffText(inEnglish, &models.ErrSoldOut{Name: "Dosa", NotServed: true, BackAt: &back}); !strings.HasPrefix(got, "Dosa is not served now, it is again from ") {
		t.Errorf("%q", got)
	}
}
