package payments

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// cashShop takes cash both ways, up to limit, seats orders of one number at a time.
func cashShop(t *testing.T, limit models.Paise, seats int) *shop {
	s := openShop(t, standin.Options{})
	s.exec(`UPDATE outlets SET cash_pickup = true, cash_delivery = true, cash_limit_paise = $1, cash_open_orders = $2`, limit, seats)
	return s
}

func (c *customer) cash() Checkout {
	c.t.Helper()
	in := c.checkout()
	in.Cash = true
	return in
}

// due places a cash order.
func (c *customer) due() *models.Order {
	c.t.Helper()
	o, err := c.cashier.PlaceOrder(c.t.Context(), c.cash())
	must(c.t, err)
	if o.Status != models.OrderDue || o.Pays != "cash" {
		c.t.Fatalf("order is %s, pays %s", o.Status, o.Pays)
	}
	return o
}

var cook = models.Staff{ID: 1}

// TestCashIsDueThenPaid: a cash order is the kitchen's at once and paid when staff take the money, without the gateway, and its books say so at each step.
func TestCashIsDueThenPaid(t *testing.T) {
	t.Parallel()
	t.Run("money first: a receipt, then an invoice", func(t *testing.T) {
		t.Parallel()
		s := cashShop(t, 200000, 1)
		c := s.newCustomer().add("samosa", 2)
		o := c.due()
		s.kept()
		if n := s.count(`SELECT count(*) FROM fulfilments WHERE order_id = $1 AND status = 'queued' AND payment_id IS NULL`, o.ID); n != 1 {
			t.Errorf("%d tickets", n)
		}
		if n := s.count(`SELECT count(*) FROM cart_lines l JOIN carts c ON c.id = l.cart_id WHERE c.id = $1`, o.CartID); n != 0 {
			t.Errorf("the cart still has %d lines", n)
		}
		if s.creates() != 0 {
			t.Error("the gateway was asked about cash")
		}
		paid, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook)
		must(t, err)
		if paid.Status != models.OrderPaid || paid.PaidPaymentID == nil || paid.PaidAt == nil {
			t.Errorf("after the money it is %+v", paid)
		}
		if got, want := s.papers(o), fmt.Sprintf("R %d", o.AmountPaise); got != want {
			t.Errorf("papers %q, want %q", got, want)
		}
		s.handOver(o)
		if got, want := s.papers(o), fmt.Sprintf("R %d, T %d", o.AmountPaise, o.AmountPaise); got != want {
			t.Errorf("papers %q, want %q", got, want)
		}
		if in := s.count(`SELECT sum(amount_paise) FROM ledger_entries WHERE account = 'cash'`); in != int64(o.AmountPaise) {
			t.Errorf("%d paise in cash", in)
		}
		s.heal()
		audit, err := s.store.AuditPaise(t.Context(), models.AuditScope{})
		must(t, err)
		if len(audit.Findings) != 0 || audit.Paise("cash") != o.AmountPaise || audit.Paise("awaiting") != 0 {
			t.Errorf("audit: %s", plain(audit))
		}
	})
	t.Run("food first: the invoice comes with the money", func(t *testing.T) {
		t.Parallel()
		s := cashShop(t, 200000, 1)
		o := s.newCustomer().add("samosa", 2).due()
		s.handOver(o)
		s.kept()
		if s.papers(o) != "" {
			t.Errorf("papers before the money: %s", s.papers(o))
		}
		_, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook)
		must(t, err)
		if got, want := s.papers(o), fmt.Sprintf("T %d", o.AmountPaise); got != want {
			t.Errorf("papers %q, want %q", got, want)
		}
		s.settled()
	})
	t.Run("pressed by two at once, the money is taken once", func(t *testing.T) {
		t.Parallel()
		s := cashShop(t, 200000, 1)
		o := s.newCustomer().add("samosa", 2).due()
		if _, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise+1, cook); !errors.Is(err, models.ErrBadMove) {
			t.Errorf("another amount than the bill's: %v", err)
		}
		other := int64(999)
		if _, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, models.Staff{ID: 1, OutletID: &other}); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("by another outlet's staff: %v", err)
		}
		errs := inParallel(8, func() error { _, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook); return err })
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, models.ErrBadMove):
				t.Error(err)
			}
		}
		if taken != 1 || s.count(`SELECT count(*) FROM payments WHERE order_id = $1`, o.ID) != 1 {
			t.Errorf("taken %d times", taken)
		}
		s.settled()
	})
	t.Run("taken and cancelled at once, it is the one and its money owed, or the other and none", func(t *testing.T) {
		t.Parallel()
		s := cashShop(t, 200000, 20)
		for range 6 {
			o := s.newCustomer().add("samosa", 2).due()
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook) })
			wg.Go(func() { _, _ = s.store.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind", "normal") })
			wg.Wait()
			paid, owed := s.count(`SELECT count(*) FROM payments WHERE order_id = $1`, o.ID), s.count(`SELECT count(*) FROM refunds WHERE order_id = $1`, o.ID)
			if s.status(o) != models.OrderCancelled || paid != owed {
				t.Errorf("order %d is %s with %d payments and %d refunds", o.ID, s.status(o), paid, owed)
			}
		}
		s.settled()
	})
}

