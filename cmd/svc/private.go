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
)

// private is the server for those who run the service: metrics, profiles, health.
func (h *service) private() *server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", h.readiness)
	mux.Handle("GET /metrics", promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{}))
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc("/debug/pprof/"+path, onLoopback(handler))
	}
	return &server{name: "private", address: h.config.PrivateListen, handler: mux, within: time.Second}
}

// onLoopback refuses requests of other machines: a profile shows memory, and costs.
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

// readiness answers 200 when everything that the roles stand on is there, else
// 503 with a line for each thing that is not. ?exclude=CHECK leaves one out.
func (h *service) readiness(w http.ResponseWriter, r *http.Request) {
	lines := h.health.lines(r.Context(), r.URL.Query()["exclude"])
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(lines) == 0 {
		fmt.Fprintln(w, "ready")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, line := range lines {
		fmt.Fprintln(w, line)
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

// gauge adds a figure that is read when it is asked for.
func (m *metrics) gauge(name, help string, read func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// seconds adds a figure of time that is read when it is asked for.
func (m *metrics) seconds(name, help string, read func() time.Duration) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return read().Seconds() }))
}

// counter adds a sum that only grows and is read when it is asked for.
func (m *metrics) counter(name, help string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
}

// labelled adds one of the sums that have a name in common and differ in a label.
func (m *metrics) labelled(name, help, label, value string, read func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: name, Help: help, ConstLabels: prometheus.Labels{label: value},
	}, func() float64 { return float64(read()) }))
}
