package simulate

import "slices"

// drug is a medication with its code.
type drug struct{ code, display string }

// The drugs with a rule in the catalogue. The epidural and the gas have none: a hospital has to
// map them, so they appear on the worklist.
var (
	magnesium    = &drug{"6585", "magnesium sulfate"}
	oxytocin     = &drug{"7824", "oxytocin"}
	insulin      = &drug{"5856", "insulin, regular, human infusion"}
	labetalol    = &drug{"6185", "labetalol infusion"}
	bupivacaine  = &drug{"1815", "bupivacaine epidural infusion"}
	nitrousOxide = &drug{"7486", "nitrous oxide inhalation gas"}
)

// medication returns the signal of a drug that runs, or ran, from an instant on.
func (v *visit) medication(d *drug, status string, started clock) signal {
	return signal{Kind: "medication", System: "RxNorm", Code: d.code, Display: d.display, Status: status, StartedAt: v.text(started)}
}

func (v *visit) runs(d *drug) bool { return v.runningAt(d) >= 0 }

func (v *visit) runningAt(d *drug) int {
	return slices.IndexFunc(v.running, func(one running) bool { return one.drug == d })
}

// start begins a drug, unless it runs already.
func (v *visit) start(d *drug) {
	if v.runs(d) || v.room == nil {
		return
	}
	v.running = append(v.running, running{d, v.now})
	v.signal(v.medication(d, "active", v.now))
	v.sendSignals()
}

// stop ends a drug, if it runs.
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

// observe adds a measurement or finding of now; without a value it is nil.
func (v *visit) observe(kind, system, code, display string, value any) {
	v.signal(signal{Kind: kind, System: system, Code: code, Display: display, Value: value, ObservedAt: v.text(v.now)})
}

// measure adds a number measured now.
func (v *visit) measure(code, display string, n any) {
	v.observe("observation", "LOINC", code, display, n)
}

// find adds a factor that a nurse marks by hand.
func (v *visit) find(factor string) { v.observe("observation", "local", factor, "", nil) }

// signal adds a signal to the open request.
func (v *visit) signal(s signal) {
	if !v.censusOnly && !v.muted {
		v.faults.signals = append(v.faults.signals, s)
	}
}

// sendSignals sends the open request for the woman's room.
func (v *visit) sendSignals() {
	list := v.faults.signals
	v.faults.signals = list[:0]
	if len(list) == 0 || v.room == nil {
		return
	}
	v.faults.forward(v.unit, pathClinical, &clinicalBody{v.room.id, list})
}

// watch measures the woman from now on, first at one interval, later at a longer one. It
// replaces an earlier watch.
func (v *visit) watch(every, later clock) {
	v.watched++
	turn := v.watched
	var again func()
	again = func() {
		if v.watched != turn || v.room == nil {
			return
		}
		v.vitals()
		next := every
		if v.now-v.since > 12*hour {
			next = later
		}
		v.after(v.span(next, .12), again)
	}
	v.after(v.span(8*minute, .5), again)
}

// vitals is one round of measurements at the bed.
func (v *visit) vitals() {
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

// inLabor reports whether the tracing of the baby is watched.
func (v *visit) inLabor() bool {
	return v.born == 0 && v.room != nil && v.room.pool == &v.unit.labor
}

// epidural places an epidural; a nurse stays at the bed for it.
func (v *visit) epidural() {
	if !v.inLabor() {
		return
	}
	v.find("labor-epidural-init")
	v.sendSignals()
	v.after(20*minute, func() {
		if v.inLabor() {
			v.start(bupivacaine)
			if !v.runs(oxytocin) && v.primary == "labor-standard" {
				v.becomes("labor-epidural")
			}
		}
	})
}

// pushing begins or ends the second stage.
func (v *visit) pushing(on bool) {
	status := "active"
	if !on {
		status = "completed"
	}
	v.signal(signal{Kind: "observation", System: "local", Code: "SECOND_STAGE", Display: "Second stage of labor", Status: status, ObservedAt: v.text(v.now)})
	v.sendSignals()
}
