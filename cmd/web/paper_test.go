//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	browserpage "github.com/chromedp/cdproto/page"

	"tiffin/models"
)

// paperSize is the size of each page of a PDF, in points.
var paperSize = regexp.MustCompile(`/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]`)

// onPaper prints what a tab shows and wants pages of one size, in millimetres; with -screens it keeps a picture of what paper shows.
func (c *checker) onPaper(b *tab, name string, width, height float64) {
	c.t.Helper()
	yes := true
	printed := send(b, browserpage.PrintToPDF, browserpage.PrintToPDFParams{PreferCSSPageSize: &yes}).Data
	sizes := paperSize.FindAllSubmatch(printed, -1)
	if !bytes.HasPrefix(printed, []byte("%PDF-")) || len(sizes) != 1 {
		c.t.Errorf("%s prints %d pages", name, len(sizes))
	}
	for _, s := range sizes {
		for i, want := range []float64{width, height} {
			if got, err := strconv.ParseFloat(string(s[i+1]), 64); err != nil || got < want/25.4*72-1 || got > want/25.4*72+1 {
				c.t.Errorf("%s prints on %s × %s points, want %g × %g mm", name, s[1], s[2], width, height)
			}
		}
	}
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.resize(screen{int64(width * 96 / 25.4), 1000, false})
	b.frame()
	if got := read[string](b, `getComputedStyle(document.querySelector('.noprint')).display`); got != "none" {
		c.t.Errorf("%s prints its buttons", name)
	}
	if *pictures {
		c.picture(b, name+"-paper")
	}
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	b.resize(desk)
}

// Papers and tickets, on screen for everybody and on paper: an invoice on one sheet of A4, a ticket on a roll of 80 mm.
func TestBrowserPapers(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	w.hire("meera")
	w.exec(`UPDATE items SET name = 'पालक पनीर' WHERE slug = 'palak-paneer'`)
	check := newChecker(t)
	b := browse(t, "the customer", base, phone)
	b.toCheckout()
	b.address()
	b.fill(id("field-note"), "No nuts please, allergy")
	token := b.pay()
	b.ready()
	b.press(id("standin-succeed"))
	b.isPaid(token)
	f := w.facts(token)

	s := browse(t, "the kitchen", base, desk)
	// The browser's own dialog would wait for a person: that it was asked for is counted instead.
	send(s, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{Source: `window.prints = 0; window.print = () => { window.prints++ }`})
	s.open("/staff/login")
	s.fill(id("field-login"), "meera")
	s.fill(id("field-password"), staffPassword)
	s.press(id("login"))
	s.see(id("board"))
	for nth := 1; nth <= 2; nth++ {
		s.open(fmt.Sprintf("/staff/orders/%d", f.id))
		s.press(id("print-ticket"))
		s.at(fmt.Sprintf("/staff/orders/%d/ticket/%d", f.id, nth))
		s.see(id("kot"))
	}
	s.see(id("copy"))
	s.until("the ticket printed as soon as it was there", "prints === 1")
	s.press("#print")
	s.until("the button prints", "prints === 2")
	check.look(s, "kitchen-ticket")
	check.onPaper(s, "kitchen-ticket", 80, 297)

	b.says(id("papers"), "Receipt voucher R")
	for _, move := range [][2]string{{models.TicketQueued, models.TicketAccepted}, {models.TicketAccepted, models.TicketPreparing}, {models.TicketPreparing, models.TicketReady}, {models.TicketReady, models.TicketHandedOver}} {
		w.move(f.id, move[0], move[1])
	}
	b.says(id("papers"), "Tax invoice T") // without a reload
	_, err := w.store.RequestRefund(t.Context(), f.id, models.Giving{AmountPaise: 5000}, 0, models.ActorShop, "It was cold", "normal")
	must(t, err)
	b.says(id("papers"), "Credit note C")
	check.look(b, "order-papers")
	b.open("/orders/" + token + "/invoice")
	b.says(id("paper"), "पालक पनीर")
	check.look(b, "invoice")
	check.onPaper(b, "invoice", 210, 297)
	s.open(fmt.Sprintf("/staff/orders/%d", f.id))
	s.press(id("paper-link") + `[href*="C"]`)
	s.says(id("paper"), "Credit note")
	check.look(s, "credit-note")
	check.onPaper(s, "credit-note", 210, 297)
}
