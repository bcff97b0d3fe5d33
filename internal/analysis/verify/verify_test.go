package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/verify"
	"svc/internal/stream"
	"svc/schemas"
)

// The changelog and the view of a processor agree with the log, in the first round and in later rounds. The plain
// reference implementation has the same result.
func TestVerifyFindsNothing(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	b := analysistest.NewKafka(t)
	l := analysistest.Live(t, list)
	v := l.Verify(b)
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
			if h.Changes != int64(len(places)) || h.Snapshots < 24 || h.Served != h.Version || h.Unheld != 0 || h.Inputs < 600 {
				t.Errorf("round %d: %+v, of %d changes", round, h, len(places))
			}
		}
	}
	plain := analysistest.Live(t, list[:300])
	b2 := analysistest.NewKafka(t)
	v = plain.Verify(b2)
	v.Plain = true
	if report, err := v.Round(t.Context()); err != nil || report.First() != nil {
		t.Errorf("plain: %v %v", err, report.First())
	}
}

// Other programs read the report, so the names of its fields are fixed.
func TestReportAsJSON(t *testing.T) {
	report := verify.Report{Hospitals: []verify.Checked{{Hospital: "north", Inputs: 6, Changes: 4, Unheld: 2, Snapshots: 3, Version: 7, Served: 5}}, Pending: 1}
	const want = `{"hospitals":[{"hospital":"north","inputs":6,"changes":4,"unheld":2,"snapshots":3,"version":7,"served":5}],"pending":1}`
	if got, err := json.Marshal(report); err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// Releases without a snapshots topic wrote the snapshots into the changes. verify compares the snapshots in such
// changes. It does not require them in the topic, because the history processor copies them there later.
func TestVerifyChangesOfAnOlderBuild(t *testing.T) {
	for name, copied := range map[string]int{"nothing is copied": 0, "some hours are copied": 2} {
		t.Run(name, func(t *testing.T) {
			l := analysistest.Live(t, analysistest.Shifts(600, 3, 40*time.Second))
			if n := l.AgeChanges(); n < 9 {
				t.Fatalf("%d snapshots", n)
			}
			for n := range l.Snapshots {
				l.Snapshots[n] = l.Snapshots[n][:min(copied, len(l.Snapshots[n]))]
			}
			report, err := l.Verify(analysistest.NewKafka(t)).Round(t.Context())
			if err != nil || report.First() != nil {
				t.Errorf("%v %v", err, report.First())
			}
		})
	}
}

// Three cases are not differences: snapshots that retention has deleted, a snapshot of an hour in which the processor
// started, and a snapshot whose transaction is committed while verify reads.
func TestVerifySnapshotsThatMayDiffer(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	whole := analysistest.Live(t, list)
	counts := func(l *analysistest.Processed, change func(v *verify.Verify)) (n int64) {
		t.Helper()
		v := l.Verify(analysistest.NewKafka(t))
		change(v)
		report, err := v.Round(t.Context())
		if err != nil || report.First() != nil {
			t.Fatal(err, report.First())
		}
		for _, h := range report.Hospitals {
			n += h.Snapshots
		}
		return n
	}
	all := counts(whole, func(*verify.Verify) {})
	const deleted = 9
	if n := counts(whole, func(v *verify.Verify) {
		spans := v.Snapshots.Spans
		v.Snapshots.Spans = func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			list, err := spans(ctx, from, to)
			for i := range list {
				list[i].From = min(deleted, list[i].End)
			}
			return list, err
		}
	}); n < all-2*analysistest.Partitions*deleted || n >= all {
		t.Errorf("%d of %d snapshots are compared after retention", n, all)
	}
	if n := counts(whole, func(v *verify.Verify) {
		spans, asked := v.Snapshots.Spans, 0
		v.Patience = time.Minute
		v.Snapshots.Spans = func(ctx context.Context, from, to time.Time) ([]stream.Span, error) {
			list, err := spans(ctx, from, to)
			if asked++; asked <= analysistest.Partitions {
				for i := range list {
					list[i].End = max(list[i].End-2, 0)
				}
			}
			return list, err
		}
		v.Hospitals = []string{victim}
	}); n < all/4 {
		t.Errorf("%d of %d snapshots are compared after a wait", n, all)
	}
	restarted := analysistest.Live(t, list)
	p, i, _ := restarted.SnapshotOf()
	restarted.EditSnapshot(p, i, func(s *schemas.Snapshot) { clear(s.LevelSeconds) })
	if n := counts(restarted, func(*verify.Verify) {}); n != all {
		t.Errorf("%d of %d snapshots are compared after a restart", n, all)
	}
}

