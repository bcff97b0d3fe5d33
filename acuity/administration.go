package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// A hospital's administrators configure how svc interprets the hospital's codes, locations and feeds, and what a
// factor demands there. These settings change verdicts, so they are recorded as observations, which a replay also
// applies.

// Act holds the options of an administrator's observation. The observation's source and receipt time record who
// made the change and when.
type Act struct {
	// DryRun requests a preview: the observation is not applied, and the change contains only the effect that the
	// observation would have.
	DryRun bool
	// Expect is the version that each resource named in the observation must have; if a resource has a different
	// version, the observation is refused. Expect may also be the version of the table that contains the resources
	// (facts.TableVersion), or ExpectAnything, ExpectSome or ExpectNone.
	Expect int64
}

// The special values of Expect, which are not versions.
const (
	ExpectAnything int64 = 0
	ExpectSome     int64 = -1 // the resource must exist, in any version
	ExpectNone     int64 = -2 // the resource must not exist
)

// Mapping assigns a code of a hospital to a factor. It takes precedence over the default rule for the same code.
type Mapping struct {
	ID      string
	System  codes.System
	Code    string
	Kind    catalogue.SignalKind // 0: both diagnoses and signals; KindCondition: only diagnoses
	Factor  catalogue.Factor     // 0: the code is known but has no clinical meaning
	Op      codes.Comparator     // comparison that the value must satisfy, with Than on the right
	Than    codes.Milli
	Comment string // from the administrator, ≤ 200 characters
	Delete  bool
}

// Place is a row of the hospital's location table. It assigns the sender's name for a location to a room. Names are
// compared without regard to case and spaces.
type Place struct {
	PointOfCare string
	Room        string // "": the whole point of care
	Bed         string // "": any bed

	HasRoomID bool
	RoomID    int32
	Label     string           // label of the room; "": unchanged
	Area      string           // area of the room; "": unchanged
	Outside   bool             // whether the location is outside the unit; a visit there is open, but it is neither in a room nor unplaced
	Primary   catalogue.Factor // primary factor of patients placed here; 0: derived from the area
	Delete    bool
}

// Switches are the settings of a hospital that change how facts are interpreted. An observation that sets switches
// contains all of them.
type Switches struct {
	TrustA08Location   bool // whether an A08 with a different PV1-3 moves the patient
	StaffingFromRoster bool // whether the roster gives the nurses on duty if there is no staffing record
}

// CodeMark removes a code from the worklist of unmapped codes. The code is still counted, and its meaning does not
// change.
type CodeMark struct {
	System codes.System
	Code   string
	Kind   catalogue.SignalKind // 0: any kind
	Delete bool                 // whether to return the code to the worklist instead
}
