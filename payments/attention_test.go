package payments

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// todo brings the attention list up to date and returns it, as the owner of all outlets sees it.
func (s *shop) todo() []models.Task {
	s.t.Helper()
	_, err := s.store.RefreshTasks(s.t.Context())
	must(s.t, err)
	if changed, err := s.store.RefreshTasks(s.t.Context()); changed != 0 || err != nil {
		s.t.Errorf("a second look changes %d, %v", changed, err)
	}
	tasks, err := s.store.ListTasks(s.t.Context(), models.Staff{Role: "owner", Active: true}, 100)
	must(s.t, err)
	return tasks
}

// one wants exactly one task, of this kind.
func (s *shop) one(kind string) models.Task {
	s.t.Helper()
	tasks := s.todo()
	if len(tasks) != 1 || tasks[0].Kind != kind {
		s.t.Fatalf("to do: %s, want one %s", plain(tasks), kind)
	}
	return tasks[0]
}

// none wants the list as it normally is, and that the audit tells who emptied it.
func (s *shop) none(kind, by string) {
	s.t.Helper()
	if tasks := s.todo(); len(tasks) != 0 {
		s.t.Errorf("to do: %s", plain(tasks))
	}
	if n := s.count(`SELECT count(*) FROM audit WHERE detail LIKE $1 || ' %' AND actor = $2 AND action IN ('close_task', 'retry_task')`, kind, by); n != 1 {
		s.t.Errorf("%d lines in the audit say that %s took %s off the list", n, by, kind)
	}
}

func (s *shop) hire() (staffID int64) {
	s.t.Helper()
	member, err := s.store.CreateStaff(s.t.Context(), models.Staff{Login: "meera", Name: "Meera", Role: "owner", Active: true}, "a long password of hers")
	must(s.t, err)
	return member.ID
}

// paidFor places, pays and verifies.
func (c *customer) paidFor() (*models.Order, string, standin.Payment) {
	c.t.Helper()
	o, id := c.open()
	p := c.pay(standin.PayParams{OrderID: id})
	return c.verify(o, id, p.ID), id, p
}

