package catalogue

import (
	"strings"
	"time"

	"svc/acuity/codes"
)

// Demand is nursing demand in 60ths of a nurse: 1:4 is 15, 1:3 is 20, 1:2 is 30, 1:1 is 60, 2:1 is 120. Three rooms
// at 1:3 add up to exactly one nurse.
type Demand int32

// Nurse is the demand of one nurse.
const Nurse Demand = 60

// Step is one step of a schedule: the demand and severity of a factor until its age reaches Until. If Until is 0, the
// step has no end.
type Step struct {
	Until time.Duration
	Need  Demand
	Class uint8 // severity 0 … 4
}

// Schedule is the demand and the severity of a factor by the factor's age. An empty schedule has no demand.
type Schedule []Step

// At returns the demand and the severity, at the instant now, of a factor that started at the instant start. The
// result next is the instant at which the demand or the severity next changes, or 0 if neither changes again.
//
// A step includes its first instant and excludes its last: magnesium is 1:1 at 59:59 and 1:2 at 60:00. A start in the
// future counts as now, because the clocks of bedside devices may be fast.
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

// Ratio returns the lowest nurse-to-patient ratio that covers the demand: "1:4", "1:3", "1:2", "1:1", "2:1" or
// ">2:1". If there is no demand, it returns "".
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

// Nursing returns the demand of a room as text: "none" if there is no demand, "1:1+" for more than 1 but less than
// 1.5 nurses, and otherwise the result of Ratio.
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

// Requirement is the demand, severity and duration of one variant of a factor.
type Requirement struct {
	Need       Schedule // severity by age, together with the demand of a primary factor or the floor of a modifier
	needIn     Sections // sections in which a modifier's floor applies; 0: all
	floors     []floorRule
	track      bool     // whether Need is a newborn's demand
	withMother Schedule // replaces Need for a patient with a pp-* primary factor; nil: Need applies
	trackFloor Demand   // minimum for all newborns together

	add           Demand
	addIn         Sections // sections in which the additional demand applies; 0: all
	addUntilBirth bool

	window          codes.Instant // how long evidence lasts; 0: until a statement ends it
	fromLast        bool          // whether window starts at the last statement instead of the first
	exceptDiagnosis bool          // whether window does not apply to evidence from a diagnosis
	endsBirth       bool
	birthDiagnosis  bool // whether endsBirth applies only to evidence from a diagnosis
	birthOfFetus    bool // whether the factor concerns one fetus, so that the birth of that fetus ends it

	stale         codes.Instant // age at which evidence becomes doubtful; 0: never
	staleFromLast bool

	Silent  codes.Instant // time without a statement after which a different factor replaces this one; 0: never
	Becomes Factor

	inside  bool          // whether one of 2 nurses is the baby's; a newborn who needs 1 nurse may count as that nurse's patient
	birth   bool          // whether a birth is in progress while the demand is 2 nurses
	PerBaby Demand        // additional demand for each baby after the first
	Boarder codes.Instant // waiting time for a room after which the patient is a boarder; 0: none
	fatigue bool
	Twin    Factor
}

// floorRule is an additional floor of a modifier in some sections. It does not change with time.
type floorRule struct {
	need Demand
	in   Sections
}

// unbornLimit is how long after the first birth, or after a later report, evidence counts for a fetus that may be
// unborn. Without a limit, it would never end if the second newborn is never recorded.
const unbornLimit = codes.Instant(4 * time.Hour / time.Millisecond)

// Asserted states when and how evidence was asserted.
type Asserted struct {
	Start, Last codes.Instant // times of the first and the newest assertion
	ByDiagnosis bool          // whether a diagnosis asserted the evidence
	Fetus       string        // fetus that the evidence concerns; "": no fetus is named
}

// isOfLaterFetus reports whether the evidence certainly does not concern the first-born: fetus A is born first.
func (a *Asserted) isOfLaterFetus() bool { return len(a.Fetus) == 1 && a.Fetus > "A" }

// Situation is the part of a patient's state at one instant on which requirements depend.
type Situation struct {
	Birth    codes.Instant // time of the first birth, which ends some requirements; 0: no birth yet
	Unborn   bool          // whether another fetus may be unborn after the birth
	Sections Sections      // sections of the patient's primary factors
	Traits   Traits        // traits of all the patient's evidence

	Delivering bool          // whether a birth is in progress
	Delivery   codes.Instant // end of the birth in progress; 0: unknown
}

// Judged is the demand and the severity of one piece of evidence at one instant.
type Judged struct {
	Need, Add Demand
	Class     uint8         // severity 0 … 4
	Next      codes.Instant // when one of the values next changes; 0: never
}

