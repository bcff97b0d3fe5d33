package acuity

import (
	"cmp"
	"slices"
)

// takeClinical takes the clinical statements of a request.
func (u *Unit) takeClinical(in *intake) {
	if ref := in.o.Room; ref != nil {
		in.room = u.named(in, *ref)
	}
	for i := range in.o.Signals {
		s := &in.o.Signals[i]
		h := Heard{
			readout: u.readouts.of(u, wordingOf(s)), ReceivedAt: in.o.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt,
			Feed: in.o.Channel, Room: s.Room,
		}
		if s.ObservedAt > h.ReceivedAt.Add(clockSlack) || s.StartedAt > h.ReceivedAt.Add(clockSlack) {
			in.warn("time_in_future", "")
		}
		in.heard = append(in.heard, h)
		if s.Visit != "" || s.Patient != "" {
			u.hearOf(in, s.Visit, s.Patient, h)
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
		r.signals = u.keep(r.signals, h, "")
		r.heard = true
		u.markRoom(r, markHeard|markRebuild|markTouched)
	}
	u.noteUnmappedSignals(in)
}

// named returns the room that a clinical request names, made known if it was not.
func (u *Unit) named(in *intake, ref RoomRef) *room {
	r := u.room(ref.ID)
	if r == nil {
		if r = u.addRoom(RoomState{ID: ref.ID, Label: ref.Label}); r == nil {
			in.warn("too_many_rooms", "roomId")
			return nil
		}
		u.relabel()
		u.markAll()
	}
	switch {
	case ref.Label == "" || ref.Label == r.Label:
	case r.Label == "":
		r.Label = ref.Label
		u.markRoom(r, markState)
		u.relabel()
		u.markAll()
	default:
		in.warn("room_label_differs", "roomLabel") // a census says what a room is called (H18)
	}
	if !r.Listed && !r.Clinical {
		r.Clinical = true
		u.markRoom(r, markState|markRebuild)
	}
	u.markRoom(r, markTouched)
	return r
}

// hearOf takes a statement about a visit, or about the open visit of a patient.
func (u *Unit) hearOf(in *intake, id, patient string, h Heard) {
	var v *visit
	if id != "" {
		v = u.visit(id)
	} else if v = u.visitOf(patient, nil); v == nil {
		in.warn("visit_unknown", "")
		return
	}
	u.number(&h)
	u.settleWith(v, h)
	v.Touched = u.facts.Clock
	u.markVisit(v, markState)
	if r := u.whereIs(v); r != nil {
		u.markRoom(r, markRebuild|markTouched)
	}
}

// number gives a statement the next number.
func (u *Unit) number(h *Heard) {
	u.facts.Heard++
	h.number = u.facts.Heard
}

// settleWith adds a statement that belongs to the visit for good.
func (u *Unit) settleWith(v *visit, h Heard) {
	h.Settled = true
	v.signals = u.keep(v.signals, h, v.ID)
}

// lose drops the record of a statement.
func (u *Unit) lose(h *Heard) {
	u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: *h, gone: true})
}

// keep adds a statement to those known of a room, or of a visit that is named.
// Of a run of statements that say the same within minutes only the ends are
// kept; beyond the cap those go that have a newer one of the same identity, the
// oldest first, else the oldest.
func (u *Unit) keep(list []Heard, h Heard, visit string) []Heard {
	before, after := -1, -1 // neighbours in time that say the same thing about it
	at := h.orderTime()
	for i := range list {
		if !sameSubject(&list[i], &h) {
			continue
		}
		t := list[i].orderTime()
		if t <= at && (before < 0 || t >= list[before].orderTime()) {
			before = i
		}
		if t > at && (after < 0 || t < list[after].orderTime()) {
			after = i
		}
	}
	if before >= 0 && after < 0 && saysTheSame(&list[before], &h) {
		// h is the newest. The one before is in the middle if yet another
		// precedes it within minutes.
		first := -1
		for i := range list {
			if i == before || !sameSubject(&list[i], &h) {
				continue
			}
			if t := list[i].orderTime(); t <= list[before].orderTime() && (first < 0 || t >= list[first].orderTime()) {
				first = i
			}
		}
		if first >= 0 && saysTheSame(&list[first], &h) && at < list[first].orderTime().Add(thinWithin) {
			u.lose(&list[before])
			list = slices.Delete(list, before, before+1)
		}
	}
	for len(list) >= capSignals {
		i := leastOf(list)
		u.lose(&list[i])
		list = slices.Delete(list, i, i+1)
	}
	u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: h, visit: visit})
	return inOrder(list, h)
}

