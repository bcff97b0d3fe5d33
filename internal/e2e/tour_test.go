package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// tour follows the steps of a newcomer: it sends data to six of the feeds and reads the verdict.
func tour(t *testing.T, p *partner) {
	eventually(t, 30*time.Second, func() error { // reads return 503 until the view is complete
		if a := p.get(t, "/api/v1/level"); a.status != http.StatusNotFound || a.Error.Code != "not_found" {
			return fmt.Errorf("before any state: %d %s", a.status, a.raw)
		}
		return nil
	})
	since := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }

	// The example unit of docs/scoring.md needs 8.5 nurses.
	var rows []string
	for id := 1; id <= 5; id++ {
		rows = append(rows, fmt.Sprintf(`{"roomId":%d,"roomLabel":"LDR %d","area":"L&D","status":"occupied","primaryFactor":"labor-standard"}`, id, id))
	}
	rows = append(rows, fmt.Sprintf(`{"roomId":6,"roomLabel":"OBT 1","area":"TRI","status":"occupied","primaryFactor":"triage-initial","primaryFactorSince":%q}`, since(0)))
	for id := 10; id < 16; id++ {
		rows = append(rows, fmt.Sprintf(`{"roomId":%d,"roomLabel":"%d","area":"PP","status":"occupied","primaryFactor":"pp-couplet"}`, id, 300+id))
	}
	p.accepted(t, "census", fmt.Sprintf(`{"asOf":%q,"totalRooms":24,"rooms":[%s]}`, since(time.Hour), strings.Join(rows, ",")))
	p.accepted(t, "staffing", `{"nursesOnDuty":8,"callStaffAvailable":true}`)
	mag := p.accepted(t, "clinical", fmt.Sprintf(`{"roomId":7,"roomLabel":"LDR 7","signals":[{"kind":"medication","system":"RxNorm","code":"6585","display":"magnesium sulfate","status":"active","startedAt":%q}]}`, since(61*time.Minute)))
	if len(mag.Activated) != 1 || mag.Activated[0].FactorID != "high-mag" || mag.Activated[0].RoomID != 7 {
		t.Errorf("activated by magnesium: %+v", mag.Activated)
	}
	u := p.unitState(t)
	if u.Level != "yellow" || u.DrivingAxis != "staffing" || u.RatioShortfall != 1 || u.NursesRequired != 8.5 || len(u.Rooms) != 13 {
		t.Fatalf("the worked unit: %+v", u)
	}
	p.accepted(t, "staffing", `{"nursesOnDuty":6}`)
	var level struct {
		Level, DrivingAxis, DrivingAxisLabel string
		RatioShortfall                       int
	}
	a := p.get(t, "/api/v1/level")
	into(t, a.Data, &level)
	if level.Level != "red" || level.DrivingAxis != "staffing" || level.RatioShortfall != 3 || level.DrivingAxisLabel != "Short-staffed" {
		t.Errorf("six nurses: %s", a.raw)
	}

	// Send a visit by HL7: triage, labor, discharge.
	p.accepted(t, "staffing", `{"nursesOnDuty":12}`)
	before := p.unitState(t)
	message := func(event string, at time.Time, pv1 string, more ...string) string {
		stamp := at.UTC().Format("20060102150405-0700")
		return strings.Join(append([]string{
			`MSH|^~\&|EPIC|STMARY|SVC|STMARY|` + stamp + `||ADT^` + event + `|` + event + stamp + `|P|2.5.1`,
			`EVN|` + event + `|` + stamp,
			`PID|1||MRN7001^^^STMARY^MR||TESTPATIENT^ONE||19940211|F`,
			`PV1|1|` + pv1 + `|||||||||||||||||VN9001`,
		}, more...), "\r") + "\r"
	}
	hl7 := func(text string) {
		t.Helper()
		eventually(t, 30*time.Second, func() error { // a sender retries a message that was not acknowledged
			a, err := p.do(http.MethodPost, "/api/ingest/hl7", "text/plain", text)
			if err == nil && (a.status != http.StatusOK || !strings.Contains(string(a.raw), "MSA|AA|")) {
				err = fmt.Errorf("ACK %v", a)
			}
			return err
		})
	}
	// An ACK confirms only that the message is durable. On a slow machine, the effect comes later.
	shown := func(what string, is func(unitState) bool) {
		t.Helper()
		eventually(t, 30*time.Second, func() error {
			if u := p.unitState(t); !is(u) {
				return fmt.Errorf("not %s: %+v", what, u)
			}
			return nil
		})
	}
	now := time.Now()
	hl7(message("A04", now.Add(-30*time.Minute), `O|OBTRI^T02^01^STMARY`))
	shown("after A04", func(u unitState) bool { return len(u.Rooms) == len(before.Rooms)+1 })
	hl7(message("A01", now.Add(-20*time.Minute), `I|L&D^LDR04^01^STMARY`, `DG1|1||O14.13^Severe pre-eclampsia^I10||`+now.Add(-20*time.Minute).UTC().Format("20060102150405-0700")+`|W`))
	shown("labor and severe pre-eclampsia", func(u unitState) bool {
		for _, room := range u.Rooms {
			if room.PrimaryFactor != nil && *room.PrimaryFactor == "labor-standard" && len(room.Factors) == 2 &&
				room.Factors[0].ID == "high-preeclampsia" && room.Color == "orange" {
				return true
			}
		}
		return false
	})
	hl7(message("A03", now.Add(-time.Minute), `I|L&D^LDR04^01^STMARY`))
	shown("as before the admission", func(u unitState) bool { return u.NursesRequired == before.NursesRequired })

	// Valid events of a batch are applied, and the invalid ones are reported.
	var batch struct {
		Counts  struct{ Received, Applied, Duplicates, Ignored, Rejected int }
		Results []struct{ Status string }
	}
	good := fmt.Sprintf(`{"eventId":"b1","eventType":"admit","occurredAt":%q,"visitId":"B1","roomId":20,"patientClass":"I","primaryFactor":"ap-stable"}`, since(time.Hour))
	b := p.post(t, "batch", `{"events":[`+good+`,{"eventType":"A99"},`+good+`]}`)
	into(t, b.Data, &batch)
	if c := batch.Counts; c.Received != 3 || c.Applied != 1 || c.Duplicates != 1 || c.Rejected != 1 {
		t.Errorf("batch: %s", b.raw)
	}
	p.accepted(t, "roster", `{"nurses":[{"externalId":"n1","skillLevel":2},{"externalId":"n2","skillLevel":0,"assignedRoomIds":[1]}]}`)

	// When a timer expires, the verdict changes at that instant, without an input.
	p.accepted(t, "clinical", fmt.Sprintf(`{"roomId":30,"signals":[{"kind":"observation","system":"LOINC","code":"1-8","display":"MEWS total score","value":5,"observedAt":%q}]}`,
		time.Now().Add(-240*time.Minute+1500*time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z07:00")))
	active := p.unitState(t)
	eventually(t, 5*time.Second, func() error {
		u := p.unitState(t)
		for _, room := range u.Rooms {
			if room.RoomID == 30 && len(room.Factors) > 0 {
				return fmt.Errorf("MEWS still counts: %+v", room)
			}
		}
		if u.Version <= active.Version {
			return fmt.Errorf("version %d after %d: the change was not written", u.Version, active.Version)
		}
		return nil
	})

	// A conditional read of an unchanged state returns 304 without a body.
	first := p.get(t, "/api/v1/level")
	if again := p.get(t, "/api/v1/level", "If-None-Match", first.header.Get("ETag")); again.status != http.StatusNotModified || len(again.raw) != 0 {
		t.Errorf("If-None-Match: %d %q", again.status, again.raw)
	}
}
