package main

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/internal/lifecycle"
)

// private returns the server for operators: metrics, profiles and health.
func (h *service) private() *lifecycle.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", h.readiness)
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{}))
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc("/debug/pprof/"+path, onLoopback(handler))
	}
	return &lifecycle.Server{Name: "private", Address: h.config.PrivateListen, Handler: mux, Within: time.Second}
}

// onLoopback refuses requests of other machines. A profile shows memory, and takes time.
func onLoopback(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are answered on loopback only", http.StatusForbidden)
			return
		}
		handler(w, r)
	}
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// readiness answers 200 if all health checks pass, else 503 with a line for each that fails.
// ?exclude=CHECK leaves a check out.
func (h *service) readiness(w http.ResponseWriter, r *http.Request) {
	lines := h.health.Lines(r.Context(), r.URL.Query()["exclude"])
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(lines) == 0 {
		fmt.Fprintln(w, "ready")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, line := range lines {
		fmt.Fprintln(w, line) //nolint:gosec // plain text for operators
	}
}

// metrics is the registry of one process.
type metrics struct{ registry *prometheus.Registry }

func newMetrics() *metrics {
	m := &metrics{prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.build()
	return m
}

// gauge adds a gauge whose value is read at each scrape.
func (m *metrics) gauge(name, help string, read func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// seconds adds a gauge in seconds whose value is read at each scrape.
func (m *metrics) seconds(name, help string, read func() time.Duration) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return read().Seconds() }))
}

// counter adds a counter whose value is read at each scrape.
func (m *metrics) counter(name, help string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// labelled adds a counter with one label. Several counters may share a name and differ in the
// label.
func (m *metrics) labelled(name, help, label, value string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
	}, func() float64 { return float64(read()) }))
}
