package chart

import (
	"math"
	"unicode/utf8"
)

// labeler places labels next to lines so that they do not overlap.
type labeler struct {
	*canvas

	left, right, top, foot float64 // edges of the plot area
	size                   float64 // font size
	taken                  []labelBox
	lines                  []labelBox // lines that labels avoid if possible
}

// labelBox is the space that a label occupies.
type labelBox struct{ left, right, top, foot float64 }

func (b labelBox) meets(o labelBox) bool {
	return b.left < o.right && o.left < b.right && b.top < o.foot && o.top < b.foot
}

// spot is a possible position for a label: an anchor and the point where the anchor is.
type spot struct {
	anchor string
	x, y   float64
}

// letterWidth is an upper bound for the mean width of a label's characters in the pages' bold font, relative to the
// font size. The largest mean width measured in a browser was 0.56.
const letterWidth = .6

func (l *labeler) width(words string) float64 {
	return letterWidth * l.size * float64(utf8.RuneCountInString(words))
}

// box returns the space that a label occupies at a spot.
func (l *labeler) box(words string, at spot) labelBox {
	width := l.width(words)
	left := at.x
	switch at.anchor {
	case "end":
		left -= width
	case "middle":
		left -= width / 2 //nolint:mnd // half of the label
	}
	return labelBox{left, left + width, at.y - l.size*.85, at.y + l.size*.3}
}

// avoid adds the line through the given points to the lines that labels avoid.
func (l *labeler) avoid(points []point) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		l.lines = append(l.lines, labelBox{a.x, b.x, math.Min(a.y, b.y) - 1, math.Max(a.y, b.y) + 1})
	}
}

// place draws a label at the first free spot that no line crosses. If there is none, it draws the label at the first
// free spot. If no spot is free, it draws nothing. A label that would extend beyond the plot area is moved
// horizontally into it.
func (l *labeler) place(words string, spots ...spot) {
	if !l.placeAt(words, spots, l.lines) {
		l.placeAt(words, spots, nil)
	}
}

// placeAt draws a label at the first free spot that avoids the given lines. It returns false if there is none.
func (l *labeler) placeAt(words string, spots []spot, lines []labelBox) bool {
	for _, at := range spots {
		box := l.box(words, at)
		by := math.Max(l.left-box.left, 0) - math.Max(box.right-l.right, 0)
		at.x += by
		box.left, box.right = box.left+by, box.right+by
		free := box.top >= l.top-l.size && box.foot <= l.foot
		for _, other := range l.taken {
			free = free && !box.meets(other)
		}
		for _, line := range lines {
			free = free && !box.meets(line)
		}
		if free {
			l.taken = append(l.taken, box)
			l.text("k", at.anchor, at.x, at.y, words)
			return true
		}
	}
	return false
}
