package simulate

import "slices"

// visit is one stay of one woman, from arrival to departure. Its causes, such as parity, are
// in no message.
type visit struct {
	*unit

	chance
	number  int
	patient int
	open    bool

	first     bool // the woman's first birth
	expecting int  // babies
	class     byte // patient class
	room      *room
	primary   string // the primary factor that the sender names; "": the place implies it
	since     clock  // start of primary, or of the stay in the room

	diagnoses []diagnosis
	running   []running // running drugs
	marks     []string  // factors on the unit's own board
	born      clock     // instant of birth; 0: not yet
	cesarean  bool
	babies    []baby
	ill       bool // early-warning scores are often high
	watched   int  // number of the present watch; an earlier watch ends at its next turn
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

// admit makes a visit. The visit's number seeds its own stream of chance.
func (u *unit) admit() *visit {
	u.visits++
	u.patients++
	v := &visit{
		unit: u, number: u.visits, patient: u.patients, open: true,
		chance: newChance(u.options.Seed, purposeVisits+uint64(u.visits)), //nolint:gosec // a count
	}
	v.expecting = 1
	// NCHS, Births: Final Data for 2022: 38 % first births.
	v.first = v.is(.38)
	v.history()
	u.open = append(u.open, v)
	return v
}

// after calls a function a span from now, if the woman is still here.
func (v *visit) after(span clock, do func()) {
	v.schedule(v.now+span, func() {
		if v.open {
			do()
		}
	})
}

// enter places the woman for the first time, or again under another class.
func (v *visit) enter(kind string, r *room, class byte, primary string) {
	if v.room != nil && v.room != r {
		v.leave(v.room)
	}
	if v.room != r {
		v.room, r.visit = r, v
	}
	v.class, v.primary, v.since = class, primary, v.now
	v.sendADT(kind)
}

// move takes the woman to another room.
func (v *visit) move(r *room, primary string) {
	before := v.room
	v.room, r.visit = r, v
	v.primary, v.since = primary, v.now
	v.leave(before)
	v.sendMove(before)
}

// admitTo takes the woman to another room, as an inpatient from now on.
func (v *visit) admitTo(r *room, primary string) {
	if v.class == 'I' {
		v.move(r, primary)
		return
	}
	v.enter("A01", r, 'I', primary)
}

// becomes changes the kind of patient, in the same room.
func (v *visit) becomes(primary string) {
	if v.primary == primary {
		return
	}
	v.primary, v.since = primary, v.now
	v.sendADT("A08")
}

// leaves ends the visit.
func (v *visit) leaves() {
	for len(v.running) > 0 {
		v.stop(v.running[0].drug)
	}
	v.sendADT("A03")
	for i := range v.babies {
		v.babyLeaves(i)
	}
	v.leave(v.room)
	v.gone()
}

// gone removes the visit from the unit.
func (v *visit) gone() {
	v.open = false
	if i := slices.Index(v.unit.open, v); i >= 0 {
		v.unit.open = slices.Delete(v.unit.open, i, i+1)
	}
}
