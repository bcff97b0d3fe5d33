package ingest

import (
	"net/http"
	"path"

	"svc/acuity"
	"svc/internal/httpapi"
)

// Intake describes what came in with one request, or one MLLP frame. The counts of the
// feed use it. The change at Position has the outcome of what was appended: one outcome,
// or one for each of several messages.
type Intake struct {
	Hospital string
	Channel  acuity.Channel
	Source   string // lineage of the key
	At       acuity.Instant

	Received int // number of HL7 messages; for any other body 1
	Rejected int // how many of them were refused before anything was appended
	Ignored  int // how many of them hold nothing that could be stored
	Warnings int
	Event    acuity.Instant // newest time in the facts; 0: none
	Position *Position      // nil: nothing was appended

	Request string   // id of the HTTP request; "": it came another way, or its sender made the id up and others must not see it
	Notices []Notice // about refused parts, and the warnings of reading the body
	Places  *Places  // for the warnings of applying the observation; nil: nothing was appended
}

// intake returns an Intake with what every observation has.
func intake(o *acuity.Observation, request string) Intake {
	return Intake{
		Hospital: o.Hospital, Channel: o.Channel, Source: o.Source, At: o.ReceivedAt, Received: 1, Request: request,
	}
}

// reportTaken reports an observation that was appended.
func (s *server) reportTaken(o *acuity.Observation, r *reader, request string, at Position) {
	if s.Took == nil {
		return
	}
	in := intake(o, request)
	in.Warnings, in.Event, in.Position = len(r.warnings)+r.warned, newestTime(o), &at
	if o.Channel == acuity.ChannelHL7 {
		in.Received = len(o.Events)
	}
	in.Notices, in.Places = r.allNotices(), r.placesForWarnings()
	s.Took(in)
}

// reportRefused reports n messages that were refused before anything was appended.
func (s *server) reportRefused(o *acuity.Observation, request string, n int, notices ...Notice) {
	if s.Took == nil || n == 0 {
		return
	}
	in := intake(o, request)
	in.Received, in.Rejected, in.Notices = n, n, notices
	s.Took(in)
}

// reportIgnored reports a body that was accepted but holds nothing that could be stored.
func (s *server) reportIgnored(o *acuity.Observation, request string, notices ...Notice) {
	if s.Took == nil {
		return
	}
	in := intake(o, request)
	in.Ignored, in.Notices = 1, notices
	s.Took(in)
}

// newestTime is the newest time in the facts of an observation, not after its receipt.
func newestTime(o *acuity.Observation) (at acuity.Instant) {
	take := func(t acuity.Instant) {
		if t <= o.ReceivedAt {
			at = max(at, t)
		}
	}
	for i := range o.Events {
		take(o.Events[i].At)
	}
	for i := range o.Signals {
		take(o.Signals[i].ObservedAt)
		take(o.Signals[i].StartedAt)
	}
	switch {
	case o.Census != nil:
		take(o.Census.AsOf)
	case o.Staffing != nil:
		take(o.Staffing.AsOf)
	case o.Roster != nil:
		take(o.Roster.AsOf)
	}
	return at
}

// countRefusal serves a request and reports it as refused, if the status of the answer
// says so. A hospital over its share (429) does not count: its request is judged when
// it comes again. Two more refusals do not count, because their facts are in the log.
// One repeats the identity of another request (409). The other exceeds a limit of the
// hospital. Two handlers report their refusals (422) themselves: HL7 for each message,
// FHIR for each resource.
func (s *server) countRefusal(w http.ResponseWriter, r *http.Request, serve func(w http.ResponseWriter)) {
	if s.Took == nil {
		serve(w)
		return
	}
	channel := acuity.Channel(path.Base(r.URL.Path))
	seen := &statusWriter{ResponseWriter: w}
	serve(seen)
	switch {
	case seen.kept, seen.status < http.StatusBadRequest, seen.status >= http.StatusInternalServerError,
		seen.status == httpapi.Conflict.Status(), seen.status == httpapi.RateLimited.Status():
	case (channel == acuity.ChannelHL7 || channel == acuity.ChannelFHIR) && seen.status == httpapi.Unprocessable.Status():
	default:
		s.reportRefused(s.observe(r, channel), requestID(r), 1, refusals(r)...)
	}
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	kept   bool // the observation was appended
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
