package ingest

import (
	"context"
	"errors"
	"net/http"

	"svc/acuity"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/problem"
)

// A dead letter is a record that this release could not apply. The record remains in Kafka. Once a release can read
// the record, an administrator can append its facts again.

// ErrNoDeadLetter means that the hospital does not have a dead letter with that id.
var ErrNoDeadLetter = errors.New("no such dead letter")

// UnreadableError means that this release still cannot decode a dead letter.
type UnreadableError struct{ Reason string } // stable code

// Error implements error.
func (e *UnreadableError) Error() string { return "not readable: " + e.Reason }

// DeadLetter reads the facts of a hospital's dead letter. It returns ErrNoDeadLetter or *[UnreadableError]; any other
// error means that the log currently cannot be read.
type DeadLetter func(ctx context.Context, hospital, id string) (*acuity.Observation, error)

const actionDeadLetterRetry = "dead-letter.retry"

func deadLetterRoutes() []contract.Route[*acts] {
	return []contract.Route[*acts]{{Operation: contract.Operation{
		Method: http.MethodPost, Path: "/api/admin/dead-letters/{id}/retry", Scope: access.Admin, ID: "retryDeadLetter",
		Group: "Administration", Summary: "Retry a record that could not be applied",
		About: "The facts are applied if this release can read the record; otherwise the response is 422 with the reason and nothing changes. " +
			"If every fact exceeds a limit of the hospital, the response is also 422, and the record can be retried after 24 hours. " +
			"A repeat within 24 hours of a retry that appended the facts has no further effect and returns " +
			"the first response, with repeated true.",
		Parameters: []contract.Parameter{{Name: "id", In: "path", Example: "0:0", About: "Id of the dead letter: the position of its record."}},
		Data:       retried{}, Refuses: []problem.Kind{problem.Missing, problem.Unprocessable, problem.Conflict, problem.TooLarge},
	}, Serve: (*acts).retry}}
}

// retried is the response to a retry. It has the same fields as a feed's response.
type retried struct {
	common
	Repeated bool `json:"repeated"` // whether an earlier retry already appended the facts; the response then describes that retry
}

func (a *acts) retry(w http.ResponseWriter, r *http.Request) {
	hospital, id := httpapi.Caller(r.Context()).Hospital, httpapi.PathValue(r, "id")
	o, err := a.deadLetter(r.Context(), hospital, id)
	unreadable := (*UnreadableError)(nil)
	switch {
	case err == nil:
	case errors.Is(err, ErrNoDeadLetter):
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Missing})
		return
	case errors.As(err, &unreadable):
		httpapi.Fail(w, r, httpapi.Problem{
			Kind: problem.Unprocessable, Message: "This release cannot read the record either; retry it after an upgrade.",
			Details: []httpapi.Detail{{Path: "", Rule: unreadable.Reason}},
		})
		return
	default:
		a.Shell.Log.WarnContext(r.Context(), "dead letter not read", "hospital", hospital, "error", err)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
		return
	}
	// The sender may repeat the request that ended as a dead letter, with the same identity. The retry keeps that
	// identity, so the facts are applied only once, whichever of the two requests comes first.
	if o.Request == nil {
		position := a.Pseudonyms.Pseudonym(hospital, "dead letter", id)
		o.Request = &acuity.Request{Key: position, Digest: position}
	}
	act := a.observe(r, o.Channel) // only for the audit record, which names the administrator; the facts keep their sender
	if !a.recordAct(w, r, act, actionDeadLetterRetry, id) {
		return
	}
	got, ok := a.submit(w, r, nil, o)
	if !ok || !refuseWhole(w, r, &got.change) { // a dead letter that exceeds a limit still has to be retried
		a.recordNotDone(r, act, actionDeadLetterRetry, id)
		return
	}
	if got.applied {
		// If the retry cannot be recorded, the dead letter remains on the list, but retrying it again has no further
		// effect.
		if err := a.DeadLetterRetried(r.Context(), hospital, id); err != nil {
			a.Shell.Log.WarnContext(r.Context(), "retry not recorded", "hospital", hospital, "error", err)
		}
	}
	repeated := len(w.Header()["Idempotency-Replayed"]) > 0
	httpapi.OK(w, r, retried{a.reader(o).answer(got), repeated})
}

func (a *acts) deadLetter(ctx context.Context, hospital, id string) (*acuity.Observation, error) {
	if a.DeadLetter == nil {
		return nil, ErrNoDeadLetter
	}
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	return a.DeadLetter(ctx, hospital, id)
}
