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

// A refund that the gateway refuses since another hand gave the money back before us has not failed: the list is read, and nobody is called.
func TestWhatIsGivenBackAlreadyHasNotFailed(t *testing.T) {
	t.Parallel()
	for _, outside := range []int64{0, 100_00} { // 0: all of it
		s := openShop(t, standin.Options{})
		_, p := s.paidAndCancelled()
		_, err := s.gateway.RefundOutside(p.ID, outside)
		must(t, err)
		if err := s.cashier.SendRefund(t.Context(), s.text(`SELECT id::text FROM refunds`)); err != nil {
			t.Error(err)
		}
		if got := s.text(`SELECT string_agg(kind || ' ' || status, ', ' ORDER BY kind) FROM refunds WHERE kind = 'external' OR status IN ('failed', 'void')`); got != "cancel void, external processed" {
			t.Errorf("after %d paise went back outside: %s", outside, got)
		}
		if n := s.count(`SELECT count(*) FROM staff_tasks WHERE kind = $1`, models.TaskRefundFailed); n != 0 {
			t.Errorf("%d people are called", n)
		}
		s.heal()
		s.allBack(p)
	}
}

// FP-42, INV-6: a refund that only the account's list knows of is found by it, whether or not a sweep would have come by the order too.
func TestTheAccountsListFindsRefunds(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	_, p := s.feast()
	_, err := s.gateway.RefundOutside(p.ID, 100_00)
	must(t, err)
	for _, want := range []int{1, 0} {
		if found, err := s.cashier.ReconcileAccount(t.Context(), AccountDays); found != want || err != nil {
			t.Errorf("%d found, want %d: %v", found, want, err)
		}
	}
	if n := s.count(`SELECT COALESCE(sum(amount_paise), 0)::bigint FROM refunds WHERE kind = 'external'`); n != 100_00 {
		t.Errorf("the rows say that %d paise were given back outside", n)
	}
	s.kept()
}
