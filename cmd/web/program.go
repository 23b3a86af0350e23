package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tiffin/handlers"
	"tiffin/jobs"
	"tiffin/live"
	"tiffin/mail"
	"tiffin/migrations"
	"tiffin/models"
	"tiffin/payments"
	"tiffin/push"
	"tiffin/razorpay"
)

// poolSize is how many connections one process takes. On the small machines this runs on, eight that work beat thirty-two that
// contend; the rest are for the listeners and the job queue.
const poolSize = 16

type options struct {
	otherMode bool
	log       *slog.Logger
}

// program is a running shop: main and the browser tests use the same.
type program struct {
	store    *models.Store
	hub      *live.Hub
	workers  *jobs.Workers
	app      *handlers.App
	listener net.Listener
	metrics  *http.Server
	stopHub  context.CancelFunc
	hubDone  chan struct{}
	failed   chan error
	log      *slog.Logger
}

// start opens the shop: database, schema, mode check, listener, workers, HTTP. When it fails nothing is left running.
func start(ctx context.Context, cfg Config, opt options) (p *program, err error) {
	p = &program{failed: make(chan error, 2), hubDone: make(chan struct{}), log: opt.log}
	defer func() {
		if err != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			err = errors.Join(err, p.Close(closing))
			p = nil
		}
	}()
	sender, err := mail.New(cfg.SMTPURL, cfg.MailDir, senderAddress(cfg.PublicURL))
	if err != nil {
		return p, err
	}
	if p.store, err = models.Open(ctx, cfg.DatabaseURL, poolSize); err != nil {
		return p, err
	}
	if err = migrations.Up(ctx, p.store.SQL()); err != nil {
		return p, err
	}
	conflict, err := p.store.ModeConflict(ctx, cfg.Payments.Mode())
	if err != nil {
		return p, err
	}
	if conflict && !opt.otherMode {
		return p, fmt.Errorf("%w: this key is a %s key; start with -other-mode if that is meant", models.ErrOtherMode, cfg.Payments.Mode())
	}

	if cfg.Payments.Mode() == "live" {
		if err = p.store.GoLive(ctx); err != nil {
			return p, err
		}
	}

	keys, err := p.store.EnsurePushKeys(ctx)
	if err != nil {
		return p, err
	}
	browsers := push.New(push.Keys(keys), contactAddress(cfg.PublicURL), cfg.Push)

	gateway := razorpay.New(razorpay.Config{KeyID: cfg.Payments.KeyID, KeySecret: cfg.Payments.KeySecret, APIURL: cfg.APIURL})
	cashier := payments.New(p.store, gateway, cfg.Payments, opt.log)
	p.hub = live.New(p.store.Pool(), models.NotifyChannel)
	hubCtx, stopHub := context.WithCancel(context.WithoutCancel(ctx))
	p.stopHub = stopHub
	go func() {
		defer close(p.hubDone)
		p.hub.Run(hubCtx)
	}()
	if p.workers, err = jobs.New(p.store, cashier, jobs.Letters{Sender: sender, PublicURL: cfg.PublicURL, Push: browsers}, opt.log); err != nil {
		return p, err
	}
	if err = p.workers.Start(ctx); err != nil {
		return p, err
	}

	jobPages, err := handlers.JobPages(hubCtx, p.workers.Endpoints(), opt.log)
	if err != nil {
		return p, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.app = handlers.New(handlers.Config{
		PublicURL: cfg.PublicURL, KeyID: cfg.Payments.KeyID, TestMode: cfg.Payments.Mode() == "test",
		CheckoutURL: cfg.CheckoutURL, HostedURL: cfg.APIURL + "/v1/checkout/embedded", CSPHosts: cfg.checkoutHosts(), TrustedProxies: cfg.Proxies, PushKey: keys.Public,
	}, handlers.Deps{
		Store: p.store, Cashier: cashier, Hub: p.hub, Log: opt.log, Now: time.Now, Jobs: jobPages, Registry: registry, Ready: p.ready, WorkersAlive: p.workers.Alive,
	})
	if p.listener, err = net.Listen("tcp", cfg.ListenAddr); err != nil {
		return p, err
	}
	go func() {
		if err := p.app.Fiber().Listener(p.listener); err != nil {
			p.failed <- fmt.Errorf("serve: %w", err)
		}
	}()
	if cfg.MetricsAddr != "" {
		if err = p.serveMetrics(cfg.MetricsAddr, registry); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *program) serveMetrics(addr string, registry *prometheus.Registry) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	p.metrics = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := p.metrics.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.failed <- fmt.Errorf("serve metrics: %w", err)
		}
	}()
	return nil
}

// ready says whether the schema is the one this program was built for.
func (p *program) ready(ctx context.Context) error {
	current, err := migrations.Current(ctx, p.store.SQL())
	if err == nil && !current {
		return errors.New("migrations are missing")
	}
	return err
}

// Addr is where the shop listens.
func (p *program) Addr() string { return p.listener.Addr().String() }

// Close stops in order: streams and HTTP, jobs, the listener, the database. Requests and jobs at work are waited for until ctx ends.
func (p *program) Close(ctx context.Context) error {
	var errs []error
	if p.app != nil {
		p.app.Close()
		errs = append(errs, p.app.Fiber().ShutdownWithContext(ctx))
	}
	if p.metrics != nil {
		errs = append(errs, p.metrics.Shutdown(ctx))
	}
	if p.workers != nil && p.workers.Alive() {
		errs = append(errs, p.workers.Stop(ctx))
	}
	if p.hub != nil {
		p.hub.Close()
		p.stopHub()
		<-p.hubDone
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}

// contactAddress is what push services are told of the shop: its own page where that is https, else the address its letters come from.
func contactAddress(publicURL string) string {
	if u, err := url.Parse(publicURL); err == nil && u.Scheme == "https" {
		return publicURL
	}
	return "orders@localhost"
}

// senderAddress is whom letters come from: the shop at its own host.
func senderAddress(publicURL string) string {
	host := "localhost"
	if u, err := url.Parse(publicURL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return "Orders <orders@" + host + ">"
}
