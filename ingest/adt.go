package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/problem"
)

// eventTypes maps the values of the field eventType to event types. A value is the HL7 name of an event type or an
// English word.
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
	RoomID    *int32 `json:"roomId"`    // room after the event; null: none, or the result is pending
}

func (s *server) adt(w http.ResponseWriter, r *http.Request) {
	got, ok := s.submitBody(w, r, acuity.ChannelADT, func(in *reader, body []byte, o *acuity.Observation) {
		in.places.adt = true
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

// event parses one ADT event. Errors are collected in the reader.
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
	if e.MotherVisit != "" && e.MotherVisit == e.Visit { // some senders send every visit's number twice; this patient is no newborn
		e.MotherVisit = ""
		o.warn("field_not_used", o.at("motherVisitId"))
	}
	e.Place.Label = o.text("roomLabel")
	e.Type = eventTypes[o.word("eventType")]
	occurred, recorded := o.moment("occurredAt"), o.plan("recordedAt")
	o.beside = acuity.Moment{}
	e.SetTime(occurred, o.resolve(occurred, recorded))
	o.beside = acuity.Moment{From: e.At}
	cancels := o.plan("cancelsOccurredAt")
	diagnoses, onsets, listed := o.diagnoses()
	if isCancel := e.Type == acuity.A11 || e.Type == acuity.A12 || e.Type == acuity.A13; isCancel {
		e.Cancels, e.CancelsPrecision, e.CancelsTo = cancels.From, cancels.Precision, cancels.To
	} else if cancels.From != 0 {
		o.warn("field_not_used", o.at("cancelsOccurredAt"))
	}
	if e.Type == acuity.A02 || e.Type == acuity.A03 || e.Type >= acuity.A11 { // as in HL7, these events do not change diagnoses
		if len(diagnoses) > 0 {
			o.warn("field_not_used", o.at("diagnoses"))
		}
	} else if listed {
		e.Diagnoses, e.DiagnosisMode = diagnoses, acuity.DiagnosisSnapshot
		if len(diagnoses) == 0 {
			e.DiagnosisMode = acuity.DiagnosisClear
		}
	}
	e.Newborn = e.Class == 'N' || e.MotherVisit != "" || e.Primary.IsNewborn()
	id := o.text("eventId")
	e.RecordedAt = recorded.From
	e.ID, e.Digest = r.identify(id, &e)
	e.RecordedAt = o.resolve(recorded)
	o.resolveOnsets(e.Diagnoses, onsets)
	e.Warnings = append(e.Warnings, r.warnings[before:]...)
	o.close()
	return e
}

// location parses the location of a patient: a room id, the sender's four parts, or both.
func (o object) location(room, place string) acuity.Location {
	var l acuity.Location
	if id, ok := o.integer(room); ok {
		l.HasRoomID, l.RoomID = true, int32(id) //nolint:gosec // within the bounds of the shape
	}
	in := o.inner(place)
	l.PointOfCare = in.text("pointOfCare")
	l.Room = in.text("room")
	l.Bed = in.text("bed")
	if facility := in.text("facility"); !l.IsZero() {
		l.Facility = facility
	} else if facility != "" { // a facility alone is no location
		in.warn("field_not_used", in.at("facility"))
	}
	in.close()
	return l
}

// identify returns the identity of an event: a pseudonym of its eventId or, if it has none, of the fields that
// distinguish it (type, visit, times, locations, diagnoses). It also returns a digest of the event's content. Both
// use all times as they were sent, because a coarse time may resolve to a different instant when the event is sent
// again.
func (r *reader) identify(eventID string, e *acuity.Event) (id, digest string) {
	var usual [512]byte // large enough for a typical event
	k := key{usual[:0]}
	k.number(int64(e.Type))
	k.text(e.Visit)
	k.number(int64(e.AsSent()))
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

// key is an unambiguous encoding of facts; sum hashes it.
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

type batchAnswer struct {
	common
	Counts  batchCounts   `json:"counts"`
	Results []batchResult `json:"results"` // one per event, in the order of the body
}

type batchCounts struct {
	Received   int `json:"received"`
	Applied    int `json:"applied"`
	Duplicates int `json:"duplicates"`
	Ignored    int `json:"ignored"`
	Rejected   int `json:"rejected"`
}

type batchResult struct {
	Index  int         `json:"index"`
	Status string      `json:"status"` // applied, duplicate, ignored, rejected or pending
	Error  *batchError `json:"error,omitempty"`
}

type batchError struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Details []httpapi.Detail `json:"details,omitempty"`
}

func (s *server) batch(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxBatchBody)
	if !ok {
		return
	}
	o := s.observe(r, acuity.ChannelBatch)
	in := s.reader(o)
	results := in.batch(body, o)
	if refusal := in.problem(); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		return
	}
	if len(o.PastStaffing) > 0 && !s.Shell.AllowField(w, r, "staffing", access.IngestStaffing) {
		return
	}
	got := nothingAppended
	if len(o.Events) > 0 || len(o.PastStaffing) > 0 {
		if got, ok = s.submit(w, r, in, o); !ok {
			return
		}
	} else {
		s.reportRefused(o, requestID(r), 1, in.drainNotices()...)
	}
	answer := batchAnswer{common: in.answer(got), Results: results}
	answer.setStatuses(got)
	httpapi.OK(w, r, answer)
}

