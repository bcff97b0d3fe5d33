package mllp

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPage checks that docs/reference/mllp.md names all framing faults and all reasons for which a connection ends.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/mllp.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, f := range Faults() {
		want = append(want, f.String())
	}
	for _, e := range ends {
		want = append(want, string(e))
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		got = append(got, row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the page has %q\nthe code     %q", got, want)
	}
}
