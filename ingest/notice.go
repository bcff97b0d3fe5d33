package ingest

import (
	"net/http"
	"strconv"
	"strings"

	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

// Notice names one rule that a message or body broke, or one warning about it. It
// tells which message that was and where in it, and no value of it.
type Notice struct {
	Refused   bool   // else it was taken, with a warning
	ControlID string // of the HL7 message, as [showControlID] has it; "": there is none
	Code      string // stable
	Path      string // where; "": the whole
}

// maxNotices bounds the notices of one body.
const maxNotices = 100

// showControlID returns a control id as it is kept: itself, or else its keyed
// pseudonym. Control ids are text of the sender, and some senders put numbers of
// patients into them. One is kept only if it looks like a counter, a time or a random
// number: it has a digit, and no word of more than four letters.
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
			digits = -len(id) // neither counts nor random numbers have others
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
	leastHex     = 16 // digits of what may be letters in a row all the same
)

func requestID(r *http.Request) string { return httpapi.PlainRequestID(r.Context()) }

// refusals are the notices of a request that was refused as a whole.
func refusals(r *http.Request) (all []Notice) {
	problem := httpapi.Refusal(r.Context())
	for _, d := range problem.Details {
		all = append(all, Notice{Refused: true, Code: d.Rule, Path: d.Path})
	}
	if all == nil {
		all = []Notice{{Refused: true, Code: strconv.Itoa(problem.Kind.Status())}}
	}
	return all
}

// notice adds to what is told of a body.
func (r *reader) notice(n Notice) {
	if len(r.notices) < maxNotices {
		r.notices = append(r.notices, n)
	}
}

// refuseMessage notes why a message of HL7 is refused.
func (r *reader) refuseMessage(f *hl7.Fault, path, controlID string) {
	r.notice(Notice{Refused: true, ControlID: showControlID(controlID, r.pseudonym), Code: f.Name(), Path: path + f.Place()})
}

// issues notes what is wrong with resources of FHIR.
func (r *reader) issues(all []fhir.Issue) {
	for _, i := range all {
		switch i.Severity {
		case "error":
			r.notice(Notice{Refused: true, Code: i.Code, Path: i.Expression})
		case "warning":
			r.warned++
			r.notice(Notice{Code: i.Code, Path: i.Expression})
		}
	}
}

// noticed returns all notices of a body that was read.
func (r *reader) noticed() []Notice {
	for _, w := range r.warnings {
		r.notice(Notice{ControlID: r.places.controlID(w.Path), Code: w.Code, Path: w.Path})
	}
	return r.refusals()
}

// refusals returns the notices that were collected, once.
func (r *reader) refusals() []Notice {
	all := r.notices
	r.notices = nil
	return all
}

// keptPlaces is what the warnings of applying a body need of it.
func (r *reader) keptPlaces() *Places {
	kept := r.places
	kept.told = r.warnings
	return &kept
}
