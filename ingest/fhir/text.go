package fhir

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"svc/acuity"
	"svc/acuity/adt"
	"svc/acuity/codes"
	"svc/acuity/terminology"
)

// terms reads the codes and values of a document in the form that may be stored. It
// caches them, because displays, codes and units repeat.
type terms struct {
	*document
	masked  map[string]string
	sought  map[string]string      // words that rules look for, by text
	units   map[string]codes.Value // values without a number, by how the unit is written
	systems map[string]codes.System
}

// string returns a text without control characters and outer spaces; "" if it is longer
// than most.
func (d *document) string(p span, most int) string {
	b := bytes.TrimSpace(d.bytes(p))
	if len(b) == 0 || len(b) > most {
		return ""
	}
	return cached(&d.plain, b, printable)
}

// cached returns what read makes of a text of the body, from the cache if it is there.
func cached[V any](cache *map[string]V, text []byte, read func(text string) V) V {
	v, known := (*cache)[string(text)]
	if !known {
		if *cache == nil {
			*cache = map[string]V{}
		}
		key := string(text)
		v = read(key)
		(*cache)[key] = v
	}
	return v
}

// printable returns a text without control characters and outer spaces.
func printable(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

// cutPlace returns the name of a place with at most maxPlace bytes.
func cutPlace(name string) string {
	if len(name) <= maxPlace {
		return name
	}
	return strings.TrimSpace(strings.ToValidUTF8(name[:maxPlace], ""))
}

// display returns the name of a code in the form that may be stored.
func (t *terms) display(p span) string {
	if p.empty() {
		return ""
	}
	return cached(&t.masked, t.bytes(p), func(text string) string { return codes.MaskDisplay(text[:min(len(text), maxText)]) })
}

// system returns the code system of a URI. If there is no URI, it guesses the system from
// the code, and guessed is true.
func (t *terms) system(p span, code string) (system codes.System, guessed bool) {
	uri, _, _ := bytes.Cut(t.bytes(p), []byte("|")) // the URI may have a version
	switch string(uri) {
	case "http://snomed.info/sct":
		return codes.SNOMED, false
	case "http://loinc.org":
		return codes.LOINC, false
	case "http://hl7.org/fhir/sid/icd-10-cm":
		return codes.ICD10CM, false
	case "http://www.nlm.nih.gov/research/umls/rxnorm":
		return codes.RxNorm, false
	case "":
		return codes.NormalSystem("", code)
	}
	return cached(&t.systems, uri, func(uri string) codes.System {
		system, _ := codes.NormalSystem(uri, "")
		return system
	}), false
}

// codes appends the codings of a concept, without empty ones and duplicates, and then
// the words of its text. The concept is at the path field of the resource.
func (t *terms) codes(dst []acuity.Coding, r *resource, c *concept, field string) []acuity.Coding {
	for i := range t.codings[c.first:c.last] {
		sent := &t.codings[c.first:c.last][i]
		if sent.code.empty() {
			if reduced := t.reduced(sent.display); reduced != "" {
				dst = add(dst, acuity.Coding{Display: reduced})
			}
			continue
		}
		code := t.string(sent.code, maxCode)
		if code == "" {
			t.warn(r, "code_unreadable", field)
			continue
		}
		system, guessed := t.system(sent.system, code)
		if guessed {
			t.warn(r, "system_assumed", field)
		}
		dst = add(dst, acuity.Coding{System: system, Code: code, Display: t.display(sent.display)})
	}
	if reduced := t.reduced(c.text); reduced != "" {
		dst = add(dst, acuity.Coding{Display: reduced})
	}
	return dst
}

// add appends a coding that is not in the list yet.
func add(dst []acuity.Coding, c acuity.Coding) []acuity.Coding {
	if len(dst) == maxCodings || slices.Contains(dst, c) {
		return dst
	}
	return append(dst, c)
}

// reduced returns the words in a free text that rules look for. The whole text could be
// about a person.
func (t *terms) reduced(p span) string {
	if p.empty() {
		return ""
	}
	return cached(&t.sought, t.bytes(p), func(text string) string { return terminology.ReduceDisplay(text[:min(len(text), maxText)]) })
}

// serviceOf returns the service of an Encounter: its first code. Another code or a name
// may tell more about the kind of place; then it is that.
func (t *terms) serviceOf(c *concept) string {
	if c.first == c.last && c.text.empty() {
		return ""
	}
	code := ""
	var names []string
	for i := range t.codings[c.first:c.last] {
		sent := &t.codings[c.first:c.last][i]
		if next := t.string(sent.code, maxService); code == "" {
			code = next
		} else {
			names = append(names, next)
		}
		names = append(names, t.string(sent.display, maxText))
	}
	return adt.Service(code, append(names, t.string(c.text, maxText))...)
}