// TestAttentionList: what stands on the list, with its amount, and how it leaves it.
func TestAttentionList(t *testing.T) {
	t.Parallel()
	t.Run("a second payment is shown until somebody has seen it, and then never again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{SecondPayment: standin.SecondCaptured}})
		owner := s.hire()
		o, id, _ := s.newCustomer().add("samosa", 2).paidFor()
		if tasks := s.todo(); len(tasks) != 0 {
			t.Fatalf("to do: %s", plain(tasks))
		}
		second := s.pay(standin.PayParams{OrderID: id})
		s.verify(o, id, second.ID)
		task := s.one(models.TaskSecondPayment)
		if *task.OrderID != o.ID || *task.OrderNumber != o.Number || *task.AmountPaise != o.AmountPaise || task.Ref != second.ID {
			t.Errorf("task %s", plain(task))
		}
		must(t, s.store.CloseTask(t.Context(), task.ID, owner))
		s.advance(30 * time.Minute)
		s.sweep()
		s.none(models.TaskSecondPayment, models.StaffActor(owner))
	})
	t.Run("FP-19 C024 silence: payments and no webhook for an hour", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, _, p := s.newCustomer().add("samosa", 2).paidFor()
		s.advance(59 * time.Minute)
		if tasks := s.todo(); len(tasks) != 0 {
			t.Fatalf("after 59 minutes: %s", plain(tasks))
		}
		s.advance(2 * time.Minute)
		if task := s.one(models.TaskSilence); task.SinceAt != nil || task.OrderID != nil {
			t.Errorf("task %s", plain(task))
		}
		must(t, s.receive(t.Context(), s.events(p.ID)["payment.captured"]))
		s.none(models.TaskSilence, models.ActorShop)

		// A quiet night after a webhook is no silence; payments after it, of which no webhook tells, are.
		s.advance(20 * time.Hour)
		if tasks := s.todo(); len(tasks) != 0 {
			t.Fatalf("after a quiet night: %s", plain(tasks))
		}
		s.newCustomer().add("samosa", 2).paidFor()
		s.advance(61 * time.Minute)
		if task := s.one(models.TaskSilence); task.SinceAt == nil || !task.SinceAt.Equal(s.lastEvent()) {
			t.Errorf("task %s, the last webhook came at %s", plain(task), s.lastEvent())
		}
	})
	t.Run("no silence where the webhook was first and the payment decided because of it", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		c := s.newCustomer().add("samosa", 2)
		_, id := c.open()
		p := c.pay(standin.PayParams{OrderID: id})
		must(t, s.receive(t.Context(), s.events(p.ID)["payment.captured"]))
		s.exec(`UPDATE webhook_events SET received_at = received_at - interval '1 minute'`)
		s.advance(5 * time.Hour)
		if tasks := s.todo(); len(tasks) != 0 {
			t.Errorf("to do: %s", plain(tasks))
		}
	})
	t.Run("S2.58 a claim that hangs for five minutes, until it does not", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		c := s.newCustomer().add("samosa", 2)
		o := c.place()
		_, _, err := s.store.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
		must(t, err) // and its process dies
		s.advance(4 * time.Minute)
		if tasks := s.todo(); len(tasks) != 0 {
			t.Fatalf("after four minutes: %s", plain(tasks))
		}
		s.advance(2 * time.Minute)
		if task := s.one(models.TaskStaleClaim); *task.OrderID != o.ID {
			t.Errorf("task %s", plain(task))
		}
		s.advance(time.Minute)
		_, err = s.cashier.ResolveClaims(t.Context())
		must(t, err)
		s.none(models.TaskStaleClaim, models.ActorShop)
	})
	t.Run("C011 a low balance: how much waits, sent at once when somebody says that it was topped up", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{LowBalance: true}})
		owner := s.hire()
		_, p := s.paidAndCancelled()
		s.sweep()
		task := s.one(models.TaskLowBalance)
		if int64(*task.AmountPaise) != p.AmountPaise {
			t.Errorf("task %s, want %d paise", plain(task), p.AmountPaise)
		}
		must(t, s.store.RetryTask(t.Context(), task.ID, owner)) // in vain: it comes back
		s.sweep()
		s.exec(`DELETE FROM staff_tasks WHERE closed_at IS NOT NULL`)
		task = s.one(models.TaskLowBalance)
		s.gateway.Configure(func(st *standin.Settings) { st.LowBalance = false })
		must(t, s.store.RetryTask(t.Context(), task.ID, owner))
		s.sweep()
		if s.refundedThere(p.ID) != p.AmountPaise {
			t.Error("it waits on, though somebody said that there is money")
		}
		if tasks := s.todo(); len(tasks) != 0 {
			t.Errorf("to do: %s", plain(tasks))
		}
		s.settled()
	})
	t.Run("a low balance ends by itself when the refunds have gone", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{Settings: standin.Settings{LowBalance: true}})
		s.paidAndCancelled()
		s.sweep()
		s.one(models.TaskLowBalance)
		s.gateway.Configure(func(st *standin.Settings) { st.LowBalance = false })
		s.advance(2 * time.Minute)
		s.sweep()
		s.none(models.TaskLowBalance, models.ActorShop)
	})
	t.Run("INV-28 a failed refund, with Razorpay's reason, until another takes its place", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p := s.paidAndCancelled()
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Refuse, Refusal: "refund_dispute_block", Times: 1})
		s.sweep()
		if task := s.one(models.TaskRefundFailed); int64(*task.AmountPaise) != p.AmountPaise || task.Why == "" || task.Ref != s.text(`SELECT id::text FROM refunds`) {
			t.Errorf("task %s", plain(task))
		}
		s.outside(p, 0)
		s.advance(16 * time.Minute)
		s.sweep()
		s.none(models.TaskRefundFailed, models.ActorShop)
	})
	t.Run("refused orders, until Razorpay makes one again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		s.gateway.Inject(standin.Fault{Method: "POST", Path: "/v1/orders", Kind: standin.Refuse, Refusal: "auth_failed", Times: 1})
		o := s.newCustomer().add("samosa", 2).place()
		if _, err := s.cashier.OpenGatewayOrder(t.Context(), o); !errors.Is(err, ErrNoGateway) {
			t.Fatal(err)
		}
		s.one(models.TaskClaimRejected)
		s.newCustomer().add("samosa", 2).open()
		s.none(models.TaskClaimRejected, models.ActorShop)
	})
	t.Run("INV-39 a dead event: tried again by a person, or over when its money is decided by another road", func(t *testing.T) {
		t.Parallel()
		for _, by := range []string{"a person", "another road"} {
			s := openShop(t, standin.Options{})
			owner := s.hire()
			c := s.newCustomer().add("samosa", 2)
			o, id := c.open()
			p := c.pay(standin.PayParams{OrderID: id})
			s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/payments/*", Kind: standin.HTML502})
			if err := c.receive(t.Context(), c.events(p.ID)["payment.captured"]); err == nil {
				t.Fatal("processed without the gateway")
			}
			s.exec(`UPDATE webhook_events SET attempts = 11`)
			must(t, s.store.FailEvent(t.Context(), s.count(`SELECT id FROM webhook_events`), "the last try"))
			task := s.one(models.TaskDeadEvent)
			s.gateway.ClearFaults()
			if by == "a person" {
				before := s.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event'`)
				must(t, s.store.RetryTask(t.Context(), task.ID, owner))
				if err := s.store.RetryTask(t.Context(), task.ID, owner); !errors.Is(err, models.ErrNotFound) {
					t.Errorf("pressed twice: %v", err)
				}
				if n := s.count(`SELECT count(*) FROM river_job WHERE kind = 'process_event'`); n != before+1 {
					t.Errorf("%d jobs, want one more than %d", n, before)
				}
				must(t, s.cashier.ProcessEvent(t.Context(), s.count(`SELECT id FROM webhook_events`)))
				if s.status(o) != models.OrderPaid {
					t.Errorf("order is %s", s.status(o))
				}
				s.none(models.TaskDeadEvent, models.StaffActor(owner))
			} else {
				s.verify(o, id, p.ID)
				s.none(models.TaskDeadEvent, models.ActorShop)
			}
		}
	})
	t.Run("what there is nothing to try about is refused, and stays", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		owner := s.hire()
		must(t, s.store.OpenTask(t.Context(), models.TaskOverdue, "x", nil, "it is late"))
		task := s.one(models.TaskOverdue)
		if err := s.store.RetryTask(t.Context(), task.ID, owner); !errors.Is(err, models.ErrBadMove) {
			t.Error(err)
		}
		s.one(models.TaskOverdue)
	})
	t.Run("deadlines first, then the oldest", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, _, p := s.newCustomer().add("samosa", 2).paidFor()
		must(t, s.store.OpenTask(t.Context(), models.TaskOverdue, "old", &o.ID, "it is late"))
		var ids []string
		for _, days := range []int{9, 2} {
			d := models.Dispute{RazorpayDisputeID: "disp_TstAbCdEf000" + string(rune('0'+days)), PaymentID: s.count(`SELECT id FROM payments WHERE razorpay_payment_id = $1`, p.ID), OrderID: o.ID,
				AmountPaise: 100, Currency: "INR", Status: "open"}
			due := time.Now().AddDate(0, 0, days)
			d.RespondBy = &due
			must(t, s.store.InTx(t.Context(), func(tx *models.Store) error { return tx.RecordDispute(t.Context(), d) }))
			ids = append(ids, d.RazorpayDisputeID)
		}
		must(t, s.store.OpenTask(t.Context(), models.TaskEventReplaced, "new", nil, "look"))
		var got []string
		for _, task := range s.todo() {
			got = append(got, task.Ref)
		}
		if want := []string{ids[1], ids[0], "old", "new"}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	})
}

func (s *shop) lastEvent() time.Time {
	s.t.Helper()
	last, err := s.store.LastEventAt(s.t.Context())
	must(s.t, err)
	return *last
}
