package views

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiffin/models"
)

// samplePaper is a paper of each kind about the same order: dishes with a coupon, one of them named in Hindi, packing, and a second rate for
// the delivery; a refund is of one dish and a part of the rest.
func samplePaper(kind, taxMode string) PaperView {
	o := sampleOrder()
	p := models.Paper{ID: 3, OutletID: 1, Kind: kind, FY: 2026, Serial: 47, OrderID: o.ID, TaxMode: taxMode, IssuedAt: evening}
	p.Number = map[string]string{models.PaperReceipt: "R", models.PaperInvoice: "T", models.PaperBill: "B", models.PaperVoucher: "V", models.PaperCredit: "C", models.PaperDebit: "D"}[kind] + "1/26-27/00047"
	s := &p.Printed.Seller
	s.Name, s.LegalName, s.Address, s.PIN, s.Phone, s.GSTIN, s.FSSAI = "Kesar Kitchen", "Kesar Kitchen Foods LLP", "12, 100 Feet Road, Indiranagar, Bengaluru", "560038", "+918012345678", "29ABCDE1234F1Z5", "10020043001234"
	if taxMode == "unregistered" {
		s.GSTIN = ""
	}
	p.Printed.OrderNumber, p.Printed.PlacedAt, p.Printed.Method, p.Printed.RazorpayPaymentID = o.Number, o.PlacedAt, "upi", "pay_TstAbCdEf00003"
	class := func(name string) string {
		if taxMode == "regular" {
			return name
		}
		return ""
	}
	v := PaperView{Page: samplePage(""), Order: o, Back: "/orders/" + o.Token}
	against := evening.Add(-20 * time.Minute)
	switch kind {
	case models.PaperReceipt, models.PaperInvoice, models.PaperBill:
		p.Cause = "paid"
		p.Printed.Coupon = "LESS100"
		p.Printed.Lines = []models.PaperLine{
			{What: "dish", Name: "Butter Chicken", Options: "Full, serves 2 · Extra butter", Qty: 2, UnitPaise: 36900, DiscountPaise: 5656, TaxablePaise: 68144, TaxClass: class("restaurant")},
			{What: "dish", Name: "पनीर टिक्का मसाला", Qty: 1, UnitPaise: 32900, DiscountPaise: 2666, TaxablePaise: 30234, TaxClass: class("restaurant")},
			{What: "packaging", Qty: 1, UnitPaise: 2000, TaxablePaise: 2000, TaxClass: class("restaurant")},
			{What: "delivery", Qty: 1, UnitPaise: 4000, TaxablePaise: 4000, TaxClass: class("delivery")},
		}
		p.TaxablePaise, p.TipPaise = 104378, 5000
		if taxMode == "regular" {
			p.Printed.Taxes = []models.PaperTax{{TaxClass: "delivery", TaxablePaise: 4000, CGSTBP: 900, SGSTBP: 900, CGSTPaise: 360, SGSTPaise: 360}, {TaxClass: "restaurant", TaxablePaise: 100378, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 2509, SGSTPaise: 2509}}
			p.CGSTPaise, p.SGSTPaise = 2869, 2869
		}
		if kind != models.PaperReceipt {
			p.Cause = "handed_over"
			p.Printed.AgainstKind, p.Printed.AgainstNumber, p.Printed.AgainstAt = models.PaperReceipt, "R1/26-27/00050", &against
			b := &p.Printed.Buyer
			b.Name, b.GSTIN, b.Address = "Lake View Offices LLP", "29ABCDE1234F1Z5", "Flat 302, Lake View, 560038"
			p.Printed.Lines = append(p.Printed.Lines, models.PaperLine{What: "less", Name: "V1/26-27/00009", TaxablePaise: -10000, TaxClass: class("restaurant")})
			p.TaxablePaise -= 10000
			if taxMode == "regular" {
				t := &p.Printed.Taxes[1]
				t.TaxablePaise, t.CGSTPaise, t.SGSTPaise = 90378, 2259, 2259
				p.CGSTPaise, p.SGSTPaise = 2619, 2619
			}
		}
	default:
		p.Cause = "refund"
		p.Printed.Lines = []models.PaperLine{
			{What: "dish", Name: "पनीर टिक्का मसाला", Qty: 1, UnitPaise: 32900, DiscountPaise: 2666, TaxablePaise: 30234, TaxClass: class("restaurant")},
			{What: "part", TaxablePaise: 1001, TaxClass: class("restaurant")},
		}
		p.TaxablePaise = 31235
		if taxMode == "regular" {
			p.Printed.Taxes = []models.PaperTax{{TaxClass: "restaurant", TaxablePaise: 31235, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 781, SGSTPaise: 781}}
			p.CGSTPaise, p.SGSTPaise = 781, 781
		}
		p.Printed.Reason, p.Printed.AgainstAt = "The paneer was cold", &against
		switch kind {
		case models.PaperVoucher:
			p.Printed.AgainstKind, p.Printed.AgainstNumber = models.PaperReceipt, "R1/26-27/00050"
		case models.PaperCredit:
			p.Printed.AgainstKind, p.Printed.AgainstNumber = models.PaperInvoice, "T1/26-27/00047"
			if taxMode != "regular" {
				p.Printed.AgainstKind, p.Printed.AgainstNumber = models.PaperBill, "B1/26-27/00047"
			}
		default:
			p.Cause, p.Printed.AgainstKind, p.Printed.AgainstNumber = "void", models.PaperCredit, "C1/26-27/00046"
		}
		v.Refund = &models.Refund{Status: "processed", ProcessedAt: at(2), BankReference: "412345678901"}
	}
	p.TotalPaise = p.TaxablePaise + p.CGSTPaise + p.SGSTPaise
	if p.Cause != "refund" && p.Cause != "void" {
		p.RoundOffPaise = models.RoundOff(p.TotalPaise)
		p.TotalPaise += p.RoundOffPaise
	}
	p.MoneyPaise = p.TotalPaise + p.TipPaise
	v.Paper = p
	return v
}

