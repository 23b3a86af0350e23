package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tiffin/models"
)

// PaperView is one paper, for a customer or for staff: what it says is its own, and only the state of its refund is of today.
type PaperView struct {
	Page   Page
	Paper  models.Paper
	Order  models.Order
	Refund *models.Refund // what became of the refund the paper is about: the latest request for that money
	Back   string         // the order's page, for whoever looks
}

// TicketView is a kitchen ticket on paper.
type TicketView struct {
	Page      Page
	Order     models.Order
	Ticket    models.Fulfilment
	Shortages []models.Shortage
	Nth       int // print: from the second on it is a copy
	PrintedAt time.Time
}

// restaurantService is the service accounting code of all that a restaurant sells with its meals.
const restaurantService = "996331"

// paperTitle is what the law calls a paper, by how the shop is taxed: who is not registered writes no voucher and no tax
// invoice. A paper bears it as it is; a link to one is said with T.
func paperTitle(kind, taxMode string) string {
	if taxMode == "unregistered" {
		switch kind {
		case models.PaperReceipt:
			return Key("Receipt")
		case models.PaperBill:
			return Key("Bill")
		case models.PaperVoucher:
			return Key("Refund receipt")
		}
	}
	switch kind {
	case models.PaperReceipt:
		return Key("Receipt voucher")
	case models.PaperInvoice:
		return Key("Tax invoice")
	case models.PaperBill:
		return Key("Bill of supply")
	case models.PaperVoucher:
		return Key("Refund voucher")
	case models.PaperCredit:
		return Key("Credit note")
	default:
		return Key("Debit note")
	}
}

// paperLineName is what a line is about.
func paperLineName(l models.PaperLine) string {
	switch l.What {
	case "dish":
		return l.Name
	case "packaging":
		return "Packing"
	case "delivery":
		return "Delivery"
	case "less":
		if l.TaxablePaise > 0 {
			return "Received again, " + l.Name
		}
		return "Less given back, " + l.Name
	default:
		return "Part of the bill"
	}
}

// columnRupees writes an amount in a column of rupees: without the sign.
func columnRupees(p models.Paise) string { return strings.Replace(Rupees(p), "₹", "", 1) }

// buyer is who the paper is for: as it was written down where the law wants it, else as the order still says.
func buyer(v PaperView) (name, address, gstin string) {
	b := v.Paper.Printed.Buyer
	if b.Name != "" {
		return b.Name, b.Address, b.GSTIN
	}
	if v.Order.Way == "delivery" {
		address = addressLine(v.Order)
	}
	return v.Order.Name, address, ""
}

