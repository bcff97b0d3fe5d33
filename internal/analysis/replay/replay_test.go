package replay_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/hospital/hospitaltest"
	"svc/internal/analysis/analysistest"
	"svc/internal/analysis/inputlog"
	"svc/internal/analysis/replay"
	"svc/schemas"
)

// refold recomputes the changes of a hospital from the log, up to an instant. It also returns the chart at that
// instant.
func refold(tb testing.TB, l *inputlog.Log, hospital string, until acuity.Instant) (changes []acuity.Change, chart *acuity.Chart) {
	tb.Helper()
	f, err := replay.NewRefold(hospital, nil)
	if err != nil {
		tb.Fatal(err)
	}
	each := func(c *acuity.Change) { changes = append(changes, *c) }
	for in, err := range l.Inputs(tb.Context(), hospital) {
		if err != nil {
			tb.Fatal(err)
		}
		f.Apply(&in, each)
	}
	f.ElapseTo(until, each)
	return changes, f.Chart()
}

// A refold of the log, which is read with kafka-go, yields the same changes as the reference implementation, which
// applies the sent observations directly.
func TestRefoldIsTheReference(t *testing.T) {
	b := analysistest.NewKafka(t)
	list := analysistest.Shifts(900, 4, time.Minute)
	b.Put(list)
	end := list[len(list)-1].ReceivedAt.Add(3 * time.Hour)
	for _, hospitalID := range []string{"h000", "h001", "h002", "h003"} {
		want := hospitaltest.Fold(analysistest.ObservationsOf(hospitalID, list), end)
		got, _ := refold(t, b.Log(), hospitalID, end)
		if len(got) != len(want.Changes) || len(got) < 200 {
			t.Fatalf("%s: %d changes, want %d", hospitalID, len(got), len(want.Changes))
		}
		for i := range got {
			a, z := got[i], want.Changes[i]
			a.Offset, z.Offset = 0, 0 // the reference numbers its inputs differently
			if a.Snapshot != nil && z.Snapshot != nil {
				a.Snapshot.Position, z.Snapshot.Position = 0, 0
			}
			if x, y := encoded(t, &a), encoded(t, &z); x != y {
				t.Fatalf("%s: change %d\n got %+v\nwant %+v", hospitalID, i, got[i], want.Changes[i])
			}
		}
	}
}

func encoded(t *testing.T, c *acuity.Change) string {
	t.Helper()
	value, err := schemas.ChangeCodec.Encode(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}
