package acuity

// Who judges a unit again and again need not judge every room each time. These
// three are [Chart.Verdict] in parts: the verdict of a room stays while its chart
// does and [RoomVerdict.Until] has not come, whatever happens around it.

// Catalogue returns the catalogue by which the unit is judged: the default, with
// the rules of its hospital. Charts with equal rules have the same one.
func (u *UnitChart) Catalogue() *Catalogue { return Default().With(u.Rules) }

// RoomVerdict judges a room at an instant. The verdict shares the evidence with the
// chart, which may not change while it is read.
func (c *Catalogue) RoomVerdict(r *RoomChart, now Instant) RoomVerdict {
	var rv RoomVerdict
	out := judgedOf(r.size())
	c.judgeRoom(r, now, &out, &rv)
	return rv
}

// Until returns the instant at which time alone ends the verdict: from then on
// the room, or what the unit makes of it, may be another. 0 means never.
func (rv *RoomVerdict) Until() Instant { return Soonest(rv.Next, rv.due) }

// Verdict judges the unit at an instant by its catalogue, given the verdicts of
// its rooms, ascending by ID. Each must be of now, or of an earlier
// instant with none of its Until up to now. They become part of the verdict.
func (u *UnitChart) Verdict(rooms []RoomVerdict, now Instant) Verdict {
	return u.Catalogue().judgeUnit(u, rooms, now)
}
