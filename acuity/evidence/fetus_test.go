package evidence

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue/cataloguetest"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// drawnTracing is one report of a category, with the minute of the observation and the fetus that the report
// identifies.
type drawnTracing struct {
	minute, category int
	fetus            string
}

// gravest derives the worst category, or 1 if no category needs attention, directly from the clinical rule. In a
// singleton pregnancy, the newest tracing applies. With several fetuses, the newest tracing of each fetus applies;
// the newest tracing that does not identify a fetus also applies until every fetus has a newer one.
func gravest(list []drawnTracing, several int) int {
	newest := map[string]drawnTracing{}
	named := map[string]bool{}
	for _, d := range list {
		if d.fetus != "" {
			named[d.fetus] = true
		}
	}
	if len(named) >= 2 {
		several = max(several, len(named))
	}
	for _, d := range list {
		if several == 0 {
			d.fetus = ""
		}
		if d.minute >= newest[d.fetus].minute {
			newest[d.fetus] = d
		}
	}
	if several > 0 && len(named) >= several {
		older := true
		for fetus := range named {
			older = older && newest[fetus].minute > newest[""].minute
		}
		if older {
			delete(newest, "")
		}
	}
	worst := 1
	for _, d := range newest {
		worst = max(worst, d.category)
	}
	return worst
}

// The category in the evidence is the worst category of any fetus, in every order of arrival, for plain statements
// and for FHIR resources.
func TestCategoryOfEachFetus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &orderedInput{}
		several := rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "babies")
		e.Babies = uint8(several)
		var list []drawnTracing
		n := rapid.IntRange(1, 8).Draw(t, "tracings")
		minutes := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order")
		for i := range n {
			d := drawnTracing{minutes[i], rapid.IntRange(1, 3).Draw(t, "category"), rapid.SampledFrom([]string{"", "A", "A", "B", "B", "C"}).Draw(t, "fetus")}
			list = append(list, d)
			s := statedAt{at: 10 + i, observed: d.minute, line: rapid.SampledFrom([]string{fhr, fhr2}).Draw(t, "code") + [...]string{catI, catII, catIII}[d.category-1] + "||" + d.fetus}
			if rapid.Bool().Draw(t, "resource") {
				s.of = rapid.StringMatching(`r[0-9]{6}`).Draw(t, "id")
			}
			e.signals = append(e.signals, s.statement())
		}
		got := 1
		for _, o := range e.evidence(nil) {
			switch o.Factor {
			case terminology.CatalogueIndex().CategoryII:
				got = max(got, 2)
			case terminology.CatalogueIndex().CategoryIII:
				got = 3
			}
		}
		if want := gravest(list, several); got != want {
			t.Fatalf("category %d, want %d", got, want)
		}
	})
}

// In a multiple gestation, Fold sets UnnamedFetus if several statements about a fetus do not identify the fetus,
// because only the newest of them counts. Fold does not set it once every fetus has a newer tracing.
func TestUnnamedFetus(t *testing.T) {
	for name, c := range map[string]struct {
		signals []statedAt
		babies  uint8
		want    bool
	}{
		"one":                         {signals: []statedAt{{at: 1, line: fhr + catIII}}, babies: 2},
		"two":                         {signals: []statedAt{{at: 1, line: fhr + catIII}, {at: 2, line: fhr + catI}}, babies: 2, want: true},
		"two of a singleton":          {signals: []statedAt{{at: 1, line: fhr + catIII}, {at: 2, line: fhr + catI}}},
		"two that name one":           {signals: []statedAt{{at: 1, line: fhr + catIII + "||A"}, {at: 2, line: fhr + catI + "||A"}}, babies: 2},
		"one of which was in error":   {signals: []statedAt{{at: 1, line: fhr + catIII}, {at: 2, line: fhr + catI}, {at: 3, line: fhr + catI + "|error"}}, babies: 2},
		"older than those of all":     {signals: []statedAt{{at: 1, line: fhr + catIII}, {at: 2, line: fhr + catI}, {at: 3, line: fhr + catI + "||A"}, {at: 4, line: fhr + catI + "||B"}}, babies: 2},
		"older than one of triplets":  {signals: []statedAt{{at: 1, line: fhr + catIII}, {at: 2, line: fhr + catI}, {at: 3, line: fhr + catI + "||A"}, {at: 4, line: fhr + catI + "||B"}}, babies: 3, want: true},
		"decreased movement":          {signals: []statedAt{{at: 1, line: "obs|local|FETAL_MOVEMENT_DECREASED"}, {at: 2, line: "obs|local|FETAL_MOVEMENT_DECREASED||no"}}, babies: 2, want: true},
		"a score, which is hers":      {signals: []statedAt{{at: 1, line: mews + "5"}, {at: 2, line: mews + "2"}}, babies: 2},
		"two fetuses that are named":  {signals: []statedAt{{at: 1, line: fhr + catI + "||A"}, {at: 2, line: fhr + catI + "||B"}, {at: 3, line: fhr + catII}, {at: 4, line: fhr + catI}}, want: true},
		"the staff says that several": {signals: []statedAt{{at: 1, line: "obs|local|labor-multiple-gestation"}, {at: 2, line: fhr + catIII}, {at: 3, line: fhr + catI}}, want: true},
	} {
		e := &orderedInput{Input: Input{Babies: c.babies}}
		for _, s := range c.signals {
			e.signals = append(e.signals, s.statement())
		}
		if e.evidence(nil); e.UnnamedFetus != c.want {
			t.Errorf("%s: %v, want %v", name, e.UnnamedFetus, c.want)
		}
	}
}

