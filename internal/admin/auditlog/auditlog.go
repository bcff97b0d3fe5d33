// Package auditlog stores the acts of administrators in a Kafka topic.
package auditlog

import (
	"context"
	"fmt"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/stream"
	"svc/schemas/administration"
)

// Log is the audit topic: the acts of the administrators of all hospitals.
type Log struct {
	cluster   *stream.Cluster
	publisher *stream.Publisher
	topic     string
}

// Open returns the log in a topic.
func Open(cluster *stream.Cluster, topic string) *Log {
	return &Log{cluster, cluster.Publisher(topic), topic}
}

// partition is the only partition. Acts are rare, and readers need them in order.
const partition = 0

// Record implements [audit.Record].
func (l *Log) Record(ctx context.Context, act audit.Act) error {
	value, err := administration.ActCodec.Encode(nil, &act)
	if err != nil {
		return fmt.Errorf("encode action: %w", err)
	}
	_, err = l.publisher.Append(ctx, []byte(act.Hospital), value, partition)
	return err
}

// List implements [audit.List]. It reads backwards from the end, so the newest page of a busy hospital is cheap. For
// the oldest page, it reads the whole topic: 400 days of acts.
func (l *Log) List(ctx context.Context, q audit.Query) (audit.Page, error) {
	var page audit.Page
	before := stream.Newest
	if q.Before > 0 {
		before = q.Before
	}
	var fault error
	err := l.cluster.Back(ctx, l.topic, partition, before, func(r stream.Record) bool {
		if string(r.Key) != q.Hospital {
			return !passed(r.Timestamp, q.Since)
		}
		act, err := administration.ActCodec.Decode(r.Value)
		if err != nil {
			fault = fmt.Errorf("decode action: %w", err)
			return false
		}
		if !q.Matches(act) {
			return !passed(r.Timestamp, q.Since)
		}
		if len(page.Acts) == q.Limit {
			page.Cursor = r.Offset + 1
			return false
		}
		page.Acts = append(page.Acts, *act)
		return true
	})
	if err == nil {
		err = fault
	}
	return page, err
}

// passed reports whether all older records precede the start of a query, given the time at which one record was
// written. It assumes that the clocks of instances differ by less than an hour.
func passed(at, since time.Time) bool {
	return !since.IsZero() && at.Before(since.Add(-time.Hour))
}
