package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Observation is the facts of one accepted request for one hospital; nothing in it is derived from them. Everything
// that can change a verdict is an observation. It contains no names, birth dates, addresses or free text; ingest
// replaces all identifiers with keyed pseudonyms.
type Observation struct {
	Hospital   string
	ReceivedAt Instant // clock of ingest; it never moves the hospital's clock back
	// AppliedAt is the clock of the hospital when the live processor applied the observation. It is 0 in the log. A
	// replay copies it from the changelog, so that timers fire between the same observations.
	AppliedAt Instant
	Channel   Channel
	Source    string // first key in the rotation chain of the API key that sent it; for an administrator's act, the id of the key

	Events   []Event   // adt, hl7, batch: in the order of the request
	Signals  []Signal  // clinical
	Room     *RoomRef  // clinical: the room of the request, even without signals
	Census   *Census   // census
	Staffing *Staffing // staffing
	// PastStaffing is the staffing that a batch reports for past hours, at most one entry per instant, in any order.
	PastStaffing []Staffing
	Roster       *Roster   // roster
	Mappings     []Mapping // terminology

	References []Reference // fhir: resources that others refer to
	Creates    []Create    // fhir: parts that are applied only if the resource that they create is not known

	Rules     []catalogue.Rule // rules: catalogue values that the hospital overrides
	Locations []Place          // locations: rows of the hospital's location table
	Switches  *Switches        // settings: how feeds are read
	Marks     []CodeMark       // terminology: codes removed from the worklist
	Act       *Act             // of an administrator: the options of the act
	Request   *Request         // if the sender gave the request an identity
}

// Request is the identity of a request (Idempotency-Key). A repeat within 24 h has no second effect.
type Request struct {
	Key    string // pseudonym of route and key
	Digest string // pseudonym of the body: the same key with another body is refused
}

// Channel is the feed of an observation: the last element of its path.
type Channel string

// The channels.
const (
	ChannelADT         Channel = "adt"
	ChannelBatch       Channel = "batch"
	ChannelCensus      Channel = "census"
	ChannelClinical    Channel = "clinical"
	ChannelFHIR        Channel = "fhir"
	ChannelHL7         Channel = "hl7"
	ChannelRoster      Channel = "roster"
	ChannelStaffing    Channel = "staffing"
	ChannelTerminology Channel = "terminology"
	ChannelRules       Channel = "rules"
	ChannelLocations   Channel = "locations"
	ChannelSettings    Channel = "settings"
)

// RoomRef identifies a room as the sender does.
type RoomRef struct {
	ID    int32  // 0 to 2147483647
	Label string // optional
}

// EventType is the kind of an ADT event, by its HL7 name.
type EventType uint8

// The event types that place a patient or revert a placement. EventOther is any other ADT event: counted, without
// effect.
const (
	EventOther EventType = iota
	A01                  // admit
	A02                  // transfer
	A03                  // discharge
	A04                  // register
	A06                  // outpatient to inpatient: like A01 on the open visit
	A07                  // inpatient to outpatient: like A01 on the open visit
	A08                  // update
	A11                  // cancel admit (of A01 or A04)
	A12                  // cancel transfer
	A13                  // cancel discharge
)

// Precision is the precision of a time as it was given: "20260304" is a Day.
type Precision uint8

// The precisions, finest first, so that max returns the coarser of two.
const (
	Millisecond Precision = iota
	Second
	Minute
	Hour
	Day
	Month
	Year
)

