package ingest

import (
	"net/http"
	"path"

	"svc/acuity"
	"svc/internal/httpapi"
)

// Intake is what one request, or one frame of MLLP, came to: for the counts of its
// feed. What became of the messages that were kept, the change at Position tells:
// one outcome, or if there are several messages one for each.
type Intake struct {
	Hospital string
	Channel  acuity.Channel
	Source   string // lineage of the key
	At       acuity.Instant

	Received int // messages of HL7, else one body
	Rejected int // of them, before anything was kept
	Ignored  int // of them, since they hold nothing that could be kept
	Warnings int
	Event    acuity.Instant // newest time that it tells of; 0: none
	Position *Position      // nil: nothing was kept

	Request string   // id of the request over HTTP; "": by another way, or its sender made up one that is not told
	Notices []Notice // of what was refused, and of the warnings of reading it
	Places  *Places  // for the warnings of applying what was kept; nil: nothing was kept
}

// intake begins what is told of an observation.
func intake(o *acuity.Observation, request string) Intake {
	return Intake{
		Hospital: o.Hospital, Channel: o.Channel, Source: o.Source, At: o.ReceivedAt, Received: 1, Request: request,
	}
}

// took tells of what was kept.
func (s *server) took(o *acuity.Observation, r *reader, request string, at Position) {
	if s.Took == nil {
		return
	}
	in := intake(o, request)
	in.Warnings, in.Event, in.Position = len(r.warnings)+r.warned, newest(o), &at
	if o.Channel == acuity.ChannelHL7 {
		in.Received = len(o.Events)
	}
	in.Notices, in.Places = r.noticed(), r.keptPlaces()
	s.Took(in)
}

// refused tells of n messages of which nothing was kept.
func (s *server) refused(o *acuity.Observation, request string, n int, notices ...Notice) {
	if s.Took == nil || n == 0 {
		return
	}
	in := intake(o, request)
	in.Received, in.Rejected, in.Notices = n, n, notices
	s.Took(in)
}

// passed tells of a body that was taken and holds nothing that could be kept.
func (s *server) passed(o *acuity.Observation, request string, notices ...Notice) {
	if s.Took == nil {
		return
	}
	in := intake(o, request)
	in.Ignored, in.Notices = 1, notices
	s.Took(in)
}

// newest is the newest time that an observation tells of, not after its receipt.
func newest(o *acuity.Observation) (at acuity.Instant) {
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

// counted serves a request and tells if its body was refused, by the status of the
// answer. A request that is refused because its hospital has sent too much (429) is
// judged when it comes again. One that is refused because another came under its identity
// (409), or because there was no room for what it says, was kept; of HL7 that is refused message by message, and of FHIR
// that is refused resource by resource (422), the handler itself tells.
func (s *server) counted(w http.ResponseWriter, r *http.Request, serve func(w http.ResponseWriter)) {
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
		s.refused(s.observe(r, channel), requestID(r), 1, refusals(r)...)
	}
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	kept   bool // the observation is in the log
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
