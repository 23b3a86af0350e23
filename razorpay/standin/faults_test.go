package standin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiffin/razorpay/standin"
)

// try makes one create call and tells how it ended.
func try(ctx context.Context, base, receipt string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/orders", strings.NewReader(`{"amount":500,"currency":"INR","receipt":"`+receipt+`"}`))
	if err != nil {
		return 0, "", err
	}
	req.SetBasicAuth(standin.DefaultKeyID, standin.DefaultKeySecret)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

func TestFaultsOnCalls(t *testing.T) {
	s, base := open(t, standin.Options{})
	for _, c := range []struct {
		name   string
		fault  standin.Fault
		status int
		body   string
		broken bool
		made   bool
	}{
		{name: "none", status: 200, body: "order_", made: true},
		{name: "refuse", fault: standin.Fault{Kind: standin.Refuse, Refusal: "rate_limited"}, status: 429, body: "Too many requests"},
		{name: "refuse after", fault: standin.Fault{Kind: standin.Refuse, Refusal: "server_error", After: true}, status: 500, body: "SERVER_ERROR", made: true},
		{name: "html", fault: standin.Fault{Kind: standin.HTML502}, status: 502, body: "<html>"},
		{name: "empty", fault: standin.Fault{Kind: standin.Empty200}, status: 200},
		{name: "empty after", fault: standin.Fault{Kind: standin.Empty200, After: true}, status: 200, made: true},
		{name: "braces", fault: standin.Fault{Kind: standin.EmptyObject}, status: 200, body: "{}"},
		{name: "truncate", fault: standin.Fault{Kind: standin.Truncate}, broken: true, status: 200, made: true},
		{name: "reset", fault: standin.Fault{Kind: standin.Reset}, broken: true},
		{name: "drop", fault: standin.Fault{Kind: standin.Drop}, broken: true, made: true},
		{name: "delay", fault: standin.Fault{Kind: standin.Delay, For: time.Millisecond}, status: 200, body: "order_", made: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			receipt := "f-" + strings.ReplaceAll(c.name, " ", "-")
			id := 0
			if c.fault.Kind != "" {
				c.fault.Method, c.fault.Path = "POST", "/v1/orders"
				id = s.Inject(c.fault)
				defer s.RemoveFault(id)
			}
			status, body, err := try(soon(t), base, receipt)
			if (err != nil) != c.broken || status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("%d %q %v", status, body, err)
			}
			if made := len(s.Books().OrdersOf(receipt)) == 1; made != c.made {
				t.Errorf("made: %v", made)
			}
			log := s.Requests()
			last := log[len(log)-1]
			if last.Receipt != receipt || last.Done != c.made || last.Fault != c.fault.Kind || !strings.Contains(last.Body, receipt) {
				t.Errorf("log: %+v", last)
			}
		})
	}

	t.Run("skip and times", func(t *testing.T) {
		id := s.Inject(standin.Fault{Path: "/v1/orders", Kind: standin.HTML502, Skip: 1, Times: 2})
		defer s.RemoveFault(id)
		var got []int
		for range 4 {
			status, _, err := try(soon(t), base, "")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, status)
		}
		if !slices.Equal(got, []int{200, 502, 502, 200}) || s.Faults()[0].Hits != 2 {
			t.Errorf("%v", got)
		}
	})
	t.Run("chance is seeded", func(t *testing.T) {
		run := func() (got []int) {
			s, base := open(t, standin.Options{Seed: 11})
			s.Inject(standin.Fault{Kind: standin.HTML502, Percent: 40})
			for range 30 {
				status, _, err := try(soon(t), base, "")
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, status)
			}
			return got
		}
		a, b := run(), run()
		if !slices.Equal(a, b) || !slices.Contains(a, 200) || !slices.Contains(a, 502) {
			t.Errorf("%v\n%v", a, b)
		}
	})
	t.Run("a stalled call is let go, or given up and not done", func(t *testing.T) {
		defer s.ClearFaults()
		s.Inject(standin.Fault{Path: "/v1/orders", Kind: standin.Stall})
		ctx, cancel := context.WithCancel(soon(t))
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, _, err := try(ctx, base, "impatient"); err == nil {
				t.Error("answered")
			}
		})
		if err := s.WaitStalled(soon(t), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		calls.Wait()
		if err := s.WaitStalled(soon(t), 0); err != nil {
			t.Fatal(err)
		}
		calls.Go(func() {
			if status, _, err := try(soon(t), base, "patient"); status != 200 || err != nil {
				t.Error(status, err)
			}
		})
		if err := s.WaitStalled(soon(t), 1); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Books().OrdersOf("patient")); n != 0 {
			t.Error("done while stalled")
		}
		s.ReleaseStalled()
		calls.Wait()
		if n, m := len(s.Books().OrdersOf("impatient")), len(s.Books().OrdersOf("patient")); n != 0 || m != 1 {
			t.Errorf("impatient %d, patient %d", n, m)
		}
	})
	t.Run("stalled after the work: done, not answered", func(t *testing.T) {
		defer s.ClearFaults()
		s.Inject(standin.Fault{Path: "/v1/orders", Kind: standin.Stall, After: true, Times: 1})
		ctx, cancel := context.WithCancel(soon(t))
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, _, err := try(ctx, base, "done"); err == nil {
				t.Error("answered")
			}
		})
		if err := s.WaitFor(soon(t), "the work", func(b standin.Books) bool { return len(b.OrdersOf("done")) == 1 }); err != nil {
			t.Fatal(err)
		}
		cancel()
		calls.Wait()
	})
	t.Run("the work comes late", func(t *testing.T) {
		defer s.ClearFaults()
		s.Inject(standin.Fault{Path: "/v1/orders", Kind: standin.Reset, Late: time.Hour, Times: 1})
		if _, _, err := try(soon(t), base, "late"); err == nil {
			t.Error("answered")
		}
		if len(s.Books().OrdersOf("late")) != 0 {
			t.Error("done at once")
		}
		s.Advance(time.Hour)
		if err := s.WaitFor(soon(t), "the late order", func(b standin.Books) bool { return len(b.OrdersOf("late")) == 1 }); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("nonsense is refused", func(t *testing.T) {
		for _, f := range []standin.Fault{{Kind: "explode"}, {Kind: standin.Refuse}, {Kind: standin.Refuse, Refusal: "nothing"}, {Kind: standin.Delay}, {Kind: standin.Reset, Path: "["}, {Kind: standin.Reset, Percent: 101}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%+v was taken", f)
					}
				}()
				s.Inject(f)
			}()
		}
	})
}

func TestOnRequestIsCalledWhileAnswering(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	_, base := open(t, standin.Options{OnRequest: func(method, path string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, method+" "+path)
	}})
	id := newOrder(t, base, "500")
	get(t, base+"/v1/orders/"+id+"/")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []string{"POST /v1/orders", "GET /v1/orders/" + id}) {
		t.Errorf("%v", seen)
	}
}

func TestCloseEndsStalledCallsAndDeliveries(t *testing.T) {
	gate := make(chan struct{})
	h := newShop(t, func(post, int) int { <-gate; return 200 })
	defer close(gate)
	s := standin.New(standin.Options{Webhooks: []standin.Webhook{{URL: h.URL}}})
	base, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pay(t, s, standin.PayParams{AmountPaise: 500, Outcome: standin.FailNow})
	s.Inject(standin.Fault{Kind: standin.Stall})
	ended := make(chan error)
	go func() {
		_, _, err := try(context.Background(), base, "x")
		ended <- err
	}()
	if err := s.WaitStalled(soon(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("answered after closing")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := s.Start("127.0.0.1:0"); !errors.Is(err, standin.ErrClosed) {
		t.Errorf("started after closing: %v", err)
	}
}
