package models

import (
	"errors"
	"testing"
	"time"
)

// meanwhile runs first and, before that is committed, second, which must wait for it: whoever reads a payment to decide something about its
// money has its row's lock, also against a writer that has not the order's.
func meanwhile(t *testing.T, s *Store, first func(tx *Store) error, second func() error) {
	t.Helper()
	done := make(chan error, 1)
	err := s.InTx(t.Context(), func(tx *Store) error {
		if err := first(tx); err != nil {
			return err
		}
		go func() { done <- second() }()
		mustWaitForLock(t, s)
		return nil
	})
	if err = errors.Join(err, <-done); err != nil {
		t.Error(err)
	}
}

// S1.29, S2.32, INV-5, INV-8: a payment's row is locked by who advances it, who cancels its order, and who works out what may go back of it.
func TestThePaymentsRowIsLocked(t *testing.T) {
	t.Parallel()
	give80 := func(t *testing.T, o Order, p Payment) func(tx *Store) error {
		return func(tx *Store) error {
			_, err := tx.requestShare(t.Context(), o, p, Bill{Parts: Parts{SubtotalPaise: 8000}}, Refund{Kind: "staff", Reason: "cold", RequestedBy: StaffActor(1), Speed: "normal"})
			return err
		}
	}
	t.Run("a report hears the decision that was being made", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o := mustPending(t, s)
		p := mustAttempt(t, s, o, "pay_GUARD000000001")
		deciding, seen := p, p
		seen.GWStatus = "captured"
		meanwhile(t, s, func(tx *Store) error {
			return tx.ReturnPayment(t.Context(), o, &deciding, "captured", "order_cancelled", "normal", 0)
		}, func() error {
			return s.InTx(t.Context(), func(tx *Store) error {
				moved, err := tx.AdvancePayment(t.Context(), &seen)
				if moved || seen.Disposition == nil {
					t.Errorf("it is decided again: moved %v, %v", moved, seen.Disposition)
				}
				return err
			})
		})
	})
	t.Run("cancelling gives back what is left after a part that was being given back", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o, p := mustKept(t, s)
		meanwhile(t, s, give80(t, o, p), func() error {
			_, err := s.CancelOrder(t.Context(), o.ID, ActorCustomer, "changed_mind", "normal")
			return err
		})
		if got := mustRead[string](t, s, `SELECT string_agg(amount_paise::text, ' ' ORDER BY amount_paise) FROM refunds`); got != "8000 13000" {
			t.Errorf("refunds of %s", got)
		}
	})
	t.Run("what may go back is what is left after a part that was being given back", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o, p := mustKept(t, s)
		meanwhile(t, s, give80(t, o, p), func() error {
			share, was, err := s.ShareOf(t.Context(), o.ID, Giving{})
			if share.Amount() != 13000 || was.RefundReservedPaise != 8000 {
				t.Errorf("%d paise, %d reserved", share.Amount(), was.RefundReservedPaise)
			}
			return err
		})
	})
}

// INV-27: a refund's next step and its time are its order's, and when all its money is at rest there is none.
func TestARefundsDeadlineIsItsOrders(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	stopClock(t, s, time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC))
	o, p := mustKept(t, s)
	want := func(action, by string) {
		t.Helper()
		if got := mustRead[string](t, s, `SELECT next_action || ' ' || COALESCE((resolve_by - shop_now())::text, 'never') FROM orders`); got != action+" "+by {
			t.Errorf("next is %q, want %q", got, action+" "+by)
		}
	}
	want("", "never")
	if _, err := s.RequestRefund(t.Context(), o.ID, Giving{AmountPaise: 8000}, 0, StaffActor(1), "cold", "normal"); err != nil {
		t.Fatal(err)
	}
	want("send_refund", "00:15:00")
	id := mustRead[string](t, s, `SELECT id::text FROM refunds`)
	for _, step := range []struct{ says, action, by string }{{"pending", "refund_settles", "10 days"}, {"processed", "", "never"}} {
		if err := s.InTx(t.Context(), func(tx *Store) error {
			_, err := tx.RecordRefund(t.Context(), o, p, SeenRefund{RazorpayRefundID: "rfnd_GUARD00000001", Receipt: id, AmountPaise: 8000, Status: step.says})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want(step.action, step.by)
	}
	r, err := s.RequestRefund(t.Context(), o.ID, Giving{}, 8000, StaffActor(1), "late", "normal")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.InTx(t.Context(), func(tx *Store) error { return tx.RefuseRefund(t.Context(), o, r.ID, "disputed", false) }); err != nil {
		t.Fatal(err)
	}
	want("staff_refunds", "1 day")
}
