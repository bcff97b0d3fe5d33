package acuity

import (
	"cmp"
	"slices"
	"strings"
)

// Referent is what others only name: a Medication, a Location or a Patient of FHIR,
// also one that came in a request of its own. It counts for whoever names it,
// whichever came first.
type Referent struct {
	// Name is how others name it: "Medication/<id>", the code of system local of a
	// statement; "Location/<id>", the room of a place; or the pseudonym of a
	// reference to a patient.
	Name      string
	UpdatedAt Instant  // of its version; 0: not said
	Codings   []Coding // of a Medication
	Place     Location // of a Location
	Patient   string   // of a Patient: the pseudonym of the number
}

// ReferentState is a referent as it was told last.
type ReferentState struct {
	Referent
	Version int64 // of the change that told it
}

func (*ReferentState) state() {}

// LocationName begins the name of a place that a Location is.
const LocationName = "Location/"

// takeReferents takes what others name.
func (u *Unit) takeReferents(in *intake) {
	heard, seen := false, false
	for i := range in.o.Referents {
		r := &in.o.Referents[i]
		old := u.referents[r.Name]
		if old != nil && (r.UpdatedAt < old.UpdatedAt || old.Place == r.Place && old.Patient == r.Patient && slices.Equal(old.Codings, r.Codings)) {
			continue
		}
		s := &ReferentState{Referent: *r, Version: u.facts.Version + 1}
		s.own()
		if u.referents == nil {
			u.referents = map[string]*ReferentState{}
		}
		u.referents[s.Name] = s
		u.dirty.referents = append(u.dirty.referents, s.Name)
		heard = heard || len(s.Codings) > 0 && u.names(s.Name)
		seen = seen || !s.Place.IsZero()
		u.learnt(s.Name)
		if old != nil {
			u.part(&old.Referent)
		}
		u.join(&s.Referent)
	}
	u.forgetReferents()
	if heard || u.maps == nil || u.maps.referents == nil {
		u.readAgain()
	}
	if seen {
		u.table.own, u.table.slots, u.table.names, u.table.points = nil, nil, nil, nil
		u.learn()
		u.work.known = true
		u.markAll()
	}
	if heard || seen {
		for _, r := range u.rooms {
			u.markRoom(r, markRebuild|markTouched)
		}
	}
}

// readAgain lets statements be read anew, with what they name.
func (u *Unit) readAgain() {
	again := mappings{}
	if u.maps != nil {
		again = *u.maps
	}
	again.referents = u.referents
	u.maps = &again
	u.work.reader = reader{c: u.cat, maps: u.maps}
}

// named returns the codings of what a code is the name of.
func (m *mappings) named(s *Signal) []Coding {
	if m == nil || s.System != SystemLocal || m.referents[s.Code] == nil {
		return nil
	}
	return m.referents[s.Code].Codings
}

// own makes the texts of the state its own: those of an observation share one.
func (s *ReferentState) own() {
	s.Name, s.Patient = strings.Clone(s.Name), strings.Clone(s.Patient)
	s.Place.own()
	s.Codings = slices.Clone(s.Codings)
	for i := range s.Codings {
		c := &s.Codings[i]
		c.System, c.Code, c.Display = System(strings.Clone(string(c.System))), strings.Clone(c.Code), strings.Clone(c.Display)
	}
}

// forgetReferents keeps the caps: those told last stay, of patients and of the
// others.
func (u *Unit) forgetReferents() {
	if len(u.referents) <= capReferents {
		return
	}
	var kinds [2][]*ReferentState
	for _, s := range u.referents {
		kind := 0
		if s.Patient != "" {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], s)
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b *ReferentState) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), strings.Compare(a.Name, b.Name))
		})
		for _, s := range list[:max(len(list)-capReferents, 0)] {
			u.part(&s.Referent)
			delete(u.referents, s.Name)
			u.dirty.gone = append(u.dirty.gone, string(u.key(kindReferent, digest(s.Name))))
		}
	}
}

// join notes that a number and a reference are of the same patient.
func (u *Unit) join(r *Referent) {
	if r.Patient == "" || r.Patient == r.Name {
		return
	}
	if u.persons == nil {
		u.persons = map[string][]string{}
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		if !slices.Contains(u.persons[pair[0]], pair[1]) {
			u.persons[pair[0]] = append(u.persons[pair[0]], pair[1])
		}
	}
	u.markPerson(r.Name)
}

// part takes that back.
func (u *Unit) part(r *Referent) {
	if r.Patient == "" {
		return
	}
	u.markPerson(r.Name)
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		left := slices.DeleteFunc(u.persons[pair[0]], func(n string) bool { return n == pair[1] })
		if u.persons[pair[0]] = left; len(left) == 0 {
			delete(u.persons, pair[0])
		}
	}
}

// markPerson asks for the referrals of a patient anew.
func (u *Unit) markPerson(name string) {
	for _, n := range u.namesOf([]string{name}) {
		for _, r := range u.referred[n] {
			u.markReferral(r)
		}
	}
}

// names reports whether a statement that is kept names a referent: then it is to
// be read anew.
func (u *Unit) names(name string) bool {
	for _, r := range u.readouts {
		for ; r != nil; r = r.next {
			if r.Code == name {
				return true
			}
		}
	}
	in := func(l *threads) bool {
		for h := range l.each {
			if h.Code == name {
				return true
			}
		}
		return false
	}
	among := func(list []filed) bool {
		return slices.ContainsFunc(list, func(f filed) bool { return f.Code == name })
	}
	for _, r := range u.rooms {
		if in(&r.threads) {
			return true
		}
	}
	for _, v := range u.visits {
		if in(&v.threads) || among(v.filed) {
			return true
		}
	}
	for _, r := range u.referrals {
		if among(r.said) {
			return true
		}
	}
	return false
}

// learnt takes a name off the worklist.
func (u *Unit) learnt(name string) {
	key := unmappedKey(SystemLocal, name, KindMedication)
	if u.codes[key] != nil {
		delete(u.codes, key)
		u.dirty.gone = append(u.dirty.gone, string(u.key(kindCode, digest(key))))
	}
}

// stood returns what a place stands for, if only the name of a Location was sent;
// of one that nobody told yet the id is what the room is called.
func (t *roomTable) stood(l Location) Location {
	name, ok := strings.CutPrefix(l.Room, LocationName)
	if !ok {
		return l
	}
	if t != nil && t.referents[l.Room] != nil && !t.referents[l.Room].Place.IsZero() {
		p := t.referents[l.Room].Place
		if p.PointOfCare == "" {
			p.PointOfCare = l.PointOfCare
		}
		return p
	}
	l.Room = name
	return l
}
