package readapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"svc/acuity"
	"svc/internal/httpapi"
)

// judgment is the verdict of one state of one hospital, from an instant on and
// until time alone changes it. It is not changed once it is made.
type judgment struct {
	*chart
	parts []*judgedRoom // one for each room of the chart, judged
	from  acuity.Instant
	until acuity.Instant // 0: never
	size  int64          // bytes, about

	verdict *acuity.Verdict // at from

	unit, level func() *rendered // made at most once, when first asked for
}

// holds reports whether the judgment is that of an instant, too.
func (j *judgment) holds(now acuity.Instant) bool { return holds(j.from, j.until, now) }

// holds reports whether an instant is from one on and before another; 0: never.
func holds(from, until, now acuity.Instant) bool {
	return now >= from && (until == 0 || now < until)
}

// judge finds the verdict at now, by way of every instant since the chart was
// written at which time alone changed it: asOf is the last of them. Our clock
// may run behind the one that wrote the chart; then it is judged as written.
// The judgment before, nil if there is none, lends what it shares with this one.
func judge(c *chart, before *judgment, now acuity.Instant) *judgment {
	now = max(now, c.head.Clock)
	j := &judgment{chart: c, from: c.head.Clock}
	j.parts = c.roomsAfter(before)
	if before != nil && before.chart == c && before.from <= now {
		j.from = before.from // one of the instants on the way
	}
	rooms := make([]acuity.RoomVerdict, len(j.parts))
	v := j.judged(rooms, j.from)
	for v.Next > j.from && v.Next <= now {
		j.from = v.Next
		v = j.judged(rooms, j.from)
	}
	if j.from != c.head.Clock {
		v.AsOf = j.from
	}
	j.until, j.size, j.verdict = v.Next, j.bytes(), &v
	j.unit = sync.OnceValue(func() *rendered { return tagged(j.pieces(&v)...) })
	j.level = sync.OnceValue(func() *rendered { return tagged(levelOf(&v).append(nil)) })
	return j
}

// judged judges the unit at an instant, and of its rooms those whose verdict is
// of another.
func (j *judgment) judged(rooms []acuity.RoomVerdict, at acuity.Instant) acuity.Verdict {
	for i, p := range j.parts {
		if !holds(p.from, p.until, at) {
			p = p.judged(j.rules, at)
			j.parts[i] = p
		}
		rooms[i] = p.verdict
	}
	return j.head.Verdict(rooms, at)
}

// pieces are the data of a unit-state answer, in order.
func (j *judgment) pieces(v *acuity.Verdict) [][]byte {
	rooms := make([]raw, len(j.parts))
	for i, p := range j.parts {
		rooms[i] = p.written()
	}
	return unitStateOf(v, rooms).pieces()
}

// bytes is about what the judgment takes with its chart, verdict and answers.
func (j *judgment) bytes() int64 {
	size := int64(8 << 10)
	for _, p := range j.parts {
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

// chart is one state of one hospital as the view has it, decoded.
type chart struct {
	token Token
	head  acuity.UnitChart
	rules *acuity.Catalogue // by which it is judged
	rooms []*roomChart      // ascending by id
}

// roomChart is the chart of a room. States share the rooms that are the same.
type roomChart struct {
	id      int32
	encoded string
	chart   acuity.RoomChart
}

// compare orders by id.
func (s *roomChart) compare(id int32) int { return cmp.Compare(s.id, id) }

// decode reads a state; of its rooms only those that are not as before.
func decode(charts Charts, state *State, before []*roomChart) (*chart, error) {
	c := &chart{token: state.Token, rooms: make([]*roomChart, 0, max(len(state.Rooms), len(before)))}
	if err := charts.DecodeUnit(state.Unit, &c.head); err != nil {
		return nil, err //nolint:wrapcheck // the port's errors are ours
	}
	c.rules = c.head.Catalogue()
	for _, r := range state.Rooms {
		if at, known := slices.BinarySearchFunc(before, r.ID, (*roomChart).compare); known && before[at].encoded == r.Chart {
			c.rooms = append(c.rooms, before[at])
			continue
		}
		s := &roomChart{id: r.ID, encoded: r.Chart}
		if err := charts.DecodeRoom(r.Chart, &s.chart); err != nil {
			return nil, err //nolint:wrapcheck // the port's errors are ours
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

// judgedRoom is the verdict on a room. It holds from an instant until time alone
// changes it. Judgments share the rooms that are the same.
type judgedRoom struct {
	*roomChart
	verdict     acuity.RoomVerdict
	from, until acuity.Instant // until 0: never

	once sync.Once
	json raw // see written
}

// unjudged is the from of a room without a verdict.
const unjudged = acuity.Instant(1<<63 - 1)

// roomsAfter returns each room with the verdict of the judgment before, or without
// one if its chart has changed.
func (c *chart) roomsAfter(before *judgment) []*judgedRoom {
	parts := make([]*judgedRoom, len(c.rooms))
	var old []*judgedRoom
	if before != nil && before.rules == c.rules {
		old = before.parts
	}
	for i, s := range c.rooms {
		for len(old) > 0 && old[0].id < s.id {
			old = old[1:]
		}
		if len(old) > 0 && old[0].roomChart == s {
			parts[i] = old[0]
		} else {
			parts[i] = &judgedRoom{roomChart: s, from: unjudged}
		}
	}
	return parts
}

func (s *roomChart) judged(rules *acuity.Catalogue, at acuity.Instant) *judgedRoom {
	p := &judgedRoom{roomChart: s, verdict: rules.RoomVerdict(&s.chart, at), from: at}
	p.until = p.verdict.Until()
	return p
}

// written returns the room as an answer has it.
func (p *judgedRoom) written() raw {
	p.once.Do(func() {
		r := roomOf(&p.verdict)
		p.json = slices.Clip(r.append(make([]byte, 0, roomBytes+factorBytes*len(r.Factors))))
	})
	return p.json
}

// UnitState returns the data of a unit-state answer for a verdict, the same
// bytes that a read answers with.
func UnitState(v *acuity.Verdict) []byte {
	size := 0
	for i := range v.Rooms {
		size += roomBytes + factorBytes*len(v.Rooms[i].Factors)
	}
	rooms := make([]raw, len(v.Rooms))
	all := make([]byte, 0, size)
	for i := range v.Rooms {
		from := len(all)
		r := roomOf(&v.Rooms[i])
		all = r.append(all)
		rooms[i] = all[from:]
	}
	return bytes.Join(unitStateOf(v, rooms).pieces(), nil)
}

// About what the parts of an answer take, so that it is allocated once.
const (
	unitBytes   = 4 << 10
	roomBytes   = 256
	factorBytes = 320
)

// answer sends what was rendered, or 304 if the client has it.
func answer(w http.ResponseWriter, r *http.Request, body *rendered) {
	h := w.Header()
	h["Etag"] = body.etag
	h["Cache-Control"] = privateNoCache
	httpapi.AddVary(h, "Authorization")
	if matches(r.Header["If-None-Match"], body.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.ProtoMajor != 1 { // HTTP/2 may still be sending when it says that it has sent
		httpapi.OK(w, r, body.whole())
		return
	}
	body.lend(func(data json.RawMessage) { httpapi.OK(w, r, data) })
}

// Shared header values, so that an answer does not allocate them anew.
var (
	privateNoCache = []string{"private, no-cache"}
)
