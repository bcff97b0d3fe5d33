package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
)

// drawHistory draws the woman's risks at arrival. Most risks become more frequent during the simulation; see
// unit.load. A probability without a source is assumed.
func (v *visit) drawHistory() {
	load := v.load()
	if v.is(.016) { // NCHS 2022: 31 of 1,000 newborns are twins, so about 16 of 1,000 births are twin births
		v.expecting = 2
		v.diagnoses = append(v.diagnoses, icd("O30.043", "Twin pregnancy, dichorionic/diamniotic, third trimester"))
	}
	add := func(p float64, d diagnosis) {
		if v.is(p * load) {
			v.diagnoses = append(v.diagnoses, d)
		}
	}
	// Ford et al., MMWR 2022: hypertensive disorders in 15.9% of deliveries, a third of them pre-eclampsia.
	add(.035, icd("O14.03", "Mild to moderate pre-eclampsia, third trimester"))
	add(.022, icd("O14.13", "Severe pre-eclampsia, third trimester"))
	add(.075, icd("O24.410", "Gestational diabetes mellitus in pregnancy, diet controlled")) // no rule maps it, so it appears on the worklist
	add(.012, icd("O24.013", "Pre-existing type 1 diabetes mellitus, in pregnancy, third trimester"))
	add(.060, icd("O99.213", "Obesity complicating pregnancy, third trimester"))
	add(.010, icd("O99.413", "Diseases of the circulatory system complicating pregnancy, third trimester"))
	add(.018, icd("O99.513", "Diseases of the respiratory system complicating pregnancy, third trimester"))
	add(.004, icd("O44.13", "Complete placenta previa with hemorrhage, third trimester"))
	add(.004, icd("O36.4XX0", "Maternal care for intrauterine death, not applicable or unspecified"))
	add(.070, icd("O09.523", "Supervision of elderly multigravida, third trimester")) // no rule maps it, so it appears on the worklist
	if !v.first && v.is(chanceTrialOfLabor*2) {
		v.diagnoses = append(v.diagnoses, icd("O66.41", "Failed attempted vaginal birth after previous cesarean delivery"))
	}
	mark := func(p float64, factor string) {
		if v.is(p) {
			v.marks = append(v.marks, factor)
		}
	}
	mark(.08, "env-interpreter") // ACS: 8% of the population speak English less than very well
	mark(.10*load, "high-mental-health-hx")
	mark(.03*load, "high-substance-abuse-hx")
	mark(.06, "env-equity-risk")
}

func (v *visit) has(code string) bool {
	return slices.ContainsFunc(v.diagnoses, func(d diagnosis) bool { return d.code == code })
}

// drawComplaint draws the complaints and findings at arrival, and sends them.
func (v *visit) drawComplaint() {
	if v.is(.08 * v.load()) {
		v.observe("observation", "local", "FETAL_MOVEMENT_DECREASED", "Decreased fetal movement", "yes")
	}
	if v.is(.03) {
		v.find("triage-rule-out-ptl")
	}
	if v.is(.02 * v.load()) {
		v.find("high-vag-bleeding")
	}
	if v.is(.012) {
		v.find("high-recent-trauma")
	}
	if v.is(.3) {
		tenths := int(min(max(300+58*v.NormFloat64(), 185), 560))
		v.measure("39156-5", "Body mass index (BMI) [Ratio]", json.Number(fmt.Sprintf("%d.%d", tenths/10, tenths%10)))
	}
	v.observe("observation", "LOINC", "72514-3", "Pain severity score", fmt.Sprint(v.IntN(10)))
	v.sendSignals()
}

