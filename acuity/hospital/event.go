package hospital

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/location"
)

// reasonVisitUnknown is the reason of an event that names no visit, and no patient with one.
const reasonVisitUnknown = "visit_unknown"

// intakeEvent is what became of an event on its way into the facts.
type intakeEvent struct {
	v    *visit
	id   string
	left bool // a census had the visit leave the room where ADT has it
}

// eventPath returns the path of an event of a request; a single event has none.
func (in *intake) eventPath(i int) string {
	if len(in.o.Events) == 1 {
		return ""
	}
	return itemPath("events", i)
}

// eventStore keeps the ADT events of visits.
type eventStore struct {
	*registry
	dedup      *deduplication
	names      *names
	joins      *joins
	statements *statements
	locations  *locations
	capacity   *capacity
	worklist   *worklist
	settings   *localSettings

	versions map[encounterVersion]*intakeVersion // of Encounters in this observation
	spare    []intakeEvent                       // memory for the events of an observation
}

// takeEvents adds the events to their visits.
func (es *eventStore) takeEvents(in *intake) {
	es.versions = nil
	in.Items = make([]acuity.ItemResult, len(in.o.Events))
	in.events = append(es.spare[:0], make([]intakeEvent, len(in.o.Events))...)
	for i := range in.o.Events {
		e := &in.o.Events[i]
		if in.eventExists(i) {
			in.Items[i] = acuity.ItemResult{Outcome: acuity.Ignored, Reason: ReasonExists}
			continue
		}
		for _, w := range e.Warnings {
			in.warn(w.Code, w.Path)
		}
		outcome, reason := es.takeEvent(in, i, e)
		if reason == reasonVisitUnknown {
			in.warn(reason, in.eventPath(i))
		}
		in.Items[i] = acuity.ItemResult{Outcome: outcome, Reason: reason}
	}
}

// takeEvent adds one event.
func (es *eventStore) takeEvent(in *intake, i int, e *acuity.Event) (acuity.Outcome, string) {
	if e.Resource != "" {
		k := es.takeVersion(in, e)
		if k.v == nil {
			return k.outcome, k.reason
		}
		es.store(in, i, k.resolvedEvent(e), k.v, strings.Clone(e.ID))
		return acuity.Applied, ""
	}
	if s := es.dedup.byID[e.ID]; s != nil && e.ID != "" {
		if s.Digest != e.Digest {
			in.warn("event_id_reused", in.eventPath(i))
		}
		return acuity.Duplicate, ""
	}
	if e.Type == acuity.EventOther {
		es.dedup.markSeen(e, in.o.ReceivedAt)
		return acuity.Ignored, adt.OtherType.Reason()
	}
	id := idOf(e)
	if id == "" && e.Patient != "" {
		if v := es.names.visitOf(e.Patient, nil); v != nil {
			id = v.ID
		}
	}
	if id == "" {
		return acuity.Ignored, reasonVisitUnknown
	}
	v := es.names.visitCalled(id)
	if e.ID != "" && v != nil && v.has(e.ID) {
		return acuity.Duplicate, ""
	}
	if reason := es.capacity.roomForEvent(in, v, id, e); reason != "" {
		return acuity.Rejected, reason
	}
	if v == nil {
		v = es.visit(id)
	}
	es.store(in, i, e, v, es.dedup.markSeen(e, in.o.ReceivedAt))
	return acuity.Applied, ""
}

// store adds an event to its visit, with copies of its texts.
func (es *eventStore) store(in *intake, i int, e *acuity.Event, v *visit, id string) {
	completed := *e
	if e.Resource != "" && e.Encounter == "" && e.Visit != v.ID {
		completed.Encounter = e.Visit // the reference is its only name
	}
	completed.ReceivedAt, completed.Feed = in.o.ReceivedAt, in.o.Channel
	completed.ByPatient = namesPatientAlone(e)
	if completed.ID != "" {
		completed.Digest = "" // the deduplication has it
	}
	if v.isName() && v.statements.Len()+len(v.resourceStatements) > 0 {
		es.work.recountWaiting = true // they wait no more
	}
	stored := adt.StoreEvent(&completed, v.newest())
	stored.ID = id
	if v.events == nil {
		v.events = make([]adt.Event, 0, usualEvents)
	}
	v.events = append(growLittle(v.events), stored)
	es.indexKnown(v)
	es.nameVisit(v, stored.Encounter)
	es.recordFact(v)
	es.locations.locate(stored.Place, 1)
	es.locations.locate(stored.Prior, 1)
	es.addEventRoom(in, i, stored.Place)
	es.foldOldest(v)
	es.work.markVisit(v, unsaved|touched)
	for i := range stored.Diagnoses {
		es.worklist.noteUnmappedDiagnosis(in, &stored.Diagnoses[i], -1)
	}
	in.events[i] = intakeEvent{v, e.ID, v.whole().timeline.PlacedAt() != 0 && es.whereIs(v) == nil}
}

