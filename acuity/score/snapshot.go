package score

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// MaxSnapshotVisits is the maximum number of visits in a snapshot. Additional visits are left out; no real unit has
// that many patients.
const MaxSnapshotVisits = 500

// QuietAfter is how long a unit counts as observed after the last fact about a patient. The value is a default of this
// project.
const QuietAfter = 12 * time.Hour

// MakeSnapshot returns the snapshot of a unit at an instant. Each visit has its demand now and, provided that no new
// facts arrive, at each hour ahead. The caller adds generation, position and arrivals, which come from the unit's
// log.
//
// The current demands of the visits add up to the demand of the unit, and their current scores to the score of the
// unit, unless visits are left out because of MaxSnapshotVisits.
func MakeSnapshot(c *acuity.Chart, now acuity.Instant) acuity.Snapshot {
	cat := c.Unit.Catalogue()
	s := acuity.Snapshot{
		Hour: now.Hour(), RulesVersion: cat.Version(), Nurses: -1,
		Observed: c.Unit.ObservedAt != 0 && now <= c.Unit.ObservedAt.Add(QuietAfter),
	}
	f := snapshotBuilder{cat: cat, now: now, snapshot: &s}
	rooms := make([]RoomVerdict, len(c.Rooms))
	for i := range c.Rooms {
		f.addRoom(&c.Rooms[i], &rooms[i])
	}
	v := judgeUnit(cat, &c.Unit, rooms, now)
	sums := SumRooms(rooms)
	s.Level, s.Nurses, s.Call = v.Level, v.OnDuty, v.Call
	s.Occupied, s.Boarders = int32(sums.occupied), int32(sums.boarders) //nolint:gosec // counts of rooms are small
	if c.Unit.HasCensus {
		s.Rooms = max(c.Unit.TotalRooms, int32(sums.listed)) - int32(sums.blocked) //nolint:gosec // counts of rooms are small
	}
	var moved axisInput
	v.countTurnover(&c.Unit, &moved, now)
	s.Moves = int32(moved.moves) //nolint:gosec // moves in two hours are few
	return s
}

// snapshotBuilder evaluates the rooms of a unit now and at each of the hours ahead.
type snapshotBuilder struct {
	cat      *catalogue.Catalogue
	now      acuity.Instant
	snapshot *acuity.Snapshot

	// verdict is the memory for a room's current verdict; ahead is the memory for its verdicts in the hours ahead.
	verdict, ahead roomMemory
	views          []patient
}

// addRoom adds the visits of a room. It leaves the current verdict in rv, whose factors are valid until the next
// call.
func (f *snapshotBuilder) addRoom(r *acuity.RoomChart, rv *RoomVerdict) {
	f.verdict.clear()
	judgeRoomInto(f.cat, r, f.now, &f.verdict, rv)
	s := f.snapshot
	first := len(s.Visits)
	for i := range r.Patients {
		if len(s.Visits) < MaxSnapshotVisits {
			s.Visits = append(s.Visits, f.makeVisit(r, &r.Patients[i], rv))
		}
	}
	if len(r.Patients) == 0 && rv.Demand > 0 && first < MaxSnapshotVisits { // the patient is unknown
		unknown := VisitNumber(&acuity.PatientChart{Visit: "room:" + strconv.Itoa(int(r.ID))})
		s.Visits = append(s.Visits, acuity.SnapshotVisit{Visit: unknown, Class: acuity.StageOther})
	}
	visits := s.Visits[first:]
	v, until := *rv, rv.Until()
	for h := range acuity.Horizon + 1 {
		at := f.now.Add(time.Duration(h) * time.Hour)
		if h > 0 && (until != 0 && until <= at || len(r.Patients) > 1) {
			f.ahead.clear()
			v = RoomVerdict{}
			judgeRoomInto(f.cat, r, at, &f.ahead, &v)
			until = v.Until()
		}
		if v.STAT {
			s.Class4[h]++
		}
		f.shareDemand(r, &v, visits, h, at)
	}
}

