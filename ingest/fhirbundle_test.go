package ingest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/acuity"
	"svc/ingest"
)

const hapiAccepts = "application/fhir+xml;q=1.0, application/fhir+json;q=1.0, application/xml+fhir;q=0.9, application/json+fhir;q=0.9"

type fhirOutcome struct {
	ResourceType string
	Issue        []struct {
		Severity, Code, Diagnostics string
		Details                     struct{ Text string }
		Expression                  []string
	}
}

// String returns an outcome on one line: severity, FHIR code, svc code, location.
func (o *fhirOutcome) String() string {
	var lines []string
	for _, i := range o.Issue {
		lines = append(lines, strings.TrimSpace(fmt.Sprint(i.Severity, " ", i.Code, " ", i.Details.Text, " ", strings.Join(i.Expression, ","))))
	}
	return o.ResourceType + ": " + strings.Join(lines, "; ")
}

const (
	anEncounter  = `{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VN1"}],"period":{"start":"2026-03-04T09:00:00Z"},"location":[{"location":{"display":"LDR 4"},"status":"active"}]}`
	aBadOne      = `{"resourceType":"Observation","id":"o1","status":"finished"}`
	anUnusedOne  = `{"resourceType":"Appointment"}`
	aDeletion    = `{"request":{"method":"DELETE","url":"Condition/c9"}}`
	aNestedOne   = `{"resourceType":"Bundle","type":"collection","entry":[{"resource":{"resourceType":"Observation","id":"o2","status":"finished"}}]}`
	aHandshake   = `{"resource":{"resourceType":"Parameters"},"request":{"method":"GET","url":"Subscription/1/$status"},"response":{"status":"200"}}`
	noResource   = `{"resource":7}`
	withoutClass = `{"resourceType":"Encounter","id":"e2","status":"in-progress","identifier":[{"value":"VN2"}],"period":{"start":"2026-03-04T09:00:00Z"}}`
)

func bundled(kind string, resources ...string) string {
	var entries []string
	for _, one := range resources {
		if strings.HasPrefix(one, `{"resourceType"`) {
			one = `{"resource":` + one + `}`
		}
		entries = append(entries, one)
	}
	return `{"resourceType":"Bundle","type":"` + kind + `","entry":[` + strings.Join(entries, ",") + `]}`
}

// TestResponseBundles: for a transaction or batch, a FHIR client gets a Bundle with one entry for each entry of the
// request.
func TestResponseBundles(t *testing.T) {
	const ignored = "OperationOutcome: information informational type_not_used Bundle.entry[1].resource"
	for name, test := range map[string]struct {
		body    string
		change  func(*acuity.Observation) acuity.Change
		pending bool
		want    []string
	}{
		"transaction-response": {bundled("transaction", anEncounter, anUnusedOne, aBadOne, aDeletion, noResource, aNestedOne, withoutClass), nil, false, []string{
			"200 OK", "200 OK " + ignored,
			"422 Unprocessable Entity OperationOutcome: error code-invalid status_unknown Bundle.entry[2].resource.status",
			"200 OK",
			"422 Unprocessable Entity OperationOutcome: error structure type Bundle.entry[4].resource",
			"200 OK OperationOutcome: error code-invalid status_unknown Bundle.entry[5].resource.entry[0].resource.status",
			"200 OK OperationOutcome: warning required required Bundle.entry[6].resource.class",
		}},
		"batch-response": {bundled("batch", anEncounter), func(o *acuity.Observation) acuity.Change {
			return acuity.Change{Hospital: o.Hospital, Outcome: acuity.Applied, Warnings: []acuity.Warning{{Code: "place_differs", Path: "events[0]"}, {Code: "reference_waiting"}}}
		}, false, []string{"200 OK OperationOutcome: warning processing place_differs Bundle.entry[0].resource; warning processing reference_waiting"}},
		"pending":      {bundled("transaction", anEncounter, anUnusedOne), nil, true, []string{"202 Accepted", "200 OK " + ignored}},
		"two versions": {bundled("transaction", anEncounter, anEncounter), nil, false, []string{"200 OK OperationOutcome: information informational superseded Bundle.entry[0].resource", "200 OK"}},
		"empty":        {bundled("transaction"), nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			if d.pending = test.pending; test.change != nil {
				d.change = test.change
			}
			a := d.post(t, "fhir", test.body, "Content-Type", "application/fhir+json", "Accept", hapiAccepts)
			var got struct {
				ResourceType, Type string
				Entry              []struct {
					Response struct {
						Status  string
						Outcome *fhirOutcome
					}
				}
			}
			if err := json.Unmarshal([]byte(a.raw), &got); err != nil {
				t.Fatal(err)
			}
			kind := name
			if !strings.HasSuffix(kind, "-response") {
				kind = "transaction-response"
			}
			if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/fhir+json" || got.ResourceType != "Bundle" || got.Type != kind || len(got.Entry) != len(test.want) {
				t.Fatalf("%d %v %s", a.status, a.header, a.raw)
			}
			for i, want := range test.want {
				said := got.Entry[i].Response.Status
				if o := got.Entry[i].Response.Outcome; o != nil {
					said += " " + o.String()
				}
				if said != want {
					t.Errorf("entry %d\n%s, want\n%s", i, said, want)
				}
			}
		})
	}
}

