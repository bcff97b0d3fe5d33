package catalogue

import (
	"strings"
	"time"

	"svc/acuity/codes"
)

// Demand is a need for nursing in 60ths of a nurse: 1:4 is 15, 1:3 is 20, 1:2
// is 30, 1:1 is 60, 2:1 is 120. Three rooms at 1:3 make exactly one nurse.
type Demand int32

// Nurse is the demand of one nurse.
const Nurse Demand = 60

// Step is a part of a schedule: need and severity while the age of the factor is less
// than Until; an Until of 0 ends the schedule.
type Step struct {
	Until time.Duration
	Need  Demand
	Class uint8 // severity 0 … 4
}

// Schedule is what a factor asks for, how grave it is, and how both fall with time. An
// empty one asks for nothing.
type Schedule []Step

// At returns need and severity at now of a factor that started at start, and the instant
// at which time alone changes them; 0: never.
//
// A step includes its first instant, not its last: magnesium is 1:1 at 59:59, 1:2 at
// 60:00. A start in the future counts as now: bedside clocks run ahead of ours.
func (s Schedule) At(start, now codes.Instant) (need Demand, class uint8, next codes.Instant) {
	age := max(now.Sub(start), 0)
	for i := range s {
		step := &s[i]
		switch {
		case step.Until == 0:
			return step.Need, step.Class, 0
		case age < step.Until:
			return step.Need, step.Class, start.Add(step.Until)
		}
	}
	return 0, 0, 0
}

// Ratio returns a demand as nurses to patients, the heavier of two ratios: "1:4" "1:3"
// "1:2" "1:1" "2:1" ">2:1"; "": there is none.
func (d Demand) Ratio() string {
	switch {
	case d <= 0:
		return ""
	case d <= Nurse/4:
		return "1:4"
	case d <= Nurse/3:
		return "1:3"
	case d <= Nurse/2:
		return "1:2"
	case d <= Nurse:
		return "1:1"
	case d <= 2*Nurse:
		return "2:1"
	default:
		return ">2:1"
	}
}

// Nursing returns the demand of a room: as Ratio, "none", and "1:1+" between one nurse
// and one and a half.
func (d Demand) Nursing() string {
	switch {
	case d <= 0:
		return "none"
	case d > Nurse && d < Nurse+Nurse/2:
		return "1:1+"
	default:
		return d.Ratio()
	}
}

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
	forms := c.Spec(f).Variants
	if int(variant) >= len(forms) {
		variant = 0
	}
	return &forms[variant].Requirement
}

// Traits are the flags of a factor that scoring reads for each piece of evidence. The
// [Requirement] holds the rest, and is far larger. The traits of several factors are
// joined by |.
type Traits uint16

const (
	traitMaternal Traits = 1 << iota
	traitNewborn
	traitPostpartum
	traitBirth
	traitInside
	traitSilent
	traitTwin
	traitTrackFloor
	traitPerBaby
	traitUntilBirth
	traitBoarder
	traitFatigue
)

// IsMaternal reports whether one of the factors is a primary factor that is not of a
// newborn.
func (t Traits) IsMaternal() bool { return t&traitMaternal != 0 }

// IsNewborn reports whether one of the factors is a primary factor of a newborn.
func (t Traits) IsNewborn() bool { return t&traitNewborn != 0 }

// IsPrimary reports whether one of the factors is a primary factor.
func (t Traits) IsPrimary() bool { return t&(traitMaternal|traitNewborn) != 0 }

// IsBirth reports whether a birth goes on while one of the factors asks for two nurses.
func (t Traits) IsBirth() bool { return t&traitBirth != 0 }

// IncludesBabyNurse reports whether one of the two nurses whom a factor asks for is the
// baby's. A newborn at one nurse may be hers.
func (t Traits) IncludesBabyNurse() bool { return t&traitInside != 0 }

// FallsSilent reports whether a factor becomes another one when nobody asserts it.
func (t Traits) FallsSilent() bool { return t&traitSilent != 0 }

// HasTwin reports whether a factor counts once in the score together with another one.
func (t Traits) HasTwin() bool { return t&traitTwin != 0 }

// HasTrackFloor reports whether a factor asks for a demand of all newborns together.
func (t Traits) HasTrackFloor() bool { return t&traitTrackFloor != 0 }

// CountsBabies reports whether a factor asks for a demand of each baby beyond the first.
func (t Traits) CountsBabies() bool { return t&traitPerBaby != 0 }

// EndsWithBirth reports whether the ADD of a factor ends with the birth.
func (t Traits) EndsWithBirth() bool { return t&traitUntilBirth != 0 }

// IsBoarder reports whether a patient with a factor waits for a room.
func (t Traits) IsBoarder() bool { return t&traitBoarder != 0 }

// TiresNurse reports whether a factor marks the nurse as tired.
func (t Traits) TiresNurse() bool { return t&traitFatigue != 0 }

// findTraits returns the flags of a row, without traitTwin: a twin is named by one of two rows.
func findTraits(s *Spec) Traits {
	var t Traits
	plain := &s.Variants[0]
	for _, has := range []struct {
		it bool
		t  Traits
	}{
		{s.Primary && s.Section != sectionNewborn, traitMaternal},
		{s.Primary && s.Section == sectionNewborn, traitNewborn},
		{s.Primary && strings.HasPrefix(s.ID, "pp-"), traitPostpartum}, // a birth came before its start
		{plain.birth, traitBirth},
		{plain.inside, traitInside},
		{plain.Silent > 0, traitSilent},
		{plain.trackFloor > 0, traitTrackFloor},
		{plain.PerBaby > 0, traitPerBaby},
		{plain.addUntilBirth, traitUntilBirth},
		{plain.Boarder > 0, traitBoarder},
		{plain.fatigue, traitFatigue},
	} {
		if has.it {
			t |= has.t
		}
	}
	return t
}
