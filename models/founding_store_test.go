package models

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the founding texts ask of the rows alone. What they ask of the whole path is in payments/founding_test.go.

// twice runs fn in two goroutines that start together and returns both errors.
func twice(fn func() error) (errs [2]error) {
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			<-start
			errs[i] = fn()
		})
	}
	close(start)
	group.Wait()
	return errs
}

// S2.1, FP-50: a database whose orders were made under a key of the other mode is noticed.
func TestModeConflict(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ask := func(mode string, want bool) {
		t.Helper()
		if got, err := s.ModeConflict(t.Context(), mode); got != want || err != nil {
			t.Errorf("%s key: conflict %v, %v", mode, got, err)
		}
	}
	ask("test", false)
	ask("live", false)
	mustPending(t, s)
	ask("test", false)
	ask("live", true)
}

// S1.9, S1.22, S2.11, S2.14, S3.2, S3.3, F12: what can be read in the catalogue.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	t.Run("S2.11 money is bigint paise and no column is a float", func(t *testing.T) {
		var columns []struct{ TableName, ColumnName, DataType string }
		if err := s.read(t.Context(), &columns, `SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
			WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.table_name NOT LIKE 'river%' AND c.table_name NOT LIKE 'goose%'`); err != nil {
			t.Fatal(err)
		}
		money := 0
		for _, c := range columns {
			if strings.HasSuffix(c.ColumnName, "_paise") {
				money++
				if c.DataType != "bigint" {
					t.Errorf("%s.%s is %s", c.TableName, c.ColumnName, c.DataType)
				}
			}
			if slices.Contains([]string{"real", "double precision", "numeric", "money"}, c.DataType) {
				t.Errorf("%s.%s is %s", c.TableName, c.ColumnName, c.DataType)
			}
		}
		if money < 30 {
			t.Errorf("only %d columns of money", money)
		}
	})
	t.Run("S1.9 S3.3 an event is known by provider and id, with its type, time and order", func(t *testing.T) {
		for column, want := range map[string]string{"provider": "text NO", "event_id": "text NO", "event_type": "text NO", "received_at": "timestamp with time zone NO", "order_ref": "bigint YES"} {
			if got := mustRead[string](t, s, `SELECT data_type || ' ' || is_nullable FROM information_schema.columns WHERE table_name = 'webhook_events' AND column_name = ?`, column); got != want {
				t.Errorf("%s is %s, want %s", column, got, want)
			}
		}
		if got := mustRead[string](t, s, `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'webhook_events_event_key'`); got != "UNIQUE (provider, event_id)" {
			t.Error(got)
		}
	})
	t.Run("S1.22 F12 order, payment, refund and ticket are rows of their own with states of their own", func(t *testing.T) {
		states := map[string]string{}
		for table, column := range map[string]string{"orders": "status", "payments": "gw_status", "refunds": "status", "fulfilments": "status"} {
			states[table] = mustRead[string](t, s, `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = ?`, table+"_"+column+"_check")
		}
		for table, own := range map[string]string{"orders": "expired", "payments": "authorized", "refunds": "submitted", "fulfilments": "preparing"} {
			for other, check := range states {
				if strings.Contains(check, "'"+own+"'") != (other == table) {
					t.Errorf("%s may be %s: %s", other, own, check)
				}
			}
		}
	})
}

// S1.14, S2.17, S3.2, S3.17, S4.8: beside what the database refuses, what it must allow; and no payment belongs to two orders.
func TestTheDatabaseTellsApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, guard, sql string }{
		{"S2.17 the same checkout key is allowed for another customer", "", copyOrder("checkout_key = checkout_key, customer_id = (SELECT max(id) FROM customers)")},
		{"S1.14 a refund entry is allowed for a payment that has its capture", "",
			`WITH t AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) SELECT 'refund_requested', ref_type, ref_id FROM ledger_txns RETURNING id) INSERT INTO ledger_entries SELECT id, 'sales_returns', 100 FROM t UNION ALL SELECT id, 'refunds_payable', -100 FROM t`},
		{"S3.2 the same event id is allowed for another provider", "",
			`INSERT INTO webhook_events (provider, event_id, body_sha256, event_type) VALUES ('razorpay', 'a', '', 'x'), ('cashfree', 'a', '', 'x')`},
		{"S3.17 one payment cannot pay a second order", "orders_paid_payment_fkey",
			`UPDATE orders SET status = 'paid', paid_at = shop_now(), paid_payment_id = (SELECT id FROM payments) WHERE status = 'pending'`},
		{"S3.17 one payment cannot have a second ticket", "fulfilments_payment_key",
			`INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) SELECT o.id, p.id, o.outlet_id, shop_now() FROM orders o, payments p WHERE o.status = 'pending'`},
		{"S3.17 one gateway order cannot belong to a second order", "gateway_orders_pkey",
			`INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via) SELECT g.razorpay_order_id, o.id, 1, 'x', 100, 'INR', 'current', 'create' FROM gateway_orders g, orders o WHERE o.status = 'pending'`},
		{"S4.8 a payment cannot move to another order", "payment facts are final", `UPDATE payments SET order_id = (SELECT id FROM orders WHERE status = 'pending')`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			mustKept(t, s)
			if strings.Contains(c.sql, "status = 'pending'") {
				mustExec(t, s, copyOrder("number = 2"))
			}
			mustExec(t, s, `INSERT INTO customers DEFAULT VALUES`)
			err := s.exec(t.Context(), c.sql).Error
			switch {
			case c.guard == "" && err != nil:
				t.Error(err)
			case c.guard != "" && (err == nil || !strings.Contains(err.Error(), c.guard)):
				t.Errorf("got %v, want %s", err, c.guard)
			}
		})
	}
}

// insertOrderAs is insertOrder with values for columns that have defaults.
func insertOrderAs(columns, values, change string) string {
	return strings.NewReplacer("INSERT INTO orders (", "INSERT INTO orders ("+columns+", ", ") SELECT ", ") SELECT "+values+", ").Replace(insertOrder(change))
}

// copyOrder is insertOrder with the lines and taxes, so that the copy, still unpaid, adds up.
func copyOrder(change string) string {
	return `WITH o AS (` + insertOrder(change) + ` RETURNING id),
		i AS (INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise)
			SELECT o.id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise FROM order_items, o WHERE order_id = 1)
		INSERT INTO order_taxes SELECT o.id, tax_class, taxable_paise, cgst_bp, sgst_bp, cgst_paise, sgst_paise FROM order_taxes, o WHERE order_id = 1`
}

