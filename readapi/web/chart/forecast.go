package chart

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"
)

// Forecast is a chart of the nurses needed in the past and in the coming hours, compared with the nurses on duty.
type Forecast struct {
	Title string // the content of the chart as text
	Now   time.Time
	// Past contains the recorded need, oldest first. Each value applies until the next one, but for at most one hour.
	Past []Sample
	// Ahead contains the forecast need, starting with the need at the current moment.
	Ahead []Band
	// OnDuty contains the numbers of nurses on duty, oldest first. Each number applies until the next one. Before the
	// first one, the number is unknown.
	OnDuty []Sample
	Clock  func(time.Time) string // formats the time of day in the unit's time zone
	Words  ForecastWords
	Wall   bool // whether the chart is read from a distance; it then has less text, in a larger font
	Narrow bool // whether the chart has the width of a phone, with the legend below it
}

// ForecastWords contains the text labels of the chart.
type ForecastWords struct {
	Now     string    // "16.8 now"
	Highest string    // "up to 19.0"
	OnDuty  []string  // one for each value in Forecast.OnDuty: "15 on duty", "14 planned"
	Short   [4]string // "covered", "1 short", "2 short", "3 or more"
}

// Sample is a number of nurses that applies from an instant on.
type Sample struct {
	At     time.Time
	Nurses float64
}

// Band is the need at an instant. The need is between Low and High with a probability of 80%.
type Band struct {
	At                time.Time
	Low, Likely, High float64
}

// fieldTop is the y coordinate at which the plot area begins.
const fieldTop = 10

// forecastFigure is a forecast that is being drawn.
type forecastFigure struct {
	*Forecast
	*canvas

	left, right, foot float64 // edges of the plot area
	words             float64 // text height
	clip              string  // id of the clip path of the band
	x, y              scale
	marks             []float64 // values of the grid lines on the nurses axis
	duty              []step
}

// step is a number of nurses on duty during a time span.
type step struct {
	from, to time.Time
	nurses   float64
}

// SVG draws the chart. It returns "" if there is no forecast. The fill of the band shows whether the need is covered
// or how many nurses are missing.
func (f *Forecast) SVG() template.HTML {
	if len(f.Ahead) < 2 || !f.Ahead[len(f.Ahead)-1].At.After(f.Now) {
		return ""
	}
	g := &forecastFigure{Forecast: f, left: 34, foot: 244, words: 13, clip: "band"}
	count := 5
	switch {
	case f.Narrow:
		g.left, g.right, g.foot, g.clip = 28, 380, 204, "narrowband"
		g.canvas = newCanvas(380, 276, " narrow", f.Title)
	case f.Wall:
		g.left, g.right, g.foot, g.words, count = 48, 940, 228, 19, 3
		g.canvas = newCanvas(940, 262, " wide", f.Title)
	default:
		g.right = 860
		g.canvas = newCanvas(860, 270, " wide", f.Title)
	}
	g.right = g.endOfPlot()
	begin, end := f.Now, f.Ahead[len(f.Ahead)-1].At
	if len(f.Past) > 0 && f.Past[0].At.Before(begin) {
		begin = f.Past[0].At
	}
	low, high := f.bounds()
	g.marks = ticks(low, high, count)
	g.x, g.y = timeScale(begin, end, g.left, g.right), scale{g.marks[0], g.marks[len(g.marks)-1], g.foot, fieldTop}
	g.duty = f.planWithin(begin, end)
	g.drawAxes()
	g.clipBand()
	g.fillBand()
	g.drawLines()
	g.labelLines()
	return g.done()
}

// endOfPlot returns the x coordinate of the right edge of the plot area. The space between this edge and g.right
// holds half of the last label of the time axis and, in a wide chart, the legend.
func (g *forecastFigure) endOfPlot() float64 {
	labels := labeler{size: g.words}
	widest := labels.width(g.Clock(g.Now)) / 2 //nolint:mnd // half of the label
	if len(g.OnDuty) > 0 && !g.Narrow {
		for _, words := range g.Words.Short {
			widest = max(widest, g.legendIndent()+labels.width(words))
		}
	}
	return g.right - widest
}

// legendIndent returns the distance between the plot area and the text of the legend.
func (g *forecastFigure) legendIndent() float64 { return 18 + g.words }

// bounds returns the range of the nurses axis, from one nurse below the lowest value of the chart (but at least 0) to
// the highest value.
func (f *Forecast) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	see := func(v float64) { low, high = math.Min(low, v), math.Max(high, v) }
	for _, s := range slices.Concat(f.Past, f.OnDuty) {
		see(s.Nurses)
	}
	for _, b := range f.Ahead {
		see(b.Low)
		see(b.High)
	}
	return math.Max(low-1, 0), high
}

