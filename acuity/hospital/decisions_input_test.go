package hospital_test

import (
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/evidence"
)

// TestDecisionsSignals covers the decisions on clinical statements and on reading codes and values
// (docs/decisions.md#statement-owner, #suggestions).
func TestDecisionsSignals(t *testing.T) {
	antepartum := census(0, holds(4, "ap-stable"))
	epidural := census(0, holds(4, "labor-epidural"))
	const base, labor = " ap-stable/1", " labor-epidural/0"
	one := func(s sign) []acuity.Observation { return []acuity.Observation{antepartum, clinical(1, 4, s)} }
	on := func(want string) []axisReading { return []axisReading{{1, "4 " + want + base}} }
	off := []axisReading{{1, "4 20 ap-stable/1"}}
	const oxygen, infusion3, infusion4 = "30 high-oxygen-therapy/2", "60 high-critical-med-infusion/3", "60 high-critical-med-infusion/4"
	decide(t, map[string]decision{
		"23 oxygen":                   {say: one(loinc("1", "Oxygen therapy", "nasal cannula")), read: on(oxygen)},
		"23 FiO2 of 30 %":             {say: one(loinc("1", "FiO2", "30 %")), read: on(oxygen)},
		"23 FiO2 of 0.3":              {say: one(loinc("1", "FiO2", "0.3")), read: on(oxygen)},
		"23 FiO2 of 21 %":             {say: one(loinc("1", "FiO2", "21 %")), read: off},
		"23 FiO2 of 0.21":             {say: one(loinc("1", "FiO2", "0.21")), read: off},
		"23 flow of 2":                {say: one(loinc("1", "Oxygen flow", "2 L/min")), read: on(oxygen)},
		"23 flow of 0":                {say: one(loinc("1", "Oxygen flow", "0 L/min")), read: off},
		"23 saturation is none":       {say: one(loinc("1", "Oxygen saturation", "97 %")), read: off, answers: []string{"?1"}},
		"23 SpO2 is none":             {say: one(loinc("1", "SpO2 with oxygen", "97")), read: off},
		"23 partial pressure is none": {say: one(loinc("1", "Oxygen partial pressure", "90")), read: off},
		"23 tension is none":          {say: one(loinc("1", "oxygen tension", "90")), read: off},
		"23 content is none":          {say: one(loinc("1", "Oxygen content", "20")), read: off},
		"23 consumption is none":      {say: one(loinc("1", "Oxygen consumption", "20")), read: off},
		"23 room air ends":            {say: append(one(loinc("1", "Oxygen therapy", "2 L/min").seen(0)), clinical(1, 4, loinc("1", "Oxygen therapy", "room air"))), read: off},
		"labetalol":                   {say: one(drug("", "labetalol infusion")), read: on(infusion3)},
		"hydralazine":                 {say: one(drug("1", "Hydralazine")), read: on(infusion3)},
		"nicardipine":                 {say: one(drug("1", "nicardipine drip")), read: on(infusion4)},
		"norepinephrine":              {say: one(drug("1", "norepinephrine 4 mg/250 mL")), read: on(infusion4)},
		"epinephrine":                 {say: one(drug("1", "epinephrine gtt")), read: on(infusion4)},
		"24 a slash between units":    {say: one(drug("1", "epinephrine 5 mcg/min")), read: on(infusion4)},
		"24 a combination":            {say: one(drug("1", "lidocaine / epinephrine")), read: off},
		"24 a combination by with":    {say: one(drug("1", "something with epinephrine")), read: off},
		"24 a local anaesthetic":      {say: one(drug("1", "bupivacaine epinephrine infusion")), read: off},
		"24 a tablet":                 {say: one(drug("1", "labetalol 200 mg oral tablet")), read: off},
		"24 a push":                   {say: one(drug("1", "labetalol IV push")), read: off},
		"24 a syringe that infuses":   {say: one(drug("1", "labetalol syringe continuous")), read: on(infusion3)},
		"kinds of measurements agree": {say: one(sign{Kind: catalogue.KindDevice, System: codes.LOINC, Code: "88277-2", Value: codes.ParseValue("positive")}), read: on("20 ap-stable/1 high-gbs-positive/1")[:0], answers: []string{"+high-gbs-positive"}},
		"55 a medication is no measurement": {
			say: one(sign{Kind: catalogue.KindMedication, System: codes.LOINC, Code: "88277-2", Value: codes.ParseValue("positive")}), read: off, answers: []string{"?88277-2"},
		},
		"55 a measurement is no medication": {
			say: one(sign{Kind: catalogue.KindObservation, System: codes.RxNorm, Code: "6585"}), read: off,
		},
		"not detected":  {say: one(loinc("88277-2", "", "Not detected")), answers: []string{""}, read: off},
		"detected":      {say: one(loinc("31773-6", "", "Detected")), answers: []string{"+high-gbs-positive"}},
		"Cat 2":         {say: []acuity.Observation{epidural, clinical(1, 4, fhr("Cat 2"))}, read: []axisReading{{1, "4 60 labor-fhr-cat-ii/2" + labor}}},
		"II":            {say: []acuity.Observation{epidural, clinical(1, 4, fhr("II"))}, read: []axisReading{{1, "4 60 labor-fhr-cat-ii/2" + labor}}},
		"CAT III":       {say: []acuity.Observation{epidural, clinical(1, 4, fhr("CAT III"))}, read: []axisReading{{1, "4 120 labor-fhr-cat-iii/4" + labor}}},
		"3":             {say: []acuity.Observation{epidural, clinical(1, 4, fhr("3"))}, read: []axisReading{{1, "4 120 labor-fhr-cat-iii/4" + labor}}},
		"indeterminate": {say: []acuity.Observation{epidural, clinical(1, 4, fhr("Indeterminate"))}, read: []axisReading{{1, "4 60 labor-fhr-cat-ii/2" + labor}}},
		"abnormal":      {say: []acuity.Observation{epidural, clinical(1, 4, fhr("Abnormal"))}, read: []axisReading{{1, "4 120 labor-fhr-cat-iii/4" + labor}}},
		"I clears III":  {say: []acuity.Observation{epidural, clinical(0, 4, fhr("III")), clinical(1, 4, fhr("Category I"))}, read: []axisReading{{1, "4 30" + labor}}},
		"II ends III":   {say: []acuity.Observation{epidural, clinical(0, 4, fhr("III")), clinical(1, 4, fhr("II"))}, read: []axisReading{{1, "4 60 labor-fhr-cat-ii/2" + labor}}},
		"52 a negation is unreadable": {
			say:  []acuity.Observation{epidural, clinical(0, 4, fhr("II")), clinical(1, 4, fhr("not abnormal"))},
			read: []axisReading{{1, "4 60 labor-fhr-cat-ii/2" + labor}}, answers: []string{"!value_unreadable ?32421-5"},
		},
		"52 II and III is III": {say: []acuity.Observation{epidural, clinical(1, 4, fhr("Category II to III"))}, read: []axisReading{{1, "4 120 labor-fhr-cat-iii/4" + labor}}},
		"50 MEWS 4":            {say: one(mews("4")), read: on("60 mews-active/3")},
		"50 MEWS 3":            {say: one(mews("3")), read: off},
		"50 at least 4":        {say: one(mews(">=4")), read: on("60 mews-active/3")},
		"50 more than 4":       {say: one(mews(">4")), read: on("60 mews-active/3")},
		"50 more than 3":       {say: one(mews(">3")), read: off, answers: []string{"!value_unreadable ?1-8"}},
		"50 less than 4":       {say: append(one(mews("5").seen(0)), clinical(1, 4, mews("<4"))), read: off},
		"50 less than 5":       {say: append(one(mews("5").seen(0)), clinical(1, 4, mews("<5"))), read: on("60 mews-active/3"), answers: []string{"!value_unreadable ?1-8"}},
		"50 MEWS 5 as text":    {say: one(mews("MEWS 5")), read: off, answers: []string{"!value_unreadable ?1-8"}},
		"50 5/15":              {say: one(mews("5/15")), read: off, answers: []string{"!value_unreadable ?1-8"}},
		"50 education":         {say: one(loinc("1-8", "MEWS education", "5")), read: off},
		"50 NEWS":              {say: one(loinc("1-8", "Newborn early warning (NEWS)", "5")), read: off},
		"50 LOINC only":        {say: one(sign{Kind: catalogue.KindObservation, System: codes.SNOMED, Code: "1", Display: "MEWS", Value: codes.ParseValue("5")}), read: off},
		"50 MEOWS":             {say: one(loinc("1-8", "MEOWS", "7")), read: on("60 mews-active/3")},
		"49 acknowledged":      {say: append(one(mews("5").seen(0)), clinical(1, 4, manual("mews-acknowledged"))), read: []axisReading{{1, "4 30 mews-acknowledged/2" + base}, {240, "4 30 mews-acknowledged/2" + base}, {241, "4 20" + base}}},
		"49 a score of the same time is acknowledged": {say: append(one(manual("mews-acknowledged")), clinical(1, 4, mews("6"))), read: on("30 mews-acknowledged/2")},
		"49 a later score activates again": {
			say:  append(one(manual("mews-acknowledged")), clinical(2, 4, mews("6"))),
			read: []axisReading{{2, "4 60 mews-active/3 mews-acknowledged/2" + base}, {241, "4 60 mews-active/3" + base}},
		},
		"49 acknowledged by census": {
			say:  []acuity.Observation{antepartum, clinical(1, 4, mews("5")), census(5, holds(4, "ap-stable", "mews-acknowledged"))},
			read: []axisReading{{5, "4 30 mews-acknowledged/2" + base}},
		},
		"BMI of 40":   {say: one(bmi("40")), read: []axisReading{{1, "4 26 ap-stable/1 high-obesity-bmi40/1"}}},
		"BMI of 39.9": {say: one(bmi("39.9")), read: off},
		"51 a newer BMI below 40": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O99.213")), clinical(10, 4, bmi("38")), clinical(20, 4, bmi("41"))},
			read: []axisReading{{0, "4 26 ap-stable/1 high-obesity-bmi40/1"}, {10, "4 20" + base}, {20, "4 26 ap-stable/1 high-obesity-bmi40/1"}},
		},
		"51 an older BMI below 40": {
			say:  []acuity.Observation{census(20, holds(4, "ap-stable", "O99.213")), clinical(30, 4, bmi("38").seen(10))},
			read: []axisReading{{30, "4 26 ap-stable/1 high-obesity-bmi40/1"}},
		},
		"another unit":           {say: one(bmi("41 cm")), read: off},
		"no unit":                {say: one(bmi("41")), read: []axisReading{{1, "4 26 ap-stable/1 high-obesity-bmi40/1"}}},
		"53 fetal movement":      {say: one(local("FETAL_MOVEMENT_DECREASED", "")), read: on("30 high-decreased-fetal-movement/1")},
		"53 no ends it":          {say: append(one(local("FETAL_MOVEMENT_DECREASED", "yes").seen(0)), clinical(1, 4, local("fetal_movement_decreased", "no"))), read: off},
		"53 second stage, false": {say: []acuity.Observation{epidural, clinical(0, 4, local("SECOND_STAGE", "")), clinical(1, 4, local("SECOND_STAGE", "false"))}, read: []axisReading{{0, "4 60 labor-active-pushing/2" + labor}, {1, "4 30" + labor}}},
		"54 on hold keeps the clock": {
			say:  []acuity.Observation{antepartum, clinical(0, 4, mag().since(0)), clinical(10, 4, mag().status(acuity.SignalOnHold)), clinical(20, 4, mag())},
			read: []axisReading{{9, "4 60 high-mag/3" + base}, {10, "4 20" + base}, {20, "4 60 high-mag/3" + base}, {60, "4 30 high-mag/3" + base}},
		},
		"25 display and start are no identity": {
			say: []acuity.Observation{antepartum, clinical(0, 4, drug("6585", "magnesium")), clinical(10, 4, drug(" 6585 ", "mag drip").since(5).off())}, read: []axisReading{{10, "4 20" + base}},
		},
		"25 two codes are two infusions": {
			say: []acuity.Observation{antepartum, clinical(0, 4, drug("6585", ""), drug("29155", "")), clinical(10, 4, drug("6585", "").off())}, read: []axisReading{{10, "4 60 high-mag/3" + base}},
		},
		"26 the newest observation wins, not the last to arrive": {
			say: []acuity.Observation{epidural, clinical(10, 4, fhr("I").seen(9)), clinical(11, 4, fhr("III").seen(5))}, read: []axisReading{{11, "4 30" + labor}},
		},
		"26 a future time is the receipt": {
			say: []acuity.Observation{antepartum, clinical(0, 4, mag().since(30).seen(30))}, read: []axisReading{{59, "4 60 high-mag/3" + base}, {60, "4 30 high-mag/3" + base}},
			answers: []string{"+high-mag !time_in_future"},
		},
		"26 an observation is ordered by its start without an observedAt": {
			say: []acuity.Observation{epidural, clinical(10, 4, fhr("I").since(9)), clinical(11, 4, fhr("III").since(5))}, read: []axisReading{{11, "4 30" + labor}},
		},
		"26 a medication is ordered by its receipt": {
			say: []acuity.Observation{antepartum, clinical(10, 4, mag().off().since(9)), clinical(11, 4, mag().since(5))}, read: []axisReading{{11, "4 60 high-mag/3" + base}, {64, "4 60 high-mag/3" + base}, {65, "4 30 high-mag/3" + base}},
		},
		"27 a later receipt corrects": {
			say: []acuity.Observation{epidural, clinical(1, 4, fhr("III").seen(0)), clinical(2, 4, fhr("I").seen(0))}, read: []axisReading{{2, "4 30" + labor}},
		},
		"27 in one request the graver wins": {
			say:  []acuity.Observation{epidural, clinical(1, 4, fhr("III").seen(0), fhr("II").seen(0), fhr("I").seen(0)), clinical(1, 4, mag(), mag().off())},
			read: []axisReading{{1, "4 120 labor-fhr-cat-iii/4 high-mag/3" + labor}},
		},
		"28 a stop without a start": {
			say:     []acuity.Observation{clinical(10, 7, mag().off().seen(10)), clinical(11, 7, mag().seen(5))},
			read:    []axisReading{{10, ""}, {11, ""}},
			answers: []string{"", "!statement_older"},
		},
		"48 past its window when it came": {
			say: []acuity.Observation{antepartum, clinical(300, 4, mews("5").seen(10))}, read: []axisReading{{300, "4 20" + base}}, answers: []string{"-mews-active"},
		},
		"48 aged out in between, told once": {
			say:     []acuity.Observation{antepartum, clinical(0, 4, mews("5")), clinical(300, 4), clinical(301, 4)},
			answers: []string{"+mews-active", "-mews-active", ""},
		},
		"48 a step is neither": {
			say: []acuity.Observation{antepartum, clinical(0, 4, mag()), clinical(70, 4, mag())}, answers: []string{"+high-mag", ""},
		},
		"59 oxytocin after birth": {
			say:  []acuity.Observation{census(0, holds(1, "pp-couplet"), holds(2, "csection-intraop"), holds(3, "pp-csection", "since=-400"), holds(4, "ap-stable")), clinical(1, 1, drug("7044", "")), clinical(1, 2, drug("7044", "")), clinical(1, 3, drug("7044", "")), clinical(1, 4, drug("", "Pitocin"))},
			read: []axisReading{{1, "1 20 pp-couplet/0; 2 120 csection-intraop/2; 3 20 pp-csection/1; 4 60 ap-stable/1 labor-induction/0"}},
		},
		"59 judged at every read": {
			say:  []acuity.Observation{antepartum, clinical(1, 4, drug("7044", "")), census(2, holds(4, "pp-couplet")), census(3, holds(4, "ap-stable"))},
			read: []axisReading{{1, "4 60 ap-stable/1 labor-induction/0"}, {2, "4 20 pp-couplet/0"}, {3, "4 60 ap-stable/1 labor-induction/0"}},
		},
		"59 a display counts with RxNorm": {
			say:  one(sign{Kind: catalogue.KindMedication, System: codes.SystemLocal, Code: "OXY", Display: "oxytocin"}),
			read: off,
		},
		"63 O99.89 exactly":   {say: []acuity.Observation{census(0, holds(4, "ap-stable", "O99.891"))}, read: []axisReading{{0, "4 20" + base}}},
		"O16.3 is O16":        {say: []acuity.Observation{census(0, holds(4, "ap-stable", "O16.3"))}, read: []axisReading{{0, "4 30 high-preeclampsia/2" + base}}},
		"O66.4 is not O66.41": {say: []acuity.Observation{census(0, holds(4, "labor-epidural", "O66.4"))}, read: []axisReading{{0, "4 30" + labor}}},
		"o1413":               {say: []acuity.Observation{census(0, holds(4, "labor-epidural", " o1413 "))}, read: []axisReading{{0, "4 60 high-preeclampsia/3" + labor}}},
		"O12 is in the range": {say: []acuity.Observation{census(0, holds(4, "ap-stable", "O12.20"))}, read: []axisReading{{0, "4 30 high-preeclampsia/2" + base}}},
		"O44.1 is hemorrhage, O44.3 nothing": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O44.13"), holds(5, "ap-stable", "O44.33"))},
			read: []axisReading{{0, "4 120 high-hemorrhage/4" + base + "; 5 20" + base}}, answers: []string{"+ap-stable +high-hemorrhage +ap-stable ?O44.33"},
		},
		"36813001": {say: []acuity.Observation{census(0, holds(4, "ap-stable", "36813001"))}, read: []axisReading{{0, "4 120 high-hemorrhage/4" + base}}},
		"a stopped signal does not end a diagnosis": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "O99.213")), clinical(1, 4, bmi("44")), clinical(2, 4, bmi("44").off())},
			read: []axisReading{{2, "4 26 ap-stable/1 high-obesity-bmi40/1"}},
		},
		"severe only in labor": {
			say:  []acuity.Observation{census(0, holds(4, "ap-stable", "46764007"), holds(5, "labor-epidural", "O11.2"), holds(6, "labor-epidural", "O13.2"))},
			read: []axisReading{{0, "4 30 high-preeclampsia/3" + base + "; 5 60 high-preeclampsia/3" + labor + "; 6 30 high-preeclampsia/2" + labor}},
		},
		"scoring invariant 7: mapped later, active without resending": {
			say:     append(one(local("BLEED7", "")), mapping(5, "m1", codes.SystemLocal, "bleed7", "high-vag-bleeding")),
			read:    []axisReading{{4, "4 20" + base}, {5, "4 60 high-vag-bleeding/3" + base}, {240, "4 60 high-vag-bleeding/3" + base}, {241, "4 20" + base}},
			answers: []string{"?BLEED7", "+high-vag-bleeding"},
		},
		"a mapping wins over the rule": {
			say:  []acuity.Observation{mapping(0, "m1", codes.ICD10CM, "O44.13", "high-placenta-previa"), census(1, holds(4, "ap-stable", "O44.13"))},
			read: []axisReading{{1, "4 30 high-placenta-previa/2" + base}},
		},
		"contract 2: the id of a factor is manual evidence": {
			say: one(manual("high-recent-trauma")), read: on("60 high-recent-trauma/3"),
		},
	})
}

