package handlers

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"tiffin/models"
)

// metrics counts requests by route. The label is the route's pattern, never a path: paths hold order tokens and are without number.
type metrics struct {
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry, store *models.Store) *metrics {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tiffin_http_request_seconds", Help: "Time from a request's arrival to its answer, by route, method and status.",
			Buckets: []float64{.002, .005, .01, .03, .1, .3, 1, 3, 10},
		}, []string{"route", "method", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tiffin_http_streams", Help: "Event streams that are open."}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.streams)
		if store != nil {
			registry.MustRegister(attentionMetrics{store})
		}
	}
	return m
}

// unmatched is the label of everything that is no route of ours.
const unmatched = "unmatched"

// routeOf names the route that answered. err is what the chain returned: the router itself says 404 and 405 by a *fiber.Error, our
// handlers never do.
func routeOf(c *fiber.Ctx, err error) string {
	var refused *fiber.Error
	if errors.As(err, &refused) {
		return unmatched
	}
	return c.Route().Path
}

func (m *metrics) observe(route, method string, status int, took time.Duration) {
	switch method {
	case fiber.MethodGet, fiber.MethodPost, fiber.MethodHead:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// attentionMetrics reads the attention list when somebody asks for numbers: how many things of each kind wait for a person, none of a kind
// included, and when the last webhook came. While the database does not answer they are missing, which is itself a sign.
type attentionMetrics struct{ store *models.Store }

// scrapePatience is far below the 10 s a scraper waits.
const scrapePatience = 3 * time.Second

var (
	openTasks   = prometheus.NewDesc("tiffin_open_tasks", "Things on the attention list that wait for a person, by kind.", []string{"kind"}, nil)
	lastWebhook = prometheus.NewDesc("tiffin_last_webhook_timestamp_seconds", "When the last webhook came; 0 when none ever did.", nil, nil)
)

func (a attentionMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- openTasks
	out <- lastWebhook
}

func (a attentionMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	if open, err := a.store.CountTasks(ctx); err == nil {
		for _, kind := range models.TaskKinds {
			out <- prometheus.MustNewConstMetric(openTasks, prometheus.GaugeValue, float64(open[kind]), kind)
		}
	}
	if last, err := a.store.LastEventAt(ctx); err == nil {
		at := 0.0
		if last != nil {
			at = float64(last.Unix())
		}
		out <- prometheus.MustNewConstMetric(lastWebhook, prometheus.GaugeValue, at)
	}
}
