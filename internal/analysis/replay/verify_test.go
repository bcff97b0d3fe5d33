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
	"svc/internal/analysis/replay"
	"svc/internal/analysis/replay/replaytest"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/schemas"
)

// lived is the output of a live processor for some inputs: changelog and view. It is not stored
// anywhere yet, so a test can damage it.
type lived struct {
	replaytest.Lived
	inputs  [][]stream.Record  // by partition
	foreign map[int32][]string // further hospitals in the view
}

// live applies observations as the processor does. It commits after every few, and fires the
// timers that the wall clock would have fired.
func live(tb testing.TB, list []*acuity.Observation) *lived {
	tb.Helper()
	l := &lived{
		Lived:  replaytest.Lived{TB: tb, Changes: make([][]stream.Record, partitions), Views: map[string]*replay.View{}},
		inputs: make([][]stream.Record, partitions), foreign: map[int32][]string{},
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
	l.TB.Helper()
	if err := task.Outputs(func(key, value []byte) {
		l.Changes[n] = append(l.Changes[n], stream.Record{Partition: n, Key: bytes.Clone(key), Value: bytes.Clone(value), Timestamp: at})
	}); err != nil {
		l.TB.Fatal(err)
	}
	task.Committed()
}

func (l *lived) Own(int32, int64, []verdict.Chart) verdict.OwnedView { return l }
func (l *lived) Disown()                                             {}
func (l *lived) Show(_ int64, charts []verdict.Chart) {
	for _, c := range charts {
		v := l.Views[c.Hospital]
		if v == nil {
			v = &replay.View{Rooms: map[int32]string{}, Site: map[string]string{}}
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

// verify writes inputs and changelog to a Kafka and returns the check of them.
func (l *lived) verify(b *testKafka) *replay.Verify {
	l.TB.Helper()
	b.write(schemas.Observations().Name, slices.Concat(l.inputs...))
	b.write(schemas.Verdicts().Name, slices.Concat(l.Changes...))
	return l.verifier(b)
}

func (l *lived) verifier(b *testKafka) *replay.Verify {
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
			if v := l.Views[hospital]; v != nil {
				return v, nil
			}
			return nil, replay.ErrNoView
		},
		Shown: func(_ context.Context, partition int32) ([]string, error) {
			list := l.foreign[partition]
			for h := range l.Views {
				if schemas.Partition([]byte(h), partitions) == partition {
					list = append(list, h)
				}
			}
			return list, nil
		},
		Patience: 100 * time.Millisecond,
	}
}

// Changelog and view of a processor agree with the log, also for the plain reference and in
// later rounds.
func TestVerifyFindsNothing(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	b := newTestKafka(t)
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
			_, places := l.ChangesOf(h.Hospital)
			if h.Changes != int64(len(places)) || h.Served != h.Version || h.Unheld != 0 || h.Inputs < 600 {
				t.Errorf("round %d: %+v, of %d changes", round, h, len(places))
			}
		}
	}
	plain := live(t, list[:300])
	b2 := newTestKafka(t)
	v = plain.verify(b2)
	v.Plain = true
	if report, err := v.Round(t.Context()); err != nil || report.First() != nil {
		t.Errorf("plain: %v %v", err, report.First())
	}
}

// planted is a fault that a test plants, with the code that verify must report.
type planted struct {
	plant func(l *lived) (key string, version int64)
	fault replay.Fault
}

const victim = replaytest.Victim

