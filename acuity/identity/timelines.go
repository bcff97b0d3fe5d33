package identity

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/score"
)

// Timelines derives three facts from each visit's events: when the visit is open, where it is according to ADT, and
// whether it is a newborn's. It also counts the moves in the unit.
type Timelines struct {
	*registry.Registry
	Names     *Names
	Joins     *Joins
	Settings  *facts.LocalSettings
	Locations *Locations

	Newborns []*registry.Visit // ascending by id
	Cancels  []*registry.Visit // visits with cancels that may wait for the event they refer to
	Moves    []acuity.Instant  // times of the moves in the last 120 min, ascending
}

// BuildTimelines builds the timelines of the touched visits. It first touches the visits that may be joined with them
// or that belong to the same patient, so that their timelines are built again too.
func (l *Timelines) BuildTimelines() {
	if len(l.Work.Visits.With(registry.Touched)) == 0 {
		return
	}
	how := l.Locations.TimelineOptions(l.Settings)
	for i := 0; i < len(l.Work.Visits.With(registry.Touched)); i++ { // a visit may touch other visits
		v := l.Work.Visits.With(registry.Touched)[i]
		l.Joins.touchRelated(v)
		l.buildOwn(v, how)
		l.Joins.readLinks(v)
		l.indexNames(v)
		l.Joins.touchReachable(v)
	}
	built := l.Work.Visits.With(registry.Touched)
	l.Joins.join(built, how)
	for _, v := range built {
		l.applyTimeline(v)
	}
	for _, list := range [...][]*registry.Visit{built, l.Names.Parts} {
		for _, v := range list {
			l.decideNewborn(v)
		}
	}
}

// decideNewborn decides whether a visit is a newborn's: because of an event, because of the FHIR Patient, or because it
// is part of the mother's visit.
func (l *Timelines) decideNewborn(v *registry.Visit) {
	if v.Joined.Head != nil {
		l.indexNewborn(v)
		return
	}
	newborn := v.NewbornByEvents || l.Names.isNeonate(v) || l.Names.bornOf(v)
	if newborn != v.Timeline.Newborn {
		moved := v.Moves()
		v.Timeline.Newborn, v.Primary = newborn, registry.Chosen{}
		l.Work.RecordMoves(moved, v.Moves())
		l.Work.MarkVisit(v, registry.Touched)
	}
	l.indexNewborn(v)
	if order := l.Names.birthOrderOf(v); order != v.BirthOrder {
		v.BirthOrder = order
		l.Work.MarkVisit(v, registry.Touched)
	}
}

// buildOwn builds the timeline of a visit from the events stored with it.
func (l *Timelines) buildOwn(v *registry.Visit, how adt.Options) {
	moved := append(l.Work.Moved[:0], v.Moves()...)
	l.Work.RecountWaiting = l.Work.RecountWaiting || len(v.Timeline.Waiting) > 0
	how.FoldAt = v.FoldAt
	v.Timeline.Rebuild(v.Events, how)
	v.Primary = registry.Chosen{}
	v.NewbornByEvents = v.Timeline.Newborn
	if v.Timeline.Patient == "" && len(v.Timeline.Subjects) == 0 {
		v.Timeline.Patient = v.Timeline.NewestPatient() // only events without effect name a patient
	}
	v.Timeline.Newborn = v.NewbornByEvents || v.InNewborns // preliminary; decideNewborn decides later
	l.Work.RecordMoves(moved, v.Moves())
	l.Work.Moved = moved
}

// applyTimeline updates everything else that depends on the timeline of a visit.
func (l *Timelines) applyTimeline(v *registry.Visit) {
	if len(v.Timeline.Waiting) > 0 {
		l.Work.RecountWaiting = true
		if !v.InCancels {
			v.InCancels, l.Cancels = true, append(l.Cancels, v)
		}
	}
	l.indexPart(v)
	l.Names.TouchUnassignedOf(v)
	l.Joins.claim(v)
}

// TimelineOptions returns the options for building timelines. The options that depend on the visit are not set.
func (t *Locations) TimelineOptions(s *facts.LocalSettings) adt.Options {
	how := t.Options
	how.TrustA08 = s.SwitchesInForce().TrustA08Location
	return how
}

// indexPart updates the index of visits that are part of another visit, according to an Encounter's partOf. If the
// other visit has a different patient, this visit's patient is that patient's newborn (docs/decisions.md#fhir-newborn),
// regardless of which visit was received first.
func (l *Timelines) indexPart(v *registry.Visit) {
	i, listed := slices.BinarySearchFunc(l.Names.Parts, v.ID, byVisitID)
	isPart := v.Timeline.MotherVisit != "" && !v.NewbornByEvents
	switch {
	case isPart && !listed:
		l.Names.Parts = slices.Insert(l.Names.Parts, i, v)
	case listed && !isPart:
		l.Names.Parts = slices.Delete(l.Names.Parts, i, i+1)
	}
}