// S2.13, S2.14, S2.50: the guards of the schema that TestTheDatabaseRefuses does not attack, one statement each. Everything is undone after it.
func TestTheRestOfTheSchemasGuards(t *testing.T) {
	t.Parallel()
	rows := map[string]*Store{}
	for _, state := range []string{"pending", "authorized", "paid", "refunding", "returned"} {
		s := openStore(t)
		rows[state] = s
		switch state {
		case "pending":
			o := mustPending(t, s)
			if _, _, err := s.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID); err != nil {
				t.Fatal(err)
			}
		case "authorized", "returned":
			o := mustPending(t, s)
			p := mustAttempt(t, s, o, "pay_GUARD000000001")
			if state == "returned" {
				if err := s.InTx(t.Context(), func(tx *Store) error {
					return tx.ReturnPayment(t.Context(), o, &p, "captured", "amount_mismatch", "normal", 0)
				}); err != nil {
					t.Fatal(err)
				}
			}
		default:
			o, _ := mustKept(t, s)
			if state == "refunding" {
				if _, err := s.CancelOrder(t.Context(), o.ID, ActorCustomer, "changed_mind", "normal"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const secondPayment = `INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source%s) SELECT 'pay_GUARD000000002', razorpay_order_id, order_id, amount_paise, currency, %s FROM payments`
	const secondRefund = `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by, status, razorpay_refund_id, retry_of) SELECT gen_random_uuid(), payment_id, order_id, 1, %s FROM refunds`
	dispute := func(status string) string {
		return `INSERT INTO disputes (razorpay_dispute_id, payment_id, order_id, amount_paise, currency, status) SELECT 'disp_GUARD00000001', id, order_id, 1, 'INR', '` + status + `' FROM payments`
	}
	coupon := func(total string) string {
		return `INSERT INTO coupons (outlet_id, code, amount_paise, total) SELECT DISTINCT outlet_id, 'TEST', 100, ` + cmp.Or(total, "NULL") + `::int FROM orders;`
	}
	couponUses := func(values string) string {
		return `INSERT INTO coupon_uses (order_id, coupon_id, person, nth, per_person, first_order) SELECT o.id, c.id, ` + values + ` FROM orders o, coupons c`
	}
	undone := errors.New("undone")
	for _, c := range []struct{ name, state, guard, sql string }{
		{"two orders told apart by the gateway", "pending", "orders_public_id_key", insertOrder("public_id = public_id")},
		{"C056 two orders with one link", "pending", "orders_token_key", insertOrder("token = token")},
		{"C054 two orders with one number", "pending", "orders_number_key", insertOrder("number = number")},
		{"nothing to pay that is not nothing", "pending", "orders_nothing_check", insertOrderAs("pays", "'nothing'", "number = 2")},
		{"an order born paid", "pending", "order new -> paid is not allowed", insertOrderAs("status", "'paid'", "number = 2")},
		{"INV-14 a pending order with a payment", "authorized", "orders_unpaid_check", `UPDATE orders SET paid_payment_id = (SELECT id FROM payments), paid_at = shop_now()`},
		{"closed without a time", "pending", "orders_closed_check", `UPDATE stock_holds SET state = 'released'; UPDATE stock SET held = 0; UPDATE orders SET status = 'expired'`},
		{"F24 cancelled without a reason", "pending", "orders_reason_check", `UPDATE stock_holds SET state = 'released'; UPDATE stock SET held = 0; UPDATE orders SET status = 'cancelled', closed_at = shop_now()`},
		{"a delivery to nowhere", "pending", "orders_address_check", insertOrder("way = 'delivery'")},
		{"F27 another destination for a paid order", "paid", "order facts are final", `UPDATE orders SET line1 = 'elsewhere'`},
		{"a paid order of another customer", "paid", "order facts are final", `UPDATE orders SET customer_id = customer_id + 0, checkout_key = gen_random_uuid()`},
		{"F11 another choice on an old line", "paid", "order_taxes is append-only", `UPDATE order_taxes SET taxable_paise = 0`},
		{"F11 a choice taken off an old line", "paid", "order_item_options is append-only", `INSERT INTO order_item_options SELECT order_id, line, 1, 1, 'x', 'y', 'addon', 0 FROM order_items; DELETE FROM order_item_options`},
		{"the state's tax that is not the rate's", "paid", "order_taxes_sgst_check", `INSERT INTO order_taxes SELECT id, 'other', 100, 250, 250, 3, 4 FROM orders`},
		{"taxes more than the bill", "paid", "order taxes do not add up", `INSERT INTO order_taxes SELECT id, 'other', 100, 250, 250, 3, 3 FROM orders`},
		{"INV-35 less sold than nothing", "paid", "stock_sold_check", `UPDATE stock SET sold = -1`},
		{"a hold forgotten", "pending", "stock_holds is append-only", `DELETE FROM stock_holds`},
		{"a hold of more", "pending", "hold facts are final", `UPDATE stock_holds SET qty = qty + 1`},
		{"a hold born sold", "pending", "hold new -> committed is not allowed", `INSERT INTO stock (item_id, day, initial) SELECT item_id, day + 1, 1 FROM stock; INSERT INTO stock_holds SELECT o.id, item_id, day, 1, 'committed', shop_now() FROM orders o, stock WHERE initial = 1`},
		{"INV-37 a paid order whose dishes are not sold", "authorized", "paid order without its stock", `UPDATE payments SET gw_status = 'captured', disposition = 'kept', decided_at = shop_now();
			UPDATE orders SET status = 'paid', paid_at = shop_now(), paid_payment_id = (SELECT id FROM payments); INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) SELECT o.id, p.id, o.outlet_id, shop_now() FROM orders o, payments p;
			WITH t AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) SELECT 'capture', 'payment', id FROM payments RETURNING id) INSERT INTO ledger_entries SELECT id, 'gateway_clearing', 21000 FROM t UNION ALL SELECT id, 'sales', -21000 FROM t`},
		{"S4.8 a paid order without a ticket", "pending", "paid order without ticket", insertOrderAs("pays, status, paid_at", "'nothing', 'paid', shop_now()", "subtotal_paise = 0, cgst_paise = 0, sgst_paise = 0, amount_paise = 0")},
		{"INV-30 a captured payment not in the ledger", "authorized", "captured payment not in the ledger", `UPDATE payments SET gw_status = 'captured', disposition = 'refund', reason = 'review', refund_reserved_paise = amount_paise, decided_at = shop_now();
			INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by) SELECT gen_random_uuid(), id, order_id, amount_paise, 'auto', 'review', 'shop' FROM payments`},
		{"two claims with one token", "pending", "gateway_claims_token_key", `INSERT INTO gateway_claims SELECT order_id, generation, attempt + 1, token, receipt, 'released', claimed_at, expires_at, NULL, 0, shop_now() FROM gateway_claims`},
		{"a claim that is over and open", "pending", "gateway_claims_check", `UPDATE gateway_claims SET closed_at = shop_now()`},
		{"a doubtful claim nobody looks at", "pending", "gateway_claims_check1", `UPDATE gateway_claims SET state = 'unknown'`},
		{"a released claim that comes to life", "pending", "claim released -> open is not allowed", `UPDATE gateway_claims SET state = 'released', closed_at = shop_now(); UPDATE gateway_claims SET state = 'open', closed_at = NULL`},
		{"INV-23 a claim forgotten", "pending", "gateway_claims is append-only", `DELETE FROM gateway_claims`},
		{"a gateway order of 99 paise", "pending", "gateway_orders_amount_paise_check", `INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via) SELECT 'order_GUARD00000009', id, 1, 'r', 99, 'INR', 'current', 'create' FROM orders`},
		{"a gateway order forgotten", "authorized", "gateway_orders is append-only", `DELETE FROM gateway_orders`},
		{"S2.25 a superseded gateway order in browsers' hands again", "authorized", "gateway_order superseded -> current is not allowed", `UPDATE gateway_orders SET state = 'superseded'; UPDATE gateway_orders SET state = 'current'`},
		{"a payment without a gateway order", "authorized", "payments_ids_check", `INSERT INTO payments (razorpay_payment_id, order_id, amount_paise, currency, gw_status, first_source) SELECT 'pay_GUARD000000002', id, 100, 'INR', 'created', 'sweep' FROM orders`},
		{"INV-20 a payment under an order that is not its gateway order's", "authorized", "payments_razorpay_order_id_order_id_fkey", copyOrder("number = 2") + `; INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source) SELECT 'pay_GUARD000000002', p.razorpay_order_id, max(o.id), 100, 'INR', 'created', 'sweep' FROM payments p, orders o GROUP BY 2`},
		{"a decision without its time", "authorized", "payments_decided_at_check", fmt.Sprintf(secondPayment, ", disposition", "'captured', 'sweep', 'kept'")},
		{"INV-10 a fee borne by the customer of money that is not kept", "authorized", "payments_customer_fee_check", `UPDATE payments SET customer_fee_paise = 1`},
		{"S1.28 money the gateway returned captured after all", "authorized", "payment voided -> captured is not allowed", `UPDATE payments SET gw_status = 'voided'; UPDATE payments SET gw_status = 'captured', disposition = 'refund', reason = 'review', refund_reserved_paise = amount_paise, decided_at = shop_now()`},
		{"INV-8 another road for a payment", "authorized", "payment facts are final", `UPDATE payments SET first_source = 'recon'`},
		{"INV-1 two payments kept by one order", "paid", "payments_one_kept_key", fmt.Sprintf(secondPayment, ", disposition, decided_at", "'captured', 'sweep', 'kept', shop_now()")},
		{"a ticket of another payment", "paid", "fulfilment facts are final", `UPDATE fulfilments SET payment_id = NULL`},
		{"a ticket torn up", "paid", "fulfilments is append-only", `DELETE FROM fulfilments`},
		{"INV-25 two automatic refunds of one payment", "returned", "refunds_one_auto_key", fmt.Sprintf(secondRefund, "'auto', 'x', 'shop', 'requested', NULL, NULL::uuid")},
		{"two successors of one refund", "returned", "refunds_retry_of_key", fmt.Sprintf(secondRefund, "'auto', 'x', 'shop', 'requested', NULL, id") + `, generate_series(1, 2)`},
		{"INV-26 one gateway refund for two of ours", "returned", "refunds_razorpay_refund_id_key", fmt.Sprintf(secondRefund, "'staff', 'x', 'shop', 'submitted', 'rfnd_GUARD00000001', NULL::uuid") + `, generate_series(1, 2)`},
		{"a refund submitted without Razorpay's id", "returned", "refunds_known_check", `UPDATE refunds SET status = 'submitted'`},
		{"a processed refund asked for again", "returned", "refund processed -> requested is not allowed", `UPDATE refunds SET status = 'processed', razorpay_refund_id = 'rfnd_GUARD00000001'; UPDATE refunds SET status = 'requested'`},
		{"INV-26 another id for a known refund", "returned", "refund facts are final", `UPDATE refunds SET status = 'submitted', razorpay_refund_id = 'rfnd_GUARD00000001'; UPDATE refunds SET razorpay_refund_id = 'rfnd_GUARD00000002'`},
		{"S1.15 another amount for a refund", "refunding", "refund facts are final", `UPDATE refunds SET amount_paise = amount_paise - 1`},
		{"a refund forgotten", "refunding", "refunds is append-only", `DELETE FROM refunds`},
		{"INV-5 the reserve let go while a refund lives", "refunding", "reserved is not what the refunds sum to", `UPDATE payments SET refund_reserved_paise = 0`},
		{"INV-13 a cancelled order whose ticket comes back", "refunding", "fulfilment cancelled -> queued is not allowed", `UPDATE fulfilments SET status = 'queued'`},
		{"C3 a cancelled order paid again", "refunding", "order cancelled -> paid is not allowed", `UPDATE orders SET status = 'paid'`},
		{"two lines of one account", "paid", "ledger_entries_pkey", `INSERT INTO ledger_entries SELECT txn_id, account, -amount_paise FROM ledger_entries`},
		{"an entry of nothing", "paid", "ledger_entries_amount_paise_check", `INSERT INTO ledger_entries SELECT txn_id, 'sales_returns', 0 FROM ledger_entries`},
		{"INV-29 a third line that unbalances", "paid", "ledger transaction unbalanced", `INSERT INTO ledger_entries SELECT DISTINCT txn_id, 'sales_returns', 1 FROM ledger_entries`},
		{"INV-34 a transaction renamed", "paid", "ledger_txns is append-only", `UPDATE ledger_txns SET ref_id = '0'`},
		{"INV-39 a dead event nobody was told of", "paid", "webhook_events_check", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, status) VALUES ('razorpay', 'a', '', 'x', 'dead')`},
		{"C2 processed without a time", "paid", "webhook_events_check1", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, status) VALUES ('razorpay', 'a', '', 'x', 'processed')`},
		{"a letter sent at no time", "paid", "outbox_check", `UPDATE outbox SET status = 'sent'`},
		{"INV-44 an audit line changed", "refunding", "audit is append-only", `UPDATE audit SET actor = 'shop'`},
		{"an answer of the gateway's changed", "paid", "gateway_fetches is append-only", `INSERT INTO gateway_fetches (order_id, razorpay_payment_id, via, answer) SELECT id, 'pay_GUARD000000001', 'verify', 'captured' FROM orders; UPDATE gateway_fetches SET answer = 'failed'`},
		{"a dispute forgotten", "paid", "disputes is append-only", dispute("won") + `; DELETE FROM disputes`},
		{"a decided dispute opened again", "paid", "dispute lost -> open is not allowed", dispute("lost") + `; UPDATE disputes SET status = 'open'`},
		{"a dispute of another order", "paid", "dispute facts are final", dispute("open") + `; UPDATE disputes SET order_id = order_id + 1`},
		{"two browsers with one cookie", "pending", "sessions_token_key", `INSERT INTO sessions (token_hash, customer_id, expires_at) SELECT token_hash, customer_id, expires_at FROM sessions`},
		{"C043 a coupon once more than a person may", "pending", "coupon_uses_share_check", coupon("") + couponUses("'p', 2, 1, false")},
		{"C043 a person's one use of a coupon for two orders", "pending", "coupon_uses_person_key", copyOrder("number = 2") + ";" + coupon("") + couponUses("'p', 1, 1, false")},
		{"C043 two first orders of one person", "pending", "coupon_uses_first_key", copyOrder("number = 2") + ";" + coupon("") + couponUses("'p', row_number() OVER (), 2, true")},
		{"C043 a coupon used once more than it says", "pending", "coupons_taken_check", copyOrder("number = 2") + ";" + coupon("1") + couponUses("'p' || o.id, 1, 1, false")},
		{"one matter twice on the attention list", "paid", "staff_tasks_open_key", `INSERT INTO staff_tasks (kind, ref, detail) VALUES ('x', 'y', ''), ('x', 'y', '')`},
	} {
		err := rows[c.state].InTx(t.Context(), func(tx *Store) error {
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
	for state, s := range rows {
		if broken, err := s.ListBroken(t.Context()); err != nil || len(broken) > 0 {
			t.Errorf("%s: %v %v", state, broken, err)
		}
	}
	// What is written down by itself: every state, with who did it, and every movement of a dish.
	s := rows["refunding"]
	if got := mustRead[string](t, s, `SELECT string_agg(subject || ' ' || COALESCE(was || '>', '') || became || ' ' || actor, ', ' ORDER BY id) FROM status_changes`); got !=
		"order pending shop, payment authorized shop, payment authorized>captured/kept shop, order pending>paid shop, fulfilment queued shop, fulfilment queued>cancelled customer, refund requested customer, order paid>cancelled customer" {
		t.Error(got)
	}
	if got := mustRead[string](t, s, `SELECT string_agg(kind || ' ' || initial || ' ' || held || ' ' || sold, ', ' ORDER BY id) FROM stock_movements`); got != "set 10 0 0, hold 0 2 0, sell 0 -2 2, unsell 0 0 -2" {
		t.Error(got)
	}
}

// S1.29, S1.30, S2.22, S2.32, S4.4, S4.5: of two who move the same row at once, without even taking the order's lock, one does and the
// other changes nothing and is told so.
func TestOfTwoAtOnceOneMoves(t *testing.T) {
	t.Parallel()
	want := func(t *testing.T, errs [2]error) {
		t.Helper()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), ErrBadMove) {
			t.Errorf("got %v and %v", errs[0], errs[1])
		}
	}
	t.Run("the order moves away from pending once", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o := mustPending(t, s)
		mustExec(t, s, `DELETE FROM sessions`)
		want(t, twice(func() error {
			mine := o
			return s.InTx(t.Context(), func(tx *Store) error {
				mine.Status = OrderPending
				return tx.MoveOrder(t.Context(), &mine, OrderCancelled, Move{By: ActorShop, Reason: "too_busy"})
			})
		}))
		if n := mustRead[int](t, s, `SELECT count(*) FROM status_changes WHERE became = 'cancelled'`); n != 1 {
			t.Errorf("cancelled %d times", n)
		}
	})
	t.Run("S2.35 the order becomes paid once, at one time", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o, _ := mustKept(t, s)
		stale := o
		stale.Status = OrderPending // as it was when the second one read it
		err := s.InTx(t.Context(), func(tx *Store) error {
			return tx.MoveOrder(t.Context(), &stale, OrderPaid, Move{By: ActorShop, PaymentID: o.PaidPaymentID})
		})
		if !errors.Is(err, ErrBadMove) {
			t.Errorf("got %v", err)
		}
		if now := mustRead[time.Time](t, s, `SELECT paid_at FROM orders`); !now.Equal(*o.PaidAt) {
			t.Error("paid_at moved")
		}
	})
	t.Run("S1.26 a move that is none is refused in words, before the database has to", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o, _ := mustKept(t, s)
		for _, to := range []string{OrderPending, OrderPaid, OrderExpired, OrderDue, "refunded", ""} {
			mine := o
			if err := s.InTx(t.Context(), func(tx *Store) error { return tx.MoveOrder(t.Context(), &mine, to, Move{By: ActorShop}) }); !errors.Is(err, ErrBadMove) {
				t.Errorf("paid to %q: %v", to, err)
			}
		}
	})
	t.Run("a payment is decided once, and the second decision is refused whatever it would be", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o := mustPending(t, s)
		p := mustAttempt(t, s, o, "pay_GUARD000000001")
		want(t, twice(func() error {
			order, payment := o, p
			return s.InTx(t.Context(), func(tx *Store) error {
				return tx.ReturnPayment(t.Context(), order, &payment, "captured", "order_cancelled", "normal", 0)
			})
		}))
		order, payment := o, p
		if err := s.InTx(t.Context(), func(tx *Store) error { return tx.KeepPayment(t.Context(), &order, &payment, "captured", 0) }); !errors.Is(err, ErrBadMove) {
			t.Errorf("decided again: %v", err)
		}
		if got := mustRead[string](t, s, `SELECT disposition || ' ' || (SELECT count(*) FROM refunds) || ' ' || (SELECT count(*) FROM ledger_txns) FROM payments`); got != "refund 1 1" {
			t.Error(got)
		}
	})
	t.Run("a claim is won by one", func(t *testing.T) {
		t.Parallel()
		s := openStore(t)
		o := mustPending(t, s)
		errs := twice(func() error { _, _, err := s.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID); return err })
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), ErrPreparing) {
			t.Errorf("got %v and %v", errs[0], errs[1])
		}
	})
}

