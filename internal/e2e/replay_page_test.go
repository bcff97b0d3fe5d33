package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReplayPage runs the commands in docs/export.md, unchanged and in order, against svc dev.
func TestReplayPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	d := startDev(t, t.TempDir(), "--ephemeral")
	say(t, newPartner(d.BaseURL, d.HospitalID, d.APIKey), 12)
	dir := t.TempDir()
	if err := os.Symlink(d.dir, filepath.Join(dir, ".svc-dev")); err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile("(?s)```csv\n(.*?)```").FindSubmatch(page)
	if err := os.WriteFile(filepath.Join(dir, "rules.csv"), rules[1], 0o600); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		for line := range strings.Lines(string(block[1])) {
			commands++
			run := exec.Command("sh", "-c", line)
			run.Dir = dir
			run.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if commands < 6 {
		t.Errorf("the page has %d commands", commands)
	}
	for name, least := range map[string]int{"demo.ndjson": 1000, "out/observations/_manifest.json": 100, "out/verdicts/_manifest.json": 100} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(content) < least {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
}
