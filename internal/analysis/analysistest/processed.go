package analysistest

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/verify"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// Processed is the output of a live processor for some inputs: changelog, snapshots and view. It exists only in memory,
// so a test can damage it.
type Processed struct {
	Output
	Inputs  [][]stream.Record  // by partition
	Foreign map[int32][]string // additional hospitals in the view, by partition

	cut map[stream.Position]*acuity.Snapshot // hourly snapshots; the key is the partition and index of the change that follows the snapshot
}

// Live applies observations as a live processor does. It commits after every fourth observation. Before the first of
// every three observations, it fires the timers of the observation's partition that are due one second before the
// time of receipt.
func Live(tb testing.TB, list []*acuity.Observation) *Processed {
	tb.Helper()
	l := &Processed{
		Output: Output{
			TB: tb, Changes: make([][]stream.Record, Partitions), Snapshots: make([][]stream.Record, Partitions),
			Views: map[string]*verify.View{},
		},
		Inputs: make([][]stream.Record, Partitions), Foreign: map[int32][]string{},
		cut: map[stream.Position]*acuity.Snapshot{},
	}
	var tasks [Partitions]stream.Task
	for n := range tasks {
		tasks[n] = verdict.Tasks(l)(int32(n))
		if _, err := tasks[n].Restored(); err != nil {
			tb.Fatal(err)
		}
	}
	for i, o := range list {
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			tb.Fatal(err)
		}
		key := []byte(schemas.ObservationKey(o).String())
		n := schemas.Partition(key, Partitions)
		r := stream.Record{Partition: n, Offset: int64(len(l.Inputs[n])), Key: key, Value: value, Timestamp: o.ReceivedAt.Time()}
		l.Inputs[n] = append(l.Inputs[n], r)
		late := o.ReceivedAt.Time().Add(time.Duration(i%3) * 15 * time.Second) // the wall clock when the input is polled
		if i%3 == 0 {
			if err := tasks[n].Advance(late.Add(-time.Second)); err != nil {
				tb.Fatal(err)
			}
		}
		if err := tasks[n].Apply(r); err != nil {
			tb.Fatal(err)
		}
		if i%4 == 3 {
			for n := range tasks {
				l.commit(int32(n), tasks[n], late)
			}
		}
	}
	for n := range tasks {
		l.commit(int32(n), tasks[n], list[len(list)-1].ReceivedAt.Time())
	}
	return l
}

func (l *Processed) commit(n int32, task stream.Task, at time.Time) {
	l.TB.Helper()
	if err := task.Outputs(func(key, value []byte) {
		r := stream.Record{Partition: n, Key: bytes.Clone(key), Value: bytes.Clone(value), Timestamp: at}
		if verdict.IsSnapshot(key) {
			s := l.Snapshot(&r)
			l.cut[stream.Position{Partition: n, Offset: int64(len(l.Changes[n]))}] = &s.Snapshot
			l.Snapshots[n] = append(l.Snapshots[n], r)
			return
		}
		l.Changes[n] = append(l.Changes[n], r)
	}); err != nil {
		l.TB.Fatal(err)
	}
	task.Committed()
}

// AgeChanges copies each hourly snapshot into the change that follows it. Releases without a snapshots topic stored
// the snapshots in these changes. AgeChanges returns the number of snapshots.
func (l *Processed) AgeChanges() int {
	l.TB.Helper()
	for at, snapshot := range l.cut {
		r := &l.Changes[at.Partition][at.Offset]
		c, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			l.TB.Fatal(err)
		}
		c.Snapshot = snapshot
		if r.Value, err = schemas.ChangeCodec.Encode(nil, c); err != nil {
			l.TB.Fatal(err)
		}
	}
	return len(l.cut)
}

// Own implements [verdict.View].
func (l *Processed) Own(int32, int64, []verdict.Chart) verdict.OwnedView { return l }

// Disown implements [verdict.OwnedView].
func (l *Processed) Disown() {}

// Show implements [verdict.OwnedView].
func (l *Processed) Show(_ int64, charts []verdict.Chart) {
	for _, c := range charts {
		v := l.Views[c.Hospital]
		if v == nil {
			v = &verify.View{Rooms: map[int32]string{}, Site: map[string]string{}}
			l.Views[c.Hospital] = v
		}
		v.Version, v.Unit = c.Version, string(c.Unit)
		for id, room := range c.Rooms {
			if v.Rooms[id] = string(room); room == nil {
				delete(v.Rooms, id)
			}
		}
		for name, record := range c.LocalSettings {
			if v.Site[name] = string(record); record == nil {
				delete(v.Site, name)
			}
		}
	}
}

// Verify writes the inputs, the changelog and the snapshots to b, and returns a verifier for them.
func (l *Processed) Verify(b *Kafka) *verify.Verify {
	l.TB.Helper()
	b.Write(schemas.Observations().Name, slices.Concat(l.Inputs...))
	b.Write(schemas.Verdicts().Name, slices.Concat(l.Changes...))
	b.Write(schemas.Snapshots().Name, slices.Concat(l.Snapshots...))
	return l.Verifier(b)
}

// Verifier returns a verifier for the inputs, changelog and snapshots that b already contains.
func (l *Processed) Verifier(b *Kafka) *verify.Verify {
	return &verify.Verify{
		Inputs:    b.Log().Source(),
		Changes:   inputlog.Committed(b.Cluster, schemas.Verdicts().Name),
		Snapshots: inputlog.Committed(b.Cluster, schemas.Snapshots().Name),
		View: func(_ context.Context, hospital string) (*verify.View, error) {
			if v := l.Views[hospital]; v != nil {
				return v, nil
			}
			return nil, verify.ErrNoView
		},
		Shown: func(_ context.Context, partition int32) ([]string, error) {
			list := l.Foreign[partition]
			for h := range l.Views {
				if schemas.Partition([]byte(h), Partitions) == partition {
					list = append(list, h)
				}
			}
			return list, nil
		},
		Patience: 100 * time.Millisecond,
	}
}
