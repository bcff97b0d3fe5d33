package ingest

import (
	"net/http"
	"path"
	"strconv"
	"strings"

	"svc/acuity"
	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
	"svc/internal/httpapi/problem"
)

// Intake describes one request or MLLP frame for the feed's counts. The change at Position contains the outcomes of
// what was appended: a single outcome, or one per message.
type Intake struct {
	Hospital string
	Channel  acuity.Channel
	Source   string // lineage of the key
	At       acuity.Instant

	Received int // number of HL7 messages; 1 for any other body
	Rejected int // number of messages that were refused before anything was appended
	Ignored  int // number of messages with nothing to store
	Warnings int
	Unused   int            // unused facts; each also has a warning
	Event    acuity.Instant // latest time in the facts; 0: none
	Position *Position      // nil: nothing was appended

	Request string   // id of the HTTP request; "": none, or chosen by the sender and not to be shown to others
	Notices []Notice // refused parts, and warnings from parsing the body
	Places  *Places  // for warnings from applying the observation; nil: nothing was appended
}

// intake returns an Intake with the fields that every observation has.
func intake(o *acuity.Observation, request string) Intake {
	return Intake{
		Hospital: o.Hospital, Channel: o.Channel, Source: o.Source, At: o.ReceivedAt, Received: 1, Request: request,
	}
}

// reportTaken reports an observation that was appended.
func (s *server) reportTaken(o *acuity.Observation, r *reader, request string, at Position) {
	if s.Received == nil {
		return
	}
	in := intake(o, request)
	in.Warnings, in.Unused, in.Event, in.Position = len(r.warnings)+r.warned, r.countUnused(), NewestTime(o), &at
	if o.Channel == acuity.ChannelHL7 {
		in.Received = len(o.Events)
	}
	in.Notices, in.Places = r.allNotices(), r.placesForWarnings()
	s.Received(in)
}

// reportRefused reports n messages that were refused before anything was appended.
func (s *server) reportRefused(o *acuity.Observation, request string, n int, notices ...Notice) {
	if s.Received == nil || n == 0 {
		return
	}
	in := intake(o, request)
	in.Received, in.Rejected, in.Notices = n, n, notices
	s.Received(in)
}

// reportIgnored reports a body that was accepted but has nothing to store.
func (s *server) reportIgnored(o *acuity.Observation, request string, notices ...Notice) {
	if s.Received == nil {
		return
	}
	in := intake(o, request)
	in.Ignored, in.Unused, in.Notices = 1, 1, notices
	s.Received(in)
}

