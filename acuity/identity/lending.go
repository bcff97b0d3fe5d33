package identity

import (
	"cmp"
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/registry"
)

// A message that names only the patient belongs to the patient's only open visit. Which visit is open depends on all
// messages about the patient, so the event in such a message is stored under the patient and lent to the visit. If
// the patient has no visit, the event creates a separate one.

// lending assigns the events that name only a patient. It handles one patient.
type lending struct {
	*Joins
	how     adt.Options
	adults  []*registry.Visit // visits of the patient, ascending by id
	babies  []*registry.Visit // visits of newborns with one of the patient's names, ascending by id
	holders []*registry.Visit // visits that store the events, ascending by id; the first gets the events that belong to no other visit
	events  []floating
	lines   map[*registry.Visit]*adt.Timeline // timelines with the events assigned so far
}

// floating is an event that names only the patient.
type floating struct {
	e       *adt.Event
	holder  *registry.Visit
	index   int
	decided bool
	to      registry.Lent
}

// lend assigns each event that names only a patient to one of the patient's visits. It handles every patient for whom
// the list contains a visit whose messages name only the patient.
func (j *Joins) lend(visits []*registry.Visit, how adt.Options) {
	if j.Holders == 0 {
		return
	}
	var holders []*registry.Visit
	for _, v := range visits {
		if v.Joined.ByPatient {
			holders = append(holders, v)
		}
	}
	slices.SortFunc(holders, byVisit)
	done := map[*registry.Visit]bool{}
	for _, v := range holders {
		if done[v] {
			continue
		}
		l := lending{Joins: j, how: how, lines: map[*registry.Visit]*adt.Timeline{}}
		for _, name := range j.Names.NamesOf(slices.Clone(v.Names)) {
			for _, o := range j.Names.Patients[name] {
				l.add(o)
			}
		}
		slices.SortFunc(l.holders, byVisit)
		for _, o := range l.holders {
			done[o] = true
		}
		if len(l.adults)+len(l.babies) > 0 || len(l.holders) > 1 {
			l.decide()
		}
	}
}

func byVisit(a, b *registry.Visit) int { return strings.Compare(a.ID, b.ID) }

// add adds a visit that has one of the patient's names.
func (l *lending) add(v *registry.Visit) {
	list := &l.adults
	switch {
	case v.Joined.ByPatient:
		list = &l.holders
	case l.isNewborn(v.Whole()):
		list = &l.babies
	}
	if v = v.Whole(); !slices.Contains(*list, v) {
		*list = append(*list, v)
	}
}

// decide assigns each event and builds the timelines. It assigns the cancels last, because a cancel belongs to the
// visit with the event that it cancels. It then assigns all events once more, because the cancels may change which
// visits are open.
func (l *lending) decide() {
	slices.SortFunc(l.adults, byVisit)
	slices.SortFunc(l.babies, byVisit)
	for _, h := range l.holders {
		for i := range h.Events {
			l.events = append(l.events, floating{e: &h.Events[i], holder: h, index: i})
		}
	}
	slices.SortFunc(l.events, func(a, b floating) int { return a.e.Compare(b.e) })
	l.decideAll(false)
	if slices.ContainsFunc(l.events, func(f floating) bool { return adt.IsCancel(f.e.Type) }) {
		l.decideAll(true)
		l.decideAll(false)
		l.decideAll(true)
	}
	l.finish()
}

// decideAll assigns only the cancels if cancels is true, and only the other events if cancels is false.
func (l *lending) decideAll(cancels bool) {
	clear(l.lines)
	for i := range l.events {
		if f := &l.events[i]; adt.IsCancel(f.e.Type) == cancels {
			f.decided = false
		}
	}
	for i := range l.events {
		f := &l.events[i]
		if adt.IsCancel(f.e.Type) != cancels {
			continue
		}
		if cancels {
			f.to = l.visitOfCancelled(f.e)
		} else {
			f.to = l.chooseVisit(f.e)
		}
		if f.decided = true; f.to.To != nil && f.e.Type != acuity.A08 {
			delete(l.lines, f.to.To)
		}
	}
}

// anonymous returns the visit for the events that do not belong to any other visit.
func (l *lending) anonymous() *registry.Visit { return l.holders[0] }

// eventsOf returns the events assigned to a visit so far.
func (l *lending) eventsOf(v *registry.Visit) (list []adt.Event) {
	for i := range l.events {
		if f := &l.events[i]; f.decided && f.to.To == v {
			list = append(list, *f.e)
		}
	}
	return list
}

// timelineOf returns the timeline of a visit from the events assigned so far and the given additional events.
func (l *lending) timelineOf(v *registry.Visit, more ...adt.Event) *adt.Timeline {
	if t := l.lines[v]; t != nil && len(more) == 0 {
		return t
	}
	t := &adt.Timeline{}
	if events := append(l.eventsOf(v), more...); v == l.anonymous() {
		how := l.how
		how.FoldAt = v.FoldAt
		t.Rebuild(events, how)
	} else {
		l.buildTimeline(v, events, l.how, t)
	}
	if len(more) == 0 {
		l.lines[v] = t
	}
	return t
}

// candidates returns the visits to which an event may belong. An event that marks a newborn never belongs to the
// mother.
func (l *lending) candidates(e *adt.Event) []*registry.Visit {
	switch {
	case e.Newborn || len(l.adults) == 0:
		return l.babies
	default:
		return l.adults
	}
}

