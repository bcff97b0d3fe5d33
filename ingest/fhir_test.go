package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/acuity"
)

const fhirBody = `{"resourceType":"Bundle","type":"transaction","entry":[
	{"fullUrl":"urn:uuid:1","resource":{"resourceType":"Patient","id":"p1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN1"}]}},
	{"resource":{"resourceType":"Condition","id":"c1","clinicalStatus":{"coding":[{"code":"active"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]},"subject":{"reference":"urn:uuid:1"},"encounter":{"reference":"Encounter/e1"}}},
	{"resource":{"resourceType":"Observation","id":"o1","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"39156-5"}]},"subject":{"reference":"urn:uuid:1"},"valueQuantity":{"value":41}}},
	{"resource":{"resourceType":"Observation","id":"o2","status":"sent"}},
	{"resource":{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VN1"}],"subject":{"reference":"urn:uuid:1"},"period":{"start":"2026-03-04T15:00:00Z"},"location":[{"location":{"display":"LDR04"}}]}}]}`

// fhirAnswer contains the fields that only responses to FHIR requests have.
type fhirAnswer struct {
	Data struct {
		Resources                     struct{ Received, Applied, Ignored, Rejected int }
		ADTEvents, Signals, Diagnoses int
		Issues                        []struct{ Severity, Code, Expression string }
		Warnings                      []struct{ Code, Path string }
	}
}

func fhirOf(t *testing.T, a *answer) (f fhirAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.raw), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFHIRAnswer(t *testing.T) {
	d := open(t)
	d.change = func(o *acuity.Observation) acuity.Change {
		c := applyAll(o)
		c.Warnings = []acuity.Warning{{Code: "location_without_room"}, {Code: "reference_waiting"}}
		return c
	}
	a := d.post(t, "fhir", fhirBody, "Content-Type", "application/fhir+json; fhirVersion=4.0; charset=utf-8")
	o := d.wantApplied(t, a)
	if o.Channel != acuity.ChannelFHIR || len(o.Events) != 1 || len(o.Signals) != 2 || o.Events[0].Type != acuity.A01 {
		t.Fatalf("%+v", o)
	}
	if len(o.Events[0].Visit) != 24 || o.Signals[0].Visit != o.Events[0].Visit || o.Signals[1].Patient != o.Events[0].Patient {
		t.Errorf("not of one visit: %+v %+v", o.Events, o.Signals)
	}
	for _, want := range []string{
		`"resources":{"received":5,"applied":4,"ignored":0,"rejected":1},"adtEvents":1,"signals":1,"diagnoses":1`,
		`{"severity":"error","code":"status_unknown","expression":"Bundle.entry[3].resource.status",`,
		`{"severity":"warning","code":"unit_missing","expression":"Bundle.entry[2].resource.value",`,
		`{"code":"location_without_room","path":"Bundle.entry[4].resource",`, `{"code":"reference_waiting",`,
	} {
		if !strings.Contains(a.raw, want) {
			t.Errorf("no %s in %s", want, a.raw)
		}
	}
}

func TestFHIRWithoutFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "fhir", `{"resourceType":"Patient","id":"p1"}`)
	f := fhirOf(t, a)
	if a.status != 200 || !a.Data.Applied || *a.Data.Outcome != "ignored" || a.Data.Position != nil || f.Data.Resources.Ignored != 1 || len(d.stored) != 0 {
		t.Error(a.raw)
	}
	if !strings.Contains(a.raw, `"issues":[]`) {
		t.Error(a.raw)
	}
}

// manyFacts returns n Observations with 100 components each.
func manyFacts(n int) string {
	component := `{"code":{"coding":[{"system":"http://loinc.org","code":"11949-4"}]},"valueString":"Category II"}`
	one := `{"resourceType":"Observation","id":"o%d","status":"final","code":{"text":"panel"},"subject":{"reference":"Patient/p"},"component":[` +
		strings.Repeat(component+",", 99) + component + `]}`
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(one, i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestFHIRRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		status int
		detail string
	}{
		"no resource":   {`{"a":1}`, 400, "resourceType required"},
		"scalar":        {`5`, 400, "type:object|array"},
		"two lists":     {`{"resourceType":"Bundle","entry":[],"entry":[]}`, 400, "Bundle.entry unique"},
		"late fault":    {strings.TrimSuffix(fhirBody, "}"), 400, "entry json"},
		"skipped fault": {strings.Replace(fhirBody, `"type":"transaction"`, `"type":{"a":[01]}`, 1), 400, "type.a[0] json"},
		"many":          {`[` + strings.Repeat(`{"resourceType":"Patient"},`, 5000) + `{"resourceType":"Patient"}]`, 413, "maxItems:5000"},
		"many facts":    {manyFacts(51), 413, "maxFacts:5000"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, "fhir", test.body), test.status, "invalid_request", test.detail)
		})
	}
	d := open(t)
	d.wantRefused(t, d.post(t, "fhir", `<Bundle xmlns="http://hl7.org/fhir"/>`, "Content-Type", "application/fhir+xml"), 415, "invalid_request", "")
}

