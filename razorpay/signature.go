package razorpay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// signatureLength is the length of a SHA-256 digest in lower-case hex, the only form the gateway sends.
const signatureLength = 2 * sha256.Size

// SignCheckout gives the signature Checkout hands to the browser after an authorisation: hex HMAC-SHA256 of
// "order_id|payment_id" under the API key's secret (Docs-Aug "Integration Steps" 1.5). The stand-in signs with it.
func SignCheckout(keySecret, orderID, paymentID string) string {
	return sign(keySecret, []byte(orderID+"|"+paymentID))
}

// VerifyCheckout reports whether signature says that the gateway authorised paymentID on orderID. orderID must be the
// one in our own records, never the browser's: the signature of another order is genuine too. True proves
// authorisation, not capture; fetch the payment before believing in money. An empty secret or id never verifies.
func VerifyCheckout(keySecret, orderID, paymentID, signature string) bool {
	if keySecret == "" || orderID == "" || paymentID == "" {
		return false
	}
	if strings.Contains(orderID, "|") || strings.Contains(paymentID, "|") {
		return false // two pairs of ids would give one message
	}
	return equal(SignCheckout(keySecret, orderID, paymentID), signature)
}

// SignWebhook gives the value of X-Razorpay-Signature: hex HMAC-SHA256 of the raw body under the webhook secret, which
// is not the API key's (Docs-Aug "Validate and Test Webhooks"). The stand-in signs with it.
func SignWebhook(webhookSecret string, body []byte) string { return sign(webhookSecret, body) }

// VerifyWebhook reports whether signature was made over exactly these bytes. Give it the bytes as received, before any
// parsing: a re-encoded body does not verify. An empty secret or body never verifies.
func VerifyWebhook(webhookSecret string, body []byte, signature string) bool {
	if webhookSecret == "" || len(body) == 0 {
		return false
	}
	return equal(SignWebhook(webhookSecret, body), signature)
}

func sign(secret string, message []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(message)
	return hex.EncodeToString(mac.Sum(nil))
}

// equal compares in constant time, the length first. Comparing the hex text, not the decoded bytes, refuses upper case
// and everything else the gateway never sends.
func equal(want, got string) bool {
	return len(got) == signatureLength && hmac.Equal([]byte(want), []byte(got))
}
