package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// revision is the commit that this was built from; the Makefile sets it.
var revision = "unknown"

// runVersion is svc version.
func runVersion(_ context.Context, args []string, w world) error {
	if len(args) > 0 {
		return usageError{errors.New("takes no arguments")}
	}
	_, err := fmt.Fprintf(w.stdout, "svc %s, %s %s/%s\n", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err //nolint:wrapcheck // of standard output
}

// build shows which build this is, as a figure that is always 1.
func (m *metrics) build() {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_build_info", Help: "1; the labels are the build.",
		ConstLabels: prometheus.Labels{"revision": revision, "go": runtime.Version()},
	}, func() float64 { return 1 }))
}
