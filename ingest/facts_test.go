package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func at(hour, minute int) acuity.Instant {
	return acuity.At(time.Date(2026, 3, 4, hour, minute, 0, 0, time.UTC))
}

// newYear is the first instant after the most recent leap second.
var newYear = acuity.At(time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC))

func TestClinicalFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "clinical", clinicalBody)
	o := d.wantApplied(t, a)
	s := o.Signals[0]
	if o.Channel != acuity.ChannelClinical || *o.Room != (acuity.RoomRef{ID: 4, Label: "LDR04"}) || len(o.Signals) != 1 ||
		s.Room != 4 || s.Kind != catalogue.KindMedication || s.System != codes.RxNorm || s.Code != "6585" || s.Display != "magnesium sulfate" ||
		s.Value != codes.ParseValue("4") || s.Status != acuity.SignalActive || s.ObservedAt != at(15, 0) || s.StartedAt != at(14, 0) {
		t.Errorf("%+v", o)
	}
	for name, test := range map[string]struct {
		field, value string
		ok           func(acuity.Signal) bool
		warn         string
	}{
		"number":           {"value", "41.2", func(s acuity.Signal) bool { return s.Value == codes.ParseValue("41.2") }, ""},
		"SNOMED":           {"system", `"SNOMED"`, func(s acuity.Signal) bool { return s.System == codes.SNOMED }, ""},
		"SNOMED-CT":        {"system", `"SNOMED-CT"`, func(s acuity.Signal) bool { return s.System == codes.SNOMED }, ""},
		"local":            {"system", `"local"`, func(s acuity.Signal) bool { return s.System == codes.SystemLocal }, ""},
		"device":           {"kind", `"device"`, func(s acuity.Signal) bool { return s.Kind == catalogue.KindDevice }, ""},
		"completed":        {"status", `"completed"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalEnded }, ""},
		"Stopped":          {"status", `"Stopped"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalEnded }, ""},
		"cancelled":        {"status", `"cancelled"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalEnded }, ""},
		"canceled":         {"status", `"CANCELED"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalEnded }, ""},
		"entered in error": {"status", `"entered-in-error"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalRetracted }, ""},
		"on hold":          {"status", `"on-hold"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalOnHold }, ""},
		"no status":        {"status", `null`, func(s acuity.Signal) bool { return s.Status == acuity.SignalActive }, ""},
		"unknown status":   {"status", `"whatever"`, func(s acuity.Signal) bool { return s.Status == acuity.SignalActive }, "status_unknown@signals[0].status"},
		"local time":       {"observedAt", `"2026-03-04T09:00:00"`, func(s acuity.Signal) bool { return s.ObservedAt == at(15, 0) }, ""},
		"offset":           {"observedAt", `"2026-03-04T16:00:00.5+01:00"`, func(s acuity.Signal) bool { return s.ObservedAt == at(15, 0)+500 }, ""},
		"leap second":      {"observedAt", `"2016-12-31T23:59:60Z"`, func(s acuity.Signal) bool { return s.ObservedAt == newYear }, ""},
		"and its half":     {"observedAt", `"2016-12-31T23:59:60.5Z"`, func(s acuity.Signal) bool { return s.ObservedAt == newYear+500 }, ""},
		"with an offset":   {"observedAt", `"2017-01-01T05:29:60+05:30"`, func(s acuity.Signal) bool { return s.ObservedAt == newYear }, ""},
		"in the zone":      {"observedAt", `"2016-12-31T17:59:60"`, func(s acuity.Signal) bool { return s.ObservedAt == newYear }, ""},
		"of any day":       {"observedAt", `"2026-03-03T23:59:60Z"`, func(s acuity.Signal) bool { return s.ObservedAt == at(0, 0) }, ""},
		"a bit ahead":      {"observedAt", `"2026-03-04T15:35:00Z"`, func(s acuity.Signal) bool { return s.ObservedAt == at(15, 35) }, ""},
		"future":           {"observedAt", `"2026-03-04T15:36:00Z"`, func(s acuity.Signal) bool { return s.ObservedAt == at(15, 36) }, "time_in_future@signals[0].observedAt"},
		"masked":           {"display", `"call 555-123-4567"`, func(s acuity.Signal) bool { return s.Display == "call #" }, ""},
		"trimmed":          {"code", `" 65\u000085 "`, func(s acuity.Signal) bool { return s.Code == "6585" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			a := d.post(t, "clinical", mutate(clinicalBody, "signals[0]."+test.field, test.value))
			if s := d.wantApplied(t, a).Signals[0]; !test.ok(s) || a.warnings() != test.warn {
				t.Errorf("%+v, warnings %q", s, a.warnings())
			}
		})
	}
	t.Run("no signals", func(t *testing.T) {
		d := open(t)
		a := d.post(t, "clinical", `{"roomId":0,"signals":[]}`)
		if o := d.wantApplied(t, a); o.Room == nil || o.Room.ID != 0 || len(o.Signals) != 0 || a.Data.Received != 0 || a.Data.RoomLabel != nil {
			t.Error(a.raw)
		}
	})
	t.Run("500 signals", func(t *testing.T) {
		d := open(t)
		one := `{"kind":"lab","system":"LOINC","code":"1"}`
		a := d.post(t, "clinical", `{"roomId":1,"signals":[`+strings.Repeat(one+",", 499)+one+`]}`)
		if d.wantApplied(t, a); a.Data.Received != 500 {
			t.Error(a.Data.Received)
		}
	})
}

func TestCensusFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "census", censusBody)
	c := d.wantApplied(t, a).Census
	row := c.Rooms[0]
	labor, _ := catalogue.FactorByID("labor-standard")
	mag, _ := catalogue.FactorByID("high-mag")
	baby, _ := catalogue.FactorByID("nb-continuing")
	if c.AsOf != at(15, 0) || c.TotalRooms != 20 || row.ID != 4 || row.Label != "LDR04" || row.Area != "LD" || row.Status != acuity.RoomOccupied ||
		len(row.Visit) != 24 || row.Class != 'I' || row.Service != "OBS" || row.Primary != labor || row.PrimarySince != at(14, 0) ||
		row.DeliveredAt != at(13, 0) || !row.Cesarean || !row.HasModifiers || !slices.Equal(row.Modifiers, []catalogue.Factor{mag}) ||
		!row.HasDiagnoses || len(row.Diagnoses) != 1 || row.Diagnoses[0].System != codes.ICD10CM || row.Diagnoses[0].Code != "O14.1" ||
		!row.HasNewborns || len(row.Newborns) != 1 || row.Newborns[0].Primary != baby || len(row.Newborns[0].Visit) != 24 {
		t.Errorf("%+v", row)
	}
	if a.Data.Rooms != 1 || a.Data.Occupied != 1 || a.Data.Empty != 0 || a.Data.Blocked != 0 {
		t.Error(a.raw)
	}
	t.Run("lists absent, null and empty", func(t *testing.T) {
		d := open(t)
		o := d.wantApplied(t, d.post(t, "census", `{"rooms":[{"roomId":1,"status":"empty"},{"roomId":2,"status":"blocked","modifiers":null,"diagnoses":null,"newborns":null},{"roomId":3,"status":"empty","modifiers":[],"diagnoses":[],"newborns":[]}]}`))
		for i, want := range []bool{false, false, true} {
			if r := o.Census.Rooms[i]; r.HasModifiers != want || r.HasDiagnoses != want || r.HasNewborns != want {
				t.Errorf("room %d: %+v", i, r)
			}
		}
		if o.Census.TotalRooms != -1 || o.Census.AsOf != acuity.At(now) || o.Census.Rooms[1].Status != acuity.RoomBlocked {
			t.Errorf("%+v", o.Census)
		}
	})
	t.Run("future", func(t *testing.T) {
		d := open(t)
		a := d.post(t, "census", mutate(censusBody, "asOf", `"2026-03-04T16:00:00Z"`))
		if o := d.wantApplied(t, a); o.Census.AsOf != acuity.At(now) || a.warnings() != "time_in_future@asOf" {
			t.Error(o.Census.AsOf.Time(), a.warnings())
		}
	})
	t.Run("no room at all", func(t *testing.T) {
		d := open(t)
		d.wantApplied(t, d.post(t, "census", `{"rooms":[]}`))
	})
}

func TestStaffingFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "staffing", `{"nursesOnDuty":0}`)
	if s := d.wantApplied(t, a).Staffing; *s != (acuity.Staffing{AsOf: acuity.At(now), Nurses: 0, Call: acuity.Unsaid}) || a.Data.CallStaffAvailable != nil {
		t.Errorf("%+v %s", s, a.raw)
	}
	d = open(t)
	a = d.post(t, "staffing", `{"nursesOnDuty":7,"callStaffAvailable":false,"asOf":"2026-03-05T15:30:00Z"}`)
	if s := d.wantApplied(t, a).Staffing; s.AsOf != acuity.At(now.Add(24*time.Hour)) || s.Call != acuity.No || a.Data.NursesOnDuty != 7 || *a.Data.CallStaffAvailable || a.warnings() != "" {
		t.Errorf("%+v %s", s, a.raw)
	}
}

func TestRosterFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "roster", `{"nurses":[{"externalId":"N1","skillLevel":0,"hireDate":"2025-09-01"},{"skillLevel":1,"hireDate":"2021-03-04T00:00:00Z","assignedRoomIds":[4,5]},{"skillLevel":2,"hireDate":"2010-01-01","jobCode":"CHG"},{"hireDate":"2019-01-01"},{}]}`)
	r := d.wantApplied(t, a).Roster
	if r.AsOf != acuity.At(now) || len(r.Nurses) != 5 || r.Nurses[0].ExternalID != "N1" || r.Nurses[2].JobCode != "CHG" || fmt.Sprint(r.Nurses[1].Rooms) != "[4 5]" ||
		r.Nurses[3].Skill != -1 || r.Nurses[4].HiredDays != 0 || r.Nurses[2].HiredDays != 14610 {
		t.Errorf("%+v", r)
	}
	if want := `"nurses":5,"skillMix":{"novice":1,"experienced":1,"expert":1,"unknown":2},"tenure":{"under1y":1,"y1to5":0,"y5to10":2,"over10y":1,"unknown":1,"medianYears":6.1},"asOf":"2026-03-04T15:30:00.000Z"`; !strings.Contains(a.raw, want) {
		t.Errorf("no %s in %s", want, a.raw)
	}
}

// TestNurseListedTwice: a roster with two entries of one nurse, such as one per assignment, has one nurse. Nurses
// without an id are different nurses.
func TestNurseListedTwice(t *testing.T) {
	d := open(t)
	a := d.post(t, "roster", `{"nurses":[{"externalId":"N1","assignedRoomIds":[4,5]},{},{},{"externalId":"N1","skillLevel":2,"assignedRoomIds":[5,6]}]}`)
	r := d.wantApplied(t, a).Roster
	if len(r.Nurses) != 3 || r.Nurses[0].Skill != 2 || fmt.Sprint(r.Nurses[0].Rooms) != "[4 5 6]" || a.Data.Nurses != 3 {
		t.Errorf("%+v", r)
	}
	if got := a.warnings(); got != "nurse_twice@nurses[3]" {
		t.Errorf("warnings %s", got)
	}
}

// TestHiredInTheFuture: a hire date in the future counts as today. Tomorrow is accepted, because it may already be
// tomorrow in the sender's time zone.
func TestHiredInTheFuture(t *testing.T) {
	d := open(t)
	a := d.post(t, "roster", `{"nurses":[{"hireDate":"2062-03-04"},{"hireDate":"2026-03-05"},{"hireDate":"2026-03-06T00:00:00Z"}]}`)
	r := d.wantApplied(t, a).Roster
	const today = 20516 // 2026-03-04 in days since 1970-01-01
	if r.Nurses[0].HiredDays != today || r.Nurses[1].HiredDays != today+1 || r.Nurses[2].HiredDays != today {
		t.Errorf("%+v", r.Nurses)
	}
	if got := a.warnings(); got != "time_in_future@nurses[0].hireDate, time_in_future@nurses[2].hireDate" {
		t.Errorf("warnings %s", got)
	}
}

