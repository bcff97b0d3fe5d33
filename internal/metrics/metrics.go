// Package metrics exposes the metrics of a process to Prometheus.
package metrics

import (
	"context"
	"math/bits"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/internal/lifecycle"
	"svc/internal/outbound"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
)

// Registry holds the metrics of one process.
type Registry struct {
	*prometheus.Registry
	exemplars atomic.Bool // whether scrapes may include exemplars
}

// New returns a registry with the metrics of the Go runtime, the operating system process and the build.
func New(revision string) *Registry {
	m := &Registry{Registry: prometheus.NewRegistry()}
	m.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.build(revision)
	return m
}

// Handler returns a handler that serves the metrics when Prometheus scrapes them.
func (m *Registry) Handler() http.Handler {
	plain := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
	open := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.exemplars.Load() {
			open.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// Exemplars makes the handler serve the OpenMetrics format to scrapers that accept it. The plain text format cannot
// contain exemplars.
func (m *Registry) Exemplars() { m.exemplars.Store(true) }

// observe adds a duration to a histogram. If traceID is not "", the histogram stores it as an exemplar, so that a
// dashboard can link to the trace.
func observe(h prometheus.Observer, took time.Duration, traceID string) {
	if with, ok := h.(prometheus.ExemplarObserver); ok && traceID != "" {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": traceID})
		return
	}
	h.Observe(took.Seconds())
}

// Gauge adds a gauge whose value is read at each scrape.
func (m *Registry) Gauge(name, help string, read func() int64) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// Seconds adds a gauge in seconds whose value is read at each scrape.
func (m *Registry) Seconds(name, help string, read func() time.Duration) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return read().Seconds() }))
}

// Counter adds a counter whose value is read at each scrape.
func (m *Registry) Counter(name, help string, read func() int64) {
	m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// Labelled adds a counter with one label. Several counters may share a name if their label values differ.
func (m *Registry) Labelled(name, help, label, value string, read func() int64) {
	m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
	}, func() float64 { return float64(read()) }))
}

// Ratio adds a dimensionless gauge, whose value is read at each scrape. While read returns false, the gauge is
// absent.
func (m *Registry) Ratio(name, help string, read func(context.Context) (float64, bool)) {
	m.Each(name, help, nil, func(ctx context.Context, add func(value float64, labels ...string)) {
		if value, known := read(ctx); known {
			add(value)
		}
	})
}

// Each adds a gauge with labels. At each scrape, read adds all series of the gauge. It passes the label values of a
// series to add in the order of labels.
func (m *Registry) Each(name, help string, labels []string, read func(ctx context.Context, add func(value float64, labels ...string))) {
	m.MustRegister(&series{read, prometheus.NewDesc(name, help, labels, nil)})
}

// series is a gauge with labels. Its label values and its values are read at each scrape.
type series struct {
	read func(ctx context.Context, add func(value float64, labels ...string))
	desc *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (s *series) Describe(all chan<- *prometheus.Desc) { all <- s.desc }

// scrapeWithin is the timeout for a gauge that queries a server.
const scrapeWithin = 2 * time.Second

// Collect implements [prometheus.Collector].
func (s *series) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWithin)
	defer cancel()
	s.read(ctx, func(value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, value, labels...)
	})
}

// Durations adds a histogram of durations, and returns the function that records a duration. The parameters least and
// most are the upper bounds of the first and the last bucket. The bounds between them grow by a constant factor of at
// most 2.
func (m *Registry) Durations(name, help string, least, most time.Duration) func(time.Duration) {
	add := m.TracedDurations(name, help, least, most)
	return func(d time.Duration) { add(d, "") }
}

// TracedDurations is like [Registry.Durations], but for durations that may belong to a trace. A traceID of "" means
// that the duration has no trace.
func (m *Registry) TracedDurations(name, help string, least, most time.Duration) func(d time.Duration, traceID string) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: prometheus.ExponentialBucketsRange(least.Seconds(), most.Seconds(), 1+bits.Len64(uint64(most/least))), //nolint:gosec // positive
	})
	m.MustRegister(h)
	return func(d time.Duration, traceID string) { observe(h, d, traceID) }
}

// Counts adds a counter with one label whose values are known in advance. It returns a function that increments the
// series of a label value. All series begin at 0.
func (m *Registry) Counts(name, help, label string, values ...string) func(value string) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		c.WithLabelValues(value)
	}
	m.MustRegister(c)
	return func(value string) { c.WithLabelValues(value).Inc() }
}

// build registers a metric whose value is always 1 and whose labels describe the build.
func (m *Registry) build(revision string) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_build_info", Help: "Always 1; the labels describe the build.",
		ConstLabels: prometheus.Labels{"revision": revision, "go": runtime.Version()},
	}, func() float64 { return 1 }))
}

// Roles registers a metric with the roles of the process. An alert fires if a role is missing.
func (m *Registry) Roles(names []string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_role_info", Help: "1 for each role of the process."}, []string{"role"})
	for _, name := range names {
		info.WithLabelValues(name).Set(1)
	}
	m.MustRegister(info)
}

