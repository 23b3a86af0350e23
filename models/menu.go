package models

import (
	"context"
	"encoding/json"
	"errors"
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
	Jain             bool
	Allergens        WordList      // of Allergens; a combo's parts' among them
	Portion          string        // for people: "Serves 2"; empty: not given
	Calories         *int          // kcal of one portion; nil: not given
	Photo            *string       // its hash; nil: the drawn picture
	Groups           []OptionGroup `gorm:"-"` // filled by FindMenu and FindItem
	Windows          []MenuWindow  `gorm:"-"` // its own and its category's
	Parts            []ItemPart    `gorm:"-"` // what a combo is made of
	WasPaise         Paise         `gorm:"-"` // the price without the special one that PricePaise is; 0: no special price is in force
	Left             *int          `gorm:"-"` // of a limited dish today, or of what a combo is made of; nil: not limited
	SoldOut          bool          `gorm:"-"` // cannot be had; judged by shop_now() when read
	NotServed        bool          `gorm:"-"` // because it is outside its windows
	BackAt           *time.Time    `gorm:"-"` // when a dish that is SoldOut can be had again; nil: nobody knows
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
	Available  bool // when read for a menu or a price list: also not all gone, and its part of a combo can be had
	Position   int
	Jain       bool
	Allergens  WordList
	DailyLimit *int  // of this choice by itself; nil: not limited
	WasPaise   Paise `gorm:"-"` // as Item's
	Left       *int  `gorm:"-"`
}

// ItemPart is a dish that a combo is made of.
type ItemPart struct {
	ItemID       int64
	OptionID     *int64 // only with this choice of the combo; nil: always
	PartItemID   int64
	PartOptionID *int64 // the part's variant
	Qty          int
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
	Query string // words, each of which must be in, or be much like one in, a dish's names, description or category; any bytes will do
	Diet  Diet   // only dishes that fit, and only choices of them that do
}

const (
	popularLimit  = 8    // dishes on the rail
	popularOrders = 1000 // the newest paid orders that are counted: the page stays fast however much is sold
)

// FindMenu reads an outlet's menu as it stands now: its dishes with choices, what is left and what is off, and whether orders are
// taken. Categories without a dish are left out. A search puts the best match first, and its category, and leaves out Popular, since its
// answer is the dishes themselves. Popular is never a single dish. Errors: ErrNotFound, also for an outlet that is not active.
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
	var score map[int64]float64
	if len(words) > 0 {
		if score, err = s.searchItems(ctx, outletID, words); err != nil {
			return menu, err
		}
	}
	shown := map[int64]Item{}
	for _, c := range categories {
		for _, item := range items {
			if _, found := score[item.ID]; item.CategoryID != c.ID || len(words) > 0 && !found {
				continue
			}
			if narrowed, fits := f.Diet.Narrow(item); fits {
				c.Items = append(c.Items, narrowed)
				shown[item.ID] = narrowed
			}
		}
		if len(c.Items) > 0 {
			menu.Categories = append(menu.Categories, c)
		}
	}
	if len(words) > 0 {
		rank(menu.Categories, score)
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
	if len(menu.Popular) < 2 {
		menu.Popular = nil
	}
	return menu, nil
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
	items, err := s.listItems(ctx, schedule, now, 0, `id IN (SELECT id FROM items WHERE outlet_id = ? AND slug = ? UNION
		SELECT p.part_item_id FROM items i JOIN item_parts p ON p.item_id = i.id WHERE i.outlet_id = ? AND i.slug = ?)`, outletID, slug, outletID, slug)
	if err != nil {
		return Item{}, Outlet{}, err
	}
	at := slices.IndexFunc(items, func(i Item) bool { return i.Slug == slug && i.ArchivedAt == nil })
	if at < 0 || !schedule.Outlet.Active {
		return Item{}, Outlet{}, fmt.Errorf("dish %q of outlet %d: %w", slug, outletID, ErrNotFound)
	}
	return items[at], schedule.Outlet, nil
}

// listItems reads dishes in menu order with their choices, and judges at now what each costs, what is left of it and whether it is off.
// A combo is judged by those of its parts that are read along, and is off without the others. What the unpaid order of the cart with
// cartID holds counts as left; 0 is no cart.
func (s *Store) listItems(ctx context.Context, schedule Schedule, now time.Time, cartID int64, where string, args ...any) (items []Item, err error) {
	if err = s.read(ctx, &items, `SELECT * FROM items WHERE `+where+` ORDER BY position, id`, args...); err != nil {
		return nil, fmt.Errorf("dishes: %w", err)
	}
	if len(items) == 0 {
		return nil, nil
	}
	ids := make(IDList, 0, len(items))
	byID := map[int64]*Item{}
	for i := range items {
		ids = append(ids, items[i].ID)
		byID[items[i].ID] = &items[i]
	}
	groups, err := s.listGroups(ctx, ids)
	if err != nil {
		return nil, err
	}
	facts, err := s.listFacts(ctx, ids, schedule.stockDay(now), now, cartID)
	if err != nil {
		return nil, err
	}
	for i := range items {
		items[i].Groups = groups[items[i].ID]
		facts.tell(&items[i], now)
	}
	for i := range items {
		if len(items[i].Parts) > 0 {
			items[i].judgeParts(byID)
		}
		items[i].SoldOut = items[i].SoldOut || lacksChoice(items[i])
	}
	return items, nil
}

