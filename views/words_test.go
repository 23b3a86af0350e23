package views

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tiffin/models"
)

func TestInWords(t *testing.T) {
	for _, c := range []struct {
		paise models.Paise
		words string
	}{
		{0, "Rupees zero only"}, {1, "Rupees zero and one paisa only"}, {100, "Rupees one only"}, {1950, "Rupees nineteen and fifty paise only"},
		{2100, "Rupees twenty-one only"}, {9000, "Rupees ninety only"}, {10000, "Rupees one hundred only"}, {10100, "Rupees one hundred and one only"},
		{121200, "Rupees one thousand two hundred and twelve only"}, {100500, "Rupees one thousand and five only"}, {1_00_000_00, "Rupees one lakh only"},
		{1_02_005_50, "Rupees one lakh two thousand and five and fifty paise only"}, {99_99_999_99, "Rupees ninety-nine lakh ninety-nine thousand nine hundred and ninety-nine and ninety-nine paise only"},
		{1_00_00_000_00, "Rupees one crore only"}, {12_34_56_789_00, "Rupees twelve crore thirty-four lakh fifty-six thousand seven hundred and eighty-nine only"},
		{1_00_000_00_00_000_00, "Rupees one lakh crore only"}, {-50, "Minus rupees zero and fifty paise only"},
	} {
		if got := InWords(c.paise); got != c.words {
			t.Errorf("%d: %q, want %q", c.paise, got, c.words)
		}
	}
}

// Whatever is written can be read back, so no two amounts have the same words.
func TestInWordsCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := models.Paise(rapid.Int64().Draw(t, "paise"))
		if got := readWords(t, InWords(p)); got != p {
			t.Fatalf("%d is written %q and read %d", p, InWords(p), got)
		}
	})
}

// readWords is a reader of its own making: it knows the words, and nothing of how they were written.
func readWords(t *rapid.T, text string) models.Paise {
	text, only := strings.CutSuffix(text, " only")
	text, minus := strings.CutPrefix(text, "Minus rupees ")
	if !minus {
		text = strings.TrimPrefix(text, "Rupees ")
	}
	paise := ""
	text = strings.Replace(text, "paisa", "paise", 1)
	if head, found := strings.CutSuffix(text, " paise"); found {
		at := strings.LastIndex(head, " and ")
		text, paise = head[:at], head[at+len(" and "):]
	}
	if !only {
		t.Fatalf("%q has no end", text)
	}
	n := readNumber(t, text)*100 + readNumber(t, paise)
	if minus {
		n = -n
	}
	return models.Paise(n)
}

func readNumber(t *rapid.T, text string) (n uint64) {
	var group uint64
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' }) {
		switch scale := map[string]uint64{"hundred": 100, "thousand": 1000, "lakh": 100000, "crore": 10000000}[word]; {
		case word == "and":
		case word == "crore":
			n, group = (n+group)*scale, 0
		case word == "hundred":
			group *= scale
		case scale > 0:
			n, group = n+group*scale, 0
		case slices.Index(small, word) >= 0:
			group += uint64(slices.Index(small, word))
		case slices.Index(tens, word) >= 2:
			group += 10 * uint64(slices.Index(tens, word))
		default:
			t.Fatalf("no number: %q", word)
		}
	}
	return n + group
}