// TestCashCancelled: nobody owes anything for a due order that is cancelled, before it goes out or after it came back.
func TestCashCancelled(t *testing.T) {
	t.Parallel()
	s := cashShop(t, 200000, 2)
	dish := s.limit("samosa", 10)
	early, late := s.newCustomer().add("samosa", 2).due(), s.newCustomer().add("samosa", 3).due()
	if sold := s.count(`SELECT sold FROM stock WHERE item_id = $1`, dish.ID); sold != 5 {
		t.Errorf("%d sold", sold)
	}
	_, err := s.store.CancelOrder(t.Context(), early.ID, models.ActorCustomer, "changed_mind", "normal")
	must(t, err)
	s.handOver(late)
	if _, err := s.store.CancelOrder(t.Context(), late.ID, models.ActorCustomer, "changed_mind", "normal"); !errors.Is(err, models.ErrTooLate) {
		t.Errorf("a customer cancelled what was handed over: %v", err)
	}
	_, err = s.store.CancelOrder(t.Context(), late.ID, models.StaffActor(1), "not at home", "normal")
	must(t, err)
	if s.status(early) != models.OrderCancelled || s.status(late) != models.OrderCancelled || s.count(`SELECT count(*) FROM refunds`) != 0 || s.papers(late) != "" {
		t.Errorf("%s and %s, papers %q", s.status(early), s.status(late), s.papers(late))
	}
	if _, err := s.store.TakeCash(t.Context(), late.ID, late.AmountPaise, cook); !errors.Is(err, models.ErrBadMove) {
		t.Errorf("money for a cancelled order: %v", err)
	}
	if sold := s.count(`SELECT sold FROM stock WHERE item_id = $1`, dish.ID); sold != 0 {
		t.Errorf("%d still sold", sold)
	}
	s.settled()

	paid := s.newCustomer().add("paneer-tikka", 1).due()
	s.handOver(paid)
	_, err = s.store.TakeCash(t.Context(), paid.ID, paid.AmountPaise, cook)
	must(t, err)
	if _, err := s.store.CancelOrder(t.Context(), paid.ID, models.StaffActor(1), "too late", "normal"); !errors.Is(err, models.ErrTooLate) {
		t.Errorf("a paid order was cancelled after it was handed over: %v", err)
	}
}

// TestCashIsGivenBackByHand: what a cash payment owes is asked for once, never sent to the gateway, and over when a person says they gave it.
func TestCashIsGivenBackByHand(t *testing.T) {
	t.Parallel()
	s := cashShop(t, 200000, 1)
	o := s.newCustomer().add("samosa", 2).due()
	if _, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: 5000}, 0, "cold", cook.ID); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("a refund of what was not paid: %v", err)
	}
	_, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook)
	must(t, err)
	part, err := s.cashier.RequestRefund(t.Context(), o.ID, models.Giving{AmountPaise: 5000}, 0, "cold", cook.ID)
	must(t, err)
	s.kept()
	s.advance(time.Minute)
	s.sweep()
	if n := len(s.gateway.Requests()); n != 0 {
		t.Errorf("the gateway got %d requests about cash", n)
	}
	if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'cash_back' AND ref = $1 AND closed_at IS NULL`, part.ID) != 1 {
		t.Error("nobody is told to give it back")
	}
	_, err = s.store.CancelOrder(t.Context(), o.ID, models.ActorCustomer, "changed_mind", "normal")
	must(t, err)
	s.kept()
	var rest models.Refund
	refunds, err := s.store.ListRefunds(t.Context(), o.ID)
	must(t, err)
	for _, r := range refunds {
		if r.ID != part.ID {
			rest = r
		}
	}
	if len(refunds) != 2 || rest.AmountPaise != o.AmountPaise-5000 {
		t.Fatalf("refunds: %s", plain(refunds))
	}
	given := 0
	for _, err := range inParallel(6, func() error { _, err := s.store.GiveCashBack(t.Context(), rest.ID, cook); return err }) {
		switch {
		case err == nil:
			given++
		case !errors.Is(err, models.ErrBadMove):
			t.Error(err)
		}
	}
	_, err = s.store.GiveCashBack(t.Context(), part.ID, cook)
	must(t, err)
	if given != 1 {
		t.Errorf("given back %d times", given)
	}
	if left := s.count(`SELECT sum(amount_paise) FROM ledger_entries WHERE account IN ('cash', 'refunds_payable')`); left != 0 {
		t.Errorf("%d paise left", left)
	}
	if s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'cash_back' AND closed_at IS NULL`) != 0 {
		t.Error("what is given back is still on the list")
	}
	s.settled()
	audit, err := s.store.AuditPaise(t.Context(), models.AuditScope{})
	must(t, err)
	if len(audit.Findings) != 0 || audit.Paise("cash") != 0 || audit.Paise("refunded") != o.AmountPaise {
		t.Errorf("audit: %s", plain(audit))
	}

	online := s.newCustomer().add("samosa", 2)
	other, id := online.open()
	s.verify(other, id, s.pay(standin.PayParams{OrderID: id}).ID)
	r, err := s.cashier.RequestRefund(t.Context(), other.ID, models.Giving{AmountPaise: 1000}, 0, "cold", cook.ID)
	must(t, err)
	if _, err := s.store.GiveCashBack(t.Context(), r.ID, cook); !errors.Is(err, models.ErrBadMove) {
		t.Errorf("an online refund was given back in cash: %v", err)
	}
}

