package score

import (
	"cmp"
	"slices"
	"time"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// The constants for the evaluation of a room. All are defaults of this project.
const (
	assumedDemand = catalogue.Nurse / 2                               // demand of a patient without a known primary factor
	maxAdd        = catalogue.Nurse / 4                               // maximum total of a patient's ADDs
	maxDemand     = 4 * catalogue.Nurse                               // maximum demand of a room
	doubleAfter   = acuity.Instant(15 * 60_000)                       // time after which two mothers in a room count as double occupancy
	signalsStale  = acuity.Instant(48 * time.Hour / time.Millisecond) // time after which a room named only by clinical signals is stale
)

// JudgeRoom evaluates a room at an instant. The verdict shares no memory with the chart.
func JudgeRoom(c *catalogue.Catalogue, r *acuity.RoomChart, now acuity.Instant) RoomVerdict {
	var rv RoomVerdict
	out := allocateMemory(r.CountEvidence())
	judgeRoomInto(c, r, now, &out, &rv)
	return rv
}

// judgeRoomInto evaluates one room into rv, which must be zero. It stores factors and evidence in the given memory.
func judgeRoomInto(c *catalogue.Catalogue, r *acuity.RoomChart, now acuity.Instant, out *roomMemory, rv *RoomVerdict) {
	rv.ID, rv.Label, rv.Area, rv.Status, rv.listed = r.ID, r.Label, r.Area, r.Status, r.Listed
	if r.Status == acuity.RoomEmpty || r.Status == acuity.RoomBlocked {
		return
	}
	var store [1]patient
	views := store[:0]
	if len(r.Patients) > len(store) {
		views = make([]patient, 0, len(r.Patients))
	}
	for i := range r.Patients {
		views = views[:i+1]
		viewPatient(c, &r.Patients[i], now, &views[i])
		rv.UnnamedFetus = rv.UnnamedFetus || r.Patients[i].UnnamedFetus && !views[i].isDelivered(now)
	}
	first := len(out.evidence)
	rv.Factors = findActive(c, views, now, out)
	rv.evidence = out.evidence[first:len(out.evidence):len(out.evidence)]
	rv.Next = out.nextSourceLoss
	orderFactors(c, rv.Factors)

	var total catalogue.Demand
	if len(views) == 1 {
		total = sumDemand(c, &views[0], rv.Factors, now, rv)
	} else {
		total, _ = sumPatients(c, views, now, rv, out)
	}
	switch {
	case len(views) == 0 && r.Status == acuity.RoomOccupied:
		rv.Assumed, total = true, assumedDemand
	case len(rv.Factors) > 0 && r.Status == acuity.RoomUnknown:
		rv.Status = acuity.RoomOccupied
	}
	rv.Demand = min(total, maxDemand)
	describeRoom(c, r, rv, views, now)
	if len(views) > 1 {
		followAll(c, r, rv, views, now, out)
	}
}

// sumPatients adds up the demands of several patients in a room. next is the next instant at which a factor or the
// demand of one of these patients changes, or 0 if there is none.
func sumPatients(
	c *catalogue.Catalogue, views []patient, now acuity.Instant, rv *RoomVerdict, out *roomMemory,
) (total catalogue.Demand, next acuity.Instant) {
	for i := range views {
		factors := findActive(c, views[i:i+1], now, out.forOnePatient())
		total += sumDemand(c, &views[i], factors, now, rv)
		for j := range factors {
			next = codes.Soonest(next, factors[j].Next)
		}
	}
	return total, codes.Soonest(next, rv.Next)
}

// followAll sets rv.Next to the next instant at which the demand of a room with several patients changes. Patients
// with the same factor share one entry in rv.Factors, so the entry's Next can miss a change in the demand of one
// patient. followAll therefore evaluates each patient separately.
func followAll(c *catalogue.Catalogue, r *acuity.RoomChart, rv *RoomVerdict, views []patient, now acuity.Instant, out *roomMemory) {
	_, at := sumPatients(c, views, now, &RoomVerdict{Status: rv.Status}, out)
	for at != 0 && (rv.Next == 0 || at < rv.Next) {
		for i := range r.Patients {
			viewPatient(c, &r.Patients[i], at, &views[i])
		}
		total, next := sumPatients(c, views, at, &RoomVerdict{Status: rv.Status}, out)
		if min(total, maxDemand) != rv.Demand {
			rv.Next = at
			return
		}
		if next <= at {
			return
		}
		at = next
	}
}

// sumDemand returns the demand of one patient and her newborns. It records in rv whether the demand is assumed, and the
// next instant at which the demand changes without a change to any factor.
func sumDemand(c *catalogue.Catalogue, v *patient, factors []FactorVerdict, now acuity.Instant, rv *RoomVerdict) catalogue.Demand {
	var inside, other, add, trackFloor, babies catalogue.Demand
	for i := range factors {
		fv := &factors[i]
		t := c.Traits(fv.Factor)
		switch {
		case t.IsNewborn():
			continue
		case t.HasTrackFloor():
			trackFloor = max(trackFloor, fv.Need)
		case t.IncludesBabyNurse() && fv.Need >= 2*catalogue.Nurse:
			inside = max(inside, fv.Need)
		default:
			other = max(other, fv.Need)
		}
		if t.CountsBabies() && v.Delivering {
			babies = max(babies, c.Requirement(fv.Factor, 0).PerBaby*catalogue.Demand(max(fv.babies, 2)-1))
		}
		add += fv.add
		if t.EndsWithBirth() && fv.add > 0 && v.Birth > now {
			rv.Next = codes.Soonest(rv.Next, v.Birth)
		}
	}
	if !v.Traits.IsMaternal() && (v.mother || !v.Traits.IsNewborn()) &&
		(len(factors) > 0 || rv.Status == acuity.RoomOccupied) {
		other, rv.Assumed = max(other, assumedDemand), true
	}
	var track, within catalogue.Demand
	if v.Traits.IsNewborn() {
		track, within = v.sumNewborns(0, now)
	}
	d := withAdd(other, add) + max(track, trackFloor)
	if inside > 0 {
		already := min(within, catalogue.Nurse+babies)
		d = max(d, withAdd(inside+babies, add)+max(track-already, trackFloor))
	}
	return d
}

// withAdd adds the ADDs, limited to maxAdd, to a demand. If the demand alone is below one nurse, the sum is at most
// one nurse.
func withAdd(d, add catalogue.Demand) catalogue.Demand {
	add = min(add, maxAdd)
	if d < catalogue.Nurse {
		return min(catalogue.Nurse, d+add)
	}
	return d + add
}

// describeRoom fills in the fields of rv that follow from demand and factors.
func describeRoom(c *catalogue.Catalogue, r *acuity.RoomChart, rv *RoomVerdict, views []patient, now acuity.Instant) {
	rv.Score = scoreRoom(c, rv)
	if len(rv.Factors) > 0 {
		rv.Color = colorOf(rv.Score)
		rv.STAT = rv.Factors[0].Severity == 4 // ordered by severity
	}
	if leading := findLeading(c, rv.Factors); leading != nil {
		rv.Primary = leading.Factor
	}
	next, doubt, stale, all := rv.Next, acuity.Instant(0), false, catalogue.Traits(0)
	for i := range rv.Factors {
		fv := &rv.Factors[i]
		stale = stale || fv.Stale
		next, doubt = codes.Soonest(next, fv.Next), codes.Soonest(doubt, fv.doubt)
		t := c.Traits(fv.Factor)
		all |= t
		if t.IsBoarder() {
			recordBoarder(c, rv, views, fv.Factor, now)
		}
	}
	rv.Stale, rv.fatigue = stale, all.TiresNurse()
	if r.Status == acuity.RoomUnknown && r.NewestSignal != 0 {
		if at := r.NewestSignal + signalsStale; now >= at {
			rv.Stale = true
		} else {
			doubt = codes.Soonest(doubt, at)
		}
	}
	if rv.Next = next; !rv.Stale {
		rv.Next = codes.Soonest(next, doubt)
	}
	mothers, second := 0, acuity.Instant(0)
	for i := range views {
		rv.Birth = rv.Birth || views[i].Sections.HasBirths()
		if views[i].mother {
			mothers++
			if at := r.Patients[i].Arrived; mothers == 2 {
				second = at
			}
		}
	}
	if mothers >= 2 {
		if at := second + doubleAfter; now >= at {
			rv.Double = true
		} else {
			rv.due = codes.Soonest(rv.due, at)
		}
	}
}

// findLeading returns the primary factor that describes the patient, or nil if no primary factor is known. The list
// must be sorted by orderFactors.
func findLeading(c *catalogue.Catalogue, list []FactorVerdict) *FactorVerdict {
	var first *FactorVerdict
	for i := range list {
		if fv := &list[i]; c.Traits(fv.Factor).IsPrimary() && isMoreSpecific(c, fv, first) {
			first = fv
		}
	}
	return first
}

// isMoreSpecific reports whether the primary factor fv describes the patient better than the primary factor in first.
// A mother's factor is better than a newborn's; between two of the same kind, the one with the greater demand is
// better. If first is nil, fv is better.
func isMoreSpecific(c *catalogue.Catalogue, fv, first *FactorVerdict) bool {
	if first == nil {
		return true
	}
	newborn, before := c.Traits(fv.Factor).IsNewborn(), c.Traits(first.Factor).IsNewborn()
	return before && !newborn || before == newborn && fv.Need > first.Need
}

// recordBoarder records in rv whether a patient has had the factor f for so long that the patient counts as a
// boarder. If not, it records the first instant at which a patient will count as one.
func recordBoarder(c *catalogue.Catalogue, rv *RoomVerdict, views []patient, f catalogue.Factor, now acuity.Instant) {
	after := c.Requirement(f, 0).Boarder
	for i := range views {
		for j := range views[i].evidence {
			if ev := &views[i].evidence[j]; ev.Factor == f {
				if at := ev.Start + after; now >= at {
					rv.Boarder = true
				} else {
					rv.due = codes.Soonest(rv.due, at)
				}
			}
		}
	}
	if rv.Boarder {
		rv.due = 0
	}
}

// orderFactors sorts factors by severity, then demand (both descending), then id.
func orderFactors(c *catalogue.Catalogue, list []FactorVerdict) {
	slices.SortFunc(list, func(a, b FactorVerdict) int { return cmp.Compare(factorOrder(c, &b), factorOrder(c, &a)) })
}

// factorOrder encodes severity, demand and id as one number; the largest number comes first.
func factorOrder(c *catalogue.Catalogue, fv *FactorVerdict) uint64 {
	return uint64(fv.Severity)<<40 | uint64(fv.Demand)<<8 | uint64(^c.Rank(fv.Factor)) //nolint:gosec // never negative values
}
