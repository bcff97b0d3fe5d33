package replay

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"svc/acuity"
)

// leastDiff is the shortest difference that is told: timers fire by the wall
// clock of the processor, which is not that of the log.
const leastDiff = acuity.Instant(1000)

// side is one of the two that are compared.
type side uint8

const (
	recordedSide side = iota
	replayedSide
)

// step is what one change did to what is compared.
type step struct {
	at    acuity.Instant
	side  side
	level acuity.Level
	axes  *[acuity.AxisCount]axisLevel // nil: as they were, or not known
	rooms []roomColor
}

type roomColor struct {
	id    int32
	color acuity.Color
}

// axisLevel is a level of an axis, 0 while it is unknown.
type axisLevel uint8

// stepOf takes what is compared from a change, and from the unit that made it.
func stepOf(u *acuity.Unit, c *acuity.Change, s side) step {
	out := step{at: c.AppliedAt, side: s, level: c.Level}
	for i := range c.Effects {
		if e := &c.Effects[i]; e.Kind == acuity.RoomRescored {
			out.rooms = append(out.rooms, roomColor{e.RoomID, e.Color})
		}
	}
	if u != nil {
		var axes [acuity.AxisCount]axisLevel
		for i, a := range u.Verdict().Axes {
			if a.Known {
				axes[i] = axisLevel(a.Level) + 1
			}
		}
		out.axes = &axes
	}
	return out
}

// subject is what is compared.
type subject struct {
	kind uint8
	id   int32
}

// standing is how one subject stands on both sides.
type standing struct {
	now, worst [2]uint8
	since      acuity.Instant
	apart      acuity.Instant // milliseconds of the hour in which the sides differed
}

// timeline compares two sides hour by hour.
type timeline struct {
	hospital string
	from, to acuity.Instant // of what is told; 0: all there is
	told     []step         // recorded, not yet taken
	held     acuity.Instant
	each     func(*DiffRow) error
	cells    map[subject]*standing
	hour     acuity.Instant // that is open; 0: none
	summary  DiffSummary
	err      error
}

const anHour = acuity.Instant(60 * 60 * 1000)

// take takes a step of a fold, after what was recorded up to then.
func (t *timeline) take(s *step) {
	for len(t.told) > 0 && t.told[0].at <= s.at {
		t.set(&t.told[0], false)
		t.told = t.told[1:]
	}
	t.set(s, s.side == recordedSide && s.at >= t.held)
}

// set moves a side on; axesOnly: level and rooms of it are as recorded.
func (t *timeline) set(s *step, axesOnly bool) {
	t.roll(s.at)
	if !axesOnly {
		t.put(subject{ofLevel, 0}, s.side, uint8(s.level), s.at)
		for _, r := range s.rooms {
			t.put(subject{ofRoom, r.id}, s.side, uint8(r.color), s.at)
		}
	}
	if s.axes != nil {
		for i, level := range s.axes {
			t.put(subject{ofAxis, int32(i)}, s.side, uint8(level), s.at)
		}
	}
}

func (t *timeline) put(of subject, s side, value uint8, at acuity.Instant) {
	c := t.cells[of]
	if c == nil {
		c = &standing{since: at}
		t.cells[of] = c
	}
	if c.now[s] == value {
		return
	}
	c.elapse(at)
	c.now[s] = value
	c.worst[s] = max(c.worst[s], value)
}

// elapse counts the time up to an instant.
func (c *standing) elapse(to acuity.Instant) {
	if to > c.since {
		if c.now[0] != c.now[1] {
			c.apart += to - c.since
		}
		c.since = to
	}
}

// roll closes the hours that end up to an instant.
func (t *timeline) roll(at acuity.Instant) {
	hour := at - at%anHour
	if t.hour == 0 {
		t.hour = hour
	}
	for t.hour < hour {
		t.close(t.hour + anHour)
		t.hour += anHour
	}
}

// close tells of the hour that is open, up to an instant, and begins another.
func (t *timeline) close(end acuity.Instant) {
	any := false
	for _, of := range slices.SortedFunc(maps.Keys(t.cells), func(a, b subject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	}) {
		c := t.cells[of]
		c.elapse(end)
		if c.apart >= leastDiff && end > t.from && t.err == nil {
			row := of.row(t.hospital, t.hour, c)
			t.err = t.each(&row)
			t.summary.Rows++
			if any = true; of.kind == ofLevel {
				t.summary.LevelMinutes += row.Minutes
			}
		}
		c.apart, c.worst = 0, c.now
	}
	if any {
		t.summary.Hours++
	}
}

// The subjects, in the order in which they are told.
const (
	ofLevel = iota
	ofAxis
	ofRoom
)

var subjectWords = [...]string{"level", "axis", "room"}

func (s subject) row(hospital string, hour acuity.Instant, c *standing) DiffRow {
	row := DiffRow{Hospital: hospital, Hour: Moment(hour), Subject: subjectWords[s.kind], Minutes: float64(c.apart/1000) / 60}
	name := func(v uint8) string { return acuity.Level(v).String() }
	switch row.ID = "unit"; s.kind {
	case ofAxis:
		row.ID = acuity.Axis(s.id).String() //nolint:gosec // seven
		name = func(v uint8) string {
			if v == 0 {
				return "unknown"
			}
			return acuity.Level(v - 1).String()
		}
	case ofRoom:
		row.ID = strconv.Itoa(int(s.id))
		name = func(v uint8) string { return acuity.Color(v).String() }
	}
	row.Recorded, row.Replayed = name(c.worst[recordedSide]), name(c.worst[replayedSide])
	return row
}

// finish closes the last hour, at the end that was asked for or with the last
// change.
func (t *timeline) finish() {
	if t.hour == 0 {
		return
	}
	if t.to != 0 {
		t.roll(t.to)
		if t.to > t.hour {
			t.close(t.to)
		}
		return
	}
	end := t.hour
	for _, c := range t.cells {
		end = max(end, c.since)
	}
	t.close(end)
}
