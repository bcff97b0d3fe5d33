package acuity

import "slices"

// keptSpare is for how many rooms memory is kept that is used again.
const keptSpare = 4

// judge makes the verdict at the clock; rooms that neither changed nor are due
// keep theirs.
func (u *Unit) judge() {
	now := u.facts.Clock
	w := &u.work
	w.spare, w.retired = append(w.spare, w.retired...), emptied(w.retired)
	if extra := len(w.spare) - keptSpare; extra > 0 {
		w.spare = slices.Delete(w.spare, 0, extra)
	}
	u.before = u.verdict.gist()
	if w.relaid || u.plain {
		u.judgeAll(now)
	} else {
		u.judgeTouched(now)
	}
	for _, r := range w.judge {
		r.marks &^= markJudge
	}
	w.judge = w.judge[:0]
	if u.plain {
		u.lately = lately{}
	}
	u.cat.judgeSums(&u.verdict, &u.chart.Unit, &u.sums, now, &u.lately)
}

// judgeAll is judge after rooms came into the unit or went out of it.
func (u *Unit) judgeAll(now Instant) {
	w := &u.work
	old := u.verdict.Rooms
	next := w.rooms[:0]
	if u.plain {
		next = u.chart.Verdict(now).Rooms // the charts, and so the evidence, are new with each step
	}
	i, n := 0, 0
	w.judged = w.judged[:0]
	for _, r := range u.rooms {
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
		case u.plain:
			r.again = true
		case r.was >= 0 && r.marks&markJudge == 0 && !old[r.was].isDue(now):
			next = append(next, old[r.was])
		default:
			next = append(next, RoomVerdict{})
			u.judgeRoom(r, now, &next[n-1])
		}
	}
	u.verdict.Rooms, w.rooms, w.before = next, w.before, old
	u.sums = sumsOf(next)
	w.relaid, w.all = false, true
}

// judgeTouched is judge if the same rooms are in the unit as before. The
// verdicts of the others stay where they are.
func (u *Unit) judgeTouched(now Instant) {
	w := &u.work
	for _, r := range w.judged {
		r.again, r.was = false, asIs
	}
	w.judged = w.judged[:0]
	if w.all { // the room for verdicts is that of a whole unit
		w.all, w.rooms, w.before = false, w.before, w.rooms
	}
	clear(w.before)
	w.before = w.before[:0]
	rooms := u.verdict.Rooms
	again := func(r *room) {
		r.was = len(w.before)
		w.judged, w.before = append(w.judged, r), append(w.before, rooms[r.is])
		u.sums.drop(&rooms[r.is])
		rooms[r.is] = RoomVerdict{}
		u.judgeRoom(r, now, &rooms[r.is])
		u.sums.add(&rooms[r.is])
	}
	for _, r := range w.judge {
		if r.is >= 0 && r.marks&markJudge != 0 {
			r.marks &^= markJudge
			again(r)
		}
	}
	if u.sums.next != 0 && u.sums.next <= now {
		for i := range rooms {
			if rooms[i].isDue(now) {
				if r := u.room(rooms[i].ID); !r.again {
					again(r)
				}
			}
		}
	}
	slices.SortFunc(w.judged, byID)
	u.sums.settle(rooms)
}

// judgeRoom judges one room. The memory of its last verdict is free after the
// next step.
func (u *Unit) judgeRoom(r *room, now Instant, rv *RoomVerdict) {
	w := &u.work
	if cap(r.store.factors) > 0 {
		w.retired = append(w.retired, r.store)
	}
	n := r.chart.size()
	r.again, r.store = true, judged{}
	for i, s := range w.spare {
		if cap(s.factors) >= n && cap(s.factors) <= n+4 {
			r.store = s
			w.spare = slices.Delete(w.spare, i, i+1)
			break
		}
	}
	if cap(r.store.factors) < n {
		r.store = judgedOf(n + n%2)
		r.store.pieces = make([]Evidence, 0, cap(r.store.evidence))
	}
	r.store.clear()
	r.store.alone = &w.alone
	u.cat.judgeRoom(&r.chart, now, &r.store, rv)
	r.store.keep(rv)
}

// verdicts returns what was said of a room before, and what is said now; nil if
// it was or is not in the unit.
func (u *Unit) verdicts(r *room) (was, is *RoomVerdict) {
	if r.is >= 0 {
		is = &u.verdict.Rooms[r.is]
	}
	switch {
	case r.was == asIs:
		was = is
	case r.was >= 0:
		was = &u.work.before[r.was]
	}
	return was, is
}

// isDue reports whether time alone has changed the room, or what the unit makes
// of it.
func (rv *RoomVerdict) isDue(now Instant) bool {
	next := Soonest(rv.Next, rv.due)
	return next != 0 && next <= now
}
