// Package chart draws figures as SVG.
//
// A figure is text of its own. It uses the classes of the style sheet and the shapes of the page
// (symbols g, y, o, r). It has a title for people who do not see it, and runs no script.
// Equal values give equal bytes.
package chart

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// canvas collects the elements of one figure.
type canvas struct{ strings.Builder }

func newCanvas(width, height int, class, title string) *canvas {
	c := &canvas{}
	c.raw(`<svg class="chart` + class + `" viewBox="0 0 ` + strconv.Itoa(width) + ` ` + strconv.Itoa(height) + `" role="img" aria-label="` + html.EscapeString(title) + `">`)
	return c
}

func (c *canvas) raw(s string) { c.WriteString(s) }

// path draws a line through points, or fills what they enclose.
func (c *canvas) path(class, d string) { c.raw(`<path class="` + class + `" d="` + d + `"/>`) }

// text writes words at a point. Anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, words string) {
	if words == "" {
		return
	}
	c.raw(`<text`)
	if class != "" {
		c.raw(` class="` + class + `"`)
	}
	c.raw(` x="` + number(x) + `" y="` + number(y) + `"`)
	if anchor != "start" {
		c.raw(` text-anchor="` + anchor + `"`)
	}
	c.raw(`>` + html.EscapeString(words) + `</text>`)
}

// shape draws the shape of a level in a square.
func (c *canvas) shape(level int, x, y, size float64) {
	of := letters[level]
	c.raw(`<svg class="sw f` + of + `" x="` + number(x) + `" y="` + number(y) + `" width="` + number(size) + `" height="` + number(size) + `"><use href="#` + of + `"/></svg>`)
}

// rect fills a rectangle.
func (c *canvas) rect(class string, x, y, width, height float64) {
	c.raw(`<rect class="` + class + `" x="` + number(x) + `" y="` + number(y) + `" width="` + number(width) + `" height="` + number(height) + `"/>`)
}

func (c *canvas) done() template.HTML {
	c.raw(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // all words were escaped
}

// letters name the shape and the colour of each level, green first.
var letters = [...]string{"g", "y", "o", "r"}

// number writes a coordinate with at most one decimal.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// point is a place on the canvas.
type point struct{ x, y float64 }

// line is the path through points.
func line(points ...point) string {
	var b strings.Builder
	for i, p := range points {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(number(p.x) + " " + number(p.y))
	}
	return b.String()
}

// scale maps a range of values to a range of coordinates.
type scale struct{ from, to, begin, end float64 }

func (s scale) at(v float64) float64 {
	return s.begin + (v-s.from)/(s.to-s.from)*(s.end-s.begin)
}

// ticks are round numbers from low to high, about count of them, and the range that
// they span.
func ticks(low, high float64, count int) []float64 {
	if high <= low {
		high = low + 1
	}
	raw := (high - low) / float64(count)
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	step := magnitude * 10
	for _, m := range []float64{1, 2, 5} {
		if magnitude*m >= raw {
			step = magnitude * m
			break
		}
	}
	step = max(step, 1) // whole nurses
	first, last := math.Floor(low/step)*step, math.Ceil(high/step)*step
	var all []float64
	for v := first; v <= last+step/2; v += step {
		all = append(all, v)
	}
	return all
}
