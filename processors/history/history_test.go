package history_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/stream"
	"svc/processors/history"
	"svc/processors/verdict"
	"svc/schemas"
)

const (
	hourLong = acuity.Instant(3_600_000)
	start    = int32(492_000) // an hour of the year 2026
)

var zurich = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		panic(err)
	}
	return zone
}()

// log drives a task in the same way as the loop, with slices in place of topics.
type log struct {
	t         *testing.T
	view      *seenView
	task      stream.Task
	next      int64
	models    []stream.Record
	snapshots []stream.Record // the input
	older     []stream.Record // changes that the previous build wrote but its history processor has not read
	copied    [][]byte        // snapshots that the task has written
}

func newLog(t *testing.T) *log {
	t.Helper()
	l := &log{t: t}
	l.start()
	return l
}

// start creates a new task and restores it.
func (l *log) start() {
	l.t.Helper()
	l.view = &seenView{models: map[string]verdict.Chart{}}
	l.task = history.Tasks(history.Config{
		Zone: func(string) *time.Location { return zurich },
		View: l.view,
		Past: func(_ int32, since time.Time, fn func([]byte) error) error {
			for _, r := range l.snapshots {
				s, err := schemas.SnapshotCodec.Decode(r.Value)
				if err != nil {
					return err
				}
				if int64(s.Snapshot.Hour)*3600 < since.Unix() {
					continue
				}
				if err := fn(r.Value); err != nil {
					return err
				}
			}
			return nil
		},
		Older: func(_ int32, fn func(stream.Record) error) error {
			for _, r := range l.older {
				if err := fn(r); err != nil {
					return err
				}
			}
			return nil
		},
	})(0)
	for _, r := range l.models {
		if err := l.task.Restore(r); err != nil {
			l.t.Fatal(err)
		}
	}
	next, err := l.task.Restored()
	if err != nil {
		l.t.Fatal(err)
	}
	if next > l.next {
		l.t.Fatalf("restored to %d, only %d were applied", next, l.next)
	}
}

// apply writes the snapshot of a change to the snapshots topic, unless it is already there, and passes it to the
// task.
func (l *log) apply(offset int64, c acuity.Change) {
	l.t.Helper()
	r := snapshotRecord(l.t, offset, &c)
	if n := len(l.snapshots); n == 0 || l.snapshots[n-1].Offset < offset {
		l.snapshots = append(l.snapshots, r)
	}
	l.input(r)
}

// snapshotRecord returns the record of a snapshot as the verdict processor writes it.
func snapshotRecord(t testing.TB, offset int64, c *acuity.Change) stream.Record {
	t.Helper()
	value, err := schemas.SnapshotCodec.Encode(nil, &schemas.Snapshot{Hospital: c.Hospital, Snapshot: *c.Snapshot})
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Offset: offset, Key: verdict.SnapshotKey(c.Hospital, c.Snapshot.Hour), Value: value}
}

// changeRecord returns the record of a change as the previous build wrote it, with its snapshot.
func changeRecord(t testing.TB, offset int64, c *acuity.Change) stream.Record {
	t.Helper()
	value, err := schemas.ChangeCodec.Encode(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Offset: offset, Key: []byte(c.Hospital), Value: value}
}

// input passes a record to the task and then overwrites the record's bytes, because the loop reuses them.
func (l *log) input(r stream.Record) {
	l.t.Helper()
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	if err := l.task.Apply(r); err != nil {
		l.t.Fatal(err)
	}
	clear(r.Key)
	clear(r.Value)
	l.next = r.Offset + 1
}

func (l *log) commit() {
	l.t.Helper()
	first := len(l.models)
	if err := l.task.Outputs(func(key, value []byte) {
		if verdict.IsSnapshot(key) {
			l.copied = append(l.copied, value)
		} else {
			l.models = append(l.models, stream.Record{Key: key, Value: value})
		}
	}); err != nil {
		l.t.Fatal(err)
	}
	for i := first; i < len(l.models); i++ { // the task may reuse the bytes after Committed
		l.models[i].Value = slices.Clone(l.models[i].Value)
	}
	l.task.Committed()
}

// model returns a hospital's newest model record.
func (l *log) model(hospital string) *schemas.Model {
	l.t.Helper()
	for _, r := range slices.Backward(l.models) {
		if string(r.Key) == hospital {
			m, err := schemas.ModelCodec.Decode(r.Value)
			if err != nil {
				l.t.Fatal(err)
			}
			return m
		}
	}
	l.t.Fatalf("no model of %s", hospital)
	return nil
}

type seenView struct {
	applied int64
	models  map[string]verdict.Chart
}

