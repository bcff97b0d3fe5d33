package identity

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/facts"
	"svc/acuity/registry"
)

// A sender may report one visit under several names: as Encounters that are partOf another Encounter, by an account
// number in addition to the visit number, or only by the patient. Facts are stored under the name in the message. Which
// names refer to the same visit is derived from all facts, so the order of arrival has no effect, and correcting a fact
// undoes the joins based on it.
//
// Among joined visits, the head has the timeline, the stays and the chart. The other visits store their facts and have
// no derived state.

// Joins decides which visits are the same stay.
type Joins struct {
	*registry.Registry
	Names *Names

	Accounts map[string][]*registry.Visit // visits with an account number, by account number
	Wholes   map[string][]*registry.Visit // visits with Encounters that are partOf another Encounter, by the name of that other Encounter
	Holders  int                          // number of visits whose messages name only the patient
}

// touchRelated touches the visits with which a visit was joined.
func (j *Joins) touchRelated(v *registry.Visit) {
	if v.IsJoined() {
		j.Work.RecountWaiting = j.Work.RecountWaiting || v.IsName()
		for _, o := range v.Related() {
			j.touch(o)
		}
	}
}

// Remove removes a dropped visit from the indexes, and touches the visits that may have been joined with it, so that
// they are joined again without it.
func (j *Joins) Remove(v *registry.Visit) {
	j.eachNeighbor(v, func(o *registry.Visit) {
		if o != v {
			j.Work.MarkVisit(o, registry.Touched)
		}
	})
	if j.Holders > 0 && len(v.Names) > 0 {
		for _, name := range j.Names.NamesOf(slices.Clone(v.Names)) {
			for _, o := range j.Names.Patients[name] {
				if o != v && o.Joined.ByPatient {
					j.Work.MarkVisit(o, registry.Touched)
				}
			}
		}
	}
	j.updateIndex(j.Accounts, v, v.Joined.Accounts(), nil)
	j.updateIndex(j.Wholes, v, v.Joined.Wholes(), nil)
	if v.Joined.ByPatient {
		j.Holders--
	}
	v.Joined = registry.Joined{}
}

// identity is a visit that may be joined with others in this step. Identities that are the same visit form a group.
type identity struct {
	v     *registry.Visit
	names []string // names of the patient
	at    int      // index of another identity in the group; for the first identity of the group, its own index
}

// join joins the touched visits, and builds the timelines of joined visits.
func (j *Joins) join(list []*registry.Visit, how adt.Options) {
	for _, v := range list {
		of := &v.Joined
		of.Head, of.Ties = nil, nil
	}
	if len(j.Accounts)+len(j.Wholes) > 0 {
		j.unite(j.listLinked(list))
	}
	for _, v := range list {
		if v.Joined.Head == nil && (len(v.Joined.Rest()) > 0 || j.hasParts(v)) {
			j.build(v, nil, how)
		}
	}
	j.lend(list, how)
}

// listLinked returns the visits that may be joined with others, in ascending order of id, and the position of each in
// the list.
func (j *Joins) listLinked(visits []*registry.Visit) (list []identity, index map[*registry.Visit]int) {
	for _, v := range visits {
		linked := false
		j.eachNeighbor(v, func(o *registry.Visit) { linked = linked || o != v })
		if linked && !v.Joined.ByPatient {
			list = append(list, identity{v: v})
		}
	}
	slices.SortFunc(list, func(a, b identity) int { return strings.Compare(a.v.ID, b.v.ID) })
	if len(list) > 0 {
		index = make(map[*registry.Visit]int, len(list))
	}
	for i := range list {
		index[list[i].v], list[i].at = i, i
		if names := list[i].v.Names; len(names) > 0 {
			list[i].names = j.Names.NamesOf(slices.Clone(names))
		}
	}
	return list, index
}

// firstOf returns the index of the first identity in the group of the i-th identity.
func firstOf(list []identity, i int) int {
	for list[i].at != i {
		i = list[i].at
	}
	return i
}

