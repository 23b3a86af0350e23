package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"tiffin/razorpay/standin"
)

// audit judges a healed round: the shop's own views, its rows against the gateway's books, and what browsers were told.
func (r *round) audit(ctx context.Context) error {
	broken, err := r.store.ListBroken(ctx)
	if err != nil {
		return err
	}
	for _, b := range broken {
		r.fail(b.Inv, b.OrderID, "after healing: %s", b.Detail)
	}
	unsettled, err := r.store.ListUnsettled(ctx)
	if err != nil {
		return err
	}
	for _, b := range unsettled {
		r.fail(b.Inv, b.OrderID, "after healing: %s", b.Detail)
	}
	for _, check := range []func(context.Context, standin.Books) error{r.auditRows, r.auditPayments, r.auditOrders, r.auditGatewayOrders, r.auditCreates, r.auditLetters, r.auditPromises, r.countOutcomes} {
		if err := check(ctx, r.gateway.Books()); err != nil {
			return err
		}
	}
	return nil
}

// each runs a query whose rows are an order's id (or NULL) and a sentence, and counts every row as broken.
func (r *round) each(ctx context.Context, inv, query string, args ...any) error {
	rows, err := r.store.SQL().QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", inv, err)
	}
	defer rows.Close()
	for rows.Next() {
		var order *int64
		var detail string
		if err := rows.Scan(&order, &detail); err != nil {
			return err
		}
		r.fail(inv, order, "%s", detail)
	}
	return rows.Err()
}

// auditRows is what the views leave out: nobody waits for ever, history never went backwards, what was once read is still so, and what
// staff did to money is written down.
func (r *round) auditRows(ctx context.Context, _ standin.Books) error {
	now, err := r.facts(ctx)
	if err != nil {
		return err
	}
	r.compare(now)
	return errors.Join(
		r.each(ctx, "INV-44", `SELECT o.id, 'cancelled by ' || o.cancelled_by || ', and no audit line says so' FROM orders o WHERE o.cancelled_by LIKE 'staff:%'
			AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.order_id = o.id AND a.actor = o.cancelled_by AND a.action = 'cancel_order')`),
		r.each(ctx, "INV-44", `SELECT r.order_id, 'refund ' || r.id || ' by ' || r.requested_by || ', and no audit line says so' FROM refunds r WHERE r.kind = 'staff' AND r.retry_of IS NULL
			AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.order_id = r.order_id AND a.actor = r.requested_by AND a.action = 'refund' AND a.detail LIKE r.amount_paise || ' paise%')`),
		r.each(ctx, "INV-18", `SELECT id, 'still pending, hours after its hold' FROM orders WHERE status = 'pending'`),
		r.each(ctx, "INV-8", `SELECT order_id, subject || ' ' || subject_id || ' went from ' || was || ' to ' || became FROM status_changes WHERE subject = 'payment' AND was IS NOT NULL
			AND array_position(ARRAY['created', 'failed', 'authorized', 'captured', 'refunded'], replace(became, 'voided', 'captured')) <= array_position(ARRAY['created', 'failed', 'authorized', 'captured', 'refunded'], replace(was, 'voided', 'captured'))`),
		r.each(ctx, "INV-26", `SELECT order_id, subject || ' ' || subject_id || ' went from ' || was || ' to ' || became FROM status_changes WHERE subject = 'refund' AND was IS NOT NULL
			AND (was, became) NOT IN (('requested', 'submitted'), ('requested', 'processed'), ('requested', 'failed'), ('requested', 'void'), ('submitted', 'processed'), ('submitted', 'failed'), ('processed', 'failed'))`),
		r.each(ctx, "INV-28", `SELECT order_id, 'refund ' || id || ' failed for good and no person was told' FROM refunds r WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)
			AND NOT EXISTS (SELECT 1 FROM staff_tasks t WHERE t.kind = 'refund_failed' AND t.ref = r.id::text)`))
}

// auditPayments holds every payment at the gateway against ours: known and decided (INV-7), and given back to the same paisa (INV-6).
func (r *round) auditPayments(ctx context.Context, books standin.Books) error {
	for _, p := range books.Payments {
		if !p.Captured {
			continue
		}
		var order *int64
		var decision *string
		var back int64
		err := r.store.SQL().QueryRowContext(ctx, `SELECT max(p.order_id), max(p.disposition), COALESCE(sum(r.amount_paise), 0)::bigint FROM payments p
			LEFT JOIN refunds r ON r.payment_id = p.id AND r.status IN ('submitted', 'processed') WHERE p.razorpay_payment_id = $1`, p.ID).Scan(&order, &decision, &back)
		if err != nil {
			return err
		}
		if decision == nil {
			r.fail("INV-7", order, "payment %s of %d paise was captured, and is not decided here", p.ID, p.AmountPaise)
			continue
		}
		if there := p.AmountPaise - books.KeptPaise(p.ID); there != back {
			r.fail("INV-6", order, "of payment %s the gateway gave back %d paise, our refunds say %d", p.ID, there, back)
		}
	}
	return nil
}

