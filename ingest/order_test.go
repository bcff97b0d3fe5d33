package ingest_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/hospital/hospitaltest"
	"svc/ingest/fhir"
	"svc/ingest/hl7"
)

// evening is the time at which all messages of these tests are received, so that only the order of the messages
// differs.
var evening = acuity.At(time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC))

// decoded returns the observation of an HL7 message, or of a FHIR body if the text begins with a
// brace.
func decoded(t rapid.TB, text string) acuity.Observation {
	t.Helper()
	name := func(kind, value string) string { return kind + " " + strings.ReplaceAll(value, ".", "·") } // a pseudonym has no dots
	o := acuity.Observation{Hospital: "st-test", ReceivedAt: evening, Channel: acuity.ChannelHL7}
	if strings.HasPrefix(text, "{") {
		facts, fault := fhir.Decode([]byte(text), fhir.Options{Pseudonym: name, Zone: time.UTC, ReceivedAt: evening, Source: "key"})
		if fault != nil || facts.Applied != facts.Received {
			t.Fatalf("%v %+v", fault, facts)
		}
		o.Channel, o.Events, o.Signals, o.References = acuity.ChannelFHIR, facts.Events, facts.Signals, facts.References
		return o
	}
	var m hl7.Message
	if err := m.Scan([]byte(text), hl7.Charset{}); err != nil {
		t.Fatal(err)
	}
	e, fault := m.Facts(hl7.Options{
		Pseudonym: func(dst []byte, kind string, value []byte) []byte { return append(dst, name(kind, string(value))...) },
		Zone:      time.UTC, ReceivedAt: evening,
	})
	if fault != nil {
		t.Fatalf("refused: %+v", fault)
	}
	o.Events = []acuity.Event{e}
	return o
}

// adt returns an ADT message about the visit, followed by the segments in more. at is the time of day at which the
// message was sent and recorded (MSH-7 and EVN-2), as HHMM. occurred is the whole time in EVN-6; it may be empty.
func adt(kind, at, occurred, place, class string, more ...string) string {
	lines := append([]string{
		`MSH|^~\&|EPIC|STMARY|SVC|STMARY|20260304` + at + `00||ADT^` + kind + `|` + kind + at + `|P|2.5.1`,
		`EVN||20260304` + at + `00||||` + occurred, `PID|1||MRN1^^^STMARY^MR`,
		`PV1|1|` + class + `|` + place + strings.Repeat("|", 16) + `VN1`,
	}, more...)
	return strings.Join(lines, "\r") + "\r"
}

// encounter returns a version of the Encounter of the visit.
func encounter(status, updated, places, end string) string {
	if end != "" {
		end = `,"end":"2026-03-04T` + end + `:00Z"`
	}
	return `{"resourceType":"Encounter","id":"e1","meta":{"lastUpdated":"2026-03-04T` + updated + `:00Z"},"status":"` + status + `",
"class":{"code":"IMP"},"identifier":[{"type":{"coding":[{"code":"VN"}]},"value":"VN1"}],"subject":{"reference":"Patient/p1"},
"period":{"start":"2026-03-04T08:10:00Z"` + end + `},"location":[` + places + `]}`
}

func stays(room, start string) string {
	return `{"location":{"display":"` + room + `"},"status":"active","period":{"start":"2026-03-04T` + start + `:00Z"}}`
}

// resource returns a resource. about is the JSON of the field that refers to its visit or patient.
func resource(kind, id, status, updated, about, rest string) string {
	return `{"resourceType":"` + kind + `","id":"` + id + `","meta":{"lastUpdated":"2026-03-04T` + updated + `:00Z"},` + status + `,` + about + `,` + rest + `}`
}

const (
	ofVisit   = `"encounter":{"reference":"Encounter/e1"}`
	ofContext = `"context":{"reference":"Encounter/e1"}`
	ofPatient = `"subject":{"reference":"Patient/p1"}`
	magnesium = `"medicationCodeableConcept":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585"}]}`
	severe    = `"code":{"coding":[{"system":"http://snomed.info/sct","code":"1"},{"system":"http://hl7.org/fhir/sid/icd-10-cm","code":"O14.13"}]}`
	strip     = `"code":{"coding":[{"system":"http://loinc.org","code":"11949-4"}]},"valueCodeableConcept":{"text":"Category `
)

