// Package ingest receives the feeds of hospitals over HTTP or, for other transports, through [Messages].
//
// A request either becomes one [acuity.Observation] of facts, or is refused as a whole with a response that names
// every broken rule. Nothing from a refused request is stored.
//
// The observation is appended to the [Log]. The handler then waits until a processor has applied the observation (see
// [Applied]), so that the response contains the effects of the request. Names, birth dates and addresses are never
// decoded into values. Identifiers leave the package only as pseudonyms (see [Pseudonyms]).
package ingest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"svc/acuity"
	"svc/ingest/hl7"
	"svc/internal/admin/audit"
	"svc/internal/httpapi"
	"svc/internal/httpapi/access"
	"svc/internal/httpapi/contract"
	"svc/internal/httpapi/limit"
	"svc/internal/httpapi/problem"
)

// Position is the position of an observation in the log.
type Position struct {
	Partition int32
	Offset    int64
}

// String returns the form in responses: "partition:offset".
func (p Position) String() string {
	return strconv.FormatInt(int64(p.Partition), 10) + ":" + strconv.FormatInt(p.Offset, 10)
}

// Errors of the interfaces below.
var (
	// ErrAway means that the log did not acknowledge the observation. The observation may or may not be in the log; a
	// retry is safe.
	ErrAway = errors.New("no response from Kafka")
	// ErrTooLarge means that the facts of one request exceed the maximum record size of the log.
	ErrTooLarge = errors.New("the facts exceed the maximum size of a Kafka record")
	// ErrPending means that an observation is durable but was not applied in time.
	ErrPending = errors.New("not applied yet")
)

// Log makes observations durable.
type Log interface {
	// Append returns nil once all required replicas have acknowledged the observation. If that fails, or ctx ends
	// first, it returns ErrAway or ErrTooLarge.
	Append(ctx context.Context, o *acuity.Observation) (Position, error)
}

// Applied finds the change that an observation caused.
type Applied interface {
	// Wait returns the change that the observation at p caused, or ErrPending if ctx ends first.
	Wait(ctx context.Context, hospital string, p Position) (acuity.Change, error)
}

// View is the store that serves reads.
type View interface {
	// Wait waits until the view includes p, and returns true. It returns false when ctx ends, or at once if the view
	// has been stuck for so long that waiting is pointless.
	Wait(ctx context.Context, hospital string, p Position) (shown bool)
}

// Timeouts for the steps of a request.
const (
	appendWait  = 5 * time.Second
	appliedWait = 2 * time.Second // maximum wait until reads include the request
	retryAfter  = 2 * time.Second // Retry-After of the response to a sender whose request could not be accepted
)

// Config holds the dependencies of the handlers.
type Config struct {
	Shell    *httpapi.Shell // keys, request ids, the clock, the request log
	Log      Log
	Applied  Applied
	Repeated Repeated
	View     View
	// DeadLetter reads a dead letter for a retry. If it is nil, the API offers no retries.
	DeadLetter DeadLetter
	// DeadLetterRetried records that the facts in a dead letter were appended again.
	DeadLetterRetried func(ctx context.Context, hospital, id string) error
	Zone              func(hospital string) *time.Location // zone for times without an offset
	Pseudonyms        Pseudonyms
	// Sender returns the HL7 settings for a key. A nil Sender means standard HL7.
	Sender func(key access.Key) hl7.Sender
	// Settings and Audit are used by administrators' requests (see acts). If Settings is nil, hospitals have no
	// settings; if Audit is nil, these requests leave no audit record.
	Settings Settings
	Audit    audit.Record
	// Share limits each hospital to its share of the CPUs; nil: no limit.
	Share *limit.Share
	// Received is called for each received request or frame; it may be nil.
	Received func(Intake)
	// Answered is called for each durable observation whose sender waited for its effect; it may be nil.
	Answered func(Progress)
}

// Progress is how far an observation has progressed when the response is sent.
type Progress string

// Values of [Progress]. The response contains applied:true only for ProgressApplied.
const (
	ProgressApplied Progress = "applied"
	ProgressVerdict Progress = "verdict_pending"
	ProgressView    Progress = "view_pending"
)

// Mount adds to the router r all paths under /api/ingest that accept facts. r must use c.Shell.
func Mount(r chi.Router, c Config) {
	s := &server{c}
	contract.Mount(r, c.Shell, s, feedRoutes())
	contract.Mount(r, c.Shell, &acts{s}, actRoutes())
}

type server struct{ Config }

// observe begins the observation of a request.
func (s *server) observe(r *http.Request, channel acuity.Channel) *acuity.Observation {
	return s.observed(httpapi.Caller(r.Context()), channel)
}

func (s *server) observed(key access.Key, channel acuity.Channel) *acuity.Observation {
	return &acuity.Observation{
		Hospital: key.Hospital, ReceivedAt: acuity.At(s.Shell.Now()), Channel: channel, Source: key.Lineage(),
	}
}

