package hospital

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/codes"
	"svc/acuity/score"
)

// hourGrace is how long after a full hour the wall clock cuts it, if no input did. What
// was received before the hour is applied by then.
const hourGrace = acuity.Instant(10_000)

// closingHour is how long after the last fact about a patient hours are cut. The first
// hour that is not observed says so, then an idle hospital writes no more.
const closingHour = score.QuietAfter + time.Hour

// observedHours makes the snapshots of full hours, and those of the past that a
// backfill makes.
type observedHours struct {
	*registry

	past   *past // the past that a backfill replays; nil: it must be made
	isPast bool  // this is the unit of a past: the past cuts its hours, and it forgets nothing
}

// hourDue returns the next full hour to be cut; 0: none, because nothing is observed.
func (h *observedHours) hourDue() acuity.Instant {
	at := h.facts.ObservedAt
	if at == 0 || h.isPast {
		return 0
	}
	next := (h.facts.Clock/hourOf + 1) * hourOf
	if next > at.Add(closingHour) {
		return 0
	}
	return next
}

// observe records the time of the newest fact about a patient.
func (h *observedHours) observe(in *intake) {
	o, f := in.o, &h.facts
	seen := func(at acuity.Instant) { f.ObservedAt = max(f.ObservedAt, min(at, f.Clock)) }
	for i := range o.Events {
		seen(o.Events[i].At)
	}
	if o.Census != nil {
		seen(f.CensusAt)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		seen(f.Clock)
	}
	h.noticePast(in)
}

// markLive notes that the full hour of the clock was observed when it came.
func (h *observedHours) markLive() {
	f := &h.facts
	if f.Clock > f.ObservedAt.Add(score.QuietAfter) {
		return
	}
	hour := f.Clock.Hour()
	live := slices.Clone(f.Live)
	if n := len(live); n > 0 && live[n-1].To == hour-1 {
		live[n-1].To = hour
	} else {
		live = append(live, HourSpan{hour, hour})
	}
	oldest := f.Clock.Add(-backfillDays).Hour()
	f.Live = slices.DeleteFunc(live, func(s HourSpan) bool { return s.To < oldest })
}

// addSnapshot adds the snapshot of the full hour of the clock to a change.
func (h *observedHours) addSnapshot(in *intake) {
	s := score.TakeSnapshot(&h.chart, h.facts.Clock)
	s.Generation, s.Position = h.facts.Generation, h.facts.Offset
	h.addArrivals(&s)
	in.Snapshot = &s
}

// addArrivals adds those who came within the hour before, even if they left since.
func (h *observedHours) addArrivals(s *acuity.Snapshot) {
	to := acuity.Instant(s.Hour) * hourOf
	kinds := make(map[uint64]acuity.ArrivalKind, len(s.Visits))
	for i := range s.Visits {
		kinds[s.Visits[i].Visit] = arrivalKind(s.Visits[i].Class)
	}
	for i := range h.chart.Rooms {
		for j := range h.chart.Rooms[i].Patients {
			p := &h.chart.Rooms[i].Patients[j]
			if h.visits[p.Visit] == nil && p.Arrived > to-hourOf && p.Arrived <= to {
				n := score.VisitNumber(p)
				s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: n, Kind: kinds[n]})
			}
		}
	}
	for _, v := range h.touchedAfter(to - hourOf) {
		if v.timeline.Newborn || v.Touched <= to-hourOf {
			continue
		}
		if at := v.cameAt(); at > to-hourOf && at <= to {
			n := score.VisitNumber(&acuity.PatientChart{Visit: v.ID})
			kind, here := kinds[n]
			if !here {
				kind = acuity.ArrivesTriage // a patient who leaves within the hour was looked at, not admitted
			}
			s.Arrivals = append(s.Arrivals, acuity.SnapshotArrival{Visit: n, Kind: kind})
		}
	}
	slices.SortFunc(s.Arrivals, func(a, b acuity.SnapshotArrival) int { return cmp.Compare(a.Visit, b.Visit) })
	if len(s.Arrivals) > score.MaxSnapshotVisits {
		s.Arrivals = s.Arrivals[:score.MaxSnapshotVisits]
	}
}

// cameAt returns when the visit became known to be here: its opening or the first
// receipt of that, whichever is later; 0: never.
func (v *visit) cameAt() acuity.Instant {
	if v.timeline.OpenedAt == 0 {
		if len(v.Stays) > 0 {
			return v.Stays[0].First
		}
		return 0
	}
	first := acuity.Instant(0)
	for i := range v.events {
		if e := &v.events[i]; e.At >= v.timeline.OpenedAt {
			first = codes.Soonest(first, e.ReceivedAt)
		}
	}
	return max(v.timeline.OpenedAt, first)
}

// arrivalKind is the kind of arrival of a visit that is in a stage.
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