func administered(id, status, updated, from, to string) string {
	if to != "" {
		to = `,"end":"2026-03-04T` + to + `:00Z"`
	}
	return resource("MedicationAdministration", id, `"status":"`+status+`"`, updated, ofContext,
		magnesium+`,"effectivePeriod":{"start":"2026-03-04T`+from+`:00Z"`+to+`}`)
}

func observed(id, status, updated, when, category string) string {
	return resource("Observation", id, `"status":"`+status+`"`, updated, ofVisit,
		`"effectiveDateTime":"2026-03-04T`+when+`:00Z",`+strip+category+`"}`)
}

func diagnosed(verification, updated, about string) string {
	return resource("Condition", "c1", `"clinicalStatus":{"coding":[{"code":"active"}]},"verificationStatus":{"coding":[{"code":"`+verification+`"}]}`,
		updated, about, severe+`,"onsetDateTime":"2026-03-04T08:30:00Z"`)
}

// visits contains sets of messages, each about one visit, as they are transmitted, including cancellations and
// retractions.
var visits = map[string][]string{
	"admit, two transfers, one of them cancelled": {
		adt("A04", "0800", "", `OBTRI^T1`, "O"), adt("A01", "0815", "", `LDR^L1`, "I", `DG1|1||O14.13^^I10||20260304081000`),
		adt("A02", "0900", "", `OBOR^OR1`, "I"), adt("A12", "0910", "20260304090000", `LDR^L1`, "I"), adt("A02", "1000", "", `MBU^31`, "I"),
		adt("A08", "1010", "", `MBU^31`, "I", `DG1|1||O99.213^^I10`),
	},
	"a discharge taken back, an admit cancelled and sent anew": {
		adt("A01", "0800", "", `LDR^L1`, "I"), adt("A11", "0805", "20260304080000", `LDR^L1`, "I"), adt("A01", "0820", "", `LDR^L2`, "I"),
		adt("A03", "1200", "", `LDR^L2`, "I"), adt("A13", "1210", "20260304120000", `LDR^L2`, "I"), adt("A02", "1230", "", `MBU^31`, "I"),
	},
	"versions of an Encounter among messages of HL7": {
		encounter("in-progress", "08:15", stays("L1", "08:10"), ""), encounter("finished", "12:00", stays("L1", "08:10"), "12:00"),
		encounter("in-progress", "12:30", stays("L1", "08:10")+","+stays("L2", "12:10"), ""),
		adt("A01", "0800", "", `LDR^L7`, "I"), adt("A02", "1100", "", `OBOR^OR1`, "I"), adt("A12", "1105", "20260304110000", `LDR^L7`, "I"),
	},
	"an Encounter without a location": {
		encounter("in-progress", "08:15", "", ""), adt("A01", "0800", "", `LDR^L1`, "I"), encounter("in-progress", "09:15", "", ""),
		adt("A03", "1200", "", `LDR^L1`, "I"), adt("A06", "1200", "", `MBU^31`, "I"), adt("A13", "1230", "20260304120000", `LDR^L1`, "I"),
	},
	"a Category III in error behind a Category I, of a mother with a diagnosis": {
		adt("A01", "0810", "", `LDR^L1`, "I", `DG1|1||O68^^I10||20260304081000`), observed("o1", "final", "21:30", "21:30", "I"),
		observed("o2", "final", "21:45", "21:45", "III"), observed("o2", "entered-in-error", "22:00", "21:45", "III"), encounter("in-progress", "08:15", "", ""),
	},
	"an Encounter that was cancelled": {
		encounter("in-progress", "08:15", stays("L1", "08:10"), ""), encounter("cancelled", "09:00", "", ""),
		adt("A01", "0800", "", `LDR^L7`, "I"), diagnosed("confirmed", "08:40", ofVisit),
		administered("m1", "in-progress", "08:50", "08:50", ""),
	},
	"a loading dose, two bags, one of them in error": {
		encounter("in-progress", "08:15", stays("L1", "08:10"), ""), administered("load", "in-progress", "08:20", "08:20", ""),
		administered("load", "completed", "08:45", "08:20", "08:40"), administered("bag1", "in-progress", "08:50", "08:45", ""),
		administered("bag2", "in-progress", "09:30", "09:30", ""), administered("bag2", "entered-in-error", "09:40", "09:30", ""),
		diagnosed("confirmed", "08:40", ofPatient),
	},
	"observations that are corrected, and conditions that are refuted": {
		adt("A01", "0810", "", `LDR^L1`, "I"), encounter("in-progress", "08:15", stays("L1", "08:10"), ""),
		observed("o1", "preliminary", "21:50", "21:45", "III"), observed("o1", "corrected", "22:00", "21:45", "II"),
		observed("o2", "final", "21:40", "21:30", "I"), diagnosed("provisional", "08:40", ofPatient),
		diagnosed("refuted", "09:00", ofPatient),
	},
	"a drug and a room that others only name": {
		`{"resourceType":"Medication","id":"mag","code":{"coding":[{"system":"http://www.nlm.nih.gov/research/umls/rxnorm","code":"6585"}]}}`,
		`{"resourceType":"Location","id":"55","name":"LDR04","physicalType":{"coding":[{"code":"ro"}]}}`,
		encounter("in-progress", "08:15", `{"location":{"reference":"Location/55"},"status":"active"}`, ""),
		resource("MedicationAdministration", "m1", `"status":"in-progress"`, "08:50", ofContext,
			`"medicationReference":{"reference":"Medication/mag"},"effectivePeriod":{"start":"2026-03-04T08:50:00Z"}`),
		resource("MedicationAdministration", "m2", `"status":"in-progress"`, "09:50", ofContext,
			`"medicationReference":{"reference":"Medication/mag"},"effectivePeriod":{"start":"2026-03-04T09:50:00Z"}`),
		adt("A01", "0800", "", `LDR^L7`, "I"),
	},
	"a patient whose number and reference come apart": {
		`{"resourceType":"Patient","id":"p1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN1"}]}`,
		adt("A01", "0800", "", `LDR^L1`, "I"), adt("A02", "0900", "", `LDR^L2`, "I"),
		diagnosed("confirmed", "08:40", ofPatient),
		resource("Observation", "o1", `"status":"final"`, "21:50", ofPatient, `"effectiveDateTime":"2026-03-04T21:45:00Z",`+strip+`II"}`),
	},
	"a patient of Epic, whose number is one of several identifiers": {
		`{"resourceType":"Patient","id":"p1","identifier":[{"type":{"text":"CEID"},"value":"FHRX7"},{"type":{"text":"MRN"},"value":"MRN1"}]}`,
		adt("A01", "0800", "", `LDR^L1`, "I"), diagnosed("confirmed", "08:40", ofPatient),
	},
	"a newborn whose Encounter is a part of its mother's": {
		encounter("in-progress", "08:15", stays("L1", "08:10"), ""), adt("A01", "0800", "", `LDR^L1`, "I"), babys(`"subject":{"reference":"Patient/b1"}`),
		`{"resourceType":"Patient","id":"p1","identifier":[{"type":{"coding":[{"code":"MR"}]},"value":"MRN1"}]}`,
		adt("A02", "0900", "", `MBU^31`, "I"),
	},
	"a newborn whose mother's account is in PID-21, later her number": {
		strings.Replace(adt("A01", "0800", "", `LDR^L1`, "I"), "^MR", "^MR"+strings.Repeat("|", 15)+"ACC1", 1),
		strings.NewReplacer("MRN1", "MRN5", "VN1", "VN5").Replace(adt("A01", "0805", "", `LDR^L5`, "I")), adt("A02", "0900", "", `MBU^31`, "I"),
		bornOf("A01", "0830", "ACC1^^^STMARY^AN"), bornOf("A08", "0840", "MRN1^^^STMARY^MR"), bornOf("A08", "0850", "V7^^^STMARY^VN"),
	},
	"one of three, whose number an earlier visit joins to her Patient": append([]string{babys(byNumber)}, third...),
	"the same by its class": append([]string{strings.Replace(babys(byNumber), `"IMP"`, `"N"`, 1)}, third...),
	"an infusion on hold, known before the visit": {
		administered("m1", "in-progress", "08:50", "08:50", ""), administered("m1", "on-hold", "09:20", "08:50", ""),
		administered("m2", "in-progress", "10:00", "09:55", ""), observed("o1", "final", "22:10", "22:10", "II"),
		observed("o1", "entered-in-error", "22:20", "22:10", "II"), adt("A01", "0800", "", `ANTE^A1`, "I"),
		encounter("in-progress", "08:15", stays("A1", "08:10"), ""),
	},
}

