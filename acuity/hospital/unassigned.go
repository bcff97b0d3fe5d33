package hospital

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/evidence"
)

// holder is who keeps statements that name no room: a visit, or a patient without one.
type holder struct {
	v          *visit
	unassigned *unassigned
}

// resourceStatements returns the statements that the holder keeps.
func (h holder) resourceStatements() evidence.ResourceStatements {
	switch {
	case h.v != nil:
		return h.v.resourceStatements
	case h.unassigned != nil:
		return h.unassigned.statements
	}
	return nil
}

// nameless reports whether the holder is a retraction that waits for its resource.
func (h holder) nameless() bool { return h.unassigned != nil && h.unassigned.resource != "" }

// holderOfResource returns the holder of a resource when a version of it would go to
// another. The newest version decides for all of them.
func (k *statements) holderOfResource(h *evidence.ResourceStatement, to holder) holder {
	whole := h.WholeResource()
	if from, known := k.names.resources[whole]; known && from != to {
		var others []*evidence.ResourceStatement
		list := from.resourceStatements()
		for i := range list {
			if o := &list[i]; o.WholeResource() == whole {
				others = append(others, o)
			}
		}
		switch {
		case len(others) == 0:
		case to == (holder{}) || to.nameless() || !from.nameless() && h.IsOlder(others):
			if to.unassigned != nil && len(to.unassigned.statements) == 0 {
				k.names.drop(to.unassigned)
			}
			return from
		default:
			k.moveResource(from, to, whole)
		}
	}
	if to != (holder{}) {
		k.names.resources[strings.Clone(whole)] = to
	}
	return to
}

// moveResource moves the versions of a resource to another holder.
func (k *statements) moveResource(from, to holder, whole string) {
	k.work.recountWaiting = k.work.recountWaiting || from.v == nil || from.v.isName()
	var taken, left evidence.ResourceStatements
	for _, h := range from.resourceStatements() {
		if h.WholeResource() == whole {
			k.touchRoomOf(k.visitOfStatement(&h.Statement))
			taken = append(taken, h)
		} else {
			left = append(left, h)
		}
	}
	if from.v != nil {
		from.v.resourceStatements = left
	} else if from.unassigned.statements = left; len(left) == 0 {
		k.names.drop(from.unassigned)
	}
	for _, h := range taken {
		k.addStatement(to, h)
	}
}

// unassignForgotten makes the statements of forgotten visits unassigned.
func (k *statements) unassignForgotten(r *unassigned) {
	for i := range r.statements {
		h := &r.statements[i]
		if v := k.visitOfStatement(&h.Statement); v != nil && v.forgotten {
			h.Owner = undecided
			k.work.recountWaiting = true
			k.work.touchUnassigned(r)
		}
	}
}

// unassigned are the statements about one patient that name no visit, until they are 24
// h old. They are assigned to a visit of hers when one is known, by any feed
// (docs/decisions.md#subject-visit). A retraction that names only its resource waits in one of its
// own.
type unassigned struct {
	subjectName
	statements evidence.ResourceStatements // in order of arrival; assigned to a visit, or waiting
	marked     bool
}

// subjectName is how a patient was named: by number, by reference, or only by a
// resource.
type subjectName struct{ patient, subject, resource string }

// findOrAdd returns the unassigned statements of a name; nil: the cap is reached.
func (ns *names) findOrAdd(name subjectName) *unassigned {
	r := ns.bySubject[name]
	if r == nil && len(ns.bySubject) < ns.limits.unknown {
		r = &unassigned{subjectName: subjectName{strings.Clone(name.patient), strings.Clone(name.subject), strings.Clone(name.resource)}}
		ns.bySubject[r.subjectName] = r
		for _, n := range r.names() {
			ns.byPatient[n] = append(ns.byPatient[n], r)
		}
	}
	return r
}

// names returns the names of the patient.
func (r *unassigned) names() []string {
	list := make([]string, 0, 2)
	if r.patient != "" {
		list = append(list, r.patient)
	}
	if r.subject != "" && r.subject != r.patient {
		list = append(list, r.subject)
	}
	return list
}