// chooseVisit returns the visit of an event: the only open one or, if several are open, the one that openVisitAt
// finds. If no visit is open, chooseVisit returns the nearest visit that the event can belong to or, if there is
// none, the visit for the events that belong to no other visit.
func (l *lending) chooseVisit(e *adt.Event) registry.Lent {
	t := e.CountsAt()
	of := l.candidates(e)
	var open []*registry.Visit
	for _, v := range of {
		if l.timelineOf(v).OpenAt(t) {
			open = append(open, v)
		}
	}
	if l.timelineOf(l.anonymous()).OpenAt(t) {
		open = append(open, l.anonymous())
	}
	switch {
	case len(open) == 1:
		return registry.Lent{To: open[0]}
	case len(open) > 1:
		return l.openVisitAt(open, e, t)
	}
	v := l.nearestVisit(of, e, t)
	return registry.Lent{To: cmp.Or(v, l.anonymous())}
}

// openVisitAt returns the only open visit in the room that the event names. For a transfer or its cancel, it tries
// the prior room first, then the new room. If neither identifies exactly one visit, the event is assigned to no
// visit.
func (l *lending) openVisitAt(open []*registry.Visit, e *adt.Event, t acuity.Instant) registry.Lent {
	places := []*acuity.Location{e.Place}
	if e.Type == acuity.A02 || e.Type == acuity.A12 {
		places = []*acuity.Location{e.Prior, e.Place}
	}
	for _, place := range places {
		var in []*registry.Visit
		for _, v := range open {
			if l.timelineOf(v).IsIn(place, t, l.how) {
				in = append(in, v)
			}
		}
		if len(in) == 1 {
			return registry.Lent{To: in[0]}
		}
	}
	return registry.Lent{None: true}
}

// nearestVisit returns the visit of an event that occurred while no visit was open, or nil if there is none. Unless
// the patient is discharged in between, an admission or a transfer belongs to the next visit that opens, because the
// visit number may arrive later. An update belongs to the previous visit or, if the next one opens within 24 h, to
// the nearer of the two. A discharge belongs to the previous visit.
func (l *lending) nearestVisit(of []*registry.Visit, e *adt.Event, t acuity.Instant) (best *registry.Visit) {
	gap := acuity.Instant(-1)
	consider := func(v *registry.Visit, away acuity.Instant) {
		if gap < 0 || away < gap {
			best, gap = v, away
		}
	}
	for _, v := range of {
		line := l.timelineOf(v)
		for i := range line.Stays {
			s := &line.Stays[i]
			opens := i == 0 || line.Stays[i-1].To != s.From
			switch {
			case s.To != 0 && s.To <= t:
				if !e.Opens() {
					consider(v, t-s.To)
				}
			case s.From <= t || !opens || e.Type == acuity.A03:
			case e.Opens():
				if !l.dischargedBetween(t, s.From) {
					consider(v, s.From-t)
				}
			case s.From <= t.Add(registry.SettleAfter):
				consider(v, s.From-t)
			}
		}
	}
	return best
}

// dischargedBetween reports whether a message that names only the patient discharged the patient in the interval
// (from, to].
func (l *lending) dischargedBetween(from, to acuity.Instant) bool {
	return slices.ContainsFunc(l.events, func(f floating) bool {
		at := f.e.CountsAt()
		return f.e.Type == acuity.A03 && at > from && at <= to
	})
}

// visitOfCancelled returns the visit with the event that a cancel refers to. If the cancel does not name the time of
// that event, only the visits with the latest matching event are considered. If several visits remain, openVisitAt
// chooses by the place in the cancel. If no visit has a matching event, the cancel belongs to the visit for the
// events that belong to no other visit.
func (l *lending) visitOfCancelled(c *adt.Event) registry.Lent {
	of := append(slices.Clone(l.candidates(c)), l.anonymous())
	var found []*registry.Visit
	latest := acuity.Instant(0)
	for _, v := range of {
		at := l.timelineOf(v, *c).Target(c)
		switch {
		case at == 0 || at < latest && c.Cancels == 0:
			continue
		case at > latest && c.Cancels == 0:
			found = found[:0]
		}
		latest = max(latest, at)
		found = append(found, v)
	}
	switch len(found) {
	case 0:
		return registry.Lent{To: l.anonymous()}
	case 1:
		return registry.Lent{To: found[0]}
	}
	if one := l.openVisitAt(found, c, latest); !one.None {
		return one
	}
	return l.openVisitAt(found, c, latest-1)
}

// finish builds the final timelines, which include the lent events.
func (l *lending) finish() {
	for _, h := range l.holders {
		h.Joined.Tie().Lent = make([]registry.Lent, len(h.Events))
	}
	borrowers := map[*registry.Visit]bool{}
	for i := range l.events {
		f := &l.events[i]
		to := f.to
		if to.To == f.holder {
			to.To = nil
		}
		f.holder.Joined.Ties.Lent[f.index] = to
		if v := to.To; v != nil {
			borrowers[v] = true
			if of := &v.Joined.Tie().Borrowed; !slices.Contains(*of, f.holder) {
				*of = append(*of, f.holder)
			}
		}
	}
	for _, of := range [...][]*registry.Visit{l.adults, l.babies} {
		for _, v := range of {
			if borrowers[v] {
				l.build(v, l.eventsOf(v), l.how)
			}
		}
	}
	for _, h := range l.holders {
		moved := append(l.Work.Moved[:0], h.Moves()...)
		how := l.how
		how.FoldAt = h.FoldAt
		var own []adt.Event
		if h == l.anonymous() {
			own = l.eventsOf(h)
		}
		h.Timeline.Rebuild(own, how)
		h.NewbornByEvents, h.Primary = h.Timeline.Newborn, registry.Chosen{}
		l.Work.RecordMoves(moved, h.Moves())
		l.Work.Moved = moved
	}
}
