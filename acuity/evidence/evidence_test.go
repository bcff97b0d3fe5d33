package evidence

import (
	"slices"
	"testing"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

const (
	mag     = "med|RxNorm|6585||"
	bag     = "med|RxNorm|29155||"
	oxy     = "med|RxNorm|7044||"
	fhr     = "obs|LOINC|32421-5||"
	fhr2    = "obs|LOINC|11949-4||"
	bmi     = "obs|LOINC|39156-5||"
	mews    = "obs|LOINC|1|MEWS|"
	mews2   = "obs|LOINC|2|MEOWS score|"
	ack     = "obs|local|mews-acknowledged||"
	catII   = "Category II"
	catIII  = "Category III"
	catI    = "Category I"
	stopped = "|stop"
)

func TestEvidence(t *testing.T) {
	type coded struct {
		code  string
		start int
	}
	for name, test := range map[string]struct {
		signals   []statedAt
		diagnoses []coded
		listed    map[string][2]int
		primary   string
		maps      []acuity.Mapping
		want      string
	}{
		"nothing": {},
		"O15 is three factors": {
			diagnoses: []coded{{"O15.1", 5}},
			want:      "high-mag diagnosis 5..5, high-preeclampsia diagnosis 5..5, high-eclampsia diagnosis 5..5",
		},
		"19, X6: the infusion replaces magnesium by diagnosis": {
			diagnoses: []coded{{"O15.1", 5}},
			signals:   []statedAt{{at: 20, line: mag}},
			want:      "high-mag signal 20..20, high-preeclampsia diagnosis 5..5, high-eclampsia diagnosis 5..5",
		},
		"19, X6: for good, also after the stop": {
			diagnoses: []coded{{"O15.1", 5}},
			signals:   []statedAt{{at: 20, line: mag}, {at: 30, line: mag + stopped}},
			want:      "high-preeclampsia diagnosis 5..5, high-eclampsia diagnosis 5..5",
		},
		"19: an infusion entered in error was never known": {
			diagnoses: []coded{{"O99.89", 5}},
			signals:   []statedAt{{at: 20, line: mag}, {at: 25, line: mag}, {at: 30, line: mag + "|error"}},
			want:      "high-mag diagnosis 5..5",
		},
		"19: one that ran before the error was known": {
			diagnoses: []coded{{"O99.89", 5}},
			signals:   []statedAt{{at: 20, line: mag}, {at: 25, line: mag + stopped}, {at: 30, line: mag}, {at: 31, line: mag + "|error"}},
		},
		"19: a lone stop is known, too": {
			diagnoses: []coded{{"O99.89", 5}},
			signals:   []statedAt{{at: 20, line: mag + stopped}},
		},
		"a stopped signal does not end a diagnosis": {
			diagnoses: []coded{{"O99.214", 5}},
			signals:   []statedAt{{at: 20, line: bmi + "44"}, {at: 30, line: bmi + stopped}},
			want:      "high-obesity-bmi40 diagnosis 5..5",
		},
		"20: diabetes by both is two pieces of evidence": {
			diagnoses: []coded{{"O24.3", 5}},
			signals:   []statedAt{{at: 20, line: "med|RxNorm|5856||"}},
			want:      "high-diabetes-poorly-controlled signal 20..20, high-diabetes-poorly-controlled diagnosis 5..5",
		},
		"25: two codes of one drug are two sources": {
			signals: []statedAt{{at: 1, line: mag}, {at: 5, line: bag}, {at: 9, line: mag + stopped}},
			want:    "high-mag signal 5..5",
		},
		"25: local codes in any case are one identity": {
			signals: []statedAt{{at: 1, line: "obs|local|SECOND_STAGE"}, {at: 5, line: "obs|local| second_stage ||" + stopped}},
		},
		"25: FHR is one identity over both codes": {
			signals: []statedAt{{at: 1, line: fhr + catII}, {at: 5, line: fhr2 + catI}},
		},
		"25: MEWS is one identity, also without the display that tells": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 3, line: mews2 + "7"}, {at: 5, line: "obs|LOINC|1||" + stopped}},
		},
		"25: a stop needs no display": {
			signals: []statedAt{{at: 1, line: "med|RxNorm|6185|labetalol drip"}, {at: 5, line: "med|RxNorm|6185||" + stopped}},
		},
		"25, 55: a medication and an observation of one code are two": {
			signals: []statedAt{{at: 1, line: mag}, {at: 5, line: "obs|RxNorm|6585||" + stopped}},
			want:    "high-mag signal 1..1",
		},
		"26: the clock of a drug runs from its start": {
			signals: []statedAt{{at: 50, line: mag, observed: 45, started: 10}},
			want:    "high-mag signal 10..45",
		},
		"26: that of anything else from the observation": {
			signals: []statedAt{{at: 50, line: fhr + catII, observed: 45, started: 10}, {at: 60, line: "obs|local|SECOND_STAGE", started: 12}},
			want:    "labor-fhr-cat-ii signal 45..45, labor-active-pushing signal 12..12",
		},
		"26: no time lies after the receipt": {
			signals: []statedAt{{at: 50, line: mag, observed: 70, started: 80}},
			want:    "high-mag signal 50..50",
		},
		"26: a drug is ordered by observation and receipt, not by its start": {
			signals: []statedAt{{at: 5, line: mag + stopped}, {at: 6, line: mag, started: 1}},
			want:    "high-mag signal 1..6",
		},
		"1: the earliest start of the run counts": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag, started: 4}, {at: 30, line: mag, started: 15}},
			want:    "high-mag signal 4..30",
		},
		"1: a new run begins after a stop": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag + stopped}, {at: 30, line: mag}},
			want:    "high-mag signal 30..30",
		},
		"1: a gap below the window carries on": {
			signals: []statedAt{{at: 0, line: mews + "5"}, {at: 239, line: mews + "5"}},
			want:    "mews-active signal 0..239",
		},
		"1: a gap of the window begins a new run": {
			signals: []statedAt{{at: 0, line: mews + "5"}, {at: 240, line: mews + "5"}},
			want:    "mews-active signal 240..240",
		},
		"1: a lower score is a stop": {
			signals: []statedAt{{at: 0, line: mews + "5"}, {at: 10, line: mews + "2"}, {at: 20, line: mews + "5"}},
			want:    "mews-active signal 20..20",
		},
		"27: at equal times the later receipt corrects": {
			signals: []statedAt{{at: 10, line: fhr + catIII, observed: 5}, {at: 12, line: fhr + catI, observed: 5}},
		},
		"27: within one request the graver wins": {
			signals: []statedAt{
				{at: 10, line: fhr + catI, observed: 5},
				{at: 10, line: fhr2 + catIII, observed: 5},
				{at: 10, line: fhr + catII, observed: 5},
				{at: 10, line: mag + stopped, observed: 5},
				{at: 10, line: mag, observed: 5},
			},
			want: "high-mag signal 5..5, labor-fhr-cat-iii signal 5..5",
		},
		"27: of two starts in one request the earlier": {
			signals: []statedAt{{at: 10, line: mag, observed: 9, started: 7}, {at: 10, line: mag, observed: 9, started: 3}},
			want:    "high-mag signal 3..9",
		},
		"28: a stop without a start": {
			signals: []statedAt{{at: 10, line: oxy + stopped}, {at: 12, line: oxy, observed: 5}},
		},
		"older never overrides": {
			signals: []statedAt{{at: 10, line: fhr + catII, observed: 8}, {at: 12, line: fhr + catI, observed: 5}},
			want:    "labor-fhr-cat-ii signal 8..8",
		},
		"unreadable changes nothing": {
			signals: []statedAt{{at: 10, line: fhr + catII}, {at: 12, line: fhr + "not abnormal"}, {at: 14, line: mews + "?"}},
			want:    "labor-fhr-cat-ii signal 10..10",
		},
		"on hold is off": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag + "|hold"}},
		},
		"on hold keeps the clock": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag + "|hold"}, {at: 500, line: mag}},
			want:    "high-mag signal 10..500",
		},
		"a stop after the hold does not": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag + "|hold"}, {at: 30, line: mag + stopped}, {at: 40, line: mag}},
			want:    "high-mag signal 40..40",
		},
		"entered in error ends it": {
			signals: []statedAt{{at: 10, line: mag}, {at: 20, line: mag + "|error"}},
		},
		"an observation taken back was never made": {
			signals: []statedAt{
				{at: 10, line: fhr + catIII},
				{at: 15, line: fhr + catI, observed: 14},
				{at: 20, line: fhr + "|error", observed: 14},
			},
			want: "labor-fhr-cat-iii signal 10..10",
		},
		"17: III silent for 60 min is a II": {
			signals: []statedAt{{at: 0, line: fhr + catIII}, {at: 70, line: fhr + catII}},
			want:    "labor-fhr-cat-ii signal 60..70",
		},
		"17: but not before": {
			signals: []statedAt{{at: 0, line: fhr + catIII}, {at: 59, line: fhr + catII}},
			want:    "labor-fhr-cat-ii signal 59..59",
		},
		"17: III again after that is a new III": {
			signals: []statedAt{{at: 0, line: fhr + catIII}, {at: 60, line: fhr + catIII}},
			want:    "labor-fhr-cat-iii signal 60..60",
		},
		"II and III exclude each other": {
			signals: []statedAt{{at: 0, line: fhr + catII}, {at: 5, line: fhr + catIII}},
			want:    "labor-fhr-cat-iii signal 5..5",
		},
		"18: a later Category I suppresses O68": {
			diagnoses: []coded{{"O68", 5}},
			signals:   []statedAt{{at: 6, line: fhr + catI}},
		},
		"18: for the rest of the episode; a II counts by itself": {
			diagnoses: []coded{{"O68", 5}},
			signals:   []statedAt{{at: 6, line: fhr + catI}, {at: 9, line: fhr2 + catII}},
			want:      "labor-fhr-cat-ii signal 9..9",
		},
		"18: an earlier one does not": {
			diagnoses: []coded{{"O68", 5}},
			signals:   []statedAt{{at: 5, line: fhr + catI}},
			want:      "labor-fhr-cat-ii diagnosis 5..5",
		},
		"18: nor one taken back": {
			diagnoses: []coded{{"O68", 5}},
			signals:   []statedAt{{at: 6, line: fhr + catI}, {at: 8, line: fhr + "|error"}},
			want:      "labor-fhr-cat-ii diagnosis 5..5",
		},
		"18: an end is not a Category I": {
			diagnoses: []coded{{"O68", 5}},
			signals:   []statedAt{{at: 6, line: fhr + catII}, {at: 8, line: fhr + stopped}},
			want:      "labor-fhr-cat-ii diagnosis 5..5",
		},
		"Category I also clears what was entered by hand": {
			signals: []statedAt{{at: 1, line: "obs|local|labor-fhr-cat-iii"}, {at: 6, line: fhr + catI}},
		},
		"51: a newer BMI below 40 suppresses the code": {
			diagnoses: []coded{{"O99.21", 5}},
			signals:   []statedAt{{at: 6, line: bmi + "39"}},
		},
		"51: not an older one": {
			diagnoses: []coded{{"O99.21", 5}},
			signals:   []statedAt{{at: 9, line: bmi + "39", observed: 5}},
			want:      "high-obesity-bmi40 diagnosis 5..5",
		},
		"51: until a BMI of 40": {
			diagnoses: []coded{{"O99.21", 5}},
			signals:   []statedAt{{at: 6, line: bmi + "39"}, {at: 9, line: bmi + "40"}},
			want:      "high-obesity-bmi40 signal 9..9, high-obesity-bmi40 diagnosis 5..5",
		},
		"49: acknowledged": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 3, line: ack}},
			want:    "mews-acknowledged manual 3..3",
		},
		"49: at the same time": {
			signals: []statedAt{{at: 3, line: mews + "6"}, {at: 3, line: ack}},
			want:    "mews-acknowledged manual 3..3",
		},
		"49: a later score starts anew": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 3, line: ack}, {at: 9, line: mews + "4"}},
			want:    "mews-active signal 9..9, mews-acknowledged manual 3..3",
		},
		"49: by the first census that lists it": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 5, line: mews2 + "6"}},
			listed:  map[string][2]int{"mews-acknowledged": {3, 8}},
			want:    "mews-active signal 5..5, mews-acknowledged census 3..8",
		},
		"49: one entered in error acknowledges nothing": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 3, line: ack}, {at: 4, line: ack + "|error"}},
			want:    "mews-active signal 1..1",
		},
		"49: one that ended did": {
			signals: []statedAt{{at: 1, line: mews + "6"}, {at: 3, line: ack}, {at: 4, line: ack + stopped}},
		},
		"49: the warning by census, too": {
			signals: []statedAt{{at: 3, line: ack}},
			listed:  map[string][2]int{"mews-active": {1, 8}},
			want:    "mews-acknowledged manual 3..3",
		},
		"53: no ends the mark": {
			signals: []statedAt{{at: 1, line: "obs|local|SECOND_STAGE"}, {at: 3, line: "obs|local|SECOND_STAGE||no"}},
		},
		"a negative result ends the positive one": {
			signals: []statedAt{{at: 1, line: "lab|LOINC|88277-2||positive"}, {at: 3, line: "lab|LOINC|88277-2||not detected"}},
		},
		"23: room air ends oxygen": {
			signals: []statedAt{{at: 1, line: "obs|LOINC|3151-8|Oxygen flow|2 L/min"}, {at: 3, line: "obs|LOINC|3151-8|Oxygen flow|room air"}},
		},
		"oxytocin is an induction that stacks": {
			signals: []statedAt{{at: 1, line: oxy}},
			primary: "labor-standard",
			want:    "labor-standard adt 0..0, labor-induction signal 1..1",
		},
		"59: not in Postpartum": {
			signals: []statedAt{{at: 1, line: oxy}},
			primary: "pp-couplet",
			want:    "pp-couplet adt 0..0",
		},
		"59: not in Cesarean": {
			signals: []statedAt{{at: 1, line: oxy}},
			primary: "pp-csection",
			want:    "pp-csection adt 0..0",
		},
		"59: but in the operating room": {
			signals: []statedAt{{at: 1, line: oxy}},
			primary: "or-cerclage-placement",
			want:    "labor-induction signal 1..1, or-cerclage-placement adt 0..0",
		},
		"manual evidence of a primary": {
			signals: []statedAt{{at: 1, line: "obs|local|labor-induction"}},
			primary: "pp-couplet",
			want:    "labor-induction manual 1..1, pp-couplet adt 0..0",
		},
		"a mapping acts on what was said before it": {
			signals:   []statedAt{{at: 1, line: "obs|local|NITROUS"}},
			diagnoses: []coded{{"O44.0", 5}},
			maps: []acuity.Mapping{
				{System: codes.SystemLocal, Code: "nitrous", Factor: 71},
				{System: codes.ICD10CM, Code: "O44.0", Factor: 71},
			},
			want: catalogue.Factor(71).ID() + " site 1..1, " + catalogue.Factor(71).ID() + " site 5..5",
		},
		"an unknown code says nothing": {
			signals:   []statedAt{{at: 1, line: "obs|local|NITROUS"}},
			diagnoses: []coded{{"O44.0", 5}},
		},
		"46: modifiers of the census": {
			listed: map[string][2]int{"env-interpreter": {0, 30}},
			want:   "env-interpreter census 0..30",
		},
		"FHIR: a change of the bag is one infusion": {
			signals: []statedAt{
				{at: 10, line: mag, of: "bag1"},
				{at: 20, line: mag + stopped, of: "bag1"},
				{at: 35, line: mag, of: "bag2"},
			},
			want: "high-mag signal 10..35",
		},
		"of an observation the newest version counts": {
			signals: []statedAt{{at: 10, line: fhr + catII, of: "r", made: 10}, {at: 12, line: fhr + catI, of: "r", made: 9}},
			want:    "labor-fhr-cat-ii signal 10..10",
		},
		"a retraction takes back its resource alone": {
			signals: []statedAt{{at: 10, line: fhr + catII, of: "r", made: 10}, {at: 11, line: mews + "5", of: "s", made: 11}, {at: 20, line: fhr + "|error", of: "r", made: 20}},
			want:    "mews-active signal 11..11",
		},
		"a longer gap is not": {
			signals: []statedAt{
				{at: 10, line: mag, of: "bag1"},
				{at: 20, line: mag + stopped, of: "bag1"},
				{at: 36, line: mag, of: "bag2"},
			},
			want: "high-mag signal 36..36",
		},
		"a completed one lends its start": {
			signals: []statedAt{
				{at: 20, line: mag + stopped, started: 3, of: "loading"},
				{at: 25, line: mag, of: "bag"},
			},
			want: "high-mag signal 3..25",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &orderedInput{}
			for _, s := range test.signals {
				e.signals = append(e.signals, s.statement())
			}
			for _, d := range test.diagnoses {
				e.Diagnoses = append(e.Diagnoses, Diagnosis{
					Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: d.code}, Start: minutesPastNoon(d.start), Last: minutesPastNoon(d.start), Feed: acuity.ChannelHL7,
				})
			}
			for id, at := range test.listed {
				e.Listed = append(e.Listed, Listed{Factor: cataloguetest.Factor(t, id), Since: minutesPastNoon(at[0]), Last: minutesPastNoon(at[1])})
			}
			if test.primary != "" {
				e.Primaries = []acuity.Evidence{{Factor: cataloguetest.Factor(t, test.primary), Kind: acuity.ByADT, Start: noon, Last: noon}}
			}
			maps := terminology.NewMappings(test.maps)
			got := e.evidence(maps)
			if s := describe(got); s != test.want {
				t.Errorf("evidence\n got %s\nwant %s", s, test.want)
			}
			slices.Reverse(e.signals)
			slices.Reverse(e.Diagnoses)
			if again := e.evidence(maps); !slices.Equal(again, got) {
				t.Errorf("in the other order\n got %s\nwant %s", describe(again), describe(got))
			}
		})
	}
}

func TestEvidenceNamesItsSource(t *testing.T) {
	e := &orderedInput{signals: []*ResourceStatement{statedAt{at: 1, line: "med|RxNorm| 7044 |"}.statement()}}
	e.Diagnoses = []Diagnosis{{Diagnosis: acuity.Diagnosis{Code: "o30.12"}, Start: noon, Last: noon, Feed: acuity.ChannelHL7}}
	e.Babies = 2
	got := e.evidence(nil)
	want := []acuity.Evidence{
		{
			Factor: cataloguetest.Factor(t, "labor-induction"), Kind: acuity.BySignal, Start: minutesPastNoon(1), Last: minutesPastNoon(1), AssignedBy: "signal",
			Source: acuity.Source{Feed: acuity.ChannelClinical, System: codes.RxNorm, Code: "7044"},
		},
		{
			Factor: cataloguetest.Factor(t, "labor-multiple-gestation"), Kind: acuity.ByDiagnosis, Count: 3, Start: noon, Last: noon,
			Source: acuity.Source{Feed: acuity.ChannelHL7, System: codes.ICD10CM, Code: "O3012"},
		},
	}
	if !slices.Equal(got, want) {
		t.Errorf("evidence\n got %+v\nwant %+v", got, want)
	}
}
