package views

import (
	"strings"

	"tiffin/models"
)

var (
	small = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens  = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
)

// InWords writes an amount as a paper's total is written, in Indian groups: "Rupees one lakh two thousand and five and fifty paise only".
// A negative amount is "Minus rupees …".
func InWords(p models.Paise) string {
	head, n := "Rupees ", uint64(p)
	if p < 0 {
		head, n = "Minus rupees ", -n // right for the lowest int64 too
	}
	words := head + inWords(n/100)
	switch n % 100 {
	case 0:
	case 1:
		words += " and one paisa"
	default:
		words += " and " + inWords(n%100) + " paise"
	}
	return words + " only"
}

// inWords writes a whole number: crores are counted like any number, below them come lakh, thousand and hundred.
func inWords(n uint64) string {
	switch {
	case n < 20:
		return small[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + small[n%10]
	}
	for _, group := range []struct {
		of   uint64
		name string
	}{{1_00_00_000, "crore"}, {1_00_000, "lakh"}, {1_000, "thousand"}, {100, "hundred"}} {
		if n < group.of {
			continue
		}
		words, rest := inWords(n/group.of)+" "+group.name, n%group.of
		switch {
		case rest == 0:
			return words
		case rest < 100:
			return words + " and " + inWords(rest)
		}
		return words + " " + inWords(rest)
	}
	return ""
}