// TestVisitOfFHIRAndHL7: if an HL7 message and a FHIR Encounter contain the same visit number and patient number,
// they yield the same visit and patient pseudonyms.
func TestVisitOfFHIRAndHL7(t *testing.T) {
	event := func(path, body string) acuity.Event {
		d := open(t)
		return d.wantApplied(t, d.post(t, path, body)).Events[0]
	}
	one, other := event("hl7", wrapped(admission)), event("fhir", fhirBody)
	if one.Visit != other.Visit || one.Patient != other.Patient || one.Visit == "" {
		t.Errorf("visits %q and %q, patients %q and %q", one.Visit, other.Visit, one.Patient, other.Patient)
	}
	if other.Encounter == other.Visit || other.Subject == other.Patient || other.Encounter == "" || other.Subject == "" {
		t.Errorf("the names by reference: %+v", other)
	}
}

// canaryResource returns a resource with a canary in every text field that the decoder does not
// use. used is the JSON of the fields that the decoder uses, with a canary in each identifier.
func canaryResource(kind, used string) string {
	n := 0
	person := func() string {
		n++
		return fmt.Sprintf(`"%[1]s%[2]d Miller 1994-02-11 2025550143"`, canary, n)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"resourceType":%q,"id":"`+canary+`id"`, kind)
	for _, name := range []string{
		"text", "language", "extension", "name", "telecom", "address", "gender", "contact", "photo",
		"note", "bodySite", "severity", "stage", "evidence", "asserter", "recorder", "performer", "device", "specimen", "method",
		"referenceRange", "hasMember", "derivedFrom", "focus", "basedOn", "hospitalization", "participant", "diagnosis", "account",
		"serviceProvider", "request", "dosage", "eventHistory", "reasonReference", "supportingInformation", "statusReason",
		"managingOrganization", "generalPractitioner", "communication", "link", "description", "alias", "batch", "form", "manufacturer",
		"statusHistory", "classHistory", "priority", "length", "appointment", "_status", "_birthDate", canary,
	} {
		if kind == "Location" && name == "name" {
			continue
		}
		fmt.Fprintf(&b, `,%q:[{"div":%s,"value":%s,"display":%s,"%s":[%s]}]`, name, person(), person(), person(), canary, person())
	}
	return b.String() + "," + used + "}"
}

func TestCanariesInFHIR(t *testing.T) {
	name := `"` + canary + ` Miller 1994-02-11 2025550143"`
	id := `"identifier":[{"system":` + name + `,"value":` + name + `,"assigner":{"display":` + name + `}}]`
	who := `"subject":{"reference":"Patient/` + canary + `id","display":` + name + `,"identifier":{"value":` + name + `}},"encounter":{"reference":"Encounter/` + canary + `id","display":` + name + `}`
	code := func(field, system, code string) string {
		return fmt.Sprintf(`%q:{"coding":[{"system":%q,"code":%q,"version":%s}],"text":%s}`, field, system, code, name, name)
	}
	meta := `"meta":{"lastUpdated":"2026-03-04T15:00:00Z","source":` + name + `,"tag":[{"display":` + name + `}]}`
	resources := []string{
		canaryResource("Patient", `"birthDate":"1994-02-11","identifier":[{"type":{"coding":[{"code":"MR","display":`+name+`}],"text":`+name+`},"value":`+name+`}]`),
		canaryResource("Encounter", id+","+meta+","+who+`,"status":"in-progress","class":{"code":"IMP","display":`+name+`},"period":{"start":"2026-03-04T15:00:00Z"},"reasonCode":[{"text":`+name+`,"coding":[{"display":`+name+`}]}],"location":[{"location":{"display":"LDR 4","reference":"Location/ldr-4"},"extension":`+name+`}]`),
		canaryResource("Condition", id+","+meta+","+who+","+code("code", "http://hl7.org/fhir/sid/icd-10-cm", "O14.13")+`,"clinicalStatus":{"coding":[{"code":"active"}],"text":`+name+`},"abatementString":null`),
		canaryResource("Observation", id+","+meta+","+who+","+code("code", "http://loinc.org", "32421-5")+`,"status":"final","valueString":`+name+`,"component":[{`+code("code", "http://loinc.org", "39156-5")+`,"valueQuantity":{"value":41,"unit":`+name+`}},{"code":{"text":`+strings.Replace(name, "Miller", "Miller MEWS", 1)+`},"valueCodeableConcept":{"text":`+name+`}}]`),
		canaryResource("MedicationAdministration", id+","+meta+","+who+`,"status":"in-progress","medicationReference":{"reference":"#m","display":`+name+`},"contained":[`+canaryResource("Medication", code("code", "http://www.nlm.nih.gov/research/umls/rxnorm", "6585"))[:1]+strings.Replace(canaryResource("Medication", code("code", "http://www.nlm.nih.gov/research/umls/rxnorm", "6585")), `"id":"`+canary+`id"`, `"id":"m"`, 1)[1:]+`],"effectiveDateTime":"2026-03-04T15:00:00Z"`),
		strings.Replace(canaryResource("Location", `"name":"LDR 4"`), canary+"id", "ldr-4", 1), // other resources refer to this id
		canaryResource("Practitioner", `"x":1`),
		canaryResource(canary, `"x":1`),
	}
	d := open(t)
	a := d.post(t, "fhir", `{"resourceType":"Bundle","id":`+name+`,"link":[{"url":`+name+`}],"entry":[{"resource":`+strings.Join(resources, `},{"fullUrl":`+name+`,"resource":`)+`}]}`)
	if n := fhirOf(t, a).Data.Resources; n.Received != 8 || n.Applied != 6 || n.Ignored != 2 {
		t.Fatal(a.raw)
	}
	bad := d.post(t, "fhir", `[{"resourceType":"Observation","id":`+name+`,"status":`+name+`},{"resourceType":"Condition","code":{"text":`+name+`}},{"`+canary+`":1},{"resourceType":"Encounter","id":{"`+canary+`":`+name+`},"status":"finished"}]`)
	refused := d.post(t, "fhir", `{"`+canary+`":`+name+`}`)
	if fhirOf(t, bad).Data.Resources.Rejected != 4 || refused.status != 400 {
		t.Error(bad.raw, refused.raw)
	}
	d.search(t, a.raw, bad.raw, refused.raw)
}

// TestContainedStatementsAreNamed: contained Medications, Locations and Patients are used, and so is the identity of
// contained Encounters. Any other contained resource is named in the response.
func TestContainedStatementsAreNamed(t *testing.T) {
	with := func(contained string) string {
		return strings.Replace(encounter("in-progress", "10:00", stays("LDR 1", "08:10"), ""), `{"resourceType":"Encounter"`,
			`{"resourceType":"Encounter","contained":[`+contained+`]`, 1)
	}
	for contained, want := range map[string]string{
		`{"resourceType":"Organization","id":"x"},` + diagnosed("confirmed", "09:00", ofPatient): "contained_not_used@Encounter.contained[1]",
		observed("o1", "final", "09:00", "09:00", "III"):                                         "contained_not_used@Encounter.contained[0]",
		administered("m1", "in-progress", "09:00", "09:00", ""):                                  "contained_not_used@Encounter.contained[0]",
		`{"resourceType":"Encounter","id":"whole","identifier":[{"value":"VN9"}]}`:               "",
		`{"resourceType":"Location","id":"room","name":"LDR 1"}`:                                 "",
	} {
		p := newProbe(t)
		p.send(t, "fhir", "[]")
		a := p.do(t, request("fhir", strings.NewReader(with(contained))))
		var data struct {
			Data struct {
				Issues []struct{ Code, Expression string }
			}
		}
		if err := json.Unmarshal([]byte(a.raw), &data); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range data.Data.Issues {
			if strings.HasPrefix(i.Code, "contained") {
				got = append(got, i.Code+"@"+i.Expression)
			}
		}
		if strings.Join(got, " ") != want || a.Data.Outcome == nil || *a.Data.Outcome != "applied" {
			t.Errorf("%s: %v, want %q: %s", contained, got, want, a.raw)
		}
	}
}

// TestWarningsOfTheStateNameTheirResource: a warning from applying a Bundle names the resource that caused it.
func TestWarningsOfTheStateNameTheirResource(t *testing.T) {
	version := func(updated, room string) string {
		return strings.Replace(strings.Replace(anEncounter, `"id":"e1"`, `"id":"e1","meta":{"lastUpdated":"`+updated+`"}`, 1), "LDR 4", room, 1)
	}
	measured := func(id, encounter, value string) string {
		return `{"resourceType":"Observation","id":"` + id + `","status":"final","encounter":{"reference":"Encounter/` + encounter +
			`"},"effectiveDateTime":"2026-03-04T15:00:00Z","code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},"valueString":"` + value + `"}`
	}
	components := strings.Replace(measured("o3", "e1", ""), `"valueString":""`, `"component":[`+strings.Repeat(`{"code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},"valueString":"see note"},`, 2)+
		`{"code":{"text":"note"},"valueString":"x"}]`, 1)
	for name, c := range map[string]struct{ first, then, want string }{
		"an older version":  {version("2026-03-04T12:00:00Z", "LDR 4"), bundled("batch", withoutClass, version("2026-03-04T11:00:00Z", "LDR 5")), "version_older@Bundle.entry[1].resource"},
		"unreadable values": {anEncounter, bundled("batch", measured("o1", "e1", "Category II"), measured("o2", "e1", "see note"), components), "value_unreadable@Bundle.entry[1].resource, value_unreadable@Bundle.entry[2].resource"},
		"an unknown visit":  {anEncounter, bundled("batch", measured("o1", "e1", "Category II"), measured("o2", "e7", "Category II"), measured("o3", "e8", "Category II")), "reference_waiting@Bundle.entry[1].resource, reference_waiting@Bundle.entry[2].resource"},
	} {
		p := newProbe(t)
		p.send(t, "fhir", c.first)
		if a := p.do(t, request("fhir", strings.NewReader(c.then))); a.warnings() != c.want {
			t.Errorf("%s: %s, want %s", name, a.warnings(), c.want)
		}
	}
}
