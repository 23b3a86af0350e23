package razorpay

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The secrets of the published and the invented vectors; none of them opens anything.
const (
	vectorKeySecret     = "test_key_secret_0001"
	vectorWebhookSecret = "test_webhook_secret_0001"
)

// vectorBody is a webhook body whose escapes, ampersand and double blank do not survive a re-encoding.
const vectorBody = `{"entity":"event","event":"payment.captured","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_TESTRAW0000001","entity":"payment","amount":24900,"currency":"INR","status":"captured","order_id":"order_TESTRAW000001","captured":true,"description":"Dosa \/ Vada \u20b9249 & <chutney>","notes":[]}}},  "created_at":1767950000}`

func TestVerifyWebhook(t *testing.T) {
	const signature = "c799b0d2db2b07376eb7bd6961f4aa17db3a99d4d63f1843e8b937aa90d173c2"
	if len(vectorBody) != 337 {
		t.Fatalf("the vector has %d bytes, want 337", len(vectorBody))
	}
	var parsed any
	if err := json.Unmarshal([]byte(vectorBody), &parsed); err != nil {
		t.Fatal(err)
	}
	reencoded, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		secret, body, signature string
		want                    bool
	}{
		"raw bytes are accepted":                          {vectorWebhookSecret, vectorBody, signature, true},
		"the re-encoded body is refused":                  {vectorWebhookSecret, string(reencoded), signature, false},
		"a signature over the re-encoded body is refused": {vectorWebhookSecret, vectorBody, SignWebhook(vectorWebhookSecret, reencoded), false},
		"a signature over a compact form is refused":      {vectorWebhookSecret, vectorBody, "832794d00f80c8f018f55790137671e8db5d01a07250cddbd6be59aa6e32e0b9", false},
		"signed with the key secret is refused":           {vectorWebhookSecret, vectorBody, "2d8e36df0a41fffb230a3d96bfa0e1bc087ed713d7d5f2b8471eb58656d36256", false},
		"one trailing newline is refused":                 {vectorWebhookSecret, vectorBody + "\n", signature, false},
		"an empty secret never verifies":                  {"", vectorBody, SignWebhook("", []byte(vectorBody)), false},
		"an empty body never verifies":                    {vectorWebhookSecret, "", SignWebhook(vectorWebhookSecret, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := VerifyWebhook(c.secret, []byte(c.body), c.signature); got != c.want {
				t.Errorf("VerifyWebhook = %v, want %v", got, c.want)
			}
		})
	}
	if got := SignWebhook(vectorKeySecret, []byte(vectorBody)); got != "2d8e36df0a41fffb230a3d96bfa0e1bc087ed713d7d5f2b8471eb58656d36256" {
		t.Errorf("SignWebhook with the key secret = %s", got)
	}
	refusesMalformed(t, signature, func(s string) bool { return VerifyWebhook(vectorWebhookSecret, []byte(vectorBody), s) })
}

func TestVerifyCheckout(t *testing.T) {
	const (
		order, payment = "order_TESTX00000001", "pay_TESTX00000001"
		signature      = "83305852b4943832000678897be9b264b49f633c50ba1c9c5de4fec8c026b997"
	)
	for name, c := range map[string]struct {
		secret, order, payment, signature string
		want                              bool
	}{
		"our stored order is accepted":              {vectorKeySecret, order, payment, signature, true},
		"another of our orders is refused":          {vectorKeySecret, "order_TESTY00000001", payment, signature, false},
		"the other order's signature is refused":    {vectorKeySecret, order, payment, "4e364e296df174a752d2e03f6ab28d0cc1ac07d053bcdf3de514b411b548f328", false},
		"signed with the webhook secret is refused": {vectorKeySecret, order, payment, "88e543120ce4d9f98e54aa32284c1d0c9bf769c6ed558df9e92466b542ba5304", false},
		"swapped ids are refused":                   {vectorKeySecret, payment, order, signature, false},
		"an empty secret never verifies":            {"", order, payment, SignCheckout("", order, payment), false},
		"an empty order never verifies":             {vectorKeySecret, "", payment, SignCheckout(vectorKeySecret, "", payment), false},
		"an empty payment never verifies":           {vectorKeySecret, order, "", SignCheckout(vectorKeySecret, order, ""), false},
		"a bar in the payment id never verifies":    {vectorKeySecret, "order_A", "b|c", SignCheckout(vectorKeySecret, "order_A", "b|c"), false},
		"a bar in the order id never verifies":      {vectorKeySecret, "order_A|b", "c", SignCheckout(vectorKeySecret, "order_A|b", "c"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := VerifyCheckout(c.secret, c.order, c.payment, c.signature); got != c.want {
				t.Errorf("VerifyCheckout = %v, want %v", got, c.want)
			}
		})
	}
	if got := SignCheckout(vectorKeySecret, "order_TESTY00000001", payment); got != "4e364e296df174a752d2e03f6ab28d0cc1ac07d053bcdf3de514b411b548f328" {
		t.Errorf("SignCheckout for the other order = %s", got)
	}
	if got := SignCheckout(vectorWebhookSecret, order, payment); got != "88e543120ce4d9f98e54aa32284c1d0c9bf769c6ed558df9e92466b542ba5304" {
		t.Errorf("SignCheckout with the webhook secret = %s", got)
	}
	refusesMalformed(t, signature, func(s string) bool { return VerifyCheckout(vectorKeySecret, order, payment, s) })
}

