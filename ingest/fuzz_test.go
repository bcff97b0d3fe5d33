package ingest_test

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzBodies: for any body, the response has an envelope and is never a server error. A refused body has no effect.
func FuzzBodies(f *testing.F) {
	bodies := map[string]string{"adt": adtBody, "census": censusBody, "clinical": clinicalBody, "roster": rosterBody, "staffing": staffingBody}
	for path, body := range bodies {
		f.Add(path, body)
		f.Add("batch", `{"events":[`+body+`,7]}`)
	}
	f.Add("hl7", wrapped(admission))
	f.Add("adt", `{"\u0065ventId":"\"\\","diagnoses":[{}],"x":[{"a":"]}"}],"occurredAt":"2026-03-04t09:00-0600"}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		if _, known := bodies[path]; !known && path != "batch" && path != "hl7" {
			return
		}
		d := open(t)
		a := d.post(t, path, body, "Content-Type", "application/json")
		switch a.status {
		case http.StatusOK:
			if !strings.Contains(a.raw, `"ok":true`) {
				t.Fatal(a.raw)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			if len(d.stored) > 0 {
				t.Fatalf("%s, and kept %+v", a.raw, d.stored[0])
			}
		default:
			t.Fatal(a.status, a.raw)
		}
	})
}
