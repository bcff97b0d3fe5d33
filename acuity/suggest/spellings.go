package suggest

import (
	"strings"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// spellings are abbreviations and other names that clinicians use for factors. This project maintains the list. If a
// spelling is ambiguous, it lists all possible factors, most likely first.
var spellings = []struct {
	phrases string // separated by commas
	factors []string
}{
	{"preeclampsia, pre eclampsia, pree, pre e, toxemia", []string{"high-preeclampsia"}},
	{"pph, postpartum hemorrhage, postpartum haemorrhage", []string{"pp-hemorrhage", "high-hemorrhage"}},
	{"c section, csection, c s, cs, cesarean section, caesarean", []string{"csection-intraop", "csection-admit", "pp-csection"}},
	{"gbs, gbs pos, gbs positive, group b strep", []string{"high-gbs-positive"}},
	{"iol, induction, induction of labor", []string{"labor-induction", "triage-induction-start"}},
	{"rom, srom, arom, ruptured membranes", []string{"triage-rom"}},
	{"pprom", []string{"triage-rule-out-pprom"}},
	{"ptl, preterm labor, preterm labour", []string{"triage-rule-out-ptl"}},
	{"tolac, vbac", []string{"labor-tolac"}},
	{"twins, twin, multiples, di di, mo di", []string{"labor-multiple-gestation"}},
	{"mag, mgso4, magnesium sulfate, mag sulfate", []string{"high-mag"}},
	{"iufd, fetal demise, stillbirth", []string{"high-iufd"}},
	{"dfm, decreased fetal movement, decreased fm", []string{"high-decreased-fetal-movement"}},
	{"previa", []string{"high-placenta-previa"}},
	{"nst", []string{"ap-nst"}},
	{"nsvd, svd, vaginal delivery", []string{"pp-immediate-recovery-vag", "labor-vaginal-birth"}},
	{"epidural, cle, lea", []string{"labor-epidural"}},
	{"interpreter, language line", []string{"env-interpreter"}},
}

// spelledScore is the score of a spelling's most likely factor; each additional factor scores spelledStep less.
const (
	spelledScore = 85
	spelledStep  = 15
)

// spelled is a phrase and the factors that it may mean.
type spelled struct {
	phrase  string // with a space before and after
	factors []catalogue.Factor
}

func listSpellings() (all []spelled) {
	for _, s := range spellings {
		var factors []catalogue.Factor
		for _, id := range s.factors {
			f, ok := catalogue.FactorByID(id)
			if !ok {
				panic("suggest: spelling of an unknown factor: " + id)
			}
			factors = append(factors, f)
		}
		for phrase := range strings.SplitSeq(s.phrases, ", ") {
			all = append(all, spelled{" " + phrase + " ", factors})
		}
	}
	return all
}

// suggestBySpelling suggests the factors whose known spellings occur in the display name, or in a local code.
func (b *suggester) suggestBySpelling(display, code string, system codes.System, found *found) {
	texts := []string{display}
	if system == codes.SystemLocal {
		texts = append(texts, strings.ReplaceAll(code, "_", " "))
	}
	for _, text := range texts {
		text = " " + strings.Join(codes.SplitWords(text), " ") + " "
		for _, s := range b.spelled {
			if !strings.Contains(text, s.phrase) {
				continue
			}
			for i, f := range s.factors {
				found.add(f, int32(spelledScore-i*spelledStep), displayWords)
			}
		}
	}
}
