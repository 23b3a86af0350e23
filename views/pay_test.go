package views

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestPayPageStates(t *testing.T) {
	for state, c := range map[string]struct {
		says   string
		script bool
		opens  bool
	}{
		PayPreparing:   {"We are preparing the payment", false, false},
		PayReady:       {"The payment window opens by itself.", true, true},
		PayClosed:      {"You closed the payment window No payment has reached us.", true, false},
		PayFailed:      {"Your bank declined the payment. No payment has reached us. If money left your account it comes back by itself.", true, false},
		PayUnavailable: {"We could not start the payment", false, false},
	} {
		v := samplePayView(state)
		v.Reason = "Your bank declined the payment."
		root := parse(t, render(t, PayPage(v)))
		page := mustFind(t, root, "pay-state")
		if got := visible(page); !strings.Contains(got, c.says) {
			t.Errorf("%s shows %q, want %q", state, got, c.says)
		}
		scripts := all(root, func(n *html.Node) bool { return n.Data == "script" && attr(n, "src") == v.ScriptURL })
		if (len(scripts) == 1) != c.script {
			t.Errorf("%s: Razorpay's script %d times", state, len(scripts))
		}
		if has(page, "data-open") != c.opens {
			t.Errorf("%s: opens by itself %v", state, has(page, "data-open"))
		}
		if attr(page, "data-order") != "/orders/"+v.Order.Token || attr(page, "data-verify") != "/payments/verify?order="+v.Order.Token {
			t.Errorf("%s: goes to %q and %q", state, attr(page, "data-order"), attr(page, "data-verify"))
		}
		forms := byTestID(page, "pay-form")
		if (len(forms) == 1) == c.script {
			t.Errorf("%s: %d forms that ask for a gateway order", state, len(forms))
		}
		if len(forms) == 1 && (attr(forms[0], "action") != "/pay/"+v.Order.Token || attr(forms[0], "method") != "post") {
			t.Errorf("%s: the form goes to %q", state, attr(forms[0], "action"))
		}
		if !strings.Contains(textOf(page), "We hold your order until 7:52 pm.") || firstText(page, "to-pay") != "₹1,359.00" {
			t.Errorf("%s: amount or time is missing", state)
		}
	}
}

// visible is the text outside of hidden parts.
func visible(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		shown := d.Type == html.TextNode && d.Parent.Data != "script" && d.Parent.Data != "noscript"
		for _, up := range ancestors(d) {
			shown = shown && !has(up, "hidden")
		}
		if shown {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestHostedForm: a browser without script posts these fields to Razorpay's own page.
func TestHostedForm(t *testing.T) {
	v := samplePayView(PayReady)
	source := render(t, PayPage(v))
	inside, _, found := strings.Cut(source[strings.Index(source, "<noscript>"):], "</noscript>")
	if !found {
		t.Fatal("nothing for browsers without script")
	}
	root := parse(t, strings.TrimPrefix(inside, "<noscript>"))
	form := mustFind(t, root, "hosted")
	if attr(form, "action") != v.HostedURL || attr(form, "method") != "post" {
		t.Errorf("posts to %q", attr(form, "action"))
	}
	got := map[string]string{}
	for _, n := range all(form, func(n *html.Node) bool { return n.Data == "input" }) {
		got[attr(n, "name")] = attr(n, "value")
	}
	for name, want := range map[string]string{
		"key_id": v.Options.Key, "order_id": "order_TstAbCdEf00001", "amount": "135900", "currency": "INR", "name": "Kesar Kitchen", "description": "Order 1047",
		"prefill[name]": "Ananya Rao", "prefill[contact]": "+919845012345", "prefill[email]": "ananya@example.com",
		"callback_url": v.Options.CallbackURL, "cancel_url": v.CancelURL,
	} {
		if got[name] != want {
			t.Errorf("%s=%q, want %q", name, got[name], want)
		}
	}
	if _, leaked := got["_csrf"]; leaked {
		t.Error("the session's token leaves the site")
	}
}
