//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tiffin/models"
)

var codeInLetter = regexp.MustCompile(`(?m)^Your code: ([0-9]{6})\r?$`)

// code waits for the newest letter of a code to this address and reads it out of the folder letters go to.
func (w *town) code(email string) (code string) {
	w.t.Helper()
	var dir string
	for _, line := range w.env {
		if rest, found := strings.CutPrefix(line, "MAIL_DIR="); found {
			dir = rest
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		letters, err := filepath.Glob(filepath.Join(dir, "sign-in-code-*.eml"))
		must(w.t, err)
		for _, name := range letters {
			text, err := os.ReadFile(name)
			must(w.t, err)
			if found := codeInLetter.FindSubmatch(text); found != nil && strings.Contains(string(text), "To: <"+email+">") {
				must(w.t, os.Remove(name))
				return string(found[1])
			}
		}
	}
	w.t.Fatalf("no letter with a code for %s", email)
	return ""
}

// signIn goes the whole way from the menu, with the code of the letter.
func (b *tab) signIn(w *town, email string) {
	b.t.Helper()
	b.open("/")
	b.press(id("sign-in-link"))
	b.at("/sign-in")
	b.fill(id("field-email"), email)
	b.press(id("send-code"))
	b.at("/sign-in/code")
	b.fill(id("field-code"), w.code(email))
	b.press(id("sign-in"))
	b.at("/account")
}

// On a phone: a guest's order moves to the account that the letter's code opens, its address is saved, another browser without script
// orders with it, and in the end the account is gone and the orders stay.
func TestBrowserAccount(t *testing.T) {
	t.Parallel()
	w := newMarket(t)
	base := w.shop()
	w.tell(base)
	eye := newChecker(t)
	b := browse(t, "the customer", base, phone)
	b.expect("status of 422", "status of 429", "status of 409")
	b.prefer("light")

	// A guest's order, paid.
	token := b.toSheet()
	b.press(id("standin-succeed"))
	b.isPaid(token)
	number := w.facts(token).number

	b.open("/")
	b.press(id("sign-in-link"))
	b.at("/sign-in")
	eye.look(b, "sign-in")
	b.fill(id("field-email"), "ananya@example")
	b.press(id("send-code"))
	b.says(id("error"), "name@example.com")
	eye.look(b, "sign-in-error")
	b.fill(id("field-email"), "ananya@example.in")
	b.press(id("send-code"))
	b.at("/sign-in/code")
	eye.look(b, "sign-in-code")
	code := w.code("ananya@example.in")
	wrong := "000000"
	if code == wrong {
		wrong = "000001"
	}
	b.fill(id("field-code"), wrong)
	b.press(id("sign-in"))
	b.says(id("error"), "Tries left: 4")
	b.press(id("send-again"))
	b.says(id("error"), "wait a minute")
	b.fill(id("field-code"), code)
	b.press(id("sign-in"))
	b.at("/account")
	b.says(id("orders"), "Order "+strconv.Itoa(number))
	eye.look(b, "account-new")

	b.open("/")
	b.see(id("account-link"))
	eye.look(b, "menu-signed-in")
	b.open("/account")

	// An address saved on the account's page, and one at checkout, where nothing is ticked for anybody.
	b.press(id("add-address"))
	b.at("/account/addresses/new")
	b.press(id("save-address"))
	b.says(id("error-line1"), "flat, floor or building")
	eye.look(b, "account-address")
	for _, f := range []struct{ name, text string }{{"label", "Work"}, {"line1", "Tower 4"}, {"line2", "Residency Road"}, {"pin", "560025"}} {
		b.fill(id("field-"+f.name), f.text)
	}
	b.press(id("save-address"))
	b.says(id("notice"), "saved")
	b.toCheckout()
	b.hide(id("field-line1")) // the saved one is chosen
	b.see(id("saved-new") + ", label:has(" + id("saved-new") + ")")
	b.press(`label:has(` + id("saved-new") + `)`)
	b.address()
	if read[bool](b, `document.querySelector('`+id("save-address")+`').checked`) {
		t.Error("saving is ticked for the customer")
	}
	eye.look(b, "checkout-saved")
	b.press(`label:has(` + id("save-address") + `)`)
	second := b.pay()
	b.ready()
	b.open("/account")
	b.says(id("addresses"), "Flat 302, Lake View")
	read[chromedp.Void](b, "scrollTo({top: 0, behavior: 'instant'})")
	eye.look(b, "account")

	// Another browser, without script: the same orders and addresses, and an order with one of them.
	laptop := browse(t, "the laptop", base, desk)
	laptop.expect("status of 409")
	must(t, w.forget())
	laptop.withoutScript()
	laptop.signIn(w, "ananya@example.in")
	laptop.says(id("orders"), "Order "+strconv.Itoa(number))
	laptop.open("/menu/palak-paneer")
	laptop.leaves(func() { laptop.press(id("add-to-cart")) })
	laptop.open("/checkout")
	laptop.press(`label:has(#saved-` + w.addressID("Tower 4") + `)`)
	laptop.press(id("pay"))
	laptop.says(id("changed"), "The bill changed") // the page began with the unpaid order's address, whose fee is another
	laptop.press(id("pay"))
	third := laptop.atPay()
	var line1 string
	must(t, w.store.SQL().QueryRowContext(t.Context(), `SELECT line1 FROM orders WHERE token = $1`, third).Scan(&line1))
	if line1 != "Tower 4" {
		t.Errorf("the laptop's order goes to %s", line1)
	}

	// The way out: not while orders are open, then for good.
	b.press(id("delete-account"))
	b.at("/account/delete")
	b.press(`label:has(` + id("confirm-delete") + `)`)
	b.press(id("delete"))
	b.says(id("error"), "still under way")
	eye.look(b, "account-delete")
	w.finish(token, second, third)
	b.press(`label:has(` + id("confirm-delete") + `)`)
	b.press(id("delete"))
	b.at("/account/deleted")
	eye.look(b, "account-deleted")
	laptop.open("/account")
	laptop.at("/sign-in")
	b.open("/orders/" + token)
	if text := b.text("#main"); strings.Contains(text, "Lake View") || strings.Contains(text, "Ananya") {
		t.Errorf("the order's page still names the person: %s", text)
	}
	broken, err := w.store.ListBroken(t.Context())
	must(t, err)
	for _, v := range broken {
		t.Errorf("%s: %s", v.Inv, v.Detail)
	}
}

// forget ends the pause between two letters, which is another test's.
func (w *town) forget() error {
	_, err := w.store.SQL().ExecContext(w.t.Context(), `DELETE FROM login_attempts`)
	return err
}

// addressID is the saved address with this first line.
func (w *town) addressID(line1 string) (id string) {
	w.t.Helper()
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), `SELECT id::text FROM customer_addresses WHERE line1 = $1`, line1).Scan(&id))
	return id
}

// finish takes a paid order through the kitchen and cancels unpaid ones.
func (w *town) finish(paid string, unpaid ...string) {
	w.t.Helper()
	ctx := w.t.Context()
	cook, err := w.store.CreateStaff(ctx, models.Staff{Login: "cook", Name: "Ravi", Role: "owner"}, staffPassword)
	must(w.t, err)
	for status := models.TicketQueued; status != models.TicketHandedOver; status = models.FulfilmentNext(status) {
		_, err := w.store.MoveFulfilment(ctx, w.facts(paid).id, status, models.FulfilmentNext(status), cook)
		must(w.t, err)
	}
	for _, token := range unpaid {
		must(w.t, w.store.InTx(ctx, func(tx *models.Store) error {
			o, err := tx.LockOrder(ctx, w.facts(token).id)
			if err != nil {
				return err
			}
			return tx.MoveOrder(ctx, &o, models.OrderCancelled, models.Move{By: models.ActorCustomer, Reason: "changed_mind"})
		}))
	}
}
