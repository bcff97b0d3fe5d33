package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// ResourceStatement is a statement from a FHIR resource, or any other statement that names a patient. Which versions
// of a resource count depends on its kind; see countsVersion.
type ResourceStatement struct {
	Statement
	Version *Version // nil: not a version of a resource

	made acuity.Instant // position of a version among the versions of its resource; see orderVersions
}

// WholeResource returns the resource without a component's index, or "" if the statement has no resource.
func (h *ResourceStatement) WholeResource() string {
	if h.Version == nil {
		return ""
	}
	return WholeResource(h.Version.Resource)
}

// WholeResource returns a resource without a component's index.
func WholeResource(resource string) string {
	whole, _, _ := strings.Cut(resource, ".")
	return whole
}

// madeAt returns the time of the version, or the time of receipt if there is no version time. The result is never
// later than the receipt.
func (h *ResourceStatement) madeAt() acuity.Instant {
	if h.Version == nil || h.Version.UpdatedAt == 0 {
		return h.ReceivedAt
	}
	return min(h.Version.UpdatedAt, h.ReceivedAt)
}

// plain returns the statement as a [Statement], without its resource. The time of the version becomes the time of
// receipt, which decides between facts with the same time (docs/decisions.md#older-never-overrides).
func (h *ResourceStatement) plain() Statement {
	p := h.Statement
	p.ReceivedAt = h.madeAt()
	return p
}

// orderVersions sets the position of each version. The list must contain all statements about one visit or patient.
// Versions are ordered by time, then by number, then by arrival; the clinical time has no effect. If a resource has
// versions with a number but without a time, each of them is also older than those with a greater number, even if it
// arrived later.
func orderVersions(list []*ResourceStatement) {
	var numbered []*ResourceStatement // versions with a number but without a time
	for _, h := range list {
		if h.Version == nil {
			continue
		}
		if h.made = h.madeAt(); h.Version.UpdatedAt == 0 && h.Version.ID != 0 {
			numbered = append(numbered, h)
		}
	}
	if len(numbered) == 0 {
		return
	}
	slices.SortFunc(numbered, func(a, b *ResourceStatement) int {
		return cmp.Or(cmp.Compare(a.WholeResource(), b.WholeResource()), cmp.Compare(b.Version.ID, a.Version.ID))
	})
	// The variable greater is the earliest time of the resource's versions with a greater number than h. The variable
	// here is the earliest time of the resource's versions that precede h in the list.
	var greater, here acuity.Instant
	for i, h := range numbered {
		switch {
		case i == 0 || numbered[i-1].WholeResource() != h.WholeResource():
			greater, here = math.MaxInt64, math.MaxInt64
		case numbered[i-1].Version.ID != h.Version.ID:
			greater = here
		}
		h.made = min(h.made, greater)
		here = min(here, h.made)
	}
}

// retractsResource reports whether a statement retracts a whole resource. A retracted component is merely absent from
// that version.
func (h *ResourceStatement) retractsResource() bool {
	return h.Status == acuity.SignalRetracted && !strings.Contains(h.Version.Resource, ".")
}

// compareVersions orders the versions of one resource. If only one of two versions with the same position, number and
// time of receipt is a retraction of the resource, the retraction comes first.
func compareVersions(a, b *ResourceStatement) int {
	return cmp.Or(
		cmp.Compare(a.made, b.made),
		cmp.Compare(a.Version.ID, b.Version.ID),
		cmp.Compare(a.ReceivedAt, b.ReceivedAt),
		compareBool(b.retractsResource(), a.retractsResource()),
	)
}

// IsOlder reports whether any of the given versions of the same resource is newer. Every statement must have a
// Version.
func (h *ResourceStatement) IsOlder(than []*ResourceStatement) bool {
	orderVersions(append(slices.Clone(than), h))
	return slices.ContainsFunc(than, func(o *ResourceStatement) bool { return compareVersions(h, o) < 0 })
}

// firstObservedAt returns the time of an observation. If several versions of a resource have the same coarse time,
// the earliest instant to which that time was resolved counts. A resource without an identifier keeps its own time,
// because it may be a different observation.
func (h *ResourceStatement) firstObservedAt(all []*ResourceStatement) acuity.Instant {
	at := h.ObservedAt
	if h.Version == nil || h.Version.ObservedFrom == 0 || h.Version.IsDescribed() {
		return at
	}
	for _, o := range all {
		if v := o.Version; v != nil && v.ObservedFrom == h.Version.ObservedFrom && v.hash == h.Version.hash && h.sameResourceSubject(o) {
			at = min(at, o.ObservedAt)
		}
	}
	return at
}

