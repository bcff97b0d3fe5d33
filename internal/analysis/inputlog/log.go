// Package inputlog reads the observations on Kafka as the inputs of analyses.
//
//   - A [Log] reads the topic with a different library (segmentio/kafka-go) than the processors, outside any
//     consumer group, and never writes.
//   - An [Input] is one record of the log.
//   - A [Source] is either the log, or another topic that is read with internal/stream.
package inputlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"svc/internal/stream"
	"svc/schemas"
)

// Log reads the observations topic outside any consumer group, and never writes to it. Log is correct only for a
// topic without transactions or compaction (segmentio/kafka-go#1332); internal/stream reads other topics.
type Log struct {
	Topic string

	brokers []string
	dialer  *kafka.Dialer
	client  *kafka.Client
	close   func()
}

// OpenLog returns the log of a topic. The log connects to Kafka on first use.
func OpenLog(o *stream.Options, topic string) (*Log, error) {
	secure, err := o.TLSConfig()
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	mechanism, err := mechanismOf(o)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	transport := &kafka.Transport{ClientID: o.ClientID, TLS: secure, SASL: mechanism, DialTimeout: dialTimeout}
	return &Log{
		Topic: topic, brokers: o.Brokers,
		dialer: &kafka.Dialer{ClientID: o.ClientID, TLS: secure, SASLMechanism: mechanism, Timeout: dialTimeout},
		client: &kafka.Client{Addr: kafka.TCP(o.Brokers...), Transport: transport, Timeout: askTimeout},
		close:  transport.CloseIdleConnections,
	}, nil
}

// Timeouts for connecting to a broker and for its responses. They are long, because the analysis commands run at low
// priority and may be delayed on a busy machine.
const (
	dialTimeout = 30 * time.Second
	askTimeout  = time.Minute
)

func mechanismOf(o *stream.Options) (sasl.Mechanism, error) {
	switch o.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: o.User, Password: o.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, o.User, o.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, o.User, o.Password)
	}
	return nil, nil
}

// Close ends the connections.
func (l *Log) Close() { l.close() }

// Spans returns a span of offsets for each partition, for the time range [from, to). A span begins with the first
// record at or after from, and ends before the first record at or after to. A zero from means the beginning of the
// log; a zero to means its current end.
func (l *Log) Spans(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
	meta, err := l.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{l.Topic}})
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", l.Topic, err)
	}
	if len(meta.Topics) != 1 {
		return nil, fmt.Errorf("describe %s: %w", l.Topic, ErrNoTopic)
	}
	if err = meta.Topics[0].Error; errors.Is(err, kafka.UnknownTopicOrPartition) {
		err = ErrNoTopic
	}
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", l.Topic, err)
	}
	count := len(meta.Topics[0].Partitions)
	firsts, err := l.requestOffsets(ctx, count, kafka.FirstOffsetOf)
	if err != nil {
		return nil, err
	}
	ends, err := l.requestOffsets(ctx, count, kafka.LastOffsetOf)
	if err != nil {
		return nil, err
	}
	// bound returns, for each partition, the offset of the first record at or after an instant.
	bound := func(t time.Time) ([]int64, error) {
		at, fault := l.requestOffsets(ctx, count, func(n int) kafka.OffsetRequest { return kafka.TimeOffsetOf(n, t) })
		for n := range at {
			if at[n] < 0 || at[n] > ends[n] {
				at[n] = ends[n]
			}
		}
		return at, fault
	}
	if !from.IsZero() {
		if firsts, err = bound(from); err != nil {
			return nil, err
		}
	}
	if !to.IsZero() {
		if ends, err = bound(to); err != nil {
			return nil, err
		}
	}
	spans := make([]stream.Span, count)
	for n := range spans {
		spans[n] = stream.Span{Partition: int32(n), From: firsts[n], End: max(ends[n], firsts[n])}
	}
	return spans, nil
}

// ErrNoTopic means that Kafka does not have the topic of the log.
var ErrNoTopic = errors.New("no such topic")

