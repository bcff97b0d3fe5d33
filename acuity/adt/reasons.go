package adt

import (
	"math/bits"
	"slices"

	"svc/acuity"
)

// The limits on the text of a reason, in bytes and words.
const (
	maxReasonText  = 512
	maxReasonWords = 96
)

// ParseReasons reduces the text of an admission reason to a set of hints. A hint that is negated ("no leaking"),
// withdrawn ("ROM ruled out") or historical ("previous cesarean") does not count. The result is noHints if the text has
// words but no hints, or if it is "" (two quotation marks), which deletes the reason. It is 0 if the text has no words.
// ParseReasons does not allocate.
func ParseReasons[Text string | []byte](text Text) acuity.Reasons {
	var buffer [maxReasonText]byte
	var words [maxReasonWords]reasonWord
	n := splitReason(buffer[:0], words[:], text)
	found := readReason(places(), buffer[:], words[:n])
	if found == 0 && (n > 0 || string(text) == deleted) {
		return noHints()
	}
	return found
}

// noHints returns the set for a reason without hints. Unlike an empty set, which means that no reason was sent, it
// replaces the hints of an earlier reason.
func noHints() acuity.Reasons { return places().other }

// reasonWord is a word in a reason, at the bytes [from, to) of the buffer.
type reasonWord struct {
	from, to uint16
	starts   bool // whether the word begins a part of the sentence, which ends the scope of a negation
}

// splitReason writes the words of a text to buffer, in lower case, and stores the position of each word in the list
// words. It returns the number of words that it found.
func splitReason[Text string | []byte](buffer []byte, words []reasonWord, text Text) int {
	n, in, starts := 0, false, true
	for i := range min(len(text), maxReasonText) {
		c := reasonBytes[text[i]]
		if c == 0 {
			in = false
			switch text[i] {
			case ',', ';', '.', '!', '?', '(', ')', '\n', '\r':
				starts = true
			}
			continue
		}
		if !in {
			if n == len(words) {
				return n
			}
			words[n] = reasonWord{from: uint16(len(buffer)), starts: starts} //nolint:gosec // at most maxReasonText
			n, in, starts = n+1, true, false
		}
		buffer = append(buffer, c)
		words[n-1].to = uint16(len(buffer)) //nolint:gosec // at most maxReasonText
	}
	return n
}

// reasonBytes maps each byte of a word to lower case, and each byte that separates words to 0.
var reasonBytes = func() (all [256]byte) {
	for i := range all {
		switch c := byte(i); {
		case c >= 'A' && c <= 'Z':
			all[c] = c + 'a' - 'A'
		case isLetter(rune(c)), c >= '0' && c <= '9', c == '&', c == '<', c >= 0x80:
			all[c] = c
		}
	}
	return all
}()

// readReason returns the hints that the phrases in a reason give. The text of the words is in buffer.
func readReason(b *placeBook, buffer []byte, words []reasonWord) acuity.Reasons {
	var found, last acuity.Reasons
	denied, past := false, false
	for i := 0; i < len(words); {
		if words[i].starts {
			denied, past, last = false, false, 0
		}
		p := b.phraseAt(buffer, words[i:])
		if p == nil {
			last = 0
			i++
			continue
		}
		i += 1 + len(p.rest)
		switch {
		case p.reasons != 0:
			last = 0
			if !denied && !past {
				last = p.reasons &^ found
				found |= p.reasons
			}
			past = false
		case p.kind&phraseAfter != 0 && last != 0:
			found &^= last
			last = 0
		case p.kind&phraseNot != 0:
			denied, last = true, 0
		case p.kind&phraseHistory != 0:
			past, last = true, 0
		case p.kind&phraseBut != 0:
			denied, past, last = false, false, 0
		}
	}
	return found
}

// phraseAt returns the longest phrase that words begins with, or nil if there is none. A phrase does not extend into the
// next part of the sentence.
func (b *placeBook) phraseAt(buffer []byte, words []reasonWord) *phrase {
	list := b.phrases[string(buffer[words[0].from:words[0].to])]
next:
	for i := range list {
		p := &list[i]
		if len(p.rest) >= len(words) {
			continue
		}
		for j, rest := range p.rest {
			if w := words[j+1]; w.starts || string(buffer[w.from:w.to]) != rest {
				continue next
			}
		}
		return p
	}
	return nil
}

// ReasonCodes returns the stable names of the hints in r, in bit order, or nil if r is empty.
func ReasonCodes(r acuity.Reasons) []string {
	if r == 0 {
		return nil
	}
	names := places().reasons
	codes := make([]string, 0, bits.OnesCount64(uint64(r)))
	for i, name := range names {
		if r&(1<<i) != 0 {
			codes = append(codes, name)
		}
	}
	return codes
}

// ReasonsOf returns the set of hints with the given names. It ignores names that this release does not know.
func ReasonsOf(codes []string) acuity.Reasons {
	var r acuity.Reasons
	for _, code := range codes {
		if i := slices.Index(places().reasons, code); i >= 0 {
			r |= 1 << i
		}
	}
	return r
}
