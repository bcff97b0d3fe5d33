// Package tracing records the path of a request through the processes of an installation as one OpenTelemetry trace:
// request, record on Kafka, verdict, view, deliveries.
//
// The standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT, configure tracing; docs/configuration.md lists them.
// If they set neither an endpoint nor the exporter otlp, [Open] returns nil. The methods of a nil [Tracer] do nothing;
// only [Tracer.Request] and [Tracer.Message] must not be called on it.
//
// A span contains the hospital, positions on Kafka, the type of an event, and status codes. It never contains a value
// from a request: no path, no query, no identifier, no text. Of the caller's trace context, only the traceparent is
// used, because tracestate and baggage are free text.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// closeWithin is the timeout for exporting the last spans when the process ends.
const closeWithin = 2 * time.Second

// Process describes the process whose spans are recorded. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.
type Process struct {
	Service  string // such as "svc-ingest"
	Instance string
	Version  string
}

// Tracer starts the spans of a process. It is safe for concurrent use. The methods of a nil Tracer do nothing, but
// Request and Message must not be called on it.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	queue    *queue
}

// Open returns the tracer that the standard variables configure, or nil if they do not configure one. The error names
// the invalid variable. Open does not wait for the collector.
func Open(ctx context.Context, p Process, log *slog.Logger) (*Tracer, error) {
	s, err := readSettings(os.Getenv) //nolint:forbidigo // the SDK reads the same variables from the environment
	if err != nil || !s.on {
		return nil, err
	}
	if s.ignored != "" {
		log.WarnContext(ctx, "propagator not supported; traces continue only by traceparent", "otel_propagators", s.ignored)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { //nolint:contextcheck // the SDK may call the handler outside any request
		log.WarnContext(context.Background(), "tracing error", "error", err)
	}))
	exporter, err := newExporter(ctx, s.protocol)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return start(ctx, p, exporter, s.queue, log)
}

// Probe sends an empty request to the collector that the standard variables configure. It returns the variable that
// names the collector, or "" if traces are off or a variable is invalid. An error about an invalid variable does not
// contain the variable's value.
func Probe(ctx context.Context) (variable string, err error) {
	s, err := readSettings(os.Getenv) //nolint:forbidigo // the SDK reads the same variables from the environment
	if err != nil || !s.on {
		return "", err
	}
	client := otlptracehttp.NewClient(otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if s.protocol == protocolGRPC {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}))
	}
	if err = client.Start(ctx); err == nil {
		err = errors.Join(client.UploadTraces(ctx, nil), client.Stop(ctx))
	}
	return s.variable, err //nolint:wrapcheck // the caller adds the variable
}

func newExporter(ctx context.Context, protocol string) (sdktrace.SpanExporter, error) { //nolint:ireturn // one of two types
	if protocol == protocolGRPC {
		return otlptracegrpc.New(ctx) //nolint:wrapcheck // the caller wraps it
	}
	return otlptracehttp.New(ctx) //nolint:wrapcheck // the caller wraps it
}

// start returns a tracer that sends its spans to an exporter.
func start(ctx context.Context, p Process, exporter sdktrace.SpanExporter, size int, log *slog.Logger) (*Tracer, error) {
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(p.Service), semconv.ServiceInstanceID(p.Instance), semconv.ServiceVersion(p.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	q := newQueue(exporter, size, log)
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithSpanProcessor(q))
	tracer := provider.Tracer("svc", trace.WithInstrumentationVersion(p.Version), trace.WithSchemaURL(semconv.SchemaURL))
	return &Tracer{provider, tracer, q}, nil
}

// Close exports the pending spans, within two seconds, and ends the tracer.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// Exported returns the number of spans that the collector has accepted.
func (t *Tracer) Exported() int64 {
	if t == nil {
		return 0
	}
	return t.queue.exported.Load()
}

// Failed returns the number of spans that were lost because an export failed.
func (t *Tracer) Failed() int64 {
	if t == nil {
		return 0
	}
	return t.queue.failed.Load()
}

// Dropped returns the number of spans that were dropped because the queue was full.
func (t *Tracer) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.queue.dropped.Load()
}
