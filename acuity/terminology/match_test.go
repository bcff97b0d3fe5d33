package terminology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

func factorOf(t testing.TB, id string) catalogue.Factor {
	t.Helper()
	f, ok := catalogue.FactorByID(id)
	if !ok {
		t.Fatalf("unknown factor %q", id)
	}
	return f
}

// onIDs returns the sorted ids of the factors that matches activate.
func onIDs(matches []Match) string {
	var ids []string
	for _, m := range matches {
		if m.On {
			ids = append(ids, m.Factor.ID())
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// TestDiagnosisCodes follows the table of modifiers in the specification. It checks each code, both ends of each range,
// and similar codes that must not match.
func TestDiagnosisCodes(t *testing.T) {
	const eclampsia = "high-eclampsia high-mag high-preeclampsia"
	const loss = "high-bereavement high-iufd"
	const hemorrhages = "high-hemorrhage pp-hemorrhage"
	for code, want := range map[string]string{
		"O15": eclampsia, "O15.0": eclampsia, "O15.00": eclampsia, "O15.1": eclampsia, "O15.9": eclampsia,
		"o15.02": eclampsia, "O1502": eclampsia, " O15.9 ": eclampsia,
		"O99.89": "high-mag", "O9989": "high-mag", "O99.891": "", "O99.88": "", "O99.8": "",
		"O99.21": "high-obesity-bmi40", "O99.210": "high-obesity-bmi40", "O99.214": "high-obesity-bmi40", "O99.2": "", "O99.20": "", "O99.22": "",
		"O24.0": "high-diabetes-poorly-controlled", "O24.019": "high-diabetes-poorly-controlled",
		"O24.3": "high-diabetes-poorly-controlled", "O24.32": "high-diabetes-poorly-controlled",
		"O24.1": "", "O24.2": "", "O24.4": "", "O24.410": "", "O24": "",
		"O68": "labor-fhr-cat-ii", "O68.9": "labor-fhr-cat-ii", "O67": "", "O69": "", "O76": "", "O77.0": "",
		"O14": "high-preeclampsia", "O14.0": "high-preeclampsia", "O14.13": "high-preeclampsia", "o1413": "high-preeclampsia",
		"O11": "high-preeclampsia", "O11.1": "high-preeclampsia", "O12": "high-preeclampsia", "O12.04": "high-preeclampsia",
		"O13": "high-preeclampsia", "O13.9": "high-preeclampsia", "O10": "", "O10.911": "", "O1A": "", "O09": "",
		"O16": "high-preeclampsia", "O16.3": "high-preeclampsia", "O163": "high-preeclampsia", "O17": "", "O61": "",
		"O46": "high-hemorrhage", "O46.93": "high-hemorrhage", "O45.8X1": "high-hemorrhage", "O45": "high-hemorrhage",
		"O44.1": "high-hemorrhage", "O44.13": "high-hemorrhage", "O44.0": "", "O44.2": "", "O44.31": "", "O44": "", "O47": "",
		"O72": hemorrhages, "O72.1": hemorrhages, "O71": "", "O73": "",
		"Z37.1": loss, "Z37.4": loss, "Z37.7": loss, "z371": loss, "Z37.0": "", "Z37.2": "", "Z37.3": "", "Z37.5": "", "Z37.6": "", "Z37.9": "", "Z37": "", "Z37.10": "",
		"O36.4": loss, "O36.4XX0": loss, "O36.3": "", "O36.5": "", "O36": "",
		"O99.41": "high-cardiac", "O99.411": "high-cardiac", "O99.42": "", "O99.4": "", "O99.40": "",
		"O99.51": "high-pulmonary", "O99.519": "high-pulmonary", "O99.52": "", "O99.5": "", "O99.50": "",
		"O66.41": "labor-tolac", "O6641": "labor-tolac", "O66.40": "", "O66.4": "", "O66.42": "", "O66.411": "", "O34.211": "",
		"O30": "labor-multiple-gestation", "O30.009": "labor-multiple-gestation", "O29": "", "O31": "",
		"O80": "", "O82": "", "": "", "O": "", "O1": "",
	} {
		d := acuity.Diagnosis{System: codes.ICD10CM, Code: code}
		matches, known := matchDiagnosis(&d, nil)
		if got := onIDs(matches); got != want || known != (want != "") {
			t.Errorf("ICD-10-CM %q = %q, %t, want %q", code, got, known, want)
		}
	}
	for code, want := range map[string]string{
		"432815009": "high-mag", "398254007": "high-preeclampsia", "46764007": "high-preeclampsia",
		"15938005": "high-eclampsia high-preeclampsia",
		"47821001": hemorrhages, "28766005": hemorrhages,
		"17617000": "high-hemorrhage", "36813001": "high-hemorrhage", "415105001": "high-hemorrhage",
		"276507005": "high-iufd", "237364002": "high-iufd",
		"15938004": "", "1593800": "", "159380055": "",
	} {
		matches, _ := matchDiagnosis(&acuity.Diagnosis{System: codes.SNOMED, Code: code}, nil)
		if got := onIDs(matches); got != want {
			t.Errorf("SNOMED-CT %q = %q, want %q", code, got, want)
		}
		if matches, _ := matchDiagnosis(&acuity.Diagnosis{System: codes.ICD10CM, Code: code}, nil); len(matches) > 0 {
			t.Errorf("ICD-10-CM %q matches: a code means something within its system only", code)
		}
	}
}

func TestInferredSystem(t *testing.T) {
	for code, want := range map[string]string{"O72.1": "high-hemorrhage pp-hemorrhage", "47821001": "", "O7": ""} {
		if matches, _ := matchDiagnosis(&acuity.Diagnosis{Code: code}, nil); onIDs(matches) != want {
			t.Errorf("%q without system = %q, want %q", code, onIDs(matches), want)
		}
	}
}

func TestVariantsAndCounts(t *testing.T) {
	for code, want := range map[string]string{
		"O14.10": "severe", "O14.2": "severe", "O11.9": "severe", "O14.0": "", "O14.9": "", "O13.1": "", "O16.1": "", "O15.1": "",
	} {
		matches, _ := matchDiagnosis(&acuity.Diagnosis{System: codes.ICD10CM, Code: code}, nil)
		for _, m := range matches {
			if m.Factor.ID() == "high-preeclampsia" {
				if got := catalogue.Default().Spec(m.Factor).Variants[m.Variant].Name; got != want {
					t.Errorf("%s: variant %q, want %q", code, got, want)
				}
			}
		}
	}
	for code, want := range map[string]uint8{"O30.001": 2, "O30.10": 3, "O30.119": 3, "O30.2": 4, "O30.8": 2, "O30.9": 2, "O30": 2} {
		matches, _ := matchDiagnosis(&acuity.Diagnosis{System: codes.ICD10CM, Code: code}, nil)
		if len(matches) != 1 || matches[0].Count != want {
			t.Errorf("%s: %+v, want %d babies", code, matches, want)
		}
	}
}

// TestCatalogueCodes matches the codes listed in the catalogue.
func TestCatalogueCodes(t *testing.T) {
	c := catalogue.Default()
	words := 0
	for f := catalogue.Factor(1); int(f) <= c.Len(); f++ {
		for _, r := range c.Spec(f).Routes {
			words += len(r.Words)
			for _, written := range r.Codes {
				for _, p := range codes.Patterns(r.System, written) {
					all := []string{p.Text}
					if p.Prefix {
						all = append(all, p.Text+"0", p.Text+"9XA"[:min(3, 7-len(p.Text))])
					}
					for _, code := range all {
						if got := onIDs(anything(c, &r, code)); !slices.Contains(strings.Fields(got), f.ID()) {
							t.Errorf("%s: %s %s gives %q", f.ID(), r.System, code, got)
						}
					}
				}
			}
		}
	}
	if words > 64 {
		t.Errorf("%d words of displays; an index tells 64 apart", words)
	}
}

// anything matches a code by a route: it returns the matches of a statement whose value meets the route's condition.
func anything(c *catalogue.Catalogue, r *catalogue.Route, code string) []Match {
	if r.Diagnosis {
		matches, _ := matchDiagnosis(&acuity.Diagnosis{System: r.System, Code: code}, nil)
		return matches
	}
	s := acuity.Signal{Kind: r.Kind, System: r.System, Code: code}
	switch r.Needs.Kind {
	case catalogue.NeedsNumber:
		s.Value = codes.NumberValue(r.Needs.Than, r.Needs.Unit)
	case catalogue.NeedsCategoryII:
		s.Value = codes.ParseValue("Category II")
	case catalogue.NeedsCategoryIII:
		s.Value = codes.ParseValue("Category III")
	case catalogue.NeedsPositive:
		s.Value = codes.ParseValue("Positive")
	case catalogue.NeedsNothing, catalogue.NeedsOxygen, catalogue.NeedsNotNo:
	}
	matches, _ := matchSignal(c, &s, nil)
	return matches
}

// TestSignals has one line for each statement: its kind, system, code, display name and value, and then the factors
// that the statement activates. "-" stands for none, "?" for an unreadable value, and "!" for an unmapped code.
func TestSignals(t *testing.T) {
	const critical = "high-critical-med-infusion"
	const oxygen = "high-oxygen-therapy"
	kinds := map[string]catalogue.SignalKind{"med": catalogue.KindMedication, "obs": catalogue.KindObservation, "lab": catalogue.KindLab, "dev": catalogue.KindDevice}
	for line, want := range map[string]string{
		"med|RxNorm|6585||":                               "high-mag",
		"med|RxNorm|29155||":                              "high-mag",
		"med|RxNorm| 6585 ||2 g/hr":                       "high-mag",
		"med|RxNorm|6586||":                               "!",
		"obs|RxNorm|6585||":                               "!", // a medication code does not match an observation
		"med|RxNorm|5856||":                               "high-diabetes-poorly-controlled",
		"med|RxNorm|51428||":                              "high-diabetes-poorly-controlled",
		"med|RxNorm|7044||":                               "labor-induction",
		"med|RxNorm|7824||":                               "labor-induction", // docs/decisions.md#oxytocin-codes
		"med|RxNorm|1|Pitocin 30 units/500 mL infusion|":  "labor-induction",
		"med|RxNorm|1|Oxytocin drip|":                     "labor-induction",
		"med|local|PIT|Pitocin drip|":                     "!", // a primary factor does not match by words if there is a local code
		"med|local||Pitocin drip|":                        "labor-induction",
		"med|RxNorm|1|oxytocin 10 units injection|":       "!", // a dose
		"med|RxNorm|1|Labetalol infusion|":                critical,
		"med|RxNorm|1|hydralazine|":                       critical,
		"med|RxNorm|1|HYDRALAZINE 20 mg IV push|":         "!",
		"med|RxNorm|1|nicardipine 25 mg/250 mL drip|":     critical,
		"med|RxNorm|1|nitroglycerin 400 mcg tablet|":      "!",
		"med|RxNorm|1|nitroglycerin in dextrose|":         critical,
		"med|RxNorm|1|norepinephrine 4 mg/250 mL|":        critical,
		"med|RxNorm|1|epinephrine 2 mcg/min|":             critical,
		"med|RxNorm|1|epinephrine auto-injector|":         "!",
		"med|RxNorm|1|epinephrine injection, continuous|": critical,
		"med|RxNorm|1|lidocaine / epinephrine|":           "!", // docs/decisions.md#epinephrine-words
		"med|RxNorm|1|lidocaine epinephrine infusion|":    "!",
		"med|RxNorm|1|bupivacaine with epinephrine|":      "!",
		"med|RxNorm|1|epinephrine / chlorpheniramine|":    "!",
		"med|RxNorm|1|pseudoepinephrine|":                 "!",
		"med|RxNorm|1|labetalol drip discontinued|":       "!",
		"med|RxNorm|1|labetalol drip, not infusing|":      "!",
		"obs|LOINC|1|Oxygen by non-rebreather mask|":      oxygen,
		"med|local|LAB1|labetalol drip|":                  critical, // docs/decisions.md#display-rules: any system
		"med|local||labetalol drip|":                      critical,
		"obs|LOINC|1|labetalol drip|":                     "!",

		"obs|LOINC|39156-5||40":         "high-obesity-bmi40",
		"obs|LOINC|39156-5||39.9":       "-",
		"obs|LOINC|39156-5||39.9999":    "-",
		"obs|LOINC|39156-5||41.2 kg/m2": "high-obesity-bmi40",
		"lab|LOINC|39156-5||41.2":       "high-obesity-bmi40",
		"obs|LOINC|39156-5||>=40":       "high-obesity-bmi40",
		"obs|LOINC|39156-5||>40":        "high-obesity-bmi40",
		"obs|LOINC|39156-5||>39":        "?",
		"obs|LOINC|39156-5||<40":        "-",
		"obs|LOINC|39156-5||<=40":       "?",
		"obs|LOINC|39156-5||<41":        "?",
		"obs|LOINC|39156-5||41 lb":      "?", // docs/decisions.md#missing-units
		"obs|LOINC|39156-5||41 %":       "?",
		"obs|LOINC|39156-5||obese":      "?",
		"obs|LOINC|39156-5||":           "?",
		"med|LOINC|39156-5||41":         "!",

		"obs|LOINC|32421-5||Category II":             "labor-fhr-cat-ii",
		"obs|LOINC|11949-4||Category II":             "labor-fhr-cat-ii",
		"obs|LOINC|32421-5||Category III":            "labor-fhr-cat-iii", // docs/decisions.md#category-words: not II
		"obs|LOINC|11949-4||CAT III":                 "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||Cat 3":                   "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||3":                       "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||2":                       "labor-fhr-cat-ii",
		"obs|LOINC|32421-5||II":                      "labor-fhr-cat-ii",
		"obs|LOINC|32421-5||Indeterminate":           "labor-fhr-cat-ii",
		"obs|LOINC|32421-5||Abnormal":                "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||category II, then III":   "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||Category II to III":      "labor-fhr-cat-iii",
		"obs|LOINC|32421-5||Category I":              "-",
		"obs|LOINC|32421-5||normal":                  "-",
		"obs|LOINC|32421-5||1":                       "-",
		"obs|LOINC|32421-5||4":                       "?",
		"obs|LOINC|32421-5||not abnormal":            "?",
		"obs|LOINC|32421-5||no Category III":         "?",
		"obs|LOINC|32421-5||":                        "?",
		"obs|LOINC|32421-6||Category II":             "!",
		"obs|LOINC|1|MEWS total|5":                   "mews-active",
		"obs|LOINC|1|Maternal MEOWS score|4":         "mews-active",
		"obs|LOINC|1|MEWS|3":                         "-",
		"obs|LOINC|1|MEWS|5 points":                  "mews-active",
		"obs|LOINC|1|MEWS|>=4":                       "mews-active",
		"obs|LOINC|1|MEWS|>3":                        "?",
		"obs|LOINC|1|MEWS|<4":                        "-",
		"obs|LOINC|1|MEWS|MEWS 5":                    "?",
		"obs|LOINC|1|MEWS|5/15":                      "?",
		"obs|LOINC|1|MEWS|high":                      "?",
		"obs|LOINC|1|MEWS|":                          "?",
		"obs|LOINC|1|MEWS education|5":               "!", // docs/decisions.md#mews-education
		"obs|LOINC|1|Training for MEOWS|5":           "!",
		"obs|LOINC|1|Newborn early warning (NEWS)|5": "!",
		"obs|LOINC|1|MEWSX|5":                        "!",
		"obs|local|MEWS1|MEWS total|5":               "!", // only in LOINC
		"obs|local||MEWS total score|5":              "mews-active",

		"lab|LOINC|88277-2||Positive":      "high-gbs-positive",
		"lab|LOINC|31773-6||Detected":      "high-gbs-positive",
		"obs|LOINC|88277-2||POS":           "high-gbs-positive",
		"lab|LOINC|88277-2||Not detected":  "-", // docs/decisions.md#negation-first
		"lab|LOINC|88277-2||negative":      "-",
		"lab|LOINC|88277-2||No growth":     "-",
		"lab|LOINC|88277-2||not positive":  "-",
		"lab|LOINC|88277-2||Indeterminate": "?",
		"lab|LOINC|88277-2||pending":       "?",
		"lab|LOINC|88277-2||5":             "?",
		"lab|LOINC|88277-2||":              "?",
		"lab|LOINC|88277-3||Positive":      "!",

		"obs|LOINC|3151-8|Inhaled oxygen flow rate|2 L/min":  oxygen,
		"obs|LOINC|3151-8|Inhaled oxygen flow rate|0":        "-",
		"obs|LOINC|3151-8|Inhaled oxygen flow rate|0 L/min":  "-",
		"obs|LOINC|3150-6|Inhaled oxygen concentration|40 %": oxygen,
		"obs|LOINC|3150-6|Inhaled oxygen concentration|21 %": "-",
		"obs|LOINC|3150-6|Inhaled oxygen concentration|21":   "-",
		"obs|LOINC|3150-6|Inhaled oxygen concentration|0.4":  oxygen,
		"obs|LOINC|3150-6|FiO2|0.21":                         "-",
		"obs|LOINC|3150-6|FiO2|28":                           oxygen,
		"obs|LOINC|1|Oxygen therapy|room air":                "-",
		"obs|LOINC|1|Oxygen therapy|RA":                      "-",
		"obs|LOINC|1|Oxygen therapy|none":                    "-",
		"obs|LOINC|1|Oxygen therapy|off":                     "-",
		"obs|LOINC|1|Oxygen therapy|nasal cannula":           oxygen,
		"obs|LOINC|1|Oxygen therapy|non-rebreather":          oxygen,
		"obs|LOINC|1|Oxygen therapy|":                        oxygen,
		"obs|local|O2|Oxygen therapy|":                       oxygen, // docs/decisions.md#display-rules
		"dev|LOINC|1|Oxygen device|nasal cannula":            oxygen,
		"obs|LOINC|1|Oxygen saturation|98":                   "!",
		"obs|LOINC|1|Oxygen [Partial pressure] in blood|90":  "!",
		"obs|LOINC|1|SpO2 on oxygen|98":                      "!",
		"obs|LOINC|1|Oxygen content of blood|1":              "!",
		"obs|LOINC|1|Oxygen consumption|1":                   "!",
		"obs|LOINC|1|Oxygen not in use|":                     "!",
		"med|LOINC|1|Oxygen therapy|":                        "!",

		"obs|local|FETAL_MOVEMENT_DECREASED||":      "high-decreased-fetal-movement",
		"obs|local|fetal_movement_decreased||yes":   "high-decreased-fetal-movement",
		"obs|local|FETAL_MOVEMENT_DECREASED||No":    "-",
		"obs|local|FETAL_MOVEMENT_DECREASED||false": "-",
		"obs|local|SECOND_STAGE||":                  "labor-active-pushing",
		"obs|local|SECOND_STAGE||no":                "-",
		"obs|local|ACTIVE_PUSHING||":                "labor-active-pushing",
		"obs|local|ACTIVE_PUSHING||false":           "-",
		"obs|local|SECOND_STAGES||":                 "!",
		"obs|LOINC|SECOND_STAGE||":                  "!",

		"obs|local|birth-imminent||":   "birth-imminent",
		"med|local|high-mag||":         "high-mag",
		"obs|local|labor-standard||":   "labor-standard",
		"obs|local|birth-imminent||no": "-",
		"obs|LOINC|birth-imminent||":   "!",
		"obs|SNOMED-CT|15938005||":     "!", // a diagnosis, not a signal
	} {
		p := strings.Split(line, "|")
		s := acuity.Signal{Kind: kinds[p[0]], System: codes.System(p[1]), Code: p[2], Display: p[3], Value: codes.ParseValue(p[4])}
		matches, state := matchSignal(catalogue.Default(), &s, nil)
		got := onIDs(matches)
		switch {
		case state == Unmapped:
			got = "!" + got
		case state == Unreadable:
			got = "?" + got
		case got == "":
			got = "-"
		}
		if got != want {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
		// A statement that ends a factor needs no value.
		if s.Status = acuity.SignalEnded; state == Unreadable {
			if matches, state := matchSignal(catalogue.Default(), &s, nil); state != Matched || onIDs(matches) != "" {
				t.Errorf("%s, ended = %v %v", line, matches, state)
			}
		}
	}
}

func TestVariantOfInfusion(t *testing.T) {
	for display, want := range map[string]string{
		"labetalol drip": "antihypertensive", "hydralazine": "antihypertensive", "nicardipine drip": "", "norepinephrine": "",
	} {
		matches, _ := matchSignal(catalogue.Default(), &acuity.Signal{Kind: catalogue.KindMedication, System: codes.RxNorm, Code: "1", Display: display}, nil)
		if len(matches) != 1 || catalogue.Default().Spec(matches[0].Factor).Variants[matches[0].Variant].Name != want {
			t.Errorf("%s: %+v, want variant %q", display, matches, want)
		}
	}
}

func TestMappings(t *testing.T) {
	previa, mag, mews := factorOf(t, "high-placenta-previa"), factorOf(t, "high-mag"), factorOf(t, "mews-active")
	maps := NewMappings([]acuity.Mapping{
		{System: codes.ICD10CM, Code: "O44.01", Factor: previa},
		{System: codes.ICD10CM, Code: "O76*", Factor: factorOf(t, "labor-fhr-cat-ii")},
		{System: codes.SNOMED, Code: "36813001", Factor: previa}, // takes precedence over high-hemorrhage
		{System: codes.ICD10CM, Code: "O99.89"},                  // known, but not mapped to a factor
		{System: codes.SystemLocal, Code: "mag_drip", Kind: catalogue.KindMedication, Factor: mag},
		{System: codes.SystemLocal, Code: "EWS", Kind: catalogue.KindObservation, Factor: mews, Op: codes.GreaterOrEqual, Than: 6000},
		{System: codes.SystemLocal, Code: "BLEED", Factor: factorOf(t, "high-vag-bleeding")},
		{System: codes.SystemLocal, Code: "high-mag", Factor: previa},
		{System: codes.SystemLocal, Code: "GONE", Factor: mag, Delete: true},
		{System: codes.SystemLocal, Code: "*", Factor: mag},
	})
	for line, want := range map[string]string{
		"dx|ICD-10-CM|o4401|":       "high-placenta-previa true",
		"dx|ICD-10-CM|O44.02|":      " false",
		"dx|ICD-10-CM|O76.1|":       "labor-fhr-cat-ii true",
		"dx||O76|":                  "labor-fhr-cat-ii true",
		"dx|SNOMED-CT|36813001|":    "high-placenta-previa true",
		"dx|ICD-10-CM|O99.89|":      " true",
		"dx|local|BLEED|":           "high-vag-bleeding true",
		"dx|local|MAG_DRIP|":        " false",
		"med|local|MAG_DRIP|":       "high-mag true",
		"obs|local|MAG_DRIP|":       " false",
		"obs|local|EWS|6":           "mews-active true",
		"lab|local|ews|5":           " true",
		"obs|local|BLEED|":          "high-vag-bleeding true",
		"obs|local|BLEED|no":        " true",
		"obs|local|high-mag|":       "high-placenta-previa true",
		"med|local|GONE|":           " false",
		"obs|local|something else|": " false",
	} {
		p := strings.Split(line, "|")
		var matches []Match
		var known bool
		if p[0] == "dx" {
			matches, known = matchDiagnosis(&acuity.Diagnosis{System: codes.System(p[1]), Code: p[2]}, maps)
		} else {
			kind := map[string]catalogue.SignalKind{"med": catalogue.KindMedication, "obs": catalogue.KindObservation, "lab": catalogue.KindLab}[p[0]]
			var state MatchState
			matches, state = matchSignal(catalogue.Default(), &acuity.Signal{Kind: kind, System: codes.System(p[1]), Code: p[2], Value: codes.ParseValue(p[3])}, maps)
			known = state != Unmapped
		}
		if got := fmt.Sprint(onIDs(matches), " ", known); got != want {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
		for _, m := range matches {
			if m.Kind != acuity.ByLocalRule {
				t.Errorf("%s: evidence %d", line, m.Kind)
			}
		}
	}
	if _, state := matchSignal(catalogue.Default(), &acuity.Signal{Kind: catalogue.KindObservation, System: codes.SystemLocal, Code: "EWS", Value: codes.ParseValue("bad")}, maps); state != Unreadable {
		t.Errorf("a mapped number that is none: %v", state)
	}
}

// matchSignal returns the matches and the match state of a clinical statement.
func matchSignal(c *catalogue.Catalogue, s *acuity.Signal, maps *Mappings) ([]Match, MatchState) {
	r := MatchText(c, TextOf(s, ""), maps)
	return r.Matches, r.Known()
}
