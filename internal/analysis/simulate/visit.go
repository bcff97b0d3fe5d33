package simulate

import "slices"

// visit is one stay of one woman, from arrival to departure. Messages contain only its effects, not causes such as
// parity.
type visit struct {
	*unit

	chance
	number  int
	patient int
	open    bool

	first     bool // whether this is the woman's first birth
	expecting int  // number of expected babies
	class     byte // patient class
	room      *room
	primary   string // primary factor in messages; "": the place implies it
	since     clock  // when primary or the room last changed

	diagnoses []diagnosis
	running   []running // running drugs
	marks     []string  // factors on the unit's board
	born      clock     // instant at which the woman gave birth; 0: not yet
	cesarean  bool
	babies    []baby
	ill       bool // whether early-warning scores are often high
	watched   int  // number of the current watch; an earlier watch ends at its next measurement
}

// baby is a newborn in the room of its mother.
type baby struct {
	number int
	since  clock
	gone   bool
}

// running is a drug that is being given.
type running struct {
	drug  *drug
	since clock
}

// admit creates a visit. The number of the visit seeds its random stream.
func (u *unit) admit() *visit {
	u.visits++
	u.patients++
	v := &visit{
		unit: u, number: u.visits, patient: u.patients, open: true,
		chance: newChance(u.options.Seed, purposeVisits+uint64(u.visits)), //nolint:gosec // a count
	}
	v.expecting = 1
	// NCHS, Births: Final Data for 2022: 38% first births.
	v.first = v.is(.38)
	v.drawHistory()
	u.open = append(u.open, v)
	return v
}

// after calls a function after a delay if the woman is still in the unit.
func (v *visit) after(span clock, do func()) {
	v.schedule(v.now+span, func() {
		if v.open {
			do()
		}
	})
}

// enter places the woman in a room, at arrival or with a new patient class.
func (v *visit) enter(kind string, r *room, class byte, primary string) {
	if v.room != nil && v.room != r {
		v.vacate(v.room)
	}
	if v.room != r {
		v.room, r.visit = r, v
	}
	v.class, v.primary, v.since = class, primary, v.now
	v.sendADT(kind)
}

// move transfers the woman to another room.
func (v *visit) move(r *room, primary string) {
	before := v.room
	v.room, r.visit = r, v
	v.primary, v.since = primary, v.now
	v.vacate(before)
	v.sendMove(before)
}

// admitTo transfers the woman to another room and makes her an inpatient.
func (v *visit) admitTo(r *room, primary string) {
	if v.class == 'I' {
		v.move(r, primary)
		return
	}
	v.enter("A01", r, 'I', primary)
}

// changeKind changes the woman's primary factor without moving her to another room.
func (v *visit) changeKind(primary string) {
	if v.primary == primary {
		return
	}
	v.primary, v.since = primary, v.now
	v.sendADT("A08")
}

// discharge ends the visit.
func (v *visit) discharge() {
	for len(v.running) > 0 {
		v.stop(v.running[0].drug)
	}
	v.sendADT("A03")
	for i := range v.babies {
		v.dischargeBaby(i)
	}
	v.vacate(v.room)
	v.remove()
}

// remove removes the visit from the unit.
func (v *visit) remove() {
	v.open = false
	if i := slices.Index(v.unit.open, v); i >= 0 {
		v.unit.open = slices.Delete(v.unit.open, i, i+1)
	}
}

// drug is a medication with its code.
type drug struct{ code, display string }

// Drugs that the unit gives. The catalogue has rules for all except the epidural and the gas, which a hospital must
// map, so these two appear on the worklist.
var (
	magnesium    = &drug{"6585", "magnesium sulfate"}
	oxytocin     = &drug{"7824", "oxytocin"}
	insulin      = &drug{"5856", "insulin, regular, human infusion"}
	labetalol    = &drug{"6185", "labetalol infusion"}
	bupivacaine  = &drug{"1815", "bupivacaine epidural infusion"}
	nitrousOxide = &drug{"7486", "nitrous oxide inhalation gas"}
)

// medication returns the signal for a drug with the given status and start.
func (v *visit) medication(d *drug, status string, started clock) signal {
	return signal{Kind: "medication", System: "RxNorm", Code: d.code, Display: d.display, Status: status, StartedAt: v.text(started)}
}

func (v *visit) runs(d *drug) bool { return v.runningAt(d) >= 0 }

func (v *visit) runningAt(d *drug) int {
	return slices.IndexFunc(v.running, func(one running) bool { return one.drug == d })
}