// Judge returns the demand and the severity of a piece of evidence at the instant now, and reports whether the
// evidence counts at that instant.
func (e *Requirement) Judge(s *Situation, a *Asserted, now codes.Instant) (o Judged, on bool) {
	end := codes.Instant(0)
	switch {
	case e.Silent > 0:
		end = a.Last + e.Silent
	case e.window > 0 && !(e.exceptDiagnosis && a.ByDiagnosis):
		end = a.Start + e.window
		if e.fromLast {
			end = a.Last + e.window
		}
	}
	if end != 0 && now >= end {
		return Judged{}, false
	}
	if off := e.BirthEnd(s, a); off != 0 {
		if e.PerBaby > 0 && s.Delivering {
			off = max(off, s.Delivery) // the evidence counts until the end of the birth in progress
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
	o.Need, o.Class, o.Next = schedule.At(a.Start, now)
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

// BirthEnd returns when the birth ends the evidence, or 0 if it does not. While another fetus may be unborn, the
// first birth ends evidence about one fetus, unless the evidence concerns a later fetus or is a newer report (a
// diagnosis is not a report). Other evidence then continues, up to unbornLimit.
func (e *Requirement) BirthEnd(s *Situation, a *Asserted) codes.Instant {
	isReport := !a.ByDiagnosis && a.Last > s.Birth
	switch {
	case !e.endsBirth || s.Birth == 0 || e.birthDiagnosis && !a.ByDiagnosis:
		return 0
	case !s.Unborn || e.birthOfFetus && !isReport && !a.isOfLaterFetus():
		return s.Birth
	case isReport:
		return a.Last + unbornLimit
	default:
		return s.Birth + unbornLimit
	}
}

// StaleAt returns when evidence becomes doubtful, or 0 if it never does. The arguments start and last are the times
// of the first and the newest assertion of the evidence.
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

// Window returns how long evidence of f lasts, and whether that time starts at the last statement instead of the
// first. If length is 0, the evidence lasts until a statement ends it. Otherwise, a gap of that length between
// statements begins a new run.
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

// Requirement returns the requirement of a variant of f. An unknown variant has the requirement of the plain factor,
// and an unknown factor has an empty one, so that charts written by a newer release can be judged.
func (c *Catalogue) Requirement(f Factor, variant uint8) *Requirement {
	forms := c.Spec(f).Variants
	if int(variant) >= len(forms) {
		variant = 0
	}
	return &forms[variant].Requirement
}

// Traits are the flags of a factor that scoring reads for each piece of evidence. Combine the traits of several factors
// with |.
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

// IsMaternal reports whether one of the factors is a primary factor of a mother.
func (t Traits) IsMaternal() bool { return t&traitMaternal != 0 }

// IsNewborn reports whether one of the factors is a primary factor of a newborn.
func (t Traits) IsNewborn() bool { return t&traitNewborn != 0 }

// IsPrimary reports whether one of the factors is a primary factor.
func (t Traits) IsPrimary() bool { return t&(traitMaternal|traitNewborn) != 0 }

// IsBirth reports whether one of the factors means that a birth is in progress while the factor demands two nurses.
func (t Traits) IsBirth() bool { return t&traitBirth != 0 }

// IncludesBabyNurse reports whether one of the factors demands two nurses, one of whom is the baby's. A newborn with
// a demand of one nurse may be that nurse's patient.
func (t Traits) IncludesBabyNurse() bool { return t&traitInside != 0 }

// FallsSilent reports whether one of the factors is replaced by a different factor if it is not asserted again in
// time.
func (t Traits) FallsSilent() bool { return t&traitSilent != 0 }

// HasTwin reports whether one of the factors has a twin. Together, a factor and its twin count only once toward the
// score.
func (t Traits) HasTwin() bool { return t&traitTwin != 0 }

// HasTrackFloor reports whether one of the factors sets a minimum demand for all newborns together.
func (t Traits) HasTrackFloor() bool { return t&traitTrackFloor != 0 }

// CountsBabies reports whether one of the factors has an additional demand for each baby after the first.
func (t Traits) CountsBabies() bool { return t&traitPerBaby != 0 }

// EndsWithBirth reports whether the additional demand of one of the factors ends at the birth.
func (t Traits) EndsWithBirth() bool { return t&traitUntilBirth != 0 }

// IsBoarder reports whether a patient with one of the factors is waiting for a room.
func (t Traits) IsBoarder() bool { return t&traitBoarder != 0 }

// TiresNurse reports whether one of the factors marks the nurse as fatigued.
func (t Traits) TiresNurse() bool { return t&traitFatigue != 0 }

// findTraits returns the flags of an entry, except traitTwin. That flag depends on the entries of both twins, because
// only one of them names the other.
func findTraits(s *Spec) Traits {
	var t Traits
	plain := &s.Variants[0]
	for _, has := range []struct {
		it bool
		t  Traits
	}{
		{s.Primary && s.Section != sectionNewborn, traitMaternal},
		{s.Primary && s.Section == sectionNewborn, traitNewborn},
		{s.Primary && strings.HasPrefix(s.ID, "pp-"), traitPostpartum}, // the birth precedes the factor's start
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