// planWithin returns the nurses on duty between begin and end, as steps.
func (f *Forecast) planWithin(begin, end time.Time) (all []step) {
	for i, s := range f.OnDuty {
		one := step{s.At, end, s.Nurses}
		if i+1 < len(f.OnDuty) {
			one.to = f.OnDuty[i+1].At
		}
		if one.from.Before(begin) {
			one.from = begin
		}
		if one.to.After(end) {
			one.to = end
		}
		if one.from.Before(one.to) {
			all = append(all, one)
		}
	}
	return all
}

// drawAxes draws the nurses axis and the hour marks, in the unit's time zone.
func (g *forecastFigure) drawAxes() {
	for _, v := range g.marks[1 : len(g.marks)-1] {
		g.line("thr", point{g.left, g.y.at(v)}, point{g.right, g.y.at(v)})
	}
	g.line("ax", point{g.left, g.foot}, point{g.right, g.foot})
	for _, v := range g.marks {
		g.text("", "end", g.left-10, g.y.at(v)+g.words*.38, strconv.Itoa(int(v)))
	}
	const every = 2 * time.Hour
	first := time.Unix(int64(g.x.from), 0).UTC().Truncate(time.Hour).Add(time.Hour)
	for t := first; float64(t.Unix()) <= g.x.to; t = t.Add(every) {
		at := g.x.atTime(t)
		g.path("ax", "M"+number(at)+" "+number(g.foot)+"v6")
		g.text("", "middle", at, g.foot+8+g.words*1.1, g.Clock(t))
	}
}

// clipBand creates the clip path of the forecast band.
func (g *forecastFigure) clipBand() {
	outline := make([]point, 0, 2*len(g.Ahead))
	for _, b := range g.Ahead {
		outline = append(outline, point{g.x.atTime(b.At), g.y.at(b.High)})
	}
	for _, b := range slices.Backward(g.Ahead) {
		outline = append(outline, point{g.x.atTime(b.At), g.y.at(b.Low)})
	}
	g.add(`<clipPath id="%s"><path d="%sz"/></clipPath>`, g.clip, line(outline...))
}

// fillBand fills the band according to the shortfall of nurses.
func (g *forecastFigure) fillBand() {
	g.add(`<g clip-path="url(#%s)" class="soft">`, g.clip)
	known := g.Ahead[len(g.Ahead)-1].At
	if len(g.duty) > 0 {
		known = g.duty[0].from
	}
	if known.After(g.Now) {
		g.path("fl", block(g.x.atTime(g.Now), g.x.atTime(known), fieldTop, g.foot))
	}
	for short, letter := range letters {
		for _, d := range g.duty {
			if !d.to.After(g.Now) {
				continue
			}
			from := d.from
			if from.Before(g.Now) {
				from = g.Now
			}
			top, foot := g.y.at(d.nurses+float64(short)), g.y.at(d.nurses+float64(short)-1)
			switch short {
			case 0:
				foot = g.foot
			case len(letters) - 1:
				top = fieldTop
			}
			if top, foot = math.Max(top, fieldTop), math.Min(foot, g.foot); top < foot {
				g.path("f"+letter, block(g.x.atTime(from), g.x.atTime(d.to), top, foot))
			}
		}
	}
	g.add(`</g>`)
}

// drawLines draws the nurses on duty, the past need, the likely need, and the current time.
func (g *forecastFigure) drawLines() {
	if len(g.duty) > 0 {
		g.line("duty", g.dutyLine()...)
	}
	for _, line := range g.pastLines() {
		g.line("was", line...)
	}
	likely := g.likelyLine()
	g.line("cas", likely...)
	g.line("p50", likely...)
	g.line("now", g.nowLine()...)
	g.dot(likely[0].x, likely[0].y, 5.5)
}

// pastLines returns the lines of the past need. Between two lines, there is an hour that was not recorded.
func (g *forecastFigure) pastLines() (lines [][]point) {
	for past := g.Past; len(past) > 0; {
		n := 1
		for n < len(past) && past[n].At.Sub(past[n-1].At) <= time.Hour {
			n++
		}
		end := past[n-1].At.Add(time.Hour)
		if end.After(g.Now) {
			end = g.Now
		}
		lines = append(lines, held(n, func(i int) point {
			return point{g.x.atTime(past[i].At), g.y.at(past[i].Nurses)}
		}, g.x.atTime(end)))
		past = past[n:]
	}
	return lines
}

// nowLine returns the line that marks the current time.
func (g *forecastFigure) nowLine() []point {
	x := g.x.atTime(g.Now)
	return []point{{x, fieldTop}, {x, g.foot}}
}

// dutyLine returns the line of the nurses on duty. There must be at least one step.
func (g *forecastFigure) dutyLine() []point {
	return held(len(g.duty), func(i int) point {
		return point{g.x.atTime(g.duty[i].from), g.y.at(g.duty[i].nurses)}
	}, g.x.atTime(g.duty[len(g.duty)-1].to))
}

// likelyLine returns the line of the likely need.
func (g *forecastFigure) likelyLine() []point {
	line := make([]point, len(g.Ahead))
	for i, b := range g.Ahead {
		line[i] = point{g.x.atTime(b.At), g.y.at(b.Likely)}
	}
	return line
}

