package hospital

import (
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

// takeStatement takes a statement about a visit, a patient, or a known resource.
func (k *statements) takeStatement(in *intake, i int, s *acuity.Signal, h evidence.ResourceStatement) {
	to := k.subjectOf(s)
	if h.Version != nil && !h.Version.IsDescribed() {
		to = k.holderOfResource(&h, to)
	}
	if to == (holder{}) || !k.capacity.roomToWait(in, to) {
		in.refuse(reasonReferences, itemPath("signals", i))
		return
	}
	k.number(&h.Statement)
	k.addStatement(to, h)
	if v := to.v; v != nil {
		k.touch(v)
		k.work.markVisit(v, markState)
		if r := k.whereIs(v); r != nil {
			k.work.markRoom(r, markTouched)
		}
		if v.isName() {
			in.warn("reference_waiting", "")
		}
		return
	}
	if v := k.names.visitFor(to.unassigned, h.ReceivedAt); v == nil {
		in.waitingFor = append(in.waitingFor, waitingStatement{to.unassigned, h.ReceivedAt})
	} else if r := k.whereIs(v); r != nil {
		k.work.markRoom(r, markTouched)
	}
}

// holderOfResource returns the holder of a resource when a version of it would go to
// another. The newest version decides for all of them.
func (k *statements) holderOfResource(h *evidence.ResourceStatement, to holder) holder {
	whole := h.WholeResource()
	if from, known := k.names.resources[whole]; known && from != to {
		var newest *evidence.ResourceStatement
		list := from.resourceStatements()
		for i := range list {
			if o := &list[i]; o.WholeResource() == whole && (newest == nil || newest.IsOlder(o)) {
				newest = o
			}
		}
		switch {
		case newest == nil:
		case to == (holder{}) || to.nameless() || !from.nameless() && h.IsOlder(newest):
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
	k.work.waits = k.work.waits || from.v == nil || from.v.isName()
	var taken, left evidence.ResourceStatements
	for _, h := range from.resourceStatements() {
		if h.WholeResource() == whole {
			k.invalidateChart(k.bindingOf(&h.Statement))
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
		if v := k.visitOfStatement(&h.Statement); v != nil && v.gone {
			h.Owner = binding{kind: notBound}.owner()
			k.work.waits = true
			k.work.markUnassigned(r)
		}
	}
}

// gatherResourceStatements adds the statements that are kept with a visit, or with its
// patient for it.
func (m *chartBuilder) gatherResourceStatements(e *evidence.Input, v *visit) {
	add := func(h *evidence.ResourceStatement) {
		m.matcher.reread(&h.Statement)
		e.Resources = append(e.Resources, h)
	}
	for i := range v.resourceStatements {
		add(&v.resourceStatements[i])
	}
	for _, r := range m.names.ofVisit(v) {
		for i := range r.statements {
			if h := &r.statements[i]; h.Owner.ID == v.slot {
				add(h)
			}
		}
	}
}
