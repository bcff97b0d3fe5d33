package hospital

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// world draws observations for a small hospital with many conflicts: the same rooms and visits occur often, times
// overlap, and cancels match earlier events.
type world struct {
	t    *rapid.T
	now  acuity.Instant
	n    int
	sent []acuity.Event
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

// next advances the clock by a random time and draws the next observation.
func (w *world) next() acuity.Observation {
	w.now = w.now.Add(time.Duration(pick(w.t, "wait", 0, 1, 7, 20, 45, 61, 130, 700, 1500, 11_000)) * time.Minute)
	if w.t == nil {
		return acuity.Observation{}
	}
	o := acuity.Observation{Hospital: testHospital, ReceivedAt: w.now, Source: "key"}
	switch pick(w.t, "channel", 'a', 'a', 'a', 'a', 's', 's', 's', 'f', 'f', 'f', 'c', 'c', 'n', 'r', 'm', 'm', 't') {
	case 'a':
		o.Channel = pick(w.t, "by", acuity.ChannelADT, acuity.ChannelADT, acuity.ChannelBatch)
		for range pick(w.t, "events", 1, 1, 1, 3) {
			o.Events = append(o.Events, w.event())
		}
		if o.Channel == acuity.ChannelBatch {
			for range pick(w.t, "past", 0, 1, 3) {
				o.PastStaffing = append(o.PastStaffing, acuity.Staffing{
					AsOf:   w.ago(0, 5000)/registry.HourOf*registry.HourOf + pick(w.t, "into", acuity.Instant(0), 1),
					Nurses: pick(w.t, "nurses", int32(0), 1, 5), Call: pick(w.t, "call", acuity.Unsaid, acuity.No, acuity.Yes),
				})
			}
		}
	case 's':
		o.Channel = acuity.ChannelClinical
		room := pick(w.t, "room", int32(1), 2, 3, 7, w.ownRoom())
		o.Room = &acuity.RoomRef{ID: room, Label: pick(w.t, "label", "", "", "L1")}
		for range pick(w.t, "signals", 0, 1, 1, 2, 4) {
			o.Signals = append(o.Signals, w.signal(room))
		}
	case 'f':
		o.Channel = acuity.ChannelFHIR
		if pick(w.t, "encounter", true, true, false) {
			o.Events = w.encounter()
		}
		for range pick(w.t, "resources", 0, 1, 2, 4) {
			o.Signals = append(o.Signals, w.resource())
		}
	case 'c':
		o.Channel = acuity.ChannelCensus
		o.Census = w.census()
	case 'n':
		o.Channel = acuity.ChannelStaffing
		o.Staffing = &acuity.Staffing{
			Nurses: pick(w.t, "nurses", int32(0), 1, 2, 5), Call: pick(w.t, "call", acuity.Unsaid, acuity.No, acuity.Yes),
			AsOf: pick(w.t, "asOf", 0, w.ago(0, 30), w.now.Add(time.Hour), w.now.Add(5*time.Hour)),
		}
	case 'r':
		o.Channel = acuity.ChannelRoster
		o.Roster = &acuity.Roster{AsOf: pick(w.t, "asOf", 0, w.ago(0, 100)), Nurses: []acuity.RosterNurse{
			{ExternalID: "n1", Skill: pick(w.t, "skill", int8(-1), 0, 1, 2), Rooms: []int32{1, 2}}, {ExternalID: "n2", Skill: 2},
		}}
	case 'm':
		w.site(&o)
	case 't':
		o.Channel = acuity.ChannelStaffing
	}
	return o
}

func factor(id string) catalogue.Factor {
	f, _ := catalogue.FactorByID(id)
	return f
}

// encounter draws the events of one version of an Encounter: an admission, up to two transfers and, for some
// versions, a discharge. A version that was entered in error has a single void event. The visit has a number or only
// the Encounter's reference.
func (w *world) encounter() []acuity.Event {
	e := acuity.Event{
		Resource: pick(w.t, "encounter", "E1", "E2", "E3"), UpdatedAt: pick(w.t, "updated", 0, w.ago(-1, 300)),
		Patient: pick(w.t, "number", "", "p1", "p2"),
	}
	e.Encounter, e.Subject = "ref "+e.Resource, "ref "+pick(w.t, "subject", "P1", "P2")
	e.Visit = pick(w.t, "visit", "v1", "v2", "v6", e.Encounter)
	if e.Patient == "" {
		e.Patient = e.Subject
	}
	if e.MotherVisit = pick(w.t, "part of", "", "", "ref E1", "ref E2", "ref E3", "v1", "v6", "ref E9"); e.MotherVisit == e.Encounter {
		e.MotherVisit = ""
	}
	if pick(w.t, "void", false, false, false, true) {
		e.ID, e.Void, e.At = fmt.Sprint("void ", w.now), true, w.now
		return []acuity.Event{e}
	}
	start := w.ago(10, 300)
	var list []acuity.Event
	for i := range pick(w.t, "places", 1, 1, 2, 3) {
		n := e
		if n.Type = acuity.A02; i == 0 {
			n.Type, n.Class = pick(w.t, "class", acuity.A01, acuity.A04), 'I'
		}
		n.At, n.Place = start.Add(time.Duration(i)*10*time.Minute), w.place()
		n.Newborn = e.Resource == "E3" && pick(w.t, "neonate", false, false, true)
		list = append(list, n)
	}
	if pick(w.t, "finished", false, false, true) {
		n := e
		n.Type, n.At = acuity.A03, start.Add(time.Hour)
		list = append(list, n)
	}
	for i := range list {
		w.coarsen(&list[i])
		list[i].ID = fmt.Sprint(list[i].Resource, list[i].UpdatedAt, list[i].Type, list[i].At, list[i].Visit, list[i].Place)
	}
	return list
}

// resource draws a statement from one version of a resource. The statement names a visit or a patient, under any of
// their identifiers, or is a retraction that names only the resource.
func (w *world) resource() acuity.Signal {
	s := pick(w.t, "resource",
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", Resource: "bag1", StartedAt: w.ago(0, 300)},
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "29155", Resource: "bag2", StartedAt: w.ago(0, 30)},
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7044", Resource: "bag2"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Resource: "fhr1", Value: codes.ParseValue(pick(w.t, "fhr", "Category I", "Category II", "Category III", "?"))},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Resource: pick(w.t, "component", "fhr2.0", "fhr2.1"), Value: codes.ParseValue(pick(w.t, "fhr", "Category II", "Category III"))},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "X1", Resource: "x", Also: []acuity.Coding{{System: codes.LOINC, Code: "39156-5", Display: ""}}, Value: codes.NumberValue(codes.Milli(rapid.IntRange(38, 42).Draw(w.t, "bmi"))*1000, "")},
		acuity.Signal{Kind: catalogue.KindCondition, System: codes.SNOMED, Code: "46764007", Resource: "c1", Also: []acuity.Coding{{System: codes.ICD10CM, Code: "O14.13", Display: "severe"}}, StartedAt: w.ago(0, 300)},
		acuity.Signal{Kind: catalogue.KindCondition, System: codes.ICD10CM, Code: pick(w.t, "code", "O15.1", "Z37.0", "O82", "X", "O14.13"), Resource: "c2"},
		acuity.Signal{Kind: catalogue.KindCondition, System: codes.SystemLocal, Code: "X1", Resource: "c3"},
	)
	if s.ObservedAt = pick(w.t, "observed", 0, w.ago(-2, 90)); s.ObservedAt != 0 {
		s.ObservedFrom, _ = w.startOf(s.ObservedAt)
		s.StartedFrom, _ = w.startOf(s.StartedAt)
	}
	s.UpdatedAt = pick(w.t, "updated", 0, w.ago(-1, 90))
	s.Status = pick(w.t, "status", acuity.SignalActive, acuity.SignalActive, acuity.SignalActive, acuity.SignalEnded, acuity.SignalOnHold, acuity.SignalRetracted)
	switch pick(w.t, "named by", 'v', 'v', 'e', 'p', 's', 'b', 'n') {
	case 'v':
		s.Visit = pick(w.t, "visit", "v1", "v2", "v6", "v9", "A1")
	case 'e':
		s.Visit = pick(w.t, "visit", "ref E1", "ref E2", "ref E9")
	case 'p':
		s.Patient = pick(w.t, "patient", "p1", "p2", "p9")
	case 's':
		s.Subject = pick(w.t, "patient", "ref P1", "ref P2", "ref P9")
		s.Patient = pick(w.t, "also", "", s.Subject)
	case 'b':
		s.Patient, s.Subject = pick(w.t, "patient", "p1", "p2"), "ref P1"
	default:
		s = acuity.Signal{Resource: s.Resource, Kind: s.Kind, Status: acuity.SignalRetracted, UpdatedAt: s.UpdatedAt}
	}
	return s
}