// versionTimes resolves the coarse times of the versions of one resource, in order. If several versions give the same
// start, the instant from the first of them counts. An end is treated in the same way, until a version reports that the
// resource is active again.
type versionTimes struct {
	start, end acuity.Instant
	ended      bool // whether the previous version ended the resource
}

// resolve returns the times of the next version.
func (t *versionTimes) resolve(h *ResourceStatement) (observed, started acuity.Instant) {
	observed, started = h.ObservedAt, h.StartedAt
	if h.Version == nil {
		return observed, started
	}
	if started != 0 {
		started = acuity.Keep(t.start, h.Version.StartedFrom, started)
		t.start = started
	}
	switch ended := t.ended; {
	case h.Status == acuity.SignalEnded:
		observed = cmp.Or(observed, h.ReceivedAt)
		if t.ended = true; ended {
			observed = acuity.Keep(t.end, h.Version.ObservedFrom, observed)
		}
		t.end = observed
	case h.Kind == catalogue.KindMedication && observed == h.StartedAt: // an active medication that was observed at its start time
		observed, t.ended = started, false
	default:
		t.ended = false
	}
	return observed, started
}

// runs reports whether the resource describes something that lasts for some time: a medication or a condition. Other
// resources are single observations.
func (h *ResourceStatement) runs() bool {
	return h.Kind == catalogue.KindMedication || h.Kind == catalogue.KindCondition
}

// sortedResources contains the current resource statements, by kind.
type sortedResources struct {
	newest       map[string]newest // newest version and retraction of each resource
	observations Statements        // the observations, as statements without a resource
	infusions    []*ResourceStatement
	conditions   []*ResourceStatement
}

// newest is the newest version of a resource, and its newest retraction.
type newest struct{ version, retraction *ResourceStatement }

// SortResources finds the current resource statements, treats the observations like statements without a resource,
// and sorts the infusions and conditions. Call it once, after setting Resources. If there are any resource
// statements, the next Fold does not use the cache.
func (e *Input) SortResources() {
	if len(e.Resources) == 0 {
		return
	}
	e.Cache = nil
	s := &e.sortedResources
	if s.newest == nil {
		s.newest = map[string]newest{}
	}
	clear(s.newest)
	orderVersions(e.Resources)
	for _, h := range e.Resources {
		if h.Version == nil || h.Status == acuity.SignalActive && h.State == terminology.Unreadable {
			continue // skip a statement that is not a version of a resource, or an active one whose value cannot be read
		}
		n := s.newest[h.WholeResource()]
		if n.version == nil || compareVersions(n.version, h) < 0 {
			n.version = h
		}
		if h.retractsResource() && (n.retraction == nil || compareVersions(n.retraction, h) < 0) {
			n.retraction = h
		}
		s.newest[h.WholeResource()] = n
	}
	s.observations = Statements{list: s.observations.list[:0]}
	s.infusions, s.conditions = s.infusions[:0], s.conditions[:0]
	for _, h := range e.Resources {
		switch {
		case !s.countsVersion(h):
		case h.Kind == catalogue.KindCondition:
			s.conditions = append(s.conditions, h)
		case h.Kind == catalogue.KindMedication && h.Version != nil:
			s.infusions = append(s.infusions, h)
		default:
			p := h.plain()
			p.Owner, p.ObservedAt = e.Owner, h.firstObservedAt(e.Resources)
			s.observations.Add(p)
		}
	}
	e.Statements = append(e.Statements, &s.observations)
	slices.SortFunc(s.infusions, compareResourceStatements)
	slices.SortFunc(s.conditions, compareResourceStatements)
}

// countsVersion reports whether a statement counts among the versions of its resource. For an observation, only the
// newest version counts. For an infusion or a condition, every version counts. A retraction itself does not count,
// and neither do the versions before the retraction of the whole resource.
func (s *sortedResources) countsVersion(h *ResourceStatement) bool {
	if h.Version == nil {
		return true
	}
	n := s.newest[h.WholeResource()]
	switch {
	case h.Status == acuity.SignalRetracted:
		return false
	case n.retraction != nil && compareVersions(h, n.retraction) < 0:
		return false
	case h.runs() || n.version == nil:
		return true
	}
	return compareVersions(h, n.version) == 0
}

// compareResourceStatements groups the statements by subject, and orders each group.
func compareResourceStatements(a, b *ResourceStatement) int {
	if a.Version == nil || b.Version == nil {
		if c := cmp.Or(compareBool(a.Version == nil, b.Version == nil), cmp.Compare(a.Identity.System, b.Identity.System),
			cmp.Compare(a.Identity.Code, b.Identity.Code)); c != 0 || a.Version != b.Version {
			return c
		}
	} else if c := cmp.Or(cmp.Compare(a.Version.Resource, b.Version.Resource), compareVersions(a, b)); c != 0 {
		return c
	}
	x, y := a.plain(), b.plain()
	return cmp.Or(cmp.Compare(a.Number, b.Number), compareStatements(
		orderedStatement{Statement: &x, order: x.OrderTime(), clock: x.clockStart()},
		orderedStatement{Statement: &y, order: y.OrderTime(), clock: y.clockStart()},
	))
}

