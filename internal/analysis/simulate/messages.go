package simulate

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Paths of the ingest API.
const (
	pathADT      = "/api/ingest/adt"
	pathClinical = "/api/ingest/clinical"
	pathStaffing = "/api/ingest/staffing"
	pathRoster   = "/api/ingest/roster"
	pathCensus   = "/api/ingest/census"
)

// diagnosis is a coded diagnosis.
type diagnosis struct {
	code, display string
	onset         clock // 0: not sent
}

func icd(code, display string) diagnosis { return diagnosis{code: code, display: display} }

// diagnose adds a diagnosis to the woman's chart, unless the chart already contains it. If she is in a room, diagnose
// also sends the diagnosis.
func (v *visit) diagnose(d diagnosis) {
	if v.has(d.code) {
		return
	}
	v.diagnoses = append(v.diagnoses, d)
	if v.room != nil {
		v.sendADT("A08")
	}
}

// event holds the fields of one ADT event.
type event struct {
	kind      string
	at        clock
	recorded  clock // when the event was charted; 0: at the time of the event
	visit     string
	patient   string
	mother    string
	room      *room
	prior     *room
	class     byte
	service   string
	primary   string
	diagnoses []diagnosis
	cancels   clock
}

// sendADT sends an ADT event with the woman's current place.
func (v *visit) sendADT(kind string) {
	e := v.event(kind)
	if kind == "A01" || kind == "A04" || kind == "A08" {
		e.diagnoses = v.diagnoses
	}
	v.sendEvent(&e)
}

func (v *visit) sendMove(before *room) {
	e := v.event("A02")
	e.prior = before
	v.sendEvent(&e)
	for i := range v.babies {
		if b := &v.babies[i]; !b.gone {
			n := v.newborn("A02", b)
			n.prior = before
			v.sendEvent(&n)
		}
	}
}

func (v *visit) event(kind string) event {
	return event{
		kind: kind, at: v.now, visit: v.name(v.number), patient: v.patientName(v.patient),
		room: v.room, class: v.class, service: "OBS", primary: v.primary,
	}
}

func (v *visit) newborn(kind string, b *baby) event {
	return event{
		kind: kind, at: v.now, visit: v.name(b.number), mother: v.name(v.number),
		room: v.room, class: 'N', service: "NB",
	}
}

// introduce sends the admission of a woman who was already in the unit when the simulation started, the admissions of
// her babies, and her running medications. The initial load of a new interface sends the same messages.
func (v *visit) introduce() {
	if v.room == nil {
		return
	}
	kind := "A01"
	if v.class == 'O' {
		kind = "A04"
	}
	e := v.event(kind)
	e.at, e.recorded, e.diagnoses = v.since, v.now, v.diagnoses
	v.sendEvent(&e)
	for i := range v.babies {
		if b := &v.babies[i]; !b.gone {
			n := v.newborn("A01", b)
			n.at, n.recorded = max(b.since, v.since), v.now
			v.sendEvent(&n)
		}
	}
	for i := range v.running {
		v.signal(v.medication(v.running[i].drug, "active", v.running[i].since))
	}
	v.sendSignals()
}

func (u *unit) name(n int) string        { return u.numbered('V', n) }
func (u *unit) patientName(n int) string { return u.numbered('P', n) }

// numbered returns an identifier for messages: a letter, the unit's mark and a number. Simulations with different
// options have different marks, so that they can send to the same hospital without using the same identifiers.
func (u *unit) numbered(letter byte, n int) string {
	return string(strconv.AppendInt(append([]byte{letter}, u.mark...), int64(n), 10))
}

// sendEvent passes an event to the interface, unless the unit is muted or sends only censuses.
func (u *unit) sendEvent(e *event) {
	if u.censusOnly || u.muted {
		return
	}
	u.faults.deliver(u, e)
}

// bodyOf returns the body of an ADT event. number is the event's identifier.
func (u *unit) bodyOf(e *event, number string) *adtBody {
	b := &adtBody{
		EventID: number, EventType: e.kind, OccurredAt: u.text(e.at), RecordedAt: u.text(e.recorded),
		VisitID: e.visit, PatientID: e.patient, MotherVisitID: e.mother,
		PatientClass: string(rune(e.class)), Service: e.service, PrimaryFactor: e.primary, CancelsOccurredAt: u.text(e.cancels),
	}
	if e.room != nil {
		b.RoomID, b.Location = e.room.id, &placeBody{e.room.area, e.room.label}
	}
	if e.prior != nil {
		b.PriorRoomID, b.PriorLocation = e.prior.id, &placeBody{e.prior.area, e.prior.label}
	}
	for _, d := range e.diagnoses {
		b.Diagnoses = append(b.Diagnoses, diagnosisBody{"ICD-10-CM", d.code, d.display, u.text(d.onset)})
	}
	return b
}

