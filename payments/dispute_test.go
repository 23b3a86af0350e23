package payments

import (
	"bytes"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// disputed is a paid order whose payment a bank asks back.
func (s *shop) disputed() (*models.Order, standin.Payment, standin.Dispute) {
	s.t.Helper()
	o, _, p := s.newCustomer().add("chicken-tikka", 1).paidFor()
	d, err := s.gateway.OpenDispute(p.ID, 0)
	must(s.t, err)
	return o, p, d
}

func TestDisputes(t *testing.T) {
	t.Parallel()
	t.Run("an event records it with its deadline; answered, it leaves the list; lost, it says so once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, p, d := s.disputed()
		must(t, s.receive(t.Context(), s.events(p.ID)["payment.dispute.created"]))
		stored, err := s.store.ListDisputes(t.Context(), o.ID)
		must(t, err)
		if len(stored) != 1 || stored[0].Status != "open" || stored[0].AmountPaise != o.AmountPaise || stored[0].RespondBy == nil || !stored[0].RespondBy.Equal(d.RespondBy.Truncate(time.Second)) {
			t.Fatalf("stored %s", plain(stored))
		}
		if task := s.one(models.TaskDispute); task.DueAt == nil || !task.DueAt.Equal(*stored[0].RespondBy) || *task.AmountPaise != o.AmountPaise || *task.OrderID != o.ID {
			t.Errorf("task %s", plain(task))
		}
		must(t, s.gateway.DecideDispute(d.ID, "under_review"))
		must(t, s.receive(t.Context(), s.events(p.ID)["payment.dispute.under_review"]))
		s.none(models.TaskDispute, models.ActorShop)

		must(t, s.gateway.DecideDispute(d.ID, "lost"))
		must(t, s.receive(t.Context(), s.events(p.ID)["payment.dispute.lost"]))
		task := s.one(models.TaskDisputeLost)
		must(t, s.store.CloseTask(t.Context(), task.ID, s.hire()))
		e := s.events(p.ID)["payment.dispute.lost"]
		e.ID = "again"
		must(t, s.receive(t.Context(), e))
		if tasks := s.todo(); len(tasks) != 0 {
			t.Errorf("to do: %s", plain(tasks))
		}
		if got := s.text(`SELECT string_agg(concat_ws(' ', was, became), ', ' ORDER BY id) FROM status_changes WHERE subject = 'dispute'`); got != "open, open under_review, under_review lost" {
			t.Errorf("history: %s", got)
		}
		if s.count(`SELECT deducted_paise FROM disputes`) != int64(o.AmountPaise) {
			t.Error("what it cost is not written down")
		}
		s.settled()
	})
	t.Run("S1.6 events in any order end alike, and a decided one is never opened again", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p, d := s.disputed()
		must(t, s.gateway.DecideDispute(d.ID, "won"))
		for _, name := range []string{"payment.dispute.won", "payment.dispute.created"} {
			must(t, s.receive(t.Context(), s.events(p.ID)[name]))
		}
		if got := s.text(`SELECT status FROM disputes`); got != "won" {
			t.Errorf("dispute is %s", got)
		}
		if tasks := s.todo(); len(tasks) != 0 {
			t.Errorf("to do: %s", plain(tasks))
		}
		stale := models.Dispute{RazorpayDisputeID: d.ID, PaymentID: s.count(`SELECT id FROM payments`), OrderID: s.count(`SELECT id FROM orders`), AmountPaise: 1, Currency: "INR", Status: "open"}
		must(t, s.store.InTx(t.Context(), func(tx *models.Store) error { return tx.RecordDispute(t.Context(), stale) }))
		if got := s.text(`SELECT status FROM disputes`); got != "won" || s.count(`SELECT count(*) FROM staff_tasks`) != 0 {
			t.Errorf("a stale answer made it %s", got)
		}
	})
	t.Run("an account that shows no disputes: the signed event is what is known", func(t *testing.T) {
		t.Parallel()
		for _, refusal := range []string{"id_not_exist", "auth_failed", "url_not_found"} {
			s := openShop(t, standin.Options{})
			_, p, _ := s.disputed()
			s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/disputes/*", Kind: standin.Refuse, Refusal: refusal})
			s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/disputes", Kind: standin.Refuse, Refusal: refusal})
			must(t, s.receive(t.Context(), s.events(p.ID)["payment.dispute.created"]))
			if task := s.one(models.TaskDispute); task.DueAt == nil {
				t.Errorf("%s: task %s", refusal, plain(task))
			}
			if found, err := s.cashier.ReconcileDisputes(t.Context()); found != 0 || err != nil {
				t.Errorf("%s: %d found, %v", refusal, found, err)
			}
		}
	})
	t.Run("a silent gateway leaves the event for later", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		_, p, _ := s.disputed()
		s.gateway.Inject(standin.Fault{Method: "GET", Path: "/v1/disputes/*", Kind: standin.HTML502, Times: 1})
		if err := s.receive(t.Context(), s.events(p.ID)["payment.dispute.created"]); err == nil {
			t.Fatal("processed without the gateway")
		}
		s.advance(2 * time.Minute)
		_, err := s.cashier.SweepEvents(t.Context())
		must(t, err)
		s.one(models.TaskDispute)
	})
	t.Run("FP-19 one whose webhook was lost is found in the list; what is over leaves; others' are left alone", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, standin.Options{})
		o, _, d := s.disputed()
		elsewhere := s.pay(standin.PayParams{AmountPaise: 5000})
		_, err := s.gateway.OpenDispute(elsewhere.ID, 0)
		must(t, err)
		if found, err := s.cashier.ReconcileDisputes(t.Context()); found != 1 || err != nil {
			t.Fatalf("%d found, %v", found, err)
		}
		if task := s.one(models.TaskDispute); *task.OrderID != o.ID {
			t.Errorf("task %s", plain(task))
		}
		if found, err := s.cashier.ReconcileDisputes(t.Context()); found != 0 || err != nil {
			t.Errorf("the second time %d found, %v", found, err)
		}
		must(t, s.gateway.DecideDispute(d.ID, "won"))
		if found, err := s.cashier.ReconcileDisputes(t.Context()); found != 1 || err != nil {
			t.Errorf("%d found, %v", found, err)
		}
		s.none(models.TaskDispute, models.ActorShop)
	})
}

// INV-43: on day 7 what is told of people leaves the stored bodies; who it was about, what happened and the hash stay, and the event can
// still be processed.
func TestStripEvents(t *testing.T) {
	t.Parallel()
	s := openShop(t, standin.Options{})
	_, _, p := s.newCustomer().add("samosa", 2).paidFor()
	for _, e := range s.events(p.ID) {
		must(t, s.receive(t.Context(), e))
	}
	raw := func() []byte {
		var all []byte
		must(t, s.store.SQL().QueryRowContext(t.Context(), `SELECT string_agg(body, '' ORDER BY id) FROM webhook_events`).Scan(&all))
		return all
	}
	hashes := s.text(`SELECT string_agg(encode(body_sha256, 'hex'), ',' ORDER BY id) FROM webhook_events`)
	came := raw()
	told := [][]byte{[]byte(`"contact"`), []byte(`"email"`)}
	for _, word := range told {
		if !bytes.Contains(came, word) {
			t.Fatalf("the stand-in's webhooks hold no %s: the test shows nothing", word)
		}
	}
	s.advance(7*24*time.Hour - time.Minute)
	if n, err := s.cashier.StripEvents(t.Context()); n != 0 || err != nil || !bytes.Equal(raw(), came) {
		t.Errorf("%d stripped before the seventh day is over, %v", n, err)
	}
	s.advance(2 * time.Minute)
	if n, err := s.cashier.StripEvents(t.Context()); int64(n) != s.count(`SELECT count(*) FROM webhook_events`) || err != nil {
		t.Errorf("%d stripped, %v", n, err)
	}
	rest := raw()
	for _, word := range append(told, []byte("@"), []byte("vpa"), []byte("98450"), []byte("+91")) {
		if bytes.Contains(rest, word) {
			t.Errorf("%s is still there:\n%s", word, rest)
		}
	}
	if !bytes.Contains(rest, []byte(p.ID)) || s.text(`SELECT string_agg(encode(body_sha256, 'hex'), ',' ORDER BY id) FROM webhook_events`) != hashes {
		t.Error("the payment or the hash of what came is lost")
	}
	if n, err := s.cashier.StripEvents(t.Context()); n != 0 || err != nil {
		t.Errorf("the second time %d stripped, %v", n, err)
	}
	s.exec(`UPDATE webhook_events SET status = 'received', processed_at = NULL, next_attempt_at = shop_now()`)
	for id := range s.count(`SELECT count(*) FROM webhook_events`) {
		must(t, s.cashier.ProcessEvent(t.Context(), id+1))
	}
	if got := s.text(`SELECT string_agg(DISTINCT status, ',') FROM webhook_events`); got != "processed" {
		t.Errorf("stripped events are %s when processed again", got)
	}
	s.exec(`UPDATE webhook_events SET stripped_at = NULL, received_at = shop_now() - interval '9 days 1 minute' WHERE id = 1`)
	if broken, err := s.store.ListBroken(t.Context()); err != nil || len(broken) != 1 || broken[0].Inv != "INV-43" {
		t.Errorf("a body that was not stripped: %s, %v", plain(broken), err)
	}
}