// neonateFor is how long a FHIR Patient version that says "neonate" applies. An admission that follows the version by
// more than neonateFor does not count as a newborn's.
const neonateFor = 24 * time.Hour

// indexNames updates the index by patient. It uses the timeline built from the visit's own events.
func (l *Timelines) indexNames(v *registry.Visit) {
	l.Names.TouchUnassignedOf(v)
	if hasNames(v, &v.Timeline) {
		return
	}
	l.Names.touchOthersOf(v)
	l.Names.Delist(v)
	for _, p := range append([]string{v.Timeline.Patient}, v.Timeline.Subjects...) {
		if p != "" && !slices.Contains(v.Names, p) {
			v.Names = append(v.Names, p)
			l.Names.Patients[p] = append(l.Names.Patients[p], v)
		}
	}
	l.Names.TouchUnassignedOf(v)
	l.Names.touchOthersOf(v)
	if len(v.ResourceStatements) > 0 {
		l.TouchRoomOf(v) // the patient's names determine which statements are about the patient
	}
}

// indexNewborn updates the index of newborns.
func (l *Timelines) indexNewborn(v *registry.Visit) {
	if v.Timeline.Newborn != v.InNewborns {
		v.InNewborns = v.Timeline.Newborn
		l.TouchRoomsOf(v) // a statement about a room belongs to a mother rather than to a newborn
		if v.InNewborns {
			i, _ := slices.BinarySearchFunc(l.Newborns, v.ID, byVisitID)
			l.Newborns = slices.Insert(l.Newborns, i, v)
		} else {
			l.Newborns = slices.DeleteFunc(l.Newborns, func(n *registry.Visit) bool { return n == v })
			l.TouchRoomOf(v.Mother)
			v.LinkMother(nil)
		}
	}
}

func byVisitID(v *registry.Visit, id string) int { return cmp.Compare(v.ID, id) }

// hasNames reports whether the index lists the visit under exactly the patient names in a timeline.
func hasNames(v *registry.Visit, s *adt.Timeline) bool {
	n := 0
	if s.Patient != "" {
		n++
		if !slices.Contains(v.Names, s.Patient) {
			return false
		}
	}
	for _, p := range s.Subjects {
		if p == s.Patient {
			continue
		}
		if n++; !slices.Contains(v.Names, p) {
			return false
		}
	}
	return n == len(v.Names)
}

// UpdateMoves updates the moves of the last 120 min after each step.
func (l *Timelines) UpdateMoves() {
	w, since := &l.Work, l.Facts.Clock.Add(-score.TurnoverWindow)
	for _, m := range w.AddedMoves {
		if m > since {
			l.Moves = append(l.Moves, m)
		}
	}
	slices.Sort(l.Moves)
	for _, m := range w.DroppedMoves { // dropped after the additions, because a dropped move may be one of them
		if i, found := slices.BinarySearch(l.Moves, m); found {
			l.Moves = slices.Delete(l.Moves, i, i+1)
		}
	}
	n, _ := slices.BinarySearch(l.Moves, since+1)
	l.Moves = slices.Delete(l.Moves, 0, n)
	w.DroppedMoves, w.AddedMoves = facts.Emptied(w.DroppedMoves), facts.Emptied(w.AddedMoves)
}

// CountWaiting counts the waiting cancels and statements. A cancel that has waited for too long is counted until the
// next full hour of the hospital's clock.
func (l *Timelines) CountWaiting() {
	if !l.Work.RecountWaiting {
		return
	}
	l.Work.RecountWaiting = false
	hour := l.Facts.Clock - l.Facts.Clock%registry.HourOf
	cancels, statements := 0, 0
	l.Cancels = slices.DeleteFunc(l.Cancels, func(v *registry.Visit) bool {
		n := v.Timeline.CancelsWaiting(hour)
		if l.Visits[v.ID] == v {
			cancels += n
		}
		v.InCancels = n > 0
		return n == 0
	})
	for v := range l.Unknown {
		if v.Joined.Head != nil {
			continue
		}
		statements += v.Statements.Len() + len(v.ResourceStatements)
	}
	for _, r := range l.Names.BySubject {
		for i := range r.Statements {
			if r.Statements[i].Owner.ID == 0 {
				statements++
			}
		}
	}
	l.Chart.Unit.CancelsWaiting, l.Chart.Unit.StatementsWaiting = int32(cancels), int32(statements)
}
