package models

import (
	"strings"
	"testing"
	"time"
)

// mustKept makes a complete paid order by the store's own functions, for raw SQL to attack. It returns the order and its payment.
func mustKept(t testing.TB, s *Store) (Order, Payment) {
	t.Helper()
	o := mustPending(t, s)
	p := mustAttempt(t, s, o, "pay_GUARD000000001")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.InTx(t.Context(), func(tx *Store) error {
		locked, err := tx.LockOrder(t.Context(), o.ID)
		if err != nil {
			return err
		}
		if _, err := tx.CommitHolds(t.Context(), o.ID); err != nil {
			return err
		}
		if err := tx.KeepPayment(t.Context(), &locked, &p, "captured", 0); err != nil {
			return err
		}
		o = locked
		return nil
	}))
	return o, p
}

// mustPending places one order of two limited dishes at ₹100.00 for pickup, without packing or round-off: 20000 + 500 + 500.
func mustPending(t testing.TB, s *Store) Order {
	t.Helper()
	outletID := mustOutlet(t, s, "guard-house")
	itemID := mustItem(t, s, outletID, "thali", 10000)
	mustExec(t, s, `UPDATE items SET daily_limit = 10 WHERE id = ?`, itemID)
	token, sess, err := s.CreateGuestSession(t.Context())
	if err != nil || token == "" {
		t.Fatal(err)
	}
	cart, err := s.EnsureCart(t.Context(), sess, outletID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddToCart(t.Context(), cart.ID, itemID, nil, 2, ""); err != nil {
		t.Fatal(err)
	}
	key, err := s.EnsureCheckoutKey(t.Context(), sess.ID)
	if err != nil {
		t.Fatal(err)
	}
	outlet, err := s.FindOutlet(t.Context(), outletID)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := Order{PublicID: "tguardguardguardguard00000000001", Token: "GUARDGUARDGUARDGUARDGUARD1", ServiceOn: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), OutletID: outletID,
		CartID: cart.ID, CustomerID: *sess.CustomerID, CheckoutKey: key, CheckoutHash: make([]byte, 32), Mode: "test", Way: "pickup", TaxMode: "regular",
		SubtotalPaise: 20000, CGSTPaise: 500, SGSTPaise: 500, AmountPaise: 21000, Name: "Asha", Phone: "+919845012345", Email: "asha@example.in", OutletName: outlet.Name,
		PrepMinutes: 20, DeliveryMinutes: 0,
		Items: []OrderItem{{ItemID: itemID, Name: "Thali", Mark: "veg", Art: "dish", Tint: "curry", TaxClass: "restaurant", UnitPricePaise: 10000, Qty: 2, LineTotalPaise: 20000}},
		Taxes: []OrderTax{{TaxClass: "restaurant", TaxablePaise: 20000, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 500, SGSTPaise: 500}}}
	err = s.InTx(t.Context(), func(tx *Store) error {
		slot, err := tx.EnsureSlot(t.Context(), outlet, Window{ServiceOn: o.ServiceOn, OpensAt: now.Add(-time.Hour), LastOrderAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour)})
		if err != nil {
			return err
		}
		o.SlotID = slot.ID
		version := mustRead[int64](t, tx, `SELECT version FROM carts WHERE id = ?`, cart.ID)
		_, err = tx.CreateOrder(t.Context(), &o, 15*time.Minute, sess.ID, version)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// mustAttempt records an authorised payment on a gateway order of o.
func mustAttempt(t testing.TB, s *Store, o Order, razorpayPaymentID string) Payment {
	t.Helper()
	razorpayOrderID := "order_GUARD00000001"
	if _, err := s.AttachGatewayOrder(t.Context(), GatewayOrder{RazorpayOrderID: razorpayOrderID, OrderID: o.ID, Generation: 1, Receipt: o.PublicID + "-g1",
		AmountPaise: o.AmountPaise, Currency: "INR", LearnedVia: "create"}, ""); err != nil {
		t.Fatal(err)
	}
	p := Payment{RazorpayPaymentID: &razorpayPaymentID, RazorpayOrderID: &razorpayOrderID, OrderID: o.ID, AmountPaise: o.AmountPaise, Currency: "INR", GWStatus: "authorized", FirstSource: "verify"}
	if err := s.InTx(t.Context(), func(tx *Store) error {
		if _, err := tx.LockOrder(t.Context(), o.ID); err != nil {
			return err
		}
		_, err := tx.AdvancePayment(t.Context(), &p)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// S2.13, S2.14, S2.50, S1.13, S1.14, S1.16, INV-8, INV-16, INV-34: the database itself refuses every one of these, whoever writes them.
// Each statement is run alone, as a person with psql would, and must meet the guard that is named.
func TestTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, paid, guard, sql string }{
		// The bill.
		{"orders_total_check on update", "paid", "order facts are final", `UPDATE orders SET amount_paise = amount_paise + 1`},
		{"a bill whose parts change with its sum", "paid", "order facts are final", `UPDATE orders SET amount_paise = amount_paise + 100, tip_paise = tip_paise + 100`},
		{"orders_total_check on insert", "pending", "orders_total_check", insertOrder("amount_paise = 20999")},
		{"orders_round_off_check", "pending", "orders_round_off_check", insertOrder("round_off_paise = 51, amount_paise = 21051")},
		{"a negative fee", "pending", "orders_delivery_paise_check", insertOrder("delivery_paise = -50, amount_paise = 20950")},
		{"a discount above the items", "pending", "orders_check", insertOrder("discount_paise = 20001, amount_paise = 999")},
		{"tax where none may be charged", "pending", "orders_untaxed_check", insertOrder("tax_mode = 'composition'")},
		{"an order below one rupee at the gateway", "pending", "orders_minimum_check", insertOrder("subtotal_paise = 0, cgst_paise = 0, sgst_paise = 0, tip_paise = 50, amount_paise = 50")},
		{"an order without its lines", "pending", "order taxes do not add up", insertOrder("number = 2")},
		{"S2.17 a second order for one checkout key", "pending", "orders_checkout_key_key", insertOrder("checkout_key = (SELECT checkout_key FROM orders WHERE id = 1), cart_id = 99")},
		{"a second pending order for one cart", "pending", "orders_one_pending_key", insertOrder("id = 99")},
		{"a line that is not price times quantity", "paid", "order_items_total_check", `INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise) SELECT id, 9, 1, 'x', 'veg', 'restaurant', 100, 0, 2, 100 FROM orders`},
		{"F1 a quantity of 21", "paid", "order_items_qty_check", `INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise) SELECT id, 9, 1, 'x', 'veg', 'restaurant', 100, 0, 21, 2100 FROM orders`},
		{"a line more than the bill", "paid", "order lines do not add up", `INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise) SELECT id, 9, 1, 'x', 'veg', 'restaurant', 100, 0, 1, 100 FROM orders`},
		{"a tax that is not the rate's", "paid", "order_taxes_cgst_check", `INSERT INTO order_taxes SELECT id, 'other', 100, 250, 250, 4, 3 FROM orders`},
		{"F11 another price on an old line", "paid", "order_items is append-only", `UPDATE order_items SET unit_price_paise = 1`},
		{"deleting a line", "paid", "order_items is append-only", `DELETE FROM order_items`},
		{"deleting an order", "pending", "orders is append-only", `DELETE FROM orders`},
		// States.
		{"S1.26 paid back to pending", "paid", "order paid -> pending is not allowed", `UPDATE orders SET status = 'pending'`},
		{"paid to expired", "paid", "order paid -> expired is not allowed", `UPDATE orders SET status = 'expired'`},
		{"S2.35 paid at another time", "paid", "order facts are final", `UPDATE orders SET paid_at = paid_at + interval '1 second'`},
		{"paid without a payment", "pending", "orders_paid_at_check", `UPDATE orders SET status = 'paid', paid_at = shop_now()`},
		{"paid by a payment that was not kept", "authorized", "orders_paid_payment_fkey", `UPDATE orders SET status = 'paid', paid_at = shop_now(), paid_payment_id = (SELECT id FROM payments)`},
		{"INV-13 cancelled with the money kept", "paid", "order cancelled but its money kept", `UPDATE orders SET status = 'cancelled', cancel_reason = 'x', cancelled_by = 'shop', closed_at = shop_now()`},
		{"expired while holding dishes", "pending", "closed order holds stock", `UPDATE orders SET status = 'expired', closed_at = shop_now()`},
		{"pending without a next check", "pending", "orders_pending_check", `UPDATE orders SET next_check_at = NULL`},
		{"a ticket that skips a step", "paid", "fulfilment queued -> ready is not allowed", `UPDATE fulfilments SET status = 'ready'`},
		{"a ticket cancelled alone", "paid", "ticket and order disagree on cancelled", `UPDATE fulfilments SET status = 'cancelled'`},
		{"S1.13 a second ticket", "paid", "fulfilments_order_key", `INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) SELECT order_id, payment_id, outlet_id, promised_at FROM fulfilments`},
		{"a ticket of an unpaid order", "authorized", "fulfilments_payment_id_order_id_kept_fkey", `INSERT INTO fulfilments (order_id, payment_id, outlet_id, promised_at) SELECT o.id, p.id, o.outlet_id, shop_now() FROM orders o, payments p`},
		// Payments.
		{"S2.45 captured back to authorised", "paid", "payment captured -> authorized is not allowed", `UPDATE payments SET gw_status = 'authorized'`},
		{"captured without a decision", "authorized", "payments_decided_check", `UPDATE payments SET gw_status = 'captured'`},
		{"kept without order and ticket", "authorized", "kept payment without paid order and ticket", `UPDATE payments SET gw_status = 'captured', disposition = 'kept', decided_at = shop_now()`},
		{"returned without a refund", "authorized", "reserved is not what the refunds sum to", `UPDATE payments SET gw_status = 'captured', disposition = 'refund', reason = 'already_paid', refund_reserved_paise = amount_paise, decided_at = shop_now()`},
		{"returned without a reason", "authorized", "payments_refund_check", `UPDATE payments SET gw_status = 'captured', disposition = 'refund', refund_reserved_paise = amount_paise, decided_at = shop_now()`},
		{"a decision changed", "paid", "payment facts are final", `UPDATE payments SET disposition = 'refund', reason = 'already_paid', refund_reserved_paise = amount_paise`},
		{"another amount", "paid", "payment facts are final", `UPDATE payments SET amount_paise = amount_paise + 1`},
		{"reserved beyond the payment", "paid", "payments_reserved_check", `UPDATE payments SET refund_reserved_paise = amount_paise + 1`},
		{"reserved without a refund", "paid", "reserved is not what the refunds sum to", `UPDATE payments SET refund_reserved_paise = 100`},
		{"S2.34 a second row for one payment id", "paid", "payments_razorpay_payment_id_key", `INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source) SELECT razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, 'created', 'sweep' FROM payments`},
		{"INV-1 a second kept payment", "paid", "payments_one_kept_key", `INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source, disposition, decided_at) SELECT 'pay_GUARD000000002', razorpay_order_id, order_id, amount_paise, currency, 'captured', 'sweep', 'kept', shop_now() FROM payments`},
		{"deleting a payment", "paid", "payments is append-only", `DELETE FROM payments`},
		// Gateway orders and claims.
		{"INV-21 a second current gateway order", "paid", "gateway_orders_current_key", `INSERT INTO gateway_orders (razorpay_order_id, order_id, generation, receipt, amount_paise, currency, state, learned_via) SELECT 'order_GUARD00000002', order_id, 1, receipt, amount_paise, currency, 'current', 'create' FROM gateway_orders`},
		{"another amount on a gateway order", "paid", "gateway_order facts are final", `UPDATE gateway_orders SET amount_paise = 100`},
		{"INV-22 a second live claim", "pending", "gateway_claims_live_key", `INSERT INTO gateway_claims (order_id, generation, attempt, token, receipt, expires_at) SELECT id, 1, n, gen_random_uuid(), 'r', shop_now() FROM orders, generate_series(1, 2) n`},
		{"S2.43 a receipt of 41 characters", "pending", "gateway_claims_receipt_check", `INSERT INTO gateway_claims (order_id, generation, attempt, token, receipt, expires_at) SELECT id, 1, 1, gen_random_uuid(), repeat('r', 41), shop_now() FROM orders`},
		// Refunds.
		{"a refund nobody reserved for", "paid", "reserved is not what the refunds sum to", `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by) SELECT gen_random_uuid(), id, order_id, 100, 'staff', 'x', 'staff:1' FROM payments`},
		{"a refund of nothing", "paid", "refunds_amount_paise_check", `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by) SELECT gen_random_uuid(), id, order_id, 0, 'staff', 'x', 'staff:1' FROM payments`},
		{"INV-26 processed without Razorpay's id", "paid", "refunds_known_check", `INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by, status) SELECT gen_random_uuid(), id, order_id, 100, 'staff', 'x', 'staff:1', 'processed' FROM payments`},
		{"a refund of the order's money that is no share of its bill", "paid", "refund without its share of the bill", refund100 + ` SELECT count(*) FROM f`},
		{"a share that gives back a tip nobody gave", "paid", "refunds give back more than the bill", refund100 + share100 + `0, 0, 0, 0, 100, 0, 100 FROM f`},
		{"a share that is not the refund's amount", "paid", "refund_shares_refund_fkey", refund100 + share100 + `100, 0, 0, 0, 0, -1, 99 FROM f`},
		{"a share that does not add up", "paid", "refund_shares_total_check", refund100 + share100 + `99, 0, 0, 0, 0, 0, 100 FROM f`},
		{"a share whose tax is of no class", "paid", "do not add up", refund100 + share100 + `98, 0, 1, 1, 0, 0, 100 FROM f`},
		{"money that goes back twice over", "paid", "payments_reserved_check", `UPDATE payments SET refund_reserved_paise = 2 * amount_paise`},
		{"an order without a telephone number", "pending", "orders_phone_check", insertOrder("phone = ''")},
		// The ledger.
		{"S1.14 a second capture of one payment", "paid", "ledger_txns_ref_key", `INSERT INTO ledger_txns (kind, ref_type, ref_id) SELECT kind, ref_type, ref_id FROM ledger_txns`},
		{"INV-29 a transaction without lines", "paid", "ledger transaction unbalanced", `INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', '999')`},
		{"INV-29 one that does not balance", "paid", "ledger transaction unbalanced", `WITH t AS (INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', '999') RETURNING id) INSERT INTO ledger_entries SELECT id, 'sales', 100 FROM t UNION ALL SELECT id, 'gateway_clearing', -99 FROM t`},
		{"INV-34 a changed entry", "paid", "ledger_entries is append-only", `UPDATE ledger_entries SET amount_paise = amount_paise + 1`},
		{"INV-34 a deleted entry", "paid", "ledger_entries is append-only", `DELETE FROM ledger_entries`},
		// Stock.
		{"INV-35 more sold than there is", "paid", "stock_left_check", `UPDATE stock SET sold = 11`},
		{"INV-35 less held than nothing", "paid", "stock_held_check", `UPDATE stock SET held = -1`},
		{"a hold of a paid order let go", "paid", "hold committed -> held is not allowed", `UPDATE stock_holds SET state = 'held'`},
		{"a movement changed", "paid", "stock_movements is append-only", `UPDATE stock_movements SET sold = 0`},
		// What is written down stays.
		{"history", "paid", "status_changes is append-only", `DELETE FROM status_changes`},
		{"S1.8 one event id twice", "paid", "webhook_events_event_key", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type) VALUES ('razorpay', 'a', '', 'x'), ('razorpay', 'a', '', 'x')`},
		{"one letter twice", "paid", "outbox_letter_key", `INSERT INTO outbox (kind, ref, order_id) SELECT kind, ref, order_id FROM outbox`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			switch c.paid {
			case "paid":
				mustKept(t, s)
			case "authorized":
				mustAttempt(t, s, mustPending(t, s), "pay_GUARD000000001")
			default:
				mustPending(t, s)
			}
			err := s.exec(t.Context(), c.sql).Error
			if err == nil {
				t.Fatal("it was let through")
			}
			if !strings.Contains(err.Error(), c.guard) {
				t.Errorf("refused by something else: %v", err)
			}
			broken, err := s.ListBroken(t.Context())
			if err != nil || len(broken) > 0 {
				t.Errorf("afterwards: %v %v", broken, err)
			}
		})
	}
}

// refund100 asks for a refund of a rupee, and share100 begins what of the bill that is: subtotal, discount, CGST, SGST, tip, round-off and the whole.
const (
	refund100 = `WITH r AS (UPDATE payments SET refund_reserved_paise = 100 RETURNING id, order_id), f AS (INSERT INTO refunds (id, payment_id, order_id, amount_paise, kind, reason, requested_by)
		SELECT gen_random_uuid(), id, order_id, 100, 'staff', 'x', 'staff:1' FROM r RETURNING id)`
	share100 = ` INSERT INTO refund_shares (refund_id, packaging_paise, delivery_paise, customer_fee_paise, subtotal_paise, discount_paise, cgst_paise, sgst_paise, tip_paise, round_off_paise, amount_paise) SELECT id, 0, 0, 0, `
)

// No limbo: when an order has to be settled, and by what, is the database's to say; whoever writes it writes in vain.
func TestDeadlinesAreTheDatabases(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	mustPending(t, s)
	const deadline = `SELECT next_action || ' ' || COALESCE((resolve_by = hold_expires_at + interval '10 minutes')::text, 'never') FROM orders`
	for _, write := range []string{``, `UPDATE orders SET resolve_by = NULL, next_action = ''`, `UPDATE orders SET resolve_by = resolve_by + interval '1 year'`, `UPDATE orders SET hold_expires_at = hold_expires_at + interval '1 minute'`} {
		if write != "" {
			mustExec(t, s, write)
		}
		if got := mustRead[string](t, s, deadline); got != "ask_gateway true" {
			t.Errorf("after %q: %s", write, got)
		}
	}
	mustExec(t, s, `UPDATE orders SET hold_expires_at = shop_now() - interval '11 minutes'`)
	for range 2 {
		if late, err := s.WatchDeadlines(t.Context()); err != nil || late != 1 {
			t.Errorf("%d late, %v", late, err)
		}
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM staff_tasks WHERE kind = 'overdue' AND closed_at IS NULL`); n != 1 {
		t.Errorf("%d tasks", n)
	}
	mustExec(t, s, `UPDATE orders SET hold_expires_at = shop_now()`)
	if late, err := s.WatchDeadlines(t.Context()); err != nil || late != 0 {
		t.Errorf("%d late, %v", late, err)
	}
	if n := mustRead[int](t, s, `SELECT count(*) FROM staff_tasks WHERE closed_at IS NULL`); n != 0 {
		t.Errorf("%d tasks stay", n)
	}
}

// insertOrder copies the one order there is, with some columns set otherwise.
func insertOrder(change string) string {
	columns := []string{"public_id", "token", "number", "service_on", "outlet_id", "slot_id", "cart_id", "customer_id", "checkout_key", "checkout_hash", "mode", "way", "tax_mode",
		"subtotal_paise", "discount_paise", "packaging_paise", "delivery_paise", "cgst_paise", "sgst_paise", "tip_paise", "round_off_paise", "amount_paise", "name", "phone", "outlet_name",
		"prep_minutes", "delivery_minutes", "hold_expires_at", "next_check_at"}
	set := map[string]string{"public_id": "'tsecondsecondsecond0000000000002'", "token": "'SECONDSECONDSECONDSECOND02'", "number": "2", "checkout_key": "gen_random_uuid()", "cart_id": "cart_id + 1"}
	for _, part := range splitTop(change) {
		name, value, _ := strings.Cut(part, " = ")
		if name == "id" { // same cart, or no lines: nothing else differs
			if value == "99" {
				delete(set, "cart_id")
			}
			continue
		}
		set[name] = value
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = c
		if v, ok := set[c]; ok {
			values[i] = v
		}
	}
	return "INSERT INTO orders (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM orders WHERE id = 1"
}

// splitTop splits at commas outside parentheses.
func splitTop(s string) (parts []string) {
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}

// S1.26: every move of the order's states, and no other; unknown states may go nowhere.
func TestMayMoveOrder(t *testing.T) {
	t.Parallel()
	states := []string{OrderPending, OrderDue, OrderPaid, OrderCancelled, OrderExpired, "refunded", ""}
	allowed := map[[2]string]bool{{OrderPending, OrderPaid}: true, {OrderPending, OrderCancelled}: true, {OrderPending, OrderExpired}: true, {OrderPending, OrderDue}: true,
		{OrderDue, OrderPaid}: true, {OrderDue, OrderCancelled}: true, {OrderPaid, OrderCancelled}: true}
	for _, from := range states {
		for _, to := range states {
			if got := MayMoveOrder(from, to); got != allowed[[2]string{from, to}] {
				t.Errorf("%q -> %q: %v", from, to, got)
			}
		}
	}
}

// S1.26 as people see it: what an order's money is called only moves on. A paid order never shows failed, a refunded one never paid.
func TestPaymentLabel(t *testing.T) {
	t.Parallel()
	kept, back := "kept", "refund"
	id := int64(1)
	paid := Order{Status: OrderPaid, PaidPaymentID: &id}
	failed, authorized := Payment{ID: 2, GWStatus: "failed"}, Payment{ID: 3, GWStatus: "authorized"}
	captured := Payment{ID: 1, GWStatus: "captured", AmountPaise: 1000, Disposition: &kept}
	returned := Payment{ID: 4, GWStatus: "captured", AmountPaise: 1000, Disposition: &back}
	refund := func(payment int64, amount Paise, status string) Refund {
		return Refund{PaymentID: payment, AmountPaise: amount, Status: status}
	}
	for _, c := range []struct {
		want     string
		order    Order
		payments []Payment
		refunds  []Refund
	}{
		{"unpaid", Order{Status: OrderPending}, nil, nil},
		{"failed", Order{Status: OrderPending}, []Payment{failed}, nil},
		{"confirming", Order{Status: OrderPending}, []Payment{failed, authorized}, nil},
		{"confirming", Order{Status: OrderPending}, []Payment{authorized, failed}, nil},
		{"paid", paid, []Payment{captured}, nil},
		{"paid", paid, []Payment{captured, failed}, nil},
		{"paid", paid, []Payment{captured, returned}, []Refund{refund(4, 1000, "processed")}},
		{"partially_refunded", paid, []Payment{captured}, []Refund{refund(1, 400, "processed")}},
		{"partially_refunded", paid, []Payment{captured}, []Refund{refund(1, 400, "requested")}},
		{"refunding", paid, []Payment{captured}, []Refund{refund(1, 400, "processed"), refund(1, 600, "submitted")}},
		{"refunded", paid, []Payment{captured}, []Refund{refund(1, 400, "processed"), refund(1, 600, "processed")}},
		{"refunded", paid, []Payment{captured, failed, authorized}, []Refund{refund(1, 1000, "processed")}},
		{"paid", paid, []Payment{captured}, []Refund{refund(1, 1000, "failed")}},
		{"refunding", Order{Status: OrderCancelled}, []Payment{returned}, []Refund{refund(4, 1000, "requested")}},
		{"refunded", Order{Status: OrderExpired}, []Payment{returned}, []Refund{refund(4, 1000, "processed")}},
	} {
		if got := PaymentLabel(c.order, c.payments, c.refunds); got != c.want {
			t.Errorf("%+v %+v: %q, want %q", c.payments, c.refunds, got, c.want)
		}
	}
}
