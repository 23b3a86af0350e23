package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// books is a shop with a working week behind it, made by the store's own functions: one order kept, one given back in part and by lines, one
// in full, one paid twice, one whose refund failed and was sent again, one that expired, and one of today that is not paid out yet.
type books struct {
	*Store
	t      testing.TB
	outlet Outlet
	item   int64
	orders int
	names  map[string]string // what corruptions call rows by
}

func openBooks(t testing.TB) *books {
	s := openStore(t)
	b := &books{Store: s, t: t, names: map[string]string{}}
	outletID := mustOutlet(t, s, "audited")
	b.item = mustItem(t, s, outletID, "thali", 10000)
	mustExec(t, s, `UPDATE items SET daily_limit = 50 WHERE id = ?`, b.item)
	mustExec(t, s, `INSERT INTO coupons (outlet_id, code, amount_paise, per_person) VALUES (?, 'TEN', 2500, 100)`, outletID)
	outlet, err := s.FindOutlet(t.Context(), outletID)
	must(t, err)
	b.outlet = outlet
	monday := time.Date(2026, 11, 23, 12, 0, 0, 0, India)
	stopClock(t, s, monday)

	b.keep("kept", b.place("kept"))
	part := b.place("part")
	b.keep("part", part)
	r, err := s.RequestRefund(t.Context(), part.ID, Giving{Pieces: map[int]int{1: 1}}, 0, StaffActor(1), "Cold", "normal")
	must(t, err)
	b.names["$partrefund"] = r.ID
	b.told(r, "rfnd_AUDIT000000part", "processed")
	r, err = s.RequestRefund(t.Context(), part.ID, Giving{AmountPaise: 5000}, r.AmountPaise, StaffActor(1), "Late", "normal")
	must(t, err)
	b.names["$submitted"] = r.ID
	b.told(r, "rfnd_AUDIT00submitted", "pending")

	full := b.place("full")
	b.keep("full", full)
	_, err = s.CancelOrder(t.Context(), full.ID, StaffActor(1), "No gas", "normal")
	must(t, err)
	b.told(b.refundOf("full"), "rfnd_AUDIT000000full", "processed")

	twice := b.place("twice")
	b.keep("twice", twice)
	b.giveBack("second", twice, "pay_AUDIT00000second")
	b.told(b.refundOf("second"), "rfnd_AUDIT0000second", "processed")

	failed := b.place("failed")
	b.keep("failed", failed)
	_, err = s.CancelOrder(t.Context(), failed.ID, StaffActor(1), "No gas", "normal")
	must(t, err)
	lost := b.refundOf("failed")
	b.names["$lost"] = lost.ID
	b.told(lost, "rfnd_AUDIT000000lost", "processed")
	b.told(lost, "rfnd_AUDIT000000lost", "failed")
	b.told(b.refundOf("failed"), "rfnd_AUDIT0000failed", "processed")

	expired := b.place("expired")
	stopClock(t, s, monday.Add(time.Hour))
	must(t, s.LapseOrder(t.Context(), expired.ID))

	stopClock(t, s, monday.AddDate(0, 0, 2).Add(time.Hour)) // Wednesday: T+2
	for _, name := range []string{"kept", "part", "full", "twice", "second", "failed"} {
		b.paidOut(name)
	}
	stopClock(t, s, monday.AddDate(0, 0, 3))
	today := b.place("today")
	b.keep("today", today)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place makes an order of two thalis with a choice and an addition, a coupon, packaging, delivery, tip and round-off.
func (b *books) place(name string) Order {
	b.t.Helper()
	ctx := b.t.Context()
	b.orders++
	sess, cart := mustCart(b.t, b.Store, b.outlet.ID)
	key, err := b.EnsureCheckoutKey(ctx, sess.ID)
	must(b.t, err)
	now, err := b.Now(ctx)
	must(b.t, err)
	o := Order{PublicID: fmt.Sprintf("taudit%026d", b.orders), Token: fmt.Sprintf("AUDIT%022d", b.orders), ServiceOn: now.In(India).Truncate(24 * time.Hour), OutletID: b.outlet.ID, CartID: cart.ID, CustomerID: *sess.CustomerID,
		CheckoutKey: key, CheckoutHash: make([]byte, 32), Mode: "test", Way: "delivery", TaxMode: "regular", SubtotalPaise: 25000, DiscountPaise: 2500, PackagingPaise: 1000, DeliveryPaise: 3000,
		CGSTPaise: 663, SGSTPaise: 663, TipPaise: 1000, RoundOffPaise: -26, AmountPaise: 28800, Coupon: "TEN", Name: "Asha", Phone: "+919845012345", Line1: "1 Test Road", PIN: "560038", OutletName: b.outlet.Name, PrepMinutes: 20,
		Items: []OrderItem{{ItemID: b.item, Name: "Thali", Mark: "veg", Art: "dish", Tint: "curry", TaxClass: "restaurant", UnitPricePaise: 12000, OptionsPricePaise: 500, Qty: 2, LineTotalPaise: 25000, DiscountPaise: 2500,
			Options: []OrderItemOption{{OptionID: 1, GroupName: "Size", Name: "Full", Kind: "variant", PricePaise: 12000}, {OptionID: 2, GroupName: "More", Name: "Ghee", Kind: "addon", PricePaise: 500}}}},
		Taxes: []OrderTax{{TaxClass: "restaurant", TaxablePaise: 26500, CGSTBP: 250, SGSTBP: 250, CGSTPaise: 663, SGSTPaise: 663}}}
	must(b.t, b.InTx(ctx, func(tx *Store) error {
		slot, err := tx.EnsureSlot(ctx, b.outlet, Window{ServiceOn: o.ServiceOn, OpensAt: now.Add(-time.Hour), LastOrderAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour)})
		if err != nil {
			return err
		}
		o.SlotID = slot.ID
		_, err = tx.CreateOrder(ctx, &o, 15*time.Minute, sess.ID, mustRead[int64](b.t, tx, `SELECT version FROM carts WHERE id = ?`, cart.ID))
		return err
	}))
	_, err = b.AttachGatewayOrder(ctx, GatewayOrder{RazorpayOrderID: fmt.Sprintf("order_AUDIT%09d", b.orders), OrderID: o.ID, Generation: 1, Receipt: o.PublicID + "-g1", AmountPaise: o.AmountPaise, Currency: "INR", LearnedVia: "create"}, "")
	must(b.t, err)
	b.names["$"+name+"gw"] = fmt.Sprintf("order_AUDIT%09d", b.orders)
	b.names["$"+name+"order"] = fmt.Sprint(o.ID)
	return o
}

