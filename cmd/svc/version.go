package main

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// revision is the commit that this was built from; the Makefile sets it.
var revision = "unknown"

// release names this build.
func release() string {
	return fmt.Sprintf("svc %s, %s %s/%s", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// build shows which build this is, as a figure that is always 1.
func (m *metrics) build() {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_build_info", Help: "1; the labels are the build.",
		ConstLabels: prometheus.Labels{"revision": revision, "go": runtime.Version()},
	}, func() float64 { return 1 }))
}

// roles shows which roles the process has: an alert asks whether there is any of each.
func (m *metrics) roles(names []string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_role_info", Help: "1 for each role of the process."}, []string{"role"})
	for _, name := range names {
		info.WithLabelValues(name).Set(1)
	}
	m.registry.MustRegister(info)
}
