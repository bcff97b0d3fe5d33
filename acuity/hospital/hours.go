package hospital

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/facts"
	"svc/acuity/registry"
	"svc/acuity/score"
)

// hourGrace is the delay between a whole hour and its snapshot, unless an input triggers the snapshot earlier. After
// the delay, all inputs received before the hour have been applied.
const hourGrace = acuity.Instant(10_000)

// closingHour is how long snapshots are still made after the last fact about a patient. The first unobserved hour is
// recorded as unobserved; after that, an idle hospital writes no snapshots.
const closingHour = score.QuietAfter + time.Hour

// observedHours makes the hourly snapshots, including those for past hours in a backfill.
type observedHours struct {
	*registry.Registry

	staffed pastStaffing

	past   *past // replay of past hours for a backfill; nil: must be created
	isPast bool  // whether the unit belongs to a replay, which makes the snapshots itself and turns off retention
}

// hourDue returns the next whole hour that needs a snapshot, or 0 if no hour needs one because the unit is not
// observed.
func (h *observedHours) hourDue() acuity.Instant {
	at := h.Facts.ObservedAt
	if at == 0 || h.isPast {
		return 0
	}
	next := (h.Facts.Clock/registry.HourOf + 1) * registry.HourOf
	if next > at.Add(closingHour) {
		return 0
	}
	return next
}

// observe records the time of the newest fact about a patient, and begins or postpones a backfill if the observation
// has facts for past hours.
func (h *observedHours) observe(in *registry.Intake) {
	o, f := in.Observation, &h.Facts
	observed := func(at acuity.Instant) { f.ObservedAt = max(f.ObservedAt, min(at, f.Clock)) }
	for i := range o.Events {
		observed(o.Events[i].At)
	}
	if o.Census != nil {
		observed(f.CensusAt)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		observed(f.Clock)
	}
	h.noticePast(in)
}

// markLive records that the clock's current hour was observed on time, unless the newest fact about a patient is
// older than score.QuietAfter.
func (h *observedHours) markLive() {
	f := &h.Facts
	if f.Clock > f.ObservedAt.Add(score.QuietAfter) {
		return
	}
	hour := f.Clock.Hour()
	live := slices.Clone(f.Live)
	if n := len(live); n > 0 && live[n-1].To == hour-1 {
		live[n-1].To = hour
	} else {
		live = append(live, facts.HourSpan{From: hour, To: hour})
	}
	oldest := f.Clock.Add(-backfillDays).Hour()
	f.Live = slices.DeleteFunc(live, func(s facts.HourSpan) bool { return s.To < oldest })
}

// addSnapshot adds the snapshot for the clock's current hour to a change.
func (h *observedHours) addSnapshot(in *registry.Intake) {
	s := score.MakeSnapshot(&h.Chart, h.Facts.Clock)
	s.Generation, s.Position = h.Facts.Generation, h.Facts.Offset
	h.addArrivals(&s)
	in.Snapshot = &s
}

// addArrivals adds the patients who arrived within the previous hour, including those who have left. It does not add
// the visits of newborns.
func (h *observedHours) addArrivals(s *acuity.Snapshot) {
	to := acuity.Instant(s.Hour) * registry.HourOf
	kinds := make(map[uint64]acuity.ArrivalKind, len(s.Visits))
	for i := range s.Visits {
		kinds[s.Visits[i].Visit] = arrivalKind(s.Visits[i].Class)
	}
	for i := range h.Chart.Rooms {
		for j := range h.Chart.Rooms[i].Patients {
			p := &h.Chart.Rooms[i].Patients[j]
			if h.Visits[p.Visit] == nil && p.Arrived > to-registry.HourOf && p.Arrived <= to {
				n := score.VisitNumber(p)
				s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: n, Kind: kinds[n]})
			}
		}
	}
	counted := map[*registry.Visit]bool{}
	for _, v := range h.TouchedAfter(to - registry.HourOf) {
		if v.Touched <= to-registry.HourOf {
			continue
		}
		if v = v.Whole(); v.Timeline.Newborn || counted[v] {
			continue
		}
		counted[v] = true
		if at := cameAt(v); at > to-registry.HourOf && at <= to {
			n := score.VisitNumber(&acuity.PatientChart{Visit: v.ID})
			kind, here := kinds[n]
			if !here {
				kind = acuity.ArrivesTriage // the patient left within the hour, so this counts as a visit to triage
			}
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: n, Kind: kind})
		}
	}
	slices.SortFunc(s.Arrivals, func(a, b acuity.SnapshotArrival) int { return cmp.Compare(a.Visit, b.Visit) })
	if len(s.Arrivals) > score.MaxSnapshotVisits {
		s.Arrivals = s.Arrivals[:score.MaxSnapshotVisits]
	}
}

