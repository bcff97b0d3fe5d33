package hospital

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
)

// A sender may tell of one visit under several names: as Encounters that are partOf
// another, by an account number beside the visit number, or by the patient alone. Facts are
// kept under the name in the message. Which names are one visit is derived from all of
// them, so the order of arrival means nothing, and what one fact joined its correction
// separates.
//
// Of the visits that are one, the head has the timeline, the stays and the chart. The
// others keep their facts and have nothing derived.

// joins decides which visits are one.
type joins struct {
	*registry
	names *names

	accounts map[string][]*visit // visits with an account number, by that number
	wholes   map[string][]*visit // visits with Encounters that are partOf another, by the name of that one
	holders  int                 // visits whose messages name the patient alone
}

// touchRelated touches those with which a visit was joined.
func (j *joins) touchRelated(v *visit) {
	if v.isJoined() {
		j.work.recountWaiting = j.work.recountWaiting || v.isName()
		for _, o := range v.related() {
			j.touch(o)
		}
	}
}

// leave takes a forgotten visit out. Those that name it are joined anew.
func (j *joins) leave(v *visit) {
	j.neighbors(v, func(o *visit) {
		if o != v {
			j.work.markVisit(o, touched)
		}
	})
	if j.holders > 0 && len(v.names) > 0 {
		for _, name := range j.names.namesOf(slices.Clone(v.names)) {
			for _, o := range j.names.patients[name] {
				if o != v && o.joined.byPatient {
					j.work.markVisit(o, touched)
				}
			}
		}
	}
	j.index(j.accounts, v, v.joined.accounts(), nil)
	j.index(j.wholes, v, v.joined.wholes(), nil)
	if v.joined.byPatient {
		j.holders--
	}
	v.joined = joined{}
}

// identity is what a visit of this step may be one with.
type identity struct {
	v     *visit
	names []string // of the patient
	at    int      // index of another identity of the same visit; its own: the first
}

// join joins the touched visits, and builds the timelines of those that are several visits in
// one.
func (j *joins) join(list []*visit, how adt.Options) {
	for _, v := range list {
		of := &v.joined
		of.head, of.ties = nil, nil
	}
	if len(j.accounts)+len(j.wholes) > 0 {
		j.unite(j.linked(list))
	}
	for _, v := range list {
		if v.joined.head == nil && (len(v.joined.rest()) > 0 || j.hasParts(v)) {
			j.build(v, nil, how)
		}
	}
	j.lend(list, how)
}

// linked returns those of the visits that may be one with others, ascending by id, and the index
// of each.
func (j *joins) linked(visits []*visit) (list []identity, index map[*visit]int) {
	for _, v := range visits {
		linked := false
		j.neighbors(v, func(o *visit) { linked = linked || o != v })
		if linked && !v.joined.byPatient {
			list = append(list, identity{v: v})
		}
	}
	slices.SortFunc(list, func(a, b identity) int { return strings.Compare(a.v.ID, b.v.ID) })
	if len(list) > 0 {
		index = make(map[*visit]int, len(list))
	}
	for i := range list {
		index[list[i].v], list[i].at = i, i
		if names := list[i].v.names; len(names) > 0 {
			list[i].names = j.names.namesOf(slices.Clone(names))
		}
	}
	return list, index
}

// find returns the first identity of a visit.
func find(list []identity, i int) int {
	for list[i].at != i {
		i = list[i].at
	}
	return i
}

