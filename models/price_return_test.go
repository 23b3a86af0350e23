package models

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// drawBill draws a bill of one to five lines in up to three tax classes, with or without discount, fees, tip and round-off.
func drawBill(t *rapid.T) Bill {
	paise := func(name string, most int64) Paise { return Paise(rapid.Int64Range(0, most).Draw(t, name)) }
	classes := []string{"restaurant", "packaged", "exempt"}
	rates := map[string]BasisPoints{"restaurant": 250, "packaged": 900, "exempt": 0}
	taxed := rapid.Bool().Draw(t, "taxed")
	var b Bill
	taxable := map[string]Paise{}
	for n := range rapid.IntRange(1, 5).Draw(t, "lines") {
		l := BillLine{Line: n + 1, TaxClass: rapid.SampledFrom(classes).Draw(t, "class"), Qty: rapid.IntRange(1, 20).Draw(t, "qty")}
		l.TotalPaise = paise("price", 60000) * Paise(l.Qty)
		l.DiscountPaise = paise("discount", int64(l.TotalPaise)) * Paise(rapid.IntRange(0, 1).Draw(t, "discounted"))
		b.Lines = append(b.Lines, l)
		b.SubtotalPaise += l.TotalPaise
		b.DiscountPaise += l.DiscountPaise
		taxable[l.TaxClass] += l.TotalPaise - l.DiscountPaise
	}
	b.PackagingPaise, b.DeliveryPaise, b.TipPaise = paise("packaging", 5000), paise("delivery", 9000), paise("tip", 10000)
	taxable["restaurant"] += b.PackagingPaise + b.DeliveryPaise
	if taxed {
		for _, class := range classes {
			if v := taxable[class]; v > 0 {
				tax := QuoteTax{TaxClass: class, TaxablePaise: v, CGSTBP: rates[class], SGSTBP: rates[class], CGSTPaise: TaxOn(v, rates[class]), SGSTPaise: TaxOn(v, rates[class])}
				b.Taxes = append(b.Taxes, tax)
				b.CGSTPaise += tax.CGSTPaise
				b.SGSTPaise += tax.SGSTPaise
			}
		}
	}
	if rapid.Bool().Draw(t, "rounds") {
		b.RoundOffPaise = RoundOff(b.Amount())
	}
	if rapid.IntRange(0, 4).Draw(t, "fee") == 0 {
		b.CustomerFeePaise = paise("customer fee", 3000)
	}
	return b
}

// sum adds shares up.
func sum(shares ...Bill) (all Bill) {
	for _, s := range shares {
		all.Parts = all.Parts.less(Parts{}.less(s.Parts))
		for _, t := range s.Taxes {
			was := all.tax(t.TaxClass)
			was.TaxClass, was.TaxablePaise, was.CGSTPaise, was.SGSTPaise = t.TaxClass, was.TaxablePaise+t.TaxablePaise, was.CGSTPaise+t.CGSTPaise, was.SGSTPaise+t.SGSTPaise
			all = all.withTax(was)
		}
		for _, l := range s.Lines {
			was := all.line(l.Line)
			was.Line, was.Qty, was.TotalPaise, was.DiscountPaise = l.Line, was.Qty+l.Qty, was.TotalPaise+l.TotalPaise, was.DiscountPaise+l.DiscountPaise
			all = all.withLine(was)
		}
	}
	return all
}

func (b Bill) withTax(t QuoteTax) Bill {
	for i := range b.Taxes {
		if b.Taxes[i].TaxClass == t.TaxClass {
			b.Taxes[i] = t
			return b
		}
	}
	b.Taxes = append(b.Taxes, t)
	return b
}

func (b Bill) withLine(l BillLine) Bill {
	for i := range b.Lines {
		if b.Lines[i].Line == l.Line {
			b.Lines[i] = l
			return b
		}
	}
	b.Lines = append(b.Lines, l)
	return b
}

func (p Parts) each() map[string]Paise {
	return map[string]Paise{"subtotal": p.SubtotalPaise, "discount": p.DiscountPaise, "packaging": p.PackagingPaise, "delivery": p.DeliveryPaise,
		"cgst": p.CGSTPaise, "sgst": p.SGSTPaise, "tip": p.TipPaise, "customer fee": p.CustomerFeePaise}
}

