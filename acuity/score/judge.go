package score

import (
	"slices"
	"sort"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// rosterLasts is how long a roster counts as current. The value is a default of this project.
const rosterLasts = 12 * time.Hour

// TurnoverWindow is the period in which moves count toward the flow axis.
const TurnoverWindow = 2 * time.Hour

// Judge evaluates a chart at an instant, using the catalogue with the hospital's rules. The verdict shares the chart's
// roster, so the chart must not change while the verdict is in use.
func Judge(c *acuity.Chart, now acuity.Instant) Verdict {
	cat, evidence := c.Unit.Catalogue(), 0
	for i := range c.Rooms {
		evidence += c.Rooms[i].CountEvidence()
	}
	out := allocateMemory(evidence)
	rooms := make([]RoomVerdict, len(c.Rooms))
	for i := range c.Rooms {
		judgeRoomInto(cat, &c.Rooms[i], now, &out, &rooms[i])
	}
	return judgeUnit(cat, &c.Unit, rooms, now)
}

// JudgeUnit evaluates a unit at the instant now from the verdicts of its rooms, which are ascending by ID and become
// part of the result. The verdict of each room must still be valid at that instant; see [RoomVerdict.Until].
//
// A caller that evaluates a unit repeatedly need not evaluate every room each time: unless the room's chart changes,
// its verdict is valid until [RoomVerdict.Until], whatever happens in other rooms.
func JudgeUnit(u *acuity.UnitChart, rooms []RoomVerdict, now acuity.Instant) Verdict {
	return judgeUnit(u.Catalogue(), u, rooms, now)
}

// judgeUnit is JudgeUnit with the given catalogue.
func judgeUnit(c *catalogue.Catalogue, u *acuity.UnitChart, rooms []RoomVerdict, now acuity.Instant) Verdict {
	v, sums := Verdict{Rooms: rooms}, SumRooms(rooms)
	UpdateVerdict(c, &v, u, &sums, now)
	return v
}

// UpdateVerdict computes the verdict of a unit from the totals over v.Rooms, which the caller passes as sums.
func UpdateVerdict(c *catalogue.Catalogue, v *Verdict, u *acuity.UnitChart, sums *UnitSums, now acuity.Instant) {
	v.Version, v.AsOf, v.Run, v.Rules = u.Version, u.Since, u.Run, c.Version()
	v.OnDuty, v.Call, v.Ratio, v.Shortfall, v.ShortfallFTE = -1, acuity.Unsaid, -1, 0, 0
	v.Roster, v.RosterStale, v.Unplaced = u.Roster, false, u.Unplaced
	v.Next = sums.next
	t := axisInput{roomCounts: sums.roomCounts, census: u.HasCensus, unplaced: int64(u.Unplaced)}
	t.rooms = max(int64(u.TotalRooms), t.listed) - t.blocked
	if u.Roster != nil {
		v.RosterStale = now >= u.Roster.AsOf.Add(rosterLasts)
	}
	v.findStaffing(u, &t, now)
	v.countTurnover(u, &t, now)
	if u.Roster != nil {
		if !v.RosterStale {
			v.Next = codes.Soonest(v.Next, u.Roster.AsOf.Add(rosterLasts))
		}
		if t.skillKnown = !v.RosterStale && len(u.Roster.Nurses) > 0; t.skillKnown {
			t.skill = readSkill(u.Roster, v.Rooms)
		}
	}
	v.Required = t.required
	if t.staffed {
		have := catalogue.Demand(t.nurses) * catalogue.Nurse //nolint:gosec // widened from an int32
		v.Shortfall = max(0, int32((t.required+catalogue.Nurse-1)/catalogue.Nurse)-v.OnDuty)
		v.ShortfallFTE = max(0, t.required-have)
		if t.required > 0 {
			v.Ratio = int32(rounded(t.nurses*int64(catalogue.Nurse), int64(t.required), 100)) //nolint:gosec // at most 6,000 per nurse
		}
	}
	var readings [acuity.AxisCount]axisReading
	t.readAxes(&readings)
	v.conclude(&t, &readings)
	v.Quality = t.quality(u, v)
}

// ShowsSame reports whether two verdicts show the same values for the unit. It compares the number of rooms, but not
// the rooms.
func (v *Verdict) ShowsSame(o *Verdict) bool {
	return v.Level == o.Level && v.Driving == o.Driving && v.Axes == o.Axes && v.Quality == o.Quality &&
		v.Required == o.Required && v.Shortfall == o.Shortfall && v.ShortfallFTE == o.ShortfallFTE &&
		v.OnDuty == o.OnDuty && v.Call == o.Call && v.Ratio == o.Ratio && v.Unplaced == o.Unplaced &&
		v.Roster == o.Roster && v.RosterStale == o.RosterStale &&
		v.Rules == o.Rules && v.Next == o.Next && len(v.Rooms) == len(o.Rooms)
}

// findStaffing determines the number of nurses on duty from the latest staffing record that has begun or, if there is
// none, from a current roster that the hospital uses as staffing. A record that does not mention call staff keeps the
// previous call state. findStaffing also takes the next planned change of the staffing into account in v.Next.
func (v *Verdict) findStaffing(u *acuity.UnitChart, t *axisInput, now acuity.Instant) {
	begun := 0
	for i := range u.Staffing {
		s := &u.Staffing[i]
		if s.AsOf > now {
			break
		}
		begun = i + 1
		t.staffed, t.nurses, v.OnDuty = true, int64(s.Nurses), s.Nurses
		if s.Call != acuity.Unsaid {
			v.Call = s.Call
		}
	}
	if n := countRostered(u); !t.staffed && n > 0 && !v.RosterStale {
		t.staffed, t.rostered, t.nurses, v.OnDuty = true, true, int64(n), n
	}
	t.call = v.Call == acuity.Yes
	for _, plan := range u.Staffing[begun:] {
		// A plan equal to the current staffing changes nothing.
		if t.rostered || plan.Nurses != v.OnDuty || plan.Call != acuity.Unsaid && plan.Call != v.Call {
			v.Next = codes.Soonest(v.Next, plan.AsOf)
			return
		}
	}
}

// countRostered returns the number of nurses in the roster if the hospital uses the roster in place of missing
// staffing records, and otherwise 0. The number may include the charge nurse, whom a roster does not identify.
func countRostered(u *acuity.UnitChart) int32 {
	if !u.StaffingFromRoster || u.Roster == nil {
		return 0
	}
	return int32(len(u.Roster.Nurses)) //nolint:gosec // at most capRoster
}

// countTurnover counts the moves of the last two hours. If the staffing is known, it also takes the next change of
// this count into account in v.Next.
func (v *Verdict) countTurnover(u *acuity.UnitChart, t *axisInput, now acuity.Instant) {
	from, _ := slices.BinarySearch(u.Moves, now.Add(-TurnoverWindow)+1)
	to, _ := slices.BinarySearch(u.Moves, now+1)
	t.moves += int64(to - from)
	if !t.staffed {
		return
	}
	if from < to { // the oldest move that counts is the next to expire
		v.Next = codes.Soonest(v.Next, u.Moves[from].Add(TurnoverWindow))
	}
	if to < len(u.Moves) {
		v.Next = codes.Soonest(v.Next, u.Moves[to])
	}
}

// conclude derives the level and the driving axis from the axis readings.
func (v *Verdict) conclude(t *axisInput, readings *[acuity.AxisCount]axisReading) {
	var d driver
	for i := range readings {
		r := &readings[i]
		a := &v.Axes[i]
		*a = AxisVerdict{Known: r.known, Rule: r.rule}
		if !r.known {
			continue
		}
		a.numbers = t.numbers(acuity.Axis(i))
		p := r.pressure()
		a.Level, a.Pressure = r.level, int32(rounded(p.num, p.den, 10)) //nolint:gosec // 0 to 1000
		if a.HasValue = r.measured && !r.infinite; a.HasValue {
			a.Value = rounded(r.num, r.den, 1000)
			if acuity.Axis(i) == acuity.AxisReserve {
				a.Value = rounded(-r.num, r.den, 1000) // the value is the number of spare nurses, not the shortage
			}
		}
		d.consider(acuity.Axis(i), r.level, p)
	}
	v.Level, v.Driving = d.level, d.axis
}

// driver finds the driving axis, which is the one with the highest level. Ties are broken by the highest pressure,
// then by the lowest axis number.
type driver struct {
	level    acuity.Level
	axis     acuity.Axis
	pressure fraction
	found    bool
}

func (d *driver) consider(a acuity.Axis, l acuity.Level, p fraction) {
	if !d.found || l > d.level || l == d.level && d.pressure.less(p) {
		*d = driver{l, a, p, true}
	}
}

// loadUnit is the load that equals one nurse. It is chosen so that a room's demand divides evenly among up to twelve
// nurses.
const loadUnit = int64(catalogue.Nurse) * 27_720

// skill is the summary of a roster's skill mix.
type skill struct {
	nurses, novices, experts int64
	rated                    int64 // nurses with a known skill level
	load                     int64 // largest load of any nurse: the demand of her rooms, each divided among its nurses; one nurse is loadUnit
	alone                    bool  // whether a room of class 4 is assigned only novices
}

// readSkill summarizes the skill mix of a roster. The demand of a room is divided among its assigned nurses. Rooms
// that the unit does not have are ignored.
func readSkill(roster *acuity.Roster, rooms []RoomVerdict) skill {
	var s skill
	var store [128]uint8
	sharing, trained := store[:64], store[64:] // by room: sharing counts all nurses, trained counts the nurses who are not novices
	if len(rooms) > 64 {
		sharing, trained = make([]uint8, len(rooms)), make([]uint8, len(rooms))
	}
	s.nurses = int64(len(roster.Nurses))
	for i := range roster.Nurses {
		n := &roster.Nurses[i]
		switch {
		case n.Skill == 0:
			s.novices++
		case n.Skill >= 2:
			s.experts++
		}
		if n.Skill >= 0 {
			s.rated++
		}
		for j, id := range n.Rooms {
			at, ok := findRoom(rooms, id)
			if !ok || slices.Contains(n.Rooms[:j], id) || sharing[at] == 255 {
				continue
			}
			sharing[at]++
			if n.Skill != 0 {
				trained[at]++
			}
		}
	}
	for i := range roster.Nurses {
		load, list := int64(0), roster.Nurses[i].Rooms
		for j, id := range list {
			if at, ok := findRoom(rooms, id); ok && !slices.Contains(list[:j], id) {
				share := int64(rooms[at].Demand) * (loadUnit / int64(catalogue.Nurse))
				if sharing[at] > 1 { // division is the most expensive operation here
					share /= int64(sharing[at])
				}
				load += share
			}
		}
		s.load = max(s.load, load)
	}
	for i := range rooms {
		s.alone = s.alone || rooms[i].STAT && sharing[i] > 0 && trained[i] == 0
	}
	return s
}

// findRoom returns the index of a room by its id.
func findRoom(rooms []RoomVerdict, id int32) (int, bool) {
	at := sort.Search(len(rooms), func(i int) bool { return rooms[i].ID >= id })
	return at, at < len(rooms) && rooms[at].ID == id
}
