package acuity

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Suggestion is a factor that a code of the worklist may stand for. Somebody who
// knows the code decides; nothing here changes a verdict.
type Suggestion struct {
	Factor Factor
	Score  int32  // 1 … 100: how much speaks for it
	Reason string // stable code
}

// The reasons of suggestions.
const (
	SuggestKnown        = "known_gap"         // a gap of the specification, or an error in it, see advice
	SuggestTrialOfLabor = "if_trial_of_labor" // only with a mark that a trial of labor goes on
	SuggestSibling      = "code_neighborhood" // the catalogue has codes beside it
	SuggestWords        = "display_words"     // its words are those of the factor
	SuggestFactorName   = "factor_id"         // it spells the id of the factor
)

// maxSuggestions is how many are made for one code.
const maxSuggestions = 3

// advice is what the errata of the specification suggest for codes that it
// leaves out (scoring 5), before the neighborhood of codes is asked.
var advice = []struct {
	system System
	codes  []string
	factor string
	score  int32
	reason string
}{
	// C3: O44.1x is previa with hemorrhage, and so are O44.3x and O44.5x; the
	// others are without.
	{ICD10CM, []string{"O44.3*", "O44.5*"}, "high-hemorrhage", 90, SuggestKnown},
	{ICD10CM, []string{"O44.0*", "O44.2*", "O44.4*"}, "high-placenta-previa", 90, SuggestKnown},
	{ICD10CM, []string{"O44.3*", "O44.5*"}, "high-placenta-previa", 70, SuggestKnown},
	// C4: the plain "Placenta previa (disorder)", which the specification routes
	// to hemorrhage.
	{SNOMED, []string{"36813001"}, "high-placenta-previa", 90, SuggestKnown},
	// C8: O68 is acid-base abnormality; fetal heart rate is O76 and O77.
	{ICD10CM, []string{"O76", "O77*"}, "labor-fhr-cat-ii", 80, SuggestKnown},
	// C9: O34.21x marks the scar of a cesarean, which is no trial of labor yet.
	{ICD10CM, []string{"O34.21*"}, "labor-tolac", 50, SuggestTrialOfLabor},
}

// Suggest returns what a code may stand for, the likeliest first. kind 0 is a
// diagnosis.
func Suggest(system System, code, display string, kind SignalKind) []Suggestion {
	if system == SystemNone {
		system, _ = NormalSystem("", code)
	}
	b := suggestions()
	var found found
	normal := normalCode(system, code)
	for i := range b.advice {
		a := &b.advice[i]
		if a.system == system && a.pattern.matches(normal) {
			found.add(a.factor, a.score, a.reason)
		}
	}
	if f, ok := Default().manual(strings.NewReplacer("_", "-", " ", "-").Replace(code)); ok {
		found.add(f, 95, SuggestFactorName)
	}
	diagnosis := kind == 0 || kind == KindCondition
	if system == ICD10CM && diagnosis {
		b.siblings(normal, &found)
	}
	b.words(display, code, system, &found)
	slices.SortFunc(found, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Factor.ID(), b.Factor.ID()))
	})
	return found[:min(len(found), maxSuggestions)]
}

// found is the best suggestion of each factor.
type found []Suggestion

func (l *found) add(f Factor, score int32, reason string) {
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

func (p codePattern) matches(code string) bool {
	return code == p.text || p.prefix && strings.HasPrefix(code, p.text)
}

// suggester is what suggestions are made of.
type suggester struct {
	advice []advised
	codes  []sibling
	terms  []term // of factors
	rarity map[string]int32
}

type advised struct {
	system  System
	pattern codePattern
	factor  Factor
	score   int32
	reason  string
}

// sibling is a code of ICD-10-CM that a route of the catalogue has.
type sibling struct {
	text   string
	factor Factor
}

// term is the words of a factor: of its label and of its routes by words.
type term struct {
	factor Factor
	words  []string
}

var suggestions = sync.OnceValue(func() *suggester {
	c, b := Default(), &suggester{rarity: map[string]int32{}}
	for _, a := range advice {
		f, ok := FactorByID(a.factor)
		if !ok {
			panic("acuity: advice for no factor: " + a.factor)
		}
		for _, code := range a.codes {
			for _, p := range codePatterns(a.system, code) {
				b.advice = append(b.advice, advised{a.system, p, f, a.score, a.reason})
			}
		}
	}
	for f := Factor(1); int(f) <= c.Len(); f++ {
		s := c.Spec(f)
		words := usefulWords(s.Label)
		for i := range s.Routes {
			r := &s.Routes[i]
			for _, w := range r.Words {
				words = append(words, strings.ToLower(w))
			}
			if !r.Diagnosis || r.System != ICD10CM || r.Refines {
				continue
			}
			for _, code := range r.Codes {
				for _, p := range codePatterns(ICD10CM, code) {
					b.codes = append(b.codes, sibling{p.text, f})
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

// siblings suggests the factors of the codes that share the most with a code of
// ICD-10-CM: at least its category.
func (b *suggester) siblings(code string, found *found) {
	if len(code) < 3 {
		return
	}
	for _, s := range b.codes {
		n := 0
		for n < len(code) && n < len(s.text) && code[n] == s.text[n] {
			n++
		}
		if n >= 3 {
			found.add(s.factor, 40+10*int32(min(n, 6)-3), SuggestSibling)
		}
	}
}

// words suggests the factors whose words are in the display, or in a local code
// that is made of words. Words that many factors have say little.
func (b *suggester) words(display, code string, system System, found *found) {
	said := usefulWords(display)
	if system == SystemLocal {
		said = append(said, usefulWords(strings.ReplaceAll(code, "_", " "))...)
	}
	if len(said) == 0 {
		return
	}
	for _, t := range b.terms {
		weight, all := int32(0), int32(0)
		for _, w := range t.words {
			worth := 12 / b.rarity[w]
			all += worth
			if slices.ContainsFunc(said, func(s string) bool { return sameWord(s, w) }) {
				weight += worth
			}
		}
		if weight >= 4 {
			found.add(t.factor, 20+60*weight/max(all, 1), SuggestWords)
		}
	}
}

// sameWord reports whether two words are one, or one is a beginning of five
// letters or more of the other: "hemorrhage" and "hemorrhagic" are not, "obese"
// and "obesity" neither, "cardiac" and "cardi" are.
func sameWord(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= 5 && strings.HasPrefix(b, a)
}

// dullWords are in names without telling what is named.
var dullWords = []string{
	"and", "the", "of", "in", "for", "with", "without", "other", "specified", "unspecified", "trimester", "first", "second", "third",
	"active", "current", "history", "patient", "care", "risk", "high", "than", "less", "more", "not", "place", "complicating", "pregnancy",
	"positive", "negative", "screening", "disorder", "status", "test", "finding",
}

// usefulWords returns the words of a text that tell something.
func usefulWords(text string) []string {
	return slices.DeleteFunc(splitWords(nil, text), func(w string) bool {
		return len(w) < 3 || slices.Contains(dullWords, w) || w[0] >= '0' && w[0] <= '9'
	})
}
