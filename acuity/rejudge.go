package acuity

// Who judges a unit again and again need not judge every room each time. These
// three are [Chart.Verdict] in parts: the verdict of a room stays while its chart
// does and [RoomVerdict.Until] has not come, whatever happens around it.

// Verdict judges the room at an instant by the default catalogue. The verdict
// shares nothing with the chart that changes.
func (r *RoomChart) Verdict(now Instant) RoomVerdict {
	var rv RoomVerdict
	out := judgedOf(r.size())
	Default().judgeRoom(r, now, &out, &rv)
	return rv
}

// Until returns the instant at which time alone ends the verdict: from then on
// the room, or what the unit makes of it, may be another. 0 means never.
func (rv *RoomVerdict) Until() Instant { return Soonest(rv.Next, rv.due) }

// Verdict judges the unit at an instant by the default catalogue, given the
// verdicts of its rooms, ascending by ID. Each must be of now, or of an earlier
// instant with none of its Until up to now. They become part of the verdict.
func (u *UnitChart) Verdict(rooms []RoomVerdict, now Instant) Verdict {
	return Default().judgeUnit(u, rooms, now, nil)
}
