package acuity

import "slices"

// sojourn is a time that a visit spends in one place, by ADT and census together.
type sojourn struct {
	placement
	From, To Instant // To 0: still
}

// holds reports whether the span covers t.
func (s sojourn) holds(t Instant) bool { return s.From <= t && (s.To == 0 || t < s.To) }

// voice is what censuses say about a visit from one census to the next that
// says otherwise. Between At and Last they said it again and again.
type voice struct {
	At, Last Instant
	Place    placement
	Absent   bool
}

// weaving joins what ADT and census say about the place of one visit.
type weaving struct {
	spans  []sojourn // by ADT alone
	points []point   // when ADT says something about the place
	voices []voice   // of censuses, ascending
	early  sojourn   // before the first census, of a visit that ADT does not know yet
	times  []Instant
}

// weave returns the stays of a visit. A census at T overrides every ADT event
// up to T; an ADT event after T, or a cancel recorded after T, overrides the
// census (clinical-decisions X3).
func (u *Unit) weave(v *visit, w *weaving, dst []sojourn) []sojourn {
	u.thread(v, w)
	v.ended = w.ended(v)
	if len(w.voices) == 0 {
		return append(dst, w.spans...)
	}
	w.times = w.times[:0]
	for _, s := range w.spans {
		w.times = append(w.times, s.From)
		if s.To != 0 {
			w.times = append(w.times, s.To)
		}
	}
	for _, p := range w.points {
		w.times = append(w.times, p.At)
	}
	for _, q := range w.voices {
		w.times = append(w.times, q.At)
	}
	if w.early.From != 0 {
		w.times = append(w.times, w.early.From)
	}
	slices.Sort(w.times)
	for _, t := range slices.Compact(w.times) {
		p, there := w.at(t)
		last := len(dst) - 1
		if last >= 0 && dst[last].To == 0 {
			if there && dst[last].placement == p {
				continue
			}
			dst[last].To = t
		}
		if there {
			dst = append(dst, sojourn{placement: p, From: t})
		}
	}
	return dst
}

// at returns where the visit is at t; false: it is not in the hospital.
func (w *weaving) at(t Instant) (placement, bool) {
	q := -1
	for i := range w.voices {
		if w.voices[i].At <= t {
			q = i
		}
	}
	if q < 0 {
		if w.early.From != 0 && w.early.holds(t) {
			return w.early.placement, true
		}
		return w.byADT(t)
	}
	said := min(t, w.voices[q].Last)
	for _, p := range w.points {
		if said < p.At && p.At <= t && p.About <= said {
			return w.byADT(t)
		}
	}
	return w.voices[q].Place, !w.voices[q].Absent
}

// ended returns when ADT and the censuses that showed the visit last said anything
// of its place; 0: by one of them it is still somewhere.
func (w *weaving) ended(v *visit) Instant {
	last := Instant(1)
	for _, s := range w.spans {
		if s.To == 0 {
			return 0
		}
	}
	for _, p := range w.points {
		last = max(last, p.At)
	}
	for i := range v.Stays {
		if v.Stays[i].To == 0 {
			return 0
		}
		last = max(last, v.Stays[i].To)
	}
	return last
}

func (w *weaving) byADT(t Instant) (placement, bool) {
	for _, s := range slices.Backward(w.spans) {
		if s.holds(t) {
			return s.placement, true
		}
	}
	return placement{}, false
}

// listen fills the voices of a weaving: what censuses say about the visit.
func (u *Unit) listen(v *visit, w *weaving) {
	for i := range v.Stays {
		s := &v.Stays[i]
		place := placement{Kind: inRoom, Room: s.Room}
		if i == 0 && s.From < s.First && !w.knownBefore(s.First) {
			w.early = sojourn{placement: place, From: max(s.From, 1), To: s.First}
		}
		w.voices = append(w.voices, voice{At: s.First, Last: s.Last, Place: place})
		if s.To != 0 && (i+1 == len(v.Stays) || v.Stays[i+1].First != s.To) {
			w.voices = append(w.voices, voice{At: s.To, Last: s.To, Absent: true})
		}
	}
	if !u.facts.HasCensus || shownAt(v, u.facts.CensusAt) {
		return
	}
	at := u.facts.CensusAt
	switch r := v.adopts; {
	case r != nil:
		o := &r.Occupant.Stay
		place := placement{Kind: inRoom, Room: r.ID}
		from := o.First
		if arrived, ok := w.arrival(at); ok && arrived > o.First {
			from = arrived // somebody else was seen before it arrived
		} else if ok && o.From < arrived {
			w.early = sojourn{placement: place, From: max(o.From, 1), To: arrived}
		}
		w.voices = append(w.voices, voice{At: from, Last: o.Last, Place: place})
	case v.timeline.newborn && u.besideSomebody(v, w, at):
	default:
		if _, there := w.byADT(at); there && !v.timeline.placedAbout(at) || !there && len(v.Stays) > 0 {
			w.voices = append(w.voices, voice{At: at, Last: at, Absent: true})
		}
	}
}

