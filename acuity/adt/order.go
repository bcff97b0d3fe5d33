package adt

import (
	"cmp"

	"svc/acuity"
)

// Compare orders events by time, EVN-2, type and location text (R8); the
// rest only makes the order total.
func (e *Event) Compare(o *Event) int {
	if x, y := happenedAt(e), happenedAt(o); x != y {
		return cmp.Compare(x, y)
	}
	if c := cmp.Or(cmp.Compare(e.At, o.At), cmp.Compare(e.Recorded(), o.Recorded()), cmp.Compare(rank(e.Type), rank(o.Type))); c != 0 {
		return c
	}
	if c := compareLocations(e.Place, o.Place); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(e.ID, o.ID), cmp.Compare(e.Digest, o.Digest),
		cmp.Compare(e.ReceivedAt, o.ReceivedAt), cmp.Compare(e.Cancels, o.Cancels),
		compareLocations(e.Prior, o.Prior))
}

// happenedAt is the event time, but never later than the receipt: nothing is
// scheduled, and bedside clocks run ahead of ours (T2).
func happenedAt(e *Event) acuity.Instant {
	if e.ReceivedAt != 0 && e.At > e.ReceivedAt {
		return e.ReceivedAt
	}
	return e.At
}

// rank orders event types at equal times.
func rank(t acuity.EventType) int {
	switch t {
	case acuity.A04:
		return 0
	case acuity.A01:
		return 1
	case acuity.A06:
		return 2
	case acuity.A07:
		return 3
	case acuity.A02:
		return 4
	case acuity.A08:
		return 5
	case acuity.A03:
		return 6
	case acuity.EventOther, acuity.A11, acuity.A12, acuity.A13:
	}
	return 7 + int(t)
}

// compareLocations orders locations by their text.
func compareLocations(a, b *acuity.Location) int {
	if a == b || *a == *b {
		return 0
	}
	return cmp.Or(cmp.Compare(a.PointOfCare, b.PointOfCare), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Bed, b.Bed),
		cmp.Compare(a.RoomID, b.RoomID), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Facility, b.Facility))
}
