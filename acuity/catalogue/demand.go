package catalogue

import (
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
