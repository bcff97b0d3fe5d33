package adt

import (
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"svc/acuity"
	"svc/acuity/catalogue"
)

//go:embed places.txt
var placesText string

// Area is a kind of location, such as triage or labor.
type Area uint8

// The areas that places.txt names.
const (
	areaUnknown Area = iota
	areaTriage
	areaOperating
	areaRecovery
	areaLabor
	areaNICU
	areaIntermediate
	areaNursery
	areaAntepartum
	areaPostpartum
	areaObstetric // an unspecified obstetric location
	areaMedical   // another specialty
	areaInside    // mothers, and possibly patients of another specialty
	areaOutside   // another unit
	areaCount     // number of areas
)

var areaNames = [areaCount]string{
	"unknown", "triage", "operating", "recovery", "labor", "nicu", "intermediate", "nursery",
	"antepartum", "postpartum", "obstetric", "medical", "inside", "outside",
}

// areaWord is a word that names an area.
type areaWord struct {
	area   Area
	text   string // upper case
	prefix bool   // whether longer words that begin with the field text also name the area
}

// circumstance is a set of conditions that a rule in places.txt may have, one bit for each condition. The reasons for
// admission are a separate set.
type circumstance uint16

const (
	whenAdmitted circumstance = 1 << iota
	whenOutpatient
	whenBirth
	whenBirth2h
	whenBirth6h
	whenCesareanDue
	whenAfterCesarean
	whenBorn6h
)

var circumstances = map[string]circumstance{
	"always": 0, "admitted": whenAdmitted, "outpatient": whenOutpatient, "birth": whenBirth,
	"birth<2h": whenBirth2h, "birth<6h": whenBirth6h, "cesarean-due": whenCesareanDue,
	"after-cesarean": whenAfterCesarean, "born<6h": whenBorn6h,
}

// clock is the rule that determines when the clock of a primary factor starts.
type clock uint8

const (
	fromEvent clock = iota
	fromBirth
	fromBirth2h
	fromBorn
)

// careRule is a rule in places.txt: it gives the primary factor of patients in an area
// (docs/decisions.md#primary-table).
type careRule struct {
	when       circumstance
	reasons    acuity.Reasons
	factor     catalogue.Factor
	from       clock
	assumed    bool
	assignedBy string
}

// phraseKind is the effect of a phrase in a reason for admission.
type phraseKind uint8

const (
	phraseNot phraseKind = 1 << iota
	phraseBut
	phraseAfter
	phraseHistory
)

var phraseKinds = map[string]phraseKind{"not": phraseNot, "but": phraseBut, "after": phraseAfter, "history": phraseHistory}

// phrase is a group of words in a reason for admission.
type phrase struct {
	rest    []string // words after the first
	reasons acuity.Reasons
	kind    phraseKind
}

// placeBook is the parsed contents of places.txt.
type placeBook struct {
	words   [32][]areaWord // words that identify an area, by first letter (see letter), in the order of the areas
	service [32][]areaWord // words that identify an area only in the name of a service, by first letter
	except  [areaCount][]string
	rules   [areaCount][]careRule
	reasons []string
	phrases map[string][]phrase // phrases by first word, longest first

	cesarean  acuity.Reasons   // the hint "cesarean"
	other     acuity.Reasons   // the set for a reason without hints
	operation catalogue.Factor // cesarean operation; a patient whose primary factor changes from this one has had a cesarean
}

// places returns the embedded places.txt. It panics if the file is invalid, which a test rules out.
var places = sync.OnceValue(func() *placeBook {
	b, err := parsePlaces(placesText)
	if err != nil {
		panic("adt: " + err.Error())
	}
	return b
})

// parsePlaces parses a text in the format of places.txt.
func parsePlaces(text string) (*placeBook, error) {
	b := &placeBook{phrases: map[string][]phrase{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := b.parseLine(line); err != nil {
			return nil, fmt.Errorf("places line %d: %w", number, err)
		}
	}
	i, other := slices.Index(b.reasons, "cesarean"), slices.Index(b.reasons, "other")
	operation, ok := catalogue.FactorByID("csection-intraop")
	if i < 0 || other < 0 || !ok {
		return nil, fmt.Errorf("places: the cesarean reason, the other reason or the csection-intraop factor is missing")
	}
	b.cesarean, b.other, b.operation = 1<<i, 1<<other, operation
	for _, list := range b.phrases {
		slices.SortStableFunc(list, func(x, y phrase) int { return len(y.rest) - len(x.rest) })
	}
	return b, nil
}

// parseLine parses one line of places.txt and adds its contents to b.
func (b *placeBook) parseLine(line string) error {
	if rule, ok := strings.CutPrefix(line, "rule "); ok {
		return b.parseRule(strings.Fields(rule))
	}
	head, body, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("the colon is missing")
	}
	kind, name, _ := strings.Cut(head, " ")
	switch kind {
	case "area", "except", "service":
		a := slices.Index(areaNames[:], name)
		if a < 0 {
			return fmt.Errorf("unknown area %q", name)
		}
		words := &b.words
		if kind == "service" {
			words = &b.service
		}
		for word := range strings.FieldsSeq(body) {
			if kind == "except" {
				b.except[a] = append(b.except[a], word)
				continue
			}
			stem, prefix := strings.CutSuffix(word, "*")
			i := letter(stem)
			words[i] = append(words[i], areaWord{Area(a), stem, prefix}) //nolint:gosec // a is below areaCount
		}
	case "reason":
		if len(b.reasons) == 64 || slices.Contains(b.reasons, name) {
			return fmt.Errorf("more than 64 reasons, or reason %q is listed twice", name)
		}
		b.reasons = append(b.reasons, name)
		b.addPhrases(body, phrase{reasons: 1 << (len(b.reasons) - 1)})
	case "not", "but", "after", "history":
		b.addPhrases(body, phrase{kind: phraseKinds[kind]})
	default:
		return fmt.Errorf("unknown kind of line %q", kind)
	}
	return nil
}

