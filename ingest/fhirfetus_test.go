package ingest_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity/hospital"
)

const (
	admittedTwins = `{"resourceType":"Encounter","id":"e1","status":"in-progress","class":{"code":"IMP"},"subject":{"reference":"Patient/mother"},"period":{"start":"2026-03-04T08:10:00Z"},"location":[{"location":{"display":"L1"},"status":"active"}]}`
	twinsCode     = `{"resourceType":"Condition","id":"twins","clinicalStatus":{"coding":[{"code":"active"}]},` + ofVisit + `,"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O30.003"}]}}`
)

// fetusWays are the notations in which an Observation can identify a fetus: by its label, or by a reference. In each
// of them, "@" is replaced by the label and "#" by the label's number.
var (
	fetusWays = map[string]string{
		"the text of a site":     `"bodySite":{"text":"Fetus @"}`,
		"the code of a site":     `"bodySite":{"coding":[{"system":"http://hospital.example/fetus","code":"@"}]}`,
		"a site that is a word":  `"bodySite":{"coding":[{"code":"FETUS_#"}]}`,
		"the display of a focus": `"focus":[{"display":"baby #"}]`,
		"the id of a focus":      `"focus":[{"reference":"RelatedPerson/m7-twin-@"}]`,
		"a contained focus":      `"contained":[{"resourceType":"RelatedPerson","id":"fetus#"}],"focus":[{"reference":"#fetus#"}]`,
		"a code of the focus":    `"extension":[{"url":"http://hl7.org/fhir/StructureDefinition/observation-focusCode","valueCodeableConcept":{"text":"fetus @"}}]`,
		"the label of a device":  `"device":{"display":"US #"}`,
		"the label of a sample":  `"specimen":{"display":"Twin @"}`,
		"the display of a child": `"subject":{"reference":"Patient/child-#","display":"Baby @"}`,
		"its identifier":         `"component":[{"code":{"coding":[{"system":"http://loinc.org","code":"11951-1"}]},"valueString":"@"}]`,
		"the text of the code":   `code`,
		"the text of the value":  `value`,
		"a component":            `component`,
	}
	fetusReferences = map[string]string{
		"a related person":         `"focus":[{"reference":"RelatedPerson/f#"}]`,
		"a patient":                `"focus":[{"reference":"Patient/f#"}],"subject":{"reference":"Patient/mother"}`,
		"the subject":              `"subject":{"reference":"Patient/f#"}`,
		"a structure of the body":  `"focus":[{"reference":"BodyStructure/f#"}]`,
		"a contained subject":      `"contained":[{"resourceType":"Patient","id":"x#"}],"subject":{"reference":"#x#"}`,
		"a contained newborn":      `"contained":[{"resourceType":"Patient","id":"x#","birthDate":"2026-03-04"}],"subject":{"reference":"#x#"}`,
		"a contained one, by name": `"contained":[{"resourceType":"RelatedPerson","id":"x#"}],"focus":[{"reference":"#x#"}]`,
	}
)

// tracingOf returns an Observation of a tracing category that identifies a fetus in the given notation, or not at all
// if the notation is empty.
func tracingOf(id, way, label, at, category string) string {
	number := strconv.Itoa(int(label[0]-'A') + 1)
	code, value := `"coding":[{"system":"http://loinc.org","code":"32421-5"}]`, "Category "+category
	switch way {
	case "code":
		way, code = "", code+`,"text":"FHR category, fetus `+label+`"`
	case "value":
		way, value = "", "Fetus "+number+": "+value
	case "component":
		return `{"resourceType":"Observation","id":"` + id + `","status":"final",` + ofVisit + `,"effectiveDateTime":"2026-03-04T` + at + `:00Z","code":{"text":"tracing"},"component":[{"code":{` + code + `,"text":"twin ` + label + `"},"valueString":"` + value + `"}]}`
	}
	// A quoted "#" begins a reference to a contained resource and is kept.
	way = strings.NewReplacer(`"#`, `"#`, "#", number, "@", label).Replace(way)
	if way != "" {
		way = "," + way
	}
	return `{"resourceType":"Observation","id":"` + id + `","status":"final",` + ofVisit + `,"effectiveDateTime":"2026-03-04T` + at + `:00Z","code":{` + code + `},"valueString":"` + value + `"` + way + `}`
}

