package stream

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// traceparentHeader is the header of a traced record, with the name that W3C Trace Context specifies. Records without
// a trace do not have this header. Only tracing reads it.
const traceparentHeader = "traceparent"

// traceparentLength is the length of a traceparent of version 00: version, trace id, span id and flags.
const traceparentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// traceHeaders returns the headers of a record with a traceparent, or nil if traceparent is "".
func traceHeaders(traceparent string) []kgo.RecordHeader {
	if traceparent == "" {
		return nil
	}
	return []kgo.RecordHeader{{Key: traceparentHeader, Value: []byte(traceparent)}}
}

// traceparentOf returns the traceparent of a record, or "" if the record has none of the right length.
func traceparentOf(r *kgo.Record) string {
	for i := range r.Headers {
		if h := &r.Headers[i]; h.Key == traceparentHeader && len(h.Value) == traceparentLength {
			return string(h.Value)
		}
	}
	return ""
}

// addInput adds an input to the transaction, with its span if it is traced.
func (l *loop) addInput(p *part, r *Record) {
	if l.cfg.Committed == nil {
		return
	}
	in := Input{Offset: r.Offset, Timestamp: r.Timestamp}
	if l.cfg.Trace != nil && r.Traceparent != "" {
		if in.Span = l.cfg.Trace(*r); in.Span != nil {
			p.traced = true
		}
	}
	p.inputs = append(p.inputs, in)
}

// traceparent returns the traceparent for an output, which comes from the span of the input that caused the output.
func (l *loop) traceparent(p *part, key, value []byte) string {
	if !p.traced || l.cfg.Cause == nil {
		return ""
	}
	offset, ok := l.cfg.Cause(key, value)
	if !ok {
		return ""
	}
	at, found := slices.BinarySearchFunc(p.inputs, offset, func(in Input, offset int64) int { return cmp.Compare(in.Offset, offset) })
	if !found || p.inputs[at].Span == nil {
		return ""
	}
	return p.inputs[at].Span.Traceparent()
}
