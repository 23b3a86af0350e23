package models

import (
	"testing"
	"time"
)

// S1.29, S2.32: who reports a payment, and who works out what may go back of it, waits for whoever holds the payment's row, even one who has
// not locked its order first.
func TestThePaymentsRowIsLocked(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, p := mustKept(t, s)
	for name, run := range map[string]func() error{
		"a report": func() error {
			return s.InTx(t.Context(), func(tx *Store) error {
				seen := p
				_, err := tx.AdvancePayment(t.Context(), &seen)
				return err
			})
		},
		"a share": func() error { _, _, err := s.ShareOf(t.Context(), o.ID, Giving{}); return err },
	} {
		done := make(chan error, 1)
		if err := s.InTx(t.Context(), func(tx *Store) error {
			if err := tx.exec(t.Context(), `SELECT 1 FROM payments FOR UPDATE`).Error; err != nil {
				return err
			}
			go func() { done <- run() }()
			for mustRead[int](t, s, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
				if len(done) > 0 {
					t.Errorf("%s does not wait", name)
					return nil
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// C011, S1.20: what the gateway said of a refund before is no news after what it said since, and nothing fails at it.
func TestAnOlderAnswerLeavesARefund(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, p := mustKept(t, s)
	r, err := s.RequestRefund(t.Context(), o.ID, Giving{AmountPaise: 8000}, 0, StaffActor(1), "cold", "normal")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		says, stored string
		moved        bool
	}{{"pending", "submitted", true}, {"processed", "processed", true}, {"pending", "processed", false}, {"a word nobody knows", "processed", false}, {"processed", "processed", false},
		{"failed", "failed", true}, {"processed", "failed", false}} {
		if err := s.InTx(t.Context(), func(tx *Store) error {
			moved, err := tx.RecordRefund(t.Context(), o, p, SeenRefund{RazorpayRefundID: "rfnd_GUARD00000001", Receipt: r.ID, AmountPaise: 8000, Status: step.says})
			if moved != step.moved {
				t.Errorf("%s: moved %v", step.says, moved)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", step.says, err)
		}
		if got := mustRead[string](t, s, `SELECT status FROM refunds WHERE id = ?::uuid`, r.ID); got != step.stored {
			t.Errorf("after %s it is %s", step.says, got)
		}
	}
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
