package acuity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Referent is what others only name: a Medication, a Location or a Patient of FHIR,
// also one that came in a request of its own. It counts for whoever names it,
// whichever came first.
type Referent struct {
	// Name is how others name it: "Medication/<id>" or its number, the code of
	// system local of a statement; "Location/<id>", also of its number, the room or
	// the point of care of a place; or the pseudonym of a reference to a patient.
	Name      string
	UpdatedAt Instant  // of its version; 0: not said
	Codings   []Coding // of a Medication; of a Patient Neonate, if it is one, and the order of a [MultipleBirth]
	Place     Location // of a Location
	Patient   string   // of a Patient: the pseudonym of the number
}

// ReferentState is a referent as it was told last.
type ReferentState struct {
	Referent
	Version int64 // of the change that told it
}

func (*ReferentState) state() {}

// says reports whether the state is what a referent says. Of a newborn the time is a
// part of that.
func (s *ReferentState) says(r *Referent) bool {
	return s.Place == r.Place && s.Patient == r.Patient && slices.Equal(s.Codings, r.Codings) && (!r.isNeonate() || s.UpdatedAt == r.UpdatedAt)
}

// LocationName begins the name of a place that a Location is.
const LocationName = "Location/"

// takeReferents takes what others name.
func (u *Unit) takeReferents(in *intake) {
	codes, persons := map[string]bool{}, map[string]bool{} // Medications, and Patients, that say something else now
	seen := false
	said := func(s *ReferentState) {
		if len(s.Codings) > 0 {
			codes[s.Name] = true
		}
		if s.ofPerson() || s.Patient != "" {
			persons[s.Name] = true
		}
		seen = seen || !s.Place.IsZero()
	}
	for i := range in.o.Referents {
		r := &in.o.Referents[i]
		old := u.referents[r.Name]
		if old != nil && (r.UpdatedAt < old.UpdatedAt || old.says(r)) {
			continue
		}
		s := &ReferentState{Referent: *r, Version: u.facts.Version + 1}
		s.own()
		if u.referents == nil {
			u.referents = map[string]*ReferentState{}
		}
		u.referents[s.Name] = s
		u.dirty.referents = append(u.dirty.referents, s.Name)
		u.learnt(s.Name)
		if old != nil {
			said(old)
			u.markPerson(&old.Referent)
			u.part(&old.Referent)
		}
		said(s)
		u.join(&s.Referent)
	}
	for _, old := range u.forgetReferents() {
		said(old)
	}
	if len(persons) > 0 {
		u.work.parts = true
		for i := range in.o.Referents {
			if r := &in.o.Referents[i]; persons[r.Name] {
				u.markPerson(r)
			}
		}
	}
	heard := len(codes) > 0 && u.speaksOf(codes)
	if heard || u.maps == nil || u.maps.referents == nil {
		u.readAgain()
	}
	if seen {
		u.work.learn, u.work.known = true, true
	}
	if heard || seen {
		for _, r := range u.rooms {
			if u.markRoom(r, markTouched); heard {
				u.markRoom(r, dirtyChart)
			}
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

// named returns the codings of what the codes of a signal are the names of.
func (m *mappings) named(s *Signal) []Coding {
	if m == nil || len(m.referents) == 0 {
		return nil
	}
	list := m.meant(nil, Coding{s.System, s.Code, s.Display}, maxInside)
	for _, c := range s.Also {
		list = m.meant(list, c, maxInside)
	}
	return list
}

// maxInside is how many Medications in one another are followed.
const maxInside = 2

// meant appends the codings of a Medication that a code is the name of, and of those
// that are in it. What is in a mixture keeps the names of the rest beside its own.
func (m *mappings) meant(dst []Coding, c Coding, inside int) []Coding {
	if c.System != SystemLocal || inside == 0 || m.referents[c.Code] == nil {
		return dst
	}
	for _, part := range m.referents[c.Code].Codings {
		if strings.Contains(c.Display, mixed) {
			part.Display = MaskDisplay(c.Display + mixed + part.Display)
		}
		dst = m.meant(append(dst, part), part, inside-1)
	}
	return dst
}

// mixed is between the names of what is in a mixture.
const mixed = " / "

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

// forgetReferents keeps the caps, and returns those that it forgets: those told last
// stay, of patients and of the others.
func (u *Unit) forgetReferents() (forgotten []*ReferentState) {
	if len(u.referents) <= capReferents {
		return nil
	}
	var kinds [2][]*ReferentState
	for _, s := range u.referents {
		kind := 0
		if s.Patient != "" || s.ofPerson() {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], s)
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b *ReferentState) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), strings.Compare(a.Name, b.Name))
		})
		for _, s := range list[:max(len(list)-capReferents, 0)] {
			u.markPerson(&s.Referent)
			u.part(&s.Referent)
			delete(u.referents, s.Name)
			u.dirty.gone = append(u.dirty.gone, string(u.key(kindReferent, digest(s.Name))))
			forgotten = append(forgotten, s)
		}
	}
	return forgotten
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
}

