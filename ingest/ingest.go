// Package ingest takes the feeds of hospitals in, over HTTP and as [Messages].
//
// A request becomes one [acuity.Observation] of facts, or is refused as a whole
// with every broken rule named; nothing of a refused request is kept. The
// observation is appended to the [Log]; then the handler waits until it was
// [Applied], and the sender's answer tells what this very request did. Names,
// birth dates and addresses are never decoded into a value, identifiers leave
// as [Pseudonyms].
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
	"svc/internal/httpapi/limit"
)

// Position is the place of an observation in the log.
type Position struct {
	Partition int32
	Offset    int64
}

// String is the form in answers: "partition:offset".
func (p Position) String() string {
	return strconv.FormatInt(int64(p.Partition), 10) + ":" + strconv.FormatInt(p.Offset, 10)
}

// What the ports answer when they cannot do their work.
var (
	// ErrAway says that the log did not acknowledge: the outcome may be unclear,
	// and sending again is harmless.
	ErrAway = errors.New("the log is away")
	// ErrTooLarge says that the facts of one request are more than the log takes.
	ErrTooLarge = errors.New("the facts are larger than the log takes")
	// ErrPending says that an observation is durable but was not applied in time.
	ErrPending = errors.New("not applied yet")
)

// Log is where observations become durable.
type Log interface {
	// Append returns when the observation is acknowledged by all replicas that
	// must have it; else ErrAway or ErrTooLarge. It returns when ctx ends.
	Append(ctx context.Context, o *acuity.Observation) (Position, error)
}

// Applied tells what became of an observation.
type Applied interface {
	// Wait returns the change that the observation at p made, or ErrPending
	// when ctx ends before.
	Wait(ctx context.Context, hospital string, p Position) (acuity.Change, error)
}

// View is what reads are answered from.
type View interface {
	// Wait returns when the view includes p, when ctx ends, or when the view is
	// away: whether it does is of no consequence for the sender.
	Wait(ctx context.Context, hospital string, p Position)
}

// How long a sender waits for each step.
const (
	appendWait  = 5 * time.Second
	appliedWait = 2 * time.Second
	viewWait    = time.Second     // ends at once when the view is away
	retryAfter  = 2 * time.Second // told to a sender whose request could not be taken
)

// Config is what the handlers need.
type Config struct {
	Shell    *httpapi.Shell // keys, request ids, the clock, the log of requests
	Log      Log
	Applied  Applied
	Repeated Repeated
	View     View
	// DeadLetter is for retries; nil: there are none.
	DeadLetter DeadLetter
	// DeadLetterRetried notes that the facts of one were taken in after all.
	DeadLetterRetried func(ctx context.Context, hospital, id string) error
	Zone              func(hospital string) *time.Location // for times without an offset
	Pseudonyms        Pseudonyms
	// Sender returns how HL7 of a key is to be understood; nil: as the standard says.
	Sender func(key access.Key) hl7.Sender
	// Settings and Audit are for the acts of administrators; nil: hospitals have
	// no settings, and acts are not put on record.
	Settings Settings
	Audit    audit.Record
	// Share keeps each hospital to its share of the processors; nil: there is room for all.
	Share *limit.Share
	// Took is told of everything that came in; nil: nobody counts.
	Took func(Intake)
}

// New returns the handler of all paths under /api/ingest that take facts.
func New(c Config) http.Handler {
	r := c.Shell.Router()
	Mount(r, c)
	return r
}

