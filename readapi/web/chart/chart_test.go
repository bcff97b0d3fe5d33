package chart_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"html/template"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc/readapi/web/chart"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 3, 4, 14, 32, 0, 0, time.UTC)

func clock(t time.Time) string { return t.Format("15:04") }

func forecast() *chart.Forecast {
	f := &chart.Forecast{
		Title: `Nurses needed "now" & ahead`, Now: noon, Clock: clock,
		Past:   []chart.Sample{{noon.Add(-4 * time.Hour), 13.2}, {noon.Add(-100 * time.Minute), 15.1}, {noon.Add(-40 * time.Minute), 16.8}},
		OnDuty: []chart.Sample{{noon.Add(-8 * time.Hour), 15}, {noon.Add(4*time.Hour + 28*time.Minute), 14}},
		Ahead:  []chart.Band{{noon, 16.8, 16.8, 16.8}},
		Words:  chart.ForecastWords{Now: "16.8 now", Highest: "up to 19.0", OnDuty: []string{"15 on duty", "14 planned"}, Short: [4]string{"covered", "1 short", "2 short", "3 or more"}},
	}
	for i, likely := range []float64{15.9, 15.6, 15.9, 16.4, 15.8, 15.2, 14.8, 14.3} {
		f.Ahead = append(f.Ahead, chart.Band{At: noon.Add(time.Duration(i+1) * time.Hour), Low: likely - 1.5, Likely: likely, High: likely + 2})
	}
	return f
}

func TestGolden(t *testing.T) {
	unknown := forecast()
	unknown.OnDuty, unknown.Past = nil, nil
	wall := forecast()
	wall.Wall = true
	for name, svg := range map[string]template.HTML{
		"forecast": forecast().SVG(),
		"unknown":  unknown.SVG(),
		"levels": (&chart.Levels{Title: "Levels", Columns: []chart.LevelColumn{
			{"15:02", [4]float64{.1, .6, .25, .05}, 1, 0, false}, {"15:32", [4]float64{0, 0, 0, 1}, 3, 0, false}, {"16:02", [4]float64{0, 0, .25, 0}, 2, .5, true}, {"16:32", [4]float64{}, -1, 1, true},
		}}).SVG(),
		"wall": wall.SVG(),
		"ladder": (&chart.Ladder{Title: "Ladder", Counts: 1.25, CountsLabel: "counts: 1.3", Rungs: []chart.Rung{
			{Name: "Magnesium", Nurses: 1, Leads: true, Label: "until 14:52"},
			{Name: "A name that is much too long for its column", Nurses: .5, Label: "at least 1:2"},
			{Name: "Nothing", Label: "asks for nothing"},
			{Name: "Added", Begins: 1, Nurses: .25, Leads: true, Label: "adds 0.25"},
		}}).SVG(),
		"sum":   (&chart.Sum{Title: "Sum", Most: 60, Label: "37.5 of 60", Parts: []chart.SumPart{{"Magnesium", 30, "30.0"}, {"Pre-eclampsia", 7.5, "7.5"}}}).SVG(),
		"score": (&chart.Score{Title: "Score", Demand: 20, Severity: 37.5, DemandLabel: "Demand 20.0", SeverityLabel: "Severity 37.5", Label: "58, orange", Bounds: []int{20, 40, 70}, Next: 48, NextLabel: "48 from 14:52"}).SVG(),
		"steps": (&chart.Steps{Title: "Steps", From: noon, To: noon.Add(8 * time.Hour), Clock: clock, Steps: []chart.Step{{noon, 2, "14:32 2:1"}, {noon.Add(20 * time.Minute), 1, "14:52 1:1"}, {noon.Add(3 * time.Hour), .5, "17:32 1:2"}}}).SVG(),
		"meter": chart.Meter(.71), "unknownmeter": chart.UnknownMeter(),
	} {
		t.Run(name, func(t *testing.T) {
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
		})
	}
}

func wellFormed(t interface{ Fatal(...any) }, svg template.HTML) {
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnyForecast: for any values, the figure is well-formed and all elements are inside it.
func TestAnyForecast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nurses := rapid.Float64Range(0, 200)
		f := &chart.Forecast{Title: rapid.String().Filter(valid).Draw(t, "title"), Now: noon, Clock: clock}
		at := noon.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "ago")) * time.Minute)
		for range rapid.IntRange(0, 5).Draw(t, "was") {
			f.Past = append(f.Past, chart.Sample{At: at, Nurses: nurses.Draw(t, "needed")})
			at = at.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes")) * time.Minute)
			if at.After(noon) {
				at = noon
			}
		}
		for i := range rapid.IntRange(0, 9).Draw(t, "ahead") {
			low, likely, high := nurses.Draw(t, "low"), nurses.Draw(t, "likely"), nurses.Draw(t, "high")
			f.Ahead = append(f.Ahead, chart.Band{At: noon.Add(time.Duration(i) * time.Hour), Low: min(low, likely, high), Likely: likely, High: max(low, likely, high)})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "duty") {
			f.OnDuty = append(f.OnDuty, chart.Sample{At: noon.Add(time.Duration(i*3-1) * time.Hour), Nurses: nurses.Draw(t, "on duty")})
		}
		svg := f.SVG()
		wellFormed(t, svg)
		if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
			t.Fatal(svg)
		}
	})
}

func valid(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0xFFFE || r == 0xFFFF })
}

func BenchmarkForecast(b *testing.B) {
	f := forecast()
	for b.Loop() {
		f.SVG()
	}
}