// drawComplications draws the complications of a labor with the given duration and schedules them. It also schedules
// the treatment of the woman's risks.
func (v *visit) drawComplications(span clock) {
	v.treatRisks()
	if v.is(.55) {
		result := "Negative"
		if v.is(.25) { // ACOG Committee Opinion 797: 10-30% of women
			result = "Positive"
		}
		v.observe("lab", "LOINC", "88277-2", "Streptococcus agalactiae DNA in Specimen by NAA", result)
		v.sendSignals()
	}
	if v.is(.05) {
		v.after(span/3, func() {
			if v.inLabor() {
				v.start(nitrousOxide)
				v.after(v.span(70*minute, .3), func() { v.stop(nitrousOxide) })
			}
		})
	}
	if v.is(.02 * v.load()) {
		v.after(span/2, func() {
			if v.inLabor() {
				v.diagnose(diagnosis{code: "O68", display: "Labor and delivery complicated by abnormality of fetal acid-base balance", onset: v.now})
			}
		})
	}
}

// treatRisks schedules the infusions for the woman's risks. Severe pre-eclampsia is treated with magnesium until
// about a day after birth (ACOG Practice Bulletin 222), and sometimes with labetalol; type 1 diabetes is treated with
// insulin.
func (v *visit) treatRisks() {
	switch {
	case v.has("O14.13"):
		v.ill = true
		v.after(v.between(10*minute, 90*minute), func() { v.start(magnesium) })
		v.after(v.span(34*hour, .15), func() {
			v.ill = false
			v.stop(magnesium)
		})
		if v.is(.25) {
			v.after(v.between(20*minute, 3*hour), func() { v.start(labetalol) })
			v.after(v.between(4*hour, 8*hour), func() { v.stop(labetalol) })
		}
	case v.has("O24.013"):
		v.after(v.between(20*minute, 2*hour), func() { v.start(insulin) })
		v.after(v.between(8*hour, 16*hour), func() { v.stop(insulin) })
	}
}

// recordBirth records a birth: it sends the diagnoses and the newborns, and schedules complications.
func (v *visit) recordBirth(cesarean bool) {
	v.born, v.cesarean = v.now, cesarean
	mode, outcome := icd("O80", "Encounter for full-term uncomplicated delivery"), icd("Z37.0", "Single live birth")
	if cesarean {
		mode = icd("O82", "Encounter for cesarean delivery without indication")
	}
	lost := v.has("O36.4XX0")
	switch {
	case lost:
		outcome = icd("Z37.1", "Single stillbirth")
	case v.expecting == 2:
		outcome = icd("Z37.2", "Twins, both liveborn")
	}
	outcome.onset = v.now
	v.diagnoses = append(v.diagnoses, mode, outcome)
	v.sendADT("A08")
	if !lost {
		for range v.expecting {
			v.visits++
			v.babies = append(v.babies, baby{number: v.visits, since: v.now})
			n := v.newborn("A01", &v.babies[len(v.babies)-1])
			v.sendEvent(&n)
		}
	}
	for i := range v.babies {
		if v.is(chanceNICU) {
			v.after(v.between(20*minute, 5*hour), func() { v.dischargeBaby(i) })
		} else if v.is(.25) {
			v.after(v.between(20*hour, 30*hour), func() {
				if !v.babies[i].gone {
					v.find("nb-surgery")
					v.sendSignals()
				}
			})
		}
	}
	if v.is(chanceHemorrhage * v.load()) {
		v.after(v.between(5*minute, 70*minute), func() {
			v.diagnose(diagnosis{code: "O72.1", display: "Other immediate postpartum hemorrhage", onset: v.now})
			v.ill = true
			v.after(v.span(5*hour, .4), func() { v.ill = false })
			if v.is(.2) {
				v.observe("observation", "LOINC", "3151-8", "Inhaled oxygen flow rate", "6")
				v.sendSignals()
			}
		})
	}
	if cesarean {
		v.marks = append(v.marks, "pp-csection-day")
		v.after(24*hour, func() {
			v.marks = slices.DeleteFunc(v.marks, func(m string) bool { return m == "pp-csection-day" })
		})
	}
}

// dischargeBaby discharges a baby: home with its mother, or to newborn intensive care, which is not part of the unit.
func (v *visit) dischargeBaby(i int) {
	b := &v.babies[i]
	if b.gone {
		return
	}
	b.gone = true
	n := v.newborn("A03", b)
	v.sendEvent(&n)
}
