package simulate

// Stages of a stay: the medians of log-normal time spans, and the standard deviations of their logarithms.
const (
	// The duration of the evaluation in triage is assumed.
	evaluation, evaluationSpread = 100 * minute, .50
	// The time from arrival to the decision to admit is assumed.
	decision, decisionSpread = 50 * minute, .45
	// The duration of early labor (before 4 cm) applies to women who are admitted during it. It is assumed, based on
	// the range of the latent phase in ACOG Clinical Practice Guideline 8 (2024).
	earlyFirst, earlyLater, earlySpread = 5 * hour, 3 * hour, .60
	// The duration of cervical ripening is assumed.
	ripening, ripeningSpread = 11 * hour, .40
	// Active labor (4 to 10 cm) in first and later births (Harper et al., Obstet Gynecol 2012): 3.8 h and 2.4 h if
	// it is spontaneous, 5.5 h and 4.4 h if it is induced. The 95th percentile is three times the median.
	activeFirst, activeLater   = 228 * minute, 144 * minute
	inducedFirst, inducedLater = 330 * minute, 264 * minute
	activeSpread               = .66
	// The second stage, in first and later births (Zhang et al., Obstet Gynecol 2010): 1.1 h and 0.4 h with an
	// epidural, 0.6 h and 0.2 h without one. The 95th percentile of the 1.1 h is 3.6 h.
	pushFirst, pushLater, pushSpread = 66 * minute, 24 * minute, .70
	pushFree                         = .53 // ratio of the duration without an epidural to the duration with one
	// A cesarean is timed from entering to leaving the operating room, including the birth. These times are assumed.
	operation, operationSpread = 70 * minute, .25
	incision                   = 14 * minute
	// Recovery takes at least two hours (Guidelines for Perinatal Care, 8th ed.).
	recoveryLeast          = 120 * minute
	recoveryMore, moreness = 25 * minute, .70
	// Mother and child are ready to go home after two nights, or after three if the birth was a cesarean. US insurers
	// must cover 48 h and 96 h (Newborns' and Mothers' Health Protection Act, 1996).
	stayVaginal, stayCesarean, staySpread = 40 * hour, 68 * hour, .24
	// The length of a stay before birth is assumed.
	stayAntepartum, antepartumSpread = 60 * hour, .80
	// The time of rounds, and the spread of discharges after them, are assumed.
	roundsHour, roundsSpread = 11.2, 1.4
)

// Probabilities for one woman. A value without a source is assumed.
const (
	chanceEpidural       = .73  // Butwick et al., Anesthesiology 2018: 73.1% of labors
	chanceEarlyFirst     = .50  // assumed
	chanceEarlyLater     = .28  // assumed
	chanceAugment        = .35  // assumed
	chanceSectionFirst   = .26  // together with planned cesareans, 32.1% of births (NCHS 2022)
	chanceSectionLater   = .08  // same source
	chanceNICU           = .09  // NCHS 2022: 9.8% of newborns
	chanceHemorrhage     = .043 // Corbetta-Rastelli et al., Obstet Gynecol 2023: 4.3% in 2019
	chanceRipening       = .55  // fraction of inductions; assumed
	chanceFollowsLabor   = .30  // fraction of antepartum stays that end in labor; assumed
	chanceUnstable       = .15  // fraction of antepartum stays with a crisis; assumed
	chanceStaysInTriage  = .06  // fraction of triage visits that lead to an antepartum stay; assumed
	chanceTrialOfLabor   = .05  // assumed
	chanceImminentBirths = .02  // fraction of women who give birth within an hour of arrival; assumed
)

// pathway moves a visit through the unit. Each method performs one step, and schedules the next one.
type pathway struct{ *visit }

// beginTriage starts the visit of a woman who usually returns home.
func (v pathway) beginTriage() {
	v.triage.requestRoom(func(r *room) {
		kind := ""
		switch p := v.Float64(); {
		case p < .22:
			kind = "ap-nst"
		case p < .34:
			kind = "triage-medical-eval"
		}
		v.enter("A04", r, 'O', kind)
		v.drawComplaint()
		v.watch(60*minute, 4*hour)
		v.after(v.span(evaluation, evaluationSpread), func() {
			if v.is(chanceStaysInTriage) {
				v.waitAntepartum()
				return
			}
			v.discharge()
		})
	})
}

