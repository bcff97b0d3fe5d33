package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Observation contains the facts of one accepted request for one hospital, and no derived data. Everything that can
// change a verdict is an observation. An observation contains no names, birth dates, addresses or free text; ingest
// replaces all identifiers with keyed pseudonyms.
type Observation struct {
	Hospital   string
	ReceivedAt Instant // time of receipt by ingest's clock; an earlier time does not move the hospital's clock back
	// AppliedAt is the hospital's clock when the live processor applied the observation. It is 0 in the log. A replay
	// copies it from the changelog, so that each timer fires between the same two observations as in the live
	// processor.
	AppliedAt Instant
	Channel   Channel
	Source    string // id of the sender's API key before any rotation; for an administrator's observation, id of the administrator's key

	Events   []Event   // from adt, hl7 and batch: the events in the order of the request
	Signals  []Signal  // from clinical
	Room     *RoomRef  // from clinical: the room that the request names, even if the request has no signals
	Census   *Census   // from census
	Staffing *Staffing // from staffing
	// PastStaffing is the staffing that a batch reports for past hours, at most one entry per instant, in any order.
	PastStaffing []Staffing
	Roster       *Roster   // from roster
	Mappings     []Mapping // from terminology

	References []Reference // from fhir: resources that other resources refer to
	Creates    []Create    // from fhir: parts that apply only if the resource they would create is not known yet

	Rules     []catalogue.Rule // from rules: catalogue values that the hospital overrides
	Locations []Place          // from locations: rows of the hospital's location table
	Switches  *Switches        // from settings: how to interpret feeds
	Marks     []CodeMark       // from terminology: codes removed from the worklist
	Act       *Act             // options of an administrator's observation
	Request   *Request         // identity of the request; nil: the sender did not give one
}

// Request is the identity of a request (Idempotency-Key). A repetition of the request within 24 h has no effect.
type Request struct {
	Key    string // pseudonym of route and key
	Digest string // pseudonym of the body; the same key with a different body is refused
}

// Channel is the feed of an observation. Its value is the last element of the feed's path.
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

// IsSetting reports whether observations of the channel are administrators' settings rather than data about a unit.
func (c Channel) IsSetting() bool {
	switch c {
	case ChannelTerminology, ChannelRules, ChannelLocations, ChannelSettings:
		return true
	case ChannelADT, ChannelBatch, ChannelCensus, ChannelClinical, ChannelFHIR, ChannelHL7, ChannelRoster, ChannelStaffing:
	}
	return false
}

// RoomRef identifies a room by the sender's id and label.
type RoomRef struct {
	ID    int32  // 0 to 2147483647
	Label string // optional
}

// EventType is the type of an ADT event. Its values have the HL7 names.
type EventType uint8

