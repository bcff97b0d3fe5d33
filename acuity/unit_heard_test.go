package acuity

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// wrote returns the keys of the records that are dirty, without the hospital;
// those taken away with a minus.
func wrote(u *Unit) []string {
	keys := map[string]bool{}
	u.Dirty(func(k []byte, s State) {
		key := strings.TrimPrefix(string(k), testHospital+"/")
		if s == nil {
			key = "-" + key
		}
		keys[key] = true
	})
	return slices.Sorted(maps.Keys(keys))
}

// A statement is a record of its own: what was heard before is not written again,
// nor is the room, unless it changed.
func TestStatementIsARecord(t *testing.T) {
	category := func(minute int, words string) Observation {
		return spoken(clockAt(minute), 1, Signal{Kind: KindDevice, System: LOINC, Code: "32421-5", Value: ParseValue(words)})
	}
	u := NewUnit(testHospital)
	feed(u, listing(clockAt(0)), arrival(clockAt(1), Event{ID: "a", Type: A01, Visit: "v", Place: ldr("L1")}), category(2, "Category II"))
	wrote(u)
	for _, step := range []struct {
		name  string
		input Observation
		want  []string
	}{
		{"another of the same", category(3, "Category II"), []string{"heard/2", "unit"}},
		{"within minutes: that in the middle goes", category(4, "Category II"), []string{"-heard/2", "heard/3", "unit"}},
		{"it changes what is active", category(5, "Category III"), []string{"heard/4", "room/1", "unit"}},
	} {
		feed(u, step.input)
		if got := wrote(u); !slices.Equal(got, step.want) {
			t.Errorf("%s: wrote %v, want %v", step.name, got, step.want)
		}
	}
	u.advance(nil, clockAt(0).Add(26*time.Hour))
	feed(u, spoken(clockAt(0).Add(26*time.Hour), 2))
	got := wrote(u)
	for _, want := range []string{"heard/1", "heard/3", "heard/4"} {
		if !slices.Contains(got, want) {
			t.Errorf("after a day wrote %v, want also %s", got, want)
		}
	}
	if n := u.visits["v"].threads.size; n != 3 {
		t.Errorf("the visit has %d statements, want 3", n)
	}
	feed(u, arrival(clockAt(0).Add(27*time.Hour), Event{ID: "b", Type: A03, Visit: "v"}))
	feed(u, spoken(clockAt(0).Add(9*24*time.Hour), 2))
	got = wrote(u)
	for _, want := range []string{"-heard/1", "-heard/3", "-heard/4", "-visit/v"} {
		if !slices.Contains(got, want) {
			t.Errorf("forgetting wrote %v, want also %s", got, want)
		}
	}
}

// A hospital keeps thousands of statements.
func TestStatementIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Heard{}); n > 56 {
		t.Errorf("a statement takes %d bytes, want at most 56", n)
	}
}
