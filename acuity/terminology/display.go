package terminology

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// displayTrait classifies a word of a display name for the rules on display names.
type displayTrait uint16

const (
	traitUnit       displayTrait = 1 << iota // unit of a dose, never part of a combination
	traitForm                                // a drug given as a single dose, not an infusion
	traitDrip                                // a drug given as an infusion, even if another word has traitForm
	traitAnesthetic                          // with epinephrine: an epidural test dose (docs/decisions.md#epinephrine-words)
	traitMixed                               // names a combination of drugs
	traitDenied                              // negation
	traitMeasured                            // oxygen is measured, not given (docs/decisions.md#oxygen-therapy)
	traitTeaching                            // education about a score, not a score (docs/decisions.md#mews-education, #score-words)
	traitFraction                            // a number with this word is a fraction of inspired oxygen
	traitNoDenial                            // follows a "non" that is not a negation: "non-rebreather"
)

// displayWords lists the words that occur in the rules on display names, by trait. A lexicon also contains the words
// in the catalogue routes that match by words.
var displayWords = map[displayTrait][]string{
	traitUnit: {
		"mcg", "ug", "mg", "g", "gm", "kg", "ml", "l", "dl", "min", "minute", "h", "hr", "hour", "unit", "units", "u",
		"mu", "milliunits", "meq", "mmol", "cc", "day", "iu", "actuat", "dose",
	},
	traitForm: {
		"tablet", "tablets", "tab", "tabs", "capsule", "capsules", "cap", "oral", "injection", "injectable", "inj",
		"solution", "soln", "syringe", "push", "ivp", "bolus", "im", "intramuscular", "subcutaneous", "sublingual", "sl",
		"patch", "transdermal", "ointment", "spray", "topical", "vial", "ampule", "ampul", "pen", "autoinjector", "auto",
		"inhaler", "inhalation", "nebulizer", "nebulized", "racemic", "suspension", "po", "prefilled", "cartridge", "kit",
		"paste", "lozenge", "rectal", "gel", "cream", "suppository", "chewable", "pellet", "film", "drops", "ophthalmic",
		"nasal", "irrigation",
	},
	traitDrip: {"infusion", "infusions", "infusing", "drip", "drips", "gtt", "gtts", "continuous"},
	traitAnesthetic: {
		"lidocaine", "lignocaine", "bupivacaine", "levobupivacaine", "ropivacaine", "chloroprocaine", "procaine",
		"mepivacaine", "prilocaine", "articaine", "tetracaine", "xylocaine", "marcaine", "sensorcaine",
	},
	traitMixed:    {"with"},
	traitDenied:   {"no", "not", "non", "without", "off", "denies", "discontinued", "stopped", "never", "none"},
	traitMeasured: {"saturation", "sat", "sats", "spo2", "sao2", "pressure", "tension", "content", "consumption"},
	traitTeaching: {"education", "teaching", "training"},
	traitFraction: {"fio2", "fraction", "concentration", "percent", "percentage"},
	traitNoDenial: {"rebreather", "invasive"},
}

// lexicon maps the words that occur in the rules on display names to their meanings.
type lexicon map[string]meaning

type meaning struct {
	traits displayTrait
	sought uint64 // bit of the word, if it occurs in a catalogue route
}

func newLexicon() lexicon {
	l := lexicon{}
	for trait, words := range displayWords {
		for _, w := range words {
			m := l[w]
			m.traits |= trait
			l[w] = m
		}
	}
	return l
}

// maxDisplayWord exceeds the length in bytes of every word in a lexicon.
const maxDisplayWord = 24

// scan returns the combined meaning of the words of a display name. It does not allocate, because it runs for every
// code without a rule.
func (l lexicon) scan(text string) meaning {
	var all, last meaning
	var word [maxDisplayWord]byte
	n, letters, lastLetters, slash := 0, true, false, false
	denied := false // whether the previous word is a negation
	end := func() {
		m := meaning{}
		if n <= maxDisplayWord {
			m = l[string(word[:n])]
		}
		// A slash indicates a combination only between two words of letters, neither of which is a unit
		// (docs/decisions.md#combinations). It does not in "4 mg/250 mL" or "mcg/min".
		if slash && letters && lastLetters && (m.traits|last.traits)&traitUnit == 0 {
			all.traits |= traitMixed
		}
		if denied && m.traits&traitNoDenial == 0 {
			all.traits |= traitDenied
		}
		denied = m.traits&traitDenied != 0
		all.traits |= m.traits &^ traitDenied
		all.sought |= m.sought
		last, lastLetters, slash = m, letters, false
		n, letters = 0, true
	}
	for _, r := range text {
		digit := unicode.IsDigit(r)
		if !digit && !unicode.IsLetter(r) {
			if n > 0 {
				end()
			}
			slash = slash || r == '/'
			continue
		}
		letters = letters && !digit
		if n < maxDisplayWord && r < utf8.RuneSelf {
			word[n] = byte(unicode.ToLower(r)) //nolint:gosec // the rune is below RuneSelf
			n++
		} else {
			n = maxDisplayWord + 1 // longer than any known word
		}
	}
	if n > 0 {
		end()
	}
	if denied {
		all.traits |= traitDenied
	}
	return all
}

// plainLexicon is the lexicon without the catalogue's words.
var plainLexicon = newLexicon()

// meansFraction reports whether a number with this display name is a fraction of inspired oxygen, not a flow.
func meansFraction(display string) bool {
	return plainLexicon.scan(display).traits&traitFraction != 0
}

// displayFits reports whether a display name that contains a route's words also has the route's meaning. For example,
// a name in which the words are negated does not have it, nor does the name of a combination of drugs.
func displayFits(r *catalogue.Route, m meaning) bool {
	if m.traits&traitDenied != 0 {
		return false
	}
	switch {
	case r.Kind == catalogue.KindMedication:
		return m.traits&(traitMixed|traitAnesthetic) == 0 && m.traits&(traitForm|traitDrip) != traitForm
	case r.Needs.Kind == catalogue.NeedsOxygen:
		return m.traits&traitMeasured == 0
	case r.Needs.Kind == catalogue.NeedsNumber:
		return m.traits&traitTeaching == 0
	}
	return true
}

// ReduceDisplay reduces free text that replaces a code to the words that occur in rules on display names. Those words
// are kept in order; other words become "x", and numbers become "0". If no word of the text occurs in a catalogue
// route, the result is "". The result cannot identify a person, and every rule matches the result if and only if it
// matches the original.
func ReduceDisplay(text string) string {
	text = codes.CleanDisplay(text)
	sought := CatalogueIndex().lexicon
	if sought.scan(text).sought == 0 {
		return ""
	}
	var b strings.Builder
	last := ""
	words := strings.FieldsFunc(strings.ReplaceAll(text, "/", " / "), func(r rune) bool {
		return r != '/' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		w = strings.ToLower(w)
		if _, known := sought[w]; !known && w != "/" {
			if strings.ContainsFunc(w, unicode.IsDigit) {
				w = "0"
			} else {
				w = "x"
			}
			if w == last {
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		last = w
	}
	reduced := b.String()
	return reduced[:min(len(reduced), codes.MaxDisplay)]
}
