package catalogue

import (
	"strings"
	"testing"
	"time"

	"svc/acuity/codes"
)

func mustFactor(t testing.TB, id string) Factor {
	t.Helper()
	f, ok := FactorByID(id)
	if !ok {
		t.Fatalf("unknown factor %q", id)
	}
	return f
}

func TestCatalogueHasTheCountsOfTheSpecification(t *testing.T) {
	c := Default()
	var primaries, modifiers, diagnosis, signal, site, both int
	perSection := map[Section]int{}
	for f := Factor(1); int(f) <= c.Len(); f++ {
		s := c.Spec(f)
		if got, ok := FactorByID(s.ID); !ok || got != f {
			t.Errorf("%s is factor %d, by its id %d", s.ID, f, got)
		}
		perSection[s.Section]++
		if s.Primary {
			primaries++
			continue
		}
		modifiers++
		var byDiagnosis, bySignal bool
		for _, r := range s.Routes {
			byDiagnosis, bySignal = byDiagnosis || r.Diagnosis, bySignal || !r.Diagnosis
		}
		switch {
		case byDiagnosis && bySignal:
			both++
			diagnosis++
			signal++
		case byDiagnosis:
			diagnosis++
		case bySignal:
			signal++
		default:
			site++
		}
	}
	got := [...]int{primaries, modifiers, diagnosis, signal, site, both}
	if want := [...]int{38, 42, 14, 11, 21, 4}; got != want {
		t.Errorf("primaries, modifiers, by diagnosis, by signal, site, both = %v, want %v", got, want)
	}
	want := map[Section]int{
		sectionTriage: 6, sectionAntepartum: 3, sectionLabor: 7, sectionCesarean: 3, sectionOR: 6, sectionPostpartum: 6,
		sectionNewborn: 6, sectionOther: 1, sectionHighRisk: 26, sectionLaborModifiers: 8, sectionPostpartumModifiers: 2,
		sectionNewbornModifiers: 2, sectionEnvironment: 4,
	}
	for s, n := range want {
		if perSection[s] != n {
			t.Errorf("section %q has %d factors, want %d", s, perSection[s], n)
		}
	}
}

// specifiedRoutes lists the routes of each factor in the specification's order: kind (d diagnosis, m medication, o
// observation, l lab), code system, codes and any condition on the value.
var specifiedRoutes = map[string]string{
	"high-mag":                        "d ICD-10-CM O15* O99.89 | d SNOMED-CT 432815009 | m RxNorm 6585 29155",
	"high-obesity-bmi40":              "d ICD-10-CM O99.21* | o LOINC 39156-5 >=40",
	"high-diabetes-poorly-controlled": "d ICD-10-CM O24.0* O24.3* | m RxNorm 5856 51428",
	"labor-fhr-cat-ii":                "d ICD-10-CM O68* | o LOINC 32421-5 11949-4 II",
	"high-preeclampsia":               "d ICD-10-CM O14* O11-O13 O16 O15* | d SNOMED-CT 398254007 15938005 46764007",
	"high-eclampsia":                  "d ICD-10-CM O15* | d SNOMED-CT 15938005",
	"high-hemorrhage":                 "d ICD-10-CM O46* O72* O44.1* O45* | d SNOMED-CT 47821001 28766005 17617000 36813001 415105001",
	"pp-hemorrhage":                   "d ICD-10-CM O72* | d SNOMED-CT 47821001 28766005",
	"high-iufd":                       "d ICD-10-CM Z37.1 Z37.4 Z37.7 O36.4* | d SNOMED-CT 276507005 237364002",
	"high-bereavement":                "d ICD-10-CM Z37.1 Z37.4 Z37.7 O36.4*",
	"high-cardiac":                    "d ICD-10-CM O99.41*",
	"high-pulmonary":                  "d ICD-10-CM O99.51*",
	"labor-tolac":                     "d ICD-10-CM O66.41",
	"labor-multiple-gestation":        "d ICD-10-CM O30*",
	"high-critical-med-infusion":      "m RxNorm ~nicardipine ~nitroglycerin ~norepinephrine ~epinephrine | m RxNorm ~labetalol ~hydralazine",
	"labor-fhr-cat-iii":               "o LOINC 32421-5 11949-4 III",
	"mews-active":                     "o LOINC ~MEWS ~MEOWS >=4",
	"high-gbs-positive":               "l LOINC 88277-2 31773-6 positive",
	"high-oxygen-therapy":             "o LOINC ~oxygen ~FiO2 oxygen",
	"high-decreased-fetal-movement":   "o local FETAL_MOVEMENT_DECREASED unless-no",
	"labor-active-pushing":            "o local SECOND_STAGE ACTIVE_PUSHING unless-no",
	"labor-induction":                 "m RxNorm 7044 7824 | m RxNorm ~oxytocin ~pitocin",
}

func TestRoutesAreThoseOfTheSpecification(t *testing.T) {
	c := Default()
	needs := map[ConditionKind]string{NeedsCategoryII: " II", NeedsCategoryIII: " III", NeedsPositive: " positive", NeedsOxygen: " oxygen", NeedsNotNo: " unless-no"}
	for f := Factor(1); int(f) <= c.Len(); f++ {
		s := c.Spec(f)
		var got []string
		before := ""
		for _, r := range s.Routes {
			if r.Refines {
				continue
			}
			head := map[SignalKind]string{0: "d", KindMedication: "m", KindObservation: "o", KindLab: "l"}[r.Kind] + " " + string(r.System)
			listed := " " + strings.Join(r.Codes, " ")
			if r.Words != nil {
				listed, head = " ~"+strings.Join(r.Words, " ~"), head+"~"
			}
			need := needs[r.Needs.Kind]
			if r.Needs.Kind == NeedsNumber {
				need = " >=" + map[codes.Milli]string{4000: "4", 40000: "40"}[r.Needs.Than]
			}
			if head == before && r.Variant == 0 { // consecutive lines with the same system are one entry
				got[len(got)-1] += listed + need
			} else {
				got = append(got, strings.TrimSuffix(head, "~")+listed+need)
			}
			before = head
		}
		if text := strings.Join(got, " | "); text != specifiedRoutes[s.ID] {
			t.Errorf("%s:\n got %q\nwant %q", s.ID, text, specifiedRoutes[s.ID])
		}
	}
}

