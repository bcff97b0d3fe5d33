package hospital

import (
	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/evidence"
	"svc/acuity/terminology"
)

// takeSignals takes the clinical statements of a request.
func (k *statements) takeSignals(in *intake) {
	if ref := in.o.Room; ref != nil {
		if in.room = k.namedRoom(in, *ref); in.room == nil {
			in.Outcome, in.Reason = acuity.Ignored, reasonRooms
			return
		}
	}
	in.statements = k.work.newStatements[:0]
	for i := range in.o.Signals {
		s := &in.o.Signals[i]
		h := evidence.Statement{
			MatchedSignal: k.matcher.share(terminology.TextOf(s, in.o.Channel)),
			ReceivedAt:    in.o.ReceivedAt, ObservedAt: s.ObservedAt, StartedAt: s.StartedAt, Room: s.Room, Owner: binding{kind: notBound}.owner(),
		}
		if s.ObservedAt > h.ReceivedAt.Add(adt.ClockSlack) || s.StartedAt > h.ReceivedAt.Add(adt.ClockSlack) {
			in.warn("time_in_future", "")
		}
		in.statements = append(in.statements, h)
		if k.kept >= k.limits.statements {
			in.refuse(reasonStatements, itemPath("signals", i))
			continue
		}
		if s.Visit != "" || s.Patient != "" || s.Subject != "" || s.Resource != "" {
			k.takeStatement(in, i, s, evidence.ResourceStatement{Statement: h, Version: evidence.VersionOf(s)})
			continue
		}
		r := in.room
		if r == nil || r.ID != s.Room {
			r = k.namedRoom(in, acuity.RoomRef{ID: s.Room})
		}
		if r == nil {
			continue
		}
		k.number(&h)
		k.keepStatement(&r.statements, h, "")
		k.work.markRoom(r, markStatements|markTouched)
	}
	k.work.newStatements = in.statements
	if o := in.o; in.refused > 0 && in.refused == len(o.Signals) && o.Room == nil && len(o.Events)+len(o.References) == 0 {
		in.Outcome, in.Reason = acuity.Ignored, in.Warnings[len(in.Warnings)-1].Code
	}
	k.worklist.noteUnmappedSignals(in)
}

// namedRoom returns the room that a clinical request names, and makes it known if it is
// not; nil: refused.
func (k *statements) namedRoom(in *intake, ref acuity.RoomRef) *room {
	r := k.room(ref.ID)
	if !k.capacity.roomForRoom(in, ref.ID) {
		in.refuse(reasonRooms, "roomId")
		return nil
	}
	if r == nil {
		r = k.addRoom(RoomState{ID: ref.ID, Label: ref.Label})
		k.work.relabel = true
	}
	switch {
	case ref.Label == "" || ref.Label == r.Label:
	case r.Label == "":
		r.Label = ref.Label
		k.work.markRoom(r, markState|dirtyChart)
		k.work.relabel = true
	default:
		in.warn("room_label_differs", "roomLabel") // a census says what a room is called (H18)
	}
	if !r.Listed && !r.Clinical {
		r.Clinical = true
		k.work.markRoom(r, markState|dirtyChart)
	}
	k.work.markRoom(r, markTouched)
	return r
}

// answerClinical adds what the sender of a clinical request must know about its room.
func (in *intake) answerClinical() {
	if in.room == nil {
		return
	}
	if in.room.chart.Status == acuity.RoomEmpty || in.room.chart.Status == acuity.RoomBlocked {
		in.warn("room_not_occupied", "roomId")
	}
}
