package views

import (
	"strconv"
	"time"

	"tiffin/models"
)

// StaffAuditView is the paise audit of a day, or of all time.
type StaffAuditView struct {
	Page  Page
	Staff models.Staff
	Audit models.Audit
	Today string // 2006-01-02: the last day there is
}

// auditGroups are the headings, as they add up: each group's first lines come to its last.
var auditGroups = []struct {
	title string
	codes []string
}{
	{"What became of the money", []string{"kept", "refunded", "refunding", "captured"}},
	{"What it was for", []string{"dishes", "discount", "packaging", "delivery", "cgst", "sgst", "tips", "round_off", "charged", "customer_fees", "returned", "captured"}},
	{"Where it is", []string{"paid_out", "fees", "fee_tax", "awaiting"}},
	{"Beside it", []string{"disputed", "elsewhere"}},
}

// auditScope says what the page is about.
func auditScope(a models.Audit) string {
	day, err := time.Parse(time.DateOnly, a.Day)
	if err != nil {
		return "All time"
	}
	return "Money captured on " + Date(inEnglish, day.Add(12*time.Hour))
}

// auditVerdict is the one sentence the page is for.
func auditVerdict(a models.Audit) string {
	if len(a.Findings) == 0 {
		return "0 paise unexplained"
	}
	return strconv.FormatInt(int64(a.UnexplainedPaise), 10) + " paise unexplained (" + Rupees(a.UnexplainedPaise) + ")"
}

// auditAmount writes a heading's sum: what is taken off stands with its sign.
func auditAmount(a models.Audit, code string) string {
	if code == "discount" {
		return Rupees(-a.Paise(code))
	}
	return Rupees(a.Paise(code))
}

// auditIsSum reports whether the lines before a heading come to it.
func auditIsSum(code string) bool { return code == "captured" || code == "charged" }

func auditTitle(a models.Audit, code string) string {
	for _, h := range a.Headings {
		if h.Code == code {
			return h.Title
		}
	}
	return stateName(code)
}
