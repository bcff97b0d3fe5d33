package ingest_test

import (
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/hospital"
)

// TestConditionsWithoutAnIDEnd: a Condition without an id ends when a later version says that it is resolved. The two
// versions may identify the visit in different ways.
func TestConditionsWithoutAnIDEnd(t *testing.T) {
	const (
		uuid    = "urn:uuid:11111111-2222-4333-8444-555555555555"
		whole   = `{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VQ9"}],"subject":{"reference":"Patient/p1"},"period":{"start":"2026-03-04T08:00:00Z"},"location":[{"location":{"display":"L1"},"status":"active"}]}`
		unnamed = `{"resourceType":"Encounter","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VQ9"}],"subject":{"reference":"Patient/p1"},"period":{"start":"2026-03-04T08:00:00Z"},"location":[{"location":{"display":"L1"},"status":"active"}]}`
	)
	condition := func(about, status string) string {
		return `{"resourceType":"Condition",` + about + `,"clinicalStatus":{"coding":[{"code":"` + status + `"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}}`
	}
	bundle := func(url, first, second string) string {
		return `{"resourceType":"Bundle","type":"collection","entry":[{"fullUrl":"` + url + `","resource":` + first + `},{"resource":` + second + `}]}`
	}
	forms := map[string]string{
		"by its id":          `"encounter":{"reference":"Encounter/e1"}`,
		"by an address":      `"encounter":{"reference":"http://server.example/fhir/Encounter/e1"}`,
		"by a version":       `"encounter":{"reference":"Encounter/e1/_history/2"}`,
		"by an identifier":   `"encounter":{"identifier":{"system":"http://x","value":"VQ9"}}`,
		"by a search":        `"encounter":{"reference":"Encounter?identifier=http://x|VQ9"}`,
		"as contained":       `"contained":[{"resourceType":"Encounter","id":"in","identifier":[{"value":"VQ9"}]}],"encounter":{"reference":"#in"}`,
		"by both":            `"encounter":{"reference":"Encounter/e1","identifier":{"value":"VQ9"}}`,
		"by the patient":     `"subject":{"reference":"Patient/p1"}`,
		"by patient and all": `"subject":{"reference":"Patient/p1"},"encounter":{"reference":"Encounter/e1"}`,
	}
	type told struct{ name, first, then string }
	var list []told
	for one, first := range forms {
		for other, then := range forms {
			list = append(list, told{one + ", then " + other, bundle("http://server.example/fhir/Encounter/e1", whole, condition(first, "active")), condition(then, "resolved")})
		}
	}
	placeholder := `"encounter":{"reference":"` + uuid + `"}`
	another := strings.ReplaceAll(uuid, "1111", "9999")
	list = append(list,
		told{"by a placeholder, then by it alone", bundle(uuid, unnamed, condition(placeholder, "active")), condition(placeholder, "resolved")},
		told{"by a placeholder, then by an identifier", bundle(uuid, unnamed, condition(placeholder, "active")), condition(forms["by an identifier"], "resolved")},
		told{"by a placeholder, then by another one", bundle(uuid, unnamed, condition(placeholder, "active")), bundle(another, unnamed, condition(`"encounter":{"reference":"`+another+`"}`, "resolved"))},
	)
	for _, c := range list {
		for _, alone := range []bool{false, true} { // alone: the Encounter is sent last, in a separate body
			say := []string{c.first, c.then}
			name := c.name
			if alone && strings.Contains(c.first, whole) {
				name += ", the Encounter last"
				_, first, _ := strings.Cut(c.first, whole+`},{"resource":`)
				say = []string{strings.TrimSuffix(first, "}]}"), c.then, whole}
			}
			u := hospital.New("st-test")
			for i, text := range say {
				o := decoded(t, text)
				o.ReceivedAt = evening.Add(time.Duration(i) * time.Second)
				u.Apply(&o, int64(i))
				if i == 0 && len(say) == 2 && !has(u, "high-hemorrhage") {
					t.Errorf("%s: it is not active at first", name)
				}
			}
			if has(u, "high-hemorrhage") || len(u.Chart().Rooms) != 1 {
				t.Errorf("%s: it stays active, or nobody is there", name)
			}
		}
	}
}

// TestConditionsWithoutAnIDAreOfOnePatient: if a patient's condition ends, another patient's identical condition
// remains active.
func TestConditionsWithoutAnIDAreOfOnePatient(t *testing.T) {
	of := func(about, status string) acuity.Observation {
		return decoded(t, `{"resourceType":"Condition",`+about+`,"clinicalStatus":{"coding":[{"code":"`+status+`"}]},"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}}`)
	}
	u := hospital.New("st-test")
	for i, o := range []acuity.Observation{
		decoded(t, adt("A01", "0800", "", `LDR^L1`, "I")), of(`"encounter":{"identifier":{"value":"VN1"}}`, "active"),
		of(`"encounter":{"identifier":{"value":"VN2"}}`, "resolved"), of(`"subject":{"reference":"Patient/p2"}`, "resolved"),
	} {
		o.ReceivedAt = evening.Add(time.Duration(i) * time.Second)
		u.Apply(&o, int64(i))
	}
	if !has(u, "high-hemorrhage") {
		t.Error("it ended with somebody else's")
	}
}

// TestContainedPatientsAreNotOne: the id of a contained resource is valid only within the resource that contains it.
// Facts about one patient must not be applied to another patient whose resources contain a Patient with the same id.
func TestContainedPatientsAreNotOne(t *testing.T) {
	contained := func(number string) string {
		return `"contained":[{"resourceType":"Patient","id":"p1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"` + number + `"}]}],"subject":{"reference":"#p1"}`
	}
	in := func(n, about string) string {
		return `{"resourceType":"Encounter","id":"e` + n + `","status":"in-progress","class":{"code":"IMP"},"identifier":[{"value":"VN` + n + `"}],` + about +
			`,"period":{"start":"2026-03-04T08:0` + n + `:00Z"},"location":[{"location":{"display":"L` + n + `"},"status":"active"}]}`
	}
	bleeds := `{"resourceType":"Condition","id":"c1",` + contained("MRN1") + `,"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]}}`
	said := []acuity.Observation{decoded(t, in("1", contained("MRN1"))), decoded(t, in("2", contained("MRN2"))), decoded(t, in("3", ofPatient)), decoded(t, bleeds)}
	permutations(len(said), func(order []int) {
		u := hospital.New("st-test")
		for i, n := range order {
			u.Apply(&said[n], int64(i))
		}
		v := u.Verdict()
		for i := range v.Rooms {
			if got, want := len(v.Rooms[i].Factors) > 1, v.Rooms[i].Label == "L1"; got != want {
				t.Fatalf("in the order %v, %s has %v", order, v.Rooms[i].Label, v.Rooms[i].Factors)
			}
		}
	})
}

// has reports whether a factor is active in any room.
func has(u *hospital.State, factor string) bool {
	f, _ := catalogue.FactorByID(factor)
	v := u.Verdict()
	for i := range v.Rooms {
		for j := range v.Rooms[i].Factors {
			if v.Rooms[i].Factors[j].Factor == f {
				return true
			}
		}
	}
	return false
}