// has reports whether the visit has an event.
func (v *visit) has(id string) bool {
	for i := range v.events {
		if v.events[i].ID == id {
			return true
		}
	}
	return false
}

// newest returns the event that came last; nil: there is none.
func (v *visit) newest() *adt.Event {
	if n := len(v.events); n > 0 {
		return &v.events[n-1]
	}
	return nil
}

// cloneLocation copies the texts of a place.
func cloneLocation(l *acuity.Location) {
	l.Label, l.PointOfCare, l.Room = strings.Clone(l.Label), strings.Clone(l.PointOfCare), strings.Clone(l.Room)
	l.Bed, l.Facility = strings.Clone(l.Bed), strings.Clone(l.Facility)
}

// reasonSeveralOpen is the reason of an event that names the patient alone, who has
// several open visits, in places that it does not name.
const reasonSeveralOpen = "several_open_visits"

// namesPatientAlone reports whether an event names the patient alone. Releases before this
// field said it by a warning.
func namesPatientAlone(e *acuity.Event) bool {
	return e.ByPatient || slices.ContainsFunc(e.Warnings, func(w acuity.Warning) bool { return w.Code == "visit_by_patient" })
}

// answerEvents says what became of the events, after the timelines are built.
func (es *eventStore) answerEvents(in *intake) {
	counts := [acuity.Time + 1]int{}
	for i := range in.Items {
		item := &in.Items[i]
		if item.Outcome == acuity.Duplicate { // a repetition gets the same answer
			v, _ := es.names.visitCalled(idOf(&in.o.Events[i])).ownerOf(in.o.Events[i].ID)
			answerRoom(item, es.whereIs(v))
		} else if v, none := in.events[i].v.ownerOf(in.events[i].id); none {
			item.Outcome, item.Reason = acuity.Ignored, reasonSeveralOpen
			in.warn(reasonSeveralOpen, in.eventPath(i))
		} else if v != nil {
			r := es.whereIs(v)
			es.joins.warnOfParts(in, i, in.events[i].v)
			t := v.appliedEventOf(in.events[i].id, &in.o.Events[i])
			if from := in.events[i].v; t == nil && from.FoldAt != 0 && in.o.Events[i].At <= from.FoldAt {
				item.Outcome, item.Reason = acuity.Ignored, adt.TooOld.Reason()
				in.warn(item.Reason, in.eventPath(i))
			}
			if t != nil {
				switch reason := t.Disposition.Reason(); {
				case t.Disposition == adt.Duplicate:
					item.Outcome = acuity.Duplicate
				case t.Disposition == adt.SameRoom && (in.events[i].left && r != nil || t.Event.Resource != ""):
					// The transfer brings the visit back (docs/decisions.md#census-among-adt), or an Encounter is in the room of another.
				case reason != "":
					item.Outcome, item.Reason = acuity.Ignored, reason
				}
				if t.Disposition == adt.LocationMissing {
					in.warn("location_missing", in.eventPath(i))
				}
				if t.EndsNothing() && len(v.Stays) == 0 {
					in.warn("discharge_waiting", in.eventPath(i))
				}
				for _, code := range t.Remarks.Codes() {
					in.warn(code, in.eventPath(i))
				}
			}
			answerRoom(item, r)
			es.warnOfPlace(in, i, v)
		}
		counts[item.Outcome]++
	}
	if n := len(in.Items); n > 0 && counts[acuity.Applied] == 0 && in.o.Census == nil && len(in.o.Signals) == 0 {
		in.Outcome = acuity.Ignored
		if counts[acuity.Duplicate] == n {
			in.Outcome = acuity.Duplicate
		}
		in.Reason = in.Items[0].Reason
	}
	if len(in.events) > 0 {
		es.spare = emptied(in.events)
	}
}

// answerRoom sets the room of the visit after the event; nil: none.
func answerRoom(item *acuity.ItemResult, r *room) {
	if r != nil {
		item.HasRoom, item.RoomID = true, r.ID
	}
}

// addEventRoom makes the room of an event known.
func (es *eventStore) addEventRoom(in *intake, i int, l *acuity.Location) {
	switch r := es.room(l.RoomID); {
	case !l.HasRoomID:
	case r != nil:
		if l.Label != "" && r.Label != "" && l.Label != r.Label {
			in.warn("room_label_differs", in.eventPath(i)) // a census says what a room is called (docs/decisions.md#room-id-first)
		}
		return
	default:
		es.addRoom(RoomState{ID: l.RoomID, Label: l.Label, Registered: true})
		es.work.relabel = true
		return
	}
	if es.locations.table.AddUse(*l) {
		es.work.tableChanged = true // a number that two points of care use means neither
	}
}

