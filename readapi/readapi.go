// Package readapi serves the verdict on a unit to callers with an API key for its hospital.
//
// A read gets the current state of the hospital from the view, in one round trip, and evaluates it at the instant of
// the request. Nothing is polled. A judgment is cached for as long as it is valid: while the view has the same
// version and no due instant has passed. If the unit has changed, the verdicts of its unchanged rooms are reused. A
// cached response equals a fresh one, byte for byte.
package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/acuity/forecast"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// Charts is the source of the charts of hospitals. Token and Read return only errors that are or wrap ErrNoUnit or
// ErrAway; any other error is a bug.
type Charts interface {
	// Token returns the token of the hospital's current state.
	Token(ctx context.Context, hospital string) (Token, error)
	// Read returns the current state of a hospital, which may be later than the state that Token has just identified.
	// since is the token of the state that the caller has, so Read may return only the changes after that state. The
	// zero Token means that the caller has no state.
	Read(ctx context.Context, hospital string, since Token) (State, error)
	// DecodeUnit and DecodeRoom decode the encoded charts of a State. Equal strings must give equal charts. Decoded
	// charts must not be modified.
	DecodeUnit(encoded string, u *acuity.UnitChart) error
	DecodeRoom(encoded string, r *acuity.RoomChart) error
}

// Token identifies one state of one hospital. Within a generation, a higher version is later.
type Token struct {
	Generation string
	Version    int64
}

// State is one state of one hospital. Its rooms are encoded separately, so that comparing the encoded charts of two
// states shows which rooms differ.
type State struct {
	Token
	Unit  string
	Rooms []Room // in order of ID
	// Partial means that the state contains only changes: Rooms contains the rooms that differ from the caller's
	// state, and Gone contains the ids of removed rooms. All other rooms are unchanged.
	Partial bool
	Gone    []int32
}

// Room is the encoded chart of a room.
type Room struct {
	ID    int32
	Chart string
}

// The errors for a chart that is missing or withheld.
var (
	ErrNoUnit = errors.New("no record has been applied for the hospital yet")
	ErrAway   = errors.New("the charts are unavailable or incomplete")
	// ErrIncomplete wraps ErrAway: not all charts are in the view yet.
	ErrIncomplete = fmt.Errorf("being rebuilt: %w", ErrAway)
	// ErrBehind wraps ErrAway: the charts may lack facts that were acknowledged to a sender.
	ErrBehind = fmt.Errorf("not known to be current: %w", ErrAway)
	// ErrNewer wraps ErrAway: a newer release wrote the chart. This process must be upgraded.
	ErrNewer = fmt.Errorf("written by a newer release: %w", ErrAway)
)

// BehindError is [ErrBehind] with the time for which the charts may have lacked facts.
type BehindError struct {
	For   time.Duration // how long the charts may have lacked facts; 0: they may always have lacked some
	Cause error
}

func (e *BehindError) Error() string { return ErrBehind.Error() + ": " + e.Cause.Error() }

// Is reports whether target is [ErrBehind] or [ErrAway].
func (*BehindError) Is(target error) bool { return errors.Is(ErrBehind, target) }

// unavailable returns the response for an error that wraps ErrAway. The rule in its details is one of the reasons
// that the status reports.
func unavailable(err error) httpapi.Problem {
	p := httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter}
	rule := Reason(err)
	if rule == reasonBehind {
		p.Message = "The verdict may be outdated, so it is not served. Retry after the time in Retry-After; the request is safe to repeat."
	}
	p.Details = []httpapi.Detail{{Path: "data", Rule: rule}}
	return p
}

// Reason returns why a verdict is withheld, as one of the reasons that the status reports.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrBehind):
		return reasonBehind
	case errors.Is(err, ErrIncomplete):
		return reasonIncomplete
	}
	return reasonAway
}

// retryAfter is the value of Retry-After while the view is unavailable. A view is rebuilt within about a second.
const retryAfter = 2 * time.Second

// Config holds the dependencies of the role.
type Config struct {
	Charts        Charts
	Dated         Charts // the same charts, readable even while outdated; nil: outdated charts are not read
	Health        Health
	Shell         *httpapi.Shell
	LocalSettings LocalSettings // lists that administrators maintain
	Forecasts     Forecasts
	Hours         Hours
}

// Mount adds the routes of the read API to a router that uses the shell. The pages call the returned Reads, so that
// they show the same results as the API.
func Mount(r chi.Router, cfg Config) *Reads {
	s := &Reads{cfg: cfg, trends: newTrendsCache(), units: map[string]*cachedUnit{}, cacheLimit: maxCached}
	contract.Mount(r, cfg.Shell, s, routes())
	return s
}

