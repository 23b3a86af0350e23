package views

import (
	"strings"
	"testing"

	"tiffin/models"
)

func TestConfirmationMail(t *testing.T) {
	o := sampleOrder()
	v := MailView{Outlet: sampleOutlet(), Order: o, OrderURL: "https://shop.example/orders/" + o.Token}
	l, err := ConfirmationMail(inEnglish, v)
	if err != nil {
		t.Fatal(err)
	}
	if l.Subject != "Order 1047 is placed · Kesar Kitchen" {
		t.Errorf("subject %q", l.Subject)
	}
	shown := textOf(parse(t, l.HTML))
	for _, want := range []string{"Thank you, Ananya Rao.", "2 × Butter Chicken", "Full, serves 2 · Extra butter", "no onion – nut allergy 🥜", "₹738.00", "CGST 2.5%", "₹1,359.00", "FSSAI licence 10020043001234", "GSTIN 29ABCDE1234F1Z5", "30–40 min"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the HTML does not say %q", want)
		}
		if want != "Full, serves 2 · Extra butter" && !strings.Contains(l.Text, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if !strings.Contains(l.Text, v.OrderURL) || !strings.Contains(l.HTML, `href="`+v.OrderURL+`"`) {
		t.Error("the link to the order is missing")
	}
	o.Way = "pickup"
	v.Order = o
	if l, err = ConfirmationMail(inEnglish, v); err != nil || !strings.Contains(l.Text, "Collect it at 12, 100 Feet Road") {
		t.Errorf("pickup: %v %q", err, l.Text)
	}
}

// A letter says refunded only once Razorpay says processed.
func TestRefundMail(t *testing.T) {
	v := MailView{Outlet: sampleOutlet(), Order: sampleOrder(), OrderURL: "https://shop.example/orders/x"}
	if _, err := RefundMail(inEnglish, v); err == nil {
		t.Error("a refund letter without a refund was written")
	}
	v.Refund = &models.Refund{AmountPaise: 135900, Status: "requested"}
	l, err := RefundMail(inEnglish, v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(l.Text+l.Subject, "refunded") || !strings.Contains(l.Subject, "Your refund of ₹1,359.00 is on its way") {
		t.Errorf("requested: %q %q", l.Subject, l.Text)
	}
	v.Refund.Status, v.Refund.RazorpayRefundID, v.Refund.BankReference = "processed", ptr("rfnd_TstAbCdEf00003"), "412345678901"
	if l, err = RefundMail(inEnglish, v); err != nil || !strings.Contains(l.Text, "was refunded") || !strings.Contains(l.Text, "412345678901") || !strings.Contains(l.Text, "rfnd_TstAbCdEf00003") {
		t.Errorf("processed: %v %q", err, l.Text)
	}
}

// C053: of a part, the letter names it, what was paid, and the reason staff gave.
func TestPartRefundMail(t *testing.T) {
	share := sampleShare().Parts
	v := MailView{Outlet: sampleOutlet(), Order: sampleOrder(), OrderURL: "https://kesar.example/orders/x", Share: &share,
		Refund: &models.Refund{AmountPaise: 25253, Status: "requested", Kind: "staff", Reason: "The samosa\nwas cold", RequestedAt: *at(0), ProcessedAt: at(0), BankReference: "412345678901"}}
	for status, want := range map[string]string{
		"requested": "₹252.53 of the ₹1,359.00 you paid for order 1047 goes back to the account you paid from: The samosa was cold",
		"processed": "₹252.53 of the ₹1,359.00 you paid for order 1047 was refunded to the account you paid from: The samosa was cold",
	} {
		v.Refund.Status = status
		l, err := RefundMail(inEnglish, v)
		for _, text := range []string{want, map[string]string{"requested": "Requested on 30 Nov 2026. Banks show it in", "processed": "Done on 30 Nov 2026. Bank reference 412345678901."}[status]} {
			if err != nil || !strings.Contains(l.Text, text) || !strings.Contains(l.HTML, text) {
				t.Errorf("%s: the letter does not say %q: %v\n%s", status, text, err, l.Text)
			}
		}
		if !strings.Contains(l.Text, "Food: ₹240.50\nCGST: ₹6.01\nSGST: ₹6.01\nRound-off: ₹0.01\nMoney back: ₹252.53\n") || !strings.Contains(l.HTML, "<b>₹252.53</b>") {
			t.Errorf("%s: the parts are missing:\n%s", status, l.Text)
		}
		if status == "requested" && strings.Contains(l.Text+l.HTML+l.Subject, "refunded") {
			t.Errorf("it says refunded before it is: %s", l.Text)
		}
	}
}

func TestCancelledMail(t *testing.T) {
	o := sampleOrder()
	o.CancelledBy, o.CancelReason = ptr("staff:1"), ptr("No gas")
	v := MailView{Outlet: sampleOutlet(), Order: o, OrderURL: "https://shop.example/orders/x"}
	l, err := CancelledMail(inEnglish, v)
	if err != nil || !strings.Contains(l.Text, "No gas") || !strings.Contains(l.Text, "Nothing was charged") {
		t.Errorf("unpaid: %v %q", err, l.Text)
	}
	v.Order.PaidPaymentID = ptr(int64(3))
	if l, err = CancelledMail(inEnglish, v); err != nil || !strings.Contains(l.Text, "All of your ₹1,359.00 goes back") || strings.Contains(l.Text, "Nothing was charged") {
		t.Errorf("paid: %v %q", err, l.Text)
	}
}

// Letters of an order's steps say what is true of that step, and of cash what there is to pay.
func TestStepMail(t *testing.T) {
	v := MailView{Outlet: samplePage("").Outlet, Order: sampleOrder(), OrderURL: "https://shop.example/orders/x"}
	for step, want := range map[string]string{models.LetterAccepted: "accepted order 1047", models.LetterReady: "ready to collect", models.LetterOnItsWay: "is on its way"} {
		letter, err := StepMail(inEnglish, v, step)
		if err != nil || !strings.Contains(letter.Subject, want) || !strings.Contains(letter.Text, v.OrderURL) || strings.Contains(letter.Text, "in cash") {
			t.Errorf("%s: %q, %v\n%s", step, letter.Subject, err, letter.Text)
		}
	}
	v.Order.Status, v.Order.Pays = models.OrderDue, "cash"
	if letter, err := StepMail(inEnglish, v, models.LetterReady); err != nil || !strings.Contains(letter.Text, Rupees(v.Order.AmountPaise)+" ready in cash") {
		t.Errorf("what is due: %v\n%s", err, letter.Text)
	}
	if _, err := StepMail(inEnglish, v, "dreaming"); err == nil {
		t.Error("a letter about no step")
	}
	v.Order.Status = models.OrderCancelled
	by, why := "staff:1", "dish_out"
	v.Order.CancelledBy, v.Order.CancelReason = &by, &why
	if letter, err := CancelledMail(inEnglish, v); err != nil || !strings.Contains(letter.Text, "Nothing was charged") || strings.Contains(letter.Text, "goes back to the account") {
		t.Errorf("cancelled cash: %v\n%s", err, letter.Text)
	}
	v.Refund = &models.Refund{Provider: "cash", AmountPaise: 12300, Status: "requested"}
	if letter, err := RefundMail(inEnglish, v); err != nil || !strings.Contains(letter.Text, "collect in cash") || strings.Contains(letter.Text, "account you paid from") {
		t.Errorf("cash back: %v\n%s", err, letter.Text)
	}
}
