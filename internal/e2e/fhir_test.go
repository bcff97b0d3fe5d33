package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// fhirUnit is a hospital's unit whose data arrives only over FHIR.
type fhirUnit struct {
	*partner
	t *testing.T
}

// send posts a body, and expects the response to contain the given counts of resources, written as "received applied
// ignored rejected".
func (u fhirUnit) send(body, counts string) *answer {
	u.t.Helper()
	a, err := u.do(http.MethodPost, "/api/ingest/fhir", "application/fhir+json", body)
	if err != nil {
		u.t.Fatal(err)
	}
	var data struct {
		Applied   bool
		Resources struct{ Received, Applied, Ignored, Rejected int }
	}
	into(u.t, a.Data, &data)
	r := data.Resources
	if got := fmt.Sprint(r.Received, r.Applied, r.Ignored, r.Rejected); a.status != http.StatusOK || !data.Applied || got != counts {
		u.t.Fatalf("counts %s, want %s: %d %s", got, counts, a.status, a.raw)
	}
	return a
}

// factors expects a room to have exactly the factors with the given ids.
func (u fhirUnit) factors(room string, want ...string) {
	u.t.Helper()
	slices.Sort(want)
	var got []string
	for _, r := range u.unitState(u.t).Rooms {
		if r.RoomLabel != room {
			continue
		}
		for _, f := range r.Factors {
			got = append(got, f.ID)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		u.t.Errorf("factors of %s: %v, want %v", room, got, want)
	}
}

// TestFHIRInDev sends the data of a stay over FHIR, as an EHR does.
func TestFHIRInDev(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--ephemeral")
	p := newPartner(d.BaseURL, d.HospitalID, d.APIKey)
	u := fhirUnit{p, t}
	eventually(t, 30*time.Second, func() error {
		if a := p.get(t, "/api/v1/level"); a.status != http.StatusNotFound {
			return fmt.Errorf("%d %s", a.status, a.raw)
		}
		return nil
	})
	at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z") }
	encounter := func(id, status, room, more string) string {
		return fmt.Sprintf(`{"resourceType":"Encounter","id":%q,"meta":{"lastUpdated":%q},"identifier":[{"value":"VN-%s"}],"status":%q,"class":{"system":"http://terminology.hl7.org/CodeSystem/v3-ActCode","code":"IMP"},"subject":{"reference":"Patient/%s"},"period":{"start":%q%s},"location":[{"location":{"display":%q},"status":"active"}]}`,
			id, at(0), id, status, id, at(3*time.Hour), more, room)
	}
	about := func(id string) string {
		return fmt.Sprintf(`"subject":{"reference":"Patient/%s"},"encounter":{"reference":"Encounter/%[1]s"}`, id)
	}
	condition := func(id, verification string) string {
		return fmt.Sprintf(`{"resourceType":"Condition","id":%q,"clinicalStatus":{"coding":[{"code":"active"}]},"verificationStatus":{"coding":[{"code":%q}]},"code":{"coding":[{"system":"http://hospital.example/dx","code":"PE-3"},{"system":"urn:oid:2.16.840.1.113883.6.90","code":"O14.13"}]},%s}`, id, verification, about("e1"))
	}
	mag := func(id, status, period string) string {
		return fmt.Sprintf(`{"resourceType":"MedicationAdministration","id":%q,"contained":[{"resourceType":"Medication","id":"bag","ingredient":[{"itemCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585"}]}}]}],"status":%q,"medicationReference":{"reference":"#bag"},"subject":{"reference":"Patient/e1"},"context":{"reference":"Encounter/e1"},"effectivePeriod":{%s}}`, id, status, period)
	}
	mews := `{"resourceType":"Observation","id":"mews","status":"final","code":{"text":"MEWS total score"},` + about("e1") + `,"effectiveDateTime":"` + at(time.Minute) + `","component":[{"code":{"text":"MEWS"},"valueString":"5"}]}`

	// Send all resources in one Bundle, the Encounter last. One resource is invalid.
	a := u.send(`{"resourceType":"Bundle","type":"transaction","entry":[`+
		`{"resource":`+condition("c1", "confirmed")+`},{"resource":`+mews+`},`+
		`{"resource":`+mag("loading", "completed", `"start":"`+at(50*time.Minute)+`","end":"`+at(30*time.Minute)+`"`)+`},`+
		`{"resource":`+mag("maintenance", "in-progress", `"start":"`+at(30*time.Minute)+`"`)+`},`+
		`{"resource":{"resourceType":"Observation","id":"bmi","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"39156-5"}]},`+about("e1")+`,"valueQuantity":{"value":41.2,"code":"kg/m2"}}},`+
		`{"resource":{"resourceType":"Observation","id":"bad","status":"finished"}},{"resource":{"resourceType":"Claim"}},`+
		`{"resource":`+encounter("e1", "in-progress", "LDR04", "")+`}]}`, "8 6 1 1")
	for _, issue := range []string{
		`{"severity":"error","code":"status_unknown","expression":"Bundle.entry[5].resource.status"`, `"code":"type_not_used","expression":"Bundle.entry[6].resource`,
	} {
		if !strings.Contains(string(a.raw), issue) {
			t.Errorf("no issue %s in %s", issue, a.raw)
		}
	}
	all := []string{"high-preeclampsia", "high-mag", "mews-active", "high-obesity-bmi40", "labor-standard"}
	u.factors("LDR04", all...)

	// entered-in-error withdraws only the loading infusion. The maintenance infusion continues until it is stopped.
	u.send(mag("loading", "entered-in-error", ""), "1 1 0 0")
	u.factors("LDR04", all...)
	u.send("["+mag("maintenance", "stopped", `"start":"`+at(30*time.Minute)+`","end":"`+at(0)+`"`)+"]", "1 1 0 0")
	u.factors("LDR04", "high-preeclampsia", "mews-active", "high-obesity-bmi40", "labor-standard")

	// A status or a delete request withdraws a resource.
	u.send(`{"resources":[`+condition("c1", "refuted")+`]}`, "1 1 0 0")
	u.factors("LDR04", "mews-active", "high-obesity-bmi40", "labor-standard")
	u.send(`{"resourceType":"Bundle","type":"batch","entry":[{"request":{"method":"DELETE","url":"Observation/mews"}}]}`, "0 0 0 0")
	u.factors("LDR04", "high-obesity-bmi40", "labor-standard")

	// A measurement arrives before its visit.
	u.send(`{"resourceType":"Observation","id":"fhr","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"32421-5"}]},`+
		about("e2")+`,"effectiveDateTime":"`+at(time.Minute)+`","valueCodeableConcept":{"text":"Category III"}}`, "1 1 0 0")
	u.send(encounter("e2", "in-progress", "LDR05", ""), "1 1 0 0")
	u.factors("LDR05", "labor-fhr-cat-iii", "labor-standard")

	// The visit ends, and a newer version reopens it.
	u.send(encounter("e1", "finished", "LDR04", `,"end":"`+at(0)+`"`), "1 1 0 0")
	u.factors("LDR04")
	u.send(encounter("e1", "in-progress", "LDR04", ""), "1 1 0 0")
	u.factors("LDR04", "high-obesity-bmi40", "labor-standard")
	u.send(`{"resourceType":"Encounter","id":"e2","status":"cancelled"}`, "1 1 0 0")
	u.factors("LDR05")

	for name, tt := range map[string]struct {
		kind, body string
		status     int
	}{
		"syntax": {"application/json", `{"resourceType":"Bundle","entry":[{"resource":` + mews + `}]`, http.StatusBadRequest},
		"XML":    {"application/fhir+xml", `<Bundle/>`, http.StatusUnsupportedMediaType},
	} {
		before := p.unitState(t).Version
		a, err := p.do(http.MethodPost, "/api/ingest/fhir", tt.kind, tt.body)
		if err != nil || a.status != tt.status || a.Error.Code != "invalid_request" || p.unitState(t).Version != before {
			t.Errorf("%s: %v %d %s", name, err, a.status, a.raw)
		}
	}
}

// everyElement returns a Bundle with canaries in every kind of element, except in codes and
// locations, which are stored by design.
func everyElement(at string) string {
	person := `{"text":"CANARYNAME","family":"CANARYNAME","line":["CANARYSTREET"],"value":"CANARYMRN77","display":"CANARYNAME 8812345678","reference":"Practitioner/CANARYNAME","div":"<p>CANARYNAME</p>"}`
	var unused strings.Builder
	for _, name := range []string{
		"text", "name", "telecom", "address", "contact", "photo", "extension", "note", "performer", "participant", "asserter", "recorder",
		"device", "specimen", "hospitalization", "generalPractitioner", "serviceProvider", "diagnosis", "evidence", "dosage", "bodySite", "_id", "CANARYNAME",
	} {
		fmt.Fprintf(&unused, `%q:[%s],`, name, person)
	}
	about := `"identifier":[{"value":"CANARYVISIT6","assigner":{"display":"CANARYNAME"}}],"subject":{"reference":"Patient/CANARYMRN77","display":"CANARYNAME"},"encounter":{"reference":"Encounter/CANARYVISIT6","display":"CANARYNAME"},"meta":{"source":"CANARYNAME","lastUpdated":"` + at + `"}`
	code := func(system, code string) string {
		return fmt.Sprintf(`{"coding":[{"system":%q,"code":%q,"userSelected":true,"version":"CANARYNAME"}],"text":"MEWS of CANARYNAME 19990817"}`, system, code)
	}
	resources := []string{
		`"resourceType":"Patient","id":"CANARYMRN77","birthDate":"1999-08-17","identifier":[{"type":{"coding":[{"code":"MR"}],"text":"CANARYNAME"},"value":"CANARYMRN77"}]`,
		`"resourceType":"Encounter","id":"CANARYVISIT6","status":"in-progress","class":{"code":"IMP","display":"CANARYNAME"},"reasonCode":[{"text":"CANARYNAME has contractions"}],"location":[{"location":{"display":"LDR 43","reference":"Location/ldr-43"}}],` + about,
		`"resourceType":"Condition","id":"CANARYMRN77","code":` + code("http://hl7.org/fhir/sid/icd-10-cm", "O14.13") + `,` + about,
		`"resourceType":"Observation","id":"CANARYMRN77","status":"final","valueString":"5 says CANARYNAME","code":` + code("http://loinc.org", "1-8") + `,` + about,
		`"resourceType":"MedicationAdministration","id":"CANARYMRN77","status":"in-progress","medicationReference":{"reference":"#m","display":"CANARYNAME"},"contained":[{"resourceType":"Medication","id":"m",` + unused.String() + `"code":` + code("http://www.nlm.nih.gov/research/umls/rxnorm", "6585") + `}],"effectiveDateTime":"` + at + `",` + about,
		`"resourceType":"Practitioner","id":"CANARYNAME"`,
	}
	return `{"resourceType":"Bundle","id":"CANARYNAME","entry":[{"resource":{` + unused.String() + strings.Join(resources, `}},{"fullUrl":"https://CANARYSTREET/x","resource":{`+unused.String()) + `}}]}`
}
