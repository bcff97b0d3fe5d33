package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDevExportSnapshots sends the history of a new hospital, and expects each hour that the forecast learns from to be
// exported once.
func TestDevExportSnapshots(t *testing.T) {
	t.Parallel()
	const days = 2
	d := startDev(t, t.TempDir(), "--ephemeral")
	newPartner(d.BaseURL, d.HospitalID, d.APIKey).sendEvents(t, simulatedEvents(t, 1, days))
	eventually(t, time.Minute, func() error {
		seen := map[string]bool{}
		visits := 0
		out := cli(t, nil, "export", "--topic", "snapshots", "--hospital", d.HospitalID, "--format", "ndjson", "--out", "-", "--data", d.dir)
		for line := range strings.Lines(out) {
			var row struct {
				Hospital, Level string
				Hour            time.Time
				Generation      int
				Class4          []int32
				Visits          []struct{ Demand []int32 }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err, line)
			}
			id := fmt.Sprint(row.Hour, row.Generation)
			if row.Hospital != d.HospitalID || row.Level == "" || row.Hour.Minute() != 0 || len(row.Class4) != 9 || seen[id] {
				t.Fatalf("row %s", line)
			}
			seen[id] = true
			for _, v := range row.Visits {
				if visits++; len(v.Demand) != 9 {
					t.Fatalf("row %s", line)
				}
			}
		}
		if len(seen) < days*24-2 || visits == 0 {
			return fmt.Errorf("%d hours, %d visits in them", len(seen), visits)
		}
		return nil
	})
}
