package hospital_test

import (
	"fmt"
	"testing"

	"svc/acuity"
	"svc/acuity/hospital"
)

// TestDecisionsGolden covers the golden cases for a room's score (docs/decisions.md#room-score).
func TestDecisionsGolden(t *testing.T) {
	decide(t, map[string]decision{
		"labor-standard": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard"))},
			read: []axisReading{{0, "4 60 labor-standard/0"}},
		},
		"clinical ingest only, mag": {
			say:     []acuity.Observation{clinical(30, 4, mag().since(0))},
			read:    []axisReading{{30, "4 60 high-mag/3"}, {61, "4 30 high-mag/3"}},
			answers: []string{"+high-mag"},
		},
		"pp-couplet and GBS": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet")), clinical(1, 4, loinc("88277-2", "", "positive"))},
			read: []axisReading{{1, "4 20 high-gbs-positive/1 pp-couplet/0"}},
		},
		"ap-stable, mag, O13.3": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O13.3")), clinical(30, 4, mag().since(0))},
			read: []axisReading{{30, "4 60 high-mag/3 high-preeclampsia/2 ap-stable/1"}, {61, "4 30 high-mag/3 high-preeclampsia/2 ap-stable/1"}},
		},
		"labor-induction, mag, O14.13": {
			say:  []acuity.Observation{census(0, holds(4, "labor-induction", "O14.13")), clinical(30, 4, mag().since(0))},
			read: []axisReading{{30, "4 60 high-mag/3 high-preeclampsia/3 labor-induction/0"}, {61, "4 60 high-preeclampsia/3 high-mag/3 labor-induction/0"}},
		},
		"labor-standard, O15.1": {
			say: []acuity.Observation{message(0, acuity.A01, "LDR:4", "class=I", "O15.1")},
			read: []axisReading{
				{0, own("LDR:4") + " 60 high-eclampsia/4 high-mag/3 high-preeclampsia/2 labor-standard/0"},
				{61, own("LDR:4") + " 60 high-eclampsia/4 high-mag/3 high-preeclampsia/2 labor-standard/0"},
			},
		},
		"csection-intraop, twins": {
			say:  []acuity.Observation{census(0, holds(4, "csection-intraop", "O30.003"))},
			read: []axisReading{{0, "4 180 csection-intraop/2 labor-multiple-gestation/2"}},
		},
		"labor-standard, Category III": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard")), clinical(0, 4, fhr("Category III"))},
			read: []axisReading{{0, "4 120 labor-fhr-cat-iii/4 labor-standard/0"}},
		},
	})
}

// own returns the id of the room that svc assigns to a location.
func own(text string) string {
	u := hospital.New("st-test")
	o := message(0, acuity.A01, text)
	c := u.Apply(&o, 0)
	return fmt.Sprint(c.Items[0].RoomID)
}

