package ingest_test

import (
	"testing"
	"time"

	"svc/acuity/hospital"
)

// TestTracingInErrorWithoutItsValue: a tracing that was entered in error is treated as if it had never been sent,
// even if the retraction lacks the value. If the retracted tracing was the only Category I that ended a diagnosis or
// a worse tracing, the diagnosis or the worse tracing is active again.
func TestTracingInErrorWithoutItsValue(t *testing.T) {
	const (
		two, three = "labor-fhr-cat-ii", "labor-fhr-cat-iii"
		admitted   = `{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"period":{"start":"2026-03-04T08:10:00Z"},"location":[{"location":{"display":"L1"},"status":"active"}]}`
	)
	wrong := func(id, rest string) string {
		return `{"resourceType":"Observation","id":"` + id + `","status":"entered-in-error",` + ofVisit + `,"code":{"coding":[{"system":"http://loinc.org","code":"11949-4"}]}` + rest + `}`
	}
	o68 := `{"resourceType":"Condition","id":"d","clinicalStatus":{"coding":[{"code":"active"}]},` + ofVisit + `,"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O68"}]},"onsetDateTime":"2026-03-04T08:30:00Z"}`
	const timed = `,"effectiveDateTime":"2026-03-04T22:45:00Z"`
	for name, c := range map[string]struct {
		say           []string
		before, after string // active category before and after the last resource is applied
	}{
		"a Category I":                       {[]string{o68, observed("o1", "final", "22:45", "22:45", "I"), wrong("o1", timed)}, "", two},
		"a Category I, without its time":     {[]string{o68, observed("o1", "final", "22:45", "22:45", "I"), wrong("o1", "")}, "", two},
		"a Category I behind a III":          {[]string{observed("o2", "final", "22:30", "22:30", "III"), observed("o1", "final", "22:45", "22:45", "I"), wrong("o1", timed)}, "", three},
		"one of two Category I":              {[]string{o68, observed("o1", "final", "22:45", "22:45", "I"), observed("o3", "final", "22:50", "22:50", "I"), wrong("o1", timed)}, "", ""},
		"a Category III before a Category I": {[]string{o68, observed("o2", "final", "22:30", "22:30", "III"), observed("o1", "final", "22:45", "22:45", "I"), wrong("o2", "")}, "", ""},
		"a Category III behind a Category I": {[]string{o68, observed("o1", "final", "22:30", "22:30", "I"), observed("o2", "final", "22:45", "22:45", "III"), wrong("o2", timed)}, three, ""},
		"what nobody said":                   {[]string{o68, observed("o1", "final", "22:30", "22:30", "I"), wrong("o9", timed)}, "", ""},
	} {
		u := hospital.New("st-test")
		read := func(when, want string) {
			t.Helper()
			for _, f := range []string{two, three} {
				if has(u, f) != (f == want) {
					t.Errorf("%s: %s the last statement %s is %v, want only %q", name, when, f, has(u, f), want)
				}
			}
		}
		for i, text := range append([]string{admitted}, c.say...) {
			if i == len(c.say) {
				read("before", c.before)
			}
			o := decoded(t, text)
			o.ReceivedAt = evening.Add(time.Duration(i) * time.Second)
			u.Apply(&o, int64(i))
		}
		read("after", c.after)
	}
}
