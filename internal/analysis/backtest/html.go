package backtest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"svc/acuity/forecast"
)

//go:embed report.html
var page string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent":  func(x float64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*x) },
	"nurses":   func(x float64) string { return fmt.Sprintf("%.2f", x) },
	"horizons": func() []float64 { return horizons },
}).Parse(page))

// HTML writes the report as a single page that does not load other files, with times in the hospital's time zone.
func (r *Report) HTML(to io.Writer) error {
	const form = "2 Jan 2006 15:04"
	in := &r.inner
	return reportPage.Execute(to, struct {
		*Report
		First, Last                                                             string
		Ours                                                                    Errors
		WithinOneAll, BandAll                                                   float64 // WithinOne and Band over all hours ahead
		PictureSample, PictureErrors, PictureWeeks, PictureLevels, PictureCurve template.HTML
	}{
		r, r.From.In(r.zone).Format(form), r.To.In(r.zone).Format(form), r.Models[0],
		total(&in.near) / float64(r.Forecasts), total(&in.in) / float64(r.Forecasts),
		r.drawSample(), r.drawErrors(), r.drawWeeks(), r.drawLevels(), r.drawCurve(),
	})
}

func total(of *[forecast.Horizon]float64) (sum float64) {
	for _, x := range of {
		sum += x
	}
	return sum
}

// picture is a chart as SVG. It is generated without a library, so the report has no dependencies.
type picture struct {
	svg            strings.Builder
	left, right    float64 // range of x
	bottom, top    float64 // range of y
	width, height  float64
	margin, legend float64
}