// Mount adds the routes of [New] to a router that has the shell already.
func Mount(r chi.Router, c Config) {
	httpapi.Mount(r, c.Shell, &server{c}, routes())
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

// take does what the feeds with one JSON body have in common: it reads the body
// into an observation, refuses it as a whole if any rule is broken, and submits
// it. If it returns false it has answered.
func (s *server) take(w http.ResponseWriter, r *http.Request, channel acuity.Channel, read func(in *reader, body []byte, o *acuity.Observation)) (taken, bool) {
	body, ok := readJSON(w, r, maxBody)
	if !ok {
		return taken{}, false
	}
	o := s.observe(r, channel)
	in := s.reader(o)
	read(in, body, o)
	if problem := in.problem(); problem != nil {
		httpapi.Fail(w, r, *problem)
		return taken{}, false
	}
	got, ok := s.submit(w, r, in, o)
	return taken{o, in, got}, ok && refuseWhole(w, r, &got.change)
}

// taken is a request that was submitted.
type taken struct {
	observation *acuity.Observation
	in          *reader
	receipt     receipt
}

func (t taken) answer() common { return t.in.answer(t.receipt) }

// receipt is what became of an observation. While it is pending there is a
// position and no change.
type receipt struct {
	position Position
	durable  bool // it is in the log; false: there was nothing to append
	applied  bool
	change   acuity.Change
}

// submit appends the observation and waits until it shows. If it cannot be taken
// it answers itself and returns false. What an administrator says has no reader, and
// counts for no feed.
func (s *server) submit(w http.ResponseWriter, r *http.Request, in *reader, o *acuity.Observation) (receipt, bool) {
	if o.Request == nil { // that of a dead letter is known
		o.Request = s.requestOf(r, o.Hospital)
	}
	got := receipt{durable: true}
	err := spendFacts(r.Context(), s, o)
	if err == nil {
		got.position, err = s.append(r.Context(), o, enterPatience)
	}
	if err != nil {
		if busy, ok := errors.AsType[*limit.Busy](err); ok {
			httpapi.Fail(w, r, *beyondShare(busy))
		} else if errors.Is(err, ErrTooLarge) {
			httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.TooLarge})
		} else {
			s.Shell.Log.WarnContext(r.Context(), "observation not appended", "hospital", o.Hospital, "error", err)
			httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Unavailable, RetryAfter: retryAfter})
		}
		return receipt{}, false
	}
	if seen, ok := w.(*statusWriter); ok {
		seen.kept = true
	}
	if in != nil {
		s.took(o, in, requestID(r), got.position)
	}
	if in != nil && respondAsync(r) { // an act waits: what it did is its answer
		w.Header().Set("Preference-Applied", "respond-async")
		return got, true
	}
	if got.change, err = s.applied(r.Context(), o.Hospital, got.position); err != nil {
		if !errors.Is(err, ErrPending) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			s.Shell.Log.ErrorContext(r.Context(), "waiting for the change ended", "hospital", o.Hospital, "error", err)
		}
		return got, true // durable: it will be applied
	}
	if got.change.Outcome == acuity.Rejected {
		s.Shell.Log.ErrorContext(r.Context(), "observation rejected",
			"hospital", o.Hospital, "position", got.position.String(), "reason", got.change.Reason)
		httpapi.Fail(w, r, httpapi.Problem{Kind: httpapi.Internal})
		return receipt{}, false
	}
	if !s.repeat(w, r, &got) {
		return receipt{}, false
	}
	got.applied = true
	ctx, cancel := context.WithTimeout(r.Context(), viewWait)
	defer cancel()
	s.View.Wait(ctx, o.Hospital, got.position)
	return got, true
}

// respondAsync reports whether the sender wants its answer as soon as the
// observation is durable, without what it did (RFC 7240): a feed that sends many
// thousand messages reads no verdict after each.
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
	entry, err := enter(ctx, s, o, patience)
	if err != nil {
		return Position{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	at, err := s.Log.Append(ctx, o)
	if err != nil {
		entry.Gone()
		return at, err //nolint:wrapcheck // says what and why
	}
	entry.Sent(at.Partition, at.Offset)
	return at, nil
}

func (s *server) applied(ctx context.Context, hospital string, p Position) (acuity.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, appliedWait)
	defer cancel()
	return s.Applied.Wait(ctx, hospital, p)
}
