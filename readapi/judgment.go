package readapi

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/score"
)

// judgment is the verdict on one state of one hospital, with the interval during which it is valid. A judgment is
// immutable.
type judgment struct {
	*chart
	judgedRooms []*judgedRoom // one for each room in the chart
	from        acuity.Instant
	until       acuity.Instant // 0: valid forever
	size        int64          // approximate size in bytes

	verdict *score.Verdict // verdict as of the start of the interval

	unit, level func() *rendered // each is rendered at most once, when first requested
}

// holds reports whether the judgment is valid at the instant now.
func (j *judgment) holds(now acuity.Instant) bool { return holds(j.from, j.until, now) }

// holds reports whether now is in [from, until). An until of 0 means forever.
func holds(from, until, now acuity.Instant) bool {
	return now >= from && (until == 0 || now < until)
}

// judge computes the verdict at the instant now. It evaluates the chart as of the time at which the chart was
// written, and then at each later instant at which a timer changes the verdict. If a timer has changed the verdict,
// the AsOf of the verdict is the last such instant. If now is before the chart was written, because the local clock
// is slow, the verdict is as of the time of writing.
//
// before is an earlier judgment or nil. The new judgment reuses the verdicts of its unchanged rooms. If before has
// the same chart, the evaluation continues from before.
func judge(c *chart, before *judgment, now acuity.Instant) *judgment {
	now = max(now, c.head.Clock)
	j := &judgment{chart: c, from: c.head.Clock}
	j.judgedRooms = c.roomsAfter(before)
	if before != nil && before.chart == c && before.from <= now {
		j.from = before.from // the chart is unchanged, so earlier instants need not be evaluated again
	}
	rooms := make([]score.RoomVerdict, len(j.judgedRooms))
	v := j.judgeUnit(rooms, j.from)
	if before != nil && j.from == before.from && before.chart == c {
		v.Run = before.verdict.Run
	}
	for v.Next > j.from && v.Next <= now {
		j.from = v.Next
		last := v
		v = j.judgeUnit(rooms, j.from)
		if v.Run = last.Run; v.Level != last.Level {
			v.Run = acuity.LevelRun{Since: j.from, Prior: last.Level, HasPrior: true}
		}
	}
	if j.from != c.head.Clock {
		v.AsOf = j.from
	}
	j.until, j.size, j.verdict = v.Next, j.bytes(), &v
	j.unit = sync.OnceValue(func() *rendered { return newRendered(j.pieces(&v)...) })
	j.level = sync.OnceValue(func() *rendered { return newRendered(encode(levelOf(&v))) })
	return j
}

// judgeUnit evaluates the unit at an instant. It evaluates only the rooms whose verdict is no longer valid.
func (j *judgment) judgeUnit(rooms []score.RoomVerdict, at acuity.Instant) score.Verdict {
	for i, p := range j.judgedRooms {
		if !holds(p.from, p.until, at) {
			p = p.judgeRoom(j.rules, at)
			j.judgedRooms[i] = p
		}
		rooms[i] = p.verdict
	}
	return score.JudgeUnit(&j.head, rooms, at)
}

// pieces returns the data of a unit-state response as consecutive parts.
func (j *judgment) pieces(v *score.Verdict) [][]byte {
	rooms := make([]raw, len(j.judgedRooms))
	for i, p := range j.judgedRooms {
		rooms[i] = p.json()
	}
	return unitStateOf(v, rooms).pieces()
}

// bytes estimates the memory that the judgment uses, with its chart, verdict and responses.
func (j *judgment) bytes() int64 {
	size := int64(8 << 10)
	for _, p := range j.judgedRooms {
		size += 2<<10 + int64(len(p.encoded))
		for i := range p.chart.Patients {
			size += 1 << 10 * int64(len(p.chart.Patients[i].Evidence))
		}
	}
	if j.head.Roster != nil {
		size += 512 * int64(len(j.head.Roster.Nurses))
	}
	return size
}

// chart is one decoded state of one hospital from the view.
type chart struct {
	token Token
	head  acuity.UnitChart
	rules *catalogue.Catalogue // the rules for the verdict
	rooms []*roomChart         // in order of id
}