// colors can be distinguished by people with color blindness (Okabe and Ito 2008). The forecast is #0072b2 in the
// light theme, and brighter in the dark theme.
var colors = []string{"var(--ours)", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"}

func newPicture(title string, left, right, bottom, top float64) *picture {
	p := &picture{left: left, right: right, bottom: bottom, top: top, width: 720, height: 280, margin: 44, legend: 130}
	title = template.HTMLEscapeString(title)
	fmt.Fprintf(&p.svg, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s"><text class="title" x="%g" y="16">%s</text>`,
		p.width, p.height, title, p.margin, title)
	return p
}

func (p *picture) x(x float64) float64 {
	return p.margin + (x-p.left)/(p.right-p.left)*(p.width-p.margin-p.legend)
}

func (p *picture) y(y float64) float64 {
	return p.height - p.margin + 10 - (y-p.bottom)/(p.top-p.bottom)*(p.height-p.margin-24)
}

// drawGrid draws about five grid lines of the y axis.
func (p *picture) drawGrid(format string) {
	for _, y := range ticks(p.bottom, p.top) {
		fmt.Fprintf(&p.svg, `<path class="rule" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			p.margin, p.y(y), p.width-p.legend, p.margin-6, p.y(y)+4, fmt.Sprintf(format, y))
	}
}

func (p *picture) mark(x float64, text string) {
	fmt.Fprintf(&p.svg, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, p.x(x), p.height-14, text)
}

// drawLine draws a line with a CSS class and a color. If color is "", the class defines the color.
func (p *picture) drawLine(class, color string, xs, ys []float64) {
	fmt.Fprintf(&p.svg, `<polyline class="%s"%s points="`, class, stroke(color))
	for i := range xs {
		fmt.Fprintf(&p.svg, "%.1f,%.1f ", p.x(xs[i]), p.y(ys[i]))
	}
	p.svg.WriteString(`"/>`)
}

func stroke(color string) string {
	if color == "" {
		return ""
	}
	return ` style="stroke:` + color + `"`
}

func (p *picture) area(color string, xs, low, high []float64) {
	p.svg.WriteString(`<polygon class="area" style="fill:` + color + `" points="`)
	for i := range xs {
		fmt.Fprintf(&p.svg, "%.1f,%.1f ", p.x(xs[i]), p.y(high[i]))
	}
	for i, x := range slices.Backward(xs) {
		fmt.Fprintf(&p.svg, "%.1f,%.1f ", p.x(x), p.y(low[i]))
	}
	p.svg.WriteString(`"/>`)
}

// addLegend adds an entry to the legend.
func (p *picture) addLegend(i int, class, color, text string) {
	y := 40 + 18*float64(i)
	fmt.Fprintf(&p.svg, `<path class="%s" d="M%.1f %.1fh16"%s/><text x="%.1f" y="%.1f">%s</text>`,
		class, p.width-p.legend+10, y, stroke(color), p.width-p.legend+30, y+4, template.HTMLEscapeString(text))
}

func (p *picture) html() template.HTML {
	return template.HTML(p.svg.String() + "</svg>") //nolint:gosec // only numbers and escaped text
}

// ticks returns the round numbers from one end of an axis to the other at which grid lines are drawn.
func ticks(from, to float64) []float64 {
	step := math.Pow10(int(math.Floor(math.Log10((to - from) / 4))))
	for _, by := range []float64{1, 2, 5, 10} {
		if (to-from)/(step*by) <= 6 {
			step *= by
			break
		}
	}
	var list []float64
	for x := math.Ceil(from/step) * step; x <= to+step/1e6; x += step {
		list = append(list, x)
	}
	return list
}

var horizons = []float64{1, 2, 3, 4, 5, 6, 7, 8}

// drawByHorizon draws one line for each model, the first one on top.
func drawByHorizon(title string, names []string, lines [][]float64) template.HTML {
	top := 0.0
	for _, l := range lines {
		for _, y := range l {
			top = max(top, y)
		}
	}
	p := newPicture(title, 1, 8, 0, max(top*1.05, .1))
	p.drawGrid("%.2g")
	for _, h := range horizons {
		p.mark(h, fmt.Sprintf("%.0f h", h))
	}
	for i, l := range slices.Backward(lines) {
		class := "line"
		if i == 0 {
			class += " ours"
			names[i] = "forecast"
		}
		p.drawLine(class, colors[i%len(colors)], horizons, l)
		p.addLegend(i, class, colors[i%len(colors)], names[i])
	}
	return p.html()
}

func (r *Report) drawErrors() template.HTML {
	var names []string
	var lines [][]float64
	for i := range r.Models {
		names, lines = append(names, r.Models[i].Name), append(lines, r.Models[i].MAE[:])
	}
	return drawByHorizon("Mean absolute error in nurses, by hours ahead", names, lines)
}

func (r *Report) drawLevels() template.HTML {
	var names []string
	var lines [][]float64
	for i := range r.Levels {
		names, lines = append(names, r.Levels[i].Name), append(lines, r.Levels[i].RPS[:])
	}
	return drawByHorizon("Ranked probability score of the level, by hours ahead", names, lines)
}

// drawSample draws the last two weeks: the forecast that was made four hours before each hour, and the nurses that
// were required. Hours without a forecast are gaps.
func (r *Report) drawSample() template.HTML {
	n := len(r.Sample)
	if n < 2 {
		return ""
	}
	xs, low, mid, high, came := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	top := 1.0
	for i, s := range r.Sample {
		xs[i] = float64(s.At.Unix()) / 3600
		low[i], mid[i], high[i], came[i] = s.P10, s.P50, s.P90, s.Came
		top = max(top, s.P90, s.Came)
	}
	p := newPicture("Nurses required: forecast four hours ahead, and actual", xs[0], xs[n-1], 0, top*1.05)
	p.drawGrid("%.0f")
	for _, x := range xs {
		if at := time.Unix(int64(x)*3600, 0).In(r.zone); at.Hour() == 0 && at.Day()%2 == 0 {
			p.mark(x, at.Format("2 Jan"))
		}
	}
	for from, to := 0, 1; to <= n; to++ {
		if to < n && xs[to] == xs[to-1]+1 {
			continue
		}
		p.area(colors[0], xs[from:to], low[from:to], high[from:to])
		p.drawLine("line ours", colors[0], xs[from:to], mid[from:to])
		p.drawLine("line came", "", xs[from:to], came[from:to])
		from = to
	}
	p.addLegend(0, "line ours", colors[0], "P50, P10 to P90")
	p.addLegend(1, "line came", "", "actual")
	return p.html()
}

// drawWeeks draws the coverage of the band in each week, which should be about 80%.
func (r *Report) drawWeeks() template.HTML {
	if len(r.Weeks) < 2 {
		return ""
	}
	var xs, ys, target []float64
	least := 50.0
	for i, w := range r.Weeks {
		xs, ys, target = append(xs, float64(i+1)), append(ys, 100*w.Band), append(target, 80)
		least = min(least, 100*w.Band)
	}
	p := newPicture("Share of hours within the 80% range, by week", 1, float64(len(xs)), math.Floor(least/10)*10, 100)
	p.drawGrid("%.0f %%")
	for i := range xs {
		if i%max(1, len(xs)/8) == 0 {
			p.mark(xs[i], r.Weeks[i].Start.In(r.zone).Format("2 Jan"))
		}
	}
	p.drawLine("thin", "", xs, target)
	p.drawLine("line ours", colors[0], xs, ys)
	p.addLegend(0, "line ours", colors[0], "within")
	p.addLegend(1, "thin", "", "80%")
	return p.html()
}

// drawCurve draws how often orange or red occurred, by the forecast probability of orange or red.
func (r *Report) drawCurve() template.HTML {
	if len(r.Curve) < 2 {
		return ""
	}
	var xs, ys []float64
	for _, b := range r.Curve {
		xs, ys = append(xs, 100*b.Forecast), append(ys, 100*b.Came)
	}
	p := newPicture("Orange or red: observed frequency, by forecast probability", 0, 100, 0, 100)
	p.drawGrid("%.0f %%")
	for x := 0.0; x <= 100; x += 20 {
		p.mark(x, fmt.Sprintf("%.0f %%", x))
	}
	p.drawLine("thin", "", []float64{0, 100}, []float64{0, 100})
	p.drawLine("line ours", colors[0], xs, ys)
	p.addLegend(0, "line ours", colors[0], "actual")
	p.addLegend(1, "thin", "", "as forecast")
	return p.html()
}