// encoded returns the JSON of a body without HTML escapes, because room labels contain & (L&D).
func encoded(body any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.Encode(body) //nolint:errcheck // encoding strings and numbers cannot fail
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// text returns an instant as RFC 3339 in UTC, or "" for the zero instant. It returns whole seconds or, if
// [Options.Clock] is set, milliseconds.
func (u *unit) text(t clock) string {
	if t == 0 {
		return ""
	}
	form := "2006-01-02T15:04:05Z"
	if u.options.Clock != nil {
		form = "2006-01-02T15:04:05.000Z"
	}
	return u.written(t).Format(form)
}

// adtBody is the body of an ADT event.
type adtBody struct {
	EventID           string          `json:"eventId"`
	EventType         string          `json:"eventType"`
	OccurredAt        string          `json:"occurredAt"`
	RecordedAt        string          `json:"recordedAt,omitempty"`
	VisitID           string          `json:"visitId"`
	PatientID         string          `json:"patientId,omitempty"`
	MotherVisitID     string          `json:"motherVisitId,omitempty"`
	RoomID            int             `json:"roomId,omitempty"`
	Location          *placeBody      `json:"location,omitempty"`
	PriorRoomID       int             `json:"priorRoomId,omitempty"`
	PriorLocation     *placeBody      `json:"priorLocation,omitempty"`
	PatientClass      string          `json:"patientClass,omitempty"`
	Service           string          `json:"service"`
	PrimaryFactor     string          `json:"primaryFactor,omitempty"`
	Diagnoses         []diagnosisBody `json:"diagnoses,omitempty"`
	CancelsOccurredAt string          `json:"cancelsOccurredAt,omitempty"`
}

// placeBody is the place of a room: point of care and room, as an ADT system names them.
type placeBody struct {
	PointOfCare string `json:"pointOfCare"`
	Room        string `json:"room"`
}

type diagnosisBody struct {
	System  string `json:"system"`
	Code    string `json:"code"`
	Display string `json:"display"`
	OnsetAt string `json:"onsetAt,omitempty"`
}

// clinicalBody is the body of a clinical request for one room.
type clinicalBody struct {
	RoomID  int      `json:"roomId"`
	Signals []signal `json:"signals"`
}

// signal is one element of the signals in a clinical request.
type signal struct {
	Kind       string `json:"kind"`
	System     string `json:"system"`
	Code       string `json:"code"`
	Display    string `json:"display,omitempty"`
	Value      any    `json:"value,omitempty"` // nil, a string or a number
	Status     string `json:"status,omitempty"`
	ObservedAt string `json:"observedAt,omitempty"`
	StartedAt  string `json:"startedAt,omitempty"`
}

type censusBody struct {
	AsOf       string     `json:"asOf"`
	TotalRooms int        `json:"totalRooms"`
	Rooms      []roomBody `json:"rooms"`
}

// roomBody is a room in a census. The fields after Status are set only for an occupied room.
type roomBody struct {
	RoomID       int        `json:"roomId"`
	RoomLabel    string     `json:"roomLabel"`
	Area         string     `json:"area"`
	Status       string     `json:"status"`
	VisitID      string     `json:"visitId,omitempty"`
	PatientClass string     `json:"patientClass,omitempty"`
	DeliveredAt  string     `json:"deliveredAt,omitempty"`
	DeliveryMode string     `json:"deliveryMode,omitempty"`
	Newborns     []struct{} `json:"newborns,omitzero"`
	Modifiers    []string   `json:"modifiers,omitzero"`
}

type staffingBody struct {
	AsOf               string `json:"asOf"`
	NursesOnDuty       int    `json:"nursesOnDuty"`
	CallStaffAvailable bool   `json:"callStaffAvailable"`
}

type rosterBody struct {
	AsOf   string      `json:"asOf"`
	Nurses []nurseBody `json:"nurses"`
}

type nurseBody struct {
	ExternalID      string `json:"externalId"`
	JobCode         string `json:"jobCode"`
	SkillLevel      int    `json:"skillLevel"`
	HireDate        string `json:"hireDate"`
	AssignedRoomIDs []int  `json:"assignedRoomIds"`
}
