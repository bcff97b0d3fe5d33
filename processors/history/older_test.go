package history_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/stream"
	"svc/schemas"
)

// byVerdicts learns from changes in the same way as the previous build: it accepts each hour once, and learns all
// accepted hours again when a backfill ends.
type byVerdicts struct {
	models   map[string]*schemas.Model
	forecast map[string]*forecast.Model
	copied   map[string][]*acuity.Snapshot
}

func newByVerdicts() *byVerdicts {
	return &byVerdicts{map[string]*schemas.Model{}, map[string]*forecast.Model{}, map[string][]*acuity.Snapshot{}}
}

func (b *byVerdicts) read(c *acuity.Change) {
	s := c.Snapshot
	if s == nil {
		return
	}
	m := b.models[c.Hospital]
	if m == nil {
		m = &schemas.Model{}
		b.models[c.Hospital], b.forecast[c.Hospital] = m, forecast.NewModel(c.Hospital)
	}
	switch {
	case s.Backfill == 0 && s.Hour > m.Copied:
		m.Copied = s.Hour
	case s.Backfill > 0 && (s.Generation > m.PastGeneration || s.Generation == m.PastGeneration && s.Hour > m.PastHour):
		m.PastHour, m.PastGeneration = s.Hour, s.Generation
	default:
		return
	}
	b.copied[c.Hospital] = append(b.copied[c.Hospital], s)
	switch s.Backfill {
	case 0:
		forecast.Learn(b.forecast[c.Hospital], s, zurich)
	case 1:
		byHour := map[int32]*acuity.Snapshot{}
		for _, s := range b.copied[c.Hospital] {
			if old := byHour[s.Hour]; old == nil || old.Generation <= s.Generation {
				byHour[s.Hour] = s
			}
		}
		again := forecast.NewModel(c.Hospital)
		for h := range int32(1000) {
			if s := byHour[start+h]; s != nil {
				forecast.Learn(again, s, zurich)
			}
		}
		b.forecast[c.Hospital] = again
	}
}

// record returns the stored record of a hospital's model. The previous build did not store a position in the snapshots
// topic.
func (b *byVerdicts) record(hospital string) *schemas.Model {
	m := new(schemas.Model)
	m.CopyFrom(b.forecast[hospital])
	known := b.models[hospital]
	m.Position, m.Copied, m.PastHour, m.PastGeneration = 0, known.Copied, known.PastHour, known.PastGeneration
	return m
}

// drawChanges draws the changes of two hospitals: hours, backfills (some of them interrupted), and changes without a
// snapshot.
func drawChanges(t *rapid.T) (all []acuity.Change) {
	type state struct{ hour, generation, next, left int32 }
	states := map[string]*state{"north": {hour: 50}, "south": {hour: 50}}
	for i := range rapid.IntRange(1, 60).Draw(t, "changes") {
		hospital := rapid.SampledFrom([]string{"north", "south"}).Draw(t, "hospital")
		s := states[hospital]
		switch rapid.SampledFrom([]string{"hour", "hour", "past", "past", "past", "backfill", "input"}).Draw(t, "what") {
		case "hour":
			c := hour(hospital, int64(i+1), s.hour)
			c.Snapshot.Generation = s.generation
			s.hour++
			all = append(all, c)
		case "backfill":
			s.generation++
			s.next = rapid.Int32Range(20, 45).Draw(t, "from")
			s.left = rapid.Int32Range(1, 5).Draw(t, "hours")
		case "past":
			if s.left > 0 {
				all = append(all, past(hospital, s.next, s.generation, s.left))
				s.next, s.left = s.next+1, s.left-1
			}
		case "input":
			all = append(all, acuity.Change{Hospital: hospital, Version: int64(i + 1), Cause: acuity.CauseIngest})
		}
	}
	return all
}

