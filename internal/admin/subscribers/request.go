package subscribers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

const (
	maxBody  = 64 << 10 // bytes
	within   = 5 * time.Second
	tryAgain = 2 * time.Second
)

// grouped joins routes and assigns them to one group.
func grouped[S any](group string, routes ...[]contract.Route[S]) []contract.Route[S] {
	all := slices.Concat(routes...)
	for i := range all {
		o := &all[i].Operation
		o.Group = group
		if !o.Keyed {
			o.Scope = access.Admin
		}
	}
	return all
}

var ifMatch = contract.Parameter{
	Name: "If-Match", In: "header", Example: "*", Pattern: "tag",
	About: "The version of the resource when it was read, in quotes; if it has changed since then, the request fails.",
}

// unchanged is the warning in the response to a change that has no effect, because the resource already has all values
// in the request. Nothing is written. unchangedAbout describes this in the document of the API.
var unchanged = httpapi.Warning{Code: "unchanged"}

const unchangedAbout = " A request that would change nothing writes nothing, and its response has the warning `unchanged`."

func idOf(what, example string) contract.Parameter {
	return contract.Parameter{Name: "id", In: "path", Example: example, About: "Id of the " + what + "."}
}

func body(shape any, examples ...contract.Example) []contract.Body {
	return []contract.Body{{Type: "application/json", Shape: shape, Limit: maxBody, Examples: examples}}
}

// optionalBody returns a body that a request may omit.
func optionalBody(shape any, examples ...contract.Example) []contract.Body {
	all := body(shape, examples...)
	all[0].Optional = true
	return all
}

func hospitalOf(r *http.Request) string { return httpapi.Caller(r.Context()).Hospital }

func pathID(r *http.Request) string { return httpapi.PathValue(r, "id") }

// faults collects the rules that a request breaks, so that the sender learns about all of them at once. The rules in
// the struct tags of the body come first.
type faults struct {
	all     []httpapi.Detail // rules that a malformed request breaks
	misfits []httpapi.Detail // rules that a well-formed request breaks, because it names an unknown object or asks for something impossible
}

// faultsOf returns the rules that a body breaks.
func faultsOf(body any) faults { return faults{all: httpapi.Check(body)} }

func (f *faults) add(path, rule string) {
	f.all = append(f.all, httpapi.Detail{Path: path, Rule: rule})
}

func (f *faults) unless(ok bool, path, rule string) {
	if !ok {
		f.add(path, rule)
	}
}

// fits adds a rule that a well-formed request breaks, unless ok is true.
func (f *faults) fits(ok bool, path, rule string) {
	if !ok {
		f.misfits = append(f.misfits, httpapi.Detail{Path: path, Rule: rule})
	}
}

// answered reports whether the request breaks any rule. If it does, answered has sent an error response.
func (f *faults) answered(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case len(f.all) > 0:
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Invalid, Details: append(f.all, f.misfits...)})
	case len(f.misfits) > 0:
		httpapi.Fail(w, r, httpapi.Problem{
			Kind:    problem.Unprocessable,
			Message: "The request is well-formed but cannot be applied; see details.", Details: f.misfits,
		})
	default:
		return false
	}
	return true
}

func unprocessable(w http.ResponseWriter, r *http.Request, message, path, rule string) {
	httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unprocessable, Message: message, Details: []httpapi.Detail{{Path: path, Rule: rule}}})
}

// requireMatch reports whether If-Match allows the version or is missing. If it returns false, it has sent an error
// response.
func requireMatch(w http.ResponseWriter, r *http.Request, version int64) bool {
	return httpapi.MatchVersion(w, r, strconv.FormatInt(version, 10))
}

// answer responds with a setting and its version.
func answer(w http.ResponseWriter, r *http.Request, version int64, data any) {
	httpapi.OKVersion(w, r, strconv.FormatInt(version, 10), data)
}

// versionText returns a version in the form of the audit log. 0 means no version.
func versionText(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
}

// perform writes the audit record of an action, and then executes the action. If the action fails, perform also
// writes a second record. If it returns false, it has sent an error response.
func (s *server) perform(
	w http.ResponseWriter, r *http.Request, action, subject string, before, after int64, do func(context.Context) error,
) bool {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	caller := httpapi.Caller(r.Context())
	act := audit.Act{
		Hospital: caller.Hospital, At: s.Shell.Now(), By: caller.ID, Action: action, Subject: subject,
		Before: versionText(before), After: versionText(after),
	}
	err := s.Audit(ctx, act)
	if err == nil {
		if err = do(ctx); err != nil {
			s.recordNotDone(r, act, err)
		}
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, access.ErrOvertaken):
		httpapi.Fail(w, r, overtaken)
	case errors.Is(err, ErrNoKey):
		unprocessable(w, r, "The service cannot store secrets and addresses; its operator must set SVC_SECRETS_KEY.", "", "secrets_key")
	default:
		s.Shell.Log.WarnContext(r.Context(), "administrative action failed", "action", action, "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: tryAgain})
	}
	return false
}

var overtaken = httpapi.Problem{
	Kind: problem.Unavailable,
	Message: "The hospital settings were changed by another request at the same time. " +
		"Nothing was changed; the request is safe to repeat.",
	RetryAfter: tryAgain,
}

// recordNotDone writes the second audit record of an action that failed with err. The record says whether it is
// certain that the action changed nothing.
func (s *server) recordNotDone(r *http.Request, act audit.Act, err error) {
	how := audit.Unclear
	if errors.Is(err, access.ErrOvertaken) || errors.Is(err, ErrNoKey) {
		how = audit.Failed
	}
	if fault := s.Audit.RecordNotDone(r.Context(), act, how); fault != nil {
		s.Shell.Log.WarnContext(r.Context(), "audit record of a failure not written", "action", act.Action, "error", fault)
	}
}

// failUnavailable responds that a required store is currently unavailable.
func (s *server) failUnavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.Shell.Log.WarnContext(r.Context(), "deliveries not read", "error", err)
	httpapi.Fail(w, r, httpapi.Problem{
		Kind: problem.Unavailable, RetryAfter: tryAgain, Details: []httpapi.Detail{{Path: "data", Rule: s.Reason(err)}},
		Message: "The data may be incomplete, so it is not served. Retry after the time in Retry-After; the request is safe to repeat.",
	})
}

func missing(w http.ResponseWriter, r *http.Request) {
	httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
}

// requireListed reports whether [Lists] contains the requested entry. If it returns false, it has sent an error
// response.
func (s *server) requireListed(w http.ResponseWriter, r *http.Request, ok bool, err error) bool {
	switch {
	case err != nil:
		s.failUnavailable(w, r, err)
	case !ok:
		missing(w, r)
	default:
		return true
	}
	return false
}

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// parseTime reads a time in the zone of a hospital. "" is the zero time.
func (s *server) parseTime(f *faults, hospital, path, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, ok := httpapi.ParseTime(text, s.Zone(hospital))
	f.unless(ok, path, "format:date-time")
	return at
}

func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
