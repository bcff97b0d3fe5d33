package acuity

import (
	"cmp"
	"slices"
	"strings"
)

// conclude judges the unit after a step and tells what the step did: the next
// version, the effects, and what became active or ceased to be.
func (u *Unit) conclude(in *intake) {
	c := &in.Change
	u.head()
	u.judge()
	before, after := &u.previous, &u.verdict

	f := &u.facts
	f.Version++
	if f.Version == 1 || !sameShown(before, after) {
		f.Since = f.Clock
	}
	c.Hospital, c.Version, c.Offset, c.AppliedAt, c.Level = u.hospital, f.Version, f.Offset, f.Clock, after.Level
	u.effects(c)
	u.differ(in, before, after)
	if in.census {
		c.Removed = countRemoved(before.Rooms, after.Rooms)
	}
	if in.room != nil {
		if rv := after.room(in.room.ID); rv != nil {
			for i := range rv.Factors {
				c.Active = append(c.Active, rv.Factors[i].Factor)
			}
		}
	}
	u.chart.Unit.Version, u.chart.Unit.Since = f.Version, f.Since
	after.Version, after.AsOf = f.Version, f.Since
	u.dirty.unit, u.overdue = true, false
}

// head brings what the chart says of the unit as a whole up to the facts.
func (u *Unit) head() {
	f, h := &u.facts, &u.chart.Unit
	h.Clock = f.Clock
	h.Staffing, h.Roster = f.Staffing, f.Roster
	h.HasCensus, h.CensusAt, h.TotalRooms = f.HasCensus, f.CensusAt, f.TotalRooms
	since := f.Clock.Add(-turnoverWindow)
	if !u.work.moved && (len(h.Moves) == 0 || h.Moves[0] > since) {
		return
	}
	u.work.moved = false
	moves, unplaced := h.Moves[:0], int32(0)
	for _, v := range u.visits {
		for _, m := range v.story.moves {
			if m > since {
				moves = append(moves, m)
			}
		}
		if n := len(v.spans); n > 0 && v.spans[n-1].To == 0 && (v.spans[n-1].Kind == nowhere || v.spans[n-1].Kind == withoutRoom) {
			unplaced++
		}
	}
	slices.Sort(moves)
	h.Moves, h.Unplaced, h.UnknownLocations = moves, unplaced, 0
	for _, r := range u.rooms {
		if r.Registered {
			h.UnknownLocations++
		}
	}
}

// judge makes the verdict at the clock; rooms that neither changed nor are due
// keep theirs.
func (u *Unit) judge() {
	now := u.facts.Clock
	old := u.verdict
	if u.plain {
		u.previous, u.verdict = old, u.chart.Verdict(now)
		return
	}
	rooms := u.previous.Rooms[:0]
	i := 0
	for _, r := range u.rooms {
		again := r.marks&markJudge != 0
		r.marks &^= markJudge
		if !r.inUnit {
			continue
		}
		for i < len(old.Rooms) && old.Rooms[i].ID < r.ID {
			i++
		}
		if i < len(old.Rooms) && old.Rooms[i].ID == r.ID && !again && !old.Rooms[i].isDue(now) {
			rooms = append(rooms, old.Rooms[i])
			continue
		}
		var out judged
		rooms = append(rooms, u.cat.judgeRoom(&r.chart, now, &out))
	}
	u.previous = old
	u.verdict = u.cat.judgeUnit(&u.chart.Unit, rooms, now)
}

// isDue reports whether time alone has changed the room, or what the unit makes
// of it.
func (rv *RoomVerdict) isDue(now Instant) bool {
	next := Soonest(rv.Next, rv.due)
	return next != 0 && next <= now
}

// room returns the verdict of a room; nil if it is not in the unit.
func (v *Verdict) room(id int32) *RoomVerdict {
	i, ok := slices.BinarySearchFunc(v.Rooms, id, func(r RoomVerdict, id int32) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil
	}
	return &v.Rooms[i]
}

