package models

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

// Allergens are what a dish may be marked with, as the Indian labelling rules name them. The database holds the same list.
var Allergens = []string{"gluten", "crustaceans", "milk", "egg", "fish", "peanuts", "nuts", "soy", "sulphites"}

// Diet is what a visitor eats. The zero Diet eats everything.
type Diet struct {
	Veg     bool     // vegetarian only
	Egg     bool     // vegetarian and egg
	Jain    bool     // only what is marked as Jain
	Without []string // allergens, none of which may be in it
}

// IsZero reports whether nothing is filtered out.
func (d Diet) IsZero() bool { return !d.Veg && !d.Egg && !d.Jain && len(d.Without) == 0 }

func (d Diet) allows(mark string, jain bool, allergens WordList) bool {
	switch {
	case d.Jain && !jain, (d.Veg || d.Egg) && mark != "veg" && (mark != "egg" || !d.Egg):
		return false
	}
	return !slices.ContainsFunc(d.Without, func(a string) bool { return slices.Contains(allergens, a) })
}

// Narrow gives the dish with only those of its choices that fit; fits is false when it cannot be had without another.
func (d Diet) Narrow(item Item) (_ Item, fits bool) {
	if d.IsZero() {
		return item, true
	}
	if !d.allows(item.Mark, item.Jain, item.Allergens) {
		return item, false
	}
	var groups []OptionGroup
	for _, g := range item.Groups {
		g.Options = slices.DeleteFunc(slices.Clone(g.Options), func(o Option) bool { return !d.allows(o.Mark, o.Jain, o.Allergens) })
		if len(g.Options) < g.MinPick {
			return item, false
		}
		if len(g.Options) > 0 {
			groups = append(groups, g)
		}
	}
	item.Groups = groups
	return item, true
}

// refusal says what of a dish with these choices the diet leaves out: an *ErrChoice, or nil.
func (d Diet) refusal(item Item, optionIDs []int64) error {
	if !d.allows(item.Mark, item.Jain, item.Allergens) {
		return &ErrChoice{ItemID: item.ID, Dish: item.Name, Why: ChoiceFiltered}
	}
	for _, g := range item.Groups {
		for _, o := range g.Options {
			if slices.Contains(optionIDs, o.ID) && !d.allows(o.Mark, o.Jain, o.Allergens) {
				return &ErrChoice{ItemID: item.ID, Dish: item.Name, Why: ChoiceFiltered, Option: o.Name}
			}
		}
	}
	return nil
}

// WordList is a text[] column of plain words: small letters only.
type WordList []string

// Value and Scan write and read Postgres' array text.
func (l WordList) Value() (driver.Value, error) { return "{" + strings.Join(l, ",") + "}", nil }

func (l *WordList) Scan(src any) error {
	text, ok := src.(string)
	if !ok || len(text) < 2 {
		return fmt.Errorf("models: %T is not a text[]", src)
	}
	*l = nil
	if text != "{}" {
		*l = strings.Split(text[1:len(text)-1], ",")
	}
	return nil
}