// The event types that place a patient or revert a placement. EventOther is any other ADT event; it is counted but has
// no effect.
const (
	EventOther EventType = iota
	A01                  // admit
	A02                  // transfer
	A03                  // discharge
	A04                  // register
	A06                  // outpatient to inpatient: same effect as A01 on the open visit
	A07                  // inpatient to outpatient: same effect as A01 on the open visit
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

// Event is one ADT event of one visit. The state of a visit is a function of the set of its events. Only ReceivedAt
// depends on the order of arrival.
type Event struct {
	// ID is the identity of the event; a second event with the same ID is a duplicate. Digest is a pseudonym of the
	// whole body; a duplicate with a different Digest causes a warning.
	ID, Digest string

	Type      EventType
	At        Instant   // event time (EVN-6, else EVN-2, else MSH-7); for a cancel, the time of the cancellation
	Precision Precision // precision of At
	// AtFrom is the start of the interval that the sender gave, if the time was coarser than a second. At is then the
	// instant to which [Moment.Resolve] resolved the interval. AtFrom is 0 if At is as sent.
	AtFrom     Instant
	AtTo       Instant // first instant after that interval; 0: At is as sent, or an older release wrote the record
	RecordedAt Instant // EVN-2; 0 if not given
	ReceivedAt Instant // set by State.Apply from the observation
	Feed       Channel // set by State.Apply from the observation

	// Cancels is the event time of the event that a cancel refers to. It identifies that event and does not affect
	// the order of events. If Cancels is 0, the cancel refers to the latest event that this type of cancel can
	// revert, that is not canceled yet, and that is not later than At.
	Cancels          Instant
	CancelsPrecision Precision
	// CancelsTo is the first instant after the interval that starts at Cancels; see AtTo. If the time was sent without
	// a UTC offset and lies in the hour that the end of daylight saving time repeats, the interval begins in the first
	// occurrence of that hour and ends in the second.
	CancelsTo Instant

	Visit   string // pseudonym; HL7, JSON and FHIR share one namespace; empty: the event belongs to the open visit of Patient
	Patient string // pseudonym; may be empty
	// MotherVisit is the pseudonym of the mother's visit; may be empty. If the event does not mark a newborn,
	// MotherVisit is the visit that Encounter.partOf names. If that visit has a different patient, that patient is
	// the mother.
	MotherVisit   string
	MotherPatient string // pseudonym of the mother (PID-21, NK1 MTH); may be empty, or `""` to delete it

	Place     Location // PV1-3, or roomId and location of the JSON body
	PlaceNull bool     // whether PV1-3 was sent as "", which means that the patient no longer has a location
	Prior     Location // PV1-6; for a cancel-transfer, the destination of the canceled transfer

	Class         byte             // PV1-2: I O E P R B N …; 0 if not given
	AdmissionType byte             // PV1-4: L labor and delivery, N newborn, + older than 8 years according to PID-7 …; 0 if not given
	Service       string           // PV1-10, a code, upper case, or `""` to delete it
	Newborn       bool             // whether the event marks a newborn: class N, PV1-4 N, PV2-36 Y, or an age under 28 days at At
	Babies        uint8            // birth order (PID-25), at least 2 if PID-24 marks a multiple birth; 0 if not given
	Primary       catalogue.Factor // explicit primaryFactor; 0 if not given
	Reasons       Reasons

	DiagnosisMode DiagnosisMode
	Diagnoses     []Diagnosis

	// Resource is the pseudonym of the FHIR resource from which the event was made
	// (docs/decisions.md#resource-identity), or empty if the event is not from FHIR. The newest version of a resource
	// replaces all events of older versions (docs/decisions.md#encounter-versions); UpdatedAt is the time of the
	// version, or 0 if it was not given. Void means that the resource no longer has events, because it was canceled
	// or entered in error (docs/decisions.md#cancelled-encounter).
	Resource  string
	UpdatedAt Instant
	VersionID int64 // increases with each version (meta.versionId); 0 if not given or not a number
	Void      bool
	// CoarseTimes are the coarse times in all versions of Resource so far. Only the first stored event of the newest
	// version has CoarseTimes; in an observation the field is empty.
	CoarseTimes []CoarseTime
	// Encounter and Subject are additional names for Visit and Patient: the pseudonyms of the references
	// "Encounter/<id>" and "Patient/<id>", in the same namespaces. A later message may contain only the reference
	// (docs/decisions.md#subject-visit). Both are empty if the event is not from FHIR.
	Encounter, Subject string

	// ByPatient reports whether the sender gave no visit number. If so, Visit is the patient's pseudonym, and the event
	// belongs to the patient's only open visit.
	ByPatient bool
	// Account is the pseudonym of the patient account number (PID-18), an additional name for the visit, or empty if
	// it was not given. It equals Visit if the sender gave no visit number. Mother and newborn may share an account;
	// the patient then identifies the visit.
	Account string

	// Warnings are codes that the decoder raised for this event.
	Warnings []Warning
}

// Location is a place as it was sent. When a chart is computed, the current labels and location table resolve it to a
// room.
type Location struct {
	HasRoomID bool // whether the sender gave svc's room id
	RoomID    int32
	Label     string // roomLabel of the JSON body

	PointOfCare, Room, Bed, Facility string
}

// IsZero reports whether the place is empty.
func (l Location) IsZero() bool { return l == Location{} }

// SignalStatus is the status of a signal, as reported by its sender.
type SignalStatus uint8

// The statuses of a signal. A signal on hold is inactive, but the time since its start continues to count.
const (
	SignalActive SignalStatus = iota
	SignalEnded
	SignalOnHold
	SignalRetracted // entered in error: treated as never sent
)

// PerhapsFetus is the prefix of a Fetus whose pseudonym may be the mother's own. Such a Fetus is ignored if the
// pseudonym is that of the visit's patient.
const PerhapsFetus = "?"

// Signal is one clinical signal, such as a running infusion, a measurement or a finding.
type Signal struct {
	Room    int32  // the room for which the signal was reported, unless a visit or patient is named
	Visit   string // pseudonym of the visit that the signal was reported for (FHIR), as in Event.Visit or Event.Encounter; may be empty
	Patient string // pseudonym; if no visit is named, the signal belongs to the patient's open visit
	Subject string // an additional name for Patient, as in Event; may be empty
	Kind    catalogue.SignalKind
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked; some rules match on its words
	Value   codes.Value
	Status  SignalStatus
	Fetus   string // fetus that the signal is about: a label "A" to "I", or a pseudonym, see PerhapsFetus; empty: no fetus is named

	ObservedAt Instant // time of the observation; for an ended signal, its end
	StartedAt  Instant // start of a medication or onset of a condition
	// ObservedFrom is the start of the interval that the sender gave as ObservedAt; see Event.AtFrom.
	ObservedFrom Instant
	// StartedFrom is the start of the interval that the sender gave as StartedAt; see Event.AtFrom.
	StartedFrom Instant

	// Resource is the pseudonym of a FHIR resource. Statements about one resource do not affect other resources
	// (docs/decisions.md#resource-identity). For a component, a dot and the component's index follow. Retracting a
	// resource retracts its components. A retraction may name only the resource, without code, visit or patient. If
	// Resource is empty, kind, system and code identify the statement. The prefix "~" marks a resource without an
	// identifier; its content identifies it within its visit or patient.
	Resource  string
	UpdatedAt Instant // time of the version of the resource; 0 if not given
	VersionID int64   // increases with each version (meta.versionId); 0 if not given or not a number
	// Also lists additional codings of the same concept, in the sender's order. The first match counts, and the signal
	// is unmapped only if none matches.
	Also []Coding
}

// Coding is a code in a code system.
type Coding struct {
	System  codes.System
	Code    string
	Display string // ≤ 80 characters, long digit runs masked
}

// Warning is an irregularity in an input that was applied nevertheless. It never contains a value.
type Warning struct {
	Code string // stable
	Path string // location in the input, if known
}

// Staffing is the number of assignable nurses on duty from a given instant.
type Staffing struct {
	AsOf   Instant // start; if it is in the future (by at most 24 h), the entry is a plan
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

// Roster lists the nurses on shift, for the skill mix. If Switches.StaffingFromRoster is set, it also counts as
// staffing.
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

// Reasons is a set of hints extracted from the reason for admission (PV2-3), whose text is not stored. places.txt
// defines the hints, the words that indicate them, and the name of a reason without hints. Empty: no reason was sent.
type Reasons uint64

// Reference is a FHIR Medication, Location or Patient to which other resources refer. It may arrive before or after
// those resources, in a separate request.
type Reference struct {
	// Name is the name by which other resources refer to this one. A Medication is named "Medication/<id>" or, as a
	// code in the local system, by its number. A Location is named "Location/<id>" or "Location/<number>", in the
	// room or point-of-care field. A Patient is named by the pseudonym of its reference.
	Name      string
	UpdatedAt Instant  // time of the version; 0: not given
	Codings   []Coding // for a Medication, its codes; for a Patient, [Neonate] and the birth order (see [MultipleBirth])
	Place     Location // for a Location, its place
	Patient   string   // for a Patient, the pseudonym of its number
}

// LocationName is the prefix of the names of FHIR Locations.
const LocationName = "Location/"

// Neonate is the coding for a FHIR Patient who, at the time of the resource version, was younger than 28 days (SNOMED
// CT, Neonate (person)). Birth dates are not stored in any other form.
var Neonate = Coding{System: codes.SNOMED, Code: "133933007"}

// IsNeonate reports whether the reference is a Patient with the coding [Neonate].
func (r *Reference) IsNeonate() bool { return len(r.Codings) > 0 && r.Codings[0] == Neonate }

// MultipleBirth is the system of the coding for a FHIR Patient from a multiple birth. Its code is the birth order, a
// digit.
const MultipleBirth = "multiple-birth"

// BirthOrder returns a Patient's birth order in a multiple birth, or 0 if it was not given.
func (r *Reference) BirthOrder() uint8 {
	for _, c := range r.Codings {
		if c.System == MultipleBirth && len(c.Code) == 1 && c.Code[0] >= '1' && c.Code[0] <= '9' {
			return c.Code[0] - '0'
		}
	}
	return 0
}

// IsOfPerson reports whether the reference contains facts about a patient other than names.
func (r *Reference) IsOfPerson() bool { return r.IsNeonate() || r.BirthOrder() != 0 }