func (v *seenView) Own(_ int32, applied int64, models []verdict.Chart) verdict.OwnedView {
	v.Show(applied, models)
	return v
}
func (v *seenView) Disown() { clear(v.models) }
func (v *seenView) Show(applied int64, models []verdict.Chart) {
	v.applied = applied
	for _, m := range models {
		v.models[m.Hospital] = m
	}
}

// hour returns the change for one hour of a made-up unit.
func hour(hospital string, version int64, n int32) acuity.Change {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	s := &acuity.Snapshot{Hour: start + n, Observed: true, Nurses: 8, RulesVersion: "test"}
	for i := range 6 + random.IntN(6) {
		v := acuity.SnapshotVisit{Visit: uint64(n/9+int32(i)) * 77, Class: acuity.StageClass(i % 9), Age: int32(60 * (i + 1))}
		for h := range v.Demand {
			v.Demand[h] = uint8(20 + 10*random.IntN(5))
		}
		s.Visits = append(s.Visits, v)
		if i == 0 {
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: v.Visit, Kind: acuity.ArrivesTriage})
		}
	}
	s.Occupied = int32(len(s.Visits))
	return acuity.Change{
		Hospital: hospital, Version: version, Cause: acuity.CauseTime, Outcome: acuity.Time, AppliedAt: acuity.Instant(start+n) * hourLong, Snapshot: s,
	}
}

// past returns the change for one hour of a backfill.
func past(hospital string, n, generation, left int32) acuity.Change {
	c := hour(hospital, int64(1000+n), n)
	c.Snapshot.Generation, c.Snapshot.Backfill = generation, left
	return c
}

// learnt returns a model that has learned all the given hours in order.
func learnt(hospital string, offset int64, changes ...acuity.Change) *forecast.Model {
	m := forecast.NewModel(hospital)
	for _, c := range changes {
		forecast.Learn(m, c.Snapshot, zurich)
	}
	m.Offset = offset
	return m
}

func wantModel(t *testing.T, got *schemas.Model, want *forecast.Model) {
	t.Helper()
	w := new(schemas.Model)
	w.CopyFrom(want)
	w.Copied, w.PastHour, w.PastGeneration = got.Copied, got.PastHour, got.PastGeneration
	value, err := schemas.ModelCodec.Encode(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	again, err := schemas.ModelCodec.Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, again) {
		t.Errorf("model of %s: hour %d, %d learnt, offset %d; want hour %d, %d learnt, offset %d; or numbers differ",
			got.Hospital, got.Hour-start, got.Learnt, got.Position, w.Hour-start, w.Learnt, w.Position)
	}
}

// TestRestartsChangeNothing stops the task at random positions, before and after a commit. Each hour must be learned
// exactly once.
func TestRestartsChangeNothing(t *testing.T) {
	const n = 120
	random := rand.New(rand.NewPCG(5, 6))
	l := newLog(t)
	var want []acuity.Change
	at := int64(0)
	for i := range int32(n) {
		c := hour("north", int64(i+1), i)
		want = append(want, c)
		if random.IntN(3) == 0 { // the task stops before its commit
			l.apply(at, c)
			l.task.Close()
			l.next = at
			l.start()
		}
		l.apply(at, c)
		if random.IntN(4) == 0 { // the snapshot is written again, as after the loss of an embedded log's last records
			l.apply(at+1, c)
		}
		at += 3
		l.commit()
		if random.IntN(4) == 0 {
			l.task.Close()
			l.start()
		}
	}
	wantModel(t, l.model("north"), learnt("north", 3*n-2, want...))
	if v := l.view.models["north"]; v.Version == 0 || len(v.Unit) < 20_000 {
		t.Errorf("the view has version %d with %d bytes", v.Version, len(v.Unit))
	}
}

// TestBackfillIsLearntInOrder sends a backfill of hours that precede the hours already learned. When its last hour
// arrives, all hours are learned in order. A backfill that another backfill interrupts is ignored.
func TestBackfillIsLearntInOrder(t *testing.T) {
	for name, everyCommit := range map[string]bool{"one transaction": false, "many": true} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			at := int64(0)
			send := func(changes ...acuity.Change) {
				for _, c := range changes {
					l.apply(at, c)
					at++
					if everyCommit {
						l.commit()
						l.task.Close()
						l.start()
					}
				}
			}
			live := []acuity.Change{hour("north", 1, 50), hour("north", 2, 51)}
			send(live...)
			send(hour("south", 1, 51))
			send(past("north", 1, 1, 9), past("north", 2, 1, 8)) // this backfill is interrupted
			var first []acuity.Change
			for n := range int32(40) {
				first = append(first, past("north", n, 2, 40-n))
			}
			send(first[:20]...)
			between := hour("north", 3, 52)
			between.Snapshot.Generation = 2
			send(between)
			send(first[20:]...)
			l.commit()
			all := append(append(first, live...), between)
			wantModel(t, l.model("north"), learnt("north", at, all...))
			wantModel(t, l.model("south"), learnt("south", 3, hour("south", 1, 51)))
		})
	}
}

