package text

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// auditedActions returns the actions that the source code writes to the audit log, such as "key.mint".
func auditedActions(t *testing.T) (all []string) {
	t.Helper()
	const word = `"([a-z-]+\.[a-z]+)"`
	action := regexp.MustCompile(`(?:(?i:\bact|\baction)[A-Z]\w*\s*=|settingsSet =|Action:|serveAct\([\w.]+,) ` + word)
	for _, pattern := range []string{"internal/admin/*/*.go", "ingest/*.go", "readapi/web/*.go"} {
		files, err := filepath.Glob("../../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range action.FindAllStringSubmatch(string(content), -1) {
				all = append(all, m[1])
			}
		}
	}
	all = append(all, "webhook.reseal", "alert-recipient.reseal") // composed from the kind of the setting
	slices.Sort(all)
	if all = slices.Compact(all); len(all) < 40 {
		t.Fatalf("only %d actions were found: %q", len(all), all)
	}
	return all
}
