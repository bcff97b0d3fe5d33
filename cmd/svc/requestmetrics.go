package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests counts and times every answer of the public port, by method, route
// and status. A route is a pattern of the router, so a client cannot make labels.
func (m *metrics) requests() func(method, route string, status int, took time.Duration) {
	labels := []string{"method", "route"}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "svc_http_requests_total", Help: "Answers of the API, by method, route and status.",
	}, append(labels, "status"))
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "svc_http_request_seconds", Help: "Time to answer, by method and route.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 13), //nolint:mnd // 1 ms to 4 s; writes end at 5 s
	}, labels)
	m.registry.MustRegister(total, seconds)
	return func(method, route string, status int, took time.Duration) {
		if route == "" {
			route = "none"
		}
		total.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
		seconds.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

// checkFigures show what /readyz says: 1 for each thing that the process stands on
// and that answers, else 0. The checks run when the figure is asked for.
type checkFigures struct {
	checks map[string]func(context.Context) error // complete before the first scrape
	desc   *prometheus.Desc
}

// health registers it.
func (m *metrics) health(checks map[string]func(context.Context) error) {
	m.registry.MustRegister(&checkFigures{checks, prometheus.NewDesc("svc_healthy",
		"1 if what the process stands on answers, else 0, by check (as /readyz).", []string{"check"}, nil)})
}

// Describe implements [prometheus.Collector].
func (h *checkFigures) Describe(all chan<- *prometheus.Desc) { all <- h.desc }

// Collect implements [prometheus.Collector].
func (h *checkFigures) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	var each sync.WaitGroup
	defer each.Wait()
	for name, check := range h.checks {
		each.Go(func() {
			healthy := 1.0
			if check(ctx) != nil {
				healthy = 0
			}
			all <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, healthy, name)
		})
	}
}
