package ingest_test

import (
	"strings"
	"testing"

	"svc/acuity"
)

// babys returns the Encounter of a baby in its mother's room, as part of the mother's Encounter.
func babys(subject string) string {
	return `{"resourceType":"Encounter","id":"b1","meta":{"lastUpdated":"2026-03-04T09:00:00Z"},"status":"in-progress","class":{"code":"IMP"},` +
		subject + `,"partOf":{"reference":"Encounter/e1"},"period":{"start":"2026-03-04T08:55:00Z"},"location":[` + stays("L1", "08:55") + `]}`
}

// twins is the diagnosis of a multiple pregnancy in the mother's record.
var twins = strings.Replace(diagnosed("confirmed", "08:40", ofVisit), "O14.13", "O30.009", 1)

// named returns a resource to which others refer, without the time of its last update.
func named(kind, id, rest string) string {
	return `{"resourceType":"` + kind + `","id":"` + id + `",` + rest + `}`
}

func located(id, physical, name, above string) string {
	rest := `"name":"` + name + `","physicalType":{"coding":[{"code":"` + physical + `"}]}`
	if above != "" {
		rest += `,"partOf":{"reference":"Location/` + above + `"}`
	}
	return named("Location", id, rest)
}

func drug(id, rxnorm, display string) string {
	return named("Medication", id, `"code":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"`+rxnorm+`","display":"`+display+`"}]}`)
}

func given(medication string) string {
	return resource("MedicationAdministration", "m1", `"status":"in-progress"`, "08:50", ofContext,
		medication+`,"effectivePeriod":{"start":"2026-03-04T08:50:00Z"}`)
}

