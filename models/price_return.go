package models

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// Parts is a bill taken apart, or a share of one. Its sum, Amount, is what was or will be paid.
type Parts struct {
	SubtotalPaise    Paise
	DiscountPaise    Paise
	PackagingPaise   Paise
	DeliveryPaise    Paise
	CGSTPaise        Paise `gorm:"column:cgst_paise"`
	SGSTPaise        Paise `gorm:"column:sgst_paise"`
	TipPaise         Paise
	RoundOffPaise    Paise
	CustomerFeePaise Paise // Razorpay's fee where the customer bore it
}

// Amount is what the parts come to.
func (p Parts) Amount() Paise {
	return p.SubtotalPaise - p.DiscountPaise + p.PackagingPaise + p.DeliveryPaise + p.CGSTPaise + p.SGSTPaise + p.TipPaise + p.RoundOffPaise + p.CustomerFeePaise
}

// TaxablePaise is what the shop sold: everything but taxes, tip, round-off and Razorpay's fee.
func (p Parts) TaxablePaise() Paise {
	return p.SubtotalPaise - p.DiscountPaise + p.PackagingPaise + p.DeliveryPaise
}

func (p Parts) less(q Parts) Parts {
	return Parts{p.SubtotalPaise - q.SubtotalPaise, p.DiscountPaise - q.DiscountPaise, p.PackagingPaise - q.PackagingPaise, p.DeliveryPaise - q.DeliveryPaise,
		p.CGSTPaise - q.CGSTPaise, p.SGSTPaise - q.SGSTPaise, p.TipPaise - q.TipPaise, p.RoundOffPaise - q.RoundOffPaise, p.CustomerFeePaise - q.CustomerFeePaise}
}

// Bill is what a kept payment paid for, or the share of it that a refund gives back: the parts, the tax by class, and dishes by line.
// Without tax there are no classes; a share that was asked for as an amount has no lines.
type Bill struct {
	Parts
	Taxes []QuoteTax
	Lines []BillLine
}

// BillLine is one line of a bill, or the pieces of it that are given back.
type BillLine struct {
	Line          int
	TaxClass      string
	Qty           int
	TotalPaise    Paise // before discount
	DiscountPaise Paise
}

// less is what is left of a bill after done was given back.
func (b Bill) less(done Bill) Bill {
	left := Bill{Parts: b.Parts.less(done.Parts)}
	for _, t := range b.Taxes {
		d := done.tax(t.TaxClass)
		t.TaxablePaise, t.CGSTPaise, t.SGSTPaise = t.TaxablePaise-d.TaxablePaise, t.CGSTPaise-d.CGSTPaise, t.SGSTPaise-d.SGSTPaise
		left.Taxes = append(left.Taxes, t)
	}
	for _, l := range b.Lines {
		d := done.line(l.Line)
		if l.Qty, l.TotalPaise, l.DiscountPaise = l.Qty-d.Qty, l.TotalPaise-d.TotalPaise, l.DiscountPaise-d.DiscountPaise; l.Qty > 0 {
			left.Lines = append(left.Lines, l)
		}
	}
	return left
}

func (b Bill) tax(class string) QuoteTax {
	if i := slices.IndexFunc(b.Taxes, func(t QuoteTax) bool { return t.TaxClass == class }); i >= 0 {
		return b.Taxes[i]
	}
	return QuoteTax{}
}

func (b Bill) line(n int) BillLine {
	if i := slices.IndexFunc(b.Lines, func(l BillLine) bool { return l.Line == n }); i >= 0 {
		return b.Lines[i]
	}
	return BillLine{}
}

