// Package readapi serves the verdict of a unit to whoever has a key for it.
//
// A read asks the view for the state that the hospital is in, in one round trip,
// and judges it at the instant of the request; nothing is polled and nobody has
// to have looked before. What was judged is kept as long as it cannot have
// changed: while the view has the same version and no due instant has passed.
// If the unit has changed, so are the rooms that have not. A kept answer is the
// one a fresh judgment would give, byte for byte.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/internal/httpapi"
)

// Charts is where the charts of hospitals come from. Errors of Token and Read are
// or wrap ErrNoUnit or ErrAway; any other one is a fault.
type Charts interface {
	// Token names the state that a hospital is in.
	Token(ctx context.Context, hospital string) (Token, error)
	// Read returns the state that a hospital is in: that of an earlier Token, or
	// one that came after it. It may be told from the state since, which the caller
	// has; the zero Token: he has none.
	Read(ctx context.Context, hospital string, since Token) (State, error)
	// DecodeUnit and DecodeRoom read what a State holds. Equal texts give equal
	// charts, and what is read is not changed by anybody afterwards.
	DecodeUnit(encoded string, u *acuity.UnitChart) error
	DecodeRoom(encoded string, r *acuity.RoomChart) error
}

// Token names one state of one hospital. Of two of the same generation, the one
// with the higher version came later.
type Token struct {
	Generation string
	Version    int64
}

// State is one state of one hospital, encoded by room, so that it can be seen
// without decoding which rooms differ from those of another state.
type State struct {
	Token
	Unit  string
	Rooms []Room // ascending by ID
	// Partial says that rooms are told from the state that the caller has: Rooms are
	// those that changed since, Gone those that are no more; all others are as they
	// were.
	Partial bool
	Gone    []int32
}

// Room is the encoded chart of a room.
type Room struct {
	ID    int32
	Chart string
}

// What can be wrong with a chart.
var (
	ErrNoUnit = errors.New("no record was ever applied for the hospital")
	ErrAway   = errors.New("the charts are out of reach, or not all there yet")
	// ErrIncomplete is the ErrAway of charts that are not all there yet.
	ErrIncomplete = fmt.Errorf("being made anew: %w", ErrAway)
	// ErrBehind is the ErrAway of charts that may lack what was sent and acknowledged.
	ErrBehind = fmt.Errorf("not known to be current: %w", ErrAway)
)

// unavailable is what a reader is told of an error that is ErrAway: the rule that is
// broken is one of the reasons of the status.
func unavailable(err error) httpapi.Problem {
	p := httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter}
	rule := Reason(err)
	if rule == reasonBehind {
		p.Message = "Something that was sent may not be in the verdict yet, so it is not told. It is safe to send the request again."
	}
	p.Details = []httpapi.Detail{{Path: "data", Rule: rule}}
	return p
}

// Reason is the reason of the status for which something cannot be told.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrBehind):
		return reasonBehind
	case errors.Is(err, ErrIncomplete):
		return reasonIncomplete
	}
	return reasonAway
}

// retryAfter is what a reader is told to wait when the view is away: a view is
// made anew within about a second.
const retryAfter = 2 * time.Second

// Config is what the role needs.
type Config struct {
	Charts Charts
	Health Health
	Shell  *httpapi.Shell
	Site   Site // what administrators list; nil: no such paths
	// Forecasts is what was learned; nil: nothing ever was.
	Forecasts Forecasts
}

// New returns the handler of the role's paths.
func New(cfg Config) http.Handler {
	r := cfg.Shell.Router()
	Mount(r, cfg)
	return r
}

// Mount adds the routes of [New] to a router that has the shell already.
func Mount(r chi.Router, cfg Config) {
	if cfg.Forecasts == nil {
		cfg.Forecasts = nothingLearned{}
	}
	s := &server{charts: cfg.Charts, health: cfg.Health, site: cfg.Site, forecasts: cfg.Forecasts, shell: cfg.Shell, units: map[string]*cachedUnit{}, cacheLimit: maxCached}
	httpapi.Mount(r, cfg.Shell, s, routes())
}

func (s *server) unitState(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.unit())
	}
}

func (s *server) level(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.level())
	}
}

// judge returns the judgment of the caller's hospital now, or has answered.
func (s *server) judge(w http.ResponseWriter, r *http.Request) (*judgment, bool) {
	j, err := s.current(r.Context(), httpapi.Caller(r.Context()).Hospital)
	switch {
	case err == nil:
		return j, true
	case errors.Is(err, ErrNoUnit):
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing, Message: "Nothing has been recorded for this hospital yet."})
	case errors.Is(err, ErrAway):
		httpapi.Fail(w, r, unavailable(err))
	case r.Context().Err() != nil: // the client went away: nobody reads this
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
	default:
		s.shell.Log.ErrorContext(r.Context(), "chart cannot be read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Internal})
	}
	return nil, false
}