// TestTracingsOfTwins: in any notation and any order of arrival, a better tracing ends a worse tracing of the same
// fetus but not of the other fetus.
func TestTracingsOfTwins(t *testing.T) {
	labels, references := keysOf(fetusWays), keysOf(fetusReferences)
	rapid.Check(t, func(t *rapid.T) {
		var a, b, again string
		if rapid.Bool().Draw(t, "by reference") {
			way := rapid.SampledFrom(references).Draw(t, "way")
			a = fetusReferences[way]
			b, again = a, a
		} else {
			ways := rapid.SampledFrom(labels)
			a, b, again = fetusWays[ways.Draw(t, "way of A")], fetusWays[ways.Draw(t, "way of B")], fetusWays[ways.Draw(t, "way of A again")]
		}
		say := rapid.Permutation([]string{
			admittedTwins, twinsCode, tracingOf("a", a, "A", "22:30", "III"), tracingOf("b", b, "B", "22:40", "I"),
		}).Draw(t, "order")
		u := hospital.New("st-test")
		tell := func(text string) {
			o := decoded(t, text)
			u.Apply(&o, 0)
		}
		for _, text := range say {
			tell(text)
		}
		if !has(u, "labor-fhr-cat-iii") {
			t.Fatal("the Category III of A ended")
		}
		tell(tracingOf("n", "", "A", "22:45", "I"))
		if !has(u, "labor-fhr-cat-iii") {
			t.Fatal("a tracing that names no fetus ended it")
		}
		tell(tracingOf("a2", again, "A", "22:50", "I"))
		if has(u, "labor-fhr-cat-iii") {
			t.Fatal("the Category I of A did not end it")
		}
	})
}

func keysOf(m map[string]string) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// TestTracingsWithoutAnID: tracings of two fetuses with the same code and time are two resources, even if they have no
// id. The same tracing sent again, or a correction of it, is still one resource.
func TestTracingsWithoutAnID(t *testing.T) {
	ways := maps.Clone(fetusWays)
	maps.Copy(ways, fetusReferences)
	for name, way := range ways {
		if strings.Contains(way, `"subject"`) && !strings.Contains(way, "@") && !strings.Contains(way, "focus") {
			continue // without a label, the subject does not distinguish resources
		}
		tracing := func(label, category string) string {
			return strings.Replace(tracingOf("x", way, label, "22:30", category), `"id":"x",`, "", 1)
		}
		for in, list := range map[string][]string{
			"two bodies":           {tracing("A", "III"), tracing("B", "I")},
			"two, the other first": {tracing("B", "I"), tracing("A", "III")},
			"one body":             {`{"resources":[` + tracing("A", "III") + `,` + tracing("B", "I") + `]}`},
		} {
			u, n := hospital.New("st-test"), 0
			tell := func(text string) {
				o := decoded(t, text)
				o.ReceivedAt = evening.Add(time.Duration(n) * time.Second)
				u.Apply(&o, int64(n))
				n++
			}
			for _, text := range append([]string{admittedTwins, twinsCode}, list...) {
				tell(text)
			}
			if !has(u, "labor-fhr-cat-iii") {
				t.Errorf("%s, %s: the Category III of A is lost", name, in)
			}
			tell(tracing("A", "I"))
			if has(u, "labor-fhr-cat-iii") {
				t.Errorf("%s, %s: its correction does not count", name, in)
			}
		}
	}
	early, late := tracingOf("x", "", "A", "22:30", "I"), tracingOf("x", "", "A", "22:40", "III")
	issued := strings.NewReplacer(`"id":"x",`, "", "effectiveDateTime", "issued")
	u := hospital.New("st-test")
	for i, text := range []string{admittedTwins, late, early} {
		o := decoded(t, issued.Replace(text))
		o.ReceivedAt = evening.Add(time.Duration(i) * time.Second)
		u.Apply(&o, int64(i))
	}
	if !has(u, "labor-fhr-cat-iii") {
		t.Error("a tracing that was issued earlier replaced a later one")
	}
}

// TestTracingOfTheMotherNamesNoFetus: a tracing whose subject is the mother does not identify a fetus, so a newer one
// replaces an older one. The order in which svc receives the tracings and the mother's identifiers does not matter.
func TestTracingOfTheMotherNamesNoFetus(t *testing.T) {
	about := func(id, at, category string) string {
		return tracingOf(id, `"subject":{"reference":"Patient/mother"}`, "A", at, category)
	}
	patient := `{"resourceType":"Patient","id":"mother","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN1"}]}`
	rapid.Check(t, func(t *rapid.T) {
		u := hospital.New("st-test")
		for _, text := range rapid.Permutation([]string{admittedTwins, twinsCode, patient, about("o1", "22:30", "III"), about("o2", "22:40", "I")}).Draw(t, "order") {
			o := decoded(t, text)
			u.Apply(&o, 0)
		}
		if has(u, "labor-fhr-cat-iii") {
			t.Fatal("the newer tracing does not count")
		}
		if !u.Chart().Rooms[0].Patients[0].UnnamedFetus {
			t.Fatal("that none names a fetus is not told")
		}
	})
}

