package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestNoPageHidesTheFrame: a field of a page that is called as one of the frame would be
// written in its place, such as Events, which is the stream that a page follows.
func TestNoPageHidesTheFrame(t *testing.T) {
	t.Parallel()
	frames := map[string]map[string]bool{}
	var fields func(of reflect.Type, into map[string]bool)
	fields = func(of reflect.Type, into map[string]bool) {
		for f := range of.Fields() {
			if !f.Anonymous {
				into[f.Name] = true
			} else if f.Type.Kind() == reflect.Struct {
				fields(f.Type, into)
			}
		}
	}
	for _, frame := range []any{page{}, adminPage{}} {
		all := map[string]bool{}
		fields(reflect.TypeOf(frame), all)
		frames[reflect.TypeOf(frame).Name()] = all
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			of, is := n.(*ast.StructType)
			if !is {
				return true
			}
			var frame map[string]bool
			for _, f := range of.Fields.List {
				if name, is := f.Type.(*ast.Ident); is && len(f.Names) == 0 && frames[name.Name] != nil {
					frame = frames[name.Name]
					pages++
				}
			}
			for _, f := range of.Fields.List {
				for _, name := range f.Names {
					if frame[name.Name] {
						t.Errorf("%s: a page hides %s of its frame", file, name.Name)
					}
				}
			}
			return true
		})
	}
	if pages < 10 {
		t.Errorf("only %d pages were found", pages)
	}
}