// A refund's sender leases the row, so that two never send at once and one that died or was paused hands over (S1.15, FP-32, FP-45).
func TestRefundLease(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, _ := mustKept(t, s)
	if _, err := s.CancelOrder(t.Context(), o.ID, ActorCustomer, "changed_mind", "normal"); err != nil {
		t.Fatal(err)
	}
	id := mustRead[string](t, s, `SELECT id::text FROM refunds`)
	claim := func(want bool) RefundTask {
		t.Helper()
		task, found, err := s.ClaimRefund(t.Context(), id)
		if found != want || err != nil {
			t.Fatalf("found %v, %v", found, err)
		}
		return task
	}
	paused := claim(true)
	claim(false)
	if due, err := s.ListDueRefunds(t.Context(), 10); len(due) != 0 || err != nil {
		t.Errorf("a leased refund is due: %v %v", due, err)
	}
	setClock(t, s, 59*time.Second)
	claim(false)
	setClock(t, s, 61*time.Second) // the first one was paused too long
	second := claim(true)
	if second.Attempts != 2 {
		t.Errorf("attempt %d", second.Attempts)
	}
	// The first wakes up and gives its lease back: it is not its any more.
	if err := s.PostponeRefund(t.Context(), paused, "paused"); err != nil {
		t.Fatal(err)
	}
	if got := mustRead[string](t, s, `SELECT lease_token::text || last_error FROM refunds`); got != second.LeaseToken {
		t.Errorf("the lease is %s, want %s", got, second.LeaseToken)
	}
	if err := s.PostponeRefund(t.Context(), second, "later"); err != nil {
		t.Fatal(err)
	}
	claim(false) // its turn is in 20 s
	setClock(t, s, 82*time.Second)
	claim(true)
}

