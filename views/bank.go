package views

import (
	"context"
	"strconv"
	"time"

	"tiffin/models"
)

// What banks are given, and what they take. Data, with where it is from; a change of a rule is a change of a line here.

// refundTime is how many working days a refund takes to be seen, by the way that was paid: Docs-Aug "Refunds", normal speed.
type refundTime struct{ from, to int }

var (
	refundTimes = map[string]refundTime{"upi": {2, 7}, "card": {5, 10}, "netbanking": {2, 10}, "wallet": {0, 3}}

	// anyRefundTime is for a way that is not known: the headline of the same page.
	anyRefundTime = refundTime{5, 7}
)

// Failed payments that a customer's bank debited all the same go back by themselves: by T + 5 days, T being the calendar day of the
// payment, and then the bank owes ₹100 for each further day. Reserve Bank of India, "Harmonisation of Turn Around Time", 20 September
// 2019, in force since 15 October 2019; for UPI to merchants and for cards where none is present.
const (
	reversalDays    = 5
	reversalPenalty = models.Paise(100_00)
)

// reversalRule is the ways the rule names.
var reversalRule = map[string]bool{"upi": true, "card": true}

func refundTimeOf(method string) refundTime {
	if t, known := refundTimes[method]; known {
		return t
	}
	return anyRefundTime
}

// refundDays is a refund's usual time in words.
func refundDays(ctx context.Context, method string) string {
	t := refundTimeOf(method)
	if t.from == 0 {
		return T(ctx, "up to %s working days", strconv.Itoa(t.to))
	}
	return T(ctx, "%s–%s working days", strconv.Itoa(t.from), strconv.Itoa(t.to))
}

// refundDue is the day by which a refund that began at from should be seen: Saturdays and Sundays left out, bank holidays not, for which
// no list is at hand.
func refundDue(method string, from time.Time) time.Time {
	day := dayOf(from)
	for left := refundTimeOf(method).to; left > 0; {
		day = day.AddDate(0, 0, 1)
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			left--
		}
	}
	return day
}

// reversal says what happens to money that left an account without reaching us: that it comes back by itself, by when the bank must have
// put it back, and what it owes from then on. paid is when it was paid. Of ways the rule does not name only the first is promised.
func reversal(ctx context.Context, method string, paid, now time.Time) string {
	end := dayOf(paid).AddDate(0, 0, reversalDays)
	last, penalty := day(ctx, end), ShortRupees(reversalPenalty)
	switch {
	case method != "" && !reversalRule[method]:
		return T(ctx, "If money left your account, it comes back by itself. Ask your bank if it is not there by %s.", last)
	case dayOf(now).After(end):
		return T(ctx, "If money left your account, your bank had to put it back by %s, by the Reserve Bank's rule. If it has not, it owes you %s for each further day: ask your bank.", last, penalty)
	case method == "":
		return T(ctx, "If money left your account, it comes back by itself: for UPI and cards by %s at the latest, by the Reserve Bank's rule. After that your bank owes you %s for each further day.", last, penalty)
	default:
		return T(ctx, "If money left your account, it comes back by itself, by %s at the latest, by the Reserve Bank's rule. After that your bank owes you %s for each further day.", last, penalty)
	}
}
