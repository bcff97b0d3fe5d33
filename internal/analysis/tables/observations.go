package tables

import (
	"svc/acuity"
	"svc/acuity/codes"
	"svc/internal/stream"
	"svc/schemas"
)

// ObservationRow is one accepted request. The about tag of a field is the column's description in the dictionary.
type ObservationRow struct {
	Hospital   string  `parquet:"hospital,dict" json:"hospital" about:"Hospital ID"`
	Partition  int32   `parquet:"partition" json:"partition" about:"Topic partition; with offset, the position of the record"`
	Offset     int64   `parquet:"offset,delta" json:"offset" about:"Offset within the partition; a hospital's records are applied in this order"`
	At         Moment  `parquet:"at,timestamp(millisecond)" json:"at" about:"Record timestamp"`
	Key        string  `parquet:"key,dict" json:"key" about:"Record key: the hospital, or hospital/room/id"`
	ReceivedAt Moment  `parquet:"received_at,timestamp(millisecond)" json:"received_at" about:"Time at which ingest accepted the request"`
	Channel    string  `parquet:"channel,dict" json:"channel" about:"Feed (adt, batch, census, clinical, fhir, hl7, roster, staffing) or administration (terminology, rules, locations, settings)"`
	Source     *string `parquet:"source,dict,optional" json:"source,omitempty" about:"ID of the API key that sent the request; after a rotation, the ID of the original key"`
	RoomID     *int32  `parquet:"room_id,optional" json:"room_id,omitempty" about:"Room of a clinical request"`
	RoomLabel  *string `parquet:"room_label,dict,optional" json:"room_label,omitempty" about:"Room label in the request"`

	Events  []EventRow  `parquet:"events,list" json:"events,omitempty" about:"ADT events in request order"`
	Signals []SignalRow `parquet:"signals,list" json:"signals,omitempty" about:"Clinical statements in request order"`
	Census  []CensusRow `parquet:"census,list" json:"census,omitempty" about:"Rooms listed by a census"`

	CensusAt     *Moment           `parquet:"census_at,timestamp(millisecond),optional" json:"census_at,omitzero" about:"Time of the census"`
	StaffingAt   *Moment           `parquet:"staffing_at,timestamp(millisecond),optional" json:"staffing_at,omitzero" about:"Time from which the staffing applies"`
	Nurses       *int32            `parquet:"nurses,optional" json:"nurses,omitempty" about:"Assignable nurses on duty, excluding the charge nurse"`
	Call         *string           `parquet:"call,dict,optional" json:"call,omitempty" about:"On-call staff available: yes or no"`
	PastStaffing []PastStaffingRow `parquet:"past_staffing,list" json:"past_staffing,omitempty" about:"Staffing of past hours in a batch"`

	RosterNurses *int32 `parquet:"roster_nurses,optional" json:"roster_nurses,omitempty" about:"Number of nurses on the roster"`

	Record []byte `parquet:"record" json:"record" about:"The stored record: Avro in the Confluent wire format, base64 in text formats. svc import writes these bytes"`
}

// PastStaffingRow is one entry in the staffing history of a batch.
type PastStaffingRow struct {
	At     *Moment `parquet:"at,timestamp(millisecond),optional" json:"at,omitzero" about:"Start; the entry applies until the next one"`
	Nurses int32   `parquet:"nurses" json:"nurses" about:"Assignable nurses on duty, excluding the charge nurse"`
	Call   *string `parquet:"call,dict,optional" json:"call,omitempty" about:"On-call staff available: yes or no; null: as in the previous entry"`
}

