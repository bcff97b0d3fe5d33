package hospital

import (
	"slices"

	"svc/acuity"
	"svc/acuity/score"
)

// scoring makes the verdict of a unit from its chart.
type scoring struct {
	*registry
	matcher *matcher

	verdict score.Verdict
	sums    score.UnitSums // of the rooms of the verdict
	before  score.Verdict  // of the step before; its rooms are overwritten
	overdue bool           // the verdict differs from what was last told
}

// judge makes the verdict at the clock. Rooms that neither changed nor are due keep
// theirs.
func (k *scoring) judge() {
	now := k.facts.Clock
	w := &k.work
	k.before = k.verdict
	if w.relaid || k.work.plain {
		k.judgeAll(now)
	} else {
		k.judgeTouched(now)
	}
	for _, r := range w.judge {
		r.marks &^= markJudge
	}
	w.judge = w.judge[:0]
	score.UpdateVerdict(k.matcher.cat, &k.verdict, &k.chart.Unit, &k.sums, now)
}

// judgeAll is judge after rooms entered or left the unit.
func (k *scoring) judgeAll(now acuity.Instant) {
	w := &k.work
	old := k.verdict.Rooms
	next := w.rooms[:0]
	if k.work.plain {
		next = score.Judge(&k.chart, now).Rooms // the charts, and so the evidence, are new with each step
	}
	i, n := 0, 0
	w.judged = w.judged[:0]
	for _, r := range k.rooms {
		w.judged = append(w.judged, r)
		for i < len(old) && old[i].ID < r.ID {
			i++
		}
		r.again, r.was, r.is = false, -1, -1
		if i < len(old) && old[i].ID == r.ID {
			r.was = i
		}
		if !r.inUnit {
			continue
		}
		r.is = n
		n++
		switch {
		case k.work.plain:
			r.again = true
		case r.was >= 0 && r.marks&markJudge == 0 && !isDue(&old[r.was], now):
			next = append(next, old[r.was])
		default:
			next = append(next, score.RoomVerdict{})
			k.judgeRoom(r, now, &next[n-1])
		}
	}
	k.verdict.Rooms, w.rooms, w.before = next, w.before, old
	k.sums = score.SumRooms(next)
	w.relaid, w.all = false, true
}

// judgeTouched is judge if the unit has the same rooms as before. The other verdicts
// stay where they are.
func (k *scoring) judgeTouched(now acuity.Instant) {
	w := &k.work
	for _, r := range w.judged {
		r.again, r.was = false, asIs
	}
	w.judged = w.judged[:0]
	if w.all { // the memory for verdicts is that of a whole unit
		w.all, w.rooms, w.before = false, w.before, w.rooms
	}
	clear(w.before)
	w.before = w.before[:0]
	rooms := k.verdict.Rooms
	again := func(r *room) {
		r.was = len(w.before)
		w.judged, w.before = append(w.judged, r), append(w.before, rooms[r.is])
		rooms[r.is] = score.RoomVerdict{}
		k.judgeRoom(r, now, &rooms[r.is])
	}
	for _, r := range w.judge {
		if r.is >= 0 && r.marks&markJudge != 0 {
			r.marks &^= markJudge
			again(r)
		}
	}
	if k.sums.IsDue(now) {
		for i := range rooms {
			if isDue(&rooms[i], now) {
				if r := k.room(rooms[i].ID); !r.again {
					again(r)
				}
			}
		}
	}
	slices.SortFunc(w.judged, byID)
	k.sums = score.SumRooms(rooms)
}

// judgeRoom judges one room.
func (k *scoring) judgeRoom(r *room, now acuity.Instant, rv *score.RoomVerdict) {
	r.again = true
	*rv = score.JudgeRoom(k.matcher.cat, &r.chart, now)
}

// verdicts returns the verdicts of a room before and after the step; nil: the room was
// or is not in the unit.
func (k *scoring) verdicts(r *room) (was, is *score.RoomVerdict) {
	if r.is >= 0 {
		is = &k.verdict.Rooms[r.is]
	}
	switch {
	case r.was == asIs:
		was = is
	case r.was >= 0:
		was = &k.work.before[r.was]
	}
	return was, is
}

// isDue reports whether time alone has changed the room, or its share of the unit.
func isDue(rv *score.RoomVerdict, now acuity.Instant) bool {
	next := rv.Until()
	return next != 0 && next <= now
}
