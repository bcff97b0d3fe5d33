package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/acuity/score"
)

// message returns an ADT message about visit VN1. The argument clock is the time in EVN-2, on the day of the tests,
// in the hospital's time zone. Each of the words sets another part of the message: "3=" sets PV1-3 (likewise for
// other fields of PV1), "evn6=" and "msh7=" set those fields, and any other word is a whole segment.
func message(event, clock string, words ...string) string {
	pv1 := make([]string, 45)
	pv1[0], pv1[2], pv1[19] = "PV1", "I", "VN1"
	evn := []string{"EVN", event, "20260304" + clock, "", "", "", ""}
	msh7, pid, rest := "20260304092900-0600", "PID|1||MRN1^^^STMARY^MR", []string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		var n int
		switch {
		case name == "evn1":
			evn[1] = value
		case name == "evn2":
			evn[2] = value
		case name == "evn6":
			evn[6] = value
		case name == "msh7":
			msh7 = value
		case strings.HasPrefix(w, "PID|"):
			pid = w
		case strings.Contains(w, "|"):
			rest = append(rest, w)
		default:
			if _, err := fmt.Sscan(name, &n); err != nil {
				panic(w)
			}
			pv1[n] = value
		}
	}
	head := `MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + msh7 + `||ADT^` + event + `|M` + event + clock + `|P|2.5.1`
	return strings.Join(append([]string{head, strings.Join(evn, "|"), pid, strings.Join(pv1, "|")}, rest...), "\r")
}

// TestDecisions sends messages of feeds and compares the state of a unit. It covers the rules in docs/decisions.md
// that involve both the decoder and the domain. An expectation lists the occupied rooms, sorted, each as "label
// demand factor …".
func TestDecisions(t *testing.T) {
	const ldr = "L&D^LDR04^01^STMARY"
	type said struct{ path, body string }
	text := func(s string) said { return said{"hl7", wrapped(s)} }
	msg := func(event, clock string, words ...string) said { return text(message(event, clock, words...)) }
	event := func(kind, clock, more string) said {
		return said{"adt", `{"eventType":"` + kind + `","occurredAt":"2026-03-04T` + clock + `Z","visitId":"VN1"` + more + `}`}
	}
	mother := msg("A01", "080000-0600", "3=MBU^301", "PID|1||MRN1^^^STMARY^MR|||||||||||||||ACC1")
	born := func(event, clock, account, mother string) said { // without a place of its own
		return msg(event, clock+"00-0600", "4=N", "19=VN2", "PID|1||MRN2^^^STMARY^MR|||||||||||||||"+account+"|||"+mother)
	}
	const inLDR04 = `{"asOf":"2026-03-04T13:00:00Z","rooms":[{"roomId":4,"roomLabel":"LDR04","status":"empty"}]}`
	mews := func(value, clock string) string {
		return `{"kind":"observation","system":"LOINC","code":"1-8","display":"MEWS total score","value":` + value + `,"observedAt":"2026-03-04T` + clock + `:00Z"}`
	}
	scored := func(id, value, clock string) string {
		return `{"resourceType":"Observation","id":"` + id + `","meta":{"lastUpdated":"2026-03-04T15:20:00Z"},"status":"final","encounter":{"identifier":{"value":"VN1"}},
			"code":{"coding":[{"system":"http://loinc.org","code":"1-8","display":"MEWS total score"}]},"valueInteger":` + value + `,"effectiveDateTime":"2026-03-04T` + clock + `:00Z"}`
	}
	inAccount := func(id, class, room string) string {
		return `{"resourceType":"Encounter","id":"` + id + `","meta":{"lastUpdated":"2026-03-04T15:20:00Z"},"status":"in-progress","class":{"code":"` + class + `"},
			"identifier":[{"type":{"coding":[{"code":"AN"}]},"value":"ACC9"}],"subject":{"reference":"Patient/` + id + `","identifier":{"value":"MRN` + id + `"}},
			"period":{"start":"2026-03-04T15:00:00Z"},"location":[{"location":{"display":"` + room + `"}}]}`
	}
	dated := func(date, clock string) string {
		return `{"resourceType":"Patient","id":"m","meta":{"lastUpdated":"2026-03-04T` + clock + `:00Z"},"identifier":[{"value":"MRNm"}],"birthDate":"` + date + `"}`
	}
	const labor, mag = "LDR04 60 labor-standard", `{"roomId":4,"signals":[{"kind":"medication","system":"RxNorm","code":"6585","startedAt":"2026-03-04T15:00:00Z"}]}`
	for rule, row := range map[string]struct {
		say      []said
		want     string
		warnings string // warnings in the last answer; "none": it has none
	}{
		"6 A04, conversion, transfer and back": {
			say: []said{
				msg("A04", "081400-0600", "2=O", "3=OBTRI^T02^01^STMARY", "PV2|||^Contractions, 39w2d"),
				msg("A01", "083000-0600", "3=L\\T\\D^LDR04^01^STMARY", "6=OBTRI^T02^01^STMARY", "DG1|1||O14.13^Severe pre-eclampsia^I10||20260304082500-0600|W"),
				msg("A02", "084000-0600", "3=OBOR^OR1^01^STMARY", "6=L\\T\\D^LDR04^01^STMARY"),
				msg("A12", "084500-0600", "3=L\\T\\D^LDR04^01^STMARY", "6=OBOR^OR1^01^STMARY"),
			},
			want: "LDR04 60 high-preeclampsia labor-standard",
		},
		"2 EVN-6 joins a cancel": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr), msg("A02", "081000-0600", "3=MBU^301"), msg("A02", "082000-0600", "3=OBOR^OR1"),
				msg("A12", "082500-0600", "evn6=20260304081000-0600", "3="+ldr, "6=MBU^301"),
			},
			want: "OR1 120 csection-intraop",
		},
		"at the coarser of the two precisions": {
			say:  []said{msg("A01", "080017-0600", "3="+ldr), msg("A11", "081000-0600", "evn6=202603040800-0600", "3="+ldr)},
			want: "",
		},
		"1 the event is MSH-9.2": {
			say: []said{msg("A01", "080000-0600", "evn1=A03", "3="+ldr)}, want: labor,
		},
		"1 other events are ignored": {
			say: []said{msg("A01", "080000-0600", "3="+ldr), msg("A31", "081000-0600", "3=MBU^301")}, want: labor,
		},
		"1 the identity is the bytes": {
			say: []said{msg("A01", "080000-0600", "3="+ldr), msg("A01", "080000-0600", "3="+ldr)}, want: labor,
		},
		"no event time: that of the message, with a warning": {
			say: []said{msg("A01", "", "evn2=", "3="+ldr)}, want: labor, warnings: "event_time_missing@EVN-2",
		},
		"the offset of MSH-7 holds for the others": {
			say:  []said{msg("A04", "091400", "evn2=20260304091400", "2=O", "3=OBTRI^T02")},
			want: "T02 60 triage-initial", // 15:14Z, 16 min ago
		},
		"visits by PID-18": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr, "19=", "PID|1||MRN1^^^STMARY^MR|||||||||||||||VN1"), msg("A02", "081000-0600", "3=MBU^301"),
			},
			want: "MBU 301 20 pp-couplet",
		},
		"a visit by its patient is another": {
			say:  []said{msg("A01", "080000-0600", "3="+ldr, "19=", "PID|1||VN1^^^STMARY^MR"), msg("A01", "081000-0600", "3=MBU^301")},
			want: "LDR04 60 labor-standard; MBU 301 20 pp-couplet",
		},
		"an HD is its first part": {
			say: []said{msg("A01", "080000-0600", "3=MBU&1.2.840.1&ISO^301")}, want: "MBU 301 20 pp-couplet",
		},
		"an A01 of class P places nobody": {
			say: []said{msg("A01", "080000-0600", "2=P", "3="+ldr)}, want: "", warnings: "preadmission@PV1-2",
		},
		"an admit event of class P places nobody": {
			say: []said{event("admit", "14:00:00", `,"roomId":4,"patientClass":"P"`)}, want: "", warnings: "preadmission@patientClass",
		},
		"an A01 after one of class P places": {
			say: []said{msg("A01", "080000-0600", "2=P", "3="+ldr), msg("A01", "081000-0600", "3="+ldr)}, want: labor, warnings: "none",
		},
		"an A05 places nobody": {
			say: []said{msg("A05", "080000-0600", "2=P", "3="+ldr)}, want: "", warnings: "event_ignored@MSH-9",
		},
		"an A11 cancels an admission that was sent twice": {
			say:  []said{msg("A01", "080000-0600", "3="+ldr), msg("A01", "080500-0600", "3="+ldr), msg("A11", "081000-0600", "3="+ldr)},
			want: "", warnings: "none",
		},
		"null withdraws a birth": {
			say: []said{
				{"census", `{"asOf":"2026-03-04T15:00:00Z","rooms":[{"roomId":4,"status":"occupied","area":"LDR","deliveredAt":"2026-03-04T14:50:00Z"}]}`},
				{"census", `{"asOf":"2026-03-04T15:10:00Z","rooms":[{"roomId":4,"status":"occupied","deliveredAt":null}]}`},
			},
			want: "4 60 labor-standard", warnings: "none",
		},
		"2 PV1-11 and PV1-42 are never the place": {
			say: []said{msg("A01", "080000-0600", "3="+ldr, "11=MBU^301", "42=OBOR^OR1")}, want: labor,
		},
		"a null place of a transfer": {
			say: []said{msg("A01", "080000-0600", "3="+ldr), msg("A02", "081000-0600", `3=""`)}, want: "",
		},
		"a newer census does not list the visit": {
			say:  []said{{"census", `{"asOf":"2026-03-04T14:05:00Z","rooms":[{"roomId":9,"status":"empty"}]}`}, msg("A01", "080000-0600", "3="+ldr)},
			want: "", warnings: "census_newer@EVN",
		},
		"a newer census does not list a patient of another unit": {
			say: []said{
				msg("A01", "080000-0600", "3=ICU^5"),
				{"census", `{"asOf":"2026-03-04T14:05:00Z","rooms":[{"roomId":9,"status":"empty"}]}`},
				msg("A08", "080200-0600", "3=ICU^5"),
			},
			want: "", warnings: "none",
		},
		"older diagnoses": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr), msg("A08", "082000-0600", "DG1|1||O13.3^x^I10"), msg("A08", "081000-0600", "DG1|1||O66.41^x^I10"),
			},
			want: "LDR04 60 high-preeclampsia labor-standard", warnings: "statement_older@DG1",
		},
		"a placeholder for the birth date": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr, "PID|1||MRN1^^^STMARY^MR||||20260304"), msg("A08", "081000-0600", "PID|1||MRN1^^^STMARY^MR||||19940211"),
			},
			want: labor,
		},
		"a placeholder for the birth date in FHIR": {
			say: []said{
				{"fhir", `[` + dated("2026-03-04", "15:10") + `,` + inAccount("m", "IMP", "LDR04") + `]`}, {"fhir", `[` + dated("1994-02-11", "15:25") + `,` + inAccount("m", "IMP", "LDR04") + `]`},
			},
			want: labor,
		},
		"an older score": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr),
				{"census", inLDR04},
				{"clinical", `{"roomId":4,"signals":[` + mews("2", "15:00") + `]}`},
				{"clinical", `{"roomId":4,"signals":[` + mews("6", "14:30") + `]}`},
			},
			want: "LDR04 60 labor-standard", warnings: "statement_older@signals[0]",
		},
		"an older score in FHIR": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr), {"fhir", scored("a", "2", "15:00")}, {"fhir", scored("b", "6", "14:30")},
			},
			want: "LDR04 60 labor-standard", warnings: "statement_older@Observation",
		},
		"an older version in FHIR": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr), {"fhir", scored("a", "2", "15:00")}, {"fhir", strings.Replace(scored("a", "6", "15:00"), "T15:20", "T15:10", 1)},
			},
			want: "LDR04 60 labor-standard", warnings: "version_older@Observation",
		},
		"a score again in FHIR": {
			say:  []said{msg("A01", "080000-0600", "3="+ldr), {"fhir", scored("a", "2", "15:00")}, {"fhir", scored("b", "1", "15:10")}, {"fhir", scored("a", "2", "15:00")}},
			want: "LDR04 60 labor-standard", warnings: "none",
		},
		"a number of the unit in another unit": {
			say: []said{{"census", inLDR04}, msg("A01", "080000-0600", "3=ICU^4")}, want: "", warnings: "outside_unit@PV1-3",
		},
		"a number of the unit in an unknown unit": {
			say: []said{{"census", inLDR04}, msg("A01", "080000-0600", "3=5N^4")}, want: "LDR04 60 labor-standard", warnings: "room_by_number@PV1-3",
		},
		"another unit in FHIR": {
			say: []said{{"census", inLDR04}, {"fhir", inAccount("m", "IMP", "ICU 4")}}, want: "", warnings: "outside_unit@Encounter",
		},
		"two facilities": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr+"^01^EAST"), event("A01", "14:00:00", `,"location":{"pointOfCare":"L&D","room":"LDR04","facility":"WEST"}`),
			},
			want: "LDR04 60 labor-standard", warnings: "facility_differs@location",
		},
		"mother and newborn with one account in FHIR": {
			say:  []said{{"fhir", `[` + inAccount("m", "IMP", "LDR04") + `,` + inAccount("n", "NEWBORN", "LDR04") + `]`}},
			want: "LDR04 120 nb-stabilization pp-immediate-recovery-vag", warnings: "none",
		},
		"an account in FHIR that HL7 has sent": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr, "PID|1||MRNm^^^STMARY^MR|||||||||||||||ACC9"), {"fhir", `[` + inAccount("m", "IMP", "MBU7") + `]`},
			},
			want: "MBU7 20 pp-couplet",
		},
		"a newer census lists only the mother": {
			say: []said{
				{"census", `{"asOf":"2026-03-04T15:05:00Z","rooms":[{"roomId":4,"status":"occupied","visitId":"VN1","primaryFactor":"pp-couplet"}]}`},
				mother,
				msg("A01", "090000-0600", "3=MBU^301", "4=N", "19=VN2", "PID|1||MRN2^^^STMARY^MR||||||||||||||||||MRN1^^^STMARY^MR"),
			},
			want: "4 80 nb-stabilization pp-couplet", warnings: "none",
		},
		"a census in between does not list the visit": {
			say:  []said{msg("A01", "080000-0600", "3="+ldr), {"census", `{"asOf":"2026-03-04T14:05:00Z","rooms":[{"roomId":9,"status":"empty"}]}`}, msg("A02", "081000-0600", "3="+ldr)},
			want: labor, warnings: "none",
		},
		"a facility alone is no place": {
			say: []said{msg("A01", "080000-0600", "3="+ldr), msg("A02", "081000-0600", "3=^^^STMARY")}, want: labor, warnings: "location_missing@PV1-3",
		},
		"a facility alone is no place in JSON": {
			say:  []said{event("A01", "14:00:00", `,"location":{"pointOfCare":"L&D","room":"LDR04"}`), event("A02", "14:10:00", `,"location":{"facility":"STMARY"}`)},
			want: labor, warnings: "field_not_used@location.facility, location_missing@location",
		},
		"2 DG1-3.3 wins over DG1-2, the alternate counts too": {
			say: []said{msg("A01", "080000-0600", "3="+ldr, "DG1|1|I9|O13.3^x^I10", "DG1|2||77^x^L^O66.41^y^I10C")}, want: "LDR04 60 labor-tolac high-preeclampsia labor-standard",
		},
		"is unmapped": {
			say: []said{msg("A01", "080000-0600", "3="+ldr, "DG1|1|I9|O13.3^x")}, want: labor,
		},
		"no system: by the shape": {
			say: []said{msg("A01", "080000-0600", "3="+ldr, "DG1|1||o133")}, want: "LDR04 60 high-preeclampsia labor-standard", warnings: "system_assumed@DG1[1]-3",
		},
		"a delta": {
			say: []said{
				msg("A01", "080000-0600", "3="+ldr, "DG1|1||O13.3^x^I10", "DG1|2||O66.41^x^I10"),
				msg("A08", "081000-0600", "DG1|1||O13.3^x^I10"+strings.Repeat("|", 18)+"D", "DG1|2"),
			},
			want: "LDR04 60 labor-tolac labor-standard",
		},
		"2 a null code clears": {
			say:  []said{msg("A01", "080000-0600", "3="+ldr, "DG1|1||O13.3^x^I10"), msg("A08", "081000-0600", `DG1|1||""`)},
			want: labor,
		},
		"4 a newborn by PV1-4, with the mother of PID-21": {
			say: []said{
				msg("A01", "010000-0600", "3=MBU^301"),
				msg("A01", "020000-0600", "3=MBU^301", "4=N", "19=VN2", "PID|1||MRN2^^^STMARY^MR||||||||||||||||||MRN1^^^STMARY^MR"),
				msg("A02", "085000-0600", "3=MBU^302"),
			},
			want: "MBU 302 20 nb-stabilization pp-couplet",
		},
		"a newborn with the mother's account in PID-21": {
			say:  []said{mother, born("A01", "0900", "", "ACC1^^^STMARY^AN"), msg("A02", "091000-0600", "3=MBU^302")},
			want: "MBU 302 120 nb-stabilization pp-immediate-recovery-vag",
		},
		"a newborn with the mother's visit in PID-21": {
			say: []said{mother, born("A01", "0900", "", "VN1^^^STMARY^VN")}, want: "MBU 301 120 nb-stabilization pp-immediate-recovery-vag",
		},
		"a newborn in the mother's account": {
			say: []said{mother, born("A01", "0900", "ACC1", "ACC1^^^STMARY^AN")}, want: "MBU 301 120 nb-stabilization pp-immediate-recovery-vag",
		},
		"a newborn who is not of PID-21's account": {
			say: []said{
				mother, msg("A01", "080000-0600", "3=MBU^305", "19=VN5", "PID|1||MRN5^^^STMARY^MR|||||||||||||||ACC5"),
				born("A01", "0900", "", "ACC5^^^STMARY^AN"), born("A08", "0910", "", "MRN1^^^STMARY^MR"),
			},
			want: "MBU 301 120 nb-stabilization pp-immediate-recovery-vag; MBU 305 20 pp-couplet",
		},
		"a patient without a visit": {
			say: []said{msg("A01", "080000-0600", "3="+ldr, "19=")}, want: labor, warnings: "visit_by_patient@PV1-19",
		},
		"a cancel names what it cancels": {
			say: []said{
				event("admit", "14:00:00", `,"roomId":4,"primaryFactor":"labor-epidural"`), event("transfer", "14:10:00", `,"roomId":5`), event("transfer", "14:20:00", `,"roomId":6`),
				event("cancel-transfer", "14:30:00", `,"cancelsOccurredAt":"2026-03-04T14:20:00Z","priorRoomId":6`),
			},
			want: "5 30 labor-epidural",
		},
		"else the latest of its class": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4`), event("A02", "14:10:00", `,"roomId":5`), event("cancel-transfer", "14:30:00", "")},
			want: "4 60 labor-standard",
		},
		"without eventId the facts are the identity": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4,"primaryFactor":"labor-epidural"`), event("admit", "14:00:00", `,"roomId":4,"primaryFactor":"labor-epidural"`)},
			want: "4 30 labor-epidural",
		},
		"feeds share their visits": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4`), msg("A02", "084000-0600", "3="+ldr), {"census", `{"rooms":[{"roomId":9,"status":"occupied","visitId":"VN1"}]}`}},
			want: "9 60 labor-standard",
		},
		"any system name of diagnoses": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4,"primaryFactor":"labor-epidural","diagnoses":[{"system":"I10C","code":"O13.3"},{"system":"SCT","code":"46764007"}]`)},
			want: "4 60 high-preeclampsia labor-epidural",
		},
		"roomId wins over the location": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4,"roomLabel":"Four","location":{"pointOfCare":"LDR","room":"99"}`)},
			want: "Four 60 labor-standard",
		},
		"a known label stays": {
			say: []said{
				event("A01", "14:00:00", `,"roomId":4,"roomLabel":"Four"`),
				{"adt", `{"eventType":"A01","occurredAt":"2026-03-04T14:01:00Z","visitId":"VN2","roomId":4,"roomLabel":"Five"}`},
			},
			want: "Four 120 labor-standard", warnings: "room_label_differs",
		},
		"without a label the number is the label": {
			say:  []said{event("A01", "14:00:00", `,"roomId":4,"location":{"pointOfCare":"LDR","room":"LDR99"}`)},
			want: "4 60 labor-standard",
		},
		"an unknown factor, nothing applied": {
			say: []said{{"census", `{"rooms":[{"roomId":4,"status":"occupied","modifiers":["high-mag","no-such"]}]}`}}, want: "",
		},
		"56 one bad signal, nothing applied": {
			say: []said{{"clinical", strings.Replace(mag, `]}`, `,{"kind":"medication","system":"ICD-10-CM","code":"1"}]}`, 1)}}, want: "",
		},
		"54 an unknown status is active": {
			say: []said{{"clinical", strings.Replace(mag, `"code"`, `"status":"whatever","code"`, 1)}}, want: "4 60 high-mag", warnings: "status_unknown@signals[0].status",
		},
		"54 canceled, in any case": {
			say: []said{{"clinical", strings.Replace(mag, `"code"`, `"observedAt":"2026-03-04T15:00:00Z","code"`, 1)}, {"clinical", strings.Replace(mag, `"code"`, `"status":"Canceled","code"`, 1)}}, want: "",
		},
		"26 a time far ahead warns and counts as now": {
			say: []said{{"clinical", strings.Replace(mag, "15:00", "16:00", 1)}}, want: "4 60 high-mag", warnings: "time_in_future@signals[0].startedAt",
		},
		"57 X15 keys of a census": {
			say: []said{
				{"census", `{"asOf":"2026-03-04T15:00:00Z","rooms":[{"roomId":4,"status":"occupied","primaryFactor":"ap-stable","modifiers":["high-cardiac"],"diagnoses":[{"system":"ICD-10-CM","code":"O13.2"}]}]}`},
				{"census", `{"asOf":"2026-03-04T15:10:00Z","rooms":[{"roomId":4,"status":"occupied","modifiers":[]}]}`},
			},
			want: "4 30 high-preeclampsia ap-stable",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			d := open(t)
			u, offset := hospital.New("stmary"), int64(-1)
			d.change = func(o *acuity.Observation) acuity.Change {
				offset++
				return u.Apply(o, offset)
			}
			var last *answer
			for _, s := range row.say {
				last = d.post(t, s.path, s.body)
			}
			v := score.Judge(u.Chart(), acuity.At(now))
			if got := occupied(&v); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if got := last.warnings(); row.warnings != "" && !strings.Contains(got, row.warnings) && (got != "" || row.warnings != "none") {
				t.Errorf("warnings %q, want %q", got, row.warnings)
			}
		})
	}
}

func occupied(v *score.Verdict) string {
	var list []string
	for i := range v.Rooms {
		r := &v.Rooms[i]
		if r.Demand == 0 && len(r.Factors) == 0 {
			continue
		}
		s := fmt.Sprintf("%s %d", r.Label, r.Demand)
		for j := range r.Factors {
			s += " " + r.Factors[j].Factor.ID()
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}