// shareDemand divides the demand of a room among its patients. The only patient gets the whole demand. If there are
// several, each gets the demand that her own evidence justifies, until the total reaches the room's demand. The first
// patient gets the room's score.
func (f *snapshotBuilder) shareDemand(r *acuity.RoomChart, v *RoomVerdict, visits []acuity.SnapshotVisit, h int, at acuity.Instant) {
	if len(visits) == 0 {
		return
	}
	visits[0].Score[h] = uint8(v.Score) //nolint:gosec // 0 to 100
	if len(visits) == 1 {
		visits[0].Demand[h] = uint8(v.Demand) //nolint:gosec // at most maxDemand, 240
		return
	}
	f.views = f.views[:0]
	for i := range r.Patients {
		f.views = append(f.views, patient{})
		viewPatient(f.cat, &r.Patients[i], at, &f.views[i])
	}
	rest := v.Demand
	for i := range visits {
		own := sumDemand(f.cat, &f.views[i], findActive(f.cat, f.views[i:i+1], at, f.ahead.forOnePatient()), at, &RoomVerdict{Status: r.Status})
		own = min(own, rest)
		rest -= own
		visits[i].Demand[h] = uint8(own) //nolint:gosec // at most maxDemand
	}
}

// makeVisit returns a visit with its stage and the minutes since the stage began.
func (f *snapshotBuilder) makeVisit(r *acuity.RoomChart, p *acuity.PatientChart, rv *RoomVerdict) acuity.SnapshotVisit {
	v := acuity.SnapshotVisit{Visit: VisitNumber(p)}
	list := rv.Factors
	if len(r.Patients) > 1 {
		var alone roomMemory
		var one [1]patient
		viewPatient(f.cat, p, f.now, &one[0])
		list = findActive(f.cat, one[:], f.now, &alone)
		orderFactors(f.cat, list)
	}
	since := p.Arrived
	v.Class = acuity.StageOther
	if primary := findLeading(f.cat, list); primary != nil {
		since = primary.Since
		v.Class = findStage(p, primary.Factor, f.now.Sub(since))
	}
	if since != 0 && since < f.now {
		v.Age = int32(min(f.now.Sub(since)/time.Minute, 1<<20)) //nolint:gosec // bounded by min
	}
	return v
}

// VisitNumber returns a 64-bit hash that identifies a visit. The hash is computed from the visit's pseudonym or, for
// an occupant without a visit, from the room and the time of arrival.
func VisitNumber(p *acuity.PatientChart) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p.Visit))
	if len(p.Visit) > 5 && p.Visit[:5] == "room:" {
		h.Write(strconv.AppendInt(nil, int64(p.Arrived), 36))
	}
	return h.Sum64()
}

// stages maps the ids of primary factors to stage classes. All other factors have the class [acuity.StageOther].
var stages = stagesOf(map[acuity.StageClass]string{
	acuity.StageTriage: "triage-initial triage-medical-eval triage-admit ap-nst",
	acuity.StageEarly:  "labor-ripening triage-induction-start triage-rom labor-active-lt4",
	acuity.StageLabor:  "labor-standard labor-ia labor-induction labor-epidural labor-complications",
	acuity.StageBirth: `labor-vaginal-birth csection-admit csection-intraop or-cerclage-placement or-cerclage-removal
		or-fetal-surgery or-fetal-transfusion or-exit-procedure or-d-and-c`,
	acuity.StageRecovery:   "pp-csection pp-immediate-recovery-vag pp-recovery-stable",
	acuity.StageCouplet:    "pp-couplet pp-complications-stable pp-complications-unstable pp-hold",
	acuity.StageAntepartum: "ap-stable ap-unstable",
})

// stagesOf inverts a map from stage classes to lists of ids: it returns the class of each id.
func stagesOf(ids map[acuity.StageClass]string) map[string]acuity.StageClass {
	byID := map[string]acuity.StageClass{}
	for class, list := range ids {
		for id := range strings.FieldsSeq(list) {
			byID[id] = class
		}
	}
	return byID
}

// recovers maps each primary factor for recovery to its duration. After that time, the factor's demand is that of a
// couplet (see the catalogue).
var recovers = map[string]time.Duration{
	"pp-csection": 6 * time.Hour, "pp-immediate-recovery-vag": 6 * time.Hour, "pp-recovery-stable": 4 * time.Hour,
}

// findStage returns the stage class of a patient whose primary factor has the given age.
func findStage(p *acuity.PatientChart, primary catalogue.Factor, age time.Duration) acuity.StageClass {
	class, ok := stages[primary.ID()]
	if !ok {
		return acuity.StageOther
	}
	if class == acuity.StageRecovery && age >= recovers[primary.ID()] {
		class = acuity.StageCouplet
	}
	if class == acuity.StageCouplet && isAfterCesarean(p) {
		class = acuity.StageCoupletCesarean
	}
	return class
}

// isAfterCesarean reports whether any evidence says that the birth was a cesarean.
func isAfterCesarean(p *acuity.PatientChart) bool {
	for i := range p.Evidence {
		switch p.Evidence[i].Factor.ID() {
		case "pp-csection", "pp-csection-day":
			return true
		}
	}
	return false
}