// pay records a captured payment and has it decided.
func (b *books) pay(name string, o Order, razorpayID string, decide func(tx *Store, o *Order, p *Payment) error) {
	b.t.Helper()
	fee, tax, gatewayOrder := Paise(680), Paise(104), b.names["$"+name+"gw"]
	if gatewayOrder == "" {
		gatewayOrder = mustRead[string](b.t, b.Store, `SELECT razorpay_order_id FROM gateway_orders WHERE order_id = ?`, o.ID)
	}
	p := Payment{RazorpayPaymentID: &razorpayID, RazorpayOrderID: &gatewayOrder, OrderID: o.ID, AmountPaise: o.AmountPaise, Currency: "INR", GWStatus: "captured", FirstSource: "verify", Method: "upi", FeePaise: &fee, TaxPaise: &tax}
	must(b.t, b.InTx(b.t.Context(), func(tx *Store) error {
		locked, err := tx.LockOrder(b.t.Context(), o.ID)
		if err != nil {
			return err
		}
		if _, err := tx.AdvancePayment(b.t.Context(), &p); err != nil {
			return err
		}
		return decide(tx, &locked, &p)
	}))
	b.names["$"+name+"pay"] = fmt.Sprint(p.ID)
	b.names["$"+name+"rzp"] = razorpayID
}

func (b *books) keep(name string, o Order) {
	b.t.Helper()
	b.pay(name, o, fmt.Sprintf("pay_AUDIT%011s", name), func(tx *Store, o *Order, p *Payment) error {
		if _, err := tx.CommitHolds(b.t.Context(), o.ID); err != nil {
			return err
		}
		return tx.KeepPayment(b.t.Context(), o, p, "captured", 0)
	})
}

func (b *books) giveBack(name string, o Order, razorpayID string) {
	b.t.Helper()
	b.pay(name, o, razorpayID, func(tx *Store, o *Order, p *Payment) error {
		return tx.ReturnPayment(b.t.Context(), *o, p, "captured", "already_paid", "normal", 0)
	})
}

// refundOf is the newest refund of a named payment.
func (b *books) refundOf(name string) (r Refund) {
	b.t.Helper()
	must(b.t, b.one(b.t.Context(), &r, `SELECT * FROM refunds r WHERE payment_id = ?::bigint AND NOT EXISTS (SELECT 1 FROM refunds n WHERE n.retry_of = r.id)`, b.names["$"+name+"pay"]))
	b.names["$"+name+"refund"] = r.ID
	return r
}

