package hl7_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWarningsInCorpus: the corpus has a message for each warning. internal/httpapi/rules tests
// that docs/hl7.md explains each warning.
func TestWarningsInCorpus(t *testing.T) {
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
	var corpus strings.Builder
	for _, name := range must(filepath.Glob("testdata/*.golden")) {
		corpus.Write(must(os.ReadFile(name)))
	}
	for _, c := range codes {
		if !strings.Contains(corpus.String(), "warning    "+c+" ") {
			t.Errorf("no message of the corpus gets %s", c)
		}
	}
}
