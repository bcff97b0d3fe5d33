package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestNoPageHidesTheFrame: the data of a page has no field with the same name as a field of its frame, for example
// Events. Such a field would be rendered instead of the frame's.
func TestNoPageHidesTheFrame(t *testing.T) {
	t.Parallel()
	frames := map[string]map[string]bool{"Frame": {}, "adminPage": {}}
	for f := range reflect.TypeFor[Frame]().Fields() {
		if !f.Anonymous {
			frames["Frame"][f.Name], frames["adminPage"][f.Name] = true, true
		}
	}
	pages := 0
	eachStruct(t, func(_, name string, fields []*ast.Field) {
		for _, f := range fields {
			for _, one := range f.Names {
				if name == "adminPage" {
					frames[name][one.Name] = true
				}
			}
		}
	})
	eachStruct(t, func(file, _ string, fields []*ast.Field) {
		var frame map[string]bool
		for _, f := range fields {
			if name := embedded(f); frames[name] != nil {
				frame = frames[name]
				pages++
			}
		}
		for _, f := range fields {
			for _, name := range f.Names {
				if frame[name.Name] {
					t.Errorf("%s: a page hides %s of its frame", file, name.Name)
				}
			}
		}
	})
	if pages < 10 || len(frames["adminPage"]) <= len(frames["Frame"]) {
		t.Errorf("only %d pages were found", pages)
	}
}

// eachStruct calls the function do for each struct type in the packages of the pages.
func eachStruct(t *testing.T, do func(file, name string, fields []*ast.Field)) {
	t.Helper()
	for _, pattern := range []string{"../*.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if spec, is := n.(*ast.TypeSpec); is {
					if of, is := spec.Type.(*ast.StructType); is {
						do(file, spec.Name.Name, of.Fields.List)
					}
				}
				return true
			})
		}
	}
}

// embedded returns the name of the type of an embedded field, or "" if the field has a name.
func embedded(f *ast.Field) string {
	if len(f.Names) > 0 {
		return ""
	}
	switch of := f.Type.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}
