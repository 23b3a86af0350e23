package models

import (
	"errors"
	"strings"
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

// INV-35, INV-37: what the database itself refuses about promised times, one statement each; everything is undone after it.
func TestTheDatabaseGuardsPromisedTimes(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	mustPending(t, s)
	mustExec(t, s, `INSERT INTO order_times (outlet_id, starts_at, ends_at, orders, items, make_minutes) SELECT outlet_id, placed_at, placed_at + interval '15 minutes', 1, 2, 3 FROM orders`)
	const hold = `INSERT INTO order_time_holds (order_id, outlet_id, starts_at, items, make_minutes, expires_at) SELECT o.id, t.outlet_id, t.starts_at, 2, 3, o.hold_expires_at FROM orders o, order_times t`
	mustExec(t, s, hold)
	promised := strings.Replace(copyOrder("number = 2"), insertOrder("number = 2"), insertOrderAs("promised_from, promised_to", "shop_now(), shop_now()", "number = 2"), 1)
	undone := errors.New("undone")
	for _, c := range []struct{ name, guard, sql string }{
		{"more orders than a time takes", "order_times_max_orders_check", `UPDATE order_times SET max_orders = 0`},
		{"more dishes than a time takes", "order_times_max_items_check", `UPDATE order_times SET max_items = 1`},
		{"more work than a time takes", "order_times_max_make_minutes_check", `UPDATE order_times SET max_make_minutes = 2`},
		{"a time given back and held again", "time hold released -> held is not allowed", `UPDATE order_time_holds SET state = 'released'; UPDATE order_time_holds SET state = 'held'`},
		{"more held than was taken", "time hold facts are final", `UPDATE order_time_holds SET items = items + 1`},
		{"a hold of a time forgotten", "order_time_holds is append-only", `DELETE FROM order_time_holds`},
		{"another promise than was shown", "order facts are final", `UPDATE orders SET promised_from = shop_now(), promised_to = shop_now()`},
		{"a promise that takes no time", "promised time not taken", promised},
		{"a closed order that keeps its time", "closed order holds a time", promised + `; ` + hold + ` WHERE o.promised_to IS NOT NULL;
			UPDATE orders SET status = 'cancelled', cancel_reason = 'changed_mind', cancelled_by = 'customer', closed_at = shop_now() WHERE promised_to IS NOT NULL`},
	} {
		err := s.InTx(t.Context(), func(tx *Store) error {
			for _, statement := range strings.Split(c.sql, ";") {
				if err := tx.exec(t.Context(), statement).Error; err != nil {
					return err
				}
			}
			if err := tx.exec(t.Context(), `SET CONSTRAINTS ALL IMMEDIATE`).Error; err != nil {
				return err
			}
			return undone
		})
		switch {
		case errors.Is(err, undone):
			t.Errorf("%s: it was let through", c.name)
		case err == nil || !strings.Contains(err.Error(), c.guard):
			t.Errorf("%s: refused by something else: %v", c.name, err)
		}
	}
}