// batch parses the events and the staffing of a body. It adds valid events to the observation and reports invalid
// ones in the results. Errors in the rest of the body, including the staffing, are collected in the reader: a list of
// shifts is applied completely or not at all.
func (r *reader) batch(body []byte, o *acuity.Observation) []batchResult {
	b, ok := r.open(body, "", shapeOf[batchShape]())
	if !ok {
		return nil
	}
	defer b.close()
	r.places.adt = true
	list, present := b.list("events")
	if !present && b.peek("events") == nil && b.peek("staffing") == nil {
		b.fault("events", "required")
	}
	results := make([]batchResult, len(list))
	o.Events = make([]acuity.Event, 0, len(list))
	for i, raw := range list {
		results[i].Index = i
		one := *r
		one.faults, one.misfits, one.warnings = nil, nil, nil
		event := one.event(raw, item("events", i))
		r.space = one.space[:len(r.space)] // the event has been read, so its fields are no longer needed
		for _, w := range one.warnings {
			r.warn(w.Code, w.Path)
		}
		if p := one.problem(); p != nil {
			results[i].Status = outcomes[acuity.Rejected]
			for _, d := range p.Details {
				r.addNotice(Notice{Refused: true, Code: d.Rule, Path: d.Path})
			}
			results[i].Error = &batchError{Code: p.Kind.Code(), Message: p.Message, Details: p.Details}
			continue
		}
		o.Events = append(o.Events, r.prepareEvent(event, "events", i))
	}
	o.PastStaffing = b.pastStaffing()
	return results
}

// prepareEvent prepares an event for the observation. It changes the paths of the event's warnings from positions in
// the body to positions in the observation, as in the processor's warnings.
func (r *reader) prepareEvent(e acuity.Event, list string, i int) acuity.Event {
	there, here := item(list, i), item("events", len(r.places.origins))
	for n, w := range e.Warnings {
		e.Warnings[n].Path = here + strings.TrimPrefix(w.Path, there)
	}
	r.places.list = list
	r.places.origins = append(r.places.origins, i)
	return e
}

// setStatuses sets the status of each valid event, and the counts, from the applied change.
func (a *batchAnswer) setStatuses(got receipt) {
	a.Counts.Received = len(a.Results)
	items := got.change.Items
	for i := range a.Results {
		result := &a.Results[i]
		switch {
		case result.Error != nil:
			a.Counts.Rejected++
			continue
		case len(items) == 0 && got.applied: // a repeat whose first change the log no longer has
			result.Status = outcomes[acuity.Duplicate]
			a.Counts.Duplicates++
			continue
		case len(items) == 0:
			result.Status = "pending"
			continue
		}
		it := items[0]
		items = items[1:]
		result.Status = outcomes[it.Outcome]
		switch it.Outcome {
		case acuity.Duplicate:
			a.Counts.Duplicates++
		case acuity.Ignored:
			a.Counts.Ignored++
		case acuity.Rejected:
			a.Counts.Rejected++
			result.Error = &batchError{Code: problem.Unprocessable.Code(), Message: "The event was refused: " + it.Reason + "."}
			if rule, over := hospital.Exceeded(it.Reason); over {
				result.Error.Details = []httpapi.Detail{{Path: strings.TrimPrefix(fieldOfReason[it.Reason], "."), Rule: rule}}
			}
		case acuity.Applied, acuity.Time:
			a.Counts.Applied++
		}
	}
}

