package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
)

// ReasonReused is the reason of an input with the identity of an earlier request and
// another body. It was not taken.
const ReasonReused = "request_reused"

// deduplication has the identities of the events and requests of the last 24 h.
type deduplication struct {
	unit  *UnitState
	keys  *stateKeys
	byID  map[string]*DedupState
	byAge []*DedupState // ascending by receipt
	off   bool          // all events are new: those of a past

	// What must be written since the last call of Dirty.
	added     []*DedupState
	forgotten []string // forgotten identities
}

// repeats returns the identity of a request if an earlier one of the last 24 h has it: then the
// request has no effect. Else it keeps the identity, and returns nil.
func (d *deduplication) repeats(r *acuity.Request) *DedupState {
	if r == nil || r.Key == "" {
		return nil
	}
	if s := d.byID[r.Key]; s != nil && d.unit.Clock < s.At.Add(dedupFor) {
		return s
	}
	s := &DedupState{
		ID: strings.Clone(r.Key), Digest: strings.Clone(r.Digest), At: d.unit.Clock,
		Version: d.unit.Version + 1, // that of the change in the making
	}
	d.add(s)
	return nil
}

// markSeen keeps the identity of an event for 24 h, and returns a copy of its id. In a
// past all events are new.
func (d *deduplication) markSeen(e *acuity.Event, at acuity.Instant) (id string) {
	id = strings.Clone(e.ID)
	if id == "" || d.off {
		return id
	}
	s := &DedupState{ID: id, At: at}
	if s.Digest = s.ID; e.Digest != e.ID {
		s.Digest = strings.Clone(e.Digest)
	}
	d.add(s)
	return id
}

// add keeps an identity from now on.
func (d *deduplication) add(s *DedupState) {
	d.byID[s.ID] = s
	i := len(d.byAge)
	if i > 0 && compareDedup(d.byAge[i-1], s) > 0 {
		i, _ = slices.BinarySearchFunc(d.byAge, s, compareDedup)
	}
	d.byAge = slices.Insert(d.byAge, i, s)
	d.added = append(d.added, s)
}

// forgetOldest drops identities, oldest first, while goes is true.
func (d *deduplication) forgetOldest(goes func(*DedupState) bool) {
	n := 0
	for ; n < len(d.byAge) && goes(d.byAge[n]); n++ {
		s := d.byAge[n]
		if d.byAge[n] = nil; d.byID[s.ID] == s {
			delete(d.byID, s.ID)
			d.forgotten = append(d.forgotten, s.ID)
		}
	}
	d.byAge = d.byAge[n:]
}

// compareDedup orders identities by age.
func compareDedup(a, b *DedupState) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
}

// writeDirty writes the identities that came and deletes those that went.
func (d *deduplication) writeDirty(write func(key []byte, s Record)) {
	for _, id := range d.forgotten {
		write(d.keys.dedup(id), nil)
	}
	for _, s := range d.added {
		if len(d.forgotten) == 0 || d.byID[s.ID] == s {
			write(d.keys.dedup(s.ID), s)
		}
	}
	d.forgotten, d.added = emptied(d.forgotten), emptied(d.added)
}