// part takes that back.
func (u *Unit) part(r *Referent) {
	if r.Patient == "" {
		return
	}
	for _, pair := range [...][2]string{{r.Name, r.Patient}, {r.Patient, r.Name}} {
		left := slices.DeleteFunc(u.persons[pair[0]], func(n string) bool { return n == pair[1] })
		if u.persons[pair[0]] = left; len(left) == 0 {
			delete(u.persons, pair[0])
		}
	}
}

// markPerson asks for the referrals and the visits of a patient anew; nothing of a
// referent that is none.
func (u *Unit) markPerson(r *Referent) {
	if r.Patient == "" && !r.ofPerson() {
		return
	}
	for _, n := range u.namesOf([]string{r.Name}) {
		for _, r := range u.referred[n] {
			u.markReferral(r)
		}
		for _, v := range u.patients[n] {
			u.markVisit(v, dirtyTimeline)
		}
	}
}

// speaksOf reports whether a statement that is kept names one of these referents, or
// one that it is in: then statements are to be read anew.
func (u *Unit) speaksOf(names map[string]bool) bool {
	for range maxInside - 1 {
		inside := maps.Clone(names)
		for whole, s := range u.referents {
			if slices.ContainsFunc(s.Codings, func(c Coding) bool { return inside[c.Code] }) {
				names[whole] = true
			}
		}
	}
	says := func(w *signalText) bool { return names[w.Code] || w.also != "" && w.also.has(names) }
	for _, r := range u.matchedSignals {
		if says(&r.signalText) {
			return true
		}
	}
	in := func(l *threads) bool {
		for h := range l.each {
			if says(&h.signalText) {
				return true
			}
		}
		return false
	}
	among := func(list []filed) bool {
		return slices.ContainsFunc(list, func(f filed) bool { return says(&f.signalText) })
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

// maxAbove is how many Locations in one another are followed.
const maxAbove = 4

// stood returns what a place stands for that names a Location: as its room, then the
// Location tells all of it, but for the bed in it; as its point of care, then the
// place has a name of its own, and is that Location or a part of it. Of one that
// nobody told yet the id, or the number, is what a room is called.
func (t *roomTable) stood(l Location) Location { return t.stoodFor(l, maxAbove) }

func (t *roomTable) stoodFor(l Location, above int) Location {
	if name, ok := strings.CutPrefix(l.Room, LocationName); ok {
		p, told := t.told(l.Room, above)
		if !told && l.Bed == "" && l.Label != "" {
			p, told = t.told(LocationName+l.Label, above)
			name, l.Label = l.Label, ""
		}
		switch bed := l.Bed; {
		case bed != "" && p.Room != "" && p.Bed == "":
			p.Bed = bed
		case bed != "": // not a room, or unknown: a bed alone is called by its name
			p.Room, p.Bed = bed, ""
		case !told:
			l.Room = name
			return l
		}
		l.Room, l.Bed, l.Label, l.PointOfCare = p.Room, p.Bed, p.Label, cmp.Or(p.PointOfCare, l.PointOfCare)
		return l
	}
	if strings.HasPrefix(l.PointOfCare, LocationName) {
		p, _ := t.told(l.PointOfCare, above)
		l.PointOfCare = p.PointOfCare
		if p.Bed != "" && l.Bed == "" {
			l.Room, l.Bed = p.Room, l.Room
		}
	}
	return l
}

// told returns the place of a Location, by its name.
func (t *roomTable) told(name string, above int) (p Location, ok bool) {
	if above == 0 || t.referents[name] == nil || t.referents[name].Place.IsZero() {
		return p, false
	}
	return t.stoodFor(t.referents[name].Place, above-1), true
}
