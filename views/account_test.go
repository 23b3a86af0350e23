package views

import (
	"context"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"tiffin/models"
)

func signedIn(title string) Page {
	p := samplePage(title)
	p.Account = "ananya@example.in"
	return p
}

func sampleAddresses() []models.Address {
	return []models.Address{{ID: 11, Label: "Home", Line1: "Flat 302, Lake View", Line2: "100 Feet Road, Indiranagar", PIN: "560038", IsDefault: true}, {ID: 12, Line1: "Tower 4", Line2: "Residency Road", PIN: "560025"}}
}

// accountData are what people wrote themselves, and sentences that handlers wrote.
var accountData = []string{"ananya@example.in", "Home", "Tower 4", "Residency Road", "House", "Row", "Change an address", "The address is saved.",
	"Please tick the box if you want your account to be deleted.", "An email address looks like name@example.com.", "This code is not good any more. Please ask for another.", "Please tell us the street or area."}

// accountPages are the pages of accounts.
func accountPages() map[string]templ.Component {
	waits, gone := sampleOrder(), sampleOrder()
	waits.Number, waits.Status = 1048, models.OrderPending
	gone.Number, gone.Status = 1040, models.OrderCancelled
	full := sampleAddresses()
	for len(full) < MaxAddresses {
		full = append(full, models.Address{ID: int64(100 + len(full)), Line1: "House", Line2: "Row", PIN: "560038"})
	}
	saved := sampleCheckoutView()
	saved.Page.Account, saved.Addresses, saved.Form.Saved = "ananya@example.in", sampleAddresses(), "11"
	return map[string]templ.Component{
		"sign_in":         SignInPage(SignInView{Page: samplePage("Sign in"), Email: "ananya@example", GoesTo: "checkout", Error: "An email address looks like name@example.com."}),
		"sign_in_code":    CodePage(SignInView{Page: samplePage("Sign in"), Email: "ananya@example.in", GoesTo: "account"}),
		"sign_in_over":    CodePage(SignInView{Page: samplePage("Sign in"), Email: "ananya@example.in", GoesTo: "account", Error: "This code is not good any more. Please ask for another.", IsOver: true}),
		"account":         AccountPage(AccountView{Page: signedIn("My account"), Account: models.Account{Email: "ananya@example.in"}, Orders: []models.Order{waits, sampleOrder(), gone}, PageNo: 2, More: true, Addresses: sampleAddresses(), Notice: "The address is saved.", NoticeKind: "ok"}),
		"account_new":     AccountPage(AccountView{Page: signedIn("My account"), Account: models.Account{Email: "ananya@example.in"}, PageNo: 1}),
		"account_full":    AccountPage(AccountView{Page: signedIn("My account"), Account: models.Account{Email: "ananya@example.in"}, PageNo: 1, Addresses: full}),
		"account_address": AddressPage(AddressView{Page: signedIn("Change an address"), Form: AddressFields{ID: "12", Line1: "Tower 4", PIN: "56002"}, Errors: map[string]string{"line2": "Please tell us the street or area.", "pin": "A PIN code has 6 digits, such as 560038."}}),
		"account_delete":  DeleteAccountPage(DeleteAccountView{Page: signedIn("Delete my account"), Error: "Please tick the box if you want your account to be deleted."}),
		"account_deleted": SignedOutPage(OutletsView{Page: samplePage("Your account is deleted")}),
		"checkout_saved":  CheckoutPage(saved),
	}
}

// No guest sees anything of accounts at checkout but the way in, and nothing is ticked for anybody.
func TestCheckoutOffersAddresses(t *testing.T) {
	guest := parse(t, render(t, CheckoutPage(sampleCheckoutView())))
	if len(byTestID(guest, "checkout-sign-in")) != 1 || len(byTestID(guest, "saved-addresses")) != 0 || len(byTestID(guest, "save-address")) != 0 {
		t.Error("a guest's checkout")
	}
	mine := parse(t, render(t, accountPages()["checkout_saved"]))
	chosen := all(mine, func(n *html.Node) bool { return attr(n, "name") == "saved" && has(n, "checked") })
	if len(chosen) != 1 || attr(chosen[0], "value") != "11" || len(byTestID(mine, "checkout-sign-in")) != 0 {
		t.Errorf("%d are chosen", len(chosen))
	}
	if box := byTestID(mine, "save-address"); len(box) != 1 || has(box[0], "checked") {
		t.Error("saving an address is ticked for the customer, or not offered")
	}
}

// The letter says the code once in each form, not in its subject, and its subject has no line end.
func TestCodeMail(t *testing.T) {
	for _, language := range Languages() {
		l, err := CodeMail(WithLanguage(context.Background(), language.Tag), CodeMailView{Code: "042917", Site: "Kesar\nKitchen <b>"})
		if err != nil || strings.Contains(l.Subject, "042917") || strings.ContainsAny(l.Subject, "\r\n") || strings.Count(l.Text, "042917") != 1 || strings.Count(l.HTML, "042917") != 1 || strings.Contains(l.HTML, "Kitchen <b>") {
			t.Errorf("%s: %+v, %v", language.Tag, l, err)
		}
	}
}
