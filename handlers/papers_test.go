package handlers

import (
	"strings"
	"testing"

	"tiffin/models"
	"tiffin/views"
)

// The papers of an order, for its customer by the link and for its staff by their login.
func TestPaperPages(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	asha := k.signedIn(k.staff("asha", "Asha", "manager", k.outlet.ID))
	guest := k.browser()
	o := k.place(basket{slug: "butter-chicken", note: "No nuts, allergy", lineNote: "less salt"})
	guest.get("/orders/" + o.Token + "/invoice").is(404)
	k.receive(k.pay(o, k.open(o)))

	paper := func(kind string) models.Paper {
		papers, err := k.store.ListPapers(t.Context(), o.ID)
		must(t, err)
		for _, p := range papers {
			if p.Kind == kind {
				return p
			}
		}
		t.Fatalf("no %s among %+v", kind, papers)
		return models.Paper{}
	}
	receipt := paper(models.PaperReceipt)
	at := "/orders/" + o.Token + "/papers/"
	guest.get("/orders/"+o.Token).is(200).says("paper-link", "Receipt voucher "+receipt.Number)
	guest.get("/orders/" + o.Token + "/invoice").is(303).leads(at + receipt.PathNumber())
	page := guest.get(at + receipt.PathNumber()).is(200)
	page.says("paper-number", receipt.Number).says("paper-total", views.Rupees(o.AmountPaise)).says("paper-buyer", "Ananya Rao").says("paper-words", views.InWords(o.AmountPaise))
	if page.header.Get("Cache-Control") != "no-store" || page.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("a page with a name may be kept: %v", page.header)
	}

	for _, step := range [][2]string{{"queued", "accepted"}, {"accepted", "preparing"}, {"preparing", "ready"}, {"ready", "handed_over"}} {
		asha.press(orderPath(o, "/move"), "from", step[0], "to", step[1]).is(200)
	}
	invoice := paper(models.PaperInvoice)
	guest.get("/orders/" + o.Token + "/invoice").is(303).leads(at + invoice.PathNumber())
	guest.get(at+invoice.PathNumber()).is(200).says("paper", "Tax invoice").says("paper-seller", "GSTIN "+k.outlet.GSTIN, "FSSAI "+k.outlet.FSSAI).
		says("paper-reverse", "No").says("paper-cgst", "₹").says("paper-sgst", "₹").says("paper-line", "996331").says("paper-place", "Karnataka (29)")

	_, err := k.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: 5000}, 0, "It was cold", 1)
	must(t, err)
	credit := paper(models.PaperCredit)
	asha.get(orderPath(o, "")).is(200).says("paper-link", "Credit note "+credit.Number)
	asha.get(orderPath(o, "/papers/"+credit.PathNumber())).is(200).says("paper", "Credit note", "It was cold").says("paper-against", invoice.Number).says("paper-refund", "On its way")

	other := k.paid(basket{slug: "butter-chicken"})
	for _, path := range []string{at + "T9-26-27-99999", at + "x", at + strings.ReplaceAll(invoice.Number, "/", "%2F"), "/orders/" + other.Token + "/papers/" + invoice.PathNumber(), "/orders/nobody/papers/" + invoice.PathNumber(), at + "%00"} {
		guest.get(path).is(404)
	}
	elsewhere := k.signedIn(k.staff("ravi", "Ravi", "owner", k.secondOutlet().ID))
	elsewhere.get(orderPath(o, "/papers/"+credit.PathNumber())).is(404)
	k.intact()
}

// A kitchen ticket is printed by a form, so that reading it again prints nothing; the second print says that it is a copy.
func TestKitchenTicketPage(t *testing.T) {
	t.Parallel()
	k := openKitchen(t, nil)
	cook := k.signedIn(k.staff("cook", "Cook", "kitchen", k.outlet.ID))
	o := k.paid(basket{slug: "butter-chicken", note: "No nuts, allergy", lineNote: "less salt"})
	cook.get(orderPath(o, "")).is(200).says("print-ticket", "Print kitchen ticket")
	cook.get(orderPath(o, "/ticket/1")).is(404)
	cook.post(orderPath(o, "/ticket")).is(303).leads(orderPath(o, "/ticket/1"))
	page := cook.get(orderPath(o, "/ticket/1")).is(200).says("kot", number(o), "DELIVERY").says("kot-line", "2×", "Butter Chicken", "(N)", "less salt").says("kot-note", "No nuts, allergy")
	if len(page.texts("copy")) != 0 {
		t.Error("the first print is called a copy")
	}
	cook.post(orderPath(o, "/ticket")).is(303).leads(orderPath(o, "/ticket/2"))
	cook.get(orderPath(o, "/ticket/2")).is(200).says("copy", "Copy 1")
	cook.setToken("stale")
	cook.post(orderPath(o, "/ticket"))
	if n := k.count(`SELECT count(*) FROM ticket_prints`); n != 2 {
		t.Errorf("%d prints", n)
	}
	unpaid := k.place(basket{slug: "butter-chicken"})
	elsewhere := k.signedIn(k.staff("ravi", "Ravi", "owner", k.secondOutlet().ID))
	elsewhere.get(orderPath(o, "/ticket/1")).is(404)
	elsewhere.post(orderPath(o, "/ticket")).is(404)
	k.signedIn(k.staff("meera", "Meera", "manager", k.outlet.ID)).post(orderPath(unpaid, "/ticket")).is(404)
}