// submitBody handles a feed with one JSON body. It parses the body into an observation and submits the observation,
// or refuses the whole body if it breaks a rule. If submitBody returns false, it has sent an error response.
func (s *server) submitBody(
	w http.ResponseWriter, r *http.Request, channel acuity.Channel, read func(in *reader, body []byte, o *acuity.Observation),
) (submission, bool) {
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return submission{}, false
	}
	o := s.observe(r, channel)
	in := s.reader(o)
	read(in, body, o)
	if refusal := in.problem(); refusal != nil {
		httpapi.Fail(w, r, *refusal)
		return submission{}, false
	}
	got, ok := s.submit(w, r, in, o)
	return submission{o, in, got}, ok && refuseWhole(w, r, &got.change)
}

// submission is a request whose observation was submitted.
type submission struct {
	observation *acuity.Observation
	in          *reader
	receipt     receipt
}

func (t submission) answer() common { return t.in.answer(t.receipt) }

// receipt is the result of submitting an observation. For a pending observation, it has a position but no change.
type receipt struct {
	position Position
	durable  bool // whether the observation was appended; false if there was nothing to append
	applied  bool
	change   acuity.Change
}

// nothingAppended is the receipt for a body with nothing to append.
var nothingAppended = receipt{applied: true, change: acuity.Change{Outcome: acuity.Ignored}}

// submit appends the observation and waits up to appliedWait until the view includes it, unless the sender prefers an
// immediate response. If submit returns false, it has sent an error response, for example because the observation
// could not be appended. in is nil for an administrator's request (see acts), because such requests are not counted
// for any feed.
func (s *server) submit(w http.ResponseWriter, r *http.Request, in *reader, o *acuity.Observation) (receipt, bool) {
	if o.Request == nil { // a retried dead letter already has the identity of its request
		o.Request = s.requestOf(r, o.Hospital)
	}
	got := receipt{durable: true}
	var err error
	if busy := s.Share.Spend(r.Context(), o.Hospital, 0, factsOf(o)); busy != nil {
		err = busy
	} else {
		got.position, err = s.append(r.Context(), o, enterPatience)
	}
	if err != nil {
		if busy, ok := errors.AsType[*limit.Busy](err); ok {
			httpapi.Fail(w, r, *beyondShare(busy))
		} else if errors.Is(err, ErrTooLarge) {
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.TooLarge})
		} else {
			s.Shell.Log.WarnContext(r.Context(), "observation not appended", "hospital", o.Hospital, "error", err)
			httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Unavailable, RetryAfter: retryAfter})
		}
		return receipt{}, false
	}
	if seen, ok := w.(*statusWriter); ok {
		seen.kept = true
	}
	if in != nil {
		s.reportTaken(o, in, requestID(r), got.position)
	}
	if in != nil && respondAsync(r) { // an act always waits, because the response contains the effects of the act
		w.Header().Set("Preference-Applied", "respond-async")
		return got, true
	}
	ctx, cancel := context.WithTimeout(r.Context(), appliedWait)
	defer cancel()
	if got.change, err = s.Applied.Wait(ctx, o.Hospital, got.position); err != nil {
		s.countAnswer(ProgressVerdict)
		if !errors.Is(err, ErrPending) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			s.Shell.Log.ErrorContext(r.Context(), "stopped waiting for the change", "hospital", o.Hospital, "error", err)
		}
		return got, true // the observation is durable and will be applied
	}
	if got.change.Outcome == acuity.Rejected {
		s.Shell.Log.ErrorContext(r.Context(), "observation rejected",
			"hospital", o.Hospital, "position", got.position.String(), "reason", got.change.Reason)
		httpapi.Fail(w, r, httpapi.Problem{Kind: problem.Internal})
		return receipt{}, false
	}
	if !s.resolveRepeat(w, r, &got) {
		return receipt{}, false
	}
	// A response contains applied:true only if reads already show the change. This does not hold for the response to
	// an act, which contains the effects of the act.
	shown := s.View.Wait(ctx, o.Hospital, got.position)
	if _, refused := exceeded(&got.change); !shown && !refused && in != nil {
		s.countAnswer(ProgressView)
		return receipt{durable: true, position: got.position}, true
	}
	got.applied = true
	s.countAnswer(ProgressApplied)
	return got, true
}

func (s *server) countAnswer(p Progress) {
	if s.Answered != nil {
		s.Answered(p)
	}
}

// respondAsync reports whether the sender prefers a response as soon as the observation is durable, without its
// effects (RFC 7240), which suits a feed with many thousands of messages.
func respondAsync(r *http.Request) bool {
	for _, header := range r.Header["Prefer"] {
		for preference := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}

func (s *server) append(ctx context.Context, o *acuity.Observation, patience time.Duration) (Position, error) {
	entry, busy := s.Share.Enter(ctx, o.Hospital, factsOf(o), patience)
	if busy != nil {
		return Position{}, busy
	}
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	at, err := s.Log.Append(ctx, o)
	if err != nil {
		entry.Gone()
		return at, err //nolint:wrapcheck // the error already names the cause
	}
	entry.Sent(at.Partition, at.Offset)
	return at, nil
}
