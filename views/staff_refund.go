package views

import (
	"context"
	"strconv"

	"tiffin/models"
)

// StaffRefundView is the form that gives a part of an order's money back.
type StaffRefundView struct {
	Page      Page
	Order     models.Order
	LeftPaise models.Paise // of what was paid, not yet on its way back
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
	Share     models.Bill
	Lines     []RefundLine // the chosen ones
	Typed     RefundFields
	SeenPaise models.Paise // on its way back before this; goes along with the form
	Notice    string       // why it is shown again; empty: it is not
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
func shareLines(ctx context.Context, p models.Parts) (lines []billLine) {
	for _, l := range []struct {
		key, label string
		paise      models.Paise
	}{
		{"food", T(ctx, "Food"), p.SubtotalPaise}, {"discount", T(ctx, "Discount"), -p.DiscountPaise}, {"packing", T(ctx, "Packing"), p.PackagingPaise},
		{"delivery", T(ctx, "Delivery"), p.DeliveryPaise}, {"cgst", "CGST", p.CGSTPaise}, {"sgst", "SGST", p.SGSTPaise}, {"tip", T(ctx, "Tip"), p.TipPaise},
		{"round-off", T(ctx, "Round-off"), p.RoundOffPaise}, {"fee", T(ctx, "Razorpay's fee"), p.CustomerFeePaise},
	} {
		if l.paise != 0 {
			lines = append(lines, billLine{key: l.key, label: l.label, amount: Rupees(l.paise)})
		}
	}
	return append(lines, billLine{key: "total", label: T(ctx, "Money back"), amount: Rupees(p.Amount()), sum: true})
}

// mayGiveBack reports whether staff are offered to give money back: to whoever may, as long as some is left.
func mayGiveBack(v StaffOrderView) bool {
	p := keptPayment(v.Payments)
	return v.Staff.MayRefund() && p != nil && p.LeftPaise() >= models.LeastPayablePaise
}

// partWords say of how much of what an order cost a refund is a part, by its stage; with the reason, when staff gave one.
var partWords = map[string][2]string{
	"requested": {Key("%s of %s goes back to you."), Key("%s of %s goes back to you: %s")},
	"submitted": {Key("%s of %s goes back to you."), Key("%s of %s goes back to you: %s")},
	"processed": {Key("%s of %s went back to you."), Key("%s of %s went back to you: %s")},
	"failed":    {Key("%s of %s is to go back to you."), Key("%s of %s is to go back to you: %s")},
}

// refundPart is what the customer reads of how much of an order a refund is, and why. It is empty for all of it, unless staff gave a reason,
// and for money that never paid the order.
func refundPart(ctx context.Context, v OrderView, r models.Refund) string {
	p := keptPayment(v.Payments)
	if p == nil || r.PaymentID != p.ID || r.Kind != "staff" && r.AmountPaise >= v.Order.AmountPaise {
		return ""
	}
	if words := partWords[r.Status]; r.Kind == "staff" && r.Reason != "" {
		return T(ctx, words[1], Rupees(r.AmountPaise), Rupees(v.Order.AmountPaise), r.Reason)
	} else {
		return T(ctx, words[0], Rupees(r.AmountPaise), Rupees(v.Order.AmountPaise))
	}
}

// refundLetter is what a letter says of a refund: how much of what, why, where it stands since when, and what to ask the bank with.
func refundLetter(ctx context.Context, v MailView) []string {
	r := *v.Refund
	if r.Provider == "cash" {
		return cashRefundLetter(ctx, v)
	}
	number, amount, paid, names := strconv.Itoa(v.Order.Number), Rupees(r.AmountPaise), Rupees(v.Order.AmountPaise), refundNames(ctx, r)
	if r.Status == "processed" {
		said := T(ctx, "%s of order %s was refunded to the account you paid from.", amount, number)
		if r.Kind == "staff" {
			said = T(ctx, "%s of the %s you paid for order %s was refunded to the account you paid from: %s", amount, paid, number, oneLine(r.Reason))
		}
		return []string{said, sentences(refundStage(ctx, r), names), T(ctx, "If you do not see it yet, ask your bank with this number.")}
	}
	said := T(ctx, "%s of order %s goes back to the account you paid from.", amount, number)
	if r.Kind == "staff" {
		said = T(ctx, "%s of the %s you paid for order %s goes back to the account you paid from: %s", amount, paid, number, oneLine(r.Reason))
	}
	asked := T(ctx, "Requested on %s. Banks show it in %s.", Date(ctx, r.RequestedAt), refundDays(ctx, ""))
	return []string{said, sentences(asked, names), T(ctx, "You need not do anything.")}
}

// letterParts are what of the bill a refund gives back, as its letter lists it.
func letterParts(ctx context.Context, v MailView) []billLine {
	if v.Share == nil || v.Refund == nil {
		return nil
	}
	return shareLines(ctx, *v.Share)
}
