package hospital

import (
	"slices"
	"strings"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/facts"
	"svc/acuity/identity"
	"svc/acuity/location"
	"svc/acuity/registry"
	"svc/acuity/stays"
)

// reasonVisitUnknown is the reason for refusing an event that names neither a visit nor a patient with a visit.
const reasonVisitUnknown = "visit_unknown"

// eventStore stores the ADT events of visits.
type eventStore struct {
	*registry.Registry
	dedup      *facts.Deduplication
	names      *identity.Names
	joins      *identity.Joins
	statements *stays.Statements
	locations  *identity.Locations
	capacity   *capacity
	worklist   *identity.Worklist
	settings   *facts.LocalSettings

	versions map[encounterVersion]*intakeVersion // Encounter versions in this observation
	spare    []registry.IntakeEvent              // buffer for the events in an observation
}

// applyEvents adds the events to their visits.
func (es *eventStore) applyEvents(in *registry.Intake) {
	es.versions = nil
	in.Items = make([]acuity.ItemResult, len(in.Observation.Events))
	in.Events = append(es.spare[:0], make([]registry.IntakeEvent, len(in.Observation.Events))...)
	for i := range in.Observation.Events {
		e := &in.Observation.Events[i]
		if in.EventExists(i) {
			in.Items[i] = acuity.ItemResult{Outcome: acuity.Ignored, Reason: facts.ReasonExists}
			continue
		}
		for _, w := range e.Warnings {
			in.Warn(w.Code, w.Path)
		}
		outcome, reason := es.applyEvent(in, i, e)
		if reason == reasonVisitUnknown {
			in.Warn(reason, in.EventPath(i))
		}
		in.Items[i] = acuity.ItemResult{Outcome: outcome, Reason: reason}
	}
}

// applyEvent applies one event.
func (es *eventStore) applyEvent(in *registry.Intake, i int, e *acuity.Event) (acuity.Outcome, string) {
	if e.Resource != "" {
		k := es.applyVersion(in, e)
		if k.v == nil {
			return k.outcome, k.reason
		}
		es.storeEvent(in, i, k.resolvedEvent(e), k.v, strings.Clone(e.ID))
		return acuity.Applied, ""
	}
	if s := es.dedup.ByID.Rows[e.ID]; s != nil && e.ID != "" {
		if s.Digest != e.Digest {
			in.Warn("event_id_reused", in.EventPath(i))
		}
		return acuity.Duplicate, ""
	}
	if e.Type == acuity.EventOther {
		es.dedup.MarkSeen(e, in.Observation.ReceivedAt)
		return acuity.Ignored, adt.OtherType.Reason()
	}
	id := identity.IDOf(e)
	if id == "" && e.Patient != "" {
		if v := es.names.VisitOf(e.Patient, nil); v != nil {
			id = v.ID
		}
	}
	if id == "" {
		return acuity.Ignored, reasonVisitUnknown
	}
	v := es.names.VisitCalled(id)
	if e.ID != "" && v != nil && v.Has(e.ID) {
		return acuity.Duplicate, ""
	}
	if reason := es.capacity.refusalOfEvent(in, v, id, e); reason != "" {
		return acuity.Rejected, reason
	}
	if v == nil {
		v = es.Visit(id)
	}
	es.storeEvent(in, i, e, v, es.dedup.MarkSeen(e, in.Observation.ReceivedAt))
	return acuity.Applied, ""
}

