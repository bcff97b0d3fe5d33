// Package metrics is the metrics of a process, as Prometheus reads them.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry is the metrics of one process.
type Registry struct{ *prometheus.Registry }

// New returns the metrics of the Go runtime, the operating system and the build.
func New(revision string) *Registry {
	m := &Registry{prometheus.NewRegistry()}
	m.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.build(revision)
	return m
}

// Handler answers what Prometheus asks for.
func (m *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
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

// Labelled adds a counter with one label. Several counters may share a name and differ in the
// label.
func (m *Registry) Labelled(name, help, label, value string, read func() int64) {
	m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
	}, func() float64 { return float64(read()) }))
}

// build registers a metric that is always 1; its labels describe the build.
func (m *Registry) build(revision string) {
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_build_info", Help: "1; the labels are the build.",
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
