package hospital

import (
	"strings"

	"svc/acuity"
)

// holder is who keeps statements that name no room: a visit, or a patient without one.
type holder struct {
	v          *visit
	unassigned *unassigned
}

// resourceStatements returns the statements that the holder keeps.
func (h holder) resourceStatements() resourceStatements {
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
func (c *clinicalIntake) takeStatement(in *intake, i int, s *acuity.Signal, h resourceStatement) {
	to := c.subjectOf(s)
	if h.version != nil && !h.version.isDescribed() {
		to = c.holders.holderOfResource(&h, to)
	}
	if to == (holder{}) || !c.capacity.roomToWait(in, to) {
		in.refuse(reasonReferences, itemPath("signals", i))
		return
	}
	c.statements.number(&h.statement)
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
func (m *holders) holderOfResource(h *resourceStatement, to holder) holder {
	whole := h.whole()
	if from, known := m.resources[whole]; known && from != to {
		var newest *resourceStatement
		list := from.resourceStatements()
		for i := range list {
			if o := &list[i]; o.whole() == whole && (newest == nil || newest.isOlder(o)) {
				newest = o
			}
		}
		switch {
		case newest == nil:
		case to == (holder{}) || to.nameless() || !from.nameless() && h.isOlder(newest):
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
	var taken, left resourceStatements
	for _, h := range from.resourceStatements() {
		if h.whole() == whole {
			m.registry.invalidateChart(m.registry.bindingOf(&h.statement))
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
		if v := m.registry.visitOfStatement(&h.statement); v != nil && v.gone {
			h.owner = binding{kind: notBound}.owner()
			m.work.waits = true
			m.work.markUnassigned(r)
		}
	}
}

// gatherResourceStatements adds the statements that are kept with a visit, or with its
// patient for it.
func (m *chartBuilder) gatherResourceStatements(e *evidenceInput, v *visit) {
	add := func(h *resourceStatement) {
		m.matcher.reread(&h.statement)
		e.resourceStatements = append(e.resourceStatements, h)
	}
	for i := range v.resourceStatements {
		add(&v.resourceStatements[i])
	}
	for _, r := range m.unassigned.ofVisit(v) {
		for i := range r.statements {
			if h := &r.statements[i]; h.owner.ID == v.slot {
				add(h)
			}
		}
	}
}
