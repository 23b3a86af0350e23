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
// so that a later change of the menu does not change it. Each letter is in the language of its context: WithLanguage(ctx, order.Language).
func ConfirmationMail(ctx context.Context, v MailView) (Letter, error) {
	return letter(ctx, T(ctx, "Order %s is placed", strconv.Itoa(v.Order.Number)), v, placedText(ctx, v), true)
}

// RefundMail says where a refund stands; v.Refund must be set. It says refunded only once Razorpay says processed.
func RefundMail(ctx context.Context, v MailView) (Letter, error) {
	if v.Refund == nil {
		return Letter{}, fmt.Errorf("views: a refund letter about order %d without a refund", v.Order.Number)
	}
	subject := T(ctx, "Your refund of %s is on its way", Rupees(v.Refund.AmountPaise))
	if v.Refund.Status == "processed" {
		subject = T(ctx, "%s was refunded", Rupees(v.Refund.AmountPaise))
	}
	return letter(ctx, subject, v, refundLetter(ctx, v), false)
}

// StepMail says how far the kitchen is: step is models.LetterAccepted, LetterReady or LetterOnItsWay.
func StepMail(ctx context.Context, v MailView, step string) (Letter, error) {
	number := strconv.Itoa(v.Order.Number)
	subject, said := "", ""
	switch step {
	case models.LetterAccepted:
		subject, said = T(ctx, "The kitchen has accepted order %s", number), T(ctx, "The kitchen has your order and cooks it in time.")
	case models.LetterReady:
		subject, said = T(ctx, "Order %s is ready to collect", number), T(ctx, "Your food is ready. Come and collect it.")
	case models.LetterOnItsWay:
		subject, said = T(ctx, "Order %s is on its way", number), T(ctx, "Your food has left the kitchen. Enjoy your meal.")
	default:
		return Letter{}, fmt.Errorf("views: no letter for step %q of order %d", step, v.Order.Number)
	}
	paragraphs := []string{said}
	if step != models.LetterOnItsWay {
		paragraphs = append(paragraphs, placedWhen(ctx, v))
	}
	if v.Order.Status == models.OrderDue {
		paragraphs = append(paragraphs, T(ctx, "Please have %s ready in cash; nothing has been charged.", Rupees(v.Order.AmountPaise)))
	}
	return letter(ctx, subject, v, paragraphs, false)
}

// CancelledMail says that an order was cancelled, and what becomes of the money.
func CancelledMail(ctx context.Context, v MailView) (Letter, error) {
	return letter(ctx, T(ctx, "Order %s was cancelled", strconv.Itoa(v.Order.Number)), v, cancelledText(ctx, v), false)
}

// ShortageMail asks what to do about a dish that has run out; v.Shortage must be set. What is answered is answered on the order's page.
func ShortageMail(ctx context.Context, v MailView) (Letter, error) {
	if v.Shortage == nil {
		return Letter{}, fmt.Errorf("views: a letter about a shortage of order %d without one", v.Order.Number)
	}
	name := ""
	for _, i := range v.Order.Items {
		if i.Line == v.Shortage.Line {
			name = LineName(i)
		}
	}
	fallback := T(ctx, "Without an answer we leave it out and give its price and tax back.")
	if v.Shortage.Fallback == models.AnswerCancel {
		fallback = T(ctx, "Without an answer we cancel the order and give everything back.")
	}
	return letter(ctx, T(ctx, "Order %s: please choose", strconv.Itoa(v.Order.Number)), v, []string{T(ctx, "Sorry, we have run out of %s.", name),
		T(ctx, "Please open your order and choose by %s: another dish, or without it.", Clock(ctx, v.Shortage.AnswerBy)) + " " + fallback}, false)
}

// letter writes both forms. Subjects carry no name of a person and no line break, whatever the outlet is called.
func letter(ctx context.Context, subject string, v MailView, said []string, withBill bool) (Letter, error) {
	subject = strings.Join(strings.Fields(subject+" · "+v.Outlet.Name), " ")
	var html strings.Builder
	if err := mailHTML(subject, v, said, withBill).Render(ctx, &html); err != nil {
		return Letter{}, fmt.Errorf("views: letter about order %d: %w", v.Order.Number, err)
	}
	return Letter{Subject: subject, Text: mailText(ctx, v, said, withBill), HTML: html.String()}, nil
}

