package chart

import (
	"html/template"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// rows is a bar chart with one named bar in each row. The name is to the left of the bar or, on a phone, above it.
type rows struct {
	*canvas

	narrow            bool
	width, left, foot float64 // width of the chart, x coordinate at which the bars begin, and y coordinate at which the rows end
}

// These are the dimensions of a chart with rows.
const (
	rowsTop  = 30.0
	rowBar   = 22.0
	mostName = 27 // maximum number of characters of a name
)

// shorten truncates a name that is too long.
func shorten(name string) string {
	letters := []rune(name)
	if len(letters) <= mostName {
		return name
	}
	return string(letters[:mostName-1]) + "…"
}

// newRows starts a chart with n rows.
func newRows(n int, title string, narrow bool) *rows {
	r := &rows{width: 560, left: 212, narrow: narrow}
	class := " wide"
	if narrow {
		r.width, r.left, class = narrowWidth, 0, " narrow"
	}
	r.foot = r.at(n) - r.at(0) + rowsTop
	r.canvas = newCanvas(int(r.width), int(r.foot)+32, class, title)
	return r
}

// narrowWidth is the width of the charts for phones.
const narrowWidth = 380.0

// at returns the y coordinate of the bar of a row.
func (r *rows) at(i int) float64 {
	if r.narrow {
		return rowsTop + float64(i)*50 + 22
	}
	return rowsTop + float64(i)*36 + 7
}

// drawName writes the name of a row.
func (r *rows) drawName(i int, name string) {
	if r.narrow {
		r.text("k", "start", 0, r.at(i)-6, shorten(name))
		return
	}
	r.text("k", "end", r.left-12, r.at(i)+15, shorten(name))
}

// drawMark draws a line through all rows, with a label at its lower end.
func (r *rows) drawMark(x float64, words string) {
	r.line("was", point{x, rowsTop - 6}, point{x, r.foot})
	half := widthOf(words) / 2
	r.text("k", "middle", min(max(x, half), r.width-half), r.foot+22, words)
}

// widthOf returns the width of a label in the charts of a room.
func widthOf(words string) float64 {
	return letterWidth * 13 * float64(utf8.RuneCountInString(words)) //nolint:mnd // the font size
}

// Ladder is a chart of the demand of each factor in a room, in nurses. The demand of the room is the largest of these
// demands plus any additional demand.
type Ladder struct {
	Title       string
	Rungs       []Rung
	Counts      float64
	CountsLabel string
	Narrow      bool // whether the chart has the width of a phone
}

// Rung is one factor on the ladder.
type Rung struct {
	Name   string
	Begins float64 // start of the bar, in nurses; 0, except for the bar of additional demand
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
	c := newRows(len(l.Rungs), l.Title, l.Narrow)
	right := c.width - 20
	x := scale{0, most, c.left, right}
	for _, mark := range []struct {
		nurses float64
		words  string
	}{{1.0 / 3, "1:3"}, {.5, "1:2"}, {1, "1:1"}, {2, "2:1"}} {
		c.line("grid", point{x.at(mark.nurses), rowsTop - 8}, point{x.at(mark.nurses), c.foot})
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
		if r.Nurses > 0 {
			c.rect(r.fill(), x.at(r.Begins), c.at(i), x.at(r.Begins+r.Nurses)-x.at(r.Begins), rowBar)
		}
	}
	c.drawMark(x.at(l.Counts), l.CountsLabel)
	for i, r := range l.Rungs { // above the lines
		c.drawName(i, r.Name)
		r.drawLabel(c, i, x.at(r.Begins), x.at(r.Begins+r.Nurses))
	}
	return c.done()
}

// drawLabel writes a label to the right of its bar. If there is no space, it writes the label into the bar, to the
// left of the bar, or at the edge of the chart.
func (r *Rung) drawLabel(c *rows, i int, begin, end float64) {
	needs, y := widthOf(r.Label), c.at(i)+15
	inside := ""
	if r.Leads {
		inside = "ki"
	}
	switch {
	case end+10+needs <= c.width:
		c.text("k2", "start", end+10, y, r.Label)
	case end-begin >= needs+16:
		c.text(inside, "end", end-8, y, r.Label)
	case begin-10-needs >= c.left:
		c.text("k2", "end", begin-10, y, r.Label)
	default:
		c.text("k2", "end", c.width, y, r.Label)
	}
}

// Sum is a chart of parts that add up to at most Most points. The bar of each part begins at the total of the
// previous parts and ends at Most. Only the part's own points are filled with the dark color.
type Sum struct {
	Title string
	Most  float64
	Parts []SumPart
	Label string // label of the total

	Narrow bool // whether the chart has the width of a phone
}

// SumPart is one part of a sum.
type SumPart struct {
	Name   string
	Points float64
	Label  string
}

// SVG draws the figure.
func (s *Sum) SVG() template.HTML {
	c := newRows(len(s.Parts), s.Title, s.Narrow)
	right := c.width - 50
	x := scale{0, s.Most, c.left, right}
	for _, at := range []float64{0, 20, 40, 60} {
		c.line("grid", point{x.at(at), rowsTop - 8}, point{x.at(at), c.foot})
		anchor := "middle"
		if at == 0 && s.Narrow {
			anchor = "start"
		}
		c.text("", anchor, x.at(at), rowsTop-14, number(at))
	}
	sum := 0.0
	for i, part := range s.Parts {
		c.rect("fl", x.at(sum), c.at(i), x.at(s.Most)-x.at(sum), rowBar)
		c.rect("fi", x.at(sum), c.at(i), x.at(sum+part.Points)-x.at(sum), rowBar)
		c.text("k", "end", c.width-2, c.at(i)+15, part.Label)
		sum += part.Points
	}
	c.drawMark(x.at(sum), s.Label)
	for i, part := range s.Parts { // above the lines
		c.drawName(i, part.Name)
	}
	return c.done()
}

// Score is a chart that shows a score out of 100, and the two parts of the score, on a color scale.
type Score struct {
	Title                      string
	Demand, Severity           float64 // points
	DemandLabel, SeverityLabel string
	Label                      string
	Bounds                     []int // lowest score of each color except the first
	Next                       int   // score after the next change that a timer will cause
	NextLabel                  string
	Narrow                     bool // whether the chart has the width of a phone
}

// SVG draws the figure.
func (s *Score) SVG() template.HTML {
	const height, bar, foot, words = 96, 22.0, 58.0, 90.0
	width, class := 1160.0, " wide"
	if s.Narrow {
		width, class = narrowWidth, " narrow"
	}
	c := newCanvas(int(width), height, class, s.Title)
	x := scale{0, 100, 0, width}
	half := widthOf(s.NextLabel) / 2
	next := min(max(x.at(float64(s.Next)), half), width-half)
	bound := func(anchor string, at int) { // the label of the next score takes precedence over labels that would overlap it
		if label := strconv.Itoa(at); s.NextLabel == "" || math.Abs(x.at(float64(at))-next) > half+widthOf(label) {
			c.text("", anchor, x.at(float64(at)), words, label)
		}
	}
	from := 0
	bound("start", 0)
	for level, to := range append(append([]int{}, s.Bounds...), 100) {
		c.rect("f"+letters[level], x.at(float64(from)), foot, x.at(float64(to-from)), 10)
		anchor := "middle"
		if to == 100 {
			anchor = "end"
		}
		bound(anchor, to)
		from = to
	}
	demand, all := x.at(s.Demand), x.at(s.Demand+s.Severity)
	c.rect("fi", 0, bar, demand, 28)
	c.rect("fi", demand+3, bar, math.Max(all-demand-3, 0), 28)
	c.text("k", "start", 0, 14, s.DemandLabel)
	if s.Narrow {
		c.text("k", "end", width, 14, s.SeverityLabel)
	} else {
		c.text("k", "start", math.Max(demand+3, 160), 14, s.SeverityLabel)
	}
	if all+10+widthOf(s.Label) > width {
		c.text("ki", "end", all-10, 41, s.Label)
	} else {
		c.text("k", "start", all+10, 41, s.Label)
	}
	if s.NextLabel != "" {
		c.line("now", point{x.at(float64(s.Next)), 50}, point{x.at(float64(s.Next)), 72})
		c.text("k", "middle", next, words, s.NextLabel)
	}
	return c.done()
}

// Steps is a chart of the need from now on, including the changes that known timers will cause.
type Steps struct {
	Title    string
	From, To time.Time
	Clock    func(time.Time) string
	Steps    []Step
	Narrow   bool // whether the chart has the width of a phone
}

// Step is a number of nurses that is needed from an instant on.
type Step struct {
	At     time.Time
	Nurses float64
	Label  string
}

// SVG draws the figure.
func (s *Steps) SVG() template.HTML {
	const top, foot = 34.0, 116.0
	width, left, right, every, class := 1160.0, 44.0, 1140.0, time.Hour, " wide"
	if s.Narrow {
		width, left, right, every, class = narrowWidth, 34, 372, 2*time.Hour, " narrow"
	}
	c := newCanvas(int(width), 150, class, s.Title)
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
	for t := s.From.Truncate(time.Hour).Add(time.Hour); !t.After(s.To); t = t.Add(every) {
		if half := widthOf(s.Clock(t)) / 2; x.atTime(t)-half >= 0 && x.atTime(t)+half <= width {
			c.text("", "middle", x.atTime(t), 144, s.Clock(t))
		}
	}
	c.line("ax", point{left, foot}, point{right, foot})
	place := func(i int) point { return point{x.atTime(s.Steps[i].At), y.at(s.Steps[i].Nurses)} }
	c.line("was", held(len(s.Steps), place, right)...)
	s.drawLabels(c, place, left, width)
	return c.done()
}

// drawLabels marks each step. A step's label is to the right of the step or, near the edge of the chart, to the left.
// If neither side has space, the step has no label.
func (s *Steps) drawLabels(c *canvas, place func(i int) point, free, width float64) {
	for i, step := range s.Steps {
		if i == 0 {
			continue
		}
		at, needs := place(i), widthOf(step.Label)
		c.dot(at.x, at.y, 6)
		begin := at.x + 10
		if begin+needs > width {
			begin = at.x - 10 - needs
		}
		if begin >= free {
			c.text("k", "start", begin, at.y-9, step.Label)
			free = begin + needs + 8
		}
	}
}