// touchUnassigned makes derive assign statements anew.
func (w *work) touchUnassigned(r *unassigned) {
	if !r.marked {
		r.marked = true
		w.unassigned = append(w.unassigned, r)
	}
}

// drop forgets a patient without statements.
func (ns *names) drop(r *unassigned) {
	delete(ns.bySubject, r.subjectName)
	for _, n := range r.names() {
		removeFrom(ns.byPatient, n, r)
	}
}

// assignUnassigned assigns the statements of the touched patients.
func (k *statements) assignUnassigned() {
	for _, r := range k.work.unassigned {
		r.marked = false
		newest := r.newest()
		for i := range r.statements {
			h := &r.statements[i]
			before, after := k.bindingOf(&h.Statement), binding{kind: toNobody}
			at := h.ReceivedAt
			if whole := h.WholeResource(); whole != "" {
				at = newest[whole]
			}
			if v := k.names.visitFor(r, at); v != nil {
				after = binding{v, toVisit}
			}
			if before == after {
				continue
			}
			k.touchRoomOf(before.v)
			h.Owner = after.owner()
			k.work.recountWaiting = true
			k.touchRoomOf(after.v)
		}
	}
	k.work.unassigned = k.work.unassigned[:0]
}

// newest returns the receipt of the newest version by resource: the versions of one
// resource stay together.
func (r *unassigned) newest() map[string]acuity.Instant {
	at := make(map[string]acuity.Instant, len(r.statements))
	for i := range r.statements {
		if whole := r.statements[i].WholeResource(); whole != "" {
			at[whole] = max(at[whole], r.statements[i].ReceivedAt)
		}
	}
	return at
}

// ofVisit returns the unassigned statements of a visit's patient.
func (ns *names) ofVisit(v *visit) []*unassigned {
	if len(ns.bySubject) == 0 {
		return nil
	}
	var list []*unassigned
	for _, n := range ns.namesOf(v.allNames()) {
		for _, r := range ns.byPatient[n] {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// touchUnassignedOf touches the unassigned statements of a visit's patient.
func (ns *names) touchUnassignedOf(v *visit) {
	for _, r := range ns.ofVisit(v) {
		ns.work.touchUnassigned(r)
	}
}

// settleUnassigned makes the assignment of 24 h old statements final. Statements without
// a visit are lost, and so are names that nothing else uses.
func (k *statements) settleUnassigned(now acuity.Instant) {
	due := func(h *evidence.Statement) bool { return h.ReceivedAt.Add(settleAfter) <= now }
	byName := func(a, b *unassigned) int {
		return cmp.Or(cmp.Compare(a.patient, b.patient), cmp.Compare(a.subject, b.subject), cmp.Compare(a.resource, b.resource))
	}
	for _, r := range slices.SortedFunc(maps.Values(k.names.bySubject), byName) {
		var old, left evidence.ResourceStatements
		fresh := r.newest()
		for _, h := range r.statements {
			if at := fresh[h.WholeResource()]; due(&h.Statement) && (h.WholeResource() == "" || at.Add(settleAfter) <= now) {
				old = append(old, h)
			} else {
				left = append(left, h)
			}
		}
		if len(old) == 0 {
			continue
		}
		if r.statements = left; len(left) == 0 {
			k.names.drop(r)
		}
		for _, h := range old {
			v := k.visitOfStatement(&h.Statement)
			if v == nil {
				k.dropResourceStatement(&h)
				continue
			}
			k.addStatement(holder{v: v}, h)
			k.work.markVisit(v, unsaved)
		}
	}
	for v := range k.unknown {
		if v.joined.head != nil {
			continue // they are those of a visit
		}
		for _, h := range v.statements.ByArrival(due) {
			k.lose(&h)
		}
		v.statements.Remove(due)
		v.resourceStatements = slices.DeleteFunc(v.resourceStatements, func(h evidence.ResourceStatement) bool {
			if due(&h.Statement) {
				k.dropResourceStatement(&h)
			}
			return due(&h.Statement)
		})
	}
}