// eachSubject yields the statements about each subject. The list must be sorted by compareResourceStatements.
func eachSubject(list []*ResourceStatement, yield func([]*ResourceStatement)) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[0].sameResourceSubject(list[n]) {
			n++
		}
		yield(list[:n])
		list = list[n:]
	}
}

// sameResourceSubject reports whether two statements have the same subject.
func (h *ResourceStatement) sameResourceSubject(o *ResourceStatement) bool {
	if h.Version == nil || o.Version == nil {
		return h.Version == o.Version && h.Kind == o.Kind && *h.Identity == *o.Identity
	}
	return h.Version.Resource == o.Version.Resource
}

// subjectHash returns a hash that is equal for statements about the same subject.
func (h *ResourceStatement) subjectHash() uint64 {
	if h.Version == nil {
		return h.IdentityHash + uint64(h.Kind)
	}
	return h.Version.hash
}

// placeInTime returns the time by which statements about the same subject are ordered.
func (h *ResourceStatement) placeInTime() acuity.Instant {
	if h.Version != nil {
		return h.madeAt()
	}
	return h.OrderTime()
}

// ResourceStatements are the statements about one visit or patient in order of arrival, at most [MaxStatements].
type ResourceStatements []ResourceStatement

// Keep adds a statement. If consecutive versions less than thinWithin apart have the same content, only the first and
// the last remain. A full list drops the least important statement. Keep calls the given function for each dropped
// statement before removing it. All statements must have been matched with the same mappings, because mappings
// determine the subject.
func (l *ResourceStatements) Keep(h ResourceStatement, lose func(*ResourceStatement)) {
	list := *l
	if i := findRedundant(list, &h); i >= 0 {
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	for len(list) >= MaxStatements {
		i := leastMissed(list)
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	list = growTight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.Number, func(o ResourceStatement, number int64) int { return cmp.Compare(o.Number, number) })
	*l = slices.Insert(list, i, h)
}

// findRedundant returns the index of the statement that h makes redundant, or -1. Of three statements with the same
// content within thinWithin, the middle one is redundant.
func findRedundant(list []ResourceStatement, h *ResourceStatement) int {
	before, first := -1, -1
	at := h.placeInTime()
	for i := range list {
		o := &list[i]
		if !o.sameResourceSubject(h) {
			continue
		}
		switch when := o.placeInTime(); {
		case when > at:
			return -1 // h is not the newest
		case before < 0 || when >= list[before].placeInTime():
			before, first = i, before
		case first < 0 || when >= list[first].placeInTime():
			first = i
		}
	}
	// Compare the texts rather than the pointers: the cache of matched signals is bounded, so equal texts may have
	// different matched signals.
	if first >= 0 && list[before].SignalText == h.SignalText && list[first].SignalText == h.SignalText &&
		hasSameContent(&list[before].Statement, &h.Statement) && hasSameContent(&list[first].Statement, &h.Statement) &&
		at < list[first].placeInTime().Add(thinWithin) &&
		h.Version.follows(list[before].Version) && list[before].Version.follows(list[first].Version) {
		return before
	}
	return -1
}

// follows reports whether the number of v is not lower than the number of other. If either version is nil, it returns
// true.
func (v *Version) follows(other *Version) bool { return v == nil || other == nil || v.ID >= other.ID }

// leastMissed returns the index of the statement to drop first. In order of preference: one with a newer statement
// about the same subject, an observation with a newer one of the same code, an unmapped statement, the oldest.
func leastMissed(list []ResourceStatement) int {
	at, first := func(i int) acuity.Instant { return list[i].placeInTime() }, -1
	oldest := func(i int) { first = i }
	things := func(i int) (uint64, bool) { return list[i].subjectHash(), true }
	if eachSuperseded(len(list), things, func(i, j int) bool { return list[i].sameResourceSubject(&list[j]) }, at, oldest); first >= 0 {
		return first
	}
	codes := func(i int) (uint64, bool) { return list[i].IdentityHash, !list[i].runs() }
	if eachSuperseded(len(list), codes, func(i, j int) bool { return *list[i].Identity == *list[j].Identity }, at, oldest); first >= 0 {
		return first
	}
	return max(0, slices.IndexFunc(list, func(h ResourceStatement) bool {
		return h.State == terminology.Unmapped && h.Status == acuity.SignalActive
	}))
}
