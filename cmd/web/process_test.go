//go:build e2e

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tiffin/devdb"
	"tiffin/models"
	"tiffin/push"
	"tiffin/razorpay/standin"
)

const testWebhookSecret = "test_webhook_secret_0001"

// patience bounds every wait of these tests. Nothing takes nearly as long on an idle machine; two busy cores may.
const patience = 40 * time.Second

// buildOnce makes the program with fault points, once for all tests of this package.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tiffin-crash-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "tiffin")
	out, err := exec.Command("go", "build", "-tags", "faultpoint", "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := buildOnce(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// town is one database and one gateway, and the shop processes a test runs on them.
type town struct {
	t       testing.TB
	store   *models.Store
	gateway *standin.Server
	env     []string
	offset  time.Duration
	outlet  models.Outlet
	push    push.Testing // of shops in this process
}

func newTown(t testing.TB, options standin.Options) *town {
	t.Helper()
	url := devdb.URL(t)
	store, err := models.Open(t.Context(), url, 4)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	_, err = store.LoadDemo(t.Context())
	must(t, err)
	// The kitchen opens at midnight and not at four in the morning: the service that is on when a test begins has at least four hours to go.
	_, err = store.SQL().ExecContext(t.Context(), `UPDATE outlet_hours SET opens_minute = 0`)
	must(t, err)
	outlets, err := store.ListOutlets(t.Context())
	must(t, err)
	if options.RetryScale == 0 {
		options.RetryScale = 1000
	}
	gateway := standin.New(options)
	api, err := gateway.Start("127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, gateway.Close()) })
	return &town{t: t, store: store, gateway: gateway, outlet: outlets[0], env: []string{
		"DATABASE_URL=" + url, "MAIL_DIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"RAZORPAY_KEY_ID=" + gateway.KeyID(), "RAZORPAY_KEY_SECRET=" + gateway.KeySecret(), "RAZORPAY_WEBHOOK_SECRET=" + testWebhookSecret,
		"RAZORPAY_API_URL=" + api, "RAZORPAY_CHECKOUT_URL=" + api + "/v1/checkout.js",
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process is one running shop.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	addr string
	out  *syncBuffer
	gone chan struct{}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// last is the end of what was written.
func (s *syncBuffer) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.b.String()
	return text[max(0, len(text)-4000):]
}

// freeAddr is a loopback address nobody listens on now.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { must(t, l.Close()) }()
	return l.Addr().String()
}

// run starts a shop at addr, planned to be killed at fault ("" never), and waits until it is ready.
func (w *town) run(addr, fault string) *process {
	w.t.Helper()
	binary, err := buildOnce()
	must(w.t, err)
	p := &process{t: w.t, addr: addr, url: "http://" + addr, out: &syncBuffer{}, gone: make(chan struct{})}
	p.cmd = exec.Command(binary)
	p.cmd.Env = append(append([]string{}, w.env...), "LISTEN_ADDR="+addr, "PUBLIC_URL="+p.url, "TIFFIN_FAULTPOINT="+fault)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(w.t, p.cmd.Start())
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait()
	}()
	w.t.Cleanup(p.kill)
	w.wait("the shop at "+addr+" is ready", func() bool {
		select {
		case <-p.gone:
			w.t.Fatalf("the shop ended:\n%s", p.out.last())
		default:
		}
		r, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	return p
}

// kill ends the process as a power cut does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.gone
}

// stop ends it as an operator does, and wants a clean exit.
func (p *process) stop() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.gone:
	case <-time.After(patience):
		p.t.Fatalf("the shop does not stop:\n%s", p.out.last())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("exit code %d:\n%s", code, p.out.last())
	}
}

// died waits for the process to be killed by its fault point.
func (p *process) died() {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(patience):
		p.t.Fatalf("the fault point was not reached:\n%s", p.out.last())
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("the shop ended otherwise: %s\n%s", p.cmd.ProcessState, p.out.last())
	}
}

