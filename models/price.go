package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// PriceList is what one outlet charges at one instant: dishes, choices, tax rates, packaging, delivery bands, all as in force.
// Store.PriceList reads it; PriceCart is its only reader.
type PriceList struct {
	OutletID      int64
	TaxMode       string
	RoundsToRupee bool
	Items         map[int64]Item
	TaxRates      map[string]TaxRate // by tax class
	Packaging     PackagingFee
	Bands         []DeliveryBand // nearest first
	Coupon        *Coupon        // the cart's; nil: it has none
	ReadAt        time.Time      // the instant all this was in force
}

// TaxRate is the rate of one tax class, in halves.
type TaxRate struct {
	TaxClass string
	CGSTBP   BasisPoints `gorm:"column:cgst_bp"`
	SGSTBP   BasisPoints `gorm:"column:sgst_bp"`
}

// PackagingFee is charged per order and per piece.
type PackagingFee struct {
	PerOrderPaise Paise
	PerPiecePaise Paise
	TaxClass      string
}

// DeliveryBand is the fee up to a distance. MinimumPaise and FreeAbovePaise speak of the item total.
type DeliveryBand struct {
	UpToMetres     int
	FeePaise       Paise
	MinimumPaise   Paise
	FreeAbovePaise *Paise // nil: never free
	TaxClass       string
}

// Destination is where a cart goes. For delivery, DistanceMetres and Band nil mean that the place is not known yet (no fee in the quote)
// and Served false that the outlet does not deliver there.
type Destination struct {
	Way            string // delivery, pickup
	PIN            string
	DistanceMetres *int
	Band           *DeliveryBand // of the zone the place lies in; nil: the nearest band of the tariff
	Served         bool
}

// Quote is a bill: the lines, the taxes per class, and the sums in the order people read them.
type Quote struct {
	OutletID          int64
	Way               string
	TaxMode           string
	DistanceMetres    *int
	DeliveryKnown     bool // false: delivery was asked for and the place is not known yet
	Lines             []QuoteLine
	Taxes             []QuoteTax // one per tax class, sorted by class
	SubtotalPaise     Paise
	DiscountPaise     Paise
	PackagingPaise    Paise
	DeliveryPaise     Paise
	DeliveryWasPaise  Paise // the band's fee when FreeAbove made it nothing
	DeliveryFreePaise Paise // add so much more and delivery is free; 0: it is, or never will be
	CGSTPaise         Paise
	SGSTPaise         Paise
	TipPaise          Paise
	RoundOffPaise     Paise
	AmountPaise       Paise
	Coupon            string     // whose discount it is; empty: none
	CouponProblem     *ErrCoupon `json:"-"` // why the cart's coupon takes nothing off
}

// QuoteLine is one line of a bill. A line with a Problem costs nothing and cannot be bought.
type QuoteLine struct {
	CartLineID        int64 `json:"-"`
	ItemID            int64
	OptionIDs         []int64
	Slug              string
	Name              string
	Mark              string // the worst of dish and options
	Art               string `json:"-"`
	Tint              string `json:"-"`
	TaxClass          string
	Options           []QuoteOption
	UnitPricePaise    Paise // the dish, or its variant
	OptionsPricePaise Paise // of one piece
	WasPaise          Paise `json:"-"` // UnitPricePaise without the special price it is; 0: it is none
	Qty               int
	LineTotalPaise    Paise
	DiscountPaise     Paise // its share of the bill's discount
	Note              string
	SeenPaise         Paise `json:"-"` // what one cost when it was added
	Problem           error `json:"-"` // *ErrSoldOut, *ErrChoice or ErrNotFound
}

// PriceChanged reports whether one piece costs something else than when it was added. It only informs.
func (l QuoteLine) PriceChanged() bool {
	return l.Problem == nil && l.SeenPaise != l.UnitPricePaise+l.OptionsPricePaise
}

// QuoteOption is a choice on a line, as bought.
type QuoteOption struct {
	OptionID   int64
	GroupName  string
	Name       string
	Kind       string
	PricePaise Paise
}

// QuoteTax is the tax of one class on its taxable value.
type QuoteTax struct {
	TaxClass     string
	TaxablePaise Paise
	CGSTBP       BasisPoints `gorm:"column:cgst_bp"`
	SGSTBP       BasisPoints `gorm:"column:sgst_bp"`
	CGSTPaise    Paise       `gorm:"column:cgst_paise"`
	SGSTPaise    Paise       `gorm:"column:sgst_paise"`
}

