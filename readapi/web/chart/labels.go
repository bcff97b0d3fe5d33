package chart

import (
	"math"
	"slices"
	"unicode/utf8"
)

// labeler places labels in a plot area so that they neither overlap nor lie under a line.
type labeler struct {
	*canvas

	left, right, top, foot float64 // edges of the area for labels
	size                   float64 // font size
	taken                  []labelBox
	lines                  [][]point
}

// labelBox is the space that a label occupies.
type labelBox struct{ left, right, top, foot float64 }

func (b labelBox) meets(o labelBox) bool {
	return b.left < o.right && o.left < b.right && b.top < o.foot && o.top < b.foot
}

// isCrossed reports whether the line through the given points crosses the box. The line must not run to the left.
func (b labelBox) isCrossed(line []point) bool {
	for i := 1; i < len(line); i++ {
		from, to := line[i-1], line[i]
		if to.x <= b.left || b.right <= from.x {
			continue
		}
		if from.x < to.x { // only the part of the line above, inside and below the box
			slope := (to.y - from.y) / (to.x - from.x)
			begin, end := math.Max(from.x, b.left), math.Min(to.x, b.right)
			from, to = point{begin, from.y + slope*(begin-from.x)}, point{end, from.y + slope*(end-from.x)}
		}
		if math.Min(from.y, to.y) < b.foot && b.top < math.Max(from.y, to.y) {
			return true
		}
	}
	return false
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

// place draws a label at the first spot that is free of labels and lines. If there is none, it draws nothing. A label
// that would extend beyond the plot area is moved horizontally into it.
func (l *labeler) place(words string, spots ...spot) {
	for _, at := range spots {
		box := l.box(words, at)
		by := math.Max(l.left-box.left, 0) - math.Max(box.right-l.right, 0)
		at.x += by
		box.left, box.right = box.left+by, box.right+by
		if l.isFree(box) {
			l.taken = append(l.taken, box)
			l.text("k", at.anchor, at.x, at.y, words)
			return
		}
	}
}

// isFree reports whether a box is within the area for labels and free of labels and lines.
func (l *labeler) isFree(box labelBox) bool {
	return box.top >= l.top && box.foot <= l.foot &&
		!slices.ContainsFunc(l.taken, box.meets) && !slices.ContainsFunc(l.lines, box.isCrossed)
}

// axisLabel is a label below a figure. x is its center.
type axisLabel struct {
	x     float64
	words string
}

// space returns the width of the label and of a gap.
func (l axisLabel) space() float64 {
	return float64(8*utf8.RuneCountInString(l.words) + 4) //nolint:mnd // measured
}

// selectSeparate returns every n-th label, with the smallest n for which the labels do not overlap.
func selectSeparate(all []axisLabel) []axisLabel {
	apart := 0.0
	for _, label := range all {
		apart = math.Max(apart, label.space())
	}
	for every := 1; ; every++ {
		var some []axisLabel
		separate := true
		for i := 0; i < len(all); i += every {
			separate = separate && (i == 0 || all[i].x-all[i-every].x >= apart)
			some = append(some, all[i])
		}
		if separate {
			return some
		}
	}
}
