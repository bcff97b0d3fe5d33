package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"

	"svc/acuity"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

// eventTypes are the values of eventType: the HL7 name, or the word.
var eventTypes = map[string]acuity.EventType{
	"A01": acuity.A01, "A02": acuity.A02, "A03": acuity.A03, "A04": acuity.A04,
	"A08": acuity.A08, "A11": acuity.A11, "A12": acuity.A12, "A13": acuity.A13,
	"admit": acuity.A01, "transfer": acuity.A02, "discharge": acuity.A03, "register": acuity.A04,
	"update": acuity.A08, "cancel-admit": acuity.A11, "cancel-transfer": acuity.A12, "cancel-discharge": acuity.A13,
}

type adtAnswer struct {
	common
	EventType string `json:"eventType"` // the HL7 name of the event type
	Visit     string `json:"visit"`     // opaque
	RoomID    *int32 `json:"roomId"`    // the room after the event; null: the visit is in no room, or the answer is pending
}

func (s *server) adt(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelADT, func(in *reader, body []byte, o *acuity.Observation) {
		o.Events = []acuity.Event{in.event(body, "")}
	})
	if !ok {
		return
	}
	event := &got.observation.Events[0]
	answer := adtAnswer{common: got.answer(), EventType: eventName(event.Type), Visit: event.Visit}
	if items := got.receipt.change.Items; len(items) > 0 && items[0].HasRoom {
		answer.RoomID = &items[0].RoomID
	}
	httpapi.OK(w, r, answer)
}

// eventName returns the HL7 name of an event type.
func eventName(t acuity.EventType) string {
	for name, known := range eventTypes {
		if known == t && name[0] == 'A' {
			return name
		}
	}
	return ""
}

// event reads one ADT event. The reader collects its faults.
func (r *reader) event(raw []byte, path string) acuity.Event {
	o, ok := r.open(raw, path, shapeOf[adtShape]())
	if !ok {
		return acuity.Event{}
	}
	before := len(r.warnings)
	e := acuity.Event{
		Visit:         o.identifier("visitId", hl7.KindVisit),
		Patient:       o.identifier("patientId", hl7.KindPatient),
		MotherVisit:   o.identifier("motherVisitId", hl7.KindVisit),
		Class:         o.class(),
		Service:       strings.ToUpper(o.text("service")),
		Primary:       o.primary(),
		Place:         o.location("roomId", "location"),
		Prior:         o.location("priorRoomId", "priorLocation"),
		DiagnosisMode: acuity.DiagnosisNone,
	}
	e.Place.Label = o.text("roomLabel")
	e.Type = eventTypes[o.word("eventType")]
	occurred := o.time("occurredAt")
	e.At, e.Precision = occurred.at, occurred.precision
	e.RecordedAt = o.plan("recordedAt").at
	cancels := o.plan("cancelsOccurredAt")
	diagnoses, listed := o.diagnoses()
	if e.Type == acuity.A11 || e.Type == acuity.A12 || e.Type == acuity.A13 {
		e.Cancels, e.CancelsPrecision = cancels.at, cancels.precision
	} else if e.Type != acuity.A02 && e.Type != acuity.A03 && listed { // as in HL7, other events change no diagnosis
		e.Diagnoses, e.DiagnosisMode = diagnoses, acuity.DiagnosisSnapshot
		if len(diagnoses) == 0 {
			e.DiagnosisMode = acuity.DiagnosisClear
		}
	}
	e.Newborn = e.Class == 'N' || e.MotherVisit != "" || e.Primary.IsNewborn()
	id := o.text("eventId")
	e.ID, e.Digest = r.identify(id, &e)
	e.Warnings = append(e.Warnings, r.warnings[before:]...)
	o.close()
	return e
}

// location reads where a patient is: our room id, the sender's four parts, or both.
func (o object) location(room, place string) acuity.Location {
	var l acuity.Location
	if id, ok := o.integer(room); ok {
		l.HasRoomID, l.RoomID = true, int32(id) //nolint:gosec // within the bounds
	}
	in := o.inner(place)
	l.PointOfCare = in.text("pointOfCare")
	l.Room = in.text("room")
	l.Bed = in.text("bed")
	l.Facility = in.text("facility")
	in.close()
	return l
}

// identify returns the identity of an event: its eventId, else the digest of what makes
// it this event (type, visit, times, place, diagnoses). The digest covers the whole
// event.
func (r *reader) identify(eventID string, e *acuity.Event) (id, digest string) {
	var usual [512]byte // large enough for a usual event
	k := key{usual[:0]}
	k.number(int64(e.Type))
	k.text(e.Visit)
	k.number(int64(e.At))
	k.number(int64(e.RecordedAt))
	k.place(e.Place)
	k.place(e.Prior)
	k.number(int64(e.Cancels))
	k.number(int64(e.DiagnosisMode))
	for i := range e.Diagnoses {
		d := &e.Diagnoses[i]
		k.text(string(d.System))
		k.text(d.Code)
		k.number(int64(d.OnsetAt))
	}
	if eventID == "" {
		id = r.pseudonym(hl7.KindEvent, "facts\x00"+k.sum())
	} else {
		id = r.pseudonym(hl7.KindEvent, "json\x00"+eventID)
	}
	k.text(e.Patient)
	k.text(e.MotherVisit)
	k.number(int64(e.Class))
	k.text(e.Service)
	k.text(e.Primary.ID())
	for i := range e.Diagnoses {
		k.text(e.Diagnoses[i].Display)
	}
	return id, r.pseudonym(hl7.KindDigest, k.sum())
}

// key is an unambiguous encoding of facts. sum hashes it.
type key struct{ b []byte }

func (k *key) number(n int64) { k.b = binary.AppendVarint(k.b, n) }

func (k *key) text(s string) {
	k.number(int64(len(s)))
	k.b = append(k.b, s...)
}

func (k *key) place(l acuity.Location) {
	if l.HasRoomID {
		k.number(int64(l.RoomID) + 1)
	} else {
		k.number(0)
	}
	for _, s := range []string{l.Label, l.PointOfCare, l.Room, l.Bed, l.Facility} {
		k.text(s)
	}
}

func (k *key) sum() string {
	sum := sha256.Sum256(k.b)
	return string(sum[:])
}
