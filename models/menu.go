package models

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	Times      map[string]Times // what can be promised, by way
	Categories []Category
	Popular    []Item // from paid orders of the last 30 days; empty when there are none
}

// MenuFilter narrows a menu to what a visitor looks for.
type MenuFilter struct {
	Query   string // words, all of which must be in a dish's name, description or category; any bytes will do
	VegOnly bool   // only vegetarian dishes, and only vegetarian choices of them
}

const (
	popularLimit  = 8    // dishes on the rail
	popularOrders = 1000 // the newest paid orders that are counted: the page stays fast however much is sold
)

// FindMenu reads an outlet's menu as it stands now: its dishes with choices, what is left and what is off, and whether orders are
// taken. Categories without a dish are left out. A search leaves out Popular, since its answer is the dishes themselves.
// Errors: ErrNotFound, also for an outlet that is not active.
func (s *Store) FindMenu(ctx context.Context, outletID int64, f MenuFilter) (menu Menu, err error) {
	schedule, now, err := s.findScheduleNow(ctx, outletID, 0)
	if err != nil {
		return menu, err
	}
	if !schedule.Outlet.Active {
		return menu, fmt.Errorf("outlet %d is not active: %w", outletID, ErrNotFound)
	}
	menu.Outlet, menu.Opening, menu.Times = schedule.Outlet, schedule.At(now), map[string]Times{}
	for _, way := range []string{"delivery", "pickup"} {
		menu.Times[way] = schedule.TimesAt(now, schedule.Outlet.LeadMinutes(way), Load{Orders: 1})
	}
	var categories []Category
	if err = s.read(ctx, &categories, `SELECT * FROM categories WHERE outlet_id = ? ORDER BY position, id`, outletID); err != nil {
		return menu, fmt.Errorf("categories of outlet %d: %w", outletID, err)
	}
	items, err := s.listItems(ctx, schedule, now, 0, `outlet_id = ? AND archived_at IS NULL`, outletID)
	if err != nil {
		return menu, err
	}
	words := strings.Fields(strings.ToLower(f.Query))
	shown := map[int64]Item{}
	for _, c := range categories {
		for _, item := range items {
			if item.CategoryID != c.ID || !mentions(item, c, words) {
				continue
			}
			if f.VegOnly {
				var veg bool
				if item, veg = vegetarian(item); !veg {
					continue
				}
			}
			c.Items = append(c.Items, item)
			shown[item.ID] = item
		}
		if len(c.Items) > 0 {
			menu.Categories = append(menu.Categories, c)
		}
	}
	if len(words) > 0 {
		return menu, nil
	}
	popular, err := s.listPopular(ctx, outletID, now)
	if err != nil {
		return menu, err
	}
	for _, id := range popular {
		if item, found := shown[id]; found && !item.SoldOut && len(menu.Popular) < popularLimit {
			menu.Popular = append(menu.Popular, item)
		}
	}
	return menu, nil
}

