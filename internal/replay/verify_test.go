package replay_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/replay"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// lived is what a live processor has made of some inputs: its changelog and what
// it has shown, before it is written anywhere, so that a test can spoil it.
type lived struct {
	tb      testing.TB
	inputs  [][]stream.Record // by partition
	changes [][]stream.Record
	views   map[string]*replay.View
	foreign map[int32][]string // further hospitals that the view has
}

// live applies observations as the processor does, a commit for every few of
// them, with the timers that the wall clock would have fired.
func live(tb testing.TB, list []*acuity.Observation) *lived {
	tb.Helper()
	l := &lived{
		tb: tb, inputs: make([][]stream.Record, partitions), changes: make([][]stream.Record, partitions),
		views: map[string]*replay.View{}, foreign: map[int32][]string{},
	}
	var tasks [partitions]stream.Task
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
		n := schemas.Partition(key, partitions)
		r := stream.Record{Partition: n, Offset: int64(len(l.inputs[n])), Key: key, Value: value, Timestamp: o.ReceivedAt.Time()}
		l.inputs[n] = append(l.inputs[n], r)
		late := o.ReceivedAt.Time().Add(time.Duration(i%3) * 15 * time.Second) // the wall clock, when the input is polled
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

func (l *lived) commit(n int32, task stream.Task, at time.Time) {
	l.tb.Helper()
	if err := task.Outputs(func(key, value []byte) {
		l.changes[n] = append(l.changes[n], stream.Record{Partition: n, Key: bytes.Clone(key), Value: bytes.Clone(value), Timestamp: at})
	}); err != nil {
		l.tb.Fatal(err)
	}
	task.Committed()
}

func (l *lived) Own(int32, int64, []verdict.Chart) {}
func (l *lived) Disown(int32)                      {}
func (l *lived) Show(_ int32, _ int64, charts []verdict.Chart) {
	for _, c := range charts {
		v := l.views[c.Hospital]
		if v == nil {
			v = &replay.View{Rooms: map[int32]string{}, Site: map[string]string{}}
			l.views[c.Hospital] = v
		}
		v.Version, v.Unit = c.Version, string(c.Unit)
		for id, room := range c.Rooms {
			if v.Rooms[id] = string(room); room == nil {
				delete(v.Rooms, id)
			}
		}
		for name, record := range c.Site {
			if v.Site[name] = string(record); record == nil {
				delete(v.Site, name)
			}
		}
	}
}

// verify writes all of it to a Kafka and verifies it.
func (l *lived) verify(b *bed) *replay.Verify {
	l.tb.Helper()
	b.write(schemas.Observations().Name, slices.Concat(l.inputs...))
	b.write(schemas.Verdicts().Name, slices.Concat(l.changes...))
	return l.verifier(b)
}

func (l *lived) verifier(b *bed) *replay.Verify {
	log := b.log()
	return &replay.Verify{
		Inputs: replay.Source{Spans: log.Spans, Read: log.Read},
		Changes: replay.Source{
			Spans: func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
				return b.cluster.Spans(ctx, schemas.Verdicts().Name, from, to)
			},
			Read: func(ctx context.Context, s stream.Span, each func(stream.Record) error) error {
				return b.cluster.Range(ctx, schemas.Verdicts().Name, s, each)
			},
		},
		View: func(_ context.Context, hospital string) (*replay.View, error) {
			if v := l.views[hospital]; v != nil {
				return v, nil
			}
			return nil, replay.ErrNoView
		},
		Shown: func(_ context.Context, partition int32) ([]string, error) {
			list := l.foreign[partition]
			for h := range l.views {
				if schemas.Partition([]byte(h), partitions) == partition {
					list = append(list, h)
				}
			}
			return list, nil
		},
		Patience: 100 * time.Millisecond,
	}
}

// changesOf are the places of the changes of a hospital in its partition.
func (l *lived) changesOf(hospital string) (partition int32, places []int) {
	partition = schemas.Partition([]byte(hospital), partitions)
	for i, r := range l.changes[partition] {
		if string(r.Key) == hospital {
			places = append(places, i)
		}
	}
	return partition, places
}

// edit changes one change of the changelog.
func (l *lived) edit(partition int32, place int, edit func(c *acuity.Change)) {
	l.tb.Helper()
	r := &l.changes[partition][place]
	c, err := schemas.DecodeChange(r.Value)
	if err != nil {
		l.tb.Fatal(err)
	}
	edit(c)
	if r.Value, err = schemas.EncodeChange(nil, c); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *lived) change(partition int32, place int) *acuity.Change {
	l.tb.Helper()
	c, err := schemas.DecodeChange(l.changes[partition][place].Value)
	if err != nil {
		l.tb.Fatal(err)
	}
	return c
}

