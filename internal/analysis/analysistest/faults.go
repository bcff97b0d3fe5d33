package analysistest

import (
	"maps"
	"slices"
	"testing"

	"svc/acuity"
	"svc/internal/analysis/verify"
	"svc/internal/stream"
	"svc/schemas"
)

// Victim is the hospital whose records the [Faults] damage. The output must contain a few hundred inputs of Victim.
const Victim = "h001"

// Output is the output of a processor: the changelog, the snapshots and the view.
type Output struct {
	TB        testing.TB
	Changes   [][]stream.Record // changelog records, by partition
	Snapshots [][]stream.Record // by partition
	Views     map[string]*verify.View
}

// Planted is a fault that a test adds to an output, and the code with which svc verify must report that fault.
type Planted struct {
	// Plant damages the output, and returns the key and the version that svc verify must report.
	Plant func(l *Output) (key string, version int64)
	Fault verify.Fault
}

// ChangesOf returns a hospital's partition, and the indexes of the hospital's changes in it.
func (l *Output) ChangesOf(hospital string) (partition int32, places []int) {
	partition = schemas.Partition([]byte(hospital), int32(len(l.Changes)))
	for i, r := range l.Changes[partition] {
		if string(r.Key) == hospital {
			places = append(places, i)
		}
	}
	return partition, places
}

// Edit modifies one change in the changelog.
func (l *Output) Edit(partition int32, place int, edit func(c *acuity.Change)) {
	l.TB.Helper()
	c := l.Change(partition, place)
	edit(c)
	value, err := schemas.ChangeCodec.Encode(nil, c)
	if err != nil {
		l.TB.Fatal(err)
	}
	l.Changes[partition][place].Value = value
}

// Change reads one change of the changelog.
func (l *Output) Change(partition int32, place int) *acuity.Change {
	l.TB.Helper()
	c, err := schemas.ChangeCodec.Decode(l.Changes[partition][place].Value)
	if err != nil {
		l.TB.Fatal(err)
	}
	return c
}

// Pair returns the victim's partition and the indexes of two consecutive changes of the victim for which want returns
// true. Both changes were caused by inputs, not by timers. The test fails if the second half of the victim's changes
// contains no such pair.
func (l *Output) Pair(want func(c, next *acuity.Change) bool) (partition int32, place, next int) {
	l.TB.Helper()
	partition, places := l.ChangesOf(Victim)
	for i := len(places) / 2; i+1 < len(places); i++ {
		c, n := l.Change(partition, places[i]), l.Change(partition, places[i+1])
		if c.Cause == acuity.CauseIngest && n.Cause == acuity.CauseIngest && want(c, n) {
			return partition, places[i], places[i+1]
		}
	}
	l.TB.Fatal("no two consecutive changes caused by inputs")
	return 0, 0, 0
}

// Snapshot reads a record of the snapshots topic.
func (l *Output) Snapshot(r *stream.Record) *schemas.Snapshot {
	l.TB.Helper()
	s, err := schemas.SnapshotCodec.Decode(r.Value)
	if err != nil {
		l.TB.Fatal(err)
	}
	return s
}

// EditSnapshot modifies one record of the snapshots topic.
func (l *Output) EditSnapshot(partition int32, place int, edit func(s *schemas.Snapshot)) {
	l.TB.Helper()
	s := l.Snapshot(&l.Snapshots[partition][place])
	edit(s)
	value, err := schemas.SnapshotCodec.Encode(nil, s)
	if err != nil {
		l.TB.Fatal(err)
	}
	l.Snapshots[partition][place].Value = value
}

// SnapshotOf returns the partition and the index of a snapshot of the victim, and the version of the victim's first
// change that was applied at or after the snapshot's hour.
func (l *Output) SnapshotOf() (partition int32, place int, version int64) {
	l.TB.Helper()
	partition, changes := l.ChangesOf(Victim)
	var places []int
	for i, r := range l.Snapshots[partition] {
		if string(schemas.HospitalOf(r.Key)) == Victim {
			places = append(places, i)
		}
	}
	if len(places) < 3 {
		l.TB.Fatalf("%d snapshots", len(places))
	}
	place = places[len(places)/2]
	hour := acuity.Instant(l.Snapshot(&l.Snapshots[partition][place]).Snapshot.Hour) * 3_600_000
	for _, i := range changes {
		if c := l.Change(partition, i); c.AppliedAt >= hour {
			return partition, place, c.Version
		}
	}
	l.TB.Fatal("no change was applied after the hour")
	return 0, 0, 0
}

func anyPair(_, _ *acuity.Change) bool { return true }

// renumber adds a number, which may be negative, to the version of each of the victim's changes. It starts at the
// given index of the partition.
func (l *Output) renumber(partition int32, from int, by int64) {
	for i := from; i < len(l.Changes[partition]); i++ {
		if string(l.Changes[partition][i].Key) == Victim {
			l.Edit(partition, i, func(c *acuity.Change) { c.Version += by })
		}
	}
}

