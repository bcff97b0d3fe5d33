package main

import (
	"context"

	"svc/internal/tracing"
)

// trace opens the tracer that the standard variables of OpenTelemetry describe. Without them, traces are off.
func (h *service) trace(ctx context.Context, roles []string) (err error) {
	described := tracing.Process{Service: "svc", Instance: h.config.Instance, Version: revision}
	if len(roles) == 1 {
		described.Service += "-" + roles[0]
	}
	if h.tracer, err = tracing.Open(ctx, described, h.log); err != nil {
		return err //nolint:wrapcheck // the error names the variable
	}
	help := "Spans of traces, by result: exported to the collector, failed because the collector refused them or did not answer, " +
		"or dropped because the queue was full."
	for result, count := range map[string]func() int64{
		"exported": h.tracer.Exported, "failed": h.tracer.Failed, "dropped": h.tracer.Dropped,
	} {
		h.metrics.Labelled("svc_trace_spans_total", help, "result", result, count)
	}
	return nil
}
