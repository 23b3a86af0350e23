package views

import (
	"context"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"tiffin/models"
)

// isRadio reports whether exactly one option must be chosen. Its field is then option.<group id>, or two such groups of a dish would be
// one to the browser; other groups send option, once per choice.
func isRadio(g models.OptionGroup) bool { return g.MinPick == 1 && g.MaxPick == 1 }

func pickText(ctx context.Context, g models.OptionGroup) string {
	least, most := strconv.Itoa(g.MinPick), strconv.Itoa(g.MaxPick)
	switch {
	case isRadio(g):
		return T(ctx, "Choose one")
	case g.MinPick == 0:
		return T(ctx, "Up to %s", most)
	case g.MinPick == g.MaxPick:
		return T(ctx, "Choose %s", least)
	default:
		return T(ctx, "Choose %s to %s", least, most)
	}
}

// atLeast is what the page's script says while too few are ticked.
func atLeast(ctx context.Context, g models.OptionGroup) templ.Attributes {
	if g.MinPick == 0 || isRadio(g) {
		return nil
	}
	return templ.Attributes{"data-few": T(ctx, "Choose at least %s.", strconv.Itoa(g.MinPick))}
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

func optionPrice(ctx context.Context, g models.OptionGroup, o models.Option) string {
	switch {
	case !o.Available:
		return T(ctx, "Sold out")
	case o.Left != nil && *o.Left <= fewLeft:
		return T(ctx, "Only %d left, %s", *o.Left, ShortRupees(o.PricePaise))
	case g.Kind == "variant":
		return ShortRupees(o.PricePaise)
	case o.PricePaise == 0:
		return T(ctx, "Free")
	default:
		return "+ " + ShortRupees(o.PricePaise)
	}
}

func soldOutText(ctx context.Context, v DishView) string {
	return dotted(offText(ctx, v.Item), backText(ctx, v.Item, v.Page.Now))
}