// byNumber is a reference to a newborn by the newborn's number. The list third contains messages that identify the
// Patient with that number as the third child of the birth.
const byNumber = `"subject":{"identifier":{"value":"MRN2"}}`

var third = []string{
	encounter("in-progress", "08:15", stays("L1", "08:10"), ""), twins, named("Patient", "b2", `"multipleBirthInteger":3`),
	`{"resourceType":"Encounter","id":"b0","meta":{"lastUpdated":"2026-03-04T08:50:00Z"},"status":"finished","class":{"code":"AMB"},
"subject":{"reference":"Patient/b2","identifier":{"value":"MRN2"}},"period":{"start":"2026-03-04T08:45:00Z","end":"2026-03-04T08:50:00Z"}}`,
}

// bornOf returns a message about a newborn without a location. mother is the text of PID-21.
func bornOf(kind, at, mother string) string {
	return strings.NewReplacer("MRN1", "MRN2", "^MR", "^MR"+strings.Repeat("|", 18)+mother, "VN1", "VN2").Replace(adt(kind, at, "", "", "N"))
}

// state returns the state of a unit as text: the location and evidence of each patient, and the
// pending statements.
func state(list []acuity.Observation) string {
	u := hospital.New("st-test")
	for i := range list {
		u.Apply(&list[i], int64(i))
	}
	return chart(u.Chart())
}

