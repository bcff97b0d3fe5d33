package hospital

import (
	"cmp"
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/identity"
	"svc/acuity/registry"
	"svc/acuity/score"
)

// scoring computes the verdict of a unit from its chart.
type scoring struct {
	*registry.Registry
	matcher *identity.Matcher

	verdict  score.Verdict
	sums     score.UnitSums      // sums over the rooms of the verdict
	before   score.Verdict       // verdict of the previous step, without the rooms
	compared []*registry.Room    // rooms whose verdict may differ from the previous step, ordered by id
	replaced []score.RoomVerdict // buffer for the field Before of the compared rooms
	overdue  bool                // whether the verdict differs from the last published one

	previous, active []catalogue.Factor // buffer for the factors of a room
}

// judge computes the verdict at the current time of the hospital's clock. Rooms that have not changed and are not due
// keep their verdicts.
func (k *scoring) judge() {
	now, all := k.Facts.Clock, k.Work.Rearranged || k.Work.Plain
	k.Work.Rearranged, k.before = false, k.verdict
	k.chooseCompared(all, now)
	k.keepBefore()
	rooms := k.verdict.Rooms
	if all {
		clear(rooms)
		rooms = rooms[:0]
		for _, r := range k.Rooms {
			if !r.InUnit {
				continue
			}
			rooms = append(rooms, score.RoomVerdict{})
			if r.Before != nil {
				rooms[r.ChartAt] = *r.Before
			}
		}
		k.verdict.Rooms = rooms
	}
	for _, r := range k.compared {
		r.Judged = r.InUnit && (k.Work.Plain || r.Before == nil || r.Marks&registry.Rejudge != 0 || isDue(r.Before, now))
		if r.Judged {
			rooms[r.ChartAt] = score.JudgeRoom(k.matcher.Cat, &r.Chart, now)
		}
	}
	for _, r := range k.Work.Rooms.With(registry.Rejudge) {
		r.Marks &^= registry.Rejudge
	}
	k.Work.Rooms.Reset(registry.Rejudge)
	k.sums = score.SumRooms(rooms)
	score.UpdateVerdict(k.matcher.Cat, &k.verdict, &k.Chart.Unit, &k.sums, now)
}

// chooseCompared lists the rooms to judge and the rooms that the input concerns. If rooms have entered or left the
// unit, it lists all rooms.
func (k *scoring) chooseCompared(all bool, now acuity.Instant) {
	for _, r := range k.compared {
		r.Compared, r.Judged = false, false
	}
	k.compared = k.compared[:0]
	add := func(r *registry.Room) {
		if !r.Compared {
			r.Compared, k.compared = true, append(k.compared, r)
		}
	}
	if all {
		for _, r := range k.Rooms {
			add(r)
		}
		return
	}
	for _, r := range k.Work.Rooms.With(registry.Rejudge) {
		if r.InUnit {
			add(r)
		}
	}
	for _, r := range k.Work.Rooms.With(registry.Named) {
		add(r)
	}
	if k.sums.IsDue(now) {
		for i := range k.verdict.Rooms {
			if rv := &k.verdict.Rooms[i]; isDue(rv, now) {
				add(k.Room(rv.ID))
			}
		}
	}
	slices.SortFunc(k.compared, func(a, b *registry.Room) int { return cmp.Compare(a.ID, b.ID) })
}

// keepBefore saves the verdicts of the compared rooms, which judge replaces.
func (k *scoring) keepBefore() {
	clear(k.replaced)
	k.replaced = slices.Grow(k.replaced[:0], min(len(k.compared), len(k.verdict.Rooms)))
	rooms := k.verdict.Rooms // ascending by id, as are the compared rooms
	for _, r := range k.compared {
		for len(rooms) > 0 && rooms[0].ID < r.ID {
			rooms = rooms[1:]
		}
		r.Before = nil
		if len(rooms) > 0 && rooms[0].ID == r.ID {
			k.replaced = append(k.replaced, rooms[0])
			r.Before = &k.replaced[len(k.replaced)-1]
		}
	}
}

// verdicts returns the verdicts of a room before and after the step. A verdict is nil if the room was not in the unit
// at that time.
func (k *scoring) verdicts(r *registry.Room) (before, after *score.RoomVerdict) {
	if r.InUnit {
		after = &k.verdict.Rooms[r.ChartAt]
	}
	if r.Compared {
		return r.Before, after
	}
	return after, after
}

// isUnchanged reports whether readers see the same verdict as after the previous step.
func (k *scoring) isUnchanged() bool {
	if !k.verdict.ShowsSame(&k.before) {
		return false
	}
	for _, r := range k.compared {
		before, after := k.verdicts(r)
		if (before == nil) != (after == nil) || r.Judged && before != nil && !score.ShowsSame(before, after) {
			return false
		}
	}
	return true
}

// removed returns how many rooms left the unit.
func (k *scoring) removed() (rooms int32) {
	for _, r := range k.compared {
		if r.Before != nil && !r.InUnit {
			rooms++
		}
	}
	return rooms
}

// isDue reports whether a timer has changed the room or the room's contribution to the unit.
func isDue(rv *score.RoomVerdict, now acuity.Instant) bool {
	next := rv.Until()
	return next != 0 && next <= now
}
