package fhir

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"svc/internal/httpapi/syntax"
)

// document is the parsed body, with the issues to report to the sender.
type document struct {
	source
	Options
	*stores
	facts   Facts
	issues  []placedIssue
	entries []Entry           // entries of the body's outermost Bundle
	digest  []byte            // digest of the body, computed when first used
	plain   map[string]string // texts without control characters, cached because the same texts occur often
}

// source is the text of a body.
type source []byte

// bytes returns the text of a span, with escapes resolved.
func (s source) bytes(p span) []byte {
	if p.to&escapes != 0 {
		return syntax.Unquote(s[p.from-1 : p.to&^escapes+1])
	}
	return s[p.from:p.to]
}

// container is a list of resources. Its fields are the texts before and after the index in the FHIRPath of a
// resource.
type container struct{ before, after string }

// path returns the position of a resource as FHIRPath.
func (d *document) path(r *resource) string { return originOf(r).path(d.containers) }

// placedIssue is an issue with the position of its resource in the body.
type placedIssue struct {
	Issue
	container, index int32
}

// issue adds an issue for a resource; field is the path within the resource.
func (d *document) issue(r *resource, severity, code, field string) {
	i := placedIssue{Issue{severity, code, d.path(r)}, r.container, r.index}
	if field != "" {
		i.Expression = strings.TrimPrefix(i.Expression+"."+field, ".")
	}
	d.appendIssue(i)
}

// warnMore is the code of the last listed issue if others are omitted.
const warnMore = "more_not_listed"

// appendIssue appends an issue, unless it repeats the last one. Beyond the maximum number of issues, a warning with
// the code warnMore replaces the last one.
func (d *document) appendIssue(i placedIssue) {
	if len(d.issues) == maxIssues {
		d.issues[maxIssues-1] = placedIssue{Issue{Severity: severityWarning, Code: warnMore}, math.MaxInt32, 0}
		return
	}
	if n := len(d.issues); n == 0 || d.issues[n-1] != i {
		d.issues = append(d.issues, i)
	}
}

// sortIssues sorts the issues into the order of the body.
func (d *document) sortIssues() {
	slices.SortStableFunc(d.issues, func(a, b placedIssue) int {
		return cmp.Or(
			cmp.Compare(a.container, b.container), cmp.Compare(a.index, b.index),
			cmp.Compare(a.Expression, b.Expression), cmp.Compare(a.Code, b.Code), // the result must not depend on the order of fields
		)
	})
	for i := range d.issues {
		d.facts.Issues = append(d.facts.Issues, d.issues[i].Issue)
	}
}

// reject marks a resource as rejected and adds the issue that is the reason.
func (d *document) reject(r *resource, code, field string) {
	r.rejected = true
	d.issue(r, severityError, code, field)
}

func (d *document) warn(r *resource, code, field string) { d.issue(r, severityWarning, code, field) }

// setResult records the result of an entry of the body's outermost Bundle, which is the first container. Entries of
// nested Bundles are ignored. If an entry has several results, the greatest value of Entry counts.
func (d *document) setResult(container, index int32, became Entry) {
	if container == 0 && index >= 0 && int(index) < len(d.entries) {
		d.entries[index] = max(d.entries[index], became)
	}
}

// stores hold the parsed parts of a body until its facts have been created. No fact refers to them, so the next body
// reuses their memory, which is half of what a body needs.
type stores struct {
	containers  []container
	resources   []resource
	codings     []coding
	identifiers []identifier
	components  []component
	locations   []location
	concepts    []concept
	ingredients []ingredient
}

// maxKept is the maximum number of resources, and of their parts, for which memory is retained: about 3 MB. The
// memory of larger bodies, which are rare, is freed.
const maxKept = 4096

var spare = sync.Pool{New: func() any { return new(stores) }}

// newStores returns empty stores for a body of the given size in bytes. The capacity allows for one used resource per
// 2 KiB of the body, which is enough for most bodies, because they also contain unused resources such as claims and
// reports.
func newStores(size int) *stores {
	s, ok := spare.Get().(*stores)
	if !ok {
		s = new(stores) // cannot happen: the pool has only stores
	}
	s.resources = slices.Grow(s.resources, min(1+size>>11, MaxResources))
	return s
}

