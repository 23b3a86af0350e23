package views

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tiffin/models"
	"tiffin/static"
)

func tabTitle(p Page) string {
	switch {
	case p.Outlet.Name == "":
		return p.Title
	case p.Title == "":
		return p.Outlet.Name
	default:
		return p.Title + " · " + p.Outlet.Name
	}
}

func themeOf(p Page) templ.Attributes {
	if p.Theme == "light" || p.Theme == "dark" {
		return templ.Attributes{"data-theme": p.Theme}
	}
	return nil
}

// scriptWords are the sentences that only the page's script says, on every page.
func scriptWords(ctx context.Context) templ.Attributes {
	return templ.Attributes{"data-lost": T(ctx, "No connection. Your order is saved."), "data-slow": T(ctx, "That took too long."),
		"data-most": T(ctx, "%s of one dish is the most we take online.", strconv.Itoa(models.MaxLineQty))}
}

// csrfHeader is what htmx sends with every request of the page.
func csrfHeader(p Page) string {
	text, err := templ.JSONString(map[string]string{"X-CSRF-Token": p.CSRF})
	if err != nil {
		return "{}" // a map of strings can always be written; without the header the server refuses, it does not guess
	}
	return text
}

// originOf is the scheme and host of an address, for preconnect.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func sprite(name string) string { return static.Path("icons.svg") + "#" + name }

func markSymbol(kind string) string {
	if kind == "veg" {
		return "veg"
	}
	return "nonveg"
}

func markLabel(ctx context.Context, kind string) string {
	switch kind {
	case "veg":
		return T(ctx, "Vegetarian")
	case "egg":
		return T(ctx, "Contains egg")
	default:
		return T(ctx, "Non-vegetarian")
	}
}

// tintClass turns a row's tint into a class of the stylesheet, never into a style.
func tintClass(tint string) string {
	switch tint {
	case "starter", "curry", "green", "rice", "bread", "south", "sweet", "drink":
		return "t-" + tint
	default:
		return "t-curry"
	}
}

func roleOf(kind string) string {
	if kind == "bad" {
		return "alert"
	}
	return "status"
}

// dotted joins what is not empty: "Delivery · Ananya".
func dotted(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, " · ")
}

// dishURL is the page of a dish. Slugs are unique within an outlet, so with several outlets the address names the outlet too.
func dishURL(p Page, slug string) string {
	address := "/menu/" + url.PathEscape(slug)
	if p.MenuURL != "" && p.MenuURL != "/" {
		address += "?outlet=" + url.QueryEscape(p.Outlet.Slug)
	}
	return address
}

func menuURL(p Page) string {
	if p.MenuURL == "" {
		return "/"
	}
	return p.MenuURL
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// quoteBill is a quote's bill in the order of lines every screen and paper keeps: item total, coupon, packing, delivery, taxes, tip, round-off, to pay.
func quoteBill(ctx context.Context, q models.Quote) []billLine {
	b := sums{
		subtotal: q.SubtotalPaise, discount: q.DiscountPaise, packaging: q.PackagingPaise, delivery: q.DeliveryPaise, deliveryWas: q.DeliveryWasPaise,
		cgst: q.CGSTPaise, sgst: q.SGSTPaise, tip: q.TipPaise, roundOff: q.RoundOffPaise, amount: q.AmountPaise,
		coupon: q.Coupon, delivers: q.Way == "delivery", deliveryKnown: q.DeliveryKnown, metres: q.DistanceMetres, taxed: q.TaxMode == "regular",
	}
	for _, t := range q.Taxes {
		b.cgstRates, b.sgstRates = append(b.cgstRates, t.CGSTBP), append(b.sgstRates, t.SGSTBP)
	}
	return b.lines(ctx, T(ctx, "To pay"))
}

// orderBill is the same bill from a placed order. last is what its sum is called.
func orderBill(ctx context.Context, o models.Order, last string) []billLine {
	b := sums{
		subtotal: o.SubtotalPaise, discount: o.DiscountPaise, packaging: o.PackagingPaise, delivery: o.DeliveryPaise,
		cgst: o.CGSTPaise, sgst: o.SGSTPaise, tip: o.TipPaise, roundOff: o.RoundOffPaise, amount: o.AmountPaise,
		coupon: o.Coupon, delivers: o.Way == "delivery", deliveryKnown: true, metres: o.DistanceMetres, taxed: o.TaxMode == "regular",
	}
	for _, t := range o.Taxes {
		b.cgstRates, b.sgstRates = append(b.cgstRates, t.CGSTBP), append(b.sgstRates, t.SGSTBP)
	}
	return b.lines(ctx, last)
}

type sums struct {
	subtotal, discount, packaging, delivery, deliveryWas, cgst, sgst, tip, roundOff, amount models.Paise
	delivers, deliveryKnown, taxed                                                          bool
	coupon                                                                                  string
	metres                                                                                  *int
	cgstRates, sgstRates                                                                    []models.BasisPoints
}

func (b sums) lines(ctx context.Context, last string) []billLine {
	lines := []billLine{{key: "items", label: T(ctx, "Item total"), amount: Rupees(b.subtotal)}}
	if b.discount > 0 {
		lines = append(lines, billLine{key: "discount", label: T(ctx, "Coupon %s", b.coupon), amount: Rupees(-b.discount), off: true})
	}
	if b.packaging > 0 {
		lines = append(lines, billLine{key: "packing", label: T(ctx, "Packing"), amount: Rupees(b.packaging)})
	}
	if b.delivers {
		l := billLine{key: "delivery", label: T(ctx, "Delivery"), amount: Rupees(b.delivery)}
		if b.metres != nil {
			l.label = T(ctx, "Delivery, %s", Distance(ctx, *b.metres))
		}
		switch {
		case !b.deliveryKnown:
			l.amount = T(ctx, "by PIN code")
		case b.delivery == 0:
			l.amount = T(ctx, "Free")
		}
		if b.deliveryWas > 0 {
			l.was = ShortRupees(b.deliveryWas)
		}
		lines = append(lines, l)
	}
	if b.taxed {
		lines = append(lines,
			billLine{key: "cgst", label: rated("CGST", b.cgstRates), amount: Rupees(b.cgst)},
			billLine{key: "sgst", label: rated("SGST", b.sgstRates), amount: Rupees(b.sgst)})
	}
	if b.tip > 0 {
		lines = append(lines, billLine{key: "tip", label: T(ctx, "Tip"), amount: Rupees(b.tip)})
	}
	if b.roundOff != 0 {
		lines = append(lines, billLine{key: "round-off", label: T(ctx, "Round-off"), amount: Rupees(b.roundOff)})
	}
	return append(lines, billLine{key: "total", label: last, amount: Rupees(b.amount), sum: true})
}

// rated names the rate beside a tax when there is only one.
func rated(name string, rates []models.BasisPoints) string {
	for _, r := range rates {
		if r != rates[0] {
			return name
		}
	}
	if len(rates) == 0 {
		return name
	}
	return name + " " + Percent(rates[0])
}
