package hospital_test

import (
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/hospital/hospitaltest"
)

// The table lists each code in the specification's default routes, with its effect on a patient in labor, and similar
// codes that have no effect.
func TestDecisionsCodes(t *testing.T) {
	const o15 = "high-eclampsia high-mag high-preeclampsia"
	for text, want := range map[string]string{
		"O15.00": o15, "O15": o15, "O15.9": o15, "O99.89": "high-mag", "432815009": "high-mag", "O99.8": "",
		"O99.210": "high-obesity-bmi40", "O99.213": "high-obesity-bmi40", "O99.2": "",
		"O24.011": "high-diabetes-poorly-controlled", "O24.319": "high-diabetes-poorly-controlled", "O24.410": "", "O24.111": "",
		"O68": "labor-fhr-cat-ii", "O68.1": "labor-fhr-cat-ii", "O76": "", "O77.0": "",
		"O14.00": "high-preeclampsia", "O14.13": "high-preeclampsia", "O11": "high-preeclampsia", "O11.9": "high-preeclampsia",
		"O12.00": "high-preeclampsia", "O13.3": "high-preeclampsia", "O16": "high-preeclampsia", "O16.9": "high-preeclampsia", "O10.011": "",
		"398254007": "high-preeclampsia", "46764007": "high-preeclampsia", "15938005": "high-eclampsia high-preeclampsia",
		"O46.001": "high-hemorrhage", "O44.10": "high-hemorrhage", "O45.8X1": "high-hemorrhage", "O44.00": "", "O44.30": "", "O44.50": "", "O67.0": "",
		"O72.0": "high-hemorrhage pp-hemorrhage", "O72.1": "high-hemorrhage pp-hemorrhage",
		"47821001": "high-hemorrhage pp-hemorrhage", "28766005": "high-hemorrhage pp-hemorrhage",
		"17617000": "high-hemorrhage", "36813001": "high-hemorrhage", "415105001": "high-hemorrhage",
		"O36.4XX0": "high-bereavement high-iufd", "O36.5930": "", "276507005": "high-iufd", "237364002": "high-iufd",
		"O99.411": "high-cardiac", "O99.42": "", "O99.511": "high-pulmonary", "O99.52": "",
		"O66.41": "labor-tolac", "O66.4": "", "O66.411": "", "O66.40": "",
		"O30.001": "labor-multiple-gestation", "O30.9": "labor-multiple-gestation", "O31.10X0": "",
		"Z37.1": "high-bereavement high-iufd", "Z37.4": "high-bereavement high-iufd", "Z37.7": "high-bereavement high-iufd", "Z37.0": "", "Z37.10": "",
	} {
		says(t, text, census(0, holds(4, "labor-epidural", text)), want)
	}
	for name, row := range map[string]struct {
		s    sign
		want string
	}{
		"6585":            {drug("6585", ""), "high-mag"},
		"29155":           {drug("29155", ""), "high-mag"},
		"65850":           {drug("65850", ""), ""},
		"5856":            {drug("5856", ""), "high-diabetes-poorly-controlled"},
		"51428":           {drug("51428", ""), "high-diabetes-poorly-controlled"},
		"7044":            {drug("7044", ""), "labor-induction"},
		"7824":            {drug("7824", ""), "labor-induction"},
		"39156-5":         {loinc("39156-5", "", "40"), "high-obesity-bmi40"},
		"32421-5, II":     {loinc("32421-5", "", "Category II"), "labor-fhr-cat-ii"},
		"11949-4, II":     {loinc("11949-4", "", "Category II"), "labor-fhr-cat-ii"},
		"32421-5, III":    {loinc("32421-5", "", "Category III"), "labor-fhr-cat-iii"},
		"11949-4, III":    {loinc("11949-4", "", "Category III"), "labor-fhr-cat-iii"},
		"88277-2":         {loinc("88277-2", "", "positive"), "high-gbs-positive"},
		"31773-6":         {loinc("31773-6", "", "positive"), "high-gbs-positive"},
		"nicardipine":     {drug("", "nicardipine"), "high-critical-med-infusion"},
		"nitroglycerin":   {drug("", "nitroglycerin infusion"), "high-critical-med-infusion"},
		"norepinephrine":  {drug("", "norepinephrine"), "high-critical-med-infusion"},
		"epinephrine":     {drug("", "epinephrine infusion"), "high-critical-med-infusion"},
		"labetalol":       {drug("", "labetalol"), "high-critical-med-infusion"},
		"hydralazine":     {drug("", "hydralazine"), "high-critical-med-infusion"},
		"movement":        {local("FETAL_MOVEMENT_DECREASED", ""), "high-decreased-fetal-movement"},
		"second stage":    {local("SECOND_STAGE", ""), "labor-active-pushing"},
		"pushing":         {local("ACTIVE_PUSHING", ""), "labor-active-pushing"},
		"O15 as a signal": {sign{Kind: catalogue.KindObservation, System: codes.SNOMED, Code: "15938005"}, ""},
	} {
		says(t, name, clinical(1, 4, row.s), row.want)
	}
}

// says checks which factors an observation adds to a patient in labor.
func says(t *testing.T, name string, o acuity.Observation, want string) {
	t.Helper()
	f := hospitaltest.Fold([]acuity.Observation{census(0, holds(4, "labor-epidural")), o}, o.ReceivedAt)
	var got []string
	for i := range f.Verdict.Rooms[0].Factors {
		if id := f.Verdict.Rooms[0].Factors[i].Factor.ID(); id != "labor-epidural" {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	if strings.Join(got, " ") != want {
		t.Errorf("%s: got %v, want %s", name, got, want)
	}
}
