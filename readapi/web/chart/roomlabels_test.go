package chart_test

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"svc/readapi/web/chart"
)

// drawnRoom is a figure of a room with its labels and bars.
type drawnRoom struct {
	labeledFigure

	Bars []struct {
		Class string  `xml:"class,attr"`
		X     float64 `xml:"x,attr"`
		Y     float64 `xml:"y,attr"`
		Width float64 `xml:"width,attr"`
	} `xml:"rect"`
}

// TestLabelsOfRoomsKeepApart draws the figures of 500 random rooms, each together with a chart of a week, for
// desktops and phones, with the longest labels of both languages. No label overlaps another one or extends beyond its
// figure. A label in the color of the background lies entirely on a dark bar.
func TestLabelsOfRoomsKeepApart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 500 {
		for _, narrow := range []bool{false, true} {
			for name, svg := range drawRoom(random, narrow) {
				checkRoomFigure(t, fmt.Sprintf("room %d, %s, narrow %t", n, name, narrow), svg)
			}
		}
	}
}

func checkRoomFigure(t *testing.T, name string, svg template.HTML) {
	t.Helper()
	var figure drawnRoom
	if err := xml.Unmarshal([]byte(svg), &figure); err != nil {
		t.Fatal(err)
	}
	if len(figure.Texts) == 0 {
		t.Errorf("%s: no label", name)
	}
	for i, a := range figure.Texts {
		left, right := a.reach(13)
		if left < -.5 || right > figure.width()+.5 {
			t.Errorf("%s: %q reaches from %.1f to %.1f of %v", name, a.Words, left, right, figure.width())
		}
		for _, b := range figure.Texts[:i] {
			if meet(a, b, 13) {
				t.Errorf("%s: %q at %v,%v meets %q at %v,%v", name, a.Words, a.X, a.Y, b.Words, b.X, b.Y)
			}
		}
		dark := 0.0 // width of the part of the label that lies on dark bars
		for _, bar := range figure.Bars {
			if bar.Class == "fi" && bar.Y < a.Y && bar.Y+28 > a.Y {
				dark += max(0, min(right, bar.X+bar.Width)-max(left, bar.X))
			}
		}
		if a.Class == "ki" && dark < right-left-4 {
			t.Errorf("%s: %q is white on the background: %.0f of %.0f px lie on a dark bar", name, a.Words, dark, right-left)
		}
	}
}

// drawRoom draws the figures of a random room.
func drawRoom(random *rand.Rand, narrow bool) map[string]template.HTML {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	nurses := func() float64 { return []float64{0, 1.0 / 3, .5, 1, 1.25, 2, 2.5}[random.IntN(7)] }
	ladder := &chart.Ladder{Title: "t", Narrow: narrow}
	sum := &chart.Sum{Title: "t", Most: 60, Narrow: narrow}
	largest, points := 0.0, 0.0
	for i := range 1 + random.IntN(6) {
		need := nurses()
		ladder.Rungs = append(ladder.Rungs, chart.Rung{
			Name: one("Magnesium", "Postpartum hemorrhage, severe, with transfusion"), Nurses: need, Leads: i%2 == 0,
			Label: one("at least 1:2", "1:1 hasta 14:52 lun", "no necesita enfermera", "agrega 0.25"),
		})
		largest = max(largest, need)
		part := (60 - points) * random.Float64() / 2
		sum.Parts, points = append(sum.Parts, chart.SumPart{Name: one("Magnesium", "Hemorragia posparto grave, con transfusión"), Points: part, Label: strconv.FormatFloat(part, 'f', 1, 64)}), points+part
	}
	if random.IntN(2) == 0 {
		ladder.Rungs = append(ladder.Rungs, chart.Rung{Name: "Personal adicional", Nurses: .25, Begins: largest, Leads: true, Label: "agrega 0.25"})
		largest += .25
	}
	ladder.Counts, ladder.CountsLabel = largest, one("counted: 1.3", "se cuenta: 1.3")
	sum.Label = strconv.FormatFloat(points, 'f', 1, 64) + " of 60"
	demand := min(largest*20, 40)
	total := int(demand + points)
	color := "verde"
	for _, c := range []struct {
		from int
		name string
	}{{20, "amarillo"}, {40, "naranja"}, {70, "rojo"}} {
		if total >= c.from {
			color = c.name
		}
	}
	score := &chart.Score{
		Title: "t", Demand: demand, Severity: points, DemandLabel: "Demanda 20.0", SeverityLabel: "Gravedad 37.5", Narrow: narrow,
		Label: fmt.Sprintf("%s, puntuación %d", color, total), Bounds: []int{20, 40, 70},
	}
	steps := &chart.Steps{Title: "t", From: noon, To: noon.Add(8 * time.Hour), Clock: clock, Narrow: narrow, Steps: []chart.Step{{At: noon, Nurses: nurses()}}}
	for at := noon; random.IntN(4) > 0; {
		if at = at.Add(time.Duration(random.IntN(150)) * time.Minute); at.After(steps.To) {
			break
		}
		steps.Steps = append(steps.Steps, chart.Step{At: at, Nurses: nurses(), Label: clock(at) + one(" 1:1", " 1:2", " 2:1", " no nurse")})
	}
	if len(steps.Steps) > 1 {
		score.Next = random.IntN(101)
		score.NextLabel = fmt.Sprintf("%d desde 14:52", score.Next)
	}
	week := &chart.Week{Title: "t", Narrow: narrow}
	for i := range week.Days {
		week.Days[i].Name = one("Wed", "mié")
		for hour := range week.Days[i].Hours {
			week.Days[i].Hours[hour] = chart.WeekCell{Words: one("", "9", "7.5", "12.5"), Short: random.Float64()*1.2 - .2}
		}
	}
	return map[string]template.HTML{
		"ladder": ladder.SVG(), "sum": sum.SVG(), "score": score.SVG(), "steps": steps.SVG(), "week": week.SVG(),
	}
}
