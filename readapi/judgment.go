package readapi

import (
	"context"
	"net/http"
	"sync"

	"svc/acuity"
	"svc/internal/api"
)

type server struct {
	charts Charts
	shell  *api.Shell

	mu   sync.RWMutex
	kept map[string]*judgment // by hospital
	held int64                // bytes of all that is kept
	most int64                // bound of held, unless one alone is larger
}

// maxKept is the bytes of judgments that are kept: those of some thousand usual
// units, or of a few hundred of the largest.
const maxKept = 256 << 20

// judgment is the verdict of one state of one hospital, from an instant on and
// until time alone changes it. It is not changed once it is made.
type judgment struct {
	token Token
	chart *acuity.Chart
	from  acuity.Instant
	until acuity.Instant // 0: never
	size  int64          // bytes, about

	unit, level func() rendered // made at most once, when first asked for
}

// holds reports whether the judgment is that of an instant, too.
func (j *judgment) holds(now acuity.Instant) bool {
	return now >= j.from && (j.until == 0 || now < j.until)
}

// judgment returns that of the hospital at now, the kept one if it still holds.
func (s *server) judgment(ctx context.Context, hospital string, now acuity.Instant) (*judgment, error) {
	s.mu.RLock()
	kept := s.kept[hospital]
	s.mu.RUnlock()
	var have Token
	if kept != nil {
		have = kept.token
	}
	chart, token, err := s.charts.Chart(ctx, hospital, have)
	if err != nil {
		return nil, err //nolint:wrapcheck // the port's errors are ours
	}
	if chart == nil {
		chart = kept.chart
		now = max(now, chart.Unit.Clock)
		if kept.holds(now) {
			return kept, nil
		}
	}
	j := judge(chart, token, now)
	s.keep(hospital, j)
	return j, nil
}

// keep keeps the judgment instead of the one before. If that is too much, any
// others go: it costs their next readers one judgment.
func (s *server) keep(hospital string, j *judgment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.kept[hospital]; old != nil {
		s.held -= old.size
	}
	s.kept[hospital] = j
	s.held += j.size
	for other, k := range s.kept {
		if s.held <= s.most {
			return
		}
		if other != hospital {
			delete(s.kept, other)
			s.held -= k.size
		}
	}
}

// sizeOf is about what a judgment takes with its chart, verdict and answers.
func sizeOf(c *acuity.Chart) int64 {
	size := int64(8 << 10)
	for i := range c.Rooms {
		size += 1 << 10
		for j := range c.Rooms[i].Patients {
			size += 768 * int64(len(c.Rooms[i].Patients[j].Evidence))
		}
	}
	if c.Unit.Roster != nil {
		size += 512 * int64(len(c.Unit.Roster.Nurses))
	}
	return size
}

// judge finds the verdict at now, by way of every instant since the chart was
// written at which time alone changed it: asOf is the last of them. Our clock
// may run behind the one that wrote the chart; then it is judged as written.
func judge(chart *acuity.Chart, token Token, now acuity.Instant) *judgment {
	now = max(now, chart.Unit.Clock)
	from := chart.Unit.Clock
	v := chart.Verdict(from)
	for v.Next > from && v.Next <= now {
		from = v.Next
		v = chart.Verdict(from)
		v.AsOf = from
	}
	return &judgment{
		token: token, chart: chart, from: from, until: v.Next, size: sizeOf(chart),
		unit:  sync.OnceValue(func() rendered { return tagged(UnitState(&v)) }),
		level: sync.OnceValue(func() rendered { return tagged(levelOf(&v).append(nil)) }),
	}
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
	return unitStateOf(v, rooms).append(make([]byte, 0, len(all)+unitBytes))
}

// About what the parts of an answer take, so that it is allocated once.
const (
	unitBytes   = 4 << 10
	roomBytes   = 256
	factorBytes = 320
)

// answer sends what was rendered, or 304 if the client has it.
func answer(w http.ResponseWriter, r *http.Request, get func() rendered) {
	body := get()
	h := w.Header()
	h["Etag"] = body.etag
	h["Cache-Control"] = privateNoCache
	h["Vary"] = byKey
	if matches(r.Header["If-None-Match"], body.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	api.OK(w, r, body.data)
}

// Shared header values, so that an answer does not allocate them anew.
var (
	privateNoCache = []string{"private, no-cache"}
	byKey          = []string{"Authorization"}
)
