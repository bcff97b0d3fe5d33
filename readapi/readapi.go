// Package readapi serves the verdict of a unit to whoever has a key for it.
//
// A read takes the chart of the hospital from the view, in one round trip, and
// judges it at the instant of the request; nothing is polled and nobody has to
// have looked before. What was judged is kept as long as it cannot have
// changed: while the view has the same version and no due instant has passed.
// A kept answer is the one a fresh judgment would give, byte for byte.
package readapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/internal/access"
	"svc/internal/api"
)

// Charts is where the charts of hospitals come from.
type Charts interface {
	// Chart returns the chart of a hospital and the token of its state, or a nil
	// chart if that state is the one the caller has. The chart is not changed
	// by anybody afterwards. Errors are or wrap ErrNoUnit or ErrAway; any other
	// one is a fault.
	Chart(ctx context.Context, hospital string, have Token) (*acuity.Chart, Token, error)
}

// Token names one state of one hospital; the zero value is none.
type Token struct {
	Generation string
	Version    int64
}

// What can be wrong with a chart.
var (
	ErrNoUnit = errors.New("no record was ever applied for the hospital")
	ErrAway   = errors.New("the charts are out of reach, or not all there yet")
)

// retryAfter is what a reader is told to wait when the view is away: a view is
// made anew within about a second.
const retryAfter = 2 * time.Second

// Config is what the role needs.
type Config struct {
	Charts Charts
	Shell  *api.Shell
}

// New returns the routes of the role.
func New(cfg Config) http.Handler {
	s := &server{charts: cfg.Charts, shell: cfg.Shell, kept: map[string]*judgment{}, most: maxKept}
	r := chi.NewRouter()
	r.Use(cfg.Shell.Wrap)
	r.NotFound(api.NotFound)
	r.MethodNotAllowed(api.MethodNotAllowed)
	r.Group(func(r chi.Router) {
		r.Use(cfg.Shell.Allow(access.ReadUnitState))
		both(r, "/api/v1/unit-state", s.unitState)
		both(r, "/api/v1/level", s.level)
	})
	return r
}

// both routes GET, and HEAD, whose body the server leaves out.
func both(r chi.Router, path string, handler http.HandlerFunc) {
	r.Get(path, handler)
	r.Head(path, handler)
}

func (s *server) unitState(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.unit)
	}
}

func (s *server) level(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.level)
	}
}

// judge returns the judgment of the caller's hospital now, or has answered.
func (s *server) judge(w http.ResponseWriter, r *http.Request) (*judgment, bool) {
	j, err := s.judgment(r.Context(), api.Caller(r.Context()).Hospital, acuity.At(s.shell.Now()))
	switch {
	case err == nil:
		return j, true
	case errors.Is(err, ErrNoUnit):
		api.Fail(w, r, api.Problem{Kind: api.Missing, Message: "Nothing has been recorded for this hospital yet."})
	case errors.Is(err, ErrAway):
		api.Fail(w, r, api.Problem{Kind: api.Unavailable, RetryAfter: retryAfter})
	case r.Context().Err() != nil: // the client went away: nobody reads this
		api.Fail(w, r, api.Problem{Kind: api.Unavailable, RetryAfter: retryAfter})
	default:
		s.shell.Log.ErrorContext(r.Context(), "chart cannot be read", "error", err)
		api.Fail(w, r, api.Problem{Kind: api.Internal})
	}
	return nil, false
}
