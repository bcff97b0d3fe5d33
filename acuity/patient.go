package acuity

import "svc/acuity/codes"

// patient is one patient at one instant: what must be known of all her evidence before a
// single piece can be judged.
type patient struct {
	c        *Catalogue
	evidence []Evidence
	birth    Instant

	in      sections // of her primary factors
	mother  bool     // not an entry of newborns alone
	traits  traits   // of all her evidence
	hushed  Factor   // is off while a graver factor that becomes it is on
	hushEnd Instant
	quiet   silence

	delivering bool    // a birth goes on
	delivery   Instant // end of the birth, if delivering; 0: open
}

// viewPatient collects what concerns all evidence of a patient.
func viewPatient(c *Catalogue, p *PatientChart, now Instant, v *patient) {
	*v = patient{c: c, evidence: p.Evidence, birth: p.Birth, mother: p.Mother}
	for i := range p.Evidence {
		ev := &p.Evidence[i]
		t := c.traits[ev.Factor]
		v.traits |= t
		if t&traitMaternal != 0 {
			v.in |= setOf(c.sectionForTests(ev.Factor, t))
		}
		if t&traitBirth != 0 {
			v.deliver(ev, now)
		}
		if t&traitSilent != 0 {
			v.hush(ev, now)
		}
	}
	if v.hushEnd > now {
		v.quiet = silence{}
	}
}

// silence is what a silent factor became; no factor: none did.
type silence struct {
	factor, from Factor
	since        Instant
}

// evidence returns the evidence of the factor that it became.
func (s silence) evidence() Evidence {
	return Evidence{Factor: s.factor, Kind: BySignal, Start: s.since, Last: s.since}
}

// sectionForTests is the section that a primary puts its patient in: recovery after a
// cesarean is Postpartum, whatever the table calls it.
func (c *Catalogue) sectionForTests(f Factor, t traits) Section {
	if t&traitPostpartum != 0 {
		return sectionPostpartum
	}
	return c.specs[f].Section
}

// deliver records a birth that goes on.
func (v *patient) deliver(ev *Evidence, now Instant) {
	o, on := v.judge(ev, now)
	if !on || o.need < 2*Nurse {
		return
	}
	switch {
	case !v.delivering:
		v.delivering, v.delivery = true, o.next
	case o.next == 0 || v.delivery == 0:
		v.delivery = 0
	default:
		v.delivery = max(v.delivery, o.next)
	}
}

// hush records a factor that becomes another when nobody asserts it any more.
func (v *patient) hush(ev *Evidence, now Instant) {
	e := v.c.Requirement(ev.Factor, ev.Variant)
	end := ev.Last + e.Silent
	v.hushed, v.hushEnd = e.Becomes, max(v.hushEnd, end)
	if now >= end && end > v.quiet.since {
		v.quiet = silence{factor: e.Becomes, from: ev.Factor, since: end}
	}
}

// outcome is what one piece of evidence asks for at one instant.
type outcome struct {
	need, add Demand
	class     uint8
	next      Instant // when that changes; 0: never
}

// judge returns what a piece of evidence asks for; false: it does not count now.
func (v *patient) judge(ev *Evidence, now Instant) (o outcome, on bool) {
	return v.judgeBy(v.c.Requirement(ev.Factor, ev.Variant), ev, now)
}

// judgeBy is judge with the effect of the evidence.
func (v *patient) judgeBy(e *Requirement, ev *Evidence, now Instant) (o outcome, on bool) {
	end := Instant(0)
	switch {
	case e.Silent > 0:
		end = ev.Last + e.Silent
	case e.window > 0 && !(e.exceptDiagnosis && ev.Kind == ByDiagnosis):
		end = ev.Start + e.window
		if e.fromLast {
			end = ev.Last + e.window
		}
	}
	if end != 0 && now >= end {
		return outcome{}, false
	}
	if e.endsBirth && v.birth != 0 && (!e.birthDiagnosis || ev.Kind == ByDiagnosis) {
		off := v.birth
		if e.perBaby > 0 && v.delivering {
			off = max(off, v.delivery) // babies still come
		}
		switch {
		case e.perBaby > 0 && v.delivering && v.delivery == 0:
		case now >= off:
			return outcome{}, false
		default:
			end = codes.Soonest(end, off)
		}
	}
	if ev.Factor == v.hushed && v.hushEnd > now {
		return outcome{}, false
	}

	schedule := e.Need
	if e.track && e.withMother != nil && v.traits&traitPostpartum != 0 {
		schedule = e.withMother
	}
	o.need, o.class, o.next = schedule.At(ev.Start, now)
	o.next = codes.Soonest(o.next, end)
	if e.needIn != 0 && v.in&e.needIn == 0 {
		o.need = 0
	}
	for _, rule := range e.floors {
		if rule.in == 0 || v.in&rule.in != 0 {
			o.need = max(o.need, rule.need)
		}
	}
	o.need = max(o.need, e.trackFloor)
	if e.add > 0 && (e.addIn == 0 || v.in&e.addIn != 0) && !(e.addUntilBirth && v.birth != 0 && now >= v.birth) {
		o.add = e.add
	}
	return o, true
}

// staleAt returns when evidence of the effect becomes doubtful; 0: never.
func (e *Requirement) staleAt(ev *Evidence) Instant {
	switch {
	case e.stale == 0:
		return 0
	case e.staleFromLast:
		return ev.Last + e.stale
	default:
		return ev.Start + e.stale
	}
}

// track returns what the newborns need together: the sum of each one's greatest demand.
// inside is the part that the nurse of the baby at a birth may already give. With a
// factor, only evidence of that factor counts.
func (v *patient) track(f Factor, now Instant) (sum, inside Demand) {
	for i := range v.evidence {
		need, within, on := v.newborn(i, f, now)
		if !on {
			continue
		}
		counts, outside := true, Demand(0) // what the baby needs apart from the nurse at the birth
		for j := range v.evidence {
			if j == i || v.evidence[j].Baby != v.evidence[i].Baby {
				continue
			}
			// Of two equal demands of one baby the one outside counts, so that
			// the order of evidence is irrelevant.
			other, otherWithin, otherOn := v.newborn(j, f, now)
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

// newborn judges the i-th piece of evidence if it is a primary of a newborn.
func (v *patient) newborn(i int, f Factor, now Instant) (need Demand, inside, on bool) {
	ev := &v.evidence[i]
	t := v.c.traits[ev.Factor]
	if t&traitNewborn == 0 || f != 0 && ev.Factor != f {
		return 0, false, false
	}
	o, on := v.judge(ev, now)
	return o.need, t&traitInside != 0 && o.need >= Nurse, on
}
