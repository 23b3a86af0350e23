package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests by route. The label is the route's pattern, never a path: paths hold order tokens and are without number.
type metrics struct {
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tiffin_http_request_seconds", Help: "Time from a request's arrival to its answer, by route, method and status.",
			Buckets: []float64{.002, .005, .01, .03, .1, .3, 1, 3, 10},
		}, []string{"route", "method", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tiffin_http_streams", Help: "Event streams that are open."}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.streams)
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
