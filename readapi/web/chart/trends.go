package chart

import (
	"html/template"
	"math"
	"strconv"
	"time"
)

// Past is a chart of the nurses needed and on duty at each hour of a time span.
type Past struct {
	Title    string // the content of the chart as text
	From, To time.Time
	Hours    []PastHour // in chronological order; a missing hour leaves a gap
	Marks    []Mark
	Narrow   bool // whether the chart has the width of a phone
}

// PastHour contains the numbers of nurses at one hour mark. A negative number of nurses on duty means unknown.
type PastHour struct {
	At             time.Time
	Needed, OnDuty float64
}

// Mark is a label for an instant, below a chart.
type Mark struct {
	At    time.Time
	Words string
}

// SVG draws the need as a thick line and the nurses on duty as a thin one. The fill between them shows how many
// nurses were missing.
func (p *Past) SVG() template.HTML {
	const height, top, foot, left = 236, 12.0, 204.0, 34.0
	if len(p.Hours) == 0 || !p.To.After(p.From) {
		return ""
	}
	width, class := 860.0, " wide"
	if p.Narrow {
		width, class = 380, " narrow"
	}
	c := newCanvas(int(width), height, class, p.Title)
	low, high := math.Inf(1), 0.0
	for _, h := range p.Hours {
		low, high = math.Min(low, h.Needed), math.Max(high, math.Max(h.Needed, h.OnDuty))
		if h.OnDuty >= 0 {
			low = math.Min(low, h.OnDuty)
		}
	}
	marks := ticks(math.Max(low-1, 0), high, 5) //nolint:mnd // about five lines
	x := timeScale(p.From, p.To, left, width)
	y := scale{marks[0], marks[len(marks)-1], foot, top}
	for _, v := range marks {
		c.line("thr", point{left, y.at(v)}, point{width, y.at(v)})
		c.text("", "end", left-8, y.at(v)+4, strconv.Itoa(int(v)))
	}
	var labels []axisLabel
	for _, m := range p.Marks {
		if label := (axisLabel{x.atTime(m.At), m.Words}); label.x <= width-label.space()/2 { //nolint:mnd // half of the label
			labels = append(labels, label)
		}
	}
	for _, label := range selectSeparate(labels) {
		c.path("ax", "M"+number(label.x)+" "+number(foot)+"v6")
		c.text("", "middle", label.x, foot+22, label.words)
	}
	for _, h := range p.Hours {
		if short := h.Needed - h.OnDuty; h.OnDuty >= 0 && short > 0 {
			level := min(int(math.Ceil(short)), len(letters)-1)
			begin, top := x.atTime(h.At.Add(-time.Hour)), y.at(h.Needed)
			c.rect("f"+letters[level], begin, top, x.atTime(h.At)-begin, y.at(h.OnDuty)-top)
		}
	}
	c.path("duty", p.steps(x, y, func(h PastHour) float64 { return h.OnDuty }))
	c.path("was", p.steps(x, y, func(h PastHour) float64 { return h.Needed }))
	return c.done()
}

// steps returns a stepped line through one value of each hour. Each value applies to the preceding hour. The line has
// gaps where the value is unknown.
func (p *Past) steps(x, y scale, of func(PastHour) float64) (d string) {
	last := time.Time{}
	for _, h := range p.Hours {
		v := of(h)
		if v < 0 {
			last = time.Time{}
			continue
		}
		if begin := h.At.Add(-time.Hour); begin.Equal(last) {
			d += "V" + number(y.at(v))
		} else {
			d += "M" + number(x.atTime(begin)) + " " + number(y.at(v))
		}
		d += "H" + number(x.atTime(h.At))
		last = h.At
	}
	return d
}

// Week is a chart of the hours of a week, with a row for each day.
type Week struct {
	Title  string
	Days   [7]WeekDay
	Narrow bool // whether the chart has the width of a phone; its rows are then the hours
}

// WeekDay is one day of a week.
type WeekDay struct {
	Name  string
	Hours [24]WeekCell
}

// WeekCell is one hour of a week. If it has no text, its values are unknown.
type WeekCell struct {
	Words string  // nurses needed
	Short float64 // fraction of the weeks with too few nurses at this hour, from 0 to 1; negative: unknown
}

// SVG draws a cell for each hour. The fill shows in what fraction of the weeks there were too few nurses at that
// hour: none, up to a quarter, up to half, or more. A striped cell means unknown.
func (w *Week) SVG() template.HTML {
	g := weekFigure{canvas: newCanvas(848, 204, " wide", w.Title), left: 56, wide: 33, high: 26} //nolint:mnd // 24 by 7 cells
	g.pattern = "weekstripes"
	if w.Narrow {
		g = weekFigure{canvas: newCanvas(int(narrowWidth), 526, " narrow", w.Title), left: 30, wide: 50, high: 21} //nolint:mnd // 7 by 24 cells
		g.pattern = "narrowweekstripes"
	}
	g.defineStripes()
	for hour := 0; hour < 24; hour += 3 {
		if name := strconv.Itoa(hour); w.Narrow {
			g.text("", "end", g.left-8, g.y(hour)+g.high*.68, name)
		} else {
			g.text("", "middle", g.x(hour)+g.wide/2, weekTop-8, name)
		}
	}
	for i, day := range w.Days {
		if w.Narrow {
			g.text("", "middle", g.x(i)+g.wide/2, weekTop-8, day.Name)
		} else {
			g.text("", "start", 0, g.y(i)+g.high*.68, day.Name)
		}
		for hour := range day.Hours {
			column, row := hour, i
			if w.Narrow {
				column, row = i, hour
			}
			g.draw(&day.Hours[hour], g.x(column), g.y(row))
		}
	}
	return g.done()
}

// weekFigure is a week that is being drawn.
type weekFigure struct {
	*canvas

	left, wide, high float64 // x coordinate at which the cells begin, and width and height of a cell
}

// weekTop is the y coordinate at which the cells of a week begin.
const weekTop = 22.0

func (g *weekFigure) x(column int) float64 { return g.left + float64(column)*g.wide }
func (g *weekFigure) y(row int) float64    { return weekTop + float64(row)*g.high }

// draw draws a cell whose upper left corner is at x, y.
func (g *weekFigure) draw(cell *WeekCell, x, y float64) {
	if cell.Words == "" {
		return
	}
	fill, class := "", "tk"
	switch {
	case cell.Short < 0:
		g.stripe(x+1, y+1, g.wide-2, g.high-2)
		class = "k"
	case cell.Short > .5:
		fill, class = "fr", "tw"
	case cell.Short > .25:
		fill = "fo"
	case cell.Short > 0:
		fill = "fy"
	default:
		class = ""
	}
	if fill != "" {
		g.rect(fill, x+1, y+1, g.wide-2, g.high-2)
	}
	g.text(class, "middle", x+g.wide/2, y+g.high*.68, cell.Words)
}