// TestReferencesOverMessages: a reference has the same meaning whether its target is in the same body or in one that
// was sent before or after. The test covers every use of a reference in docs/decisions.md#fhir-references,
// #subject-visit, #several-locations and #fhir-newborn. In each test case, the final state must contain every string
// in the field "has" and no string in the field "hasNot".
func TestReferencesOverMessages(t *testing.T) {
	const mixture = `"ingredient":[{"itemReference":{"reference":"Medication/a"}},{"itemReference":{"reference":"Medication/b"}}]`
	alone := strings.Replace(babys(`"subject":{"reference":"Patient/b2"}`), `"partOf":{"reference":"Encounter/e1"},`, "", 1)
	at := func(location string) string { return encounter("in-progress", "08:15", location, "") }
	for name, test := range map[string]struct {
		resources   []string
		has, hasNot string
	}{
		"the drug of an administration": {
			[]string{at(stays("L1", "08:10")), drug("a", "6585", "magnesium sulfate"), given(`"medicationReference":{"reference":"Medication/a"}`)},
			`"Kind":1,`, "",
		},
		"a drug by its number": {
			[]string{
				at(stays("L1", "08:10")), given(`"medicationReference":{"identifier":{"value":"NDC-1"}}`),
				strings.Replace(drug("a", "6585", "magnesium sulfate"), `"code":{`, `"identifier":[{"value":"NDC-1"}],"code":{`, 1),
			}, `"Kind":1,`, "",
		},
		"the only drug in a product": {
			[]string{
				at(stays("L1", "08:10")), drug("a", "6585", "magnesium sulfate"),
				named("Medication", "p", `"ingredient":[{"itemReference":{"reference":"Medication/a"}}]`),
				given(`"medicationReference":{"reference":"Medication/p"}`),
			}, `"Kind":1,`, "",
		},
		"a drug in a contained product": {
			[]string{
				at(stays("L1", "08:10")), drug("a", "6585", "magnesium sulfate"),
				given(`"contained":[{"resourceType":"Medication","id":"p","ingredient":[{"itemReference":{"reference":"Medication/a"}}]}],"medicationReference":{"reference":"#p"}`),
			}, `"Kind":1,`, "",
		},
		"a part of a mixture is not the whole": {
			[]string{
				at(stays("L1", "08:10")), drug("a", "3992", "epinephrine"), drug("b", "6387", "lidocaine"), named("Medication", "p", mixture),
				given(`"medicationReference":{"reference":"Medication/p"}`),
			}, `"Label":"L1"`, `"Kind":1,`,
		},
		"a room": {
			[]string{at(`{"location":{"reference":"Location/r"},"status":"active"}`), located("r", "ro", "LDR 4", "")}, `"Label":"LDR 4"`, "Location/",
		},
		"a room by its number": {
			[]string{
				at(`{"location":{"identifier":{"value":"R-4"}},"status":"active"}`),
				strings.Replace(located("r", "ro", "LDR 4", ""), `"name"`, `"identifier":[{"value":"R-4"}],"name"`, 1),
			}, `"Label":"LDR 4"`, "R-4",
		},
		"the ward of a room": {
			[]string{at(`{"location":{"reference":"Location/r"},"status":"active"}`), located("r", "ro", "LDR 4", "w"), located("w", "wa", "MBU", "")},
			`"area:postpartum"`, "Location/",
		},
		"the ward of a room that is named": {
			[]string{at(`{"location":{"reference":"Location/r","display":"4 East"},"status":"active"}`), located("r", "ro", "LDR 4", "w"), located("w", "wa", "MBU", "")},
			`"area:postpartum"`, "Location/",
		},
		"a room that is named and no more": {
			[]string{at(`{"location":{"reference":"Location/r","display":"4 East"},"status":"active"}`), located("r", "ro", "LDR 4", "")},
			`"Label":"4 East"`, "Location/",
		},
		"the room and the ward of a bed": {
			[]string{
				at(`{"location":{"reference":"Location/b"},"status":"active"}`), located("b", "bd", "Bed 2", "r"), located("r", "ro", "LDR 4", "w"),
				located("w", "wa", "MBU", ""),
			}, `"Label":"LDR 4"`, "Location/",
		},
		"the room of a bed that is named": {
			[]string{at(`{"location":{"reference":"Location/b","display":"B2"},"status":"active"}`), located("b", "bd", "Bed 2", "r"), located("r", "ro", "LDR 4", "")},
			`"Label":"LDR 4"`, "Location/",
		},
		"a ward and no room": {
			[]string{at(`{"location":{"reference":"Location/w"},"status":"active"}`), located("w", "wa", "MBU", "")}, `[[],[],1,`, "Location/",
		},
		"the mother": {
			[]string{at(stays("L1", "08:10")), babys(`"subject":{"reference":"Patient/b1"}`)}, `"Baby":1`, "",
		},
		"a stay of the same patient within a visit is no newborn": {
			[]string{at(stays("L1", "08:10")), babys(`"subject":{"reference":"Patient/p1"}`)}, `"Label":"L1"`, `"Baby":1`,
		},
		"the order of a multiple birth": {
			[]string{at(stays("L1", "08:10")), twins, babys(`"subject":{"reference":"Patient/b2"}`), named("Patient", "b2", `"multipleBirthInteger":3`)},
			`"Count":3,`, "",
		},
		"the order of a multiple birth, of a patient with a number": {
			[]string{
				at(stays("L1", "08:10")), twins, alone,
				named("Patient", "b2", `"identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN2"}],"birthDate":"2026-03-04","multipleBirthInteger":4`),
			},
			`"Count":4,`, "",
		},
		"a birth of two at the least": {
			[]string{
				at(stays("L1", "08:10")), twins, babys(`"subject":{"reference":"Patient/b2"}`),
				named("Patient", "b2", `"identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN2"}],"multipleBirthBoolean":true`),
			}, `"Count":2,`, `"Count":3,`,
		},
		"a newborn by the birth date": {
			[]string{at(stays("L1", "08:10")), alone, named("Patient", "b2", `"birthDate":"2026-03-03"`)}, `"Baby":1`, "",
		},
		"a newborn that moved lately is no turnover": {
			[]string{at(stays("L1", "08:10")), strings.ReplaceAll(alone, "08:55", "22:30"), named("Patient", "b2", `"birthDate":"2026-03-03"`)}, `],[],0,`, "",
		},
		"a newborn by the birth date, with a number": {
			[]string{at(stays("L1", "08:10")), alone, named("Patient", "b2", `"birthDate":"2026-03-03","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"B2"}]`)},
			`"Baby":1`, "",
		},
		"nobody is a newborn by another birth date": {
			[]string{at(stays("L1", "08:10")), alone, named("Patient", "b2", `"birthDate":"1994-03-03","identifier":[{"value":"B2"}]`)}, `"Label":"L1"`, `"Baby":1`,
		},
		"a visit and its patient": {
			[]string{
				at(stays("L1", "08:10")), diagnosed("confirmed", "08:40", ofPatient), observed("o1", "final", "22:10", "22:10", "II"),
				named("Patient", "p1", `"identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN1"}]`),
			}, `"Label":"L1"`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bundle := decoded(t, `{"resources":[`+strings.Join(test.resources, ",")+`]}`)
			want := state([]acuity.Observation{bundle})
			if !strings.Contains(want, test.has) || test.hasNot != "" && strings.Contains(want, test.hasNot) {
				t.Fatalf("together: %s", want)
			}
			said := make([]acuity.Observation, len(test.resources))
			for i, r := range test.resources {
				said[i] = decoded(t, r)
			}
			permutations(len(said), func(order []int) {
				list := make([]acuity.Observation, len(order))
				for i, n := range order {
					list[i] = said[n]
				}
				if got := state(list); got != want {
					t.Fatalf("in the order %v\n     got %s\ntogether %s", order, got, want)
				}
				if got := referenceState(list); got != want {
					t.Fatalf("in the order %v\n  folded %s\ntogether %s", order, got, want)
				}
			})
		})
	}
}
