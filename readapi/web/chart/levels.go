package chart

import (
	"html/template"
	"math"
	"slices"
)

// Levels is a chart of the probability of each level at future instants, or of the time spent at each level.
type Levels struct {
	Title   string
	Columns []LevelColumn
	Narrow  bool // whether the chart has the width of a phone
}

// LevelColumn is one instant or one span of time. Shares (green first) and Unknown are fractions that add up to at
// most 1; the remainder was not recorded. The mark above the column has the shape of the level Likely, or is missing
// if Likely is -1. If Unsure is true, the mark has a question mark.
type LevelColumn struct {
	At      string
	Shares  [4]float64
	Likely  int
	Unknown float64 // fraction with an unknown level, drawn striped; if Likely is -1, with a question mark above
	Unsure  bool    // whether the level may be worse than Likely
}

// SVG draws a column for each instant, green at the bottom.
func (l *Levels) SVG() template.HTML {
	const height, top, foot = 150, 28.0, 118.0
	if len(l.Columns) == 0 {
		return ""
	}
	width, gap, class, pattern := 760.0, 6.0, " wide", "stripes"
	if l.Narrow {
		width, gap, class, pattern = 380, 3, " narrow", "narrowstripes"
	}
	c := newCanvas(int(width), height, class, l.Title)
	c.pattern = pattern
	if slices.ContainsFunc(l.Columns, func(column LevelColumn) bool { return column.Unknown > 0 }) {
		c.defineStripes()
	}
	each := width / float64(len(l.Columns))
	size := min(14, each-2) //nolint:mnd // size of the symbols
	for i, column := range l.Columns {
		left, right := float64(i)*each+gap/2, float64(i+1)*each-gap/2
		y := foot
		if column.Unknown > 0 {
			y -= column.Unknown * (foot - top)
			c.stripe(left, y, right-left, foot-y)
		}
		c.add(`<g class="soft">`)
		for level, share := range column.Shares {
			if share > 0 {
				c.path("f"+letters[level], block(left, right, y-share*(foot-top), y))
				y -= share * (foot - top)
			}
		}
		c.add(`</g>`)
		middle := (left + right) / 2
		switch {
		case column.Likely >= 0 && column.Unsure:
			c.shape(column.Likely, middle-size/2-4, 6, size)
			c.text("k", "start", middle+size/2-3, 18, "?")
		case column.Likely >= 0:
			c.shape(column.Likely, middle-size/2, 6, size)
		case column.Unknown > 0:
			c.text("k", "middle", middle, 18, "?")
		}
	}
	c.line("ax", point{0, foot}, point{width, foot})
	for _, label := range l.placeLabels(width) {
		c.text("", "middle", label.x, foot+22, label.words)
	}
	return c.done()
}

// placeLabels returns the labels of the columns in a figure of the given width. A label that would extend beyond the
// figure is moved into it, or omitted if it would then be below another column.
func (l *Levels) placeLabels(width float64) []axisLabel {
	var all []axisLabel
	each := width / float64(len(l.Columns))
	for i, column := range l.Columns {
		label := axisLabel{(float64(i) + .5) * each, column.At}
		x := min(max(label.x, label.space()/2), width-label.space()/2) //nolint:mnd // half the width of the label
		if column.At != "" && math.Abs(x-label.x) < each/2 {           //nolint:mnd // half the width of the column
			label.x = x
			all = append(all, label)
		}
	}
	return selectSeparate(all)
}
