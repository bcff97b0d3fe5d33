// Package fhir turns FHIR R4 resources into facts. Encounters become ADT events. Conditions, Observations and
// MedicationAdministrations become signals. Medications, Locations and Patients become facts that other resources
// refer to.
//
// It accepts any Bundle, one resource, an array of resources, or {"resources": […]}. It decodes only the fields that
// svc uses; names, birth dates, addresses and narratives are never stored. An error in one resource is reported as an
// [Issue] for that resource and does not affect the others. A syntax error anywhere is a [Fault] of the whole body.
package fhir

import (
	"math"
	"slices"
	"strconv"
	"time"

	"svc/acuity"
	"svc/internal/httpapi/syntax"
)

// Options holds the data that [Decode] needs in addition to the body.
type Options struct {
	// Pseudonym returns the keyed pseudonym of a value. Values of different kinds never share a pseudonym.
	Pseudonym  func(kind, value string) string
	Zone       *time.Location // zone of the hospital, for times without an offset
	ReceivedAt acuity.Instant
	// IfNoneExist, IfNoneMatch and IfMatch are the conditional request headers for a body that is a single resource.
	IfNoneExist, IfNoneMatch, IfMatch string

	Source string // lineage of the API key; resource ids are unique within it (docs/decisions.md#resource-identity)
}

// Facts holds the facts of a body, and the counts and issues that are reported to its sender.
type Facts struct {
	Events  []acuity.Event  // from Encounters, in the order of the body
	Places  []string        // path of each event's Encounter, in the form of Issue.Expression
	Signals []acuity.Signal // from Conditions, Observations and MedicationAdministrations

	Creates []acuity.Create // conditional creates: the facts above that apply only if their resource is new

	References []acuity.Reference // Medications, Locations and Patients to which other resources may refer

	// Received is the number of resources: the sum of Applied, Existing, Ignored and Rejected. Existing counts
	// conditional creates of resources that already exist; it is known only once the facts are applied.
	Received, Applied, Existing, Ignored, Rejected int

	Encounters, Measurements, Conditions int // included in Applied; a measurement is an Observation or a MedicationAdministration

	Issues []Issue

	// eventOrigins, signalOrigins and referenceOrigins are the positions of the resources from which the events,
	// signals and references were made, in the same order.
	eventOrigins, signalOrigins, referenceOrigins []origin
	containers                                    []container
	refused                                       map[origin]bool

	// Bundle is the type of the Bundle; "" if the body is not a Bundle or the Bundle has no type. Entries holds the
	// result of each entry.
	Bundle  string
	Entries []Entry
}

// Entry is the result of one entry of a Bundle.
type Entry uint8

// The results of an entry. An ignored entry has no resource, or its resource was not applied although it contains no
// error, for example because svc does not use its type.
const (
	EntryIgnored Entry = iota
	EntryApplied
	EntryExists // a conditional create of a known resource
	EntryRejected
	EntryNotAllowed   // the request is a GET or HEAD
	EntryNotSupported // the request is not supported
)

// Issue reports a problem in one resource to the sender.
type Issue struct {
	Severity   string // "error" (the resource was rejected), "warning" or "information"
	Code       string // stable
	Expression string // FHIRPath expression, such as Bundle.entry[3].resource.code
}

// Severities of an [Issue].
const (
	severityError       = "error"
	severityWarning     = "warning"
	severityInformation = "information"
)

// Fault is the reason for refusing a whole body. It contains no values from the body.
type Fault struct {
	Path, Rule string
	TooLarge   bool // whether the body exceeds a limit
	// Issues lists the errors in a transaction that was refused because it contains an unsupported request.
	Issues []Issue
}

func (f *Fault) Error() string { return "fhir: " + f.Rule + " at " + f.Path }

// Limits of one body. Elements of a resource that exceed a limit are omitted and reported as an issue.
const (
	MaxResources  = 5_000   // resources of the types that svc uses
	MaxFacts      = 5_000   // one resource can yield several facts: the events of an Encounter, the components of an Observation
	maxStored     = 100_000 // codings, identifiers, components and locations together
	maxIssues     = 1_000
	maxCodings    = 20  // in one concept
	maxComponents = 100 // in one Observation
	maxLocations  = 100 // in one Encounter
	maxIdentifier = 20  // in one resource
	maxContained  = 50  // in one resource
	maxReasons    = 20  // in one Encounter
	maxNested     = 2   // maximum nesting depth of Bundles, in each other or in a list
	maxTypes      = 200 // types of unused resources that are reported to the sender
	maxItems      = 50  // ingredients of one Medication
)

// Limits of stored text, in bytes.
const (
	maxCode    = 64
	maxPlace   = 80
	maxService = 40
	maxID      = 256
	maxText    = 2000 // free text, before it is reduced to the words that rules use
)

