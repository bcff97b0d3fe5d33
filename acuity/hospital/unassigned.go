package hospital

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/evidence"
)

// unassigned are the statements about one patient that name no visit, until they are 24
// h old. They are assigned to a visit of hers when one is known, by any feed
// (clinical-decisions F3). A retraction that names only its resource waits in one of its
// own.
type unassigned struct {
	subjectName
	statements evidence.ResourceStatements // in order of arrival; assigned to a visit, or waiting
	marked     bool
}

// unassignedStatements has the statements that are about a patient, but about no visit.
type unassignedStatements struct {
	people *people
	work   *work
	limits *limits

	bySubject map[subjectName]*unassigned
	byName    map[string][]*unassigned // by the names of their patients
}

// subjectName is how a patient was named: by number, by reference, or only by a
// resource.
type subjectName struct{ patient, subject, resource string }

// subjectOf returns the holder for a signal, and makes it known if it is not. The zero
// holder: the cap is reached.
func (c *clinicalIntake) subjectOf(s *acuity.Signal) holder {
	if s.Visit != "" {
		if v := c.encounters.visitCalled(s.Visit); v != nil {
			return holder{v: v}
		}
		if len(c.registry.unknown) >= c.limits.unknown || !c.capacity.roomForVisit() {
			return holder{}
		}
		return holder{v: c.registry.visit(s.Visit)}
	}
	name := subjectName{patient: s.Patient, subject: s.Subject}
	if name == (subjectName{}) {
		name.resource = evidence.WholeResource(s.Resource)
	}
	if r := c.unassigned.findOrAdd(name); r != nil {
		return holder{unassigned: r}
	}
	return holder{}
}

// findOrAdd returns the unassigned statements of a name; nil: the cap is reached.
func (l *unassignedStatements) findOrAdd(name subjectName) *unassigned {
	r := l.bySubject[name]
	if r == nil && len(l.bySubject) < l.limits.unknown {
		r = &unassigned{subjectName: subjectName{strings.Clone(name.patient), strings.Clone(name.subject), strings.Clone(name.resource)}}
		l.bySubject[r.subjectName] = r
		for _, n := range r.names() {
			l.byName[n] = append(l.byName[n], r)
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

// markUnassigned marks statements to be assigned anew.
func (w *work) markUnassigned(r *unassigned) {
	if !r.marked {
		r.marked = true
		w.unassigned = append(w.unassigned, r)
	}
}

// drop forgets a patient without statements.
func (l *unassignedStatements) drop(r *unassigned) {
	delete(l.bySubject, r.subjectName)
	for _, n := range r.names() {
		left := slices.DeleteFunc(l.byName[n], func(o *unassigned) bool { return o == r })
		if len(left) == 0 {
			delete(l.byName, n)
		} else {
			l.byName[n] = left
		}
	}
}

// assignStatements assigns the marked statements anew.
func (m *holders) assignStatements() {
	for _, r := range m.work.unassigned {
		r.marked = false
		newest := r.newest()
		for i := range r.statements {
			h := &r.statements[i]
			was, is := m.registry.bindingOf(&h.Statement), binding{kind: toNobody}
			at := h.ReceivedAt
			if whole := h.WholeResource(); whole != "" {
				at = newest[whole]
			}
			if v := m.people.visitFor(r, at); v != nil {
				is = binding{v, toVisit}
			}
			if was == is {
				continue
			}
			m.registry.invalidateChart(was)
			h.Owner = is.owner()
			m.work.waits = true
			m.registry.invalidateChart(is)
		}
	}
	m.work.unassigned = m.work.unassigned[:0]
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
func (l *unassignedStatements) ofVisit(v *visit) []*unassigned {
	if len(l.bySubject) == 0 {
		return nil
	}
	names := slices.Clone(v.names)
	var list []*unassigned
	for _, n := range l.people.namesOf(names) {
		for _, r := range l.byName[n] {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// markNames marks the unassigned statements of a visit's patient.
func (l *unassignedStatements) markNames(v *visit) {
	for _, r := range l.ofVisit(v) {
		l.work.markUnassigned(r)
	}
}

// settleUnassigned makes the assignment of 24 h old statements final. Statements without
// a visit are lost, and so are names that nothing else uses.
func (m *holders) settleUnassigned(now acuity.Instant) {
	due := func(h *evidence.Statement) bool { return h.ReceivedAt.Add(settleAfter) <= now }
	byName := func(a, b *unassigned) int {
		return cmp.Or(cmp.Compare(a.patient, b.patient), cmp.Compare(a.subject, b.subject), cmp.Compare(a.resource, b.resource))
	}
	for _, r := range slices.SortedFunc(maps.Values(m.unassigned.bySubject), byName) {
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
			m.unassigned.drop(r)
		}
		for _, h := range old {
			v := m.registry.visitOfStatement(&h.Statement)
			if v == nil {
				m.statements.dropResourceStatement(&h)
				continue
			}
			m.statements.addStatement(holder{v: v}, h)
			m.work.markVisit(v, markState)
		}
	}
	for v := range m.registry.unknown {
		for _, h := range v.statements.ByArrival(due) {
			m.statements.lose(&h)
		}
		v.statements.Remove(due)
		v.resourceStatements = slices.DeleteFunc(v.resourceStatements, func(h evidence.ResourceStatement) bool {
			if due(&h.Statement) {
				m.statements.dropResourceStatement(&h)
			}
			return due(&h.Statement)
		})
	}
}

// waitingStatement is a statement that had no visit when it was taken.
type waitingStatement struct {
	unassigned *unassigned
	at         acuity.Instant // at is its receipt
}

// answerWaiting warns of the statements that still have no visit: it may have come in
// the same request.
func (l *unassignedStatements) answerWaiting(in *intake) {
	for _, n := range in.waitingFor {
		if l.people.visitFor(n.unassigned, n.at) == nil {
			in.warn("reference_waiting", "")
		}
	}
}

// stopWaiting makes the unit count anew if statements waited for a visit that becomes
// more than a name.
func (g *registry) stopWaiting(v *visit) {
	g.work.waits = g.work.waits || v.isName() && v.statements.Len()+len(v.resourceStatements) > 0
}

// countWaiting counts the cancels and statements that wait, at the hour of the clock.
func (t *timelines) countWaiting() {
	if !t.work.waits {
		return
	}
	t.work.waits = false
	hour := t.facts.Clock - t.facts.Clock%hourOf
	cancels, statements := 0, 0
	t.cancels = slices.DeleteFunc(t.cancels, func(v *visit) bool {
		n := v.timeline.CancelsWaiting(hour)
		if t.registry.visits[v.ID] == v {
			cancels += n
		}
		v.cancels = n > 0
		return n == 0
	})
	for v := range t.registry.unknown {
		statements += v.statements.Len() + len(v.resourceStatements)
	}
	for _, r := range t.unassigned.bySubject {
		for i := range r.statements {
			if r.statements[i].Owner.ID == 0 {
				statements++
			}
		}
	}
	t.chart.Unit.CancelsWaiting, t.chart.Unit.StatementsWaiting = int32(cancels), int32(statements)
}