// TestAnotherVersionIsLearntAnew: if a stored model has a different format version, the model is learned again from
// the snapshots.
func TestAnotherVersionIsLearntAnew(t *testing.T) {
	l := newLog(t)
	var all []acuity.Change
	for n := range int32(60) {
		all = append(all, hour("north", int64(n+1), n))
		l.apply(int64(n), all[n])
	}
	l.commit()
	before := l.model("north")
	old := *before
	old.Version, old.Tables = forecast.Version+1, old.Tables[:3]
	value, err := schemas.ModelCodec.Encode(nil, &old)
	if err != nil {
		t.Fatal(err)
	}
	l.models = []stream.Record{{Key: []byte("north"), Value: value}}
	l.start()
	all = append(all, hour("north", 61, 60))
	l.apply(60, all[60])
	l.commit()
	wantModel(t, l.model("north"), learnt("north", 61, all...))
}

// TestCheckpointIsEnough: the output of Live contains every hospital's newest model, so that a task can be restored
// from this output alone.
func TestCheckpointIsEnough(t *testing.T) {
	l := newLog(t)
	for n := range int32(30) {
		l.apply(int64(2*n), hour("north", int64(n+1), n))
		l.apply(int64(2*n+1), hour("south", int64(n+1), n))
	}
	l.commit()
	north := l.model("north")
	l.models = nil
	next := l.task.Live()
	for more := true; more; {
		var err error
		if more, err = next(func(key, value []byte) {
			l.models = append(l.models, stream.Record{Key: bytes.Clone(key), Value: bytes.Clone(value)})
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.models) != 2 || !reflect.DeepEqual(l.model("north"), north) {
		t.Errorf("%d models, or one differs", len(l.models))
	}
}

// TestPoison: a snapshot that cannot be decoded is skipped.
func TestPoison(t *testing.T) {
	l := newLog(t)
	if err := l.task.Apply(stream.Record{Offset: 0, Key: []byte("north"), Value: []byte("no record")}); err == nil {
		t.Error("taken")
	}
	l.commit()
	if len(l.models)+len(l.copied) != 0 {
		t.Error("something was written")
	}
}

// TestShownModel: the view contains the models from the last commit, without the fields that readers do not need. The
// same is true after a restart.
func TestShownModel(t *testing.T) {
	l := newLog(t)
	for n := range int32(30) {
		l.apply(int64(2*n), hour("north", int64(n+1), n))
		l.apply(int64(2*n+1), hour("south", int64(n+1), n+1))
		l.commit()
	}
	check := func() {
		t.Helper()
		for _, hospital := range []string{"north", "south"} {
			want := *l.model(hospital)
			if len(want.Pending) == 0 || want.Copied == 0 {
				t.Fatalf("the model of %s has too little", hospital)
			}
			want.Copied, want.PastHour, want.PastGeneration, want.Pending = 0, 0, 0, nil
			got, err := schemas.ModelCodec.Decode(l.view.models[hospital].Unit)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("%s: hour %d of %s is shown, %d pending; or numbers differ from hour %d",
					hospital, got.Hour-start, got.Hospital, len(got.Pending), want.Hour-start)
			}
		}
	}
	check()
	l.start()
	check()
}

// BenchmarkHour learns one hour of a hospital, scores the forecasts from the last few hours, and writes the outputs.
func BenchmarkHour(b *testing.B) {
	l := newLog(&testing.T{})
	inputs := make([]stream.Record, 1<<10)
	for n := range inputs {
		c := hour("north", int64(n+1), int32(n))
		inputs[n] = snapshotRecord(b, int64(n), &c)
	}
	written, n := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		if n == len(inputs) {
			l.start() // restart the sequence of hours
			n = 0
		}
		if err := l.task.Apply(inputs[n]); err != nil {
			b.Fatal(err)
		}
		if err := l.task.Outputs(func(_, value []byte) { written += len(value) }); err != nil {
			b.Fatal(err)
		}
		l.task.Committed()
		n++
	}
	b.ReportMetric(float64(written)/float64(b.N), "written-B/op")
}