func TestADTFacts(t *testing.T) {
	d := open(t)
	a := d.post(t, "adt", adtBody)
	e := d.wantApplied(t, a).Events[0]
	labor, _ := catalogue.FactorByID("labor-standard")
	if e.Type != acuity.A01 || e.At != at(15, 0) || e.Precision != acuity.Second || e.RecordedAt != at(15, 1) || e.Cancels != 0 ||
		e.Place != (acuity.Location{HasRoomID: true, RoomID: 4, Label: "LDR04", PointOfCare: "LD", Room: "4", Bed: "1", Facility: "STMARY"}) ||
		e.Prior != (acuity.Location{HasRoomID: true, RoomID: 5, PointOfCare: "TRI", Room: "2", Bed: "1", Facility: "STMARY"}) ||
		e.Class != 'I' || e.Service != "OBS" || e.Primary != labor || !e.Newborn || e.DiagnosisMode != acuity.DiagnosisSnapshot || len(e.Diagnoses) != 1 {
		t.Errorf("%+v", e)
	}
	for _, id := range []string{e.ID, e.Digest, e.Visit, e.Patient, e.MotherVisit} {
		if len(id) != 24 {
			t.Errorf("%q is no pseudonym", id)
		}
	}
	if a.Data.EventType != "A01" || a.Data.Visit != e.Visit || a.Data.RoomID == nil || *a.Data.RoomID != 4 {
		t.Error(a.raw)
	}
	body := func(event, more string) string {
		return `{"eventType":"` + event + `","occurredAt":"2026-03-04T15:00:00Z","visitId":"V1"` + more + `}`
	}
	for name, test := range map[string]struct {
		body string
		ok   func(acuity.Event) bool
		warn string
	}{
		"words":    {body("cancel-discharge", ""), func(e acuity.Event) bool { return e.Type == acuity.A13 }, ""},
		"no place": {body("admit", ""), func(e acuity.Event) bool { return e.Type == acuity.A01 && e.Place.IsZero() && !e.Newborn }, ""},
		"cancel":   {body("cancel-admit", `,"cancelsOccurredAt":"2026-03-04T14:00"`), func(e acuity.Event) bool { return e.Cancels == at(20, 0) && e.CancelsPrecision == acuity.Minute }, ""},
		"day": {strings.Replace(body("A04", ""), "T15:00:00Z", "", 1), func(e acuity.Event) bool {
			return e.At == at(15, 30) && e.AtFrom == at(6, 0) && e.Precision == acuity.Day
		}, ""},
		"diagnoses clear":  {body("A08", `,"diagnoses":[]`), func(e acuity.Event) bool { return e.DiagnosisMode == acuity.DiagnosisClear }, ""},
		"diagnoses null":   {body("A08", `,"diagnoses":null`), func(e acuity.Event) bool { return e.DiagnosisMode == acuity.DiagnosisNone }, ""},
		"not on transfers": {body("A02", `,"diagnoses":[{"code":"O14"}]`), func(e acuity.Event) bool { return e.DiagnosisMode == acuity.DiagnosisNone && e.Diagnoses == nil }, "system_assumed@diagnoses[0].system, field_not_used@diagnoses"},
		"guessed system":   {body("A08", `,"diagnoses":[{"code":"O14.1"}]`), func(e acuity.Event) bool { return e.Diagnoses[0].System == codes.ICD10CM && len(e.Warnings) == 1 }, "system_assumed@diagnoses[0].system"},
		"newborn":          {body("A01", `,"patientClass":"N"`), func(e acuity.Event) bool { return e.Newborn }, ""},
		"future":           {strings.Replace(body("A01", ""), "T15:0", "T16:0", 1), func(e acuity.Event) bool { return e.At == at(16, 0) && len(e.Warnings) == 1 }, "time_in_future@occurredAt"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			a := d.post(t, "adt", test.body)
			if e := d.wantApplied(t, a).Events[0]; !test.ok(e) || a.warnings() != test.warn {
				t.Errorf("%+v, warnings %q", e, a.warnings())
			}
		})
	}
}

// TestEventIdentity: the identity of an event with an eventId does not depend on its content; a change to the content
// changes the digest. White space and the choice between the feeds adt and batch change neither. Without an eventId,
// the identity depends on the type, the visit, the times, the locations and the diagnoses, but not on the service.
func TestEventIdentity(t *testing.T) {
	event := func(body string) acuity.Event {
		d := open(t)
		return d.wantApplied(t, d.post(t, "adt", body)).Events[0]
	}
	base := event(adtBody)
	changed := event(mutate(adtBody, "service", `"GYN"`))
	if changed.ID != base.ID || changed.Digest == base.Digest {
		t.Error("eventId: the same id with another body must keep the id and change the digest")
	}
	if again := event(strings.ReplaceAll(adtBody, ",", " , ")); again.ID != base.ID || again.Digest != base.Digest {
		t.Error("white space changes the event")
	}
	if batch := func() acuity.Event {
		d := open(t)
		return d.wantApplied(t, d.post(t, "batch", `{"events":[`+adtBody+`]}`)).Events[0]
	}(); batch.ID != base.ID || batch.Digest != base.Digest {
		t.Error("batch and adt are not one name space")
	}
	anonymous := mutate(adtBody, "eventId", "null")
	plain := event(anonymous)
	if plain.ID == base.ID {
		t.Error("an event without id has the identity of one with")
	}
	if event(mutate(anonymous, "service", `"GYN"`)).ID != plain.ID {
		t.Error("service is part of the identity")
	}
	for field, value := range map[string]string{
		"eventType": `"A04"`, "visitId": `"V2"`, "occurredAt": `"2026-03-04T15:00:01Z"`, "recordedAt": `"2026-03-04T15:02:00Z"`, "roomId": "6",
		"diagnoses": `[]`, "location": `{"room":"5"}`,
	} {
		if event(mutate(anonymous, field, value)).ID == plain.ID {
			t.Errorf("%s is not part of the identity", field)
		}
	}
}

