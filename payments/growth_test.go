package payments

import (
	"fmt"
	"slices"
	"strings"

	"tiffin/models"
	"tiffin/razorpay/standin"
)

// grow makes a shop of some years out of one day of every kind: orders that were paid, given back, left alone, each with all its rows. The
// first ones go the way orders go; the rest are copies of them, written past the triggers, for making 50,000 orders one by one takes an hour.
func (s *shop) grow(orders int) {
	s.t.Helper()
	ctx := s.t.Context()
	for kind := range 10 {
		c := s.newCustomer().add("dal-makhani", 1+kind%3).add("naan", 2)
		if kind == 0 { // left alone
			o, _ := c.open()
			must(s.t, s.store.InTx(ctx, func(tx *models.Store) error {
				locked, err := tx.LockOrder(ctx, o.ID)
				if err != nil {
					return err
				}
				return tx.MoveOrder(ctx, &locked, models.OrderExpired, models.Move{By: models.ActorShop})
			}))
			s.exec(`UPDATE orders SET next_check_at = NULL WHERE id = $1`, o.ID)
			continue
		}
		o, id := c.open()
		s.pay(standin.PayParams{OrderID: id, Outcome: standin.FailNow})
		paid := s.pay(standin.PayParams{OrderID: id})
		for _, e := range s.events(paid.ID) {
			must(s.t, s.receive(ctx, e))
		}
		if kind == 1 {
			_, err := s.cashier.CancelOrder(ctx, o.ID, models.ActorCustomer, "changed my mind")
			must(s.t, err)
		}
	}
	s.sweep()
	s.copyRows(orders/10 - 1)
	_, err := s.store.SQL().ExecContext(ctx, `VACUUM ANALYZE`)
	must(s.t, err)
}

// copied says how a column of the n-th copy differs from its original's, by the column's name. Ids of rows are numbers below 1000.
func copied(table, column, kind string) string {
	switch column {
	case "id", "order_id", "payment_id", "paid_payment_id", "txn_id", "order_ref", "cart_id", "against", "refund_id":
		if kind == "uuid" {
			return fmt.Sprintf("md5(%s::text || n)::uuid", column)
		}
		return column + " + n * 1000"
	case "number":
		if kind == "text" { // a complaint's
			return "(number::bigint + n)::text"
		}
		return "number + n * 1000"
	case "serial": // papers have no gaps
		return "serial + n * (SELECT last FROM paper_counters c WHERE (c.outlet_id, c.kind, c.fy) = (papers.outlet_id, papers.kind, papers.fy))"
	case "token", "checkout_key":
		return fmt.Sprintf("md5(%s::text || n)::%s", column, kind)
	case "public_id":
		return "'t' || md5(public_id || n)"
	case "receipt":
		return "'t' || md5(split_part(receipt, '-g', 1) || n) || '-g' || generation"
	case "razorpay_order_id", "razorpay_payment_id", "razorpay_refund_id", "razorpay_dispute_id":
		return fmt.Sprintf("split_part(%[1]s, '_', 1) || '_' || substr(md5(%[1]s || n), 1, 16)", column)
	case "event_id", "ref":
		return fmt.Sprintf("%s || '-' || n", column)
	case "ref_id":
		return "CASE ref_type WHEN 'payment' THEN (ref_id::bigint + n * 1000)::text ELSE md5(ref_id || n)::uuid::text END"
	}
	return column
}

// copyRows copies every row that belongs to an order, times times.
func (s *shop) copyRows(times int) {
	s.t.Helper()
	ctx := s.t.Context()
	rows, err := s.store.SQL().QueryContext(ctx, `SELECT table_name, string_agg(column_name || ' ' || udt_name, ',' ORDER BY ordinal_position) FROM information_schema.columns c
		WHERE table_schema = 'public' AND is_generated = 'NEVER' AND (table_name IN ('orders', 'ledger_txns', 'ledger_entries', 'webhook_events', 'refund_shares', 'refund_share_taxes') OR EXISTS (SELECT 1 FROM information_schema.columns o
			JOIN information_schema.tables t USING (table_schema, table_name) WHERE o.table_schema = 'public' AND o.table_name = c.table_name AND o.column_name = 'order_id' AND t.table_type = 'BASE TABLE'))
		GROUP BY table_name`)
	must(s.t, err)
	var copies, counters []string
	for rows.Next() {
		var table, columns string
		must(s.t, rows.Scan(&table, &columns))
		var names, values []string
		for _, column := range strings.Split(columns, ",") {
			name, kind, _ := strings.Cut(column, " ")
			names, values = append(names, name), append(values, copied(table, name, kind))
		}
		if slices.Contains(names, "id") && !strings.Contains(columns, "id uuid,") { // what comes after the copies has numbers of its own
			counters = append(counters, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), max(id)) FROM %[1]s HAVING max(id) > 0`, table))
		}
		copies = append(copies, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) OVERRIDING SYSTEM VALUE SELECT %[3]s FROM %[1]s, generate_series(1, %[4]d) n`,
			table, strings.Join(names, ", "), strings.Join(values, ", "), times))
	}
	must(s.t, rows.Err())
	must(s.t, rows.Close())
	tx, err := s.store.SQL().BeginTx(ctx, nil)
	must(s.t, err)
	defer func() { _ = tx.Rollback() }()
	for _, text := range slices.Concat([]string{`SET LOCAL session_replication_role = replica`, `SET LOCAL statement_timeout = '10min'`}, copies, counters, []string{`UPDATE paper_counters c SET last = (SELECT max(serial) FROM papers p WHERE (p.outlet_id, p.kind, p.fy) = (c.outlet_id, c.kind, c.fy))`, `UPDATE order_times t SET orders = h.orders, items = h.items, make_minutes = h.make_minutes
		FROM (SELECT outlet_id, starts_at, count(*) AS orders, sum(items) AS items, sum(make_minutes) AS make_minutes FROM order_time_holds WHERE state <> 'released' GROUP BY 1, 2) h
		WHERE t.outlet_id = h.outlet_id AND t.starts_at = h.starts_at`}) {
		_, err := tx.ExecContext(ctx, text)
		must(s.t, err)
	}
	must(s.t, tx.Commit())
}
