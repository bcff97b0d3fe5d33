// Package readapi serves the verdict of a unit to holders of a key for it.
//
// A read gets the current state of the hospital from the view, in one round trip, and
// judges it at the instant of the request. Nothing polls, and no earlier read is needed.
// A judgment is cached as long as it cannot have changed: while the view has the same
// version and no due instant has passed. If the unit has changed, the verdicts of its
// unchanged rooms are still reused. A cached answer equals a fresh one, byte for byte.
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
	"svc/internal/httpapi/contract"
)

// Charts is the source of the charts of hospitals. Errors of Token and Read are or wrap
// ErrNoUnit or ErrAway; any other error is a fault.
type Charts interface {
	// Token names the current state of a hospital.
	Token(ctx context.Context, hospital string) (Token, error)
	// Read returns the current state of a hospital: that of an earlier Token, or a later
	// one. It may return only the difference to the state since, which the caller has.
	// The zero Token means that the caller has none.
	Read(ctx context.Context, hospital string, since Token) (State, error)
	// DecodeUnit and DecodeRoom decode the texts of a State. Equal texts give equal
	// charts, and nothing changes a decoded chart afterwards.
	DecodeUnit(encoded string, u *acuity.UnitChart) error
	DecodeRoom(encoded string, r *acuity.RoomChart) error
}

// Token names one state of one hospital. Within a generation, a higher version is later.
type Token struct {
	Generation string
	Version    int64
}

// State is one state of one hospital. Its rooms are encoded one by one, so that comparing
// the texts of two states shows which rooms differ.
type State struct {
	Token
	Unit  string
	Rooms []Room // ascending by ID
	// Partial says that the state is a difference to the one that the caller has. Rooms
	// are the rooms that changed since, Gone are those that exist no longer. All others
	// are unchanged.
	Partial bool
	Gone    []int32
}

// Room is the encoded chart of a room.
type Room struct {
	ID    int32
	Chart string
}

// These errors say why there is no chart.
var (
	ErrNoUnit = errors.New("no record was ever applied for the hospital")
	ErrAway   = errors.New("the charts are out of reach, or not all there yet")
	// ErrIncomplete is an ErrAway: not all charts are in the view yet.
	ErrIncomplete = fmt.Errorf("being made anew: %w", ErrAway)
	// ErrBehind is an ErrAway: the charts may lack facts that were acknowledged to a
	// sender.
	ErrBehind = fmt.Errorf("not known to be current: %w", ErrAway)
	// ErrNewer is an ErrAway: a newer release wrote the chart. This process must be upgraded.
	ErrNewer = fmt.Errorf("of a newer release: %w", ErrAway)
)

// BehindError is an ErrBehind that tells for how long.
type BehindError struct {
	For   time.Duration // how long the charts may have lacked facts; 0: always
	Cause error
}

func (e *BehindError) Error() string { return ErrBehind.Error() + ": " + e.Cause.Error() }

// Is reports whether target is [ErrBehind] or [ErrAway].
func (*BehindError) Is(target error) bool { return errors.Is(ErrBehind, target) }

// unavailable is the answer to a reader for an error that is ErrAway. The rule in its
// details is one of the reasons of the status.
func unavailable(err error) httpapi.Problem {
	p := httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter}
	rule := Reason(err)
	if rule == reasonBehind {
		p.Message = "Something that was sent may not be in the verdict yet, so it is not told. It is safe to send the request again."
	}
	p.Details = []httpapi.Detail{{Path: "data", Rule: rule}}
	return p
}

// Reason returns the reason of the status for which an answer is withheld.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrBehind):
		return reasonBehind
	case errors.Is(err, ErrIncomplete):
		return reasonIncomplete
	}
	return reasonAway
}

// retryAfter is the Retry-After while the view is away. A view is made anew within about
// a second.
const retryAfter = 2 * time.Second

// Config is what the role needs.
type Config struct {
	Charts        Charts
	Dated         Charts // the same charts, also while they are not current; nil: [Reads.Before] returns an error
	Health        Health
	Shell         *httpapi.Shell
	LocalSettings LocalSettings // the lists of administrators
	Forecasts     Forecasts
	Hours         Hours
}

// Mount adds the paths of the role to a router that runs the shell. The returned Reads give the
// pages the same answers.
func Mount(r chi.Router, cfg Config) *Reads {
	s := &server{charts: cfg.Charts, health: cfg.Health, localSettings: cfg.LocalSettings, forecasts: cfg.Forecasts, record: newRecord(cfg.Hours), shell: cfg.Shell, units: map[string]*cachedUnit{}, cacheLimit: maxCached}
	contract.Mount(r, cfg.Shell, s, routes())
	return &Reads{s, cfg.Dated}
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

// judge returns the judgment of the caller's hospital now; false: it has answered.
func (s *server) judge(w http.ResponseWriter, r *http.Request) (*judgment, bool) {
	j, err := s.current(r.Context(), httpapi.Caller(r.Context()).Hospital)
	switch {
	case err == nil:
		return j, true
	case errors.Is(err, ErrNoUnit):
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Missing, Message: "Nothing has been recorded for this hospital yet."})
	case errors.Is(err, ErrAway):
		if errors.Is(err, ErrNewer) {
			s.shell.Log.ErrorContext(r.Context(), "chart cannot be read", "error", err)
		}
		httpapi.Fail(w, r, unavailable(err))
	case r.Context().Err() != nil: // the client is gone, nobody reads an answer
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
	default:
		s.shell.Log.ErrorContext(r.Context(), "chart cannot be read", "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Internal})
	}
	return nil, false
}