func TestBatch(t *testing.T) {
	good := func(visit string) string {
		return `{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"` + visit + `","roomId":1}`
	}
	d := open(t)
	d.change = func(o *acuity.Observation) acuity.Change {
		c := applyAll(o)
		c.Items[1].Outcome = acuity.Duplicate
		c.Items[2].Outcome = acuity.Ignored
		c.Items[3] = acuity.ItemResult{Outcome: acuity.Rejected, Reason: "event_cap"}
		return c
	}
	a := d.post(t, "batch", `{"events":[`+strings.Join([]string{
		good("V1"), `{"eventType":"A99","occurredAt":7}`, good("V2"), `7`, good("V3"),
		`{"eventType":"A01","occurredAt":"2026-03-04T15:00:00Z","visitId":"V9","primaryFactor":"nothing"}`, good("V4"),
	}, ",")+`]}`)
	if o := d.wantApplied(t, a); len(o.Events) != 4 || o.Channel != acuity.ChannelBatch {
		t.Fatalf("%+v", o.Events)
	}
	if got := fmt.Sprint(a.Data.Counts); got != "map[applied:1 duplicates:1 ignored:1 received:7 rejected:4]" {
		t.Error(got)
	}
	want := []string{
		"applied", "rejected invalid_request: events[1].visitId required, events[1].eventType " + eventEnum + ", events[1].occurredAt type:string", "duplicate",
		"rejected invalid_request: events[3] type:object", "ignored", "rejected unprocessable: events[5].primaryFactor primaryFactor", "rejected unprocessable: ",
	}
	for i, r := range a.Data.Results {
		got := r.Status
		if r.Error != nil {
			got += " " + r.Error.Code + ": " + details(r.Error.Details)
		}
		if r.Index != i || got != want[i] {
			t.Errorf("%d: got %q, want %q", r.Index, got, want[i])
		}
	}
	t.Run("pending", func(t *testing.T) {
		d := open(t)
		d.pending = true
		a := d.post(t, "batch", `{"events":[`+good("V1")+`,7]}`)
		if d.wantApplied(t, a); a.Data.Results[0].Status != "pending" || a.Data.Results[1].Status != "rejected" {
			t.Error(a.raw)
		}
	})
	t.Run("nothing good", func(t *testing.T) {
		d := open(t)
		a := d.post(t, "batch", `{"events":[7]}`)
		if a.status != 200 || len(d.stored) > 0 || !a.Data.Applied || *a.Data.Outcome != "ignored" || a.Data.Position != nil || a.Data.Level != nil || a.Data.Counts["rejected"] != 1 {
			t.Error(a.raw)
		}
	})
	t.Run("500", func(t *testing.T) {
		d := open(t)
		if o := d.wantApplied(t, d.post(t, "batch", `{"events":[`+strings.Repeat(good("V")+",", 499)+good("V")+`]}`)); len(o.Events) != 500 {
			t.Error(len(o.Events))
		}
	})
	for name, test := range map[string][2]string{
		"501":     {`{"events":[` + strings.Repeat("0,", 500) + `0]}`, "events maxItems:500"},
		"none":    {`{"events":[]}`, "events minItems:1"},
		"missing": {`{}`, "events required"},
		"null":    {`{"events":null}`, "events required"},
		"type":    {`{"events":{}}`, "events type:array"},
		"list":    {`[]`, "type:object"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.wantRefused(t, d.post(t, "batch", test[0]), 400, "invalid_request", test[1])
		})
	}
}
