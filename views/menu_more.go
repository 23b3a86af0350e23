package views

import (
	"slices"
	"strings"
	"time"

	"tiffin/models"
)

// backAt says when something that is off comes back; empty when nobody knows.
func backAt(at *time.Time, now time.Time) string {
	switch {
	case at == nil || !at.After(now):
		return ""
	case sameDay(*at, now):
		return "Back at " + ShortClock(*at)
	default:
		return "Back " + Upcoming(*at, now)
	}
}

// offText says why a dish cannot be had.
func offText(i models.Item) string {
	if i.NotServed {
		return "Not served now"
	}
	return "Sold out"
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

var allergenNames = map[string]string{"gluten": "Gluten", "crustaceans": "Shellfish", "milk": "Milk", "egg": "Egg", "fish": "Fish", "peanuts": "Peanuts", "nuts": "Tree nuts", "soy": "Soy", "sulphites": "Sulphites"}

func allergenName(word string) string { return allergenNames[word] }

// factTexts is what is known of a dish beside its description, one short sentence each.
func factTexts(i models.Item) (facts []string) {
	if i.Mark == "egg" {
		facts = append(facts, "Contains egg")
	}
	if i.Portion != "" {
		facts = append(facts, i.Portion)
	}
	if i.Calories != nil {
		facts = append(facts, Grouped(*i.Calories)+" kcal")
	}
	if i.Spice > 0 {
		facts = append(facts, []string{"", "Mildly spicy", "Spicy", "Very spicy"}[i.Spice])
	}
	if i.Jain {
		facts = append(facts, "Jain")
	}
	return facts
}

// allergenText names what is in the dish and its choices; empty when nothing is known to be.
func allergenText(i models.Item) string {
	var names, more []string
	for _, word := range i.Allergens {
		names = append(names, allergenName(word))
	}
	for _, g := range i.Groups {
		for _, o := range g.Options {
			for _, word := range o.Allergens {
				if !slices.Contains(i.Allergens, word) {
					more = append(more, o.Name+": "+allergenName(word))
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

// OffText says that a dish cannot be had, and from when it can be again, without a full stop.
func OffText(e *models.ErrSoldOut) string {
	switch {
	case !e.NotServed:
		return e.Name + " is sold out"
	case e.BackAt == nil:
		return e.Name + " is not served now"
	default:
		return e.Name + " is not served now, it is again from " + Date(*e.BackAt) + ", " + ShortClock(*e.BackAt)
	}
}