// planted is a fault that a test adds to the output, and the code with which verify must report that fault.
type planted struct {
	plant func(l *analysistest.Processed) (key string, version int64)
	fault verify.Fault
}

const victim = analysistest.Victim

// further contains faults in addition to [analysistest.Faults].
var further = map[string]planted{
	"an input that nobody sent": {func(l *analysistest.Processed) (string, int64) {
		p, places := l.ChangesOf(victim)
		last := places[len(places)-1]
		c := l.Change(p, last)
		l.Changes[p] = append(l.Changes[p], l.Changes[p][last])
		l.Edit(p, len(l.Changes[p])-1, func(again *acuity.Change) {
			again.Cause, again.Version, again.Offset = acuity.CauseIngest, c.Version+1, 1_000_000
		})
		return victim, c.Version + 1
	}, verify.ForeignInput},
	"a stale state": {func(l *analysistest.Processed) (string, int64) {
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
	}, verify.WrongState},
	"a state that is not there": {func(l *analysistest.Processed) (string, int64) {
		p, _ := l.ChangesOf(victim)
		key := victim + "/room/5"
		l.Changes[p] = slices.DeleteFunc(l.Changes[p], func(r stream.Record) bool { return string(r.Key) == key })
		return key, l.Views[victim].Version
	}, verify.MissingState},
	"a view that was left behind": {func(l *analysistest.Processed) (string, int64) {
		v := l.Views[victim]
		// If only the version of the view were older, verify would report the newer fields as stale, not the view.
		// The whole view is therefore replaced by the view after the first input of the hospital.
		*v = verify.View{Version: 0, Rooms: map[int32]string{}, Site: map[string]string{}}
		v.Version = 1
		first := analysistest.Live(l.TB, analysistest.Shifts(2400, 3, 40*time.Second)[:firstOf(victim)])
		*v = *first.Views[victim]
		return "view " + victim, v.Version
	}, verify.StaleView},
	"an hour that the log does not make": {func(l *analysistest.Processed) (string, int64) {
		p, i, _ := l.SnapshotOf()
		l.Snapshots[p] = slices.Insert(l.Snapshots[p], i+1, l.Snapshots[p][i])
		l.EditSnapshot(p, i+1, func(s *schemas.Snapshot) { s.Snapshot.Generation++ })
		return string(l.Snapshots[p][i].Key), 0
	}, verify.ForeignSnapshot},
	"a snapshot with another key": {func(l *analysistest.Processed) (string, int64) {
		p, i, version := l.SnapshotOf()
		key := string(l.Snapshots[p][i].Key)
		l.Snapshots[p][i].Key = append(l.Snapshots[p][i].Key, '0')
		return key, version
	}, verify.WrongSnapshot},
	"a snapshot with more seconds than the hour has": {func(l *analysistest.Processed) (string, int64) {
		p, i, version := l.SnapshotOf()
		l.EditSnapshot(p, i, func(s *schemas.Snapshot) { s.LevelSeconds[0] += 3600 })
		return string(l.Snapshots[p][i].Key), version
	}, verify.WrongSnapshot},
	"a snapshot that cannot be read": {func(l *analysistest.Processed) (string, int64) {
		p, i, version := l.SnapshotOf()
		l.Snapshots[p][i].Value = l.Snapshots[p][i].Value[:9]
		return string(l.Snapshots[p][i].Key), version
	}, verify.Unreadable},
	"a hospital that the view lacks": {func(l *analysistest.Processed) (string, int64) {
		version := l.Views[victim].Version
		delete(l.Views, victim)
		return "view " + victim, version
	}, verify.MissingField},
}

// firstOf returns the number of observations up to and including the first one of a hospital.
func firstOf(hospital string) int {
	for i, o := range analysistest.Shifts(2400, 3, 40*time.Second) {
		if o.Hospital == hospital {
			return i + 1
		}
	}
	return 0
}

