package hospital

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/score"
)

// timelines finds what the events of each visit amount to: when it is open, where ADT has it, whether
// it is a newborn's. It counts the moves of the unit.
type timelines struct {
	*registry
	names     *names
	joins     *joins
	settings  *localSettings
	locations *locations

	newborns []*visit         // ascending by id
	cancels  []*visit         // visits with cancels that may wait for their event
	moves    []acuity.Instant // of the last 120 min, ascending
}

// buildTimelines builds the timelines of the touched visits. It touches those that may be one with
// them, or of one patient.
func (l *timelines) buildTimelines() {
	if len(l.work.visits.with(touched)) == 0 {
		return
	}
	how := l.locations.timelineOptions(l.settings)
	for i := 0; i < len(l.work.visits.with(touched)); i++ { // a visit may touch others
		v := l.work.visits.with(touched)[i]
		l.joins.touchRelated(v)
		l.buildOwn(v, how)
		l.joins.readLinks(v)
		l.indexNames(v)
		l.joins.touchReachable(v)
	}
	built := l.work.visits.with(touched)
	l.joins.join(built, how)
	for _, v := range built {
		l.noteTimeline(v)
	}
	for _, list := range [...][]*visit{built, l.names.parts} {
		for _, v := range list {
			l.decideNewborn(v)
		}
	}
}

// decideNewborn decides whether a visit is a newborn's: by an event, by the FHIR Patient, or because
// the visit is a part of the mother's.
func (l *timelines) decideNewborn(v *visit) {
	if v.joined.head != nil {
		l.indexNewborn(v)
		return
	}
	newborn := v.newbornByEvents || l.names.isNeonate(v) || l.names.bornOf(v)
	if newborn != v.timeline.Newborn {
		moved := v.moves()
		v.timeline.Newborn, v.primary = newborn, chosen{}
		l.work.turnOver(moved, v.moves())
		l.work.markVisit(v, touched)
	}
	l.indexNewborn(v)
	if order := l.names.birthOrderOf(v); order != v.birthOrder {
		v.birthOrder = order
		l.work.markVisit(v, touched)
	}
}

// buildOwn builds the timeline of a visit from its own events.
func (l *timelines) buildOwn(v *visit, how adt.Options) {
	moved := append(l.work.moved[:0], v.moves()...)
	l.work.recountWaiting = l.work.recountWaiting || len(v.timeline.Waiting) > 0
	how.FoldAt = v.FoldAt
	v.timeline.Rebuild(v.events, how)
	v.primary = chosen{}
	v.newbornByEvents = v.timeline.Newborn
	if v.timeline.Patient == "" && len(v.timeline.Subjects) == 0 {
		v.timeline.Patient = v.timeline.PatientSaid() // discharges and cancels alone
	}
	v.timeline.Newborn = v.newbornByEvents || v.inNewborns // decided later
	l.work.turnOver(moved, v.moves())
	l.work.moved = moved
}

// noteTimeline records what else depends on the timeline of a visit.
func (l *timelines) noteTimeline(v *visit) {
	if len(v.timeline.Waiting) > 0 {
		l.work.recountWaiting = true
		if !v.inCancels {
			v.inCancels, l.cancels = true, append(l.cancels, v)
		}
	}
	l.indexPart(v)
	l.names.touchUnassignedOf(v)
	l.joins.claim(v)
}

// timelineOptions returns what timelines depend on, beside what is the visit's own.
func (t *locations) timelineOptions(s *localSettings) adt.Options {
	how := t.options
	how.TrustA08 = s.switchesInForce().TrustA08Location
	return how
}

// indexPart keeps the index of the visits that are a part of another by an Encounter
// (partOf). If the other visit has another patient, this patient is her newborn
// (docs/decisions.md#fhir-newborn), whichever of the two came first.
func (l *timelines) indexPart(v *visit) {
	i, listed := slices.BinarySearchFunc(l.names.parts, v.ID, byVisitID)
	isPart := v.timeline.MotherVisit != "" && !v.newbornByEvents
	switch {
	case isPart && !listed:
		l.names.parts = slices.Insert(l.names.parts, i, v)
	case listed && !isPart:
		l.names.parts = slices.Delete(l.names.parts, i, i+1)
	}
}

// neonateFor is how long after that version an admission still is a newborn's.
const neonateFor = 24 * time.Hour

