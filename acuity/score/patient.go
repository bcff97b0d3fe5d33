package score

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

// patient is one patient at one instant: what must be known of all her evidence before a
// single piece can be judged.
type patient struct {
	catalogue.Situation
	c        *catalogue.Catalogue
	evidence []acuity.Evidence

	mother          bool             // not an entry of newborns alone
	suppressed      catalogue.Factor // is off while a graver factor is on that becomes it
	suppressedUntil acuity.Instant
	silence         silence
}

// viewPatient collects what concerns all evidence of a patient.
func viewPatient(c *catalogue.Catalogue, p *acuity.PatientChart, now acuity.Instant, v *patient) {
	*v = patient{Situation: catalogue.Situation{Birth: p.Birth}, c: c, evidence: p.Evidence, mother: p.Mother}
	for i := range p.Evidence {
		ev := &p.Evidence[i]
		t := c.Traits(ev.Factor)
		v.Traits |= t
		if t.IsMaternal() {
			v.Sections |= c.PatientSections(ev.Factor)
		}
		if t.IsBirth() {
			v.recordBirth(ev, now)
		}
		if t.FallsSilent() {
			v.recordSilence(ev, now)
		}
	}
	if v.suppressedUntil > now {
		v.silence = silence{}
	}
}

// isDelivered reports whether the birth is over.
func (v *patient) isDelivered(now acuity.Instant) bool { return v.Birth != 0 && v.Birth <= now }

// silence is what a silent factor became; no factor: none did.
type silence struct {
	factor, from catalogue.Factor
	since        acuity.Instant
}

// evidence returns the evidence of the factor that it became.
func (s silence) evidence() acuity.Evidence {
	return acuity.Evidence{Factor: s.factor, Kind: acuity.BySignal, Start: s.since, Last: s.since}
}

// recordBirth records a birth that goes on.
func (v *patient) recordBirth(ev *acuity.Evidence, now acuity.Instant) {
	o, on := v.judge(ev, now)
	if !on || o.Need < 2*catalogue.Nurse {
		return
	}
	switch {
	case !v.Delivering:
		v.Delivering, v.Delivery = true, o.Next
	case o.Next == 0 || v.Delivery == 0:
		v.Delivery = 0
	default:
		v.Delivery = max(v.Delivery, o.Next)
	}
}

// recordSilence records a factor that becomes another when nobody asserts it any more.
func (v *patient) recordSilence(ev *acuity.Evidence, now acuity.Instant) {
	e := v.c.Requirement(ev.Factor, ev.Variant)
	end := ev.Last + e.Silent
	v.suppressed, v.suppressedUntil = e.Becomes, max(v.suppressedUntil, end)
	if now >= end && end > v.silence.since {
		v.silence = silence{factor: e.Becomes, from: ev.Factor, since: end}
	}
}

// judge returns what a piece of evidence asks for; false: it does not count now.
func (v *patient) judge(ev *acuity.Evidence, now acuity.Instant) (o catalogue.Judged, on bool) {
	return v.judgeBy(v.c.Requirement(ev.Factor, ev.Variant), ev, now)
}

// judgeBy is judge with the requirement of the evidence.
func (v *patient) judgeBy(e *catalogue.Requirement, ev *acuity.Evidence, now acuity.Instant) (o catalogue.Judged, on bool) {
	if ev.Factor == v.suppressed && v.suppressedUntil > now {
		return catalogue.Judged{}, false
	}
	return e.Judge(&v.Situation, ev.Start, ev.Last, ev.Kind == acuity.ByDiagnosis, now)
}

// isPast reports whether evidence that is judged so asked for a nurse when it began, and asks for none any
// more.
func (v *patient) isPast(e *catalogue.Requirement, ev *acuity.Evidence, o *catalogue.Judged) bool {
	if o.Need > 0 || o.Add > 0 {
		return false
	}
	first, on := e.Judge(&v.Situation, ev.Start, ev.Last, ev.Kind == acuity.ByDiagnosis, ev.Start)
	return on && first.Need > 0
}

// sumNewborns returns what the newborns need together: the sum of each one's greatest demand.
// inside is the part that the nurse of the baby at a birth may already give. With a
// factor, only evidence of that factor counts.
func (v *patient) sumNewborns(f catalogue.Factor, now acuity.Instant) (sum, inside catalogue.Demand) {
	for i := range v.evidence {
		need, within, on := v.judgeNewborn(i, f, now)
		if !on {
			continue
		}
		counts, outside := true, catalogue.Demand(0) // what the baby needs apart from the nurse at the birth
		for j := range v.evidence {
			if j == i || v.evidence[j].Baby != v.evidence[i].Baby {
				continue
			}
			// If two demands of one baby are equal, the one outside counts. The
			// order of evidence is irrelevant so.
			other, otherWithin, otherOn := v.judgeNewborn(j, f, now)
			if otherOn && (other > need || other == need && (within && !otherWithin || within == otherWithin && j < i)) {
				counts = false
				break
			}
			if otherOn && !otherWithin {
				outside = max(outside, other)
			}
		}
		if counts {
			sum += need
			if within {
				inside += need - outside // so one more evidence never lowers the room
			}
		}
	}
	return sum, inside
}

// judgeNewborn judges the i-th piece of evidence if it is a primary of a newborn.
func (v *patient) judgeNewborn(i int, f catalogue.Factor, now acuity.Instant) (need catalogue.Demand, inside, on bool) {
	ev := &v.evidence[i]
	t := v.c.Traits(ev.Factor)
	if !t.IsNewborn() || f != 0 && ev.Factor != f {
		return 0, false, false
	}
	o, on := v.judge(ev, now)
	return o.Need, t.IncludesBabyNurse() && o.Need >= catalogue.Nurse, on
}
