package models

// Paise is an amount of Indian money in paise, 1/100 of a rupee. It is signed: only a round-off or a ledger entry is ever negative.
type Paise int64

// BasisPoints is a rate in 1/10 000: 250 is 2.5 %.
type BasisPoints int64

// TaxOn returns the tax at rate on a non-negative taxable value, rounded half up to the paisa.
// The database computes the same in order_taxes_cgst_check, so both must change together.
func TaxOn(taxable Paise, rate BasisPoints) Paise {
	return (taxable*Paise(rate) + 5000) / 10000
}

// RoundOff returns what to add to a non-negative amount so that it becomes whole rupees, 50 paise going up: between -49 and +50.
func RoundOff(amount Paise) Paise {
	rest := amount % 100
	if rest >= 50 {
		return 100 - rest
	}
	return -rest
}
