package acuity

import "svc/acuity/codes"

// A caller that judges a unit again and again need not judge every room each time. These
// three functions are the parts of [Chart.Verdict]: the verdict of a room holds while its
// chart is the same, until [RoomVerdict.Until], whatever happens in other rooms.

// Catalogue returns the catalogue by which the unit is judged: the default, with
// the rules of its hospital. Charts with equal rules have the same one.
func (u *UnitChart) Catalogue() *Catalogue { return Default().With(u.Rules) }

// RoomVerdict judges a room at an instant. The verdict shares the evidence with the
// chart, which may not change while it is read.
func (c *Catalogue) RoomVerdict(r *RoomChart, now Instant) RoomVerdict {
	var rv RoomVerdict
	out := judgedOf(r.size())
	judgeRoom(c, r, now, &out, &rv)
	return rv
}

// Until returns the instant at which time alone ends the verdict: then the room, or its
// share of the unit, may change. 0: never.
func (rv *RoomVerdict) Until() Instant { return codes.Soonest(rv.Next, rv.due) }

// Verdict judges the unit at an instant by its catalogue, from the verdicts of its
// rooms, ascending by ID. Each is of now, or of an earlier instant without an Until up
// to now. They become part of the verdict.
func (u *UnitChart) Verdict(rooms []RoomVerdict, now Instant) Verdict {
	return judgeUnit(u.Catalogue(), u, rooms, now)
}
