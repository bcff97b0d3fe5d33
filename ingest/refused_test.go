package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/acuity/hospital"
	"svc/internal/httpapi"
)

// refused returns the parts of a body that the answer lists as refused.
func (a *answer) refused(t *testing.T) (all []httpapi.Detail) {
	t.Helper()
	var body struct {
		Data  struct{ Refused []httpapi.Detail }
		Error struct{ Details []httpapi.Detail }
	}
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil {
		t.Fatal(err, a.raw)
	}
	return append(body.Data.Refused, body.Error.Details...)
}

// rooms returns n ADT events, each with a different visit and room.
func rooms(from, n int) string {
	var list []string
	for i := from; i < from+n; i++ {
		list = append(list, fmt.Sprintf(`{"eventType":"A01","occurredAt":"2026-03-04T15:10:00Z","visitId":"V%d","roomId":%d}`, i, i))
	}
	return `{"events":[` + strings.Join(list, ",") + `]}`
}

// TestRefusedBeyondALimit: an item beyond a limit of the hospital is refused and not applied, not even later. The
// answer of each feed names the rule in the feed's format. Items within the limit are applied.
func TestRefusedBeyondALimit(t *testing.T) {
	const maxRooms, maxOfPatient = "maxRooms:1000", "maxVisitsPerPatient:50"
	only := func(t *testing.T, a *answer, path, rule string) {
		t.Helper()
		if got := a.refused(t); len(got) != 1 || got[0] != (httpapi.Detail{Path: path, Rule: rule}) {
			t.Errorf("refused %v, want %s %s: %s", got, path, rule, a.raw)
		}
	}
	d := open(t)
	d.unit()
	for i := range 2 {
		if a := d.post(t, "batch", rooms(i*500, 500)); a.status != 200 || a.Data.Counts["applied"] != 500 || len(a.refused(t)) > 0 {
			t.Fatal(a.status, a.raw)
		}
	}
	message := func(visit, patient, room string) string {
		return "MSH|^~\\&|EPIC|STMARY|SVC|STMARY|20260304092900-0600||ADT^A01^ADT_A01|" + visit + "|P|2.5.1\rEVN|A01|20260304092900-0600\r" +
			"PID|1||" + patient + "\rPV1|1|I|LD^" + room + "^01^STMARY||||||||||||||||" + visit + "\r"
	}
	t.Run("adt", func(t *testing.T) {
		a := d.post(t, "adt", `{"eventType":"A01","occurredAt":"2026-03-04T15:10:00Z","visitId":"X1","roomId":5001}`)
		if only(t, a, "roomId", maxRooms); a.status != 422 {
			t.Error(a.status)
		}
		if a := d.post(t, "adt", `{"eventType":"A01","occurredAt":"2026-03-04T15:12:00Z","visitId":"W1","roomId":2}`); a.status != 200 || *a.Data.Outcome != "applied" {
			t.Error("a room in use:", a.status, a.raw)
		}
	})
	t.Run("batch", func(t *testing.T) {
		a := d.post(t, "batch", `{"events":[{"eventType":"A01","occurredAt":"2026-03-04T15:10:00Z","visitId":"X2","roomId":5002},{"eventType":"A08","occurredAt":"2026-03-04T15:12:00Z","visitId":"V1"}]}`)
		only(t, a, "events[0]", maxRooms)
		if r := a.Data.Results; r[0].Status != "rejected" || r[0].Error.Code != "unprocessable" || r[0].Error.Details[0].Rule != maxRooms || r[1].Status != "applied" || a.Data.Counts["rejected"] != 1 {
			t.Error(a.raw)
		}
	})
	t.Run("clinical", func(t *testing.T) {
		a := d.post(t, "clinical", `{"roomId":5003,"signals":[]}`)
		if only(t, a, "roomId", maxRooms); a.status != 422 {
			t.Error(a.status)
		}
	})
	t.Run("hl7", func(t *testing.T) {
		a := d.post(t, "hl7", wrapped(message("X4", "P4", "N1")))
		if a.status != 422 || !strings.Contains(a.raw, `"ackCode":"AE"`) || !strings.Contains(a.raw, "207^Application internal error") {
			t.Error(a.status, a.raw)
		}
		a = d.post(t, "hl7", message("X5", "P5", "N2"), "Content-Type", "text/plain")
		if a.status != 200 || !strings.Contains(a.raw, "MSA|AE|X5") {
			t.Error(a.status, a.raw)
		}
		if a = d.post(t, "hl7", wrapped(message("V7", "P7", "7")+message("X6", "P6", "N3"))); a.status != 200 || a.Data.AckCode != "AE" {
			t.Error(a.status, a.raw)
		}
		only(t, a, "messages[1]", maxRooms)
		if k := a.Data.Acks; k[0].AckCode != "AA" || *k[0].Outcome != "applied" || k[1].AckCode != "AE" || *k[1].Outcome != "rejected" {
			t.Error(a.raw)
		}
		if strings.Count(a.Data.Ack, "MSA|AA|V7") != 1 || strings.Count(a.Data.Ack, "MSA|AE|X6") != 1 {
			t.Error(a.Data.Ack)
		}
	})
	t.Run("fhir", func(t *testing.T) {
		var list []string
		for i := range 2001 {
			list = append(list, fmt.Sprintf(`{"resource":{"resourceType":"Observation","id":"o%d","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"11949-4"}]},`+
				`"valueString":"Category II","subject":{"reference":"Patient/p%d"},"encounter":{"reference":"Encounter/e%d"}}}`, i, i, i))
		}
		list = append(list, `{"resource":{"resourceType":"Encounter","id":"x7","status":"in-progress","class":{"code":"IMP"},"period":{"start":"2026-03-04T15:00:00Z"},"location":[{"location":{"display":"N4"},"status":"active"}]}}`)
		a := d.post(t, "fhir", `{"resourceType":"Bundle","type":"collection","entry":[`+strings.Join(list, ",")+`]}`)
		if got := a.refused(t); len(got) != 2 || got[0] != (httpapi.Detail{Path: "Bundle.entry[2001].resource", Rule: maxRooms}) || got[1] != (httpapi.Detail{Path: "Bundle.entry[2000].resource", Rule: "maxUnknown:2000"}) {
			t.Error(got)
		}
		for _, want := range []string{
			`"resources":{"received":2002,"applied":2000,"ignored":0,"rejected":2}`, `"adtEvents":0,"signals":2000`,
			`{"severity":"error","code":"too_many_references","expression":"Bundle.entry[2000].resource",`,
			`{"severity":"error","code":"too_many_rooms","expression":"Bundle.entry[2001].resource",`,
		} {
			if !strings.Contains(a.raw, want) {
				t.Error("lacks", want, a.raw[:min(len(a.raw), 2000)])
			}
		}
	})
	t.Run("census", func(t *testing.T) {
		d := open(t)
		d.unit()
		var last *answer
		for i := range 11 { // each census lists different rooms, because the unit keeps the rooms of all visits
			var list []string
			for j := range 500 {
				list = append(list, fmt.Sprintf(`{"roomId":%d,"status":"occupied","visitId":"C%d"}`, i*499+j, i*500+j))
			}
			last = d.post(t, "census", fmt.Sprintf(`{"asOf":"2026-03-04T15:%02d:00Z","rooms":[%s]}`, i, strings.Join(list, ",")))
			if last.status != 200 || *last.Data.Outcome != "applied" {
				t.Fatal(last.raw)
			}
		}
		got := last.refused(t)
		if len(got) != 490 || got[0] != (httpapi.Detail{Path: "rooms[10]", Rule: maxRooms}) {
			t.Error(len(got), got[:min(len(got), 3)])
		}
	})
	t.Run("patient", func(t *testing.T) {
		d := open(t)
		d.unit()
		for i := range 51 {
			a := d.post(t, "adt", fmt.Sprintf(`{"eventType":"A01","occurredAt":"2026-03-04T15:10:00Z","visitId":"V%d","patientId":"P","roomId":1}`, i))
			if i < 50 {
				if a.status != 200 {
					t.Fatal(i, a.raw)
				}
				continue
			}
			if only(t, a, "patientId", maxOfPatient); a.status != 422 {
				t.Error(a.status)
			}
		}
	})
}

// TestRulesAreTheLimits: if a limit of the hospital is exceeded, the refusal names a rule that ends with the same value
// as the limit in the capabilities.
func TestRulesAreTheLimits(t *testing.T) {
	limits := hospital.Limits()
	for reason, limit := range map[string]string{
		"too_many_rooms": "roomsInUse", "too_many_visits": "visits", "too_many_visits_of_patient": "visitsPerPatient",
		"too_many_events": "eventBytes", "too_many_statements": "statements", "too_many_references": "unknownVisits",
	} {
		rule, over := hospital.Exceeded(reason)
		if !over || !strings.HasSuffix(rule, fmt.Sprint(":", limits[limit])) || limits[limit] == 0 {
			t.Errorf("%s: %s, the limit is %d", reason, rule, limits[limit])
		}
	}
}
