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

func (b text) whole(n int64, rest string) text {
	return append(strconv.AppendInt(b, n, 10), rest...)
}

// count writes how many there are of a thing, whose plural has an s.
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
	b = append(b.number(d, int64(Nurse)), ' ')
	return b.thing(d == int64(Nurse), "nurse", rest)
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

func (t *tally) detail(b text, a Axis) text {
	switch a {
	case AxisStaffing:
		return b.nurses(int64(t.required), " needed, ").whole(t.nurses, " on duty")
	case AxisCritical:
		return b.nurses(int64(t.single), " bound 1:1 or more, ").count(t.stat, "room", " with a STAT factor")
	case AxisReserve:
		b = b.nurses(t.nurses*int64(Nurse)-int64(t.required), " left")
		if t.call {
			return append(b, ", call staff available"...)
		}
		return append(b, ", no call staff"...)
	case AxisCapacity:
		return b.whole(t.busy, " of ").count(t.rooms, "room", " occupied, ").whole(t.boarders+t.unplaced+t.doubles, " waiting")
	case AxisAcuity:
		return b.count(t.score, "point", " of acuity, ").count(t.nurses, "nurse", "")
	case AxisFlow:
		if t.staffed {
			b = b.count(t.moves, "move", " in 120 min, ")
		}
		return b.count(t.boarders, "boarder", "")
	case AxisSkill:
		b = b.count(t.skill.novices, "novice", " and ").count(t.skill.experts, "expert", " of ").count(t.skill.nurses, "nurse", ", largest load ")
		return b.number(t.skill.load, loadUnit)
	}
	return b
}