// TestHistoryOfSnapshotsIsThatOfVerdicts: the models equal those that the previous build would have learned from the
// verdicts. That build may have written some of the changes, and its history processor may not have read all of them.
func TestHistoryOfSnapshotsIsThatOfVerdicts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		changes := drawChanges(rt)
		written := rapid.IntRange(0, len(changes)).Draw(rt, "written by the build before")
		read := rapid.IntRange(0, written).Draw(rt, "read by its history")

		l := &log{t: t}
		old, want := newByVerdicts(), newByVerdicts()
		for i := range changes[:read] {
			c := changes[i]
			n := len(old.copied[c.Hospital])
			if old.read(&c); len(old.copied[c.Hospital]) > n {
				l.snapshots = append(l.snapshots, snapshotRecord(t, int64(len(l.snapshots)), &c))
			}
		}
		for hospital := range old.models {
			value, err := schemas.ModelCodec.Encode(nil, old.record(hospital))
			if err != nil {
				rt.Fatal(err)
			}
			l.models = append(l.models, stream.Record{Key: []byte(hospital), Value: value})
		}
		for i := range changes[read:written] {
			l.older = append(l.older, changeRecord(t, int64(i), &changes[read+i]))
		}
		for i := range changes {
			want.read(&changes[i])
		}

		l.start()
		if rapid.Bool().Draw(rt, "killed before the first commit") {
			l.task.Close()
			l.start()
		}
		for _, r := range slices.Clone(l.snapshots) { // without a position, the group reads the topic from the beginning
			l.input(r)
		}
		l.commit()
		for _, value := range l.copied {
			l.snapshots = append(l.snapshots, stream.Record{Offset: int64(len(l.snapshots)), Value: value})
		}
		for i := range changes[written:] {
			if c := &changes[written+i]; c.Snapshot != nil {
				l.snapshots = append(l.snapshots, snapshotRecord(t, int64(len(l.snapshots)), c))
			}
		}
		restart := rapid.IntRange(0, len(l.snapshots)).Draw(rt, "restart")
		for i := int(l.next); i < len(l.snapshots); i++ {
			l.input(l.snapshots[i])
			if i == restart {
				l.commit()
				l.task.Close()
				l.start()
			}
		}
		l.commit()

		for hospital := range want.models {
			got := l.model(hospital)
			got.Position = 0
			if value, err := schemas.ModelCodec.Encode(nil, want.record(hospital)); err != nil {
				rt.Fatal(err)
			} else if again, err := schemas.ModelCodec.Decode(value); err != nil || !reflect.DeepEqual(got, again) {
				rt.Errorf("%s: hour %d with %d learnt, want hour %d with %d; or numbers differ: %v",
					hospital, got.Hour-start, got.Learnt, again.Hour-start, again.Learnt, err)
			}
			var hours, wanted []string
			for _, r := range l.snapshots {
				if s, err := schemas.SnapshotCodec.Decode(r.Value); err != nil {
					rt.Fatal(err)
				} else if s.Hospital == hospital {
					hours = append(hours, name(&s.Snapshot))
				}
			}
			for _, s := range want.copied[hospital] {
				wanted = append(wanted, name(s))
			}
			if !slices.Equal(hours, wanted) {
				rt.Errorf("%s: the topic has %v, want %v", hospital, hours, wanted)
			}
		}
	})
}

func name(s *acuity.Snapshot) string { return fmt.Sprint(s.Hour-start, "/", s.Generation) }

// TestOlderIsReadOnce: once a model has a position in the snapshots topic, the previous build's changes are not read
// again.
func TestOlderIsReadOnce(t *testing.T) {
	l := &log{t: t}
	c := hour("north", 1, 1)
	l.older = append(l.older, changeRecord(t, 0, &c))
	l.start()
	l.apply(0, hour("north", 2, 2))
	l.commit()
	if len(l.copied) != 1 {
		t.Fatalf("%d snapshots were copied", len(l.copied))
	}
	c = hour("south", 1, 1)
	l.older = append(l.older, changeRecord(t, 1, &c))
	l.task.Close()
	l.start()
	l.apply(1, hour("north", 3, 3))
	l.commit()
	if len(l.copied) != 1 {
		t.Errorf("%d snapshots were copied", len(l.copied))
	}
	wantModel(t, l.model("north"), learnt("north", 2, hour("north", 1, 1), hour("north", 2, 2), hour("north", 3, 3)))
}

// TestOlderSnapshotsHaveTheirLevels: a copied snapshot contains the seconds that the unit spent at each level,
// computed from the changes before the snapshot.
func TestOlderSnapshotsHaveTheirLevels(t *testing.T) {
	l := &log{t: t}
	first := acuity.Change{Hospital: "north", Version: 1, Level: acuity.LevelRed, AppliedAt: acuity.Instant(start)*hourLong + hourLong/2}
	second := hour("north", 2, 1)
	third := changeRecord(t, 2, &second)
	third.Copy = true // copied by a checkpoint
	l.older = append(l.older, changeRecord(t, 0, &first), changeRecord(t, 1, &second), third)
	l.start()
	l.commit()
	if len(l.copied) != 1 {
		t.Fatalf("%d snapshots were copied", len(l.copied))
	}
	s, err := schemas.SnapshotCodec.Decode(l.copied[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 0, 0, 1800}; !slices.Equal(s.LevelSeconds, want) {
		t.Errorf("seconds of levels %v, want %v", s.LevelSeconds, want)
	}
}
