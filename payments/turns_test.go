package payments

import (
	"errors"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// INV-13, INV-28: a part that the gateway refused waits for a person as long as the order stands; when it is cancelled that part is owed like the rest.
func TestCancellingOwesWhatFailed(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	o, p := s.feast()
	part := s.mustGive(o, models.Giving{AmountPaise: 5000})
	s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
	s.sweep()
	if s.refundStatus(part.ID) != "failed" || s.refundedThere(p.ID) != 0 {
		t.Fatalf("the part is %s", s.refundStatus(part.ID))
	}
	if _, err := s.cashier.CancelOrder(t.Context(), o.ID, models.StaffActor(1), "No gas"); err != nil {
		t.Fatal(err)
	}
	s.heal()
	s.allBack(p)
	if n := s.count(`SELECT count(*) FROM refunds WHERE status = 'processed'`); n != 2 {
		t.Errorf("%d refunds gave the money back, want the part and the rest", n)
	}
	s.sharesAddUp()
	s.settled()
}

// S2.40, S2.41: when the answer to a create is lost, whoever presses Pay next waits for a look at the gateway instead of creating another one.
func TestALostAnswerCreatesOnce(t *testing.T) {
	t.Parallel()
	c := openShop(t, standin.Options{}).newCustomer().add("samosa", 2)
	o := c.place()
	c.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Drop, Times: 1})
	for range 3 {
		if id, err := c.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(err, models.ErrPreparing) {
			t.Errorf("%q is given out before anybody looked: %v", id, err)
		}
	}
	for range 12 {
		c.advance(15 * time.Second)
		_, err := c.cashier.ResolveClaims(t.Context())
		must(t, err)
	}
	id, err := c.cashier.OpenGatewayOrder(t.Context(), o)
	if orders := c.gateway.Books().Orders; err != nil || c.creates() != 1 || len(orders) != 1 || orders[0].ID != id {
		t.Errorf("%q, %v: %d were created", id, err, len(orders))
	}
	c.kept()
}