// labelLines labels the current time, the peak, and the nurses on duty. A label for which there is no space is
// omitted, because the heading, the axis and the table contain the same information.
func (g *forecastFigure) labelLines() {
	l := &labeler{canvas: g.canvas, left: g.left, right: g.right, foot: g.foot, size: g.words}
	l.lines = append(g.pastLines(), g.likelyLine(), g.nowLine())
	if len(g.duty) > 0 {
		l.lines = append(l.lines, g.dutyLine())
	}
	l.place(g.Words.Now, g.spotsNow()...)

	highest := g.Ahead[0]
	for _, b := range g.Ahead {
		if b.High > highest.High {
			highest = b
		}
	}
	peak, top := g.x.atTime(highest.At), math.Max(g.y.at(highest.High)-7, fieldTop+12)
	var spots []spot
	for _, down := range []float64{0, 1.4, -1.4, 2.8} {
		y := top + down*g.words
		spots = append(spots, spot{"middle", peak, y}, spot{"end", peak + 8, y}, spot{"start", peak - 8, y}, spot{"end", g.right, y})
	}
	l.place(g.Words.Highest, spots...)

	first := len(g.Words.OnDuty) - len(g.duty) // steps before the visible range also have labels, which are skipped
	for i := len(g.duty) - 1; i >= 0 && first >= 0; i-- {
		words := g.Words.OnDuty[first+i]
		l.place(words, g.spotsOnDuty(i, l.width(words))...)
	}
	if len(g.duty) > 0 {
		g.drawLegend(g.y.at(g.duty[len(g.duty)-1].nurses))
	}
}

// spotsNow returns the spots for the label of the current time: on both sides of the line that marks the current
// time, first above the current need, then below it, then ever farther away.
func (g *forecastFigure) spotsNow() (spots []spot) {
	x, need := g.x.atTime(g.Now), g.y.at(g.Ahead[0].Likely)
	for down := 0.0; down < g.foot; down += 4 {
		for _, y := range []float64{math.Max(need-7, fieldTop+g.words) - down, need + 7 + g.words + down} {
			spots = append(spots, spot{"end", x - 10, y}, spot{"start", x + 10, y})
		}
	}
	return spots
}

// spotsOnDuty returns the spots for a label of the given width next to step i of the line of the nurses on duty: for
// the first step, from its end to its start, and for the others, from start to end. It returns none if the label is
// wider than the step.
func (g *forecastFigure) spotsOnDuty(i int, width float64) (spots []spot) {
	d := g.duty[i]
	from, to, height := g.x.atTime(d.from)+8, g.x.atTime(d.to)-8, g.y.at(d.nurses)
	if to-from < width {
		return nil
	}
	over, under := height-2-g.words*.3, height+g.words*1.2
	const places = 8
	for n := range places + 1 {
		share, ys := float64(n)/places, []float64{under, over}
		if i == 0 {
			share, ys = 1-share, []float64{over, under}
		}
		for _, y := range ys {
			spots = append(spots, spot{"start", from + share*(to-from-width), y})
		}
	}
	return spots
}

// drawLegend draws the legend of the fills. In a narrow chart, the legend is below the plot area. In a wide one, it
// is to the right and extends upward from the line of the nurses on duty.
func (g *forecastFigure) drawLegend(base float64) {
	row := g.words * 1.6
	if g.Narrow {
		for short, words := range g.Words.Short {
			x, y := g.left+float64(short%2)*170, g.foot+32+float64(short/2)*row //nolint:mnd // two columns
			g.shape(short, x, y, g.words*.85)
			g.text("", "start", x+6+g.words, y+g.words*.75, words)
		}
		return
	}
	base = math.Min(math.Max(base, fieldTop+3.5*row), g.foot-row)
	for short, words := range g.Words.Short {
		y := base + row/2 - float64(short)*row
		g.shape(short, g.right+12, y, g.words*.85)
		g.text("", "start", g.right+g.legendIndent(), y+g.words*.75, words)
	}
}

// Meter returns a bar filled to the given fraction, from 0 to 1, with marks at each quarter.
func Meter(share float64) template.HTML {
	return meter(`<path class="fi" d="M0 2h` + number(200*min(max(share, 0), 1)) + `v4H0z"/>`) //nolint:mnd // width of the fill
}

// UnknownMeter returns a bar without a fill, for an unknown fraction.
func UnknownMeter() template.HTML { return meter(`<path class="hat" d="M0 4h200"/>`) }

func meter(fill string) template.HTML {
	return template.HTML(`<svg class="m" viewBox="0 0 200 8" preserveAspectRatio="none" aria-hidden="true">` + //nolint:gosec // no user text
		`<path class="fl" d="M0 3h200v2H0z"/><path class="fi" d="M50 0v8h1V0zM100 0v8h1V0zM150 0v8h1V0z"/>` + fill + `</svg>`)
}
