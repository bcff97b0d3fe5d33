package fhir

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// mapper makes the facts of a document.
type mapper struct {
	*document
	index
	terms
	id []byte // identity of the event in the making
}

// apply makes the facts. Encounters come first, so that the other resources find their
// visits in any order.
func (m *mapper) apply() {
	m.identify()
	statements, visits := len(m.components), 0
	for n := range m.resources {
		switch k := m.resources[n].kind; {
		case k == encounterKind:
			visits++
		case k.applied():
			statements++
		}
	}
	m.facts.Signals = make([]acuity.Signal, 0, statements)
	m.facts.Events = make([]acuity.Event, 0, 2*visits) // one admission and one discharge each
	for n := range m.resources {
		if r := &m.resources[n]; r.kind == encounterKind && !r.contained {
			m.count(r, m.encounter)
		}
	}
	for n := range m.resources {
		if r := &m.resources[n]; r.kind.named() && !r.contained {
			m.count(r, m.referable)
		}
	}
	for n := range m.resources {
		if r := &m.resources[n]; !r.contained {
			switch r.kind { //nolint:exhaustive // the others are done, or no facts
			case conditionKind:
				m.count(r, m.condition)
			case observationKind:
				m.count(r, m.observation)
			case administrationKind:
				m.count(r, m.administration)
			}
		}
	}
}

// count makes the facts of one resource and counts its result.
func (m *mapper) count(r *resource, facts func(*resource) bool) {
	applied := false
	switch {
	case r.rejected:
	case r.superseded:
		m.issue(r, severityInformation, "superseded", "")
	default:
		applied = facts(r)
	}
	switch {
	case r.rejected:
		m.settle(r.container, r.index, EntryRejected)
	case applied:
		m.settle(r.container, r.index, EntryApplied)
	}
	if !r.url.empty() && r.deleted {
		return // the entry had no resource (H13)
	}
	switch {
	case r.rejected:
		m.facts.Rejected++
	case !applied:
		m.facts.Ignored++
	default:
		m.facts.addApplied(r.kind, 1)
	}
}

// stateOf returns the status of a resource. A deleted one counts as entered in error
// (F9).
func (m *mapper) stateOf(r *resource) []byte {
	if r.deleted {
		return []byte("entered-in-error")
	}
	if r.status.empty() {
		m.reject(r, "required", "status")
	}
	return m.bytes(r.status)
}

// stateIn returns the meaning of a resource's status. It returns false for a status
// without one: the code "unknown", or a silent one. Any other status makes the resource
// unusable.
func stateIn[S any](m *mapper, r *resource, states map[string]S, silent ...string) (state S, ok bool) {
	status := string(m.stateOf(r))
	if r.rejected {
		return state, false
	}
	state, ok = states[status]
	if !ok && status != "unknown" && !slices.Contains(silent, status) {
		m.reject(r, "status_unknown", "status")
	}
	return state, ok
}

// signal starts the signal of a resource: its patient, its identity and version. It
// returns false if the signal has no patient; only a retraction may lack one.
func (m *mapper) signal(r *resource, k catalogue.SignalKind, status acuity.SignalStatus) (acuity.Signal, bool) {
	s := acuity.Signal{Kind: k, Status: status, Resource: m.resourceOf(r)}
	s.Visit = m.visitOf(&r.encounter, r)
	s.Patient, s.Subject, _ = m.patientOf(&r.subject, r)
	s.UpdatedAt = m.time(r, r.updated, "meta.lastUpdated")
	if s.Visit == "" && s.Patient == "" && status != acuity.SignalRetracted {
		m.reject(r, "required", "subject")
		return s, false
	}
	return s, true
}

// coded adds codings to a signal. It returns false if there are none; only a retraction
// may lack them.
func (m *mapper) coded(r *resource, s *acuity.Signal, codings []acuity.Coding, field string) bool {
	if len(codings) == 0 {
		if s.Status == acuity.SignalRetracted {
			return true
		}
		m.reject(r, "code_missing", field)
		return false
	}
	s.System, s.Code, s.Display = codings[0].System, codings[0].Code, codings[0].Display
	if len(codings) > 1 {
		s.Also = codings[1:]
	}
	return true
}

// say adds a signal to the facts.
func (m *mapper) say(r *resource, s acuity.Signal) {
	m.facts.Signals = append(m.facts.Signals, s)
	m.facts.signalOrigins = append(m.facts.signalOrigins, originOf(r))
}