// coarsen sometimes reduces the precision of an event's time to the hour or the day.
func (w *world) coarsen(e *acuity.Event) {
	e.AtFrom, e.Precision = w.startOf(e.At)
}

// startOf draws a precision and returns the start of the interval with that precision; 0 means that the time is exact.
func (w *world) startOf(at acuity.Instant) (acuity.Instant, acuity.Precision) {
	p := pick(w.t, "precision", acuity.Millisecond, acuity.Millisecond, acuity.Hour, acuity.Day)
	if p == acuity.Millisecond {
		return 0, p
	}
	span := time.Hour
	if p == acuity.Day {
		span = 24 * time.Hour
	}
	return at - at%acuity.Instant(span.Milliseconds()), p
}

// ago draws an instant before now. Its distance from now, in minutes, is in [from, to]; a negative distance means an
// instant after now.
func (w *world) ago(from, to int) acuity.Instant {
	return w.now.Add(-time.Duration(rapid.IntRange(from, to).Draw(w.t, "ago")) * time.Minute)
}

func (w *world) place() acuity.Location {
	return pick(w.t, "place",
		acuity.Location{PointOfCare: "LDR", Room: "L1"}, acuity.Location{PointOfCare: "LDR", Room: "L2"}, acuity.Location{PointOfCare: "MBU", Room: "P1"},
		acuity.Location{PointOfCare: "OBOR", Room: "1"}, acuity.Location{HasRoomID: true, RoomID: 2}, acuity.Location{HasRoomID: true, RoomID: 7, Label: "L7"},
		acuity.Location{PointOfCare: "LDR"}, acuity.Location{PointOfCare: "ICU", Room: "9"}, acuity.Location{})
}

