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

// drawEvidenceInput draws statements with many equal times, so that every tie occurs.
func drawEvidenceInput(t *rapid.T) *orderedInput {
	e := &orderedInput{Input: Input{Babies: rapid.Uint8Range(0, 3).Draw(t, "babies")}}
	lines := []string{
		mag, mag + stopped, mag + "|hold", mag + "|error", bag, oxy, oxy + stopped,
		fhr + catI, fhr + catII, fhr + catIII, fhr2 + catII, fhr2 + catIII, fhr + "|error", fhr + "?", fhr2 + stopped,
		fhr + catI + "|error", fhr + catIII + "|error", fhr2 + catII + "|error", mews + "5|error", mews + "2|error", bmi + "41|error",
		mews + "5", mews + "2", mews2 + "6", "obs|local|mews-active", "obs|LOINC|1||" + stopped, ack, ack + "|error", ack + stopped,
		bmi + "39", bmi + "41", bmi + "|error", bmi + ">30",
		fhr + catI + "||A", fhr + catIII + "||A", fhr2 + catI + "||B", fhr2 + catIII + "||B", fhr + "|error|A", fhr + catIII + "|error|B", "obs|local|labor-fhr-cat-iii||||A",
		"obs|local|FETAL_MOVEMENT_DECREASED||||B", "obs|local|FETAL_MOVEMENT_DECREASED||no||A", "obs|local|labor-multiple-gestation", "obs|local|labor-multiple-gestation||" + stopped + "|A",
		"obs|local|SECOND_STAGE", "obs|local|SECOND_STAGE||no", "obs|local|labor-fhr-cat-iii", "obs|local|unknown",
		"med|RxNorm|6185|labetalol drip", "med|RxNorm|6185|epinephrine drip", "med|RxNorm|6185", "med|RxNorm|6185||" + stopped,
		"con|ICD-10-CM|O14.13", "con|SNOMED-CT|15938005", "con|ICD-10-CM|O15.1||" + stopped, "con|||" + "|error",
	}
	times := rapid.SampledFrom([]int{0, 0, 0, 5, 10, 60, 70, 300})
	for range rapid.IntRange(0, 14).Draw(t, "signals") {
		e.signals = append(e.signals, statedAt{
			at: times.Draw(t, "at"), line: rapid.SampledFrom(lines).Draw(t, "line"),
			observed: times.Draw(t, "observed"), started: times.Draw(t, "started"),
			of: rapid.SampledFrom([]string{"", "", "r1", "r1.0", "r1.1", "r2", "r3"}).Draw(t, "of"), made: times.Draw(t, "made"),
			number: rapid.SampledFrom([]int64{0, 0, 1, 2, 3}).Draw(t, "number"),
		}.statement())
	}
	code := rapid.SampledFrom([]string{"O15.1", "O68", "O99.21", "O30.1", "O36.8122", "O14.13", "O99.89", "X"})
	for range rapid.IntRange(0, 4).Draw(t, "diagnoses") {
		at := minutesPastNoon(times.Draw(t, "onset"))
		e.Diagnoses = append(e.Diagnoses, Diagnosis{Diagnosis: acuity.Diagnosis{System: codes.ICD10CM, Code: code.Draw(t, "code")}, Start: at, Last: at})
	}
	for range rapid.IntRange(0, 3).Draw(t, "listed") {
		f := catalogue.Factor(rapid.OneOf(rapid.IntRange(1, catalogue.Default().Len()), rapid.Just(int(terminology.CatalogueIndex().EarlyWarning))).Draw(t, "factor"))
		at := minutesPastNoon(times.Draw(t, "since"))
		e.Listed = append(e.Listed, Listed{Factor: f, Since: at, Last: at + 1})
	}
	for range rapid.IntRange(0, 2).Draw(t, "primaries") {
		f := catalogue.Factor(rapid.IntRange(1, 38).Draw(t, "primary"))
		e.Primaries = append(e.Primaries, acuity.Evidence{Factor: f, Kind: acuity.ByADT, Start: noon, Baby: rapid.Uint8Range(0, 1).Draw(t, "baby")})
	}
	return e
}

func TestEvidenceIsOfTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidenceInput(t)
		want := e.evidence(nil)
		if !slices.IsSortedFunc(want, func(a, b acuity.Evidence) int { return compareEvidence(&a, &b) }) {
			t.Fatalf("not in order: %+v", want)
		}
		other := &orderedInput{
			signals: rapid.Permutation(e.signals).Draw(t, "signals in another order"),
			Input: Input{
				Diagnoses: rapid.Permutation(e.Diagnoses).Draw(t, "diagnoses in another order"),
				Listed:    rapid.Permutation(e.Listed).Draw(t, "listed in another order"),
				Primaries: rapid.Permutation(e.Primaries).Draw(t, "primaries in another order"),
				Babies:    e.Babies,
			},
		}
		if got := other.evidence(nil); !slices.Equal(got, want) {
			t.Fatalf("in another order\n got %+v\nwant %+v", got, want)
		}
		// Repeating statements has no effect.
		other.signals = append(other.signals, e.signals...)
		if got := other.evidence(nil); !slices.Equal(got, want) {
			t.Fatalf("sent twice\n got %+v\nwant %+v", got, want)
		}
		for _, s := range want {
			if s.Start > s.Last && s.Kind != acuity.ByADT {
				t.Fatalf("starts after its newest assertion: %+v", s)
			}
		}
	})
}

