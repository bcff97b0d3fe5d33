package chart

import "html/template"

// Levels is how likely each level is at some instants ahead.
type Levels struct {
	Title   string
	Columns []LevelColumn
}

// LevelColumn is one instant. The shares add up to 1, green first; Likely is the level
// that the forecast names.
type LevelColumn struct {
	At     string
	Shares [4]float64
	Likely int
}

// SVG draws a column for each instant, green at its foot.
func (l *Levels) SVG() template.HTML {
	const width, height, top, foot, gap = 760.0, 150.0, 28.0, 118.0, 6.0
	if len(l.Columns) == 0 {
		return ""
	}
	c := newCanvas(width, height, " wide", l.Title)
	each := width / float64(len(l.Columns))
	for i, column := range l.Columns {
		left, right := float64(i)*each+gap/2, float64(i+1)*each-gap/2
		c.raw(`<g class="soft">`)
		y := foot
		for level, share := range column.Shares {
			if share > 0 {
				c.path("f"+letters[level], block(left, right, y-share*(foot-top), y))
				y -= share * (foot - top)
			}
		}
		c.raw(`</g>`)
		c.shape(column.Likely, (left+right)/2-7, 6, 14)
		c.text("", "middle", (left+right)/2, foot+22, column.At)
	}
	return c.done()
}

// Meter is a bar that is filled to a share of 1, with marks at each quarter.
func Meter(share float64) template.HTML {
	return meter(`<path class="fi" d="M0 2h` + number(200*min(max(share, 0), 1)) + `v4H0z"/>`) //nolint:mnd // its width
}

// UnknownMeter is a bar without a fill: the share is not known.
func UnknownMeter() template.HTML { return meter(`<path class="hat" d="M0 4h200"/>`) }

func meter(fill string) template.HTML {
	return template.HTML(`<svg class="m" viewBox="0 0 200 8" preserveAspectRatio="none" aria-hidden="true">` + //nolint:gosec // ours
		`<path class="fl" d="M0 3h200v2H0z"/><path class="fi" d="M50 0v8h1V0zM100 0v8h1V0zM150 0v8h1V0z"/>` + fill + `</svg>`)
}
