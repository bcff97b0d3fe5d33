package chart

import (
	"html/template"
	"math"
	"strconv"
	"time"
)

// The dimensions of a chart with rows, each of which has a name on the left.
const (
	rowsWidth         = 560
	rowsLeft          = 196.0
	rowsTop, rowEvery = 30.0, 36.0
	rowBar            = 22.0
	mostName          = 27 // maximum number of characters of a name
)

// shorten truncates a name that is too long.
func shorten(name string) string {
	letters := []rune(name)
	if len(letters) <= mostName {
		return name
	}
	return string(letters[:mostName-1]) + "…"
}

// newRows starts a chart with n rows, and returns the y coordinate of their end.
func newRows(n int, title string) (c *canvas, foot float64) {
	foot = rowsTop + float64(n)*rowEvery
	return newCanvas(rowsWidth, int(foot)+32, "", title), foot
}

func rowAt(i int) float64 { return rowsTop + float64(i)*rowEvery + 7 }

// drawName writes the name of a row.
func (c *canvas) drawName(i int, name string) {
	c.text("k", "end", rowsLeft-12, rowAt(i)+15, shorten(name))
}

// drawMark draws a line through all rows, with a label at its lower end.
func (c *canvas) drawMark(x, foot float64, words string) {
	c.line("was", point{x, rowsTop - 6}, point{x, foot})
	anchor := "middle"
	if x > rowsWidth-60 {
		anchor, x = "end", rowsWidth
	}
	c.text("k", anchor, x, foot+22, words)
}

// Ladder is a chart of the demand of each factor of a room, in nurses. The largest demand applies, and
// additional demand is added to it.
type Ladder struct {
	Title       string
	Rungs       []Rung
	Counts      float64
	CountsLabel string
}

// Rung is one factor on the ladder.
type Rung struct {
	Name   string
	Begins float64 // start of the bar, in nurses: the largest demand for the bar of additional demand, 0 for all others
	Nurses float64 // 0: no demand
	Leads  bool
	Label  string
}

// fill returns the style class of the bar.
func (r *Rung) fill() string {
	if r.Leads {
		return "fi"
	}
	return "fl"
}

// SVG draws the figure.
func (l *Ladder) SVG() template.HTML {
	most := math.Max(l.Counts, 2)
	for _, r := range l.Rungs {
		most = math.Max(most, r.Begins+r.Nurses)
	}
	c, foot := newRows(len(l.Rungs), l.Title)
	const right = rowsWidth - 20
	x := scale{0, most, rowsLeft, right}
	for _, mark := range []struct {
		nurses float64
		words  string
	}{{1.0 / 3, "1:3"}, {.5, "1:2"}, {1, "1:1"}, {2, "2:1"}} {
		c.line("grid", point{x.at(mark.nurses), rowsTop - 8}, point{x.at(mark.nurses), foot})
		anchor := "middle"
		switch mark.words {
		case "1:3":
			anchor = "end"
		case "1:2":
			anchor = "start"
		}
		c.text("", anchor, x.at(mark.nurses), rowsTop-14, mark.words)
	}
	for i, r := range l.Rungs {
		c.drawName(i, r.Name)
		if r.Nurses > 0 {
			c.rect(r.fill(), x.at(r.Begins), rowAt(i), x.at(r.Begins+r.Nurses)-x.at(r.Begins), rowBar)
		}
	}
	c.drawMark(x.at(l.Counts), foot, l.CountsLabel)
	for i, r := range l.Rungs { // the labels are drawn last, so that they are above the lines
		end := x.at(r.Begins + r.Nurses)
		switch {
		case end <= (rowsLeft+right)/2+40:
			c.text("k2", "start", math.Max(end, rowsLeft)+10, rowAt(i)+15, r.Label)
		case r.Leads: // there is no space on the right
			c.text("ki", "end", end-8, rowAt(i)+15, r.Label)
		default:
			c.text("", "end", end-8, rowAt(i)+15, r.Label)
		}
	}
	return c.done()
}

// Sum is a chart of parts that add up to a total. Each row shows one part, as a fraction of what the previous parts
// left of Most.
type Sum struct {
	Title string
	Most  float64
	Parts []SumPart
	Label string // label of the total
}

// SumPart is one part of a sum.
type SumPart struct {
	Name   string
	Points float64
	Label  string
}

