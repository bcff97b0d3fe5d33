package simulate_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/internal/analysis/simulate"
)

// For any turns of a course, real time never decreases, and Unit is the inverse of Real.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c simulate.Course
		now := start
		for range rapid.IntRange(0, 5).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(48*time.Hour)).Draw(t, "later")))
			c = c.Turned(now, rapid.SampledFrom([]float64{.5, 1, 7, 60, 3600}).Draw(t, "speed"))
		}
		at := start.Add(-time.Hour)
		for range 40 {
			next := at.Add(time.Duration(rapid.Int64Range(0, int64(90*24*time.Hour)).Draw(t, "span")))
			if c.Real(next).Before(c.Real(at)) {
				t.Fatalf("%v is %v, the later %v is %v", at, c.Real(at), next, c.Real(next))
			}
			if back := c.Unit(c.Real(next)); back.Sub(next).Abs() > time.Millisecond {
				t.Fatalf("%v came back as %v", next, back)
			}
			at = next
		}
	})
}

// A change of the unit's speed changes only the times of its requests and the times in their bodies. Each request is
// sent at the real time that the course returns for the unit's time.
func TestUnitInMotion(t *testing.T) {
	turn := start.Add(24 * time.Hour)
	course := simulate.Course{{Unit: turn, Real: turn, Speed: 60}}
	o := simulate.Options{Seed: 1, Profile: "small", Start: start, For: 3 * 24 * time.Hour}
	var plain []simulate.Request
	run(t, o, func(r simulate.Request) {
		r.Body = []byte(withoutTimes(string(r.Body)))
		plain = append(plain, r)
	})
	o.Clock = course.Real
	n := 0
	run(t, o, func(r simulate.Request) {
		if want := course.Real(plain[n].At); !r.At.Equal(want) {
			t.Fatalf("request %d at %v, want %v", n, r.At, want)
		}
		if withoutTimes(string(r.Body)) != string(plain[n].Body) {
			t.Fatalf("request %d is %s, was %s", n, r.Body, plain[n].Body)
		}
		if r.At.After(turn.Add(48 * time.Minute)) {
			t.Fatalf("two days at speed 60 last until %v", r.At)
		}
		n++
	})
	if n != len(plain) || n < 100 {
		t.Errorf("%d requests, %d in plain time", n, len(plain))
	}
}

// withoutTimes replaces each time in a body.
func withoutTimes(body string) string {
	parts := strings.Split(body, `"`)
	for i, p := range parts {
		if _, err := time.Parse(time.RFC3339, p); err == nil {
			parts[i] = "T"
		}
	}
	return strings.Join(parts, `"`)
}
