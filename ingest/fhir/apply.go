package fhir

import (
	"slices"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// apply makes the facts. Encounters come first, so that the other resources find their
// visits in any order.
func (d *decoder) apply() {
	d.identify()
	statements, visits := len(d.components), 0
	for n := range d.resources {
		switch k := d.resources[n].kind; {
		case k == encounterKind:
			visits++
		case k.applied():
			statements++
		}
	}
	d.facts.Signals = make([]acuity.Signal, 0, statements)
	d.facts.Events = make([]acuity.Event, 0, 2*visits) // one admission and one discharge each
	for n := range d.resources {
		if r := &d.resources[n]; r.kind == encounterKind && !r.contained {
			d.count(r, d.encounter)
		}
	}
	for n := range d.resources {
		if r := &d.resources[n]; r.kind.named() && !r.contained {
			d.count(r, d.referable)
		}
	}
	for n := range d.resources {
		if r := &d.resources[n]; !r.contained {
			switch r.kind { //nolint:exhaustive // the others are done, or no facts
			case conditionKind:
				d.count(r, d.condition)
			case observationKind:
				d.count(r, d.observation)
			case administrationKind:
				d.count(r, d.administration)
			}
		}
	}
}

// count makes the facts of one resource and counts its result.
func (d *decoder) count(r *resource, facts func(*resource) bool) {
	applied := false
	switch {
	case r.rejected:
	case r.superseded:
		d.issue(r, severityInformation, "superseded", "")
	default:
		applied = facts(r)
	}
	switch {
	case r.rejected:
		d.settle(r.container, r.index, EntryRejected)
	case applied:
		d.settle(r.container, r.index, EntryApplied)
	}
	if !r.url.empty() && r.deleted {
		return // the entry had no resource (H13)
	}
	switch {
	case r.rejected:
		d.facts.Rejected++
	case !applied:
		d.facts.Ignored++
	default:
		d.facts.addApplied(r.kind, 1)
	}
}

// stateOf returns the status of a resource. A deleted one counts as entered in error
// (F9).
func (d *decoder) stateOf(r *resource) []byte {
	if r.deleted {
		return []byte("entered-in-error")
	}
	if r.status.empty() {
		d.reject(r, "required", "status")
	}
	return d.bytes(r.status)
}

// stateIn returns the meaning of a resource's status. It returns false for a status
// without one: the code "unknown", or a silent one. Any other status makes the resource
// unusable.
func stateIn[S any](d *decoder, r *resource, states map[string]S, silent ...string) (state S, ok bool) {
	status := string(d.stateOf(r))
	if r.rejected {
		return state, false
	}
	state, ok = states[status]
	if !ok && status != "unknown" && !slices.Contains(silent, status) {
		d.reject(r, "status_unknown", "status")
	}
	return state, ok
}

// signal starts the signal of a resource: its patient, its identity and version. It
// returns false if the signal has no patient; only a retraction may lack one.
func (d *decoder) signal(r *resource, k catalogue.SignalKind, status acuity.SignalStatus) (acuity.Signal, bool) {
	s := acuity.Signal{Kind: k, Status: status, Resource: d.resourceOf(r)}
	s.Visit = d.visitOf(&r.encounter, r)
	s.Patient, s.Subject, _ = d.patientOf(&r.subject, r)
	s.UpdatedAt = d.time(r, r.updated, "meta.lastUpdated")
	if s.Visit == "" && s.Patient == "" && status != acuity.SignalRetracted {
		d.reject(r, "required", "subject")
		return s, false
	}
	return s, true
}

// coded adds codings to a signal. It returns false if there are none; only a retraction
// may lack them.
func (d *decoder) coded(r *resource, s *acuity.Signal, codings []acuity.Coding, field string) bool {
	if len(codings) == 0 {
		if s.Status == acuity.SignalRetracted {
			return true
		}
		d.reject(r, "code_missing", field)
		return false
	}
	s.System, s.Code, s.Display = codings[0].System, codings[0].Code, codings[0].Display
	if len(codings) > 1 {
		s.Also = codings[1:]
	}
	return true
}

// say adds a signal to the facts.
func (d *decoder) say(r *resource, s acuity.Signal) {
	d.facts.Signals = append(d.facts.Signals, s)
	d.facts.signalOrigins = append(d.facts.signalOrigins, originOf(r))
}
