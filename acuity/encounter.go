package acuity

import (
	"slices"
	"strings"
)

// intakeVersion is what becomes of one version of an Encounter: of all its events
// in an observation together.
type intakeVersion struct {
	resource  string
	updatedAt Instant
	v         *visit // where its events go; nil: nowhere
	outcome   Outcome
	reason    string
}

// versionTime orders the versions of an Encounter: when it was made, else when it
// was received. Nothing was made after its receipt.
func versionTime(updatedAt, receivedAt Instant) Instant {
	if updatedAt == 0 || updatedAt > receivedAt {
		return receivedAt
	}
	return updatedAt
}

// takeVersion lets a version of an Encounter replace the events of its older ones
// (clinical-decisions F1), or finds that it is no newer itself.
func (u *Unit) takeVersion(in *intake, e *Event) *intakeVersion {
	for i := range in.versions {
		if k := &in.versions[i]; k.resource == e.Resource && k.updatedAt == e.UpdatedAt {
			return k
		}
	}
	in.versions = append(in.versions, intakeVersion{resource: e.Resource, updatedAt: e.UpdatedAt})
	k := &in.versions[len(in.versions)-1]
	holder := u.versions[e.Resource]
	stored := holder.eventsOf(e.Resource)
	if len(stored) == 0 {
		holder = nil
	}
	k.v = u.visitOfVersion(e, holder)
	if k.v == nil {
		k.outcome, k.reason = Ignored, "visit_unknown"
		return k
	}
	if holder != nil {
		at, was := versionTime(e.UpdatedAt, in.o.ReceivedAt), versionTime(stored[0].UpdatedAt, stored[0].ReceivedAt)
		switch {
		case at < was || at == was && in.o.ReceivedAt < stored[0].ReceivedAt:
			// Too late to count, but it may tell which visit it is.
			if named := k.v; holder != named && holder.ID == e.Encounter && !e.Void {
				u.moveEvents(holder, named, e.Resource, stored)
			}
			k.v, k.outcome, k.reason = nil, Ignored, "version_older"
			return k
		case holder == k.v && e.UpdatedAt != 0 && at == was && in.o.repeats(e, stored):
			k.v, k.outcome = nil, Duplicate
			return k
		}
		in.unsaid = u.unsee(stored, in.unsaid)
		u.dropEvents(holder, e.Resource)
		u.mergeNames(holder, k.v)
	}
	u.versions[strings.Clone(e.Resource)] = k.v
	return k
}

// visitOfVersion returns the visit that a version of an Encounter is about: that
// of its identifier, else the one that another version of it named.
func (u *Unit) visitOfVersion(e *Event, holder *visit) *visit {
	if holder != nil && (e.Void || e.Visit == "" || e.Encounter == "" || e.Visit == e.Encounter) {
		return holder // it has no identifier
	}
	switch id := e.Visit; {
	case id != "":
		if v := u.visitCalled(id); v != nil {
			return v
		}
		return u.visit(id)
	case e.Encounter != "":
		return u.visit(e.Encounter)
	default:
		return nil
	}
}

// visitCalled returns the visit with an identity, or the one whose Encounter is
// called so; nil if there is none.
func (u *Unit) visitCalled(name string) *visit {
	if v := u.encounters[name]; v != nil {
		return v
	}
	return u.visits[name]
}

// eventsOf returns copies of the events of a resource; nil of no visit.
func (v *visit) eventsOf(resource string) []event {
	if v == nil {
		return nil
	}
	var list []event
	for i := range v.events {
		if v.events[i].Resource == resource {
			list = append(list, v.events[i])
		}
	}
	return list
}

// repeats reports whether the events of a version are those stored.
func (o *Observation) repeats(e *Event, stored []event) bool {
	n := 0
	for i := range o.Events {
		again := &o.Events[i]
		if again.Resource != e.Resource || again.UpdatedAt != e.UpdatedAt {
			continue
		}
		if again.ID == "" || !slices.ContainsFunc(stored, func(s event) bool { return s.ID == again.ID }) {
			return false
		}
		n++
	}
	return n == len(stored)
}

// dropEvents takes the events of a resource out of a visit.
func (u *Unit) dropEvents(v *visit, resource string) {
	kept := make([]event, 0, len(v.events)) // the story refers to those before
	for i := range v.events {
		if v.events[i].Resource != resource {
			kept = append(kept, v.events[i])
		}
	}
	v.events = kept
	if v.isName() {
		u.noteName(v)
	}
	u.waits, u.past = true, nil // it may be a name now, and what was said of it waits
	u.touch(v)
	u.markVisit(v, markState|markRetell)
}

// unsee notes that events are no more, and appends their places, of a run of equal
// ones the first.
func (u *Unit) unsee(events []event, places []*Location) []*Location {
	for i := range events {
		p := events[i].Place
		u.table.unsee(*p)
		if i == 0 || p != events[i-1].Place {
			places = append(places, p)
		}
	}
	return places
}

// unsay learns the rooms anew if one of these places is named by no event any more.
func (u *Unit) unsay(places []*Location) {
	if !slices.ContainsFunc(places, func(l *Location) bool { return u.table.lacks(*l) }) {
		return
	}
	u.learn()
	u.markAll()
}

// moveEvents brings the events of a resource to the visit that they are of.
func (u *Unit) moveEvents(from, to *visit, resource string, list []event) {
	u.dropEvents(from, resource)
	to.events = append(tight(to.events, 4), list...)
	u.touch(to)
	u.versions[resource] = to
	for i := range list {
		u.call(to, list[i].Encounter)
	}
	u.markVisit(to, markState|markRetell)
	u.mergeNames(from, to)
}

// call gives a visit the name of its Encounter. What was said of that name goes
// to the visit.
func (u *Unit) call(v *visit, name string) {
	if name == "" || u.encounters[name] == v {
		return
	}
	u.encounters[strings.Clone(name)] = v
	if o := u.visits[name]; o != nil {
		u.mergeNames(o, v)
	}
}

// mergeNames brings to a visit what was said of one that is nothing but a name.
func (u *Unit) mergeNames(from, to *visit) {
	if from == to || !from.isName() {
		return
	}
	heard, list := from.threads.byArrival(func(*Heard) bool { return true }), from.filed
	from.threads, from.filed, from.folds = threads{}, nil, nil
	for _, h := range heard {
		u.hearFor(to, h)
	}
	for _, h := range list {
		u.file(holder{v: to}, h)
		u.resources[h.whole()] = holder{v: to}
	}
	if len(heard)+len(list) > 0 {
		u.touch(to)
		u.markVisit(to, markState)
	}
	u.waits = true // nothing is left of it but its name, which housekeeping forgets
}

// isName reports whether nothing but statements name the visit.
func (v *visit) isName() bool { return len(v.events) == 0 && v.Facts == nil && len(v.Stays) == 0 }

// index fills the indexes of resources and of their names from the facts.
func (u *Unit) index() {
	u.waits = true
	u.versions, u.encounters, u.resources = map[string]*visit{}, map[string]*visit{}, map[string]holder{}
	for _, v := range u.visits {
		for i := range v.events {
			e := &v.events[i]
			if e.Resource == "" {
				continue
			}
			u.versions[e.Resource] = v
			if e.Encounter != "" {
				u.encounters[e.Encounter] = v
			}
		}
		u.indexFiled(holder{v: v})
	}
	for _, r := range u.referrals {
		u.indexFiled(holder{ref: r})
	}
}

func (u *Unit) indexFiled(by holder) {
	list := by.filed()
	for i := range list {
		if whole := list[i].whole(); whole != "" {
			u.resources[whole] = by
		}
	}
}
