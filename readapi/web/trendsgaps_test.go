package web

import (
	"slices"
	"testing"
	"time"

	"svc/readapi"
)

// TestGapsKeepEveryHour: every recorded hour stays in the figure, in order, also if the period begins within an hour.
func TestGapsKeepEveryHour(t *testing.T) {
	since := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	for _, begins := range []time.Duration{0, 30 * time.Minute} {
		var recorded []shownHour
		for _, hour := range []int{1, 2, 5, 8} {
			at := since.Add(time.Duration(hour) * time.Hour)
			recorded = append(recorded, shownHour{TrendHour: &readapi.TrendHour{Hour: readapi.Hour{At: at, Observed: true}}})
		}
		var kept []time.Time
		all := fillGaps(recorded, since.Add(begins), since.Add(begins+8*time.Hour))
		for i := range all {
			if all[i].Observed {
				kept = append(kept, all[i].At)
			}
		}
		want := []time.Time{recorded[0].At, recorded[1].At, recorded[2].At, recorded[3].At}
		if !slices.Equal(kept, want) || len(all) < 8 {
			t.Errorf("a period that begins %v after the hour: %d hours, recorded ones %v, want %v", begins, len(all), kept, want)
		}
	}
}
