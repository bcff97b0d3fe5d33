package chart

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"
)

// Forecast is the nurses needed until now and in the hours ahead, against those on duty.
type Forecast struct {
	Title string // says all of it in words
	Now   time.Time
	// Was is what was needed until now, oldest first; each holds until the next.
	Was []Sample
	// Ahead is what may be needed; the first is now.
	Ahead []Band
	// OnDuty is the nurses on duty, oldest first; each holds until the next. Empty:
	// nobody knows.
	OnDuty []Sample
	Clock  func(time.Time) string // of the unit
	Words  ForecastWords
	Wall   bool // it is read from afar: few words, large ones

	left, right, foot, words float64 // of the field, and the height of words
}

// ForecastWords are the labels.
type ForecastWords struct {
	Now     string    // "16.8 now"
	Highest string    // "up to 19.0"
	OnDuty  []string  // one for each of OnDuty: "15 on duty", "14 planned"
	Short   [4]string // "covered", "1 short", "2 short", "3 or more"
}

// Sample is a number of nurses from an instant on.
type Sample struct {
	At     time.Time
	Nurses float64
}

// Band is what is needed at an instant: 8 of 10 times between Low and High.
type Band struct {
	At                time.Time
	Low, Likely, High float64
}

// fieldTop is where the field of a forecast begins on its canvas.
const fieldTop = 10

// canvas begins the figure, and says where its field lies.
func (f *Forecast) canvas() *canvas {
	if f.Wall {
		f.left, f.right, f.foot, f.words = 48, 790, 228, 19
		return newCanvas(940, 262, "", f.Title)
	}
	f.left, f.right, f.foot, f.words = 34, 742, 244, 13
	return newCanvas(860, 270, " wide", f.Title)
}

// SVG draws the figure; "" if nothing lies ahead. The band is filled by what it means: covered, or so many
// nurses short of those on duty then.
func (f *Forecast) SVG() template.HTML {
	if len(f.Ahead) < 2 || !f.Ahead[len(f.Ahead)-1].At.After(f.Now) {
		return ""
	}
	c := f.canvas()
	begin, end := f.Now, f.Ahead[len(f.Ahead)-1].At
	if len(f.Was) > 0 && f.Was[0].At.Before(begin) {
		begin = f.Was[0].At
	}
	x := scale{float64(begin.Unix()), float64(end.Unix()), f.left, f.right}
	at := func(t time.Time) float64 { return x.at(float64(t.Unix())) }
	count := 5
	if f.Wall {
		count = 3
	}
	marks := ticks(f.lowest(), f.highest(), count)
	y := scale{marks[0], marks[len(marks)-1], f.foot, fieldTop}

	f.axes(c, x, y, marks)
	f.band(c, at, y)
	duty := f.duty(begin, end)
	f.shortfalls(c, at, y, duty)
	f.lines(c, at, y, duty)
	return c.done()
}

// lowest and highest are the bounds of everything drawn.
func (f *Forecast) lowest() float64 {
	low := math.Inf(1)
	f.each(func(v float64) { low = math.Min(low, v) })
	return math.Max(low-1, 0)
}

func (f *Forecast) highest() float64 {
	high := math.Inf(-1)
	f.each(func(v float64) { high = math.Max(high, v) })
	return high
}

func (f *Forecast) each(see func(float64)) {
	for _, s := range f.Was {
		see(s.Nurses)
	}
	for _, b := range f.Ahead {
		see(b.Low)
		see(b.High)
	}
	for _, s := range f.OnDuty {
		see(s.Nurses)
	}
}

// axes draws the scale of nurses and the full hours of the unit.
func (f *Forecast) axes(c *canvas, x, y scale, marks []float64) {
	for i, v := range marks {
		if i > 0 && i < len(marks)-1 {
			c.path("thr", line(point{f.left, y.at(v)}, point{f.right, y.at(v)}))
		}
	}
	c.path("ax", line(point{f.left, f.foot}, point{f.right, f.foot}))
	for _, v := range marks {
		c.text("", "end", f.left-10, y.at(v)+f.words*.38, strconv.Itoa(int(v)))
	}
	const every = 2 * time.Hour
	first := time.Unix(int64(x.from), 0).UTC().Truncate(time.Hour).Add(time.Hour)
	for t := first; float64(t.Unix()) <= x.to; t = t.Add(every) {
		at := x.at(float64(t.Unix()))
		c.path("ax", "M"+number(at)+" "+number(f.foot)+"v6")
		c.text("", "middle", at, f.foot+8+f.words*1.1, f.Clock(t))
	}
}

// band makes the clip of what may be needed.
func (f *Forecast) band(c *canvas, at func(time.Time) float64, y scale) {
	outline := make([]point, 0, 2*len(f.Ahead))
	for _, b := range f.Ahead {
		outline = append(outline, point{at(b.At), y.at(b.High)})
	}
	for _, b := range slices.Backward(f.Ahead) {
		outline = append(outline, point{at(b.At), y.at(b.Low)})
	}
	c.raw(`<clipPath id="band"><path d="` + line(outline...) + `z"/></clipPath>`)
}

