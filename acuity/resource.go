package acuity

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// filed is a statement that is kept with a visit or a patient, not with a room:
// one about a resource, or one that named a patient.
type filed struct {
	Heard
	version *version // nil: of no resource
}

// version says of a statement which version of which resource it is: what the
// sender keeps as one thing, a FHIR resource (clinical-decisions F6).
type version struct {
	resource  string  // pseudonym; of a component with a dot and its index
	updatedAt Instant // 0: not said
	hash      uint64  // of the resource
}

// described begins the resource of a statement that has no name of its own: it is known
// by what it says, and is one thing among what is said of a visit, or a patient.
const described = "~"

// isDescribed reports whether the resource has no name of its own.
func (v *version) isDescribed() bool { return strings.HasPrefix(v.resource, described) }

// versionOf returns the version that a signal is; nil if it is of no resource.
func versionOf(s *Signal) *version {
	if s.Resource == "" {
		return nil
	}
	return &version{strings.Clone(s.Resource), s.UpdatedAt, maphash.String(seed, s.Resource)}
}

// whole is the resource without the index of a component; "" of none.
func (h *filed) whole() string {
	if h.version == nil {
		return ""
	}
	return wholeOf(h.version.resource)
}

func wholeOf(resource string) string {
	whole, _, _ := strings.Cut(resource, ".")
	return whole
}

// madeAt is when the version was made, else when it was received. Nothing was
// made after its receipt.
func (h *filed) madeAt() Instant {
	if h.version == nil || h.version.updatedAt == 0 {
		return h.ReceivedAt
	}
	return min(h.version.updatedAt, h.ReceivedAt)
}

// plain is the statement as one of no resource: when it was made stands for its
// receipt, which decides between facts of the same time (F13).
func (h *filed) plain() Heard {
	p := h.Heard
	p.ReceivedAt = h.madeAt()
	return p
}

// versionAt is the time by which versions of one resource are put in order: when
// they were made, else what they are about, so that an older fact never
// overrides a newer one (F13). A retraction is about nothing, and an end may have
// no time: they count from their receipt.
func (h *filed) versionAt() Instant {
	switch {
	case h.version.updatedAt != 0 || h.takesBack():
		return h.madeAt()
	case h.Status == SignalEnded:
		return h.firstOf(h.ObservedAt, 0)
	}
	return h.firstOf(h.ObservedAt, h.StartedAt)
}

// takesBack reports whether a statement takes back a whole resource. A component
// that is retracted only says nothing in that version.
func (h *filed) takesBack() bool {
	return h.Status == SignalRetracted && !strings.Contains(h.version.resource, ".")
}

// compareVersions orders the versions of one resource; of two that came together
// a retraction is the later.
func compareVersions(a, b *filed) int {
	return cmp.Or(
		cmp.Compare(a.versionAt(), b.versionAt()),
		cmp.Compare(a.ReceivedAt, b.ReceivedAt),
		compareBool(b.takesBack(), a.takesBack()),
	)
}

// runs reports whether the versions of a resource tell of something that lasts,
// not of one observation.
func (h *filed) runs() bool { return h.Kind == KindMedication || h.Kind == KindCondition }

// sifted are the filed statements that stand, by what they are.
type sifted struct {
	newest       map[string]newest // by resource
	observations threads           // each as one of no resource
	courses      []*filed          // of infusions
	conditions   []*filed
}

// newest is what is known last of a resource: its version, and its retraction.
type newest struct{ version, retraction *filed }

// file forgets the filed statements of another episode.
func (e *episode) file() {
	e.filed, e.courses, e.conditions = e.filed[:0], e.courses[:0], e.conditions[:0]
}

