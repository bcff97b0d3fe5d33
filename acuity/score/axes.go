package score

import (
	"fmt"
	"math/bits"
	"strconv"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// The thresholds of the seven axes in 600ths, at pressure 0, 25, 50, 75 and 100. All are defaults of this project. The
// staffing thresholds follow Birthrate Plus (amber up to two nurses short, red beyond). For capacity, an occupancy of
// .85 to .90 is commonly considered safe.
var (
	staffingThresholds = thresholds{-600, 0, 600, 1200, 1800}          // nurses short: -1, 0, 1, 2, 3
	criticalThresholds = thresholds{0, 480, 600, 720, 840}             // nurses required at 1:1 per nurse on duty: 0, .8, 1, 1.2, 1.4
	reserveThresholds  = thresholds{-1200, -600, 0, 600, 1200}         // negated number of spare nurses; spare nurses: 2, 1, 0, -1, -2
	capacityThresholds = thresholds{0, 480, 540, 600, 660}             // occupancy: 0, .8, .9, 1, 1.1
	acuityThresholds   = thresholds{0, 21_000, 30_000, 39_000, 48_000} // score per nurse: 0, 35, 50, 65, 80
	flowThresholds     = thresholds{0, 300, 450, 600, 750}             // moves per nurse: 0, .5, .75, 1, 1.25
	skillThresholds    = thresholds{0, 200, 300, 400, 600}             // fraction of novices: 0, 1/3, 1/2, 2/3, 1
)

// axisRules lists, for each axis, the codes of the conditions that can raise its level.
var axisRules = [acuity.AxisCount][]string{
	acuity.AxisStaffing: {"shortfall", "no_nurse", "coverage"},
	acuity.AxisCritical: {"c4", "c4_one_to_one", "one_to_one"},
	acuity.AxisReserve:  {"slack", "minimum_two"},
	acuity.AxisCapacity: {"open_zero_waiting", "occupancy", "open_zero"},
	acuity.AxisAcuity:   {"score"},
	acuity.AxisFlow:     {"turnover", "boarders"},
	acuity.AxisSkill:    {"novices_alone", "novices", "no_expert", "load", "fatigue"},
}

// The rule codes for an axis for which no condition holds, and for an unknown axis.
const (
	ruleWithinLimits = "within_limits"
	ruleUnknown      = "unknown"
)

// ListRules returns the possible codes in AxisVerdict.Rule for an axis. The codes are stable, so that clients can
// describe the condition in their own words.
func ListRules(a acuity.Axis) []string {
	return append([]string{ruleWithinLimits, ruleUnknown}, axisRules[a]...)
}

// axisReading is the intermediate result for one axis. The main variable of an axis is the number to which the axis's
// thresholds apply, such as the number of nurses short.
type axisReading struct {
	known      bool
	level      acuity.Level
	main       acuity.Level // level from the main variable alone
	rule       string       // condition that raised the axis to level
	measured   bool         // whether the main variable is known
	infinite   bool         // whether the main variable is unbounded because there is no nurse
	num, den   int64        // main variable as a fraction
	thresholds *thresholds
}

func (r *axisReading) measure(num, den int64, c *thresholds) {
	r.measured, r.num, r.den, r.thresholds = true, num, den, c
	if den == 0 {
		r.infinite, r.den = num > 0, 1
	}
}

// exceeds reports whether the main variable is greater than a/b.
func (r *axisReading) exceeds(a, b int64) bool {
	return r.measured && (r.infinite || r.num*b > a*r.den)
}

// reaches reports whether the main variable is at least a/b.
func (r *axisReading) reaches(a, b int64) bool {
	return r.measured && (r.infinite || r.num*b >= a*r.den)
}

// raise raises r.level to the given level if the condition holds and r.level is lower. r.rule is the rule of the
// first condition that raised r.level to its current value.
func (r *axisReading) raise(when bool, to acuity.Level, rule string) {
	if when && to > r.level {
		r.level, r.rule = to, rule
	}
}

// raiseMain is like raise, for a condition on the main variable: it also raises the level from the main variable alone.
func (r *axisReading) raiseMain(when bool, to acuity.Level, rule string) {
	r.raise(when, to, rule)
	if when {
		r.main = max(r.main, to)
	}
}

// capAtOrange limits the levels in the reading to orange.
func (r *axisReading) capAtOrange() {
	r.level, r.main = min(r.level, acuity.LevelOrange), min(r.main, acuity.LevelOrange)
}

// axisInput holds the inputs of the axes.
type axisInput struct {
	roomCounts
	rostered   bool  // whether the number of nurses comes from the roster
	rooms      int64 // number of rooms that are in use or available
	moves      int64
	census     bool
	staffed    bool
	nurses     int64
	call       bool
	unplaced   int64
	skill      skill
	skillKnown bool
}

func (t *axisInput) readAxes(r *[acuity.AxisCount]axisReading) {
	for i := range r {
		r[i].rule = ruleWithinLimits
	}
	t.judgeStaffing(&r[acuity.AxisStaffing])
	t.judgeCritical(&r[acuity.AxisCritical])
	t.judgeReserve(&r[acuity.AxisReserve])
	t.judgeCapacity(&r[acuity.AxisCapacity])
	t.judgeAcuity(&r[acuity.AxisAcuity])
	t.judgeFlow(&r[acuity.AxisFlow])
	t.judgeSkills(&r[acuity.AxisSkill])
	for i := range r {
		if !r[i].known {
			r[i].rule = ruleUnknown
		}
	}
}

func (t *axisInput) judgeStaffing(r *axisReading) {
	if r.known = t.staffed; !r.known {
		return
	}
	need, have := int64(t.required), t.nurses*int64(catalogue.Nurse)
	r.measure(need-have, int64(catalogue.Nurse), &staffingThresholds)
	r.raiseMain(r.exceeds(2, 1), acuity.LevelRed, "shortfall")
	r.raise(t.nurses == 0 && t.occupied > 0, acuity.LevelRed, "no_nurse")
	r.raise(have*100 < need*70, acuity.LevelRed, "coverage")
	r.raiseMain(r.exceeds(1, 1), acuity.LevelOrange, "shortfall")
	r.raise(have*100 < need*85, acuity.LevelOrange, "coverage")
	r.raiseMain(r.exceeds(0, 1), acuity.LevelYellow, "shortfall")
}

func (t *axisInput) judgeCritical(r *axisReading) {
	r.known = true
	if t.staffed {
		r.measure(int64(t.single), t.nurses*int64(catalogue.Nurse), &criticalThresholds)
	}
	full := r.exceeds(1, 1)
	r.raise(t.stat >= 3, acuity.LevelRed, "c4")
	r.raiseMain(t.stat >= 1 && full, acuity.LevelRed, "c4_one_to_one")
	r.raiseMain(full, acuity.LevelOrange, "one_to_one")
	r.raise(t.stat == 2, acuity.LevelOrange, "c4")
	r.raise(t.stat == 1 && r.reaches(9, 10), acuity.LevelOrange, "c4_one_to_one")
	r.raiseMain(r.reaches(8, 10), acuity.LevelYellow, "one_to_one")
	r.raise(t.stat == 1, acuity.LevelYellow, "c4")
}

func (t *axisInput) judgeReserve(r *axisReading) {
	if r.known = t.staffed; !r.known {
		return
	}
	r.measure(int64(t.required)-t.nurses*int64(catalogue.Nurse), int64(catalogue.Nurse), &reserveThresholds)
	r.raiseMain(r.exceeds(1, 1) && !t.call, acuity.LevelRed, "slack")
	r.raiseMain(r.exceeds(0, 1) && !t.call, acuity.LevelOrange, "slack")
	r.raiseMain(r.exceeds(-1, 1) && !t.call, acuity.LevelYellow, "slack")
	r.raise(t.nurses < 2 && t.births > 0, acuity.LevelYellow, "minimum_two")
}

func (t *axisInput) judgeCapacity(r *axisReading) {
	if r.known = t.census; !r.known {
		return
	}
	if t.rooms == 0 && t.blocked == 0 && t.busy == 0 {
		r.measure(0, 1, &capacityThresholds) // the census lists no rooms
		return
	}
	r.measure(t.busy, t.rooms, &capacityThresholds)
	full := t.rooms <= t.busy
	r.raise(full && t.boarders+t.unplaced+t.doubles > 0, acuity.LevelRed, "open_zero_waiting")
	r.raiseMain(r.reaches(9, 10), acuity.LevelOrange, "occupancy")
	r.raise(full, acuity.LevelOrange, "open_zero")
	r.raiseMain(r.reaches(8, 10), acuity.LevelYellow, "occupancy")
}

func (t *axisInput) judgeAcuity(r *axisReading) {
	if r.known = t.staffed; !r.known {
		return
	}
	r.measure(t.score, t.nurses, &acuityThresholds)
	r.raiseMain(r.reaches(65, 1), acuity.LevelRed, "score")
	r.raiseMain(r.reaches(50, 1), acuity.LevelOrange, "score")
	r.raiseMain(r.reaches(35, 1), acuity.LevelYellow, "score")
	r.capAtOrange()
}

func (t *axisInput) judgeFlow(r *axisReading) {
	r.known = true
	if t.staffed {
		r.measure(t.moves, t.nurses, &flowThresholds)
	}
	r.raiseMain(r.reaches(1, 1), acuity.LevelRed, "turnover")
	r.raiseMain(r.reaches(3, 4), acuity.LevelOrange, "turnover")
	r.raise(t.boarders >= 3, acuity.LevelOrange, "boarders")
	r.raiseMain(r.reaches(1, 2), acuity.LevelYellow, "turnover")
	r.raise(t.boarders >= 1, acuity.LevelYellow, "boarders")
	r.capAtOrange()
}

func (t *axisInput) judgeSkills(r *axisReading) {
	if r.known = t.skillKnown; !r.known {
		return
	}
	s := &t.skill
	r.measure(s.novices, s.nurses, &skillThresholds)
	r.raise(s.alone, acuity.LevelRed, "novices_alone")
	r.raiseMain(r.exceeds(1, 2), acuity.LevelOrange, "novices")
	r.raise(s.rated > 0 && s.experts == 0, acuity.LevelOrange, "no_expert")
	r.raise(s.load > 3*loadUnit/2, acuity.LevelOrange, "load")
	r.raiseMain(r.exceeds(1, 3), acuity.LevelYellow, "novices")
	r.raise(s.load > 5*loadUnit/4, acuity.LevelYellow, "load")
	r.raise(t.fatigue > 0, acuity.LevelYellow, "fatigue")
}

// fraction is a nonnegative fraction with den > 0.
type fraction struct{ num, den int64 }

// less reports whether a is less than b. The comparison is exact: it uses 128-bit products, which cannot overflow.
func (a fraction) less(b fraction) bool {
	ah, al := bits.Mul64(uint64(a.num), uint64(b.den)) //nolint:gosec // both parts are nonnegative
	bh, bl := bits.Mul64(uint64(b.num), uint64(a.den)) //nolint:gosec // both parts are nonnegative
	return ah < bh || ah == bh && al < bl
}

// thresholds are the values of an axis's main variable, in 600ths, at pressure 0, 25, 50, 75 and 100.
type thresholds [5]int64

const cutUnit = 600

// pressure returns the pressure of an axis, 0 … 100: linear between the thresholds, and limited to the 25-point band of
// the axis's level.
func (r *axisReading) pressure() fraction {
	floor, ceiling := 25*int64(r.level), 25*int64(r.level)+25
	if !r.measured || r.level > r.main {
		return fraction{floor, 1} // the main variable is unknown, or only a secondary condition reached the level
	}
	if r.infinite {
		return fraction{ceiling, 1}
	}
	x, den := cutUnit*r.num, r.den // main variable in 600ths, times den
	if x < r.thresholds[0]*den {
		return fraction{floor, 1}
	}
	p := fraction{100, 1}
	for i := range 4 {
		low, high := r.thresholds[i], r.thresholds[i+1]
		if x < high*den {
			width := (high - low) * den
			p = fraction{25*int64(i)*width + 25*(x-low*den), width}
			break
		}
	}
	switch {
	case p.less(fraction{floor, 1}):
		return fraction{floor, 1}
	case fraction{ceiling, 1}.less(p):
		return fraction{ceiling, 1}
	}
	return p
}

// rounded returns num/den in units of 1/scale, rounded half up, even if num is negative.
func rounded(num, den, scale int64) int64 {
	if den == 1 { // division is the most expensive operation here
		return num * scale
	}
	n, d := 2*num*scale+den, 2*den
	q := n / d
	if n < q*d {
		q--
	}
	return q
}

// Detail returns the text line for an axis. It contains numbers about the unit and no patient data.
func (v *Verdict) Detail(a acuity.Axis) string {
	if !v.Axes[a].Known {
		return "unknown"
	}
	return detail(a, v.Axes[a].numbers)
}

// Numbers returns the numbers in an axis's Detail, for clients that write the line in another language:
//
//   - staffing: 60ths of a nurse required, nurses on duty
//   - critical: 60ths of a nurse required at 1:1 or more, rooms with a STAT factor
//   - reserve: 60ths of a nurse left, 1 if call staff is available
//   - capacity: rooms occupied, rooms, patients waiting
//   - acuity: points, nurses
//   - flow: 1 if the moves are known, moves in 120 min, boarders
//   - skill: novices, experts, nurses, hundredths of the largest load
func (v *Verdict) Numbers(a acuity.Axis) [4]int64 { return v.Axes[a].numbers }

// count formats a number followed by a noun, which it makes plural unless the number is 1.
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

// hundredths formats a number in hundredths, without trailing zeros.
func hundredths(n int64) string { return strconv.FormatFloat(float64(n)/100, 'f', -1, 64) }

// nurses formats a demand as a number of nurses.
func nurses(demand int64) string {
	if demand == int64(catalogue.Nurse) {
		return "1 nurse"
	}
	return hundredths(rounded(demand, int64(catalogue.Nurse), 100)) + " nurses"
}

// numbers returns the numbers in an axis's Detail. Two details of an axis are equal if and only if their numbers are
// equal.
func (t *axisInput) numbers(a acuity.Axis) [4]int64 {
	switch a {
	case acuity.AxisStaffing:
		return [4]int64{int64(t.required), t.nurses}
	case acuity.AxisCritical:
		return [4]int64{int64(t.single), t.stat}
	case acuity.AxisReserve:
		return [4]int64{t.nurses*int64(catalogue.Nurse) - int64(t.required), one(t.call)}
	case acuity.AxisCapacity:
		return [4]int64{t.busy, t.rooms, t.boarders + t.unplaced + t.doubles}
	case acuity.AxisAcuity:
		return [4]int64{t.score, t.nurses}
	case acuity.AxisFlow:
		if !t.staffed {
			return [4]int64{0, 0, t.boarders}
		}
		return [4]int64{1, t.moves, t.boarders}
	case acuity.AxisSkill:
		return [4]int64{t.skill.novices, t.skill.experts, t.skill.nurses, rounded(t.skill.load, loadUnit, 100)}
	}
	return [4]int64{}
}

// detail formats the line for an axis from its numbers.
func detail(a acuity.Axis, n [4]int64) string {
	switch a {
	case acuity.AxisStaffing:
		return fmt.Sprintf("%s needed, %d on duty", nurses(n[0]), n[1])
	case acuity.AxisCritical:
		return fmt.Sprintf("%s in 1:1 care or higher, %s with a STAT factor", nurses(n[0]), count(n[1], "room"))
	case acuity.AxisReserve:
		staff := "no call staff"
		if n[1] != 0 {
			staff = "call staff available"
		}
		return nurses(n[0]) + " left, " + staff
	case acuity.AxisCapacity:
		return fmt.Sprintf("%d of %s occupied, %d waiting", n[0], count(n[1], "room"), n[2])
	case acuity.AxisAcuity:
		return count(n[0], "point") + " of acuity, " + count(n[1], "nurse")
	case acuity.AxisFlow:
		moves := ""
		if n[0] != 0 {
			moves = count(n[1], "move") + " in 120 min, "
		}
		return moves + count(n[2], "boarder")
	case acuity.AxisSkill:
		return fmt.Sprintf("%s and %s among %s, heaviest assignment %s",
			count(n[0], "novice"), count(n[1], "expert"), count(n[2], "nurse"), hundredths(n[3]))
	}
	return ""
}
