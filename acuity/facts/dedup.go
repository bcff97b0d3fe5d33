package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/acuity"
)

// ReasonReused is the reason for refusing an input that has the identity of an earlier request but a different body.
// The input was not applied.
const ReasonReused = "request_reused"

// Deduplication contains the identities of the events and requests received in the last 24 h.
type Deduplication struct {
	Unit  *UnitState
	ByID  Table[string, *DedupState]
	byAge []*DedupState // ascending by time of receipt
	Off   bool          // whether all events count as new, because they are being replayed
}

// Repeats returns the stored identity if a request in the last 24 h had the same identity; the new request must then
// have no effect. Otherwise, Repeats stores the identity and returns nil. For a request without a key, it stores
// nothing and returns nil.
func (d *Deduplication) Repeats(r *acuity.Request) *DedupState {
	if r == nil || r.Key == "" {
		return nil
	}
	if s := d.ByID.Rows[r.Key]; s != nil && d.Unit.Clock < s.At.Add(dedupFor) {
		return s
	}
	s := &DedupState{
		ID: strings.Clone(r.Key), Digest: strings.Clone(r.Digest), At: d.Unit.Clock,
		Version: d.Unit.Version + 1, // the version of the change being made
	}
	d.add(s)
	return nil
}

// MarkSeen stores the identity of an event for 24 h, and returns a copy of the event's id. If d.Off is set, it stores
// nothing, so all events count as new.
func (d *Deduplication) MarkSeen(e *acuity.Event, at acuity.Instant) (id string) {
	id = strings.Clone(e.ID)
	if id == "" || d.Off {
		return id
	}
	s := &DedupState{ID: id, At: at}
	if s.Digest = s.ID; e.Digest != e.ID {
		s.Digest = strings.Clone(e.Digest)
	}
	d.add(s)
	return id
}

// add stores an identity in ByID and, in order of age, in byAge.
func (d *Deduplication) add(s *DedupState) {
	d.ByID.Set(s.ID, s)
	i := len(d.byAge)
	if i > 0 && compareDedup(d.byAge[i-1], s) > 0 {
		i, _ = slices.BinarySearchFunc(d.byAge, s, compareDedup)
	}
	d.byAge = slices.Insert(d.byAge, i, s)
}

// DropOld drops the identities that are at least 24 h old.
func (d *Deduplication) DropOld(now acuity.Instant) {
	d.dropOldest(func(s *DedupState) bool { return s.At.Add(dedupFor) <= now })
}

// DropBeyond drops the oldest identities until at most the given number remain.
func (d *Deduplication) DropBeyond(most int) {
	d.dropOldest(func(*DedupState) bool { return len(d.ByID.Rows) > most })
}

// Restored sorts the restored identities by age.
func (d *Deduplication) Restored() {
	d.byAge = slices.SortedFunc(maps.Values(d.ByID.Rows), compareDedup)
}

// dropOldest drops identities, oldest first, as long as the given function returns true.
func (d *Deduplication) dropOldest(goes func(*DedupState) bool) {
	n := 0
	for ; n < len(d.byAge) && goes(d.byAge[n]); n++ {
		s := d.byAge[n]
		if d.byAge[n] = nil; d.ByID.Rows[s.ID] == s {
			d.ByID.Delete(s.ID)
		}
	}
	d.byAge = d.byAge[n:]
}

// compareDedup orders identities from oldest to newest.
func compareDedup(a, b *DedupState) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
}

// dedupFor is how long the identities of events are stored (docs/decisions.md#duplicate-messages).
const dedupFor = 24 * time.Hour
