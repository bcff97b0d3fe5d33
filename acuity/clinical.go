package acuity

import "slices"

// takeClinical takes the clinical statements of a request.
func (u *Unit) takeClinical(in *intake) {
	if ref := in.o.Room; ref != nil {
		if in.room = u.named(in, *ref); in.room == nil {
			in.Outcome, in.Reason = Ignored, reasonRooms
			return
		}
	}
	in.heard = u.work.said[:0]
	for i := range in.o.Signals {
		s := &in.o.Signals[i]
		h := Heard{
			matchedSignal: u.matchedSignals.of(u, signalTextOf(s, in.o.Channel)),
			ReceivedAt:    in.o.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, to: notBound,
		}
		if s.ObservedAt > h.ReceivedAt.Add(clockSlack) || s.StartedAt > h.ReceivedAt.Add(clockSlack) {
			in.warn("time_in_future", "")
		}
		in.heard = append(in.heard, h)
		if u.kept >= u.limits.statements {
			in.refuse(reasonStatements, item("signals", i))
			continue
		}
		if s.Visit != "" || s.Patient != "" || s.Subject != "" || s.Resource != "" {
			u.hearOf(in, i, s, filed{Heard: h, version: versionOf(s)})
			continue
		}
		r := in.room
		if r == nil || r.ID != s.Room {
			r = u.named(in, RoomRef{ID: s.Room})
		}
		if r == nil {
			continue
		}
		u.number(&h)
		u.keep(&r.threads, h, "")
		u.markRoom(r, markHeard|markTouched)
	}
	u.work.said = in.heard
	if o := in.o; in.refused > 0 && in.refused == len(o.Signals) && o.Room == nil && len(o.Events)+len(o.Referents) == 0 {
		in.Outcome, in.Reason = Ignored, in.Warnings[len(in.Warnings)-1].Code
	}
	u.noteUnmappedSignals(in)
}

// named returns the room that a clinical request names, made known if it was not.
func (u *Unit) named(in *intake, ref RoomRef) *room {
	r := u.room(ref.ID)
	if !u.roomForRoom(in, ref.ID) {
		in.refuse(reasonRooms, "roomId")
		return nil
	}
	if r == nil {
		r = u.addRoom(RoomState{ID: ref.ID, Label: ref.Label})
		u.work.relabel = true
	}
	switch {
	case ref.Label == "" || ref.Label == r.Label:
	case r.Label == "":
		r.Label = ref.Label
		u.markRoom(r, markState|dirtyChart)
		u.work.relabel = true
	default:
		in.warn("room_label_differs", "roomLabel") // a census says what a room is called (H18)
	}
	if !r.Listed && !r.Clinical {
		r.Clinical = true
		u.markRoom(r, markState|dirtyChart)
	}
	u.markRoom(r, markTouched)
	return r
}

// number gives a statement the next number.
func (u *Unit) number(h *Heard) {
	u.facts.Heard++
	u.kept++
	h.number = u.facts.Heard
}

// hearFor adds a statement that belongs to the visit for good.
func (u *Unit) hearFor(v *visit, h Heard) {
	u.entrust(v, &h)
	u.stirEvidence(&h, false)
}

// entrust has a visit keep a statement. It asks for nothing anew.
func (u *Unit) entrust(v *visit, h *Heard) {
	h.bind(binding{v, toVisit})
	h.Settled = true
	u.reread(h)
	u.keep(&v.threads, *h, v.ID)
}

// lose drops the record of a statement, and what was made of it.
func (u *Unit) lose(h *Heard) {
	u.drop(h)
	u.stirEvidence(h, true)
}

// drop takes the record of a statement away.
func (u *Unit) drop(h *Heard) {
	u.kept--
	u.dirty.lost = append(u.dirty.lost, h.number)
}

// keep adds a statement to those known of a room, or of a visit that is named.
// Of a run of statements that say the same within minutes only the ends are
// kept; beyond the cap those go that have a newer one of the same identity, the
// oldest first, else the oldest.
func (u *Unit) keep(l *threads, h Heard, visit string) {
	u.matchedSignals.use(u, l) // the identities decide
	if t := l.of(h.matchedSignal); t != nil {
		if i := t.between(&h); i >= 0 {
			u.lose(&t.said[i])
			l.drop(t, i)
		}
	}
	for l.size >= capSignals {
		t, i := l.least()
		u.lose(&t.said[i])
		l.drop(t, i)
	}
	u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: h, owner: owner{visit: visit}})
	l.add(h)
}

