package score

import (
	"svc/acuity"
	"svc/acuity/catalogue"
)

// patient is the view of one patient at one instant. It contains the facts that apply to all of the patient's
// evidence.
type patient struct {
	catalogue.Situation
	c        *catalogue.Catalogue
	evidence []acuity.Evidence

	mother          bool             // whether the patient's chart includes a mother; if not, it includes only newborns
	suppressed      catalogue.Factor // factor that would replace a more severe factor; inactive while the more severe factor is active
	suppressedUntil acuity.Instant
	silence         silence
}

// viewPatient computes the facts that apply to all evidence of a patient.
func viewPatient(c *catalogue.Catalogue, p *acuity.PatientChart, now acuity.Instant, v *patient) {
	*v = patient{Situation: catalogue.Situation{Birth: p.Birth, Unborn: p.Unborn}, c: c, evidence: p.Evidence, mother: p.Mother}
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

// isDelivered reports whether the patient has given birth, at least to her first baby.
func (v *patient) isDelivered(now acuity.Instant) bool { return v.Birth != 0 && v.Birth <= now }

// silence is a factor that replaced another factor because that other factor was not asserted again. In the zero
// value, no factor was replaced.
type silence struct {
	factor, from catalogue.Factor
	since        acuity.Instant
	fetus        string // see acuity.Evidence
}

// evidence returns evidence of s.factor, the factor that replaced s.from.
func (s silence) evidence() acuity.Evidence {
	return acuity.Evidence{Factor: s.factor, Kind: acuity.BySignal, Start: s.since, Last: s.since, Fetus: s.fetus}
}

// recordBirth records in v that a birth is in progress, provided that ev now demands at least two nurses. It also
// records when that demand ends, or 0 if the end is unknown. If several pieces of evidence make this demand, the
// latest end counts.
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

// recordSilence handles evidence whose factor is replaced by another factor if the evidence is not asserted again in
// time. The other factor is suppressed until that time has passed; from then on, it replaces the factor of ev.
func (v *patient) recordSilence(ev *acuity.Evidence, now acuity.Instant) {
	e := v.c.Requirement(ev.Factor, ev.Variant)
	end := ev.Last + e.Silent
	if off := e.BirthEnd(&v.Situation, asserted(ev)); off != 0 && off <= min(now, end) {
		return // ev no longer counts, but later evidence of the other factor may
	}
	v.suppressed, v.suppressedUntil = e.Becomes, max(v.suppressedUntil, end)
	s := silence{factor: e.Becomes, from: ev.Factor, since: end, fetus: ev.Fetus}
	if now < end || end <= v.silence.since {
		return
	}
	silent := s.evidence()
	if off := v.c.Requirement(s.factor, 0).BirthEnd(&v.Situation, asserted(&silent)); off == 0 || now < off {
		v.silence = s
	}
}

// asserted returns when and how the evidence was asserted.
func asserted(ev *acuity.Evidence) *catalogue.Asserted {
	return &catalogue.Asserted{Start: ev.Start, Last: ev.Last, ByDiagnosis: ev.Kind == acuity.ByDiagnosis, Fetus: ev.Fetus}
}

// judge returns the demand of a piece of evidence, and reports whether the evidence counts now.
func (v *patient) judge(ev *acuity.Evidence, now acuity.Instant) (o catalogue.Judged, on bool) {
	return v.judgeBy(v.c.Requirement(ev.Factor, ev.Variant), ev, now)
}

// judgeBy is like judge, with a given requirement for the evidence.
func (v *patient) judgeBy(e *catalogue.Requirement, ev *acuity.Evidence, now acuity.Instant) (o catalogue.Judged, on bool) {
	if ev.Factor == v.suppressed && v.suppressedUntil > now {
		return catalogue.Judged{}, false
	}
	return e.Judge(&v.Situation, asserted(ev), now)
}

// isPast reports whether evidence with the result o had a demand when it began but no longer has one.
func (v *patient) isPast(e *catalogue.Requirement, ev *acuity.Evidence, o *catalogue.Judged) bool {
	if o.Need > 0 || o.Add > 0 {
		return false
	}
	first, on := e.Judge(&v.Situation, asserted(ev), ev.Start)
	return on && first.Need > 0
}

// sumNewborns returns the total demand of the newborns, which is the sum of each newborn's greatest demand. inside is
// the part of the sum that the nurse who cares for the baby during a birth may already cover. If f is not 0, only
// evidence of f counts.
func (v *patient) sumNewborns(f catalogue.Factor, now acuity.Instant) (sum, inside catalogue.Demand) {
	for i := range v.evidence {
		need, within, on := v.judgeNewborn(i, f, now)
		if !on {
			continue
		}
		counts, outside := true, catalogue.Demand(0) // the baby's demand that the nurse at the birth does not cover
		for j := range v.evidence {
			if j == i || v.evidence[j].Baby != v.evidence[i].Baby {
				continue
			}
			// If two demands of the same baby are equal, the one that the nurse at the birth does not cover counts,
			// so that the order of the evidence does not matter.
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
				inside += need - outside // an additional piece of evidence must never lower the room's demand
			}
		}
	}
	return sum, inside
}

// judgeNewborn returns the demand of the i-th piece of evidence. on is false if the evidence does not count now, if
// its factor is not a primary factor of a newborn, or if f is not 0 and differs from the evidence's factor. inside
// reports whether the nurse who cares for the baby during a birth may already cover the demand.
func (v *patient) judgeNewborn(i int, f catalogue.Factor, now acuity.Instant) (need catalogue.Demand, inside, on bool) {
	ev := &v.evidence[i]
	t := v.c.Traits(ev.Factor)
	if !t.IsNewborn() || f != 0 && ev.Factor != f {
		return 0, false, false
	}
	o, on := v.judge(ev, now)
	return o.Need, t.IncludesBabyNurse() && o.Need >= catalogue.Nurse, on
}