// TestCashHasLimits: what an outlet does not take in cash, and how many orders of one number may be unpaid, however they race.
func TestCashHasLimits(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, err error, why string) {
		t.Helper()
		var cash *models.ErrCash
		if !errors.As(err, &cash) || cash.Why != why {
			t.Errorf("got %v, want cash: %s", err, why)
		}
	}
	s := cashShop(t, 10000, 2)
	big := s.newCustomer().add("paneer-tikka", 1)
	_, err := s.cashier.PlaceOrder(t.Context(), big.cash())
	refused(t, err, "limit")
	s.exec(`UPDATE outlets SET cash_limit_paise = 200000, cash_delivery = false`)
	_, err = s.cashier.PlaceOrder(t.Context(), big.cash())
	refused(t, err, "off")
	if s.count(`SELECT count(*) FROM orders`) != 0 {
		t.Error("a refused order was written")
	}
	s.exec(`UPDATE outlets SET cash_delivery = true`)
	var ready []Checkout
	for range 6 {
		ready = append(ready, s.newCustomer().add("samosa", 2).cash())
	}
	var mu sync.Mutex
	placed := 0
	for _, err := range inParallel(6, func() error {
		mu.Lock()
		in := ready[0]
		ready = ready[1:]
		mu.Unlock()
		_, err := s.cashier.PlaceOrder(t.Context(), in)
		return err
	}) {
		if err == nil {
			placed++
			continue
		}
		refused(t, err, "open")
	}
	if placed != 2 || s.count(`SELECT count(*) FROM orders WHERE status = 'due'`) != 2 || s.count(`SELECT count(*) FROM orders`) != 2 {
		t.Errorf("%d placed", placed)
	}
	_, err = s.store.TakeCash(t.Context(), s.count(`SELECT min(id) FROM orders`), models.Paise(s.count(`SELECT amount_paise FROM orders ORDER BY id LIMIT 1`)), cook)
	must(t, err)
	s.newCustomer().add("samosa", 2).due() // a seat is free again
	s.kept()
}

// TestCashAfterAll: who began to pay online and chooses cash has one order, and money that still comes for the first goes back.
func TestCashAfterAll(t *testing.T) {
	t.Parallel()
	s := cashShop(t, 200000, 1)
	c := s.newCustomer().add("samosa", 2)
	first, id := c.open()
	in := c.cash()
	if _, err := s.cashier.PlaceOrder(t.Context(), in); !errors.Is(err, models.ErrKeyReused) {
		t.Fatalf("the same key for another way of paying: %v", err)
	}
	o := c.due()
	if s.status(first) != models.OrderCancelled {
		t.Errorf("the first is %s", s.status(first))
	}
	again, err := s.cashier.PlaceOrder(t.Context(), Checkout{Session: c.session, CheckoutKey: o.CheckoutKey, Way: "delivery", Cash: true})
	if err != nil || again.ID != o.ID {
		t.Errorf("the same press again: %v, %v", again, err)
	}
	paid := s.pay(standin.PayParams{OrderID: id})
	s.verify(first, id, paid.ID)
	s.heal()
	if back := s.refundedThere(paid.ID); back != int64(first.AmountPaise) {
		t.Errorf("%d of %d came back", back, first.AmountPaise)
	}
	if s.status(o) != models.OrderDue {
		t.Errorf("the cash order is %s", s.status(o))
	}
}

