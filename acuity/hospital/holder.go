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

// holders keeps the statements that name no room with a visit or a patient.
type holders struct {
	registry   *registry
	statements *statements
	unassigned *unassignedStatements
	people     *people
	matcher    *matcher
	work       *work

	resources map[string]holder // the holder of the statements of a resource
}

// takeStatement takes a statement about a visit, a patient, or a known resource.
func (c *clinicalIntake) takeStatement(in *intake, i int, s *acuity.Signal, h evidence.ResourceStatement) {
	to := c.subjectOf(s)
	if h.Version != nil && !h.Version.IsDescribed() {
		to = c.holders.holderOfResource(&h, to)
	}
	if to == (holder{}) || !c.capacity.roomToWait(in, to) {
		in.refuse(reasonReferences, itemPath("signals", i))
		return
	}
	c.statements.number(&h.Statement)
	c.statements.addStatement(to, h)
	if v := to.v; v != nil {
		c.housekeeping.touch(v)
		c.work.markVisit(v, markState)
		if r := c.registry.whereIs(v); r != nil {
			c.work.markRoom(r, markTouched)
		}
		if v.isName() {
			in.warn("reference_waiting", "")
		}
		return
	}
	if v := c.people.visitFor(to.unassigned, h.ReceivedAt); v == nil {
		in.waitingFor = append(in.waitingFor, waitingStatement{to.unassigned, h.ReceivedAt})
	} else if r := c.registry.whereIs(v); r != nil {
		c.work.markRoom(r, markTouched)
	}
}

// holderOfResource returns the holder of a resource when a version of it would go to
// another. The newest version decides for all of them.
func (m *holders) holderOfResource(h *evidence.ResourceStatement, to holder) holder {
	whole := h.WholeResource()
	if from, known := m.resources[whole]; known && from != to {
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
				m.unassigned.drop(to.unassigned)
			}
			return from
		default:
			m.moveResource(from, to, whole)
		}
	}
	if to != (holder{}) {
		m.resources[strings.Clone(whole)] = to
	}
	return to
}

// moveResource moves the versions of a resource to another holder.
func (m *holders) moveResource(from, to holder, whole string) {
	m.work.waits = m.work.waits || from.v == nil || from.v.isName()
	var taken, left evidence.ResourceStatements
	for _, h := range from.resourceStatements() {
		if h.WholeResource() == whole {
			m.registry.invalidateChart(m.registry.bindingOf(&h.Statement))
			taken = append(taken, h)
		} else {
			left = append(left, h)
		}
	}
	if from.v != nil {
		from.v.resourceStatements = left
	} else if from.unassigned.statements = left; len(left) == 0 {
		m.unassigned.drop(from.unassigned)
	}
	for _, h := range taken {
		m.statements.addStatement(to, h)
	}
}

// unassignForgotten makes the statements of forgotten visits unassigned.
func (m *holders) unassignForgotten(r *unassigned) {
	for i := range r.statements {
		h := &r.statements[i]
		if v := m.registry.visitOfStatement(&h.Statement); v != nil && v.gone {
			h.Owner = binding{kind: notBound}.owner()
			m.work.waits = true
			m.work.markUnassigned(r)
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
	for _, r := range m.unassigned.ofVisit(v) {
		for i := range r.statements {
			if h := &r.statements[i]; h.Owner.ID == v.slot {
				add(h)
			}
		}
	}
}
