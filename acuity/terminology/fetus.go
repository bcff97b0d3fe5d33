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

// A fetus is named by a label from "A" to "I". Numbers mean the same: fetus 1 is fetus A.
const fetusLabels = "ABCDEFGHI"

// fetusWord says how a word takes part in the name of a fetus.
type fetusWord uint8

const (
	noFetusWord   fetusWord = iota
	fetusNoun               // "twin B", "second twin"
	fetusNounES             // the same in Spanish, where a small "a" is a preposition
	fetusLead               // "fetal A", "FHR 2": only a label that follows counts
	fetusChannel            // "US 2": the same, but only on the label of a device
	fetusFiller             // "fetus no. 2"
	fetusConnect            // "fetus A and B"
	fetusOrdinal            // "second"
	fetusNumber             // "two"
	fetusTotal              // "twin 1 of 2"
	fetusAge                // "newborn 2 days"
	fetusLabelled           // a noun and its label in one word: "twinb"
)

// knownFetusWord is a word with the label that it stands for: 1 is "A", 0 is none.
type knownFetusWord struct {
	kind  fetusWord
	label byte
}

// fetusWords are the words that can be part of the name of a fetus.
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
	for i := range len(fetusLabels) - 1 { // a roman "I" needs a word of its own
		label := strings.ToLower(fetusLabels[i : i+1])
		all[label] = knownFetusWord{fetusNumber, byte(i + 1)}
		for _, noun := range []string{"fetus", "foetus", "baby", "twin"} {
			if i < 4 { // "twine" is a word
				all[noun+label] = knownFetusWord{fetusLabelled, byte(i + 1)}
			}
		}
	}
	return all
}

// fetusToken is a word of a text, from its first byte to the one behind it.
type fetusToken struct {
	knownFetusWord
	from, to int
}

// maxFetusTokens bounds the words of a text that are searched for the name of a fetus.
const maxFetusTokens = 48

// FetusIn returns which fetus a text names, such as "Fetus B", "baby #2", "second twin" or
// "FHR1": a label from "A" to "I". It returns "" if the text names none, or several.
func FetusIn(text string) string {
	label, _ := cutFetus(text, false)
	return label
}

// FetusOfDevice does the same for the label of a device or specimen. On it, the number of a
// channel names the fetus too: "US 2".
func FetusOfDevice(text string) string {
	label, _ := cutFetus(text, true)
	return label
}

// CutFetus returns which fetus a text names, and the text without that name, so that "Fetus
// 2: Category I" is no Category II. If it names none, or several, the text stays whole.
func CutFetus(text string) (label, rest string) { return cutFetus(text, false) }

// FetusNamed returns the label for the whole name of a fetus: "A", "b", "2", "Fetus B". It
// serves elements that hold nothing else.
func FetusNamed(text string) string {
	if w := fetusWords[strings.ToLower(strings.TrimSpace(text))]; w.kind == fetusNumber {
		return fetusLabels[w.label-1 : w.label]
	}
	return FetusIn(text)
}

// cutFetus implements CutFetus. It does not allocate unless a fetus is named: it runs for
// every text that could name one.
func cutFetus(text string, device bool) (label, rest string) {
	var memory [maxFetusTokens]fetusToken
	list := fetusTokens(text, memory[:0])
	var found byte
	cut := text
	for i := range slices.Backward(list) { // backward, so that the places stay as they are
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

// severalFetuses stands for more than one label.
const severalFetuses = 0xff

// fetusLabelAt returns the label of a fetus whose name begins at the i-th word, and the
// index of the last word of the name; 0: no name begins there.
func fetusLabelAt(text string, list []fetusToken, i int, device bool) (label byte, last int) {
	noun := list[i].kind
	switch noun { //nolint:exhaustive // nothing else begins a name
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
		return 0, i // the label begins another phrase; "no. 2" has a point of its own
	}
	word := text[list[at].from:list[at].to]
	switch {
	case noun != fetusNoun && (word == "a" || len(word) > 1 || word == "I" || word == "i"):
		return 0, i // "feto a término"; "FHR II" is a category
	case at+1 < len(list) && list[at+1].kind == fetusAge:
		return 0, i
	}
	label, last = list[at].label, at
	if last+2 < len(list) && list[last+1].kind == fetusTotal && list[last+2].kind == fetusNumber {
		last += 2 // twin 1 of 2
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

// fetusTokens appends the words of a text. Words end where letters and digits meet, and
// where a small letter is followed by a capital: "FHR1", "fetusB".
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
			n = len(word) + 1 // no word that we know
		}
	}
	end(len(text))
	return list
}

// fetusCategories are the categories of ICD-10-CM whose seventh character names the fetus.
var fetusCategories = []string{"O31", "O32", "O33", "O35", "O36", "O40", "O41", "O60", "O64", "O69"}

// FetusOf returns which fetus a diagnosis is about: by the seventh character of its
// ICD-10-CM code, else by its display; "": it names none.
func FetusOf(d *acuity.Diagnosis) string {
	if d.System == codes.ICD10CM || d.System == codes.SystemNone {
		code := codes.Normal(codes.ICD10CM, d.Code)
		if len(code) == 7 && slices.Contains(fetusCategories, code[:3]) && code[6] >= '1' && code[6] <= '9' {
			return fetusLabels[code[6]-'1' : code[6]-'0']
		}
	}
	return FetusIn(d.Display)
}

// SameFetus reports whether the displays of two diagnoses with one code do not name two fetuses.
func SameFetus(a, b *acuity.Diagnosis) bool {
	if a.Display == b.Display {
		return true
	}
	x, y := FetusIn(a.Display), FetusIn(b.Display)
	return x == "" || y == "" || x == y
}

// IsFetal reports whether a rule reads a code for a factor of one fetus.
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
