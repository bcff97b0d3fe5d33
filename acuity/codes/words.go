package codes

import (
	"strings"
	"unicode"
)

// maxTokens is the maximum number of words in a value. A longer value is unreadable.
const maxTokens = 160

// token is a word in a value.
type token struct {
	word   string
	kept   string // see vocabulary
	known  bool
	joined bool   // whether the word belongs to the same phrase as the previous word: no punctuation ends the phrase between them
	before string // text between the previous word and this word
}

// valueReader reduces the text of a value to words from the vocabulary. It drops unknown words: "Category III;
// provider notified" becomes "category iii". Negations and words of doubt are always kept, because it is safer to
// lose a value than to invent one. An ambiguous word counts only if its position resolves the ambiguity.
type valueReader struct {
	list     []token
	allKnown bool // whether every word is known
	category bool // whether a category is named with its number
	out      []string
}

// normalWords returns the words to keep from a text. It returns false if there are none or too many.
func normalWords(text string) (string, bool) {
	if text == "+" {
		return "positive", true
	}
	r := valueReader{list: splitTokens(text), allKnown: true}
	if len(r.list) == 0 || len(r.list) > maxTokens {
		return "", false
	}
	worded := false
	for i := range r.list {
		r.allKnown = r.allKnown && r.list[i].known
		worded = worded || r.list[i].word != "?"
		if _, _, named := r.readNumbers(i); named {
			r.category = true
		}
	}
	for i := 0; i < len(r.list); i++ {
		i = r.read(i)
	}
	if !worded || len(r.out) == 0 || len(r.out) >= maxWords {
		return "", false
	}
	return strings.Join(r.out, " "), true
}

var valueSpelling = strings.NewReplacer(
	"+/-", " ? ", "-/+", " ? ", "±", " ? ", "’", "'", "Ⅲ", "III", "Ⅱ", "II", "Ⅰ", "I", "ⅲ", "iii", "ⅱ", "ii", "ⅰ", "i",
)

// splitTokens splits the text of a value into words. It stops as soon as there are more than maxTokens words.
func splitTokens(text string) []token {
	text = valueSpelling.Replace(text)
	var list []token
	start, end := -1, 0
	add := func(to int) {
		t := token{word: strings.ToLower(strings.ReplaceAll(text[start:to], "'", "")), before: text[end:start]}
		n, denied := strings.CutSuffix(t.word, "nt")
		if denied && n != "ca" && strings.Contains(strings.ToLower(text[start:to]), "n't") {
			t.word = "not"
		}
		t.joined = !strings.ContainsAny(t.before, ";,.:()[]{}|\n\r") && !strings.Contains(t.before, " - ")
		if n := len(list); n > 0 && t.before == "/" && len(list[n-1].word) == 1 && len(t.word) == 1 {
			if both := list[n-1].word + "/" + t.word; vocabulary[both] != "" || historyWords[both] {
				t.word, t.before, t.joined = both, list[n-1].before, list[n-1].joined
				list = list[:n-1]
			}
		}
		t.kept, t.known = vocabulary[t.word]
		list = append(list, t)
		start, end = -1, to
	}
	for i, c := range text {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c) || c == '\'' && start >= 0
		switch {
		case letter && start < 0:
			start = i
		case letter:
		case start >= 0 && c == '+' && isDigit(text[i-1]): // the plus is part of a grade such as "1+"
		case start >= 0:
			add(i)
			fallthrough
		default:
			if c == '?' || c == '+' {
				start = i
				add(i + 1)
				if c == '+' {
					list[len(list)-1].kept, list[len(list)-1].known = "positive", true
				}
			}
		}
		if len(list) > maxTokens {
			return list
		}
	}
	if start >= 0 {
		add(len(text))
	}
	return list
}

// The sets of words for the rules about word order.
var (
	// findings lists the findings whose absence changes neither the category nor the result.
	findings = wordSet(`acceleration accelerations accel accels deceleration decelerations decel decels variability
		bradycardia tachycardia change changes distress pain bleeding contraction contractions ctx complaint complaints
		order orders intervention interventions reassuring baseline labor`)
	// ofFindings lists the words that precede and qualify a finding.
	ofFindings = wordSet(`late variable early prolonged recurrent intermittent repetitive minimal moderate marked
		significant further other more new any fetal heart rate fhr vaginal uterine patient`)
	drugs = wordSet(`pitocin pit oxytocin oxy magnesium mag epidural bolus fluids fluid medication med meds infusion
		tocolytic terbutaline cytotec misoprostol cervidil foley balloon insulin`)
	historyWords = wordSet(`previous previously prior former formerly history hx earlier initially last h/o s/p`)
	// otherTests lists the names of other tests, whose results may follow the value in the same text.
	otherTests = wordSet(`rh hiv hbsag rubella covid rpr antibody control`)
	organisms  = wordSet(`gbs strep streptococcus streptococci agalactiae organism organisms growth`)
	connects   = wordSet(`to and or then now`)
)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// is reports whether the i-th word is in a set; for an index out of range, it returns false.
func (r *valueReader) is(i int, set map[string]bool) bool {
	return i >= 0 && i < len(r.list) && set[r.list[i].word]
}

func (r *valueReader) keep(words ...string) { r.out = append(r.out, words...) }

