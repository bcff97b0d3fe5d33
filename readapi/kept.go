package readapi

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"svc/acuity"
	"svc/internal/httpapi"
)

type server struct {
	charts Charts
	health Health
	shell  *httpapi.Shell
	site   Site

	forecasts Forecasts

	mu   sync.RWMutex
	kept map[string]*unit // by hospital
	held int64            // bytes of all that is kept
	most int64            // bound of held, unless one alone is larger
}

// maxKept is the bytes of judgments that are kept: those of some thousand usual
// units, or of a few hundred of the largest.
const maxKept = 256 << 20

// unit is a hospital and the newest judgment of it. Whoever has the turn looks
// whether it still holds, for himself and for all who came before he began:
// those who come while he looks wait for the next look, so that nobody is told
// what was so before he asked.
type unit struct {
	turn chan struct{} // holds one while somebody has it
	size int64         // that counts in the server's held, under its mu

	mu   sync.Mutex
	next *look // for those who wait for the turn; nil: nobody does

	// Of whoever has the turn.
	last *judgment
	// moving: the last look found another state than the one before. Then the
	// next reads the state at once and does not ask for its name first: one
	// round trip instead of two.
	moving bool
}

// look is one look at the view, shared by those who wait for it.
type look struct {
	done     chan struct{} // closed when the rest is set
	judgment *judgment
	err      error
}

func newUnit() *unit { return &unit{turn: make(chan struct{}, 1)} }

// current returns the judgment of the hospital at an instant between the call
// and its return, the kept one if it still holds.
func (s *server) current(ctx context.Context, hospital string) (*judgment, error) {
	u := s.unit(hospital)
	select {
	case u.turn <- struct{}{}:
		return s.look(ctx, hospital, u)
	default:
	}
	u.mu.Lock()
	if u.next == nil {
		u.next = &look{done: make(chan struct{})}
	}
	shared := u.next
	u.mu.Unlock()
	select {
	case <-shared.done:
		return shared.judgment, shared.err
	case u.turn <- struct{}{}:
		select {
		case <-shared.done: // both were so
			<-u.turn
			return shared.judgment, shared.err
		default:
			return s.look(ctx, hospital, u)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a judgment: %w", ctx.Err())
	}
}

// look looks for all who wait, and gives the turn back.
func (s *server) look(ctx context.Context, hospital string, u *unit) (j *judgment, err error) {
	u.mu.Lock()
	shared := u.next
	u.next = nil
	u.mu.Unlock()
	err = errFault // if it panics
	defer func() {
		if shared != nil {
			shared.judgment, shared.err = j, err
			close(shared.done)
		}
		<-u.turn
	}()
	if shared != nil { // they are not to fail because one of them goes away
		ctx = context.WithoutCancel(ctx)
	}
	before := u.last
	if j, err = s.renew(ctx, hospital, u); err == nil && j != before {
		u.last = j
		s.keep(hospital, u, j.size)
	}
	return j, err
}

var errFault = errors.New("the look at the view ended in a fault")

// renew returns the kept judgment if it holds, else one of the state that the
// hospital is in now.
func (s *server) renew(ctx context.Context, hospital string, u *unit) (*judgment, error) {
	if u.last != nil && !u.moving {
		token, err := s.charts.Token(ctx, hospital)
		if err != nil {
			return nil, err //nolint:wrapcheck // the port's errors are ours
		}
		if token == u.last.token {
			return s.again(u.last), nil
		}
	}
	before := &chart{} // none
	if u.last != nil {
		before = u.last.chart
	}
	state, err := s.charts.Read(ctx, hospital, before.token)
	if err != nil {
		return nil, err //nolint:wrapcheck // the port's errors are ours
	}
	if u.last != nil {
		if u.moving = state.Token != before.token; !u.moving {
			return s.again(u.last), nil
		}
	}
	c, err := decode(s.charts, &state, before.rooms)
	if err != nil {
		return nil, err
	}
	return judge(c, u.last, acuity.At(s.shell.Now())), nil
}

// again returns a judgment of the same chart now, the same one if it holds.
func (s *server) again(last *judgment) *judgment {
	now := acuity.At(s.shell.Now())
	if last.holds(max(now, last.head.Clock)) {
		return last
	}
	return judge(last.chart, last, now)
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
