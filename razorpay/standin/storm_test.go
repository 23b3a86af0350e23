package standin_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tiffin/razorpay/standin"
)

// TestAStormKeepsTheBooksRight has many callers create, pay and refund at once, some of them answered badly, with every event
// delivered to a shop that fails a tenth of the time.
func TestAStormKeepsTheBooksRight(t *testing.T) {
	var mu sync.Mutex
	n := 0
	h := newShop(t, func(post, int) int {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%10 == 0 {
			return 500
		}
		return 200
	})
	s, base := openFor(t, h, standin.Options{RetryScale: 10_000})
	s.Inject(standin.Fault{Method: "POST", Path: "/v1/payments/*/refund", Kind: standin.Drop, Percent: 30})
	const orders = 200
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	refund := func(payment, key string) error {
		req, err := http.NewRequest("POST", base+"/v1/payments/"+payment+"/refund", strings.NewReader(`{"amount":100,"receipt":"`+key+`"}`))
		if err != nil {
			return err
		}
		req.SetBasicAuth(standin.DefaultKeyID, standin.DefaultKeySecret)
		req.Header.Set("X-Refund-Idempotency", key)
		res, err := client.Do(req)
		if err != nil {
			return nil // dropped: tried again with the same key
		}
		return res.Body.Close()
	}
	var all sync.WaitGroup
	for range orders {
		id := newOrder(t, base, "45900")
		for range 3 { // three payments race for one order
			all.Go(func() {
				if _, err := s.Pay(standin.PayParams{OrderID: id}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for i, p := range s.Books().Payments {
		if !p.Captured {
			continue
		}
		for range 2 { // two callers, each trying until the other's or its own answer is there
			all.Go(func() {
				for range 4 {
					if err := refund(p.ID, fmt.Sprintf("storm-key-%04d", i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	idle(t, s)
	books := s.Books()
	for _, o := range books.Orders {
		captured, kept := 0, int64(0)
		for _, p := range books.PaymentsOf(o.ID) {
			kept += books.KeptPaise(p.ID)
			if p.Captured {
				captured++
				if len(books.RefundsOf(p.ID)) != 1 {
					t.Errorf("%d refunds under one key", len(books.RefundsOf(p.ID)))
				}
			} else if !p.AutoRefunded {
				t.Errorf("%+v", p)
			}
		}
		if captured != 1 || kept != 45800 || o.AmountPaidPaise != 45900 {
			t.Errorf("%d captured, %d kept, order %+v", captured, kept, o)
		}
	}
	seen := map[string]bool{}
	for _, p := range h.got() {
		seen[p.id] = true
	}
	if len(seen) != len(s.Events()) {
		t.Errorf("%d of %d events arrived", len(seen), len(s.Events()))
	}
}
