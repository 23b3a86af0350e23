package views

import (
	"context"
	"time"

	"tiffin/models"
)

func dishCount(m models.Menu) int {
	n := 0
	for _, c := range m.Categories {
		n += len(c.Items)
	}
	return n
}

// foundText is said after a search or a filter.
func foundText(ctx context.Context, m models.Menu) string {
	return T(ctx, "%d dishes found", dishCount(m))
}

// eagerPictures is how many pictures load at once; the others wait until they come near. Popular ones stand first.
const eagerPictures = 5 // and the big one in the header

// lazy reports whether the picture of the n-th dish of a section, counted over the whole page, may wait.
func lazy(m models.Menu, section, n int) bool {
	before := len(m.Popular)
	for _, c := range m.Categories[:section] {
		before += len(c.Items)
	}
	return before+n >= eagerPictures
}

// inCart is how many of a dish the cart holds, over all its sets of options.
func inCart(q models.Quote, itemID int64) int {
	n := 0
	for _, l := range q.Lines {
		if l.ItemID == itemID {
			n += l.Qty
		}
	}
	return n
}

func pieces(q models.Quote) int {
	n := 0
	for _, l := range q.Lines {
		n += l.Qty
	}
	return n
}

// priceText is a dish's price on the menu: "₹289", or "from ₹229" when a variant decides.
func priceText(ctx context.Context, i models.Item) string {
	for _, g := range i.Groups {
		if g.Kind == "variant" {
			return T(ctx, "from %s", ShortRupees(i.FromPaise()))
		}
	}
	return ShortRupees(i.PricePaise)
}

type tag struct{ icon, text string }

func tags(ctx context.Context, i models.Item) []tag {
	var t []tag
	if i.Bestseller {
		t = append(t, tag{"sparkles", T(ctx, "Bestseller")})
	}
	if i.Spice == 2 {
		t = append(t, tag{"flame", T(ctx, "Spicy")})
	}
	if i.Spice > 2 {
		t = append(t, tag{"flame", T(ctx, "Very spicy")})
	}
	if i.Mark == "egg" {
		t = append(t, tag{"info", T(ctx, "Contains egg")})
	}
	return t
}

// backText says when a dish that is off comes back; empty when nobody knows.
func backText(ctx context.Context, i models.Item, now time.Time) string {
	return backAt(ctx, i.BackAt, now)
}

// fewLeft is from where on a limited dish says how many are left. It is only said when it is true.
const fewLeft = 5

func leftText(ctx context.Context, i models.Item) string {
	if i.Left != nil && *i.Left > 0 && *i.Left <= fewLeft {
		return T(ctx, "Only %d left", *i.Left)
	}
	return ""
}

// openText is the pill in the header.
func openText(ctx context.Context, o models.Opening, now time.Time) string {
	switch {
	case o.Open:
		return T(ctx, "Open till %s", ShortClock(ctx, o.Window.ClosesAt))
	case o.Reason == "paused":
		return T(ctx, "Taking a short break")
	case o.Next.OpensAt.IsZero():
		return T(ctx, "Closed")
	default:
		return T(ctx, "Closed · opens %s", Upcoming(ctx, o.Next.OpensAt, now))
	}
}

// closedTitle and closedText explain why no order can be placed now and when it can be again.
func closedTitle(ctx context.Context, o models.Opening) string {
	switch o.Reason {
	case "paused":
		return T(ctx, "We have paused new orders for a moment")
	case "last_order":
		return T(ctx, "Last orders are in for now")
	case "holiday":
		if o.Holiday != "" {
			return T(ctx, "Closed today: %s", o.Holiday)
		}
		return T(ctx, "Closed today")
	default:
		return T(ctx, "We are closed")
	}
}

func closedText(ctx context.Context, o models.Opening, now time.Time) string {
	switch {
	case o.Reason == "paused":
		return T(ctx, "The kitchen is full. Please try again in a few minutes. You can look around, and your cart keeps what you choose.")
	case o.Next.OpensAt.IsZero():
		return T(ctx, "You can look around, and your cart keeps what you choose.")
	default:
		return T(ctx, "We open again %s. You can look around, and your cart keeps what you choose.", Upcoming(ctx, o.Next.OpensAt, now))
	}
}

// deliveryTime and pickupTime are what the outlet's settings promise.
func deliveryTime(ctx context.Context, o models.Outlet) string {
	by := o.PrepMinutes + o.DeliveryMinutes
	return Minutes(ctx, max(by-windowMinutes, 1), by)
}

func pickupTime(ctx context.Context, o models.Outlet) string {
	return Minutes(ctx, o.PrepMinutes, o.PrepMinutes)
}

// windowMinutes is the width of a promised delivery time. One single minute would be a promise nobody can keep.
const windowMinutes = 10

// wayOf is the way a visitor gets: the chosen one if the outlet offers it, else the first it offers.
func wayOf(o models.Outlet, chosen string) string {
	if (chosen == "pickup" && o.OffersPickup) || !o.OffersDelivery {
		return "pickup"
	}
	return "delivery"
}

func popularTitle(ctx context.Context, now time.Time) string {
	if now.In(india).Hour() >= 17 {
		return T(ctx, "Popular tonight")
	}
	return T(ctx, "Popular today")
}