// TestDecisionsCensusKeys covers docs/decisions.md#newborn-clocks, #census-keys, #explicit-primary, #census-rows.
func TestDecisionsCensusKeys(t *testing.T) {
	decide(t, map[string]decision{
		"57 no key keeps, an empty list clears": {
			say: []acuity.Observation{
				census(0, holds(4, "pp-couplet", "high-mag", "O99.213", "baby=nb-intermediate")), census(10, holds(4, "pp-couplet")),
				census(20, holds(4, "pp-couplet", "no-modifiers", "no-diagnoses", "no-babies")),
			},
			read: []axisReading{{10, "4 96 high-mag/3 nb-intermediate/1 high-obesity-bmi40/1 pp-couplet/0"}, {20, "4 20 pp-couplet/0"}},
		},
		"57 the same primary keeps its clock": {
			say:  []acuity.Observation{census(0, holds(4, "triage-initial")), census(15, holds(4, "triage-initial")), census(100, holds(4, "labor-vaginal-birth")), census(150, holds(4, "labor-vaginal-birth", "since=90"))},
			read: []axisReading{{19, "4 60 triage-initial/0"}, {20, "4 30 triage-initial/0"}, {100, "4 120 labor-vaginal-birth/1"}, {150, "4 60 labor-vaginal-birth/1"}},
		},
		"57 the clock from the time of delivery": {
			say:  []acuity.Observation{census(100, holds(4, "pp-immediate-recovery-vag", "born=0"), holds(5, "pp-recovery-stable", "born=0"), holds(6, "labor-vaginal-birth", "born=90"))},
			read: []axisReading{{119, "4 60 pp-immediate-recovery-vag/0; 5 30 pp-recovery-stable/0; 6 120 labor-vaginal-birth/1"}, {120, "4 30 pp-immediate-recovery-vag/0; 5 30 pp-recovery-stable/0; 6 120 labor-vaginal-birth/1"}, {150, "4 30 pp-immediate-recovery-vag/0; 5 30 pp-recovery-stable/0; 6 60 labor-vaginal-birth/1"}, {359, "4 30 pp-immediate-recovery-vag/0; 5 30 pp-recovery-stable/0; 6 30 labor-vaginal-birth/1 stale"}, {360, "4 20 pp-immediate-recovery-vag/0; 5 20 pp-recovery-stable/0; 6 30 labor-vaginal-birth/1 stale"}},
		},
		"57 no primary, the area table": {
			say:  []acuity.Observation{census(0, holds(4, "area=LDR"), holds(5, "area=MBU"), holds(6, "service=SUR", "area=MEDSURG"), holds(7, "class=I"))},
			read: []axisReading{{0, "4 60 labor-standard/0; 5 20 pp-couplet/0; 6 15 non-ob-holding/0; 7 60 labor-standard/0"}},
		},
		"57 a newborn never gets the primary of a mother": {
			say:  []acuity.Observation{census(0, holds(4, "class=N"), holds(5, "class=N", "area=PP", "visit=n"), holds(6, "class=N", "born=0"), holds(7, "class=N", "area=NICU"))},
			read: []axisReading{{0, "4 20 nb-continuing/0; 5 20 nb-continuing/0; 6 60 nb-stabilization/1; 7 60 nb-intensive/2"}},
		},
		"57 and X12: a row without the key keeps it": {
			say:  []acuity.Observation{census(0, holds(4, "labor-epidural", "area=LDR")), census(10, holds(4, "area=LDR")), census(20, holds(4))},
			read: []axisReading{{10, "4 30 labor-epidural/0"}, {20, "4 30 labor-epidural/0"}},
		},
		"the same factor by the table keeps its clock": {
			say:  []acuity.Observation{census(0, holds(4, "area=OBTRI")), census(15, holds(4, "area=OBTRI", "service=OBS"))},
			read: []axisReading{{19, "4 60 triage-initial/0"}, {20, "4 30 triage-initial/0"}},
		},
		"57 a census older than the one in force": {
			say:     []acuity.Observation{census(10, holds(4, "ap-stable")), late(census(5, holds(4, "labor-standard")), 20)},
			read:    []axisReading{{20, "4 20 ap-stable/1"}},
			answers: []string{"census_older !census_older"},
		},
		"57 staffing and roster older than those in force": {
			say:     []acuity.Observation{staffing(10, 5, acuity.Yes), late(staffing(5, 3, acuity.No), 20), roster(10), late(roster(5), 20)},
			answers: []string{"", "staffing_older !staffing_older", "", "roster_older !roster_older"},
		},
		"58 onset, else first seen": {
			say:  []acuity.Observation{census(100, holds(4, "pp-couplet", "O46.9@50")), census(105, holds(4, "pp-couplet", "O46.9@80"), holds(5, "pp-couplet", "O46.9")), census(130, holds(4, "pp-couplet", "O46.9"), holds(5, "pp-couplet", "O46.9"))},
			read: []axisReading{{109, "4 120 high-hemorrhage/4 pp-couplet/0; 5 120 high-hemorrhage/4 pp-couplet/0"}, {139, "4 120 high-hemorrhage/4 pp-couplet/0; 5 120 high-hemorrhage/4 pp-couplet/0"}, {140, "4 60 high-hemorrhage/3 pp-couplet/0; 5 120 high-hemorrhage/4 pp-couplet/0"}, {165, "4 60 high-hemorrhage/3 pp-couplet/0; 5 60 high-hemorrhage/3 pp-couplet/0"}},
		},
		"a future asOf is clamped": {
			say: func() []acuity.Observation {
				o := census(30, holds(4, "triage-initial"))
				return []acuity.Observation{late(o, 0)}
			}(),
			read: []axisReading{{19, "4 60 triage-initial/0"}, {20, "4 30 triage-initial/0"}}, answers: []string{"+triage-initial !time_in_future"},
		},
	})
}

func roster(at float64, nurses ...acuity.RosterNurse) acuity.Observation {
	o := said(at, acuity.ChannelRoster)
	o.Roster = &acuity.Roster{AsOf: minute(at), Nurses: nurses}
	return o
}

// Statements about the next patient of a room do not replace those about a patient who has left it, however many there
// are.
func TestDecisionsManyStatements(t *testing.T) {
	say := []acuity.Observation{
		census(0, holds(4, "labor-standard", "visit=v1")),
		clinical(1, 4, mag()),
		census(10, holds(4, "labor-standard", "visit=v2"), holds(5, "labor-standard", "visit=v1")),
		clinical(12, 4, mag()),
	}
	for i := range 2 * evidence.MaxStatements {
		at := 20 + float64(i)/10
		say = append(say, clinical(at, 4, fhr([]string{"I", "II"}[i%2]).seen(at)))
	}
	both := "4 60 high-mag/3 labor-standard/0; 5 60 high-mag/3 labor-standard/0"
	decide(t, map[string]decision{"magnesium": {say: say, read: []axisReading{
		{19, both}, {70, "4 60 high-mag/3 labor-fhr-cat-ii/2 labor-standard/0; 5 60 high-mag/3 labor-standard/0"},
	}}})
}