// effects tells what differs from what was last told: the level, then the rooms
// by id. A room that went is gray.
func (u *Unit) effects(c *Change) {
	v := &u.verdict
	if v.Level != u.facts.Level {
		c.Effects = append(c.Effects, Effect{
			Kind: LevelChanged, Level: v.Level, Prior: u.facts.Level,
			Driving: v.Driving, Ratio: v.Ratio, Shortfall: v.Shortfall,
		})
		u.facts.Level = v.Level
	}
	i := 0
	for _, r := range u.rooms {
		rv := RoomVerdict{Nursing: "none"}
		if r.inUnit {
			rv = v.Rooms[i]
			i++
		}
		if rv.Color == r.Color {
			continue
		}
		e := Effect{
			Kind: RoomRescored, RoomID: r.ID, RoomLabel: r.Label,
			Color: rv.Color, PriorColor: r.Color, Score: rv.Score, Nursing: rv.Nursing,
		}
		for j := range rv.Factors {
			e.Factors = append(e.Factors, rv.Factors[j].Factor)
		}
		c.Effects = append(c.Effects, e)
		r.Color = rv.Color
		u.markRoom(r, markState)
	}
}

// differ tells which factors became active and which ceased to be. After an
// input that is the difference to the end of the last input that touched the
// room, so what aged out in between is told once (scoring-decisions 48); after a
// due instant it is the difference to just before.
func (u *Unit) differ(in *intake, before, after *Verdict) {
	c := &in.Change
	for _, r := range u.rooms {
		was, is := before.room(r.ID), after.room(r.ID)
		changed := !sameFactors(was, is)
		if in.Cause == CauseTime {
			if changed {
				u.compare(c, r, was.active(nil), is.active(nil), was, is)
			}
			continue
		}
		if !changed && r.marks&markTouched == 0 {
			continue
		}
		now := is.active(nil)
		u.compare(c, r, r.Active, now, was, is)
		u.passed(in, r, now)
		if !slices.Equal(r.Active, now) {
			r.Active = now
			u.markRoom(r, markState)
		}
	}
	for _, r := range u.work.touched {
		r.marks &^= markTouched
	}
	u.work.touched = u.work.touched[:0]
}

// active appends the active factors of a room in ascending order.
func (rv *RoomVerdict) active(dst []Factor) []Factor {
	if rv == nil {
		return dst
	}
	for i := range rv.Factors {
		dst = append(dst, rv.Factors[i].Factor)
	}
	slices.Sort(dst)
	return dst
}

// sameFactors reports whether the same factors are active, in whatever order.
func sameFactors(a, b *RoomVerdict) bool {
	if a == nil || b == nil {
		return (a == nil || len(a.Factors) == 0) && (b == nil || len(b.Factors) == 0)
	}
	if len(a.Factors) != len(b.Factors) {
		return false
	}
	for i := range a.Factors {
		if a.Factors[i].Factor == b.Factors[i].Factor {
			continue
		}
		if !b.has(a.Factors[i].Factor) || !a.has(b.Factors[i].Factor) {
			return false
		}
	}
	return true
}

func (rv *RoomVerdict) has(f Factor) bool { return rv.factor(f) != nil }

// factor returns an active factor; nil if it is not active.
func (rv *RoomVerdict) factor(f Factor) *FactorVerdict {
	if rv == nil {
		return nil
	}
	for i := range rv.Factors {
		if rv.Factors[i].Factor == f {
			return &rv.Factors[i]
		}
	}
	return nil
}

// compare appends the differences of two sets of factors of one room.
func (u *Unit) compare(c *Change, r *room, old, now []Factor, was, is *RoomVerdict) {
	first := len(c.Activated)
	for _, f := range now {
		if !slices.Contains(old, f) {
			c.Activated = append(c.Activated, u.factorChange(r, f, is))
		}
	}
	sortChanges(c.Activated[first:])
	first = len(c.Expired)
	for _, f := range old {
		if !slices.Contains(now, f) {
			c.Expired = append(c.Expired, u.factorChange(r, f, was))
		}
	}
	sortChanges(c.Expired[first:])
}

