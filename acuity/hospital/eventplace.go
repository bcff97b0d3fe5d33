package hospital

import (
	"slices"

	"svc/acuity/adt"
	"svc/acuity/location"
	"svc/acuity/registry"
)

// warnOfPlace warns if the visit is at a location without a room. It also warns if an event names a location and the
// visit is outside the unit (unless it was in the unit before), or in no place because a newer census does not list it.
// It also warns if an event places the patient in a room that only its number identifies.
func (es *eventStore) warnOfPlace(in *registry.Intake, i int, v *registry.Visit) {
	place := &in.Observation.Events[i].Place
	places := func(s adt.Stay) bool { return s.Placing.ID == in.Events[i].ID }
	if slices.ContainsFunc(v.Timeline.Stays, places) && es.locations.Table.IsByNumber(*place) {
		in.Warn("room_by_number", in.EventPath(i))
	}
	switch {
	case v.IsAt(location.WithoutRoom) && place.Room == "" && place.Bed != "":
		in.Warn("bed_without_room", in.EventPath(i))
	case v.IsAt(location.WithoutRoom):
		in.Warn("location_without_room", in.EventPath(i))
	case v.IsAt(location.Outside) && !place.IsZero() && !wasInUnit(v):
		in.Warn("outside_unit", in.EventPath(i))
	case !place.IsZero() && es.isUnlisted(v):
		in.Warn("census_newer", in.EventPath(i))
	}
}

// isUnlisted reports whether the visit is in no place because a newer census does not list it, although ADT places the
// visit in the unit.
func (es *eventStore) isUnlisted(v *registry.Visit) bool {
	if v.IsHere() || v.Timeline.PlacedAt() == 0 {
		return false
	}
	stays := v.Timeline.Stays
	last := stays[len(stays)-1].Place()
	return !last.IsZero() && es.locations.Table.Placement(last).Kind != location.Outside
}

// wasInUnit reports whether the visit is, or was, in the unit.
func wasInUnit(v *registry.Visit) bool {
	inUnit := func(s registry.LocationSpan) bool { return s.Kind == location.InRoom || s.Kind == location.WithoutRoom }
	return slices.ContainsFunc(v.Spans, inUnit)
}
