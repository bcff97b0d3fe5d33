package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlone checks that code that is tested without the race detector starts no goroutines. Neither the packages
// listed in the Makefile variable ALONE nor their tests may contain a go statement, or a call to a method named Go,
// AfterFunc or Parallel.
func TestAlone(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ALONE := (\S+)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("no ALONE in the Makefile")
	}
	alone := regexp.MustCompile("^(" + string(line[1]) + ")$")
	checked := 0
	for name := range plan {
		if !alone.MatchString(name) {
			continue
		}
		checked++
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no files, %v", name, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if starts(n) {
					t.Errorf("%s starts a goroutine, but the race detector does not watch %s", file, name)
				}
				return true
			})
		}
	}
	if checked < strings.Count(string(line[1]), "|") {
		t.Errorf("only %d packages of %s are in the plan", checked, line[1])
	}
}

// starts reports whether a node is a go statement, or a call that starts a goroutine.
func starts(n ast.Node) bool {
	if call, ok := n.(*ast.CallExpr); ok {
		called, ok := call.Fun.(*ast.SelectorExpr)
		return ok && (called.Sel.Name == "Go" || called.Sel.Name == "AfterFunc" || called.Sel.Name == "Parallel")
	}
	_, ok := n.(*ast.GoStmt)
	return ok
}
