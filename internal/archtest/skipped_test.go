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

// TestNoTestRunsNowhere checks that .ci/run omits from the whole-system step only tests that another step runs: those
// that need no servers (make unraced, with SVC_E2E=dev) and those that need packages of other tools (make readers).
func TestNoTestRunsNowhere(t *testing.T) {
	patternIn(t, "../../.ci/run", `step test .* test (unraced)\n`)
	patternIn(t, "../../Makefile", `unraced: export SVC_E2E := (dev)\n`)
	omitted := patternIn(t, "../../.ci/run", `e2e SKIP='(\S+)'`)
	readers := patternIn(t, "../../Makefile", `SVC_READERS=1 .* -run '(\S+)' ./internal/e2e`)
	calls, needing := callsOfWholeSystem(t), map[string]bool{"needServers": true}
	for before := 0; before < len(needing); { // until no further function is found
		before = len(needing)
		for name, called := range calls {
			for of := range called {
				needing[name] = needing[name] || needing[of]
			}
			if !needing[name] {
				delete(needing, name)
			}
		}
	}
	checked := 0
	for name := range calls {
		if !strings.HasPrefix(name, "Test") || !omitted.MatchString(name) {
			continue
		}
		checked++
		if needing[name] && !readers.MatchString(name) {
			t.Errorf("%s needs servers, but the pattern in .ci/run omits it", name)
		}
	}
	if checked == 0 || !needing["startSystem"] {
		t.Errorf("%d tests are omitted; startSystem needs servers: %t", checked, needing["startSystem"])
	}
}

// patternIn compiles the pattern that a group of an expression captures from a file. A $$ in the file means $.
func patternIn(t *testing.T, file, expression string) *regexp.Regexp {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(expression).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has nothing like %s", file, expression)
	}
	return regexp.MustCompile(strings.ReplaceAll(string(found[1]), "$$", "$"))
}

// callsOfWholeSystem returns, by name, the functions of internal/e2e with the functions that each of them calls.
// Methods are omitted.
func callsOfWholeSystem(t *testing.T) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../e2e/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	calls := map[string]map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil {
				continue
			}
			called := map[string]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, is := n.(*ast.CallExpr); is {
					if name, is := call.Fun.(*ast.Ident); is {
						called[name.Name] = true
					}
				}
				return true
			})
			calls[f.Name.Name] = called
		}
	}
	return calls
}
