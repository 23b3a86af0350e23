package views

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tiffin/models"
)

// Letter is one message: what a mail program shows without and with HTML. Both say the same.
type Letter struct {
	Subject string
	Text    string
	HTML    string
}

// ConfirmationMail says that an order is paid and placed. It is written once per order, from the order's own copies of names and prices,
// so that a later change of the menu does not change it.
func ConfirmationMail(v MailView) (Letter, error) {
	return letter("Order "+strconv.Itoa(v.Order.Number)+" is placed", v, placedText(v), true)
}

// RefundMail says where a refund stands; v.Refund must be set. It says refunded only once Razorpay says processed.
func RefundMail(v MailView) (Letter, error) {
	if v.Refund == nil {
		return Letter{}, fmt.Errorf("views: a refund letter about order %d without a refund", v.Order.Number)
	}
	subject := "Your refund of " + Rupees(v.Refund.AmountPaise) + " is on its way"
	if v.Refund.Status == "processed" {
		subject = Rupees(v.Refund.AmountPaise) + " was refunded"
	}
	return letter(subject, v, refundLetter(v), false)
}

// CancelledMail says that an order was cancelled, and what becomes of the money.
func CancelledMail(v MailView) (Letter, error) {
	return letter("Order "+strconv.Itoa(v.Order.Number)+" was cancelled", v, cancelledText(v), false)
}

// ShortageMail asks what to do about a dish that has run out; v.Shortage must be set. What is answered is answered on the order's page.
func ShortageMail(v MailView) (Letter, error) {
	if v.Shortage == nil {
		return Letter{}, fmt.Errorf("views: a letter about a shortage of order %d without one", v.Order.Number)
	}
	name := ""
	for _, i := range v.Order.Items {
		if i.Line == v.Shortage.Line {
			name = LineName(i)
		}
	}
	fallback := "Without an answer we leave it out and give its price and tax back."
	if v.Shortage.Fallback == models.AnswerCancel {
		fallback = "Without an answer we cancel the order and give everything back."
	}
	return letter("Order "+strconv.Itoa(v.Order.Number)+": please choose", v, []string{"Sorry, we have run out of " + name + ".",
		"Please open your order and choose by " + Clock(v.Shortage.AnswerBy) + ": another dish, or without it. " + fallback}, false)
}

// letter writes both forms. Subjects carry no name of a person and no line break, whatever the outlet is called.
func letter(subject string, v MailView, said []string, withBill bool) (Letter, error) {
	subject = strings.Join(strings.Fields(subject+" · "+v.Outlet.Name), " ")
	var html strings.Builder
	if err := mailHTML(subject, v, said, withBill).Render(context.Background(), &html); err != nil {
		return Letter{}, fmt.Errorf("views: letter about order %d: %w", v.Order.Number, err)
	}
	return Letter{Subject: subject, Text: mailText(v, said, withBill), HTML: html.String()}, nil
}

func placedText(v MailView) []string {
	when := "We deliver it to " + addressLine(v.Order) + ", usually in " + Minutes(max(v.Order.PrepMinutes+v.Order.DeliveryMinutes-windowMinutes, 1), v.Order.PrepMinutes+v.Order.DeliveryMinutes) + "."
	if v.Order.Way == "pickup" {
		when = "Collect it at " + v.Outlet.Address + " " + v.Outlet.PIN + ", usually after " + pickupTime(v.Outlet) + "."
	}
	if v.Order.IsLater() {
		when = "It is for " + Date(*v.Order.PromisedFrom) + ", " + ClockRange(*v.Order.PromisedFrom, *v.Order.PromisedTo) + ", to " + addressLine(v.Order) + "."
		if v.Order.Way == "pickup" {
			when = "Collect it on " + Date(*v.Order.PromisedFrom) + ", " + ClockRange(*v.Order.PromisedFrom, *v.Order.PromisedTo) + ", at " + v.Outlet.Address + " " + v.Outlet.PIN + "."
		}
	}
	if v.Order.Status == models.OrderDue {
		return []string{"Thank you, " + v.Order.Name + ". Your order is with the kitchen. Please have " + Rupees(v.Order.AmountPaise) + " ready in cash; nothing has been charged.", when}
	}
	return []string{"Thank you, " + v.Order.Name + ". Your order is paid and with the kitchen.", when}
}

func cancelledText(v MailView) []string {
	o := OrderView{Order: v.Order}
	said := []string{cancelText(o)}
	if v.Order.PaidPaymentID != nil {
		return append(said, "All of your "+Rupees(v.Order.AmountPaise)+" goes back to the account you paid from. Banks show it in "+refundDays("")+". You need not do anything.")
	}
	return append(said, "Nothing was charged for it. If a payment still arrives, all of it goes back to you.")
}

// mailText is the letter for programs that show no HTML.
func mailText(v MailView, said []string, withBill bool) string {
	var b strings.Builder
	for _, s := range said {
		b.WriteString(s + "\n\n")
	}
	b.WriteString("Your order: " + v.OrderURL + "\n\n")
	if withBill {
		for _, i := range v.Order.Items {
			b.WriteString(strconv.Itoa(i.Qty) + " × " + i.Name)
			if o := itemOptions(i.Options); o != "" {
				b.WriteString(" (" + o + ")")
			}
			b.WriteString("  " + Rupees(i.LineTotalPaise) + "\n")
			if i.Note != "" {
				b.WriteString("    " + oneLine(i.Note) + "\n")
			}
		}
		b.WriteString("\n")
		for _, l := range orderBill(v.Order, billEnd(v.Order)) {
			b.WriteString(l.label + ": " + l.amount + "\n")
		}
		b.WriteString("\n")
	}
	for _, l := range letterParts(v) {
		b.WriteString(l.label + ": " + l.amount + "\n")
	}
	if len(letterParts(v)) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(mailFoot(v.Outlet))
	return b.String()
}

// billEnd is the last line of a letter's bill.
func billEnd(o models.Order) string {
	if o.Status == models.OrderDue {
		return "To pay in cash"
	}
	return "Paid"
}

// oneLine keeps a note on its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func mailFoot(o models.Outlet) string {
	foot := o.Name + ", " + o.Address + " " + o.PIN + "\n" + Phone(o.Phone)
	if o.FSSAI != "" {
		foot += "\nFSSAI licence " + o.FSSAI
	}
	if o.GSTIN != "" {
		foot += "\nGSTIN " + o.GSTIN
	}
	return foot + "\n"
}

func mailFootLines(o models.Outlet) []string {
	return strings.Split(strings.TrimSpace(mailFoot(o)), "\n")
}

func mailLink(address string) templ.SafeURL { return templ.URL(address) }
