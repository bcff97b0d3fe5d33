package acuity

import (
	"cmp"
	"slices"
	"strings"
)

// encounterVersion names a version of an Encounter.
type encounterVersion struct {
	resource  string
	updatedAt Instant
}

// intakeVersion is what becomes of one version of an Encounter: of all its events
// in an observation together.
type intakeVersion struct {
	events  []*Event
	taken   bool
	v       *visit // where its events go; nil: nowhere
	outcome Outcome
	reason  string
}

// version returns the version of an Encounter that an event of the observation is of.
func (in *intake) version(e *Event) *intakeVersion {
	if in.versions == nil {
		in.versions = map[encounterVersion]*intakeVersion{}
		for i := range in.o.Events {
			o := &in.o.Events[i]
			of := encounterVersion{o.Resource, o.UpdatedAt}
			if in.versions[of] == nil {
				in.versions[of] = &intakeVersion{}
			}
			in.versions[of].events = append(in.versions[of].events, o)
		}
	}
	return in.versions[encounterVersion{e.Resource, e.UpdatedAt}]
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
	k := in.version(e)
	if k.taken {
		return k
	}
	k.taken = true
	holder := u.versions[e.Resource]
	stored := holder.eventsOf(e.Resource)
	if len(stored) == 0 {
		holder = nil
	}
	id := cmp.Or(e.Visit, e.Encounter)
	if k.v = u.visitOfVersion(e, holder); k.v == nil && id == "" {
		k.outcome, k.reason = Ignored, "visit_unknown"
		return k
	}
	older := false
	if holder != nil {
		at, was := versionTime(e.UpdatedAt, in.o.ReceivedAt), versionTime(stored[0].UpdatedAt, stored[0].ReceivedAt)
		if older = at < was || at == was && in.o.ReceivedAt < stored[0].ReceivedAt; !older &&
			holder == k.v && e.UpdatedAt != 0 && at == was && repeatsEvents(k.events, stored) {
			k.v, k.outcome = nil, Duplicate
			return k
		}
	}
	if k.reason = u.roomForVersion(in, k, id); k.reason != "" {
		k.v, k.outcome = nil, Rejected
		return k
	}
	if k.v == nil {
		k.v = u.visit(id)
	}
	switch {
	case older: // too late to count, but it may tell which visit it is
		if named := k.v; holder != named && holder.ID == e.Encounter && !e.Void {
			u.moveEvents(holder, named, e.Resource, stored)
		}
		k.v, k.outcome, k.reason = nil, Ignored, "version_older"
		return k
	case holder != nil:
		u.unsee(stored)
		u.dropEvents(holder, e.Resource)
		u.mergeNames(holder, k.v)
	}
	u.versions[strings.Clone(e.Resource)] = k.v
	return k
}

// visitOfVersion returns the visit that a version of an Encounter is about: that
// of its identifier, else the one that another version of it named; nil: it is not
// known yet.
func (u *Unit) visitOfVersion(e *Event, holder *visit) *visit {
	if holder != nil && (e.Void || e.Visit == "" || e.Encounter == "" || e.Visit == e.Encounter) {
		return holder // it has no identifier
	}
	if e.Visit != "" {
		return u.visitCalled(e.Visit)
	}
	return u.visits[e.Encounter]
}

// roomForVersion returns why a version cannot be taken: all its events are, or none.
func (u *Unit) roomForVersion(in *intake, k *intakeVersion, id string) (reason string) {
	for _, e := range k.events {
		if reason := u.roomForEvent(in, k.v, id, e); reason != "" {
			return reason
		}
	}
	return ""
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

// repeatsEvents reports whether the events of a version are those stored.
func repeatsEvents(events []*Event, stored []event) bool {
	for _, again := range events {
		if again.ID == "" || !slices.ContainsFunc(stored, func(s event) bool { return s.ID == again.ID }) {
			return false
		}
	}
	return len(events) == len(stored)
}

// dropEvents takes the events of a resource out of a visit.
func (u *Unit) dropEvents(v *visit, resource string) {
	kept := make([]event, 0, len(v.events)) // the timeline refers to those before
	for i := range v.events {
		if v.events[i].Resource != resource {
			kept = append(kept, v.events[i])
		}
	}
	v.events = kept
	u.weigh(v)
	u.indexKnown(v)
	u.waits, u.past = true, nil // it may be a name now, and what was said of it waits
	u.touch(v)
	u.markVisit(v, markState|dirtyTimeline)
}

// unsee notes that events are no more. Of a run of equal places the first is
// remembered until it is known which places no event names any more.
func (u *Unit) unsee(events []event) {
	for i := range events {
		p := events[i].Place
		u.table.unsee(*p)
		u.locate(p, -1)
		u.locate(events[i].Prior, -1)
		if i == 0 || p != events[i-1].Place {
			u.work.unsaid = append(u.work.unsaid, p)
		}
	}
}

// moveEvents brings the events of a resource to the visit that they are of.
func (u *Unit) moveEvents(from, to *visit, resource string, list []event) {
	u.dropEvents(from, resource)
	to.events = append(tight(to.events, 4), list...)
	u.weigh(to)
	u.indexKnown(to)
	u.touch(to)
	u.versions[resource] = to
	for i := range list {
		u.call(to, list[i].Encounter)
	}
	u.markVisit(to, markState|dirtyTimeline)
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
		if h.version != nil && !h.version.isDescribed() {
			u.resources[h.whole()] = holder{v: to}
		}
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
		if whole := list[i].whole(); whole != "" && !list[i].version.isDescribed() {
			u.resources[whole] = by
		}
	}
}
