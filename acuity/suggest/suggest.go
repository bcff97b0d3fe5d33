// Package suggest finds candidate factors for an unmapped code in the worklist.
package suggest

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// Suggestion is a candidate factor for a code in the worklist. An administrator decides; suggestions never change a
// verdict.
type Suggestion struct {
	Factor catalogue.Factor
	Score  int32  // 1 … 100
	Reason string // stable code
}

// The reasons for suggestions, which are stable codes.
const (
	known          = "known_gap"         // a gap or an error in the specification, see advice
	ifTrialOfLabor = "if_trial_of_labor" // only if a trial of labor is documented
	neighbor       = "code_neighborhood" // the catalogue has neighboring codes
	displayWords   = "display_words"     // the display name contains words for the factor
	factorName     = "factor_id"         // the code spells the id of the factor
)

// maxSuggestions is the maximum number of suggestions for one code.
const maxSuggestions = 3

// advice lists suggestions for codes that the specification omits or misassigns (docs/decisions.md#suggestions). Most
// of them score higher than any suggestion from neighboring codes.
var advice = []struct {
	system codes.System
	codes  []string
	factor string
	score  int32
	reason string
}{
	// docs/decisions.md#previa-with-hemorrhage: O44.1x, O44.3x and O44.5x are previa with hemorrhage; the other O44
	// codes are without hemorrhage.
	{codes.ICD10CM, []string{"O44.3*", "O44.5*"}, "high-hemorrhage", 90, known},
	{codes.ICD10CM, []string{"O44.0*", "O44.2*", "O44.4*"}, "high-placenta-previa", 90, known},
	{codes.ICD10CM, []string{"O44.3*", "O44.5*"}, "high-placenta-previa", 70, known},
	// docs/decisions.md#placenta-previa: 36813001 is the plain "Placenta previa (disorder)", which the specification
	// assigns to hemorrhage.
	{codes.SNOMED, []string{"36813001"}, "high-placenta-previa", 90, known},
	// docs/decisions.md#acid-base: O68 is the code for an acid-base abnormality; the codes for fetal heart rate are
	// O76 and O77.
	{codes.ICD10CM, []string{"O76", "O77*"}, "labor-fhr-cat-ii", 80, known},
	// docs/decisions.md#trial-of-labor: O34.21x marks the scar of a cesarean, which is not yet a trial of labor.
	{codes.ICD10CM, []string{"O34.21*"}, "labor-tolac", 50, ifTrialOfLabor},
}

// Factors returns at most three suggested factors for a code, most likely first. A kind of 0 means a diagnosis.
func Factors(system codes.System, code, display string, kind catalogue.SignalKind) []Suggestion {
	system, normal := codes.Comparable(system, code)
	b := suggestions()
	var list found
	for i := range b.advice {
		a := &b.advice[i]
		if a.system == system && a.pattern.Matches(normal) {
			list.add(a.factor, a.score, a.reason)
		}
	}
	// The code may be the id of a factor, in upper or lower case and with any common separator.
	id := strings.TrimSpace(strings.NewReplacer("_", "-", " ", "-").Replace(code))
	if f, ok := catalogue.FactorByID(strings.ToLower(id)); ok {
		list.add(f, 95, factorName)
	}
	diagnosis := kind == 0 || kind == catalogue.KindCondition
	if system == codes.ICD10CM && diagnosis {
		b.suggestSiblings(normal, &list)
	}
	b.suggestByWords(display, code, system, &list)
	b.suggestBySpelling(display, code, system, &list)
	slices.SortFunc(list, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Factor.ID(), b.Factor.ID()))
	})
	return list[:min(len(list), maxSuggestions)]
}

// found holds the best suggestion for each factor.
type found []Suggestion

func (l *found) add(f catalogue.Factor, score int32, reason string) {
	for i := range *l {
		if s := &(*l)[i]; s.Factor == f {
			if score > s.Score {
				s.Score, s.Reason = score, reason
			}
			return
		}
	}
	*l = append(*l, Suggestion{f, score, reason})
}