// unite finds out which identities are one visit, and makes the heads. Visits of one
// patient are one if one names the other, or both name the same. A visit without a
// patient is one with those that are connected to it if they have one patient.
func (j *joins) unite(list []identity, index map[*visit]int) {
	one := func(a, b int) {
		if a, b = find(list, a), find(list, b); a != b {
			list[max(a, b)].at = min(a, b)
		}
	}
	for a := range list {
		if len(list[a].names) == 0 {
			continue
		}
		j.neighbors(list[a].v, func(o *visit) {
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
		j.neighbors(list[a].v, func(o *visit) {
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
	groups := map[int][]*visit{}
	for i := range list {
		groups[find(list, i)] = append(groups[find(list, i)], list[i].v)
	}
	for _, group := range groups {
		if len(group) > 1 {
			j.makeHead(group)
		}
	}
}

// isNewborn reports whether a visit is a newborn's by itself.
func (j *joins) isNewborn(v *visit) bool { return v.newbornByEvents || j.names.isNeonate(v) }

// mayBeMother reports whether a visit without a patient may be that of a newborn's mother.
func (j *joins) mayBeMother(v, newborn *visit) bool {
	if !j.isNewborn(newborn) || j.isNewborn(v) {
		return false
	}
	return v.timeline.OpenedAt != 0 || slices.ContainsFunc(newborn.joined.wholes(), func(w string) bool { return j.names.visitCalled(w) == v })
}

// samePatient reports whether two visits have one patient. A newborn may have the number
// of the mother, so that alone does not make it her.
func (j *joins) samePatient(a, b *identity) bool {
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
	return adult.timeline.OpenedAt == 0
}

// ofOnePatient returns the identities if they have one patient; else those of the only
// patient who is no newborn; nil: there are several.
func (j *joins) ofOnePatient(list []identity, of []int) []int {
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

// makeHead makes one of the visits the head: the whole that is part of none of them, else
// the first by identity. Visits with events go before those that are only a name.
func (j *joins) makeHead(group []*visit) {
	isWhole := map[*visit]bool{}
	isPart := map[*visit]bool{}
	for _, v := range group {
		for _, w := range v.joined.wholes() {
			if o := j.names.visitCalled(w); o != nil && o != v && slices.Contains(group, o) {
				isWhole[o], isPart[v] = true, true
			}
		}
	}
	rank := func(v *visit) int {
		switch {
		case len(v.events) == 0:
			return 2
		case isWhole[v] && !isPart[v]:
			return 0
		}
		return 1
	}
	head := slices.MinFunc(group, func(a, b *visit) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) })
	for _, v := range group { // ascending by id
		if v == head {
			continue
		}
		v.joined.head = head
		j.work.recountWaiting = j.work.recountWaiting || v.isName()
		head.joined.tie().rest = append(head.joined.tie().rest, v)
		j.moveCensus(v, head)
	}
}

// moveCensus moves what censuses said of a visit to its head: the next census knows only
// the head.
func (j *joins) moveCensus(from, to *visit) {
	if from.Facts == nil && len(from.Stays) == 0 {
		return
	}
	last := func(v *visit) acuity.Instant {
		if n := len(v.Stays); n > 0 {
			return v.Stays[n-1].Last
		}
		return 0
	}
	if to.Facts == nil || from.Facts != nil && last(from) > last(to) {
		to.Facts = from.Facts
	}
	stays := slices.Concat(to.Stays, from.Stays)
	slices.SortStableFunc(stays, func(a, b CensusStay) int { return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last)) })
	for i := range stays {
		if s := &stays[i]; i+1 < len(stays) && (s.To == 0 || s.To > stays[i+1].First) {
			s.To = stays[i+1].First
		}
	}
	to.Stays = stays[max(len(stays)-capStays, 0):]
	from.Facts, from.Stays = nil, nil
	for _, v := range []*visit{from, to} {
		j.indexKnown(v)
		j.weigh(v)
		j.work.markVisit(v, unsaved|touched)
	}
}

// hasParts reports whether the Encounters of a visit are parts of others.
func (j *joins) hasParts(v *visit) bool {
	isPart := func(e adt.Event) bool { return e.Resource != "" && e.MotherVisit == v.ID }
	if len(v.joined.wholes()) == 0 && !slices.ContainsFunc(v.events, isPart) {
		return false
	}
	first := v.events[0].Resource
	return slices.ContainsFunc(v.events, func(e adt.Event) bool { return e.Resource != first })
}

// build builds the timeline of a head from the events of all its visits and those that it
// borrows.
func (j *joins) build(h *visit, borrowed []adt.Event, how adt.Options) {
	moved := append(j.work.moved[:0], h.moves()...)
	j.timeline(h, borrowed, how, &h.timeline)
	h.newbornByEvents = h.timeline.Newborn
	h.timeline.Newborn = h.newbornByEvents || h.inNewborns
	h.primary = chosen{}
	j.work.turnOver(moved, h.moves())
	j.work.moved = moved
	for _, v := range h.joined.rest() {
		if len(v.timeline.Events) == 0 {
			continue
		}
		moved := append(j.work.moved[:0], v.moves()...)
		v.timeline.Rebuild(nil, how)
		v.newbornByEvents, v.primary = false, chosen{}
		j.work.turnOver(moved, nil)
		j.work.moved = moved
	}
}

// timeline builds a timeline of a head.
func (j *joins) timeline(h *visit, borrowed []adt.Event, how adt.Options, into *adt.Timeline) {
	group := append([]*visit{h}, h.joined.rest()...)
	how.FoldAt, how.Filtered = 0, true
	parts := false
	var events []adt.Event
	for _, v := range group {
		how.FoldAt = max(how.FoldAt, v.FoldAt)
		for i := range v.events {
			e := &v.events[i]
			if v.FoldAt != 0 && e.IsTooOld(v.FoldAt) {
				continue
			}
			events = append(events, *e)
			parts = parts || e.Resource != "" && e.MotherVisit != ""
		}
	}
	events = append(events, borrowed...)
	isOwn := func(o *visit) bool { return slices.Contains(group, o) }
	if parts {
		events = how.JoinParts(events, func(e *adt.Event) bool {
			if e.Resource == "" || e.MotherVisit == "" {
				return false
			}
			o := j.names.visitCalled(e.MotherVisit)
			return o == nil && !e.Newborn || o != nil && isOwn(o)
		})
	}
	into.Rebuild(events, how)
	if !parts {
		return
	}
	into.MotherVisit = ""
	for i := range slices.Backward(into.Events) {
		if m := into.Events[i].Event.MotherVisit; m != "" && !isOwn(j.names.visitCalled(m)) {
			into.MotherVisit = m
			break
		}
	}
}

// claim makes the head the owner of the statements of its visits.
func (j *joins) claim(v *visit) {
	owner := evidence.Owner{ID: v.whole().slot, Kind: toVisit}
	if foreign := v.joined.head != nil; foreign || v.joined.hasForeign {
		for h := range v.statements.All {
			h.Owner = owner
		}
		for i := range v.resourceStatements {
			v.resourceStatements[i].Owner = owner
		}
		v.joined.hasForeign = foreign
		v.cache.Forget()
		v.whole().cache.Forget()
	}
}

// disown gives the statements of a visit back to it.
func (j *joins) disown(v *visit) {
	owner := evidence.Owner{ID: v.slot, Kind: toVisit}
	for h := range v.statements.All {
		h.Owner = owner
	}
	for i := range v.resourceStatements {
		v.resourceStatements[i].Owner = owner
	}
}
