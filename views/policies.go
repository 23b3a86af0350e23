package views

import (
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
var Policies = []Policy{{"refunds", "Cancellation and refunds"}, {"delivery", "Delivery"}, {"privacy", "Privacy"}, {"terms", "Terms"}, {"contact", "Contact and complaints"}}

// IsPolicy reports whether there is a policy of this name.
func IsPolicy(name string) bool { return PolicyTitle(name) != "" }

// PolicyTitle is what a policy is called; empty: there is none of that name.
func PolicyTitle(name string) string {
	for _, p := range Policies {
		if p.Name == name {
			return p.Title
		}
	}
	return ""
}

// policyPart is a heading and what stands under it.
type policyPart struct {
	title string
	text  []string
}

func policyParts(v PolicyView) []policyPart {
	o := v.Page.Outlet
	switch v.Name {
	case "refunds":
		return []policyPart{
			{"Cancelling", []string{"You can cancel free of charge until the kitchen accepts your order. After that, call us: we cancel what is not cooked yet.",
				"If we cannot make your order, or a dish has run out, we cancel it and give the money back without being asked."}},
			{"What goes back", []string{"All that you paid, with taxes, packing, delivery and tip, when the whole order is cancelled. If one dish is missing or wrong, its price, its part of a discount, and its tax.",
				"Money always goes back to the account you paid from. If you paid twice, the second payment goes back by itself."}},
			{"How long it takes", []string{"We send a refund at once. How long the bank takes depends on how you paid: " + refundTimesText() + ".",
				"The order's page shows each step, the date by which you should see the money, and the bank's reference as soon as there is one."}},
			{"Money left your account and there is no order", []string{"A failed payment goes back by itself within " + strconv.Itoa(reversalDays) + " days. If your bank takes longer, it owes you " + ShortRupees(reversalPenalty) + " for each further day (Reserve Bank of India, 20 September 2019)."}},
		}
	case "delivery":
		return append([]policyPart{{"Where and when", append(deliveryAreas(v), lastOrders(o)+" Cooking takes about "+strconv.Itoa(o.PrepMinutes)+" minutes.")}},
			policyPart{"What it costs", deliveryTariff(v)},
			policyPart{"If we are late", []string{"The order's page shows the time we expect and says when it changes. If your food does not come, call " + Phone(o.Phone) + "."}})
	case "privacy":
		return []policyPart{
			{"What we ask for", []string{"Your name, mobile number and, for delivery, your address: without them we cannot bring your food. Your email is optional, and used for messages about your orders only. If you press “Use my location”, it is used for the delivery distance of that cart and nothing else."}},
			{"What we do not see", []string{"Card numbers, UPI PINs and bank passwords go to Razorpay, never to us."}},
			{"Who gets it", []string{"Razorpay gets the amount and the order's number to take your payment, and your mobile number to fill in its window. Nobody else gets anything. There is no advertising and no tracking on this site; the only cookies are your session, your cart and the choices you make."}},
			{"Notifications", []string{"If you press “Notify me” on an order's page, the maker of your browser passes our messages on. They are locked so that only your device can read them. We forget your device after " + strconv.Itoa(models.SubscriptionDays) + " days, or when you press “Stop notifying me”."}},
			{"How long we keep it", []string{"Orders and bills are kept as long as tax law asks. Messages from Razorpay lose everything about you after " + strconv.Itoa(models.EventBodyDays) + " days and are deleted after " + strconv.Itoa(models.EventDays) + ". Sessions end by themselves."}},
			{"Your rights", []string{"Ask for a copy of what we hold about you, to have it corrected, or to have it erased, at " + contactOf(o) + ". What tax law makes us keep stays, without your name."}},
		}
	case "terms":
		return []policyPart{
			{"Who sells", []string{sellerText(o)}},
			{"Ordering", []string{"The price you pay is the one on the pay button: dishes, packing, delivery, taxes and, if you choose one, a tip. If anything changes before you pay, you are asked again. An order is ours to make once it is paid.",
				"Limited dishes are held for you for " + strconv.Itoa(o.HoldMinutes) + " minutes while you pay."}},
			{"Taxes", []string{taxText(v)}},
			{"Food", []string{"Vegetarian and non-vegetarian dishes are marked as the law asks; a dish with egg says so. Tell us about allergies in the note for the kitchen, and call us if they are serious: everything is cooked in one kitchen."}},
		}
	}
	return []policyPart{
		{"Talk to us", []string{o.Name + ", " + o.Address + " " + o.PIN, "Telephone " + Phone(o.Phone) + emailText(o)}},
		{"Complaints", []string{grievanceText(o), "We answer a complaint within 48 hours and settle it within one month."}},
		{"Numbers", []string{numbersText(o)}},
	}
}

func lastOrders(o models.Outlet) string {
	if o.LastOrderMinutes == 0 {
		return "Orders are taken until we close."
	}
	return "Orders are taken until " + strconv.Itoa(o.LastOrderMinutes) + " minutes before closing."
}

func refundTimesText() string {
	var said []string
	for _, m := range []struct{ method, name string }{{"upi", "UPI"}, {"card", "cards"}, {"netbanking", "netbanking"}, {"wallet", "wallets"}} {
		said = append(said, m.name+" "+refundDays(m.method))
	}
	return strings.Join(said, ", ")
}

func deliveryAreas(v PolicyView) []string {
	o := v.Page.Outlet
	switch {
	case o.OffersDelivery && o.OffersPickup:
		return []string{"We deliver to " + Count(v.Pins, "PIN code", "PIN codes") + " around us; type yours at checkout and you see at once whether we come to you. You can also collect your order at " + o.Address + "."}
	case o.OffersDelivery:
		return []string{"We deliver to " + Count(v.Pins, "PIN code", "PIN codes") + " around us; type yours at checkout and you see at once whether we come to you."}
	}
	return []string{"We do not deliver. Collect your order at " + o.Address + "."}
}

func deliveryTariff(v PolicyView) (lines []string) {
	if !v.Page.Outlet.OffersDelivery {
		return []string{"Collecting costs nothing."}
	}
	for _, b := range v.List.Bands {
		line := "Up to " + Distance(b.UpToMetres) + ": " + ShortRupees(b.FeePaise)
		if b.MinimumPaise > 0 {
			line += ", from " + ShortRupees(b.MinimumPaise) + " of dishes"
		}
		if b.FreeAbovePaise != nil {
			line += ", free from " + ShortRupees(*b.FreeAbovePaise)
		}
		lines = append(lines, line+".")
	}
	return append(lines, "Some areas have a fee of their own. The bill shows it before you pay.")
}

func sellerText(o models.Outlet) string {
	if o.LegalName == "" || o.LegalName == o.Name {
		return o.Name + ", " + o.Address + " " + o.PIN + "."
	}
	return o.Name + " is run by " + o.LegalName + ", " + o.Address + " " + o.PIN + "."
}

func taxText(v PolicyView) string {
	rate, known := v.List.TaxRates["restaurant"]
	switch {
	case v.List.TaxMode == "composition":
		return "We are a composition taxable person, not eligible to collect tax on supplies."
	case v.List.TaxMode != "regular" || !known:
		return "We charge no GST."
	}
	return "Prices are without tax. GST of " + Percent(rate.CGSTBP+rate.SGSTBP) + " is added, half CGST, half SGST."
}

func emailText(o models.Outlet) string {
	if o.Email == "" {
		return "."
	}
	return ", email " + o.Email + "."
}

func contactOf(o models.Outlet) string {
	if o.Email != "" {
		return o.Email
	}
	return Phone(o.Phone)
}

func grievanceText(o models.Outlet) string {
	if o.GrievanceName == "" || o.GrievanceContact == "" {
		return "Call or write to us as above."
	}
	return "Our grievance officer is " + o.GrievanceName + ": " + o.GrievanceContact + "."
}

func numbersText(o models.Outlet) string {
	var said []string
	for _, n := range []struct{ name, value string }{{"FSSAI licence", o.FSSAI}, {"GSTIN", o.GSTIN}, {"Legal name", o.LegalName}} {
		if n.value != "" {
			said = append(said, n.name+" "+n.value)
		}
	}
	return strings.Join(said, " · ")
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