// facts is what is known of some dishes beside their own rows, at one instant.
type facts struct {
	Left []struct {
		unit
		Left int
	}
	Windows []struct {
		DishID int64
		MenuWindow
	}
	Specials []struct {
		unit
		PricePaise Paise
	}
	Parts []ItemPart
}

// unit is what a day's stock is counted of: a dish (OptionID 0) or one choice of it.
type unit struct{ ItemID, OptionID int64 }

// listFacts reads it all in one statement. Special prices are those in force at now; stock is the day's, what the cart's own unpaid order
// holds included, and lacks what nobody has ordered that day.
func (s *Store) listFacts(ctx context.Context, ids IDList, day, now time.Time, cartID int64) (f facts, err error) {
	var row struct{ Stock, Windows, Specials, Parts string }
	if err = s.one(ctx, &row, `WITH dishes AS (SELECT id, category_id FROM items WHERE id = ANY (CAST(@ids AS bigint[])))
		SELECT (SELECT COALESCE(json_agg(json_build_object('ItemID', st.item_id, 'OptionID', st.option_id, 'Left', st.initial - st.held - st.sold + COALESCE(own.qty, 0))), '[]')
				FROM stock st LEFT JOIN (SELECT h.item_id, h.option_id, h.qty FROM orders o JOIN stock_holds h ON h.order_id = o.id
					WHERE o.cart_id = @cart AND o.status = 'pending' AND h.state = 'held' AND h.day = CAST(@day AS date)) own USING (item_id, option_id)
				WHERE st.day = CAST(@day AS date) AND st.item_id IN (SELECT id FROM dishes)) AS stock,
			(SELECT COALESCE(json_agg(json_build_object('DishID', d.id, 'ID', w.id, 'ItemID', w.item_id, 'CategoryID', w.category_id, 'Weekdays', w.weekdays,
					'OpensMinute', w.opens_minute, 'ClosesMinute', w.closes_minute, 'StartsOn', w.starts_on, 'EndsOn', w.ends_on) ORDER BY w.id), '[]')
				FROM menu_windows w JOIN dishes d ON w.item_id = d.id OR w.category_id = d.category_id) AS windows,
			(SELECT COALESCE(json_agg(json_build_object('ItemID', p.item_id, 'OptionID', COALESCE(p.option_id, 0), 'PricePaise', p.price_paise) ORDER BY p.starts_at, p.id), '[]')
				FROM special_prices p WHERE p.item_id IN (SELECT id FROM dishes) AND p.starts_at <= @now AND p.ends_at > @now) AS specials,
			(SELECT COALESCE(json_agg(json_build_object('ItemID', p.item_id, 'OptionID', p.option_id, 'PartItemID', p.part_item_id, 'PartOptionID', p.part_option_id, 'Qty', p.qty) ORDER BY p.id), '[]')
				FROM item_parts p WHERE p.item_id IN (SELECT id FROM dishes)) AS parts`,
		map[string]any{"ids": ids, "day": day, "now": now, "cart": cartID}); err != nil {
		return f, fmt.Errorf("what is known of dishes: %w", err)
	}
	err = errors.Join(json.Unmarshal([]byte(row.Stock), &f.Left), json.Unmarshal([]byte(row.Windows), &f.Windows),
		json.Unmarshal([]byte(row.Specials), &f.Specials), json.Unmarshal([]byte(row.Parts), &f.Parts))
	return f, err
}

// tell writes onto the dish what is known of it alone.
func (f facts) tell(item *Item, now time.Time) {
	left := func(u unit, limit *int) *int {
		if limit == nil {
			return nil
		}
		n := *limit
		for _, row := range f.Left {
			if row.unit == u {
				n = row.Left
			}
		}
		return &n
	}
	for _, w := range f.Windows {
		if w.DishID == item.ID {
			item.Windows = append(item.Windows, w.MenuWindow)
		}
	}
	for _, p := range f.Parts {
		if p.ItemID == item.ID {
			item.Parts = append(item.Parts, p)
		}
	}
	item.Left = left(unit{ItemID: item.ID}, item.DailyLimit)
	for g := range item.Groups {
		for o := range item.Groups[g].Options {
			option := &item.Groups[g].Options[o]
			option.Left = left(unit{item.ID, option.ID}, option.DailyLimit)
			option.Available = option.Available && (option.Left == nil || *option.Left > 0)
		}
	}
	for _, special := range f.Specials { // the last one counts
		if special.ItemID == item.ID {
			item.reprice(special.OptionID, special.PricePaise)
		}
	}
	item.NotServed = !item.ServedAt(now)
	off := item.EightySixedUntil != nil && item.EightySixedUntil.After(now)
	item.SoldOut = !item.Available || off || item.NotServed || item.Left != nil && *item.Left <= 0
	switch {
	case !item.Available:
	case off && item.ServedAt(*item.EightySixedUntil):
		item.BackAt = item.EightySixedUntil
	case off:
		item.BackAt = item.servedAgain(*item.EightySixedUntil)
	case item.NotServed:
		item.BackAt = item.servedAgain(now)
	}
}

