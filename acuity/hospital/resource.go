package hospital

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/terminology"
)

// resourceStatement is a statement about a resource, or about a patient whom it names.
type resourceStatement struct {
	statement
	version *version // nil: no resource
}

// version says which version of which resource a statement is. A resource is what the
// sender keeps as one thing, as in FHIR (clinical-decisions F6).
type version struct {
	resource  string         // pseudonym; a component adds a dot and its index
	updatedAt acuity.Instant // 0: not said
	hash      uint64         // of the resource
}

// described begins the resource of a statement without an identifier. Its content
// identifies it among the statements of its visit or patient.
const described = "~"

// isDescribed reports whether the resource has no identifier.
func (v *version) isDescribed() bool { return strings.HasPrefix(v.resource, described) }

// versionOf returns the version that a signal is; nil: it has no resource.
func versionOf(s *acuity.Signal) *version {
	if s.Resource == "" {
		return nil
	}
	return &version{strings.Clone(s.Resource), s.UpdatedAt, maphash.String(seed, s.Resource)}
}

// whole is the resource without the index of a component; "": no resource.
func (h *resourceStatement) whole() string {
	if h.version == nil {
		return ""
	}
	return wholeOf(h.version.resource)
}

// wholeOf returns a resource without the index of a component.
func wholeOf(resource string) string {
	whole, _, _ := strings.Cut(resource, ".")
	return whole
}

// madeAt is when the version was made, else its receipt; never later than the receipt.
func (h *resourceStatement) madeAt() acuity.Instant {
	if h.version == nil || h.version.updatedAt == 0 {
		return h.ReceivedAt
	}
	return min(h.version.updatedAt, h.ReceivedAt)
}

// plain is the statement as one of no resource. Its making stands for its receipt, which
// decides between facts of the same time (F13).
func (h *resourceStatement) plain() statement {
	p := h.statement
	p.ReceivedAt = h.madeAt()
	return p
}

// versionAt is the time that orders the versions of one resource: when they were made,
// else the time of their fact, so that an older fact never overrides a newer one (F13).
// Retractions, and ends without a time, count from their receipt.
func (h *resourceStatement) versionAt() acuity.Instant {
	switch {
	case h.version.updatedAt != 0 || h.takesBack():
		return h.madeAt()
	case h.Status == acuity.SignalEnded:
		return h.firstOf(h.ObservedAt, 0)
	}
	return h.firstOf(h.ObservedAt, h.StartedAt)
}

// takesBack reports whether a statement takes back a whole resource. A retracted
// component only says nothing in that version.
func (h *resourceStatement) takesBack() bool {
	return h.Status == acuity.SignalRetracted && !strings.Contains(h.version.resource, ".")
}

// compareVersions orders the versions of one resource. A retraction comes after another
// version of the same time.
func compareVersions(a, b *resourceStatement) int {
	return cmp.Or(
		cmp.Compare(a.versionAt(), b.versionAt()),
		cmp.Compare(a.ReceivedAt, b.ReceivedAt),
		compareBool(b.takesBack(), a.takesBack()),
	)
}

// isOlder reports whether another version of the resource is newer.
func (h *resourceStatement) isOlder(than *resourceStatement) bool {
	return compareVersions(h, than) < 0
}

// runs reports whether the resource lasts, as a medication or a condition, and is no
// single observation.
func (h *resourceStatement) runs() bool {
	return h.Kind == catalogue.KindMedication || h.Kind == catalogue.KindCondition
}

// sortedResources are the resource statements that stand, by kind.
type sortedResources struct {
	newest       map[string]newest    // by resource
	observations statementsByCode     // as statements of no resource
	infusions    []*resourceStatement // of infusions
	conditions   []*resourceStatement
}

// newest is the newest version of a resource, and its newest retraction.
type newest struct{ version, retraction *resourceStatement }

// sortResources finds the resource statements that stand. Observations join the other
// statements; infusions and conditions are sorted. That is done each time, so the cache is
// not used.
func (e *evidenceInput) sortResources() {
	if len(e.resourceStatements) == 0 {
		return
	}
	e.cache = nil
	s := &e.sortedResources
	if s.newest == nil {
		s.newest = map[string]newest{}
	}
	clear(s.newest)
	for _, h := range e.resourceStatements {
		if h.version == nil || h.Status == acuity.SignalActive && h.State == terminology.Unreadable {
			continue // what cannot be read changes nothing
		}
		n := s.newest[h.whole()]
		if n.version == nil || compareVersions(n.version, h) < 0 {
			n.version = h
		}
		if h.takesBack() && (n.retraction == nil || compareVersions(n.retraction, h) < 0) {
			n.retraction = h
		}
		s.newest[h.whole()] = n
	}
	s.observations = statementsByCode{list: s.observations.list[:0]}
	s.infusions, s.conditions = s.infusions[:0], s.conditions[:0]
	for _, h := range e.resourceStatements {
		switch {
		case !s.stands(h):
		case h.Kind == catalogue.KindCondition:
			s.conditions = append(s.conditions, h)
		case h.Kind == catalogue.KindMedication && h.version != nil:
			s.infusions = append(s.infusions, h)
		default:
			p := h.plain()
			p.owner = e.owner
			s.observations.add(p)
		}
	}
	e.from = append(e.from, &s.observations)
	slices.SortFunc(s.infusions, compareResourceStatements)
	slices.SortFunc(s.conditions, compareResourceStatements)
}

