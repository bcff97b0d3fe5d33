package ingest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// canary is part of every value in a test's messages that could identify a person. If an output of ingest contains
// it, such a value has leaked.
const canary = "CANARY"

// codedFields are the HL7 fields that contain codes and locations rather than text about a person, and are stored by
// design. Every other field of every segment gets a canary.
var codedFields = map[string][]int{
	"MSH": {1, 2, 7, 9, 10, 11, 12, 15, 16, 18}, "EVN": {1, 2, 6}, "PV1": {2, 3, 4, 6, 10}, "PV2": {36}, "DG1": {3, 5, 21},
}

// everyField returns a message with a canary in each field and component.
func everyField() string {
	var b strings.Builder
	b.WriteString("MSH|^~\\&|" + canary + "1|" + canary + "2|SVC|STMARY|20260304093010-0600|" + canary + "3|ADT^A01^ADT_A01|" + canary + "4|P|2.5.1\r")
	number := 10
	for _, segment := range []struct {
		name   string
		fields int
		fixed  map[int]string
	}{
		{"EVN", 7, map[int]string{2: "20260304092900-0600"}},
		{"PID", 39, map[int]string{7: "19940211"}},
		{"PD1", 20, nil},
		{"NK1", 39, map[int]string{3: "MTH"}},
		{"PV1", 52, map[int]string{2: "I", 3: "LD^4"}},
		{"PV2", 50, nil},
		{"DG1", 26, map[int]string{3: "O14.1^Severe^I10", 5: "20260304"}},
		{"AL1", 6, nil},
		{"IN1", 50, nil},
		{"NTE", 4, nil},
		{"ZPD", 30, nil},
	} {
		b.WriteString(segment.name)
		for field := 1; field <= segment.fields; field++ {
			b.WriteByte('|')
			if value, ok := segment.fixed[field]; ok {
				b.WriteString(value)
				continue
			}
			kept := false
			for _, code := range codedFields[segment.name] {
				kept = kept || code == field
			}
			if !kept {
				number++
				fmt.Fprintf(&b, "%[1]s%[2]d^%[1]s%[2]dx&%[1]s^19940211^2025550143~%[1]s%[2]d\r\n%[1]s", canary, number)
			}
		}
		b.WriteByte('\r')
	}
	return strings.ReplaceAll(b.String(), "\r\n"+canary, "") // continuation lines would hide the fields behind them
}

var shown = regexp.MustCompile(`(?i)` + canary + `|19940211|1994-02-11|2025550143|miller`)

// search fails the test if the appended observations, the responses or the log contain personal data.
func (d *fixture) search(t *testing.T, answers ...string) {
	t.Helper()
	if len(d.stored) == 0 {
		t.Fatal("nothing was kept: the test looks at nothing")
	}
	for _, o := range d.stored {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{fmt.Sprintf("%+v", *o), string(b)} {
			if hit := shown.FindString(text); hit != "" {
				t.Errorf("%q is kept: %s", hit, text)
			}
		}
	}
	for _, answer := range answers {
		if hit := shown.FindString(answer); hit != "" {
			t.Errorf("%q is answered: %s", hit, answer)
		}
	}
	if hit := shown.FindString(d.logged.String()); hit != "" || d.logged.Len() == 0 {
		t.Errorf("%q is logged: %s", hit, d.logged.String())
	}
}

func TestCanariesInHL7(t *testing.T) {
	d := open(t)
	message := everyField()
	if n := strings.Count(message, canary); n < 900 {
		t.Fatalf("%d canaries", n)
	}
	text := d.post(t, "hl7", message, "Content-Type", "text/plain")
	if !strings.Contains(text.raw, "MSA|AA|"+canary+"4") {
		t.Fatal(text.raw) // the answer repeats control id, sender and facility as sent: they identify the message to its sender
	}
	header := strings.NewReplacer(canary+"1", "EPIC", canary+"2", "STMARY", canary+"4", "M1")
	typed := d.post(t, "hl7", wrapped(header.Replace(message)))
	refused := d.post(t, "hl7", wrapped(header.Replace(strings.Replace(message, "ADT^A01", "ORU^A01", 1))))
	if typed.status != 200 || refused.status != 422 {
		t.Fatal(typed.raw, refused.raw)
	}
	d.search(t, typed.raw, refused.raw)
	e := d.stored[1].Events[0]
	if len(e.Visit) != 24 || len(e.Patient) != 24 || len(e.MotherPatient) != 24 {
		t.Errorf("the message was not read: %+v", e)
	}
}

func TestCanariesInJSON(t *testing.T) {
	name := `"` + canary + ` MILLER 1994-02-11"`
	d := open(t)
	var answers []string
	for path, body := range map[string]string{
		"adt": mutate(mutate(mutate(mutate(adtBody, "visitId", name), "patientId", name), "motherVisitId", name), "eventId", name),
		"census": strings.Replace(mutate(mutate(censusBody, "rooms[0].visitId", name), "rooms[0].newborns[0].visitId", name),
			`{"roomId"`, `{"patientName":`+name+`,"`+canary+` Miller":`+name+`,"roomId"`, 1),
		"clinical": mutate(strings.Replace(clinicalBody, `{"kind"`, `{"patient":{"name":`+name+`,"dob":"1994-02-11"},"kind"`, 1), "signals[0].value", name),
		"roster":   mutate(rosterBody, "nurses[0].name", name),
		"batch":    `{"events":[` + mutate(adtBody, "visitId", name) + `,{"eventType":` + name + `,"visitId":` + name + `,"occurredAt":` + name + `}]}`,
	} {
		a := d.post(t, path, body)
		if a.status != 200 {
			t.Fatal(path, a.raw)
		}
		answers = append(answers, a.raw)
	}
	for path, body := range map[string]string{
		"adt":      mutate(mutate(adtBody, "eventType", name), "occurredAt", name),
		"census":   mutate(mutate(censusBody, "rooms[0].primaryFactor", name), "rooms[0].modifiers", "["+name+"]"),
		"clinical": mutate(clinicalBody, "signals[0].kind", name),
		"roster":   mutate(rosterBody, "nurses[0].hireDate", name),
		"staffing": mutate(staffingBody, "nursesOnDuty", name),
		"hl7":      `{"message":` + name + `}`,
	} {
		a := d.post(t, path, body)
		if a.status < 400 {
			t.Fatal(path, a.raw)
		}
		answers = append(answers, a.raw)
	}
	d.search(t, answers...)
}

// TestPseudonyms checks what pseudonyms are made from, because that determines which records can be linked.
func TestPseudonyms(t *testing.T) {
	visit := func(path, body string) string {
		d := open(t)
		o := d.wantApplied(t, d.post(t, path, body))
		if o.Census != nil {
			return o.Census.Rooms[0].Visit
		}
		return o.Events[0].Visit
	}
	json := visit("adt", mutate(adtBody, "visitId", `"VN1"`))
	if visit("hl7", wrapped(admission)) != json || visit("census", mutate(censusBody, "rooms[0].visitId", `"VN1"`)) != json {
		t.Error("a visit is another one in another feed")
	}
	if by := visit("hl7", wrapped(strings.NewReplacer("|VN1", "|", "|MRN1^", "|VN1^").Replace(admission))); by == json {
		t.Error("a visit known by its patient equals one with that number")
	}
	d := open(t)
	e := d.wantApplied(t, d.post(t, "adt", mutate(mutate(adtBody, "patientId", `"X"`), "visitId", `"X"`))).Events[0]
	if e.Patient == e.Visit || e.Visit == "" {
		t.Errorf("kinds have one name space: %+v", e)
	}
}