// step is a number of nurses on duty for a while.
type step struct {
	from, to time.Time
	nurses   float64
}

// duty is the plan cut to what is drawn.
func (f *Forecast) duty(begin, end time.Time) (all []step) {
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

// shortfalls fills the band by the nurses that would be short.
func (f *Forecast) shortfalls(c *canvas, at func(time.Time) float64, y scale, duty []step) {
	c.raw(`<g clip-path="url(#band)" class="soft">`)
	if len(duty) == 0 {
		c.path("fl", block(at(f.Now), at(f.Ahead[len(f.Ahead)-1].At), fieldTop, f.foot))
	}
	for short, letter := range letters {
		for _, d := range duty {
			if !d.to.After(f.Now) {
				continue
			}
			from := d.from
			if from.Before(f.Now) {
				from = f.Now
			}
			top, foot := y.at(d.nurses+float64(short)), y.at(d.nurses+float64(short)-1)
			switch short {
			case 0:
				foot = f.foot
			case len(letters) - 1:
				top = fieldTop
			}
			if top, foot = math.Max(top, fieldTop), math.Min(foot, f.foot); top < foot {
				c.path("f"+letter, block(at(from), at(d.to), top, foot))
			}
		}
	}
	c.raw(`</g>`)
}

func block(left, right, top, foot float64) string {
	return "M" + number(left) + " " + number(top) + "H" + number(right) + "V" + number(foot) + "H" + number(left) + "z"
}

// lines draws what was, what is likely, who is on duty, and the labels.
func (f *Forecast) lines(c *canvas, at func(time.Time) float64, y scale, duty []step) {
	if len(duty) > 0 {
		points := make([]point, 0, 2*len(duty))
		for _, d := range duty {
			points = append(points, point{at(d.from), y.at(d.nurses)}, point{at(d.to), y.at(d.nurses)})
		}
		c.path("duty", line(points...))
	}
	if len(f.Was) > 0 {
		var points []point
		for i, s := range f.Was {
			until := f.Now
			if i+1 < len(f.Was) {
				until = f.Was[i+1].At
			}
			points = append(points, point{at(s.At), y.at(s.Nurses)}, point{at(until), y.at(s.Nurses)})
		}
		c.path("was", line(points...))
	}
	likely := make([]point, len(f.Ahead))
	highest := f.Ahead[0]
	for i, b := range f.Ahead {
		likely[i] = point{at(b.At), y.at(b.Likely)}
		if b.High > highest.High {
			highest = b
		}
	}
	c.path("cas", line(likely...))
	c.path("p50", line(likely...))
	now := likely[0]
	c.path("now", line(point{now.x, fieldTop}, point{now.x, f.foot}))
	c.raw(`<circle class="dot" cx="` + number(now.x) + `" cy="` + number(now.y) + `" r="5.5"/>`)
	taken := f.left        // by the words of now
	if now.x-f.left > 90 { //nolint:mnd // room for the words
		c.text("k", "end", now.x-10, now.y-7, f.Words.Now)
	} else {
		c.text("k", "start", now.x+10, now.y-7, f.Words.Now)
		taken = now.x + 8*f.words
	}
	top := math.Max(y.at(highest.High)-7, fieldTop+12)
	f.label(c, at(highest.At), top, taken)
	for i, d := range duty {
		if i >= len(f.Words.OnDuty) || at(d.to)-at(d.from) < 7*f.words {
			continue
		}
		words := f.Words.OnDuty[len(f.Words.OnDuty)-len(duty)+i]
		if i == 0 { // at its end: the words of now stand at its beginning
			below := y.at(d.nurses) - 6
			if math.Abs(below-top) < 1.3*f.words && at(d.to)-at(highest.At) < 14*f.words { // both would stand there
				below = y.at(d.nurses) + f.words*1.2
				if below-top < 1.3*f.words {
					below = top + 1.3*f.words
				}
			}
			c.text("k", "end", at(d.to)-8, below, words)
		} else {
			c.text("k", "start", at(d.from)+8, y.at(d.nurses)+f.words*1.2, words)
		}
	}
	if len(duty) > 0 {
		f.legend(c, y.at(duty[len(duty)-1].nurses))
	}
}

// label says how high it may go, within the field and right of what is taken.
func (f *Forecast) label(c *canvas, x, y, taken float64) {
	switch {
	case x > f.right-4*f.words:
		c.text("k", "end", f.right, y, f.Words.Highest)
	case x < taken:
		c.text("k", "start", taken, y, f.Words.Highest)
	default:
		c.text("k", "middle", x, y, f.Words.Highest)
	}
}

// legend says beside the field what the fills mean, from the line of who is on duty up.
func (f *Forecast) legend(c *canvas, base float64) {
	row := f.words * 1.6
	base = math.Min(math.Max(base, fieldTop+3.5*row), f.foot-row)
	for short, words := range f.Words.Short {
		y := base + row/2 - float64(short)*row
		c.shape(short, f.right+12, y, f.words*.85)
		c.text("", "start", f.right+18+f.words, y+f.words*.75, words)
	}
}