// A claim belongs to its token: who lost it can neither close nor doubt what another holds, and a closed one stays closed (S2.40, FP-45).
func TestClaimBelongsToItsToken(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o := mustPending(t, s)
	first, _, err := s.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		t.Helper()
		return mustRead[string](t, s, `SELECT string_agg(attempt || ' ' || state, ', ' ORDER BY attempt) FROM gateway_claims`)
	}
	looks := func(want int) []Claim {
		t.Helper()
		claims, err := s.ClaimDueLooks(t.Context(), 10)
		if len(claims) != want || err != nil {
			t.Fatalf("%d due, %v", len(claims), err)
		}
		return claims
	}
	setClock(t, s, 59*time.Second)
	looks(0) // it still has a holder
	setClock(t, s, 61*time.Second)
	looks(1)
	looks(0) // the next look is later, whoever asks
	if got := state(); got != "1 unknown" {
		t.Fatal(got)
	}
	// The first holder comes back with a refusal: too late to say so, for somebody is finding out.
	if err := s.CloseClaim(t.Context(), first.Token, "rejected"); err != nil || state() != "1 unknown" {
		t.Errorf("%s, %v", state(), err)
	}
	setClock(t, s, 3*time.Minute)
	for _, claim := range looks(1) {
		if err := s.MissClaim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(); got != "1 released" {
		t.Fatal(got)
	}
	second, _, err := s.ClaimGatewayOrder(t.Context(), o.ID, o.CustomerID)
	if err != nil || second.Receipt != first.Receipt || second.Attempt != 2 || second.Token == first.Token { // S2.43
		t.Fatalf("%+v, %v", second, err)
	}
	for _, err := range []error{s.CloseClaim(t.Context(), first.Token, "rejected"), s.DoubtClaim(t.Context(), first.Token), s.MissClaim(t.Context(), first)} {
		if err != nil || state() != "1 released, 2 open" {
			t.Errorf("%s, %v", state(), err)
		}
	}
	// And what it made all the same is attached, and ends the claim of the one who is still at it.
	g := GatewayOrder{RazorpayOrderID: "order_GUARD00000001", OrderID: o.ID, Generation: 1, Receipt: first.Receipt, AmountPaise: o.AmountPaise, Currency: "INR", LearnedVia: "create"}
	current, err := s.AttachGatewayOrder(t.Context(), g, first.Token)
	if err != nil || current != g.RazorpayOrderID || state() != "1 released, 2 attached" {
		t.Errorf("%s, %s, %v", current, state(), err)
	}
	setClock(t, s, 10*time.Minute)
	if err := s.MissClaim(t.Context(), second); err != nil || state() != "1 released, 2 attached" { // a look that found nothing ends after somebody else's that did
		t.Errorf("%s, %v", state(), err)
	}
	twin := g
	twin.RazorpayOrderID = "order_GUARD00000002"
	for range 2 { // S2.25, S2.58: the first to attach wins, and a repeat changes nothing
		current, err = s.AttachGatewayOrder(t.Context(), twin, second.Token)
		if err != nil || current != g.RazorpayOrderID {
			t.Errorf("the browser is given %s, %v", current, err)
		}
	}
	if got := mustRead[string](t, s, `SELECT string_agg(state, ', ' ORDER BY razorpay_order_id) FROM gateway_orders`); got != "current, superseded" {
		t.Error(got)
	}
}