// Event is one ADT event of one visit. The state of a visit is a function of its set of events: only ReceivedAt
// depends on the order of arrival.
type Event struct {
	// ID is the identity of the event: another event with the same ID is a duplicate. Digest is a pseudonym of the
	// whole body; a duplicate with another Digest causes a warning.
	ID, Digest string

	Type      EventType
	At        Instant   // event time (EVN-6, else EVN-2, else MSH-7); of a cancel, the time of the cancellation
	Precision Precision // precision of At
	// AtFrom is the start of the interval that the sender gave as At, if that was coarser than a second; At is then
	// the instant from [Moment.Resolve]. 0: At is as sent.
	AtFrom     Instant
	AtTo       Instant // first instant after that interval; 0: At is as sent, or the record is of an older release
	RecordedAt Instant // EVN-2; 0 if not given
	ReceivedAt Instant // set by State.Apply from the observation
	Feed       Channel // set by State.Apply from the observation

	// Cancels is, in a cancel, the event time of the event that it cancels. It identifies that event and does not
	// affect the order. 0: the latest event of its class that is not cancelled and not after At.
	Cancels          Instant
	CancelsPrecision Precision
	// CancelsTo is the first instant after the interval of Cancels; see AtTo. If Cancels has no offset and lies in the
	// hour that is repeated at the end of daylight saving time, the interval begins in the first and ends in the second
	// occurrence of that hour.
	CancelsTo Instant

	Visit   string // pseudonym; one name space for HL7, JSON and FHIR. Empty: the open visit of Patient
	Patient string // pseudonym; may be empty
	// MotherVisit is the pseudonym of the mother's visit; may be empty. If nothing marks this patient as a newborn,
	// it is the visit that this visit is part of (Encounter.partOf); if that visit has another patient, that patient
	// is the mother.
	MotherVisit   string
	MotherPatient string // pseudonym of the mother (PID-21, NK1 MTH); may be empty

	Place     Location // PV1-3, or roomId and location of the JSON body
	PlaceNull bool     // PV1-3 was sent as "": the patient no longer has a location
	Prior     Location // PV1-6; of a cancel-transfer, the canceled location

	Class         byte             // PV1-2: I O E P R B N …; 0 if not given
	AdmissionType byte             // PV1-4: L labor and delivery, N newborn …; 0 if not given
	Service       string           // PV1-10, a code, upper case
	Newborn       bool             // class N, PV1-4 N, PV2-36 Y, or younger than 28 days at At
	Babies        uint8            // PID-24/25: birth order of a multiple birth; 0 if not given
	Primary       catalogue.Factor // explicit primaryFactor; 0 if not given
	Reasons       Reasons

	DiagnosisMode DiagnosisMode
	Diagnoses     []Diagnosis

	// Resource is a pseudonym of the identity of the FHIR resource that the event was made from
	// (docs/decisions.md#resource-identity). The newest version of a resource replaces all events of its older ones
	// (docs/decisions.md#encounter-versions); UpdatedAt is the time of the version, 0 if not given. Void means that the
	// resource no longer has events, because it was cancelled or entered in error
	// (docs/decisions.md#cancelled-encounter). Empty: not from FHIR.
	Resource  string
	UpdatedAt Instant
	VersionID int64 // increases with each version (meta.versionId); 0 if not given or not a number
	Void      bool
	// CoarseTimes are the coarse times of all versions of Resource so far. Only the first stored event of
	// the newest version has them; in an observation they are empty.
	CoarseTimes []CoarseTime
	// Encounter and Subject are further names of Visit and Patient: pseudonyms,
	// in the same name spaces, of the references "Encounter/<id>" and
	// "Patient/<id>". A later message may name them by reference alone (docs/decisions.md#subject-visit).
	// Empty: not from FHIR.
	Encounter, Subject string

	// ByPatient reports that the sender gave no visit number. Visit is then a pseudonym of the patient, and the event
	// belongs to the patient's only open visit.
	ByPatient bool
	// Account is the pseudonym of the patient account number (PID-18), a further name of the visit. It equals Visit
	// if the sender gave no visit number. Mother and newborn may share an account; the patient then identifies the
	// visit. Empty: not given.
	Account string

	// Warnings are codes that the decoder raised for this event.
	Warnings []Warning
}

// Location is a place as it was sent. The chart resolves it to a room with the labels and the location table at that
// time.
type Location struct {
	HasRoomID bool // the sender knows the room id of svc
	RoomID    int32
	Label     string // roomLabel of the JSON body

	PointOfCare, Room, Bed, Facility string
}

// IsZero reports whether the place is empty.
func (l Location) IsZero() bool { return l == Location{} }

// SignalStatus is the status of a signal, as its sender gives it.
type SignalStatus uint8

// The statuses of a signal. A signal on hold is inactive, but its clock continues.
const (
	SignalActive SignalStatus = iota
	SignalEnded
	SignalOnHold
	SignalRetracted // entered in error: treated as never sent
)

// PerhapsFetus is the prefix of a possible name of a fetus: the pseudonym of a patient who may be the mother herself.
// It is ignored if that patient is the patient of the visit.
const PerhapsFetus = "?"

// Signal is one clinical signal, such as a running infusion, a measurement or a finding.
type Signal struct {
	Room    int32  // the room that it was reported for, unless a visit or patient is named
	Visit   string // pseudonym of the visit it was reported for (FHIR), or the Encounter of its events; may be empty
	Patient string // pseudonym, if no visit is named: the signal belongs to the patient's open visit
	Subject string // a further name of Patient, as in Event; may be empty
	Kind    catalogue.SignalKind
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked; some rules match on its words
	Value   codes.Value
	Status  SignalStatus
	Fetus   string // fetus of the signal: a label "A" to "I", or a pseudonym, see PerhapsFetus; empty: no fetus is named

	ObservedAt Instant // of an ended signal: its end
	StartedAt  Instant // of a medication; onset of a condition
	// ObservedFrom is the start of the interval that the sender gave as ObservedAt; see Event.AtFrom.
	ObservedFrom Instant
	// StartedFrom is the start of the interval that the sender gave as StartedAt; see Event.AtFrom.
	StartedFrom Instant

	// Resource is the pseudonym of a FHIR resource. Statements about one resource do not affect another
	// (docs/decisions.md#resource-identity). A component adds a dot and its index; a retraction of the resource
	// includes its components. A retraction may name only the resource, without code, visit or patient. Empty: kind,
	// system and code identify the statement. The prefix "~" marks a resource without an identifier, which its content
	// identifies within its visit or patient.
	Resource  string
	UpdatedAt Instant // time of the version of the resource; 0 if not given
	VersionID int64   // increases with each version (meta.versionId); 0 if not given or not a number
	// Also lists further codings of the same concept, in the order of the sender. The first match counts, and the
	// signal is unmapped only if none matches.
	Also []Coding
}

