package ingest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
)

// openUnit starts a service whose processor is a single unit.
func openUnit(tb testing.TB) (*fixture, *hospital.State) {
	tb.Helper()
	d, u := open(tb), hospital.New("stmary")
	d.change = func(o *acuity.Observation) acuity.Change {
		for more := true; more; {
			_, more = u.Advance(o.ReceivedAt)
		}
		return u.Apply(o, int64(len(d.stored)))
	}
	return d, u
}

// placedIn returns the names of the occupied rooms of a unit, with their factors.
func placedIn(u *hospital.State) string {
	var all []string
	for _, r := range u.Chart().Rooms {
		for _, p := range r.Patients {
			var factors []string
			for _, e := range p.Evidence {
				factors = append(factors, e.Factor.ID())
			}
			all = append(all, r.Label+" "+strings.Join(factors, "+"))
		}
	}
	return strings.Join(all, ", ")
}

type entry struct{ resource, request string }

// bundleOf returns a Bundle of the given type.
func bundleOf(kind string, entries ...entry) string {
	var all []string
	for _, e := range entries {
		var parts []string
		if e.resource != "" {
			parts = append(parts, `"resource":`+e.resource)
		}
		if e.request != "" {
			parts = append(parts, `"request":{`+e.request+`}`)
		}
		all = append(all, "{"+strings.Join(parts, ",")+"}")
	}
	return `{"resourceType":"Bundle","type":"` + kind + `","entry":[` + strings.Join(all, ",") + `]}`
}

// visitResource returns an Encounter, identified only by its number, in a room.
func visitResource(number, status, room string) string {
	end := ""
	if status == "finished" {
		end = `,"end":"2026-03-04T09:25:00-06:00"`
	}
	return fmt.Sprintf(`{"resourceType":"Encounter","status":%q,"class":{"code":"IMP"},"subject":{"reference":"Patient/p-%s"},`+
		`"identifier":[{"type":{"coding":[{"code":"VN"}]},"value":%q}],"period":{"start":"2026-03-04T08:30:00-06:00"%s},`+
		`"location":[{"location":{"display":%q},"status":"active","physicalType":{"coding":[{"code":"ro"}]}}]}`,
		status, number, number, end, room)
}

// diagnosis returns a Condition of a visit that is identified by its number.
func diagnosis(number, visit, state string) string {
	return fmt.Sprintf(`{"resourceType":"Condition","identifier":[{"value":%q}],"encounter":{"identifier":{"value":%q}},`+
		`"clinicalStatus":{"coding":[{"code":%q}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]}}`,
		number, visit, state)
}

const (
	fhirClient = "Accept"
	fhirMedia  = "application/fhir+json"
)

// statuses returns the status of a FHIR response, followed by the status of each entry, with the texts of the issues.
func statuses(t *testing.T, a *answer) string {
	t.Helper()
	var b struct {
		ResourceType string
		Entry        []struct {
			Response struct {
				Status  string
				Outcome struct {
					Issue []struct{ Details struct{ Text string } }
				}
			}
		}
		Issue []struct {
			Details    struct{ Text string }
			Expression []string
		}
	}
	if err := json.Unmarshal([]byte(a.raw), &b); err != nil {
		t.Fatal(err, a.raw)
	}
	all := []string{fmt.Sprint(a.status)}
	for _, e := range b.Entry {
		text := e.Response.Status[:3]
		for _, i := range e.Response.Outcome.Issue {
			text += " " + i.Details.Text
		}
		all = append(all, text)
	}
	for _, i := range b.Issue {
		all = append(all, strings.TrimSpace(i.Details.Text+" "+strings.Join(i.Expression, "")))
	}
	return strings.Join(all, "; ")
}

// TestRequestsThatCannotBeDone: a request that cannot be executed gets an error. A transaction that contains such a
// request is refused as a whole.
func TestRequestsThatCannotBeDone(t *testing.T) {
	patch := entry{`{"resourceType":"Binary","contentType":"application/json-patch+json","data":"W10="}`, `"method":"PATCH","url":"Encounter/e"`}
	parameters := entry{`{"resourceType":"Parameters","parameter":[{"name":"operation"}]}`, `"method":"PATCH","url":"Encounter/e"`}
	good := entry{visitResource("V1", "in-progress", "LDR 1"), `"method":"PUT","url":"Encounter?identifier=V1"`}
	for name, test := range map[string]struct{ body, want, rooms string }{
		"patch in a transaction": {bundleOf("transaction", patch), "501; method_not_supported Bundle.entry[0].request.method", ""},
		"patch beside good": {
			bundleOf("transaction", good, parameters),
			"501; method_not_supported Bundle.entry[1].request.method", "",
		},
		"patch in a batch": {bundleOf("batch", parameters, good, patch), "200; 501 method_not_supported; 200; 501 method_not_supported", "LDR 1 labor-standard"},
		"reading":          {bundleOf("batch", entry{"", `"method":"GET","url":"Encounter/e"`}, good), "200; 405 method_not_supported; 200", "LDR 1 labor-standard"},
		"operation": {
			bundleOf("batch", entry{`{"resourceType":"Parameters"}`, `"method":"POST","url":"Encounter/e/$everything"`}, good),
			"200; 501 operation_not_supported; 200", "LDR 1 labor-standard",
		},
		"delete by search": {
			bundleOf("transaction", good, entry{"", `"method":"DELETE","url":"Encounter?identifier=V1"`}),
			"501; delete_by_search Bundle.entry[1].request.url", "",
		},
		"update by another search": {
			bundleOf("batch", entry{good.resource, `"method":"PUT","url":"Encounter?status=in-progress"`}),
			"200; 501 condition_not_supported", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, u := openUnit(t)
			a := d.post(t, "fhir", test.body, fhirClient, fhirMedia)
			if got := statuses(t, a); got != test.want || placedIn(u) != test.rooms {
				t.Errorf("got %s, rooms %q\nwant %s, rooms %q", got, placedIn(u), test.want, test.rooms)
			}
		})
	}
}