// unite decides which identities are the same visit, and chooses the heads. Two visits of the same patient are joined
// if one names the other, or if both name the same account or Encounter. A visit without a patient is joined with the
// linked visits that ofOnePatient selects.
func (j *Joins) unite(list []identity, index map[*registry.Visit]int) {
	one := func(a, b int) {
		if a, b = firstOf(list, a), firstOf(list, b); a != b {
			list[max(a, b)].at = min(a, b)
		}
	}
	for a := range list {
		if len(list[a].names) == 0 {
			continue
		}
		j.eachNeighbor(list[a].v, func(o *registry.Visit) {
			if b, known := index[o]; known && b != a && j.samePatient(&list[a], &list[b]) {
				one(a, b)
			}
		})
	}
	for a := range list {
		if len(list[a].names) > 0 {
			continue
		}
		var of []int
		j.eachNeighbor(list[a].v, func(o *registry.Visit) {
			b, known := index[o]
			if known && len(list[b].names) > 0 && !slices.Contains(of, b) && !j.mayBeMother(list[a].v, o) {
				of = append(of, b)
			}
		})
		if of = j.ofOnePatient(list, of); len(of) > 0 {
			for _, b := range of {
				one(a, b)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	groups := map[int][]*registry.Visit{}
	for i := range list {
		groups[firstOf(list, i)] = append(groups[firstOf(list, i)], list[i].v)
	}
	for _, group := range groups {
		if len(group) > 1 {
			j.makeHead(group)
		}
	}
}

// isNewborn reports whether a visit is a newborn's, regardless of joins.
func (j *Joins) isNewborn(v *registry.Visit) bool { return v.NewbornByEvents || j.Names.isNeonate(v) }

// mayBeMother reports whether a visit without a patient may be the visit of a newborn's mother.
func (j *Joins) mayBeMother(v, newborn *registry.Visit) bool {
	if !j.isNewborn(newborn) || j.isNewborn(v) {
		return false
	}
	return v.Timeline.OpenedAt != 0 || slices.ContainsFunc(newborn.Joined.Wholes(), func(w string) bool { return j.Names.VisitCalled(w) == v })
}

// samePatient reports whether two visits have the same patient, which requires a common name. A newborn's visit may
// be sent with the mother's number, so a newborn's visit and another visit have the same patient only if the other
// visit was never opened.
func (j *Joins) samePatient(a, b *identity) bool {
	if !slices.ContainsFunc(a.names, func(n string) bool { return slices.Contains(b.names, n) }) {
		return false
	}
	if j.isNewborn(a.v) == j.isNewborn(b.v) {
		return true
	}
	adult := a.v
	if j.isNewborn(adult) {
		adult = b.v
	}
	return adult.Timeline.OpenedAt == 0
}

// ofOnePatient returns the identities if they all have the same patient. If not, it returns the identities of the only
// patient who is not a newborn, or nil if there are several such patients.
func (j *Joins) ofOnePatient(list []identity, of []int) []int {
	alike := func(of []int) bool {
		for _, b := range of {
			if !j.samePatient(&list[of[0]], &list[b]) {
				return false
			}
		}
		return true
	}
	if alike(of) {
		return of
	}
	of = slices.DeleteFunc(of, func(b int) bool { return j.isNewborn(list[b].v) })
	if alike(of) {
		return of
	}
	return nil
}

// makeHead chooses the head of a group of joined visits. Visits with events take precedence over visits without.
// Among the visits with events, one that has parts and is not itself part of another visit takes precedence. If
// several visits remain, the first by id is the head.
func (j *Joins) makeHead(group []*registry.Visit) {
	isWhole := map[*registry.Visit]bool{}
	isPart := map[*registry.Visit]bool{}
	for _, v := range group {
		for _, w := range v.Joined.Wholes() {
			if o := j.Names.VisitCalled(w); o != nil && o != v && slices.Contains(group, o) {
				isWhole[o], isPart[v] = true, true
			}
		}
	}
	rank := func(v *registry.Visit) int {
		switch {
		case len(v.Events) == 0:
			return 2
		case isWhole[v] && !isPart[v]:
			return 0
		}
		return 1
	}
	head := slices.MinFunc(group, func(a, b *registry.Visit) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) })
	for _, v := range group { // ascending by id
		if v == head {
			continue
		}
		v.Joined.Head = head
		j.Work.RecountWaiting = j.Work.RecountWaiting || v.IsName()
		head.Joined.Tie().Rest = append(head.Joined.Tie().Rest, v)
		j.moveCensus(v, head)
	}
}

// moveCensus moves the census facts of a visit to its head, because later censuses update only the head.
func (j *Joins) moveCensus(from, to *registry.Visit) {
	if from.Facts == nil && len(from.Stays) == 0 {
		return
	}
	last := func(v *registry.Visit) acuity.Instant {
		if n := len(v.Stays); n > 0 {
			return v.Stays[n-1].Last
		}
		return 0
	}
	if to.Facts == nil || from.Facts != nil && last(from) > last(to) {
		to.Facts = from.Facts
	}
	stays := slices.Concat(to.Stays, from.Stays)
	slices.SortStableFunc(stays, func(a, b facts.CensusStay) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	for i := range stays {
		if s := &stays[i]; i+1 < len(stays) && (s.To == 0 || s.To > stays[i+1].First) {
			s.To = stays[i+1].First
		}
	}
	to.Stays = stays[max(len(stays)-registry.CapStays, 0):]
	from.Facts, from.Stays = nil, nil
	for _, v := range []*registry.Visit{from, to} {
		j.IndexKnown(v)
		j.UpdateSize(v)
		j.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
	}
}

// hasParts reports whether the events of a visit come from several Encounters, at least one of which is part of
// another Encounter.
func (j *Joins) hasParts(v *registry.Visit) bool {
	isPart := func(e adt.Event) bool { return e.Resource != "" && e.MotherVisit == v.ID }
	if len(v.Joined.Wholes()) == 0 && !slices.ContainsFunc(v.Events, isPart) {
		return false
	}
	first := v.Events[0].Resource
	return slices.ContainsFunc(v.Events, func(e adt.Event) bool { return e.Resource != first })
}

// build builds the timeline of a head from the events of all visits joined with it and from borrowed events. It
// clears the timelines of the other joined visits.
func (j *Joins) build(h *registry.Visit, borrowed []adt.Event, how adt.Options) {
	moved := append(j.Work.Moved[:0], h.Moves()...)
	j.buildTimeline(h, borrowed, how, &h.Timeline)
	h.NewbornByEvents = h.Timeline.Newborn
	h.Timeline.Newborn = h.NewbornByEvents || h.InNewborns
	h.Primary = registry.Chosen{}
	j.Work.RecordMoves(moved, h.Moves())
	j.Work.Moved = moved
	for _, v := range h.Joined.Rest() {
		if len(v.Timeline.Events) == 0 {
			continue
		}
		moved := append(j.Work.Moved[:0], v.Moves()...)
		v.Timeline.Rebuild(nil, how)
		v.NewbornByEvents, v.Primary = false, registry.Chosen{}
		j.Work.RecordMoves(moved, nil)
		j.Work.Moved = moved
	}
}

// buildTimeline builds the timeline of a head from the events of all visits joined with it and from borrowed events.
// The result overwrites *into.
func (j *Joins) buildTimeline(h *registry.Visit, borrowed []adt.Event, how adt.Options, into *adt.Timeline) {
	group := append([]*registry.Visit{h}, h.Joined.Rest()...)
	how.FoldAt, how.Filtered = 0, true
	parts := false
	var events []adt.Event
	for _, v := range group {
		how.FoldAt = max(how.FoldAt, v.FoldAt)
		for i := range v.Events {
			e := &v.Events[i]
			if v.FoldAt != 0 && e.IsTooOld(v.FoldAt) {
				continue
			}
			events = append(events, *e)
			parts = parts || e.Resource != "" && e.MotherVisit != ""
		}
	}
	events = append(events, borrowed...)
	isOwn := func(o *registry.Visit) bool { return slices.Contains(group, o) }
	if parts {
		events = how.JoinParts(events, func(e *adt.Event) bool {
			if e.Resource == "" || e.MotherVisit == "" {
				return false
			}
			o := j.Names.VisitCalled(e.MotherVisit)
			return o == nil && !e.Newborn || o != nil && isOwn(o)
		})
	}
	into.Rebuild(events, how)
	if !parts {
		return
	}
	into.MotherVisit = ""
	for i := range slices.Backward(into.Events) {
		if m := into.Events[i].Event.MotherVisit; m != "" && !isOwn(j.Names.VisitCalled(m)) {
			into.MotherVisit = m
			break
		}
	}
}

// claim makes the visit's head the owner of the visit's statements. If the visit is no longer joined, claim makes the
// visit itself the owner again.
func (j *Joins) claim(v *registry.Visit) {
	owner := evidence.Owner{ID: v.Whole().Slot, Kind: registry.ToVisit}
	if foreign := v.Joined.Head != nil; foreign || v.Joined.HasForeign {
		for h := range v.Statements.All {
			h.Owner = owner
		}
		for i := range v.ResourceStatements {
			v.ResourceStatements[i].Owner = owner
		}
		v.Joined.HasForeign = foreign
	}
}

// Disown makes a joined visit, instead of its head, the owner of the visit's statements.
func (j *Joins) Disown(v *registry.Visit) {
	owner := evidence.Owner{ID: v.Slot, Kind: registry.ToVisit}
	for h := range v.Statements.All {
		h.Owner = owner
	}
	for i := range v.ResourceStatements {
		v.ResourceStatements[i].Owner = owner
	}
}