// cameAt returns when svc first knew that the visit was open: the time of its opening or the earliest receipt of an
// event that did not precede the opening, whichever is later. For a visit that only censuses have reported, cameAt
// returns the time of the first census. For a visit that has neither an opening nor a census, it returns 0.
func cameAt(v *registry.Visit) acuity.Instant {
	if v.Timeline.OpenedAt == 0 {
		if len(v.Stays) > 0 {
			return v.Stays[0].First
		}
		return 0
	}
	first := acuity.Instant(0)
	for i := range v.Timeline.Events {
		if e := v.Timeline.Events[i].Event; e.At >= v.Timeline.OpenedAt {
			first = codes.Soonest(first, e.ReceivedAt)
		}
	}
	return max(v.Timeline.OpenedAt, first)
}

// arrivalKind returns the kind of arrival for a visit in the given stage.
func arrivalKind(c acuity.StageClass) acuity.ArrivalKind {
	switch c {
	case acuity.StageTriage:
		return acuity.ArrivesTriage
	case acuity.StageEarly, acuity.StageLabor:
		return acuity.ArrivesLabor
	case acuity.StageBirth:
		return acuity.ArrivesBirth
	case acuity.StageRecovery, acuity.StageCouplet, acuity.StageAntepartum, acuity.StageOther, acuity.StageCoupletCesarean:
	}
	return acuity.ArrivesOther
}

// The pace of a backfill. The snapshots of its hours are due one after another, so that inputs can be applied in
// between. When the log is replayed, the snapshots are made at the same positions in the log.
const (
	backfillAfter = acuity.Instant(2_000) // delay after the last batch with past events
	backfillStep  = acuity.Instant(5)
)

// backfillDue returns when the snapshot of the next past hour must be made, or 0 if no backfill is in progress.
func (h *observedHours) backfillDue() acuity.Instant {
	if h.Facts.Backfill.Due == 0 || h.isPast {
		return 0
	}
	return max(h.Facts.Backfill.Due, h.Facts.Clock)
}

// noticePast begins or postpones a backfill if a batch has events or staffing for closed hours. It also discards the
// current replay of past hours if the observation may change them: if it has such facts from any feed, or is a census
// or an administrator's observation.
func (h *observedHours) noticePast(in *registry.Intake) {
	o, f := in.Observation, &h.Facts
	closed := f.Clock / registry.HourOf * registry.HourOf
	oldest := acuity.Instant(0)
	for i := range o.Events {
		if at := o.Events[i].At; in.Items[i].Outcome == acuity.Applied && at < closed {
			oldest = codes.Soonest(oldest, at)
		}
	}
	staffed := h.addPastStaffing(in)
	if oldest != 0 || staffed != 0 || o.Census != nil || isAdministration(o) {
		h.Work.DropPast = true
	}
	if o.Channel != acuity.ChannelBatch || oldest == 0 && staffed == 0 {
		return
	}
	b := f.Backfill
	from := closed.Hour()
	if oldest != 0 {
		from = max(oldest, f.Clock.Add(-backfillDays)).Hour() + 1
	}
	if staffed != 0 {
		from = min(from, firstHour(staffed)) // a shift that begins on the hour counts for that hour
	}
	if b.Due != 0 {
		from = min(from, b.From)
	}
	b = facts.Backfill{Due: f.Clock + backfillAfter, From: from, Next: from, Until: closed.Hour()}
	if b.Skip(f.Live); b.Due != 0 {
		f.Backfill = b
		f.Generation++ // each backfill starts a generation, including one that replaces another backfill
	}
}

// Recall replays the past hours up to the next hour of a backfill if the snapshot of that hour is due at the instant
// now. It replays at most the given number of events, and returns the number of events that it replayed and whether
// it reached the hour. After a restore, a change to past hours, or skipped hours, more than one hour of events must
// be replayed. If Recall is not called, [State.Advance] replays all of them at once.
func (u *State) Recall(now acuity.Instant, most int) (applied int, there bool) {
	if due := u.hours.backfillDue(); due == 0 || due > now {
		return 0, true
	}
	u.ensurePast()
	before := u.hours.past.applied
	there = u.hours.past.applyUntil(acuity.Instant(u.registry.Facts.Backfill.Next)*registry.HourOf, most)
	return u.hours.past.applied - before, there
}

// ensurePast creates the replay of past hours if there is none, or if past hours have changed.
func (u *State) ensurePast() {
	if u.hours.dropPast(); u.hours.past == nil {
		u.hours.past = newPast(u)
	}
}

// dropPast discards the replay if past hours have changed since it was created.
func (h *observedHours) dropPast() {
	if h.Work.DropPast {
		h.past, h.Work.DropPast = nil, false
	}
}

