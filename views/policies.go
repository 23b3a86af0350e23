package views

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"tiffin/models"
)

// PolicyView is one of the shop's policies, written from its settings as they are.
type PolicyView struct {
	Page Page
	Name string // one of Policies
	List models.PriceList
	Pins int // how many PIN codes the outlet delivers to
}

// Policy is one page of what customers are told.
type Policy struct{ Name, Title string }

// Policies are the pages there are, as the footer links them.
var Policies = []Policy{{"refunds", Key("Cancellation and refunds")}, {"delivery", Key("Delivery")}, {"privacy", Key("Privacy")}, {"terms", Key("Terms")}, {"contact", Key("Contact and complaints")}}

// IsPolicy reports whether there is a policy of this name.
func IsPolicy(name string) bool {
	return slices.ContainsFunc(Policies, func(p Policy) bool { return p.Name == name })
}

// PolicyTitle is what a policy is called; empty: there is none of that name.
func PolicyTitle(ctx context.Context, name string) string {
	for _, p := range Policies {
		if p.Name == name {
			return T(ctx, p.Title)
		}
	}
	return ""
}

// policyPart is a heading and what stands under it.
type policyPart struct {
	title string
	text  []string
}

func policyParts(ctx context.Context, v PolicyView) []policyPart {
	o := v.Page.Outlet
	switch v.Name {
	case "refunds":
		return []policyPart{
			{T(ctx, "Cancelling"), []string{T(ctx, "You can cancel free of charge until the kitchen accepts your order. After that, call us: we cancel what is not cooked yet."),
				T(ctx, "If we cannot make your order, or a dish has run out, we cancel it and give the money back without being asked.")}},
			{T(ctx, "What goes back"), []string{T(ctx, "All that you paid, with taxes, packing, delivery and tip, when the whole order is cancelled. If one dish is missing or wrong, its price, its part of a discount, and its tax."),
				T(ctx, "Money always goes back to the account you paid from. If you paid twice, the second payment goes back by itself.")}},
			{T(ctx, "How long it takes"), []string{T(ctx, "We send a refund at once. How long the bank takes depends on how you paid: %s.", refundTimesText(ctx)),
				T(ctx, "The order's page shows each step, the date by which you should see the money, and the bank's reference as soon as there is one.")}},
			{T(ctx, "Money left your account and there is no order"), []string{T(ctx, "A failed payment goes back by itself within %s days. If your bank takes longer, it owes you %s for each further day (Reserve Bank of India, 20 September 2019).", strconv.Itoa(reversalDays), ShortRupees(reversalPenalty))}},
		}
	case "delivery":
		return []policyPart{
			{T(ctx, "Where and when"), []string{deliveryAreas(ctx, v), lastOrders(ctx, o)}},
			{T(ctx, "What it costs"), deliveryTariff(ctx, v)},
			{T(ctx, "If we are late"), []string{T(ctx, "The order's page shows the time we expect and says when it changes. If your food does not come, call %s.", Phone(o.Phone))}},
		}
	case "privacy":
		return []policyPart{
			{T(ctx, "What we ask for"), []string{T(ctx, "Your name, mobile number and, for delivery, your address: without them we cannot bring your food. Your email is optional, and used for messages about your orders only. If you press “Use my location”, it is used for the delivery distance of that cart and nothing else.")}},
			{T(ctx, "What we do not see"), []string{T(ctx, "Card numbers, UPI PINs and bank passwords go to Razorpay, never to us.")}},
			{T(ctx, "Who gets it"), []string{T(ctx, "Razorpay gets the amount and the order's number to take your payment, and your mobile number to fill in its window. Nobody else gets anything. There is no advertising and no tracking on this site; the only cookies are your session, your cart and the choices you make.")}},
			{T(ctx, "Notifications"), []string{T(ctx, "If you press “Notify me” on an order's page, the maker of your browser passes our messages on. They are locked so that only your device can read them. We forget your device after %s days, or when you press “Stop notifying me”.", strconv.Itoa(models.SubscriptionDays))}},
			{T(ctx, "How long we keep it"), []string{T(ctx, "Orders and bills are kept as long as tax law asks. Messages from Razorpay lose everything about you after %s days and are deleted after %s. Sessions end by themselves.", strconv.Itoa(models.EventBodyDays), strconv.Itoa(models.EventDays)),
				T(ctx, "What you say in a complaint is deleted %s days after it is settled. A review stays on our page of reviews, without your name.", strconv.Itoa(models.CareDays))}},
			{T(ctx, "Your rights"), []string{T(ctx, "Ask for a copy of what we hold about you, to have it corrected, or to have it erased, at %s. What tax law makes us keep stays, without your name.", contactOf(o))}},
		}
	case "terms":
		return []policyPart{
			{T(ctx, "Who sells"), []string{sellerText(ctx, o)}},
			{T(ctx, "Ordering"), []string{T(ctx, "The price you pay is the one on the pay button: dishes, packing, delivery, taxes and, if you choose one, a tip. If anything changes before you pay, you are asked again. An order is ours to make once it is paid."),
				T(ctx, "Limited dishes are held for you for %s minutes while you pay.", strconv.Itoa(o.HoldMinutes))}},
			{T(ctx, "Taxes"), []string{taxText(ctx, v)}},
			{T(ctx, "Food"), []string{T(ctx, "Vegetarian and non-vegetarian dishes are marked as the law asks; a dish with egg says so. Tell us about allergies in the note for the kitchen, and call us if they are serious: everything is cooked in one kitchen.")}},
		}
	}
	return []policyPart{
		{T(ctx, "Talk to us"), []string{o.Name + ", " + o.Address + " " + o.PIN, reachText(ctx, o)}},
		{T(ctx, "Complaints"), []string{grievanceText(ctx, o), T(ctx, "Each order's page has a form for complaints: you get a number at once and see what becomes of it."), T(ctx, "We answer a complaint within 48 hours and settle it within one month.")}},
		{T(ctx, "Numbers"), []string{numbersText(ctx, o)}},
	}
}

