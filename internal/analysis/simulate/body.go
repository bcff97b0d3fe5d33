package simulate

import (
	"bytes"
	"encoding/json"
)

// encoded returns the JSON of a body, with the labels of rooms as they are (L&D).
func encoded(body any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.Encode(body) //nolint:errcheck // bodies hold texts and numbers, which have a JSON
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// text returns an instant as RFC 3339 in UTC: whole seconds, or milliseconds if the unit's time
// passes faster than real time. The zero instant is empty.
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

// placeBody is a room as an ADT system names it.
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
	Value      any    `json:"value,omitempty"` // nil, a text or a number
	Status     string `json:"status,omitempty"`
	ObservedAt string `json:"observedAt,omitempty"`
	StartedAt  string `json:"startedAt,omitempty"`
}

type censusBody struct {
	AsOf       string     `json:"asOf"`
	TotalRooms int        `json:"totalRooms"`
	Rooms      []roomBody `json:"rooms"`
}

// roomBody is a room of a census. Only an occupied room has the fields after the status.
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
