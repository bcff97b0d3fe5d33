// Package fhir turns FHIR R4 resources into facts: Encounters into ADT events,
// Conditions, Observations and MedicationAdministrations into signals, Medications,
// Locations and Patients into what those name.
//
// It takes any Bundle, one resource, an array of them, or {"resources": […]}. The
// bytes are read once, and only what is used becomes a value: no name, birth date,
// address or narrative is ever decoded. What is wrong with one resource is an
// [Issue] of that resource and touches no other; a fault of syntax, wherever it
// is, is a [Fault] of the whole.
package fhir

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
)

// Options is what a body does not say about itself.
type Options struct {
	// Pseudonym makes the keyed pseudonym of a value. Values of different
	// kinds never get the same one.
	Pseudonym  func(kind, value string) string
	Zone       *time.Location // of the hospital, for times without an offset
	ReceivedAt acuity.Instant
	Source     string // whose ids the ids of resources are: lineage of the API key (clinical-decisions F6)
}

// Facts is what a body says.
type Facts struct {
	Events  []acuity.Event  // of Encounters, in the order of the body
	Places  []string        // of the Encounter that each event is of, as in an Issue
	Signals []acuity.Signal // of Conditions, Observations, MedicationAdministrations

	Referents []acuity.Referent // Medications and Locations, which others name

	Received, Applied, Ignored, Rejected int // resources; the first is the sum of the others
	Encounters, Measurements, Conditions int // among the applied ones; a measurement is an Observation or MedicationAdministration

	Issues []Issue

	// origins are the resources that the events and the signals were made from.
	eventOrigins, signalOrigins []origin
	containers                  []container
	refused                     map[origin]bool

	// Bundle is the type of the Bundle that the body is; "": it is none, or says none.
	// Entries tells what became of each of its entries.
	Bundle  string
	Entries []Entry
}

// Entry is what became of one entry of a Bundle.
type Entry uint8

// The fates of an entry. Nothing is used of an ignored one: it is of another type, or
// has no resource.
const (
	EntryIgnored Entry = iota
	EntryApplied
	EntryRejected
)

// Issue is something about one resource that its sender should know.
type Issue struct {
	Severity   string // error: the resource was rejected; warning; information
	Code       string // stable
	Expression string // where, as in FHIRPath: Bundle.entry[3].resource.code
}

// The severities.
const (
	severityError       = "error"
	severityWarning     = "warning"
	severityInformation = "information"
)

// Fault is why a body was refused as a whole: it holds no value of it.
type Fault struct {
	Path, Rule string
	TooLarge   bool // it has more than is taken at once
}

func (f *Fault) Error() string { return "fhir: " + f.Rule + " at " + f.Path }

// The bounds of one body. What is beyond them within a resource is left out, with
// an issue.
const (
	MaxResources  = 5_000   // of the kinds that are used
	MaxFacts      = 5_000   // that they make: an Encounter has events, an Observation components
	maxStored     = 100_000 // codings, identifiers, components, locations together
	maxIssues     = 1_000
	maxCodings    = 20  // of one concept
	maxComponents = 100 // of one Observation
	maxLocations  = 100 // of one Encounter
	maxIdentifier = 20  // of one resource
	maxContained  = 50  // in one resource
	maxReasons    = 20  // of one Encounter
	maxNested     = 2   // Bundles in one another, or in a list
	maxItems      = 50  // of a list of parts of a Medication
)

// The lengths in bytes of what is kept.
const (
	maxCode    = 64
	maxPlace   = 80
	maxService = 40
	maxID      = 256
	maxText    = 2000 // of a text before it is reduced
)

// Decode reads a body. It returns a [Fault] if the body as a whole cannot be used.
func Decode(body []byte, o Options) (*Facts, *Fault) {
	if len(body) > math.MaxInt32 {
		return nil, &Fault{Rule: "maxLength", TooLarge: true}
	}
	d := &decoder{scanner: scanner{b: body}, Options: o, stores: newStores(len(body))}
	defer d.release()
	d.body()
	if d.refused != nil {
		return nil, d.refused
	}
	d.apply()
	if len(d.facts.Events)+len(d.facts.Signals) > MaxFacts {
		return nil, &Fault{Rule: "maxFacts:" + strconv.Itoa(MaxFacts), TooLarge: true}
	}
	d.report()
	d.facts.Entries, d.facts.containers = d.entries, slices.Clone(d.containers)
	return &d.facts, nil
}

// decoder reads one body: first all resources, then, when all that they refer to
// is known, the facts.
type decoder struct {
	scanner
	Options
	facts   Facts
	refused *Fault
	issues  []placedIssue

	entries []Entry // of the Bundle that the body is

	id     []byte // of the event that is made
	digest []byte // of the body, once it was asked for

	*stores
	index
	words
}

// refuse notes why the body cannot be used. It is read on, for a fault of syntax is
// told before all others, unless it is too large.
func (d *decoder) refuse(f Fault) {
	if d.refused == nil {
		d.refused = &f
	}
	if f.TooLarge {
		d.fail(f.Rule)
	}
}

// full reports whether lists have grown to the bound; then the body is refused.
func (d *decoder) full() bool {
	if d.stored() < maxStored {
		return false
	}
	d.refuse(Fault{Rule: "maxItems", TooLarge: true})
	return true
}

// placedIssue is an issue with the place of its resource in the body.
type placedIssue struct {
	Issue
	container, index int32
}

// issue notes something about a resource; field is the path within it.
func (d *decoder) issue(r *resource, severity, code, field string) {
	if len(d.issues) == maxIssues {
		return
	}
	i := placedIssue{Issue{severity, code, d.path(r)}, r.container, r.index}
	if field != "" {
		i.Expression = strings.TrimPrefix(i.Expression+"."+field, ".")
	}
	if n := len(d.issues); n == 0 || d.issues[n-1] != i {
		d.issues = append(d.issues, i)
	}
}

// report brings the issues into the order of the body.
func (d *decoder) report() {
	slices.SortStableFunc(d.issues, func(a, b placedIssue) int {
		return cmp.Or(cmp.Compare(a.container, b.container), cmp.Compare(a.index, b.index))
	})
	for i := range d.issues {
		d.facts.Issues = append(d.facts.Issues, d.issues[i].Issue)
	}
}

// reject notes why a resource cannot be used.
func (d *decoder) reject(r *resource, code, field string) {
	r.rejected = true
	d.issue(r, severityError, code, field)
}

func (d *decoder) warn(r *resource, code, field string) { d.issue(r, severityWarning, code, field) }