// stands reports whether a statement counts beside the others of its resource. If the
// resource is an observation, its newest version counts. An infusion or a condition runs
// through its versions; a retraction takes back all versions before it.
func (s *sortedResources) stands(h *resourceStatement) bool {
	if h.version == nil {
		return true
	}
	n := s.newest[h.whole()]
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

// compareResourceStatements groups the statements by thing, in order.
func compareResourceStatements(a, b *resourceStatement) int {
	if a.version == nil || b.version == nil {
		if c := cmp.Or(compareBool(a.version == nil, b.version == nil), cmp.Compare(a.Identity.System, b.Identity.System),
			cmp.Compare(a.Identity.Code, b.Identity.Code)); c != 0 || a.version != b.version {
			return c
		}
	} else if c := cmp.Or(cmp.Compare(a.version.resource, b.version.resource), compareVersions(a, b)); c != 0 {
		return c
	}
	x, y := a.plain(), b.plain()
	return cmp.Or(cmp.Compare(a.number, b.number), compareStatements(
		orderedStatement{statement: &x, order: x.orderTime(), clock: x.clockStart()},
		orderedStatement{statement: &y, order: y.orderTime(), clock: y.clockStart()},
	))
}

// sameThing reports whether two statements are about one thing.
func (h *resourceStatement) sameThing(o *resourceStatement) bool {
	if h.version == nil || o.version == nil {
		return h.version == o.version && h.Kind == o.Kind && *h.Identity == *o.Identity
	}
	return h.version.resource == o.version.resource
}

// thingHash is equal for statements about one thing.
func (h *resourceStatement) thingHash() uint64 {
	if h.version == nil {
		return h.IdentityHash + uint64(h.Kind)
	}
	return h.version.hash
}

// things yields the statements of each thing; the list must be in order.
func things(list []*resourceStatement, yield func([]*resourceStatement)) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[0].sameThing(list[n]) {
			n++
		}
		yield(list[:n])
		list = list[n:]
	}
}

// placeInTime is the time that orders statements about the same thing.
func (h *resourceStatement) placeInTime() acuity.Instant {
	if h.version != nil {
		return h.versionAt()
	}
	return h.orderTime()
}

// resourceStatements are statements of one visit or patient in order of arrival, at most
// [capSignals].
type resourceStatements []resourceStatement

// keep adds a statement. If a run of versions says the same within minutes, only its first
// and last stay. A full list loses the statement that matters least. lose is called with
// each statement before it goes. The mappings that read the statements must be the same:
// they decide what a statement is about.
func (l *resourceStatements) keep(h resourceStatement, lose func(*resourceStatement)) {
	list := *l
	if i := thinned(list, &h); i >= 0 {
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	for len(list) >= capSignals {
		i := leastMissed(list)
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	list = tight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.number, func(o resourceStatement, number int64) int { return cmp.Compare(o.number, number) })
	*l = slices.Insert(list, i, h)
}

// thinned returns the index of the statement that h makes superfluous: the middle one of
// three that say the same within minutes; -1: none.
func thinned(list []resourceStatement, h *resourceStatement) int {
	before, first := -1, -1
	at := h.placeInTime()
	for i := range list {
		o := &list[i]
		if !o.sameThing(h) {
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
	// Equal texts may have several matchedSignals, because their cache is bounded.
	if first >= 0 && list[before].SignalText == h.SignalText && list[first].SignalText == h.SignalText &&
		saysTheSame(&list[before].statement, &h.statement) && saysTheSame(&list[first].statement, &h.statement) &&
		at < list[first].placeInTime().Add(thinWithin) {
		return before
	}
	return -1
}

// leastMissed returns the index of the statement that matters least: one with a newer
// one about the same thing; an observation with a newer one of the same code; an
// unmapped one; else the oldest.
func leastMissed(list []resourceStatement) int {
	at := func(i int) acuity.Instant { return list[i].placeInTime() }
	things := func(i int) (uint64, bool) { return list[i].thingHash(), true }
	if i := superseded(len(list), things, func(i, j int) bool { return list[i].sameThing(&list[j]) }, at); i >= 0 {
		return i
	}
	codes := func(i int) (uint64, bool) { return list[i].IdentityHash, !list[i].runs() }
	if i := superseded(len(list), codes, func(i, j int) bool { return *list[i].Identity == *list[j].Identity }, at); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(list, func(h resourceStatement) bool {
		return h.State == terminology.Unmapped && h.Status == acuity.SignalActive
	}))
}