// whole returns the whole chart as one value, which shares the memory of c.
func (c *chart) whole(hospital string) *acuity.Chart {
	whole := &acuity.Chart{Hospital: hospital, Unit: c.head, Rooms: make([]acuity.RoomChart, len(c.rooms))}
	for i, room := range c.rooms {
		whole.Rooms[i] = room.chart
	}
	return whole
}

// roomChart is the chart of a room. Successive states share the charts of unchanged rooms.
type roomChart struct {
	id      int32
	encoded string
	chart   acuity.RoomChart
}

// compare compares the room's id with the given one.
func (s *roomChart) compare(id int32) int { return cmp.Compare(s.id, id) }

// decode decodes a state. before contains the rooms of the previous state; a room that is equal to its previous
// version is not decoded again.
func decode(charts Charts, state *State, before []*roomChart) (*chart, error) {
	c := &chart{token: state.Token, rooms: make([]*roomChart, 0, max(len(state.Rooms), len(before)))}
	if err := charts.DecodeUnit(state.Unit, &c.head); err != nil {
		return nil, err //nolint:wrapcheck // the interface returns this package's errors
	}
	c.rules = c.head.Catalogue()
	for _, r := range state.Rooms {
		if at, known := slices.BinarySearchFunc(before, r.ID, (*roomChart).compare); known && before[at].encoded == r.Chart {
			c.rooms = append(c.rooms, before[at])
			continue
		}
		s := &roomChart{id: r.ID, encoded: r.Chart}
		if err := charts.DecodeRoom(r.Chart, &s.chart); err != nil {
			return nil, err //nolint:wrapcheck // the interface returns this package's errors
		}
		c.rooms = append(c.rooms, s)
	}
	if !state.Partial {
		return c, nil
	}
	for _, s := range before {
		if !slices.Contains(state.Gone, s.id) && !slices.ContainsFunc(state.Rooms, func(r Room) bool { return r.ID == s.id }) {
			c.rooms = append(c.rooms, s)
		}
	}
	slices.SortFunc(c.rooms, func(a, b *roomChart) int { return a.compare(b.id) })
	return c, nil
}

// judgedRoom is the verdict on a room with the interval during which it is valid. Successive judgments share the
// verdicts of unchanged rooms.
type judgedRoom struct {
	*roomChart
	verdict     score.RoomVerdict
	from, until acuity.Instant // until 0: forever

	json func() raw // the room in a response
}

// unjudged is the value of judgedRoom.from for a room without a verdict.
const unjudged = acuity.Instant(1<<63 - 1)

// roomsAfter returns each room with its verdict from an earlier judgment, which may be nil. A room has no verdict if
// its chart or the rules have changed since that judgment.
func (c *chart) roomsAfter(before *judgment) []*judgedRoom {
	judged := make([]*judgedRoom, len(c.rooms))
	var old []*judgedRoom
	if before != nil && before.rules == c.rules {
		old = before.judgedRooms
	}
	for i, s := range c.rooms {
		for len(old) > 0 && old[0].id < s.id {
			old = old[1:]
		}
		if len(old) > 0 && old[0].roomChart == s {
			judged[i] = old[0]
		} else {
			judged[i] = &judgedRoom{roomChart: s, from: unjudged}
		}
	}
	return judged
}

func (s *roomChart) judgeRoom(rules *catalogue.Catalogue, at acuity.Instant) *judgedRoom {
	p := &judgedRoom{roomChart: s, verdict: score.JudgeRoom(rules, &s.chart, at), from: at}
	p.until = p.verdict.Until()
	p.json = sync.OnceValue(func() raw { return encode(roomOf(&p.verdict)) })
	return p
}

// UnitState returns the data of the unit-state response for a verdict, byte for byte as the API sends it.
func UnitState(v *score.Verdict) []byte {
	rooms := make([]raw, len(v.Rooms))
	for i := range v.Rooms {
		rooms[i] = encode(roomOf(&v.Rooms[i]))
	}
	return bytes.Join(unitStateOf(v, rooms).pieces(), nil)
}
