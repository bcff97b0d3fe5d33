package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"svc/acuity"
	"svc/internal/metrics"
	"svc/internal/outbound/sending"
	"svc/internal/outbound/subscriber"
	"svc/internal/stream"
	"svc/internal/tracing"
	"svc/processors/verdict"
	"svc/schemas"
)

// openTracer opens the tracer that the standard OpenTelemetry environment variables configure. Without these
// variables, traces are off.
func (h *service) openTracer(ctx context.Context, roles []string) (err error) {
	described := tracing.Process{Service: "svc", Instance: h.config.Instance, Version: revision}
	if len(roles) == 1 {
		described.Service += "-" + roles[0]
	}
	if h.tracer, err = tracing.Open(ctx, described, h.log); err != nil {
		return err //nolint:wrapcheck // the error names the variable
	}
	if h.tracer != nil {
		h.metrics.Exemplars()
	}
	help := "Trace spans, by result: exported to the collector, failed because the collector refused them or did not respond, " +
		"or dropped because the queue was full."
	for result, count := range map[string]func() int64{
		"exported": h.tracer.Exported, "failed": h.tracer.Failed, "dropped": h.tracer.Dropped,
	} {
		h.metrics.Labelled("svc_trace_spans_total", help, "result", result, count)
	}
	return nil
}

// countResponses returns the function that counts and times the responses, with their traces as exemplars.
func countResponses(m *metrics.Registry) func(ctx context.Context, method, route string, status int, took time.Duration) {
	count := m.Requests()
	return func(ctx context.Context, method, route string, status int, took time.Duration) {
		count(method, route, status, took, tracing.TraceID(ctx))
	}
}

// traceInputs makes the verdict processor continue the traces of its inputs.
func (h *service) traceInputs(c *stream.Config) {
	if h.tracer == nil {
		return
	}
	c.Trace = func(r stream.Record) interface{ Traceparent() string } {
		span := h.tracer.Apply(&tracing.Input{
			Topic: c.Input, Group: c.Group, Hospital: schemas.InputHospital(r.Key),
			Partition: r.Partition, Offset: r.Offset, Traceparent: r.Traceparent,
		})
		if span == (tracing.Span{}) {
			return nil
		}
		return span
	}
	c.Cause = func(key, value []byte) (offset int64, ok bool) {
		if !schemas.IsChange(key) {
			return 0, false
		}
		head, err := schemas.PeekChange(value)
		return head.Offset, err == nil && head.Cause == acuity.CauseIngest
	}
}

// viewSpans ends the spans of committed inputs, and records how long each input then takes to appear in the view. A nil
// viewSpans does nothing.
type viewSpans struct {
	tracer *tracing.Tracer

	mu      sync.Mutex
	waiting map[int32][]waitingSpan // by partition, in the order of the offsets
}

type waitingSpan struct {
	offset int64
	span   tracing.Span
}

// waitingAtMost is the maximum number of spans of a partition that wait for the view. While Redis is unavailable, the
// spans of later inputs are not recorded.
const waitingAtMost = 256

// newViewSpans returns an empty viewSpans, or nil if traces are off.
func newViewSpans(t *tracing.Tracer) *viewSpans {
	if t == nil {
		return nil
	}
	return &viewSpans{tracer: t, waiting: map[int32][]waitingSpan{}}
}

// endInput ends the span of an input, and starts the span of its write to the view. It returns the trace id of the
// input, or "" if the input is not traced.
func (v *viewSpans) endInput(partition int32, in *stream.Input, at time.Time) (traceID string) {
	applied, ok := in.Span.(tracing.Span)
	if v == nil || !ok {
		return ""
	}
	applied.End(at)
	shown := v.tracer.Show(applied, at)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting[partition]) < waitingAtMost {
		v.waiting[partition] = append(v.waiting[partition], waitingSpan{in.Offset, shown})
	}
	return applied.TraceID()
}

// endWrites ends the spans of the inputs that the view of a partition now includes: those up to the given position.
// The argument at is the time of the write. endWrites returns the trace id of the oldest such input, or "" if there
// is none.
func (v *viewSpans) endWrites(partition int32, position int64, at time.Time) (traceID string) {
	if v == nil {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.waiting[partition]
	n := 0
	for n < len(all) && all[n].offset <= position {
		all[n].span.End(at)
		traceID = cmp.Or(traceID, all[n].span.TraceID())
		n++
	}
	v.waiting[partition] = all[n:]
	return traceID
}

// of returns a view that drops the waiting spans of a partition when the partition is reassigned, because another
// process may have written the view in the meantime.
func (v *viewSpans) of(view verdict.View) verdict.View { //nolint:ireturn // one of two types
	if v == nil {
		return view
	}
	return spannedView{view, v}
}

type spannedView struct {
	verdict.View
	spans *viewSpans
}

// Own implements [verdict.View].
func (s spannedView) Own(partition int32, applied int64, charts []verdict.Chart) verdict.OwnedView { //nolint:ireturn // as View.Own
	s.spans.mu.Lock()
	delete(s.spans.waiting, partition)
	s.spans.mu.Unlock()
	return s.View.Own(partition, applied, charts)
}

// tracedSenders returns senders that record each attempt as a span.
func (h *service) tracedSenders(all map[subscriber.Channel]sending.Sender) map[subscriber.Channel]sending.Sender {
	if h.tracer == nil {
		return all
	}
	traced := make(map[subscriber.Channel]sending.Sender, len(all))
	for channel, sender := range all {
		traced[channel] = tracedSender{sender, channel, h.tracer}
	}
	return traced
}

type tracedSender struct {
	sending.Sender
	channel subscriber.Channel
	tracer  *tracing.Tracer
}

// Send implements [sending.Sender].
func (s tracedSender) Send(ctx context.Context, m sending.Message) sending.Result {
	span := s.tracer.Deliver(ctx, &tracing.Attempt{
		Channel: string(s.channel), Hospital: m.Hospital, Event: m.Event, Number: m.Attempt, Traceparent: m.Traceparent,
	})
	result := s.Sender.Send(ctx, m)
	fault := string(result.Class)
	if result.Class == sending.ClassOK {
		fault = ""
	}
	span.Delivered(result.Status, fault)
	return result
}