// TestNobodyForgetsCash: a due order nobody took money for, and cash nobody gave back, are on the attention list the day after.
func TestNobodyForgetsCash(t *testing.T) {
	t.Parallel()
	s := cashShop(t, 200000, 1)
	o := s.newCustomer().add("samosa", 2).due()
	s.handOver(o)
	overdue := func() int64 {
		return s.count(`SELECT count(*) FROM staff_tasks WHERE kind = 'overdue' AND order_id = $1 AND closed_at IS NULL`, o.ID)
	}
	s.sweep()
	if overdue() != 0 {
		t.Error("late at once")
	}
	if tickets, err := s.store.ListTickets(t.Context(), nil); err != nil || len(tickets) != 1 {
		t.Errorf("on the board: %v, %v", tickets, err)
	}
	s.advance(26 * time.Hour)
	s.sweep()
	if overdue() != 1 {
		t.Error("nobody is told that the cash was never taken")
	}
	if tickets, err := s.store.ListTickets(t.Context(), nil); err != nil || len(tickets) != 1 {
		t.Errorf("on the board a day later: %v, %v", tickets, err)
	}
	_, err := s.store.TakeCash(t.Context(), o.ID, o.AmountPaise, cook)
	must(t, err)
	s.sweep()
	if overdue() != 0 {
		t.Error("it is taken and still late")
	}
}

// TestTheDatabaseRefusesBadCash: whoever writes the rows, the rules of cash hold.
func TestTheDatabaseRefusesBadCash(t *testing.T) {
	t.Parallel()
	s := cashShop(t, 200000, 2)
	due := s.newCustomer().add("samosa", 2).due()
	paid := s.newCustomer().add("samosa", 2).due()
	_, err := s.store.TakeCash(t.Context(), paid.ID, paid.AmountPaise, cook)
	must(t, err)
	refund, err := s.cashier.RequestRefund(t.Context(), paid.ID, models.Giving{AmountPaise: 1000}, 0, "cold", cook.ID)
	must(t, err)
	for _, c := range []struct {
		name, guard, sql string
		id               any
	}{
		{"due without a seat", "orders_due_check", `UPDATE orders SET cash_seat = NULL WHERE id = $1`, due.ID},
		{"a cash payment nobody keeps", "payments_cash_check", `INSERT INTO payments (provider, order_id, amount_paise, currency, gw_status, first_source) VALUES ('cash', $1, 100, 'INR', 'created', 'staff')`, due.ID},
		{"a cash payment a webhook told of", "payments_cash_check", `INSERT INTO payments (provider, order_id, amount_paise, currency, gw_status, disposition, decided_at, first_source) VALUES ('cash', $1, 100, 'INR', 'captured', 'kept', shop_now(), 'webhook')`, due.ID},
		{"cash taken without the order being paid", "kept_payment_without_paid_order_and_ticket", `INSERT INTO payments (provider, order_id, amount_paise, currency, gw_status, disposition, decided_at, first_source) SELECT 'cash', id, amount_paise, 'INR', 'captured', 'kept', shop_now(), 'staff' FROM orders WHERE id = $1`, due.ID},
		{"cash given back by nobody", "refunds_cash_check", `UPDATE refunds SET status = 'processed' WHERE id = $1::uuid`, refund.ID},
		{"cash sent to the gateway", "refunds_cash_check", `UPDATE refunds SET status = 'submitted', razorpay_refund_id = 'rfnd_CASH0000000001' WHERE id = $1::uuid`, refund.ID},
		{"a refund of cash that says it is Razorpay's", "refunds_provider_fkey", `UPDATE refunds SET provider = 'razorpay' WHERE id = $1::uuid`, refund.ID},
		{"a ticket with another payment", "fulfilment_facts", `UPDATE fulfilments SET payment_id = NULL WHERE order_id = $1`, paid.ID},
		{"a paid order cancelled after it was handed over", "fulfilment_edge", `UPDATE fulfilments SET status = 'cancelled' WHERE order_id = $1`, paid.ID},
		{"two lakh rupees in cash", "outlets_cash_limit_check", `UPDATE outlets SET cash_limit_paise = 20000000 WHERE id = $1`, s.outlet.ID},
	} {
		if c.guard == "fulfilment_edge" {
			s.handOver(paid)
		}
		_, err := s.store.SQL().ExecContext(t.Context(), c.sql, c.id)
		if !isConstraint(err, c.guard) {
			t.Errorf("%s: %v, want %s", c.name, err, c.guard)
		}
	}
	other := s.newCustomer().add("samosa", 2).due()
	if _, err := s.store.SQL().ExecContext(t.Context(), `UPDATE orders SET cash_seat = (SELECT cash_seat FROM orders WHERE id = $1) WHERE id = $2`, due.ID, other.ID); !isConstraint(err, "orders_cash_seat_key") {
		t.Errorf("two unpaid orders in one seat: %v", err)
	}
	s.kept()
}

func isConstraint(err error, name string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == name
}
