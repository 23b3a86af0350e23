package main

import (
	"fmt"
	"strings"
	"testing"
)

func settings(change map[string]string) func(string) string {
	good := map[string]string{
		"DATABASE_URL": "postgres://shop:db-password-1@localhost/shop", "PUBLIC_URL": "https://shop.example", "MAIL_DIR": "letters",
		"RAZORPAY_KEY_ID": "rzp_test_abcdefgh", "RAZORPAY_KEY_SECRET": "key-secret-1", "RAZORPAY_WEBHOOK_SECRET": "webhook-secret-1",
	}
	for name, value := range change {
		good[name] = value
	}
	return func(name string) string { return good[name] }
}

func TestReadConfig(t *testing.T) {
	t.Run("the real gateway is the default", func(t *testing.T) {
		c, err := readConfig(settings(nil))
		if err != nil || c.APIURL != "https://api.razorpay.com" || c.CheckoutURL != "https://checkout.razorpay.com/v1/checkout.js" || c.Payments.Mode() != "test" {
			t.Errorf("%v %v", c, err)
		}
	})
	t.Run("every fault is told at once", func(t *testing.T) {
		_, err := readConfig(func(string) string { return "" })
		if err == nil {
			t.Fatal("nothing at all is accepted")
		}
		for _, name := range []string{"DATABASE_URL", "PUBLIC_URL", "MAIL_DIR", "RAZORPAY_KEY_ID", "RAZORPAY_KEY_SECRET", "RAZORPAY_WEBHOOK_SECRET"} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not named: %v", name, err)
			}
		}
	})
	t.Run("refunds go at normal speed unless it is said otherwise", func(t *testing.T) {
		for set, want := range map[string]string{"": "normal", "normal": "normal", " optimum ": "optimum"} {
			c, err := readConfig(settings(map[string]string{"RAZORPAY_REFUND_SPEED": set}))
			if err != nil || c.Payments.RefundSpeed != want {
				t.Errorf("%q: speed %q, %v", set, c.Payments.RefundSpeed, err)
			}
		}
	})
	live := map[string]string{"RAZORPAY_KEY_ID": "rzp_live_abcdefgh"}
	for name, c := range map[string]struct {
		change map[string]string
		fault  string // empty: accepted
	}{
		"a live key at Razorpay":              {live, ""},
		"FP-50 a live key at another address": {with(live, "RAZORPAY_API_URL", "http://127.0.0.1:9000"), "RAZORPAY_API_URL"},
		"a live key at a look-alike":          {with(live, "RAZORPAY_API_URL", "https://api.razorpay.com.example"), "RAZORPAY_API_URL"},
		"a live key with another script":      {with(live, "RAZORPAY_CHECKOUT_URL", "https://cdn.example/checkout.js"), "RAZORPAY_CHECKOUT_URL"},
		"a live key without https":            {with(live, "PUBLIC_URL", "http://shop.example"), "PUBLIC_URL"},
		"a test key at the stand-in":          {map[string]string{"RAZORPAY_API_URL": "http://127.0.0.1:9000", "RAZORPAY_CHECKOUT_URL": "http://127.0.0.1:9000/v1/checkout.js"}, ""},
		"C019 an empty webhook secret":        {map[string]string{"RAZORPAY_WEBHOOK_SECRET": " "}, "RAZORPAY_WEBHOOK_SECRET"},
		"the key's secret as the webhook's":   {map[string]string{"RAZORPAY_WEBHOOK_SECRET": "key-secret-1"}, "RAZORPAY_WEBHOOK_SECRET"},
		"a key of no mode":                    {map[string]string{"RAZORPAY_KEY_ID": "rzp_abcdefgh"}, "RAZORPAY_KEY_ID"},
		"a public address with a path":        {map[string]string{"PUBLIC_URL": "https://shop.example/order"}, "PUBLIC_URL"},
		"metrics on the public address":       {map[string]string{"LISTEN_ADDR": ":80", "METRICS_ADDR": ":80"}, "METRICS_ADDR"},
		"a proxy that is no address":          {map[string]string{"TRUSTED_PROXIES": "10.0.0.0/8, nginx"}, "TRUSTED_PROXIES"},
		"proxies":                             {map[string]string{"TRUSTED_PROXIES": "10.0.0.0/8, ::1"}, ""},
		"a speed that is none":                {map[string]string{"RAZORPAY_REFUND_SPEED": "instant"}, "RAZORPAY_REFUND_SPEED"},
		"an account that is none":             {map[string]string{"RAZORPAY_ACCOUNT_ID": "merchant"}, "RAZORPAY_ACCOUNT_ID"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readConfig(settings(c.change))
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %v, want a fault of %q", err, c.fault)
			}
			if err != nil && (strings.Contains(err.Error(), "secret-1") || strings.Contains(err.Error(), "db-password")) {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
	t.Run("F15 it prints without its secrets", func(t *testing.T) {
		c, err := readConfig(settings(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, c); strings.Contains(text, "secret-1") || strings.Contains(text, "db-password") {
				t.Errorf("%s shows a secret: %s", verb, text)
			}
		}
	})
}

func with(m map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for k, v := range m {
		all[k] = v
	}
	return all
}
