package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue passes ended spans to the batch processor of the SDK, and counts the exported, failed and dropped spans. The
// batch processor drops spans silently when it is full, so the queue has the same size and drops them first. It never
// blocks.
type queue struct {
	sdktrace.SpanProcessor
	size    int64
	pending atomic.Int64 // spans that were passed to the batch processor and are not exported yet

	exported, failed, dropped atomic.Int64
}

// newQueue returns a queue that holds at most size spans and passes them to an exporter.
func newQueue(exporter sdktrace.SpanExporter, size int, log *slog.Logger) *queue {
	q := &queue{size: int64(size)}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(&counter{SpanExporter: exporter, queue: q, log: log}, sdktrace.WithMaxQueueSize(size))
	return q
}

// OnEnd implements [sdktrace.SpanProcessor].
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.pending.Add(1) > q.size {
		q.pending.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// counter counts the results of an exporter. It logs the first of several consecutive failures, and the next success.
type counter struct {
	sdktrace.SpanExporter
	queue   *queue
	log     *slog.Logger
	failing bool // whether the last export failed; used only by the batch processor, which makes one call at a time
}

// ExportSpans implements [sdktrace.SpanExporter].
func (c *counter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := int64(len(spans))
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.queue.pending.Add(-n)
	if err != nil {
		c.queue.failed.Add(n)
		if !c.failing {
			c.log.WarnContext(ctx, "traces not exported", "error", err)
		}
		c.failing = true
		return nil
	}
	c.queue.exported.Add(n)
	if c.failing {
		c.log.InfoContext(ctx, "traces exported again")
		c.failing = false
	}
	return nil
}
