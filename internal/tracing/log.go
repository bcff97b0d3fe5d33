package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Log returns a handler that adds trace_id and span_id to the log lines of traced requests.
func Log(next slog.Handler) slog.Handler { return handler{next} } //nolint:ireturn // as in slog

type handler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r) //nolint:wrapcheck // the error of the wrapped handler is unchanged
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