// ownRoom returns the id of the room that ADT creates for LDR L1.
func (w *world) ownRoom() int32 {
	var t location.Table
	return t.Resolve(acuity.Location{PointOfCare: "LDR", Room: "L1"}).Room
}

func (w *world) event() acuity.Event {
	if len(w.sent) > 0 && rapid.IntRange(0, 9).Draw(w.t, "again") == 0 {
		return pick(w.t, "sent", w.sent...)
	}
	w.n++
	e := acuity.Event{
		ID: fmt.Sprint("e", w.n), Digest: "d",
		Type: pick(w.t, "type", acuity.A01, acuity.A01, acuity.A04, acuity.A02, acuity.A02, acuity.A02, acuity.A03, acuity.A08, acuity.A11, acuity.A12, acuity.A13, acuity.EventOther),
		At:   w.ago(-3, 200), Visit: pick(w.t, "visit", "v1", "v2", "v3", "v4"), Class: pick(w.t, "class", byte(0), 'I', 'O', 'P'),
	}
	e.Patient, e.AdmissionType = "p"+e.Visit[1:], pick(w.t, "admission type", byte(0), 0, 0, 'L')
	if pick(w.t, "evn2", false, true) {
		e.RecordedAt = e.At.Add(time.Duration(rapid.IntRange(-10, 90).Draw(w.t, "recorded")) * time.Minute)
	}
	if rapid.IntRange(0, 4).Draw(w.t, "newborn") == 0 {
		e.Visit, e.Patient, e.Newborn = pick(w.t, "baby", "b1", "b2"), "", true
		e.MotherVisit = pick(w.t, "mother", "", "v1", "v2")
		if e.MotherVisit == "" {
			e.MotherPatient = pick(w.t, "mother", "", "p1")
		}
	}
	if adt.IsCancel(e.Type) && len(w.sent) > 0 && pick(w.t, "keyed", true, false) {
		hit := pick(w.t, "hit", w.sent...)
		e.Visit, e.Cancels, e.Place = hit.Visit, hit.At, hit.Place
	} else {
		e.Place = w.place()
	}
	w.coarsen(&e)
	w.name(&e)
	switch pick(w.t, "diagnoses", 0, 0, 1, 2, 3) {
	case 1:
		e.DiagnosisMode = acuity.DiagnosisSnapshot
		e.Diagnoses = []acuity.Diagnosis{{System: codes.ICD10CM, Code: pick(w.t, "code", "O14.13", "O15.1", "Z37.0", "B99")}}
	case 2:
		e.DiagnosisMode = acuity.DiagnosisClear
	}
	w.sent = append(w.sent, e)
	return e
}