// auditOrders holds what the gateway has of each order's money against what the order may keep: its bill once, if it is paid; nothing, if not;
// and in any case what a person was told could not be given back.
func (r *round) auditOrders(ctx context.Context, books standin.Books) error {
	held, total := map[int64]int64{}, int64(0)
	for _, p := range books.Payments {
		var order int64
		if err := r.store.SQL().QueryRowContext(ctx, `SELECT COALESCE(max(order_id), 0) FROM gateway_orders WHERE razorpay_order_id = $1`, p.OrderID).Scan(&order); err != nil {
			return err
		}
		held[order] += books.KeptPaise(p.ID)
		if order != 0 {
			total += books.KeptPaise(p.ID)
		}
	}
	var clearing int64 // what is on its way back has left the gateway's books already, and ours not yet
	if err := r.store.SQL().QueryRowContext(ctx, `SELECT COALESCE((SELECT sum(amount_paise) FROM ledger_entries WHERE account = 'gateway_clearing'), 0)
		- COALESCE((SELECT sum(amount_paise) FROM refunds WHERE status = 'submitted'), 0)`).Scan(&clearing); err != nil {
		return err
	}
	if clearing != total {
		r.fail("INV-31", nil, "the ledger says that the gateway holds %d paise of ours, its books say %d", clearing, total)
	}
	rows, err := r.store.SQL().QueryContext(ctx, `SELECT o.id, o.status, o.amount_paise, COALESCE(k.customer_fee_paise, 0), COALESCE(back.kept, 0)::bigint, COALESCE(lost.paise, 0)::bigint
		FROM orders o LEFT JOIN payments k ON k.order_id = o.id AND k.disposition = 'kept'
		LEFT JOIN LATERAL (SELECT sum(r.amount_paise) AS kept FROM refunds r WHERE r.payment_id = k.id AND r.status IN ('submitted', 'processed')) back ON true
		LEFT JOIN LATERAL (SELECT sum(r.amount_paise) AS paise FROM refunds r WHERE r.order_id = o.id AND r.status = 'failed' AND NOT EXISTS (SELECT 1 FROM refunds s WHERE s.retry_of = r.id)) lost ON true`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, amount, fee, back, lost int64
		var status string
		if err := rows.Scan(&id, &status, &amount, &fee, &back, &lost); err != nil {
			return err
		}
		most := lost + fee
		if status == "paid" {
			most += amount - back
		}
		if held[id] > most {
			r.fail("money", &id, "the order is %s, its bill %d paise; the gateway holds %d for it, and may hold %d", status, amount, held[id], most)
		}
		if status == "paid" && held[id] < amount-back {
			r.fail("money", &id, "the order is paid, its bill %d paise less %d given back; the gateway holds %d for it", amount, back, held[id])
		}
		delete(held, id)
	}
	for id, paise := range held {
		if paise != 0 {
			r.fail("money", nil, "the gateway holds %d paise for order %d, which is none of ours", paise, id)
		}
	}
	return rows.Err()
}

// auditGatewayOrders: each gateway order with a receipt of ours is known, unless it is an unpaid twin that no browser was given (INV-24), and
// each order's browsers were given one (INV-21).
func (r *round) auditGatewayOrders(ctx context.Context, books standin.Books) error {
	for _, o := range books.Orders {
		if strings.HasPrefix(o.Receipt, strayPrefix) {
			continue // whose money is given back: auditOrders
		}
		publicID, _, _ := strings.Cut(o.Receipt, "-g")
		var order, known *int64
		var handedOut bool
		err := r.store.SQL().QueryRowContext(ctx, `SELECT o.id, g.order_id, COALESCE(g.handed_out_at IS NOT NULL, false) FROM (VALUES ($1::text, $2::text)) v (gateway, public)
			LEFT JOIN orders o ON o.public_id = v.public LEFT JOIN gateway_orders g ON g.razorpay_order_id = v.gateway`, o.ID, publicID).Scan(&order, &known, &handedOut)
		if err != nil {
			return err
		}
		given := false
		for _, ids := range r.handed {
			given = given || slices.Contains(ids, o.ID)
		}
		switch {
		case order == nil:
			r.fail("INV-24", nil, "gateway order %s has receipt %s, of no order", o.ID, o.Receipt)
		case known == nil && (given || len(books.PaymentsOf(o.ID)) > 0):
			r.fail("INV-24", order, "gateway order %s is not known here and somebody could pay it", o.ID)
		case known != nil && *known != *order:
			r.fail("INV-20", order, "gateway order %s is known as another order's", o.ID)
		case given && !handedOut:
			r.fail("INV-21", order, "a browser has gateway order %s, and no row says so", o.ID)
		}
	}
	return r.each(ctx, "INV-21", `SELECT order_id, count(*) || ' gateway orders were handed out' FROM gateway_orders WHERE handed_out_at IS NOT NULL GROUP BY order_id HAVING count(*) > 1`)
}