// TestRequestsThatCannotBeDoneInTheEnvelope: in the envelope, requests that cannot be executed are counted as
// rejected, each with an issue.
func TestRequestsThatCannotBeDoneInTheEnvelope(t *testing.T) {
	patch := entry{`{"resourceType":"Parameters"}`, `"method":"PATCH","url":"Encounter/e"`}
	d, _ := openUnit(t)
	a := d.post(t, "fhir", bundleOf("batch", patch, entry{visitResource("V1", "in-progress", "LDR 1"), ""}))
	const want = `"resources":{"received":2,"applied":1,"ignored":0,"rejected":1}`
	const issue = `{"severity":"error","code":"method_not_supported","expression":"Bundle.entry[0].request.method"`
	if a.status != 200 || !strings.Contains(a.raw, want) || !strings.Contains(a.raw, issue) {
		t.Errorf("%d %s", a.status, a.raw)
	}
	d, _ = openUnit(t)
	d.wantRefused(t, d.post(t, "fhir", bundleOf("transaction", patch)), 501, "invalid_request", "Bundle.entry[0].request.method method_not_supported")
}

// TestMethodsOfTheFHIRAddress: the FHIR endpoint accepts only POST, and refuses other methods with an
// OperationOutcome.
func TestMethodsOfTheFHIRAddress(t *testing.T) {
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPatch, "fhir", 405},
		{http.MethodPut, "fhir", 405},
		{http.MethodDelete, "fhir", 405},
		{http.MethodGet, "fhir", 405},
		{http.MethodPatch, "fhir/Encounter/e", 501},
		{http.MethodPut, "fhir/Encounter/e", 501},
		{http.MethodPost, "fhir/Encounter", 501},
		{http.MethodDelete, "fhir/Encounter/e", 501},
		{http.MethodGet, "fhir/Encounter/e", 501},
	} {
		d, _ := openUnit(t)
		r := request(test.path, strings.NewReader("{}"), fhirClient, fhirMedia)
		r.Method = test.method
		a := d.do(t, r)
		if a.status != test.want || !strings.Contains(a.raw, `"OperationOutcome"`) || !strings.Contains(a.raw, `"not-supported"`) {
			t.Errorf("%s %s: %d %s", test.method, test.path, a.status, a.raw)
		}
		if len(d.stored) > 0 {
			t.Errorf("%s %s was kept", test.method, test.path)
		}
	}
}

