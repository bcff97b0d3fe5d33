package mllp

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage checks that docs/feeds.md names all framing faults and all reasons for which a connection ends.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/feeds.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## MLLP\n")
	section, _, _ = strings.Cut(section, "\n## ")
	want := []string{}
	for _, f := range Faults() {
		want = append(want, f.String())
	}
	for _, e := range ends {
		want = append(want, string(e))
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1) {
		got = append(got, row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the page has %q\nthe code     %q", got, want)
	}
}
