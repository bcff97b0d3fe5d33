package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	callerID    = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + callerID + "-" + callerSpan + "-01"
)

// record returns a tracer and a function that closes the tracer and returns the spans by name.
func record(t *testing.T) (*Tracer, func() map[string]tracetest.SpanStub) {
	t.Helper()
	kept := &keptExporter{InMemoryExporter: tracetest.NewInMemoryExporter()}
	tracer, err := start(t.Context(), Process{Service: "svc"}, kept, 100, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return tracer, func() map[string]tracetest.SpanStub {
		t.Helper()
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		byName := map[string]tracetest.SpanStub{}
		for _, s := range kept.GetSpans() {
			byName[s.Name] = s
		}
		return byName
	}
}

// keptExporter keeps its spans after its shutdown.
type keptExporter struct{ *tracetest.InMemoryExporter }

func (k *keptExporter) Shutdown(context.Context) error { return nil }

// TestSettings reads the standard variables. An error names the variable, and never its value.
func TestSettings(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	for name, tt := range map[string]struct {
		env, on, fault, protocol, ignored string
	}{
		"none":                       {},
		"an endpoint":                {env: endpoint, on: "on"},
		"an endpoint of traces":      {env: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://collector/v1/traces", on: "on"},
		"the exporter alone":         {env: "OTEL_TRACES_EXPORTER=otlp", on: "on"},
		"disabled":                   {env: endpoint + " OTEL_SDK_DISABLED=TRUE"},
		"no exporter":                {env: endpoint + " OTEL_TRACES_EXPORTER=none"},
		"another exporter":           {env: endpoint + " OTEL_TRACES_EXPORTER=zipkin", fault: "OTEL_TRACES_EXPORTER"},
		"an endpoint without scheme": {env: "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", fault: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"gRPC":                       {env: endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", on: "on", protocol: "grpc"},
		"another protocol":           {env: endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/json", fault: "OTEL_EXPORTER_OTLP_PROTOCOL"},
		"a queue":                    {env: endpoint + " OTEL_BSP_MAX_QUEUE_SIZE=0", fault: "OTEL_BSP_MAX_QUEUE_SIZE"},
		"an unknown sampler":         {env: endpoint + " OTEL_TRACES_SAMPLER=some", fault: "OTEL_TRACES_SAMPLER"},
		"a ratio":                    {env: endpoint + " OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0.1", on: "on"},
		"a wrong ratio": {
			env: endpoint + " OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=nan", fault: "OTEL_TRACES_SAMPLER_ARG",
		},
		"propagators":      {env: endpoint + " OTEL_PROPAGATORS=tracecontext,baggage", on: "on"},
		"more propagators": {env: endpoint + " OTEL_PROPAGATORS=b3,tracecontext", on: "on", ignored: "b3"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]string{}
			for one := range strings.FieldsSeq(tt.env) {
				name, value, _ := strings.Cut(one, "=")
				values[name] = value
			}
			s, err := readSettings(func(name string) string { return values[name] })
			if tt.fault != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.fault+" must be ") {
					t.Errorf("error %v, want one about %s", err, tt.fault)
				}
				return
			}
			if err != nil || s.on != (tt.on != "") || s.ignored != tt.ignored {
				t.Errorf("%+v, %v", s, err)
			}
			if tt.protocol != "" && s.protocol != tt.protocol {
				t.Errorf("protocol %s", s.protocol)
			}
		})
	}
}

// TestOneTrace: the spans of all steps of a request belong to the caller's trace. No span contains a value from the
// request.
func TestOneTrace(t *testing.T) {
	tracer, spans := record(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/ingest/CANARYPATH?q=CANARYQUERY", strings.NewReader("CANARYBODY"))
	r.Header.Set("Traceparent", traceparent)
	r.Header.Set("Tracestate", "v=CANARYSTATE")
	r.Header.Set("Baggage", "v=CANARYBAGGAGE")
	ctx, end := tracer.Request(r, "north", time.Now())
	sent := tracer.Send(ctx, "observations", "north")
	header := sent.Traceparent()
	sent.Sent(2, 7, nil)
	end("/api/ingest/{feed}", http.StatusOK)
	applied := tracer.Apply(&Input{Topic: "observations", Group: "verdict", Hospital: "north", Partition: 2, Offset: 7, Traceparent: header})
	shown := tracer.Show(applied, time.Now())
	applied.End(time.Now())
	shown.End(time.Now())
	tracer.Deliver(t.Context(), &Attempt{
		Channel: "webhook", Hospital: "north", Event: "surge.level_changed", Number: 1, Traceparent: applied.Traceparent(),
	}).Delivered(http.StatusTeapot, "status")

	got := spans()
	parent := callerSpan
	for _, tt := range []struct {
		name   string
		kind   trace.SpanKind
		remote bool
		next   bool // whether this span is the parent of the following spans
	}{
		{"POST /api/ingest/{feed}", trace.SpanKindServer, true, true},
		{"send observations", trace.SpanKindProducer, false, true},
		{"process observations", trace.SpanKindConsumer, true, true},
		{"write view", trace.SpanKindClient, false, false},
		{"deliver webhook", trace.SpanKindClient, true, false},
	} {
		s, found := got[tt.name]
		if !found || s.SpanContext.TraceID().String() != callerID || s.Parent.SpanID().String() != parent || s.SpanKind != tt.kind || s.Parent.IsRemote() != tt.remote {
			t.Errorf("%s: %+v, want a child of %s", tt.name, s, parent)
		}
		if tt.next {
			parent = s.SpanContext.SpanID().String()
		}
	}
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, "CANARY") {
		t.Errorf("a value of the request is in %s", text)
	}
	if text := fmt.Sprint(got["deliver webhook"].Attributes); !strings.Contains(text, "418") || !strings.Contains(text, "surge.level_changed") {
		t.Errorf("attributes of the delivery: %s", text)
	}
}

// TestCallers: a request without exactly one valid traceparent begins a new trace.
func TestCallers(t *testing.T) {
	for name, headers := range map[string][]string{
		"none": nil, "two": {traceparent, traceparent}, "malformed": {"00-zz-00f067aa0ba902b7-01"}, "zero": {"00-" + strings.Repeat("0", 32) + "-" + callerSpan + "-01"},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, spans := record(t)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header["Traceparent"] = headers
			ctx, end := tracer.Request(r, "north", time.Now())
			end("", http.StatusServiceUnavailable)
			s := spans()["GET"]
			if s.Parent.IsValid() || TraceID(ctx) != s.SpanContext.TraceID().String() || TraceID(ctx) == callerID {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestUnsampled: with the default sampler, there are no spans if the caller does not record its trace.
func TestUnsampled(t *testing.T) {
	tracer, spans := record(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Traceparent", strings.TrimSuffix(traceparent, "1")+"0")
	ctx, end := tracer.Request(r, "north", time.Now())
	if sent := tracer.Send(ctx, "observations", "north"); sent.Traceparent() != "" || TraceID(ctx) != "" {
		t.Errorf("the record gets %q, the log %q", sent.Traceparent(), TraceID(ctx))
	}
	end("/", http.StatusOK)
	if got := spans(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// blocked is an exporter that does not return until it is released.
type blocked struct {
	tracetest.NoopExporter
	release chan struct{}
	fault   error
}

func (b *blocked) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	<-b.release
	return b.fault
}

// TestSlowCollector: a collector that does not respond does not delay the process. Spans that exceed the queue are
// dropped and counted.
func TestSlowCollector(t *testing.T) {
	exporter := &blocked{release: make(chan struct{})}
	tracer, err := start(t.Context(), Process{Service: "svc"}, exporter, 16, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		_, end := tracer.Message(t.Context(), "north")
		end(nil)
	}
	if got := tracer.Dropped(); got != 84 {
		t.Errorf("%d spans dropped, want 84", got)
	}
	close(exporter.release)
	if err := tracer.Close(t.Context()); err != nil || tracer.Exported() != 16 || tracer.Failed() != 0 {
		t.Errorf("%d exported, %d failed, %v", tracer.Exported(), tracer.Failed(), err)
	}
}

// TestCollectorAway: spans that cannot be exported are counted. The log reports the first failure and the recovery,
// once each.
func TestCollectorAway(t *testing.T) {
	exporter := &blocked{release: make(chan struct{}), fault: errors.New("connection refused")}
	close(exporter.release)
	var lines bytes.Buffer
	tracer, err := start(t.Context(), Process{Service: "svc"}, exporter, 16, slog.New(slog.NewTextHandler(&lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, end := tracer.Message(t.Context(), "north")
		end(errors.New("x"))
		if err := tracer.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	exporter.fault = nil
	_, end := tracer.Message(t.Context(), "north")
	end(nil)
	if err := tracer.Close(t.Context()); err != nil || tracer.Exported() != 1 || tracer.Failed() != 3 {
		t.Errorf("%d exported, %d failed, %v", tracer.Exported(), tracer.Failed(), err)
	}
	if got := lines.String(); strings.Count(got, "traces not exported") != 1 || strings.Count(got, "traces exported again") != 1 {
		t.Errorf("log %s", got)
	}
}

// TestOffAllocatesNothing: while traces are off, the tracing functions that run after a request was accepted do not
// allocate, and the handler of [Log] does not allocate more than the handler that it wraps.
func TestOffAllocatesNothing(t *testing.T) {
	var tracer *Tracer
	ctx, at := t.Context(), time.Now()
	log := slog.New(Log(slog.NewJSONHandler(&sink{}, nil)))
	plain := slog.New(slog.NewJSONHandler(&sink{}, nil))
	for name, do := range map[string]func(){
		"append": func() {
			sent := tracer.Send(ctx, "observations", "north")
			_ = sent.Traceparent()
			sent.Sent(1, 2, nil)
		},
		"apply": func() {
			applied := tracer.Apply(&Input{Topic: "observations", Hospital: "north", Traceparent: traceparent})
			_ = applied.Traceparent() + applied.TraceID()
			tracer.Show(applied, at).End(at)
			applied.End(at)
		},
		"deliver": func() {
			tracer.Deliver(ctx, &Attempt{Hospital: "north", Traceparent: traceparent}).Delivered(http.StatusOK, "")
		},
		"context": func() { _ = TraceID(ctx) },
	} {
		if got := leastAllocations(do); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	line := func(log *slog.Logger) float64 {
		return leastAllocations(func() { log.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("route", "/")) }) //nolint:sloglint // as the access log does
	}
	if got, without := line(log), line(plain); got > without {
		t.Errorf("log: %v allocations, without traces %v", got, without)
	}
}

// leastAllocations calls the function do many times, and returns the smallest number of allocations in one call.
// Under the race detector, a pool may be empty at any call, which costs an allocation.
func leastAllocations(do func()) float64 {
	least := math.Inf(1)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, do))
	}
	return least
}

type sink struct{ sync.Mutex }

func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// TestLog: the ids of a traced request are added to the log lines of that request, and to no other lines.
func TestLog(t *testing.T) {
	tracer, _ := record(t)
	var lines bytes.Buffer
	log := slog.New(Log(slog.NewTextHandler(&lines, nil))).With("role", "ingest")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Traceparent", traceparent)
	ctx, _ := tracer.Request(r, "north", time.Now())
	log.InfoContext(t.Context(), "one")
	log.InfoContext(ctx, "two")
	one, two, _ := strings.Cut(lines.String(), "\n")
	if strings.Contains(one, "trace_id") || !strings.Contains(two, "trace_id="+callerID) || !strings.Contains(two, "span_id=") {
		t.Errorf("lines %s", lines.String())
	}
}

// TestOpen: without an endpoint there is no tracer. A collector that is unavailable does not delay the start.
func TestOpen(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	tracer, err := Open(t.Context(), Process{}, slog.New(slog.DiscardHandler))
	if tracer != nil || err != nil {
		t.Errorf("%v, %v", tracer, err)
	}
	if err := tracer.Close(t.Context()); err != nil || tracer.Exported()+tracer.Failed()+tracer.Dropped() != 0 {
		t.Error(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
		tracer, err := Open(t.Context(), Process{Service: "svc"}, slog.New(slog.DiscardHandler))
		if tracer == nil || err != nil {
			t.Fatalf("%s: %v", protocol, err)
		}
		if err := tracer.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "no pair")
	if tracer, err := Open(t.Context(), Process{Service: "svc"}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("attributes that are none are accepted")
		tracer.Close(t.Context())
	}
}

// grpcCollector receives spans over gRPC, as a collector does.
type grpcCollector struct {
	collector.UnimplementedTraceServiceServer
	refuse error
	got    chan *collector.ExportTraceServiceRequest
	tokens []string // values of the header x-token
}

func (c *grpcCollector) Export(
	ctx context.Context, r *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	head, _ := metadata.FromIncomingContext(ctx)
	c.tokens = append(c.tokens, head.Get("x-token")...)
	if c.refuse != nil {
		return nil, c.refuse
	}
	c.got <- r
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestGRPC exports spans to a collector over gRPC, with the headers that the variables set. Spans that the collector
// refuses are counted.
func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &grpcCollector{got: make(chan *collector.ExportTraceServiceRequest, 1)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err = <-served; err != nil {
			t.Error(err)
		}
	})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=secret")
	tracer, err := Open(t.Context(), Process{Service: "svc-ingest", Instance: "i1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	message := func() {
		t.Helper()
		_, end := tracer.Message(t.Context(), "north")
		end(nil)
		if err := tracer.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// received returns what the collector has received. Nothing is in transit after a flush or a probe.
	received := func() *collector.ExportTraceServiceRequest {
		t.Helper()
		select {
		case got := <-c.got:
			return got
		default:
			t.Fatal("the collector has received nothing")
			return nil
		}
	}
	message()
	if text := received().String(); !strings.Contains(text, "svc-ingest") || !strings.Contains(text, "receive MLLP") || !strings.Contains(text, "north") {
		t.Errorf("received %s", text)
	}
	c.refuse = status.Error(codes.InvalidArgument, "no")
	message()
	if err := tracer.Close(t.Context()); err != nil || tracer.Exported() != 1 || tracer.Failed() != 1 || fmt.Sprint(c.tokens) != "[secret secret]" {
		t.Errorf("%d exported, %d failed, headers %v, %v", tracer.Exported(), tracer.Failed(), c.tokens, err)
	}
	if variable, err := Probe(t.Context()); variable != "OTEL_EXPORTER_OTLP_ENDPOINT" || status.Code(err) != codes.InvalidArgument {
		t.Errorf("the collector refuses: %s, %v", variable, err)
	}
	c.refuse = nil
	if _, err := Probe(t.Context()); err != nil || len(received().GetResourceSpans()) > 0 {
		t.Errorf("the collector accepts: %v", err)
	}
}