// Whatever is given back of a bill, in amounts or by dishes, in any order, with requests taken back in between: each share adds up, takes
// no more of a part than is left of it, and in the end all shares together are the bill, each part to the paisa.
func TestSharesAddUpToTheBill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bill := drawBill(t)
		if bill.Amount() == 0 {
			return
		}
		var shares []Bill
		var voided Paise
		give := func(share Bill, err error) bool {
			if errors.Is(err, ErrTooMuch) {
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, bill, sum(shares...), share, 1+voided)
			shares = append(shares, share)
			return true
		}
		for range rapid.IntRange(0, 8).Draw(t, "refunds") {
			done := sum(shares...)
			left := bill.Amount() - done.Amount()
			if left == 0 {
				break
			}
			switch rapid.IntRange(0, 5).Draw(t, "how") {
			case 0, 1:
				amount := Paise(rapid.Int64Range(1, int64(left)).Draw(t, "amount"))
				share, err := bill.ShareOfAmount(done, amount)
				if !give(share, err) {
					t.Fatalf("%d of %d: %v", amount, left, err)
				}
				if share.Amount() != amount {
					t.Fatalf("a share of %d is %d", amount, share.Amount())
				}
			case 2, 3:
				line := rapid.SampledFrom(bill.Lines).Draw(t, "line")
				give(bill.ShareOfLines(done, map[int]int{line.Line: rapid.IntRange(1, line.Qty).Draw(t, "pieces")}))
			case 4: // a request that was not sent yet is taken back
				if len(shares) > 0 {
					at := rapid.IntRange(0, len(shares)-1).Draw(t, "void")
					shares = append(shares[:at:at], shares[at+1:]...)
					voided++
				}
			case 5: // one that failed is given back in part by another hand, and the rest of it by us
				if len(shares) > 0 {
					at := rapid.IntRange(0, len(shares)-1).Draw(t, "failed")
					whole := shares[at].asAmount()
					if whole.Amount() == 0 {
						continue
					}
					amount := Paise(rapid.Int64Range(1, int64(whole.Amount())).Draw(t, "of it"))
					part, err := whole.ShareOfAmount(Bill{}, amount)
					if err != nil {
						t.Fatalf("%d of a share of %d: %v", amount, whole.Amount(), err)
					}
					voided++
					check(t, whole, Bill{}, part, 1+voided)
					check(t, whole, part, whole.less(part), 1+voided)
					shares = append(shares[:at:at], append([]Bill{part, whole.less(part)}, shares[at+1:]...)...)
				}
			}
		}
		if left := bill.Amount() - sum(shares...).Amount(); left > 0 {
			if !give(bill.ShareOfAmount(sum(shares...), left)) {
				t.Fatalf("the rest of %d is too much", left)
			}
		}
		if got := sum(shares...); got.Parts != bill.Parts {
			t.Fatalf("all shares are %+v, the bill is %+v", got.Parts, bill.Parts)
		}
		for _, tax := range bill.Taxes {
			if got := sum(shares...).tax(tax.TaxClass); got.TaxablePaise != tax.TaxablePaise || got.CGSTPaise != tax.CGSTPaise || got.SGSTPaise != tax.SGSTPaise {
				t.Fatalf("%s: all shares are %+v, the bill is %+v", tax.TaxClass, got, tax)
			}
		}
	})
}

// check is what must hold for one share, given what was given back before. Its tax is what the rate makes of it, give or take the paisa that
// rounding all that was given back together costs, and one more for each share that was taken back from among them.
func check(t *rapid.T, bill, done, share Bill, slack Paise) {
	t.Helper()
	left := bill.Parts.less(done.Parts)
	for part, paise := range share.each() {
		if most := left.each()[part]; paise < 0 || paise > most {
			t.Fatalf("%s: %d of %d", part, paise, most)
		}
	}
	if share.DiscountPaise > share.SubtotalPaise || share.RoundOffPaise < -100 || share.RoundOffPaise > 100 {
		t.Fatalf("share %+v", share.Parts)
	}
	var taxes Parts
	var taxable Paise
	for _, tax := range share.Taxes {
		taxes.CGSTPaise += tax.CGSTPaise
		taxes.SGSTPaise += tax.SGSTPaise
		taxable += tax.TaxablePaise
		rate := bill.tax(tax.TaxClass)
		if off := magnitude(tax.CGSTPaise - TaxOn(tax.TaxablePaise, rate.CGSTBP)); off > slack {
			t.Fatalf("%s: CGST %d on %d", tax.TaxClass, tax.CGSTPaise, tax.TaxablePaise)
		}
		if tax.CGSTPaise != tax.SGSTPaise {
			t.Fatalf("%s: halves %d and %d", tax.TaxClass, tax.CGSTPaise, tax.SGSTPaise)
		}
	}
	if taxes.CGSTPaise != share.CGSTPaise || taxes.SGSTPaise != share.SGSTPaise {
		t.Fatalf("taxes %+v of share %+v", taxes, share.Parts)
	}
	if len(bill.Taxes) > 0 && taxable != share.TaxablePaise() {
		t.Fatalf("classes %d of %d", taxable, share.TaxablePaise())
	}
}

