package views

import (
	"strings"
	"time"

	"tiffin/models"
)

// What the order's page says about money that is not here, or not yet: what is known, what comes next and by when, and what if not. Each
// returns the paragraphs of one message.

func unpaidText(v OrderView) []string {
	return said(noneReached(v)+"If you have just paid, wait a moment: this page changes by itself.",
		"Else pay when you are ready; we hold your order until "+Clock(v.Order.HoldExpiresAt)+". "+unpaidEnd(v.Order), returnedText(v))
}

func failedText(v OrderView) []string {
	return said(failure(v), noneReached(v)+"Try again or use another method until "+Clock(v.Order.HoldExpiresAt)+". "+unpaidEnd(v.Order), reversalOf(v))
}

// failure is the bank's reason, without the time that Razorpay's sentence may promise for money that was debited all the same: the page
// says what the rule is.
func failure(v OrderView) string {
	last := lastAttempt(v.Payments)
	if last == nil || last.GWStatus != "failed" {
		return ""
	}
	var kept []string
	for _, sentence := range strings.SplitAfter(last.ErrorDescription, ". ") {
		if !strings.Contains(strings.ToLower(sentence), "refunded within") {
			kept = append(kept, sentence)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// confirmingText is what is known while a payment is on its way, and, as long as it is not slow, what happens if it stays so.
func confirmingText(v OrderView, state string) string {
	if state == StateSlow {
		return "A payment is on its way to us. Please do not pay again."
	}
	text := "A payment is on its way to us. We are asking Razorpay; this takes a few seconds. Please do not pay again."
	if by := endsBy(v.Order); by != "" {
		text += " If it cannot be confirmed by about " + by + ", the order ends and the money goes back to you."
	}
	return text
}

func slowText(v OrderView) []string {
	text := "Your bank or Razorpay is slow. We keep asking; this page changes by itself, and you may leave it."
	if v.Order.Email != "" {
		text += " We will email you."
	}
	return said(text, confirmEnd(v), reversalOf(v))
}

func lapsedText(v OrderView) []string {
	return said("The time to pay is over. We ask Razorpay once more whether a payment reached us; this page changes by itself. Please do not pay again.", confirmEnd(v), reversalOf(v))
}

func expiredText(v OrderView) []string {
	if len(v.Refunds) > 0 {
		return said("The order was not placed. Your cart is as you left it.")
	}
	return append(said("No payment has reached us, so the order was not placed. Your cart is as you left it."), unreached(v)...)
}

// unreached says, of an order that is closed without a payment, what happens to money that may be under way all the same.
func unreached(v OrderView) []string {
	if returned := returnedText(v); returned != "" {
		return said(returned)
	}
	if under := outstanding(v); under != "" {
		return said(under)
	}
	const late = "If a payment still reaches us, we give all of it back at once."
	if v.Order.Status == models.OrderCancelled && len(v.Payments) == 0 && v.HintedAt == nil {
		return said(late) // nobody has tried to pay, as far as is known
	}
	return said(late, reversalOf(v))
}

// said leaves out what there is nothing to say about.
func said(paragraphs ...string) []string {
	var kept []string
	for _, p := range paragraphs {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// noneReached says that no payment is here, unless one came that could not be kept.
func noneReached(v OrderView) string {
	if len(v.Refunds) > 0 {
		return ""
	}
	return "No payment has reached us. "
}

// endsBy is when an unpaid order is over at the latest, as people are told: paid, or ended. "" when it is not known.
func endsBy(o models.Order) string {
	if o.ResolveBy == nil {
		return ""
	}
	return Clock(*o.ResolveBy)
}

// unpaidEnd says what happens to an order nobody pays, and by when.
func unpaidEnd(o models.Order) string {
	if by := endsBy(o); by != "" {
		return "Then we ask Razorpay once more, and by about " + by + " the order ends by itself; nothing is charged."
	}
	return "Then the order ends by itself; nothing is charged."
}

// confirmEnd says by when a payment that is on its way is decided, and what happens to it if it arrives after that.
func confirmEnd(v OrderView) string {
	const back = " If it ends and the payment still reaches us, we give all of it back at once."
	by := endsBy(v.Order)
	if by == "" || !v.Page.Now.Before(*v.Order.ResolveBy) {
		return "Any minute now this page says that the order is paid, or that it has ended." + back
	}
	return "By about " + by + " this page says that the order is paid, or that it has ended." + back
}

// reversalOf is reversal for the attempt whose money may have left an account without reaching us: the latest, else the one a browser
// told of, else one made when the order was placed.
func reversalOf(v OrderView) string {
	var method string
	var paid time.Time
	if last := lastAttempt(v.Payments); last != nil {
		method, paid = last.Method, last.CreatedAt
	} else if v.HintedAt != nil {
		paid = *v.HintedAt
	} else {
		paid = v.Order.PlacedAt
	}
	return reversal(method, paid, v.Page.Now)
}

// returnedText tells of an attempt that Razorpay gives back by itself, never having let us have it; "" when there is none.
func returnedText(v OrderView) string {
	for i := len(v.Payments) - 1; i >= 0; i-- {
		if p := v.Payments[i]; p.GWStatus == "voided" {
			return "Razorpay gives your payment of " + Rupees(p.AmountPaise) + " back to " + account(p.Method) + " by itself; banks show it in " + refundDays(p.Method) +
				", so by " + day(refundDue(p.Method, p.UpdatedAt)) + "."
		}
	}
	return ""
}

// outstanding tells of a payment that was under way when its order closed; "" when none is known of.
func outstanding(v OrderView) string {
	for i := len(v.Payments) - 1; i >= 0; i-- {
		if p := v.Payments[i]; p.GWStatus == "authorized" {
			return "Your bank agreed to a payment of " + Rupees(p.AmountPaise) + " that had not reached us by then. If it still does, we give all of it back at once; if it does not, Razorpay gives it back by itself. Banks show it in " + refundDays(p.Method) + "."
		}
	}
	return ""
}