func placedText(ctx context.Context, v MailView) []string {
	thanks := T(ctx, "Thank you, %s. Your order is paid and with the kitchen.", v.Order.Name)
	if v.Order.Status == models.OrderDue {
		thanks = T(ctx, "Thank you, %s. Your order is with the kitchen. Please have %s ready in cash; nothing has been charged.", v.Order.Name, Rupees(v.Order.AmountPaise))
	}
	return []string{thanks, placedWhen(ctx, v)}
}

// placedWhen says where the food comes to, or is collected, and when.
func placedWhen(ctx context.Context, v MailView) string {
	o, counter := v.Order, v.Outlet.Address+" "+v.Outlet.PIN
	switch {
	case o.IsLater() && o.Way == "pickup":
		return T(ctx, "Collect it on %s, %s, at %s.", Date(ctx, *o.PromisedFrom), ClockRange(ctx, *o.PromisedFrom, *o.PromisedTo), counter)
	case o.IsLater():
		return T(ctx, "It is for %s, %s, to %s.", Date(ctx, *o.PromisedFrom), ClockRange(ctx, *o.PromisedFrom, *o.PromisedTo), addressLine(o))
	case o.Way == "pickup":
		return T(ctx, "Collect it at %s, usually after %s.", counter, pickupTime(ctx, v.Outlet))
	default:
		by := o.PrepMinutes + o.DeliveryMinutes
		return T(ctx, "We deliver it to %s, usually in %s.", addressLine(o), Minutes(ctx, max(by-windowMinutes, 1), by))
	}
}

func cancelledText(ctx context.Context, v MailView) []string {
	said := []string{cancelText(ctx, OrderView{Order: v.Order})}
	if v.Order.Pays == "cash" {
		return append(said, T(ctx, "Nothing was charged for it."))
	}
	if v.Order.PaidPaymentID != nil {
		return append(said, T(ctx, "All of your %s goes back to the account you paid from. Banks show it in %s. You need not do anything.", Rupees(v.Order.AmountPaise), refundDays(ctx, "")))
	}
	return append(said, T(ctx, "Nothing was charged for it. If a payment still arrives, all of it goes back to you."))
}

// mailText is the letter for programs that show no HTML.
func mailText(ctx context.Context, v MailView, said []string, withBill bool) string {
	var b strings.Builder
	for _, s := range said {
		b.WriteString(s + "\n\n")
	}
	b.WriteString(T(ctx, "Your order: %s", v.OrderURL) + "\n\n")
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
		for _, l := range orderBill(ctx, v.Order, billEnd(ctx, v.Order)) {
			b.WriteString(l.label + ": " + l.amount + "\n")
		}
		b.WriteString("\n")
	}
	for _, l := range letterParts(ctx, v) {
		b.WriteString(l.label + ": " + l.amount + "\n")
	}
	if len(letterParts(ctx, v)) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(mailFoot(ctx, v.Outlet))
	return b.String()
}

// billEnd is the last line of a letter's bill.
func billEnd(ctx context.Context, o models.Order) string {
	if o.Status == models.OrderDue {
		return T(ctx, "To pay in cash")
	}
	return T(ctx, "Paid")
}

// oneLine keeps a note on its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func mailFoot(ctx context.Context, o models.Outlet) string {
	foot := o.Name + ", " + o.Address + " " + o.PIN + "\n" + Phone(o.Phone)
	if o.FSSAI != "" {
		foot += "\n" + T(ctx, "FSSAI licence %s", o.FSSAI)
	}
	if o.GSTIN != "" {
		foot += "\n" + T(ctx, "GSTIN %s", o.GSTIN)
	}
	return foot + "\n"
}

func mailFootLines(ctx context.Context, o models.Outlet) []string {
	return strings.Split(strings.TrimSpace(mailFoot(ctx, o)), "\n")
}

func mailLink(address string) templ.SafeURL { return templ.URL(address) }
