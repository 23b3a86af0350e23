package models

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// goldenBill is a bill of testdata/bills.json: worked out by hand, with its arithmetic beside it.
type goldenBill struct {
	Name   string
	List   string    // kesar, and how its tax or rounding differs
	Lines  [][]int64 // dish, pieces, then options
	Metres *int      // nil: collected
	Coupon *struct {
		AmountPaise *Paise       `json:"amount_paise"`
		PercentBP   *BasisPoints `json:"percent_bp"`
	}
	TipPaise   Paise `json:"tip_paise"`
	Arithmetic []string
	Want       goldenSums
	Returned   []struct { // one refund after the other
		Pieces     map[int]int // by line; none: all that is left
		Arithmetic []string
		Want       goldenSums
	}
}

type goldenSums struct {
	Items, Discount, Packing, Delivery, CGST, SGST, Tip Paise
	RoundOff                                            Paise `json:"round_off"`
	Total                                               Paise
}

// S2.36, C040, C041, india.md 2: bills worked out by hand come out to the paisa, and so does what is given back of them.
func TestGoldenBills(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/bills.json")
	if err != nil {
		t.Fatal(err)
	}
	var bills []goldenBill
	if err := json.Unmarshal(text, &bills); err != nil || len(bills) < 10 {
		t.Fatal(len(bills), err)
	}
	for _, b := range bills {
		t.Run(b.Name, func(t *testing.T) {
			if len(b.Arithmetic) == 0 {
				t.Error("a bill without its arithmetic")
			}
			list := kesar()
			for _, change := range strings.Fields(b.List) {
				list = map[string]func(PriceList) PriceList{"kesar": func(l PriceList) PriceList { return l }, "unpacked": unpacked, "exact": exact, "composition": composition, "classes": classes}[change](list)
			}
			if b.Coupon != nil {
				list.ReadAt = time.Date(2026, 11, 30, 12, 0, 0, 0, India)
				list.Coupon = &Coupon{ID: 1, Code: "TIFFIN", AmountPaise: b.Coupon.AmountPaise, PercentBP: b.Coupon.PercentBP, PerPerson: 1, Active: true}
			}
			var lines []CartLine
			for _, l := range b.Lines {
				lines = append(lines, line(l[0], int(l[1]), l[2:]...))
			}
			cart, to := cartOf(lines...), pickup
			cart.TipPaise = b.TipPaise
			if b.Metres != nil {
				to = delivery(*b.Metres)
			}
			q, err := PriceCart(list, cart, to)
			got := goldenSums{q.SubtotalPaise, q.DiscountPaise, q.PackagingPaise, q.DeliveryPaise, q.CGSTPaise, q.SGSTPaise, q.TipPaise, q.RoundOffPaise, q.AmountPaise}
			if err != nil || got != b.Want {
				t.Fatalf("bill %+v, %v\nwant %+v\n%s", got, err, b.Want, strings.Join(b.Arithmetic, "\n"))
			}
			mustAddUp(t, list, q)

			bill := Bill{Parts: Parts{SubtotalPaise: q.SubtotalPaise, DiscountPaise: q.DiscountPaise, PackagingPaise: q.PackagingPaise, DeliveryPaise: q.DeliveryPaise,
				CGSTPaise: q.CGSTPaise, SGSTPaise: q.SGSTPaise, TipPaise: q.TipPaise, RoundOffPaise: q.RoundOffPaise}, Taxes: q.Taxes}
			for n, l := range q.Lines {
				bill.Lines = append(bill.Lines, BillLine{Line: n + 1, TaxClass: l.TaxClass, Qty: l.Qty, TotalPaise: l.LineTotalPaise, DiscountPaise: l.DiscountPaise})
			}
			done := Bill{}
			for n, r := range b.Returned {
				share, err := bill.ShareOfAmount(done, bill.Amount()-done.Amount())
				if len(r.Pieces) > 0 {
					share, err = bill.ShareOfLines(done, r.Pieces)
				}
				p := share.Parts
				got := goldenSums{p.SubtotalPaise, p.DiscountPaise, p.PackagingPaise, p.DeliveryPaise, p.CGSTPaise, p.SGSTPaise, p.TipPaise, p.RoundOffPaise, share.Amount()}
				if err != nil || got != r.Want || len(r.Arithmetic) == 0 {
					t.Fatalf("refund %d: %+v, %v\nwant %+v\n%s", n+1, got, err, r.Want, strings.Join(r.Arithmetic, "\n"))
				}
				done = sum(done, share)
			}
			if len(b.Returned) > 0 && done.Amount() != bill.Amount() {
				t.Errorf("%d of %d came back", done.Amount(), bill.Amount())
			}
		})
	}
}