// start begins a drug, unless the drug is already running or the woman has no room.
func (v *visit) start(d *drug) {
	if v.runs(d) || v.room == nil {
		return
	}
	v.running = append(v.running, running{d, v.now})
	v.signal(v.medication(d, "active", v.now))
	v.sendSignals()
}

// stop ends a drug if it is running.
func (v *visit) stop(d *drug) {
	i := v.runningAt(d)
	if i < 0 {
		return
	}
	s := v.medication(d, "stopped", v.running[i].since)
	s.ObservedAt = v.text(v.now)
	v.running = slices.Delete(v.running, i, i+1)
	v.signal(s)
	v.sendSignals()
}

// observe adds a measurement or finding with the current time to the open request. value may be nil.
func (v *visit) observe(kind, system, code, display string, value any) {
	v.signal(signal{Kind: kind, System: system, Code: code, Display: display, Value: value, ObservedAt: v.text(v.now)})
}

// measure adds a number that is measured now to the open request.
func (v *visit) measure(code, display string, n any) {
	v.observe("observation", "LOINC", code, display, n)
}

// find adds a factor that a nurse enters manually to the open request.
func (v *visit) find(factor string) { v.observe("observation", "local", factor, "", nil) }

// signal adds a signal to the open clinical request.
func (v *visit) signal(s signal) {
	if !v.censusOnly && !v.muted {
		v.faults.signals = append(v.faults.signals, s)
	}
}

// sendSignals sends the signals of the open request for the woman's room. If she has no room, it drops the signals.
func (v *visit) sendSignals() {
	list := v.faults.signals
	v.faults.signals = list[:0]
	if len(list) == 0 || v.room == nil {
		return
	}
	v.faults.forward(v.unit, pathClinical, &clinicalBody{v.room.id, list})
}

// watch starts measuring the woman's vital signs. The first argument is the approximate interval between
// measurements. Once her room and primary factor have not changed for twelve hours, the second argument replaces the
// first. A new watch replaces an earlier one.
func (v *visit) watch(every, later clock) {
	v.watched++
	turn := v.watched
	var again func()
	again = func() {
		if v.watched != turn || v.room == nil {
			return
		}
		v.measureVitals()
		next := every
		if v.now-v.since > 12*hour {
			next = later
		}
		v.after(v.span(next, .12), again)
	}
	v.after(v.span(8*minute, .5), again)
}

// measureVitals measures one set of vital signs and, in labor, the fetal heart rate. If the early-warning score is
// high, a nurse acknowledges it some minutes later.
func (v *visit) measureVitals() {
	score := v.count(.45)
	if v.ill {
		score = v.count(3.2)
	}
	v.measure("8480-6", "Systolic blood pressure", 108+v.IntN(32)+6*score)
	v.measure("8867-4", "Heart rate", 68+v.IntN(30)+5*score)
	v.measure("92244-7", "MEWS total score", score)
	if v.inLabor() {
		category := "Category I"
		switch p := v.Float64() / v.load(); {
		case p < .004:
			category = "Category III"
		case p < .16:
			category = "Category II"
		}
		v.observe("device", "LOINC", "32421-5", "Fetal heart rate category", category)
	}
	v.sendSignals()
	if score >= 4 {
		v.after(v.span(14*minute, .5), func() {
			v.find("mews-acknowledged")
			v.sendSignals()
		})
	}
}

// inLabor reports whether the woman is in a labor room and has not given birth. In that case, the fetal heart rate is
// monitored.
func (v *visit) inLabor() bool {
	return v.born == 0 && v.room != nil && v.room.pool == &v.unit.labor
}

// placeEpidural places an epidural. A nurse remains with the woman during the procedure.
func (v *visit) placeEpidural() {
	if !v.inLabor() {
		return
	}
	v.find("labor-epidural-init")
	v.sendSignals()
	v.after(20*minute, func() {
		if v.inLabor() {
			v.start(bupivacaine)
			if !v.runs(oxytocin) && v.primary == "labor-standard" {
				v.changeKind("labor-epidural")
			}
		}
	})
}

// setPushing begins or ends the second stage.
func (v *visit) setPushing(on bool) {
	status := "active"
	if !on {
		status = "completed"
	}
	v.signal(signal{
		Kind: "observation", System: "local", Code: "SECOND_STAGE", Display: "Second stage of labor", Status: status, ObservedAt: v.text(v.now),
	})
	v.sendSignals()
}