// EventRow is one ADT event.
type EventRow struct {
	Type        string   `parquet:"type,dict" json:"type" about:"A01, A02, A03, A04, A06, A07, A08, A11, A12, A13 or other"`
	At          *Moment  `parquet:"at,timestamp(millisecond),optional" json:"at,omitzero" about:"Event time"`
	Visit       *string  `parquet:"visit,optional" json:"visit,omitempty" about:"Visit pseudonym"`
	Patient     *string  `parquet:"patient,optional" json:"patient,omitempty" about:"Patient pseudonym"`
	PointOfCare *string  `parquet:"point_of_care,dict,optional" json:"point_of_care,omitempty" about:"PV1-3.1"`
	Room        *string  `parquet:"room,dict,optional" json:"room,omitempty" about:"PV1-3.2"`
	RoomID      *int32   `parquet:"room_id,optional" json:"room_id,omitempty" about:"svc room ID, if the sender provided it"`
	Class       *string  `parquet:"class,dict,optional" json:"class,omitempty" about:"Patient class, PV1-2"`
	Service     *string  `parquet:"service,dict,optional" json:"service,omitempty" about:"Hospital service, PV1-10"`
	Primary     *string  `parquet:"primary,dict,optional" json:"primary,omitempty" about:"Primary factor named by the sender"`
	Diagnoses   []string `parquet:"diagnoses,list" json:"diagnoses,omitempty" about:"Code system and code of each diagnosis, separated by a space"`
}

// SignalRow is one clinical statement.
type SignalRow struct {
	RoomID     int32    `parquet:"room_id" json:"room_id" about:"Room for which the statement was reported"`
	Visit      *string  `parquet:"visit,optional" json:"visit,omitempty" about:"Visit pseudonym, if the statement names a visit"`
	Patient    *string  `parquet:"patient,optional" json:"patient,omitempty" about:"Patient pseudonym, if the statement names a patient"`
	Kind       string   `parquet:"kind,dict" json:"kind" about:"medication, observation, lab, device or condition"`
	System     *string  `parquet:"system,dict,optional" json:"system,omitempty" about:"Code system"`
	Code       *string  `parquet:"code,dict,optional" json:"code,omitempty" about:"Code"`
	Display    *string  `parquet:"display,dict,optional" json:"display,omitempty" about:"Display text of the code, at most 80 characters, with long runs of digits masked"`
	Status     string   `parquet:"status,dict" json:"status" about:"active, ended, on-hold or retracted"`
	Comparator *string  `parquet:"comparator,dict,optional" json:"comparator,omitempty" about:"Comparator of number: <, <=, > or >=; null if equal"`
	Number     *float64 `parquet:"number,optional" json:"number,omitempty" about:"Numeric value, to three decimal places"`
	Unit       *string  `parquet:"unit,dict,optional" json:"unit,omitempty" about:"Unit of number"`
	Words      *string  `parquet:"words,dict,optional" json:"words,omitempty" about:"Coded text value from a closed vocabulary"`
	ObservedAt *Moment  `parquet:"observed_at,timestamp(millisecond),optional" json:"observed_at,omitzero" about:"Time of the observation, or of the end of the statement"`
	StartedAt  *Moment  `parquet:"started_at,timestamp(millisecond),optional" json:"started_at,omitzero" about:"Start of a medication, or onset of a condition"`
	Fetus      *string  `parquet:"fetus,dict,optional" json:"fetus,omitempty" about:"Fetus: a label A to I or a pseudonym; null if none is named"`
}

// CensusRow is one room in a census.
type CensusRow struct {
	RoomID  int32   `parquet:"room_id" json:"room_id" about:"Room ID"`
	Label   *string `parquet:"label,dict,optional" json:"label,omitempty" about:"Room label"`
	Area    *string `parquet:"area,dict,optional" json:"area,omitempty" about:"Area of the unit"`
	Status  string  `parquet:"status,dict" json:"status" about:"occupied, empty, blocked or unknown"`
	Visit   *string `parquet:"visit,optional" json:"visit,omitempty" about:"Pseudonym of the visit in the room"`
	Primary *string `parquet:"primary,dict,optional" json:"primary,omitempty" about:"Primary factor named by the sender"`
}

