package handlers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"tiffin/devdb"
	"tiffin/razorpay"
)

// `make bench` runs these once each; payments/bench_test.go says how to read them.

const (
	webhookConnections = 32
	webhookLimit       = 100 * time.Millisecond // of the 99th percentile: Razorpay gives up after 5 s, and each repeat costs as much again
	benchRounds        = 5
)

// listen serves an app on a port of its own, as the shop does.
func listen(b *testing.B, app *fiber.App) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	b.Cleanup(func() {
		must(b, app.Shutdown())
		must(b, <-done)
	})
	return "http://" + listener.Addr().String()
}

// load sends n requests over so many connections, each of which waits for its answer, and says how many a second were answered and how
// long each took, shortest first.
func load(b *testing.B, connections, n int, request func(i int) *http.Request, want int) (rate float64, took []time.Duration) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true}}
	defer client.CloseIdleConnections()
	took = make([]time.Duration, n)
	var next atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range connections {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				asked := time.Now()
				response, err := client.Do(request(i))
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				took[i] = time.Since(asked)
				if err != nil || response.StatusCode != want {
					b.Errorf("%s, %v", response.Status, err)
					return
				}
			}
		})
	}
	group.Wait()
	rate = float64(n) / time.Since(began).Seconds()
	slices.Sort(took)
	return rate, took
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkWebhook: deliveries of new events, from the wire to the commit and back.
func BenchmarkWebhook(b *testing.B) {
	server := devdb.Durable(b)
	database := server.TestURL(b)
	s := openShopAt(b, database, Config{PublicURL: publicURL})
	address := listen(b, s.app.Fiber())
	const n = 3000
	var rates, ratios []float64
	var took []time.Duration
	for round := range benchRounds {
		rate, times := load(b, webhookConnections, n, func(i int) *http.Request {
			body := strings.Replace(vectorBody, "pay_TESTRAW0000001", fmt.Sprintf("pay_BENCH%d%08d", round, i), 1)
			r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address+"/webhooks/razorpay", strings.NewReader(body))
			must(b, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Razorpay-Signature", razorpay.SignWebhook(webhookSecret, []byte(body)))
			r.Header.Set("X-Razorpay-Event-Id", fmt.Sprintf("evt_%d_%d", round, i))
			return r
		}, 200)
		rates, took = append(rates, rate), append(took, times...)
		ratios = append(ratios, rate/server.Pgbench(b, database, "testdata/pgbench/webhook.sql", 12, n)) // 12: as many as the shop's pool has here
	}
	if stored := s.count(`SELECT count(*) FROM webhook_events WHERE event_id NOT LIKE 'evt_bench%'`); stored != n*benchRounds {
		b.Errorf("%d events are stored", stored)
	}
	slices.Sort(rates)
	slices.Sort(ratios)
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	if p99 > webhookLimit {
		b.Errorf("one in a hundred webhooks waits longer than %s for its answer", p99)
	}
	b.ReportMetric(0, "ns/op") // of no meaning here, and so not printed
	b.ReportMetric(rates[len(rates)/2], "/s")
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(p99), "p99-ms")
	b.ReportMetric(ratios[len(ratios)/2], "of-pgbench")
}

// BenchmarkMenu: the front page for a visitor with a cart, beside the same bytes from a handler that does nothing else.
func BenchmarkMenu(b *testing.B) {
	s := openShopAt(b, devdb.Durable(b).TestURL(b), Config{PublicURL: publicURL})
	v := s.visitor()
	v.put("dal-makhani", 2)
	page := v.get("/").is(200).body
	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Get("/", func(c *fiber.Ctx) error { return c.Type("html", "utf-8").SendString(page) })
	ask := func(address string) func(int) *http.Request {
		return func(int) *http.Request {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address+"/", nil)
			must(b, err)
			r.AddCookie(&http.Cookie{Name: guestCookie, Value: v.cookies[guestCookie]})
			return r
		}
	}
	ours, theirs := ask(listen(b, s.app.Fiber())), ask(listen(b, bare))
	var rates, ratios []float64
	var took []time.Duration
	for range benchRounds {
		rate, times := load(b, 8, 1500, ours, 200)
		bareRate, _ := load(b, 8, 1500, theirs, 200)
		rates, ratios, took = append(rates, rate), append(ratios, rate/bareRate), append(took, times...)
	}
	slices.Sort(rates)
	slices.Sort(ratios)
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rates[len(rates)/2], "/s")
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(ratios[len(ratios)/2], "of-a-bare-handler")
}