// What a processor has written and shown is what the log makes; also for the
// plain reference, and in the rounds that follow.
func TestVerifyFindsNothing(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	b := newBed(t)
	l := live(t, list)
	v := l.verify(b)
	for round := range 2 {
		report, err := v.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := report.First(); d != nil {
			t.Fatalf("round %d: %v", round, d)
		}
		if len(report.Hospitals) != 3 || report.Pending != 0 {
			t.Errorf("report %+v", report)
		}
		for _, h := range report.Hospitals {
			_, places := l.changesOf(h.Hospital)
			if h.Changes != int64(len(places)) || h.Served != h.Version || h.Unheld != 0 || h.Inputs < 600 {
				t.Errorf("round %d: %+v, of %d changes", round, h, len(places))
			}
		}
	}
	plain := live(t, list[:300])
	b2 := newBed(t)
	v = plain.verify(b2)
	v.Plain = true
	if report, err := v.Round(t.Context()); err != nil || report.First() != nil {
		t.Errorf("plain: %v %v", err, report.First())
	}
}

// planted is a fault that a test plants, and how verify names it.
type planted struct {
	plant func(l *lived) (key string, version int64)
	fault replay.Fault
}

const victim = "h001"

// at picks a change by input of the victim, with another one after it.
func (l *lived) at(want func(c, next *acuity.Change) bool) (partition int32, place, next int) {
	l.tb.Helper()
	partition, places := l.changesOf(victim)
	for i := len(places) / 2; i+1 < len(places); i++ {
		c, n := l.change(partition, places[i]), l.change(partition, places[i+1])
		if c.Cause == acuity.CauseIngest && n.Cause == acuity.CauseIngest && want(c, n) {
			return partition, places[i], places[i+1]
		}
	}
	l.tb.Fatal("no such change")
	return 0, 0, 0
}

func anyChange(_, _ *acuity.Change) bool { return true }

// renumber gives the changes of the victim from a place on other versions.
func (l *lived) renumber(partition int32, from int, by int64) {
	for i := from; i < len(l.changes[partition]); i++ {
		if string(l.changes[partition][i].Key) == victim {
			l.edit(partition, i, func(c *acuity.Change) { c.Version += by })
		}
	}
}

var faults = map[string]planted{
	"a lost input": {func(l *lived) (string, int64) {
		p, i, _ := l.at(anyChange)
		version := l.change(p, i).Version
		l.changes[p] = slices.Delete(l.changes[p], i, i+1)
		l.renumber(p, i, -1)
		return victim, version
	}, replay.LostInput},
	"one applied twice": {func(l *lived) (string, int64) {
		p, i, _ := l.at(anyChange)
		again := l.changes[p][i]
		l.changes[p] = slices.Insert(l.changes[p], i+1, again)
		l.renumber(p, i+1, +1)
		return victim, l.change(p, i).Version + 1
	}, replay.AppliedTwice},
	"two swapped": {func(l *lived) (string, int64) {
		p, i, j := l.at(anyChange)
		version := l.change(p, i).Version
		l.changes[p][i], l.changes[p][j] = l.changes[p][j], l.changes[p][i]
		l.edit(p, i, func(c *acuity.Change) { c.Version-- })
		l.edit(p, j, func(c *acuity.Change) { c.Version++ })
		return victim, version
	}, replay.Swapped},
	"a missing version": {func(l *lived) (string, int64) {
		p, i, _ := l.at(anyChange)
		version := l.change(p, i).Version
		l.changes[p] = slices.Delete(l.changes[p], i, i+1)
		return victim, version
	}, replay.MissingVersion},
	"a doubled version": {func(l *lived) (string, int64) {
		p, i, j := l.at(anyChange)
		l.renumber(p, j, -1)
		return victim, l.change(p, i).Version
	}, replay.DoubledVersion},
	"a stale field": {func(l *lived) (string, int64) {
		v := l.views[victim]
		ids := slices.Sorted(maps.Keys(v.Rooms))
		v.Rooms[ids[1]] = v.Rooms[ids[0]]
		return "view room/2", v.Version
	}, replay.StaleField},
	"a missing field": {func(l *lived) (string, int64) {
		v := l.views[victim]
		delete(v.Rooms, 3)
		return "view room/3", v.Version
	}, replay.MissingField},
	"a foreign field": {func(l *lived) (string, int64) {
		v := l.views[victim]
		v.Rooms[99] = v.Rooms[1]
		return "view room/99", v.Version
	}, replay.ForeignField},
	"a wrong level": {func(l *lived) (string, int64) {
		p, i, _ := l.at(anyChange)
		l.edit(p, i, func(c *acuity.Change) { c.Level = (c.Level + 1) % 4 })
		return victim, l.change(p, i).Version
	}, replay.WrongChange},
	"a lost tombstone": {func(l *lived) (string, int64) {
		p, _ := l.changesOf(victim)
		for i, r := range l.changes[p] {
			if r.Value == nil && string(schemas.HospitalOf(r.Key)) == victim {
				l.changes[p] = slices.Delete(l.changes[p], i, i+1)
				return string(r.Key), l.views[victim].Version
			}
		}
		l.tb.Fatal("no tombstone")
		return "", 0
	}, replay.LostTomb},

	// Beyond the ten.
	"an input that nobody sent": {func(l *lived) (string, int64) {
		p, places := l.changesOf(victim)
		last := places[len(places)-1]
		c := l.change(p, last)
		l.changes[p] = append(l.changes[p], l.changes[p][last])
		l.edit(p, len(l.changes[p])-1, func(again *acuity.Change) {
			again.Cause, again.Version, again.Offset = acuity.CauseIngest, c.Version+1, 1_000_000
		})
		return victim, c.Version + 1
	}, replay.ForeignInput},
	"a stale state": {func(l *lived) (string, int64) {
		p, _ := l.changesOf(victim)
		key, older := victim+"/unit", -1
		for i, r := range l.changes[p] {
			if string(r.Key) == key {
				if older >= 0 {
					l.changes[p][i].Value = l.changes[p][older].Value
				} else {
					older = i
				}
			}
		}
		return key, l.views[victim].Version
	}, replay.WrongState},
	"a state that is not there": {func(l *lived) (string, int64) {
		p, _ := l.changesOf(victim)
		key := victim + "/room/5"
		l.changes[p] = slices.DeleteFunc(l.changes[p], func(r stream.Record) bool { return string(r.Key) == key })
		return key, l.views[victim].Version
	}, replay.MissingState},
	"a view that was left behind": {func(l *lived) (string, int64) {
		v := l.views[victim]
		// The newest view, under the number of an old one, would be stale in its
		// fields; that of the beginning is what Redis had there.
		*v = replay.View{Version: 0, Rooms: map[int32]string{}, Site: map[string]string{}}
		v.Version = 1
		first := live(l.tb, shifts(2400, 3, 40*time.Second)[:firstOf(victim)])
		*v = *first.views[victim]
		return "view " + victim, v.Version
	}, replay.StaleView},
	"a hospital that the view lacks": {func(l *lived) (string, int64) {
		version := l.views[victim].Version
		delete(l.views, victim)
		return "view " + victim, version
	}, replay.MissingField},
}

