package ingest

import (
	"net/http"
	"strconv"
	"strings"

	"svc/ingest/fhir"
	"svc/ingest/hl7"
	"svc/internal/httpapi"
)

// Notice names one rule that a message or body broke, or one warning about it. It says
// which message and where in it, and never holds a value of the message.
type Notice struct {
	Refused   bool   // false: it was accepted, with this warning
	ControlID string // of the HL7 message, as [showControlID] returns it; "": there is none
	Code      string // stable
	Path      string // "": the whole message or body
}

// maxNotices bounds the notices of one body.
const maxNotices = 100

// showControlID returns a control id that may be stored: the id itself, or its keyed
// pseudonym. Senders choose control ids freely, and some put patient numbers into them.
// An id is stored only if it looks like a counter, a time or a random number: it has a
// digit, and no word of more than four letters.
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
			digits = -len(id) // no counter and no random number has such a character
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
	leastHex     = 16 // hexadecimal digits in a row; so many may form words by chance
)

func requestID(r *http.Request) string { return httpapi.PlainRequestID(r.Context()) }

// refusals returns the notices of a request that was refused as a whole.
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
			r.addNotice(Notice{Code: i.Code, Path: i.Expression})
		}
	}
}

// allNotices returns all notices of a body that was read, its warnings among them.
func (r *reader) allNotices() []Notice {
	for _, w := range r.warnings {
		r.addNotice(Notice{ControlID: r.places.controlID(w.Path), Code: w.Code, Path: w.Path})
	}
	return r.drainNotices()
}

// drainNotices returns the collected notices and forgets them.
func (r *reader) drainNotices() []Notice {
	all := r.notices
	r.notices = nil
	return all
}

// placesForWarnings returns the places of the body, which the warnings of applying it
// need.
func (r *reader) placesForWarnings() *Places {
	kept := r.places
	kept.readWarnings = r.warnings
	return &kept
}