// Coding is a code with its system.
type Coding struct {
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked
}

// Warning is an irregularity of an input that was applied nevertheless. It never contains a value.
type Warning struct {
	Code string // stable
	Path string // its place, if it has one
}

// Census is a full snapshot of the rooms of the unit.
type Census struct {
	AsOf       Instant
	TotalRooms int32 // -1 if not given
	Rooms      []CensusRoom
}

// RoomStatus is the occupancy of a room.
type RoomStatus uint8

// The statuses. A room known only from clinical signals is RoomUnknown: no feed has reported its occupancy.
const (
	RoomUnknown RoomStatus = iota
	RoomOccupied
	RoomEmpty
	RoomBlocked
)

var statusNames = [...]string{"unknown", "occupied", "empty", "blocked"}

// String returns the name used in the API.
func (s RoomStatus) String() string { return statusNames[s] }

// CensusRoom is one row of a census.
type CensusRoom struct {
	ID     int32
	Label  string
	Area   string
	Status RoomStatus

	Visit                           string // pseudonym; may be empty
	Class                           byte
	Service                         string
	Primary                         catalogue.Factor
	PrimarySince                    Instant
	DeliveredAt                     Instant
	PrimarySinceFrom, DeliveredFrom Instant // starts of their intervals; see Event.AtFrom
	Cesarean                        bool    // deliveryMode

	// A list that was not sent changes nothing; an empty list clears the stored one.
	HasModifiers bool
	Modifiers    []catalogue.Factor
	HasDiagnoses bool
	Diagnoses    []Diagnosis
	HasNewborns  bool
	Newborns     []CensusNewborn
}

// CensusNewborn is a newborn in the room of its mother.
type CensusNewborn struct {
	Visit   string
	Primary catalogue.Factor // 0 if not given
}

// Staffing is the number of assignable nurses on duty from an instant on.
type Staffing struct {
	AsOf   Instant // up to 24 h ahead: a plan that takes effect then
	Nurses int32   // without the charge nurse
	Call   Tristate
}

// Tristate is yes, no or unknown.
type Tristate uint8

// The three states.
const (
	Unsaid Tristate = iota
	No
	Yes
)

// Roster lists the nurses on shift, for the skill mix. With Switches.StaffingFromRoster it also counts as staffing.
type Roster struct {
	AsOf   Instant
	Nurses []RosterNurse
}

// RosterNurse is one nurse of a roster; the nurse's name is never stored.
type RosterNurse struct {
	ExternalID string
	JobCode    string
	Skill      int8  // 0 novice, 1 experienced, 2 expert; -1 unknown
	HiredDays  int32 // hire date in days since the Unix epoch; 0 unknown
	Rooms      []int32
}

// Reasons is the set of hints that the reason for admission (PV2-3) is reduced to. The text itself is not stored.
// places.txt defines the hints and their words.
type Reasons uint64

// Reference is a FHIR Medication, Location or Patient that other resources refer to. It may arrive before or after
// them, in a separate request.
type Reference struct {
	// Name is the name by which others refer to it. Statements refer to "Medication/<id>" or its number as a code of
	// the local system. Locations are referred to as "Location/<id>", or by number as the room or the point of care. A
	// Patient is identified by the pseudonym of its reference.
	Name      string
	UpdatedAt Instant  // time of the version; 0: not given
	Codings   []Coding // of a Medication; of a Patient, [Neonate] and the birth order (see [MultipleBirth])
	Place     Location // of a Location
	Patient   string   // of a Patient: the pseudonym of its number
}

// LocationName is the prefix of the name of a FHIR Location.
const LocationName = "Location/"

// Neonate is the coding of a FHIR Patient who was younger than 28 days at the time of the version (SNOMED CT, Neonate
// (person)). Birth dates are not stored in any other form.
var Neonate = Coding{System: codes.SNOMED, Code: "133933007"}

// IsNeonate reports whether the reference is a Patient with the coding [Neonate].
func (r *Reference) IsNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of the coding for a FHIR Patient of a multiple birth. Its code is the birth order, a
// digit.
const MultipleBirth = "multiple-birth"

// BirthOrder returns the order of birth of a Patient; 0: none.
func (r *Reference) BirthOrder() uint8 {
	for _, c := range r.Codings {
		if c.System == MultipleBirth && len(c.Code) == 1 && c.Code[0] >= '1' && c.Code[0] <= '9' {
			return c.Code[0] - '0'
		}
	}
	return 0
}

// IsOfPerson reports whether the reference has facts about a patient besides names.
func (r *Reference) IsOfPerson() bool { return r.IsNeonate() || r.BirthOrder() != 0 }
