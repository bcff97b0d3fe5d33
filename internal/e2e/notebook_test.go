package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"svc/internal/testkit/runtimes"
)

// TestNotebook follows docs/analysts/README.md: it simulates a week in svc dev, exports it, and draws a picture. The
// notebook must count the rows that were sent.
func TestNotebook(t *testing.T) {
	needReaders(t)
	packages, err := os.ReadFile(filepath.Join(analysts, "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	interpreter := runtimes.Python(t, strings.Fields(string(packages))...)
	page, err := os.ReadFile(filepath.Join(analysts, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	startDev(t, dir)
	export := filepath.Join(dir, "export")
	simulated := []string{"--profile", "medium", "--seed", "7", "--for", "7d", "--steady", "--start", "2026-03-02T12:00:00Z"}
	if command := "svc simulate --to dev " + strings.Join(simulated, " "); !strings.Contains(string(page), command) {
		t.Errorf("the page does not say %s", command)
	}
	cli(t, nil, append([]string{"simulate", "--to", "dev", "--data", dir}, simulated...)...)
	for _, topic := range []string{"observations", "verdicts"} {
		if !strings.Contains(string(page), "svc export --topic "+topic) {
			t.Errorf("the page does not export %s", topic)
		}
		cli(t, nil, "export", "--topic", topic, "--out", export, "--data", dir)
	}
	picture := filepath.Join(dir, "week.png")
	run := exec.Command(filepath.Join(analysts, "run.sh"), "week.py", export, picture)
	run.Env = append(os.Environ(), "PYTHON="+interpreter)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	visits, discharged := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(cli(t, nil, append([]string{"simulate"}, simulated...)...)) {
		if strings.Contains(line, `"patientClass":"N"`) || !strings.Contains(line, `"/api/ingest/adt"`) {
			continue
		}
		field := func(name string) string {
			_, rest, _ := strings.Cut(line, `"`+name+`":"`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		switch field("eventType") {
		case "A01", "A04":
			visits[field("visitId")] = true
		case "A03":
			discharged[field("visitId")] = true
		}
	}
	if want := fmt.Sprintf("visits %d, discharged %d, ", len(visits), len(discharged)); !strings.Contains(string(out), want) {
		t.Errorf("says %s, want %q in it", out, want)
	}
	for line := range strings.Lines(string(out)) { // the lines that do not depend on the time of the run
		if (strings.HasPrefix(line, "visits ") || strings.HasPrefix(line, "hours ")) && !strings.Contains(string(page), "\n"+line) {
			t.Errorf("the page does not say that it prints %s", line)
		}
	}
	hours := regexp.MustCompile(`hours (\d+), patients at most (\d+)`).FindSubmatch(out)
	if hours == nil {
		t.Fatalf("says %s", out)
	}
	for i, low := range []int{150, 15} {
		if n, err := strconv.Atoi(string(hours[i+1])); err != nil || n < low || n > 168 {
			t.Errorf("says %s", hours[0])
		}
	}
	if !strings.Contains(string(out), " times triage-initial") {
		t.Errorf("no factor of triage: %s", out)
	}
	if drawn, err := os.ReadFile(picture); err != nil || !bytes.HasPrefix(drawn, []byte("\x89PNG")) || len(drawn) < 20_000 {
		t.Errorf("the picture has %d bytes: %v", len(drawn), err)
	}
}