// TestVerifyFindsFaults adds one fault at a time. verify must report the fault with its key and version, and no
// difference for any other hospital.
func TestVerifyFindsFaults(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	faults := maps.Clone(further)
	for name, row := range analysistest.Faults {
		faults[name] = planted{func(l *analysistest.Processed) (string, int64) { return row.Plant(&l.Output) }, row.Fault}
	}
	for name, row := range faults {
		t.Run(name, func(t *testing.T) {
			l := analysistest.Live(t, list)
			key, version := row.plant(l)
			report, err := l.Verify(analysistest.NewKafka(t)).Round(t.Context())
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

// Compaction has removed changes before an instant. If Held is set to this instant, verify reports no difference, and
// compares the later changes. If Held is not set, verify reports the first removed change as missing.
func TestVerifyAfterCompaction(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	l := analysistest.Live(t, list)
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
	b := analysistest.NewKafka(t)
	v := l.Verify(b)
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != verify.MissingVersion && d.Fault != verify.LostInput {
		t.Errorf("without a word about compaction: %v", d)
	}
	v = l.Verifier(b)
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

// A round checks the changes since the last round. Inputs that the processor has not applied yet are pending.
func TestVerifyInRounds(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	whole := analysistest.Live(t, list)
	b := analysistest.NewKafka(t)
	first := analysistest.Live(t, list[:1200])
	v := first.Verify(b)
	l := first // the views that are currently served
	v.View = func(_ context.Context, hospital string) (*verify.View, error) { return l.Views[hospital], nil }
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
	b.Put(list[1200:])
	check(1200)
	var changes, snapshots []stream.Record
	for p := range whole.Changes {
		changes = append(changes, whole.Changes[p][len(first.Changes[p]):]...)
		snapshots = append(snapshots, whole.Snapshots[p][len(first.Snapshots[p]):]...)
	}
	b.Write(schemas.Verdicts().Name, changes)
	b.Write(schemas.Snapshots().Name, snapshots)
	l = whole
	check(0)
	// A fault that occurs later is found in a later round.
	whole.Views[victim].Rooms[99] = "x"
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != verify.ForeignField || d.Key != "view room/99" {
		t.Errorf("found %v", d)
	}
}

// While a processor applies an import, inputs that it has not applied yet are pending, even if they are so old that
// their changes could have been compacted. Compaction keeps the last change of each hospital, so the changelog shows
// how far the processor is.
func TestVerifyDuringAnImport(t *testing.T) {
	list := analysistest.Shifts(2400, 3, 40*time.Second)
	l := analysistest.Live(t, list[:1200])
	b := analysistest.NewKafka(t)
	v := l.Verify(b)
	v.Held = list[len(list)-1].ReceivedAt.Add(time.Hour)
	b.Put(list[1200:])
	for range 2 {
		report, err := v.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := report.First(); d != nil || report.Pending != 1200 {
			t.Errorf("%v, %d pending", d, report.Pending)
		}
	}
}

// A failed read ends a round with an error and does not count as a difference.
func TestVerifyCannotRead(t *testing.T) {
	l := analysistest.Live(t, analysistest.Shifts(60, 1, time.Minute))
	v := l.Verify(analysistest.NewKafka(t))
	away := errors.New("away")
	v.View = func(context.Context, string) (*verify.View, error) { return nil, away }
	if _, err := v.Round(t.Context()); !errors.Is(err, away) {
		t.Errorf("error %v", err)
	}
}

// A view that still lags when Patience has elapsed is reported as stale. The timeout must not interrupt a read,
// because a failed read would be reported instead of the stale view.
func TestVerifyStaleView(t *testing.T) {
	l := analysistest.Live(t, analysistest.Shifts(60, 1, time.Minute))
	v := l.Verify(analysistest.NewKafka(t))
	v.Patience = time.Millisecond
	v.View = func(ctx context.Context, hospital string) (*verify.View, error) {
		if _, hurried := ctx.Deadline(); hurried {
			<-ctx.Done()
			return nil, os.ErrDeadlineExceeded // as a connection reports a timeout
		}
		old := *l.Views[hospital]
		old.Version = -1 // older than every version in the log, so that only the lag is reported
		return &old, nil
	}
	report, err := v.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Fault != verify.StaleView {
		t.Errorf("found %v", d)
	}
}