// cutPast adds the snapshot for the next past hour to a change, and schedules the hour after it or ends the backfill.
func (u *State) cutPast(in *registry.Intake) {
	f := &u.registry.Facts
	b := &f.Backfill
	u.ensurePast()
	s := u.hours.past.makeSnapshot(b.Next, u.hours.staffed.At)
	s.Generation, s.Position, s.Backfill = f.Generation, f.Offset, b.Left(f.Live)
	in.Snapshot = s
	b.Next++
	b.Due = f.Clock + backfillStep
	b.Skip(f.Live)
	if b.Due == 0 {
		u.hours.past = nil
	}
}

// past replays stored events at event time to produce backfilled snapshots. Retention is off: if the replay removed
// visits, its snapshots would depend on when they are made.
type past struct {
	unit    *State
	events  []pastEvent // pending events, ascending by time
	applied int         // number of replayed events
}

// pastEvent is an event of a visit, treated as if the event had been received when it occurred.
type pastEvent struct {
	visit string
	*adt.Event
}

// newPast creates a replay of the unit's stored events. Only ADT events and batched staffing can apply to hours
// before they were received. The replay uses the current places and rules.
func newPast(u *State) *past {
	p := &past{unit: New(u.registry.Keys.Hospital)}
	p.unit.hours.isPast, p.unit.registry.Limits = true, u.registry.Limits
	p.unit.dedup.Off = true
	p.unit.settings.Rows = u.settings.Rows                 // a change to the rows discards this replay
	p.unit.names.References.Rows = u.names.References.Rows // a change to the rows discards this replay
	for _, r := range u.registry.Rooms {
		p.unit.registry.Rooms = append(p.unit.registry.Rooms, &registry.Room{RoomState: facts.RoomState{
			ID: r.ID, Label: r.Label, Area: r.Area, Registered: r.Registered, PointOfCare: r.PointOfCare, Room: r.Room,
		}})
	}
	p.unit.Restored()
	n := 0
	for _, v := range u.registry.Visits {
		n += len(v.Events)
	}
	all := make([]adt.Event, 0, n)
	p.events = make([]pastEvent, 0, n)
	for _, v := range u.registry.Visits {
		for i := range v.Events {
			all = append(all, v.Events[i])
			e := &all[len(all)-1]
			e.ReceivedAt = e.At
			p.events = append(p.events, pastEvent{v.ID, e})
		}
	}
	slices.SortFunc(p.events, func(a, b pastEvent) int {
		if c := cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.visit, b.visit)); c != 0 {
			return c
		}
		return a.Compare(b.Event)
	})
	return p
}

// applyUntil applies at most the given number of the events that occurred before an instant, and reports whether no
// such events remain.
func (p *past) applyUntil(before acuity.Instant, most int) bool {
	n := 0
	for ; n < len(p.events) && p.events[n].At < before; n++ {
		if n == most {
			break
		}
		e := p.events[n]
		p.unit.advanceTo(e.At)
		events := e.AppendTo(nil, e.visit)
		events[0].Resource, events[0].Encounter, events[0].Subject = "", "", "" // resource versions are already resolved
		p.unit.Apply(&acuity.Observation{Hospital: p.unit.registry.Keys.Hospital, ReceivedAt: e.At, Channel: e.Feed, Events: events}, 0)
	}
	p.events, p.applied = p.events[n:], p.applied+n
	return len(p.events) == 0 || p.events[0].At >= before
}

// makeSnapshot returns the snapshot for an hour. The function staffing returns the staffing at an instant, and
// reports whether it is known.
func (p *past) makeSnapshot(hour int32, staffing func(acuity.Instant) (acuity.Staffing, bool)) *acuity.Snapshot {
	u, at := p.unit, acuity.Instant(hour)*registry.HourOf
	p.applyUntil(at, len(p.events))
	u.advanceTo(at)
	u.registry.Facts.Staffing = nil
	if s, known := staffing(at); known {
		u.registry.Facts.Staffing = []acuity.Staffing{s}
	}
	in := registry.Intake{Change: acuity.Change{Cause: acuity.CauseTime, Outcome: acuity.Time}}
	u.begin(max(at, u.registry.Facts.Clock), 0)
	u.derive()
	u.conclude(&in)
	u.hours.addSnapshot(&in)
	u.Dirty(func([]byte, facts.Record) {})
	u.View(func(int32, *acuity.RoomChart) {})
	return in.Snapshot
}

// advanceTo advances the unit to an instant.
func (u *State) advanceTo(now acuity.Instant) {
	for more := true; more; {
		_, more = u.Advance(now)
	}
}
