package acuity

import "time"

// Step is a part of a schedule: need and severity for as long as the age of
// the factor is less than Until; 0 is for ever and ends a schedule.
type Step struct {
	Until time.Duration
	Need  Demand
	Class uint8 // severity 0 … 4
}

// Schedule is what a factor asks for, how grave it is, and how both fall with
// time. An empty one asks for nothing.
type Schedule []Step

// At returns need and severity at now of a factor that started at start, and
// the instant when time alone will change them; 0 means never.
//
// A step has its first instant, not its last: magnesium is 1:1 at 59:59, 1:2 at
// 60:00. A start in the future counts as now: bedside clocks run ahead of ours.
func (s Schedule) At(start, now Instant) (need Demand, class uint8, next Instant) {
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