// stored counts the stored parts of resources.
func (s *stores) stored() int {
	return len(s.codings) + len(s.identifiers) + len(s.components) + len(s.locations) + len(s.concepts) + len(s.ingredients)
}

// release clears the stores and returns their memory for reuse. Stores that hold more than maxKept parts are not
// reused.
func (s *stores) release() {
	if max(cap(s.resources), s.stored()) > maxKept {
		return
	}
	clear(s.resources)
	*s = stores{
		containers: s.containers[:0], resources: s.resources[:0], codings: s.codings[:0],
		identifiers: s.identifiers[:0], components: s.components[:0],
		locations: s.locations[:0], concepts: s.concepts[:0], ingredients: s.ingredients[:0],
	}
	spare.Put(s)
}

// origin is the position of the resource from which a fact was made.
type origin struct {
	kind             kind
	container, index int32
}

func originOf(r *resource) origin { return origin{r.kind, r.container, r.index} }

// path returns the position of the resource as FHIRPath.
func (o origin) path(containers []container) string {
	if o.index < 0 {
		return kindNames[o.kind]
	}
	c := containers[o.container]
	return c.before + "[" + strconv.Itoa(int(o.index)) + "]" + c.after
}

// origins returns the origins for one list of facts: "events", "signals" or "references".
func (f *Facts) origins(list string) []origin {
	return map[string][]origin{"events": f.eventOrigins, "signals": f.signalOrigins, "references": f.referenceOrigins}[list]
}

// PlaceOf returns the path of the resource from which the i-th element of a list of facts was made, or "" if there is
// no such element. The path has the form of [Issue].Expression.
func (f *Facts) PlaceOf(list string, i int) string {
	origins := f.origins(list)
	if i >= len(origins) {
		return ""
	}
	return origins[i].path(f.containers)
}

// RefuseEvent counts the resource behind an event as rejected, because its facts exceed a limit of the hospital.
func (f *Facts) RefuseEvent(i int, code string) {
	if i < len(f.eventOrigins) {
		f.refuse(f.eventOrigins[i], code)
	}
}

// RefuseSignal counts the resource behind a signal as rejected, because its facts exceed a limit of the hospital.
func (f *Facts) RefuseSignal(i int, code string) {
	if i < len(f.signalOrigins) {
		f.refuse(f.signalOrigins[i], code)
	}
}

func (f *Facts) refuse(o origin, code string) {
	if f.refused[o] {
		return
	}
	f.markChanged(o)
	f.addApplied(o.kind, -1)
	f.Rejected++
	f.setResult(o, EntryRejected)
	if len(f.Issues) < maxIssues {
		f.Issues = append(f.Issues, Issue{severityError, code, o.path(f.containers)})
	}
}

// CountExisting counts the resource behind the i-th element of a list of facts as existing: the hospital already had
// it, so nothing was created.
func (f *Facts) CountExisting(list string, i int) {
	origins := f.origins(list)
	if i >= len(origins) || f.refused[origins[i]] {
		return
	}
	o := origins[i]
	f.markChanged(o)
	f.addApplied(o.kind, -1)
	f.Existing++
	f.setResult(o, EntryExists)
	if len(f.Issues) < maxIssues {
		f.Issues = append(f.Issues, Issue{severityInformation, "exists", o.path(f.containers)})
	}
}

// markChanged records that the final result of a resource has been set, so that it is not changed again.
func (f *Facts) markChanged(o origin) {
	if f.refused == nil {
		f.refused = map[origin]bool{}
	}
	f.refused[o] = true
}

// setResult sets the result of the Bundle entry that contains a resource.
func (f *Facts) setResult(o origin, became Entry) {
	if o.container == 0 && o.index >= 0 && int(o.index) < len(f.Entries) {
		f.Entries[o.index] = became
	}
}

// addApplied adds n to the number of applied resources, in total and for the kind.
func (f *Facts) addApplied(k kind, n int) {
	f.Applied += n
	switch k { //nolint:exhaustive // other kinds are not counted separately
	case encounterKind:
		f.Encounters += n
	case conditionKind:
		f.Conditions += n
	case observationKind, administrationKind:
		f.Measurements += n
	}
}