// sift finds the filed statements that stand, and tells them apart.
func (e *episode) sift() {
	s := &e.sifted
	if s.newest == nil {
		s.newest = map[string]newest{}
	}
	clear(s.newest)
	for _, h := range e.filed {
		if h.version == nil || h.Status == SignalActive && h.state == unreadable {
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
	s.observations = threads{list: s.observations.list[:0]}
	s.courses, s.conditions = s.courses[:0], s.conditions[:0]
	for _, h := range e.filed {
		switch {
		case !s.stands(h):
		case h.Kind == KindCondition:
			s.conditions = append(s.conditions, h)
		case h.Kind == KindMedication && h.version != nil:
			s.courses = append(s.courses, h)
		default:
			p := h.plain()
			p.bind(e.of)
			s.observations.add(p)
		}
	}
	e.from = append(e.from, &s.observations)
	slices.SortFunc(s.courses, compareFiled)
	slices.SortFunc(s.conditions, compareFiled)
}

// stands reports whether a statement counts beside the others of its resource. An
// observation is what its newest version says. An infusion or a condition runs
// through its versions; what is older than its retraction never was.
func (s *sifted) stands(h *filed) bool {
	if h.version == nil {
		return true
	}
	n := s.newest[h.whole()]
	switch {
	case h.Status == SignalRetracted:
		return false
	case n.retraction != nil && compareVersions(h, n.retraction) < 0:
		return false
	case h.runs() || n.version == nil:
		return true
	}
	return compareVersions(h, n.version) == 0
}

// compareFiled puts the statements about each thing together, in order.
func compareFiled(a, b *filed) int {
	if a.version == nil || b.version == nil {
		if c := cmp.Or(compareBool(a.version == nil, b.version == nil), cmp.Compare(a.identity.system, b.identity.system),
			cmp.Compare(a.identity.code, b.identity.code)); c != 0 || a.version != b.version {
			return c
		}
	} else if c := cmp.Or(cmp.Compare(a.version.resource, b.version.resource), compareVersions(a, b)); c != 0 {
		return c
	}
	x, y := a.plain(), b.plain()
	return cmp.Or(cmp.Compare(a.number, b.number), compareStatements(
		statement{Heard: &x, order: x.orderTime(), clock: x.clockStart()},
		statement{Heard: &y, order: y.orderTime(), clock: y.clockStart()},
	))
}

// sameThing reports whether two statements are about one thing.
func (h *filed) sameThing(o *filed) bool {
	if h.version == nil || o.version == nil {
		return h.version == o.version && h.Kind == o.Kind && *h.identity == *o.identity
	}
	return h.version.resource == o.version.resource
}

// thingHash is the same of statements about one thing.
func (h *filed) thingHash() uint64 {
	if h.version == nil {
		return h.identityHash + uint64(h.Kind)
	}
	return h.version.hash
}

// things splits statements in order into those about each thing.
func things(list []*filed, yield func([]*filed)) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[0].sameThing(list[n]) {
			n++
		}
		yield(list[:n])
		list = list[n:]
	}
}

// keepFiled adds a statement to those of a visit or a patient. Of a run of
// versions that say the same within minutes only the ends are kept; beyond the
// cap those go that are missed least. All are read by the map of the unit first:
// what waits may have been read by one before, and what they are about decides.
func (u *Unit) keepFiled(list []filed, h filed, of owner) []filed {
	u.reread(&h.Heard)
	for i := range list {
		u.reread(&list[i].Heard)
	}
	if i := between(list, &h); i >= 0 {
		u.unfile(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	for len(list) >= capSignals {
		i := leastOf(list)
		u.unfile(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: h.Heard, version: h.version, owner: of})
	list = tight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.number, func(o filed, number int64) int { return cmp.Compare(o.number, number) })
	return slices.Insert(list, i, h)
}

// reread has a statement read by the map of the unit, if it was not.
func (u *Unit) reread(h *Heard) {
	if h.maps != u.maps {
		h.matchedSignal = u.matchedSignals.of(u, h.signalText)
	}
}

// unfile drops the record of a filed statement.
func (u *Unit) unfile(h *filed) { u.drop(&h.Heard) }

// placeInTime is the time by which statements about the same thing follow each
// other.
func (h *filed) placeInTime() Instant {
	if h.version != nil {
		return h.versionAt()
	}
	return h.orderTime()
}

// between returns the place of the statement that h makes superfluous: the one
// in the middle of three that say the same within minutes; -1: there is none.
func between(list []filed, h *filed) int {
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
	// The same words may have several matchedSignals: those remembered are bounded.
	if first >= 0 && list[before].signalText == h.signalText && list[first].signalText == h.signalText &&
		saysTheSame(&list[before].Heard, &h.Heard) && saysTheSame(&list[first].Heard, &h.Heard) &&
		at < list[first].placeInTime().Add(thinWithin) {
		return before
	}
	return -1
}

// leastOf returns the statement that is missed least: one with a newer one about
// the same thing; an observation with a newer one of the same code; one that
// nothing knows; else the oldest.
func leastOf(list []filed) int {
	at := func(i int) Instant { return list[i].placeInTime() }
	things := func(i int) (uint64, bool) { return list[i].thingHash(), true }
	if i := superseded(len(list), things, func(i, j int) bool { return list[i].sameThing(&list[j]) }, at); i >= 0 {
		return i
	}
	codes := func(i int) (uint64, bool) { return list[i].identityHash, !list[i].runs() }
	if i := superseded(len(list), codes, func(i, j int) bool { return *list[i].identity == *list[j].identity }, at); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(list, func(h filed) bool { return h.state == unmapped && h.Status == SignalActive }))
}
