package tracing

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// The attributes that OpenTelemetry's semantic conventions do not define.
const (
	hospitalKey = attribute.Key("svc.hospital")
	eventKey    = attribute.Key("svc.event")            // type of the event of a delivery
	channelKey  = attribute.Key("svc.channel")          // webhook, email or sms
	attemptKey  = attribute.Key("svc.delivery.attempt") // from 1
)

// Span is a span in progress. The zero Span records nothing. A span that is not ended is not exported.
type Span struct{ span trace.Span }

// Traceparent returns the value of the traceparent header that continues the trace after this span, or "" for a span
// that is not recorded.
func (s Span) Traceparent() string {
	if s.span == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), s.span), carrier)
	return carrier["traceparent"]
}

// TraceID returns the id of the trace in hexadecimal digits, or "" for a span that is not recorded.
func (s Span) TraceID() string {
	if s.span == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// End ends the span at the given time.
func (s Span) End(at time.Time) {
	if s.span != nil {
		s.span.End(trace.WithTimestamp(at))
	}
}

// TraceID returns the id of the sampled trace in a context, or "" if there is none.
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}

// continued returns a context whose spans continue the trace of a traceparent header. If the value is invalid, the
// spans begin a new trace.
func continued(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// Request starts the span of a request that was authenticated, and returns its context. The span continues the trace in
// the request's traceparent header. end must be called with the pattern of the route and the status of the response.
func (t *Tracer) Request(r *http.Request, hospital string, at time.Time) (ctx context.Context, end func(route string, status int)) {
	ctx = r.Context()
	if values := r.Header.Values("Traceparent"); len(values) == 1 { // the specification forbids more than one
		ctx = continued(ctx, values[0])
	}
	ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(r.Method), hospitalKey.String(hospital),
	))
	return ctx, func(route string, status int) {
		if route != "" {
			span.SetName(r.Method + " " + route)
			span.SetAttributes(semconv.HTTPRoute(route))
		}
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		if status >= http.StatusInternalServerError {
			span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Message starts the span of a message that arrived over MLLP, and returns its context. The message begins a new
// trace, because MLLP has no headers. end must be called with the error that the message caused, or nil; the text of
// the error is not recorded.
func (t *Tracer) Message(ctx context.Context, hospital string) (spanned context.Context, end func(error)) {
	ctx, span := t.tracer.Start(ctx, "receive MLLP", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		semconv.NetworkProtocolName("mllp"), hospitalKey.String(hospital),
	))
	return ctx, func(err error) {
		if err != nil {
			fail(span, "not_accepted")
		}
		span.End()
	}
}

// fail marks a span as failed. kind is from a fixed set.
func fail(span trace.Span, kind string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, "")
}

// Send starts the span of a record that is appended to a topic for the request in ctx. If the request is not recorded,
// the record is not traced.
func (t *Tracer) Send(ctx context.Context, topic, hospital string) Span {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, "send "+topic, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		semconv.MessagingSystemKafka, semconv.MessagingDestinationName(topic), hospitalKey.String(hospital),
		semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"),
	))
	return Span{span}
}

// Sent ends the span of a record. It adds the position of the record or, if err is not nil, marks the span as failed.
func (s Span) Sent(partition int32, offset int64, err error) {
	switch {
	case s.span == nil:
		return
	case err != nil:
		fail(s.span, "not_acknowledged")
	default:
		s.span.SetAttributes(positioned(partition, offset)...)
	}
	s.span.End()
}

func positioned(partition int32, offset int64) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingDestinationPartitionID(strconv.Itoa(int(partition))), semconv.MessagingKafkaOffset(int(offset)),
	}
}

// Input is a record that a consumer group processes.
type Input struct {
	Topic, Group, Hospital string
	Partition              int32
	Offset                 int64
	Traceparent            string // traceparent header of the record
}

// Apply starts the span of an input that a processor applies. It is a child of the span in which the record was sent,
// so that the request and its effect are in one trace, even if a transaction has many inputs. A record without a
// valid traceparent is not traced.
func (t *Tracer) Apply(in *Input) Span {
	if t == nil || in.Traceparent == "" {
		return Span{}
	}
	ctx := continued(context.Background(), in.Traceparent)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, "process "+in.Topic, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		append(positioned(in.Partition, in.Offset),
			semconv.MessagingSystemKafka, semconv.MessagingDestinationName(in.Topic), semconv.MessagingConsumerGroupName(in.Group),
			semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"), hospitalKey.String(in.Hospital),
		)...,
	))
	return recorded(span)
}

// recorded returns a span, or the zero Span if the sampler has decided not to record it.
func recorded(span trace.Span) Span {
	if !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}

// Show starts the span for writing a committed input to the view, at the given time. The new span is a child of the
// span in which the input was applied.
func (t *Tracer) Show(applied Span, at time.Time) Span {
	if applied.span == nil {
		return Span{}
	}
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), applied.span), "write view",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at), trace.WithAttributes(semconv.DBSystemNameRedis))
	return recorded(span)
}

// Attempt is an attempt to deliver an event to a partner or a person.
type Attempt struct {
	Channel, Hospital, Event string
	Number                   int    // from 1
	Traceparent              string // traceparent that was stored with the event
}

// Deliver starts the span of an attempt. The trace ends here: partners do not receive the traceparent.
func (t *Tracer) Deliver(ctx context.Context, a *Attempt) Span {
	if t == nil || a.Traceparent == "" {
		return Span{}
	}
	if ctx = continued(ctx, a.Traceparent); !trace.SpanContextFromContext(ctx).IsValid() {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, "deliver "+a.Channel, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		hospitalKey.String(a.Hospital), eventKey.String(a.Event), channelKey.String(a.Channel), attemptKey.Int(a.Number),
	))
	return recorded(span)
}

// Delivered ends the span of an attempt. status is the HTTP or SMTP status, or 0; fault is the class of the failure, or
// "" for success.
func (s Span) Delivered(status int, fault string) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	if fault != "" {
		fail(s.span, fault)
	}
	s.span.End()
}
