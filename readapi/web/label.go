package web

import (
	"strconv"
	"strings"
	"unicode"

	"svc/readapi/web/page"
)

// labelLines is the maximum number of lines of a room's label on a wall.
const labelLines = 3

// LabelClass returns the style classes with which the label is drawn as large as the room allows, on one line or, if it
// would become too small, on up to three lines that break only between words. A short label needs no classes.
func (t *tile) LabelClass() string {
	words := strings.Split(t.Label, " ")
	widths := make([]int, len(words))
	for i, word := range words {
		widths[i] = labelWidth(word)
	}
	line, column := halves(labelWidth(t.Label)), halves(narrowestColumn(widths))
	var classes []string
	switch {
	case line > page.LargestLabelClass:
		classes = append(classes, "long")
	case line > shortLabel:
		classes = append(classes, "l"+strconv.Itoa(line))
	}
	if column > shortLabel {
		classes = append(classes, "d"+strconv.Itoa(min(column, page.LargestLabelClass)))
	}
	return strings.Join(classes, " ")
}

// shortLabel is the width, in halves of the font size, of the labels that the style sheet assumes without classes.
const shortLabel = 6

// halves converts hundredths of the font size to halves, rounded up.
func halves(hundredths int) int { return (hundredths + 49) / 50 } //nolint:mnd // rounding

// narrowestColumn returns the narrowest width in which words fit on labelLines lines. Widths are in hundredths of the
// font size.
func narrowestColumn(words []int) int {
	column := 0
	for _, w := range words {
		column = max(column, w)
	}
	for {
		lines, used := 1, -labelWidth(" ")
		for _, w := range words {
			if used += labelWidth(" ") + w; used > column {
				lines++
				used = w
			}
		}
		if lines <= labelLines {
			return column
		}
		column += 50 //nolint:mnd // half of the font size
	}
}

// The widths of characters of the pages' font, in hundredths of the font size. Each is the width of the widest
// character of its kind, so a label is never wider than computed.
const (
	narrowWidth = 45
	smallWidth  = 60
	digitWidth  = 65
	largeWidth  = 70
	wideWidth   = 90
	otherWidth  = 100
)

// labelWidth returns an upper bound of the width of a text, in hundredths of the font size.
func labelWidth(s string) (width int) {
	for _, r := range s {
		switch {
		case strings.ContainsRune(" !.,'’·()-/Ifijlrtí", r):
			width += narrowWidth
		case strings.ContainsRune("#&GMNOQWmwÑÓ", r):
			width += wideWidth
		case unicode.IsDigit(r):
			width += digitWidth
		case r > unicode.MaxLatin1:
			width += otherWidth
		case unicode.IsLower(r):
			width += smallWidth
		default:
			width += largeWidth
		}
	}
	return width
}