// An order that is not to be paid at Razorpay is never claimed, though it is pending (S2.21).
func TestOnlyRazorpaysOrdersAreClaimed(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	mustPending(t, s)
	mustExec(t, s, strings.Replace(copyOrder("number = 2"), insertOrder("number = 2"), insertOrderAs("pays", "'cash'", "number = 2"), 1))
	var cash Order
	if err := s.one(t.Context(), &cash, `SELECT * FROM orders WHERE pays = 'cash'`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ClaimGatewayOrder(t.Context(), cash.ID, cash.CustomerID); !errors.Is(err, ErrBadMove) {
		t.Errorf("got %v", err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM gateway_claims`); n != 0 {
		t.Errorf("%d claims", n)
	}
}

// S2.18: an order for the same key by somebody who does not take turns, as another version of the program might: insert, then see.
func TestAnOrderPlacedOutOfTurnIsFound(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o := mustPending(t, s)
	key := "11111111-2222-4333-8444-555555555555"
	other, err := s.SQL().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), copyOrder("checkout_key = '"+key+"', number = 99")); err != nil {
		t.Fatal(err)
	}
	again := o
	again.ID, again.PublicID, again.Token, again.CheckoutKey = 0, "tthirdthirdthirdthirdthird000003", "THIRDTHIRDTHIRDTHIRDTHIRD3", key
	again.Items, again.Taxes = slices.Clone(o.Items), slices.Clone(o.Taxes)
	done := make(chan error, 1)
	var fresh bool
	go func() {
		done <- s.InTx(t.Context(), func(tx *Store) (err error) {
			mine := again
			fresh, err = tx.CreateOrder(t.Context(), &mine, 15*time.Minute, 1, 0)
			again = mine
			return err
		})
	}()
	mustWaitForLock(t, s)
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || fresh || again.Number != 99 || len(again.Items) != 1 {
		t.Errorf("fresh %v, order %d with %d lines, %v", fresh, again.Number, len(again.Items), err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM orders`); n != 2 {
		t.Errorf("%d orders", n)
	}
}

// FP-40, C072: after a deadlock the transaction that was ended runs again, and both get through.
func TestTransactionsRunAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	mustExec(t, s, `INSERT INTO settings (name, value) VALUES ('a', ''), ('b', '')`)
	var meet sync.WaitGroup
	meet.Add(2)
	names := make(chan [2]string, 2)
	names <- [2]string{"a", "b"}
	names <- [2]string{"b", "a"}
	runs := make(chan int, 2)
	errs := twice(func() error {
		mine, tries := <-names, 0
		err := s.InTx(t.Context(), func(tx *Store) error {
			tries++
			for i, name := range mine {
				if err := tx.exec(t.Context(), `UPDATE settings SET value = value || ? WHERE name = ?`, mine[0], name).Error; err != nil {
					return err
				}
				if i == 0 && tries == 1 {
					meet.Done()
					meet.Wait()
				}
			}
			return nil
		})
		runs <- tries
		return err
	})
	if errs[0] != nil || errs[1] != nil {
		t.Errorf("%v, %v", errs[0], errs[1])
	}
	if n := <-runs + <-runs; n != 3 {
		t.Errorf("%d runs, want one of them twice", n)
	}
	if got := mustRead[string](t, s, `SELECT string_agg(length(value)::text, ' ') FROM settings`); got != "2 2" {
		t.Errorf("written %s", got)
	}
}

// INV-5, S1.15: the reserve only grows by what is left of kept money, and a request made again is the same.
func TestReserveAndRequestOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, p := mustKept(t, s)
	in := func(fn func(tx *Store) error) error { return s.InTx(t.Context(), fn) }
	if err := in(func(tx *Store) error { return tx.reserve(t.Context(), p.ID, p.AmountPaise+1) }); !errors.Is(err, ErrBadMove) {
		t.Errorf("more than the payment: %v", err)
	}
	for range 2 {
		if err := in(func(tx *Store) error {
			stale := Payment{ID: p.ID, RazorpayPaymentID: p.RazorpayPaymentID}
			_, err := tx.requestShare(t.Context(), o, stale, Bill{Parts: Parts{SubtotalPaise: 8000}, Taxes: []QuoteTax{{TaxClass: "restaurant", TaxablePaise: 8000}}}, Refund{Kind: "staff", Reason: "cold", RequestedBy: StaffActor(1), Speed: "normal"})
			return err
		}); err != nil && !strings.Contains(err.Error(), "reserved is not what the refunds sum to") {
			t.Fatal(err)
		}
	}
	if got := mustRead[string](t, s, `SELECT refund_reserved_paise || ' ' || (SELECT count(*) FROM refunds) || ' ' || (SELECT count(*) FROM river_job WHERE kind = 'send_refund') FROM payments`); got != "8000 1 1" {
		t.Errorf("reserved, requests, jobs: %s", got)
	}
	if err := in(func(tx *Store) error { return tx.reserve(t.Context(), p.ID, p.AmountPaise-7999) }); !errors.Is(err, ErrBadMove) {
		t.Errorf("more than is left: %v", err)
	}
	other := openStore(t)
	returned := mustAttempt(t, other, mustPending(t, other), "pay_GUARD000000001")
	if err := other.InTx(t.Context(), func(tx *Store) error { return tx.reserve(t.Context(), returned.ID, 1) }); !errors.Is(err, ErrBadMove) {
		t.Errorf("of money that is not kept: %v", err)
	}
}

