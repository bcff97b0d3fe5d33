package web

import (
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/score"
	"svc/readapi"
	"svc/readapi/web/page"
)

// TestNextRead: a unit is read when its verdict changes by time alone. If the unit is not known, or
// only its state of earlier is, it is read each few seconds.
func TestNextRead(t *testing.T) {
	t.Parallel()
	h := newHub(&Config{Config: page.Config{Now: func() time.Time { return noon }}})
	at := func(d time.Duration) acuity.Instant { return acuity.At(noon.Add(d)) }
	for name, tt := range map[string]struct {
		of   followedHospital
		want time.Duration
	}{
		"never read":        {followedHospital{}, readEvery},
		"never changes":     {followedHospital{unit: &readapi.Unit{At: noon, Verdict: &score.Verdict{}}}, readEvery},
		"changes soon":      {followedHospital{unit: &readapi.Unit{At: noon, Verdict: &score.Verdict{Next: at(2 * time.Second)}}}, 2 * time.Second},
		"changes later":     {followedHospital{unit: &readapi.Unit{At: noon, Verdict: &score.Verdict{Next: at(time.Hour)}}}, readEvery},
		"changed since":     {followedHospital{unit: &readapi.Unit{At: noon.Add(-3 * time.Second), Verdict: &score.Verdict{Next: at(-time.Second)}}}, 0},
		"lost":              {followedHospital{lost: true, unit: &readapi.Unit{At: noon.Add(-3 * time.Second), Verdict: &score.Verdict{Next: at(-time.Second)}}}, readEvery},
		"input has stopped": {followedHospital{unit: &readapi.Unit{At: noon, Stopped: noon.Add(-time.Hour), Verdict: &score.Verdict{Next: at(-30 * time.Minute)}}}, readEvery},
	} {
		if got := h.durationUntilNext(&tt.of); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
