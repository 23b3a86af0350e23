package views

import (
	"slices"
	"strconv"

	"tiffin/models"
)

// isRadio reports whether exactly one option must be chosen. Its field is then option.<group id>, or two such groups of a dish would be
// one to the browser; other groups send option, once per choice.
func isRadio(g models.OptionGroup) bool { return g.MinPick == 1 && g.MaxPick == 1 }

func pickText(g models.OptionGroup) string {
	switch {
	case isRadio(g):
		return "Choose one"
	case g.MinPick == 0:
		return "Up to " + strconv.Itoa(g.MaxPick)
	case g.MinPick == g.MaxPick:
		return "Choose " + strconv.Itoa(g.MinPick)
	default:
		return "Choose " + strconv.Itoa(g.MinPick) + " to " + strconv.Itoa(g.MaxPick)
	}
}

// pickedOf is what the form shows as chosen: what was sent, else the cheapest option of each group where one must be.
func pickedOf(v DishView) []int64 {
	if v.Picked != nil {
		return v.Picked
	}
	var picked []int64
	for _, g := range v.Item.Groups {
		if !isRadio(g) {
			continue
		}
		best := -1
		for n, o := range g.Options {
			if o.Available && (best < 0 || o.PricePaise < g.Options[best].PricePaise) {
				best = n
			}
		}
		if best >= 0 {
			picked = append(picked, g.Options[best].ID)
		}
	}
	return picked
}

// basePaise is the part of the price that no option replaces.
func basePaise(i models.Item) models.Paise {
	if slices.ContainsFunc(i.Groups, func(g models.OptionGroup) bool { return g.Kind == "variant" }) {
		return 0
	}
	return i.PricePaise
}

// pickedPaise is what the button shows before script follows each change. It is only shown: models.PriceCart says what is charged.
func pickedPaise(i models.Item, picked []int64) models.Paise {
	sum := basePaise(i)
	for _, g := range i.Groups {
		for _, o := range g.Options {
			if slices.Contains(picked, o.ID) {
				sum += o.PricePaise
			}
		}
	}
	return sum
}

func optionPrice(g models.OptionGroup, o models.Option) string {
	switch {
	case !o.Available:
		return "Sold out"
	case o.Left != nil && *o.Left <= fewLeft:
		return "Only " + strconv.Itoa(*o.Left) + " left, " + ShortRupees(o.PricePaise)
	case g.Kind == "variant":
		return ShortRupees(o.PricePaise)
	case o.PricePaise == 0:
		return "Free"
	default:
		return "+ " + ShortRupees(o.PricePaise)
	}
}

func soldOutText(v DishView) string {
	if back := backText(v.Item, v.Page.Now); back != "" {
		return offText(v.Item) + ". " + back + "."
	}
	return offText(v.Item) + "."
}
