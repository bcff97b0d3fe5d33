package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// These limits keep a package small enough for one reader.
const (
	maxExported = 40  // exported names of a package, without methods and fields
	maxMethods  = 40  // methods of a type
	maxLines    = 400 // lines of a file
	maxColumns  = 140 // columns of a line, except struct tags and raw strings, which cannot be broken
)

// allowance permits a size above the limit, for the given reason.
type allowance struct {
	size   int
	reason string
}

// allowances are the permitted sizes above the limits, by package, by package and type, or by file. The test fails if
// a size exceeds its allowance, or if a size with an allowance is within its limit again. Sizes can therefore only
// decrease.
var allowances = map[string]allowance{
	"acuity":  {160, "the words of observations, charts, changes and snapshots: a record refers to all below it"},
	"schemas": {61, "a codec and a topic for each record"},
}

// TestSentences expects that the package comment of every package states one purpose. A package with two purposes
// should be two packages, so the first sentence must not contain "and".
func TestSentences(t *testing.T) {
	said := map[string]string{}
	eachFile(t, func(file string, source []byte) {
		room := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		said[room] += f.Doc.Text()
	})
	for room, text := range said {
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
		if !strings.HasPrefix(sentence, "Package "+path.Base(room)+" ") && !strings.HasPrefix(sentence, "Command "+path.Base(room)+" ") {
			t.Errorf("%s does not say what it is: %q", room, sentence)
		}
		if strings.Contains(sentence, " and ") {
			t.Errorf("%s has more than one job, or says so: %s", room, sentence)
		}
	}
}

// size holds the counted sizes, by package, type or file.
type size struct{ exported, methods, lines, columns map[string]int }

func newSize() size {
	return size{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
}

// TestSizes expects that every package, type and file is within its limit.
func TestSizes(t *testing.T) {
	got := newSize()
	eachFile(t, func(file string, source []byte) {
		if err := got.count(file, source); err != nil {
			t.Error(err)
		}
	})
	for _, fault := range got.faults(allowances) {
		t.Error(fault)
	}
}

// TestSizesBite violates each limit once, and expects the violation to be reported.
func TestSizesBite(t *testing.T) {
	var names, methods strings.Builder
	for i := range maxExported + 1 {
		fmt.Fprintf(&names, "func F%d() {}\n", i)
		fmt.Fprintf(&methods, "func (t *t) f%d() {}\n", i)
	}
	for name, tt := range map[string]struct {
		source string
		allow  map[string]allowance
		want   []string
	}{
		"names":                 {names.String(), nil, []string{"a: 41 exported names, at most 40"}},
		"methods":               {"type t struct{}\n" + methods.String(), nil, []string{"a.t: 41 methods, at most 40"}},
		"lines":                 {strings.Repeat("\n", 400), nil, []string{"a/a.go: 401 lines, at most 400"}},
		"columns":               {"// " + strings.Repeat("x", 138) + "\n", nil, []string{"a/a.go:2: 141 columns, at most 140"}},
		"a tag of a field":      {"type t struct{ a int `" + strings.Repeat("x", 138) + "` }\n", nil, nil},
		"allowed":               {names.String(), map[string]allowance{"a": {41, "a reason"}}, nil},
		"without a reason":      {names.String(), map[string]allowance{"a": {41, ""}}, []string{"a: an allowance needs a reason"}},
		"smaller than allowed":  {names.String(), map[string]allowance{"a": {50, "a reason"}}, nil},
		"larger than allowed":   {names.String() + "func G() {}\n", map[string]allowance{"a": {41, "a reason"}}, []string{"a: is 42, its allowance says 41"}},
		"needless":              {"", map[string]allowance{"a": {50, "a reason"}}, []string{"a: needs no allowance"}},
		"fields and unexported": {"type T struct{ A, B, C int }\nfunc f() {}\nvar v int\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := newSize()
			if err := got.count("a/a.go", []byte("package a\n"+tt.source)); err != nil {
				t.Fatal(err)
			}
			if faults := got.faults(tt.allow); !slices.Equal(faults, tt.want) {
				t.Errorf("faults %q, want %q", faults, tt.want)
			}
		})
	}
}

// TestProductionIsUsed expects that production code imports every production package. A package that only tests import
// must be in internal/testkit, or in a folder whose name ends in "test".
func TestProductionIsUsed(t *testing.T) {
	packages, imported := map[string]bool{}, map[string]bool{}
	eachFile(t, func(file string, source []byte) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		name := path.Dir(file)
		if forTests(name) {
			return
		}
		packages[name] = parsed.Name.Name != "main"
		for _, spec := range parsed.Imports {
			if of, err := strconv.Unquote(spec.Path.Value); err == nil {
				imported[strings.TrimPrefix(of, module)] = true
				if forTests(strings.TrimPrefix(of, module)) {
					t.Errorf("%s: production imports %s, which is for tests", file, of)
				}
			}
		}
	})
	for name, library := range packages {
		if library && !imported[name] {
			t.Errorf("%s: only tests import it; it belongs into internal/testkit", name)
		}
	}
}

func forTests(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "internal/testkit") || strings.HasSuffix(base, "test") && base != "backtest" || name == "internal/e2e"
}

// eachFile calls f with the path and the content of every production file.
func eachFile(t *testing.T, f func(file string, source []byte)) {
	t.Helper()
	house := os.DirFS("../..")
	err := fs.WalkDir(house, ".", func(file string, entry fs.DirEntry, err error) error {
		switch name := path.Base(file); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name != "." && strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(house, file)
		if err != nil {
			return err
		}
		f(file, source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// count adds the sizes of one file to s.
func (s *size) count(file string, source []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	room := path.Dir(file)
	s.lines[file] = bytes.Count(source, []byte("\n"))
	for number, line := range strings.Split(string(source), "\n") {
		if columns := utf8.RuneCountInString(line); columns > maxColumns && !strings.Contains(line, "`") {
			s.columns[fmt.Sprintf("%s:%d", file, number+1)] = columns
		}
	}
	name := func(id *ast.Ident) {
		if id.IsExported() {
			s.exported[room]++
		}
	}
	for _, decl := range parsed.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				name(d.Name)
			} else {
				s.methods[room+"."+receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch one := spec.(type) {
				case *ast.TypeSpec:
					name(one.Name)
				case *ast.ValueSpec:
					for _, id := range one.Names {
						name(id)
					}
				}
			}
		}
	}
	return nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// faults returns the sizes above their limit.
func (s *size) faults(allowed map[string]allowance) (found []string) {
	needed := map[string]int{}
	for _, kind := range []struct {
		sizes map[string]int
		limit int
		unit  string
	}{{s.exported, maxExported, "exported names"}, {s.methods, maxMethods, "methods"}, {s.lines, maxLines, "lines"}, {s.columns, maxColumns, "columns"}} {
		for _, what := range slices.Sorted(maps.Keys(kind.sizes)) {
			n := kind.sizes[what]
			if n <= kind.limit {
				continue
			}
			needed[what] = n
			if _, ok := allowed[what]; !ok {
				found = append(found, fmt.Sprintf("%s: %d %s, at most %d", what, n, kind.unit, kind.limit))
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(allowed)) {
		a, n := allowed[what], needed[what]
		switch {
		case n == 0:
			found = append(found, what+": needs no allowance")
		case n > a.size:
			found = append(found, fmt.Sprintf("%s: is %d, its allowance says %d", what, n, a.size))
		case a.reason == "":
			found = append(found, what+": an allowance needs a reason")
		}
	}
	return found
}
