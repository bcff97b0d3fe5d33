package identity

import (
	"slices"
	"strings"

	"svc/acuity/evidence"
	"svc/acuity/registry"
)

// Holder is where statements that do not name a room are stored: the visit that they name or, if they name no visit,
// an Unassigned.
type Holder struct {
	V          *registry.Visit
	Unassigned *registry.Unassigned
}

// ResourceStatements returns the statements that the holder stores.
func (h Holder) ResourceStatements() evidence.ResourceStatements {
	switch {
	case h.V != nil:
		return h.V.ResourceStatements
	case h.Unassigned != nil:
		return h.Unassigned.Statements
	}
	return nil
}

// IsNameless reports whether the holder stores a retraction that waits for its resource.
func (h Holder) IsNameless() bool { return h.Unassigned != nil && h.Unassigned.Resource != "" }

// FindOrAdd returns the unassigned statements for a name. If there are none, it adds an empty entry, or returns nil
// if the maximum number of entries is reached.
func (ns *Names) FindOrAdd(name registry.SubjectName) *registry.Unassigned {
	r := ns.BySubject[name]
	if r == nil && len(ns.BySubject) < ns.Limits.Unknown {
		r = &registry.Unassigned{SubjectName: registry.SubjectName{
			Patient: strings.Clone(name.Patient), Subject: strings.Clone(name.Subject), Resource: strings.Clone(name.Resource),
		}}
		ns.BySubject[r.SubjectName] = r
		for _, n := range r.Names() {
			ns.ByPatient[n] = append(ns.ByPatient[n], r)
		}
	}
	return r
}

// Drop removes an entry that has no more statements from the indexes.
func (ns *Names) Drop(r *registry.Unassigned) {
	delete(ns.BySubject, r.SubjectName)
	for _, n := range r.Names() {
		removeFrom(ns.ByPatient, n, r)
	}
}

// OfVisit returns the unassigned statements of a visit's patient.
func (ns *Names) OfVisit(v *registry.Visit) []*registry.Unassigned {
	if len(ns.BySubject) == 0 {
		return nil
	}
	var list []*registry.Unassigned
	for _, n := range ns.NamesOf(v.AllNames()) {
		for _, r := range ns.ByPatient[n] {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// TouchUnassignedOf touches the unassigned statements of a visit's patient.
func (ns *Names) TouchUnassignedOf(v *registry.Visit) {
	for _, r := range ns.OfVisit(v) {
		ns.Work.TouchUnassigned(r)
	}
}
