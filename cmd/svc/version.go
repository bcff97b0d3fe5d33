package main

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// revision is the commit of the build; the Makefile sets it.
var revision = "unknown"

// release returns the name of this build.
func release() string {
	return fmt.Sprintf("svc %s, %s %s/%s", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// build registers a metric that is always 1; its labels describe the build.
func (m *metrics) build() {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_build_info", Help: "1; the labels are the build.",
		ConstLabels: prometheus.Labels{"revision": revision, "go": runtime.Version()},
	}, func() float64 { return 1 }))
}

// roles registers a metric with the roles of the process. An alert fires if a role is missing.
func (m *metrics) roles(names []string) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_role_info", Help: "1 for each role of the process."}, []string{"role"})
	for _, name := range names {
		info.WithLabelValues(name).Set(1)
	}
	m.registry.MustRegister(info)
}