// indexNames keeps the index by patient. Its timeline is that of its own events.
func (l *timelines) indexNames(v *visit) {
	l.names.touchUnassignedOf(v)
	if v.hasNames(&v.timeline) {
		return
	}
	l.names.touchOthersOf(v)
	l.names.delist(v)
	for _, p := range append([]string{v.timeline.Patient}, v.timeline.Subjects...) {
		if p != "" && !slices.Contains(v.names, p) {
			v.names = append(v.names, p)
			l.names.patients[p] = append(l.names.patients[p], v)
		}
	}
	l.names.touchUnassignedOf(v)
	l.names.touchOthersOf(v)
	if len(v.resourceStatements) > 0 {
		l.touchRoomOf(v) // her names tell which of them are about her
	}
}

// indexNewborn keeps the index of newborns.
func (l *timelines) indexNewborn(v *visit) {
	if v.timeline.Newborn != v.inNewborns {
		v.inNewborns = v.timeline.Newborn
		l.touchRoomsOf(v) // statements go to a mother before a newborn
		if v.inNewborns {
			i, _ := slices.BinarySearchFunc(l.newborns, v.ID, byVisitID)
			l.newborns = slices.Insert(l.newborns, i, v)
		} else {
			l.newborns = slices.DeleteFunc(l.newborns, func(n *visit) bool { return n == v })
			l.touchRoomOf(v.mother)
			v.linkMother(nil)
		}
	}
}

func byVisitID(v *visit, id string) int { return cmp.Compare(v.ID, id) }

// hasNames reports whether the index has the visit under all patient names of a
// timeline.
func (v *visit) hasNames(s *adt.Timeline) bool {
	n := 0
	if s.Patient != "" {
		n++
		if !slices.Contains(v.names, s.Patient) {
			return false
		}
	}
	for _, p := range s.Subjects {
		if p == s.Patient {
			continue
		}
		if n++; !slices.Contains(v.names, p) {
			return false
		}
	}
	return n == len(v.names)
}

// moves returns the moves of a visit that count for turnover. A newborn has none, even
// if its own events do not say that it is one, because turnover counts mothers (docs/decisions.md#turnover).
func (v *visit) moves() []acuity.Instant {
	if v.timeline.Newborn {
		return nil
	}
	return v.timeline.Moves
}

// turnOver records that the moves of a visit changed: mostly one was added.
func (w *work) turnOver(from, to []acuity.Instant) {
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	w.droppedMoves, w.addedMoves = append(w.droppedMoves, from...), append(w.addedMoves, to...)
}

// settleMoves updates the moves of the last 120 min after a step.
func (l *timelines) settleMoves() {
	w, since := &l.work, l.facts.Clock.Add(-score.TurnoverWindow)
	for _, m := range w.addedMoves {
		if m > since {
			l.moves = append(l.moves, m)
		}
	}
	slices.Sort(l.moves)
	for _, m := range w.droppedMoves { // it may have come in this step
		if i, found := slices.BinarySearch(l.moves, m); found {
			l.moves = slices.Delete(l.moves, i, i+1)
		}
	}
	n, _ := slices.BinarySearch(l.moves, since+1)
	l.moves = slices.Delete(l.moves, 0, n)
	w.droppedMoves, w.addedMoves = emptied(w.droppedMoves), emptied(w.addedMoves)
}

// countWaiting counts the cancels and statements that wait, at the hour of the clock.
func (l *timelines) countWaiting() {
	if !l.work.recountWaiting {
		return
	}
	l.work.recountWaiting = false
	hour := l.facts.Clock - l.facts.Clock%hourOf
	cancels, statements := 0, 0
	l.cancels = slices.DeleteFunc(l.cancels, func(v *visit) bool {
		n := v.timeline.CancelsWaiting(hour)
		if l.visits[v.ID] == v {
			cancels += n
		}
		v.inCancels = n > 0
		return n == 0
	})
	for v := range l.unknown {
		if v.joined.head != nil {
			continue
		}
		statements += v.statements.Len() + len(v.resourceStatements)
	}
	for _, r := range l.names.bySubject {
		for i := range r.statements {
			if r.statements[i].Owner.ID == 0 {
				statements++
			}
		}
	}
	l.chart.Unit.CancelsWaiting, l.chart.Unit.StatementsWaiting = int32(cancels), int32(statements)
}
