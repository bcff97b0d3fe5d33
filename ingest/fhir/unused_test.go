package fhir

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestUnusedElementsAreDocumented: docs/reference/fhir-elements.md lists every element that is ignored by design, and
// the code reads none of them.
func TestUnusedElementsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/fhir-elements.md")
	if err != nil {
		t.Fatal(err)
	}
	for k, elements := range unusedElements {
		if elements == nil {
			continue
		}
		row := regexp.MustCompile(`(?m)^\| ` + kindNames[k] + " \\| ((?:`[A-Za-z]+` ?)+)\\|$").FindSubmatch(page)
		if row == nil {
			t.Fatalf("the page has no row of %s", kindNames[k])
		}
		documented := strings.Fields(strings.ReplaceAll(string(row[1]), "`", " "))
		if want := slices.Sorted(maps.Keys(elements)); !slices.Equal(documented, want) {
			t.Errorf("%s: the page has\n%v\nthe code\n%v", kindNames[k], documented, want)
		}
		for name := range elements {
			p := parser{scanner: scanner{b: []byte("null")}, document: &document{stores: newStores(0)}}
			if p.kindField(&resource{kind: kind(k)}, []byte(name)) {
				t.Errorf("%s.%s is read", kindNames[k], name)
			}
		}
	}
}