// told records what the gateway says about a refund.
func (b *books) told(r Refund, razorpayID, status string) {
	b.t.Helper()
	must(b.t, b.InTx(b.t.Context(), func(tx *Store) error {
		o, err := tx.LockOrder(b.t.Context(), r.OrderID)
		if err != nil {
			return err
		}
		p, err := tx.LockPayment(b.t.Context(), r.PaymentID)
		if err != nil {
			return err
		}
		_, err = tx.RecordRefund(b.t.Context(), o, p, SeenRefund{RazorpayRefundID: razorpayID, Receipt: r.ID, AmountPaise: r.AmountPaise, Status: status})
		return err
	}))
}

// paidOut settles a payment and those of its refunds that are processed.
func (b *books) paidOut(name string) {
	b.t.Helper()
	now, err := b.Now(b.t.Context())
	must(b.t, err)
	var p Payment
	must(b.t, b.one(b.t.Context(), &p, `SELECT * FROM payments WHERE id = ?::bigint`, b.names["$"+name+"pay"]))
	var refunds []Refund
	must(b.t, b.read(b.t.Context(), &refunds, `SELECT * FROM refunds WHERE payment_id = ? AND status = 'processed'`, p.ID))
	items := []SettlementItem{{EntityID: *p.RazorpayPaymentID, Kind: "payment", SettlementID: "setl_AUDIT000000001", UTR: "UTR1", AmountPaise: p.AmountPaise, FeePaise: 680, TaxPaise: 104, CreditPaise: p.AmountPaise - 680, SettledAt: now, PaymentID: &p.ID}}
	for _, r := range refunds {
		items = append(items, SettlementItem{EntityID: *r.RazorpayRefundID, Kind: "refund", SettlementID: "setl_AUDIT000000001", UTR: "UTR1", AmountPaise: r.AmountPaise, DebitPaise: r.AmountPaise, SettledAt: now, RefundID: &r.ID})
	}
	for _, item := range items {
		for range 2 {
			must(b.t, b.InTx(b.t.Context(), func(tx *Store) error { return onlyErr(tx.RecordSettlementItem(b.t.Context(), item)) }))
		}
	}
}

func onlyErr[T any](_ T, err error) error { return err }

// Every paisa of a shop in order is explained, for all time and for each day and outlet.
func TestAuditOfAShopInOrder(t *testing.T) {
	t.Parallel()
	b := openBooks(t)
	for _, scope := range []AuditScope{{}, {Day: "2026-11-23"}, {Day: "2026-11-26"}, {Day: "2026-11-22"}, {OutletID: b.outlet.ID}, {OutletID: b.outlet.ID + 1}} {
		a, err := b.AuditPaise(t.Context(), scope)
		must(t, err)
		if a.UnexplainedPaise != 0 || len(a.Findings) != 0 || a.More {
			t.Errorf("%+v: %+v", scope, a.Findings)
		}
	}
	a, err := b.AuditPaise(t.Context(), AuditScope{})
	must(t, err)
	first := mustRead[int64](t, b.Store, `SELECT amount_paise FROM refunds WHERE id::text = ?`, b.names["$partrefund"])
	back := Paise(3*28800 + first)
	for code, want := range map[string]Paise{"captured": 7 * 28800, "kept": 4*28800 - Paise(first) - 5000, "refunded": back, "refunding": 5000, "returned": 28800, "charged": 6 * 28800, "dishes": 6 * 25000, "discount": 6 * 2500,
		"packaging": 6000, "delivery": 18000, "cgst": 6 * 663, "sgst": 6 * 663, "tips": 6000, "round_off": -6 * 26, "fees": 6 * (680 - 104), "fee_tax": 6 * 104, "paid_out": 6*(28800-680) - back, "awaiting": 28800} {
		if got := a.Paise(code); got != want {
			t.Errorf("%s is %d, want %d", code, got, want)
		}
	}
	if day, err := b.AuditPaise(t.Context(), AuditScope{Day: "2026-11-26"}); err != nil || day.Paise("captured") != 28800 || day.Paise("awaiting") != 28800 {
		t.Errorf("Thursday: %+v, %v", day, err)
	}
	if _, err := b.AuditPaise(t.Context(), AuditScope{Day: "26/11/2026"}); !errors.Is(err, ErrBadInput) {
		t.Errorf("a day that is none: %v", err)
	}
	if broken, err := b.ListBroken(t.Context()); err != nil || len(broken) != 0 {
		t.Errorf("broken: %+v %v", broken, err)
	}
}

// The audit only reads: its transaction refuses to write.
func TestAuditReadsOneMoment(t *testing.T) {
	t.Parallel()
	b := openBooks(t)
	must(t, b.exec(t.Context(), `CREATE FUNCTION tattle() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN
		IF current_setting('transaction_isolation') <> 'repeatable read' OR current_setting('transaction_read_only') <> 'on' THEN RAISE EXCEPTION 'not one moment'; END IF; RETURN timestamptz '2026-11-26 06:30Z'; END $$`).Error)
	must(t, b.exec(t.Context(), `CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT tattle() $$`).Error)
	if a, err := b.AuditPaise(t.Context(), AuditScope{}); err != nil || len(a.Findings) != 0 {
		t.Errorf("%+v %v", a.Findings, err)
	}
}