// SVG draws the figure.
func (s *Sum) SVG() template.HTML {
	c, foot := newRows(len(s.Parts), s.Title)
	const right = rowsWidth - 50
	x := scale{0, s.Most, rowsLeft, right}
	for _, at := range []float64{0, 20, 40, 60} {
		c.line("grid", point{x.at(at), rowsTop - 8}, point{x.at(at), foot})
		c.text("", "middle", x.at(at), rowsTop-14, number(at))
	}
	sum := 0.0
	for i, part := range s.Parts {
		c.drawName(i, part.Name)
		c.rect("fl", x.at(sum), rowAt(i), x.at(s.Most)-x.at(sum), rowBar)
		c.rect("fi", x.at(sum), rowAt(i), x.at(sum+part.Points)-x.at(sum), rowBar)
		c.text("k", "end", rowsWidth-2, rowAt(i)+15, part.Label)
		sum += part.Points
	}
	c.drawMark(x.at(sum), foot, s.Label)
	return c.done()
}

// Score is a chart that shows a score out of 100, and the two parts of the score, on a color scale.
type Score struct {
	Title                      string
	Demand, Severity           float64 // points
	DemandLabel, SeverityLabel string
	Label                      string
	Bounds                     []int // scores at which the colors begin, except the first
	Next                       int   // score after the next change by a timer
	NextLabel                  string
}

// SVG draws the figure.
func (s *Score) SVG() template.HTML {
	const width, height, bar, foot = 1160.0, 96, 22.0, 58.0
	c := newCanvas(int(width), height, " wide", s.Title)
	x := scale{0, 100, 0, width}
	from := 0
	c.text("", "start", 0, 90, "0")
	for level, to := range append(append([]int{}, s.Bounds...), 100) {
		c.rect("f"+letters[level], x.at(float64(from)), foot, x.at(float64(to-from)), 10)
		anchor := "middle"
		if to == 100 {
			anchor = "end"
		}
		c.text("", anchor, x.at(float64(to)), 90, strconv.Itoa(to))
		from = to
	}
	demand, all := x.at(s.Demand), x.at(s.Demand+s.Severity)
	c.rect("fi", 0, bar, demand, 28)
	c.rect("fi", demand+3, bar, math.Max(all-demand-3, 0), 28)
	c.text("k", "start", 0, 14, s.DemandLabel)
	c.text("k", "start", math.Max(demand+3, 160), 14, s.SeverityLabel)
	if all > width-260 {
		c.text("ki", "end", all-10, 41, s.Label)
	} else {
		c.text("k", "start", all+10, 41, s.Label)
	}
	if s.NextLabel != "" {
		at := x.at(float64(s.Next))
		c.line("now", point{at, 50}, point{at, 72})
		switch {
		case at < 100:
			c.text("k", "start", math.Max(at, 24), 90, s.NextLabel)
		case at > width-100:
			c.text("k", "end", width-40, 90, s.NextLabel)
		default:
			c.text("k", "middle", at, 90, s.NextLabel)
		}
	}
	return c.done()
}

// Steps is a chart of the need from now on, as the known timers will change it.
type Steps struct {
	Title    string
	From, To time.Time
	Clock    func(time.Time) string
	Steps    []Step
}

// Step is a need that applies from an instant on.
type Step struct {
	At     time.Time
	Nurses float64
	Label  string
}

// SVG draws the figure.
func (s *Steps) SVG() template.HTML {
	const left, right, top, foot = 44.0, 1140.0, 34.0, 116.0
	c := newCanvas(1160, 150, " wide", s.Title)
	most := 1.0
	for _, step := range s.Steps {
		most = math.Max(most, step.Nurses)
	}
	x, y := timeScale(s.From, s.To, left, right), scale{0, most, foot, top}
	for _, mark := range []struct {
		nurses float64
		words  string
	}{{.5, "1:2"}, {1, "1:1"}, {2, "2:1"}} {
		if mark.nurses <= most && y.at(mark.nurses) < foot-12 {
			c.line("grid", point{left, y.at(mark.nurses)}, point{right, y.at(mark.nurses)})
			c.text("", "end", left-8, y.at(mark.nurses)+4, mark.words)
		}
	}
	for t := s.From.Truncate(time.Hour).Add(time.Hour); !t.After(s.To); t = t.Add(time.Hour) {
		if x.atTime(t) < right-16 {
			c.text("", "middle", x.atTime(t), 144, s.Clock(t))
		}
	}
	c.line("ax", point{left, foot}, point{right, foot})
	place := func(i int) point { return point{x.atTime(s.Steps[i].At), y.at(s.Steps[i].Nurses)} }
	c.line("was", held(len(s.Steps), place, right)...)
	free := 0.0 // x coordinate from which there is space for a label
	for i, step := range s.Steps {
		if i == 0 {
			continue
		}
		c.dot(x.atTime(step.At), y.at(step.Nurses), 6)
		if left := x.atTime(step.At) + 10; left >= free && left < right-90 {
			c.text("k", "start", left, y.at(step.Nurses)-9, step.Label)
			free = left + 96
		}
	}
	return c.done()
}
