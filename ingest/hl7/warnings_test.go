package hl7_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/hl7.md documents exactly the warnings and refusals of the code.

func TestWarningsAreDocumented(t *testing.T) {
	page := string(must(os.ReadFile("../../docs/hl7.md")))
	_, section, _ := strings.Cut(page, "\n## Warnings\n")
	ours, theirs, _ := strings.Cut(section, "What is found when the event meets")
	code := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	listed := func(text string) (all []string) {
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	var codes []string
	file := must(parser.ParseFile(token.NewFileSet(), "event.go", nil, 0))
	ast.Inspect(file, func(n ast.Node) bool {
		if value, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(value.Names[0].Name, "warn") {
			if literal, ok := value.Values[0].(*ast.BasicLit); ok {
				codes = append(codes, strings.Trim(literal.Value, `"`))
			}
		}
		return true
	})
	slices.Sort(codes)
	if got := listed(ours); !slices.Equal(got, codes) {
		t.Errorf("the page has\n%v\nthe code\n%v", got, codes)
	}
	var domain, corpus strings.Builder
	for _, name := range append(must(filepath.Glob("../../acuity/adt/*.go")), must(filepath.Glob("../../acuity/hospital/*.go"))...) {
		domain.Write(must(os.ReadFile(name)))
	}
	for _, name := range must(filepath.Glob("testdata/*.golden")) {
		corpus.Write(must(os.ReadFile(name)))
	}
	for _, c := range listed(theirs) {
		if !strings.Contains(domain.String(), `"`+c+`"`) {
			t.Errorf("the page has %s, which nothing raises", c)
		}
	}
	for _, c := range codes {
		if !strings.Contains(corpus.String(), "warning    "+c+" ") {
			t.Errorf("no message of the corpus gets %s", c)
		}
	}
}