// beginLabor begins a visit in spontaneous labor.
func (v pathway) beginLabor() {
	if v.is(chanceImminentBirths) {
		v.labor.requestRoom(func(r *room) {
			v.enter("A01", r, 'I', "labor-standard")
			v.watch(30*minute, hour)
			v.after(v.span(15*minute, .4), v.runSecondStage)
		})
		return
	}
	v.triage.requestRoom(func(r *room) {
		kind := ""
		if v.is(.12) {
			kind = "triage-rom"
		}
		v.enter("A04", r, 'O', kind)
		v.drawComplaint()
		v.watch(30*minute, 2*hour)
		v.after(v.span(decision, decisionSpread), func() {
			early := v.is(map[bool]float64{true: chanceEarlyFirst, false: chanceEarlyLater}[v.first])
			v.waitLabor(func() {
				if early {
					v.runEarlyLabor()
				} else {
					v.runActiveLabor(false)
				}
			})
		})
	})
}

// waitLabor moves the woman to a labor room once one is free, and then calls the given callback. While she waits, she
// stays in her current room. If she is not yet an inpatient, she is admitted there as a boarder.
func (v pathway) waitLabor(then func()) {
	if len(v.labor.free) == 0 && v.class != 'I' {
		v.enter("A01", v.room, 'I', "triage-admit")
	}
	v.labor.requestRoom(func(r *room) {
		v.admitTo(r, "labor-standard")
		then()
	})
}

func (v pathway) runEarlyLabor() {
	v.changeKind("labor-active-lt4")
	median := earlyLater
	if v.first {
		median = earlyFirst
	}
	v.after(v.span(median, earlySpread), func() { v.runActiveLabor(false) })
}

// beginInduction begins a scheduled induction, in a labor room. The woman waits at home until a room is free.
func (v pathway) beginInduction() {
	v.labor.requestRoom(func(r *room) {
		ripens := v.is(chanceRipening)
		kind := "labor-induction"
		if ripens {
			kind = "labor-ripening"
		}
		v.enter("A01", r, 'I', kind)
		v.watch(60*minute, 4*hour)
		begin := func() {
			v.changeKind("labor-induction")
			v.start(oxytocin)
			v.after(v.span(150*minute, .5), func() { v.runActiveLabor(true) })
		}
		if !ripens {
			v.after(v.span(40*minute, .4), begin)
			return
		}
		v.after(v.span(ripening, ripeningSpread), begin)
	})
}

// runActiveLabor runs active labor until full dilation or the decision for a cesarean.
func (v pathway) runActiveLabor(induced bool) {
	v.changeKind(map[bool]string{true: "labor-induction", false: "labor-standard"}[induced])
	median := activeLater
	switch {
	case induced && v.first:
		median = inducedFirst
	case induced:
		median = inducedLater
	case v.first:
		median = activeFirst
	}
	span := v.span(median, activeSpread)
	epidural := v.is(chanceEpidural)
	if epidural {
		v.after(v.between(span/10, span/2), v.placeEpidural)
	}
	if !induced && v.is(chanceAugment) {
		v.after(v.between(span/4, span/2), func() { v.start(oxytocin) })
	}
	v.drawComplications(span)
	section := chanceSectionLater
	if v.first {
		section = chanceSectionFirst
	}
	if v.is(section) {
		v.after(v.between(span/2, span), v.runCesarean)
		return
	}
	v.after(span, v.runSecondStage)
}

// runSecondStage runs the second stage, which ends in a birth.
func (v pathway) runSecondStage() {
	v.setPushing(true)
	median := pushLater
	if v.first {
		median = pushFirst
	}
	span := v.span(median, pushSpread)
	if !v.runs(bupivacaine) {
		span = clock(float64(span) * pushFree)
	}
	span = max(span, 6*minute)
	v.after(span-min(12*minute, span/2), func() { v.changeKind("labor-vaginal-birth") })
	v.after(span, func() {
		v.setPushing(false)
		v.primary, v.since = "pp-immediate-recovery-vag", v.now
		v.recordBirth(false)
		v.stop(bupivacaine)
		v.after(v.between(hour, 2*hour), func() { v.stop(oxytocin) })
		v.watch(30*minute, 4*hour)
		v.after(recoveryLeast+v.span(recoveryMore, moreness), v.waitPostpartum)
	})
}

// beginCesarean begins a scheduled cesarean.
func (v pathway) beginCesarean() {
	v.labor.requestRoom(func(r *room) {
		v.diagnoses = append(v.diagnoses, icd("O34.211", "Maternal care for low transverse scar from previous cesarean delivery"))
		v.enter("A01", r, 'I', "csection-admit")
		v.watch(60*minute, 4*hour)
		v.after(v.span(120*minute, .25), v.runCesarean)
	})
}

// runCesarean performs a cesarean as soon as an operating room is free.
func (v pathway) runCesarean() {
	v.setPushing(false)
	if len(v.theatre.free) == 0 {
		v.changeKind("csection-admit")
	}
	v.theatre.requestRoom(func(r *room) {
		v.stop(oxytocin)
		v.stop(bupivacaine)
		v.move(r, "")
		v.after(v.span(incision, .3), func() { v.recordBirth(true) })
		v.after(max(v.span(operation, operationSpread), incision*3), func() {
			v.recovery.requestRoom(func(r *room) {
				v.move(r, "")
				v.watch(30*minute, 4*hour)
				v.after(recoveryLeast+v.span(recoveryMore, moreness), v.waitPostpartum)
			})
		})
	})
}