// mentions reports whether each word is somewhere in what people read of a dish. The words are in lower case.
func mentions(item Item, c Category, words []string) bool {
	text := strings.ToLower(item.Name + "\n" + item.Description + "\n" + c.Name)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// vegetarian gives the dish with its vegetarian choices only; veg is false when it cannot be had without another.
func vegetarian(item Item) (_ Item, veg bool) {
	if item.Mark != "veg" {
		return item, false
	}
	var groups []OptionGroup
	for _, g := range item.Groups {
		g.Options = slices.DeleteFunc(slices.Clone(g.Options), func(o Option) bool { return o.Mark != "veg" })
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

// listPopular ranks dishes by pieces sold in paid orders of the last 30 days, best first. Some may be off the menu by now.
func (s *Store) listPopular(ctx context.Context, outletID int64, now time.Time) (ids []int64, err error) {
	if err = s.read(ctx, &ids, `SELECT l.item_id FROM (SELECT id FROM orders WHERE outlet_id = ? AND status = 'paid' AND paid_at > ?
			ORDER BY paid_at DESC LIMIT ?) o JOIN order_items l ON l.order_id = o.id
		GROUP BY l.item_id ORDER BY sum(l.qty) DESC, l.item_id LIMIT ?`,
		outletID, now.AddDate(0, 0, -30), popularOrders, 4*popularLimit); err != nil {
		return nil, fmt.Errorf("popular dishes of outlet %d: %w", outletID, err)
	}
	return ids, nil
}

// FindItemBySlug reads one dish of an active outlet with its choices, what is left of it and whether it is off.
// Errors: ErrNotFound, also for an archived dish and whatever bytes the slug is made of.
func (s *Store) FindItemBySlug(ctx context.Context, outletID int64, slug string) (Item, Outlet, error) {
	if !isText(slug) {
		return Item{}, Outlet{}, ErrNotFound
	}
	schedule, now, err := s.findScheduleNow(ctx, outletID, 0)
	if err != nil {
		return Item{}, Outlet{}, err
	}
	items, err := s.listItems(ctx, schedule, now, 0, `outlet_id = ? AND slug = ? AND archived_at IS NULL`, outletID, slug)
	if err != nil {
		return Item{}, Outlet{}, err
	}
	if len(items) == 0 || !schedule.Outlet.Active {
		return Item{}, Outlet{}, fmt.Errorf("dish %q of outlet %d: %w", slug, outletID, ErrNotFound)
	}
	return items[0], schedule.Outlet, nil
}

// listItems reads dishes in menu order with their choices, and judges at now what is left of each and whether it is off. What the
// unpaid order of the cart with cartID holds counts as left; 0 is no cart.
func (s *Store) listItems(ctx context.Context, schedule Schedule, now time.Time, cartID int64, where string, args ...any) (items []Item, err error) {
	if err = s.read(ctx, &items, `SELECT * FROM items WHERE `+where+` ORDER BY position, id`, args...); err != nil {
		return nil, fmt.Errorf("dishes: %w", err)
	}
	ids := make(IDList, 0, len(items))
	var limited IDList
	for _, item := range items {
		ids = append(ids, item.ID)
		if item.DailyLimit != nil {
			limited = append(limited, item.ID)
		}
	}
	groups, err := s.listGroups(ctx, ids)
	if err != nil {
		return nil, err
	}
	left, err := s.listLeft(ctx, limited, schedule.stockDay(now), cartID)
	if err != nil {
		return nil, err
	}
	for i := range items {
		item := &items[i]
		item.Groups = groups[item.ID]
		if item.DailyLimit != nil {
			n, stocked := left[item.ID]
			if !stocked {
				n = *item.DailyLimit
			}
			item.Left = &n
		}
		item.SoldOut = isOff(*item, now)
	}
	return items, nil
}

// isOff says that a dish cannot be had at now: switched off, 86'd, all gone, or a choice it needs is off.
func isOff(item Item, now time.Time) bool {
	if !item.Available || item.EightySixedUntil != nil && item.EightySixedUntil.After(now) || item.Left != nil && *item.Left <= 0 {
		return true
	}
	for _, g := range item.Groups {
		choices := 0
		for _, o := range g.Options {
			if o.Available {
				choices++
			}
		}
		if choices < g.MinPick {
			return true
		}
	}
	return false
}

// listGroups reads the choices of some dishes in menu order, by dish.
func (s *Store) listGroups(ctx context.Context, itemIDs IDList) (map[int64][]OptionGroup, error) {
	byItem := map[int64][]OptionGroup{}
	if len(itemIDs) == 0 {
		return byItem, nil
	}
	var groups []OptionGroup
	if err := s.read(ctx, &groups, `SELECT * FROM option_groups WHERE item_id = ANY (?::bigint[]) ORDER BY position, id`, itemIDs); err != nil {
		return nil, fmt.Errorf("option groups: %w", err)
	}
	if len(groups) == 0 {
		return byItem, nil
	}
	var options []Option
	if err := s.read(ctx, &options, `SELECT o.* FROM options o JOIN option_groups g ON g.id = o.group_id
		WHERE g.item_id = ANY (?::bigint[]) ORDER BY o.position, o.id`, itemIDs); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	byGroup := map[int64][]Option{}
	for _, o := range options {
		byGroup[o.GroupID] = append(byGroup[o.GroupID], o)
	}
	for _, g := range groups {
		g.Options = byGroup[g.ID]
		byItem[g.ItemID] = append(byItem[g.ItemID], g)
	}
	return byItem, nil
}

// listLeft reads what the day's stock rows leave of limited dishes, what the cart's own unpaid order holds included. A dish nobody has
// ordered that day has no row yet.
func (s *Store) listLeft(ctx context.Context, itemIDs IDList, day time.Time, cartID int64) (map[int64]int, error) {
	left := map[int64]int{}
	if len(itemIDs) == 0 {
		return left, nil
	}
	var rows []struct {
		ItemID int64
		Left   int
	}
	if err := s.read(ctx, &rows, `SELECT st.item_id, st.initial - st.held - st.sold + COALESCE(own.qty, 0) AS "left"
		FROM stock st LEFT JOIN (SELECT h.item_id, h.qty FROM orders o JOIN stock_holds h ON h.order_id = o.id
			WHERE o.cart_id = ? AND o.status = 'pending' AND h.state = 'held' AND h.day = ?::date) own ON own.item_id = st.item_id
		WHERE st.day = ?::date AND st.item_id = ANY (?::bigint[])`, cartID, day, day, itemIDs); err != nil {
		return nil, fmt.Errorf("stock: %w", err)
	}
	for _, row := range rows {
		left[row.ItemID] = row.Left
	}
	return left, nil
}

// EightySix takes a dish off the menu: until an instant, or, with nil, until RestoreItem. The later call wins over an earlier one. It is
// audited and told to the outlet's board. Safe to repeat. Errors: ErrNotFound, also for an archived dish and when the staff member has
// no say at its outlet; ErrBadInput when until has passed.
func (s *Store) EightySix(ctx context.Context, itemID int64, until *time.Time, staffID int64) error {
	deed := "until switched on"
	if until != nil {
		now, err := s.Now(ctx)
		if err != nil {
			return err
		}
		if !until.After(now) {
			return fmt.Errorf("%w: sold out until a time that has passed", ErrBadInput)
		}
		deed = "until " + until.In(India).Format(time.RFC3339)
	}
	return s.switchItem(ctx, itemID, until != nil, until, staffID, "eighty_six", deed)
}

// RestoreItem puts a dish that was 86'd back on the menu. Audited, told to the board, safe to repeat. Errors: ErrNotFound as EightySix.
func (s *Store) RestoreItem(ctx context.Context, itemID, staffID int64) error {
	return s.switchItem(ctx, itemID, true, nil, staffID, "restore_item", "")
}

func (s *Store) switchItem(ctx context.Context, itemID int64, available bool, until *time.Time, staffID int64, deed, detail string) error {
	return s.InTx(ctx, func(tx *Store) error {
		var outletID int64
		if err := tx.one(ctx, &outletID, `UPDATE items SET available = ?, eighty_sixed_until = ?
			WHERE id = ? AND archived_at IS NULL AND EXISTS (SELECT 1 FROM staff s WHERE s.id = ? AND s.active AND (s.outlet_id IS NULL OR s.outlet_id = items.outlet_id))
			RETURNING outlet_id`, available, until, itemID, staffID); err != nil {
			return fmt.Errorf("switch dish %d: %w", itemID, err)
		}
		return tx.recordDeed(ctx, staffID, deed, strings.TrimSpace(fmt.Sprintf("dish %d %s", itemID, detail)), outletID)
	})
}