// samplePapers is every paper there is, by how the shop is taxed.
func samplePapers() map[string]PaperView {
	papers := map[string]PaperView{}
	for _, mode := range []string{"regular", "composition", "unregistered"} {
		bill := models.PaperBill
		if mode == "regular" {
			bill = models.PaperInvoice
		}
		for _, kind := range []string{models.PaperReceipt, bill, models.PaperVoucher, models.PaperCredit, models.PaperDebit} {
			papers["paper_"+mode+"_"+kind] = samplePaper(kind, mode)
		}
	}
	return papers
}

func sampleTicketView() TicketView {
	o := sampleOrder()
	o.Items[1].Name = "पनीर टिक्का मसाला"
	return TicketView{Page: samplePage(""), Order: o, Ticket: models.Fulfilment{QueuedAt: evening, PromisedAt: evening.Add(27 * time.Minute)}, Nth: 2, PrintedAt: evening.Add(3 * time.Minute)}
}

func TestPapersAreAsBefore(t *testing.T) {
	pages := map[string]string{"kitchen_ticket": render(t, KitchenTicketPage(sampleTicketView()))}
	for name, v := range samplePapers() {
		pages[name] = render(t, PaperPage(v))
	}
	if len(pages) != 16 {
		t.Fatalf("%d pages", len(pages))
	}
	for name, page := range pages {
		got, path := hashInName.ReplaceAllString(page, ".HASH."), filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(path); err != nil || got != string(want) {
			t.Errorf("%s differs: %v", path, err)
		}
	}
}