// waitPostpartum keeps the woman in recovery until a postpartum room is free.
func (v pathway) waitPostpartum() {
	v.postpartum.requestRoom(func(r *room) {
		v.move(r, "")
		v.watch(4*hour, 8*hour)
		stay := stayVaginal
		if v.cesarean {
			stay = stayCesarean
		}
		v.goHome(v.born + clock(float64(v.span(stay, staySpread))*v.stays()))
	})
}

// goHome discharges the woman around the morning rounds of the day on which she is ready. If she is ready more than
// eight hours after these rounds, it discharges her on the next morning.
func (v pathway) goHome(ready clock) {
	ready = max(ready, v.now+3*hour)
	rounds := float64(roundsHour)
	if v.week(ready) >= regimeWeek {
		rounds += regimeRounds
	}
	local := v.local(ready)
	midnight := ready - clock(local.Hour())*hour - clock(local.Minute())*minute - clock(local.Second())
	home := v.hourOf(midnight, rounds+roundsSpread*v.NormFloat64())
	if home < ready-8*hour { // she is ready in the evening, so she goes home the next morning
		home = v.hourOf(midnight+26*hour, rounds+roundsSpread*v.NormFloat64())
	}
	v.after(max(home, v.now+hour)-v.now, v.discharge)
}

// beginAntepartum begins the stay of a pregnant woman who is not in labor. The stay begins in triage.
func (v pathway) beginAntepartum() {
	v.triage.requestRoom(func(r *room) {
		v.enter("A04", r, 'O', "triage-medical-eval")
		v.watch(60*minute, 4*hour)
		v.after(v.span(evaluation, evaluationSpread), v.waitAntepartum)
	})
}

func (v pathway) waitAntepartum() {
	v.treatRisks()
	v.antepartum.requestRoom(func(r *room) {
		v.admitTo(r, "ap-stable")
		v.watch(4*hour, 8*hour)
		stay := clock(float64(v.span(stayAntepartum, antepartumSpread)) * v.stays())
		if v.is(chanceUnstable * v.load()) {
			v.after(v.between(stay/8, stay/2), func() {
				v.changeKind("ap-unstable")
				v.ill = true
				v.after(v.span(6*hour, .5), func() {
					v.ill = false
					v.changeKind("ap-stable")
				})
			})
		}
		if v.is(chanceFollowsLabor) {
			v.after(stay, func() { v.waitLabor(func() { v.runActiveLabor(v.is(.5)) }) })
			return
		}
		v.goHome(v.now + stay)
	})
}

// beginReadmission begins the stay of a woman who returns with complications a few days after birth.
func (v pathway) beginReadmission() {
	v.postpartum.requestRoom(func(r *room) {
		kind := "pp-complications-stable"
		if v.is(.3) {
			kind = "pp-complications-unstable"
			v.after(v.span(9*hour, .4), func() { v.changeKind("pp-complications-stable") })
		}
		v.born = v.now - v.between(3*day, 10*day)
		v.ill = true
		v.enter("A01", r, 'I', kind)
		if v.is(.5) {
			v.diagnose(icd("O14.95", "Unspecified pre-eclampsia, complicating the puerperium"))
			v.start(magnesium)
			v.after(24*hour, func() { v.stop(magnesium) })
		}
		v.watch(2*hour, 6*hour)
		v.goHome(v.now + v.span(44*hour, .4))
	})
}

// beginOverflow places a patient of another service in a postpartum room. If fewer than a quarter of these rooms are
// free, the patient does not come to the unit.
func (v pathway) beginOverflow() {
	if len(v.postpartum.free) < v.postpartum.all/4 {
		v.remove()
		return
	}
	v.postpartum.requestRoom(func(r *room) {
		v.enter("A01", r, 'I', "non-ob-holding")
		v.watch(6*hour, 8*hour)
		v.goHome(v.now + v.span(26*hour, .4))
	})
}

// beginProcedure begins a scheduled minor procedure, such as a D&C or a cerclage.
func (v pathway) beginProcedure() {
	v.theatre.requestRoom(func(r *room) {
		kind := "or-d-and-c"
		if v.is(.3) {
			kind = "or-cerclage-placement"
		}
		v.enter("A01", r, 'O', kind)
		v.after(v.span(55*minute, .3), func() {
			v.recovery.requestRoom(func(r *room) {
				v.move(r, "pp-hold")
				v.watch(30*minute, hour)
				v.after(v.span(110*minute, .3), v.discharge)
			})
		})
	})
}