// further holds the faults beyond those of [replaytest.Faults].
var further = map[string]planted{
	"an input that nobody sent": {func(l *lived) (string, int64) {
		p, places := l.ChangesOf(victim)
		last := places[len(places)-1]
		c := l.Change(p, last)
		l.Changes[p] = append(l.Changes[p], l.Changes[p][last])
		l.Edit(p, len(l.Changes[p])-1, func(again *acuity.Change) {
			again.Cause, again.Version, again.Offset = acuity.CauseIngest, c.Version+1, 1_000_000
		})
		return victim, c.Version + 1
	}, replay.ForeignInput},
	"a stale state": {func(l *lived) (string, int64) {
		p, _ := l.ChangesOf(victim)
		key, older := victim+"/unit", -1
		for i, r := range l.Changes[p] {
			if string(r.Key) == key {
				if older >= 0 {
					l.Changes[p][i].Value = l.Changes[p][older].Value
				} else {
					older = i
				}
			}
		}
		return key, l.Views[victim].Version
	}, replay.WrongState},
	"a state that is not there": {func(l *lived) (string, int64) {
		p, _ := l.ChangesOf(victim)
		key := victim + "/room/5"
		l.Changes[p] = slices.DeleteFunc(l.Changes[p], func(r stream.Record) bool { return string(r.Key) == key })
		return key, l.Views[victim].Version
	}, replay.MissingState},
	"a view that was left behind": {func(l *lived) (string, int64) {
		v := l.Views[victim]
		// The newest view with an old version would be stale in its fields. So the view is the
		// one that Redis had at the beginning.
		*v = replay.View{Version: 0, Rooms: map[int32]string{}, Site: map[string]string{}}
		v.Version = 1
		first := live(l.TB, shifts(2400, 3, 40*time.Second)[:firstOf(victim)])
		*v = *first.Views[victim]
		return "view " + victim, v.Version
	}, replay.StaleView},
	"a hospital that the view lacks": {func(l *lived) (string, int64) {
		version := l.Views[victim].Version
		delete(l.Views, victim)
		return "view " + victim, version
	}, replay.MissingField},
}

// firstOf returns the number of observations up to the first one of a hospital.
func firstOf(hospital string) int {
	for i, o := range shifts(2400, 3, 40*time.Second) {
		if o.Hospital == hospital {
			return i + 1
		}
	}
	return 0
}

// TestVerifyFindsFaults plants each fault alone. Verify must name it with key and version, and
// report no other hospital.
func TestVerifyFindsFaults(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	faults := maps.Clone(further)
	for name, row := range replaytest.Faults {
		faults[name] = planted{func(l *lived) (string, int64) { return row.Plant(&l.Lived) }, row.Fault}
	}
	for name, row := range faults {
		t.Run(name, func(t *testing.T) {
			l := live(t, list)
			key, version := row.plant(l)
			report, err := l.verify(newTestKafka(t)).Round(t.Context())
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

// Changes that compaction has removed are no fault. The changes after them are compared again.
func TestVerifyAfterCompaction(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	l := live(t, list)
	cut := list[1500].ReceivedAt
	for p := range l.Changes {
		newest := map[string]int{}
		for i, r := range l.Changes[p] {
			newest[string(r.Key)] = i
		}
		kept := l.Changes[p][:0:0]
		for i, r := range l.Changes[p] {
			if !r.Timestamp.Before(cut.Time()) || newest[string(r.Key)] == i {
				kept = append(kept, r)
			}
		}
		l.Changes[p] = kept
	}
	b := newTestKafka(t)
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

// A round checks the changes that are new; inputs that are not applied yet are pending.
func TestVerifyInRounds(t *testing.T) {
	list := shifts(2400, 3, 40*time.Second)
	whole := live(t, list)
	b := newTestKafka(t)
	first := live(t, list[:1200])
	v := first.verify(b)
	l := first // the views that are served now
	v.View = func(_ context.Context, hospital string) (*replay.View, error) { return l.Views[hospital], nil }
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
	for p := range whole.Changes {
		rest = append(rest, whole.Changes[p][len(first.Changes[p]):]...)
	}
	b.write(schemas.Verdicts().Name, rest)
	l = whole
	check(0)
	// A fault that comes later is found later.
	whole.Views[victim].Rooms[99] = "x"
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != replay.ForeignField || d.Key != "view room/99" {
		t.Errorf("found %v", d)
	}
}

// A failed read ends a round with an error and is no difference.
func TestVerifyCannotRead(t *testing.T) {
	l := live(t, shifts(60, 1, time.Minute))
	v := l.verify(newTestKafka(t))
	away := errors.New("away")
	v.View = func(context.Context, string) (*replay.View, error) { return nil, away }
	if _, err := v.Round(t.Context()); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}
