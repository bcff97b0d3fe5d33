// Package analysistest provides test fixtures for the analyses: an embedded Kafka, simulated shifts, a processor.
package analysistest

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/archive"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/tables"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

// Morning is the time of the first observation.
var Morning = acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC))

// Kafka is an embedded Kafka with the topics of svc.
type Kafka struct {
	TB      testing.TB
	Options stream.Options
	Cluster *stream.Cluster
}

// Partitions is the number of partitions of each topic.
const Partitions = 3

// NewKafka starts an embedded Kafka, which stops at the end of the test.
func NewKafka(tb testing.TB) *Kafka {
	tb.Helper()
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(broker.Close)
	b := &Kafka{TB: tb, Options: stream.Options{Brokers: []string{broker.Addr()}, Log: slog.New(slog.DiscardHandler)}}
	if b.Cluster, err = stream.Dial(tb.Context(), b.Options); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Cluster.Close)
	var topics []stream.Topic
	for _, topic := range schemas.Topics() {
		topics = append(topics, stream.Topic{Name: topic.Name, Partitions: Partitions, MaxMessageBytes: topic.MaxRecord})
	}
	if err := b.Cluster.Ensure(tb.Context(), topics...); err != nil {
		tb.Fatal(err)
	}
	return b
}

// Log opens the observations topic with the independent client (kafka-go).
func (b *Kafka) Log() *inputlog.Log {
	b.TB.Helper()
	l, err := inputlog.OpenLog(&b.Options, schemas.Observations().Name)
	if err != nil {
		b.TB.Fatal(err)
	}
	b.TB.Cleanup(l.Close)
	return l
}

// Export returns an export of all observations of a log.
func Export(l *inputlog.Log, f tables.Format) *archive.Export {
	return &archive.Export{Table: archive.Tables()[0], Topic: schemas.Observations().Name, Format: f, Source: l.Source()}
}

// Shifts returns n observations of the given number of hospitals. Each is received one step after the previous one.
func Shifts(n, hospitals int, step time.Duration) []*acuity.Observation {
	feeds := loadgen.New(hospitals, 12, Morning, step)
	list := make([]*acuity.Observation, n)
	for i := range list {
		list[i] = feeds.Next()
	}
	return list
}

// Put writes observations as ingest does, with the time of receipt as the timestamp.
func (b *Kafka) Put(list []*acuity.Observation) {
	b.TB.Helper()
	records := make([]stream.Record, 0, len(list))
	for _, o := range list {
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			b.TB.Fatal(err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		records = append(records, stream.Record{
			Partition: schemas.Partition(key, Partitions), Key: key, Value: value, Timestamp: o.ReceivedAt.Time(),
		})
	}
	b.Write(schemas.Observations().Name, records)
}

// Write writes records to a topic.
func (b *Kafka) Write(topic string, records []stream.Record) {
	b.TB.Helper()
	loader, err := b.Cluster.Loader(b.TB.Context(), topic)
	if err != nil {
		b.TB.Fatal(err)
	}
	for i := range records {
		if err := loader.Put(&records[i]); err != nil {
			b.TB.Fatal(err)
		}
	}
	if err := loader.Close(); err != nil {
		b.TB.Fatal(err)
	}
}

// ObservationsOf returns the observations of one hospital.
func ObservationsOf(hospital string, list []*acuity.Observation) (own []acuity.Observation) {
	for _, o := range list {
		if o.Hospital == hospital {
			own = append(own, *o)
		}
	}
	return own
}

// Folder returns the contents of all files below a folder, by path.
func Folder(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		files[filepath.ToSlash(strings.TrimPrefix(name, dir+string(filepath.Separator)))] = string(content)
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return files
}