// appliedEventOf returns an event of the visit with its disposition.
func (v *visit) appliedEventOf(id string, e *acuity.Event) *adt.AppliedEvent {
	for i := range v.timeline.Events {
		t := &v.timeline.Events[i]
		if t.Event.ID == id && (id != "" || t.Event.At == e.At && t.Event.Type == e.Type) {
			return t
		}
	}
	return nil
}

// warnOfPlace warns if the visit is in no room although an event named a location. A visit that left
// the unit for a location outside of it gets no warning: that is what a transfer says.
func (es *eventStore) warnOfPlace(in *intake, i int, v *visit) {
	place := &in.o.Events[i].Place
	switch {
	case v.isAt(location.WithoutRoom) && place.Room == "" && place.Bed != "":
		in.warn("bed_without_room", in.eventPath(i))
	case v.isAt(location.WithoutRoom):
		in.warn("location_without_room", in.eventPath(i))
	case v.isAt(location.Outside) && !place.IsZero() && !v.wasInUnit():
		in.warn("outside_unit", in.eventPath(i))
	}
}

// wasInUnit reports whether the visit is, or was, in the unit.
func (v *visit) wasInUnit() bool {
	return slices.ContainsFunc(v.spans, func(s locationSpan) bool { return s.Kind == location.InRoom || s.Kind == location.WithoutRoom })
}

// isAt reports whether the visit is open and at a location of a kind.
func (v *visit) isAt(kind location.Kind) bool {
	n := len(v.spans)
	return n > 0 && v.spans[n-1].To == 0 && v.spans[n-1].Kind == kind
}

// growLittle makes room in a full list for one more, and for a quarter of its length. A
// hospital keeps much, and lists that double their capacity leave half of it unused.
func growLittle[T any](list []T) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/4+1), list...)
}

// foldOldest replaces the oldest events of a visit that has too many by one event
// (docs/decisions.md#folded-events): where the patient was after them, with which diagnoses.
// Cancels of folded events come too late from then on.
func (es *eventStore) foldOldest(v *visit) {
	if !es.isFull(v) {
		return
	}
	if es.settleLent(v); !es.isFull(v) {
		return
	}
	order := slices.Clone(v.events)
	slices.SortFunc(order, func(a, b adt.Event) int { return a.Compare(&b) })
	n := len(order) / 4
	for n+1 < len(order) && order[n].At == order[n-1].At {
		n++
	}
	old, rest := order[:n], order[n:]
	es.locations.forgetPlaces(old)
	until := max(v.FoldAt, old[n-1].At)
	how := es.locations.timelineOptions(es.settings)
	how.FoldAt = v.FoldAt
	s := adt.Build(old, how)
	v.Folded += int32(n) //nolint:gosec // at most capEvents
	v.FoldAt = until
	v.events = append(adt.StoreEvents(s.Fold(v.ID)), rest...)
	base := v.events[:len(v.events)-len(rest)]
	es.locations.locateEvents(base, 1)
	for i := range base {
		es.locations.table.AddUse(*base[i].Place)
	}
	es.weigh(v)
}

// isFull reports whether a visit has too many events.
func (es *eventStore) isFull(v *visit) bool {
	es.weigh(v)
	return len(v.events) > capEvents || v.bytes-v.Facts.size() > capEventBytes
}

// settleLent moves events that name the patient alone to the visits that they belong to,
// for good: those of a visit that has too many, and those that such a visit has borrowed.
// Else folding would separate them from the events around them.
func (es *eventStore) settleLent(v *visit) {
	holders := slices.Clone(v.whole().joined.borrowed())
	if len(v.joined.lent()) > 0 {
		holders = append(holders, v)
	}
	for _, h := range holders {
		kept := make([]adt.Event, 0, len(h.events)) // the timelines refer to those before
		for i := range h.events {
			to := (*visit)(nil)
			if i < len(h.joined.lent()) {
				to = h.joined.lent()[i].to
			}
			if to == nil || h != v && to != v.whole() {
				kept = append(kept, h.events[i])
				continue
			}
			e := h.events[i]
			e.ByPatient = false
			to.events = append(growLittle(to.events), e)
			es.work.markVisit(to, unsaved|touched)
			es.weigh(to)
		}
		h.events = kept
		h.joined.tie().lent = nil
		es.weigh(h)
		es.indexKnown(h)
		es.work.markVisit(h, unsaved|touched)
	}
}
