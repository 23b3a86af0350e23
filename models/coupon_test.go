package models

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNormalGSTIN(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"": "", "29ABCDE1234F1ZW": "29ABCDE1234F1ZW", " 29abcde 1234f1zw ": "29ABCDE1234F1ZW", "27AAPFU0939F1ZV": "27AAPFU0939F1ZV",
		"29ABCDE1234F1ZX": "-", "29ABCDE1234F0ZW": "-", "29ABCDE1234F1YW": "-", "2ABCDE1234F1ZW": "-", "29ABCDE1234F1ZW9": "-", "२९ABCDE1234F1ZW": "-", "29ABCDE1234F1Z\x00": "-"} {
		got, ok := NormalGSTIN(typed)
		if ok != (want != "-") || ok && got != want {
			t.Errorf("%q: %q, %v", typed, got, ok)
		}
	}
	// One wrong character is always seen, and so are two neighbours that changed places, but for pairs that count the same.
	rapid.Check(t, func(t *rapid.T) {
		const good, letters = "27AAPFU0939F1ZV", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		at, by := rapid.IntRange(0, 14).Draw(t, "at"), rapid.SampledFrom([]byte(letters)).Draw(t, "by")
		if wrong := good[:at] + string(by) + good[at+1:]; wrong != good {
			if _, ok := NormalGSTIN(wrong); ok {
				t.Fatalf("%s is taken", wrong)
			}
		}
	})
}

// C044: what a coupon takes off follows from the facts alone, and each reason why it takes nothing has its moment.
func TestCouponDiscount(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 13, 0, 0, 0, time.UTC)
	later, amount, percent, most, total := now.Add(time.Second), Paise(100_00), BasisPoints(2000), Paise(120_00), 3
	less := Coupon{ID: 1, Code: "LESS100", AmountPaise: &amount, MinimumPaise: 499_00, PerPerson: 1, Active: true}
	part := Coupon{ID: 2, Code: "PART20", PercentBP: &percent, AtMostPaise: &most, PerPerson: 2, Total: &total, FirstOrder: true, StartsAt: &now, EndsAt: &later, Active: true}
	with := func(c Coupon, change func(*Coupon)) Coupon { change(&c); return c }
	for _, c := range []struct {
		name     string
		coupon   Coupon
		subtotal Paise
		at       time.Time
		off      Paise
		why      string
		short    Paise
	}{
		{"an amount", less, 499_00, now, 100_00, "", 0},
		{"a paisa below the minimum", less, 498_99, now, 0, "minimum", 1},
		{"never more than the dishes", with(less, func(c *Coupon) { c.MinimumPaise = 0 }), 60_00, now, 60_00, "", 0},
		{"a part", part, 500_00, now, 100_00, "", 0},
		{"rounded half up", part, 12, now, 2, "", 0}, // 2.4
		{"rounded half up, a half", part, 13, now, 3, "", 0},
		{"at most", part, 1000_00, now, 120_00, "", 0},
		{"of nothing", part, 0, now, 0, "minimum", 0},
		{"a code nobody gave out", Coupon{Code: "NONE"}, 500_00, now, 0, "unknown", 0},
		{"one that was switched off", with(less, func(c *Coupon) { c.Active = false }), 500_00, now, 0, "unknown", 0},
		{"before it begins", part, 500_00, now.Add(-time.Nanosecond), 0, "early", 0},
		{"the moment it ends", part, 500_00, later, 0, "late", 0},
		{"used up by all", with(part, func(c *Coupon) { c.Taken = 3 }), 500_00, now, 0, "used_up", 0},
		{"one is left", with(part, func(c *Coupon) { c.Taken = 2 }), 500_00, now, 100_00, "", 0},
		{"used up by this person", with(part, func(c *Coupon) { c.TakenByPerson = 2 }), 500_00, now, 0, "used", 0},
		{"not a first order", with(part, func(c *Coupon) { c.OrderedBefore = true }), 500_00, now, 0, "first_order", 0},
		{"ordered before, and it does not matter", with(less, func(c *Coupon) { c.OrderedBefore = true }), 500_00, now, 100_00, "", 0},
	} {
		off, problem := c.coupon.Discount(c.subtotal, c.at)
		why, short := "", Paise(0)
		if problem != nil {
			why, short = problem.Why, problem.ShortPaise
		}
		if off != c.off || why != c.why || short != c.short {
			t.Errorf("%s: %d off, %q, %d short; want %d, %q, %d", c.name, off, why, short, c.off, c.why, c.short)
		}
	}
}
