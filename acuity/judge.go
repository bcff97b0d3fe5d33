package acuity

import (
	"slices"
	"time"
)

// rosterLasts is how long a roster says who is on shift. Our default.
const rosterLasts = 12 * time.Hour

// Verdict judges the chart at an instant, by the catalogue with the rules of its
// hospital.
func (c *Chart) Verdict(now Instant) Verdict { return c.Unit.Catalogue().Verdict(c, now) }

// Verdict judges a chart at an instant. The verdict shares the roster and the
// evidence with the chart, which may not change while they are read.
func (c *Catalogue) Verdict(chart *Chart, now Instant) Verdict {
	evidence := 0
	for i := range chart.Rooms {
		for j := range chart.Rooms[i].Patients {
			evidence += len(chart.Rooms[i].Patients[j].Evidence)
		}
	}
	out := judgedOf(evidence)
	rooms := make([]RoomVerdict, len(chart.Rooms))
	for i := range chart.Rooms {
		c.judgeRoom(&chart.Rooms[i], now, &out, &rooms[i])
	}
	return c.judgeUnit(&chart.Unit, rooms, now)
}

// judgeUnit makes the verdict of a unit from those of its rooms, which must be
// of the same instant, or of an earlier one with no Next or due up to now. The
// rooms become part of the verdict.
func (c *Catalogue) judgeUnit(u *UnitChart, rooms []RoomVerdict, now Instant) Verdict {
	sums := sumsOf(rooms)
	return c.judgeSums(u, rooms, &sums, now, nil)
}

// judgeSums is judgeUnit with what the rooms come to. What was made of the same
// numbers last time is taken from there; nil: nothing is remembered.
func (c *Catalogue) judgeSums(u *UnitChart, rooms []RoomVerdict, sums *sums, now Instant, last *lately) Verdict {
	v := Verdict{Rooms: rooms, OnDuty: -1, Ratio: -1, Roster: u.Roster, Unplaced: u.Unplaced, Version: u.Version, AsOf: u.Since, Rules: c.version}
	v.Next = sums.next
	t := tally{counts: sums.counts, census: u.HasCensus, unplaced: int64(u.Unplaced)}
	t.rooms = max(int64(u.TotalRooms), t.listed) - t.blocked
	if u.Roster != nil {
		v.RosterStale = now >= u.Roster.AsOf.Add(rosterLasts)
	}
	v.staffing(u, &t, now)
	v.turnover(u, &t, now)
	if u.Roster != nil {
		if !v.RosterStale {
			v.Next = Soonest(v.Next, u.Roster.AsOf.Add(rosterLasts))
		}
		if t.skillSeen = !v.RosterStale && len(u.Roster.Nurses) > 0; t.skillSeen {
			t.skill = skillOf(u.Roster, rooms)
		}
	}
	v.Required = t.required
	if t.staffed {
		have := Demand(t.nurses) * Nurse //nolint:gosec // a staffing says an int32
		v.Shortfall = max(0, int32((t.required+Nurse-1)/Nurse)-v.OnDuty)
		v.ShortfallFTE = max(0, t.required-have)
		if t.required > 0 {
			v.Ratio = int32(rounded(t.nurses*int64(Nurse), int64(t.required), 100)) //nolint:gosec // at most 6,000 a nurse
		}
	}
	s := lately{of: basis{t, u.Roster, v.RosterStale, u.UnknownLocations}}
	if last != nil && last.judged && last.of == s.of {
		v.Axes, v.Level, v.Driving, v.Quality = last.axes, last.level, last.driving, last.quality
		return v
	}
	var readings [AxisCount]reading
	t.read(&readings)
	v.conclude(&readings)
	if last == nil {
		last = &lately{}
	}
	s.details = t.details(&v, last.details)
	v.Quality = t.quality(u, &v, last.quality)
	s.judged, s.axes, s.level, s.driving, s.quality = true, v.Axes, v.Level, v.Driving, v.Quality
	*last = s
	return v
}

