package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Observation is what one accepted request says about one hospital: facts, and nothing
// derived from them. Everything that can change a verdict is an observation. It holds no
// names, birth dates, addresses or free text; ingest makes keyed pseudonyms of all
// identifiers.
type Observation struct {
	Hospital   string
	ReceivedAt Instant // clock of ingest; the hospital's clock never runs backwards for it
	// AppliedAt is the clock of the hospital when the live processor applied
	// the observation. It is 0 in the log. A replay fills it in from the changelog,
	// so that timers in between fire at the same places.
	AppliedAt Instant
	Channel   Channel
	Source    string // lineage of the API key that sent it; of an act, the id of the key

	Events   []Event   // adt, hl7, batch: in the order of the request
	Signals  []Signal  // clinical
	Room     *RoomRef  // clinical: the room the request is about, also without signals
	Census   *Census   // census
	Staffing *Staffing // staffing
	Roster   *Roster   // roster
	Mappings []Mapping // terminology

	References []Reference // fhir: what others name
	Creates    []Create    // fhir: parts that count only if what they create is not known

	Rules     []catalogue.Rule // rules: catalogue values that the hospital overrides
	Locations []Place          // locations: rows of its location table
	Switches  *Switches        // settings: how it wants its feeds read
	Marks     []CodeMark       // terminology: codes taken off the worklist
	Act       *Act             // of an administrator's act: how it is meant
	Request   *Request         // if the sender gave the request an identity
}

// Request is the identity that a sender gave to a request, so that a repetition within
// 24 h has no second effect (Idempotency-Key).
type Request struct {
	Key    string // pseudonym of route and key
	Digest string // pseudonym of the body: the same key with another body is refused
}

// Channel is the feed by which an observation came: the last element of its path.
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

// RoomRef names a room as a sender does.
type RoomRef struct {
	ID    int32  // 0 … 2147483647
	Label string // optional
}

// EventType is the kind of an ADT event, by its HL7 name.
type EventType uint8

// The event types that place a patient or take a placement back. EventOther is
// any other ADT event: counted, without effect.
const (
	EventOther EventType = iota
	A01                  // admit
	A02                  // transfer
	A03                  // discharge
	A04                  // register
	A06                  // outpatient to inpatient: as A01 on the open visit
	A07                  // inpatient to outpatient: as A01 on the open visit
	A08                  // update
	A11                  // cancel admit (of A01 or A04)
	A12                  // cancel transfer
	A13                  // cancel discharge
)

// Precision is how exactly a time was given: "20260304" is a Day.
type Precision uint8

// The precisions, finest first, so that max is the coarser of two.
const (
	Millisecond Precision = iota
	Second
	Minute
	Hour
	Day
	Month
	Year
)