// readObservation fills a row, or returns the reason why the record cannot be decoded.
func readObservation(r *stream.Record, row *ObservationRow) (reason string) {
	o, reason, err := schemas.ReadInput(r.Key, r.Value)
	if err != nil {
		return reason
	}
	*row = ObservationRow{
		Hospital: o.Hospital, Partition: r.Partition, Offset: r.Offset, At: momentOf(r.Timestamp), Key: string(r.Key),
		ReceivedAt: Moment(o.ReceivedAt), Channel: string(o.Channel), Source: nullable(o.Source),
		Record: schemas.Portable(r.Value),
		Events: rowsOf(o.Events, eventRow), Signals: rowsOf(o.Signals, signalRow),
	}
	if o.Room != nil {
		row.RoomID, row.RoomLabel = &o.Room.ID, nullable(o.Room.Label)
	}
	if o.Census != nil {
		row.CensusAt, row.Census = nullable(Moment(o.Census.AsOf)), rowsOf(o.Census.Rooms, censusRow)
	}
	if o.Staffing != nil {
		row.StaffingAt, row.Nurses = nullable(Moment(o.Staffing.AsOf)), &o.Staffing.Nurses
		row.Call = nullable(word(tristateWords[:], o.Staffing.Call))
	}
	row.PastStaffing = rowsOf(o.PastStaffing, pastStaffingRow)
	if o.Roster != nil {
		n := int32(len(o.Roster.Nurses)) //nolint:gosec // bounded by the size of a record
		row.RosterNurses = &n
	}
	return ""
}

func eventRow(e *acuity.Event) EventRow {
	row := EventRow{
		Type: word(eventWords[:], e.Type), At: nullable(Moment(e.At)), Visit: nullable(e.Visit), Patient: nullable(e.Patient),
		PointOfCare: nullable(e.Place.PointOfCare), Room: nullable(e.Place.Room),
		Class: nullable(classLetter(e.Class)), Service: nullable(e.Service),
		Primary: nullable(factorID(e.Primary)),
	}
	if e.Place.HasRoomID {
		row.RoomID = &e.Place.RoomID
	}
	for i := range e.Diagnoses {
		row.Diagnoses = append(row.Diagnoses, string(e.Diagnoses[i].System)+" "+e.Diagnoses[i].Code)
	}
	return row
}

func pastStaffingRow(s *acuity.Staffing) PastStaffingRow {
	return PastStaffingRow{nullable(Moment(s.AsOf)), s.Nurses, nullable(word(tristateWords[:], s.Call))}
}

func censusRow(c *acuity.CensusRoom) CensusRow {
	return CensusRow{c.ID, nullable(c.Label), nullable(c.Area), c.Status.String(), nullable(c.Visit), nullable(factorID(c.Primary))}
}

func signalRow(s *acuity.Signal) SignalRow {
	row := SignalRow{
		RoomID: s.Room, Visit: nullable(s.Visit), Patient: nullable(s.Patient), Kind: word(signalWords[:], s.Kind),
		System: nullable(string(s.System)), Code: nullable(s.Code), Display: nullable(s.Display), Status: word(statusWords[:], s.Status),
		ObservedAt: nullable(Moment(s.ObservedAt)), StartedAt: nullable(Moment(s.StartedAt)),
		Fetus: nullable(s.Fetus),
	}
	if s.Value.Kind == codes.ValueNumber {
		n := float64(s.Value.Number) / 1000
		row.Number, row.Comparator, row.Unit = &n, nullable(word(comparatorWords[:], s.Value.Op)), nullable(s.Value.Unit)
	}
	row.Words = nullable(s.Value.Words)
	return row
}

// Observations returns the table of the observations topic.
func Observations() *Table[ObservationRow] {
	return &Table[ObservationRow]{
		Topic: schemas.Observations(),
		Read:  readObservation,
		Hospital: func(r *stream.Record) (string, bool) {
			return schemas.InputHospital(r.Key), true
		},
	}
}
