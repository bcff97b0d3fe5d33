package ingest

import (
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
)

// Places leads from the paths of an observation back to those of the body that it
// was made from. Whoever applies an observation knows its paths alone.
type Places struct {
	// Of several events in one body some may be refused; the observation has
	// the others. list is what the events are called in the body, origins are
	// the places there of those in the observation.
	list    string
	origins []int

	controlIDs []string           // of HL7 messages, in the order of the body
	encounters []string           // of FHIR: the resource that each event was made from
	resource   func(i int) string // of FHIR: the resource that a signal was made from
	told       []acuity.Warning   // while the body was read
	pseudonym  func(kind, value string) string
}

// Events is how many events of the body the places are kept of.
func (p *Places) Events() int { return max(len(p.origins), len(p.controlIDs), len(p.encounters), 1) }

// Notice is a warning of applying the observation; false if it was told already.
func (p *Places) Notice(w acuity.Warning) (Notice, bool) {
	path := p.locate(w.Path)
	if p.encounters != nil {
		path = p.encounter(w)
	}
	if slices.ContainsFunc(p.told, func(t acuity.Warning) bool { return t.Code == w.Code && strings.HasPrefix(t.Path, path) }) {
		return Notice{}, false
	}
	return Notice{ControlID: p.controlID(path), Code: w.Code, Path: path}, true
}

// Refusal is the notice of event i of the observation, which was not applied.
func (p *Places) Refusal(i int, reason string) Notice {
	n, _ := p.Notice(acuity.Warning{Code: reason, Path: item("events", i)})
	n.Refused, n.Code = true, reason
	return n
}

// ControlID is that of the message, if there is one alone.
func (p *Places) ControlID() string {
	if len(p.controlIDs) != 1 {
		return ""
	}
	return showControlID(p.controlIDs[0], p.pseudonym)
}

// locate returns the path in the body of a path in the observation.
func (p *Places) locate(path string) string {
	n, rest, ok := eventPath(path)
	if !ok || n >= len(p.origins) {
		return path
	}
	return item(p.list, p.origins[n]) + rest
}

// eventPath takes a path of the observation apart: the number of the event, and what
// lies below it.
func eventPath(path string) (n int, rest string, ok bool) { return pathIn("events", path) }

// pathIn does the same for an element of any list.
func pathIn(list, path string) (n int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, list+"[")
	digits, rest, cut := strings.Cut(rest, "]")
	n, err := strconv.Atoi(digits)
	return n, rest, ok && cut && err == nil && n >= 0
}

// part returns the part of the body that a path of the observation is.
func (p *Places) part(path string) string {
	n, _, event := eventPath(path)
	s, _, signal := pathIn("signals", path)
	switch {
	case event && n < len(p.encounters):
		return p.encounters[n]
	case signal && p.resource != nil:
		return p.resource(s)
	case event && n == 0 && p.list == "": // there is one alone
		return ""
	}
	return p.locate(path)
}

// ofStatements are the warnings of the domain that are about no event, but about what
// was said of a visit or a patient.
var ofStatements = []string{"reference_waiting", "value_unreadable"}

// encounter returns the resource that a warning is about, as far as it is known.
func (p *Places) encounter(w acuity.Warning) string {
	n, _, ok := eventPath(w.Path)
	switch {
	case ok && n < len(p.encounters):
		return p.encounters[n]
	case w.Path == "" && len(p.encounters) == 1 && !slices.Contains(ofStatements, w.Code):
		return p.encounters[0]
	}
	return w.Path
}

// controlID returns the control id of the message that a path of the body is in, as
// it is kept.
func (p *Places) controlID(path string) string {
	n := 0
	if p.list != "" || len(p.controlIDs) != 1 {
		rest, ok := strings.CutPrefix(path, "messages[")
		digits, _, _ := strings.Cut(rest, "]")
		var err error
		if n, err = strconv.Atoi(digits); !ok || err != nil || n < 0 || n >= len(p.controlIDs) {
			return ""
		}
	}
	return showControlID(p.controlIDs[n], p.pseudonym)
}