// lately is how a unit stood and what that is made of. Most statements change
// nothing of it.
type lately struct {
	judged  bool
	of      basis
	axes    [AxisCount]AxisVerdict
	level   Level
	driving Axis
	quality []Quality
	details string // the texts of all axes
}

// basis is all that axes and quality are a function of.
type basis struct {
	tally   tally
	roster  *Roster
	stale   bool
	unknown int32
}

// staffing finds the nurses on duty: the last entry that has begun. An entry
// that does not say whether call staff is there keeps what was said before.
func (v *Verdict) staffing(u *UnitChart, t *tally, now Instant) {
	begun := 0
	for i := range u.Staffing {
		s := &u.Staffing[i]
		if s.AsOf > now {
			break
		}
		begun = i + 1
		t.staffed, t.nurses, v.OnDuty = true, int64(s.Nurses), s.Nurses
		if s.Call != Unsaid {
			v.Call = s.Call
		}
	}
	if n := u.rostered(); !t.staffed && n > 0 && !v.RosterStale {
		t.staffed, t.rostered, t.nurses, v.OnDuty = true, true, int64(n), n
	}
	t.call = v.Call == Yes
	for _, plan := range u.Staffing[begun:] {
		// A plan that says what holds already changes nothing.
		if t.rostered || plan.Nurses != v.OnDuty || plan.Call != Unsaid && plan.Call != v.Call {
			v.Next = Soonest(v.Next, plan.AsOf)
			return
		}
	}
}

// rostered returns how many nurses the roster has, if the hospital wants that
// number where none was sent; the charge nurse is not told apart in a roster.
func (u *UnitChart) rostered() int32 {
	if !u.StaffingFromRoster || u.Roster == nil {
		return 0
	}
	return int32(len(u.Roster.Nurses)) //nolint:gosec // at most capRoster
}

// turnover counts the moves of the last two hours.
func (v *Verdict) turnover(u *UnitChart, t *tally, now Instant) {
	from, _ := slices.BinarySearch(u.Moves, now.Add(-turnoverWindow)+1)
	to, _ := slices.BinarySearch(u.Moves, now+1)
	t.moves += int64(to - from)
	if from < to { // the first of them is the next that counts no more
		v.wake(u.Moves[from].Add(turnoverWindow), t.staffed)
	}
	if to < len(u.Moves) {
		v.wake(u.Moves[to], t.staffed)
	}
}

// wake notes an instant of change, if it is one.
func (v *Verdict) wake(at Instant, when bool) {
	if when {
		v.Next = Soonest(v.Next, at)
	}
}

// conclude makes level and driving axis of the readings.
func (v *Verdict) conclude(readings *[AxisCount]reading) {
	var d driver
	for i := range readings {
		r := &readings[i]
		a := &v.Axes[i]
		a.Known, a.Rule = r.known, r.rule
		if !r.known {
			continue
		}
		p := r.pressure()
		a.Level, a.Pressure = r.level, int32(rounded(p.num, p.den, 10)) //nolint:gosec // 0 to 1000
		if a.HasValue = r.measured && !r.infinite; a.HasValue {
			a.Value = rounded(r.num, r.den, 1000)
			if Axis(i) == AxisReserve {
				a.Value = rounded(-r.num, r.den, 1000) // slack, not shortage
			}
		}
		d.see(Axis(i), r.level, p)
	}
	v.Level, v.Driving = d.level, d.axis
}

// driver finds the driving axis among those it sees: the highest level, then the
// highest pressure, then the first.
type driver struct {
	level    Level
	axis     Axis
	pressure fraction
	found    bool
}

func (d *driver) see(a Axis, l Level, p fraction) {
	if !d.found || l > d.level || l == d.level && d.pressure.less(p) {
		*d = driver{l, a, p, true}
	}
}