// Whatever is wrong with one row is named: the row, and by how many paise. Each corruption is written by a hand that no guard stops, into
// the same shop in order, and undone.
func TestAuditNamesEveryCorruption(t *testing.T) {
	t.Parallel()
	b := openBooks(t)
	b.names["$now"] = "timestamptz '2026-11-26 06:30Z'"
	b.names["$outlet"], b.names["$item"] = fmt.Sprint(b.outlet.ID), fmt.Sprint(b.item)
	var olds []string
	for name, value := range b.names {
		olds = append(olds, name, value)
	}
	// the longest names first, or $part would be found in $partpay
	pairs := [][2]string{}
	for i := 0; i < len(olds); i += 2 {
		pairs = append(pairs, [2]string{olds[i], olds[i+1]})
	}
	slices.SortFunc(pairs, func(x, y [2]string) int { return len(y[0]) - len(x[0]) })
	fill := func(text string) string {
		for _, p := range pairs {
			text = strings.ReplaceAll(text, p[0], p[1])
		}
		return text
	}
	caught := map[string]bool{}
	const drop = "ALTER TABLE %s DROP CONSTRAINT %s; "
	without := func(constraint string) string {
		return fmt.Sprintf(drop, constraint[:strings.Index(constraint, ".")], constraint[strings.Index(constraint, ".")+1:])
	}
	ledger := func(kind, ref string) string {
		return `(SELECT id FROM ledger_txns WHERE kind = '` + kind + `' AND ref_id = '` + ref + `')`
	}
	for _, c := range []struct {
		name, corrupt string
		table, id     string
		paise         Paise // -1: whatever
	}{
		// the bill
		{"a total a paisa too high", without("orders.orders_total_check") + `UPDATE orders SET amount_paise = amount_paise + 1 WHERE id = $keptorder`, "orders", "$keptorder", 1},
		{"dishes a rupee too low", without("orders.orders_total_check") + `UPDATE orders SET subtotal_paise = subtotal_paise - 100 WHERE id = $keptorder`, "orders", "$keptorder", 100},
		{"packaging taken as delivery", `UPDATE orders SET packaging_paise = 0, delivery_paise = 4000 WHERE id = $fullorder`, "payments", "$fullpay", 1000},
		{"tip taken as packaging", `UPDATE orders SET packaging_paise = 2000, tip_paise = 0 WHERE id = $keptorder`, "ledger_txns", ledger("capture", "$keptpay"), 1000},
		{"a tip that is not in the sum", without("orders.orders_total_check") + `UPDATE orders SET tip_paise = 0 WHERE id = $keptorder`, "orders", "$keptorder", 1000},
		{"CGST a paisa off", without("orders.orders_total_check") + `UPDATE orders SET cgst_paise = 664 WHERE id = $keptorder`, "orders", "$keptorder", 1},
		{"CGST taken as SGST", `UPDATE orders SET cgst_paise = 0, sgst_paise = 1326 WHERE id = $keptorder`, "orders", "$keptorder", 663},
		{"another round-off", without("orders.orders_total_check") + `UPDATE orders SET round_off_paise = 26 WHERE id = $keptorder`, "orders", "$keptorder", 52},
		{"a discount that no dish bears", without("orders.orders_total_check") + `UPDATE orders SET discount_paise = 2600 WHERE id = $keptorder`, "orders", "$keptorder", 100},
		{"a discount without its coupon's use", `DELETE FROM coupon_uses WHERE order_id = $keptorder`, "orders", "$keptorder", 2500},
		{"a coupon that counts one use too few", `UPDATE coupons SET taken = taken - 1`, "coupons", "(SELECT id FROM coupons)", 0},
		{"a line that is gone", `DELETE FROM order_items WHERE order_id = $keptorder`, "orders", "$keptorder", 25000},
		{"a line twice", `INSERT INTO order_items (order_id, line, item_id, name, mark, tax_class, unit_price_paise, options_price_paise, qty, line_total_paise) SELECT order_id, 2, item_id, name, mark, tax_class, unit_price_paise, 0, 1, unit_price_paise FROM order_items WHERE order_id = $keptorder`, "orders", "$keptorder", 12000},
		{"a line's total is not its price times pieces", without("order_items.order_items_total_check") + `UPDATE order_items SET line_total_paise = 24999 WHERE order_id = $keptorder`, "order_items", "$keptorder/1", 1},
		{"a line of one more piece", without("order_items.order_items_total_check") + `UPDATE order_items SET qty = 3 WHERE order_id = $keptorder`, "order_items", "$keptorder/1", 12500},
		{"an addition of another price", `UPDATE order_item_options SET price_paise = 700 WHERE order_id = $keptorder AND kind = 'addon'`, "order_items", "$keptorder/1", 400},
		{"a size of another price", `UPDATE order_item_options SET price_paise = 11000 WHERE order_id = $keptorder AND kind = 'variant'`, "order_items", "$keptorder/1", 2000},
		{"a tax the rate does not make", without("order_taxes.order_taxes_cgst_check") + `UPDATE order_taxes SET cgst_paise = 600 WHERE order_id = $keptorder`, "order_taxes", "$keptorder/restaurant", 63},
		{"another rate", without("order_taxes.order_taxes_sgst_check") + `UPDATE order_taxes SET sgst_bp = 900 WHERE order_id = $keptorder`, "order_taxes", "$keptorder/restaurant", 1722},
		{"tax on less than was sold", without("order_taxes.order_taxes_cgst_check") + without("order_taxes.order_taxes_sgst_check") + `UPDATE order_taxes SET taxable_paise = 26490 WHERE order_id = $keptorder`, "orders", "$keptorder", 10},
		{"taxes that are gone", `DELETE FROM order_taxes WHERE order_id = $keptorder`, "orders", "$keptorder", 663},

		// the payment
		{"a payment of another amount than its bill", `UPDATE payments SET amount_paise = 28801 WHERE id = $keptpay`, "payments", "$keptpay", 1},
		{"a fee of the customer's nobody charged", `UPDATE payments SET customer_fee_paise = 680 WHERE id = $keptpay`, "payments", "$keptpay", 680},
		{"a gateway order of another amount", `UPDATE gateway_orders SET amount_paise = 100 WHERE order_id = $keptorder`, "gateway_orders", "$keptgw", 28700},
		{"a gateway order in another currency", `UPDATE gateway_orders SET currency = 'USD' WHERE order_id = $keptorder`, "gateway_orders", "$keptgw", 28800},
		{"a payment of an order that is not there", `DELETE FROM orders WHERE id = $keptorder`, "payments", "$keptpay", 28800},
		{"a payment of another order", `UPDATE payments SET order_id = $expiredorder WHERE id = $secondpay`, "payments", "$secondpay", 28800},
		{"a payment on a gateway order that is not there", `DELETE FROM gateway_orders WHERE order_id = $keptorder`, "payments", "$keptpay", 28800},
		{"a paid order whose payment is gone", `DELETE FROM payments WHERE id = $keptpay`, "orders", "$keptorder", 28800},
		{"a captured payment nobody decided about", without("payments.payments_decided_check") + without("payments.payments_decided_at_check") + without("payments.payments_refund_check") + `UPDATE payments SET disposition = NULL WHERE id = $secondpay`, "payments", "$secondpay", 28800},
		{"two kept payments of an order", `DROP INDEX payments_one_kept_key; UPDATE payments SET disposition = 'kept', reason = NULL WHERE id = $secondpay`, "refunds", "$secondrefund", 28800},
		{"a payment recorded twice", without("payments.payments_razorpay_payment_id_key") + `INSERT INTO payments (razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, gw_status, first_source) SELECT razorpay_payment_id, razorpay_order_id, order_id, amount_paise, currency, 'created', first_source FROM payments WHERE id = $keptpay`, "payments", "(SELECT max(id) FROM payments)", 28800},
		{"an order called unpaid behind its history's back", `UPDATE orders SET status = 'cancelled', cancel_reason = 'x', cancelled_by = 'shop', closed_at = $now WHERE id = $keptorder`, "orders", "$keptorder", 28800},
		{"a payment called refunded behind its history's back", `UPDATE payments SET gw_status = 'refunded' WHERE id = $keptpay`, "payments", "$keptpay", 28800},
		{"an expired order called paid", without("orders.orders_paid_check") + without("orders.orders_paid_at_check") + `UPDATE orders SET status = 'paid', closed_at = NULL WHERE id = $expiredorder`, "orders", "$expiredorder", 28800},
		{"a paid order without its ticket", `DELETE FROM fulfilments WHERE order_id = $keptorder`, "orders", "$keptorder", 28800},
		{"a ticket moved behind its history's back", `UPDATE fulfilments SET status = 'handed_over' WHERE order_id = $keptorder`, "fulfilments", "$keptorder", 0},
		{"a capture event whose payment is not here", `INSERT INTO webhook_events (provider, event_id, body_sha256, event_type, razorpay_payment_id, status, processed_at) VALUES ('razorpay', 'evt_lost', '', 'payment.captured', 'pay_AUDITnowhere', 'processed', $now)`, "webhook_events", "evt_lost", 0},

		// refunds
		{"a refund a paisa smaller", `UPDATE refunds SET amount_paise = amount_paise - 1 WHERE id = '$secondrefund'`, "payments", "$secondpay", 1},
		{"a refund that is gone", `DELETE FROM refunds WHERE id = '$secondrefund'`, "payments", "$secondpay", 28800},
		{"a refund in nobody's account", `UPDATE payments SET refund_reserved_paise = 0 WHERE id = $partpay`, "payments", "$partpay", -1},
		{"a reserve without refunds", `UPDATE payments SET refund_reserved_paise = 100 WHERE id = $keptpay`, "payments", "$keptpay", 100},
		{"a refund of a payment that is not there", `DELETE FROM payments WHERE id = $secondpay`, "refunds", "$secondrefund", 28800},
		{"a refund under another order", `UPDATE refunds SET order_id = $keptorder WHERE id = '$secondrefund'`, "refunds", "$secondrefund", 28800},
		{"a refund called processed behind its history's back", `UPDATE refunds SET status = 'processed', processed_at = $now WHERE id = '$submitted'`, "refunds", "$submitted", 5000},
		{"a refund called void", `UPDATE refunds SET status = 'void' WHERE id = '$submitted'`, "payments", "$partpay", 5000},
		{"a refund of one more rupee than captured", without("payments.payments_reserved_check") + `UPDATE refunds SET amount_paise = 28900 WHERE id = '$fullrefund'; UPDATE payments SET refund_reserved_paise = 28900 WHERE id = $fullpay`, "payments", "$fullpay", 100},
		{"staff's refund nobody asked for", `DELETE FROM audit WHERE order_id = $partorder`, "refunds", "$partrefund", -1},
		{"a refund recorded twice", without("refunds.refunds_razorpay_refund_id_key") + `UPDATE refunds SET razorpay_refund_id = 'rfnd_AUDIT000000part' WHERE id = '$submitted'`, "refunds", "(SELECT max(id::text) FROM refunds WHERE razorpay_refund_id = 'rfnd_AUDIT000000part')", -1},

		// shares
		{"a refund without its share", `DELETE FROM refund_share_lines WHERE refund_id = '$partrefund'; DELETE FROM refund_share_taxes WHERE refund_id = '$partrefund'; DELETE FROM refund_shares WHERE refund_id = '$partrefund'`, "refunds", "$partrefund", -1},
		{"a share of money never kept", `INSERT INTO refund_shares SELECT '$secondrefund', 28800, 0, 0, 0, 0, 0, 0, 0, 0, 28800`, "refund_shares", "$secondrefund", 28800},
		{"a share whose parts do not add up", without("refund_shares.refund_shares_total_check") + `UPDATE refund_shares SET tip_paise = tip_paise + 5 WHERE refund_id = '$partrefund'`, "refund_shares", "$partrefund", 5},
		{"a share that gives tax back as dishes", `UPDATE refund_shares SET subtotal_paise = subtotal_paise + cgst_paise, cgst_paise = 0 WHERE refund_id = '$partrefund'`, "refund_shares", "$partrefund", -1},
		{"a share's tax class that is gone", `DELETE FROM refund_share_taxes WHERE refund_id = '$partrefund'`, "refund_shares", "$partrefund", -1},
		{"a share of more delivery than was billed", `UPDATE refund_shares SET delivery_paise = delivery_paise + 1000, packaging_paise = 0 WHERE refund_id = '$fullrefund'`, "payments", "$fullpay", 1000},
		{"a dish given back twice", `UPDATE refund_share_lines SET qty = 3 WHERE refund_id = '$partrefund'`, "order_items", "$partorder/1", 12500},
		{"a dish of another order given back", `UPDATE refund_share_lines SET order_id = $keptorder WHERE refund_id = '$partrefund'`, "refund_share_lines", "$partrefund/1", 0},

		// payouts
		{"a payment paid out for less", `UPDATE settlement_items SET amount_paise = 28700, credit_paise = credit_paise - 100 WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 100},
		{"a payout that does not add up", `UPDATE settlement_items SET credit_paise = credit_paise - 7 WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 7},
		{"a higher fee than announced", `UPDATE settlement_items SET fee_paise = 780, credit_paise = credit_paise - 100 WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 100},
		{"more tax on the fee than announced", `UPDATE settlement_items SET tax_paise = 105 WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 1},
		{"an announced fee that is another", `UPDATE payments SET fee_paise = 500 WHERE id = $keptpay`, "settlement_items", "$keptrzp", 180},
		{"a refund taken for more", `UPDATE settlement_items SET amount_paise = amount_paise + 50, debit_paise = debit_paise + 50 WHERE entity_id = 'rfnd_AUDIT000000full'`, "settlement_items", "rfnd_AUDIT000000full", 50},
		{"a refund taken that failed", `UPDATE settlement_items SET refund_id = '$lost', entity_id = 'rfnd_AUDIT000000lost' WHERE entity_id = 'rfnd_AUDIT0000failed'`, "settlement_items", "rfnd_AUDIT000000lost", 28800},
		{"a payout line of nobody's", `UPDATE settlement_items SET payment_id = NULL WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 28120},
		{"a payout for another payment", `UPDATE settlement_items SET payment_id = $todaypay WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzp", 28800},
		{"a payment paid out twice", `DROP INDEX settlement_items_payment_key; INSERT INTO settlement_items SELECT entity_id || 'x', kind, settlement_id, utr, amount_paise, fee_paise, tax_paise, credit_paise, debit_paise, settled_at, payment_id, refund_id, dispute_id FROM settlement_items WHERE entity_id = '$keptrzp'`, "settlement_items", "$keptrzpx", 28800},
		{"an adjustment without a reason", `INSERT INTO settlement_items VALUES ('adj_AUDIT', 'adjustment', 'setl_1', 'U', 400, 0, 0, 0, 400, $now)`, "settlement_items", "adj_AUDIT", 400},
		{"a dispute that cost more than it should", `INSERT INTO disputes (razorpay_dispute_id, payment_id, order_id, amount_paise, deducted_paise, currency, status) VALUES ('disp_AUDIT0000001', $keptpay, $keptorder, 1000, 1000, 'INR', 'lost'); INSERT INTO settlement_items VALUES ('adj_AUDIT', 'adjustment', 'setl_1', 'U', 1200, 0, 0, 0, 1200, $now, NULL, NULL, 'disp_AUDIT0000001')`, "disputes", "disp_AUDIT0000001", 200},
		{"a payment that is never paid out", `DELETE FROM ledger_entries WHERE txn_id = ` + ledger("settlement", "$keptrzp") + `; DELETE FROM ledger_txns WHERE ref_id = '$keptrzp'; DELETE FROM settlement_items WHERE entity_id = '$keptrzp'; UPDATE payments SET decided_at = decided_at - interval '3 days' WHERE id = $keptpay`, "payments", "$keptpay", 28800},

		// the ledger
		{"a capture booked a paisa short", `UPDATE ledger_entries SET amount_paise = amount_paise - 1 WHERE account = 'gateway_clearing' AND txn_id = ` + ledger("capture", "$keptpay"), "ledger_txns", ledger("capture", "$keptpay"), 1},
		{"sales booked as tips", `UPDATE ledger_entries SET amount_paise = amount_paise + 100 WHERE account = 'sales' AND txn_id = ` + ledger("capture", "$keptpay") + `; UPDATE ledger_entries SET amount_paise = amount_paise - 100 WHERE account = 'tips' AND txn_id = ` + ledger("capture", "$keptpay"), "ledger_txns", ledger("capture", "$keptpay"), 100},
		{"a capture that is not booked", `DELETE FROM ledger_entries WHERE txn_id = ` + ledger("capture", "$keptpay") + `; DELETE FROM ledger_txns WHERE kind = 'capture' AND ref_id = '$keptpay'`, "ledger_txns", "capture/$keptpay", 28800},
		{"a transaction without lines", `INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', '999')`, "ledger_txns", ledger("capture", "999"), 0},
		{"a capture of nothing", `INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', '999'); INSERT INTO ledger_entries SELECT id, 'bank', 500 FROM ledger_txns WHERE ref_id = '999'; INSERT INTO ledger_entries SELECT id, 'sales', -500 FROM ledger_txns WHERE ref_id = '999'`, "ledger_txns", ledger("capture", "999"), 500},
		{"a refund settled that is not", `INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('refund_settled', 'refund', '$submitted'); INSERT INTO ledger_entries SELECT id, 'refunds_payable', 5000 FROM ledger_txns WHERE kind = 'refund_settled' AND ref_id = '$submitted'; INSERT INTO ledger_entries SELECT id, 'gateway_clearing', -5000 FROM ledger_txns WHERE kind = 'refund_settled' AND ref_id = '$submitted'`, "ledger_txns", ledger("refund_settled", "$submitted"), 5000},
		{"a refund that is not booked", `DELETE FROM ledger_entries WHERE txn_id = ` + ledger("refund_requested", "$submitted") + `; DELETE FROM ledger_txns WHERE kind = 'refund_requested' AND ref_id = '$submitted'`, "payments", "$partpay", -1},
		{"a reversal that is not booked", `DELETE FROM ledger_entries WHERE txn_id = ` + ledger("refund_reversed", "$lost") + `; DELETE FROM ledger_txns WHERE kind = 'refund_reversed' AND ref_id = '$lost'`, "ledger_txns", "refund_reversed/$lost", 28800},
		{"a payout that is not booked", `DELETE FROM ledger_entries WHERE txn_id = ` + ledger("settlement", "$keptrzp") + `; DELETE FROM ledger_txns WHERE ref_id = '$keptrzp'`, "ledger_txns", "settlement/$keptrzp", 28800},
		{"a fee booked as its tax", `UPDATE ledger_entries SET account = 'disputes' WHERE account = 'gateway_fees' AND txn_id = ` + ledger("settlement", "$keptrzp"), "ledger_txns", ledger("settlement", "$keptrzp"), 576},

		// documents and stock
		{"an order number without its order", `UPDATE order_counters SET last = last + 1 WHERE service_on = (SELECT service_on FROM orders WHERE id = $todayorder)`, "order_counters", "(SELECT outlet_id || '/' || service_on || '/2' FROM orders WHERE id = $todayorder)", 0},
		{"an order of a number never given out", `UPDATE orders SET number = 77 WHERE id = $keptorder`, "orders", "$keptorder", 0},
		{"an order that is gone", `DELETE FROM orders WHERE id = $expiredorder`, "order_counters", "(SELECT outlet_id || '/' || service_on || '/6' FROM orders WHERE id = $keptorder)", 0},
		{"a paper that is gone", `DELETE FROM papers WHERE kind = 'receipt_voucher' AND serial = 1`, "paper_counters", "(SELECT outlet_id || '/receipt_voucher/' || fy || '/1' FROM paper_counters WHERE kind = 'receipt_voucher')", 0},
		{"a paper's number that was never given out", `UPDATE papers SET serial = 99 WHERE kind = 'receipt_voucher' AND serial = 2`, "paper_counters", "(SELECT outlet_id || '/receipt_voucher/' || fy || '/2' FROM paper_counters WHERE kind = 'receipt_voucher')", 0},
		{"stock that is not its movements", `UPDATE stock SET sold = sold - 1 WHERE day = (SELECT service_on FROM orders WHERE id = $todayorder)`, "stock", "(SELECT item_id || '/' || day FROM stock ORDER BY day DESC LIMIT 1)", 0},
		{"a movement that is gone", `DELETE FROM stock_movements WHERE kind = 'sell' AND order_id = $keptorder`, "stock", "(SELECT item_id || '/' || day FROM stock ORDER BY day LIMIT 1)", 0},
		{"a paid order that gave its dishes back", `UPDATE stock_holds SET state = 'released' WHERE order_id = $keptorder`, "orders", "$keptorder", 28800},
	} {
		t.Run(c.name, func(t *testing.T) {
			undone := errors.New("undone")
			err := b.InTx(t.Context(), func(tx *Store) error {
				must(t, tx.exec(t.Context(), `SET LOCAL session_replication_role = replica`).Error)
				id := fill(c.id)
				for _, statement := range strings.Split(strings.TrimSpace(fill(c.corrupt)), "; ") {
					done := tx.exec(t.Context(), statement)
					must(t, done.Error)
					if word := statement[:6]; done.RowsAffected == 0 && (word == "UPDATE" || word == "DELETE" || word == "INSERT") {
						t.Errorf("nothing is corrupted by %s", statement)
					}
				}
				if strings.HasPrefix(id, "(SELECT") {
					id = mustRead[string](t, tx, `SELECT `+id+`::text`)
				}
				a, err := tx.AuditPaise(t.Context(), AuditScope{})
				must(t, err)
				found := slices.IndexFunc(a.Findings, func(f AuditFinding) bool {
					return f.Table == c.table && f.ID == id && (c.paise < 0 && f.Paise > 0 || f.Paise == c.paise) && f.Text != ""
				})
				if found < 0 {
					t.Errorf("%s %s with %d paise is not named, but %d paise:", c.table, id, c.paise, a.UnexplainedPaise)
					for _, f := range a.Findings {
						t.Errorf("  %s: %s %s, %d paise: %s", f.Check, f.Table, f.ID, f.Paise, f.Text)
					}
				}
				if found >= 0 {
					caught[a.Findings[found].Check] = true
				}
				return undone
			})
			if !errors.Is(err, undone) {
				t.Fatal(err)
			}
		})
	}
	for _, c := range auditChecks {
		if !caught[c.name] {
			t.Errorf("check %s has named nothing: it could be taken away and no test would fail", c.name)
		}
	}
	if a, err := b.AuditPaise(t.Context(), AuditScope{}); err != nil || len(a.Findings) != 0 {
		t.Errorf("afterwards: %+v %v", a.Findings, err)
	}
}
