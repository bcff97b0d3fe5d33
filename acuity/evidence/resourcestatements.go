package evidence

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/terminology"
)

// sameThing reports whether two statements are about one thing.
func (h *ResourceStatement) sameThing(o *ResourceStatement) bool {
	if h.Version == nil || o.Version == nil {
		return h.Version == o.Version && h.Kind == o.Kind && *h.Identity == *o.Identity
	}
	return h.Version.Resource == o.Version.Resource
}

// thingHash is equal for statements about one thing.
func (h *ResourceStatement) thingHash() uint64 {
	if h.Version == nil {
		return h.IdentityHash + uint64(h.Kind)
	}
	return h.Version.hash
}

// placeInTime returns the time that orders statements about the same thing.
func (h *ResourceStatement) placeInTime() acuity.Instant {
	if h.Version != nil {
		return h.versionAt()
	}
	return h.OrderTime()
}

// ResourceStatements are statements of one visit or patient in order of arrival, at most
// [MaxStatements].
type ResourceStatements []ResourceStatement

// Keep adds a statement. If a run of versions says the same within minutes, only its first
// and last stay. A full list loses the statement that matters least. Each goes
// to lose before it is removed. The mappings that read the statements must be the same:
// they decide what a statement is about.
func (l *ResourceStatements) Keep(h ResourceStatement, lose func(*ResourceStatement)) {
	list := *l
	if i := thinned(list, &h); i >= 0 {
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	for len(list) >= MaxStatements {
		i := leastMissed(list)
		lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	list = tight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.Number, func(o ResourceStatement, number int64) int { return cmp.Compare(o.Number, number) })
	*l = slices.Insert(list, i, h)
}

// thinned returns the index of the statement that h makes superfluous: the middle one of
// three that say the same within minutes; -1: none.
func thinned(list []ResourceStatement, h *ResourceStatement) int {
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
	// Equal texts may have several matched signals, because the cache of them is bounded.
	if first >= 0 && list[before].SignalText == h.SignalText && list[first].SignalText == h.SignalText &&
		saysTheSame(&list[before].Statement, &h.Statement) && saysTheSame(&list[first].Statement, &h.Statement) &&
		at < list[first].placeInTime().Add(thinWithin) {
		return before
	}
	return -1
}

// leastMissed returns the index of the statement that matters least. First goes one with a
// newer one about the same thing. Then goes an observation with a newer one of the same
// code, then an unmapped one, then the oldest.
func leastMissed(list []ResourceStatement) int {
	at := func(i int) acuity.Instant { return list[i].placeInTime() }
	things := func(i int) (uint64, bool) { return list[i].thingHash(), true }
	if i := superseded(len(list), things, func(i, j int) bool { return list[i].sameThing(&list[j]) }, at); i >= 0 {
		return i
	}
	codes := func(i int) (uint64, bool) { return list[i].IdentityHash, !list[i].runs() }
	if i := superseded(len(list), codes, func(i, j int) bool { return *list[i].Identity == *list[j].Identity }, at); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(list, func(h ResourceStatement) bool {
		return h.State == terminology.Unmapped && h.Status == acuity.SignalActive
	}))
}
