package fhir

import (
	"reflect"
	"testing"
)

// TestStoresKeepNothing: reused memory contains nothing from the previous body.
func TestStoresKeepNothing(t *testing.T) {
	s := newStores(0)
	s.containers = append(s.containers, container{before: "entry"})
	s.resources = append(s.resources, resource{key: "Patient/p1", patient: "p1"})
	s.codings = append(s.codings, coding{code: span{1, 2}})
	s.identifiers = append(s.identifiers, identifier{value: span{1, 2}})
	s.components = append(s.components, component{})
	s.locations = append(s.locations, location{})
	s.concepts = append(s.concepts, concept{})
	s.ingredients = append(s.ingredients, ingredient{})
	s.release()
	for _, field := range reflect.ValueOf(s).Elem().Fields() {
		if field.Len() > 0 {
			t.Errorf("%d of %s", field.Len(), field.Type())
		}
	}
	if r := s.resources[:1][0]; r != (resource{}) {
		t.Errorf("kept: %+v", r)
	}
}

// TestLargeStoresGo: memory is reused only for bodies of usual size.
func TestLargeStoresGo(t *testing.T) {
	s := newStores(0)
	s.codings = make([]coding, maxKept+1)
	s.release()
	if len(s.codings) == 0 {
		t.Error("kept")
	}
}