// firstOf is after how many observations a hospital has its first.
func firstOf(hospital string) int {
	for i, o := range shifts(2400, 3, 40*time.Second) {
		if o.Hospital == hospital {
			return i + 1
		}
	}
	return 0
}

// TestVerifyFindsFaults plants each fault alone, and wants it named with its key
// and version, and nothing said of the other hospitals.
func TestVerifyFindsFaults(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	for name, row := range faults {
		t.Run(name, func(t *testing.T) {
			l := live(t, list)
			key, version := row.plant(l)
			report, err := l.verify(newBed(t)).Round(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, h := range report.Hospitals {
				if h.Difference == nil {
					continue
				}
				found++
				if d := h.Difference; d.Fault != row.fault || d.Hospital != victim || d.Key != key || d.Version != version {
					t.Errorf("found %v\nwant %s at %s, version %d", d, row.fault, key, version)
				}
			}
			if found != 1 {
				t.Errorf("%d differences", found)
			}
		})
	}
}

// What compaction has taken is no fault, and what follows it is held again.
func TestVerifyAfterCompaction(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	l := live(t, list)
	cut := list[1500].ReceivedAt
	for p := range l.changes {
		newest := map[string]int{}
		for i, r := range l.changes[p] {
			newest[string(r.Key)] = i
		}
		kept := l.changes[p][:0:0]
		for i, r := range l.changes[p] {
			if !r.Timestamp.Before(cut.Time()) || newest[string(r.Key)] == i {
				kept = append(kept, r)
			}
		}
		l.changes[p] = kept
	}
	b := newBed(t)
	v := l.verify(b)
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != replay.MissingVersion && d.Fault != replay.LostInput {
		t.Errorf("without a word about compaction: %v", d)
	}
	v = l.verifier(b)
	v.Held = cut
	if report, err = v.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d != nil {
		t.Error(d)
	}
	for _, h := range report.Hospitals {
		if h.Unheld < 300 || h.Changes < 200 {
			t.Errorf("%+v", h)
		}
	}
}

// Rounds take what has come since, and what is not applied yet waits.
func TestVerifyInRounds(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	whole := live(t, list)
	b := newBed(t)
	first := live(t, list[:1200])
	v := first.verify(b)
	l := first // what is served now
	v.View = func(_ context.Context, hospital string) (*replay.View, error) { return l.views[hospital], nil }
	check := func(pending int64) {
		t.Helper()
		report, err := v.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := report.First(); d != nil {
			t.Fatal(d)
		}
		if report.Pending != pending {
			t.Errorf("%d pending, want %d", report.Pending, pending)
		}
	}
	check(0)
	b.put(list[1200:])
	check(1200)
	var rest []stream.Record
	for p := range whole.changes {
		rest = append(rest, whole.changes[p][len(first.changes[p]):]...)
	}
	b.write(schemas.Verdicts().Name, rest)
	l = whole
	check(0)
	// A fault that comes later is found later.
	whole.views[victim].Rooms[99] = "x"
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != replay.ForeignField || d.Key != "view room/99" {
		t.Errorf("found %v", d)
	}
}

// What cannot be read ends a round and is no difference.
func TestVerifyCannotRead(t *testing.T) {
	l := live(t, shifts(60, 1, time.Minute))
	v := l.verify(newBed(t))
	away := errors.New("away")
	v.View = func(context.Context, string) (*replay.View, error) { return nil, away }
	if _, err := v.Round(t.Context()); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}
