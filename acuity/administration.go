package acuity

import (
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Administrators of a hospital set how its codes, places and feeds are read, and what a
// factor asks for there. Their settings change verdicts. They therefore come as
// observations, and a replay applies them too.

// Act is how an administrator's observation is meant. The observation's source and
// receipt say who made it and when.
type Act struct {
	// DryRun asks what the observation would do: the answer is the preview of
	// the change, and nothing else changes.
	DryRun bool
	// Expect is the version that each named resource must have, else the observation is
	// refused. It may be the version of their table instead (hospital.TableVersion), or
	// ExpectAnything, ExpectSome, ExpectNone.
	Expect int64
}

// The expectations that are no version.
const (
	ExpectAnything int64 = 0
	ExpectSome     int64 = -1 // some version
	ExpectNone     int64 = -2 // no version: it is not there
)

// Mapping ties a code of a hospital to a factor. It wins over the default rule
// of the same code.
type Mapping struct {
	ID      string
	System  codes.System
	Code    string
	Kind    catalogue.SignalKind // 0: diagnoses and signals alike; KindCondition: diagnoses alone
	Factor  catalogue.Factor     // 0: the code is known and means nothing
	Op      codes.Comparator     // with Than: the value must compare so
	Than    codes.Milli
	Comment string // of the administrator, ≤ 200 characters
	Delete  bool
}

// Place is a row of the hospital's location table: the sender's name of a place, and the
// room that it is. Names are compared without regard to case and spaces.
type Place struct {
	PointOfCare string
	Room        string // "": the whole point of care
	Bed         string // "": any

	HasRoomID bool
	RoomID    int32
	Label     string           // of the room; "": as it is
	Area      string           // of the room; "": as it is
	Outside   bool             // not of this unit: a visit there is open, but neither in a room nor unplaced
	Primary   catalogue.Factor // of patients placed here; 0: by the table of areas
	Delete    bool
}

// Switches are the settings of a hospital that change how facts are read. Each
// observation of them has all of them.
type Switches struct {
	TrustA08Location   bool // a differing PV1-3 of an A08 moves the patient
	StaffingFromRoster bool // without a staffing record, the nurses of the roster are on duty
}

// CodeMark takes a code off the worklist. The code is still counted, and its meaning stays.
type CodeMark struct {
	System codes.System
	Code   string
	Kind   catalogue.SignalKind // 0: whatever it came as
	Delete bool                 // puts it back on the worklist
}