func lastOrders(ctx context.Context, o models.Outlet) string {
	cooking := strconv.Itoa(o.PrepMinutes)
	if o.LastOrderMinutes == 0 {
		return T(ctx, "Orders are taken until we close. Cooking takes about %s minutes.", cooking)
	}
	return T(ctx, "Orders are taken until %s minutes before closing. Cooking takes about %s minutes.", strconv.Itoa(o.LastOrderMinutes), cooking)
}

func refundTimesText(ctx context.Context) string {
	return strings.Join([]string{T(ctx, "UPI %s", refundDays(ctx, "upi")), T(ctx, "cards %s", refundDays(ctx, "card")),
		T(ctx, "netbanking %s", refundDays(ctx, "netbanking")), T(ctx, "wallets %s", refundDays(ctx, "wallet"))}, ", ")
}

func deliveryAreas(ctx context.Context, v PolicyView) string {
	o := v.Page.Outlet
	if !o.OffersDelivery {
		return T(ctx, "We do not deliver. Collect your order at %s.", o.Address)
	}
	areas := T(ctx, "We deliver to %s around us; type yours at checkout and you see at once whether we come to you.", T(ctx, "%d PIN codes", v.Pins))
	if o.OffersPickup {
		return areas + " " + T(ctx, "You can also collect your order at %s.", o.Address)
	}
	return areas
}