func TestDecisionsDemand(t *testing.T) {
	labor := census(0, holds(4, "labor-standard"))
	epidural := census(0, holds(4, "labor-epidural"))
	antepartum := census(0, holds(4, "ap-stable"))
	decide(t, map[string]decision{
		"1 a start that was given earlier counts": {
			say:  []acuity.Observation{antepartum, clinical(70, 4, mag().since(30)), clinical(80, 4, mag().since(10))},
			read: []axisReading{{69, "4 20 ap-stable/1"}, {70, "4 60 high-mag/3 ap-stable/1"}, {80, "4 30 high-mag/3 ap-stable/1"}},
		},
		"1 a repeat does not restart a step": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, mag().since(0)), clinical(50, 4, mag().since(50))},
			read: []axisReading{{59, "4 60 high-mag/3 ap-stable/1"}, {60, "4 30 high-mag/3 ap-stable/1"}},
		},
		"1 a new run begins after a stop": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, mag().since(0)), clinical(90, 4, mag().off()), clinical(100, 4, mag().since(100))},
			read: []axisReading{{89, "4 30 high-mag/3 ap-stable/1"}, {90, "4 20 ap-stable/1"}, {159, "4 60 high-mag/3 ap-stable/1"}, {160, "4 30 high-mag/3 ap-stable/1"}},
		},
		"1 a silence window runs from the last assertion": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, mews("5")), clinical(200, 4, mews("5"))},
			read: []axisReading{{439, "4 60 mews-active/3 ap-stable/1"}, {440, "4 20 ap-stable/1"}},
		},
		"1 a new run begins after a gap of the window": {
			say:  []acuity.Observation{labor, clinical(0, 4, manual("birth-imminent")), clinical(150, 4, manual("birth-imminent"))},
			read: []axisReading{{149, "4 60 birth-imminent/2 labor-standard/0"}, {150, "4 120 birth-imminent/2 labor-standard/0"}, {225, "4 60 birth-imminent/2 labor-standard/0"}},
		},
		"1 a repeat within the window keeps the clock": {
			say:  []acuity.Observation{labor, clinical(0, 4, manual("birth-imminent")), clinical(100, 4, manual("birth-imminent"))},
			read: []axisReading{{110, "4 60 birth-imminent/2 labor-standard/0"}, {150, "4 60 labor-standard/0"}},
		},
		"1 a census that still lists asserts": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "mews-acknowledged")), census(200, holds(4, "ap-stable", "mews-acknowledged"))},
			read: []axisReading{{439, "4 30 mews-acknowledged/2 ap-stable/1"}, {440, "4 20 ap-stable/1"}},
		},
		"1 a listing starts anew only after it was delisted": {
			say: []acuity.Observation{
				census(0, holds(4, "ap-stable", "labor-epidural-init")), census(40, holds(4, "ap-stable", "labor-epidural-init")),
				census(50, holds(4, "ap-stable", "no-modifiers")), census(60, holds(4, "ap-stable", "labor-epidural-init")),
			},
			read: []axisReading{{29, "4 60 labor-epidural-init/2 ap-stable/1"}, {40, "4 20 ap-stable/1"}, {60, "4 60 labor-epidural-init/2 ap-stable/1"}, {90, "4 20 ap-stable/1"}},
		},
		"3 birth-imminent has the baby nurse inside": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard", "birth-imminent", "baby=nb-stabilization"))},
			read: []axisReading{{44, "4 120 birth-imminent/2 nb-stabilization/1 labor-standard/0"}, {45, "4 150 birth-imminent/2 nb-stabilization/1 labor-standard/0"}},
		},
		"4 a section is that of any active primary": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "high-cardiac")), clinical(0, 4, drug("7044", "oxytocin"))},
			read: []axisReading{{0, "4 60 high-cardiac/3 ap-stable/1 labor-induction/0"}},
		},
		"4 labor-ripening is Triage": {
			say:  []acuity.Observation{census(0, holds(4, "labor-ripening", "high-cardiac"))},
			read: []axisReading{{0, "4 30 high-cardiac/3 labor-ripening/0"}},
		},
		"4 no primary, no section": {
			say:  []acuity.Observation{clinical(0, 4, manual("high-cardiac"))},
			read: []axisReading{{0, "4 30 high-cardiac/3"}},
		},
		"5 pp-csection is not Cesarean": {
			say:  []acuity.Observation{census(0, holds(4, "pp-csection", "since=-400", "high-cardiac"))},
			read: []axisReading{{0, "4 30 high-cardiac/3 pp-csection/1"}},
		},
		"5 csection-intraop is Cesarean": {
			say:  []acuity.Observation{census(0, holds(4, "csection-admit", "high-fetal-anomaly"))},
			read: []axisReading{{0, "4 60 high-fetal-anomaly/2 csection-admit/0"}},
		},
		"5 procedures are not Cesarean": {
			say:  []acuity.Observation{census(0, holds(4, "or-d-and-c", "high-fetal-anomaly"))},
			read: []axisReading{{0, "4 60 high-fetal-anomaly/2 or-d-and-c/1"}},
		},
		"6 birth by time of delivery": {
			say:  []acuity.Observation{epidural, clinical(1, 4, manual("labor-tolac")), census(10, holds(4, "labor-epidural", "born=5"))},
			read: []axisReading{{9, "4 60 labor-tolac/2 labor-epidural/0"}, {10, "4 30 labor-epidural/0"}},
		},
		"6 birth by Z37": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "O66.41")), census(10, holds(4, "labor-epidural", "O66.41", "Z37.0"))},
			read: []axisReading{{9, "4 60 labor-tolac/2 labor-epidural/0"}, {10, "4 30 labor-epidural/0"}},
		},
		"6 birth by a primary of recovery": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "O66.41", "high-fetal-anomaly", "labor-active-pushing", "high-prolapsed-cord"))},
			read: []axisReading{{0, "4 20 pp-couplet/0"}},
		},
		"6 later evidence is off after birth, too": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "born=0")), clinical(10, 4, local("SECOND_STAGE", ""))},
			read: []axisReading{{10, "4 30 labor-epidural/0"}},
		},
		"6 GBS stays and only loses its fraction": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "high-gbs-positive")), census(10, holds(4, "labor-epidural", "born=10"))},
			read: []axisReading{{9, "4 33 high-gbs-positive/1 labor-epidural/0"}, {10, "4 30 high-gbs-positive/1 labor-epidural/0"}},
		},
		"6 O80 and O82 are no birth": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "O66.41", "O80", "O82"))},
			read: []axisReading{{0, "4 60 labor-tolac/2 labor-epidural/0"}},
		},
		"7 one nurse more for each baby": {
			say: []acuity.Observation{census(0, holds(1, "labor-vaginal-birth", "O30.0"), holds(2, "labor-vaginal-birth", "O30.1"), holds(3, "csection-intraop", "O30.2"), holds(4, "csection-intraop", "O30.9"))},
			read: []axisReading{
				{0, "1 180 labor-multiple-gestation/2 labor-vaginal-birth/1; 2 240 labor-multiple-gestation/2 labor-vaginal-birth/1; 3 240 csection-intraop/2 labor-multiple-gestation/2; 4 180 csection-intraop/2 labor-multiple-gestation/2"},
				{60, "1 60 labor-multiple-gestation/2 labor-vaginal-birth/1; 2 60 labor-multiple-gestation/2 labor-vaginal-birth/1; 3 240 csection-intraop/2 labor-multiple-gestation/2; 4 180 csection-intraop/2 labor-multiple-gestation/2"},
			},
		},
		"7 birth-imminent, and it stays over the birth": {
			say:  []acuity.Observation{census(0, holds(4, "labor-standard", "birth-imminent", "O30.0")), census(30, holds(4, "labor-standard", "birth-imminent", "O30.0", "born=30"))},
			read: []axisReading{{29, "4 180 birth-imminent/2 labor-multiple-gestation/2 labor-standard/0"}, {74, "4 180 birth-imminent/2 labor-multiple-gestation/2 labor-standard/0"}, {75, "4 60 birth-imminent/2 labor-multiple-gestation/2 labor-standard/0"}},
		},
		"7 the baby comes before the fractions": {
			say:  []acuity.Observation{census(0, holds(4, "csection-intraop", "O30.0", "env-labor-support", "env-interpreter"))},
			read: []axisReading{{0, "4 195 csection-intraop/2 labor-multiple-gestation/2 env-labor-support/0 env-interpreter/0"}},
		},
		"8 occupied, nothing known, by census": {
			say:  []acuity.Observation{census(0, holds(4))},
			read: []axisReading{{0, "4 30"}},
		},
		"8 known from clinical ingest only": {
			say:  []acuity.Observation{clinical(0, 4)},
			read: []axisReading{{0, ""}},
		},
		"9 no area table for a room that only signals know": {
			say: func() []acuity.Observation {
				o := clinical(0, 4)
				o.Room.Label = "LDR04"
				return []acuity.Observation{o}
			}(),
			read: []axisReading{{0, ""}},
		},
		"14 signal for an empty room": {
			say:     []acuity.Observation{census(0, empty(4)), clinical(10, 4, mag()), census(40, holds(4, "ap-stable"))},
			read:    []axisReading{{10, ""}, {39, ""}, {40, "4 60 high-mag/3 ap-stable/1"}, {70, "4 30 high-mag/3 ap-stable/1"}},
			answers: []string{"!room_not_occupied", "+ap-stable +high-mag"},
		},
		"15 a room that only signals know leaves with the census": {
			say:  []acuity.Observation{clinical(0, 4, mag()), census(10, holds(5, "ap-stable")), clinical(20, 4)},
			read: []axisReading{{0, "4 60 high-mag/3"}, {10, "5 20 ap-stable/1"}, {20, "5 20 ap-stable/1"}},
		},
		"15 stale after 48 h": {
			say:  []acuity.Observation{clinical(0, 4, manual("high-placenta-previa"))},
			read: []axisReading{{2879, "4 30 high-placenta-previa/2"}, {2880, "4 30 high-placenta-previa/2 stale"}},
		},
		"16 first occupant within the hour": {
			say:  []acuity.Observation{census(0, empty(4)), clinical(10, 4, mag()), message(70, acuity.A01, "#4", "ap-stable")},
			read: []axisReading{{69, ""}, {70, "4 30 high-mag/3 ap-stable/1"}},
		},
		"16 not after the hour": {
			say:  []acuity.Observation{census(0, empty(4)), clinical(10, 4, mag()), message(71, acuity.A01, "#4", "ap-stable")},
			read: []axisReading{{71, "4 20 ap-stable/1"}},
		},
		"16 an occupant without a visit lasts from just after the census before": {
			say:  []acuity.Observation{census(0, empty(4)), clinical(10, 4, mag()), census(100, holds(4, "ap-stable"))},
			read: []axisReading{{100, "4 30 high-mag/3 ap-stable/1"}},
		},
		"16 empty ends the evidence": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, mag()), census(10, empty(4)), census(20, holds(4, "ap-stable"))},
			read: []axisReading{{9, "4 60 high-mag/3 ap-stable/1"}, {10, ""}, {20, "4 20 ap-stable/1"}},
		},
		"16 another visit ends it, a missing one continues": {
			say: []acuity.Observation{
				census(0, holds(4, "ap-stable", "visit=a")), clinical(0, 4, mag()), census(10, holds(4, "ap-stable")),
				census(20, holds(4, "ap-stable", "visit=a")), census(30, holds(4, "ap-stable", "visit=b")),
			},
			read: []axisReading{{10, "4 60 high-mag/3 ap-stable/1"}, {20, "4 60 high-mag/3 ap-stable/1"}, {30, "4 20 ap-stable/1"}},
		},
		"16 a name given later continues": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable")), clinical(0, 4, mag()), census(10, holds(4, "ap-stable", "visit=a"))},
			read: []axisReading{{10, "4 60 high-mag/3 ap-stable/1"}},
		},
		"16 the visit takes it along": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "visit=a"), empty(5)), clinical(0, 4, mag().since(0)), census(30, empty(4), holds(5, "ap-stable", "visit=a"))},
			read: []axisReading{{30, "5 60 high-mag/3 ap-stable/1"}, {60, "5 30 high-mag/3 ap-stable/1"}},
		},
		"16 whose it was at the time of observation": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "visit=a"), empty(5)), census(30, holds(4, "ap-stable", "visit=b"), holds(5, "ap-stable", "visit=a")), clinical(40, 4, mag().seen(20))},
			read: []axisReading{{40, "4 20 ap-stable/1; 5 60 high-mag/3 ap-stable/1"}},
		},
		"17 Category III becomes II after an hour of silence": {
			say:  []acuity.Observation{epidural, clinical(0, 4, fhr("III"))},
			read: []axisReading{{59, "4 120 labor-fhr-cat-iii/4 labor-epidural/0"}, {60, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}, {299, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}, {300, "4 30 labor-epidural/0"}},
		},
		"17 one concept over both codes": {
			say:  []acuity.Observation{epidural, clinical(0, 4, fhr("III")), clinical(10, 4, loinc("11949-4", "", "Category I"))},
			read: []axisReading{{10, "4 30 labor-epidural/0"}},
		},
		"17 II is off while III is on, also by diagnosis": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "O68.0")), clinical(0, 4, fhr("III"))},
			read: []axisReading{{0, "4 120 labor-fhr-cat-iii/4 labor-epidural/0"}, {60, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}, {300, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}},
		},
		"18 Category I suppresses an older diagnosis for good": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "O68")), clinical(10, 4, fhr("I")), clinical(20, 4, fhr("II")), clinical(30, 4, fhr("II").status(acuity.SignalEnded))},
			read: []axisReading{{9, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}, {10, "4 30 labor-epidural/0"}, {20, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}, {30, "4 30 labor-epidural/0"}},
		},
		"18 an ended status ends only the signal": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "O68")), clinical(10, 4, fhr("II")), clinical(20, 4, fhr("II").off())},
			read: []axisReading{{20, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}},
		},
		"18 a diagnosis newer than the Category I holds": {
			say:  []acuity.Observation{epidural, clinical(0, 4, fhr("I")), census(10, holds(4, "labor-epidural", "O68"))},
			read: []axisReading{{10, "4 60 labor-fhr-cat-ii/2 labor-epidural/0"}},
		},
		"19 the infusion replaces the diagnosis, also after the stop": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O99.89")), clinical(100, 4, mag().since(100)), clinical(110, 4, mag().off())},
			read: []axisReading{{59, "4 60 high-mag/3 ap-stable/1"}, {60, "4 30 high-mag/3 ap-stable/1"}, {100, "4 60 high-mag/3 ap-stable/1"}, {110, "4 20 ap-stable/1"}},
		},
		"20 the diagnosis adds while insulin runs": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O24.013")), clinical(0, 4, drug("5856", "insulin")), clinical(10, 4, drug("5856", "insulin").off())},
			read: []axisReading{{0, "4 69 high-diabetes-poorly-controlled/3 ap-stable/1"}, {10, "4 29 high-diabetes-poorly-controlled/2 ap-stable/1"}},
		},
		"20 insulin alone adds nothing": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, drug("51428", "insulin drip"))},
			read: []axisReading{{0, "4 60 high-diabetes-poorly-controlled/3 ap-stable/1"}},
		},
		"21 each evidence has its own curve": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O46.9")), census(50, holds(4, "ap-stable", "O46.9", "O45.9"))},
			read: []axisReading{{59, "4 120 high-hemorrhage/4 ap-stable/1"}, {109, "4 120 high-hemorrhage/4 ap-stable/1"}, {110, "4 60 high-hemorrhage/3 ap-stable/1"}},
		},
		"22 one code counts once": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "O72.1"), holds(5, "ap-stable", "Z37.1"))},
			read: []axisReading{{0, "4 120 high-hemorrhage/4 ~pp-hemorrhage/4 pp-couplet/0; 5 30 high-iufd/2 ~high-bereavement/1 ap-stable/1"}},
		},
		"22 two codes count twice if each says its own": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "O46.9", "pp-hemorrhage"))},
			read: []axisReading{{0, "4 120 high-hemorrhage/4 pp-hemorrhage/4 pp-couplet/0"}},
		},
		"22 a subset is left out": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "O46.9", "O72.1"))},
			read: []axisReading{{0, "4 120 high-hemorrhage/4 ~pp-hemorrhage/4 pp-couplet/0"}},
		},
		"22 never for O15": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "15938005"))},
			read: []axisReading{{0, "4 60 high-eclampsia/4 high-preeclampsia/2 pp-couplet/0"}},
		},
		"29 to 41: fractions fill up to one nurse": {
			say:  []acuity.Observation{census(0, holds(1, "labor-epidural", "env-labor-support", "env-interpreter"), holds(2, "labor-standard", "env-labor-support", "env-interpreter"), holds(3, "ap-stable", "high-mag", "env-interpreter"))},
			read: []axisReading{{0, "1 45 labor-epidural/0 env-labor-support/0 env-interpreter/0; 2 75 labor-standard/0 env-labor-support/0 env-interpreter/0; 3 66 high-mag/3 ap-stable/1 env-interpreter/0"}},
		},
		"35 the class after a day": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "O72.1"))},
			read: []axisReading{{1440, "4 20 high-hemorrhage/1 ~pp-hemorrhage/1 pp-couplet/0"}},
		},
		"40 several primaries: the largest demand, never the sum": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, drug("7824", "")), clinical(10, 4, drug("7824", "").off())},
			read: []axisReading{{0, "4 60 ap-stable/1 labor-induction/0"}, {10, "4 20 ap-stable/1"}},
		},
		"42 newborn of the census without a primary": {
			say:  []acuity.Observation{census(0, holds(4, "pp-couplet", "born=-100", "baby"))},
			read: []axisReading{{0, "4 20 nb-stabilization/1 pp-couplet/0"}},
		},
	})
}