// name replaces or extends the identifiers of an event's visit: it adds an account number, which mothers and newborns
// may share, or leaves only the patient.
func (w *world) name(e *acuity.Event) {
	if e.Patient == "" && pick(w.t, "own number", true, false) {
		e.Patient = pick(w.t, "number", "p"+e.Visit, "p1")
	}
	switch pick(w.t, "names", 'v', 'v', 'v', 'a', 'o', 'p', 'p') {
	case 'a':
		e.Account = pick(w.t, "account", "A1", "A2", "v4", "ref E1")
	case 'o':
		e.Account = pick(w.t, "account", "A1", "A2", "v4")
		e.Visit = e.Account
	case 'p':
		if e.Patient != "" {
			e.Visit, e.ByPatient = "of "+e.Patient, true
		}
	}
}

func (w *world) signal(room int32) acuity.Signal {
	s := pick(w.t, "signal",
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "6585", Display: "magnesium sulfate", StartedAt: w.ago(0, 300)},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "999-1", Display: "MEWS score", Value: codes.NumberValue(codes.Milli(rapid.IntRange(0, 8).Draw(w.t, "mews"))*1000, "")},
		acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "7044", Display: "oxytocin"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "X1"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "11949-4", Display: "FHR category", Value: codes.ParseValue(pick(w.t, "fhr", "Category I", "Category II", "Category III", "?"))},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "env-interpreter"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "mews-active"},
		acuity.Signal{Kind: catalogue.KindObservation, System: codes.LOINC, Code: "39156-5", Value: codes.NumberValue(codes.Milli(rapid.IntRange(38, 42).Draw(w.t, "bmi"))*1000, "")},
	)
	s.Room = room
	s.ObservedAt = pick(w.t, "observed", 0, w.ago(-2, 90))
	s.Status = pick(w.t, "status", acuity.SignalActive, acuity.SignalActive, acuity.SignalActive, acuity.SignalEnded, acuity.SignalRetracted)
	if s.Status == acuity.SignalRetracted && pick(w.t, "bare", false, true) {
		s.Value = codes.Value{}
	}
	if rapid.IntRange(0, 7).Draw(w.t, "of visit") == 0 {
		s.Visit = pick(w.t, "visit", "v1", "v9")
	}
	return s
}

func (w *world) census() *acuity.Census {
	c := &acuity.Census{AsOf: pick(w.t, "asOf", 0, w.ago(0, 60), w.ago(-20, 0)), TotalRooms: pick(w.t, "total", int32(-1), 6)}
	for _, row := range []acuity.CensusRoom{{ID: 1, Label: "L1", Area: "LDR"}, {ID: 2, Label: "L2", Area: "LDR"}, {ID: 3, Label: "P1", Area: "MBU"}} {
		if rapid.IntRange(0, 4).Draw(w.t, "absent") == 0 {
			continue
		}
		row.Status = pick(w.t, "status", acuity.RoomOccupied, acuity.RoomOccupied, acuity.RoomEmpty, acuity.RoomBlocked)
		if row.Status == acuity.RoomOccupied {
			row.Visit = pick(w.t, "visit", "", "", "v1", "v2", "v5", "A1")
			row.Primary = pick(w.t, "primary", 0, 0, factor("labor-standard"), factor("pp-couplet"))
			row.HasModifiers = pick(w.t, "modifiers", false, true)
			if row.HasModifiers {
				row.Modifiers = pick(w.t, "list", nil, []catalogue.Factor{factor("high-cardiac")}, []catalogue.Factor{factor("birth-imminent"), factor("mews-active")})
			}
			if row.HasNewborns = pick(w.t, "newborns", false, false, true); row.HasNewborns {
				row.Newborns = []acuity.CensusNewborn{{Visit: pick(w.t, "baby", "", "b1"), Primary: pick(w.t, "primary", 0, factor("nb-stabilization"))}}
			}
			if row.HasDiagnoses = pick(w.t, "diagnoses", false, false, true); row.HasDiagnoses {
				row.Diagnoses = []acuity.Diagnosis{{System: codes.ICD10CM, Code: pick(w.t, "code", "O14.13", "Z37.0", "O68", "O82")}}
				if d := &row.Diagnoses[0]; pick(w.t, "onset", false, true) {
					d.OnsetAt = w.ago(0, 90)
					d.OnsetFrom, _ = w.startOf(d.OnsetAt)
				}
			}
			if row.DeliveredAt = pick(w.t, "delivered", 0, 0, 0, w.ago(0, 90)); row.DeliveredAt != 0 {
				row.DeliveredFrom, _ = w.startOf(row.DeliveredAt)
			} else if pick(w.t, "withdrawn", false, false, true) {
				row.WithdrawBirth()
			}
		}
		c.Rooms = append(c.Rooms, row)
	}
	return c
}
