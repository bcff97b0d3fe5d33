package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/internal/analysis/backtest"
	"svc/internal/testkit/runtimes"
)

const analysts = "../../docs/analysts"

// TestNotebookForecast follows the second part of docs/analysts/README.md. The notebook reads the
// hours of the demonstration from Kafka, and svc backtest compares the notebook's model with that
// of svc. Both must compute the same errors, which shows that the notebook reads the hours as svc
// does.
func TestNotebookForecast(t *testing.T) {
	interpreter := pythonForTopics(t)
	page, err := os.ReadFile(filepath.Join(analysts, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"svc dev --demo", "docs/analysts/run.sh forecast.py ", "svc backtest --hospital demo --warmup 14d --compare own.csv --out report"} {
		if !strings.Contains(string(page), command) {
			t.Errorf("the page does not say %s", command)
		}
	}
	d := startDev(t, t.TempDir(), "--demo", "--ephemeral")
	await(t, d, "requests covering 28 days were applied")
	own, report := filepath.Join(d.dir, "own.csv"), filepath.Join(d.dir, "report")
	eventually(t, 3*time.Minute, func() error { // applying the history takes a moment, and an hour may end in the meantime
		run := exec.Command(filepath.Join(analysts, "run.sh"), "forecast.py", d.Kafka, d.BaseURL+"/registry", d.HospitalID, own)
		run.Env = append(os.Environ(), "PYTHON="+interpreter)
		out, err := run.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		var hours, compared int
		var nurses, rooms float64
		for line := range strings.Lines(string(out)) {
			for format, to := range map[string][]any{"hours %d,": {&hours}, "compared %d, mean error %f nurses, %f rooms": {&compared, &nurses, &rooms}} {
				fmt.Sscanf(line, format, to...) //nolint:errcheck // other lines do not match
			}
		}
		if hours < 27*24 || compared < 13*24*8 {
			return fmt.Errorf("it says %s", out)
		}
		cli(t, nil, "backtest", "--hospital", d.HospitalID, "--warmup", "24h", "--compare", own, "--out", report, "--data", d.dir)
		content, err := os.ReadFile(filepath.Join(report, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		var r backtest.Report
		if err := json.Unmarshal(content, &r); err != nil {
			t.Fatal(err)
		}
		c := r.Compared
		if c.Forecasts != compared {
			return fmt.Errorf("%d forecasts are compared, the notebook compared %d", c.Forecasts, compared)
		}
		if c.Models[1].Name != "own" || math.Abs(c.Models[1].Mean-nurses) > .001 || math.Abs(c.Census[1].Mean-rooms) > .001 {
			t.Errorf("the notebook was off by %v nurses and %v rooms, svc says %+v, %+v", nurses, rooms, c.Models[1], c.Census[1])
		}
		return nil
	})
}

// pythonForTopics returns the path of a Python interpreter with the packages for reading topics and fitting models.
func pythonForTopics(t *testing.T) (interpreter string) {
	t.Helper()
	needReaders(t)
	packages, err := os.ReadFile(filepath.Join(analysts, "requirements-forecast.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return runtimes.Python(t, strings.Fields(string(packages))...)
}