// Decode parses all resources of a body before it creates facts, so that a resource can refer to any other resource
// of the body. It returns a [Fault] if the whole body cannot be used.
func Decode(body []byte, o Options) (*Facts, *Fault) {
	if len(body) > math.MaxInt32 {
		return nil, &Fault{Rule: "maxLength", TooLarge: true}
	}
	if fault := syntax.Check(body); fault != nil {
		return nil, &Fault{Rule: fault.Rule}
	}
	d := &document{source: body, Options: o, stores: newStores(len(body))}
	defer d.release()
	p := parser{scanner: scanner{b: body}, document: d}
	if p.body(); p.refused != nil {
		return nil, p.refused
	}
	if d.facts.Bundle == "transaction" && p.unserved > 0 {
		d.sortIssues()
		isNote := func(i Issue) bool { return i.Severity != severityError }
		return nil, &Fault{Rule: "not_supported", Issues: slices.DeleteFunc(d.facts.Issues, isNote)}
	}
	m := mapper{document: d, index: index{document: d}, terms: terms{document: d}}
	m.apply()
	if len(d.facts.Events)+len(d.facts.Signals) > MaxFacts {
		return nil, &Fault{Rule: "maxFacts:" + strconv.Itoa(MaxFacts), TooLarge: true}
	}
	d.sortIssues()
	d.facts.Entries, d.facts.containers = d.entries, slices.Clone(d.containers)
	return &d.facts, nil
}

// mapper creates the facts of a document.
type mapper struct {
	*document
	index
	terms
	id []byte // identity of the current event

	stated bool // whether the body contains an Encounter, a Condition, an Observation or a MedicationAdministration
}

// apply creates the facts. Encounters come first, so that the other resources find their visits regardless of the
// order in the body.
func (m *mapper) apply() {
	identify(m)
	statements, visits := len(m.components), 0
	for n := range m.resources {
		m.stated = m.stated || m.resources[n].kind.isApplied()
		switch k := m.resources[n].kind; {
		case k == encounterKind:
			visits++
		case k.isApplied():
			statements++
		}
	}
	m.facts.Signals = make([]acuity.Signal, 0, statements)
	m.facts.Events = make([]acuity.Event, 0, 2*visits) // capacity for an admission and a discharge of each visit
	for n := range m.resources {
		if r := &m.resources[n]; r.kind == encounterKind && !r.contained {
			m.count(r, m.encounter)
		}
	}
	for n := range m.resources {
		if r := &m.resources[n]; !r.contained {
			switch r.kind { //nolint:exhaustive // the loops before and after this one process the other kinds that yield facts
			case conditionKind:
				m.count(r, m.condition)
			case observationKind:
				m.count(r, m.observation)
			case administrationKind:
				m.count(r, m.administration)
			}
		}
	}
	// Medications, Locations and Patients come last, because only then is it known which of them other resources use.
	for n := range m.resources {
		if r := &m.resources[n]; r.kind.isNamed() && !r.contained && !r.rejected && !r.superseded {
			useParts(m, r)
		}
	}
	for n := range m.resources {
		if r := &m.resources[n]; r.kind.isNamed() && !r.contained {
			m.count(r, m.addReferable)
		}
	}
}

// unusableReference returns the path of the resource's first unusable reference to a visit, a patient or the Location
// that contains it, or "" if there is none. A reference is unusable if it has the wrong type or cannot be resolved, for example because it
// contains no id, or because it points to a contained resource without an identifier.
func (m *mapper) unusableReference(r *resource) (field string) {
	leads := func(ref *reference, want kind) bool {
		if ref.empty() {
			return true
		}
		t, ok := m.follow(ref, want, r)
		return ok && (t.at < 0 || !m.resources[t.at].contained || m.identifierOf(&m.resources[t.at], "") != "")
	}
	switch {
	case !leads(&r.encounter, encounterKind) && r.kind == administrationKind:
		return "context.reference"
	case !leads(&r.encounter, encounterKind):
		return "encounter.reference"
	case !leads(&r.subject, patientKind):
		return "subject.reference"
	case r.kind == encounterKind && !leads(&r.partOf, encounterKind), r.kind == locationKind && !leads(&r.partOf, locationKind):
		return "partOf.reference"
	}
	return ""
}

// count creates the facts of one resource with the given function, and counts the resource as applied, ignored or
// rejected. The function reports whether it applied the resource.
func (m *mapper) count(r *resource, facts func(*resource) bool) {
	applied, references := false, len(m.facts.References)
	if r.untimed != "" {
		m.warn(r, "time_unreadable", r.untimed)
	}
	first := acuity.Create{
		Events: m.here(len(m.facts.Events)), Signals: m.here(len(m.facts.Signals)), References: m.here(len(m.facts.References)),
	}
	switch {
	case r.rejected:
	case r.superseded:
		m.issue(r, severityInformation, "superseded", "")
	default:
		if applied = facts(r); !r.rejected && !r.deleted {
			if field := m.unusableReference(r); field != "" {
				m.warn(r, "reference_unusable", field)
			}
		}
	}
	for len(m.facts.referenceOrigins) < len(m.facts.References) {
		m.facts.referenceOrigins = append(m.facts.referenceOrigins, originOf(r))
	}
	if r.onlyNew && (applied || len(m.facts.References) > references) { // also for references that only later messages may use
		m.create(r, first)
	}
	switch {
	case r.rejected:
		m.setResult(r.container, r.index, EntryRejected)
	case applied:
		m.setResult(r.container, r.index, EntryApplied)
	}
	if r.missing {
		return // there is no resource to count (docs/decisions.md#fhir-counting)
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
