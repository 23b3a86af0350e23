// Package handlers is the browser's and the gateway's door: HTTP in, HTML out. Each handler parses, makes one call inward and renders.
// It knows Fiber, cookies and headers; it must not know SQL, the gateway's client or how a price comes about.
// It promises that a form which our pages cannot send changes nothing, that no answer is a dead end, and that no log line names a person.
// Read routes.go first, then errors.go: every way in, and every way something may go wrong.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"tiffin/live"
	"tiffin/models"
	"tiffin/payments"
)

// Config is what the wiring reads from the environment for this room. None of it is secret: the key's secret never comes here.
type Config struct {
	PublicURL      string   // https://shop.example, without a slash at the end
	KeyID          string   // of the gateway; browsers are told it
	TestMode       bool     // KeyID is a test key
	CheckoutURL    string   // Razorpay's checkout.js
	HostedURL      string   // Razorpay's page for browsers without script: …/v1/checkout/embedded
	CSPHosts       []string // origins of Razorpay that the pay page, and only it, may load, frame, ask and post to
	PushKey        string   // the public key of web push; empty: notifications are not offered
	TrustedProxies []string // addresses or prefixes whose X-Forwarded-For is believed; a name that is neither is ignored
}

// Deps are the rooms this one opens onto.
type Deps struct {
	Store        *models.Store
	Cashier      *payments.Cashier
	Hub          *live.Hub
	Log          *slog.Logger
	Now          func() time.Time
	Jobs         http.Handler                    // River's own pages; nil: there are none
	Registry     *prometheus.Registry            // where request times are counted; nil: nowhere
	Ready        func(ctx context.Context) error // nil, or why this process must get no visitors (migrations behind)
	WorkersAlive func() bool                     // whether the job workers run; nil: this process has none
}

// App is the HTTP side of the shop. Its methods may be called from any goroutine.
type App struct {
	cfg     Config
	deps    Deps
	store   *models.Store
	cashier *payments.Cashier
	log     *slog.Logger
	now     func() time.Time
	proxies []netip.Prefix
	fiber   *fiber.App
	metrics *metrics

	closing   chan struct{} // closed when streams are to end
	closeOnce sync.Once
}

const (
	// bodyLimit is far above the longest form of ours (a checkout with every field full is under 20 KB).
	bodyLimit = 512 << 10

	// readTimeout bounds how long a request may take to arrive, idleTimeout how long a connection may wait for the next one. A write
	// has no limit here: it would cut every event stream after that long; stream.go has its own guard.
	readTimeout = 15 * time.Second
	idleTimeout = 75 * time.Second

	// requestTimeout bounds the work for one request. Longer than the gateway's 8 s and a lock's 5 s, shorter than a browser's patience.
	requestTimeout = 20 * time.Second
)

// New wires the app. It touches neither network nor database.
func New(cfg Config, deps Deps) *App {
	a := &App{cfg: cfg, deps: deps, store: deps.Store, cashier: deps.Cashier, log: deps.Log, now: deps.Now,
		proxies: prefixes(cfg.TrustedProxies), closing: make(chan struct{}), metrics: newMetrics(deps.Registry, deps.Store)}
	a.fiber = fiber.New(fiber.Config{
		AppName:               "tiffin",
		DisableStartupMessage: true,
		Immutable:             true, // strings of a request may be kept: without it 397 of 400 were overwritten by the next one
		BodyLimit:             bodyLimit,
		ReadTimeout:           readTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        16 << 10, // cookies and a long query together; Fiber's 4 KB answers 431 to some browsers
		ErrorHandler:          a.fail,   // what never reached a handler: bodies too large, broken headers

		// X-Forwarded-… are believed from nobody here; the one that is needed is read in clientAddress.
		EnableTrustedProxyCheck: true,
	})
	a.fiber.Server().HeaderReceived = allowPhotos
	a.register(a.fiber)
	return a
}

// Fiber is the server to listen with, and what tests send requests to.
func (a *App) Fiber() *fiber.App { return a.fiber }

// Close ends every open stream, so that the server can shut down: it waits for them. Call it before Fiber().Shutdown. Safe to repeat.
func (a *App) Close() { a.closeOnce.Do(func() { close(a.closing) }) }

// isHTTPS reports whether visitors come by https, so that cookies must never travel otherwise.
func (a *App) isHTTPS() bool { return strings.HasPrefix(a.cfg.PublicURL, "https://") }

func prefixes(names []string) []netip.Prefix {
	var known []netip.Prefix
	for _, name := range names {
		if p, err := netip.ParsePrefix(name); err == nil {
			known = append(known, p.Masked())
		} else if addr, err := netip.ParseAddr(name); err == nil {
			known = append(known, netip.PrefixFrom(addr, addr.BitLen()))
		}
	}
	return known
}

// clientAddress is the address a request came from: the connection's, or, where that is a proxy of ours, the nearest one in
// X-Forwarded-For that is not. What stands further left was written by the client and is worth nothing.
func (a *App) clientAddress(c *fiber.Ctx) string {
	addr, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if !ok {
		return ""
	}
	addr = addr.Unmap()
	forwarded := strings.Split(c.Get(fiber.HeaderXForwardedFor), ",")
	for i := len(forwarded) - 1; i >= 0 && a.isProxy(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.String()
}

func (a *App) isProxy(addr netip.Addr) bool {
	for _, p := range a.proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
