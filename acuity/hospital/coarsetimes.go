package hospital

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/registry"
)

// Each version of an Encounter may repeat a start that is only a date. The date resolves to an instant that depends on
// when that version was written or received, so each version would have a different start. The earliest instant counts,
// so that the admission time does not change with each version and the order of arrival has no effect.

// maxCoarseTimes is the maximum number of coarse times stored for one Encounter; the latest are stored. This
// project chose the number; no standard defines it.
const maxCoarseTimes = 64

// coarseTimeKeys are the keys of the coarse times of one version, in the order of its events.
type coarseTimeKeys []int64

// add returns the key for the coarse time of an event: a hash of the event's kind, its location (except for an
// admission) and the interval as sent. If a version repeats an event, the repetition gets a different key.
func (k *coarseTimeKeys) add(e *acuity.Event) int64 {
	kind := e.Type
	if kind == acuity.A04 {
		kind = acuity.A01 // admissions of all patient classes share a key
	}
	h := fnv.New64a()
	b := binary.AppendVarint([]byte{byte(kind), byte(e.Precision)}, int64(e.AtFrom))
	if kind != acuity.A01 { // the place of the first stay may become known later
		for _, text := range []string{e.Place.PointOfCare, e.Place.Room, e.Place.Bed, e.Place.Label} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	h.Write(b)
	key := int64(h.Sum64()) //nolint:gosec // overflow is harmless in a hash
	for slices.Contains(*k, key) {
		key++
	}
	*k = append(*k, key)
	return key
}

// coarseTimes returns the coarse times in the events of a version.
func coarseTimes(events []*acuity.Event) (list []acuity.CoarseTime) {
	var keys coarseTimeKeys
	for _, e := range events {
		if e.AtFrom != 0 {
			list = append(list, acuity.CoarseTime{Key: keys.add(e), At: e.At})
		}
	}
	return list
}

// mergeCoarseTimes returns the union of two lists in order of their keys, with the earliest instant for each key. It
// keeps the latest maxCoarseTimes of these instants.
func mergeCoarseTimes(a, b []acuity.CoarseTime) []acuity.CoarseTime {
	list := slices.Concat(a, b)
	byKey := func(a, b acuity.CoarseTime) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.At, b.At)) }
	slices.SortFunc(list, byKey)
	list = slices.CompactFunc(list, func(a, b acuity.CoarseTime) bool { return a.Key == b.Key })
	if len(list) > maxCoarseTimes {
		slices.SortFunc(list, func(a, b acuity.CoarseTime) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Key, b.Key)) })
		list = list[:maxCoarseTimes]
		slices.SortFunc(list, byKey)
	}
	return list
}

// resolveTimes returns copies of the events of a version, in the same order. If the list known contains an earlier
// instant for an event's coarse time, the copy gets that instant or, to keep the order, an instant just after the
// preceding event. The first copy stores the list known. If known is empty, the result is nil.
func resolveTimes(events []*acuity.Event, known []acuity.CoarseTime) []acuity.Event {
	if len(known) == 0 {
		return nil
	}
	resolved := make([]acuity.Event, 0, len(events))
	var keys coarseTimeKeys
	last := acuity.Instant(0)
	for _, sent := range events {
		e := *sent
		if e.AtFrom != 0 {
			key := keys.add(&e)
			i := slices.IndexFunc(known, func(t acuity.CoarseTime) bool { return t.Key == key })
			if i >= 0 && known[i].At < e.At {
				e.At = max(known[i].At, min(last+1, e.At))
			}
		}
		last = max(last, e.At)
		resolved = append(resolved, e)
	}
	resolved[0].CoarseTimes = known
	return resolved
}

// resolvedEvent returns a copy of an event with resolved times, or the event itself if the version has no coarse times.
func (k *intakeVersion) resolvedEvent(e *acuity.Event) *acuity.Event {
	if i := slices.Index(k.events, e); i >= 0 && i < len(k.resolved) {
		return &k.resolved[i]
	}
	return e
}

// resolveStored replaces the stored events of an Encounter with copies that have the instants in the list known. Such
// an instant is earlier than the stored one if an older version has arrived late. resolveStored returns the new
// stored events.
func (es *eventStore) resolveStored(v *registry.Visit, resource string, stored []adt.Event, known []acuity.CoarseTime) []adt.Event {
	if slices.Equal(known, stored[0].CoarseTimes) {
		return stored
	}
	var sent []*acuity.Event
	for i := range stored {
		sent = append(sent, &stored[i].AppendTo(nil, v.ID)[0])
	}
	stored = adt.StoreEvents(resolveTimes(sent, known))
	kept, next := slices.Clone(v.Events), 0 // the timeline still refers to the previous slice
	for i := range kept {
		if kept[i].Resource == resource {
			kept[i] = stored[next]
			next++
		}
	}
	v.Events = kept
	es.UpdateSize(v)
	es.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
	return stored
}