func deliveryTariff(ctx context.Context, v PolicyView) (lines []string) {
	if !v.Page.Outlet.OffersDelivery {
		return []string{T(ctx, "Collecting costs nothing.")}
	}
	for _, b := range v.List.Bands {
		far, fee, least := Distance(ctx, b.UpToMetres), ShortRupees(b.FeePaise), ShortRupees(b.MinimumPaise)
		switch {
		case b.MinimumPaise > 0 && b.FreeAbovePaise != nil:
			lines = append(lines, T(ctx, "Up to %s: %s, from %s of dishes, free from %s.", far, fee, least, ShortRupees(*b.FreeAbovePaise)))
		case b.MinimumPaise > 0:
			lines = append(lines, T(ctx, "Up to %s: %s, from %s of dishes.", far, fee, least))
		case b.FreeAbovePaise != nil:
			lines = append(lines, T(ctx, "Up to %s: %s, free from %s.", far, fee, ShortRupees(*b.FreeAbovePaise)))
		default:
			lines = append(lines, T(ctx, "Up to %s: %s.", far, fee))
		}
	}
	return append(lines, T(ctx, "Some areas have a fee of their own. The bill shows it before you pay."))
}

func sellerText(ctx context.Context, o models.Outlet) string {
	if o.LegalName == "" || o.LegalName == o.Name {
		return o.Name + ", " + o.Address + " " + o.PIN + "."
	}
	return T(ctx, "%s is run by %s, %s.", o.Name, o.LegalName, o.Address+" "+o.PIN)
}

func taxText(ctx context.Context, v PolicyView) string {
	rate, known := v.List.TaxRates["restaurant"]
	switch {
	case v.List.TaxMode == "composition":
		return T(ctx, "We are a composition taxable person, not eligible to collect tax on supplies.")
	case v.List.TaxMode != "regular" || !known:
		return T(ctx, "We charge no GST.")
	}
	return T(ctx, "Prices are without tax. GST of %s is added, half CGST, half SGST.", Percent(rate.CGSTBP+rate.SGSTBP))
}

func reachText(ctx context.Context, o models.Outlet) string {
	if o.Email == "" {
		return T(ctx, "Telephone %s.", Phone(o.Phone))
	}
	return T(ctx, "Telephone %s, email %s.", Phone(o.Phone), o.Email)
}

func contactOf(o models.Outlet) string {
	if o.Email != "" {
		return o.Email
	}
	return Phone(o.Phone)
}

func grievanceText(ctx context.Context, o models.Outlet) string {
	if o.GrievanceName == "" || o.GrievanceContact == "" {
		return T(ctx, "Call or write to us as above.")
	}
	return T(ctx, "Our grievance officer is %s: %s.", o.GrievanceName, o.GrievanceContact)
}

func numbersText(ctx context.Context, o models.Outlet) string {
	var said []string
	if o.FSSAI != "" {
		said = append(said, T(ctx, "FSSAI licence %s", o.FSSAI))
	}
	if o.GSTIN != "" {
		said = append(said, T(ctx, "GSTIN %s", o.GSTIN))
	}
	if o.LegalName != "" {
		said = append(said, T(ctx, "Legal name %s", o.LegalName))
	}
	return dotted(said...)
}

// StaffOutletView is the form of what customers are told about an outlet.
type StaffOutletView struct {
	Page    Page
	Staff   models.Staff
	Outlets []models.Outlet
	Form    models.Contacts
	Cash    CashFields
	Errors  map[string]string
	Notice  string
	Missing []string // of what a live shop has to tell
}

// outletFields are the form's fields: name in the form, label, what is in it, and how long it may be.
func outletFields(c models.Contacts) []struct {
	name, label, value, hint string
	max                      string
} {
	return []struct {
		name, label, value, hint string
		max                      string
	}{
		{"legal_name", "Legal name", c.LegalName, "As on the GST or FSSAI certificate", "120"},
		{"address", "Address", c.Address, "", "200"},
		{"pin", "PIN code", c.PIN, "", "7"},
		{"phone", "Telephone", c.Phone, "", "20"},
		{"email", "Email", c.Email, "", "254"},
		{"fssai", "FSSAI number", c.FSSAI, "14 digits", "20"},
		{"gstin", "GSTIN", c.GSTIN, "15 characters; empty if not registered", "20"},
		{"grievance_name", "Grievance officer", c.GrievanceName, "Name and what they are here", "80"},
		{"grievance_contact", "How to reach them", c.GrievanceContact, "Email or telephone", "120"},
	}
}
