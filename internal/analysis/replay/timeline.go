package replay

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"svc/acuity"
	"svc/acuity/hospital"
	"svc/internal/analysis/tables"
)

// leastDiff is the shortest difference that is reported, in milliseconds. Shorter differences occur because the
// processor's timers fire by the clock of its machine, while the times in the log come from other clocks.
const leastDiff = acuity.Instant(1000)

// side identifies the recorded or the replayed verdicts.
type side uint8

const (
	recordedSide side = iota
	replayedSide
)

// step is the effect of one change on the compared values.
type step struct {
	at    acuity.Instant
	side  side
	level acuity.Level
	axes  *[acuity.AxisCount]axisLevel // nil: unchanged or unknown
	rooms []roomColor
}

type roomColor struct {
	id    int32
	color acuity.Color
}

// axisLevel is the level of an axis plus 1; 0 means unknown.
type axisLevel uint8

// stepOf returns the step of a change: its level, its room colors and, unless u is nil, the current axes of the unit
// u.
func stepOf(u *hospital.State, c *acuity.Change, s side) step {
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

// subject is what a difference is about: the unit's level, an axis or a room.
type subject struct {
	kind uint8
	id   int32
}

// standing holds, for one subject, the current value and the worst value of the open hour on both sides.
type standing struct {
	now, worst [2]uint8
	since      acuity.Instant
	apart      acuity.Instant // how long the two sides have differed in the open hour, in milliseconds
}

// timeline compares two sides hour by hour.
type timeline struct {
	hospital string
	from, to acuity.Instant // window of the reported hours; 0: unbounded
	recorded []step         // recorded steps that are not applied yet
	held     acuity.Instant
	each     func(*DiffRow) error
	cells    map[subject]*standing
	hour     acuity.Instant // the open hour; 0: none
	summary  DiffSummary
	err      error
}

const anHour = acuity.Instant(60 * 60 * 1000)

// addStep applies the recorded steps up to the instant of s, and then s itself, which was computed by a refold.
func (t *timeline) addStep(s *step) {
	for len(t.recorded) > 0 && t.recorded[0].at <= s.at {
		t.applyStep(&t.recorded[0], false)
		t.recorded = t.recorded[1:]
	}
	if t.summary.First == 0 {
		t.summary.First = s.at
	}
	t.applyStep(s, s.side == recordedSide && s.at >= t.held)
}

// applyStep applies a step to its side of the comparison. If axesOnly is true, it applies only the axes, because the
// level and the room colors of that side come from the recorded changes.
func (t *timeline) applyStep(s *step, axesOnly bool) {
	t.closeHours(s.at)
	if !axesOnly {
		t.setValue(subject{ofLevel, 0}, s.side, uint8(s.level), s.at)
		for _, r := range s.rooms {
			t.setValue(subject{ofRoom, r.id}, s.side, uint8(r.color), s.at)
		}
	}
	if s.axes != nil {
		for i, level := range s.axes {
			t.setValue(subject{ofAxis, int32(i)}, s.side, uint8(level), s.at)
		}
	}
}

func (t *timeline) setValue(of subject, s side, value uint8, at acuity.Instant) {
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

// elapse advances the subject to an instant. If the values of the two sides have differed since the previous instant,
// elapse adds the time between both instants to c.apart.
func (c *standing) elapse(to acuity.Instant) {
	if to > c.since {
		if c.now[0] != c.now[1] {
			c.apart += to - c.since
		}
		c.since = to
	}
}

// closeHours closes all hours that end at or before an instant.
func (t *timeline) closeHours(at acuity.Instant) {
	hour := at - at%anHour
	if t.hour == 0 {
		t.hour = hour
	}
	for t.hour < hour {
		t.closeHour(t.hour + anHour)
		t.hour += anHour
	}
}

// closeHour ends the open hour at the given instant, and prepares the subjects for the next hour. If the hour is in
// the window, closeHour writes a row for each subject whose sides differed for at least leastDiff.
func (t *timeline) closeHour(end acuity.Instant) {
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

// Kinds of subjects, in the order of the rows.
const (
	ofLevel = iota
	ofAxis
	ofRoom
)

var subjectWords = [...]string{"level", "axis", "room"}

func (s subject) row(hospital string, hour acuity.Instant, c *standing) DiffRow {
	row := DiffRow{Hospital: hospital, Hour: tables.Moment(hour), Subject: subjectWords[s.kind], Minutes: float64(c.apart/1000) / 60}
	name := func(v uint8) string { return acuity.Level(v).String() }
	switch row.ID = "unit"; s.kind {
	case ofAxis:
		row.ID = acuity.Axis(s.id).String() //nolint:gosec // at most seven axes
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

// finish closes the last hour: at the end of the window or, if the window has no end, at the last change of a value.
func (t *timeline) finish() {
	if t.hour == 0 {
		return
	}
	if t.to != 0 {
		t.closeHours(t.to)
		if t.to > t.hour {
			t.closeHour(t.to)
		}
		return
	}
	end := t.hour
	for _, c := range t.cells {
		end = max(end, c.since)
	}
	t.closeHour(end)
}