// placedAbout reports whether an event that came behind a census at t may have placed
// the visit after t, though its time lies before: that is known to the second, or
// the minute, in which the census was taken. Such a patient is not lost to the census.
func (s *timeline) placedAbout(t Instant) bool {
	return slices.ContainsFunc(s.events, func(e appliedEvent) bool {
		if e.stay < 0 || e.event.ReceivedAt <= t || e.at > t || e.at.Add(e.event.Precision.span()) <= t {
			return false
		}
		here := &s.stays[e.stay]
		return e.at == here.From || e.at == here.Last
	})
}

// knownBefore reports whether ADT placed the visit at or before t.
func (w *weaving) knownBefore(t Instant) bool {
	return len(w.spans) > 0 && w.spans[0].From <= t
}

// arrival returns since when the visit is, by ADT, where it is at t.
func (w *weaving) arrival(t Instant) (Instant, bool) {
	for i := range w.spans {
		if w.spans[i].holds(t) {
			return w.spans[i].From, true
		}
	}
	return 0, false
}

// besideSomebody reports whether a newborn is, by ADT, in a room where the
// newest census sees somebody, or one that it shared with its mother, whom it
// follows: a census lists rooms, and a newborn rarely by itself.
func (u *Unit) besideSomebody(v *visit, w *weaving, at Instant) bool {
	p, there := w.byADT(at)
	if !there {
		return false
	}
	if p.Kind != inRoom {
		return true
	}
	if r := u.room(p.Room); r != nil && r.Listed && r.Status == RoomOccupied {
		return true
	}
	m := u.motherOf(v)
	return m != nil && slices.ContainsFunc(m.spans, func(s sojourn) bool { return s.placement == p })
}

// shownAt reports whether the census at t showed the visit.
func shownAt(v *visit, t Instant) bool {
	n := len(v.Stays)
	return n > 0 && v.Stays[n-1].Last == t && v.Stays[n-1].To == 0
}

// claim is a visit that may be whom a census sees in a room.
type claim struct {
	v    *visit
	from Instant
}

// stake returns where the visit may be the occupant whom the newest census saw
// without saying which visit it is: in the room where ADT has it at that time,
// if it came there no earlier than the occupant.
func (u *Unit) stake(v *visit) (*room, Instant) {
	if !u.facts.HasCensus || v.timeline.newborn || shownAt(v, u.facts.CensusAt) {
		return nil, 0
	}
	for i := range v.timeline.stays {
		s := &v.timeline.stays[i]
		if !(sojourn{From: s.From, To: s.To}).holds(u.facts.CensusAt) {
			continue
		}
		p := u.table.of(s.place())
		if p.Kind != inRoom {
			return nil, 0
		}
		r := u.room(p.Room)
		if r == nil || r.Occupant == nil || r.Occupant.Last != u.facts.CensusAt || s.Last < r.Occupant.From {
			return nil, 0
		}
		return r, s.From
	}
	return nil, 0
}

// withMother returns the stays of a newborn: its own, and from the time at which its
// mother leaves the room that they share, hers (X9). A newborn that was never
// placed is where its mother is.
func withMother(own, mothers []sojourn, from, to Instant, dst []sojourn) []sojourn {
	leaves := from // since when it follows
	if n := len(own); n > 0 && own[n-1].Kind == inRoom {
		home := own[n-1]
		if home.To != 0 {
			return append(dst, own...)
		}
		leaves = 0
		for _, m := range mothers {
			if m.placement == home.placement && m.To != 0 && m.To > home.From {
				leaves = m.To
				break
			}
		}
		if leaves == 0 {
			return append(dst, own...)
		}
		dst = append(dst, own...)
		dst[len(dst)-1].To = leaves
	}
	for _, m := range mothers {
		if m.To != 0 && m.To <= leaves || to != 0 && m.From >= to {
			continue
		}
		m.From = max(m.From, leaves)
		if to != 0 && (m.To == 0 || m.To > to) {
			m.To = to
		}
		dst = append(dst, m)
	}
	return dst
}
