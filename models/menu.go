package models

import "time"

// Category is a section of the menu.
type Category struct {
	ID       int64
	OutletID int64
	Slug     string
	Name     string
	Tint     string
	Position int
	Items    []Item `gorm:"-"` // filled by FindMenu, in menu order
}

// Item is one dish as the menu has it now.
type Item struct {
	ID               int64
	OutletID         int64
	CategoryID       int64
	Slug             string
	Name             string
	Description      string
	Mark             string // veg, egg, nonveg
	Art              string // key of the drawn picture
	Tint             string // of the picture's tile; empty: the category's
	PricePaise       Paise
	TaxClass         string
	Bestseller       bool
	Spice            int
	DailyLimit       *int // nil: not limited
	Available        bool
	EightySixedUntil *time.Time
	Position         int
	ArchivedAt       *time.Time
	Groups           []OptionGroup `gorm:"-"` // filled by FindMenu and FindItem
	Left             *int          `gorm:"-"` // of a limited dish today; nil: not limited
	SoldOut          bool          `gorm:"-"` // judged by shop_now() when read
}

// OptionGroup is a set of choices of a dish. A variant's price replaces the dish's, an addon's is added.
type OptionGroup struct {
	ID       int64
	ItemID   int64
	Name     string
	Kind     string // variant, addon
	MinPick  int
	MaxPick  int
	Position int
	Options  []Option `gorm:"-"`
}

// Option is one choice.
type Option struct {
	ID         int64
	GroupID    int64
	Name       string
	PricePaise Paise
	Mark       string
	Available  bool
	Position   int
}

// FromPaise is the lowest price the dish can be had for: its own, or its cheapest available variant's.
func (i Item) FromPaise() Paise {
	from, found := i.PricePaise, false
	for _, g := range i.Groups {
		for _, o := range g.Options {
			if g.Kind == "variant" && o.Available && (!found || o.PricePaise < from) {
				from, found = o.PricePaise, true
			}
		}
	}
	return from
}

// HasChoices reports whether adding the dish needs or allows a choice.
func (i Item) HasChoices() bool { return len(i.Groups) > 0 }

// Menu is an outlet's menu as a page shows it.
type Menu struct {
	Outlet     Outlet
	Opening    Opening
	Categories []Category
	Popular    []Item // from paid orders of the last 30 days; empty when there are none
}