// storeEvent adds an event to its visit, with copies of its strings.
func (es *eventStore) storeEvent(in *registry.Intake, i int, e *acuity.Event, v *registry.Visit, id string) {
	completed := *e
	if e.Resource != "" && e.Encounter == "" && e.Visit != v.ID {
		completed.Encounter = e.Visit // keep the name by which the Encounter refers to the visit
	}
	completed.ReceivedAt, completed.Feed = in.Observation.ReceivedAt, in.Observation.Channel
	completed.ByPatient = namesPatientAlone(e)
	if completed.ID != "" {
		completed.Digest = "" // facts.Deduplication stores the digest
	}
	if v.IsName() && v.Statements.Len()+len(v.ResourceStatements) > 0 {
		es.Work.RecountWaiting = true // the visit's statements no longer wait
	}
	stored := adt.StoreEvent(&completed, v.Newest())
	stored.ID = id
	if v.Events == nil {
		v.Events = make([]adt.Event, 0, usualEvents)
	}
	v.Events = append(registry.GrowLittle(v.Events), stored)
	es.IndexKnown(v)
	es.nameVisit(v, stored.Encounter)
	es.RecordFact(v)
	if es.locations.IsNewFacility(stored.Place) {
		in.Warn("facility_differs", in.EventPath(i))
	}
	es.locations.Locate(stored.Place, 1)
	es.locations.Locate(stored.Prior, 1)
	es.addEventRoom(in, i, stored.Place)
	es.foldOldest(v)
	es.Work.MarkVisit(v, registry.Unsaved|registry.Touched)
	for i := range stored.Diagnoses {
		es.worklist.AddUnmappedDiagnosis(in, &stored.Diagnoses[i], -1)
	}
	in.Events[i] = registry.IntakeEvent{
		V: v, ID: e.ID, Left: v.Whole().Timeline.PlacedAt() != 0 && es.WhereIs(v) == nil,
	}
}

// reasonSeveralOpen is the reason for ignoring an event that names only a patient, if several visits of the patient are
// open and none is in the place that the event names.
const reasonSeveralOpen = "several_open_visits"

// namesPatientAlone reports whether an event names only the patient. Releases without the field ByPatient marked such
// events with a warning.
func namesPatientAlone(e *acuity.Event) bool {
	return e.ByPatient || slices.ContainsFunc(e.Warnings, func(w acuity.Warning) bool { return w.Code == "visit_by_patient" })
}

// answerEvents sets the results of the events, once the timelines are built.
func (es *eventStore) answerEvents(in *registry.Intake) {
	counts := [acuity.Time + 1]int{}
	for i := range in.Items {
		item := &in.Items[i]
		if item.Outcome == acuity.Duplicate { // a duplicate gets the room where the visit is now
			v, _ := es.names.VisitCalled(identity.IDOf(&in.Observation.Events[i])).OwnerOf(in.Observation.Events[i].ID)
			answerRoom(item, es.WhereIs(v))
		} else if v, none := in.Events[i].V.OwnerOf(in.Events[i].ID); none {
			item.Outcome, item.Reason = acuity.Ignored, reasonSeveralOpen
			in.Warn(reasonSeveralOpen, in.EventPath(i))
		} else if v != nil {
			r := es.WhereIs(v)
			es.joins.WarnOfParts(in, i, in.Events[i].V)
			t := appliedEventOf(v, in.Events[i].ID, &in.Observation.Events[i])
			if from := in.Events[i].V; t == nil && from.FoldAt != 0 && min(in.Observation.Events[i].At, in.Observation.ReceivedAt) <= from.FoldAt {
				item.Outcome, item.Reason = acuity.Ignored, adt.TooOld.Reason()
				in.Warn(item.Reason, in.EventPath(i))
			}
			if t != nil {
				switch reason := t.Disposition.Reason(); {
				case t.Disposition == adt.Duplicate:
					item.Outcome = acuity.Duplicate
				case t.Disposition == adt.SameRoom && (in.Events[i].Left && r != nil || t.Event.Resource != "" || arrivesAt(v, t.At)):
					// The event counts as applied, although the visit's room is the same according to its events: the
					// transfer ends an absence that a census reported (docs/decisions.md#census-among-adt), it returns
					// the patient from the room that a census reported, or the event belongs to a FHIR resource.
				case reason != "":
					item.Outcome, item.Reason = acuity.Ignored, reason
				}
				if t.Disposition == adt.LocationMissing {
					in.Warn("location_missing", in.EventPath(i))
				}
				if t.EndsNothing() && len(v.Stays) == 0 {
					in.Warn("discharge_waiting", in.EventPath(i))
				}
				if t.Event.Type == acuity.A08 && t.Event.Resource == "" && !v.Timeline.IsKnown() && len(v.Stays) == 0 {
					in.Warn("update_waiting", in.EventPath(i))
				}
				if hasOlderDiagnoses(in, v, t) {
					in.Warn(warnOlder, in.EventPath(i))
				}
				for _, code := range t.Remarks.Codes() {
					if code != warnPlace && code != warnPrior {
						in.Warn(code, in.EventPath(i))
					}
				}
				if code := es.differingPlace(v, t); code != "" {
					in.Warn(code, in.EventPath(i))
				}
			}
			answerRoom(item, r)
			es.warnOfPlace(in, i, v)
		}
		counts[item.Outcome]++
	}
	if n := len(in.Items); n > 0 && counts[acuity.Applied] == 0 && in.Observation.Census == nil && len(in.Observation.Signals) == 0 {
		in.Outcome = acuity.Ignored
		if counts[acuity.Duplicate] == n {
			in.Outcome = acuity.Duplicate
		}
		in.Reason = in.Items[0].Reason
	}
	if len(in.Events) > 0 {
		es.spare = facts.Emptied(in.Events)
	}
}