// referenceState returns the state according to the plain reference implementation.
func referenceState(list []acuity.Observation) string {
	return chart(hospitaltest.Fold(list, evening).Chart)
}

func chart(c *acuity.Chart) string {
	text, err := json.Marshal([]any{c.Rooms, c.Unit.Moves, c.Unit.Unplaced, c.Unit.StatementsWaiting, c.Unit.CancelsWaiting})
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(text), "null", "[]")
}

// permutations calls visit for each permutation of the indexes 0 to n-1.
func permutations(n int, visit func([]int)) {
	order := make([]int, 0, n)
	var next func()
	next = func() {
		if len(order) == n {
			visit(order)
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				next()
				order = order[:len(order)-1]
			}
		}
	}
	next()
}

// TestOrderOfMessagesMeansNothing: the messages of a visit lead to the same state of the unit in any order of arrival
// and from any mixture of feeds. Cancellations may precede the events that they cancel, and retractions the facts
// that they retract; any message may be sent twice. The test decodes the transmitted bytes.
func TestOrderOfMessagesMeansNothing(t *testing.T) {
	for name, texts := range visits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, texts)
			permutations(len(texts), o.try)
		})
	}
	t.Run("a long visit", func(t *testing.T) {
		t.Parallel()
		var texts []string
		for _, name := range []string{
			"admit, two transfers, one of them cancelled", "versions of an Encounter among messages of HL7",
			"a loading dose, two bags, one of them in error", "observations that are corrected, and conditions that are refuted",
		} {
			for _, text := range visits[name] {
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
			}
		}
		o := newOrders(t, texts)
		for range 10_000 {
			o.try(o.random.Perm(len(texts)))
		}
	})
}

// orders contains the observations of one visit. Every order of them must result in the same state as the first
// order.
type orders struct {
	*testing.T
	said   []acuity.Observation
	want   string
	random *rand.Rand
	tried  int
}

func newOrders(t *testing.T, texts []string) *orders {
	t.Helper()
	o := &orders{T: t, random: rand.New(rand.NewPCG(1, 2))}
	for _, text := range texts {
		o.said = append(o.said, decoded(t, text))
	}
	o.want = state(o.said)
	if !strings.Contains(o.want, `"Evidence":[{`) {
		t.Fatalf("nobody is anywhere: %s", o.want)
	}
	return o
}

// try applies all observations in an order, and one of them twice. With the race detector, it tries only one order in
// ten, because trying all of them takes ten times as long and finds no more races.
func (o *orders) try(order []int) {
	if o.tried++; raceEnabled && o.tried%10 != 0 {
		return
	}
	list := make([]acuity.Observation, 0, len(order)+1)
	for _, i := range order {
		list = append(list, o.said[i])
	}
	list = slices.Insert(list, o.random.IntN(len(list)+1), o.said[o.random.IntN(len(o.said))])
	got := state(list)
	if got != o.want {
		o.Fatalf("in the order %v\n got %s\nwant %s", order, got, o.want)
	}
	if o.random.IntN(100) == 0 && got != referenceState(list) {
		o.Fatalf("in the order %v\n    got %s\nfolded %s", order, got, referenceState(list))
	}
}
