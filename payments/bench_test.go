package payments

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// `make bench` runs these once each and prints docs/performance.md's table. The server waits for the disk. Each number stands beside what
// pgbench makes of the same statements in the same minute, since a machine's own numbers say little on another.

const (
	benchRounds  = 5   // ours and pgbench's in turn; the median counts
	benchRuns    = 240 // of one round
	benchWorkers = 8   // at once, as many as the shop's pool can use on a small machine
)

// openBench is a shop on a server that waits for the disk, and that server.
func openBench(b *testing.B) (*shop, *devdb.Server, string) {
	b.Helper()
	server := devdb.Durable(b)
	database := server.TestURL(b)
	return openShopAt(b, database, standin.Options{}), server, database
}

// beside runs both in turn and reports the medians of ours and of the ratios.
func beside(b *testing.B, ours, theirs func() float64) {
	b.Helper()
	var rates, ratios []float64
	for range benchRounds {
		rate := ours()
		rates, ratios = append(rates, rate), append(ratios, rate/theirs())
	}
	slices.Sort(rates)
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op") // of no meaning here, and so not printed
	b.ReportMetric(rates[len(rates)/2], "/s")
	b.ReportMetric(ratios[len(ratios)/2], "of-pgbench")
}

// share has workers take the tasks one by one and says how many a second were done.
func share(b *testing.B, workers int, tasks []func() error) float64 {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range workers {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(tasks) {
					return
				}
				if err := tasks[n](); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	return float64(len(tasks)) / time.Since(began).Seconds()
}

// BenchmarkRecord: money that is kept, from the gateway's answer, which the stand-in gives, to the commit.
func BenchmarkRecord(b *testing.B) {
	s, server, database := openBench(b)
	first, _ := s.newCustomer().add("dal-makhani", 2).add("naan", 1).open()
	const all = 2 * benchRounds * benchRuns
	s.copyRows(2 * all)
	payments := s.payCopies(first, all)
	s.exec(`CREATE SEQUENCE next_order`)
	s.exec(`SELECT setval('next_order', $1)`, all) // pgbench takes the second half
	for _, workers := range []int{1, benchWorkers} {
		b.Run(fmt.Sprintf("%d_at_once", workers), func(b *testing.B) {
			s.t = b
			beside(b, func() float64 {
				var tasks []func() error
				for _, id := range payments[:benchRuns] {
					tasks = append(tasks, func() error {
						_, err := s.cashier.recordPayment(b.Context(), id, models.ViaSweep, 0)
						return err
					})
				}
				payments = payments[benchRuns:]
				return share(b, workers, tasks)
			}, func() float64 {
				return server.Pgbench(b, database, "testdata/pgbench/record.sql", workers, benchRuns, "first", first.ID)
			})
		})
	}
	s.t = b
	if paid := s.count(`SELECT count(*) FROM fulfilments`); paid != 2*all {
		b.Errorf("%d of %d orders are paid", paid, 2*all)
	}
	s.kept()
}

// payCopies makes gateway orders for the first n copies of an order, pays them, and returns the payments.
func (s *shop) payCopies(first *models.Order, n int) (payments []string) {
	s.t.Helper()
	client := razorpay.New(razorpay.Config{KeyID: s.gateway.KeyID(), KeySecret: s.gateway.KeySecret(), APIURL: s.gatewayURL})
	tx, err := s.store.SQL().BeginTx(s.t.Context(), nil)
	must(s.t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(s.t.Context(), `SET LOCAL session_replication_role = replica`)
	must(s.t, err)
	for i := range n {
		made, err := client.CreateOrder(s.t.Context(), razorpay.OrderParams{AmountPaise: int64(first.AmountPaise), Currency: "INR", Receipt: fmt.Sprint(i)})
		must(s.t, err)
		_, err = tx.ExecContext(s.t.Context(), `UPDATE gateway_orders SET razorpay_order_id = $1 WHERE order_id = $2`, made.ID, first.ID+int64(i+1)*1000)
		must(s.t, err)
		paid := s.pay(standin.PayParams{OrderID: made.ID})
		payments = append(payments, paid.ID)
	}
	must(s.t, tx.Commit())
	return payments
}

// BenchmarkPlace: pressing Pay, from the session's cart to the order's commit. Numbers have no gaps, so an outlet's placings commit one by one.
func BenchmarkPlace(b *testing.B) {
	s, server, database := openBench(b)
	first := s.newCustomer().add("dal-makhani", 2).add("naan", 1).place()
	// pgbench's customers, whose carts nobody else uses
	var customers []*customer
	for range benchWorkers {
		customers = append(customers, s.newCustomer().add("dal-makhani", 2).add("naan", 1))
	}
	c := customers[0]
	c.refresh()
	cart, err := s.store.FindCart(b.Context(), c.session)
	must(b, err)
	s.exec(`CREATE SEQUENCE next_cart`)
	for _, workers := range []int{1, benchWorkers} {
		b.Run(fmt.Sprintf("%d_at_once", workers), func(b *testing.B) {
			s.t = b
			beside(b, func() float64 {
				var tasks []func() error
				for range benchRuns {
					in := s.newCustomer().add("dal-makhani", 2).add("naan", 1).checkout()
					tasks = append(tasks, func() error {
						_, err := s.cashier.PlaceOrder(b.Context(), in)
						return err
					})
				}
				return share(b, workers, tasks)
			}, func() float64 {
				return server.Pgbench(b, database, "testdata/pgbench/place.sql", workers, benchRuns, "first", first.ID,
					"session", c.session.ID, "customer", *c.session.CustomerID, "cart", cart.ID)
			})
		})
	}
	s.t = b
	s.kept()
}

// BenchmarkBooks: how long it takes to look through all the rows for a broken promise, as a job does every five minutes.
func BenchmarkBooks(b *testing.B) {
	first := time.Duration(0)
	for _, orders := range []int{1000, 10000, 50000} {
		b.Run(fmt.Sprintf("of_%d_orders", orders), func(b *testing.B) {
			s, _, _ := openBench(b)
			s.grow(orders)
			var took []time.Duration
			for range 5 {
				began := time.Now()
				s.kept()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			if first == 0 {
				first = took[2]
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took[2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[2])/(float64(first)*float64(orders)/1000), "of-linear-growth")
		})
	}
}
