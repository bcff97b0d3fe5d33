package terminology

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// fetusLabels are the labels of fetuses. Numbers are equivalent to letters: fetus 1 is fetus A.
const fetusLabels = "ABCDEFGHI"

// fetusWord is the role of a word in the name of a fetus.
type fetusWord uint8

const (
	noFetusWord   fetusWord = iota
	fetusNoun               // "twin" in "twin B" and "second twin"
	fetusNounES             // the same in Spanish, where a lowercase "a" is a preposition
	fetusLead               // "fetal" in "fetal A", "FHR" in "FHR 2": names a fetus only together with the label after it
	fetusChannel            // "US" in "US 2": like fetusLead, but only in the label of a device
	fetusFiller             // "no." in "fetus no. 2"
	fetusConnect            // "and" in "fetus A and B"
	fetusOrdinal            // "second"
	fetusNumber             // "two"
	fetusTotal              // "of" in "twin 1 of 2"
	fetusAge                // "days" in "newborn 2 days", where 2 is not a label
	fetusLabelled           // noun and label in one word: "twinb"
)

// knownFetusWord is the role of a word and the label that the word means: 1 for "A", 2 for "B" and so on; 0 for none.
type knownFetusWord struct {
	kind  fetusWord
	label byte
}

// fetusWords maps the words that can be part of a fetus's name to their roles.
var fetusWords = newFetusWords()

func newFetusWords() map[string]knownFetusWord {
	all := map[string]knownFetusWord{}
	for kind, words := range map[fetusWord]string{
		fetusNoun:    "fetus foetus baby twin triplet quadruplet quad quintuplet infant newborn neonate child",
		fetusNounES:  "feto bebe bebé gemelo gemela trillizo trilliza",
		fetusLead:    "fetal foetal fhr fht",
		fetusChannel: "us ultrasound doppler transducer channel",
		fetusFiller:  "no nr num number id identifier label ch",
		fetusConnect: "and or y to through",
		fetusTotal:   "of de",
		fetusAge:     "day days d hr hrs hour hours h week weeks wk wks month months min mins minute minutes yo",
	} {
		for w := range strings.FieldsSeq(words) {
			all[w] = knownFetusWord{kind: kind}
		}
	}
	for kind, rows := range map[fetusWord][]string{
		fetusOrdinal: {"first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th"},
		fetusNumber: {
			"one i a 1 01", "two ii b 2 02", "three iii c 3 03", "four iv 4 04", "five v e 5 05", "six vi f 6 06",
			"seven vii g 7 07", "eight viii 8 08", "nine ix 9 09",
		},
	} {
		for i, row := range rows {
			for w := range strings.FieldsSeq(row) {
				all[w] = knownFetusWord{kind, byte(i + 1)} //nolint:gosec // at most nine
			}
		}
	}
	for i := range len(fetusLabels) - 1 { // the Roman numeral "I" counts only after a separate noun
		label := strings.ToLower(fetusLabels[i : i+1])
		all[label] = knownFetusWord{fetusNumber, byte(i + 1)}
		for _, noun := range []string{"fetus", "foetus", "baby", "twin"} {
			if i < 4 { // "twinE" is excluded: "twine" is a word
				all[noun+label] = knownFetusWord{fetusLabelled, byte(i + 1)}
			}
		}
	}
	return all
}

// fetusToken is a word of a text at the bytes [from, to).
type fetusToken struct {
	knownFetusWord
	from, to int
}

// maxFetusTokens is the maximum number of words searched for the name of a fetus.
const maxFetusTokens = 48

// FetusIn returns the label ("A" to "I") of the fetus that a text names, such as "Fetus B", "baby #2", "second twin"
// or "FHR1". It returns "" if the text names no fetus or several.
func FetusIn(text string) string {
	label, _ := cutFetus(text, false)
	return label
}

// FetusOfDevice is like FetusIn, for the label of a device or specimen, in which a channel number ("US 2") also names
// the fetus.
func FetusOfDevice(text string) string {
	label, _ := cutFetus(text, true)
	return label
}

// CutFetus returns the label of the fetus that a text names and the text without that name, so that "Fetus 2:
// Category I" is not read as Category II. If the text names no fetus or several, rest is the whole text.
func CutFetus(text string) (label, rest string) { return cutFetus(text, false) }

// FetusNamed returns the label of a fetus from a field that contains only its name, such as "A", "b", "2" or "Fetus B".
func FetusNamed(text string) string {
	if w := fetusWords[strings.ToLower(strings.TrimSpace(text))]; w.kind == fetusNumber {
		return fetusLabels[w.label-1 : w.label]
	}
	return FetusIn(text)
}

// cutFetus implements CutFetus. It allocates only if the text names a fetus, because it runs for every text that
// could name one.
func cutFetus(text string, device bool) (label, rest string) {
	var memory [maxFetusTokens]fetusToken
	list := fetusTokens(text, memory[:0])
	var found byte
	cut := text
	for i := range slices.Backward(list) { // backward, so that the earlier offsets remain valid
		n, last := fetusLabelAt(text, list, i, device)
		switch {
		case n == 0:
			continue
		case n == severalFetuses || found != 0 && n != found:
			return "", text
		}
		found = n
		if from, to := list[i].from, list[last].to; to <= len(cut) {
			cut = cut[:from] + " " + cut[to:]
		}
	}
	if found == 0 {
		return "", text
	}
	return fetusLabels[found-1 : found], cut
}