func TestEveryNumberNamesItsSource(t *testing.T) {
	owed := map[string]bool{
		"demand": true, "track": true, "with-mother": true, "boarder": true, "class": true, "stale": true, "inside": true,
		"track-floor": true, "per-baby": true, "add": true, "window": true, "ends": true, "silent": true, "mark": true,
		"twin": true, "route": true, "when": true, "babies": true, "floor": true,
	}
	number := 0
	for l := range strings.Lines(catalogueText) {
		number++
		bare, source, _ := strings.Cut(l, "#")
		if words := strings.Fields(bare); len(words) > 0 && owed[words[0]] && strings.TrimSpace(source) == "" {
			t.Errorf("line %d gives no source: %s", number, l)
		}
	}
}

func TestCatalogueNumbers(t *testing.T) {
	c := Default()
	at := func(id string, variant uint8, age time.Duration) [2]int {
		need, class, _ := c.Requirement(mustFactor(t, id), variant).Need.At(1_000, codes.Instant(1_000).Add(age))
		return [2]int{int(need), int(class)}
	}
	cases := map[string]struct{ got, want [2]int }{
		"mag 59":             {at("high-mag", 0, 59*time.Minute), [2]int{60, 3}},
		"mag 60":             {at("high-mag", 0, 60*time.Minute), [2]int{30, 3}},
		"hemorrhage 3 h":     {at("high-hemorrhage", 0, 3*time.Hour), [2]int{60, 3}},
		"hemorrhage 24 h":    {at("high-hemorrhage", 0, 24*time.Hour), [2]int{0, 1}},
		"eclampsia 24 h":     {at("high-eclampsia", 0, 24*time.Hour), [2]int{60, 3}},
		"insulin":            {at("high-diabetes-poorly-controlled", 1, 0), [2]int{60, 3}},
		"diabetes":           {at("high-diabetes-poorly-controlled", 0, 0), [2]int{0, 2}},
		"labetalol":          {at("high-critical-med-infusion", 1, 0), [2]int{60, 3}},
		"pressor":            {at("high-critical-med-infusion", 0, 0), [2]int{60, 4}},
		"severe preeclampsa": {at("high-preeclampsia", 1, 0), [2]int{30, 3}},
		"birth 419 min":      {at("labor-vaginal-birth", 0, 419*time.Minute), [2]int{30, 1}},
		"birth 420 min":      {at("labor-vaginal-birth", 0, 420*time.Minute), [2]int{20, 1}},
	}
	for name, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
	if n, _ := c.Window(mustFactor(t, "labor-fhr-cat-ii"), 0, true); n != 0 {
		t.Errorf("a diagnosis of Category II ends after %v", n)
	}
	if n, last := c.Window(mustFactor(t, "labor-fhr-cat-ii"), 0, false); n != 4*time.Hour || !last {
		t.Errorf("a signal of Category II ends after %v", n)
	}
}

func TestVersionFollowsNumbersAndNotComments(t *testing.T) {
	version := func(text string) string {
		c, err := parseCatalogue(text)
		if err != nil {
			t.Fatal(err)
		}
		return c.Version()
	}
	if version(catalogueText+"# a word\n") != Default().Version() {
		t.Error("a comment changes the version")
	}
	if version(strings.Replace(catalogueText, "stale      36h", "stale      35h", 1)) == Default().Version() {
		t.Error("a number does not change the version")
	}
}

func TestCatalogueFaults(t *testing.T) {
	const head = "version 1\nmodifier a\n label A\n section Labor modifiers\n criteria x\n"
	cases := map[string]struct{ text, want string }{
		"no version":      {"modifier a\n", "no version"},
		"unknown word":    {head + " class 1\n flor 1\n", "line 7: flor: unknown word"},
		"twice":           {head + " class 1\n class 1\n", "line 7: class: is listed twice"},
		"not in 60ths":    {head + " class 1\n floor 0.33\n", "line 7: floor: \"0.33\" is not a whole number of 60ths"},
		"no class":        {head + " floor 1\n", "has no class"},
		"class 5":         {head + " class 5\n", "line 6: class"},
		"stat too low":    {head + " class 4\n floor 1/2\n", "class 4 requires at least one nurse"},
		"falling ends":    {head + " class 1\n floor 1 until 2h, 1/2 until 1h, 0\n", "the ends of the steps must increase"},
		"open step":       {head + " class 1\n floor 1 until 2h\n", "every step except the last"},
		"no such section": {head + " class 1\n floor 1 in Nowhere\n", "not a section"},
		"two of one id":   {head + " class 1\nmodifier a\n", "is listed twice"},
		"of a primary":    {head + " class 1\n demand 1\n", "not valid for this kind of factor"},
		"no such system":  {head + " class 1\n route diagnosis ICD-9 640\n", "must have a kind, a system and codes"},
		"no such factor":  {head + " class 1\n silent 60m becomes b\n", "must be a duration, the word \"becomes\" and a factor"},
		"outside a block": {"version 1\nclass 1\n", "line 2: class: is outside a block"},
	}
	for name, tc := range cases {
		if _, err := parseCatalogue(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