// arrivesAt reports whether the visit came to its room at t, although its events alone had placed it there before.
func arrivesAt(v *registry.Visit, t acuity.Instant) bool {
	return slices.ContainsFunc(v.Spans, func(s registry.LocationSpan) bool { return s.From == t && s.Kind == location.InRoom }) &&
		!slices.ContainsFunc(v.Timeline.Stays, func(s adt.Stay) bool { return s.From == t })
}

const (
	warnPlace = "place_differs"
	warnPrior = "prior_place_differs"
)

// differingPlace returns the warning about an update that names a location where the patient is not, or about a
// transfer that names a prior location where she was not; "" if there is none. The timeline compares only with the
// visit's other events. A census may have moved the patient since, and a newborn moves with the mother.
func (es *eventStore) differingPlace(v *registry.Visit, t *adt.AppliedEvent) string {
	remarks := t.Remarks.Codes()
	code, named, at := warnPlace, t.Event.Place, t.At
	if t.Event.Type == acuity.A02 {
		code, named, at = warnPrior, t.Event.Prior, t.At-1
	}
	differs := slices.Contains(remarks, code)
	compared := t.Disposition == adt.Applied && (t.Event.Type == acuity.A02 || t.Event.Type == acuity.A08) && t.Event.Resource == ""
	for _, s := range v.Spans {
		if (compared || differs) && !named.IsZero() && s.Kind == location.InRoom && s.Holds(at) {
			differs = es.locations.Table.Placement(named) != s.Placement
		}
	}
	if m := v.Mother; differs && m != nil && v.Timeline.Newborn {
		differs = !slices.ContainsFunc(m.Spans, func(s registry.LocationSpan) bool {
			return s.Kind == location.InRoom && s.Holds(at) && s.Placement == es.locations.Table.Placement(named)
		})
	}
	if differs {
		return code
	}
	return ""
}

// answerRoom sets the room in an event's result to r, the visit's room after the event. If r is nil, the visit is not
// in a room.
func answerRoom(item *acuity.ItemResult, r *registry.Room) {
	if r != nil {
		item.HasRoom, item.RoomID = true, r.ID
	}
}

// addEventRoom adds the room whose id is in the location of an event, if the room is unknown. If the room is known by
// a different label, it adds a warning. A location without a room id is counted in the room table instead.
func (es *eventStore) addEventRoom(in *registry.Intake, i int, l *acuity.Location) {
	switch r := es.Room(l.RoomID); {
	case !l.HasRoomID:
	case r != nil:
		if l.Label != "" && r.Label != "" && l.Label != r.Label {
			in.Warn("room_label_differs", in.EventPath(i)) // the label in a census has priority (docs/decisions.md#room-id-first)
		}
		return
	default:
		es.AddRoom(facts.RoomState{ID: l.RoomID, Label: l.Label, Registered: true})
		es.Work.Relabel = true
		return
	}
	if es.locations.Table.AddUse(*l) {
		es.Work.TableChanged = true // a room number used by two points of care does not identify a room
	}
}