// NewestTime returns the latest time in an observation's facts that is not after the time of receipt.
func NewestTime(o *acuity.Observation) (at acuity.Instant) {
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
	for i := range o.PastStaffing {
		take(o.PastStaffing[i].AsOf)
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

// countRefusal serves a request and reports it as refused if the response is an error. It does not report the following
// responses:
//
//   - 429, and server errors other than 501: the request is counted when it is sent again.
//   - 409, and any error after the observation was appended, for example because the observation exceeds a limit of the
//     hospital: the facts are in the log.
//   - 422 for HL7 and FHIR: their handlers report each refused message or resource.
func (s *server) countRefusal(w http.ResponseWriter, r *http.Request, serve func(w http.ResponseWriter)) {
	if s.Received == nil {
		serve(w)
		return
	}
	channel := acuity.Channel(path.Base(r.URL.Path))
	seen := &statusWriter{ResponseWriter: w}
	serve(seen)
	switch {
	case seen.kept, seen.status < http.StatusBadRequest,
		seen.status >= http.StatusInternalServerError && seen.status != problem.NotSupported.Status(),
		seen.status == problem.Conflict.Status(), seen.status == problem.RateLimited.Status():
	case (channel == acuity.ChannelHL7 || channel == acuity.ChannelFHIR) && seen.status == problem.Unprocessable.Status():
	default:
		s.reportRefused(s.observe(r, channel), requestID(r), 1, refusals(r)...)
	}
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
	kept   bool // whether the observation was appended
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] access to the writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Notice is a broken rule or a warning, with its position in the message or body. It never contains a value from the
// message.
type Notice struct {
	Refused   bool   // false: accepted, with this warning
	ControlID string // control id of the HL7 message, from [showControlID]; "": none
	Code      string // stable
	Path      string // "": the whole message or body
	Event     string // trigger event, such as A05, of an HL7 message without effect; "" for any other notice
}

// maxNotices is the maximum number of notices for one body.
const maxNotices = 100

// showControlID returns a control id that may be stored: the id itself, or a keyed pseudonym of it. Senders choose
// control ids freely, and some put patient numbers into them. An id is stored only if it has at most 64 characters
// and the form of a counter, a time or a random number: it has a digit, and no word of more than four letters unless
// it is a hexadecimal number of at least 16 characters.
func showControlID(id string, pseudonym func(kind, value string) string) string {
	digits, letters, word, hex := 0, 0, 0, true
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= '0' && c <= '9':
			digits, letters = digits+1, 0
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			letters++
			word, hex = max(word, letters), hex && (c|0x20) <= 'f'
		case strings.IndexByte("._:/+={}-", c) >= 0:
			letters = 0
		default:
			digits = -len(id) // no counter or random number contains such a character
		}
	}
	plain := digits > 0 && (word <= maxWord || hex && len(id) >= leastHex) && len(id) <= maxControlID
	if id == "" || plain {
		return id
	}
	return pseudonym("control", id)
}

const (
	maxControlID = 64
	maxWord      = 4  // letters
	leastHex     = 16 // characters; a shorter hexadecimal number may contain a word
)

func requestID(r *http.Request) string { return httpapi.PlainRequestID(r.Context()) }

// refusals returns the notices for a request that was refused as a whole.
func refusals(r *http.Request) (all []Notice) {
	refusal := httpapi.Refusal(r.Context())
	for _, d := range refusal.Details {
		all = append(all, Notice{Refused: true, Code: d.Rule, Path: d.Path})
	}
	if all == nil {
		all = []Notice{{Refused: true, Code: strconv.Itoa(refusal.Kind.Status())}}
	}
	return all
}

// addNotice adds a notice about the body, up to maxNotices.
func (r *reader) addNotice(n Notice) {
	if len(r.notices) < maxNotices {
		r.notices = append(r.notices, n)
	}
}

// refuseMessage adds a notice about the fault for which an HL7 message is refused.
func (r *reader) refuseMessage(f *hl7.Fault, path, controlID string) {
	r.addNotice(Notice{Refused: true, ControlID: showControlID(controlID, r.pseudonym), Code: f.Name(), Path: path + f.Place()})
}

// issues adds notices about faulty FHIR resources.
func (r *reader) issues(all []fhir.Issue) {
	for _, i := range all {
		switch i.Severity {
		case "error":
			r.addNotice(Notice{Refused: true, Code: i.Code, Path: i.Expression})
		case "warning":
			r.warned++
			if isUnused(i.Code) {
				r.unused++
			}
			r.addNotice(Notice{Code: i.Code, Path: i.Expression})
		}
	}
}

// allNotices returns all notices about a body, including its warnings.
func (r *reader) allNotices() []Notice {
	for _, w := range r.warnings {
		r.addNotice(Notice{ControlID: r.places.controlID(w.Path), Code: w.Code, Path: w.Path, Event: r.places.triggerEvent(w)})
	}
	return r.drainNotices()
}

// drainNotices returns and clears the collected notices.
func (r *reader) drainNotices() []Notice {
	all := r.notices
	r.notices = nil
	return all
}

// placesForWarnings returns the places of the body's facts, to which the warnings from applying these facts refer.
func (r *reader) placesForWarnings() *Places {
	kept := r.places
	kept.ReadWarnings = r.warnings
	return &kept
}