// read reads the i-th word and returns the index of the last word of its phrase.
func (r *valueReader) read(i int) int {
	t := &r.list[i]
	if r.is(i, historyWords) {
		if r.isNextToReading(i) {
			r.keep("equivocal")
		}
		return i
	}
	if !t.known || t.kept == "" {
		return i
	}
	switch t.kept {
	case "category", "category i", "category ii", "category iii":
		if to, words, named := r.readNumbers(i); named {
			r.keep("category")
			r.keep(words...)
			return to
		}
		if r.allKnown {
			r.keep("category")
		}
	case "i", "ii", "iii":
		plain := !isDigit(t.word[0])
		if !r.category && plain && (r.allKnown || t.word == t.kept && t.kept != "i" && r.leads(i)) {
			r.keep(t.kept)
		}
	case "normal", "abnormal", "indeterminate":
		next := i + 1
		apart := next == len(r.list) || !r.list[next].joined || r.list[next].known
		switch {
		case r.category:
		case r.allKnown || r.leads(i) && apart:
			r.keep(t.kept)
		case t.kept == "indeterminate":
			r.keep("equivocal")
		}
	case "yes", "present", "reactive":
		if r.leads(i) || r.followsNegation(i) {
			r.keep(t.kept)
		}
	case "detected":
		if t.word == "detected" || r.allKnown || r.is(i-1, organisms) || r.followsNegation(i) {
			r.keep(t.kept)
		}
	case "positive":
		if t.word == "+" && !r.allKnown || r.is(i-1, otherTests) && t.joined || r.is(i+1, otherTests) && r.list[i+1].joined {
			return i
		}
		r.keep(t.kept)
	case "no", "not", "absent":
		return r.readNegation(i)
	case "none":
		if !r.is(i-1, findings) {
			r.keep(t.kept)
		}
	case "off":
		if !(t.joined && r.is(i-1, drugs) || r.is(i+1, drugs) && r.list[i+1].joined) {
			r.keep(t.kept)
		}
	default:
		r.keep(strings.Fields(t.kept)...)
	}
	return i
}

// readNegation reads a negating word and returns the index of the last word in its phrase. A negated finding is
// dropped. Before an unknown word, the negation counts as doubt.
func (r *valueReader) readNegation(i int) int {
	t := &r.list[i]
	if t.word == "n" && !r.allKnown {
		r.keep("equivocal")
		return i
	}
	if t.word == "non" && i+1 < len(r.list) && r.list[i+1].word == "rebreather" {
		return i // "non-rebreather" is a kind of mask
	}
	if t.kept == "absent" && r.is(i-1, findings) {
		return i
	}
	for j := i + 1; j < len(r.list) && r.list[j].joined; j++ {
		switch next := &r.list[j]; {
		case findings[next.word]:
			for j+2 < len(r.list) && connects[r.list[j+1].word] && (findings[r.list[j+2].word] || ofFindings[r.list[j+2].word]) {
				j += 2
			}
			return j
		case ofFindings[next.word] || next.known && next.kept == "":
			continue
		case !next.known:
			r.keep("equivocal")
			return i
		}
		break
	}
	r.keep(t.kept)
	return i
}

// leads reports whether every word before the i-th one is known or contains a digit.
func (r *valueReader) leads(i int) bool {
	for _, t := range r.list[:i] {
		if !t.known && !strings.ContainsFunc(t.word, unicode.IsDigit) {
			return false
		}
	}
	return true
}

// followsNegation reports whether the word before the i-th one is a negation.
func (r *valueReader) followsNegation(i int) bool {
	if i == 0 {
		return false
	}
	switch r.list[i-1].kept {
	case "no", "not", "none":
		return true
	}
	return false
}

// isNextToReading reports whether the i-th word, which refers to the past, qualifies a kept word. That is the case if
// a kept word precedes it directly, or follows it with only dropped known words in between, in the same phrase. It is
// also the case if the word "pregnancy" follows.
func (r *valueReader) isNextToReading(i int) bool {
	if i+1 < len(r.list) && strings.HasPrefix(r.list[i+1].word, "pregnanc") {
		return true
	}
	for j := i + 1; j < len(r.list) && r.list[j].joined; j++ {
		if t := &r.list[j]; t.kept != "" && t.known {
			return true
		} else if !t.known {
			break
		}
	}
	return i > 0 && r.list[i].joined && r.list[i-1].known && r.list[i-1].kept != ""
}

// readNumbers reads the category numbers that begin at the i-th word. It returns the index of the last number, the
// numbers, and whether the word "category" precedes them.
func (r *valueReader) readNumbers(i int) (to int, words []string, named bool) {
	kept, number, _ := strings.Cut(r.list[i].kept, " ")
	if kept != "category" {
		return i, nil, false
	}
	to = i
	if number == "" {
		for to++; to < len(r.list) && r.list[to].known && r.list[to].kept == ""; to++ {
			continue
		}
		if to == len(r.list) || !isNumeral(r.list[to].kept) {
			return i, nil, false
		}
		number = r.list[to].kept
	}
	words = append(words, number)
	for {
		j, connected := to+1, false
		for j < len(r.list) && (r.list[j].joined || strings.TrimSpace(r.list[j].before) == ",") && connects[r.list[j].word] {
			j, connected = j+1, true
		}
		if j >= len(r.list) || !r.list[j].joined || !isNumeral(r.list[j].kept) {
			return to, words, true
		}
		t := &r.list[j]
		if t.word != t.kept { // unlike "ii", a number such as "2" may count something other than categories
			slash := strings.TrimSpace(t.before) == "/" || strings.TrimSpace(t.before) == "-"
			if !slash && (!connected || r.continues(j+1)) {
				return to, words, true
			}
		}
		words, to = append(words, t.kept), j
	}
}

// continues reports whether the i-th word continues a phrase about something other than a category.
func (r *valueReader) continues(i int) bool {
	if i >= len(r.list) || !r.list[i].joined {
		return false
	}
	return !r.list[i].known || r.is(i, findings) || r.is(i, ofFindings)
}

func isNumeral(kept string) bool { return kept == "i" || kept == "ii" || kept == "iii" }
