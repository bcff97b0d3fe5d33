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

// eventNames are the accepted values of eventType: first the HL7 names, then the words.
var eventNames = []string{
	"A01", "A02", "A03", "A04", "A08", "A11", "A12", "A13",
	"admit", "transfer", "discharge", "register", "update", "cancel-admit", "cancel-transfer", "cancel-discharge",
}

var eventTypes = []acuity.EventType{
	acuity.A01, acuity.A02, acuity.A03, acuity.A04, acuity.A08, acuity.A11, acuity.A12, acuity.A13,
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

func eventName(t acuity.EventType) string {
	for i, known := range eventTypes {
		if known == t {
			return eventNames[i]
		}
	}
	return ""
}

// event reads one ADT event. The reader collects its faults.
func (r *reader) event(raw []byte, path string) acuity.Event {
	o, ok := r.open(raw, path)
	if !ok {
		return acuity.Event{}
	}
	before := len(r.warnings)
	e := acuity.Event{
		Visit:         o.identifier("visitId", required, hl7.KindVisit),
		Patient:       o.identifier("patientId", optional, hl7.KindPatient),
		MotherVisit:   o.identifier("motherVisitId", optional, hl7.KindVisit),
		Class:         o.class(),
		Service:       strings.ToUpper(o.text("service", optional, maxName)),
		Primary:       o.primary(),
		Place:         o.location("roomId", "location"),
		Prior:         o.location("priorRoomId", "priorLocation"),
		DiagnosisMode: acuity.DiagnosisNone,
	}
	e.Place.Label = o.text("roomLabel", optional, maxLabel)
	if i := o.one("eventType", required, eventNames); i >= 0 {
		e.Type = eventTypes[i%len(eventTypes)]
	}
	occurred := o.time("occurredAt", required)
	e.At, e.Precision = occurred.at, occurred.precision
	e.RecordedAt = o.plan("recordedAt", optional).at
	cancels := o.plan("cancelsOccurredAt", optional)
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
	id := o.text("eventId", optional, maxID)
	e.ID, e.Digest = r.identify(id, &e)
	e.Warnings = append(e.Warnings, r.warnings[before:]...)
	o.close()
	return e
}

// location reads where a patient is: our room id, the sender's four parts, or both.
func (o object) location(room, place string) acuity.Location {
	var l acuity.Location
	if id, ok := o.integer(room, optional, maxRoomID); ok {
		l.HasRoomID, l.RoomID = true, int32(id) //nolint:gosec // within the bounds
	}
	in := o.inner(place)
	l.PointOfCare = in.text("pointOfCare", optional, maxLabel)
	l.Room = in.text("room", optional, maxLabel)
	l.Bed = in.text("bed", optional, maxLabel)
	l.Facility = in.text("facility", optional, maxLabel)
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
