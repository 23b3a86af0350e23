//go:build e2e

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tiffin/models"
	pushes "tiffin/push/standin"
	"tiffin/razorpay/standin"
)

// TestKilledAfterAPush kills the shop when a push service has taken a message and nobody has noted it yet: the next one sends it again, the
// same to the letter and under the same topic, so that the device shows one, and then no more.
func TestKilledAfterAPush(t *testing.T) {
	t.Parallel()
	service := pushes.New()
	t.Cleanup(service.Close)
	device := service.Browser()
	w := newTown(t, standin.Options{})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	must(t, os.WriteFile(roots, service.PEM(), 0o600))
	w.env = append(w.env, "SSL_CERT_FILE="+roots)
	w.hire("meera")
	v := w.visitor(w.run(freeAddr(t), "push.sent_before_mark"))
	w.webhooksTo(v.shop)
	token := v.order("samosa")
	paid, err := w.gateway.Pay(standin.PayParams{OrderID: v.gatewayOrder(token)})
	must(t, err)
	v.report(token, paid.OrderID, paid.ID)
	w.wait("the order is paid", func() bool { return w.count(`SELECT count(*) FROM fulfilments`) == 1 })
	order, err := w.store.FindOrderByToken(t.Context(), token)
	must(t, err)
	must(t, w.store.SaveSubscription(t.Context(), models.PushSubscription{OrderID: order.ID, Endpoint: device.Endpoint, P256dh: device.P256dh, Auth: device.Auth, Language: "en-IN"}))
	w.move(order.ID, models.TicketQueued, models.TicketAccepted)
	v.revive()
	if n := len(device.Got()); n != 1 || w.count(`SELECT count(*) FROM pushes WHERE status = 'queued'`) != 1 {
		t.Fatalf("%d messages before it was killed", n)
	}
	w.advance(3 * time.Minute)
	w.wait("the message is noted as sent", func() bool { return w.count(`SELECT count(*) FROM pushes WHERE status = 'sent'`) == 1 })
	w.settle()
	got := device.Got()
	if len(got) != 2 || !bytes.Equal(got[0].Payload, got[1].Payload) || got[0].Topic != got[1].Topic || len(service.Refused()) != 0 {
		t.Errorf("%d messages: %+v, refused %v", len(got), got, service.Refused())
	}
	v.shop.stop()
}