// A gateway order that is not what we asked for is never stored, so nobody is sent to pay it (S2.33, INV-20).
func TestAttachRefusesAnotherBill(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o := mustPending(t, s)
	good := GatewayOrder{RazorpayOrderID: "order_GUARD00000001", OrderID: o.ID, Generation: 1, Receipt: o.PublicID + "-g1", AmountPaise: o.AmountPaise, Currency: "INR", LearnedVia: "lookup"}
	for name, change := range map[string]func(g *GatewayOrder){
		"one paisa more":       func(g *GatewayOrder) { g.AmountPaise++ },
		"one paisa less":       func(g *GatewayOrder) { g.AmountPaise-- },
		"dollars":              func(g *GatewayOrder) { g.Currency = "USD" },
		"another receipt":      func(g *GatewayOrder) { g.Receipt = "t00000000000000000000000000000000-g1" },
		"another's generation": func(g *GatewayOrder) { g.Generation = 2 },
	} {
		g := good
		change(&g)
		if current, err := s.AttachGatewayOrder(t.Context(), g, ""); !errors.Is(err, ErrAmountMismatch) || current != "" {
			t.Errorf("%s: %q, %v", name, current, err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM gateway_orders`); n != 0 {
		t.Errorf("%d stored", n)
	}
	if current, err := s.AttachGatewayOrder(t.Context(), good, ""); err != nil || current != good.RazorpayOrderID {
		t.Errorf("%q, %v", current, err)
	}
}

// What was closed, sent or decided stays so whoever comes late with an older story (S1.41): each of these is a no-op.
func TestLateWritersChangeNothing(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, p := mustKept(t, s)
	mustExec(t, s, `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, status, processed_at, order_ref) VALUES ('razorpay', 'done', '', 'x', 'processed', shop_now(), 1)`)
	mustExec(t, s, `UPDATE outbox SET status = 'sent', sent_at = shop_now()`)
	mustExec(t, s, `INSERT INTO payment_hints (razorpay_payment_id, order_id, done_at) VALUES (?, ?, '2026-01-01')`, p.RazorpayPaymentID, o.ID)
	all := func() string {
		return mustRead[string](t, s, `SELECT concat_ws(' ', (SELECT string_agg(e::text, '') FROM webhook_events e), (SELECT string_agg(l::text, '') FROM outbox l), (SELECT string_agg(h::text, '') FROM payment_hints h),
			(SELECT string_agg(o::text, '') FROM orders o), (SELECT count(*) FROM staff_tasks))`)
	}
	before := all()
	for name, write := range map[string]func(tx *Store) error{
		"closing an event again":          func(tx *Store) error { return tx.CloseEvent(t.Context(), 1, "ignored", nil, "late") },
		"failing an event that is closed": func(tx *Store) error { return tx.FailEvent(t.Context(), 1, "late") },
		"marking a letter sent again":     func(tx *Store) error { return tx.MarkLetterSent(t.Context(), 1) },
		"failing a letter that was sent":  func(tx *Store) error { return tx.FailLetter(t.Context(), 1, "late", true) },
		"the confirmation again":          func(tx *Store) error { return tx.EnsureLetter(t.Context(), LetterConfirmation, o.PublicID, o) },
		"the ticket again":                func(tx *Store) error { return tx.EnsureFulfilment(t.Context(), o, &p.ID) },
		"the capture's entry again": func(tx *Store) error {
			return tx.post(t.Context(), "capture", "payment", fmt.Sprint(p.ID), entries{accountClearing: p.AmountPaise, accountSales: -p.AmountPaise})
		},
		"a hint again":                    func(tx *Store) error { return tx.Hint(t.Context(), *p.RazorpayPaymentID, o.ID) },
		"closing a hint again":            func(tx *Store) error { return tx.CloseHint(t.Context(), *p.RazorpayPaymentID) },
		"contact details of a paid order": func(tx *Store) error { late := o; late.Name = "Somebody"; return tx.UpdateContact(t.Context(), late) },
		"a lapse of a paid order":         func(tx *Store) error { return tx.LapseOrder(t.Context(), o.ID) },
		"selling the dishes again": func(tx *Store) error {
			kept, err := tx.CommitHolds(t.Context(), o.ID)
			if !kept {
				return errors.New("not sold")
			}
			return err
		},
	} {
		if err := s.InTx(t.Context(), write); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := all(); after != before {
			t.Errorf("%s changed a row:\n%s\n%s", name, before, after)
		}
	}
	if broken, err := s.ListBroken(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("%v %v", broken, err)
	}
}

// S1.28, S2.45: what the gateway says of one payment only ever counts upwards, and what it returned uncaptured is over; no later word moves it.
func TestAttemptsOnlyRise(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	p := mustAttempt(t, s, mustPending(t, s), "pay_GUARD000000001") // authorized
	for _, step := range []struct {
		says   string
		moved  bool
		stored string
	}{
		{"created", false, "authorized"}, {"failed", false, "authorized"}, {"authorized", false, "authorized"}, {"captured", true, "authorized"}, // to be decided: not stored without
		{"refunded", true, "authorized"}, {"voided", true, "voided"}, {"voided", false, "voided"}, {"captured", false, "voided"}, {"failed", false, "voided"},
	} {
		seen := p
		seen.GWStatus = step.says
		if err := s.InTx(t.Context(), func(tx *Store) error {
			moved, err := tx.AdvancePayment(t.Context(), &seen)
			if moved != step.moved || seen.GWStatus != step.stored {
				t.Errorf("%s: moved %v, is %s; want %v, %s", step.says, moved, seen.GWStatus, step.moved, step.stored)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", step.says, err)
		}
		if got := mustRead[string](t, s, `SELECT gw_status FROM payments`); got != step.stored {
			t.Errorf("after %s it is %s, want %s", step.says, got, step.stored)
		}
	}
}

// The last portion: holds are taken, sold, released and taken again only while there is enough (S4.10, INV-35, INV-36, S3.18).
func TestHoldsNeverPromiseTwice(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o := mustPending(t, s) // holds 2 of 10
	in := func(fn func(tx *Store) error) {
		t.Helper()
		if err := s.InTx(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	stock := func() string {
		t.Helper()
		return mustRead[string](t, s, `SELECT concat_ws(' ', initial, held, sold, (SELECT string_agg(state, ',') FROM stock_holds), (SELECT string_agg(kind, ',' ORDER BY id) FROM stock_movements)) FROM stock`)
	}
	for range 2 { // releasing twice gives back once
		in(func(tx *Store) error { return tx.ReleaseHolds(t.Context(), o.ID) })
	}
	if got := stock(); got != "10 0 0 released set,hold,release" {
		t.Fatal(got)
	}
	mustExec(t, s, `UPDATE stock SET initial = 1`) // somebody else had the rest
	in(func(tx *Store) error {
		kept, err := tx.CommitHolds(t.Context(), o.ID)
		if kept {
			t.Error("two sold of one that is left")
		}
		return err
	})
	mustExec(t, s, `UPDATE stock SET initial = 2`)
	p := mustAttempt(t, s, o, "pay_GUARD000000001")
	in(func(tx *Store) error {
		kept, err := tx.CommitHolds(t.Context(), o.ID)
		if err != nil || !kept {
			t.Errorf("%v %v", kept, err)
		}
		return tx.KeepPayment(t.Context(), &o, &p, "captured", 0)
	})
	if got := stock(); got != "2 0 2 committed set,hold,release,set,set,sell" {
		t.Error(got)
	}
	if broken, err := s.ListBroken(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("%v %v", broken, err)
	}
}

// Every promise of broken_invariants and unsettled_money is broken once, past all guards, and named. A view that sees nothing proves nothing.
func TestEveryBrokenPromiseIsSeen(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	o, p := mustKept(t, s)
	mustExec(t, s, `UPDATE outbox SET status = 'sent', sent_at = shop_now()`)
	for _, view := range []string{"broken_invariants", "unsettled_money"} {
		if n := mustRead[int](t, s, `SELECT count(*) FROM `+view); n != 0 {
			t.Fatalf("%d in %s before anything happened", n, view)
		}
	}
	const refund = `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by, status, failed_at, razorpay_refund_id) SELECT gen_random_uuid(), id, order_id, amount_paise, `
	undone := errors.New("undone")
	for _, c := range []struct{ inv, sql string }{
		{"INV-1", `INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source, disposition, decided_at) SELECT 'pay_GUARD000000002', razorpay_order_id, order_id, amount_paise, currency, 'captured', 'sweep', 'kept', shop_now() FROM payments`},
		{"INV-2", `UPDATE payments SET amount_paise = amount_paise - 1`},
		{"INV-3", `UPDATE payments SET gw_status = 'authorized'`},
		{"INV-4", `UPDATE payments SET disposition = 'refund'`},
		{"INV-5", `UPDATE payments SET refund_reserved_paise = 100`},
		{"INV-9", `UPDATE gateway_orders SET amount_paise = amount_paise + 1`},
		{"INV-10", `UPDATE payments SET disposition = NULL`},
		{"INV-11", `UPDATE fulfilments SET status = 'cancelled'`},
		{"INV-11", `UPDATE orders SET paid_payment_id = NULL`},
		{"INV-12", `UPDATE fulfilments SET payment_id = NULL`},
		{"INV-13", `UPDATE orders SET status = 'cancelled'`},
		{"INV-14", `UPDATE orders SET status = 'pending'`},
		{"INV-15", `INSERT INTO status_changes (subject, subject_id, order_id, was, became, actor) SELECT 'order', id, id, 'paid', 'pending', 'shop' FROM orders`},
		{"INV-16", `UPDATE order_items SET line_total_paise = line_total_paise - 1`},
		{"INV-16", `UPDATE order_taxes SET cgst_paise = cgst_paise - 1`},
		{"INV-16", `UPDATE orders SET tip_paise = 1`},
		{"INV-17", insertOrder("checkout_key = checkout_key")},
		{"INV-18", `UPDATE orders SET status = 'pending', hold_expires_at = shop_now() - interval '14 minutes'`},
		{"INV-20", `UPDATE gateway_orders SET receipt = 'another'`},
		{"INV-21", `INSERT INTO gateway_orders SELECT 'order_GUARD00000002', order_id, 2, receipt, amount_paise, currency, 'current', NULL, learned_via, created_at FROM gateway_orders`},
		{"INV-21", `INSERT INTO gateway_orders SELECT 'order_GUARD00000002', order_id, 1, receipt, amount_paise, currency, 'superseded', shop_now(), learned_via, created_at FROM gateway_orders; UPDATE gateway_orders SET handed_out_at = shop_now()`},
		{"INV-22", `INSERT INTO gateway_claims (order_id, generation, attempt, token, receipt, expires_at) SELECT id, 1, n, gen_random_uuid(), 'r', shop_now() FROM orders, generate_series(1, 2) n`},
		{"INV-25", refund + `'auto', 'x', 'shop', 'requested', NULL, NULL FROM payments, generate_series(1, 2)`},
		{"INV-26", refund + `'staff', 'x', 'shop', 'processed', NULL, NULL FROM payments`},
		{"INV-27", `UPDATE orders SET resolve_by = shop_now() - interval '6 minutes', next_action = 'send_refund'`},
		{"INV-28", refund + `'staff', 'x', 'shop', 'failed', shop_now() - interval '6 minutes', NULL FROM payments`},
		{"INV-29", `UPDATE ledger_entries SET amount_paise = amount_paise + 1 WHERE account = 'sales'`},
		{"INV-30", `DELETE FROM ledger_entries; DELETE FROM ledger_txns`},
		{"INV-30", refund + `'staff', 'x', 'shop', 'processed', NULL, 'rfnd_GUARD00000001' FROM payments`},
		{"INV-31", `UPDATE ledger_entries SET amount_paise = amount_paise + 1 WHERE account = 'gateway_clearing'`},
		{"INV-32", refund + `'staff', 'x', 'shop', 'requested', NULL, NULL FROM payments`},
		{"INV-33", `UPDATE ledger_entries SET amount_paise = amount_paise - 1 WHERE account = 'sales'`},
		{"INV-33", `UPDATE ledger_entries SET amount_paise = amount_paise + CASE account WHEN 'output_cgst' THEN 1 WHEN 'output_sgst' THEN -1 ELSE 0 END`},
		{"INV-35", `UPDATE stock SET sold = 11`},
		{"INV-36", `UPDATE stock SET sold = sold + 1`},
		{"INV-36", `UPDATE stock_movements SET sold = 0`},
		{"INV-37", `UPDATE stock_holds SET state = 'released'`},
		{"INV-38", `UPDATE stock_holds SET state = 'held', expires_at = shop_now() - interval '9 minutes'`},
		{"INV-39", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, status) VALUES ('razorpay', 'a', '', 'x', 'dead')`},
		{"INV-41", `INSERT INTO outbox (kind, ref, order_id) SELECT kind, ref, order_id FROM outbox`},
		{"INV-42", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, received_at) VALUES ('razorpay', 'a', '', 'x', shop_now() - interval '93 days')`},
		{"INV-43", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, body, received_at) VALUES ('razorpay', 'a', '', 'x', '{}', shop_now() - interval '10 days')`},
		{"INV-4", refund + `'staff', 'x', 'shop', 'requested', NULL, NULL FROM payments -- unsettled_money`},
		{"INV-22", `INSERT INTO gateway_claims (order_id, generation, attempt, token, receipt, expires_at) SELECT id, 1, 1, gen_random_uuid(), 'r', shop_now() FROM orders -- unsettled_money`},
		{"INV-39", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type) VALUES ('razorpay', 'a', '', 'x') -- unsettled_money`},
		{"INV-40", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, razorpay_payment_id, status, processed_at) VALUES ('razorpay', 'a', '', 'payment.captured', 'pay_GUARD000000009', 'processed', shop_now()) -- unsettled_money`},
		{"INV-41", `UPDATE outbox SET status = 'queued', sent_at = NULL -- unsettled_money`},
		{"INV-41", `DELETE FROM outbox -- unsettled_money`},
	} {
		err := s.InTx(t.Context(), func(tx *Store) error {
			for _, prepare := range []string{`SET LOCAL session_replication_role = replica`, // no triggers, no foreign keys
				`DROP INDEX payments_one_kept_key, gateway_orders_current_key, gateway_claims_live_key, refunds_one_auto_key`,
				`ALTER TABLE outbox DROP CONSTRAINT outbox_letter_key`, `ALTER TABLE stock DROP CONSTRAINT stock_left_check`, `ALTER TABLE refunds DROP CONSTRAINT refunds_known_check`,
				`ALTER TABLE orders DROP CONSTRAINT orders_checkout_key_key, DROP CONSTRAINT orders_total_check, DROP CONSTRAINT orders_paid_check, DROP CONSTRAINT orders_paid_at_check,
					DROP CONSTRAINT orders_unpaid_check, DROP CONSTRAINT orders_closed_check, DROP CONSTRAINT orders_reason_check`,
				`ALTER TABLE order_items DROP CONSTRAINT order_items_total_check`, `ALTER TABLE order_taxes DROP CONSTRAINT order_taxes_cgst_check`, `ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_check`,
				`ALTER TABLE payments DROP CONSTRAINT payments_decided_check, DROP CONSTRAINT payments_decided_at_check, DROP CONSTRAINT payments_refund_check`} {
				if err := tx.exec(t.Context(), prepare).Error; err != nil {
					return fmt.Errorf("%s: %w", prepare, err)
				}
			}
			for _, statement := range strings.Split(c.sql, ";") {
				if r := tx.exec(t.Context(), statement); r.Error != nil || r.RowsAffected == 0 {
					return fmt.Errorf("%s: %d rows, %w", statement, r.RowsAffected, r.Error)
				}
			}
			view := "broken_invariants"
			if strings.Contains(c.sql, "unsettled_money") {
				view = "unsettled_money"
			}
			var seen []string
			if err := tx.read(t.Context(), &seen, `SELECT inv FROM `+view); err != nil {
				return err
			}
			if !slices.Contains(seen, c.inv) {
				t.Errorf("%s: %s names %v after %s", c.inv, view, seen, c.sql)
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Errorf("%s: %v", c.inv, err)
		}
	}
	if now, err := s.FindOrder(t.Context(), o.ID); err != nil || now.Status != OrderPaid || *now.PaidPaymentID != p.ID {
		t.Errorf("not undone: %+v %v", now, err)
	}
}

// Whoever looks at an order is told of everything that changes what its page says, whoever writes it: also of a refund that is refused and
// of a payment that a browser names, which no function tells of by itself.
func TestTheDatabaseTellsWhoLooks(t *testing.T) {
	t.Parallel()
	s, ctx := openStore(t), t.Context()
	o, p := mustKept(t, s)
	if _, err := s.CancelOrder(ctx, o.ID, ActorCustomer, "changed_mind", "normal"); err != nil {
		t.Fatal(err)
	}
	refundID := mustRead[string](t, s, `SELECT id::text FROM refunds`)
	for _, c := range []struct {
		name  string
		write func() error
	}{
		{"a refund that is refused", func() error {
			return s.InTx(ctx, func(tx *Store) error { return tx.RefuseRefund(ctx, o, refundID, "too old", false) })
		}},
		{"a payment a browser names", func() error { return s.Hint(ctx, "pay_GUARD000000009", o.ID) }},
		{"what has become of it", func() error { return s.CloseHint(ctx, "pay_GUARD000000009") }},
		{"a hand that writes by itself", func() error {
			return s.exec(ctx, `UPDATE payments SET gw_status = 'refunded' WHERE id = ?`, p.ID).Error
		}},
	} {
		told := mustListen(t, s)
		if err := c.write(); err != nil {
			t.Fatal(err)
		}
		if got := told(); got != OrderTopic(o.ID) {
			t.Errorf("%s: told %q", c.name, got)
		}
	}
}
