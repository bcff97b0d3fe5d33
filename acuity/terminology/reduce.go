package terminology

import (
	"strings"
	"unicode"

	"svc/acuity/codes"
)

// ReduceDisplay reduces free text that stands for a code to what the rules on displays
// read in it. Words of the rules stay, in their order; other words become "x", numbers
// "0". Text without a word of a rule gives "". So the result cannot be about a person,
// and a rule finds the same in it as in the whole.
func ReduceDisplay(text string) string {
	text = codes.CleanDisplay(text)
	lexicon := CatalogueIndex().lexicon
	if lexicon.scan(text).sought == 0 {
		return ""
	}
	var b strings.Builder
	last := ""
	words := strings.FieldsFunc(strings.ReplaceAll(text, "/", " / "), func(r rune) bool {
		return r != '/' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		w = strings.ToLower(w)
		if _, known := lexicon[w]; !known && w != "/" {
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

// UnitOf returns the unit in which a rule of the catalogue reads the value of a code;
// "": no rule asks for a unit.
func UnitOf(system codes.System, code string) (unit string) {
	CatalogueIndex().signals.Table(system).Each(codes.Normal(system, code), func(r *route) {
		if r.Needs.Unit != "" {
			unit = r.Needs.Unit
		}
	})
	return unit
}