// What the law wants to stand on each kind, and what may not stand where no tax is charged.
func TestPapersSayWhatTheLawWants(t *testing.T) {
	for name, v := range samplePapers() {
		root := parse(t, render(t, PaperPage(v)))
		says := func(testid, want string) {
			if got := firstText(root, testid); !strings.Contains(got, want) {
				t.Errorf("%s: %s says %q, not %q", name, testid, got, want)
			}
		}
		lacks := func(testid string) {
			if len(byTestID(root, testid)) != 0 {
				t.Errorf("%s shows %s", name, testid)
			}
		}
		p := v.Paper
		says("paper", paperTitle(p.Kind, p.TaxMode))
		says("paper-number", p.Number)
		says("paper", p.Number+" 30 Nov 2026, 7:45 pm")
		says("paper-seller", "Kesar Kitchen Foods LLP")
		says("paper-seller", "12, 100 Feet Road")
		says("paper-seller", "FSSAI 10020043001234")
		says("paper-taxable", Rupees(p.TaxablePaise))
		says("paper-total", Rupees(p.TotalPaise))
		says("paper-words", InWords(p.TotalPaise))
		says("paper-test", "no tax document")
		if p.TipPaise != 0 {
			says("paper-money", Rupees(p.MoneyPaise))
		}
		if p.Cause != "paid" {
			says("paper-against", p.Printed.AgainstNumber+" of 30 Nov 2026")
		}
		if p.Cause == "refund" {
			says("paper", "The paneer was cold")
			says("paper-refund", "bank reference 412345678901")
		}
		if p.Cause == "handed_over" {
			says("paper-buyer", "Lake View Offices LLP")
			says("paper-buyer-gstin", "29ABCDE1234F1Z5")
		} else {
			says("paper-buyer", "Ananya Rao")
			lacks("paper-buyer-gstin")
		}
		switch p.TaxMode {
		case "regular":
			says("paper-seller", "GSTIN 29ABCDE1234F1Z5")
			says("paper-place", "Karnataka (29)")
			says("paper-reverse", "No")
			says("paper-line", "996331")
			if len(byTestID(root, "paper-cgst")) != len(p.Printed.Taxes) || len(byTestID(root, "paper-sgst")) != len(p.Printed.Taxes) {
				t.Errorf("%s: CGST and SGST are not apart", name)
			}
			lacks("paper-composition")
		case "composition":
			says("paper-composition", "Composition taxable person, not eligible to collect tax on supplies")
			says("paper-seller", "GSTIN")
			lacks("paper-cgst")
		default:
			lacks("paper-composition")
			lacks("paper-cgst")
			lacks("paper-place")
			if text := firstText(root, "paper"); strings.Contains(text, "GSTIN 29ABCDE1234F1Z5Billed") || strings.Contains(text, "voucher R") || strings.Contains(text, "996331") {
				t.Errorf("%s speaks as if registered: %s", name, text)
			}
		}
		// What is printed comes to what is printed under it.
		var lines, taxes models.Paise
		for _, l := range p.Printed.Lines {
			lines += l.TaxablePaise
		}
		for _, t := range p.Printed.Taxes {
			taxes += t.CGSTPaise + t.SGSTPaise
		}
		if lines != p.TaxablePaise || lines+taxes+p.RoundOffPaise != p.TotalPaise {
			t.Errorf("%s does not add up: %d + %d", name, lines, taxes)
		}
	}
}

// What a paper says of its refund is of today; the paper stands.
func TestRefundOfAPaper(t *testing.T) {
	for status, want := range map[string]string{"requested": "On its way", "submitted": "On its way", "processed": "Given back on 30 Nov 2026", "failed": "still owed", "void": "by another road"} {
		v := samplePaper(models.PaperCredit, "regular")
		v.Refund = &models.Refund{Status: status, ProcessedAt: at(2)}
		if got := firstText(parse(t, render(t, PaperPage(v))), "paper-refund"); !strings.Contains(got, want) {
			t.Errorf("%s: %q", status, got)
		}
	}
	live := samplePaper(models.PaperCredit, "regular")
	live.Page.TestMode = false
	if len(byTestID(parse(t, render(t, PaperPage(live))), "paper-test")) != 0 {
		t.Error("a live paper calls itself a test")
	}
	union := samplePaper(models.PaperInvoice, "regular")
	union.Paper.Printed.Seller.GSTIN = "04ABCDE1234F1Z5"
	if text := firstText(parse(t, render(t, PaperPage(union))), "paper-totals"); !strings.Contains(text, "UTGST") || strings.Contains(text, "SGST 2.5%") && !strings.Contains(text, "UTGST 2.5%") {
		t.Errorf("a union territory: %s", text)
	}
}
