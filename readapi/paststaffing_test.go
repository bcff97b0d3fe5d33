package readapi_test

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/internal/stream"
	"svc/processors/verdict"
	"svc/readapi"
	"svc/schemas"
)

// TestTrendsOfABatchWithStaffing: a new hospital sends its history in a batch, which passes through the real verdict
// task and the trends. Each hour has the nurses of the staffing that applied at that hour. For hours before the first
// staffing, the number of nurses is unknown.
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
	task := verdict.Tasks(nil)(0)
	if _, err := task.Restored(); err != nil {
		t.Fatal(err)
	}
	if err := task.Apply(stream.Record{Key: []byte("north"), Value: value, Timestamp: noon.Add(time.Minute).Time()}); err != nil {
		t.Fatal(err)
	}
	for due := task.Due(); !due.IsZero() && !due.After(h.now.Time()); due = task.Due() {
		if err := task.Advance(h.now.Time()); err != nil {
			t.Fatal(err)
		}
	}
	if err := task.Outputs(func(key, value []byte) {
		if !verdict.IsSnapshot(key) {
			return
		}
		recorded, err := schemas.SnapshotCodec.Decode(value)
		if err != nil {
			t.Fatal(err)
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
