package ingest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shape is the one description of a JSON object in a body. It comes from the tags of the struct that
// the OpenAPI document is made of. So the document and the reader demand the same.
type shape struct {
	name   string
	fields map[string]*field
}

// field is what a shape demands of one field.
type field struct {
	required           bool     // no omitempty
	max                int64    // maxLength of a text in characters, or maximum of a number; 0: none
	minItems, maxItems int      // of a list
	words              []string // the only values (enum); nil: any
	inner              *shape   // of the object, or of the objects in the list
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the shape that a struct describes.
func shapeOf[T any]() *shape { return shapeOfType(reflect.TypeFor[T]()) }

func shapeOfType(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:errcheck,forcetypeassert // nothing else is put there
	}
	s := &shape{name: t.Name(), fields: map[string]*field{}}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		s.fields[name] = &field{
			required: options == "",
			max:      max(number(f, "maxLength"), number(f, "maximum")),
			minItems: int(number(f, "minItems")), maxItems: int(number(f, "maxItems")),
			words: words(f), inner: innerOf(f.Type),
		}
	}
	shapes.Store(t, s)
	return s
}

// innerOf returns the shape of the objects in a field; nil: it holds none.
func innerOf(t reflect.Type) *shape {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return shapeOfType(t)
}

// number returns the number in a tag; 0: it has none.
func number(f reflect.StructField, tag string) int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s of %s: %v", tag, f.Name, err)) // the shapes are ours
	}
	return n
}

// words returns the words of the tag enum.
func words(f reflect.StructField) []string {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	return slices.Clip(strings.Split(text, ","))
}

// field returns what is demanded of a field. A reader may only ask for fields of its shape.
func (s *shape) field(name string) *field {
	f := s.fields[name]
	if f == nil {
		panic(fmt.Sprintf("%s has no field %s", s.name, name))
	}
	return f
}

// itemsAtMost returns how many elements a list in a body may have.
func itemsAtMost[T any](name string) int64 { return int64(shapeOf[T]().field(name).maxItems) }