// Faults contains, by name, the faults that svc verify must find in the output of any processor.
var Faults = map[string]Planted{
	"a lost input": {func(l *Output) (string, int64) {
		p, i, _ := l.Pair(anyPair)
		version := l.Change(p, i).Version
		l.Changes[p] = slices.Delete(l.Changes[p], i, i+1)
		l.renumber(p, i, -1)
		return Victim, version
	}, verify.LostInput},
	"one applied twice": {func(l *Output) (string, int64) {
		p, i, _ := l.Pair(anyPair)
		again := l.Changes[p][i]
		l.Changes[p] = slices.Insert(l.Changes[p], i+1, again)
		l.renumber(p, i+1, +1)
		return Victim, l.Change(p, i).Version + 1
	}, verify.AppliedTwice},
	"two swapped": {func(l *Output) (string, int64) {
		p, i, j := l.Pair(anyPair)
		version := l.Change(p, i).Version
		l.Changes[p][i], l.Changes[p][j] = l.Changes[p][j], l.Changes[p][i]
		l.Edit(p, i, func(c *acuity.Change) { c.Version-- })
		l.Edit(p, j, func(c *acuity.Change) { c.Version++ })
		return Victim, version
	}, verify.Swapped},
	"a missing version": {func(l *Output) (string, int64) {
		p, i, _ := l.Pair(anyPair)
		version := l.Change(p, i).Version
		l.Changes[p] = slices.Delete(l.Changes[p], i, i+1)
		return Victim, version
	}, verify.MissingVersion},
	"a doubled version": {func(l *Output) (string, int64) {
		p, i, j := l.Pair(anyPair)
		l.renumber(p, j, -1)
		return Victim, l.Change(p, i).Version
	}, verify.DoubledVersion},
	"a stale field": {func(l *Output) (string, int64) {
		v := l.Views[Victim]
		ids := slices.Sorted(maps.Keys(v.Rooms))
		v.Rooms[ids[1]] = v.Rooms[ids[0]]
		return "view room/2", v.Version
	}, verify.StaleField},
	"a missing field": {func(l *Output) (string, int64) {
		v := l.Views[Victim]
		delete(v.Rooms, 3)
		return "view room/3", v.Version
	}, verify.MissingField},
	"a foreign field": {func(l *Output) (string, int64) {
		v := l.Views[Victim]
		v.Rooms[99] = v.Rooms[1]
		return "view room/99", v.Version
	}, verify.ForeignField},
	"a wrong level": {func(l *Output) (string, int64) {
		p, i, _ := l.Pair(anyPair)
		l.Edit(p, i, func(c *acuity.Change) { c.Level = (c.Level + 1) % 4 })
		return Victim, l.Change(p, i).Version
	}, verify.WrongChange},
	"a missing snapshot": {func(l *Output) (string, int64) {
		p, i, version := l.SnapshotOf()
		key := string(l.Snapshots[p][i].Key)
		l.Snapshots[p] = slices.Delete(l.Snapshots[p], i, i+1)
		return key, version
	}, verify.MissingSnapshot},
	"a doubled snapshot": {func(l *Output) (string, int64) {
		p, i, _ := l.SnapshotOf()
		again := l.Snapshots[p][i]
		l.Snapshots[p] = slices.Insert(l.Snapshots[p], i+1, again)
		return string(again.Key), 0
	}, verify.DoubledSnapshot},
	"a different snapshot": {func(l *Output) (string, int64) {
		p, i, version := l.SnapshotOf()
		l.EditSnapshot(p, i, func(s *schemas.Snapshot) { s.Snapshot.Occupied++ })
		return string(l.Snapshots[p][i].Key), version
	}, verify.WrongSnapshot},
	"a lost tombstone": {func(l *Output) (string, int64) {
		p, _ := l.ChangesOf(Victim)
		last := map[string]int{} // index of the latest record of each key
		gone := map[string]int{} // index of the tombstone that deleted each key
		for i, r := range l.Changes[p] {
			key := string(r.Key)
			if string(schemas.HospitalOf(r.Key)) != Victim {
				continue
			}
			delete(gone, key)
			if before, ok := last[key]; ok && r.Value == nil && l.Changes[p][before].Value != nil {
				gone[key] = i
			}
			last[key] = i
		}
		for _, key := range slices.Sorted(maps.Keys(gone)) {
			l.Changes[p] = slices.Delete(l.Changes[p], gone[key], gone[key]+1)
			return key, l.Views[Victim].Version
		}
		l.TB.Fatal("no tombstone that deleted a row")
		return "", 0
	}, verify.LostTomb},
}
