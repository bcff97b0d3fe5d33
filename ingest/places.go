package ingest

import (
	"slices"
	"strconv"
	"strings"

	"svc/acuity"
)

// Places maps paths in an observation to paths in the body from which the observation was made. The code that applies
// an observation knows only paths in the observation.
type Places struct {
	// The observation contains only those events of the body that were not refused. list is the name of the body's
	// list of events. origins contains, for each event of the observation, its index in that list.
	list    string
	origins []int

	controlIDs   []string                        // control ids of HL7 messages, in the order of the body
	triggers     []string                        // trigger events of the messages
	adt          bool                            // whether the body contains events of the JSON feeds
	encounters   []string                        // FHIR only: for each event, the resource from which it was made
	resource     func(list string, i int) string // FHIR only: returns the resource from which element i of a list was made
	ReadWarnings []acuity.Warning                // warnings that were reported while the body was parsed
	pseudonym    func(kind, value string) string
}

// Events returns the number of events for which p has places, at least 1.
func (p *Places) Events() int { return max(len(p.origins), len(p.controlIDs), len(p.encounters), 1) }

// Notice returns the notice for a warning from applying the observation, or false if the same warning has already
// been reported.
func (p *Places) Notice(w acuity.Warning) (Notice, bool) {
	path := p.locateWarning(w)
	if p.resource != nil {
		path = p.encounter(w)
	}
	if slices.ContainsFunc(p.ReadWarnings, func(t acuity.Warning) bool { return t.Code == w.Code && strings.HasPrefix(t.Path, path) }) {
		return Notice{}, false
	}
	return Notice{ControlID: p.controlID(path), Code: w.Code, Path: path}, true
}

// Refusal returns the notice for event i of the observation, which was not applied.
func (p *Places) Refusal(i int, reason string) Notice {
	n, _ := p.Notice(acuity.Warning{Code: reason, Path: item("events", i)})
	n.Refused, n.Code = true, reason
	return n
}

// ControlID returns the control id of the message if the body has exactly one message, and "" if not.
func (p *Places) ControlID() string {
	if len(p.controlIDs) != 1 {
		return ""
	}
	return showControlID(p.controlIDs[0], p.pseudonym)
}

// locate returns the path in the body for a path in the observation.
func (p *Places) locate(path string) string {
	n, rest, ok := eventPath(path)
	if !ok || n >= len(p.origins) {
		return path
	}
	return item(p.list, p.origins[n]) + rest
}

// locateWarning returns the path in the body for a warning from applying the observation. A warning about a whole
// event gets the path of the field that caused it.
func (p *Places) locateWarning(w acuity.Warning) string {
	path, place := p.locate(w.Path), ""
	_, rest, of := eventPath(w.Path)
	if w.Path == "" && len(p.origins) == 1 { // the observation has one event, so the warning is about that event
		path = item(p.list, p.origins[0])
	}
	if about := placeOfWarning[w.Code]; p.encounters == nil && (w.Path == "" || of && rest == "") {
		switch {
		case p.triggers != nil:
			place = about.hl7
		case p.adt:
			place = about.adt
		}
	}
	if path != "" && place != "" {
		place = "." + place
	}
	return path + place
}

// placeOfWarning maps a warning from applying an event to the field that it concerns, in HL7 and in a JSON event.
var placeOfWarning = map[string]struct{ hl7, adt string }{
	"account_shared":           {"PID-18", ""},
	"admit_cancelled":          {"PV1-19", "visitId"},
	"already_discharged":       {"PV1-19", "visitId"},
	"bed_without_room":         {"PV1-3", "location"},
	"cancel_too_late":          {"EVN-6", "cancelsOccurredAt"},
	"cancelled":                {"EVN", "occurredAt"},
	"cancel_waiting":           {"EVN-6", "cancelsOccurredAt"},
	"census_newer":             {"EVN", "occurredAt"},
	"discharge_waiting":        {"PV1-19", "visitId"},
	"event_id_reused":          {"", "eventId"},
	"event_too_old":            {"EVN", "occurredAt"},
	"facility_differs":         {"PV1-3", "location"},
	"location_missing":         {"PV1-3", "location"},
	"location_without_room":    {"PV1-3", "location"},
	"outside_unit":             {"PV1-3", "location"},
	"place_differs":            {"PV1-3", "location"},
	"preadmission":             {"PV1-2", "patientClass"},
	"prior_place_differs":      {"PV1-6", "priorLocation"},
	"room_by_number":           {"PV1-3", "location"},
	"room_label_differs":       {"PV1-3", "roomLabel"},
	"same_room":                {"PV1-3", "location"},
	"several_open_visits":      {"PV1-19", "visitId"},
	"statement_older":          {"DG1", "diagnoses"},
	"time_in_future":           {"EVN", "occurredAt"},
	"transfer_after_discharge": {"EVN", "occurredAt"},
	"update_waiting":           {"PV1-19", "visitId"},
	"visit_unknown":            {"PV1-19", "visitId"},
}

// eventPath splits a path of the observation into the index of an event and the rest.
func eventPath(path string) (n int, rest string, ok bool) { return pathIn("events", path) }

// pathIn splits a path into the index of an element of the list and the rest.
func pathIn(list, path string) (n int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, list+"[")
	digits, rest, cut := strings.Cut(rest, "]")
	n, err := strconv.Atoi(digits)
	return n, rest, ok && cut && err == nil && n >= 0
}

// part returns the part of the body to which a path of the observation belongs.
func (p *Places) part(path string) string {
	n, _, event := eventPath(path)
	s, _, signal := pathIn("signals", path)
	switch {
	case event && n < len(p.encounters):
		return p.encounters[n]
	case signal && p.resource != nil:
		return p.resource("signals", s)
	case event && n == 0 && p.list == "": // the body is a single event
		return ""
	}
	return p.locate(path)
}

// statementWarnings are the warnings that concern facts about a visit or a patient, not events.
var statementWarnings = []string{"reference_waiting", "value_unreadable"}

// encounter returns the path of the FHIR resource that a warning is about or, if that resource is unknown, the path
// in the warning.
func (p *Places) encounter(w acuity.Warning) string {
	n, _, ok := eventPath(w.Path)
	s, _, signal := pathIn("signals", w.Path)
	r, _, reference := pathIn("references", w.Path)
	switch {
	case ok && n < len(p.encounters):
		return p.encounters[n]
	case signal && p.resource != nil:
		path := p.resource("signals", s)
		if w.Code == "subject_differs" {
			path += ".subject"
		}
		return path
	case reference && p.resource != nil:
		return p.resource("references", r)
	case w.Path == "" && len(p.encounters) == 1 && !slices.Contains(statementWarnings, w.Code):
		return p.encounters[0]
	}
	return w.Path
}
