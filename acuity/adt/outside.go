package adt

import (
	"slices"
	"strings"
)

// IsOutside reports whether the name of a point of care contains a word for another unit and no word for a maternity
// unit. If the name contains neither, known is false.
func IsOutside(pointOfCare string) (outside, known bool) {
	b := places()
	if b.isInside(pointOfCare) {
		return false, true
	}
	outside = b.names(pointOfCare, areaOutside)
	return outside, outside
}

// BeginsOutside reports whether a text that names a unit and a room begins with a word for another unit and contains no
// word for a maternity unit.
func BeginsOutside(text string) bool {
	for word := range areaWords(text) {
		outside, _ := IsOutside(word)
		return outside && !places().isInside(text) && places().names(text, areaOutside)
	}
	return false
}

// IsMedical reports whether the name of a point of care contains a word for another specialty and no word for a
// maternity unit.
func IsMedical(pointOfCare string) bool {
	b := places()
	return !b.isInside(pointOfCare) && b.names(pointOfCare, areaMedical)
}

// isInside reports whether a text contains a word for a maternity unit.
func (b *placeBook) isInside(text string) bool {
	return b.area(text, areaTriage, areaObstetric) != areaUnknown || b.area(text, areaInside, areaInside) != areaUnknown
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
