package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/internal/testkit/loadgen"
	"svc/processors/verdict"
	"svc/schemas"
)

// TestDevPast writes observations of the past month while the processor runs. Like svc import, it writes the
// observations more slowly than the processor applies them. Each verdict must change at the same instant as in the
// reference implementation. Once no more records arrive, the processor must use the wall clock.

func TestDevPast(t *testing.T) {
	onlyInE2E(t)
	t.Parallel() // the test waits until no more records arrive
	d := startDev(t, t.TempDir(), "--ephemeral")
	writePast(t, d.Kafka, "", 3)
}

func TestPastOnServers(t *testing.T) {
	needServers(t)
	t.Parallel()
	s := startSystem(t)
	s.processor("p1")
	writePast(t, s.kafka.address, s.prefix, partitions)
}

func writePast(t *testing.T, broker, prefix string, partitions int32) {
	const hospitals, pieces, piece, step = 3, 6, 100, 10 * time.Minute
	ctx := t.Context()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.AlwaysRetryEOF(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	feeds := loadgen.New(hospitals, 8, acuity.At(time.Now().Add(-30*24*time.Hour)), step)
	said := map[string][]acuity.Observation{}
	for range pieces {
		var records []*kgo.Record
		for range piece {
			o := feeds.Next()
			value, err := schemas.EncodeObservation(nil, o)
			if err != nil {
				t.Fatal(err)
			}
			key := []byte(schemas.ObservationKey(o).String())
			records = append(records, &kgo.Record{
				Topic: prefix + schemas.Observations().Name, Partition: schemas.Partition(key, partitions), Key: key, Value: value, Timestamp: o.ReceivedAt.Time(),
			})
			said[o.Hospital] = append(said[o.Hospital], *o)
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, func() error { return caughtUp(ctx, client, prefix) }) // so that the processor is idle between batches
	}
	log := readLog(t, broker, prefix)
	log.check(t, nil)
	for _, hospital := range slices.Sorted(maps.Keys(said)) {
		sameInstants(t, log, hospital, said[hospital])
	}
	eventually(t, time.Minute, func() error {
		for hospital, changes := range readLog(t, broker, prefix).changes {
			if last := changes[len(changes)-1]; len(changes) == len(log.changes[hospital]) || last.Cause != acuity.CauseTime {
				return fmt.Errorf("time has not passed at %s", hospital)
			}
		}
		return nil
	})
}

// caughtUp returns an error until the processor has applied the whole log.
func caughtUp(ctx context.Context, client *kgo.Client, prefix string) error {
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(ctx, prefix+schemas.Observations().Name)
	if err != nil {
		return err
	}
	committed, err := admin.FetchOffsets(ctx, prefix+verdict.Group)
	if err != nil {
		return err
	}
	var faults []error
	ends.Each(func(end kadm.ListedOffset) {
		if at, _ := committed.Lookup(end.Topic, end.Partition); at.At < end.Offset {
			faults = append(faults, fmt.Errorf("partition %d is applied to %d of %d", end.Partition, at.At, end.Offset))
		}
	})
	return errors.Join(faults...)
}

// sameInstants compares the changes of a hospital with those that the reference implementation derives only from the
// log.
func sameInstants(t *testing.T, log *systemLog, hospitalID string, said []acuity.Observation) {
	t.Helper()
	want := hospitaltest.Fold(said, 0).Changes
	got := log.changes[hospitalID]
	timed := 0
	for i := range want {
		w := &want[i]
		if w.Cause == acuity.CauseTime {
			timed++
		}
		if i >= len(got) {
			t.Fatalf("%s: %d changes, not %d", hospitalID, len(got), len(want))
		}
		if g := got[i].Change; g.Cause != w.Cause || g.AppliedAt != w.AppliedAt || g.Level != w.Level || len(g.Effects) != len(w.Effects) {
			t.Fatalf("%s: version %d is of cause %v at %v, not %v at %v", hospitalID, g.Version, g.Cause, g.AppliedAt.Time(), w.Cause, w.AppliedAt.Time())
		}
	}
	if timed < len(said)/10 {
		t.Errorf("%s: %d of %d changes are by time: too few to tell", hospitalID, timed, len(want))
	}
}