// TestEndsAndDenials: a condition or infusion ends when its latest version says so. A refuted condition is not
// active, even if the verification status is only a text.
func TestEndsAndDenials(t *testing.T) {
	hemorrhage := func(id, rest string) string {
		return `{"resourceType":"Condition","id":"` + id + `",` + ofVisit + `,"code":{"coding":[{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O72.1"}]},"onsetDateTime":"2026-03-04T21:00:00Z"` + rest + `}`
	}
	drip := func(rest string) string {
		return `{"resourceType":"MedicationAdministration","id":"m","context":{"reference":"Encounter/e1"},"medicationCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585"}]}` + rest + `}`
	}
	const bleeds, runs = "high-hemorrhage", "high-mag"
	active := `,"clinicalStatus":{"coding":[{"code":"active"}]},"recordedDate":"2026-03-04T22:50:00Z"`
	for name, c := range map[string]struct {
		say    []string
		factor string
		on     bool
	}{
		"resolved on a day":            {[]string{hemorrhage("c", active), hemorrhage("c", `,"clinicalStatus":{"coding":[{"code":"resolved"}]},"abatementDateTime":"2026-03-04"`)}, bleeds, false},
		"resolved before it was told":  {[]string{hemorrhage("c", active), hemorrhage("c", `,"clinicalStatus":{"text":"Resolved"},"abatementDateTime":"2026-03-04T21:30:00Z"`)}, bleeds, false},
		"active again":                 {[]string{hemorrhage("c", `,"clinicalStatus":{"text":"Resolved"}`), hemorrhage("c", active)}, bleeds, true},
		"stopped before it was told":   {[]string{drip(`,"status":"in-progress","effectivePeriod":{"start":"2026-03-04T22:30:00Z"}`), drip(`,"status":"stopped","effectivePeriod":{"start":"2026-03-04T22:00:00Z","end":"2026-03-04T22:20:00Z"}`)}, runs, false},
		"stopped on a day":             {[]string{drip(`,"status":"in-progress","effectivePeriod":{"start":"2026-03-04T22:30:00Z"}`), drip(`,"status":"stopped","effectivePeriod":{"end":"2026-03-04"}`)}, runs, false},
		"an older version comes later": {[]string{hemorrhage("c", `,"meta":{"versionId":"2"},"clinicalStatus":{"text":"resolved"}`), hemorrhage("c", `,"meta":{"versionId":"1"}`+active)}, bleeds, false},
		"refuted as text":              {[]string{hemorrhage("c", active+`,"verificationStatus":{"text":"Refuted"}`)}, bleeds, false},
		"refuted later, as text":       {[]string{hemorrhage("c", active), hemorrhage("c", active+`,"verificationStatus":{"text":"ENTERED IN ERROR"}`)}, bleeds, false},
	} {
		u := hospital.New("st-test")
		for i, text := range append([]string{admittedTwins}, c.say...) {
			o := decoded(t, text)
			o.ReceivedAt = evening.Add(time.Duration(i) * time.Second)
			u.Apply(&o, int64(i))
		}
		if has(u, c.factor) != c.on {
			t.Errorf("%s: %s is %v", name, c.factor, !c.on)
		}
	}
}

// TestClinicalNamesAFetus: a signal for a room identifies a fetus in a separate field or in its text. The field has
// precedence.
func TestClinicalNamesAFetus(t *testing.T) {
	for text, want := range map[string]string{
		`"fetus":"A"`: "A", `"fetus":"twin 2"`: "B", `"fetus":"3"`: "C", `"display":"FHR category, fetus B"`: "B", `"display":"FHR1"`: "A", `"display":"FHR category"`: "",
		`"fetus":"A","display":"baby B"`: "A", `"value":"Category II, twin B"`: "B",
	} {
		value := `,"value":"Category III"`
		if strings.Contains(text, "value") {
			value = ""
		}
		d := open(t)
		a := d.post(t, "clinical", `{"roomId":1,"signals":[{"kind":"observation","system":"LOINC","code":"32421-5",`+text+value+`}]}`)
		if s := d.wantApplied(t, a).Signals[0]; s.Fetus != want || s.Value.Words == "" {
			t.Errorf("%s: %q %q, want %q", text, s.Fetus, s.Value.Words, want)
		}
	}
	a := open(t).post(t, "clinical", `{"roomId":1,"signals":[{"kind":"observation","system":"LOINC","code":"32421-5","value":"Category I","fetus":"the left one"}]}`)
	if !strings.Contains(a.raw, `{"code":"fetus_unreadable","path":"signals[0].fetus"`) {
		t.Error(a.raw)
	}
}
