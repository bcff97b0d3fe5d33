package score

import (
	"strconv"

	"svc/acuity"
	"svc/acuity/catalogue"
)

// Detail returns the line of an axis: numbers of the unit, no patient.
func (v *Verdict) Detail(a acuity.Axis) string {
	if !v.Axes[a].Known {
		return "unknown"
	}
	var store [96]byte
	return string(detail(store[:0], a, v.Axes[a].numbers))
}

// Numbers returns the numbers of that line, for who writes it in another language:
//
//   - staffing: 60ths of a nurse needed, nurses on duty
//   - critical: 60ths of a nurse bound 1:1 or more, rooms with a STAT factor
//   - reserve: 60ths of a nurse left, 1 if call staff is available
//   - capacity: rooms occupied, rooms, patients who wait
//   - acuity: points, nurses
//   - flow: 1 if the moves are known, moves in 120 min, boarders
//   - skill: novices, experts, nurses, hundredths of the largest load
func (v *Verdict) Numbers(a acuity.Axis) [4]int64 { return v.Axes[a].numbers }

type text []byte

func (b text) whole(n int64, rest string) text {
	return append(strconv.AppendInt(b, n, 10), rest...)
}

// count writes a number of things; the plural has an s.
func (b text) count(n int64, thing, rest string) text {
	return b.whole(n, " ").thing(n == 1, thing, rest)
}

func (b text) thing(one bool, thing, rest string) text {
	b = append(b, thing...)
	if !one {
		b = append(b, 's')
	}
	return append(b, rest...)
}

// nurses writes how many nurses a demand is.
func (b text) nurses(d int64, rest string) text {
	b = append(b.number(d, int64(catalogue.Nurse)), ' ')
	return b.thing(d == int64(catalogue.Nurse), "nurse", rest)
}

// number writes num/den to two decimals without closing zeros.
func (b text) number(num, den int64) text {
	n := rounded(num, den, 100)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/100, 10)
	switch rest := n % 100; {
	case rest == 0:
	case rest%10 == 0:
		b = append(b, '.', byte('0'+rest/10))
	default:
		b = append(b, '.', byte('0'+rest/10), byte('0'+rest%10))
	}
	return b
}

// numbers returns the numbers of the line of an axis: equal numbers make equal lines,
// others make others.
func (t *axisInput) numbers(a acuity.Axis) [4]int64 {
	yes := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	switch a {
	case acuity.AxisStaffing:
		return [4]int64{int64(t.required), t.nurses}
	case acuity.AxisCritical:
		return [4]int64{int64(t.single), t.stat}
	case acuity.AxisReserve:
		return [4]int64{t.nurses*int64(catalogue.Nurse) - int64(t.required), yes(t.call)}
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

// detail writes the line of an axis with its numbers.
func detail(b text, a acuity.Axis, n [4]int64) text {
	switch a {
	case acuity.AxisStaffing:
		return b.nurses(n[0], " needed, ").whole(n[1], " on duty")
	case acuity.AxisCritical:
		return b.nurses(n[0], " bound 1:1 or more, ").count(n[1], "room", " with a STAT factor")
	case acuity.AxisReserve:
		b = b.nurses(n[0], " left")
		if n[1] != 0 {
			return append(b, ", call staff available"...)
		}
		return append(b, ", no call staff"...)
	case acuity.AxisCapacity:
		return b.whole(n[0], " of ").count(n[1], "room", " occupied, ").whole(n[2], " waiting")
	case acuity.AxisAcuity:
		return b.count(n[0], "point", " of acuity, ").count(n[1], "nurse", "")
	case acuity.AxisFlow:
		if n[0] != 0 {
			b = b.count(n[1], "move", " in 120 min, ")
		}
		return b.count(n[2], "boarder", "")
	case acuity.AxisSkill:
		b = b.count(n[0], "novice", " and ").count(n[1], "expert", " of ").count(n[2], "nurse", ", largest load ")
		return b.number(n[3], 100)
	}
	return b
}
