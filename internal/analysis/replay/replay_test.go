package replay_test

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/analysis/replay"
	"svc/internal/stream"
	"svc/internal/testkit/loadgen"
	"svc/schemas"
)

var morning = acuity.At(time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC))

// testKafka is an embedded Kafka with the topics of svc.
type testKafka struct {
	tb      testing.TB
	options stream.Options
	cluster *stream.Cluster
}

const partitions = 3

func newTestKafka(tb testing.TB) *testKafka {
	tb.Helper()
	broker, err := stream.Embed(stream.BrokerOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(broker.Close)
	b := &testKafka{tb: tb, options: stream.Options{Brokers: []string{broker.Addr()}, Log: slog.New(slog.DiscardHandler)}}
	if b.cluster, err = stream.Dial(tb.Context(), b.options); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.cluster.Close)
	var topics []stream.Topic
	for _, topic := range schemas.Topics() {
		topics = append(topics, stream.Topic{Name: topic.Name, Partitions: partitions, MaxMessageBytes: topic.MaxRecord})
	}
	if err := b.cluster.Ensure(tb.Context(), topics...); err != nil {
		tb.Fatal(err)
	}
	return b
}

// log opens the observations as the independent client.
func (b *testKafka) log() *replay.Log {
	b.tb.Helper()
	l, err := replay.OpenLog(&b.options, schemas.Observations().Name)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(l.Close)
	return l
}

// shifts returns n observations of several hospitals, received a step apart.
func shifts(n, hospitals int, step time.Duration) []*acuity.Observation {
	feeds := loadgen.New(hospitals, 12, morning, step)
	list := make([]*acuity.Observation, n)
	for i := range list {
		list[i] = feeds.Next()
	}
	return list
}

// put writes observations as ingest does, with the time of receipt as timestamp.
func (b *testKafka) put(list []*acuity.Observation) {
	b.tb.Helper()
	records := make([]stream.Record, 0, len(list))
	for _, o := range list {
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			b.tb.Fatal(err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		records = append(records, stream.Record{Partition: schemas.Partition(key, partitions), Key: key, Value: value, Timestamp: o.ReceivedAt.Time()})
	}
	b.write(schemas.Observations().Name, records)
}

func (b *testKafka) write(topic string, records []stream.Record) {
	b.tb.Helper()
	loader, err := b.cluster.Loader(b.tb.Context(), topic)
	if err != nil {
		b.tb.Fatal(err)
	}
	for i := range records {
		if err := loader.Put(&records[i]); err != nil {
			b.tb.Fatal(err)
		}
	}
	if err := loader.Close(); err != nil {
		b.tb.Fatal(err)
	}
}

// observationsOf returns the observations of one hospital.
func observationsOf(hospital string, list []*acuity.Observation) (own []acuity.Observation) {
	for _, o := range list {
		if o.Hospital == hospital {
			own = append(own, *o)
		}
	}
	return own
}

// refold makes all changes of a hospital from the log.
func refold(tb testing.TB, l *replay.Log, hospital string, until acuity.Instant) (changes []acuity.Change, chart *acuity.Chart) {
	tb.Helper()
	f, err := replay.NewRefold(hospital, nil)
	if err != nil {
		tb.Fatal(err)
	}
	each := func(c *acuity.Change) { changes = append(changes, *c) }
	for in, err := range l.Inputs(tb.Context(), hospital) {
		if err != nil {
			tb.Fatal(err)
		}
		f.Apply(&in, each)
	}
	f.ElapseTo(until, each)
	return changes, f.Chart()
}

// The log, as the second client reads it, makes the changes that the plain reference makes
// from the sent observations.
func TestRefoldIsTheReference(t *testing.T) {
	b := newTestKafka(t)
	list := shifts(900, 4, time.Minute)
	b.put(list)
	end := list[len(list)-1].ReceivedAt.Add(3 * time.Hour)
	for _, hospitalID := range []string{"h000", "h001", "h002", "h003"} {
		want := hospital.Fold(observationsOf(hospitalID, list), end)
		got, _ := refold(t, b.log(), hospitalID, end)
		if len(got) != len(want.Changes) || len(got) < 200 {
			t.Fatalf("%s: %d changes, want %d", hospitalID, len(got), len(want.Changes))
		}
		for i := range got {
			a, z := got[i], want.Changes[i]
			a.Offset, z.Offset = 0, 0 // the reference numbers its inputs
			if a.Snapshot != nil && z.Snapshot != nil {
				a.Snapshot.Position, z.Snapshot.Position = 0, 0
			}
			if x, y := encoded(t, &a), encoded(t, &z); x != y {
				t.Fatalf("%s: change %d\n got %+v\nwant %+v", hospitalID, i, got[i], want.Changes[i])
			}
		}
	}
}

func encoded(t *testing.T, c *acuity.Change) string {
	t.Helper()
	value, err := schemas.ChangeCodec.Encode(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// Inputs come once each, in the order of the log. Inputs that cannot be read are among them.
func TestInputs(t *testing.T) {
	b := newTestKafka(t)
	list := shifts(300, 2, time.Minute)
	b.put(list[:150])
	b.write(schemas.Observations().Name, []stream.Record{{
		Partition: schemas.Partition([]byte("h001"), partitions), Key: []byte("h001/room/1"), Value: []byte("no record"), Timestamp: list[149].ReceivedAt.Time(),
	}})
	b.put(list[150:])
	var got, want []acuity.Instant
	for _, o := range list {
		if o.Hospital == "h001" {
			want = append(want, o.ReceivedAt)
		}
	}
	reasons := ""
	for in, err := range b.log().Inputs(t.Context(), "h001") {
		if err != nil {
			t.Fatal(err)
		}
		if in.Observation == nil {
			reasons += in.Reason
			continue
		}
		got = append(got, in.Observation.ReceivedAt)
	}
	if len(want) == 0 || !slices.Equal(got, want) || reasons != "malformed_record" {
		t.Errorf("%d inputs, want %d; not read: %q", len(got), len(want), reasons)
	}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}
