package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/internal/stream"
	"svc/schemas"
)

// log drives a task in the same way as the loop, with slices in place of topics.
type log struct {
	t         *testing.T
	view      *seenView
	task      stream.Task
	next      int64
	changelog []stream.Record
	letters   []schemas.DeadLetter
	snapshots map[int]schemas.Snapshot // snapshots by their change's index in changelog
}

func newLog(t *testing.T) *log {
	l := &log{t: t, snapshots: map[int]schemas.Snapshot{}}
	l.start()
	return l
}

// start creates a new task and restores it from the changelog.
func (l *log) start() {
	l.t.Helper()
	l.view = &seenView{charts: map[string]Chart{}}
	l.task = Tasks(l.view)(0)
	for _, r := range l.changelog {
		if err := l.task.Restore(r); err != nil {
			l.t.Fatal(err)
		}
	}
	next, err := l.task.Restored()
	if err != nil {
		l.t.Fatal(err)
	}
	if next != l.next {
		l.t.Fatalf("restored to input %d, want %d", next, l.next)
	}
}

// apply passes one input to the task, and then overwrites the record's bytes, because the loop reuses them.
func (l *log) apply(r stream.Record) {
	l.t.Helper()
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	defer func() {
		for _, b := range [][]byte{r.Key, r.Value} {
			for i := range b {
				b[i] ^= 0xA5
			}
		}
	}()
	err := l.task.Apply(r)
	if poison, ok := errors.AsType[*stream.PoisonError](err); ok {
		err = l.task.Reject(r, poison.Reason)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.next = r.Offset + 1
}

// commit writes the task's outputs.
func (l *log) commit() {
	l.t.Helper()
	if err := l.task.Outputs(l.write); err != nil {
		l.t.Fatal(err)
	}
	l.task.Committed()
}

func (l *log) write(key, value []byte) {
	if IsDeadLetter(key) {
		letter, err := schemas.DeadLetterCodec.Decode(value)
		if err != nil {
			l.t.Fatal(err)
		}
		l.letters = append(l.letters, *letter)
		return
	}
	if IsSnapshot(key) { // a snapshot directly precedes its change
		s, err := schemas.SnapshotCodec.Decode(value)
		if err != nil {
			l.t.Fatal(err)
		}
		l.snapshots[len(l.changelog)] = *s
		return
	}
	l.changelog = append(l.changelog, stream.Record{Offset: int64(len(l.changelog)), Key: bytes.Clone(key), Value: bytes.Clone(value)})
}

// changes returns the changes of all hospitals in log order, with their snapshots.
func (l *log) changes() (all []acuity.Change) {
	l.t.Helper()
	for i, r := range l.changelog {
		if !schemas.IsChange(r.Key) {
			continue
		}
		c, err := schemas.ChangeCodec.Decode(r.Value)
		if err != nil {
			l.t.Fatal(err)
		}
		if c.Snapshot != nil {
			l.t.Fatal("a change has a snapshot")
		}
		if s, ok := l.snapshots[i]; ok {
			if s.Hospital != c.Hospital {
				l.t.Fatalf("the snapshot of %s precedes a change of %s", s.Hospital, c.Hospital)
			}
			c.Snapshot = &s.Snapshot
		}
		all = append(all, *c)
	}
	return all
}

// seenView stores the newest charts, like the view in Redis.
type seenView struct {
	applied int64
	charts  map[string]Chart
}

func (v *seenView) Own(_ int32, applied int64, charts []Chart) OwnedView {
	v.Show(applied, charts)
	return v
}

func (v *seenView) Show(applied int64, charts []Chart) {
	v.applied = applied
	v.update(charts)
}
func (v *seenView) Disown() { clear(v.charts) }

func (v *seenView) update(charts []Chart) {
	for _, c := range charts {
		rooms := maps.Clone(v.charts[c.Hospital].Rooms)
		if rooms == nil {
			rooms = map[int32][]byte{}
		}
		for id, room := range c.Rooms {
			if rooms[id] = room; room == nil {
				delete(rooms, id)
			}
		}
		site := maps.Clone(v.charts[c.Hospital].LocalSettings)
		if site == nil {
			site = map[string][]byte{}
		}
		for name, record := range c.LocalSettings {
			if site[name] = record; record == nil {
				delete(site, name)
			}
		}
		c.Rooms, c.LocalSettings = rooms, site
		v.charts[c.Hospital] = c
	}
}

func sameChart(a, b Chart) bool {
	return a.Version == b.Version && bytes.Equal(a.Unit, b.Unit) && maps.EqualFunc(a.Rooms, b.Rooms, bytes.Equal) &&
		maps.EqualFunc(a.LocalSettings, b.LocalSettings, bytes.Equal)
}

// TestRestartsChangeNothing stops the task at random points, some of them before a commit, and restores it from the
// changelog. Uncommitted inputs are then applied again. The changes and the view must equal those of a task that was
// never stopped.
func TestRestartsChangeNothing(t *testing.T) {
	records := inputs(t, 600, 3, 20*time.Second)
	steady, stopped := newLog(t), newLog(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(records); {
		n := min(1+random.IntN(20), len(records)-i)
		for _, r := range records[i : i+n] {
			steady.apply(r)
		}
		steady.commit()
		if random.IntN(3) == 0 { // the task stops before its commit
			before := stopped.next
			for _, r := range records[i : i+n] {
				stopped.apply(r)
			}
			stopped.task.Close()
			stopped.next = before
			stopped.start()
		}
		for _, r := range records[i : i+n] {
			stopped.apply(r)
		}
		stopped.commit()
		i += n
	}
	stopped.task.Close()
	stopped.start()
	if a, b := steady.changes(), stopped.changes(); len(a) < len(records) || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d changes, or they differ", len(a), len(b))
	}
	if len(steady.view.charts) != 3 {
		t.Fatalf("the view has %d hospitals", len(steady.view.charts))
	}
	for hospital, want := range steady.view.charts {
		got := stopped.view.charts[hospital]
		if !sameChart(got, want) {
			t.Errorf("the view of %s differs after restarts", hospital)
		}
	}
}

// TestCheckpointIsEnough: a task that is restored only from the output of Live shows the same charts as before.
func TestCheckpointIsEnough(t *testing.T) {
	records := inputs(t, 400, 2, time.Minute)
	l := newLog(t)
	for _, r := range records {
		l.apply(r)
	}
	l.commit()
	view := maps.Clone(l.view.charts)
	l.changelog = nil
	for next, more := l.task.Live(), true; more; {
		var err error
		if more, err = next(l.write); err != nil {
			t.Fatal(err)
		}
	}
	l.task.Close()
	l.start()
	for hospital, want := range view {
		if got := l.view.charts[hospital]; got.Version != want.Version || !maps.EqualFunc(got.Rooms, want.Rooms, bytes.Equal) {
			t.Errorf("%s differs after a restore from the checkpoint", hospital)
		}
	}
}

// TestTimers: a timer fires at its due instant without an input, exactly once for each hospital.
func TestTimers(t *testing.T) {
	l := newLog(t)
	for i, hospital := range []string{"north", "south"} {
		start := morning.Add(time.Duration(i) * time.Minute)
		o := &acuity.Observation{
			Hospital: hospital, ReceivedAt: start, Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 1},
			Signals: []acuity.Signal{{Room: 1, Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", StartedAt: start}},
		}
		value, err := schemas.EncodeObservation(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		l.apply(stream.Record{Offset: int64(i), Key: []byte(hospital), Value: value})
	}
	l.commit()
	want := morning.Add(time.Hour).Time() // the demand of magnesium decreases to 1:2
	if due := l.task.Due(); !due.Equal(want) {
		t.Fatalf("due %v, want %v", due, want)
	}
	before := len(l.changes())
	if err := l.task.Advance(want.Add(-time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	l.commit()
	if got := len(l.changes()); got != before {
		t.Fatalf("%d changes a millisecond too early", got-before)
	}
	if err := l.task.Advance(want.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	l.commit()
	var fired []string
	for _, c := range l.changes()[before:] {
		fired = append(fired, fmt.Sprint(c.Hospital, " ", c.AppliedAt.Time().Sub(want), " ", c.Offset, " ", c.Snapshot != nil))
		if c.Cause != acuity.CauseTime {
			t.Errorf("fired %+v", c)
		}
	}
	// north's timer fires on a whole hour, so a single change contains the hourly snapshot and the verdict. south's
	// timer fires one minute later, so south has two changes.
	if !slices.Equal(fired, []string{"north 0s 0 true", "south 0s 1 true", "south 1m0s 1 false"}) {
		t.Errorf("fired %q", fired)
	}
	if due := l.task.Due(); !due.After(want.Add(time.Hour)) {
		t.Errorf("due again at %v", due)
	}
}

// TestPoison: an input that can never be applied results in a change with the reason for the rejection and in a dead
// letter. The inputs after it are processed as usual.
func TestPoison(t *testing.T) {
	good := inputs(t, 1, 1, time.Minute)[0]
	other, err := schemas.EncodeObservation(nil, &acuity.Observation{Hospital: "elsewhere", ReceivedAt: morning, Staffing: &acuity.Staffing{Nurses: 1}})
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{0, 1, 2, 3, 4}, "facts"...)
	l := newLog(t)
	for i, r := range []stream.Record{
		{Key: []byte("north/room/1"), Value: newer, Timestamp: morning.Time()},
		{Key: []byte("north"), Value: []byte("no record"), Timestamp: morning.Time()},
		{Key: []byte("north"), Value: other, Timestamp: morning.Time()},
		{Key: []byte("\x00\xff"), Value: nil, Timestamp: morning.Time()},
		good,
	} {
		r.Offset = int64(i)
		l.apply(r)
	}
	l.commit()
	var got []string
	for _, c := range l.changes() {
		got = append(got, fmt.Sprint(c.Hospital, " ", c.Version, " ", c.Outcome, " ", c.Reason))
	}
	hospital := string(schemas.HospitalOf(good.Key))
	want := []string{
		fmt.Sprint("north 1 ", acuity.Rejected, " unknown_schema"), fmt.Sprint("north 2 ", acuity.Rejected, " malformed_record"),
		fmt.Sprint("north 3 ", acuity.Rejected, " wrong_hospital"), fmt.Sprint("unknown 1 ", acuity.Rejected, " malformed_record"),
		fmt.Sprint(hospital, " 1 ", acuity.Applied, " "),
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q\nwant    %q", got, want)
	}
	if len(l.letters) != 4 || l.letters[0].Schema != 0x01020304 || l.letters[2].Version != 3 || l.letters[3].Offset != 3 {
		t.Errorf("dead letters %+v", l.letters)
	}
	l.task.Close()
	l.start() // a rejected input is not applied again
}

// TestRejectedInputMovesTimeOn: timers that are due before an unreadable input fire before that input, at their due
// instants, as they do before any other input.
func TestRejectedInputMovesTimeOn(t *testing.T) {
	l := newLog(t)
	o := &acuity.Observation{
		Hospital: "north", ReceivedAt: morning, Channel: acuity.ChannelClinical, Room: &acuity.RoomRef{ID: 1},
		Signals: []acuity.Signal{{Room: 1, Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", StartedAt: morning}},
	}
	value, err := schemas.EncodeObservation(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	l.apply(stream.Record{Key: []byte("north"), Value: value})
	l.apply(stream.Record{Offset: 1, Key: []byte("north"), Value: []byte("no record"), Timestamp: morning.Add(90 * time.Minute).Time()})
	l.commit()
	var got []string
	for _, c := range l.changes() {
		got = append(got, fmt.Sprint(c.Outcome, " ", c.AppliedAt.Time().Sub(morning.Time())))
	}
	if want := []string{
		fmt.Sprint(acuity.Applied, " 0s"), fmt.Sprint(acuity.Time, " 1h0m0s"), fmt.Sprint(acuity.Rejected, " 1h30m0s"),
	}; !slices.Equal(got, want) {
		t.Errorf("changes %q, not %q", got, want)
	}
}