// auditCreates: each create call at the gateway has its own claim, made before it (INV-23).
func (r *round) auditCreates(ctx context.Context, _ standin.Books) error {
	seen := map[string]int{}
	for _, q := range r.gateway.Requests() {
		if q.Method != http.MethodPost || q.Path != "/v1/orders" || strings.HasPrefix(q.Receipt, strayPrefix) {
			continue
		}
		var body struct{ Notes map[string]string }
		if err := json.Unmarshal([]byte(q.Body), &body); err != nil {
			r.fail("INV-23", nil, "a create call cannot be read: %s", q.Body)
			continue
		}
		attempt := q.Receipt + " attempt " + body.Notes["tiffin_attempt"]
		if seen[attempt]++; seen[attempt] > 1 {
			r.fail("INV-23", nil, "%d create calls for %s", seen[attempt], attempt)
		}
		var claimed *time.Time
		if err := r.store.SQL().QueryRowContext(ctx, `SELECT max(claimed_at) FROM gateway_claims WHERE receipt = $1 AND attempt::text = $2`, q.Receipt, body.Notes["tiffin_attempt"]).Scan(&claimed); err != nil {
			return err
		}
		if claimed == nil || claimed.After(q.At) {
			r.fail("INV-23", nil, "create call for %s at %s has no earlier claim", attempt, q.At)
		}
	}
	return nil
}

// auditLetters: each letter that counts as sent lies in the folder, once, and no other one does.
func (r *round) auditLetters(ctx context.Context, _ standin.Books) error {
	var sent int
	if err := r.store.SQL().QueryRowContext(ctx, `SELECT count(*) FROM outbox WHERE status = 'sent'`).Scan(&sent); err != nil {
		return err
	}
	there, err := r.letters()
	if err == nil && there != sent {
		r.fail("INV-41", nil, "%d letters count as sent, %d are in the folder", sent, there)
	}
	return err
}