// addPhrases adds the phrases of a line, all with the reasons and the kind of p. A phrase that b already contains
// keeps its previous reasons and kind and receives those of p in addition.
func (b *placeBook) addPhrases(body string, p phrase) {
	for text := range strings.SplitSeq(body, "|") {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		first, rest := words[0], words[1:]
		list := b.phrases[first]
		i := slices.IndexFunc(list, func(q phrase) bool { return slices.Equal(q.rest, rest) })
		if i < 0 {
			p.rest = rest
			b.phrases[first] = append(list, p)
			continue
		}
		list[i].reasons |= p.reasons
		list[i].kind |= p.kind
	}
}

// parseRule parses the fields of a rule: AREA WHEN FACTOR [from CLOCK] [assumed].
func (b *placeBook) parseRule(f []string) error {
	if len(f) < 3 {
		return fmt.Errorf("a rule needs an area, a condition and a factor")
	}
	a := slices.Index(areaNames[:], f[0])
	if a < 0 {
		return fmt.Errorf("unknown area %q", f[0])
	}
	factor, ok := catalogue.FactorByID(f[2])
	if !ok || !factor.IsPrimary() {
		return fmt.Errorf("unknown primary factor %q", f[2])
	}
	r := careRule{factor: factor, assignedBy: "area:" + f[0]}
	for part := range strings.SplitSeq(f[1], "+") {
		if when, ok := circumstances[part]; ok {
			r.when |= when
			if when != 0 && strings.HasPrefix(r.assignedBy, "area:") {
				name, _, _ := strings.Cut(part, "<")
				r.assignedBy = "rule:" + name
			}
			continue
		}
		i := slices.Index(b.reasons, part)
		if i < 0 {
			return fmt.Errorf("unknown condition %q", part)
		}
		if r.reasons == 0 {
			r.assignedBy = "reason:" + part
		}
		r.reasons |= 1 << i
	}
	for rest := f[3:]; len(rest) > 0; {
		switch {
		case rest[0] == "assumed":
			r.assumed, rest = true, rest[1:]
		case rest[0] == "from" && len(rest) > 1:
			from := slices.Index([]string{fromBirth: "birth", fromBirth2h: "birth+2h", fromBorn: "born"}, rest[1])
			if from <= 0 {
				return fmt.Errorf("unknown clock %q", rest[1])
			}
			r.from, rest = clock(from), rest[2:] //nolint:gosec // from is at most fromBorn
		default:
			return fmt.Errorf("unknown word %q", rest[0])
		}
	}
	b.rules[a] = append(b.rules[a], r)
	return nil
}

// maxAreaText is the number of bytes, from the start of a location or service name, that are searched for words.
const maxAreaText = 64

// area returns the first area in [from, to] that a word in text names, or areaUnknown if no word names one.
func (b *placeBook) area(text string, from, to Area) Area {
	best := areaCount
	for word := range areaWords(text) {
		best = b.wordArea(&b.words, word, from, best, to)
	}
	return best % areaCount // areaCount becomes areaUnknown
}

// serviceArea returns the first area in [from, to] that a word in the name of a service names, or areaUnknown if no
// word names one. More words identify an area in a service name than in a location.
func (b *placeBook) serviceArea(text string, from, to Area) Area {
	best := areaCount
	for word := range areaWords(text) {
		best = b.wordArea(&b.service, word, from, b.wordArea(&b.words, word, from, best, to), to)
	}
	return best % areaCount // areaCount becomes areaUnknown
}

// areaWords iterates over the words in the first maxAreaText bytes of the name of a location or service.
func areaWords(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text[:min(len(text), maxAreaText)], func(c rune) bool { return !isLetter(c) && c != '&' })
}

// wordArea returns the first area in [from, to] that a word names, provided that this area precedes the area best. If
// the word names no such area, wordArea returns best.
func (b *placeBook) wordArea(words *[32][]areaWord, word string, from, best, to Area) Area {
	list := words[letter(word)]
	for i := range list {
		w := &list[i]
		if w.area < from || w.area > to || w.area >= best ||
			len(word) < len(w.text) || (len(word) > len(w.text) && !w.prefix) || !strings.EqualFold(word[:len(w.text)], w.text) ||
			slices.ContainsFunc(b.except[w.area], func(x string) bool { return strings.EqualFold(x, word) }) {
			continue
		}
		best = w.area
	}
	return best
}

// letter returns the index of a word's list in placeBook.words: the low five bits of the first byte, which are 1 to
// 26 for the letters of either case.
func letter(word string) byte { return word[0] & 31 }

// isLetter reports whether r is an ASCII letter.
func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// maxServiceWord is the maximum length of a stored word from a service name, in bytes.
const maxServiceWord = 40

// Service returns the medical service to store: the code in upper case. If the code does not name an area but one of
// the names does, as in "108^Obstetrics", Service returns the first word that names an area and drops the rest.
func Service(code string, names ...string) string {
	if serviceWord(code) == "" {
		for _, name := range names {
			if word := serviceWord(name); word != "" {
				return word
			}
		}
	}
	return strings.ToUpper(code)
}

// serviceWord returns the first word in a text that names an area, or "" if no word does.
func serviceWord(text string) string {
	b := places()
	for word := range areaWords(text) {
		if len(word) <= maxServiceWord && b.serviceArea(word, areaTriage, areaMedical) != areaUnknown {
			return strings.ToUpper(word)
		}
	}
	return ""
}
