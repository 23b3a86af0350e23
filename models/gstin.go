package models

import (
	"regexp"
	"strings"
)

var gstinPattern = regexp.MustCompile(`^[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][1-9A-Z]Z[0-9A-Z]$`)

// NormalGSTIN is a tax number as people type it, without spaces and in capitals. ok is false unless it has the form of one and its check
// digit is right: state, PAN, registration, Z, check. An empty one is ok.
func NormalGSTIN(typed string) (gstin string, ok bool) {
	gstin = strings.ToUpper(strings.Join(strings.Fields(typed), ""))
	return gstin, gstin == "" || gstinPattern.MatchString(gstin) && gstin[14] == gstinCheck(gstin[:14])
}

// gstinCheck is the last character: each of the first 14 counts as its place in 0-9A-Z, every second one twice, a product above 35 as the
// sum of its two digits in base 36; the check is what is missing to a multiple of 36.
func gstinCheck(first string) byte {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := 0
	for i := range len(first) {
		product := strings.IndexByte(digits, first[i]) * (1 + i%2)
		sum += product/36 + product%36
	}
	return digits[(36-sum%36)%36]
}
