package views

import (
	"strconv"

	"tiffin/models"
)

// StaffRefundView is the form that gives a part of an order's money back.
type StaffRefundView struct {
	Page      Page
	Order     models.Order
	PaidPaise models.Paise
	LeftPaise models.Paise // of it, not yet on its way back
	Lines     []RefundLine
	Typed     RefundFields
	Errors    map[string]string // what, pieces, amount, reason
	Notice    string            // why the form is shown again; empty: it is not
}

// RefundFields are the form's fields as typed. What is dishes, amount or rest.
type RefundFields struct {
	What, Amount, Reason string
}

// RefundLine is one line of the bill, with how many of its pieces can still be given back by name and how many are chosen.
type RefundLine struct {
	Item   models.OrderItem
	Left   int
	Picked int
}

// StaffRefundReviewView says what exactly goes back, and asks.
type StaffRefundReviewView struct {
	Page      Page
	Order     models.Order
	PaidPaise models.Paise
	Share     models.Bill
	Lines     []RefundLine // the chosen ones
	Typed     RefundFields
	SeenPaise models.Paise // on its way back before this; goes along with the form
}

func pieceField(line int) string { return "piece-" + strconv.Itoa(line) }

// pieceLabel is the field's label: what it is, and for how much.
func pieceLabel(l RefundLine) string {
	return pieceName(l) + ", " + Rupees(l.Item.UnitPricePaise+l.Item.OptionsPricePaise) + " each"
}

func pieceName(l RefundLine) string { return dotted(l.Item.Name, itemOptions(l.Item.Options)) }

func pieceText(l RefundLine, n int) string {
	return strconv.Itoa(n) + " of " + strconv.Itoa(l.Left)
}

func refundChoices(v StaffRefundView) (choices []string) {
	for _, l := range v.Lines {
		if l.Left > 0 {
			choices = append(choices, "dishes")
			break
		}
	}
	return append(choices, "amount", "rest")
}

func refundChoice(v StaffRefundView, what string) string {
	switch what {
	case "dishes":
		return "Dishes"
	case "amount":
		return "An amount"
	default:
		return "Everything that is left, " + Rupees(v.LeftPaise)
	}
}

// moneyLeft says how much of what was paid is still with the shop.
func moneyLeft(left, paid models.Paise) string {
	if left == paid {
		return "All of the " + Rupees(paid) + " paid is still here."
	}
	return Rupees(left) + " of the " + Rupees(paid) + " paid is still here; the other " + Rupees(paid-left) + " went back or is on its way."
}

// shareLines are the parts of a share that are not nothing, in the order of a bill.
func shareLines(p models.Parts) (lines []billLine) {
	for _, l := range []struct {
		key, label string
		paise      models.Paise
	}{
		{"food", "Food", p.SubtotalPaise}, {"discount", "Discount", -p.DiscountPaise}, {"packing", "Packing", p.PackagingPaise}, {"delivery", "Delivery", p.DeliveryPaise},
		{"cgst", "CGST", p.CGSTPaise}, {"sgst", "SGST", p.SGSTPaise}, {"tip", "Tip", p.TipPaise}, {"round-off", "Round-off", p.RoundOffPaise}, {"fee", "Razorpay's fee", p.CustomerFeePaise},
	} {
		if l.paise != 0 {
			lines = append(lines, billLine{key: l.key, label: l.label, amount: Rupees(l.paise)})
		}
	}
	return append(lines, billLine{key: "total", label: "Goes back", amount: Rupees(p.Amount()), sum: true})
}

// mayGiveBack reports whether staff are offered to give money back: to whoever may, as long as some is left.
func mayGiveBack(v StaffOrderView) bool {
	p := keptPayment(v.Payments)
	return v.Staff.MayRefund() && p != nil && p.AmountPaise-p.CustomerFeePaise-p.RefundReservedPaise >= models.LeastPayablePaise
}

// waitsForPerson reports whether a refund failed and nothing took its place.
func waitsForPerson(v StaffOrderView, r models.Refund) bool {
	if r.Status != "failed" || !v.Staff.MayRefund() {
		return false
	}
	for _, next := range v.Refunds {
		if next.RetryOf != nil && *next.RetryOf == r.ID {
			return false
		}
	}
	return true
}
