// Package chart draws charts as SVG.
//
// A chart is SVG text that uses the classes of the style sheet and the shapes of the page (symbols g, y, o, r). It
// has a title for screen readers and no script. Equal values produce equal bytes.
package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// canvas collects the elements of a figure.
type canvas struct {
	strings.Builder

	pattern string // id of the pattern for unknown values
}

func newCanvas(width, height int, class, title string) *canvas {
	c := &canvas{}
	c.add(`<svg class="chart%s" viewBox="0 0 %d %d" role="img" aria-label="%s">`, class, width, height, html.EscapeString(title))
	return c
}

// add appends markup. Text arguments are escaped.
func (c *canvas) add(format string, values ...any) {
	fmt.Fprintf(c, format, values...) //nolint:errcheck // writes to memory
}

// path draws the SVG path d, as a line or as a filled area, depending on the class.
func (c *canvas) path(class, d string) { c.add(`<path class="%s" d="%s"/>`, class, d) }

// line draws a line through the given points.
func (c *canvas) line(class string, points ...point) { c.path(class, line(points...)) }

// dot marks a point.
func (c *canvas) dot(x, y, radius float64) {
	c.add(`<circle class="dot" cx="%s" cy="%s" r="%s"/>`, number(x), number(y), number(radius))
}

// text writes text at a point. anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, words string) {
	if words == "" {
		return
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	if anchor == "start" {
		anchor = ""
	} else {
		anchor = ` text-anchor="` + anchor + `"`
	}
	c.add(`<text%s x="%s" y="%s"%s>%s</text>`, class, number(x), number(y), anchor, html.EscapeString(words))
}

// shape draws the shape of a level, scaled to a square.
func (c *canvas) shape(level int, x, y, size float64) {
	of := letters[level]
	c.add(`<svg class="sw f%s" x="%s" y="%s" width="%[4]s" height="%[4]s"><use href="#%[1]s"/></svg>`, of, number(x), number(y), number(size))
}

// rect fills a rectangle.
func (c *canvas) rect(class string, x, y, width, height float64) {
	c.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, number(x), number(y), number(width), number(height))
}

// defineStripes defines the pattern for unknown values.
func (c *canvas) defineStripes() {
	c.add(`<pattern id="%s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<path class="fs" d="M0 0h2.5v7H0z"/></pattern>`, c.pattern)
}

// stripe fills a rectangle with the pattern for unknown values.
func (c *canvas) stripe(x, y, width, height float64) {
	c.add(`<rect class="st" fill="url(#%s)" x="%s" y="%s" width="%s" height="%s"/>`, c.pattern, number(x), number(y), number(width), number(height))
}

func (c *canvas) done() template.HTML {
	c.add(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // all text is escaped
}

// letters contains a letter for each level, green first. The letter names the level's shape and color.
var letters = [...]string{"g", "y", "o", "r"}

// number formats a coordinate with at most one decimal.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// point is a place on the canvas.
type point struct{ x, y float64 }

// line returns the path through the given points.
func line(points ...point) string {
	all := make([]string, len(points))
	for i, p := range points {
		all[i] = number(p.x) + " " + number(p.y)
	}
	return "M" + strings.Join(all, " ")
}

// block returns the path of a rectangle's outline.
func block(left, right, top, foot float64) string {
	return fmt.Sprintf("M%s %sH%sV%sH%[1]sz", number(left), number(top), number(right), number(foot))
}

// held returns the corners of a stepped line through n values. Each value applies until the next one. The last value
// applies up to the x coordinate end.
func held(n int, at func(i int) point, end float64) (points []point) {
	for i := range n {
		p, until := at(i), end
		if i+1 < n {
			until = at(i + 1).x
		}
		points = append(points, p, point{until, p.y})
	}
	return points
}

// scale maps a range of values to a range of coordinates.
type scale struct{ from, to, begin, end float64 }

func (s scale) at(v float64) float64 {
	return s.begin + (v-s.from)/(s.to-s.from)*(s.end-s.begin)
}

// timeScale maps a span of time to a range of coordinates.
func timeScale(from, to time.Time, begin, end float64) scale {
	return scale{float64(from.Unix()), float64(to.Unix()), begin, end}
}

func (s scale) atTime(t time.Time) float64 { return s.at(float64(t.Unix())) }

// ticks returns about count evenly spaced, round numbers. The first is at most low, and the last is at least high.
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
	step = max(step, 1) // at least one whole nurse
	first, last := math.Floor(low/step)*step, math.Ceil(high/step)*step
	var all []float64
	for v := first; v <= last+step/2; v += step {
		all = append(all, v)
	}
	return all
}