// Event is one ADT event of one visit. The state is a function of the set of events:
// nothing in an event depends on the order of arrival, except ReceivedAt.
type Event struct {
	// ID is the identity of the event: the same ID again is a duplicate, one
	// effect. Digest is a pseudonym of the whole body; an ID that comes back
	// with another Digest is still a duplicate, answered with a warning.
	ID, Digest string

	Type      EventType
	At        Instant   // event time (EVN-6, else EVN-2, else MSH-7); on cancels when it was cancelled
	Precision Precision // of At
	// AtFrom is the start of the interval that the sender gave as At, if that was coarser than a second;
	// At is the instant that counts ([Moment.Resolve]). 0: At is as sent.
	AtFrom     Instant
	RecordedAt Instant // EVN-2; 0 if not given
	ReceivedAt Instant // set by State.Apply from the observation
	Feed       Channel // set by State.Apply from the observation

	// Cancels is, on a cancel, the event time of the event that it cancels. It joins the two
	// and orders nothing. 0: the latest live event of its class not after At.
	Cancels          Instant
	CancelsPrecision Precision

	Visit   string // pseudonym; one name space for HL7, JSON and FHIR. Empty: the open visit of Patient
	Patient string // pseudonym; may be empty
	// MotherVisit is the pseudonym of the mother's visit; may be empty. If nothing says that
	// this patient is a newborn, it is the visit that this visit is a part of
	// (Encounter.partOf). If that visit has another patient, she is the mother.
	MotherVisit   string
	MotherPatient string // pseudonym of the mother (PID-21, NK1 MTH); may be empty

	Place     Location // PV1-3, or roomId and location of the JSON body
	PlaceNull bool     // PV1-3 was sent as "": the patient has no place any more
	Prior     Location // PV1-6; on a cancel-transfer the cancelled place

	Class         byte             // PV1-2: I O E P R B N …; 0 if not given
	AdmissionType byte             // PV1-4: L labor and delivery, N newborn …; 0 if not given
	Service       string           // PV1-10, a code, upper case
	Newborn       bool             // class N, PV1-4 N, PV2-36 Y, or younger than 28 days at At
	Babies        uint8            // PID-24/25: order of a multiple birth; 0 if not given
	Primary       catalogue.Factor // explicit primaryFactor; 0 if not given
	Reasons       Reasons

	DiagnosisMode DiagnosisMode
	Diagnoses     []Diagnosis

	// Resource is the FHIR resource that the event was made from, a pseudonym of
	// its identity (docs/decisions.md#resource-identity). The newest version of a resource
	// replaces all events of its older ones (docs/decisions.md#encounter-versions); UpdatedAt is the time of the
	// version, 0 if not said. An event with Void says that the resource has no
	// events any more (cancelled, entered in error; docs/decisions.md#cancelled-encounter). Empty: not from FHIR.
	Resource  string
	UpdatedAt Instant
	VersionID int64 // a number that grows with each version (meta.versionId); 0 if not said, or no number
	Void      bool
	// Encounter and Subject are further names of Visit and Patient: pseudonyms,
	// in the same name spaces, of the references "Encounter/<id>" and
	// "Patient/<id>". A later message may name them by reference alone (docs/decisions.md#subject-visit).
	// Empty: not from FHIR.
	Encounter, Subject string

	// ByPatient says that the sender gave no visit number. Visit then stands for the
	// patient, and the event belongs to her only open visit.
	ByPatient bool
	// Account is the pseudonym of the patient account number (PID-18), a further name of
	// the visit. It equals Visit if the sender gave no visit number. Mother and newborn may
	// have one account: then the patient tells their visits apart. Empty: not given.
	Account string

	// Warnings are codes that the decoder raised for this event.
	Warnings []Warning
}

// Location is a place as it was sent. The chart decides which room it is, by the labels
// and the location table of that time.
type Location struct {
	HasRoomID bool // the sender knows our room id
	RoomID    int32
	Label     string // roomLabel of the JSON body

	PointOfCare, Room, Bed, Facility string
}

// IsZero reports whether the place is empty.
func (l Location) IsZero() bool { return l == Location{} }

// DiagnosisMode says how the diagnoses of an event change those of the visit.
type DiagnosisMode uint8

// The modes. A message without a diagnosis changes nothing.
const (
	DiagnosisNone     DiagnosisMode = iota
	DiagnosisSnapshot               // the list replaces what the set of ADT events said before
	DiagnosisDelta                  // each entry is added, updated or deleted (DG1-21)
	DiagnosisClear                  // DG1-3 = "": none is left
)

// Diagnosis is one coded diagnosis.
type Diagnosis struct {
	System  codes.System
	Code    string // as sent, trimmed; compared by the rules of its system
	Display string // ≤ 80 characters, long digit runs masked; may be empty
	OnsetAt Instant
	Delete  bool // in a delta: DG1-21 = D
}

// SignalStatus is the state of a signal, as its sender gives it.
type SignalStatus uint8

// The states of a signal. A signal on hold is off, but its clock runs on.
const (
	SignalActive SignalStatus = iota
	SignalEnded
	SignalOnHold
	SignalRetracted // entered in error: it never was
)

// PerhapsFetus begins the name of a fetus by a patient who may be the mother herself: it is no
// name of a fetus if the visit is that patient's.
const PerhapsFetus = "?"

