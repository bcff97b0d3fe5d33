package ingest_test

import (
	"fmt"
	"slices"
	"testing"

	"svc/ingest"
)

// Every body counts for its feed, also one of which nothing was appended: it shows that
// the sender is alive.
func TestIntakes(t *testing.T) {
	for name, test := range map[string]struct{ path, body, want string }{
		"kept":                     {"fhir", `{"resourceType":"Encounter","id":"e","status":"arrived"}`, "1 0 0 true"},
		"of no type that is used":  {"fhir", `{"resourceType":"Appointment"}`, "1 0 1 false"},
		"an empty list":            {"fhir", `[]`, "1 0 1 false"},
		"of resources all refused": {"fhir", `[{"resourceType":"Encounter","status":"x"},{"resourceType":"Appointment"}]`, "1 1 0 false"},
		"of events all refused":    {"batch", `{"events":[{},{}]}`, "1 1 0 false"},
		"of events one good":       {"batch", `{"events":[{},` + adtBody + `]}`, "1 0 0 true"},
		"refused":                  {"adt", `{}`, "1 1 0 false"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			var got []string
			d.config.Took = func(in ingest.Intake) {
				got = append(got, fmt.Sprint(in.Received, in.Rejected, in.Ignored, in.Position != nil))
				if in.Hospital != "stmary" || string(in.Channel) != test.path || in.Source == "" || in.At == 0 {
					t.Errorf("%+v", in)
				}
			}
			d.Handler = mounted(d.config)
			d.post(t, test.path, test.body)
			if !slices.Equal(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
