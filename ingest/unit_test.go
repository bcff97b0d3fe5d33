package ingest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
)

// unit makes the fixture apply each observation to the state of a unit, as a processor does.
func (d *fixture) unit() {
	u := hospital.New("stmary")
	offset := int64(-1)
	d.change = func(o *acuity.Observation) acuity.Change {
		offset++
		return u.Apply(o, offset)
	}
}

// TestFeedsOfAUnit: a unit gets facts from all feeds, and each answer reports the effect of its request.
func TestFeedsOfAUnit(t *testing.T) {
	d := open(t)
	d.unit()
	post := func(path, body string, header ...string) *answer {
		t.Helper()
		a := d.post(t, path, body, header...)
		if a.status != 200 || a.Data.Ack == "" && !a.Data.Applied {
			t.Fatalf("%s: %d %s", path, a.status, a.raw)
		}
		return a
	}
	post("census", `{"asOf":"2026-03-04T14:00:00Z","rooms":[{"roomId":4,"roomLabel":"LDR04","area":"LD","status":"empty"},{"roomId":7,"roomLabel":"T02","area":"OBTRI","status":"empty"},{"roomId":9,"status":"blocked"}]}`)
	post("staffing", `{"nursesOnDuty":6,"callStaffAvailable":true}`)
	for _, sample := range []string{"01_a04", "02_a01"} {
		raw, err := os.ReadFile("hl7/testdata/" + sample + ".hl7")
		if err != nil {
			t.Fatal(err)
		}
		a := post("hl7", wrapped(string(raw)))
		if *a.Data.Outcome != "applied" || a.Data.AckCode != "AA" {
			t.Error(sample, a.raw)
		}
		if again := post("hl7", wrapped(string(raw))); *again.Data.Outcome != "duplicate" || plain(again.Data.Ack) != plain(a.Data.Ack) {
			t.Error(sample, again.raw)
		}
		if sample == "02_a01" && !strings.Contains(a.raw, `"factorId":"high-preeclampsia"`) {
			t.Error(a.raw)
		}
	}
	a := post("clinical", mutate(clinicalBody, "signals[0].startedAt", `"2026-03-04T15:00:00Z"`))
	if !strings.Contains(a.raw, `{"roomId":4,"roomLabel":"LDR04","factorId":"high-mag","label":"Magnesium sulfate infusion","ratio":"1:1","since":"2026-03-04T15:00:00.000Z","evidence":"signal"}`) {
		t.Error(a.raw)
	}
	if !strings.Contains(strings.Join(a.Data.Active, " "), "high-mag") {
		t.Error(a.Data.Active)
	}
	a = post("clinical", mutate(mutate(clinicalBody, "signals[0].status", `"stopped"`), "signals[0].observedAt", `"2026-03-04T15:20:00Z"`))
	if !strings.Contains(a.raw, `"expired":[{"roomId":4,"roomLabel":"LDR04","factorId":"high-mag"`) {
		t.Error(a.raw)
	}
	a = post("adt", `{"eventId":"E1","eventType":"A01","occurredAt":"2026-03-04T15:10:00Z","visitId":"VN2","roomId":7}`)
	if a.Data.RoomID == nil || *a.Data.RoomID != 7 {
		t.Error(a.raw)
	}
	a = post("adt", `{"eventId":"E1","eventType":"A01","occurredAt":"2026-03-04T15:20:00Z","visitId":"VN2","roomId":7}`)
	if *a.Data.Outcome != "duplicate" || a.warnings() != "event_id_reused@eventId" {
		t.Error(a.raw)
	}
	a = post("batch", `{"events":[7,{"eventId":"E1","eventType":"A03","occurredAt":"2026-03-04T15:20:00Z","visitId":"VN2"},`+
		`{"eventId":"E2","eventType":"A03","occurredAt":"2026-03-04T16:20:00Z","visitId":"VN2"}]}`)
	var got []string
	for _, r := range a.Data.Results {
		got = append(got, r.Status)
	}
	if fmt.Sprint(got) != "[rejected duplicate applied]" || a.warnings() != "time_in_future@events[2].occurredAt, event_id_reused@events[1].eventId" {
		t.Error(got, a.warnings(), a.raw)
	}
}

// TestClinicalNamesItsRoom: the response contains the room's label from the unit state, even if the request names the
// room differently.
func TestClinicalNamesItsRoom(t *testing.T) {
	d := open(t)
	d.unit()
	d.post(t, "census", `{"rooms":[{"roomId":4,"roomLabel":"LDR04","status":"empty"}]}`)
	for body, want := range map[string]string{
		`{"roomId":4,"signals":[]}`:                     "LDR04",
		`{"roomId":4,"roomLabel":"Other","signals":[]}`: "LDR04",
		`{"roomId":5,"roomLabel":"LDR05","signals":[]}`: "LDR05",
		`{"roomId":6,"signals":[]}`:                     "6",
	} {
		if a := d.post(t, "clinical", body); a.Data.RoomLabel == nil || *a.Data.RoomLabel != want {
			t.Errorf("%s: %s", body, a.raw)
		}
	}
}
