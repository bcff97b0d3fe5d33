package readapi_test

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/score"
	"svc/internal/stream"
	"svc/processors/history"
	"svc/processors/verdict"
	"svc/readapi"
	"svc/schemas"
)

// unseen is a view without readers.
type unseen struct{}

func (unseen) Own(int32, int64, []verdict.Chart) verdict.OwnedView { return unseen{} }
func (unseen) Disown()                                             {}
func (unseen) Show(int64, []verdict.Chart)                         {}

// A new hospital sends its past in a batch, which passes through the real log, unit, history and trends. The hours
// with staffing have nurses and a level; those before the staffing are unknown.
func TestTrendsOfABatchWithStaffing(t *testing.T) {
	h := newFixture(worked(t))
	h.now = noon.Add(10 * time.Minute)
	value, err := schemas.EncodeObservation(nil, &acuity.Observation{
		Hospital: "north", ReceivedAt: noon.Add(time.Minute), Channel: acuity.ChannelBatch,
		Events: []acuity.Event{{
			ID: "in", Type: acuity.A01, At: noon.Add(-330 * time.Minute), Visit: "v1", Class: 'I',
			Place: acuity.Location{PointOfCare: "LDR", Room: "L1"},
		}},
		PastStaffing: []acuity.Staffing{
			{AsOf: noon.Add(-2 * time.Hour), Nurses: 4, Call: acuity.No}, {AsOf: noon.Add(-4 * time.Hour), Nurses: 0, Call: acuity.No},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := schemas.ReadInput([]byte("north"), value)
	if err != nil {
		t.Fatal(err)
	}
	u := hospital.New("north")
	changes := []acuity.Change{u.Apply(o, 0)}
	for c, more := u.Advance(h.now); more; c, more = u.Advance(h.now) {
		changes = append(changes, c)
	}
	task := history.Tasks(history.Config{
		Zone: func(string) *time.Location { return time.UTC }, View: unseen{},
		Past: func(int32, time.Time, func([]byte) error) error { return nil },
	})(0)
	if _, err = task.Restored(); err != nil {
		t.Fatal(err)
	}
	for i := range changes {
		record, fault := schemas.ChangeCodec.Encode(nil, &changes[i])
		if fault != nil {
			t.Fatal(fault)
		}
		if err = task.Apply(stream.Record{Offset: int64(i), Key: []byte("north"), Value: record}); err != nil {
			t.Fatal(err)
		}
	}
	if err = task.Outputs(func(key, value []byte) {
		if !history.IsSnapshot(key) {
			return
		}
		recorded, fault := schemas.SnapshotCodec.Decode(value)
		if fault != nil {
			t.Fatal(fault)
		}
		s := &recorded.Snapshot
		h.recorded.hours = append(h.recorded.hours, readapi.Hour{
			At: time.Unix(int64(s.Hour)*3600, 0).UTC(), Generation: s.Generation, Observed: s.Observed, Level: s.Level,
			Required: score.SumSnapshot(s).Required, OnDuty: s.Nurses, LevelSeconds: recorded.LevelSeconds,
		})
	}); err != nil {
		t.Fatal(err)
	}
	a := trendsOf(t, h, "")
	want := []struct {
		nurses int32
		level  string
	}{{-1, "green"}, {0, "red"}, {0, "red"}, {4, "green"}, {4, "green"}, {4, "green"}}
	if len(a.Hours) != len(want) {
		t.Fatalf("%d hours: %+v", len(a.Hours), a.Hours)
	}
	for i, w := range want {
		got := a.Hours[i]
		switch {
		case !got.Observed || got.Level != w.level:
			t.Errorf("%s: observed %t, level %s, want %s", got.At, got.Observed, got.Level, w.level)
		case w.nurses < 0 && got.NursesOnDuty != nil, w.nurses >= 0 && (got.NursesOnDuty == nil || *got.NursesOnDuty != w.nurses):
			t.Errorf("%s: nurses %v, want %d", got.At, got.NursesOnDuty, w.nurses)
		}
	}
}
