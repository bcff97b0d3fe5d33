package acuity

import "strconv"

// Apply takes one observation, the input at offset, and returns what it did.
// The caller has taken the due instants up to the observation's clock with
// Advance before. It never fails: what cannot be taken is told in the Change.
func (u *Unit) Apply(o *Observation, offset int64) Change {
	if o.Act != nil && o.Act.DryRun {
		return u.preview(o, offset)
	}
	u.begin(max(u.facts.Clock, o.ReceivedAt, o.AppliedAt), offset)
	u.dirty.unit = true
	u.makeRoom(o)
	in := intake{o: o, Change: Change{Outcome: Applied}, roomy: u.isRoomy(o), waiting: -1}
	if u.repeats(&in) {
		u.derive()
		u.conclude(&in)
		return in.Change
	}
	if len(o.Referents) > 0 {
		u.takeReferents(&in)
		u.past = nil
	}
	if len(o.Events) > 0 {
		u.takeEvents(&in)
	}
	if o.Census != nil {
		u.takeCensus(&in, o.Census)
		u.waits = true // it may make visits known
	}
	if o.Staffing != nil {
		u.takeStaffing(&in, o.Staffing)
	}
	if o.Roster != nil {
		u.takeRoster(&in, o.Roster)
	}
	if o.administers() {
		u.takeSite(&in)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		u.takeClinical(&in)
	}
	u.derive()
	u.answerEvents(&in)
	u.answerClinical(&in)
	u.answerReferrals(&in)
	u.observe(&in)
	u.conclude(&in)
	return in.Change
}

// intake is one observation on its way into the facts.
type intake struct {
	Change
	o      *Observation
	events []intakeEvent
	heard  []Heard           // statements of this request
	byRoom map[int32][]int32 // of them, those made for a room, once somebody asked
	// unbound are those of them that named a patient without a visit.
	unbound []unbound
	room    *room // of a clinical request
	// versions are those of Encounters.
	versions map[encounterVersion]*intakeVersion
	census   bool                    // a census was taken
	refused  int                     // parts of the input
	newRooms map[int32]bool          // rooms that come into use by it
	roomy    bool                    // every room that it names finds room
	named    map[string]int          // visits by their patients, that are not in the index yet
	visitsOf map[visitOfPatient]bool // that were counted
	inUse    int                     // rooms, once they were counted
	waiting  int                     // statements that wait; -1: they were not counted
	told     map[any]bool            // what the change tells already
	present  int                     // rooms in the unit before it
}

// warn notes something about the input, once.
func (in *intake) warn(code, path string) {
	if w := (Warning{Code: code, Path: path}); in.first(w) {
		in.Warnings = append(in.Warnings, w)
	}
}

// refuse notes that a part of the input is not taken: the rest is.
func (in *intake) refuse(reason, path string) {
	in.refused++
	in.warn(reason, path)
}

// first reports whether something is told for the first time.
func (in *intake) first(what any) bool {
	if in.told[what] {
		return false
	}
	if in.told == nil {
		in.told = map[any]bool{}
	}
	in.told[what] = true
	return true
}

// item names an element of a list of a request.
func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// own reports whether only its location makes the room known.
func (r *room) own() bool { return r.Registered && r.Room != "" }

// relabel brings the table of rooms up to the labels known. It returns whether the
// table tells other things now.
func (u *Unit) relabel() (news bool) {
	u.past = nil // it has its rooms from here
	for _, r := range u.rooms {
		if r.own() {
			news = u.table.forget(r.ID) || news
		} else {
			news = u.table.know(r.ID, r.Label, r.Area) || news
		}
	}
	return news
}