// Requests registers the metrics of the public port, and returns the function that records a response: it counts the
// response by method, route and status, and adds its duration to a histogram. A route is a pattern of the router, so
// clients cannot create new label values. A traceID of "" means that the request has no trace.
func (m *Registry) Requests() func(method, route string, status int, took time.Duration, traceID string) {
	labels := []string{"method", "route"}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "svc_http_requests_total", Help: "Responses of the API, by method, route and status.",
	}, append(labels, "status"))
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "svc_http_request_seconds", Help: "Response time, by method and route.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 13), //nolint:mnd // 1 ms to 4 s; a write takes at most 5 s
	}, labels)
	m.MustRegister(total, seconds)
	return func(method, route string, status int, took time.Duration, traceID string) {
		if route == "" {
			route = "none"
		}
		total.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
		observe(seconds.WithLabelValues(method, route), took, traceID)
	}
}

// checkFigures is the metric of the health checks: 1 for each check that passes, and 0 for each check that fails. The
// checks run at each scrape.
type checkFigures struct {
	health *lifecycle.Health
	desc   *prometheus.Desc
}

// Health registers the metric of the health checks.
func (m *Registry) Health(h *lifecycle.Health) {
	m.MustRegister(&checkFigures{h, prometheus.NewDesc("svc_healthy",
		"1 if the /readyz check passes, else 0, by check.", []string{"check"}, nil)})
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

// Notifier contains the metrics of the notifier. The labels of these metrics have fixed sets of values, so they never
// contain endpoints or hospitals.
type Notifier struct {
	events, attempts, deliveries, decisions *prometheus.CounterVec
	seconds                                 *prometheus.HistogramVec
	accepted                                prometheus.Histogram
	waiting                                 *prometheus.GaugeVec
}

// Notifier registers the metrics of the notifier.
func (m *Registry) Notifier() *Notifier {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_notify_" + name, Help: help}, labels)
	}
	f := &Notifier{
		events:     counter("events_total", "Events created from changes, by event.", "event"),
		attempts:   counter("attempts_total", "Delivery attempts, by channel and outcome.", "channel", "class"),
		deliveries: counter("deliveries_total", "Completed deliveries, by channel and state.", "channel", "state"),
		decisions:  counter("decisions_total", "Decisions about alerts, by reason.", "reason"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_notify_attempt_seconds", Help: "Duration of a delivery attempt, by channel.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2.5, 11), //nolint:mnd // 2 ms to 19 s
		}, []string{"channel"}),
		accepted: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_notify_change_to_accept_seconds", Help: "Time from a change until a webhook accepted the event.",
			Buckets: prometheus.ExponentialBuckets(0.005, 3, 14), //nolint:mnd // 5 ms to 2 h
		}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "svc_notify_waiting", Help: "Pending deliveries, by channel.",
		}, []string{"channel"}),
	}
	// The series for failures begin at 0. If a series began at 1, Prometheus would not see an increase, and an alert
	// would miss the first failure.
	for _, channel := range []subscriber.Channel{subscriber.ChannelMail, subscriber.ChannelSMS, subscriber.ChannelWebhook} {
		for _, state := range []outbound.State{outbound.Delivered, outbound.Expired, outbound.Failed, outbound.Rejected, outbound.Poison} {
			f.deliveries.WithLabelValues(string(channel), string(state))
		}
		for _, class := range []sending.Class{sending.ClassOK, sending.ClassSealed} {
			f.attempts.WithLabelValues(string(channel), string(class))
		}
	}
	f.decisions.WithLabelValues("undelivered")
	m.MustRegister(f.events, f.attempts, f.deliveries, f.decisions, f.seconds, f.accepted, f.waiting)
	return f
}

// Event implements [notifier.Metrics].
func (f *Notifier) Event(event string) { f.events.WithLabelValues(event).Inc() }

// Attempt implements [notifier.Metrics].
func (f *Notifier) Attempt(c subscriber.Channel, class sending.Class, took time.Duration, traceID string) {
	f.attempts.WithLabelValues(string(c), string(class)).Inc()
	observe(f.seconds.WithLabelValues(string(c)), took, traceID)
}

// Ended implements [notifier.Metrics].
func (f *Notifier) Ended(c subscriber.Channel, state outbound.State) {
	f.deliveries.WithLabelValues(string(c), string(state)).Inc()
}

// Accepted implements [notifier.Metrics].
func (f *Notifier) Accepted(since time.Duration, traceID string) { observe(f.accepted, since, traceID) }

// Decided implements [notifier.Metrics].
func (f *Notifier) Decided(reason string) { f.decisions.WithLabelValues(reason).Inc() }

// Waiting implements [notifier.Metrics].
func (f *Notifier) Waiting(c subscriber.Channel, more int) {
	f.waiting.WithLabelValues(string(c)).Add(float64(more))
}
