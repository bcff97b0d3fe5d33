package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/internal/stream"
	"svc/schemas"
)

// DiffRow is one hour in which a replay stands otherwise than what was recorded.
type DiffRow struct {
	Hospital string  `parquet:"hospital,dict" json:"hospital" about:"id of the hospital"`
	Hour     Moment  `parquet:"hour,timestamp(millisecond)" json:"hour" about:"the full hour, UTC"`
	Subject  string  `parquet:"subject,dict" json:"subject" about:"level (of the unit), axis or room"`
	ID       string  `parquet:"id,dict" json:"id" about:"of the axis or room; unit for the level"`
	Recorded string  `parquet:"recorded,dict" json:"recorded" about:"the gravest that was recorded in the hour"`
	Replayed string  `parquet:"replayed,dict" json:"replayed" about:"the gravest of the replay"`
	Minutes  float64 `parquet:"minutes" json:"minutes" about:"how long the two differed in the hour"`
}

// DiffColumns is the dictionary of a difference.
func DiffColumns() []Column { return dictionary(reflect.TypeFor[DiffRow]()) }

// leastDiff is the shortest difference that is told: timers fire by the wall
// clock of the processor, which is not that of the log.
const leastDiff = acuity.Instant(1000)

// Diff is a replay held against what was recorded.
type Diff struct {
	Rerun
	// Changes are the verdicts. Level and colours of rooms are taken from them
	// where they are still held; the axes, which no change holds, and what is
	// compacted away, are those of a replay under the rules of their time.
	Changes Source
}

// DiffSummary is what a difference amounts to.
type DiffSummary struct {
	Hours    int64   `json:"hours"`    // with any difference
	Rows     int64   `json:"rows"`     //
	Held     *Moment `json:"heldFrom"` // from then on levels and colours are as recorded; null: none is held
	LevelMin float64 `json:"levelMinutes"`
}

// Write writes the rows.
func (d *Diff) Write(ctx context.Context, w io.Writer, format Format) (*DiffSummary, error) {
	out, err := newSink[DiffRow](w, format)
	if err != nil {
		return nil, err
	}
	s, err := d.Run(ctx, func(row *DiffRow) error { return out.Write(row) })
	if err != nil {
		return nil, err
	}
	return s, out.Close()
}

// Run hands the rows to each, by hour and subject.
func (d *Diff) Run(ctx context.Context, each func(*DiffRow) error) (*DiffSummary, error) {
	told, held, err := d.recorded(ctx)
	if err != nil {
		return nil, err
	}
	was, err := NewRefold(d.Hospital, nil)
	if err != nil {
		return nil, err
	}
	is := was
	if len(d.Rules) > 0 {
		if is, err = NewRefold(d.Hospital, d.Rules); err != nil {
			return nil, err
		}
	}
	t := &timeline{d: d, told: told, held: held, each: each, cells: map[subject]*standing{}, summary: &DiffSummary{}}
	if held != never {
		at := Moment(held)
		t.summary.Held = &at
	}
	take := func(fold func(*Refold, func(*acuity.Change))) error {
		var made []step
		fold(was, func(c *acuity.Change) { made = append(made, stepOf(was.unit, c, recordedSide)) })
		if is == was {
			for i := range made {
				replayed := made[i]
				replayed.side = replayedSide
				made = append(made, replayed)
			}
		} else {
			fold(is, func(c *acuity.Change) { made = append(made, stepOf(is.unit, c, replayedSide)) })
		}
		slices.SortStableFunc(made, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		for i := range made {
			t.take(&made[i])
		}
		return t.err
	}
	if err := d.inputs(ctx, func(in *Input) error {
		return take(func(f *Refold, tell func(*acuity.Change)) { f.Take(in, tell) })
	}); err != nil {
		return nil, err
	}
	if !d.To.IsZero() {
		if err := take(func(f *Refold, tell func(*acuity.Change)) { f.advance(acuity.At(d.To)-1, tell) }); err != nil {
			return nil, err
		}
	}
	t.finish()
	return t.summary, t.err
}

const never = acuity.Instant(1<<63 - 1)

// recorded reads the effects of the changes that are held, and from when on they
// are held without a gap.
func (d *Diff) recorded(ctx context.Context) (told []step, held acuity.Instant, err error) {
	if d.Changes.Read == nil {
		return nil, never, nil
	}
	spans, err := d.Changes.Spans(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, 0, err
	}
	held, version := never, int64(0)
	err = d.Changes.Read(ctx, spans[schemas.Partition([]byte(d.Hospital), int32(len(spans)))], func(r stream.Record) error { //nolint:gosec // Kafka counts them so
		if string(r.Key) != d.Hospital {
			return nil
		}
		c, fault := schemas.DecodeChange(r.Value)
		if fault != nil || c.Version <= version {
			return nil //nolint:nilerr // svc verify names it; or a copy that a checkpoint wrote
		}
		if c.Version != version+1 || held == never {
			held, told = c.AppliedAt, told[:0]
			if c.Version == 1 {
				held = 0
			}
		}
		version = c.Version
		told = append(told, stepOf(nil, c, recordedSide))
		return nil
	})
	return told, held, err
}

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
	d       *Diff
	told    []step // recorded, not yet taken
	held    acuity.Instant
	each    func(*DiffRow) error
	cells   map[subject]*standing
	hour    acuity.Instant // that is open; 0: none
	summary *DiffSummary
	err     error
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
	begin := acuity.At(t.d.From)
	any := false
	for _, of := range slices.SortedFunc(maps.Keys(t.cells), func(a, b subject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	}) {
		c := t.cells[of]
		c.elapse(end)
		if c.apart >= leastDiff && end > begin && t.err == nil {
			row := of.row(t.d.Hospital, t.hour, c)
			t.err = t.each(&row)
			t.summary.Rows++
			if any = true; of.kind == ofLevel {
				t.summary.LevelMin += row.Minutes
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
	if to := acuity.At(t.d.To); !t.d.To.IsZero() {
		t.roll(to)
		if to > t.hour {
			t.close(to)
		}
		return
	}
	end := t.hour
	for _, c := range t.cells {
		end = max(end, c.since)
	}
	t.close(end)
}

// String is the line that is printed.
func (s *DiffSummary) String() string {
	return fmt.Sprintf("%d rows in %d hours; the level differs for %.0f minutes", s.Rows, s.Hours, s.LevelMin)
}