// suggester holds the indexed sources of suggestions.
type suggester struct {
	advice []advised
	codes  []sibling
	terms  []term // words for factors
	rarity map[string]int32

	spelled []spelled
}

type advised struct {
	system  codes.System
	pattern codes.Pattern
	factor  catalogue.Factor
	score   int32
	reason  string
}

// sibling is an ICD-10-CM code in a catalogue route.
type sibling struct {
	text   string
	factor catalogue.Factor
}

// term is a set of words for a factor, from the factor's label or from a route that matches by words.
type term struct {
	factor catalogue.Factor
	words  []string
}

var suggestions = sync.OnceValue(func() *suggester {
	c, b := catalogue.Default(), &suggester{rarity: map[string]int32{}, spelled: listSpellings()}
	for _, a := range advice {
		f, ok := catalogue.FactorByID(a.factor)
		if !ok {
			panic("suggest: advice for an unknown factor: " + a.factor)
		}
		for _, code := range a.codes {
			for _, p := range codes.Patterns(a.system, code) {
				b.advice = append(b.advice, advised{a.system, p, f, a.score, a.reason})
			}
		}
	}
	for f := catalogue.Factor(1); int(f) <= c.Len(); f++ {
		s := c.Spec(f)
		words := usefulWords(s.Label)
		for i := range s.Routes {
			r := &s.Routes[i]
			for _, w := range r.Words {
				words = append(words, strings.ToLower(w))
			}
			if !r.Diagnosis || r.System != codes.ICD10CM || r.Refines {
				continue
			}
			for _, code := range r.Codes {
				for _, p := range codes.Patterns(codes.ICD10CM, code) {
					b.codes = append(b.codes, sibling{p.Text, f})
				}
			}
		}
		slices.Sort(words)
		words = slices.Compact(words)
		for _, w := range words {
			b.rarity[w]++
		}
		b.terms = append(b.terms, term{f, words})
	}
	return b
})

// suggestSiblings suggests the factors of ICD-10-CM codes with the same category as the given code.
func (b *suggester) suggestSiblings(code string, found *found) {
	if len(code) < 3 {
		return
	}
	for _, s := range b.codes {
		n := 0
		for n < len(code) && n < len(s.text) && code[n] == s.text[n] {
			n++
		}
		if n >= 3 {
			found.add(s.factor, 40+10*int32(min(n, 6)-3), neighbor)
		}
	}
}

// suggestByWords suggests the factors whose words occur in the display name, or in a local code that consists of words.
// Words shared by many factors weigh less.
func (b *suggester) suggestByWords(display, code string, system codes.System, found *found) {
	used := usefulWords(display)
	if system == codes.SystemLocal {
		used = append(used, usefulWords(strings.ReplaceAll(code, "_", " "))...)
	}
	if len(used) == 0 {
		return
	}
	for _, t := range b.terms {
		weight, all := int32(0), int32(0)
		for _, w := range t.words {
			worth := 12 / b.rarity[w]
			all += worth
			if slices.ContainsFunc(used, func(s string) bool { return sameWord(s, w) }) {
				weight += worth
			}
		}
		if weight >= 4 {
			found.add(t.factor, 20+60*weight/max(all, 1), displayWords)
		}
	}
}

// sameWord reports whether two words are equal, or one of at least five letters is a prefix of the other. "cardi" and
// "cardiac" match; "hemorrhage" and "hemorrhagic" do not, nor do "obese" and "obesity".
func sameWord(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= 5 && strings.HasPrefix(b, a)
}

// dullWords occur in display names without identifying a factor.
var dullWords = []string{
	"and", "the", "of", "in", "for", "with", "without", "other", "specified", "unspecified", "trimester", "first", "second", "third",
	"active", "current", "history", "patient", "care", "risk", "high", "than", "less", "more", "not", "place", "complicating", "pregnancy",
	"positive", "negative", "screening", "disorder", "status", "test", "finding",
}

// usefulWords returns the words of a text that may identify a factor.
func usefulWords(text string) []string {
	return slices.DeleteFunc(codes.SplitWords(text), func(w string) bool {
		return len(w) < 3 || slices.Contains(dullWords, w) || w[0] >= '0' && w[0] <= '9'
	})
}