// settle makes final whose the statements are that were received 24 h ago. They
// are whose they were, so nothing else changes.
func (u *Unit) settle(r *room, now Instant) {
	if at := r.threads.unsettled; at == 0 || at.Add(settleAfter) > now {
		return
	}
	list := u.work.settled[:0]
	r.threads.unsettled = 0
	r.threads.remove(func(h *Heard) bool {
		switch {
		case h.Settled:
			return false
		case h.ReceivedAt.Add(settleAfter) > now, h.to == toOccupant: // who may still turn out to be a visit
			r.threads.unsettled = Soonest(r.threads.unsettled, h.ReceivedAt)
			return false
		case h.to == toRoom:
			h.Settled = true
			u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: *h})
			return false
		}
		list = append(list, *h)
		return true
	})
	slices.SortFunc(list, compareArrival)
	for i := range list {
		h := &list[i]
		if v := u.visitOfHeard(h); v != nil {
			u.entrust(v, h) // whose it was: nothing new comes of it
		} else {
			u.lose(h)
		}
	}
	u.work.settled = emptied(list)
}

// answerClinical tells what a clinical request has to know of its room.
func (u *Unit) answerClinical(in *intake) {
	if in.room == nil {
		return
	}
	if in.room.chart.Status == RoomEmpty || in.room.chart.Status == RoomBlocked {
		in.warn("room_not_occupied", "roomId")
	}
}

// noteUnmappedSignals tells the codes of the request that nothing knows, and
// lists them for the administrator.
func (u *Unit) noteUnmappedSignals(in *intake) {
	for i := range in.heard {
		h := &in.heard[i]
		switch h.known() {
		case matched:
		case unreadable:
			in.warn("value_unreadable", "")
			u.noteHeard(in, h, in.o.Signals[i].Resource != "")
		case unmapped:
			u.noteHeard(in, h, in.o.Signals[i].Resource != "")
		}
	}
}

// noteHeard lists the code of a statement, the first of several. A condition is a
// diagnosis; a resource is of no room.
func (u *Unit) noteHeard(in *intake, h *Heard, resource bool) {
	kind, room := h.Kind, h.Room
	if kind == KindCondition {
		if tellsDelivery(&Diagnosis{System: h.System, Code: h.Code}) {
			return
		}
		kind = 0
	}
	if resource {
		room = -1
	}
	if h.Code != "" || h.Display != "" {
		u.noteCode(in, h.System, h.Code, h.Display, kind, room)
	}
}

// noteUnmappedDiagnoses does the same for the diagnoses of an ADT event.
func (u *Unit) noteUnmappedDiagnoses(in *intake, list []Diagnosis) {
	for i := range list {
		d := &list[i]
		if d.Delete {
			continue
		}
		if !u.work.reader.diagnosis(d).known && !tellsDelivery(d) {
			u.noteCode(in, d.System, d.Code, d.Display, 0, -1)
		}
	}
}

// noteUnmappedStanding does the same for those of a census row, once each run.
func (u *Unit) noteUnmappedStanding(in *intake, list []Standing, room int32) {
	for i := range list {
		d := &list[i]
		if !u.work.reader.diagnosis(&d.Diagnosis).known && !tellsDelivery(&d.Diagnosis) {
			u.noteCode(in, d.System, d.Code, d.Display, 0, room)
		}
	}
}

// noteCode counts a code that nothing knows.
func (u *Unit) noteCode(in *intake, system System, code, display string, kind SignalKind, room int32) {
	key := unmappedKey(system, code, kind)
	c := u.codes[key]
	if un := (Unmapped{System: system, Code: code, Display: display}); (c == nil || !c.Ignored) && in.first(un) {
		in.Unmapped = append(in.Unmapped, un)
	}
	if c == nil {
		if len(u.codes) >= capCodes {
			return
		}
		c = &CodeState{System: system, Code: code, Kind: kind, FirstSeen: in.o.ReceivedAt}
		u.codes[key] = c
	}
	if display != "" {
		c.Display = display
	}
	now := u.facts.Clock
	c.Count++
	c.Feed, c.LastSeen = in.o.Channel, now
	hour := now.Hour()
	if n := len(c.Hours); n > 0 && c.Hours[n-1].Hour == hour {
		c.Hours[n-1].Count++
	} else {
		c.Hours = append(c.Hours, HourCount{hour, 1})
	}
	for len(c.Hours) > 0 && c.Hours[0].Hour <= hour-24 {
		c.Hours = slices.Delete(c.Hours, 0, 1)
	}
	if i, found := slices.BinarySearch(c.Rooms, room); room >= 0 && !found && len(c.Rooms) < capCodeRooms {
		c.Rooms = slices.Insert(c.Rooms, i, room)
	}
	u.touchCode(key, c)
}

// unmappedKey names an unmapped code within a hospital.
func unmappedKey(system System, code string, kind SignalKind) string {
	k := byte('0')
	if kind == KindMedication {
		k = 'm'
	} else if kind != 0 {
		k = 's'
	}
	return string(k) + string(system) + "\x00" + code
}