type adtShape struct {
	EventID           string           `json:"eventId,omitempty" maxLength:"200" doc:"Identity of the event; another event with the same identity is a duplicate. Default: a hash of the facts."`
	EventType         string           `json:"eventType" enum:"A01,A02,A03,A04,A08,A11,A12,A13,admit,transfer,discharge,register,update,cancel-admit,cancel-transfer,cancel-discharge" doc:"HL7 trigger event or its name."`
	OccurredAt        string           `json:"occurredAt" pattern:"time" doc:"Time of the event; for a cancel, the time of the cancellation. Without an offset: in the hospital's time zone."`
	RecordedAt        string           `json:"recordedAt,omitempty" pattern:"time"`
	CancelsOccurredAt string           `json:"cancelsOccurredAt,omitempty" pattern:"time" doc:"For a cancel: occurredAt of the canceled event."`
	VisitID           string           `json:"visitId" pattern:"word" maxLength:"200" doc:"Visit number, the same in every feed. Stored only as a keyed pseudonym."`
	PatientID         string           `json:"patientId,omitempty" maxLength:"200" doc:"Stored only as a keyed pseudonym."`
	MotherVisitID     string           `json:"motherVisitId,omitempty" maxLength:"200" doc:"For a newborn: visit number of the mother."`
	RoomID            int32            `json:"roomId,omitempty" minimum:"0" maximum:"2147483647" doc:"Overrides location."`
	RoomLabel         string           `json:"roomLabel,omitempty" maxLength:"100"`
	Location          *locationShape   `json:"location,omitempty"`
	PriorRoomID       int32            `json:"priorRoomId,omitempty" minimum:"0" maximum:"2147483647"`
	PriorLocation     *locationShape   `json:"priorLocation,omitempty"`
	PatientClass      string           `json:"patientClass,omitempty" enum:"I,O,E,P,R,B,N,C,U" doc:"HL7 table 0004. An admission (A01) of class P does not assign a room."`
	Service           string           `json:"service,omitempty" maxLength:"64"`
	PrimaryFactor     string           `json:"primaryFactor,omitempty" maxLength:"64" doc:"Id of a primary factor in the catalogue."`
	Diagnoses         []diagnosisShape `json:"diagnoses,omitempty" maxItems:"100" doc:"All diagnoses of the visit; an empty list clears them."`
}

type locationShape struct {
	PointOfCare string `json:"pointOfCare,omitempty" maxLength:"100"`
	Room        string `json:"room,omitempty" maxLength:"100"`
	Bed         string `json:"bed,omitempty" maxLength:"100"`
	Facility    string `json:"facility,omitempty" maxLength:"100"`
}

type diagnosisShape struct {
	System  string `json:"system,omitempty" maxLength:"64" doc:"ICD-10-CM, SNOMED-CT, LOINC, RxNorm, local, or a code system of HL7 table 0396."`
	Code    string `json:"code" pattern:"word" maxLength:"64"`
	Display string `json:"display,omitempty" maxLength:"2000"`
	OnsetAt string `json:"onsetAt,omitempty" pattern:"time"`
}

type batchShape struct {
	_        struct{}            `anyRequired:"events,staffing"`
	Events   []adtShape          `json:"events,omitempty" minItems:"1" maxItems:"500" open:"true" doc:"May be omitted if there is staffing."`
	Staffing []pastStaffingShape `json:"staffing,omitempty" minItems:"1" maxItems:"500" doc:"Nurses on duty in past hours, in any order. Each entry applies until the next one. Also requires the scope ingest:staffing."`
}