// Operations returns the operations of this package.
func Operations() []contract.Operation {
	return slices.Concat(contract.Operations(routes()), contract.Operations(auditRoutes()), contract.Operations(deadLetterRoutes()),
		contract.Operations(acknowledgeRoutes()), contract.Operations(receiptRoutes()))
}

func routes() []contract.Route[*Reads] {
	all := []contract.Route[*Reads]{
		{Operation: contract.Operation{
			Path: "/api/v1/unit-state", ID: "getUnitState", Summary: "Get the verdict: level, axes, and each room with its score and factors",
			About: "Evaluated at the time of the request. The entity tag changes if and only if the data changes. " + refusedAbout,
			Data:  unitStateShape{},
		}, Serve: (*Reads).serveUnitState},
		{Operation: contract.Operation{
			Path: "/api/v1/level", ID: "getLevel", Summary: "Get only the level, for frequent polling",
			About: refusedAbout, Data: level{},
		}, Serve: (*Reads).serveLevel},
	}
	for i := range all {
		o := &all[i].Operation
		o.Method, o.Group, o.Scope = http.MethodGet, "Reads", access.ReadUnitState
		o.Refuses = []problem.Kind{problem.Missing}
		o.Parameters = []contract.Parameter{ifNoneMatch}
	}
	all = append(all, contract.Route[*Reads]{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/v1/predict", Scope: access.ReadPredict, ID: "getPrediction", Group: "Reads",
		Summary: "Get the forecast of the next eight hours: level and required nurses",
		About: "Computed for the last full minute, or for a later change; `current` is the unit at that instant. " +
			"The values of an hour apply at its end, except the arrivals, which are expected within it. " +
			"Learned from the recorded hours of the hospital: 422 if fewer than 24 hours of the last 28 days were observed, or the last is " +
			"12 hours old. " +
			"Past events sent to `/batch` count. Not clinically validated.",
		Parameters: []contract.Parameter{ifNoneMatch}, Refuses: []problem.Kind{problem.Unprocessable}, Data: predict{},
	}, Serve: (*Reads).servePrediction})
	all = append(all, contract.Route[*Reads]{Operation: contract.Operation{
		Method: http.MethodGet, Path: "/api/ingest/status", Scope: access.ReadStatus, ID: "getStatus", Group: "Feeds",
		Summary: "Get the status of the feeds: received data, processing lag and problems",
		About:   "Available even if Kafka or Redis is down; the response then reports that, and unknown values are null.",
		Data:    statusAnswer{},
	}, Serve: (*Reads).serveStatus})
	return slices.Concat(all, sourceRoutes(), localSettingsRoutes(), trendsRoutes())
}

// refusedAbout documents when a verdict is withheld.
const refusedAbout = "If the verdict may be outdated, the response is 503 with `Retry-After` and in `details` the rule `processing_behind` " +
	"(recent facts may be missing), `view_incomplete` or `view_away`. `GET /api/ingest/status` has the details."

// unitStateShape documents [unitState] for readers of the API reference: its rooms have the type room.
type unitStateShape struct {
	unitState
	Rooms []room `json:"rooms"`
}

var ifNoneMatch = contract.Parameter{
	Name: "If-None-Match", In: "header", About: "Entity tag of the response that the client has; 304 if it is still current.", Example: `W/"0"`,
}

func (s *Reads) serveUnitState(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.unit())
	}
}

func (s *Reads) serveLevel(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.judge(w, r); ok {
		answer(w, r, j.level())
	}
}

// judge returns the current judgment of the caller's hospital. If it returns false, it has sent an error response.
func (s *Reads) judge(w http.ResponseWriter, r *http.Request) (*judgment, bool) {
	j, err := s.current(r.Context(), httpapi.Caller(r.Context()).Hospital)
	if err != nil {
		s.fail(w, r, err)
	}
	return j, err == nil
}

// fail sends an error response that says why there is no verdict or no forecast.
func (s *Reads) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, missing := httpapi.Problem{Kind: problem.Internal}, (*forecast.InsufficientError)(nil)
	switch {
	case errors.Is(err, ErrNoUnit):
		p = httpapi.Problem{Kind: problem.Missing, Message: "Nothing has been recorded for this hospital yet; send a census or a staffing " +
			"record."}
	case errors.As(err, &missing):
		p = httpapi.Problem{
			Kind: problem.Unprocessable, Message: missing.Error(),
			Details: []httpapi.Detail{{Path: missing.Field(), Rule: missing.Rule()}},
		}
	case errors.Is(err, ErrAway), r.Context().Err() != nil: // or the client has disconnected
		p = unavailable(err)
	}
	if p.Kind == problem.Internal || errors.Is(err, ErrNewer) {
		s.cfg.Shell.Log.ErrorContext(r.Context(), "chart not read", "error", err)
	}
	httpapi.Fail(w, r, p)
}