// severalFetuses is the pseudo-label of a text that names more than one fetus.
const severalFetuses = 0xff

// fetusLabelAt returns the label of the fetus whose name begins at the i-th word, and the index of the name's last
// word. A label of 0 means that no name begins there. The label is severalFetuses if several fetuses are named, as in
// "fetus A and B".
func fetusLabelAt(text string, list []fetusToken, i int, device bool) (label byte, last int) {
	noun := list[i].kind
	switch noun { //nolint:exhaustive // words with other roles do not begin a name
	case fetusLabelled:
		return list[i].label, i
	case fetusOrdinal:
		if i+1 < len(list) && (list[i+1].kind == fetusNoun || list[i+1].kind == fetusNounES) {
			return list[i].label, i + 1
		}
		return 0, i
	case fetusChannel:
		if !device {
			return 0, i
		}
	case fetusNoun, fetusNounES, fetusLead:
	default:
		return 0, i
	}
	at := i + 1
	for at < len(list) && list[at].kind == fetusFiller {
		at++
	}
	if at >= len(list) || list[at].kind != fetusNumber {
		return 0, i
	}
	if list[at-1].kind != fetusFiller && strings.ContainsAny(text[list[at-1].to:list[at].from], ".;,\n") {
		return 0, i // the label begins a new phrase; the dot in "no. 2" is allowed
	}
	word := text[list[at].from:list[at].to]
	switch {
	case noun != fetusNoun && (word == "a" || len(word) > 1 || word == "I" || word == "i"):
		return 0, i // as in "feto a término", or "FHR II", which is a category
	case at+1 < len(list) && list[at+1].kind == fetusAge:
		return 0, i
	}
	label, last = list[at].label, at
	if last+2 < len(list) && list[last+1].kind == fetusTotal && list[last+2].kind == fetusNumber {
		last += 2 // "twin 1 of 2"
	}
	if next := at + 1; next < len(list) {
		gap := strings.TrimSpace(text[list[at].to:list[next].from])
		if list[next].kind == fetusConnect && next+1 < len(list) {
			next++
			gap = "&"
		}
		if (gap == "&" || gap == "/" || gap == "+" || gap == ",") && list[next].kind == fetusNumber && list[next].label != label {
			return severalFetuses, next
		}
	}
	return label, last
}

// fetusTokens appends the words of a text to list. A word also ends between a letter and a following digit, and
// between a lowercase and a following uppercase letter: "FHR1", "fetusB". It appends at most maxFetusTokens words.
func fetusTokens(text string, list []fetusToken) []fetusToken {
	var word [12]byte
	n, start, before := 0, -1, rune(0)
	end := func(to int) {
		if start < 0 {
			return
		}
		t := fetusToken{from: start, to: to}
		if n <= len(word) {
			t.knownFetusWord = fetusWords[string(word[:n])]
		}
		list = append(list, t)
		n, start = 0, -1
	}
	for i, r := range text {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !isWord || unicode.IsLetter(before) && unicode.IsDigit(r) || unicode.IsLower(before) && unicode.IsUpper(r) {
			if end(i); len(list) == maxFetusTokens {
				return list
			}
		}
		before = r
		if !isWord {
			continue
		}
		if start < 0 {
			start = i
		}
		r = unicode.ToLower(r)
		if size := utf8.RuneLen(r); n+size <= len(word) {
			n += utf8.EncodeRune(word[n:], r)
		} else {
			n = len(word) + 1 // longer than any known word
		}
	}
	end(len(text))
	return list
}

// fetusCategories are the ICD-10-CM categories whose seventh character identifies the fetus.
var fetusCategories = []string{"O31", "O32", "O33", "O35", "O36", "O40", "O41", "O60", "O64", "O69"}

// FetusOf returns the label of the fetus that a diagnosis concerns, from the seventh character of the diagnosis's
// ICD-10-CM code or else from its display name. It returns "" if neither identifies a fetus.
func FetusOf(d *acuity.Diagnosis) string {
	if d.System == codes.ICD10CM || d.System == codes.SystemNone {
		code := codes.Normal(codes.ICD10CM, d.Code)
		if len(code) == 7 && slices.Contains(fetusCategories, code[:3]) && code[6] >= '1' && code[6] <= '9' {
			return fetusLabels[code[6]-'1' : code[6]-'0']
		}
	}
	return FetusIn(d.Display)
}

// SameFetus reports whether two diagnoses with the same code may concern the same fetus. They may, unless their
// display names identify different fetuses.
func SameFetus(a, b *acuity.Diagnosis) bool {
	if a.Display == b.Display {
		return true
	}
	x, y := FetusIn(a.Display), FetusIn(b.Display)
	return x == "" || y == "" || x == y
}

// IsFetal reports whether a rule maps a code to a factor that concerns a single fetus.
func IsFetal(system codes.System, code string) (is bool) {
	ix := CatalogueIndex()
	if system == codes.SystemLocal || system == codes.SystemNone {
		if f, ok := catalogue.FactorByID(strings.ToLower(strings.TrimSpace(code))); ok {
			return ix.Fetal.Has(f)
		}
	}
	ix.signals.Table(system).Each(codes.Normal(system, code), func(r *route) { is = is || ix.Fetal.Has(r.factor) })
	return is
}