// auditPromises: what a browser was told is still so. An order it has the link of is there; one it was told is paid was paid.
func (r *round) auditPromises(ctx context.Context, _ standin.Books) error {
	for i, c := range r.customers {
		for _, m := range c.meals {
			if p := c.insist(ctx, 0, get("/orders/"+m.token)); p.status != http.StatusOK {
				r.fail("told", nil, "customer %d has the link of order %s, and the shop answers %d", i, m.token, p.status)
				continue
			}
			if m.told {
				if err := r.each(ctx, "told", `SELECT id, 'its customer was told that it is paid, and nothing says so' FROM orders WHERE token = $1 AND paid_payment_id IS NULL`, m.token); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// countOutcomes notes what became of orders and money: a torture in which everything ends the same has proved little.
func (r *round) countOutcomes(ctx context.Context, _ standin.Books) error {
	rows, err := r.store.SQL().QueryContext(ctx, `SELECT 'order ' || status || COALESCE(': ' || CASE WHEN cancelled_by LIKE 'staff:%' THEN 'by staff' ELSE cancel_reason END, '') AS what, count(*) FROM orders GROUP BY 1
		UNION ALL SELECT 'payment ' || COALESCE(disposition || COALESCE(': ' || reason, ''), gw_status), count(*) FROM payments GROUP BY 1
		UNION ALL SELECT 'refund ' || kind || CASE WHEN retry_of IS NULL THEN ' ' ELSE ' again ' END || status, count(*) FROM refunds GROUP BY 1
		UNION ALL SELECT 'order paid, a part of it given back', count(DISTINCT o.id) FROM orders o JOIN payments p ON p.id = o.paid_payment_id AND p.refund_reserved_paise > 0 WHERE o.status = 'paid'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var what string
		var n int
		if err := rows.Scan(&what, &n); err != nil {
			return err
		}
		r.tally.outcome(what, n)
	}
	return rows.Err()
}

// plant breaks a promise on purpose, after everything has healed, so that it can be seen whether anybody notices.
func (r *round) plant(ctx context.Context, what string) error {
	switch what {
	case "":
		return nil
	case "rows": // what the shop's own view must see; no trigger of the database is asked
		_, err := r.store.SQL().ExecContext(ctx, `SET session_replication_role = replica; INSERT INTO ledger_txns (kind, ref_type, ref_id) VALUES ('capture', 'payment', '0'); RESET session_replication_role`)
		return err
	case "facts": // what only those see who remember: a line of the history that is gone
		_, err := r.store.SQL().ExecContext(ctx, `SET session_replication_role = replica; DELETE FROM status_changes WHERE id = (SELECT min(id) FROM status_changes); RESET session_replication_role`)
		return err
	case "books": // what only the gateway's books show: money nobody tells the shop of
		r.gateway.SetWebhooks()
		orders := r.gateway.Books().Orders
		if len(orders) == 0 {
			return errors.New("this round made no gateway order to plant a payment on; take another seed")
		}
		r.gateway.Configure(func(s *standin.Settings) { s.SecondPayment, s.CaptureDelay = standin.SecondCaptured, 0 })
		p, err := r.gateway.Pay(standin.PayParams{OrderID: orders[0].ID})
		if err == nil && !p.Captured {
			err = r.gateway.Capture(p.ID) // its order's own rule has run out
		}
		return err
	}
	return fmt.Errorf("there is nothing called %q to plant", what)
}

// history is everything on record about an order, here and at the gateway, for whoever has to find out.
func (r *round) history(ctx context.Context, orderID int64) []string {
	var lines []string
	for _, t := range []struct{ name, where string }{
		{"orders", "id = $1"}, {"status_changes", "order_id = $1 ORDER BY id"}, {"gateway_claims", "order_id = $1 ORDER BY claimed_at"}, {"gateway_orders", "order_id = $1 ORDER BY created_at"},
		{"payments", "order_id = $1 ORDER BY id"}, {"refunds", "order_id = $1 ORDER BY requested_at"}, {"fulfilments", "order_id = $1"}, {"stock_holds", "order_id = $1"}, {"order_time_holds", "order_id = $1"},
		{"outbox", "order_id = $1 ORDER BY id"}, {"staff_tasks", "order_id = $1 ORDER BY id"}, {"audit", "order_id = $1 ORDER BY id"},
		{"webhook_events", "order_ref = $1 OR razorpay_payment_id IN (SELECT razorpay_payment_id FROM payments WHERE order_id = $1) ORDER BY id"},
		{"ledger_txns", "ref_id IN (SELECT id::text FROM payments WHERE order_id = $1 UNION ALL SELECT id::text FROM refunds WHERE order_id = $1) ORDER BY id"},
	} {
		rows, err := r.store.SQL().QueryContext(ctx, `SELECT jsonb_strip_nulls(to_jsonb(t) - ARRAY['body', 'body_sha256', 'checkout_hash', 'name', 'phone', 'email', 'line1', 'line2'])::text FROM `+t.name+` t WHERE `+t.where, orderID)
		if err != nil {
			lines = append(lines, t.name+": "+err.Error())
			continue
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				text = err.Error()
			}
			lines = append(lines, t.name+" "+text)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			lines = append(lines, t.name+": "+err.Error())
		}
	}
	return append(lines, r.gatewayHistory(ctx, orderID)...)
}

func (r *round) gatewayHistory(ctx context.Context, orderID int64) (lines []string) {
	var publicID string
	if err := r.store.SQL().QueryRowContext(ctx, `SELECT public_id FROM orders WHERE id = $1`, orderID).Scan(&publicID); err != nil {
		return nil
	}
	books := r.gateway.Books()
	ids := []string{publicID}
	say := func(what string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(err.Error())
		}
		lines = append(lines, "gateway "+what+" "+string(text))
	}
	for _, o := range books.Orders {
		if !strings.HasPrefix(o.Receipt, publicID) {
			continue
		}
		say("order", o)
		ids = append(ids, o.ID)
		for _, p := range books.PaymentsOf(o.ID) {
			say("payment", p)
			ids = append(ids, p.ID)
			for _, f := range books.RefundsOf(p.ID) {
				say("refund", f)
				ids = append(ids, f.ID)
			}
		}
	}
	for _, q := range r.gateway.Requests() {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(q.Path+q.Query+q.Body, id) }) {
			lines = append(lines, fmt.Sprintf("gateway call %s %s %s%s: %d, done %t %s", q.At.Format(time.TimeOnly+".000"), q.Method, q.Path, path.Join("?", q.Query), q.Status, q.Done, q.Fault))
		}
	}
	return lines
}
