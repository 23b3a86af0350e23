package views

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tiffin/models"
)

func TestRupees(t *testing.T) {
	for _, c := range []struct {
		paise       models.Paise
		long, short string
	}{
		{0, "₹0.00", "₹0"},
		{1, "₹0.01", "₹0.01"},
		{99, "₹0.99", "₹0.99"},
		{100, "₹1.00", "₹1"},
		{28900, "₹289.00", "₹289"},
		{99999, "₹999.99", "₹999.99"},
		{100000, "₹1,000.00", "₹1,000"},
		{121200, "₹1,212.00", "₹1,212"},
		{9999999, "₹99,999.99", "₹99,999.99"},
		{10000000, "₹1,00,000.00", "₹1,00,000"},
		{123456789, "₹12,34,567.89", "₹12,34,567.89"},
		{1234567800, "₹1,23,45,678.00", "₹1,23,45,678"},
		{-10000, "−₹100.00", "−₹100"},
		{-30, "−₹0.30", "−₹0.30"},
		{math.MaxInt64, "₹92,23,37,20,36,85,47,758.07", "₹92,23,37,20,36,85,47,758.07"},
		{math.MinInt64, "−₹92,23,37,20,36,85,47,758.08", "−₹92,23,37,20,36,85,47,758.08"},
	} {
		if got := Rupees(c.paise); got != c.long {
			t.Errorf("Rupees(%d) = %q, want %q", c.paise, got, c.long)
		}
		if got := ShortRupees(c.paise); got != c.short {
			t.Errorf("ShortRupees(%d) = %q, want %q", c.paise, got, c.short)
		}
	}
}

// Whatever the grouping, the digits are the amount, and the text is as long as it has to be.
func TestRupeesSaysTheAmount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := models.Paise(rapid.Int64().Draw(rt, "paise"))
		text := Rupees(p)
		bare := strings.NewReplacer("₹", "", ",", "", ".", "", "−", "-").Replace(text)
		back, err := strconv.ParseInt(bare, 10, 64)
		if err != nil || models.Paise(back) != p {
			rt.Fatalf("Rupees(%d) = %q reads as %d (%v)", p, text, back, err)
		}
		whole, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "−"), "₹"), ".")
		groups := strings.Split(whole, ",")
		for n, g := range groups {
			want := 2
			if n == len(groups)-1 {
				want = 3
			}
			if len(g) != want && !(n == 0 && len(g) < want && len(g) > 0) {
				rt.Fatalf("Rupees(%d) = %q is grouped wrongly", p, text)
			}
		}
		if short := ShortRupees(p); short != text && short+".00" != text {
			rt.Fatalf("ShortRupees(%d) = %q, Rupees %q", p, short, text)
		}
	})
}

func TestTimes(t *testing.T) {
	day := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, india) }
	now := day(30, 19, 45)
	for _, c := range []struct{ got, want string }{
		{Clock(inEnglish, day(30, 19, 38)), "7:38 pm"},
		{Clock(inEnglish, day(30, 19, 38).UTC()), "7:38 pm"},
		{Clock(inEnglish, day(30, 0, 5)), "12:05 am"},
		{Clock(inEnglish, day(30, 12, 0)), "12:00 pm"},
		{ShortClock(inEnglish, day(30, 23, 0)), "11 pm"},
		{ShortClock(inEnglish, day(30, 17, 30)), "5:30 pm"},
		{ClockRange(inEnglish, day(30, 20, 10), day(30, 20, 20)), "8:10 – 8:20 pm"},
		{ClockRange(inEnglish, day(30, 11, 50), day(30, 12, 10)), "11:50 am – 12:10 pm"},
		{Date(inEnglish, day(30, 23, 50)), "30 Nov 2026"},
		{Date(inEnglish, day(30, 23, 50).UTC()), "30 Nov 2026"},
		{When(inEnglish, day(30, 7, 1), now), "7:01 am"},
		{When(inEnglish, day(29, 23, 59), now), "29 Nov, 11:59 pm"},
		{Upcoming(inEnglish, day(30, 20, 30), now), "today at 8:30 pm"},
		{Upcoming(inEnglish, now.Add(5*time.Hour), now), "tomorrow at 12:45 am"},
		{Upcoming(inEnglish, now.AddDate(0, 0, 3), now), "on Thursday at 7:45 pm"},
		{Upcoming(inEnglish, now.AddDate(0, 0, 9), now), "on 9 Dec at 7:45 pm"},
		{Minutes(inEnglish, 30, 40), "30–40 min"},
		{Minutes(inEnglish, 20, 20), "20 min"},
		{Phone("+919845012345"), "98450 12345"},
		{Phone("+441632960961"), "+441632960961"},
		{Phone(""), ""},
		{Distance(inEnglish, 3200), "3.2 km"},
		{Distance(inEnglish, 3249), "3.2 km"},
		{Distance(inEnglish, 3250), "3.3 km"},
		{Distance(inEnglish, 0), "0.0 km"},
		{Count(1, "item", "items"), "1 item"},
		{Count(0, "item", "items"), "0 items"},
		{Percent(250), "2.5%"},
		{Percent(900), "9%"},
		{Percent(1275), "12.75%"},
		{Percent(1000), "10%"},
		{Percent(5), "0.05%"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Hindi names the part of the day; a window that lies in two of them says both, while English says pm once.
func TestTimesInHindi(t *testing.T) {
	at := func(h, m int) time.Time { return time.Date(2026, 11, 30, h, m, 0, 0, india) }
	for _, c := range []struct{ got, want string }{
		{ShortClock(inHindi, at(4, 0)), "सुबह 4 बजे"},
		{Clock(inHindi, at(3, 59)), "रात 3:59 बजे"},
		{Clock(inHindi, at(12, 0)), "दोपहर 12:00 बजे"},
		{Clock(inHindi, at(16, 0)), "शाम 4:00 बजे"},
		{ShortClock(inHindi, at(23, 0)), "रात 11 बजे"},
		{ClockRange(inHindi, at(20, 10), at(20, 20)), "रात 8:10 – 8:20 बजे"},
		{ClockRange(inHindi, at(19, 50), at(20, 10)), "शाम 7:50 बजे – रात 8:10 बजे"},
		{ClockRange(inEnglish, at(19, 50), at(20, 10)), "7:50 – 8:10 pm"},
		{ClockRange(inEnglish, at(15, 50), at(16, 10)), "3:50 – 4:10 pm"},
		{ClockRange(inEnglish, at(3, 50), at(4, 10)), "3:50 – 4:10 am"},
		{ClockRange(inEnglish, at(23, 50), at(24, 10)), "11:50 pm – 12:10 am"},
		{Clock(inEnglish, at(0, 5)), "12:05 am"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
