package chart_test

import (
	"html/template"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/readapi/web/chart"
)

func TestGoldenTrends(t *testing.T) {
	from := noon.Truncate(time.Hour)
	past := &chart.Past{Title: `Needed "against" on duty`, From: from, To: from.Add(12 * time.Hour), Marks: []chart.Mark{{from, "14:00"}, {from.Add(6 * time.Hour), "20:00"}}}
	for i, needed := range []float64{5.2, 5.8, 6.4, 8.1, 9.3, 7, 6.1, 5.5, 5.2, 4.9, 5.6} {
		h := chart.PastHour{At: from.Add(time.Duration(i+1) * time.Hour), Needed: needed, OnDuty: 6}
		switch i {
		case 6:
			continue // nothing was recorded
		case 9, 10:
			h.OnDuty = -1
		}
		past.Hours = append(past.Hours, h)
	}
	week := &chart.Week{Title: "Hours of the week"}
	for i := range week.Days {
		week.Days[i].Name = "D" + strconv.Itoa(i)
		for hour := range 5 * (i + 1) % 24 {
			week.Days[i].Hours[hour] = chart.WeekCell{Words: strconv.Itoa(hour), Short: float64(hour) / 24}
		}
	}
	for name, svg := range map[string]template.HTML{"past": past.SVG(), "week": week.SVG()} {
		wellFormed(t, svg)
		path := "testdata/" + name + ".svg"
		if *update {
			if err := os.WriteFile(path, []byte(svg), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != string(svg) {
			t.Errorf("%s differs (%v); run go test ./readapi/web/chart -update and look at it", path, err)
		}
	}
}

// TestPastIsAlwaysAPicture: for any hours, no coordinate is NaN or far outside the figure.
func TestPastIsAlwaysAPicture(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := &chart.Past{From: noon, To: noon.Add(28 * 24 * time.Hour)}
		for at := noon; at.Before(p.To); at = at.Add(time.Duration(rapid.IntRange(1, 90).Draw(r, "hours")) * time.Hour) {
			p.Hours = append(p.Hours, chart.PastHour{At: at.Add(time.Hour), Needed: rapid.Float64Range(0, 90).Draw(r, "needed"), OnDuty: float64(rapid.IntRange(-1, 90).Draw(r, "duty"))})
		}
		svg := p.SVG()
		wellFormed(r, svg)
		if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
			r.Fatalf("%s", svg)
		}
	})
}