// commas joins what is not empty.
func commas(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// states are the names of the first two digits of a GSTIN, as the GST network has them.
var states = map[string]string{
	"01": "Jammu and Kashmir", "02": "Himachal Pradesh", "03": "Punjab", "04": "Chandigarh", "05": "Uttarakhand", "06": "Haryana", "07": "Delhi", "08": "Rajasthan",
	"09": "Uttar Pradesh", "10": "Bihar", "11": "Sikkim", "12": "Arunachal Pradesh", "13": "Nagaland", "14": "Manipur", "15": "Mizoram", "16": "Tripura", "17": "Meghalaya",
	"18": "Assam", "19": "West Bengal", "20": "Jharkhand", "21": "Odisha", "22": "Chhattisgarh", "23": "Madhya Pradesh", "24": "Gujarat",
	"26": "Dadra and Nagar Haveli and Daman and Diu", "27": "Maharashtra", "29": "Karnataka", "30": "Goa", "31": "Lakshadweep", "32": "Kerala", "33": "Tamil Nadu",
	"34": "Puducherry", "35": "Andaman and Nicobar Islands", "36": "Telangana", "37": "Andhra Pradesh", "38": "Ladakh",
}

// territories have no legislature: their half is UTGST. Delhi, Puducherry, and Jammu and Kashmir have one and take SGST.
var territories = map[string]bool{"04": true, "26": true, "31": true, "35": true, "38": true}

func stateCode(p models.Paper) string {
	if len(p.Printed.Seller.GSTIN) < 2 {
		return ""
	}
	return p.Printed.Seller.GSTIN[:2]
}

// placeOfSupply is where the food is made: the seller's state.
func placeOfSupply(p models.Paper) string {
	code := stateCode(p)
	if states[code] == "" {
		return code
	}
	return states[code] + " (" + code + ")"
}

// secondHalf is the name of the state's half of the tax.
func secondHalf(p models.Paper) string {
	if territories[stateCode(p)] {
		return "UTGST"
	}
	return "SGST"
}

// taxLabel names a tax, its rate and, where a paper has several classes, what it is on.
func taxLabel(name string, rate models.BasisPoints, t models.PaperTax, classes int) string {
	label := name + " " + Percent(rate)
	if classes > 1 {
		label += " on " + Rupees(t.TaxablePaise)
	}
	return label
}

// stamp writes when a paper was issued.
func stamp(t time.Time) string { return Date(inEnglish, t) + ", " + Clock(inEnglish, t) }

// paidBy says how the advance came.
func paidBy(p models.Paper) string {
	method := map[string]string{"upi": "UPI", "card": "card", "netbanking": "netbanking", "wallet": "wallet"}[p.Printed.Method]
	switch {
	case p.Printed.RazorpayPaymentID == "":
		return ""
	case method == "":
		return "Paid online, " + p.Printed.RazorpayPaymentID
	default:
		return "Paid by " + method + ", " + p.Printed.RazorpayPaymentID
	}
}

// moneyLabel is the last line where a paper's value is not all of the money.
func moneyLabel(p models.Paper) string {
	switch p.Kind {
	case models.PaperVoucher, models.PaperCredit:
		return "Given back in all"
	default:
		return "Paid in all"
	}
}

// refundNow says what has become of the refund a paper is about. The paper stands whatever that is.
func refundNow(v PaperView) string {
	r := v.Refund
	if r == nil || v.Paper.Cause != "refund" {
		return ""
	}
	switch {
	case r.Status == "processed" && r.BankReference != "":
		return "Given back on " + stamp(*r.ProcessedAt) + ", bank reference " + r.BankReference + "."
	case r.Status == "processed":
		return "Given back on " + stamp(*r.ProcessedAt) + "."
	case r.Status == "failed":
		return "Not given back yet: the bank refused it. It is still owed, and we are seeing to it."
	case r.Status == "void":
		return "Taken back: the money was given back by another road, which has a paper of its own."
	default:
		return "On its way to the account it was paid from."
	}
}

// paperLinks is an order's papers and where they are read.
type paperLinks struct {
	papers []models.Paper
	at     string
}

func orderPapers(v OrderView) paperLinks {
	return paperLinks{v.Papers, "/orders/" + v.Order.Token + "/papers/"}
}

func staffPapers(v StaffOrderView) paperLinks {
	return paperLinks{v.Papers, staffOrderURL(v.Order.ID) + "/papers/"}
}

// markLetter stands for the coloured sign where there is no colour. Egg is not vegetarian.
func markLetter(kind string) string {
	switch kind {
	case "veg":
		return "(V)"
	case "egg":
		return "(N, egg)"
	default:
		return "(N)"
	}
}

func ticketHead(v TicketView) string {
	return dotted(strings.ToUpper(v.Order.Way), Clock(inEnglish, v.Ticket.QueuedAt), "due "+When(inEnglish, v.Ticket.PromisedAt, v.PrintedAt))
}

func ticketFoot(v TicketView) string {
	cash := ""
	if v.Order.Status == models.OrderDue {
		cash = "take " + Rupees(v.Order.AmountPaise) + " in cash"
	}
	return dotted(v.Order.Name, itemsOf(inEnglish, v.Order), cash)
}

func copyLabel(v TicketView) string {
	return "Copy " + strconv.Itoa(v.Nth-1) + " · " + When(inEnglish, v.PrintedAt, v.Page.Now)
}
