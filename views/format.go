package views

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// india is the one zone people read times in. It has no daylight saving, so a fixed zone needs no tables from the machine.
var india = time.FixedZone("IST", 5*60*60+30*60)

// Rupees writes an amount for a bill, a button that pays, a refund or a letter: always two decimals, Indian grouping,
// "₹1,23,456.00". A negative amount has a real minus in front: "−₹100.00".
func Rupees(p models.Paise) string {
	sign, whole, rest := split(p)
	return sign + "₹" + whole + "." + rest
}

// ShortRupees writes a price for the menu: as Rupees, but without ".00".
func ShortRupees(p models.Paise) string {
	sign, whole, rest := split(p)
	if rest == "00" {
		return sign + "₹" + whole
	}
	return sign + "₹" + whole + "." + rest
}

// split works on the digits, so that every int64 can be written, the lowest one too.
func split(p models.Paise) (sign, whole, rest string) {
	digits := strconv.FormatInt(int64(p), 10)
	if digits[0] == '-' {
		sign, digits = "−", digits[1:]
	}
	if len(digits) < 3 {
		digits = strings.Repeat("0", 3-len(digits)) + digits
	}
	return sign, grouped(digits[:len(digits)-2]), digits[len(digits)-2:]
}

// grouped puts commas the Indian way: the last three digits together, then pairs.
func grouped(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	head, tail := digits[:len(digits)-3], digits[len(digits)-3:]
	for len(head) > 2 {
		head, tail = head[:len(head)-2], head[len(head)-2:]+","+tail
	}
	return head + "," + tail
}

// Percent writes a rate: 250 basis points are "2.5%".
func Percent(bp models.BasisPoints) string {
	text := fmt.Sprintf("%d.%02d", bp/100, bp%100)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

// partOfDay is how a time of this hour is said. English knows am and pm alone; Hindi names the parts of the day, as CLDR divides it.
func partOfDay(hour int) string {
	switch {
	case hour < 4:
		return Key("%s after midnight")
	case hour < 12:
		return Key("%s in the morning")
	case hour < 16:
		return Key("%s in the afternoon")
	case hour < 20:
		return Key("%s in the evening")
	default:
		return Key("%s at night")
	}
}

// Clock writes the time of day in India: "7:38 pm".
func Clock(ctx context.Context, t time.Time) string {
	t = t.In(india)
	return T(ctx, partOfDay(t.Hour()), t.Format("3:04"))
}

// ShortClock is Clock without ":00": "11 pm", "5:30 pm".
func ShortClock(ctx context.Context, t time.Time) string {
	if t = t.In(india); t.Minute() == 0 {
		return T(ctx, partOfDay(t.Hour()), t.Format("3"))
	}
	return Clock(ctx, t)
}

// ClockRange writes a window: "8:10 – 8:20 pm", and "11:50 am – 12:10 pm" where the two are said differently.
func ClockRange(ctx context.Context, from, to time.Time) string {
	from, to = from.In(india), to.In(india)
	alike := T(ctx, partOfDay(from.Hour()), "") == T(ctx, partOfDay(to.Hour()), "")
	if alike && to.Sub(from) < 12*time.Hour {
		return T(ctx, partOfDay(to.Hour()), from.Format("3:04")+" – "+to.Format("3:04"))
	}
	return Clock(ctx, from) + " – " + Clock(ctx, to)
}

var monthNames = [...]string{"", Key("Jan"), Key("Feb"), Key("Mar"), Key("Apr"), Key("May"), Key("Jun"), Key("Jul"), Key("Aug"), Key("Sep"), Key("Oct"), Key("Nov"), Key("Dec")}

var weekdayNames = [...]string{Key("Sunday"), Key("Monday"), Key("Tuesday"), Key("Wednesday"), Key("Thursday"), Key("Friday"), Key("Saturday")}

// Date writes a day in India: "30 Nov 2026".
func Date(ctx context.Context, t time.Time) string { return day(ctx, t.In(india)) }

// day writes a day that dayOf or refundDue gave.
func day(ctx context.Context, d time.Time) string {
	return shortDay(ctx, d) + " " + strconv.Itoa(d.Year())
}

func shortDay(ctx context.Context, d time.Time) string {
	return strconv.Itoa(d.Day()) + " " + T(ctx, monthNames[d.Month()])
}

// When writes an instant for people who look at it at now: "7:38 pm" on the same day, else "30 Nov, 7:38 pm".
func When(ctx context.Context, t, now time.Time) string {
	if sameDay(t, now) {
		return Clock(ctx, t)
	}
	return shortDay(ctx, t.In(india)) + ", " + Clock(ctx, t)
}

// Upcoming writes an instant ahead of now: "today at 5:30 pm", "tomorrow at 11 am", "on Sunday at 11 am", "on 12 Dec at 11 am".
func Upcoming(ctx context.Context, t, now time.Time) string {
	switch days := dayOf(t).Sub(dayOf(now)) / (24 * time.Hour); {
	case days <= 0:
		return T(ctx, "today at %s", ShortClock(ctx, t))
	case days == 1:
		return T(ctx, "tomorrow at %s", ShortClock(ctx, t))
	case days < 7:
		return T(ctx, "on %s at %s", T(ctx, weekdayNames[t.In(india).Weekday()]), ShortClock(ctx, t))
	default:
		return T(ctx, "on %s at %s", shortDay(ctx, t.In(india)), ShortClock(ctx, t))
	}
}

func dayOf(t time.Time) time.Time {
	y, m, d := t.In(india).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func sameDay(a, b time.Time) bool { return dayOf(a).Equal(dayOf(b)) }

// Minutes writes a span of whole minutes: "30–40 min", "20 min" when both are the same.
func Minutes(ctx context.Context, from, to int) string {
	if from == to {
		return T(ctx, "%s min", strconv.Itoa(to))
	}
	return T(ctx, "%s–%s min", strconv.Itoa(from), strconv.Itoa(to))
}

// Phone writes a stored E.164 number for people in India: "+919845012345" is "98450 12345". Any other number is left as it is.
func Phone(e164 string) string {
	rest, indian := strings.CutPrefix(e164, "+91")
	if !indian || len(rest) != 10 {
		return e164
	}
	return rest[:5] + " " + rest[5:]
}

// Distance writes metres as kilometres with one decimal: "3.2 km".
func Distance(ctx context.Context, metres int) string {
	tenths := (metres + 50) / 100
	return T(ctx, "%s km", fmt.Sprintf("%d.%d", tenths/10, tenths%10))
}

// Count writes a number with its word for staff: "1 item", "6 items". For customers T does, whose sentence begins with the count.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
