package views

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// backAt says when something that is off comes back; empty when nobody knows.
func backAt(ctx context.Context, at *time.Time, now time.Time) string {
	switch {
	case at == nil || !at.After(now):
		return ""
	case sameDay(*at, now):
		return T(ctx, "Back at %s", ShortClock(ctx, *at))
	default:
		return T(ctx, "Back %s", Upcoming(ctx, *at, now))
	}
}

// offText says why a dish cannot be had.
func offText(ctx context.Context, i models.Item) string {
	if i.NotServed {
		return T(ctx, "Not served now")
	}
	return T(ctx, "Sold out")
}

// wasPaise is what the dish's price on the menu was before a special price; 0: there is none.
func wasPaise(i models.Item) models.Paise {
	for _, g := range i.Groups {
		if g.Kind != "variant" {
			continue
		}
		for _, o := range g.Options {
			if o.Available && o.PricePaise == i.FromPaise() {
				return o.WasPaise
			}
		}
		return 0
	}
	return i.WasPaise
}

var allergenNames = map[string]string{"gluten": Key("Gluten"), "crustaceans": Key("Shellfish"), "milk": Key("Milk"), "egg": Key("Egg"), "fish": Key("Fish"), "peanuts": Key("Peanuts"),
	"nuts": Key("Tree nuts"), "soy": Key("Soy"), "sulphites": Key("Sulphites")}

func allergenName(ctx context.Context, word string) string { return T(ctx, allergenNames[word]) }

// factTexts is what is known of a dish beside its description, one short sentence each.
func factTexts(ctx context.Context, i models.Item) (facts []string) {
	if i.Mark == "egg" {
		facts = append(facts, T(ctx, "Contains egg"))
	}
	if i.Portion != "" {
		facts = append(facts, i.Portion)
	}
	if i.Calories != nil {
		facts = append(facts, T(ctx, "%s kcal", Grouped(*i.Calories)))
	}
	if i.Spice > 0 {
		facts = append(facts, T(ctx, []string{"", Key("Mildly spicy"), Key("Spicy"), Key("Very spicy")}[i.Spice]))
	}
	if i.Jain {
		facts = append(facts, T(ctx, "Jain"))
	}
	return facts
}

// allergenText names what is in the dish and its choices; empty when nothing is known to be.
func allergenText(ctx context.Context, i models.Item) string {
	var names, more []string
	for _, word := range i.Allergens {
		names = append(names, allergenName(ctx, word))
	}
	for _, g := range i.Groups {
		for _, o := range g.Options {
			for _, word := range o.Allergens {
				if !slices.Contains(i.Allergens, word) {
					more = append(more, o.Name+": "+allergenName(ctx, word))
				}
			}
		}
	}
	return strings.Join(append(names, more...), ", ")
}

// Grouped writes a count with Indian grouping.
func Grouped(n int) string { return strings.TrimPrefix(ShortRupees(models.Paise(n)*100), "₹") }

// isFiltered reports whether a filter beside Veg is on.
func isFiltered(d models.Diet) bool { return d.Egg || d.Jain || len(d.Without) > 0 }

func loadingOf(lazily bool) string {
	if lazily {
		return "lazy"
	}
	return "eager"
}

// OffText says that a dish cannot be had, and from when it can be again.
func OffText(ctx context.Context, e *models.ErrSoldOut) string {
	switch {
	case !e.NotServed:
		return T(ctx, "%s is sold out.", e.Name)
	case e.BackAt == nil:
		return T(ctx, "%s is not served now.", e.Name)
	default:
		return T(ctx, "%s is not served now, it is again from %s, %s.", e.Name, Date(ctx, *e.BackAt), ShortClock(ctx, *e.BackAt))
	}
}

// ChoiceText says why the options picked do not fit a dish.
func ChoiceText(ctx context.Context, e *models.ErrChoice) string {
	least, most := strconv.Itoa(e.Least), strconv.Itoa(e.Most)
	switch {
	case e.Why == models.ChoiceFiltered && e.Option == "":
		return T(ctx, "Your filter leaves out %s. Change the filter on the menu to add it.", e.Dish)
	case e.Why == models.ChoiceFiltered:
		return T(ctx, "%s: your filter leaves out %s. Change the filter on the menu to add it.", e.Dish, e.Option)
	case e.Why == models.ChoiceForeign:
		return T(ctx, "%s: that choice is not on the menu for this dish.", e.Dish)
	case e.Least == e.Most:
		return T(ctx, "%s: choose %s from %s.", e.Dish, most, e.Group)
	case e.Least == 0:
		return T(ctx, "%s: choose at most %s from %s.", e.Dish, most, e.Group)
	default:
		return T(ctx, "%s: choose %s to %s from %s.", e.Dish, least, most, e.Group)
	}
}
