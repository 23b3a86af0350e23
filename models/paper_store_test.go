package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mustBills copies an order that waits for its money: n more of the same bill at an outlet, each with its attempt to pay. The limited
// dish is not held for them, and slot and customer are the first one's or their outlet's.
func mustBills(t testing.TB, s *Store, of Order, outletID int64, n int) (orders []Order, payments []Payment) {
	t.Helper()
	for i := range n {
		tag := fmt.Sprintf("%02d%05d", outletID, i)
		id := mustRead[int64](t, s, `WITH slot AS (INSERT INTO kitchen_slots (outlet_id, service_on, opens_at, last_order_at, accept_until)
				SELECT ?, service_on, opens_at, last_order_at, accept_until FROM kitchen_slots WHERE id = ? ON CONFLICT (outlet_id, opens_at) DO UPDATE SET service_on = excluded.service_on RETURNING id),
			made AS (INSERT INTO orders (public_id, token, number, service_on, outlet_id, slot_id, cart_id, customer_id, checkout_key, checkout_hash, mode, way, tax_mode, subtotal_paise, packaging_paise, delivery_paise,
				cgst_paise, sgst_paise, amount_paise, name, phone, outlet_name, prep_minutes, delivery_minutes, hold_expires_at, next_check_at)
				SELECT 'tcopycopycopycopycopy' || ?, 'COPYCOPYCOPYCOPYCOPYCOPY' || ?, number + ? + 1, service_on, ?, slot.id, -(? * 1000 + ?)::bigint, customer_id, gen_random_uuid(), checkout_hash, mode, way, tax_mode, subtotal_paise, 0, 0,
				cgst_paise, sgst_paise, amount_paise, name, phone, outlet_name, prep_minutes, delivery_minutes, hold_expires_at, next_check_at FROM orders, slot WHERE orders.id = ? RETURNING id),
			lines AS (INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise)
				SELECT made.id, line, item_id, i.name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise FROM order_items i, made WHERE order_id = ?)
			INSERT INTO order_taxes SELECT made.id, tax_class, taxable_paise, cgst_bp, sgst_bp, cgst_paise, sgst_paise FROM order_taxes, made WHERE order_id = ? RETURNING order_id`,
			outletID, of.SlotID, tag, tag, i, outletID, outletID, i, of.ID, of.ID, of.ID)
		o, err := s.FindOrder(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		gateway, payment := "order_COPY"+tag+"0000", "pay_COPY"+tag+"0000"
		if _, err := s.AttachGatewayOrder(t.Context(), GatewayOrder{RazorpayOrderID: gateway, OrderID: id, Generation: 1, Receipt: o.PublicID + "-g1", AmountPaise: o.AmountPaise, Currency: "INR", LearnedVia: "create"}, ""); err != nil {
			t.Fatal(err)
		}
		p := Payment{RazorpayPaymentID: &payment, RazorpayOrderID: &gateway, OrderID: id, AmountPaise: o.AmountPaise, Currency: "INR", GWStatus: "authorized", FirstSource: "verify"}
		if err := s.InTx(t.Context(), func(tx *Store) error {
			_, err := tx.AdvancePayment(t.Context(), &p)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		orders, payments = append(orders, o), append(payments, p)
	}
	return orders, payments
}

var errUndone = errors.New("undone")

// keep keeps a payment, or does so and lets it be undone.
func keep(t testing.TB, s *Store, o Order, p Payment, undo bool) error {
	return s.InTx(t.Context(), func(tx *Store) error {
		locked, err := tx.LockOrder(t.Context(), o.ID)
		if err != nil {
			return err
		}
		if err := tx.KeepPayment(t.Context(), &locked, &p, "captured", 0); err != nil {
			return err
		}
		if undo {
			return errUndone
		}
		return nil
	})
}

func mustUnbroken(t testing.TB, s *Store) {
	t.Helper()
	if broken, err := s.ListBroken(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("broken: %+v %v", broken, err)
	}
}

// Twenty at once at two outlets, half of which are undone after they took a number and then come again: each series is 1 to 20, and no
// later number bears an earlier time.
func TestNumbersHaveNoGaps(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	first := mustPending(t, s)
	second := mustOutlet(t, s, "second-house")
	var wait sync.WaitGroup
	for _, outletID := range []int64{first.OutletID, second} {
		orders, payments := mustBills(t, s, first, outletID, 20)
		for i := range orders {
			wait.Add(1)
			go func() {
				defer wait.Done()
				if i%2 == 0 {
					if err := keep(t, s, orders[i], payments[i], true); !errors.Is(err, errUndone) {
						t.Error(err)
					}
				}
				if err := keep(t, s, orders[i], payments[i], false); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	wait.Wait()
	for _, outletID := range []int64{first.OutletID, second} {
		var papers []Paper
		if err := s.read(t.Context(), &papers, `SELECT * FROM papers WHERE outlet_id = ? ORDER BY serial`, outletID); err != nil {
			t.Fatal(err)
		}
		if len(papers) != 20 {
			t.Fatalf("%d receipts at outlet %d, want 20", len(papers), outletID)
		}
		for i, p := range papers {
			year := p.FY % 100
			if want := fmt.Sprintf("R%d/%02d-%02d/%05d", outletID, year, year+1, i+1); p.Number != want || p.Serial != i+1 {
				t.Errorf("number %d is %s, want %s", i+1, p.Number, want)
			}
			if i > 0 && p.IssuedAt.Before(papers[i-1].IssuedAt) {
				t.Errorf("%s is older than %s", p.Number, papers[i-1].Number)
			}
		}
	}
	mustUnbroken(t, s)
}

// The year turns at midnight in India, between 31 March and 1 April, and every series begins anew.
func TestNumbersBeginAnewInApril(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	of := mustPending(t, s)
	orders, payments := mustBills(t, s, of, of.OutletID, 4)
	for i, c := range []struct{ at, number string }{
		{"2027-03-31T23:59:58+05:30", "R%d/26-27/00001"}, {"2027-03-31T23:59:59+05:30", "R%d/26-27/00002"}, {"2027-04-01T00:00:00+05:30", "R%d/27-28/00001"}, {"2027-12-31T23:59:59+05:30", "R%d/27-28/00002"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, s, fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT '%s'::timestamptz $$`, c.at))
		if err := keep(t, s, orders[i], payments[i], false); err != nil {
			t.Fatal(err)
		}
		papers, err := s.ListPapers(t.Context(), orders[i].ID)
		if want := fmt.Sprintf(c.number, of.OutletID); err != nil || len(papers) != 1 || papers[0].Number != want || !papers[0].IssuedAt.Equal(at) {
			t.Errorf("at %s: %+v %v, want %s", c.at, papers, err, want)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM document_gaps`); n != 0 {
		t.Errorf("%d gaps", n)
	}
}

// The law allows sixteen characters, of letters, digits, hyphen and slash.
func TestNumbersFitTheLaw(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, c := range []struct {
		outlet, serial int
		want           string
	}{{1, 1, "T1/26-27/00001"}, {99, 999999, "T99/26-27/999999"}, {999, 99999, "T999/26-27/99999"}} {
		if got := mustRead[string](t, s, `SELECT paper_number('tax_invoice', ?, 2026, ?)`, c.outlet, c.serial); got != c.want || len(got) > 16 {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := mustRead[string](t, s, `SELECT paper_number('tax_invoice', 1, 2099, 1)`); got != "T1/99-00/00001" {
		t.Errorf("the year 2099-2100 is %q", got)
	}
}

// INV-45, INV-46: a paper that is there stays as it is, gets its number from the counter alone, and adds up to its money, whoever writes it.
func TestPapersAreGuarded(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	mustUnbroken(t, s)
	const again = `INSERT INTO papers (outlet_id, kind, fy, serial, order_id, cause, refund_id, against, tax_mode, taxable_paise, cgst_paise, sgst_paise, round_off_paise, total_paise, tip_paise, customer_fee_paise, money_paise, printed)
		SELECT outlet_id, 'tax_invoice', fy, 7, order_id, 'handed_over', NULL, id, tax_mode, taxable_paise, cgst_paise, sgst_paise, 0, total_paise, 0, 0, money_paise, printed FROM papers`
	for _, c := range []struct{ guard, sql string }{
		{"papers_append_only", `UPDATE papers SET printed = '{}'`},
		{"papers_append_only", `DELETE FROM papers`},
		{"paper_counters_append_only", `DELETE FROM paper_counters`},
		{"paper_counter_facts", `UPDATE paper_counters SET last = last + 2`},
		{"paper_counter_facts", `UPDATE paper_counters SET last = 0`},
		{"paper_counter_facts", `INSERT INTO paper_counters SELECT outlet_id, 'credit_note', fy, 3 FROM paper_counters`},
		{"paper_number_without_paper", `UPDATE paper_counters SET last = last + 1`},
		{"paper_lines_do_not_add_up", strings.Replace(again, "taxable_paise, cgst_paise, sgst_paise, 0, total", "taxable_paise + 1, cgst_paise, sgst_paise, 0, total", 1)},
		{"paper_taxes_do_not_add_up", strings.Replace(again, "cgst_paise, sgst_paise, 0, total", "cgst_paise + 1, sgst_paise - 1, 0, total", 1)},
		{"paper_taxes_do_not_add_up", strings.Replace(again, "printed FROM", `jsonb_set(printed, '{lines,0,tax_class}', '"goods"') FROM`, 1)},
		{"paper_is_not_about_that_money", strings.Replace(again, "total_paise, 0, 0, money_paise,", "total_paise, 100, 0, money_paise + 100,", 1)},
		{"papers_total_check", strings.Replace(again, "0, total_paise, 0, 0", "0, total_paise - 1, 1, 0", 1)},
		{"papers_money_check", strings.Replace(again, "total_paise, 0, 0, money_paise,", "total_paise, 100, 0, money_paise,", 1)},
		{"papers_kind_check", strings.Replace(again, "'tax_invoice'", "'bill_of_supply'", 1)},
	} {
		err := s.exec(t.Context(), c.sql).Error
		if !isConstraint(err, c.guard) {
			t.Errorf("%s: %v after %s", c.guard, err, c.sql)
		}
	}
	if r := s.exec(t.Context(), again); r.Error != nil || r.RowsAffected != 1 {
		t.Fatalf("the right one: %v", r.Error)
	}
	if got := mustRead[int](t, s, `SELECT serial FROM papers WHERE kind = 'tax_invoice'`); got != 1 {
		t.Errorf("a writer chose the serial %d", got)
	}
	if r := s.exec(t.Context(), again); r.Error != nil || r.RowsAffected != 0 {
		t.Errorf("again: %d rows, %v", r.RowsAffected, r.Error)
	}
	if err := s.InTx(t.Context(), func(tx *Store) error { return tx.issuePaper(t.Context(), o.ID, "paid", nil) }); err != nil {
		t.Error(err)
	}
	if got := mustRead[int](t, s, `SELECT count(*) FROM papers`); got != 2 {
		t.Errorf("%d papers", got)
	}
	mustUnbroken(t, s)
}

// Every paper that is missing, and every gap, is named.
func TestMissingPapersAreSeen(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	g := Giving{AmountPaise: 5000}
	r, err := s.RequestRefund(t.Context(), o.ID, g, 0, ActorShop, "Cold", "normal")
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, s, `UPDATE fulfilments SET status = 'accepted'`)
	mustExec(t, s, `UPDATE fulfilments SET status = 'preparing'`)
	mustExec(t, s, `UPDATE fulfilments SET status = 'ready'`)
	if _, err := s.MoveFulfilment(t.Context(), o.ID, TicketReady, TicketHandedOver, Staff{ID: 1}); err != nil {
		t.Fatal(err)
	}
	mustUnbroken(t, s)
	for _, c := range []struct{ inv, says, sql string }{
		{"INV-45", "receipt_voucher", `DELETE FROM papers WHERE cause = 'paid'`},
		{"INV-45", "has a gap at 1", `UPDATE papers SET serial = 2 WHERE cause = 'refund'`},
		{"INV-45", "has a gap at 2", `UPDATE paper_counters SET last = 3 WHERE kind = 'tax_invoice'`},
		{"INV-46", "without receipt", `DELETE FROM papers WHERE cause <> 'refund'`},
		{"INV-46", "handed over without invoice", `DELETE FROM papers WHERE cause = 'handed_over'`},
		{"INV-46", "refund " + r.ID + " without its voucher or note", `DELETE FROM papers WHERE cause = 'refund'`},
		{"INV-46", "papers say", `UPDATE papers SET taxable_paise = taxable_paise + 1, total_paise = total_paise + 1, money_paise = money_paise + 1 WHERE cause = 'handed_over'`},
		{"INV-46", "taken back without a paper", `UPDATE refunds SET status = 'void'; INSERT INTO ledger_txns (kind, ref_type, ref_id) SELECT 'refund_reversed', 'refund', id::text FROM refunds`},
	} {
		err := s.InTx(t.Context(), func(tx *Store) error {
			for _, statement := range append([]string{`SET LOCAL session_replication_role = replica`}, strings.Split(c.sql, ";")...) {
				if err := tx.exec(t.Context(), statement).Error; err != nil {
					return err
				}
			}
			broken, err := tx.ListBroken(t.Context())
			if err == nil && !slices.ContainsFunc(broken, func(b Broken) bool { return b.Inv == c.inv && strings.Contains(b.Detail, c.says) }) {
				t.Errorf("%s is not named %q after %s: %+v", c.inv, c.says, c.sql, broken)
			}
			if err == nil {
				err = errUndone
			}
			return err
		})
		if !errors.Is(err, errUndone) {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}

// A ticket's first print is the ticket, each later one a copy; four at once are four prints.
func TestPrintTicket(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	var prints [4]int
	var wait sync.WaitGroup
	for i := range prints {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var err error
			if prints[i], err = s.PrintTicket(t.Context(), o.ID, "staff:1"); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	slices.Sort(prints[:])
	if prints != [4]int{1, 2, 3, 4} {
		t.Errorf("prints %v", prints)
	}
	if _, err := s.FindTicketPrint(t.Context(), o.ID, 4); err != nil {
		t.Error(err)
	}
	if _, err := s.FindTicketPrint(t.Context(), o.ID, 5); !errors.Is(err, ErrNotFound) {
		t.Errorf("one that never was: %v", err)
	}
	if _, err := s.PrintTicket(t.Context(), o.ID+1, "staff:1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no ticket: %v", err)
	}
	if err := s.exec(t.Context(), `DELETE FROM ticket_prints`).Error; !isConstraint(err, "ticket_prints_append_only") {
		t.Errorf("a print forgotten: %v", err)
	}
}
