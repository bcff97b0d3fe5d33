package acuity

import "strconv"

// details writes one line for each axis: numbers of the unit, no patient. All
// lines are parts of one string, which is returned: that before, if it says the same.
func (t *tally) details(v *Verdict, before string) string {
	var store [640]byte
	var ends [AxisCount]int
	b := text(store[:0])
	for i := range v.Axes {
		if v.Axes[i].Known {
			b = t.detail(b, Axis(i))
		} else {
			b = append(b, "unknown"...)
		}
		ends[i] = len(b)
	}
	all, from := before, 0
	if all != string(b) {
		all = string(b)
	}
	for i := range v.Axes {
		v.Axes[i].Detail = all[from:ends[i]]
		from = ends[i]
	}
	return all
}

type text []byte

func (b text) count(n int64, what string) text {
	return append(strconv.AppendInt(b, n, 10), what...)
}

// number writes num/den to two decimals without closing zeros.
func (b text) number(num, den int64, what string) text {
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
	return append(b, what...)
}

func (t *tally) detail(b text, a Axis) text {
	nurse := int64(Nurse)
	switch a {
	case AxisStaffing:
		b = b.number(int64(t.required), nurse, " nurses needed, ")
		return b.count(t.nurses, " on duty")
	case AxisCritical:
		b = b.number(int64(t.single), nurse, " nurses bound 1:1 or more, ")
		return b.count(t.stat, " rooms with a STAT factor")
	case AxisReserve:
		b = b.number(t.nurses*nurse-int64(t.required), nurse, " nurses left")
		if t.call {
			return append(b, ", call staff available"...)
		}
		return append(b, ", no call staff"...)
	case AxisCapacity:
		b = b.count(t.busy, " of ")
		b = b.count(t.rooms, " rooms occupied, ")
		return b.count(t.boarders+t.unplaced+t.doubles, " waiting")
	case AxisAcuity:
		b = b.count(t.score, " points of acuity, ")
		return b.count(t.nurses, " nurses")
	case AxisFlow:
		if t.staffed {
			b = b.count(t.moves, " moves in 120 min, ")
		}
		return b.count(t.boarders, " boarders")
	case AxisSkill:
		b = b.count(t.skill.novices, " novices and ")
		b = b.count(t.skill.experts, " experts of ")
		b = b.count(t.skill.nurses, " nurses, largest load ")
		return b.number(t.skill.load, loadUnit, "")
	}
	return b
}
