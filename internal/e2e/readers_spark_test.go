package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/testkit/runtimes"
)

// TestTopicsInSpark runs docs/analysts/spark.py. Its snapshot table must have the same number of hours and the same
// mean of required nurses as the export.
func TestTopicsInSpark(t *testing.T) {
	j := newReadersInJava(t)
	packages, err := os.ReadFile(filepath.Join(analysts, "requirements-spark.txt"))
	if err != nil {
		t.Fatal(err)
	}
	interpreter := runtimes.Python(t, strings.Fields(string(packages))...)
	d := exportable(t)
	eventually(t, 5*time.Minute, func() error { // an hour may end between the two reads
		hours, required := tableInSpark(t, interpreter, filepath.Join(j.target, "spark"), d)
		want, mean := snapshotsOf(t, d)
		if want < 40 || hours != want || math.Abs(required-mean) > .001 {
			return fmt.Errorf("%d hours with %.4f nurses, the export has %d with %.4f", hours, required, want, mean)
		}
		return nil
	})
}

// tableInSpark runs the example, and returns the figures that the example prints about its table.
func tableInSpark(t *testing.T, interpreter, jars string, d *dev) (hours int, required float64) {
	t.Helper()
	spark := exec.Command(interpreter, filepath.Join(analysts, "spark.py"), d.Kafka, d.BaseURL+"/registry", filepath.Join(t.TempDir(), "table"))
	spark.Env = append(os.Environ(), "JARS="+jars)
	var faults bytes.Buffer
	spark.Stderr = &faults
	out, err := spark.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &faults)
	}
	if n, err := fmt.Sscanf(string(out), "hours %d, required %f on average", &hours, &required); n != 2 {
		t.Fatalf("%v: it says %s", err, out)
	}
	return hours, required
}

// snapshotsOf returns the number of observed hours in an export, and the mean of required nurses over these hours.
func snapshotsOf(t *testing.T, d *dev) (hours int, required float64) {
	t.Helper()
	type row struct {
		Hour       string
		Generation int
		Observed   bool
		Visits     []struct{ Demand []float64 }
	}
	newest := map[string]row{}
	for line := range strings.Lines(cli(t, nil, "export", "--topic", "snapshots", "--format", "ndjson", "--out", "-", "--data", d.dir)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if before, there := newest[r.Hour]; !there || before.Generation <= r.Generation {
			newest[r.Hour] = r
		}
	}
	sum := 0.0
	for _, r := range newest {
		if !r.Observed {
			continue
		}
		hours++
		for _, v := range r.Visits {
			sum += v.Demand[0] / 60 // 60ths to nurses
		}
	}
	return hours, sum / max(1, float64(hours))
}
