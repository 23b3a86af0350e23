package views

import (
	"context"
	"strings"

	"tiffin/models"
)

// MaxAddresses is how many an account keeps.
const MaxAddresses = models.MaxAddresses

// SignInView is the two pages of signing in.
type SignInView struct {
	Page   Page
	Email  string // as typed; on the code's page where it was sent
	GoesTo string // account, checkout: the page after signing in
	Error  string // empty: none
	IsOver bool   // the code takes no more tries
}

// AccountView is an account with one page of its orders, newest first.
type AccountView struct {
	Page       Page
	Account    models.Account
	Orders     []models.Order // without items
	PageNo     int            // 1: the newest
	More       bool           // there are older ones
	Addresses  []models.Address
	Notice     string // empty: none
	NoticeKind string // of message
}

// HasRoom reports whether another address can be kept.
func (v AccountView) HasRoom() bool { return len(v.Addresses) < MaxAddresses }

// AddressFields are an address as typed; ID is empty for a new one.
type AddressFields struct{ ID, Label, Line1, Line2, PIN, Directions string }

// AddressView is the form of one saved address.
type AddressView struct {
	Page   Page
	Form   AddressFields
	Errors map[string]string // by field; form: of none
}

// DeleteAccountView asks once more.
type DeleteAccountView struct {
	Page  Page
	Error string
}

// addressLabel is the customer's own word for an address, or where it is.
func addressLabel(a models.Address) string {
	if a.Label != "" {
		return a.Label
	}
	return a.Line1
}

// savedAddress is the rest of an address, beside its label.
func savedAddress(a models.Address) string {
	var parts []string
	if a.Label != "" {
		parts = append(parts, a.Line1)
	}
	if a.Line2 != "" {
		parts = append(parts, a.Line2)
	}
	return strings.Join(append(parts, a.PIN), ", ")
}

// accountPolicy is what accounts add to a policy.
func accountPolicy(ctx context.Context, name string) []policyPart {
	if name != "privacy" {
		return nil
	}
	return []policyPart{{T(ctx, "Accounts"), []string{
		T(ctx, "An account is optional. It holds your email address, your orders and the addresses you save, until you delete it on its page. There you can also download everything we hold about you."),
		T(ctx, "To sign in we send a code to your email address. It is good for 10 minutes, and nobody but you can read it."),
	}}}
}

// orderWord says in a list how an order ended, or that it has not yet; its page knows more.
func orderWord(ctx context.Context, o models.Order) string {
	switch o.Status {
	case models.OrderPaid:
		return T(ctx, "paid")
	case models.OrderDue:
		return T(ctx, "to be paid in cash")
	case models.OrderCancelled:
		return T(ctx, "cancelled")
	case models.OrderExpired:
		return T(ctx, "not paid in time")
	}
	return T(ctx, "waiting for payment")
}
