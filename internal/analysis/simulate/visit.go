package simulate

import "slices"

// visit is one stay of one woman, from the door to the door. What decides about
// it (parity, for one) is in no message.
type visit struct {
	*unit

	chance
	number  int
	patient int
	open    bool

	first     bool // her first birth
	expecting int  // babies
	class     byte // patient class
	room      *room
	primary   string // what the sender says of her; "": the place tells
	since     clock  // of primary, or of the stay in the room
	admitted  clock

	diagnoses []diagnosis
	running   []running // drugs
	marks     []string  // factors that the unit's own board keeps
	born      clock     // 0: not yet
	cesarean  bool
	babies    []baby
	ill       bool // scores of the early warning are often high
	watched   int  // turns of the loop of measurements; another begins: this one ends
}

// baby is a newborn in the room of its mother.
type baby struct {
	number int
	since  clock
	gone   bool
}

// running is a drug that runs.
type running struct {
	drug  *drug
	since clock
}

// admit makes a visit. Its own stream of chance is by its number.
func (u *unit) admit() *visit {
	u.visits++
	u.patients++
	v := &visit{
		unit: u, number: u.visits, patient: u.patients, open: true, admitted: u.now,
		chance: newChance(u.options.Seed, purposeVisits+uint64(u.visits)), //nolint:gosec // a count
	}
	v.expecting = 1
	// NCHS, Births: Final Data for 2022: 38 % first births.
	v.first = v.is(.38)
	v.history()
	u.open = append(u.open, v)
	return v
}

// after does something a span from now, if she is still here.
func (v *visit) after(span clock, do func()) {
	v.at(v.now+span, func() {
		if v.open {
			do()
		}
	})
}

// enter places her for the first time, or again under another class.
func (v *visit) enter(kind string, r *room, class byte, primary string) {
	if v.room != nil && v.room != r {
		v.leave(v.room)
	}
	if v.room != r {
		v.room, r.visit = r, v
	}
	v.class, v.primary, v.since = class, primary, v.now
	v.tell(kind)
}

// move takes her to another room.
func (v *visit) move(r *room, primary string) {
	before := v.room
	v.room, r.visit = r, v
	v.primary, v.since = primary, v.now
	v.leave(before)
	v.tellMove(before)
}

// admitTo takes her to another room; if she was no inpatient yet, she is one now.
func (v *visit) admitTo(r *room, primary string) {
	if v.class == 'I' {
		v.move(r, primary)
		return
	}
	v.enter("A01", r, 'I', primary)
}

// becomes says that she is another kind of patient, in the same room.
func (v *visit) becomes(primary string) {
	if v.primary == primary {
		return
	}
	v.primary, v.since = primary, v.now
	v.tell("A08")
}

// leaves ends the visit.
func (v *visit) leaves() {
	for len(v.running) > 0 {
		v.stop(v.running[0].drug)
	}
	v.tell("A03")
	for i := range v.babies {
		v.babyLeaves(i)
	}
	v.leave(v.room)
	v.gone()
}

// gone takes her out of the books.
func (v *visit) gone() {
	v.open = false
	if i := slices.Index(v.unit.open, v); i >= 0 {
		v.unit.open = slices.Delete(v.unit.open, i, i+1)
	}
}
