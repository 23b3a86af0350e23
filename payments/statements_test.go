package payments

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// A statement is a round trip, and round trips are what the money path costs (docs/performance.md). Each number is what the step sends
// today, its BEGIN and COMMIT included; it may fall, and then the number here falls with it. One that grows wants a reason.
func TestStatementsOfTheMoneyPath(t *testing.T) {
	t.Parallel()
	database, tap := devdb.Tapped(t, devdb.URL(t))
	s := openShopAt(t, database, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
	ctx := t.Context()
	page, err := os.ReadFile("../docs/performance.md")
	must(t, err)
	sends := func(step string, want int, do func()) {
		t.Helper()
		tap.Take()
		do()
		sent := slices.DeleteFunc(tap.Take(), isQueues)
		if len(sent) != want {
			t.Errorf("%s sends %d statements, not %d:\n%s", step, len(sent), want, numbered(sent))
		}
		if row := fmt.Sprintf("| %s | %d |", step, want); !strings.Contains(string(page), row) {
			t.Errorf("docs/performance.md lacks %s", row)
		}
	}

	in := s.newCustomer().add("dal-makhani", 2).checkout()
	var o *models.Order
	sends("place", 31, func() {
		var err error
		o, err = s.cashier.PlaceOrder(ctx, in)
		must(t, err)
	})
	sends("place, the same again", 18, func() {
		_, err := s.cashier.PlaceOrder(ctx, in)
		must(t, err)
	})
	var orderID string
	sends("claim and attach", 12, func() {
		var err error
		orderID, err = s.cashier.OpenGatewayOrder(ctx, o)
		must(t, err)
	})
	sends("claim, attached already", 7, func() {
		_, err := s.cashier.OpenGatewayOrder(ctx, o)
		must(t, err)
	})

	paid := s.pay(standin.PayParams{OrderID: orderID})
	second := s.pay(standin.PayParams{OrderID: orderID})
	record := func(p standin.Payment) func() {
		return func() {
			_, err := s.cashier.recordPayment(ctx, p.ID, models.ViaWebhook, 0)
			must(t, err)
		}
	}
	sends("record, kept", 26, record(paid))
	sends("record, repeated", 7, record(paid))
	sends("record, returned", 17, record(second))

	event := s.events(paid.ID)["payment.captured"]
	receive := func() {
		_, err := s.cashier.ReceiveWebhook(ctx, Delivery{Body: event.Body, EventID: event.ID, Signature: razorpay.SignWebhook(webhookSecret, event.Body)})
		must(t, err)
	}
	sends("webhook", 4, receive)
	sends("webhook, repeated", 4, receive)
	eventID := s.count(`SELECT max(id) FROM webhook_events`)
	sends("process, recorded already", 9, func() { must(t, s.cashier.ProcessEvent(ctx, eventID)) })

	s.limit("samosa", 10)
	in = s.newCustomer().add("samosa", 1).add("dal-makhani", 2).checkout()
	sends("place, two dishes of which one is limited", 34, func() {
		var err error
		o, err = s.cashier.PlaceOrder(ctx, in)
		must(t, err)
	})
	orderID, err = s.cashier.OpenGatewayOrder(ctx, o)
	must(t, err)
	limited := s.pay(standin.PayParams{OrderID: orderID})
	sends("verify, kept, one dish limited", 29, func() {
		_, err := s.cashier.VerifyCheckout(ctx, o, s.slip(orderID, limited.ID), models.ViaVerify)
		must(t, err)
	})
	s.kept()
}

// isQueues says that a statement is sent by the job queue at times of its own, whatever we do: what server is this, and, at most once in
// a while, that there is a job.
func isQueues(statement string) bool {
	return strings.HasPrefix(statement, "SELECT version()") || strings.HasPrefix(statement, "WITH topic_to_notify")
}

// numbered lists statements, shortened to what tells them apart.
func numbered(sent []string) string {
	var b strings.Builder
	for i, statement := range sent {
		fmt.Fprintf(&b, "%3d %s\n", i+1, statement[:min(len(statement), 160)])
	}
	return b.String()
}