// TestStopEndsOnlyItself: ending one identity never ends evidence from another identity, except where a documented
// decision requires it.
func TestStopEndsOnlyItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidenceInput(t)
		before := e.evidence(nil)
		e.signals = append(e.signals, statedAt{at: 999, line: "med|RxNorm|6185||" + stopped}.statement())
		after := e.evidence(nil)
		left := slices.DeleteFunc(before, func(x acuity.Evidence) bool { return x.Source.Code == "6185" && x.Source.Feed != acuity.ChannelFHIR })
		if !slices.Equal(after, left) {
			t.Fatalf("after the stop\n got %+v\nwant %+v", after, left)
		}
	})
}

// A completed dose leaves the evidence as it was before the dose, and so does a dose that was entered in error. While
// the dose is running, no evidence disappears.
func TestADoseIsOneResource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidenceInput(t)
		before := e.evidence(nil)
		e.signals = append(e.signals, statedAt{at: 999, line: oxy, of: "dose", made: 990, started: 980}.statement())
		during := e.evidence(nil)
		e.signals = append(e.signals, statedAt{at: 1000, line: oxy + stopped, of: "dose", made: 1000, observed: 1000}.statement())
		if after := e.evidence(nil); !slices.Equal(after, before) {
			t.Fatalf("after it was completed\n got %+v\nwant %+v", after, before)
		}
		e.signals = append(e.signals, statedAt{at: 400, line: "med|||||error", of: "dose", made: 1001}.statement())
		if after := e.evidence(nil); !slices.Equal(after, before) {
			t.Fatalf("after it was retracted\n got %+v\nwant %+v", after, before)
		}
		if len(during) < len(before) {
			t.Fatalf("while it runs there is less: %+v", during)
		}
	})
}

// After any sequence in which statements are added, dropped or assigned to another owner, evidence from the fold cache
// equals evidence folded from all statements.
func TestKeptEvidenceIsThatMadeAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawEvidenceInput(t)
		places := [...]*Statements{{}, {}}
		theirs := Owner{Kind: 3}
		kept := &Input{
			Statements: places[:], Cache: &Cache{},
			Diagnoses: all.Diagnoses, Listed: all.Listed, Primaries: all.Primaries, Babies: all.Babies,
		}
		r := &terminology.Reader{Catalogue: catalogue.Default()}
		compare := func() {
			fresh := *kept
			fresh.Cache, fresh.scratch, fresh.sorted, fresh.said, fresh.members, fresh.out = nil, Cache{}, nil, nil, nil, nil
			want := slices.Clone(Fold(&fresh, r))
			if got := Fold(kept, r); !slices.Equal(got, want) {
				t.Fatalf("\n got %+v\nwant %+v", got, want)
			}
		}
		said, brought := all.signals, map[int64]bool{} // numbers of the statements that are brought from elsewhere
		for number := int64(1); len(said) > 0; number++ {
			l := places[rapid.IntRange(0, 1).Draw(t, "place")]
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			default:
				h := said[0].Statement
				h.Number = 2 * number
				if rapid.IntRange(0, 4).Draw(t, "brought from elsewhere") == 0 {
					if earlier := 2*rapid.Int64Range(1, number).Draw(t, "earlier number") - 1; !brought[earlier] {
						h.Number, brought[earlier] = earlier, true
					}
				}
				if said = said[1:]; rapid.IntRange(0, 4).Draw(t, "of another") == 0 {
					h.Owner = theirs
				}
				l.Add(h)
			case 0: // drops a statement
				if l.size > 0 {
					th := &l.list[rapid.IntRange(0, len(l.list)-1).Draw(t, "code")]
					i := rapid.IntRange(0, len(th.statements)-1).Draw(t, "lost")
					l.dropAt(th, i)
				}
			case 1: // assigns a statement to another owner, or back to the first
				if l.size > 0 {
					th := &l.list[rapid.IntRange(0, len(l.list)-1).Draw(t, "code")]
					h := &th.statements[rapid.IntRange(0, len(th.statements)-1).Draw(t, "whose")]
					h.Owner.Kind = theirs.Kind - h.Owner.Kind
				}
			case 2:
				if kept.Listed = all.Listed; rapid.Bool().Draw(t, "nothing listed") {
					kept.Listed = nil
				}
			case 3: // reads the same statements for another owner
				if kept.Owner = (Owner{}); rapid.Bool().Draw(t, "another") {
					kept.Owner = theirs
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "look") > 0 {
				compare()
			}
		}
		compare()
	})
}