// wait asks again and again whether something has come true in another process.
func (w *town) wait(what string, true_ func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !true_() {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// webhooksTo points the gateway's webhooks at a shop.
func (w *town) webhooksTo(p *process) {
	w.gateway.SetWebhooks(standin.Webhook{URL: p.url + "/webhooks/razorpay", Secret: testWebhookSecret})
}

// advance moves the shop's clock and the gateway's.
func (w *town) advance(d time.Duration) {
	w.t.Helper()
	w.offset += d
	_, err := w.store.SQL().ExecContext(w.t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION shop_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		$$ SELECT clock_timestamp() + interval '%d milliseconds' $$`, w.offset.Milliseconds()))
	must(w.t, err)
	w.gateway.Advance(d)
}

// count reads one number.
func (w *town) count(query string, args ...any) (n int64) {
	w.t.Helper()
	must(w.t, w.store.SQL().QueryRowContext(w.t.Context(), query, args...).Scan(&n))
	return n
}

// settle lets time pass until nothing is open any more, and fails on a promise that is broken then.
func (w *town) settle() {
	w.t.Helper()
	for _, pause := range []time.Duration{0, 70 * time.Second, 70 * time.Second, 3 * time.Minute, 10 * time.Minute, 15 * time.Minute, time.Hour} {
		w.advance(pause)
		w.wait("the sweeps have nothing left to do", func() bool {
			open, err := w.store.ListUnsettled(w.t.Context())
			must(w.t, err)
			due := w.count(`SELECT (SELECT count(*) FROM orders WHERE next_check_at <= shop_now()) + (SELECT count(*) FROM payment_hints WHERE done_at IS NULL AND next_attempt_at <= shop_now())
				+ (SELECT count(*) FROM refunds WHERE status IN ('requested', 'submitted') AND next_attempt_at <= shop_now() AND (lease_until IS NULL OR lease_until < shop_now()))
				+ (SELECT count(*) FROM gateway_claims WHERE state IN ('open', 'unknown') AND COALESCE(resolve_at, expires_at) <= shop_now())`)
			return due == 0 && (len(open) == 0 || pause < time.Hour)
		})
	}
	broken, err := w.store.ListBroken(w.t.Context())
	must(w.t, err)
	for _, b := range broken {
		w.t.Errorf("%s: %s (order %v)", b.Inv, b.Detail, b.OrderID)
	}
	w.audit()
}

// audit compares the gateway's books with ours: what it holds for us is what our paid orders are worth.
func (w *town) audit() {
	w.t.Helper()
	books := w.gateway.Books()
	var held int64
	for _, p := range books.Payments {
		held += books.KeptPaise(p.ID)
	}
	if worth := w.count(`SELECT COALESCE(sum(amount_paise), 0)::bigint FROM orders WHERE status = 'paid'`); held != worth {
		w.t.Errorf("the gateway holds %d paise, paid orders are worth %d", held, worth)
	}
	if n := w.count(`SELECT count(*) FROM gateway_orders WHERE handed_out_at IS NOT NULL`); n > w.count(`SELECT count(*) FROM orders`) {
		w.t.Errorf("%d gateway orders were handed out", n)
	}
}

// visitor is a customer with a plain HTTP client: cookies, no script.
type visitor struct {
	*town
	shop   *process
	deaths int
	client *http.Client
	jar    map[string]string
}

func (w *town) visitor(p *process) *visitor {
	return &visitor{town: w, shop: p, jar: map[string]string{}, client: &http.Client{Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// page is an answer.
type page struct {
	status   int
	location string
	body     string
}

// send makes one request; a connection that breaks because the shop was killed gives status 0.
func (v *visitor) send(method, path string, form map[string][]string) page {
	v.t.Helper()
	var body bytes.Buffer
	if form != nil {
		body.WriteString(encode(form))
	}
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.shop.url+path, &body)
	must(v.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range v.jar {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := v.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			v.t.Fatal(err)
		}
		return page{}
	}
	defer func() { _ = answer.Body.Close() }()
	for _, c := range answer.Cookies() {
		v.jar[c.Name] = c.Value
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return page{}
	}
	return page{answer.StatusCode, strings.TrimPrefix(answer.Header.Get("Location"), v.shop.url), text.String()}
}
