package inputlog

import (
	"context"
	"errors"
	"time"

	"svc/internal/stream"
	"svc/schemas"
)

// Read calls each with the records of a span, in order.
type Read func(ctx context.Context, s stream.Span, each func(stream.Record) error) error

// Source reads a topic.
type Source struct {
	// Spans returns the offsets of each partition, as [Log.Spans] does.
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error)
	Read  Read
}

// Source returns the log as a source.
func (l *Log) Source() Source { return Source{Spans: l.Spans, Read: l.Read} }

// Committed returns a topic as a source of its committed records.
func Committed(cluster *stream.Cluster, topic string) Source {
	return Source{
		Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			return cluster.Spans(ctx, topic, from, to)
		},
		Read: func(ctx context.Context, s stream.Span, each func(stream.Record) error) error {
			return cluster.Range(ctx, topic, s, each)
		},
	}
}

// ErrPartitions says that a change cannot lie in the partition of its input.
var ErrPartitions = errors.New("observations and verdicts have different numbers of partitions")

// Partition returns the present span of one partition.
func (s *Source) Partition(ctx context.Context, n int32) (stream.Span, error) {
	spans, err := s.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return stream.Span{}, err
	}
	if int(n) >= len(spans) {
		return stream.Span{}, ErrPartitions
	}
	return spans[n], nil
}

// PartitionsOf returns the hospitals by partition; nil: all hospitals are wanted.
func PartitionsOf(hospitals []string, partitions int32) map[int32][]string {
	if len(hospitals) == 0 {
		return nil
	}
	by := map[int32][]string{}
	for _, h := range hospitals {
		p := schemas.Partition([]byte(h), partitions)
		by[p] = append(by[p], h)
	}
	return by
}
