package fhir

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCorpusHasEveryIssue: the corpus has a resource for each issue code.
func TestCorpusHasEveryIssue(t *testing.T) {
	read := func(pattern string) string {
		var b strings.Builder
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
		}
		return b.String()
	}
	codes := func(form, text string) []string {
		var all []string
		for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	raised := codes(`\w\.(?:warn|reject|countNonResource|issue|decline|addIssue)\([^"\n]*"([a-z_]+)"`, read("*.go"))
	if seen := codes(`(?m)^(?:error|warning|information) ([a-z_]+) at `, read("testdata/*.golden")); !slices.Equal(seen, raised) {
		t.Errorf("the corpus has\n%v\nthe code\n%v", seen, raised)
	}
}