// LeastPayablePaise is Razorpay's least amount of an order in rupees (Docs-Aug "Create an Order"); orders_minimum_check holds it too.
const LeastPayablePaise Paise = 100

// Digest names exactly this bill: lines, options, quantities, every sum. The review form carries it so that a bill which changed
// since it was shown is asked about again. It is compared, never trusted.
func (q Quote) Digest() string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("models: a quote is plain data: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// PriceCart is the only place that computes a total. It is pure: no clock, no database. All sums are integer paise.
//
// Rules: a variant's price replaces the dish's, addons are added per piece; a coupon takes off the dishes, spread over the lines in
// proportion; packaging is per order and per piece; delivery is the nearest band that reaches, its minimum and its free delivery judged
// before the discount; CGST and SGST are each computed on the taxable value of a tax class (lines less discount, and fees of that class),
// half up to the paisa; the tip bears no tax; the round-off makes whole rupees when the outlet rounds. A coupon that takes nothing off
// stops nothing: the bill says why.
//
// It always returns the bill as far as it can be told, and with it the first thing that stops it from being bought:
// ErrEmptyCart, ErrOtherOutlet, a line's *ErrSoldOut, *ErrChoice or ErrNotFound, or *ErrDelivery.
func PriceCart(list PriceList, cart Cart, to Destination) (Quote, error) {
	q := Quote{OutletID: list.OutletID, Way: to.Way, TaxMode: list.TaxMode, DeliveryKnown: true}
	if len(cart.Lines) == 0 { // no cart at all is an empty one, whichever outlet's
		return q, ErrEmptyCart
	}
	if cart.OutletID != list.OutletID {
		return q, ErrOtherOutlet
	}
	if len(cart.Lines) > MaxLines {
		return q, fmt.Errorf("%w: a cart has at most %d lines", ErrBadInput, MaxLines)
	}

	var first error
	taxable := map[string]Paise{}
	pieces := 0
	wanted := map[unit]int{} // of each limited dish and choice, over all lines
	for _, l := range cart.Lines {
		line := priceLine(list, l, wanted)
		if line.Problem != nil {
			first = firstError(first, line.Problem)
		} else {
			q.SubtotalPaise += line.LineTotalPaise
			pieces += line.Qty
		}
		q.Lines = append(q.Lines, line)
	}

	if list.Coupon != nil && pieces > 0 {
		q.discount(*list.Coupon, list.ReadAt)
	}
	for _, line := range q.Lines {
		taxable[line.TaxClass] += line.LineTotalPaise - line.DiscountPaise
	}

	if pieces > 0 {
		q.PackagingPaise = list.Packaging.PerOrderPaise + list.Packaging.PerPiecePaise*Paise(pieces)
		taxable[list.Packaging.TaxClass] += q.PackagingPaise
	}
	if to.Way == "delivery" {
		band, err := priceDelivery(list.Bands, to, &q)
		first = firstError(first, err)
		taxable[band.TaxClass] += q.DeliveryPaise
	}
	if pieces > 0 {
		q.TipPaise = cart.TipPaise
	}
	if list.TaxMode == "regular" {
		if err := q.tax(list.TaxRates, taxable); err != nil {
			return q, err
		}
	}
	q.AmountPaise = q.SubtotalPaise - q.DiscountPaise + q.PackagingPaise + q.DeliveryPaise + q.CGSTPaise + q.SGSTPaise + q.TipPaise
	if list.RoundsToRupee {
		q.RoundOffPaise = RoundOff(q.AmountPaise)
		q.AmountPaise += q.RoundOffPaise
	}
	return q, first
}

// discount takes the coupon off the dishes, each line bearing its part, so that tax is charged on what is left of each.
func (q *Quote) discount(coupon Coupon, at time.Time) {
	off, problem := coupon.Discount(q.SubtotalPaise, at)
	if problem != nil {
		q.CouponProblem = problem
		return
	}
	// By tax class first, so that the tax does not depend on the order of the lines.
	totals, lines := map[string]Paise{}, map[string][]int{}
	for i, l := range q.Lines {
		totals[l.TaxClass] += l.LineTotalPaise
		lines[l.TaxClass] = append(lines[l.TaxClass], i)
	}
	classes := slices.Sorted(maps.Keys(totals))
	over := make([]Paise, len(classes))
	for n, class := range classes {
		over[n] = totals[class]
	}
	for n, part := range spread(off, over) {
		within := lines[classes[n]]
		each := make([]Paise, len(within))
		for k, i := range within {
			each[k] = q.Lines[i].LineTotalPaise
		}
		for k, share := range spread(part, each) {
			q.Lines[within[k]].DiscountPaise = share
		}
	}
	q.DiscountPaise, q.Coupon = off, coupon.Code
}

func firstError(first, next error) error {
	if first != nil {
		return first
	}
	return next
}

func priceLine(list PriceList, l CartLine, wanted map[unit]int) QuoteLine {
	line := QuoteLine{CartLineID: l.ID, ItemID: l.ItemID, OptionIDs: l.OptionIDs, Qty: l.Qty, Note: l.Note, SeenPaise: l.SeenPaise, Mark: "veg"}
	item, known := list.Items[l.ItemID]
	if !known {
		line.Problem = ErrNotFound
		return line
	}
	line.Slug, line.Name, line.Mark, line.Art, line.Tint, line.TaxClass = item.Slug, item.Name, item.Mark, item.Art, item.Tint, item.TaxClass
	if l.Qty < 1 || l.Qty > MaxLineQty || item.PricePaise < 0 {
		line.Problem = fmt.Errorf("%w: quantity %d", ErrBadInput, l.Qty)
		return line
	}
	if line.Problem = soldOut(list, item, l, wanted); line.Problem != nil {
		return line
	}
	line.UnitPricePaise, line.WasPaise = item.PricePaise, item.WasPaise
	picked, err := item.Pick(l.OptionIDs)
	if err != nil {
		line.Problem = err
		return line
	}
	for _, p := range picked {
		if p.PricePaise < 0 {
			line.Problem = fmt.Errorf("%w: option %d costs %d paise", ErrBadInput, p.OptionID, p.PricePaise)
			return line
		}
		line.Options = append(line.Options, p.QuoteOption)
		line.Mark = worseMark(line.Mark, p.mark)
		if p.Kind == "variant" {
			line.UnitPricePaise, line.WasPaise = p.PricePaise, p.was
		} else {
			line.OptionsPricePaise += p.PricePaise
		}
	}
	line.LineTotalPaise = (line.UnitPricePaise + line.OptionsPricePaise) * Paise(l.Qty)
	return line
}

// soldOut says that the dish is off, or that fewer of it, of its choices or of its parts are left than all lines together want.
func soldOut(list PriceList, item Item, l CartLine, wanted map[unit]int) error {
	if item.SoldOut || !item.Available || item.ArchivedAt != nil {
		return &ErrSoldOut{ItemID: item.ID, Name: item.Name, NotServed: item.NotServed, BackAt: item.BackAt}
	}
	short := false
	least := math.MaxInt
	for u, each := range takes(item, l.OptionIDs) {
		wanted[u] += each * l.Qty
		counted := list.Items[u.ItemID]
		left := counted.Left
		if u.OptionID != 0 {
			left = optionLeft(counted.option(u.OptionID))
		}
		if left != nil {
			short = short || wanted[u] > *left
			least = min(least, *left/each)
		}
	}
	if short {
		return &ErrSoldOut{ItemID: item.ID, Name: item.Name, Left: least}
	}
	return nil
}

// takes is what one piece of a dish with these choices takes from the day's stock: of itself, its choices and, a combo, its parts.
// takeHolds says the same in SQL.
func takes(item Item, optionIDs []int64) map[unit]int {
	each := map[unit]int{{ItemID: item.ID}: 1}
	for _, id := range optionIDs {
		each[unit{item.ID, id}] = 1
	}
	for _, p := range item.Parts {
		if p.OptionID != nil && !slices.Contains(optionIDs, *p.OptionID) {
			continue
		}
		each[unit{ItemID: p.PartItemID}] += p.Qty
		if p.PartOptionID != nil {
			each[unit{p.PartItemID, *p.PartOptionID}] += p.Qty
		}
	}
	return each
}

type pickedOption struct {
	QuoteOption
	mark string
	was  Paise
}

// Pick resolves option ids against the dish's groups, in menu order. Each group's minimum and maximum, foreign and repeated ids, and
// choices that are off are judged here and nowhere else; the error is an *ErrChoice or *ErrSoldOut.
func (i Item) Pick(optionIDs []int64) ([]pickedOption, error) {
	left := slices.Clone(optionIDs)
	var picked []pickedOption
	for _, g := range i.Groups {
		n := 0
		for _, o := range g.Options {
			at := slices.Index(left, o.ID)
			if at < 0 {
				continue
			}
			left = slices.Delete(left, at, at+1)
			if !o.Available {
				return nil, &ErrSoldOut{ItemID: i.ID, Name: i.Name + ", " + o.Name}
			}
			picked = append(picked, pickedOption{QuoteOption{OptionID: o.ID, GroupName: g.Name, Name: o.Name, Kind: g.Kind, PricePaise: o.PricePaise}, o.Mark, o.WasPaise})
			n++
		}
		if n < g.MinPick || n > g.MaxPick {
			return nil, &ErrChoice{ItemID: i.ID, Dish: i.Name, Why: ChoiceCount, Group: g.Name, Least: g.MinPick, Most: g.MaxPick}
		}
	}
	if len(left) > 0 {
		return nil, &ErrChoice{ItemID: i.ID, Dish: i.Name, Why: ChoiceForeign}
	}
	return picked, nil
}

func worseMark(a, b string) string {
	rank := map[string]int{"veg": 0, "egg": 1, "nonveg": 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// priceDelivery sets the quote's delivery fields from the zone the place lies in, else from the nearest band that reaches it.
func priceDelivery(bands []DeliveryBand, to Destination, q *Quote) (DeliveryBand, error) {
	if to.DistanceMetres == nil && to.Band == nil {
		q.DeliveryKnown = false
		if to.PIN != "" && !to.Served {
			return DeliveryBand{}, &ErrDelivery{Why: "far", PIN: to.PIN}
		}
		return DeliveryBand{}, nil
	}
	at := 0
	if to.Band != nil {
		bands = []DeliveryBand{*to.Band}
	} else {
		at = slices.IndexFunc(bands, func(b DeliveryBand) bool { return *to.DistanceMetres <= b.UpToMetres })
	}
	if at < 0 || !to.Served {
		q.DeliveryKnown = false
		return DeliveryBand{}, &ErrDelivery{Why: "far", PIN: to.PIN}
	}
	band := bands[at]
	q.DistanceMetres, q.DeliveryPaise = to.DistanceMetres, band.FeePaise
	if band.FreeAbovePaise != nil {
		if q.SubtotalPaise >= *band.FreeAbovePaise {
			q.DeliveryPaise, q.DeliveryWasPaise = 0, band.FeePaise
		} else {
			q.DeliveryFreePaise = *band.FreeAbovePaise - q.SubtotalPaise
		}
	}
	if q.SubtotalPaise < band.MinimumPaise {
		return band, &ErrDelivery{Why: "minimum", PIN: to.PIN, MinimumPaise: band.MinimumPaise, ShortPaise: band.MinimumPaise - q.SubtotalPaise}
	}
	return band, nil
}

func (q *Quote) tax(rates map[string]TaxRate, taxable map[string]Paise) error {
	classes := make([]string, 0, len(taxable))
	for class, value := range taxable {
		if value > 0 {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	for _, class := range classes {
		rate, known := rates[class]
		if !known {
			return fmt.Errorf("models: tax class %q has no rate in force", class)
		}
		t := QuoteTax{TaxClass: class, TaxablePaise: taxable[class], CGSTBP: rate.CGSTBP, SGSTBP: rate.SGSTBP,
			CGSTPaise: TaxOn(taxable[class], rate.CGSTBP), SGSTPaise: TaxOn(taxable[class], rate.SGSTBP)}
		q.Taxes = append(q.Taxes, t)
		q.CGSTPaise += t.CGSTPaise
		q.SGSTPaise += t.SGSTPaise
	}
	return nil
}

// IsCustomerProblem reports whether err is something the customer can mend in the cart or the form, not a fault of the shop.
func IsCustomerProblem(err error) bool {
	var soldOut *ErrSoldOut
	var choice *ErrChoice
	var delivery *ErrDelivery
	return errors.As(err, &soldOut) || errors.As(err, &choice) || errors.As(err, &delivery) ||
		errors.Is(err, ErrEmptyCart) || errors.Is(err, ErrOtherOutlet) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed) || errors.Is(err, ErrTimeGone) || errors.Is(err, ErrTooSmall)
}
