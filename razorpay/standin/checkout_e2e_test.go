//go:build e2e

package standin_test

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"tiffin/razorpay"
	"tiffin/razorpay/standin"
)

// seen is what a scenario of testdata/harness.js reports, or what its callback brought.
type seen struct {
	Handler []struct {
		PaymentID string `json:"razorpay_payment_id"`
		OrderID   string `json:"razorpay_order_id"`
		Signature string `json:"razorpay_signature"`
	}
	Failed []struct {
		Error struct {
			Code, Reason string
			Metadata     struct {
				PaymentID string `json:"payment_id"`
				OrderID   string `json:"order_id"`
			}
		}
	}
	Dismissed                                int
	Violations                               []string
	Error, Header, Title                     string
	Open, Modal, Inside, Left, Stays, Stayed bool
	Disabled                                 bool
	Sheets                                   int
	Thrown                                   []string
	ErrorThrown                              string `json:"error_thrown"`

	order    string
	callback url.Values
	query    url.Values
	origin   string
}

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body data-order="{{.Order}}" data-key="{{.Key}}" data-scenario="{{.Scenario}}"><main><h1>Pay</h1></main>
<script src="{{.StandIn}}/v1/checkout.js"></script><script type="module" src="/harness.js"></script></body></html>`))

// TestCheckoutInABrowser drives the script in headless Chromium, on a page with a strict policy that allows the stand-in's
// origin for scripts and calls and nothing else: no inline style, no inline script, no frame.
func TestCheckoutInABrowser(t *testing.T) {
	s, base := open(t, standin.Options{Settings: standin.Settings{LateAfter: time.Hour}})
	ok := func(t *testing.T, r seen) standin.Payment {
		t.Helper()
		if len(r.Handler) != 1 || r.Handler[0].OrderID != r.order || !razorpay.VerifyCheckout(standin.DefaultKeySecret, r.order, r.Handler[0].PaymentID, r.Handler[0].Signature) {
			t.Fatalf("handler got %+v", r.Handler)
		}
		if r.Dismissed != 0 {
			t.Errorf("dismissed %d times", r.Dismissed)
		}
		p := payment(t, s, r.Handler[0].PaymentID)
		if p.Status != "captured" || p.Notes["a"] != "b" {
			t.Errorf("%+v", p)
		}
		return p
	}
	dismissed := func(t *testing.T, r seen, status string) {
		t.Helper()
		if r.Dismissed != 1 || len(r.Handler) != 0 {
			t.Errorf("dismissed %d times, handler %v", r.Dismissed, r.Handler)
		}
		var got string
		for _, p := range s.Books().PaymentsOf(r.order) {
			got += p.Status
		}
		if got != status {
			t.Errorf("payments %q, want %q", got, status)
		}
	}
	callback := func(t *testing.T, r seen, success bool) {
		t.Helper()
		id := r.callback.Get("razorpay_payment_id")
		if success != razorpay.VerifyCheckout(standin.DefaultKeySecret, r.order, id, r.callback.Get("razorpay_signature")) || success == r.callback.Has("error[code]") {
			t.Errorf("came %v", r.callback)
		}
		if r.query.Get("order") != "tok" || r.origin != base {
			t.Errorf("query %v, origin %q", r.query, r.origin)
		}
	}
	scenarios := []struct {
		name  string
		check func(*testing.T, seen)
	}{
		{"succeed", func(t *testing.T, r seen) {
			if p := ok(t, r); p.Email != "guest@example.test" || p.Contact != "+919999999999" || p.Description != "Order 7" {
				t.Errorf("%+v", p)
			}
			if !r.Open || !r.Modal || !r.Inside || r.Left || r.Title != "Kesar Kitchen" || r.Header != "rgb(122, 46, 31)" {
				t.Errorf("%+v", r)
			}
		}},
		{"fail then succeed", func(t *testing.T, r seen) {
			ok(t, r)
			if len(r.Failed) != 1 || r.Failed[0].Error.Code != "BAD_REQUEST_ERROR" || r.Failed[0].Error.Metadata.OrderID != r.order || !r.Stays || r.Error == "" {
				t.Errorf("%+v", r)
			}
			if n := len(s.Books().PaymentsOf(r.order)); n != 2 {
				t.Errorf("%d payments", n)
			}
		}},
		{"upi test ids", func(t *testing.T, r seen) {
			if p := ok(t, r); p.VPA != "success@razorpay" || len(r.Failed) != 1 {
				t.Errorf("%+v", r)
			}
		}},
		{"card and password", func(t *testing.T, r seen) {
			if p := ok(t, r); p.Method != "card" || p.Card.Last4 != "1007" || len(r.Failed) != 1 || r.Failed[0].Error.Reason != "invalid_otp" {
				t.Errorf("%+v", r)
			}
		}},
		{"netbanking", func(t *testing.T, r seen) {
			if p := ok(t, r); p.Method != "netbanking" || p.Bank != "HDFC" {
				t.Errorf("%+v", p)
			}
		}},
		{"pending then close", func(t *testing.T, r seen) { dismissed(t, r, "created") }},
		{"pending then the bank says yes", func(t *testing.T, r seen) { ok(t, r) }},
		{"pending then succeed by hand", func(t *testing.T, r seen) {
			ok(t, r)
			if n := len(s.Books().PaymentsOf(r.order)); n != 1 {
				t.Errorf("%d payments", n)
			}
		}},
		{"succeed late", func(t *testing.T, r seen) {
			dismissed(t, r, "failed")
			if p := s.Books().PaymentsOf(r.order)[0]; p.SucceedAt.IsZero() {
				t.Errorf("%+v", p)
			}
		}},
		{"confirm close", func(t *testing.T, r seen) {
			dismissed(t, r, "")
			if !r.Stayed {
				t.Error("closed at once")
			}
		}},
		{"escape", func(t *testing.T, r seen) {
			if !r.Stayed || r.Dismissed != 2 {
				t.Errorf("%+v", r)
			}
		}},
		{"timeout", func(t *testing.T, r seen) { dismissed(t, r, "") }},
		{"no retry", func(t *testing.T, r seen) {
			dismissed(t, r, "failed")
			if r.Left || len(r.Failed) != 1 {
				t.Errorf("%+v", r)
			}
		}},
		{"opened twice, closed, opened again", func(t *testing.T, r seen) {
			if r.Sheets != 1 || r.Dismissed != 1 || len(r.Handler) != 1 {
				t.Errorf("%+v", r)
			}
		}},
		{"wrong key", func(t *testing.T, r seen) {
			if r.Error != "Oops! Something went wrong. The id provided does not exist" || !r.Disabled {
				t.Errorf("%+v", r)
			}
		}},
		{"bad options", func(t *testing.T, r seen) {
			if len(r.Thrown) != 4 || slices.Contains(r.Thrown, "") {
				t.Errorf("%q", r.Thrown)
			}
		}},
		{"callback by redirect", func(t *testing.T, r seen) { callback(t, r, true) }},
		{"callback of a failure", func(t *testing.T, r seen) { callback(t, r, false) }},
		{"callback without handler", func(t *testing.T, r seen) { callback(t, r, true) }},
		{"callback beside a handler", func(t *testing.T, r seen) { ok(t, r) }},
	}

	results := make(chan seen)
	var mu sync.Mutex
	next, order := 0, ""
	deliver := func(r seen) {
		mu.Lock()
		r.order = order
		mu.Unlock()
		select {
		case results <- r:
		case <-t.Context().Done():
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /next", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if next == len(scenarios) {
			fmt.Fprint(w, "<!doctype html><title>done</title>")
			return
		}
		order = newOrder(t, base, "45900")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+base+"; connect-src 'self' "+base+"; style-src 'self'; form-action 'self'; base-uri 'none'")
		err := page.Execute(w, map[string]string{"Order": order, "Key": standin.DefaultKeyID, "Scenario": scenarios[next].name, "StandIn": base})
		if err != nil {
			t.Error(err)
		}
		next++
	})
	mux.HandleFunc("GET /harness.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/harness.js") })
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		if err := s.SucceedLate(s.Books().PaymentsOf(r.FormValue("order"))[0].ID); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST /report", func(w http.ResponseWriter, r *http.Request) {
		var got seen
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		deliver(got)
	})
	mux.HandleFunc("POST /callback", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		deliver(seen{callback: r.PostForm, query: r.URL.Query(), origin: r.Header.Get("Origin")})
		http.Redirect(w, r, "/next", http.StatusSeeOther)
	})
	shop := httptest.NewServer(mux)
	defer shop.Close()
	browse(t, shop.URL+"/next")

	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			select {
			case r := <-results:
				if r.ErrorThrown != "" || len(r.Violations) > 0 {
					t.Fatalf("%s %v", r.ErrorThrown, r.Violations)
				}
				c.check(t, r)
			case <-time.After(60 * time.Second):
				t.Fatal("the browser reported nothing")
			}
		})
	}
}

// browse opens an address in headless Chromium until the test ends.
func browse(t *testing.T, address string) {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), address)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // killed on purpose
		})
		return
	}
	t.Fatal("this test needs Chromium (apt-get install chromium); PATH is ", os.Getenv("PATH"))
}