// requestOffsets requests one offset of each partition; question returns the request for a partition. The result is
// -1 for a partition without such an offset.
func (l *Log) requestOffsets(ctx context.Context, partitions int, question func(partition int) kafka.OffsetRequest) ([]int64, error) {
	questions := make([]kafka.OffsetRequest, partitions)
	for n := range questions {
		questions[n] = question(n)
	}
	resp, err := l.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{l.Topic: questions}})
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", l.Topic, err)
	}
	at := slices.Repeat([]int64{-1}, partitions)
	for _, p := range resp.Topics[l.Topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("list offsets of %s: %w", l.Topic, p.Error)
		}
		switch questions[p.Partition].Timestamp {
		case kafka.FirstOffset:
			at[p.Partition] = p.FirstOffset
		case kafka.LastOffset:
			at[p.Partition] = p.LastOffset
		default:
			for offset := range p.Offsets {
				at[p.Partition] = offset
			}
		}
	}
	return at, nil
}

// These constants control how a reader fetches records in advance. A batch larger than readBytes is fetched
// completely.
const (
	readBytes = 1 << 20
	readQueue = 512                   // records
	readWait  = 20 * time.Millisecond // how long a broker waits for new records at the end of the log
)

// ErrGone means that retention has deleted records of the span that is being read.
var ErrGone = errors.New("the records have been deleted")

// Read calls fn with every record of a span, in order. It returns [ErrGone] if an offset of the span is missing.
func (l *Log) Read(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
	if s.From >= s.End {
		return nil
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: l.brokers, Topic: l.Topic, Partition: int(s.Partition), Dialer: l.dialer,
		MinBytes: 1, MaxBytes: readBytes, MaxWait: readWait, QueueCapacity: readQueue,
		ReadBackoffMin: 10 * time.Millisecond, ReadBatchTimeout: askTimeout, OffsetOutOfRangeError: true,
	})
	defer reader.Close() //nolint:errcheck // nothing was written
	if err := reader.SetOffset(s.From); err != nil {
		return fmt.Errorf("read %s: %w", l.Topic, err)
	}
	for at := s.From; at < s.End; at++ {
		m, err := reader.ReadMessage(ctx)
		switch {
		case errors.Is(err, kafka.OffsetOutOfRange), err == nil && m.Offset != at:
			return fmt.Errorf("read %s %d:%d: %w", l.Topic, s.Partition, at, ErrGone)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("read %s %d:%d: %w", l.Topic, s.Partition, at, net.ErrClosed)
		case err != nil:
			return fmt.Errorf("read %s %d:%d: %w", l.Topic, s.Partition, at, err)
		}
		if err := fn(stream.Record{Partition: s.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Timestamp: m.Time}); err != nil {
			return err
		}
	}
	return nil
}

// Read is a function that reads a span and passes every record to a callback, in order.
type Read func(ctx context.Context, s stream.Span, each func(stream.Record) error) error

// Source reads a topic.
type Source struct {
	// Spans returns the offsets of each partition, as [Log.Spans] does.
	Spans func(ctx context.Context, from, to time.Time) ([]stream.Span, error)
	Read  Read
}

// Source returns the log as a [Source].
func (l *Log) Source() Source { return Source{Spans: l.Spans, Read: l.Read} }

// Committed returns a [Source] that reads the committed records of a topic with internal/stream.
func Committed(cluster *stream.Cluster, topic string) Source {
	return Source{
		Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			return cluster.Spans(ctx, topic, from, to)
		},
		Read: func(ctx context.Context, s stream.Span, fn func(stream.Record) error) error {
			return cluster.Range(ctx, topic, s, fn)
		},
	}
}

// ErrPartitions means that the topics have different numbers of partitions. The verdicts and snapshots of a hospital
// must be in the partition with the same number as its observations.
var ErrPartitions = errors.New("the observations, verdicts and snapshots topics have different numbers of partitions")

// Partition returns the current span of one partition.
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

// PartitionsOf groups the hospitals by partition. It returns nil if hospitals is empty, which means all hospitals.
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
