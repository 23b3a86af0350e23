package payments

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// backup remembers every row of the database, as a dump does.
func (s *shop) backup() {
	s.t.Helper()
	s.exec(`CREATE SCHEMA backup`)
	for _, table := range s.tables() {
		s.exec(fmt.Sprintf(`CREATE TABLE backup.%s AS TABLE public.%s`, table, table))
	}
}

// restore makes the database what it was at the backup, numbers that were counted on included.
func (s *shop) restore() {
	s.t.Helper()
	var script strings.Builder
	script.WriteString(`BEGIN; SET LOCAL session_replication_role = replica; TRUNCATE ` + strings.Join(s.tables(), ", ") + ";")
	for _, table := range s.tables() {
		columns := s.text(`SELECT string_agg(quote_ident(attname), ',') FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table)
		fmt.Fprintf(&script, "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM backup.%s;", table, columns, columns, table)
	}
	for _, table := range []string{"orders", "payments", "ledger_txns", "customers", "sessions", "carts", "kitchen_slots"} {
		fmt.Fprintf(&script, "SELECT setval(pg_get_serial_sequence('%s', 'id'), COALESCE((SELECT max(id) FROM %s), 0) + 1, false);", table, table)
	}
	script.WriteString("COMMIT")
	s.exec(script.String())
}

func (s *shop) tables() (names []string) {
	s.t.Helper()
	return strings.Split(s.text(`SELECT string_agg(relname, ',') FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'goose%' AND relname NOT LIKE 'river_migration%'`), ",")
}

// FP-41, FP-42: the database loses its tail – a failover, or a backup of some hours ago – and Razorpay does not. Whatever was paid or
// given back meanwhile is found again, by the orders' own checks or in the account's list: kept where it still confirms its order, given
// back where no order is left, never paid back twice.
func TestTheDatabaseForgets(t *testing.T) {
	t.Parallel()
	for _, lost := range []struct {
		name string
		tail time.Duration
		paid string // what becomes of an order that was paid in the tail
	}{
		{"FP-41 a failover loses the last commits", 0, models.OrderPaid},
		{"FP-42 a backup of five hours ago", 5 * time.Hour, models.OrderExpired},
	} {
		t.Run(lost.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, standin.Options{})
			paidLater, paidLaterID := s.newCustomer().add("samosa", 2).open()
			unpaid, _ := s.newCustomer().add("samosa", 2).open()
			cancelled, id := s.newCustomer().add("samosa", 3).open()
			given := s.pay(standin.PayParams{OrderID: id})
			s.verify(cancelled, id, given.ID)
			returned, id := s.newCustomer().add("samosa", 4).open()
			dashboard := s.pay(standin.PayParams{OrderID: id})
			s.verify(returned, id, dashboard.ID)
			s.backup()

			first := s.pay(standin.PayParams{OrderID: paidLaterID})
			s.verify(paidLater, paidLaterID, first.ID)
			_, err := s.cashier.CancelOrder(t.Context(), cancelled.ID, models.ActorCustomer, "changed_mind")
			must(t, err)
			s.sweep() // its money goes back
			s.outside(dashboard, 100_00)
			forgotten, id := s.newCustomer().add("samosa", 5).open()
			orphan := s.pay(standin.PayParams{OrderID: id})
			s.verify(forgotten, id, orphan.ID)
			s.advance(lost.tail)

			s.restore()
			if n := s.count(`SELECT count(*) FROM payments`); n != 2 {
				t.Fatalf("%d payments in the backup", n)
			}
			for _, want := range []bool{true, false} { // once, and then there is nothing left to find
				found, err := s.cashier.ReconcileAccount(t.Context(), AccountDays)
				must(t, err)
				if (found > 0) != want {
					t.Errorf("%d found", found)
				}
			}
			s.advance(2 * time.Hour) // money of no order was there to be looked at
			s.heal()
			s.settled()

			if got := s.status(paidLater); got != lost.paid {
				t.Errorf("the order that was paid in the tail is %s, want %s", got, lost.paid)
			}
			if back := s.refundedThere(first.ID); (back == first.AmountPaise) != (lost.paid != models.OrderPaid) || back != 0 && back != first.AmountPaise {
				t.Errorf("%d of its %d paise went back", back, first.AmountPaise)
			}
			if got := s.status(unpaid); got != models.OrderExpired {
				t.Errorf("the unpaid order is %s", got)
			}
			if back := s.refundedThere(given.ID); back != given.AmountPaise {
				t.Errorf("%d of %d paise of the cancelled order went back", back, given.AmountPaise)
			}
			if got := s.text(`SELECT sum(amount_paise) FROM refunds WHERE order_id = $1 AND status = 'processed'`, cancelled.ID); got != fmt.Sprint(given.AmountPaise) {
				t.Errorf("of its money the rows say that %s paise went back", got)
			}
			if back := s.refundedThere(dashboard.ID); back != 100_00 || s.count(`SELECT sum(amount_paise) FROM refunds WHERE order_id = $1 AND status = 'processed'`, returned.ID) != 100_00 {
				t.Errorf("%d paise of the other went back", back)
			}
			if back := s.refundedThere(orphan.ID); back != orphan.AmountPaise {
				t.Errorf("%d of %d paise of the forgotten order went back", back, orphan.AmountPaise)
			}
			if n := s.count(`SELECT count(*) FROM orders WHERE cancel_reason = 'review'`); n != 1 {
				t.Errorf("%d orders stand for money of none", n)
			}
		})
	}
}
