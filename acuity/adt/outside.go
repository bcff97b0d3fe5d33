package adt

import (
	"slices"
	"strings"
)

// IsOutside reports whether the name of a point of care contains a word for another unit and no word that only a
// maternity unit has. If the name contains no word for any unit, known is false.
func IsOutside(pointOfCare string) (outside, known bool) {
	b := places()
	switch {
	case b.isMaternity(pointOfCare):
		return false, true
	case b.names(pointOfCare, areaOutside):
		return true, true
	default:
		return false, b.isInside(pointOfCare)
	}
}

// BeginsOutside reports whether a text that names a unit and a room begins with a word for another unit and contains no
// word that only a maternity unit has.
func BeginsOutside(text string) bool {
	for word := range areaWords(text) {
		first, _ := IsOutside(word)
		whole, _ := IsOutside(text)
		return first && whole
	}
	return false
}

// IsMedical reports whether the name of a point of care contains a word for another specialty and no word for a
// maternity unit.
func IsMedical(pointOfCare string) bool {
	b := places()
	return !b.isInside(pointOfCare) && b.names(pointOfCare, areaMedical)
}

// isInside reports whether a text contains a word for a maternity unit, or for an area that such a unit may have.
func (b *placeBook) isInside(text string) bool {
	return b.isMaternity(text) || b.area(text, areaTriage, areaObstetric) != areaUnknown
}

// isMaternity reports whether a text contains a word that only a maternity unit has. Triage, operating rooms, recovery
// and intermediate care exist in other units, too: an "ED TRIAGE" is outside.
func (b *placeBook) isMaternity(text string) bool {
	return b.area(text, areaInside, areaInside) != areaUnknown ||
		b.area(text, areaLabor, areaNICU) != areaUnknown || b.area(text, areaNursery, areaObstetric) != areaUnknown
}

// names reports whether a text contains a word for an area. The first word of "Medical Center" or "Med Ctr", which name
// a hospital, is not one.
func (b *placeBook) names(text string, a Area) bool {
	count, medical := 0, false
	for word := range areaWords(text) {
		switch {
		case b.wordArea(&b.words, word, a, areaCount, a) == a:
			count++
			medical = strings.EqualFold(word, "MED") || strings.EqualFold(word, "MEDICAL")
			continue
		case medical && isCenter(word):
			count--
		}
		medical = false
	}
	return count > 0
}

// isCenter reports whether a word is "center" or an abbreviation of it.
func isCenter(word string) bool {
	return slices.ContainsFunc([]string{"CENTER", "CENTRE", "CTR"}, func(c string) bool { return strings.EqualFold(c, word) })
}