// Signal is one clinical signal: a running drug, a measurement, a mark.
type Signal struct {
	Room    int32  // the room it was reported for, unless a visit or patient is named
	Visit   string // pseudonym of the visit it was reported for (FHIR), or the Encounter of its events; may be empty
	Patient string // pseudonym, when no visit is named: it goes to the patient's open visit
	Subject string // a further name of Patient, as in Event; may be empty
	Kind    catalogue.SignalKind
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked; some rules match on its words
	Value   codes.Value
	Status  SignalStatus
	Fetus   string // which fetus it is about: a label "A" to "I", or a pseudonym, see PerhapsFetus; empty: none is named

	ObservedAt Instant // of one that ended: its end
	StartedAt  Instant // of a medication; onset of a condition

	// Resource is the pseudonym of a FHIR resource. A statement about one resource says
	// nothing about another (docs/decisions.md#resource-identity). A component adds a dot and its index; a retraction of the
	// resource includes its components. A retraction may name the resource alone, without
	// code, visit or patient. Empty: kind, system and code identify the statement. "~" begins
	// a resource without an identifier; it is one thing in its visit or patient.
	Resource  string
	UpdatedAt Instant // when the version of the resource was made; 0 if not said
	VersionID int64   // a number that grows with each version (meta.versionId); 0 if not said, or no number
	// Also are further codings of the same thing, in the order of the sender. The
	// first match counts, and the signal is unmapped only if none matches.
	Also []Coding
}

// Coding is a code with its system.
type Coding struct {
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked
}

// Warning is an oddity of an input that was taken all the same. It never holds a value.
type Warning struct {
	Code string // stable
	Path string // where, if it has a place
}

// Census is a full snapshot of the rooms of the unit.
type Census struct {
	AsOf       Instant
	TotalRooms int32 // -1 if not given
	Rooms      []CensusRoom
}

// RoomStatus is the occupancy of a room.
type RoomStatus uint8

// The states. A room known only from clinical ingest is RoomUnknown: whether
// anybody is in it has not been said.
const (
	RoomUnknown RoomStatus = iota
	RoomOccupied
	RoomEmpty
	RoomBlocked
)

var statusNames = [...]string{"unknown", "occupied", "empty", "blocked"}

// String returns the name on the wire.
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
	PrimarySinceFrom, DeliveredFrom Instant // starts of their intervals, as Event.AtFrom
	Cesarean                        bool    // deliveryMode

	// A list that was not sent changes nothing; an empty one clears what is known.
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
	AsOf   Instant // up to 24 h ahead: a plan that takes over then
	Nurses int32   // without the charge nurse
	Call   Tristate
}

// Tristate is a yes or no that may be unsaid.
type Tristate uint8

// The three states.
const (
	Unsaid Tristate = iota
	No
	Yes
)

// Roster lists who is on shift, for the skill axis. With Switches.StaffingFromRoster it
// also counts as staffing.
type Roster struct {
	AsOf   Instant
	Nurses []RosterNurse
}

// RosterNurse is one nurse of a roster; her name is never taken in.
type RosterNurse struct {
	ExternalID string
	JobCode    string
	Skill      int8  // 0 novice, 1 experienced, 2 expert; -1 unknown
	HiredDays  int32 // hire date in days since the Unix epoch; 0 unknown
	Rooms      []int32
}

// Reasons is the set of hints that the reason of an admission (PV2-3) is reduced to. The
// text is not kept. Places.txt has the hints and their words.
type Reasons uint64

// Reference is a FHIR Medication, Location or Patient that other resources name. It may
// come in a request of its own, before or after the resources that name it.
type Reference struct {
	// Name is the name that others use. Statements name "Medication/<id>" or its number as
	// a code of the local system. Places name "Location/<id>" or its number as the room or
	// the point of care. A Patient is named by the pseudonym of its reference.
	Name      string
	UpdatedAt Instant  // time of the version; 0: not said
	Codings   []Coding // of a Medication; of a Patient [Neonate] and the order of a [MultipleBirth]
	Place     Location // of a Location
	Patient   string   // of a Patient: the pseudonym of its number
}

// LocationName begins the name of a place that is a FHIR Location.
const LocationName = "Location/"

// Neonate is the coding of a FHIR Patient who was younger than 28 days at the time of
// the version (SNOMED CT, Neonate (person)). Nothing else is kept of a birth date.
var Neonate = Coding{System: codes.SNOMED, Code: "133933007"}

// IsNeonate reports whether the reference is a Patient with the coding [Neonate].
func (r *Reference) IsNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of a coding for a FHIR Patient of a multiple birth. Its
// code is the order of birth, a digit.
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

// IsOfPerson reports whether the reference says more about a patient than names.
func (r *Reference) IsOfPerson() bool { return r.IsNeonate() || r.BirthOrder() != 0 }