func sortChanges(list []FactorChange) {
	slices.SortFunc(list, func(a, b FactorChange) int { return strings.Compare(a.Factor.ID(), b.Factor.ID()) })
}

// factorChange describes a factor by the verdict in which it is active; one
// that aged out before by the evidence that is left of it.
func (u *Unit) factorChange(r *room, f Factor, rv *RoomVerdict) FactorChange {
	c := FactorChange{RoomID: r.ID, RoomLabel: r.Label, Factor: f}
	if fv := rv.factor(f); fv != nil {
		c.Ratio, c.Since, c.Kind = fv.Ratio, fv.Since, fv.Kind
		return c
	}
	for i := range r.chart.Patients {
		for _, e := range r.chart.Patients[i].Evidence {
			if e.Factor == f && (c.Since == 0 || e.Start < c.Since) {
				c.Since, c.Kind = e.Start, e.Kind
			}
		}
	}
	return c
}

// passed tells of statements that were past their window when they came: their
// factor expires without having been active.
func (u *Unit) passed(in *intake, r *room, now []Factor) {
	first := len(in.Expired)
	for i := range in.heard {
		h := &in.heard[i]
		if h.Room != r.ID || h.Visit != "" || h.Patient != "" {
			continue
		}
		matches, _ := u.cat.matchSignal(&h.Signal, u.maps)
		for _, m := range matches {
			if !m.on || slices.Contains(now, m.factor) || !r.hasEvidence(m.factor) ||
				slices.ContainsFunc(in.Expired, func(c FactorChange) bool { return c.RoomID == r.ID && c.Factor == m.factor }) {
				continue
			}
			in.Expired = append(in.Expired, u.factorChange(r, m.factor, nil))
		}
	}
	if len(in.Expired) > first {
		for first > 0 && in.Expired[first-1].RoomID == r.ID {
			first--
		}
		sortChanges(in.Expired[first:])
	}
}

// hasEvidence reports whether the chart has evidence of a factor, in force or not.
func (r *room) hasEvidence(f Factor) bool {
	for i := range r.chart.Patients {
		for j := range r.chart.Patients[i].Evidence {
			if r.chart.Patients[i].Evidence[j].Factor == f {
				return true
			}
		}
	}
	return false
}

// sameShown reports whether two verdicts show the same, whatever their versions.
func sameShown(a, b *Verdict) bool {
	if a.Level != b.Level || a.Driving != b.Driving || a.Axes != b.Axes || a.Required != b.Required ||
		a.Shortfall != b.Shortfall || a.ShortfallFTE != b.ShortfallFTE || a.OnDuty != b.OnDuty || a.Call != b.Call ||
		a.Ratio != b.Ratio || a.Roster != b.Roster || a.RosterStale != b.RosterStale || a.Unplaced != b.Unplaced ||
		a.Next != b.Next || len(a.Rooms) != len(b.Rooms) || !slices.Equal(a.Quality, b.Quality) {
		return false
	}
	for i := range a.Rooms {
		if !sameRoomShown(&a.Rooms[i], &b.Rooms[i]) {
			return false
		}
	}
	return true
}

func sameRoomShown(a, b *RoomVerdict) bool {
	if a.ID != b.ID || a.Label != b.Label || a.Area != b.Area || a.Status != b.Status || a.Color != b.Color ||
		a.Score != b.Score || a.Demand != b.Demand || a.Nursing != b.Nursing || a.Primary != b.Primary ||
		a.Next != b.Next || a.Stale != b.Stale || len(a.Factors) != len(b.Factors) {
		return false
	}
	for i := range a.Factors {
		f, g := &a.Factors[i], &b.Factors[i]
		if f.Factor != g.Factor || f.Since != g.Since || f.Kind != g.Kind || f.AssignedBy != g.AssignedBy || f.Ratio != g.Ratio ||
			f.Severity != g.Severity || f.Next != g.Next || !slices.Equal(f.Sources, g.Sources) {
			return false
		}
	}
	return true
}
