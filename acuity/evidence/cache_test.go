package evidence

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// When a list loses its oldest statements, one at a time or several at once, the evidence from the cache equals the
// evidence from the remaining statements without a cache.
func TestDroppedIsAsIfNeverSaid(t *testing.T) {
	kinds := map[string][]string{
		"fetal heart rate":       {fhr + catII, fhr + catII, fhr2 + catII, fhr + catIII, fhr + catIII, fhr2 + catI, fhr + "|error", fhr + "?", fhr + stopped, "obs|local|labor-fhr-cat-ii"},
		"warnings":               {mews + "5", mews + "6", mews + "2", ack, ack, ack + "|error", ack + stopped},
		"BMI":                    {bmi + "41", bmi + "42", bmi + "39", bmi + "|error"},
		"infusion":               {mag, mag, bag, mag + stopped, mag + "|hold", mag + "|error"},
		"plain":                  {"obs|local|SECOND_STAGE", "obs|local|SECOND_STAGE", "obs|local|SECOND_STAGE||no", "obs|local|SECOND_STAGE||" + stopped, "obs|local|SECOND_STAGE|||hold", "obs|local|SECOND_STAGE|||error"},
		"one code, two meanings": {"obs|LOINC|1|oxygen therapy", "obs|LOINC|1|MEWS score|5", "obs|LOINC|1|MEWS score|2"},
	}
	r := &terminology.Reader{Catalogue: catalogue.Default()}
	for name, lines := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				kept := &Input{Statements: []*Statements{{}, {}}, Cache: &Cache{}, Diagnoses: []Diagnosis{
					{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "O68"}, Start: noon, Last: noon},
					{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: "O99.21"}, Start: noon, Last: noon},
				}}
				at, times := 1, []int{}
				for number := range rapid.IntRange(2, 9).Draw(t, "statements") {
					at += rapid.SampledFrom([]int{0, 5, 5, 40, 61, 250}).Draw(t, "after")
					s := statedAt{at: at, line: rapid.SampledFrom(lines).Draw(t, "line")}
					switch times = append(times, at); rapid.IntRange(0, 5).Draw(t, "late") {
					case 0:
						s.observed, s.started = max(at-50, 1), max(at-rapid.IntRange(0, 90).Draw(t, "started"), 1)
					case 1:
						s.observed = rapid.SampledFrom(times).Draw(t, "observed")
					}
					h := s.statement().Statement
					h.Number = int64(number + 1)
					kept.Statements[rapid.IntRange(0, 1).Draw(t, "list")].Add(h)
				}
				for {
					fresh := *kept
					fresh.Cache, fresh.scratch, fresh.sorted, fresh.said, fresh.members, fresh.out = nil, Cache{}, nil, nil, nil, nil
					want := slices.Clone(Fold(&fresh, r))
					if got := Fold(kept, r); !slices.Equal(got, want) {
						t.Fatalf("\n got %+v\nwant %+v", got, want)
					}
					for range rapid.IntRange(1, 2).Draw(t, "lost at once") {
						var from *Statements
						var first *codeStatements
						for _, l := range kept.Statements {
							for i := range l.list {
								if t := &l.list[i]; first == nil || t.statements[0].OrderTime() < first.statements[0].OrderTime() {
									from, first = l, t
								}
							}
						}
						if first == nil {
							return
						}
						from.dropAt(first, 0)
					}
				}
			})
		})
	}
}
