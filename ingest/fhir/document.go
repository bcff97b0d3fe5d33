package fhir

import (
	"cmp"
	"slices"
	"strings"
)

// document is a body: the parts that were read, and what its sender is told of them.
type document struct {
	source
	Options
	*stores
	facts   Facts
	issues  []placedIssue
	entries []Entry           // entries of the Bundle that is the body
	digest  []byte            // digest of the body, computed at first use
	plain   map[string]string // texts without control characters, because many repeat
}

// source is the text of a body.
type source []byte

// bytes returns the text of a span, with its escapes resolved.
func (s source) bytes(p span) []byte {
	if p.to&escapes != 0 {
		return unescape(s[p.from-1 : p.to&^escapes+1])
	}
	return s[p.from:p.to]
}

// container is a list of resources.
type container struct{ before, after string }

// path returns the position of a resource as FHIRPath.
func (d *document) path(r *resource) string { return originOf(r).path(d.containers) }

// placedIssue is an issue with the position of its resource in the body.
type placedIssue struct {
	Issue
	container, index int32
}

// issue adds an issue of a resource; field is the path within it.
func (d *document) issue(r *resource, severity, code, field string) {
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

// report sorts the issues into the order of the body.
func (d *document) report() {
	slices.SortStableFunc(d.issues, func(a, b placedIssue) int {
		return cmp.Or(cmp.Compare(a.container, b.container), cmp.Compare(a.index, b.index))
	})
	for i := range d.issues {
		d.facts.Issues = append(d.facts.Issues, d.issues[i].Issue)
	}
}

// reject adds the issue for which a resource cannot be used.
func (d *document) reject(r *resource, code, field string) {
	r.rejected = true
	d.issue(r, severityError, code, field)
}

func (d *document) warn(r *resource, code, field string) { d.issue(r, severityWarning, code, field) }

// settle records the result of an entry in the Bundle that is the body. If Bundles are
// nested, only the outer one counts; its container is the first.
func (d *document) settle(container, index int32, became Entry) {
	if container == 0 && index >= 0 && int(index) < len(d.entries) {
		d.entries[index] = max(d.entries[index], became)
	}
}