// reprice sets a special price of the dish (0) or of one of its choices.
func (i *Item) reprice(optionID int64, price Paise) {
	if optionID == 0 {
		i.WasPaise, i.PricePaise = special(i.WasPaise, i.PricePaise, price)
	}
	for g := range i.Groups {
		for o := range i.Groups[g].Options {
			if option := &i.Groups[g].Options[o]; option.ID == optionID {
				option.WasPaise, option.PricePaise = special(option.WasPaise, option.PricePaise, price)
			}
		}
	}
}

// special gives what was and what is, whichever special price came before. One that is no other price was none.
func special(was, is, price Paise) (Paise, Paise) {
	if was == 0 {
		was = is
	}
	if was == price {
		was = 0
	}
	return was, price
}

// judgeParts makes a combo what its parts are: off when one is, no more of it than its parts allow, and with their allergens and mark.
func (i *Item) judgeParts(byID map[int64]*Item) {
	i.Groups = slices.Clone(i.Groups)
	for g := range i.Groups {
		i.Groups[g].Options = slices.Clone(i.Groups[g].Options)
	}
	for _, p := range i.Parts {
		part, known := byID[p.PartItemID]
		var chosen *Option
		if known && p.PartOptionID != nil {
			if chosen = part.option(*p.PartOptionID); chosen == nil {
				known = false
			}
		}
		most, had := partLeft(part, chosen, p.Qty), known && !part.SoldOut && part.ArchivedAt == nil && (chosen == nil || chosen.Available)
		had = had && (most == nil || *most > 0)
		mark, jain, allergens := "veg", true, WordList(nil)
		if known {
			mark, jain, allergens = part.Mark, part.Jain, part.Allergens
			if chosen != nil {
				mark, jain, allergens = worseMark(mark, chosen.Mark), jain && chosen.Jain, joinWords(allergens, chosen.Allergens)
			}
		}
		if p.OptionID != nil {
			if o := i.option(*p.OptionID); o != nil {
				o.Available, o.Mark, o.Jain, o.Allergens = o.Available && had, worseMark(o.Mark, mark), o.Jain && jain, joinWords(o.Allergens, allergens)
			}
			continue
		}
		i.Mark, i.Jain, i.Allergens = worseMark(i.Mark, mark), i.Jain && jain, joinWords(i.Allergens, allergens)
		if most != nil && (i.Left == nil || *most < *i.Left) {
			i.Left = most
		}
		if !had {
			i.SoldOut = true
			if known && i.BackAt == nil {
				i.BackAt = part.BackAt
			}
		}
	}
}

// partLeft is how many times qty of the part, or of its choice, are left; nil: not limited.
func partLeft(part *Item, chosen *Option, qty int) (most *int) {
	for _, left := range []*int{leftOf(part), optionLeft(chosen)} {
		if left != nil {
			if n := *left / qty; most == nil || n < *most {
				most = &n
			}
		}
	}
	return most
}

func leftOf(i *Item) *int {
	if i == nil {
		return nil
	}
	return i.Left
}

func optionLeft(o *Option) *int {
	if o == nil {
		return nil
	}
	return o.Left
}

func joinWords(a, b WordList) WordList {
	joined := slices.Concat(a, b)
	slices.Sort(joined)
	return slices.Compact(joined)
}

func (i *Item) option(id int64) *Option {
	for g := range i.Groups {
		for o := range i.Groups[g].Options {
			if i.Groups[g].Options[o].ID == id {
				return &i.Groups[g].Options[o]
			}
		}
	}
	return nil
}

// lacksChoice says that a choice the dish needs is off.
func lacksChoice(item Item) bool {
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
	var rows []struct {
		OptionGroup `gorm:"embedded;embeddedPrefix:g_"`
		Option      `gorm:"embedded"`
	}
	byItem := map[int64][]OptionGroup{}
	if err := s.read(ctx, &rows, `SELECT o.*, g.id AS g_id, g.item_id AS g_item_id, g.name AS g_name, g.kind AS g_kind, g.min_pick AS g_min_pick, g.max_pick AS g_max_pick, g.position AS g_position
		FROM option_groups g JOIN options o ON o.group_id = g.id WHERE g.item_id = ANY (?::bigint[]) ORDER BY g.position, g.id, o.position, o.id`, itemIDs); err != nil {
		return nil, fmt.Errorf("choices: %w", err)
	}
	for _, row := range rows {
		groups := byItem[row.OptionGroup.ItemID]
		if len(groups) == 0 || groups[len(groups)-1].ID != row.OptionGroup.ID {
			groups = append(groups, row.OptionGroup)
		}
		last := &groups[len(groups)-1]
		last.Options = append(last.Options, row.Option)
		byItem[row.OptionGroup.ItemID] = groups
	}
	return byItem, nil
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
