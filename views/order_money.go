package views

import (
	"context"
	"strings"
	"time"

	"tiffin/models"
)

// What the order's page says about money that is not here, or not yet: what is known, what comes next and by when, and what if not. Each
// returns the paragraphs of one message.

func unpaidText(ctx context.Context, v OrderView) []string {
	return said(sentences(noneReached(ctx, v), T(ctx, "If you have just paid, wait a moment: this page changes by itself.")),
		sentences(T(ctx, "Else pay when you are ready; we hold your order until %s.", Clock(ctx, v.Order.HoldExpiresAt)), unpaidEnd(ctx, v.Order)), returnedText(ctx, v))
}

func failedText(ctx context.Context, v OrderView) []string {
	return said(failure(v), sentences(noneReached(ctx, v), T(ctx, "Try again or use another method until %s.", Clock(ctx, v.Order.HoldExpiresAt)), unpaidEnd(ctx, v.Order)), reversalOf(ctx, v))
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
func confirmingText(ctx context.Context, v OrderView, state string) string {
	if state == StateSlow {
		return T(ctx, "A payment is on its way to us. Please do not pay again.")
	}
	text := T(ctx, "A payment is on its way to us. We are asking Razorpay; this takes a few seconds. Please do not pay again.")
	if by := endsBy(ctx, v.Order); by != "" {
		text += " " + T(ctx, "If it cannot be confirmed by about %s, the order ends and the money goes back to you.", by)
	}
	return text
}

func slowText(ctx context.Context, v OrderView) []string {
	text := T(ctx, "Your bank or Razorpay is slow. We keep asking; this page changes by itself, and you may leave it.")
	if v.Order.Email != "" {
		text += " " + T(ctx, "We will email you.")
	}
	return said(text, confirmEnd(ctx, v), reversalOf(ctx, v))
}

func lapsedText(ctx context.Context, v OrderView) []string {
	return said(T(ctx, "The time to pay is over. We ask Razorpay once more whether a payment reached us; this page changes by itself. Please do not pay again."), confirmEnd(ctx, v), reversalOf(ctx, v))
}

func expiredText(ctx context.Context, v OrderView) []string {
	if len(v.Refunds) > 0 {
		return said(T(ctx, "The order was not placed. Your cart is as you left it."))
	}
	return append(said(T(ctx, "No payment has reached us, so the order was not placed. Your cart is as you left it.")), unreached(ctx, v)...)
}

// unreached says, of an order that is closed without a payment, what happens to money that may be under way all the same.
func unreached(ctx context.Context, v OrderView) []string {
	if returned := returnedText(ctx, v); returned != "" {
		return said(returned)
	}
	if under := outstanding(ctx, v); under != "" {
		return said(under)
	}
	late := T(ctx, "If a payment still reaches us, we give all of it back at once.")
	if v.Order.Status == models.OrderCancelled && len(v.Payments) == 0 && v.HintedAt == nil {
		return said(late) // nobody has tried to pay, as far as is known
	}
	return said(late, reversalOf(ctx, v))
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
func noneReached(ctx context.Context, v OrderView) string {
	if len(v.Refunds) > 0 {
		return ""
	}
	return T(ctx, "No payment has reached us.")
}

// endsBy is when an unpaid order is over at the latest, as people are told: paid, or ended. "" when it is not known.
func endsBy(ctx context.Context, o models.Order) string {
	if o.ResolveBy == nil {
		return ""
	}
	return Clock(ctx, *o.ResolveBy)
}

// unpaidEnd says what happens to an order nobody pays, and by when.
func unpaidEnd(ctx context.Context, o models.Order) string {
	if by := endsBy(ctx, o); by != "" {
		return T(ctx, "Then we ask Razorpay once more, and by about %s the order ends by itself; nothing is charged.", by)
	}
	return T(ctx, "Then the order ends by itself; nothing is charged.")
}

// confirmEnd says by when a payment that is on its way is decided, and what happens to it if it arrives after that.
func confirmEnd(ctx context.Context, v OrderView) string {
	by := endsBy(ctx, v.Order)
	if by == "" || !v.Page.Now.Before(*v.Order.ResolveBy) {
		return T(ctx, "Any minute now this page says that the order is paid, or that it has ended. If it ends and the payment still reaches us, we give all of it back at once.")
	}
	return T(ctx, "By about %s this page says that the order is paid, or that it has ended. If it ends and the payment still reaches us, we give all of it back at once.", by)
}

// reversalOf is reversal for the attempt whose money may have left an account without reaching us: the latest, else the one a browser
// told of, else one made when the order was placed.
func reversalOf(ctx context.Context, v OrderView) string {
	var method string
	var paid time.Time
	if last := lastAttempt(v.Payments); last != nil {
		method, paid = last.Method, last.CreatedAt
	} else if v.HintedAt != nil {
		paid = *v.HintedAt
	} else {
		paid = v.Order.PlacedAt
	}
	return reversal(ctx, method, paid, v.Page.Now)
}

// returnedText tells of an attempt that Razorpay gives back by itself, never having let us have it; "" when there is none.
func returnedText(ctx context.Context, v OrderView) string {
	for i := len(v.Payments) - 1; i >= 0; i-- {
		if p := v.Payments[i]; p.GWStatus == "voided" {
			return T(ctx, "Razorpay gives your payment of %s back to %s by itself; banks show it in %s, so by %s.",
				Rupees(p.AmountPaise), account(ctx, p.Method), refundDays(ctx, p.Method), day(ctx, refundDue(p.Method, p.UpdatedAt)))
		}
	}
	return ""
}

// outstanding tells of a payment that was under way when its order closed; "" when none is known of.
func outstanding(ctx context.Context, v OrderView) string {
	for i := len(v.Payments) - 1; i >= 0; i-- {
		if p := v.Payments[i]; p.GWStatus == "authorized" {
			return T(ctx, "Your bank agreed to a payment of %s that had not reached us by then. If it still does, we give all of it back at once; if it does not, Razorpay gives it back by itself. Banks show it in %s.",
				Rupees(p.AmountPaise), refundDays(ctx, p.Method))
		}
	}
	return ""
}