// TestOperationOutcomes: every response that is not a Bundle is an OperationOutcome, even if the request is refused
// before it reaches the handler.
func TestOperationOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		header     []string
		status     int
		want       string
	}{
		"one resource":         {"fhir", anEncounter, nil, 200, "information informational applied"},
		"a bad one":            {"fhir", aBadOne, nil, 422, "information informational ignored; error code-invalid status_unknown Observation.status"},
		"one that is not used": {"fhir", anUnusedOne, nil, 200, "information informational ignored; information informational type_not_used"},
		"a slash behind":       {"fhir/", anEncounter, nil, 200, "information informational applied"},
		"a handshake":          {"fhir", bundled("history", aHandshake), nil, 200, "information informational ignored; information informational type_not_used Bundle.entry[0].resource"},
		"a heartbeat of R5":    {"fhir", bundled("subscription-notification", aHandshake), nil, 200, "information informational ignored; information informational type_not_used Bundle.entry[0].resource"},
		"a list":               {"fhir", `[` + withoutClass + `,` + aBadOne + `]`, nil, 200, "information informational applied; warning required required [0].class; error code-invalid status_unknown [1].status"},
		"a collection":         {"fhir", bundled("collection", anEncounter), nil, 200, "information informational applied"},
		"no JSON":              {"fhir", `{`, nil, 400, "error invalid json"},
		"no resource":          {"fhir", `{}`, nil, 400, "error invalid required resourceType"},
		"another type":         {"fhir", `<a/>`, []string{"Content-Type", "application/fhir+xml"}, 415, "error not-supported invalid_request"},
		"no key":               {"fhir", anEncounter, []string{"Authorization", ""}, 401, "error login unauthorized"},
		"a narrow key":         {"fhir", anEncounter, []string{"Authorization", "narrow"}, 403, "error forbidden forbidden_scope"},
		"bad identity":         {"fhir", anEncounter, []string{"Idempotency-Key", "a b"}, 400, "error invalid ascii:1-255 Idempotency-Key"},
		"a path below it":      {"fhir/nothing", anEncounter, nil, 404, "error not-found not_found"},
		"a type of resource":   {"fhir/Encounter", anEncounter, nil, 501, "error not-supported invalid_request"},
		"an operation":         {"fhir/$process-message", anEncounter, nil, 501, "error not-supported invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			header := append([]string{"Accept", hapiAccepts}, test.header...)
			for i := range header {
				if header[i] == "narrow" {
					header[i] = "Bearer " + narrow
				}
			}
			a := d.post(t, test.path, test.body, header...)
			var got fhirOutcome
			if err := json.Unmarshal([]byte(a.raw), &got); err != nil {
				t.Fatal(err)
			}
			if want := "OperationOutcome: " + test.want; a.status != test.status || got.String() != want || a.header.Get("Content-Type") != "application/fhir+json" {
				t.Errorf("%d %s, want %d %s", a.status, got.String(), test.status, want)
			}
			if got.Issue[0].Diagnostics == "" {
				t.Errorf("nothing for people: %s", a.raw)
			}
		})
	}
	d := open(t)
	d.fail = ingest.ErrAway
	if a := d.post(t, "fhir", anEncounter, "Accept", hapiAccepts); a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.raw, `"code":"transient"`) {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

// TestWhoAsksForFHIR: the FHIR endpoint answers in FHIR JSON if the Accept header names that type and does not prefer
// plain JSON. Any other response is the usual JSON envelope.
func TestWhoAsksForFHIR(t *testing.T) {
	for accept, fhir := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/*": false, "application/fhir+xml": false,
		"application/fhir+json":                             true,
		"Application/FHIR+JSON; charset=utf-8":              true,
		"application/fhir+json;fhirVersion=4.0":             true,
		"application/fhir+json;q=0":                         false,
		"application/fhir+json;q=x":                         false,
		"application/json, application/fhir+json;q=0.9":     false,
		"application/json;q=0.9, application/fhir+json":     true,
		"application/fhir+json, application/json":           true,
		"text/html, application/fhir+json;q=0.1, */*;q=0.5": true,
		hapiAccepts: true,
		"application/fhir+json;q=1.0, application/json+fhir;q=.9": true,
	} {
		d := open(t)
		a := d.post(t, "fhir", anEncounter, "Accept", accept)
		if got := a.header.Get("Content-Type") == "application/fhir+json"; got != fhir {
			t.Errorf("%q: %s", accept, a.raw)
		}
		if other := d.post(t, "staffing", `{}`, "Accept", accept); other.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q at another path: %s", accept, other.raw)
		}
	}
}
