package adt

import (
	"reflect"
	"testing"
	"unsafe"

	"svc/acuity"
)

// fill sets a value and all its parts to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // an event has no others
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f)
		}
	default:
		panic("an event has a " + v.Kind().String())
	}
}

// An event is written as it came, whatever fields are set, and whatever the event before
// it has.
func TestStoredEventIsTheEvent(t *testing.T) {
	whole := acuity.Event{}
	fill(reflect.ValueOf(&whole).Elem())
	whole.Warnings = nil // they are those of the request
	events := []acuity.Event{whole, {}, whole}
	for i := range reflect.TypeFor[acuity.Event]().NumField() {
		e := acuity.Event{}
		fill(reflect.ValueOf(&e).Elem().Field(i))
		e.Warnings = nil
		without := whole
		reflect.ValueOf(&without).Elem().Field(i).SetZero()
		events = append(events, e, e, whole, without)
	}
	for i := range events {
		events[i].Visit = "visit"
	}
	var got []acuity.Event
	for _, e := range store(events) {
		got = e.AppendTo(got, "visit")
	}
	for i := range events {
		if !reflect.DeepEqual(got[i], events[i]) {
			t.Errorf("event %d is\n%+v\nnot\n%+v", i, got[i], events[i])
		}
	}
}

// A hospital has thousands of events: each is small, and equal parts are in memory once.
func TestStoredEventIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Event{}); size > 88 {
		t.Errorf("an event takes %d bytes", size)
	}
	e := with(event("a", acuity.A08, 0, "LD^1"), withCodes(acuity.DiagnosisSnapshot, "O13.3"))
	e.Patient, e.Prior = "her", e.Place
	list := store([]acuity.Event{e, e})
	a, b := &list[0], &list[1]
	if a.Place != b.Place || b.Prior != a.Place || a.naming != b.naming || &a.Diagnoses[0] != &b.Diagnoses[0] {
		t.Errorf("%+v and %+v share too little", a, b)
	}
	if c := store([]acuity.Event{event("b", acuity.A08, 0, "")})[0]; c.extra != noExtra || c.Place != nothingSaid {
		t.Errorf("%+v keeps what it does not say", c)
	}
}