// ShareOfAmount says of which parts a refund of amount consists, when done was given back before. Pure.
//
// The rest of a bill is exactly what is left of each part, so all shares of a bill together are the bill, to the paisa. Less than the rest
// takes of food, packaging, delivery and tip in proportion to what is left of each; CGST and SGST are what the rate makes of all that
// was given back so far, less what was given back of them, so they stay equal where they were and never drift. No tax can be cut to every
// amount: the odd paisa is the share's round-off, chosen so that round-offs do not add up. Razorpay's fee goes back last, since it is
// the shop's to keep.
//
// Errors: ErrBadInput for nothing or less, ErrTooMuch for more than is left.
func (b Bill) ShareOfAmount(done Bill, amount Paise) (Bill, error) {
	left := b.less(done)
	rest := left.Amount() - left.CustomerFeePaise // of the order itself
	switch {
	case amount <= 0:
		return Bill{}, fmt.Errorf("%w: a refund of %d paise", ErrBadInput, amount)
	case amount > rest+left.CustomerFeePaise:
		return Bill{}, fmt.Errorf("%d paise of %d: %w", amount, rest+left.CustomerFeePaise, ErrTooMuch)
	case amount >= rest:
		share := left
		share.CustomerFeePaise = amount - rest
		return share.asAmount(), nil
	}

	tip := mulDiv(left.TipPaise, amount, rest)
	budget := amount - tip
	sold := left.TaxablePaise()
	cost := func(x Paise) Paise { return x + b.taxOf(done, left.classes(x)).taxes() }
	low, high := Paise(0), sold+1 // cost(low) ≤ budget, unless it is more from the first; cost(high) > budget, or high is too much
	for high-low > 1 {
		if mid := low + (high-low)/2; cost(mid) <= budget {
			low = mid
		} else {
			high = mid
		}
	}
	if low < sold && magnitude(done.RoundOffPaise+budget-cost(low+1)) < magnitude(done.RoundOffPaise+budget-cost(low)) {
		low++
	}
	share := b.taxOf(done, left.classes(low))
	share.TipPaise = tip
	share.RoundOffPaise = budget - cost(low)
	net := left.SubtotalPaise - left.DiscountPaise
	food := spread(low, []Paise{net, left.PackagingPaise, left.DeliveryPaise})
	share.PackagingPaise, share.DeliveryPaise = food[1], food[2]
	if net > 0 {
		share.DiscountPaise = mulDiv(left.DiscountPaise, food[0], net)
	}
	share.SubtotalPaise = food[0] + share.DiscountPaise
	return share, nil
}

// ShareOfLines says what giving back pieces of dishes comes to (line → pieces): their price less their part of the discount, and its
// tax; packaging, delivery and tip stay, unless that would leave less than nothing. Pure.
// Errors: ErrBadInput for no pieces or a line that is not on the bill, ErrTooMuch for more than is left.
func (b Bill) ShareOfLines(done Bill, pieces map[int]int) (Bill, error) {
	left := b.less(done)
	share := Bill{}
	taken := map[string]Paise{}
	for _, n := range slices.Sorted(maps.Keys(pieces)) {
		whole, was, qty := b.line(n), done.line(n), pieces[n]
		if whole.Line == 0 || qty < 1 {
			return Bill{}, fmt.Errorf("%w: %d pieces of line %d", ErrBadInput, qty, n)
		}
		if was.Qty+qty > whole.Qty {
			return Bill{}, fmt.Errorf("%d more pieces of line %d: %w", qty, n, ErrTooMuch)
		}
		l := BillLine{Line: n, TaxClass: whole.TaxClass, Qty: qty, TotalPaise: whole.TotalPaise / Paise(whole.Qty) * Paise(qty)}
		upTo := mulDiv(whole.DiscountPaise, Paise(was.Qty+qty), Paise(whole.Qty))
		l.DiscountPaise = min(max(upTo-was.DiscountPaise, 0), l.TotalPaise)
		share.Lines = append(share.Lines, l)
		share.SubtotalPaise += l.TotalPaise
		share.DiscountPaise += l.DiscountPaise
		taken[l.TaxClass] += l.TotalPaise - l.DiscountPaise
	}
	if len(share.Lines) == 0 {
		return Bill{}, fmt.Errorf("%w: no dishes", ErrBadInput)
	}
	if len(b.Taxes) == 0 {
		clear(taken)
	}
	for class, paise := range taken {
		if paise > left.tax(class).TaxablePaise {
			return Bill{}, fmt.Errorf("%d paise of %s: %w", paise, class, ErrTooMuch)
		}
	}
	if share.SubtotalPaise > left.SubtotalPaise || share.DiscountPaise > left.DiscountPaise || share.SubtotalPaise-share.DiscountPaise > left.SubtotalPaise-left.DiscountPaise {
		return Bill{}, fmt.Errorf("%d paise of food: %w", share.SubtotalPaise, ErrTooMuch)
	}
	lines := share.Lines
	taxes := b.taxOf(done, taken)
	taxes.SubtotalPaise, taxes.DiscountPaise = share.SubtotalPaise, share.DiscountPaise
	share = taxes
	if rest := left.Amount() - left.CustomerFeePaise; share.Amount() >= rest {
		share = left
		share.CustomerFeePaise = 0
	}
	share.Lines = lines
	return share, nil
}

// asAmount forgets which lines were left: a share by amount names none.
func (b Bill) asAmount() Bill {
	b.Lines = nil
	b.Taxes = slices.DeleteFunc(b.Taxes, func(t QuoteTax) bool { return t.TaxablePaise == 0 && t.CGSTPaise == 0 && t.SGSTPaise == 0 })
	return b
}