// inOrder adds a statement in order of arrival.
func inOrder(list []Heard, h Heard) []Heard {
	list = tight(list, 8)
	i, _ := slices.BinarySearchFunc(list, h.number, func(h Heard, number int64) int { return cmp.Compare(h.number, number) })
	return slices.Insert(list, i, h)
}

// tight makes room in a full list for a part of what is in it, and for one: a
// hospital remembers much, and lists that double leave half of it empty.
func tight[T any](list []T, part int) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/part+1), list...)
}

// leastOf returns the statement that is missed least.
func leastOf(list []Heard) int {
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			if sameSubject(&list[i], &list[j]) && list[i].orderTime() <= list[j].orderTime() {
				return i
			}
		}
	}
	return 0
}

// sameSubject reports whether two statements are about the same thing
// (scoring-decisions 25), as far as their codes tell.
func sameSubject(a, b *Heard) bool {
	if a.readout == b.readout { // the usual case, without work
		return a.Settled == b.Settled
	}
	return a.subjectHash == b.subjectHash && (a.Kind == KindMedication) == (b.Kind == KindMedication) && a.System == b.System && a.Code == b.Code &&
		a.Display == b.Display && a.Settled == b.Settled
}

// saysTheSame reports whether two statements about one thing say the same.
func saysTheSame(a, b *Heard) bool {
	return a.Status == b.Status && a.Value == b.Value && a.StartedAt == b.StartedAt && a.Feed == b.Feed
}

// settle makes final whose the statements are that were received 24 h ago.
func (u *Unit) settle(r *room, now Instant) {
	due := func(h *Heard) bool { return !h.Settled && h.ReceivedAt.Add(settleAfter) <= now }
	if !slices.ContainsFunc(r.signals, func(h Heard) bool { return due(&h) }) {
		return
	}
	kept := r.signals[:0]
	for i := range r.signals {
		h, b := r.signals[i], r.bound[i]
		switch {
		case !due(&h):
			kept = append(kept, h)
		case b.v != nil:
			u.settleWith(b.v, h)
		case b.kind == toRoom:
			h.Settled = true
			u.dirty.heard = append(u.dirty.heard, heardRecord{Heard: h})
			kept = append(kept, h)
		case b.kind == toOccupant: // goes with the occupant, who may still turn out to be a visit
			kept = append(kept, h)
		default:
			u.lose(&h)
		}
	}
	clear(r.signals[len(kept):])
	r.signals = kept
	r.heard = true
	u.markRoom(r, markRebind|markRebuild)
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
			u.noteCode(in, h.System, h.Code, h.Display, h.Kind, h.Room)
		case unmapped:
			u.noteCode(in, h.System, h.Code, h.Display, h.Kind, h.Room)
		}
	}
}

// noteUnmappedDiagnoses does the same for the diagnoses of an ADT event.
func (u *Unit) noteUnmappedDiagnoses(in *intake, e *Event) {
	for i := range e.Diagnoses {
		d := &e.Diagnoses[i]
		if d.Delete {
			continue
		}
		if !u.work.reader.diagnosis(d).known {
			u.noteCode(in, d.System, d.Code, d.Display, 0, -1)
		}
	}
}

// noteUnmappedStanding does the same for those of a census row, once each run.
func (u *Unit) noteUnmappedStanding(in *intake, list []Standing, room int32) {
	for i := range list {
		d := &list[i]
		if !u.work.reader.diagnosis(&d.Diagnosis).known {
			u.noteCode(in, d.System, d.Code, d.Display, 0, room)
		}
	}
}

// noteCode counts a code that nothing knows.
func (u *Unit) noteCode(in *intake, system System, code, display string, kind SignalKind, room int32) {
	key := unmappedKey(system, code, kind)
	c := u.codes[key]
	if un := (Unmapped{System: system, Code: code, Display: display}); (c == nil || !c.Ignored) && !slices.Contains(in.Unmapped, un) {
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
	hour := int32(now / hourOf) //nolint:gosec // hours since 1970 fit
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
