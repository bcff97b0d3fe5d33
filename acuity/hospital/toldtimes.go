package hospital

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"svc/acuity"
	"svc/acuity/adt"
)

// An Encounter may tell a start to the day, in each of its versions. When a version was written or
// received makes the day exact, so each version would tell another start. The earliest counts: an
// admission does not move with each version, and the order in which they come means nothing.

// capTold is the number of coarse times of one Encounter that are remembered: the latest.
const capTold = 64

// toldKeys makes the keys of the coarse times of one version.
type toldKeys []int64

// of returns the key of a coarse time, by what happened, where, and the interval that was sent. Each
// repetition within a version has a key of its own.
func (k *toldKeys) of(e *acuity.Event) int64 {
	kind := e.Type
	if kind == acuity.A04 {
		kind = acuity.A01 // an admission, whatever the class of the patient
	}
	h := fnv.New64a()
	b := binary.AppendVarint([]byte{byte(kind), byte(e.Precision)}, int64(e.AtFrom))
	if kind != acuity.A01 { // the place of the first stay may become known later
		for _, text := range []string{e.Place.PointOfCare, e.Place.Room, e.Place.Bed, e.Place.Label} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	h.Write(b)
	key := int64(h.Sum64()) //nolint:gosec // the bits are what matters
	for slices.Contains(*k, key) {
		key++
	}
	*k = append(*k, key)
	return key
}

// coarseTimes returns the coarse times of the events of a version.
func coarseTimes(events []*acuity.Event) (list []acuity.ToldTime) {
	var keys toldKeys
	for _, e := range events {
		if e.AtFrom != 0 {
			list = append(list, acuity.ToldTime{Key: keys.of(e), At: e.At})
		}
	}
	return list
}

// mergeTold returns the earliest instants of two lists, in order of their keys.
func mergeTold(a, b []acuity.ToldTime) []acuity.ToldTime {
	list := slices.Concat(a, b)
	byKey := func(a, b acuity.ToldTime) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.At, b.At)) }
	slices.SortFunc(list, byKey)
	list = slices.CompactFunc(list, func(a, b acuity.ToldTime) bool { return a.Key == b.Key })
	if len(list) > capTold {
		slices.SortFunc(list, func(a, b acuity.ToldTime) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Key, b.Key)) })
		list = list[:capTold]
		slices.SortFunc(list, byKey)
	}
	return list
}

// settleTimes returns the events of a version with the times that count, and with what was told so far;
// nil: no time was coarse. Their order stands.
func settleTimes(events []*acuity.Event, told []acuity.ToldTime) []acuity.Event {
	if len(told) == 0 {
		return nil
	}
	settled := make([]acuity.Event, 0, len(events))
	var keys toldKeys
	last := acuity.Instant(0)
	for _, sent := range events {
		e := *sent
		if e.AtFrom != 0 {
			key := keys.of(&e)
			i := slices.IndexFunc(told, func(t acuity.ToldTime) bool { return t.Key == key })
			if i >= 0 && told[i].At < e.At {
				e.At = max(told[i].At, min(last+1, e.At))
			}
		}
		last = max(last, e.At)
		settled = append(settled, e)
	}
	settled[0].Told = told
	return settled
}

// settledEvent returns an event of the version with the time that counts.
func (k *intakeVersion) settledEvent(e *acuity.Event) *acuity.Event {
	if i := slices.Index(k.events, e); i >= 0 && i < len(k.settled) {
		return &k.settled[i]
	}
	return e
}

// settleStored gives the stored events of an Encounter the times that count after an older version told
// some. It returns them.
func (es *eventStore) settleStored(v *visit, resource string, stored []adt.Event, told []acuity.ToldTime) []adt.Event {
	if slices.Equal(told, stored[0].Told) {
		return stored
	}
	var sent []*acuity.Event
	for i := range stored {
		sent = append(sent, &stored[i].AppendTo(nil, v.ID)[0])
	}
	stored = adt.StoreEvents(settleTimes(sent, told))
	kept, next := slices.Clone(v.events), 0 // the timeline refers to those before
	for i := range kept {
		if kept[i].Resource == resource {
			kept[i] = stored[next]
			next++
		}
	}
	v.events = kept
	es.capacity.weigh(v)
	es.work.markVisit(v, markState|dirtyTimeline)
	return stored
}