// refusesMalformed tries every way to spoil a signature that verify accepts.
func refusesMalformed(t *testing.T, signature string, verify func(string) bool) {
	t.Helper()
	if !verify(signature) {
		t.Fatal("the good signature is refused")
	}
	for name, bad := range map[string]string{
		"empty":           "",
		"short":           signature[:63],
		"half":            signature[:32],
		"long":            signature + "0",
		"twice":           signature + signature,
		"upper case":      strings.ToUpper(signature),
		"not hex":         strings.Repeat("z", 64),
		"leading blank":   " " + signature[:63],
		"trailing line":   signature + "\n",
		"NUL":             signature[:63] + "\x00",
		"multibyte":       strings.Repeat("é", 32),
		"all zero":        strings.Repeat("0", 64),
		"with a scheme":   "sha256=" + signature,
		"last digit else": signature[:63] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", signature[63])+1)%16]),
	} {
		if verify(bad) {
			t.Errorf("%s: %q is accepted", name, bad)
		}
	}
	for i := range signature { // each position counts
		spoilt := []byte(signature)
		spoilt[i] ^= 1
		if verify(string(spoilt)) {
			t.Errorf("a change at %d goes unnoticed", i)
		}
	}
}

func TestSignatureVectors(t *testing.T) {
	var vectors struct {
		Payment []struct {
			Comment   string
			Secret    string `json:"key_secret"`
			OrderID   string `json:"order_id"`
			PaymentID string `json:"payment_id"`
			Signature string
			Valid     *bool
		}
		Webhook []struct {
			Comment, Secret, Body, Signature string
			Valid                            *bool
		}
	}
	raw, err := os.ReadFile("testdata/signature_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Payment) < 5 || len(vectors.Webhook) < 5 {
		t.Fatalf("only %d and %d vectors", len(vectors.Payment), len(vectors.Webhook))
	}
	for _, v := range vectors.Payment {
		want := v.Valid != nil && *v.Valid // null leaves upper case to us: refused
		if got := VerifyCheckout(v.Secret, v.OrderID, v.PaymentID, v.Signature); got != want {
			t.Errorf("payment, %s: %v, want %v", v.Comment, got, want)
		}
		if want && SignCheckout(v.Secret, v.OrderID, v.PaymentID) != v.Signature {
			t.Errorf("payment, %s: signed differently", v.Comment)
		}
	}
	for _, v := range vectors.Webhook {
		want := v.Valid != nil && *v.Valid
		if got := VerifyWebhook(v.Secret, []byte(v.Body), v.Signature); got != want {
			t.Errorf("webhook, %s: %v, want %v", v.Comment, got, want)
		}
	}
}

func FuzzVerifyWebhook(f *testing.F) {
	f.Add(vectorWebhookSecret, []byte(vectorBody), "c799b0d2db2b07376eb7bd6961f4aa17db3a99d4d63f1843e8b937aa90d173c2")
	f.Add(vectorWebhookSecret, []byte(vectorBody), "C799B0D2DB2B07376EB7BD6961F4AA17DB3A99D4D63F1843E8B937AA90D173C2")
	f.Add(vectorKeySecret, []byte(vectorBody), "2d8e36df0a41fffb230a3d96bfa0e1bc087ed713d7d5f2b8471eb58656d36256")
	f.Add("", []byte(""), "")
	f.Add("s", []byte{0}, strings.Repeat("0", 64))
	f.Fuzz(func(t *testing.T, secret string, body []byte, signature string) {
		right := SignWebhook(secret, body)
		usable := secret != "" && len(body) > 0
		if got, want := VerifyWebhook(secret, body, signature), usable && signature == right; got != want {
			t.Errorf("VerifyWebhook(%q, %q, %q) = %v", secret, body, signature, got)
		}
		if VerifyWebhook(secret, body, right) != usable {
			t.Errorf("its own signature: secret %q, body %q", secret, body)
		}
		if VerifyWebhook(secret, append(append([]byte{}, body...), ' '), right) || VerifyWebhook(secret+"x", body, right) {
			t.Errorf("another body or secret passes: secret %q, body %q", secret, body)
		}
	})
}