// A Category I tracing of one fetus does not end a diagnosis about another fetus.
func TestDiagnosisOfAFetus(t *testing.T) {
	maps := terminology.NewMappings([]acuity.Mapping{{ID: "m", System: codes.ICD10CM, Code: "O36.83*", Factor: cataloguetest.Factor(t, "labor-fhr-cat-ii")}})
	for name, c := range map[string]struct {
		code, said string
		want       bool
	}{
		"of the same":              {code: "O36.83X1", said: "||A"},
		"of another":               {code: "O36.83X2", said: "||A", want: true},
		"of none, Category I of A": {code: "O68", said: "||A", want: true},
		"of none, Category I too":  {code: "O68"},
		"of A, Category I of none": {code: "O36.83X1", want: true},
	} {
		e := &orderedInput{Input: Input{Babies: 2}, signals: []*ResourceStatement{statedAt{at: 5, line: fhr + catI + c.said}.statement()}}
		e.Diagnoses = []Diagnosis{{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: c.code}, Start: noon, Last: noon}}
		got := slices.ContainsFunc(e.evidence(maps), func(o acuity.Evidence) bool { return o.Factor == terminology.CatalogueIndex().CategoryII })
		if got != c.want {
			t.Errorf("%s: Category II is %v, want %v", name, got, c.want)
		}
	}
}

// The newest version of a resource applies. Versions are ordered by update time or number, if they have one, and only
// otherwise by arrival. The clinical time does not matter.
func TestNewestVersionCounts(t *testing.T) {
	lines := map[string][2]string{
		"condition":   {"con|ICD-10-CM|O72.1", "con|ICD-10-CM|O72.1||" + stopped},
		"infusion":    {mag, mag + stopped},
		"observation": {fhr + catIII, fhr + catI},
	}
	rapid.Check(t, func(t *rapid.T) {
		line := lines[rapid.SampledFrom([]string{"condition", "infusion", "observation"}).Draw(t, "kind")]
		order := rapid.SampledFrom([]string{"made", "number", "arrival"}).Draw(t, "order")
		n := rapid.IntRange(1, 6).Draw(t, "versions")
		versions := make([]statedAt, n)
		ended := make([]int, n)
		for i := range versions {
			ended[i] = rapid.IntRange(0, 1).Draw(t, "ended")
			versions[i] = statedAt{
				at: 100 + i, line: line[ended[i]], of: "r",
				observed: rapid.IntRange(0, 200).Draw(t, "observed"), started: rapid.IntRange(0, 200).Draw(t, "started"),
			}
			switch order {
			case "made":
				versions[i].made = 50 + i
			case "number":
				versions[i].number = int64(i + 1)
			}
		}
		if order != "arrival" {
			arrived := rapid.Permutation(slices.Clone(versions)).Draw(t, "arrived")
			for i := range arrived {
				arrived[i].at = 100 + i
			}
			versions = arrived
		}
		e := &orderedInput{}
		for _, v := range versions {
			e.signals = append(e.signals, v.statement())
		}
		if on := len(e.evidence(nil)) > 0; on != (ended[n-1] == 0) {
			t.Fatalf("it runs: %v, the newest version ended it: %d", on, ended[n-1])
		}
	})
}
