package catalogue

import (
	"time"

	"svc/acuity/codes"
)

// Requirement is what one piece of evidence asks for.
type Requirement struct {
	Need       Schedule // a primary's demand or a modifier's floor; classes are here for all
	needIn     Sections // of a modifier; 0: everywhere
	floors     []floorRule
	track      bool     // need is that of a newborn
	withMother Schedule // replaces need beside a pp-* primary; nil: no difference
	trackFloor Demand   // of all newborns together

	add           Demand
	addIn         Sections // 0: everywhere
	addUntilBirth bool

	window          codes.Instant // duration; 0: none
	fromLast        bool          // window
	exceptDiagnosis bool          // window
	endsBirth       bool
	birthDiagnosis  bool // endsBirth only for evidence by diagnosis

	stale         codes.Instant // duration; 0: never
	staleFromLast bool

	Silent  codes.Instant // duration; 0: none
	Becomes Factor

	inside  bool          // at 2.0 one of the two nurses is the baby's; for a newborn at 1.0 it may be that one
	birth   bool          // at 2.0 a birth goes on
	PerBaby Demand        // for each baby beyond the first
	Boarder codes.Instant // duration; 0: none
	fatigue bool
	Twin    Factor
}

// floorRule is a further floor of a modifier in some sections; it has no steps.
type floorRule struct {
	need Demand
	in   Sections
}

// Situation is what a requirement depends on beside its own evidence: all that is known
// of one patient at one instant.
type Situation struct {
	Birth    codes.Instant // from then on some requirements end; 0: none yet
	Sections Sections      // of her primary factors
	Traits   Traits        // of all her evidence

	Delivering bool          // a birth goes on
	Delivery   codes.Instant // end of the birth, if Delivering; 0: open
}

// Judged is what one piece of evidence asks for at one instant.
type Judged struct {
	Need, Add Demand
	Class     uint8         // severity 0 … 4
	Next      codes.Instant // when that changes; 0: never
}

// Judge returns what evidence asks for that was first asserted at start and last at last;
// false: it does not count at now.
func (e *Requirement) Judge(s *Situation, start, last codes.Instant, byDiagnosis bool, now codes.Instant) (o Judged, on bool) {
	end := codes.Instant(0)
	switch {
	case e.Silent > 0:
		end = last + e.Silent
	case e.window > 0 && !(e.exceptDiagnosis && byDiagnosis):
		end = start + e.window
		if e.fromLast {
			end = last + e.window
		}
	}
	if end != 0 && now >= end {
		return Judged{}, false
	}
	if e.endsBirth && s.Birth != 0 && (!e.birthDiagnosis || byDiagnosis) {
		off := s.Birth
		if e.PerBaby > 0 && s.Delivering {
			off = max(off, s.Delivery) // babies still come
		}
		switch {
		case e.PerBaby > 0 && s.Delivering && s.Delivery == 0:
		case now >= off:
			return Judged{}, false
		default:
			end = codes.Soonest(end, off)
		}
	}
	schedule := e.Need
	if e.track && e.withMother != nil && s.Traits&traitPostpartum != 0 {
		schedule = e.withMother
	}
	o.Need, o.Class, o.Next = schedule.At(start, now)
	o.Next = codes.Soonest(o.Next, end)
	if e.needIn != 0 && s.Sections&e.needIn == 0 {
		o.Need = 0
	}
	for _, rule := range e.floors {
		if rule.in == 0 || s.Sections&rule.in != 0 {
			o.Need = max(o.Need, rule.need)
		}
	}
	o.Need = max(o.Need, e.trackFloor)
	if e.add > 0 && (e.addIn == 0 || s.Sections&e.addIn != 0) && !(e.addUntilBirth && s.Birth != 0 && now >= s.Birth) {
		o.Add = e.add
	}
	return o, true
}

// StaleAt returns when evidence becomes doubtful that was first asserted at start and last
// at last; 0: never.
func (e *Requirement) StaleAt(start, last codes.Instant) codes.Instant {
	switch {
	case e.stale == 0:
		return 0
	case e.staleFromLast:
		return last + e.stale
	default:
		return start + e.stale
	}
}

// Window returns how long evidence of f lasts, and from which clock; 0: until it is
// ended. A gap of that length between statements begins a new run.
func (c *Catalogue) Window(f Factor, variant uint8, byDiagnosis bool) (length time.Duration, fromLast bool) {
	e := c.Requirement(f, variant)
	if e.Silent > 0 {
		return time.Duration(e.Silent) * time.Millisecond, true
	}
	if e.exceptDiagnosis && byDiagnosis {
		return 0, false
	}
	return time.Duration(e.window) * time.Millisecond, e.fromLast
}

// Requirement returns what evidence of f asks for. An unknown variant is the plain one, and
// an unknown factor asks for nothing, so that a chart of a newer version can be judged.
func (c *Catalogue) Requirement(f Factor, variant uint8) *Requirement {
	forms := c.requirements[f]
	if int(variant) >= len(forms) {
		variant = 0
	}
	return &forms[variant]
}
