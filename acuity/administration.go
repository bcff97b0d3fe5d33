package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Administrators of a hospital configure how its codes, locations and feeds are read, and what a factor demands
// there. Their settings change verdicts, so they are recorded as observations and a replay applies them, too.

// Act holds the options of an administrator's observation. The observation's source and receipt time record who made
// it and when.
type Act struct {
	// DryRun asks for the effect of the observation without applying it: the change contains only a preview.
	DryRun bool
	// Expect is the version that each named resource must have; otherwise the observation is refused. It may also be
	// the version of their table (facts.TableVersion), or ExpectAnything, ExpectSome or ExpectNone.
	Expect int64
}

// The expectations that are not versions.
const (
	ExpectAnything int64 = 0
	ExpectSome     int64 = -1 // any version
	ExpectNone     int64 = -2 // no version: the resource does not exist
)

// Mapping assigns a code of a hospital to a factor. It takes precedence over the default rule for the same code.
type Mapping struct {
	ID      string
	System  codes.System
	Code    string
	Kind    catalogue.SignalKind // 0: both diagnoses and signals; KindCondition: only diagnoses
	Factor  catalogue.Factor     // 0: the code is known and has no clinical meaning
	Op      codes.Comparator     // with Than: the comparison that the value must satisfy
	Than    codes.Milli
	Comment string // from the administrator, ≤ 200 characters
	Delete  bool
}

// Place is a row of the hospital's location table: the sender's name for a location, and its room. Names are compared
// without regard to case and spaces.
type Place struct {
	PointOfCare string
	Room        string // "": the whole point of care
	Bed         string // "": any

	HasRoomID bool
	RoomID    int32
	Label     string           // of the room; "": unchanged
	Area      string           // of the room; "": unchanged
	Outside   bool             // not part of this unit: a visit there is open, but is neither in a room nor unplaced
	Primary   catalogue.Factor // of patients placed here; 0: derived from the area
	Delete    bool
}

// Switches are the settings of a hospital that change how facts are read. An observation that sets them contains all of them.
type Switches struct {
	TrustA08Location   bool // an A08 with a different PV1-3 moves the patient
	StaffingFromRoster bool // without a staffing record, nurses on duty are counted from the roster
}

// CodeMark removes a code from the worklist. The code is still counted and keeps its meaning.
type CodeMark struct {
	System codes.System
	Code   string
	Kind   catalogue.SignalKind // 0: any kind
	Delete bool                 // puts it back on the worklist
}
