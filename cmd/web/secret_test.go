//go:build e2e

package main

import (
	"net/http"
	"strings"
	"testing"

	"tiffin/razorpay/standin"
)

// TestWebhookSecretChanges changes the webhook's secret as an operator does, in Razorpay's dashboard and then here, while deliveries are on
// their way (FP-48): those signed with the old one are taken as long as it is named as the previous, those with the new one at once, and
// after that the old one opens nothing any more.
func TestWebhookSecretChanges(t *testing.T) {
	t.Parallel()
	const newSecret = "test_webhook_secret_0002"
	w := newTown(t, standin.Options{})
	v := w.visitor(w.run(freeAddr(t), ""))
	w.webhooksTo(v.shop)
	w.gateway.SpoilWebhooks(standin.WebhookFault{Hold: true})
	paid := func() (captured string) {
		t.Helper()
		v = w.visitor(v.shop)
		p, err := w.gateway.Pay(standin.PayParams{OrderID: v.gatewayOrder(v.order("samosa"))})
		must(t, err)
		for _, e := range w.gateway.Events() {
			if e.PaymentID == p.ID && e.Name == "payment.captured" {
				captured = e.ID
			}
		}
		return captured
	}
	restart := func(secret, previous string) {
		t.Helper()
		v.shop.stop()
		for i, line := range w.env {
			if strings.HasPrefix(line, "RAZORPAY_WEBHOOK_SECRET=") {
				w.env[i] = "RAZORPAY_WEBHOOK_SECRET=" + secret
			}
		}
		w.env = append(w.env, "RAZORPAY_WEBHOOK_SECRET_PREVIOUS="+previous)
		v.shop = w.run(v.shop.addr, "")
	}
	wants := func(what, event string, status int) {
		t.Helper()
		must(t, w.gateway.WaitQuiet(t.Context())) // a retry of its own may be on its way
		attempts, err := w.gateway.Deliver(t.Context(), event)
		must(t, err)
		if len(attempts) != 1 || attempts[0].Status != status {
			t.Errorf("%s is answered %+v, want %d", what, attempts, status)
		}
	}
	old := paid()
	w.gateway.RotateWebhookSecret(v.shop.url+"/webhooks/razorpay", newSecret)
	fresh := paid()
	wants("the new secret, before the shop knows it", fresh, http.StatusBadRequest)
	restart(newSecret, testWebhookSecret)
	wants("the old secret", old, http.StatusOK)
	wants("the new secret", fresh, http.StatusOK)
	w.wait("both orders are paid by their webhooks", func() bool {
		return w.count(`SELECT count(*) FROM orders WHERE status = 'paid'`) == 2 && w.count(`SELECT count(*) FROM webhook_events WHERE status = 'processed'`) == 2
	})
	restart(newSecret, "")
	wants("the old secret, a day later", old, http.StatusBadRequest)
	wants("the new secret, a day later", fresh, http.StatusOK)
	w.gateway.ClearWebhookFaults()
	w.settle()
	v.shop.stop()
}