// appliedEventOf returns an event of the visit together with its disposition, or nil if the visit's timeline does not
// contain the event.
func appliedEventOf(v *registry.Visit, id string, e *acuity.Event) *adt.AppliedEvent {
	for i := range v.Timeline.Events {
		t := &v.Timeline.Events[i]
		if t.Event.ID == id && (id != "" || t.Event.At == e.At && t.Event.Type == e.Type) {
			return t
		}
	}
	return nil
}

// foldOldest reduces the events of a visit that has too many (docs/decisions.md#folded-events). If assignLent does
// not suffice, foldOldest replaces about a quarter of the events, the oldest, with at most two new events, which give
// the location, the diagnoses and the other state that the visit had after the replaced events. The replaced events
// can no longer be canceled.
func (es *eventStore) foldOldest(v *registry.Visit) {
	if !es.isFull(v) {
		return
	}
	if es.assignLent(v); !es.isFull(v) {
		return
	}
	order := slices.Clone(v.Events)
	slices.SortFunc(order, func(a, b adt.Event) int { return a.Compare(&b) })
	n := len(order) / 4
	for n+1 < len(order) && order[n].CountsAt() == order[n-1].CountsAt() {
		n++
	}
	old, rest := order[:n], order[n:]
	es.locations.ForgetPlaces(old)
	until := max(v.FoldAt, old[n-1].CountsAt())
	how := es.locations.TimelineOptions(es.settings)
	how.FoldAt = v.FoldAt
	s := adt.Build(old, how)
	v.Folded += int32(n) //nolint:gosec // n is at most capEvents
	v.FoldAt = until
	v.Events = append(adt.StoreEvents(s.Fold(v.ID, es.locations.Table.Describe)), rest...)
	base := v.Events[:len(v.Events)-len(rest)]
	es.locations.LocateEvents(base, 1)
	for i := range base {
		es.locations.Table.AddUse(*base[i].Place)
	}
	es.UpdateSize(v)
}

// isFull reports whether a visit has too many events.
func (es *eventStore) isFull(v *registry.Visit) bool {
	es.UpdateSize(v)
	return len(v.Events) > capEvents || v.Bytes-v.Facts.Size() > capEventBytes
}

// assignLent permanently moves events that name only the patient to the visits to which they belong. It is called for
// a visit with too many events, and moves the events that the visit stores for other visits and those that other
// visits store for this visit. If it did not, folding would separate these events from the events around them.
func (es *eventStore) assignLent(v *registry.Visit) {
	holders := slices.Clone(v.Whole().Joined.Borrowed())
	if len(v.Joined.Lent()) > 0 {
		holders = append(holders, v)
	}
	for _, h := range holders {
		kept := make([]adt.Event, 0, len(h.Events)) // the timelines still refer to the previous slice
		for i := range h.Events {
			to := (*registry.Visit)(nil)
			if i < len(h.Joined.Lent()) {
				to = h.Joined.Lent()[i].To
			}
			if to == nil || h != v && to != v.Whole() {
				kept = append(kept, h.Events[i])
				continue
			}
			e := h.Events[i]
			e.ByPatient = false
			to.Events = append(registry.GrowLittle(to.Events), e)
			es.Work.MarkVisit(to, registry.Unsaved|registry.Touched)
			es.UpdateSize(to)
		}
		h.Events = kept
		h.Joined.Tie().Lent = nil
		es.UpdateSize(h)
		es.IndexKnown(h)
		es.Work.MarkVisit(h, registry.Unsaved|registry.Touched)
	}
}
