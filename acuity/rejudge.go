package acuity

import "svc/acuity/codes"

// A caller that judges a unit again and again need not judge every room each time. These
// three functions are the parts of [Chart.Verdict]: the verdict of a room holds while its
// chart is the same, until [RoomVerdict.Until], whatever happens in other rooms.

// RoomVerdict judges a room at an instant. The verdict shares the evidence with the
// chart, which may not change while it is read.
func JudgeRoom(c *Catalogue, r *RoomChart, now Instant) RoomVerdict {
	var rv RoomVerdict
	out := allocateMemory(r.CountEvidence())
	JudgeRoomInto(c, r, now, &out, &rv)
	return rv
}

// Until returns the instant at which time alone ends the verdict: then the room, or its
// share of the unit, may change. 0: never.
func (rv *RoomVerdict) Until() Instant { return codes.Soonest(rv.Next, rv.due) }

// Verdict judges the unit at an instant by its catalogue, from the verdicts of its
// rooms, ascending by ID. Each is of now, or of an earlier instant without an Until up
// to now. They become part of the verdict.
func JudgeUnit(u *UnitChart, rooms []RoomVerdict, now Instant) Verdict {
	return judgeUnit(u.Catalogue(), u, rooms, now)
}

// ShowsSame reports whether two verdicts of one room show the same to people.
func ShowsSame(a, b *RoomVerdict) bool {
	if a.ID != b.ID || a.Label != b.Label || a.Area != b.Area || a.Status != b.Status || a.Color != b.Color ||
		a.Score != b.Score || a.Demand != b.Demand || a.Primary != b.Primary ||
		a.Next != b.Next || a.Stale != b.Stale || len(a.Factors) != len(b.Factors) {
		return false
	}
	for i := range a.Factors {
		f, g := &a.Factors[i], &b.Factors[i]
		if f.Factor != g.Factor || f.Since != g.Since || f.Kind != g.Kind || a.AssignedBy(f) != b.AssignedBy(g) || f.Need.Ratio() != g.Need.Ratio() ||
			f.Severity != g.Severity || f.Next != g.Next || !sameSources(a.Evidence(f), b.Evidence(g)) {
			return false
		}
	}
	return true
}
