package payments

import (
	"testing"

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
