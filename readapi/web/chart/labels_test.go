package chart_test

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc/readapi/web/chart"
)

type textElement struct {
	Class  string  `xml:"class,attr"`
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Anchor string  `xml:"text-anchor,attr"`
	Words  string  `xml:",chardata"`
}

// TestLabelsNeverMeet draws 1,000 forecasts of units of every size, on pages and wall displays, and measures the
// boxes of the labels. No two labels overlap, no line crosses a label, and the label for the current time is always
// shown.
func TestLabelsNeverMeet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	duties, peaks := 0, 0
	for n := range 1000 {
		f := drawForecast(random)
		var svg labeledFigure
		if err := xml.Unmarshal([]byte(f.SVG()), &svg); err != nil {
			t.Fatal(err)
		}
		size := 13.0
		if f.Wall && !f.Narrow {
			size = 19
		}
		hasNow := false
		for i, a := range svg.Texts {
			if left, right := a.reach(size); left < 0 || right > svg.width() {
				t.Errorf("figure %d (wall %t, narrow %t): %q reaches from %.1f to %.1f of %v", n, f.Wall, f.Narrow, a.Words, left, right, svg.width())
			}
			hasNow = hasNow || a.Words == f.Words.Now
			if strings.HasSuffix(a.Words, "on duty") {
				duties++
			}
			if a.Words == f.Words.Highest {
				peaks++
			}
			for _, line := range svg.Lines {
				if line.crosses(&a, size) {
					t.Errorf("figure %d (wall %t, narrow %t): the line %q crosses %q at %v,%v", n, f.Wall, f.Narrow, line.Class, a.Words, a.X, a.Y)
				}
			}
			for _, b := range svg.Texts[:i] {
				if meet(a, b, size) {
					t.Errorf("figure %d (wall %t): %q at %v,%v meets %q at %v,%v", n, f.Wall, a.Words, a.X, a.Y, b.Words, b.X, b.Y)
				}
			}
		}
		if !hasNow {
			t.Errorf("figure %d does not say %q", n, f.Words.Now)
		}
	}
	if duties < 500 {
		t.Errorf("%d of 1000 figures say who is on duty", duties)
	}
	if peaks < 900 {
		t.Errorf("%d of 1000 figures say what the highest need is", peaks)
	}
}

// labeledFigure is a figure with its labels and lines.
type labeledFigure struct {
	Box   string        `xml:"viewBox,attr"`
	Texts []textElement `xml:"text"`
	Lines []lineElement `xml:"path"`
}

// lineElement is a line of a figure. Its class says what it shows.
type lineElement struct {
	Class string `xml:"class,attr"`
	D     string `xml:"d,attr"`
}

// crosses reports whether the line passes through the letters of a label. Axes and marks may.
func (l *lineElement) crosses(e *textElement, size float64) bool {
	if e.Class != "k" || !slices.Contains([]string{"duty", "was", "p50", "now"}, l.Class) {
		return false
	}
	left, right := e.reach(size)
	var at [][2]float64
	for pair := range slices.Chunk(strings.Fields(strings.TrimPrefix(l.D, "M")), 2) {
		at = append(at, [2]float64{coordinate(pair[0]), coordinate(pair[1])})
	}
	for i := 1; i < len(at); i++ {
		for part := range 101 { // points on the line that are at most 2 px apart
			along := float64(part) / 100
			x, y := at[i-1][0]+along*(at[i][0]-at[i-1][0]), at[i-1][1]+along*(at[i][1]-at[i-1][1])
			if left < x && x < right && e.Y-size*.72 < y && y < e.Y+size*.2 {
				return true
			}
		}
	}
	return false
}

func (f *labeledFigure) width() float64 {
	return coordinate(strings.Fields(f.Box)[2])
}

func coordinate(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// reach returns the left and right ends of a label.
func (e *textElement) reach(size float64) (left, right float64) {
	each := .57
	if e.Class == "" && e.Anchor == "end" { // a number, such as 20
		each = .66
	}
	width := each * size * float64(utf8.RuneCountInString(e.Words))
	switch left = e.X; e.Anchor {
	case "end":
		left -= width
	case "middle":
		left -= width / 2
	}
	return left, left + width
}

func meet(a, b textElement, size float64) bool {
	aLeft, aRight := a.reach(size)
	bLeft, bRight := b.reach(size)
	return aLeft < bRight && bLeft < aRight && a.Y-size*.8 < b.Y+size*.25 && b.Y-size*.8 < a.Y+size*.25
}

// drawForecast draws a random forecast for a unit of any size. The need may differ from the nurses on duty by any
// number.
func drawForecast(random *rand.Rand) *chart.Forecast {
	level := 1 + random.Float64()*40
	f := &chart.Forecast{Title: "t", Now: noon.Add(time.Duration(random.IntN(60)) * time.Minute), Clock: clock, Wall: random.IntN(3) == 0, Narrow: random.IntN(2) == 0}
	for h := random.IntN(5); h > 0; h-- {
		f.Past = append(f.Past, chart.Sample{At: f.Now.Add(-time.Duration(h) * time.Hour), Nurses: max(level+random.NormFloat64()*2, 0)})
	}
	required := max(level+random.NormFloat64(), 0)
	f.Ahead = []chart.Band{{At: f.Now, Low: required, Likely: required, High: required}}
	highest := required
	for h := range 8 {
		likely := max(required+random.NormFloat64()*float64(h)/3, 0)
		high := likely + random.Float64()*3
		highest = max(highest, high)
		f.Ahead = append(f.Ahead, chart.Band{At: f.Now.Add(time.Duration(h+1) * time.Hour), Low: max(likely-random.Float64()*3, 0), Likely: likely, High: high})
	}
	f.Words = chart.ForecastWords{
		Now: strconv.FormatFloat(required, 'f', 1, 64) + " now", Highest: "up to " + strconv.FormatFloat(highest, 'f', 1, 64),
		Short: [4]string{"covered", "1 short", "2 short", []string{"3 or more short", "faltan 3 o más", "3"}[random.IntN(3)]},
	}
	if random.IntN(8) == 0 { // the nurses on duty are unknown
		return f
	}
	at, what := f.Now.Add(-time.Duration(random.IntN(5))*time.Hour), "on duty"
	for range 1 + random.IntN(3) {
		nurses := max(int(level+random.NormFloat64()*3), 0)
		f.OnDuty = append(f.OnDuty, chart.Sample{At: at, Nurses: float64(nurses)})
		f.Words.OnDuty = append(f.Words.OnDuty, fmt.Sprint(nurses, " ", what))
		at, what = at.Add(time.Duration(1+random.IntN(7))*time.Hour), "planned"
	}
	return f
}
