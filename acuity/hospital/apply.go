package hospital

import (
	"strconv"

	"svc/acuity"
	"svc/acuity/evidence"
)

// Apply takes one observation, the input at offset, and returns what it did. The caller
// has advanced to the observation's clock before. Apply never fails: the Change says
// what could not be taken.
func (u *State) Apply(o *acuity.Observation, offset int64) acuity.Change {
	if o.Act != nil && o.Act.DryRun {
		return u.preview(o, offset)
	}
	u.begin(max(u.facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	u.changed = true
	u.makeRoom(o)
	in := intake{o: o, Change: acuity.Change{Outcome: acuity.Applied}, roomy: u.capacity.isRoomy(o), waiting: -1}
	if first := u.dedup.repeats(o.Request); first != nil {
		in.Outcome, in.Repeats, in.RepeatsAt = acuity.Duplicate, first.Version, first.At
		if first.Digest != o.Request.Digest {
			in.Reason = ReasonReused
		}
		u.derive()
		u.conclude(&in)
		return in.Change
	}
	u.names.takeCreates(&in)
	if len(o.References) > 0 {
		u.names.takeReferences(&in)
		u.work.dropPast = true
	}
	if len(o.Events) > 0 {
		u.events.takeEvents(&in)
	}
	if o.Census != nil {
		u.takeCensus(&in, o.Census)
		u.work.recountWaiting = true // the census may make visits known
	}
	if o.Staffing != nil {
		u.facts.takeStaffing(&in, o.Staffing)
	}
	if o.Roster != nil {
		u.facts.takeRoster(&in, o.Roster)
	}
	if isAdministration(o) {
		u.takeLocalSettings(&in)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		u.clinical.takeSignals(&in)
	}
	u.derive()
	u.events.answerEvents(&in)
	in.answerClinical()
	u.names.answerWaiting(&in)
	u.names.warnOfSubjects(&in)
	in.answerCreates()
	u.hours.observe(&in)
	u.conclude(&in)
	return in.Change
}

// intake is one observation on its way into the facts.
type intake struct {
	acuity.Change
	o          *acuity.Observation
	events     []intakeEvent
	statements []evidence.Statement // statements of this request
	// waitingFor are the statements that named a patient without a visit.
	waitingFor []waitingStatement
	room       *room           // of a clinical request
	existing   []acuity.Create // parts that create what is known, and so do not count
	census     bool            // a census was taken
	refused    int             // number of refused parts of the input
	newRooms   map[int32]bool  // rooms that come into use by it
	roomy      bool            // every room that it names is within the limits
	// newVisits are the visits that the index by patient does not have yet, by patient.
	newVisits map[string]map[string]bool
	inUse     int          // number of rooms in use, once counted
	waiting   int          // number of waiting statements; -1: not counted yet
	answered  map[any]bool // warnings and codes that the change has already
	present   int          // number of rooms in the unit before it
}

// warn adds a warning about the input, once.
func (in *intake) warn(code, path string) {
	if w := (acuity.Warning{Code: code, Path: path}); in.first(w) {
		in.Warnings = append(in.Warnings, w)
	}
}

// refuse records that a part of the input is not taken. The rest is.
func (in *intake) refuse(reason, path string) {
	in.refused++
	in.warn(reason, path)
}

// first reports whether the change does not have this warning or code yet, and remembers
// it.
func (in *intake) first(what any) bool {
	if in.answered[what] {
		return false
	}
	if in.answered == nil {
		in.answered = map[any]bool{}
	}
	in.answered[what] = true
	return true
}

// itemPath returns the path of an element of a list of a request.
func itemPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