// classes spreads a taxable amount over what is left of the tax classes.
func (b Bill) classes(amount Paise) map[string]Paise {
	over := make([]Paise, len(b.Taxes))
	for i, t := range b.Taxes {
		over[i] = t.TaxablePaise
	}
	out := map[string]Paise{}
	for i, paise := range spread(amount, over) {
		out[b.Taxes[i].TaxClass] = paise
	}
	return out
}

// taxOf is the tax that goes back with so much of each class.
func (b Bill) taxOf(done Bill, taken map[string]Paise) Bill {
	var share Bill
	for _, t := range b.Taxes {
		taken, was := taken[t.TaxClass], done.tax(t.TaxClass)
		if taken == 0 {
			continue
		}
		half := func(rate BasisPoints, billed, before Paise) Paise {
			return min(max(TaxOn(was.TaxablePaise+taken, rate)-before, 0), billed-before)
		}
		s := QuoteTax{TaxClass: t.TaxClass, TaxablePaise: taken, CGSTBP: t.CGSTBP, SGSTBP: t.SGSTBP,
			CGSTPaise: half(t.CGSTBP, t.CGSTPaise, was.CGSTPaise), SGSTPaise: half(t.SGSTBP, t.SGSTPaise, was.SGSTPaise)}
		share.Taxes = append(share.Taxes, s)
		share.CGSTPaise += s.CGSTPaise
		share.SGSTPaise += s.SGSTPaise
	}
	return share
}

// ShareOfShortage says what a shortage's answer gives back: for a drop its pieces with their tax, as ShareOfLines; for a swap the part of
// that by which the other dish is cheaper, rounded up. Less than a rupee, which no gateway gives back, is nothing, and less than a rupee is
// not left behind either: then all goes back. Pure. Errors: those of ShareOfLines.
func (b Bill) ShareOfShortage(done Bill, sh Shortage, swapPrice Paise) (Bill, error) {
	left := b.less(done)
	share, err := b.ShareOfLines(done, map[int]int{sh.Line: sh.Qty})
	if errors.Is(err, ErrTooMuch) { // so much was given back by amount that the dish's worth is not left: then what is left
		share, err = b.ShareOfAmount(done, left.Amount()-left.CustomerFeePaise)
	}
	if err != nil {
		return Bill{}, err
	}
	owed, whole := share.Amount(), b.line(sh.Line)
	if price := whole.TotalPaise / Paise(whole.Qty); sh.SwapPosition != nil {
		if swapPrice >= price {
			return Bill{}, nil
		}
		owed = owed - mulDiv(owed, swapPrice, price)
	}
	rest := left.Amount() - left.CustomerFeePaise - owed
	switch {
	case owed < LeastPayablePaise:
		return Bill{}, nil
	case 0 < rest && rest < LeastPayablePaise:
		owed += rest
	case owed == share.Amount():
		return share, nil
	}
	return b.ShareOfAmount(done, owed)
}

func (p Parts) taxes() Paise { return p.CGSTPaise + p.SGSTPaise }

// spread cuts an amount into pieces in proportion to over, none above its own, that sum to it exactly: the largest remainders get the
// odd paise, the earlier of equals first. amount is at most the sum of over, or over is empty or all nothing and the pieces are.
func spread(amount Paise, over []Paise) []Paise {
	var sum Paise
	for _, o := range over {
		sum += o
	}
	out := make([]Paise, len(over))
	if sum <= 0 {
		return out
	}
	type odd struct {
		at   int
		rest uint64
	}
	var odds []odd
	left := amount
	for i, o := range over {
		high, low := bits.Mul64(uint64(amount), uint64(o))
		quotient, rest := bits.Div64(high, low, uint64(sum))
		out[i] = Paise(quotient)
		left -= out[i]
		odds = append(odds, odd{i, rest})
	}
	slices.SortStableFunc(odds, func(a, b odd) int {
		switch {
		case a.rest > b.rest:
			return -1
		case a.rest < b.rest:
			return 1
		}
		return 0
	})
	for _, o := range odds {
		if left == 0 {
			break
		}
		out[o.at]++
		left--
	}
	return out
}

// mulDiv is a·b/c, rounded down, for amounts that are not negative; the product may be larger than an int64.
func mulDiv(a, b, c Paise) Paise {
	high, low := bits.Mul64(uint64(a), uint64(b))
	quotient, _ := bits.Div64(high, low, uint64(c))
	return Paise(quotient)
}

func magnitude(p Paise) Paise { return max(p, -p) }
