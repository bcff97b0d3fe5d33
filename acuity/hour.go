package acuity

import (
	"cmp"
	"slices"
	"time"
)

// hourGrace is how long after a full hour the wall clock cuts it, if no input
// did: what was received before the hour is applied by then.
const hourGrace = Instant(10_000)

// closingHour is how long after the last fact about a patient an hour is cut at
// all: the first one that is not observed says so, and a hospital that sleeps
// writes no more.
const closingHour = quietAfter + time.Hour

// hourDue returns the next full hour that is to be cut; 0: none, because nothing
// is observed.
func (u *Unit) hourDue() Instant {
	at := u.facts.ObservedAt
	if at == 0 || u.isPast {
		return 0
	}
	next := (u.facts.Clock/hourOf + 1) * hourOf
	if next > at.Add(closingHour) {
		return 0
	}
	return next
}

// observe takes note of what an observation tells of patients.
func (u *Unit) observe(in *intake) {
	o, f := in.o, &u.facts
	seen := func(at Instant) { f.ObservedAt = max(f.ObservedAt, min(at, f.Clock)) }
	for i := range o.Events {
		seen(o.Events[i].At)
	}
	if o.Census != nil {
		seen(f.CensusAt)
	}
	if o.Room != nil || len(o.Signals) > 0 {
		seen(f.Clock)
	}
	u.noticePast(in)
}

// cut notes that the full hour of the clock was observed when it came.
func (u *Unit) cut() {
	f := &u.facts
	if f.Clock > f.ObservedAt.Add(quietAfter) {
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

// snap adds the snapshot of the full hour of the clock to a change.
func (u *Unit) snap(in *intake) {
	s := u.chart.Snapshot(u.facts.Clock)
	s.Generation, s.Position = u.facts.Generation, u.facts.Offset
	u.arrivals(&s)
	in.Snapshot = &s
}

// arrivals adds those who came within the hour before, also if they left since.
func (u *Unit) arrivals(s *Snapshot) {
	to := Instant(s.Hour) * hourOf
	kinds := make(map[uint64]ArrivalKind, len(s.Visits))
	for i := range s.Visits {
		kinds[s.Visits[i].Visit] = s.Visits[i].Class.kind()
	}
	for i := range u.chart.Rooms {
		for j := range u.chart.Rooms[i].Patients {
			p := &u.chart.Rooms[i].Patients[j]
			if u.visits[p.Visit] == nil && p.Arrived > to-hourOf && p.Arrived <= to {
				n := visitNumber(p)
				s.Arrivals = append(s.Arrivals, SnapshotArrival{n, kinds[n]})
			}
		}
	}
	for _, v := range u.touchedAfter(to - hourOf) {
		if v.timeline.newborn || v.Touched <= to-hourOf {
			continue
		}
		if at := v.cameAt(); at > to-hourOf && at <= to {
			n := visitNumber(&PatientChart{Visit: v.ID})
			kind, here := kinds[n]
			if !here {
				kind = ArrivesTriage // who comes and goes within an hour was looked at, not admitted
			}
			s.Arrivals = append(s.Arrivals, SnapshotArrival{n, kind})
		}
	}
	slices.SortFunc(s.Arrivals, func(a, b SnapshotArrival) int { return cmp.Compare(a.Visit, b.Visit) })
	if len(s.Arrivals) > maxSnapshotVisits {
		s.Arrivals = s.Arrivals[:maxSnapshotVisits]
	}
}

// cameAt returns when the visit became known to be here: when it was opened, or
// when that was heard of, whichever is later; 0: it never was.
func (v *visit) cameAt() Instant {
	if v.timeline.openedAt == 0 {
		if len(v.Stays) > 0 {
			return v.Stays[0].First
		}
		return 0
	}
	heard := Instant(0)
	for i := range v.events {
		if e := &v.events[i]; e.At >= v.timeline.openedAt {
			heard = Soonest(heard, e.ReceivedAt)
		}
	}
	return max(v.timeline.openedAt, heard)
}

// kind is with what a visit begins that is in a stage.
func (c StageClass) kind() ArrivalKind {
	switch c {
	case StageTriage:
		return ArrivesTriage
	case StageEarly, StageLabor:
		return ArrivesLabor
	case StageBirth:
		return ArrivesBirth
	case StageRecovery, StageCouplet, StageAntepartum, StageOther, StageCoupletCesarean:
	}
	return ArrivesOther
}
