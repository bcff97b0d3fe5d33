package readapi

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"svc/acuity"
	"svc/internal/api"
)

type server struct {
	charts Charts
	shell  *api.Shell

	mu   sync.RWMutex
	kept map[string]*unit // by hospital
	held int64            // bytes of all that is kept
	most int64            // bound of held, unless one alone is larger
}

// maxKept is the bytes of judgments that are kept: those of some thousand usual
// units, or of a few hundred of the largest.
const maxKept = 256 << 20

// unit is a hospital and the newest judgment of it. Whoever has the turn reads
// and judges; those who need the same wait for it instead of doing it, too.
type unit struct {
	turn chan struct{} // holds one while somebody has it
	last atomic.Pointer[judgment]
	size int64 // that counts in the server's held, under its mu
}

func newUnit() *unit { return &unit{turn: make(chan struct{}, 1)} }

// current returns the judgment of the hospital at now, the kept one if it still
// holds.
func (s *server) current(ctx context.Context, hospital string, now acuity.Instant) (*judgment, error) {
	seen, err := s.charts.Token(ctx, hospital)
	if err != nil {
		return nil, err //nolint:wrapcheck // the port's errors are ours
	}
	u := s.unit(hospital)
	before := u.last.Load()
	if before != nil && before.token == seen && before.holds(max(now, before.head.Clock)) {
		return before, nil
	}
	select {
	case u.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a judgment: %w", ctx.Err())
	}
	defer func() { <-u.turn }()

	last := u.last.Load()
	var c *chart
	switch {
	case last == nil, last.token != seen && (last == before || !last.token.after(seen)):
		state, err := s.charts.Read(ctx, hospital)
		if err != nil {
			return nil, err //nolint:wrapcheck // the port's errors are ours
		}
		var known *chart
		if last != nil {
			known = last.chart
		}
		if c, err = decode(s.charts, &state, known); err != nil {
			return nil, err
		}
	case last.holds(max(now, last.head.Clock)):
		return last, nil
	default:
		c = last.chart
	}
	j := judge(c, last, now)
	u.last.Store(j)
	s.keep(hospital, u, j.size)
	return j, nil
}

// after reports whether a state came after another of the same generation.
func (t Token) after(other Token) bool {
	return t.Generation == other.Generation && t.Version > other.Version
}

// unit returns that of a hospital, made if there is none.
func (s *server) unit(hospital string) *unit {
	s.mu.RLock()
	u := s.kept[hospital]
	s.mu.RUnlock()
	if u != nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.kept[hospital]; u == nil {
		u = newUnit()
		s.kept[hospital] = u
	}
	return u
}

// keep keeps a unit whose judgment takes so many bytes. If that is too much, any
// others go: it costs their next readers one judgment. The one kept before may be
// another, if this one had gone meanwhile.
func (s *server) keep(hospital string, u *unit, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.kept[hospital]; old != nil {
		s.held -= old.size
	}
	s.kept[hospital], u.size = u, size
	s.held += size
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