// Golden shares, worked out by hand.
func TestShareOfBill(t *testing.T) {
	t.Parallel()
	// 2 × 250.00 and 1 × 100.00, packaging 20.00, delivery 40.00: taxable 660.00, 2.5 % twice = 16.50 each, 693.00.
	bill := Bill{Parts: Parts{SubtotalPaise: 60000, PackagingPaise: 2000, DeliveryPaise: 4000, CGSTPaise: 1650, SGSTPaise: 1650},
		Taxes: []QuoteTax{{TaxClass: "restaurant", TaxablePaise: 66000, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 1650, SGSTPaise: 1650}},
		Lines: []BillLine{{Line: 1, TaxClass: "restaurant", Qty: 2, TotalPaise: 50000}, {Line: 2, TaxClass: "restaurant", Qty: 1, TotalPaise: 10000}}}
	// With 60.00 off the food, 50.00 of it on line 1: taxable 600.00, 15.00 each, 630.00.
	cut := Bill{Parts: Parts{SubtotalPaise: 60000, DiscountPaise: 6000, PackagingPaise: 2000, DeliveryPaise: 4000, CGSTPaise: 1500, SGSTPaise: 1500},
		Taxes: []QuoteTax{{TaxClass: "restaurant", TaxablePaise: 60000, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 1500, SGSTPaise: 1500}},
		Lines: []BillLine{{Line: 1, TaxClass: "restaurant", Qty: 2, TotalPaise: 50000, DiscountPaise: 5000}, {Line: 2, TaxClass: "restaurant", Qty: 1, TotalPaise: 10000, DiscountPaise: 1000}}}
	for name, c := range map[string]struct {
		bill   Bill
		done   Bill
		amount Paise
		lines  map[int]int
		want   Parts
		err    error
	}{
		// One of two at 250.00 and its 12.50 of tax.
		"one_piece": {bill: bill, lines: map[int]int{1: 1}, want: Parts{SubtotalPaise: 25000, CGSTPaise: 625, SGSTPaise: 625}},
		// 250.00 less half of the line's 50.00 is 225.00; 5.625 is 5.63 a half.
		"one_discounted_piece": {bill: cut, lines: map[int]int{1: 1}, want: Parts{SubtotalPaise: 25000, DiscountPaise: 2500, CGSTPaise: 563, SGSTPaise: 563}},
		// Half of everything.
		"half": {bill: bill, amount: 34650, want: Parts{SubtotalPaise: 30000, PackagingPaise: 1000, DeliveryPaise: 2000, CGSTPaise: 825, SGSTPaise: 825}},
		// Tax begins at 0.20 (0.005 is 0.01 a half), and 0.20 with it would be 0.22; so 0.19, of which 60/66 are food, and 0.01 of round-off.
		"twenty_paise": {bill: bill, amount: 20, want: Parts{SubtotalPaise: 17, PackagingPaise: 1, DeliveryPaise: 1, RoundOffPaise: 1}},
		"all":          {bill: cut, amount: 63000, want: cut.Parts},
		"too_much":     {bill: bill, amount: 69301, err: ErrTooMuch},
		"nothing":      {bill: bill, amount: 0, err: ErrBadInput},
		"no_such_line": {bill: bill, lines: map[int]int{3: 1}, err: ErrBadInput},
		"three_of_two": {bill: bill, lines: map[int]int{1: 3}, err: ErrTooMuch},
		"after_half":   {bill: bill, done: Bill{Parts: Parts{SubtotalPaise: 50000, CGSTPaise: 1250, SGSTPaise: 1250}}, lines: map[int]int{1: 2}, err: ErrTooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var share Bill
			var err error
			if c.lines != nil {
				share, err = c.bill.ShareOfLines(c.done, c.lines)
			} else {
				share, err = c.bill.ShareOfAmount(c.done, c.amount)
			}
			if !errors.Is(err, c.err) || share.Parts != c.want {
				t.Errorf("%+v, %v; want %+v, %v", share.Parts, err, c.want, c.err)
			}
		})
	}
}

// Customers' amounts are not round: a thousand small refunds leave no drift in the round-off.
func TestSharesDoNotDrift(t *testing.T) {
	t.Parallel()
	bill := Bill{Parts: Parts{SubtotalPaise: 99991, CGSTPaise: 2500, SGSTPaise: 2500},
		Taxes: []QuoteTax{{TaxClass: "restaurant", TaxablePaise: 99991, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 2500, SGSTPaise: 2500}}}
	var done Bill
	for i := range 1000 {
		share, err := bill.ShareOfAmount(done, Paise(1+i%97))
		if err != nil {
			t.Fatal(err)
		}
		if done = sum(done, share); magnitude(done.RoundOffPaise) > 2 {
			t.Fatalf("after %d refunds the round-off is %d", i+1, done.RoundOffPaise)
		}
	}
}
