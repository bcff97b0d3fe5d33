package forecast

import (
	"testing"
	"time"

	"svc/acuity"
)

// TestPlanInWords: the sentence about a staffing plan fits one nurse and several, and in an hour that occurs twice it
// says which of the two is meant.
func TestPlanInWords(t *testing.T) {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	night := acuity.At(time.Date(2031, 11, 2, 5, 0, 0, 0, time.UTC)) // midnight; clocks are set back at 02:00
	for _, tt := range []struct {
		in     time.Duration
		nurses int32
		want   string
	}{
		{30 * time.Minute, 2, "Staffing plan from 00:30: 2 nurses."},
		{90 * time.Minute, 1, "Staffing plan from 01:30 CDT: 1 nurse."},
		{150 * time.Minute, 0, "Staffing plan from 01:30 CST: 0 nurses."},
	} {
		u := &Unit{At: night, Zone: zone, Staffing: []acuity.Staffing{{AsOf: night.Add(tt.in), Nurses: tt.nurses}}, Snapshot: &acuity.Snapshot{}}
		local := func(at acuity.Instant) string { return at.FormatClock(u.Zone) }
		if got := listDoubts(&Model{Learnt: 14 * 24}, u, local); got[0] != tt.want {
			t.Errorf("%q, want %q", got[0], tt.want)
		}
	}
}
