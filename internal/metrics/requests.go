package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/internal/lifecycle"
)

// Requests returns the function that counts and times the answers of the public port, by method,
// route and status. A route is a pattern of the router, so a client cannot add labels.
func (m *Registry) Requests() func(method, route string, status int, took time.Duration) {
	labels := []string{"method", "route"}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "svc_http_requests_total", Help: "Answers of the API, by method, route and status.",
	}, append(labels, "status"))
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "svc_http_request_seconds", Help: "Time to answer, by method and route.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 13), //nolint:mnd // 1 ms to 4 s; writes end at 5 s
	}, labels)
	m.MustRegister(total, seconds)
	return func(method, route string, status int, took time.Duration) {
		if route == "" {
			route = "none"
		}
		total.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
		seconds.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

// checkFigures is the metric of the health checks: 1 for each check that passes, else 0. The
// checks run at each scrape.
type checkFigures struct {
	health *lifecycle.Health
	desc   *prometheus.Desc
}

// Health registers the metric of the health checks.
func (m *Registry) Health(h *lifecycle.Health) {
	m.MustRegister(&checkFigures{h, prometheus.NewDesc("svc_healthy",
		"1 if what the process stands on answers, else 0, by check (as /readyz).", []string{"check"}, nil)})
}

// Describe implements [prometheus.Collector].
func (f *checkFigures) Describe(all chan<- *prometheus.Desc) { all <- f.desc }

// Collect implements [prometheus.Collector].
func (f *checkFigures) Collect(all chan<- prometheus.Metric) {
	for name, err := range f.health.Ask(context.Background()) {
		healthy := 1.0
		if err != nil {
			healthy = 0
		}
		all <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, healthy, name)
	}
}