// TestConditionalCreate: a conditional create has no effect if the resource is already known, whichever feed reported
// it.
func TestConditionalCreate(t *testing.T) {
	once := entry{visitResource("V1", "in-progress", "LDR 1"), `"method":"POST","url":"Encounter","ifNoneExist":"identifier=V1"`}
	encoded := entry{once.resource, `"method":"POST","url":"Encounter","ifNoneExist":"identifier=urn%3Asys%7CV1"`}
	never := entry{once.resource, `"method":"PUT","url":"Encounter?identifier=V1","ifNoneMatch":"*"`}
	gone := entry{visitResource("V1", "finished", "LDR 1"), `"method":"PUT","url":"Encounter?identifier=V1"`}
	hl7Gone := "MSH|^~\\&|E|M|S|M|20260304092900-0600||ADT^A03|M9|P|2.5.1\rEVN|A03|20260304092500-0600\rPID|1||M1\rPV1|1|I|L^LDR 1||||||||||||||||V1\r"
	hl7There := "MSH|^~\\&|E|M|S|M|20260304092900-0600||ADT^A01|M8|P|2.5.1\rEVN|A01|20260304083000-0600\rPID|1||M1\rPV1|1|I|L^LDR 7||||||||||||||||V1\r"
	severe := entry{diagnosis("C1", "V1", "active"), `"method":"POST","url":"Condition","ifNoneExist":"identifier=C1"`}
	resolved := entry{diagnosis("C1", "V1", "resolved"), `"method":"PUT","url":"Condition?identifier=C1"`}
	tx := func(e ...entry) string { return bundleOf("transaction", e...) }
	for name, test := range map[string]struct {
		before     []string // bodies of FHIR requests, or HL7 messages
		body, want string
		rooms      string
	}{
		"new":                         {nil, tx(once), "200; 200", "LDR 1 labor-standard"},
		"twice":                       {[]string{tx(once)}, tx(once), "200; 200 exists", "LDR 1 labor-standard"},
		"discharged":                  {[]string{tx(once), tx(gone)}, tx(once), "200; 200 exists", ""},
		"discharged, encoded":         {[]string{tx(once), tx(gone)}, tx(encoded), "200; 200 exists", ""},
		"discharged, If-None-Match":   {[]string{tx(once), tx(gone)}, tx(never), "200; 200 exists", ""},
		"discharged by HL7":           {[]string{tx(once), hl7Gone}, tx(once), "200; 200 exists", ""},
		"known by HL7":                {[]string{hl7There}, tx(once), "200; 200 exists", "LDR 7 labor-standard"},
		"resolved diagnosis":          {[]string{tx(once), tx(severe), tx(resolved)}, tx(severe), "200; 200 exists", "LDR 1 labor-standard"},
		"some known, some new":        {[]string{tx(once)}, tx(once, severe), "200; 200 exists; 200", "LDR 1 labor-standard+high-preeclampsia"},
		"diagnosis beside known":      {[]string{tx(once), tx(severe)}, tx(once, severe), "200; 200 exists; 200 exists", "LDR 1 labor-standard+high-preeclampsia"},
		"only a statement names it":   {[]string{tx(severe)}, tx(once), "200; 200", "LDR 1 labor-standard+high-preeclampsia"},
		"both ways in one body":       {nil, tx(once, entry{visitResource("V1", "in-progress", "LDR 2"), `"method":"PUT","url":"Encounter?identifier=V1"`}), "200; 200 superseded; 200", "LDR 2 labor-standard"},
		"both ways, the other before": {nil, tx(entry{visitResource("V1", "in-progress", "LDR 2"), `"method":"PUT","url":"Encounter?identifier=V1"`}, once), "200; 200; 200 superseded", "LDR 2 labor-standard"},
	} {
		t.Run(name, func(t *testing.T) {
			d, u := openUnit(t)
			for _, body := range test.before {
				path, kind := "fhir", "application/json"
				if strings.HasPrefix(body, "MSH") {
					path, kind = "hl7", "text/plain"
				}
				if a := d.post(t, path, body, "Content-Type", kind); a.status != 200 {
					t.Fatal(a.raw)
				}
			}
			a := d.post(t, "fhir", test.body, fhirClient, fhirMedia)
			if got := statuses(t, a); got != test.want || placedIn(u) != test.rooms {
				t.Errorf("got %s, rooms %q\nwant %s, rooms %q", got, placedIn(u), test.want, test.rooms)
			}
			// Rebuilding the unit from the log must give the same number of rooms.
			list := make([]acuity.Observation, len(d.stored))
			for i, o := range d.stored {
				list[i] = *o
			}
			if again := hospitaltest.Fold(list, acuity.At(now)); len(again.Chart.Rooms) != len(u.Chart().Rooms) {
				t.Errorf("made anew: %d rooms", len(again.Chart.Rooms))
			}
		})
	}
}

// TestConditionalHeaders: for a body that is a single resource, the conditions are in the headers.
func TestConditionalHeaders(t *testing.T) {
	const known = `"resources":{"received":1,"applied":0,"exists":1,"ignored":0,"rejected":0}`
	for name, test := range map[string]struct {
		body, header, value string
		status              int
		want                string
	}{
		"If-None-Exist":           {visitResource("V1", "in-progress", "LDR 1"), "If-None-Exist", "identifier=V1", 200, known},
		"with its address":        {visitResource("V1", "in-progress", "LDR 1"), "If-None-Exist", "Encounter?identifier=urn%3Asys%7CV1", 200, known},
		"If-None-Match":           {visitResource("V1", "in-progress", "LDR 1"), "If-None-Match", "*", 200, known},
		"another search":          {visitResource("V1", "in-progress", "LDR 1"), "If-None-Exist", "status=in-progress", 200, `"condition_not_supported"`},
		"another version":         {visitResource("V1", "in-progress", "LDR 1"), "If-None-Match", `W/"1"`, 200, `"condition_not_supported"`},
		"If-Match":                {visitResource("V1", "finished", "LDR 1"), "If-Match", `W/"1"`, 200, `"if_match_ignored"`},
		"If-None-Exist, a Bundle": {bundleOf("batch", entry{visitResource("V2", "in-progress", "LDR 2"), ""}), "If-None-Exist", "identifier=V2", 400, `"If-None-Exist"`},
		"If-None-Exist, a list":   {"[" + visitResource("V2", "in-progress", "LDR 2") + "]", "If-None-Exist", "identifier=V2", 400, `"If-None-Exist"`},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := openUnit(t)
			d.post(t, "fhir", visitResource("V1", "in-progress", "LDR 1"))
			if a := d.post(t, "fhir", test.body, test.header, test.value); a.status != test.status || !strings.Contains(a.raw, test.want) {
				t.Errorf("%d %s\nwant %d %s", a.status, a.raw, test.status, test.want)
			}
		})
	}
}
